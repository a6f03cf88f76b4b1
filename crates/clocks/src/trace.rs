//! Recordings: what an [`Analysis`] was told, as bytes, to be told again later.
//!
//! A recording is [`MAGIC`] and a sequence of events, each a tag and numbers of seven bits a byte, least
//! significant first. It ends with [`Event::End`], which has what is needed to name the places; one
//! without it was cut off.

use crate::access::{Done, Doubt, Intent, Stale};
use crate::analysis::Analysis;
use crate::order::Order;
use crate::shadow::{self, Cell, Conflict, Epoch, Me, Sets};
use crate::{Loc, Object, Site, Tid};
use std::collections::HashMap;

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
            14 => Event::Clear { address: self.number()?, bytes: self.number()? },
            15 => {
                let count = self.number()?;
                let mut nodes = Vec::new();
                for _ in 0..count {
                    nodes.push((self.small()?, self.number()?));
                }
                let length: usize = self.small()?;
                let text = self.at.checked_add(length).and_then(|end| self.bytes.get(self.at..end));
                let text = text.ok_or(Unreadable::CutOff(self.bytes.len()))?;
                self.at += length;
                let maps = std::str::from_utf8(text).map_err(|_| nonsense)?.to_string();
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

/// What a recording shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shown {
    /// An atomic access that may be stale.
    Stale {
        /// By whom.
        tid: Tid,
        /// Where.
        site: Site,
        /// What kind of operation.
        operation: u8,
        /// In which order.
        order: Order,
        /// To which address.
        address: u64,
        /// How many bytes.
        size: u8,
        /// What may go wrong.
        stale: Stale,
    },
    /// Two accesses that race.
    Race {
        /// The second, by whom.
        tid: Tid,
        /// Where.
        site: Site,
        /// How.
        first: Way,
        /// The first, by whom.
        other: Tid,
        /// Where.
        other_site: Site,
        /// How.
        second: Way,
        /// Which bytes.
        address: u64,
        /// How many.
        size: u8,
        /// The load that must be stale for it.
        doubt: Option<Doubt>,
    },
}

/// How something is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// Is it written?
    pub writes: bool,
    /// Atomically?
    pub atomic: bool,
    /// In which order, if that is known?
    pub order: Option<Order>,
}

impl Way {
    fn plain(writes: bool) -> Way {
        Way { writes, atomic: false, order: None }
    }
}

/// Tells an analysis what was recorded, and collects what it says.
#[derive(Debug)]
pub struct Replay {
    analysis: Analysis,
    cells: HashMap<u64, (Cell, Site, Site)>,
    addresses: Vec<(u64, u8)>,
    sets: Sets,
    pending: Option<Shown>,
    /// The live locations of every eight bytes.
    live: HashMap<u64, Vec<Loc>>,
}

impl Replay {
    /// With histories of this length.
    pub fn new(history: usize) -> Self {
        Replay {
            analysis: Analysis::new(history),
            cells: HashMap::new(),
            addresses: vec![(0, 0)],
            sets: Sets::default(),
            pending: None,
            live: HashMap::new(),
        }
    }

