//! What workers send each other while they search: flat bytes with a small header.
//!
//! Timely moves *containers*. A container of ours is one message to one worker, so that neither sorting by target nor
//! taking apart costs anything: packed states lie back to back as they do in an arena, and what arrives from the
//! network is read where it lies.

use search::Width;
use timely::Accountable;
use timely::bytes::arc::Bytes;
use timely::communication::Push;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::dataflow::channels::{ContainerBytes, Message as Timed};

/// What a message is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u32)]
pub(crate) enum Kind {
    /// Nothing: timely leaves such behind.
    #[default]
    Nothing,
    /// States of the level that the message's time says.
    States,
    /// So many bytes of states have been inserted.
    Inserted,
    /// How far a worker has come; see [`crate::engine::Count`].
    Count,
    /// A finding has answered the question.
    Answered,
    /// Everybody is to stop.
    Halt,
}

impl Kind {
    fn from_number(number: u32) -> Kind {
        let kinds = [Kind::States, Kind::Inserted, Kind::Count, Kind::Answered, Kind::Halt];
        kinds.into_iter().find(|kind| *kind as u32 == number).unwrap_or_default()
    }
}

/// What comes before the bytes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Header {
    pub kind: Kind,
    /// The worker that the message is for.
    pub target: u32,
    /// The worker that sent it.
    pub from: u32,
    /// For states, the parents that they are successors of: the first, and the one after the last.
    pub first: u32,
    pub end: u32,
}

/// A message: a header and bytes.
#[derive(Default)]
pub(crate) struct Message {
    pub header: Header,
    bytes: Payload,
}

enum Payload {
    Owned(Vec<u8>),
    /// A part of what was read from a connection.
    Read(Bytes),
}

impl Default for Payload {
    fn default() -> Self {
        Payload::Owned(Vec::new())
    }
}

impl Clone for Message {
    fn clone(&self) -> Self {
        Message::new(self.header, self.bytes().to_vec())
    }
}

/// Bytes of a header: five numbers, and the length of what follows.
const HEADER: usize = 24;

impl Message {
    pub(crate) fn new(header: Header, bytes: Vec<u8>) -> Self {
        Message { header, bytes: Payload::Owned(bytes) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Payload::Owned(bytes) => bytes,
            Payload::Read(bytes) => bytes,
        }
    }
}

/// A message counts as one record.
impl Accountable for Message {
    fn record_count(&self) -> i64 {
        i64::from(self.header.kind != Kind::Nothing)
    }
}

impl ContainerBytes for Message {
    fn from_bytes(mut bytes: Bytes) -> Self {
        let number = |at: usize| {
            let four = bytes[4 * at..4 * at + 4].try_into().expect("four bytes");
            u32::from_le_bytes(four)
        };
        let header = Header {
            kind: Kind::from_number(number(0)),
            target: number(1),
            from: number(2),
            first: number(3),
            end: number(4),
        };
        let length = number(5) as usize;
        bytes.extract_to(HEADER);
        Message { header, bytes: Payload::Read(bytes.extract_to(length)) }
    }

    /// Timely wants multiples of eight.
    fn length_in_bytes(&self) -> usize {
        (HEADER + self.bytes().len()).next_multiple_of(8)
    }

    fn into_bytes<W: std::io::Write>(&self, writer: &mut W) {
        let Header { kind, target, from, first, end } = self.header;
        let bytes = self.bytes();
        let length = bytes.len() as u32;
        let mut header = [0; HEADER];
        for (at, number) in [kind as u32, target, from, first, end, length].into_iter().enumerate()
        {
            header[4 * at..4 * at + 4].copy_from_slice(&number.to_le_bytes());
        }
        let padding = self.length_in_bytes() - HEADER - bytes.len();
        let written = writer
            .write_all(&header)
            .and_then(|()| writer.write_all(bytes))
            .and_then(|()| writer.write_all(&[0; 8][..padding]));
        written.expect("timely reserved as much memory as it was told");
    }
}

/// Hands each message to its target.
pub(crate) struct ToTarget;

impl Distributor<Message> for ToTarget {
    fn partition<T: Clone, P: Push<Timed<T, Message>>>(
        &mut self,
        message: &mut Message,
        time: &T,
        pushers: &mut [P],
    ) {
        let target = message.header.target as usize;
        Timed::push_at(message, time.clone(), &mut pushers[target]);
        *message = Message::default();
    }

    fn flush<T: Clone, P: Push<Timed<T, Message>>>(&mut self, _: &T, _: &mut [P]) {}
}

/// Appends a state to others; one of varying length with its length before it.
#[inline(always)]
pub(crate) fn append(width: Width, state: &[u8], to: &mut Vec<u8>) {
    if width == Width::Varying {
        to.extend_from_slice(&(state.len() as u32).to_le_bytes());
    }
    to.extend_from_slice(state);
}

/// The states that were appended to each other.
pub(crate) fn states(width: Width, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = match width {
            Width::Fixed(bytes) | Width::Monitored { bytes, .. } => bytes,
            Width::Varying => {
                let (length, states) = rest.split_first_chunk::<4>()?;
                rest = states;
                u32::from_le_bytes(*length) as usize
            }
        };
        let (state, others) = rest.split_at_checked(length)?;
        rest = others;
        Some(state)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches lengths that are cut off, and padding that is taken for states.
    #[test]
    fn messages_come_back_from_bytes() {
        for length in 0..40 {
            let bytes: Vec<u8> = (0..length).collect();
            let header = Header { kind: Kind::States, target: 1, from: 2, first: 3, end: u32::MAX };
            let message = Message::new(header, bytes.clone());
            let mut written = Vec::new();
            message.into_bytes(&mut written);
            assert_eq!(written.len(), message.length_in_bytes());
            let read = Message::from_bytes(timely::bytes::arc::BytesMut::from(written).freeze());
            assert_eq!((read.header, read.bytes()), (header, &bytes[..]));
        }
    }

    #[test]
    fn states_come_back_in_order() {
        for width in [Width::Fixed(3), Width::Varying] {
            let all = [&[1, 2, 3][..], &[4, 5, 6], &[7, 8, 9]];
            let mut bytes = Vec::new();
            all.iter().for_each(|state| append(width, state, &mut bytes));
            assert!(states(width, &bytes).eq(all));
        }
    }
}
