//! Final conditions: names to registers and locations, the formula to an expression over them.

use super::declare::Globals;
use super::expression::too_deep;
use super::{Origins, duplicate_condition, unknown};
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Span;
use crate::syntax::{self, Exact, Final, Name, Term, TermKind, Unit};
use ir::expr::{Op, Unary};
use ir::{Condition, Loc, Observed, Program, Reg, Tid};

/// The condition of the text, if it has one and nothing is wrong with it.
pub(super) fn lower(
    unit: &Unit,
    globals: &Globals,
    program: &Program,
    origins: &mut Origins,
    sink: &mut Sink,
) -> Option<Condition> {
    let condition = unit.conditions.first()?;
    if let Some(second) = unit.conditions.get(1) {
        sink.push(duplicate_condition(second.span, condition.span));
    }
    let mut lowering = Lowering { globals, program, observed: Vec::new(), sink };
    let formula = lowering.formula(condition)?;
    let observed = lowering.observed;
    if observed.len() > Condition::MOST_OBSERVED {
        let most = Condition::MOST_OBSERVED;
        let message = format!("a condition is about at most {most} locals and locations");
        sink.push(
            Diagnostic::error(codes::LIMIT, message)
                .with_label(condition.span, format!("this one is about {}", observed.len())),
        );
        return None;
    }
    let origin = origins.of(condition.span);
    Some(Condition { quantifier: condition.quantifier, observed, formula, origin })
}

struct Lowering<'a, 'g, 's> {
    globals: &'g Globals<'a>,
    program: &'g Program,
    observed: Vec<Observed>,
    sink: &'s mut Sink,
}

impl Lowering<'_, '_, '_> {
    fn formula(&mut self, condition: &syntax::Condition) -> Option<ir::Expr> {
        let mut code = Vec::new();
        let mut terms = condition.formula.terms.iter().peekable();
        while let Some(term) = terms.next() {
            if let Some(mut exact) = self.constant(term) {
                let mut span = term.span;
                while let Some(sign) = terms.next_if(|next| next.is_minus()) {
                    (exact, span) = (-exact, sign.span);
                }
                code.push(Op::Const(self.value(exact, span)?));
                continue;
            }
            match term.kind {
                TermKind::Unary(Unary::Not) => code.push(Op::Unary(Unary::Not)),
                TermKind::Binary(op) if op.is_logical() => code.push(Op::Binary(op)),
                TermKind::Number(_) | TermKind::Unary(_) | TermKind::Binary(_) => {
                    self.sink.push(calculates(term));
                    return None;
                }
                TermKind::Name(text) => {
                    let location = self.location(Name { text, span: term.span }, None)?;
                    code.push(self.number(Observed::Location(location)));
                }
                TermKind::Final(what) => {
                    let what = self.observed(what, term.span)?;
                    code.push(self.number(what));
                }
            }
        }
        let formula = ir::Expr::from_postfix(code);
        if formula.is_none() {
            self.sink.push(too_deep(condition.formula.span));
        }
        formula
    }

    fn value(&mut self, exact: Exact, span: Span) -> Option<ir::Value> {
        let domain = self.globals.domain;
        let value = domain.value(exact);
        if value.is_none() {
            let message = format!("nothing ever holds {exact}");
            let label = format!("values are {domain}");
            self.sink.push(Diagnostic::error(codes::RANGE, message).with_label(span, label));
        }
        value
    }

    fn number(&mut self, what: Observed) -> Op {
        let known = self.observed.iter().position(|&known| known == what);
        Op::Reg(Reg::from(known.unwrap_or_else(|| {
            self.observed.push(what);
            self.observed.len() - 1
        })))
    }

    /// The number that a term is, or that its name stands for.
    fn constant(&self, term: &Term) -> Option<Exact> {
        match term.kind {
            TermKind::Number(value) => Some(value),
            TermKind::Name(text) => self.globals.constants.get(text).map(|(value, _)| *value),
            _ => None,
        }
    }

    fn location(&mut self, name: Name, index: Option<Exact>) -> Option<Loc> {
        let Some(shared) = self.globals.shared.get(name.text) else {
            let known = self.globals.shared.keys().chain(self.globals.constants.keys());
            let error = unknown(name, "a location or constant", known.copied())
                .with_help("a local is named with its thread: `t.r`");
            self.sink.push(error);
            return None;
        };
        let offset = match (shared.length, index) {
            (None, None) => Some(0),
            (Some(length), Some(index)) => u32::try_from(index).ok().filter(|k| *k < length),
            _ => None,
        };
        if offset.is_none() {
            let label = match (shared.length, index) {
                (None, _) => "no array".to_string(),
                (Some(_), None) => "an array: say which element".to_string(),
                (Some(length), _) => format!("its elements are 0..={}", length - 1),
            };
            let message = format!("`{}` has no such element", name.text);
            self.sink.push(Diagnostic::error(codes::INDEX, message).with_label(name.span, label));
        }
        Some(Loc(shared.first.0 + offset?))
    }

    fn observed(&mut self, what: Final, span: Span) -> Option<Observed> {
        let (tid, local) = match what {
            Final::Element { array, index } => {
                return self.location(array, Some(index)).map(Observed::Location);
            }
            Final::OfNumber { thread, local } => {
                let count = self.program.threads.len();
                let tid = usize::try_from(thread).ok().filter(|tid| *tid < count);
                if tid.is_none() {
                    let message = format!("there is no thread {thread}");
                    let label = format!("threads are numbered 0..={}", count - 1);
                    let error = Diagnostic::error(codes::UNKNOWN_NAME, message);
                    self.sink.push(error.with_label(span, label));
                }
                (tid?, local)
            }
            Final::Local { thread, replica, local } => (self.thread(thread, replica)?, local),
        };
        let registers = &self.program.threads[tid].registers;
        let Some(reg) = registers.iter().position(|register| register == local.text) else {
            let known = registers.iter().map(String::as_str);
            self.sink.push(unknown(local, "a local of this thread", known));
            return None;
        };
        Some(Observed::Register(Tid::from(tid), Reg::from(reg)))
    }

    fn thread(&mut self, name: Name, replica: Option<Exact>) -> Option<usize> {
        let threads = &self.program.threads;
        let is_meant = |replicas: Option<u32>| replicas.map(Exact::from) == replica;
        let found = threads.iter().position(|t| t.name == name.text && is_meant(t.replica));
        if found.is_none() {
            let known: Vec<String> = threads.iter().map(ir::Thread::display_name).collect();
            let error = unknown(name, "a thread", known.iter().map(String::as_str));
            self.sink.push(match threads.iter().any(|thread| thread.name == name.text) {
                true => error.with_help("replicas are numbered: `t[0].r`"),
                false => error,
            });
        }
        found
    }
}

fn calculates(term: &Term) -> Diagnostic {
    Diagnostic::error(codes::UNSUPPORTED, "a final condition does not calculate")
        .with_label(term.span, "it compares values and connects comparisons")
        .with_help("let a thread compute it, and name the local that gets the result")
}
