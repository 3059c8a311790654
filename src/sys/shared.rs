//! Types that the code of every operating system returns.

/// A settings file that gcwatch found itself; the user did not name it.
#[derive(Debug)]
pub(crate) enum Settings {
    /// `own`: the file belongs to the caller, not to root.
    Open { file: std::fs::File, own: bool },
    /// Another user may have written it, or it is no regular file.
    #[cfg_attr(windows, expect(dead_code, reason = "gcwatch does not distinguish users there"))]
    Refused { why: String, remedy: String },
}

/// What came of waiting for input on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalInput {
    /// So many bytes were read.
    #[cfg_attr(windows, expect(dead_code, reason = "nothing is waited for there"))]
    Bytes(usize),
    /// There was none.
    #[cfg_attr(windows, expect(dead_code, reason = "nothing is waited for there"))]
    Nothing,
    /// The terminal has closed.
    #[cfg_attr(windows, expect(dead_code, reason = "nothing is waited for there"))]
    Gone,
    /// This cannot be waited for here.
    Unknown,
}

/// A signal that asks gcwatch to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C. `to_group`: the terminal sent it to the whole foreground group, children included.
    Interrupt { to_group: bool },
    /// SIGTERM.
    #[cfg_attr(windows, expect(dead_code, reason = "Windows has no such signal"))]
    Terminate,
    /// SIGHUP: the terminal has closed. On Windows also a logoff or a shutdown. gcwatch reports only the first one: a terminal and its shell both send it, and
    /// a second signal would mean that the user does not want to wait.
    HangUp,
}
