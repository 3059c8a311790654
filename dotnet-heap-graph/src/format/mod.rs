//! The format of `.gcgraph` files: frames, and the records in them.
//!
//! [`Reader`] finds the frames of a file, [`Writer`] writes frames with ready payloads, and [`GraphWriter`] makes the
//! payloads, too. All decoders take bytes that may be wrong: they return errors, never believe a count, and need no memory
//! for an object.

pub(crate) mod bytes;
mod class;
mod compression;
mod edge;
mod encoding;
mod end;
pub(crate) mod frame;
mod frames;
mod graph_writer;
mod identity;
mod more;
mod names;
mod objects;
mod objects_encoder;
mod range;
mod reader;
mod records;
mod references;
mod root;
mod text;
mod writer;

pub(crate) use self::reader::malformed;
pub use self::{
    bytes::Malformed,
    class::ClassRecord,
    edge::EdgeRecord,
    end::EndRecord,
    frame::{FrameKind, MAX_PAYLOAD_BYTES},
    frames::{Damage, Frame, Truncated},
    graph_writer::GraphWriter,
    identity::{IdentityDecoder, IdentityRecord},
    more::MoreDecoder,
    names::{ClassName, MethodName, Names, StaticName},
    objects::{ObjectRecord, ObjectsDecoder},
    objects_encoder::ObjectsEncoder,
    range::RangeRecord,
    reader::{FrameBuffer, Reader},
    records::{Decoder, Encoder, Record},
    references::{MAX_REFERENCES, Reference},
    root::RootRecord,
    text::TextRecord,
    writer::Writer,
};
