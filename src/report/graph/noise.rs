//! Growth and noise told apart.

use super::amounts::Amounts;

/// A change of less than this part of the heap is noise.
const SMALL: u64 = 1000;
/// A change of at least this part of the heap is none, whatever else there is.
const LARGE: u64 = 100;

/// Decides which changes are more than noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    small_bytes: u64,
    large_bytes: u64,
}

impl Noise {
    /// `alive_bytes`: what is alive in the second graph.
    pub(crate) fn of(alive_bytes: u64) -> Noise {
        Noise { small_bytes: alive_bytes / SMALL, large_bytes: alive_bytes.div_ceil(LARGE) }
    }

    /// Whether the bytes changed so little that it means nothing.
    pub(crate) fn is_small(self, before: Amounts, after: Amounts) -> bool {
        after.bytes.abs_diff(before.bytes) < self.small_bytes
    }

    /// Whether a change is noise: it is small, or objects come and go, and the difference between those that came and
    /// those that went is not larger than three standard deviations, if all of them came and went by chance.
    pub(crate) fn is(self, new: Amounts, gone: Amounts) -> bool {
        let bytes = new.bytes.abs_diff(gone.bytes);
        let more = new.objects.abs_diff(gone.objects);
        let all = new.objects.saturating_add(gone.objects);
        let by_chance = new.objects.min(gone.objects) > 0
            && u128::from(more).pow(2) <= 9 * u128::from(all)
            && bytes < self.large_bytes;
        by_chance || bytes < self.small_bytes || (new.objects, bytes) == (gone.objects, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(objects: u64) -> Amounts {
        Amounts { objects, bytes: objects * 100 }
    }

    #[test]
    fn what_comes_and_goes_is_noise() {
        let noise = Noise::of(10_000_000);
        let is = |new, gone| noise.is(amount(new), amount(gone));
        assert!(is(99, 0), "less than a thousandth of the heap");
        assert!(!is(100, 0));
        assert!(is(0, 0) && is(5000, 5000));
        assert!(is(5000, 4710), "290 is what chance makes of 9710");
        assert!(!is(5000, 4690));
        assert!(!is(4000, 5000), "less is no noise either");
        assert!(!is(600_000, 598_000), "a hundredth of the heap");
        assert!(!Noise::of(0).is(amount(1), amount(0)));
    }
}
