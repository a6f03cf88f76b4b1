//! Amounts of memory and time as people write them: `2G`, `512M`, `30s`, `5m`.

use check::fix::orders::Costs;
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

/// A line of a file, or of any file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    /// The end of the file's name, if one is given.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: usize,
}

impl Line {
    /// Is it this line of this file?
    pub(crate) fn is(&self, file: &str, line: usize) -> bool {
        let named = |end: &String| std::path::Path::new(file).ends_with(end);
        self.line == line && self.file.as_ref().is_none_or(named)
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file}:{}", self.line),
            None => write!(f, "{}", self.line),
        }
    }
}

/// `12` or `queue.h:12`
pub(crate) fn line(text: &str) -> Result<Line, String> {
    let (file, number) = match text.rsplit_once(':') {
        Some((file, number)) => (Some(file.to_string()), number),
        None => (None, text),
    };
    match number.parse() {
        Ok(line) if line > 0 => Ok(Line { file, line }),
        _ => Err("expected a line such as 12, or queue.h:12".into()),
    }
}

/// A table of costs, by its name or from a file.
pub(crate) fn costs(text: &str) -> Result<Costs, String> {
    if let Some(known) = Costs::named(text) {
        return Ok(known);
    }
    let table = std::fs::read_to_string(text).map_err(|error| {
        format!("not one of generic, x86, arm and power, and as a file it cannot be read: {error}")
    })?;
    let mut costs = Costs::GENERIC;
    for (number, row) in table.lines().enumerate() {
        let row = row.split('#').next().unwrap_or_default().trim();
        if row.is_empty() {
            continue;
        }
        let wrong = |why: &str| format!("line {} of {text}: {why}", number + 1);
        let (name, value) = row.split_once('=').ok_or_else(|| wrong("expected `NAME = NUMBER`"))?;
        let value: u32 = value.trim().parse().map_err(|_| wrong("the cost is not a number"))?;
        let cost = costs.by_name(name.trim()).ok_or_else(|| {
            wrong(&format!("`{}` is none of {}", name.trim(), Costs::NAMES.join(", ")))
        })?;
        *cost = value.into();
    }
    Ok(costs)
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
