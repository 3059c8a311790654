//! The trace object: clock and process of a stream.

use std::time::{Duration, SystemTime};

use super::bytes::{Bytes, Malformed, Result};

/// The trace object of a stream: its clock, process and machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceInfo {
    /// Version of the format that a reader must support: 4 (also for "version 5") or 6.
    pub version: u32,
    /// UTC at [`sync_timestamp`](Self::sync_timestamp), in nanoseconds since 1970, precise to a millisecond.
    pub sync_time_utc: i64,
    /// The stream's clock at [`sync_time_utc`](Self::sync_time_utc), in ticks.
    pub sync_timestamp: i64,
    /// Ticks per second, more than 0. 10^9 on Linux and macOS, commonly 10^7 on Windows.
    pub frequency: i64,
    /// Size of a pointer in the traced process: 4 or 8 bytes.
    pub pointer_size: u32,
    /// Process id in the PID namespace of the traced process. 0 if unknown (version 6).
    pub process_id: u32,
    /// Number of processors that the runtime sees. 0 if unknown (version 6).
    pub processors: u32,
    /// Expected interval between CPU samples, in nanoseconds. 0 if unknown.
    pub sampling_period_ns: u32,
    /// All properties of the trace block, as key and value (version 6).
    pub properties: Vec<(Box<str>, Box<str>)>,
}

impl TraceInfo {
    /// Length in bytes of the trace object in versions 4 and 5, which do not state it.
    pub(super) const V4_BYTES: usize = 48;

    /// Nanoseconds from [`sync_timestamp`](Self::sync_timestamp) to a timestamp in ticks, rounded towards 0. Exact if
    /// the frequency divides 10^9. Saturates at 292 years.
    pub fn nanoseconds(&self, ticks: i64) -> i64 {
        const SECOND: i64 = 1_000_000_000;
        let delta = ticks.saturating_sub(self.sync_timestamp);
        match self.frequency {
            SECOND => delta,
            frequency if frequency > 0 && SECOND % frequency == 0 => delta.saturating_mul(SECOND / frequency),
            frequency => {
                let exact = i128::from(delta) * i128::from(SECOND) / i128::from(frequency.max(1));
                exact.clamp(i64::MIN.into(), i64::MAX.into()) as i64
            }
        }
    }

    /// The time of a timestamp in ticks. The clock of the stream is as exact as its frequency, its beginning to a
    /// millisecond.
    pub fn time(&self, ticks: i64) -> SystemTime {
        system_time(self.sync_time_utc.saturating_add(self.nanoseconds(ticks)))
    }

    pub(super) fn parse_v4(payload: &[u8]) -> Result<Self> {
        let mut bytes = Bytes::new(payload);
        let mut info = Self::clock(&mut bytes, 4)?;
        info.process_id = bytes.u32()?;
        info.processors = bytes.u32()?;
        info.sampling_period_ns = bytes.u32()?;
        Ok(info)
    }

    /// Reads the part that is the same in all versions.
    pub(super) fn clock(bytes: &mut Bytes<'_>, version: u32) -> Result<Self> {
        let mut date = [0; 8];
        for part in &mut date {
            *part = bytes.i16()?;
        }
        let info = Self {
            version,
            sync_time_utc: unix_ns(date),
            sync_timestamp: bytes.i64()?,
            frequency: bytes.i64()?,
            pointer_size: bytes.u32()?,
            process_id: 0,
            processors: 0,
            sampling_period_ns: 0,
            properties: Vec::new(),
        };
        if info.frequency <= 0 {
            return Err(Malformed("the clock's frequency is not a positive number"));
        }
        if !matches!(info.pointer_size, 4 | 8) {
            return Err(Malformed("the pointer size is neither 4 nor 8"));
        }
        Ok(info)
    }
}

/// Unix time in nanoseconds as a time. 1970 if the system cannot represent it.
pub(super) fn system_time(unix_ns: i64) -> SystemTime {
    let distance = Duration::from_nanos(unix_ns.unsigned_abs());
    let time = match unix_ns {
        0.. => SystemTime::UNIX_EPOCH.checked_add(distance),
        _ => SystemTime::UNIX_EPOCH.checked_sub(distance),
    };
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A Windows SYSTEMTIME (year, month, day of week, day, hour, minute, second, millisecond) as Unix time.
pub(super) fn unix_ns([year, month, _, day, hour, minute, second, millisecond]: [i16; 8]) -> i64 {
    // Days since 1970 in the proleptic Gregorian calendar, counting years from March.
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days =
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    let seconds = days * 86_400 + i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(millisecond) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_clock(frequency: i64, sync_timestamp: i64) -> TraceInfo {
        let mut payload = Vec::new();
        for part in [2026_i16, 11, 6, 21, 3, 22, 59, 7] {
            payload.extend(part.to_le_bytes());
        }
        payload.extend(sync_timestamp.to_le_bytes());
        payload.extend(frequency.to_le_bytes());
        for part in [8_u32, 1, 2, 0] {
            payload.extend(part.to_le_bytes());
        }
        TraceInfo::parse_v4(&payload).unwrap()
    }

    #[test]
    fn dates_are_unix_time() {
        // `date -u -d '2026-11-21 03:22:59' +%s`
        assert_eq!(with_clock(1, 0).sync_time_utc, 1_795_231_379_007_000_000);
        assert_eq!(unix_ns([1970, 1, 4, 1, 0, 0, 0, 0]), 0);
        assert_eq!(unix_ns([2000, 2, 2, 29, 0, 0, 0, 0]), 951_782_400_000_000_000);
        assert_eq!(unix_ns([i16::MAX; 8]), i64::MAX);
        assert_eq!(unix_ns([i16::MIN; 8]), i64::MIN);
    }

    #[test]
    fn ticks_become_nanoseconds_exactly() {
        let linux = with_clock(1_000_000_000, 1_000);
        assert_eq!(linux.nanoseconds(1_001), 1);
        assert_eq!(linux.nanoseconds(i64::MIN), i64::MIN);
        let windows = with_clock(10_000_000, 1_000);
        assert_eq!(windows.nanoseconds(1_000 + 86_400 * 10_000_000 + 1), 86_400_000_000_100);
        assert_eq!(windows.nanoseconds(i64::MAX), i64::MAX);
        let acpi = with_clock(3_579_545, 0);
        assert_eq!(acpi.nanoseconds(3_579_545 * 1_000_000_000), 1_000_000_000_000_000_000);
        assert_eq!(acpi.nanoseconds(1), 279);
    }

    #[test]
    fn an_impossible_clock_is_refused() {
        let mut payload = [0; TraceInfo::V4_BYTES];
        payload[32] = 8;
        assert!(TraceInfo::parse_v4(&payload).is_err(), "frequency 0");
        payload[24] = 1;
        assert!(TraceInfo::parse_v4(&payload).is_ok());
        payload[32] = 5;
        assert!(TraceInfo::parse_v4(&payload).is_err(), "pointer size 5");
    }
}
