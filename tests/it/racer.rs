//! Hostile programs that a target's user might run beside the target or in its place. The tests start this test program
//! again, as that user, with `--racer MODE DIRECTORY ...`; it runs until it is killed.

use std::fs;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};

pub(crate) const OPTION: &str = "--racer";

const TRAP: &str = "trap.so";

/// How many symbolic links lead to the temporary directory; the kernel follows at most 40.
const LINKS: usize = 32;
/// How long an exchange lasts before it is undone, so that an honest program finds its file again.
const TRAP_DURATION: Duration = Duration::from_millis(20);

/// The temporary directory that [`build`] makes.
pub(crate) fn real(dir: &Path) -> PathBuf {
    dir.join("real")
}

/// The path by which the target reaches it: the first of the links to it.
pub(crate) fn temp_dir(dir: &Path) -> PathBuf {
    dir.join("c0")
}

pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match words[..] {
        ["build", dir, library] => build(Path::new(dir), Path::new(library)),
        ["exchange", dir] => exchange_for_ever(Path::new(dir)),
        ["lease", dir, victim] => lease(Path::new(dir), Path::new(victim)),
        ["runtime", dir, host] => runtime(Path::new(dir), Path::new(host)),
        ["decoy", dir, socket] => decoy(Path::new(dir), Path::new(socket)),
        ["impostor", dir, pid] => impostor(Path::new(dir), pid),
        ["idle"] => idle(),
        _ => Err(io::Error::other(format!("unknown arguments: {words:?}"))),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Stdout may be closed.
            let _ = writeln!(io::stdout(), "failed {error}");
            ExitCode::FAILURE
        }
    }
}

fn say(line: &str) {
    let mut stdout = io::stdout().lock();
    // The test may have ended.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// Makes a directory `real` behind a chain of links, and `evil`, with another library that gets the name of ours.
fn build(dir: &Path, library: &Path) -> io::Result<()> {
    let (real, evil) = (real(dir), dir.join("evil"));
    for made in [&real, &evil] {
        fs::create_dir(made)?;
        fs::set_permissions(made, fs::Permissions::from_mode(0o755))?;
    }
    for user in [0, super::support::NOBODY] {
        let trap = evil.join(format!("gcwatch-{user}"));
        fs::create_dir(&trap)?;
        fs::copy(library, trap.join(TRAP))?;
    }
    // Each link has a long path, so that following them takes time.
    let detour = "./".repeat(500);
    for link in 0..LINKS {
        let next = if link + 1 == LINKS { "real".to_owned() } else { format!("c{}", link + 1) };
        // Relative, so that it is valid wherever the directory is mounted.
        symlink(format!("{detour}{next}"), dir.join(format!("c{link}")))?;
    }
    Ok(())
}

/// Exchanges the names of two files, directories or links.
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Whenever a process opens the library, another library has its name for a moment.
fn exchange_for_ever(dir: &Path) -> io::Result<()> {
    let (real, evil) = (real(dir), dir.join("evil"));
    let inotify = inotify::init(CreateFlags::empty())?;
    inotify::add_watch(&inotify, &real, WatchFlags::CREATE)?;
    let watch = |name: &str| {
        if name.starts_with("gcwatch-") {
            // We may have no permission to watch it.
            let _ = inotify::add_watch(&inotify, real.join(name), WatchFlags::OPEN);
        }
    };
    for entry in fs::read_dir(&real)?.flatten() {
        watch(&entry.file_name().to_string_lossy());
    }
    say("ready racing");
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&inotify, &mut buffer);
    let mut quiet_until = Instant::now();
    loop {
        let event = events.next()?;
        let name = event.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if event.events().contains(ReadFlags::CREATE) {
            watch(&name);
        } else if name.ends_with(".so") && Instant::now() > quiet_until {
            for user in [0, super::support::NOBODY] {
                let trap = evil.join(format!("gcwatch-{user}"));
                if !trap.join(&name).exists() {
                    fs::hard_link(trap.join(TRAP), trap.join(&name))?;
                }
            }
            exchange(&real, &evil)?;
            thread::sleep(TRAP_DURATION);
            exchange(&real, &evil)?;
            say("exchanged");
            // The opens during the exchange are still queued; ignore them.
            quiet_until = Instant::now() + Duration::from_millis(1);
        }
    }
}

