//! Programs: what every front-end produces and every analysis consumes.
//!
//! A program is a set of threads over shared locations (Def. 2.1 of the RC20 paper). A thread's code
//! is a graph: every step names its successor, so there is no jump instruction and no fall-through
//! to think of. Arrays are flattened, one location per element; a [`Place`] with an index picks one
//! of them at run time.

use crate::condition::Condition;
use crate::expr::{Domain, Expr};
use crate::ids::{Loc, Origin, Pc, Reg, RegSet, Tid, Value};
use crate::mode::{FenceMode, ReadMode, WriteMode, is_sc_update};
use crate::update::Update;
use smallvec::{SmallVec, smallvec};

/// A concurrent program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The values it computes with.
    pub domain: Domain,
    /// Its shared locations, arrays flattened.
    pub locations: Vec<Location>,
    /// Its threads.
    pub threads: Vec<Thread>,
    /// The threads that others start: their first step waits for that. One that waits there for
    /// good is not stuck, it was never started.
    pub spawned: Vec<Tid>,
    /// What is asked of the states in which its runs end.
    pub condition: Option<Condition>,
    /// For code that was discovered by running it: per location, the values whose reads its threads have code for,
    /// ascending. Interleavings write no others. Empty if the threads have code for all values.
    pub foreseen: Vec<Option<Vec<Value>>>,
}

/// A shared memory location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// The name as declared; for an array element, the array's name.
    pub name: String,
    /// Its position, if it is an element of an array.
    pub element: Option<u32>,
    /// The value it starts with.
    pub initial: Value,
    /// May it be accessed atomically, or only by `na` accesses?
    pub kind: LocationKind,
}

/// How a location may be accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocationKind {
    /// By atomic accesses only.
    Atomic,
    /// By non-atomic accesses only; conflicting ones must be ordered by happens-before.
    NonAtomic,
}

/// A sequential program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its name; replicas are told apart by `replica`.
    pub name: String,
    /// Its number, if it was declared as one of several equal threads.
    pub replica: Option<u32>,
    /// Its registers' names; all start at 0.
    pub registers: Vec<String>,
    /// Its code.
    pub code: Vec<Step>,
    /// Where it starts.
    pub entry: Pc,
}

/// One instruction and where it leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// What is done.
    pub instr: Instr,
    /// What comes next. For [`Instr::Jump`], what comes next when the condition is 0; for
    /// [`Instr::Switch`], when no case applies; for [`Instr::Halt`], itself.
    pub next: Pc,
    /// Where it came from in the source.
    pub origin: Origin,
}

/// A location, or an array element with computed index.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The location, or the first of the array.
    pub base: Loc,
    /// The array's length; 1 if it is no array.
    pub len: u32,
    /// Which element.
    pub index: Option<Expr>,
}

