//! Numbers as people read them.

use std::time::Duration;

/// `0.4 ms`, `350 ms`, `1.2 s`, `3 min 20 s`
pub fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 100.0 => format!("{s:.1} s"),
        s => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
    }
}

/// `1,234,567`
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 state`, `2 states`
pub fn plural(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// `640 B`, `1.5 MB`, `2.0 GB`
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if number < 1000 {
        return format!("{number} B");
    }
    let mut size = number as f64 / 1000.0;
    let mut unit = 0;
    while size >= 1000.0 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(time(Duration::from_micros(380)), "0.4 ms");
        assert_eq!(time(Duration::from_millis(350)), "350 ms");
        assert_eq!(time(Duration::from_millis(1234)), "1.2 s");
        assert_eq!(time(Duration::from_secs(200)), "3 min 20 s");
        assert_eq!([count(7), count(1000), count(1234567)], ["7", "1,000", "1,234,567"]);
        assert_eq!([plural(1, "state"), plural(2, "state")], ["1 state", "2 states"]);
        assert_eq!(
            [bytes(640), bytes(1_500_000), bytes(2_000_000_000)],
            ["640 B", "1.5 MB", "2.0 GB"]
        );
    }
}
