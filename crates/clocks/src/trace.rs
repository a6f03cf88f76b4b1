//! Recordings: what an [`Analysis`](crate::Analysis) was told, as bytes, to be told again later.
//!
//! A recording is [`MAGIC`] and a sequence of events, each a tag and numbers of seven bits a byte, least
//! significant first. It ends with [`Event::End`], which has what is needed to name the places; one
//! without it was cut off.

use crate::access::{Done, Intent};
use crate::order::Order;
use crate::{Loc, Object, Site, Tid};

/// How a recording begins.
pub const MAGIC: &[u8] = b"fencepost recording 1\n";

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A thread started.
    Start {
        /// Its creator.
        parent: Option<Tid>,
    },
    /// A thread waited for another's end.
    Join {
        /// Who waited.
        tid: Tid,
        /// For whom.
        child: Tid,
    },
    /// A thread ended that nobody waits for.
    Retire {
        /// Who.
        tid: Tid,
    },
    /// A new atomic location.
    Location {
        /// Its value.
        value: u64,
        /// Its address.
        address: u64,
        /// Its size.
        size: u8,
    },
    /// A location got a value nobody saw being written.
    Reset {
        /// Which.
        loc: Loc,
        /// The value.
        value: u64,
    },
    /// A location is no more.
    Remove {
        /// Which.
        loc: Loc,
    },
    /// An atomic access.
    Atomic {
        /// By whom.
        tid: Tid,
        /// To what.
        loc: Loc,
        /// What it was about to do, in which order; none if nobody asks.
        intent: Option<(Intent, Order)>,
        /// In which order it was done.
        order: Order,
        /// What it did; none if it is yet to come, as with a wait.
        done: Option<Done>,
        /// Where.
        site: Site,
        /// What kind of operation, for reports.
        operation: u8,
    },
    /// The last atomic access may be stale; with these values its loop would have gone round.
    Judged {
        /// Which values.
        spins: Vec<u64>,
    },
    /// A fence.
    Fence {
        /// By whom.
        tid: Tid,
        /// In which order.
        order: Order,
    },
    /// A new object.
    Object,
    /// An object is no more.
    RemoveObject {
        /// Which.
        object: Object,
    },
    /// Released to an object.
    Release {
        /// By whom.
        tid: Tid,
        /// Which.
        object: Object,
    },
    /// Acquired from an object.
    Acquire {
        /// By whom.
        tid: Tid,
        /// Which.
        object: Object,
    },
    /// Who acquires the object learns what was published at the location, too.
    Publish {
        /// Which location.
        loc: Loc,
        /// Which object.
        object: Object,
    },
    /// A plain access.
    Plain {
        /// By whom.
        tid: Tid,
        /// Eight bytes.
        address: u64,
        /// Which of them.
        mask: u8,
        /// Did it write?
        is_write: bool,
        /// Where.
        site: Site,
    },
    /// Plain accesses to these bytes are forgotten.
    Clear {
        /// From here on.
        address: u64,
        /// So many.
        bytes: u64,
    },
    /// A transaction begins or ends.
    Transaction {
        /// Whose.
        tid: Tid,
        /// Does it begin?
        begins: bool,
    },
    /// What the next transaction of a thread is called.
    Name {
        /// Whose.
        tid: Tid,
        /// Its name.
        name: String,
    },
    /// The end.
    End {
        /// The tree of calls: each site's caller and address.
        nodes: Vec<(Site, u64)>,
        /// What was mapped where.
        maps: String,
    },
}

