//! Takes one graph of a process, with what is said before and meanwhile.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use crate::cli::GraphArgs;
use crate::command::stderr::say;
use crate::exit::{Code, Failure};
use crate::sys::NewFile;
use crate::target::Found;
use crate::watch::graph::attached::Attached;
use crate::watch::graph::file::GraphFile;
use crate::watch::graph::take::{Facts, NotTaken, Progress, Wish};
use crate::watch::graph::{Limits, Way};

/// The limits of the process and of its container.
pub(super) fn limits(found: &Found) -> Limits {
    found.facts.as_ref().map(|facts| Limits::read(facts.pid)).unwrap_or_default()
}

/// The file for a graph. `new` is that of the option; `path`: as the user has written it.
///
/// # Errors
/// It cannot be written.
pub(super) fn file(new: Option<NewFile>, path: Option<&Path>) -> Result<GraphFile, Failure> {
    match (new, path) {
        (Some(new), Some(path)) => GraphFile::of(new, path),
        _ => GraphFile::without_name(),
    }
}

/// What is wanted.
pub(super) fn wish(args: &GraphArgs, limits: &Limits, way: Way) -> Wish {
    let deadline = match way {
        Way::Fork => args.taking.deadline,
        Way::InPause => args.taking.deadline.min(limits.most_pause()),
    };
    Wish {
        texts: args.taking.strings,
        induce: args.taking.induce,
        within: Some(args.taking.within),
        deadline,
        way,
        max_bytes: limits.max_graph_bytes(),
    }
}

/// Takes a graph into `file`. `is_last`: the profiler is asked for no other one. `copied` is told the number of the
/// collection at which the copy was made, as soon as the copy says so.
///
/// # Errors
/// There is no graph; [`failure`] says why.
pub(super) async fn take(
    attached: &mut Attached,
    wish: Wish,
    file: &mut GraphFile,
    is_last: bool,
    copied: &mut dyn FnMut(u32),
) -> Result<Facts, NotTaken> {
    let bar = progress_bar();
    let mut progress = |now| match now {
        Progress::Copied { gc_number } => gc_number.into_iter().for_each(&mut *copied),
        now => show_progress(&bar, now),
    };
    let taken = attached.take(wish, file.writer(), is_last, &mut progress).await;
    bar.finish_and_clear();
    taken
}

/// Why there is no graph.
pub(super) fn failure(args: &GraphArgs, file: &GraphFile, not: NotTaken) -> Failure {
    match not {
        NotTaken::Failed(failure) | NotTaken::NotForked(failure) => failure,
        NotTaken::NoCollection => no_collection(args.taking.within),
        NotTaken::NotWritten(e) => file.failed(&e),
    }
}

fn no_collection(within: Duration) -> Failure {
    let waited = within.as_secs_f64();
    Failure::new(Code::INCOMPLETE, format!("the program had no garbage collection within {waited} s"))
        .remedy("wait longer with --within")
        .remedy("or give --induce: it makes the program do a full collection, which stops it as long as that takes")
}

/// Says what it will cost, before anything is done.
pub(super) fn say_cost(args: &GraphArgs, limits: &Limits, way: Way) {
    let (Some(pause), Some(resident)) = (limits.expected_pause(way), limits.resident_bytes) else { return };
    let mib = resident >> 20;
    let ms = pause.as_millis().max(1);
    let collection = if args.taking.induce { ", and for a full collection before that" } else { "" };
    say(&match way {
        Way::Fork => format!(
            "gcwatch: the program will stand still for some {ms} ms or more when it is copied{collection}; what it writes \
             meanwhile is copied, at most {mib} MiB"
        ),
        Way::InPause => format!(
            "gcwatch: the program cannot be copied, so it stands still while its heap is walked{collection}: for some {ms} \
             ms. This is an estimate from its {mib} MiB of memory; how many objects there are is not known. The walk is \
             given up after {} s",
            args.taking.deadline.min(limits.most_pause()).as_secs()
        ),
    });
    if let Some(free) = limits.may_be_short().filter(|_| way == Way::Fork) {
        let free = free >> 20;
        say(&format!(
            "gcwatch: its container has {free} MiB of memory left; if that is used up, the copy is ended, not the program"
        ));
    }
}

fn progress_bar() -> ProgressBar {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let bar = ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear);
    if dumb || !io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    // The template is ours, so it can be parsed.
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

fn show_progress(bar: &ProgressBar, now: Progress) {
    bar.set_message(match now {
        Progress::Waiting | Progress::Copied { .. } => "waiting for a collection of the program".to_owned(),
        Progress::Walking { objects, bytes } => format!("{objects} objects, {} MiB", bytes >> 20),
        Progress::Naming => "asking for names".to_owned(),
    });
    bar.tick();
}
