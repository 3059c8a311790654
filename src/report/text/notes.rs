//! The notes below the tables of the summary.

use super::allocations;
use super::header::{MAX_TITLE, title};
use super::page::Page;
use super::root_stats;
use crate::gc::facts::BackgroundGc;
use crate::gc::generation::Generation;
use crate::gc::record::{GenerationStats, Kind, Level};
use crate::gc::root_kind::MarkKind;
use crate::gc::summary::{INCOMPLETE, condition_words};
use crate::report::style::{Role, wrap};
use crate::report::units::{bytes, count, percent, plural};
use crate::report::{blocking, child_exit, missing};

impl Page<'_> {
    /// Sentences; each begins with its subject.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |about: &str, role: Role, text: String| notes.push((role, format!("{about}: {text}")));
        if let Some(text) = self.why() {
            note("why (share of pauses)", Role::Plain, text);
        }
        if let Some(text) = self.why_gen2() {
            note("gen2 because", Role::Plain, text);
        }
        if let Some(text) = self.phases() {
            note("in the pauses", Role::Plain, text);
        }
        if let Some(text) = root_stats::induced(&self.sum.induced, self.columns, self.style) {
            note("GC.Collect", Role::Plain, text);
        }
        if let (Some(last), Some(max)) = (self.sum.heap_after_last_bytes, self.sum.heap_after_max_bytes) {
            let (last, max) = (bytes(last, self.units), bytes(max, self.units));
            note("heap", Role::Plain, format!("{last} after the last GC, {max} at most"));
        }
        if let Some(text) = self.sizes() {
            note("generations", Role::Plain, text);
        }
        if let Some(allocated) = self.sum.allocated {
            let background = self.sum.groups.keys().any(|(_, kind)| *kind == Kind::Background);
            let version = self.facts.target.runtime_version.as_deref().unwrap_or_default();
            // While a background collection runs, the runtime tells less.
            let how_sure = match background {
                true if version.starts_with("8.") => "at least ",
                true => "about ",
                false => "",
            };
            let total = format!("{how_sure}{}", bytes(allocated.bytes, self.units));
            let rate = allocated.per_second().map(|rate| format!(", {}/s", bytes(rate as u64, self.units)));
            note(
                "allocated",
                Role::Plain,
                format!("{total}{} between collections", rate.unwrap_or_default()),
            );
        }
        if let Some(of) = &self.sum.allocations {
            note("samples", Role::Plain, allocations::basis(of, self.units, self.style));
        }
        if let Some(text) = child_exit::told(self.child) {
            note("program", Role::High, text);
        }
        let others = self.sum.other_suspensions;
        if others.count > 0 {
            let times = plural(others.count, "time");
            let text = format!("{times} for other reasons, {}", self.time(others.ns));
            note("also stopped", Role::Plain, text);
        }
        if let Some(text) = self.absent_numbers() {
            note("numbers", Role::Plain, text);
        }
        if let Some(roots) = &self.sum.roots {
            let text = match &roots.stats {
                Some(sum) => root_stats::origins(sum),
                None => {
                    "the runtime's own are among them, and those of the event session we opened".to_owned()
                }
            };
            note("roots", Role::Dim, text);
            let untyped = roots.stats.as_ref().map_or(0, |sum| sum.untyped);
            if untyped > 0 {
                let text = format!("{} roots were counted but not looked at", count(untyped));
                note("not named", Role::Plain, format!("{text}: 10,000 a GC are"));
            }
        }
        let watching = self.watching();
        if !watching.is_empty() {
            note("watching", Role::Plain, watching.join("; "));
        }
        if let Some(text) = missing::counts(self.lost) {
            note("lost", Role::Alarm, format!("{text}; what belongs to them is missing above"));
        }
        if let Some(gap) = self.lost.gap {
            note("incomplete", Role::High, missing::gap(gap));
        }
        if let Some(text) = self.missing() {
            let [_, _, lost, half_armed] = self.sum.incomplete;
            note("not counted", if lost + half_armed > 0 { Role::Alarm } else { Role::Plain }, text);
        }
        if let Some(stepped_back) = &self.facts.watch.stepped_back {
            let at = format!("stepped back to windows at {}", self.time(stepped_back.at_ns));
            note(&at, Role::High, stepped_back.reason.clone());
        }
        notes.extend(self.windows().map(|text| (Role::Plain, text)));
        notes.extend(self.background().map(|text| (Role::High, text)));
        let wrapped = |(role, text): (Role, String)| wrap(self.style, role, &text, 2, self.columns);
        notes.into_iter().flat_map(wrapped).collect()
    }

    /// The generations after the last collection, and how much of each is free space. Empty ones are left out.
    fn sizes(&self) -> Option<String> {
        let one = |(generation, stats): (Generation, &GenerationStats)| {
            let size = stats.size_after_bytes.filter(|&size| size > 0)?;
            let free = stats.fragmentation_bytes.map(|free| free as f64 / size as f64 * 100.0);
            let free = free.filter(|&free| free >= 1.0).map(|free| format!(" ({} free)", percent(free)));
            let text = format!("{generation} {}{}", bytes(size, self.units), free.unwrap_or_default());
            Some(unbroken(text))
        };
        let all = Generation::COLLECTED.into_iter().zip(&self.sum.generations);
        let texts: Vec<String> = all.filter_map(one).collect();
        (!texts.is_empty()).then(|| texts.join(self.style.dot()))
    }

    /// The reasons of the collections by their short names, the most frequent first.
    fn why(&self) -> Option<String> {
        let mut reasons: Vec<(&str, u64, u64)> = Vec::new();
        for (reason, stops) in &self.sum.reasons {
            let name = reason.names().1;
            match reasons.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, gcs, ns)) => (*gcs, *ns) = (*gcs + stops.count, ns.saturating_add(stops.ns)),
                None => reasons.push((name, stops.count, stops.ns)),
            }
        }
        reasons.sort_by_key(|(_, gcs, _)| std::cmp::Reverse(*gcs));
        let share = |ns: u64| match self.sum.pause_ns {
            0 => String::new(),
            all => format!(" ({})", unbroken(percent(ns as f64 / all as f64 * 100.0))),
        };
        let texts: Vec<String> =
            reasons.iter().map(|(name, gcs, ns)| format!("{name} {}{}", count(*gcs), share(*ns))).collect();
        (!texts.is_empty()).then(|| texts.join(self.style.dot()))
    }

    /// Why heaps wanted gen2.
    fn why_gen2(&self) -> Option<String> {
        const MAX_NAMED: usize = 4;
        let mut said: Vec<(&str, u64)> = Vec::new();
        for (name, gcs) in self.sum.gen2_conditions.rows() {
            let words = condition_words(name);
            if !said.iter().any(|(known, _)| *known == words) {
                said.push((words, gcs));
            }
        }
        let texts: Vec<String> =
            said.iter().take(MAX_NAMED).map(|(words, gcs)| format!("{words} ({})", count(*gcs))).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// Where the time of blocking collections went. Parts below 1 % are left out.
    fn phases(&self) -> Option<String> {
        let phases = self.sum.phases;
        let share = |ns: u64| ns as f64 / phases.pause_ns.max(1) as f64 * 100.0;
        let part = |name: &str, ns: u64| {
            Some(format!("{name} {}", unbroken(percent(share(ns))))).filter(|_| share(ns) >= 1.0)
        };
        let roots = MarkKind::ALL.into_iter().zip(phases.mark_by_root_ns);
        let from: Vec<String> =
            roots.filter_map(|(kind, ns)| part(&kind.name().replace('_', " "), ns)).collect();
        let mark = part("mark", phases.mark_ns).map(|mark| match from.is_empty() {
            true => mark,
            false => format!("{mark} (from {})", from.join(", ")),
        });
        let parts = [
            part("stop the threads", phases.suspend_ns),
            mark,
            part("plan, compact and sweep", phases.rest_ns),
            part("resume", phases.resume_ns),
        ];
        let texts: Vec<String> = parts.into_iter().flatten().collect();
        (!texts.is_empty()).then(|| texts.join(self.style.dot()))
    }

    /// Explains the numbers that no collection has.
    fn absent_numbers(&self) -> Option<String> {
        const MAX_NAMED: usize = 4;
        let numbers = &self.sum.numbers;
        let count = numbers.without_gc();
        if count == 0 || !missing::nothing(self.lost, self.sum) {
            return None;
        }
        let named: Vec<String> =
            numbers.some_without_gc().take(MAX_NAMED).map(|number| format!("#{number}")).collect();
        let more =
            if count > MAX_NAMED as u64 { format!(" {}", self.style.ellipsis()) } else { String::new() };
        let are = if count == 1 { "is no collection" } else { "are no collections" };
        Some(format!("{}{more} {are}: a NoGC region takes a number without collecting", named.join(", ")))
    }

    /// What watching cost.
    fn watching(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if let Some(cost) = self.sum.cost {
            let share = match cost.pause_ns {
                0 => String::new(),
                pause => format!(" ({} of the pauses)", percent(cost.walk_ns as f64 / pause as f64 * 100.0)),
            };
            parts.push(format!(
                "{} in callbacks, at least {} in the runtime's walks for us{share}",
                self.time(cost.callback_ns),
                self.time(cost.walk_ns),
            ));
            if let Some(ns) = cost.naming_ns {
                parts.push(format!("{} in pauses to look at types", self.time(ns)));
            }
        }
        if missing::nothing(self.lost, self.sum) {
            parts.push("nothing was lost".to_owned());
        }
        parts
    }

    /// In which collections roots were seen.
    fn windows(&self) -> Option<String> {
        let what = match self.facts.watch.sample?.between {
            Level::Basic => "roots and moves",
            _ => "roots",
        };
        let windows = self.facts.watch.windows;
        let with_roots = self.sum.roots.as_ref().map_or(0, |roots| roots.gcs);
        let before = self.facts.watch.stepped_back.as_ref().map_or("", |_| "before that and ");
        let mut text = format!(
            "{what} are those of {} of {} GCs, {before}in {}",
            count(with_roots),
            count(self.sum.gcs),
            plural(windows.taken, "window")
        );
        let mut skipped = Vec::new();
        if windows.busy > 0 {
            skipped.push(format!("{} while a background GC ran", count(windows.busy)));
        }
        if windows.refused > 0 {
            skipped.push(format!("{} because the runtime took no profiler", count(windows.refused)));
        }
        if !skipped.is_empty() {
            text += &format!("; skipped: {}", skipped.join(", "));
        }
        Some(text)
    }

    fn missing(&self) -> Option<String> {
        let names = ["began before the watch", "ended after it", "lost events", "armed too late"];
        let parts: Vec<String> = INCOMPLETE
            .iter()
            .zip(names)
            .zip(self.sum.incomplete)
            .filter(|(_, n)| *n > 0)
            .map(|((_, name), n)| format!("{} {name}", count(n)))
            .collect();
        let gcs = plural(self.sum.incomplete_gcs(), "incomplete GC");
        (!parts.is_empty()).then(|| format!("{gcs} ({})", parts.join(", ")))
    }

    /// What watching did to background collections.
    fn background(&self) -> Option<String> {
        let sum = self.sum;
        let background: u64 =
            sum.groups.iter().filter(|((_, kind), _)| *kind == Kind::Background).map(|(_, g)| g.count).sum();
        let off = |n: u64, all: bool, until: &str, remedy: &str| {
            let gcs = match (n, all) {
                (1, true) => "the one gen2 GC".to_owned(),
                (n, true) => format!("all {} gen2 GCs", count(n)),
                (n, false) => format!("{} gen2 GCs", count(n)),
            };
            Some(format!("{gcs} ran blocking: background GC is off {until} ({remedy})"))
        };
        let full = sum.gen2_blocking;
        let remedy = "--level\u{a0}basic leaves it on, --sample bounds it";
        match self.facts.watch.background_gc {
            BackgroundGc::OffWhileWatched if full.count > 0 => {
                off(full.count, background == 0, "while we watch", remedy)
            }
            BackgroundGc::OffUntilExit if full.count > 0 => {
                let until = format!("until {} ends", title(&self.facts.target, MAX_TITLE, self.style));
                off(full.count, background == 0, &until, remedy)
            }
            BackgroundGc::OffInWindows if sum.gen2_blocking_with_profiler.count > 0 => {
                blocking::in_windows(sum)
            }
            BackgroundGc::Walked | BackgroundGc::OffInWindows if sum.extra_stops.count > 0 => Some(format!(
                "{} extra stops, {} in all and in no pause above, to walk what survived background GCs (--level\u{a0}basic has none)",
                count(sum.extra_stops.count),
                self.time(sum.extra_stops.ns),
            )),
            _ => None,
        }
    }
}

/// Text that is not wrapped.
fn unbroken(text: String) -> String {
    text.replace(' ', "\u{a0}")
}
