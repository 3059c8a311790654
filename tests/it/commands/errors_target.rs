//! Processes that cannot be watched, or not at the demanded level: gcwatch's message, remedy and exit code.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use xtask::Clr;
use xtask::testkit::{Skip, Target, peer};

use crate::it::lifecycle::attach::Churn;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    DEADLINE, Document, Gcwatch, Guard, Json, Signal, diagnostics_socket, program_file, run_to_end, signal,
    start_attach, until,
};

pub(crate) const AOT: &str = "aot-net8/aot-mix";

pub(crate) fn register(suite: &mut Suite) {
    suite.plain("errors_target::no_such_process_is_20", no_such_process);
    suite.plain("errors_target::not_dotnet_is_20", not_dotnet);
    suite.each("errors_target::diagnostics_disabled_is_22", &[Need::Proc], diagnostics_disabled);
    suite.each("errors_target::profiler_disabled_is_22_or_moves", &[Need::Proc], profiler_disabled);
    suite.once("errors_target::run_with_diagnostics_disabled_still_runs", &[], run_disabled);
    suite.once("errors_target::dead_socket_is_20", &[Need::Proc], dead_socket);
    suite.once("errors_target::other_users_process_is_21", &[Need::Root, Need::Proc], other_user);
    suite.once("errors_target::root_without_rights_is_21", &[Need::Root, Need::Proc], |_| {
        root_without_rights()
    });
    suite.once("errors_target::root_watches_another_user", &[Need::Root, Need::Proc], root_watches);
    suite.once(
        "errors_target::a_child_that_becomes_another_user",
        &[Need::Root, Need::Proc],
        becomes_another_user,
    );
    suite.each("errors_target::target_that_ends_is_no_failure", &[], target_ends);
    suite.each("errors_target::target_that_is_killed_is_11_under_strict", &[], target_killed);
    suite.once(
        "errors_target::what_a_killed_target_did_last_is_said_to_be_missing",
        &[],
        killed_in_every_format,
    );
    suite.once("errors_target::native_aot_is_22_or_basic", &[Need::Peer(AOT)], native_aot);
}

fn no_such_process() -> Result<()> {
    let mut gone = Command::new("true").spawn()?;
    let pid = gone.id().to_string();
    gone.wait()?;
    let ended = Gcwatch::new().arg("attach").arg(&pid).output()?.expect(20)?;
    ensure!(ended.stdout.is_empty(), "{:?}", ended.out());
    ended.says(&[&pid, "do:"])?;
    Ok(())
}

fn not_dotnet() -> Result<()> {
    let mut command = Command::new("sleep");
    command.arg("600");
    let sleeping = Target::spawn(command)?;
    let pid = sleeping.pid().to_string();
    Gcwatch::new().arg("attach").arg(&pid).output()?.expect(20)?.says(&[&pid, ".NET", "do:"])?;
    Ok(())
}

fn diagnostics_disabled(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[("DOTNET_EnableDiagnostics", "0")])?;
    target.wait_line("ready ", DEADLINE)?;
    let pid = target.pid().to_string();
    let ended = Gcwatch::on(clr).arg("attach").arg(&pid).output()?.expect(22)?;
    ended.says(&[&pid, "diagnostics switched off", "DOTNET_EnableDiagnostics=0", "do:"])?;
    Ok(())
}

/// An operator's setting against profilers holds, even where the runtime would accept one.
fn profiler_disabled(clr: &Clr) -> Result<()> {
    let env = [("DOTNET_EnableDiagnostics_Profiler", "0"), ("DOTNET_GCgen0size", "400000")];
    let mut target = Target::app(clr, "churn", &["interactive"], &env)?;
    target.wait_line("ready ", DEADLINE)?;
    target.send_line("go")?;
    let pid = target.pid().to_string();
    let demanded = Gcwatch::on(clr).args("attach --gcs 2 --level roots").arg(&pid).output()?.expect(22)?;
    demanded.says(&["DOTNET_EnableDiagnostics_Profiler", "do:"])?;
    let ended = Gcwatch::on(clr).args("attach --gcs 2 --format json").arg(&pid).output()?.expect(0)?;
    let watch = &Document::parse(&ended.stdout)?.0["watch"];
    ensure!(watch["level"] == "moves", "{watch}");
    ensure!(watch.text("/level_reason")?.contains("DOTNET_EnableDiagnostics_Profiler"), "{watch}");
    Ok(())
}

