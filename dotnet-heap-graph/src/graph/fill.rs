//! The second pass over the objects: their classes, sizes and references.

use super::addresses::Addresses;
use super::extra::{Extra, More};
use super::limits::Limits;
use super::offsets::{MISSING, Offset, Offsets, remove_missing};
use super::reference::Edge;
use super::survey::{Run, Survey};
use crate::error::Result;
use crate::format::{
    ClassRecord, FrameBuffer, Malformed, MoreDecoder, ObjectRecord, ObjectsDecoder, Reader, malformed,
};
use crate::parallel;

const CHANGED: Malformed = Malformed("the file has changed since it was opened");

/// What is known of the objects, by their numbers.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) classes: Vec<u32>,
    /// In units of 8 bytes. `u16::MAX`: see `large_sizes`.
    pub(crate) sizes: Vec<u16>,
    /// Objects and their sizes, in the order of the objects.
    pub(crate) large_sizes: Vec<(u32, u64)>,
    pub(crate) offsets: Offsets,
    pub(crate) targets: Vec<u32>,
    /// References to what is no object.
    pub(crate) missing: u64,
}

/// The part of the columns that a run fills.
struct Part<'a, T> {
    frame: u32,
    first_number: u32,
    first_reference: u64,
    classes: &'a mut [u32],
    sizes: &'a mut [u16],
    offsets: &'a mut [T],
    targets: &'a mut [u32],
    more: &'a [More],
    edges: &'a [Edge],
}

/// What the passes share.
pub(crate) struct Source<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) classes: &'a [ClassRecord],
    pub(crate) addresses: &'a Addresses,
    pub(crate) survey: &'a Survey,
    pub(crate) extra: &'a Extra,
    pub(crate) limits: &'a Limits,
}

