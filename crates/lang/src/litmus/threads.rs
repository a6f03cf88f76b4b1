//! Collects the steps, registers and locations of a litmus test's threads, and makes a program of them.

use super::condition::Asked;
use super::initial::{Initial, InitialValue, Type};
use super::lexer::{Read, Reader, Token};
use super::mixed;
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::lower::MAX_LOCATIONS;
use crate::source::Span;
use ir::expr::{Binary, Op, Unary};
use ir::{
    Condition, Domain, Edge, Expr, Instr, Loc, Location, LocationKind, Origin, Pc, Place, Program,
    Quantifier, Reg, RegSet, Step, Thread, Value, canonical,
};
use std::collections::BTreeMap;

/// How names of registers for intermediate results start: no local is called so.
const TEMPORARY: &str = "tmp$";

/// How many operands and operators an expression may have.
const LARGEST: usize = 2000;

/// A location or array.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    pub(super) first: Loc,
    /// The array's length.
    pub(super) length: Option<u32>,
}

impl Shared {
    /// The location itself, or the first element.
    pub(super) fn place(self) -> Place {
        match self.length {
            None => Place::location(self.first),
            Some(len) => Place { base: self.first, len, index: Some(Expr::Const(0)) },
        }
    }
}

/// The threads read so far.
pub(super) struct Threads<'a> {
    initial: Initial<'a>,
    locations: Vec<Location>,
    shared: BTreeMap<String, Shared>,
    threads: Vec<Code<'a>>,
    spans: Vec<Span>,
    values: Option<(Type, Span)>,
}

/// One thread.
pub(super) struct Code<'a> {
    pub(super) registers: Vec<String>,
    /// Parameters that point to a location of another name.
    pub(super) aliases: BTreeMap<&'a str, Token<'a>>,
    pub(super) code: Vec<Step>,
    /// How many registers for intermediate results are in use.
    temporaries: usize,
}

impl<'a> Threads<'a> {
    pub(super) fn new(initial: Initial<'a>, reader: &mut Reader<'a, '_>) -> Read<Self> {
        let mut threads = Threads {
            initial: Initial::default(),
            locations: Vec::new(),
            shared: BTreeMap::new(),
            threads: Vec::new(),
            spans: Vec::new(),
            values: None,
        };
        for &(of, span) in &initial.types {
            threads.has_type(of, span, reader)?;
        }
        for location in &initial.locations {
            let name = location.name;
            if threads.shared.contains_key(name.text) {
                let message = format!("`{}` has two initial values", name.text);
                let error = Diagnostic::error(codes::DUPLICATE, message);
                return reader.fail(error.with_label(name.span, "already given"));
            }
            threads.declare(name, location.length, &location.values, reader)?;
        }
        threads.initial = initial;
        Ok(threads)
    }

    /// Values of this type occur. All have one.
    pub(super) fn has_type(
        &mut self,
        of: Type,
        span: Span,
        reader: &mut Reader<'a, '_>,
    ) -> Read<()> {
        if of.bits == 1 {
            return Ok(()); // 0 and 1 are values of every type
        }
        let of = match of.bits {
            ..64 => of,
            bits => Type { bits, signed: true },
        };
        match self.values {
            None => {
                if of.bits > 64 {
                    let message = "128-bit values are kept in 64 bits";
                    let warning = Diagnostic::warning(codes::UNSUPPORTED, message);
                    reader.sink.push(warning.with_label(span, "larger values wrap around"));
                }
                self.values = Some((of, span));
            }
            Some((first, _)) if first == of => {}
            Some((_, first)) => {
                let message = "values of several sizes or signs";
                return reader.fail(
                    Diagnostic::error(codes::UNSUPPORTED, message)
                        .with_label(span, "not the type of the others")
                        .with_label(first, "first seen here")
                        .with_help("all values of a test have one type"),
                );
            }
        }
        Ok(())
    }

