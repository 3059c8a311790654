//! The state of the walk, in the copy or in the pause, and how it takes an object.

use core::ffi::c_void;
use core::hash::Hasher;
use core::ptr::NonNull;

use super::buffer::{Buffer, Room};
use super::classes::Classes;
use super::objects::{MAX_REFERENCES, Objects, Reference, Row};
use super::output::Output;
use crate::info::{HeapRange, Info};
use crate::sys;

/// Room for rows of everything but objects.
const ROWS_BYTES: usize = 256 * 1024;
/// How many ranges of frozen objects are considered.
pub(super) const FROZEN_RANGES: usize = 256;
/// How many units of a string are sent.
const MAX_TEXT_UNITS: usize = 4096;
const WORD: usize = size_of::<usize>();
/// Offset of the length of an array or a string, of the content of a string, and of the elements of an array.
const LENGTH: usize = 8;
const CHARACTERS: usize = 12;
const ELEMENTS: usize = 16;

/// Room for all that the walk needs.
const ALL_BYTES: usize = 16 << 20;

/// The walk. It has one thread.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) output: Output,
    pub(super) classes: Classes,
    pub(super) objects: Objects,
    references: &'static mut [Reference],
    /// Rows of one message.
    pub(super) rows: Buffer,
    /// References without a place, and their number.
    pub(super) edges: Buffer,
    pub(super) edge_count: u64,
    pub(super) all_edges: u64,
    pub(super) texts: Option<Buffer>,
    pub(super) text_count: u64,
    /// Module and token of `System.String`.
    pub(super) string: (usize, u32),
    pub(super) strings: u64,
    pub(super) roots: u64,
    hash_key: [u64; 2],
    pub(super) began_ns: u64,
    /// Ranges of frozen objects, and whether the runtime's walk has come to each.
    pub(super) frozen: [(HeapRange, bool); FROZEN_RANGES],
    pub(super) frozen_count: usize,
    /// The end of the last object.
    end: usize,
    /// Objects whose references the runtime tells in two different ways.
    pub(super) different: u64,
    /// Objects that have not the size of their class.
    pub(super) odd_sizes: u64,
}

/// The references of one object, as the runtime tells them one by one.
struct Gathering<'a> {
    copy: &'a mut Copy,
    row: Row,
    end: usize,
    count: usize,
    /// The object itself was added; what comes now are further references.
    added: bool,
    end_offset: usize,
    /// What the runtime told at once, and how much of it was seen.
    told: &'a [usize],
    seen: usize,
    differs: bool,
}

impl Copy {
    /// Maps memory for a walk, and begins it there.
    pub(super) fn map(output: Output, string: (usize, u32), texts: bool) -> Option<NonNull<Self>> {
        let mut room = Room::map(ALL_BYTES)?;
        let place = room.take(size_of::<Self>())?.cast::<Self>();
        let Some(walk) = Self::new(&mut room, output, string, texts) else {
            // SAFETY: mapped just now with this length, and nobody else has the pointer.
            unsafe { sys::unmap(place.as_ptr().cast(), ALL_BYTES) };
            return None;
        };
        // SAFETY: a part of this size, at the beginning of a page.
        unsafe { place.write(walk) };
        Some(place)
    }

    /// Gives the memory of [`Copy::map`] back.
    ///
    /// # Safety
    /// Nothing uses it any more.
    pub(super) unsafe fn unmap(walk: NonNull<Self>) {
        // SAFETY: `map` has mapped it with this length; it is the first part.
        unsafe { sys::unmap(walk.as_ptr().cast(), ALL_BYTES) };
    }

