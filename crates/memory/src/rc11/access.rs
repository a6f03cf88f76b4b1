//! The effect of accesses and fences on the memory.
//!
//! The rules for what threads and writes know are numbered in [`super`], the rules for the order of `sc` events in
//! `sc_order`; comments here cite them.

use super::layout::join;
use super::sc_order::Refused;
use super::{Carrier, Clock, Left, MOST_WRITES, Machine, Slot, ThreadViews, Views, Write};
use ir::ids::{Loc, Tid, Value};
use ir::mode::{FenceMode, ReadMode, WriteMode};

/// An access, with the value that it writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub read: Option<ReadMode>,
    pub write: Option<(Value, WriteMode)>,
    /// Is it an `sc` event?
    pub sc: bool,
}

impl Machine {
    /// An access that reads the write at `position` of a slot, or is placed right behind it.
    pub(super) fn access_slot(
        &self,
        views: &mut Views,
        tid: Tid,
        slot: usize,
        position: usize,
        access: Access,
    ) -> Result<(), Refused> {
        let layout = &self.layout;
        if access.write.is_some() && views.slots[slot].writes.len() >= MOST_WRITES {
            return Err(Refused::Full);
        }
        self.goes_to(&mut views.threads[tid.index()], tid, layout.locations[slot]);
        let carried = views.slots[slot].writes[position].carried.clone();
        if let Some(mode) = access.read {
            let thread = &mut views.threads[tid.index()];
            join(&mut thread.acquired, &carried);
            if mode.acquires() {
                join(&mut thread.current, &carried);
            }
            self.learn(thread, slot, position as u8);
        }
        let (fences, all, node) = self.left_side(views, tid, slot, position, access)?;
        let place = match access.write {
            None => {
                let readers = &mut views.slots[slot].writes[position].readers;
                join(&mut readers.fences, &fences);
                join(&mut readers.all, &all);
                position
            }
            Some((value, mode)) => {
                self.make_room(views, slot, position as u8);
                let thread = &mut views.threads[tid.index()];
                self.learn(thread, slot, position as u8 + 1);
                if !layout.written.is_empty() {
                    // What would be acquired may be above: a fence to come makes it count, not this write.
                    let entry = layout.written.start + slot;
                    thread.current[entry] = position as u8 + 1;
                    thread.acquired[entry] = thread.acquired[entry].max(position as u8 + 1);
                }
                let mut publishes =
                    if mode.releases() { thread.current.clone() } else { thread.released.clone() };
                if access.read.is_some() {
                    // A write carries nothing above itself, so there is nothing to move up.
                    join(&mut publishes, &carried);
                    views.slots[slot].writes[position].taken = true;
                }
                let write = Write {
                    value,
                    taken: false,
                    carried: publishes,
                    node,
                    left: Left { fences: fences.clone(), all: all.clone() },
                    readers: Left { fences: layout.no_events(), all: layout.no_events() },
                };
                views.slots[slot].writes.insert(position + 1, write);
                position + 1
            }
        };
        self.order_later(views, slot, place as u8, &all, &fences)
    }

    /// What an access takes part in the order of `sc` events with: the SC fences before it, these and itself, and the
    /// event that it is. Says what it comes after, too.
    #[allow(clippy::type_complexity)]
    fn left_side(
        &self,
        views: &mut Views,
        tid: Tid,
        slot: usize,
        position: usize,
        access: Access,
    ) -> Result<(Clock, Clock, Option<(u8, u8)>), Refused> {
        let layout = &self.layout;
        let fences = match layout.fences.is_empty() {
            true => layout.no_events(),
            false => Clock::from_slice(&views.threads[tid.index()].current[layout.fences.clone()]),
        };
        if layout.clock == 0 {
            return Ok((fences.clone(), fences, None));
        }
        let earlier = earlier(&views.slots[slot], position, access.write.is_some());
        if !layout.before_fence.is_empty() {
            let thread = &mut views.threads[tid.index()];
            join(&mut thread.current[layout.before_fence.clone()], &earlier);
            join(&mut thread.acquired[layout.before_fence.clone()], &earlier);
        }
        if !access.sc {
            return Ok((fences.clone(), fences, None));
        }
        let own = layout.clock_of(tid);
        let here = layout.here_at(slot);
        let thread = &views.threads[tid.index()];
        let mut after = thread.held.clone();
        join(&mut after, &thread.current[here.clone()]);
        if access.write.is_some() {
            join(&mut after, &earlier);
        }
        let number = self.add_node(views, tid, after, None)?;
        let thread = &mut views.threads[tid.index()];
        thread.own = number;
        for carrier in [&mut thread.current, &mut thread.acquired] {
            carrier[here.start + own] = number;
            if !layout.before_fence.is_empty() {
                carrier[layout.before_fence.start + own] = number;
            }
        }
        let mut all = fences.clone();
        all[own] = number;
        Ok((fences, all, Some((own as u8, number))))
    }

