//! A runtime that collects as planned and writes what the real one writes, in an order that the real one may have.

use super::plan::{Background, Plan, Shift, Step, Work};
use crate::gc::events::RUNTIME_PROVIDER;
use crate::gc::stream_event::StreamEvent;

/// One generation of a heap, as in its history.
#[derive(Debug, Clone, Default)]
pub(super) struct HeapGeneration {
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) free_list: u64,
    pub(super) free_objects: u64,
    pub(super) pinned: u64,
    pub(super) survived: u64,
}

/// GCHeapStats.
#[derive(Debug, Clone)]
pub(super) struct Stats {
    /// (size, promoted): four or five.
    pub(super) generations: Vec<(u64, u64)>,
    pub(super) finalization_bytes: u64,
    pub(super) finalization_objects: u64,
    pub(super) pinned: u32,
    pub(super) handles: u32,
}

/// What an event says.
#[derive(Debug, Clone)]
pub(super) enum What {
    SuspendBegin { reason: u32 },
    SuspendEnd,
    RestartBegin,
    RestartEnd,
    Triggered { reason: u32 },
    Start { number: u32, generation: u32, reason: u32, kind: u32 },
    End { number: u32, generation: u32 },
    Stats(Stats),
    Global { heaps: u32, generation: u32, mechanisms: u32 },
    PerHeap { heap: u32, reasons: [u32; 2], generations: Vec<HeapGeneration> },
    Mark { heap: u32, mark_type: u32, bytes: u64 },
    Bound { generation: u8, start: u64, bytes: u64 },
    Moved { index: u32, ranges: Vec<(u64, u64, u64)> },
    Surviving { index: u32, ranges: Vec<(u64, u64)> },
    Committed { in_use: u64, free: u64 },
    LohCompact,
}

/// An event, and what it belongs to, which the real one does not say.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) at_ns: u64,
    pub(super) thread: u64,
    pub(super) what: What,
    /// Number of the collection.
    pub(super) gc: Option<u32>,
    /// Number of the stop, where the event is one of its four.
    pub(super) stop: Option<usize>,
}

impl Event {
    /// The event as the stream has it, with its id and payload.
    pub(super) fn in_stream<'a>(&self, id: u32, pointer_size: u32, payload: &'a [u8]) -> StreamEvent<'a> {
        let Event { thread, at_ns, .. } = *self;
        StreamEvent { provider: RUNTIME_PROVIDER, id, pointer_size, thread, at_ns, payload, stack: &[] }
    }
}

/// The threads. With server GC each heap has one more, from [`HEAP`] on.
const USERS: [u64; 2] = [10, 11];
const HEAP: u64 = 20;
const BACKGROUND: u64 = 30;
const SAMPLER: u64 = 40;

struct Runtime<'a> {
    plan: &'a Plan,
    events: Vec<Event>,
    gcs: u32,
    stops: usize,
    user: usize,
}

/// All events of a process, in order of time.
pub(super) fn run(plan: &Plan) -> Vec<Event> {
    let mut runtime = Runtime { plan, events: Vec::new(), gcs: 0, stops: 0, user: 0 };
    for step in &plan.steps {
        runtime.step(step);
    }
    for shift in &plan.shifts {
        runtime.shift(*shift);
    }
    let mut at_ns = 1000;
    for (n, event) in runtime.events.iter_mut().enumerate() {
        at_ns += 1 + (n as u64 * 7919) % 97;
        event.at_ns = at_ns;
    }
    runtime.events
}

/// Where an address lies, by generation; 32 bits are enough for all.
pub(super) fn region(generation: u8) -> (u64, u64) {
    ((u64::from(generation) + 1) << 24, 1 << 24)
}

