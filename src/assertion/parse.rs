//! Parses assertions: `metric[.statistic] op value[unit]`.

use std::fmt;
use std::str::FromStr;

use super::metric::{METRICS, Metric, Unit, Value};
use super::statistic::Statistic;
use crate::escape::escape_untrusted;

/// How a value must compare with the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

impl Op {
    /// The longer operators come first: `<=` begins with `<`.
    const ALL: [(&'static str, Op); 6] =
        [("<=", Op::Le), (">=", Op::Ge), ("==", Op::Eq), ("!=", Op::Ne), ("<", Op::Lt), (">", Op::Gt)];

    pub(crate) fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Op::Lt => value < limit,
            Op::Le => value <= limit,
            Op::Gt => value > limit,
            Op::Ge => value >= limit,
            Op::Eq => value == limit,
            Op::Ne => value != limit,
        }
    }

    /// A larger value cannot make it false.
    pub(crate) fn grows_truer(self) -> bool {
        matches!(self, Op::Gt | Op::Ge)
    }
}

/// A condition on a metric.
#[derive(Debug, Clone)]
pub(crate) struct Assertion {
    /// As it was typed, trimmed and escaped.
    pub(crate) text: String,
    pub(crate) metric: &'static Metric,
    /// `None`: the metric has one value for the watch.
    pub(crate) statistic: Option<Statistic>,
    pub(crate) op: Op,
    /// In the unit of the metric.
    pub(crate) limit: f64,
}

/// Why a text is no assertion: a sentence, and what to type instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidAssertion {
    pub(crate) what: String,
    pub(crate) remedy: String,
}

impl fmt::Display for InvalidAssertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

impl std::error::Error for InvalidAssertion {}

const SYNTAX: &str = "an assertion reads `metric[.statistic] op value[unit]`, such as `pause.p99 < 10ms`";

impl FromStr for Assertion {
    type Err = InvalidAssertion;

    fn from_str(text: &str) -> Result<Assertion, InvalidAssertion> {
        Assertion::parse(text, None)
    }
}

impl Assertion {
    /// Parses an assertion whose limit has this unit, not that of the metric.
    pub(crate) fn parse_as(text: &str, unit: Unit) -> Result<Assertion, InvalidAssertion> {
        Assertion::parse(text, Some(unit))
    }

    fn parse(text: &str, unit: Option<Unit>) -> Result<Assertion, InvalidAssertion> {
        let (name, op, limit) = comparison(text)?;
        let (metric, statistic) = metric(name)?;
        let limit = value(limit, metric.name, unit.unwrap_or(metric.unit))?;
        Ok(Assertion { text: escape_untrusted(text.trim()), metric, statistic, op, limit })
    }
}

/// The three parts of `name op value`.
pub(super) fn comparison(text: &str) -> Result<(&str, Op, &str), InvalidAssertion> {
    let text = text.trim();
    let bad = |what: String, remedy: String| InvalidAssertion { what, remedy };
    let at = text
        .find(['<', '>', '=', '!'])
        .ok_or_else(|| bad(format!("`{text}` has no comparison"), SYNTAX.into()))?;
    let (name, rest) = text.split_at(at);
    let (sign, op) = Op::ALL.into_iter().find(|(sign, _)| rest.starts_with(sign)).ok_or_else(|| {
        bad(format!("`{rest}` does not begin with a comparison"), "they are < <= > >= == !=".into())
    })?;
    Ok((name.trim(), op, rest[sign.len()..].trim()))
}

/// A metric, and its statistic where it needs one.
pub(crate) fn metric(name: &str) -> Result<(&'static Metric, Option<Statistic>), InvalidAssertion> {
    let named = |wanted: &str| METRICS.iter().find(|m| m.name == wanted);
    let statistics = || Statistic::ALL.map(|(name, _)| name).join(" ");
    if let Some(metric) = named(name) {
        return match metric.value {
            Value::PerGc(_) => Err(InvalidAssertion {
                what: format!("`{name}` has one value per collection"),
                remedy: format!("choose a statistic: `{name}.max`, or another of {}", statistics()),
            }),
            _ => Ok((metric, None)),
        };
    }
    if let Some((of, last)) = name.rsplit_once('.')
        && let Some(metric) = named(of)
    {
        let per_gc = matches!(metric.value, Value::PerGc(_));
        return match Statistic::named(last) {
            Some(statistic) if per_gc => Ok((metric, Some(statistic))),
            Some(_) => Err(InvalidAssertion {
                what: format!("`{of}` is one value for the whole watch"),
                remedy: format!("leave `.{last}` out"),
            }),
            None if per_gc => Err(InvalidAssertion {
                what: format!("`{of}` has no statistic `{last}`"),
                remedy: format!("they are {}", statistics()),
            }),
            None => Err(unknown(name)),
        };
    }
    Err(unknown(name))
}

/// The error for an unknown metric, with the nearest names.
fn unknown(name: &str) -> InvalidAssertion {
    InvalidAssertion {
        what: format!("`{name}` is not a metric"),
        remedy: format!("the nearest are {} (`gcwatch metrics` lists all)", nearest(name, |_| true)),
    }
}