/// An instruction (Fig. 1 of the RC20 paper, and what the other analyses add).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instr {
    /// `dst = value`
    Assign {
        /// The register assigned.
        dst: Reg,
        /// Its new value.
        value: Expr,
    },
    /// `if cond goto` one of `targets`, chosen nondeterministically; else `next`.
    Jump {
        /// The condition.
        cond: Expr,
        /// Where to, if it is not 0.
        targets: Vec<Pc>,
    },
    /// Goes where the value leads; to `next` if there is no case for it.
    Switch {
        /// The value.
        value: Expr,
        /// Where each value leads that has a case, ascending.
        cases: Vec<(Value, Pc)>,
    },
    /// Nothing; only for loops that do nothing else.
    Skip,
    /// Fails if the condition is 0.
    Assert(Expr),
    /// Ends the thread silently if the condition is 0.
    Assume(Expr),
    /// `dst = place.load(mode)`
    Load {
        /// The register that receives the value.
        dst: Reg,
        /// What is read.
        place: Place,
        /// How strongly.
        mode: ReadMode,
    },
    /// `place.store(value, mode)`
    Store {
        /// What is written.
        place: Place,
        /// The value written.
        value: Expr,
        /// How strongly.
        mode: WriteMode,
    },
    /// `dst = FADD(place, e, …)`, `exchange(place, e, …)`, `fetch_or(place, e, …)`, …
    Rmw {
        /// The register that receives the value read, if it is kept.
        dst: Option<Reg>,
        /// What is read and written.
        place: Place,
        /// How the value written comes from the one read.
        update: Update,
        /// How strongly it reads.
        read: ReadMode,
        /// How strongly it writes.
        write: WriteMode,
    },
    /// `dst = CAS(place, expected, desired, …)`: strong, it fails only on another value.
    Cas {
        /// The register that receives the value read, if it is kept.
        dst: Option<Reg>,
        /// What is read and perhaps written.
        place: Place,
        /// The value it must have.
        expected: Expr,
        /// The value it then gets.
        desired: Expr,
        /// How strongly it reads when it succeeds.
        read: ReadMode,
        /// How strongly it writes.
        write: WriteMode,
        /// How strongly it reads when it fails.
        fail: ReadMode,
    },
    /// `BCAS(place, expected, desired, …)`: blocks until it succeeds.
    BlockingCas {
        /// What is read and written.
        place: Place,
        /// The value it waits for.
        expected: Expr,
        /// The value it then gets.
        desired: Expr,
        /// How strongly it reads.
        read: ReadMode,
        /// How strongly it writes.
        write: WriteMode,
    },
    /// `dst = wait(place, values…, mode)`: blocks until it reads one of the values.
    Wait {
        /// The register that receives the value read, if it is kept.
        dst: Option<Reg>,
        /// What is read.
        place: Place,
        /// The values waited for.
        values: Vec<Expr>,
        /// How strongly.
        mode: ReadMode,
    },
    /// `fence(mode)`
    Fence(FenceMode),
    /// `fence(x, y, …)`: later stores stay behind earlier stores to these places (PGAS).
    LightFence(Vec<Place>),
    /// Start of a block that no other thread interrupts, with buffers flushed (x86 `LOCK`).
    BusLock,
    /// End of such a block.
    BusUnlock,
    /// Start of a transaction, an `atomic` block.
    Begin,
    /// End of a transaction.
    End,
    /// A call of a library method, or the return from it.
    Mark(Mark),
    /// The thread is done.
    Halt,
}

/// Where control passes between a client and a library. Methods are inlined where they are called,
/// so a mark is all that is left of the call; only `memory::rc11_views` looks at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// The client calls a method.
    Call {
        /// Which, by its position in the library's list of methods.
        method: u32,
        /// What it is given.
        arguments: Vec<Expr>,
    },
    /// The method returns.
    Return {
        /// What it gives back, if anything.
        value: Option<Expr>,
    },
}

impl Mark {
    /// The expressions evaluated.
    pub fn expressions(&self) -> &[Expr] {
        match self {
            Mark::Call { arguments, .. } => arguments,
            Mark::Return { value } => value.as_slice(),
        }
    }
}

impl Place {
    /// A location that is no array.
    pub fn location(base: Loc) -> Self {
        Place { base, len: 1, index: None }
    }

    /// The one location it stands for, or the constant index that is out of range; `None` if that
    /// is known only at run time.
    pub fn known(&self) -> Option<Result<Loc, Value>> {
        match &self.index {
            None => Some(Ok(self.base)),
            Some(Expr::Const(k)) => Some(self.element(*k).ok_or(*k)),
            Some(_) => None,
        }
    }

    /// The element with this index; `None` if the index is out of range.
    #[inline(always)]
    pub fn element(&self, index: Value) -> Option<Loc> {
        let index = u32::try_from(index).ok().filter(|index| *index < self.len)?;
        Some(Loc(self.base.0 + index))
    }

