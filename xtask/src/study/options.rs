//! What a study is asked for.

use std::path::PathBuf;

use crate::Clr;

/// What a study needs.
#[derive(Debug)]
pub struct Options {
    /// The gcwatch that watches and compares.
    pub gcwatch: PathBuf,
    /// The runtime of the programs.
    pub clr: Clr,
    /// Where the runs are kept.
    pub dir: PathBuf,
    /// How many runs are made.
    pub size: Size,
    /// The [changes](super::CHANGES) that are tried.
    pub changes: Vec<&'static str>,
}

/// How many runs a study makes.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Pairs of the unchanged program with itself.
    pub pairs: usize,
    /// Pairs of the unchanged program with each change.
    pub detect: usize,
    /// Runs of each side of a pair.
    pub runs: usize,
    /// Runs of each program at each level that show how well the metrics repeat.
    pub repeats: usize,
}
