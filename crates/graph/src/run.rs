//! How a program generates graphs: the memory system FG (Def. 3.10).
//!
//! FG sets no limits: a thread may read from any write to the location and put a write anywhere in
//! modification order. It only keeps books: the graph so far, and the *dependency store* ψ, which says
//! for every register which read events its value came from (Def. 3.9). Whoever explores decides
//! which choices a model allows.
//!
//! A step of a thread is one of three kinds ([`Next`]): *silent* (assignments), *local* (fences and
//! control: an event, but no choice of a write) and an *access*. RC20's `fence(sc)` is three steps at one
//! program counter, counted by [`ThreadState::phase`].
//!
//! Beyond the paper:
//! * A computed array index is an input of its access, so loads have dependencies too: which location
//!   is read depends on the registers.
//! * A read-modify-write whose result is a [`Fault`] has read but not written: an R* event, after which
//!   the thread is stuck.
//! * Light fences, bus locks and transaction marks mean nothing to RC20 and are silent. Callers who
//!   care refuse such programs.

use super::event::{EventId, ExecutionGraph, Label};
use ir::thread::{Action, destination, inputs, next_action};
use ir::update::{Change, UpdateOp};
use ir::{
    Domain, Expr, Fault, FenceMode, Instr, Loc, Notes, Pc, Program, ReadMode, Reg, RegSet, Thread,
    Tid, Value, WriteMode,
};

/// Can a thread go on?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// Perhaps: it is at an instruction.
    Running,
    /// It is done.
    Halted,
    /// It waits for a value that the last write to the location does not have.
    Blocked,
    /// An assumption did not hold; it ended silently.
    Ended,
    /// An assertion failed.
    Failed,
    /// A run-time error.
    Faulted(Fault),
    /// It was stopped because it came to one instruction too often.
    Cut,
}

/// A thread's local state, and where its registers' values came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadState {
    /// Where it is.
    pub pc: Pc,
    /// How many events of the instruction at `pc` have happened; only RC20's SC fences have more than one.
    pub phase: u8,
    /// Its registers' values.
    pub registers: Vec<Value>,
    /// Can it go on? Never [`Status::Blocked`], which depends on the graph.
    pub status: Status,
    /// ψ: the reads that each register's value came from, ascending.
    came_from: Vec<Vec<EventId>>,
    /// How often it arrived at each instruction.
    visits: Vec<u32>,
}

/// What a thread does next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nothing, ever.
    Nothing,
    /// A step without event.
    Silent,
    /// An event that involves no other thread: a fence or a control event.
    Local(Label),
    /// A memory access.
    Access(Access),
}

/// A memory access with the value it reads left open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// The location.
    pub loc: Loc,
    action: Action,
    domain: Domain,
}

impl Access {
    /// The event's label if the write it reads from, or is placed after, has this value; `None` if the
    /// access waits for another value.
    pub fn label(&self, value: Value) -> Option<Label> {
        let loc = self.loc;
        match &self.action {
            Action::Read { mode, .. } => Some(Label::Read { loc, value, mode: *mode }),
            Action::Write { value, mode, .. } => {
                Some(Label::Write { loc, value: *value, mode: *mode })
            }
            Action::Update { change, read, write, .. } => {
                Some(match change.apply(value, self.domain, &mut Notes::default()) {
                    Ok(written) => rmw(loc, value, written, *read, *write),
                    Err(_) => Label::ReadStar { loc, value, mode: *read },
                })
            }
            Action::Cas { expected, desired, read, write, fail, .. } => {
                Some(if value == *expected {
                    rmw(loc, value, *desired, *read, *write)
                } else {
                    Label::ReadStar { loc, value, mode: *fail }
                })
            }
            Action::BlockingCas { expected, desired, read, write, .. } => {
                (value == *expected).then(|| rmw(loc, value, *desired, *read, *write))
            }
            Action::Wait { values, mode, .. } => {
                values.contains(&value).then_some(Label::ReadStar { loc, value, mode: *mode })
            }
            _ => None,
        }
    }

