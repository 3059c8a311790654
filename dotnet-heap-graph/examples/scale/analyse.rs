//! Loads and analyses a file, and prints what each step takes.

use std::time::Instant;

use dotnet_heap_graph::analysis::*;
use dotnet_heap_graph::{Dominators, Graph};

use crate::Result;

/// Wall-clock time and processor time of each step.
struct Clock {
    wall: Instant,
    cpu: f64,
    objects: f64,
}

impl Clock {
    fn step(&mut self, name: &str) {
        let (wall, cpu) = (self.wall.elapsed().as_secs_f64(), cpu_seconds());
        println!(
            "  {name}: {wall:.2} s, processors {:.2} s, highest memory so far {:.1} bytes an object",
            cpu - self.cpu,
            highest_memory_bytes() as f64 / self.objects
        );
        (self.wall, self.cpu) = (Instant::now(), cpu);
    }
}

pub(crate) fn analyse(path: &str) -> Result<()> {
    let start = Instant::now();
    let mut clock = Clock { wall: start, cpu: cpu_seconds(), objects: f64::INFINITY };
    let graph = Graph::open(path)?;
    clock.objects = f64::from(graph.len().max(1));
    clock.step("load");
    let statics = StaticArrays::new(&graph);
    let beside = || -> dotnet_heap_graph::Result<Paths<'_>> {
        let paths = Paths::new(&graph, &statics)?;
        totals(&graph, &paths);
        wasted_arrays(&graph, &paths, 50)?;
        boxed_values(&graph, &paths, 50);
        duplicate_strings(&graph, &paths, 50)?;
        Ok(paths)
    };
    let (paths, dominators) = graph.both(beside, || Dominators::new(&graph));
    let paths = paths?;
    clock.step("dominators, and answers that do not need them");
    let sums = || {
        let classes = class_totals(&graph, &dominators);
        root_totals(&graph, &dominators);
        pending_work(&graph, &classes);
        delegate_targets(&graph, &dominators, 50);
        kept_by_finalizers(&graph, &dominators);
        kept_by_dependent_handles(&graph, &dominators);
        Snapshot::new(&graph, &dominators, &classes);
    };
    let holders = || -> Result<()> {
        for big in biggest(&graph, &dominators, &statics, 20) {
            paths.path(big.object)?;
        }
        suspects(&graph, &dominators, &statics, &paths, 10)?;
        Ok(())
    };
    let ((), holders) = graph.both(sums, holders);
    holders?;
    clock.step("other answers");
    println!(
        "  all: {:.2} s, processors {:.2} s, highest memory {} MiB, {} objects can be reached",
        start.elapsed().as_secs_f64(),
        cpu_seconds(),
        highest_memory_bytes() >> 20,
        dominators.reachable().objects
    );
    Ok(())
}

/// Processor time of this process so far. 0 where the system has no such file.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    // Linux counts hundredths of a second here, on all machines.
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The most memory that this process has used. 0 where the system has no such file.
fn highest_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or_default()
        << 10
}
