//! Classes, methods and modules of the mock runtime: an identifier tells what it stands for.

use std::collections::HashSet;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, OnceLock};

use netcore_profiler::com::Guid;
use netcore_profiler::hresult::{E_FAIL, HResult, S_OK};
use netcore_profiler::metadata::IID_METADATA_IMPORT2;

use super::info::{clr, lock};

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

unsafe extern "system" fn object_class(this: *mut c_void, object: usize, class: *mut usize) -> HResult {
    // SAFETY: the profiler passes valid pointers, here and below.
    unsafe {
        let clr = clr(this);
        let bounds = lock(&clr.bounds);
        assert!(
            bounds.iter().any(|range| object.wrapping_sub(range.start) < range.length),
            "{object:x} is in no generation"
        );
        clr.world.looked_at.fetch_add(1, SeqCst);
        *class = class_of(object, clr.world.classes.load(SeqCst));
    }
    S_OK
}

unsafe extern "system" fn object_size(_this: *mut c_void, object: usize, bytes: *mut usize) -> HResult {
    // SAFETY: as above.
    unsafe { *bytes = size_of_object(object) };
    S_OK
}

unsafe extern "system" fn array_class(
    _this: *mut c_void,
    class: usize,
    element_type: *mut u32,
    element_class: *mut usize,
    rank: *mut u32,
) -> HResult {
    if !is_array(class) {
        return S_FALSE;
    }
    // SAFETY: as above.
    unsafe { (*element_type, *element_class, *rank) = (0x12, class - 8, 1) };
    S_OK
}

unsafe extern "system" fn class_info(
    this: *mut c_void,
    class: usize,
    found: *mut usize,
    token: *mut u32,
    _parent: *mut usize,
    _room: u32,
    args: *mut u32,
    _list: *mut usize,
) -> HResult {
    if class == 0 {
        return E_FAIL;
    }
    let (module, row) = definition(class);
    // SAFETY: as above.
    unsafe {
        assert_loaded(this, module);
        (*found, *token, *args) = (module, 0x0200_0000 | row, 0);
    }
    S_OK
}

unsafe extern "system" fn function_info(
    this: *mut c_void,
    function: usize,
    _frame: usize,
    class: *mut usize,
    found: *mut usize,
    token: *mut u32,
    _room: u32,
    args: *mut u32,
    _list: *mut usize,
) -> HResult {
    let (module, row) = definition(function);
    let row = if is_dynamic(function) { 0 } else { row };
    // SAFETY: as above.
    unsafe {
        assert_loaded(this, module);
        (*class, *found, *token, *args) = (0, module, 0x0600_0000 | row, 0);
    }
    S_OK
}

unsafe extern "system" fn function_is_dynamic(
    _this: *mut c_void,
    function: usize,
    answer: *mut i32,
) -> HResult {
    // SAFETY: as above.
    unsafe { *answer = is_dynamic(function).into() };
    S_OK
}

unsafe fn assert_loaded(this: *mut c_void, module: usize) {
    // SAFETY: as above.
    let clr = unsafe { clr(this) };
    assert!(!lock(&clr.world.unloaded).contains(&module), "{module:x} was unloaded");
}

unsafe extern "system" fn module_info(
    this: *mut c_void,
    module: usize,
    _base: *mut *const u8,
    room: u32,
    length: *mut u32,
    path: *mut u16,
    _assembly: *mut usize,
    flags: *mut u32,
) -> HResult {
    // SAFETY: as above.
    unsafe {
        assert_loaded(this, module);
        (*length, *flags) = (write_text(&format!("/module{module:x}.dll"), path, room), 1);
    }
    S_OK
}

unsafe extern "system" fn none(_this: *mut c_void, _out: *mut *mut c_void) -> HResult {
    E_FAIL
}

/// Writes text with its zero, and returns the length with the zero.
pub(super) unsafe fn write_text(text: &str, to: *mut u16, room: u32) -> u32 {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    assert!(units.len() <= room as usize);
    // SAFETY: there is room for them.
    unsafe { ptr::copy_nonoverlapping(units.as_ptr(), to, units.len()) };
    units.len() as u32
}

struct Table([*const c_void; 73]);

// SAFETY: the pointers are to functions.
unsafe impl Sync for Table {}
// SAFETY: as above.
unsafe impl Send for Table {}