fn run_disabled(clr: &Clr) -> Result<()> {
    let off = [("DOTNET_EnableDiagnostics", "0")];
    let ended =
        Gcwatch::on(clr).envs(off).arg("run").app(clr, "exits", "return code=0")?.output()?.expect(22)?;
    ensure!(ended.out()?.starts_with("ready "), "the child did not run: {ended:?}");
    ended.says(&["DOTNET_EnableDiagnostics"])?;
    // The child's own failure takes precedence.
    Gcwatch::on(clr).envs(off).arg("run").app(clr, "exits", "return code=9")?.output()?.expect(9)?;
    Ok(())
}

fn dead_socket(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    let (pid, socket) = (target.pid().to_string(), diagnostics_socket(target.pid())?);
    signal(target.pid(), Signal::KILL)?;
    target.wait(DEADLINE)?;
    ensure!(socket.exists(), "the killed process removed its socket");
    let outcome = (|| {
        Gcwatch::on(clr).arg("attach").arg(&pid).output()?.expect(20)?.says(&[&pid])?;
        let by_path = Gcwatch::on(clr).args("attach --diagnostic-port").arg(&socket).output()?.expect(20)?;
        by_path.says(&[&pid])?;
        let listed = Gcwatch::on(clr).args("ps --format json").output()?.expect(0)?;
        ensure!(
            !listed.out()?.contains(&format!("\"pid\":{pid},")),
            "a dead process is listed: {}",
            listed.out()?
        );
        Ok(())
    })();
    // A killed process leaves its socket behind.
    std::fs::remove_file(&socket)?;
    outcome
}

/// The id of a user without any rights, on any Unix.
const NOBODY: &str = "65534";

fn as_nobody(program: &std::path::Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]).arg(program);
    command.current_dir("/");
    command
}

fn other_user(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    let pid = target.pid().to_string();
    // That user may not enter the build directory.
    let dir = tempfile::Builder::new().permissions(readable()).tempdir()?;
    anyone_may_enter(dir.path())?;
    let program = dir.path().join("gcwatch");
    std::fs::copy(program_file(), &program)?;
    std::fs::set_permissions(&program, readable())?;
    let mut command = as_nobody(&program);
    command.arg("attach").arg(&pid);
    run_to_end(command, Vec::new())?.expect(21)?.says(&[&pid, "not permitted", "do:"])?;
    // By a name that no other process has.
    let app = xtask::apps::build("roots")?;
    let named = dir.path().join("of-somebody-else.dll");
    std::fs::copy(&app, &named)?;
    std::fs::copy(app.with_extension("runtimeconfig.json"), named.with_extension("runtimeconfig.json"))?;
    let argv = clr.argv(&named);
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]);
    clr.environment(&mut command);
    let mut target = Target::spawn(command)?;
    target.wait_line("ready ", DEADLINE)?;
    let mut command = as_nobody(&program);
    command.args(["attach", "of-somebody-else"]);
    let ended = run_to_end(command, Vec::new())?.expect(21)?;
    ended.says(&[&target.pid().to_string(), "not permitted", "do:"])?;
    Ok(())
}

/// As in a container: gcwatch runs as root, but may not inspect a process that has more rights.
fn root_without_rights() -> Result<()> {
    let other = Guard(Command::new("sleep").arg("1000").spawn()?.id());
    let pid = other.0.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--inh-caps=-all", "--bounding-set=-all", "--"]).arg(program_file());
    command.args(["attach", &pid]);
    let ended = run_to_end(command, Vec::new())?.expect(21)?.says(&[&pid, "not permitted", "SYS_PTRACE"])?;
    ensure!(!ended.stderr.contains("or as root"), "{}", ended.stderr);
    Ok(())
}

fn readable() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o755)
}

