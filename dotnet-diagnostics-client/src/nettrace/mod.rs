//! Reader for nettrace, the format of EventPipe's event streams and of `.nettrace` files.
//!
//! [`Reader`] does no input or output itself. Bytes from a file or from the diagnostics socket go in
//! ([`Reader::feed`]), and items come out in the order of time ([`Reader::next_item`]). Payloads and stacks are slices
//! of the blocks that they came in, so an event needs no allocation. No input makes the reader panic, and its
//! [`Limits`] bound its memory.
//!
//! It reads version 4, which all .NET runtimes since .NET Core 3.0 write ("version 5" is version 4 with more metadata),
//! and version 6, which other programs write. The format is described in `NetTraceFormat.md` and `NetTraceFormat_v5.md`
//! of microsoft/perfview; what runtimes do with it is in `src/native/eventpipe` of dotnet/runtime.
//!
//! ```
//! use dotnet_diagnostics_client::nettrace::{Error, Item, Reader};
//!
//! fn count_events(mut input: impl std::io::Read) -> std::io::Result<u64> {
//!     let mut reader = Reader::new();
//!     let mut chunk = vec![0; 64 * 1024];
//!     let mut events = 0;
//!     loop {
//!         match reader.next_item() {
//!             Ok(Some(Item::Event(_))) => events += 1,
//!             Ok(Some(Item::End(_))) => return Ok(events),
//!             Ok(Some(_)) => {}
//!             Ok(None) => match input.read(&mut chunk)? {
//!                 0 => reader.finish(),
//!                 read => reader.feed(&chunk[..read]),
//!             },
//!             Err(error) => eprintln!("{error}"), // what follows the damage can still be read
//!         }
//!     }
//! }
//! # let error = b"no nettrace stream".as_slice();
//! # assert_eq!(count_events(error).unwrap(), 0);
//! ```

mod blob;
mod blocks;
mod bytes;
#[cfg(feature = "clr-events")]
pub mod clr;
mod container;
mod error;
mod event;
mod event_block;
mod field;
mod field_codes;
mod file;
mod item;
mod labels;
mod limits;
mod metadata;
mod metadata_table;
mod metadata_v4;
mod object;
pub mod raw;
mod reader;
mod scanner;
mod sequence_point;
mod sorter;
mod stack;
mod stacks;
mod symbols;
mod text;
mod threads;
mod trace;
mod v6;
mod value;
mod value_text;

pub use error::{BlockKind, Error};
pub use event::Event;
pub use field::{ArrayLength, ArrayType, Field, FieldType};
pub use file::{FileError, FileReader};
pub use item::{End, Item, Lost};
pub use labels::LabelValue;
pub use limits::Limits;
pub use metadata::Metadata;
pub use reader::Reader;
pub use stack::Stack;
pub use symbols::{Method, Symbol, Symbols};
pub use text::Text;
pub use trace::TraceInfo;
pub use value::{Array, Fields, Value};
