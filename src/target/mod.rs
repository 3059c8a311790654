//! Finds a process, describes it, and explains why it cannot be watched.

mod explain;
mod settings;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use dotnet_diagnostics_client::{
    Client, Dial, Endpoint, Error, Pinned, ProcessInfo, ProcessStatus, discovery, process,
};
use tokio::task::{JoinSet, yield_now};

use crate::escape::{MAX_LINE_CHARS, MAX_NAME_CHARS, cut};
use crate::exit::{Code, Failure};
use crate::gc::facts::Target;
use crate::sys;

pub(crate) use explain::{not_found, stopped, unreachable};
pub(crate) use settings::gc_settings;

/// How the user named the process.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    Pid(u32),
    Name(String),
    Port(String),
}

/// A process with a runtime that answers.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) client: Client,
    /// `None`: the runtime is too old to say (.NET Core 3).
    pub(crate) info: Option<ProcessInfo>,
    /// What gcwatch sees of the process from outside; `None` if the user named a socket by its path.
    pub(crate) facts: Option<ProcessStatus>,
}

/// Finds the process and asks its runtime for its process info.
///
/// # Errors
/// No such process, not a .NET process, not permitted, diagnostics off, or no answer.
pub(crate) async fn find(wanted: &Wanted) -> Result<Found, Failure> {
    match wanted {
        Wanted::Pid(pid) => by_pid(*pid).await,
        Wanted::Name(name) => by_pid(named(name).await?).await,
        Wanted::Port(text) => by_port(text).await,
    }
}

async fn by_pid(pid: u32) -> Result<Found, Failure> {
    // Pin it before reading anything, so that all that follows is of this process and not of a later one with its id.
    let pinned = Pinned::new(pid);
    let facts = ProcessStatus::read(pid);
    let endpoint = discovery::find(pid).map_err(|e| not_found(&e))?;
    let pinned = pinned.map_err(|_| unreachable(&Error::Stale { endpoint: endpoint.clone() }, &facts))?;
    let client = Client::new(pinned.dial(endpoint));
    let info = ask(&client, &facts).await?;
    Ok(Found { client, info, facts: Some(facts) })
}

/// Finds the process behind `PATH[,connect]`, a socket that it listens on.
async fn by_port(text: &str) -> Result<Found, Failure> {
    let (path, mode) = text.split_once(',').unwrap_or((text, "connect"));
    if mode != "connect" {
        return Err(Failure::new(
            Code::USAGE,
            format!("--diagnostic-port: mode `{mode}` is not supported here"),
        )
        .remedy("name a socket that the process listens on, as PATH or PATH,connect")
        .remedy("to start a program and have it connect, use gcwatch run -- <command>"));
    }
    let endpoint = absolute(path.parse().unwrap_or_else(|never| match never {}));
    let unknown = ProcessStatus::default();
    // Root must know which process it works for, to take on its rights. Other users have only their own rights.
    let behind = match sys::is_root() {
        true => Pinned::behind(&endpoint).await.map_err(|e| unreachable(&e, &unknown))?,
        false => None,
    };
    let dial = behind.map_or_else(|| Dial::from(endpoint.clone()), |process| process.dial(endpoint.clone()));
    let client = Client::new(dial);
    let info = ask(&client, &unknown).await?;
    Ok(Found { client, info, facts: None })
}

/// Makes a socket's path independent of the current directory.
fn absolute(endpoint: Endpoint) -> Endpoint {
    match endpoint {
        Endpoint::Socket(path) => Endpoint::Socket(std::path::absolute(&path).unwrap_or(path)),
        other => other,
    }
}

async fn ask(client: &Client, facts: &ProcessStatus) -> Result<Option<ProcessInfo>, Failure> {
    match client.process_info().await {
        Ok(info) => Ok(Some(info)),
        Err(e) if e.is_unknown_command() => Ok(None),
        Err(Error::Timeout { .. }) if process::is_stopped(facts.pid) => Err(stopped(facts.pid)),
        Err(e) => Err(unreachable(&e, facts)),
    }
}

/// A listed process, and its runtime's answer.
pub(crate) type Asked = (discovery::Found, Result<ProcessInfo, Error>);

/// A runtime answers at once unless its process is stopped; the limit keeps that one from holding up the others.
pub(crate) const LIMIT: Duration = Duration::from_secs(3);

