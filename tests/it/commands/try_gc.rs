//! `gcwatch try`: variants of settings, several commands, and what goes wrong.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::{Clr, apps};

use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, Json, Signal, run_to_end, signal, until};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("try_gc::a_larger_budget_means_fewer_collections", &[], larger_budget);
    suite.each("try_gc::the_fragment_sets_what_the_variables_set", &[Need::TwoProcessors], fragment);
    suite.each("try_gc::default_variants", &[Need::TwoProcessors], defaults);
    suite.once("try_gc::several_commands", &[], several_commands);
    suite.once("try_gc::peak_memory_is_that_of_the_process", &[Need::Proc], peak_memory);
    suite.once("try_gc::a_failing_run", &[], failing);
    suite.once("try_gc::sigint_reports_what_was_run", &[], interrupted);
    suite.once("try_gc::mistakes", &[], mistakes);
}

/// Runs an experiment; returns its document.
fn tried(gcwatch: Gcwatch, clr: &Clr, app: &str, arguments: &str) -> Result<Value> {
    let ended = gcwatch.args("--format json").app(clr, app, arguments)?.output()?.expect(0)?;
    Ok(serde_json::from_slice(&ended.stdout)?)
}

fn variant<'d>(document: &'d Value, name: &str) -> Result<&'d Value> {
    let variants = document.list("/variants")?;
    variants.iter().find(|v| v["name"] == name).with_context(|| format!("no {name} in {document}"))
}

fn metric<'d>(variant: &'d Value, name: &str) -> Result<&'d Value> {
    let metrics = variant.list("/metrics")?;
    metrics.iter().find(|m| m["metric"] == name).with_context(|| format!("no {name} in {variant}"))
}

fn values(variant: &Value, name: &str) -> Result<Vec<f64>> {
    let values = metric(variant, name)?.list("/values")?;
    values.iter().map(|value| value.as_f64().with_context(|| format!("{name}: {value}"))).collect()
}

/// The program allocates the same bytes in each run; it counts its own collections.
fn larger_budget(clr: &Clr) -> Result<()> {
    const RUNS: usize = 8;
    let gcwatch = Gcwatch::on(clr).envs([("DOTNET_gcConcurrent", "0"), ("DOTNET_gcServer", "0")]).args(
        "try --runs 8 --warmup 1 --env DOTNET_GCgen0size=4000000 --env UNRELATED=1 --metric gc0=([0-9]+)",
    );
    let document = tried(gcwatch, clr, "budget", "mib=200")?;
    ensure!(document["schema"] == "gcwatch-try/1" && document["exit"]["gcwatch"] == 0, "{document}");
    ensure!(document["method"]["needed_runs"].as_u64() <= Some(RUNS as u64), "{}", document["method"]);
    let (name, unrelated) = ("DOTNET_GCgen0size=4000000", "UNRELATED=1");
    let sides = ["as it is", name, unrelated].map(|name| variant(&document, name));
    for side in sides.into_iter().collect::<Result<Vec<_>>>()? {
        let own = values(side, "metric")?;
        let counts = ["gc.gen0.count", "gc.gen1.count", "gc.gen2.count"].map(|name| values(side, name));
        let counts = counts.into_iter().collect::<Result<Vec<_>>>()?;
        let sums: Vec<f64> = (0..own.len()).map(|run| counts.iter().map(|count| count[run]).sum()).collect();
        ensure!(own.len() == RUNS && own == sums, "the program counted {own:?}, gcwatch {sums:?}");
        ensure!(values(side, "wall")?.iter().all(|ns| (1e6..100e9).contains(ns)), "{side}");
    }
    let fewer = &metric(variant(&document, name)?, "gc.gen0.count")?["against_first"];
    ensure!(fewer["outcome"] == "differs" && fewer["verdict"] == "better", "{fewer}");
    ensure!(fewer["change_percent"].as_f64().is_some_and(|change| change < -50.0), "{fewer}");
    // What makes no difference is not called one.
    for name in ["metric", "gc.gen0.count"] {
        let same = &metric(variant(&document, unrelated)?, name)?["against_first"];
        ensure!(same["outcome"] == "equal" || same["outcome"] == "within-noise", "{name}: {same}");
    }
    let best = &document["best"][0];
    ensure!(best["goal"] == "time" && best["metric"] == "metric" && best["variant"] == name, "{best}");
    ensure!(best["environment"] == name && best["runtimeconfig"].is_null(), "{best}");
    ensure!(best["only_in_environment"] == json!(["DOTNET_GCgen0size"]), "{best}");
    Ok(())
}

