//! Statements to steps.
//!
//! Code is laid out in the order of the text, each step followed by the next one; where control
//! goes elsewhere, a skip leads there. [`ir::canonical`] removes the skips.

use super::call::{Frame, Methods};
use super::declare::Globals;
use super::loops::Loop;
use super::place::Use;
use super::{MAX_STEPS, Origins, duplicate, unknown};
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Span;
use crate::syntax::{self, Arm, Block, Cas, Name, Rmw, Statement, StatementKind};
use ir::{
    Expr, Instr, Origin, Pc, ReadMode, Reg, RegSet, Step, Thread, Update, UpdateOp, WriteMode,
};
use std::collections::BTreeMap;

/// A thread as laid out, and where its statements are.
pub(super) struct LoweredThread {
    pub(super) thread: Thread,
    pub(super) statements: Vec<Laid>,
    /// How many calls of methods it contains.
    pub(super) calls: usize,
    /// The registers that the program does not name.
    pub(super) temporaries: Vec<Reg>,
    /// What goes wrong at assertions that are no statements.
    pub(super) failures: Vec<(Origin, String)>,
}

/// A statement and its first step.
pub(super) struct Laid {
    pub(super) span: Span,
    pub(super) first: Pc,
    /// Does it do nothing but pass control on?
    pub(super) trivial: bool,
}

/// The names a thread's statements see.
pub(super) struct Scope<'a, 'g> {
    pub(super) globals: &'g Globals<'a>,
    pub(super) locals: BTreeMap<&'a str, (Reg, Span)>,
    pub(super) replica: Option<(&'a str, u32)>,
}

impl Scope<'_, '_> {
    /// The replica's number, if that is what the name stands for.
    pub(super) fn replica_number(&self, name: &str) -> Option<u32> {
        self.replica.filter(|(thread, _)| *thread == name).map(|(_, number)| number)
    }
}

/// Lowers a thread; `None` if it has more than `room` steps, which is reported like everything else
/// that is wrong with it.
pub(super) fn lower<'a, 'g>(
    thread: &syntax::Thread<'a>,
    number: Option<u32>,
    room: usize,
    globals: &'g Globals<'a>,
    methods: &'g Methods<'a, 'g>,
    origins: &mut Origins,
    sink: &mut Sink,
) -> Option<LoweredThread> {
    let replica = number.map(|number| (thread.name.text, number));
    let mut scope = Scope { globals, locals: BTreeMap::new(), replica };
    let registers = declare_locals(thread, &mut scope, sink);
    let mut lowering = Lowering {
        scope,
        origins,
        sink,
        room,
        code: Vec::new(),
        statements: Vec::new(),
        labels: BTreeMap::new(),
        gotos: Vec::new(),
        atomic: None,
        atomic_blocks: 0,
        methods,
        top: registers.len(),
        registers,
        loops: Vec::new(),
        frames: Vec::new(),
        without_result: Vec::new(),
        calls: 0,
        temporaries: Vec::new(),
        failures: Vec::new(),
    };
    lowering.start(thread.name.text, number, thread.name.span);
    lowering.block(&thread.body);
    lowering.end(thread.name.text, number, thread.body.end);
    lowering.emit(Instr::Halt, thread.body.end);
    lowering.resolve_gotos();
    if lowering.code.len() > room {
        let message = format!("the program has more than {MAX_STEPS} steps");
        let label = "replicas count one each";
        let error = Diagnostic::error(codes::LIMIT, message).with_label(thread.name.span, label);
        lowering.sink.push(error);
        return None;
    }
    if let Some(halt) = lowering.code.last_mut() {
        halt.next = Pc(halt.next.0 - 1);
    }
    let Lowering { code, statements, registers, calls, without_result, sink, .. } = lowering;
    let Lowering { temporaries, failures, .. } = lowering;
    let name = thread.name.text.to_string();
    let thread = Thread { name, replica: number, registers, code, entry: Pc(0) };
    super::call::results(&thread, &without_result, sink);
    Some(LoweredThread { thread, statements, calls, temporaries, failures })
}

fn declare_locals<'a>(
    thread: &syntax::Thread<'a>,
    scope: &mut Scope<'a, '_>,
    sink: &mut Sink,
) -> Vec<String> {
    let mut registers = Vec::new();
    for &name in &thread.locals {
        if let Some((_, first)) = scope.locals.get(name.text) {
            sink.push(duplicate(name, "a local", *first));
        } else if let Some((_, first)) = scope.globals.constants.get(name.text) {
            sink.push(duplicate(name, "a constant", *first));
        } else if scope.replica_number(name.text).is_some() {
            sink.push(duplicate(name, "the thread's number", thread.name.span));
        } else if registers.len() == RegSet::CAPACITY {
            let message = format!("more than {} locals in a thread", RegSet::CAPACITY);
            let label = "this one is too many";
            sink.push(Diagnostic::error(codes::LIMIT, message).with_label(name.span, label));
            // Declared all the same: its uses are not wrong.
            scope.locals.insert(name.text, (Reg(0), name.span));
        } else {
            scope.locals.insert(name.text, (Reg::from(registers.len()), name.span));
            registers.push(name.text.to_string());
        }
    }
    registers
}

