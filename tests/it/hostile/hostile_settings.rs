//! Settings of another user where root works: in a directory that everybody can write to, such as `/tmp`.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use tempfile::TempDir;
use xtask::Clr;

use crate::it::suite::{Need, Suite};
use crate::it::support::{Ended, Gcwatch, NOBODY, run_to_end};

/// More than gcwatch needs to show its options, but less than the size of the files here.
const MAX_KIB: u64 = 1 << 20;
const NAME: &str = "gcwatch.toml";

pub(crate) fn register(suite: &mut Suite) {
    suite.once("hostile_settings::of_a_stranger_are_passed_over", &[Need::Root], strangers);
    suite.once("hostile_settings::links_and_pipes_are_passed_over", &[Need::Root], no_files);
    suite.plain("hostile_settings::that_others_can_write_are_passed_over", writable);
    suite.plain("hostile_settings::without_end_are_not_read", endless);
    suite.plain("hostile_settings::an_assert_file_is_bounded", assert_file);
}

/// Every user can write to `open`, root works in `open/work`, and root's own settings are above both.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Result<Place> {
        let place = Place { dir: tempfile::tempdir()? };
        fs::create_dir_all(place.at("open/work"))?;
        fs::set_permissions(place.at("open"), Permissions::from_mode(0o1777))?;
        place.settings(NAME, "strict = true\n")?;
        Ok(place)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file that only its owner can change, with any umask.
    fn settings(&self, name: &str, text: &str) -> Result<PathBuf> {
        fs::write(self.at(name), text)?;
        fs::set_permissions(self.at(name), Permissions::from_mode(0o644))?;
        Ok(self.at(name))
    }

    fn run(&self, gcwatch: Gcwatch) -> Result<Ended> {
        let mut command = gcwatch.command();
        command.current_dir(self.at("open/work"));
        run_to_end(command, Vec::new())
    }

    /// gcwatch ignores the settings in `open`, applies those above, and says once why.
    fn is_passed_over(&self, why: &[&str]) -> Result<()> {
        let ended = self.run(Gcwatch::within(MAX_KIB).args("config attach"))?.expect(0)?;
        let row = |option: &str| -> Result<String> {
            let row = ended.out()?.lines().find(|line| line.starts_with(option)).unwrap_or_default();
            Ok(row.split_whitespace().skip(1).collect::<Vec<_>>().join(" "))
        };
        ensure!(row("--level")? == "- default" && row("--assert ")? == "- default", "{}", ended.out()?);
        ensure!(row("--strict")?.starts_with("true "), "root's own settings: {}", ended.out()?);
        ensure!(ended.stderr.matches("is ignored").count() == 1, "not exactly once: {}", ended.stderr);
        ended.says(&["open/gcwatch.toml", "do:"])?.says(why).map(drop)
    }
}

fn given_away(path: &Path) -> Result<()> {
    Ok(lchown(path, Some(NOBODY), Some(NOBODY))?)
}

fn make_fifo(path: &Path) -> Result<()> {
    let mut mkfifo = Command::new("mkfifo");
    mkfifo.arg(path);
    run_to_end(mkfifo, Vec::new())?.expect(0).map(drop)
}

fn strangers(_: &Clr) -> Result<()> {
    let place = Place::new()?;
    let text = "level = 'basic'\nduration = '1s'\nassert = ['gc.count > 5']\n";
    given_away(&place.settings("open/gcwatch.toml", text)?)?;
    place.is_passed_over(&["user 65534"])
}

fn no_files(_: &Clr) -> Result<()> {
    let place = Place::new()?;
    let there = place.at("open/gcwatch.toml");
    fs::write(place.at("secret"), "root:$6$secret:1\n")?;
    fs::set_permissions(place.at("secret"), Permissions::from_mode(0o600))?;
    File::create(place.at("huge"))?.set_len(3 << 30)?;
    for (to, owner) in [("secret", NOBODY), ("huge", NOBODY), ("secret", 0)] {
        symlink(place.at(to), &there)?;
        lchown(&there, Some(owner), Some(owner))?;
        place.is_passed_over(&[if owner == 0 { "not a regular file" } else { "user 65534" }])?;
        let ended = place.run(Gcwatch::new().args("config attach"))?;
        ensure!(!ended.stderr.contains("$6$"), "a file of root is shown: {}", ended.stderr);
        fs::remove_file(&there)?;
    }
    make_fifo(&there)?;
    chown(&there, Some(NOBODY), Some(NOBODY))?;
    place.is_passed_over(&["user 65534"])
}

fn writable() -> Result<()> {
    let place = Place::new()?;
    let path = place.settings("open/gcwatch.toml", "level = 'basic'\n")?;
    for mode in [0o664, 0o646] {
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
        place.is_passed_over(&["others can write", "chmod go-w"])?;
    }
    Ok(())
}

fn endless() -> Result<()> {
    let place = Place::new()?;
    let path = place.settings("open/gcwatch.toml", "")?;
    File::options().write(true).open(path)?.set_len(3 << 30)?;
    let ended = place.run(Gcwatch::within(MAX_KIB).args("config attach"))?.expect(2)?;
    ended.says(&["open/gcwatch.toml", "1 MiB"]).map(drop)
}

/// A file named on the command line may be a pipe or a link; one named by a settings file may not.
fn assert_file() -> Result<()> {
    let place = Place::new()?;
    place.settings("bounds.toml", "default = ['gc.count >= 0']\n")?;
    place.settings("huge", "")?;
    File::options().write(true).open(place.at("huge"))?.set_len(3 << 30)?;
    symlink("bounds.toml", place.at("link"))?;
    make_fifo(&place.at("fifo"))?;
    // gcwatch reads the assertions first; only then does it find that there is no such recording.
    let report = || Gcwatch::within(MAX_KIB).args("report ../../none --assert-file");
    place.run(report().arg(place.at("link")))?.expect(12)?;
    place.run(report().arg(place.at("huge")))?.expect(2)?.says(&["huge", "1 MiB"])?;
    let bounds = b"default = ['gc.count >= 0']\n".to_vec();
    report().arg("/dev/stdin").feed(bounds)?.expect(12)?;
    report().arg("/dev/stdin").feed(b"default = ['nothing > 0']\n".to_vec())?.expect(2)?;
    for (name, says) in [("fifo", "not a regular file"), ("link", "not a regular file"), ("huge", "1 MiB")] {
        place.settings(NAME, &format!("assert-file = '{}'\n", place.at(name).display()))?;
        let ended = place.run(Gcwatch::within(MAX_KIB).args("report ../../none"))?.expect(2)?;
        ended.says(&[name, says, "do:"])?;
    }
    place.settings(NAME, &format!("assert-file = '{}'\n", place.at("bounds.toml").display()))?;
    place.run(Gcwatch::new().args("report ../../none"))?.expect(12).map(drop)
}