/// The settings that the program says its runtime obeys.
fn settings(said: &str) -> BTreeMap<String, String> {
    let lines = said.lines().filter_map(|line| line.strip_prefix("setting ")?.split_once('='));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

type Variable<'v> = (&'v str, &'v str);

/// The printed `runtimeconfig.json` gives the program the same settings as the variables.
fn fragment(clr: &Clr) -> Result<()> {
    let dll = apps::build("settings")?;
    let is_8 = clr.name.starts_with('8');
    let adaptation = if is_8 { "1" } else { "0" };
    let groups: [(Vec<Variable<'_>>, &[&str]); 2] = [
        (
            vec![
                ("DOTNET_gcServer", "1"),
                ("DOTNET_GCHeapCount", "2"),
                ("DOTNET_gcConcurrent", "0"),
                ("DOTNET_GCConserveMemory", "5"),
                ("DOTNET_GCRetainVM", "1"),
                ("DOTNET_GCHeapHardLimit", "20000000"),
            ],
            &["ServerGC", "HeapCount", "ConcurrentGC", "GCConserveMem", "RetainVM", "GCHeapHardLimit"],
        ),
        (
            vec![("DOTNET_gcServer", "1"), ("DOTNET_GCDynamicAdaptationMode", adaptation)],
            &["ServerGC", "GCDynamicAdaptationMode"],
        ),
    ];
    let run = |dll: &std::path::Path, variables: &[Variable<'_>]| -> Result<_> {
        let mut command = clr.command(dll);
        command.envs(variables.iter().copied());
        Ok(settings(run_to_end(command, Vec::new())?.expect(0)?.out()?))
    };
    for (variables, changed) in groups {
        let typed: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        // The program prints a better score with the variable, so that the variant wins.
        let gcwatch = Gcwatch::on(clr)
            .args("try --runs 8 --warmup 0 --goal time --metric score=([0-9]+) --env")
            .arg(format!("{},SCORE=1", typed.join(",")));
        let document = tried(gcwatch, clr, "settings", "")?;
        let best = &document["best"][0];
        ensure!(best["only_in_environment"] == json!(["SCORE"]), "{best}");
        let dir = tempfile::tempdir()?;
        let copy = dir.path().join("settings.dll");
        fs::copy(&dll, &copy)?;
        let mut config: Value = serde_json::from_slice(&fs::read(dll.with_extension("runtimeconfig.json"))?)?;
        let properties = best["runtimeconfig"].place("/runtimeOptions/configProperties")?;
        ensure!(properties.as_object().is_some_and(|all| all.len() == variables.len()), "{best}");
        for (name, value) in properties.as_object().into_iter().flatten() {
            config["runtimeOptions"]["configProperties"][name] = value.clone();
        }
        fs::write(copy.with_extension("runtimeconfig.json"), config.to_string())?;
        let (by_file, by_variables, by_default) = (run(&copy, &[])?, run(&dll, &variables)?, run(&dll, &[])?);
        ensure!(by_file == by_variables, "file: {by_file:?}\nvariables: {by_variables:?}");
        for name in changed {
            ensure!(by_file.contains_key(*name), "the runtime does not tell {name}");
            // .NET 9 and 10 say the default of server GC under workstation GC, too.
            let differs = by_file.get(*name) != by_default.get(*name);
            ensure!(differs, "{name} is as without settings: {by_file:?}");
        }
    }
    Ok(())
}

/// Without `--env` the settings that this runtime has are tried, each as the runtime took it over.
fn defaults(clr: &Clr) -> Result<()> {
    let gcwatch = Gcwatch::on(clr).args("try --runs 1 --warmup 0");
    let document = tried(gcwatch, clr, "budget", "mib=200")?;
    let names: Vec<&str> = document.list("/variants")?.iter().filter_map(|v| v["name"].as_str()).collect();
    let adaptation = if clr.name.starts_with('8') { "server, DATAS" } else { "server, no DATAS" };
    let expected = ["as it is", "server", "non-concurrent", "conserve memory", "gen0size 64 MiB", adaptation];
    ensure!(names[..6] == expected && names.len() == 7, "{names:?}, left out: {}", document["left_out"]);
    ensure!(document["left_out"] == json!([]), "{}", document["left_out"]);
    ensure!(
        document["runtime_version"].as_str().is_some_and(|v| v.starts_with(&clr.name[..1])),
        "{document}"
    );
    for best in document.list("/best")? {
        ensure!(best["variant"].is_null() && best["enough_runs"] == false, "one run decides nothing: {best}");
    }
    let most = values(variant(&document, "gen0size 64 MiB")?, "gc.gen0.count")?;
    let least = values(variant(&document, "as it is")?, "gc.gen0.count")?;
    ensure!(most[0] < least[0], "{most:?} and {least:?} collections");
    // More heaps than processors are not possible, which the heaps that the runtime has show.
    let gcwatch =
        Gcwatch::on(clr).args("try --runs 1 --warmup 0 --env DOTNET_gcServer=1,DOTNET_GCHeapCount=fff");
    let document = tried(gcwatch, clr, "budget", "mib=1000")?;
    let left_out = document["left_out"].to_string();
    ensure!(left_out.contains("did not take over GCHeapCount"), "{document}");
    ensure!(document.list("/variants")?.len() == 1, "{document}");
    Ok(())
}

fn several_commands(clr: &Clr) -> Result<()> {
    let gcwatch = Gcwatch::on(clr)
        .envs([("DOTNET_gcConcurrent", "0"), ("DOTNET_gcServer", "0")])
        .args("try --runs 8 --warmup 0 --format json")
        .app(clr, "budget", "mib=100 :::")?;
    let second = clr.argv(&apps::build("budget")?);
    let ended = second.into_iter().fold(gcwatch, Gcwatch::arg).arg("mib=200").output()?.expect(0)?;
    let document: Value = serde_json::from_slice(&ended.stdout)?;
    let commands = ["command 1", "command 2"].map(|name| variant(&document, name));
    let [first, second] = commands;
    let (first, second) = (first?, second?);
    ensure!(first["command"].to_string().contains("mib=100\""), "{first}");
    ensure!(second["command"].to_string().contains("mib=200\""), "{second}");
    for (name, verdict) in [("gc.gen0.count", "worse"), ("alloc.total", "more")] {
        let against = &metric(second, name)?["against_first"];
        ensure!(against["verdict"] == verdict, "{name}: {against}");
        let change = against["change_percent"].as_f64().context("no change")?;
        ensure!((80.0..130.0).contains(&change), "{name} about doubles: {against}");
    }
    // A change that must not occur is judged for the second command against the first, and makes the exit code.
    let gated = |expr: &str, runs: &str, code: i32| -> Result<Value> {
        let gcwatch = Gcwatch::on(clr)
            .envs([("DOTNET_gcConcurrent", "0"), ("DOTNET_gcServer", "0")])
            .args(&format!("try --runs {runs} --warmup 0 --format json --fail-on"))
            .arg(expr)
            .app(clr, "budget", "mib=100 :::")?;
        let second = clr.argv(&apps::build("budget")?);
        let ended = second.into_iter().fold(gcwatch, Gcwatch::arg).arg("mib=200").output()?.expect(code)?;
        Ok(serde_json::from_slice(&ended.stdout)?)
    };
    let broken = gated("gc.gen0.count > +50%", "5", 10)?;
    ensure!(broken["fail_on"][0]["fails"] == true && broken["exit"]["gcwatch"] == 10, "{broken}");
    ensure!(broken["fail_on"][0]["variant"] == "command 2", "{broken}");
    let holds = gated("gc.gen0.count > +150%", "5", 0)?;
    ensure!(holds["fail_on"][0]["fails"] == false, "{holds}");
    let few = gated("gc.gen0.count > +50%", "4", 11)?;
    ensure!(few["fail_on"][0]["fails"].is_null(), "{few}");
    let best = document.list("/best")?;
    ensure!(best.iter().all(|best| best["environment"].is_null()), "{best:?}");
    Ok(())
}

/// The program reads its own peak just before its end.
fn peak_memory(clr: &Clr) -> Result<()> {
    let gcwatch = Gcwatch::on(clr).args("try --runs 3 --warmup 0 --env UNRELATED=1 --metric peak=([0-9]+)");
    let document = tried(gcwatch, clr, "budget", "mib=300")?;
    for side in document.list("/variants")? {
        for (own, seen) in values(side, "metric")?.into_iter().zip(values(side, "memory.peak")?) {
            ensure!(own > 1e7, "the program says {own}");
            ensure!((0.9..1.1).contains(&(seen / own)), "the program had {own}, gcwatch says {seen}");
        }
    }
    Ok(())
}

fn failing(clr: &Clr) -> Result<()> {
    let failing = |options: &str| {
        let gcwatch = Gcwatch::on(clr).args("try --runs 1 --warmup 0 --env UNRELATED=1").args(options);
        gcwatch.app(clr, "exits", "return code=3")?.output()
    };
    let ended = failing("")?.expect(3)?;
    ended.says(&["`as it is` failed with exit code 3", "seen: ready pid=", "--ignore-failure"])?;
    let ended = failing("--ignore-failure --format json")?.expect(0)?;
    let document: Value = serde_json::from_slice(&ended.stdout)?;
    ensure!(document["warnings"][0].to_string().contains("2 runs failed"), "{}", document["warnings"]);
    // Its output is not shown, or on stderr.
    ensure!(!ended.stderr.contains("ready "), "{}", ended.stderr);
    let shown = failing("--ignore-failure --show-output --format json")?.expect(0)?;
    ensure!(shown.stderr.matches("ready pid=").count() == 2, "{}", shown.stderr);
    Ok(())
}

fn interrupted(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut gcwatch = Gcwatch::on(clr)
        .args("try --runs 900 --warmup 0 --env UNRELATED=1 --show-output --format json -o")
        .arg(&path)
        .app(clr, "budget", "mib=20")?
        .spawn()?;
    until("four runs", DEADLINE, || Ok(gcwatch.stderr().matches("done gc0=").count() >= 4))?;
    signal(gcwatch.pid(), Signal::INT)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(130), "{status}: {gcwatch:?}");
    let document: Value = serde_json::from_slice(&fs::read(&path)?)?;
    ensure!(document["warnings"].to_string().contains("a signal ended the runs early"), "{document}");
    ensure!(document["exit"]["gcwatch"] == 130, "{document}");
    for name in ["as it is", "UNRELATED=1"] {
        let runs = values(variant(&document, name)?, "wall")?.len();
        ensure!((1..900).contains(&runs), "{name}: {runs} runs");
    }
    Ok(())
}

fn mistakes(clr: &Clr) -> Result<()> {
    let tried = |options: &str, code: i32, words: &[&str]| -> Result<()> {
        Gcwatch::on(clr).args("try").args(options).output()?.expect(code)?.says(words)?;
        Ok(())
    };
    tried("", 2, &["COMMAND"])?;
    tried("--runs 0 -- x", 2, &["1..=1000"])?;
    tried("--env DOTNET_GCServer=1 -- x", 2, &["it is spelt DOTNET_gcServer"])?;
    tried("--env DOTNET_GCgen0size=64MiB -- x", 2, &["hexadecimal"])?;
    tried("--env A -- x", 2, &["NAME=VALUE"])?;
    tried("--env A=1 --env A=1 -- x", 2, &["given twice"])?;
    tried("--env A=1 -- x ::: y", 2, &["--env and several commands"])?;
    tried("--fail-on moved.bytes.mean>+1% -- x", 2, &["level `moves` only", "gcwatch diff"])?;
    tried("-- x :::", 2, &["a command is missing"])?;
    tried("--metric [0-9]+ -- x", 2, &["one group"])?;
    tried("--metric ([ -- x", 2, &["no regular expression"])?;
    tried("--higher-is-better -- x", 2, &["--metric"])?;
    tried("-o /nonexistent/x -- x", 1, &["cannot write", "do:"])?;
    tried("-- /nonexistent/x", 127, &["`as it is`", "command not found"])?;
    tried("-- /bin/true", 20, &["no .NET runtime"])?;
    tried("-- /bin/false", 1, &["`as it is` failed with exit code 1"])?;
    let silent = Gcwatch::on(clr).args("try --metric nothing=([0-9]+)").app(clr, "budget", "mib=1")?;
    silent.output()?.expect(2)?.says(&["matches --metric", "seen: ready pid="])?;
    // A settings file may not choose what is loaded into a program.
    let dir = tempfile::tempdir()?;
    fs::write(dir.path().join("gcwatch.toml"), "env = [\"DOTNET_STARTUP_HOOKS=x.dll\"]\n")?;
    let mut command = Gcwatch::on(clr).args("try -- x").command();
    command.current_dir(dir.path());
    run_to_end(command, Vec::new())?.expect(2)?.says(&["`env` can be given on the command line only"])?;
    Ok(())
}
