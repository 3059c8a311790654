//! What a list of events says of each collection, read at leisure: the events know to which collection they belong, and
//! all of them are there before the first is looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::runtime::{Event, What, region};
use crate::gc::record::{BlockCount, Incomplete, Kind, Pause, Phase};

/// What the visible events say of one collection.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// All its events are visible, and those of its stops.
    pub(super) whole: bool,
    /// Where it is not: why.
    pub(super) cut: Option<Incomplete>,
    pub(super) started: bool,
    pub(super) ended: bool,
    pub(super) generation: u8,
    pub(super) reason: u32,
    pub(super) kind: Option<Kind>,
    /// It was announced as a background one.
    pub(super) turned: bool,
    pub(super) trigger: Option<u32>,
    pub(super) gc_ns: u64,
    pub(super) pauses: Vec<Pause>,
    pub(super) heaps: u32,
    /// By generation: size before, fragmentation, survived; then size after, promoted.
    pub(super) before: BTreeMap<usize, (u64, u64, u64)>,
    pub(super) after: Vec<(u64, u64)>,
    pub(super) counts: (u32, u32, u64, u64),
    pub(super) committed: Option<u64>,
    pub(super) marks: BTreeMap<u32, u64>,
    /// The last mark of each kind, ns.
    pub(super) marked_at: BTreeMap<u32, u64>,
    pub(super) started_ns: u64,
    /// By generation before: moved, and survived in place; then what was in a moved batch and stayed.
    pub(super) moved: [BlockCount; 5],
    pub(super) surviving: [BlockCount; 5],
    pub(super) stayed: BlockCount,
    pub(super) loh_compacted: bool,
}

/// A stop of the program, its four moments as far as they are visible, and the part that is its own.
#[derive(Debug, Clone, Copy, Default)]
struct Stop {
    reason: u32,
    asked: Option<u64>,
    stopped: Option<u64>,
    let_go: Option<u64>,
    said: Option<u64>,
    begin: u64,
    end: u64,
}

/// The collections by number, and the stops in which nothing was collected: how many, how long.
pub(super) type Account = (BTreeMap<u32, Expected>, (u64, u64));

/// `visible` of `all`, with the moments of every stop.
pub(super) fn read(all: &[Event], visible: &[Event]) -> Account {
    let mut gcs: BTreeMap<u32, Expected> = BTreeMap::new();
    for event in visible {
        if let Some(number) = event.gc {
            gcs.entry(number).or_default().take(event);
        }
    }
    let stops = stops(visible);
    let every = stops_of(all);
    let mut others = (0, 0);
    for (id, stop) in stops.iter().filter(|(_, s)| s.asked.is_some() && s.stopped.is_some()) {
        let a_collection = pauses(&mut gcs, visible, &every[id], stop);
        if !a_collection && stop.said.is_some() {
            others = (others.0 + 1, others.1 + stop.end.saturating_sub(stop.begin));
        }
    }
    let started: BTreeSet<u32> =
        gcs.iter().filter(|(_, expected)| expected.started).map(|(n, _)| *n).collect();
    for (number, expected) in &mut gcs {
        let own = |events: &[Event]| events.iter().filter(|e| e.gc == Some(*number) && needed(e)).count();
        let its_stops = || every.iter().filter(|(_, s)| s.gcs.contains(number)).map(|(id, _)| stops.get(id));
        let seen = |s: Option<&Stop>| s.is_some_and(|s| s.asked.is_some() && s.stopped.is_some());
        let over = |s: Option<&Stop>| s.is_some_and(|s| s.said.is_some());
        // The next one in the same stop ends its part.
        let last_in = |of: &For| {
            let next = of.starts.iter().skip_while(|n| *n != number).nth(1);
            next.is_none_or(|next| !started.contains(next))
        };
        expected.whole = own(visible) == own(all)
            && its_stops().all(seen)
            && every
                .iter()
                .filter(|(_, of)| of.gcs.contains(number) && last_in(of))
                .all(|(id, _)| over(stops.get(id)));
        let first = its_stops().next().flatten();
        let began_before = !expected.started || !seen(first);
        expected.cut = (!expected.whole).then_some(match began_before {
            true => Incomplete::BeganBefore,
            false => Incomplete::EndedAfter,
        });
        expected.pauses.sort_by_key(|p| p.at_ns);
    }
    (gcs, others)
}

