//! The interface the CLR calls: `ICorProfilerCallback` to `ICorProfilerCallback11` in one table.
//!
//! Each interface extends the one before, so one table serves them all. Order, signatures and identifiers are those of
//! `corprof.idl`. Rows without an expression return `S_OK`; the runtime never calls them, because our event mask does
//! not ask for them.

use core::ffi::c_void;

use crate::agent::Profiler;
use crate::build_options::{EMPTY_ANSWER, LATEST_CALLBACK, PLAIN};
use crate::com::{Class, Guid, IID_UNKNOWN};
use crate::hresult::{E_POINTER, HResult, S_OK};

/// Identifiers of `ICorProfilerCallback` to `ICorProfilerCallback11`, in order.
pub const IIDS: [Guid; 11] = [
    Guid::from_u128(0x176fbed1_a55c_4796_98ca_a9da0ef883e7),
    Guid::from_u128(0x8a8cc829_ccf2_49fe_bbae_0f022228071a),
    Guid::from_u128(0x4fd2ed52_7731_4b8d_9469_03d2cc3086c5),
    Guid::from_u128(0x7b63b2e3_107d_4d48_b2f6_f61e229470d2),
    Guid::from_u128(0x8dfba405_8c9f_45f8_bffa_83b14cef78b5),
    Guid::from_u128(0xfc13df4b_4448_4f4f_950c_ba8d19d00c36),
    Guid::from_u128(0xf76a2dba_1d52_4539_866c_2aa518f9efc3),
    Guid::from_u128(0x5bed9b15_c079_4d47_bfe2_215a140c07e0),
    Guid::from_u128(0x27583ec3_c8f5_482f_8052_194b8ce4705a),
    Guid::from_u128(0xcec5b60e_c69c_495f_87f6_84d28ee16ffb),
    Guid::from_u128(0x42350846_aaed_47f7_b128_fd0c98881cde),
];

