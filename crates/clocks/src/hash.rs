//! A hash for numbers that nobody chooses to our harm: a multiplication a word, where the standard library's takes
//! many times as long.

use std::hash::{BuildHasherDefault, Hasher};

/// Hashes words.
#[derive(Default)]
pub struct Mixer(u64);

/// Makes them.
pub type BuildMixer = BuildHasherDefault<Mixer>;

impl Hasher for Mixer {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }
    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }
    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
