//! The live line, the last one of a terminal: figures of the last seconds. What the runtime's counters say is shown
//! without waiting for a collection.

use std::collections::VecDeque;

use crate::gc::record::Gc;
use crate::report::missing::counts;
use crate::report::model::LiveState;
use crate::report::share::Share;
use crate::report::style::{Line, Role, Style};
use crate::report::units::{Units, bytes, duration, percent, plural};

/// The time that the line covers.
const WINDOW_NS: u64 = 5_000_000_000;
/// Pauses in the sparkline.
const SPARKS: usize = 24;

/// The counters themselves allocate 9 kB a second, and the runtime counts in steps of 8 KiB: less than this is not told
/// from nothing.
const MIN_RATE: u64 = 32 << 10;

/// Collections that are kept for it; no program has so many.
const MAX_RECENT: usize = 1 << 16;

/// The last few seconds of collections.
#[derive(Debug, Default)]
pub(super) struct Status {
    gcs: u64,
    /// Start, times and allocated bytes, within the window.
    recent: VecDeque<(u64, Share, Option<u64>)>,
    pauses: VecDeque<u64>,
    /// The end of the last collection, ns since the watch began.
    last_end_ns: Option<u64>,
}

impl Status {
    /// Takes in one collection.
    pub(super) fn add(&mut self, gc: &Gc) {
        self.gcs += u64::from(gc.complete());
        let (Some(at), Some(pause)) = (gc.at_ns, gc.pause_ns) else { return };
        self.recent.push_back((at, Share::of(gc), gc.allocated.map(|allocated| allocated.bytes)));
        self.forget(at);
        self.last_end_ns = self.last_end_ns.max(Some(at.saturating_add(pause)));
        self.pauses.push_back(pause);
        if self.pauses.len() > SPARKS {
            self.pauses.pop_front();
        }
    }

    fn forget(&mut self, now: u64) {
        let old = |(at, ..): &(u64, Share, Option<u64>)| at.saturating_add(WINDOW_NS) < now;
        while self.recent.len() > MAX_RECENT || self.recent.front().is_some_and(old) {
            self.recent.pop_front();
        }
    }

    /// The line, shorter than `columns`: parts that do not fit are left out, from the right.
    pub(super) fn line(&mut self, state: &LiveState, style: Style, units: Units, columns: usize) -> String {
        let now = state.elapsed_ns;
        self.forget(now);
        let mut parts = vec![(duration(now, style.unicode), Role::Strong)];
        parts.push((plural(self.gcs, "GC"), Role::Plain));
        let counters = state.counters;
        let fresh = counters.at_ns.saturating_add(WINDOW_NS) >= now;
        let heap = counters.heap_bytes.filter(|_| fresh).map(|heap| format!("heap {}", bytes(heap, units)));
        let rate = match counters.allocated_per_s.filter(|_| fresh) {
            Some(rate) if rate < MIN_RATE => Some(format!("alloc < {}/s", bytes(MIN_RATE, units))),
            rate => rate.or(self.allocated_per_s(now)).map(|rate| format!("alloc {}/s", bytes(rate, units))),
        };
        let plain = |text: String| (text, Role::Plain);
        let quiet = self.recent.is_empty();
        if quiet {
            // The size first: of a program that collects seldom it says most.
            parts.extend(heap.into_iter().chain(rate).map(plain));
            let since = self.last_end_ns.map(|end| now.saturating_sub(end));
            parts.extend(since.map(|ns| plain(format!("last GC {} ago", duration(ns, style.unicode)))));
        } else {
            parts.extend(self.pace(now).map(plain));
            parts.extend(rate.into_iter().chain(heap).map(plain));
        }
        parts.extend(counts(&state.lost).map(|text| (format!("{text} lost"), Role::Alarm)));
        let last = self.pauses.back().filter(|_| !quiet).map(|&last| duration(last, style.unicode));
        let before: usize =
            parts.iter().map(|(text, _)| text.chars().count() + style.dot().chars().count()).sum();
        if let Some(last) = last {
            // As many bars as there is room for.
            let bars = columns.saturating_sub(before + last.chars().count() + 3).clamp(4, SPARKS);
            parts.push((format!("{} {last}", sparkline(&self.pauses, bars, style.unicode)), Role::Plain));
        }
        let mut line = Line::of(style, Role::Plain, " ");
        for (text, role) in parts {
            let dot = if line.width() > 1 { style.dot() } else { "" };
            if line.width() + dot.chars().count() + text.chars().count() >= columns {
                continue;
            }
            line.push(style, Role::Dim, dot);
            line.push(style, role, &text);
        }
        line.into_string()
    }
}

impl Status {
    /// How often and how long collections stopped the program in the window.
    fn pace(&self, now: u64) -> [String; 2] {
        let window = window(now);
        let share = self.recent.iter().fold(Share::default(), |sum, (_, share, _)| sum.plus(*share));
        let rate = self.recent.len() as f64 / (window / 1e9);
        let paused = format!("paused {}", percent(share.pause_ns as f64 / window * 100.0));
        let remark = share.remark(window as u64).map_or_else(String::new, |text| format!(", {text}"));
        [format!("last {} s: {rate:.1}/s", WINDOW_NS / 1_000_000_000), paused + &remark]
    }

