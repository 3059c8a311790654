//! Where each object's references begin in the list of all references.

/// A number of a reference, of 32 bits if that suffices for all.
pub(crate) trait Offset: Copy + Default + Send {
    fn from_u64(value: u64) -> Self;
    fn to_u64(self) -> u64;
}

impl Offset for u32 {
    fn from_u64(value: u64) -> Self {
        value as u32
    }

    fn to_u64(self) -> u64 {
        self.into()
    }
}

impl Offset for u64 {
    fn from_u64(value: u64) -> Self {
        value
    }

    fn to_u64(self) -> u64 {
        self
    }
}

/// For each object the number of its first reference, and at the end the number of all references.
#[derive(Debug)]
pub(crate) enum Offsets {
    Small(Vec<u32>),
    Large(Vec<u64>),
}

impl Offsets {
    /// Where the references of an object begin and end. Both are 0 if there is no such object.
    #[inline]
    pub(crate) fn range(&self, object: u32) -> (usize, usize) {
        fn of<T: Offset>(offsets: &[T], object: u32) -> (usize, usize) {
            match offsets.get(object as usize..) {
                Some([start, end, ..]) => (start.to_u64() as usize, end.to_u64() as usize),
                _ => (0, 0),
            }
        }
        match self {
            Self::Small(offsets) => of(offsets, object),
            Self::Large(offsets) => of(offsets, object),
        }
    }
}

/// Removes the references that are [`MISSING`], and returns how many those are.
pub(crate) fn remove_missing<T: Offset>(offsets: &mut [T], targets: &mut Vec<u32>) -> u64 {
    let before = targets.len();
    let (mut start, mut kept) = (0, 0);
    for end in offsets.iter_mut().skip(1) {
        for at in start..end.to_u64() as usize {
            let Some(target) = targets.get(at).copied().filter(|target| *target != MISSING) else { continue };
            if let Some(place) = targets.get_mut(kept) {
                *place = target;
                kept += 1;
            }
        }
        start = end.to_u64() as usize;
        *end = T::from_u64(kept as u64);
    }
    targets.truncate(kept);
    (before - kept) as u64
}

/// A target that is no object.
pub(crate) const MISSING: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_targets_leave_no_holes() {
        let mut offsets = vec![0_u32, 2, 2, 3, 5];
        let mut targets = vec![MISSING, 7, MISSING, 8, MISSING];
        assert_eq!(remove_missing(&mut offsets, &mut targets), 3);
        assert_eq!((offsets, targets), (vec![0, 1, 1, 1, 2], vec![7, 8]));
    }
}
