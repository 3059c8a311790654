//! Made-up collections, and a writer, for the tests of the formats.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use crate::gc::facts::{Arming, BackgroundGc, Exit, GcSettings, Lost, Target, Watch};
use crate::gc::generation::Generation;
use crate::gc::histogram::Histogram;
use crate::gc::record::{
    BlockCount, Compacting, Cost, Gc, GenerationStats, HeapStats, Incomplete, Kind, Level, Moved, MovedRange,
    Pause, Phase, Phases, Reason, Root, RootCount, Roots, Surviving, SurvivingRange, Transition,
};
use crate::gc::root_kind::{MarkKind, RootFlags, RootKind};
use crate::gc::root_stats::{MethodRow, Origins, PinnedRow, RootStats, StaticRow, TypeRow};
use crate::gc::summary::{StopTotals, Summary};
use crate::report::model::{End, Facts, Report};

const MS: u64 = 1_000_000;
const MIB: u64 = 1 << 20;

/// Numbers that look like chance and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

/// A program watched at `roots`.
pub(super) fn facts() -> Facts {
    Facts {
        target: Target {
            pid: Some(4242),
            parent_pid: Some(1),
            command_line: Some("dotnet app.dll --serve".to_owned()),
            args: Some(["dotnet", "app.dll", "--serve"].map(str::to_owned).to_vec()),
            executable: Some("/usr/bin/dotnet".to_owned()),
            title: Some("app.dll".to_owned()),
            runtime_name: Some(".NET".to_owned()),
            runtime_version: Some("10.0.12".to_owned()),
            arch: Some("x64".to_owned()),
            os: Some("Linux".to_owned()),
            processors: Some(4),
            gc: GcSettings {
                server: Some(false),
                concurrent: Some(true),
                heaps: Some(1),
                regions: Some(true),
                source: Some("events"),
            },
        },
        watch: Watch {
            level: Level::Roots,
            started_at: "2026-11-21T03:30:00Z".parse().ok(),
            duration_ns: Some(4_812 * MS),
            background_gc: BackgroundGc::OffUntilExit,
            arming: Some(Arming::Late),
            ..Watch::default()
        },
    }
}

/// A quiet run with a few odd collections: the first was cut off, two stand out.
pub(super) fn quiet_run() -> Vec<Gc> {
    let mut dice = Dice(7);
    let mut gcs: Vec<Gc> = (0..34u32).map(|n| one(n + 12, 40 + u64::from(n) * 137, &mut dice)).collect();
    let mut cut = Gc::unknown(Level::Roots);
    cut.number = Some(11);
    cut.generation = Some(Generation::GEN1);
    cut.kind = Some(Kind::Blocking);
    cut.incomplete = Some(Incomplete::BeganBefore);
    cut.at_ns = Some(0);
    gcs.insert(0, cut);
    gcs
}

/// The stop of a blocking collection.
fn whole(at_ns: u64, ns: u64, suspend_ns: Option<u64>) -> Pause {
    Pause { phase: Phase::Whole, at_ns, ns, suspend_ns, caused_by_watching: false }
}

