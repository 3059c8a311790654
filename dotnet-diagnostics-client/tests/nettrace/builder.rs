//! Writes streams, independently of the reader.

/// Bytes under construction.
#[derive(Clone, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

macro_rules! little_endian {
    ($($name:ident)*) => {$(
        pub(crate) fn $name(mut self, value: $name) -> Self {
            self.0.extend(value.to_le_bytes());
            self
        }
    )*};
}

impl Bytes {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    little_endian!(u8 u16 i16 u32 u64 i64);

    pub(crate) fn raw(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.0.extend(bytes.as_ref());
        self
    }

    /// UTF-16 with a NUL.
    pub(crate) fn text(self, text: &str) -> Self {
        text.encode_utf16().fold(self, Self::u16).u16(0)
    }

    pub(crate) fn var(self, mut value: u64) -> Self {
        let mut bytes = self;
        while value >= 0x80 {
            bytes = bytes.u8(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.u8(value as u8)
    }

    pub(crate) fn vars(self, values: impl IntoIterator<Item = u64>) -> Self {
        values.into_iter().fold(self, Self::var)
    }

    /// UTF-8 after its length.
    pub(crate) fn utf8(self, text: &str) -> Self {
        self.var(text.len() as u64).raw(text)
    }
}

/// An event to write.
#[derive(Clone, Copy)]
pub(crate) struct Ev<'p> {
    pub(crate) metadata: u32,
    pub(crate) thread: u64,
    pub(crate) sequence: u32,
    pub(crate) at: i64,
    pub(crate) sorted: bool,
    pub(crate) stack: u32,
    /// Version 6: the list with the labels.
    pub(crate) labels: Option<u32>,
    pub(crate) payload: &'p [u8],
}

/// An event of metadata 1 without a payload, not sorted.
pub(crate) fn ev(thread: u64, sequence: u32, at: i64) -> Ev<'static> {
    Ev { metadata: 1, thread, sequence, at, sorted: false, stack: 0, labels: None, payload: b"" }
}

impl<'p> Ev<'p> {
    pub(crate) fn sorted(self) -> Self {
        Self { sorted: true, ..self }
    }

    pub(crate) fn payload(self, payload: &'p [u8]) -> Self {
        Self { payload, ..self }
    }

    pub(crate) fn stack(self, stack: u32) -> Self {
        Self { stack, ..self }
    }

    pub(crate) fn labels(self, labels: u32) -> Self {
        Self { labels: Some(labels), ..self }
    }

    pub(crate) fn metadata(self, metadata: u32) -> Self {
        Self { metadata, ..self }
    }
}

/// Header of event and metadata blocks, with 4 unknown bytes at its end.
pub(crate) fn block_header(compressed: bool) -> Bytes {
    Bytes::new().u16(24).u16(compressed.into()).i64(0).i64(0).raw(b"more")
}

/// Compressed events. Each header has all fields but activity ids.
pub(crate) fn compressed(events: &[Ev]) -> Bytes {
    let (mut sequence, mut time) = (0_u32, 0_i64);
    events.iter().fold(block_header(true), |bytes, event| {
        let flags = 0x8f | u8::from(event.sorted) << 6 | u8::from(event.labels.is_some()) << 4;
        let step = event.sequence.wrapping_sub(sequence).wrapping_sub(1);
        let later = event.at.wrapping_sub(time) as u64;
        (sequence, time) = (event.sequence, event.at);
        let bytes = bytes.u8(flags).var(event.metadata.into()).var(step.into()).var(event.thread);
        let bytes = bytes.var(u32::MAX.into()).var(event.thread).var(event.stack.into()).var(later);
        let bytes = event.labels.into_iter().fold(bytes, |bytes, labels| bytes.var(labels.into()));
        bytes.var(event.payload.len() as u64).raw(event.payload)
    })
}

pub(crate) fn uncompressed(events: &[Ev]) -> Bytes {
    events.iter().fold(block_header(false), |bytes, event| {
        let len = event.payload.len();
        let size = 4 + 4 + 8 + 8 + 4 + 4 + 8 + 16 + 16 + 4 + len;
        let bytes = bytes.u32(size as u32).u32(event.metadata | u32::from(!event.sorted) << 31);
        let bytes = bytes.u32(event.sequence).u64(event.thread).u64(event.thread).u32(3).u32(event.stack);
        let bytes = bytes.i64(event.at).raw([0xaa; 16]).raw([0xbb; 16]);
        bytes.u32(len as u32).raw(event.payload).raw(vec![0; size.wrapping_neg() % 4])
    })
}

/// What begins the trace object: date, clock and pointer size.
pub(crate) fn clock(frequency: i64) -> Bytes {
    let date = [2026_i16, 11, 6, 21, 3, 22, 59, 7].into_iter().fold(Bytes::new(), Bytes::i16);
    date.i64(1_000).i64(frequency).u32(8)
}

/// A metadata record without fields and tags.
pub(crate) fn metadata(id: u32, provider: &str, event_id: u32) -> Bytes {
    Bytes::new().u32(id).text(provider).u32(event_id).text("").i64(0x11).u32(2).u32(4)
}

/// A version 4 stream.
#[derive(Clone)]
pub(crate) struct Stream(pub(crate) Vec<u8>);

impl Stream {
    /// Header, trace object (10 MHz, 64 bits), and metadata 1: event 7 of provider "P".
    pub(crate) fn new() -> Self {
        Self::without_metadata().records(&[metadata(1, "P", 7)])
    }

    pub(crate) fn without_metadata() -> Self {
        let trace = clock(10_000_000).u32(42).u32(2).u32(1_000_000);
        let start = Bytes::new().raw("Nettrace").u32(20).raw("!FastSerialization.1");
        Self(start.0).bare_object("Trace", 4, trace)
    }

    fn bare_object(mut self, name: &str, version: u32, content: Bytes) -> Self {
        let start = Bytes::new().raw([5, 5, 1]).u32(version).u32(version).u32(name.len() as u32);
        self.0.extend(start.raw(name).u8(6).raw(content.0).u8(6).0);
        self
    }

    /// A block: size, padding, content.
    pub(crate) fn block(self, name: &str, version: u32, content: Bytes) -> Self {
        let size_ends_at = self.0.len() + 15 + name.len() + 1 + 4;
        let padding = vec![0; size_ends_at.wrapping_neg() % 4];
        let sized = Bytes::new().u32(content.0.len() as u32).raw(padding).raw(content.0);
        self.bare_object(name, version, sized)
    }

    pub(crate) fn records(self, records: &[Bytes]) -> Self {
        let content = records.iter().fold(block_header(true), |bytes, record| {
            bytes.u8(0x80).var(0).var(record.0.len() as u64).raw(&record.0)
        });
        self.block("MetadataBlock", 2, content)
    }

    pub(crate) fn events(self, events: &[Ev]) -> Self {
        self.block("EventBlock", 2, compressed(events))
    }

    pub(crate) fn stacks(self, first: u32, stacks: &[&[u8]]) -> Self {
        let start = Bytes::new().u32(first).u32(stacks.len() as u32);
        let content = stacks.iter().fold(start, |bytes, stack| bytes.u32(stack.len() as u32).raw(stack));
        self.block("StackBlock", 2, content)
    }

    pub(crate) fn sequence_point(self, at: i64, threads: &[(u64, u32)]) -> Self {
        let start = Bytes::new().i64(at).u32(threads.len() as u32);
        let content = threads.iter().fold(start, |bytes, (thread, last)| bytes.u64(*thread).u32(*last));
        self.block("SPBlock", 2, content)
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.push(1);
        self.0
    }
}
