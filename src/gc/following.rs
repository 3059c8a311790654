//! The objects of one heap graph, followed through collections to the next graph.

use std::collections::VecDeque;

use super::followed::{Followed, tells_all};
use super::record::Gc;

/// So many ranges wait at most while a graph is being read: 300 MiB.
const MAX_WAITING: usize = 1 << 23;

/// Why the objects could not be followed to the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GaveUp {
    /// The collection; `None`: there is none to name.
    pub(crate) gc_number: Option<u32>,
    pub(crate) why: &'static str,
}

/// Follows all objects of a graph that was taken at one collection, to another graph that is taken at a later one.
///
/// The addresses in a graph are those after its collection: the runtime tells what moved before it tells the objects. So
/// the moves of all later collections lead to the second graph, with those of its own.
#[derive(Debug, Default)]
pub(crate) struct Following {
    /// The collection after which the objects are where they are said to be. `None`: not known yet.
    at: Option<u32>,
    /// The collection of the second graph. `None`: not known yet.
    end: Option<u32>,
    /// Address now, and address in the first graph. `None`: not read yet.
    objects: Option<Followed<u64>>,
    /// Objects that no collection moves or frees, such as literal strings.
    frozen: Vec<u64>,
    /// Whether the collections wait, because it is not known yet which is the last one.
    holds: bool,
    /// Collections that came before their turn.
    waiting: VecDeque<Gc>,
    waiting_ranges: usize,
    gave_up: Option<GaveUp>,
    /// How many collections were followed.
    collections: u64,
}

impl Following {
    /// The number of the collection of the first graph. Earlier ones do not matter.
    pub(crate) fn begin(&mut self, gc_number: u32) {
        self.at = Some(gc_number);
    }

    /// The objects of the first graph. `frozen`: those that no collection moves or frees.
    pub(crate) fn objects(&mut self, mut addresses: Vec<u64>, frozen: Vec<u64>) {
        self.frozen = frozen;
        // This sort is fast for ascending parts, which these are.
        addresses.sort();
        addresses.dedup();
        self.objects = Some(Followed::new(addresses.into_iter().map(|address| (address, address)).collect()));
        self.go_on();
    }

    /// The next graph was asked for, so any collection may be the last one.
    pub(crate) fn hold(&mut self) {
        self.holds = true;
    }

    /// The number of the collection of the second graph.
    pub(crate) fn end(&mut self, gc_number: u32) {
        self.end = Some(gc_number);
        self.holds = false;
        self.go_on();
    }

    /// The next record, in the order in which records are finished.
    pub(crate) fn gc(&mut self, gc: &Gc) {
        let early = self.at.zip(gc.number).is_some_and(|(at, number)| number <= at);
        let late = self.end.zip(gc.number).is_some_and(|(end, number)| number > end);
        if early || late || self.gave_up.is_some() {
            return;
        }
        let ranges = |gc: &Gc| {
            let moved = gc.moved.as_ref().and_then(|moved| moved.ranges.as_ref()).map_or(0, Vec::len);
            moved + gc.surviving.as_ref().and_then(|kept| kept.ranges.as_ref()).map_or(0, Vec::len)
        };
        self.waiting_ranges = self.waiting_ranges.saturating_add(ranges(gc).saturating_add(1));
        if self.waiting_ranges > MAX_WAITING {
            self.give_up(gc.number, "too much moved while a graph was being read");
            return;
        }
        self.waiting.push_back(Gc {
            number: gc.number,
            generation: gc.generation,
            kind: gc.kind,
            incomplete: gc.incomplete,
            missing: gc.missing,
            moved: gc.moved.clone(),
            surviving: gc.surviving.clone(),
            start_bounds: gc.start_bounds.clone(),
            ..Gc::unknown(gc.level)
        });
        self.go_on();
    }

    /// Follows the objects through the collections that wait.
    fn go_on(&mut self) {
        let (Some(mut at), Some(_), false) = (self.at, &self.objects, self.holds) else { return };
        while let Some(gc) = self.waiting.pop_front() {
            let is_late = self.end.zip(gc.number).is_some_and(|(end, number)| number > end);
            if is_late || gc.number.is_some_and(|number| number <= at) {
                continue;
            }
            if let Err(why) = self.follow(&gc, at) {
                self.give_up(gc.number.or(at.checked_add(1)), why);
                return;
            }
            at += 1;
            self.at = Some(at);
        }
        self.waiting_ranges = 0;
    }

