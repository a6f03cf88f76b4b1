//! Tokens to a syntax tree, by recursive descent for blocks and without recursion for expressions.
//!
//! An error is reported once and its statement (or item) skipped, so that one mistake does not
//! drown the next. Keywords are contextual: `wait` is a keyword before `(`, a name before `=`, `.`
//! or `[`, and a label before `:`.

mod condition;
mod expression;
mod item;
mod library;
mod operation;
mod statement;

use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::lexer::{Kind, Token};
use crate::source::Span;
use crate::syntax::{Exact, Name, Project, Unit, Values};
use ir::expr::Binary;

/// How deep blocks may nest.
pub(crate) const MAX_NESTING: usize = 200;

/// The syntax tree of the text. Only complete if nothing was reported.
pub(crate) fn parse<'a>(text: &'a str, tokens: &'a [Token], sink: &mut Sink) -> Unit<'a> {
    let mut parser = Parser::new(text, tokens, sink, false);
    let mut unit = Unit::default();
    while parser.goes_on() {
        if parser.item(&mut unit).is_err() {
            parser.skip_item();
        }
    }
    unit
}

/// The syntax tree of a text with libraries, specifications and clients.
pub(crate) fn parse_project<'a>(
    text: &'a str,
    tokens: &'a [Token],
    sink: &mut Sink,
) -> Project<'a> {
    let mut parser = Parser::new(text, tokens, sink, true);
    let mut project = Project::default();
    while parser.goes_on() {
        if parser.project_item(&mut project).is_err() {
            // What follows is likely to be inside the same braces; its messages would be noise.
            break;
        }
    }
    project
}

/// The names that follow `proc` somewhere.
fn procedures<'a>(text: &'a str, tokens: &[Token]) -> Vec<&'a str> {
    let word = |token: &Token| &text[token.span().start..token.span().end];
    let declared = tokens.windows(3).filter(|three| {
        three[0].kind == Kind::Name
            && word(&three[0]) == "proc"
            && three[1].kind == Kind::Name
            && three[2].kind == Kind::OpenParen
    });
    declared.map(|three| word(&three[1])).collect()
}

/// The error was reported; whoever catches this finds the place to go on.
struct Failed;

type Parse<T> = Result<T, Failed>;

struct Parser<'a, 's> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    sink: &'s mut Sink,
    /// The position where an expression ended: an operator would have been fine there.
    after_expression: Option<usize>,
    nesting: usize,
    /// Going on would only report consequences.
    gave_up: bool,
    /// Are there methods to call? Only where there are libraries.
    calls: bool,
    /// Is this the inside of a specification?
    specifies: bool,
    /// The names of all procedures of the text: only these can be called.
    procedures: Vec<&'a str>,
    /// Is this the inside of a procedure?
    in_procedure: bool,
    /// Is this the inside of a final condition?
    in_condition: bool,
}

impl<'a, 's> Parser<'a, 's> {
    fn new(text: &'a str, tokens: &'a [Token], sink: &'s mut Sink, calls: bool) -> Self {
        Parser {
            text,
            tokens,
            at: 0,
            sink,
            after_expression: None,
            nesting: 0,
            gave_up: false,
            calls,
            specifies: false,
            procedures: procedures(text, tokens),
            in_procedure: false,
            in_condition: false,
        }
    }

    /// Is there another item worth reading?
    fn goes_on(&self) -> bool {
        self.kind() != Kind::End && !self.gave_up && !self.sink.is_full()
    }

    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn kind(&self) -> Kind {
        self.token().kind
    }

