//! The names of references: fields, elements of arrays, static fields.

use super::class::Class;
use super::heap::Graph;
use crate::error::Result;

/// How many base classes are looked at. The file may name them in a circle.
const MAX_BASES: usize = 256;
/// An array's elements start here, if it has one dimension.
const ELEMENTS_OFFSET_BYTES: u64 = 16;
/// Size of an array without elements.
const EMPTY_ARRAY_BYTES: u64 = 24;

/// Where in an object a reference is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A field.
    Field {
        /// Its name. If the field is a value type, the reference is somewhere in it.
        name: String,
        /// The class that declares it: its place in [`Graph::classes`].
        class: u32,
    },
    /// An element of an array.
    Element {
        /// Counts from 0. `None`: unknown, as for arrays of several dimensions.
        index: Option<u64>,
        /// The field of the element, if elements are value types whose fields are known.
        field: Option<String>,
    },
    /// A static field.
    Static {
        /// Its name.
        name: String,
        /// Whether each thread has one.
        is_thread: bool,
    },
    /// A dependent handle, as `ConditionalWeakTable` has: nothing in the object itself.
    Dependent {
        /// The handle.
        handle: u64,
    },
    /// The runtime tells no place, as for the loader of a collectible class; or the tool that took the graph told none.
    Nowhere,
    /// A field without a name.
    Unnamed {
        /// Bytes from the start of the object.
        offset_bytes: u64,
    },
}

impl Graph {
    /// Where in an object its first reference to another object is. `None` if there is no such reference. This reads one
    /// frame of the file, for large objects more.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub fn place(&self, object: u32, target: u32) -> Result<Option<Place>> {
        let address = self.address(target);
        let mut offset_bytes = None;
        self.for_each_reference(object, |reference| {
            if reference.target == address {
                offset_bytes = Some(reference.offset_bytes);
            }
            offset_bytes.is_none()
        })?;
        match offset_bytes {
            Some(offset_bytes) => self.place_at(object, offset_bytes).map(Some),
            None => {
                let edge = self.edges_of(object).iter().find(|edge| edge.to == target);
                Ok(edge.map(|edge| edge.handle.map_or(Place::Nowhere, |handle| Place::Dependent { handle })))
            }
        }
    }

    /// What is at an offset of an object. For arrays of value types this reads one frame of the file.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub fn place_at(&self, object: u32, offset_bytes: u64) -> Result<Place> {
        if !self.statics().is_empty()
            && let Some(field) = self.names.static_at(self.address(object).wrapping_add(offset_bytes))
        {
            return Ok(Place::Static { name: field.name.clone(), is_thread: field.thread });
        }
        let index = self.class_of(object);
        let Some(class) = self.class(index) else { return Ok(Place::Unnamed { offset_bytes }) };
        if class.record.is_unplaced() {
            return Ok(match class.record.is_array() {
                true => Place::Element { index: None, field: None },
                false => Place::Nowhere,
            });
        }
        if class.record.is_array() {
            return self.element_at(object, class, offset_bytes);
        }
        let field = self.field_of(index, offset_bytes);
        Ok(field.map_or(Place::Unnamed { offset_bytes }, |(class, name)| Place::Field {
            name: name.to_owned(),
            class,
        }))
    }

    /// The field of a class or its base classes with the largest offset that is not above this one.
    fn field_of(&self, class: u32, offset_bytes: u64) -> Option<(u32, &str)> {
        let parent = |index: &u32| self.class(*index).and_then(|class| class.record.parent);
        let bases = std::iter::successors(Some(class), parent).take(MAX_BASES);
        let fields = bases.filter_map(|index| {
            let (offset, name) = self.class(index)?.field_at(offset_bytes)?;
            Some((offset, index, name))
        });
        let last = fields.max_by_key(|(offset, ..)| *offset);
        last.map(|(_, index, name)| (index, name))
    }

    fn element_at(&self, object: u32, class: &Class, offset_bytes: u64) -> Result<Place> {
        let is_of_one_dimension = class.name.as_deref().is_none_or(|name| !name.ends_with(",]"));
        let place = offset_bytes.checked_sub(ELEMENTS_OFFSET_BYTES).filter(|_| is_of_one_dimension);
        let Some(place) = place else { return Ok(Place::Element { index: None, field: None }) };
        if class.record.is_array_of_references() {
            return Ok(Place::Element { index: Some(place / 8), field: None });
        }
        let length = self.record(object)?.map_or(0, |record| record.length);
        let element_bytes = self
            .size_bytes(object)
            .saturating_sub(EMPTY_ARRAY_BYTES)
            .checked_div(length)
            .filter(|bytes| *bytes > 0);
        let Some(element_bytes) = element_bytes else {
            return Ok(Place::Element { index: None, field: None });
        };
        let element = class.record.element.and_then(|element| self.class(element));
        let field = element.and_then(|element| element.field_at(place % element_bytes));
        Ok(Place::Element {
            index: Some(place / element_bytes),
            field: field.map(|(_, name)| name.to_owned()),
        })
    }
}