    fn declare(
        &mut self,
        name: Token<'a>,
        length: Option<u32>,
        values: &[Value],
        reader: &mut Reader<'a, '_>,
    ) -> Read<Shared> {
        let first = Loc::from(self.locations.len());
        let count = length.unwrap_or(1);
        if self.locations.len() + count as usize > MAX_LOCATIONS {
            let message = format!("more than {MAX_LOCATIONS} locations");
            let error = Diagnostic::error(codes::LIMIT, message);
            return reader.fail(error.with_label(name.span, "this one is too many"));
        }
        for element in 0..count {
            self.locations.push(Location {
                name: name.text.to_string(),
                element: length.map(|_| element),
                initial: values.get(element as usize).copied().unwrap_or(0),
                kind: LocationKind::Atomic,
            });
        }
        let shared = Shared { first, length };
        self.shared.insert(name.text.to_string(), shared);
        Ok(shared)
    }

    /// The location of this name; a test need not declare it.
    pub(super) fn location(
        &mut self,
        name: Token<'a>,
        reader: &mut Reader<'a, '_>,
    ) -> Read<Shared> {
        match self.shared.get(name.text) {
            Some(shared) => Ok(*shared),
            None => self.declare(name, None, &[], reader),
        }
    }

    pub(super) fn known_location(&self, name: &str) -> Option<Shared> {
        self.shared.get(name).copied()
    }

    pub(super) fn location_names(&self) -> impl Iterator<Item = &str> {
        self.shared.keys().map(String::as_str)
    }

