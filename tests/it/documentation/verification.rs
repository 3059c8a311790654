//! Checks the tests that documents name: every figure of the schema has a row in `docs/verification.md`, and all tests
//! named there, in `docs/client.md`, in `docs/reliability.md` and in `SECURITY.md` exist.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::workspace;

use crate::it::suite::Suite;
use crate::it::support::{GRAPHS, Json, exists, quoted, schema, tables};

const PAGE: &str = "docs/verification.md";

pub(crate) fn register(suite: &mut Suite) {
    let names = suite.names();
    suite.named("verification::every_figure_has_a_row", {
        let names = names.clone();
        move || every_figure(&names)
    });
    suite.named("verification::every_named_test_exists", move || {
        for page in ["docs/reliability.md", "docs/client.md", "SECURITY.md"] {
            if workspace::root().join(page).exists() {
                check(page, |test| exists(test, &names)).context(page)?;
            }
        }
        Ok(())
    });
}

/// A row of the tables in `docs/verification.md`.
struct Row {
    /// A path such as `gcs[].moved.blocks`, or all paths below one: `gcs[].pauses[].*`.
    paths: Vec<String>,
    tests: Vec<String>,
}

fn rows() -> Result<Vec<Row>> {
    let mut found = Vec::new();
    for row in tables(PAGE)?.iter().flat_map(|table| &table.rows).filter(|row| row[0].starts_with('`')) {
        ensure!(row.len() == 4, "a row has four cells: {row:?}");
        let (paths, tests) = (quoted(&row[0]), quoted(&row[2]));
        ensure!(!paths.is_empty() && !tests.is_empty(), "a row without path or test: {row:?}");
        found.push(Row { paths, tests });
    }
    Ok(found)
}

fn every_figure(trials: &BTreeSet<String>) -> Result<()> {
    let leaves = leaves()?;
    let mut covered = BTreeSet::new();
    let mut wrong = Vec::new();
    for row in rows()? {
        for path in &row.paths {
            let all: Vec<&String> = leaves.iter().filter(|leaf| covers(path, leaf)).collect();
            if all.is_empty() {
                wrong.push(format!("`{path}` is not in the schema"));
            }
            covered.extend(all);
        }
        for test in &row.tests {
            if !exists(test, trials) {
                wrong.push(format!("there is no test `{test}`"));
            }
        }
    }
    wrong.extend(
        leaves.iter().filter(|leaf| !covered.contains(leaf)).map(|leaf| format!("`{leaf}` has no row")),
    );
    ensure!(wrong.is_empty(), "{PAGE}:\n{}", wrong.join("\n"));
    Ok(())
}

/// Whether a path of a row, which may end in `*`, covers a path of the schema.
fn covers(path: &str, leaf: &str) -> bool {
    match path.strip_suffix('*') {
        Some(start) => leaf.starts_with(start),
        None => path == leaf,
    }
}

/// The paths of all members of the documents and of the lines that are neither object nor list.
fn leaves() -> Result<BTreeSet<String>> {
    let root = &schema()?.json;
    let mut found = BTreeSet::new();
    walk(root, root, "", &mut found);
    let kinds = root.list("/$defs/Line/oneOf")?;
    ensure!(kinds.len() == 4, "four kinds of line");
    for line in kinds {
        let kind = line.text("/properties/type/const")?;
        walk(root, line, &format!("line {kind}: "), &mut found);
    }
    for (kind, name) in GRAPHS {
        let part = root.pointer(&format!("/$defs/{name}")).with_context(|| format!("no {name}"))?;
        walk(root, part, &format!("{kind}: "), &mut found);
    }
    ensure!(found.len() > 400, "{} paths: the walk through the schema is broken", found.len());
    Ok(found)
}

fn walk(root: &Value, part: &Value, path: &str, found: &mut BTreeSet<String>) {
    let mut inner = false;
    if let Some(target) = part["$ref"].as_str().and_then(|name| root.pointer(name.trim_start_matches('#'))) {
        walk(root, target, path, found);
        inner = true;
    }
    for choice in ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| part[*key].as_array()).flatten() {
        if choice["type"] != "null" {
            walk(root, choice, path, found);
            inner = true;
        }
    }
    for (name, property) in part["properties"].as_object().into_iter().flatten() {
        let dot = if path.is_empty() || path.ends_with(' ') { "" } else { "." };
        walk(root, property, &format!("{path}{dot}{name}"), found);
        inner = true;
    }
    if part["items"].is_object() {
        walk(root, &part["items"], &format!("{path}[]"), found);
        inner = true;
    }
    if !inner && !path.is_empty() {
        found.insert(path.to_owned());
    }
}

/// In each table whose last column is `test`, every row names at least one test, and all of them exist.
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