    /// The locations it may stand for.
    pub fn locations(&self) -> impl Iterator<Item = Loc> + use<> {
        let (first, count) = match self.known() {
            Some(Ok(loc)) => (loc.0, 1),
            Some(Err(_)) => (self.base.0, 0),
            None => (self.base.0, self.len),
        };
        (first..first + count).map(Loc)
    }

    /// The registers its index mentions.
    pub fn registers(&self) -> RegSet {
        self.index.as_ref().map_or(RegSet::EMPTY, Expr::registers)
    }
}

impl Instr {
    /// Is it a step that touches nothing but its thread's registers and program counter?
    pub fn is_local(&self) -> bool {
        matches!(
            self,
            Instr::Assign { .. }
                | Instr::Jump { .. }
                | Instr::Switch { .. }
                | Instr::Skip
                | Instr::Assert(_)
                | Instr::Assume(_)
                | Instr::Halt
        )
    }

    /// The place it accesses, if it is a memory access.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Instr::Load { place, .. }
            | Instr::Store { place, .. }
            | Instr::Rmw { place, .. }
            | Instr::Cas { place, .. }
            | Instr::BlockingCas { place, .. }
            | Instr::Wait { place, .. } => Some(place),
            _ => None,
        }
    }

    /// Every place it names. Only a lightweight fence names several, and it accesses none of them.
    pub fn places(&self) -> &[Place] {
        match self {
            Instr::LightFence(places) => places,
            _ => self.place().map_or(&[], std::slice::from_ref),
        }
    }

    /// Every expression it evaluates, but for the indices of its [places](Instr::places).
    pub fn operands(&self) -> SmallVec<[&Expr; 2]> {
        match self {
            Instr::Assign { value, .. }
            | Instr::Store { value, .. }
            | Instr::Switch { value, .. } => smallvec![value],
            Instr::Jump { cond, .. } | Instr::Assert(cond) | Instr::Assume(cond) => smallvec![cond],
            Instr::Rmw { update, .. } => smallvec![&update.operand],
            Instr::Cas { expected, desired, .. } | Instr::BlockingCas { expected, desired, .. } => {
                smallvec![expected, desired]
            }
            Instr::Wait { values, .. } => values.iter().collect(),
            Instr::Mark(mark) => mark.expressions().iter().collect(),
            Instr::Load { .. }
            | Instr::Fence(_)
            | Instr::LightFence(_)
            | Instr::BusLock
            | Instr::BusUnlock
            | Instr::Begin
            | Instr::End
            | Instr::Skip
            | Instr::Halt => SmallVec::new(),
        }
    }

    /// What it compares the value of its location with.
    pub fn compared(&self) -> &[Expr] {
        match self {
            Instr::Cas { expected, .. } | Instr::BlockingCas { expected, .. } => {
                std::slice::from_ref(expected)
            }
            Instr::Wait { values, .. } => values,
            _ => &[],
        }
    }

    /// May it write to memory?
    pub fn may_write(&self) -> bool {
        matches!(
            self,
            Instr::Store { .. } | Instr::Rmw { .. } | Instr::Cas { .. } | Instr::BlockingCas { .. }
        )
    }

    /// Every register the instruction may look at: R_in of the paper. A CAS that fails uses fewer,
    /// see [`crate::thread::inputs`].
    pub fn inputs(&self) -> RegSet {
        let places = self.places().iter().map(Place::registers);
        let operands = self.operands().into_iter().map(Expr::registers);
        places.chain(operands).fold(RegSet::EMPTY, RegSet::union)
    }

    /// Does it have a mode `pacq` or `prel`, which synchronise one space only?
    pub fn has_partial_modes(&self) -> bool {
        let reads = |mode: &ReadMode| *mode == ReadMode::Pacq;
        let writes = |mode: &WriteMode| *mode == WriteMode::Prel;
        match self {
            Instr::Load { mode, .. } | Instr::Wait { mode, .. } => reads(mode),
            Instr::Store { mode, .. } => writes(mode),
            Instr::Rmw { read, write, .. } | Instr::BlockingCas { read, write, .. } => {
                reads(read) || writes(write)
            }
            Instr::Cas { read, write, fail, .. } => reads(read) || writes(write) || reads(fail),
            _ => false,
        }
    }

    /// Is it an access of mode `sc`, in some outcome? A read-modify-write is if both its parts are.
    pub fn is_sc_access(&self) -> bool {
        match self {
            Instr::Load { mode, .. } | Instr::Wait { mode, .. } => *mode == ReadMode::Sc,
            Instr::Store { mode, .. } => *mode == WriteMode::Sc,
            Instr::Rmw { read, write, .. } | Instr::BlockingCas { read, write, .. } => {
                is_sc_update(*read, *write)
            }
            Instr::Cas { read, write, fail, .. } => {
                is_sc_update(*read, *write) || *fail == ReadMode::Sc
            }
            _ => false,
        }
    }

    /// The modes in which it reads, a failing CAS last, and writes.
    pub fn modes_mut(&mut self) -> ([Option<&mut ReadMode>; 2], Option<&mut WriteMode>) {
        match self {
            Instr::Load { mode, .. } | Instr::Wait { mode, .. } => ([Some(mode), None], None),
            Instr::Store { mode, .. } => ([None, None], Some(mode)),
            Instr::Rmw { read, write, .. } | Instr::BlockingCas { read, write, .. } => {
                ([Some(read), None], Some(write))
            }
            Instr::Cas { read, write, fail, .. } => ([Some(read), Some(fail)], Some(write)),
            _ => ([None, None], None),
        }
    }

    /// The register it writes, if any: R_out of the paper, which is empty or a singleton.
    pub fn output(&self) -> Option<Reg> {
        match self {
            Instr::Assign { dst, .. } | Instr::Load { dst, .. } => Some(*dst),
            Instr::Rmw { dst, .. } | Instr::Cas { dst, .. } | Instr::Wait { dst, .. } => *dst,
            _ => None,
        }
    }
}

