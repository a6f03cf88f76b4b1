//! Expressions, with C's precedence. Shared accesses inside become steps before the one that uses them.

use super::Function;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::litmus::lexer::{Kind, Read};
use crate::litmus::threads;
use crate::source::Span;
use ir::expr::{Binary, Unary};
use ir::{Expr, Instr, ReadMode};

impl Function<'_, '_, '_> {
    pub(super) fn expression(&mut self) -> Read<Expr> {
        self.binary(0)
    }

    /// Operators that bind tighter than `above`.
    fn binary(&mut self, above: u8) -> Read<Expr> {
        self.deeper()?;
        let mut left = self.operand()?;
        while let Some(operator) = operator(self.reader.token().text)
            && operator.precedence() > above
        {
            let span = self.reader.advance().span;
            let before = self.here();
            let right = self.binary(operator.precedence())?;
            if matches!(operator, Binary::And | Binary::Or) && self.here() != before {
                let what = "a shared access to the right of `&&` or `||`";
                return self.reader.unsupported(span, what, "put it into an `if` of its own");
            }
            left = match threads::binary(operator, left, right) {
                Some(both) => both,
                None => return self.too_deep(span),
            };
        }
        if matches!(self.reader.token().text, "?" | "<<" | ">>") {
            let (span, text) = (self.reader.span(), self.reader.token().text);
            let what = format!("the operator `{text}`");
            return self.reader.unsupported(span, &what, "use `if`, `*` or `/`");
        }
        self.depth -= 1;
        Ok(left)
    }

    fn too_deep<T>(&mut self, span: Span) -> Read<T> {
        let error =
            Diagnostic::error(codes::LIMIT, "this expression is nested too deeply or too large");
        self.reader.fail(error.with_label(span, "here"))
    }

    pub(super) fn unary(&mut self, operator: Unary, value: Expr) -> Read<Expr> {
        let span = self.reader.last_span();
        match Expr::unary(operator, value) {
            Some(value) => Ok(value),
            None => self.too_deep(span),
        }
    }

    fn operand(&mut self) -> Read<Expr> {
        let token = self.reader.token();
        match (token.kind, token.text) {
            (Kind::Number, _) => Ok(Expr::Const(self.reader.number("a number")?)),
            (_, "(") => {
                self.reader.advance();
                if crate::litmus::initial::is_type(self.reader.token()) {
                    let help = "all values of a test have one type";
                    return self.reader.unsupported(token.span, "casts", help);
                }
                let inner = self.expression()?;
                self.reader.expect(")")?;
                Ok(inner)
            }
            (_, "!" | "-") => {
                self.deeper()?;
                self.reader.advance();
                let inner = self.operand()?;
                self.depth -= 1;
                match (token.text, &inner) {
                    ("-", Expr::Const(value)) => Ok(Expr::Const(value.wrapping_neg())),
                    ("-", _) => self.unary(Unary::Neg, inner),
                    _ => self.negation(inner),
                }
            }
            (_, "*") => self.plain_load(),
            (Kind::Name, _) if self.reader.ahead(1).text == "(" => self.call(),
            (Kind::Name, _) if self.reader.ahead(1).text == "{" => {
                let what = format!("`{}{{…}}`, one of Linux's primitives", token.text);
                self.reader.unsupported(token.span, &what, "tests use C11's atomic operations")
            }
            (Kind::Name, _) if self.is_element() => self.plain_load(),
            (Kind::Name, "true") => {
                self.reader.advance();
                Ok(Expr::Const(1))
            }
            (Kind::Name, "false") => {
                self.reader.advance();
                Ok(Expr::Const(0))
            }
            (Kind::Name, _) => {
                self.reader.advance();
                Ok(Expr::Reg(self.local(token)?))
            }
            (_, "~" | "&" | "++" | "--") => {
                let what = format!("the operator `{}` here", token.text);
                self.reader.unsupported(
                    token.span,
                    &what,
                    "values are computed with + - * / % & | ^",
                )
            }
            _ => self.reader.unexpected("an expression"),
        }
    }

    fn plain_load(&mut self) -> Read<Expr> {
        let start = self.reader.span();
        let place = self.dereferenced()?;
        let span = start.to(self.reader.last_span());
        let dst = self.threads.temporary(self.tid, span, self.reader)?;
        self.emit(Instr::Load { dst, place, mode: ReadMode::Na }, span);
        Ok(Expr::Reg(dst))
    }
}

fn operator(text: &str) -> Option<Binary> {
    Some(match text {
        "||" => Binary::Or,
        "&&" => Binary::And,
        "|" => Binary::BitOr,
        "^" => Binary::BitXor,
        "&" => Binary::BitAnd,
        "==" => Binary::Eq,
        "!=" => Binary::Ne,
        "<" => Binary::Lt,
        "<=" => Binary::Le,
        ">" => Binary::Gt,
        ">=" => Binary::Ge,
        "+" => Binary::Add,
        "-" => Binary::Sub,
        "*" => Binary::Mul,
        "/" => Binary::Div,
        "%" => Binary::Rem,
        _ => return None,
    })
}
