//! The order of `sc` events, kept acyclic as an execution grows.
//!
//! RC11 asks that `psc_base ∪ psc_F` be acyclic (`graph::psc` has the definition). A run of the machine adds one
//! event e at the end of its thread. What that adds to the order:
//!
//! 1. *Into e*, if e is `sc`: from `sc` accesses that precede it by `po`, by `po≠loc; hb; po≠loc`, or by hb at the
//!    same location; and, if e writes, from the *left side* L(e₀) of every access e₀ that reads or is an earlier
//!    write. L(e₀) are the SC fences that happened before e₀, and e₀ itself if it is `sc`.
//! 2. *Into SC fences to come* that e happens before: the same left sides; if e is a read, only the fences in
//!    them, of writes up to the one that it reads and of reads of older ones (`hb; eco; hb`).
//! 3. *Between events that exist*: if e is placed before a write w', or reads a write older than w', its left side
//!    comes before w', if that is `sc`, and before all SC fences that w' happened before; and the fences in its
//!    left side come before the SC fences that a read of w' happened before.
//!
//! 3 is where runs of weak memory differ from interleavings, and why SC fences keep the views that they had.
//!
//! `sc` events of one thread are ordered by `po`, so a set of them from which edges leave is a [`Clock`]: for each
//! thread the last. So is, for each event, the set of those that come before it, closed under the order. An edge
//! closes a cycle if its end is among what comes before its start.
//!
//! *Fences and accesses.* Between an SC fence F and an `sc` access a there may be happens-before without an edge of
//! `psc`. Having the edge all the same makes no new cycle: an edge from a to c comes with one from F to c if F
//! happens before a (F ∈ L(a)), and an edge from c to a with one from c to F if a happens before F. So 2 may
//! count all `sc` events that happen before a fence.
//!
//! An event is forgotten (`normal`) when no clock names it and no edge can lead to it any more. What comes before
//! others stays known, because the sets are closed.

use super::layout::join;
use super::{Carrier, Clock, Machine, Views};
use ir::ids::Tid;

/// An `sc` event that can still take part in a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The `sc` events that come before it.
    pub before: Clock,
    /// For an SC fence: the newest writes known when it happened, and those that had happened before. An edge
    /// may still lead to it where something is placed below these.
    pub seen: Option<(Carrier, Carrier)>,
}

/// How many `sc` events of a thread can be told apart.
const MOST_NODES: usize = 250;

/// Why an access is not possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refused {
    /// The `sc` events would have no order.
    Cycle,
    /// More `sc` events matter than can be told apart.
    Full,
}

impl Machine {
    /// A new `sc` event of a thread, after these; its number.
    pub(super) fn add_node(
        &self,
        views: &mut Views,
        tid: Tid,
        mut after: Clock,
        seen: Option<(Carrier, Carrier)>,
    ) -> Result<u8, Refused> {
        let own = self.layout.clock_of(tid);
        let count = views.nodes[own].len();
        if count >= MOST_NODES {
            return Err(Refused::Full);
        }
        after[own] = count as u8;
        let before = closed(views, &after);
        views.nodes[own].push(Node { before, seen });
        Ok(count as u8 + 1)
    }

    /// Adds edges from all events that `from` names to one.
    pub(super) fn add_edges(
        &self,
        views: &mut Views,
        from: &[u8],
        (own, number): (usize, u8),
    ) -> Result<(), Refused> {
        let before = closed(views, from);
        if before[own] >= number {
            return Err(Refused::Cycle);
        }
        join(&mut views.nodes[own][number as usize - 1].before, &before);
        for node in views.nodes.iter_mut().flatten() {
            if node.before[own] >= number {
                join(&mut node.before, &before);
            }
        }
        Ok(())
    }

    /// The machine has placed an access at `position` of a slot, with this left side: adds the edges to
    /// what exists. `fences` is the left side without the access itself.
    pub(super) fn order_later(
        &self,
        views: &mut Views,
        slot: usize,
        position: u8,
        left: &[u8],
        fences: &[u8],
    ) -> Result<(), Refused> {
        if left.iter().all(|number| *number == 0) {
            return Ok(());
        }
        for later in position as usize + 1..views.slots[slot].writes.len() {
            if let Some(node) = views.slots[slot].writes[later].node {
                self.add_edges(views, left, (node.0 as usize, node.1))?;
            }
        }
        let has_both = !self.layout.written.is_empty();
        for own in 0..views.nodes.len() {
            for index in 0..views.nodes[own].len() {
                let Some((view, written)) = &views.nodes[own][index].seen else { continue };
                let (knows, wrote) =
                    (view[slot], if has_both { written[slot] } else { view[slot] });
                if wrote > position {
                    self.add_edges(views, left, (own, index as u8 + 1))?;
                } else if knows > position {
                    self.add_edges(views, fences, (own, index as u8 + 1))?;
                }
            }
        }
        let (view, before_fence) =
            (self.layout.view.start + slot, self.layout.before_fence.clone());
        let written = if has_both { self.layout.written.start + slot } else { view };
        if !before_fence.is_empty() {
            for carrier in views.carriers_mut() {
                if carrier[written] > position {
                    join(&mut carrier[before_fence.clone()], left);
                } else if carrier[view] > position {
                    join(&mut carrier[before_fence.clone()], fences);
                }
            }
        }
        Ok(())
    }
}

/// The events that `clock` names, and all that come before them.
fn closed(views: &Views, clock: &[u8]) -> Clock {
    let mut all = Clock::from_slice(clock);
    for (own, &number) in clock.iter().enumerate().filter(|(_, number)| **number > 0) {
        join(&mut all, &views.nodes[own][number as usize - 1].before);
    }
    all
}