    /// One more event; what it shows.
    pub fn tell(&mut self, event: &Event) -> Result<Vec<Shown>, &'static str> {
        self.check(event)?;
        match *event {
            Event::Start { parent } => {
                self.analysis.start(parent);
            }
            Event::Join { tid, child } => self.analysis.join(tid, child),
            Event::Retire { tid } => self.analysis.retire(tid),
            Event::Location { value, address, size } => {
                let loc = self.analysis.location(value);
                let index = loc as usize;
                self.addresses.resize(self.addresses.len().max(index + 1), (0, 0));
                self.addresses[index] = (address, size);
                self.live.entry(address & !7).or_default().push(loc);
            }
            Event::Reset { loc, value } => self.analysis.reset(loc, value),
            Event::Remove { loc } => {
                let (address, _) = self.addresses[loc as usize];
                if let Some(here) = self.live.get_mut(&(address & !7)) {
                    here.retain(|&other| other != loc);
                }
                self.analysis.remove(loc);
            }
            Event::Atomic { tid, loc, intent, order, done, site, operation } => {
                let stale = intent
                    .and_then(|(intent, order)| self.analysis.arrive(tid, loc, order, intent));
                let (address, size) = self.addresses[loc as usize];
                let asked = intent.map_or(order, |(_, order)| order);
                self.pending = stale.map(|stale| Shown::Stale {
                    tid,
                    site,
                    operation,
                    order: asked,
                    address,
                    size,
                    stale,
                });
                let Some(done) = done else { return Ok(Vec::new()) };
                let race = self.atomic(tid, address, size, order, done, site);
                self.analysis.perform(tid, loc, order, done, site);
                return Ok(race.into_iter().collect());
            }
            Event::Judged { ref spins } => {
                let harmless = |shown: &Shown| match shown {
                    Shown::Stale { stale, .. } => stale.is_harmless(spins),
                    Shown::Race { .. } => false,
                };
                let mut shown = self.pending.take().filter(|shown| !harmless(shown));
                if let Some(Shown::Stale { stale, .. }) = &mut shown {
                    stale.values.retain(|value| !spins.contains(value));
                }
                return Ok(shown.into_iter().collect());
            }
            Event::Fence { tid, order } => self.analysis.fence(tid, order),
            Event::Object => {
                self.analysis.object();
            }
            Event::RemoveObject { object } => self.analysis.remove_object(object),
            Event::Release { tid, object } => self.analysis.release(tid, object),
            Event::Acquire { tid, object } => self.analysis.acquire(tid, object),
            Event::Plain { tid, address, mask, is_write, site } => {
                return Ok(self.plain(tid, address, mask, is_write, site));
            }
            Event::Clear { address, bytes } => {
                for at in (address & !7..address.saturating_add(bytes)).step_by(8) {
                    self.cells.remove(&at);
                }
            }
            Event::Transaction { .. } | Event::End { .. } => {}
        }
        Ok(Vec::new())
    }

    fn plain(
        &mut self,
        tid: Tid,
        address: u64,
        mask: u8,
        is_write: bool,
        site: Site,
    ) -> Vec<Shown> {
        let clock = self.analysis.vector(tid);
        let me = Me { epoch: Epoch::new(tid, clock.get(tid as usize)), clock };
        let (cell, last_write, last_read) = self.cells.entry(address).or_default();
        let conflict = if is_write {
            cell.write(&me, mask, &self.sets)
        } else {
            cell.read(&me, mask, &self.sets)
        };
        let race = |other: Tid, other_site: Site, second: Way| Shown::Race {
            tid,
            site,
            first: Way::plain(is_write),
            other,
            other_site,
            second,
            address: address + u64::from(mask.trailing_zeros()),
            size: mask.count_ones() as u8,
            doubt: self.analysis.doubt(tid),
        };
        let mut shown = Vec::new();
        if let Some(Conflict { epoch, is_write: wrote }) = conflict {
            let other_site = if wrote { *last_write } else { *last_read };
            shown.push(race(epoch.thread(), other_site, Way::plain(wrote)));
        }
        *(if is_write { last_write } else { last_read }) = site;
        for &loc in self.live.get(&address).into_iter().flatten() {
            let (at, size) = self.addresses[loc as usize];
            if bytes(at, size) & mask != 0
                && let Some((other, writes, at)) = self.analysis.atomic_race(tid, loc, is_write)
            {
                shown.push(race(other, at, Way { writes, atomic: true, order: None }));
                break;
            }
        }
        shown
    }

    /// A plain access that races with an atomic one.
    fn atomic(
        &self,
        tid: Tid,
        address: u64,
        size: u8,
        order: Order,
        done: Done,
        site: Site,
    ) -> Option<Shown> {
        let (cell, last_write, last_read) = self.cells.get(&(address & !7))?;
        let clock = self.analysis.vector(tid);
        let me = Me { epoch: Epoch::new(tid, clock.get(tid as usize)), clock };
        let writes = done != Done::Read;
        let Conflict { epoch, is_write } =
            shadow::peek(cell, &me, bytes(address, size), writes, &self.sets)?;
        Some(Shown::Race {
            tid,
            site,
            first: Way { writes, atomic: true, order: Some(order) },
            other: epoch.thread(),
            other_site: if is_write { *last_write } else { *last_read },
            second: Way::plain(is_write),
            address,
            size,
            doubt: self.analysis.doubt(tid),
        })
    }

    fn is_live(&self, loc: Loc) -> bool {
        let place = self.addresses.get(loc as usize).map(|(address, _)| address & !7);
        place.and_then(|place| self.live.get(&place)).is_some_and(|here| here.contains(&loc))
    }

    /// Does the event speak of things that exist?
    fn check(&self, event: &Event) -> Result<(), &'static str> {
        let thread = |tid: Tid| self.analysis.has_thread(tid);
        let ok = match *event {
            Event::Start { parent } => parent.is_none_or(thread),
            Event::Join { tid, child } => thread(tid) && thread(child) && tid != child,
            Event::Retire { tid }
            | Event::Fence { tid, .. }
            | Event::Plain { tid, .. }
            | Event::Transaction { tid, .. } => thread(tid),
            Event::Reset { loc, .. } | Event::Remove { loc } => self.is_live(loc),
            Event::Atomic { tid, loc, .. } => thread(tid) && self.is_live(loc),
            Event::RemoveObject { object } => self.analysis.has_object(object),
            Event::Release { tid, object } | Event::Acquire { tid, object } => {
                thread(tid) && self.analysis.has_object(object)
            }
            Event::Clear { bytes, .. } => bytes < 1 << 40,
            Event::Location { .. } | Event::Judged { .. } | Event::Object | Event::End { .. } => {
                true
            }
        };
        if ok { Ok(()) } else { Err("the recording speaks of something that does not exist") }
    }
}

/// Which of eight bytes these are.
fn bytes(address: u64, size: u8) -> u8 {
    (((1u32 << size.min(8)) - 1) << (address & 7)) as u8
}