    /// The kind of the token `ahead` tokens further on.
    fn kind_at(&self, ahead: usize) -> Kind {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].kind
    }

    fn span(&self) -> Span {
        self.token().span()
    }

    /// The span of the token before this one.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span()
    }

    fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start..span.end]
    }

    /// The text of the current token; empty at the end.
    fn word(&self) -> &'a str {
        self.slice(self.span())
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.advance();
        }
        found
    }

    fn at_keyword(&self, keyword: &str) -> bool {
        self.kind() == Kind::Name && self.word() == keyword
    }

    fn eat_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, kind: Kind) -> Parse<Span> {
        if self.kind() == kind {
            return Ok(self.advance().span());
        }
        self.unexpected(&[symbol(kind)])
    }

    fn name(&mut self, what: &str) -> Parse<Name<'a>> {
        if self.kind() != Kind::Name {
            return self.unexpected(&[what]);
        }
        let span = self.advance().span();
        Ok(Name { text: self.slice(span), span })
    }

    /// A name that is being declared.
    fn new_name(&mut self, what: &str) -> Parse<Name<'a>> {
        let name = self.name(what)?;
        if matches!(name.text, "true" | "false") {
            let message = format!("`{}` is a constant and cannot be declared", name.text);
            return self.fail(
                Diagnostic::error(codes::SYNTAX, message).with_label(name.span, "a constant"),
            );
        }
        Ok(name)
    }

    fn number(&mut self, what: &str) -> Parse<(Exact, Span)> {
        if self.kind() != Kind::Number {
            return self.unexpected(&[what]);
        }
        let span = self.advance().span();
        let text = self.slice(span);
        let value = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        match value {
            Ok(value) => Ok((value.into(), span)),
            Err(_) => self.fail(
                Diagnostic::error(codes::RANGE, "this number is too large for any use")
                    .with_label(span, "numbers go up to 18446744073709551615"),
            ),
        }
    }

    /// A number with or without a sign.
    fn signed_number(&mut self) -> Parse<(Exact, Span)> {
        let sign = self.span();
        let negative = self.eat(Kind::Operator(Binary::Sub));
        let (value, span) = self.number("a number")?;
        Ok(if negative { (-value, sign.to(span)) } else { (value, span) })
    }

    /// `max_value 7;` or `values -8..=7;`
    fn values(&mut self) -> Parse<Values<'a>> {
        let keyword = self.word();
        self.advance();
        if keyword == "max_value" {
            let (max, span) = self.number("a number")?;
            self.expect(Kind::Semicolon)?;
            return Ok(Values { keyword, min: 0, max, span });
        }
        let (min, first) = self.signed_number()?;
        for kind in [Kind::Dot, Kind::Dot, Kind::Assign] {
            if !self.eat(kind) {
                return self.unexpected(&["`..=`"]);
            }
        }
        let (max, last) = self.signed_number()?;
        self.expect(Kind::Semicolon)?;
        Ok(Values { keyword, min, max, span: first.to(last) })
    }

    fn fail<T>(&mut self, diagnostic: Diagnostic) -> Parse<T> {
        self.sink.push(diagnostic);
        Err(Failed)
    }

    /// Reports that something else should stand here.
    fn unexpected<T>(&mut self, expected: &[&str]) -> Parse<T> {
        self.unexpected_with(expected, None)
    }

    fn unexpected_with<T>(&mut self, expected: &[&str], help: Option<String>) -> Parse<T> {
        // What is missing at the end of a line is missing there, not at the start of the next.
        let last = self.last_span();
        let between = self.text.get(last.end..self.span().start).unwrap_or_default();
        let place = if self.at > 0 && (between.contains('\n') || self.kind() == Kind::End) {
            Span::new(last.end, last.end)
        } else {
            self.span()
        };
        self.unexpected_at(place, expected, help)
    }

    /// Reports that the current token starts nothing that could stand here.
    fn no_start<T>(&mut self, expected: &[&str], help: Option<String>) -> Parse<T> {
        self.unexpected_at(self.span(), expected, help)
    }

    fn unexpected_at<T>(
        &mut self,
        place: Span,
        expected: &[&str],
        help: Option<String>,
    ) -> Parse<T> {
        let mut list: Vec<&str> = expected.to_vec();
        if self.after_expression == Some(self.at) {
            list.push("an operator");
        }
        let list = one_of(&list);
        let found = self.describe();
        let mut error = Diagnostic::error(codes::SYNTAX, format!("expected {list}, found {found}"))
            .with_label(place, format!("expected {list}"));
        error.help = help;
        self.fail(error)
    }

    fn describe(&self) -> String {
        match self.kind() {
            Kind::End => "the end of the file".to_string(),
            _ if self.word().len() > 40 => "a very long word".to_string(),
            _ => format!("`{}`", self.word()),
        }
    }

    /// Skips to behind the `;` or `}` that ends the statement, or to the `}` of the block around it.
    fn skip_statement(&mut self) {
        let mut depth = 0usize;
        let mut parens = 0usize;
        loop {
            match self.kind() {
                Kind::End => return,
                Kind::OpenParen => parens += 1,
                Kind::CloseParen => parens = parens.saturating_sub(1),
                Kind::OpenBrace => depth += 1,
                Kind::CloseBrace if depth == 0 => return,
                Kind::CloseBrace => {
                    depth -= 1;
                    if depth == 0 {
                        self.advance();
                        self.eat(Kind::CloseParen);
                        self.eat(Kind::Semicolon);
                        if !self.at_keyword("else") && self.kind() != Kind::OpenBrace {
                            return;
                        }
                        continue;
                    }
                }
                Kind::Semicolon if depth == 0 && parens == 0 => {
                    self.advance();
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// Skips to behind the `;` or `}` that ends the item.
    fn skip_item(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.kind() {
                Kind::End => return,
                Kind::OpenBrace => depth += 1,
                Kind::CloseBrace => {
                    if depth <= 1 {
                        self.advance();
                        self.eat(Kind::Semicolon);
                        return;
                    }
                    depth -= 1;
                }
                Kind::Semicolon if depth == 0 => {
                    self.advance();
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }
}

/// How a message names a token of this kind.
fn symbol(kind: Kind) -> &'static str {
    match kind {
        Kind::Name => "a name",
        Kind::Number => "a number",
        Kind::OpenBrace => "`{`",
        Kind::CloseBrace => "`}`",
        Kind::OpenParen => "`(`",
        Kind::CloseParen => "`)`",
        Kind::OpenBracket => "`[`",
        Kind::CloseBracket => "`]`",
        Kind::Semicolon => "`;`",
        Kind::Comma => "`,`",
        Kind::Colon => "`:`",
        Kind::Dot => "`.`",
        Kind::Assign => "`=`",
        Kind::Not => "`!`",
        Kind::Tilde => "`~`",
        Kind::Operator(_) => "an operator",
        Kind::End => "the end of the file",
    }
}

/// "a", "a or b", "a, b or c"
pub(crate) fn one_of(items: &[&str]) -> String {
    match items {
        [] => String::new(),
        [only] => only.to_string(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
