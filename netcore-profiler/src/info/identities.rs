//! The runtime's interface: what objects, classes, methods, modules and frames are.

use core::ffi::c_void;
use core::ptr::{self, NonNull};

use crate::com::Guid;
use crate::hresult::{E_FAIL, E_NOINTERFACE, HResult, S_OK, checked, succeeded};
use crate::info::interface::Info;

/// Result of `IsArrayClass`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayClass {
    /// `CorElementType` of the elements.
    pub element_type: u32,
    /// Class of the elements; 0: none.
    pub element_class: usize,
    /// Number of dimensions.
    pub rank: u32,
}

/// Result of `GetClassIDInfo2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassInfo {
    /// Module of the definition.
    pub module: usize,
    /// `mdTypeDef`.
    pub token: u32,
    /// Number of type arguments, which may exceed the room.
    pub args: u32,
}

/// Result of `GetFunctionInfo2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Exact class; 0: only the definition is known.
    pub class: usize,
    /// Module of the definition.
    pub module: usize,
    /// `mdMethodDef`.
    pub token: u32,
    /// Number of the method's own type arguments, which may exceed the room.
    pub args: u32,
}

/// Result of `GetModuleInfo2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleInfo {
    /// Length of the path in UTF-16 units, without its zero.
    pub length: usize,
    /// `COR_PRF_MODULE_FLAGS`.
    pub flags: u32,
}

/// `COR_PRF_NONGC_HEAP_RANGE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct HeapRange {
    /// First address.
    pub start: usize,
    /// Used bytes.
    pub length: usize,
    /// Reserved bytes.
    pub reserved: usize,
}

/// `COR_FIELD_OFFSET`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct FieldOffset {
    /// `mdFieldDef`.
    pub token: u32,
    /// From the object's address, in bytes.
    pub offset: u32,
}

/// `ObjectReferenceCallback`: the object, the address of the reference, and what was passed. 0 ends the calls.
pub type ReferenceCallback =
    unsafe extern "system" fn(object: usize, place: *mut usize, data: *mut c_void) -> i32;

/// `StackSnapshotCallback`.
type StackSnapshotCallback = unsafe extern "system" fn(
    function: usize,
    address: usize,
    frame: usize,
    context_bytes: u32,
    context: *const u8,
    data: *mut c_void,
) -> HResult;

/// A frame of managed code on x86-64, as its registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    /// The instruction pointer.
    pub instruction: usize,
    /// The stack pointer.
    pub stack: usize,
    /// The frame pointer.
    pub frame: usize,
}

/// `CONTEXT` of x86-64, with room for later extensions.
#[repr(C, align(64))]
struct Context([u8; 4096]);

impl Seed {
    /// The frame that called the one at `frame`; `None` where the stack pointer does not follow from the frame pointer.
    #[must_use]
    pub fn of_caller(frame: usize, outer: usize, return_address: usize) -> Option<Self> {
        if !crate::sys::STACK_FOLLOWS_FRAME {
            return None;
        }
        let stack = frame.checked_add(size_of::<[usize; 2]>())?;
        Some(Self { instruction: return_address, stack, frame: outer })
    }

    /// The frame as a `CONTEXT`.
    fn context(self) -> Option<Context> {
        const FLAGS: usize = 0x30;
        const CONTROL_AND_INTEGER: u32 = 0x10_0003;
        let mut context = Context([0; 4096]);
        context
            .0
            .get_mut(FLAGS..)?
            .first_chunk_mut::<4>()?
            .copy_from_slice(&CONTROL_AND_INTEGER.to_ne_bytes());
        for (at, value) in [(0x98, self.stack), (0xa0, self.frame), (0xf8, self.instruction)] {
            context.0.get_mut(at..)?.first_chunk_mut::<8>()?.copy_from_slice(&value.to_ne_bytes());
        }
        Some(context)
    }
}

/// The frames that `DoStackSnapshot` has reported so far.
struct Walk<'a> {
    frames: &'a mut [usize],
    count: usize,
}

