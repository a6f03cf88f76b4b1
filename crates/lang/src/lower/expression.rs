//! Expressions of threads.
//!
//! Arithmetic wraps around at the ends of the program's values, `0..=max_value` as a rule. What consists of constants
//! only is computed here, exactly, like the constant expressions of declarations: `(t + N - 1) % N`
//! is the number before `t` even if `t + N` is no value. Where a constant meets a local or becomes
//! a value it is reduced, with a warning if that changes it; only `% N` with `N` above all values is
//! taken for what it is, nothing.

use super::constant;
use super::thread::Scope;
use super::unknown;
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Span;
use crate::syntax::{Exact, Expr, Name, Term, TermKind};
use ir::expr::{Binary, Op, Unary};
use ir::{LocationKind, Notes, Update, UpdateOp, Value};

/// A lowered operand: a known number, not yet reduced, or code.
enum Operand {
    Exact(Exact),
    Code,
}

/// The operands on the machine's stack. Each starts somewhere in `code`; the code of an exact one
/// is a place holder of length one.
struct Machine {
    code: Vec<Op>,
    stack: Vec<(usize, Operand, Span)>,
}

/// An expression before its last reduction.
enum Whole {
    Exact(Exact),
    Code(ir::Expr),
}

impl Scope<'_, '_> {
    /// The expression; `None` if something is wrong with it, which is reported.
    pub(super) fn expr(&self, expr: &Expr, sink: &mut Sink) -> Option<ir::Expr> {
        match self.whole(&expr.terms, expr.span, sink)? {
            Whole::Exact(exact) => Some(ir::Expr::Const(self.reduce(exact, expr.span, sink))),
            Whole::Code(code) => Some(code),
        }
    }

    /// An expression of which only matters whether it is 0.
    pub(super) fn condition(&self, expr: &Expr, sink: &mut Sink) -> Option<ir::Expr> {
        Some(match self.whole(&expr.terms, expr.span, sink)? {
            Whole::Exact(exact) => ir::Expr::Const(Value::from(exact != 0)),
            Whole::Code(code) => code,
        })
    }

    /// What a `FADD` of this expression does: a negated expression is subtracted, which wraps
    /// around only if the value in memory does.
    pub(super) fn amount(&self, expr: &Expr, sink: &mut Sink) -> Option<Update> {
        let (negated, terms) = match expr.terms.split_last() {
            Some((Term { kind: TermKind::Unary(Unary::Neg), .. }, rest)) => (true, rest),
            _ => (false, expr.terms.as_slice()),
        };
        let (negated, amount) = match self.whole(terms, expr.span, sink)? {
            Whole::Exact(exact) => {
                let domain = self.globals.domain;
                let total = if negated { exact.saturating_neg() } else { exact };
                // The smallest value may have no positive counterpart.
                match domain.contains(total) && !domain.contains(total.saturating_neg()) {
                    true => (false, ir::Expr::Const(self.reduce(total, expr.span, sink))),
                    false => {
                        let amount = self.reduce(exact.saturating_abs(), expr.span, sink);
                        (negated != (exact < 0), ir::Expr::Const(amount))
                    }
                }
            }
            Whole::Code(code) => (negated, code),
        };
        Some(Update::new(if negated { UpdateOp::Sub } else { UpdateOp::Add }, amount))
    }

    /// Is the replica's number part of the expression?
    pub(super) fn mentions_replica(&self, expr: &Expr) -> bool {
        expr.terms.iter().any(|term| match term.kind {
            TermKind::Name(name) => self.replica_number(name).is_some(),
            _ => false,
        })
    }

    fn whole(&self, terms: &[Term], span: Span, sink: &mut Sink) -> Option<Whole> {
        let mut machine = Machine { code: Vec::with_capacity(terms.len()), stack: Vec::new() };
        for term in terms {
            match term.kind {
                TermKind::Number(value) => machine.push_exact(value, term.span),
                TermKind::Name(text) => {
                    let name = Name { text, span: term.span };
                    self.name(name, &mut machine, sink)?;
                }
                TermKind::Final(_) => return None, // only conditions have them
                TermKind::Unary(operator) => self.unary(operator, term.span, &mut machine, sink)?,
                TermKind::Binary(operator) => {
                    self.binary(operator, term.span, &mut machine, sink)?;
                }
            }
            if machine.stack.len() > ir::Expr::MAX_STACK {
                sink.push(too_deep(span));
                return None;
            }
        }
        match machine.stack.pop()? {
            (_, Operand::Exact(exact), _) => Some(Whole::Exact(exact)),
            (_, Operand::Code, _) => {
                let code = ir::Expr::from_postfix(machine.code);
                if code.is_none() {
                    sink.push(too_deep(span));
                }
                code.map(Whole::Code)
            }
        }
    }

    fn name(&self, name: Name, machine: &mut Machine, sink: &mut Sink) -> Option<()> {
        if let Some((reg, _)) = self.locals.get(name.text) {
            let start = machine.code.len();
            machine.code.push(Op::Reg(*reg));
            machine.stack.push((start, Operand::Code, name.span));
        } else if let Some(number) = self.replica_number(name.text) {
            machine.push_exact(Exact::from(number), name.span);
        } else if let Some((value, _)) = self.globals.constants.get(name.text) {
            machine.push_exact(*value, name.span);
        } else {
            sink.push(self.not_a_value(name));
            return None;
        }
        Some(())
    }

