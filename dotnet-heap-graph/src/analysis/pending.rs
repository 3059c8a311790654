//! Work that is not done: tasks, asynchronous methods that wait, timers, registrations for cancellation.

use super::class_totals::ClassTotals;
use super::known::{derived, is_core};
use crate::dominators::Amount;
use crate::graph::{Class, Graph};

/// A kind of pending work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PendingKind {
    /// An asynchronous method that waits. Such an object is a task, too, but is counted here only.
    AsyncMethod,
    /// A task, done or not.
    Task,
    /// A timer.
    Timer,
    /// A source of cancellation.
    Cancellation,
    /// What has registered for a cancellation.
    CancellationCallback,
}

/// Objects of one class that are pending work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingWork {
    /// What it is.
    pub kind: PendingKind,
    /// The class: its place in [`Graph::classes`].
    pub class: u32,
    /// The objects that can be reached.
    pub objects: Amount,
    /// What they retain, as [`ClassTotals::retained`] says.
    pub retained: Amount,
}

/// Which classes are pending work, by their names and those of their base classes.
fn kind(class: &Class) -> Option<PendingKind> {
    const TASKS: &str = "System.Threading.Tasks";
    const THREADING: &str = "System.Threading";
    let name = class.name.as_deref().unwrap_or_default();
    // Its full name has the builder's name and type arguments before and behind.
    if name.contains("AsyncStateMachineBox") {
        return Some(PendingKind::AsyncMethod);
    }
    let core = |namespace, name| is_core(class, namespace, name);
    if core(TASKS, "Task") || core(TASKS, "TaskCompletionSource") {
        Some(PendingKind::Task)
    } else if core(THREADING, "TimerQueueTimer")
        || core(THREADING, "Timer")
        || core(THREADING, "PeriodicTimer")
    {
        Some(PendingKind::Timer)
    } else if core(THREADING, "CancellationTokenSource") {
        Some(PendingKind::Cancellation)
    } else if core(THREADING, "CancellationTokenSource.CallbackNode") {
        Some(PendingKind::CancellationCallback)
    } else {
        None
    }
}

/// Picks the classes that are pending work out of those of [`class_totals`](super::class_totals), in the same order.
pub fn pending_work(graph: &Graph, totals: &[ClassTotals]) -> Vec<PendingWork> {
    use PendingKind::*;
    // The most special kind first, because one class may be of several.
    let kinds = [AsyncMethod, Timer, CancellationCallback, Cancellation, Task];
    let is: Vec<(PendingKind, Vec<bool>)> =
        kinds.map(|wanted| (wanted, derived(graph, |class| kind(class) == Some(wanted)))).into();
    let found = totals.iter().filter(|sums| sums.reachable.objects > 0).filter_map(|sums| {
        let (kind, _) = is.iter().find(|(_, is)| is.get(sums.class as usize) == Some(&true))?;
        Some(PendingWork { kind: *kind, class: sums.class, objects: sums.reachable, retained: sums.retained })
    });
    found.collect()
}