/// Asks all runtimes for their process info at the same time, so that the limits of silent ones do not add up. Runs
/// `meanwhile` while they answer.
pub(crate) async fn ask_all<R>(
    found: Vec<discovery::Found>,
    limit: Duration,
    meanwhile: impl FnOnce() -> R,
) -> (Vec<Asked>, R) {
    let mut asked = JoinSet::new();
    for found in found {
        asked.spawn(async move {
            let info = match Pinned::new(found.pid) {
                Ok(pinned) => {
                    Client::new(pinned.dial(found.endpoint.clone())).with_timeout(limit).process_info().await
                }
                Err(_) => Err(Error::Stale { endpoint: found.endpoint.clone() }),
            };
            (found, info)
        });
    }
    yield_now().await;
    let done = meanwhile();
    let mut all = asked.join_all().await;
    all.sort_by_key(|(found, _)| found.pid);
    (all, done)
}

/// Whether a .NET process with this name, or with this process id, can be seen. No runtime is asked.
pub(crate) fn can_be_seen(name: &str) -> bool {
    let pid = name.parse().ok();
    discovery::list().found.iter().any(|found| {
        Some(found.pid) == pid || is_called(title(None, Some(&ProcessStatus::read(found.pid))), name)
    })
}

/// Whether a title is this name, with or without `.dll`.
fn is_called(title: Option<String>, name: &str) -> bool {
    title.is_some_and(|title| title == name || title.trim_end_matches(".dll") == name)
}

/// Finds the only process of that name: its title, with or without `.dll`, or its entry assembly.
async fn named(name: &str) -> Result<u32, Failure> {
    let is_it = |title| is_called(title, name);
    let (mut hits, mut silent) = (Vec::new(), Vec::new());
    let (asked, ()) = ask_all(discovery::list().found, LIMIT, || ()).await;
    for (found, info) in asked {
        match info {
            Ok(info) => {
                if is_it(title(Some(&info), None)) || info.entry_assembly.as_deref() == Some(name) {
                    hits.push((found.pid, info.command_line));
                }
            }
            // The runtime does not answer, but gcwatch can read the command line.
            Err(_) => {
                let facts = ProcessStatus::read(found.pid);
                if is_it(title(None, Some(&facts))) {
                    let args = facts.command_line.as_deref().unwrap_or_default();
                    silent.push((found.pid, kept(args).join(" ")));
                }
            }
        }
    }
    if let ([], &[(pid, _)]) = (&hits[..], &silent[..])
        && process::is_stopped(pid)
    {
        return Err(stopped(pid));
    }
    // A process that is silent for another reason: `by_pid` asks again, and reports the reason.
    let hits = if hits.is_empty() { silent } else { hits };
    match hits[..] {
        [(pid, _)] => Ok(pid),
        [] => Err(Failure::new(Code::NO_TARGET, format!("no .NET process is called {name}"))
            .remedy("gcwatch ps lists those that can be watched")),
        _ => {
            let what = format!("{} .NET processes are called {name}", hits.len());
            let all = Failure::new(Code::NO_TARGET, what);
            let all = hits.iter().fold(all, |all, (pid, line)| all.seen(format!("{pid:>7}  {line}")));
            Err(all.remedy("name one of them by its process id"))
        }
    }
}

/// The short name of a process: `app.dll`, or the executable's file name.
pub(crate) fn title(info: Option<&ProcessInfo>, facts: Option<&ProcessStatus>) -> Option<String> {
    let args = facts.and_then(|f| f.command_line.as_ref());
    match args {
        Some(args) => Some(title_of_words(args.iter().map(|a| a.to_string_lossy().into_owned()))),
        None => info.map(|i| title_of(&i.command_line)),
    }
}

/// As [`title`], from a joined command line.
pub(crate) fn title_of(command_line: &str) -> String {
    title_of_words(words_of(command_line))
}

/// The words of a joined command line. Windows puts a word with spaces, and often the program, into quotes.
pub(crate) fn words_of(mut line: &str) -> impl Iterator<Item = String> {
    std::iter::from_fn(move || {
        line = line.trim_start_matches(' ');
        let quoted = line.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let (word, rest) = quoted.unwrap_or_else(|| line.split_once(' ').unwrap_or((line, "")));
        let word = (!line.is_empty()).then(|| word.to_owned());
        line = rest;
        word
    })
}

/// What stands behind the last separator of directories.
pub(crate) fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn title_of_words(mut words: impl Iterator<Item = String>) -> String {
    let last = |path: &str| last_part(path).to_owned();
    let first = last(&words.next().unwrap_or_default());
    if first != "dotnet" && first != "dotnet.exe" {
        return cut(first, MAX_NAME_CHARS);
    }
    let title = words.find(|w| w.ends_with(".dll") || w.ends_with(".exe")).map_or(first, |dll| last(&dll));
    cut(title, MAX_NAME_CHARS)
}

impl Found {
    /// The target's directory for temporary files, as the target sees it.
    pub(crate) fn temp_dir(&self) -> PathBuf {
        let named = self.facts.as_ref().and_then(|f| f.variable("TMPDIR")).filter(|v| !v.is_empty());
        named.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }

