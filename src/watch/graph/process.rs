//! What a graph will cost a process, and what could keep it from being taken.

use std::fs;
use std::time::Duration;

use dotnet_diagnostics_client::process;

use super::group::Groups;
use crate::exit::{Code, Failure};
use crate::sys::{CARRIES_GRAPHS, FORKS_PROCESSES};

/// Forking copies the tables of the pages that a process uses. Measured on a virtual machine with two cores (AMD EPYC, Linux
/// 6.18), on .NET 10 with 1, 10 and 50 million objects (80 MiB to 2.4 GiB): 13 to 35 ns for each page of 4 KiB while nothing
/// else runs, 100 to 140 ns while both cores are busy, and some time besides. The estimate is for a busy machine. Huge pages
/// make a fork cheap (2.5 GiB in 2 to 4 ms), but the runtime commits its heap in steps too small for them: with
/// `MADV_HUGEPAGE` on all of it, 24 of 480 MiB were in huge pages, and the pause was the same.
const FORK_NS_PER_PAGE: u64 = 120;
const FORK_NS: u64 = 2_000_000;
const PAGE_BYTES: u64 = 4096;
/// A walk in the pause takes this long for each MiB of a heap of small objects.
const WALK_NS_PER_MIB: u64 = 5_000_000;
/// What the copy needs for itself, with some room.
const COPY_BYTES: u64 = 32 << 20;

/// How a graph is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// In a copy of the process.
    Fork,
    /// While the program stands still.
    InPause,
}

/// The limits of a process and of its container, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// Resident memory in bytes.
    pub(crate) resident_bytes: Option<u64>,
    /// The part of it that is in no file: what can be copied.
    pub(crate) private_bytes: Option<u64>,
    /// What the process's control groups still let it do.
    pub(crate) groups: Groups,
    /// How many processes and threads the user may still start (`RLIMIT_NPROC`).
    pub(crate) free_of_user: Option<u64>,
}

/// What a graph cost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// How long the program stood still for it, in ns: to keep the roots, and to be forked or walked.
    pub(crate) pause_ns: u64,
    /// The part of it for being forked or walked, in ns.
    pub(crate) fork_ns: u64,
    /// How long the copy lived, in ns.
    pub(crate) copy_ns: u64,
    /// Processor time of the copy in ns.
    pub(crate) copy_cpu_ns: u64,
    /// Memory that the copy did not share with the program in the end, in bytes; `None`: unknown.
    pub(crate) copied_bytes: Option<u64>,
}

/// The copy of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyProcess {
    pub(crate) pid: u32,
    /// It was stopped, and does nothing until it is continued.
    pub(crate) is_stopped: bool,
}

impl CopyProcess {
    /// The copy of this process. `None`: it has none, or the system does not say.
    pub(crate) fn of(pid: u32) -> Option<CopyProcess> {
        const NAME: &str = "gcwatch-graph";
        let is_copy = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == NAME)
        };
        let copy = process::children(pid).into_iter().find(is_copy);
        copy.map(|pid| CopyProcess { pid, is_stopped: process::is_stopped(pid) })
    }
}

impl Limits {
    /// Reads the limits of a process. What cannot be read is unknown.
    pub(crate) fn read(pid: u32) -> Limits {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let bytes = |name| number(&status, name).map(|kib| kib.saturating_mul(1024));
        let user = number(&status, "Uid:");
        let most = number(&limits, "Max processes").filter(|_| user.is_some_and(|user| user != 0));
        Limits {
            resident_bytes: bytes("VmRSS:"),
            private_bytes: bytes("RssAnon:"),
            groups: Groups::read(&groups),
            free_of_user: most.zip(user).map(|(most, user)| most.saturating_sub(threads_of(user))),
        }
    }

    /// How a graph can be taken. `pause_ok`: also while the program stands still.
    ///
    /// # Errors
    /// The process cannot be copied, as far as is known before, or it would be harmed.
    pub(crate) fn way(&self, pause_ok: bool) -> Result<Way, Failure> {
        match self.check() {
            Ok(()) => Ok(Way::Fork),
            Err(_) if pause_ok && CARRIES_GRAPHS => Ok(Way::InPause),
            Err(failure) if CARRIES_GRAPHS => Err(failure.remedy(PAUSE_OK)),
            Err(failure) => Err(failure),
        }
    }

