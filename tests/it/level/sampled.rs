//! `--sample`: roots in windows, and background collections between them. A program makes handles in known numbers and
//! collects all the time, background collections among it, and says of each which it was.

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

/// What the summary says of blocking full collections is what its table and the records say.
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
    ensure!(off > 1, "no window had a full collection: {}", document.0["watch"]);
    for format in ["text", "markdown"] {
        let said = report(format)?;
        let words = said.out()?.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = format!(" of {all} blocking gen2 GCs ran");
        let (before, _) = words.split_once(&end).with_context(|| format!("no \"{end}\": {words}"))?;
        let counted: u64 = before.rsplit(' ').next().unwrap_or_default().parse()?;
        // One that started just before the profiler's first collection may be among them. The program's first
        // background collection starts as such and blocks, as there is no thread for it yet: it is none of them.
        let windows = document.0["watch"]["windows"]["taken"].as_u64().unwrap_or(0);
        ensure!((off - 1..=off + windows).contains(&counted), "{counted} instead of {off} of {all}");
    }
    let text = report("text")?;
    let row = text.out()?.lines().find(|line| line.starts_with("2 ")).context("no row of gen2")?;
    ensure!(row.split_whitespace().nth(1) == Some(&all.to_string()), "{all}: {row}");
    Ok(())
}

/// How many handles each step makes: more than the number by which the runtime's own handles vary.
const STEP: u64 = 500;
const WINDOWS: usize = 3;
/// So many collections may the program be ahead of the document: more than it makes in the two seconds for which a record
/// waits for its names.
const AHEAD: usize = 3000;
/// At least.
const STEP_TAKES: Duration = Duration::from_millis(5);

/// What the program did, in its own words.
#[derive(Default)]
struct Story {
    /// Collection to the handles that it had to find.
    handles: BTreeMap<u64, u64>,
    /// Full collection to its kind.
    full: BTreeMap<u64, String>,
    collections: u64,
}

impl Story {
    /// Windows that are over, by what the program was told of its full collections.
    fn windows(&self) -> usize {
        let kinds: Vec<&String> = self.full.values().collect();
        kinds.windows(2).filter(|pair| pair[0] == "blocking" && pair[1] == "background").count()
    }
}

