//! Files that gcwatch writes: which files it replaces, who may read them, and whose symbolic links it follows.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Result, ensure};
use tempfile::TempDir;
use xtask::Clr;

use crate::it::recording::rotation::files;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{Document, Ended, Gcwatch, run_to_end};

/// As in `rotation.rs`: many threads, so that there are sequence points.
const WORK: &str = "work=160000 live=200 threads=64";
const SHORT: &str = "work=50000 live=2000";
/// The user nobody.
const STRANGER: u32 = 65534;

pub(crate) fn register(suite: &mut Suite) {
    suite.once("output_files::a_fifo_is_written_and_not_replaced", &[], fifo);
    suite.once("output_files::a_device_is_written_and_not_replaced", &[Need::Root], device);
    suite.once("output_files::a_link_stays_and_its_file_is_replaced", &[], link);
    suite.once("output_files::new_files_are_for_their_owner_alone", &[], private);
    suite.once("output_files::a_strangers_link_is_not_followed", &[Need::Root], strangers_link);
    suite.plain("output_files::what_is_read_is_not_overwritten", inputs);
    suite.plain("output_files::a_recording_and_a_report_are_two_files", two_outputs);
    suite.plain("output_files::stay_as_they_were_where_a_command_fails", kept);
    suite.once("output_files::links_planted_for_a_rotation_are_not_followed", &[], planted);
}

/// gcwatch does not overwrite an input file, under any of its names.
fn inputs() -> Result<()> {
    let place = Place::new()?;
    fs::create_dir(place.at("inner"))?;
    let document = r#"{"schema":"gcwatch/1","gcs":[],"watch":null,"summary":null,"lost":null}"#;
    for name in ["a.json", "b.json"] {
        fs::write(place.at(name), document)?;
    }
    fs::hard_link(place.at("a.json"), place.at("hard"))?;
    symlink("a.json", place.at("soft"))?;
    for output in ["a.json", "hard", "soft", "inner/../a.json"] {
        for words in [
            "report a.json",
            "report --format openmetrics a.json",
            "diff b.json a.json",
            "diff a.json b.json",
        ] {
            let mut command = Gcwatch::new().args(words).args("-o").arg(output).command();
            command.current_dir(place.dir.path());
            let ended = run_to_end(command, Vec::new())?.expect(2)?;
            ended.says(&["the output", output, "the input a.json", "--output"])?;
            let there = fs::read_to_string(place.at("a.json"))?;
            ensure!(there == document, "{words} -o {output}: a.json holds {there:?}");
        }
    }
    // Other files, and devices, are allowed.
    Gcwatch::new()
        .args("diff -o")
        .args(&format!("{0}/c {0}/a.json {0}/b.json", place.dir.path().display()))
        .output()?
        .expect(0)?;
    Gcwatch::new().args("report /dev/null -o /dev/null").output()?.expect(12).map(drop)
}

fn two_outputs() -> Result<()> {
    let place = Place::new()?;
    fs::create_dir(place.at("inner"))?;
    fs::write(place.at("old"), "of before")?;
    symlink("new", place.at("link"))?;
    for (record, output) in
        [("old", "inner/../old"), ("new", "new"), ("new", "link"), ("link", "inner/../new")]
    {
        let words = format!("run --format json --record {record} -o {output} -- echo started");
        let mut command = Gcwatch::new().args(&words).command();
        command.current_dir(place.dir.path());
        let ended = run_to_end(command, Vec::new())?.expect(2)?;
        ensure!(ended.stdout.is_empty(), "the child was started: {ended:?}");
        ended.says(&[record, output, "the same file", "--record"])?;
        ensure!(!place.at("new").exists(), "{words}: a file was made");
    }
    ensure!(fs::read_to_string(place.at("old"))? == "of before", "old was written");
    Ok(())
}

