//! Reads a JSON document for `gcwatch diff`: only the figures that metrics need.

use serde::Deserialize;

use super::types::document::SCHEMA;
use crate::gc::facts::{BackgroundGc, Gap, GcSettings, Lost, Target, Watch};
use crate::gc::generation::Generation;
use crate::gc::named::Named;
use crate::gc::record::{
    Allocated, BlockCount, Gc, GenerationStats, Incomplete, Kind, Level, Moved, Reason, RootCount, Roots,
    Surviving,
};
use crate::gc::root_kind::{RootFlags, RootKind};

/// What `diff` needs of a document.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) target: Target,
    pub(crate) gcs: Vec<Gc>,
    pub(crate) watch: Watch,
    pub(crate) lost: Lost,
    /// The program ended with a failure.
    pub(crate) failed: bool,
    /// gcwatch started the program and watched it to its own end.
    pub(crate) whole_program: bool,
    /// It has a summary: it was not truncated.
    pub(crate) complete: bool,
    /// Id and title of each finding; `None`: it has no list of them.
    pub(crate) findings: Option<Vec<(String, String)>>,
}

#[derive(Deserialize)]
struct Document {
    schema: String,
    gcs: Option<Vec<GcIn>>,
    /// Only in a document of several processes.
    processes: Option<serde::de::IgnoredAny>,
    exit: Option<ExitIn>,
    watch: Option<WatchIn>,
    lost: Option<LostIn>,
    summary: Option<serde::de::IgnoredAny>,
    target: Option<TargetIn>,
    findings: Option<Vec<FindingIn>>,
}

