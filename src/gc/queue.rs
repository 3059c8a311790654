//! Finished records wait here until their names have come. They keep their order: a record leaves when it and all
//! before it are ready.

use std::collections::VecDeque;

use netcore_profiler::wire::{CODE_WITHOUT_METHOD, Record};

use super::induced::inducing_method;
use super::names::{self, DYNAMIC, Definitions, Name, Tables};
use super::record::Gc;
use super::root_stats::{RootRows, RootStats};

/// How long a record waits for names, in ns of the stream's clock. They come within milliseconds, if at all.
const NAMES_TIMEOUT_NS: u64 = 2_000_000_000;

/// Memory for definitions, earlier ones included. The profiler sends 49,152 classes and methods at most, which take
/// half of this where names have a usual length.
const MAX_NAMES_BYTES: usize = 32 << 20;
/// Records that may wait. If there are more, the first leaves without names. No program has so many collections in 2 s.
const MAX_WAITING: usize = 1024;
/// Rows of roots and static fields that may wait. A collection has some 14,000 at most.
const MAX_WAITING_ROWS: usize = 1 << 18;

/// The parts of a record that are still to be named.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// The profiler's number of the collection; `None` where all its names have come.
    pub(super) due: Option<u64>,
    pub(super) root_rows: Option<RootRows>,
    /// FunctionIDs of the stack that induced it, innermost first.
    pub(super) induced_by: Option<Vec<u64>>,
}

#[derive(Debug)]
struct Waiting {
    gc: Gc,
    naming: Naming,
    /// Which definitions it needs.
    epoch: u64,
    since_ns: u64,
}

/// Records in order, and the definitions that they wait for.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    /// The definitions that are valid now.
    names: Tables,
    epoch: u64,
    /// How many waiting records need them.
    need_names: usize,
    /// Earlier definitions by epoch, as long as a record needs them.
    before: VecDeque<(u64, Definitions)>,
    earlier_bytes: usize,
    /// Rows in all waiting records.
    waiting_rows: usize,
    /// Definitions that were left out, and records that left without names, because there are too many.
    left_out: u64,
    /// The names of all collections up to this one have come.
    named: u64,
    last_due: u64,
    /// The epoch of the totals that came last, until their record is finished.
    totals_epoch: Option<u64>,
    /// No names will come any more.
    over: bool,
}

impl Queue {
    /// Adds a definition.
    pub(super) fn apply(&mut self, record: &Record<'_>) {
        if self.names.bytes().saturating_add(self.earlier_bytes) < MAX_NAMES_BYTES {
            names::apply(&mut self.names, record);
        } else {
            self.left_out += 1;
        }
    }

    /// How many were left out since the last call.
    pub(super) fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }

    /// All ids are void: the runtime may use them for other things.
    pub(super) fn forget(&mut self) {
        let meant = self.names.forget();
        let needed = self.need_names > 0 || self.totals_epoch == Some(self.epoch);
        if needed && !meant.is_empty() {
            self.earlier_bytes += meant.bytes();
            self.before.push_back((self.epoch, meant));
        }
        self.epoch += 1;
        self.need_names = 0;
        if self.before.len() > MAX_WAITING
            && let Some((oldest, _)) = self.before.front()
        {
            self.left_out += 1;
            self.drop_before(oldest + 1);
        }
    }

    /// Another profiler said hello. It counts from 1, and sends its definitions again.
    pub(super) fn profiler_arrived(&mut self) {
        (self.named, self.last_due) = (0, 0);
        self.forget();
    }

    /// The names of all collections up to this one have come.
    pub(super) fn named(&mut self, gc_seq: u64) {
        self.named = self.named.max(gc_seq);
    }

    /// The totals of a collection have come. If the number does not rise, it is another profiler's.
    pub(super) fn counted(&mut self, gc_seq: u64) {
        if gc_seq <= self.last_due {
            self.named = 0;
        }
        self.last_due = gc_seq;
        self.totals_epoch = Some(self.epoch);
        self.over = false;
    }

    /// The profiler has left, or the stream has ended.
    pub(super) fn over(&mut self) {
        self.over = true;
    }

    /// Adds a finished record.
    pub(super) fn push(&mut self, gc: Gc, naming: Naming, now_ns: u64) {
        let totals = if naming.root_rows.is_some() { self.totals_epoch.take() } else { None };
        let epoch = totals.unwrap_or(self.epoch);
        self.need_names += usize::from(epoch == self.epoch);
        self.waiting_rows += naming.rows();
        self.waiting.push_back(Waiting { gc, naming, epoch, since_ns: now_ns });
    }

    /// Takes the next record, if its names have come.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<Gc> {
        let first = self.waiting.front()?;
        let there = first.naming.due.is_none_or(|seq| seq <= self.named);
        let late = now_ns.saturating_sub(first.since_ns) >= NAMES_TIMEOUT_NS;
        if !(there || late || self.over) {
            if self.waiting.len() <= MAX_WAITING && self.waiting_rows <= MAX_WAITING_ROWS {
                return None;
            }
            self.left_out += 1;
        }
        let Waiting { mut gc, naming, epoch, .. } = self.waiting.pop_front()?;
        self.need_names -= usize::from(epoch == self.epoch);
        self.waiting_rows -= naming.rows();
        self.drop_before(epoch);
        match self.before.front_mut().filter(|(old, _)| *old == epoch) {
            Some((_, meant)) => self.names.with(meant, |names| name(&mut gc, &naming, names)),
            None if epoch == self.epoch => name(&mut gc, &naming, &mut self.names),
            // There were no definitions then.
            None => self.names.with(&mut Definitions::default(), |names| name(&mut gc, &naming, names)),
        }
        if self.waiting.is_empty() && self.totals_epoch.is_none() {
            self.drop_before(self.epoch);
        }
        Some(gc)
    }

    /// Drops the definitions before this epoch: no record needs them.
    fn drop_before(&mut self, epoch: u64) {
        while let Some((_, meant)) = self.before.pop_front_if(|(old, _)| *old < epoch) {
            self.earlier_bytes -= meant.bytes();
        }
    }
}

