//! What a thread does that others can notice, what that makes of memory, and why a thread goes no further.

use crate::atomic::update;
use crate::library::DESTROYED;
use crate::queue::Queueing;
use crate::space::ObjectId;
use crate::value::{Bits, Word};
use llvm::Ordering;
use llvm::instruction::RmwOp;

/// A piece of memory that threads share: bytes of an object that are accessed as one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Cell {
    pub(crate) object: ObjectId,
    pub(crate) offset: u32,
    pub(crate) size: u8,
}

/// Where the cell is that says whether a block is still there: behind every object.
const LIFE: u32 = u32::MAX - 64;
/// Where the cells of the thread library are: behind every object as well.
const SYNC: u32 = 1 << 30;
/// How far behind these are the cells in which threads keep what they hold.
const HELD: u32 = 1 << 29;
/// Where the cell is that says whether a block that was freed waits to be given out again.
const SPARE: u32 = SYNC - 16;

impl Cell {
    /// Is the block of the heap still there? 0 means yes.
    pub(crate) fn life(object: ObjectId) -> Cell {
        Cell { object, offset: LIFE, size: 1 }
    }

    /// What a lock, a barrier or another object of the thread library keeps; it starts at 0.
    pub(crate) fn sync(object: ObjectId, offset: u32) -> Cell {
        Cell { object, offset: SYNC + offset, size: 0 }
    }

    /// What a thread has added to a lock; each thread has this cell for itself.
    pub(crate) fn held(lock: Cell) -> Cell {
        Cell { object: lock.object, offset: lock.offset + HELD, size: 4 }
    }

    /// Is it a cell that each thread has for itself?
    pub(crate) fn is_held(offset: u32) -> bool {
        (SYNC + HELD..LIFE).contains(&offset)
    }

    /// Has the team been started? 0 means no, 1 yes.
    pub(crate) fn start(team: ObjectId) -> Cell {
        Cell { object: team, offset: SYNC, size: 0 }
    }

    /// How many threads of the team have ended.
    pub(crate) fn ended(team: ObjectId) -> Cell {
        Cell { object: team, offset: SYNC + 1, size: 0 }
    }

    /// Has the thread ended? 0 means no; otherwise one more than what it returned.
    pub(crate) fn end(thread: ObjectId) -> Cell {
        Cell { object: thread, offset: SYNC + 2, size: 0 }
    }

    /// Was the thread joined or detached? 0 means no.
    pub(crate) fn settled(thread: ObjectId) -> Cell {
        Cell { object: thread, offset: SYNC + 3, size: 0 }
    }

    /// Was the block freed, and is its address there to be given out again? 0 means no.
    pub(crate) fn spare(block: ObjectId) -> Cell {
        Cell { object: block, offset: SPARE, size: 0 }
    }

    /// Is it the cell that says whether a block waits to be given out again?
    pub(crate) fn is_spare(self) -> bool {
        self.offset == SPARE
    }

    /// Is it a cell of the thread library, which no instruction accesses directly?
    pub(crate) fn is_sync(self) -> bool {
        self.size == 0
    }

    pub(crate) fn is_life(self) -> bool {
        self.offset == LIFE
    }
}

/// The order of an access or fence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Order {
    /// Not atomic.
    Plain,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl From<Ordering> for Order {
    fn from(ordering: Ordering) -> Order {
        match ordering {
            Ordering::Unordered | Ordering::Monotonic => Order::Relaxed,
            Ordering::Acquire => Order::Acquire,
            Ordering::Release => Order::Release,
            Ordering::AcqRel => Order::AcqRel,
            Ordering::SeqCst => Order::SeqCst,
        }
    }
}

