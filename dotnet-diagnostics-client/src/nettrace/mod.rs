//! Reader for nettrace, the format of EventPipe's event streams and of `.nettrace` files.
//!
//! [`Reader`] does no input or output of its own: bytes go in as they come ([`Reader::feed`]), from a file or from the
//! diagnostics socket, and [`Reader::next_item`] gives what they say, in the order of time. Payloads and stacks are slices
//! of the blocks they came in; nothing is allocated for an event. No input makes it panic, and what it holds is
//! bounded by its [`Limits`].
//!
//! It reads version 4 (all .NET runtimes from 3.0 on; "version 5" is the same with more metadata) and version 6 (other
//! writers). The facts are those of `NetTraceFormat.md` and `NetTraceFormat_v5.md` of microsoft/perfview and of
//! `src/native/eventpipe` of dotnet/runtime.
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
//!             Err(error) => eprintln!("{error}"), // and go on: what can still be read comes
//!         }
//!     }
//! }
//! # let error = b"no nettrace stream".as_slice();
//! # assert_eq!(count_events(error).unwrap(), 0);
//! ```

mod blob;
mod blocks;
mod bytes;
mod container;
mod deferred;
mod error;
mod event_block;
mod item;
mod labels;
mod limits;
mod metadata;
mod object;
mod once;
mod order;
mod reader;
mod sequence_point;
mod stacks;
mod threads;
mod trace;
mod v6;

pub use error::{BlockKind, Error};
pub use event_block::{EventBlock, RepeatedEvent};
pub use item::{Deferred, End, Event, Item, Lost};
pub use limits::Limits;
pub use metadata::{Field, FieldType, Metadata};
pub use object::ObjectSpan;
pub use reader::Reader;
pub use trace::TraceInfo;
