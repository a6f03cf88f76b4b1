//! The end of a litmus test, behind the threads: `filter`, `locations` and the condition.
//!
//! ```text
//! filter (x=1)
//! locations [y; 0:r1;]
//! exists (0:r1=1 /\ (x=2 \/ ~(y=0)))
//! ```
//!
//! A test without a condition claims what is always true.

use super::lexer::{Kind, Read, Reader, Token};
use super::threads::{self, Threads};
use super::{Architecture, x86};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::suggest;
use ir::expr::{Binary, Unary};
use ir::{Condition, Expr, Loc, Observed, Origin, Quantifier, Reg, Tid, Value};

/// How deep formulas may nest.
const MAX_NESTING: usize = 200;

/// What a test asks.
pub(super) struct Asked {
    pub(super) condition: Condition,
    pub(super) filter: Option<Condition>,
    pub(super) shown: Vec<Observed>,
    /// The numbers that values are compared with.
    pub(super) constants: Vec<(Value, Span)>,
    pub(super) span: Span,
}

pub(super) fn read<'a>(
    reader: &mut Reader<'a, '_>,
    threads: &mut Threads<'a>,
    architecture: Architecture,
) -> Read<Asked> {
    let mut asking = Asking { reader, threads, architecture, constants: Vec::new(), depth: 0 };
    let mut shown = Vec::new();
    let mut filter = None;
    loop {
        match asking.reader.token().text {
            "filter" => {
                let start = asking.reader.advance().span;
                let condition = asking.condition(Quantifier::Forall)?;
                if filter.replace(condition).is_some() {
                    let error = Diagnostic::error(codes::DUPLICATE, "two filters");
                    return asking.reader.fail(error.with_label(start, "already given"));
                }
            }
            "locations" => {
                asking.reader.advance();
                asking.locations(&mut shown)?;
            }
            "regions" => asking.regions()?,
            _ => break,
        }
    }
    let start = asking.reader.span();
    let quantifier = match asking.reader.token().text {
        "exists" => Some(Quantifier::Exists),
        "forall" => Some(Quantifier::Forall),
        "~" | "not" if asking.reader.ahead(1).text == "exists" => {
            asking.reader.advance();
            Some(Quantifier::NotExists)
        }
        _ => None,
    };
    let condition = match quantifier {
        Some(quantifier) => {
            asking.reader.advance();
            asking.condition(quantifier)?
        }
        None => Condition {
            quantifier: Quantifier::Forall,
            observed: vec![],
            formula: Expr::Const(1),
            origin: Origin(0),
        },
    };
    let span = start.to(asking.reader.last_span());
    asking.reader.eat(";");
    if !asking.reader.is_at_end() {
        let expected = match quantifier {
            Some(_) => "the end of the test",
            None => "`exists`, `~exists`, `forall` or the end of the test",
        };
        return asking.reader.unexpected(expected);
    }
    shown.extend(&condition.observed);
    let order = |what: &Observed| match *what {
        Observed::Register(tid, reg) => {
            let name = &asking.threads.thread(tid.index()).registers[reg.index()];
            (0, tid.0, x86::rank(architecture, name), name.clone(), 0)
        }
        Observed::Location(loc) => {
            let location = asking.threads.location_of(loc);
            (1, 0, 0, location.name.clone(), location.element.unwrap_or(0))
        }
    };
    shown.sort_by_cached_key(order);
    shown.dedup();
    Ok(Asked { condition, filter, shown, constants: asking.constants, span })
}

struct Asking<'r, 'a, 's> {
    reader: &'r mut Reader<'a, 's>,
    threads: &'r mut Threads<'a>,
    architecture: Architecture,
    constants: Vec<(Value, Span)>,
    depth: usize,
}

impl<'a> Asking<'_, 'a, '_> {
    fn condition(&mut self, quantifier: Quantifier) -> Read<Condition> {
        let mut observed = Vec::new();
        let formula = self.implication(&mut observed)?;
        Ok(Condition { quantifier, observed, formula, origin: Origin(0) })
    }

