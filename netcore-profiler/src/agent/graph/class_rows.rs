//! What the copy says of a class when it is first seen.

use super::buffer::Buffer;
use super::classes::{ARRAY, Known, OF_REFERENCES, STRING, VARIES};
use super::copy::Copy;
use crate::info::{Info, is_definition};
use crate::wire::graph::{Layout, kind};
use crate::wire::{Class, ClassShape, Ids, Payload};

/// How many base classes, element types and type arguments are followed.
const MAX_DEPTH: u32 = 32;
const MAX_ARGS: usize = 32;
/// Type of an array's elements that are references (`ELEMENT_TYPE_STRING`, `CLASS`, `ARRAY`, `OBJECT`, `SZARRAY`).
const REFERENCES: [u32; 5] = [0x0e, 0x12, 0x14, 0x1c, 0x1d];

impl Copy {
    /// The class of an object. `None`: there are too many classes.
    #[inline]
    pub(super) fn class(&mut self, info: Info, id: usize, words: u32) -> Option<Known> {
        if self.classes.last.id == id && self.classes.last.serves(words) {
            return Some(self.classes.last);
        }
        let found = self.class_of(info, id, words, MAX_DEPTH)?;
        self.classes.last = found;
        Some(found)
    }

    /// The class, which is sent if it was not sent before. `words`: the size of an object of it; 0: none was seen.
    fn class_of(&mut self, info: Info, id: usize, words: u32, depth: u32) -> Option<Known> {
        let known = *self.classes.place(id)?;
        if known.serves(words) {
            return Some(known);
        }
        let deeper = depth.checked_sub(1);
        let facts = self.tell(info, id, depth);
        let mut flags = 0;
        if facts.is_array {
            flags |= ARRAY | VARIES;
        }
        if facts.references {
            flags |= OF_REFERENCES;
        }
        if facts.is_string {
            flags |= STRING | VARIES;
        }
        let mut related = |id: usize| {
            let depth = deeper.filter(|_| id != 0)?;
            self.class_of(info, id, 0, depth).map(|known| u64::from(known.index).wrapping_add(1))
        };
        let (parent, element) = (related(facts.parent), related(facts.element));
        let fixed = if flags & VARIES == 0 { words } else { 0 };
        let index = self.classes.next_index();
        let row = &mut self.objects.classes;
        for value in [u64::from(index), id as u64, flags, u64::from(fixed)] {
            row.varint(value);
        }
        row.varint(parent.unwrap_or(0));
        row.varint(element.unwrap_or(0));
        self.objects.class_count = self.objects.class_count.saturating_add(1);
        self.send_layout(info, id, index);
        let place = self.classes.place(id)?;
        *place = Known { id, index, words: fixed, flags: flags as u8, told: true, numbered: true };
        Some(*place)
    }

    /// Sends what a class is, unless it was sent before, with its type arguments and element type.
    fn tell(&mut self, info: Info, id: usize, depth: u32) -> Facts {
        let told = self.classes.place(id).is_none_or(|place| core::mem::replace(&mut place.told, true));
        let unknown = Class::unknown(id as u64);
        // SAFETY: an object of the class, a class derived from it or one of its type arguments exists, and nothing is
        // unloaded in the copy.
        if let Some(array) = unsafe { info.array_class(id) } {
            let class = Class {
                shape: ClassShape::ARRAY,
                rank: u8::try_from(array.rank).unwrap_or(u8::MAX),
                element_class: array.element_class as u64,
                element_type: array.element_type as u8,
                ..unknown
            };
            let references = REFERENCES.contains(&array.element_type);
            self.send_class(told, &class);
            self.tell_all(info, &[array.element_class], depth);
            let element = array.element_class;
            return Facts { is_array: true, references, element, ..Facts::default() };
        }
        let mut args = [0_usize; MAX_ARGS];
        // SAFETY: as above.
        let (found, parent) = match unsafe { info.class_and_parent(id, &mut args) } {
            Ok((found, parent)) if is_definition(found.module, found.token) => (found, parent),
            _ => {
                self.send_class(told, &unknown);
                return Facts::default();
            }
        };
        let args = args.get(..(found.args as usize).min(MAX_ARGS)).unwrap_or_default();
        let mut ids = [0_u64; MAX_ARGS];
        for (to, from) in ids.iter_mut().zip(args) {
            *to = *from as u64;
        }
        let class = Class {
            shape: ClassShape::PLAIN,
            module_id: found.module as u64,
            token: found.token,
            args: Ids::new(ids.get(..args.len()).unwrap_or_default()),
            ..unknown
        };
        self.send_class(told, &class);
        self.tell_all(info, args, depth);
        let is_string = (found.module, found.token) == self.string;
        Facts { is_string, parent, ..Facts::default() }
    }

    /// Sends what classes are that others refer to.
    fn tell_all(&mut self, info: Info, ids: &[usize], depth: u32) {
        let Some(deeper) = depth.checked_sub(1) else { return };
        for id in ids.iter().copied().filter(|id| *id != 0) {
            if self.classes.place(id).is_some_and(|place| !place.told) {
                self.tell(info, id, deeper);
            }
        }
    }

    fn send_class(&mut self, told: bool, class: &Class<'_>) {
        let mut bytes = [0; 64 + 8 * MAX_ARGS];
        if let Some(length) = class.encode(&mut bytes).ok().filter(|_| !told) {
            self.output.send(kind::CLASS_FACTS, bytes.get(..length).unwrap_or_default(), &[]);
        }
    }

    /// Sends where the fields of a class are.
    fn send_layout(&mut self, info: Info, id: usize, index: u32) {
        // SAFETY: as in `tell`.
        let count = unsafe { info.class_layout(id, self.classes.fields) }.unwrap_or(0);
        let fields = self.classes.fields.get(..count).unwrap_or_default();
        let layout = Layout { index, fields: fields.len() as u32, class_id: id as u64 };
        let mut head = [0; Layout::BYTES];
        let rows: &mut Buffer = &mut self.rows;
        rows.clear();
        for field in fields {
            rows.u32(field.token);
            rows.u32(field.offset);
        }
        if crate::wire::graph::write(&layout, &mut head).is_ok() {
            self.output.send(kind::LAYOUT, &head, rows.bytes());
        }
    }
}

/// What the runtime says of a class.
#[derive(Debug, Clone, Copy, Default)]
struct Facts {
    is_array: bool,
    references: bool,
    is_string: bool,
    parent: usize,
    element: usize,
}
