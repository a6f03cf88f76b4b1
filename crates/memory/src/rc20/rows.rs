//! Rows of bits, one behind the other: all of the monitors are kept in such rows.

/// How rows and their bits are permuted.
#[derive(Clone, Debug)]
pub struct RowsRenaming {
    /// The image of every row.
    rows: Box<[u32]>,
    bits: Bits,
}

/// How the bits of every row are permuted.
#[derive(Clone, Debug)]
enum Bits {
    /// Each is its own image; these rows are not.
    Kept { moved: Box<[(u32, u32)]> },
    /// In rows of one word: what moves by the same distance, rotated to the left, moves together.
    Together(Box<[(u64, u32)]>),
    /// The image of each.
    Apart(Box<[u32]>),
}

/// More distances than this are not worth looking at all of them.
const MOST_DISTANCES: usize = 8;

impl RowsRenaming {
    /// The row number k becomes the row `rows[k]`, and each row's bit number k its bit `bits[k]`.
    pub(super) fn new(rows: Box<[u32]>, bits: Box<[u32]>) -> Self {
        let moved = |images: &[u32]| -> Box<[(u32, u32)]> {
            let pairs = (0..).zip(images.iter().copied());
            pairs.filter(|(from, to)| from != to).collect()
        };
        let bits = if moved(&bits).is_empty() {
            Bits::Kept { moved: moved(&rows) }
        } else {
            match together(&bits) {
                Some(distances) => Bits::Together(distances),
                None => Bits::Apart(bits),
            }
        };
        RowsRenaming { rows, bits }
    }

    /// Writes the image of `rows`, of so many words each, to `image`. What comes behind the rows is copied.
    pub(super) fn rename(&self, words: usize, rows: &[u64], image: &mut [u64]) {
        match &self.bits {
            Bits::Kept { moved } => {
                image.copy_from_slice(rows);
                for (from, to) in moved {
                    let from = *from as usize * words;
                    image[*to as usize * words..][..words].copy_from_slice(&rows[from..][..words]);
                }
            }
            Bits::Together(distances) => {
                for (row, to) in rows.iter().zip(&self.rows) {
                    let parts = distances.iter();
                    let parts = parts.map(|(part, by)| (row & part).rotate_left(*by));
                    image[*to as usize] = parts.fold(0, |moved, part| moved | part);
                }
            }
            Bits::Apart(bits) => {
                for (row, to) in rows.chunks_exact(words).zip(&self.rows) {
                    let image = &mut image[*to as usize * words..][..words];
                    image.fill(0);
                    for (k, &word) in row.iter().enumerate() {
                        let mut rest = word;
                        while rest != 0 {
                            let to = bits[k * 64 + rest.trailing_zeros() as usize];
                            image[to as usize / 64] |= 1 << (to % 64);
                            rest &= rest - 1;
                        }
                    }
                }
            }
        }
    }
}

/// The bits that move by the same distance, and that distance, if rows have one word and there are few distances.
fn together(bits: &[u32]) -> Option<Box<[(u64, u32)]>> {
    if bits.len() > 64 {
        return None;
    }
    let mut distances: Vec<(u64, u32)> = Vec::new();
    for (from, to) in (0u32..).zip(bits) {
        let by = (to + 64 - from) % 64;
        match distances.iter_mut().find(|(_, other)| *other == by) {
            Some((part, _)) => *part |= 1 << from,
            None => distances.push((1 << from, by)),
        }
    }
    (distances.len() <= MOST_DISTANCES).then(|| distances.into())
}

/// Sets `bit` in word number `word` of each row of so many words.
#[inline(always)]
pub(super) fn mark(rows: &mut [u64], words: usize, word: usize, bit: u64) {
    match words {
        1 => rows.iter_mut().for_each(|row| *row |= bit),
        _ => rows.iter_mut().skip(word).step_by(words).for_each(|word| *word |= bit),
    }
}

/// Takes all but `bits` out of word number `word` of each row of so many words.
#[inline(always)]
pub(super) fn keep_only(rows: &mut [u64], words: usize, word: usize, bits: u64) {
    match words {
        1 => rows.iter_mut().for_each(|row| *row &= bits),
        _ => rows.iter_mut().skip(word).step_by(words).for_each(|word| *word &= bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::random::Generator;

    /// Catches bits that move together and should not, rows left out, and bits lost at the edges of words.
    #[test]
    fn images_are_those_of_single_bits() {
        let random = &mut Generator { state: 7 };
        for round in 0..2000 {
            let (count, bits) = (1 + random.below(6), [1, 5, 63, 64, 65, 130][round % 6]);
            let words = usize::div_ceil(bits, 64);
            // From no exchange to many: all ways are taken.
            let mut permuted = |length: usize, exchanges: usize| -> Box<[u32]> {
                let mut images: Vec<u32> = (0..length as u32).collect();
                for _ in 0..exchanges {
                    images.swap(random.below(length), random.below(length));
                }
                images.into()
            };
            let row_images = permuted(count, round % 4);
            let bit_images = permuted(bits, [0, 1, 2, 40][round / 4 % 4]);
            let mut rows = vec![0; words * count];
            for row in 0..count {
                for bit in (0..bits).filter(|_| random.below(3) == 0) {
                    rows[row * words + bit / 64] |= 1u64 << (bit % 64);
                }
            }
            let mut expected = vec![0; rows.len()];
            for row in 0..count {
                for bit in 0..bits {
                    if rows[row * words + bit / 64] >> (bit % 64) & 1 == 1 {
                        let (row, bit) = (row_images[row] as usize, bit_images[bit] as usize);
                        expected[row * words + bit / 64] |= 1 << (bit % 64);
                    }
                }
            }
            let mut image = vec![u64::MAX; rows.len()];
            RowsRenaming::new(row_images, bit_images).rename(words, &rows, &mut image);
            assert_eq!(image, expected, "round {round}");
        }
    }
}
