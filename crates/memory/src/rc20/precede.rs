//! Which last writes must come before a thread's next step under SC.
//!
//! V_SC of the paper (Algorithm 1): T(τ) holds x when x's last write is hb_SC-before (or is) an
//! event of τ; W(x) holds y when y's last write is hb_SC-before x's last write; M(x) the same for
//! x's last write or any later read of x. Only locations at which something stale could be accessed
//! have a column.

use super::rows::{RowsRenaming, keep_only};
use super::views::Kind;
use analysis::symmetry::Automorphism;
use ir::bits::{BitReader, BitWriter};
use ir::ids::{Loc, Tid};
use smallvec::{SmallVec, smallvec};

/// The layout of T, W and M.
#[derive(Clone, Debug)]
pub struct Precede {
    /// The column of each location, if it has one; the last location is the fences' hidden one.
    columns: Vec<Option<u32>>,
    bits: u32,
    threads: usize,
    /// Where the rows W and M of each location are, behind all of T: first all W, then all M. Only locations that are
    /// atomic and accessed have them; the others' are nowhere.
    rows: Box<[u32]>,
    /// How many rows there are.
    count: usize,
}

/// Where a row is that there is none of.
const NOWHERE: u32 = u32::MAX;

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
        let mut count = threads;
        let rows = rows.iter().chain(&rows).map(|kept| {
            let row = if *kept { count as u32 } else { NOWHERE };
            count += usize::from(*kept);
            row
        });
        let rows = rows.collect();
        Precede { columns, bits, threads, rows, count }
    }

    /// The row W of a location.
    #[inline(always)]
    fn write_row(&self, loc: Loc) -> usize {
        self.rows[loc.index()] as usize
    }

    /// The row M of a location.
    #[inline(always)]
    fn max_row(&self, loc: Loc) -> usize {
        self.rows[self.columns.len() + loc.index()] as usize
    }

    fn row_words(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }

    /// How many words T, W and M take.
    pub fn words(&self) -> usize {
        self.count * self.row_words()
    }

    /// How many bits they take when packed.
    pub fn bits(&self) -> u32 {
        self.count as u32 * self.bits
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
                for row in [self.write_row(Loc::from(x)), self.max_row(Loc::from(x))] {
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
        if width == 0 {
            return;
        }
        let thread = tid.index() * width;
        let (write_row, max_row) = (self.write_row(loc) * width, self.max_row(loc) * width);
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

    /// Forgets what follows the last writes of some locations.
    pub fn forget(&self, words: &mut [u64], locs: impl Iterator<Item = Loc>) {
        let width = self.row_words();
        let mut forgotten: SmallVec<[u64; 2]> = smallvec![0; width];
        for bit in locs.filter_map(|loc| self.columns[loc.index()]) {
            forgotten[bit as usize / 64] |= 1 << (bit % 64);
        }
        for (k, bits) in forgotten.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            keep_only(words, width, k, !bits);
        }
    }

    /// Prepares to apply an automorphism.
    pub fn renaming(&self, alpha: &Automorphism) -> RowsRenaming {
        let mut rows: Box<[u32]> = vec![NOWHERE; self.count].into();
        for (row, to) in rows.iter_mut().zip(&alpha.threads).take(self.threads) {
            *row = to.0;
        }
        for x in (0..self.columns.len()).filter(|x| self.rows[*x] != NOWHERE) {
            let (loc, to) = (Loc::from(x), alpha.locations[x]);
            rows[self.write_row(loc)] = self.write_row(to) as u32;
            rows[self.max_row(loc)] = self.max_row(to) as u32;
        }
        let mut image: Box<[u32]> = (0..self.bits).collect();
        for (x, column) in self.columns.iter().enumerate() {
            if let Some(bit) = column {
                image[*bit as usize] =
                    self.columns[alpha.locations[x].index()].expect("columns are symmetric");
            }
        }
        RowsRenaming::new(rows, image)
    }

    /// Writes the image of T, W and M to `image`.
    #[inline(always)]
    pub fn rename(&self, renaming: &RowsRenaming, words: &[u64], image: &mut [u64]) {
        renaming.rename(self.row_words(), words, image);
    }

    /// Packs T, W and M.
    #[inline(always)]
    pub fn pack(&self, words: &[u64], out: &mut BitWriter<'_>) {
        out.push_rows(words, self.bits);
    }

    /// Unpacks T, W and M.
    #[inline(always)]
    pub fn unpack(&self, words: &mut [u64], from: &mut BitReader<'_>) {
        from.take_rows(words, self.bits);
    }
}
