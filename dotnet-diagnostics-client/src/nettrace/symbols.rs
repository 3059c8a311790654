//! Names of the methods in call stacks, from the runtime's events about methods and modules.

use std::collections::{BTreeMap, HashMap};

use super::bytes::{Bytes, Result};
use super::event::Event;
use super::field::OVERHEAD_BYTES;

/// Events of the runtime's provider, when something is loaded.
const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
const METHOD_LOAD_VERBOSE: u32 = 143;
const MODULE_LOAD: u32 = 152;
const IL_TO_NATIVE_MAP: u32 = 190;

/// Events of the rundown about what is loaded at the beginning or end of a session, with the same layouts.
const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";
const METHOD_DC_START_VERBOSE: u32 = 143;
const METHOD_DC_END_VERBOSE: u32 = 144;
const IL_TO_NATIVE_MAP_DC_START: u32 = 149;
const IL_TO_NATIVE_MAP_DC_END: u32 = 150;
const MODULE_DC_START: u32 = 153;
const MODULE_DC_END: u32 = 154;

/// What all names may take, in bytes. A large application has 100,000 methods, some 40 MB.
const MAX_BYTES: usize = 256 << 20;

/// The methods of a process by address.
///
/// Add all events of a session that has a rundown, then ask for the addresses of the [stacks](super::Event::stack). The
/// rundown comes at the end of the stream, so the names of most methods do, too. A session needs these keywords of the
/// runtime's provider for methods that are compiled meanwhile: loader (`0x8`), JIT (`0x10`), NGEN (`0x20`).
///
/// Addresses outside of managed code have no method: the runtime itself, and native libraries.
#[derive(Debug, Default)]
pub struct Symbols {
    /// By address of the first byte. Of code that replaced other code the latest.
    methods: BTreeMap<u64, Code>,
    modules: HashMap<u64, Box<str>>,
    /// By method id and number of the compilation.
    maps: HashMap<(u64, u64), Box<[Mapping]>>,
    bytes: usize,
    left_out: u64,
}

/// An IL offset and its native offset, in bytes.
type Mapping = (u32, u32);

#[derive(Debug)]
struct Code {
    id: u64,
    rejit_id: u64,
    module_id: u64,
    size_bytes: u32,
    method: Method,
}

impl Code {
    /// Memory in bytes.
    fn memory(&self) -> usize {
        let Method { type_name, name, signature, .. } = &self.method;
        size_of::<Self>() + type_name.len() + name.len() + signature.len()
    }
}

/// A method.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Method {
    /// Namespace and type, such as ``System.Collections.Generic.List`1[System.Int32]``.
    pub type_name: Box<str>,
    /// Name of the method.
    pub name: Box<str>,
    /// Signature as the runtime writes it, such as `instance void  (int32)`.
    pub signature: Box<str>,
    /// Metadata token of the method in its module. 0 for a dynamic method.
    pub token: u32,
}

/// A place in a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Symbol<'a> {
    /// The method.
    pub method: &'a Method,
    /// Path of the module's file, as the target names it. `None` if the stream does not say.
    pub module: Option<&'a str>,
    /// Offset of the address in the machine code of the method, in bytes.
    pub native_offset: u32,
    /// Offset of the call in the IL of the method, in bytes. `None` if the stream has no map (keyword `0x20000`).
    pub il_offset: Option<u32>,
}

impl Symbols {
    /// Without methods.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in an event. Events about other things are ignored, and so are those that cannot be read.
    pub fn add(&mut self, event: &Event<'_>) {
        let bytes = Bytes::new(event.payload);
        let _ = match (&*event.metadata.provider, event.metadata.event_id) {
            (RUNTIME, METHOD_LOAD_VERBOSE) | (RUNDOWN, METHOD_DC_START_VERBOSE | METHOD_DC_END_VERBOSE) => {
                self.method(bytes, event.version())
            }
            (RUNTIME, MODULE_LOAD) | (RUNDOWN, MODULE_DC_START | MODULE_DC_END) => self.module(bytes),
            (RUNTIME, IL_TO_NATIVE_MAP) | (RUNDOWN, IL_TO_NATIVE_MAP_DC_START | IL_TO_NATIVE_MAP_DC_END) => {
                self.map(bytes)
            }
            _ => Ok(()),
        };
    }

    /// Number of methods.
    pub fn len(&self) -> usize {
        self.methods.len()
    }

