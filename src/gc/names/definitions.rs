//! Definitions: what the profiler says of ids of classes, methods, modules and static fields.

use netcore_profiler::wire::{ClassShape, DefStatus, MethodShape};

use crate::gc::map::HashMap;

/// The definition of a class id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) shape: ClassShape,
    pub(crate) module: u64,
    pub(crate) token: u32,
    pub(crate) rank: u8,
    /// Class of an array's elements; 0: see `element_type`.
    pub(crate) element: u64,
    /// CorElementType.
    pub(crate) element_type: u8,
    pub(crate) args: Vec<u64>,
}

/// The definition of a function id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Method {
    pub(crate) shape: MethodShape,
    /// 0: unknown.
    pub(crate) class: u64,
    pub(crate) module: u64,
    pub(crate) token: u32,
    pub(crate) args: Vec<u64>,
}

/// A type in metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeDef {
    pub(crate) status: DefStatus,
    /// `Namespace.Outer+Inner`1`.
    pub(crate) name: String,
    pub(crate) params: Vec<String>,
}

/// A method in metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MethodDef {
    pub(crate) status: DefStatus,
    pub(crate) type_token: u32,
    pub(crate) name: String,
    /// It is the body of an async method.
    pub(crate) is_async: bool,
    pub(crate) params: Vec<String>,
}

/// A static field and where its value lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) module: u64,
    pub(crate) type_token: u32,
    pub(crate) slot: u64,
    pub(crate) thread_static: bool,
    pub(crate) name: String,
}

/// All definitions that were valid at the same time.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    pub(super) classes: HashMap<u64, Class>,
    pub(super) methods: HashMap<u64, Method>,
    /// Whether the module is part of the shared framework.
    pub(super) modules: HashMap<u64, bool>,
    pub(super) types: HashMap<(u64, u32), TypeDef>,
    pub(super) method_defs: HashMap<(u64, u32), MethodDef>,
    /// Memory that they take, in bytes.
    pub(super) bytes: usize,
}

impl Definitions {
    /// Memory that they take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// There are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}
