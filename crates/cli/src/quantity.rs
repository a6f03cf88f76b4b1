//! Amounts of memory and time as people write them: `2G`, `512M`, `30s`, `5m`.

use std::time::Duration;

/// A number of bytes: `1000`, `64K`, `512M`, `2G`, `1.5GiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor: u64 = match unit.to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return Err(format!("`{text}` is no size; write for instance 512M or 2G")),
    };
    scaled(number, factor as f64)
        .map(|bytes| bytes as u64)
        .ok_or_else(|| format!("`{text}` is no size; write for instance 512M or 2G"))
}

/// A span of time: `500ms`, `30s`, `5m`, `2h`, `1.5h`; seconds without a unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{text}` is no time; write for instance 30s, 5m or 2h")),
    };
    scaled(number, seconds)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("`{text}` is no time; write for instance 30s, 5m or 2h"))
}

/// A count: `1000000`, `200K`, `10M`, `1G`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" => 1e0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        _ => return Err(format!("`{text}` is no number; write for instance 200000 or 10M")),
    };
    scaled(number, factor)
        .map(|count| count as u64)
        .ok_or_else(|| format!("`{text}` is no number; write for instance 200000 or 10M"))
}

/// The number and the unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn scaled(number: &str, factor: f64) -> Option<f64> {
    let number: f64 = number.replace('_', "").parse().ok()?;
    let scaled = number * factor;
    (scaled.is_finite() && (0.0..1e18).contains(&scaled)).then_some(scaled)
}

/// Four fifths of the memory that is free, where the system tells.
pub(crate) fn spare_memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024 / 5 * 4)
}

/// What a function does that no file defines: `NAME=ignore`, `NAME=7` or `NAME=stop`.
pub(crate) fn stub(text: &str) -> Result<(String, vm::Stub), String> {
    let wanted = "expected NAME=ignore, NAME=stop or NAME= and a number";
    let (name, what) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or(wanted)?;
    let stub = match what {
        "ignore" => vm::Stub::Ignore,
        "stop" => vm::Stub::Stop,
        number => vm::Stub::Return(number.parse().map_err(|_| wanted.to_string())?),
    };
    Ok((name.to_string(), stub))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(bytes("1000"), Ok(1000));
        assert_eq!(bytes("64K"), Ok(64 << 10));
        assert_eq!(bytes("1.5GiB"), Ok(3 << 29));
        assert_eq!(bytes("2gb"), Ok(2 << 30));
        for wrong in ["", "G", "-1", "1X", "1e400", "1.2.3", "9999999999999999999999"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1.5h"), Ok(Duration::from_secs(5400)));
        assert!(duration("5x").is_err() && duration("s").is_err());
    }

    #[test]
    fn counts() {
        assert_eq!(count("10M"), Ok(10_000_000));
        assert_eq!(count("1_000"), Ok(1000));
        assert!(count("ten").is_err());
    }
}
