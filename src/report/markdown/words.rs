//! Words and signs of Markdown.

use crate::escape::{cut, escape_untrusted};
use crate::report::units::duration;

/// The maximum length of a title, in characters.
const MAX_TITLE: usize = 200;

/// Escapes text of the target, such as a command line, so that it does not become markup.
pub(in crate::report) fn plain(text: &str) -> String {
    let mut safe = String::new();
    for c in escape_untrusted(text).chars() {
        if "\\`*_{}[]<>()#+!|~&".contains(c) {
            safe.push('\\');
        }
        safe.push(c);
        if c == '@' {
            // Otherwise a comment would notify whoever a name looks like. A backslash does not help.
            safe.push_str("<!-- -->");
        }
    }
    safe
}

/// What the target is called.
pub(super) fn title(of: Option<&str>) -> String {
    plain(&cut(of.unwrap_or("process").to_owned(), MAX_TITLE))
}

/// A length of time; `-`: it is not known.
pub(super) fn time(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| duration(ns, true))
}

/// The sign of a verdict; `None`: there is none.
pub(super) fn sign(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "✅",
        Some(false) => "❌",
        None => "⚠️",
    }
}
