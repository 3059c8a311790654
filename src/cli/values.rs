//! Parses the values of options: durations, sizes, generations and others.

use std::time::Duration;

use crate::gc::facts::{Sample, StepBackLimits, WindowLength};
use crate::gc::generation::Generation;
use crate::gc::record::Level;
use crate::watch::recording::Rotation;

/// `90s`, `1.5h`, `250ms`, `45` (seconds), or the .NET tools' `[[dd:]hh:]mm:ss`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("`{text}` is not a duration; examples: 30s, 5ms, 1.5h, 00:01:30, 01:00:00:00");
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

/// A duration with its unit: in a pause, some would read a bare number as milliseconds, others as seconds.
pub(crate) fn pause(text: &str) -> Result<Duration, String> {
    if text.parse::<f64>().is_ok() {
        return Err(format!("`{text}` has no unit; did you mean {text}ms?"));
    }
    duration(text)
}

/// `100MiB`, `1.5GB`, `64M`, `4096B`: kB, MB, GB, TB are powers of 1000, all others of 1024.
fn size(text: &str) -> Result<u64, String> {
    if text.parse::<f64>().is_ok() {
        return Err(format!("`{text}` has no unit; did you mean {text}MiB?"));
    }
    let bad = || format!("`{text}` is not a size; examples: 100MiB, 1.5GB, 64M, 4096B");
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let unit = unit.trim().to_ascii_lowercase();
    let (prefix, base) = match unit.strip_suffix('b').unwrap_or(&unit) {
        two if two.len() == 2 && two.ends_with('i') => (&two[..1], 1024.0_f64),
        prefix if unit.ends_with('b') => (prefix, 1000.0),
        prefix => (prefix, 1024.0),
    };
    let power = ["", "k", "m", "g", "t"].iter().position(|p| *p == prefix).ok_or_else(bad)?;
    let bytes = number.parse::<f64>().map_err(|_| bad())? * base.powi(power as i32);
    // Up to 2^53 an f64 is exact, and no disk is larger.
    if (1.0..9e15).contains(&bytes) { Ok(bytes as u64) } else { Err(bad()) }
}

/// `100MiB,10`: a size, and the number of files to keep; 0: all.
pub(crate) fn rotation(text: &str) -> Result<Rotation, String> {
    let (bytes, files) =
        text.split_once(',').ok_or_else(|| "a size and a number of files, such as 100MiB,10".to_owned())?;
    let files = match files.trim().parse::<u32>() {
        Ok(0) => None,
        Ok(1) => return Err(
            "keep at least 2 files, because gcwatch needs the previous one while it writes the next; 0 keeps all"
                .to_owned(),
        ),
        Ok(n) => Some(n),
        Err(_) => return Err(format!("`{files}` is not a number of files")),
    };
    Ok(Rotation { bytes: size(bytes.trim())?, files, keep: None })
}

/// `5`, `5%` or `2.5 %`: a percentage from 0 on.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>();
    number
        .ok()
        .filter(|percent| (0.0..=1e6).contains(percent))
        .ok_or_else(|| format!("`{text}` is not a percentage; examples: 5, 2.5%"))
}

/// `1/30s`: a number of collections, or `2s/30s`: a length of time, once per interval.
pub(crate) fn sample(text: &str) -> Result<Sample, String> {
    const MIN_INTERVAL: Duration = Duration::from_secs(1);
    const MAX_INTERVAL: Duration = Duration::from_secs(30 * 86_400);
    let bad = "a window and an interval, such as 1/30s (1 collection every 30 s) or 2s/30s";
    let (each, every) = text.split_once('/').ok_or_else(|| bad.to_owned())?;
    let (each, every) = (each.trim(), duration(every.trim())?);
    if !(MIN_INTERVAL..=MAX_INTERVAL).contains(&every) {
        return Err(format!("an interval is 1 s to 30 d long; {bad}"));
    }
    let each = match each.parse::<u32>() {
        Ok(0) => return Err(format!("a window without a collection shows nothing; {bad}")),
        Ok(n) => WindowLength::Gcs(n),
        Err(_) => WindowLength::Time(duration(each).map_err(|_| format!("`{each}` is not a window; {bad}"))?),
    };
    if let WindowLength::Time(time) = each {
        // To load and detach the profiler takes 0.5 s.
        if time < Duration::from_millis(1) || time + Duration::from_millis(500) > every {
            let what = "a window must be at least 0.5 s shorter than its interval";
            return Err(format!("{what}; use --level roots without --sample to watch continuously"));
        }
    }
    Ok(Sample { each, every, between: Level::Basic })
}

