//! What a target, its user or others place where root looks: directories, links, other processes' sockets.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::Clr;
use xtask::testkit::{Skip, Target};

use crate::it::hostile::hostile_target::{can_unshare, hostile};
use crate::it::racer;
use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Document, Gcwatch, NOBODY, Nobody, run_to_end, setpriv};

/// Another user without rights.
const STRANGER: u32 = 65533;

pub(crate) fn register(suite: &mut Suite) {
    let needs = [Need::Root, Need::Proc];
    suite.once("hostile_places::nothing_is_made_outside_a_container", &needs, |clr| outside(clr, NOBODY));
    suite.once("hostile_places::nothing_is_made_outside_a_container_of_roots", &needs, |clr| outside(clr, 0));
    suite.once("hostile_places::umask_does_not_matter", &needs, umask);
    suite.once("hostile_places::directories_of_others_are_left_alone", &needs, left_behind);
    suite.once("hostile_places::directory_that_others_can_write_to", &needs, open_to_all);
    suite.once(
        "hostile_places::root_without_the_rights_to_become_the_user_is_21_or_moves",
        &needs,
        no_setuid,
    );
    suite.once("hostile_places::kernel_without_openat2", &needs, no_openat2);
    suite.once("hostile_places::root_connects_to_the_target_only", &needs, decoy);
    suite.once("hostile_places::impostor_is_told_nothing", &needs, impostor);
}

fn made(parent: &Path, name: &str, uid: u32, mode: u32) -> Result<String> {
    let dir = parent.join(name);
    fs::create_dir(&dir)?;
    std::os::unix::fs::chown(&dir, Some(uid), Some(uid))?;
    fs::set_permissions(&dir, fs::Permissions::from_mode(mode))?;
    Ok(dir.to_string_lossy().into_owned())
}

/// In a root directory of its own, a process poses as a runtime until gcwatch has sent ProcessInfo3. Then it replaces
/// its temporary directory by a link to a directory of the host.
fn outside(clr: &Clr, uid: u32) -> Result<()> {
    can_unshare()?;
    let dir = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir()?;
    let host = made(dir.path(), "host", 0, 0o755)?;
    let root = made(dir.path(), "root", 0, 0o755)?;
    // Mounts what programs need, and nothing else.
    let script = r#"
        set -e
        mount -t tmpfs -o mode=755 none "$BOX"
        for d in usr bin sbin lib lib64 proc; do
            if [ -L "/$d" ]; then cp -P "/$d" "$BOX/$d"
            elif [ -d "/$d" ]; then mkdir "$BOX/$d"; mount --rbind "/$d" "$BOX/$d"; fi
        done
        mkdir -m 1777 "$BOX/tmp"
        exec 3<"$0"
        exec chroot "$BOX" "$@"
    "#;
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-c", script]).arg(std::env::current_exe()?);
    command.args(setpriv(uid)).args(["/proc/self/fd/3", racer::OPTION, "runtime", "/tmp", &host]);
    command.env("BOX", &root).env("TMPDIR", "/tmp/t").current_dir("/");
    let mut fake = Target::spawn(command)?;
    fake.wait_line("ready ", DEADLINE)?;
    let ended = Gcwatch::on(clr).args("attach --duration 1s").arg(fake.pid().to_string()).output()?;
    ensure!([1, 20, 21, 22].contains(&ended.code), "{ended:?}");
    fake.wait_line("exchanged", DEADLINE).context("gcwatch sent no request")?;
    let left: Vec<_> = fs::read_dir(&host)?.flatten().map(|entry| entry.file_name()).collect();
    ensure!(left.is_empty(), "root has made {left:?} in a directory of the host");
    Ok(())
}

/// Attaches at `roots`, from a shell with this umask.
fn attach_with(clr: &Clr, umask: &str, pid: u32) -> Result<()> {
    let gcwatch = Gcwatch::on(clr).args("attach --level roots --duration 200ms").arg(pid.to_string());
    let command = behind(&["sh", "-c", &format!("umask {umask}; exec \"$0\" \"$@\"")], gcwatch);
    run_to_end(command, Vec::new())?.expect(0)?;
    Ok(())
}