/// `IMetaDataImport2` of one module.
#[repr(C)]
struct Metadata {
    table: &'static [*const c_void; 73],
    world: &'static World,
    module: usize,
}

unsafe extern "system" fn module_metadata(
    this: *mut c_void,
    module: usize,
    _flags: u32,
    iid: *const Guid,
    out: *mut *mut c_void,
) -> HResult {
    // SAFETY: as above.
    unsafe {
        assert_eq!(*iid, IID_METADATA_IMPORT2);
        assert_loaded(this, module);
        let world: &'static World = &(*ptr::from_ref(clr(this))).world;
        assert_eq!(world.open.swap(module, SeqCst), 0, "one at a time");
        world.wait_to_read();
        assert_loaded(this, module);
        static TABLE: OnceLock<Table> = OnceLock::new();
        let table = &TABLE.get_or_init(|| Table(metadata_table())).0;
        *out = Box::into_raw(Box::new(Metadata { table, world, module })).cast();
    }
    S_OK
}

unsafe extern "system" fn close_metadata(this: *mut c_void) -> u32 {
    // SAFETY: it came from `module_metadata`.
    let metadata = unsafe { Box::from_raw(this.cast::<Metadata>()) };
    assert_eq!(metadata.world.open.swap(0, SeqCst), metadata.module);
    0
}

unsafe extern "system" fn type_props(
    _this: *mut c_void,
    token: u32,
    name: *mut u16,
    room: u32,
    length: *mut u32,
    _flags: *mut u32,
    _base: *mut u32,
) -> HResult {
    // SAFETY: as above.
    unsafe { *length = write_text(&format!("Ns.Type{}", token & 0xff_ffff), name, room) };
    S_OK
}

unsafe extern "system" fn method_props(
    _this: *mut c_void,
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
) -> HResult {
    // SAFETY: as above.
    unsafe {
        *type_token = 0x0200_0000 | (token & 0xff_ffff);
        *length = write_text(&format!("Method{}", token & 0xff_ffff), name, room);
    }
    S_OK
}

/// Module 9 is the framework's library, which has every type that is searched.
unsafe extern "system" fn find_type(
    this: *mut c_void,
    _name: *const u16,
    _around: u32,
    token: *mut u32,
) -> HResult {
    // SAFETY: it came from `module_metadata`; the rest as above.
    unsafe {
        let metadata = &*this.cast::<Metadata>();
        let number = metadata.world.types_sought.fetch_add(1, SeqCst);
        if metadata.module != module(9) {
            return E_FAIL;
        }
        *token = 0x0200_ff00 + number % 0xff;
    }
    S_OK
}

/// Each of these types has one method, whose row is the type's.
unsafe extern "system" fn enum_methods(
    _this: *mut c_void,
    _list: *mut *mut c_void,
    type_token: u32,
    tokens: *mut u32,
    _room: u32,
    count: *mut u32,
) -> HResult {
    // SAFETY: as above.
    unsafe {
        *tokens = 0x0600_0000 | (type_token & 0xff_ffff);
        *count = 1;
    }
    S_OK
}

/// Nothing is found.
unsafe extern "system" fn nothing(_this: *mut c_void) -> HResult {
    E_FAIL
}

fn metadata_table() -> [*const c_void; 73] {
    let mut table = [nothing as *const c_void; 73];
    table[2] = close_metadata as *const c_void;
    table[9] = find_type as *const c_void;
    table[18] = enum_methods as *const c_void;
    table[12] = type_props as *const c_void;
    table[30] = method_props as *const c_void;
    table
}

/// The functions of `ICorProfilerInfo` for classes, methods and modules, by slot.
pub fn functions() -> [(usize, *const c_void); 11] {
    [
        (3, object_class as *const c_void),
        (11, array_class as *const c_void),
        (21, module_metadata as *const c_void),
        (38, function_info as *const c_void),
        (41, class_info as *const c_void),
        (57, none as *const c_void),
        (66, none as *const c_void),
        (70, module_info as *const c_void),
        (80, object_size as *const c_void),
        (87, function_is_dynamic as *const c_void),
        (112, no_frozen as *const c_void),
    ]
}

unsafe extern "system" fn no_frozen(
    _this: *mut c_void,
    _room: u32,
    count: *mut u32,
    _list: *mut c_void,
) -> HResult {
    // SAFETY: as above.
    unsafe { *count = 0 };
    S_OK
}
