//! Rust's channels: `std::sync::mpsc`, unbounded, with room for some messages, and without any.
//!
//! The library's channels are lock-free queues whose code is part of the user's module. Taken literally, they have loads
//! that may be stale and a compare-and-exchange that then fails, stamps that count for ever, and threads that wait in
//! the kernel: a program would be told that the library is not robust. So a channel has the meaning that its
//! documentation gives it, and no more:
//!
//! * messages arrive in the order in which they were sent; a receiver waits for one, or for the end of all senders; a
//!   sender waits for room, or is told that the receiver is gone;
//! * what comes before a send comes before what follows the receive *of that message*. Not promised, and so not
//!   given: that a receive comes before a later send, not even one that waited for room; that dropping one side comes
//!   before what the other notices; that an attempt that finds nothing has seen the latest. Where there is no room, a send that
//!   has returned "guarantees that the receiver has indeed received the data": what comes before the receive comes before what
//!   follows the send.
//!
//! A message is put at a position of a ring and taken from there ([`crate::queue`]); which position is next, senders
//! learn from the tail, and the receiver knows. There is one receiver, or one at a time in an order that programs see to. Steps:
//!
//! * *Send:* reserve a position; fill it with a release. Where room is limited, wait between these until the position after
//!   one's own is empty: the ring has one position more than there is room, which the end of all senders needs.
//! * *Receive:* wait for a message at the next position, or look whether there is one, with an acquire; empty it.
//! * *Dropping the last sender* fills a position with the end. *Dropping the receiver* marks the tail, so that nothing more is
//!   reserved, and receives what was reserved before. A sender that gets room from that is told that the receiver is gone, and
//!   cancels its position.
//!
//! Where somebody looks for a message without waiting, or room is limited, positions must be filled in their order: an empty one has no
//! message behind it then, and who has found room is not overtaken. So the tail is kept until the position is filled, and others
//! wait for it. Who waits updates it and never reads what is stale. An attempt to send reads it with an acquire, so that it finds the
//! positions filled that were filled before; whether they are empty again it need not know.
//!
//! **Unbounded channels** have a ring of so many positions that no interleaving fills it: when one does, all begins again with a
//! larger ring. So no interleaving is lost. Nor does the ring order anything: that a position was emptied before it is filled
//! again is so in every interleaving with the same order of other steps, as otherwise one of them would fill the ring, hence it follows
//! from the others. On the weak memory a ring may be filled all the same; then [`crate::queue::OVERFLOW`] is written, which no
//! interleaving writes, so that the answer is "undecided".
//!
//! **Where a message is** on its way it is in a *slot*, an object of ours that the library's own code writes and reads: what
//! reserves and finds slots is replaced (`start_send`, `start_recv`), what fills and empties them is executed (`write`,
//! `read`), and so are the counts of senders and receivers. A slot belongs to a position and to the thread that sends, and its bytes are accessed
//! as relaxed atomics: that they are used again for a later message must be no race, and no order either. It is
//! not a stale read, because the position is read first; and only the sender ever writes them, destructors of messages that are
//! left aside. All that changes a position are exchanges, so a receive also synchronises with those that filled it
//! in earlier rounds; it did so already when it received those.
//!
//! **Without room**, a sender waits for a receiver that waits, claims it, and fills the only position, which is empty then.
//! An attempt to send succeeds if a receiver waits, and an attempt to receive if a sender does, of which there is a count.
//! Channels of the library's own that have no room are never made: what is asked for is one place more, and counted from there.
//!
//! Messages that nobody receives are destroyed by who drops the receiver.

use super::names::{self, Class};
use super::ring::{Reserved, Ring, known_tail};
use crate::access::displaced;
use crate::action::{Action, Cell, Order, Stop};
use crate::local::{Local, Then};
use crate::machine::Machine;
use crate::queue::{
    self, CANCELLED, EMPTY, END, FULL, GONE, LEAVING, LEFT, OVERFLOW, Queueing, READY, Slot, TAKEN,
    Tail,
};
use crate::space::{Fill, LARGEST, Name, Object, ObjectId};
use crate::value::{Val, Word};
use llvm::instruction::RmwOp;
use llvm::{FunctionId, Module};

/// The two kinds of channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flavor {
    /// With room for any number of messages.
    List,
    /// With room for some.
    Array,
}

/// A call of one of a channel's functions.
pub(super) struct On<'a> {
    pub(super) flavor: Flavor,
    pub(super) function: FunctionId,
    pub(super) arguments: &'a [Val],
}

