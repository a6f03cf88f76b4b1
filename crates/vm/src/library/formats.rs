//! Texts made of numbers, and numbers of texts: `snprintf`, `sprintf`, `strtol` and its family.

use crate::access::displaced;
use crate::action::{Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::value::{Val, Word, mask, signed};

const ERANGE: u128 = 34;

/// One `%` of a format.
#[derive(Default)]
struct Piece {
    left: bool,
    zeros: bool,
    plus: bool,
    space: bool,
    other: bool,
    width: usize,
    precision: Option<usize>,
    /// Bits of an integer.
    bits: u32,
}

impl Piece {
    /// Digits, with what stands in front of them, as wide as they shall be.
    fn number(&self, sign: &str, digits: String) -> String {
        let digits = match self.precision {
            Some(0) if digits == "0" => String::new(),
            Some(least) => format!("{digits:0>least$}"),
            None => digits,
        };
        let room = self.width.saturating_sub(sign.len());
        match self.zeros && !self.left && self.precision.is_none() {
            true => format!("{sign}{digits:0>room$}"),
            false => {
                let text = pad(self, format!("{sign}{digits}").into_bytes());
                String::from_utf8_lossy(&text).into_owned()
            }
        }
    }
}

impl Machine {
    pub(super) fn format_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        let rest = |k: usize| arguments.get(k..).unwrap_or_default();
        // What newer headers of the C library make of them.
        let name = name.strip_prefix("__isoc23_").unwrap_or(name);
        Some(match name {
            "snprintf" => {
                self.format_into(local, (&argument(0), &argument(1)), &argument(2), rest(3))
            }
            "sprintf" => {
                let room = (&argument(0), &Val::Bits(u128::MAX));
                self.format_into(local, room, &argument(1), rest(2))
            }
            "vsnprintf" => self.listed(local, &argument(2), &argument(3)).and_then(|listed| {
                self.format_into(local, (&argument(0), &argument(1)), &argument(2), &listed)
            }),
            "vsprintf" => self.listed(local, &argument(1), &argument(2)).and_then(|listed| {
                let room = (&argument(0), &Val::Bits(u128::MAX));
                self.format_into(local, room, &argument(1), &listed)
            }),
            "atoi" => self.number_of(local, (&argument(0), &Val::Bits(0)), 10, (true, 64), 32),
            "atol" | "atoll" => {
                self.number_of(local, (&argument(0), &Val::Bits(0)), 10, (true, 64), 64)
            }
            "strtol" | "strtoll" | "strtoul" | "strtoull" => {
                let Val::Bits(base) = argument(2) else {
                    return Some(Err(Stop::fail(format!(
                        "`{name}` with a base that was never written"
                    ))));
                };
                let is_signed = !name.starts_with("strtou");
                let of = (&argument(0), &argument(1));
                self.number_of(local, of, base as u32, (is_signed, 64), 64)
            }
            _ => return None,
        })
    }

    /// Writes what a format and its arguments make, as much of it as there is room for; gives its length.
    fn format_into(
        &mut self,
        local: &mut Local,
        (to, room): (&Val, &Val),
        format: &Val,
        arguments: &[Val],
    ) -> Result<Val, Stop> {
        let mut text = self.formatted(local, format, arguments)?;
        let Val::Bits(room) = *room else {
            return Err(Stop::fail("a text is made with a length that was never written"));
        };
        let length = text.len() as u128;
        if room > 0 {
            text.truncate((room - 1).min(length) as usize);
            text.push(0);
            self.put_bytes(local, to, &text)?;
        }
        Ok(Val::Bits(length & mask(32)))
    }

    /// What a format and its arguments make.
    pub(super) fn formatted(
        &mut self,
        local: &mut Local,
        format: &Val,
        arguments: &[Val],
    ) -> Result<Vec<u8>, Stop> {
        let format = self.text_at(local, format, u64::MAX)?;
        let mut arguments = arguments.iter();
        let mut next = || match arguments.next() {
            Some(Val::Bits(bits)) => Ok(*bits),
            Some(_) => Err(Stop::fail("a value is printed that was never written")),
            None => Err(Stop::fail("a format asks for more than there is")),
        };
        let mut made = Vec::new();
        let mut rest = format.iter().copied().peekable();
        while let Some(byte) = rest.next() {
            if byte != b'%' {
                made.push(byte);
                continue;
            }
            let mut piece = Piece { bits: 32, ..Piece::default() };
            loop {
                let Some(byte) = rest.next() else {
                    return Err(Stop::fail("a format ends within a `%`"));
                };
                match byte {
                    b'-' => piece.left = true,
                    b'0' if piece.width == 0 && piece.precision.is_none() => piece.zeros = true,
                    b'+' => piece.plus = true,
                    b' ' => piece.space = true,
                    b'#' => piece.other = true,
                    b'.' => piece.precision = Some(0),
                    b'*' => {
                        let given = signed(next()? & mask(32), 32);
                        match piece.precision {
                            Some(_) => piece.precision = usize::try_from(given).ok(),
                            None => {
                                piece.left |= given < 0;
                                piece.width = given.unsigned_abs() as usize;
                            }
                        }
                    }
                    b'0'..=b'9' => {
                        let to = piece.precision.as_mut().unwrap_or(&mut piece.width);
                        *to = (*to).saturating_mul(10).saturating_add(usize::from(byte - b'0'));
                    }
                    b'h' => piece.bits = if piece.bits == 16 { 8 } else { 16 },
                    b'l' | b'j' | b'z' | b't' | b'q' => piece.bits = 64,
                    b'%' => {
                        made.push(b'%');
                        break;
                    }
                    b'c' => {
                        let character = vec![next()? as u8];
                        made.extend(pad(&piece, character));
                        break;
                    }
                    b's' => {
                        let most = piece.precision.map_or(u64::MAX, |most| most as u64);
                        let text = self.text_at(local, &Val::Bits(next()?), most)?;
                        made.extend(pad(&piece, text));
                        break;
                    }
                    b'f' | b'F' if !piece.other => {
                        let number = f64::from_bits(next()? as u64);
                        let sign = match (number.is_sign_negative(), piece.plus, piece.space) {
                            (true, ..) => "-",
                            (_, true, _) => "+",
                            (_, _, true) => " ",
                            _ => "",
                        };
                        let after = piece.precision.take().unwrap_or(6);
                        let digits = format!("{:.after$}", number.abs());
                        if !number.is_finite() {
                            return Stop::refuse("an infinite number in a text");
                        }
                        made.extend(piece.number(sign, digits).into_bytes());
                        break;
                    }
                    b'd' | b'i' => {
                        let number = signed(next()? & mask(piece.bits), piece.bits);
                        let sign = match (number < 0, piece.plus, piece.space) {
                            (true, ..) => "-",
                            (_, true, _) => "+",
                            (_, _, true) => " ",
                            _ => "",
                        };
                        let digits = number.unsigned_abs().to_string();
                        made.extend(piece.number(sign, digits).into_bytes());
                        break;
                    }
                    b'u' | b'x' | b'X' | b'o' => {
                        let number = next()? & mask(piece.bits);
                        let with = piece.other && number != 0;
                        let (sign, digits) = match byte {
                            b'x' => (if with { "0x" } else { "" }, format!("{number:x}")),
                            b'X' => (if with { "0X" } else { "" }, format!("{number:X}")),
                            b'o' => (if with { "0" } else { "" }, format!("{number:o}")),
                            _ => ("", number.to_string()),
                        };
                        made.extend(piece.number(sign, digits).into_bytes());
                        break;
                    }
                    other => {
                        return Stop::refuse(format!(
                            "`%{}` in a format whose text the program keeps",
                            char::from(other)
                        ));
                    }
                }
            }
        }
        Ok(made)
    }

    /// The number that a text begins with; where it ends goes to a pointer, if there is one.
    fn number_of(
        &mut self,
        local: &mut Local,
        (text, end): (&Val, &Val),
        base: u32,
        (is_signed, width): (bool, u32),
        kept: u32,
    ) -> Result<Val, Stop> {
        if base == 1 || base > 36 {
            return Stop::refuse(format!("a number of base {base} in a text"));
        }
        let bytes = self.text_at(local, text, u64::MAX)?;
        let mut at = bytes.iter().take_while(|byte| b" \t\n\x0b\x0c\r".contains(byte)).count();
        let is_negative = bytes.get(at) == Some(&b'-');
        at += usize::from(matches!(bytes.get(at), Some(b'-' | b'+')));
        let digit =
            |at: usize, base: u32| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(base));
        let is_hex = bytes.get(at) == Some(&b'0')
            && matches!(bytes.get(at + 1), Some(b'x' | b'X'))
            && digit(at + 2, 16).is_some();
        let base = match base {
            0 if is_hex => 16,
            0 if bytes.get(at) == Some(&b'0') => 8,
            0 => 10,
            base => base,
        };
        at += if base == 16 && is_hex { 2 } else { 0 };
        let (first, mut number) = (at, 0u128);
        while let Some(digit) = digit(at, base) {
            number = number.saturating_mul(base.into()).saturating_add(digit.into());
            at += 1;
        }
        let most = match (is_signed, is_negative) {
            (true, true) => 1 << (width - 1),
            (true, false) => mask(width - 1),
            (false, _) => mask(width),
        };
        let fits = number <= most;
        if !fits {
            self.fails_with(local, ERANGE)?;
        }
        let number = match (fits, is_negative) {
            (false, _) if !is_signed => most,
            (_, true) => number.min(most).wrapping_neg(),
            (_, false) => number.min(most),
        };
        if *end != Val::Bits(0) {
            let stop = if at == first { text.clone() } else { displaced(text, at as u64) };
            self.store_word(local, end, 8, stop.word(), Order::Plain)?;
        }
        Ok(Word::Bits(number & mask(kept)).into())
    }
}

/// A text, as wide as it shall be.
fn pad(piece: &Piece, mut text: Vec<u8>) -> Vec<u8> {
    let missing = vec![b' '; piece.width.saturating_sub(text.len())];
    match piece.left {
        true => {
            text.extend(missing);
            text
        }
        false => [missing, text].concat(),
    }
}