/// A command that fails before it has anything to write leaves the file as it was.
fn kept() -> Result<()> {
    let place = Place::new()?;
    fs::write(place.at("garbage"), "This is not a recording.\n")?;
    for (words, code) in [("report garbage -o", 12), ("run -o", 127), ("run --record", 127)] {
        for name in ["old", "new"] {
            fs::write(place.at("old"), "of before")?;
            let child = if words.starts_with("run") { "-- ./nosuch" } else { "" };
            let mut command = Gcwatch::new().args(words).arg(name).args(child).command();
            command.current_dir(place.dir.path());
            run_to_end(command, Vec::new())?.expect(code)?;
            let there = fs::read_to_string(place.at("old"))?;
            ensure!(there == "of before", "{words} {name}: old holds {there:?}");
            ensure!(!place.at("new").exists(), "{words} {name}: an empty file is left");
        }
    }
    // A script still gets its document, without the rest of the old file behind it.
    fs::write(place.at("old"), "x".repeat(100_000))?;
    let report = Gcwatch::new().args("report --format json").arg(place.at("garbage"));
    report.arg("-o").arg(place.at("old")).output()?.expect(12)?;
    Document::read(&place.at("old")).map(drop)
}

/// A directory for the files.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Result<Place> {
        Ok(Place { dir: tempfile::tempdir()? })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `gcwatch run` of a program that collects a few times.
    fn run<'o>(&self, clr: &Clr, options: impl IntoIterator<Item = &'o OsStr>) -> Result<Ended> {
        Gcwatch::on(clr)
            .envs(Heap::Workstation.environment())
            .args("run --level basic")
            .options(options)
            .app(clr, "churn", SHORT)?
            .output()
    }

    fn scrape(&self, clr: &Clr, to: &Path) -> Result<Ended> {
        self.run(clr, ["--format".as_ref(), "openmetrics".as_ref(), "-o".as_ref(), to.as_os_str()])
    }
}

fn is_whole(text: &str) -> bool {
    text.contains("gcwatch_collections_total{") && text.ends_with("# EOF\n")
}

fn make_node(path: &Path, kind: &[&str]) -> Result<()> {
    let mut mknod = Command::new("mknod");
    mknod.arg(path).args(kind);
    run_to_end(mknod, Vec::new())?.expect(0).map(drop)
}

fn fifo(clr: &Clr) -> Result<()> {
    let place = Place::new()?;
    let path = place.at("fifo");
    make_node(&path, &["p"])?;
    let reader = {
        let path = path.clone();
        thread::spawn(move || -> Result<String> {
            let mut text = String::new();
            File::open(path)?.read_to_string(&mut text)?;
            Ok(text)
        })
    };
    let ended = place.scrape(clr, &path)?;
    ensure!(fs::symlink_metadata(&path)?.file_type().is_fifo(), "the FIFO was replaced: {ended:?}");
    ended.expect(0)?;
    let Ok(text) = reader.join() else { anyhow::bail!("reading panicked") };
    let text = text?;
    ensure!(is_whole(&text) && text.matches("# EOF").count() == 1, "not exactly one report: {text}");
    Ok(())
}

/// A null device of our own, because a failing gcwatch would replace the real one.
fn device(clr: &Clr) -> Result<()> {
    let place = Place::new()?;
    let path = place.at("null");
    make_node(&path, &["c", "1", "3"])?;
    symlink("null", place.at("link"))?;
    for name in ["null", "link"] {
        let ended = place.scrape(clr, &place.at(name))?;
        let there = fs::symlink_metadata(&path)?;
        ensure!(there.file_type().is_char_device(), "{name}: the device was replaced: {ended:?}");
        ended.expect(0)?;
    }
    ensure!(fs::symlink_metadata(place.at("link"))?.is_symlink(), "the link was replaced");
    Ok(())
}

fn link(clr: &Clr) -> Result<()> {
    let place = Place::new()?;
    fs::create_dir(place.at("inner"))?;
    fs::write(place.at("inner/gc.prom"), "of before")?;
    fs::set_permissions(place.at("inner/gc.prom"), Permissions::from_mode(0o640))?;
    symlink("inner/gc.prom", place.at("gc.prom"))?;
    place.scrape(clr, &place.at("gc.prom"))?.expect(0)?;
    ensure!(fs::symlink_metadata(place.at("gc.prom"))?.is_symlink(), "the link was replaced");
    let text = fs::read_to_string(place.at("inner/gc.prom"))?;
    ensure!(is_whole(&text), "{text}");
    let mode = fs::metadata(place.at("inner/gc.prom"))?.mode() & 0o777;
    ensure!(mode == 0o640, "its mode changed to {mode:o}");
    ensure!(files(&place.at("inner"))?.len() == 1, "{:?}", files(&place.at("inner"))?);
    Ok(())
}