const TOO_LARGE: &str = "a channel with room for 65,000 messages or more";

/// How long a call waits.
enum Patience {
    Never,
    /// As long as it likes.
    Some,
    Always,
}

impl Machine {
    /// Is the object a slot for messages?
    pub(crate) fn is_slot(&self, object: ObjectId) -> bool {
        matches!(self.space.object(object).name, Name::Slot { .. })
    }

    /// The slot at an address that the library's code accesses. Messages that are destroyed where they are may have
    /// atomics of their own.
    fn slot_at(&mut self, local: &Local, address: &Val) -> Option<ObjectId> {
        let Val::Bits(address) = address else { return None };
        let (object, _) = self.space.locate(*address)?;
        if !self.is_slot(object) {
            return None;
        }
        let mut frames = local.frames.iter().rev().map(|frame| frame.function);
        let caller = frames.find(|function| self.class(*function) != Class::Atomics)?;
        let path = names::path(&self.module.function(caller).name)?;
        path.starts_with("std::sync::mpmc::").then_some(object)
    }

    /// What an atomic load gives whose address is in a slot: who looks has waited before.
    pub(crate) fn slot_filled(&mut self, local: &Local, address: &Val) -> Option<Word> {
        self.slot_at(local, address).map(|_| Word::Bits(1))
    }

    /// An atomic write or update whose address is in a slot: with 1, by the sender that has filled it; with anything
    /// else, by the receiver that has emptied it. What the library reads there has no other bits.
    pub(crate) fn slot_changes(
        &mut self,
        local: &mut Local,
        address: &Val,
        operand: &Val,
    ) -> Option<Result<Word, Stop>> {
        let slot = self.slot_at(local, address)?;
        let filled = *operand == Val::Bits(1);
        let done = match filled {
            true => self.fill_slot(local, slot),
            false => self.empty_slot(local, slot, EMPTY),
        };
        Some(done.map(|()| Word::Bits(1)))
    }

    fn ring_of(&self, slot: ObjectId) -> Result<(Ring, Slot), Stop> {
        match &self.space.object(slot).name {
            Name::Slot { channel, at, slot, .. } => {
                let tail = Cell { object: *channel, offset: *at, size: 0 };
                let Slot { positions, keeps, .. } = *slot;
                Ok((Ring { tail, positions, is_limited: false, keeps }, *slot))
            }
            _ => unknown_version(),
        }
    }

    fn fill_slot(&mut self, local: &mut Local, slot: ObjectId) -> Result<(), Stop> {
        let (ring, Slot { thread, position, .. }) = self.ring_of(slot)?;
        self.put_content(local, ring, position, queue::message_of(thread))
    }

    fn put_content(
        &mut self,
        local: &mut Local,
        ring: Ring,
        position: u32,
        content: u128,
    ) -> Result<(), Stop> {
        let (cell, queueing) = (ring.at(position), Queueing::Fill { content });
        if self.sync(local, Action::Queue { cell, queueing })? == OVERFLOW {
            // There will be more room, or the answer is that there should be.
            return Err(Stop::Blocked);
        }
        self.release(local, ring)
    }

    /// Others may reserve positions.
    fn release(&mut self, local: &mut Local, ring: Ring) -> Result<(), Stop> {
        if ring.keeps {
            let (cell, queueing) = (ring.tail, Queueing::Release);
            self.sync(local, Action::Queue { cell, queueing })?;
        }
        Ok(())
    }

    fn empty_slot(&mut self, local: &mut Local, slot: ObjectId, empty: u128) -> Result<(), Stop> {
        let (ring, Slot { position, .. }) = self.ring_of(slot)?;
        self.exchange(local, ring.at(position), empty, Order::Relaxed)
    }

    fn exchange(
        &mut self,
        local: &mut Local,
        cell: Cell,
        operand: u128,
        order: Order,
    ) -> Result<(), Stop> {
        let (op, width) = (RmwOp::Xchg, 64);
        self.sync(local, Action::Update { cell, op, operand, width, order }).map(|_| ())
    }

