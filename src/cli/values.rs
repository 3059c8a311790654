//! Values people type: durations and lists of generations.

use std::time::Duration;

/// `90s`, `1.5h`, `250ms`, `45` (seconds), or the .NET tools' `[[dd:]hh:]mm:ss`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("`{text}` is no duration; examples: 30s, 5ms, 1.5h, 00:01:30, 01:00:00:00");
    let seconds = if text.contains(':') {
        let parts: Vec<u64> = text.split(':').map(str::parse).collect::<Result<_, _>>().map_err(|_| bad())?;
        let units = [86_400, 3_600, 60, 1];
        let skip = units.len().checked_sub(parts.len()).ok_or_else(bad)?;
        parts.iter().zip(&units[skip..]).map(|(n, unit)| *n as f64 * f64::from(*unit)).sum()
    } else {
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(at);
        let scale = match unit.trim() {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" | "" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(bad()),
        };
        number.parse::<f64>().map_err(|_| bad())? * scale
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| bad())
}

/// One generation: 0, 1 or 2.
pub(crate) fn generation(text: &str) -> Result<u8, String> {
    match text.trim().trim_start_matches("gen") {
        "0" => Ok(0),
        "1" => Ok(1),
        "2" => Ok(2),
        _ => Err(format!("`{text}` is no generation; they are 0, 1 and 2")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_both_worlds() {
        let secs = |t| duration(t).map(|d| d.as_secs_f64());
        assert_eq!(secs("30s"), Ok(30.0));
        assert_eq!(secs("250ms"), Ok(0.25));
        assert_eq!(secs("1.5h"), Ok(5400.0));
        assert_eq!(secs("45"), Ok(45.0));
        assert_eq!(secs("01:30"), Ok(90.0));
        assert_eq!(secs("01:00:00:01"), Ok(86_401.0));
        for bad in ["", "x", "5 parsecs", "1:2:3:4:5", "-3s", "1e999s", "a:b", "."] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
