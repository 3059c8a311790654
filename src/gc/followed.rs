//! Objects that are carried from their addresses before a collection to those after it.

use std::ops::Range;

use super::generation::Generation;
use super::generation_bounds::GenerationBounds;
use super::record::{Gc, Kind};

/// Objects by rising address, each with a value.
#[derive(Debug, Clone)]
pub(crate) struct Followed<T> {
    known: Vec<(u64, T)>,
}

impl<T> Default for Followed<T> {
    fn default() -> Self {
        Self { known: Vec::new() }
    }
}

/// What becomes of an object that no range holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outside {
    /// Its generation was not collected.
    Stays,
    /// Its generation was collected: it did not survive.
    Dies,
    /// It is in no generation.
    Unknown,
}

/// Objects with one fate, from the end of the part before: behind the last one.
type Part = (usize, Outside);

/// What a range says of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    No,
    InPlace,
    Moved,
}

/// Whether a collection tells where each object is after it: all ranges are there, and it blocked, because a background
/// collection frees objects while others run.
pub(super) fn tells_all(gc: &Gc) -> bool {
    let moved = gc.moved.as_ref().is_some_and(|moved| moved.ranges.is_some() && !moved.bytes_at_least);
    let surviving = gc.surviving.as_ref().is_some_and(|s| s.ranges.is_some() && !s.bytes_at_least);
    let whole = gc.complete() && gc.missing.ranges == 0;
    whole && gc.kind == Some(Kind::Blocking) && gc.generation.is_some() && moved && surviving
}

impl<T: Copy> Followed<T> {
    /// From objects by rising address, each once.
    pub(crate) fn new(known: Vec<(u64, T)>) -> Followed<T> {
        Followed { known }
    }

    /// The objects, by rising address.
    pub(crate) fn into_objects(self) -> Vec<(u64, T)> {
        self.known
    }

    /// The value of the object at an address.
    pub(crate) fn get(&self, address: u64) -> Option<T> {
        let found = self.known.binary_search_by_key(&address, |(address, _)| *address).ok()?;
        self.known.get(found).map(|(_, value)| *value)
    }

    /// Forgets all objects.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }

    /// Brings each object to its address after a collection that [tells all](tells_all), and forgets those that did not
    /// survive. `bounds` are those at its start. Calls `doubt` for each object of which it is not certain that it is the
    /// same one. `false`: the ranges overlap so much that nothing is known any more.
    pub(crate) fn carry(
        &mut self,
        gc: &Gc,
        bounds: &GenerationBounds,
        mut doubt: impl FnMut(&mut T),
    ) -> bool {
        let parts = self.parts(gc.generation, bounds);
        let Some((hull, parts)) = hull(&parts) else { return true };
        let mut seen = vec![Seen::No; hull.len()];
        let mut moved = Vec::new();
        // Ranges do not overlap, so each object lies in one of them. If a damaged stream has ranges that do, to follow
        // all would take time and memory for each object in each range.
        let mut most = hull.len().saturating_mul(2);
        let known = self.known.get(hull.clone()).unwrap_or_default();
        let mut at = 0;
        let mut hold = |old: u64, new: u64, bytes: u64| {
            at = first_from(known, at, old);
            for ((address, value), seen) in known.iter().zip(&mut seen).skip(at) {
                let offset = address - old;
                if offset >= bytes || most == 0 {
                    break;
                }
                (at, most) = (at + 1, most - 1);
                let to = (new.wrapping_add(offset), *value);
                match (*seen, old == new) {
                    (Seen::No, true) => *seen = Seen::InPlace,
                    (Seen::No, false) => {
                        *seen = Seen::Moved;
                        moved.push(to);
                    }
                    _ => {
                        let mut to = to;
                        doubt(&mut to.1);
                        moved.push(to);
                    }
                }
            }
        };
        for range in gc.moved.iter().flat_map(|moved| moved.ranges.iter().flatten()) {
            hold(range.old, range.new, range.bytes);
        }
        for range in gc.surviving.iter().flat_map(|surviving| surviving.ranges.iter().flatten()) {
            hold(range.start, range.start, range.bytes);
        }
        if most == 0 {
            self.clear();
            return false;
        }
        self.keep(&hull, parts, &seen, &mut doubt);
        if !moved.is_empty() {
            self.known.append(&mut moved);
            // This sort is fast for ascending parts, which these are.
            self.known.sort_by_key(|(address, _)| *address);
            // Two objects in one place: the ranges contradict each other.
            self.known.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    doubt(&mut kept.1);
                }
                same
            });
        }
        true
    }

    /// Removes what has moved or died.
    fn keep(&mut self, hull: &Range<usize>, parts: &[Part], seen: &[Seen], doubt: &mut impl FnMut(&mut T)) {
        let (mut at, mut to) = (hull.start, hull.start);
        for (end, outside) in parts {
            for at in at..*end {
                let Some(&(address, mut value)) = self.known.get(at) else { break };
                match (seen.get(at - hull.start), outside) {
                    (Some(Seen::Moved), _) | (Some(Seen::No), Outside::Dies) => continue,
                    (Some(Seen::No), Outside::Unknown) => doubt(&mut value),
                    _ => {}
                }
                if let Some(place) = self.known.get_mut(to) {
                    *place = (address, value);
                }
                to += 1;
            }
            at = *end;
        }
        self.known.drain(to..at);
    }

    /// Parts of the objects, each with its end.
    fn parts(&self, collected: Option<Generation>, bounds: &GenerationBounds) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let mut at = 0;
        let mut until = |end: usize, outside: Outside| {
            if end > at {
                match parts.last_mut() {
                    Some(last) if last.1 == outside => last.0 = end,
                    _ => parts.push((end, outside)),
                }
                at = end;
            }
        };
        let mut end = 0;
        for range in bounds.ranges() {
            let start = first_from(&self.known, end, range.start).max(end);
            until(start, Outside::Unknown);
            end = first_from(&self.known, start, range.start.saturating_add(range.bytes)).max(start);
            until(
                end,
                match range.generation {
                    generation if generation >= Generation::FROZEN => Outside::Unknown,
                    generation if collected.is_none_or(|gc| gc.condemns(generation)) => Outside::Dies,
                    _ => Outside::Stays,
                },
            );
        }
        until(self.known.len(), Outside::Unknown);
        parts
    }
}