fn umask(clr: &Clr) -> Result<()> {
    let nobody = Nobody::with_runtime(clr)?;
    for umask in ["077", "000", "0777"] {
        let temp = made(nobody.dir(), &format!("t{umask}"), 0, 0o1777)?;
        let mut target = nobody.start(&[("TMPDIR", &temp)])?;
        // Twice: the second attach uses what the first has left.
        for _ in 0..2 {
            attach_with(clr, umask, target.pid()).with_context(|| format!("umask {umask}"))?;
        }
        let meta = fs::symlink_metadata(Path::new(&temp).join(format!("gcwatch-{NOBODY}")))?;
        ensure!(meta.uid() == NOBODY && meta.mode() & 0o7777 == 0o755, "umask {umask}: {:o}", meta.mode());
        target.ask("collect 2", "collected ", DEADLINE)?;
    }
    Ok(())
}

/// The library's directory exists already, but belongs to another user or is closed.
fn left_behind(clr: &Clr) -> Result<()> {
    let nobody = Nobody::with_runtime(clr)?;
    for (n, (uid, mode)) in
        [(0, 0o700), (STRANGER, 0o755), (NOBODY, 0o777), (NOBODY, 0o500)].into_iter().enumerate()
    {
        let temp = made(nobody.dir(), &format!("t{n}"), 0, 0o1777)?;
        for name in ["gcwatch-0".to_owned(), format!("gcwatch-{NOBODY}")] {
            made(Path::new(&temp), &name, uid, mode)?;
        }
        let mut target = nobody.start(&[("TMPDIR", &temp)])?;
        for _ in 0..2 {
            attach_with(clr, "022", target.pid()).with_context(|| format!("user {uid}, mode {mode:o}"))?;
        }
        let maps = fs::read_to_string(format!("/proc/{}/maps", target.pid()))?;
        let mut libraries: Vec<&str> =
            maps.lines().filter_map(|line| line.split_whitespace().nth(5)).collect();
        // The library of another target has another hash in its name.
        libraries.retain(|path| path.contains("/libnetcore_profiler-"));
        libraries.sort_unstable();
        libraries.dedup();
        ensure!(libraries.len() == 1, "the second attach has loaded another file: {libraries:?}");
        for name in ["gcwatch-0".to_owned(), format!("gcwatch-{NOBODY}")] {
            let path = Path::new(&temp).join(name);
            let meta = fs::symlink_metadata(&path)?;
            ensure!(meta.uid() == uid && meta.mode() & 0o7777 == mode, "{} was changed", path.display());
            ensure!(fs::read_dir(&path)?.next().is_none(), "{} was used", path.display());
        }
        target.ask("collect 2", "collected ", DEADLINE)?;
    }
    Ok(())
}

/// gcwatch puts no library into a directory in which every user could replace it.
fn open_to_all(clr: &Clr) -> Result<()> {
    let nobody = Nobody::with_runtime(clr)?;
    let temp = made(nobody.dir(), "open", 0, 0o777)?;
    let target = nobody.start(&[("TMPDIR", &temp)])?;
    attach_with(clr, "022", target.pid())?;
    let names = fs::read_dir(&temp)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let ours: Vec<String> = names.filter(|name| name.starts_with("gcw")).collect();
    ensure!(ours.is_empty(), "{ours:?} in a directory that all can write to");
    Ok(())
}

