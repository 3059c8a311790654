//! What a stream tells once and for all: who cuts a stream has to repeat it.

use netcore_profiler::wire::{self, Record, event_id};

use super::events;
use super::fold::Occurrence;

/// What an event means to the rest of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// How things are: the last event of its kind holds.
    State,
    /// A profiler has come, and this is how it is; what another one told is void.
    Begin,
    /// What static fields hold: all of it.
    Table,
    /// What static fields hold: the rest of it, or what has changed since.
    Change,
    /// It says what an identifier means.
    Meaning,
    /// All identifiers told so far are void.
    Forget,
}

/// `None`: it belongs to its moment only.
pub(crate) fn lasting(e: &Occurrence<'_>) -> Option<Lasting> {
    match (e.provider, e.id) {
        (events::RUNTIME_PROVIDER, events::RUNTIME_INFORMATION) => Some(Lasting::State),
        (wire::PROVIDER_NAME, event_id::HELLO) => Some(Lasting::Begin),
        (wire::PROVIDER_NAME, event_id::STATICS) => match wire::decode(e.id, e.payload) {
            Ok(Record::Statics(all)) if all.phase == wire::StaticsPhase::FULL && all.part == 0 => {
                Some(Lasting::Table)
            }
            Ok(_) => Some(Lasting::Change),
            Err(_) => None,
        },
        (wire::PROVIDER_NAME, event_id::NOTE) => match wire::decode(e.id, e.payload) {
            Ok(Record::Note(note)) if note.code == wire::NoteCode::FELL_BACK_ALWAYS => Some(Lasting::State),
            _ => None,
        },
        (wire::PROVIDER_NAME, event_id::FORGET) => Some(Lasting::Forget),
        (
            wire::PROVIDER_NAME,
            event_id::CLASS
            | event_id::METHOD
            | event_id::MODULE
            | event_id::TYPE_DEF
            | event_id::METHOD_DEF
            | event_id::FIELD_DEF,
        ) => Some(Lasting::Meaning),
        _ => None,
    }
}
