//! The tables of `docs/ci-study.md`, and the file that `gcwatch metrics` reads.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::cases::{CHANGES, EARLIER, GATES, UNCHANGED};
use super::results::{Count, Repeat, Results, Section};

/// Stands before and after what is generated.
const MARK: &str = "<!-- cargo xtask gate-study -->";
/// The page and the file, below the root of the workspace.
const PAGE: &str = "docs/ci-study.md";
const REPEATS: &str = "src/assertion/repeats.csv";

/// Writes the tables into the page, and how well metrics repeat into the file that gcwatch is built with.
///
/// # Errors
/// If a file cannot be read or written, or the page has no place for the tables.
pub fn write(results: &Results, root: &Path) -> Result<()> {
    let page = root.join(PAGE);
    let text = fs::read_to_string(&page).context(PAGE)?;
    fs::write(&page, replaced(&text, &markdown(results))?)?;
    let (file, rows) = (root.join(REPEATS), repeats_csv(&results.repeats));
    // A file that is written again has gcwatch built again.
    if fs::read_to_string(&file).is_ok_and(|before| before == rows) {
        return Ok(());
    }
    fs::write(file, rows).context(REPEATS)
}

fn replaced(text: &str, tables: &str) -> Result<String> {
    let place = text.split_once(MARK).and_then(|(before, rest)| Some((before, rest.split_once(MARK)?.1)));
    let (before, after) = place.with_context(|| format!("{PAGE} does not have {MARK} twice"))?;
    Ok(format!("{before}{MARK}\n\n{tables}\n{MARK}{after}"))
}

/// The columns: the cases of which there are pairs.
fn columns(results: &Results) -> Vec<&'static str> {
    let all = [UNCHANGED, EARLIER].into_iter().chain(CHANGES);
    all.filter(|case| results.pairs.contains_key(*case)).collect()
}

/// All tables.
pub fn markdown(results: &Results) -> String {
    let columns = columns(results);
    let mut text = setting(results);
    text += &table_of_changes(results, &columns);
    for section in &results.sections {
        text += &table(section, &columns);
    }
    text += &by_chance(results);
    text + &repeats(results)
}

fn setting(results: &Results) -> String {
    let of = |key: &str| results.machine[key].as_str().unwrap_or("-").to_owned();
    let number = |key: &str| results.machine[key].as_f64().map_or("-".to_owned(), |n| n.to_string());
    let loads: Vec<String> = results.loads.iter().map(|load| format!("{load:.1}")).collect();
    let pairs = results.pairs.iter().map(|(case, pairs)| format!("{case} {pairs}"));
    format!(
        "Measured on {} ({} cores, {} GiB, {}, kernel {}) with .NET {}. Load average before the study: {}; at the starts \
         of its runs (lowest, median, highest): {}. Pairs with {} runs a side: {}.\n\n",
        of("processor"),
        number("cores"),
        number("memory_gib"),
        of("system"),
        of("kernel"),
        results.runtime,
        number("load_before"),
        loads.join(", "),
        results.runs,
        pairs.collect::<Vec<_>>().join(", "),
    )
}

/// A heading of a table with a column for each case.
fn head(first: &str, columns: &[&str]) -> String {
    format!("| {first} | {} |\n|---|{}\n", columns.join(" | "), "--:|".repeat(columns.len()))
}

