//! One form for states with the same future.
//!
//! 1. A thread that never moves again knows nothing, and holds nothing up.
//! 2. `acquired` matters only to a thread that may still come to an acquire fence, `released` only to one that may
//!    still write without releasing; what a write carries, only if somebody may still acquire it or add to it.
//! 3. Writes below what every thread knows that may still access the location are dropped: nobody can read them, or
//!    place a write behind them. Their left sides (`sc_order`) are kept in one, because they come before all that is left. Positions
//!    count from the first write that is kept.
//! 4. If a non-atomic access is known to all threads that may still access its location, it is marked as known to every
//!    thread: no thread can race with it any more.
//! 5. `sc` events that no clock names, and to which no edge can lead any more, are dropped, and the others
//!    numbered anew. An edge leads to an SC fence only if something is placed below a write that it has seen; when all
//!    these are at the bottom, that cannot happen.
//!
//! Each step changes only what no rule of the machine looks at any more, so states that become one can do the same.

use super::layout::join;
use super::{Carrier, Clock, Machine, Slot, Views, Write};
use analysis::access::LocSet;
use ir::ids::{Loc, Pc};
use ir::mode::FenceMode;
use ir::program::{Instr, Thread};

/// What a thread may still do from a program counter on, as far as the memory has to know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    /// Locations it may access.
    accesses: LocSet,
    /// Locations it may read so that it learns what the write carries, or passes it on.
    acquires: LocSet,
    /// Locations it may read at all.
    reads: LocSet,
    /// May it come to an acquire fence?
    acquire_fence: bool,
    /// May it write without releasing?
    weak_write: bool,
}

/// For every program counter of a thread, what it may still do. `hidden` is the location of updating fences.
pub(super) fn needs(thread: &Thread, hidden: Loc) -> Vec<Needs> {
    let mut all: Vec<Needs> =
        thread.code.iter().map(|step| own_needs(&step.instr, hidden)).collect();
    loop {
        let mut changed = false;
        for (pc, step) in thread.code.iter().enumerate().rev() {
            for next in step.successors() {
                let after = all[next.index()];
                let now = &mut all[pc];
                changed |= now.accesses.absorb(&after.accesses);
                changed |= now.acquires.absorb(&after.acquires);
                changed |= now.reads.absorb(&after.reads);
                changed |= after.acquire_fence & !now.acquire_fence;
                changed |= after.weak_write & !now.weak_write;
                now.acquire_fence |= after.acquire_fence;
                now.weak_write |= after.weak_write;
            }
        }
        if !changed {
            return all;
        }
    }
}

fn own_needs(instr: &Instr, hidden: Loc) -> Needs {
    let mut own = Needs::default();
    let mut instr = instr.clone();
    let locations: Vec<Loc> =
        instr.place().into_iter().flat_map(|place| place.locations()).collect();
    let (reads, write) = instr.modes_mut();
    let acquires = reads.iter().flatten().any(|mode| mode.acquires());
    let is_read = reads.iter().flatten().next().is_some();
    own.weak_write = write.as_ref().is_some_and(|mode| !mode.releases());
    let passes_on = is_read && write.is_some();
    for loc in locations {
        own.accesses.insert(loc);
        if is_read {
            own.reads.insert(loc);
        }
        if acquires || passes_on {
            own.acquires.insert(loc);
        }
    }
    if let Instr::Fence(mode) = instr {
        own.acquire_fence = mode.acquires();
        if matches!(mode, FenceMode::ScUpd | FenceMode::Upd) {
            own.accesses.insert(hidden);
            own.reads.insert(hidden);
            own.acquires.insert(hidden);
        }
    }
    own
}

impl Machine {
    /// Brings a state into its normal form. `pcs` says where threads are; `None` if one never moves again.
    pub fn normalise(&self, views: &mut Views, pcs: &[Option<Pc>]) {
        let needs: smallvec::SmallVec<[Option<&Needs>; 8]> = pcs
            .iter()
            .zip(&self.needs)
            .map(|(pc, needs)| pc.map(|pc| &needs[pc.index()]))
            .collect();
        self.forget_carriers(views, &needs);
        for slot in 0..views.slots.len() {
            self.drop_writes(views, slot, &needs);
        }
        self.forget_accesses(views, &needs);
        if self.layout.clock > 0 {
            self.drop_nodes(views);
        }
    }

    /// 1 and 2.
    fn forget_carriers(&self, views: &mut Views, needs: &[Option<&Needs>]) {
        let nothing = self.layout.nothing();
        for (thread, needs) in views.threads.iter_mut().zip(needs) {
            match needs {
                None => {
                    thread.current.clone_from(&nothing);
                    thread.acquired.clone_from(&nothing);
                    thread.released.clone_from(&nothing);
                    thread.held.fill(0);
                    (thread.run, thread.own) = (0, 0);
                }
                Some(needs) => {
                    if !needs.acquire_fence {
                        thread.acquired.clone_from(&thread.current);
                    }
                    if !needs.weak_write {
                        thread.released.clone_from(&nothing);
                    }
                }
            }
        }
        for (slot, loc) in views.slots.iter_mut().zip(&self.layout.locations) {
            let matters = needs.iter().flatten().any(|needs| {
                needs.acquires.contains(*loc) || needs.acquire_fence && needs.reads.contains(*loc)
            });
            if !matters {
                slot.writes.iter_mut().for_each(|write| write.carried.clone_from(&nothing));
            }
        }
    }

