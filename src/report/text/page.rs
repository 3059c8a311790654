//! What the summary of the text is made of.

use crate::gc::facts::Lost;
use crate::gc::summary::Summary;
use crate::report::model::Facts;
use crate::report::style::Style;
use crate::report::units::{Units, duration};

/// What the summary is made of.
pub(super) struct Page<'a> {
    pub(super) sum: &'a Summary,
    pub(super) lost: &'a Lost,
    /// The exit code of the child.
    pub(super) child: Option<i32>,
    pub(super) facts: &'a Facts,
    pub(super) style: Style,
    pub(super) units: Units,
    pub(super) columns: usize,
}

impl Page<'_> {
    pub(super) fn time(&self, ns: u64) -> String {
        duration(ns, self.style.unicode)
    }
}
