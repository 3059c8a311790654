//! The totals of several processes.

use crate::report::json::number::Convert;
use crate::report::json::types::processes as wire;
use crate::report::multi_process::model::Overall;

pub(crate) fn overall(to: &mut Convert, all: &Overall) -> wire::Overall {
    wire::Overall {
        processes: to.int(all.processes),
        not_watched: to.int(all.not_watched),
        gcs: to.int(all.gcs),
        incomplete: to.int(all.incomplete),
        by_generation_and_kind: all
            .groups
            .iter()
            .map(|((generation, kind), group)| wire::OverallGroup {
                generation: generation.0,
                kind: kind.name(),
                count: to.int(group.count),
                pause_ns: wire::OverallPauses {
                    total: to.known(group.pause_total_ns),
                    max: to.known(group.pause_max_ns),
                },
            })
            .collect(),
        pause_ns: to.int(all.pause_ns),
        assertions: wire::VerdictCounts {
            hold: to.int(all.verdicts.hold),
            fail: to.int(all.verdicts.fail),
            not_judged: to.int(all.verdicts.not_judged),
        },
        lost: to.lost(&all.lost),
    }
}