    /// An access to a location of which only one value is kept; says whether it races.
    pub(super) fn access_plain(
        &self,
        views: &mut Views,
        tid: Tid,
        loc: Loc,
        access: Access,
    ) -> bool {
        self.goes_to(&mut views.threads[tid.index()], tid, loc);
        if let Some((value, _)) = access.write {
            views.plain[loc.index()] = value;
        }
        let Some(Some(entries)) = self.layout.awareness.get(loc.index()) else { return false };
        let mut known = vec![entries.write];
        let mine = match access.write {
            Some(_) => {
                known.extend(entries.reads.iter().flatten());
                Some(entries.write)
            }
            None => entries.reads[tid.index()],
        };
        let races = known.iter().any(|&entry| views.threads[tid.index()].current[entry] == 0);
        for carrier in views.carriers_mut() {
            if access.write.is_some() {
                entries.reads.iter().flatten().for_each(|&read| carrier[read] = 1);
            }
            mine.into_iter().for_each(|entry| carrier[entry] = 0);
        }
        let thread = &mut views.threads[tid.index()];
        for carrier in [&mut thread.current, &mut thread.acquired] {
            mine.into_iter().for_each(|entry| carrier[entry] = 1);
        }
        races
    }

    /// A fence that updates nothing.
    pub(super) fn fence(
        &self,
        views: &mut Views,
        tid: Tid,
        mode: FenceMode,
    ) -> Result<(), Refused> {
        let layout = &self.layout;
        let thread = &mut views.threads[tid.index()];
        self.leaves(thread, tid);
        thread.run = 0;
        if mode.acquires() {
            thread.current = thread.acquired.clone();
        }
        if mode == FenceMode::Sc {
            let own = layout.clock_of(tid);
            let after = Clock::from_slice(&thread.current[layout.before_fence.clone()]);
            let seen = (
                Carrier::from_slice(&thread.current[layout.view.clone()]),
                Carrier::from_slice(&thread.current[layout.written.clone()]),
            );
            let number = self.add_node(views, tid, after, Some(seen))?;
            let thread = &mut views.threads[tid.index()];
            for carrier in [&mut thread.current, &mut thread.acquired] {
                carrier[layout.fences.start + own] = number;
                carrier[layout.before_fence.start + own] = number;
            }
        }
        if mode.releases() {
            let thread = &mut views.threads[tid.index()];
            thread.released = thread.current.clone();
        }
        Ok(())
    }

    /// A thread comes to an access of `loc`. If the last one was elsewhere, the thread's own `sc` accesses now count
    /// as `a; po≠loc`, and what it held is what it had there.
    fn goes_to(&self, thread: &mut ThreadViews, tid: Tid, loc: Loc) {
        if self.layout.elsewhere.is_empty() || thread.run == loc.0 + 1 {
            return;
        }
        self.leaves(thread, tid);
        thread.held = Clock::from_slice(&thread.current[self.layout.elsewhere.clone()]);
        thread.run = loc.0 + 1;
    }

    /// A thread's own `sc` accesses count as `a; po≠loc` from here on.
    fn leaves(&self, thread: &mut ThreadViews, tid: Tid) {
        if self.layout.elsewhere.is_empty() || thread.own == 0 {
            return;
        }
        let entry = self.layout.elsewhere.start + self.layout.clock_of(tid);
        thread.current[entry] = thread.own;
        thread.acquired[entry] = thread.own;
    }

    /// A thread knows a write.
    fn learn(&self, thread: &mut ThreadViews, slot: usize, position: u8) {
        let entry = self.layout.view.start + slot;
        thread.current[entry] = thread.current[entry].max(position);
        thread.acquired[entry] = thread.acquired[entry].max(position);
    }

    /// Makes room for a write behind `position`: those above it move up.
    fn make_room(&self, views: &mut Views, slot: usize, position: u8) {
        for carrier in views.carriers_mut() {
            self.shift(carrier, slot, position);
        }
        for node in views.nodes.iter_mut().flatten() {
            if let Some((view, written)) = &mut node.seen {
                for entry in [view.get_mut(slot), written.get_mut(slot)].into_iter().flatten() {
                    *entry += u8::from(*entry > position);
                }
            }
        }
    }

    fn shift(&self, carrier: &mut Carrier, slot: usize, position: u8) {
        for range in [&self.layout.view, &self.layout.written] {
            if !range.is_empty() {
                let entry = &mut carrier[range.start + slot];
                *entry += u8::from(*entry > position);
            }
        }
    }
}

/// The left sides that an access behind, or reading, the write at `position` comes after. For a read, only SC fences
/// count, and not those of other reads of the same write.
fn earlier(slot: &Slot, position: usize, writes: bool) -> Clock {
    let side = |left: &Left| match writes {
        true => left.all.clone(),
        false => left.fences.clone(),
    };
    let mut all = side(&slot.dropped);
    for (at, write) in slot.writes[..=position].iter().enumerate() {
        join(&mut all, &side(&write.left));
        if writes || at < position {
            join(&mut all, &side(&write.readers));
        }
    }
    all
}
