//! Compares every figure by generation with what the program read of its collections, with the runtime's own file, and
//! with the addresses of the program's objects before and after.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    GCSTATS, GcEvents, HeapInfo, Json, Object, RECORDING, brief, fact, gcstats, number,
};

const GENERATIONS: [&str; 5] = ["gen0", "gen1", "gen2", "loh", "poh"];
/// With segments, LOH and POH of each heap begin with one object of the runtime's own that is in no range.
const SEGMENT_HEAD: u64 = 24;

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("generations::regions_at_roots", &[], |clr, heap| all(clr, heap, false, "roots"));
    suite.each_heap("generations::regions_at_moves", &[], |clr, heap| all(clr, heap, false, "moves"));
    suite.each_heap("generations::segments_at_roots", &[], |clr, heap| all(clr, heap, true, "roots"));
    suite.each_heap("generations::segments_at_moves", &[], |clr, heap| all(clr, heap, true, "moves"));
    suite.each("generations::regions_at_basic", &[], |clr| all(clr, Heap::Workstation, false, "basic"));
    suite.each_heap("generations::as_trace_event_has_them", &[Need::Peer(GCSTATS)], trace_event);
}

fn all(clr: &Clr, heap: Heap, segments: bool, level: &str) -> Result<()> {
    let run = HeapInfo::run(clr, heap, segments, level, &[])?;
    settings(&run, heap, segments)?;
    let mut background = 0;
    for info in &run.infos {
        let (gc, own) = pair(&run, number(info, "index")?)?;
        as_the_program(gc, own, info).with_context(|| format!("{}\n{info}", brief(gc)))?;
        background += u32::from(gc["kind"] == "background");
    }
    // At `roots`, the profiler switches background collections off.
    ensure!((background > 0) == (level != "roots"), "{background} background collections at {level}");
    for gc in run.document.complete()? {
        let (gc, own) = pair(&run, gc.uint("/number")?)?;
        as_the_runtime(gc, own).with_context(|| format!("{}\n{own:?}", brief(gc)))?;
        if level != "basic" && !own.torn() {
            ranges(gc, if segments { SEGMENT_HEAD * u64::from(own.heaps) } else { 0 })
                .with_context(|| brief(gc))?;
        }
    }
    handles(&run)?;
    if level == "basic" {
        return Ok(());
    }
    let mut seen = Seen::default();
    for asked in run.asked.iter().filter(|asked| asked.first == asked.last) {
        let gc = run.document.gc(asked.first)?;
        let places = Places::of(gc)?;
        for object in &asked.objects {
            places.check(object, &mut seen).with_context(|| format!("{object:?}, {}", brief(gc)))?;
        }
        large_objects_moved(gc, &asked.what, &asked.objects)?;
    }
    seen.enough()
}

fn pair(run: &HeapInfo, index: u64) -> Result<(&Value, &GcEvents)> {
    Ok((
        run.document.gc(index)?,
        run.own.get(&index).with_context(|| format!("the runtime has no GC {index}"))?,
    ))
}

/// The GC settings are those of the environment, and those that the program reads.
fn settings(run: &HeapInfo, heap: Heap, segments: bool) -> Result<()> {
    let gc = run.settings();
    let library = fact(&run.ready, "gc")?;
    ensure!(library.is_empty() != segments, "not the GC that the test asked for: {}", run.ready);
    ensure!(gc["server"] == heap.server() && fact(&run.ready, "server")? == word(heap.server()), "{gc}");
    ensure!(gc["concurrent"] == true && fact(&run.ready, "concurrent")? == "True", "{gc}");
    ensure!(gc["regions"] == !segments, "{gc}");
    ensure!(gc["source"] == "environment", "{gc}");
    // .NET 9 and 10 change the number of heaps while the program runs.
    ensure!(run.own.values().any(|own| gc["heaps"] == own.heaps), "{gc}");
    Ok(())
}

