//! `run --follow`: every .NET process of a tree has a document of its own, which agrees with its own output.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::suite::{Need, Suite};
use crate::it::support::{
    DEADLINE, Gcwatch, Guard, Json, Signal, fact, number, program_file, run_to_end, schema, signal, until,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("follow::each_process_by_its_own_account", &[Need::Proc], own_accounts);
    suite.each("follow::a_killed_gcwatch_holds_up_nobody", &[Need::Proc], killed);
    suite.once("follow::ctrl_c_and_what_goes_on", &[Need::Proc], interrupted);
    suite.once("follow::second_ctrl_c", &[Need::Proc], second);
    suite.once("follow::verdicts_by_process", &[Need::Proc], verdicts);
    suite.once("follow::limits", &[Need::Proc], limits);
    suite.once("follow::one_that_ends_early", &[Need::Proc], ended_early);
    suite.once("follow::nobody_reads_or_the_disk_is_full", &[Need::Proc], unwritable);
    suite.once("follow::the_command_itself_cannot_be_watched", &[Need::Proc], unwatchable);
    suite.once("follow::only_those_named", &[Need::Proc], only);
}

/// What one process printed about itself.
#[derive(Debug, Clone, Default)]
struct Node {
    parent: u64,
    /// Its collections by generation.
    gcs: [u64; 3],
}

/// `--follow` of a tree, and a file that releases the processes waiting for it.
struct Running {
    gcwatch: Target,
    dir: tempfile::TempDir,
    /// All processes that have printed "ready", to be killed at the end of the test.
    guards: Vec<Guard>,
}

const HOLD: &str = "HOLD";

impl Running {
    fn start(clr: &Clr, options: &str, tree: &str) -> Result<Running> {
        let dir = tempfile::tempdir()?;
        let hold = format!("hold={}", dir.path().join("go").display());
        let gcwatch = Gcwatch::on(clr)
            .args("run --follow -o")
            .arg(dir.path().join("out"))
            .args(options)
            .app(clr, "tree", &tree.replace(HOLD, &hold))?
            .spawn()?;
        Ok(Running { gcwatch, dir, guards: Vec::new() })
    }

    /// Waits until this many more processes are ready; returns their ids.
    fn ready(&mut self, count: usize) -> Result<Vec<u32>> {
        let mut pids = Vec::new();
        for _ in 0..count {
            let line = self.gcwatch.wait_line("ready ", DEADLINE)?;
            pids.push(number(&line, "pid")?.try_into()?);
        }
        self.guards.extend(pids.iter().map(|pid| Guard(*pid)));
        Ok(pids)
    }

    fn go(&self) -> Result<()> {
        Ok(std::fs::write(self.dir.path().join("go"), "")?)
    }

    fn ends_with(&mut self, code: i32) -> Result<()> {
        let status = self.gcwatch.wait(DEADLINE)?;
        ensure!(status.code() == Some(code), "{status} instead of {code}: {:?}", self.gcwatch);
        Ok(())
    }

    fn text(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.dir.path().join("out"))?)
    }

    fn document(&self) -> Result<Value> {
        let document: Value = serde_json::from_str(&self.text()?)?;
        schema()?.check_processes(&document)?;
        Ok(document)
    }

    /// What the processes printed about themselves at their ends.
    fn nodes(&mut self) -> Result<BTreeMap<u64, Node>> {
        // Reads the lines that have already arrived.
        let _nothing = self.gcwatch.wait_line("no such line", Duration::ZERO);
        let lines = self.gcwatch.lines().iter().filter(|line| line.starts_with("node "));
        lines
            .map(|line| {
                let of = |key| number(line, key);
                let (all, older, oldest) = (of("gc0")?, of("gc1")?, of("gc2")?);
                let node = Node { parent: of("parent")?, gcs: [all - older, older - oldest, oldest] };
                Ok((of("pid")?, node))
            })
            .collect()
    }
}

fn processes(document: &Value) -> Result<BTreeMap<u64, &Value>> {
    document.list("/processes")?.iter().map(|p| Ok((p.uint("/target/pid")?, p))).collect()
}

