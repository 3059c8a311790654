//! Asks `gcwatch diff`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::options::Options;
use super::runner::gcwatch;

/// No gate breaks, one does, one cannot be judged.
const CODES: [i32; 3] = [0, 10, 11];

/// What gcwatch says of two sides.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Compared {
    /// The gates, and whether each breaks. `None`: it could not be judged.
    pub(super) gates: BTreeMap<String, Option<bool>>,
    pub(super) metrics: BTreeMap<String, Metric>,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Metric {
    /// `None`: too few runs, or not judged.
    pub(super) beyond_noise: Option<bool>,
    pub(super) change_percent: Option<f64>,
    /// Of the rank-sum test, not corrected. `None`: one run a side.
    pub(super) p: Option<f64>,
}

impl Compared {
    /// Whether any metric is beyond noise. `None`: no metric can be judged.
    pub(super) fn any_beyond_noise(&self) -> Option<bool> {
        let judged = self.metrics.values().filter_map(|metric| metric.beyond_noise);
        judged.reduce(|any, beyond| any || beyond)
    }

    /// Whether any gate breaks. `None`: none does, and one could not be judged.
    pub(super) fn any_gate_breaks(&self) -> Option<bool> {
        if self.gates.values().any(|fails| *fails == Some(true)) {
            return Some(true);
        }
        self.gates.values().all(Option::is_some).then_some(false)
    }
}

/// Compares two sides by these gates, or by all metrics if there are none.
pub(super) fn diff(options: &Options, [before, after]: [&[PathBuf]; 2], gates: &[&str]) -> Result<Compared> {
    let mut command = gcwatch(&options.gcwatch, &options.clr);
    command.args(["diff", "--format", "json"]);
    for gate in gates {
        command.args(["--fail-on", gate]);
    }
    command.args(before);
    if before.len() + after.len() > 2 {
        command.arg("--");
    }
    let output = command.args(after).output().context("cannot run gcwatch")?;
    let code = output.status.code();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(code.is_some_and(|code| CODES.contains(&code)), "{command:?}: {}: {said}", output.status);
    read(&serde_json::from_slice(&output.stdout)?)
}

fn read(document: &Value) -> Result<Compared> {
    let mut compared = Compared::default();
    for row in document["metrics"].as_array().context("there are no metrics")? {
        let name = row["metric"].as_str().context("a metric has no name")?;
        // With one run a side the verdict stands with the test.
        let beyond = row["beyond_noise"].as_bool().or_else(|| row["noise"]["beyond"].as_bool());
        let metric = Metric {
            beyond_noise: beyond,
            change_percent: row["change_percent"].as_f64(),
            p: row["p"].as_f64(),
        };
        compared.metrics.insert(name.to_owned(), metric);
    }
    for gate in document["fail_on"].as_array().into_iter().flatten() {
        let expr = gate["expr"].as_str().context("a gate has no text")?;
        compared.gates.insert(expr.to_owned(), gate["fails"].as_bool());
    }
    Ok(compared)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_kinds_of_documents_are_read() {
        let one = json!({
            "metrics": [{ "metric": "pause.p99", "change_percent": 12.5, "noise": { "beyond": true } }],
            "fail_on": [{ "expr": "pause.p99 > +10%", "fails": true }],
        });
        let several = json!({
            "metrics": [
                { "metric": "pause.p99", "change_percent": 3, "p": 0.25, "beyond_noise": false },
                { "metric": "lost", "change_percent": null, "p": 1.0, "beyond_noise": null },
            ],
            "fail_on": [{ "expr": "a", "fails": null }, { "expr": "b", "fails": false }],
        });
        let (one, several) = (read(&one).unwrap(), read(&several).unwrap());
        assert_eq!((one.any_beyond_noise(), one.any_gate_breaks()), (Some(true), Some(true)));
        assert_eq!((several.any_beyond_noise(), several.any_gate_breaks()), (Some(false), None));
        assert_eq!((one.metrics["pause.p99"].p, several.metrics["pause.p99"].p), (None, Some(0.25)));
        assert_eq!(Compared::default().any_beyond_noise(), None);
        assert!(read(&json!({})).is_err());
    }
}
