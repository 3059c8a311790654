//! The table of README.md.

use std::fmt::Write as _;

use anyhow::{Result, ensure};

use super::outcome::Results;
use super::platforms::Platform;

/// Stands before and after the table.
const MARK: &str = "<!-- cargo xtask matrix -->";
const HEAD: &str = "\
|platform|builds|run on|tests passed, skipped|`basic`|`moves`|`roots`|names|
|---|---|---|---|---|---|---|---|
";

/// What each column of levels is proved by: all tests whose names begin like this. Where the first ones do not run, the
/// next ones count.
const PROOFS: [&[&str]; 4] = [
    &["levels::basic"],
    &["levels::moves"],
    &["moves::every_address_maps", "roots::known"],
    &["names::known_holders"],
];

/// One platform's row.
pub(super) struct Row {
    title: &'static str,
    text: String,
}

impl Row {
    pub(super) fn new(platform: &Platform, results: &Results) -> Row {
        let built = if results.is_built { "yes" } else { "no" };
        // Writing to a String cannot fail.
        let mut text = format!("|{}|{built}|", platform.title);
        let mut tests = format!("{}, {}", results.passed.len(), results.skipped.len());
        if !results.failed.is_empty() {
            let _ = write!(tests, ", {} failed", results.failed.len());
        }
        let _ = match platform.ran_on {
            Some(system) => write!(text, "{system}|{tests}|"),
            None => write!(text, "nothing|-|"),
        };
        for proof in PROOFS {
            let found =
                proof.iter().map(|tests| results.runtimes(tests)).find(|runtimes| !runtimes.is_empty());
            let _ = write!(text, "{}|", found.unwrap_or_else(|| "no".to_owned()));
        }
        Row { title: platform.title, text }
    }
}

/// The rows as a table.
pub(super) fn markdown(rows: &[Row]) -> String {
    let lines = rows.iter().map(|row| format!("{}\n", row.text));
    HEAD.to_owned() + &lines.collect::<String>()
}

/// A page whose table has these rows. Other rows stay as they are.
///
/// # Errors
/// The page has no marked table, or the table has no such row.
pub(super) fn replaced(page: &str, rows: &[Row]) -> Result<String> {
    let parts: Vec<&str> = page.split(MARK).collect();
    ensure!(parts.len() == 3, "the table is not between two lines {MARK}");
    let mut lines: Vec<&str> = parts[1].trim().lines().skip(2).collect();
    for row in rows {
        let start = format!("|{}|", row.title);
        match lines.iter_mut().find(|line| line.starts_with(&start)) {
            Some(line) => *line = &row.text,
            None => lines.push(&row.text),
        }
    }
    let table = lines.iter().fold(HEAD.to_owned(), |table, line| table + line + "\n");
    Ok(format!("{}{MARK}\n\n{table}\n{MARK}{}", parts[0], parts[2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_other_platforms_stay() -> Result<()> {
        let row = |title, text: &str| Row { title, text: text.to_owned() };
        let page = format!("before\n{MARK}\n\n{HEAD}|A|1|\n|B|2|\n\n{MARK}\nafter");
        let new = replaced(&page, &[row("B", "|B|3|"), row("C", "|C|4|")])?;
        assert_eq!(new, page.replace("|B|2|\n", "|B|3|\n|C|4|\n"));
        assert!(replaced("no table", &[]).is_err());
        Ok(())
    }
}