fn counts(process: &Value) -> Result<[u64; 3]> {
    let mut counts = [0; 3];
    for gc in process.list("/gcs")?.iter().filter(|gc| gc["complete"] == true) {
        counts[usize::try_from(gc.uint("/generation")?)?] += 1;
    }
    Ok(counts)
}

/// Processes side by side, a grandchild started by a shell, one that crashes, one that cannot be watched.
fn own_accounts(clr: &Clr) -> Result<()> {
    let tree = format!(
        "gcs=3 exit=4 {{ early gcs=5 {HOLD} {{ sh gcs=2 exit=9 }} }} {{ early gcs=8 {HOLD} {{ gcs=4 abort }} }} \
         {{ early off gcs=1 {HOLD} }}"
    );
    let mut running = Running::start(clr, "--format json", &tree)?;
    running.ready(4)?;
    until("the report of the process without diagnostics", DEADLINE, || {
        Ok(running.gcwatch.stderr().contains("DOTNET_EnableDiagnostics=0"))
    })?;
    running.go()?;
    running.ends_with(4)?;
    let (document, nodes) = (running.document()?, running.nodes()?);
    let by_pid = processes(&document)?;
    ensure!(by_pid.len() == 6 && nodes.len() == 6, "{by_pid:?}\n{nodes:?}");
    let mut total = 0;
    for (pid, node) in &nodes {
        let process = by_pid.get(pid).with_context(|| format!("no document of {pid}"))?;
        ensure!(process["parent_pid"] == node.parent, "{}: {node:?}", process["parent_pid"]);
        ensure!(process["title"] == "tree.dll", "{}", process["title"]);
        if process["exit"]["reason"] == "not-watched" {
            ensure!(node.gcs == [1, 0, 0] && process["gcs"] == serde_json::json!([]), "{process}");
            let why = process.text("/watch/level_reason")?;
            ensure!(why.contains("DOTNET_EnableDiagnostics=0"), "{why}");
            continue;
        }
        let counted = counts(process)?;
        // The last 100 ms of a crashed process are lost; its reason says so.
        let crashed = node.gcs == [2, 1, 1];
        ensure!(crashed || counted == node.gcs, "{pid}: {counted:?}, itself {:?}", node.gcs);
        let reason = if crashed { "target-killed" } else { "target-ended" };
        ensure!(process["exit"]["reason"] == reason, "{pid}: {}", process["exit"]);
        total += counted.iter().sum::<u64>();
    }
    let all = &document["summary"];
    ensure!((&all["processes"], &all["not_watched"]) == (&6.into(), &1.into()), "{all}");
    ensure!(all["gcs"] == total && all["lost"]["events"] == 0, "{total}: {all}");
    ensure!(document["exit"]["child"] == 4 && document["exit"]["gcwatch"] == 4, "{}", document["exit"]);
    Ok(())
}

/// A process that starts after gcwatch was killed must not wait for a diagnostics client.
fn killed(clr: &Clr) -> Result<()> {
    let mut running =
        Running::start(clr, "--format json", &format!("gcs=1 {HOLD} {{ sh gcs=2 }} {{ gcs=3 }}"))?;
    running.ready(1)?;
    let line = running.gcwatch.lines().iter().find(|line| line.starts_with("ready ")).cloned();
    let port = fact(&line.unwrap_or_default(), "ports")?.split(',').next().unwrap_or_default().to_owned();
    let dir = Path::new(&port).parent().context("no directory")?;
    signal(running.gcwatch.pid(), Signal::KILL)?;
    ensure!(dir.exists(), "{} is gone before its guard", dir.display());
    running.go()?;
    running.ready(2)?;
    until("the tree's end", DEADLINE, || Ok(running.nodes()?.len() == 3))?;
    until("the end of the port", DEADLINE, || Ok(!dir.exists()))?;
    Ok(())
}