    pub(super) fn location_of(&self, loc: Loc) -> &Location {
        &self.locations[loc.index()]
    }

    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    pub(super) fn thread(&self, tid: usize) -> &Code<'a> {
        &self.threads[tid]
    }

    /// Starts a thread: its registers get their initial values. `spelled` is the name that its code
    /// uses for a register.
    pub(super) fn start(
        &mut self,
        spelled: impl Fn(&str) -> Option<String>,
        reader: &mut Reader<'a, '_>,
    ) -> Read<()> {
        let tid = self.threads.len();
        self.threads.push(Code {
            registers: Vec::new(),
            aliases: BTreeMap::new(),
            code: Vec::new(),
            temporaries: 0,
        });
        let mine: Vec<_> = (0..self.initial.registers.len())
            .filter(|&k| self.initial.registers[k].thread == tid)
            .collect();
        for k in mine {
            let register = &self.initial.registers[k];
            let (name, span) = (register.name, register.span);
            match register.value {
                InitialValue::Number(value) => {
                    let spelling = spelled(name.text).unwrap_or_else(|| name.text.to_string());
                    let dst = self.register(tid, &spelling, span, reader)?;
                    self.emit(tid, Instr::Assign { dst, value: Expr::Const(value) }, span);
                }
                InitialValue::Address(location) => {
                    self.threads[tid].aliases.insert(name.text, location);
                }
            }
        }
        Ok(())
    }

    /// Complains about initial values of threads that do not exist.
    pub(super) fn check_initial(&self, reader: &mut Reader<'a, '_>) -> Read<()> {
        let count = self.threads.len();
        if let Some(stray) = self.initial.registers.iter().find(|r| r.thread >= count) {
            let message = format!("there is no thread {}", stray.thread);
            let error = Diagnostic::error(codes::UNKNOWN_NAME, message);
            return reader.fail(error.with_label(stray.span, format!("the test has {count}")));
        }
        if count == 0 {
            let error = Diagnostic::error(codes::NO_THREADS, "the test has no threads");
            return reader.fail(error.with_label(reader.span(), "expected `P0`"));
        }
        Ok(())
    }

    pub(super) fn known_register(&self, tid: usize, name: &str) -> Option<Reg> {
        let registers = &self.threads[tid].registers;
        registers.iter().position(|known| known == name).map(Reg::from)
    }

    /// The register of this name, which is a new one if there is none yet.
    pub(super) fn register(
        &mut self,
        tid: usize,
        name: &str,
        span: Span,
        reader: &mut Reader<'a, '_>,
    ) -> Read<Reg> {
        if let Some(known) = self.known_register(tid, name) {
            return Ok(known);
        }
        let registers = &mut self.threads[tid].registers;
        if registers.len() == RegSet::CAPACITY {
            let message = format!("more than {} registers in a thread", RegSet::CAPACITY);
            let error = Diagnostic::error(codes::LIMIT, message);
            return reader.fail(error.with_label(span, "this one is too many"));
        }
        registers.push(name.to_string());
        Ok(Reg::from(registers.len() - 1))
    }

    /// A register for an intermediate result, until [`Threads::end_statement`].
    pub(super) fn temporary(
        &mut self,
        tid: usize,
        span: Span,
        reader: &mut Reader<'a, '_>,
    ) -> Read<Reg> {
        let number = self.threads[tid].temporaries;
        self.threads[tid].temporaries += 1;
        self.register(tid, &format!("{TEMPORARY}{number}"), span, reader)
    }

    pub(super) fn end_statement(&mut self, tid: usize) {
        self.threads[tid].temporaries = 0;
    }

    pub(super) fn here(&self, tid: usize) -> Pc {
        Pc::from(self.threads[tid].code.len())
    }

    /// Adds a step that leads to the one after it; its position.
    pub(super) fn emit(&mut self, tid: usize, instr: Instr, span: Span) -> usize {
        if self.spans.last() != Some(&span) {
            self.spans.push(span);
        }
        let origin = Origin::from(self.spans.len() - 1);
        let code = &mut self.threads[tid].code;
        code.push(Step { instr, next: Pc::from(code.len() + 1), origin });
        code.len() - 1
    }

    /// Lets the access at `at` write to `dst` instead of the temporary register `from`, if it does.
    pub(super) fn retarget(
        &mut self,
        tid: usize,
        at: usize,
        from: Reg,
        to: Reg,
        span: Span,
    ) -> bool {
        let thread = &mut self.threads[tid];
        if !thread.registers[from.index()].starts_with(TEMPORARY) {
            return false;
        }
        match &mut thread.code[at].instr {
            Instr::Load { dst, .. } | Instr::Rmw { dst: Some(dst), .. } if *dst == from => {
                *dst = to
            }
            _ => return false,
        }
        self.spans.push(span);
        thread.code[at].origin = Origin::from(self.spans.len() - 1);
        true
    }

    /// Lets a step lead elsewhere.
    pub(super) fn lead(&mut self, tid: usize, from: usize, to: Pc) {
        self.threads[tid].code[from].next = to;
    }

    /// Goes on at `targets`, whose choice it is, if the condition holds.
    pub(super) fn jump(&mut self, tid: usize, cond: Expr, targets: Vec<Pc>, span: Span) -> usize {
        self.emit(tid, Instr::Jump { cond, targets }, span)
    }

    /// A place to go to was found: the targets of the jump `at`.
    pub(super) fn set_targets(&mut self, tid: usize, at: usize, to: Vec<Pc>) {
        if let Instr::Jump { targets, .. } = &mut self.threads[tid].code[at].instr {
            *targets = to;
        }
    }

    /// The program, where its steps came from, and which locations the test does not name.
    pub(super) fn finish(
        mut self,
        asked: &Asked,
        sink: &mut Sink,
    ) -> Option<(Program, Vec<Span>, Vec<Loc>)> {
        let domain = domain(self.values.map_or(Type::INT, |(of, _)| of));
        for thread in &mut self.threads {
            let end = Pc::from(thread.code.len());
            thread.code.push(Step { instr: Instr::Halt, next: end, origin: Origin(0) });
        }
        let shared: Vec<Shared> = self.shared.values().copied().collect();
        let shadows = mixed::separate(&mut self.locations, &shared, &mut self.threads);
        let outside = |value: Value| !domain.contains(value.into());
        for &(value, span) in asked.constants.iter().filter(|(value, _)| outside(*value)) {
            sink.push(out_of_range(value, span, domain));
        }
        if let Some(location) = self.locations.iter().find(|location| outside(location.initial)) {
            let name = self.initial.locations.iter().find(|l| l.name.text == location.name);
            let span = name.map_or(Span::new(0, 0), |location| location.name.span);
            sink.push(out_of_range(location.initial, span, domain));
        }
        let mut threads = Vec::new();
        for (tid, mut thread) in self.threads.into_iter().enumerate() {
            for step in &mut thread.code {
                let span = self.spans.get(step.origin.index()).copied().unwrap_or(asked.span);
                canonical::for_each_expr(&mut step.instr, |expr| {
                    constants(expr).filter(|value| outside(*value)).for_each(|value| {
                        sink.push(out_of_range(value, span, domain));
                    });
                });
            }
            let thread = Thread {
                name: format!("P{tid}"),
                replica: None,
                registers: thread.registers,
                code: thread.code,
                entry: Pc(0),
            };
            threads.push(canonical::thread(&thread, domain));
        }
        if sink.has_errors() {
            return None;
        }
        let mut program = Program::new(domain, self.locations, threads);
        let origin = Origin::from(self.spans.len());
        self.spans.push(asked.span);
        program.condition = combined(asked).map(|condition| Condition { origin, ..condition });
        let invalid = match &program.condition {
            None => Some("the condition is too large".to_string()),
            Some(_) => program.validate().err().map(|invalid| invalid.to_string()),
        };
        if let Some(invalid) = invalid {
            sink.push(
                Diagnostic::error(codes::LIMIT, invalid).with_label(asked.span, "in this test"),
            );
            return None;
        }
        Some((program, self.spans, shadows))
    }
}

