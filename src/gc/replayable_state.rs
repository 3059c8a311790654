//! Replayable state: events that the stream holds once, and that every later file of a rotation has to repeat.

use netcore_profiler::wire::{self, Record, event_id};

use super::events;
use super::stream_event::StreamEvent;

/// What an event contributes to the replayable state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayableState {
    /// Only the last event of this kind counts.
    Latest,
    /// The profiler's hello. It voids what another profiler said.
    Hello,
    /// The first part of a complete list of static fields' values. It replaces the list before.
    AllStatics,
    /// A further part of that list, or changes to it.
    StaticsChange,
    /// The definition of an id.
    Definition,
    /// All definitions so far are void.
    Forget,
}

/// `None`: nothing.
pub(crate) fn replayable_state(e: &StreamEvent<'_>) -> Option<ReplayableState> {
    match (e.provider, e.id) {
        (events::RUNTIME_PROVIDER, events::RUNTIME_INFORMATION) => Some(ReplayableState::Latest),
        (wire::PROVIDER_NAME, event_id::HELLO) => Some(ReplayableState::Hello),
        (wire::PROVIDER_NAME, event_id::STATICS) => match wire::decode(e.id, e.payload) {
            Ok(Record::Statics(all)) if all.phase == wire::StaticsPhase::FULL && all.part == 0 => {
                Some(ReplayableState::AllStatics)
            }
            Ok(_) => Some(ReplayableState::StaticsChange),
            Err(_) => None,
        },
        (wire::PROVIDER_NAME, event_id::NOTE) => match wire::decode(e.id, e.payload) {
            Ok(Record::Note(note)) if note.code == wire::NoteCode::FELL_BACK_ALWAYS => {
                Some(ReplayableState::Latest)
            }
            _ => None,
        },
        (wire::PROVIDER_NAME, event_id::FORGET) => Some(ReplayableState::Forget),
        (
            wire::PROVIDER_NAME,
            event_id::CLASS
            | event_id::METHOD
            | event_id::MODULE
            | event_id::TYPE_DEF
            | event_id::METHOD_DEF
            | event_id::FIELD_DEF,
        ) => Some(ReplayableState::Definition),
        _ => None,
    }
}