/// One collection, every third of generation 1, every ninth of generation 2.
fn one(number: u32, at_ms: u64, dice: &mut Dice) -> Gc {
    let generation = match number {
        n if n % 9 == 0 => 2,
        n if n % 3 == 0 => 1,
        _ => 0,
    };
    let mut gc = Gc::unknown(Level::Roots);
    gc.number = Some(number);
    gc.generation = Some(Generation(generation));
    gc.kind = Some(Kind::Blocking);
    gc.reason = Some(Reason(if number.is_multiple_of(18) { 1 } else { [0, 0, 4][usize::from(generation)] }));
    gc.trigger_reason = gc.reason.map(|r| r.0);
    let base = [2_100_000, 5_400_000, 17_200_000][usize::from(generation)];
    let pause = base + dice.roll(base / 2) + if number == 40 { 31 * MS } else { 0 };
    let at = at_ms * MS + dice.roll(20 * MS);
    gc.at_ns = Some(at);
    gc.pause_ns = Some(pause);
    gc.caused_by_watching_ns = Some(0);
    gc.suspend_ns = Some(pause / 40);
    gc.gc_ns = Some(pause - pause / 30);
    gc.pauses = vec![whole(at, pause, Some(pause / 40))];
    let mut phases = Phases { rest_ns: pause / 2, ..Phases::default() };
    phases.marked(MarkKind::STACK, pause / 50);
    phases.marked(MarkKind::HANDLE, pause / 20);
    phases.marked(MarkKind::OLDER_GENERATION, pause / 3);
    gc.phases = Some(phases);
    let before = (118 + dice.roll(12)) * MIB;
    let after = if generation == 2 { before - (8 + dice.roll(9)) * MIB } else { (50 + dice.roll(5)) * MIB };
    gc.heap_before_bytes = Some(before);
    gc.heap_after_bytes = Some(after);
    gc.promoted_bytes = Some(after / 9);
    gc.committed_bytes = Some(before + 20 * MIB);
    gc.heap_count = Some(1);
    gc.handles = Some(211);
    gc.pinned_objects = Some(3);
    gc.finalization_objects = Some(2);
    gc.finalization_bytes = Some(96);
    gc.generations = (0..5)
        .map(|i| GenerationStats {
            free_before_bytes: Some(0),
            size_before_bytes: Some(before / 5),
            size_after_bytes: Some(after / 5),
            promoted_bytes: (i <= u64::from(generation)).then_some(after / 40),
            fragmentation_bytes: Some(after / 5 / (40 + i)),
            compacted: (i < 3).then_some(generation < 2),
            moved: None,
            surviving: None,
        })
        .collect();
    gc.heaps = vec![HeapStats {
        index: 0,
        size_before_bytes: Some(before),
        size_after_bytes: Some(after),
        promoted_bytes: Some(after / 9),
        condemned_reasons: Some(vec!["alloc_budget"]),
    }];
    blocks(&mut gc, generation, dice);
    gc.roots = Some(Roots {
        null_refs: 9,
        counts: vec![
            RootCount { kind: RootKind::STACK, flags: RootFlags(0), count: 24 + dice.roll(30) },
            RootCount { kind: RootKind::STACK, flags: RootFlags(0b101), count: 3 + dice.roll(4) },
            RootCount { kind: RootKind::HANDLE, flags: RootFlags(0), count: 29 },
            RootCount { kind: RootKind::HANDLE, flags: RootFlags(0b10), count: 12 },
            RootCount { kind: RootKind::FINALIZER, flags: RootFlags(0), count: 1 + dice.roll(3) },
        ],
        kinds_known: true,
        dependent_pairs: 4,
        list: None,
        stats: None,
    });
    root_stats(&mut gc);
    gc.promoted_by[..4].copy_from_slice(&[Some(3 * MIB), Some(96), Some(MIB / 2), Some(after / 11)]);
    gc.cost = Some(Cost {
        callback_ns: 4_100 + dice.roll(2_000),
        walk_ns: pause / 12,
        naming_ns: Some(31_000 + dice.roll(9_000)),
        armed: true,
    });
    gc
}

/// A handle leak, something pinned by a method that is known, and who asked.
fn root_stats(gc: &mut Gc) {
    let number = u64::from(gc.number.unwrap_or(0));
    let method = |name: &str, slots: u64, pinned_slots: u64| MethodRow {
        name: name.into(),
        slots,
        objects: slots.saturating_sub(1).max(1),
        pinned_slots,
        own: name.starts_with("Demo."),
    };
    let type_row = |name: &str, kind: RootKind, flags: RootFlags, count: u64, bytes: u64| TypeRow {
        name: name.into(),
        kind,
        flags,
        generation: Some(Generation::GEN2),
        count,
        bytes,
    };
    let pinned = |by: &'static str, method: &str, count: u64, bytes: u64| PinnedRow {
        type_name: "byte[]".into(),
        by,
        handle_type: (by == "handle").then_some("pinned"),
        allocated_by: Some(method.into()),
        generation: Some(if by == "handle" { Generation::GEN2 } else { Generation::GEN0 }),
        count,
        bytes,
        seen_in_gcs: if by == "handle" { number - 11 } else { 1 },
    };
    let field = |field: &str, type_name: &str, bytes: u64| StaticRow {
        field: field.into(),
        type_name: type_name.into(),
        bytes,
        generation: Some(Generation::GEN2),
        thread_static: false,
        own: true,
    };
    let named = RootStats {
        methods: vec![
            method("Demo.OrderService.LoadAsync (async)", 12, 0),
            method("Demo.Import.Native.Parser.ParseMany", 6, 3),
            method("List<T>.Add", 3, 0),
            method("(no frame)", 2, 0),
        ],
        types: vec![
            type_row("byte[]", RootKind::HANDLE, RootFlags::PINNING, 3, 98_304),
            type_row("Demo.Session", RootKind::HANDLE, RootFlags::default(), 4 * number, 96 * number),
            type_row("Dictionary<string, Demo.Order>", RootKind::STACK, RootFlags::default(), 2, 160),
        ],
        statics: Some(vec![field("Demo.OrderCache.s_orders", "Demo.Order[]", 8 * MIB + number * 65_536)]),
        pinned: vec![
            pinned("handle", "Demo.Native.Open", 3, 98_304),
            pinned("fixed local", "Demo.Import.Native.Parser.ParseMany", 1, 4_120),
        ],
        origins: Origins { runtime: 30, app: 28, unknown: 17 },
        untyped: 0,
    };
    if let Some(roots) = &mut gc.roots {
        roots.stats = Some(named);
    }
    if gc.reason.is_some_and(Reason::induced) {
        let frames = ["GC.Collect", "Demo.OrderCache.Trim", "Program.Main (lambda)"];
        gc.induced_by = Some(frames.map(Into::into).to_vec());
    }
}

