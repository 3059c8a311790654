//! Objects followed from one collection to the next.
//!
//! An address identifies an object only until the next collection. The ranges of that collection say where the object
//! is afterwards, if all of them are known. So this needs an unbroken series of collections, each with its ranges. Any
//! other collection ends the series.

use super::followed::{Followed, tells_all};
use super::record::Gc;

/// The objects among the roots of the last collection. Nothing else is kept.
#[derive(Debug, Default)]
pub(super) struct Identity {
    last_number: Option<u32>,
    /// Each with the number of the first collection of the series in which it was among the roots. `None`: the object at
    /// this address may be the same one or another.
    known: Followed<Option<u32>>,
}

impl Identity {
    /// Takes the next record, in the order in which records are finished, and sets `since_gc` of its roots.
    pub(super) fn follow(&mut self, gc: &mut Gc) {
        let usable = tells_all(gc);
        let next = self.last_number.is_some_and(|last| gc.number == last.checked_add(1));
        match gc.start_bounds.as_ref().filter(|_| usable && next) {
            Some(bounds) => drop(self.known.carry(gc, bounds, |since| *since = None)),
            None => self.known.clear(),
        }
        self.last_number = gc.number.filter(|_| usable);
        let (true, Some(number)) = (usable, gc.number) else { return };
        let Some(roots) = gc.roots.as_mut().and_then(|roots| roots.list.as_mut()) else { return };
        for root in roots.iter_mut().filter(|root| root.object != 0) {
            root.since_gc = self.known.get(root.object).unwrap_or(Some(number));
        }
        let objects = roots.iter().filter(|root| root.object != 0);
        let mut known: Vec<_> = objects.map(|root| (root.object, root.since_gc)).collect();
        known.sort_unstable();
        known.dedup();
        self.known = Followed::new(known);
    }
}

#[cfg(test)]
mod tests {
    use super::super::generation::Generation;
    use super::super::generation_bounds::{GenerationBounds, GenerationRange};
    use super::super::record::{
        Incomplete, Kind, Level, Moved, MovedRange, Root, Roots, Surviving, SurvivingRange,
    };
    use super::super::root_kind::{RootFlags, RootKind};
    use super::*;

    /// gen0 at 0.., gen1 at 1000.., gen2 at 2000.., LOH at 3000.., frozen at 5000...
    fn bounds() -> GenerationBounds {
        let at =
            |n: u8| GenerationRange { start: u64::from(n) * 1000, bytes: 1000, generation: Generation(n) };
        GenerationBounds::new([0, 1, 2, 3, 5].map(at).into())
    }

    fn gc(number: u32, generation: u8, moved: &[(u64, u64, u64)], kept: &[(u64, u64)], roots: &[u64]) -> Gc {
        let mut gc = Gc::unknown(Level::Roots);
        (gc.number, gc.generation, gc.kind) =
            (Some(number), Some(Generation(generation)), Some(Kind::Blocking));
        let moved =
            moved.iter().map(|&(old, new, bytes)| MovedRange { old, new, bytes, from: None, to: None });
        gc.moved = Some(Moved { ranges: Some(moved.collect()), ..Moved::default() });
        let kept = kept.iter().map(|&(start, bytes)| SurvivingRange { start, bytes, generation: None });
        gc.surviving = Some(Surviving { ranges: Some(kept.collect()), ..Surviving::default() });
        let root = |&object: &u64| Root {
            object,
            id: 0,
            kind: RootKind::HANDLE,
            flags: RootFlags::default(),
            since_gc: None,
        };
        gc.roots = Some(Roots { list: Some(roots.iter().map(root).collect()), ..Roots::default() });
        gc
    }

    #[test]
    fn ranges_that_overlap_carry_nothing_and_cost_little() {
        let mut identity = Identity::default();
        let roots: Vec<u64> = (1..1_000).collect();
        since(&mut identity, gc(1, 0, &[], &[(0, 1_000)], &roots));
        let overlapping = vec![(0, 1_000); 10_000];
        let next = gc(2, 0, &[], &overlapping, &roots);
        let info = allocation_counter::measure(|| {
            assert!(
                since(&mut identity, next).iter().all(|since| *since == Some(2)),
                "the past is not known"
            );
        });
        assert!(info.bytes_total < 4 << 20, "{} bytes", info.bytes_total);
        since(&mut identity, gc(3, 0, &[], &[(u64::MAX, 1)], &[u64::MAX, u64::MAX - 1]));
        since(&mut identity, gc(4, 0, &[], &[(u64::MAX, 1)], &[u64::MAX, u64::MAX - 1]));
    }