/// Ctrl-C goes to the command. Processes that survive it are left unharmed, with a document of what was seen.
fn interrupted(clr: &Clr) -> Result<()> {
    let mut running =
        Running::start(clr, "--format json", &format!("gcs=3 {HOLD} {{ early gcs=5 {HOLD} }}"))?;
    let pids = running.ready(2)?;
    signal(running.gcwatch.pid(), Signal::INT)?;
    until("the document's end", DEADLINE, || Ok(running.document().is_ok()))?;
    let document = running.document()?;
    ensure!(document["exit"]["gcwatch"] == 130, "{}", document["exit"]);
    let by_pid = processes(&document)?;
    let reasons: BTreeMap<u64, &str> =
        by_pid.iter().map(|(pid, p)| Ok((*pid, p.text("/exit/reason")?))).collect::<Result<_>>()?;
    let mut seen: Vec<&str> = reasons.values().copied().collect();
    seen.sort_unstable();
    ensure!(seen == ["command-ended", "target-killed"], "{reasons:?}");
    let left = reasons.iter().find(|(_, why)| **why == "command-ended").map(|(pid, _)| *pid);
    let left = left.context("no process was left")?;
    ensure!(pids.contains(&u32::try_from(left)?), "{left}: {pids:?}");
    ensure!(counts(by_pid[&left])? == [2, 2, 1], "{:?}", counts(by_pid[&left]));
    running.go()?;
    until("the end of the process that was left", DEADLINE, || Ok(running.nodes()?.contains_key(&left)))?;
    running.ends_with(130)
}

/// A command that ignores the first Ctrl-C does not keep gcwatch running after the second.
fn second(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let script = "trap 'echo trapped' INT; echo shell=$$; \"$@\" & wait; wait; wait $!";
    let mut gcwatch = Gcwatch::on(clr)
        .args("run --follow --format json -o")
        .arg(dir.path().join("out"))
        .args("-- /bin/sh -c")
        .arg(script)
        .arg("sh");
    for word in clr.argv(&xtask::apps::build("tree")?) {
        gcwatch = gcwatch.arg(word);
    }
    let mut gcwatch = gcwatch.args(&format!("gcs=4 hold={}", dir.path().join("never").display())).spawn()?;
    let shell =
        Guard(fact(&gcwatch.wait_line("shell=", DEADLINE).map(|n| format!("shell={n}"))?, "shell")?.parse()?);
    let node = Guard(number(&gcwatch.wait_line("ready ", DEADLINE)?, "pid")?.try_into()?);
    signal(gcwatch.pid(), Signal::INT)?;
    gcwatch.wait_line("trapped", DEADLINE)?;
    signal(gcwatch.pid(), Signal::INT)?;
    let read =
        || -> Result<Value> { Ok(serde_json::from_slice::<Value>(&std::fs::read(dir.path().join("out"))?)?) };
    until("the document's end", DEADLINE, || Ok(read().is_ok()))?;
    drop((shell, node));
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(130), "{status}");
    let document = read()?;
    schema()?.check_processes(&document)?;
    ensure!(
        document["exit"]["gcwatch"] == 130 && document["exit"]["reason"] == "interrupted",
        "{}",
        document["exit"]
    );
    ensure!(
        document["processes"][0]["exit"]["reason"] == "interrupted",
        "{}",
        document["processes"][0]["exit"]
    );
    Ok(())
}

/// Each process has its own verdict in every format, and the worst one sets the exit code.
fn verdicts(clr: &Clr) -> Result<()> {
    let tree = "gcs=2 { early gcs=9 }";
    for format in ["json", "ndjson", "csv", "markdown", "junit", "github", "openmetrics", "text"] {
        let options = format!("--format {format} --assert gc.count<=5 --assert lost==0");
        let mut running = Running::start(clr, &options, tree)?;
        running.ready(2)?;
        running.ends_with(10)?;
        let (text, nodes) = (running.text()?, running.nodes()?);
        let pid_of =
            |gcs: u64| nodes.iter().find(|(_, n)| n.gcs.iter().sum::<u64>() == gcs).map(|(pid, _)| *pid);
        let (few, many) = (pid_of(2).context("no parent")?, pid_of(9).context("no child")?);
        if !["text", "github"].contains(&format) {
            let said = running.gcwatch.stderr();
            let of = |pid: u64| said.contains(&format!("tree.dll[{pid}] FAIL"));
            ensure!(of(many) && !of(few), "{format}: {said}");
        }
        check_format(format, &text, few, many).with_context(|| format!("{format}:\n{text}"))?;
    }
    Ok(())
}

