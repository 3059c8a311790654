//! Finds the framework types whose methods allocate handles on behalf of their callers.

use super::allocated_by::HELPERS;
use crate::agent::profiler::Profiler;
use crate::agent::text::{terminated, utf16};
use crate::metadata::Metadata;

const NAMES: [&str; HELPERS] = [
    "System.Runtime.InteropServices.GCHandle",
    "System.Runtime.InteropServices.GCHandle`1",
    "System.Runtime.InteropServices.PinnedGCHandle`1",
    "System.Runtime.InteropServices.WeakGCHandle`1",
    "System.Runtime.InteropServices.GCHandleExtensions",
    "System.WeakReference",
    "System.WeakReference`1",
    "System.Runtime.DependentHandle",
    "System.Runtime.CompilerServices.ConditionalWeakTable`2",
    "System.Memory`1",
    "System.ReadOnlyMemory`1",
    "System.Buffers.MemoryHandle",
];

impl Profiler {
    /// Remembers the methods of these types, if `module` is the one that defines them.
    pub(super) fn find_helpers(&self, module: usize, metadata: &Metadata) {
        let mut ranges = [(1, 0); HELPERS];
        for (name, range) in NAMES.iter().zip(&mut ranges) {
            let name: [u16; 72] = utf16(name);
            if let Some(token) = metadata.find_type(terminated(&name))
                && let Some(methods) = metadata.method_range(token)
            {
                *range = methods;
            }
        }
        let [handle, ..] = ranges;
        if handle != (1, 0) {
            self.names.allocating_methods.set_helpers(module, &ranges);
        }
    }
}
