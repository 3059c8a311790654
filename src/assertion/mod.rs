//! Assertions on a watch, such as `pause.p99 < 10ms`, and their verdicts. Knows records and summaries, no output format.

mod compare;
mod disturbance;
mod metric;
mod noise;
mod parse;
mod statistic;
mod verdict;

pub(crate) use compare::{ChangeAssertion, ChangeVerdict, Row, Side, Wanted, lengths, rows, wanted};
pub(crate) use metric::{METRICS, Unit, Value};
pub(crate) use noise::Test;
pub(crate) use parse::{Assertion, InvalidAssertion};
pub(crate) use statistic::Statistic;
pub(crate) use verdict::{Assertions, Verdict, Violation};
