//! Names of recordings: makes a file name from a pattern.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The pattern if only a directory is given.
const DEFAULT_NAME: &str = "{name}-{pid}-{time}.nettrace";
/// A process's name takes at most this many characters of a file name.
const MAX_TITLE_CHARS: usize = 64;
/// Names of devices. Windows lets no file have them.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(OsString),
    Pid,
    Name,
    Time,
    Number,
}

/// Where recordings go, with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    dir: PathBuf,
    pieces: Vec<Piece>,
}

/// The values of the placeholders.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) pid: Option<u32>,
    pub(super) title: Option<&'a str>,
    pub(super) started: jiff::Timestamp,
}

/// A path in which only the number of the file is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    dir: PathBuf,
    /// The number goes between each two texts.
    texts: Vec<OsString>,
}

impl Pattern {
    /// Parses a directory, or a file name with placeholders. `numbered`: there will be several files, whose numbers go
    /// before the extension if the name has no `{n}`.
    pub(super) fn parse(value: &Path, numbered: bool) -> Result<Pattern, String> {
        let is_dir = value.is_dir() || value.as_os_str().as_encoded_bytes().ends_with(b"/");
        let (dir, name) = match value.file_name() {
            Some(name) if !is_dir => (value.parent().unwrap_or(Path::new("")), name),
            _ => (value, OsStr::new(DEFAULT_NAME)),
        };
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        if dir.as_os_str().as_encoded_bytes().contains(&b'{') && !dir.is_dir() {
            return Err("placeholders can be in the file's name only, not in its directory's".to_owned());
        }
        // A name that is not UTF-8 has no placeholders.
        let mut pieces = match name.to_str() {
            Some(text) => pieces(text)?,
            None => vec![Piece::Text(name.to_owned())],
        };
        let has_number = pieces.contains(&Piece::Number);
        if has_number && !numbered {
            return Err("{n} is the number of a file of --rotate, and --rotate was not given".to_owned());
        }
        if numbered && !has_number {
            number_before_extension(&mut pieces);
        }
        Ok(Pattern { dir: dir.to_owned(), pieces })
    }

    /// The directory. It is not created here.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the name depends on the target.
    pub(super) fn needs_target(&self) -> bool {
        self.has_pid() || self.pieces.contains(&Piece::Name)
    }

    pub(super) fn has_pid(&self) -> bool {
        self.pieces.contains(&Piece::Pid)
    }

    pub(super) fn fill(&self, known: &Known<'_>) -> Name {
        let mut texts = vec![OsString::new()];
        for piece in &self.pieces {
            let text: OsString = match piece {
                Piece::Number => {
                    texts.push(OsString::new());
                    continue;
                }
                Piece::Text(text) => text.clone(),
                Piece::Pid => known.pid.map_or("unknown".to_owned(), |pid| pid.to_string()).into(),
                Piece::Name => safe(known.title.unwrap_or_default()).into(),
                Piece::Time => known.started.strftime("%Y%m%dT%H%M%SZ").to_string().into(),
            };
            if let Some(last) = texts.last_mut() {
                last.push(text);
            }
        }
        Name { dir: self.dir.clone(), texts }
    }
}

impl Name {
    /// The path of a file. Numbers start at 1 and have at least three digits.
    pub(super) fn path(&self, part: u32) -> PathBuf {
        self.dir.join(self.texts.join(OsStr::new(&format!("{part:03}"))))
    }
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        literal.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((brace, after)) =
            ["{{", "}}"].iter().find_map(|two| Some((&two[..1], rest.strip_prefix(two)?)))
        {
            literal.push_str(brace);
            rest = after;
            continue;
        }
        let (name, after) = rest[1..]
            .split_once('}')
            .filter(|_| rest.starts_with('{'))
            .ok_or_else(|| "a brace has no partner".to_owned())?;
        let piece = match name {
            "pid" => Piece::Pid,
            "name" => Piece::Name,
            "time" => Piece::Time,
            "n" => Piece::Number,
            _ => return Err(format!("{{{name}}} is not a placeholder")),
        };
        if !literal.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut literal).into()));
        }
        pieces.push(piece);
        rest = after;
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Text(literal.into()));
    }
    Ok(pieces)
}