    fn since(identity: &mut Identity, mut gc: Gc) -> Vec<Option<u32>> {
        gc.start_bounds = Some(bounds());
        identity.follow(&mut gc);
        gc.roots.unwrap().list.unwrap().iter().map(|root| root.since_gc).collect()
    }

    #[test]
    fn through_moves_and_in_place() {
        let mut i = Identity::default();
        // A null root has no object.
        assert_eq!(since(&mut i, gc(4, 0, &[], &[], &[8, 108, 0, 8])), [Some(4), Some(4), None, Some(4)]);
        // One moves inside its block, the other survives where it lies; what lies where the first was is new.
        let five = gc(5, 1, &[(0, 1000, 64)], &[(100, 24)], &[1008, 108, 8]);
        assert_eq!(since(&mut i, five), [Some(4), Some(4), Some(5)]);
        // The first byte after a block is not in it.
        let six = gc(6, 2, &[(1000, 2000, 8), (1016, 2008, 8)], &[(100, 8), (8, 1)], &[2008, 108, 8]);
        assert_eq!(since(&mut i, six), [Some(6), Some(6), Some(5)]);
        // A block that was in a moved batch but stayed.
        assert_eq!(since(&mut i, gc(7, 2, &[(2008, 2008, 8)], &[], &[2008])), [Some(6)]);
    }

    #[test]
    fn outside_all_ranges() {
        let mut i = Identity::default();
        let all = [500, 1500, 2500, 3500, 5500, 9500];
        assert_eq!(since(&mut i, gc(1, 0, &[], &[], &all)), [Some(1); 6]);
        // Older than what was collected: untouched. Collected: gone, and what is there now is another object.
        // In no generation: nobody says.
        let expected = [Some(2), Some(2), Some(1), Some(1), None, None];
        assert_eq!(since(&mut i, gc(2, 1, &[], &[], &all)), expected);
        let expected = [Some(3), Some(3), Some(3), Some(3), None, None];
        assert_eq!(since(&mut i, gc(3, 2, &[], &[], &all)), expected);
        // No root for once: not followed any longer.
        assert!(since(&mut i, gc(4, 0, &[], &[], &[])).is_empty());
        assert_eq!(since(&mut i, gc(5, 0, &[], &[], &[2500, 5500])), [Some(5), Some(5)]);
    }

    #[test]
    fn unknown_after_a_gap() {
        let seen = || gc(2, 0, &[], &[], &[2500]);
        type Cut = fn(&mut Gc);
        let cuts: [(&str, Cut); 8] = [
            ("another number", |gc| gc.number = Some(3)),
            ("no number", |gc| gc.number = None),
            ("lost", |gc| gc.incomplete = Some(Incomplete::Lost)),
            ("half-armed", |gc| gc.incomplete = Some(Incomplete::HalfArmed)),
            ("no ranges", |gc| (gc.moved, gc.surviving) = (None, None)),
            ("ranges not kept", |gc| gc.moved = Some(Moved::default())),
            ("lengths cut", |gc| gc.surviving.as_mut().unwrap().bytes_at_least = true),
            ("foreground", |gc| gc.kind = Some(Kind::Foreground)),
        ];
        for (what, cut) in cuts {
            let mut i = Identity::default();
            assert_eq!(since(&mut i, gc(1, 0, &[], &[], &[2500])), [Some(1)]);
            let mut second = seen();
            cut(&mut second);
            let number = second.number.unwrap_or(2);
            let usable = tells_all(&second);
            assert_eq!(since(&mut i, second), [usable.then_some(number).filter(|n| *n == 3)], "{what}");
            assert_eq!(
                since(&mut i, gc(number + 1, 0, &[], &[], &[2500]))[0],
                Some(if usable { 3 } else { number + 1 }),
                "{what}"
            );
        }
        // The bounds did not come.
        let mut i = Identity::default();
        assert_eq!(since(&mut i, gc(1, 0, &[], &[], &[2500])), [Some(1)]);
        let mut second = seen();
        i.follow(&mut second);
        assert_eq!(second.roots.unwrap().list.unwrap()[0].since_gc, Some(2));
    }

    #[test]
    fn contradictions_and_any_numbers_are_harmless() {
        let mut i = Identity::default();
        assert_eq!(since(&mut i, gc(1, 0, &[], &[], &[8, 16, u64::MAX])), [Some(1); 3]);
        let both = gc(2, 0, &[(8, 40, 8), (16, 40, 8), (u64::MAX, u64::MAX, u64::MAX)], &[], &[40, u64::MAX]);
        assert_eq!(since(&mut i, both), [None, Some(1)]);
        assert_eq!(since(&mut i, gc(u32::MAX, 2, &[], &[], &[8])), [Some(u32::MAX)]);
        assert_eq!(since(&mut i, gc(0, 2, &[], &[], &[8])), [Some(0)]);
    }
}