/// Where a value leads by these cases, which are ascending.
#[inline(always)]
pub fn case(cases: &[(Value, Pc)], value: Value) -> Option<Pc> {
    let found = cases.binary_search_by_key(&value, |(case, _)| *case);
    found.ok().map(|k| cases[k].1)
}

impl Step {
    /// The places that the instruction names beside what comes next.
    pub fn targets_mut(&mut self) -> impl Iterator<Item = &mut Pc> + '_ {
        let (targets, cases): (&mut [Pc], &mut [(Value, Pc)]) = match &mut self.instr {
            Instr::Jump { targets, .. } => (targets, &mut []),
            Instr::Switch { cases, .. } => (&mut [], cases),
            _ => (&mut [], &mut []),
        };
        targets.iter_mut().chain(cases.iter_mut().map(|(_, pc)| pc))
    }

    /// Where control may go from here.
    pub fn successors(&self) -> impl Iterator<Item = Pc> + '_ {
        let targets: &[Pc] = match &self.instr {
            Instr::Jump { targets, .. } => targets,
            _ => &[],
        };
        let cases: &[(Value, Pc)] = match &self.instr {
            Instr::Switch { cases, .. } => cases,
            _ => &[],
        };
        let falls_through = match &self.instr {
            Instr::Halt => false,
            Instr::Jump { cond, .. } => cond.as_const().is_none_or(|value| value == 0),
            _ => true,
        };
        let taken = match &self.instr {
            Instr::Jump { cond, .. } => cond.as_const() != Some(0),
            _ => false,
        };
        let targets = targets.iter().copied().filter(move |_| taken);
        let cases = cases.iter().map(|(_, pc)| *pc);
        targets.chain(cases).chain(falls_through.then_some(self.next))
    }
}

