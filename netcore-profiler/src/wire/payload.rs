//! Reads and writes payloads field by field, in the order of the fields in the source.

use super::cursor::{Reader, WireError, Writer};

/// A field of a payload, or a structure of fields. Not reachable from outside, which seals [`Payload`] and
/// [`Row`](super::Row).
pub trait Field<'a>: Sized {
    fn read(reader: &mut Reader<'a>) -> Result<Self, WireError>;
    fn write(&self, writer: &mut Writer<'_>);

    /// Reads it from the front of a payload.
    fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        Self::read(&mut Reader::new(payload))
    }
}

/// A payload of fields that the profiler writes as one event.
pub trait Payload<'a>: Field<'a> {
    /// Number of the event ([`event_id`](super::event_id)).
    const ID: u32;

    /// Writes the payload and returns its length in bytes.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut writer = Writer::new(buffer);
        self.write(&mut writer);
        writer.finish()
    }
}

/// Fields in a payload, where they are valid, or in memory.
#[derive(Debug, Clone, Copy)]
pub(super) enum List<'a, T> {
    Bytes(&'a [u8]),
    Native(&'a [T]),
}

impl<'a, T> List<'a, T> {
    /// How many numbers it has.
    pub(super) const fn len(self) -> usize {
        match self {
            List::Bytes(bytes) => bytes.len().div_ceil(size_of::<T>()),
            List::Native(all) => all.len(),
        }
    }

    pub(super) fn iter(self) -> impl Iterator<Item = T> + use<'a, T>
    where
        T: Field<'a> + Copy,
    {
        let (bytes, native): (&[u8], &[T]) = match self {
            List::Bytes(bytes) => (bytes, &[]),
            List::Native(all) => (&[], all),
        };
        let mut reader = Reader::new(bytes);
        core::iter::from_fn(move || T::read(&mut reader).ok()).chain(native.iter().copied())
    }
}

impl<'a, T: Field<'a> + Copy + PartialEq> PartialEq for List<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Field<'a> + Copy + Eq> Eq for List<'a, T> {}

/// A field of fixed size.
pub(super) trait Number {
    /// Writes it to the front of `space`, and returns the rest.
    fn put(self, space: &mut [u8]) -> &mut [u8];
}

macro_rules! numbers {
    ($($type:ident)*) => {$(
        impl Field<'_> for $type {
            #[inline]
            fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
                reader.$type()
            }

            fn write(&self, writer: &mut Writer<'_>) {
                writer.$type(*self);
            }
        }

        impl Number for $type {
            #[inline(always)]
            fn put(self, space: &mut [u8]) -> &mut [u8] {
                let Some((place, rest)) = space.split_first_chunk_mut() else { return &mut [] };
                *place = self.to_le_bytes();
                rest
            }
        }
    )*};
}
numbers! { u8 u16 u32 i32 u64 }

impl Field<'_> for bool {
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(reader.u8()? != 0)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(u8::from(*self));
    }
}

impl<'a, A: Field<'a>, B: Field<'a>> Field<'a> for (A, B) {
    fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        Ok((A::read(reader)?, B::read(reader)?))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.0.write(writer);
        self.1.write(writer);
    }
}

impl<'a, T: Field<'a> + Copy + Default, const N: usize> Field<'a> for [T; N] {
    fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let mut all = [T::default(); N];
        for one in &mut all {
            *one = T::read(reader)?;
        }
        Ok(all)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.iter().for_each(|one| one.write(writer));
    }
}

/// Makes structs of one number a [`Field`].
macro_rules! field {
    ($($type:ident)*) => {$(
        impl $crate::wire::payload::Field<'_> for $type {
            #[inline]
            fn read(
                reader: &mut $crate::wire::cursor::Reader<'_>,
            ) -> Result<Self, $crate::wire::cursor::WireError> {
                $crate::wire::payload::Field::read(reader).map(Self)
            }

            fn write(&self, writer: &mut $crate::wire::cursor::Writer<'_>) {
                $crate::wire::payload::Field::write(&self.0, writer);
            }
        }

        impl $crate::wire::payload::Number for $type {
            #[inline(always)]
            fn put(self, space: &mut [u8]) -> &mut [u8] {
                $crate::wire::payload::Number::put(self.0, space)
            }
        }
    )*};
}

/// Makes a struct of these fields, in this order, a [`Field`]. The fields after a semicolon came with later versions:
/// where a payload ends before them, they have their default.
macro_rules! fields {
    ($type:ident $(<$life:lifetime>)?: $($field:ident),* $(; $($late:ident),*)?) => {
        fields! { @impl $type, [$($life)? '_] $(<$life>)?: $($field),* $(; $($late),*)? }
    };
    (@impl $type:ident, [$life:lifetime $($_:lifetime)?] $(<$own:lifetime>)?:
        $($field:ident),* $(; $($late:ident),*)?
    ) => {
        impl $(<$own>)? $crate::wire::payload::Field<$life> for $type $(<$own>)? {
            fn read(
                reader: &mut $crate::wire::cursor::Reader<$life>,
            ) -> Result<Self, $crate::wire::cursor::WireError> {
                use $crate::wire::payload::Field;
                // The fields of a struct expression are evaluated in the order written.
                Ok(Self {
                    $($field: Field::read(reader)?,)*
                    $($($late: if reader.is_empty() { Default::default() } else { Field::read(reader)? },)*)?
                })
            }

            fn write(&self, writer: &mut $crate::wire::cursor::Writer<'_>) {
                use $crate::wire::payload::Field;
                $(Field::write(&self.$field, writer);)*
                $($(Field::write(&self.$late, writer);)*)?
            }
        }
    };
}

/// [`fields`] for the payload of an event, whose name in [`event_id`](super::event_id) comes first.
macro_rules! payload {
    ($id:ident, $type:ident $(<$life:lifetime>)?: $($fields:tt)*) => {
        fields! { $type $(<$life>)?: $($fields)* }
        payload! { @impl $id, [$($life)? '_] $type $(<$life>)? }
    };
    (@impl $id:ident, [$life:lifetime $($_:lifetime)?] $type:ident $(<$own:lifetime>)?) => {
        impl $(<$own>)? $crate::wire::payload::Payload<$life> for $type $(<$own>)? {
            const ID: u32 = $crate::wire::event_id::$id;
        }
    };
}

pub(super) use {field, fields, payload};