/// Collects until enough collections were seen with roots, and all is done.
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
        // As fast as it can, and as far ahead of gcwatch as it pleases, it would give a slow machine more to do with every
        // collection.
        std::thread::sleep(STEP_TAKES);
        until("gcwatch to keep up", DEADLINE, || Ok(seen(r#""number":"#) + AHEAD >= story.handles.len()))?;
    }
    Ok(story)
}

fn check(document: &Document, story: &Story, between: &str) -> Result<()> {
    document.nothing_lost()?;
    // Every collection that the program caused is there once and complete, at any level.
    for number in story.handles.keys() {
        let gc = document.gc(*number)?;
        ensure!(gc["complete"] == true, "not whole: {}", brief(gc));
        if let Some(kind) = story.full.get(number) {
            ensure!(gc["kind"] == kind.as_str(), "the program saw a {kind} one: {}", brief(gc));
        }
        let roots = gc["level"] == "roots";
        ensure!(roots || gc["level"] == between, "{}", brief(gc));
        ensure!(gc["moved"].is_object() == (roots || between == "moves"), "{}", brief(gc));
        ensure!(gc["roots"]["total"].is_u64() == roots, "{}", brief(gc));
        // In a window there may be more of them, which the profiler lets pass.
        ensure!((gc["cost"]["armed"] == true) == roots, "{}", brief(gc));
    }
    let with_roots = with_roots(document)?;
    let numbers: Vec<u64> = with_roots.iter().filter_map(|gc| gc["number"].as_u64()).collect();
    // The handles between two of them are those that the program made.
    let known: Vec<(u64, i64)> = with_roots
        .iter()
        .filter_map(|gc| Some((*story.handles.get(&gc["number"].as_u64()?)?, gc)))
        .map(|(handles, gc)| Ok((handles, Tally::of(gc)?.get("handle"))))
        .collect::<Result<_>>()?;
    ensure!(known.len() >= 2, "roots of {numbers:?}, of which the program knows {}", known.len());
    for pair in known.windows(2) {
        let (made, found) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let off = found - i64::try_from(made)?;
        // The runtime has some of its own that come and go, by the threads of its profilers and sessions.
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

/// One collection a window, and by the program's own word background collections between each two of them.
fn check_counted(document: &Document, story: &Story) -> Result<()> {
    let windows = document.0.place("/watch/windows")?;
    let numbers: Vec<u64> = with_roots(document)?.iter().filter_map(|gc| gc["number"].as_u64()).collect();
    let taken = windows.uint("/taken")?;
    // The last one may be cut off by the end of the watch.
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

/// The recording tells the same.
fn check_replay(document: &Document, recording: &Path) -> Result<()> {
    let replayed = Gcwatch::new().args("report --format json").arg(recording).output()?.expect(0)?;
    let replayed = Document::parse(&replayed.stdout)?;
    for what in ["/gcs", "/summary", "/watch/level", "/watch/background_gc", "/watch/arming", "/watch/sample"]
    {
        ensure!(document.0.pointer(what) == replayed.0.pointer(what), "{what} is another in the recording");
    }
    let (live, later) = (document.0.place("/watch/windows")?, replayed.0.place("/watch/windows")?);
    // It does not know of those that were skipped after the last one.
    let fits = later["taken"] == live["taken"] && later.uint("/skipped")? <= live.uint("/skipped")?;
    ensure!(fits, "live {live}, in the recording {later}");
    Ok(())
}

fn environment(heap: Heap) -> [(&'static str, &'static str); 3] {
    let [server, budget] = heap.environment();
    // Code compiled a second time is compiled by a thread of its own, which comes and goes with its handles.
    [server, budget, ("DOTNET_TieredCompilation", "0")]
}

fn in_attach(clr: &Clr, heap: Heap) -> Result<()> {
    let mut program = Target::app(clr, "roots", &[], &environment(heap))?;
    program.wait_line("ready ", DEADLINE)?;
    let pid = program.pid();
    // The first profiler that leaves makes the runtime start a thread for that, which it keeps; background
    // collections have one, too.
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
    // When gcwatch ends the profiler is out.
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
    // From its first collection on, without a gap.
    let numbers: Vec<u64> = document.gcs()?.iter().filter_map(|gc| gc["number"].as_u64()).collect();
    let all: Vec<u64> = (1..=numbers.len() as u64).collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    ensure!(sorted == all && numbers.len() as u64 >= story.collections, "{numbers:?}");
    Ok(())
}

/// In a window by time all blocking collections show their roots; between two of them all show what moved.
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

/// Collects until a collection was seen with roots: the first window may take a while to open.
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

/// A window for more collections than there are is open when the end comes: the profiler is out before gcwatch is.
fn ends_within(clr: &Clr) -> Result<()> {
    let mut program = Target::app(clr, "roots", &[], &environment(Heap::Workstation))?;
    program.wait_line("ready ", DEADLINE)?;
    // The first one is blocking: there is no thread for it yet.
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
    // The target may end in one, too.
    let path = dir.path().join("exit.json");
    let mut gcwatch = start_attach(clr, program.pid(), "--sample 1000/30s", &path)?;
    collect_in_window(&mut program, &path)?;
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success() && gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
    let exit = &Document::read(&path)?.0["exit"];
    ensure!(exit["reason"] == "target-ended", "{exit}");
    Ok(())
}

/// Windows are refused as long as another profiler is there; what it says of that comes once, and the watch goes on.
fn another_profiler(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let dir = tempfile::tempdir()?;
    let (first_path, path) = (dir.path().join("first.json"), dir.path().join("out.json"));
    let mut first = start_attach(clr, churn.pid(), "--level roots", &first_path)?;
    let mut second = start_attach(clr, churn.pid(), "--sample 1/1s", &path)?;
    let said = |what: &str| second.stderr().matches(what).count();
    until("a word on the refusal", DEADLINE, || Ok(said("no roots in this window: another profiler") == 1))?;
    signal(first.pid(), Signal::INT)?;
    ensure!(first.wait(DEADLINE)?.success(), "{first:?}");
    check_attached(&Document::read(&first_path)?)?;
    let mine = || Ok(std::fs::read_to_string(&path)?.matches(r#""background""#).count() > 1);
    until("background collections of a process that is left alone", DEADLINE, mine)?;
    ensure!(said("no roots in this window") == 1, "{}", second.stderr());
    signal(second.pid(), Signal::INT)?;
    ensure!(second.wait(DEADLINE)?.success(), "{second:?}");
    let windows = &Document::read(&path)?.0["watch"]["windows"];
    ensure!(windows["skipped_by"]["refused"].as_u64() >= Some(1), "{windows}");
    churn.stop(clr, WORK)
}

/// Bounds on roots rest on the collections that showed them, and say on how many.
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