impl Event {
    /// Appends the event.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut put = |values: &[u64]| {
            for &value in values {
                let mut rest = value;
                while rest >= 0x80 {
                    out.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                out.push(rest as u8);
            }
        };
        match self {
            Event::Start { parent } => {
                put(&[0, parent.map_or(0, |tid| u64::from(tid) + 1)]);
            }
            Event::Join { tid, child } => {
                put(&[1, u64::from(*tid), u64::from(*child)]);
            }
            Event::Retire { tid } => {
                put(&[2, u64::from(*tid)]);
            }
            Event::Location { value, address, size } => {
                put(&[3, *value, *address, u64::from(*size)]);
            }
            Event::Reset { loc, value } => {
                put(&[4, u64::from(*loc), *value]);
            }
            Event::Remove { loc } => {
                put(&[5, u64::from(*loc)]);
            }
            Event::Atomic { tid, loc, intent, order, done, site, operation } => {
                let (what, value, asked) = match intent {
                    None => (0, 0, Order::Relaxed),
                    Some((Intent::Load, order)) => (1, 0, *order),
                    Some((Intent::Write, order)) => (2, 0, *order),
                    Some((Intent::WeakCas(value), order)) => (3, *value, *order),
                    Some((Intent::StrongCas(value), order)) => (4, *value, *order),
                    Some((Intent::Wait(value), order)) => (5, *value, *order),
                    Some((Intent::BlockingCas(value), order)) => (6, *value, *order),
                };
                let (did, written) = match done {
                    None => (0, 0),
                    Some(Done::Read) => (1, 0),
                    Some(Done::Store(value)) => (2, *value),
                    Some(Done::Update(value)) => (3, *value),
                };
                let orders = *order as u64 | (asked as u64) << 3;
                put(&[6, u64::from(*tid), u64::from(*loc), what, value, orders, did, written]);
                put(&[u64::from(*site), u64::from(*operation)]);
            }
            Event::Judged { spins } => {
                put(&[7, spins.len() as u64]);
                put(spins);
            }
            Event::Fence { tid, order } => {
                put(&[8, u64::from(*tid), *order as u64]);
            }
            Event::Object => put(&[9]),
            Event::RemoveObject { object } => {
                put(&[10, u64::from(*object)]);
            }
            Event::Release { tid, object } => {
                put(&[11, u64::from(*tid), u64::from(*object)]);
            }
            Event::Acquire { tid, object } => {
                put(&[12, u64::from(*tid), u64::from(*object)]);
            }
            Event::Publish { loc, object } => {
                put(&[17, u64::from(*loc), u64::from(*object)]);
            }
            Event::Plain { tid, address, mask, is_write, site } => {
                let what = u64::from(*mask) << 1 | u64::from(*is_write);
                put(&[13, u64::from(*tid), *address, what, u64::from(*site)]);
            }
            Event::Clear { address, bytes } => {
                put(&[14, *address, *bytes]);
            }
            Event::Transaction { tid, begins } => {
                put(&[16, u64::from(*tid), u64::from(*begins)]);
            }
            Event::Name { tid, name } => {
                put(&[18, u64::from(*tid), name.len() as u64]);
                out.extend_from_slice(name.as_bytes());
            }
            Event::End { nodes, maps } => {
                put(&[15, nodes.len() as u64]);
                for &(parent, pc) in nodes {
                    put(&[u64::from(parent), pc]);
                }
                put(&[maps.len() as u64]);
                out.extend_from_slice(maps.as_bytes());
            }
        }
    }
}

/// Why a recording cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// It does not begin as recordings do.
    NoRecording,
    /// It ends in the middle, at this byte.
    CutOff(usize),
    /// What is at this byte makes no sense.
    Nonsense(usize),
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreadable::NoRecording => {
                write!(f, "this is no recording of `fencepost run --record`")
            }
            Unreadable::CutOff(at) => {
                write!(f, "the recording is cut off at byte {at}: did the program crash or run on?")
            }
            Unreadable::Nonsense(at) => write!(f, "the recording is damaged at byte {at}"),
        }
    }
}

impl std::error::Error for Unreadable {}

/// Reads events.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    ended: bool,
}

