//! Makes a watch request from the options about watching.

use std::path::Path;
use std::time::Duration;

use super::spared;
use crate::assertion::{Assertions, StopCondition};
use crate::cli::{OutputArgs, WatchArgs};
use crate::exit::{Code, Failure};
use crate::gc::facts::{Sample, StepBackLimits};
use crate::gc::record::Level;
use crate::version::VERSION;
use crate::watch::graph::during;
use crate::watch::graph::new_file;
use crate::watch::recording;
use crate::watch::request::{Careful, Limits, WatchRequest};
use crate::watch::stream::{AllocationEvents, Detail};

/// gcwatch watches a program that it starts at the level asked for, at any cost.
pub(super) const NOT_CAREFUL: Careful = Careful {
    max_blocking_gc: Duration::MAX,
    step_back: StepBackLimits { share_ppm: u32::MAX, max_pause_ms: u32::MAX },
};

/// The request that the options make, without the recording.
///
/// # Errors
/// Options contradict each other.
pub(super) fn watch_request(
    watch: &WatchArgs,
    output: &OutputArgs,
    assertions: &Assertions,
) -> Result<WatchRequest, Failure> {
    let demanded = watch.level.map(Level::from);
    let between = watch.between.into();
    let sampling = watch.sample.map(|sample| Sample { between, ..sample });
    if let (Some(level), Some(_)) = (demanded.filter(|level| *level != Level::Roots), sampling) {
        let name = level.name();
        return Err(Failure::new(
            Code::USAGE,
            format!("--sample watches roots, which --level {name} does not"),
        )
        .remedy(format!("omit --level; --between {name} is the level between the windows")));
    }
    if sampling.is_none() && between != Level::Basic {
        return Err(Failure::new(Code::USAGE, "--between needs --sample")
            .remedy(format!("give --sample 1/30s as well, or --level {} alone", between.name())));
    }
    let graph = graph(watch, output)?;
    let graph_level = watch.graph_at.iter().map(StopCondition::level).max();
    Ok(WatchRequest {
        demanded,
        needed: assertions.level().max(graph_level),
        sampling,
        detail: Detail {
            blocks: output.blocks,
            names: !watch.no_names,
            allocations: watch.alloc.then_some(AllocationEvents::Either),
            between: sampling.map(|sample| sample.between),
            counters: false,
            graph: graph.is_some(),
        },
        profiler_path: watch.profiler_path.clone(),
        limits: Limits { duration: watch.duration, gcs: watch.gcs },
        careful: NOT_CAREFUL,
        recording: None,
        graph,
        children_dial: false,
    })
}

/// The graph that `--graph-at` asks for.
///
/// # Errors
/// It cannot be written, or the level does not see what a condition is about.
fn graph(watch: &WatchArgs, output: &OutputArgs) -> Result<Option<during::Plan>, Failure> {
    if watch.graph_at.is_empty() {
        return Ok(None);
    }
    if let Some(path) = &watch.graph_output {
        if path.extension().is_some_and(|extension| extension == "gcdump") {
            let what = "--graph-output writes a .gcgraph file only";
            return Err(Failure::new(Code::USAGE, what)
                .remedy("gcwatch graph app.gcgraph -o app.gcdump makes a .gcdump of it"));
        }
        let others = [(&output.output, "report", "--output"), (&watch.record, "recording", "--record")];
        for (other, what, option) in others {
            if let Some(other) = other.as_deref().filter(|other| spared::are_same(path, other)) {
                let (path, other) = (path.display(), other.display());
                let what = format!("the graph {path} and the {what} {other} are the same file");
                return Err(Failure::new(Code::USAGE, what)
                    .remedy(format!("choose another --graph-output or {option}")));
            }
        }
        // What cannot be written is noticed before anything is started.
        new_file(path)?;
    }
    let level = watch.level.map(Level::from);
    let unseen = |condition: &&StopCondition| level.is_some_and(|level| condition.level() > level);
    if let Some(condition) = watch.graph_at.iter().find(unseen) {
        let what = format!("--graph-at {} needs --level {}", condition.text(), condition.level().name());
        return Err(Failure::new(Code::USAGE, what).remedy("omit --level, or choose another condition"));
    }
    Ok(Some(during::Plan { output: watch.graph_output.clone(), version: VERSION }))
}

/// Asks for the runtime's counters if a live line shows them. A recording is made without: the counters would be most of
/// what a quiet program sends.
pub(super) fn with_live_line(mut request: WatchRequest, is_shown: bool) -> WatchRequest {
    request.detail.counters = is_shown && request.recording.is_none();
    request
}

/// A watch at level `basic`, to the end of the program.
pub(super) fn basic() -> WatchRequest {
    WatchRequest {
        demanded: Some(Level::Basic),
        needed: None,
        sampling: None,
        detail: Detail::default(),
        profiler_path: None,
        limits: Limits::default(),
        careful: NOT_CAREFUL,
        recording: None,
        graph: None,
        children_dial: false,
    }
}

/// Plans the recording that was asked for, so that an impossible one fails before gcwatch touches the target.
/// `several`: each process has a recording of its own.
///
/// # Errors
/// gcwatch cannot write the recording there.
pub(super) fn recording(
    args: &WatchArgs,
    output: &OutputArgs,
    several: bool,
) -> Result<Option<recording::Plan>, Failure> {
    let Some(path) = &args.record else { return Ok(None) };
    let rotation = args.rotate.map(|rotation| recording::Rotation { keep: args.keep_recording, ..rotation });
    // A collection is seen when it is over, and the next file may have begun by then.
    const MIN_FILES: u32 = 3;
    if rotation.is_some_and(|r| r.keep.is_some() && r.files.is_some_and(|files| files < MIN_FILES)) {
        let what =
            "--keep-recording needs a rotation of at least 3 files, to have the one before a collection";
        return Err(Failure::new(Code::USAGE, what).remedy("give --rotate SIZE,3 or more"));
    }
    let report = output.output.as_deref().filter(|path| *path != Path::new("-"));
    recording::Plan::new(path, rotation, several, report).map(Some)
}