    /// Is it non-atomic?
    pub fn is_non_atomic(&self) -> bool {
        match self.action {
            Action::Read { mode, .. } => mode == ReadMode::Na,
            Action::Write { mode, .. } => mode == WriteMode::Na,
            _ => false,
        }
    }

    /// Is it a plain load, whose value nothing may ever depend on?
    pub fn is_load(&self) -> bool {
        matches!(self.action, Action::Read { .. })
    }

    fn fault(&self, value: Value) -> Option<Fault> {
        match &self.action {
            Action::Update { change, .. } => {
                change.apply(value, self.domain, &mut Notes::default()).err()
            }
            _ => None,
        }
    }
}

fn rmw(loc: Loc, read: Value, written: Value, read_mode: ReadMode, write_mode: WriteMode) -> Label {
    Label::Rmw { loc, read, written, read_mode, write_mode }
}

impl ThreadState {
    fn start(thread: &Thread) -> Self {
        let mut state = ThreadState {
            pc: thread.entry,
            phase: 0,
            registers: vec![0; thread.registers.len()],
            status: Status::Running,
            came_from: vec![Vec::new(); thread.registers.len()],
            visits: vec![0; thread.code.len()],
        };
        state.arrive(thread, thread.entry);
        state
    }

    /// The thread at an instruction, with these registers; where their values came from is not known.
    pub fn at(thread: &Thread, pc: Pc, registers: Vec<Value>) -> Self {
        let mut state = ThreadState { registers, ..ThreadState::start(thread) };
        state.status = Status::Running;
        state.arrive(thread, pc);
        state
    }

    /// What thread `tid` does next in this state. A run-time error in evaluating it is a silent step.
    pub fn next(&self, program: &Program, tid: Tid) -> Next {
        if self.status != Status::Running {
            return Next::Nothing;
        }
        match &program.step(tid, self.pc).instr {
            // Whether the thread goes on depends on what is divided by.
            Instr::Assign { value, .. } if value.may_fail(program.domain.edge) => {
                Next::Local(Label::Ctrl)
            }
            Instr::Assign { .. } | Instr::Skip => Next::Silent,
            Instr::Jump { .. } | Instr::Switch { .. } | Instr::Assert(_) | Instr::Assume(_) => {
                Next::Local(Label::Ctrl)
            }
            Instr::Fence(mode) => fence_event(*mode, self.phase, program),
            instr => match self.action(program, instr) {
                Ok(action) => match action.loc() {
                    Some(loc) => Next::Access(Access { loc, action, domain: program.domain }),
                    None => Next::Silent,
                },
                Err(_) => Next::Silent,
            },
        }
    }

    /// ψ(R_in): the reads that the step at hand depends on. Whether it `writes` matters to a CAS only:
    /// one that fails does not use the value it would have written.
    pub fn dependencies(&self, program: &Program, tid: Tid, writes: bool) -> Vec<EventId> {
        self.sources(inputs(&program.step(tid, self.pc).instr, writes))
    }

