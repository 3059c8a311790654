//! How many bytes the samples of a type or a method stand for, and how exact that is.

use super::sample::{Heap, Sample};
use crate::gc::named::named;

/// Mean bytes between two samples of .NET 10.
const MEAN_BYTES: f64 = 102_400.0;

named! {
    /// Where samples come from.
    Source {
        /// AllocationTick.
        Ticks = "ticks",
        /// AllocationSampled.
        Sampled = "sampled",
    }
}

/// Samples added up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Estimate {
    /// Objects that were seen.
    pub(crate) samples: u64,
    /// Bytes of the objects that were seen.
    pub(crate) seen_bytes: u64,
    /// What all objects take, estimated.
    pub(crate) bytes: f64,
    /// How many objects there are, estimated; only by AllocationSampled.
    pub(crate) objects: f64,
    /// The variance of `bytes`; that of ticks has yet to be made smaller by the share.
    pub(crate) variance: f64,
}

impl Estimate {
    pub(super) fn of(sample: &Sample<'_>) -> Estimate {
        let size = sample.object_bytes;
        let own = size as f64;
        let (bytes, objects, variance) = match sample.since_last_bytes {
            Some(amount) => {
                // A large object of more than the ticks' distance was seen for sure.
                let sure = if sample.heap == Heap::Large { own.min(amount as f64) } else { 0.0 };
                let guessed = amount as f64 - sure;
                (amount as f64, 0.0, guessed * guessed)
            }
            None => {
                let seen = -(-own / MEAN_BYTES).exp_m1();
                if seen > 0.0 {
                    (own / seen, 1.0 / seen, (own / seen).powi(2) * (1.0 - seen))
                } else {
                    (0.0, 0.0, 0.0)
                }
            }
        };
        Estimate { samples: 1, seen_bytes: size, bytes, objects, variance }
    }

    /// With the samples of another.
    pub(crate) fn add(&mut self, more: &Estimate) {
        self.samples = self.samples.saturating_add(more.samples);
        self.seen_bytes = self.seen_bytes.saturating_add(more.seen_bytes);
        self.bytes += more.bytes;
        self.objects += more.objects;
        self.variance += more.variance;
    }

    /// The standard error of `bytes`, as part of `all`. The truth is within twice of it in 95 of 100 cases, where there
    /// are some 30 samples or more.
    pub(crate) fn standard_error(&self, source: Source, all: &Estimate) -> f64 {
        let rest = match source {
            // Of a fixed number of ticks, each has or has not this type.
            Source::Ticks if all.bytes > 0.0 => (1.0 - self.bytes / all.bytes).clamp(0.0, 1.0),
            Source::Ticks => 0.0,
            Source::Sampled => 1.0,
        };
        (self.variance * rest).sqrt()
    }

    /// The share of `all`, from 0 to 1.
    pub(crate) fn share(&self, all: &Estimate) -> f64 {
        if all.bytes > 0.0 { (self.bytes / all.bytes).clamp(0.0, 1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(object_bytes: u64) -> Sample<'static> {
        Sample { heap: Heap::Small, type_name: &[], object_bytes, since_last_bytes: None }
    }

    /// Draws bytes as the runtime does, and compares with what was allocated.
    #[test]
    fn drawn_bytes_give_back_what_was_allocated() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for size in [24, 1_000, 90_000, 1_000_000] {
            let (mut sum, mut count, mut left) = (Estimate::default(), 0_u64, 0.0);
            while count * size < 400_000_000 {
                // The distance to the next drawn byte has a geometric distribution.
                if left <= 0.0 {
                    left = -MEAN_BYTES * random().max(f64::MIN_POSITIVE).ln();
                }
                count += 1;
                left -= size as f64;
                if left <= 0.0 {
                    sum.add(&Estimate::of(&sampled(size)));
                }
            }
            let truth = (count * size) as f64;
            let error = sum.standard_error(Source::Sampled, &sum);
            assert!(
                (sum.bytes - truth).abs() <= 5.0 * error + size as f64,
                "{size}: {} of {truth}",
                sum.bytes
            );
            assert!((sum.objects - count as f64).abs() <= 5.0 * error / size as f64 + 1.0, "{size}");
        }
    }

    #[test]
    fn a_tick_is_sure_of_a_large_object_and_of_the_whole() {
        let tick = |heap, object_bytes, amount| {
            Estimate::of(&Sample { heap, type_name: &[], object_bytes, since_last_bytes: Some(amount) })
        };
        let large = tick(Heap::Large, 200_000, 200_000);
        assert_eq!(large.standard_error(Source::Ticks, &Estimate { bytes: 1e9, ..large }), 0.0);
        let mut all = tick(Heap::Small, 24, 102_400);
        let one = all;
        for _ in 0..99 {
            all.add(&tick(Heap::Small, 24, 102_400));
        }
        assert_eq!(all.standard_error(Source::Ticks, &all), 0.0);
        let error = one.standard_error(Source::Ticks, &all);
        assert!((error / 102_400.0 - 0.99_f64.sqrt()).abs() < 1e-9, "{error}");
    }

    #[test]
    fn objects_without_a_size_do_no_harm() {
        for size in [0, u64::MAX] {
            let estimate = Estimate::of(&sampled(size));
            assert!(estimate.bytes.is_finite() && estimate.objects.is_finite(), "{size}");
        }
    }
}
