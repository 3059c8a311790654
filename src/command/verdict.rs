//! Collects the assertions from the options, and makes verdicts an exit code and lines on stderr.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use crate::assertion::{Assertion, Assertions, ChangeVerdict, Verdict};
use crate::cli::{AssertionArgs, OutputArgs};
use crate::exit::{Code, Failure};
use crate::report;
use crate::settings::{self, Found};

use super::output;

/// All assertions, from the command line and the assert-file.
///
/// # Errors
/// The file cannot be read, or holds an invalid assertion: a usage error, before anything starts.
pub(super) fn assertions(args: &AssertionArgs) -> Result<Assertions, Failure> {
    let mut exprs = args.asserts.clone();
    if let Some(path) = &args.assert_file {
        exprs.extend(from_file(path, args)?);
    }
    Ok(Assertions::new(exprs).after(args.warmup.filter(|warmup| !warmup.is_zero())))
}

fn from_file(path: &Path, args: &AssertionArgs) -> Result<Vec<Assertion>, Failure> {
    const EXAMPLE: &str = "it holds lists of assertions by profile: default = [\"pause.p99 < 10ms\"]";
    let failed =
        |what: String| Failure::told(Code::USAGE, &path.display().to_string(), &what).remedy(EXAMPLE);
    let text = match args.assert_file_found {
        false => settings::typed(path).map_err(|failure| failure.remedy(EXAMPLE))?,
        true => match settings::found(path)? {
            Found::Text(text) => text.unseen(),
            Found::PassedOver(why) => {
                let what = format!("cannot use the assert-file that gcwatch.toml names: {}", why.what);
                let failure = Failure::new(Code::USAGE, what);
                return Err(why.remedy.into_iter().fold(failure, Failure::remedy));
            }
            Found::Nothing => {
                return Err(failed("gcwatch.toml names it as assert-file, and it is not there".into()));
            }
        },
    };
    let profiles: BTreeMap<String, Vec<String>> =
        toml::from_str(&text.text).map_err(|e| failed(text.mistake(&e)))?;
    let names = || profiles.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let chosen = match args.assert_profile.as_deref() {
        Some(name) => {
            profiles.get(name).ok_or_else(|| failed(format!("no profile `{name}`; it has {}", names())))?
        }
        None => match profiles.get("default") {
            Some(list) => list,
            None if profiles.len() == 1 => {
                profiles.values().next().ok_or_else(|| failed("no profile".into()))?
            }
            None => {
                let what = format!("no profile `default`, and more than one other: {}", names());
                return Err(failed(what).remedy("choose one with --assert-profile"));
            }
        },
    };
    let parse = |text: &String| {
        text.parse().map_err(|e: crate::assertion::InvalidAssertion| {
            Failure::new(Code::USAGE, format!("{}: {}", path.display(), e.what)).remedy(e.remedy)
        })
    };
    chosen.iter().map(parse).collect()
}

/// The exit code from the verdicts alone.
pub(super) fn code(verdicts: &[Verdict]) -> Code {
    if verdicts.iter().any(|v| v.holds == Some(false)) {
        Code::BROKEN
    } else if verdicts.iter().any(|v| v.holds.is_none()) {
        Code::INCOMPLETE
    } else {
        Code::OK
    }
}

/// The exit code from the verdicts on changes.
pub(super) fn of_changes<'v>(judged: impl Iterator<Item = &'v ChangeVerdict> + Clone) -> Code {
    if judged.clone().any(|judged| judged.fails == Some(true)) {
        Code::BROKEN
    } else if judged.clone().any(|judged| judged.fails.is_none()) {
        Code::INCOMPLETE
    } else {
        Code::OK
    }
}

/// Writes to stderr which assertions failed, because only the text report shows this to people. Names the process if
/// there are several.
pub(super) fn say(verdicts: &[Verdict], args: &OutputArgs, process: Option<&str>) {
    let in_report = output::is_for_people(args.format);
    if in_report || verdicts.iter().all(|v| v.holds == Some(true)) {
        return;
    }
    let look = output::stderr(args);
    let process = process.map(|name| format!("{name} ")).unwrap_or_default();
    let lines = report::verdict_lines(verdicts, look, output::units(args.units));
    for (n, line) in lines.iter().enumerate() {
        // The line after those of the verdicts sums up, and has no verdict of its own.
        if verdicts.get(n).is_none_or(|v| v.holds != Some(true)) {
            // There is no place to report a failure.
            let _ = writeln!(io::stderr(), "{process}{line}");
        }
    }
}