/// `setpriv`, `gosu`, `su`: the runtime runs as a user who does not own the diagnostic port. gcwatch watches it as any
/// other, and with `--follow` a second one that starts while the first runs.
fn becomes_another_user(clr: &Clr) -> Result<()> {
    let (dir, clr, copy) = for_anybody(clr, "exits")?;
    let script = "s() { setpriv --reuid 65534 --regid 65534 --clear-groups -- \"$@\"; }; s \"$@\" gcs=4 & s \"$@\" gcs=4; \
                  wait; exit 5";
    for options in ["", "--follow"] {
        let path = dir.path().join(format!("out{options}.json"));
        let gcwatch =
            Gcwatch::on(&clr).envs([("HOME", "/")]).args("run --level roots --format json -o").arg(&path);
        let gcwatch = gcwatch.args(options).args("-- /bin/sh -c").arg(script).arg("sh");
        let gcwatch = clr.argv(&copy).iter().fold(gcwatch, |gcwatch, word| gcwatch.arg(word)).arg("return");
        let ended = gcwatch.output()?.expect(5)?;
        ensure!(ended.out()?.matches("ready ").count() == 2, "{}\n{}", ended.out()?, ended.stderr);
        let document: serde_json::Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        let watched = match document.get("processes") {
            Some(processes) => processes.as_array().cloned().unwrap_or_default(),
            None => vec![document],
        };
        ensure!(watched.len() == if options.is_empty() { 1 } else { 2 }, "{} were watched", watched.len());
        for process in watched {
            ensure!(process["watch"]["level"] == "roots", "{}", process["watch"]);
            ensure!(process["summary"]["gcs"] == 4, "{}", process["summary"]);
        }
    }
    Ok(())
}

/// Copies a test application and a runtime where every user can read them.
fn for_anybody(clr: &Clr, app: &str) -> Result<(tempfile::TempDir, Clr, PathBuf)> {
    let dll = xtask::apps::build(app)?;
    let dir = tempfile::Builder::new().permissions(readable()).tempdir()?;
    anyone_may_enter(dir.path())?;
    let copy = dir.path().join(format!("{app}.dll"));
    std::fs::copy(&dll, &copy)?;
    let settings = "runtimeconfig.json";
    std::fs::copy(dll.with_extension(settings), copy.with_extension(settings))?;
    // The original may be in another user's home directory.
    let clr = clr.copy_to(&dir.path().join("dotnet"))?;
    // The umask may have taken these rights away.
    let opened = Command::new("chmod").args(["-R", "a+rX"]).arg(dir.path()).status()?;
    ensure!(opened.success(), "chmod: {opened}");
    Ok((dir, clr, copy))
}

/// Root may watch any user's process; that user must be able to read the profiler's library.
fn root_watches(clr: &Clr) -> Result<()> {
    let (dir, clr, copy) = for_anybody(clr, "roots")?;
    let argv = clr.argv(&copy);
    let mut command = as_nobody(std::path::Path::new(&argv[0]));
    command.args(&argv[1..]);
    clr.environment(&mut command);
    command.env("HOME", "/");
    let mut target = Target::spawn(command)?;
    target.wait_line("ready ", DEADLINE)?;
    let path = dir.path().join("out.json");
    let mut gcwatch = start_attach(&clr, target.pid(), "--gcs 1 --level roots", &path)?;
    target.ask("collect 2", "collected ", DEADLINE)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {gcwatch:?}");
    let document = Document::read(&path)?;
    ensure!(document.gcs()?[0].uint("/roots/total")? > 0, "{}", document.gcs()?[0]);
    Ok(())
}

/// Skips the test where the temporary directory is private.
fn anyone_may_enter(dir: &std::path::Path) -> Result<()> {
    let entered = as_nobody(std::path::Path::new("test")).arg("-x").arg(dir).status()?;
    if !entered.success() {
        return Err(Skip::because("other users may not enter the temporary directory").into());
    }
    Ok(())
}

fn target_ends(clr: &Clr) -> Result<()> {
    for options in ["", "--strict"] {
        let churn = Churn::start(clr, Heap::Workstation, "")?;
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("out.json");
        let mut gcwatch = start_attach(clr, churn.pid(), options, &path)?;
        churn.stop(clr, "")?;
        let status = gcwatch.wait(DEADLINE)?;
        ensure!(status.code() == Some(0), "{options}: {status}: {gcwatch:?}");
        let document = Document::read(&path)?;
        ensure!(document.0["exit"]["reason"] == "target-ended", "{}", document.0["exit"]);
    }
    Ok(())
}

