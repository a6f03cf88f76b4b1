//! What a channel holds: a queue of messages, as one value of one cell.
//!
//! A message is on its way in a *slot*, memory that its sender fills and its receiver empties; the queue says which slots
//! are on their way, in which order. So a queue is a value like any other, equal queues are equal values, and threads
//! that send and receive for ever come back to the same states. All that is done to a queue is done in one step, and is
//! relaxed: a step on the queue orders nothing. What a send and its receive order is left to the slot
//! (`library::rust::channels`).
//!
//! A slot belongs to the thread that sends and is named by a number, the smallest that none of the thread's messages on
//! its way has. A message that was received keeps its number until the thread that received it receives again:
//! until then it may still be read.

use crate::value::Word;
use std::collections::HashMap;

/// The receiver is gone, or nothing is left and all senders are gone.
pub(crate) const GONE: Word = Word::Bits(1 << 80);
/// There is no room.
pub(crate) const FULL: Word = Word::Bits(1 << 81);
/// There is no message.
pub(crate) const EMPTY: Word = Word::Bits(1 << 82);

/// What is done to a queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Queueing {
    /// A message is on its way. The input is the number of its slot, [`GONE`] or [`FULL`].
    Send { thread: u32, most: u64, waits: bool },
    /// A message arrives. The input is its [`Slot`], [`GONE`] or [`EMPTY`].
    Receive { thread: u32, waits: bool },
    /// No messages will come. The input is 1 if some might have.
    DropSenders,
    /// No messages will be received, and the first of those that are on their way is taken out. The input is its
    /// [`Slot`], or [`EMPTY`].
    DropReceivers { thread: u32 },
}

/// Where a message is: whose, and which of the thread's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Slot {
    pub(crate) thread: u32,
    pub(crate) nth: u32,
}

impl Slot {
    fn word(self) -> Word {
        Word::Bits(u128::from(self.thread) << 32 | u128::from(self.nth))
    }

    /// The slot that an input names; none if it names none.
    pub(crate) fn of(word: Word) -> Option<Slot> {
        let Word::Bits(bits) = word else { return None };
        let bits = u64::try_from(bits).ok()?;
        Some(Slot { thread: (bits >> 32) as u32, nth: bits as u32 })
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Queue {
    /// Who may still be reading which message.
    read: Vec<(u32, Slot)>,
    waiting: Vec<Slot>,
    senders_gone: bool,
    receivers_gone: bool,
}

impl Queue {
    /// What becomes of it, if it changes, and the input; `None` if the thread waits.
    fn after(&self, queueing: Queueing) -> Option<(Option<Queue>, Word)> {
        let mut next = self.clone();
        Some(match queueing {
            Queueing::Send { .. } if self.receivers_gone => (None, GONE),
            Queueing::Send { most, waits, .. } if self.waiting.len() as u64 >= most => {
                match waits {
                    true => return None,
                    false => (None, FULL),
                }
            }
            Queueing::Send { thread, .. } => {
                let taken = |slot: &Slot| {
                    self.waiting.contains(slot) || self.read.iter().any(|(_, read)| read == slot)
                };
                let nth = (0..).find(|nth| !taken(&Slot { thread, nth: *nth })).unwrap_or(u32::MAX);
                next.waiting.push(Slot { thread, nth });
                (Some(next), Word::Bits(nth.into()))
            }
            Queueing::Receive { thread, .. } if !self.waiting.is_empty() => {
                let slot = next.take(thread);
                (Some(next), slot.word())
            }
            Queueing::Receive { .. } if self.senders_gone => (None, GONE),
            Queueing::Receive { waits: true, .. } => return None,
            Queueing::Receive { waits: false, .. } => (None, EMPTY),
            Queueing::DropSenders => {
                next.senders_gone = true;
                (Some(next), Word::Bits((!self.senders_gone).into()))
            }
            Queueing::DropReceivers { thread } => {
                next.receivers_gone = true;
                let input = match self.waiting.is_empty() {
                    true => EMPTY,
                    false => next.take(thread).word(),
                };
                (Some(next), input)
            }
        })
    }

    /// The first message, which the thread reads now.
    fn take(&mut self, thread: u32) -> Slot {
        let slot = self.waiting.remove(0);
        self.read.retain(|(reader, _)| *reader != thread);
        self.read.push((thread, slot));
        self.read.sort_unstable();
        slot
    }
}

/// All queues that were ever met: the value of a cell is a number of one of them, and 0 is the empty one.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    known: Vec<Queue>,
    ids: HashMap<Queue, u128>,
}

impl Default for Queues {
    fn default() -> Self {
        let empty = Queue::default();
        Queues { known: vec![empty.clone()], ids: HashMap::from([(empty, 0)]) }
    }
}

impl Queues {
    /// The new value of a cell, if it has one, and the input that a thread gets; `None` if the thread waits.
    pub(crate) fn after(&mut self, old: Word, queueing: Queueing) -> Option<(Option<Word>, Word)> {
        let Word::Bits(old) = old else { return None };
        let queue = self.known.get(usize::try_from(old).ok()?)?;
        let (next, input) = queue.after(queueing)?;
        let next = next.map(|next| Word::Bits(self.number(next)));
        Some((next, input))
    }

