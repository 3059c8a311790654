//! What is not kept in memory: read again from the file.

use std::collections::HashMap;

use super::heap::Graph;
use crate::error::Result;
use crate::format::{
    Decoder, FrameBuffer, FrameKind, MoreDecoder, ObjectRecord, ObjectsDecoder, Reference, TextRecord,
    malformed,
};
use crate::parallel;

impl Graph {
    /// An object's record with its length and hash. This reads one frame of the file.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub fn record(&self, object: u32) -> Result<Option<ObjectRecord>> {
        self.with_record(object, &mut FrameBuffer::default(), |record, _| Ok(record))
    }

    /// Calls `each` with all references of an object, in the order of their offsets, until it returns `false`. Those of
    /// [`edges`](Graph::edges) are not among them. This reads one frame of the file, for large objects more.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub fn for_each_reference(&self, object: u32, mut each: impl FnMut(Reference) -> bool) -> Result<()> {
        let mut buffer = FrameBuffer::default();
        let goes_on = self.with_record(object, &mut buffer, |_, decoder| {
            while let Some(reference) = decoder.next_reference() {
                if !each(reference?) {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        if goes_on != Some(true) {
            return Ok(());
        }
        let start = self.more.partition_point(|more| more.object < object);
        for more in self.more.iter().skip(start).take_while(|more| more.object == object) {
            let Some(frame) = self.reader.frames().get(more.frame as usize) else { continue };
            let wrong = |why| malformed(frame, why);
            for reference in MoreDecoder::new(self.reader.payload(frame, &mut buffer)?).map_err(wrong)? {
                if !each(reference.map_err(wrong)?) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Reads the frame of an object up to it.
    fn with_record<T>(
        &self,
        object: u32,
        buffer: &mut FrameBuffer,
        take: impl FnOnce(
            ObjectRecord,
            &mut ObjectsDecoder<'_>,
        ) -> std::result::Result<T, crate::format::Malformed>,
    ) -> Result<Option<T>> {
        let Some(frame) = self.runs.frame_of(object).and_then(|frame| self.reader.frames().get(frame)) else {
            return Ok(None);
        };
        let address = self.address(object);
        let wrong = |why| malformed(frame, why);
        let payload = self.reader.payload(frame, buffer)?;
        let mut decoder = ObjectsDecoder::new(payload, &self.class_records).map_err(wrong)?;
        while let Some(record) = decoder.next_object() {
            let record = record.map_err(wrong)?;
            if record.address == address {
                return take(record, &mut decoder).map(Some).map_err(wrong);
            }
        }
        Ok(None)
    }

    /// Calls `each` with all objects' numbers and records, from several threads, each with a state of its own, and returns
    /// the states. This reads the whole file.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub fn for_each_record<S: Send>(
        &self,
        start: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, u32, &ObjectRecord) + Sync,
    ) -> Result<Vec<S>> {
        let threads = self.limits.threads;
        let mut shares: Vec<Vec<&[super::survey::Run]>> = vec![Vec::new(); threads.get()];
        for (index, runs) in self.runs.by_frame().into_iter().enumerate() {
            if let Some(share) = shares.get_mut(index % threads) {
                share.push(runs);
            }
        }
        parallel::map(threads, shares, FrameBuffer::default, |buffer, share| {
            let mut state = start();
            for runs in share {
                let Some(frame) = runs.first().and_then(|run| self.reader.frames().get(run.frame as usize))
                else {
                    continue;
                };
                let wrong = |why| malformed(frame, why);
                let payload = self.reader.payload(frame, buffer)?;
                let mut decoder = ObjectsDecoder::new(payload, &self.class_records).map_err(wrong)?;
                let numbers = runs.iter().flat_map(|run| run.first_number..run.first_number + run.objects);
                for number in numbers {
                    let Some(record) = decoder.next_object() else { break };
                    each(&mut state, number, &record.map_err(wrong)?);
                }
            }
            Ok(state)
        })
    }

    /// The contents of strings, as far as the file has them. This reads all contents of the file.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub fn texts(&self, objects: &[u32]) -> Result<HashMap<u32, String>> {
        let wanted: HashMap<u64, u32> =
            objects.iter().map(|object| (self.address(*object), *object)).collect();
        let mut found = HashMap::new();
        let mut buffer = FrameBuffer::default();
        for frame in self.reader.frames_of(FrameKind::TEXTS) {
            for record in Decoder::<TextRecord<'_>>::new(self.reader.payload(frame, &mut buffer)?) {
                let record = record.map_err(|why| malformed(frame, why))?;
                if let Some(object) = wanted.get(&record.address) {
                    found.insert(*object, record.text.to_owned());
                }
            }
        }
        Ok(found)
    }
}
