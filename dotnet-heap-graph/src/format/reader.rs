//! Reads the frames of a file in any order.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::de::DeserializeOwned;

use super::bytes::Malformed;
use super::class::ClassRecord;
use super::compression::decompress;
use super::end::EndRecord;
use super::frame::{FrameKind, HEAD_BYTES};
use super::frames::{Frame, Truncated, find};
use super::names::Names;
use super::objects::{ObjectRecord, ObjectsDecoder};
use super::records::{Decoder, Record};
use crate::error::{Error, Result};

const STORED: Malformed = Malformed("its stored bytes are not a payload of the stated size");
const CHANGED: Malformed = Malformed("the file has changed since it was opened");
const MANY: Malformed = Malformed("it has more classes than a program can have");
const INDEX: Malformed = Malformed("the indexes of classes do not count from 0");

/// A program has some thousands of classes.
const MAX_CLASSES: usize = 1 << 20;

trait Input: Read + Seek + Send {}
impl<T: Read + Seek + Send> Input for T {}

/// Reads a `.gcgraph` file, frame by frame and in any order, from several threads if need be.
pub struct Reader {
    input: Mutex<Box<dyn Input>>,
    frames: Vec<Frame>,
    truncated: Option<Truncated>,
    end: Option<EndRecord>,
}

/// Memory for the payload of a frame, to be used again for the next.
#[derive(Debug, Default)]
pub struct FrameBuffer {
    stored: Vec<u8>,
    payload: Vec<u8>,
}

impl Reader {
    /// Opens a file, as [`new`](Self::new) does.
    ///
    /// # Errors
    /// As [`new`](Self::new), or the file cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::new(File::open(path)?)
    }

    /// Reads a file once from its start to check all checksums.
    ///
    /// # Errors
    /// It cannot be read, is no `.gcgraph` file or has a newer version. Damage after the head of the file is no error; see
    /// [`truncated`](Self::truncated).
    pub fn new(mut input: impl Read + Seek + Send + 'static) -> Result<Self> {
        input.rewind()?;
        let (frames, truncated) = find(&mut input)?;
        let mut reader = Self { input: Mutex::new(Box::new(input)), frames, truncated, end: None };
        if let Some(frame) = reader.frames.last().copied().filter(|frame| frame.kind() == FrameKind::END) {
            let mut buffer = FrameBuffer::default();
            let end = EndRecord::decode(reader.payload(&frame, &mut buffer)?);
            reader.end = Some(end.map_err(|why| malformed(&frame, why))?);
        }
        Ok(reader)
    }

    /// All whole frames, in the order of the file.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// All whole frames of a kind, in the order of the file.
    pub fn frames_of(&self, kind: FrameKind) -> impl Iterator<Item = &Frame> {
        self.frames.iter().filter(move |frame| frame.kind() == kind)
    }

    /// Where the file is cut or damaged. `None` if it is complete.
    pub fn truncated(&self) -> Option<&Truncated> {
        self.truncated.as_ref()
    }

    /// What the writer counted. `None` if the file has lost its end.
    pub fn end(&self) -> Option<&EndRecord> {
        self.end.as_ref()
    }

    /// The payload of a frame.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::Malformed`] if it has changed since it was opened, or its writer
    /// compressed the payload wrongly.
    pub fn payload<'b>(&self, frame: &Frame, buffer: &'b mut FrameBuffer) -> Result<&'b [u8]> {
        buffer.stored.resize(frame.head.stored_bytes as usize, 0);
        {
            let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
            input.seek(SeekFrom::Start(frame.offset + HEAD_BYTES as u64))?;
            input.read_exact(&mut buffer.stored)?;
        }
        let mut checksum = frame.head.start_checksum();
        checksum.update(&buffer.stored);
        if checksum.finalize() != frame.head.checksum {
            return Err(malformed(frame, CHANGED));
        }
        buffer.payload.resize(frame.head.raw_bytes as usize, 0);
        if !decompress(frame.head.compression, &buffer.stored, &mut buffer.payload) {
            return Err(malformed(frame, STORED));
        }
        Ok(&buffer.payload)
    }

    /// Calls `each` with all records of a kind, in the order of the file.
    ///
    /// # Errors
    /// The file cannot be read, or a record makes no sense.
    pub fn for_each_record<T>(&self, mut each: impl FnMut(T)) -> Result<()>
    where
        T: for<'a> Record<'a>,
    {
        let mut buffer = FrameBuffer::default();
        for frame in self.frames_of(T::KIND) {
            for record in Decoder::<T>::new(self.payload(frame, &mut buffer)?) {
                each(record.map_err(|why| malformed(frame, why))?);
            }
        }
        Ok(())
    }

    /// Calls `each` with all objects, in the order of the file. `classes` has the [`classes`](Self::classes) of the file.
    ///
    /// # Errors
    /// As [`for_each_record`](Self::for_each_record).
    pub fn for_each_object(&self, classes: &[ClassRecord], mut each: impl FnMut(ObjectRecord)) -> Result<()> {
        let mut buffer = FrameBuffer::default();
        for frame in self.frames_of(FrameKind::OBJECTS) {
            let payload = self.payload(frame, &mut buffer)?;
            let mut objects = ObjectsDecoder::new(payload, classes).map_err(|why| malformed(frame, why))?;
            while let Some(object) = objects.next_object() {
                each(object.map_err(|why| malformed(frame, why))?);
            }
        }
        Ok(())
    }

    /// All classes, in the order of their indexes.
    ///
    /// # Errors
    /// As [`for_each_record`](Self::for_each_record).
    pub fn classes(&self) -> Result<Vec<ClassRecord>> {
        let mut classes: Vec<ClassRecord> = Vec::new();
        let mut buffer = FrameBuffer::default();
        for frame in self.frames_of(FrameKind::CLASSES) {
            for class in Decoder::<ClassRecord>::new(self.payload(frame, &mut buffer)?) {
                let class = class.map_err(|why| malformed(frame, why))?;
                if class.index as usize != classes.len() {
                    return Err(malformed(frame, INDEX));
                }
                if classes.len() == MAX_CLASSES {
                    return Err(malformed(frame, MANY));
                }
                classes.push(class);
            }
        }
        Ok(classes)
    }

    /// What was taken of which process, when, and what it cost. `None` if the file does not say.
    ///
    /// # Errors
    /// The file cannot be read, or the JSON is not such a value.
    pub fn info<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let mut buffer = FrameBuffer::default();
        self.frames_of(FrameKind::INFO).next().map(|frame| self.json(frame, &mut buffer)).transpose()
    }

    /// Calls `each` with all names, in the order of the file.
    ///
    /// # Errors
    /// The file cannot be read, or the JSON has other keys or types.
    pub fn for_each_names(&self, mut each: impl FnMut(Names)) -> Result<()> {
        let mut buffer = FrameBuffer::default();
        for frame in self.frames_of(FrameKind::NAMES) {
            each(self.json(frame, &mut buffer)?);
        }
        Ok(())
    }

    fn json<T: DeserializeOwned>(&self, frame: &Frame, buffer: &mut FrameBuffer) -> Result<T> {
        let payload = self.payload(frame, buffer)?;
        serde_json::from_slice(payload).map_err(|source| Error::Json {
            offset: frame.offset,
            kind: frame.kind(),
            source,
        })
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("frames", &self.frames.len())
            .field("truncated", &self.truncated)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

/// The error for a frame whose payload makes no sense.
pub(crate) fn malformed(frame: &Frame, why: Malformed) -> Error {
    Error::Malformed { offset: frame.offset, kind: frame.kind(), why }
}
