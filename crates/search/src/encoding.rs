//! Numbers in states of varying length: small ones take one byte (LEB128; signed ones in zigzag order).
//!
//! A model that writes the same sequence of numbers for equal states, and different sequences for different states,
//! gets exact byte strings: a number says itself where it ends, so two sequences of the same length are
//! written alike only if they are equal.

/// Appends a number that is not negative.
#[inline]
pub fn put(mut number: u128, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a number that may be negative.
#[inline]
pub fn put_signed(number: i64, out: &mut Vec<u8>) {
    put(u128::from(((number << 1) ^ (number >> 63)) as u64), out);
}

/// Reads numbers in the order in which they were written.
#[derive(Clone, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader(bytes)
    }

    /// The next number that is not negative; 0 behind the end.
    #[inline]
    pub fn take(&mut self) -> u128 {
        let (mut number, mut shift) = (0, 0);
        while let Some((&byte, rest)) = self.0.split_first() {
            self.0 = rest;
            number |= u128::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        number
    }

    /// The next number, which is an index or a count.
    #[inline]
    pub fn take_index(&mut self) -> usize {
        self.take() as usize
    }

    /// The next number that may be negative.
    #[inline]
    pub fn take_signed(&mut self) -> i64 {
        let number = self.take() as u64;
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    /// The next `count` bytes as they are; fewer at the end.
    #[inline]
    pub fn take_bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Has everything been read?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches numbers that are cut off, and signs that are lost.
    #[test]
    fn numbers_come_back() {
        let unsigned = [0, 1, 127, 128, u128::from(u64::MAX), u128::MAX];
        let signed = [0, -1, 1, 63, -64, 64, i64::MIN, i64::MAX];
        let mut bytes = Vec::new();
        unsigned.iter().for_each(|&number| put(number, &mut bytes));
        signed.iter().for_each(|&number| put_signed(number, &mut bytes));
        let mut reader = Reader::new(&bytes);
        assert_eq!(unsigned.map(|_| reader.take()), unsigned);
        assert_eq!(signed.map(|_| reader.take_signed()), signed);
        assert!(reader.is_empty());
        assert_eq!(reader.take(), 0);
        let mut reader = Reader::new(&[1, 200, 3]);
        assert_eq!((reader.take_bytes(2), reader.take_bytes(2)), (&[1, 200][..], &[3][..]));
    }
}
