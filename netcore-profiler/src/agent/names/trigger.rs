//! Who asks for collections.

use super::stack::{CODE_WITHOUT_METHOD, own_methods};
use crate::agent::Profiler;
use crate::info::Info;
use crate::wire::{Ids, MAX_FRAMES, Trigger, event_id};

/// Reasons that a program causes by asking: induced, not forced, compacting, aggressive.
const ASKED: [u32; 4] = [1, 7, 10, 17];
/// Room for one.
const BYTES: usize = 16 + 8 * MAX_FRAMES;

impl Profiler {
    /// The runtime's `GCTriggered`: Reason, then more. On the thread that asks.
    pub(in crate::agent) fn triggered(&self, info: Info, payload: &[u8]) {
        let Some((reason, _)) = payload.split_first_chunk::<4>() else { return };
        let reason = u32::from_le_bytes(*reason);
        if !self.names.are_on() || !ASKED.contains(&reason) {
            return;
        }
        self.settle_names(info);
        let (mut frames, mut room, mut functions) = ([0; MAX_FRAMES], [0; MAX_FRAMES], [0_u64; MAX_FRAMES]);
        let found = own_methods(info, &mut frames, &mut room).map(<[_]>::len);
        let frames = match found {
            Some(count) => frames.get(..count).unwrap_or_default(),
            // SAFETY: no frame is given.
            None => unsafe { info.own_stack(None, &mut room) }.unwrap_or_default(),
        };
        for (function, told) in frames.iter().copied().zip(&mut functions) {
            if function != CODE_WITHOUT_METHOD {
                // SAFETY: its frame is on the calling thread's stack.
                unsafe { self.tell_method(info, function) };
            }
            *told = function as u64;
        }
        let trigger = Trigger {
            reason,
            os_thread: info.os_thread().map_or(0, u64::from),
            frames: Ids::new(functions.get(..frames.len()).unwrap_or_default()),
        };
        let mut buffer = [0; BYTES];
        if let Ok(length) = trigger.encode(&mut buffer) {
            self.events.write_payload(info, event_id::TRIGGER, buffer.get(..length).unwrap_or_default());
        }
        // Waking a thread takes longer than all of the above.
        if self.names.are_pending() {
            self.names.ring();
        }
    }
}
