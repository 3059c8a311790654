//! Names in a module's metadata: the methods of `IMetaDataImport2` that the agent calls, by slot.

use core::ffi::c_void;
use core::ptr::{self, NonNull};

use crate::com::Guid;
use crate::hresult::{HResult, S_OK, succeeded};
use crate::info::Info;

/// `IMetaDataImport2`, with generic parameters.
pub const IID_METADATA_IMPORT2: Guid = Guid::from_u128(0xfce5efa0_8bba_4f8e_a036_8f2022b08466);

/// The metadata of one module. Dropping it releases the reference.
#[derive(Debug)]
pub struct Metadata(NonNull<c_void>);

/// An enumeration. Dropping it closes it.
#[derive(Debug)]
struct Enum<'a> {
    metadata: &'a Metadata,
    handle: *mut c_void,
}

/// A method's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodProps {
    /// `mdTypeDef` of the declaring type.
    pub type_token: u32,
    /// Length of the name in UTF-16 units, without its zero.
    pub length: usize,
}

/// A field's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldProps<'a> {
    /// `CorFieldAttr`.
    pub attributes: u32,
    /// Signature of the field.
    pub signature: &'a [u8],
    /// Length of the name in UTF-16 units, without its zero.
    pub length: usize,
}

/// How many units were written, from a length that counts the zero and may exceed the room.
fn written(length: u32, room: usize) -> usize {
    (length as usize).min(room).saturating_sub(1)
}

impl Metadata {
    /// The metadata of a module.
    ///
    /// # Safety
    /// `module` is a `ModuleID` that is not unloaded while this exists.
    pub unsafe fn of(info: Info, module: usize) -> Result<Self, HResult> {
        // SAFETY: by the contract.
        unsafe { info.module_metadata(module, &IID_METADATA_IMPORT2) }.map(Self)
    }

    /// `GetTypeDefProps`, slot 12: writes the name with its namespace, and returns the length.
    pub fn type_name(&self, token: u32, name: &mut [u16]) -> Result<usize, HResult> {
        com_get!(self, 12, (
            token => u32,
            name.as_mut_ptr() => *mut u16,
            name.len() as u32 => u32,
            out length: u32,
            out _flags: u32,
            out _base: u32,
        ) => written(length, name.len()))
    }

    /// `GetNestedClassProps`, slot 62: the enclosing type of a nested type.
    pub fn enclosing_type(&self, token: u32) -> Option<u32> {
        let mut enclosing = 0_u32;
        let result = com_call!(self, 62, (token => u32, &raw mut enclosing => *mut u32) -> HResult);
        (succeeded(result) && enclosing & 0x00ff_ffff != 0 && enclosing != token).then_some(enclosing)
    }

    /// `GetMethodProps`, slot 30: writes the name.
    pub fn method(&self, token: u32, name: &mut [u16]) -> Result<MethodProps, HResult> {
        com_get!(self, 30, (
            token => u32,
            out type_token: u32,
            name.as_mut_ptr() => *mut u16,
            name.len() as u32 => u32,
            out length: u32,
            out _attributes: u32,
            out _signature: *const u8,
            out _bytes: u32,
            out _rva: u32,
            out _flags: u32,
        ) => MethodProps { type_token, length: written(length, name.len()) })
    }

    /// `FindTypeDefByName`, slot 9: a type that is not nested. The name is zero-terminated.
    pub fn find_type(&self, name: &[u16]) -> Option<u32> {
        com_get!(self, 9, (name.as_ptr() => *const u16, 0 => u32, out token: u32) => token).ok()
    }

    /// `EnumMethods`, slot 18: first and last token of a type's methods, whose numbers are consecutive.
    pub fn method_range(&self, type_token: u32) -> Option<(u32, u32)> {
        let mut tokens = [0_u32; 256];
        let found = self.tokens_of(18, type_token, &mut tokens);
        Some((*found.iter().min()?, *found.iter().max()?))
    }