    fn new(room: &mut Room, output: Output, string: (usize, u32), texts: bool) -> Option<Self> {
        let references = room.take(MAX_REFERENCES.saturating_mul(size_of::<Reference>()))?;
        // SAFETY: a part of this length, zeroed, and nobody else has the pointer.
        let references =
            unsafe { core::slice::from_raw_parts_mut(references.cast().as_ptr(), MAX_REFERENCES) };
        Some(Self {
            output,
            classes: Classes::new(room)?,
            objects: Objects::new(room)?,
            references,
            rows: Buffer::within(room, ROWS_BYTES)?,
            edges: Buffer::within(room, ROWS_BYTES)?,
            edge_count: 0,
            all_edges: 0,
            texts: if texts { Some(Buffer::within(room, ROWS_BYTES)?) } else { None },
            text_count: 0,
            string,
            strings: 0,
            roots: 0,
            hash_key: sys::copy::random(),
            began_ns: sys::tick_ns(),
            frozen: [(HeapRange { start: 0, length: 0, reserved: 0 }, false); FROZEN_RANGES],
            frozen_count: 0,
            end: 0,
            different: 0,
            odd_sizes: 0,
        })
    }

    /// Takes an object. `told`: its references, if the runtime told them with it. `false`: the walk is to end.
    ///
    /// # Safety
    /// `object` is the address of an object of `class`.
    pub(super) unsafe fn object(
        &mut self,
        info: Info,
        object: usize,
        class: usize,
        told: Option<&[usize]>,
    ) -> bool {
        // SAFETY: by the contract.
        let bytes = unsafe { info.object_size(object) }.unwrap_or(0);
        let words = bytes.div_ceil(WORD).max(3);
        if object != self.end {
            // Only the first object of a range can be a range's start.
            let frozen = self.frozen.get_mut(..self.frozen_count).unwrap_or_default();
            frozen.iter_mut().filter(|(range, _)| range.start == object).for_each(|(_, seen)| *seen = true);
        }
        self.end = object.wrapping_add(words.wrapping_mul(WORD));
        let Some(known) = self.class(info, class, u32::try_from(words).unwrap_or(u32::MAX)) else {
            return false;
        };
        let mut words = words as u64;
        if !known.varies() && words != u64::from(known.words) {
            self.odd_sizes = self.odd_sizes.saturating_add(1);
            words = u64::from(known.words);
        }
        // SAFETY: arrays and strings have their length there.
        let length = known.varies().then(|| unsafe { read::<u32>(object.wrapping_add(LENGTH)) });
        let mut hash = None;
        if known.is_string() {
            let fits =
                |length: &u32| CHARACTERS.saturating_add((*length as usize).saturating_mul(2)) <= bytes;
            let length = length.filter(fits).unwrap_or(0) as usize;
            let start = core::ptr::with_exposed_provenance::<u16>(object.wrapping_add(CHARACTERS));
            // SAFETY: the characters of a string, which lie within the object.
            hash = Some(self.string(object, unsafe { core::slice::from_raw_parts(start, length) }));
        }
        let first_offset = if known.is_array() { ELEMENTS } else { WORD };
        let row = Row { address: object, class: known.index, words, length, hash, first_offset };
        let is_leaf = told.is_some_and(<[usize]>::is_empty);
        if is_leaf {
            self.objects.add(row, &[]);
        } else {
            let mut gathering = Gathering {
                end: object.wrapping_add(bytes),
                copy: self,
                row,
                count: 0,
                added: false,
                end_offset: first_offset,
                told: told.unwrap_or_default(),
                seen: 0,
                differs: false,
            };
            // SAFETY: by the contract; the callback gets this structure, which nothing else uses meanwhile.
            unsafe { info.object_references(object, reference, (&raw mut gathering).cast()) };
            gathering.finish(told.is_some());
        }
        self.objects.flush_if_full(&mut self.output);
        !self.output.ended
    }

