//! Expressions, by operator precedence with an explicit stack: neither long chains nor deep
//! parentheses use the machine's stack.
//!
//! C gives `&`, `^` and `|` a lower precedence than comparisons, so that `c & 1 == 1` is
//! `c & (1 == 1)`. The language keeps C's reading and the parser warns.

use super::{Failed, Parse, Parser};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::Kind;
use crate::source::Span;
use crate::syntax::{Expr, Term, TermKind};
use ir::expr::{Binary, Unary};

/// An operator or parenthesis whose right side is still being read.
enum Pending {
    Paren(Span),
    Unary(Unary, Span),
    Binary(Binary),
}

/// A finished operand: where it starts and ends, and what its outermost operator is unless it
/// stands in parentheses.
struct Operand {
    span: Span,
    outermost: Option<Outermost>,
}

/// `left op right`
#[derive(Clone, Copy)]
struct Outermost {
    operator: Binary,
    left: Span,
    right: Span,
}

#[derive(Default)]
struct State<'a> {
    pending: Vec<Pending>,
    operands: Vec<Operand>,
    terms: Vec<Term<'a>>,
}

impl<'a> Parser<'a, '_> {
    pub(super) fn expression(&mut self) -> Parse<Expr<'a>> {
        let mut state = State::default();
        loop {
            self.operand(&mut state)?;
            if !self.operator(&mut state)? {
                break;
            }
        }
        let span = state.operands.pop().map_or(self.span(), |operand| operand.span);
        self.after_expression = Some(self.at);
        Ok(Expr { terms: state.terms, span })
    }

    /// Opening parentheses and signs, then a name or number.
    fn operand(&mut self, state: &mut State<'a>) -> Parse<()> {
        loop {
            let span = self.span();
            match self.kind() {
                Kind::OpenParen => state.pending.push(Pending::Paren(span)),
                Kind::Not => state.pending.push(Pending::Unary(Unary::Not, span)),
                Kind::Operator(Binary::Sub) => {
                    state.pending.push(Pending::Unary(Unary::Neg, span));
                }
                Kind::Operator(Binary::Add) => {}
                Kind::Name | Kind::Number if self.in_condition => {
                    let (kind, span) = self.observed()?;
                    state.leaf(kind, span);
                    return Ok(());
                }
                Kind::Number => {
                    let (value, span) = self.number("a number")?;
                    state.leaf(TermKind::Number(value), span);
                    return Ok(());
                }
                Kind::Name => {
                    self.refuse_access()?;
                    self.advance();
                    let kind = match self.slice(span) {
                        "true" => TermKind::Number(1),
                        "false" => TermKind::Number(0),
                        name => TermKind::Name(name),
                    };
                    state.leaf(kind, span);
                    return Ok(());
                }
                _ => return self.unexpected(&["an expression"]),
            }
            self.advance();
        }
    }

    /// Closing parentheses, then perhaps an operator; says whether there is one.
    fn operator(&mut self, state: &mut State<'a>) -> Parse<bool> {
        loop {
            match self.kind() {
                Kind::CloseParen => {
                    if !self.close(state) {
                        return Ok(false);
                    }
                }
                Kind::Operator(operator) => {
                    self.reduce(state, operator.precedence());
                    state.pending.push(Pending::Binary(operator));
                    self.advance();
                    return Ok(true);
                }
                _ => {
                    self.reduce(state, 0);
                    return match state.pending.last() {
                        Some(Pending::Paren(_)) => {
                            self.after_expression = Some(self.at);
                            self.unexpected(&["`)`"])
                        }
                        _ => Ok(false),
                    };
                }
            }
        }
    }

    /// Ends the innermost parenthesis of this expression; false if there is none.
    fn close(&mut self, state: &mut State<'a>) -> bool {
        self.reduce(state, 0);
        let Some(Pending::Paren(open)) = state.pending.last() else { return false };
        let span = open.to(self.span());
        state.pending.pop();
        if let Some(operand) = state.operands.last_mut() {
            *operand = Operand { span, outermost: None };
        }
        self.advance();
        true
    }

    /// Applies all pending operators that bind at least as tightly as `precedence`, back to the
    /// last open parenthesis.
    fn reduce(&mut self, state: &mut State<'a>, precedence: u8) {
        while let Some(pending) = state.pending.last() {
            match *pending {
                Pending::Paren(_) => return,
                Pending::Unary(operator, start) => {
                    state.pending.pop();
                    state.apply_unary(operator, start);
                }
                Pending::Binary(operator) if operator.precedence() >= precedence => {
                    state.pending.pop();
                    if let Some(warning) = state.apply_binary(operator, self.text) {
                        self.sink.push(warning);
                    }
                }
                Pending::Binary(_) => return,
            }
        }
    }

    /// Reports a name that is used as if expressions could access shared memory.
    fn refuse_access(&mut self) -> Parse<()> {
        let what = match self.kind_at(1) {
            Kind::Dot => "an access to shared memory",
            Kind::OpenBracket => "an array element",
            Kind::OpenParen if is_operation(self.word()) => "an operation on shared memory",
            Kind::OpenParen => {
                let message = format!("there is no function `{}`", self.word());
                let error = Diagnostic::error(codes::UNKNOWN_NAME, message)
                    .with_label(self.span(), "expressions have no calls");
                self.sink.push(error);
                return Err(Failed);
            }
            _ => return Ok(()),
        };
        let span = self.span();
        let example = match (self.kind_at(1), self.word()) {
            (Kind::OpenBracket, name) => format!("r = {name}[…].load();"),
            (Kind::OpenParen, name) => format!("r = {name}(…);"),
            (_, name) => format!("r = {name}.load();"),
        };
        self.fail(
            Diagnostic::error(codes::SHARED_IN_EXPRESSION, format!("{what} inside an expression"))
                .with_label(span, "every shared access is its own statement")
                .with_help(format!("first `{example}`, then use the local `r` here")),
        )
    }
}

