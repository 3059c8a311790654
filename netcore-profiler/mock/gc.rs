//! Collections, as the runtime reports them to a profiler.

use std::ptr;
use std::sync::Barrier;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use netcore_profiler::hresult::{HResult, S_OK, succeeded};
use netcore_profiler::wire::{MovedRange, Root, SurvivingRange};

use super::{Clr, Library};

/// Entries of a batch.
const BATCH: usize = 512;

/// What one heap reports.
#[derive(Debug, Default, Clone)]
pub struct Heap {
    pub moved: Vec<MovedRange>,
    pub surviving: Vec<SurvivingRange>,
    /// Number of objects queued for finalization.
    pub queued: u32,
}

/// One collection.
#[derive(Debug, Clone)]
pub struct Collection {
    pub number: u32,
    /// 0 blocking, 1 background.
    pub kind: u32,
    pub collected: [bool; 5],
    pub reason: u32,
    pub heaps: Vec<Heap>,
    pub roots: Vec<Root>,
    pub pairs: u32,
    /// The runtime knows no callbacks beyond `ICorProfilerCallback3`.
    pub is_old: bool,
    pub tells_start: bool,
    pub delivers_start: bool,
}

impl Default for Collection {
    fn default() -> Self {
        Self {
            number: 1,
            kind: 0,
            collected: [true, false, false, false, false],
            reason: 0,
            heaps: vec![Heap::default()],
            roots: Vec::new(),
            pairs: 0,
            is_old: false,
            tells_start: true,
            delivers_start: true,
        }
    }
}

impl Library {
    fn deliver(&self, clr: &Clr, id: u32, payload: &[u8]) {
        if clr.session.load(SeqCst) != 0 {
            self.fire(clr, id, payload);
        }
    }

    /// Runs a collection.
    pub fn collect(&self, clr: &Clr, collection: &Collection) {
        self.collect_with(clr, collection, || {});
    }

    /// Runs a collection in which something happens after the first half of the ranges.
    pub fn collect_with(&self, clr: &Clr, collection: &Collection, midway: impl Fn() + Sync) {
        let table = self.table();
        if collection.tells_start {
            let collected = collection.collected.map(i32::from);
            // SAFETY: arguments as the interface documents them.
            unsafe {
                (table.GarbageCollectionStarted)(self.callback(), 5, collected.as_ptr(), collection.reason)
            };
        }
        if collection.delivers_start && !collection.is_old {
            let fields = [collection.number, 0, 0, collection.kind];
            let payload: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
            self.deliver(clr, 1, &payload);
        }
        let marked = Barrier::new(collection.heaps.len());
        thread::scope(|scope| {
            for (index, heap) in collection.heaps.iter().enumerate() {
                let (marked, midway) = (&marked, &midway);
                scope.spawn(move || {
                    if !collection.is_old {
                        self.deliver(clr, 202, &[0; 18]);
                    }
                    // Finalizable objects are found when all heaps have marked.
                    marked.wait();
                    for _ in 0..heap.queued {
                        if clr.is_armed() {
                            // SAFETY: arguments as the interface documents them.
                            unsafe { (table.FinalizeableObjectQueued)(self.callback(), 0, 0x1000) };
                        }
                    }
                    self.walk(clr, heap, collection.is_old, || {
                        if index == 0 {
                            midway();
                        }
                    });
                });
            }
        });
        if clr.is_armed() && collection.kind == 0 {
            self.walk_roots(collection);
        }
        // SAFETY: no arguments.
        unsafe { (table.GarbageCollectionFinished)(self.callback()) };
    }

    fn walk(&self, clr: &Clr, heap: &Heap, is_old: bool, midway: impl Fn()) {
        let half = heap.moved.len().div_ceil(BATCH) / 2;
        for (batch, ranges) in heap.moved.chunks(BATCH).enumerate() {
            if batch == half {
                midway();
            }
            if clr.is_armed() {
                let old: Vec<usize> = ranges.iter().map(|range| range.old as usize).collect();
                let new: Vec<usize> = ranges.iter().map(|range| range.new as usize).collect();
                let bytes: Vec<usize> = ranges.iter().map(|range| range.bytes as usize).collect();
                self.report_moved(&old, &new, &bytes, is_old);
            }
        }
        if heap.moved.is_empty() {
            midway();
        }
        for ranges in heap.surviving.chunks(BATCH) {
            if clr.is_armed() {
                let starts: Vec<usize> = ranges.iter().map(|range| range.start as usize).collect();
                let bytes: Vec<usize> = ranges.iter().map(|range| range.bytes as usize).collect();
                self.report_surviving(&starts, &bytes, is_old);
            }
        }
    }

