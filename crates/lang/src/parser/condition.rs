//! Final conditions: `exists (left.r == 0 && x == 1);`

use super::{Parse, Parser};
use crate::lexer::Kind;
use crate::source::Span;
use crate::syntax::{Condition, Exact, Final, Name, TermKind, Unit};
use ir::Quantifier;

impl<'a> Parser<'a, '_> {
    /// `exists`, `~exists` or `forall`, a formula in parentheses, and a semicolon.
    pub(super) fn condition(&mut self, unit: &mut Unit<'a>) -> Parse<()> {
        let start = self.span();
        let negated = self.eat(Kind::Tilde);
        let quantifier = match (negated, self.word()) {
            (true, "exists") => Quantifier::NotExists,
            (true, _) => return self.unexpected(&["`exists`"]),
            (false, "forall") => Quantifier::Forall,
            (false, _) => Quantifier::Exists,
        };
        self.advance();
        if self.kind() != Kind::OpenParen {
            return self.unexpected(&["`(`"]);
        }
        self.in_condition = true;
        let formula = self.expression();
        self.in_condition = false;
        let formula = formula?;
        let span = start.to(self.last_span());
        self.expect(Kind::Semicolon)?;
        unit.conditions.push(Condition { quantifier, formula, span });
        Ok(())
    }

    /// A number, or something with a final value.
    pub(super) fn observed(&mut self) -> Parse<(TermKind<'a>, Span)> {
        let start = self.span();
        if self.kind() == Kind::Number {
            let (value, _) = self.number("a number")?;
            if !self.eat(Kind::Colon) {
                return Ok((TermKind::Number(value), start));
            }
            let local = self.name("a local's name")?;
            let what = Final::OfNumber { thread: value, local };
            return Ok((TermKind::Final(what), start.to(local.span)));
        }
        let name = self.name("a name")?;
        let index = self.constant_index()?;
        let kind = match (self.eat(Kind::Dot), index) {
            (true, replica) => {
                let local = self.name("a local's name")?;
                TermKind::Final(Final::Local { thread: name, replica, local })
            }
            (false, Some(index)) => TermKind::Final(Final::Element { array: name, index }),
            (false, None) => plain(name),
        };
        Ok((kind, start.to(self.last_span())))
    }

    fn constant_index(&mut self) -> Parse<Option<Exact>> {
        if !self.eat(Kind::OpenBracket) {
            return Ok(None);
        }
        let (index, _) = self.number("a number")?;
        self.expect(Kind::CloseBracket)?;
        Ok(Some(index))
    }
}

fn plain(name: Name<'_>) -> TermKind<'_> {
    match name.text {
        "true" => TermKind::Number(1),
        "false" => TermKind::Number(0),
        text => TermKind::Name(text),
    }
}
