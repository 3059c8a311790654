//! Numbers for people: bytes, times, counts, shares. Three significant digits, or all where they need no more room.

use crate::assertion::Unit;
use crate::gc::generation::Generation;
use crate::gc::record::Kind;

/// The unit of sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Units {
    /// Powers of 1024: KiB, MiB.
    #[default]
    Iec,
    /// Powers of 1000: kB, MB.
    Si,
    /// Plain numbers of bytes.
    Bytes,
}

const IEC: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const SI: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];

impl Units {
    fn base(self) -> f64 {
        match self {
            Units::Iec => 1024.0,
            Units::Si | Units::Bytes => 1000.0,
        }
    }

    /// The largest power of the base that leaves at least one digit before the point.
    fn natural_power(self, bytes: u64) -> u32 {
        if self == Units::Bytes {
            return 0;
        }
        let (mut value, mut power) = (bytes as f64, 0);
        while value >= 999.5 && power < 6 {
            value /= self.base();
            power += 1;
        }
        power
    }

    fn scale(self, bytes: u64, power: u32) -> f64 {
        bytes as f64 / self.base().powi(power as i32)
    }

    /// One letter, as `ls -h` writes it; nothing for plain bytes.
    fn letter(self, power: u32) -> &'static str {
        match (self, power) {
            (Units::Bytes, _) => "",
            (Units::Si, 1) => "k",
            _ => ["B", "K", "M", "G", "T", "P", "E"][power.min(6) as usize],
        }
    }
}

/// A size with its unit: `251 MiB`, `1.21 GiB`, `512 B`.
pub(crate) fn bytes(bytes: u64, units: Units) -> String {
    let power = units.natural_power(bytes);
    if power == 0 {
        return format!("{bytes} B");
    }
    let names = if units == Units::Si { SI } else { IEC };
    format!("{} {}", digits(units.scale(bytes, power)), names[power as usize])
}

/// A bound of a histogram, which is a power of two: exact in every unit.
pub(crate) fn bound(bytes: u64, units: Units) -> String {
    let power = (bytes.trailing_zeros() / 10).min(6);
    match units {
        Units::Iec if bytes > 0 => format!("{} {}", bytes >> (10 * power), units.letter(power)),
        _ => format!("{bytes} B"),
    }
}

/// Three significant digits in four characters: `3.75`, `52.5`, ` 121`.
fn digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// The sizes of a column. The unit stays the same as long as the numbers are readable in it.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    units: Units,
    power: Option<u32>,
}

impl Scale {
    /// A column without numbers.
    pub(crate) fn new(units: Units) -> Scale {
        Scale { units, power: None }
    }

    /// Width of a number and its letter.
    pub(crate) fn width(units: Units) -> usize {
        if units == Units::Bytes { 11 } else { 5 }
    }

    fn settle(&mut self, bytes: u64) -> u32 {
        let natural = self.units.natural_power(bytes);
        let power = match self.power {
            _ if bytes == 0 => return self.power.unwrap_or(natural),
            Some(power) if (0.1..999.5).contains(&self.units.scale(bytes, power)) => power,
            _ => natural,
        };
        self.power = Some(power);
        power
    }

    fn number(&self, bytes: u64, power: u32) -> String {
        if power == 0 { bytes.to_string() } else { digits(self.units.scale(bytes, power)) }
    }

    /// `61.2M`; a zero has no unit.
    pub(crate) fn one(&mut self, bytes: u64) -> String {
        let power = self.settle(bytes);
        if bytes == 0 {
            return "0".to_owned();
        }
        format!("{}{}", self.number(bytes, power), self.units.letter(power))
    }

    /// Two sizes in the unit of the larger one: (`121`, `52.5M`).
    pub(crate) fn pair(&mut self, a: u64, b: u64) -> (String, String) {
        let power = self.settle(a.max(b));
        let second = format!("{}{}", self.number(b, power), self.units.letter(power));
        (self.number(a, power), second)
    }
}