    /// The cells of a channel.
    fn ring(&mut self, local: &mut Local, on: &On<'_>) -> Result<Ring, Stop> {
        let [channel, ..] = on.arguments else { return unknown_version() };
        let tail = self.sync_cell(local, channel, 0)?;
        Ok(match on.flavor {
            Flavor::List => {
                let keeps = self.tried.contains(&tail);
                Ring { tail, positions: self.room, is_limited: false, keeps }
            }
            Flavor::Array => {
                let at = displaced(channel, self.field_in(on.function, "self", &["cap"])?);
                match self.load_word(local, &at, 8, Order::Plain)? {
                    Word::Bits(places) if (1..1 << 16).contains(&places) => {
                        Ring { tail, positions: places as u32, is_limited: true, keeps: places > 1 }
                    }
                    Word::Bits(_) => return Stop::refuse(TOO_LARGE),
                    Word::Undef | Word::Partly(_) => return unknown_version(),
                }
            }
        })
    }

    /// Makes a channel with room for one message more than it is to have: the library's code for channels without
    /// room is not known.
    pub(super) fn limited_channel(
        &mut self,
        local: &mut Local,
        function: FunctionId,
        arguments: &[Val],
    ) -> Result<Val, Stop> {
        let mut arguments = arguments.to_vec();
        match arguments.last_mut() {
            Some(Val::Bits(room)) if *room < (1 << 16) - 1 => *room += 1,
            Some(Val::Bits(_)) => return Stop::refuse(TOO_LARGE),
            _ => return unknown_version(),
        }
        self.enter(local, function, arguments, Then::GoOn)?;
        Ok(Val::Undef)
    }

    /// A sender reserves a slot: is the call over?
    pub(super) fn start_send(&mut self, local: &mut Local, on: On<'_>) -> Result<Val, Stop> {
        let [_, token, ..] = on.arguments else { return unknown_version() };
        let (ring, waits) = (self.ring(local, &on)?, self.waits(local)?);
        let reserved = match () {
            () if ring.is_rendezvous() => self.meet(local, ring, waits)?,
            () if waits || !ring.is_limited => self.reserve(local, ring)?,
            () => self.try_to_reserve(local, ring)?,
        };
        let position = match reserved {
            Reserved::Full => return Ok(Val::Bits(0)),
            Reserved::Again => {
                local.calls_again = true;
                return Ok(Val::Undef);
            }
            Reserved::Gone => None,
            Reserved::At(position) => Some(position),
        };
        let slot = position.map(|position| self.slot(ring, local.thread, position, &on));
        self.fill_token(local, (on.flavor, on.function), token, slot, 1)
    }

    fn reserve(&mut self, local: &mut Local, ring: Ring) -> Result<Reserved, Stop> {
        let queueing = Queueing::Reserve { positions: ring.positions, keeps: ring.keeps };
        let tail = self.sync(local, Action::Queue { cell: ring.tail, queueing })?;
        let Some(tail) = known_tail(tail) else { return Ok(Reserved::Gone) };
        if ring.is_limited {
            let (cell, queueing) = (ring.at(ring.next(tail.next)), Queueing::Room);
            if self.sync(local, Action::Queue { cell, queueing })? == GONE {
                self.exchange(local, ring.at(tail.next), CANCELLED, Order::Relaxed)?;
                self.release(local, ring)?;
                return Ok(Reserved::Gone);
            }
        }
        Ok(Reserved::At(tail.next))
    }

    fn try_to_reserve(&mut self, local: &mut Local, ring: Ring) -> Result<Reserved, Stop> {
        let seen = self.sync(local, Action::Read { cell: ring.tail, order: Order::Acquire })?;
        let Word::Bits(expected) = seen else { return unknown_version() };
        let tail = Tail::of(expected);
        if tail.gone {
            return Ok(Reserved::Gone);
        }
        let room = ring.at(ring.next(tail.next));
        match self.sync(local, Action::Read { cell: room, order: Order::Relaxed })? {
            // Somebody has reserved the last position and not filled it: if he waits for room, there is none.
            Word::Bits(EMPTY) if tail.kept => {
                let awaited = Action::Read { cell: ring.at(tail.next), order: Order::Relaxed };
                return match self.sync(local, awaited)? {
                    Word::Bits(EMPTY | LEFT) => Ok(Reserved::Again),
                    _ => self.full_since(local, ring, seen),
                };
            }
            Word::Bits(EMPTY) => {}
            Word::Bits(LEFT) => return Ok(Reserved::Gone),
            _ => return self.full_since(local, ring, seen),
        }
        let (desired, order) = (tail.after(ring.positions, ring.keeps).word(), Order::Relaxed);
        let attempt = Action::CompareExchange {
            cell: ring.tail,
            expected,
            desired,
            success: order,
            failure: order,
            weak: false,
        };
        match self.sync(local, attempt)? == seen {
            true => Ok(Reserved::At(tail.next)),
            false => Ok(Reserved::Again),
        }
    }

