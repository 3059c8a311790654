//! The result of `gcwatch try`: text, Markdown, JSON.

mod json;
mod markdown;
mod text;
mod words;

use crate::experiment::{Gated, Results, Winner};

/// The content of the report.
#[derive(Debug)]
pub(crate) struct TrialReport<'a> {
    pub(crate) results: &'a Results,
    /// For each goal that was asked for.
    pub(crate) winners: Vec<Winner>,
    /// The sides are commands, not settings.
    pub(crate) several_commands: bool,
    /// Variants that were not tried, and why.
    pub(crate) left_out: &'a [(String, String)],
    /// Runs of each variant that were asked for.
    pub(crate) runs: u32,
    pub(crate) warmup: u32,
    pub(crate) processors: usize,
    /// The version of the runtime.
    pub(crate) runtime: Option<&'a str>,
    /// The changes that must not occur.
    pub(crate) gated: &'a [Gated],
    pub(crate) warnings: &'a [String],
    /// The exit code.
    pub(crate) code: i32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Goal, MIN_EFFECT_PERCENT, Run, Variables, Variant, gates, measures, winner};
    use crate::report::style::Terminal;
    use crate::report::units::Units;

    const FILE: Terminal = Terminal { columns: 80, rows: None, colour: false, live: false, unicode: true };

    /// Ten runs, all of whose values grow with `factor`, but for the pauses, which shrink.
    fn side(name: &str, variables: &str, factor: f64, runs: u32) -> (Variant, Vec<Run>) {
        let all = measures(None, false, &[]);
        let variables = if variables.is_empty() { Variables::default() } else { variables.parse().unwrap() };
        let variant = Variant {
            name: name.to_owned(),
            variables,
            command: vec!["dotnet".into(), "app\u{1b}.dll".into()],
        };
        let run = |n: u32| -> Run {
            let value = |pause: bool| if pause { 1e7 / factor } else { 1e8 * factor } + f64::from(n) * 1e5;
            all.iter()
                .map(|m| (m.name != "gc.gen2.count").then(|| value(m.name.starts_with("pause"))))
                .collect()
        };
        (variant, (0..runs).map(run).collect())
    }

    fn with<T>(runs: u32, of: impl FnOnce(&TrialReport<'_>) -> T) -> T {
        let settings = "DOTNET_gcServer=1,DOTNET_GCgen0size=4000000";
        let sides = vec![
            side("as it is", "", 1.0, runs),
            side("server", settings, 2.0, runs),
            side("A=1", "A=1", 1.0, runs),
        ];
        let results = Results::new(measures(None, false, &[]), sides, MIN_EFFECT_PERCENT);
        let gated =
            gates(&results, &["pause.p99 > +10%", "committed.max > +50%"].map(|text| text.parse().unwrap()));
        let winners = Goal::ALL.into_iter().filter_map(|goal| winner(&results, goal)).collect();
        of(&TrialReport {
            results: &results,
            winners,
            several_commands: false,
            left_out: &[("DATAS".to_owned(), "it came with .NET 8".to_owned())],
            runs,
            warmup: 1,
            processors: 2,
            runtime: Some("10.0.12"),
            gated: &gated,
            warnings: &["a \u{1b}[2J warning".to_owned()],
            code: 0,
        })
    }

    #[test]
    fn text() {
        let text = with(10, |report| report.text(FILE, Units::Iec));
        assert!(text.lines().all(|line| line.chars().count() <= 80 && !line.contains('\u{1b}')), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn too_few_runs_are_named() {
        let text = with(3, |report| report.text(FILE, Units::Iec));
        let said = "3 runs of each cannot show a difference in 20 tests together: --runs 8 can";
        assert!(text.contains(said) && text.contains("time: too few runs to tell (wall)"), "{text}");
        assert!(!text.contains("  better") && !text.contains("runtimeOptions"), "{text}");
    }

    #[test]
    fn markdown_and_json_say_the_same() {
        let markdown = with(10, |report| report.markdown(Units::Iec));
        assert!(markdown.contains("best for pause: server \\(pause.p99 10.4 ms → 5.45 ms"), "{markdown}");
        assert!(
            markdown.contains("\"System.GC.Server\": true") && !markdown.contains('\u{1b}'),
            "{markdown}"
        );
        let json = with(10, |report| report.json().unwrap());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["best"][1]["variant"], "server");
        assert_eq!(
            json["best"][1]["runtimeconfig"]["runtimeOptions"]["configProperties"]["System.GC.Server"],
            true
        );
        assert_eq!(json["best"][0]["variant"], serde_json::Value::Null);
        let wall = &json["variants"][1]["metrics"][0]["against_first"];
        assert_eq!((&wall["outcome"], &wall["verdict"]), (&"differs".into(), &"worse".into()));
        let unknown = &json["variants"][1]["metrics"][7];
        assert!(unknown["metric"] == "gc.gen2.count" && unknown["median"].is_null(), "{unknown}");
    }
}
