//! Packing small numbers back to back into words.
//!
//! A state of a search is a few dozen small fields; packed, it is a few words. Fields are written
//! and read in the same order, each with the width that the layout gives it.

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

    /// Writes out what is left.
    pub fn finish(self) {
        if self.used > 0 {
            self.words.push(self.partial);
        }
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

    #[test]
    fn widths() {
        assert_eq!([0, 1, 2, 3, 4, 5, 256, 257].map(width_for), [0, 0, 1, 2, 2, 3, 8, 9]);
    }
}