/// The parts without those at both ends that stay, and what they enclose. `None`: all stay.
fn hull(parts: &[Part]) -> Option<(Range<usize>, &[Part])> {
    let changes = |(_, outside): &Part| *outside != Outside::Stays;
    let first = parts.iter().position(changes)?;
    let last = parts.iter().rposition(changes)?;
    let start = first.checked_sub(1).and_then(|before| parts.get(before)).map_or(0, |(end, _)| *end);
    let end = parts.get(last)?.0;
    Some((start..end, parts.get(first..=last)?))
}

/// The first object whose address is not lower. `near` is a place that may be near: ranges mostly come by rising
/// address, and there may be many more objects than ranges, or many more ranges than objects.
fn first_from<T>(known: &[(u64, T)], near: usize, address: u64) -> usize {
    let is_below = |(at, _): &(u64, T)| *at < address;
    let below = |range: Range<usize>| known.get(range).unwrap_or_default().partition_point(is_below);
    if near.checked_sub(1).and_then(|before| known.get(before)).is_some_and(|before| !is_below(before)) {
        return below(0..near.min(known.len()));
    }
    let (mut from, mut step) = (near, 1);
    while known.get(from + step - 1).is_some_and(is_below) {
        from += step;
        step *= 2;
    }
    from + below(from..(from + step).min(known.len()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::generation_bounds::GenerationRange;
    use super::super::record::{Level, Moved, MovedRange, Surviving, SurvivingRange};
    use super::*;

    fn bounds() -> GenerationBounds {
        let at =
            |n: u8| GenerationRange { start: u64::from(n) * 1000, bytes: 1000, generation: Generation(n) };
        GenerationBounds::new([0, 1, 2, 3].map(at).into())
    }

    fn gc(generation: u8, moved: &[(u64, u64, u64)], kept: &[(u64, u64)]) -> Gc {
        let moved = moved.iter().map(|(old, new, bytes)| MovedRange {
            old: *old,
            new: *new,
            bytes: *bytes,
            from: None,
            to: None,
        });
        let kept = kept.iter().map(|(start, bytes)| SurvivingRange {
            start: *start,
            bytes: *bytes,
            generation: None,
        });
        Gc {
            generation: Some(Generation(generation)),
            kind: Some(Kind::Blocking),
            moved: Some(Moved { ranges: Some(moved.collect()), ..Moved::default() }),
            surviving: Some(Surviving { ranges: Some(kept.collect()), ..Surviving::default() }),
            ..Gc::unknown(Level::Roots)
        }
    }

    #[test]
    fn places_are_found_from_everywhere() {
        let known: Vec<(u64, ())> = (1..50_u64).map(|n| (n * 10, ())).collect();
        for near in 0..=known.len() {
            for address in [0, 5, 10, 11, 250, 255, 489, 490, 491, u64::MAX] {
                let expected = known.partition_point(|(at, ())| *at < address);
                assert_eq!(first_from(&known, near, address), expected, "{near} {address}");
            }
        }
    }

    proptest! {
        /// Blocks of objects that move, stay or die, against a map that looks at one object after the other.
        #[test]
        fn as_a_simple_map_does(
            objects in prop::collection::btree_set(0..4200_u64, 0..200),
            generation in 0..3_u8,
            blocks in prop::collection::vec((0..60_u64, 1..30_u64, any::<bool>()), 0..60),
            rotate: prop::sample::Index,
        ) {
            let (mut moved, mut kept) = (Vec::new(), Vec::new());
            let mut at = 0;
            for (gap, bytes, moves) in blocks {
                at += gap;
                match moves {
                    true => moved.push((at, at + 10_000, bytes)),
                    false => kept.push((at, bytes)),
                }
                at += bytes;
            }
            let collected = |at: u64| {
                bounds().generation(at).is_some_and(|of| Generation(generation).condemns(of))
            };
            // What is not collected is in no range.
            moved.retain(|(old, _, bytes)| (*old..*old + *bytes).all(collected));
            // Several threads tell their ranges.
            if !moved.is_empty() {
                let middle = rotate.index(moved.len());
                moved.rotate_left(middle);
            }
            let mut expected = BTreeMap::new();
            for object in &objects {
                let held = |start: u64, bytes: u64| (start..start + bytes).contains(object);
                let stays = kept.iter().any(|(start, bytes)| held(*start, *bytes));
                match moved.iter().find(|(old, _, bytes)| held(*old, *bytes)) {
                    Some((old, new, _)) => drop(expected.insert(object - old + new, *object)),
                    None if stays || !collected(*object) => drop(expected.insert(*object, *object)),
                    None => {}
                }
            }
            let gc = gc(generation, &moved, &kept);
            let mut followed = Followed::new(objects.iter().map(|object| (*object, *object)).collect());
            let carried = followed.carry(&gc, &bounds(), |_| {});
            prop_assert!(carried);
            let objects = followed.into_objects();
            prop_assert!(objects.is_sorted());
            let found: BTreeMap<u64, u64> = objects.iter().copied().collect();
            prop_assert_eq!(found.len(), objects.len());
            prop_assert_eq!(found, expected);
        }
    }
}
