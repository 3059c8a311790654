//! The share of the time for which the program was paused, and how much of it can be the program's own.

use super::units::percent;
use crate::gc::record::{Gc, Level};
use crate::gc::summary::Summary;

/// Times of some collections, added up, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    /// Pauses.
    pub(super) pause_ns: u64,
    /// Pauses without the measured work for gcwatch.
    own_at_most_ns: u64,
    /// Stops that gcwatch caused; they are in no pause.
    caused_ns: u64,
    /// Some pauses contain work for gcwatch.
    work_in_pauses: bool,
}

impl Share {
    /// The times of one collection.
    pub(super) fn of(gc: &Gc) -> Share {
        Share {
            pause_ns: gc.pause_ns.unwrap_or(0),
            own_at_most_ns: gc.own_pause_at_most_ns().unwrap_or(0),
            caused_ns: gc.caused_by_watching_ns.unwrap_or(0),
            work_in_pauses: gc.level > Level::Basic,
        }
    }

    /// The times of all collections of a watch.
    pub(super) fn of_all(sum: &Summary) -> Share {
        Share {
            pause_ns: sum.pause_ns,
            own_at_most_ns: sum.own_pause_at_most_ns,
            caused_ns: sum.extra_stops.ns,
            work_in_pauses: sum.gcs_above_basic > 0,
        }
    }

    /// The sum of both.
    pub(super) fn plus(self, other: Share) -> Share {
        Share {
            pause_ns: self.pause_ns.saturating_add(other.pause_ns),
            own_at_most_ns: self.own_at_most_ns.saturating_add(other.own_at_most_ns),
            caused_ns: self.caused_ns.saturating_add(other.caused_ns),
            work_in_pauses: self.work_in_pauses || other.work_in_pauses,
        }
    }

    /// `at most 19 % its own, 2.1 % more for gcwatch`, as shares of a time; `None` where watching changed nothing.
    pub(super) fn remark(self, of_ns: u64) -> Option<String> {
        let of = |ns: u64| percent(ns as f64 / of_ns.max(1) as f64 * 100.0);
        let own = self.work_in_pauses.then(|| format!("at most {} its own", of(self.own_at_most_ns)));
        let more = (self.caused_ns > 0).then(|| format!("{} more for gcwatch", of(self.caused_ns)));
        let parts: Vec<String> = own.into_iter().chain(more).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::Cost;

    #[test]
    fn what_gcwatch_measured_of_itself_is_not_the_program_s() {
        let mut gc = Gc::unknown(Level::Basic);
        gc.pause_ns = Some(280);
        assert_eq!(Share::of(&gc).remark(1000), None, "watching at basic changes no pause");
        gc.level = Level::Moves;
        gc.caused_by_watching_ns = Some(21);
        // The runtime's work for events of blocks is not measured.
        assert_eq!(
            Share::of(&gc).remark(1000).as_deref(),
            Some("at most 28 % its own, 2.1 % more for gcwatch")
        );
        gc.level = Level::Roots;
        gc.caused_by_watching_ns = Some(0);
        gc.heap_count = Some(2);
        // Both threads of the GC worked at the same time.
        gc.cost = Some(Cost { callback_ns: 20, walk_ns: 160, naming_ns: None, armed: true });
        assert_eq!(Share::of(&gc).remark(1000).as_deref(), Some("at most 19 % its own"));
        // The number of threads is not known: nothing is subtracted.
        gc.heap_count = None;
        assert_eq!(Share::of(&gc).remark(1000).as_deref(), Some("at most 28 % its own"));
        let mut sum = Summary::default();
        gc.heap_count = Some(1);
        sum.add(&gc);
        sum.add(&gc);
        assert_eq!(Share::of_all(&sum), Share::of(&gc).plus(Share::of(&gc)));
        assert_eq!(Share::of_all(&sum).remark(1000).as_deref(), Some("at most 20 % its own"));
    }
}