/// `1%,250ms`: a share of the time, and the length of one pause.
pub(crate) fn step_back(text: &str) -> Result<StepBackLimits, String> {
    let bad = || format!("`{text}` is not PERCENT,TIME, such as 1%,250ms");
    let (share, time) = text.split_once(',').ok_or_else(bad)?;
    let share: f64 = share.trim().strip_suffix('%').ok_or_else(bad)?.trim().parse().map_err(|_| bad())?;
    if !(0.0..=100.0).contains(&share) {
        return Err(format!("a share is 0% to 100%, not `{text}`"));
    }
    let max_pause_ms = u32::try_from(pause(time.trim())?.as_millis()).unwrap_or(u32::MAX);
    Ok(StepBackLimits { share_ppm: (share * 1e4).round() as u32, max_pause_ms })
}

/// One generation: 0, 1 or 2.
pub(crate) fn generation(text: &str) -> Result<Generation, String> {
    match text.trim().trim_start_matches("gen") {
        "0" => Ok(Generation::GEN0),
        "1" => Ok(Generation::GEN1),
        "2" => Ok(Generation::GEN2),
        _ => Err(format!("`{text}` is not a generation; they are 0, 1 and 2")),
    }
}

/// A regular expression with one group.
pub(crate) fn pattern(text: &str) -> Result<regex::Regex, String> {
    const MAX_PROGRAM_BYTES: usize = 1 << 20;
    let built = regex::RegexBuilder::new(text).size_limit(MAX_PROGRAM_BYTES).build();
    let pattern = built.map_err(|e| format!("`{text}` is no regular expression: {e}"))?;
    // The whole match is a group, too.
    match pattern.captures_len() {
        2 => Ok(pattern),
        groups => Err(format!(
            "`{text}` has {} groups; put one group around the number, such as `([0-9.]+) requests/s`",
            groups - 1
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_with_units_and_as_in_the_dotnet_tools() {
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

    #[test]
    fn samples() {
        let of = |text| sample(text).map(|s| (s.each, s.every.as_millis()));
        assert_eq!(of("1/30s"), Ok((WindowLength::Gcs(1), 30_000)));
        assert_eq!(of("3 / 1m"), Ok((WindowLength::Gcs(3), 60_000)));
        assert_eq!(of("2s/30s"), Ok((WindowLength::Time(Duration::from_secs(2)), 30_000)));
        assert_eq!(of("250ms/00:01:00"), Ok((WindowLength::Time(Duration::from_millis(250)), 60_000)));
        for bad in ["", "1", "1/", "/30s", "0/30s", "1/0.5s", "1/31d", "x/30s", "30s/30s", "0s/30s", "-1/30s"]
        {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn limits_of_stepping_back() {
        let of = |text| step_back(text).map(|limits| (limits.share_ppm, limits.max_pause_ms));
        assert_eq!(of("1%,250ms"), Ok((10_000, 250)));
        assert_eq!(of("0.05 % , 1s"), Ok((500, 1000)));
        assert_eq!(of("100%,1h"), Ok((1_000_000, 3_600_000)));
        for bad in ["", "1%", "1,250ms", "101%,1s", "-1%,1s", "x%,1s", "1%,x", "1%,250", "NaN%,1s"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rotations() {
        let of = |text| rotation(text).map(|r| (r.bytes, r.files));
        assert_eq!(of("100MiB,10"), Ok((100 << 20, Some(10))));
        assert_eq!(of("1.5GB, 2"), Ok((1_500_000_000, Some(2))));
        assert_eq!(of("64M,0"), Ok((64 << 20, None)));
        assert_eq!(of("64k,2"), Ok((64 << 10, Some(2))));
        assert_eq!(of("1kb,2"), Ok((1000, Some(2))));
        assert_eq!(of("4096B,3"), Ok((4096, Some(3))));
        assert_eq!(of("1,3"), Err("`1` has no unit; did you mean 1MiB?".to_owned()));
        assert_eq!(pause("80"), Err("`80` has no unit; did you mean 80ms?".to_owned()));
        assert_eq!(pause("80ms"), Ok(Duration::from_millis(80)));
        assert_eq!(of("10b,3"), Ok((10, Some(3))));
        for bad in
            ["100MiB", "100MiB,1", "0,2", "x,2", "5Xi,2", "5i,2", "1,-1", "1,x", ",2", "1e9,2", "99999TB,2"]
        {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
