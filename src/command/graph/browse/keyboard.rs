//! Keys, as terminals encode them.

use std::time::Duration;

use super::key::Key;

const ESC: u8 = 0x1b;
/// How long to wait for a key before looking for signals and a new size.
const WAIT: Duration = Duration::from_millis(250);
/// How long the rest of a key may take. A slow connection can send it in parts.
const REST_WAIT: Duration = Duration::from_millis(50);
/// No key that is known has more bytes.
const MAX_BYTES: usize = 16;

/// Makes keys of the bytes of a terminal.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    /// The first bytes of a key.
    begun: Vec<u8>,
}

/// What the first bytes are.
enum First {
    /// So many bytes are a key, perhaps an unknown one.
    Key(usize, Option<Key>),
    /// More bytes are needed.
    Part,
}

impl Keyboard {
    /// How long to wait for more.
    pub(super) fn wait(&self) -> Duration {
        if self.begun.is_empty() { WAIT } else { REST_WAIT }
    }

    /// The keys that are whole.
    pub(super) fn keys(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.begun.extend_from_slice(bytes);
        let (mut keys, mut used) = (Vec::new(), 0);
        while let Some(rest) = self.begun.get(used..).filter(|rest| !rest.is_empty()) {
            match first(rest) {
                First::Key(count, key) => {
                    keys.extend(key);
                    used += count;
                }
                First::Part if rest.len() > MAX_BYTES => used = self.begun.len(),
                First::Part => break,
            }
        }
        self.begun.drain(..used);
        keys
    }

    /// Nothing has come for a while: what has begun is the key Escape, or none.
    pub(super) fn rest(&mut self) -> Vec<Key> {
        let is_escape = self.begun == [ESC];
        self.begun.clear();
        is_escape.then_some(Key::Escape).into_iter().collect()
    }
}

fn first(bytes: &[u8]) -> First {
    match bytes {
        [ESC, rest @ ..] => escaped(rest),
        [0x03, ..] => First::Key(1, Some(Key::Interrupt)),
        [b'\t', ..] => First::Key(1, Some(Key::Tab)),
        [b'\r' | b'\n', ..] => First::Key(1, Some(Key::Enter)),
        // Some terminals send Ctrl-H for Backspace.
        [0x08 | 0x7f, ..] => First::Key(1, Some(Key::Backspace)),
        _ => character(bytes),
    }
}

/// A character in UTF-8.
fn character(bytes: &[u8]) -> First {
    const MAX_CHAR_BYTES: usize = 4;
    let bytes = bytes.get(..MAX_CHAR_BYTES).unwrap_or(bytes);
    let valid = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) if e.valid_up_to() == 0 => {
            return e.error_len().map_or(First::Part, |count| First::Key(count, None));
        }
        Err(e) => str::from_utf8(bytes.get(..e.valid_up_to()).unwrap_or_default()).unwrap_or_default(),
    };
    match valid.chars().next() {
        Some(c) => First::Key(c.len_utf8(), Some(Key::Char(c)).filter(|_| !c.is_control())),
        None => First::Part,
    }
}

/// What follows ESC.
fn escaped(rest: &[u8]) -> First {
    match rest {
        [] => First::Part,
        // The key Escape, and another one.
        [ESC, ..] => First::Key(1, Some(Key::Escape)),
        [b'['] | [b'O'] => First::Part,
        [b'O', last, ..] => First::Key(3, lettered(*last)),
        // Function keys of the Linux console.
        [b'[', b'['] => First::Part,
        [b'[', b'[', _, ..] => First::Key(4, None),
        [b'[', rest @ ..] => match rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) {
            Some(at) => {
                First::Key(at + 3, sequence(rest.get(..at).unwrap_or_default(), rest.get(at).copied()))
            }
            None => First::Part,
        },
        // A key with Alt.
        rest => match first(rest) {
            First::Key(count, _) => First::Key(count + 1, None),
            First::Part => First::Part,
        },
    }
}