    /// Counts a string, and returns a hash of its content that means nothing to anybody without the key.
    fn string(&mut self, object: usize, units: &[u16]) -> u64 {
        self.strings = self.strings.saturating_add(1);
        // SAFETY: the same memory as bytes.
        let bytes = unsafe { core::slice::from_raw_parts(units.as_ptr().cast::<u8>(), size_of_val(units)) };
        let [first, second] = self.hash_key;
        #[expect(
            deprecated,
            reason = "its replacement is in the standard library, which the profiler has not"
        )]
        let mut hasher = core::hash::SipHasher::new_with_keys(first, second);
        hasher.write(bytes);
        let hash = hasher.finish();
        self.add_text(object, units);
        hash
    }

    fn add_text(&mut self, object: usize, units: &[u16]) {
        let Some(texts) = &mut self.texts else { return };
        let shown = units.get(..units.len().min(MAX_TEXT_UNITS)).unwrap_or_default();
        let chars = || char::decode_utf16(shown.iter().copied()).map(|unit| unit.unwrap_or('\u{fffd}'));
        let bytes = chars().fold(0_u64, |sum, char| sum.saturating_add(char.len_utf8() as u64));
        texts.varint(object as u64);
        texts.varint(bytes);
        for char in chars() {
            texts.put(char.encode_utf8(&mut [0; 4]).as_bytes());
        }
        self.text_count = self.text_count.saturating_add(1);
        if texts.len() >= ROWS_BYTES / 2 {
            self.send_texts();
        }
    }

    /// Adds a reference that is in no field.
    pub(super) fn add_edge(&mut self, from: usize, to: usize, edge_kind: u8, id: usize) {
        self.edges.varint(from as u64);
        self.edges.varint(to as u64);
        self.edges.u8(edge_kind);
        self.edges.varint(id as u64);
        self.edge_count = self.edge_count.saturating_add(1);
        self.all_edges = self.all_edges.saturating_add(1);
        if self.edges.len() >= ROWS_BYTES / 2 {
            self.send_edges();
        }
    }
}

impl Gathering<'_> {
    fn add(&mut self, place: usize, target: usize) {
        const WITHOUT_A_PLACE: u8 = 2;
        match self.told.get(self.seen) {
            Some(told) if *told == target => {}
            _ => self.differs = true,
        }
        self.seen = self.seen.saturating_add(1);
        if place < self.row.address || place >= self.end {
            self.copy.add_edge(self.row.address, target, WITHOUT_A_PLACE, 0);
            return;
        }
        if self.count >= MAX_REFERENCES {
            self.pass_on();
        }
        if let Some(free) = self.copy.references.get_mut(self.count) {
            *free = (place.wrapping_sub(self.row.address), target);
            self.count = self.count.saturating_add(1);
        }
    }

    /// Adds what was gathered to the block.
    fn pass_on(&mut self) {
        let Copy { references, objects, output, .. } = &mut *self.copy;
        let gathered = references.get_mut(..self.count).unwrap_or_default();
        if !gathered.is_sorted() {
            gathered.sort_unstable();
        }
        if self.added {
            objects.more(output, self.row.address, self.end_offset, gathered);
        } else {
            objects.add(self.row, gathered);
        }
        self.added = true;
        if let Some((offset, _)) = gathered.last() {
            self.end_offset = offset.saturating_add(WORD);
        }
        self.count = 0;
    }

    fn finish(mut self, compare: bool) {
        if self.count > 0 || !self.added {
            self.pass_on();
        }
        if compare && (self.differs || self.seen != self.told.len()) {
            self.copy.different = self.copy.different.saturating_add(1);
        }
    }
}

/// Reads a value of the copy's own heap.
///
/// # Safety
/// There is one at the address.
unsafe fn read<T>(address: usize) -> T {
    // SAFETY: by the contract.
    unsafe { core::ptr::with_exposed_provenance::<T>(address).read_unaligned() }
}

/// `ObjectReferenceCallback`: one reference that is not null. Returns whether to go on.
unsafe extern "system" fn reference(_object: usize, place: *mut usize, data: *mut c_void) -> i32 {
    // SAFETY: `Copy::object` passes its structure, and uses it again only after the last call.
    let gathering = unsafe { &mut *data.cast::<Gathering<'_>>() };
    // SAFETY: the runtime's pointer to a reference.
    let target = unsafe { place.read_unaligned() };
    gathering.add(place.addr(), target);
    1
}
