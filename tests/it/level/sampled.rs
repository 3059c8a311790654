//! `--sample`: roots in windows, background collections between them. A program makes known numbers of handles and
//! collects all the time, sometimes in the background, and prints the kind of each collection.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::lifecycle::attach::{Churn, check_attached};
use crate::it::lifecycle::detach::{LEAVING, gone, settled};
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    DEADLINE, Document, Gcwatch, Json, Signal, Tally, attach_json, brief, fact, number, repeated, signal,
    start_attach, until,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("sampled::by_count_in_attach", &[Need::Proc], in_attach);
    suite.once("sampled::blocking_full_collections_are_counted_right", &[], blocking_full);
    suite.each("sampled::by_count_in_run", &[], in_run);
    suite.each("sampled::by_time_between_moves", &[], by_time);
    suite.once("sampled::ends_within_a_window", &[], ends_within);
    suite.once("sampled::another_profiler", &[], another_profiler);
    suite.once("sampled::verdicts", &[], verdicts);
    suite.plain("sampled::what_contradicts_itself", contradictions);
}

/// The summary counts blocking gen2 collections as its table and the records do.
fn blocking_full(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let recording = dir.path().join("it.nettrace");
    Gcwatch::on(clr)
        .envs(Heap::Workstation.environment())
        .args("run --sample 200ms/1s --record")
        .arg(&recording)
        .app(clr, "churn", "work=1500000 live=20000")?
        .output()?
        .expect(0)?;
    let report =
        |format: &str| Gcwatch::new().args("report --format").arg(format).arg(&recording).output()?.expect(0);
    let document = Document::parse(&report("json")?.stdout)?;
    let mut gcs = document.complete()?;
    gcs.sort_by_key(|gc| gc["number"].as_u64());
    let (mut off, mut all, mut after_window) = (0, 0, false);
    for gc in gcs.iter().filter(|gc| gc["generation"] == 2) {
        if gc["kind"] == "background" {
            after_window = false;
            continue;
        }
        after_window |= !gc["cost"].is_null();
        all += 1;
        off += u64::from(after_window);
    }
    ensure!(off > 1, "no window had a gen2 collection: {}", document.0["watch"]);
    for format in ["text", "markdown"] {
        let said = report(format)?;
        let words = said.out()?.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = format!(" of {all} blocking gen2 GCs ran");
        let (before, _) = words.split_once(&end).with_context(|| format!("no \"{end}\": {words}"))?;
        let counted: u64 = before.rsplit(' ').next().unwrap_or_default().parse()?;
        // The count may include a collection that started just before the profiler's first. It leaves out the program's
        // first background collection, which blocks because there is no thread for it yet.
        let windows = document.0["watch"]["windows"]["taken"].as_u64().unwrap_or(0);
        ensure!((off - 1..=off + windows).contains(&counted), "{counted} instead of {off} of {all}");
    }
    let text = report("text")?;
    let row = text.out()?.lines().find(|line| line.starts_with("2 ")).context("no row of gen2")?;
    ensure!(row.split_whitespace().nth(1) == Some(&all.to_string()), "{all}: {row}");
    Ok(())
}

/// How many handles each step makes: more than the runtime's own handles vary.
const STEP: u64 = 500;
const WINDOWS: usize = 3;
/// How far the document may lag behind the program: more collections than the program makes in the two seconds for
/// which a record waits for its names.
const MAX_AHEAD: usize = 3000;
/// The least time for a step.
const STEP_INTERVAL: Duration = Duration::from_millis(5);

/// What the program printed about itself.
#[derive(Default)]
struct Story {
    /// By collection: how many handles it has to find.
    handles: BTreeMap<u64, u64>,
    /// By full collection: its kind.
    full: BTreeMap<u64, String>,
    collections: u64,
}

impl Story {
    /// How many windows have ended, by the kinds of the program's full collections.
    fn windows(&self) -> usize {
        let kinds: Vec<&String> = self.full.values().collect();
        kinds.windows(2).filter(|pair| pair[0] == "blocking" && pair[1] == "background").count()
    }
}

