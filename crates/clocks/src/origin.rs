//! Where an access was made that is still in a cell.
//!
//! A [`Cell`](crate::shadow::Cell) keeps epochs, which say who and when, but not where. The place is kept
//! beside it, in a word of its own with enough of the epoch to tell whether it belongs to the access that is
//! asked about. Where several threads read, or bytes of one cell have different pasts, one such word is not
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

    /// Is this the place of that access?
    pub fn is_of(self, access: Epoch) -> bool {
        self.0 != 0
            && self.thread() == access.thread()
            && (self.0 >> EPOCH & 0xfff) == (access.epoch() & 0xfff)
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