/// What a thread does next that others can notice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    /// Its input is the value read.
    Read { cell: Cell, order: Order },
    /// Its input is 0.
    Write { cell: Cell, value: Word, order: Order },
    /// Its input is the value read.
    Update { cell: Cell, op: RmwOp, operand: u128, width: u32, order: Order },
    /// Its input is the value read; a weak one that fails on the expected value has the input [`SPURIOUS`].
    CompareExchange {
        cell: Cell,
        expected: u128,
        desired: Word,
        success: Order,
        failure: Order,
        weak: bool,
    },
    /// Waits until the cell is less than `below`, and adds to it. Its input is 0, or that the lock was destroyed.
    Lock { cell: Cell, below: u32, add: u32 },
    /// Waits until the cell is at least this. Its input is the value read.
    Await { cell: Cell, least: u128 },
    /// Its input is 0.
    Fence { order: Order },
    /// Its input is a number below this.
    Choose { alternatives: u32 },
    /// A variable on the stack is there again, where others may know the one that was there before, by its life cell.
    /// Its input is 0 if both are one, as on a machine, and 1 if they are two.
    Recall { cell: Cell },
    /// Asks for the address of a block that was freed, by its spare cell. Its input is 1 if the address is given out
    /// again, otherwise 0.
    Take { cell: Cell },
    /// Does something to a queue of messages. Its input is the queue's.
    Queue { cell: Cell, queueing: Queueing },
}

/// The input of a weak compare-and-exchange that fails for no reason. No cell holds it: a word of which no bit has a value is
/// [`Word::Undef`].
pub(crate) const SPURIOUS: Word = Word::Partly(Bits { bits: 0, defined: 0 });

impl Action {
    /// The cell it accesses.
    pub(crate) fn cell(&self) -> Option<Cell> {
        match self {
            Action::Read { cell, .. }
            | Action::Write { cell, .. }
            | Action::Update { cell, .. }
            | Action::CompareExchange { cell, .. }
            | Action::Lock { cell, .. }
            | Action::Recall { cell }
            | Action::Take { cell }
            | Action::Queue { cell, .. }
            | Action::Await { cell, .. } => Some(*cell),
            Action::Fence { .. } | Action::Choose { .. } => None,
        }
    }

    /// May it change its cell?
    pub(crate) fn writes(&self) -> bool {
        !matches!(self, Action::Read { .. } | Action::Await { .. })
    }
}

/// Why an instruction was not carried out to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// It does something that others notice, and does not know the result yet.
    Rest(Action),
    /// The program goes wrong: how, in one line.
    Fail(String),
    /// The thread goes no further: it assumed what does not hold, or runs in circles without touching anything.
    Blocked,
    /// The thread is done.
    Ended,
    /// The first thread is about to start others.
    Company,
    /// There is no meaning for what the program does here.
    Refuse(String),
}

impl Stop {
    pub(crate) fn fail(how: impl Into<String>) -> Stop {
        Stop::Fail(how.into())
    }

    pub(crate) fn refuse<T>(why: impl Into<String>) -> Result<T, Stop> {
        Err(Stop::Refuse(why.into()))
    }
}

/// What an action does to its cell: the new value if there is one, and the input it gives. `None` if it must wait.
pub(crate) fn outcome(action: &Action, old: Word) -> Option<(Option<Word>, Word)> {
    Some(match action {
        Action::Read { .. } => (None, old),
        Action::Write { value, .. } => (Some(*value), Word::ZERO),
        Action::Update { op, operand, width, .. } => {
            (Some(update(*op, old, *operand, *width)), old)
        }
        Action::CompareExchange { expected, desired, .. } => match old == Word::Bits(*expected) {
            true => (Some(*desired), old),
            false => (None, old),
        },
        Action::Lock { below, add, .. } => match old {
            Word::Bits(held) if held < u128::from(*below) => {
                (Some(Word::Bits(held + u128::from(*add))), Word::ZERO)
            }
            DESTROYED => (None, DESTROYED),
            _ => return None,
        },
        Action::Await { least, .. } => match old {
            Word::Bits(bits) if bits >= *least => (None, old),
            _ => return None,
        },
        Action::Queue { queueing, .. } => return queueing.after(old),
        Action::Fence { .. }
        | Action::Choose { .. }
        | Action::Recall { .. }
        | Action::Take { .. } => (None, Word::ZERO),
    })
}

/// May an action that gave this input have changed its cell?
pub(crate) fn changes(action: &Action, input: Word) -> bool {
    match action {
        Action::CompareExchange { expected, .. } => input == Word::Bits(*expected),
        Action::Queue { queueing, .. } => queueing.changes(input),
        action => action.writes(),
    }
}
