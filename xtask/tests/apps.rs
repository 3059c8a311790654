//! Checks the test applications without gcwatch, on every runtime, with workstation and server GC: other tests judge
//! gcwatch by the facts that these applications state.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use xtask::testkit::Target;
use xtask::{Clr, apps, clr};

const DEADLINE: Duration = Duration::from_secs(120);

/// Runs a check on every runtime, with both kinds of GC.
fn everywhere(check: impl Fn(&Clr, &[(&str, &str)]) -> Result<()>) -> Result<()> {
    for clr in clr::find_all()? {
        for server in ["0", "1"] {
            check(&clr, &[("DOTNET_gcServer", server)])
                .with_context(|| format!(".NET {}, DOTNET_gcServer={server}", clr.name))?;
        }
    }
    Ok(())
}

/// A number that the application has printed.
fn number(target: &Target, key: &str) -> Result<u64> {
    let text = target.fact(key).with_context(|| format!("no {key}= in\n{target:?}"))?;
    text.parse().with_context(|| format!("{key}={text}"))
}

#[test]
fn churn_does_the_same_work_everywhere() -> Result<()> {
    let mut checksums = BTreeSet::new();
    for clr in clr::find_all()? {
        for env in
            [&[("DOTNET_gcServer", "0")], &[("DOTNET_gcServer", "1")], &[("DOTNET_GCgen0size", "40000")]]
        {
            let mut churn =
                Target::app(&clr, "churn", &["batch", "work=100000", "threads=2", "exit=5"], env)?;
            ensure!(churn.wait(DEADLINE)?.code() == Some(5), "{churn:?}");
            checksums.insert(churn.fact("checksum").context("no checksum")?.to_owned());
            ensure!(number(&churn, "work")? == 200_000, "{churn:?}");
            if env[0].0 == "DOTNET_GCgen0size" {
                ensure!(number(&churn, "gc0")? > 10 && number(&churn, "pause_ns")? > 0, "{churn:?}");
            }
        }
    }
    ensure!(checksums.len() == 1, "the checksum depends on the runtime: {checksums:?}");
    Ok(())
}

#[test]
fn churn_stops_on_request() -> Result<()> {
    everywhere(|clr, env| {
        let mut churn = Target::app(clr, "churn", &["interactive"], env)?;
        churn.wait_line("ready", DEADLINE)?;
        ensure!(number(&churn, "pid")? == u64::from(churn.pid()), "{churn:?}");
        churn.send_line("go")?;
        churn.ask("stop", "done", DEADLINE)?;
        ensure!(churn.wait(DEADLINE)?.code() == Some(0), "{churn:?}");
        Ok(())
    })
}

/// Each change of `gate` is what it says, by what its runtime says.
#[test]
fn gate_changes_as_it_says() -> Result<()> {
    for clr in clr::find_all()? {
        let run = |change: &str| -> Result<Target> {
            let env = [("DOTNET_GCgen0size", "400000"), ("DOTNET_gcServer", "0")];
            let mut gate = Target::app(&clr, "gate", &[change], &env)?;
            ensure!(gate.wait(DEADLINE)?.success(), "{gate:?}");
            Ok(gate)
        };
        let unchanged = run("unchanged")?;
        let ratio = |changed: &Target, key: &str| -> Result<f64> {
            Ok(number(changed, key)? as f64 / number(&unchanged, key)? as f64)
        };
        let is_same = |changed: &Target| changed.fact("checksum") == unchanged.fact("checksum");
        ensure!(is_same(&run("unchanged")?), "the work is not the same each time");
        let more = run("more")?;
        ensure!(is_same(&more) && (1.18..1.22).contains(&ratio(&more, "allocated")?), "{more:?}");
        let large = run("large")?;
        ensure!(is_same(&large) && (1.005..1.03).contains(&ratio(&large, "allocated")?), "{large:?}");
        ensure!(number(&large, "gc2")? > number(&unchanged, "gc2")?, "{large:?}");
        let old = run("old")?;
        ensure!(ratio(&old, "heap_bytes")? > 1.3 && ratio(&old, "allocated")? < 1.05, "{old:?}");
        let collect = run("collect")?;
        ensure!(number(&collect, "gc2")? >= number(&unchanged, "gc2")? + 4, "{collect:?}");
        let midlife = run("midlife")?;
        ensure!(is_same(&midlife) && number(&midlife, "gc1")? > number(&unchanged, "gc1")?, "{midlife:?}");
    }
    Ok(())
}

#[test]
fn roots_answers_every_command() -> Result<()> {
    everywhere(|clr, env| {
        let mut roots = Target::app(clr, "roots", &[], env)?;
        roots.wait_line("ready", DEADLINE)?;
        for (command, answer) in [
            ("handles strong 100", "handles total=100"),
            ("handles pinned 10", "handles total=110"),
            ("handles weak 5", "handles total=115"),
            ("handles weaklong 5", "handles total=120"),
            ("threads 5", "threads total=5"),
            ("threads 3", "threads total=8"),
            ("finalizable 50", "finalizable held=true dead=50"),
        ] {
            ensure!(roots.ask(command, "", DEADLINE)? == answer, "{command}: {roots:?}");
        }
        roots.ask("collect 2", "collected", DEADLINE)?;
        let before = number(&roots, "gc2")?;
        // The runtime's own count: 50 objects wait for the finalizer thread, which the application holds.
        ensure!(number(&roots, "finalization_pending")? == 50, "{roots:?}");
        ensure!(number(&roots, "pinned_objects")? >= 10, "{roots:?}");
        roots.ask("collect 2 compacting", "collected", DEADLINE)?;
        ensure!(number(&roots, "gc2")? == before + 1, "{roots:?}");
        ensure!(roots.fact("compacted") == Some("True"), "{roots:?}");
        for (command, answer) in [
            ("release", "released finalized=50"),
            ("join", "joined threads=8"),
            ("free", "freed handles=120"),
            ("finalizable 7", "finalizable held=true dead=7"),
            ("release", "released finalized=7"),
        ] {
            ensure!(roots.ask(command, "", DEADLINE)? == answer, "{command}: {roots:?}");
        }
        roots.send_line("exit")?;
        ensure!(roots.wait(DEADLINE)?.code() == Some(0), "{roots:?}");
        Ok(())
    })
}

