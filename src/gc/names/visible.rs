//! Names come from the target, which may call its types what it likes.

/// No name is longer, in characters.
pub(crate) const LONGEST: usize = 1000;

/// Text from the target, with everything that could act on a terminal made visible.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => out.extend(c.escape_default()),
            // Controls, and characters that change the direction or are not there to be seen.
            c if c.is_control() => out.extend(c.escape_unicode()),
            '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// At most `longest` characters, the last one telling that there were more.
pub(crate) fn cut(mut text: String, longest: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(longest) {
        // One character goes for the sign.
        let end = text[..end].char_indices().next_back().map_or(0, |(at, _)| at);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_target_acts_on_the_terminal() {
        assert_eq!(visible("a\x1b[2J\u{9b}31m\n\u{202e}é"), "a\\u{1b}[2J\\u{9b}31m\\n\\u{202e}é");
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(cut("äöü".to_owned(), 3), "äöü");
        assert_eq!(cut("äöüß".to_owned(), 3), "äö…");
        assert_eq!(cut("x".repeat(5000), LONGEST).chars().count(), LONGEST);
    }
}
