//! The local steps of a thread between two accesses, and the values that an access reads and writes, given the write
//! that it follows.

use super::Label;
use super::polling::Polling;
use ir::expr::{Fault, Notes};
use ir::ids::{Pc, Tid, Value};
use ir::mode::{ReadMode, WriteMode};
use ir::program::{Instr, Mark, Program};
use ir::run_local::{Rest, Stop, Watch, run_local};
use ir::thread::{Action, destination, next_action};
use smallvec::SmallVec;

/// Can a thread go on?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// Perhaps: it is at an access, a marker or a choice.
    Running,
    /// It is done.
    Halted,
    /// An assumption did not hold; it ended silently.
    Ended,
    /// It loops without accessing memory, forever.
    Spinning,
    /// It takes so many steps without accessing memory that nobody waits to see where they lead.
    Lost,
    /// It went round a loop that only reads, and need not have; see `super::polling`.
    Fruitless,
    /// An assertion failed.
    Failed,
    /// A run-time error.
    Faulted(Fault),
}

/// The local state of a thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Local {
    /// Where it is.
    pub pc: Pc,
    /// What its registers hold.
    pub registers: SmallVec<[Value; 8]>,
    /// Can it go on?
    pub status: Status,
}

/// What an access does, given the value of the write it reads from or is placed after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Effect {
    pub(super) read: Option<ReadMode>,
    pub(super) write: Option<(Value, WriteMode)>,
    pub(super) fault: Option<Fault>,
}

impl Effect {
    /// Does what the access writes wrap around, given the value that it reads?
    pub(super) fn wraps(action: &Action, value: Value, program: &Program) -> bool {
        let mut notes = Notes::default();
        if let Action::Update { change, .. } = action {
            let _ = change.apply(value, program.domain, &mut notes);
        }
        notes.wrapped
    }

    /// `None` if the access waits for another value.
    pub(super) fn of(action: &Action, value: Value, program: &Program) -> Option<Effect> {
        let read = |mode| Some(Effect { read: Some(mode), write: None, fault: None });
        let both = |read, written, write| {
            Some(Effect { read: Some(read), write: Some((written, write)), fault: None })
        };
        match action {
            Action::Read { mode, .. } => read(*mode),
            Action::Write { value, mode, .. } => {
                Some(Effect { read: None, write: Some((*value, *mode)), fault: None })
            }
            Action::Update { change, read: r, write: w, .. } => {
                match change.apply(value, program.domain, &mut Notes::default()) {
                    Ok(written) => both(*r, written, *w),
                    Err(fault) => Some(Effect { read: Some(*r), write: None, fault: Some(fault) }),
                }
            }
            Action::Cas { expected, desired, read: r, write: w, fail, .. } => {
                if value == *expected { both(*r, *desired, *w) } else { read(*fail) }
            }
            Action::BlockingCas { expected, desired, read: r, write: w, .. } => {
                if value == *expected { both(*r, *desired, *w) } else { None }
            }
            Action::Wait { values, mode, .. } => {
                if values.contains(&value) {
                    read(*mode)
                } else {
                    None
                }
            }
            _ => None,
        }
    }
}

/// Told where a result did not fit and wrapped around.
pub(super) type Noting<'a> = &'a mut dyn FnMut(Pc);

/// Notes where results wrap around, and stops a thread that comes back to the head of a loop which only
/// reads.
struct Passing<'a> {
    polling: &'a Polling,
    wraps: Noting<'a>,
    /// Where the last step was taken from.
    last: Pc,
}

impl Watch for Passing<'_> {
    #[inline(always)]
    fn took(&mut self, from: Pc, to: Pc, notes: Notes) -> bool {
        if notes.wrapped {
            (self.wraps)(from);
        }
        self.last = from;
        !self.polling.is_back(from, to)
    }
}

/// What a running thread that is at no choice wants to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Want {
    Access(Action),
    Mark(Label),
}

impl Local {
    /// The thread before its first step that matters.
    pub(super) fn start(program: &Program, tid: Tid) -> Self {
        Local::start_noting(program, tid, &mut |_| {})
    }

    /// The same; says where results wrap around.
    pub(super) fn start_noting(program: &Program, tid: Tid, wraps: Noting) -> Self {
        let thread = &program.threads[tid.index()];
        let registers = SmallVec::from_elem(0, thread.registers.len());
        let mut local = Local { pc: thread.entry, registers, status: Status::Running };
        local.run_noting(program, tid, &Polling::default(), wraps);
        local
    }

    /// Runs on to the next access, marker or choice.
    pub(super) fn run_local(&mut self, program: &Program, tid: Tid, polling: &Polling) {
        self.run_noting(program, tid, polling, &mut |_| {});
    }

