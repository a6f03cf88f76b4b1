//! A program whose variables are divided into spaces, and the *history* that a client sees of a library: its calls and returns.

use super::on_demand::inside;
use ir::ids::{Loc, Pc, Space, Tid, Value};
use ir::mode::{ReadMode, WriteMode};
use ir::program::{Instr, Program};
use smallvec::SmallVec;

/// A program whose locations are divided into spaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct System {
    /// The program, methods inlined, with [`ir::Mark`]s where they were called.
    pub program: Program,
    /// The space of every location.
    pub space_of: Vec<Space>,
    /// How many spaces there are; markers propagate to each.
    pub spaces: usize,
}

/// What a history consists of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Label {
    /// A thread calls a method.
    Call {
        /// The thread.
        tid: Tid,
        /// The method's position in the library's list.
        method: u32,
        /// The arguments.
        arguments: SmallVec<[Value; 2]>,
    },
    /// The method that a thread called returns.
    Return {
        /// The thread.
        tid: Tid,
        /// The result, if it has one.
        value: Option<Value>,
    },
    /// The next marker of a thread reaches another. Markers of one thread propagate in order, so
    /// there is no need to say which.
    Propagate {
        /// Whose marker.
        from: Tid,
        /// The thread it reaches.
        to: Tid,
        /// For which space.
        space: Space,
    },
}

/// For which spaces an access synchronises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// None: it is non-atomic or relaxed.
    Nothing,
    /// The access's own.
    Own,
    /// All.
    Everything,
}

impl Reach {
    pub(crate) fn of_read(mode: ReadMode) -> Self {
        match mode {
            ReadMode::Na | ReadMode::Rlx => Reach::Nothing,
            ReadMode::Pacq => Reach::Own,
            ReadMode::Acq | ReadMode::Sc => Reach::Everything,
        }
    }

    pub(crate) fn of_write(mode: WriteMode) -> Self {
        match mode {
            WriteMode::Na | WriteMode::Rlx => Reach::Nothing,
            WriteMode::Prel => Reach::Own,
            WriteMode::Rel | WriteMode::Sc => Reach::Everything,
        }
    }

    /// Does an access to a location of space `own` synchronise space `other`?
    pub(crate) fn covers(self, own: Space, other: Space) -> bool {
        match self {
            Reach::Nothing => false,
            Reach::Own => own == other,
            Reach::Everything => true,
        }
    }
}

impl System {
    /// A step that the model gives no meaning, if there is one: fences (but for those written as
    /// read-modify-writes), bus locks and transactions.
    pub fn meaningless_step(&self) -> Option<(Tid, Pc)> {
        let meaningless = |instr: &Instr| {
            matches!(
                instr,
                Instr::Fence(_)
                    | Instr::LightFence(_)
                    | Instr::BusLock
                    | Instr::BusUnlock
                    | Instr::Begin
                    | Instr::End
            )
        };
        self.program.steps().find(|(_, _, step)| meaningless(&step.instr)).map(|(t, pc, _)| (t, pc))
    }

    /// Does any access synchronise one space only?
    pub fn has_partial_modes(&self) -> bool {
        self.program.steps().any(|(_, _, step)| step.instr.has_partial_modes())
    }

    /// Do threads access memory only inside methods, so that the client has none of its own?
    pub fn has_only_calls(&self) -> bool {
        self.program.threads.iter().all(|thread| {
            let inside = inside(thread);
            let mut steps = thread.code.iter().zip(inside);
            steps.all(|(step, inside)| inside || step.instr.place().is_none())
        })
    }

    /// The space of a location.
    pub fn space(&self, loc: Loc) -> Space {
        self.space_of[loc.index()]
    }
}