/// `a op b`, unless it is too deep or too large: every use copies it.
pub(super) fn binary(op: Binary, a: Expr, b: Expr) -> Option<Expr> {
    let size = |expr: &Expr| if let Expr::Code(code) = expr { code.len() } else { 1 };
    if size(&a) + size(&b) > LARGEST {
        return None;
    }
    Expr::binary(op, a, b)
}

fn constants(expr: &Expr) -> impl Iterator<Item = Value> + '_ {
    let (one, code) = match expr {
        Expr::Const(value) => (Some(*value), &[][..]),
        Expr::Reg(_) => (None, &[][..]),
        Expr::Code(code) => (None, &code[..]),
    };
    let constant = |op: &Op| if let Op::Const(value) = op { Some(*value) } else { None };
    one.into_iter().chain(code.iter().filter_map(constant))
}

fn out_of_range(value: Value, span: Span, domain: Domain) -> Diagnostic {
    Diagnostic::error(codes::RANGE, format!("{value} is no value of the test's type"))
        .with_label(span, format!("values are {domain}"))
}

fn domain(of: Type) -> Domain {
    let (min, max) = match of {
        Type { bits: 64.., .. } => (Value::MIN, Value::MAX),
        Type { bits, signed: true } => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        Type { bits, signed: false } => (0, (1 << bits) - 1),
    };
    Domain { min, max, edge: Edge::Wrap }
}

/// The condition as asked of all final states, those that the filter drops included.
fn combined(asked: &Asked) -> Option<Condition> {
    let Asked { condition, filter, .. } = asked;
    let Some(filter) = filter else { return Some(condition.clone()) };
    let mut observed = condition.observed.clone();
    let mut renamed = filter.formula.clone().into_postfix();
    for op in &mut renamed {
        if let Op::Reg(reg) = op {
            let what = filter.observed[reg.index()];
            let known = observed.iter().position(|known| *known == what);
            *reg = Reg::from(known.unwrap_or_else(|| {
                observed.push(what);
                observed.len() - 1
            }));
        }
    }
    let kept = Expr::from_postfix(renamed)?;
    let formula = match condition.quantifier {
        Quantifier::Forall => {
            let dropped = Expr::unary(Unary::Not, kept)?;
            Expr::binary(Binary::Or, dropped, condition.formula.clone())?
        }
        _ => Expr::binary(Binary::And, kept, condition.formula.clone())?,
    };
    Some(Condition { observed, formula, ..condition.clone() })
}
