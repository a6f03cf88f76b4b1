//! Breadth-first search through the states of machine and summary.
//!
//! States are of different lengths, so this is not the engine of the crate `search`: a visited set of
//! encoded states, and for each state the step that led there. If a thread's next step is one that
//! nobody else notices, only that thread moves, provided this leads to something new; otherwise all
//! do (a persistent set; why the proviso is enough is said at [`search::Sink::state`]).

use super::machine::{Happening, Memory, Node, Product, Stepped};
use super::{Action, Question};
use crate::answer::Cost;
use crate::robustness::store_atomic::Faulty;
use ::ir::{Fault, Pc, Tid};
use ::memory::store_buffer::Move;
use ::search::{Limit, Limits};
use std::collections::{HashSet, VecDeque};

/// What a search found.
pub struct Found {
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
    /// Steps from the start.
    pub depth: u64,
}

/// Bytes of a visited state beside its encoding: an entry of the set, of the allocator, and its origin.
const OVERHEAD: usize = 80;

/// Looks for an execution that violates `question`.
pub fn explore(
    product: &Product<'_>,
    question: Question,
    memory: Memory,
    limits: &Limits,
) -> Found {
    let mut search = Search {
        product,
        memory,
        visited: HashSet::new(),
        origins: Vec::new(),
        queue: VecDeque::new(),
        found: Found {
            violation: None,
            limit: None,
            fault: None,
            overflowed: false,
            cost: Cost { searches: 1, ..Cost::default() },
            depth: 0,
        },
        code: Vec::new(),
        happened: Vec::new(),
    };
    search.run(question, limits);
    search.found.cost.states = search.visited.len() as u64;
    search.found.cost.depth = search.found.depth;
    search.found
}

struct Search<'s, 'a> {
    product: &'s Product<'a>,
    memory: Memory,
    visited: HashSet<Box<[u8]>>,
    /// For each state the number of the one it was found from, and the step.
    origins: Vec<(u32, Move)>,
    queue: VecDeque<Waiting>,
    found: Found,
    code: Vec<u8>,
    happened: Vec<Happening>,
}

struct Waiting {
    node: Node,
    number: u32,
    depth: u64,
}

impl Search<'_, '_> {
    fn run(&mut self, question: Question, limits: &Limits) {
        let mut ticker = limits.budget.ticker();
        let node = self.product.start(question);
        self.insert(node, 0, Move::Commit(Tid(0)), 0);
        let mut moves = Vec::new();
        while let Some(Waiting { node, number, depth }) = self.queue.pop_front() {
            self.found.depth = depth;
            let states = self.visited.len() as u64;
            let bytes = self.found.cost.peak_bytes;
            let reached = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
            self.found.limit = [
                (Limit::States, reached(limits.states, states)),
                (Limit::Memory, reached(limits.budget.memory(), bytes)),
                (Limit::Depth, reached(limits.depth, depth)),
            ]
            .into_iter()
            .find_map(|(limit, reached)| reached.then_some(limit))
            .or(ticker.tick().map(Limit::from));
            if self.found.limit.is_some() {
                return;
            }
            let private = self.product.tids().find(|&tid| self.product.is_private(&node, tid));
            if let Some(tid) = private {
                moves.clear();
                self.product.moves_of(&node, tid, &mut moves);
                moves.retain(|step| matches!(step, Move::Step(..)));
                let new = self.expand(&node, number, depth, &moves);
                if self.found.violation.is_some() {
                    return;
                }
                if new {
                    continue;
                }
            }
            moves.clear();
            self.product.tids().for_each(|tid| self.product.moves_of(&node, tid, &mut moves));
            self.expand(&node, number, depth, &moves);
            if self.found.violation.is_some() {
                return;
            }
        }
    }

    /// Makes each of the steps; says whether some led to a new state.
    fn expand(&mut self, node: &Node, number: u32, depth: u64, moves: &[Move]) -> bool {
        let mut new = false;
        for &step in moves {
            let mut next = node.clone();
            self.happened.clear();
            match self.product.step(&mut next, step, self.memory, &mut self.happened) {
                Ok(Stepped::Done) => new |= self.insert(next, number, step, depth + 1),
                Ok(Stepped::Blocked) => {}
                Ok(Stepped::Overflow) => self.found.overflowed = true,
                Ok(Stepped::Cycle) => {
                    self.found.violation = Some(self.execution(number, step));
                    return new;
                }
                Err(fault) => self.note_fault(step, fault),
            }
        }
        new
    }

    fn insert(&mut self, mut node: Node, from: u32, step: Move, depth: u64) -> bool {
        self.found.cost.transitions += 1;
        let mut code = std::mem::take(&mut self.code);
        self.product.encode(&mut node, &mut code);
        let new = !self.visited.contains(&code[..]);
        if new {
            self.found.cost.peak_bytes += (code.len() + OVERHEAD) as u64;
            self.visited.insert(code.as_slice().into());
            let number = self.origins.len() as u32;
            self.origins.push((from, step));
            self.queue.push_back(Waiting { node, number, depth });
        }
        self.code = code;
        new
    }

    fn note_fault(&mut self, step: Move, (pc, fault): (Pc, Fault)) {
        let (Move::Step(tid, _) | Move::Advance(tid, _) | Move::Commit(tid)) = step;
        self.found.fault.get_or_insert(Faulty { tid, pc, fault });
    }

    /// The execution along the steps that lead to a state, and one step more.
    fn execution(&self, mut number: u32, last: Move) -> Vec<Happening> {
        let mut steps = vec![last];
        while number != 0 {
            let (from, step) = self.origins[number as usize];
            steps.push(step);
            number = from;
        }
        let mut node = self.product.start(Question::TsoSerializable);
        let mut happened = Vec::new();
        for &step in steps.iter().rev() {
            let _ = self.product.step(&mut node, step, self.memory, &mut happened);
        }
        complete(&mut happened, node.state.threads.len());
        happened
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
        }
    }
    let open = open.into_iter().flatten();
    execution.extend(open.map(|begin| Happening { action: Action::End, ..begin }));
}