/// Runs the command with umask 0.
fn open_handed(command: Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "umask 0; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

fn private(clr: &Clr) -> Result<()> {
    let place = Place::new()?;
    fs::create_dir(place.at("files"))?;
    // The mode of an existing file is its owner's choice.
    fs::write(place.at("kept.json"), "{}")?;
    fs::set_permissions(place.at("kept.json"), Permissions::from_mode(0o644))?;
    for (record, output, work) in
        [("files/it.nettrace --rotate 1KiB,0", "new.json", WORK), ("one.nettrace", "kept.json", SHORT)]
    {
        let command = Gcwatch::on(clr)
            .envs(Heap::Workstation.environment())
            .args("run --level basic --format json -o")
            .arg(place.at(output))
            .args("--record")
            .args(&place.at(record).display().to_string())
            .app(clr, "churn", work)?
            .command();
        run_to_end(open_handed(command), Vec::new())?.expect(0)?;
        Document::read(&place.at(output))?;
    }
    let command = Gcwatch::new().args("diff --format json -o").arg(place.at("diff.json"));
    let command = command.arg(place.at("new.json")).arg(place.at("kept.json")).command();
    run_to_end(open_handed(command), Vec::new())?.expect(0)?;
    let mode = |path: &Path| -> Result<u32> { Ok(fs::metadata(path)?.mode() & 0o777) };
    let rotated = files(&place.at("files"))?;
    ensure!(rotated.len() > 1, "{rotated:?}: the test needs a larger load");
    let alone = ["new.json", "one.nettrace", "diff.json"].map(|name| place.at(name));
    for path in rotated.iter().chain(&alone) {
        ensure!(mode(path)? == 0o600, "{} has mode {:o}", path.display(), mode(path)?);
    }
    ensure!(mode(&place.at("kept.json"))? == 0o644, "{:o}", mode(&place.at("kept.json"))?);
    Ok(())
}

/// Every user can write to the directory, as to `/tmp`.
fn strangers_link(clr: &Clr) -> Result<()> {
    let place = Place::new()?;
    fs::set_permissions(place.dir.path(), Permissions::from_mode(0o777))?;
    fs::write(place.at("victim"), "root's own")?;
    let plant = |name: &str, to: &str| -> Result<PathBuf> {
        symlink(to, place.at(name))?;
        lchown(place.at(name), Some(STRANGER), Some(STRANGER))?;
        Ok(place.at(name))
    };
    for (n, to) in ["victim", "not-there"].iter().enumerate() {
        let planted = plant(&format!("planted-{n}"), to)?;
        for options in ["--format json -o", "--format openmetrics -o", "--record"] {
            let options = options.split_whitespace().map(OsStr::new).chain([planted.as_os_str()]);
            let ended = place.run(clr, options)?.expect(1)?;
            ensure!(!ended.out()?.contains("pid="), "the program was started: {ended:?}");
            ended.says(&["symbolic link", "user 65534", "choose another"])?;
        }
    }
    ensure!(fs::read_to_string(place.at("victim"))? == "root's own", "the link was followed");
    ensure!(!place.at("not-there").exists(), "a file was made where the link leads");
    Ok(())
}

fn planted(clr: &Clr) -> Result<()> {
    let place = Place::new()?;
    fs::write(place.at("victim"), "someone's own")?;
    fs::create_dir(place.at("files"))?;
    for name in ["it.002.nettrace.new", "it.002.nettrace", "it.003.nettrace"] {
        symlink("../victim", place.at("files").join(name))?;
    }
    let ended = Gcwatch::on(clr)
        .envs(Heap::Workstation.environment())
        .args("run --level basic --rotate 1KiB,0 --record")
        .arg(place.at("files/it.nettrace"))
        .app(clr, "churn", WORK)?
        .output()?
        .expect(0)?;
    let second = place.at("files/it.002.nettrace");
    ensure!(!fs::symlink_metadata(&second)?.is_symlink(), "no second file was made: {}", ended.stderr);
    ensure!(fs::read_to_string(place.at("victim"))? == "someone's own", "a planted link was followed");
    Ok(())
}