    /// Whether there is no method.
    pub fn is_empty(&self) -> bool {
        self.methods.is_empty()
    }

    /// Number of events that were left out because the names take 256 MiB already.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The method to which an address of a [`Stack`](super::Stack) returns. `None` if it is not in managed code, or if
    /// the stream does not name the method.
    pub fn resolve(&self, address: u64) -> Option<Symbol<'_>> {
        // The call is before the address to which it returns, which can be that of the next method.
        let call = address.checked_sub(1)?;
        let (start, code) = self.methods.range(..=call).next_back()?;
        let offset = u32::try_from(call - start).ok().filter(|offset| *offset < code.size_bytes)?;
        let map = self.maps.get(&(code.id, code.rejit_id));
        Some(Symbol {
            method: &code.method,
            module: self.modules.get(&code.module_id).map(|path| &**path),
            native_offset: offset.saturating_add(1),
            il_offset: map.and_then(|map| il_offset(map, offset)),
        })
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        let after = self.bytes.saturating_add(bytes + OVERHEAD_BYTES);
        let fits = after <= MAX_BYTES;
        match fits {
            true => self.bytes = after,
            false => self.left_out += 1,
        }
        fits
    }

    fn method(&mut self, mut bytes: Bytes<'_>, version: u32) -> Result<()> {
        let (id, module_id, start) = (bytes.u64()?, bytes.u64()?, bytes.u64()?);
        let (size_bytes, token, _flags) = (bytes.u32()?, bytes.u32()?, bytes.u32()?);
        let (type_name, name, signature) = (bytes.utf16z()?, bytes.utf16z()?, bytes.utf16z()?);
        // The number of the CLR instance, and from version 2 on that of the compilation.
        let rejit_id = match version {
            0 | 1 => 0,
            _ => {
                bytes.u16()?;
                bytes.u64()?
            }
        };
        let code = Code {
            id,
            rejit_id,
            module_id,
            size_bytes,
            method: Method { type_name, name, signature, token },
        };
        if self.has_room(code.memory())
            && let Some(before) = self.methods.insert(start, code)
        {
            self.bytes -= before.memory() + OVERHEAD_BYTES;
        }
        Ok(())
    }

    fn module(&mut self, mut bytes: Bytes<'_>) -> Result<()> {
        let id = bytes.u64()?;
        // The assembly, flags, and a reserved number.
        bytes.take(8 + 4 + 4)?;
        let (il_path, native_path) = (bytes.utf16z()?, bytes.utf16z()?);
        let path = if il_path.is_empty() { native_path } else { il_path };
        if self.has_room(path.len())
            && let Some(before) = self.modules.insert(id, path)
        {
            self.bytes -= before.len() + OVERHEAD_BYTES;
        }
        Ok(())
    }

    fn map(&mut self, mut bytes: Bytes<'_>) -> Result<()> {
        let (id, rejit_id) = (bytes.u64()?, bytes.u64()?);
        let _extent = bytes.u8()?;
        let count = usize::from(bytes.u16()?);
        let (il, native) = (bytes.take(count * 4)?, bytes.take(count * 4)?);
        if !self.has_room(count * 8) {
            return Ok(());
        }
        let numbers =
            |bytes: &[u8]| bytes.as_chunks().0.iter().map(|n| u32::from_le_bytes(*n)).collect::<Vec<_>>();
        let mut map: Vec<_> = numbers(il).into_iter().zip(numbers(native)).collect();
        map.sort_by_key(|(_, native)| *native);
        if let Some(before) = self.maps.insert((id, rejit_id), map.into()) {
            self.bytes -= before.len() * 8 + OVERHEAD_BYTES;
        }
        Ok(())
    }
}

/// The IL offset of the last entry that is not after a native offset. Prologue and epilogue have none.
fn il_offset(map: &[Mapping], native_offset: u32) -> Option<u32> {
    /// Negative numbers mark prologue, epilogue and code without IL.
    const FIRST_MARKER: u32 = u32::MAX - 2;
    let after = map.partition_point(|(_, native)| *native <= native_offset);
    map[..after].last().map(|(il, _)| *il).filter(|il| *il < FIRST_MARKER)
}

impl std::fmt::Display for Method {
    /// Type and name. The target chooses them, so they can have any characters.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.type_name.is_empty() {
            write!(f, "{}.", self.type_name)?;
        }
        f.write_str(&self.name)
    }
}
