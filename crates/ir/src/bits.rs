//! Packing small numbers back to back into words.
//!
//! A state of a search is a few dozen small fields; packed, it is a few words. Fields are written
//! and read in the same order, each with the width that the layout gives it.

use crate::ids::Value;

/// Appends fields to a buffer of words.
pub struct BitWriter<'a> {
    words: &'a mut Vec<u64>,
    partial: u64,
    used: u32,
}

impl<'a> BitWriter<'a> {
    /// Starts over in `words`.
    pub fn new(words: &'a mut Vec<u64>) -> Self {
        words.clear();
        BitWriter { words, partial: 0, used: 0 }
    }

    /// Goes on in `words` behind the first `at` bits.
    pub fn resume(words: &'a mut Vec<u64>, at: u32) -> Self {
        let used = at % 64;
        let whole = at as usize / 64;
        let partial = if used == 0 { 0 } else { words[whole] & (u64::MAX >> (64 - used)) };
        words.truncate(whole);
        BitWriter { words, partial, used }
    }

    /// Appends the low `width` bits of `value`, whose other bits must be 0.
    #[inline(always)]
    pub fn push(&mut self, value: u64, width: u32) {
        debug_assert!(width == 64 || value >> width == 0, "{value} does not fit {width} bits");
        self.partial |= value << self.used;
        let used = self.used + width;
        if used >= 64 {
            self.words.push(self.partial);
            self.partial = if self.used == 0 { 0 } else { value >> (64 - self.used) };
            self.used = used - 64;
        } else {
            self.used = used;
        }
    }

    /// Appends a bit row of `width` bits.
    #[inline(always)]
    pub fn push_row(&mut self, row: &[u64], mut width: u32) {
        for &word in row {
            let part = width.min(64);
            self.push(word, part);
            width -= part;
        }
    }

    /// Appends bit rows of `width` bits each, one behind the other in `rows`. Short ones are put together before they are
    /// written.
    #[inline(always)]
    pub fn push_rows(&mut self, rows: &[u64], width: u32) {
        match width {
            0 => {}
            1..64 => {
                for rows in rows.chunks(64 / width as usize) {
                    let together = rows.iter().rev().fold(0, |word, row| word << width | row);
                    self.push(together, width * rows.len() as u32);
                }
            }
            _ => {
                for row in rows.chunks_exact(width.div_ceil(64) as usize) {
                    self.push_row(row, width);
                }
            }
        }
    }

    /// Writes out what is left.
    pub fn finish(self) {
        if self.used > 0 {
            self.words.push(self.partial);
        }
    }
}

/// Writes the `width` bits that start at bit `at` anew.
#[inline(always)]
pub fn overwrite(words: &mut [u64], at: u32, value: u64, width: u32) {
    if width == 0 {
        return;
    }
    let (word, shift) = ((at / 64) as usize, at % 64);
    let mask = u64::MAX >> (64 - width);
    words[word] = words[word] & !(mask << shift) | value << shift;
    if shift + width > 64 {
        let written = 64 - shift;
        words[word + 1] = words[word + 1] & !(mask >> written) | value >> written;
    }
}

/// Reads fields in the order they were written.
pub struct BitReader<'a> {
    words: &'a [u64],
    at: u32,
}

impl<'a> BitReader<'a> {
    /// Starts at the beginning of `words`.
    pub fn new(words: &'a [u64]) -> Self {
        BitReader { words, at: 0 }
    }

    /// The next `width` bits.
    #[inline(always)]
    pub fn take(&mut self, width: u32) -> u64 {
        if width == 0 {
            return 0;
        }
        let (word, shift) = ((self.at >> 6) as usize, self.at & 63);
        let mut value = self.words[word] >> shift;
        if shift + width > 64 {
            value |= self.words[word + 1] << (64 - shift);
        }
        self.at += width;
        value & (u64::MAX >> (64 - width))
    }

    /// The next `width` bits as a bit row.
    #[inline(always)]
    pub fn take_row(&mut self, row: &mut [u64], mut width: u32) {
        for word in row {
            let part = width.min(64);
            *word = self.take(part);
            width -= part;
        }
    }

    /// The next bit rows of `width` bits each, as many as `rows` has room for.
    #[inline(always)]
    pub fn take_rows(&mut self, rows: &mut [u64], width: u32) {
        match width {
            0 => {}
            1..64 => {
                let mask = (1 << width) - 1;
                for rows in rows.chunks_mut(64 / width as usize) {
                    let mut together = self.take(width * rows.len() as u32);
                    for row in rows {
                        *row = together & mask;
                        together >>= width;
                    }
                }
            }
            _ => {
                for row in rows.chunks_exact_mut(width.div_ceil(64) as usize) {
                    self.take_row(row, width);
                }
            }
        }
    }
}

