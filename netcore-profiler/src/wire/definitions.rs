//! Names: what the metadata of modules say.

use super::cursor::{Reader, WireError, Writer};
use super::text::{Text, Texts};

/// Whether a definition could be read. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DefStatus(pub u8);

impl DefStatus {
    /// It is what it says.
    pub const OK: Self = Self(0);
    /// The module was unloaded before it could be read; there is no name.
    pub const UNLOADED: Self = Self(1);
    /// The runtime did not give it; there is no name.
    pub const UNREADABLE: Self = Self(2);
}

/// A module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Module<'a> {
    /// Its identifier.
    pub module_id: u64,
    /// `COR_PRF_MODULE_FLAGS`.
    pub flags: u32,
    /// Where it was loaded from; empty where it has no file.
    pub path: Text<'a>,
}

impl<'a> Module<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(payload);
        Ok(Self { module_id: r.u64()?, flags: r.u32()?, path: Text::decode(&mut r)? })
    }

    /// Writes the payload and returns its length.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut w = Writer::new(buffer);
        w.u64(self.module_id);
        w.u32(self.flags);
        self.path.encode(&mut w);
        w.finish()
    }
}

/// A type definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeDef<'a> {
    /// Its module.
    pub module_id: u64,
    /// `mdTypeDef`.
    pub token: u32,
    /// Whether it could be read.
    pub status: DefStatus,
    /// The name in the metadata, with the namespace and the types around it:
    /// ``Namespace.Outer+Inner`1``.
    pub name: Text<'a>,
    /// Names of the generic parameters, those of the types around it included.
    pub params: Texts<'a>,
}

impl<'a> TypeDef<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(payload);
        Ok(Self {
            module_id: r.u64()?,
            token: r.u32()?,
            status: DefStatus(r.u8()?),
            name: Text::decode(&mut r)?,
            params: Texts::decode(&mut r)?,
        })
    }

    /// Writes the payload and returns its length.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut w = Writer::new(buffer);
        w.u64(self.module_id);
        w.u32(self.token);
        w.u8(self.status.0);
        self.name.encode(&mut w);
        self.params.encode(&mut w);
        w.finish()
    }
}

/// A method definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodDef<'a> {
    /// Its module.
    pub module_id: u64,
    /// `mdMethodDef`.
    pub token: u32,
    /// Whether it could be read.
    pub status: DefStatus,
    /// `mdTypeDef` of the type that has it; its [`TypeDef`] comes before this. 0 unknown.
    pub type_token: u32,
    /// The name in the metadata.
    pub name: Text<'a>,
    /// It is the `MoveNext` of an async method's state machine.
    pub is_async: bool,
    /// Names of its own generic parameters.
    pub params: Texts<'a>,
}

impl<'a> MethodDef<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(payload);
        Ok(Self {
            module_id: r.u64()?,
            token: r.u32()?,
            status: DefStatus(r.u8()?),
            type_token: r.u32()?,
            name: Text::decode(&mut r)?,
            is_async: r.u8()? != 0,
            params: Texts::decode(&mut r)?,
        })
    }

    /// Writes the payload and returns its length.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut w = Writer::new(buffer);
        w.u64(self.module_id);
        w.u32(self.token);
        w.u8(self.status.0);
        w.u32(self.type_token);
        self.name.encode(&mut w);
        w.u8(u8::from(self.is_async));
        self.params.encode(&mut w);
        w.finish()
    }
}

/// Every name that collections up to this one need has been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamesDone {
    /// The collection.
    pub gc_seq: u64,
}

impl NamesDone {
    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        Ok(Self { gc_seq: Reader::new(payload).u64()? })
    }

    /// Writes the payload and returns its length.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut w = Writer::new(buffer);
        w.u64(self.gc_seq);
        w.finish()
    }
}

/// A static field of a reference type that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldDef<'a> {
    /// Running number, by which [`StaticRow`](super::StaticRow)s refer to it.
    pub field: u32,
    /// Module of its class.
    pub module_id: u64,
    /// `mdTypeDef` of its class; its [`TypeDef`] comes before this.
    pub type_token: u32,
    /// `mdFieldDef`.
    pub token: u32,
    /// Address of the reference.
    pub slot: u64,
    /// There is one of each thread.
    pub thread_static: bool,
    /// The name in the metadata.
    pub name: Text<'a>,
}

impl<'a> FieldDef<'a> {
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(payload);
        Ok(Self {
            field: r.u32()?,
            module_id: r.u64()?,
            type_token: r.u32()?,
            token: r.u32()?,
            slot: r.u64()?,
            thread_static: r.u8()? != 0,
            name: Text::decode(&mut r)?,
        })
    }

    /// Writes the payload and returns its length.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut w = Writer::new(buffer);
        w.u32(self.field);
        w.u64(self.module_id);
        w.u32(self.type_token);
        w.u32(self.token);
        w.u64(self.slot);
        w.u8(u8::from(self.thread_static));
        self.name.encode(&mut w);
        w.finish()
    }
}
