//! Numbers as LLVM writes them.
//!
//! A `float` or `double` is written in decimal if that is exact, else as the 16 hexadecimal digits of a `double`. Other
//! formats have a letter of their own: `0xK` (80 bits), `0xL` (128), `0xM` (a pair of doubles), `0xH` (half), `0xR`
//! (bfloat).

use crate::types::Float;

/// An integer of at most 128 bits.
pub(super) enum Integer {
    /// Its bits, cut to the width.
    Bits(u128),
    /// The type is wider than 128 bits.
    Wide,
    /// The number does not fit its type.
    TooLarge,
}

/// Reads `-12`, `u0x1F` or `s0x1F` as an integer of a width.
pub(super) fn integer(text: &str, width: u32) -> Integer {
    if width > 128 {
        return Integer::Wide;
    }
    let mask = if width == 128 { u128::MAX } else { (1 << width) - 1 };
    if let Some(digits) = text.strip_prefix("u0x").or_else(|| text.strip_prefix("s0x")) {
        return match u128::from_str_radix(digits, 16) {
            Ok(bits) if bits & !mask == 0 => Integer::Bits(bits),
            _ => Integer::TooLarge,
        };
    }
    let digits = text.trim_start_matches(['-', '+']);
    let Ok(magnitude) = digits.parse::<u128>() else { return Integer::TooLarge };
    if text.starts_with('-') {
        // LLVM prints negative numbers from -2^(width-1) on.
        let lowest = 1u128 << (width - 1);
        if magnitude > lowest {
            return Integer::TooLarge;
        }
        return Integer::Bits(magnitude.wrapping_neg() & mask);
    }
    if magnitude & !mask != 0 { Integer::TooLarge } else { Integer::Bits(magnitude) }
}

/// Reads a floating-point number as the bits of a format; absent if it is no number of that format.
pub(super) fn float(text: &str, format: Float) -> Option<u128> {
    let Some(digits) = text.strip_prefix("0x") else {
        let value: f64 = text.parse().ok()?;
        return from_double(value, format);
    };
    let (letter, digits) = match digits.as_bytes().first()? {
        b'K' | b'L' | b'M' | b'H' | b'R' => (digits.as_bytes()[0], &digits[1..]),
        _ => (b' ', digits),
    };
    if digits.is_empty() || digits.len() > 32 || !digits.bytes().all(|it| it.is_ascii_hexdigit()) {
        return None;
    }
    let bits = u128::from_str_radix(digits, 16).ok()?;
    let fits = |width: u32| (width == 128 || bits >> width == 0).then_some(bits);
    match (letter, format) {
        (b' ', _) => from_double(f64::from_bits(u64::try_from(bits).ok()?), format),
        (b'K', Float::X86Fp80) => fits(80),
        (b'L', Float::Fp128) => swap_halves(digits, bits),
        (b'M', Float::PpcFp128) => swap_halves(digits, bits),
        (b'H', Float::Half) | (b'R', Float::BFloat) => fits(16),
        _ => None,
    }
}

/// The lower 64 bits come first in the text.
fn swap_halves(digits: &str, bits: u128) -> Option<u128> {
    (digits.len() == 32).then(|| bits.rotate_left(64))
}

fn from_double(value: f64, format: Float) -> Option<u128> {
    match format {
        Float::Double => Some(u128::from(value.to_bits())),
        Float::Single => Some(u128::from(single(value))),
        // Decimal halves and long formats are possible only for simple numbers; printers use hexadecimal.
        Float::Half => half(value).map(u128::from),
        Float::BFloat => {
            let bits = single(value);
            (bits & 0xffff == 0).then_some(u128::from(bits >> 16))
        }
        Float::X86Fp80 => extended(value),
        Float::Fp128 => quadruple(value),
        Float::PpcFp128 => Some(u128::from(value.to_bits()) << 64),
    }
}

/// The bits of a `float`; those of a NaN are kept, which a conversion by the processor need not do.
fn single(value: f64) -> u32 {
    if value.is_nan() {
        let bits = value.to_bits();
        let sign = (bits >> 63) as u32;
        return sign << 31 | 0x7f80_0000 | (bits >> 29) as u32 & 0x7f_ffff;
    }
    (value as f32).to_bits()
}

