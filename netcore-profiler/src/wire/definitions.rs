//! Names from the metadata of modules.

use super::payload::{field, fields, payload};
use super::text::{Text, Texts};

/// Whether a definition could be read. Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DefStatus(pub u8);

impl DefStatus {
    /// It was read.
    pub const OK: Self = Self(0);
    /// The module was unloaded before it could be read; there is no name.
    pub const UNLOADED: Self = Self(1);
    /// The runtime did not return it; there is no name.
    pub const UNREADABLE: Self = Self(2);
}

field! { DefStatus }

/// A module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Module<'a> {
    /// Its identifier.
    pub module_id: u64,
    /// `COR_PRF_MODULE_FLAGS`.
    pub flags: u32,
    /// Path of its file; empty if it has none.
    pub path: Text<'a>,
}

payload! { MODULE, Module<'a>: module_id, flags, path }

/// A type definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeDef<'a> {
    /// Its module.
    pub module_id: u64,
    /// `mdTypeDef`.
    pub token: u32,
    /// Whether it could be read.
    pub status: DefStatus,
    /// The name in the metadata, with the namespace and the enclosing types: ``Namespace.Outer+Inner`1``.
    pub name: Text<'a>,
    /// Names of the generic parameters, with those of the enclosing types.
    pub params: Texts<'a>,
}

payload! { TYPE_DEF, TypeDef<'a>: module_id, token, status, name, params }

/// A method definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodDef<'a> {
    /// Its module.
    pub module_id: u64,
    /// `mdMethodDef`.
    pub token: u32,
    /// Whether it could be read.
    pub status: DefStatus,
    /// `mdTypeDef` of the declaring type, whose [`TypeDef`] comes before this; 0: unknown.
    pub type_token: u32,
    /// The name in the metadata.
    pub name: Text<'a>,
    /// Whether it is the `MoveNext` of an async method's state machine.
    pub is_async: bool,
    /// Names of its own generic parameters.
    pub params: Texts<'a>,
}

payload! { METHOD_DEF, MethodDef<'a>: module_id, token, status, type_token, name, is_async, params }

/// All names for collections up to this one have been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamesDone {
    /// The collection.
    pub gc_seq: u64,
}

payload! { NAMES_DONE, NamesDone: gc_seq }

/// A static field whose values are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldDef<'a> {
    /// Its number in [`StaticRow`](super::StaticRow)s.
    pub field: u32,
    /// Module of its class.
    pub module_id: u64,
    /// `mdTypeDef` of its class, whose [`TypeDef`] comes before this.
    pub type_token: u32,
    /// `mdFieldDef`.
    pub token: u32,
    /// Address of the reference.
    pub slot: u64,
    /// Whether each thread has its own.
    pub thread_static: bool,
    /// The name in the metadata.
    pub name: Text<'a>,
}

payload! { FIELD_DEF, FieldDef<'a>: field, module_id, type_token, token, slot, thread_static, name }
