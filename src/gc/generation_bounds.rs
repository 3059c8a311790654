//! The generation of an address, from the bounds of all generations.

use super::generation::Generation;

/// A range of addresses that belongs to one generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GenerationRange {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) generation: Generation,
}

impl GenerationRange {
    /// An empty range.
    pub(crate) const NONE: GenerationRange =
        GenerationRange { start: 0, bytes: 0, generation: Generation::FROZEN };

    /// Whether an address lies in it.
    #[inline]
    pub(crate) fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.bytes
    }
}

/// The ranges of all generations at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GenerationBounds {
    sorted: Vec<GenerationRange>,
    last_hit: usize,
}

impl GenerationBounds {
    /// From ranges in any order.
    pub(crate) fn new(mut ranges: Vec<GenerationRange>) -> GenerationBounds {
        // The runtime sends one generation after the other, each mostly in order, for which this sort is fast.
        ranges.sort();
        GenerationBounds { sorted: ranges, last_hit: 0 }
    }

    /// Whether no range is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The ranges, by rising start.
    pub(crate) fn ranges(&self) -> &[GenerationRange] {
        &self.sorted
    }

    /// The range that holds an address, or [`GenerationRange::NONE`].
    pub(crate) fn bound(&mut self, address: u64) -> GenerationRange {
        match self.generation(address) {
            Some(generation) => GenerationRange { generation, ..self.sorted[self.last_hit] },
            None => GenerationRange::NONE,
        }
    }

    /// The generation of an address; `None` outside all ranges. The last range that was found is tried first.
    pub(crate) fn generation(&mut self, address: u64) -> Option<Generation> {
        let holds = |b: &GenerationRange| b.holds(address);
        if !self.sorted.get(self.last_hit).is_some_and(holds) {
            self.last_hit = self.sorted.partition_point(|b| b.start <= address).checked_sub(1)?;
        }
        self.sorted
            .get(self.last_hit)
            .filter(|b| holds(b) && b.generation < Generation::FROZEN)
            .map(|b| b.generation)
    }
}

/// Ranges that are kept. A heap of two terabytes has this many regions.
const MAX_BOUNDS: usize = 1 << 19;
/// How often a table is sorted while its rows still come. After that it is sorted only when it has grown by a quarter,
/// because each sort takes time in proportion to the whole table.
const PARTS: u32 = 16;

/// A table whose rows one thread sends, while other threads may send other events.
#[derive(Debug, Default)]
pub(crate) struct IncomingBounds {
    thread: u64,
    /// The thread has sent another event since: the next row begins another table.
    finished: bool,
    /// Rows have come since the table was taken last.
    fresh: bool,
    bounds: Vec<GenerationRange>,
    /// How often the table was taken, and its length the last time.
    taken: (u32, usize),
    /// Ranges beyond [`MAX_BOUNDS`].
    left_out: u64,
}

impl IncomingBounds {
    /// Adds a row. Returns whether it directly follows another row.
    pub(crate) fn add(&mut self, thread: u64, bound: GenerationRange) -> bool {
        if self.finished || self.thread != thread {
            *self = IncomingBounds { thread, left_out: self.left_out, ..IncomingBounds::default() };
        }
        if self.bounds.len() < MAX_BOUNDS {
            self.bounds.push(bound);
        } else {
            self.left_out += 1;
        }
        std::mem::replace(&mut self.fresh, true)
    }

    /// A thread has sent another event. Returns the table so far, if it has grown.
    pub(crate) fn interrupted(&mut self, thread: u64) -> Option<GenerationBounds> {
        self.finished |= self.thread == thread;
        let (parts, last) = self.taken;
        let due = self.finished || parts < PARTS || self.bounds.len() - last > last / 4;
        if !(due && std::mem::take(&mut self.fresh)) {
            return None;
        }
        self.taken = (parts.saturating_add(1), self.bounds.len());
        // The table is complete.
        let bounds = if self.finished { std::mem::take(&mut self.bounds) } else { self.bounds.clone() };
        Some(GenerationBounds::new(bounds))
    }

    /// How many ranges were left out since the last call.
    pub(crate) fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that are allocated for `n` bounds of one thread, with another thread's event after each.
    fn allocated(n: u64) -> u64 {
        let info = allocation_counter::measure(|| {
            let mut table = IncomingBounds::default();
            for start in 0..n {
                table.add(1, GenerationRange { start, bytes: 1, generation: Generation::GEN0 });
                table.interrupted(2);
            }
            let last = table.interrupted(1).expect("it has grown since");
            assert_eq!(last.sorted.len() as u64, n, "in the end all are there");
        });
        info.bytes_total
    }

    #[test]
    fn a_table_that_is_interrupted_again_and_again_is_not_copied_each_time() {
        let (once, twice) = (allocated(20_000), allocated(40_000));
        assert!(once < 16 * 20_000 * size_of::<GenerationRange>() as u64, "{once} bytes");
        assert!(twice <= 5 * once / 2, "{once} and {twice} bytes");
    }

    #[test]
    fn bounds_are_bounded_and_those_left_out_are_counted() {
        let mut table = IncomingBounds::default();
        let most = MAX_BOUNDS as u64;
        for start in 0..most + 7 {
            table.add(1, GenerationRange { start, bytes: 1, generation: Generation::GEN0 });
        }
        assert_eq!((table.bounds.len() as u64, table.take_left_out()), (most, 7));
    }

    #[test]
    fn lookup() {
        let b =
            |start, bytes, generation| GenerationRange { start, bytes, generation: Generation(generation) };
        let mut t = GenerationBounds::new(vec![b(300, 50, 2), b(100, 100, 0), b(400, 10, 5)]);
        let hits: Vec<_> =
            [99, 100, 199, 200, 300, 349, 350, 405, 150].map(|a| t.generation(a).map(|g| g.0)).into();
        assert_eq!(hits, [None, Some(0), Some(0), None, Some(2), Some(2), None, None, Some(0)]);
        assert_eq!(GenerationBounds::default().generation(7), None);
    }
}
