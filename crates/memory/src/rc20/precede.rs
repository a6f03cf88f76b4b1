//! Which last writes must come before a thread's next step under SC.
//!
//! V_SC of the paper (Algorithm 1): T(τ) holds x when x's last write is hb_SC-before (or is) an
//! event of τ; W(x) holds y when y's last write is hb_SC-before x's last write; M(x) the same for
//! x's last write or any later read of x. Only locations at which something stale could be accessed
//! have a column.

use super::views::{Kind, rename_row};
use analysis::symmetry::Automorphism;
use ir::bits::{BitReader, BitWriter};
use ir::ids::{Loc, Tid};

/// The layout of T, W and M.
#[derive(Clone, Debug)]
pub struct Precede {
    /// The column of each location, if it has one; the last location is the fences' hidden one.
    columns: Vec<Option<u32>>,
    bits: u32,
    threads: usize,
    /// Does the location have rows W and M: is it atomic and accessed?
    rows: Vec<bool>,
    /// The rows that are packed, in their order: all of T, and those of W and M that locations have.
    kept: Box<[u32]>,
}

impl Precede {
    /// `columns` says which locations need one, `rows` which can pass knowledge on.
    pub fn new(threads: usize, needs_column: &[bool], rows: Vec<bool>) -> Self {
        let mut bits = 0;
        let columns = needs_column
            .iter()
            .map(|needed| {
                needed.then(|| {
                    bits += 1;
                    bits - 1
                })
            })
            .collect();
        let of_locations = (0..2 * rows.len()).filter(|row| rows[row % rows.len()]);
        let kept = (0..threads).chain(of_locations.map(|row| threads + row));
        let kept = kept.map(|row| row as u32).collect();
        Precede { columns, bits, threads, rows, kept }
    }

    fn row_words(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }

    /// How many words T, W and M take.
    pub fn words(&self) -> usize {
        (self.threads + 2 * self.columns.len()) * self.row_words()
    }

    /// How many bits they take when packed.
    pub fn bits(&self) -> u32 {
        let rows = self.threads + 2 * self.rows.iter().filter(|row| **row).count();
        rows as u32 * self.bits
    }

    /// T(τ) = all locations, W(x) = M(x) = {x}.
    pub fn initial(&self, words: &mut [u64]) {
        let width = self.row_words();
        for t in 0..self.threads {
            for bit in 0..self.bits {
                words[t * width + bit as usize / 64] |= 1 << (bit % 64);
            }
        }
        for (x, column) in self.columns.iter().enumerate() {
            if let Some(bit) = column {
                for row in [self.threads + x, self.threads + self.columns.len() + x] {
                    words[row * width + *bit as usize / 64] |= 1 << (bit % 64);
                }
            }
        }
    }

    /// Is x ∈ T(τ)?
    #[inline(always)]
    pub fn must_follow(&self, words: &[u64], tid: Tid, loc: Loc) -> bool {
        self.columns[loc.index()].is_some_and(|bit| {
            words[tid.index() * self.row_words() + bit as usize / 64] >> (bit % 64) & 1 == 1
        })
    }

    /// The step of an access.
    #[inline]
    pub fn step(&self, words: &mut [u64], tid: Tid, loc: Loc, kind: Kind) {
        let width = self.row_words();
        let thread = tid.index() * width;
        let write_row = (self.threads + loc.index()) * width;
        let max_row = (self.threads + self.columns.len() + loc.index()) * width;
        match kind {
            Kind::Read => {
                for k in 0..width {
                    words[thread + k] |= words[write_row + k];
                    words[max_row + k] |= words[thread + k];
                }
            }
            Kind::Write | Kind::Update => {
                for k in 0..width {
                    words[thread + k] |= words[max_row + k];
                }
                if let Some(bit) = self.columns[loc.index()] {
                    let (word, bit) = (bit as usize / 64, 1u64 << (bit % 64));
                    for row in words.chunks_exact_mut(width) {
                        row[word] &= !bit;
                    }
                    words[thread + word] |= bit;
                }
                for k in 0..width {
                    words[write_row + k] = words[thread + k];
                    words[max_row + k] = words[thread + k];
                }
            }
        }
    }

    /// Forgets T(τ).
    pub fn retire(&self, words: &mut [u64], tid: Tid) {
        let width = self.row_words();
        words[tid.index() * width..(tid.index() + 1) * width].fill(0);
    }

    /// Forgets what follows the last write of a location.
    pub fn forget(&self, words: &mut [u64], loc: Loc) {
        let Some(bit) = self.columns[loc.index()] else { return };
        for row in words.chunks_exact_mut(self.row_words()) {
            row[bit as usize / 64] &= !(1 << (bit % 64));
        }
    }

    /// The image of every column under an automorphism; none if each is its own.
    pub fn renaming(&self, alpha: &Automorphism) -> Option<Box<[u32]>> {
        let mut image: Box<[u32]> = (0..self.bits).collect();
        for (x, column) in self.columns.iter().enumerate() {
            if let Some(bit) = column {
                image[*bit as usize] =
                    self.columns[alpha.locations[x].index()].expect("columns are symmetric");
            }
        }
        let trivial = image.iter().enumerate().all(|(k, to)| k as u32 == *to);
        (!trivial).then_some(image)
    }

    /// Writes the image of T, W and M to `image`; `bits` is [`Precede::renaming`].
    pub fn rename(
        &self,
        alpha: &Automorphism,
        bits: Option<&[u32]>,
        words: &[u64],
        image: &mut [u64],
    ) {
        let width = self.row_words();
        if width == 0 {
            return;
        }
        for (row, content) in words.chunks_exact(width).enumerate() {
            let to = match row.checked_sub(self.threads) {
                None => alpha.threads[row].index(),
                Some(k) => {
                    let locations = self.columns.len();
                    let (table, x) = (k / locations, k % locations);
                    self.threads + table * locations + alpha.locations[x].index()
                }
            };
            rename_row(bits, content, &mut image[to * width..(to + 1) * width]);
        }
    }

    /// Packs T, W and M.
    #[inline(always)]
    pub fn pack(&self, words: &[u64], out: &mut BitWriter<'_>) {
        let width = self.row_words();
        if width == 0 {
            return;
        }
        for row in &self.kept {
            out.push_row(&words[*row as usize * width..][..width], self.bits);
        }
    }

    /// Unpacks T, W and M.
    #[inline(always)]
    pub fn unpack(&self, words: &mut [u64], from: &mut BitReader<'_>) {
        let width = self.row_words();
        if width == 0 {
            return;
        }
        for row in &self.kept {
            from.take_row(&mut words[*row as usize * width..][..width], self.bits);
        }
    }
}
