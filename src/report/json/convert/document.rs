//! The parts of a document that stand outside its collections.

use crate::gc::facts::{Exit, Gap, Lost, Target};
use crate::report::json::number::Convert;
use crate::report::json::types::document as wire;
use crate::version::VERSION;

impl Convert {
    /// What was lost, and how many integers were cut so far: this must be converted last.
    pub(crate) fn lost(&mut self, lost: &Lost) -> wire::Lost {
        wire::Lost {
            gcs: self.int(lost.gcs),
            events: self.int(lost.events),
            ranges: self.int(lost.ranges),
            roots: self.int(lost.roots),
            gap: lost.gap.map(Gap::name),
            silent_since_ns: match lost.gap {
                Some(Gap::Silent { since_ns }) => Some(self.int(since_ns)),
                _ => None,
            },
            saturated: self.int(self.saturated),
        }
    }
}

/// The program that writes.
pub(crate) fn tool() -> wire::Tool {
    wire::Tool { name: "gcwatch", version: VERSION }
}

/// The process that is watched.
pub(crate) fn target(target: &Target) -> wire::Target {
    wire::Target {
        pid: target.pid,
        command_line: target.command_line.clone(),
        args: target.args.clone(),
        executable: target.executable.clone(),
        runtime: wire::Runtime {
            name: target.runtime_name.clone(),
            version: target.runtime_version.clone(),
            arch: target.arch.clone(),
            os: target.os.clone(),
        },
        gc: wire::GcSettings {
            server: target.gc.server,
            concurrent: target.gc.concurrent,
            heaps: target.gc.heaps,
            regions: target.gc.regions,
            source: target.gc.source,
        },
    }
}

/// How it ended.
pub(crate) fn exit(exit: &Exit) -> wire::Exit {
    wire::Exit { gcwatch: Some(exit.gcwatch), child: exit.child, reason: exit.reason }
}
