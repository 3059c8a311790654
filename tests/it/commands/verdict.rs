//! Assertions: the verdict, the exit code, and the document for scripts.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use xtask::Clr;

use crate::it::suite::Suite;
use crate::it::support::repeated::again;
use crate::it::support::{Document, Gcwatch, account, brief, end_of, number};

/// Work that collects in every generation, in gen2 because of large objects.
const WORK: &str = "work=150000 live=5000";
const SMALL: [(&str, &str); 1] = [("DOTNET_GCgen0size", "400000")];

pub(crate) fn register(suite: &mut Suite) {
    suite.each("verdict::broken_is_10_and_names_the_collections", &[], broken);
    suite.once("verdict::holding_gives_the_child_s_code", &[], holding);
    suite.once("verdict::without_data_is_11", &[], without_data);
    suite.once("verdict::lowest_level_that_answers", &[], lowest_level);
    suite.once("verdict::stops_that_watching_caused_break_nothing", &[], own_pauses);
    suite.once("verdict::bounds_from_a_file", &[], from_file);
    suite.once("verdict::warm_up_counts_for_nothing", &[], warm_up);
    suite.once("verdict::of_a_recording_is_the_live_one", &[], of_a_recording);
    suite.once("verdict::outlives_a_closed_pipe", &[], closed_pipe);
    suite.each("verdict::stop_on", &[], stop_on);
    suite.plain("verdict::mistakes_are_2", mistakes);
    suite.plain("verdict::metrics_are_listed", metrics);
}

fn churn(clr: &Clr, options: &[&str]) -> Result<Gcwatch> {
    let gcwatch = Gcwatch::on(clr).envs(SMALL).arg("run");
    options.iter().fold(gcwatch, |g, o| g.arg(o)).app(clr, "churn", WORK)
}

/// Judged live and from the recording; the expected value is made of the collections in the document.
fn warm_up(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("out.nettrace"));
    let run = |more: &[&str]| -> Result<Document> {
        let gcwatch = Gcwatch::on(clr).envs(SMALL).args("run --level basic --format json");
        let gcwatch = gcwatch.options(more.iter().map(OsStr::new));
        let gcwatch = gcwatch.option("-o", &path).option("--record", &recording);
        gcwatch.app(clr, "churn", "work=1500000 live=5000")?.output()?.expect(0)?;
        Document::read(&path)
    };
    let mut attempts = 0;
    // On a busy machine a run can take much longer or shorter than the one before it.
    let (live, warm, warmup_ns) = loop {
        let gcs = run(&[])?;
        let middle = gcs.gcs()?.get(gcs.gcs()?.len() / 2).and_then(|gc| gc["at_ns"].as_u64());
        let warmup_ms = middle.context("no collection")? / 1_000_000;
        let warmup = format!("{warmup_ms}ms");
        let warm = ["--warmup", &warmup, "--assert", "pause.max > 0ns", "--assert", "gc.count > 0"]
            .map(String::from);
        let live = run(&warm.each_ref().map(String::as_str))?;
        let is_late = |gc: &&serde_json::Value| gc["at_ns"].as_u64() >= Some(warmup_ms * 1_000_000);
        let late = live.gcs()?.iter().filter(is_late).count();
        if 0 < late && late < live.gcs()?.len() {
            break (live, warm, warmup_ms * 1_000_000);
        }
        attempts += 1;
        ensure!(attempts < 5, "{late} of {} collections are after {warmup}", live.gcs()?.len());
        again();
    };
    let replayed = Gcwatch::new().args("report --format json").options(warm.iter().map(OsStr::new));
    let replayed = replayed.arg(&recording).output()?.expect(0)?;
    let replayed: serde_json::Value = serde_json::from_slice(&replayed.stdout)?;
    ensure!(
        live.0["assertions"] == replayed["assertions"],
        "{} {}",
        live.0["assertions"],
        replayed["assertions"]
    );
    let after = |gc: &&serde_json::Value| gc["complete"] == true && gc["at_ns"].as_u64() >= Some(warmup_ns);
    let counted: Vec<_> = live.gcs()?.iter().filter(after).collect();
    ensure!(!counted.is_empty() && counted.len() < live.gcs()?.len(), "{} collections", counted.len());
    let longest = counted.iter().filter_map(|gc| gc["pause_ns"].as_u64()).max();
    ensure!(live.0["assertions"][0]["value"].as_u64() == longest, "{}", live.0["assertions"]);
    ensure!(live.0["assertions"][1]["value"] == counted.len(), "{}", live.0["assertions"]);
    ensure!(live.0["assertions"][1]["warmup_ns"] == warmup_ns, "{}", live.0["assertions"]);
    let longer = ["--warmup", "1h", "--assert", "gc.count < 1"].map(OsStr::new);
    let none = Gcwatch::new().arg("report").options(longer).arg(&recording).output()?.expect(11)?;
    ensure!(none.out()?.contains("the watch ended within the warm-up"), "{}", none.out()?);
    Ok(())
}