/// The names most like this one, of the metrics that are wanted.
pub(super) fn nearest(name: &str, wanted: fn(&Metric) -> bool) -> String {
    // Compare the names without the statistic at their end.
    let stem = match name.rsplit_once('.') {
        Some((stem, last)) if Statistic::named(last).is_some() => stem,
        _ => name,
    };
    let mut near: Vec<(f64, &str)> =
        METRICS.iter().filter(|m| wanted(m)).map(|m| (strsim::jaro_winkler(stem, m.name), m.name)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<&str> = near.iter().take(3).map(|(_, name)| *name).collect();
    near.join(", ")
}

/// `10ms`, `1.5MiB`, `3`, `5%`, in the metric's unit.
pub(super) fn value(text: &str, name: &str, unit_of: Unit) -> Result<f64, InvalidAssertion> {
    let at = text.find(|c: char| !(c.is_ascii_digit() || "+-._".contains(c))).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let bad = |remedy: &str| InvalidAssertion {
        what: format!("`{text}` is not a value for `{name}`"),
        remedy: remedy.to_owned(),
    };
    let units = match unit_of {
        Unit::Ns => "it is a time: ns, us, ms, s, as in 10ms",
        Unit::Bytes => "it is a size: B, KiB, MiB, GiB or kB, MB, GB, as in 64MiB",
        Unit::BytesPerSecond => "it is a size a second: as in 64MiB or 64MiB/s",
        Unit::Count => "it is a number without a unit",
        Unit::Percent => "it is a percentage, as in 5%",
    };
    let (unit_of, unit) = match unit_of {
        Unit::BytesPerSecond => (Unit::Bytes, unit.trim().trim_end_matches("/s")),
        other => (other, unit.trim()),
    };
    let scale = match (unit_of, unit) {
        (Unit::Ns, "ns") | (Unit::Bytes, "" | "B") | (Unit::Count, "") | (Unit::Percent, "" | "%") => 1.0,
        (Unit::Ns, "us" | "µs") => 1e3,
        (Unit::Ns, "ms") => 1e6,
        (Unit::Ns, "s") => 1e9,
        (Unit::Bytes, "KiB" | "K") => 1024.0,
        (Unit::Bytes, "MiB" | "M") => 1024.0 * 1024.0,
        (Unit::Bytes, "GiB" | "G") => 1024.0 * 1024.0 * 1024.0,
        (Unit::Bytes, "kB" | "KB") => 1e3,
        (Unit::Bytes, "MB") => 1e6,
        (Unit::Bytes, "GB") => 1e9,
        // 0 is 0 in every unit.
        (Unit::Ns, "") if number.parse() == Ok(0.0) => 1.0,
        _ => return Err(bad(units)),
    };
    let number: f64 = number.replace('_', "").parse().map_err(|_| bad(units))?;
    let value = number * scale;
    if value.is_finite() { Ok(value) } else { Err(bad(units)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (&'static str, Option<Statistic>, Op, f64) {
        let e: Assertion = text.parse().unwrap();
        (e.metric.name, e.statistic, e.op, e.limit)
    }

    #[test]
    fn parses_what_people_type() {
        assert_eq!(parsed("pause.p99 < 10ms"), ("pause", Some(Statistic::Percentile(99)), Op::Lt, 10e6));
        assert_eq!(parsed("pause.gen2.max<=1.5s"), ("pause.gen2", Some(Statistic::Max), Op::Le, 1.5e9));
        assert_eq!(parsed(" gc.gen2.count <= 0 "), ("gc.gen2.count", None, Op::Le, 0.0));
        assert_eq!(
            parsed("heap.after.last < 64MiB"),
            ("heap.after", Some(Statistic::Last), Op::Lt, 64.0 * 1_048_576.0)
        );
        assert_eq!(parsed("pause.percent < 5%"), ("pause.percent", None, Op::Lt, 5.0));
        assert_eq!(parsed("heap.growth.percent>=-2.5"), ("heap.growth.percent", None, Op::Ge, -2.5));
        assert_eq!(
            parsed("roots.handle.max != 1_000"),
            ("roots.handle", Some(Statistic::Max), Op::Ne, 1000.0)
        );
        assert_eq!(parsed("lost == 0"), ("lost", None, Op::Eq, 0.0));
        assert_eq!(parsed("pause.max > 0").3, 0.0);
    }

    #[test]
    fn mistakes_are_explained() {
        let says = |text: &str| text.parse::<Assertion>().unwrap_err().to_string();
        for (text, word) in [
            ("", "comparison"),
            ("pause.p99", "comparison"),
            ("pause < 10ms", "pause.max"),
            ("gc.count.max < 3", "leave `.max` out"),
            ("pause.p95 < 10ms", "p90"),
            ("puase.max < 10ms", "pause"),
            ("gc.gen2.cout < 1", "gc.gen2.count"),
            ("root.stack.max < 1", "roots.stack"),
            ("pause.max < 10", "it is a time"),
            ("pause.max < 10MiB", "it is a time"),
            ("gc.count < 3ms", "without a unit"),
            ("heap.after.max < x", "it is a size"),
            ("pause.max =< 1ms", "< <= > >= == !="),
            ("gc.count < 1e9", "without a unit"),
            ("gc.count <", "without a unit"),
        ] {
            assert!(says(text).contains(word), "{text}: {}", says(text));
        }
    }
}
