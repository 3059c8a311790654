//! Tracks when a target last showed that it runs. A process that is stopped (SIGSTOP, a debugger) or was frozen by
//! `docker pause` keeps all its connections, but answers nothing.

use std::time::Duration;

use dotnet_diagnostics_client::process;
use tokio::time::Instant;

/// A target that was asked to end its session may send nothing for this time; then gcwatch leaves without its answer.
/// With the work that is left then, a watch ends at most 2 s after it was due.
const SILENCE_TIMEOUT: Duration = Duration::from_millis(1600);
/// The same while a collection runs and the process uses the processor: the answer comes after the collection.
const GC_TIMEOUT: Duration = Duration::from_secs(10);
/// gcwatch leaves after this time, even if the target still sends.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// Signs of life of one target.
#[derive(Debug)]
pub(crate) struct Life {
    /// Its id in our namespace. Without one, only what it sends and reads is a sign of life.
    pid: Option<u32>,
    cpu_ticks: Option<u64>,
    last: Instant,
    /// When the target was asked to end its session, and how much processor time it had used then.
    asked: Option<(Instant, Option<u64>)>,
    /// When it last sent something.
    sent: Instant,
    last_look: Instant,
}

impl Life {
    /// The target has just answered.
    pub(crate) fn new(pid: Option<u32>, now: Instant) -> Life {
        Life {
            pid,
            cpu_ticks: pid.and_then(process::cpu_ticks),
            last: now,
            asked: None,
            sent: now,
            last_look: now,
        }
    }

    /// The target has sent something.
    pub(crate) fn sent(&mut self, now: Instant) {
        (self.last, self.sent) = (now, now);
    }

    /// Call it about once a second. `beats_read`: whether the profiler has read every heartbeat.
    pub(crate) fn look(&mut self, beats_read: Option<bool>, now: Instant) {
        let cpu_ticks = self.pid.and_then(process::cpu_ticks);
        if beats_read == Some(true) || cpu_ticks != self.cpu_ticks {
            // It ran at some time since the last look. Only the time of that look is certain.
            self.last = self.last.max(self.last_look);
        }
        (self.cpu_ticks, self.last_look) = (cpu_ticks, now);
    }

    /// The target is asked to end its session.
    pub(crate) fn ask(&mut self, now: Instant) {
        self.look(None, now);
        self.asked = Some((now, self.cpu_ticks));
    }

    /// When to check [`is_silent`](Self::is_silent) next.
    pub(crate) fn wake(&self, now: Instant) -> Option<Instant> {
        let (asked, _) = self.asked?;
        let silent_at = (self.sent.max(asked) + SILENCE_TIMEOUT).min(asked + END_TIMEOUT);
        // A collection delays the answer: check again soon.
        Some(if silent_at > now { silent_at } else { now + Duration::from_millis(100) })
    }

    /// Whether to leave without an answer. `collecting`: a collection runs, as far as is known.
    pub(crate) fn is_silent(&self, collecting: bool, now: Instant) -> bool {
        let Some((asked, ticks)) = self.asked else { return false };
        let silence = now.saturating_duration_since(self.sent.max(asked));
        let works = || collecting && self.pid.and_then(process::cpu_ticks) != ticks;
        now >= asked + END_TIMEOUT || silence >= GC_TIMEOUT || (silence >= SILENCE_TIMEOUT && !works())
    }

    /// Whether the target has sent something lately.
    pub(crate) fn sends(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.sent) < SILENCE_TIMEOUT
    }

    /// The last sign of life, if the target was asked to end its session and has sent nothing since.
    pub(crate) fn unanswered_since(&self) -> Option<Instant> {
        let (asked, _) = self.asked?;
        (self.sent <= asked).then_some(self.last)
    }

    /// The last sign of life.
    pub(crate) fn last(&self) -> Instant {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_from_the_question_and_from_the_last_bytes() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut life = Life::new(None, start);
        assert!(!life.is_silent(false, at(60_000)), "gcwatch has not asked yet");
        assert_eq!(life.wake(at(60_000)), None);
        life.sent(at(1_000));
        life.ask(at(60_000));
        assert_eq!(life.unanswered_since(), Some(at(1_000)));
        assert!(!life.is_silent(false, at(61_500)));
        assert!(life.is_silent(false, at(61_600)));
        life.sent(at(61_000));
        assert_eq!(life.unanswered_since(), None);
        assert!(!life.is_silent(false, at(62_500)));
        assert!(life.is_silent(false, at(62_600)));
        // In the end gcwatch leaves even a target that never stops sending.
        life.sent(at(89_900));
        assert_eq!(life.wake(at(89_950)), Some(at(90_000)));
        assert!(life.is_silent(false, at(90_000)) && life.sends(at(90_000)));
    }

    /// A sign that a look finds may have come right after the look before it.
    #[test]
    fn the_last_sign_of_life_is_no_later_than_is_certain() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut life = Life::new(None, start);
        life.sent(at(700));
        life.look(Some(true), at(1_000));
        assert_eq!(life.last(), at(700));
        life.look(Some(true), at(2_000));
        assert_eq!(life.last(), at(1_000));
        life.look(Some(false), at(3_000));
        assert_eq!(life.last(), at(1_000));
    }

    #[test]
    fn a_process_that_works_may_finish_its_collection() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut life = Life::new(Some(std::process::id()), start);
        life.ask(at(0));
        // As if the process had used no processor time yet.
        life.asked = Some((at(0), Some(0)));
        if process::cpu_ticks(std::process::id()).is_some_and(|ticks| ticks > 0) {
            assert!(life.is_silent(false, at(2_000)) && !life.is_silent(true, at(2_000)));
        }
        assert!(life.is_silent(true, at(10_000)));
    }
}