    /// The states after a silent or local step; several only if a jump has several targets.
    pub fn after_local(&self, program: &Program, tid: Tid) -> Vec<ThreadState> {
        if matches!(self.next(program, tid), Next::Nothing | Next::Access(_)) {
            return Vec::new();
        }
        let thread = &program.threads[tid.index()];
        let step = program.step(tid, self.pc);
        let arrive = |pc: Pc| {
            let mut state = self.clone();
            state.arrive(thread, pc);
            state
        };
        let stop = |status: Status| vec![ThreadState { status, ..self.clone() }];
        let eval = |e: &Expr| e.eval(&self.registers, program.domain, &mut Notes::default());
        let outcome = match &step.instr {
            Instr::Assign { dst, value } => eval(value).map(|result| {
                let mut state = arrive(step.next);
                state.came_from[dst.index()] = self.sources(value.registers());
                state.registers[dst.index()] = result;
                vec![state]
            }),
            Instr::Jump { cond, targets } => eval(cond).map(|result| match result {
                0 => vec![arrive(step.next)],
                _ => targets.iter().map(|&pc| arrive(pc)).collect(),
            }),
            Instr::Switch { value, cases } => eval(value).map(|result| {
                let mut to = cases.iter().filter(|(case, _)| *case == result);
                vec![arrive(to.next().map_or(step.next, |(_, pc)| *pc))]
            }),
            Instr::Assert(cond) => eval(cond).map(|result| match result {
                0 => stop(Status::Failed),
                _ => vec![arrive(step.next)],
            }),
            Instr::Assume(cond) => eval(cond).map(|result| match result {
                0 => stop(Status::Ended),
                _ => vec![arrive(step.next)],
            }),
            Instr::Fence(mode) if self.phase + 1 < phases(*mode) => {
                Ok(vec![ThreadState { phase: self.phase + 1, ..self.clone() }])
            }
            instr => self.action(program, instr).map(|_| vec![arrive(step.next)]),
        };
        outcome.unwrap_or_else(|fault| stop(Status::Faulted(fault)))
    }

    /// The state after the access at hand, done by `event`, which reads from or is placed after a write
    /// of `value`; `None` if it is at no access, or one that waits for another value.
    pub fn after_access(
        &self,
        program: &Program,
        tid: Tid,
        value: Value,
        event: EventId,
    ) -> Option<ThreadState> {
        let Next::Access(access) = self.next(program, tid) else { return None };
        let label = access.label(value)?;
        let step = program.step(tid, self.pc);
        let mut state = self.clone();
        if let (Some(dst), Some(value)) = (destination(&step.instr), label.value_read()) {
            state.registers[dst.index()] = value;
            state.came_from[dst.index()] = vec![event];
        }
        match (&step.instr, access.fault(value)) {
            (_, Some(fault)) => state.status = Status::Faulted(fault),
            (Instr::Fence(mode), _) if self.phase + 1 < phases(*mode) => state.phase += 1,
            _ => state.arrive(&program.threads[tid.index()], step.next),
        }
        Some(state)
    }

    /// ψ(r): the reads that a register's value came from, in program order.
    pub fn came_from(&self, reg: Reg) -> &[EventId] {
        &self.came_from[reg.index()]
    }

    /// How often it came to the instruction it is at.
    pub fn visits(&self) -> u32 {
        self.visits[self.pc.index()]
    }

    /// Are they equal but for how often they came to which instruction?
    pub fn same_but_visits(&self, other: &ThreadState) -> bool {
        let ThreadState { pc, phase, registers, status, came_from, visits: _ } = self;
        (*pc, *phase, *status) == (other.pc, other.phase, other.status)
            && *registers == other.registers
            && *came_from == other.came_from
    }

    fn arrive(&mut self, thread: &Thread, pc: Pc) {
        self.pc = pc;
        self.phase = 0;
        self.visits[pc.index()] += 1;
        if matches!(thread.code[pc.index()].instr, Instr::Halt) {
            self.status = Status::Halted;
        }
    }

    fn action(&self, program: &Program, instr: &Instr) -> Result<Action, Fault> {
        next_action(instr, &self.registers, program.domain, &mut Notes::default())
    }

    fn sources(&self, registers: RegSet) -> Vec<EventId> {
        let mut events: Vec<EventId> =
            registers.iter().flat_map(|r| self.came_from[r.index()].iter().copied()).collect();
        events.sort_unstable();
        events.dedup();
        events
    }
}

/// A graph and the threads that generated it: a state of the program under FG.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// What happened.
    pub graph: ExecutionGraph,
    /// Where the threads are.
    pub threads: Vec<ThreadState>,
}

impl Execution {
    /// Nothing happened yet.
    pub fn initial(program: &Program) -> Self {
        Execution {
            graph: ExecutionGraph::initial(program),
            threads: program.threads.iter().map(ThreadState::start).collect(),
        }
    }