/// A label: its step, its text, and the `atomic` block around it.
pub(super) struct Label {
    pc: Pc,
    span: Span,
    atomic: Option<usize>,
}

/// A step whose successor is a label.
pub(super) struct Goto<'a> {
    at: usize,
    label: Name<'a>,
    atomic: Option<usize>,
}

pub(super) struct Lowering<'a, 'g, 'o> {
    pub(super) scope: Scope<'a, 'g>,
    pub(super) origins: &'o mut Origins,
    pub(super) sink: &'o mut Sink,
    room: usize,
    pub(super) code: Vec<Step>,
    statements: Vec<Laid>,
    pub(super) labels: BTreeMap<&'a str, Label>,
    pub(super) gotos: Vec<Goto<'a>>,
    /// The `atomic` block around the current statement.
    pub(super) atomic: Option<usize>,
    atomic_blocks: usize,
    pub(super) methods: &'g Methods<'a, 'g>,
    /// The names of all registers; those of methods come after the thread's own locals.
    pub(super) registers: Vec<String>,
    /// The registers for intermediate results, which the program does not name.
    pub(super) temporaries: Vec<Reg>,
    /// What goes wrong at assertions that are no statements.
    pub(super) failures: Vec<(Origin, String)>,
    /// How many of them the thread and the methods being inlined have taken.
    pub(super) top: usize,
    /// The loops around the current statement.
    pub(super) loops: Vec<Loop>,
    /// The methods and procedures being inlined.
    pub(super) frames: Vec<Frame<'a>>,
    /// Where a procedure ends without the result that its caller wants.
    pub(super) without_result: Vec<(Pc, Name<'a>, Span)>,
    pub(super) calls: usize,
}

impl<'a> Lowering<'a, '_, '_> {
    pub(super) fn here(&self) -> Pc {
        Pc::from(self.code.len())
    }

    /// Adds a step that leads to the one after it; its position.
    pub(super) fn emit(&mut self, instr: Instr, span: Span) -> usize {
        let at = self.code.len();
        self.code.push(Step { instr, next: Pc::from(at + 1), origin: self.origins.of(span) });
        at
    }

    pub(super) fn lead(&mut self, from: usize, to: Pc) {
        self.code[from].next = to;
    }

    /// A jump to the next step if the condition holds; where it goes otherwise is yet to be said.
    pub(super) fn branch(&mut self, cond: Expr, span: Span) -> usize {
        let targets = vec![Pc::from(self.code.len() + 1)];
        self.emit(Instr::Jump { cond, targets }, span)
    }

    /// A choice between places yet to be said.
    pub(super) fn choice(&mut self, span: Span) -> usize {
        self.emit(Instr::Jump { cond: Expr::Const(1), targets: vec![] }, span)
    }

    pub(super) fn add_target(&mut self, jump: usize, to: Pc) {
        if let Instr::Jump { targets, .. } = &mut self.code[jump].instr {
            targets.push(to);
        }
    }

    pub(super) fn block(&mut self, block: &Block<'a>) {
        for statement in &block.statements {
            // Enough to know that there are too many, or that it is hopeless.
            if self.code.len() > self.room || self.sink.is_full() {
                return;
            }
            self.statement(statement);
        }
    }

