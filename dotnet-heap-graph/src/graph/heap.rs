//! The graph: what is known of objects, classes and roots without reading the file again.

use std::fmt;
use std::ops::Range;

use super::addresses::Addresses;
use super::class::Class;
use super::completeness::Completeness;
use super::extra::More;
use super::fill::Columns;
use super::generation::{Generation, Generations};
use super::limits::Limits;
use super::names::AllNames;
use super::reference::Edge;
use super::root::Root;
use super::runs::Runs;
use crate::format::{ClassRecord, RangeRecord, Reader, StaticName};
use crate::parallel;

/// All objects of a file, with their references and roots, in memory.
///
/// Objects have numbers from 0 in the order of their addresses. Functions that take the number of an object give the
/// answer for an empty object of the first class if there is none with that number; none of them panics.
pub struct Graph {
    pub(crate) reader: Reader,
    pub(crate) addresses: Addresses,
    pub(crate) columns: Columns,
    pub(crate) class_records: Vec<ClassRecord>,
    pub(crate) names: AllNames,
    pub(crate) roots: Vec<Root>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) more: Vec<More>,
    pub(crate) ranges: Vec<RangeRecord>,
    pub(crate) generations: Generations,
    pub(crate) runs: Runs,
    pub(crate) completeness: Completeness,
    pub(crate) limits: Limits,
}

impl Graph {
    /// How many objects there are.
    pub fn len(&self) -> u32 {
        self.addresses.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many references there are, including those that are in no field.
    pub fn reference_count(&self) -> u64 {
        self.columns.targets.len() as u64
    }

    /// The class of an object: its place in [`classes`](Self::classes).
    #[inline]
    pub fn class_of(&self, object: u32) -> u32 {
        self.columns.classes.get(object as usize).copied().unwrap_or_default()
    }

    /// The size of an object in bytes.
    #[inline]
    pub fn size_bytes(&self, object: u32) -> u64 {
        match self.columns.sizes.get(object as usize) {
            Some(&u16::MAX) => self.large_size_bytes(object),
            Some(&units) => u64::from(units) * 8,
            None => 0,
        }
    }

    fn large_size_bytes(&self, object: u32) -> u64 {
        let sizes = &self.columns.large_sizes;
        let found = sizes.binary_search_by_key(&object, |(object, _)| *object).ok();
        found.and_then(|found| sizes.get(found)).map_or(0, |(_, units)| units * 8)
    }

    /// The objects that an object refers to, in the order of the references' places; an object that is referred to twice
    /// comes twice. Those of [`edges`](Self::edges) are at the end.
    #[inline]
    pub fn references(&self, object: u32) -> &[u32] {
        let (start, end) = self.columns.offsets.range(object);
        self.columns.targets.get(start..end).unwrap_or_default()
    }

    /// The address of an object. This costs a search, unlike [`object_at`](Self::object_at).
    pub fn address(&self, object: u32) -> u64 {
        self.addresses.address(object)
    }

    /// The addresses of all objects, in their order.
    pub fn addresses_in_order(&self) -> Vec<u64> {
        self.addresses.all()
    }

    /// The object that starts at an address.
    pub fn object_at(&self, address: u64) -> Option<u32> {
        self.addresses.number(address)
    }

    /// The object that has the byte at an address.
    pub fn object_around(&self, address: u64) -> Option<u32> {
        let behind = self.addresses.count_below(address.saturating_add(1));
        let object = behind.checked_sub(1)?;
        (address - self.address(object) < self.size_bytes(object)).then_some(object)
    }

    /// All classes, by their indexes.
    pub fn classes(&self) -> &[Class] {
        &self.names.classes
    }

    /// A class by its index.
    pub fn class(&self, index: u32) -> Option<&Class> {
        self.names.classes.get(index as usize)
    }

    /// All roots, weak ones too.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// The roots that refer to an object. This looks at all roots.
    pub fn roots_of(&self, object: u32) -> impl Iterator<Item = &Root> {
        self.roots.iter().filter(move |root| root.object == object)
    }

    /// All references that are in no field, in the order of the objects that have them. They are also among
    /// [`references`](Self::references).
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Those references of one object that are in no field.
    pub fn edges_of(&self, object: u32) -> &[Edge] {
        let start = self.edges.partition_point(|edge| edge.from < object);
        let end = self.edges.partition_point(|edge| edge.from <= object);
        self.edges.get(start..end).unwrap_or_default()
    }

    /// Static fields, in the order of the addresses of their references.
    pub fn statics(&self) -> &[StaticName] {
        &self.names.statics
    }

    /// The static field whose reference is at an address.
    pub fn static_at(&self, address: u64) -> Option<&StaticName> {
        self.names.static_at(address)
    }

    /// The name of a method, as in [`Root::id`].
    pub fn method_name(&self, id: u64) -> Option<&str> {
        self.names.methods.get(&id).map(String::as_str)
    }

    /// The part of the heap where an object is. This costs a search.
    pub fn generation_of(&self, object: u32) -> Generation {
        self.generations.of(object)
    }

    /// Objects with consecutive numbers and one generation; together all.
    pub fn generation_parts(&self) -> impl Iterator<Item = (Range<u32>, Generation)> {
        self.generations.parts(self.len())
    }

    /// Where the generations are.
    pub fn ranges(&self) -> &[RangeRecord] {
        &self.ranges
    }

    /// Calls both, at the same time if the [`Limits`] permit several threads. Most analyses do not need each other.
    pub fn both<A: Send, B>(&self, one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
        parallel::both(self.limits.threads, one, other)
    }

    /// What is known to be missing.
    pub fn completeness(&self) -> &Completeness {
        &self.completeness
    }

    /// The file.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("len", &self.len())
            .field("reference_count", &self.reference_count())
            .field("completeness", &self.completeness)
            .finish_non_exhaustive()
    }
}
