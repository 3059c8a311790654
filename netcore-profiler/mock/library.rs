//! The library, loaded as by the runtime.

use std::ffi::c_void;
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr;

use netcore_profiler::callback::{Callback11Table, IIDS};
use netcore_profiler::com::{Guid, IID_CLASS_FACTORY};
use netcore_profiler::hresult::HResult;
use netcore_profiler::{LIBRARY, LIBRARY_FILE_NAME, wire};
use tempfile::TempDir;

type GetClassObject = unsafe extern "system" fn(*const Guid, *const Guid, *mut *mut c_void) -> HResult;

/// The embedded library, loaded from a file of its own, so that each test has its own globals.
pub struct Library {
    loaded: libloading::Library,
    directory: TempDir,
    callback: *mut c_void,
}

// SAFETY: the callbacks may be called from any thread; the pointer is to a static of the library.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

#[repr(C)]
struct FactoryTable {
    unknown: [*const c_void; 3],
    create_instance:
        unsafe extern "system" fn(*mut c_void, *mut c_void, *const Guid, *mut *mut c_void) -> HResult,
}

impl Library {
    /// Loads it like the runtime, up to `Initialize`.
    pub fn load() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(LIBRARY_FILE_NAME);
        fs::write(&path, LIBRARY).unwrap();
        // SAFETY: the library has no initialisers.
        let loaded = unsafe { libloading::Library::new(&path).unwrap() };
        let mut factory = ptr::null_mut();
        let mut callback = ptr::null_mut();
        let clsid = Guid::from_bytes(wire::CLSID);
        // SAFETY: the export has this signature, and the class factory `IClassFactory`'s table.
        unsafe {
            let get: libloading::Symbol<'_, GetClassObject> = loaded.get("DllGetClassObject").unwrap();
            assert_eq!(get(&clsid, &IID_CLASS_FACTORY, &mut factory), 0);
            let table = &**factory.cast::<*const FactoryTable>();
            assert_eq!((table.create_instance)(factory, ptr::null_mut(), &IIDS[1], &mut callback), 0);
        }
        Self { loaded, directory, callback }
    }

    /// Path of the file.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(LIBRARY_FILE_NAME)
    }

    /// An export.
    ///
    /// # Safety
    /// It has that type.
    pub unsafe fn export<T: Copy>(&self, name: &str) -> T {
        // SAFETY: by the contract.
        unsafe { *self.loaded.get::<T>(name).unwrap() }
    }

    /// `QueryInterface` of the profiler.
    pub fn query(&self, iid: &Guid) -> HResult {
        let mut out = ptr::null_mut();
        // SAFETY: the profiler's own table.
        let answer = unsafe { (self.table().QueryInterface)(self.callback, iid, &mut out) };
        assert_eq!(answer == 0, !out.is_null());
        answer
    }

    /// The profiler's table of functions.
    pub fn table(&self) -> &Callback11Table {
        // SAFETY: `CreateInstance` returned an object with this table.
        unsafe { &**self.callback.cast::<*const Callback11Table>() }
    }

    /// The profiler.
    pub fn callback(&self) -> *mut c_void {
        self.callback
    }

    /// `dlclose`, as after a refused attach or a detach. Returns the directory, which exists until it is dropped.
    pub fn unload(self) -> TempDir {
        self.loaded.close().unwrap();
        self.directory
    }
}

/// Whether a file is mapped into this process.
#[cfg(target_os = "linux")]
pub fn is_mapped(file: &Path) -> bool {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.contains(file.to_str().unwrap())
}
