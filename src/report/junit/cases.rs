//! The test cases of a suite.

use std::collections::{HashMap, HashSet};

use crate::assertion::Verdict;
use crate::escape::escape_untrusted;
use crate::gc::facts::Exit;
use crate::report::child_exit;
use crate::report::units::Units;
use crate::report::verdicts::{in_one_line, violations};

/// One test case.
#[derive(Debug, Default)]
pub(super) struct Case {
    pub(super) name: String,
    /// How long what it is about took, ns.
    pub(super) duration_ns: u64,
    /// `None`: it is successful.
    pub(super) fault: Option<Fault>,
}

/// Why a case is not successful.
#[derive(Debug)]
pub(super) struct Fault {
    /// The element: "failure" where something is not as it must be, "error" where that could not be found out.
    pub(super) element: &'static str,
    pub(super) kind: &'static str,
    pub(super) message: String,
    /// Lines below the message. GitLab and most others show the body and leave out the message.
    pub(super) details: Vec<String>,
}

/// A case for each assertion. Its name is the metric. Of several assertions on one metric the first has the plain name, the
/// others have their operators behind it, so that a further one renames none.
pub(super) fn assertions<'v>(verdicts: &'v [Verdict], units: Units) -> Vec<Case> {
    let mut metrics: HashSet<&str> = HashSet::new();
    let mut others: HashMap<(&str, &str), u32> = HashMap::new();
    let mut name = |(metric, operator)| {
        if metrics.insert(metric) {
            return metric.to_owned();
        }
        let n = others.entry((metric, operator)).or_default();
        *n += 1;
        match *n {
            1 => format!("{metric} {operator}"),
            n => format!("{metric} {operator} ({n})"),
        }
    };
    let case = |verdict: &'v Verdict| Case {
        name: name(parts(&verdict.text)),
        duration_ns: 0,
        fault: fault(verdict, units),
    };
    verdicts.iter().map(case).collect()
}

/// The metric of an assertion, and its operator.
fn parts(text: &str) -> (&str, &str) {
    let is_operator = |c: char| "<>=!".contains(c);
    let Some(at) = text.find(is_operator) else { return (text, "") };
    let (metric, rest) = text.split_at(at);
    (metric.trim_end(), &rest[..rest.find(|c| !is_operator(c)).unwrap_or(rest.len())])
}

fn fault(verdict: &Verdict, units: Units) -> Option<Fault> {
    let (element, kind) = match verdict.holds {
        Some(true) => return None,
        Some(false) => ("failure", "assertion"),
        None => ("error", "not-judged"),
    };
    let message = escape_untrusted(in_one_line(verdict, units).trim());
    Some(Fault { element, kind, message, details: violations(verdict, units) })
}

/// Whether gcwatch could watch.
pub(super) fn watch(fault: Option<String>) -> Case {
    let fault = fault.map(|fault| Fault {
        element: "error",
        kind: "watch",
        message: escape_untrusted(&fault),
        details: Vec::new(),
    });
    Case { name: "watch".to_owned(), duration_ns: 0, fault }
}

/// How the program ended; `None`: gcwatch did not see it.
pub(super) fn program(exit: &Exit, duration_ns: Option<u64>) -> Option<Case> {
    exit.child?;
    let fault = child_exit::told(exit.child).map(|how| Fault {
        element: "failure",
        kind: "exit",
        message: format!("the program {how}"),
        details: Vec::new(),
    });
    Some(Case { name: "exit".to_owned(), duration_ns: duration_ns.unwrap_or(0), fault })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_no_bound() {
        for (text, expected) in [
            ("pause.p99 < 10ms", ("pause.p99", "<")),
            ("gc.gen2.count<=0", ("gc.gen2.count", "<=")),
            ("lost == 0", ("lost", "==")),
            ("heap.growth.percent>-1000", ("heap.growth.percent", ">")),
            ("stop-on pause > 200ms", ("stop-on pause", ">")),
        ] {
            assert_eq!(parts(text), expected);
        }
    }
}
