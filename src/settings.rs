//! Reads settings files (TOML), up to a maximum length, and reports mistakes in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::exit::{Code, Failure};
use crate::sys::{self, Settings};

/// No real settings file is longer.
const MAX_BYTES: u64 = 1 << 20;

/// The text of a settings file.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// The caller owns the file, so messages may quote it.
    own: bool,
}

/// The result of looking for a settings file that the user did not name.
#[derive(Debug)]
pub(crate) enum Found {
    Text(Text),
    /// The file is there, but gcwatch must not use it.
    PassedOver(Failure),
    Nothing,
}

/// Reads a settings file that the user did not name, if only the caller or root can have written it.
///
/// # Errors
/// The file belongs to the caller or root, and cannot be read.
pub(crate) fn found(path: &Path) -> Result<Found, Failure> {
    match sys::open_settings(path) {
        Ok(Settings::Open { file, own }) => {
            read(file).map(|text| Found::Text(Text { text, own })).map_err(|e| unreadable(path, &e))
        }
        Ok(Settings::Refused { why, remedy }) => Ok(Found::PassedOver(
            Failure::new(Code::USAGE, format!("{} is ignored: {why}", path.display())).remedy(remedy),
        )),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(e) => Err(unreadable(path, &e)),
    }
}

/// Reads a settings file that the user named, which may be a link, stdin or a pipe.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn typed(path: &Path) -> Result<Text, Failure> {
    let read = File::open(path).and_then(read);
    read.map(|text| Text { text, own: true }).map_err(|e| unreadable(path, &e))
}

fn read(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it is longer than 1 MiB"));
    }
    Ok(text)
}

fn unreadable(path: &Path, e: &io::Error) -> Failure {
    Failure::new(Code::USAGE, format!("cannot read {}: {e}", path.display()))
        .remedy("make it a small TOML file that you can read, or remove it")
}

impl Text {
    #[cfg(test)]
    pub(crate) fn own(text: &str) -> Text {
        Text { text: text.to_owned(), own: true }
    }

    /// The same text, of which no line is shown: not the user named its file, but a directory's settings did.
    pub(crate) fn unseen(self) -> Self {
        Self { own: false, ..self }
    }

    /// Describes a mistake by line and column. Only the file's owner is shown the line itself.
    pub(crate) fn mistake(&self, e: &toml::de::Error) -> String {
        if self.own {
            return e.to_string().trim().to_owned();
        }
        let before = e.span().and_then(|span| self.text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("TOML parse error at line {line}, column {column}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_owner_is_shown_a_file() {
        let mistake = |own| {
            let text = "a = 1\nroot:$6$secret:1\n".to_owned();
            let e = toml::from_str::<toml::Table>(&text).unwrap_err();
            Text { text, own }.mistake(&e)
        };
        assert!(mistake(true).contains("line 2") && mistake(true).contains("secret"), "{}", mistake(true));
        let of_another = mistake(false);
        assert_eq!(of_another, "TOML parse error at line 2, column 17");
        assert!(mistake(true).starts_with(&of_another), "{}", mistake(true));
    }
}
