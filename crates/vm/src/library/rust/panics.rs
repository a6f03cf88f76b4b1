//! What a panic says.
//!
//! A panic ends the program with a message. The message is put together by code that is not executed here, from pieces
//! that are constants and arguments that are not; what is constant is shown.

use crate::access::displaced;
use crate::local::Local;
use crate::machine::Machine;
use crate::value::{Val, Word};

/// Longest message that is shown.
const LONGEST: u64 = 300;

impl Machine {
    /// What a panic says, by the function that is called and its arguments.
    pub(super) fn panic_message(&mut self, local: &Local, path: &str, arguments: &[Val]) -> String {
        let last = path.rsplit("::").next().unwrap_or(path);
        let number = |k: usize| match arguments.get(k) {
            Some(Val::Bits(bits)) => bits.to_string(),
            _ => "?".to_string(),
        };
        let text = match (last, arguments) {
            ("panic_fmt" | "panic_nounwind_fmt", [template, values, ..]) => {
                self.template(local, template, values)
            }
            (
                "panic" | "panic_str" | "panic_nounwind" | "expect_failed" | "panic_display",
                [text, length, ..],
            ) => self.words(local, text, length),
            ("unwrap_failed", [text, length, _, ..]) => self.words(local, text, length),
            ("unwrap_failed", _) => Some("called `Option::unwrap()` on a `None` value".to_string()),
            ("assert_failed" | "assert_failed_inner", [Val::Bits(kind), ..]) => Some(match kind {
                0 => "assertion `left == right` failed".to_string(),
                1 => "assertion `left != right` failed".to_string(),
                _ => "assertion `left matches right` failed".to_string(),
            }),
            ("panic_bounds_check", _) => Some(format!(
                "index out of bounds: the len is {} but the index is {}",
                number(1),
                number(0)
            )),
            ("slice_index_fail", _) => Some(format!(
                "range {}..{} out of range for slice of length {}",
                number(0),
                number(1),
                number(2)
            )),
            (name, _) => Some(
                name.trim_start_matches("panic_").trim_start_matches("const_").replace('_', " "),
            ),
        };
        match text.filter(|text| !text.is_empty()) {
            Some(text) => format!("the thread panics: {text}"),
            None => "the thread panics".to_string(),
        }
    }

    fn byte(&self, local: &Local, address: &Val) -> Option<u8> {
        let Val::Bits(address) = address else { return None };
        let (object, offset) = self.space.locate(*address)?;
        let offset = u32::try_from(offset).ok()?;
        if u64::from(offset) >= self.space.object(object).size {
            return None;
        }
        match self.peek(local, crate::action::Cell { object, offset, size: 1 }) {
            Word::Bits(byte) => Some(byte as u8),
            Word::Undef | Word::Partly(_) => None,
        }
    }

    fn bytes(&self, local: &Local, address: &Val, length: u64) -> Option<String> {
        let length = length.min(LONGEST);
        let bytes = (0..length).map(|k| self.byte(local, &displaced(address, k)));
        Some(String::from_utf8_lossy(&bytes.collect::<Option<Vec<u8>>>()?).into_owned())
    }

    fn words(&self, local: &Local, text: &Val, length: &Val) -> Option<String> {
        let Val::Bits(length) = length else { return None };
        self.bytes(local, text, *length as u64)
    }

    /// `std::fmt::Arguments`: a text whose length is in the second word if that is odd, or pieces of text and places
    /// for values, each with a byte in front that says which and how long.
    fn template(&self, local: &Local, template: &Val, values: &Val) -> Option<String> {
        let Val::Bits(second) = values else { return None };
        if second & 1 == 1 {
            return self.bytes(local, template, (second >> 1) as u64);
        }
        let (mut text, mut at) = (String::new(), 0);
        while at < LONGEST {
            let kind = self.byte(local, &displaced(template, at))?;
            at += 1;
            match kind {
                0 => break,
                1..=0x7f => {
                    text += &self.bytes(local, &displaced(template, at), kind.into())?;
                    at += u64::from(kind);
                }
                0x80 => {
                    let low = self.byte(local, &displaced(template, at))?;
                    let high = self.byte(local, &displaced(template, at + 1))?;
                    let length = u64::from(u16::from_le_bytes([low, high]));
                    text += &self.bytes(local, &displaced(template, at + 2), length)?;
                    at += 2 + length;
                }
                kind => {
                    text.push_str("{}");
                    for (bit, size) in [(1, 4), (2, 2), (4, 2), (8, 2)] {
                        if kind & bit != 0 {
                            at += size;
                        }
                    }
                }
            }
        }
        Some(text)
    }
}
