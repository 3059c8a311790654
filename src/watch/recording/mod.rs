//! Recordings: where they go, how they are written, and when the next file begins.

mod keep;
mod name;
mod part;
mod preamble;
mod recorder;

use std::io;
use std::path::{Path, PathBuf};

use crate::exit::{Code, Failure};
use crate::sys;

use name::{Known, Pattern};
pub(crate) use preamble::THREAD as REPEATED_THREAD;
pub(crate) use recorder::{Recorder, Rotation};

/// With less free space than this a recording ends soon.
const MIN_FREE_BYTES: u64 = 64 << 20;

/// The plan for a recording, checked as far as possible before anything is started.
#[derive(Debug)]
pub(crate) struct Plan {
    pattern: Pattern,
    rotation: Option<Rotation>,
    started: jiff::Timestamp,
    /// The file of the report.
    report: Option<PathBuf>,
}

impl Plan {
    /// Makes a plan from the options. `several`: each process has its own recording.
    ///
    /// # Errors
    /// The pattern is not valid (a usage error), or the place cannot be written to.
    pub(crate) fn new(
        record: &Path,
        rotation: Option<Rotation>,
        several: bool,
        report: Option<&Path>,
    ) -> Result<Plan, Failure> {
        let pattern = Pattern::parse(record, rotation.is_some()).map_err(|what| {
            Failure::new(Code::USAGE, format!("--record {}: {what}", record.display())).remedy(
                "its name may contain {pid}, {name}, {time} and, with --rotate, {n}; write a brace as {{ or }}",
            )
        })?;
        if several && !pattern.has_pid() {
            return Err(Failure::new(Code::USAGE, "with --follow each process needs its own recording")
                .remedy("put {pid} into the name that --record gives, or name a directory"));
        }
        let report = report.map(Path::to_owned);
        let plan = Plan { pattern, rotation, started: jiff::Timestamp::now(), report };
        let failed = |path: &Path, e: &io::Error| {
            Failure::new(Code::FAILED, format!("cannot write the recording {}: {e}", path.display()))
                .remedy("choose another --record")
        };
        if plan.pattern.needs_target() {
            let dir = plan.pattern.dir();
            // The file is removed at once: this only tests whether one can be made.
            tempfile::Builder::new().prefix(".gcwatch-").tempfile_in(dir).map_err(|e| failed(dir, &e))?;
        } else {
            let path = plan.pattern.fill(&Known { pid: None, title: None, started: plan.started }).path(1);
            if let Some(report) = plan.report.as_ref().filter(|_| plan.hits_report(&path)) {
                let (path, report) = (path.display(), report.display());
                let what = format!("the recording {path} and the report {report} are the same file");
                return Err(Failure::new(Code::USAGE, what).remedy("choose another --record or --output"));
            }
            // An existing file keeps its content until the recording begins.
            sys::LateFile::create(&path).map_err(|e| failed(&path, &e))?;
        }
        Ok(plan)
    }

    /// Whether the recording and the report would be the same file.
    fn hits_report(&self, recording: &Path) -> bool {
        let report = self.report.as_ref().and_then(|report| sys::place(report));
        report.is_some() && report == sys::place(recording)
    }

    /// Warns, with a remedy, if the recording may end early because the disk is full.
    pub(crate) fn warning(&self) -> Option<String> {
        let free = sys::free_bytes(self.pattern.dir())?;
        let dir = self.pattern.dir().display();
        let mib = |bytes: u64| bytes >> 20;
        // Three files are kept each time.
        let files = |r: Rotation| Some(u64::from(r.files?) + 3 * u64::from(r.keep.unwrap_or(0)));
        match self.rotation.and_then(|r| Some(r.bytes.saturating_mul(files(r)?))) {
            Some(needed) if free < needed => Some(format!(
                "{} MiB are free in {dir}, and the recording may take {} MiB: choose a smaller --rotate or another --record path",
                mib(free),
                mib(needed)
            )),
            _ if free < MIN_FREE_BYTES => Some(format!(
                "only {} MiB are free in {dir}: the recording ends when the disk is full; choose another --record path",
                mib(free)
            )),
            _ => None,
        }
    }

    /// Begins the recording, now that the target is known.
    ///
    /// # Errors
    /// The file, whose path is returned, cannot be created.
    pub(crate) fn open(
        &self,
        pid: Option<u32>,
        title: Option<&str>,
    ) -> Result<Recorder, (PathBuf, io::Error)> {
        let name = self.pattern.fill(&Known { pid, title, started: self.started });
        let path = name.path(1);
        if self.hits_report(&path) {
            return Err((path, io::Error::other("the report goes to the same file")));
        }
        let file = match sys::create(&path) {
            Ok(file) => file,
            Err(e) => return Err((path, e)),
        };
        Ok(match self.rotation {
            Some(rotation) => Recorder::rotating(path, file, name, rotation),
            None => Recorder::new(path, file),
        })
    }
}
