//! A thread's code under construction: steps whose targets are nodes that have no steps yet.

use crate::automaton::NodeId;
use ir::{Expr, Instr, Origin, Pc, Step, Value};
use std::collections::HashMap;

/// Steps of a thread under construction.
pub(super) struct Code {
    pub(super) steps: Vec<Step>,
    pub(super) starts: HashMap<NodeId, Pc>,
    /// Steps that lead to a node: as a jump's target if they are jumps, else as what comes next.
    pub(super) holes: Vec<(usize, NodeId)>,
    /// The cases of switches, and the nodes that they lead to.
    pub(super) cases: Vec<(usize, Value, NodeId)>,
}

impl Code {
    pub(super) fn new() -> Self {
        Code { steps: Vec::new(), starts: HashMap::new(), holes: Vec::new(), cases: Vec::new() }
    }

    /// Steps one after the other.
    pub(super) fn extend(&mut self, instrs: impl IntoIterator<Item = Instr>, origin: Origin) {
        for instr in instrs {
            self.push(instr, origin);
        }
    }

    /// A step that is followed by the one pushed next.
    pub(super) fn push(&mut self, instr: Instr, origin: Origin) -> usize {
        let pc = self.steps.len();
        self.steps.push(Step { instr, next: Pc::from(pc + 1), origin });
        pc
    }

    /// A step that leads to a node, or nowhere.
    pub(super) fn push_to(&mut self, instr: Instr, origin: Origin, to: Option<NodeId>) {
        let pc = self.push(instr, origin);
        match to {
            Some(to) => self.holes.push((pc, to)),
            None => self.halt(Instr::Halt, origin),
        }
    }

    /// One of several steps, each with what it leads to. Where there is none, the thread waits.
    pub(super) fn alternatives(&mut self, steps: Vec<(Instr, Option<NodeId>)>, origin: Origin) {
        if steps.is_empty() {
            return self.halt(Instr::Assume(Expr::Const(0)), origin);
        }
        let choice = self.push(Instr::Jump { cond: Expr::Const(1), targets: Vec::new() }, origin);
        self.halt(Instr::Halt, origin);
        let mut all = Vec::new();
        for (step, to) in steps {
            all.push(Pc::from(self.steps.len()));
            self.push_to(step, origin, to);
        }
        if let Instr::Jump { targets, .. } = &mut self.steps[choice].instr {
            *targets = all;
        }
    }

    pub(super) fn halt(&mut self, instr: Instr, origin: Origin) {
        let pc = self.steps.len();
        self.steps.push(Step { instr, next: Pc::from(pc), origin });
    }
}
