//! What all operating systems answer with.

/// A file of settings that was found, not typed.
#[derive(Debug)]
pub(crate) enum Settings {
    /// `own`: the caller's, and not root's for everybody.
    Open { file: std::fs::File, own: bool },
    /// Somebody else may have written it, or it is no file.
    #[cfg_attr(windows, expect(dead_code, reason = "users are not told apart there"))]
    Refused { why: String, remedy: String },
}

/// A request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C. `to_group`: the terminal sends it to the whole foreground group, children included.
    Interrupt { to_group: bool },
    /// SIGTERM.
    #[cfg_attr(windows, expect(dead_code, reason = "Windows has no such signal"))]
    Terminate,
    /// SIGHUP: the terminal has gone. It comes once, however often it is sent: a terminal and its shell both send it,
    /// and a second signal means that somebody is impatient.
    #[cfg_attr(windows, expect(dead_code, reason = "a console that closes sends no signal"))]
    HangUp,
}
