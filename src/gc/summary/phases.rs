//! Where the time of blocking collections went, added up.

use crate::gc::record::{Gc, Phase};
use crate::gc::root_kind::MarkKind;

/// The phases of those collections of which they are known, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PhaseTotals {
    pub(crate) gcs: u64,
    /// Their pauses, of which all others are parts.
    pub(crate) pause_ns: u64,
    /// Until all threads stood still.
    pub(crate) suspend_ns: u64,
    pub(crate) mark_ns: u64,
    /// The parts of `mark_ns`, in the order of [`MarkKind::ALL`].
    pub(crate) mark_by_root_ns: [u64; MarkKind::ALL.len()],
    /// Plan, and then relocate and compact, or sweep.
    pub(crate) rest_ns: u64,
    /// From GCEnd until the program ran again.
    pub(crate) resume_ns: u64,
}

/// From GCEnd until the program ran again, ns; `None`: the phases are not known.
pub(crate) fn resume_ns(gc: &Gc) -> Option<u64> {
    gc.phases?;
    let of_graphs = gc.pauses.iter().filter(|pause| pause.phase == Phase::HeapGraph).map(|pause| pause.ns);
    let own_ns = gc.gc_ns?.saturating_sub(of_graphs.fold(0, u64::saturating_add));
    Some(gc.pause_ns?.saturating_sub(gc.suspend_ns?).saturating_sub(own_ns))
}

impl PhaseTotals {
    /// Takes in one collection, if its phases are known.
    pub(super) fn add(&mut self, gc: &Gc) {
        let (Some(phases), Some(pause_ns), Some(resume_ns)) = (gc.phases, gc.pause_ns, resume_ns(gc)) else {
            return;
        };
        self.gcs += 1;
        for (sum, ns) in [
            (&mut self.pause_ns, pause_ns),
            (&mut self.suspend_ns, gc.suspend_ns.unwrap_or(0)),
            (&mut self.mark_ns, phases.mark_ns),
            (&mut self.rest_ns, phases.rest_ns),
            (&mut self.resume_ns, resume_ns),
        ] {
            *sum = sum.saturating_add(ns);
        }
        for (sum, ns) in self.mark_by_root_ns.iter_mut().zip(phases.mark_by_root_ns) {
            *sum = sum.saturating_add(ns.unwrap_or(0));
        }
    }
}