    /// Whether the process can be copied, as far as is known before.
    ///
    /// # Errors
    /// It cannot, or it would be harmed.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if !FORKS_PROCESSES {
            let what = "a process can be copied for its graph on Linux only";
            return Err(Failure::new(Code::UNSUPPORTED, what)
                .remedy("elsewhere, take one with dotnet-gcdump and read it: gcwatch graph app.gcdump"));
        }
        if self.groups.free_pids == Some(0) {
            let what = "the process's container may start no further process";
            return Err(Failure::new(Code::UNSUPPORTED, what)
                .remedy("raise its limit (pids.max; docker: --pids-limit)"));
        }
        if self.free_of_user == Some(0) {
            let what = "the process's user may start no further process";
            return Err(
                Failure::new(Code::UNSUPPORTED, what).remedy("raise its limit (ulimit -u, RLIMIT_NPROC)")
            );
        }
        self.check_memory()
    }

    /// At worst, the program writes all its memory while the copy lives. Where that would harm the program, it must fit;
    /// elsewhere a quarter of it must, as the copy alone is killed when memory is short.
    fn check_memory(&self) -> Result<(), Failure> {
        let (Some(private), Some(free)) = (self.private_bytes, self.groups.free_bytes) else { return Ok(()) };
        let harms = self.groups.copy_harms_program;
        let needed = if harms { private } else { private / 4 }.saturating_add(COPY_BYTES);
        if free >= needed {
            return Ok(());
        }
        let mib = |bytes: u64| bytes >> 20;
        let what = format!(
            "the process's container has {} MiB of memory left, and a copy of the process may need {} MiB",
            mib(free),
            mib(needed)
        );
        let failure = Failure::new(Code::UNSUPPORTED, what);
        let failure = match harms {
            true => failure
                .seen("its limit would slow down or kill the program, too (memory.high, memory.oom.group)"),
            false => failure,
        };
        Err(failure.remedy("raise its limit (memory.max; docker: --memory)"))
    }

    /// Whether the copy may be killed because the program writes all its memory.
    pub(crate) fn may_be_short(&self) -> Option<u64> {
        let (private, free) = (self.private_bytes?, self.groups.free_bytes?);
        (free < private.saturating_add(COPY_BYTES)).then_some(free)
    }

    /// More bytes than these are no graph of this process.
    pub(crate) fn max_graph_bytes(&self) -> u64 {
        /// A small process may have a graph that is larger than its memory.
        const SLACK_BYTES: u64 = 1 << 30;
        self.resident_bytes.map_or(u64::MAX, |bytes| bytes.saturating_mul(3).saturating_add(SLACK_BYTES))
    }

    /// How long the program is expected to stand still.
    pub(crate) fn expected_pause(&self, way: Way) -> Option<Duration> {
        Some(Duration::from_nanos(match way {
            Way::Fork => {
                let pages = self.resident_bytes? / PAGE_BYTES;
                FORK_NS.saturating_add(pages.saturating_mul(FORK_NS_PER_PAGE))
            }
            Way::InPause => {
                let mib = self.private_bytes.or(self.resident_bytes)? >> 20;
                FORK_NS.saturating_add(mib.saturating_mul(WALK_NS_PER_MIB))
            }
        }))
    }

    /// How long a walk in the pause may take before it is given up.
    pub(crate) fn most_pause(&self) -> Duration {
        const SLACK: Duration = Duration::from_secs(5);
        self.expected_pause(Way::InPause).unwrap_or_default().saturating_mul(4).saturating_add(SLACK)
    }
}

/// The remedy where a process cannot be copied.
pub(crate) const PAUSE_OK: &str =
    "or give --pause-ok: the program then stands still for as long as its heap is walked";

/// The number behind a name at the beginning of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// How many threads a user's processes have, which is what the user's limit counts.
fn threads_of(user: u64) -> u64 {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let numbers = processes
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()));
    let statuses = numbers.filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok());
    let own = statuses.filter(|status| number(status, "Uid:") == Some(user));
    own.filter_map(|status| number(&status, "Threads:")).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(private_mib: u64, free_mib: u64, harms: bool) -> Limits {
        let groups =
            Groups { free_bytes: Some(free_mib << 20), copy_harms_program: harms, ..Groups::default() };
        Limits { private_bytes: Some(private_mib << 20), groups, ..Limits::default() }
    }

    #[test]
    fn memory_must_suffice_for_the_worst_only_where_the_program_would_be_harmed() {
        if !FORKS_PROCESSES {
            return;
        }
        for (private, free, harms, ok) in [
            (400, 431, true, false),
            (400, 433, true, true),
            (400, 131, false, false),
            (400, 133, false, true),
        ] {
            assert_eq!(limits(private, free, harms).check().is_ok(), ok, "{private} {free} {harms}");
        }
        let short = limits(400, 0, false);
        assert_eq!(short.way(true).ok(), Some(Way::InPause));
        let failure = short.way(false).expect_err("a refusal");
        assert!(
            failure.what.contains("0 MiB of memory left") && failure.what.contains("132 MiB"),
            "{failure}"
        );
        assert!(failure.to_string().contains("--pause-ok"), "{failure}");
    }

    #[test]
    fn a_process_or_thread_more_must_be_allowed() {
        if !FORKS_PROCESSES {
            return;
        }
        let none = Limits { free_of_user: Some(0), ..Limits::default() };
        assert!(none.check().expect_err("a refusal").to_string().contains("ulimit -u"));
        let groups = Groups { free_pids: Some(0), ..Groups::default() };
        let none = Limits { groups, ..Limits::default() };
        assert!(none.check().expect_err("a refusal").to_string().contains("pids.max"));
    }

    #[test]
    fn numbers_stand_behind_names() {
        let text =
            "Name:\tx\nUid:\t1000\t0\nVmRSS:\t  2048 kB\nMax processes  unlimited unlimited processes\n";
        assert_eq!((number(text, "Uid:"), number(text, "VmRSS:")), (Some(1000), Some(2048)));
        assert_eq!((number(text, "Max processes"), number(text, "Nothing:")), (None, None));
    }
}
