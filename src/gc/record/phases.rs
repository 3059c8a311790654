//! How long the phases of a blocking collection took.

use crate::gc::root_kind::MarkKind;

/// The phases of a blocking collection, from GCStart to GCEnd. The runtime tells when each kind of root is marked
/// (GCMarkWithType), so what comes after marking is one figure: plan, and then relocate and compact, or sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Phases {
    /// From GCStart until the last kind of root was marked.
    pub(crate) mark_ns: u64,
    /// The parts of `mark_ns`, in the order of [`MarkKind::ALL`]. With several heaps, a kind ends where the slowest heap
    /// has marked it. `None`: the runtime did not mark from that kind.
    pub(crate) mark_by_root_ns: [Option<u64>; MarkKind::ALL.len()],
    /// From there until GCEnd; at levels `moves` and `roots` with the runtime's work for gcwatch, but without the time for a
    /// heap graph.
    pub(crate) rest_ns: u64,
}

impl Phases {
    /// Takes in GCMarkWithType, which came `since_start_ns` after GCStart.
    pub(crate) fn marked(&mut self, kind: MarkKind, since_start_ns: u64) {
        let part = since_start_ns.saturating_sub(self.mark_ns);
        if let Some(sum) = self.mark_by_root_ns.get_mut(kind.index()) {
            *sum = Some(sum.unwrap_or(0).saturating_add(part));
            self.mark_ns = self.mark_ns.max(since_start_ns);
        }
    }

    /// Marking from one kind of root.
    pub(crate) fn mark_from(&self, kind: MarkKind) -> Option<u64> {
        self.mark_by_root_ns.get(kind.index()).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_ends_where_the_slowest_heap_has_marked_it() {
        let mut phases = Phases::default();
        for (kind, at) in [(0, 5), (0, 9), (2, 8), (2, 20), (77, 90)] {
            phases.marked(MarkKind(kind), at);
        }
        assert_eq!((phases.mark_from(MarkKind(0)), phases.mark_from(MarkKind(2))), (Some(9), Some(11)));
        assert_eq!((phases.mark_from(MarkKind(3)), phases.mark_from(MarkKind(77))), (None, None));
        assert_eq!(phases.mark_ns, 20);
    }
}
