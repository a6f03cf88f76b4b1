//! Memory that was written on paper: bytes that are known, and bytes of which nothing is known but that they were
//! written.

use clocks::hash::BuildMixer;
use std::collections::HashMap;

/// Eight bytes that begin at a multiple of eight. Bytes that are not written, or not known, are zero.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Word {
    bytes: u64,
    /// A bit for each byte that was written.
    written: u8,
    /// A bit for each of these whose value is known.
    known: u8,
}

/// What was written.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Overlay(HashMap<u64, Word, BuildMixer>);

impl Overlay {
    /// Writes a number, of up to eight bytes, or something that is not known.
    pub(super) fn store(&mut self, at: u64, value: Option<u64>, size: usize) {
        let shift = at % 8;
        if let Some(value) = value
            && (1..=8 - shift as usize).contains(&size)
        {
            let (bits, bytes) = (u64::MAX >> (64 - 8 * size), (0xff_u8 >> (8 - size)) << shift);
            let word = self.0.entry(at - shift).or_default();
            word.bytes = word.bytes & !(bits << (8 * shift)) | (value & bits) << (8 * shift);
            word.written |= bytes;
            word.known |= bytes;
            return;
        }
        for k in 0..size as u64 {
            self.set(at.wrapping_add(k), value.map(|value| (value >> (8 * k)) as u8));
        }
    }

    /// Writes many bytes that are not known.
    pub(super) fn forget(&mut self, at: u64, size: usize) {
        (0..size as u64).for_each(|k| self.set(at.wrapping_add(k), None));
    }

    fn set(&mut self, at: u64, byte: Option<u8>) {
        let shift = at % 8;
        let word = self.0.entry(at - shift).or_default();
        word.bytes &= !(0xff << (8 * shift));
        word.bytes |= u64::from(byte.unwrap_or(0)) << (8 * shift);
        word.written |= 1 << shift;
        word.known &= !(1 << shift);
        word.known |= u8::from(byte.is_some()) << shift;
    }

    /// Of a byte: `None` if it was not written, `Some(None)` if it is not known what it is now.
    pub(super) fn get(&self, at: u64) -> Option<Option<u8>> {
        let shift = at % 8;
        let word = self.0.get(&(at - shift)).filter(|word| word.written >> shift & 1 == 1)?;
        Some((word.known >> shift & 1 == 1).then_some((word.bytes >> (8 * shift)) as u8))
    }

    /// A number of which nothing, or everything, was written and is known in one word; otherwise its bytes have to be
    /// looked at one by one.
    pub(super) fn whole(&self, at: u64, size: usize) -> Whole {
        let shift = at % 8;
        if shift as usize + size > 8 {
            return Whole::Mixed;
        }
        let Some(word) = self.0.get(&(at - shift)) else { return Whole::Below };
        let mask = (((1_u16 << size) - 1) as u8) << shift;
        if word.written & mask == 0 {
            return Whole::Below;
        }
        if word.known & mask != mask {
            return Whole::Mixed;
        }
        Whole::Here(word.bytes >> (8 * shift) & (u64::MAX >> (64 - 8 * size)))
    }

    /// Forgets what was written from one address up to another.
    pub(super) fn drop_range(&mut self, from: u64, to: u64) {
        self.0.retain(|&at, word| {
            let gone = |k: u64| (from..to).contains(&at.wrapping_add(k));
            for k in (0..8).filter(|&k| gone(k)) {
                word.written &= !(1 << k);
                word.known &= !(1 << k);
                word.bytes &= !(0xff << (8 * k));
            }
            word.written != 0
        });
    }

    /// The addresses of bytes that are not the same, as far as this knows, in both.
    pub(super) fn differing<'a>(&'a self, other: &'a Overlay) -> impl Iterator<Item = u64> + 'a {
        let words = self.0.keys().chain(other.0.keys()).copied();
        let differ = |at: &u64| self.0.get(at) != other.0.get(at);
        words
            .filter(differ)
            .flat_map(|at| (at..=at + 7).filter(|&at| self.get(at) != other.get(at)))
    }
}

/// Where a number is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whole {
    /// It was not written.
    Below,
    /// It was written, and this is it.
    Here(u64),
    /// Some of it was written, or is not known.
    Mixed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Catches bytes that get lost at the borders of words, and words that answer for bytes that were not written.
    #[test]
    fn an_overlay_is_a_map_of_bytes() {
        let mut state = 7_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % bound
        };
        let (mut overlays, mut maps) = <([Overlay; 2], [BTreeMap<u64, Option<u8>>; 2])>::default();
        for step in 0..30_000_u64 {
            let (which, at, size) = (below(2) as usize, below(40), 1 + below(8));
            let (overlay, map) = (&mut overlays[which], &mut maps[which]);
            match below(20) {
                0 => {
                    overlay.drop_range(at, at + size);
                    map.retain(|key, _| !(at..at + size).contains(key));
                }
                1..4 => {
                    overlay.forget(at, size as usize);
                    map.extend((at..at + size).map(|key| (key, None)));
                }
                _ => {
                    let value = step.wrapping_mul(0x0123_4567_89ab_cdef);
                    overlay.store(at, Some(value), size as usize);
                    map.extend((0..size).map(|k| (at + k, Some((value >> (8 * k)) as u8))));
                }
            }
            let (at, size) = (below(40), 1 + below(8));
            let bytes: Vec<_> = (at..at + size).map(|key| map.get(&key).copied()).collect();
            assert_eq!(overlay.get(at), bytes[0], "step {step}");
            match overlay.whole(at, size as usize) {
                Whole::Below => assert!(bytes.iter().all(Option::is_none), "step {step}"),
                Whole::Mixed => {}
                Whole::Here(value) => {
                    let same = |(k, byte): (usize, &Option<Option<u8>>)| {
                        *byte == Some(Some((value >> (8 * k)) as u8))
                    };
                    assert!(bytes.iter().enumerate().all(same), "step {step}");
                    assert!(size == 8 || value >> (8 * size) == 0, "step {step}");
                }
            }
            let mut found: Vec<u64> = overlays[0].differing(&overlays[1]).collect();
            found.sort_unstable();
            found.dedup();
            let differ = |at: &u64| maps[0].get(at) != maps[1].get(at);
            let expected: Vec<u64> = (0..64).filter(differ).collect();
            assert_eq!(found, expected, "step {step}");
            assert_eq!(overlays[0] == overlays[1], expected.is_empty(), "step {step}");
        }
    }
}
