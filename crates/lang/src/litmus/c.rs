//! Threads in C: `P0(atomic_int* x) { int r0 = atomic_load_explicit(x, memory_order_relaxed); }`
//!
//! One pass turns the text into steps. A shared access inside an expression becomes a load into a
//! register of its own, in the order of the text, as in herd. To the right of `&&` and `||` there may be
//! none, because whether it happens would depend on the left side.

mod expression;
mod operation;

use super::initial::{self, Initial};
use super::lexer::{Kind, Read, Reader, Token};
use super::threads::Threads;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::suggest;
use ir::expr::Unary;
use ir::{Expr, Instr, Pc, Place, Reg, WriteMode};
use std::collections::BTreeSet;

/// How deep blocks and expressions may nest.
const MAX_NESTING: usize = 100;

pub(super) fn read<'a>(reader: &mut Reader<'a, '_>, initial: Initial<'a>) -> Read<Threads<'a>> {
    let mut threads = Threads::new(initial, reader)?;
    while is_thread(reader.token()) {
        let tid = threads.len();
        if reader.thread(reader.token()) != Some(tid) {
            return reader.unexpected(&format!("`P{tid}`"));
        }
        reader.advance();
        threads.start(|_| None, reader)?;
        let parameters = BTreeSet::new();
        let mut function = Function { reader, threads: &mut threads, tid, parameters, depth: 0 };
        function.parameters()?;
        function.block()?;
    }
    threads.check_initial(reader)?;
    Ok(threads)
}

fn is_thread(token: Token<'_>) -> bool {
    let number = token.text.strip_prefix('P');
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The function of a thread.
struct Function<'r, 'a, 's> {
    reader: &'r mut Reader<'a, 's>,
    threads: &'r mut Threads<'a>,
    tid: usize,
    /// The names of pointers to locations.
    parameters: BTreeSet<&'a str>,
    depth: usize,
}

impl<'a> Function<'_, 'a, '_> {
    /// `(atomic_int* x, volatile int* y)`: parameters are called like the locations they point to.
    fn parameters(&mut self) -> Read<()> {
        self.reader.expect("(")?;
        while !self.reader.eat(")") {
            if let Some((of, span)) = initial::read_type(self.reader)? {
                self.threads.has_type(of, span, self.reader)?;
            } else if !self.reader.at("void") || !self.parameters.is_empty() {
                return self.reader.unexpected("a parameter, such as `atomic_int* x`");
            }
            if self.reader.eat("void") {
                continue;
            }
            let star = self.reader.span();
            if !self.reader.eat("*") {
                return self.reader.unexpected("`*`");
            }
            while matches!(self.reader.token().text, "const" | "volatile" | "restrict") {
                self.reader.advance();
            }
            if self.reader.at("*") {
                let span = star.to(self.reader.span());
                let help = "a parameter points to a location that holds a number";
                return self.reader.unsupported(span, "pointers to pointers", help);
            }
            let name = self.reader.name("the parameter's name")?;
            let alias = self.threads.thread(self.tid).aliases.get(name.text).copied();
            self.threads.location(alias.unwrap_or(name), self.reader)?;
            self.parameters.insert(name.text);
            if !self.reader.at(")") {
                self.reader.expect(",")?;
            }
        }
        Ok(())
    }