unsafe extern "system" fn frame(
    function: usize,
    _address: usize,
    _frame: usize,
    _context_bytes: u32,
    _context: *const u8,
    data: *mut c_void,
) -> HResult {
    // SAFETY: `own_stack` passes its `Walk`, which nothing else uses during the snapshot.
    let walk = unsafe { &mut *data.cast::<Walk<'_>>() };
    if function == 0 {
        return S_OK;
    }
    match walk.frames.get_mut(walk.count) {
        Some(free) => {
            *free = function;
            walk.count = walk.count.saturating_add(1);
            S_OK
        }
        None => E_FAIL,
    }
}

/// Whether module and token name a definition. The runtime answers with module 0, or a token without a row, if there is
/// none.
#[must_use]
pub fn is_definition(module: usize, token: u32) -> bool {
    module != 0 && token & 0x00ff_ffff != 0
}

/// Pointer for output; null for an empty slice, because its address is not null either.
fn start<T>(room: &mut [T]) -> *mut T {
    if room.is_empty() { ptr::null_mut() } else { room.as_mut_ptr() }
}

impl Info {
    /// `GetClassFromObject`, slot 3.
    ///
    /// # Safety
    /// `object` is the address of an object, and the collection is over or at its end.
    pub unsafe fn class_of(self, object: usize) -> Result<usize, HResult> {
        com_get!(self, 3, (object => usize, out class: usize) => class)
    }

    /// `GetObjectSize2`, slot 80.
    ///
    /// # Safety
    /// As [`Info::class_of`].
    pub unsafe fn object_size(self, object: usize) -> Result<usize, HResult> {
        com_get!(self, 80, (object => usize, out bytes: usize) => bytes)
    }

    /// `GetFunctionFromIP3`, slot 88: the method whose code contains the address, dynamic methods included.
    ///
    /// # Errors
    /// `UNSUPPORTED_CALL_SEQUENCE` on .NET 8 and 9, which do not answer on a managed thread.
    pub fn function_at(self, address: usize) -> Result<usize, HResult> {
        com_get!(self, 88, (address => usize, out function: usize, out _rejit: usize) => function)
    }

    /// `GetFunctionFromIP`, slot 7: the method with metadata whose code contains the address.
    pub fn method_at(self, address: usize) -> Result<usize, HResult> {
        com_get!(self, 7, (address => usize, out function: usize) => function)
    }

    /// `GetDynamicFunctionInfo`, slot 89: writes the name of a dynamic method, and returns the length.
    ///
    /// # Safety
    /// As [`Info::function_info`].
    pub unsafe fn dynamic_name(self, function: usize, name: &mut [u16]) -> Result<usize, HResult> {
        com_get!(self, 89, (
            function => usize,
            out _module: usize,
            out _signature: *const u8,
            out _bytes: u32,
            name.len() as u32 => u32,
            out length: u32,
            start(name) => *mut u16,
        ) => (length as usize).min(name.len()).saturating_sub(1))
    }

    /// `DoStackSnapshot`, slot 36: the methods on the calling thread's stack, innermost first, as many as fit. It
    /// starts at `seed`, or else where the runtime finds managed code. Native code and dynamic methods are left out.
    ///
    /// # Safety
    /// `seed` is a frame of the calling thread.
    #[inline(never)]
    pub unsafe fn own_stack(self, seed: Option<Seed>, frames: &mut [usize]) -> Result<&[usize], HResult> {
        const CALLING_THREAD: usize = 0;
        const NO_CONTEXT: u32 = 0;
        let context = seed.and_then(Seed::context);
        let (registers, bytes) = match &context {
            Some(context) => (ptr::from_ref(context).cast(), size_of::<Context>() as u32),
            None => (ptr::null(), 0),
        };
        let mut walk = Walk { frames, count: 0 };
        let result = com_call!(self, 36, (
            CALLING_THREAD => usize,
            frame => StackSnapshotCallback,
            NO_CONTEXT => u32,
            (&raw mut walk).cast() => *mut c_void,
            registers => *const u8,
            bytes => u32,
        ) -> HResult);
        let Walk { frames, count } = walk;
        // The result is a failure, too, if our callback ended the snapshot.
        if count == 0 {
            checked(result, ())?;
        }
        Ok(frames.get(..count).unwrap_or_default())
    }

    /// `GetCurrentThreadID` and `GetThreadInfo`, slots 13 and 12: the operating system's id of the
    /// calling thread.
    pub fn os_thread(self) -> Result<u32, HResult> {
        let thread = com_get!(self, 13, (out thread: usize) => thread)?;
        com_get!(self, 12, (thread => usize, out number: u32) => number)
    }

    /// `EnumModules`, slot 66.
    pub fn modules(self) -> Result<Modules, HResult> {
        let list = com_get!(self, 66, (out list: *mut c_void) => list)?;
        NonNull::new(list).map(Enumeration).ok_or(E_NOINTERFACE)
    }

    /// `IsArrayClass`, slot 11; `None`: the class is no array.
    ///
    /// # Safety
    /// `class` is a `ClassID` that cannot be unloaded meanwhile.
    pub unsafe fn array_class(self, class: usize) -> Option<ArrayClass> {
        let (mut element_type, mut element_class, mut rank) = (0_u32, 0_usize, 0_u32);
        let result = com_call!(self, 11, (
            class => usize,
            &raw mut element_type => *mut u32,
            &raw mut element_class => *mut usize,
            &raw mut rank => *mut u32,
        ) -> HResult);
        (result == S_OK).then_some(ArrayClass { element_type, element_class, rank })
    }

    /// `GetClassIDInfo2`, slot 41. Writes the type arguments if all of them fit.
    ///
    /// # Safety
    /// As [`Info::array_class`].
    pub unsafe fn class_info(self, class: usize, args: &mut [usize]) -> Result<ClassInfo, HResult> {
        // SAFETY: by the contract.
        unsafe { self.class_and_parent(class, args) }.map(|(info, _parent)| info)
    }

    /// `GetClassIDInfo2`, slot 41, with the base class; 0: none.
    ///
    /// # Safety
    /// As [`Info::array_class`].
    pub unsafe fn class_and_parent(
        self,
        class: usize,
        args: &mut [usize],
    ) -> Result<(ClassInfo, usize), HResult> {
        com_get!(self, 41, (
            class => usize,
            out module: usize,
            out token: u32,
            out parent: usize,
            args.len() as u32 => u32,
            out count: u32,
            start(args) => *mut usize,
        ) => (ClassInfo { module, token, args: count }, parent))
    }

    /// `GetClassLayout`, slot 40: writes the fields of a class, without those of its base classes, and returns how many
    /// there are, at most as many as fit.
    ///
    /// # Safety
    /// As [`Info::array_class`].
    pub unsafe fn class_layout(self, class: usize, fields: &mut [FieldOffset]) -> Result<usize, HResult> {
        com_get!(self, 40, (
            class => usize,
            fields.as_mut_ptr() => *mut FieldOffset,
            fields.len() as u32 => u32,
            out count: u32,
            out _bytes: u32,
        ) => (count as usize).min(fields.len()))
    }

    /// `EnumerateObjectReferences`, slot 93: calls `callback` for each reference of an object that is not null.
    ///
    /// # Safety
    /// As [`Info::class_of`]; the callback may be called with `data`.
    pub unsafe fn object_references(
        self,
        object: usize,
        callback: ReferenceCallback,
        data: *mut c_void,
    ) -> HResult {
        com_call!(self, 93, (object => usize, callback => ReferenceCallback, data => *mut c_void) -> HResult)
    }

    /// `GetFunctionInfo2`, slot 38, without a frame.
    ///
    /// # Safety
    /// `function` is a `FunctionID` that cannot be unloaded meanwhile.
    pub unsafe fn function_info(self, function: usize, args: &mut [usize]) -> Result<FunctionInfo, HResult> {
        com_get!(self, 38, (
            function => usize,
            0 => usize,
            out class: usize,
            out module: usize,
            out token: u32,
            args.len() as u32 => u32,
            out count: u32,
            start(args) => *mut usize,
        ) => FunctionInfo { class, module, token, args: count })
    }

    /// `IsFunctionDynamic`, slot 87: whether a method has no metadata.
    ///
    /// # Safety
    /// As [`Info::function_info`].
    pub unsafe fn is_dynamic(self, function: usize) -> Result<bool, HResult> {
        com_get!(self, 87, (function => usize, out dynamic: i32) => dynamic != 0)
    }

    /// `GetModuleInfo2`, slot 70.
    ///
    /// # Safety
    /// `module` is a `ModuleID` that cannot be unloaded meanwhile.
    pub unsafe fn module_info(self, module: usize, path: &mut [u16]) -> Result<ModuleInfo, HResult> {
        com_get!(self, 70, (
            module => usize,
            out _base: *const u8,
            path.len() as u32 => u32,
            out length: u32,
            start(path) => *mut u16,
            out _assembly: usize,
            out flags: u32,
        ) => ModuleInfo { length: (length as usize).min(path.len()).saturating_sub(1), flags })
    }

    /// `GetModuleMetaData`, slot 21, for reading.
    ///
    /// # Safety
    /// As [`Info::module_info`].
    pub unsafe fn module_metadata(self, module: usize, iid: &Guid) -> Result<NonNull<c_void>, HResult> {
        const READ: u32 = 0;
        let metadata = com_get!(self, 21, (
            module => usize,
            READ => u32,
            ptr::from_ref(iid) => *const Guid,
            out metadata: *mut c_void,
        ) => metadata)?;
        NonNull::new(metadata).ok_or(E_NOINTERFACE)
    }

    /// `GetModuleInfo2` and `GetAssemblyInfo`, slots 70 and 26: the `AppDomainID` of a module.
    ///
    /// # Safety
    /// As [`Info::module_info`].
    pub unsafe fn domain_of(self, module: usize) -> Result<usize, HResult> {
        let assembly = com_get!(self, 70, (
            module => usize,
            out _base: *const u8,
            0 => u32,
            out _length: u32,
            ptr::null_mut() => *mut u16,
            out assembly: usize,
            out _flags: u32,
        ) => assembly)?;
        com_get!(self, 26, (
            assembly => usize,
            0 => u32,
            out _length: u32,
            ptr::null_mut() => *mut u16,
            out domain: usize,
            out _manifest: usize,
        ) => domain)
    }

    /// `EnumJITedFunctions`, slot 57: the methods that the JIT has compiled.
    pub fn compiled_methods(self) -> Result<Methods, HResult> {
        let list = com_get!(self, 57, (out list: *mut c_void) => list)?;
        NonNull::new(list).map(Enumeration).ok_or(E_NOINTERFACE)
    }

    /// `GetAppDomainStaticAddress`, slot 50: the address of a static field.
    ///
    /// # Safety
    /// As [`Info::array_class`].
    pub unsafe fn static_address(self, class: usize, field: u32, domain: usize) -> Result<usize, HResult> {
        com_get!(self, 50, (
            class => usize,
            field => u32,
            domain => usize,
            out address: *mut c_void,
        ) => address.expose_provenance())
    }

    /// `GetNonGCHeapBounds`, slot 112: fills the table and returns the number of ranges.
    ///
    /// # Safety
    /// The interface is an `ICorProfilerInfo14`.
    pub unsafe fn frozen_bounds(self, ranges: &mut [HeapRange]) -> Result<usize, HResult> {
        com_get!(self, 112, (
            ranges.len() as u32 => u32,
            out count: u32,
            ranges.as_mut_ptr() => *mut HeapRange,
        ) => count as usize)
    }
}

/// An enumeration of items of `WORDS` words. Dropping it releases the reference.
#[derive(Debug)]
pub struct Enumeration<const WORDS: usize>(NonNull<c_void>);

/// `ICorProfilerModuleEnum`: the `ModuleID`s of the loaded modules.
pub type Modules = Enumeration<1>;

/// `ICorProfilerFunctionEnum`: methods, as their `FunctionID`s, each with a `ReJITID`.
pub type Methods = Enumeration<2>;

impl<const WORDS: usize> Enumeration<WORDS> {
    /// `Next`, slot 7: the identifier, which is the first word of the item.
    #[must_use]
    pub fn next(&self) -> Option<usize> {
        let (mut item, mut count) = ([0_usize; WORDS], 0_u32);
        let result = com_call!(self, 7, (
            1 => u32,
            &raw mut item => *mut [usize; WORDS],
            &raw mut count => *mut u32,
        ) -> HResult);
        item.first().copied().filter(|_| succeeded(result) && count == 1)
    }
}

impl<const WORDS: usize> Drop for Enumeration<WORDS> {
    fn drop(&mut self) {
        com_call!(self, 2, () -> u32);
    }
}