#[derive(Deserialize)]
struct ExitIn {
    child: Option<i32>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct FindingIn {
    id: String,
    title: String,
}

#[derive(Deserialize)]
struct TargetIn {
    pid: Option<u32>,
    command_line: Option<String>,
    runtime: RuntimeIn,
    /// Documents of earlier versions have none.
    processors: Option<u32>,
    gc: SettingsIn,
}

#[derive(Deserialize)]
struct RuntimeIn {
    version: Option<String>,
    arch: Option<String>,
    os: Option<String>,
}

#[derive(Deserialize)]
struct SettingsIn {
    server: Option<bool>,
    concurrent: Option<bool>,
}

#[derive(Deserialize)]
struct LostIn {
    /// Not in documents of earlier versions.
    #[serde(default)]
    gcs: u64,
    events: u64,
    ranges: u64,
    roots: u64,
    gap: Option<String>,
}

#[derive(Deserialize)]
struct WatchIn {
    started_at: Option<String>,
    level: String,
    duration_ns: Option<u64>,
    background_gc: String,
}

#[derive(Deserialize)]
struct GcIn {
    number: Option<u32>,
    level: String,
    generation: Option<u8>,
    kind: Option<String>,
    reason: Option<String>,
    complete: bool,
    pause_ns: Option<u64>,
    suspend_ns: Option<u64>,
    /// Documents of earlier versions have none.
    #[serde(default)]
    allocated: Option<AllocatedIn>,
    heap_before_bytes: Option<u64>,
    heap_after_bytes: Option<u64>,
    promoted_bytes: Option<u64>,
    committed_bytes: Option<u64>,
    handles: Option<u32>,
    pinned_objects: Option<u32>,
    generations: Vec<GenerationIn>,
    moved: Option<BlocksIn>,
    surviving: Option<BlocksIn>,
    roots: Option<RootsIn>,
}

#[derive(Deserialize)]
struct AllocatedIn {
    bytes: u64,
    large_bytes: u64,
    in_ns: u64,
}

#[derive(Deserialize)]
struct GenerationIn {
    size_after_bytes: Option<u64>,
    promoted_bytes: Option<u64>,
    fragmentation_bytes: Option<u64>,
}

#[derive(Deserialize)]
struct BlocksIn {
    blocks: u64,
    bytes: u64,
}

#[derive(Deserialize)]
struct RootsIn {
    by_kind_and_flag: Option<Vec<RootIn>>,
}

#[derive(Deserialize)]
struct RootIn {
    kind: String,
    flags: Vec<String>,
    count: u64,
}

/// Reads one document of `--format json`.
///
/// # Errors
/// It is no JSON, or no document of this format: a sentence without a full stop.
pub(crate) fn read(input: impl std::io::Read) -> Result<Read, String> {
    let document: Document = serde_json::from_reader(input).map_err(|e| match e.classify() {
        serde_json::error::Category::Data => format!("it is no document of {SCHEMA}: {e}"),
        _ => e.to_string(),
    })?;
    if document.schema != SCHEMA {
        return Err(format!("it is {}, and this gcwatch reads {SCHEMA}", document.schema));
    }
    if document.processes.is_some() {
        return Err("it holds several processes (--follow), and `diff` compares single ones".to_owned());
    }
    // What was cut off has no summary, and may lack more.
    let is_whole = document.gcs.is_some()
        && document.watch.is_some()
        && document.lost.is_some()
        && document.target.is_some();
    if document.summary.is_some() && !is_whole {
        return Err("a part of it is missing: gcs, watch, lost or target".to_owned());
    }
    let watch = document.watch;
    let lost = document.lost;
    let child = document.exit.as_ref().and_then(|exit| exit.child);
    let reason = document.exit.and_then(|exit| exit.reason);
    Ok(Read {
        target: document.target.map_or_else(Target::default, target),
        gcs: document.gcs.unwrap_or_default().into_iter().map(gc).collect(),
        failed: child.is_some_and(|code| code != 0),
        whole_program: child.is_some() && reason.as_deref() == Some("target-ended"),
        watch: watch.map_or_else(Watch::default, |w| Watch {
            level: Level::named(&w.level).unwrap_or_default(),
            started_at: w.started_at.and_then(|time| time.parse().ok()),
            duration_ns: w.duration_ns,
            background_gc: BackgroundGc::named(&w.background_gc).unwrap_or_default(),
            ..Watch::default()
        }),
        lost: lost.map_or_else(Lost::default, |l| Lost {
            gcs: l.gcs,
            events: l.events,
            ranges: l.ranges,
            roots: l.roots,
            // Which one it is does not matter here.
            gap: l.gap.map(|_| Gap::Truncated),
        }),
        complete: document.summary.is_some(),
        findings: document.findings.map(|all| all.into_iter().map(|f| (f.id, f.title)).collect()),
    })
}

fn target(of: TargetIn) -> Target {
    Target {
        pid: of.pid,
        command_line: of.command_line,
        runtime_version: of.runtime.version,
        arch: of.runtime.arch,
        os: of.runtime.os,
        processors: of.processors,
        gc: GcSettings { server: of.gc.server, concurrent: of.gc.concurrent, ..GcSettings::default() },
        ..Target::default()
    }
}

fn gc(of: GcIn) -> Gc {
    let mut gc = Gc::unknown(Level::named(&of.level).unwrap_or_default());
    gc.number = of.number;
    gc.generation = of.generation.map(Generation);
    gc.kind = of.kind.and_then(|name| Kind::named(&name));
    gc.reason = of.reason.and_then(|name| (0..32).map(Reason).find(|reason| reason.names().0 == name));
    // Which of the reasons does not matter: it counts nowhere.
    gc.incomplete = (!of.complete).then_some(Incomplete::EndedAfter);
    gc.pause_ns = of.pause_ns;
    gc.suspend_ns = of.suspend_ns;
    gc.allocated =
        of.allocated.map(|a| Allocated { bytes: a.bytes, large_bytes: a.large_bytes, in_ns: a.in_ns });
    gc.heap_before_bytes = of.heap_before_bytes;
    gc.heap_after_bytes = of.heap_after_bytes;
    gc.promoted_bytes = of.promoted_bytes;
    gc.committed_bytes = of.committed_bytes;
    gc.handles = of.handles;
    gc.pinned_objects = of.pinned_objects;
    let generation = |g: GenerationIn| GenerationStats {
        size_after_bytes: g.size_after_bytes,
        promoted_bytes: g.promoted_bytes,
        fragmentation_bytes: g.fragmentation_bytes,
        ..GenerationStats::default()
    };
    gc.generations = of.generations.into_iter().map(generation).collect();
    let count = |b: BlocksIn| BlockCount { blocks: b.blocks, bytes: b.bytes };
    gc.moved = of.moved.map(|b| Moved { count: count(b), ..Moved::default() });
    gc.surviving = of.surviving.map(|b| Surviving { count: count(b), ..Surviving::default() });
    gc.roots = of.roots.and_then(|r| r.by_kind_and_flag).map(|counts| {
        let root = |r: RootIn| RootCount {
            kind: RootKind::named(&r.kind),
            flags: RootFlags::named(r.flags.iter().map(String::as_str)),
            count: r.count,
        };
        let counts = counts.into_iter().map(root).collect();
        Roots { counts, kinds_known: true, ..Roots::default() }
    });
    gc
}
