//! `docs/reliability.md` and `SECURITY.md` name the tests that show what they say.

use anyhow::{Context, Result, ensure};
use xtask::workspace;

use super::suite::Suite;
use super::support::{exists, quoted, tables};

pub(crate) fn register(suite: &mut Suite) {
    let names = suite.names();
    suite.named("documented::every_named_test_exists", move || {
        for page in ["docs/reliability.md", "SECURITY.md"] {
            if workspace::root().join(page).exists() {
                check(page, |test| exists(test, &names)).context(page)?;
            }
        }
        Ok(())
    });
}

/// Each row of a table whose last column is `test` names at least one, and each of them is there.
fn check(page: &str, exists: impl Fn(&str) -> bool) -> Result<()> {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for table in tables(page)?.iter().filter(|table| table.header.last().is_some_and(|name| name == "test")) {
        for row in &table.rows {
            rows += 1;
            let tests = row.last().map(|cell| quoted(cell)).unwrap_or_default();
            if tests.is_empty() {
                wrong.push(format!("no test shows this: {}", row.join(" | ")));
            }
            let missing = tests.iter().filter(|test| !exists(test));
            wrong.extend(missing.map(|test| format!("there is no test `{test}`")));
        }
    }
    ensure!(rows > 0, "no table has a last column `test`");
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
