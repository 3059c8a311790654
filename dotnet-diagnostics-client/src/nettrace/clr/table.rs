//! The entries of the table.

use std::collections::HashMap;

use crate::nettrace::field::Field;

/// A kind of event of the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClrEvent {
    /// Name of the event in the runtime's documentation, such as `GCStart`.
    pub name: &'static str,
    /// Name of the event as PerfView and dotnet-trace show it, such as `GC/Start`.
    pub display_name: &'static str,
    /// Number of the event in its provider.
    pub id: u32,
    /// Version of the payload's layout.
    pub version: u32,
    /// Verbosity: 1 critical to 5 verbose, 0 always.
    pub level: u32,
    /// Keywords of the event, a bit set.
    pub keywords: u64,
    /// Fields of the payload in order.
    pub fields: Vec<Field>,
}

/// A keyword of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClrKeyword {
    /// Name of the keyword, such as `GC`.
    pub name: &'static str,
    /// Its bit.
    pub mask: u64,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) providers: HashMap<&'static str, Provider>,
}

#[derive(Debug, Default)]
pub(super) struct Provider {
    pub(super) keywords: Vec<ClrKeyword>,
    /// The versions of each event, the lowest first.
    pub(super) events: HashMap<u32, Vec<ClrEvent>>,
}