impl Source<'_> {
    pub(crate) fn fill(&self) -> Result<Columns> {
        let references = self.runs().map(|run| self.references_of(run)).sum::<u64>();
        if u32::try_from(references).is_ok() {
            self.fill_with::<u32>(references, Offsets::Small)
        } else {
            self.fill_with::<u64>(references, Offsets::Large)
        }
    }

    /// The runs in the order of their objects' numbers.
    fn runs(&self) -> impl Iterator<Item = &Run> {
        self.survey.order.iter().filter_map(|index| self.survey.runs.get(*index as usize))
    }

    fn references_of(&self, run: &Run) -> u64 {
        run.references.saturating_add(Extra::count(self.extra.of(run.first_number, run.objects)))
    }

    fn fill_with<T: Offset>(&self, references: u64, wrap: fn(Vec<T>) -> Offsets) -> Result<Columns> {
        let objects = self.addresses.len() as usize;
        let (mut classes, mut sizes) = (vec![0; objects], vec![0; objects]);
        let mut offsets = vec![T::default(); objects + 1];
        let mut targets = vec![MISSING; references as usize];
        let parts = self.parts(&mut classes, &mut sizes, &mut offsets, &mut targets);
        let filled = parallel::map(self.limits.threads, parts, Default::default, |buffers, parts| {
            self.fill_frame(buffers, parts)
        })?;
        if let Some(last) = offsets.last_mut() {
            *last = T::from_u64(references);
        }
        let missing = match filled.iter().map(|filled| filled.missing).sum::<u64>() {
            0 => 0,
            _ => remove_missing(&mut offsets, &mut targets),
        };
        let mut large_sizes: Vec<_> = filled.into_iter().flat_map(|filled| filled.large_sizes).collect();
        large_sizes.sort_unstable();
        Ok(Columns { classes, sizes, large_sizes, offsets: wrap(offsets), targets, missing })
    }

    /// Cuts the columns into the parts of all runs, by frame and in the order of the file.
    fn parts<'c, T: Offset>(
        &'c self,
        mut classes: &'c mut [u32],
        mut sizes: &'c mut [u16],
        mut offsets: &'c mut [T],
        mut targets: &'c mut [u32],
    ) -> Vec<Vec<Part<'c, T>>> {
        let mut parts: Vec<Option<Part<'c, T>>> = Vec::new();
        parts.resize_with(self.survey.runs.len(), || None);
        let mut first_reference = 0;
        for index in &self.survey.order {
            let index = *index as usize;
            let (Some(run), Some(place)) = (self.survey.runs.get(index), parts.get_mut(index)) else {
                continue;
            };
            let (more, edges) = self.extra.of(run.first_number, run.objects);
            let (objects, references) = (run.objects as usize, self.references_of(run));
            *place = Some(Part {
                frame: run.frame,
                first_number: run.first_number,
                first_reference,
                classes: cut(&mut classes, objects),
                sizes: cut(&mut sizes, objects),
                offsets: cut(&mut offsets, objects),
                targets: cut(&mut targets, references as usize),
                more,
                edges,
            });
            first_reference += references;
        }
        let mut frames: Vec<Vec<Part<'c, T>>> = Vec::new();
        for part in parts.into_iter().flatten() {
            match frames.last_mut() {
                Some(frame) if frame.last().is_some_and(|last| last.frame == part.frame) => frame.push(part),
                _ => frames.push(vec![part]),
            }
        }
        frames
    }

    fn fill_frame<T: Offset>(
        &self,
        (buffer, more_buffer): &mut (FrameBuffer, FrameBuffer),
        parts: Vec<Part<'_, T>>,
    ) -> Result<Filled> {
        let mut filled = Filled::default();
        let Some(frame) = parts.first().and_then(|part| self.reader.frames().get(part.frame as usize)) else {
            return Ok(filled);
        };
        let wrong = |why| malformed(frame, why);
        let payload = self.reader.payload(frame, buffer)?;
        let mut decoder = ObjectsDecoder::new(payload, self.classes).map_err(wrong)?;
        for part in parts {
            let columns = part.classes.iter_mut().zip(part.sizes).zip(part.offsets);
            let mut targets =
                Targets { rest: part.targets.iter_mut(), addresses: self.addresses, missing: 0 };
            let (mut more, mut edges) = (part.more, part.edges);
            let mut reference = part.first_reference;
            for (number, ((class, size), offset)) in (part.first_number..).zip(columns) {
                let object = decoder.next_object().unwrap_or(Err(CHANGED)).map_err(wrong)?;
                *class = object.class;
                *size = filled.size(number, &object);
                *offset = T::from_u64(reference);
                let left = targets.rest.len();
                while let Some(found) = decoder.next_reference() {
                    targets.push(found.map_err(wrong)?.target).ok_or(CHANGED).map_err(wrong)?;
                }
                while let Some((first, rest)) = more.split_first().filter(|(more, _)| more.object == number) {
                    self.push_more(first, more_buffer, &mut targets)?;
                    more = rest;
                }
                while let Some((edge, rest)) = edges.split_first().filter(|(edge, _)| edge.from == number) {
                    targets.put(edge.to).ok_or(CHANGED).map_err(wrong)?;
                    edges = rest;
                }
                reference += (left - targets.rest.len()) as u64;
            }
            filled.missing += targets.missing;
        }
        Ok(filled)
    }

    fn push_more(&self, more: &More, buffer: &mut FrameBuffer, targets: &mut Targets<'_>) -> Result<()> {
        let Some(frame) = self.reader.frames().get(more.frame as usize) else { return Ok(()) };
        let wrong = |why| malformed(frame, why);
        for found in MoreDecoder::new(self.reader.payload(frame, buffer)?).map_err(wrong)? {
            targets.push(found.map_err(wrong)?.target).ok_or(CHANGED).map_err(wrong)?;
        }
        Ok(())
    }
}

/// What a frame gives beside its part of the columns.
#[derive(Default)]
struct Filled {
    missing: u64,
    large_sizes: Vec<(u32, u64)>,
}

impl Filled {
    fn size(&mut self, number: u32, object: &ObjectRecord) -> u16 {
        match u16::try_from(object.size_units) {
            Ok(units) if units != u16::MAX => units,
            _ => {
                self.large_sizes.push((number, object.size_units));
                u16::MAX
            }
        }
    }
}

/// The targets of a part that are still to be filled.
struct Targets<'a> {
    rest: std::slice::IterMut<'a, u32>,
    addresses: &'a Addresses,
    missing: u64,
}

impl Targets<'_> {
    #[inline]
    fn push(&mut self, address: u64) -> Option<()> {
        let number = self.addresses.number(address).unwrap_or_else(|| {
            self.missing += 1;
            MISSING
        });
        self.put(number)
    }

    #[inline]
    fn put(&mut self, number: u32) -> Option<()> {
        *self.rest.next()? = number;
        Some(())
    }
}

fn cut<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let whole = std::mem::take(rest);
    let (part, behind) = whole.split_at_mut(len.min(whole.len()));
    *rest = behind;
    part
}
