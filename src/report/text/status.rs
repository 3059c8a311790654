//! The last line of a live terminal: what is going on right now.

use std::collections::VecDeque;

use super::style::{Line, Role, Style};
use crate::gc::facts::Lost;
use crate::gc::record::Gc;
use crate::report::LiveState;
use crate::report::units::{count, duration, percent};

/// "Now" is this long.
const WINDOW_NS: u64 = 5_000_000_000;
/// Pauses in the sparkline.
const SPARKS: usize = 24;

/// The last few seconds of collections.
#[derive(Debug, Default)]
pub(super) struct Status {
    gcs: u64,
    /// Start and pause, within the window.
    recent: VecDeque<(u64, u64)>,
    pauses: VecDeque<u64>,
}

impl Status {
    /// Takes in one collection.
    pub(super) fn add(&mut self, gc: &Gc) {
        self.gcs += u64::from(gc.complete());
        let (Some(at), Some(pause)) = (gc.at_ns, gc.pause_ns) else { return };
        self.recent.push_back((at, pause));
        self.forget(at);
        self.pauses.push_back(pause);
        if self.pauses.len() > SPARKS {
            self.pauses.pop_front();
        }
    }

    fn forget(&mut self, now: u64) {
        while self.recent.front().is_some_and(|&(at, _)| at.saturating_add(WINDOW_NS) < now) {
            self.recent.pop_front();
        }
    }

    /// The line, shorter than `columns`: parts that do not fit are left out, from the right.
    pub(super) fn line(&mut self, state: &LiveState, style: Style, columns: usize) -> String {
        let now = state.elapsed_ns;
        self.forget(now);
        let window = now.clamp(1, WINDOW_NS) as f64;
        let paused: u64 = self.recent.iter().map(|(_, pause)| pause).sum();
        let rate = self.recent.len() as f64 / (window / 1e9);
        let mut parts = vec![(duration(now, style.unicode), Role::Strong)];
        parts.push((format!("{} GCs", count(self.gcs)), Role::Plain));
        parts.push((format!("{rate:.1}/s"), Role::Plain));
        parts.push((format!("paused {}", percent(paused as f64 / window * 100.0)), Role::Plain));
        parts.extend(lost(&state.lost).map(|text| (format!("{text} lost"), Role::Alarm)));
        if let Some(&last) = self.pauses.back() {
            let spark = sparkline(&self.pauses, style.unicode);
            parts.push((format!("{spark} {}", duration(last, style.unicode)), Role::Plain));
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

/// `12 events, 3 ranges`; nothing when nothing was lost.
pub(super) fn lost(lost: &Lost) -> Option<String> {
    let kinds = [(lost.events, "event"), (lost.ranges, "range"), (lost.roots, "root")];
    let parts: Vec<String> = kinds
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, name)| format!("{} {name}{}", count(*n), if *n == 1 { "" } else { "s" }))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Each pause as a bar, the longest one full.
fn sparkline(pauses: &VecDeque<u64>, unicode: bool) -> String {
    let bars: [char; 8] = if unicode {
        ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    } else {
        ['_', '.', '-', '~', '=', '+', '*', '#']
    };
    let top = pauses.iter().copied().max().unwrap_or(0).max(1);
    pauses.iter().map(|&ns| bars[(u128::from(ns) * 7 / u128::from(top)) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::Level;

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
        assert_eq!(status.line(&state, style, 80), " 5.00 s · 4 GCs · 0.8/s · paused 3.0 % · ▁█▂▄ 40.0 ms");
        state.lost.events = 1;
        assert!(status.line(&state, style, 80).contains(" · 1 event lost · ▁█▂▄"));
        for columns in 8..80 {
            assert!(status.line(&state, style, columns).chars().count() < columns);
        }
        // Long after the last one nothing is going on, and nothing is invented.
        state.elapsed_ns = 60_000_000_000;
        assert!(status.line(&state, style, 80).contains("0.0/s · paused 0 %"));
    }
}
