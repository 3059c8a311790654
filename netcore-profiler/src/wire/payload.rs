//! Reads and writes payloads field by field, in the order of the fields in the source.

use super::cursor::{Reader, WireError, Writer};

/// A field of a payload.
pub(super) trait Field<'a>: Sized {
    fn read(reader: &mut Reader<'a>) -> Result<Self, WireError>;
    fn write(&self, writer: &mut Writer<'_>);
}

macro_rules! numbers {
    ($($type:ident)*) => {$(
        impl Field<'_> for $type {
            fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
                reader.$type()
            }

            fn write(&self, writer: &mut Writer<'_>) {
                writer.$type(*self);
            }
        }
    )*};
}
numbers! { u8 u32 i32 u64 }

impl Field<'_> for bool {
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(reader.u8()? != 0)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(u8::from(*self));
    }
}

/// Makes a struct of one number a [`Field`].
macro_rules! field {
    ($type:ident) => {
        impl $crate::wire::payload::Field<'_> for $type {
            fn read(reader: &mut $crate::wire::cursor::Reader<'_>) -> Result<Self, WireError> {
                $crate::wire::payload::Field::read(reader).map(Self)
            }

            fn write(&self, writer: &mut $crate::wire::cursor::Writer<'_>) {
                $crate::wire::payload::Field::write(&self.0, writer);
            }
        }
    };
}

/// Gives a struct `decode` and `encode`, for a payload of these fields in this order.
macro_rules! payload {
    ($type:ident $(<$life:lifetime>)?: $($field:ident),*) => {
        impl $(<$life>)? $type $(<$life>)? {
            pub(super) fn decode(payload: payload!(@bytes $($life)?)) -> Result<Self, WireError> {
                let mut reader = $crate::wire::cursor::Reader::new(payload);
                Ok(Self { $($field: $crate::wire::payload::Field::read(&mut reader)?),* })
            }

            /// Writes the payload and returns its length in bytes.
            ///
            /// # Errors
            /// [`WireError::BufferFull`].
            pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
                let mut writer = $crate::wire::cursor::Writer::new(buffer);
                $($crate::wire::payload::Field::write(&self.$field, &mut writer);)*
                writer.finish()
            }
        }
    };
    (@bytes) => { &[u8] };
    (@bytes $life:lifetime) => { &$life [u8] };
}

pub(super) use {field, payload};