/// These two events may be missing. Then their content is not known.
fn needed(event: &Event) -> bool {
    !matches!(event.what, What::Triggered { .. } | What::Committed { .. })
}

/// Which collections a stop is for, of all events.
struct For {
    /// Those that start in it.
    starts: Vec<u32>,
    /// Those it belongs to.
    gcs: BTreeSet<u32>,
}

fn stops_of(all: &[Event]) -> BTreeMap<usize, For> {
    let mut every = BTreeMap::new();
    for (id, stop) in stops(all) {
        let inside = |at: u64| stop.stopped.unwrap() < at && at < stop.let_go.unwrap();
        let started = |e: &&Event| matches!(e.what, What::Start { .. }) && inside(e.at_ns);
        let starts: Vec<u32> = all.iter().filter(started).filter_map(|e| e.gc).collect();
        let mut gcs: BTreeSet<u32> = starts.iter().copied().collect();
        if stop.reason == 6 {
            // The collection whose thread it is, and that has not ended.
            let before =
                |e: &&Event| matches!(e.what, What::Start { kind: 1, .. }) && e.at_ns < stop.stopped.unwrap();
            gcs.extend(all.iter().filter(before).filter_map(|e| e.gc).next_back());
        }
        every.insert(id, For { starts, gcs });
    }
    every
}

fn stops(events: &[Event]) -> BTreeMap<usize, Stop> {
    let mut stops = BTreeMap::new();
    for event in events {
        let Some(id) = event.stop else { continue };
        let stop: &mut Stop = stops.entry(id).or_insert(Stop { end: u64::MAX, ..Stop::default() });
        let at = event.at_ns;
        match event.what {
            What::SuspendBegin { reason } => (stop.reason, stop.asked, stop.begin) = (reason, Some(at), at),
            What::SuspendEnd => stop.stopped = Some(at),
            What::RestartBegin => stop.let_go = Some(at),
            _ => (stop.said, stop.end) = (Some(at), at),
        }
    }
    borders(&mut stops);
    stops
}

/// No time belongs to two stops.
fn borders(stops: &mut BTreeMap<usize, Stop>) {
    let for_gc = |stop: &Stop| matches!(stop.reason, 1 | 6) && stop.asked.is_some();
    let mut order: Vec<usize> =
        stops.iter().filter(|(_, s)| for_gc(s) && s.stopped.is_some()).map(|(id, _)| *id).collect();
    order.sort_by_key(|id| stops[id].stopped);
    for pair in order.windows(2) {
        let (one, next) = (stops[&pair[0]], stops[&pair[1]]);
        if next.begin < one.end {
            let said_in_time = one.said.filter(|said| Some(*said) < next.stopped);
            let border = said_in_time.unwrap_or_else(|| next.begin.max(one.let_go.unwrap_or(0)));
            stops.get_mut(&pair[0]).unwrap().end = border;
            stops.get_mut(&pair[1]).unwrap().begin = border;
        }
    }
    let of_gcs: Vec<Stop> = stops.values().filter(|s| for_gc(s)).copied().collect();
    for other in stops.values_mut().filter(|s| !matches!(s.reason, 1 | 6)) {
        for gc in &of_gcs {
            if gc.stopped.is_some_and(|at| Some(at) < other.stopped) {
                other.begin = other.begin.max(gc.end);
            } else {
                // From there on the time belongs to the thread that requests a stop, though another may come first.
                other.end = other.end.min(gc.asked.unwrap());
            }
        }
    }
}

