//! Groups files into watches: the files of one rotation belong together, in the order of time.

use std::io;
use std::path::{Path, PathBuf};

use super::input::open;
use crate::exit::{Code, Failure};
use crate::watch::decoder::{Decoder, StreamItem};

/// The files of one watch, in order.
pub(super) type Watch = Vec<PathBuf>;

/// What a file's first items say.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    /// Process and clock from the trace object, which is the same in all files of a rotation.
    of: (u32, i64, i64),
    /// The time of the sequence point that the file begins with; `None` for the first file.
    begins: Option<i64>,
}

/// Groups the files by watch. The watches keep the order in which the user named them.
///
/// # Errors
/// A file was given twice.
pub(super) fn of(files: &[PathBuf]) -> Result<Vec<Watch>, Failure> {
    let mut watches: Vec<Vec<(Option<Head>, &PathBuf)>> = Vec::new();
    for file in files {
        // Pipes can be read only once, so gcwatch does not look into them here.
        let head = if files.len() > 1 && file.is_file() { head(file) } else { None };
        let same = |watch: &&mut Vec<(Option<Head>, &PathBuf)>| {
            watch.iter().any(|(other, _)| matches!((other, &head), (Some(a), Some(b)) if a.of == b.of))
        };
        match watches.iter_mut().find(same) {
            Some(watch) => watch.push((head, file)),
            None => watches.push(vec![(head, file)]),
        }
    }
    let in_order = |mut watch: Vec<(Option<Head>, &PathBuf)>| {
        watch.sort_by_key(|(head, _)| head.as_ref().and_then(|head| head.begins));
        if let Some([(_, a), (_, b)]) = watch.array_windows().find(|[a, b]| a.0 == b.0) {
            let what = format!("{} and {} are the same part of a recording", a.display(), b.display());
            return Err(Failure::new(Code::USAGE, what).remedy("give each file once"));
        }
        Ok(watch.into_iter().map(|(_, file)| file.clone()).collect())
    };
    watches.into_iter().map(in_order).collect()
}

/// `None` if the file is no recording, or too short. The command reports the reason when it reads the file.
fn head(path: &Path) -> Option<Head> {
    let mut input = open(path).ok()?;
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; 1 << 16];
    let mut of = None;
    loop {
        match input.read(&mut buffer) {
            Ok(n @ 1..) => decoder.reader.feed(&buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => decoder.reader.finish(),
        }
        while let Some(item) = decoder.next() {
            match item {
                StreamItem::Trace(t) => of = Some((t.process_id, t.sync_time_utc, t.sync_timestamp)),
                StreamItem::SequencePoint { timestamp, .. } => {
                    return Some(Head { of: of?, begins: Some(timestamp) });
                }
                StreamItem::Event { .. } | StreamItem::Lost(_) | StreamItem::End { .. } => {
                    return Some(Head { of: of?, begins: None });
                }
                StreamItem::Damaged(_) => return None,
                _ => {}
            }
        }
    }
}
