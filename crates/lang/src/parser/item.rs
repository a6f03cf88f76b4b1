//! The top level of a file: declarations and threads.

use super::{Parse, Parser};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::Kind;
use crate::source::Span;
use crate::suggest;
use crate::syntax::{Block, Constant, Declaration, Exact, Hint, Initial, Name, Thread, Unit};
use ir::LocationKind;
use ir::expr::Binary;

const ITEMS: [&str; 12] = [
    "thread",
    "fn",
    "proc",
    "global",
    "atomic",
    "na",
    "const",
    "max_value",
    "values",
    "track",
    "exists",
    "forall",
];
const LATER: [&str; 4] = ["space", "library", "spec", "client"];

impl<'a> Parser<'a, '_> {
    pub(super) fn item(&mut self, unit: &mut Unit<'a>) -> Parse<()> {
        if self.kind() == Kind::Tilde {
            return self.condition(unit);
        }
        if self.kind() != Kind::Name {
            return self.unexpected_item();
        }
        match self.word() {
            "exists" | "forall" => self.condition(unit)?,
            "max_value" | "values" => {
                let values = self.values()?;
                unit.values.push(values);
            }
            "const" => {
                self.advance();
                let name = self.new_name("the constant's name")?;
                self.expect(Kind::Assign)?;
                let value = self.expression()?;
                unit.constants.push(Constant { name, value });
                self.expect(Kind::Semicolon)?;
            }
            "global" | "atomic" => self.declarations(LocationKind::Atomic, unit)?,
            "na" => self.declarations(LocationKind::NonAtomic, unit)?,
            "track" => self.track(unit)?,
            "proc" => {
                self.in_procedure = true;
                let procedure = self.method_item("the procedure's name");
                self.in_procedure = false;
                unit.procedures.push(procedure?);
            }
            "fn" | "thread" => {
                let thread = self.thread()?;
                unit.threads.push(thread);
            }
            word if LATER.contains(&word) => return self.unsupported(word),
            _ => return self.unexpected_item(),
        }
        Ok(())
    }

    fn unexpected_item<T>(&mut self) -> Parse<T> {
        let help = match self.kind() {
            Kind::Name => suggest::nearest(self.word(), ITEMS)
                .map(|near| format!("did you mean `{near}`?"))
                .or_else(|| Some("statements stand inside a thread: `thread t { … }`".to_string())),
            Kind::CloseBrace => Some("this brace closes nothing".to_string()),
            _ => None,
        };
        self.no_start(&["a declaration", "a thread"], help)
    }

    fn unsupported<T>(&mut self, word: &str) -> Parse<T> {
        let span = self.span();
        // What these items contain has a grammar of its own; nothing after can be trusted.
        self.gave_up = true;
        self.fail(
            Diagnostic::error(codes::UNSUPPORTED, format!("`{word}` is not supported by `check`"))
                .with_label(span, "an item for checking libraries against specifications")
                .with_help("`fencepost refine` reads files with libraries"),
        )
    }

    pub(super) fn declarations(&mut self, kind: LocationKind, unit: &mut Unit<'a>) -> Parse<()> {
        self.advance();
        loop {
            let declaration = self.declaration(kind)?;
            unit.locations.push(declaration);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        match self.kind() {
            Kind::Semicolon => {
                self.advance();
                Ok(())
            }
            _ => self.unexpected(&["`,`", "`;`"]),
        }
    }

    fn declaration(&mut self, kind: LocationKind) -> Parse<Declaration<'a>> {
        let name = self.new_name("the location's name")?;
        let mut length = None;
        if self.eat(Kind::OpenBracket) {
            length = Some(self.expression()?);
            self.expect(Kind::CloseBracket)?;
        }
        let mut initial = Initial::Zero;
        if self.eat(Kind::Assign) {
            initial = if self.kind() == Kind::OpenBrace && length.is_some() {
                self.initial_values()?
            } else {
                Initial::All(self.expression()?)
            };
        }
        Ok(Declaration { name, kind, length, initial })
    }

    fn initial_values(&mut self) -> Parse<Initial<'a>> {
        let open = self.expect(Kind::OpenBrace)?;
        let mut values = vec![self.expression()?];
        while self.eat(Kind::Comma) {
            values.push(self.expression()?);
        }
        match self.kind() {
            Kind::CloseBrace => Ok(Initial::Each(values, open.to(self.advance().span()))),
            _ => self.unexpected(&["`,`", "`}`"]),
        }
    }

    fn track(&mut self, unit: &mut Unit<'a>) -> Parse<()> {
        self.advance();
        let name = self.name("a location's name")?;
        self.expect(Kind::Colon)?;
        let mut values = None;
        if !self.eat_keyword("all") {
            let mut list = vec![self.tracked_value()?];
            while self.eat(Kind::Comma) {
                list.push(self.tracked_value()?);
            }
            values = Some(list);
        }
        self.expect(Kind::Semicolon)?;
        unit.tracks.push(Hint { name, values });
        Ok(())
    }

    fn tracked_value(&mut self) -> Parse<(Exact, Span)> {
        if !matches!(self.kind(), Kind::Number | Kind::Operator(Binary::Sub)) {
            return self.unexpected(&["`all`", "a number"]);
        }
        self.signed_number()
    }

    pub(super) fn thread(&mut self) -> Parse<Thread<'a>> {
        self.advance();
        let name = self.new_name("the thread's name")?;
        let mut count = None;
        if self.eat(Kind::OpenBracket) {
            count = Some(self.expression()?);
            self.expect(Kind::CloseBracket)?;
        }
        if self.kind() == Kind::OpenParen {
            return self.unexpected_with(
                &["`{`"],
                Some("threads have no parameters; locals are declared by `local r;`".to_string()),
            );
        }
        if self.kind() != Kind::OpenBrace {
            return self.unexpected(if count.is_some() { &["`{`"] } else { &["`{`", "`[`"] });
        }
        let open = self.advance().span();
        let (locals, body) = self.locals_and_block(open)?;
        Ok(Thread { name, count, locals, body })
    }

    /// What follows an opening brace: declarations of locals, then the rest of the block.
    pub(super) fn locals_and_block(&mut self, open: Span) -> Parse<(Vec<Name<'a>>, Block<'a>)> {
        let mut locals = Vec::new();
        while self.at_keyword("local") && self.kind_at(1) == Kind::Name {
            if self.locals(&mut locals).is_err() {
                self.skip_statement();
            }
        }
        Ok((locals, self.block_after(open)?))
    }

    fn locals(&mut self, locals: &mut Vec<Name<'a>>) -> Parse<()> {
        self.advance();
        loop {
            locals.push(self.new_name("the local's name")?);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        match self.kind() {
            Kind::Semicolon => {
                self.advance();
                Ok(())
            }
            Kind::Assign => self.unexpected_with(
                &["`,`", "`;`"],
                Some("locals start at 0; assign in a statement of its own".to_string()),
            ),
            _ => self.unexpected(&["`,`", "`;`"]),
        }
    }
}
