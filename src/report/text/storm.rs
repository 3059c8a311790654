//! Folds collections into one line per second when there are more than anyone can read.

use std::collections::VecDeque;

use crate::gc::generation::Generation;
use crate::gc::record::Gc;
use crate::report::style::Style;
use crate::report::units::{count, duration, millis, percent};

/// A storm is more lines than this within [`SECOND`], and over below half of it.
const LIMIT: usize = 50;
const SECOND: u64 = 1_000_000_000;
/// Up to this number a second, gen2 collections get their own lines.
const MAX_GEN2: usize = 5;
/// Collections of the last second that are kept; no program has so many.
const MAX_RECENT: usize = 1 << 14;

/// Collections that share a line.
#[derive(Debug, Default)]
struct Fold {
    first: Option<u32>,
    last: Option<u32>,
    from_ns: u64,
    to_ns: u64,
    /// By generation; the last place is for those of an unknown one.
    counts: [u64; 4],
    shortest_ns: Option<u64>,
    longest_ns: Option<u64>,
    paused_ns: u64,
    /// The line of the first collection, for a fold that gets no other.
    single: Option<String>,
}

/// Watches the rate, by the stream's clock: a replay folds as the live watch did.
#[derive(Debug, Default)]
pub(super) struct Storm {
    /// Start and generation of the collections of the last second.
    recent: VecDeque<(u64, Option<Generation>)>,
    /// How many of them are of gen2.
    recent_gen2: usize,
    raging: bool,
    fold: Option<Fold>,
}

impl Storm {
    /// Whether this collection goes into a fold rather than into a line of its own. `odd`: its pause
    /// stands out even here.
    pub(super) fn swallows(&mut self, gc: &Gc, odd: bool) -> bool {
        let Some(at) = gc.at_ns else { return false };
        let old = |&(first, _): &(u64, Option<Generation>)| first.saturating_add(SECOND) <= at;
        while self.recent.len() >= MAX_RECENT || self.recent.front().is_some_and(old) {
            let gone = self.recent.pop_front();
            self.recent_gen2 -=
                usize::from(gone.is_some_and(|(_, generation)| generation == Some(Generation::GEN2)));
        }
        self.recent.push_back((at, gc.generation));
        self.recent_gen2 += usize::from(gc.generation == Some(Generation::GEN2));
        let limit = if self.raging { LIMIT / 2 } else { LIMIT };
        self.raging = self.recent.len() > limit;
        let rare = gc.generation == Some(Generation::GEN2) && self.recent_gen2 <= MAX_GEN2;
        self.raging && !rare && !odd && gc.complete()
    }

    /// Something is folded.
    pub(super) fn folds(&self) -> bool {
        self.fold.is_some()
    }

    /// Adds a collection to the fold; `line` is what it would have been alone.
    pub(super) fn add(&mut self, gc: &Gc, line: impl FnOnce() -> String) {
        let at = gc.at_ns.unwrap_or(0);
        let pause = gc.pause_ns.unwrap_or(0);
        let new = Fold { first: gc.number, from_ns: at, to_ns: at, ..Fold::default() };
        let fold = self.fold.get_or_insert(new);
        // Only the line of the first one may be shown.
        fold.single = fold.counts.iter().all(|n| *n == 0).then(line);
        fold.last = gc.number;
        // A background collection comes after younger ones.
        fold.from_ns = fold.from_ns.min(at);
        fold.to_ns = fold.to_ns.max(at.saturating_add(pause));
        fold.counts[gc.generation.map_or(3, |generation| generation.min(Generation::GEN2).index())] += 1;
        if gc.pause_ns.is_some() {
            fold.shortest_ns = Some(fold.shortest_ns.map_or(pause, |ns| ns.min(pause)));
            fold.longest_ns = fold.longest_ns.max(Some(pause));
        }
        fold.paused_ns = fold.paused_ns.saturating_add(pause);
    }

    /// The line of a fold that is a second old, or older than the storm.
    pub(super) fn due(&mut self, now_ns: u64, style: Style) -> Option<String> {
        let over = |fold: &Fold| !self.raging || now_ns >= fold.from_ns.saturating_add(SECOND);
        if self.fold.as_ref().is_some_and(over) { self.flush(style) } else { None }
    }

    /// The line of whatever is folded now.
    pub(super) fn flush(&mut self, style: Style) -> Option<String> {
        let fold = self.fold.take()?;
        Some(fold.single.clone().unwrap_or_else(|| fold.line(style)))
    }
}

impl Fold {
    fn line(&self, style: Style) -> String {
        let names = ["gen0", "gen1", "gen2", "of unknown generation"];
        let kinds: Vec<String> = self
            .counts
            .iter()
            .zip(names)
            .filter(|(n, _)| **n > 0)
            .map(|(n, name)| format!("{} {name}", count(*n)))
            .collect();
        let span = self.to_ns.saturating_sub(self.from_ns).max(1);
        let numbers = match (self.first, self.last) {
            (Some(first), Some(last)) => format!("#{first}-{last}: "),
            _ => String::new(),
        };
        let pauses = match (self.shortest_ns, self.longest_ns) {
            (Some(shortest), Some(longest)) => {
                let shortest = millis(shortest);
                let dash = if style.unicode { "–" } else { "-" };
                format!(
                    ", pause {}{dash}{}, {} of the time",
                    shortest.trim_end_matches(" ms"),
                    millis(longest),
                    percent(self.paused_ns as f64 / span as f64 * 100.0),
                )
            }
            _ => String::new(),
        };
        let length = match span {
            100_000_000.. => format!("{:.1} s", span as f64 / 1e9),
            _ => duration(span, style.unicode),
        };
        format!("{} {numbers}{} in {length}{pauses}", style.ellipsis(), kinds.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::Level;

    fn gc(number: u32, at_ms: u64) -> Gc {
        let mut gc = Gc::unknown(Level::Basic);
        gc.number = Some(number);
        gc.generation = Some(Generation::GEN0);
        gc.at_ns = Some(at_ms * 1_000_000);
        gc.pause_ns = Some(500_000);
        gc
    }

    #[test]
    fn only_a_storm_is_folded_and_odd_ones_never_are() {
        let style = Style { colour: false, unicode: true };
        let mut storm = Storm::default();
        for n in 0..50 {
            assert!(!storm.swallows(&gc(n, u64::from(n) * 20), false), "{n}: 50 a second are lines");
        }
        let mut lines = Vec::new();
        for n in 0..1200 {
            let gc = gc(50 + n, 1000 + u64::from(n) * 2);
            let swallowed = storm.swallows(&gc, false);
            lines.extend(storm.due(gc.at_ns.unwrap_or(0), style));
            if swallowed {
                storm.add(&gc, String::new);
            }
        }
        assert!(!storm.swallows(&gc(1250, 3400), true));
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1], "… #551-1050: 500 gen0 in 1.0 s, pause 0.50–0.50 ms, 25 % of the time");
        // The storm is over: what is left comes out before the next line.
        assert!(!storm.swallows(&gc(1251, 6000), false));
        assert!(storm.due(6_000_000_000, style).is_some_and(|line| line.contains("gen0")));
        assert_eq!(storm.flush(style), None);
        for n in 0..3 {
            storm.add(&gc(2000 + n, 7000 + u64::from(n) * 9), String::new);
        }
        let short = storm.flush(style).unwrap_or_default();
        assert!(short.starts_with("… #2000-2002: 3 gen0 in 18.5 ms, "), "{short}");
    }
}
