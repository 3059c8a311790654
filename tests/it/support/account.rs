//! Works out the facts of each collection from a whole recording: which thread wrote which event, and which event lies
//! in which stop. Apart from reading the file, it shares no code with gcwatch.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use dotnet_diagnostics_client::nettrace::Item;

use super::own_events::{u32_at, u64_at};
use super::stream::{RUNTIME, each_item};

/// An event of the runtime's provider; times count from the start of the recording.
#[derive(Debug)]
struct Happened {
    at: u64,
    thread: u64,
    id: u32,
    payload: Vec<u8>,
}

/// A stop of the program: SuspendEEBegin, SuspendEEEnd, RestartEEBegin, RestartEEEnd on one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) reason: u32,
    pub(crate) begin: u64,
    pub(crate) stopped: u64,
    pub(crate) going_on: u64,
    pub(crate) end: u64,
    /// Its events overlap those of another stop, so its exact bounds are unknown.
    pub(crate) touches: bool,
}

/// The part of a stop that belongs to one collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pause {
    pub(crate) phase: &'static str,
    pub(crate) at: u64,
    pub(crate) ns: u64,
    pub(crate) suspend: Option<u64>,
}

/// One collection, as the events describe it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    pub(crate) generation: u32,
    pub(crate) reason: u32,
    pub(crate) kind: &'static str,
    pub(crate) started: u64,
    pub(crate) ended: Option<u64>,
    pub(crate) pauses: Vec<Pause>,
    /// It shares a stop with another collection, or its stops overlap others.
    pub(crate) shares: bool,
    /// GCHeapStats: size after and promoted bytes over all generations; then the counts.
    pub(crate) stats: Option<[u64; 6]>,
    /// GCGlobalHeapHistory: heaps, mechanisms.
    pub(crate) global: Option<(u32, u32)>,
    /// How many heaps sent a history, and their size before, added up.
    pub(crate) before: (u32, u64),
    /// Blocks and bytes: moved; in a moved range, but with an unchanged address; survived in place.
    pub(crate) moved: (u64, u64),
    pub(crate) stayed: (u64, u64),
    pub(crate) surviving: (u64, u64),
}

impl Told {
    /// Whether the recording has all of its events.
    pub(crate) fn whole(&self) -> bool {
        let heaps = self.global.map(|(heaps, _)| heaps);
        self.ended.is_some()
            && self.stats.is_some()
            && heaps == Some(self.before.0)
            && !self.pauses.is_empty()
    }
}

/// All collections of a recording by number, and its stops in order of time.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) gcs: BTreeMap<u64, Told>,
    pub(crate) stops: Vec<Stop>,
    /// Stops without a collection: count and total time.
    pub(crate) others: (u64, u64),
    pub(crate) lost: u64,
}

/// Reads a recording in which every stop is complete.
pub(crate) fn account(path: &Path) -> Result<Account> {
    let (events, lost) = events(path)?;
    let stops = stops(&events)?;
    let mut account = Account { gcs: BTreeMap::new(), stops, others: (0, 0), lost };
    for event in events.iter().filter(|event| event.id == 1) {
        let word = |n: usize| u32_at(&event.payload, 4 * n);
        let kind = match word(3)? {
            0 => "blocking",
            1 => "background",
            _ => "foreground",
        };
        let told =
            Told { generation: word(1)?, reason: word(2)?, kind, started: event.at, ..Told::default() };
        ensure!(account.gcs.insert(u64::from(word(0)?), told).is_none(), "two starts: {event:?}");
    }
    account.ends(&events)?;
    account.pauses(&events);
    account.histories(&events)?;
    account.ranges(&events)?;
    Ok(account)
}

fn events(path: &Path) -> Result<(Vec<Happened>, u64)> {
    let (mut all, mut lost, mut clock) = (Vec::new(), 0, None);
    each_item(path, |item| {
        match item {
            Item::Trace(trace) => clock = Some((*trace).clone()),
            Item::Event(event) if &*event.metadata.provider == RUNTIME => {
                let clock = clock.as_ref().context("an event before the clock")?;
                all.push(Happened {
                    at: u64::try_from(clock.nanoseconds(event.timestamp)).unwrap_or(0),
                    thread: event.thread_id,
                    id: event.metadata.event_id,
                    payload: event.payload.to_vec(),
                });
            }
            Item::Lost(some) => lost += some.events,
            _ => {}
        }
        Ok(())
    })?;
    all.sort_by_key(|event| event.at);
    Ok((all, lost))
}