/// The watch ends at the first collection that meets the condition; the program runs on to its end, with its own checksum.
fn stop_on(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let options =
        ["--level", "basic", "--format", "json", "--stop-on", "pinned >= 1", "--stop-on", "pause > 1000s"];
    let ended = Gcwatch::on(clr).envs(SMALL).arg("run").options(options.map(OsStr::new)).option("-o", &path);
    // Long enough that the watch ends first.
    let ended = ended.app(clr, "churn", "work=4000000 live=5000")?.output()?.expect(10)?;
    ensure!(ended.out()?.contains("\ndone work=4000000"), "the program ended early: {}", ended.out()?);
    let document = Document::read(&path)?;
    ensure!(
        document.0["exit"]["reason"] == "stop-on" && document.0["exit"]["gcwatch"] == 10,
        "{}",
        document.0["exit"]
    );
    let verdicts = &document.0["assertions"];
    ensure!(verdicts[0]["expr"] == "stop-on pinned >= 1" && verdicts[0]["holds"] == false, "{verdicts}");
    ensure!(verdicts[1]["holds"] == true && verdicts[1]["gcs"] == json!([]), "{verdicts}");
    // It names the first such collection, and the watch has little more than that.
    let with_pins =
        |gc: &&serde_json::Value| gc["complete"] == true && gc["pinned_objects"].as_u64() >= Some(1);
    let first = document.gcs()?.iter().find(with_pins).context("no collection met pinned objects")?;
    ensure!(verdicts[0]["gcs"] == json!([first["number"]]), "{verdicts}: {}", brief(first));
    ensure!(verdicts[0]["value"] == first["pinned_objects"], "{verdicts}");
    // A condition that is never met changes nothing.
    let never =
        Gcwatch::on(clr).envs(SMALL).args("run --level basic --format json").arg("--stop-on=pause > 1000s");
    never.option("-o", &path).app(clr, "churn", WORK)?.output()?.expect(0)?;
    ensure!(Document::read(&path)?.0["exit"]["reason"] == "target-ended", "the watch ended early");
    for (wrong, said) in
        [("pause.p99 > 1ms", "no figure of a single collection"), ("pause > 5", "it is a time")]
    {
        let ended =
            Gcwatch::new().args("run").arg(format!("--stop-on={wrong}")).args("-- x").output()?.expect(2)?;
        ended.says(&[said])?;
    }
    Ok(())
}

fn broken(clr: &Clr) -> Result<()> {
    let options = ["--format", "json", "--assert", "gc.gen2.count <= 0", "--assert", "gc.count > 0"];
    // A background collection that runs at the end is in the program's count, but incomplete for gcwatch.
    let blocking = [("DOTNET_gcConcurrent", "0")];
    let ended = churn(clr, &options)?.envs(blocking).output()?.expect(10)?;
    let document = Document::parse(&ended.stdout)?;
    let [first, second] = document.0["assertions"].as_array().context("no list")?.as_slice() else {
        anyhow::bail!("{}", document.0["assertions"])
    };
    // The child's lines are on stderr, among them its own count of gen2 collections.
    let counted = number(&ended.stderr, "gc2")?;
    ensure!(first["holds"] == false && first["value"] == counted as f64, "{counted}: {first}");
    let complete = document.complete()?;
    let gen2: Vec<_> =
        complete.iter().filter(|gc| gc["generation"] == 2).map(|gc| gc["number"].clone()).collect();
    ensure!(first["gcs"] == json!(gen2) && gen2.len() as u64 == counted, "{gen2:?}: {first}");
    ensure!(second["holds"] == true && second["gcs"] == json!([]), "{second}");
    ensure!(document.0["exit"]["gcwatch"] == 10, "{}", document.0["exit"]);
    let named = format!("#{} gen2", gen2[0]);
    ended.says(&["FAIL", "gc.gen2.count <= 0", &named])?;
    Ok(())
}