/// The same command after these words.
fn behind(words: &[&str], gcwatch: Gcwatch) -> Command {
    let inner = gcwatch.command();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// The level of a watch of this process, and its reason.
fn level(clr: &Clr, words: &[&str], pid: u32) -> Result<(String, String)> {
    let gcwatch = Gcwatch::on(clr).args("attach --format json --duration 200ms").arg(pid.to_string());
    let ended = run_to_end(behind(words, gcwatch), Vec::new())?.expect(0)?;
    let watch = &Document::parse(&ended.stdout)?.0["watch"];
    let text = |name: &str| watch[name].as_str().unwrap_or_default().to_owned();
    Ok((text("level"), text("level_reason")))
}

/// As in a container without these capabilities.
fn no_setuid(clr: &Clr) -> Result<()> {
    let nobody = Nobody::with_runtime(clr)?;
    let mut target = nobody.start(&[])?;
    let words = ["setpriv", "--inh-caps=-setuid,-setgid", "--bounding-set=-setuid,-setgid", "--"];
    let (level, reason) = level(clr, &words, target.pid())?;
    ensure!(level == "moves" && reason.contains("CAP_SETUID"), "{level}: {reason}");
    let demanded = Gcwatch::on(clr).args("attach --level roots").arg(target.pid().to_string());
    run_to_end(behind(&words, demanded), Vec::new())?.expect(21)?.says(&["CAP_SETUID", "do:"])?;
    target.ask("collect 2", "collected ", DEADLINE)?;
    Ok(())
}

/// Linux before 5.6 has no openat2: roots are safe only where target and gcwatch share their mounts.
fn no_openat2(clr: &Clr) -> Result<()> {
    let words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=openat2:error=ENOSYS"];
    let traced = Command::new(words[0]).args(&words[1..]).arg("true").output();
    if !traced.is_ok_and(|output| output.status.success()) {
        return Err(Skip::because("strace cannot inject errors into system calls here").into());
    }
    let nobody = Nobody::with_runtime(clr)?;
    let here = nobody.start(&[])?;
    let (shared, reason) = level(clr, &words, here.pid())?;
    ensure!(shared == "roots", "{shared}: {reason}");
    can_unshare()?;
    let script = "mount -t tmpfs -o mode=1777 none \"$TMPDIR\" && exec \"$@\"";
    let temp = made(nobody.dir(), "t", 0, 0o755)?;
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-c", script, "sh"]).args(setpriv(NOBODY));
    command.args(nobody.argv()).current_dir("/");
    nobody.environment(&mut command);
    command.env("TMPDIR", &temp);
    let mut elsewhere = Target::spawn(command)?;
    elsewhere.wait_line("ready ", DEADLINE)?;
    let (level, reason) = level(clr, &words, elsewhere.pid())?;
    ensure!(level == "moves" && reason.contains("openat2"), "{level}: {reason}");
    Ok(())
}

/// After ProcessInfo3, the process replaces its socket by a link to that of a service that only root may use.
fn decoy(clr: &Clr) -> Result<()> {
    let dir = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir()?;
    let temp = made(dir.path(), "t", NOBODY, 0o755)?;
    let service = Path::new(&made(dir.path(), "service", 0, 0o700)?).join("socket");
    let listener = UnixListener::bind(&service)?;
    listener.set_nonblocking(true)?;
    let mut command = hostile(NOBODY, &["decoy", &temp, &service.to_string_lossy()])?;
    command.env("TMPDIR", &temp);
    let mut process = Target::spawn(command)?;
    process.wait_line("ready ", DEADLINE)?;
    let ended = Gcwatch::on(clr).args("attach --duration 1s").arg(process.pid().to_string()).output()?;
    ensure!([1, 20, 21, 22].contains(&ended.code), "{ended:?}");
    process.wait_line("exchanged", DEADLINE).context("gcwatch sent no request")?;
    Gcwatch::on(clr).args("ps --why").output()?.expect(0)?;
    ensure!(listener.accept().is_err(), "root has connected to another service in the process's name");
    Ok(())
}

/// Another user listens where the process's runtime should.
fn impostor(clr: &Clr) -> Result<()> {
    let dir = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir()?;
    let temp = made(dir.path(), "t", 0, 0o1777)?;
    let mut command = hostile(NOBODY, &["idle"])?;
    command.env("TMPDIR", &temp);
    let mut process = Target::spawn(command)?;
    process.wait_line("ready ", DEADLINE)?;
    let pid = process.pid().to_string();
    let mut stranger = Target::spawn(hostile(STRANGER, &["impostor", &temp, &pid])?)?;
    stranger.wait_line("ready ", DEADLINE)?;
    let ended = Gcwatch::on(clr).arg("attach").arg(&pid).output()?.expect(21)?;
    ended.says(&[&stranger.pid().to_string(), &format!("user id {STRANGER}"), "do:"])?;
    Gcwatch::on(clr).args("ps --why").output()?.expect(0)?;
    let asked = stranger.wait_line("asked ", std::time::Duration::from_millis(200));
    ensure!(asked.is_err(), "gcwatch sent it a request: {asked:?}");
    Ok(())
}
