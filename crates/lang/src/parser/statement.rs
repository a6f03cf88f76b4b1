//! Statements and blocks.

use super::operation::update;
use super::{Failed, MAX_NESTING, Parse, Parser, symbol};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::Kind;
use crate::source::Span;
use crate::suggest;
use crate::syntax::{Arm, Block, For, Statement, StatementKind};

/// The words that start a statement, beside the names of read-modify-writes.
const STATEMENTS: [&str; 25] = [
    "if",
    "while",
    "do",
    "for",
    "break",
    "continue",
    "goto",
    "oneof",
    "skip",
    "assert",
    "assume",
    "verify",
    "FADD",
    "CAS",
    "weak_CAS",
    "BCAS",
    "wait",
    "fence",
    "lock",
    "unlock",
    "atomic",
    "bus_lock",
    "bus_unlock",
    "spawn",
    "join",
];

impl<'a> Parser<'a, '_> {
    fn block(&mut self) -> Parse<Block<'a>> {
        let open = self.expect(Kind::OpenBrace)?;
        self.block_after(open)
    }

    /// The rest of a block whose opening brace was read.
    pub(super) fn block_after(&mut self, open: Span) -> Parse<Block<'a>> {
        if self.nesting == MAX_NESTING {
            self.gave_up = true;
            let message = format!("blocks nest deeper than {MAX_NESTING}");
            return self
                .fail(Diagnostic::error(codes::LIMIT, message).with_label(open, "one too many"));
        }
        self.nesting += 1;
        let mut statements = Vec::new();
        while self.kind() != Kind::CloseBrace {
            if self.kind() == Kind::End || self.at_next_thread() {
                return self.unclosed(open);
            }
            match self.statement() {
                Ok(statement) => statements.push(statement),
                Err(Failed) if self.gave_up || self.sink.is_full() => {
                    self.gave_up = true;
                    return Err(Failed);
                }
                Err(Failed) => self.skip_statement(),
            }
        }
        self.nesting -= 1;
        Ok(Block { statements, end: self.advance().span() })
    }

    /// Does the next thread start here, because a brace is missing?
    fn at_next_thread(&self) -> bool {
        (self.at_keyword("thread") || self.at_keyword("fn"))
            && self.kind_at(1) == Kind::Name
            && matches!(self.kind_at(2), Kind::OpenBrace | Kind::OpenBracket)
    }

    pub(super) fn unclosed<T>(&mut self, open: Span) -> Parse<T> {
        self.gave_up = true;
        let found = self.describe();
        let span = match self.kind() {
            Kind::End => Span::new(self.last_span().end, self.last_span().end),
            _ => self.span(),
        };
        self.fail(
            Diagnostic::error(codes::SYNTAX, format!("expected `}}`, found {found}"))
                .with_label(span, "expected `}`")
                .with_label(open, "this brace is not closed"),
        )
    }

    fn statement(&mut self) -> Parse<Statement<'a>> {
        let mut labels = Vec::new();
        while self.kind() == Kind::Name && self.kind_at(1) == Kind::Colon {
            labels.push(self.name("a label")?);
            self.advance();
        }
        let start = self.span();
        let (kind, span) = match self.kind() {
            Kind::CloseBrace if !labels.is_empty() => (StatementKind::Skip, self.last_span()),
            Kind::Semicolon => {
                self.advance();
                (StatementKind::Skip, start)
            }
            Kind::Name if matches!(self.kind_at(1), Kind::Dot | Kind::OpenBracket) => {
                let kind = self.store()?;
                self.end_simple(start, kind)?
            }
            Kind::Name if self.kind_at(1) == Kind::Assign => {
                let kind = self.assignment()?;
                self.end_simple(start, kind)?
            }
            Kind::Name if self.kind_at(1) == Kind::Comma => {
                let kind = self.two_results()?;
                self.end_simple(start, kind)?
            }
            Kind::Name => self.keyword_statement(start)?,
            _ => return self.no_start(&["a statement"], None),
        };
        Ok(Statement { labels, span, kind })
    }

    fn end_simple(
        &mut self,
        start: Span,
        kind: StatementKind<'a>,
    ) -> Parse<(StatementKind<'a>, Span)> {
        let span = start.to(self.last_span());
        self.expect(Kind::Semicolon)?;
        Ok((kind, span))
    }

    fn keyword_statement(&mut self, start: Span) -> Parse<(StatementKind<'a>, Span)> {
        let word = self.word();
        // Where there are methods, `lock` is likely to be one; locks are taken by `acquire`.
        let is_call = self.kind_at(1) == Kind::OpenParen
            && (self.procedures.contains(&word)
                || self.calls && matches!(word, "lock" | "unlock" | "spawn" | "join"));
        let is_known = STATEMENTS.contains(&word) || update(word).is_some();
        if is_call || !is_known {
            let returns = word == "return" && (self.calls || self.in_procedure);
            if is_call || returns || self.calls && self.kind_at(1) == Kind::OpenParen {
                let kind = self.library_statement()?;
                return self.end_simple(start, kind);
            }
            return self.unknown_statement();
        }
        self.advance();
        let kind = match word {
            "if" => return self.if_statement(start),
            "while" => {
                let condition = self.expression()?;
                let head = start.to(self.last_span());
                let body = self.block()?;
                return Ok((StatementKind::While(condition, body), head));
            }
            "do" => {
                let body = self.block()?;
                if !self.eat_keyword("while") {
                    return self.unexpected(&["`while`"]);
                }
                StatementKind::DoWhile(body, self.expression()?)
            }
            "for" => return self.for_statement(start),
            "break" => StatementKind::Break,
            "continue" => StatementKind::Continue,
            "spawn" => StatementKind::Spawn(self.indexed_name("a thread")?),
            "join" => StatementKind::Join(self.indexed_name("a thread")?),
            "weak_CAS" => self.weak_cas(None, None)?,
            "oneof" => {
                let blocks = self.choices()?;
                self.expect(Kind::Semicolon)?;
                return Ok((StatementKind::OneOf(blocks), start));
            }
            "atomic" if self.kind() == Kind::OpenBrace => {
                return Ok((StatementKind::Atomic(self.block()?), start));
            }
            "atomic" if self.eat_keyword("begin") => StatementKind::AtomicBegin,
            "atomic" if self.eat_keyword("end") => StatementKind::AtomicEnd,
            "atomic" => return self.unexpected(&["`{`"]),
            "goto" => StatementKind::Goto(self.name("a label")?),
            "skip" => StatementKind::Skip,
            "assert" => StatementKind::Assert(self.argument()?),
            "assume" => StatementKind::Assume(self.argument()?),
            "verify" => StatementKind::Verify(self.argument()?),
            "BCAS" => self.blocking_cas()?,
            "wait" => self.wait(None)?,
            "fence" => self.fence()?,
            "lock" => StatementKind::Lock(self.only_place()?),
            "unlock" => StatementKind::Unlock(self.only_place()?),
            "bus_lock" => StatementKind::BusLock,
            "bus_unlock" => StatementKind::BusUnlock,
            _ => StatementKind::Rmw(None, self.rmw(word)?),
        };
        self.end_simple(start, kind)
    }

    /// What follows `for`.
    fn for_statement(&mut self, start: Span) -> Parse<(StatementKind<'a>, Span)> {
        self.expect(Kind::OpenParen)?;
        let init = self.header_statement(Kind::Semicolon)?;
        self.expect(Kind::Semicolon)?;
        let condition = match self.kind() {
            Kind::Semicolon => None,
            _ => Some(self.expression()?),
        };
        self.expect(Kind::Semicolon)?;
        let step = self.header_statement(Kind::CloseParen)?;
        let head = start.to(self.expect(Kind::CloseParen)?);
        let body = self.block()?;
        Ok((StatementKind::For(Box::new(For { init, condition, step, body })), head))
    }

    /// An assignment or a store without its semicolon, or nothing before `end`.
    fn header_statement(&mut self, end: Kind) -> Parse<Option<Statement<'a>>> {
        let start = self.span();
        let kind = match (self.kind(), self.kind_at(1)) {
            (kind, _) if kind == end => return Ok(None),
            (Kind::Name, Kind::Assign) => self.assignment()?,
            (Kind::Name, Kind::Dot | Kind::OpenBracket) => self.store()?,
            _ => return self.unexpected(&["an assignment", symbol(end)]),
        };
        Ok(Some(Statement { labels: Vec::new(), span: start.to(self.last_span()), kind }))
    }

    fn if_statement(&mut self, start: Span) -> Parse<(StatementKind<'a>, Span)> {
        let condition = self.expression()?;
        let head = start.to(self.last_span());
        if self.eat_keyword("goto") {
            let label = self.name("a label")?;
            return self.end_simple(start, StatementKind::IfGoto(condition, label));
        }
        if self.kind() != Kind::OpenBrace {
            return self.unexpected(&["`{`", "`goto`"]);
        }
        let block = self.block()?;
        let mut arms = vec![Arm { head, condition, block }];
        let mut otherwise = None;
        while otherwise.is_none() && self.eat_keyword("else") {
            let start = self.span();
            if self.eat_keyword("if") {
                let condition = self.expression()?;
                let head = start.to(self.last_span());
                let block = self.block()?;
                arms.push(Arm { head, condition, block });
            } else if self.kind() == Kind::OpenBrace {
                otherwise = Some(self.block()?);
            } else {
                return self.unexpected(&["`{`", "`if`"]);
            }
        }
        Ok((StatementKind::If(arms, otherwise), head))
    }

    fn choices(&mut self) -> Parse<Vec<Block<'a>>> {
        self.expect(Kind::OpenParen)?;
        if self.kind() != Kind::OpenBrace {
            let help = "a value is chosen by `r = oneof(1, 2);`".to_string();
            return self.unexpected_with(&["`{`"], Some(help));
        }
        let mut blocks = vec![self.block()?];
        while self.kind() == Kind::OpenBrace {
            blocks.push(self.block()?);
        }
        match self.kind() {
            Kind::CloseParen => {
                self.advance();
                Ok(blocks)
            }
            _ => self.unexpected(&["`{`", "`)`"]),
        }
    }

    fn unknown_statement<T>(&mut self) -> Parse<T> {
        let word = self.word();
        let help = match word {
            "else" => Some("`else` follows the `}` of an `if`".to_string()),
            "local" => Some("locals are declared first in their thread: `local r;`".to_string()),
            "switch" => Some("cases are written with `if` and `else if`".to_string()),
            "return" => {
                Some("only a `proc` returns; a thread ends where its text ends".to_string())
            }
            _ => suggest::nearest(word, self.procedures.iter().copied().chain(STATEMENTS))
                .map(|near| format!("did you mean `{near}`?"))
                .or_else(|| {
                    (self.kind_at(1) == Kind::Name)
                        .then(|| "a label is followed by a colon".to_string())
                }),
        };
        self.no_start(&["a statement"], help)
    }
}
