//! Picks the events of one snapshot out of a stream.

use std::collections::HashMap;

use super::heap::Heap;
use super::kinds::Kinds;
use super::payload::Payload;
use super::roots::Roots;
use crate::exchange::names::file_name;
use crate::format::{RangeRecord, RootRecord};

/// Which of the runtime's providers wrote an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// `Microsoft-Windows-DotNETRuntime`.
    Runtime,
    /// `Microsoft-Windows-DotNETRuntimeRundown`, which names modules and methods at the end of a session.
    Rundown,
}

/// An event of a process with pointers of 8 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Who wrote it.
    pub provider: Provider,
    /// The number of the event.
    pub id: u32,
    /// The version of its layout.
    pub version: u32,
    /// Its data.
    pub payload: &'a [u8],
}

/// The runtime's numbers of events.
mod id {
    pub(super) const GC_START: u32 = 1;
    pub(super) const GC_END: u32 = 2;
    pub(super) const BULK_TYPE: u32 = 15;
    pub(super) const BULK_ROOT_EDGE: u32 = 16;
    pub(super) const BULK_ROOT_DEPENDENT: u32 = 17;
    pub(super) const BULK_NODE: u32 = 18;
    pub(super) const BULK_EDGE: u32 = 19;
    pub(super) const GENERATION_RANGE: u32 = 23;
    pub(super) const BULK_ROOT_STATIC: u32 = 38;
    pub(super) const METHOD_LOAD: u32 = 143;
    pub(super) const MODULE_LOAD: u32 = 152;
    pub(super) const RUNDOWN_METHOD_START: u32 = 143;
    pub(super) const RUNDOWN_METHOD_END: u32 = 144;
    pub(super) const RUNDOWN_MODULE_START: u32 = 153;
    pub(super) const RUNDOWN_MODULE_END: u32 = 154;
}

/// The oldest generation that a collection collects, and its kind.
const OLDEST: u32 = 2;
const BACKGROUND: u32 = 1;

/// Takes one snapshot out of the events of a process, which are to be given in the order of their times.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The number of the snapshot that is wanted.
    wanted: u32,
    /// How many there were.
    found: u32,
    state: State,
    /// The collection that is going on: its number.
    gc_number: Option<u32>,
    /// Whether the collection that is going on has objects.
    has_objects: bool,
    pub(super) content: Content,
    pub(super) modules: HashMap<u64, String>,
    /// Names of methods that have roots. Empty: not yet named.
    pub(super) methods: HashMap<u64, String>,
    pub(super) lost_events: u64,
    pub(super) damaged_payloads: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Outside,
    /// In a collection that may be a snapshot.
    Inside,
}

/// The snapshot that is wanted, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) gc_number: Option<u32>,
    pub(super) is_complete: bool,
    pub(super) kinds: Kinds,
    pub(super) heap: Heap,
    pub(super) roots: Roots,
    pub(super) ranges: Vec<RangeRecord>,
}

impl Snapshot {
    /// Takes the snapshot with this number of all that come: 0 is the first.
    pub fn new(number: u32) -> Self {
        Self { wanted: number, ..Self::default() }
    }

    /// Tells that events are missing in the stream.
    pub fn lost(&mut self, events: u64) {
        self.lost_events = self.lost_events.saturating_add(events);
    }

    /// Takes an event. Those that have nothing to do with snapshots are ignored.
    pub fn event(&mut self, event: Event<'_>) {
        let payload = Payload::new(event.payload);
        let read = match (event.provider, event.id) {
            (Provider::Runtime, id::GC_START) if event.version > 0 => self.gc_start(payload),
            (Provider::Runtime, id::GC_END) => self.gc_end(payload),
            (Provider::Runtime, id::BULK_TYPE) => self.content.kinds.describe(payload),
            (
                Provider::Runtime,
                id @ (id::BULK_ROOT_EDGE
                | id::BULK_ROOT_DEPENDENT
                | id::BULK_NODE
                | id::BULK_EDGE
                | id::BULK_ROOT_STATIC
                | id::GENERATION_RANGE),
            ) => self.content(id, payload),
            (Provider::Runtime, id::MODULE_LOAD)
            | (Provider::Rundown, id::RUNDOWN_MODULE_START | id::RUNDOWN_MODULE_END) => self.module(payload),
            (Provider::Runtime, id::METHOD_LOAD)
            | (Provider::Rundown, id::RUNDOWN_METHOD_START | id::RUNDOWN_METHOD_END) => self.method(payload),
            _ => return,
        };
        self.damaged_payloads += u64::from(read.is_none());
    }

