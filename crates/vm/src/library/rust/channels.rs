//! Rust's channels: `std::sync::mpsc`, unbounded and with room for some messages.
//!
//! The library's channels are lock-free queues whose code is part of the user's module. Taken literally, they have loads
//! that may be stale and a compare-and-exchange that then fails, stamps that count for ever, and threads that wait in
//! the kernel: a program would be told that the library is not robust. So a channel has the meaning that its
//! documentation gives it, and no more:
//!
//! * messages arrive in the order in which they were sent; a receiver waits for one, or for the end of all senders; a
//!   sender waits for room, or is told that the receiver is gone. Each of that is one step on the channel's queue
//!   ([`crate::queue`]), which orders nothing else;
//! * what comes before a send comes before what follows the receive *of that message*. Not promised, and so not
//!   given: that a receive comes before a later send, not even one that waited for room; that dropping one side comes
//!   before what the other notices; that an attempt that finds nothing has seen the latest.
//!
//! Where a message is on its way it is in a *slot*, an object of ours that the library's own code writes and reads: what
//! reserves and finds slots is replaced (`start_send`, `start_recv`), what fills and empties them is executed (`write`,
//! `read`), and so are the counts of senders and receivers. The slot is a flag, raised by its sender with a release and
//! lowered by its receiver; the latter waits for it with an acquire. Both are exchanges. As a slot is one
//! thread's to send with, the writes that a receive reads from, through however many exchanges, are those of sends that
//! the same thread made before: no other send is ordered. The bytes of a slot are accessed as relaxed atomics: that they
//! are used again for a later message must be no race, and no order either. It is not a stale read, because
//! the flag is read first; and only the sender ever writes them, destructors of messages that are left aside.
//!
//! Messages that nobody receives are destroyed by who drops the receiver. Channels without any room, whose sender waits
//! until its message is received, are refused.

use super::names::{self, Class};
use crate::access::displaced;
use crate::action::{Action, Cell, Order, Stop};
use crate::local::{Local, Then};
use crate::machine::Machine;
use crate::queue::{FULL, Queueing, Slot};
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
    /// else, by the receiver that has emptied it.
    pub(crate) fn slot_changes(
        &mut self,
        local: &mut Local,
        address: &Val,
        operand: &Val,
    ) -> Option<Result<Word, Stop>> {
        let slot = self.slot_at(local, address)?;
        let filled = *operand == Val::Bits(1);
        Some(self.flag(local, slot, filled))
    }

    fn flag(&mut self, local: &mut Local, slot: ObjectId, filled: bool) -> Result<Word, Stop> {
        let order = if filled { Order::Release } else { Order::Relaxed };
        let (cell, op, operand) = (Cell::sync(slot, 0), RmwOp::Xchg, filled.into());
        self.sync(local, Action::Update { cell, op, operand, width: 32, order })
    }

    /// A sender reserves a slot: is the call over?
    pub(super) fn start_send(&mut self, local: &mut Local, on: On<'_>) -> Result<Val, Stop> {
        let On { flavor, function, arguments } = on;
        let [channel, token, ..] = arguments else { return unknown_version() };
        let most = match flavor {
            Flavor::List => u64::MAX,
            Flavor::Array => {
                let at = displaced(channel, self.field_in(function, "self", &["cap"])?);
                match self.load_word(local, &at, 8, Order::Plain)? {
                    Word::Bits(most) => most as u64,
                    Word::Undef | Word::Partly(_) => return unknown_version(),
                }
            }
        };
        let (cell, waits) = (self.sync_cell(local, channel, 0)?, self.waits(local)?);
        let queueing = Queueing::Send { thread: local.thread, most, waits };
        let slot = match self.sync(local, Action::Queue { cell, queueing })? {
            FULL => return Ok(Val::Bits(0)),
            input => Slot::of(input).map(|slot| Slot { thread: local.thread, ..slot }),
        };
        let slot = slot.map(|slot| self.slot(cell, slot, function));
        self.fill_token(local, (flavor, function), token, slot, 1)
    }

    /// A receiver looks for the next message: is the call over?
    pub(super) fn start_receive(&mut self, local: &mut Local, on: On<'_>) -> Result<Val, Stop> {
        let On { flavor, function, arguments } = on;
        let [channel, token, ..] = arguments else { return unknown_version() };
        let (cell, waits) = (self.sync_cell(local, channel, 0)?, self.waits(local)?);
        let queueing = Queueing::Receive { thread: local.thread, waits };
        let input = self.sync(local, Action::Queue { cell, queueing })?;
        if input == crate::queue::EMPTY {
            return Ok(Val::Bits(0));
        }
        let slot = Slot::of(input).map(|slot| self.slot(cell, slot, function));
        if let Some(slot) = slot {
            self.sync(local, Action::Await { cell: Cell::sync(slot, 0), least: 1 })?;
        }
        self.fill_token(local, (flavor, function), token, slot, 0)
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
    pub(super) fn drop_senders(
        &mut self,
        local: &mut Local,
        arguments: &[Val],
    ) -> Result<Val, Stop> {
        let [channel, ..] = arguments else { return unknown_version() };
        let cell = self.sync_cell(local, channel, 0)?;
        let queueing = Queueing::DropSenders;
        self.sync(local, Action::Queue { cell, queueing }).map(Val::from)
    }

    /// All receivers are gone, and what was not received is destroyed: one message at a time, and after each the call is made
    /// again, so that a thread that is in it does not remember how many there were.
    pub(super) fn drop_receivers(&mut self, local: &mut Local, on: On<'_>) -> Result<Val, Stop> {
        let On { flavor, function, arguments } = on;
        let [channel, ..] = arguments else { return unknown_version() };
        let cell = self.sync_cell(local, channel, 0)?;
        let queueing = Queueing::DropReceivers { thread: local.thread };
        let left = Slot::of(self.sync(local, Action::Queue { cell, queueing })?);
        let Some(left) = left else { return Ok(Val::Bits(1)) };
        let slot = self.slot(cell, left, function);
        self.sync(local, Action::Await { cell: Cell::sync(slot, 0), least: 1 })?;
        let Some(destructor) = self.destructor(function)? else {
            self.flag(local, slot, false)?;
            local.calls_again = true;
            return Ok(Val::Undef);
        };
        let discards = called(&self.module, function, "discard_all_messages");
        let Some(discards) = discards else { return unknown_version() };
        let mut at = self.field_in(discards, "slot", &["msg"])?;
        if flavor == Flavor::List {
            at += self.field_in(discards, "block", &["slots"])?;
        }
        let message = displaced(&Machine::pointer(slot), at);
        self.enter(local, destructor, vec![message], Then::Discard(slot))?;
        Ok(Val::Undef)
    }

    /// A message was destroyed. The call that destroyed it was left, and is made again.
    pub(crate) fn discarded(&mut self, local: &mut Local, slot: ObjectId) -> Result<(), Stop> {
        self.flag(local, slot, false)?;
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

    fn slot(&mut self, channel: Cell, slot: Slot, function: FunctionId) -> ObjectId {
        let message = message_type(&self.module.function(function).name).unwrap_or_default();
        let name = Name::Slot { channel: channel.object, at: channel.offset, slot, message };
        self.space.intern(Object { name, size: LARGEST, fill: Fill::Undef, constant: false })
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
