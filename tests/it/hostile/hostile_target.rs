//! Root attaches to a process whose user races with gcwatch for the temporary directory: by exchanging directories
//! while they are in use, and by links in place of files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::Clr;
use xtask::testkit::{Skip, Target};

use crate::it::racer;
use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, NOBODY, Nobody, setpriv};

/// Each attempt has a chance of about one in two to be hit.
const ATTEMPTS: usize = 8;

pub(crate) fn register(suite: &mut Suite) {
    let needs = [Need::Root, Need::Proc];
    suite.once("hostile_target::no_library_is_loaded_by_root", &needs, |clr| no_library(clr, Mounts::Same));
    suite.once("hostile_target::no_library_is_loaded_by_root_in_a_container", &needs, |clr| {
        no_library(clr, Mounts::Other)
    });
    suite.once("hostile_target::no_file_is_given_away", &needs, |clr| no_file(clr, Mounts::Same));
    suite.once("hostile_target::no_file_is_given_away_in_a_container", &needs, |clr| {
        no_file(clr, Mounts::Other)
    });
    suite.once("hostile_target::container_is_watched_at_roots", &needs, in_container);
}

/// Whether target and gcwatch share their mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mounts {
    Same,
    /// The target's temporary directory is on a file system that only it has mounted.
    Other,
}

/// Starts this test program again by a descriptor, because another user may not enter its directory.
const AGAIN: &str = r#"exec 3<"$0" && exec "$@""#;

/// This test program as a hostile program of this user.
pub(crate) fn hostile(uid: u32, words: &[&str]) -> Result<Command> {
    let mut command = Command::new("sh");
    command.args(["-c", AGAIN]).arg(std::env::current_exe()?).args(setpriv(uid));
    command.args(["/proc/self/fd/3", racer::OPTION]).args(words).current_dir("/");
    Ok(command)
}

/// Skips the test where `unshare` cannot make a mount namespace.
pub(crate) fn can_unshare() -> Result<()> {
    let made = Command::new("unshare").args(["-m", "--propagation", "private", "true"]).output();
    if !made.is_ok_and(|output| output.status.success()) {
        return Err(Skip::because("unshare cannot make a mount namespace here").into());
    }
    Ok(())
}

/// A library that, when loaded, writes a file into `marks` with the rights of the process that loads it.
fn trap_library(dir: &Path, marks: &Path) -> Result<PathBuf> {
    let (source, library) = (dir.join("trap.rs"), dir.join("trap.so"));
    fs::write(
        &source,
        r#"
        #[used]
        #[unsafe(link_section = ".init_array")]
        static LOADED: extern "C" fn() = loaded;
        extern "C" fn loaded() {
            let mark = format!("{}/{}", env!("MARKS"), std::process::id());
            let _ = std::fs::write(mark, std::env::current_exe().unwrap_or_default().to_string_lossy().as_bytes());
        }
        "#,
    )?;
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiled = Command::new(rustc)
        .args(["--edition", "2024", "--crate-type", "cdylib", "-C", "strip=symbols", "-o"])
        .args([&library, &source])
        .env("MARKS", marks)
        .output()
        .map_err(|error| Skip::because(format!("there is no rustc to make a library with: {error}")))?;
    ensure!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    fs::set_permissions(&library, fs::Permissions::from_mode(0o755))?;
    Ok(library)
}

/// A .NET process of user nobody whose temporary directory is behind a chain of links.
struct Trap {
    nobody: Nobody,
    target: Target,
    marks: PathBuf,
    place: PathBuf,
    mounts: Mounts,
}

impl Trap {
    fn set(clr: &Clr, mounts: Mounts) -> Result<Trap> {
        let nobody = Nobody::with_runtime(clr)?;
        let marks = nobody.dir().join("marks");
        let place = nobody.dir().join("p");
        for dir in [&marks, &place] {
            fs::create_dir(dir)?;
            fs::set_permissions(dir, fs::Permissions::from_mode(0o1777))?;
        }
        let library = trap_library(nobody.dir(), &marks)?;
        let mount = match mounts {
            Mounts::Same => "",
            Mounts::Other => "mount -t tmpfs -o mode=1777 none \"$PLACE\" &&",
        };
        let user = setpriv(NOBODY).join(" ");
        let script = format!(
            r#"{mount} {user} /proc/self/fd/3 --racer build "$PLACE" "$TRAP" 3<"$0" </dev/null && exec {user} "$@""#
        );
        let mut command = match mounts {
            Mounts::Same => Command::new("sh"),
            Mounts::Other => {
                can_unshare()?;
                let mut command = Command::new("unshare");
                command.args(["-m", "--propagation", "private", "sh"]);
                command
            }
        };
        command.args(["-c", &script]).arg(std::env::current_exe()?).args(nobody.argv()).current_dir("/");
        nobody.environment(&mut command);
        command.env("PLACE", &place).env("TRAP", &library).env("TMPDIR", racer::temp_dir(&place));
        let mut target = Target::spawn(command)?;
        target.wait_line("ready ", DEADLINE)?;
        Ok(Trap { nobody, target, marks, place, mounts })
    }