impl Naming {
    /// The number of rows.
    fn rows(&self) -> usize {
        self.root_rows.as_ref().map_or(0, RootRows::len)
    }
}

fn name(gc: &mut Gc, naming: &Naming, names: &mut Tables) {
    if let (Some(root_rows), Some(roots)) = (&naming.root_rows, &mut gc.roots) {
        roots.stats = Some(RootStats::of(root_rows, names));
    }
    if let Some(frames) = &naming.induced_by {
        gc.induced_by = Some(callers(frames, names));
    }
}

/// The names of the methods of a stack that induced a collection. Code without a method that calls `GC.Collect` itself
/// is a method made at run time. In outer frames it may be the runtime's own code, and is left out.
fn callers(frames: &[u64], names: &mut Tables) -> Vec<Name> {
    let mut named: Vec<Name> = Vec::with_capacity(frames.len());
    for id in frames {
        if *id != CODE_WITHOUT_METHOD {
            named.push(names.method_name(*id));
        } else if inducing_method(&named).is_none() {
            named.push(DYNAMIC.into());
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use netcore_profiler::wire::{self, DefStatus, Ids, MethodShape, Text, Texts};

    use super::*;
    use crate::gc::record::Level;

    fn gc(number: u32) -> Gc {
        let mut gc = Gc::unknown(Level::Roots);
        gc.number = Some(number);
        gc
    }

    fn asked(due: Option<u64>) -> Naming {
        Naming { due, root_rows: None, induced_by: Some(vec![100]) }
    }

    fn fact(queue: &mut Queue, module_id: u64) {
        queue.apply(&Record::Method(wire::Method {
            function_id: 100,
            shape: MethodShape::NAMED,
            class_id: 0,
            module_id,
            token: 1,
            args: Ids::new(&[]),
        }));
    }

    fn name(queue: &mut Queue, module_id: u64, text: &str) {
        let units: Vec<u16> = text.encode_utf16().collect();
        queue.apply(&Record::MethodDef(wire::MethodDef {
            module_id,
            token: 1,
            status: DefStatus::OK,
            type_token: 2,
            name: Text::new(&units),
            is_async: false,
            params: Texts::new(&[]),
        }));
    }

    fn numbers(queue: &mut Queue, now_ns: u64) -> Vec<(Option<u32>, String)> {
        let take = || queue.take(now_ns).map(|gc| (gc.number, gc.induced_by.unwrap_or_default().concat()));
        std::iter::from_fn(take).collect()
    }

    #[test]
    fn nothing_overtakes_what_waits_for_its_names() {
        let mut queue = Queue::default();
        fact(&mut queue, 7);
        queue.push(gc(1), Naming::default(), 0);
        queue.push(gc(2), asked(Some(1)), 0);
        queue.push(gc(3), Naming::default(), 0);
        assert_eq!(numbers(&mut queue, 10), [(Some(1), String::new())]);
        name(&mut queue, 7, "Run");
        queue.named(1);
        assert_eq!(numbers(&mut queue, 10), [(Some(2), "Run".to_owned()), (Some(3), String::new())]);
    }

    #[test]
    fn it_waits_two_seconds_or_until_nothing_comes_any_more() {
        let mut queue = Queue::default();
        queue.push(gc(1), asked(Some(1)), 500);
        assert_eq!(numbers(&mut queue, NAMES_TIMEOUT_NS + 499), []);
        assert_eq!(numbers(&mut queue, NAMES_TIMEOUT_NS + 500), [(Some(1), "(unnamed)".to_owned())]);
        queue.push(gc(2), asked(Some(2)), 500);
        queue.over();
        assert_eq!(numbers(&mut queue, 500), [(Some(2), "(unnamed)".to_owned())]);
    }

    #[test]
    fn a_new_stay_counts_from_one_again() {
        let mut queue = Queue::default();
        queue.counted(5);
        queue.named(5);
        queue.over();
        queue.counted(1);
        queue.push(gc(9), asked(Some(1)), 0);
        assert_eq!(numbers(&mut queue, 0), []);
        queue.named(1);
        assert_eq!(numbers(&mut queue, 0).len(), 1);
    }

    #[test]
    fn ids_that_were_given_anew_are_not_those_of_before() {
        let mut queue = Queue::default();
        queue.counted(1);
        queue.forget();
        queue.push(gc(1), Naming { root_rows: Some(RootRows::default()), ..asked(Some(1)) }, 0);
        fact(&mut queue, 8);
        name(&mut queue, 8, "After");
        queue.named(1);
        assert_eq!(numbers(&mut queue, 0), [(Some(1), "(unnamed)".to_owned())]);
    }

    /// Memory for `names` names, which are forgotten as often as `turns` says while a record needs them.
    fn memory(names: u64, turns: u64) -> u64 {
        let info = allocation_counter::measure(|| {
            let mut queue = Queue::default();
            for module in 0..names {
                name(&mut queue, module, "Method");
            }
            for turn in 1..=turns {
                queue.counted(turn);
                queue.forget();
                name(&mut queue, turn, "Method");
            }
            assert_eq!(queue.take_left_out(), turns.saturating_sub(MAX_WAITING as u64));
        });
        info.bytes_total
    }

    #[test]
    fn to_forget_copies_nothing() {
        let (few, many) = (memory(10_000, 10), memory(10_000, 200));
        assert!(many < few + (2 << 20), "{few} bytes for 10 turns, {many} for 200");
        memory(10, 2 * MAX_WAITING as u64);
    }

    #[test]
    fn names_are_bounded_and_what_is_left_out_is_counted() {
        let mut queue = Queue::default();
        let long = "M".repeat(500);
        let turns = 2 * MAX_NAMES_BYTES as u64 / 500;
        let info = allocation_counter::measure(|| (0..turns).for_each(|n| name(&mut queue, n, &long)));
        assert!(info.bytes_max < 3 * MAX_NAMES_BYTES as u64 / 2, "{} bytes", info.bytes_max);
        assert!(queue.take_left_out() > turns / 3);
        queue.forget();
        name(&mut queue, 7, "Fits");
        assert_eq!(queue.take_left_out(), 0, "there is room again");
    }

    #[test]
    fn records_that_wait_are_bounded_and_what_goes_without_names_is_counted() {
        let mut queue = Queue::default();
        let most = MAX_WAITING as u32;
        for number in 0..most + 10 {
            queue.push(gc(number), asked(Some(1)), 0);
        }
        assert_eq!(numbers(&mut queue, 0).len(), 10);
        assert_eq!(queue.take_left_out(), 10);
        queue.named(1);
        assert_eq!(numbers(&mut queue, 0).len(), MAX_WAITING);
        assert_eq!(queue.take_left_out(), 0);
    }

    #[test]
    fn ids_mean_what_they_meant_when_they_were_sent() {
        let mut queue = Queue::default();
        fact(&mut queue, 7);
        name(&mut queue, 7, "Before");
        queue.counted(1);
        queue.forget();
        // The record is finished after its totals came.
        queue.push(gc(1), Naming { root_rows: Some(RootRows::default()), ..asked(Some(1)) }, 0);
        fact(&mut queue, 8);
        name(&mut queue, 8, "After");
        queue.counted(2);
        queue.push(gc(2), Naming { root_rows: Some(RootRows::default()), ..asked(Some(2)) }, 0);
        queue.named(2);
        let named = [(Some(1), "Before".to_owned()), (Some(2), "After".to_owned())];
        assert_eq!(numbers(&mut queue, 0), named);
    }
}
