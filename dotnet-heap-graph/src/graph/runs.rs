//! Which frame of the file has an object.

use super::survey::Run;

/// All runs of the file.
#[derive(Debug)]
pub(crate) struct Runs {
    /// In the order of the file.
    runs: Vec<Run>,
    /// The same in the order of the objects' numbers.
    order: Vec<u32>,
}

impl Runs {
    pub(crate) fn new(runs: Vec<Run>, order: Vec<u32>) -> Self {
        Self { runs, order }
    }

    /// Place of the frame that has an object, among the frames of the file.
    pub(crate) fn frame_of(&self, object: u32) -> Option<usize> {
        let run = |index: &u32| self.runs.get(*index as usize);
        let behind =
            self.order.partition_point(|index| run(index).is_some_and(|run| run.first_number <= object));
        self.order.get(behind.checked_sub(1)?).and_then(run).map(|run| run.frame as usize)
    }

    /// The runs of each frame that has objects, in the order of the file.
    pub(crate) fn by_frame(&self) -> Vec<&[Run]> {
        self.runs.chunk_by(|a, b| a.frame == b.frame).collect()
    }
}