/// When gcwatch makes the lease's socket, replaces its directory by one that has a link to `victim` under that name.
fn lease(dir: &Path, victim: &Path) -> io::Result<()> {
    let real = real(dir);
    let inotify = inotify::init(CreateFlags::empty())?;
    inotify::add_watch(&inotify, &real, WatchFlags::CREATE)?;
    say("ready racing");
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&inotify, &mut buffer);
    for trap in 0_u32.. {
        let event = events.next()?;
        let name = event.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !name.starts_with("gcw") || name.starts_with("gcwatch") {
            continue;
        }
        let trap = real.join(format!("trap{trap}"));
        fs::create_dir(&trap)?;
        symlink(victim, trap.join("lease"))?;
        let made = real.join(&name);
        let until = Instant::now() + Duration::from_millis(50);
        while Instant::now() < until {
            // The directory may be closed to us; then its name is all that we can exchange.
            let there = fs::symlink_metadata(made.join("lease"));
            if there.is_ok() && exchange(&made, &trap).is_ok() {
                say("exchanged");
                break;
            }
        }
    }
    Ok(())
}

/// Poses as a .NET runtime. After the first ProcessInfo3 request, replaces its temporary directory by a link to `host`.
fn runtime(dir: &Path, host: &Path) -> io::Result<()> {
    let (temp, link) = (dir.join("t"), dir.join("link"));
    fs::create_dir(&temp)?;
    symlink(host, &link)?;
    let listener = UnixListener::bind(temp.join(socket_name(std::process::id())?))?;
    serve(&listener, || exchange(&temp, &link))
}

/// Like [`runtime`], but replaces its socket by a link to another process's socket.
fn decoy(dir: &Path, service: &Path) -> io::Result<()> {
    let (socket, link) = (dir.join(socket_name(std::process::id())?), dir.join("link"));
    symlink(service, &link)?;
    serve(&UnixListener::bind(&socket)?, || exchange(&socket, &link))
}

/// Answers as a runtime that knows only ProcessInfo3, and calls `at_first` before its first answer to it.
fn serve(listener: &UnixListener, at_first: impl Fn() -> io::Result<()>) -> io::Result<()> {
    say("ready runtime");
    let mut exchanged = false;
    loop {
        let (mut stream, _) = listener.accept()?;
        // Ignore clients that connect and send nothing.
        let Ok((set, id)) = request(&mut stream) else { continue };
        if (set, id) != (4, 8) {
            answer(&mut stream, 0xff, &0x8013_1385_u32.to_le_bytes())?;
            continue;
        }
        if !exchanged {
            at_first()?;
            exchanged = true;
            say("exchanged");
        }
        answer(&mut stream, 0, &process_info())?;
    }
}

/// Listens where the runtime of process `pid` should, and prints each request.
fn impostor(dir: &Path, pid: &str) -> io::Result<()> {
    let pid = pid.parse().map_err(io::Error::other)?;
    let listener = UnixListener::bind(dir.join(socket_name(pid)?))?;
    fs::set_permissions(dir.join(socket_name(pid)?), fs::Permissions::from_mode(0o777))?;
    say("ready impostor");
    loop {
        let (mut stream, _) = listener.accept()?;
        if let Ok((set, id)) = request(&mut stream) {
            say(&format!("asked {set} {id}"));
            answer(&mut stream, 0, &process_info())?;
        }
    }
}

fn idle() -> io::Result<()> {
    say("ready idle");
    loop {
        thread::sleep(Duration::from_secs(60));
    }
}

/// The name of a runtime's diagnostics socket in this process.
fn socket_name(pid: u32) -> io::Result<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let start = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19));
    Ok(format!("dotnet-diagnostic-{pid}-{}-socket", start.unwrap_or_default()))
}

/// Command set and command of a request.
pub(crate) fn request(stream: &mut UnixStream) -> io::Result<(u8, u8)> {
    let mut header = [0; 20];
    stream.read_exact(&mut header)?;
    let size = usize::from(u16::from_le_bytes([header[14], header[15]]));
    io::copy(&mut stream.take(size.saturating_sub(header.len()) as u64), &mut io::sink())?;
    Ok((header[16], header[17]))
}

pub(crate) fn answer(stream: &mut UnixStream, id: u8, payload: &[u8]) -> io::Result<()> {
    let size = u16::try_from(20 + payload.len()).map_err(io::Error::other)?.to_le_bytes();
    stream.write_all(&[b"DOTNET_IPC_V1\0", &size[..], &[0xff, id, 0, 0], payload].concat())
}

/// The answer to `ProcessInfo3`.
pub(crate) fn process_info() -> Vec<u8> {
    let text = |text: &str| {
        let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
        let length = u32::try_from(units.len()).unwrap_or_default().to_le_bytes();
        length.into_iter().chain(units.into_iter().flat_map(u16::to_le_bytes)).collect::<Vec<u8>>()
    };
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let mut payload = 1_u32.to_le_bytes().to_vec();
    payload.extend(u64::from(std::process::id()).to_le_bytes());
    payload.extend([7; 16]);
    for word in ["dotnet fake.dll", "Linux", arch, "fake", "9.0.0", "linux"] {
        payload.extend(text(word));
    }
    payload
}
