//! Texts and bytes: C's `string.h`, and what printing reads.
//!
//! What a function reads it reads plainly, byte by byte up to the end of the text, so a text that another thread changes
//! meanwhile is a race, and one that was never written or has no end is an error.

use crate::access::displaced;
use crate::action::{Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::value::{Bits, Val, Word, mask};

/// As many as there may be.
const ALL: u64 = u64::MAX;

impl Machine {
    pub(super) fn text_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        let count = |k: usize| match arguments.get(k) {
            Some(Val::Bits(count)) => Ok(*count as u64),
            _ => Err(Stop::fail(format!("`{name}` with a length that was never written"))),
        };
        Some(match name {
            "strlen" => self.text_at(local, &argument(0), ALL).map(|text| length(&text)),
            "strnlen" => count(1)
                .and_then(|most| self.text_at(local, &argument(0), most))
                .map(|text| length(&text)),
            "memcmp" | "bcmp" => count(2).and_then(|size| {
                let left = self.bytes_of(local, &argument(0), size)?;
                let right = self.bytes_of(local, &argument(1), size)?;
                // Padding has any value, which is nobody's business if other bytes differ.
                let known = left.iter().zip(&right).filter_map(|(left, right)| (*left).zip(*right));
                match known.map(|(left, right)| left.cmp(&right)).find(|order| order.is_ne()) {
                    Some(order) => Ok(Val::Bits(order as i128 as u128 & mask(32))),
                    None if left.contains(&None) || right.contains(&None) => {
                        Err(Stop::fail("bytes are compared that were never written"))
                    }
                    None => Ok(Val::Bits(0)),
                }
            }),
            "strcmp" => self.compare_texts(local, &argument(0), &argument(1), ALL),
            "strncmp" => count(2)
                .and_then(|most| self.compare_texts(local, &argument(0), &argument(1), most)),
            "strchr" | "strrchr" | "index" | "rindex" | "strchrnul" => {
                self.find_byte(local, name, &argument(0), &argument(1))
            }
            "memchr" => count(2).and_then(|most| {
                let wanted = match argument(1) {
                    Val::Bits(byte) => Some(byte as u8),
                    _ => None,
                };
                for k in 0..most {
                    let at = displaced(&argument(0), k);
                    match self.load_word(local, &at, 1, Order::Plain)? {
                        Word::Bits(byte) if Some(byte as u8) == wanted => return Ok(at),
                        Word::Bits(_) => {}
                        Word::Undef | Word::Partly(_) => {
                            return Err(Stop::fail("a byte is looked at that was never written"));
                        }
                    }
                }
                Ok(Val::Bits(0))
            }),
            "strstr" => self.text_at(local, &argument(0), ALL).and_then(|text| {
                let part = self.text_at(local, &argument(1), ALL)?;
                let found = (0..=text.len()).find(|k| text[*k..].starts_with(&part));
                Ok(found.map_or(Val::Bits(0), |k| displaced(&argument(0), k as u64)))
            }),
            "strdup" => {
                self.text_at(local, &argument(0), ALL).and_then(|text| self.new_text(local, text))
            }
            "strndup" => count(1).and_then(|most| {
                let text = self.text_at(local, &argument(0), most)?;
                self.new_text(local, text)
            }),
            "strcat" | "strncat" => {
                let most = if name == "strcat" { Ok(ALL) } else { count(2) };
                most.and_then(|most| {
                    let before = self.text_at(local, &argument(0), ALL)?;
                    let mut text = self.text_at(local, &argument(1), most)?;
                    text.push(0);
                    let end = displaced(&argument(0), before.len() as u64);
                    are_apart(name, (&end, text.len()), (&argument(1), text.len()))?;
                    self.put_bytes(local, &end, &text)?;
                    Ok(argument(0))
                })
            }
            "strcpy" => self.text_at(local, &argument(1), ALL).and_then(|mut text| {
                text.push(0);
                are_apart(name, (&argument(0), text.len()), (&argument(1), text.len()))?;
                self.put_bytes(local, &argument(0), &text)
            }),
            "strncpy" => count(2).and_then(|size| {
                let mut text = self.text_at(local, &argument(1), size)?;
                let read = (text.len() + 1).min(size as usize);
                text.resize(size as usize, 0);
                are_apart(name, (&argument(0), text.len()), (&argument(1), read))?;
                self.put_bytes(local, &argument(0), &text)
            }),
            "puts" | "fputs" | "perror" => {
                self.text_at(local, &argument(0), ALL).map(|_| Val::Bits(0))
            }
            "putchar" | "fputc" | "putc" => Ok(argument(0)),
            "write" => count(2).and_then(|size| {
                self.bytes_of(local, &argument(1), size)?;
                Ok(Val::Bits(size.into()))
            }),
            "printf" => self.print(local, &argument(0), arguments.get(1..).unwrap_or(&[])),
            "fprintf" => self.print(local, &argument(1), arguments.get(2..).unwrap_or(&[])),
            "vprintf" => self
                .listed(local, &argument(0), &argument(1))
                .and_then(|listed| self.print(local, &argument(0), &listed)),
            "vfprintf" => self
                .listed(local, &argument(1), &argument(2))
                .and_then(|listed| self.print(local, &argument(1), &listed)),
            _ => return None,
        })
    }

    /// The bytes before the first that is 0, or `most` of them.
    pub(super) fn text_at(
        &mut self,
        local: &mut Local,
        text: &Val,
        most: u64,
    ) -> Result<Vec<u8>, Stop> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < most {
            let at = displaced(text, bytes.len() as u64);
            match self.load_word(local, &at, 1, Order::Plain)? {
                Word::Bits(0) => break,
                Word::Bits(byte) => bytes.push(byte as u8),
                Word::Undef | Word::Partly(_) => {
                    return Err(Stop::fail("a text is read that was never written to its end"));
                }
            }
        }
        Ok(bytes)
    }

    /// Where a text has a byte first, or last.
    fn find_byte(
        &mut self,
        local: &mut Local,
        name: &str,
        text: &Val,
        byte: &Val,
    ) -> Result<Val, Stop> {
        let Val::Bits(byte) = byte else {
            return Err(Stop::fail(format!("`{name}` of a character that was never written")));
        };
        let mut bytes = self.text_at(local, text, ALL)?;
        bytes.push(0);
        let mut places = bytes.iter().enumerate().filter(|(_, other)| **other == *byte as u8);
        let found = match name {
            "strrchr" | "rindex" => places.next_back(),
            _ => places.next(),
        };
        let end = (name == "strchrnul").then_some(bytes.len() - 1);
        let found = found.map(|(k, _)| k).or(end);
        Ok(found.map_or(Val::Bits(0), |k| displaced(text, k as u64)))
    }

    /// A copy of a text.
    fn new_text(&mut self, local: &mut Local, mut text: Vec<u8>) -> Result<Val, Stop> {
        text.push(0);
        let block = self.allocate(local, text.len() as u64, false)?;
        self.put_bytes(local, &block, &text)
    }

    /// Reads a text.
    pub(super) fn text_of(&mut self, local: &mut Local, text: &Val) -> Result<(), Stop> {
        self.text_at(local, text, ALL).map(|_| ())
    }

    /// So many bytes, read in the sizes that they are accessed in elsewhere; nothing for those that were never written.
    pub(super) fn bytes_of(
        &mut self,
        local: &mut Local,
        from: &Val,
        size: u64,
    ) -> Result<Vec<Option<u8>>, Stop> {
        if size == 0 {
            return Ok(Vec::new());
        }
        let (object, start) = self.bytes_at(local, from, size, false)?;
        self.alive(local, object, "a load from")?;
        let mut bytes = Vec::new();
        for (at, length) in self.grain(local, (object, start), (object, start), size) {
            let word = self.load_bytes(local, object, start + at, length, Order::Plain)?;
            let Bits { bits, defined } = word.bits();
            let pairs = bits.to_le_bytes().into_iter().zip(defined.to_le_bytes());
            let read = pairs.take(usize::from(length));
            bytes.extend(read.map(|(byte, defined)| (defined == u8::MAX).then_some(byte)));
        }
        Ok(bytes)
    }

    /// The same, where each has to have a value.
    pub(super) fn written_bytes_of(
        &mut self,
        local: &mut Local,
        from: &Val,
        size: u64,
    ) -> Result<Vec<u8>, Stop> {
        let bytes: Option<Vec<u8>> = self.bytes_of(local, from, size)?.into_iter().collect();
        bytes.ok_or_else(|| Stop::fail("bytes are read that were never written"))
    }

    fn compare_texts(
        &mut self,
        local: &mut Local,
        left: &Val,
        right: &Val,
        most: u64,
    ) -> Result<Val, Stop> {
        let mut left = self.text_at(local, left, most)?;
        let mut right = self.text_at(local, right, most)?;
        // The end of a text is less than any byte.
        left.push(0);
        right.push(0);
        Ok(order_of(&left, &right))
    }

    pub(super) fn put_bytes(
        &mut self,
        local: &mut Local,
        to: &Val,
        bytes: &[u8],
    ) -> Result<Val, Stop> {
        for (k, byte) in bytes.iter().enumerate() {
            let at = displaced(to, k as u64);
            self.store_word(local, &at, 1, Word::Bits((*byte).into()), Order::Plain)?;
        }
        Ok(to.clone())
    }

    /// Prints: what is printed is nobody's business, but texts are read. How much was printed is made out if the program
    /// looks at it.
    fn print(&mut self, local: &mut Local, format: &Val, arguments: &[Val]) -> Result<Val, Stop> {
        if self.looks_at_result(local) {
            let length = self.formatted(local, format, arguments)?.len() as u128;
            return Ok(Val::Bits(length & mask(32)));
        }
        let format = self.text_at(local, format, ALL)?;
        let mut arguments = arguments.iter();
        let mut rest = format.iter();
        while rest.by_ref().any(|byte| *byte == b'%') {
            let mut precision = None;
            for byte in rest.by_ref() {
                match byte {
                    b'.' => precision = Some(0),
                    b'*' => {
                        let given = arguments.next();
                        if precision.is_some() {
                            precision = match given {
                                Some(Val::Bits(count)) => Some(*count as u64),
                                _ => Some(0),
                            };
                        }
                    }
                    b'0'..=b'9' => {
                        let digit = u64::from(byte - b'0');
                        precision = precision.map(|most: u64| most.saturating_mul(10) + digit);
                    }
                    b'%' => break,
                    b's' => {
                        if let Some(text) = arguments.next() {
                            self.text_at(local, text, precision.unwrap_or(ALL))?;
                        }
                        break;
                    }
                    b'n' => return Stop::refuse("`%n` in a format"),
                    byte if byte.is_ascii_alphabetic() && !b"hljztLq".contains(byte) => {
                        arguments.next();
                        break;
                    }
                    _ => {}
                }
            }
        }
        Ok(Val::Bits(0))
    }
}

/// Bytes are written and others read by a function that is not for bytes that overlap.
fn are_apart(
    name: &str,
    (to, written): (&Val, usize),
    (from, read): (&Val, usize),
) -> Result<(), Stop> {
    match (to, from) {
        (Val::Bits(to), Val::Bits(from))
            if *to < from + read as u128 && *from < to + written as u128 =>
        {
            Err(Stop::fail(format!("`{name}` between bytes that overlap")))
        }
        _ => Ok(()),
    }
}

fn length(text: &[u8]) -> Val {
    Val::Bits(text.len() as u128)
}

/// -1, 0 or 1 as an `int`.
fn order_of(left: &[u8], right: &[u8]) -> Val {
    Val::Bits(left.cmp(right) as i128 as u128 & mask(32))
}
