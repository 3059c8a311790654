//! Where the runtime writes an event otherwise than its manifest says.

use super::table::ClrEvent;
use crate::nettrace::field::{ArrayLength, Field, FieldType, Sizes};

/// Changes the fields of such an event.
pub(super) fn correct(event: &mut ClrEvent) {
    match event.name {
        // The elements are C structs, which the compiler aligns: so in the payloads of .NET 8, 9 and 10.
        "GCLOHCompact" | "GCFitBucketInfo" => {
            for field in &mut event.fields {
                if let FieldType::Array(array) = &mut field.field_type
                    && let FieldType::Struct(fields) = &mut array.element
                {
                    align(fields);
                }
            }
        }
        // As many frames as the field before says, not two: so in the runtime's source.
        "CLRStackWalk" | "CLRStackWalkDCStart" | "CLRStackWalkPrivate" => {
            let count = event.fields.iter().position(|field| &*field.name == "FrameCount");
            if let Some(count) = count.and_then(|index| u16::try_from(index).ok())
                && let Some(FieldType::Array(array)) =
                    event.fields.last_mut().map(|field| &mut field.field_type)
            {
                array.length = ArrayLength::Field(count);
            }
        }
        _ => {}
    }
}

/// Puts padding before fields and at the end, as a C compiler does.
fn align(fields: &mut Vec<Field>) {
    let (mut end_32, mut end_64, mut largest_32, mut largest_64) = (0, 0, 1, 1);
    let mut aligned = Vec::new();
    for field in fields.drain(..) {
        let size = |pointer_bytes| field.field_type.fixed_size(Sizes::new(pointer_bytes)).unwrap_or(1).max(1);
        let (size_32, size_64) = (size(4), size(8));
        pad(&mut aligned, end_32, size_32, end_64, size_64);
        end_32 = end_32.next_multiple_of(size_32) + size_32;
        end_64 = end_64.next_multiple_of(size_64) + size_64;
        (largest_32, largest_64) = (largest_32.max(size_32), largest_64.max(size_64));
        aligned.push(field);
    }
    pad(&mut aligned, end_32, largest_32, end_64, largest_64);
    *fields = aligned;
}

fn pad(fields: &mut Vec<Field>, end_32: usize, to_32: usize, end_64: usize, to_64: usize) {
    let missing = |end: usize, to: usize| (end.next_multiple_of(to) - end) as u8;
    let (bytes_32, bytes_64) = (missing(end_32, to_32), missing(end_64, to_64));
    if (bytes_32, bytes_64) != (0, 0) {
        fields.push(Field::new("", FieldType::Padding { bytes_32, bytes_64 }));
    }
}