fn blocks(gc: &mut Gc, generation: u8, dice: &mut Dice) {
    let (mut moved, mut surviving) = (Moved::default(), Surviving::default());
    let fill = |sizes: &mut Histogram, count: &mut BlockCount, blocks: u64, dice: &mut Dice| {
        for _ in 0..blocks {
            // Small blocks are many, large ones few.
            let class = 4 + dice.roll(13);
            let bytes = 24 + dice.roll(1 << class);
            sizes.add(bytes);
            count.blocks += 1;
            count.bytes += bytes;
        }
    };
    if generation < 2 {
        gc.compacting = Some(Compacting::Yes);
        fill(&mut moved.sizes, &mut moved.count, 800 + dice.roll(700), dice);
        for _ in 0..moved.count.blocks {
            moved.distances.add(8 + dice.roll(40 * MIB));
        }
        moved.stayed = BlockCount { blocks: dice.roll(9), bytes: 0 };
        moved.stayed.bytes = moved.stayed.blocks * 48;
        moved.transitions = Some(vec![Transition {
            from: Generation(generation),
            to: Generation(generation + 1),
            count: moved.count,
        }]);
        gc.generations[usize::from(generation)].moved = Some(moved.count);
    } else {
        gc.compacting = Some(Compacting::No);
        fill(&mut surviving.sizes, &mut surviving.count, 4_000 + dice.roll(700), dice);
        gc.generations[2].surviving = Some(surviving.count);
    }
    gc.moved = Some(moved);
    gc.surviving = Some(surviving);
}

/// One collection with everything `--blocks` keeps, whose figures are small and round.
pub(super) fn tiny() -> Gc {
    let mut gc = Gc::unknown(Level::Roots);
    gc.number = Some(3);
    gc.generation = Some(Generation::GEN0);
    gc.kind = Some(Kind::Blocking);
    gc.reason = Some(Reason(0));
    gc.compacting = Some(Compacting::Mixed);
    gc.at_ns = Some(5 * MS);
    gc.pause_ns = Some(2 * MS);
    gc.pauses = vec![whole(5 * MS, 2 * MS, None)];
    let (mut sizes, mut distances) = (Histogram::default(), Histogram::default());
    sizes.add(96);
    distances.add(4096);
    let count = BlockCount { blocks: 1, bytes: 96 };
    gc.moved = Some(Moved {
        count,
        sizes: sizes.clone(),
        distances,
        transitions: Some(vec![Transition { from: Generation::GEN0, to: Generation::GEN1, count }]),
        ranges: Some(vec![MovedRange {
            old: 0x7f00_0000_2000,
            new: 0x7f00_0000_1000,
            bytes: 96,
            from: Some(Generation::GEN0),
            to: Some(Generation::GEN1),
        }]),
        ..Moved::default()
    });
    gc.surviving = Some(Surviving {
        count,
        bytes_at_least: false,
        sizes,
        ranges: Some(vec![SurvivingRange { start: 0x7f00_0100_0000, bytes: 96, generation: None }]),
    });
    gc.roots = Some(Roots {
        null_refs: 0,
        counts: vec![RootCount { kind: RootKind::HANDLE, flags: RootFlags(0b1), count: 1 }],
        kinds_known: true,
        dependent_pairs: 0,
        list: Some(vec![Root {
            object: 0x7f00_0000_1000,
            id: u64::MAX,
            kind: RootKind::HANDLE,
            flags: RootFlags(0b1),
            since_gc: Some(7),
        }]),
        stats: None,
    });
    gc.cost = Some(Cost { callback_ns: 900, walk_ns: 40_000, naming_ns: None, armed: true });
    gc
}

/// All of them added up.
pub(super) fn summed(gcs: &[Gc]) -> Summary {
    let mut summary = Summary::default();
    gcs.iter().for_each(|gc| summary.add(gc));
    summary.other_suspensions = StopTotals { count: 1, ns: 210_000 };
    summary
}

/// Nothing.
pub(super) const NOTHING_LOST: Lost = Lost { gcs: 0, events: 0, ranges: 0, roots: 0, gap: None };

/// The end of a watch.
pub(super) const EXIT: Exit = Exit { gcwatch: 0, child: Some(0), reason: "target-ended" };

/// Ends the report of these collections.
pub(super) fn end(report: &mut dyn Report, facts: &Facts, gcs: &[Gc], lost: &Lost) {
    let end = End { summary: &summed(gcs), lost, verdicts: &[], findings: &[], exit: &EXIT };
    report.end(facts, &end).expect("memory takes it");
}

/// A writer whose text can be read while a report owns a copy of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory(Rc<RefCell<Vec<u8>>>);

impl Memory {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).expect("reports are UTF-8")
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
