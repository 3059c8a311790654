//! Classes, methods and modules of the mock runtime: an identifier tells what it stands for.

use std::collections::HashSet;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, OnceLock};

use netcore_profiler::com::Guid;
use netcore_profiler::hresult::{E_FAIL, HResult, S_OK};
use netcore_profiler::metadata::IID_METADATA_IMPORT2;

use super::Functions;
use super::info::{Clr, Table, clr, lock};

const CLASSES: usize = 0x5000_0000;
const METHODS: usize = 0x6000_0000;
const MODULES: usize = 0x7000_0000;
const S_FALSE: HResult = 1;

/// What the profiler may ask about.
#[derive(Debug, Default)]
pub struct World {
    /// Number of classes that objects have.
    pub classes: AtomicUsize,
    /// Modules that were unloaded, about which the profiler must not ask.
    pub unloaded: Mutex<HashSet<usize>>,
    /// The module whose metadata is open; 0: none.
    pub open: AtomicUsize,
    /// How many definitions may be read before reading waits; `u64::MAX`: all.
    pub readable: AtomicU64,
    pub waiting: AtomicBool,
    gate: Mutex<()>,
    changed: Condvar,
    pub looked_at: AtomicU32,
    /// How many types were searched by name.
    pub types_sought: AtomicU32,
}

impl World {
    /// Lets this many more definitions be read.
    pub fn let_read(&self, count: u64) {
        let _guard = lock(&self.gate);
        self.readable.store(count, SeqCst);
        self.changed.notify_all();
    }

    fn wait_to_read(&self) {
        let mut guard = lock(&self.gate);
        while self.readable.load(SeqCst) == 0 {
            self.waiting.store(true, SeqCst);
            guard = self.changed.wait(guard).unwrap();
        }
        self.waiting.store(false, SeqCst);
        let one_less = |left: u64| (left != u64::MAX).then(|| left - 1);
        let _ = self.readable.fetch_update(SeqCst, SeqCst, one_less);
    }
}

/// The class of an object.
pub fn class_of(object: usize, classes: usize) -> usize {
    CLASSES + (object >> 3) % classes * 8
}

pub fn size_of_object(object: usize) -> usize {
    24 + (object >> 3) % 100 * 8
}

pub const fn method(number: usize) -> usize {
    METHODS + number * 8
}

pub fn module(number: usize) -> usize {
    MODULES + number * 0x1000
}

/// Every seventh class is an array.
pub fn is_array(class: usize) -> bool {
    (class - CLASSES) / 8 % 7 == 6
}

/// Every ninth method is dynamic.
pub fn is_dynamic(function: usize) -> bool {
    (function - METHODS) / 8 % 9 == 8
}

/// Module and row of a definition: four modules take turns.
pub fn definition(id: usize) -> (usize, u32) {
    let number = if id < METHODS { (id - CLASSES) / 8 } else { (id - METHODS) / 8 };
    (module(number % 4), number as u32 + 1)
}

fn assert_loaded(clr: &Clr, module: usize) {
    assert!(!lock(&clr.world.unloaded).contains(&module), "{module:x} was unloaded");
}

/// Writes text with its zero, and returns the length with the zero.
pub(super) unsafe fn write_text(text: &str, to: *mut u16, room: u32) -> u32 {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    assert!(units.len() <= room as usize);
    // SAFETY: there is room for them.
    unsafe { ptr::copy_nonoverlapping(units.as_ptr(), to, units.len()) };
    units.len() as u32
}