#[test]
fn moves_sees_its_objects_move() -> Result<()> {
    everywhere(|clr, env| {
        let mut moves = Target::app(clr, "moves", &["objects=5000", "sample=100"], env)?;
        moves.wait_line("ready", DEADLINE)?;
        // A compaction fills the gaps that dead objects left, so objects before the first gap do not move.
        moves.ask("move 2", "collected", DEADLINE)?;
        ensure!(number(&moves, "gcs")? == 1, "{moves:?}");
        let moved = number(&moves, "moved")?;
        ensure!(moved > 0 && moved + number(&moves, "stayed")? == 5000, "{moves:?}");
        let pairs: Vec<Vec<&str>> = moves
            .lines()
            .iter()
            .filter_map(|line| line.strip_prefix("pair "))
            .map(|pair| pair.split(' ').collect())
            .collect();
        ensure!(pairs.len() == 100 && pairs.iter().any(|pair| pair[0] != pair[1]), "{moves:?}");
        Ok(())
    })
}

#[test]
fn grandchildren_run_and_tell() -> Result<()> {
    everywhere(|clr, env| {
        for way in ["direct", "sh"] {
            if way == "sh" && cfg!(windows) {
                continue;
            }
            let mut parent = Target::app(clr, "grandchild", &[way, "exit=9", "work=12"], env)?;
            ensure!(parent.wait(DEADLINE)?.code() == Some(0), "{parent:?}");
            ensure!(number(&parent, "exit")? == 9 && number(&parent, "gc0")? == 12, "{parent:?}");
            let ports = parent.lines().iter().filter(|line| line.contains(" ports=none ")).count();
            ensure!(ports == 2, "{parent:?}");
        }
        Ok(())
    })
}

#[test]
fn exits_end_as_asked() -> Result<()> {
    everywhere(|clr, env| {
        for (way, code) in [("return", Some(3)), ("exit", Some(3)), ("failfast", None), ("unhandled", None)] {
            let mut target = Target::app(clr, "exits", &[way, "code=3", "gcs=10"], env)?;
            let status = target.wait(DEADLINE)?;
            ensure!(number(&target, "gc0")? >= 10, "{target:?}");
            match code {
                Some(_) => ensure!(status.code() == code, "{way}: {status}"),
                // It ends by a signal on Unix, and with an exception's code on Windows.
                None => ensure!(!status.success() && status.code() != Some(3), "{way}: {status}"),
            }
        }
        Ok(())
    })
}

#[cfg(unix)]
#[test]
fn exits_handles_sigterm() -> Result<()> {
    everywhere(|clr, env| {
        let mut target = Target::app(clr, "exits", &["sigterm", "code=6"], env)?;
        target.wait_line("listening", DEADLINE)?;
        let sent = std::process::Command::new("kill").args(["-TERM", &target.pid().to_string()]).status()?;
        ensure!(sent.success(), "kill: {sent}");
        target.wait_line("handled", DEADLINE)?;
        ensure!(target.wait(DEADLINE)?.code() == Some(6), "{target:?}");
        Ok(())
    })
}

#[test]
fn exits_echoes_every_byte() -> Result<()> {
    // All byte values, and no line structure.
    let sent: Vec<u8> = (0..2_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    everywhere(|clr, env| {
        let mut child = clr
            .command(&apps::build("exits")?)
            .args(["echo", "code=4"])
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().context("no stdin")?;
        let copy = sent.clone();
        let writer = std::thread::spawn(move || stdin.write_all(&copy));
        let output = child.wait_with_output()?;
        writer.join().expect("the writer does not panic")?;
        ensure!(output.status.code() == Some(4), "{}", output.status);
        ensure!(output.stdout == sent, "stdout differs from stdin");
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(stderr.contains("bytes=2000000 gc0="), "{stderr}");
        Ok(())
    })
}

#[test]
fn bench_does_a_fixed_amount_of_work() -> Result<()> {
    let mut checksums = BTreeSet::new();
    for clr in clr::find_all()? {
        let args = ["old=20000", "iterations=1000000"];
        let mut bench = Target::app(&clr, "bench", &args, &[("DOTNET_GCgen0size", "100000")])?;
        ensure!(bench.wait(DEADLINE)?.code() == Some(0), "{bench:?}");
        ensure!(number(&bench, "gc0")? > 10 && number(&bench, "pause_ns")? > 0, "{bench:?}");
        checksums.insert(bench.fact("checksum").context("no checksum")?.to_owned());
    }
    ensure!(checksums.len() == 1, "the checksum depends on the runtime: {checksums:?}");
    Ok(())
}
