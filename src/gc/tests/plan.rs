//! What happens in a made-up process: generated, and small where something fails.

use proptest::collection::vec;
use proptest::prelude::*;

/// One collection's work.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) generation: u8,
    pub(super) reason: u32,
    pub(super) compacting: bool,
    pub(super) loh_compacting: bool,
    /// Lengths of the blocks that survive, by heap.
    pub(super) blocks: Vec<Vec<u16>>,
    /// Makes the figures that mean nothing here different from each other.
    pub(super) seed: u16,
}

/// A background collection and what runs meanwhile.
#[derive(Debug, Clone)]
pub(super) struct Background {
    pub(super) work: Work,
    /// An ephemeral collection in its first stop.
    pub(super) first: Option<Work>,
    /// Foreground collections before its final mark, before its end, and after its end but before its last event.
    pub(super) during: [Option<Work>; 3],
}

/// The next thing to happen.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// A blocking collection.
    Blocking(Work),
    /// Two in one stop.
    Pair(Work, Work),
    Background(Background),
    /// Announced as a background collection, and done in its first stop.
    Turned(Work),
    /// A stop in which nothing is collected.
    Stop {
        reason: u32,
    },
}

/// An event is written late, or a thread requests a stop early.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    /// Which event, of all that can be shifted.
    pub(super) which: u16,
    /// Past how many events of other threads.
    pub(super) by: u8,
}

/// A process.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) server: bool,
    pub(super) heaps: usize,
    /// The keyword for survivors and moves is on.
    pub(super) ranges: bool,
    /// A runtime since .NET 5: there is a pinned object heap.
    pub(super) pinned_heap: bool,
    pub(super) pointer_size: u32,
    pub(super) steps: Vec<Step>,
    pub(super) shifts: Vec<Shift>,
}

fn work(heaps: usize, generations: impl Strategy<Value = u8>) -> impl Strategy<Value = Work> {
    let blocks = vec(vec(1_u16..2000, 1..8), heaps);
    (generations, 0_u32..18, any::<bool>(), any::<bool>(), blocks, any::<u16>()).prop_map(
        |(generation, reason, compacting, loh_compacting, blocks, seed)| Work {
            generation,
            reason,
            compacting,
            loh_compacting: loh_compacting && generation == 2,
            blocks,
            seed,
        },
    )
}

fn background(heaps: usize) -> impl Strategy<Value = Background> {
    let ephemeral = move || proptest::option::weighted(0.3, work(heaps, 0..=1_u8));
    (work(heaps, Just(2)), ephemeral(), [ephemeral(), ephemeral(), ephemeral()])
        .prop_map(|(work, first, during)| Background { work, first, during })
}

fn step(heaps: usize) -> impl Strategy<Value = Step> {
    let any_work = move || work(heaps, 0..=2_u8);
    prop_oneof![
        4 => any_work().prop_map(Step::Blocking),
        1 => (any_work(), any_work()).prop_map(|(one, two)| Step::Pair(one, two)),
        4 => background(heaps).prop_map(Step::Background),
        1 => work(heaps, Just(2)).prop_map(Step::Turned),
        2 => prop_oneof![Just(0), Just(1), Just(5)].prop_map(|reason| Step::Stop { reason }),
    ]
}

/// Any process.
pub(super) fn plans() -> impl Strategy<Value = Plan> {
    (any::<bool>(), 1..4_usize).prop_flat_map(|(server, heaps)| {
        let heaps = if server { heaps } else { 1 };
        let shift = (any::<u16>(), 0..30_u8).prop_map(|(which, by)| Shift { which, by });
        let pointer_size = prop_oneof![4 => Just(8), 1 => Just(4)];
        (any::<bool>(), any::<bool>(), pointer_size, vec(step(heaps), 1..6), vec(shift, 0..8)).prop_map(
            move |(ranges, pinned_heap, pointer_size, steps, shifts)| Plan {
                server,
                heaps,
                ranges,
                pinned_heap,
                pointer_size,
                steps,
                shifts,
            },
        )
    })
}
