//! Names, cut into frames.

use std::io::Write;

use super::error::Result;
use crate::format::{ClassName, GraphWriter, MethodName, Names, StaticName};

/// How many bytes of names one frame has, about.
const FRAME_BYTES: usize = 256 << 10;
/// Longer names are cut: JSON may need 6 bytes for one.
const MAX_NAME_BYTES: usize = 16 << 10;
/// A module's name comes again with each of its classes.
const MAX_MODULE_BYTES: usize = 256;
/// What a name needs beside its own bytes, about.
const OVERHEAD_BYTES: usize = 64;

/// Collects names, and writes a frame when there are enough for one.
pub(super) struct NamesOut<'a, W> {
    writer: &'a mut GraphWriter<W>,
    names: Names,
    bytes: usize,
}

/// The name of a module's file, without its directory.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn cut(mut name: String, max_bytes: usize) -> String {
    name.truncate(name.floor_char_boundary(max_bytes));
    name
}

impl<'a, W: Write> NamesOut<'a, W> {
    pub(super) fn new(writer: &'a mut GraphWriter<W>) -> Self {
        Self { writer, names: Names::default(), bytes: 0 }
    }

    pub(super) fn class(&mut self, index: u32, name: String, module: Option<String>) -> Result<()> {
        let (name, module) = (cut(name, MAX_NAME_BYTES), module.map(|module| cut(module, MAX_MODULE_BYTES)));
        self.bytes += name.len() + module.as_ref().map_or(0, String::len);
        self.names.classes.push(ClassName { index, name, module, fields: Vec::new() });
        self.flush_if_full()
    }

    pub(super) fn static_field(&mut self, slot: u64, name: String, thread: bool) -> Result<()> {
        let name = cut(name, MAX_NAME_BYTES);
        self.bytes += name.len();
        self.names.statics.push(StaticName { slot, name, thread });
        self.flush_if_full()
    }

    pub(super) fn method(&mut self, id: u64, name: String) -> Result<()> {
        let name = cut(name, MAX_NAME_BYTES);
        self.bytes += name.len();
        self.names.methods.push(MethodName { id, name });
        self.flush_if_full()
    }

    fn flush_if_full(&mut self) -> Result<()> {
        self.bytes += OVERHEAD_BYTES;
        if self.bytes >= FRAME_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what is left.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        Ok(self.writer.names(&std::mem::take(&mut self.names))?)
    }
}