    /// There was a message where there is none if there is room. If the tail is what it was, it is an old one, and the channel
    /// is full; otherwise it may be one that was sent meanwhile. An exchange for the same says so, as a read may be stale.
    fn full_since(&mut self, local: &mut Local, ring: Ring, seen: Word) -> Result<Reserved, Stop> {
        let Word::Bits(expected) = seen else { return unknown_version() };
        let (cell, desired, order) = (ring.tail, seen, Order::Relaxed);
        let (success, failure, weak) = (order, order, false);
        let again = Action::CompareExchange { cell, expected, desired, success, failure, weak };
        let unchanged = self.sync(local, again)? == seen;
        Ok(if unchanged { Reserved::Full } else { Reserved::Again })
    }

    /// A sender meets the receiver of a channel without room.
    fn meet(&mut self, local: &mut Local, ring: Ring, waits: bool) -> Result<Reserved, Stop> {
        let count = |op: RmwOp| {
            let (cell, operand, width, order) = (ring.senders(), 1, 32, Order::Relaxed);
            Action::Update { cell, op, operand, width, order }
        };
        if waits {
            self.sync(local, count(RmwOp::Add))?;
        }
        let queueing = Queueing::Claim { waits };
        let found = self.sync(local, Action::Queue { cell: ring.tail, queueing })?;
        if waits {
            self.sync(local, count(RmwOp::Sub))?;
        }
        Ok(match found {
            GONE => Reserved::Gone,
            FULL => Reserved::Full,
            _ => Reserved::At(0),
        })
    }

    /// A receiver looks for the next message: is the call over?
    pub(super) fn start_receive(&mut self, local: &mut Local, on: On<'_>) -> Result<Val, Stop> {
        let [_, token, ..] = on.arguments else { return unknown_version() };
        let (ring, mut waits) = (self.ring(local, &on)?, self.waits(local)?);
        if ring.is_rendezvous() {
            if !waits {
                let order = Order::Relaxed;
                let cell = ring.senders();
                waits = self.sync(local, Action::Read { cell, order })? != Word::ZERO;
            }
            if waits {
                self.exchange(local, ring.tail, READY, Order::Release)?;
            }
        }
        // Positions are filled in their order from now on.
        if !waits && !ring.keeps && !ring.is_rendezvous() && self.tried.insert(ring.tail) {
            self.surprised = true;
        }
        let head = self.head(local, ring)?;
        let content = match waits {
            true => self.next_content(local, ring, head)?,
            false => {
                let (cell, order) = (ring.at(head), Order::Acquire);
                self.sync(local, Action::Read { cell, order })?
            }
        };
        let Word::Bits(content) = content else { return unknown_version() };
        if content < TAKEN {
            return Ok(Val::Bits(0));
        }
        let slot = self.taken(local, ring, (head, content), &on)?;
        self.fill_token(local, (on.flavor, on.function), token, slot, 0)
    }

    /// The position where the next message is, or will be.
    fn head(&mut self, local: &mut Local, ring: Ring) -> Result<u32, Stop> {
        if ring.is_rendezvous() {
            return Ok(0);
        }
        let head = Action::Read { cell: ring.head(), order: Order::Relaxed };
        match self.sync(local, head)? {
            Word::Bits(head) => Ok(head as u32),
            Word::Undef | Word::Partly(_) => unknown_version(),
        }
    }

    fn next_content(&mut self, local: &mut Local, ring: Ring, head: u32) -> Result<Word, Stop> {
        self.sync(local, Action::Await { cell: ring.at(head), least: TAKEN })
    }

    /// The slot of what was found at a position, where the next thing is looked for from now on; none for the end of all
    /// senders, which stays there.
    fn taken(
        &mut self,
        local: &mut Local,
        ring: Ring,
        (head, content): (u32, u128),
        on: &On<'_>,
    ) -> Result<Option<ObjectId>, Stop> {
        if content == END {
            return Ok(None);
        }
        if !ring.is_rendezvous() {
            let (value, order) = (Word::Bits(ring.next(head).into()), Order::Relaxed);
            self.sync(local, Action::Write { cell: ring.head(), value, order })?;
        }
        let slot = queue::sender(content).map(|thread| self.slot(ring, thread, head, on));
        Ok(slot)
    }

