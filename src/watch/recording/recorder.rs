//! Writes a recording: the stream, byte for byte. With a rotation the next file begins at a sequence point, with
//! everything that is needed to read it alone.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use dotnet_diagnostics_client::nettrace::BlockKind;
use dotnet_diagnostics_client::nettrace::raw::{EventBlock, ObjectSpan, RepeatedEvent};

use super::keep::{self, Keeper};
use super::name::Name;
use super::part::Part;
use super::preamble::Preamble;
use crate::gc::replayable_state::ReplayableState;

/// `--rotate SIZE,N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rotation {
    /// The next file begins at the first sequence point after this many bytes.
    pub(crate) bytes: u64,
    /// How many files are kept. `None`: all.
    pub(crate) files: Option<u32>,
    /// `--keep-recording`: how many times the files around a collection are kept beside them. `None`: never.
    pub(crate) keep: Option<u32>,
}

/// Writes one recording.
#[derive(Debug)]
pub(crate) struct Recorder {
    part: Part,
    /// Offset in the stream of the first byte of `rest`.
    taken: u64,
    /// Bytes that are not written yet: those of an incomplete object.
    rest: Vec<u8>,
    begun: bool,
    rotating: Option<Rotating>,
}

/// The state of a rotation, with what the next file needs.
#[derive(Debug)]
struct Rotating {
    rotation: Rotation,
    name: Name,
    number: u32,
    /// When the current file begins, ns since the watch began.
    begins_ns: u64,
    /// Files that are complete, not removed and not kept, the oldest first.
    older: VecDeque<keep::Part>,
    keeper: Keeper,
    /// Times of the sequence points that are not written yet, ns since the watch began.
    points_ns: VecDeque<u64>,
    header: Vec<u8>,
    /// The trace object and the metadata blocks.
    kept: Vec<(ObjectSpan, Vec<u8>)>,
    preamble: Preamble,
    /// The sequence point at which the next file begins as soon as an object follows.
    due: Option<Due>,
}

/// A sequence point at which a file can begin.
#[derive(Debug)]
struct Due {
    point: ObjectSpan,
    bytes: Vec<u8>,
    preamble: Vec<EventBlock>,
    /// Its time, ns since the watch began.
    at_ns: u64,
}

impl Recorder {
    /// A recording in one file.
    pub(super) fn new(path: PathBuf, file: File) -> Recorder {
        Recorder { part: Part::new(path, file), taken: 0, rest: Vec::new(), begun: false, rotating: None }
    }

    /// A recording in several files. `file` is the first.
    pub(super) fn rotating(path: PathBuf, file: File, name: Name, rotation: Rotation) -> Recorder {
        let rotating = Rotating {
            rotation,
            name,
            number: 1,
            begins_ns: 0,
            older: VecDeque::new(),
            keeper: Keeper::new(rotation.keep.unwrap_or(0)),
            points_ns: VecDeque::new(),
            header: Vec::new(),
            kept: Vec::new(),
            preamble: Preamble::default(),
            due: None,
        };
        Recorder { rotating: Some(rotating), ..Recorder::new(path, file) }
    }

    /// The path of the current file.
    pub(crate) fn path(&self) -> &Path {
        self.part.path()
    }

    /// Keeps an event for later files. Call it in stream order, before [`write`](Self::write) gets its bytes.
    pub(crate) fn replayable_state(&mut self, state: ReplayableState, event: impl Into<RepeatedEvent>) {
        if let Some(rotating) = &mut self.rotating {
            rotating.preamble.add(state, event);
        }
    }

    /// A sequence point follows the events so far. `at_ns`: its time since the watch began.
    pub(crate) fn sequence_point(&mut self, at_ns: u64) {
        if let Some(rotating) = &mut self.rotating {
            rotating.preamble.sequence_point();
            rotating.points_ns.push_back(at_ns);
        }
    }

    /// Keeps the files around a collection that began at `at_ns`, as the rotation allows. `why` begins the line for the
    /// user.
    pub(crate) fn keep(&mut self, why: &str, at_ns: u64) {
        if let Some(rotating) = &mut self.rotating {
            let (current, next) = (rotating.current(), rotating.name.path(rotating.number.saturating_add(1)));
            rotating.keeper.keep(why, at_ns, &mut rotating.older, &current, &next);
        }
    }

    /// The watch ends: the current file is complete.
    pub(crate) fn finish(&mut self) {
        if let Some(rotating) = &mut self.rotating {
            rotating.keeper.completed(rotating.current(), &mut rotating.older);
        }
    }

