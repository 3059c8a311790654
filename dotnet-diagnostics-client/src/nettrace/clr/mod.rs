//! What the runtime's manifest says about its own events. The runtime writes them without names and fields.
//!
//! The table is that of .NET 10.0.12 (`cargo xtask clr-events`). Its source is the compiled form of `ClrEtwAll.man` that
//! this runtime brings for Windows; the names of events are those of its tracepoints on Linux. It has the providers
//! [`RUNTIME`], [`RUNDOWN`] and [`PRIVATE`]: garbage collection, allocation, exceptions, JIT, loader, threads, contention
//! and more.

mod corrections;
mod parse;
mod table;

use std::sync::LazyLock;

pub use table::{ClrEvent, ClrKeyword};

use table::Table;

/// The runtime's provider of events.
pub const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
/// The provider of what existed before a session: methods, modules, settings. It sends at the end of a session.
pub const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";
/// The provider of details for those who develop the runtime: steps of background collections, finalized objects, the
/// runtime's own startup. Its numbers of events and its keywords are not those of [`RUNTIME`].
pub const PRIVATE: &str = "Microsoft-Windows-DotNETRuntimePrivate";

/// Made by `cargo xtask clr-events`.
const EVENTS: &str = include_str!("events.txt");

static TABLE: LazyLock<Table> = LazyLock::new(|| parse::table(EVENTS));

/// The event of a provider with this number. Of a version that is newer than the table, the newest known one: later
/// versions append fields. `None` if the table does not have the event.
pub fn event(provider: &str, id: u32, version: u32) -> Option<&'static ClrEvent> {
    let versions = TABLE.providers.get(provider)?.events.get(&id)?;
    versions.iter().rev().find(|event| event.version <= version)
}

/// All events of a provider, sorted by number and version. Empty for a provider that the table does not have.
pub fn events(provider: &str) -> Vec<&'static ClrEvent> {
    let mut events: Vec<_> = TABLE
        .providers
        .get(provider)
        .into_iter()
        .flat_map(|provider| provider.events.values().flatten())
        .collect();
    events.sort_by_key(|event| (event.id, event.version));
    events
}

/// The keywords of a provider. Empty for a provider that the table does not have.
pub fn keywords(provider: &str) -> &'static [ClrKeyword] {
    TABLE.providers.get(provider).map_or(&[], |provider| &provider.keywords)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nettrace::field::{ArrayLength, Field, FieldType, Sizes};

    #[test]
    fn every_line_of_the_table_is_read() {
        let lines = |start| EVENTS.lines().filter(|line| line.starts_with(start)).count();
        let all: Vec<_> = [RUNTIME, RUNDOWN, PRIVATE].into_iter().flat_map(events).collect();
        assert_eq!(all.len(), lines("event "));
        let known = [RUNTIME, RUNDOWN, PRIVATE].into_iter().flat_map(keywords).count();
        assert_eq!(known, lines("keyword "));
        assert!(lines("event ") > 100 && lines("keyword ") > 30);
        let known = ["#", "event", "keyword", "provider"];
        assert!(EVENTS.lines().all(|line| known.iter().any(|word| line.starts_with(word))));
    }

    #[test]
    fn a_start_of_a_collection() {
        let start = event(RUNTIME, 1, 2).unwrap();
        assert_eq!(
            (start.name, start.display_name, start.level, start.keywords),
            ("GCStart", "GC/Start", 4, 1)
        );
        let names: Vec<_> = start.fields.iter().map(|field| &*field.name).collect();
        assert_eq!(names, ["Count", "Depth", "Reason", "Type", "ClrInstanceID", "ClientSequenceNumber"]);
        assert_eq!(event(RUNTIME, 1, 99), Some(start), "a later version");
        assert_eq!(event(RUNTIME, 1, 0).unwrap().fields.len(), 2);
        assert_eq!((event(RUNTIME, 9999, 0), event("P", 1, 2)), (None, None));
    }

    #[test]
    fn arrays_refer_to_an_earlier_field() {
        let moved = event(RUNTIME, 22, 0).unwrap();
        let values = moved.fields.iter().find(|field| &*field.name == "Values").unwrap();
        let FieldType::Array(array) = &values.field_type else { panic!("{values:?}") };
        let ArrayLength::Field(index) = array.length else { panic!("{values:?}") };
        assert_eq!(&*moved.fields[usize::from(index)].name, "Count");
    }

    fn elements(id: u32) -> &'static [Field] {
        let event = event(RUNTIME, id, 0).unwrap();
        let Some(FieldType::Array(array)) = event.fields.last().map(|field| &field.field_type) else {
            panic!("{event:?}");
        };
        let FieldType::Struct(fields) = &array.element else { panic!("{event:?}") };
        fields
    }

    #[test]
    fn elements_are_as_large_as_the_runtime_writes_them() {
        let size = |id, pointer_bytes| -> usize {
            elements(id)
                .iter()
                .filter_map(|field| field.field_type.fixed_size(Sizes::new(pointer_bytes)))
                .sum()
        };
        assert_eq!((size(208, 8), size(208, 4)), (32, 20));
        assert_eq!((size(209, 8), size(209, 4)), (16, 12));
    }

    #[test]
    fn a_stack_has_as_many_frames_as_it_says() {
        for (provider, id) in [(RUNTIME, 82), (RUNDOWN, 0), (PRIVATE, 151)] {
            let walk = event(provider, id, 0).unwrap();
            let Some(FieldType::Array(array)) = walk.fields.last().map(|field| &field.field_type) else {
                panic!("{walk:?}");
            };
            assert_eq!(array.length, ArrayLength::Field(3), "{provider}");
        }
    }
}
