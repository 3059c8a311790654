//! Where the output of `gcwatch run` goes, and what happens if it cannot be written.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use xtask::Clr;

use crate::it::suite::{Need, Suite};
use crate::it::support::{Document, Ended, GcFacts, Gcwatch, check_counts, end_of, fact, lines, number};

const WORK: &str = "work=150000 live=5000";

pub(crate) fn register(suite: &mut Suite) {
    suite.once("run_output::text_goes_to_stderr", &[], text);
    suite.once("run_output::json_on_stdout_sends_the_child_to_stderr", &[], json_on_stdout);
    suite.once("run_output::ndjson_line_by_line", &[], ndjson);
    suite.once("run_output::closed_pipe_is_no_failure", &[Need::Proc], closed_pipe);
    suite.once("run_output::full_disk_leaves_the_child_alone", &[Need::Proc], full_disk);
    suite.once("run_output::gcs_stops_watching_but_waits", &[], stops_after_gcs);
}

fn churn(clr: &Clr, options: &str) -> Result<Ended> {
    let small = [("DOTNET_GCgen0size", "400000")];
    Gcwatch::on(clr).envs(small).args("run").args(options).app(clr, "churn", WORK)?.output()?.expect(0)
}

fn text(clr: &Clr) -> Result<()> {
    let ended = churn(clr, "")?;
    ensure!(ended.out()?.lines().count() == 2, "stdout:\n{}", ended.out()?);
    let collections: u64 = fact(ended.out()?, "gc0")?.parse()?;
    let pid = fact(ended.out()?, "pid")?;
    let text = &ended.stderr;
    let mut lines = text.lines();
    let first = lines.next().context("no text")?;
    ensure!(
        first.contains(pid) && first.contains("churn"),
        "the first line does not name the target: {first}"
    );
    ensure!(
        text.lines().take(4).any(|line| line.contains("background GC")),
        "the text does not say what it disturbs:\n{text}"
    );
    let numbered =
        |line: &&str| line.split_whitespace().next().is_some_and(|word| word.parse::<u64>().is_ok());
    let count = format!("{collections} ");
    let summed_up = text.lines().any(|line| line.starts_with(&count) && line.contains("collections in"))
        && text.lines().any(|line| line.contains("paused") && line.contains("its own"));
    ensure!(summed_up, "no summary of {collections} collections:\n{text}");
    ensure!(
        text.lines().filter(numbered).count() as u64 >= collections,
        "fewer lines than {collections}:\n{text}"
    );
    ensure!(!text.contains('\x1b'), "colour where there is no terminal:\n{text}");
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    ensure!(widest <= 80, "{widest} columns:\n{text}");
    Ok(())
}

fn json_on_stdout(clr: &Clr) -> Result<()> {
    let ended = churn(clr, "--format json -o -")?;
    check_counts(&Document::parse(&ended.stdout)?, GcFacts::of(&ended.stderr)?)
}

fn ndjson(clr: &Clr) -> Result<()> {
    let ended = churn(clr, "--format ndjson")?;
    let lines = lines(&ended.stdout)?;
    let counted = fact(&ended.stderr, "gc0")?;
    ensure!((lines.len() - 2).to_string() == counted, "{} lines, the program counted {counted}", lines.len());
    let pid = number(&ended.stderr, "pid")?;
    ensure!(lines.iter().all(|line| line["pid"] == pid), "a line of another process");
    ensure!(lines.last().is_some_and(|end| end["exit"]["child"] == 0), "{:?}", lines.last());
    Ok(())
}

/// `gcwatch run --format ndjson … | head -1`.
fn closed_pipe(clr: &Clr) -> Result<()> {
    let mut command = Gcwatch::on(clr)
        .envs([("DOTNET_GCgen0size", "400000")])
        .args("run --format ndjson")
        .app(clr, "churn", WORK)?
        .command();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut first = String::new();
    // Dropping the reader closes the pipe after this line.
    BufReader::new(child.stdout.take().context("no pipe")?).read_line(&mut first)?;
    let mut stderr = child.stderr.take().context("no pipe")?;
    let said = std::thread::spawn(move || {
        let mut said = String::new();
        stderr.read_to_string(&mut said).map(|_| said)
    });
    let status = end_of(child)?;
    let Ok(said) = said.join() else { anyhow::bail!("reading panicked") };
    let said = said?;
    ensure!(first.contains(r#""type":"start""#), "first line: {first}");
    ensure!(status.code() == Some(0), "{status}: {said}");
    ensure!(fact(&said, "checksum")? == unwatched_checksum(clr)?, "{said}");
    Ok(())
}

/// If gcwatch did not read the events, the target would hang at its end.
fn full_disk(clr: &Clr) -> Result<()> {
    for options in ["--format json -o /dev/full", "--format ndjson -o /dev/full", "--record /dev/full"] {
        let ended = Gcwatch::on(clr)
            .envs([("DOTNET_GCgen0size", "400000")])
            .args("run")
            .args(options)
            .app(clr, "churn", WORK)?
            .output()?;
        ensure!(fact(ended.out()?, "checksum")? == unwatched_checksum(clr)?, "{options}: {ended:?}");
        ensure!(ended.code != 0, "{options}: exit code 0 without a report: {}", ended.stderr);
        ended.says(&["/dev/full"])?;
    }
    Ok(())
}

fn stops_after_gcs(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let ended = Gcwatch::on(clr)
        .envs([("DOTNET_GCgen0size", "400000")])
        .args("run --gcs 3 --format json -o")
        .arg(&path)
        .app(clr, "churn", "work=150000 live=5000 exit=6")?
        .output()?
        .expect(6)?;
    ensure!(fact(ended.out()?, "checksum")? == unwatched_checksum(clr)?, "{ended:?}");
    let document = Document::read(&path)?;
    let numbers: Vec<u64> =
        document.complete()?.iter().take(3).filter_map(|gc| gc["number"].as_u64()).collect();
    ensure!(numbers == [1, 2, 3], "{numbers:?}");
    ensure!(document.0["exit"]["child"] == 6, "{}", document.0["exit"]);
    Ok(())
}

/// The checksum of the same work without gcwatch.
fn unwatched_checksum(clr: &Clr) -> Result<String> {
    let mut command = clr.command(&xtask::apps::build("churn")?);
    command.args(WORK.split_whitespace());
    let ended = crate::it::support::run_to_end(command, Vec::new())?.expect(0)?;
    Ok(fact(ended.out()?, "checksum")?.to_owned())
}
