//! The roots of a collection, counted by the test itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Json;

/// Kind and flags: `handle`, `handle weak refcounted`.
pub(crate) type Cell = String;

/// How many roots there are of each kind and flags, with null references and dependent pairs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    cells: BTreeMap<Cell, i64>,
}

/// The cells for roots that refer to no object, and for the pairs of dependent handles.
pub(crate) const NULL: &str = "null";
pub(crate) const PAIRS: &str = "pairs";

impl Tally {
    /// The record's counts, after a check that its sums agree with each other and with the list, if there is one.
    pub(crate) fn of(gc: &Value) -> Result<Tally> {
        let roots = gc.place("/roots")?;
        let mut tally = Tally::default();
        for row in roots.list("/by_kind_and_flag")? {
            let before = tally.cells.insert(cell(row)?, i64::try_from(row.uint("/count")?)?);
            ensure!(before.is_none(), "two rows of {row}");
        }
        tally.check(roots).with_context(|| format!("GC {}", gc["number"]))?;
        tally.cells.insert(NULL.to_owned(), i64::try_from(roots.uint("/null_refs")?)?);
        tally.cells.insert(PAIRS.to_owned(), i64::try_from(roots.uint("/dependent_pairs")?)?);
        Ok(tally)
    }

    pub(crate) fn get(&self, cell: &str) -> i64 {
        self.cells.get(cell).copied().unwrap_or(0)
    }

    /// The cells that changed since `before`, and by how much.
    pub(crate) fn since(&self, before: &Tally) -> Tally {
        let names: BTreeSet<&Cell> = self.cells.keys().chain(before.cells.keys()).collect();
        let changes = names.into_iter().map(|name| (name.clone(), self.get(name) - before.get(name)));
        Tally { cells: changes.filter(|(_, change)| *change != 0).collect() }
    }

    /// The same with this many more in a cell.
    pub(crate) fn with(mut self, cell: &str, more: i64) -> Tally {
        *self.cells.entry(cell.to_owned()).or_default() += more;
        self.cells.retain(|_, count| *count != 0);
        self
    }

    /// The same without these cells.
    pub(crate) fn without(mut self, cells: &[&str]) -> Tally {
        self.cells.retain(|name, _| !cells.contains(&name.as_str()));
        self
    }

    fn sum(&self, of: impl Fn(&str) -> bool) -> i64 {
        self.cells.iter().filter(|(name, _)| of(name)).map(|(_, count)| count).sum()
    }

    fn check(&self, roots: &Value) -> Result<()> {
        let says = |pointer: &str, own: i64| {
            let theirs = roots.uint(pointer)?;
            ensure!(i64::try_from(theirs)? == own, "{pointer} is {theirs}, the rows sum to {own}: {self}");
            Ok(())
        };
        says("/total", self.sum(|_| true))?;
        for kind in ["stack", "handle", "finalizer", "other"] {
            says(&format!("/by_kind/{kind}"), self.sum(|name| name.split(' ').next() == Some(kind)))?;
        }
        for flag in ["pinning", "weak", "interior", "refcounted"] {
            says(&format!("/by_flag/{flag}"), self.sum(|name| name.split(' ').skip(1).any(|f| f == flag)))?;
        }
        let weak = self.sum(|name| name.contains(" weak"));
        says("/weak", weak)?;
        says("/holding", self.sum(|_| true) - weak)?;
        if roots["list"].is_null() {
            return Ok(());
        }
        let mut listed = Tally::default();
        let mut nulls = 0;
        for root in roots.list("/list")? {
            if root.address("/object")? == 0 {
                nulls += 1;
            } else {
                *listed.cells.entry(cell(root)?).or_default() += 1;
            }
        }
        ensure!(listed == *self, "the list has {listed}, the rows {self}");
        says("/null_refs", nulls)
    }
}

impl<const N: usize> From<[(&str, i64); N]> for Tally {
    fn from(cells: [(&str, i64); N]) -> Tally {
        Tally { cells: cells.map(|(name, count)| (name.to_owned(), count)).into() }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.cells).finish()
    }
}

fn cell(row: &Value) -> Result<Cell> {
    let mut name = row.text("/kind")?.to_owned();
    for flag in row.list("/flags")? {
        name.push(' ');
        name.push_str(flag.as_str().context("not a string")?);
    }
    Ok(name)
}
