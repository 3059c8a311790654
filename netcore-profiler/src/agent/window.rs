//! The sampling window for which the profiler was loaded, if there is one.

use core::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::wire::Window;

zeroed! {
    #[derive(Debug)]
    pub(super) struct WindowState {
        /// 0: there is no window.
        number: AtomicU32,
        gcs: AtomicU32,
        length_ms: AtomicU32,
        every_ms: AtomicU32,
        busy: AtomicU32,
        /// How many collections were armed in the window.
        armed: AtomicU32,
    }
}

impl WindowState {
    pub(super) fn begin(&self, window: Option<Window>) {
        let window = window.unwrap_or_default();
        self.number.store(window.number, SeqCst);
        self.gcs.store(window.gcs, SeqCst);
        self.length_ms.store(window.length_ms, SeqCst);
        self.every_ms.store(window.every_ms, SeqCst);
        self.busy.store(window.busy, SeqCst);
        self.armed.store(0, SeqCst);
    }

    pub(super) fn get(&self) -> Option<Window> {
        let number = self.number.load(SeqCst);
        (number != 0).then(|| Window {
            number,
            gcs: self.gcs.load(SeqCst),
            length_ms: self.length_ms.load(SeqCst),
            every_ms: self.every_ms.load(SeqCst),
            busy: self.busy.load(SeqCst),
        })
    }

    /// Counts a collection that was armed.
    pub(super) fn add_armed(&self) {
        self.armed.fetch_add(1, SeqCst);
    }

    /// Whether the window has had all its collections. Later ones are not armed.
    pub(super) fn is_full(&self) -> bool {
        let gcs = self.gcs.load(SeqCst);
        gcs != 0 && self.armed.load(SeqCst) >= gcs
    }
}
