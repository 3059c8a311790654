//! A list that gives its memory back from the end.

/// So large that allocators ask the system for each, and give it back.
const PIECE: usize = 1 << 23;

/// Numbers, in pieces.
#[derive(Debug)]
pub(super) struct Pieces {
    pieces: Vec<Vec<u32>>,
}

impl Pieces {
    /// A list of zeros.
    pub(super) fn new(len: usize) -> Self {
        let starts = (0..len).step_by(PIECE);
        Self { pieces: starts.map(|start| vec![0; PIECE.min(len - start)]).collect() }
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<u32> {
        self.pieces.get(at / PIECE)?.get(at % PIECE).copied()
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize, value: u32) {
        let place = self.pieces.get_mut(at / PIECE).and_then(|piece| piece.get_mut(at % PIECE));
        place.into_iter().for_each(|place| *place = value);
    }

    /// Gives back the memory of pieces that are needed only from `len` on.
    #[inline]
    pub(super) fn truncate(&mut self, len: usize) {
        if self.pieces.len() > len.div_ceil(PIECE) {
            self.pieces.truncate(len.div_ceil(PIECE));
        }
    }
}