/// Sign, exponent without bias, and fraction of a normal number.
fn split(value: f64) -> (u128, i32, u128) {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    (u128::from(bits >> 63), exponent, u128::from(bits & ((1 << 52) - 1)))
}

fn half(value: f64) -> Option<u16> {
    let (sign, exponent, fraction) = split(value);
    let sign = (sign as u16) << 15;
    if value == 0.0 {
        return Some(sign);
    }
    let exact = fraction & ((1 << 42) - 1) == 0;
    match exponent {
        -14..=15 if exact => Some(sign | ((exponent + 15) as u16) << 10 | (fraction >> 42) as u16),
        1024 => Some(sign | 0x7c00 | (fraction >> 42) as u16),
        _ => None,
    }
}

fn extended(value: f64) -> Option<u128> {
    let (sign, exponent, fraction) = split(value);
    let bits = match exponent {
        _ if value == 0.0 => 0,
        1024 => 0x7fff << 64 | 1 << 63 | fraction << 11,
        -1023 => return None,
        _ => ((exponent + 16383) as u128) << 64 | 1 << 63 | fraction << 11,
    };
    Some(sign << 79 | bits)
}

fn quadruple(value: f64) -> Option<u128> {
    let (sign, exponent, fraction) = split(value);
    let bits = match exponent {
        _ if value == 0.0 => 0,
        1024 => 0x7fff << 112 | fraction << 60,
        -1023 => return None,
        _ => ((exponent + 16383) as u128) << 112 | fraction << 60,
    };
    Some(sign << 127 | bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: &str, width: u32) -> Option<u128> {
        match integer(text, width) {
            Integer::Bits(bits) => Some(bits),
            _ => None,
        }
    }

    #[test]
    fn integers_are_cut_to_their_width() {
        assert_eq!(bits("-1", 8), Some(255));
        assert_eq!(bits("-128", 8), Some(128));
        assert_eq!(bits("-129", 8), None);
        assert_eq!(bits("255", 8), Some(255));
        assert_eq!(bits("256", 8), None);
        assert_eq!(bits("-1", 1), Some(1));
        assert_eq!(bits("-1", 128), Some(u128::MAX));
        assert_eq!(bits("u0xff", 8), Some(255));
        assert_eq!(bits("-170141183460469231731687303715884105728", 128), Some(1 << 127));
        assert!(matches!(integer("0", 256), Integer::Wide));
    }

    /// Compares with what the processor makes of the numbers.
    #[test]
    fn floats_have_the_bits_of_their_format() {
        assert_eq!(float("1.000000e+00", Float::Double), Some(1f64.to_bits().into()));
        assert_eq!(float("0x3FB99999A0000000", Float::Single), Some(0.1f32.to_bits().into()));
        assert_eq!(float("-2.5", Float::Single), Some((-2.5f32).to_bits().into()));
        assert_eq!(float("0x7FF8000000000000", Float::Single), Some(0x7fc0_0000));
        assert_eq!(
            float("0xFFF0000000000000", Float::Single),
            Some(f32::NEG_INFINITY.to_bits().into())
        );
        assert_eq!(
            float("0xK4000C000000000000000", Float::X86Fp80),
            Some(0x4000_c000_0000_0000_0000)
        );
        assert_eq!(float("3.0", Float::X86Fp80), Some(0x4000_c000_0000_0000_0000));
        assert_eq!(float("0xL00000000000000003FFF000000000000", Float::Fp128), Some(0x3fff << 112));
        assert_eq!(float("1.0", Float::Fp128), Some(0x3fff << 112));
        assert_eq!(float("0xH3C00", Float::Half), Some(0x3c00));
        assert_eq!(float("1.0", Float::Half), Some(0x3c00));
        assert_eq!(float("0xH3C00", Float::Double), None);
        assert_eq!(float("1.0", Float::BFloat), Some(0x3f80));
    }
}