fn stops(events: &[Happened]) -> Result<Vec<Stop>> {
    let mut open: BTreeMap<u64, [Option<u64>; 4]> = BTreeMap::new();
    let mut stops = Vec::new();
    for event in events {
        let times = open.entry(event.thread).or_default();
        match event.id {
            9 => *times = [Some(u64::from(u32_at(&event.payload, 0)?)), Some(event.at), None, None],
            8 => times[2] = Some(event.at),
            7 => times[3] = Some(event.at),
            3 => {
                if let [Some(reason), Some(begin), Some(stopped), Some(going_on)] = std::mem::take(times) {
                    let reason = u32::try_from(reason)?;
                    stops.push(Stop { reason, begin, stopped, going_on, end: event.at, touches: false });
                }
            }
            _ => {}
        }
    }
    // Only one thread at a time can hold the program stopped: from its SuspendEEEnd to its RestartEEBegin.
    stops.sort_by_key(|stop| stop.stopped);
    if let Some(both) = stops.windows(2).find(|pair| pair[0].going_on > pair[1].stopped) {
        bail!("two stops at once: {both:?}");
    }
    let (mut for_gc, mut others): (Vec<Stop>, Vec<Stop>) =
        stops.into_iter().partition(|stop| matches!(stop.reason, 1 | 6));
    for n in 1..for_gc.len() {
        let (before, after) = for_gc.split_at_mut(n);
        let (Some(one), Some(next)) = (before.last_mut(), after.first_mut()) else { continue };
        if next.begin < one.end {
            // The next one waited until the first had sent RestartEEEnd, or sent its own SuspendEEEnd before that.
            let border = if one.end <= next.stopped { one.end } else { next.begin.max(one.going_on) };
            (one.end, one.touches) = (border, true);
            (next.begin, next.touches) = (border, true);
        }
    }
    // A stop for another reason gets only the time that no collection's stop covers.
    for other in &mut others {
        for gc in &for_gc {
            if gc.stopped < other.stopped {
                other.begin = other.begin.max(gc.end);
            } else {
                other.end = other.end.min(gc.begin);
            }
        }
        other.end = other.end.max(other.begin);
    }
    for_gc.extend(others);
    for_gc.sort_by_key(|stop| stop.stopped);
    Ok(for_gc)
}

impl Account {
    fn stop_at(&self, at: u64) -> Option<usize> {
        self.stops.iter().position(|stop| stop.stopped <= at && at <= stop.going_on)
    }

    /// The background collection that is running at a time.
    fn background_at(&mut self, at: u64) -> Option<&mut Told> {
        let running = |gc: &&mut Told| gc.started <= at && gc.ended.is_none_or(|end| at <= end);
        self.gcs.values_mut().filter(|gc| gc.kind == "background").find(running)
    }

    /// GCEnd, and the GCHeapStats that the same thread writes next.
    fn ends(&mut self, events: &[Happened]) -> Result<()> {
        for (n, event) in events.iter().enumerate().filter(|(_, event)| event.id == 2) {
            let Some(gc) = self.gcs.get_mut(&u64::from(u32_at(&event.payload, 0)?)) else { continue };
            gc.ended = Some(event.at);
            let stats = events[n..].iter().find(|other| other.id == 4 && other.thread == event.thread);
            let Some(payload) = stats.map(|stats| &stats.payload) else { continue };
            let sum = |first: usize| -> Result<u64> {
                let soh_and_loh: u64 =
                    (0..4).map(|g| u64_at(payload, first + 16 * g)).sum::<Result<u64>>()?;
                Ok(soh_and_loh + u64_at(payload, 94 + first)?)
            };
            gc.stats = Some([
                sum(0)?,
                sum(8)?,
                u64_at(payload, 64)?,
                u64_at(payload, 72)?,
                u32_at(payload, 80)?.into(),
                u32_at(payload, 88)?.into(),
            ]);
            // It did all its work in its first stop: in fact it was a blocking collection.
            let (start, end) = (gc.started, event.at);
            if gc.kind == "background"
                && let Some(stop) = self.stop_at(start)
                && end <= self.stops[stop].going_on
                && let Some(gc) = self.gcs.values_mut().find(|gc| gc.started == start)
            {
                gc.kind = "blocking";
            }
        }
        Ok(())
    }