    fn not_a_value(&self, name: Name) -> Diagnostic {
        if let Some(shared) = self.globals.shared.get(name.text) {
            let load = match shared.kind {
                LocationKind::Atomic => "load",
                LocationKind::NonAtomic => "naload",
            };
            let index = if shared.length.is_some() { "[…]" } else { "" };
            let message = format!("the shared location `{}` inside an expression", name.text);
            return Diagnostic::error(codes::SHARED_IN_EXPRESSION, message)
                .with_label(name.span, "every shared access is its own statement")
                .with_help(format!(
                    "first `r = {}{index}.{load}();`, then use the local `r` here",
                    name.text
                ));
        }
        let locals = self.locals.keys().copied();
        let constants = self.globals.constants.keys().copied();
        let error = unknown(name, "a local or constant", locals.chain(constants));
        if matches!(name.text, "rlx" | "acq" | "rel" | "sc" | "seq_cst") {
            return error.with_help("a mode stands last, after the values");
        }
        error
    }

    fn unary(
        &self,
        operator: Unary,
        span: Span,
        machine: &mut Machine,
        sink: &mut Sink,
    ) -> Option<()> {
        let (start, operand, inner) = machine.stack.pop()?;
        let operand = match operand {
            Operand::Exact(exact) => match constant::unary(operator, exact) {
                Some(result) => Operand::Exact(result),
                None => Operand::Exact(-Exact::from(self.reduce(exact, inner, sink))),
            },
            Operand::Code => {
                machine.code.push(Op::Unary(operator));
                Operand::Code
            }
        };
        machine.stack.push((start, operand, span));
        Some(())
    }

    fn binary(
        &self,
        operator: Binary,
        span: Span,
        machine: &mut Machine,
        sink: &mut Sink,
    ) -> Option<()> {
        let mut right = machine.stack.pop()?;
        let left = machine.stack.pop()?;
        if let ((start, Operand::Exact(a), left), (_, Operand::Exact(b), right)) = (&left, &right) {
            let divides_by_zero = *b == 0 && matches!(operator, Binary::Div | Binary::Rem);
            let result = match constant::binary(operator, *a, *b) {
                None if !divides_by_zero => {
                    let a = Exact::from(self.reduce(*a, *left, sink));
                    let b = Exact::from(self.reduce(*b, *right, sink));
                    constant::binary(operator, a, b)
                }
                result => result,
            };
            if let Some(result) = result {
                machine.code.truncate(start + 1);
                machine.stack.push((*start, Operand::Exact(result), span));
                return Some(());
            }
        }
        if let (Binary::Rem, Operand::Exact(modulus)) = (operator, &right.1)
            && *modulus > self.globals.domain.largest_magnitude()
        {
            // All values are smaller than the modulus: `(r + 1) % N` where values end at `N - 1`.
            machine.code.truncate(right.0);
            machine.stack.push((left.0, left.1, span));
            return Some(());
        }
        if matches!(operator, Binary::Div | Binary::Rem)
            && let Operand::Exact(exact) = right.1
            && self.wrap(exact) == 0
        {
            sink.push(self.divides_by_zero(exact, right.2));
            right.1 = Operand::Exact(0);
        }
        let start = left.0;
        for (at, operand, span) in [&left, &right] {
            if let Operand::Exact(exact) = operand {
                machine.code[*at] = Op::Const(self.reduce(*exact, *span, sink));
            }
        }
        machine.code.push(Op::Binary(operator));
        machine.stack.push((start, Operand::Code, span));
        Some(())
    }

    /// Brings a constant into the domain, with a warning if that changes it.
    fn reduce(&self, exact: Exact, span: Span, sink: &mut Sink) -> Value {
        let domain = self.globals.domain;
        if let Some(value) = domain.value(exact) {
            return value;
        }
        let reduced = self.wrap(exact);
        let mut warning = Diagnostic::warning(
            codes::WRAPS,
            format!("{exact} is outside {domain} and wraps around to {reduced}"),
        )
        .with_label(span, format!("becomes {reduced}"));
        if !self.globals.says_values {
            warning = warning.with_help("`max_value N;` makes N the largest value");
        }
        sink.push(warning);
        reduced
    }

    fn wrap(&self, exact: Exact) -> Value {
        let domain = self.globals.domain;
        domain.reduce(exact, &mut Notes::default()).unwrap_or(domain.min)
    }

    fn divides_by_zero(&self, exact: Exact, span: Span) -> Diagnostic {
        let domain = self.globals.domain;
        let warning = Diagnostic::warning(codes::DIVIDES_BY_ZERO, "this divides by zero");
        if exact == 0 {
            return warning.with_label(span, "this is 0; the check fails wherever it is reached");
        }
        warning
            .with_label(span, format!("{exact} is outside {domain} and wraps around to 0"))
            .with_help("a larger `max_value` makes room for it")
    }
}

impl Machine {
    fn push_exact(&mut self, value: Exact, span: Span) {
        self.stack.push((self.code.len(), Operand::Exact(value), span));
        self.code.push(Op::Const(0));
    }
}

pub(super) fn too_deep(span: Span) -> Diagnostic {
    let message =
        format!("this expression needs more than {} intermediate results", ir::Expr::MAX_STACK);
    Diagnostic::error(codes::LIMIT, message)
        .with_label(span, "nested too deeply to the right")
        .with_help("compute a part of it in a statement of its own")
}