    /// Tells the library's code which slot it has; none if the other side is gone.
    fn fill_token(
        &mut self,
        local: &mut Local,
        (flavor, function): (Flavor, FunctionId),
        token: &Val,
        slot: Option<ObjectId>,
        stamp: u128,
    ) -> Result<Val, Stop> {
        let (pointer, number, value) = match flavor {
            Flavor::List => (["list", "block"], ["list", "offset"], 0),
            Flavor::Array => (["array", "slot"], ["array", "stamp"], stamp),
        };
        let pointer = displaced(token, self.field_in(function, "token", &pointer)?);
        let number = displaced(token, self.field_in(function, "token", &number)?);
        let slot = slot.map_or(Word::ZERO, |slot| Machine::pointer(slot).word());
        self.store_word(local, &pointer, 8, slot, Order::Plain)?;
        self.store_word(local, &number, 8, Word::Bits(value), Order::Plain)?;
        Ok(Val::Bits(1))
    }

    /// All senders are gone.
    pub(super) fn drop_senders(&mut self, local: &mut Local, on: On<'_>) -> Result<Val, Stop> {
        let ring = self.ring(local, &on)?;
        if ring.is_rendezvous() {
            let (cell, queueing) = (ring.at(0), Queueing::Finish);
            self.sync(local, Action::Queue { cell, queueing })?;
            return Ok(Val::Bits(1));
        }
        let queueing = Queueing::Reserve { positions: ring.positions, keeps: ring.keeps };
        let tail = self.sync(local, Action::Queue { cell: ring.tail, queueing })?;
        // All sends have returned, and are in some order with this.
        if let Some(tail) = known_tail(tail) {
            self.put_content(local, ring, tail.next, END)?;
        }
        Ok(Val::Bits(1))
    }

    /// All receivers are gone, and what was not received is destroyed: one message at a time, and after each the call is made
    /// again, so that a thread that is in it does not remember how many there were.
    pub(super) fn drop_receivers(&mut self, local: &mut Local, on: On<'_>) -> Result<Val, Stop> {
        let ring = self.ring(local, &on)?;
        if ring.is_rendezvous() {
            self.exchange(local, ring.tail, LEAVING, Order::Relaxed)?;
            return Ok(Val::Bits(1));
        }
        let queueing = Queueing::Leave;
        let tail = self.sync(local, Action::Queue { cell: ring.tail, queueing })?;
        let (Some(tail), head) = (known_tail(tail), self.head(local, ring)?) else {
            return unknown_version();
        };
        if head == tail.next {
            return Ok(Val::Bits(1));
        }
        let Word::Bits(content) = self.next_content(local, ring, head)? else {
            return unknown_version();
        };
        if content == END {
            return Ok(Val::Bits(1));
        }
        let Some(slot) = self.taken(local, ring, (head, content), &on)? else {
            // Its sender has found that the receiver is gone.
            self.exchange(local, ring.at(head), LEFT, Order::Relaxed)?;
            local.calls_again = true;
            return Ok(Val::Undef);
        };
        let Some(destructor) = self.destructor(on.function)? else {
            self.empty_slot(local, slot, LEFT)?;
            local.calls_again = true;
            return Ok(Val::Undef);
        };
        let discards = called(&self.module, on.function, "discard_all_messages");
        let Some(discards) = discards else { return unknown_version() };
        let mut at = self.field_in(discards, "slot", &["msg"])?;
        if on.flavor == Flavor::List {
            at += self.field_in(discards, "block", &["slots"])?;
        }
        let message = displaced(&Machine::pointer(slot), at);
        self.enter(local, destructor, vec![message], Then::Discard(slot))?;
        Ok(Val::Undef)
    }

    /// A message was destroyed. The call that destroyed it was left, and is made again.
    pub(crate) fn discarded(&mut self, local: &mut Local, slot: ObjectId) -> Result<(), Stop> {
        self.empty_slot(local, slot, LEFT)?;
        local.frames.pop();
        Ok(())
    }

    /// What destroys a message of a channel, by a function of the channel's; none if nothing has to be done.
    fn destructor(&self, function: FunctionId) -> Result<Option<FunctionId>, Stop> {
        let Some(message) = message_type(&self.module.function(function).name) else {
            return Stop::refuse(
                "messages that are left in a channel, whose type is not known: compile with \
                 `-Csymbol-mangling-version=v0`",
            );
        };
        let name = format!("core::ptr::drop_in_place::<{message}>");
        let is_it = |symbol: &str| {
            symbol.contains("drop_in_place") && names::demangled(symbol).as_deref() == Some(&*name)
        };
        let mut functions = self.module.each_function();
        Ok(functions.find(|(_, function)| is_it(&function.name)).map(|(id, _)| id))
    }