    /// `[x; 0:r1; a[1];]`, perhaps with types.
    fn locations(&mut self, shown: &mut Vec<Observed>) -> Read<()> {
        self.reader.expect("[")?;
        while !self.reader.eat("]") {
            super::initial::read_type(self.reader)?;
            self.reader.eat("*");
            let what = self.observed()?;
            shown.push(what);
            if !self.reader.at("]") {
                self.reader.expect(";")?;
            }
        }
        Ok(())
    }

    /// `regions: x:PROP`, one line.
    fn regions(&mut self) -> Read<()> {
        let start = self.reader.advance().span;
        let end =
            self.reader.text[start.start..].find('\n').map_or(usize::MAX, |n| start.start + n);
        while self.reader.span().start < end && !self.reader.is_at_end() {
            self.reader.advance();
        }
        let warning = Diagnostic::warning(codes::UNSUPPORTED, "regions have no effect");
        self.reader.sink.push(warning.with_label(start, "the test is read as without this line"));
        Ok(())
    }

    fn implication(&mut self, observed: &mut Vec<Observed>) -> Read<Expr> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return self.too_deep();
        }
        let left = self.disjunction(observed)?;
        let formula = match self.reader.eat("=>") {
            true => {
                let right = self.implication(observed)?;
                let not = Expr::unary(Unary::Not, left);
                not.and_then(|not| threads::binary(Binary::Or, not, right))
            }
            false => Some(left),
        };
        self.depth -= 1;
        formula.map_or_else(|| self.too_deep(), Ok)
    }

    fn disjunction(&mut self, observed: &mut Vec<Observed>) -> Read<Expr> {
        let mut left = self.conjunction(observed)?;
        while self.reader.eat("\\/") || self.reader.eat("||") {
            let right = self.conjunction(observed)?;
            match threads::binary(Binary::Or, left, right) {
                Some(both) => left = both,
                None => return self.too_deep(),
            }
        }
        Ok(left)
    }

    fn conjunction(&mut self, observed: &mut Vec<Observed>) -> Read<Expr> {
        let mut left = self.negation(observed)?;
        while self.reader.eat("/\\") || self.reader.eat("&&") {
            let right = self.negation(observed)?;
            match threads::binary(Binary::And, left, right) {
                Some(both) => left = both,
                None => return self.too_deep(),
            }
        }
        Ok(left)
    }

    fn negation(&mut self, observed: &mut Vec<Observed>) -> Read<Expr> {
        let mut negated = 0;
        while self.reader.eat("~") || self.reader.eat("not") || self.reader.eat("!") {
            negated += 1;
        }
        if negated > MAX_NESTING {
            return self.too_deep();
        }
        let mut formula = match self.reader.token().text {
            "(" => {
                self.reader.advance();
                let formula = self.implication(observed)?;
                self.reader.expect(")")?;
                formula
            }
            "true" => self.constant(1),
            "false" => self.constant(0),
            "fault" => {
                let span = self.reader.span();
                return self.reader.unsupported(span, "conditions on faults", "no access faults");
            }
            _ => self.comparison(observed)?,
        };
        for _ in 0..negated {
            formula = match Expr::unary(Unary::Not, formula) {
                Some(negation) => negation,
                None => return self.too_deep(),
            };
        }
        Ok(formula)
    }

    fn constant(&mut self, value: Value) -> Expr {
        self.reader.advance();
        Expr::Const(value)
    }

    /// `x=1`, `0:r0!=2`
    fn comparison(&mut self, observed: &mut Vec<Observed>) -> Read<Expr> {
        let what = self.observed()?;
        let negated = match self.reader.token().text {
            "=" | "==" => false,
            "!=" => true,
            _ => return self.reader.unexpected("`=` or `!=`"),
        };
        self.reader.advance();
        let start = self.reader.span();
        let other = self.reader.token();
        let right = if other.kind == Kind::Name || self.reader.ahead(1).text == ":" {
            if other.kind == Kind::Name && self.reader.ahead(1).text != ":" {
                let what = format!("`{}` as a value", other.text);
                return self.reader.unsupported(start, &what, "addresses are no values here");
            }
            let what = self.observed()?;
            self.number(what, observed)
        } else {
            let value = self.reader.number("a number")?;
            self.constants.push((value, start.to(self.reader.last_span())));
            Expr::Const(value)
        };
        let left = self.number(what, observed);
        let operator = if negated { Binary::Ne } else { Binary::Eq };
        threads::binary(operator, left, right).map_or_else(|| self.too_deep(), Ok)
    }

    fn number(&mut self, what: Observed, observed: &mut Vec<Observed>) -> Expr {
        let known = observed.iter().position(|known| *known == what);
        Expr::Reg(Reg::from(known.unwrap_or_else(|| {
            observed.push(what);
            observed.len() - 1
        })))
    }

    /// `x`, `[x]`, `a[1]`, `*x` or `0:r1`
    fn observed(&mut self) -> Read<Observed> {
        self.reader.eat("*");
        let token = self.reader.token();
        if self.reader.ahead(1).text == ":" && token.kind != Kind::Symbol {
            let count = self.threads.len();
            let Some(tid) = self.reader.thread(token).filter(|tid| *tid < count) else {
                let error = Diagnostic::error(
                    codes::UNKNOWN_NAME,
                    format!("there is no thread `{}`", token.text),
                );
                return self
                    .reader
                    .fail(error.with_label(token.span, format!("the test has {count}")));
            };
            self.reader.advance();
            self.reader.advance();
            self.reader.eat("%");
            let name = self.reader.name("a register")?;
            return self.register(tid, name);
        }
        let bracketed = self.reader.eat("[");
        let name = self.reader.name("a location or a register")?;
        let mut index = None;
        if !bracketed && self.reader.eat("[") || bracketed && self.reader.at("[") {
            if bracketed {
                self.reader.advance();
            }
            index = Some(self.reader.number("an index")?);
            self.reader.expect("]")?;
        }
        if bracketed {
            self.reader.expect("]")?;
        }
        self.location(name, index)
    }

    fn register(&mut self, tid: usize, name: Token<'a>) -> Read<Observed> {
        let spelling = match self.architecture {
            Architecture::C => {
                self.threads.known_register(tid, name.text).map(|_| name.text.into())
            }
            architecture => x86::spelling(architecture, name.text),
        };
        let Some(spelling) = spelling else {
            let registers = self.threads.thread(tid).registers.iter().map(String::as_str);
            let label = match suggest::nearest(name.text, registers) {
                Some(near) => format!("no register of P{tid}; did you mean `{near}`?"),
                None => format!("no register of P{tid}"),
            };
            let message = format!("unknown register `{}`", name.text);
            let error = Diagnostic::error(codes::UNKNOWN_NAME, message);
            return self.reader.fail(error.with_label(name.span, label));
        };
        let reg = self.threads.register(tid, &spelling, name.span, self.reader)?;
        Ok(Observed::Register(Tid::from(tid), reg))
    }

    fn location(&mut self, name: Token<'a>, index: Option<i64>) -> Read<Observed> {
        let Some(shared) = self.threads.known_location(name.text) else {
            let label = match suggest::nearest(name.text, self.threads.location_names()) {
                Some(near) => format!("no location; did you mean `{near}`?"),
                None => "no location".to_string(),
            };
            let error =
                Diagnostic::error(codes::UNKNOWN_NAME, format!("unknown name `{}`", name.text));
            return self.reader.fail(error.with_label(name.span, label));
        };
        let offset = match (shared.length, index) {
            (None, None) => Some(0),
            (Some(length), Some(index)) => u32::try_from(index).ok().filter(|k| *k < length),
            _ => None,
        };
        match offset {
            Some(offset) => Ok(Observed::Location(Loc(shared.first.0 + offset))),
            None => {
                let message = format!("`{}` has no such element", name.text);
                let label = match shared.length {
                    None => "no array".to_string(),
                    Some(length) => format!("an array of {length}: say which element"),
                };
                self.reader
                    .fail(Diagnostic::error(codes::INDEX, message).with_label(name.span, label))
            }
        }
    }

    fn too_deep<T>(&mut self) -> Read<T> {
        let error =
            Diagnostic::error(codes::LIMIT, "the condition is nested too deeply or too large");
        self.reader.fail(error.with_label(self.reader.span(), "here"))
    }
}