/// Collects until the document has enough collections with roots, and `done` agrees.
fn act(
    program: &mut Target,
    document: &Path,
    with_roots: usize,
    done: impl Fn(&Story) -> bool,
) -> Result<Story> {
    let mut story = Story::default();
    let began = Instant::now();
    let seen = |name: &str| {
        let text = std::fs::read_to_string(document).unwrap_or_default();
        text.matches(name).count()
    };
    while seen(r#""level":"roots""#) < with_roots || !done(&story) {
        ensure!(began.elapsed() < DEADLINE, "no {with_roots} collections with roots within {DEADLINE:?}");
        let total = number(&program.ask(&format!("handles strong {STEP}"), "handles ", DEADLINE)?, "total")?;
        for generation in [0, 1] {
            let said = program.ask(&format!("collect {generation}"), "collected ", DEADLINE)?;
            story.handles.insert(number(&said, "index")?, total);
            story.collections = number(&said, "gc0")?;
        }
        let said = program.ask("full", "full ", DEADLINE)?;
        let index = number(&said, "index")?;
        story.full.insert(index, fact(&said, "kind")?.to_owned());
        story.handles.insert(index, total);
        // Without this pause and this limit, a slow machine would have ever more to do with each collection.
        std::thread::sleep(STEP_INTERVAL);
        until("gcwatch to follow", DEADLINE, || Ok(seen(r#""number":"#) + MAX_AHEAD >= story.handles.len()))?;
    }
    Ok(story)
}

fn check(document: &Document, story: &Story, between: &str) -> Result<()> {
    document.nothing_lost()?;
    // Every collection that the program caused has one complete record, at either level.
    for number in story.handles.keys() {
        let gc = document.gc(*number)?;
        ensure!(gc["complete"] == true, "incomplete: {}", brief(gc));
        if let Some(kind) = story.full.get(number) {
            ensure!(gc["kind"] == kind.as_str(), "the program saw a {kind} one: {}", brief(gc));
        }
        let roots = gc["level"] == "roots";
        ensure!(roots || gc["level"] == between, "{}", brief(gc));
        ensure!(gc["moved"].is_object() == (roots || between == "moves"), "{}", brief(gc));
        ensure!(gc["roots"]["total"].is_u64() == roots, "{}", brief(gc));
        // A window may have more collections; the profiler is not armed for them.
        ensure!((gc["cost"]["armed"] == true) == roots, "{}", brief(gc));
    }
    let with_roots = with_roots(document)?;
    let numbers: Vec<u64> = with_roots.iter().filter_map(|gc| gc["number"].as_u64()).collect();
    // Between two of them, the number of handles grows by those that the program made.
    let known: Vec<(u64, i64)> = with_roots
        .iter()
        .filter_map(|gc| Some((*story.handles.get(&gc["number"].as_u64()?)?, gc)))
        .map(|(handles, gc)| Ok((handles, Tally::of(gc)?.get("handle"))))
        .collect::<Result<_>>()?;
    ensure!(known.len() >= 2, "roots of {numbers:?}, of which the program knows {}", known.len());
    for pair in known.windows(2) {
        let (made, found) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let off = found - i64::try_from(made)?;
        // The runtime's own handles come and go with the threads of profilers and sessions.
        ensure!(off.unsigned_abs() < STEP / 10, "{made} more handles, {found} more were found");
    }
    let summary = document.0.place("/summary")?;
    ensure!(summary["roots"]["gcs"] == with_roots.len(), "{}", summary["roots"]["gcs"]);
    ensure!(summary["gcs"] == document.complete()?.len(), "{}", summary["gcs"]);
    let watch = document.0.place("/watch")?;
    ensure!(watch["level"] == "roots" && watch["arming"] == "late", "{watch}");
    ensure!(watch["background_gc"] == "off-in-windows", "{watch}");
    ensure!(watch["windows"]["skipped_by"]["refused"] == 0, "{watch}");
    Ok(())
}

fn with_roots(document: &Document) -> Result<Vec<&Value>> {
    Ok(document.complete()?.into_iter().filter(|gc| gc["level"] == "roots").collect())
}

/// One collection per window, and background collections between any two windows, by the program's own output.
fn check_counted(document: &Document, story: &Story) -> Result<()> {
    let windows = document.0.place("/watch/windows")?;
    let numbers: Vec<u64> = with_roots(document)?.iter().filter_map(|gc| gc["number"].as_u64()).collect();
    let taken = windows.uint("/taken")?;
    // The end of the watch may cut the last window off.
    ensure!(numbers.len() as u64 == taken || numbers.len() as u64 + 1 == taken, "{numbers:?} in {windows}");
    for pair in numbers.windows(2) {
        let between = story.full.range(pair[0] + 1..pair[1]);
        let background = between.clone().any(|(_, kind)| kind == "background");
        ensure!(background, "no background collection in {pair:?}: {:?}", between.collect::<Vec<_>>());
    }
    let expected =
        serde_json::json!({"gcs": 1, "window_ns": null, "every_ns": 3_000_000_000_u64, "between": "basic"});
    ensure!(document.0["watch"]["sample"] == expected, "{}", document.0["watch"]["sample"]);
    Ok(())
}

/// A replay gives the same.
fn check_replay(document: &Document, recording: &Path) -> Result<()> {
    let replayed = Gcwatch::new().args("report --format json").arg(recording).output()?.expect(0)?;
    let replayed = Document::parse(&replayed.stdout)?;
    for what in ["/gcs", "/summary", "/watch/level", "/watch/background_gc", "/watch/arming", "/watch/sample"]
    {
        ensure!(document.0.pointer(what) == replayed.0.pointer(what), "{what} differs in the replay");
    }
    let (live, later) = (document.0.place("/watch/windows")?, replayed.0.place("/watch/windows")?);
    // The recording lacks the windows that were skipped after the last one.
    let fits = later["taken"] == live["taken"] && later.uint("/skipped")? <= live.uint("/skipped")?;
    ensure!(fits, "live {live}, replayed {later}");
    Ok(())
}

fn environment(heap: Heap) -> [(&'static str, &'static str); 3] {
    let [server, budget] = heap.environment();
    // Tiered compilation has a thread of its own, whose handles come and go.
    [server, budget, ("DOTNET_TieredCompilation", "0")]
}

fn in_attach(clr: &Clr, heap: Heap) -> Result<()> {
    let mut program = Target::app(clr, "roots", &[], &environment(heap))?;
    program.wait_line("ready ", DEADLINE)?;
    let pid = program.pid();
    // When the first profiler leaves, the runtime starts a thread for that, which it keeps; it also keeps one for
    // background collections.
    attach_json(clr, pid, "--sample 1/30s --duration 300ms")?;
    program.ask("full", "full ", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("out.nettrace"));
    let before = settled(pid)?;
    let options = format!("--sample 1/3s --record {}", recording.display());
    let mut gcwatch = start_attach(clr, pid, &options, &path)?;
    let story = act(&mut program, &path, WINDOWS, |_| true)?;
    signal(gcwatch.pid(), Signal::INT)?;
    ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
    let document = Document::read(&path)?;
    check(&document, &story, "basic")?;
    check_counted(&document, &story)?;
    check_replay(&document, &recording)?;
    // The profiler has left before gcwatch ends.
    let said = program.ask("full", "full ", DEADLINE)?;
    ensure!(fact(&said, "kind")? == "background", "after the watch: {said}");
    gone(pid, &before).with_context(|| format!("before: {before:?}"))?;
    program.send_line("exit")?;
    ensure!(program.wait(LEAVING)?.success(), "{program:?}");
    Ok(())
}

fn in_run(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut program = Gcwatch::on(clr)
        .envs(environment(Heap::Workstation))
        .args("run --format json --sample 1/3s -o")
        .arg(&path)
        .app(clr, "roots", "")?
        .spawn()?;
    program.wait_line("ready ", DEADLINE)?;
    let story = act(&mut program, &path, WINDOWS, |_| true)?;
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    let document = Document::read(&path)?;
    check(&document, &story, "basic")?;
    check_counted(&document, &story)?;
    // All collections from the first one on.
    let numbers: Vec<u64> = document.gcs()?.iter().filter_map(|gc| gc["number"].as_u64()).collect();
    let all: Vec<u64> = (1..=numbers.len() as u64).collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    ensure!(sorted == all && numbers.len() as u64 >= story.collections, "{numbers:?}");
    Ok(())
}

/// In a window by time, all blocking collections have roots; between windows, all have moves.
fn by_time(clr: &Clr) -> Result<()> {
    let mut program = Target::app(clr, "roots", &[], &environment(Heap::Workstation))?;
    program.wait_line("ready ", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("out.nettrace"));
    let options = format!("--sample 300ms/1s --between moves --record {}", recording.display());
    let mut gcwatch = start_attach(clr, program.pid(), &options, &path)?;
    let story = act(&mut program, &path, 4, |story| story.windows() >= 2)?;
    signal(gcwatch.pid(), Signal::TERM)?;
    ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
    let document = Document::read(&path)?;
    check(&document, &story, "moves")?;
    check_replay(&document, &recording)?;
    let sample = &document.0["watch"]["sample"];
    let expected = serde_json::json!({"gcs": null, "window_ns": 300_000_000, "every_ns": 1_000_000_000_u64, "between": "moves"});
    ensure!(*sample == expected, "{sample}");
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

const WORK: &str = "live=5000";

/// Collects until a collection has roots: the first window may take a while to open.
fn collect_in_window(program: &mut Target, document: &Path) -> Result<()> {
    let mut collected = 0;
    until("a collection with roots", DEADLINE, || {
        if collected > 0 {
            repeated::again();
        }
        collected += 1;
        let index = number(&program.ask("collect 0", "collected ", DEADLINE)?, "index")?;
        let mut text = String::new();
        until("the collection's record", DEADLINE, || {
            text = std::fs::read_to_string(document)?;
            Ok(text.contains(&format!(r#""number":{index},"#)))
        })?;
        Ok(text.contains(r#""level":"roots""#))
    })
}

/// When the watch ends, a window for more collections is still open: the profiler leaves before gcwatch ends.
fn ends_within(clr: &Clr) -> Result<()> {
    let mut program = Target::app(clr, "roots", &[], &environment(Heap::Workstation))?;
    program.wait_line("ready ", DEADLINE)?;
    // The first collection is blocking: there is no thread for background collections yet.
    program.ask("full", "full ", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    for with in [Signal::INT, Signal::TERM] {
        let path = dir.path().join(format!("{with:?}.json"));
        let mut gcwatch = start_attach(clr, program.pid(), "--sample 1000/30s", &path)?;
        collect_in_window(&mut program, &path)?;
        signal(gcwatch.pid(), with)?;
        ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
        let said = program.ask("full", "full ", DEADLINE)?;
        ensure!(fact(&said, "kind")? == "background", "after the watch: {said}");
        let document = Document::read(&path)?;
        ensure!(document.0["watch"]["windows"]["taken"] == 1, "{}", document.0["watch"]);
    }
    // The target, too, may end in a window.
    let path = dir.path().join("exit.json");
    let mut gcwatch = start_attach(clr, program.pid(), "--sample 1000/30s", &path)?;
    collect_in_window(&mut program, &path)?;
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success() && gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
    let exit = &Document::read(&path)?.0["exit"];
    ensure!(exit["reason"] == "target-ended", "{exit}");
    Ok(())
}

/// Another profiler refuses all windows while it is loaded; gcwatch reports that once and goes on watching.
fn another_profiler(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let dir = tempfile::tempdir()?;
    let (first_path, path) = (dir.path().join("first.json"), dir.path().join("out.json"));
    let mut first = start_attach(clr, churn.pid(), "--level roots", &first_path)?;
    let mut second = start_attach(clr, churn.pid(), "--sample 1/1s", &path)?;
    let said = |what: &str| second.stderr().matches(what).count();
    until("the refusal's notice", DEADLINE, || Ok(said("no roots in this window: another profiler") == 1))?;
    signal(first.pid(), Signal::INT)?;
    ensure!(first.wait(DEADLINE)?.success(), "{first:?}");
    check_attached(&Document::read(&first_path)?)?;
    let mine = || Ok(std::fs::read_to_string(&path)?.matches(r#""background""#).count() > 1);
    until("background collections after the first watch", DEADLINE, mine)?;
    ensure!(said("no roots in this window") == 1, "{}", second.stderr());
    signal(second.pid(), Signal::INT)?;
    ensure!(second.wait(DEADLINE)?.success(), "{second:?}");
    let windows = &Document::read(&path)?.0["watch"]["windows"];
    ensure!(windows["skipped_by"]["refused"].as_u64() >= Some(1), "{windows}");
    churn.stop(clr, WORK)
}

/// Assertions on roots count only the collections with roots, and say how many there are.
fn verdicts(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let document = attach_json(
        clr,
        churn.pid(),
        "--sample 1/1s --duration 1s --assert roots.handle.max>0 --assert gc.count>0",
    )?;
    let assertions = document.0.list("/assertions")?;
    let seen = with_roots(&document)?.len();
    ensure!(assertions[0]["holds"] == true && assertions[0]["gcs_seen"] == seen, "{}", assertions[0]);
    ensure!(assertions[1]["disturbed"] == true && assertions[1]["gcs_seen"].is_null(), "{}", assertions[1]);
    ensure!(seen > 0 && seen < document.complete()?.len(), "{seen} collections with roots");
    churn.stop(clr, WORK)
}

fn contradictions() -> Result<()> {
    for (options, words) in [
        ("--sample 1/30s --level basic", ["--level basic", "--between basic"]),
        ("--sample 1/30s --level moves", ["--level moves", "--between moves"]),
        ("--between moves", ["--sample", "--level moves"]),
        ("--sample 5", ["1/30s", "2s/30s"]),
        ("--sample 0/30s", ["without a collection", "1/30s"]),
        ("--sample 3s/3s", ["shorter than its interval", "--level roots"]),
        ("--sample 1/100ms", ["1 s to 30 d", "1/30s"]),
    ] {
        let ended = Gcwatch::new().arg("attach").args(options).arg("1").output()?.expect(2)?;
        ended.says(&words).with_context(|| options.to_owned())?;
    }
    Ok(())
}
