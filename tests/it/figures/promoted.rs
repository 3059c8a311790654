//! What promoted which bytes, by the runtime's own marks, and by objects that are reachable in one way only.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Heap, Suite};
use crate::it::support::{
    By, Document, Gcwatch, Json, MARKS, Ranges, Scripted, brief, number, own_environment, read_marks,
    read_ranges,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("promoted::by_known_holders", &[], by_known_holders);
    suite.each("promoted::beside_background_collections", &[], beside_background);
}

/// The promoted bytes by kind of root, of a complete collection.
type Marks = BTreeMap<&'static str, u64>;

fn marks(gc: &Value) -> Result<Marks> {
    let mut marks = Marks::new();
    for name in MARKS {
        let bytes = gc.place(&format!("/roots/promoted_bytes/{name}"))?;
        if !bytes.is_null() {
            marks.insert(name, bytes.as_u64().with_context(|| format!("{name} is {bytes}"))?);
        }
    }
    Ok(marks)
}

/// An object graph, the kind of root that promotes it while it is in gen0, and its size.
struct Case {
    make: String,
    kind: &'static str,
    /// The kind that promotes it in the next collection, in gen1.
    then: &'static str,
    bytes: u64,
    /// How many bytes the program's own frames and lists may add to the same kind.
    around: u64,
    /// By how many bytes the heap rounds the sizes up.
    padding: i64,
}

fn cases() -> Vec<Case> {
    let case = |make: &str, kind, then, count: u64, each: u64| Case {
        make: format!("{make} {count} {each}"),
        kind,
        then,
        bytes: count * each,
        around: 0,
        padding: 0,
    };
    vec![
        case("handle", "handle", "handle", 100, 10_000),
        // Each thread has a few other objects.
        Case { around: 4096, ..case("stack", "stack", "stack", 50, 8_000) },
        // The finalizable objects are 24 bytes each.
        Case { bytes: 30 * (9_000 + 24), ..case("finalizer", "new_finalizable", "finalizer", 30, 9_000) },
        case("older", "older_generation", "older_generation", 40, 11_000),
        case("dependent", "dependent_handle", "dependent_handle", 20, 12_000),
        // Their keys are finalized after the first collection; then what they hold is dead.
        case("late", "dependent_handle", "", 20, 5_000),
        // A string of 3 characters has 28 bytes and takes 32.
        Case { bytes: 1000 * 28, padding: 1000 * 4, ..case("odd", "handle", "handle", 1000, 3) },
    ]
}

/// The numbers of the collections of gen0, gen1 and gen2, before and after the program made something.
struct Collected {
    before: [u64; 3],
    after: [u64; 3],
}

fn by_known_holders(clr: &Clr, heap: Heap) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let own = dir.path().join("own.nettrace");
    let own_name = own.to_string_lossy();
    let mut environment = own_environment(&own_name).to_vec();
    // With dynamic adaptation, server GC sometimes collects gen2 where the program asked for gen1.
    environment.push(("DOTNET_GCDynamicAdaptationMode", "0"));
    let mut program = Scripted::start(clr, heap, By::Run, "promote", "--level roots", &environment)?;
    let mut collected = Vec::new();
    for case in &cases() {
        let mut collect = |generation: usize| -> Result<u64> {
            number(&program.ask(&format!("collect {generation}"), "collected ")?, "index")
        };
        // These collections promote to gen2 what dropping the case before has left.
        for _ in 0..3 {
            collect(2)?;
        }
        let mut of = Collected { before: [0; 3], after: [0; 3] };
        for generation in [2, 1, 0] {
            of.before[generation] = collect(generation)?;
        }
        program.ask(&case.make, "made ")?;
        for generation in [0, 1, 2] {
            let answer = program.ask(&format!("collect {generation}"), "collected ")?;
            of.after[generation] = number(&answer, "index")?;
        }
        program.ask("let", "gone")?;
        collected.push(of);
    }
    let document = program.end()?;
    let (own_marks, own_ranges) = (read_marks(&own)?, read_ranges(&own)?);
    let mut paddings = BTreeMap::new();
    for gc in document.complete()? {
        let number = gc.uint("/number")?;
        let marks = marks(gc)?;
        ensure!(
            own_marks.get(&number) == Some(&marks),
            "GC {number}: {marks:?}, own: {:?}",
            own_marks[&number]
        );
        let ranges = own_ranges.get(&number).context("no ranges")?;
        let padding = padding(gc, &marks, ranges).with_context(|| format!("GC {number}: {marks:?}"))?;
        paddings.insert(number, padding);
    }
    for (case, of) in cases().iter().zip(&collected) {
        check(case, of, &document, &paddings, heap).with_context(|| case.make.clone())?;
    }
    Ok(())
}