    fn follow(&mut self, gc: &Gc, at: u32) -> Result<(), &'static str> {
        if gc.number != at.checked_add(1) {
            return Err("it was not seen");
        }
        if !tells_all(gc) {
            return Err("not all of its moves were seen");
        }
        let bounds = gc.start_bounds.as_ref().ok_or("its generations were not seen")?;
        let mut doubts = 0_u64;
        let objects = self.objects.as_mut().ok_or("the first graph was not read")?;
        if !objects.carry(gc, bounds, |_| doubts += 1) || doubts > 0 {
            return Err("its moves do not fit the objects");
        }
        self.collections += 1;
        Ok(())
    }

    fn give_up(&mut self, gc_number: Option<u32>, why: &'static str) {
        self.gave_up.get_or_insert(GaveUp { gc_number, why });
        self.objects = Some(Followed::default());
        self.waiting = VecDeque::new();
    }

    /// How many collections were followed.
    pub(crate) fn collections(&self) -> u64 {
        self.collections
    }

    /// The objects of the first graph that are still there at the second: address now and address then, by rising address
    /// now.
    pub(crate) fn finish(&mut self) -> Result<Vec<(u64, u64)>, GaveUp> {
        if let Some(gave_up) = self.gave_up.take() {
            return Err(gave_up);
        }
        let (Some(at), Some(end), Some(objects)) = (self.at, self.end, self.objects.take()) else {
            return Err(GaveUp { gc_number: None, why: "the collection of a graph has no number" });
        };
        if at != end {
            return Err(GaveUp { gc_number: at.checked_add(1), why: "it was not seen" });
        }
        let mut objects = objects.into_objects();
        objects.extend(self.frozen.iter().map(|address| (*address, *address)));
        objects.sort();
        objects.dedup_by_key(|(address, _)| *address);
        Ok(objects)
    }
}

#[cfg(test)]
mod tests {
    use super::super::generation::Generation;
    use super::super::generation_bounds::{GenerationBounds, GenerationRange};
    use super::super::record::{Kind, Level, Moved, MovedRange, Surviving, SurvivingRange};
    use super::*;

    /// A collection of all below 10,000 that moves the object at `from` and keeps the one at `kept`.
    fn gc(number: u32, from: u64, to: u64, kept: u64) -> Gc {
        let range = MovedRange { old: from, new: to, bytes: 8, from: None, to: None };
        let kept = SurvivingRange { start: kept, bytes: 8, generation: None };
        let bounds = GenerationRange { start: 0, bytes: 10_000, generation: Generation::GEN0 };
        Gc {
            number: Some(number),
            generation: Some(Generation::GEN0),
            kind: Some(Kind::Blocking),
            moved: Some(Moved { ranges: Some(vec![range]), ..Moved::default() }),
            surviving: Some(Surviving { ranges: Some(vec![kept]), ..Surviving::default() }),
            start_bounds: Some(GenerationBounds::new(vec![bounds])),
            ..Gc::unknown(Level::Roots)
        }
    }

    #[test]
    fn from_one_graph_to_the_other() {
        let mut following = Following::default();
        following.gc(&gc(4, 8, 800, 16));
        following.begin(5);
        following.gc(&gc(5, 8, 800, 16));
        // It comes before the first graph was read.
        following.gc(&gc(6, 8, 80, 16));
        following.objects(vec![16, 8, 24], vec![90_000]);
        following.gc(&gc(7, 16, 160, 80));
        following.hold();
        following.gc(&gc(8, 80, 16, 160));
        // It comes before it is known which one was the last.
        following.gc(&gc(9, 16, 320, 160));
        following.end(8);
        following.gc(&gc(10, 0, 0, 0));
        assert_eq!(following.collections(), 3);
        assert_eq!(following.finish(), Ok(vec![(16, 8), (160, 16), (90_000, 90_000)]));
    }

    #[test]
    fn not_from_one_that_is_missing() {
        type Cut = fn(&mut Gc);
        let cuts: [(Cut, &str); 5] = [
            (|gc| gc.number = Some(8), "it was not seen"),
            (|gc| gc.kind = Some(Kind::Background), "not all of its moves were seen"),
            (|gc| gc.missing.ranges = 1, "not all of its moves were seen"),
            (|gc| gc.start_bounds = None, "its generations were not seen"),
            (|gc| gc.start_bounds = Some(GenerationBounds::default()), "its moves do not fit the objects"),
        ];
        for (cut, why) in cuts {
            let mut following = Following::default();
            following.begin(5);
            following.objects(vec![8, 24], vec![]);
            following.gc(&gc(6, 8, 80, 24));
            let mut seven = gc(7, 80, 8, 32);
            cut(&mut seven);
            following.gc(&seven);
            following.end(8);
            let expected = GaveUp { gc_number: seven.number, why };
            assert_eq!(following.finish(), Err(expected));
        }
        let mut following = Following::default();
        following.begin(5);
        following.objects(vec![8], vec![]);
        following.end(6);
        let expected = GaveUp { gc_number: Some(6), why: "it was not seen" };
        assert_eq!(following.finish(), Err(expected));
    }
}
