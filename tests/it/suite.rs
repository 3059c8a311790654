//! The list of tests: one per runtime, and per kind of GC where that matters. Tests that this machine cannot run are
//! counted as ignored, with the reason printed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use anyhow::Result;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use xtask::Clr;
use xtask::testkit::{Skip, peer};

use crate::it::support::{places, repeated};

/// Workstation or server GC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heap {
    Workstation,
    Server,
}

impl Heap {
    const ALL: [Heap; 2] = [Heap::Workstation, Heap::Server];

    fn name(self) -> &'static str {
        match self {
            Heap::Workstation => "ws",
            Heap::Server => "srv",
        }
    }

    pub(crate) fn server(self) -> bool {
        self == Heap::Server
    }

    /// The variables that select it, with gen0 budgets so small that a short program collects often.
    pub(crate) fn environment(self) -> [(&'static str, &'static str); 2] {
        [("DOTNET_gcServer", if self.server() { "1" } else { "0" }), ("DOTNET_GCgen0size", "400000")]
    }
}

/// What a test needs besides a runtime.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Need {
    /// Reads threads and descriptors of other processes in /proc.
    Proc,
    /// Runs programs as another user.
    Root,
    /// Needs another tool, at this path.
    Peer(&'static str),
    /// Installs seccomp filters, which the tests have for one architecture only.
    SystemCallFilter,
    /// Needs two processors: with one, the runtime has no server GC.
    TwoProcessors,
    /// Needs this many GiB of free memory.
    FreeMemory(u64),
    /// Needs SIGHUP to end processes; under nohup, all child processes ignore it.
    Hangups,
}

impl Need {
    fn unmet(self) -> Option<String> {
        match self {
            Need::Proc => {
                (!Path::new("/proc/self/task").is_dir()).then(|| "there is no /proc here".to_owned())
            }
            Need::Root => (!rustix::process::geteuid().is_root())
                .then(|| "only root can become another user".to_owned()),
            Need::SystemCallFilter => {
                let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
                let there = cfg!(target_arch = "x86_64") && status.contains("\nSeccomp:");
                (!there).then(|| "filters of system calls are tested on Linux on x86-64".to_owned())
            }
            Need::Peer(path) => peer(path).err().map(|skip| skip.reason().to_owned()),
            Need::TwoProcessors => {
                let one = thread::available_parallelism().map_or(1, usize::from) < 2;
                one.then(|| "server GC needs two processors".to_owned())
            }
            Need::Hangups => {
                let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
                let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
                let mask = u64::from_str_radix(ignored.unwrap_or("0").trim(), 16).unwrap_or(0);
                (mask & 1 == 1).then(|| "SIGHUP is ignored here, as under nohup".to_owned())
            }
            Need::FreeMemory(gib) => match free_memory_gib() {
                Some(free) if free >= gib => None,
                Some(free) => Some(format!("{free} GiB of memory are free, {gib} are needed")),
                None => Some(format!("cannot tell whether {gib} GiB of memory are free")),
            },
        }
    }
}

fn free_memory_gib() -> Option<u64> {
    let facts = fs::read_to_string("/proc/meminfo").ok()?;
    let available = facts.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(available.split_whitespace().next()?.parse::<u64>().ok()? >> 20)
}

/// How the names of the tests begin that run in an emulator. Others would test the emulator or this machine, need more of
/// the class library than the emulated runtime has, or more time than an emulator leaves.
const EMULATED: [&str; 5] =
    ["dynamic_methods::", "levels::", "names::known", "roots::known", "sampled::by_count"];

/// The same for tests of gcwatch for Windows, which Wine runs. Others send signals, read `/proc`, or need what Wine lacks.
const WINE: [&str; 34] = [
    "attach::by_process_id_option",
    "attach::document_and_checksum",
    "attach::ndjson_is_live",
    "blocks::same",
    "diff::",
    "each_gc::background",
    "each_gc::cut_off",
    "facts::tool",
    "facts::watch",
    "formats::agree_on_a_recording",
    "formats::scrape_file_is_replaced_as_a_whole",
    "identity::",
    "levels::",
    "lost::what_is_complete",
    "moves::conserving",
    "moves::every",
    "moves::pinned_objects_in_regions",
    "moves::survivors",
    "names::known_holders_in_run",
    "promoted::",
    "record::",
    "run_child::exit_code::command_not_found",
    "run_child::exit_code::environment_exit",
    "run_child::exit_code::not_executable",
    "run_child::exit_code::return",
    "run_child::stdin_and_stdout",
    "run_document::document",
    "run_output::closed_pipe",
    "run_output::gcs_stops",
    "run_output::json_on_stdout",
    "run_output::ndjson",
    "sampled::by_count_in_run",
    "sums::",
    "verdict::",
];