com_table! {
    /// The functions of `ICorProfilerCallback11`, with `IUnknown`'s in front.
    pub struct Callback11Table for Profiler as profiler {
        // ICorProfilerCallback, from slot 3.
        Initialize(info: *mut c_void) unsafe => profiler.initialize(info);
        Shutdown() => profiler.shutdown();
        AppDomainCreationStarted(_: usize);
        AppDomainCreationFinished(_: usize, _: HResult);
        AppDomainShutdownStarted(_: usize);
        AppDomainShutdownFinished(_: usize, _: HResult);
        AssemblyLoadStarted(_: usize);
        AssemblyLoadFinished(_: usize, _: HResult);
        AssemblyUnloadStarted(_: usize);
        AssemblyUnloadFinished(_: usize, _: HResult);
        ModuleLoadStarted(_: usize);
        ModuleLoadFinished(module: usize, result: HResult) => profiler.module_load_finished(module, result);
        ModuleUnloadStarted(module: usize) => profiler.module_unload_started(module);
        ModuleUnloadFinished(_: usize, _: HResult);
        ModuleAttachedToAssembly(_: usize, _: usize);
        ClassLoadStarted(_: usize);
        ClassLoadFinished(_: usize, _: HResult);
        ClassUnloadStarted(_: usize);
        ClassUnloadFinished(_: usize, _: HResult);
        FunctionUnloadStarted(_: usize);
        JITCompilationStarted(_: usize, _: i32);
        JITCompilationFinished(_: usize, _: HResult, _: i32);
        JITCachedFunctionSearchStarted(_: usize, _: *mut i32);
        JITCachedFunctionSearchFinished(_: usize, _: u32);
        JITFunctionPitched(_: usize);
        JITInlining(_: usize, _: usize, _: *mut i32);
        ThreadCreated(_: usize);
        ThreadDestroyed(_: usize);
        ThreadAssignedToOSThread(_: usize, _: u32);
        RemotingClientInvocationStarted();
        RemotingClientSendingMessage(_: *mut Guid, _: i32);
        RemotingClientReceivingReply(_: *mut Guid, _: i32);
        RemotingClientInvocationFinished();
        RemotingServerReceivingMessage(_: *mut Guid, _: i32);
        RemotingServerInvocationStarted();
        RemotingServerInvocationReturned();
        RemotingServerSendingReply(_: *mut Guid, _: i32);
        UnmanagedToManagedTransition(_: usize, _: u32);
        ManagedToUnmanagedTransition(_: usize, _: u32);
        RuntimeSuspendStarted(_: u32);
        RuntimeSuspendFinished();
        RuntimeSuspendAborted();
        RuntimeResumeStarted();
        RuntimeResumeFinished();
        RuntimeThreadSuspended(_: usize);
        RuntimeThreadResumed(_: usize);
        MovedReferences(count: u32, old: *const usize, new: *const usize, lengths: *const u32)
            unsafe => measured(|| profiler.moved_v1(count, old, new, lengths));
        ObjectAllocated(_: usize, _: usize);
        ObjectsAllocatedByClass(_: u32, _: *const usize, _: *const u32);
        ObjectReferences(object: usize, class: usize, count: u32, references: *const usize)
            unsafe => if PLAIN { S_OK } else { profiler.object_references(object, class, count, references) };
        RootReferences(count: u32, objects: *const usize)
            unsafe => measured(|| profiler.roots_v1(count, objects));
        ExceptionThrown(_: usize);
        ExceptionSearchFunctionEnter(_: usize);
        ExceptionSearchFunctionLeave();
        ExceptionSearchFilterEnter(_: usize);
        ExceptionSearchFilterLeave();
        ExceptionSearchCatcherFound(_: usize);
        ExceptionOSHandlerEnter(_: usize);
        ExceptionOSHandlerLeave(_: usize);
        ExceptionUnwindFunctionEnter(_: usize);
        ExceptionUnwindFunctionLeave();
        ExceptionUnwindFinallyEnter(_: usize);
        ExceptionUnwindFinallyLeave();
        ExceptionCatcherEnter(_: usize, _: usize);
        ExceptionCatcherLeave();
        COMClassicVTableCreated(_: usize, _: *const Guid, _: *mut c_void, _: u32);
        COMClassicVTableDestroyed(_: usize, _: *const Guid, _: *mut c_void);
        ExceptionCLRCatcherFound();
        ExceptionCLRCatcherExecute();
        // ICorProfilerCallback2, from slot 72.
        ThreadNameChanged(_: usize, _: u32, _: *const u16);
        GarbageCollectionStarted(count: i32, collected: *const i32, reason: u32)
            unsafe => profiler.gc_started(count, collected, reason);
        SurvivingReferences(count: u32, starts: *const usize, lengths: *const u32)
            unsafe => measured(|| profiler.surviving_v1(count, starts, lengths));
        GarbageCollectionFinished() => profiler.gc_finished();
        FinalizeableObjectQueued(_: u32, _: usize) => profiler.finalizable_queued();
        RootReferences2(count: u32, objects: *const usize, kinds: *const u32, flags: *const u32, ids: *const usize)
            unsafe => measured(|| profiler.roots(count, objects, kinds, flags, ids));
        HandleCreated(_: usize, _: usize);
        HandleDestroyed(_: usize);
        // ICorProfilerCallback3, from slot 80.
        InitializeForAttach(info: *mut c_void, data: *mut c_void, length: u32)
            unsafe => profiler.initialize_for_attach(info, data, length);
        ProfilerAttachComplete() => profiler.attach_complete();
        ProfilerDetachSucceeded() => profiler.detach_succeeded();
        // ICorProfilerCallback4, from slot 83.
        ReJITCompilationStarted(_: usize, _: usize, _: i32);
        GetReJITParameters(_: usize, _: u32, _: *mut c_void);
        ReJITCompilationFinished(_: usize, _: usize, _: HResult, _: i32);
        ReJITError(_: usize, _: u32, _: usize, _: HResult);
        MovedReferences2(count: u32, old: *const usize, new: *const usize, lengths: *const usize)
            unsafe => measured(|| profiler.moved(count, old, new, lengths));
        SurvivingReferences2(count: u32, starts: *const usize, lengths: *const usize)
            unsafe => measured(|| profiler.surviving(count, starts, lengths));
        // ICorProfilerCallback5, from slot 89.
        ConditionalWeakTableElementReferences(count: u32, keys: *const usize, values: *const usize, handles: *const usize)
            unsafe => profiler.dependent_pairs(count, keys, values, handles);
        // ICorProfilerCallback6, from slot 90.
        GetAssemblyReferences(_: *const u16, _: *mut c_void);
        // ICorProfilerCallback7, from slot 91.
        ModuleInMemorySymbolsUpdated(_: usize);
        // ICorProfilerCallback8, from slot 92.
        DynamicMethodJITCompilationStarted(_: usize, _: i32, _: *const u8, _: u32);
        DynamicMethodJITCompilationFinished(_: usize, _: HResult, _: i32);
        // ICorProfilerCallback9, from slot 94.
        DynamicMethodUnloaded(_: usize);
        // ICorProfilerCallback10, from slot 95.
        EventPipeEventDelivered(provider: usize, id: u32, _: u32, _: u32, _: *const u8, length: u32, data: *const u8, _: *const Guid, _: *const Guid, _: usize, _: u32, _: *const usize)
            unsafe => profiler.event_delivered(provider, id, data, length);
        EventPipeProviderCreated(_: usize);
        // ICorProfilerCallback11, from slot 97.
        LoadAsNotificationOnly(answer: *mut i32) unsafe => notification_only(answer);
    }
}

