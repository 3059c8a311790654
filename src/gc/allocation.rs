//! Bytes that a program allocates between its collections.
//!
//! What is in use before a collection (its size without free space), less what was in use after the one before it, has been
//! allocated in between. Free space can only become less in between: what the runtime counts beyond that (server GC, while a
//! background collection runs) are gaps in what was allocated. That is exact for gen0 up to the unused ends of the threads' allocation contexts. Large and pinned
//! objects are also allocated while a background collection frees others: what is in use at its end and did not survive its
//! marking is new.

use std::collections::VecDeque;

use super::record::{Allocated, Gc, GenerationStats, Kind};

/// In the order of `Generation::COLLECTED`: gen0, and the heaps of large and of pinned objects. Objects are allocated in
/// these only.
const ALLOCATED_IN: [usize; 3] = [0, 3, 4];
const GEN0: usize = 0;
const LARGE: usize = 1;
/// Blocking collections that can end while one background collection runs, at most; of older ones nothing is needed.
const MAX_KEPT: usize = 4096;

/// What was in use after a collection, and all that had been allocated by then, for [`ALLOCATED_IN`].
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    number: u32,
    used: [u64; 3],
    free: [u64; 3],
    total: [u64; 3],
}

/// Follows the collections of one process.
#[derive(Debug, Default)]
pub(crate) struct Allocation {
    /// The last blocking collections, the newest last. Empty where one was missed.
    points: VecDeque<Point>,
    /// All until then is counted, in ns since the watch began.
    since_ns: Option<u64>,
}

impl Allocation {
    /// Takes in the next finished collection. `None`: it cannot be known, because a size or the collection before is
    /// not.
    pub(crate) fn add(&mut self, gc: &Gc) -> Option<Allocated> {
        let (since_ns, end_ns) = (self.since_ns.unwrap_or(0), known_until(gc));
        let Some(each) = self.added(gc) else {
            match gc.kind {
                // Gen0 is as it was; of the others the next collection tells.
                Some(Kind::Background) if gc.complete() => {
                    if let Some(last) = self.points.back_mut() {
                        last.used = [last.used[GEN0], u64::MAX, u64::MAX];
                    }
                }
                _ => {
                    *self = Allocation::default();
                    if gc.complete() {
                        self.start(gc);
                    }
                }
            }
            return None;
        };
        self.since_ns = self.since_ns.max(end_ns);
        Some(Allocated {
            bytes: each.into_iter().fold(0, u64::saturating_add),
            large_bytes: each[LARGE],
            in_ns: end_ns?.saturating_sub(since_ns),
        })
    }

    fn start(&mut self, gc: &Gc) {
        let sizes =
            figures(gc, GenerationStats::used_after_bytes).zip(figures(gc, |g| g.fragmentation_bytes));
        if let Some(((used, free), number)) = sizes.zip(gc.number) {
            self.points.push_back(Point { number, used, free, total: [0; 3] });
            self.since_ns = known_until(gc);
        }
    }

    fn push(&mut self, point: Point) {
        self.points.push_back(point);
        if self.points.len() > MAX_KEPT {
            self.points.pop_front();
        }
    }

    fn added(&mut self, gc: &Gc) -> Option<[u64; 3]> {
        if !gc.complete() {
            return None;
        }
        let sizes = figures(gc, |g| g.size_before_bytes)?;
        let free_before = figures(gc, |g| g.free_before_bytes)?;
        let after = figures(gc, GenerationStats::used_after_bytes)?;
        let free = figures(gc, |g| g.fragmentation_bytes)?;
        let before = |place: usize, last: &Point| {
            let free = free_before[place].min(last.free[place]);
            sizes[place].saturating_sub(free).saturating_sub(last.used[place])
        };
        let number = gc.number?;
        if number == 1 {
            // Nothing was in use before the program began.
            self.push(Point::default());
        }
        let last = *self.points.back()?;
        let mut point = Point { number, used: after, free, total: last.total };
        if gc.kind == Some(Kind::Background) {
            let start = *self.points.iter().rev().find(|point| point.number < number)?;
            for (place, index) in ALLOCATED_IN.into_iter().enumerate().skip(1) {
                let survived = gc.generations.get(index)?.promoted_bytes?;
                let by_start = start.total[place].saturating_add(before(place, &start));
                let by_end = by_start.saturating_add(after[place].saturating_sub(survived));
                point.total[place] = last.total[place].max(by_end);
            }
            // It leaves gen0 as it is.
            (point.used[GEN0], point.free[GEN0]) = (last.used[GEN0], last.free[GEN0]);
            point.number = last.number;
            *self.points.back_mut()? = point;
        } else {
            for (place, total) in point.total.iter_mut().enumerate() {
                *total = total.saturating_add(before(place, &last));
            }
            self.push(point);
        }
        Some(std::array::from_fn(|place| point.total[place].saturating_sub(last.total[place])))
    }
}

