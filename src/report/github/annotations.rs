//! Annotations as workflow commands.

use std::io::{self, Write};

use crate::escape::{cut, escape_untrusted};

/// Annotations of one kind. GitHub shows as many of a step, and leaves out the others without a word.
pub(super) const MAX_SHOWN: usize = 10;
/// The maximum length of a title and of a message, in characters.
const MAX_TITLE: usize = 200;
pub(super) const MAX_MESSAGE: usize = 2000;

/// The kinds of annotations, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Error,
    Warning,
    Notice,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Error, Kind::Warning, Kind::Notice];

    fn command(self) -> &'static str {
        match self {
            Kind::Error => "error",
            Kind::Warning => "warning",
            Kind::Notice => "notice",
        }
    }
}

/// One annotation.
#[derive(Debug)]
struct Annotation {
    title: String,
    message: String,
}

/// All annotations of a command, by kind. As many are kept as are shown.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    kept: [Vec<Annotation>; 3],
    more: [usize; 3],
}

impl Annotations {
    /// Whether there is no error.
    pub(super) fn has_no_error(&self) -> bool {
        self.kept[Kind::Error as usize].is_empty()
    }

    /// Adds one; gcwatch signs its title.
    pub(super) fn add(&mut self, kind: Kind, title: &str, message: &str) {
        let kept = &mut self.kept[kind as usize];
        if kept.len() == MAX_SHOWN {
            self.more[kind as usize] += 1;
            return;
        }
        let title = cut(format!("gcwatch: {}", escape_untrusted(title)), MAX_TITLE);
        kept.push(Annotation { title, message: cut(escape_untrusted(message), MAX_MESSAGE) });
    }

    /// Writes all, the gravest first.
    pub(super) fn write(mut self, out: &mut impl Write) -> io::Result<()> {
        for kind in Kind::ALL {
            let kept = &mut self.kept[kind as usize];
            let mut more = self.more[kind as usize];
            if more > 0 {
                // The last one makes room for the number of those that are not shown.
                kept.pop();
                more += 1;
            }
            for Annotation { title, message } in kept {
                writeln!(out, "::{} title={}::{}", kind.command(), property(title), data(message))?;
            }
            if more > 0 {
                let title = property("gcwatch: more");
                writeln!(out, "::{} title={title}::{more} more; --format text shows all", kind.command())?;
            }
        }
        out.flush()
    }
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