    fn deeper(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let error = Diagnostic::error(codes::LIMIT, "this is nested too deeply");
            return self.reader.fail(error.with_label(self.reader.span(), "here"));
        }
        Ok(())
    }

    fn block(&mut self) -> Read<()> {
        self.reader.expect("{")?;
        while !self.reader.eat("}") {
            self.statement()?;
        }
        Ok(())
    }

    fn statement(&mut self) -> Read<()> {
        self.deeper()?;
        match self.reader.token().text {
            "{" => self.block()?,
            ";" => {
                self.reader.advance();
            }
            "if" => self.conditional()?,
            "while" => self.while_loop()?,
            "do" => self.do_loop()?,
            "for" | "goto" | "switch" | "return" | "break" | "continue" => {
                let span = self.reader.span();
                let what = format!("`{}` in a litmus test", self.reader.token().text);
                return self.reader.unsupported(span, &what, "there are `if`, `while` and `do`");
            }
            _ => self.simple()?,
        }
        self.depth -= 1;
        Ok(())
    }

    fn emit(&mut self, instr: Instr, span: Span) -> usize {
        self.threads.emit(self.tid, instr, span)
    }

    fn here(&self) -> Pc {
        self.threads.here(self.tid)
    }

    /// `(condition)`, and a jump that leads on if it holds; where else is yet to be said.
    fn branch(&mut self, start: Span) -> Read<usize> {
        self.reader.expect("(")?;
        let cond = self.expression()?;
        let end = self.reader.expect(")")?;
        let next = Pc(self.here().0 + 1);
        self.threads.end_statement(self.tid);
        Ok(self.threads.jump(self.tid, cond, vec![next], start.to(end)))
    }

    fn conditional(&mut self) -> Read<()> {
        let start = self.reader.advance().span;
        let branch = self.branch(start)?;
        self.statement()?;
        if self.reader.eat("else") {
            let end = self.emit(Instr::Skip, start);
            let otherwise = self.here();
            self.threads.lead(self.tid, branch, otherwise);
            self.statement()?;
            let join = self.here();
            self.threads.lead(self.tid, end, join);
        } else {
            let join = self.here();
            self.threads.lead(self.tid, branch, join);
        }
        Ok(())
    }

    fn while_loop(&mut self) -> Read<()> {
        let start = self.reader.advance().span;
        let head = self.here();
        let branch = self.branch(start)?;
        self.statement()?;
        let back = self.emit(Instr::Skip, start);
        self.threads.lead(self.tid, back, head);
        let after = self.here();
        self.threads.lead(self.tid, branch, after);
        Ok(())
    }

    fn do_loop(&mut self) -> Read<()> {
        let start = self.reader.advance().span;
        let head = self.here();
        self.statement()?;
        self.reader.expect("while")?;
        let branch = self.branch(start)?;
        self.threads.set_targets(self.tid, branch, vec![head]);
        self.reader.expect(";")?;
        Ok(())
    }

    /// A declaration, an assignment or a call.
    fn simple(&mut self) -> Read<()> {
        let start = self.reader.span();
        if let Some((of, span)) = initial::read_type(self.reader)? {
            self.threads.has_type(of, span, self.reader)?;
            loop {
                if self.reader.at("*") {
                    let span = self.reader.span();
                    let help = "parameters are the only pointers";
                    return self.reader.unsupported(span, "pointers in locals", help);
                }
                let name = self.reader.name("a local's name")?;
                if self.parameters.contains(name.text) {
                    let message = format!("`{}` is declared twice", name.text);
                    let error = Diagnostic::error(codes::DUPLICATE, message);
                    return self.reader.fail(error.with_label(name.span, "already a parameter"));
                }
                let dst = self.threads.register(self.tid, name.text, name.span, self.reader)?;
                if self.reader.eat("=") {
                    self.assign(dst, start)?;
                }
                if !self.reader.eat(",") {
                    break;
                }
            }
        } else if self.reader.at("*") || self.is_element() {
            let place = self.dereferenced()?;
            self.reader.expect("=")?;
            let value = self.expression()?;
            let span = start.to(self.reader.last_span());
            self.emit(Instr::Store { place, value, mode: WriteMode::Na }, span);
        } else if self.reader.token().kind == Kind::Name && self.reader.ahead(1).text == "=" {
            let name = self.reader.advance();
            let dst = self.local(name)?;
            self.reader.advance();
            self.assign(dst, start)?;
        } else {
            self.expression()?;
        }
        self.threads.end_statement(self.tid);
        self.reader.expect(";")?;
        Ok(())
    }

    /// Is this `a[…]`?
    fn is_element(&self) -> bool {
        self.reader.token().kind == Kind::Name && self.reader.ahead(1).text == "["
    }

    /// What follows `r =`: a single access writes to the register itself.
    fn assign(&mut self, dst: Reg, start: Span) -> Read<()> {
        let before = self.here().index();
        let value = self.expression()?;
        let span = start.to(self.reader.last_span());
        if let Expr::Reg(last) = value
            && self.here().index() == before + 1
            && self.threads.retarget(self.tid, before, last, dst, span)
        {
            return Ok(());
        }
        self.emit(Instr::Assign { dst, value }, span);
        Ok(())
    }

    fn local(&mut self, name: Token<'a>) -> Read<Reg> {
        if let Some(reg) = self.threads.known_register(self.tid, name.text) {
            return Ok(reg);
        }
        let is_pointer = self.parameters.contains(name.text);
        let known = self.threads.thread(self.tid).registers.iter().map(String::as_str);
        let label = match suggest::nearest(name.text, known.chain(self.parameters.iter().copied()))
        {
            _ if is_pointer => "a pointer; `*` reads what it points to".to_string(),
            Some(near) => format!("no local; did you mean `{near}`?"),
            None => "no local".to_string(),
        };
        let (code, message) = match is_pointer {
            true => (codes::WRONG_KIND, format!("the address of `{}` as a value", name.text)),
            false => (codes::UNKNOWN_NAME, format!("unknown name `{}`", name.text)),
        };
        self.reader.fail(Diagnostic::error(code, message).with_label(name.span, label))
    }

    /// `*x`, `*(x)` or `a[e]`
    fn dereferenced(&mut self) -> Read<Place> {
        if self.reader.eat("*") {
            if self.reader.at("*") {
                let span = self.reader.span();
                return self.reader.unsupported(span, "pointers to pointers", "`*x` is an access");
            }
            let parenthesised = self.reader.eat("(");
            let place = self.pointer()?;
            if parenthesised {
                self.reader.expect(")")?;
            }
            return Ok(place);
        }
        let name = self.reader.name("a location")?;
        let mut place = self.pointed(name)?;
        self.reader.expect("[")?;
        place.index = Some(self.expression()?);
        let end = self.reader.expect("]")?;
        if place.len == 1 {
            let message = format!("`{}` is no array", name.text);
            let error = Diagnostic::error(codes::INDEX, message);
            let help = "the initial state declares arrays: `int a[2];`";
            return self
                .reader
                .fail(error.with_label(name.span.to(end), "indexed").with_help(help));
        }
        Ok(place)
    }

    /// A pointer to a location: `x`, or `&a[1]`.
    fn pointer(&mut self) -> Read<Place> {
        if self.reader.eat("&") {
            return self.dereferenced();
        }
        let name = self.reader.name("a pointer")?;
        self.pointed(name)
    }

    /// What a parameter points to.
    fn pointed(&mut self, name: Token<'a>) -> Read<Place> {
        if !self.parameters.contains(name.text) {
            let label = match suggest::nearest(name.text, self.parameters.iter().copied()) {
                Some(near) => format!("no parameter; did you mean `{near}`?"),
                None => "no parameter of this thread".to_string(),
            };
            let message = format!("`{}` is no pointer", name.text);
            let error = Diagnostic::error(codes::WRONG_KIND, message);
            return self.reader.fail(error.with_label(name.span, label));
        }
        let alias = self.threads.thread(self.tid).aliases.get(name.text).copied();
        Ok(self.threads.location(alias.unwrap_or(name), self.reader)?.place())
    }

    fn negation(&mut self, value: Expr) -> Read<Expr> {
        self.unary(Unary::Not, value)
    }
}