/// The sizes before a blocking collection are those at its start; a background collection tells those at its end.
fn known_until(gc: &Gc) -> Option<u64> {
    match gc.kind {
        Some(Kind::Background) => gc.at_ns.zip(gc.gc_ns).map(|(at, ns)| at.saturating_add(ns)),
        _ => gc.at_ns,
    }
}

fn figures(gc: &Gc, figure: fn(&GenerationStats) -> Option<u64>) -> Option<[u64; 3]> {
    let [small, large, pinned] = ALLOCATED_IN.map(|index| gc.generations.get(index).and_then(figure));
    Some([small?, large?, pinned?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::Level;

    /// Used bytes before and after in gen0 and in the large object heap, and what survived there.
    fn gc(number: u32, kind: Kind, gen0: [u64; 2], large: [u64; 2], survived: u64) -> Gc {
        let stats = |[before, after]: [u64; 2], survived| GenerationStats {
            size_before_bytes: Some(before + 7),
            free_before_bytes: Some(7),
            size_after_bytes: Some(after + 9),
            fragmentation_bytes: Some(9),
            promoted_bytes: Some(survived),
            ..GenerationStats::default()
        };
        let mut gc = Gc::unknown(Level::Basic);
        gc.number = Some(number);
        gc.kind = Some(kind);
        gc.at_ns = Some(u64::from(number) * 10);
        gc.gc_ns = Some(15);
        gc.generations = vec![
            stats(gen0, 0),
            stats([0; 2], 0),
            stats([0; 2], 0),
            stats(large, survived),
            stats([0; 2], 0),
        ];
        gc
    }

    #[test]
    fn bytes_between_collections_are_counted_once() {
        let mut allocation = Allocation::default();
        let mut add = |gc: Gc| allocation.add(&gc).map(|a| (a.bytes, a.in_ns));
        // Before the first one there was no free space: its gaps were allocated too.
        assert_eq!(add(gc(1, Kind::Blocking, [100, 0], [50, 50], 0)), Some((150 + 3 * 7, 10)));
        // While number 2 runs in the background, number 3 finds 30 new large bytes; at the end 40 are new in all.
        assert_eq!(add(gc(3, Kind::Foreground, [80, 5], [90, 90], 0)), Some((80 + 40, 20)));
        assert_eq!(add(gc(2, Kind::Background, [1, 60], [60, 75], 35)), Some((10, 5)));
        assert_eq!(add(gc(4, Kind::Blocking, [25, 0], [75, 0], 0)), Some((20, 5)));
    }

    #[test]
    fn a_gap_is_not_counted() {
        let mut allocation = Allocation::default();
        let mut add = |gc: Gc| allocation.add(&gc).map(|a| (a.bytes, a.in_ns));
        assert_eq!(add(gc(7, Kind::Blocking, [100, 10], [0, 0], 0)), None);
        assert_eq!(add(gc(8, Kind::Blocking, [60, 0], [0, 0], 0)), Some((50, 10)));
        let mut torn = gc(9, Kind::Blocking, [60, 0], [0, 0], 0);
        torn.generations.clear();
        assert_eq!(add(torn), None);
        assert_eq!(add(gc(10, Kind::Blocking, [60, 20], [0, 0], 0)), None);
        assert_eq!(add(gc(11, Kind::Blocking, [60, 0], [0, 0], 0)), Some((40, 10)));
    }
}
