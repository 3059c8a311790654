//! Reads the tables of documents that name tests.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, ensure};
use xtask::workspace;

/// A table of a Markdown file.
pub(crate) struct Table {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// The tables of a file in the repository.
pub(crate) fn tables(page: &str) -> Result<Vec<Table>> {
    let text = fs::read_to_string(workspace::root().join(page)).with_context(|| page.to_owned())?;
    let mut found: Vec<Table> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let Some(cells) = cells(line) else {
            inside = false;
            continue;
        };
        if inside {
            let table = found.last_mut().context("a table without a header")?;
            ensure!(cells.len() == table.header.len(), "{page}: not {} cells: {line}", table.header.len());
            ensure!(cells.iter().all(|cell| !cell.is_empty()), "{page}: an empty cell: {line}");
            // Skip the line below the header.
            if !cells.iter().all(|cell| cell.chars().all(|c| c == '-' || c == ':')) {
                table.rows.push(cells);
            }
        } else {
            found.push(Table { header: cells, rows: Vec::new() });
            inside = true;
        }
    }
    Ok(found)
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
}

/// The texts between backquotes.
pub(crate) fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether a test exists: one of this suite (without runtime and kind of GC), or `file.rs: name`, a unit test.
pub(crate) fn exists(test: &str, suite: &BTreeSet<String>) -> bool {
    match test.split_once(": ") {
        None => suite.contains(test),
        Some((file, name)) => fs::read_to_string(workspace::root().join(file))
            .is_ok_and(|text| text.contains(&format!("fn {name}("))),
    }
}