fn target_killed(clr: &Clr) -> Result<()> {
    for (options, code) in [("", 0), ("--strict", 11)] {
        let mut churn = Churn::start(clr, Heap::Workstation, "")?;
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("out.json");
        let mut gcwatch = start_attach(clr, churn.pid(), options, &path)?;
        until("a collection", DEADLINE, || Ok(std::fs::read_to_string(&path)?.contains("\"number\":")))?;
        signal(churn.pid(), Signal::KILL)?;
        churn.target.wait(DEADLINE)?;
        let status = gcwatch.wait(DEADLINE)?;
        ensure!(status.code() == Some(code), "{options}: {status} instead of {code}: {gcwatch:?}");
        let document = Document::read(&path)?;
        ensure!(
            document.0["exit"]["gcwatch"] == code && !document.0["summary"].is_null(),
            "{}",
            document.0["exit"]
        );
        ensure!(document.0["lost"]["gap"] == "target-killed", "{}", document.0["lost"]);
        // The killed process left its socket behind.
        if let Ok(socket) = diagnostics_socket(churn.pid()) {
            std::fs::remove_file(socket)?;
        }
    }
    Ok(())
}

/// What was lost is unknown, so no format may say that nothing was.
fn killed_in_every_format(clr: &Clr) -> Result<()> {
    for format in ["text", "markdown", "junit"] {
        let mut churn = Churn::start(clr, Heap::Workstation, "")?;
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("lines.ndjson");
        let gcwatch = Gcwatch::on(clr).args("attach --format").arg(format).arg("--record");
        let recording = dir.path().join("it.nettrace");
        let mut gcwatch =
            gcwatch.arg(&recording).arg("-o").arg(&path).arg(churn.pid().to_string()).spawn()?;
        let much = 100 << 10;
        until("a recording", DEADLINE, || Ok(std::fs::metadata(&recording).is_ok_and(|m| m.len() > much)))?;
        signal(churn.pid(), Signal::KILL)?;
        churn.target.wait(DEADLINE)?;
        let status = gcwatch.wait(DEADLINE)?;
        ensure!(status.code() == Some(0), "{status}: {gcwatch:?}");
        let said = std::fs::read_to_string(&path)?.split_whitespace().collect::<Vec<_>>().join(" ");
        ensure!(!said.contains("nothing was lost"), "{format}: {said}");
        ensure!(said.matches("last 100 ms is missing").count() == 1, "{format}: not exactly once: {said}");
        if let Ok(socket) = diagnostics_socket(churn.pid()) {
            std::fs::remove_file(socket)?;
        }
    }
    Ok(())
}

fn native_aot(clr: &Clr) -> Result<()> {
    let mut command = Command::new(peer(AOT)?);
    command.args(["600", "1"]);
    let target = Target::spawn(command)?;
    until("its socket", DEADLINE, || Ok(diagnostics_socket(target.pid()).is_ok()))?;
    let pid = target.pid().to_string();
    let demanded = Gcwatch::on(clr).args("attach --gcs 2 --level roots").arg(&pid).output()?.expect(22)?;
    demanded.says(&["NativeAOT"])?;
    let ended = Gcwatch::on(clr).args("attach --gcs 2 --format json").arg(&pid).output()?.expect(0)?;
    let document = Document::parse(&ended.stdout)?;
    // A NativeAOT runtime writes no range events either.
    let watch = &document.0["watch"];
    ensure!(watch["level"] == "basic" && watch.text("/level_reason")?.contains("NativeAOT"), "{watch}");
    ensure!(!document.complete()?.is_empty(), "no collection was seen");
    let moves = Gcwatch::on(clr).args("attach --gcs 2 --level moves --format json").arg(&pid).output()?;
    if moves.code != 22 {
        let watch = &Document::parse(&moves.expect(0)?.stdout)?.0["watch"];
        ensure!(watch["level"] == "basic" && watch["level_reason"].is_string(), "no ranges, but {watch}");
    }
    Ok(())
}
