//! Machine and summary as a system that `search` explores, breadth first.
//!
//! If a thread's next step is one that no other thread notices, this thread alone is the reduced part of an
//! expansion (a persistent set).

use super::machine::{Happening, Memory, Node, Product, Stepped};
use super::{Action, Question};
use crate::answer::Cost;
use crate::robustness::store_atomic::Faulty;
use ::ir::{Fault, Pc, Tid};
use ::memory::store_buffer::Move;
use ::search::{Limit, Model, Sink, Stop, Width};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a search found.
pub(super) struct Found {
    /// An execution with a cycle, a shortest one.
    pub violation: Option<Vec<Happening>>,
    /// The limit that stopped the search.
    pub limit: Option<Limit>,
    /// A run-time error of the program.
    pub fault: Option<Faulty>,
    /// Was something left out because a buffer was full?
    pub overflowed: bool,
    /// What it cost.
    pub cost: Cost,
}

/// Looks for an execution that violates `question`.
pub(super) fn explore(
    product: &Arc<Product>,
    question: Question,
    memory: Memory,
    asked: &crate::Question,
) -> Found {
    let system = Arc::new(System { product: Arc::clone(product), question, memory });
    let report = asked.explore(&system, &asked.options(Stop::AtFirst), &|_| {});
    let mut cost = Cost::default();
    cost.add(&report.progress);
    // The last level explored is the one before the last level reached.
    cost.depth = cost.depth.saturating_sub(1);
    let limit = report.limit;
    let mut found = Found { violation: None, limit, fault: None, overflowed: false, cost };
    for ::search::Found { finding, path } in report.findings {
        match finding {
            Discovery::Overflow => found.overflowed = true,
            Discovery::Fault { tid, pc, fault } => {
                found.fault.get_or_insert(Faulty { tid, pc, fault });
            }
            Discovery::Cycle => {
                let violation = || system.execution(&path);
                found.violation = found.violation.or_else(violation);
            }
        }
    }
    found
}

/// What is looked for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Discovery {
    /// A step closes a cycle.
    Cycle,
    /// A step has a run-time error.
    Fault { tid: Tid, pc: Pc, fault: Fault },
    /// A step needs more room in a buffer than there is.
    Overflow,
}

/// All executions of a program, up to what matters of them for a question.
struct System {
    product: Arc<Product>,
    question: Question,
    memory: Memory,
}

/// One worker's working memory.
struct Scratch {
    /// The state being expanded, and what it was decoded from.
    node: Node,
    encoded: Vec<u8>,
    moves: Vec<Move>,
    happened: Vec<Happening>,
    bytes: Vec<u8>,
}

impl Model for System {
    type Scratch = Scratch;
    type Finding = Discovery;

    fn width(&self) -> Width {
        Width::Varying
    }

    fn scratch(&self) -> Scratch {
        Scratch {
            node: self.product.start(self.question),
            encoded: Vec::new(),
            moves: Vec::new(),
            happened: Vec::new(),
            bytes: Vec::new(),
        }
    }

    fn initial<S: Sink<Discovery>>(&self, scratch: &mut Scratch, sink: &mut S) {
        self.product.encode(&mut self.product.start(self.question), &mut scratch.bytes);
        sink.state(&scratch.bytes);
    }

    fn expand_reduced<S: Sink<Discovery>>(
        &self,
        state: &[u8],
        scratch: &mut Scratch,
        sink: &mut S,
    ) {
        self.look_at(state, scratch);
        self.private_moves(&scratch.node, &mut scratch.moves);
        self.step_all(scratch, sink);
    }

    fn expand<S: Sink<Discovery>>(&self, state: &[u8], scratch: &mut Scratch, sink: &mut S) {
        self.look_at(state, scratch);
        self.moves(&scratch.node, &mut scratch.moves);
        self.step_all(scratch, sink);
    }

    fn stops(&self, finding: &Discovery) -> bool {
        *finding == Discovery::Cycle
    }
}

