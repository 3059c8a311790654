//! Writes small `.gcdump` files byte by byte, right ones and wrong ones.

/// What is in the file. By default two objects that refer to each other, and one local variable that holds the first.
#[derive(Clone, Debug)]
pub(crate) struct GcDump {
    pub(crate) version: i32,
    pub(crate) minimum_reader: i32,
    pub(crate) is_64_bit: bool,
    pub(crate) places: Vec<u32>,
    pub(crate) blob: Vec<u8>,
    pub(crate) addresses: Vec<u64>,
    /// Start, end, and the ends of generations 0 to 4.
    pub(crate) segment: Option<[u64; 7]>,
}

impl Default for GcDump {
    fn default() -> Self {
        Self {
            version: 10,
            minimum_reader: 8,
            is_64_bit: true,
            places: vec![2, 5, 8],
            // For each node: its type times 2, how many references, and how far each goes.
            blob: vec![0, 0, 1 << 1, 1, 1, 2 << 1, 1, 1, 2 << 1, 1, 0x7f],
            addresses: vec![0, 0x1000, 0x1020],
            segment: None,
        }
    }
}

#[derive(Default)]
struct Out(Vec<u8>);

impl Out {
    fn i32(&mut self, value: i32) {
        self.0.extend(value.to_le_bytes());
    }

    fn i64(&mut self, value: i64) {
        self.0.extend(value.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.i32(text.len() as i32);
        self.0.extend(text.bytes());
    }

    /// Begins an object, and describes its type.
    fn object(&mut self, name: &str, version: i32, minimum_reader: i32) {
        self.0.extend([4, 4, 1]);
        self.i32(version);
        self.i32(minimum_reader);
        self.text(name);
        self.0.push(6);
    }
}

impl GcDump {
    pub(crate) fn build(&self) -> Vec<u8> {
        let mut out = Out::default();
        out.text("!FastSerialization.1");
        out.object("GCHeapDump", self.version, self.minimum_reader);
        out.object("Graphs.MemoryGraph", 1, 0);
        out.i64(48);
        out.i32(0);
        out.i32(3);
        for (name, size) in [("UNDEFINED", 0), ("[local vars]", 0), ("Thing", 24)] {
            out.text(name);
            out.i32(size);
            out.i32(-1);
        }
        out.i32(self.places.len() as i32);
        self.places.iter().for_each(|place| out.i32(place.cast_signed()));
        out.i32(self.blob.len() as i32);
        out.0.extend(&self.blob);
        out.i32(self.addresses.len() as i32);
        self.addresses.iter().for_each(|address| out.i64(address.cast_signed()));
        out.0.extend([8, u8::from(self.is_64_bit), 6]);

        out.0.push(1);
        out.0.extend(1.0_f32.to_le_bytes());
        out.0.extend(1.0_f32.to_le_bytes());
        out.0.push(1);
        match self.segment {
            Some(segment) => {
                out.object("DotNetHeapInfo", 0, 0);
                out.i64(0);
                out.i32(1);
                out.object("GCHeapDumpSegment", 1, 1);
                segment.iter().for_each(|number| out.i64(number.cast_signed()));
                out.0.extend([6, 6]);
            }
            None => out.0.push(1),
        }
        // No log, no time, no machine, no process, no sizes, and no multipliers.
        out.i32(-1);
        out.i64(0);
        out.i32(-1);
        out.i32(-1);
        out.i32(0);
        out.i64(0);
        out.i64(0);
        out.i32(0);
        out.0.extend([6, 6]);
        out.0
    }
}
