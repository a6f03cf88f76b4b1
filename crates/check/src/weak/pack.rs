//! States of a program on RC11, as byte strings for `search`.
//!
//! Everything is written that decides what happens next. How many entries carriers and clocks have is known from
//! the initial state.

use crate::packed::{put_value, take_value};
use ir::{Pc, Value};
use memory::rc11::{Carrier, Clock, Left, Node, Slot, ThreadViews, Views, Write};
use search::encoding::{Reader, put};

/// A state of program and memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct World {
    /// Program counters.
    pub pcs: Vec<Pc>,
    /// Registers of all threads, one thread after the other.
    pub regs: Vec<Value>,
    /// The memory.
    pub views: Views,
}

/// Says how long the parts of a state are.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// The initial state.
    pub start: World,
    carrier: usize,
    seen: (usize, usize),
}

impl Shape {
    /// The shape of states like this one, with SC fences that have seen so many positions of two kinds.
    pub(crate) fn new(start: World, seen: (usize, usize)) -> Self {
        let carrier = start.views.threads.first().map_or(0, |thread| thread.current.len());
        Shape { start, carrier, seen }
    }

    pub(crate) fn write(&self, world: &World, out: &mut Vec<u8>) {
        out.clear();
        world.pcs.iter().for_each(|pc| put(pc.0.into(), out));
        world.regs.iter().for_each(|&value| put_value(value, out));
        let Views { threads, slots, plain, nodes } = &world.views;
        plain.iter().for_each(|&value| put_value(value, out));
        for thread in threads {
            out.extend(&thread.current);
            let same = thread.acquired == thread.current;
            out.push(u8::from(same));
            if !same {
                out.extend(&thread.acquired);
            }
            out.extend(&thread.released);
            out.extend(&thread.held);
            put(thread.run.into(), out);
            out.push(thread.own);
        }
        for slot in slots {
            put_left(&slot.dropped, out);
            put(slot.writes.len() as u128, out);
            for write in &slot.writes {
                put_value(write.value, out);
                out.push(u8::from(write.taken) | u8::from(write.node.is_some()) << 1);
                out.extend(&write.carried);
                if let Some((own, number)) = write.node {
                    out.extend([own, number]);
                }
                put_left(&write.left, out);
                put_left(&write.readers, out);
            }
        }
        for nodes in nodes {
            put(nodes.len() as u128, out);
            for node in nodes {
                out.extend(&node.before);
                out.push(u8::from(node.seen.is_some()));
                if let Some((view, written)) = &node.seen {
                    out.extend(view);
                    out.extend(written);
                }
            }
        }
    }

    pub(crate) fn read(&self, bytes: &[u8]) -> World {
        let mut from = Reader::new(bytes);
        let from = &mut from;
        let start = &self.start;
        let pcs = start.pcs.iter().map(|_| Pc(from.take() as u32)).collect();
        let regs = start.regs.iter().map(|_| take_value(from)).collect();
        let plain = start.views.plain.iter().map(|_| take_value(from)).collect();
        let clock = start.views.nodes.len();
        let threads = start
            .views
            .threads
            .iter()
            .map(|_| {
                let current: Carrier = from.take_bytes(self.carrier).into();
                let acquired = match from.take_bytes(1) {
                    [1] => current.clone(),
                    _ => from.take_bytes(self.carrier).into(),
                };
                ThreadViews {
                    current,
                    acquired,
                    released: from.take_bytes(self.carrier).into(),
                    held: from.take_bytes(clock).into(),
                    run: from.take() as u32,
                    own: take_byte(from),
                }
            })
            .collect();
        let slots = start.views.slots.iter().map(|_| self.take_slot(from, clock)).collect();
        let nodes = start
            .views
            .nodes
            .iter()
            .map(|_| (0..from.take_index()).map(|_| self.take_node(from, clock)).collect())
            .collect();
        World { pcs, regs, views: Views { threads, slots, plain, nodes } }
    }

    fn take_slot(&self, from: &mut Reader<'_>, clock: usize) -> Slot {
        let dropped = take_left(from, clock);
        let writes = (0..from.take_index()).map(|_| {
            let value = take_value(from);
            let flags = take_byte(from);
            let carried = from.take_bytes(self.carrier).into();
            let node = (flags & 2 != 0).then(|| (take_byte(from), take_byte(from)));
            let (left, readers) = (take_left(from, clock), take_left(from, clock));
            Write { value, taken: flags & 1 != 0, carried, node, left, readers }
        });
        Slot { writes: writes.collect(), dropped }
    }

    fn take_node(&self, from: &mut Reader<'_>, clock: usize) -> Node {
        let before: Clock = from.take_bytes(clock).into();
        let seen = (take_byte(from) == 1)
            .then(|| (from.take_bytes(self.seen.0).into(), from.take_bytes(self.seen.1).into()));
        Node { before, seen }
    }
}

fn take_byte(from: &mut Reader<'_>) -> u8 {
    from.take_bytes(1).first().copied().unwrap_or(0)
}

fn put_left(left: &Left, out: &mut Vec<u8>) {
    out.extend(&left.fences);
    out.extend(&left.all);
}

fn take_left(from: &mut Reader<'_>, clock: usize) -> Left {
    Left { fences: from.take_bytes(clock).into(), all: from.take_bytes(clock).into() }
}
