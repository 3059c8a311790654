//! Bounds that a watch must keep: `pause.p99 < 10ms`. Knows records and summaries, no output format.

mod compare;
mod disturbance;
mod expr;
mod judge;
mod metric;
mod noise;
mod statistic;

pub(crate) use compare::{ChangeBound, Row, Side, Wanted, lengths, rows, wanted};
pub(crate) use expr::{BadExpr, Expr};
pub(crate) use judge::{Breaker, Checks, Verdict};
pub(crate) use metric::{METRICS, Unit, Value};
pub(crate) use noise::Test;
pub(crate) use statistic::Statistic;
