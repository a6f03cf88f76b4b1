//! Constant expressions of declarations: array lengths, initial values, numbers of threads.
//!
//! They are computed exactly, as 128-bit integers: they describe the program and are no part of its
//! arithmetic, which wraps around at the largest value.

use super::declare::Globals;
use super::unknown;
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Span;
use crate::syntax::{Exact, Expr, Name, TermKind};
use ir::expr::{Binary, Unary};

impl Globals<'_> {
    /// The value of a constant expression; `None` if it has none, which is reported.
    pub(super) fn evaluate(&self, expr: &Expr, sink: &mut Sink) -> Option<Exact> {
        let mut stack: Vec<Exact> = Vec::new();
        for term in &expr.terms {
            let value = match term.kind {
                TermKind::Number(value) => Some(value),
                TermKind::Name(text) => Some(self.constant(Name { text, span: term.span }, sink)?),
                TermKind::Final(_) => None, // only conditions have them
                TermKind::Unary(operator) => unary(operator, stack.pop()?),
                TermKind::Binary(operator) => {
                    let right = stack.pop()?;
                    let left = stack.pop()?;
                    if right == 0 && matches!(operator, Binary::Div | Binary::Rem) {
                        sink.push(no_value(term.span, "this divides by zero"));
                        return None;
                    }
                    binary(operator, left, right)
                }
            };
            let Some(value) = value else {
                sink.push(no_value(term.span, "this is too large"));
                return None;
            };
            stack.push(value);
        }
        stack.pop()
    }

    fn constant(&self, name: Name, sink: &mut Sink) -> Option<Exact> {
        if let Some((value, _)) = self.constants.get(name.text) {
            return Some(*value);
        }
        if sink.is_full() {
            return None;
        }
        let known = self.constants.keys().copied();
        sink.push(unknown(name, "a constant declared above", known));
        None
    }
}

fn no_value(span: Span, label: &str) -> Diagnostic {
    Diagnostic::error(codes::CONSTANT, "this constant expression has no value")
        .with_label(span, label)
}

/// The exact result; `None` if 128 bits cannot hold it.
pub(super) fn unary(operator: Unary, a: Exact) -> Option<Exact> {
    match operator {
        Unary::Not => Some(Exact::from(a == 0)),
        Unary::Neg => a.checked_neg(),
    }
}

/// The exact result; `None` if 128 bits cannot hold it or there is none.
pub(super) fn binary(operator: Binary, a: Exact, b: Exact) -> Option<Exact> {
    Some(match operator {
        Binary::Or => Exact::from(a != 0 || b != 0),
        Binary::And => Exact::from(a != 0 && b != 0),
        Binary::BitOr => a | b,
        Binary::BitXor => a ^ b,
        Binary::BitAnd => a & b,
        Binary::Eq => Exact::from(a == b),
        Binary::Ne => Exact::from(a != b),
        Binary::Lt => Exact::from(a < b),
        Binary::Le => Exact::from(a <= b),
        Binary::Gt => Exact::from(a > b),
        Binary::Ge => Exact::from(a >= b),
        Binary::Add => return a.checked_add(b),
        Binary::Sub => return a.checked_sub(b),
        Binary::Mul => return a.checked_mul(b),
        Binary::Div => return a.checked_div(b),
        Binary::Rem => return a.checked_rem(b),
    })
}
