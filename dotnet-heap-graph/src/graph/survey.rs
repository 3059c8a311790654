//! The first pass over the objects: where they are, and how many references they have.

use super::addresses::{Marks, mark};
use super::limits::Limits;
use crate::error::Result;
use crate::format::{ClassRecord, Frame, FrameBuffer, FrameKind, ObjectsDecoder, Reader, malformed};
use crate::parallel;

/// A larger gap between two objects begins another run, because objects of another frame may be there.
const MAX_GAP_BYTES: u64 = 32 << 10;

/// Objects of one frame with ascending addresses. No object of another run is between them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    /// Place of the frame among those of the file.
    pub(crate) frame: u32,
    /// Number of the first object, after the survey.
    pub(crate) first_number: u32,
    /// How many objects there are.
    pub(crate) objects: u32,
    /// How many references they have, without those in other frames.
    pub(crate) references: u64,
    first_address: u64,
    last_address: u64,
}

/// What the first pass has found.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// In the order of the file.
    pub(crate) runs: Vec<Run>,
    /// The runs in the order of their objects' numbers.
    pub(crate) order: Vec<u32>,
    pub(crate) marks: Vec<Marks>,
    pub(crate) objects: u64,
    pub(crate) object_bytes: u64,
    pub(crate) references: u64,
    pub(crate) strings: u64,
}

/// Surveys all frames `OBJECTS`. `Err(address)` inside if two objects are at the same place.
pub(crate) fn survey(
    reader: &Reader,
    classes: &[ClassRecord],
    limits: &Limits,
) -> Result<std::result::Result<Survey, u64>> {
    for max_gap_bytes in [MAX_GAP_BYTES, 0] {
        let frames: Vec<(u32, &Frame)> =
            (0..).zip(reader.frames()).filter(|(_, frame)| frame.kind() == FrameKind::OBJECTS).collect();
        let parts = parallel::map(limits.threads, frames, FrameBuffer::default, |buffer, (index, frame)| {
            let payload = reader.payload(frame, buffer)?;
            one(payload, index, classes, max_gap_bytes).map_err(|why| malformed(frame, why))
        })?;
        let mut survey = Survey::default();
        for mut part in parts {
            survey.runs.append(&mut part.runs);
            survey.marks.append(&mut part.marks);
            survey.objects += part.objects;
            survey.object_bytes = survey.object_bytes.saturating_add(part.object_bytes);
            survey.references = survey.references.saturating_add(part.references);
            survey.strings += part.strings;
        }
        match survey.number() {
            Ok(()) => return Ok(Ok(survey)),
            // Without gaps, runs can only overlap if objects do.
            Err(address) if max_gap_bytes == 0 => return Ok(Err(address)),
            Err(_) => {}
        }
    }
    Ok(Ok(Survey::default()))
}

fn one(
    payload: &[u8],
    frame: u32,
    classes: &[ClassRecord],
    max_gap_bytes: u64,
) -> std::result::Result<Survey, crate::format::Malformed> {
    let mut decoder = ObjectsDecoder::new(payload, classes)?;
    let mut survey = Survey::default();
    let mut run = Run { frame, ..Run::default() };
    let mut end = 0;
    while let Some(object) = decoder.next_object() {
        let object = object?;
        let is_next = object.address > run.last_address && object.address <= end + max_gap_bytes;
        if !(is_next && run.objects > 0) {
            survey.runs.extend((run.objects > 0).then_some(run));
            run = Run { frame, first_address: object.address, ..Run::default() };
        }
        run.last_address = object.address;
        run.objects += 1;
        run.references = run.references.saturating_add(object.references);
        let bytes = object.size_units * 8;
        end = object.address.saturating_add(bytes).min(u64::MAX - MAX_GAP_BYTES);
        mark(&mut survey.marks, object.address);
        survey.objects += 1;
        survey.object_bytes = survey.object_bytes.saturating_add(bytes);
        survey.references = survey.references.saturating_add(object.references);
        survey.strings += u64::from(classes.get(object.class as usize).is_some_and(ClassRecord::is_string));
    }
    survey.runs.extend((run.objects > 0).then_some(run));
    Ok(survey)
}

impl Survey {
    /// Puts the runs in order. An error is the address where two runs overlap.
    fn number(&mut self) -> std::result::Result<(), u64> {
        let mut order: Vec<u32> = (0..self.runs.len() as u32).collect();
        let run = |index: u32, runs: &[Run]| runs.get(index as usize).copied().unwrap_or_default();
        order.sort_by_key(|index| run(*index, &self.runs).first_address);
        let (mut number, mut last) = (0_u32, None);
        for index in &order {
            let Some(run) = self.runs.get_mut(*index as usize) else { continue };
            if last.is_some_and(|last| run.first_address <= last) {
                return Err(run.first_address);
            }
            last = Some(run.last_address);
            run.first_number = number;
            // More than 32 bits can number is found out with the marks.
            number = number.saturating_add(run.objects);
        }
        self.order = order;
        Ok(())
    }
}