    /// What the reports say of this target.
    pub(crate) fn describe(&self) -> Target {
        describe(self.info.as_ref(), self.facts.as_ref())
    }
}

/// Whether a gcwatch watches the process at level `roots`: then it has a thread of the profiler. The mapped library
/// shows nothing, as it stays mapped after the profiler has left.
pub(crate) fn has_our_profiler(pid: u32) -> bool {
    sys::thread_names(pid).iter().any(|name| name.starts_with("gcwatch-"))
}

/// Everything that gcwatch knows of a target before its first event.
pub(crate) fn describe(info: Option<&ProcessInfo>, facts: Option<&ProcessStatus>) -> Target {
    let args = facts.and_then(|f| f.command_line.as_ref()).map(|args| kept(args));
    let version = info
        .and_then(|i| i.clr_version.clone())
        .or_else(|| facts.and_then(|f| f.runtime_version().map(str::to_owned)));
    Target {
        pid: facts.map(|f| f.pid).or_else(|| info.and_then(|i| u32::try_from(i.pid).ok())),
        parent_pid: facts.and_then(|f| f.parent_pid),
        command_line: info.map(|i| cut(joined(&i.command_line, args.as_deref()), MAX_LINE_CHARS)),
        args,
        executable: facts.and_then(|f| f.executable.as_ref()).map(|p| p.to_string_lossy().into_owned()),
        title: title(info, facts),
        runtime_name: Some(".NET".into()),
        runtime_version: version,
        arch: info.map(|i| i.arch.clone()),
        processors: None,
        os: info.map(|i| i.os.clone()),
        gc: gc_settings(facts),
    }
}

/// The arguments that reports show: at most [`MAX_LINE_CHARS`] characters, then `…` for those left out.
fn kept(args: &[OsString]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut room = MAX_LINE_CHARS;
    for arg in args {
        if room == 0 {
            kept.push("…".to_owned());
            break;
        }
        let text = cut(arg.to_string_lossy().into_owned(), room);
        // The argument and the space after it.
        room = room.saturating_sub(text.chars().count() + 1);
        kept.push(text);
    }
    kept
}

/// Adds the arguments to a command line: a runtime that has just resumed still reports only its executable's full path.
fn joined(reported: &str, args: Option<&[String]>) -> String {
    let name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    match args {
        Some([first, rest @ ..]) if !rest.is_empty() && name(first) == name(reported) => {
            format!("{reported} {}", rest.join(" "))
        }
        _ => reported.to_owned(),
    }
}

/// The architecture that the profiler library was built for, as `ProcessInfo` names it.
pub(crate) fn own_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        "x86" => "x86",
        "arm" => "arm32",
        other => other,
    }
}

/// The failure of a command to a target that answered before.
pub(crate) fn command_failed(error: &Error, facts: Option<&ProcessStatus>) -> Failure {
    unreachable(error, facts.unwrap_or(&ProcessStatus::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: impl IntoIterator<Item = &'static str>) -> Vec<OsString> {
        words.into_iter().map(OsString::from).collect()
    }

    #[test]
    fn titles_are_found_in_joined_command_lines() {
        for (line, title) in [
            ("dotnet /app/web.dll --x", "web.dll"),
            (r#""C:\Program Files\dotnet\dotnet.exe" "my app.dll" x"#, "my app.dll"),
            (r#""C:\my app\run.exe" x"#, "run.exe"),
            ("\"unclosed x", "\"unclosed"),
            ("/opt/app", "app"),
            ("", ""),
        ] {
            assert_eq!(title_of(line), title, "{line}");
        }
    }

    #[test]
    fn arguments_are_kept_up_to_a_length() {
        assert_eq!(kept(&args(["dotnet", "", "a…"])), ["dotnet", "", "a…"]);
        for word in ["", "x", "a longer one"] {
            let all = kept(&args(std::iter::repeat_n(word, 40_000)));
            let length = all.join(" ").chars().count();
            assert!((MAX_LINE_CHARS..=MAX_LINE_CHARS + 2).contains(&length), "{length}");
            assert!(all.last().is_some_and(|last| last.ends_with('…')), "{:?}", all.last());
        }
        let long = OsString::from("é".repeat(2 * MAX_LINE_CHARS));
        let all = kept(&[long.clone(), long.clone()]);
        assert_eq!(all.iter().map(|arg| arg.chars().count()).collect::<Vec<_>>(), [MAX_LINE_CHARS, 1]);
        let mut facts = ProcessStatus::default();
        facts.command_line = Some(vec![long]);
        let target = describe(None, Some(&facts));
        assert_eq!(target.title.map(|title| title.chars().count()), Some(MAX_NAME_CHARS));
    }
}
