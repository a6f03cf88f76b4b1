//! Mutexes and whatever else orders threads without being an atomic location: what each of them knows.
//!
//! Every lock of the program is told about twice each time it is used, so two threads that use two locks must not
//! meet here. Objects are spread by their address over a thousand *shards*, each a small table behind a lock of
//! its own. A shard's lock is taken last, after those of the state and of a location, and never kept.
//!
//! While everything is recorded, all is told under the lock of the state as well, in one order.

use crate::locked_location::{self, Lock};
use crate::registry::{self, State};
use crate::thread::Thread;
use clocks::hash::BuildMixer;
use clocks::location::Location;
use clocks::thread::Synchroniser;
use clocks::trace::Event;
use clocks::{Loc, Object};
use std::cell::UnsafeCell;
use std::collections::HashMap;

const SHARDS: usize = 1 << 10;

/// What an object at some address is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Mutexes, spin locks, semaphores, guards: one clock.
    Lock,
    /// What readers of a read-write lock released.
    Readers,
    /// One of two generations of a barrier.
    Barrier(bool),
    /// What was written to a pipe, a socket and the like.
    Channel,
}

impl Role {
    fn number(self) -> u64 {
        match self {
            Role::Lock => 0,
            Role::Readers => 1,
            Role::Barrier(generation) => 2 + u64::from(generation),
            Role::Channel => 4,
        }
    }
}

/// How a thread and an object are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// What the thread did comes before what the object is acquired for.
    Release,
    /// The other way round.
    Acquire,
}

/// An object, and its number in a recording.
#[derive(Default)]
struct Known {
    number: Object,
    synchroniser: Synchroniser,
}

type Table = HashMap<(usize, u64), Box<Known>, BuildMixer>;

#[repr(align(64))]
struct Shard {
    lock: Lock,
    table: UnsafeCell<Table>,
}

// SAFETY: the table is reached through the lock only.
unsafe impl Sync for Shard {}

static ALL: [Shard; SHARDS] = [const {
    Shard { lock: Lock::new(), table: UnsafeCell::new(HashMap::with_hasher(BuildMixer::new())) }
}; SHARDS];

fn shard(address: usize) -> &'static Shard {
    let mixed = (address as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &ALL[(mixed >> (64 - SHARDS.ilog2())) as usize]
}

impl Shard {
    /// # Safety
    /// The lock must be held, and given back after the last use.
    #[allow(clippy::mut_from_ref, reason = "the lock makes it one at a time")]
    unsafe fn table(&self) -> &mut Table {
        // SAFETY: the caller holds the lock.
        unsafe { &mut *self.table.get() }
    }
}

/// Orders the thread that runs and the object at an address. The thread is busy.
pub fn order(thread: &mut Thread, address: usize, role: Role, edge: Edge) {
    if registry::recording() {
        let mut state = registry::lock();
        state.edge(&mut thread.clocks, address, role, edge);
        return thread.refresh();
    }
    let shard = shard(address);
    locked_location::inside(thread, &shard.lock, |thread| {
        // SAFETY: the lock is held as long as this runs.
        let known = unsafe { shard.table() }.entry((address, role.number())).or_default();
        match edge {
            Edge::Release => thread.clocks.release(&mut known.synchroniser),
            Edge::Acquire => thread.clocks.acquire(&mut known.synchroniser),
        }
        thread.refresh();
    });
}

/// The object at an address is no more, in none of these roles. The thread is busy.
pub fn remove(address: usize, roles: &[Role]) {
    if registry::recording() {
        let mut state = registry::lock();
        return roles.iter().for_each(|&role| state.remove_object(address, role));
    }
    let shard = shard(address);
    shard.lock.take(|| false);
    for role in roles {
        // SAFETY: the lock is held.
        unsafe { shard.table() }.remove(&(address, role.number()));
    }
    shard.lock.give_back();
}

impl State {
    /// Looks at an object, which is new if nobody knew it.
    fn object<R>(
        &mut self,
        address: usize,
        role: Role,
        look: impl FnOnce(&mut Synchroniser) -> R,
    ) -> (Object, R) {
        let shard = shard(address);
        shard.lock.take(|| false);
        // SAFETY: the lock is held.
        let table = unsafe { shard.table() };
        let known = table.entry((address, role.number())).or_insert_with(|| {
            self.record(&Event::Object);
            let number = if self.recorder.is_some() { self.object_numbers.take() } else { 0 };
            Box::new(Known { number, synchroniser: Synchroniser::default() })
        });
        let result = (known.number, look(&mut known.synchroniser));
        shard.lock.give_back();
        result
    }

    /// Orders a thread and the object at an address.
    pub fn edge(
        &mut self,
        thread: &mut clocks::thread::Thread,
        address: usize,
        role: Role,
        edge: Edge,
    ) {
        let (object, ()) = self.object(address, role, |synchroniser| match edge {
            Edge::Release => thread.release(synchroniser),
            Edge::Acquire => thread.acquire(synchroniser),
        });
        let tid = thread.tid();
        self.record(&match edge {
            Edge::Release => Event::Release { tid, object },
            Edge::Acquire => Event::Acquire { tid, object },
        });
    }

    /// The clock of a foreign word learns what was published at its location before.
    pub fn hand_over(&mut self, loc: Loc, location: &mut Location, address: usize) {
        let (object, ()) =
            self.object(address, Role::Lock, |synchroniser| location.publish_to(synchroniser));
        self.record(&Event::Publish { loc, object });
    }

    /// The object at an address is no more.
    fn remove_object(&mut self, address: usize, role: Role) {
        let shard = shard(address);
        shard.lock.take(|| false);
        // SAFETY: the lock is held.
        let removed = unsafe { shard.table() }.remove(&(address, role.number()));
        shard.lock.give_back();
        if let Some(known) = removed {
            self.object_numbers.give_back(known.number);
            self.record(&Event::RemoveObject { object: known.number });
        }
    }
}