fn holding(clr: &Clr) -> Result<()> {
    for code in [0, 3] {
        let ended = Gcwatch::on(clr)
            .envs(SMALL)
            .args("run -q --assert pause.max<60s --assert lost==0")
            .app(clr, "churn", &format!("{WORK} exit={code}"))?
            .output()?
            .expect(code)?;
        // `-q` keeps the verdict.
        let said: Vec<&str> = ended.stderr.lines().collect();
        ensure!(said.len() == 3 && said[2] == "all 2 assertions hold", "{said:?}");
    }
    // The child's failure takes precedence over the verdict.
    Gcwatch::on(clr)
        .envs(SMALL)
        .args("run -q --assert gc.count<1")
        .app(clr, "churn", &format!("{WORK} exit=3"))?
        .output()?
        .expect(3)?
        .says(&["FAIL"])?;
    Ok(())
}

fn without_data(clr: &Clr) -> Result<()> {
    // The program collects only at a command on stdin, and stdin is empty.
    for bound in ["pause.max<1s", "heap.growth.percent<50", "frag.gen2.percent<50"] {
        let ended = Gcwatch::on(clr)
            .args("run -q --assert")
            .arg(bound)
            .app(clr, "moves", "")?
            .output()?
            .expect(11)?;
        ended.says(&["could not be judged", bound])?;
    }
    let none =
        Gcwatch::on(clr).args("run -q --assert gc.count<=0").app(clr, "moves", "")?.output()?.expect(0)?;
    none.says(&["the assertion holds"])?;
    let options = ["-q", "--level", "basic", "--assert", "roots.stack.max<100000"];
    churn(clr, &options)?.output()?.expect(11)?.says(&["not seen at this level"])?;
    Ok(())
}

fn lowest_level(clr: &Clr) -> Result<()> {
    for (bound, level, disturbed) in [
        ("pause.p99<60s", "basic", json!([])),
        ("moved.bytes.max<1GiB", "moves", json!([])),
        ("roots.stack.max<100000", "roots", json!([])),
    ] {
        let options = ["gc.count>0", "pause.max<60s"].map(|more| ["--assert", more]).concat();
        let options = [["--format", "json", "--assert", bound].as_slice(), &options].concat();
        let ended = churn(clr, &options)?.output()?.expect(0)?;
        let document = Document::parse(&ended.stdout)?;
        ensure!(document.0["watch"]["level"] == level, "{bound}: {}", document.0["watch"]);
        let [own, count, pause] = document.0["assertions"].as_array().context("no list")?.as_slice() else {
            anyhow::bail!("{}", document.0["assertions"])
        };
        ensure!(own["disturbed_by"] == disturbed && own["disturbed"] == false, "{own}");
        ensure!(own["level"] == level, "{own}");
        // At `roots` there is no background GC, which changes the numbers of collections. Above `basic`, the runtime
        // does work for gcwatch in the pauses.
        let (off, work) = ("background_gc_off", "work_in_pauses");
        let (counts, pauses) = match level {
            "basic" => (json!([]), json!([])),
            "moves" => (json!([]), json!([work])),
            _ => (json!([off]), json!([off, work])),
        };
        for (verdict, expected) in [(count, counts), (pause, pauses)] {
            let any = expected != json!([]);
            ensure!(verdict["disturbed_by"] == expected && verdict["disturbed"] == any, "{level}: {verdict}");
        }
    }
    // A level that the user demands is kept.
    let ended = churn(clr, &["--format", "json", "--level", "moves", "--assert", "gc.count>0"])?
        .output()?
        .expect(0)?;
    let document = Document::parse(&ended.stdout)?;
    ensure!(document.0["watch"]["level"] == "moves", "{}", document.0["watch"]);
    Ok(())
}

/// A bound on pauses judges the program's own pauses, not the stops in which the runtime walks survivors for gcwatch.
/// The test reads the recording a second time to know the right values.
fn own_pauses(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let recording = dir.path().join("run.nettrace");
    let ended = Gcwatch::on(clr)
        .args("run --format json --assert pause.gen2.total<999s --assert moved.bytes.max<999GiB --record")
        .arg(&recording)
        .app(clr, "background", "rounds=4")?
        .output()?
        .expect(0)?;
    let document = Document::parse(&ended.stdout)?;
    let account = account(&recording)?;
    let (mut own, mut walks) = (0, 0);
    for (number, told) in account.gcs.iter().filter(|(_, told)| told.whole() && told.generation == 2) {
        ensure!(document.gc(*number)?["complete"] == true, "{}", brief(document.gc(*number)?));
        for pause in &told.pauses {
            let to = if pause.phase == "survivor_walk" { &mut walks } else { &mut own };
            *to += pause.ns;
        }
    }
    let verdict = &document.0["assertions"][0];
    ensure!(document.0["watch"]["level"] == "moves" && walks > 0, "no walk: {}", document.0["watch"]);
    ensure!(verdict["value"] == own as f64, "{verdict}: {own} ns of pauses, and {walks} ns of walks");
    ensure!(document.0["summary"]["cost"]["extra_stops"]["ns"] == walks, "{}", document.0["summary"]["cost"]);
    Ok(())
}

