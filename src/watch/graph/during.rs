//! `--graph-at`: takes one graph while a watch goes on. The profiler of the watch is asked over its lease; what its copy
//! of the process sends comes over a second connection, which is read between the events of the watch.

use std::cell::Cell;
use std::future::{Future, pending};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::timeout;

use super::file::{GraphFile, default_path};
use super::process::{Limits, Way};
use super::take::{self, NotTaken, Progress, Wish};
use crate::exit::{Code, Failure};
use crate::gc::facts::{TakenGraph, Target};
use crate::sys::Lease;

/// The profiler reads its lease all the time, so there is room for a byte.
const ASK_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the copy of the process may live.
const DEADLINE: Duration = Duration::from_secs(300);

/// What graph is wanted of a watch.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// `None`: gcwatch chooses a name.
    pub(crate) output: Option<PathBuf>,
    /// The version of gcwatch, for the file.
    pub(crate) version: &'static str,
}

type Work = Pin<Box<dyn Future<Output = Result<TakenGraph, Failure>>>>;

enum State {
    /// No collection has met a condition.
    Waiting,
    /// One has, and the profiler is to be asked as soon as it is there.
    Wanted,
    /// The profiler was asked.
    Taking(Work),
    /// There is one, or there will be none.
    Over,
}

/// The graph of one watch.
pub(crate) struct DuringWatch {
    plan: Plan,
    state: State,
    /// The copy of the process exists.
    copied: Rc<Cell<bool>>,
}

impl DuringWatch {
    pub(crate) fn new(plan: Plan) -> DuringWatch {
        DuringWatch { plan, state: State::Waiting, copied: Rc::default() }
    }

    /// A collection has met a condition. Returns whether it is the first.
    pub(crate) fn met(&mut self) -> bool {
        let first = matches!(self.state, State::Waiting);
        if first {
            self.state = State::Wanted;
        }
        first
    }

    /// Whether the profiler is to be asked now.
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(self.state, State::Wanted)
    }

    /// Whether the profiler has to be there.
    pub(crate) fn needs_profiler(&self) -> bool {
        matches!(self.state, State::Wanted | State::Taking(_))
    }

    /// Whether the copy of the process exists, and its graph is on its way.
    pub(crate) fn is_coming(&self) -> bool {
        matches!(self.state, State::Taking(_)) && self.copied.get()
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// There will be no graph.
    pub(crate) fn give_up(&mut self) {
        self.state = State::Over;
    }

    /// Asks the profiler, which is loaded.
    ///
    /// # Errors
    /// The process cannot be copied, the file cannot be made, or the profiler is not there.
    pub(crate) async fn ask(&mut self, lease: &mut Lease, target: &Target) -> Result<(), Failure> {
        self.state = State::Over;
        let limits = target.pid.map(Limits::read).unwrap_or_default();
        limits.check()?;
        let path = self.plan.output.clone().unwrap_or_else(|| default_path(target.pid));
        let file = GraphFile::named(&path)?;
        let stream = timeout(ASK_TIMEOUT, lease.ask_for_graph()).await.map_err(std::io::Error::from)??;
        let wish = Wish {
            texts: false,
            induce: false,
            within: None,
            deadline: DEADLINE,
            way: Way::Fork,
            max_bytes: limits.max_graph_bytes(),
        };
        let (target, version, copied) = (target.clone(), self.plan.version, Rc::clone(&self.copied));
        self.state = State::Taking(Box::pin(async move {
            let mut file = file;
            let mut progress = |now| copied.set(!matches!(now, Progress::Waiting));
            // The watch sends the heartbeats.
            let taken = match take::connected(stream).await {
                Ok(stream) => {
                    take::receive(stream, target.pid, &|| (), wish, file.writer(), &mut progress).await
                }
                Err(failure) => Err(NotTaken::Failed(failure)),
            };
            let facts = taken.map_err(|e| match e {
                // The process has broken the connection.
                NotTaken::Failed(failure) if failure.code == Code::NO_TARGET => {
                    Failure { what: "the program ended before the graph was whole".to_owned(), ..failure }
                }
                NotTaken::Failed(failure) => failure,
                NotTaken::NotForked(failure) => failure,
                NotTaken::NotWritten(e) => file.failed(&e),
                NotTaken::NoCollection => Failure::from(std::io::Error::from(std::io::ErrorKind::TimedOut)),
            })?;
            file.finish(&target, &facts, wish.texts, version)?;
            Ok(TakenGraph {
                gc_number: facts.gc_number,
                file: path_text(&path),
                objects: facts.end.objects,
                object_bytes: facts.end.object_bytes,
                pause_ns: facts.cost.fork_ns,
                copy_ns: facts.cost.copy_ns,
                copied_bytes: facts.cost.copied_bytes,
                names_missing: facts.names_missing,
            })
        }));
        Ok(())
    }

    /// Waits until the graph is written, or cannot be any more. Cancel safe.
    pub(crate) async fn done(&mut self) -> Result<TakenGraph, Failure> {
        let State::Taking(work) = &mut self.state else { return pending().await };
        let done = work.as_mut().await;
        self.state = State::Over;
        done
    }
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