fn table_of_changes(results: &Results, columns: &[&'static str]) -> String {
    let mut text = format!("### How large the changes are\n\n{}", head("metric, median change", columns));
    for name in GATES.iter().filter_map(|gate| gate.split(' ').next()) {
        let cell = |case: &&str| {
            let change = results.changes.get(*case).and_then(|metrics| metrics.get(name));
            // Adding nothing makes 0 of -0.
            let rounded = change.map(|change| (change * 10.0).round() / 10.0 + 0.0);
            rounded.map_or_else(|| "-".to_owned(), |change| format!("{change:+.1} %"))
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        let _ = writeln!(text, "| `{name}` | {} |", cells.join(" | "));
    }
    text + "\n"
}

fn table(section: &Section, columns: &[&'static str]) -> String {
    let mut text = format!("### {}\n\n{}", sentence(&section.title), head("gate | runs", columns));
    text = text.replacen("|---|", "|---|--:|", 1);
    for row in &section.rows {
        let cells: Vec<String> = columns.iter().map(|case| cell(row.cases.get(*case).copied())).collect();
        let _ = writeln!(text, "| {} | {} | {} |", gate(&row.gate), row.runs, cells.join(" | "));
    }
    text + "\n"
}

/// A share with its interval in percent.
fn cell(count: Option<Count>) -> String {
    let Some(count) = count.filter(|count| count.n > 0) else { return "-".to_owned() };
    if count.judged == 0 {
        return format!("too few runs (n = {})", count.n);
    }
    let (low, high) = count.interval();
    let unjudged = match count.n - count.judged {
        0 => String::new(),
        some => format!(", {some} not judged"),
    };
    format!("{}/{} [{:.0}, {:.0}]{unjudged}", count.alarms, count.n, low * 100.0, high * 100.0)
}

fn gate(name: &str) -> String {
    if name.contains('>') { format!("`{name}`") } else { name.to_owned() }
}

fn sentence(title: &str) -> String {
    let mut letters = title.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    if title.starts_with("gcwatch") { title.to_owned() } else { first + letters.as_str() }
}

/// How often a test by itself calls equal sides different.
fn by_chance(results: &Results) -> String {
    let mut all = Count::default();
    let mut often: Vec<(&str, Count)> = Vec::new();
    for (name, count) in &results.by_chance {
        all.alarms += count.alarms;
        all.judged += count.judged;
        all.n += count.n;
        if count.alarms > 0 {
            often.push((name, *count));
        }
    }
    often.sort_by_key(|(_, count)| std::cmp::Reverse(count.alarms));
    let often: Vec<String> =
        often.iter().map(|(name, count)| format!("`{name}` {} of {}", count.alarms, count.judged)).collect();
    let often = if often.is_empty() { "none".to_owned() } else { often.join(", ") };
    format!(
        "### p of at most 1 % by chance\n\nOf {} tests of all metrics on unchanged pairs with {} runs a side, {} had p of at \
         most 1 % before the correction: {often}.\n\n",
        all.judged, results.runs, all.alarms
    )
}

fn repeats(results: &Results) -> String {
    let names: Vec<&str> = results.programs.iter().map(String::as_str).collect();
    let mut text = format!(
        "### How well each metric repeats\n\nCoefficient of variation between {} runs of each program, each metric at its own \
         level.\n\n| metric | {} | median |\n|---|{}--:|\n",
        results.repeated,
        names.join(" | "),
        "--:|".repeat(names.len())
    );
    let percent = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1} %"));
    for repeat in &results.repeats {
        let cells: Vec<String> = repeat.percent.iter().map(|value| percent(*value)).collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            repeat.metric,
            cells.join(" | "),
            percent(repeat.median_percent)
        );
    }
    text
}

/// A line for each metric: its name and the median coefficient of variation in percent, or nothing.
fn repeats_csv(repeats: &[Repeat]) -> String {
    let line = |repeat: &Repeat| {
        let percent = repeat.median_percent.map_or_else(String::new, |percent| format!("{percent:.1}"));
        format!("{},{percent}\n", repeat.metric)
    };
    "metric,coefficient_of_variation_percent\n".to_owned() + &repeats.iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_share_interval_and_n() {
        let count = |alarms, judged, n| cell(Some(Count { alarms, judged, n }));
        assert_eq!(count(0, 100, 100), "0/100 [0, 4]");
        assert_eq!(count(30, 30, 30), "30/30 [88, 100]");
        assert_eq!(count(1, 9, 10), "1/10 [0, 45], 1 not judged");
        assert_eq!(count(0, 0, 10), "too few runs (n = 10)");
        assert_eq!((cell(None), count(0, 0, 0)), ("-".to_owned(), "-".to_owned()));
    }

    #[test]
    fn tables_replace_what_stands_between_the_marks() {
        let page = format!("a\n{MARK}\nold\n{MARK}\nb\n");
        let once = replaced(&page, "new\n").unwrap();
        assert_eq!(once, format!("a\n{MARK}\n\nnew\n\n{MARK}\nb\n"));
        assert_eq!(replaced(&once, "new\n").unwrap(), once);
        assert!(replaced("no mark", "new").is_err());
    }

    #[test]
    fn the_page_has_each_row() {
        let mut section = Section { title: "a script".to_owned(), rows: Vec::new() };
        section.add(GATES[0], 5, UNCHANGED, Some(false));
        section.add(GATES[0], 5, "old", Some(true));
        let repeat =
            |percent| Repeat { metric: "lost".to_owned(), percent: vec![percent], median_percent: percent };
        let results = Results {
            runs: 5,
            pairs: [(UNCHANGED.to_owned(), 1), ("old".to_owned(), 1)].into(),
            sections: vec![section],
            programs: vec!["gate".to_owned()],
            repeats: vec![repeat(Some(1.26)), repeat(None)],
            ..Results::default()
        };
        let text = markdown(&results);
        for line in [
            "### A script\n\n| gate | runs | unchanged | old |\n|---|--:|--:|--:|\n",
            "| `heap.after.max > +10%` | 5 | 0/1 [0, 98] | 1/1 [2, 100] |",
            "| `lost` | 1.3 % | 1.3 % |",
            "| `lost` | - | - |",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(repeats_csv(&results.repeats).ends_with("\nlost,1.3\nlost,\n"));
    }
}
