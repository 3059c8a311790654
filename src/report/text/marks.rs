//! Marks collections with unusual pauses.

use crate::gc::record::Gc;
use crate::gc::summary::Samples;
use crate::report::style::Role;

/// Below this number of pauses nothing is marked.
const MIN_PAUSES: u64 = 20;

/// How a collection compares with those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Usual, or unknown.
    None,
    /// Its pause is over the p90 so far.
    High,
    /// Its pause is over the p99 so far.
    Odd,
    /// The record is incomplete; the summary does not count it.
    Incomplete,
}

impl Mark {
    /// The sign in the first column; it says the same as the colour.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Mark::None => " ",
            Mark::High => "+",
            Mark::Odd => "!",
            Mark::Incomplete => "?",
        }
    }

    pub(super) fn role(self) -> Role {
        match self {
            Mark::None => Role::Plain,
            Mark::High => Role::High,
            Mark::Odd => Role::Alarm,
            Mark::Incomplete => Role::Dim,
        }
    }
}

/// The pauses so far, and the marks that were shown.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pauses: Samples,
    pub(super) high: bool,
    pub(super) odd: bool,
    pub(super) incomplete: bool,
    stopped_for_us: bool,
}

impl Marks {
    /// Compares a collection with the ones before it.
    pub(super) fn judge(&mut self, gc: &Gc) -> Mark {
        if !gc.complete() {
            return Mark::Incomplete;
        }
        let Some(pause) = gc.pause_ns else { return Mark::None };
        let over = |p| self.pauses.percentile_so_far(p).is_some_and(|limit| pause > limit);
        let mark = match self.pauses.count() {
            0..MIN_PAUSES => Mark::None,
            _ if over(99.0) => Mark::Odd,
            _ if over(90.0) => Mark::High,
            _ => Mark::None,
        };
        self.pauses.add(pause);
        mark
    }

    /// Whether a marked pause is at least twice the median: among very many, some are always over the p99.
    pub(super) fn glaring(&self, gc: &Gc, mark: Mark) -> bool {
        let usual = self.pauses.percentile_so_far(50.0);
        mark == Mark::Odd && gc.pause_ns.zip(usual).is_some_and(|(pause, usual)| pause / 2 >= usual)
    }

    /// Remembers that a mark was shown, for the legend.
    pub(super) fn shown(&mut self, gc: &Gc, mark: Mark) {
        self.stopped_for_us |= gc.caused_by_watching_ns > Some(0);
        match mark {
            Mark::None => {}
            Mark::High => self.high = true,
            Mark::Odd => self.odd = true,
            Mark::Incomplete => self.incomplete = true,
        }
    }

    /// The meaning of the marks that were shown.
    pub(super) fn legend(&self) -> Vec<String> {
        let all = [
            (self.odd, "! pause over the p99 so far"),
            (self.high, "+ over the p90"),
            (self.incomplete, "? incomplete, not counted below"),
        ];
        let shown: Vec<&str> = all.iter().filter(|(shown, _)| *shown).map(|(_, text)| *text).collect();
        let marks = (!shown.is_empty()).then(|| shown.join("\u{a0}\u{a0} "));
        let star = "* the program was also stopped because of gcwatch; that is not in its pause";
        marks.into_iter().chain(self.stopped_for_us.then(|| star.to_owned())).collect()
    }
}
