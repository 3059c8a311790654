//! Generations, as the runtime numbers them.

use std::fmt;

/// Index into the runtime's arrays of generations. An open set: other numbers are kept and are called "unknown".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Generation(pub(crate) u8);

impl Generation {
    pub(crate) const GEN0: Self = Self(0);
    pub(crate) const GEN1: Self = Self(1);
    pub(crate) const GEN2: Self = Self(2);
    /// The large object heap. It is collected with generation 2 only.
    pub(crate) const LOH: Self = Self(3);
    /// The pinned object heap. It is collected with generation 2 only.
    pub(crate) const POH: Self = Self(4);
    /// Frozen segments, which are never collected.
    pub(crate) const FROZEN: Self = Self(5);

    /// Those that are collected, in the order of the runtime's arrays.
    pub(crate) const COLLECTED: [Self; 5] = [Self::GEN0, Self::GEN1, Self::GEN2, Self::LOH, Self::POH];

    /// The name in text and JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GEN0 => "gen0",
            Self::GEN1 => "gen1",
            Self::GEN2 => "gen2",
            Self::LOH => "loh",
            Self::POH => "poh",
            Self::FROZEN => "frozen",
            _ => "unknown",
        }
    }

    /// Its place in an array of generations.
    pub(crate) fn index(self) -> usize {
        self.0.into()
    }

    /// Whether a collection of this generation collects objects of the other one.
    pub(crate) fn condemns(self, other: Generation) -> bool {
        self >= Self::GEN2 || other <= self
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
