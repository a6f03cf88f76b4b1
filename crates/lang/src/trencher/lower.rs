//! Automata to a program.
//!
//! Each state becomes a node of the thread's code: its one transition, or a choice among its
//! transitions. A `check` is an assumption.
//!
//! Two things the text leaves open are found here. *How large is the memory?* Addresses are
//! computed, so a value analysis over a generous memory says which may occur; if it cannot bound
//! them, the memory ends a little above the largest constant. *Which values are there?* Numbers up
//! to twice the largest constant, and at least [`LEAST_BOUND`]; a program that leaves the range, or
//! the memory, when it is checked gets a message that says so, and no verdict that it might change.

use super::read::{Automaton, Command, Transition, Tree, Word};
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::lower::{Lowered, MAX_LOCATIONS, MAX_STEPS, MAX_THREADS, Unwritten};
use crate::source::Span;
use analysis::values::{PossibleValues, Values};
use ir::canonical;
use ir::{
    Domain, Edge, Expr, FenceMode, Instr, Loc, Location, LocationKind, Origin, Pc, Place, Program,
    ReadMode, Reg, RegSet, Step, Thread, Value, WriteMode,
};
use std::collections::HashMap;

/// Values reach at least this far on both sides of 0.
const LEAST_BOUND: i64 = 1023;
/// How far the memory goes beyond the largest constant when addresses cannot be bounded.
const SPARE_CELLS: i64 = 8;
/// A memory that is large enough for most programs.
const FEW_CELLS: u32 = 64;
/// Constants above this are data, not addresses, when addresses cannot be bounded.
const LARGEST_GUESS: i64 = 255;