impl Runtime<'_> {
    fn write(&mut self, thread: u64, gc: Option<u32>, what: What) {
        self.events.push(Event { at_ns: 0, thread, what, gc, stop: None });
    }

    /// The thread that stops the program for a collection.
    fn stopper(&mut self) -> u64 {
        self.user = 1 - self.user;
        if self.plan.server { HEAP } else { USERS[self.user] }
    }

    fn heap_thread(&self, stopper: u64, heap: usize) -> u64 {
        if self.plan.server { HEAP + heap as u64 } else { stopper }
    }

    fn stop(&mut self, thread: u64, reason: u32, inside: impl FnOnce(&mut Self)) {
        let stop = Some(self.stops);
        self.stops += 1;
        let write = |runtime: &mut Self, what| {
            runtime.events.push(Event { at_ns: 0, thread, what, gc: None, stop });
        };
        write(self, What::SuspendBegin { reason });
        write(self, What::SuspendEnd);
        inside(self);
        write(self, What::RestartBegin);
        write(self, What::RestartEnd);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Blocking(work) => self.foreground(work, 0),
            Step::Pair(one, two) => {
                let thread = self.stopper();
                self.stop(thread, 1, |runtime| {
                    runtime.blocking(thread, one, 0);
                    runtime.blocking(thread, two, 0);
                });
            }
            Step::Background(background) => self.background(background),
            Step::Turned(work) => {
                let thread = self.stopper();
                self.stop(thread, 1, |runtime| runtime.blocking(thread, work, 1));
            }
            Step::Stop { reason } => {
                let thread = if *reason == 1 { self.stopper() } else { SAMPLER };
                self.stop(thread, *reason, |_| {});
            }
        }
    }

    /// A collection with a stop of its own.
    fn foreground(&mut self, work: &Work, kind: u32) {
        let thread = self.stopper();
        self.stop(thread, 1, |runtime| runtime.blocking(thread, work, kind));
    }

    fn start(&mut self, thread: u64, work: &Work, kind: u32) -> u32 {
        self.gcs += 1;
        let number = self.gcs;
        self.write(thread, Some(number), What::Triggered { reason: u32::from(work.seed % 5) });
        let generation = u32::from(work.generation);
        self.write(thread, Some(number), What::Start { number, generation, reason: work.reason, kind });
        self.bounds(thread, number);
        self.write(thread, Some(number), What::Committed { in_use: 1, free: 2 });
        number
    }

    fn bounds(&mut self, thread: u64, number: u32) {
        if self.plan.ranges {
            for generation in 0..5 {
                let (start, bytes) = region(generation);
                self.write(thread, Some(number), What::Bound { generation, start, bytes });
            }
        }
    }

    /// A collection inside a stop that is there already.
    fn blocking(&mut self, thread: u64, work: &Work, kind: u32) {
        let number = self.start(thread, work, kind);
        self.marks(thread, number, work);
        self.blocks(thread, number, work);
        if work.loh_compacting {
            self.write(thread, Some(number), What::LohCompact);
        }
        self.histories(thread, number, work, u32::from(work.compacting) * 2);
        self.bounds(thread, number);
        let in_use = 1000 + u64::from(work.seed);
        self.write(thread, Some(number), What::Committed { in_use, free: 24 });
        self.end(thread, number, work);
    }

    fn marks(&mut self, stopper: u64, number: u32, work: &Work) {
        for mark_type in [0, 2, 3, 7] {
            for heap in 0..self.plan.heaps {
                let bytes = u64::from(work.seed) * u64::from(mark_type + 1) + heap as u64;
                let mark = What::Mark { heap: heap as u32, mark_type, bytes };
                self.write(self.heap_thread(stopper, heap), Some(number), mark);
            }
        }
    }

    /// Each heap sends its blocks on its own thread, in batches; those of several heaps are mixed.
    fn blocks(&mut self, stopper: u64, number: u32, work: &Work) {
        if !self.plan.ranges {
            return;
        }
        let mut queues: Vec<Vec<What>> =
            (0..self.plan.heaps).map(|heap| walk(self.plan, work, heap)).collect();
        while queues.iter().any(|queue| !queue.is_empty()) {
            for (heap, queue) in queues.iter_mut().enumerate() {
                if !queue.is_empty() {
                    let what = queue.remove(0);
                    self.write(self.heap_thread(stopper, heap), Some(number), what);
                }
            }
        }
    }

    fn histories(&mut self, thread: u64, number: u32, work: &Work, mechanisms: u32) {
        let (heaps, generation) = (self.plan.heaps as u32, u32::from(work.generation));
        self.write(thread, Some(number), What::Global { heaps, generation, mechanisms });
        for heap in 0..heaps {
            let seed = u64::from(work.seed) + u64::from(heap);
            let mut generations = vec![HeapGeneration::default(); if self.plan.pinned_heap { 5 } else { 4 }];
            for (g, (history, n)) in generations.iter_mut().zip(0..).enumerate() {
                history.before = seed * 3 + n;
                history.after = seed * 2 + n;
                history.free_list = seed + n;
                history.free_objects = n;
                let own = blocks(self.plan, work, heap as usize).filter(|(start, _)| within(*start, g as u8));
                history.pinned = own.clone().take(1).map(|(_, bytes)| bytes).sum();
                history.survived = own.skip(1).map(|(_, bytes)| bytes).sum();
            }
            let reasons = [u32::from(work.seed), u32::from(work.seed) << 3];
            self.write(thread, Some(number), What::PerHeap { heap, reasons, generations });
        }
    }

    fn end(&mut self, thread: u64, number: u32, work: &Work) {
        self.write(thread, Some(number), What::End { number, generation: u32::from(work.generation) });
        let seed = u64::from(work.seed);
        let promoted = |g: u8| {
            let all = (0..self.plan.heaps).flat_map(|heap| blocks(self.plan, work, heap));
            // The pinned object heap is left out.
            all.filter(|(start, _)| g < 4 && within(*start, g)).map(|(_, bytes)| bytes).sum()
        };
        let generations = 0..if self.plan.pinned_heap { 5 } else { 4 };
        let stats = Stats {
            generations: generations.map(|g| (seed * 5 + u64::from(g), promoted(g))).collect(),
            finalization_bytes: seed + 1,
            finalization_objects: seed,
            pinned: u32::from(work.seed) + 2,
            handles: u32::from(work.seed) + 3,
        };
        self.write(thread, Some(number), What::Stats(stats));
    }

    fn background(&mut self, background: &Background) {
        let work = &background.work;
        let thread = self.stopper();
        let mut number = 0;
        self.stop(thread, 1, |runtime| {
            number = runtime.start(thread, work, 1);
            if let Some(first) = &background.first {
                runtime.blocking(thread, first, 0);
            }
        });
        let foreground = |runtime: &mut Self, n: usize| {
            let kind = if n == 2 { 0 } else { 2 };
            background.during[n].iter().for_each(|work| runtime.foreground(work, kind));
        };
        self.write(BACKGROUND, Some(number), What::Mark { heap: 0, mark_type: 9, bytes: work.seed.into() });
        foreground(self, 0);
        self.stop(BACKGROUND, 6, |runtime| {
            runtime.write(BACKGROUND, Some(number), What::Mark { heap: 0, mark_type: 0, bytes: 17 });
        });
        foreground(self, 1);
        if self.plan.ranges {
            self.stop(BACKGROUND, 6, |runtime| {
                for what in (0..runtime.plan.heaps).flat_map(|heap| survivors(runtime.plan, work, heap)) {
                    runtime.write(BACKGROUND, Some(number), what);
                }
            });
        }
        // With server GC the histories come after its end.
        if self.plan.server {
            self.end(BACKGROUND, number, work);
            foreground(self, 2);
            self.histories(BACKGROUND, number, work, 1);
        } else {
            self.histories(BACKGROUND, number, work, 1);
            self.end(BACKGROUND, number, work);
        }
    }

    /// Lets a thread ask for a stop earlier, end its own later, or a background collection's thread tell the end
    /// later, past events of other threads.
    fn shift(&mut self, shift: Shift) {
        let shiftable: Vec<usize> =
            (0..self.events.len()).filter(|n| direction(&self.events[*n]).is_some()).collect();
        let Some(&from) = shiftable.get(usize::from(shift.which) % shiftable.len().max(1)) else { return };
        let Some(later) = direction(&self.events[from]) else { return };
        let mut at = from;
        for _ in 0..shift.by {
            let next = if later { at + 1 } else { at.wrapping_sub(1) };
            let Some(other) = self.events.get(next) else { return };
            let new_background = matches!(other.what, What::Start { kind: 1, .. });
            if other.thread == self.events[at].thread || new_background {
                return;
            }
            self.events.swap(at, next);
            at = next;
        }
    }
}

