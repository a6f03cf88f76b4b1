//! Where an access was made that is still in a cell.
//!
//! A [`Cell`](crate::shadow::Cell) keeps epochs, which say who and when, but not where. The place is kept
//! beside it, in a word of its own with enough of the epoch to tell whether it belongs to the access that is
//! asked about. An access is told first and its place afterwards: who asks in between finds an older one, and who
//! asks late may find that of a [later access](Origin::is_after), which will do. Where several threads read, or
//! bytes of one cell have different pasts, one such word is not
//! enough; whoever keeps them must keep those that were [displaced](Origin::outlives) elsewhere. An
//! access whose place is not found has none: another thread's would be worse than none.

use crate::shadow::Epoch;
use crate::{Site, Tid};

/// A place, and the thread, some bits of the epoch, and the bytes of the access made there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin(u64);

const SITE: u32 = 32;
const EPOCH: u32 = 20;
const MASK: u32 = 12;

impl Origin {
    /// Of an access by `who` to the bytes of `mask`.
    #[inline]
    pub fn new(who: Epoch, mask: u8, site: Site) -> Origin {
        Origin(
            u64::from(site) << SITE
                | (who.epoch() & 0xfff) << EPOCH
                | u64::from(mask) << MASK
                | u64::from(who.thread()),
        )
    }

    /// As a word.
    #[inline]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// From a word.
    #[inline]
    pub fn from_bits(bits: u64) -> Origin {
        Origin(bits)
    }

    /// The place.
    pub fn site(self) -> Site {
        (self.0 >> SITE) as Site
    }

    /// The thread.
    pub fn thread(self) -> Tid {
        (self.0 & 0xfff) as Tid
    }

    fn mask(self) -> u8 {
        (self.0 >> MASK) as u8
    }

    /// The first of the bytes.
    pub fn first_byte(self) -> u32 {
        self.mask().trailing_zeros()
    }

    /// Is this the place of that access?
    pub fn is_of(self, access: Epoch) -> bool {
        self.0 != 0
            && self.thread() == access.thread()
            && (self.0 >> EPOCH & 0xfff) == (access.epoch() & 0xfff)
            && self.mask() & access.mask() != 0
    }

    /// Is this the place of a later access by the same thread to some of the same bytes? Whoever does not know of the earlier one
    /// does not know of this one, so that it races with it as well. Of more than 2048 epochs, this cannot be told.
    pub fn is_after(self, access: Epoch) -> bool {
        let later = (self.0 >> EPOCH).wrapping_sub(access.epoch()) & 0xfff;
        self.0 != 0
            && self.thread() == access.thread()
            && (1..0x800).contains(&later)
            && self.mask() & access.mask() != 0
    }

    /// May the access still be in its cell after this one, of the same kind? A write replaces what was
    /// written to the same bytes; a read leaves other threads' reads where they are.
    #[inline]
    pub fn outlives(self, next: Origin, is_write: bool) -> bool {
        self.0 != 0
            && (self.mask() & !next.mask() != 0 || !is_write && self.thread() != next.thread())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a place that is given to another thread's access, to one of other bytes, or to a later one.
    #[test]
    fn later_accesses_of_the_same_bytes() {
        let access = |thread, epoch, mask| Epoch::new(thread, epoch).with(mask);
        for first in [1, 4_090, 70_000] {
            let origin = Origin::new(Epoch::new(3, first + 9), 0x0f, 5);
            assert!(origin.is_after(access(3, first, 0x01)));
            assert!(origin.is_after(access(3, first + 8, 0xff)));
            assert!(!origin.is_after(access(3, first + 9, 0xff)), "the same");
            assert!(!origin.is_after(access(3, first + 10, 0xff)), "an earlier one");
            assert!(!origin.is_after(access(3, first + 1_000, 0xff)), "an earlier one");
            assert!(!origin.is_after(access(2, first, 0xff)), "another thread's");
            assert!(!origin.is_after(access(3, first, 0xf0)), "of other bytes");
        }
        assert!(!Origin::default().is_after(access(0, 1, 0xff)), "nothing");
    }
}