functions! {
    /// The functions of `ICorProfilerInfo` for classes, methods and modules.
    pub fn functions, clr = clr;
    3 object_class(object: usize, class: *mut usize) {
        let bounds = lock(&clr.bounds);
        assert!(
            bounds.iter().any(|range| object.wrapping_sub(range.start) < range.length),
            "{object:x} is in no generation"
        );
        clr.world.looked_at.fetch_add(1, SeqCst);
        *class = class_of(object, clr.world.classes.load(SeqCst));
    }
    11 array_class(class: usize, element_type: *mut u32, element_class: *mut usize, rank: *mut u32) {
        if !is_array(class) {
            return S_FALSE;
        }
        (*element_type, *element_class, *rank) = (0x12, class - 8, 1);
    }
    21 module_metadata(module: usize, _flags: u32, iid: *const Guid, out: *mut *mut c_void) {
        assert_eq!(*iid, IID_METADATA_IMPORT2);
        assert_loaded(clr, module);
        let world = &clr.world;
        assert_eq!(world.open.swap(module, SeqCst), 0, "one at a time");
        world.wait_to_read();
        assert_loaded(clr, module);
        static TABLE: OnceLock<Table<73>> = OnceLock::new();
        let table = TABLE.get_or_init(|| Table::of(metadata_functions(), nothing as *const c_void));
        *out = Box::into_raw(Box::new(Metadata { table, world, module })).cast();
    }
    38 function_info(
        function: usize,
        _frame: usize,
        class: *mut usize,
        found: *mut usize,
        token: *mut u32,
        _room: u32,
        args: *mut u32,
        _list: *mut usize,
    ) {
        let (module, row) = definition(function);
        let row = if is_dynamic(function) { 0 } else { row };
        assert_loaded(clr, module);
        (*class, *found, *token, *args) = (0, module, 0x0600_0000 | row, 0);
    }
    41 class_info(
        class: usize,
        found: *mut usize,
        token: *mut u32,
        _parent: *mut usize,
        _room: u32,
        args: *mut u32,
        _list: *mut usize,
    ) {
        if class == 0 {
            return E_FAIL;
        }
        let (module, row) = definition(class);
        assert_loaded(clr, module);
        (*found, *token, *args) = (module, 0x0200_0000 | row, 0);
    }
    70 module_info(
        module: usize,
        _base: *mut *const u8,
        room: u32,
        length: *mut u32,
        path: *mut u16,
        _assembly: *mut usize,
        flags: *mut u32,
    ) {
        assert_loaded(clr, module);
        (*length, *flags) = (write_text(&format!("/module{module:x}.dll"), path, room), 1);
    }
    80 object_size(object: usize, bytes: *mut usize) {
        *bytes = size_of_object(object);
    }
    87 function_is_dynamic(function: usize, answer: *mut i32) {
        *answer = is_dynamic(function).into();
    }
    112 no_frozen(_room: u32, count: *mut u32, _list: *mut c_void) {
        *count = 0;
    }
}

/// `IMetaDataImport2` of one module.
#[repr(C)]
struct Metadata {
    table: &'static Table<73>,
    world: &'static World,
    module: usize,
}

/// # Safety
/// `this` came from `module_metadata`.
unsafe fn metadata<'a>(this: *mut c_void) -> &'a Metadata {
    // SAFETY: by the contract.
    unsafe { &*this.cast_const().cast() }
}

unsafe extern "system" fn close_metadata(this: *mut c_void) -> u32 {
    // SAFETY: it came from `module_metadata`.
    let metadata = unsafe { Box::from_raw(this.cast::<Metadata>()) };
    assert_eq!(metadata.world.open.swap(0, SeqCst), metadata.module);
    0
}

/// Nothing is found.
pub(super) unsafe extern "system" fn nothing(_this: *mut c_void) -> HResult {
    E_FAIL
}

fn metadata_functions() -> Functions {
    let mut functions = definitions();
    functions.push((2, close_metadata as *const c_void));
    functions
}

functions! {
    /// The functions of `IMetaDataImport2`.
    fn definitions, metadata = metadata;
    /// Module 9 is the framework's library, which has every type that is searched.
    9 find_type(_name: *const u16, _around: u32, token: *mut u32) {
        let number = metadata.world.types_sought.fetch_add(1, SeqCst);
        if metadata.module != module(9) {
            return E_FAIL;
        }
        *token = 0x0200_ff00 + number % 0xff;
    }
    12 type_props(
        token: u32,
        name: *mut u16,
        room: u32,
        length: *mut u32,
        _flags: *mut u32,
        _base: *mut u32,
    ) {
        *length = write_text(&format!("Ns.Type{}", token & 0xff_ffff), name, room);
    }
    /// Each of these types has one method, whose row is the type's.
    18 enum_methods(
        _list: *mut *mut c_void,
        type_token: u32,
        tokens: *mut u32,
        _room: u32,
        count: *mut u32,
    ) {
        *tokens = 0x0600_0000 | (type_token & 0xff_ffff);
        *count = 1;
    }
    30 method_props(
        token: u32,
        type_token: *mut u32,
        name: *mut u16,
        room: u32,
        length: *mut u32,
        _attributes: *mut u32,
        _signature: *mut *const u8,
        _bytes: *mut u32,
        _rva: *mut u32,
        _flags: *mut u32,
    ) {
        *type_token = 0x0200_0000 | (token & 0xff_ffff);
        *length = write_text(&format!("Method{}", token & 0xff_ffff), name, room);
    }
}