/// Does `value` fit a field of `width` bits whose smallest value is `min`?
#[inline(always)]
pub fn fits(value: Value, min: Value, width: u32) -> bool {
    width >= 64 || above(value, min) >> width == 0
}

/// How far `value` is above `min`, modulo 2^64: the content of a field whose smallest value is `min`.
#[inline(always)]
pub fn above(value: Value, min: Value) -> u64 {
    value.wrapping_sub(min) as u64
}

/// The value that is so far above `min`, modulo 2^64.
#[inline(always)]
pub fn raised(min: Value, above: u64) -> Value {
    min.wrapping_add(above as Value)
}

/// How many bits a field for the values `min..=max` has.
pub fn width_of(min: Value, max: Value) -> u32 {
    64 - above(max, min).leading_zeros()
}

/// How many bits are needed to tell `count` things apart.
pub fn width_for(count: u64) -> u32 {
    64 - count.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches fields that straddle words, zero widths and full words.
    #[test]
    fn what_is_written_is_read() {
        let fields =
            [(5, 3), (0, 0), (u64::MAX, 64), (1, 1), ((1 << 40) - 7, 40), (77, 63), (1, 1)];
        let mut words = Vec::new();
        let mut writer = BitWriter::new(&mut words);
        for (value, width) in fields {
            writer.push(value, width);
        }
        writer.finish();
        let mut reader = BitReader::new(&words);
        for (value, width) in fields {
            assert_eq!(reader.take(width), value);
        }
    }

    /// Catches neighbours that suffer when a field is written anew, alone or with all behind it.
    #[test]
    fn fields_written_anew_leave_the_others_alone() {
        let widths = [3, 64, 1, 40, 0, 63, 7];
        let write = |values: &[u64], words: &mut Vec<u64>| {
            let mut writer = BitWriter::new(words);
            for (value, width) in values.iter().zip(widths) {
                writer.push(*value, width);
            }
            writer.finish();
        };
        let old = [5, u64::MAX, 1, 77, 0, 1 << 62, 100];
        for k in 0..widths.len() {
            let mut new = old;
            new[k] = if widths[k] == 0 { 0 } else { old[k] ^ 1 };
            let (mut expected, mut words) = (Vec::new(), Vec::new());
            write(&new, &mut expected);
            write(&old, &mut words);
            let at = widths[..k].iter().sum();
            overwrite(&mut words, at, new[k], widths[k]);
            assert_eq!(words, expected);
            write(&old, &mut words);
            let mut writer = BitWriter::resume(&mut words, at);
            for (value, width) in new.iter().zip(widths).skip(k) {
                writer.push(*value, width);
            }
            writer.finish();
            assert_eq!(words, expected);
        }
    }

    /// Catches rows that are put together in another order than they are written one by one, and widths at the edges.
    #[test]
    fn rows_together_are_rows_one_by_one() {
        for (width, count) in
            [(0, 3), (1, 130), (3, 50), (31, 5), (33, 4), (63, 3), (64, 3), (70, 4)]
        {
            let words = (width as usize).div_ceil(64);
            let mut rows = vec![0; words * count];
            for (k, word) in rows.iter_mut().enumerate() {
                let bits = if words == 2 && k % 2 == 1 { width - 64 } else { width.min(64) };
                let mixed = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                *word = if bits == 0 { 0 } else { mixed >> (64 - bits) };
            }
            let mut written = [Vec::new(), Vec::new()];
            for (k, words) in written.iter_mut().enumerate() {
                let mut out = BitWriter::new(words);
                out.push(5, 3);
                match k {
                    0 => out.push_rows(&rows, width),
                    _ if width == 0 => {}
                    _ => {
                        let per_row = (width as usize).div_ceil(64);
                        rows.chunks(per_row).for_each(|row| out.push_row(row, width));
                    }
                }
                out.push(1, 1);
                out.finish();
            }
            assert_eq!(written[0], written[1], "{width}");
            let mut from = BitReader::new(&written[0]);
            let mut read = vec![0; rows.len()];
            assert_eq!(from.take(3), 5);
            from.take_rows(&mut read, width);
            assert_eq!((read, from.take(1)), (rows, 1), "{width}");
        }
    }

    /// Catches ranges of more than 2^63 values.
    #[test]
    fn every_range_of_values_has_a_field() {
        let (min, max) = (Value::MIN, Value::MAX);
        for (low, high, width) in [(min, max, 64), (-1, max, 64), (min, -1, 63), (-8, 7, 4)] {
            assert_eq!(width_of(low, high), width);
            for value in [low, low + 1, high - 1, high] {
                assert!(fits(value, low, width));
                assert_eq!(raised(low, above(value, low)), value);
            }
            assert!(width == 64 || !fits(high.wrapping_add(1), low, width));
        }
    }

    #[test]
    fn widths() {
        assert_eq!([0, 1, 2, 3, 4, 5, 256, 257].map(width_for), [0, 0, 1, 2, 2, 3, 8, 9]);
    }
}
