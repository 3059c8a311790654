//! When a target has last shown that it runs: a process that is stopped (SIGSTOP, a debugger) or frozen (`docker pause`)
//! keeps all its connections, and answers nothing.

use std::time::Duration;

use dotnet_diagnostics_client::process;
use tokio::time::Instant;

/// How long a target that was asked to end its session may send nothing before we go without its answer. Together with
/// what is left to do then, the end of a watch comes at most 2 s after it was due.
const SILENT: Duration = Duration::from_millis(1600);
/// The same where a collection is known to run, and the process uses the processor: its answer comes after it.
const COLLECTING: Duration = Duration::from_secs(10);
/// However much it sends, its session is over by then.
const LONGEST: Duration = Duration::from_secs(30);

/// Signs of life of one target.
#[derive(Debug)]
pub(crate) struct Life {
    /// As we see it; without one only what it sends and reads counts.
    pid: Option<u32>,
    cpu_ticks: Option<u64>,
    last: Instant,
    /// Since when an answer is waited for, and what the process had used of the processor then.
    asked: Option<(Instant, Option<u64>)>,
    /// When it has sent something last.
    sent: Instant,
    looked: Instant,
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
            looked: now,
        }
    }

    /// It has sent something.
    pub(crate) fn sent(&mut self, now: Instant) {
        (self.last, self.sent) = (now, now);
    }

    /// To be called about once a second. `beats_read`: whether the profiler has read what was written to it.
    pub(crate) fn look(&mut self, beats_read: Option<bool>, now: Instant) {
        let cpu_ticks = self.pid.and_then(process::cpu_ticks);
        if beats_read == Some(true) || cpu_ticks != self.cpu_ticks {
            // It ran at some time since the last look; how long is not known.
            self.last = self.last.max(self.looked);
        }
        (self.cpu_ticks, self.looked) = (cpu_ticks, now);
    }

    /// It was asked to end its session.
    pub(crate) fn ask(&mut self, now: Instant) {
        self.look(None, now);
        self.asked = Some((now, self.cpu_ticks));
    }

    /// When to look whether it has been [silent](Self::is_silent) for too long.
    pub(crate) fn wake(&self, now: Instant) -> Option<Instant> {
        let (asked, _) = self.asked?;
        // However much it sends.
        let silent_at = (self.sent.max(asked) + SILENT).min(asked + LONGEST);
        // Where it is not over yet, it is looked again soon.
        Some(if silent_at > now { silent_at } else { now + Duration::from_millis(100) })
    }

    /// No answer will come in time. `collecting`: a collection runs, as far as is known.
    pub(crate) fn is_silent(&self, collecting: bool, now: Instant) -> bool {
        let Some((asked, ticks)) = self.asked else { return false };
        let silence = now.saturating_duration_since(self.sent.max(asked));
        let works = || collecting && self.pid.and_then(process::cpu_ticks) != ticks;
        now >= asked + LONGEST || silence >= COLLECTING || (silence >= SILENT && !works())
    }

    /// It sends, and its session does not end.
    pub(crate) fn sends(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.sent) < SILENT
    }

    /// The last sign of life, if it has been asked and nothing has come since.
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
        assert!(!life.is_silent(false, at(60_000)), "nobody has asked");
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
        // Without an answer even one that sends without end is left in the end.
        life.sent(at(89_900));
        assert_eq!(life.wake(at(89_950)), Some(at(90_000)));
        assert!(life.is_silent(false, at(90_000)) && life.sends(at(90_000)));
    }

    /// It is looked at once a second: what it did since then it may have done at once.
    #[test]
    fn the_last_sign_of_life_is_not_later_than_it_can_be_known() {
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
        // As if it had used none yet.
        life.asked = Some((at(0), Some(0)));
        if process::cpu_ticks(std::process::id()).is_some_and(|ticks| ticks > 0) {
            assert!(life.is_silent(false, at(2_000)) && !life.is_silent(true, at(2_000)));
        }
        assert!(life.is_silent(true, at(10_000)));
    }
}
