//! What is done to the cells of a channel: a ring of positions, each a cell of its own, and a tail.
//!
//! A send takes the next position from the *tail* and puts its message there; a receive takes the message from the
//! position that comes next. So a send and the receive of its message meet in one cell, sends meet in the tail, which is
//! the order that messages arrive in, and a send that waits for room meets the receive that made it. Nothing else meets: a receive has
//! nothing to do with later sends, as it would if the whole queue were one value. That is what robustness needs, for
//! which every two steps on one cell are in some order. `library::rust::channels` has the operations, and says why
//! they are right.
//!
//! Positions are numbered round the ring twice, so that a full ring is none that is empty.

use crate::action::Order;
use crate::value::Word;

/// The other side is gone.
pub(crate) const GONE: Word = Word::Bits(1 << 80);
/// There is no room.
pub(crate) const FULL: Word = Word::Bits(1 << 81);
/// There was a message where one is put. No position ever holds this in an interleaving that is explored to its end.
pub(crate) const OVERFLOW: Word = Word::Bits(1 << 82);

/// What a position holds that is empty.
pub(crate) const EMPTY: u128 = 0;
/// The same, emptied by who has dropped the receiver.
pub(crate) const LEFT: u128 = 1;
/// The least that a position holds which is not empty.
pub(crate) const TAKEN: u128 = 2;
/// Its sender has found that the receiver is gone.
pub(crate) const CANCELLED: u128 = 2;
/// There are no more messages.
pub(crate) const END: u128 = 3;
/// A message of thread 0; those of others follow.
const MESSAGE: u128 = 4;

/// What a channel without room holds: whether its receiver waits, or is gone.
pub(crate) const READY: u128 = 1;
pub(crate) const LEAVING: u128 = 2;

/// What a position is to hold that has a message of a thread.
pub(crate) fn message_of(thread: u32) -> u128 {
    MESSAGE + u128::from(thread)
}

/// The thread whose message a position holds; none if it holds none.
pub(crate) fn sender(content: u128) -> Option<u32> {
    u32::try_from(content.checked_sub(MESSAGE)?).ok()
}

/// What is done to a cell of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Queueing {
    /// On the tail: the next position is the thread's, and nobody gets another one before it is filled, if `keeps` says so. The
    /// input is what the tail was, or [`GONE`].
    Reserve { positions: u32, keeps: bool },
    /// On the tail: the position that was reserved is filled, and others may reserve theirs.
    Release,
    /// On the tail: nobody will receive. The input is what the tail was.
    Leave,
    /// On a position: waits until it is empty. The input is 0, or [`GONE`]. It is an update, though it changes nothing: a sender
    /// that must wait for room is not one that sees how it was a round ago.
    Room,
    /// On a position: puts something there. The input is 0, or [`OVERFLOW`].
    Fill { content: u128 },
    /// On the position of a channel without room: waits until it is empty, and ends it.
    Finish,
    /// On the tail of a channel without room: the receiver that waits is the thread's. The input is 0, [`FULL`] or [`GONE`].
    Claim { waits: bool },
}

impl Queueing {
    /// What becomes of a cell, if it changes, and the input; `None` if the thread waits.
    pub(crate) fn after(self, old: Word) -> Option<(Option<Word>, Word)> {
        let Word::Bits(old) = old else { return None };
        let put = |content: u128| Some((Some(Word::Bits(content)), Word::ZERO));
        let tail = Tail::of(old);
        match self {
            Queueing::Reserve { .. } if tail.gone => Some((None, GONE)),
            Queueing::Reserve { .. } if tail.kept => None,
            Queueing::Reserve { positions, keeps } => {
                Some((Some(tail.after(positions, keeps).word()), Word::Bits(old)))
            }
            Queueing::Release => Some((Some(Tail { kept: false, ..tail }.word()), Word::ZERO)),
            Queueing::Leave => Some((Some(Tail { gone: true, ..tail }.word()), Word::Bits(old))),
            Queueing::Room if old == EMPTY => put(EMPTY),
            Queueing::Room if old == LEFT => Some((None, GONE)),
            Queueing::Room => None,
            Queueing::Fill { content } if old < TAKEN => put(content),
            Queueing::Fill { .. } => Some((Some(OVERFLOW), OVERFLOW)),
            Queueing::Finish if old < TAKEN => put(END),
            Queueing::Finish => None,
            Queueing::Claim { .. } if old == READY => put(0),
            Queueing::Claim { .. } if old == LEAVING => Some((None, GONE)),
            Queueing::Claim { waits } => (!waits).then_some((None, FULL)),
        }
    }