impl<'a> Reader<'a> {
    /// Of a recording.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        match bytes.starts_with(MAGIC) {
            true => Ok(Reader { bytes, at: MAGIC.len(), ended: false }),
            false => Err(Unreadable::NoRecording),
        }
    }

    /// Where the next event begins.
    pub fn at(&self) -> usize {
        self.at
    }

    fn number(&mut self) -> Result<u64, Unreadable> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(Unreadable::CutOff(self.at))?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Unreadable::Nonsense(self.at))
    }

    fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Unreadable> {
        let at = self.at;
        T::try_from(self.number()?).map_err(|_| Unreadable::Nonsense(at))
    }

    fn text(&mut self) -> Result<String, Unreadable> {
        let start = self.at;
        let length: usize = self.small()?;
        let text = self.at.checked_add(length).and_then(|end| self.bytes.get(self.at..end));
        let text = text.ok_or(Unreadable::CutOff(self.bytes.len()))?;
        self.at += length;
        let text = std::str::from_utf8(text).map_err(|_| Unreadable::Nonsense(start))?;
        Ok(text.to_string())
    }

    fn event(&mut self) -> Result<Event, Unreadable> {
        let start = self.at;
        let nonsense = Unreadable::Nonsense(start);
        Ok(match self.number()? {
            0 => Event::Start { parent: self.small::<Tid>()?.checked_sub(1) },
            1 => Event::Join { tid: self.small()?, child: self.small()? },
            2 => Event::Retire { tid: self.small()? },
            3 => Event::Location {
                value: self.number()?,
                address: self.number()?,
                size: self.small()?,
            },
            4 => Event::Reset { loc: self.small()?, value: self.number()? },
            5 => Event::Remove { loc: self.small()? },
            6 => {
                let (tid, loc) = (self.small()?, self.small()?);
                let (what, value, orders) = (self.number()?, self.number()?, self.small::<u32>()?);
                let (did, written) = (self.number()?, self.number()?);
                let (site, operation) = (self.small()?, self.small()?);
                let asked = Order::from_number(orders >> 3);
                let intent = match what {
                    0 => None,
                    1 => Some(Intent::Load),
                    2 => Some(Intent::Write),
                    3 => Some(Intent::WeakCas(value)),
                    4 => Some(Intent::StrongCas(value)),
                    5 => Some(Intent::Wait(value)),
                    6 => Some(Intent::BlockingCas(value)),
                    _ => return Err(nonsense),
                };
                let done = match did {
                    0 => None,
                    1 => Some(Done::Read),
                    2 => Some(Done::Store(written)),
                    3 => Some(Done::Update(written)),
                    _ => return Err(nonsense),
                };
                let intent = intent.map(|intent| (intent, asked));
                let order = Order::from_number(orders & 7);
                Event::Atomic { tid, loc, intent, order, done, site, operation }
            }
            7 => {
                let count = self.number()?;
                let values = (0..count).map(|_| self.number());
                Event::Judged { spins: values.collect::<Result<_, _>>()? }
            }
            8 => Event::Fence { tid: self.small()?, order: Order::from_number(self.small()?) },
            9 => Event::Object,
            10 => Event::RemoveObject { object: self.small()? },
            11 => Event::Release { tid: self.small()?, object: self.small()? },
            12 => Event::Acquire { tid: self.small()?, object: self.small()? },
            13 => {
                let (tid, address, what) = (self.small()?, self.number()?, self.small::<u32>()?);
                let mask = u8::try_from(what >> 1).map_err(|_| nonsense)?;
                Event::Plain { tid, address, mask, is_write: what & 1 == 1, site: self.small()? }
            }
            16 => Event::Transaction { tid: self.small()?, begins: self.small::<u8>()? == 1 },
            17 => Event::Publish { loc: self.small()?, object: self.small()? },
            18 => {
                let tid = self.small()?;
                Event::Name { tid, name: self.text()? }
            }
            14 => Event::Clear { address: self.number()?, bytes: self.number()? },
            15 => {
                let count = self.number()?;
                let mut nodes = Vec::new();
                for _ in 0..count {
                    nodes.push((self.small()?, self.number()?));
                }
                let maps = self.text()?;
                self.ended = true;
                Event::End { nodes, maps }
            }
            _ => return Err(nonsense),
        })
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Event, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let event = self.event();
        self.ended |= event.is_err();
        Some(event)
    }
}
