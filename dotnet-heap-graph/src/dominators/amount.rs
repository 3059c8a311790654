//! How many objects, and how many bytes.

use std::ops::{Add, AddAssign, Sub};

/// A number of objects and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many objects.
    pub objects: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

impl Amount {
    /// One object of a size.
    pub fn one(bytes: u64) -> Self {
        Self { objects: 1, bytes }
    }
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            objects: self.objects.saturating_add(other.objects),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Amount {
    type Output = Self;

    /// Not less than nothing.
    fn sub(self, other: Self) -> Self {
        Self {
            objects: self.objects.saturating_sub(other.objects),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

impl std::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}
