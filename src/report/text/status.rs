//! The live line, the last one of a terminal: figures of the last seconds.

use std::collections::VecDeque;

use crate::gc::record::Gc;
use crate::report::missing::counts;
use crate::report::model::LiveState;
use crate::report::share::Share;
use crate::report::style::{Line, Role, Style};
use crate::report::units::{Units, bytes, count, duration, percent};

/// The time that the line covers.
const WINDOW_NS: u64 = 5_000_000_000;
/// Pauses in the sparkline.
const SPARKS: usize = 24;

/// Collections that are kept for it; no program has so many.
const MAX_RECENT: usize = 1 << 16;

/// The last few seconds of collections.
#[derive(Debug, Default)]
pub(super) struct Status {
    gcs: u64,
    /// Start, times and allocated bytes, within the window.
    recent: VecDeque<(u64, Share, Option<u64>)>,
    pauses: VecDeque<u64>,
}

impl Status {
    /// Takes in one collection.
    pub(super) fn add(&mut self, gc: &Gc) {
        self.gcs += u64::from(gc.complete());
        let (Some(at), Some(pause)) = (gc.at_ns, gc.pause_ns) else { return };
        self.recent.push_back((at, Share::of(gc), gc.allocated.map(|allocated| allocated.bytes)));
        self.forget(at);
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
        let window = now.clamp(1, WINDOW_NS) as f64;
        let share = self.recent.iter().fold(Share::default(), |sum, (_, share, _)| sum.plus(*share));
        let rate = self.recent.len() as f64 / (window / 1e9);
        let mut parts = vec![(duration(now, style.unicode), Role::Strong)];
        parts.push((format!("{} GCs", count(self.gcs)), Role::Plain));
        parts.push((format!("last {} s: {rate:.1}/s", WINDOW_NS / 1_000_000_000), Role::Plain));
        let paused = format!("paused {}", percent(share.pause_ns as f64 / window * 100.0));
        let remark = share.remark(window as u64).map_or_else(String::new, |text| format!(", {text}"));
        parts.push((paused + &remark, Role::Plain));
        if self.recent.iter().any(|(.., allocated)| allocated.is_some()) {
            let allocated =
                self.recent.iter().filter_map(|(.., allocated)| *allocated).fold(0, u64::saturating_add);
            let rate = allocated as f64 / (window / 1e9);
            parts.push((format!("alloc {}/s", bytes(rate as u64, units)), Role::Plain));
        }
        parts.extend(counts(&state.lost).map(|text| (format!("{text} lost"), Role::Alarm)));
        let last = self.pauses.back().map(|&last| duration(last, style.unicode));
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
        assert_eq!(
            line,
            " 5.00 s · 1 GCs · last 5 s: 0.2/s · paused 2.0 %, at most 1.0 % its own · █ 100 ms"
        );
        for columns in 8..80 {
            assert!(status.line(&state, style, Units::Iec, columns).chars().count() < columns);
        }
        // Long after the last collection the figures are 0.
        state.elapsed_ns = 60_000_000_000;
        assert!(status.line(&state, style, Units::Iec, 80).contains("0.0/s · paused 0 %"));
    }
}
