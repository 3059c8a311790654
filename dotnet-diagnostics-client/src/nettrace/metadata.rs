//! Definitions of events. A stream has them itself.

use super::field::{Field, OVERHEAD_BYTES};

/// The definition of a kind of event in the stream.
///
/// The runtime's own providers leave the name empty and list no fields. Provider, event id and version then identify
/// the kind of event, and the layout of its payload is documented elsewhere: in `ClrEtwAll.man` of dotnet/runtime.
/// [`Event::name`](super::Event::name) and [`Event::fields`](super::Event::fields) know it with the feature
/// `clr-events`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// Id of this definition in the stream.
    pub id: u32,
    /// Name of the provider, such as `Microsoft-Windows-DotNETRuntime`.
    pub provider: Box<str>,
    /// Number of the event in its provider.
    pub event_id: u32,
    /// Name of the event, often empty.
    pub name: Box<str>,
    /// Keywords of the event, a bit set.
    pub keywords: u64,
    /// Version of the payload's layout.
    pub version: u32,
    /// Verbosity: 1 critical to 5 verbose, 0 always.
    pub level: u32,
    /// Opcode, if the stream has it.
    pub opcode: Option<u8>,
    /// Fields of the payload in order. Empty or incomplete if the stream does not define them.
    pub fields: Vec<Field>,
    /// What the runtime's manifest says about the event.
    #[cfg(feature = "clr-events")]
    pub(super) clr: Option<&'static super::clr::ClrEvent>,
}

impl Metadata {
    /// A definition without fields and keywords.
    pub(super) fn new(id: u32, provider: Box<str>, event_id: u32, name: Box<str>) -> Self {
        Self {
            id,
            provider,
            event_id,
            name,
            keywords: 0,
            version: 0,
            level: 0,
            opcode: None,
            fields: Vec::new(),
            #[cfg(feature = "clr-events")]
            clr: None,
        }
    }

    /// Adds what the runtime's manifest says, if the feature `clr-events` is on.
    pub(super) fn with_manifest(self) -> Self {
        Self {
            #[cfg(feature = "clr-events")]
            clr: super::clr::event(&self.provider, self.event_id, self.version),
            ..self
        }
    }

    /// Memory of the definition in bytes. It can be many times as large as the definition in the stream.
    pub(super) fn memory(&self) -> usize {
        let own = size_of::<Self>() + OVERHEAD_BYTES + self.provider.len() + self.name.len();
        own + self.fields.iter().map(Field::memory).sum::<usize>()
    }

    /// The name of the event: that of the stream, or else that of the runtime's manifest (feature `clr-events`). Empty
    /// if neither has one.
    pub fn event_name(&self) -> &str {
        #[cfg(feature = "clr-events")]
        if let (true, Some(clr)) = (self.name.is_empty(), self.clr) {
            return clr.name;
        }
        &self.name
    }

    /// The fields of the stream, or else those of the runtime's manifest (feature `clr-events`).
    pub fn event_fields(&self) -> &[Field] {
        #[cfg(feature = "clr-events")]
        if let (true, Some(clr)) = (self.fields.is_empty(), self.clr) {
            return &clr.fields;
        }
        &self.fields
    }
}
