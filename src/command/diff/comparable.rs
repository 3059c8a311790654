//! What makes runs hard to compare: they differ in more than what is compared, or a part of them is missing.

use std::collections::BTreeSet;

use super::side::Watched;
use crate::escape::escape_untrusted;
use crate::exit::{Code, Failure};
use crate::experiment::median;
use crate::target;

/// Sides whose lengths differ by more than this share are named.
const MAX_LENGTH_DIFFERENCE: f64 = 0.1;
/// From this factor on `--strict` does not compare watches that something else than the program has ended. A program that
/// was watched from its start to its own end has done its work, however long that took.
const MAX_LENGTH_FACTOR: f64 = 2.0;
/// Values of a fact that are listed.
const MAX_VALUES: usize = 4;
/// Characters of a value that are shown.
const MAX_VALUE_CHARS: usize = 80;

/// What makes runs hard to compare, a sentence each without a full stop.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// The runs differ in more than what is compared.
    pub(super) different: Vec<String>,
    /// Their lengths differ, which a change of the program can cause as well.
    pub(super) lengths: Vec<String>,
    /// A part of a run is missing.
    pub(super) incomplete: Vec<String>,
    /// One side is so much longer than the other that it was hardly asked to do the same.
    is_far_longer: bool,
}

impl Doubts {
    /// All of them, the most important first.
    pub(super) fn all(&self) -> Vec<String> {
        [&self.different, &self.lengths, &self.incomplete].into_iter().flatten().cloned().collect()
    }

    /// With `--strict` runs that differ in more than what is compared, or are incomplete, are not compared.
    ///
    /// # Errors
    /// They are such runs.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        let lengths = self.lengths.iter().filter(|_| self.is_far_longer);
        let mut all = self.different.iter().chain(lengths).chain(&self.incomplete);
        let Some(first) = all.next() else { return Ok(()) };
        let what = format!("the runs are not compared (--strict): {}", escape_untrusted(first));
        let failure = all.fold(Failure::new(Code::INCOMPLETE, what), |failure, other| {
            failure.seen(escape_untrusted(other))
        });
        Err(failure.remedy("make both sides anew in the same way, or omit --strict"))
    }
}

/// Something that all runs should have in common.
struct Fact {
    /// That it differs.
    says: &'static str,
    of: fn(&Watched) -> Option<String>,
    /// What to do, if it is not plain.
    remedy: &'static str,
}

const PROGRAM: &str = "the program differs";
const ARGUMENTS: &str = "the arguments differ";

const FACTS: [Fact; 8] = [
    Fact { says: PROGRAM, of: program, remedy: "" },
    Fact { says: ARGUMENTS, of: arguments, remedy: "" },
    Fact { says: "the runtime differs", of: |run| run.target.runtime_version.clone(), remedy: "" },
    Fact { says: "the system differs", of: system, remedy: "" },
    Fact { says: "the GC differs", of: gc, remedy: "" },
    Fact {
        says: "the number of processors differs",
        of: |run| run.target.processors.map(|n| n.to_string()),
        remedy: "pauses and budgets of the GC depend on it",
    },
    Fact {
        says: "the level differs",
        of: |run| Some(run.watch.level.name().to_owned()),
        remedy: "watch all at the same --level",
    },
    Fact {
        says: "background GC while watched differs",
        of: |run| Some(if run.background_gc_off() { "off" } else { "as it was" }.to_owned()),
        remedy: "their pauses and counts are those of different collectors",
    },
];

fn program(run: &Watched) -> Option<String> {
    run.target.command_line.as_deref().map(target::title_of)
}

/// The words behind the program, without the directories in them: a build before a change and one after it lie in
/// different ones.
fn arguments(run: &Watched) -> Option<String> {
    let line = run.target.command_line.as_deref()?;
    let words = target::words_of(line).map(|word| target::last_part(&word).to_owned());
    let title = target::title_of(line);
    let behind: Vec<String> = words.skip_while(|word| *word != title).skip(1).collect();
    Some(if behind.is_empty() { "none".to_owned() } else { behind.join(" ") })
}

fn system(run: &Watched) -> Option<String> {
    Some(format!("{} {}", run.target.os.as_deref()?, run.target.arch.as_deref()?))
}

fn gc(run: &Watched) -> Option<String> {
    let server = if run.target.gc.server? { "server" } else { "workstation" };
    Some(match run.target.gc.concurrent {
        Some(false) => format!("{server}, not concurrent"),
        _ => server.to_owned(),
    })
}

