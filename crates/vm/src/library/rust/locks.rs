//! Rust's locks: a word that is tried first, and a call of the library if that fails.
//!
//! `Mutex::lock` is compiled into the user's module: a compare-and-exchange from 0 to 1 and, if it fails, a call of
//! `lock_contended`, which waits in the kernel. Taken literally, a failed attempt is a read that may be stale, and so a
//! reason why a program is not robust, which nobody would call a mistake. So attempts always fail here and change nothing
//! ([`Machine::is_attempt`]), and the library's function then takes the lock in one step when it is free. Unlocking is
//! executed as it stands: an exchange or a subtraction that releases; waking somebody up is nothing, as who waits
//! notices by himself. A condition variable may wake up at any time, as its documentation says.

use super::names::{Class, Known};
use crate::WAITING_UNNOTICED;
use crate::access::displaced;
use crate::action::{Action, Cell, Order, Stop};
use crate::local::{Local, Then};
use crate::machine::Machine;
use crate::shared::Strength;
use crate::space::{Fill, Name, Object};
use crate::value::{Val, Word, mask};

/// A readers-writer lock that is locked by a writer; fewer is the number of readers.
const WRITE_LOCKED: u32 = (1 << 30) - 1;
/// The states of a `Once`, since Rust 1.85.
const INCOMPLETE: u128 = 3;
const RUNNING: u128 = 1;
const COMPLETE: u128 = 0;

/// What an attempt to take a lock reads: it is taken, by whatever kind of owner.
pub(crate) const TAKEN: Word = Word::Bits(WRITE_LOCKED as u128);

impl Machine {
    /// Is the atomic access of a word of 4 bytes that the thread is at an attempt to take a lock, before the library
    /// is asked to wait for it?
    pub(crate) fn is_attempt(&mut self, local: &Local) -> bool {
        for frame in local.frames.iter().rev() {
            match self.class(frame.function) {
                Class::Atomics => {}
                Class::FastPath => return true,
                _ => return false,
            }
        }
        false
    }

    /// Takes a lock when it is free.
    pub(super) fn lock_rust(
        &mut self,
        local: &mut Local,
        lock: &Val,
        kind: Known,
    ) -> Result<(), Stop> {
        let cell = self.word_of(local, lock)?;
        let (below, add) = match kind {
            Known::LockRead => (WRITE_LOCKED - 1, 1),
            Known::LockWrite => (1, WRITE_LOCKED),
            _ => (1, 1),
        };
        self.on_word(local, Action::Lock { cell, below, add })?;
        Ok(())
    }

    /// Unlocks a mutex and locks it again.
    pub(super) fn wait_condition(&mut self, local: &mut Local, mutex: &Val) -> Result<(), Stop> {
        self.note(format!("condition variables may wake up at any time, {WAITING_UNNOTICED}"));
        let cell = self.word_of(local, mutex)?;
        let (value, order) = (Word::ZERO, Order::Release);
        self.on_word(local, Action::Write { cell, value, order })?;
        self.on_word(local, Action::Lock { cell, below: 1, add: 1 })?;
        Ok(())
    }

    /// Runs a function unless it was run before; waits if it is running.
    pub(super) fn call_once(&mut self, local: &mut Local, arguments: &[Val]) -> Result<Val, Stop> {
        let [once, _, data, table, ..] = arguments else {
            return Stop::refuse("`Once` of a version of Rust that is not known");
        };
        let cell = self.word_of(local, once)?;
        let (expected, desired) = (INCOMPLETE, Word::Bits(RUNNING));
        let (success, failure) = (Order::Acquire, Order::Acquire);
        let attempt =
            Action::CompareExchange { cell, expected, desired, success, failure, weak: false };
        match self.on_word(local, attempt)? {
            Word::Bits(INCOMPLETE) => {}
            Word::Bits(COMPLETE) => return Ok(Val::Undef),
            Word::Bits(RUNNING) => {
                self.on_word(local, Action::Lock { cell, below: 1, add: 0 })?;
                return Ok(Val::Undef);
            }
            _ => return Stop::refuse("`Once` of a version of Rust that is not known"),
        }
        // The table has the destructor, size and alignment, `call_once`, and then `call_mut`.
        let function = self.virtual_function(local, table, 4)?;
        let name = Name::OnceState { thread: local.thread };
        let state = self.space.intern(Object { name, size: 16, fill: Fill::Zero, constant: false });
        local.private.forget(state);
        let arguments = vec![data.clone(), Machine::pointer(state)];
        self.enter(local, function, arguments, Then::Complete(cell))?;
        Ok(Val::Undef)
    }

    /// The function of a `Once` has returned.
    pub(crate) fn complete(&mut self, local: &mut Local, cell: Cell) -> Result<(), Stop> {
        let value = Word::Bits(COMPLETE);
        self.on_word(local, Action::Write { cell, value, order: Order::Release })?;
        Ok(())
    }

    /// Waits until a `Once` is complete.
    pub(super) fn wait_once(&mut self, local: &mut Local, once: &Val) -> Result<(), Stop> {
        let cell = self.word_of(local, once)?;
        self.on_word(local, Action::Lock { cell, below: 1, add: 0 })?;
        Ok(())
    }

    /// Waits at a barrier: is the thread the last to come?
    pub(super) fn wait_rust_barrier(
        &mut self,
        local: &mut Local,
        barrier: &Val,
    ) -> Result<Val, Stop> {
        let at = self.field_offset("Barrier", "num_threads")?;
        let count = self.load_word(local, &displaced(barrier, at), 8, Order::Plain)?;
        let Word::Bits(count) = count else {
            return Err(Stop::fail("a barrier that was never initialised"));
        };
        let last = self.arrive(local, barrier, count.max(1))?;
        Ok(Val::Bits(last.into()))
    }

    fn word_of(&mut self, local: &mut Local, address: &Val) -> Result<Cell, Stop> {
        let (object, offset) = self.bytes_at(local, address, 4, true)?;
        self.alive(local, object, "use of a lock in")?;
        Ok(Cell { object, offset, size: 4 })
    }

    /// Does something to a word in memory that is a lock.
    fn on_word(&mut self, local: &mut Local, action: Action) -> Result<Word, Stop> {
        let Some(cell) = action.cell() else { return Stop::refuse("a lock without a place") };
        self.touches.add(cell, local.thread, action.writes(), Strength::Atomic);
        if self.shared.contains(cell) {
            return self.visible(local, action);
        }
        if !self.shared.overlapping(cell.object, cell.offset, 4).is_empty() {
            return Stop::refuse(format!("mixed-size accesses to {}", self.called(cell.object)));
        }
        let old = self.peek(local, cell);
        let Some((new, input)) = crate::action::outcome(&action, old) else {
            // Nobody else touches the lock, so the thread waits for ever, and that is to be seen.
            return self.visible(local, Action::Await { cell, least: mask(64) });
        };
        if let Some(word) = new {
            local.private.write(cell.object, cell.offset, cell.size, word);
        }
        Ok(input)
    }
}
