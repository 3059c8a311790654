//! An interactive view of a graph in the terminal, for who hunts a leak: types, what keeps what alive, objects, and for an
//! object its path from a root, its references and what refers to it.

mod children;
mod cursor;
mod draw;
mod heap;
mod help;
mod key;
mod keyboard;
mod look;
mod object;
mod objects;
mod ranked;
mod rows;
mod state;
mod terminal;
mod tree;
mod types;

#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::cli::GraphArgs;
use crate::command::output;
use crate::exit::{Code, Failure};
use crate::watch::control::interrupted_by;
pub(crate) use heap::Heap;
use heap::shown;
use look::Look;
use state::State;

/// How often the sign moves that says that a graph is being read.
const TICK: Duration = Duration::from_millis(100);

/// Checks that there is a terminal to show the views in.
///
/// # Errors
/// There is none.
pub(super) fn check() -> Result<(), Failure> {
    let what = "--browse needs a terminal";
    let failure = |what: &str| Failure::new(Code::USAGE, what).remedy("omit it for a report in text");
    for (name, is_terminal) in [("stdin", io::stdin().is_terminal()), ("stdout", io::stdout().is_terminal())]
    {
        if !is_terminal {
            return Err(failure(what).seen(format!("{name} is no terminal")));
        }
    }
    match output::moves_cursor() {
        true => Ok(()),
        false => Err(failure(what).seen("this one understands no escape sequences")),
    }
}

/// Says that a graph is being read, until it is dropped: a large one takes several seconds.
pub(super) fn reading(args: &GraphArgs, name: &str) -> ProgressBar {
    let unicode = output::terminal(args.color).unicode;
    let bar = ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear);
    // The template is ours, so it can be parsed.
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(if unicode { style } else { style.tick_chars("-\\|/ ") });
    }
    bar.set_message(format!("reading {}", shown(name)));
    bar.enable_steady_tick(TICK);
    bar
}

/// Shows the views until the user leaves. The code is that of a signal, if one ended them.
///
/// # Errors
/// The terminal cannot be read or written.
pub(super) fn run(args: &GraphArgs, heap: Heap<'_>, name: &str) -> Result<Option<Code>, Failure> {
    let mut state = State::new(heap);
    let look = Look { style: output::terminal(args.color).style(), units: output::units(args.units) };
    Ok(terminal::run(&mut state, look, &shown(name))?.map(interrupted_by))
}