/// A number in at most `width` characters where that can be: exact if it fits, else `12k`, `1.2M`.
pub(crate) fn compact(n: u64, width: usize) -> String {
    let exact = n.to_string();
    if exact.len() <= width {
        return exact;
    }
    let mut best = exact;
    for (factor, letter) in [(1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"), (1e18, "E")] {
        let value = n as f64 / factor;
        if value < 0.95 {
            break;
        }
        for decimals in [2, 1, 0] {
            let text = format!("{value:.decimals$}{letter}");
            if text.len() <= width {
                return text;
            }
            if text.len() < best.len() {
                best = text;
            }
        }
    }
    best
}

/// A count: exact below ten thousand, then three significant digits: `612`, `12.7k`, `1.20M`.
pub(crate) fn count(n: u64) -> String {
    if n < 10_000 {
        return n.to_string();
    }
    let (mut value, mut letters) = (n as f64, ["k", "M", "G", "T", "P", "E"].into_iter());
    let mut letter = "";
    while value >= 999.5 {
        value /= 1e3;
        letter = letters.next().unwrap_or(letter);
    }
    format!("{}{letter}", digits(value))
}

/// A time with three significant digits: `853 ns`, `43.1 µs`, `3.75 ms`, `12.4 s`, `2m05s`.
pub(crate) fn duration(ns: u64, unicode: bool) -> String {
    let micro = if unicode { "µs" } else { "us" };
    let v = ns as f64;
    if ns < 1000 {
        format!("{ns} ns")
    } else if v < 999.5e3 {
        format!("{} {micro}", digits(v / 1e3))
    } else if v < 999.5e6 {
        format!("{} ms", digits(v / 1e6))
    } else if v < 99.95e9 {
        format!("{} s", digits(v / 1e9))
    } else {
        let s = ns.saturating_add(500_000_000) / 1_000_000_000;
        match s {
            0..3600 => format!("{}m{:02}s", s / 60, s % 60),
            _ => format!("{}h{:02}m", s / 3600, s / 60 % 60),
        }
    }
}

/// A pause in a column: always ms, the point at the same place up to 100 ms.
pub(crate) fn millis(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    match ms {
        v if v > 0.0 && v < 0.005 => "<0.01 ms".to_owned(),
        v if v < 99.995 => format!("{v:.2} ms"),
        v if v < 999.95 => format!("{v:.1} ms"),
        v if v < 99_999.5 => format!("{v:.0} ms"),
        v => format!("{:.0} s", v / 1e3),
    }
}

/// Seconds since the start, with as many decimals (at most three) as `width` leaves room for.
pub(crate) fn clock(ns: u64, width: usize) -> String {
    let seconds = ns as f64 / 1e9;
    for decimals in [3, 2, 1] {
        let text = format!("{seconds:.decimals$}");
        if text.len() <= width {
            return text;
        }
    }
    format!("{seconds:.0}")
}

/// A share: `5.6 %`, `38 %`.
pub(crate) fn percent(percent: f64) -> String {
    match percent {
        p if p <= 0.0 => "0 %".to_owned(),
        p if p < 0.05 => "<0.1 %".to_owned(),
        p if p < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// A value in its unit. Only percentages and differences can be negative.
pub(crate) fn in_unit(value: f64, unit: Unit, units: Units, unicode: bool) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let whole = value.abs().round() as u64;
    let text = match unit {
        Unit::Ns => duration(whole, unicode),
        Unit::Bytes => bytes(whole, units),
        Unit::BytesPerSecond => format!("{}/s", bytes(whole, units)),
        Unit::Count if value.fract() == 0.0 => count(whole),
        Unit::Count => format!("{:.1}", value.abs()),
        Unit::Percent => percent(value.abs()),
    };
    format!("{sign}{text}")
}

/// A number and what is counted: `1 event`, `12 events`.
pub(crate) fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A generation and kind of collection: `2`, `2b` for background, `1f` for foreground.
pub(crate) fn generation_label(generation: Generation, kind: Option<Kind>) -> String {
    let letter = match kind {
        Some(Kind::Background) => "b",
        Some(Kind::Foreground) => "f",
        Some(Kind::Blocking) | None => "",
    };
    format!("{}{letter}", generation.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_three_digits() {
        let iec = |n| bytes(n, Units::Iec);
        assert_eq!([iec(0), iec(999), iec(1023), iec(1 << 20)], ["0 B", "999 B", "1.00 KiB", "1.00 MiB"]);
        assert_eq!([iec(251 << 20), iec(1_299_227_607)], ["251 MiB", "1.21 GiB"]);
        assert_eq!(iec(u64::MAX), "16.0 EiB");
        assert_eq!(bytes(1_500_000, Units::Si), "1.50 MB");
        assert_eq!(bytes(1_500_000, Units::Bytes), "1500000 B");
        assert_eq!([64, 1024, 65536, 1 << 20].map(|b| bound(b, Units::Iec)), ["64 B", "1 K", "64 K", "1 M"]);
        assert_eq!(bound(65536, Units::Si), "65536 B");
    }

    #[test]
    fn a_column_keeps_its_unit_while_it_can() {
        let mut scale = Scale::new(Units::Iec);
        assert_eq!(scale.one(3 << 20), "3.00M");
        assert_eq!(scale.one(512 << 10), "0.50M");
        assert_eq!(scale.one(0), "0");
        assert_eq!(scale.one(20 << 10), "20.0K");
        assert_eq!(scale.pair(121 << 20, 1 << 16), ("121".to_owned(), "0.06M".to_owned()));
        assert!((0..64).all(|bit| scale.one(1 << bit).len() <= Scale::width(Units::Iec)));
    }

    #[test]
    fn counts_fit_their_width() {
        assert_eq!([count(7), count(612), count(12_700), count(893_400)], ["7", "612", "12.7k", "893k"]);
        assert_eq!([compact(9999, 4), compact(12_700, 4), compact(1_234_567, 4)], ["9999", "13k", "1.2M"]);
        assert_eq!([compact(1234, 3), compact(99_400, 3)], ["1k", "99k"]);
        for width in 4..8 {
            for power in 0..=19 {
                for n in [10u64.pow(power), 10u64.pow(power) - 1, 10u64.pow(power).saturating_mul(9)] {
                    assert!(compact(n, width).len() <= width, "{n} in {width}: {}", compact(n, width));
                }
            }
        }
    }

    #[test]
    fn times_keep_three_digits() {
        let t = |ns| duration(ns, true);
        assert_eq!([t(853), t(43_100), t(3_750_000)], ["853 ns", "43.1 µs", "3.75 ms"]);
        assert_eq!([t(12_400_000_000), t(125_000_000_000)], ["12.4 s", "2m05s"]);
        assert_eq!([t(999_700_000), t(7_380_000_000_000)], ["1.00 s", "2h03m"]);
        assert_eq!([millis(3_754_000), millis(121_340_000)], ["3.75 ms", "121.3 ms"]);
        assert_eq!([millis(0), millis(900), millis(1_234_000_000)], ["0.00 ms", "<0.01 ms", "1234 ms"]);
        assert_eq!([clock(2_104_000_000, 6), clock(12_345_678_900_000, 6)], ["2.104", "12346"]);
        assert_eq!([percent(5.61), percent(38.2), percent(0.01)], ["5.6 %", "38 %", "<0.1 %"]);
    }
}
