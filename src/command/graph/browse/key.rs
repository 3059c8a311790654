//! The keys that the views know.

/// A key that was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Backspace,
    Escape,
    Tab,
    BackTab,
    Char(char),
    /// Ctrl-C.
    Interrupt,
}
