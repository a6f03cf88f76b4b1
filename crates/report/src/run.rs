//! A run under sequential consistency, step by step in source terms.
//!
//! The analyses say who moved where and what was read. The values written and assigned follow by
//! doing it again, which is what [`Replay`] is for.

use crate::place::Place;
use check::replay::RunStep;
use graph::ExecutionGraph;
use graph::monitor::Awareness;
use ir::thread::Action;
use ir::{Instr, Loc, Mark, Notes, Program, Reg, Tid, UpdateOp, Value};
use lang::Source;
use serde::Serialize;

/// One step of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Step {
    /// The thread that moves.
    pub thread: String,
    /// Its number.
    #[serde(skip)]
    pub tid: Tid,
    /// The statement.
    #[serde(flatten)]
    pub place: Place,
    /// What kind of statement it is: `load`, `store`, `fadd`, `fence`, `jump` and so on.
    pub action: &'static str,
    /// The location accessed.
    pub location: Option<String>,
    /// The value read from it.
    pub read: Option<Value>,
    /// The value written to it.
    pub written: Option<Value>,
    /// The locals that get new values.
    pub assigned: Vec<Assigned>,
    /// The events of the certificate that it is.
    pub events: Vec<usize>,
    /// Old values that threads could still read after it; null if they are the same as before.
    pub stale: Option<Vec<Stale>>,
}

/// The state in which a run starts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Start {
    /// The locations.
    pub memory: Vec<Held>,
    /// The threads.
    pub threads: Vec<Beginner>,
}

/// A location and its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Held {
    /// The location.
    pub location: String,
    /// Its value.
    pub value: Value,
}

/// A thread at its start.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Beginner {
    /// The thread.
    pub thread: String,
    /// Its locals.
    pub locals: Vec<Assigned>,
}

/// Old values of a location that the memory model still lets a thread read: what the monitor knows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Stale {
    /// The thread.
    pub thread: String,
    /// The location.
    pub location: String,
    /// The values, the oldest first.
    pub values: Vec<StaleValue>,
    /// Under sequential consistency, must the thread come after the latest write by now? Then reading
    /// one of these is what no interleaving explains.
    pub forbidden: bool,
}

/// A value that was overwritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct StaleValue {
    /// The value.
    pub value: Value,
    /// The line that wrote it; none for an initial value.
    pub line: Option<usize>,
}

/// A local and its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Assigned {
    /// Its name.
    pub local: String,
    /// Its value.
    pub value: Value,
}

impl Step {
    /// Is it worth showing to a reader who wants to follow the shared memory?
    pub fn is_shown(&self) -> bool {
        !matches!(self.action, "assign" | "jump" | "skip" | "assume" | "halt")
    }
}

/// What a statement is called in reports.
pub fn action_name(instr: &Instr) -> &'static str {
    match instr {
        Instr::Assign { .. } => "assign",
        Instr::Jump { .. } => "jump",
        Instr::Skip => "skip",
        Instr::Assert(_) => "assert",
        Instr::Assume(_) => "assume",
        Instr::Load { .. } => "load",
        Instr::Store { .. } => "store",
        Instr::Rmw { update, .. } => match update.op {
            UpdateOp::Add | UpdateOp::Sub => "fadd",
            op => op.keyword(),
        },
        Instr::Cas { .. } => "cas",
        Instr::BlockingCas { .. } => "bcas",
        Instr::Wait { .. } => "wait",
        Instr::Fence(_) | Instr::LightFence(_) => "fence",
        Instr::BusLock => "bus-lock",
        Instr::BusUnlock => "bus-unlock",
        Instr::Begin => "begin",
        Instr::End => "end",
        Instr::Mark(Mark::Call { .. }) => "call",
        Instr::Mark(Mark::Return { .. }) => "return",
        Instr::Halt => "halt",
    }
}

/// The program's state as a run goes on.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    source: &'a Source,
    program: &'a Program,
    /// The values of all locations.
    pub memory: Vec<Value>,
    /// The locals of all threads.
    pub locals: Vec<Vec<Value>>,
}