impl System {
    /// Makes `state` the one being expanded.
    fn look_at(&self, state: &[u8], scratch: &mut Scratch) {
        if scratch.encoded != state {
            scratch.node = self.product.decode(self.question, state);
            scratch.encoded.clear();
            scratch.encoded.extend_from_slice(state);
        }
    }

    /// The steps of a thread that only it can notice, if there is one.
    fn private_moves(&self, node: &Node, moves: &mut Vec<Move>) {
        moves.clear();
        let private = self.product.tids().find(|&tid| self.product.is_private(node, tid));
        if let Some(tid) = private {
            self.product.moves_of(node, tid, moves);
            moves.retain(|step| matches!(step, Move::Step(..)));
        }
    }

    /// All steps that may be possible.
    fn moves(&self, node: &Node, moves: &mut Vec<Move>) {
        moves.clear();
        self.product.tids().for_each(|tid| self.product.moves_of(node, tid, moves));
    }

    /// Makes each of the steps in `scratch.moves` from the state being expanded.
    fn step_all<S: Sink<Discovery>>(&self, scratch: &mut Scratch, sink: &mut S) {
        let Scratch { node, moves, happened, bytes, .. } = scratch;
        for &step in &*moves {
            let mut next = node.clone();
            happened.clear();
            match self.product.step(&mut next, step, self.memory, happened) {
                Ok(Stepped::Done) => {
                    self.product.encode(&mut next, bytes);
                    sink.state(bytes);
                }
                Ok(Stepped::Blocked) => {}
                Ok(Stepped::Overflow) => sink.finding(Discovery::Overflow),
                Ok(Stepped::Cycle) => sink.finding(Discovery::Cycle),
                Err((pc, fault)) => {
                    sink.finding(Discovery::Fault { tid: step.tid(), pc, fault });
                }
            }
        }
    }

    /// The execution along the states of a path, and one step more that closes a cycle.
    fn execution(&self, path: &[Box<[u8]>]) -> Option<Vec<Happening>> {
        let mut node = self.product.start(self.question);
        let mut happened = Vec::new();
        let (mut moves, mut bytes) = (Vec::new(), Vec::new());
        let targets = path.iter().skip(1).map(Some).chain([None]);
        for target in targets {
            self.private_moves(&node, &mut moves);
            let private = moves.clone();
            self.moves(&node, &mut moves);
            let before = happened.len();
            node = private.into_iter().chain(moves.drain(..)).find_map(|step| {
                happened.truncate(before);
                let mut next = node.clone();
                let stepped = self.product.step(&mut next, step, self.memory, &mut happened);
                let is_wanted = match target {
                    None => stepped == Ok(Stepped::Cycle),
                    Some(target) => {
                        stepped == Ok(Stepped::Done) && {
                            self.product.encode(&mut next, &mut bytes);
                            bytes[..] == target[..]
                        }
                    }
                };
                is_wanted.then_some(next)
            })?;
        }
        complete(&mut happened, node.state.threads.len());
        Some(happened)
    }
}

/// Gives each commit the place of its write, and ends the transactions that are open.
fn complete(execution: &mut Vec<Happening>, threads: usize) {
    let mut issued: Vec<VecDeque<Pc>> = vec![VecDeque::new(); threads];
    let mut open: Vec<Option<Happening>> = vec![None; threads];
    for happening in &mut *execution {
        let thread = happening.tid.index();
        match happening.action {
            Action::Write(_) => issued[thread].push_back(happening.pc),
            Action::Commit(_) => {
                happening.pc = issued[thread].pop_front().unwrap_or(happening.pc);
            }
            Action::Begin(_) => open[thread] = Some(*happening),
            Action::End => open[thread] = None,
            Action::Read(_) | Action::Fence => {}
            Action::Abort | Action::Rmw(_) | Action::Lock(_) | Action::Unlock(_) => {}
        }
    }
    let open = open.into_iter().flatten();
    execution.extend(open.map(|begin| Happening { action: Action::End, ..begin }));
}
