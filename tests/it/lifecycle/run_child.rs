//! `gcwatch run` is transparent: it does not change the child's input, output and exit code.

use std::process::Command;

use anyhow::{Result, ensure};
use xtask::Clr;

use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Document, Gcwatch, Signal, fact, number, signal};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("run_child::stdin_and_stdout_byte_for_byte", &[], bytes);
    for (name, how, code) in [
        ("return_0", "return", 0),
        ("return_7", "return code=7", 7),
        ("return_255", "return code=255", 255),
        ("return_1000", "return code=1000", 1000),
        ("environment_exit_3", "exit code=3", 3),
        ("fail_fast_is_sigabrt", "failfast", 134),
        ("unhandled_exception_is_sigabrt", "unhandled", 134),
    ] {
        suite.with(&format!("run_child::exit_code::{name}"), &[], move |clr| exit_code(clr, how, code));
    }
    suite.each("run_child::exit_code::killed_child_is_137", &[], killed_child);
    suite.plain("run_child::exit_code::command_not_found_is_127", not_found);
    suite.plain("run_child::exit_code::not_executable_is_126", not_executable);
    suite.plain("run_child::exit_code::program_without_dotnet_keeps_its_own", own_code_without_dotnet);
    suite.plain("run_child::exit_code::program_without_dotnet_is_20", without_dotnet);
    suite.once("run_child::through_a_shell", &[Need::Proc], through_a_shell);
}

fn bytes(clr: &Clr) -> Result<()> {
    // Every byte value, few line ends, and more than a pipe holds.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let sent: Vec<u8> = (0..1 << 20)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        })
        .collect();
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let ended = Gcwatch::on(clr)
        .envs([("DOTNET_GCgen0size", "40000")])
        .args("run --format json -o")
        .arg(&path)
        .app(clr, "exits", "echo code=5")?
        .feed(sent.clone())?
        .expect(5)?;
    ensure!(ended.stdout == sent, "{} of {} bytes came back, or others", ended.stdout.len(), sent.len());
    ensure!(number(&ended.stderr, "bytes")? == sent.len() as u64, "stderr: {}", ended.stderr);
    let counted = number(&ended.stderr, "gc0")?;
    ensure!(
        Document::read(&path)?.gcs()?.len() as u64 >= counted,
        "the program counted {counted} collections"
    );
    Ok(())
}

fn exit_code(clr: &Clr, how: &str, code: i32) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut gcwatch = Gcwatch::on(clr).args("run --format json -o").arg(&path);
    gcwatch = gcwatch.envs([("DOTNET_DbgEnableMiniDump", "0")]).app(clr, "exits", how)?;
    // Linux keeps 8 bits of a code. Wine's own code has no more either, but that of the program in it has 32.
    gcwatch.output()?.expect(code & 0xFF)?;
    let code = if clr.is_wine() { code } else { code & 0xFF };
    let document = Document::read(&path)?;
    let exit = &document.0["exit"];
    ensure!(exit["gcwatch"] == code && exit["child"] == code, "{exit}");
    ensure!(code > 128 || document.complete()?.len() >= 10, "{} collections", document.complete()?.len());
    Ok(())
}

fn killed_child(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut gcwatch =
        Gcwatch::on(clr).args("run --format json -o").arg(&path).app(clr, "exits", "wait")?.spawn()?;
    let pid = fact(&gcwatch.wait_line("ready ", DEADLINE)?, "pid")?.parse()?;
    signal(pid, Signal::KILL)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(137), "{status}: {gcwatch:?}");
    let document = Document::read(&path)?;
    ensure!(document.0["exit"]["child"] == 137, "{}", document.0["exit"]);
    Ok(())
}

fn not_found() -> Result<()> {
    Gcwatch::new()
        .args("run -- /nonexistent/program")
        .output()?
        .expect(127)?
        .says(&["/nonexistent/program"])?;
    let ended = Gcwatch::new().args("run --format json -- /nonexistent/program").output()?.expect(127)?;
    let exit = Document::parse(&ended.stdout)?.0["exit"].clone();
    ensure!(exit["gcwatch"] == 127 && exit["child"].is_null() && exit["reason"] == "not-watched", "{exit}");
    Ok(())
}

fn not_executable() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("plain.txt");
    std::fs::write(&path, "words")?;
    Gcwatch::new().args("run --").arg(&path).output()?.expect(126)?.says(&["plain.txt"])?;
    Ok(())
}

fn own_code_without_dotnet() -> Result<()> {
    let ended = Gcwatch::new().args("run -- /bin/sh -c").arg("echo out; exit 3").output()?.expect(3)?;
    ensure!(ended.out()? == "out\n", "stdout: {:?}", ended.out()?);
    Ok(())
}

fn without_dotnet() -> Result<()> {
    let truth = Command::new("true").status()?;
    ensure!(truth.success(), "the program true fails here");
    Gcwatch::new().args("run -- true").output()?.expect(20)?.says(&[".NET"])?;
    Ok(())
}

/// gcwatch watches the first .NET process of the tree.
fn through_a_shell(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let dll = xtask::apps::build("exits")?;
    let words: Vec<String> =
        clr.argv(&dll).iter().map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let script = format!("echo shell=$$; {} return gcs=4; exit 9", words.join(" "));
    let ended = Gcwatch::on(clr)
        .args("run --format json -o")
        .arg(&path)
        .args("-- /bin/sh -c")
        .arg(script)
        .output()?;
    let ended = ended.expect(9)?;
    let said = ended.out()?;
    ensure!(fact(said, "shell")? != fact(said, "pid")?, "{said}");
    let document = Document::read(&path)?;
    ensure!(document.0["target"]["pid"] == number(said, "pid")?, "{}", document.0["target"]);
    ensure!(
        document.gcs()?.len() as u64 == number(said, "gc0")?,
        "{} records: {said}",
        document.gcs()?.len()
    );
    Ok(())
}