/// How much larger the survivors are than the marked bytes: the heap rounds sizes up to 8 bytes.
fn padding(gc: &Value, marks: &Marks, ranges: &Ranges) -> Result<i64> {
    let generation = gc.uint("/generation")?;
    // No generation is older than gen2.
    ensure!(marks.contains_key("older_generation") == (generation < 2), "older generation");
    let of = |name| marks.get(name).copied().unwrap_or(0);
    // Objects that a mark stack held back count under "overflow" when they leave it, and under the current kind.
    ensure!(of("overflow") <= of("dependent_handle"), "overflow");
    let sum: u64 = MARKS.into_iter().filter(|name| *name != "overflow").map(of).sum();
    let moved: u64 = ranges.moved.iter().map(|(_, _, bytes)| bytes).sum();
    let survived = moved + ranges.surviving.iter().map(|(_, bytes)| bytes).sum::<u64>();
    let mut heaps = 0;
    for heap in gc.list("/heaps")? {
        heaps += heap.uint("/promoted_bytes")?;
    }
    ensure!(heaps == survived, "the heaps promoted {heaps}, {survived} survived");
    // For a gen2 collection, the runtime's own total leaves out the POH.
    let total = gc.uint("/promoted_bytes")?;
    ensure!(total == survived || generation == 2 && total <= survived, "total {total}, {survived} survived");
    Ok(i64::try_from(survived)? - i64::try_from(sum)?)
}

fn check(
    case: &Case,
    of: &Collected,
    document: &Document,
    paddings: &BTreeMap<u64, i64>,
    heap: Heap,
) -> Result<()> {
    for (generation, kind) in [(0, case.kind), (1, case.then), (2, "")] {
        let (before, after) = (of.before[generation], of.after[generation]);
        let gcs = [document.gc(before)?, document.gc(after)?];
        for gc in gcs {
            let asked = gc["generation"] == generation && gc["complete"] == true;
            ensure!(
                asked,
                "not the gen{generation} that was asked for: {}, heaps {}",
                brief(gc),
                gc["heaps"]
            );
        }
        let [then, now] = [marks(gcs[0])?, marks(gcs[1])?];
        let more = |name| {
            let of = |marks: &Marks| marks.get(name).copied().unwrap_or(0);
            of(&now).wrapping_sub(of(&then))
        };
        let what = format!("GC {before}: {then:?}\nGC {after}: {now:?}");
        if !kind.is_empty() {
            let (got, expected) = (more(kind), case.bytes..=case.bytes + case.around);
            ensure!(expected.contains(&got), "{got} bytes more by {kind} instead of {}\n{what}", case.bytes);
        }
        if kind.is_empty() && case.then.is_empty() {
            continue;
        }
        let grown = paddings[&after] - paddings[&before];
        // Two threads of server GC may mark an object at the same time, and both count it.
        let exact = !heap.server();
        let fits = if exact { grown == case.padding } else { paddings[&after] <= case.padding + MAX_PADDING };
        ensure!(fits, "rounded up by {grown} more instead of {}\n{what}", case.padding);
    }
    Ok(())
}

/// What rounding up adds for the few thousand objects of an idle program.
const MAX_PADDING: i64 = 8 * 1024;

/// A background collection has no figures of what promoted; a foreground one that interrupts it has its own.
fn beside_background(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let own = dir.path().join("own.nettrace");
    let own_name = own.to_string_lossy();
    Gcwatch::on(clr)
        .envs(Heap::Workstation.environment())
        .envs(own_environment(&own_name))
        .args("run --level moves --format json -o")
        .arg(&path)
        .app(clr, "churn", "work=300000 live=20000")?
        .output()?
        .expect(0)?;
    let document = Document::read(&path)?;
    document.nothing_lost()?;
    let own = read_marks(&own)?;
    let mut background = 0;
    for gc in document.complete()? {
        let number = gc.uint("/number")?;
        if gc["kind"] == "background" {
            background += 1;
            ensure!(gc["roots"].is_null() && own[&number].is_empty(), "GC {number}: {}", gc["roots"]);
        } else {
            let marks = marks(gc)?;
            ensure!(own[&number] == marks, "GC {number}: {marks:?}, own: {:?}", own[&number]);
        }
    }
    ensure!(background > 0, "no background collection: the test needs another load");
    Ok(())
}
