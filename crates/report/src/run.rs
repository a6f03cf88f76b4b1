//! A run under sequential consistency, step by step in source terms.
//!
//! A witness has the steps with all values read, written and assigned; here they get names and lines.

use crate::place::Place;
use crate::shown::Shown;
use check::remedy::{self, Readable};
use check::replay::RunStep;
use graph::ExecutionGraph;
use ir::thread::Action;
use ir::{Condition, Instr, Mark, Observed, Pc, Program, Reg, Tid, UpdateOp, Value};
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
    /// What it does in the user's words, where values would not tell: `starts thread 1`; empty if nothing that a reader
    /// wants to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// The location accessed.
    pub location: Option<String>,
    /// The value read from it.
    pub read: Option<Shown>,
    /// The value written to it.
    pub written: Option<Shown>,
    /// The locals that get new values.
    pub assigned: Vec<Assigned>,
    /// The events of the certificate that it is.
    pub events: Vec<usize>,
    /// In a run of the weak memory: how many newer writes to the location it missed, or was placed before.
    #[serde(skip_serializing_if = "is_none")]
    pub newer: usize,
    /// Old values that threads could still read after it; null if they are the same as before.
    pub stale: Option<Vec<Stale>>,
}

fn is_none(newer: &usize) -> bool {
    *newer == 0
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
    pub value: Shown,
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StaleValue {
    /// The value.
    pub value: Shown,
    /// The line that wrote it; none for an initial value.
    pub line: Option<usize>,
}

/// A local and its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Assigned {
    /// Its name.
    pub local: String,
    /// Its value.
    pub value: Shown,
}

impl Step {
    /// Is it worth showing to a reader who wants to follow the shared memory?
    pub fn is_shown(&self) -> bool {
        !matches!(self.action, "assign" | "jump" | "skip" | "assume" | "halt")
            && self.effect.as_deref() != Some("")
    }
}

/// What a statement is called in reports.
pub fn action_name(instr: &Instr) -> &'static str {
    match instr {
        Instr::Assign { .. } => "assign",
        Instr::Jump { .. } | Instr::Switch { .. } => "jump",
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

/// The state in which every run of `program` starts.
pub(crate) fn start(source: &Source, program: &Program) -> Start {
    let held = |location: &ir::Location| Held {
        location: location.display_name(),
        value: Shown::of(source, location.initial),
    };
    let beginner = |thread: &ir::Thread| {
        let locals = thread.registers.iter();
        Beginner {
            thread: thread.display_name(),
            locals: locals.map(|name| Assigned { local: name.clone(), value: 0.into() }).collect(),
        }
    };
    Start {
        memory: program.locations.iter().map(held).collect(),
        threads: program.threads.iter().map(beginner).collect(),
    }
}

/// A step of a run of `program`, whose text is `source`.
pub(crate) fn step(source: &Source, program: &Program, step: &RunStep) -> Step {
    let RunStep { tid, pc, ref action, read, written, assigned } = *step;
    let thread = &program.threads[tid.index()];
    let shown = |value: Option<Value>| value.map(|value| Shown::of(source, value));
    let assigned = assigned.map(|(register, value)| Assigned {
        local: thread.registers[register.index()].clone(),
        value: Shown::of(source, value),
    });
    Step {
        thread: thread.display_name(),
        tid,
        place: Place::of_step(source, program, tid, pc),
        action: action_name(&program.step(tid, pc).instr),
        effect: source.effects.get(&program.step(tid, pc).origin).cloned(),
        location: action.loc().map(|loc| program.locations[loc.index()].display_name()),
        read: shown(read.filter(|_| !matches!(action, Action::Write { .. }))),
        written: shown(written),
        assigned: assigned.into_iter().collect(),
        events: Vec::new(),
        newer: 0,
        stale: None,
    }
}

/// The locals of a thread that the instruction at its end looks at, after `run`.
pub(crate) fn locals_used(
    source: &Source,
    program: &Program,
    run: &[RunStep],
    (tid, pc): (Tid, Pc),
) -> Vec<Assigned> {
    let used = program.step(tid, pc).instr.inputs();
    let value = |register: Reg| {
        let own = run.iter().rev().filter(|step| step.tid == tid);
        own.filter_map(|step| step.assigned).find(|(r, _)| *r == register).map_or(0, |(_, v)| v)
    };
    let names = program.threads[tid.index()].registers.iter().zip((0..).map(Reg));
    names
        .filter(|(_, register)| used.contains(*register))
        .filter(|(_, register)| !source.hidden.contains(&(tid, *register)))
        .map(|(name, register)| Assigned {
            local: name.clone(),
            value: Shown::of(source, value(register)),
        })
        .collect()
}

/// What a final condition is about, with the values after `run`.
pub(crate) fn observed_values(
    source: &Source,
    program: &Program,
    run: &[RunStep],
    condition: &Condition,
) -> Vec<Assigned> {
    let value = |&what: &Observed| Assigned {
        local: ir::print::observed(program, what),
        value: Shown::of(source, check::condition::last_value(program, run, what)),
    };
    condition.observed.iter().map(value).collect()
}

/// What each thread could still read instead of the latest value, when this is what happened; `None`
/// if too much happened to work it out quickly, or with what is left of `effort`.
pub(crate) fn stale_values(
    source: &Source,
    program: &Program,
    graph: &ExecutionGraph,
    effort: &mut usize,
) -> Option<Vec<Stale>> {
    let line = |(tid, pc): (Tid, Pc)| Place::of_step(source, program, tid, pc).line;
    let stale = |old: Readable| Stale {
        thread: program.threads[old.tid.index()].display_name(),
        location: program.locations[old.loc.index()].display_name(),
        values: old
            .values
            .into_iter()
            .map(|(value, step)| StaleValue {
                value: Shown::of(source, value),
                line: step.map(line),
            })
            .collect(),
        forbidden: old.forbidden,
    };
    Some(remedy::stale_values(program, graph, effort)?.into_iter().map(stale).collect())
}