    /// What thread `tid` does next.
    pub fn next(&self, program: &Program, tid: Tid) -> Next {
        self.threads[tid.index()].next(program, tid)
    }

    /// The successors by a silent or local step of `tid`; several only if a jump has several targets.
    pub fn local_steps(&self, program: &Program, tid: Tid) -> Vec<Execution> {
        let thread = &self.threads[tid.index()];
        let graph = match thread.next(program, tid) {
            Next::Nothing | Next::Access(_) => return Vec::new(),
            Next::Silent => self.graph.clone(),
            Next::Local(label) => {
                let depends_on = thread.dependencies(program, tid, true);
                self.graph
                    .extend(tid, thread.pc, label, &depends_on, None)
                    .expect("ψ holds earlier reads of the thread")
            }
        };
        let with = |state: ThreadState| {
            let mut threads = self.threads.clone();
            threads[tid.index()] = state;
            Execution { graph: graph.clone(), threads }
        };
        thread.after_local(program, tid).into_iter().map(with).collect()
    }

    /// [`Execution::local_steps`] in place, with the successor in which `tid` comes to `goal`, or the
    /// first if none does or there is no goal. If it returns `None` there is none, and the execution
    /// is as before.
    pub fn take_local_step(&mut self, program: &Program, tid: Tid, goal: Option<Pc>) -> Option<()> {
        let thread = &self.threads[tid.index()];
        let next = thread.next(program, tid);
        if let Next::Nothing | Next::Access(_) = next {
            return None;
        }
        let mut after = thread.after_local(program, tid);
        if after.is_empty() {
            return None;
        }
        if let Next::Local(label) = next {
            let depends_on = thread.dependencies(program, tid, true);
            self.graph
                .add(tid, thread.pc, label, &depends_on, None)
                .expect("ψ holds earlier reads of the thread");
        }
        let chosen = after.iter().position(|state| goal.is_none_or(|pc| state.pc == pc));
        self.threads[tid.index()] = after.swap_remove(chosen.unwrap_or(0));
        Some(())
    }

    /// [`Execution::access`] in place. If it returns `None`, the execution is as before.
    pub fn take_access(&mut self, program: &Program, tid: Tid, write: EventId) -> Option<()> {
        let thread = &self.threads[tid.index()];
        let Next::Access(access) = thread.next(program, tid) else { return None };
        let value = self.graph.event(write).label.value_written()?;
        let label = access.label(value)?;
        let depends_on = thread.dependencies(program, tid, label.writes());
        let event = EventId::from(self.graph.len());
        let after = thread.after_access(program, tid, value, event)?;
        self.graph.add(tid, thread.pc, label, &depends_on, Some(write))?;
        self.threads[tid.index()] = after;
        Some(())
    }

    /// The successor by the next access of `tid`, reading from `write` or placed directly after it;
    /// `None` if it is at no access, or one that `write` does not fit.
    pub fn access(&self, program: &Program, tid: Tid, write: EventId) -> Option<Execution> {
        let mut after = self.clone();
        after.take_access(program, tid, write)?;
        Some(after)
    }
}

/// How many events a fence is.
fn phases(mode: FenceMode) -> u8 {
    if mode == FenceMode::ScUpd { 3 } else { 1 }
}

fn fence_event(mode: FenceMode, phase: u8, program: &Program) -> Next {
    let loc = Loc::from(program.locations.len());
    let update = Action::Update {
        loc,
        change: Change { op: UpdateOp::Add, operand: 0 },
        read: ReadMode::Acq,
        write: WriteMode::Rel,
    };
    match (mode, phase) {
        (FenceMode::Upd, _) | (FenceMode::ScUpd, 1) => {
            Next::Access(Access { loc, action: update, domain: program.domain })
        }
        (FenceMode::ScUpd, 0) => Next::Local(Label::Fence(FenceMode::Acq)),
        (FenceMode::ScUpd, _) => Next::Local(Label::Fence(FenceMode::Rel)),
        (mode, _) => Next::Local(Label::Fence(mode)),
    }
}
