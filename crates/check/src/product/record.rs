//! Moves of threads, with all the steps they consist of.
//!
//! A search wants to know where a thread comes to rest and forgets how it came there. Whoever wants the steps as well follows
//! the thread with a [`Recorder`]: the search for the states it starts from, where every thread runs to its first rest
//! ([`beginnings`]), and [`crate::replay`], which looks for the move that leads to the next state of a path ([`moves`]).

use super::{Finding, Follow, Product, Scratch, World};
use ir::thread::Action;
use ir::{Pc, Reg, Tid, Value};
use memory::Monitor;

/// One step of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunStep {
    /// The thread that moves.
    pub tid: Tid,
    /// Its program counter before the step.
    pub pc: Pc,
    /// The action that it takes.
    pub action: Action,
    /// The value read, if it reads.
    pub read: Option<Value>,
    /// The value written, if it writes.
    pub written: Option<Value>,
    /// The register that gets a new value, and the value.
    pub assigned: Option<(Reg, Value)>,
}

/// A way for a thread to move from one resting state to the next.
pub(crate) struct Move<M: Monitor> {
    pub world: World<M::State>,
    /// Its representative, with which diagrams compare.
    #[cfg(test)]
    pub packed: Vec<u8>,
    pub steps: Vec<RunStep>,
}

/// A finding, and the steps that led to it.
pub(crate) struct Noted<V> {
    pub finding: Finding<V>,
    pub steps: Vec<RunStep>,
}

/// Follows a thread and keeps all the ways it went and all that was found on any of them.
struct Recorder<M: Monitor> {
    tid: Tid,
    moves: Vec<Move<M>>,
    findings: Vec<Noted<M::Violation>>,
    steps: Vec<RunStep>,
    /// What led to each alternative not yet followed.
    forks: Vec<Vec<RunStep>>,
}

impl<M: Monitor> Recorder<M> {
    fn new(tid: Tid, steps: Vec<RunStep>) -> Self {
        Recorder { tid, moves: Vec::new(), findings: Vec::new(), steps, forks: Vec::new() }
    }
}

impl<M: Monitor> Follow<M> for Recorder<M> {
    fn took(&mut self, tid: Tid, pc: Pc, action: &Action, read: Option<Value>) {
        self.steps.push(RunStep {
            tid,
            pc,
            action: action.clone(),
            read,
            written: None,
            assigned: None,
        });
    }

    fn forked(&mut self, alternatives: usize) {
        for _ in 0..alternatives {
            self.forks.push(self.steps.clone());
        }
    }

    fn rests(&mut self, product: &Product<M>, scratch: &mut Scratch<M::State>) {
        let steps = std::mem::replace(&mut self.steps, self.forks.pop().unwrap_or_default());
        let Ok(_packed) = product.packed(scratch) else {
            // Not even the state in which all begin may fit: nothing that is left out goes unsaid.
            let (tid, pc) = (self.tid, scratch.next.pcs[self.tid.index()]);
            self.findings.push(Noted { finding: Finding::Unclear { tid, pc }, steps });
            return;
        };
        self.moves.push(Move {
            #[cfg(test)]
            packed: _packed.to_vec(),
            world: scratch.next.clone(),
            steps,
        });
    }

    fn dropped(&mut self) {
        self.steps = self.forks.pop().unwrap_or_default();
    }

    fn finding(&mut self, finding: Finding<M::Violation>) {
        self.findings.push(Noted { finding, steps: self.steps.clone() });
    }
}

/// The states in which all threads have come to rest for the first time, and what was found on the
/// way there.
pub(crate) fn beginnings<M: Monitor>(
    product: &Product<M>,
    scratch: &mut Scratch<M::State>,
) -> (Vec<Move<M>>, Vec<Noted<M::Violation>>) {
    let mut begun = vec![Move {
        world: product.initial_world(),
        #[cfg(test)]
        packed: Vec::new(),
        steps: Vec::new(),
    }];
    let mut findings = Vec::new();
    for tid in product.program.tids() {
        let mut further = Vec::new();
        for before in begun {
            let mut recorder = Recorder::new(tid, before.steps);
            product.run_from(scratch, &before.world, tid, &mut recorder);
            further.append(&mut recorder.moves);
            findings.append(&mut recorder.findings);
        }
        begun = further;
    }
    (begun, findings)
}

/// All moves of all threads from `world`, and all that is found on the way.
#[allow(clippy::type_complexity)]
pub(crate) fn moves<M: Monitor>(
    product: &Product<M>,
    scratch: &mut Scratch<M::State>,
    world: &World<M::State>,
) -> (Vec<Move<M>>, Vec<Noted<M::Violation>>) {
    let (mut all, mut findings) = (Vec::new(), Vec::new());
    for tid in product.program.tids() {
        let mut recorder = Recorder::new(tid, Vec::new());
        product.fire_from(scratch, world, tid, &mut recorder);
        all.append(&mut recorder.moves);
        findings.append(&mut recorder.findings);
    }
    (all, findings)
}