    fn pauses(&mut self, events: &[Happened]) {
        for stop in self.stops.clone() {
            let inside = |at: u64| stop.stopped <= at && at <= stop.going_on;
            let mut starts: Vec<u64> =
                self.gcs.iter().filter(|(_, gc)| inside(gc.started)).map(|(number, _)| *number).collect();
            starts.sort_by_key(|number| self.gcs[number].started);
            let suspend = Some(stop.stopped.saturating_sub(stop.begin));
            let whole = Pause { phase: "whole", at: stop.begin, ns: stop.end - stop.begin, suspend };
            let Some(last) = starts.len().checked_sub(1) else {
                let walked = events.iter().any(|event| matches!(event.id, 21 | 22) && inside(event.at));
                match self.background_at(stop.stopped).filter(|_| stop.reason == 6) {
                    Some(gc) => {
                        gc.shares |= stop.touches;
                        // There is one final mark. A session that asks for ranges adds a stop, which all see.
                        let walk = walked || gc.pauses.iter().any(|pause| pause.phase == "final_mark");
                        gc.pauses.push(Pause {
                            phase: if walk { "survivor_walk" } else { "final_mark" },
                            ..whole
                        });
                    }
                    None => self.others = (self.others.0 + 1, self.others.1 + whole.ns),
                }
                continue;
            };
            for (n, number) in starts.iter().enumerate() {
                let next = starts.get(n + 1).map(|next| self.gcs[next].started);
                let Some(gc) = self.gcs.get_mut(number) else { continue };
                let at = if n == 0 { stop.begin } else { gc.started };
                gc.shares |= stop.touches || last > 0;
                gc.pauses.push(Pause {
                    phase: if gc.kind == "background" { "initial" } else { "whole" },
                    at,
                    ns: next.unwrap_or(stop.end) - at,
                    suspend: suspend.filter(|_| n == 0),
                });
            }
        }
    }

    /// GCGlobalHeapHistory, and the GCPerHeapHistory events that the same thread writes next.
    fn histories(&mut self, events: &[Happened]) -> Result<()> {
        for (n, event) in events.iter().enumerate().filter(|(_, event)| event.id == 205) {
            let (heaps, mechanisms) = (u32_at(&event.payload, 8)?, u32_at(&event.payload, 24)?);
            let concurrent = mechanisms & 1 != 0;
            // Written before GCEnd; with server GC, a background collection writes it just after.
            let at = event.at;
            let candidates = self.gcs.values_mut().filter(|gc| (gc.kind == "background") == concurrent);
            let own =
                candidates.filter(|gc| gc.started <= at && gc.global.is_none()).max_by_key(|gc| gc.started);
            let Some(gc) = own.filter(|gc| concurrent || gc.ended.is_none_or(|end| at <= end)) else {
                continue;
            };
            gc.global = Some((heaps, mechanisms));
            let histories =
                events[n..].iter().filter(|other| other.id == 204 && other.thread == event.thread);
            for history in histories.take(heaps as usize) {
                let payload = &history.payload;
                let generations = u32_at(payload, 82)? as usize;
                let before = (0..generations).map(|g| u64_at(payload, 86 + 80 * g)).sum::<Result<u64>>()?;
                gc.before = (gc.before.0 + 1, gc.before.1 + before);
            }
        }
        Ok(())
    }

    /// Ranges in a stop for a background collection belong to it; all others belong to the collection that started last
    /// in the stop.
    fn ranges(&mut self, events: &[Happened]) -> Result<()> {
        for event in events.iter().filter(|event| matches!(event.id, 21 | 22)) {
            let stop = self.stop_at(event.at).map(|stop| self.stops[stop]);
            let gc = match stop {
                Some(stop) if stop.reason == 6 => self.background_at(event.at),
                Some(stop) => {
                    let started = |gc: &&mut Told| stop.stopped <= gc.started && gc.started <= event.at;
                    self.gcs.values_mut().filter(started).max_by_key(|gc| gc.started)
                }
                None => self.background_at(event.at),
            };
            let Some(gc) = gc else { continue };
            let add = |to: &mut (u64, u64), bytes: u64| *to = (to.0 + 1, to.1 + bytes);
            for n in 0..u32_at(&event.payload, 4)? as usize {
                if event.id == 21 {
                    add(&mut gc.surviving, u64_at(&event.payload, 18 + 16 * n)?);
                } else {
                    let at = 10 + 24 * n;
                    let stayed = u64_at(&event.payload, at)? == u64_at(&event.payload, at + 8)?;
                    let to = if stayed { &mut gc.stayed } else { &mut gc.moved };
                    add(to, u64_at(&event.payload, at + 16)?);
                }
            }
        }
        Ok(())
    }
}