/// A file's name and the function that registers its tests.
pub(crate) type File = (&'static str, fn(&mut Suite));

/// Lists the files of a folder, in the order in which their tests are registered.
macro_rules! files {
    ($($name:ident),+ $(,)?) => {
        pub(crate) const FILES: &[crate::it::suite::File] = &[$((stringify!($name), $name::register)),+];
    };
}
pub(crate) use files;

/// The tests registered so far.
pub(crate) struct Suite {
    clrs: Vec<Clr>,
    /// The file whose tests are being registered.
    file: &'static str,
    trials: Vec<Trial>,
    skips: Vec<(String, String)>,
}

impl Suite {
    pub(crate) fn new(clrs: Vec<Clr>) -> Suite {
        Suite { clrs, file: "", trials: Vec::new(), skips: Vec::new() }
    }

    /// Registers the tests of a folder.
    pub(crate) fn register(&mut self, files: &[File]) {
        for (file, register) in files {
            self.file = file;
            register(self);
        }
    }

    /// Registers a test on every runtime, with both kinds of GC.
    pub(crate) fn each_heap(&mut self, name: &str, needs: &[Need], test: fn(&Clr, Heap) -> Result<()>) {
        for clr in self.clrs.clone() {
            for heap in Heap::ALL {
                let mut needs = needs.to_vec();
                needs.extend(heap.server().then_some(Need::TwoProcessors));
                let clr = clr.clone();
                self.add(format!("{name}::{} [net{}]", heap.name(), clr.name), &needs, move || {
                    test(&clr, heap)
                });
            }
        }
    }

    /// Registers a test on every runtime.
    pub(crate) fn each(&mut self, name: &str, needs: &[Need], test: fn(&Clr) -> Result<()>) {
        for clr in self.clrs.clone() {
            self.add(format!("{name} [net{}]", clr.name), needs, move || test(&clr));
        }
    }

    /// Registers a test on the newest runtime only, for what does not depend on the runtime.
    pub(crate) fn once(&mut self, name: &str, needs: &[Need], test: fn(&Clr) -> Result<()>) {
        let Some(clr) = self.clrs.last().cloned() else { return };
        self.add(format!("{name} [net{}]", clr.name), needs, move || test(&clr));
    }

    /// Registers a test that needs no runtime.
    pub(crate) fn plain(&mut self, name: &str, test: fn() -> Result<()>) {
        self.add(name.to_owned(), &[], test);
    }

    /// Registers a closure as a test on the newest runtime.
    pub(crate) fn with(
        &mut self,
        name: &str,
        needs: &[Need],
        test: impl FnOnce(&Clr) -> Result<()> + Send + 'static,
    ) {
        let Some(clr) = self.clrs.last().cloned() else { return };
        self.add(format!("{name} [net{}]", clr.name), needs, move || test(&clr));
    }

    /// Registers a closure as a test that needs no runtime.
    pub(crate) fn named(&mut self, name: &str, test: impl FnOnce() -> Result<()> + Send + 'static) {
        self.add(name.to_owned(), &[], test);
    }

    /// The names registered so far, without runtime and kind of GC.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let bare = |name: &str| {
            let name = name.split(" [").next().unwrap_or(name);
            let heaps = Heap::ALL.map(|heap| format!("::{}", heap.name()));
            heaps.iter().fold(name.to_owned(), |name, heap| match name.strip_suffix(heap.as_str()) {
                Some(start) => start.to_owned(),
                None => name,
            })
        };
        self.trials.iter().map(|trial| bare(trial.name())).collect()
    }

    fn add(&mut self, name: String, needs: &[Need], test: impl FnOnce() -> Result<()> + Send + 'static) {
        let prefix = name.split("::").next();
        assert_eq!(prefix, Some(self.file), "the name of a test begins with the name of its file");
        let is_among = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
        let emulated = self.clrs.iter().any(Clr::is_emulated) && !is_among(&EMULATED);
        let wine = self.clrs.iter().any(Clr::is_wine) && !is_among(&WINE);
        let emulated = emulated.then(|| "it is not tested in an emulator".to_owned());
        let elsewhere = emulated.or_else(|| wine.then(|| "it is not tested under Wine".to_owned()));
        let unmet = elsewhere.or_else(|| needs.iter().find_map(|need| need.unmet()));
        let trial = match &unmet {
            Some(reason) => {
                let reason = reason.clone();
                Trial::ignorable_test(name.clone(), move || Ok(Completion::ignored_with(reason)))
            }
            None => {
                let name = name.clone();
                Trial::ignorable_test(name.clone(), move || {
                    repeated::begin(&name);
                    outcome(&name, test())
                })
            }
        };
        self.trials.push(trial.with_ignored_flag(unmet.is_some()));
        self.skips.extend(unmet.map(|reason| (name, reason)));
    }

    /// Runs what the command line asks for.
    pub(crate) fn run(self) -> ExitCode {
        let arguments = Arguments::from_args();
        // A runner that starts each test in its own process lists the ignored tests once: print the reasons then.
        if if arguments.list { arguments.ignored } else { !arguments.exact } {
            for (name, reason) in &self.skips {
                say(&format!("skipped {name}: {reason}"));
            }
        }
        let conclusion = libtest_mimic::run(&arguments, self.trials);
        if !arguments.list {
            say(&repeated::summary());
        }
        conclusion.exit_code()
    }
}

fn outcome(name: &str, result: Result<()>) -> Result<Completion, Failed> {
    match result {
        Ok(()) => Ok(Completion::Completed),
        Err(error) => match Skip::in_error(&error) {
            Some(skip) => {
                say(&format!("skipped {name}: {}", skip.reason()));
                Ok(Completion::ignored_with(skip.reason()))
            }
            None => Err(Failed::from(format!("{error:#}{}", places(&error)))),
        },
    }
}

fn say(line: &str) {
    // A closed stderr must not fail the tests.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
