//! Values as text.

use std::fmt::{self, Write};
use std::time::SystemTime;

use super::value::{Array, Fields, Value};

/// In one line. Texts are in quotes, and control characters in texts and names are escaped, so that it is safe in a
/// terminal. It ends with "…" after 1 MiB.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Limited { out: f, left: MAX_TEXT_BYTES };
        match self.write(&mut out) {
            Err(_) if out.left == 0 => f.write_char('…'),
            done => done,
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Value<'_> {
    fn write(&self, out: &mut Limited<'_, '_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(out, "{value}"),
            Self::Int(value) => write!(out, "{value}"),
            Self::Uint(value) => write!(out, "{value}"),
            Self::Pointer(value) => write!(out, "{value:#x}"),
            Self::F32(value) => write!(out, "{value}"),
            Self::F64(value) => write!(out, "{value}"),
            Self::Time(time) => match time.duration_since(SystemTime::UNIX_EPOCH) {
                Ok(after) => write!(out, "{:.7} s", after.as_secs_f64()),
                Err(before) => write!(out, "-{:.7} s", before.duration().as_secs_f64()),
            },
            Self::Guid(guid) => write!(out, "{guid}"),
            Self::Text(text) => write!(out, "{text:?}"),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}")),
            Self::Array(array) => separated(out, '[', ']', array.iter(), |out, value| value.write(out)),
            Self::Struct(fields) => separated(out, '{', '}', fields.clone(), |out, (name, value)| {
                write!(out, "{}=", name.escape_debug())?;
                value.write(out)
            }),
        }
    }
}

/// The most that is written about one value. A few bytes can stand for an array with long names.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Fails when the limit is reached.
struct Limited<'a, 'f> {
    out: &'a mut fmt::Formatter<'f>,
    left: usize,
}

impl Write for Limited<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match self.left.checked_sub(text.len()) {
            Some(left) => self.left = left,
            None => {
                self.left = 0;
                return Err(fmt::Error);
            }
        }
        self.out.write_str(text)
    }
}

fn separated<T>(
    out: &mut Limited<'_, '_>,
    start: char,
    end: char,
    items: impl Iterator<Item = T>,
    write: impl Fn(&mut Limited<'_, '_>, T) -> fmt::Result,
) -> fmt::Result {
    write!(out, "{start}")?;
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.write_str(", ")?;
        }
        write(out, item)?;
    }
    write!(out, "{end}")
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Value::Array(self.clone()), f)
    }
}

impl fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Value::Struct(self.clone()), f)
    }
}