    /// New lines for the user.
    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        self.rotating.as_mut().map_or_else(Vec::new, |rotating| std::mem::take(&mut rotating.keeper.notices))
    }

    /// Writes the next bytes of the stream. `boundary` is the offset in the stream after the last complete object;
    /// `objects` are those that these bytes completed.
    pub(crate) fn write(&mut self, bytes: &[u8], boundary: u64, objects: &[ObjectSpan]) -> io::Result<()> {
        self.rest.extend_from_slice(bytes);
        // A header without a trace object is not a stream yet.
        self.begun |= !objects.is_empty();
        if !self.begun {
            return Ok(());
        }
        let whole = usize::try_from(boundary.saturating_sub(self.taken)).unwrap_or(usize::MAX);
        let whole = whole.min(self.rest.len());
        if whole == 0 {
            return Ok(());
        }
        let stream: Vec<u8> = self.rest.drain(..whole).collect();
        let from = self.taken;
        self.taken += whole as u64;
        match &mut self.rotating {
            Some(rotating) => rotating.write(&mut self.part, &stream, from, objects),
            None => {
                // The header and the trace object go first: so small a write is not cut off.
                let head = objects.first().filter(|_| from == 0).map_or(0, |trace| trace.end);
                let head = usize::try_from(head).unwrap_or(usize::MAX).min(stream.len());
                self.part.append(&stream[..head])?;
                self.part.append(&stream[head..])
            }
        }
    }
}

impl Rotating {
    fn write(&mut self, part: &mut Part, stream: &[u8], from: u64, objects: &[ObjectSpan]) -> io::Result<()> {
        let mut out = Vec::with_capacity(stream.len());
        if from == 0 {
            let header = objects.first().map_or(0, |first| first.start);
            self.header = stream.get(..usize::try_from(header).unwrap_or(0)).unwrap_or_default().to_vec();
            out.extend_from_slice(&self.header);
        }
        for object in objects {
            let at = |offset: u64| usize::try_from(offset.saturating_sub(from)).unwrap_or(usize::MAX);
            let Some(bytes) = stream.get(at(object.start)..at(object.end)) else { continue };
            if let Some(due) = self.due.take() {
                part.append(&out)?;
                out.clear();
                *part = self.next(&due)?;
                self.completed(due.at_ns);
                self.remove_oldest();
            }
            object.append(bytes, &mut out, part.len());
            if part.len() == 0 {
                part.append(&out)?;
                out.clear();
            }
            match object.kind {
                BlockKind::TRACE | BlockKind::METADATA => self.kept.push((object.clone(), bytes.to_vec())),
                BlockKind::SEQUENCE_POINT => {
                    let full = part.len() + out.len() as u64 >= self.rotation.bytes;
                    let preamble = self.preamble.at_sequence_point(full);
                    let at_ns = self.points_ns.pop_front().unwrap_or(self.begins_ns);
                    let (point, bytes) = (object.clone(), bytes.to_vec());
                    self.due = full.then_some(Due { point, bytes, preamble, at_ns });
                }
                // Version 6: each file would have to repeat these blocks. No runtime sends it, so it stays in one file.
                BlockKind::THREAD | BlockKind::REMOVE_THREAD => self.rotation.bytes = u64::MAX,
                _ => {}
            }
        }
        part.append(&out)
    }

    /// Begins the next file, which can be read alone.
    fn next(&mut self, due: &Due) -> io::Result<Part> {
        let mut first = self.header.clone();
        for (object, bytes) in &self.kept {
            object.append(bytes, &mut first, 0);
        }
        due.point.append(&due.bytes, &mut first, 0);
        for block in &due.preamble {
            block.append(&mut first, 0);
        }
        Part::create(self.name.path(self.number + 1), &first)
    }

    fn current(&self) -> keep::Part {
        keep::Part { number: self.number, begins_ns: self.begins_ns, path: self.name.path(self.number) }
    }

    /// The current file is complete, and the next one has begun.
    fn completed(&mut self, begins_ns: u64) {
        self.keeper.completed(self.current(), &mut self.older);
        self.number += 1;
        self.begins_ns = begins_ns;
    }

    /// Removes the oldest files. If one cannot be removed, the next rotation tries again.
    fn remove_oldest(&mut self) {
        let Some(files) = self.rotation.files else { return };
        while self.older.len() >= files.max(1) as usize {
            let Some(oldest) = self.older.front() else { return };
            match fs::remove_file(&oldest.path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    tracing::debug!("cannot remove {}: {e}", oldest.path.display());
                    return;
                }
                _ => drop(self.older.pop_front()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
