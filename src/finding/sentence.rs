//! A sentence whose figures get their units when it is written.

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Bytes(u64),
    /// Bytes a second.
    BytesPerSecond(f64),
    Count(u64),
    Ns(u64),
    /// A part of a whole, from 0 to 1.
    Share(f64),
    /// Events a second.
    PerSecond(f64),
}

impl From<&str> for Part {
    fn from(text: &str) -> Part {
        Part::Text(text.to_owned())
    }
}

impl From<String> for Part {
    fn from(text: String) -> Part {
        Part::Text(text)
    }
}

/// A sentence. It may contain names that a target chose.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sentence(pub(crate) Vec<Part>);

impl Sentence {
    /// With another sentence at the end.
    pub(crate) fn with(mut self, more: Sentence) -> Sentence {
        self.0.extend(more.0);
        self
    }

    /// With another part at the end.
    pub(crate) fn and(mut self, part: impl Into<Part>) -> Sentence {
        self.0.push(part.into());
        self
    }
}

/// A name that a target chose, cut where it would hide the rest of the sentence.
pub(super) fn short(name: &str) -> String {
    const MAX_CHARS: usize = 80;
    match name.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// A sentence of texts and figures.
macro_rules! sentence {
    ($($part:expr),+ $(,)?) => {
        $crate::finding::sentence::Sentence(vec![$($crate::finding::sentence::Part::from($part)),+])
    };
}
pub(super) use sentence;