    pub(super) fn statement(&mut self, statement: &Statement<'a>) {
        for &label in &statement.labels {
            if let Some(first) = self.labels.get(label.text) {
                let error = duplicate(label, "a label", first.span);
                self.sink.push(error);
                continue;
            }
            let here = Label { pc: self.here(), span: label.span, atomic: self.atomic };
            self.labels.insert(label.text, here);
        }
        // What one call of a procedure does not reach, another may.
        if self.frames.is_empty() {
            let (span, first) = (statement.span, self.here());
            let trivial = matches!(statement.kind, StatementKind::Skip | StatementKind::Goto(_));
            self.statements.push(Laid { span, first, trivial });
        }
        match &statement.kind {
            StatementKind::If(arms, otherwise) => self.conditional(arms, otherwise.as_ref()),
            StatementKind::While(condition, body) => {
                self.while_loop(condition, body, statement.span);
            }
            StatementKind::DoWhile(body, condition) => {
                self.do_loop(body, condition, statement.span);
            }
            StatementKind::For(all) => self.for_loop(all, statement.span),
            StatementKind::Break => self.leave_loop("break", statement.span),
            StatementKind::Continue => self.leave_loop("continue", statement.span),
            StatementKind::WeakCas(ok, value, cas) => {
                self.weak_cas(*ok, *value, cas, statement.span);
            }
            StatementKind::Spawn(thread) => {
                self.spawn(thread, statement.span);
            }
            StatementKind::Join(thread) => {
                self.join_thread(thread, statement.span);
            }
            StatementKind::OneOf(blocks) => {
                let choice = self.choice(statement.span);
                let mut ends = Vec::new();
                for block in blocks {
                    self.add_target(choice, self.here());
                    self.block(block);
                    ends.push(self.emit(Instr::Skip, statement.span));
                }
                self.join(ends);
            }
            StatementKind::Choose(dst, values) => {
                let dst = self.local(*dst);
                let choice = self.choice(statement.span);
                let mut ends = Vec::new();
                for value in values {
                    let Some((dst, value)) = dst.zip(self.expr(value)) else { continue };
                    self.add_target(choice, self.here());
                    ends.push(self.emit(Instr::Assign { dst, value }, statement.span));
                }
                self.join(ends);
            }
            StatementKind::Atomic(block) => self.atomic_block(block, statement.span),
            StatementKind::Call(dst, method, arguments) => {
                self.call(*dst, *method, arguments, statement.span);
            }
            StatementKind::Fence(mode) => {
                let instr = self.fence(*mode, statement.span).unwrap_or(Instr::Skip);
                self.emit(instr, statement.span);
            }
            StatementKind::Return(value) => self.finish(value.as_ref(), statement.span),
            StatementKind::Goto(label) => {
                let at = self.emit(Instr::Skip, statement.span);
                self.gotos.push(Goto { at, label: *label, atomic: self.atomic });
            }
            StatementKind::IfGoto(condition, label) => {
                let cond = self.condition(condition).unwrap_or(Expr::Const(1));
                let at = self.branch(cond, statement.span);
                self.gotos.push(Goto { at, label: *label, atomic: self.atomic });
            }
            simple => {
                // Wrong statements are reported; a skip keeps the shape of the rest.
                let instr = self.simple(simple).unwrap_or(Instr::Skip);
                self.emit(instr, statement.span);
            }
        }
    }

    pub(super) fn join(&mut self, ends: Vec<usize>) {
        for end in ends {
            self.lead(end, self.here());
        }
    }