pub(super) fn lower(automata: &[Automaton<'_>], sink: &mut Sink) -> Option<Lowered> {
    if automata.len() > MAX_THREADS {
        let message =
            format!("{} threads are too many: the limit is {MAX_THREADS}", automata.len());
        sink.push(
            Diagnostic::error(codes::LIMIT, message)
                .with_label(automata[MAX_THREADS].name.span, "here"),
        );
        return None;
    }
    let steps: usize = automata.iter().map(|a| 2 * a.transitions.len() + 1).sum();
    if steps > MAX_STEPS {
        sink.push(Diagnostic::error(codes::LIMIT, "the file has too many transitions"));
        return None;
    }
    let mut constants = vec![0];
    each_constant(automata, &mut |value, _| constants.push(i64::from(value)));
    let largest = constants.iter().map(|k| k.abs()).max().unwrap_or(0);
    let bound = (2 * largest).max(LEAST_BOUND).min(i32::MAX.into());
    let domain = Domain { min: -bound - 1, max: bound, edge: Edge::Fault };

    let mut spans = Vec::new();
    let mut threads = Vec::new();
    for automaton in automata {
        let thread = Builder::new(automaton, &mut spans).thread(sink)?;
        threads.push(canonical::thread(&thread, domain));
    }
    addresses(automata, sink);
    if sink.has_errors() {
        return None;
    }
    let mut program = Program::new(domain, vec![], threads);
    // Most programs use few cells, and analysing a small memory is much faster.
    let mut cells = FEW_CELLS;
    resize(&mut program, cells);
    let mut needed = cells_needed(&program, &constants);
    if needed > cells {
        cells = MAX_LOCATIONS as u32;
        resize(&mut program, cells);
        needed = cells_needed(&program, &constants);
    }
    resize(&mut program, needed.min(cells));
    Some(Lowered { program, spans, tracks: vec![], unwritten: Unwritten::default() })
}

fn each_constant(automata: &[Automaton<'_>], f: &mut impl FnMut(i32, Span)) {
    for transition in automata.iter().flat_map(|a| &a.transitions) {
        for tree in transition.command.trees() {
            tree.leaves(&mut |leaf| {
                if let Tree::Constant(value, span) = leaf {
                    f(*value, *span);
                }
            });
        }
    }
}

/// Complains about constant addresses that no memory has.
fn addresses(automata: &[Automaton<'_>], sink: &mut Sink) {
    for transition in automata.iter().flat_map(|a| &a.transitions) {
        let (Command::Read { address, .. } | Command::Write { address, .. }) = &transition.command
        else {
            continue;
        };
        if let Tree::Constant(value, span) = address
            && !(0..MAX_LOCATIONS as i64).contains(&i64::from(*value))
        {
            sink.push(
                Diagnostic::error(codes::INDEX, format!("address {value} is outside the memory"))
                    .with_label(*span, format!("addresses are 0..={}", MAX_LOCATIONS - 1)),
            );
        }
    }
}

/// Gives the memory `cells` cells.
fn resize(program: &mut Program, cells: u32) {
    program.locations = (0..cells)
        .map(|k| Location {
            name: "mem".into(),
            element: Some(k),
            initial: 0,
            kind: LocationKind::Atomic,
        })
        .collect();
    for step in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        canonical::for_each_place(&mut step.instr, |place| place.len = cells);
    }
}

/// One more than the largest address that may occur.
fn cells_needed(program: &Program, constants: &[i64]) -> u32 {
    let possible = PossibleValues::of(program);
    let mut last = 0;
    for (tid, pc, step) in program.steps() {
        let Some(index) = step.instr.place().and_then(|place| place.index.as_ref()) else {
            continue;
        };
        match possible.expr(program, tid.index(), pc, index) {
            Values::Few(members) => {
                let inside = members.into_iter().filter(|&k| k < MAX_LOCATIONS as Value);
                last = last.max(inside.max().unwrap_or(0));
            }
            Values::Any => {
                let guess = constants.iter().copied().filter(|&k| k <= LARGEST_GUESS).max();
                last = last.max(guess.unwrap_or(0) + SPARE_CELLS);
            }
        }
    }
    last as u32 + 1
}

/// Builds one thread.
struct Builder<'a, 't> {
    automaton: &'a Automaton<'t>,
    spans: &'a mut Vec<Span>,
    registers: Vec<Word<'t>>,
    numbers: HashMap<&'t str, Reg>,
    nodes: HashMap<&'t str, Pc>,
    code: Vec<Step>,
}

impl<'a, 't> Builder<'a, 't> {
    fn new(automaton: &'a Automaton<'t>, spans: &'a mut Vec<Span>) -> Self {
        Builder {
            automaton,
            spans,
            registers: vec![],
            numbers: HashMap::new(),
            nodes: HashMap::new(),
            code: vec![],
        }
    }

    fn thread(mut self, sink: &mut Sink) -> Option<Thread> {
        let automaton = self.automaton;
        self.number_registers(sink)?;
        let mut leaving: Vec<(&'t str, Vec<&Transition<'t>>)> = Vec::new();
        let mut position: HashMap<&'t str, usize> = HashMap::new();
        for transition in &automaton.transitions {
            let at = *position.entry(transition.from.text).or_insert_with(|| {
                leaving.push((transition.from.text, vec![]));
                leaving.len() - 1
            });
            leaving[at].1.push(transition);
        }
        // The nodes of states come first, then the halt, then the transitions of choices.
        for (number, (state, _)) in leaving.iter().enumerate() {
            self.nodes.insert(state, Pc::from(number));
        }
        let halt = Pc::from(leaving.len());
        let mut choices = Vec::new();
        let mut next_free = leaving.len() + 1;
        for (_, transitions) in &leaving {
            let step = match transitions.as_slice() {
                [only] => self.step(only, halt, sink)?,
                several => {
                    let first = next_free;
                    next_free += several.len();
                    choices.extend(several.iter().copied());
                    let targets = (first..next_free).map(Pc::from).collect();
                    let origin = self.origin(several[0].from.span);
                    let instr = Instr::Jump { cond: Expr::Const(1), targets };
                    Step { instr, next: Pc::from(first), origin }
                }
            };
            self.code.push(step);
        }
        self.code.push(Step { instr: Instr::Halt, next: halt, origin: Origin(0) });
        for transition in choices {
            let step = self.step(transition, halt, sink)?;
            self.code.push(step);
        }
        let entry = self.nodes.get(automaton.initial.text).copied().unwrap_or(halt);
        if entry == halt && !automaton.transitions.is_empty() {
            let state = automaton.initial.text;
            sink.push(
                Diagnostic::warning(codes::UNREACHABLE, format!("no transition leaves `{state}`"))
                    .with_label(automaton.initial.span, "the thread does nothing"),
            );
        }
        Some(Thread {
            name: automaton.name.text.to_string(),
            replica: None,
            registers: self.registers.iter().map(|word| word.text.to_string()).collect(),
            code: self.code,
            entry,
        })
    }

    /// Numbers the registers and warns of those that are read but never written.
    fn number_registers(&mut self, sink: &mut Sink) -> Option<()> {
        let mut written: Vec<&str> = Vec::new();
        for transition in &self.automaton.transitions {
            if let Some(register) = transition.command.output() {
                written.push(register.text);
                self.number(register);
            }
        }
        for transition in &self.automaton.transitions {
            for tree in transition.command.trees() {
                let mut leaves = Vec::new();
                tree.leaves(&mut |leaf| {
                    if let Tree::Register(word) = leaf {
                        leaves.push(*word);
                    }
                });
                for word in leaves {
                    if !self.numbers.contains_key(word.text) {
                        self.warn_unwritten(word, sink);
                    }
                    self.number(word);
                }
            }
        }
        if self.registers.len() > RegSet::CAPACITY {
            let message = format!("thread `{}` has too many registers", self.automaton.name.text);
            sink.push(Diagnostic::error(codes::LIMIT, message).with_label(
                self.registers[RegSet::CAPACITY].span,
                format!("the limit is {}", RegSet::CAPACITY),
            ));
            return None;
        }
        Some(())
    }

    fn warn_unwritten(&self, word: Word<'_>, sink: &mut Sink) {
        let (register, thread) = (word.text, self.automaton.name.text);
        sink.push(
            Diagnostic::warning(
                codes::NEVER_WRITTEN,
                format!("register `{register}` of thread `{thread}` is read but never written"),
            )
            .with_label(word.span, "always 0")
            .with_help("a name is a register, not an address: write addresses as numbers"),
        );
    }

    fn number(&mut self, word: Word<'t>) -> Reg {
        *self.numbers.entry(word.text).or_insert_with(|| {
            self.registers.push(word);
            Reg::from(self.registers.len() - 1)
        })
    }

    fn origin(&mut self, span: Span) -> Origin {
        self.spans.push(span);
        Origin::from(self.spans.len() - 1)
    }

    fn step(&mut self, transition: &Transition<'t>, halt: Pc, sink: &mut Sink) -> Option<Step> {
        let next = self.nodes.get(transition.to.text).copied().unwrap_or(halt);
        let instr = match &transition.command {
            Command::Read { register, address } => Instr::Load {
                dst: self.number(*register),
                place: self.place(address, transition, sink)?,
                mode: ReadMode::Rlx,
            },
            Command::Write { value, address } => Instr::Store {
                place: self.place(address, transition, sink)?,
                value: self.expr(value, transition, sink)?,
                mode: WriteMode::Rlx,
            },
            Command::Local { register, value } => Instr::Assign {
                dst: self.number(*register),
                value: self.expr(value, transition, sink)?,
            },
            Command::Check(tree) => Instr::Assume(self.expr(tree, transition, sink)?),
            Command::Mfence => Instr::Fence(FenceMode::Sc),
            Command::Lock => Instr::BusLock,
            Command::Unlock => Instr::BusUnlock,
            Command::Noop => Instr::Skip,
        };
        Some(Step { instr, next, origin: self.origin(transition.span) })
    }

    fn place(&mut self, tree: &Tree<'t>, of: &Transition<'t>, sink: &mut Sink) -> Option<Place> {
        let index = self.expr(tree, of, sink)?;
        Some(Place { base: Loc(0), len: MAX_LOCATIONS as u32, index: Some(index) })
    }

    fn expr(&mut self, tree: &Tree<'t>, of: &Transition<'t>, sink: &mut Sink) -> Option<Expr> {
        let compiled = self.compile(tree);
        if compiled.is_none() {
            sink.push(
                Diagnostic::error(codes::LIMIT, "the expression is nested too deeply")
                    .with_label(of.span, "here"),
            );
        }
        compiled
    }

    fn compile(&mut self, tree: &Tree<'t>) -> Option<Expr> {
        match tree {
            Tree::Constant(value, _) => Some(Expr::Const((*value).into())),
            Tree::Register(word) => Some(Expr::Reg(self.number(*word))),
            Tree::Unary(op, a) => Expr::unary(*op, self.compile(a)?),
            Tree::Binary(op, a, b) => Expr::binary(*op, self.compile(a)?, self.compile(b)?),
        }
    }
}