fn check_format(format: &str, text: &str, few: u64, many: u64) -> Result<()> {
    let having = |words: &[&str]| text.lines().filter(|line| words.iter().all(|w| line.contains(w))).count();
    match format {
        "json" => {
            let document: Value = serde_json::from_str(text)?;
            schema()?.check_processes(&document)?;
            let by_pid = processes(&document)?;
            for (pid, holds) in [(few, true), (many, false)] {
                ensure!(by_pid[&pid]["assertions"][0]["holds"] == holds, "{pid}");
            }
            let wanted = serde_json::json!({"hold": 3, "fail": 1, "not_judged": 0});
            ensure!(document["summary"]["assertions"] == wanted, "{}", document["summary"]);
        }
        "ndjson" => {
            let mut by_type = BTreeMap::<String, u64>::new();
            for line in text.lines() {
                let line: Value = serde_json::from_str(line)?;
                schema()?.check_line(&line)?;
                let whose = line["pid"].as_u64().unwrap_or_default();
                *by_type.entry(format!("{} {whose}", line.text("/type")?)).or_default() += 1;
            }
            let wanted = [
                ("start", few, 1),
                ("start", many, 1),
                ("gc", few, 2),
                ("gc", many, 9),
                ("end", few, 1),
                ("end", many, 1),
                ("overall", 0, 1),
            ];
            let wanted = wanted.map(|(what, pid, count)| (format!("{what} {pid}"), count));
            ensure!(by_type == BTreeMap::from(wanted), "{by_type:?}");
            ensure!(text.lines().last().is_some_and(|line| line.contains("overall")), "the last line");
        }
        "csv" => {
            let rows =
                |pid: u64| text.lines().filter(|l| l.split(',').next() == Some(&pid.to_string())).count();
            ensure!((rows(few), rows(many)) == (2, 9) && text.lines().count() == 12, "rows");
            ensure!(text.lines().next().is_some_and(|l| l.starts_with("pid,")), "header");
        }
        "markdown" => {
            for pid in [few, many] {
                ensure!(
                    having(&["### gcwatch: tree.dll", &format!("process {pid}")]) == 1,
                    "section of {pid}"
                );
            }
            ensure!(having(&["2 processes: 11 collections"]) == 1, "the sum");
            let place = |part: &str| text.find(part).with_context(|| format!("no {part}"));
            let first = place(&format!("#### gcwatch: tree.dll (process {many})"))?;
            ensure!(
                place("❌ **1 of 4 assertions does not hold**")? < first,
                "the verdict on all is not on top"
            );
            ensure!(first < place(&format!("(process {few})"))?, "those that fail do not come first");
        }
        "junit" => {
            // The third is that of the command.
            ensure!(having(&["<testsuite "]) == 3 && having(&["<failure "]) == 1, "suites");
            let suite = |name: &str| having(&[&format!("<testsuite name=\"gcwatch {name}\"")]);
            ensure!(["tree.dll", "tree.dll (2)", "command"].map(suite) == [1; 3], "names");
        }
        "github" => {
            let title = "::error title=gcwatch%3A gc.count<=5 does not hold::";
            ensure!(having(&[title, &format!("::tree.dll[{many}]: 9")]) == 1, "no error of {many}");
            ensure!(having(&["::error "]) == 1, "more errors");
        }
        "openmetrics" => {
            let total = |pid: u64| -> u64 {
                let of = format!("gcwatch_collections_total{{pid=\"{pid}\"");
                let lines = text.lines().filter(|line| line.starts_with(&of));
                lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
            };
            ensure!((total(few), total(many)) == (2, 9), "samples");
            ensure!(having(&["# TYPE gcwatch_collections "]) == 1 && having(&["# EOF"]) == 1, "families");
        }
        _ => {
            let label = |pid: u64| format!("tree.dll[{pid}]");
            let sum = "2 processes: 11 collections";
            for line in text.lines() {
                let whose = [few, many].iter().any(|pid| line.starts_with(&label(*pid)));
                ensure!(whose || line.starts_with(sum), "a line of no process: {line}");
            }
            ensure!(
                having(&[&label(many), "9 collections in"]) == 1
                    && having(&[&label(few), "2 collections in"]) == 1,
                "summaries"
            );
            ensure!(having(&[&label(many), "FAIL"]) == 1 && having(&["FAIL"]) == 1, "verdicts");
            ensure!(
                text.lines().last().is_some_and(|line| line.contains("assertions: 3 hold, 1 do not")),
                "the sum"
            );
        }
    }
    Ok(())
}

