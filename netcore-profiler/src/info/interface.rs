//! The runtime's interface: sessions, providers and events, the event mask, generation bounds.

use core::ffi::c_void;
use core::ptr::{self, NonNull};

use crate::com::Guid;
use crate::hresult::{E_FAIL, E_NOINTERFACE, E_POINTER, HResult, succeeded};

/// `ICorProfilerInfo12`: EventPipe sessions and providers, .NET 5.
pub const IID_INFO12: Guid = Guid::from_u128(0x27b24ccd_1cb1_47c5_96ee_98190dc30959);
/// `ICorProfilerInfo14`: providers with a callback, .NET 8.
pub const IID_INFO14: Guid = Guid::from_u128(0xf460e352_d76d_4fe9_835f_f6af9d6e862d);

/// `COR_PRF_MONITOR_MODULE_LOADS`, of the low event mask: loading and unloading of modules.
pub const MONITOR_MODULE_LOADS: u32 = 0x4;
/// `COR_PRF_ENABLE_STACK_SNAPSHOT`, of the low event mask: `DoStackSnapshot` is allowed.
pub const STACK_SNAPSHOT: u32 = 0x1000_0000;
/// `COR_PRF_MONITOR_GC`, of the low event mask: moved, surviving and root callbacks.
pub const MONITOR_GC: u32 = 0x80;
/// `COR_PRF_HIGH_BASIC_GC`, of the high one: start and end of collections, generation bounds.
pub const HIGH_BASIC_GC: u32 = 0x10;
/// `COR_PRF_HIGH_MONITOR_EVENT_PIPE`, of the high one: events of in-process sessions.
pub const HIGH_EVENT_PIPE: u32 = 0x80;

/// `COR_PRF_GC_GENERATION_RANGE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct GenerationRange {
    /// Generation: 0 to 2, 3 large objects, 4 pinned objects.
    pub generation: i32,
    /// First address.
    pub start: usize,
    /// Used bytes.
    pub length: usize,
    /// Reserved bytes.
    pub reserved: usize,
}

/// `COR_PRF_EVENTPIPE_PROVIDER_CONFIG`.
#[derive(Debug)]
#[repr(C)]
pub struct ProviderConfig {
    /// UTF-16, zero-terminated.
    pub name: *const u16,
    /// Keywords to enable.
    pub keywords: u64,
    /// Level to enable.
    pub level: u32,
    /// UTF-16, zero-terminated, or null.
    pub filter: *const u16,
}

/// `COR_PRF_EVENTPIPE_PARAM_DESC`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct ParamDesc {
    /// `COR_PRF_EVENTPIPE_PARAM_TYPE`.
    pub kind: u32,
    /// The type of an array's elements.
    pub element: u32,
    /// UTF-16, zero-terminated.
    pub name: *const u16,
}

/// `COR_PRF_EVENT_DATA`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct EventData {
    address: u64,
    size: u32,
    reserved: u32,
}

impl EventData {
    /// Describes a part of a payload, which must outlive the call that this is passed to.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self { address: bytes.as_ptr().addr() as u64, size: bytes.len() as u32, reserved: 0 }
    }
}

/// `EventPipeProviderCallback`.
pub type ProviderCallback = unsafe extern "system" fn(
    source: *const u8,
    enabled: u32,
    level: u8,
    any_keywords: u64,
    all_keywords: u64,
    filter: *const c_void,
    context: *mut c_void,
);

/// Definition of an event.
#[derive(Debug)]
pub struct EventDefinition<'a> {
    /// UTF-16, zero-terminated.
    pub name: &'a [u16],
    /// Its number.
    pub id: u32,
    /// Its keywords.
    pub keywords: u64,
    /// Its version.
    pub version: u32,
    /// Its level.
    pub level: u32,
    /// Its first fields.
    pub params: &'a [ParamDesc],
}

/// A pointer to one of the runtime's interfaces. Copies share one reference; the caller of [`Info::query`] releases it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info(pub(super) NonNull<c_void>);

impl Info {
    /// `IUnknown::QueryInterface`, slot 0: an interface of an object of the runtime, with a reference.
    ///
    /// # Safety
    /// `unknown` is null or a COM object.
    pub unsafe fn query(unknown: *mut c_void, iid: &Guid) -> Result<Self, HResult> {
        let object = Self(NonNull::new(unknown).ok_or(E_POINTER)?);
        let found = com_get!(object, 0, (
            ptr::from_ref(iid) => *const Guid,
            out found: *mut c_void,
        ) => found)?;
        NonNull::new(found).map(Self).ok_or(E_NOINTERFACE)
    }

    /// The interface from [`Info::pointer`].
    ///
    /// # Safety
    /// `pointer` is null or an `ICorProfilerInfo12` (or later) that has not been released.
    #[must_use]
    pub unsafe fn from_pointer(pointer: *mut c_void) -> Option<Self> {
        NonNull::new(pointer).map(Self)
    }

    /// The bare pointer.
    #[must_use]
    pub fn pointer(self) -> *mut c_void {
        self.0.as_ptr()
    }

    /// An address of the runtime's own code.
    pub fn runtime_code(self) -> *const c_void {
        let this = self.0.as_ptr();
        // SAFETY: an interface begins with the address of its table, whose first entry is a function of the runtime.
        unsafe { this.cast::<*const *const c_void>().read().read() }
    }

    /// `IUnknown::Release`, slot 2. This pointer and its copies must not be used afterwards.
    pub fn release(self) {
        com_call!(self, 2, () -> u32);
    }

