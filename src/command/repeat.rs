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
    if args.watch.graph_output.is_some() {
        let what = "with --repeat, each run would write its graph to the same file";
        return Err(
            Failure::new(Code::USAGE, what).remedy("omit --graph-output: each file gets the process id")
        );
    }
    let is_file = args.output.output.as_deref().is_some_and(|path| path != Path::new("-"));
    if !is_for_people(args.output.format) && !is_file {
        let what = "--repeat makes a document for each run, and there is no file for them";
        return Err(Failure::new(Code::USAGE, what)
            .remedy("give -o FILE, such as -o gc.json: the runs write gc-1.json, gc-2.json and so on"));
    }
    let outputs = [args.output.output.as_deref(), args.watch.record.as_deref()];
    for path in outputs.into_iter().flatten().filter(|path| *path != Path::new("-")) {
        prepare(path)?;
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

/// The files of the runs need a directory, and a name that can have a number.
fn prepare(path: &Path) -> Result<(), Failure> {
    if path.exists() && !path.is_file() {
        let what = format!("{} is no file: the runs write files with numbers in their names", path.display());
        return Err(Failure::new(Code::USAGE, what).remedy("give a name, such as gc/run.json"));
    }
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        // If it cannot be made, the first run says so.
        let _ = std::fs::create_dir(directory);
    }
    Ok(())
}

/// Files of an earlier and longer series, which a comparison of the directory would take for runs of this one.
fn left_over(files: &[PathBuf]) -> Vec<String> {
    let Some(first) = files.first() else { return Vec::new() };
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let parts = name(first).and_then(|name| {
        let end = first.extension().map_or_else(String::new, |e| format!(".{}", e.to_string_lossy()));
        let stem = name.strip_suffix(&end)?.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        Some((stem, end))
    });
    let Some((stem, end)) = parts else { return Vec::new() };
    let of_a_series = |name: &String| {
        let number = name.strip_prefix(&stem).and_then(|rest| rest.strip_suffix(&end));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let directory = first.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let ours: Vec<String> = files.iter().filter_map(|path| name(path)).collect();
    let mut others: Vec<String> = entries
        .filter_map(|entry| name(&entry.ok()?.path()))
        .filter(|name| of_a_series(name) && !ours.contains(name))
        .collect();
    others.sort();
    others
}

fn why(code: Code) -> String {
    match code {
        Code::OK | Code::BROKEN | Code::INCOMPLETE => "a signal came".to_owned(),
        Code::INTERRUPTED | Code::TERMINATED | Code::HUNG_UP => "a signal ended it".to_owned(),
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
    let others = left_over(files);
    if !others.is_empty() {
        say(&format!(
            "gcwatch: of an earlier series there are also {}: remove them before you compare the directory",
            others.join(" ")
        ));
    }
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