/// `--gcs` counts in each process, `--duration` ends the whole watch, and no process has to wait.
fn limits(clr: &Clr) -> Result<()> {
    let tree = format!("gcs=20 {HOLD} {{ early gcs=30 {HOLD} }} {{ gcs=2 }}");
    let mut running = Running::start(clr, "--format ndjson --gcs 3", &tree)?;
    running.ready(2)?;
    until("the end of a watch", DEADLINE, || Ok(running.text()?.contains("\"type\":\"end\"")))?;
    running.go()?;
    running.ends_with(0)?;
    let mut reasons = BTreeMap::new();
    for line in running.text()?.lines() {
        let line: Value = serde_json::from_str(line)?;
        if line["type"] == "end" {
            *reasons.entry(line.text("/exit/reason")?.to_owned()).or_insert(0) += 1;
            ensure!(line.uint("/summary/gcs")? >= 2, "{line}");
        }
    }
    let wanted = [("gcs", 2), ("target-ended", 1)].map(|(why, count)| (why.to_owned(), count));
    ensure!(reasons == BTreeMap::from(wanted), "{reasons:?}");

    // The children start when the duration is over.
    let tree = format!("gcs=2 {HOLD} {{ early gcs=4 {HOLD} }} {{ gcs=1 }}");
    let mut running = Running::start(clr, "--format ndjson --duration 1s", &tree)?;
    let pids = running.ready(2)?;
    until("the end of a watch", DEADLINE, || Ok(running.text()?.contains("\"type\":\"end\"")))?;
    running.go()?;
    let late = running.ready(1)?[0];
    running.ends_with(0)?;
    let nodes = running.nodes()?;
    ensure!(nodes.len() == 3, "{nodes:?}");
    let text = running.text()?;
    ensure!(pids.iter().all(|pid| text.contains(&format!("\"pid\":{pid},"))), "{text}");
    ensure!(!text.contains(&format!("\"pid\":{late},")), "watched after the end: {text}");
    ensure!(text.matches("\"reason\":\"duration\"").count() == 3, "{text}");
    Ok(())
}

/// A runtime that ends while it connects is reported, and no other process has to wait.
fn ended_early(clr: &Clr) -> Result<()> {
    for hears in [true, false] {
        let script = "echo ports=\"$DOTNET_DiagnosticPorts\"; read line";
        let mut gcwatch = Gcwatch::on(clr)
            .args("run --follow --format ndjson --assert gc.count<9 -o /dev/stderr -- /bin/sh -c")
            .arg(script)
            .spawn()?;
        let port = gcwatch.wait_line("ports=", DEADLINE)?;
        let port = port.split(',').next().unwrap_or_default();
        let mut runtime = std::process::Command::new("sleep").arg("1000").stdout(Stdio::null()).spawn()?;
        let mut stream = UnixStream::connect(port)?;
        let mut advert = b"ADVR_V1\0".to_vec();
        advert.extend_from_slice(&[7; 16]);
        advert.extend_from_slice(&u64::from(runtime.id()).to_le_bytes());
        advert.extend_from_slice(&[0; 2]);
        stream.write_all(&advert)?;
        // The header of gcwatch's first command.
        let mut header = [0; 20];
        if hears {
            stream.read_exact(&mut header)?;
        }
        runtime.kill()?;
        runtime.wait()?;
        let pid = runtime.id();
        // If the other copy of the socket stays open, no event reports the end: gcwatch has to poll.
        let stream = hears.then_some(stream);
        let said = format!("[{pid}] is not watched");
        until("the report of the runtime's end", DEADLINE, || Ok(gcwatch.stderr().contains(&said)))?;
        drop(stream);
        gcwatch.send_line("go on")?;
        let status = gcwatch.wait(DEADLINE)?;
        ensure!(status.code() == Some(20), "{status}: {:?}", gcwatch);
        let text = gcwatch.stderr();
        let end = text.lines().find(|line| line.starts_with("{\"type\":\"end\"")).context("no end")?;
        let end: Value = serde_json::from_str(end)?;
        ensure!((&end["exit"]["reason"], &end["pid"]) == (&"not-watched".into(), &pid.into()), "{end}");
        ensure!(end["assertions"][0]["holds"].is_null(), "{end}");
    }
    Ok(())
}