fn word(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// With k more handles in the program, k more are in use. Sometimes the runtime makes or frees some of its own.
fn handles(run: &HeapInfo) -> Result<()> {
    let alone: Vec<_> = run.asked.iter().filter(|asked| asked.first == asked.last).collect();
    let (mut same, mut differs) = (0, 0);
    for pair in alone.windows(2) {
        let in_use = |n: usize| run.document.gc(pair[n].first)?.uint("/handles");
        let as_held = in_use(1)? + pair[0].pins == in_use(0)? + pair[1].pins;
        *if as_held { &mut same } else { &mut differs } += 1;
    }
    ensure!(
        same >= 12 && same > 3 * differs,
        "handles: {same} counts are as in the program, {differs} are not"
    );
    Ok(())
}

/// Compares with `GCMemoryInfo`. The runtime fills in that of a background collection while the program allocates.
fn as_the_program(gc: &Value, own: &GcEvents, info: &str) -> Result<()> {
    let background = gc["kind"] == "background";
    ensure!(gc["generation"] == number(info, "generation")?, "generation");
    ensure!(fact(info, "compacted")? == word(gc["compacting"] != false), "compacted: {}", gc["compacting"]);
    ensure!(fact(info, "concurrent")? == word(background), "concurrent");
    ensure!(gc["heap_after_bytes"] == number(info, "heap")?, "heap: {}", gc["heap_after_bytes"]);
    // The program's figure is bytes, rounded down from percent.
    let (load, own_load) = (gc.uint("/memory_load_percent")?, number(info, "load")?);
    ensure!(load.abs_diff(own_load) <= 1, "memory load: {load}, {own_load}");
    ensure!(gc["pinned_objects"] == number(info, "pinned")?, "pinned: {}", gc["pinned_objects"]);
    ensure!(gc["finalization"]["objects"] == number(info, "pending")?, "pending: {}", gc["finalization"]);
    // The program drops three finalizable objects each time; each is 24 bytes.
    if gc["finalization"]["objects"] == 3 && !background {
        ensure!(gc["finalization"]["bytes"] == 3 * 24, "finalization: {}", gc["finalization"]);
    }
    // The program sees what was committed after it; without the runtime's event, gcwatch cannot know.
    let committed = &gc["committed_bytes"];
    if background || own.committed.is_none() {
        ensure!(committed.is_null(), "committed: {committed}");
    } else {
        ensure!(*committed == number(info, "committed")?, "committed: {committed}");
    }
    let generations = gc.list("/generations")?;
    let of = |key: &str| generations.iter().map(|g| g.uint(key)).sum::<Result<u64>>();
    let promoted = number(info, "promoted")?;
    if !own.torn() {
        let pinned_heap = generations[4].uint("/promoted_bytes")?;
        ensure!(promoted == gc.uint("/promoted_bytes")? + pinned_heap, "promoted: {}", gc["promoted_bytes"]);
    }
    if !background {
        ensure!(promoted == of("/promoted_bytes")?, "promoted by generation");
        ensure!(number(info, "fragmented")? == of("/fragmentation_bytes")?, "fragmented");
        ensure!(number(info, "heap")? == of("/size_after_bytes")?, "sizes after");
    }
    let mut after = 0;
    for (n, (g, name)) in generations.iter().zip(GENERATIONS).enumerate() {
        let figures: Vec<u64> =
            fact(info, &format!("gen{n}"))?.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let [size_before, size_after, _, free_after] = figures[..] else { anyhow::bail!("{figures:?}") };
        ensure!(own.headless() || g["size_before_bytes"] == size_before, "{name} before: {g}");
        ensure!(background || g["size_after_bytes"] == size_after, "{name} after: {g}");
        ensure!(own.torn() || g["fragmentation_bytes"] == free_after, "{name} free: {g}");
        after += size_after;
    }
    if !own.torn() {
        let heaps = gc.list("/heaps")?.iter().map(|h| h.uint("/size_after_bytes")).sum::<Result<u64>>()?;
        ensure!(heaps == after, "heaps after: {heaps}, the program has {after}");
    }
    Ok(())
}

/// Compares with the runtime's own file.
fn as_the_runtime(gc: &Value, own: &GcEvents) -> Result<()> {
    let background = own.mechanisms & 1 == 1;
    ensure!((gc["kind"] == "background") == background && gc["generation"] == own.generation, "kind");
    ensure!(gc["handles"] == own.handles && gc["pinned_objects"] == own.pinned, "handles, pinned");
    let promoted: u64 = own.sizes.iter().map(|(_, promoted)| promoted).sum();
    ensure!(gc["promoted_bytes"] == promoted, "promoted: {}", gc["promoted_bytes"]);
    ensure!(gc["finalization"]["objects"] == own.finalization.1, "finalization: {}", gc["finalization"]);
    // GCHeapStats is sometimes wrong about the bytes, marking is not; for a background collection nothing counts them.
    let marked = if background { Value::Null } else { own.marked_for_finalization.into() };
    ensure!(gc["finalization"]["bytes"] == marked, "finalization: {}", gc["finalization"]);
    for (n, g) in gc.list("/generations")?.iter().enumerate() {
        ensure!(g["name"] == GENERATIONS[n], "{g}");
        let whole = |value: u64| if own.torn() { Value::Null } else { value.into() };
        let before = if own.headless() { Value::Null } else { own.of(n, &[0]).into() };
        ensure!(g["size_before_bytes"] == before && g["size_after_bytes"] == own.sizes[n].0, "{g}");
        ensure!(g["fragmentation_bytes"] == whole(own.of(n, &[4, 5])), "{g}");
        let by_stats = own.torn() && matches!(n, 2 | 3);
        let promoted = if by_stats { own.sizes[n].1.into() } else { whole(own.of(n, &[7, 8])) };
        ensure!(g["promoted_bytes"] == promoted, "{g}");
        let condemned = own.generation == 2 || n <= own.generation as usize;
        let compacted = match n {
            _ if !condemned => Value::Null,
            0..=2 => (own.mechanisms >> 1 & 1 == 1).into(),
            3 => own.loh_compacted.into(),
            _ => false.into(),
        };
        ensure!(g["compacted"] == compacted, "{g}");
    }
    Ok(())
}

/// The sums by generation and the transitions follow from the single ranges, and their bytes are what the runtime says
/// it promoted. `head` is how many bytes it counts in LOH and in POH that are in no range.
fn ranges(gc: &Value, head: u64) -> Result<()> {
    let (mut moved, mut surviving) = ([(0, 0); 5], [(0, 0); 5]);
    let (mut stayed, mut outside) = ([0; 5], (0, 0));
    let mut transitions: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    let index = |name: &Value| GENERATIONS.iter().position(|g| name == g);
    for range in gc.list("/moved/ranges")? {
        let bytes = range.uint("/bytes")?;
        let from = index(&range["from"]).with_context(|| format!("a range without a generation: {range}"))?;
        let sum = transitions.entry((GENERATIONS[from], range.text("/to")?)).or_default();
        *sum = (sum.0 + 1, sum.1 + bytes);
        if range["old"] == range["new"] {
            stayed[from] += bytes;
        } else {
            moved[from] = (moved[from].0 + 1, moved[from].1 + bytes);
        }
    }
    for range in gc.list("/surviving/ranges")? {
        let to = index(&range["generation"]).map_or(&mut outside, |n| &mut surviving[n]);
        *to = (to.0 + 1, to.1 + range.uint("/bytes")?);
    }
    ensure!(outside == (0, 0), "{outside:?} outside of all generations");
    for (n, g) in gc.list("/generations")?.iter().enumerate() {
        ensure!((g.uint("/moved_blocks")?, g.uint("/moved_bytes")?) == moved[n], "{g}: moved {:?}", moved[n]);
        ensure!(
            (g.uint("/surviving_blocks")?, g.uint("/surviving_bytes")?) == surviving[n],
            "{g}: {:?}",
            surviving[n]
        );
        let bytes = moved[n].1 + stayed[n] + surviving[n].1;
        let due = bytes + if n >= 3 && bytes > 0 { head } else { 0 };
        // A background collection reports the survivors in gen0 and gen1, but does not collect them.
        let met = gc["kind"] == "background" && n < 2;
        ensure!(g["promoted_bytes"] == if met { 0 } else { due }, "{due} bytes in ranges: {g}");
    }
    let mut listed = BTreeMap::new();
    for t in gc.list("/moved/transitions")? {
        listed.insert((t.text("/from")?, t.text("/to")?), (t.uint("/blocks")?, t.uint("/bytes")?));
    }
    ensure!(listed == transitions, "transitions {listed:?}, the ranges make {transitions:?}");
    Ok(())
}

/// The ranges of a collection.
struct Places<'a> {
    generation: u64,
    /// (start, bytes, new start, generation before, generation after if known)
    ranges: Vec<(u64, u64, u64, &'a str, Option<&'a str>)>,
}