    /// The same; says where results wrap around.
    pub(super) fn run_noting(
        &mut self,
        program: &Program,
        tid: Tid,
        polling: &Polling,
        wraps: Noting,
    ) {
        if self.status != Status::Running {
            return;
        }
        let thread = &program.threads[tid.index()];
        let mut watch = Passing { polling, wraps, last: self.pc };
        let rest = run_local(thread, program.domain, &mut self.pc, &mut self.registers, &mut watch);
        self.status = match rest {
            Rest::Access | Rest::Choice(_) | Rest::Call(_) => Status::Running,
            Rest::Stop(Stop::Done) => Status::Halted,
            Rest::Stop(Stop::Assumption) => Status::Ended,
            Rest::Stop(Stop::Assertion) => Status::Failed,
            Rest::Stop(Stop::Fault(fault)) => Status::Faulted(fault),
            Rest::Stop(Stop::Forever) => Status::Spinning,
            Rest::Stop(Stop::Patience) => Status::Lost,
            Rest::Stop(Stop::Watched) => {
                self.pc = watch.last;
                Status::Fruitless
            }
        };
    }

    /// The states in which it has made its choices, each at an access or marker or stuck. A thread
    /// rests before a choice, not behind it: that is one state instead of several.
    pub(super) fn resolved(
        &self,
        program: &Program,
        tid: Tid,
        polling: &Polling,
    ) -> SmallVec<[Local; 4]> {
        self.resolved_noting(program, tid, polling, &mut |_| {})
    }

    /// The same; says where results wrap around.
    pub(super) fn resolved_noting(
        &self,
        program: &Program,
        tid: Tid,
        polling: &Polling,
        wraps: Noting,
    ) -> SmallVec<[Local; 4]> {
        self.chosen(program, tid, polling, &|_, _| false, wraps)
    }

    /// The states in which it has made its choices but those that it `puts_off`.
    pub(super) fn chosen(
        &self,
        program: &Program,
        tid: Tid,
        polling: &Polling,
        puts_off: &dyn Fn(Pc, &[Pc]) -> bool,
        wraps: Noting,
    ) -> SmallVec<[Local; 4]> {
        let mut done: SmallVec<[Local; 4]> = SmallVec::new();
        let mut open: SmallVec<[Local; 4]> = SmallVec::from_elem(self.clone(), 1);
        let mut met: Vec<Local> = Vec::new();
        while let Some(local) = open.pop() {
            let choice = match &program.step(tid, local.pc).instr {
                Instr::Jump { targets, .. }
                    if local.status == Status::Running && !puts_off(local.pc, targets) =>
                {
                    targets
                }
                _ => {
                    done.push(local);
                    continue;
                }
            };
            // A choice may lead back to itself without an access in between.
            if met.contains(&local) {
                continue;
            }
            met.push(local.clone());
            for &pc in choice.iter().rev() {
                let mut next = local.clone();
                next.pc = pc;
                next.run_noting(program, tid, polling, wraps);
                if next.status == Status::Fruitless || polling.is_back(local.pc, pc) {
                    continue;
                }
                open.push(next);
            }
        }
        done
    }

    /// What it wants to do, if it is running and has made its choices.
    pub(super) fn want(&self, program: &Program, tid: Tid) -> Result<Want, Fault> {
        self.want_noting(program, tid, &mut Notes::default())
    }

    /// The same; says whether a result wraps around.
    pub(super) fn want_noting(
        &self,
        program: &Program,
        tid: Tid,
        notes: &mut Notes,
    ) -> Result<Want, Fault> {
        match &program.step(tid, self.pc).instr {
            Instr::Mark(mark) => {
                let values = mark.expressions().iter();
                let values: SmallVec<[Value; 2]> = values
                    .map(|e| e.eval(&self.registers, program.domain, notes))
                    .collect::<Result<_, _>>()?;
                Ok(Want::Mark(match mark {
                    Mark::Call { method, .. } => {
                        Label::Call { tid, method: *method, arguments: values }
                    }
                    Mark::Return { .. } => Label::Return { tid, value: values.first().copied() },
                }))
            }
            instr => next_action(instr, &self.registers, program.domain, notes).map(Want::Access),
        }
    }

    /// Goes on after the access or marker at hand, without settling.
    pub(super) fn pass(
        &mut self,
        program: &Program,
        tid: Tid,
        read: Option<Value>,
        polling: &Polling,
    ) {
        let step = program.step(tid, self.pc);
        if let (Some(dst), Some(value)) = (destination(&step.instr), read) {
            self.registers[dst.index()] = value;
        }
        if polling.is_back(self.pc, step.next) {
            self.status = Status::Fruitless;
        }
        self.pc = step.next;
    }
}
