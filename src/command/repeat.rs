//! `gcwatch run --repeat N`: several runs of one command, with a document for each.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::output::is_for_people;
use super::stderr::say;
use crate::cli::{Format, RunArgs};
use crate::exit::{Code, Failure};
use crate::report::plural;
use crate::sys::Signals;

/// How long to wait for the news of a signal that a run has obeyed already.
const NEWS_TIMEOUT: Duration = Duration::from_millis(10);

/// Runs the command `times` times; `once` is a single run. A verdict that does not hold (10, 11) does not end the series; a program or a watch that
/// fails does, and so does a signal.
///
/// # Errors
/// The documents have no files to go to, or a run failed.
pub(super) fn run(
    args: &RunArgs,
    times: u32,
    once: fn(&RunArgs) -> Result<Code, Failure>,
) -> Result<Code, Failure> {
    let is_file = args.output.output.as_deref().is_some_and(|path| path != Path::new("-"));
    if !is_for_people(args.output.format) && !is_file {
        let what = "--repeat makes a document for each run, and there is no file for them";
        return Err(Failure::new(Code::USAGE, what)
            .remedy("give -o FILE, such as -o gc.json: the runs write gc-1.json, gc-2.json and so on"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = runtime.block_on(async { Signals::listen() })?;
    let mut codes = Vec::new();
    let mut files = Vec::new();
    for n in 1..=times {
        if !args.output.quiet && args.output.format == Format::Text {
            say(&format!("gcwatch: run {n} of {times}"));
        }
        let one = of_run(args, n, times);
        let code = once(&one)?;
        codes.push(code);
        files.extend(one.output.output.or(one.watch.record));
        let interrupted =
            runtime.block_on(async { tokio::time::timeout(NEWS_TIMEOUT, signals.next()).await });
        if interrupted.is_ok() || !matches!(code, Code::OK | Code::BROKEN | Code::INCOMPLETE) {
            if n < times {
                say(&format!("gcwatch: the series ends after {}: {}", plural(n.into(), "run"), why(code)));
            }
            break;
        }
    }
    if !args.output.quiet {
        sum_up(&codes, &files, args);
    }
    Ok(worst(&codes))
}

fn why(code: Code) -> String {
    match code {
        Code::OK | Code::BROKEN | Code::INCOMPLETE => "a signal came".to_owned(),
        Code(n) => format!("it failed with exit code {n}"),
    }
}

/// Tells which files there are, and how many runs have kept the assertions.
fn sum_up(codes: &[Code], files: &[PathBuf], args: &RunArgs) {
    let mut line = format!("gcwatch: {}", plural(codes.len() as u64, "run"));
    let has_assertions = !args.assertions.asserts.is_empty() || args.assertions.assert_file.is_some();
    if has_assertions {
        let hold = codes.iter().filter(|code| **code == Code::OK).count();
        line += &format!(", the assertions hold in {hold}");
    }
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    if !names.is_empty() {
        line += &format!(": {}", names.join(" "));
    }
    say(&line);
}

/// What failed outweighs a broken assertion, and that one which could not be judged.
fn worst(codes: &[Code]) -> Code {
    let failed = codes.iter().find(|code| !matches!(**code, Code::OK | Code::BROKEN | Code::INCOMPLETE));
    let of = |wanted: Code| codes.iter().find(|code| **code == wanted);
    failed.or(of(Code::BROKEN)).or(of(Code::INCOMPLETE)).copied().unwrap_or(Code::OK)
}

/// The options of one run: its files have its number in their names.
fn of_run(args: &RunArgs, n: u32, times: u32) -> RunArgs {
    let mut one = args.clone();
    let width = times.to_string().len();
    let number = format!("{n:0width$}");
    let numbered = |path: PathBuf| if path == Path::new("-") { path } else { numbered(&path, &number) };
    one.output.output = one.output.output.map(numbered);
    one.watch.record = one.watch.record.map(numbered);
    one
}

/// `out/gc.json` becomes `out/gc-1.json`.
fn numbered(path: &Path, number: &str) -> PathBuf {
    let mut name = path.file_stem().map_or_else(OsString::new, OsString::from);
    name.push("-");
    name.push(number);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_worst_codes() {
        let name = |path: &str, number: &str| numbered(Path::new(path), number).display().to_string();
        assert_eq!(name("out/gc.json", "1"), "out/gc-1.json");
        assert_eq!(name("gc", "07"), "gc-07");
        assert_eq!(name("a.b/gc.tar.nettrace", "2"), "a.b/gc.tar-2.nettrace");
        assert_eq!(worst(&[Code::OK, Code::INCOMPLETE, Code::BROKEN]), Code::BROKEN);
        assert_eq!(worst(&[Code::INCOMPLETE, Code::OK]), Code::INCOMPLETE);
        assert_eq!(worst(&[Code::BROKEN, Code(139)]), Code(139));
        assert_eq!(worst(&[]), Code::OK);
    }
}
