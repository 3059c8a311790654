//! Samples added up: over the watch, since the last collection, and before collections with the same reason.

use std::collections::BTreeMap;

use super::estimate::{Estimate, Source};
use super::sample::{self, Heap};
use crate::gc::callers::StackNumber;
use crate::gc::generation::Generation;
use crate::gc::map::HashMap;
use crate::gc::names::{Name, type_name};

/// Types that are kept.
const MAX_TYPES: usize = 1 << 13;
/// Bytes of a type's name in the events. Longer ones are cut.
const MAX_NAME_BYTES: usize = 4096;
/// Rows that are kept of each kind of totals.
const MAX_ROWS: usize = 1 << 15;
/// Pairs of generation and reason. The runtime has less.
const MAX_REASONS: usize = 64;
/// Types in the record of a collection.
const MAX_SHARES: usize = 5;

/// The number of a type; [`OTHERS`] for those that are not kept one by one.
pub(super) type TypeNumber = u32;
pub(super) const OTHERS: TypeNumber = u32::MAX;
/// Their name.
pub(crate) const OTHERS_NAME: &str = "(others)";

/// What samples are added up by. `stack`: `None` where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) heap: Heap,
    pub(super) type_number: TypeNumber,
    pub(super) stack: Option<StackNumber>,
}

/// A bounded number of rows. What finds no room is in the row of the other types, by heap.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows(pub(super) HashMap<Key, Estimate>);

impl Rows {
    pub(super) fn add(&mut self, key: Key, estimate: &Estimate) {
        let full = self.0.len() >= MAX_ROWS && !self.0.contains_key(&key);
        let key = if full { Key { type_number: OTHERS, stack: None, ..key } } else { key };
        self.0.entry(key).or_default().add(estimate);
    }
}

/// A type's part in what was allocated since the last collection.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TypeShare {
    pub(crate) type_name: Name,
    pub(crate) heap: Heap,
    pub(crate) estimate: Estimate,
}

/// Samples since the last collection.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SinceLast {
    pub(crate) all: Estimate,
    /// Those of large objects.
    pub(crate) large: Estimate,
    /// The types that took the most, the most first.
    pub(crate) types: Vec<TypeShare>,
}

/// Before collections of one generation that had one reason.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) gcs: u64,
    pub(super) rows: Rows,
}

/// All samples of a watch.
#[derive(Debug, Default)]
pub(crate) struct Allocations {
    pub(super) source: Option<Source>,
    numbers: HashMap<Box<[u8]>, TypeNumber>,
    pub(super) types: Vec<Name>,
    pub(super) rows: Rows,
    since_last: Rows,
    /// By generation and the runtime's code of the reason.
    pub(super) before: BTreeMap<(Generation, u32), Before>,
}

impl Allocations {
    /// Takes in an event, if it is a sample.
    pub(crate) fn event(&mut self, id: u32, payload: &[u8], pointer_size: u32, stack: Option<StackNumber>) {
        let Some(sample) = sample::decode(id, payload, pointer_size) else { return };
        let ticks = sample.since_last_bytes.is_some();
        let source = *self.source.get_or_insert(if ticks { Source::Ticks } else { Source::Sampled });
        if ticks != (source == Source::Ticks) {
            // No runtime sends both.
            return;
        }
        let key = Key { heap: sample.heap, type_number: self.type_number(sample.type_name), stack };
        let estimate = Estimate::of(&sample);
        self.rows.add(key, &estimate);
        self.since_last.add(key, &estimate);
    }

    fn type_number(&mut self, name: &[u8]) -> TypeNumber {
        let name = name.get(..MAX_NAME_BYTES).unwrap_or(name);
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        if self.types.len() >= MAX_TYPES {
            return OTHERS;
        }
        let units: Vec<u16> =
            name.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
        let number = self.types.len() as TypeNumber;
        self.types.push(type_name(&String::from_utf16_lossy(&units)));
        self.numbers.insert(name.into(), number);
        number
    }

    /// A collection starts. Returns what was allocated since the one before; `None`: there are no samples in this watch.
    pub(crate) fn collection(&mut self, generation: Generation, reason: u32) -> Option<SinceLast> {
        self.source?;
        let since_last = std::mem::take(&mut self.since_last);
        let (mut sum, mut types) = (SinceLast::default(), HashMap::<_, Estimate>::default());
        let room = self.before.len() < MAX_REASONS || self.before.contains_key(&(generation, reason));
        let mut before = room.then(|| self.before.entry((generation, reason)).or_default());
        if let Some(before) = &mut before {
            before.gcs += 1;
        }
        for (key, estimate) in &since_last.0 {
            sum.all.add(estimate);
            if key.heap == Heap::Large {
                sum.large.add(estimate);
            }
            types.entry((key.heap, key.type_number)).or_default().add(estimate);
            if let Some(before) = &mut before {
                before.rows.add(*key, estimate);
            }
        }
        let mut types: Vec<((Heap, TypeNumber), Estimate)> = types.into_iter().collect();
        types.sort_by(|(a, x), (b, y)| y.bytes.total_cmp(&x.bytes).then(a.cmp(b)));
        types.truncate(MAX_SHARES);
        let share =
            |((heap, number), estimate)| TypeShare { type_name: self.type_of(number), heap, estimate };
        sum.types = types.into_iter().map(share).collect();
        Some(sum)
    }

    pub(super) fn type_of(&self, number: TypeNumber) -> Name {
        self.types.get(number as usize).cloned().unwrap_or_else(|| OTHERS_NAME.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(name: &str) -> Vec<u8> {
        let mut out = vec![0; 14];
        name.encode_utf16().chain([0]).for_each(|unit| out.extend(unit.to_le_bytes()));
        out.extend([0; 8]);
        out.extend(24_u64.to_le_bytes());
        out.extend([0; 8]);
        out
    }

    #[test]
    fn types_and_rows_are_bounded_and_nothing_is_left_out() {
        let mut allocations = Allocations::default();
        let turns = 4 * MAX_TYPES as u64;
        let info = allocation_counter::measure(|| {
            for n in 0..turns {
                allocations.event(303, &sampled(&format!("Type{n}")), 8, None);
            }
        });
        assert!(info.bytes_max < 32 << 20, "{} bytes", info.bytes_max);
        let seen: u64 = allocations.rows.0.values().map(|estimate| estimate.samples).sum();
        assert_eq!((seen, allocations.types.len()), (turns, MAX_TYPES));
        let others = Key { heap: Heap::Small, type_number: OTHERS, stack: None };
        assert_eq!(allocations.rows.0[&others].samples, turns - MAX_TYPES as u64);
    }

    #[test]
    fn each_collection_has_what_was_allocated_before_it() {
        let mut allocations = Allocations::default();
        assert_eq!(allocations.collection(Generation::GEN0, 0), None);
        for (name, times) in [("System.String", 2), ("Demo.Order", 3)] {
            (0..times).for_each(|_| allocations.event(303, &sampled(name), 8, None));
        }
        let first = allocations.collection(Generation::GEN0, 0).expect("there are samples");
        let names: Vec<(&str, u64)> =
            first.types.iter().map(|share| (&*share.type_name, share.estimate.samples)).collect();
        assert_eq!(names, [("Demo.Order", 3), ("string", 2)]);
        assert_eq!(allocations.collection(Generation::GEN2, 4), Some(SinceLast::default()));
        assert_eq!(allocations.before[&(Generation::GEN0, 0)].gcs, 1);
    }
}
