//! Recordings, analysed again: what an [`Analysis`] says that is told the same once more.

use crate::access::{Done, Doubt, Stale};
use crate::analysis::Analysis;
use crate::order::Order;
use crate::origin::Origin;
use crate::sets::Sets;
use crate::shadow::{self, Cell, Conflict, Epoch, Me};
use crate::trace::Event;
use crate::{Loc, Site, Tid};
use std::collections::HashMap;

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

/// Where the accesses were made that are in a cell: writes and reads.
#[derive(Debug, Default)]
struct Origins([Vec<Origin>; 2]);

impl Origins {
    fn add(&mut self, is_write: bool, origin: Origin) {
        let here = &mut self.0[usize::from(is_write)];
        here.retain(|old| old.outlives(origin, is_write));
        here.push(origin);
    }

    fn of(&self, conflict: Conflict) -> Site {
        let here = self.0[usize::from(conflict.is_write)].iter().rev();
        here.copied().find(|origin| origin.is_of(conflict.epoch)).map_or(0, Origin::site)
    }
}

/// Tells an analysis what was recorded, and collects what it says.
#[derive(Debug)]
pub struct Replay {
    analysis: Analysis,
    cells: HashMap<u64, (Cell, Origins)>,
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
            Event::Publish { loc, object } => self.analysis.publish(loc, object),
            Event::Plain { tid, address, mask, is_write, site } => {
                return Ok(self.plain(tid, address, mask, is_write, site));
            }
            Event::Clear { address, bytes } => {
                let gone = address & !7..address.saturating_add(bytes);
                // Programs give back more memory than they ever touched.
                if bytes / 8 > self.cells.len() as u64 {
                    let sets = &self.sets;
                    self.cells.retain(|at, (cell, _)| {
                        let stays = !gone.contains(at);
                        if !stays {
                            cell.clear(sets);
                        }
                        stays
                    });
                } else {
                    for at in gone.step_by(8) {
                        if let Some((cell, _)) = self.cells.remove(&at) {
                            cell.clear(&self.sets);
                        }
                    }
                }
            }
            Event::Transaction { .. } | Event::Name { .. } | Event::End { .. } => {}
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
        let (cell, origins) = self.cells.entry(address).or_default();
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
        if let Some(conflict) = conflict {
            let second = Way::plain(conflict.is_write);
            shown.push(race(conflict.epoch.thread(), origins.of(conflict), second));
        }
        origins.add(is_write, Origin::new(me.epoch, mask, site));
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
        let (cell, origins) = self.cells.get(&(address & !7))?;
        let clock = self.analysis.vector(tid);
        let me = Me { epoch: Epoch::new(tid, clock.get(tid as usize)), clock };
        let writes = done != Done::Read;
        let conflict = shadow::peek(cell, &me, bytes(address, size), writes, &self.sets)?;
        Some(Shown::Race {
            tid,
            site,
            first: Way { writes, atomic: true, order: Some(order) },
            other: conflict.epoch.thread(),
            other_site: origins.of(conflict),
            second: Way::plain(conflict.is_write),
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
            Event::Start { parent } => parent.is_none_or(thread) && self.analysis.has_room(),
            Event::Join { tid, child } => thread(tid) && thread(child) && tid != child,
            Event::Retire { tid }
            | Event::Fence { tid, .. }
            | Event::Transaction { tid, .. }
            | Event::Name { tid, .. } => thread(tid),
            Event::Plain { tid, address, mask, .. } => {
                thread(tid) && address.is_multiple_of(8) && mask != 0
            }
            Event::Reset { loc, .. } | Event::Remove { loc } => self.is_live(loc),
            Event::Atomic { tid, loc, .. } => thread(tid) && self.is_live(loc),
            Event::Publish { loc, object } => self.is_live(loc) && self.analysis.has_object(object),
            Event::RemoveObject { object } => self.analysis.has_object(object),
            Event::Release { tid, object } | Event::Acquire { tid, object } => {
                thread(tid) && self.analysis.has_object(object)
            }
            Event::Location { .. }
            | Event::Judged { .. }
            | Event::Object
            | Event::Clear { .. }
            | Event::End { .. } => true,
        };
        if ok { Ok(()) } else { Err("an event of what does not exist") }
    }
}

/// Which of eight bytes these are.
fn bytes(address: u64, size: u8) -> u8 {
    (((1u32 << size.min(8)) - 1) << (address & 7)) as u8
}
