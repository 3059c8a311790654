//! Compares what gcwatch reports of the target and of the watch with the program and the machine.

use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::{Clr, apps};

use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{Document, Gcwatch, Json, fact, number};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("facts::target", &[Need::Proc], target);
    suite.each("facts::watch", &[], watch);
    suite.plain("facts::tool", tool);
}

/// The document of a run of `facts`, which prints its own facts, and its output.
fn run(clr: &Clr, variables: &[(&str, &str)], level: &str) -> Result<(Value, String)> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let ended = Gcwatch::on(clr)
        .envs(variables.iter().copied())
        .args(&format!("run --format json --level {level}"))
        .option("-o", &path)
        .app(clr, "facts", "")?
        .output()?
        .expect(0)?;
    Ok((Document::read(&path)?.0, ended.out()?.to_owned()))
}

fn target(clr: &Clr, heap: Heap) -> Result<()> {
    let server = if heap.server() { "1" } else { "0" };
    for concurrent in ["0", "1"] {
        let variables = [
            ("DOTNET_gcServer", server),
            ("DOTNET_gcConcurrent", concurrent),
            // Fixed, because the runtime would choose a number.
            ("DOTNET_GCHeapCount", "2"),
            // 512 GiB of address space: only a heap with regions reserves them.
            ("DOTNET_GCRegionRange", "8000000000"),
        ];
        let (document, said) = run(clr, &variables, "moves")?;
        let target = &document["target"];
        let check = |pointer: &str, expected: Value| {
            let value = target.pointer(pointer).unwrap_or(&Value::Null);
            ensure!(*value == expected, "{pointer} is {value}, not {expected}: {said}");
            Ok(())
        };
        let argv: Vec<String> =
            clr.argv(&apps::build("facts")?).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        check("/pid", json!(number(&said, "pid")?))?;
        check("/args", json!(argv))?;
        check("/command_line", json!(argv.join(" ")))?;
        check("/executable", json!(std::fs::canonicalize(clr.dotnet())?))?;
        check("/runtime/name", json!(".NET"))?;
        check("/runtime/version", json!(fact(&said, "version")?))?;
        check("/runtime/arch", json!(fact(&said, "arch")?.to_lowercase()))?;
        check("/runtime/os", json!(fact(&said, "os")?))?;
        check("/processors", json!(number(&said, "processors")?))?;
        check("/gc/server", json!(fact(&said, "server")? == "True"))?;
        check("/gc/concurrent", json!(fact(&said, "concurrent")? == "True"))?;
        check("/gc/heaps", json!(if heap.server() { 2 } else { 1 }))?;
        check("/gc/regions", json!(number(&said, "reserved_gib")? >= 512))?;
        check("/gc/source", json!("environment"))?;
        // The program has the settings that the test made.
        ensure!((fact(&said, "server")? == "True") == heap.server(), "{said}");
        ensure!((fact(&said, "concurrent")? == "True") == (concurrent == "1"), "{said}");
        let background = &document["watch"]["background_gc"];
        ensure!(background == if concurrent == "1" { "walked" } else { "none" }, "{background}");
    }
    for (library, regions) in [(SEGMENTS, false), (REGIONS, true)] {
        if heap == Heap::Server || !clr.framework_dir().join(library).is_file() {
            continue;
        }
        let variables = [("DOTNET_GCName", library), ("DOTNET_GCRegionRange", "8000000000")];
        let (document, said) = run(clr, &variables, "basic")?;
        ensure!((number(&said, "reserved_gib")? >= 512) == regions, "{library}: {said}");
        ensure!(document["target"]["gc"]["regions"] == regions, "{library}: {}", document["target"]);
    }
    Ok(())
}

/// The other GC libraries that come with the runtime: with segments, and since .NET 9 with regions.
const SEGMENTS: &str = "libclrgc.so";
const REGIONS: &str = "libclrgcexp.so";

fn watch(clr: &Clr) -> Result<()> {
    for (level, arming, background_gc) in [
        ("basic", Value::Null, "untouched"),
        ("moves", Value::Null, "walked"),
        ("roots", json!("late"), "off-until-exit"),
    ] {
        let (before, clock) = (SystemTime::now(), Instant::now());
        let (document, _) = run(clr, &[("DOTNET_gcConcurrent", "1")], level)?;
        let (elapsed, after) = (clock.elapsed(), SystemTime::now());
        let watch = &document["watch"];
        ensure!(watch["level"] == level && watch["level_reason"].is_null(), "{watch}");
        ensure!(watch["arming"] == arming && watch["background_gc"] == background_gc, "{watch}");
        let none = json!({"taken": 0, "skipped": 0, "skipped_by": {"background_gc": 0, "refused": 0}});
        ensure!(watch["windows"] == none && watch["sample"].is_null(), "nothing was sampled: {watch}");
        let started: SystemTime = watch.text("/started_at")?.parse::<jiff::Timestamp>()?.into();
        ensure!(before <= started && started <= after, "{before:?}, {started:?}, {after:?}");
        let last = document.list("/gcs")?.last().context("no collections")?;
        let end = last.uint("/at_ns")? + last.uint("/pause_ns")?;
        let duration = watch.uint("/duration_ns")?;
        ensure!(
            end <= duration && u128::from(duration) <= elapsed.as_nanos(),
            "{end}, {duration}, {elapsed:?}"
        );
    }
    Ok(())
}

fn tool() -> Result<()> {
    let said = Gcwatch::new().arg("--version").output()?.expect(0)?;
    let mut words = said.out()?.split_whitespace();
    let (name, version) = words.next().zip(words.next()).context("no name and version")?;
    ensure!((name, version) == ("gcwatch", env!("CARGO_PKG_VERSION")), "{name} {version}");
    // Any recording will do.
    let recording =
        xtask::workspace::root().join("dotnet-diagnostics-client/tests/data/gccollect-ws-9.0.18.nettrace");
    let ended = Gcwatch::new().args("report --format json").arg(recording).output()?.expect(0)?;
    let document = Document::parse(&ended.stdout)?.0;
    ensure!(document["tool"] == json!({"name": name, "version": version}), "{}", document["tool"]);
    ensure!(document["schema"] == "gcwatch/1", "{}", document["schema"]);
    Ok(())
}