    /// `GetGenerationBounds`, slot 54: fills the table and returns the number of ranges, which may exceed the capacity.
    ///
    /// # Safety
    /// `ranges` has room for `capacity` entries.
    pub unsafe fn generation_bounds(
        self,
        ranges: *mut GenerationRange,
        capacity: u32,
    ) -> Result<u32, HResult> {
        com_get!(self, 54, (capacity => u32, out count: u32, ranges => *mut GenerationRange) => count)
    }

    /// `ForceGC`, slot 28: a full, blocking collection. Not on a thread of the program.
    pub fn force_gc(self) -> HResult {
        com_call!(self, 28, () -> HResult)
    }

    /// `RequestProfilerDetach`, slot 58.
    pub fn request_profiler_detach(self, expected_ms: u32) -> HResult {
        com_call!(self, 58, (expected_ms => u32) -> HResult)
    }

    /// `GetRuntimeInformation`, slot 67: the version; zeros on failure.
    pub fn runtime_version(self) -> [u16; 4] {
        let version = com_get!(self, 67, (
            out _instance: u16,
            out _kind: u32,
            out major: u16,
            out minor: u16,
            out build: u16,
            out qfe: u16,
            0 => u32,
            out _length: u32,
            ptr::null_mut() => *mut u16,
        ) => [major, minor, build, qfe]);
        version.unwrap_or_default()
    }

    /// `SetEventMask2`, slot 82.
    pub fn set_event_mask2(self, low: u32, high: u32) -> HResult {
        com_call!(self, 82, (low => u32, high => u32) -> HResult)
    }

    /// `GetEnvironmentVariable`, slot 99: writes the value with its zero, and returns the length without it.
    pub fn environment_variable(self, name: &[u16], value: &mut [u16]) -> Result<usize, HResult> {
        com_get!(self, 99, (
            name.as_ptr() => *const u16,
            value.len() as u32 => u32,
            out _length: u32,
            value.as_mut_ptr() => *mut u16,
        ) => ())?;
        value.iter().position(|unit| *unit == 0).ok_or(E_FAIL)
    }

    /// `SetEnvironmentVariable`, slot 100, without a value: removes a variable from the runtime's own copy of the
    /// environment, which managed code reads and passes to its children.
    pub fn remove_environment_variable(self, name: &[u16]) -> HResult {
        com_call!(self, 100, (name.as_ptr() => *const u16, ptr::null() => *const u16) -> HResult)
    }

    /// `EventPipeStartSession`, slot 101.
    pub fn start_session(self, providers: &[ProviderConfig]) -> Result<u64, HResult> {
        com_get!(self, 101, (
            providers.len() as u32 => u32,
            providers.as_ptr() => *const ProviderConfig,
            0 => i32,
            out session: u64,
        ) => session)
    }

    /// `EventPipeStopSession`, slot 103.
    pub fn stop_session(self, session: u64) -> HResult {
        com_call!(self, 103, (session => u64) -> HResult)
    }

    /// `EventPipeCreateProvider`, slot 104.
    pub fn create_provider(self, name: &[u16]) -> Result<usize, HResult> {
        com_get!(self, 104, (name.as_ptr() => *const u16, out provider: usize) => provider)
    }

    /// `EventPipeCreateProvider2`, slot 113.
    ///
    /// # Safety
    /// The interface is an `ICorProfilerInfo14`.
    pub unsafe fn create_provider2(self, name: &[u16], callback: ProviderCallback) -> Result<usize, HResult> {
        com_get!(self, 113, (
            name.as_ptr() => *const u16,
            callback => ProviderCallback,
            out provider: usize,
        ) => provider)
    }

    /// `EventPipeGetProviderInfo`, slot 105: whether the provider exists and has this name, which is zero-terminated
    /// and shorter than 64 units.
    pub fn provider_is(self, provider: usize, name: &[u16]) -> bool {
        let mut found = [0_u16; 64];
        let mut length = 0;
        let result = com_call!(self, 105, (
            provider => usize,
            found.len() as u32 => u32,
            &raw mut length => *mut u32,
            found.as_mut_ptr() => *mut u16,
        ) -> HResult);
        succeeded(result) && found.get(..name.len()) == Some(name)
    }

    /// `EventPipeDefineEvent`, slot 106.
    pub fn define_event(self, provider: usize, event: &EventDefinition<'_>) -> Result<usize, HResult> {
        com_get!(self, 106, (
            provider => usize,
            event.name.as_ptr() => *const u16,
            event.id => u32,
            event.keywords => u64,
            event.version => u32,
            event.level => u32,
            0 => u8,
            0 => i32,
            event.params.len() as u32 => u32,
            event.params.as_ptr() => *const ParamDesc,
            out handle: usize,
        ) => handle)
    }

    /// `EventPipeWriteEvent`, slot 107.
    pub fn write_event(self, event: usize, data: &[EventData]) -> HResult {
        com_call!(self, 107, (
            event => usize,
            data.len() as u32 => u32,
            data.as_ptr() => *const EventData,
            ptr::null() => *const Guid,
            ptr::null() => *const Guid,
        ) -> HResult)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_runtime() {
        assert_eq!(size_of::<GenerationRange>(), 32);
        assert_eq!(size_of::<ProviderConfig>(), 32);
        assert_eq!(size_of::<ParamDesc>(), 16);
        assert_eq!(size_of::<EventData>(), 16);
    }
}
