//! The call stack of an event.

use std::fmt;

/// A call stack: the addresses to which the calls return, the innermost first.
///
/// [`Symbols`](super::Symbols) gives the methods of the addresses.
#[derive(Clone, Copy, Default)]
pub struct Stack<'a> {
    bytes: &'a [u8],
    pointer_bytes: u8,
}

impl<'a> Stack<'a> {
    pub(super) fn new(bytes: &'a [u8], pointer_bytes: u8) -> Self {
        Self { bytes, pointer_bytes }
    }

    /// Number of addresses.
    pub fn len(self) -> usize {
        self.bytes.len() / usize::from(self.pointer_bytes).max(1)
    }

    /// Whether the event has no stack.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The addresses.
    pub fn addresses(self) -> impl ExactSizeIterator<Item = u64> + 'a {
        let bytes = usize::from(self.pointer_bytes).max(1);
        self.bytes.chunks_exact(bytes).map(|address| {
            let mut wide = [0; 8];
            wide[..address.len()].copy_from_slice(address);
            u64::from_le_bytes(wide)
        })
    }

    /// The addresses as the stream has them: little-endian,
    /// [`TraceInfo::pointer_size`](super::TraceInfo::pointer_size) bytes each.
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }
}

impl fmt::Debug for Stack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.addresses().map(|address| format!("{address:#x}"))).finish()
    }
}
