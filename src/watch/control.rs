//! What can end a watch from outside: signals and orders.

use std::future::Future;
use std::io;

use crate::exit::{Code, Failure};
use crate::sys::Signal;

/// Why a watch ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The stream ended by itself. `whole`: with its end tag.
    Target {
        whole: bool,
    },
    /// `--duration` is over.
    Duration,
    /// As many collections as `--gcs` requests have come.
    Gcs,
    /// A collection has met a condition of `--stop-on`.
    Condition,
    Signal(Signal),
    /// A second signal: the watch ends at once and asks the target for nothing more.
    Again(Signal),
    /// The command that was started has ended, and this process of its tree goes on.
    Command,
    /// The observer failed: the report cannot be written, or nobody reads it any more.
    Observer(io::Error),
}

impl Ended {
    /// The reason's name in reports, and its exit code. The child and the verdicts may change that code.
    pub(crate) fn reason_and_code(&self) -> (&'static str, Code) {
        let signal = |signal: &Signal| match signal {
            Signal::Interrupt { .. } => "interrupted",
            Signal::Terminate => "terminated",
            Signal::HangUp => "hung-up",
        };
        match self {
            Ended::Target { whole: true } => ("target-ended", Code::OK),
            Ended::Target { whole: false } => ("target-killed", Code::OK),
            Ended::Duration => ("duration", Code::OK),
            Ended::Gcs => ("gcs", Code::OK),
            Ended::Condition => ("stop-on", Code::BROKEN),
            Ended::Command => ("command-ended", Code::OK),
            Ended::Signal(s) => (signal(s), Code::OK),
            Ended::Again(s) => (signal(s), interrupted_by(*s)),
            Ended::Observer(_) => ("report-closed", Code::OK),
        }
    }
}

/// A signal, or an order to end the watch.
#[derive(Debug)]
pub(crate) enum Order {
    /// [`Control::on_signal`] decides what the signal does.
    Signal(Signal),
    /// The watch must end, for this reason.
    End(Ended),
}

/// What a signal does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnSignal {
    /// It ends the watch (`attach`).
    Stop,
    /// gcwatch passed it on to the child (`run`). A second signal ends the watch.
    GoOn,
}

/// The source of signals and orders.
pub(crate) trait Control {
    /// Waits for the next order. Cancel safe.
    fn order(&mut self) -> impl Future<Output = Order>;

    /// Called for the first signal only.
    fn on_signal(&mut self, signal: Signal) -> OnSignal;
}

/// Why a target is not watched.
#[derive(Debug)]
pub(crate) enum NotWatched {
    Failed(Failure),
    /// A second signal came before the watch began: gcwatch ends with this code.
    Interrupted(Code),
}

impl NotWatched {
    /// The failure to show to the user.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            NotWatched::Failed(failure) => failure,
            NotWatched::Interrupted(code) => {
                Failure::new(code, "a signal came before the watch began: nothing was watched")
            }
        }
    }
}

impl From<Failure> for NotWatched {
    fn from(failure: Failure) -> NotWatched {
        NotWatched::Failed(failure)
    }
}

/// The exit code for a signal that ends gcwatch at once.
pub(crate) fn interrupted_by(signal: Signal) -> Code {
    match signal {
        Signal::Interrupt { .. } => Code::INTERRUPTED,
        Signal::Terminate => Code::TERMINATED,
        Signal::HangUp => Code::HUNG_UP,
    }
}

/// Does `work`, which prepares a watch, unless a signal or an order to end comes. With `deferred`, for a target that
/// runs already, an order to end is kept there and the watch still begins.
pub(crate) async fn unless_ended<T>(
    control: &mut impl Control,
    mut deferred: Option<&mut Option<Ended>>,
    work: impl Future<Output = T>,
) -> Result<T, NotWatched> {
    let mut signalled = false;
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Ok(done),
            order = control.order() => match order {
                Order::End(Ended::Again(signal)) => {
                    return Err(NotWatched::Interrupted(interrupted_by(signal)));
                }
                Order::Signal(signal) if signalled => {
                    return Err(NotWatched::Interrupted(interrupted_by(signal)));
                }
                Order::Signal(signal) => {
                    signalled = true;
                    if control.on_signal(signal) == OnSignal::Stop {
                        return Err(NotWatched::Interrupted(interrupted_by(signal)).into_failure().into());
                    }
                }
                Order::End(why) => match &mut deferred {
                    Some(deferred) => **deferred = Some(why),
                    None => {
                        let what = format!("the watch ended before it began ({})", why.reason_and_code().0);
                        return Err(Failure::new(Code::NO_TARGET, what).into());
                    }
                },
            }
        }
    }
}