    fn report_moved(&self, old: &[usize], new: &[usize], bytes: &[usize], is_old: bool) {
        let (table, this, count) = (self.table(), self.callback(), old.len() as u32);
        // SAFETY: arguments as the interface documents them.
        unsafe {
            let repeat = is_old
                || succeeded((table.MovedReferences2)(
                    this,
                    count,
                    old.as_ptr(),
                    new.as_ptr(),
                    bytes.as_ptr(),
                ));
            if repeat {
                let bytes = clamp(bytes);
                (table.MovedReferences)(this, count, old.as_ptr(), new.as_ptr(), bytes.as_ptr());
            }
        }
    }

    fn report_surviving(&self, starts: &[usize], bytes: &[usize], is_old: bool) {
        let (table, this, count) = (self.table(), self.callback(), starts.len() as u32);
        // SAFETY: arguments as the interface documents them.
        unsafe {
            let repeat = is_old
                || succeeded((table.SurvivingReferences2)(this, count, starts.as_ptr(), bytes.as_ptr()));
            if repeat {
                (table.SurvivingReferences)(this, count, starts.as_ptr(), clamp(bytes).as_ptr());
            }
        }
    }

    fn walk_roots(&self, collection: &Collection) {
        let (table, this) = (self.table(), self.callback());
        for roots in collection.roots.chunks(BATCH) {
            let count = roots.len() as u32;
            let objects: Vec<usize> = roots.iter().map(|root| root.object as usize).collect();
            let kinds: Vec<u32> = roots.iter().map(|root| u32::from(root.kind.0)).collect();
            let flags: Vec<u32> = roots.iter().map(|root| u32::from(root.flags.0)).collect();
            let ids: Vec<usize> = roots.iter().map(|root| root.root_id as usize).collect();
            // SAFETY: arguments as the interface documents them.
            unsafe {
                let repeat = collection.is_old
                    || succeeded((table.RootReferences2)(
                        this,
                        count,
                        objects.as_ptr(),
                        kinds.as_ptr(),
                        flags.as_ptr(),
                        ids.as_ptr(),
                    ));
                if repeat {
                    (table.RootReferences)(this, count, objects.as_ptr());
                }
            }
        }
        // SAFETY: arguments as the interface documents them.
        unsafe {
            if collection.pairs > 0 && !collection.is_old {
                let references = vec![0x2000_usize; collection.pairs as usize];
                let start = references.as_ptr();
                (table.ConditionalWeakTableElementReferences)(this, collection.pairs, start, start, start);
            }
            let answer = (table.ObjectReferences)(this, 0x1000, 0x2000, 0, ptr::null());
            assert!(!succeeded(answer), "the walk over all objects is ended");
        }
    }

    /// `Initialize`, with a configuration in the runtime's environment.
    pub fn start(&self, clr: &'static Clr, config: &str) -> HResult {
        super::info::lock(&clr.environment).insert("GCWATCH_PROFILER".to_owned(), config.to_owned());
        // SAFETY: arguments as the interface documents them.
        unsafe { (self.table().Initialize)(self.callback(), clr.unknown()) }
    }

    /// `InitializeForAttach` and, if that succeeds, `ProfilerAttachComplete`.
    pub fn attach(&self, clr: &'static Clr, config: &str) -> HResult {
        // SAFETY: arguments as the interface documents them.
        unsafe {
            let answer = (self.table().InitializeForAttach)(
                self.callback(),
                clr.unknown(),
                config.as_ptr().cast_mut().cast(),
                config.len() as u32,
            );
            if succeeded(answer) {
                (self.table().ProfilerAttachComplete)(self.callback());
            }
            answer
        }
    }

    /// A runtime into which the profiler was attached.
    pub fn attached(config: &str) -> (Self, &'static Clr) {
        let (library, clr) = (Self::load(), Clr::new());
        assert_eq!(library.attach(clr, config), 0);
        (library, clr)
    }

    /// `ProfilerDetachSucceeded`.
    pub fn detached(&self) {
        // SAFETY: no arguments.
        assert_eq!(unsafe { (self.table().ProfilerDetachSucceeded)(self.callback()) }, S_OK);
    }

    /// `Shutdown`.
    pub fn shut_down(&self) {
        // SAFETY: no arguments.
        assert_eq!(unsafe { (self.table().Shutdown)(self.callback()) }, S_OK);
    }
}

fn clamp(bytes: &[usize]) -> Vec<u32> {
    bytes.iter().map(|bytes| u32::try_from(*bytes).unwrap_or(u32::MAX)).collect()
}