/// Shares a stop out; false where no collection that is known has a part in it.
fn pauses(gcs: &mut BTreeMap<u32, Expected>, visible: &[Event], of: &For, stop: &Stop) -> bool {
    let suspend_ns = stop.stopped.map(|at| at.saturating_sub(stop.begin));
    let mut pause = |number: u32, phase, at_ns: u64, end: u64, suspend_ns, caused_by_watching| {
        let expected = gcs.get_mut(&number).filter(|expected| expected.started);
        expected
            .map(|expected| {
                expected.pauses.push(Pause {
                    phase,
                    at_ns,
                    ns: end.saturating_sub(at_ns),
                    suspend_ns,
                    caused_by_watching,
                });
            })
            .is_some()
    };
    let start = |number: u32| {
        let of = |e: &&Event| e.gc == Some(number) && matches!(e.what, What::Start { .. });
        visible.iter().find(of).map(|e| e.at_ns)
    };
    for (n, number) in of.starts.iter().enumerate() {
        let begin = if n == 0 { Some(stop.begin) } else { start(*number) };
        let end = of.starts.get(n + 1).and_then(|next| start(*next)).or(stop.said.map(|_| stop.end));
        if let (Some(begin), Some(end)) = (begin, end) {
            pause(*number, Phase::Whole, begin, end, suspend_ns.filter(|_| n == 0), false);
        }
    }
    let Some(number) = of.gcs.first().filter(|_| of.starts.is_empty()) else { return !of.starts.is_empty() };
    let inside = |at: u64| stop.stopped < Some(at) && Some(at) < stop.let_go;
    let walked = visible.iter().any(|e| matches!(e.what, What::Surviving { .. }) && inside(e.at_ns));
    let phase = if walked { Phase::SurvivorWalk } else { Phase::FinalMark };
    stop.said.is_some() && pause(*number, phase, stop.begin, stop.end, suspend_ns, walked)
}

impl Expected {
    fn take(&mut self, event: &Event) {
        match &event.what {
            What::Triggered { reason } => self.trigger = Some(*reason),
            What::Start { generation, reason, kind, .. } => {
                self.started = true;
                self.generation = u8::try_from(*generation).unwrap();
                self.reason = *reason;
                self.kind = Some([Kind::Blocking, Kind::Background, Kind::Foreground][*kind as usize]);
                (self.gc_ns, self.started_ns) = (event.at_ns, event.at_ns);
            }
            What::End { .. } => {
                self.ended = true;
                self.gc_ns = event.at_ns - self.gc_ns;
            }
            What::Stats(stats) => {
                self.after.clone_from(&stats.generations);
                let s = stats;
                self.counts = (s.pinned, s.handles, s.finalization_objects, s.finalization_bytes);
            }
            What::Global { heaps, mechanisms, .. } => {
                self.heaps = *heaps;
                if mechanisms & 1 == 0 && self.kind == Some(Kind::Background) {
                    (self.kind, self.turned) = (Some(Kind::Blocking), true);
                }
            }
            What::PerHeap { generations, .. } => {
                for (g, history) in generations.iter().enumerate() {
                    let sum = self.before.entry(g).or_default();
                    sum.0 += history.before;
                    sum.1 += history.free_list + history.free_objects;
                    sum.2 += history.pinned + history.survived;
                }
            }
            What::Mark { mark_type, bytes, .. } => {
                *self.marks.entry(*mark_type).or_default() += bytes;
                self.marked_at.insert(*mark_type, event.at_ns);
            }
            What::Moved { ranges, .. } => {
                for (old, new, bytes) in ranges {
                    add(if old == new { &mut self.stayed } else { of(&mut self.moved, *old) }, *bytes);
                }
            }
            What::Surviving { ranges, .. } => {
                ranges.iter().for_each(|(start, bytes)| add(of(&mut self.surviving, *start), *bytes));
            }
            What::Committed { in_use, free } => {
                // The one after its histories; a background one has none.
                self.committed = (self.heaps > 0).then_some(in_use + free);
            }
            What::LohCompact => self.loh_compacted = true,
            What::Bound { .. }
            | What::SuspendBegin { .. }
            | What::SuspendEnd
            | What::RestartBegin
            | What::RestartEnd => {}
        }
    }

    /// A pause of a background collection's first stop is its initial one.
    pub(super) fn phase(&self, pause: &Pause) -> Phase {
        match pause.phase {
            Phase::Whole if self.kind == Some(Kind::Background) => Phase::Initial,
            phase => phase,
        }
    }
}

fn add(count: &mut BlockCount, bytes: u64) {
    count.blocks += 1;
    count.bytes += bytes;
}

fn of(counts: &mut [BlockCount; 5], address: u64) -> &mut BlockCount {
    let generation = (0..5).find(|g| address.wrapping_sub(region(*g).0) < region(*g).1).unwrap();
    &mut counts[usize::from(generation)]
}