// SAFETY: `com_table` puts the three functions of `IUnknown` for `Profiler` first.
unsafe impl Class for Profiler {
    type Table = Callback11Table;
    const TABLE: &'static Callback11Table = Callback11Table::VALUE;

    fn answers(iid: &Guid) -> bool {
        *iid == IID_UNKNOWN || IIDS.iter().take(LATEST_CALLBACK).any(|known| known == iid)
    }
}

/// The answer of a range or root callback, except in benchmark builds that do not look at the data.
fn measured(answer: impl FnOnce() -> HResult) -> HResult {
    EMPTY_ANSWER.unwrap_or_else(answer)
}

/// Asks to be the main profiler: notification-only profilers get no GC callbacks.
///
/// # Safety
/// `answer` is null or can be written.
unsafe fn notification_only(answer: *mut i32) -> HResult {
    if answer.is_null() {
        return E_POINTER;
    }
    // SAFETY: not null, so it can be written by the contract.
    unsafe { answer.write_unaligned(0) };
    S_OK
}

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use super::*;

    /// First slot after each interface, from the counts in the IDL.
    const ENDS: [usize; 11] = [72, 80, 83, 89, 90, 91, 92, 94, 95, 97, 98];

    macro_rules! slots {
        ($($method:ident)*) => {
            [$((stringify!($method), offset_of!(Callback11Table, $method) / size_of::<usize>())),*]
        };
    }

    #[test]
    fn the_first_and_last_method_of_each_interface_are_in_their_slots() {
        let firsts = slots! {
            Initialize ThreadNameChanged InitializeForAttach ReJITCompilationStarted
            ConditionalWeakTableElementReferences GetAssemblyReferences ModuleInMemorySymbolsUpdated
            DynamicMethodJITCompilationStarted DynamicMethodUnloaded EventPipeEventDelivered
            LoadAsNotificationOnly
        };
        let lasts = slots! {
            ExceptionCLRCatcherExecute HandleDestroyed ProfilerDetachSucceeded SurvivingReferences2
            ConditionalWeakTableElementReferences GetAssemblyReferences ModuleInMemorySymbolsUpdated
            DynamicMethodJITCompilationFinished DynamicMethodUnloaded EventPipeProviderCreated
            LoadAsNotificationOnly
        };
        let mut begin = 3;
        for (at, end) in ENDS.into_iter().enumerate() {
            assert_eq!(firsts[at].1, begin, "{}", firsts[at].0);
            assert_eq!(lasts[at].1, end - 1, "{}", lasts[at].0);
            begin = end;
        }
        assert_eq!(size_of::<Callback11Table>(), 98 * size_of::<usize>());
    }

    #[test]
    fn implemented_methods_are_in_their_slots() {
        let used = slots! {
            Shutdown MovedReferences ObjectReferences RootReferences GarbageCollectionStarted
            SurvivingReferences GarbageCollectionFinished FinalizeableObjectQueued RootReferences2
            ProfilerAttachComplete MovedReferences2
        };
        assert_eq!(used.map(|slot| slot.1), [4, 49, 52, 53, 73, 74, 75, 76, 77, 81, 87]);
    }

    #[test]
    fn it_answers_to_every_callback_interface_and_nothing_else() {
        assert!(Profiler::answers(&IID_UNKNOWN));
        assert!(IIDS.iter().all(Profiler::answers));
        assert!(!Profiler::answers(&crate::com::IID_CLASS_FACTORY));
        assert_eq!(format!("{:?}", IIDS[0]), "{176FBED1-A55C-4796-98CA-A9DA0EF883E7}");
        assert_eq!(format!("{:?}", IIDS[10]), "{42350846-AAED-47F7-B128-FD0C98881CDE}");
    }
}
