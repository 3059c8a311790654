//! The terminal: taken over, and always given back.

use std::io::{self, BufWriter, Stdout, Write};
use std::mem::ManuallyDrop;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, style};

use super::draw::draw;
use super::key::Key;
use super::keyboard::Keyboard;
use super::look::Look;
use super::state::{Flow, State};
use crate::sys::{self, Signal, Signals, TerminalInput};

/// So many bytes of input are handled before the next picture.
const INPUT_BYTES: usize = 1024;
/// So many keys are handled before the next picture.
const KEYS: usize = 50;

/// Whether the terminal is ours now.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while the views are shown. Dropping this gives it back.
struct Taken {
    /// Its own end would show the cursor, which we do, and would panic if the terminal is gone.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
}

impl Taken {
    fn new(colour: bool) -> io::Result<Taken> {
        // The release build ends at a panic without dropping anything.
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let next = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                give_back();
                next(info);
            }));
        });
        style::force_color_output(colour);
        IS_TAKEN.store(true, Ordering::SeqCst);
        let taken = enable_raw_mode().and_then(|()| {
            execute!(io::stdout(), EnterAlternateScreen)?;
            let terminal = Terminal::new(CrosstermBackend::new(BufWriter::new(io::stdout())))?;
            Ok(Taken { terminal: ManuallyDrop::new(terminal) })
        });
        if taken.is_err() {
            give_back();
        }
        taken
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, if it is ours.
fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        // If the terminal is gone, there is nothing to give back.
        let _ = disable_raw_mode();
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
        let _ = io::stdout().flush();
    }
}

/// Shows the views until the user leaves, or a signal ends them.
///
/// # Errors
/// The terminal cannot be read or written.
pub(super) fn run(state: &mut State<'_>, look: Look, title: &str) -> io::Result<Option<Signal>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = runtime.block_on(async { Signals::listen() })?;
    let mut taken = Taken::new(look.style.colour)?;
    let mut keyboard = Keyboard::default();
    let mut bytes = [0; INPUT_BYTES];
    loop {
        let drawn = taken.terminal.draw(|frame| draw(frame, state, look, title)).map(drop);
        // With a picture that could not be drawn, it matters only why.
        let wait = if drawn.is_err() { Duration::ZERO } else { keyboard.wait() };
        let keys = match sys::terminal_input(wait, &mut bytes)? {
            TerminalInput::Gone => return Ok(Some(Signal::HangUp)),
            TerminalInput::Bytes(count) => keyboard.keys(bytes.get(..count).unwrap_or_default()),
            TerminalInput::Nothing => keyboard.rest(),
            TerminalInput::Unknown => events(wait)?,
        };
        drawn?;
        if keys.into_iter().any(|key| state.press(key) == Flow::Leave) {
            return Ok(None);
        }
        let signal = async { tokio::time::timeout(Duration::ZERO, signals.next()).await.ok() };
        if let Some(signal) = runtime.block_on(signal) {
            return Ok(Some(signal));
        }
    }
}

/// Keys, where the system cannot wait for bytes of the terminal.
fn events(mut longest: Duration) -> io::Result<Vec<Key>> {
    let mut keys = Vec::new();
    while keys.len() < KEYS && event::poll(longest)? {
        longest = Duration::ZERO;
        keys.extend(key(&event::read()?));
    }
    Ok(keys)
}

/// The key of an event, if it is one that the views know.
fn key(event: &Event) -> Option<Key> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    // Windows also tells when a key is let go.
    if *kind == KeyEventKind::Release {
        return None;
    }
    Some(match code {
        KeyCode::Char('c' | 'C') if modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        // Some terminals send this for Backspace.
        KeyCode::Char('h') if modifiers.contains(KeyModifiers::CONTROL) => Key::Backspace,
        KeyCode::Char(_) if modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => return None,
        KeyCode::Char(c) => Key::Char(*c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Esc => Key::Escape,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        _ => return None,
    })
}