    fn gc_start(&mut self, mut payload: Payload<'_>) -> Option<()> {
        let (number, generation) = (payload.u32()?, payload.u32()?);
        let (_reason, kind) = (payload.u32()?, payload.u32()?);
        // A collection during one that stops the program for long: the end of that one was lost.
        self.close(None);
        if self.state == State::Outside && generation >= OLDEST && kind != BACKGROUND {
            self.begin(Some(number));
        }
        Some(())
    }

    fn begin(&mut self, gc_number: Option<u32>) {
        self.state = State::Inside;
        self.gc_number = gc_number;
        self.has_objects = false;
    }

    fn is_wanted(&self) -> bool {
        self.found == self.wanted
    }

    fn gc_end(&mut self, mut payload: Payload<'_>) -> Option<()> {
        let number = payload.u32()?;
        if self.state == State::Outside || self.gc_number.is_some_and(|started| started != number) {
            return Some(());
        }
        self.close(Some(number));
        Some(())
    }

    /// Ends the collection that is going on, if there is one.
    fn close(&mut self, ended: Option<u32>) {
        if self.state == State::Outside {
            return;
        }
        self.state = State::Outside;
        if self.is_wanted() {
            if self.has_objects {
                self.content.is_complete = ended.is_some();
                self.content.gc_number = ended.or(self.gc_number);
            } else {
                // A collection for another reason.
                self.content.roots = Roots::default();
                self.content.ranges = Vec::new();
                self.content.heap = Heap::default();
            }
        }
        self.found += u32::from(self.has_objects);
    }

    /// How many snapshots there were, with the one that has not ended.
    pub(super) fn count(&self) -> u32 {
        self.found + u32::from(self.state == State::Inside && self.has_objects)
    }

    fn content(&mut self, id: u32, payload: Payload<'_>) -> Option<()> {
        if self.state == State::Outside {
            if id == id::GENERATION_RANGE {
                return Some(());
            }
            // The start of the collection was lost.
            self.begin(None);
        }
        self.has_objects |= id == id::BULK_NODE;
        if !self.is_wanted() {
            return Some(());
        }
        self.content.gc_number = self.gc_number;
        let Content { kinds, heap, roots, ranges, .. } = &mut self.content;
        match id {
            id::BULK_ROOT_EDGE => roots.bulk_roots(payload),
            id::BULK_ROOT_DEPENDENT => roots.bulk_dependent(payload),
            id::BULK_ROOT_STATIC => roots.bulk_statics(payload),
            id::BULK_NODE => heap.nodes(payload, kinds),
            id::BULK_EDGE => heap.edges(payload),
            // The ranges come twice: at the start of the collection, and again at its end.
            _ if heap.has_objects => range(payload).map(|range| ranges.push(range)),
            _ => Some(()),
        }
    }

    fn module(&mut self, mut payload: Payload<'_>) -> Option<()> {
        let (module, _assembly) = (payload.u64()?, payload.u64()?);
        let (_flags, _reserved, path) = (payload.u32()?, payload.u32()?, payload.text()?);
        if !path.is_empty() {
            self.modules.insert(module, file_name(&path).to_owned());
        }
        Some(())
    }

    /// Keeps the name of a method if a local variable of it is a root.
    fn method(&mut self, mut payload: Payload<'_>) -> Option<()> {
        let (method, _module, _start) = (payload.u64()?, payload.u64()?, payload.u64()?);
        if self.methods.is_empty() {
            let stack = |root: &&RootRecord| root.kind == RootRecord::STACK && root.id != 0;
            let roots = self.content.roots.roots.iter().filter(stack);
            self.methods.extend(roots.map(|root| (root.id, String::new())));
        }
        let Some(name) = self.methods.get_mut(&method) else { return Some(()) };
        let (_size, _token, _flags) = (payload.u32()?, payload.u32()?, payload.u32()?);
        *name = format!("{}.{}", payload.text()?, payload.text()?);
        Some(())
    }
}

fn range(mut payload: Payload<'_>) -> Option<RangeRecord> {
    Some(RangeRecord {
        generation: payload.u8()?,
        start: payload.u64()?,
        used_bytes: payload.u64()?,
        reserved_bytes: payload.u64()?,
    })
}