impl Thread {
    /// The program counters that control may come to.
    pub fn reachable(&self) -> impl Iterator<Item = Pc> + use<> {
        let mut seen = vec![false; self.code.len()];
        let mut open = vec![self.entry];
        seen[self.entry.index()] = true;
        while let Some(pc) = open.pop() {
            for next in self.code[pc.index()].successors() {
                if !std::mem::replace(&mut seen[next.index()], true) {
                    open.push(next);
                }
            }
        }
        (0..seen.len()).filter(move |pc| seen[*pc]).map(Pc::from)
    }

    /// The name a report uses: replicas get their number.
    pub fn display_name(&self) -> String {
        match self.replica {
            Some(k) => format!("{}[{k}]", self.name),
            None => self.name.clone(),
        }
    }
}

impl Location {
    /// The name a report uses: array elements get their index.
    pub fn display_name(&self) -> String {
        match self.element {
            Some(k) => format!("{}[{k}]", self.name),
            None => self.name.clone(),
        }
    }
}

impl Program {
    /// A program whose threads start by themselves.
    pub fn new(domain: Domain, locations: Vec<Location>, threads: Vec<Thread>) -> Self {
        Program {
            domain,
            locations,
            threads,
            spawned: Vec::new(),
            condition: None,
            foreseen: Vec::new(),
        }
    }

    /// Does the thread, when it is at `pc`, wait for another to start it?
    pub fn is_unstarted(&self, tid: Tid, pc: Pc) -> bool {
        self.spawned.contains(&tid) && self.threads[tid.index()].entry == pc
    }

    /// The step of thread `tid` at `pc`.
    #[inline(always)]
    pub fn step(&self, tid: Tid, pc: Pc) -> &Step {
        &self.threads[tid.index()].code[pc.index()]
    }

    /// All thread identifiers.
    pub fn tids(&self) -> impl Iterator<Item = Tid> + use<> {
        (0..self.threads.len()).map(Tid::from)
    }

    /// All steps of all threads.
    pub fn steps(&self) -> impl Iterator<Item = (Tid, Pc, &Step)> {
        self.threads.iter().enumerate().flat_map(|(t, thread)| {
            thread.code.iter().enumerate().map(move |(pc, step)| (Tid::from(t), Pc::from(pc), step))
        })
    }

    /// Does any fence update the hidden location?
    pub fn has_updating_fences(&self) -> bool {
        self.steps().any(|(_, _, step)| matches!(step.instr, Instr::Fence(mode) if mode.updates()))
    }

    /// Does it have `sc` accesses, or native SC fences: what RC20 has no notion of?
    pub fn has_sc_events(&self) -> bool {
        self.steps().any(|(_, _, step)| {
            step.instr == Instr::Fence(FenceMode::Sc) || step.instr.is_sc_access()
        })
    }

    /// The same program as RC20 reads it: an SC fence is an update of a hidden location between an
    /// acquire and a release fence, and an `sc` access acquires or releases and no more.
    pub fn rc20(&self) -> Program {
        self.with_modes(|mode| mode.min(ReadMode::Acq), |mode| mode.min(WriteMode::Rel))
    }

    /// The same program in the release/acquire fragment of RC20: every atomic read acquires, every
    /// atomic write releases, whatever the source says.
    pub fn release_acquire(&self) -> Program {
        let read = |mode| if mode == ReadMode::Na { mode } else { ReadMode::Acq };
        let write = |mode| if mode == WriteMode::Na { mode } else { WriteMode::Rel };
        self.with_modes(read, write)
    }

    /// The same program with RC20's SC fences, and with other modes of its accesses.
    fn with_modes(
        &self,
        read: impl Fn(ReadMode) -> ReadMode,
        write: impl Fn(WriteMode) -> WriteMode,
    ) -> Program {
        let mut program = self.clone();
        for step in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
            if step.instr == Instr::Fence(FenceMode::Sc) {
                step.instr = Instr::Fence(FenceMode::ScUpd);
            }
            let (reads, writes) = step.instr.modes_mut();
            reads.into_iter().flatten().for_each(|mode| *mode = read(*mode));
            writes.into_iter().for_each(|mode| *mode = write(*mode));
        }
        program
    }
}
