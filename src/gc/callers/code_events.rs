//! The runtime's events about code: where methods lie, and what they are called.

use crate::gc::events::Cursor;
use crate::gc::names::EventMethod;

/// Where the code of a method lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeRange {
    pub(super) start: u64,
    pub(super) bytes: u32,
}

/// A method with its names, which are UTF-16 in the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedCode {
    pub(super) range: CodeRange,
    pub(super) module: u64,
    pub(super) of: String,
    pub(super) name: String,
    pub(super) signature: String,
}

/// What an event says about code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CodeEvent {
    /// The method at this place is going.
    Unloaded(CodeRange, Option<NamedCode>),
    /// An assembly is going, and with it the code of its methods.
    AssemblyUnloaded,
    /// A method that is there at the end of the session.
    There(NamedCode),
    Module {
        id: u64,
        path: String,
    },
}

/// Decodes an event of the runtime's provider.
pub(super) fn of_runtime(id: u32, payload: &[u8]) -> Option<CodeEvent> {
    Some(match id {
        142 => CodeEvent::Unloaded(range(payload)?, None),
        144 => CodeEvent::Unloaded(range(payload)?, named(payload)),
        152 => module(payload)?,
        155 if collectible(payload)? => CodeEvent::AssemblyUnloaded,
        _ => return None,
    })
}

/// Decodes an event of the rundown.
pub(super) fn of_rundown(id: u32, payload: &[u8]) -> Option<CodeEvent> {
    Some(match id {
        143 | 144 => CodeEvent::There(named(payload)?),
        153 | 154 => module(payload)?,
        _ => return None,
    })
}

/// The identifiers and addresses of these events have 8 bytes in every process.
fn range(payload: &[u8]) -> Option<CodeRange> {
    let mut c = Cursor::new(payload, 8);
    c.skip(16)?;
    Some(CodeRange { start: c.u64()?, bytes: c.u32()? })
}

fn named(payload: &[u8]) -> Option<NamedCode> {
    let range = range(payload)?;
    let mut c = Cursor::new(payload, 8);
    c.skip(8)?;
    let module = c.u64()?;
    c.skip(20)?;
    Some(NamedCode { range, module, of: c.utf16(), name: c.utf16(), signature: c.utf16() })
}

/// Whether an assembly can be unloaded before the process ends. At its end the runtime says of all that they go.
fn collectible(payload: &[u8]) -> Option<bool> {
    const COLLECTIBLE: u32 = 0x8;
    let mut c = Cursor::new(payload, 8);
    c.skip(24)?;
    Some(c.u32()? & COLLECTIBLE != 0)
}

fn module(payload: &[u8]) -> Option<CodeEvent> {
    let mut c = Cursor::new(payload, 8);
    let id = c.u64()?;
    c.skip(16)?;
    Some(CodeEvent::Module { id, path: c.utf16() })
}

impl NamedCode {
    /// Its name, and whether it is only a way from one piece of code to another.
    pub(super) fn method(&self, framework: bool) -> EventMethod<'_> {
        EventMethod { of: &self.of, name: &self.name, signature: &self.signature, framework }
    }
}