/// How often each case occurred.
#[derive(Debug, Default)]
struct Seen {
    moved: BTreeMap<(u64, u64), u32>,
    surviving: u32,
    large: u32,
    pinned_heap: u32,
    frozen: u32,
    not_collected: u32,
}

impl Seen {
    fn enough(&self) -> Result<()> {
        let up = [(0, 1), (1, 2), (2, 2)].iter().all(|way| self.moved.contains_key(way));
        let others = [self.surviving, self.large, self.pinned_heap, self.frozen, self.not_collected];
        ensure!(up && others.iter().all(|n| *n > 0), "the test needs another load: {self:?}");
        Ok(())
    }
}

impl<'a> Places<'a> {
    fn of(gc: &'a Value) -> Result<Places<'a>> {
        let mut ranges = Vec::new();
        for r in gc.list("/moved/ranges")? {
            let to = Some(r.text("/to")?);
            ranges.push((r.address("/old")?, r.uint("/bytes")?, r.address("/new")?, r.text("/from")?, to));
        }
        for r in gc.list("/surviving/ranges")? {
            let start = r.address("/start")?;
            ranges.push((start, r.uint("/bytes")?, start, r.text("/generation")?, None));
        }
        Ok(Places { generation: gc.uint("/generation")?, ranges })
    }

    fn check(&self, object: &Object, seen: &mut Seen) -> Result<()> {
        let ((old, from), (new, to)) = (object.before, object.after);
        let at: Vec<_> =
            self.ranges.iter().filter(|(start, bytes, ..)| (*start..start + bytes).contains(&old)).collect();
        let own = match object.kind.as_str() {
            // `GC.GetGeneration` returns a number that is no collected generation.
            "frozen" => {
                seen.frozen += 1;
                ensure!(at.is_empty() && old == new && from > 2, "{at:?}");
                return Ok(());
            }
            kind @ ("loh" | "poh") => kind,
            _ => GENERATIONS[usize::try_from(from)?],
        };
        let generation = if matches!(own, "loh" | "poh") { 2 } else { from };
        if generation > self.generation {
            seen.not_collected += 1;
            ensure!(at.is_empty() && old == new && from == to, "{at:?}");
            return Ok(());
        }
        let [(start, bytes, new_start, was, is)] = at[..] else {
            anyhow::bail!("in {} ranges: {at:?}", at.len())
        };
        ensure!(old + object.bytes <= start + bytes && new == new_start + (old - start), "{at:?}");
        ensure!(*was == own, "{at:?}");
        match (own, is) {
            ("loh" | "poh", _) => {
                ensure!(is.is_none_or(|is| is == own), "{at:?}");
                *if own == "loh" { &mut seen.large } else { &mut seen.pinned_heap } += 1;
            }
            (_, Some(is)) => {
                ensure!(*is == GENERATIONS[usize::try_from(to)?], "{at:?}");
                *seen.moved.entry((from, to)).or_default() += 1;
            }
            (_, None) => seen.surviving += 1,
        }
        Ok(())
    }
}

/// Large objects move only when the program asks for it.
fn large_objects_moved(gc: &Value, what: &str, objects: &[Object]) -> Result<()> {
    let moved = objects.iter().any(|o| o.kind == "loh" && o.before.0 != o.after.0);
    ensure!(moved == (what == "loh"), "{what}: large objects moved: {moved}");
    let compacted = &gc["generations"][3]["compacted"];
    ensure!((*compacted == true) == (what == "loh"), "{what}: {compacted}");
    Ok(())
}

/// Compares with TraceEvent, by generation. Like GCHeapStats, it gives the POH no promoted bytes.
fn trace_event(clr: &Clr, heap: Heap) -> Result<()> {
    let run = HeapInfo::run(clr, heap, true, "moves", &[])?;
    let answer = gcstats(&run.dir.path().join(RECORDING))?;
    let mut compared = 0;
    for theirs in &answer.gcs {
        let own = run.document.gc(theirs.uint("/number")?)?;
        if own["kind"] == "background" {
            continue;
        }
        compared += 1;
        let generations = own.list("/generations")?;
        for (key, name, many) in [
            ("size_before_bytes", "gen_before_mb", 5),
            ("size_after_bytes", "gen_after_mb", 5),
            ("fragmentation_bytes", "frag_mb", 5),
            ("promoted_bytes", "promoted_gen_mb", 4),
        ] {
            for (n, g) in generations.iter().enumerate().take(many) {
                let megabytes = theirs[name][n].as_f64().with_context(|| format!("{name} of {theirs}"))?;
                let bytes = g.uint(&format!("/{key}"))?;
                ensure!((megabytes * 1e6 - bytes as f64).abs() < 1.0, "{name} {n}: {bytes}, {theirs}");
            }
        }
        ensure!(own["heap_count"] == theirs["heaps"], "heaps: {theirs}");
    }
    ensure!(compared >= 12, "TraceEvent has {compared} of these collections");
    Ok(())
}
