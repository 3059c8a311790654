//! How the target was watched.

use std::time::Duration;

use crate::gc::facts::{Estimate, Sample, Watch, WindowLength};
use crate::report::json::number::Convert;
use crate::report::json::types::watch as wire;

impl Convert {
    pub(crate) fn watch(&mut self, watch: &Watch) -> wire::Watch {
        wire::Watch {
            level: watch.level.name(),
            level_reason: watch.level_reason.clone(),
            started_at: watch.started_at.map(|t| t.to_string()),
            duration_ns: self.known(watch.duration_ns),
            background_gc: watch.background_gc.name(),
            arming: watch.arming.map(|a| a.name()),
            sample: watch.sample.map(|sample| self.sample(sample)),
            windows: wire::Windows {
                taken: self.int(watch.windows.taken),
                skipped: self.int(watch.windows.skipped()),
                skipped_by: wire::SkippedBy {
                    background_gc: self.int(watch.windows.busy),
                    refused: self.int(watch.windows.refused),
                },
            },
            estimate: watch.estimate.map(|estimate| self.estimate(estimate, watch.max_blocking_ns)),
            stepped_back: watch.stepped_back.as_ref().map(|stepped_back| wire::SteppedBack {
                at_ns: self.int(stepped_back.at_ns),
                reason: stepped_back.reason.clone(),
                from: "roots",
                to: "windows",
            }),
        }
    }

    fn estimate(&mut self, estimate: Estimate, limit_ns: Option<u64>) -> wire::Estimate {
        wire::Estimate {
            blocking_gc_ns: self.int(estimate.blocking_gc_ns),
            bytes: self.int(estimate.bytes),
            bytes_from: if estimate.by_statistics { "statistics" } else { "memory" },
            ns_per_mib: self.int(estimate.ns_per_mib),
            pace_from: if estimate.pace_measured { "collections" } else { "usual" },
            limit_ns: self.known(limit_ns),
        }
    }

    fn sample(&mut self, sample: Sample) -> wire::Sample {
        let mut ns = |time: Duration| self.int(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let (gcs, window_ns) = match sample.each {
            WindowLength::Gcs(n) => (Some(n), None),
            WindowLength::Time(time) => (None, Some(ns(time))),
        };
        wire::Sample { gcs, window_ns, every_ns: ns(sample.every), between: sample.between.name() }
    }
}