    fn conditional(&mut self, arms: &[Arm<'a>], otherwise: Option<&Block<'a>>) {
        let mut ends = Vec::new();
        for arm in arms {
            let cond = self.condition(&arm.condition).unwrap_or(Expr::Const(1));
            let jump = self.branch(cond, arm.head);
            self.block(&arm.block);
            ends.push(self.emit(Instr::Skip, arm.head));
            self.lead(jump, self.here());
        }
        if let Some(block) = otherwise {
            self.block(block);
        }
        self.join(ends);
    }

    fn atomic_block(&mut self, block: &Block<'a>, span: Span) {
        if self.atomic.is_some() {
            self.sink.push(
                Diagnostic::error(codes::ATOMIC_BLOCK, "an `atomic` block inside another")
                    .with_label(span, "transactions do not nest"),
            );
        }
        self.atomic_blocks += 1;
        let around = self.atomic.replace(self.atomic_blocks);
        self.emit(Instr::Begin, span);
        self.block(block);
        self.emit(Instr::End, block.end);
        self.atomic = around;
    }

    pub(super) fn resolve_gotos(&mut self) {
        for Goto { at, label, atomic } in std::mem::take(&mut self.gotos) {
            if self.sink.is_full() {
                return;
            }
            let Some(target) = self.labels.get(label.text) else {
                let known = self.labels.keys().copied();
                let mut error = unknown(label, "a label of this thread", known);
                error.code = codes::NO_LABEL;
                error.message = format!("there is no label `{}`", label.text);
                self.sink.push(error);
                continue;
            };
            if target.atomic != atomic {
                self.sink.push(
                    Diagnostic::error(
                        codes::ATOMIC_BLOCK,
                        "a jump into or out of an `atomic` block",
                    )
                    .with_label(label.span, "control must pass the block's start and end")
                    .with_label(target.span, "the label"),
                );
            }
            match &mut self.code[at].instr {
                Instr::Jump { targets, .. } => *targets = vec![target.pc],
                _ => self.code[at].next = target.pc,
            }
        }
    }

    fn simple(&mut self, kind: &StatementKind<'a>) -> Option<Instr> {
        Some(match kind {
            StatementKind::Assert(condition) => Instr::Assert(self.condition(condition)?),
            StatementKind::Assume(condition) => Instr::Assume(self.condition(condition)?),
            StatementKind::Verify(value) => {
                let targets = vec![Pc::from(self.code.len() + 1)];
                Instr::Jump { cond: self.condition(value)?, targets }
            }
            StatementKind::Assign(dst, value) => {
                let (dst, value) = (self.local(*dst), self.expr(value));
                Instr::Assign { dst: dst?, value: value? }
            }
            StatementKind::Load(dst, place, mode) => {
                let (dst, place) = (self.local(*dst), self.place(place, read_access(*mode)));
                Instr::Load { dst: dst?, place: place?, mode: *mode }
            }
            StatementKind::Store(place, value, mode) => {
                let access = if *mode == WriteMode::Na { Use::NonAtomic } else { Use::Atomic };
                let (place, value) = (self.place(place, access), self.expr(value));
                Instr::Store { place: place?, value: value?, mode: *mode }
            }
            StatementKind::Rmw(dst, rmw) => {
                let dst = self.optional_local(*dst);
                let instr = self.rmw(rmw);
                with_destination(instr?, dst?)
            }
            StatementKind::BlockingCas(cas) => {
                let (place, expected, desired) = self.cas(cas)?;
                let (read, write) = (cas.modes.read, cas.modes.write);
                Instr::BlockingCas { place, expected, desired, read, write }
            }
            StatementKind::Wait(dst, place, values, mode) => {
                let dst = self.optional_local(*dst);
                let place = self.place(place, Use::Atomic);
                let values: Vec<Option<Expr>> = values.iter().map(|e| self.expr(e)).collect();
                let values = values.into_iter().collect::<Option<Vec<Expr>>>();
                Instr::Wait { dst: dst?, place: place?, values: values?, mode: *mode }
            }
            StatementKind::Fence(mode) => Instr::Fence(*mode),
            StatementKind::LightFence(places) => {
                let places: Vec<_> = places.iter().map(|p| self.place(p, Use::Named)).collect();
                Instr::LightFence(places.into_iter().collect::<Option<_>>()?)
            }
            StatementKind::Lock(place) => Instr::BlockingCas {
                place: self.place(place, Use::Atomic)?,
                expected: Expr::Const(0),
                desired: Expr::Const(1),
                read: ReadMode::Acq,
                write: WriteMode::Rlx,
            },
            StatementKind::Unlock(place) => Instr::Store {
                place: self.place(place, Use::Atomic)?,
                value: Expr::Const(0),
                mode: WriteMode::Rel,
            },
            StatementKind::PartialLock(place) => Instr::BlockingCas {
                place: self.place(place, Use::Atomic)?,
                expected: Expr::Const(0),
                desired: Expr::Const(1),
                read: ReadMode::Pacq,
                write: WriteMode::Rlx,
            },
            StatementKind::PartialUnlock(place) => Instr::Store {
                place: self.place(place, Use::Atomic)?,
                value: Expr::Const(0),
                mode: WriteMode::Prel,
            },
            StatementKind::AtomicBegin => Instr::Begin,
            StatementKind::AtomicEnd => Instr::End,
            StatementKind::BusLock => Instr::BusLock,
            StatementKind::BusUnlock => Instr::BusUnlock,
            StatementKind::Skip
            | StatementKind::Goto(_)
            | StatementKind::IfGoto(..)
            | StatementKind::If(..)
            | StatementKind::While(..)
            | StatementKind::DoWhile(..)
            | StatementKind::For(_)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::WeakCas(..)
            | StatementKind::Spawn(_)
            | StatementKind::Join(_)
            | StatementKind::OneOf(_)
            | StatementKind::Choose(..)
            | StatementKind::Call(..)
            | StatementKind::Return(_)
            | StatementKind::Atomic(_) => Instr::Skip,
        })
    }

    fn rmw(&mut self, rmw: &Rmw<'a>) -> Option<Instr> {
        let (place, update, modes) = match rmw {
            Rmw::Update(UpdateOp::Add, place, amount, modes) => {
                let place = self.place(place, Use::Atomic);
                (place?, self.scope.amount(amount, self.sink)?, modes)
            }
            Rmw::Update(op, place, operand, modes) => {
                let place = self.place(place, Use::Atomic);
                (place?, Update::new(*op, self.expr(operand)?), modes)
            }
            Rmw::Cas(cas) => {
                let (place, expected, desired) = self.cas(cas)?;
                let syntax::Modes { read, write, fail } = cas.modes;
                return Some(Instr::Cas { dst: None, place, expected, desired, read, write, fail });
            }
        };
        Some(Instr::Rmw { dst: None, place, update, read: modes.read, write: modes.write })
    }

    pub(super) fn cas(&mut self, cas: &Cas<'a>) -> Option<(ir::Place, Expr, Expr)> {
        let place = self.place(&cas.place, Use::Atomic);
        let expected = self.expr(&cas.expected);
        let desired = self.expr(&cas.desired);
        Some((place?, expected?, desired?))
    }

    pub(super) fn expr(&mut self, expr: &syntax::Expr<'a>) -> Option<Expr> {
        if self.sink.is_full() {
            return None;
        }
        self.scope.expr(expr, self.sink)
    }

    pub(super) fn condition(&mut self, expr: &syntax::Expr<'a>) -> Option<Expr> {
        self.scope.condition(expr, self.sink)
    }

    fn place(&mut self, place: &syntax::Place<'a>, access: Use) -> Option<ir::Place> {
        if self.sink.is_full() {
            return None;
        }
        self.scope.place(place, access, self.sink)
    }

    pub(super) fn local(&mut self, name: Name<'a>) -> Option<Reg> {
        self.scope.local(name, self.sink)
    }

    /// A register for the one intermediate result of a statement. Its name is that of whatever
    /// needed the register first.
    pub(super) fn temporary(&mut self, name: &str, span: Span) -> Option<Reg> {
        let index = self.top;
        if index >= RegSet::CAPACITY {
            let message = format!("more than {} locals in a thread", RegSet::CAPACITY);
            let label = "there is no register left for an intermediate result";
            self.sink.push(Diagnostic::error(codes::LIMIT, message).with_label(span, label));
            return None;
        }
        while self.registers.len() <= index {
            let mut name = name.to_string();
            while self.registers.contains(&name) {
                name.push('_');
            }
            self.temporaries.push(Reg::from(self.registers.len()));
            self.registers.push(name);
        }
        Some(Reg::from(index))
    }

    /// Reports an expression that needs too deep a stack.
    pub(super) fn too_deep<T>(&mut self, span: Span) -> Option<T> {
        self.sink.push(super::expression::too_deep(span));
        None
    }

    /// `Some(None)` if there is no name, `None` if it is wrong.
    pub(super) fn optional_local(&mut self, name: Option<Name<'a>>) -> Option<Option<Reg>> {
        match name {
            None => Some(None),
            Some(name) => self.local(name).map(Some),
        }
    }
}

fn read_access(mode: ReadMode) -> Use {
    if mode == ReadMode::Na { Use::NonAtomic } else { Use::Atomic }
}

fn with_destination(mut instr: Instr, to: Option<Reg>) -> Instr {
    if let Instr::Rmw { dst, .. } | Instr::Cas { dst, .. } = &mut instr {
        *dst = to;
    }
    instr
}
