//! No process waits forever because of a launch: processes that outlive gcwatch or start later have the port in their
//! environment, and the port guard answers there as long as they need it. Then nothing remains.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, Guard, Signal, fact, number, signal, until};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("left_behind::background_job_after_the_end", &[Need::Proc], background_job);
    suite.each("left_behind::killed_before_a_runtime_dials", &[Need::Proc], killed_before);
    suite.each("left_behind::killed_while_a_runtime_is_set_up", &[Need::Proc], killed_amid);
    suite.each("left_behind::killed_while_watching", &[Need::Proc], killed_while_watching);
    suite.once("left_behind::nothing_after_the_last_process", &[Need::Proc], nothing);
}

/// `gcwatch run -- sh -c SCRIPT sh dotnet exits.dll`
fn script(clr: &Clr, script: &str) -> Result<Target> {
    let gcwatch =
        Gcwatch::on(clr).args("run --format ndjson -o /dev/null -- /bin/sh -c").arg(script).arg("sh");
    let words = clr.argv(&xtask::apps::build("exits")?);
    words.iter().fold(gcwatch, |gcwatch, word| gcwatch.arg(word)).spawn()
}

/// The directory of the port that a script has printed by `echo ports=$DOTNET_DiagnosticPorts`.
fn port_dir(gcwatch: &mut Target) -> Result<PathBuf> {
    let ports = gcwatch.wait_line("ports=", DEADLINE)?;
    let path = ports.split(',').next().unwrap_or_default();
    Ok(Path::new(path).parent().context("no directory")?.to_owned())
}

/// Command lines that contain the directory: those of its guard.
fn guards(dir: &Path) -> Result<Vec<String>> {
    let named = |text: &String| text.contains(&*dir.to_string_lossy());
    let mut found = Vec::new();
    for process in fs::read_dir("/proc")? {
        let line = fs::read(process?.path().join("cmdline")).unwrap_or_default();
        found.extend(Some(String::from_utf8_lossy(&line).into_owned()).filter(named));
    }
    Ok(found)
}

fn all_gone(dir: &Path) -> Result<()> {
    let gone = until("the guard to end", DEADLINE, || Ok(!dir.exists() && guards(dir)?.is_empty()));
    gone.with_context(|| format!("{}: {}; {:?}", dir.display(), dir.exists(), guards(dir)))
}

fn background_job(clr: &Clr) -> Result<()> {
    let work = tempfile::tempdir()?;
    let (go, out) = (work.path().join("go"), work.path().join("out"));
    let job = format!(
        "echo ports=$DOTNET_DiagnosticPorts; \"$@\" return gcs=1;
         (while [ ! -e {go} ]; do sleep 0.05; done; exec \"$@\" return gcs=1) >{out} 2>&1 </dev/null &
         echo job=$!",
        go = go.display(),
        out = out.display()
    );
    let mut gcwatch = script(clr, &job)?;
    let dir = port_dir(&mut gcwatch)?;
    let _job = Guard(gcwatch.wait_line("job=", DEADLINE)?.parse()?);
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(0), "{status}: {gcwatch:?}");
    ensure!(guards(&dir)?.len() == 1, "guards: {:?}", guards(&dir)?);
    fs::write(&go, "")?;
    until("the background job", DEADLINE, || Ok(fs::read_to_string(&out)?.contains("ready ")))?;
    // A runtime that waits at its start says so on stdout.
    ensure!(!fs::read_to_string(&out)?.contains("suspend"), "{}", fs::read_to_string(&out)?);
    all_gone(&dir)
}

fn killed_before(clr: &Clr) -> Result<()> {
    let mut gcwatch =
        script(clr, "echo shell=$$ ports=$DOTNET_DiagnosticPorts; read line; exec \"$@\" return")?;
    let said = gcwatch.wait_line("", DEADLINE)?;
    let _shell = Guard(number(&said, "shell")?.try_into()?);
    let port = fact(&said, "ports")?.split(',').next().unwrap_or_default().to_owned();
    signal(gcwatch.pid(), Signal::KILL)?;
    gcwatch.send_line("go on")?;
    gcwatch.wait_line("ready ", DEADLINE)?;
    all_gone(Path::new(&port).parent().context("no directory")?)
}

/// gcwatch is killed after its first command to a runtime that it has not resumed.
fn killed_amid(clr: &Clr) -> Result<()> {
    let mut gcwatch = script(clr, "echo shell=$$ ports=$DOTNET_DiagnosticPorts; read line")?;
    let said = gcwatch.wait_line("", DEADLINE)?;
    let _shell = Guard(number(&said, "shell")?.try_into()?);
    let port = PathBuf::from(fact(&said, "ports")?.split(',').next().unwrap_or_default());
    let dial = || -> Result<[u8; 20]> {
        let mut stream = UnixStream::connect(&port)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        let advert = [b"ADVR_V1\0", &[7; 16][..], &u64::from(std::process::id()).to_le_bytes(), &[0; 2]];
        stream.write_all(&advert.concat())?;
        let mut header = [0; 20];
        stream.read_exact(&mut header)?;
        Ok(header)
    };
    let first = dial()?;
    ensure!(first[16] == 4, "the first command is one about the process: {first:?}");
    signal(gcwatch.pid(), Signal::KILL)?;
    // Command 1 of set 4 is ResumeRuntime.
    until("the guard to resume it", DEADLINE, || Ok(dial().is_ok_and(|header| header[16..18] == [4, 1])))?;
    gcwatch.send_line("end")?;
    all_gone(port.parent().context("no directory")?)
}

fn killed_while_watching(clr: &Clr) -> Result<()> {
    let mut gcwatch = script(
        clr,
        "echo ports=$DOTNET_DiagnosticPorts shell=$$; \"$@\" sigterm code=3; echo first=$?; exec \"$@\" return",
    )?;
    let said = gcwatch.wait_line("ports=", DEADLINE)?;
    let _shell = Guard(number(&said, "shell")?.try_into()?);
    let dir = Path::new(said.split(',').next().unwrap_or_default()).parent().context("no directory")?;
    let child: u32 = number(&gcwatch.wait_line("ready ", DEADLINE)?, "pid")?.try_into()?;
    gcwatch.wait_line("listening", DEADLINE)?;
    signal(gcwatch.pid(), Signal::KILL)?;
    signal(child, Signal::TERM)?;
    ensure!(gcwatch.wait_line("first=", DEADLINE)? == "3", "{gcwatch:?}");
    gcwatch.wait_line("ready ", DEADLINE)?;
    all_gone(dir)
}

/// A normal watch leaves nothing, not even for a moment.
fn nothing(clr: &Clr) -> Result<()> {
    let mut gcwatch = script(clr, "echo ports=$DOTNET_DiagnosticPorts; exec \"$@\" return gcs=1")?;
    let dir = port_dir(&mut gcwatch)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(0), "{status}: {gcwatch:?}");
    ensure!(!dir.exists(), "{} is left", dir.display());
    ensure!(guards(&dir)?.is_empty(), "{:?}", guards(&dir)?);
    Ok(())
}