/// Compares the runs of two sides.
pub(super) fn doubts(sides: [&[&Watched]; 2]) -> Doubts {
    let mut doubts = Doubts::default();
    let mut program_differs = false;
    for fact in &FACTS {
        // Another program has other arguments.
        if fact.says == ARGUMENTS && program_differs {
            continue;
        }
        let difference = difference(fact, sides);
        program_differs |= fact.says == PROGRAM && difference.is_some();
        doubts.different.extend(difference);
    }
    lengths(sides, &mut doubts);
    let runs = || sides.into_iter().flatten();
    let failed = runs().filter(|run| run.failed).count();
    if failed > 0 {
        let what = if failed == 1 { "1 run has" } else { &format!("{failed} runs have") };
        doubts
            .incomplete
            .push(format!("{what} ended with a failure of the program, which may have done less"));
    }
    if sides.iter().any(|side| side.len() > 1) {
        doubts.incomplete.extend(copies(sides));
    }
    let cut = runs().filter(|run| run.cut || run.lost.gap.is_some()).count();
    if cut > 0 {
        doubts.incomplete.push(format!("{} cut off: what is there was compared", runs_are(cut)));
    }
    let lost = runs().filter(|run| run.lost.events > 0).count();
    if lost > 0 {
        let what =
            format!("{} incomplete, because events were lost: counts and sums are too small", runs_are(lost));
        doubts.incomplete.push(what);
    }
    doubts
}

/// Documents and recordings of one run are no independent runs.
fn copies(sides: [&[&Watched]; 2]) -> Option<String> {
    let mut seen = BTreeSet::new();
    let known = sides.into_iter().flatten().filter_map(|run| Some((run.target.pid?, run.watch.started_at?)));
    let copies = known.filter(|run| !seen.insert(*run)).count();
    (copies > 0)
        .then(|| format!("{} a copy of another one: each counts as a run of its own", runs_are(copies)))
}

fn runs_are(n: usize) -> String {
    if n == 1 { "1 run is".to_owned() } else { format!("{n} runs are") }
}

/// A sentence if the known values of a fact are not all the same.
fn difference(fact: &Fact, sides: [&[&Watched]; 2]) -> Option<String> {
    let values = sides.map(|side| side.iter().filter_map(|run| (fact.of)(run)).collect::<BTreeSet<_>>());
    let all: BTreeSet<&String> = values.iter().flatten().collect();
    if all.len() < 2 {
        return None;
    }
    let short = |value: &String| match value.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.clone(),
    };
    let [before, after] = values.each_ref().map(|side| side.first().filter(|_| side.len() == 1));
    let what = match (before, after) {
        (Some(before), Some(after)) => format!("{} before, {} after", short(before), short(after)),
        _ => {
            let more = all.len().checked_sub(MAX_VALUES + 1).map(|n| format!("{} more", n + 1));
            let listed: Vec<String> = all.iter().take(MAX_VALUES).map(|value| short(value)).collect();
            listed.into_iter().chain(more).collect::<Vec<_>>().join("; ")
        }
    };
    let remedy = if fact.remedy.is_empty() { String::new() } else { format!(" ({})", fact.remedy) };
    Some(format!("{}: {what}{remedy}", fact.says))
}

fn lengths(sides: [&[&Watched]; 2], doubts: &mut Doubts) {
    let seconds = sides.map(|runs| {
        let known = runs.iter().filter_map(|run| run.watch.duration_ns);
        median(&known.map(|ns| ns as f64 / 1e9).collect::<Vec<_>>())
    });
    let [Some(before_s), Some(after_s)] = seconds else { return };
    let (short, long) = (before_s.min(after_s), before_s.max(after_s));
    if long - short <= MAX_LENGTH_DIFFERENCE * long {
        return;
    }
    let all_whole = sides.into_iter().flatten().all(|run| run.whole_program);
    doubts.is_far_longer = long > MAX_LENGTH_FACTOR * short && !all_whole;
    let (medians, scale) = match sides.map(<[_]>::len) {
        [1, 1] => ("", "compared per second"),
        _ => (" (medians)", "those of whole runs"),
    };
    doubts.lengths.push(format!(
        "before lasted {before_s:.1} s and after {after_s:.1} s{medians}: counts and totals are {scale}"
    ));
}
