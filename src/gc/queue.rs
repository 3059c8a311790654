//! Finished records wait here until the names that belong to them are there. Nothing overtakes: a
//! record goes when it and all before it are ready.

use std::collections::VecDeque;

use netcore_profiler::wire::Record;

use super::holders::{Holders, Watched};
use super::names::{self, Tables};
use super::record::Gc;

/// How long names may take on the stream's clock. They come within milliseconds, if at all.
const PATIENCE_NS: u64 = 2_000_000_000;

/// What of a record is still to be named.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// The profiler's number of the collection, where its names have still to come.
    pub(super) due: Option<u64>,
    pub(super) watched: Option<Watched>,
    /// FunctionIDs of the stack that asked for it, innermost first.
    pub(super) asked_by: Option<Vec<u64>>,
}

#[derive(Debug)]
struct Waiting {
    gc: Gc,
    naming: Naming,
    /// Of the names.
    epoch: u64,
    since_ns: u64,
}

/// Records in order, and the names that they wait for.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    /// What ids mean now.
    names: Tables,
    epoch: u64,
    /// What they meant before something was unloaded, as long as a record needs it.
    before: VecDeque<(u64, Tables)>,
    /// Everything that collections up to this one need has been sent.
    named: u64,
    last_due: u64,
    /// The epoch of the totals that came last, until their record is finished.
    totals_epoch: Option<u64>,
    /// No names will come any more.
    over: bool,
}

impl Queue {
    /// A fact or a name.
    pub(super) fn tell(&mut self, record: &Record<'_>) {
        names::tell(&mut self.names, record);
    }

    /// Ids told so far may be used anew.
    pub(super) fn forget(&mut self) {
        let needed = |epoch: u64| epoch == self.epoch;
        if self.waiting.iter().any(|w| needed(w.epoch)) || self.totals_epoch.is_some_and(needed) {
            self.before.push_back((self.epoch, self.names.clone()));
        }
        self.epoch += 1;
        self.names.forget();
    }

    /// The profiler has come anew: it counts from 1, and tells its names again.
    pub(super) fn new_stay(&mut self) {
        (self.named, self.last_due) = (0, 0);
        self.forget();
    }

    /// All names for collections up to this one are there.
    pub(super) fn named(&mut self, gc_seq: u64) {
        self.named = self.named.max(gc_seq);
    }

    /// The profiler counts its collections; a number that does not rise is a new stay's.
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

    /// A finished record.
    pub(super) fn push(&mut self, gc: Gc, naming: Naming, now_ns: u64) {
        let told = if naming.watched.is_some() { self.totals_epoch.take() } else { None };
        let epoch = told.unwrap_or(self.epoch);
        self.waiting.push_back(Waiting { gc, naming, epoch, since_ns: now_ns });
    }

    /// The next record, if all is there that it needs.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<Gc> {
        let first = self.waiting.front()?;
        let there = first.naming.due.is_none_or(|seq| seq <= self.named);
        let late = now_ns.saturating_sub(first.since_ns) >= PATIENCE_NS;
        if !(there || late || self.over) {
            return None;
        }
        let Waiting { mut gc, naming, epoch, .. } = self.waiting.pop_front()?;
        while self.before.front().is_some_and(|(old, _)| *old < epoch) {
            self.before.pop_front();
        }
        match self.before.front_mut().filter(|(old, _)| *old == epoch) {
            Some((_, old)) => {
                old.complete(&self.names);
                name(&mut gc, &naming, old);
            }
            None => name(&mut gc, &naming, &mut self.names),
        }
        if self.waiting.is_empty() && self.totals_epoch.is_none() {
            self.before.clear();
        }
        Some(gc)
    }
}

fn name(gc: &mut Gc, naming: &Naming, names: &mut Tables) {
    if let (Some(watched), Some(roots)) = (&naming.watched, &mut gc.roots) {
        roots.holders = Some(Holders::of(watched, names));
    }
    if let Some(frames) = &naming.asked_by {
        gc.triggered_by = Some(frames.iter().map(|id| names.method_name(*id)).collect());
    }
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
        Naming { due, watched: None, asked_by: Some(vec![100]) }
    }

    fn fact(queue: &mut Queue, module_id: u64) {
        queue.tell(&Record::Method(wire::Method {
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
        queue.tell(&Record::MethodDef(wire::MethodDef {
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
        let take = || queue.take(now_ns).map(|gc| (gc.number, gc.triggered_by.unwrap_or_default().concat()));
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
        assert_eq!(numbers(&mut queue, PATIENCE_NS + 499), []);
        assert_eq!(numbers(&mut queue, PATIENCE_NS + 500), [(Some(1), "(unnamed)".to_owned())]);
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
    fn ids_mean_what_they_meant_when_they_were_sent() {
        let mut queue = Queue::default();
        fact(&mut queue, 7);
        name(&mut queue, 7, "Before");
        queue.counted(1);
        queue.forget();
        // The record is finished after its totals came.
        queue.push(gc(1), Naming { watched: Some(Watched::default()), ..asked(Some(1)) }, 0);
        fact(&mut queue, 8);
        name(&mut queue, 8, "After");
        queue.counted(2);
        queue.push(gc(2), Naming { watched: Some(Watched::default()), ..asked(Some(2)) }, 0);
        queue.named(2);
        let named = [(Some(1), "Before".to_owned()), (Some(2), "After".to_owned())];
        assert_eq!(numbers(&mut queue, 0), named);
    }
}