    fn slot(&mut self, ring: Ring, thread: u32, position: u32, on: &On<'_>) -> ObjectId {
        let Ring { positions, keeps, .. } = ring;
        let slot = Slot { thread, position: position % positions, positions, keeps };
        self.has_slots = true;
        let message = message_type(&self.module.function(on.function).name).unwrap_or_default();
        let name = Name::Slot { channel: ring.tail.object, at: ring.tail.offset, slot, message };
        self.space.intern(Object { name, size: LARGEST, fill: Fill::Undef, constant: false })
    }

    /// Is it a cell of a channel?
    pub(crate) fn is_channel(&self, cell: Cell) -> bool {
        let of_channel =
            |name: &Name| matches!(name, Name::Slot { channel, .. } if *channel == cell.object);
        self.space.names().any(of_channel)
    }

    /// Does the operation that the thread is in wait until it can be done?
    fn waits(&mut self, local: &mut Local) -> Result<bool, Stop> {
        match self.patience(local) {
            Patience::Never => Ok(false),
            Patience::Always => Ok(true),
            // Time may run out, or not.
            Patience::Some => {
                let waits = self.visible(local, Action::Choose { alternatives: 2 })?;
                Ok(waits == Word::ZERO)
            }
        }
    }

    fn patience(&self, local: &Local) -> Patience {
        for frame in local.frames.iter().rev() {
            let path = names::path(&self.module.function(frame.function).name).unwrap_or_default();
            if !path.starts_with("std::sync::mp") {
                break;
            }
            let last = path.rsplit("::").next().unwrap_or_default();
            if last.starts_with("try_") {
                return Patience::Never;
            }
            if last.ends_with("_timeout") || last.ends_with("_deadline") {
                return Patience::Some;
            }
        }
        Patience::Always
    }

    /// Does an operation on a channel ask for the time? Then it has just found that it has waited long enough.
    pub(super) fn has_run_out(&self, local: &Local) -> bool {
        let function = local.frames.last().map(|frame| frame.function);
        let name = function.map(|function| &*self.module.function(function).name);
        let path = name.and_then(names::path).unwrap_or_default();
        path.starts_with("std::sync::mpmc::") && path.contains("::Channel::")
    }

    /// Where a field is, in what a variable of a function is or points to.
    fn field_in(&self, function: FunctionId, variable: &str, path: &[&str]) -> Result<u64, Stop> {
        let debug = &self.module.debug;
        let variables = &self.module.function(function).variables;
        let known = variables.iter().find(|known| &*known.name == variable);
        let mut ty = known.and_then(|known| debug.pointee(known.ty?));
        let mut offset = 0;
        for field in path {
            let members = match ty.and_then(|ty| debug.strip(ty)).map(|ty| &debug.ty(ty).kind) {
                Some(llvm::debug::DebugKind::Aggregate(members)) => members,
                _ => return unknown_version(),
            };
            let Some(member) = members.iter().find(|member| &*member.name == *field) else {
                return unknown_version();
            };
            offset += member.offset_bits / 8;
            ty = member.ty;
        }
        Ok(offset)
    }
}

fn unknown_version<T>() -> Result<T, Stop> {
    Stop::refuse("a channel of a version of Rust that is not known")
}

/// The function that a function calls whose name ends like this.
fn called(module: &Module, function: FunctionId, last: &str) -> Option<FunctionId> {
    names::callees(module, function).find(|callee| {
        let name = &module.function(*callee).name;
        name.contains(last) && names::path(name).is_some_and(|path| path.ends_with(last))
    })
}

/// The type of a channel's messages, by the name of a function of it; none if the name does not have it.
fn message_type(symbol: &str) -> Option<String> {
    let name = names::demangled(symbol)?;
    let rest = &name[name.find("::Channel<")? + "::Channel<".len()..];
    Some(rest[..rest.rfind(">>::")?].to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_messages_are_known_by_names() {
        let name = "_RNvMs1_NtNtNtCsjrHSEGnQ3l9_3std4sync4mpmc4listINtB5_7ChannelmE10start_sendB9_";
        assert_eq!(message_type(name).as_deref(), Some("u32"));
        assert_eq!(message_type("main"), None);
    }
}