    /// Starts a hostile program in the target's mount namespace.
    fn race(&self, words: &[&str]) -> Result<Target> {
        let program = hostile(NOBODY, words)?;
        let mut command = match self.mounts {
            Mounts::Same => program,
            Mounts::Other => {
                let mut command = Command::new("nsenter");
                command.args(["-m", "-t", &self.target.pid().to_string(), "--"]);
                command.arg(program.get_program()).args(program.get_args());
                command
            }
        };
        command.current_dir("/");
        let mut racing = Target::spawn(command)?;
        racing.wait_line("ready ", DEADLINE)?;
        Ok(racing)
    }

    /// Attaches repeatedly; each result depends on the race. Afterwards the target still has to work.
    fn attach(&mut self, clr: &Clr) -> Result<Vec<i32>> {
        let mut codes = Vec::new();
        for _ in 0..ATTEMPTS {
            let ended = Gcwatch::on(clr)
                .args("attach --level roots --duration 200ms")
                .arg(self.target.pid().to_string())
                .output()?;
            ensure!([0, 1, 20, 21, 22, 23].contains(&ended.code), "{ended:?}");
            ensure!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
            codes.push(ended.code);
        }
        self.target.ask("collect 2", "collected ", DEADLINE).context("the target does not answer")?;
        Ok(codes)
    }
}

/// How often the racer has exchanged.
fn strikes(mut racing: Target) -> usize {
    // All its lines have arrived by then.
    while racing.wait_line("exchanged", std::time::Duration::from_millis(50)).is_ok() {}
    racing.lines().iter().filter(|line| line.starts_with("exchanged")).count()
}

fn no_library(clr: &Clr, mounts: Mounts) -> Result<()> {
    let mut trap = Trap::set(clr, mounts)?;
    let place = trap.place.to_string_lossy().into_owned();
    let racing = trap.race(&["exchange", &place])?;
    let codes = trap.attach(clr)?;
    let strikes = strikes(racing);
    ensure!(strikes > 0, "nothing was exchanged: {codes:?}");
    let mut by_target = 0;
    for mark in fs::read_dir(&trap.marks)? {
        let mark = mark?;
        let owner = mark.metadata()?.uid();
        let who = fs::read_to_string(mark.path())?;
        ensure!(owner == NOBODY, "user {owner} has loaded the racer's library: {who}");
        by_target += 1;
    }
    let _ = writeln(&format!(
        "{strikes} exchanges in {ATTEMPTS} attaches, {by_target} processes of user nobody hit: {codes:?}"
    ));
    Ok(())
}

fn no_file(clr: &Clr, mounts: Mounts) -> Result<()> {
    let mut trap = Trap::set(clr, mounts)?;
    let victim = trap.nobody.dir().join("roots-own");
    fs::write(&victim, "secret")?;
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o640))?;
    let (place, file) = (trap.place.to_string_lossy().into_owned(), victim.to_string_lossy().into_owned());
    let racing = trap.race(&["lease", &place, &file])?;
    let codes = trap.attach(clr)?;
    let strikes = strikes(racing);
    ensure!(strikes > 0, "nothing was exchanged: {codes:?}");
    let meta = fs::metadata(&victim)?;
    ensure!(
        meta.uid() == 0 && meta.mode() & 0o7777 == 0o640,
        "root's file belongs to user {} and has mode {:o} after {strikes} exchanges",
        meta.uid(),
        meta.mode()
    );
    let _ = writeln(&format!("{strikes} exchanges in {ATTEMPTS} attaches: {codes:?}"));
    Ok(())
}

/// Without a racer, the watch is at `roots`.
fn in_container(clr: &Clr) -> Result<()> {
    let trap = Trap::set(clr, Mounts::Other)?;
    let pid = trap.target.pid().to_string();
    for _ in 0..2 {
        Gcwatch::on(clr).args("attach --level roots --duration 200ms").arg(&pid).output()?.expect(0)?;
    }
    let seen = PathBuf::from(format!("/proc/{pid}/root")).join(racer::real(trap.place.strip_prefix("/")?));
    let library = seen.join(format!("gcwatch-{NOBODY}"));
    let meta = fs::symlink_metadata(&library).context("the library's directory in the container")?;
    ensure!(meta.uid() == NOBODY && meta.mode() & 0o7777 == 0o755, "{meta:?}");
    ensure!(fs::read_dir(&trap.place)?.next().is_none(), "something was made outside of the container");
    Ok(())
}

fn writeln(line: &str) -> std::io::Result<()> {
    use std::io::Write;
    writeln!(std::io::stderr().lock(), "{line}")
}