/// `app.nettrace` becomes `app.{n}.nettrace`, `app` becomes `app.{n}`.
fn number_before_extension(pieces: &mut Vec<Piece>) {
    let is_first = pieces.len() == 1;
    if let Some(Piece::Text(last)) = pieces.last_mut()
        && let Some((stem, extension)) = last.to_str().and_then(|text| text.rsplit_once('.'))
        && !(is_first && stem.is_empty())
    {
        let (before, after) = (format!("{stem}."), format!(".{extension}"));
        pieces.pop();
        pieces.extend([Piece::Text(before.into()), Piece::Number, Piece::Text(after.into())]);
    } else {
        pieces.extend([Piece::Text(".".into()), Piece::Number]);
    }
}

/// Makes a process's name safe as a part of a file name: no other directory, no hidden file, no effect on a shell.
fn safe(title: &str) -> String {
    let title = title.strip_suffix(".dll").or_else(|| title.strip_suffix(".exe")).unwrap_or(title);
    let plain = |c: char| if c.is_alphanumeric() || "._-+".contains(c) { c } else { '_' };
    let text: String = title.chars().take(MAX_TITLE_CHARS).map(plain).collect();
    let first = text.split('.').next().unwrap_or_default().to_lowercase();
    let device = DEVICES.contains(&first.as_str())
        || (first.starts_with("com") || first.starts_with("lpt")) && first.chars().count() == 4;
    match text.as_str() {
        "" => "process".to_owned(),
        // It would be hidden, an option, or a device.
        text if text.starts_with(['.', '-']) || device => format!("_{text}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(pattern: &str, numbered: bool, part: u32) -> Result<String, String> {
        let known = Known {
            pid: Some(42),
            title: Some("My App.dll"),
            started: "2026-11-21T06:30:00Z".parse().map_err(|e: jiff::Error| e.to_string())?,
        };
        let path = Pattern::parse(Path::new(pattern), numbered)?.fill(&known).path(part);
        Ok(path.strip_prefix(".").unwrap_or(&path).display().to_string())
    }

    #[test]
    fn placeholders() {
        let one = |pattern: &str| name(pattern, false, 1).unwrap();
        assert_eq!(one("app.nettrace"), "app.nettrace");
        assert_eq!(one("{name}-{pid}@{time}.nettrace"), "My_App-42@20261121T063000Z.nettrace");
        assert_eq!(one("a{{b}}{pid}"), "a{b}42");
        let dir = std::env::temp_dir();
        let inside = dir.join("My_App-42-20261121T063000Z.nettrace");
        assert_eq!(one(&dir.display().to_string()), inside.display().to_string());
        assert_eq!(Path::new(&one("missing/x{pid}")), Path::new("missing/x42"));
    }

    #[test]
    fn numbers_of_parts() {
        let third = |pattern: &str| name(pattern, true, 3).unwrap();
        assert_eq!(third("app.nettrace"), "app.003.nettrace");
        assert_eq!(third("app"), "app.003");
        assert_eq!(third(".hidden"), ".hidden.003");
        assert_eq!(third("{pid}.nettrace"), "42.003.nettrace");
        assert_eq!(third("a.b-{name}"), "a.b-My_App.003");
        assert_eq!(third("{n}-of-{pid}.nettrace"), "003-of-42.nettrace");
        assert_eq!(name("x{n}", true, 12345).unwrap(), "x12345");
        let inside = Path::new("missing").join("My_App-42-20261121T063000Z.003.nettrace");
        assert_eq!(Path::new(&third("missing/")), inside);
    }

    #[test]
    fn what_is_no_pattern() {
        for bad in ["{date}", "{pid", "pid}", "{}", "{ pid}", "a}b{", "{n}.nettrace", "missing/{pid}/x"] {
            assert!(name(bad, false, 1).is_err(), "{bad}");
        }
    }

    #[test]
    fn process_names_become_safe_file_names() {
        for (title, text) in [
            ("app.dll", "app"),
            ("../../etc/passwd", "_.._.._etc_passwd"),
            ("-rf", "_-rf"),
            ("a\n\u{1b}[2J b", "a___2J_b"),
            ("CON.exe", "_CON"),
            ("lpt1", "_lpt1"),
            ("computer", "computer"),
            ("", "process"),
            ("grün", "grün"),
        ] {
            assert_eq!(safe(title), text, "{title:?}");
        }
        assert_eq!(safe(&"x".repeat(999)).len(), MAX_TITLE_CHARS);
    }
}