    /// How the cell is updated: what a sender did before it filled a position comes before what follows the receive,
    /// and what a receiver did before it waited comes before what follows the send that it waited for. A sender that does not wait
    /// sees the positions that were filled before the tail was released.
    pub(crate) fn order(self) -> Order {
        match self {
            Queueing::Fill { content } if content != END => Order::Release,
            Queueing::Release => Order::Release,
            Queueing::Claim { .. } => Order::Acquire,
            _ => Order::Relaxed,
        }
    }

    /// May it have changed its cell, if it gave this input?
    pub(crate) fn changes(self, input: Word) -> bool {
        input != GONE && input != FULL
    }
}

/// What the tail of a channel holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tail {
    /// The position that is reserved next.
    pub(crate) next: u32,
    /// Is the last that was reserved not yet filled, and all wait for that?
    pub(crate) kept: bool,
    /// Is the receiver gone?
    pub(crate) gone: bool,
}

impl Tail {
    pub(crate) fn of(bits: u128) -> Tail {
        Tail { next: bits as u32, kept: bits >> 32 & 1 != 0, gone: bits >> 33 & 1 != 0 }
    }

    pub(crate) fn word(self) -> Word {
        let flags = u128::from(self.kept) << 32 | u128::from(self.gone) << 33;
        Word::Bits(u128::from(self.next) | flags)
    }

    /// After a position was reserved.
    pub(crate) fn after(self, positions: u32, kept: bool) -> Tail {
        Tail { next: (self.next + 1) % (2 * positions), kept, ..self }
    }
}

/// Where a message is on its way: who sends it, and at which position of how many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Slot {
    pub(crate) thread: u32,
    pub(crate) position: u32,
    pub(crate) positions: u32,
    /// Is the tail kept until the position is filled?
    pub(crate) keeps: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(at: Word, queueing: Queueing) -> (Word, Word) {
        let (next, input) = queueing.after(at).expect("it does not wait");
        (next.unwrap_or(at), input)
    }

    /// Catches tails that grow with what went through them: a thread that sends for ever would never come back.
    #[test]
    fn tails_come_round() {
        let reserve = Queueing::Reserve { positions: 2, keeps: false };
        let (first, _) = step(Word::ZERO, reserve);
        let mut at = first;
        for position in 1..5 {
            let (next, was) = step(at, reserve);
            assert_eq!(was, at);
            assert_eq!(Tail::of(bits(was)).next, position % 4);
            at = next;
        }
        assert_eq!(at, first);
        let (gone, _) = step(at, Queueing::Leave);
        assert_eq!(step(gone, reserve), (gone, GONE));
    }

    #[test]
    fn one_position_at_a_time_is_reserved_where_it_is_kept() {
        let reserve = Queueing::Reserve { positions: 2, keeps: true };
        let (kept, _) = step(Word::ZERO, reserve);
        assert_eq!(reserve.after(kept), None);
        let (gone, _) = step(kept, Queueing::Leave);
        assert_eq!(step(gone, reserve).1, GONE);
        let (free, _) = step(kept, Queueing::Release);
        assert!(reserve.after(free).is_some());
    }

    #[test]
    fn positions_are_filled_when_they_are_empty() {
        let fill = Queueing::Fill { content: message_of(3) };
        let (full, input) = step(Word::ZERO, fill);
        assert_eq!((sender(bits(full)), input), (Some(3), Word::ZERO));
        assert_eq!(step(full, fill), (OVERFLOW, OVERFLOW));
        assert_eq!(Queueing::Room.after(full), None);
        assert_eq!(step(Word::ZERO, Queueing::Room).1, Word::ZERO);
        assert_eq!(step(Word::Bits(LEFT), Queueing::Room).1, GONE);
        assert_eq!(sender(END), None);
    }

    #[test]
    fn who_finds_nobody_waits_or_not() {
        let claim = |waits: bool| Queueing::Claim { waits };
        assert_eq!(claim(true).after(Word::ZERO), None);
        assert_eq!(step(Word::ZERO, claim(false)).1, FULL);
        assert_eq!(step(Word::Bits(READY), claim(false)), (Word::ZERO, Word::ZERO));
        assert_eq!(step(Word::Bits(LEAVING), claim(true)).1, GONE);
    }

    fn bits(word: Word) -> u128 {
        let Word::Bits(bits) = word else { panic!("it has a value") };
        bits
    }
}