fn is_operation(name: &str) -> bool {
    matches!(name, "FADD" | "CAS" | "exchange" | "wait" | "BCAS" | "oneof")
}

impl<'a> State<'a> {
    fn leaf(&mut self, kind: TermKind<'a>, span: Span) {
        self.terms.push(Term { kind, span });
        self.operands.push(Operand { span, outermost: None });
    }

    fn apply_unary(&mut self, operator: Unary, start: Span) {
        if let Some(operand) = self.operands.last_mut() {
            let span = start.to(operand.span);
            *operand = Operand { span, outermost: None };
            self.terms.push(Term { kind: TermKind::Unary(operator), span });
        }
    }

    fn apply_binary(&mut self, operator: Binary, text: &str) -> Option<Diagnostic> {
        let right = self.operands.pop()?;
        let left = self.operands.pop()?;
        let span = left.span.to(right.span);
        self.terms.push(Term { kind: TermKind::Binary(operator), span });
        let outermost = Outermost { operator, left: left.span, right: right.span };
        self.operands.push(Operand { span, outermost: Some(outermost) });
        surprise(operator, &left, &right, text)
    }
}

fn is_comparison(operator: Binary) -> bool {
    matches!(operator.precedence(), 6 | 7)
}

/// A warning if C reads `left operator right` differently from what it looks like.
fn surprise(operator: Binary, left: &Operand, right: &Operand, text: &str) -> Option<Diagnostic> {
    if !matches!(operator, Binary::BitAnd | Binary::BitOr | Binary::BitXor) {
        return None;
    }
    let show = |span: Span| &text[span.start..span.end];
    let comparison = |operand: &Operand| operand.outermost.filter(|o| is_comparison(o.operator));
    let symbol = operator.symbol();
    let whole = left.span.to(right.span);
    if whole.end - whole.start > 200 {
        return None;
    }
    let (read, other) = match (comparison(left), comparison(right)) {
        (_, Some(inner)) => (
            format!("{} {symbol} ({})", show(left.span), show(right.span)),
            format!(
                "({} {symbol} {}) {} {}",
                show(left.span),
                show(inner.left),
                inner.operator.symbol(),
                show(inner.right)
            ),
        ),
        (Some(inner), None) => (
            format!("({}) {symbol} {}", show(left.span), show(right.span)),
            format!(
                "{} {} ({} {symbol} {})",
                show(inner.left),
                inner.operator.symbol(),
                show(inner.right),
                show(right.span)
            ),
        ),
        (None, None) => return None,
    };
    let message = format!("`{symbol}` binds less tightly than a comparison");
    Some(
        Diagnostic::warning(codes::PRECEDENCE, message)
            .with_label(whole, format!("is read as `{read}`"))
            .with_help(format!("write `{read}` to keep this meaning, or `{other}` for the other")),
    )
}