    /// Calls `EnumMethods`, `EnumFields` or `EnumGenericParams`, which share a signature: the tokens that belong to
    /// `token`, as many as fit.
    fn tokens_of<'a>(&self, slot: usize, token: u32, tokens: &'a mut [u32]) -> &'a [u32] {
        let mut list = Enum { metadata: self, handle: ptr::null_mut() };
        let mut count = 0_u32;
        let result = com_call!(self, slot, (
            &raw mut list.handle => *mut *mut c_void,
            token => u32,
            tokens.as_mut_ptr() => *mut u32,
            tokens.len() as u32 => u32,
            &raw mut count => *mut u32,
        ) -> HResult);
        let count = if succeeded(result) { count as usize } else { 0 };
        tokens.get(..count).unwrap_or_default()
    }

    /// `EnumMethodsWithName`, slot 19: whether a type has a method of that name, which is
    /// zero-terminated.
    pub fn has_method(&self, type_token: u32, name: &[u16]) -> bool {
        let mut list = Enum { metadata: self, handle: ptr::null_mut() };
        let (mut found, mut count) = (0_u32, 0_u32);
        let result = com_call!(self, 19, (
            &raw mut list.handle => *mut *mut c_void,
            type_token => u32,
            name.as_ptr() => *const u16,
            &raw mut found => *mut u32,
            1 => u32,
            &raw mut count => *mut u32,
        ) -> HResult);
        succeeded(result) && count > 0
    }

    /// `EnumFields`, slot 20: tokens of a type's fields, as many as fit.
    pub fn fields<'a>(&self, token: u32, tokens: &'a mut [u32]) -> &'a [u32] {
        self.tokens_of(20, token, tokens)
    }

    /// `GetFieldProps`, slot 57: writes the name.
    pub fn field(&self, token: u32, name: &mut [u16]) -> Result<FieldProps<'_>, HResult> {
        let (attributes, signature, bytes, length) = com_get!(self, 57, (
            token => u32,
            out _type_token: u32,
            name.as_mut_ptr() => *mut u16,
            name.len() as u32 => u32,
            out length: u32,
            out attributes: u32,
            out signature: *const u8,
            out bytes: u32,
            out _kind: u32,
            out _value: *const u8,
            out _value_length: u32,
        ) => (attributes, signature, bytes, length))?;
        let signature = if signature.is_null() {
            &[]
        } else {
            // SAFETY: the signature within the metadata, which exists as long as this.
            unsafe { core::slice::from_raw_parts(signature, bytes as usize) }
        };
        Ok(FieldProps { attributes, signature, length: written(length, name.len()) })
    }

    /// `GetCustomAttributeByName`, slot 60: whether the field is thread-static.
    pub fn is_thread_static(&self, token: u32) -> bool {
        const NAME: &[u8; 29] = b"System.ThreadStaticAttribute\0";
        let name = NAME.map(u16::from);
        let (mut data, mut bytes) = (ptr::null::<u8>(), 0_u32);
        let result = com_call!(self, 60, (
            token => u32,
            name.as_ptr() => *const u16,
            &raw mut data => *mut *const u8,
            &raw mut bytes => *mut u32,
        ) -> HResult);
        result == S_OK
    }

    /// `EnumGenericParams`, slot 65: tokens of a type's or method's generic parameters, in order.
    pub fn generic_params<'a>(&self, token: u32, params: &'a mut [u32]) -> &'a [u32] {
        self.tokens_of(65, token, params)
    }

    /// `GetGenericParamProps`, slot 66: writes the name, and returns the length.
    pub fn param_name(&self, param: u32, name: &mut [u16]) -> Result<usize, HResult> {
        com_get!(self, 66, (
            param => u32,
            out _sequence: u32,
            out _flags: u32,
            out _owner: u32,
            out _reserved: u32,
            name.as_mut_ptr() => *mut u16,
            name.len() as u32 => u32,
            out length: u32,
        ) => written(length, name.len()))
    }
}

impl Drop for Metadata {
    fn drop(&mut self) {
        com_call!(self, 2, () -> u32);
    }
}

impl Drop for Enum<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            com_call!(self.metadata, 3, (self.handle => *mut c_void) -> ());
        }
    }
}
