//! Methods that induce collections.

use super::stack::{CODE_WITHOUT_METHOD, own_methods};
use crate::agent::profiler::Profiler;
use crate::info::Info;
use crate::wire::{Ids, MAX_FRAMES, Trigger};

/// `GCReason`s of `GC.Collect`: induced, induced not forced, induced compacting, induced aggressive.
const INDUCED: [u32; 4] = [1, 7, 10, 17];
/// Room for one event.
const BYTES: usize = 16 + 8 * MAX_FRAMES;

impl Profiler {
    /// The runtime's `GCTriggered` event, on the thread that induces the collection: Reason, and later fields.
    pub(in crate::agent) fn gc_triggered(&self, info: Info, payload: &[u8]) {
        let Some((reason, _)) = payload.split_first_chunk::<4>() else { return };
        let reason = u32::from_le_bytes(*reason);
        if !self.names.are_on() || !INDUCED.contains(&reason) {
            return;
        }
        self.send_forget_if_due(info);
        let (mut frames, mut room, mut functions) = ([0; MAX_FRAMES], [0; MAX_FRAMES], [0_u64; MAX_FRAMES]);
        let found = own_methods(info, &mut frames, &mut room).map(<[_]>::len);
        let frames = match found {
            Some(count) => frames.get(..count).unwrap_or_default(),
            // SAFETY: no seed is passed.
            None => unsafe { info.own_stack(None, &mut room) }.unwrap_or_default(),
        };
        for (function, sent) in frames.iter().copied().zip(&mut functions) {
            if function != CODE_WITHOUT_METHOD {
                // SAFETY: the method's frame is on the calling thread's stack.
                unsafe { self.report_method(info, function) };
            }
            *sent = function as u64;
        }
        let trigger = Trigger {
            reason,
            os_thread: info.os_thread().map_or(0, u64::from),
            frames: Ids::new(functions.get(..frames.len()).unwrap_or_default()),
        };
        self.events.send::<BYTES>(info, &trigger);
        // Only if needed: waking a thread takes longer than all of the above.
        if self.names.are_pending() {
            self.names.wake();
        }
    }
}
