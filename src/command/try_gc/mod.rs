//! `gcwatch try`: one command under several settings of the GC, or several commands, in many runs of each.

mod kept_output;
mod one_run;
mod progress;
mod trial;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use super::conclude::report_failed;
use super::{output, verdict};
use crate::cli::{DiffFormat, TryArgs};
use crate::exit::{Code, Failure};
use crate::experiment::{Goal, Variables, Variant, gates, winner};
use crate::gc::record::Level;
use crate::report::{TrialReport, change_annotations};
use crate::watch::control::interrupted_by;

/// Between two commands.
const NEXT_COMMAND: &str = ":::";

pub(super) fn run(args: &TryArgs) -> Result<Code, Failure> {
    let variants = variants(args)?;
    watched_at_basic(args)?;
    // Before the runs, which may take long.
    let mut file = match args.comparison.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => Some(output::create(path)?),
        None => None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(trial::run(args, variants))?;
    let gated = gates(&done.results, &args.comparison.fail_on);
    let code = done
        .interrupted
        .map_or_else(|| verdict::of_changes(gated.iter().map(|gated| &gated.verdict)), interrupted_by);
    if done.results.fewest_runs() == 0 {
        return match done.interrupted {
            Some(_) => {
                Err(Failure::new(code, "a signal came before a single run of each variant was complete"))
            }
            None => Err(Failure::new(Code::FAILED, "there was no run")),
        };
    }
    let goals = args.goal.map_or(Goal::ALL.to_vec(), |goal| vec![goal.into()]);
    let report = TrialReport {
        winners: goals.into_iter().filter_map(|goal| winner(&done.results, goal)).collect(),
        results: &done.results,
        several_commands: done.several_commands,
        left_out: &done.left_out,
        runs: args.runs,
        warmup: args.warmup,
        processors: done.processors,
        runtime: done.runtime.as_deref(),
        gated: &gated,
        warnings: &done.warnings,
        code: code.0,
    };
    let units = output::units(args.comparison.units);
    let judged = gated.iter().map(|gated| &gated.verdict);
    let annotations = change_annotations(judged, &report.verdicts());
    output::annotate(args.comparison.format_by_default, &annotations);
    let text = match args.comparison.format {
        DiffFormat::Text => report.text(output::terminal(args.comparison.color), units),
        DiffFormat::Json => report.json()?,
        DiffFormat::Markdown => report.markdown(units),
        DiffFormat::Github => annotations,
    };
    let written = match &mut file {
        Some(file) => file.write_all(text.as_bytes()).and_then(|()| file.flush()),
        None => crate::sys::stdout().write_all(text.as_bytes()),
    };
    written.map_or_else(|e| report_failed(&e, args.comparison.output.as_deref()).map(|_| code), |()| Ok(code))
}

/// Each run is watched at level `basic`, which changes it least.
fn watched_at_basic(args: &TryArgs) -> Result<(), Failure> {
    match args.comparison.fail_on.iter().find(|assertion| assertion.level() > Level::Basic) {
        None => Ok(()),
        Some(assertion) => {
            let level = assertion.level().name();
            let what =
                format!("{} is seen at level `{level}` only, and `try` watches at `basic`", assertion.name);
            let remedy = format!(
                "record runs with `gcwatch run --level {level}`, and compare them with `gcwatch diff`"
            );
            Err(Failure::new(Code::USAGE, what).remedy(remedy))
        }
    }
}

/// What is compared, as far as it is known before the first run: the commands, or one command as it is and with the
/// variables that were given.
fn variants(args: &TryArgs) -> Result<Vec<Variant>, Failure> {
    let commands: Vec<&[OsString]> = args.command.split(|word| word == NEXT_COMMAND).collect();
    let usage = |what: &str, remedy: &str| Failure::new(Code::USAGE, what).remedy(remedy);
    if commands.iter().any(|command| command.is_empty()) {
        return Err(usage(
            "a command is missing",
            "give commands as in: gcwatch try -- dotnet old.dll ::: dotnet new.dll",
        ));
    }
    if commands.len() > 1 && !args.variants.is_empty() {
        return Err(usage(
            "--env and several commands were given",
            "compare settings of one command, or several commands; `env NAME=VALUE` before a command sets a variable",
        ));
    }
    const MAX_VARIANTS: usize = 100;
    if commands.len().max(args.variants.len() + 1) > MAX_VARIANTS {
        return Err(usage("there are more than 100 variants", "try them in groups"));
    }
    if commands.len() > 1 {
        let variant = |(n, command): (usize, &&[OsString])| Variant {
            name: format!("command {}", n + 1),
            variables: Variables::default(),
            command: command.to_vec(),
        };
        return Ok(commands.iter().enumerate().map(variant).collect());
    }
    let variant = |name: String, variables: &Variables| Variant {
        name,
        variables: variables.clone(),
        command: args.command.clone(),
    };
    let mut all = vec![variant("as it is".to_owned(), &Variables::default())];
    for variables in &args.variants {
        if all.iter().any(|other| other.variables == *variables) {
            return Err(usage(
                &format!("--env {} is given twice", variables.line()),
                "give each variant once",
            ));
        }
        all.push(variant(variables.line(), variables));
    }
    Ok(all)
}
