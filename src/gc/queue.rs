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
