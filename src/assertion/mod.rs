//! Assertions on a watch, such as `pause.p99 < 10ms`, and their verdicts. Knows records and summaries, no output format.

mod compare;
mod disturbance;
mod evaluation;
mod metric;
mod noise;
mod parse;
mod repeats;
mod statistic;
mod stop;
mod verdict;
mod warmup;

pub(crate) use compare::{ChangeAssertion, ChangeVerdict, Row, Side, Wanted, named, rows, wanted};
pub(crate) use evaluation::Assertions;
pub(crate) use metric::{METRICS, Metric, Unit, Value};
pub(crate) use noise::Test;
pub(crate) use parse::{Assertion, InvalidAssertion};
pub(crate) use repeats::variation_percent;
pub(crate) use statistic::Statistic;
pub(crate) use stop::StopCondition;
pub(crate) use verdict::{Verdict, Violation};