/// Whether an event may come later (true) or earlier than planned.
fn direction(event: &Event) -> Option<bool> {
    match event.what {
        What::SuspendBegin { .. } => Some(false),
        What::RestartEnd => Some(true),
        What::End { .. } | What::Stats(_) | What::Global { .. } | What::PerHeap { .. } => {
            (event.thread == BACKGROUND).then_some(true)
        }
        _ => None,
    }
}

fn within(address: u64, generation: u8) -> bool {
    let (start, bytes) = region(generation);
    address.wrapping_sub(start) < bytes
}

/// Large enough for one that is missing to be missed.
fn length(bytes: u16) -> u64 {
    u64::from(bytes) * 8 + 1000
}

/// The blocks of one heap in a blocking collection.
fn walk(plan: &Plan, work: &Work, heap: usize) -> Vec<What> {
    if !work.compacting {
        return survivors(plan, work, heap);
    }
    let moved: Vec<_> = blocks(plan, work, heap)
        .enumerate()
        .filter(|(n, _)| n % 3 != 2)
        .map(|(n, (start, bytes))| (start, if n % 2 == 0 { start } else { start - 512 }, bytes))
        .collect();
    // Regions that were swept in the plan phase.
    let kept: Vec<_> =
        blocks(plan, work, heap).enumerate().filter(|(n, _)| n % 3 == 2).map(|(_, b)| b).collect();
    let moved =
        moved.chunks(2).zip(0..).map(|(ranges, index)| What::Moved { index, ranges: ranges.to_vec() });
    moved.chain(in_batches(&kept)).collect()
}

fn survivors(plan: &Plan, work: &Work, heap: usize) -> Vec<What> {
    in_batches(&blocks(plan, work, heap).collect::<Vec<_>>()).collect()
}

fn in_batches(kept: &[(u64, u64)]) -> impl Iterator<Item = What> {
    kept.chunks(3).zip(0..).map(|(ranges, index)| What::Surviving { index, ranges: ranges.to_vec() })
}

/// Blocks of one heap: in all generations that are collected.
fn blocks(plan: &Plan, work: &Work, heap: usize) -> impl Iterator<Item = (u64, u64)> + Clone {
    let all = if plan.pinned_heap { 5 } else { 4 };
    let generations = if work.generation == 2 { all } else { work.generation + 1 };
    work.blocks[heap].iter().zip(0_u8..).map(move |(bytes, n)| {
        let (start, _) = region(n % generations);
        (start + ((heap as u64) << 20) + u64::from(n) * 0x8000 + 0x1000, length(*bytes))
    })
}