/// The command itself may be the process that cannot be watched.
fn unwatchable(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let go = dir.path().join("go");
    let gcwatch = Gcwatch::on(clr).args("run --follow -- env DOTNET_EnableDiagnostics=0");
    let words = clr.argv(&xtask::apps::build("tree")?);
    let gcwatch = words.iter().fold(gcwatch, |gcwatch, word| gcwatch.arg(word));
    let mut gcwatch = gcwatch.args(&format!("gcs=1 hold={}", go.display())).spawn()?;
    let _node = Guard(number(&gcwatch.wait_line("ready ", DEADLINE)?, "pid")?.try_into()?);
    until("the report of it", DEADLINE, || Ok(gcwatch.stderr().contains("DOTNET_EnableDiagnostics=0")))?;
    std::fs::write(&go, "")?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(22) && gcwatch.lines().len() == 2, "{status}: {gcwatch:?}");
    Ok(())
}

/// A reader that closes the pipe is no failure, a full disk is one; the tree runs on in both cases.
fn unwritable(clr: &Clr) -> Result<()> {
    let run = |line: &str| -> Result<_> {
        let mut command = std::process::Command::new("/bin/sh");
        clr.environment(&mut command);
        command.args(["-c", line, "sh"]).arg(program_file());
        command.args(clr.argv(&xtask::apps::build("tree")?)).args("gcs=3 { gcs=2 }".split(' '));
        run_to_end(command, Vec::new())
    };
    let reader = "exec 3>&1; { g=$1; shift; $g run --follow --format ndjson -o - -- \"$@\"; echo code=$? >&3; } | head -1";
    for (line, code, said) in [
        (reader, 0, "code=0"),
        ("g=$1; shift; $g run --follow --format json -o /dev/full -- \"$@\"", 1, "cannot write /dev/full"),
    ] {
        let ended = run(line)?.expect(code)?;
        let all = format!("{}{}", ended.out()?, ended.stderr);
        ensure!(all.contains(said) && all.matches("node pid=").count() == 2, "{line}: {all}");
    }
    Ok(())
}

/// `--only` watches no other process; if none has the name, that is an error.
fn only(clr: &Clr) -> Result<()> {
    let grandchild = xtask::apps::build("grandchild")?;
    let script = "\"$@\" gcs=3 && exec \"$DOTNET\" exec --fx-version \"$VERSION\" \"$GRANDCHILD\" direct exit=0 work=5";
    let run = |name: &str| -> Result<_> {
        let words = clr.argv(&xtask::apps::build("tree")?);
        let dotnet = words.first().context("no dotnet")?.to_string_lossy().into_owned();
        let dll = grandchild.to_string_lossy().into_owned();
        let variables = [("DOTNET", dotnet.as_str()), ("VERSION", clr.name.as_str()), ("GRANDCHILD", &dll)];
        let gcwatch = Gcwatch::on(clr).envs(variables).args("run --follow --format json --only").arg(name);
        let gcwatch = gcwatch.args("-- /bin/sh -c").arg(script).arg("sh");
        words.iter().fold(gcwatch, |g, word| g.arg(word)).output()
    };
    for name in ["grandchild", "grandchild.dll"] {
        let ended = run(name)?.expect(0)?;
        let document: Value = serde_json::from_slice(&ended.stdout)?;
        let by_pid = processes(&document)?;
        let own = number(
            ended.stderr.lines().find(|l| l.contains("ready") && l.contains("profiling")).unwrap_or_default(),
            "pid",
        )?;
        let theirs =
            number(ended.stderr.lines().find(|l| l.starts_with("grandchild ")).unwrap_or_default(), "pid")?;
        ensure!(
            by_pid.keys().copied().eq([own, theirs].into_iter().collect::<std::collections::BTreeSet<_>>()),
            "{by_pid:?}"
        );
    }
    run("nobody")?.expect(20)?.says(&["nobody", "--only"])?;
    Ok(())
}