    /// Bytes allocated in the window, by its collections.
    fn allocated_per_s(&self, now: u64) -> Option<u64> {
        let known = || self.recent.iter().filter_map(|(.., allocated)| *allocated);
        known().next()?;
        Some((known().fold(0, u64::saturating_add) as f64 / (window(now) / 1e9)) as u64)
    }
}

/// The length of the window, ns; it is shorter at the beginning of a watch.
fn window(now: u64) -> f64 {
    now.clamp(1, WINDOW_NS) as f64
}

/// Each of the last pauses as a bar, the longest one full.
fn sparkline(pauses: &VecDeque<u64>, most: usize, unicode: bool) -> String {
    let bars: [char; 8] = if unicode {
        ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    } else {
        ['_', '.', '-', '~', '=', '+', '*', '#']
    };
    let shown = || pauses.iter().skip(pauses.len().saturating_sub(most));
    let top = shown().copied().max().unwrap_or(0).max(1);
    shown().map(|&ns| bars[(u128::from(ns) * 7 / u128::from(top)) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::facts::Counters;
    use crate::gc::record::{Cost, Level};

    #[test]
    fn it_says_what_is_going_on_and_never_more_than_fits() {
        let mut status = Status::default();
        for (n, pause) in [1u64, 8, 2, 4].into_iter().enumerate() {
            let mut gc = Gc::unknown(Level::Basic);
            gc.at_ns = Some((n as u64 + 1) * 1_000_000_000);
            gc.pause_ns = Some(pause * 10_000_000);
            status.add(&gc);
        }
        let style = Style { colour: false, unicode: true };
        let mut state = LiveState { elapsed_ns: 5_000_000_000, ..LiveState::default() };
        assert_eq!(
            status.line(&state, style, Units::Iec, 80),
            " 5.00 s · 4 GCs · last 5 s: 0.8/s · paused 3.0 % · ▁█▂▄ 40.0 ms"
        );
        state.lost.events = 1;
        assert!(status.line(&state, style, Units::Iec, 80).contains(" · 1 event lost · ▁█▂▄"));
        for columns in 30..80 {
            let line = status.line(&state, style, Units::Iec, columns);
            assert!(line.contains(" · last 5 s: 0.8/s") || columns < 46, "{columns}: {line}");
        }
        let mut gc = Gc::unknown(Level::Roots);
        (gc.at_ns, gc.pause_ns, gc.heap_count) = (Some(5_000_000_000), Some(100_000_000), Some(1));
        gc.cost = Some(Cost { callback_ns: 10_000_000, walk_ns: 40_000_000, naming_ns: None, armed: true });
        let mut watched = Status::default();
        watched.add(&gc);
        let line = watched.line(
            &LiveState { elapsed_ns: 5_000_000_000, ..LiveState::default() },
            style,
            Units::Iec,
            100,
        );
        assert_eq!(line, " 5.00 s · 1 GC · last 5 s: 0.2/s · paused 2.0 %, at most 1.0 % its own · █ 100 ms");
        for columns in 8..80 {
            assert!(status.line(&state, style, Units::Iec, columns).chars().count() < columns);
        }
    }

    #[test]
    fn a_quiet_program_shows_what_its_counters_say() {
        let style = Style { colour: false, unicode: true };
        let mut status = Status::default();
        let at = |elapsed_ns, counters| LiveState { elapsed_ns, counters, ..LiveState::default() };
        let none = Counters::default();
        assert_eq!(status.line(&at(900_000_000, none), style, Units::Iec, 80), " 900 ms · 0 GCs");
        let first = Counters { at_ns: 1_000_000_000, heap_bytes: Some(891_176), allocated_per_s: None };
        let line = status.line(&at(1_050_000_000, first), style, Units::Iec, 80);
        assert_eq!(line, " 1.05 s · 0 GCs · heap 870 KiB");
        let own = Counters { at_ns: 65_000_000_000, allocated_per_s: Some(8200), ..first };
        let mut gc = Gc::unknown(Level::Basic);
        (gc.at_ns, gc.pause_ns) = (Some(30_000_000_000), Some(1_000_000));
        status.add(&gc);
        let idle = at(65_100_000_000, own);
        assert_eq!(
            status.line(&idle, style, Units::Iec, 80),
            " 65.1 s · 1 GC · heap 870 KiB · alloc < 32.0 KiB/s · last GC 35.1 s ago"
        );
        assert_eq!(status.line(&idle, style, Units::Iec, 40), " 65.1 s · 1 GC · heap 870 KiB");
        // A program that is stopped sends none.
        let line = status.line(&at(99_000_000_000, own), style, Units::Iec, 80);
        assert!(!line.contains("heap") && !line.contains("alloc"), "{line}");
        let mut status = Status::default();
        status.add(&gc);
        let busy = Counters { at_ns: 31_000_000_000, allocated_per_s: Some(3 << 20), ..first };
        let line = status.line(&at(31_000_000_000, busy), style, Units::Iec, 100);
        assert!(line.contains("last 5 s: 0.2/s · paused <0.1 % · alloc 3.00 MiB/s · heap 870 KiB"), "{line}");
    }
}