    /// 3.
    fn drop_writes(&self, views: &mut Views, slot: usize, needs: &[Option<&Needs>]) {
        let loc = self.layout.locations[slot];
        let entry = self.layout.view.start + slot;
        let threads = views.threads.iter().zip(needs);
        let accessible = threads
            .filter(|(_, needs)| needs.is_some_and(|needs| needs.accesses.contains(loc)))
            .map(|(thread, _)| thread.current[entry]);
        let last = views.slots[slot].writes.len() as u8 - 1;
        let accessible = accessible.min();
        let least = match self.newest_only {
            true => last,
            false => accessible.unwrap_or(last),
        };
        let Slot { writes, dropped } = &mut views.slots[slot];
        for write in writes.drain(..least as usize) {
            for left in [&write.left, &write.readers] {
                join(&mut dropped.fences, &left.fences);
                join(&mut dropped.all, &left.all);
            }
        }
        // Nothing can be placed before it.
        writes[0].node = None;
        if accessible.is_none() {
            // Nobody accesses it again: all that is left is a value.
            let Write { left, readers, .. } = &mut writes[0];
            for left in [left, readers, dropped] {
                left.fences.fill(0);
                left.all.fill(0);
            }
        }
        if least == 0 {
            return;
        }
        let ranges = [&self.layout.view, &self.layout.written];
        for carrier in views.carriers_mut() {
            for range in ranges.into_iter().filter(|range| !range.is_empty()) {
                let entry = &mut carrier[range.start + slot];
                *entry = entry.saturating_sub(least);
            }
        }
        for node in views.nodes.iter_mut().flatten() {
            if let Some((view, written)) = &mut node.seen {
                for entry in [view.get_mut(slot), written.get_mut(slot)].into_iter().flatten() {
                    *entry = entry.saturating_sub(least);
                }
            }
        }
    }

    /// 4.
    fn forget_accesses(&self, views: &mut Views, needs: &[Option<&Needs>]) {
        for (loc, entries) in self.layout.awareness.iter().enumerate() {
            let Some(entries) = entries else { continue };
            let loc = Loc::from(loc);
            for &entry in entries.reads.iter().flatten().chain([&entries.write]) {
                let known = views.threads.iter().zip(needs).all(|(thread, needs)| {
                    let accesses = needs.is_some_and(|needs| needs.accesses.contains(loc));
                    !accesses || thread.current[entry] == 1
                });
                if known {
                    views.carriers_mut().for_each(|carrier| carrier[entry] = 1);
                }
            }
        }
    }

    /// 5.
    fn drop_nodes(&self, views: &mut Views) {
        for node in views.nodes.iter_mut().flatten() {
            let is_low = |view: &Carrier| view.iter().all(|position| *position == 0);
            if node.seen.as_ref().is_some_and(|(view, written)| is_low(view) && is_low(written)) {
                node.seen = None;
            }
        }
        let mut named: Vec<Vec<bool>> = views
            .nodes
            .iter()
            .map(|nodes| nodes.iter().map(|node| node.seen.is_some()).collect())
            .collect();
        self.each_name(views, |own, number| {
            if *number > 0 {
                named[own][*number as usize - 1] = true;
            }
        });
        if named.iter().flatten().all(|named| *named) {
            return;
        }
        // For each number, how many events up to it are kept.
        let kept: Vec<Vec<u8>> = named
            .iter()
            .map(|named| {
                let mut count = 0;
                let counts = named.iter().map(|named| {
                    count += u8::from(*named);
                    count
                });
                std::iter::once(0).chain(counts.collect::<Vec<_>>()).collect()
            })
            .collect();
        self.each_name(views, |own, number| *number = kept[own][*number as usize]);
        for (nodes, named) in views.nodes.iter_mut().zip(&named) {
            let mut named = named.iter();
            nodes.retain(|_| *named.next().unwrap_or(&true));
            for node in nodes {
                for (number, kept) in node.before.iter_mut().zip(&kept) {
                    *number = kept[*number as usize];
                }
            }
        }
    }

    /// Hands to `each` every entry that names an `sc` event, with its thread's clock entry; not those of closed sets.
    fn each_name(&self, views: &mut Views, mut each: impl FnMut(usize, &mut u8)) {
        let clock = self.layout.clock;
        let named = [
            &self.layout.before_fence,
            &self.layout.fences,
            &self.layout.elsewhere,
            &self.layout.here,
        ];
        for carrier in views.carriers_mut() {
            for range in named {
                for (index, number) in carrier[range.clone()].iter_mut().enumerate() {
                    each(index % clock, number);
                }
            }
        }
        let mut of_clock = |names: &mut Clock| {
            names.iter_mut().enumerate().for_each(|(own, number)| each(own, number));
        };
        views.threads.iter_mut().for_each(|thread| of_clock(&mut thread.held));
        for slot in &mut views.slots {
            let sides = slot.writes.iter_mut().flat_map(|w| [&mut w.left, &mut w.readers]);
            for left in sides.chain([&mut slot.dropped]) {
                of_clock(&mut left.fences);
                of_clock(&mut left.all);
            }
        }
        for (tid, thread) in views.threads.iter_mut().enumerate() {
            if let Some(own) = self.layout.sc_threads[tid] {
                each(own, &mut thread.own);
            }
        }
        for write in views.slots.iter_mut().flat_map(|slot| &mut slot.writes) {
            if let Some((own, number)) = &mut write.node {
                each(*own as usize, number);
            }
        }
    }
}