fn from_file(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("bounds.toml");
    std::fs::write(&path, "default = ['gc.count > 0']\nnightly = ['gc.count > 0', 'gc.count < 1']\n")?;
    let file = path.to_str().context("not UTF-8")?;
    churn(clr, &["-q", "--assert-file", file])?.output()?.expect(0)?.says(&["the assertion holds"])?;
    let nightly = ["-q", "--assert-file", file, "--assert-profile", "nightly"];
    churn(clr, &nightly)?.output()?.expect(10)?.says(&["1 of 2 assertions does not hold"])?;
    let missing = ["-q", "--assert-file", file, "--assert-profile", "weekly"];
    let ended = churn(clr, &missing)?.output()?.expect(2)?.says(&["weekly", "default, nightly"])?;
    ensure!(ended.stdout.is_empty(), "the child was started: {:?}", ended.out());
    Ok(())
}

fn of_a_recording(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.nettrace");
    let record = path.to_str().context("not UTF-8")?;
    let bounds = [
        "--format",
        "json",
        "--assert",
        "gc.gen2.count<=0",
        "--assert",
        "pause.p90<60s",
        "--assert",
        "moved.blocks.total>0",
        "--assert",
        "frag.gen2.percent<100",
    ];
    let live = churn(clr, &[["--record", record].as_slice(), &bounds].concat())?.output()?.expect(10)?;
    let replayed =
        bounds.iter().fold(Gcwatch::new().args("report"), |g, o| g.arg(o)).arg(&path).output()?.expect(10)?;
    let (live, replayed) = (Document::parse(&live.stdout)?, Document::parse(&replayed.stdout)?);
    ensure!(
        live.0["assertions"] == replayed.0["assertions"],
        "{}\n{}",
        live.0["assertions"],
        replayed.0["assertions"]
    );
    // The recording is at `moves`, so roots cannot be judged.
    let ended =
        Gcwatch::new().args("report -q --assert roots.stack.max<5").arg(&path).output()?.expect(11)?;
    ensure!(ended.out()?.contains("not seen at this level"), "{ended:?}");
    Ok(())
}

/// `gcwatch run --assert … --format ndjson | head -1`: the exit code is that of the verdict.
fn closed_pipe(clr: &Clr) -> Result<()> {
    let mut command = churn(clr, &["--format", "ndjson", "--assert", "gc.gen2.count<=0"])?.command();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut first = String::new();
    BufReader::new(child.stdout.take().context("no pipe")?).read_line(&mut first)?;
    let status = end_of(child)?;
    ensure!(status.code() == Some(10), "{status} after {first}");
    Ok(())
}

fn mistakes() -> Result<()> {
    for (bound, word) in [
        ("puase.max < 1ms", "pause"),
        ("pause < 1ms", "pause.max"),
        ("pause.max < 1MiB", "it is a time"),
        ("gc.gen2.cuont <= 0", "gc.gen2.count"),
    ] {
        // The child, if started, would print a word.
        let ended =
            Gcwatch::new().args("run --assert").arg(bound).args("-- echo started").output()?.expect(2)?;
        ensure!(ended.stdout.is_empty(), "{bound}: the child was started");
        ended.says(&[word])?;
    }
    Gcwatch::new()
        .args("run --assert-file /nonexistent/bounds.toml -- echo started")
        .output()?
        .expect(2)?
        .says(&["bounds.toml", "do:"])?;
    Ok(())
}

/// Each metric of the list can be used in an assertion.
fn metrics() -> Result<()> {
    let listed = Gcwatch::new().args("metrics").output()?.expect(0)?;
    // Below a line of titles; what is indented is about the metric above.
    let rows = listed.out()?.lines().skip(1).take_while(|line| !line.is_empty());
    let rows = rows.filter(|line| !line.starts_with(' '));
    let names: Vec<&str> = rows.filter_map(|line| line.split_whitespace().next()).collect();
    ensure!(names.contains(&"pause.max") && names.len() > 20, "{names:?}");
    for name in names {
        let bound = format!("{name} < 1%");
        let ended = Gcwatch::new().args("run --assert").arg(&bound).args("-- true").output()?;
        // The only error allowed is a unit that does not fit the metric.
        let known = ended.code != 2 || ended.stderr.contains("is not a value for");
        ensure!(known, "{bound}: {ended:?}");
    }
    Ok(())
}
