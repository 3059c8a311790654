//! Random numbers for mutators.

/// Numbers at the edges of ranges.
pub(crate) const EDGES: [u64; 14] = [
    0,
    1,
    2,
    5,
    16,
    255,
    256,
    976,
    977,
    u16::MAX as u64,
    u32::MAX as u64,
    1 << 32,
    i64::MAX as u64,
    u64::MAX,
];

/// Generates random numbers, the same for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u32) -> Self {
        Self(seed.into())
    }

    /// A number below `n`; 0 if there is none.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}