/// A sequence with parameters, of which the second is for Shift and its like.
fn sequence(parameters: &[u8], last: Option<u8>) -> Option<Key> {
    match last? {
        b'~' => match parameters.split(|byte| *byte == b';').next()? {
            b"1" | b"7" => Some(Key::Home),
            b"4" | b"8" => Some(Key::End),
            b"5" => Some(Key::PageUp),
            b"6" => Some(Key::PageDown),
            _ => None,
        },
        letter => lettered(letter),
    }
}

fn lettered(letter: u8) -> Option<Key> {
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'F' => Key::End,
        b'H' => Key::Home,
        b'Z' => Key::BackTab,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut keyboard = Keyboard::default();
        let mut keys = keyboard.keys(bytes);
        keys.extend(keyboard.rest());
        keys
    }

    #[test]
    fn keys_of_terminals() {
        use Key::*;
        let all: [(&str, &[Key]); 14] = [
            ("q/\u{e9}\u{1f600}", &[Char('q'), Char('/'), Char('\u{e9}'), Char('\u{1f600}')]),
            ("\r\n\t\u{3}", &[Enter, Enter, Tab, Interrupt]),
            ("\u{7f}\u{8}", &[Backspace, Backspace]),
            ("\u{1b}[A\u{1b}[B\u{1b}[C\u{1b}[D", &[Up, Down, Right, Left]),
            ("\u{1b}OA\u{1b}OF\u{1b}OHx", &[Up, End, Home, Char('x')]),
            ("\u{1b}[5~\u{1b}[6~", &[PageUp, PageDown]),
            ("\u{1b}[1~\u{1b}[4~\u{1b}[H\u{1b}[F\u{1b}[7~\u{1b}[8~", &[Home, End, Home, End, Home, End]),
            ("\u{1b}[1;5A\u{1b}[5;2~\u{1b}[Z", &[Up, PageUp, BackTab]),
            ("\u{1b}", &[Escape]),
            ("\u{1b}\u{1b}[A", &[Escape, Up]),
            // Alt and a letter, function keys, and other control characters.
            ("\u{1b}q\u{1b}[15~\u{1b}[[A\u{1b}OP\u{1}x", &[Char('x')]),
            // Only the first part of a key.
            ("\u{1b}[", &[]),
            ("\u{1b}[1;5", &[]),
            ("\u{1b}[2J1", &[Char('1')]),
        ];
        for (bytes, expected) in all {
            assert_eq!(keys(bytes.as_bytes()), expected, "{bytes:?}");
        }
        assert_eq!(keys(b"\xffa\xc3"), [Char('a')]);
    }

    #[test]
    fn a_key_that_never_ends_is_none() {
        let mut keyboard = Keyboard::default();
        assert_eq!(keyboard.keys(b"\x1b["), []);
        assert_eq!(keyboard.wait(), REST_WAIT);
        assert_eq!(keyboard.keys(&[b'1'; 100]), []);
        assert_eq!((keyboard.wait(), keyboard.keys(b"q")), (WAIT, vec![Key::Char('q')]));
    }

    proptest! {
        /// It does not matter in which parts a key comes, and nothing panics.
        #[test]
        fn parts_make_the_same_keys(
            picked in proptest::collection::vec(0..8_usize, 0..20),
            cuts in proptest::collection::vec(1..4_usize, 0..80),
        ) {
            const SOME: [&str; 8] = ["a", "\u{e9}", "\u{1b}[A", "\u{1b}OH", "\u{1b}[5;2~", "\r", "\u{1f600}", "\u{1b}x"];
            let text: String = picked.iter().map(|at| SOME[*at]).collect();
            let (mut keyboard, mut rest, mut found) = (Keyboard::default(), text.as_bytes(), Vec::new());
            for cut in cuts {
                let (part, after) = rest.split_at(cut.min(rest.len()));
                found.extend(keyboard.keys(part));
                rest = after;
            }
            found.extend(keyboard.keys(rest));
            prop_assert_eq!(found, keys(text.as_bytes()));
        }

        #[test]
        fn any_bytes_will_do(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut keyboard = Keyboard::default();
            keyboard.keys(&bytes);
            prop_assert!(keyboard.begun.len() <= MAX_BYTES + 1);
        }
    }
}
