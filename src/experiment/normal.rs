//! The normal distribution.

/// The share of a standard normal distribution above `z`. Its relative error is below 2e-7.
pub(super) fn above(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

/// The `z` above which this share lies, for a share from 0 to 0.5, both exclusive.
pub(super) fn exceeded_by(share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if above(middle) > share { low = middle } else { high = middle }
    }
    low
}

/// The complementary error function: a Chebyshev fit.
fn erfc(x: f64) -> f64 {
    const FIT: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let exponent = FIT.iter().rev().fold(0.0, |sum, factor| sum * t + factor);
    let of_positive = t * (exponent - x * x).exp();
    if x < 0.0 { 2.0 - of_positive } else { of_positive }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_published_tables() {
        for (z, share) in [(0.0, 0.5), (1.0, 0.158_655_25), (1.959_964, 0.025), (3.290_527, 0.0005)] {
            assert!((above(z) / share - 1.0).abs() < 1e-5, "{z}: {}", above(z));
            assert!((above(-z) - (1.0 - share)).abs() < 1e-6, "{z}");
        }
        assert!((exceeded_by(0.025) - 1.959_964).abs() < 1e-5);
        assert!((exceeded_by(0.2) - 0.841_621).abs() < 1e-5);
    }
}
