//! The reader: makes items out of objects, in the order of time.

mod step;

use std::collections::{HashSet, VecDeque};

use super::blob::BlobReader;
use super::blocks::{Blocks, Slot};
use super::container::Container;
use super::error::Error;
use super::item::{End, Item, Lost};
use super::labels::Labels;
use super::limits::Limits;
use super::metadata_table::MetadataTable;
use super::sequence_point::SequencePoint;
use super::sorter::{Held, Sorter};
use super::stacks::Stacks;
use super::threads::Threads;
use super::trace::TraceInfo;

const OUT_OF_ORDER: &str =
    "more events wait for their turn than can be held, so some come before ones that are earlier";

/// Reads a nettrace stream, see the [module](super).
///
/// # Order
/// Events come in the order of time, as far as the stream allows. About every 100 ms the runtime flushes its buffers
/// and writes the events of one thread after those of another. It marks the first event of each thread as sorted: no
/// event later in the stream is earlier. The reader gives the events up to a marked one and holds the rest until the
/// next mark or sequence point. So the last events of a flush wait for the first event of the next flush; a live reader
/// that cannot wait calls [`release_held`](Self::release_held). Events with equal times keep the order of the stream.
///
/// # Loss
/// The runtime numbers the events of each thread, including those that it drops. If numbers are missing, or if a
/// sequence point states a larger number than the last one, [`Item::Lost`] comes just before the thread's next event or
/// before the sequence point. A stream that starts with a sequence point is a later part of another one; losses before
/// it are not counted.
#[derive(Debug, Default)]
pub struct Reader {
    pub(super) limits: Limits,
    pub(super) container: Container,
    pub(super) blocks: Blocks,
    trace: Option<TraceInfo>,
    pub(super) metadata: MetadataTable,
    stacks: Stacks,
    labels: Labels,
    threads: Threads,
    sorter: Sorter,
    cursor: Option<Cursor>,
    /// All events up to this time have come.
    complete_until: Time,
    /// All held events are given.
    draining: bool,
    pub(super) release: bool,
    /// The last event block had room for any event, so it ended a flush.
    flush_ended: bool,
    /// Takes effect when no event is held any more.
    sequence_point: Option<SequencePoint>,
    /// Comes before the held events.
    ready: VecDeque<Ready>,
    /// The last event given. Its blocks are in use until the next call.
    lent: Option<Held>,
    pub(super) end: EndState,
    reported_ids: HashSet<u32>,
    /// These two limits were reported, or are reported next.
    out_of_order: bool,
    forgotten_threads: bool,
    lost_events: u64,
    pub(super) unparsed_bytes: u64,
}

/// The event block that is being read.
#[derive(Debug)]
struct Cursor {
    slot: Slot,
    events: BlobReader,
    whole: bool,
}

/// An item that is ready.
#[derive(Debug)]
pub(crate) enum Ready {
    /// Not an item but a warning.
    OutOfOrder,
    Trace,
    Event,
    Lost(Lost),
    SequencePoint {
        timestamp: i64,
    },
    Truncated,
    End(End),
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) enum EndState {
    #[default]
    NotReached,
    Reached {
        clean: bool,
    },
    Given,
}

/// A time in ticks. At first, the earliest that there is.
#[derive(Clone, Copy, Debug)]
struct Time(i64);

impl Default for Time {
    fn default() -> Self {
        Self(i64::MIN)
    }
}

impl Reader {
    /// A reader at the start of a stream, with the default [`Limits`].
    pub fn new() -> Self {
        Self::default()
    }

    /// A reader at the start of a stream, with other limits.
    pub fn with_limits(limits: Limits) -> Self {
        Self { container: Container::new(limits.clone()), limits, ..Self::default() }
    }

    /// Appends the next bytes of the stream, in chunks of any size. They are copied once. Call
    /// [`next_item`](Self::next_item) until it gives `None` before feeding more, so that buffers are reused.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.release = false;
        self.container.feed(bytes, &mut self.blocks);
    }

    /// Ends the stream: the held events come, and then [`Item::End`]. Of a last block that is cut off, the complete
    /// events come.
    pub fn finish(&mut self) {
        self.container.finish(&mut self.blocks);
    }

    /// Gives all held events, sorted, once the bytes fed so far are read. Feeding more bytes before that cancels it.
    ///
    /// A live reader calls this between two flushes. The runtime writes a flush without interruption, and the events of
    /// the next flush are later, so the order is kept. [`flush_ended`](Self::flush_ended) finds the end of most
    /// flushes; otherwise, wait until the socket has been quiet for a while. If the flush was not over (the writing
    /// thread did not get a processor for so long), the rest of it can have earlier events. They then come out of
    /// order, but none is lost or repeated.
    pub fn release_held(&mut self) {
        self.release = true;
    }

    /// Whether the last event block ended a flush, because it had room for any other event. All events so far are then
    /// earlier than those that follow, so [`release_held`](Self::release_held) keeps the order. `false` if that is not
    /// known: the last block of a flush may happen to be nearly full. Ask when [`next_item`](Self::next_item) has given
    /// `None`.
    ///
    /// This is how runtimes write streams of version 4. In version 6 it is always `false`.
    pub fn flush_ended(&self) -> bool {
        self.flush_ended
    }

    /// The number of events that are held at present.
    pub fn held_events(&self) -> usize {
        self.sorter.len
    }

    /// The trace object of the stream. `None` before it has come.
    pub fn trace(&self) -> Option<&TraceInfo> {
        self.trace.as_ref()
    }

    /// The number of lost events that [`Item::Lost`] has reported so far.
    pub fn lost_events(&self) -> u64 {
        self.lost_events
    }

    /// Whether [`Item::End`] has been given.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.end, EndState::Given)
    }

    /// The next item. `None` if more bytes are needed, or after [`Item::End`].
    ///
    /// # Errors
    /// Says what is damaged, and where. The next call goes on: after a damaged block with the next block; after damage
    /// between objects ([`Error::is_fatal`]) with the held events. In the second case the rest of the stream is
    /// skipped, and [`Item::End`] comes after [`finish`](Self::finish).
    #[inline]
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, Error> {
        match self.advance()? {
            Some(ready) => Ok(self.item(ready)),
            None => Ok(None),
        }
    }

    /// Goes to the next item, which [`item`](Self::item) then gives. In two steps, a caller can feed bytes in between.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<Option<Ready>, Error> {
        self.take_back_lent();
        match self.step()? {
            Some(Ready::OutOfOrder) => Err(Error::Limit { what: OUT_OF_ORDER }),
            ready => Ok(ready),
        }
    }

    #[inline]
    pub(crate) fn item(&self, ready: Ready) -> Option<Item<'_>> {
        Some(match ready {
            Ready::OutOfOrder => return None,
            Ready::Lost(lost) => Item::Lost(lost),
            Ready::SequencePoint { timestamp } => Item::SequencePoint { timestamp },
            Ready::Truncated => Item::Truncated,
            Ready::End(end) => Item::End(end),
            Ready::Trace => Item::Trace(self.trace.as_ref()?),
            Ready::Event => Item::Event(self.event(self.lent.as_ref()?)?),
        })
    }
}
