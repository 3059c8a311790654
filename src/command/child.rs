//! The program that `gcwatch run` starts: passing signals on to it, and why it may run unwatched.

use std::ffi::OsString;

use crate::exit::{Code, Failure};
use crate::sys::{self, Signal, Signals};
use crate::watch::control::{Control, OnSignal, Order};
use crate::watch::launch;

/// Passes gcwatch's first signal on to the child. The second one ends the watch.
pub(super) struct PassedToChild<'s> {
    pub(super) signals: &'s mut Signals,
    pub(super) pid: u32,
}

impl Control for PassedToChild<'_> {
    async fn order(&mut self) -> Order {
        Order::Signal(self.signals.next().await)
    }

    fn on_signal(&mut self, signal: Signal) -> OnSignal {
        pass_on(self.pid, signal);
        OnSignal::GoOn
    }
}

/// Passes a signal on, except a Ctrl-C of a terminal, which has reached the child already.
pub(super) fn pass_on(pid: u32, signal: Signal) {
    if signal != (Signal::Interrupt { to_group: true })
        && let Err(e) = sys::forward(pid, signal)
    {
        tracing::debug!("could not forward {signal:?}: {e}");
    }
}

/// The failure if no runtime below the child connected.
pub(super) fn no_runtime(command: &[OsString], through_sdk: bool) -> Failure {
    let name = command.first().map_or_else(Default::default, |name| name.to_string_lossy());
    match launch::diagnostics_disabled_by() {
        Some(variable) => {
            Failure::new(Code::UNSUPPORTED, format!("{name} ran unwatched: its diagnostics are switched off"))
                .seen(format!("{variable}=0 in the environment"))
                .remedy("run it without that variable")
        }
        None if through_sdk => Failure::new(
            Code::NO_TARGET,
            format!("{name} ran unwatched: it started only programs of the .NET SDK"),
        )
        .seen("only commands of the SDK ran, such as the build")
        .remedy("did it fail? to watch such a command itself use gcwatch attach"),
        None => {
            let what = format!("{name} ran unwatched: no .NET runtime (5 or later) connected");
            Failure::new(Code::NO_TARGET, what).remedy(
                "is it a .NET program? for .NET Core 3, start it without gcwatch, then use gcwatch attach",
            )
        }
    }
}
