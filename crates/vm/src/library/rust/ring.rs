//! The cells of a channel: which of them is what.

use crate::action::Cell;
use crate::queue::{GONE, Tail};
use crate::value::Word;

/// The cells of a channel: by its tail, and how many positions it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    pub(super) tail: Cell,
    pub(super) positions: u32,
    /// Has it room for some messages only? For one less than it has positions.
    pub(super) is_limited: bool,
    /// Is the tail kept from when a position is reserved until it is filled?
    pub(super) keeps: bool,
}

impl Ring {
    pub(super) fn is_rendezvous(self) -> bool {
        self.is_limited && self.positions == 1
    }

    fn further(self, by: u32) -> Cell {
        Cell { offset: self.tail.offset + by, ..self.tail }
    }

    /// The position where the next message is received.
    pub(super) fn head(self) -> Cell {
        self.further(1)
    }

    /// How many senders wait for a receiver, if there is no room.
    pub(super) fn senders(self) -> Cell {
        self.further(1)
    }

    /// What is at a position.
    pub(super) fn at(self, position: u32) -> Cell {
        self.further(2 + position % self.positions)
    }

    pub(super) fn next(self, position: u32) -> u32 {
        (position + 1) % (2 * self.positions)
    }
}

/// What came of reserving a position.
pub(super) enum Reserved {
    At(u32),
    /// The receiver is gone.
    Gone,
    /// There is no room.
    Full,
    /// Somebody else was quicker.
    Again,
}

/// What the tail of a channel was; none if the receiver is gone.
pub(super) fn known_tail(word: Word) -> Option<Tail> {
    match word {
        GONE => None,
        Word::Bits(bits) => Some(Tail::of(bits)),
        Word::Undef | Word::Partly(_) => None,
    }
}