impl<'a> Replay<'a> {
    /// The start of a run of `program`, whose text is `source`.
    pub fn new(source: &'a Source, program: &'a Program) -> Self {
        Replay {
            source,
            program,
            memory: program.locations.iter().map(|location| location.initial).collect(),
            locals: program.threads.iter().map(|t| vec![0; t.registers.len()]).collect(),
        }
    }

    /// Takes a step.
    pub fn step(&mut self, step: &RunStep) -> Step {
        let (program, tid) = (self.program, step.tid);
        let instr = &program.step(tid, step.pc).instr;
        let written = written(&step.action, step.read, program);
        if let (Some(loc), Some(value)) = (step.action.loc(), written) {
            self.memory[loc.index()] = value;
        }
        let new = match instr {
            Instr::Assign { value, .. } => {
                value.eval(&self.locals[tid.index()], program.domain, &mut Notes::default()).ok()
            }
            _ => step.read,
        };
        let assigned = instr.output().zip(new).map(|(reg, value)| self.assign(tid, reg, value));
        Step {
            thread: program.threads[tid.index()].display_name(),
            tid,
            place: Place::of_step(self.source, program, tid, step.pc),
            action: action_name(instr),
            location: step.action.loc().map(|loc| program.locations[loc.index()].display_name()),
            read: step.read.filter(|_| !matches!(step.action, Action::Write { .. })),
            written,
            assigned: assigned.into_iter().collect(),
            events: Vec::new(),
            stale: None,
        }
    }

    /// The state at hand as the start of a run.
    pub fn start(&self) -> Start {
        let locations = self.program.locations.iter().zip(&self.memory);
        Start {
            memory: locations
                .map(|(location, value)| Held { location: location.display_name(), value: *value })
                .collect(),
            threads: self
                .program
                .tids()
                .map(|tid| Beginner {
                    thread: self.program.threads[tid.index()].display_name(),
                    locals: self.named_locals(tid),
                })
                .collect(),
        }
    }

    /// The locals of a thread, by name.
    pub fn named_locals(&self, tid: Tid) -> Vec<Assigned> {
        let names = self.program.threads[tid.index()].registers.iter();
        let pairs = names.zip(&self.locals[tid.index()]);
        pairs.map(|(name, value)| Assigned { local: name.clone(), value: *value }).collect()
    }

    fn assign(&mut self, tid: Tid, reg: Reg, value: Value) -> Assigned {
        self.locals[tid.index()][reg.index()] = value;
        let local = self.program.threads[tid.index()].registers[reg.index()].clone();
        Assigned { local, value }
    }
}

/// The most events for which it is worked out who could still read what.
const KNOWLEDGE: usize = 250;

/// What each thread could still read instead of the latest value, when this is what happened; `None`
/// if too much happened to work it out quickly.
pub fn stale_values(
    source: &Source,
    program: &Program,
    graph: &ExecutionGraph,
) -> Option<Vec<Stale>> {
    if graph.len() > KNOWLEDGE {
        return None;
    }
    let awareness = Awareness::new(graph, &[]);
    let mut all = Vec::new();
    for tid in program.tids() {
        for (index, location) in program.locations.iter().enumerate() {
            let loc = Loc::from(index);
            let latest = graph.latest(loc);
            let old = awareness.readable(graph, tid, loc).into_iter().filter(|w| *w != latest);
            let value = |write| {
                let event = graph.event(write);
                let line = event.step.map(|(tid, pc)| {
                    source.line_column(source.span(program.step(tid, pc).origin).start).0
                });
                Some(StaleValue { value: event.label.value_written()?, line })
            };
            let values: Vec<StaleValue> = old.filter_map(value).collect();
            if !values.is_empty() {
                all.push(Stale {
                    thread: program.threads[tid.index()].display_name(),
                    location: location.display_name(),
                    values,
                    forbidden: awareness.must_follow(tid, latest),
                });
            }
        }
    }
    Some(all)
}

/// What an action writes when it reads `read`.
fn written(action: &Action, read: Option<Value>, program: &Program) -> Option<Value> {
    match action {
        Action::Write { value, .. } => Some(*value),
        Action::Update { change, .. } => {
            change.apply(read?, program.domain, &mut Notes::default()).ok()
        }
        Action::Cas { expected, desired, .. } | Action::BlockingCas { expected, desired, .. } => {
            (read == Some(*expected)).then_some(*desired)
        }
        _ => None,
    }
}
