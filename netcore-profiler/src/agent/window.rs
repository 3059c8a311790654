//! The sampling window for which the profiler was loaded, if there is one.

use core::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::wire::Window;

zeroed! {
    #[derive(Debug)]
    pub(super) struct WindowState {
        /// The fields of [`Window`] in their order; number 0: there is no window.
        window: [AtomicU32; 5],
        /// How many collections were armed in the window.
        armed: AtomicU32,
    }
}

impl WindowState {
    pub(super) fn begin(&self, window: Option<Window>) {
        let Window { number, gcs, length_ms, every_ms, busy } = window.unwrap_or_default();
        for (field, value) in self.window.iter().zip([number, gcs, length_ms, every_ms, busy]) {
            field.store(value, SeqCst);
        }
        self.armed.store(0, SeqCst);
    }

    pub(super) fn get(&self) -> Option<Window> {
        let [number, gcs, length_ms, every_ms, busy] = self.window.each_ref().map(|field| field.load(SeqCst));
        (number != 0).then_some(Window { number, gcs, length_ms, every_ms, busy })
    }

    /// Counts a collection that was armed.
    pub(super) fn add_armed(&self) {
        self.armed.fetch_add(1, SeqCst);
    }

    /// Whether the window has had all its collections. Later ones are not armed.
    pub(super) fn is_full(&self) -> bool {
        let [_, gcs, ..] = &self.window;
        let gcs = gcs.load(SeqCst);
        gcs != 0 && self.armed.load(SeqCst) >= gcs
    }
}
