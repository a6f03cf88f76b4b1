//! Memory that one thread alone touches, as a layer over what memory held before the threads started.
//!
//! C programs write a pair of `int`s and copy both as one `long`, so cells of private memory come in any size: a read
//! that matches no cell is put together from bytes.

use crate::space::{Fill, Image, ObjectId, overlapping};
use crate::value::{Bits, Word};
use std::collections::BTreeMap;

/// The cells a thread has written, by object and offset. They do not overlap.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Private {
    objects: BTreeMap<ObjectId, Image>,
}

impl Private {
    /// What the bytes `offset..offset + size` of an object hold, where `below` holds what was there before.
    pub(crate) fn read(
        &self,
        object: ObjectId,
        offset: u32,
        size: u8,
        below: &Image,
        fill: Fill,
    ) -> Word {
        let empty = Image::new();
        let own = self.objects.get(&object).unwrap_or(&empty);
        if let Some((length, word)) = own.get(&offset)
            && *length == size
        {
            return *word;
        }
        let untouched = overlapping(own, offset, size).next().is_none();
        if untouched {
            if let Some((length, word)) = below.get(&offset)
                && *length == size
            {
                return *word;
            }
            if overlapping(below, offset, size).next().is_none() {
                return match fill {
                    Fill::Zero => Word::ZERO,
                    Fill::Undef => Word::Undef,
                };
            }
        }
        let mut bits = Bits::default();
        for k in 0..u32::from(size) {
            let byte = byte(own, offset + k).or_else(|| byte(below, offset + k));
            let byte = byte.unwrap_or(match fill {
                Fill::Zero => Word::ZERO,
                Fill::Undef => Word::Undef,
            });
            bits = bits.join(byte.bits().low(8).up(8 * k));
        }
        bits.word(8 * u32::from(size))
    }

    /// Puts a word into the bytes `offset..offset + size`.
    pub(crate) fn write(&mut self, object: ObjectId, offset: u32, size: u8, word: Word) {
        write(self.objects.entry(object).or_default(), offset, size, word);
    }

    /// Forgets what an object holds.
    pub(crate) fn forget(&mut self, object: ObjectId) {
        self.objects.remove(&object);
    }

    /// The objects that were written, with their cells.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (ObjectId, &Image)> {
        self.objects.iter().map(|(object, image)| (*object, image))
    }

    /// What was written of an object.
    pub(crate) fn image(&self, object: ObjectId) -> Option<&Image> {
        self.objects.get(&object)
    }

    /// The cells of an object.
    pub(crate) fn cells(&self, object: ObjectId) -> impl Iterator<Item = Word> + '_ {
        self.objects
            .get(&object)
            .into_iter()
            .flat_map(|image| image.values().map(|(_, word)| *word))
    }

    /// All that was written, to be put below all threads.
    pub(crate) fn take(&mut self) -> BTreeMap<ObjectId, Image> {
        std::mem::take(&mut self.objects)
    }
}

/// Puts a word into an image, cutting cells that it overlaps: halves of 8 bytes that it does not overlap stay as they are, and the
/// others are cut into bytes.
pub(crate) fn write(image: &mut Image, offset: u32, size: u8, word: Word) {
    let end = offset + u32::from(size);
    let cut: Vec<(u32, u8, Word)> = overlapping(image, offset, size)
        .filter(|(start, length, _)| (*start, *length) != (offset, size))
        .collect();
    for (start, length, word) in cut {
        image.remove(&start);
        for from in (0..length).step_by(8) {
            let (at, size) = (start + u32::from(from), (length - from).min(8));
            let part = |from: u32, size: u8| {
                (size, word.bits().down(8 * (from - start)).word(8 * u32::from(size)))
            };
            if at + u32::from(size) <= offset || end <= at {
                image.insert(at, part(at, size));
                continue;
            }
            for at in (at..at + u32::from(size)).filter(|at| *at < offset || *at >= end) {
                image.insert(at, part(at, 1));
            }
        }
    }
    image.insert(offset, (size, word));
}

/// The byte at `offset`, if a cell has it.
fn byte(image: &Image, offset: u32) -> Option<Word> {
    let (start, _, word) = overlapping(image, offset, 1).next()?;
    Some(word.bits().down(8 * (offset - start)).word(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: ObjectId = ObjectId(0);

    /// Catches sizes that do not match: halves of a cell, a cell of two halves, undefined bytes, layers.
    #[test]
    fn reads_of_any_size_see_the_bytes_written() {
        let mut below = Image::new();
        write(&mut below, 0, 8, Word::Bits(0x1122_3344_5566_7788));
        let mut own = Private::default();
        let read =
            |own: &Private, offset, size| own.read(OBJECT, offset, size, &below, Fill::Undef);
        assert_eq!(read(&own, 4, 4), Word::Bits(0x1122_3344));
        own.write(OBJECT, 2, 2, Word::Bits(0xabcd));
        assert_eq!(read(&own, 0, 8), Word::Bits(0x1122_3344_abcd_7788));
        assert_eq!(read(&own, 6, 4), Word::Partly(Bits { bits: 0x1122, defined: 0xffff }));
        assert_eq!(read(&own, 8, 4), Word::Undef);
        own.write(OBJECT, 3, 4, Word::Bits(0x0102_0304));
        assert_eq!(read(&own, 0, 8), Word::Bits(0x1101_0203_04cd_7788));
        own.write(OBJECT, 0, 8, Word::Undef);
        assert_eq!(read(&own, 0, 1), Word::Undef);
        own.write(OBJECT, 0, 8, Word::Bits(5));
        assert_eq!(own.objects().next().map(|(_, image)| image.len()), Some(1));
        assert_eq!(own.read(ObjectId(1), 0, 4, &Image::new(), Fill::Zero), Word::ZERO);
    }
}
