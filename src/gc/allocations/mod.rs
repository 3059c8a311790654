//! What allocates: the runtime's samples of allocated objects, by type and by method.
//!
//! Runtimes before .NET 10 send an AllocationTick each time a heap has given out more than 100 KiB of one kind (small,
//! large, pinned) since the last one. It tells these bytes, and the object that asked for the last of them. So the sum of
//! all is exact, and a type's share is estimated from the share of the ticks. The ticks are not random: a program that
//! allocates in step with them is misjudged. A large object of 100 KiB or more always has a tick of its own.
//!
//! .NET 10 sends an AllocationSampled for each object in which a byte was drawn, where each byte is drawn with the
//! probability 1 in 102,400. An object of `s` bytes is seen with the probability `p = 1 - exp(-s / 102400)`, so it
//! stands for `1 / p` objects, and for `s / p` bytes.

mod estimate;
mod sample;
mod summary;
mod totals;

pub(crate) use estimate::{Estimate, Source};
pub(crate) use summary::{AllocationSummary, BeforeRows, MethodRow, Row, TypeRow};
pub(crate) use totals::{Allocations, OTHERS_NAME, SinceLast, TypeShare};

/// Whether an event is a sample of allocations.
pub(crate) fn is_sample(id: u32) -> bool {
    matches!(id, sample::TICK | sample::SAMPLED)
}