    fn number(&mut self, queue: Queue) -> u128 {
        if let Some(known) = self.ids.get(&queue) {
            return *known;
        }
        let number = self.known.len() as u128;
        self.known.push(queue.clone());
        self.ids.insert(queue, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND: Queueing = Queueing::Send { thread: 1, most: 2, waits: true };
    const RECEIVE: Queueing = Queueing::Receive { thread: 0, waits: true };

    fn step(queues: &mut Queues, at: Word, queueing: Queueing) -> (Word, Word) {
        let (next, input) = queues.after(at, queueing).expect("it does not wait");
        (next.unwrap_or(at), input)
    }

    /// Catches queues that grow with what went through them: a thread that sends for ever would never come back.
    #[test]
    fn equal_queues_are_equal_values() {
        let mut queues = Queues::default();
        let (sent, nth) = step(&mut queues, Word::ZERO, SEND);
        assert_eq!(nth, Word::ZERO);
        let (received, slot) = step(&mut queues, sent, RECEIVE);
        assert_eq!(Slot::of(slot), Some(Slot { thread: 1, nth: 0 }));
        // The first slot may still be read.
        let (sent, nth) = step(&mut queues, received, SEND);
        assert_eq!(nth, Word::Bits(1));
        let (again, _) = step(&mut queues, sent, RECEIVE);
        let (sent, nth) = step(&mut queues, again, SEND);
        assert_eq!(nth, Word::ZERO);
        assert_eq!(step(&mut queues, sent, RECEIVE).0, received);
    }

    #[test]
    fn messages_arrive_in_order_and_ends_are_seen() {
        let mut queues = Queues::default();
        let other = Queueing::Send { thread: 2, most: 2, waits: true };
        assert_eq!(queues.after(Word::ZERO, RECEIVE), None);
        let (one, _) = step(&mut queues, Word::ZERO, other);
        let (two, _) = step(&mut queues, one, SEND);
        assert_eq!(queues.after(two, SEND), None);
        let attempt = Queueing::Send { thread: 1, most: 2, waits: false };
        assert_eq!(step(&mut queues, two, attempt), (two, FULL));
        let (gone, first) = step(&mut queues, two, Queueing::DropSenders);
        assert_eq!(first, Word::Bits(1));
        let (left, slot) = step(&mut queues, gone, RECEIVE);
        assert_eq!(Slot::of(slot), Some(Slot { thread: 2, nth: 0 }));
        let (none, slot) = step(&mut queues, left, RECEIVE);
        assert_eq!(Slot::of(slot), Some(Slot { thread: 1, nth: 0 }));
        assert_eq!(step(&mut queues, none, RECEIVE), (none, GONE));
        let drop = Queueing::DropReceivers { thread: 0 };
        let (gone, slot) = step(&mut queues, two, drop);
        assert_eq!(Slot::of(slot), Some(Slot { thread: 2, nth: 0 }));
        assert_eq!(step(&mut queues, gone, SEND), (gone, GONE));
        let (gone, slot) = step(&mut queues, gone, drop);
        assert_eq!(Slot::of(slot), Some(Slot { thread: 1, nth: 0 }));
        assert_eq!(step(&mut queues, gone, drop), (gone, EMPTY));
        assert_eq!(Slot::of(GONE), None);
    }
}
