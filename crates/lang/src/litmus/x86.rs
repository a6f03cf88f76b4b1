//! Threads in x86 assembly, one column each:
//!
//! ```text
//!  P0          | P1          ;            P0            | P1            ;
//!  MOV [x],$1  | MOV [y],$1  ;            movl $1,(x)   | movl $1,(y)   ;
//!  MOV EAX,[y] | MOV EAX,[x] ;            movl (y),%eax | movl (x),%eax ;
//! ```
//!
//! `X86` has the operands in Intel's order, the destination first, `X86_64` in AT&T's, the destination
//! last. A locked instruction, and every `XCHG` with memory, is one read-modify-write; any other instruction
//! that changes memory is a load and a store. Loads and stores are relaxed accesses: x86 has no memory
//! orders, and the machine of TSO keeps the order of each thread's stores by itself.
//!
//! Of the flags, two registers remember what was compared last: an instruction that computes a value
//! compares it with 0. That is enough for equality and for signed comparisons without overflow.

mod register;

pub(super) use register::{rank, spelling};

use super::Architecture;
use super::initial::{Initial, Type};
use super::lexer::{Kind, Read, Reader, Token};
use super::threads::Threads;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::suggest;
use ir::expr::Binary;
use ir::{Expr, FenceMode, Instr, Pc, Place, ReadMode, Reg, Update, UpdateOp, WriteMode};
use register::{split, width};
use std::collections::BTreeMap;

const MNEMONICS: [&str; 22] = [
    "nop", "mov", "add", "sub", "and", "or", "xor", "shl", "inc", "dec", "cmp", "test", "xchg",
    "xadd", "cmpxchg", "jmp", "je", "jne", "mfence", "lfence", "sfence", "ret",
];
const COMPARED: [&str; 2] = ["flags$left", "flags$right"];

pub(super) fn read<'a>(
    reader: &mut Reader<'a, '_>,
    initial: Initial<'a>,
    architecture: Architecture,
) -> Read<Threads<'a>> {
    let mut threads = Threads::new(initial, reader)?;
    loop {
        let token = reader.name("`P0`")?;
        if reader.thread(token) != Some(threads.len()) {
            let message = format!("expected `P{}`, found `{}`", threads.len(), token.text);
            let error = Diagnostic::error(codes::SYNTAX, message);
            return reader.fail(error.with_label(token.span, "threads are numbered from 0"));
        }
        threads.start(|name| spelling(architecture, name), reader)?;
        if !reader.eat("|") {
            break;
        }
    }
    reader.expect(";")?;
    threads.check_initial(reader)?;
    let columns = (0..threads.len()).map(|_| Column::default()).collect();
    let mut table = Table { reader, threads, architecture, columns };
    while !table.is_over() {
        table.row()?;
    }
    table.resolve()?;
    Ok(table.threads)
}

struct Table<'r, 'a, 's> {
    reader: &'r mut Reader<'a, 's>,
    threads: Threads<'a>,
    architecture: Architecture,
    columns: Vec<Column<'a>>,
}

/// The labels of a thread.
#[derive(Default)]
struct Column<'a> {
    labels: BTreeMap<&'a str, Pc>,
    /// Jumps, and the labels they lead to.
    jumps: Vec<(usize, Token<'a>)>,
    /// Steps that end the thread.
    ends: Vec<usize>,
}

enum Operand {
    Register(Reg),
    Constant(i64),
    Memory(Place),
}

impl<'a> Table<'_, 'a, '_> {
    fn is_over(&self) -> bool {
        self.reader.is_at_end()
            || matches!(
                self.reader.token().text,
                "exists" | "forall" | "~" | "not" | "locations" | "filter" | "regions"
            )
    }

    fn row(&mut self) -> Read<()> {
        for tid in 0..self.columns.len() {
            self.cell(tid)?;
            let last = tid + 1 == self.columns.len();
            if !last && self.reader.at(";") {
                break; // the threads to the right have nothing in this row
            }
            self.reader.expect(if last { ";" } else { "|" })?;
        }
        self.reader.eat(";");
        Ok(())
    }

    fn cell(&mut self, tid: usize) -> Read<()> {
        while self.reader.token().kind == Kind::Name && self.reader.ahead(1).text == ":" {
            let label = self.reader.advance();
            self.reader.advance();
            let here = self.threads.here(tid);
            if self.columns[tid].labels.insert(label.text, here).is_some() {
                let message = format!("`{}` is declared twice", label.text);
                let error = Diagnostic::error(codes::DUPLICATE, message);
                return self.reader.fail(error.with_label(label.span, "already a label"));
            }
        }
        if self.reader.at("|") || self.reader.at(";") {
            return Ok(());
        }
        let start = self.reader.span();
        let mut locked = false;
        while self.reader.token().text.eq_ignore_ascii_case("lock") {
            self.reader.advance();
            locked = true;
        }
        self.instruction(tid, start, locked)?;
        self.threads.end_statement(tid);
        Ok(())
    }

    fn instruction(&mut self, tid: usize, start: Span, locked: bool) -> Read<()> {
        let token = self.reader.name("an instruction")?;
        let word = token.text.to_ascii_lowercase();
        let (name, suffix) = split(&word);
        match suffix.filter(|_| name != "nop") {
            Some(64) if self.architecture == Architecture::X86_64 => {
                self.has_width(64, token.span)?
            }
            Some(bits @ (8 | 16 | 64)) => {
                let what = format!("{bits}-bit accesses");
                return self.reader.unsupported(token.span, &what, "mixed sizes are not supported");
            }
            Some(32) => self.has_width(32, token.span)?,
            _ => {}
        }
        if locked
            && !matches!(
                name,
                "add" | "sub" | "and" | "or" | "xor" | "inc" | "dec" | "xchg" | "xadd" | "cmpxchg"
            )
        {
            let message = format!("`{}` cannot be locked", token.text);
            let error = Diagnostic::error(codes::SYNTAX, message);
            return self
                .reader
                .fail(error.with_label(start.to(token.span), "no read-modify-write"));
        }
        match name {
            "nop" | "endbr64" => {
                while !(self.reader.at("|") || self.reader.at(";") || self.reader.is_at_end()) {
                    self.reader.advance();
                }
            }
            "ret" => {
                let end = self.emit(tid, Instr::Skip, start);
                self.columns[tid].ends.push(end);
            }
            "mfence" => {
                self.emit(tid, Instr::Fence(FenceMode::Sc), token.span);
            }
            // Loads stay behind loads and stores behind stores without them.
            "lfence" | "sfence" => {
                self.emit(tid, Instr::Skip, token.span);
            }
            "inc" | "dec" => {
                let target = self.operand(tid)?;
                let op = if name == "inc" { UpdateOp::Add } else { UpdateOp::Sub };
                self.compute(tid, op, target, Expr::Const(1), locked, start)?;
            }
            "mov" | "add" | "sub" | "and" | "or" | "xor" | "shl" | "cmp" | "test" | "xchg"
            | "xadd" | "cmpxchg" => {
                let first = self.operand(tid)?;
                self.reader.expect(",")?;
                let second = self.operand(tid)?;
                let (target, source) = match self.architecture {
                    Architecture::X86_64 => (second, first),
                    _ => (first, second),
                };
                self.binary(tid, name, target, source, locked, start)?;
            }
            name if name.starts_with('j') => self.jump(tid, name, token)?,
            _ => {
                let help = match suggest::nearest(name, MNEMONICS) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("known are {}", MNEMONICS.join(", ")),
                };
                let what = format!("the instruction `{}`", token.text);
                return self.reader.unsupported(token.span, &what, &help);
            }
        }
        Ok(())
    }

    fn emit(&mut self, tid: usize, instr: Instr, span: Span) -> usize {
        self.threads.emit(tid, instr, span)
    }

    fn has_width(&mut self, bits: u32, span: Span) -> Read<()> {
        self.threads.has_type(Type { bits, signed: true }, span, self.reader)
    }

    fn operand(&mut self, tid: usize) -> Read<Operand> {
        let token = self.reader.token();
        match token.text {
            "$" => {
                self.reader.advance();
                Ok(Operand::Constant(self.reader.number("a number")?))
            }
            "[" | "(" => {
                self.reader.advance();
                let indirect = self.reader.eat("%");
                let name = self.reader.name("a location")?;
                let place = self.memory(tid, name, indirect)?;
                let close = if token.text == "[" { "]" } else { ")" };
                if !self.reader.at(close) {
                    let span = token.span.to(self.reader.span());
                    return self.reader.unsupported(
                        span,
                        "computed addresses",
                        "write `[x]` or `(x)`",
                    );
                }
                self.reader.advance();
                Ok(Operand::Memory(place))
            }
            _ if token.kind == Kind::Number || token.text == "-" => {
                let value = self.reader.number("an operand")?;
                if self.reader.at("(") {
                    let span = token.span.to(self.reader.span());
                    return self.reader.unsupported(span, "computed addresses", "write `(x)`");
                }
                Ok(Operand::Constant(value))
            }
            _ => {
                self.reader.eat("%");
                let name = self.reader.name("an operand")?;
                match spelling(self.architecture, name.text) {
                    Some(spelling) => {
                        match width(name.text).filter(|_| self.architecture == Architecture::X86_64)
                        {
                            Some(bits @ (32 | 64)) => self.has_width(bits, name.span)?,
                            Some(bits) => {
                                let what = format!("{bits}-bit registers");
                                let help = "mixed sizes are not supported";
                                return self.reader.unsupported(name.span, &what, help);
                            }
                            None => {}
                        }
                        let reg = self.threads.register(tid, &spelling, name.span, self.reader)?;
                        Ok(Operand::Register(reg))
                    }
                    None => {
                        let message = format!("`{}` is no register", name.text);
                        let error = Diagnostic::error(codes::UNKNOWN_NAME, message);
                        let help = "a location is written `[x]`, or `(x)` in X86_64";
                        self.reader.fail(error.with_label(name.span, "an operand").with_help(help))
                    }
                }
            }
        }
    }

    /// The location of this name, or the one whose address the register holds from the start.
    fn memory(&mut self, tid: usize, name: Token<'a>, indirect: bool) -> Read<Place> {
        let architecture = self.architecture;
        let Some(meant) = spelling(architecture, name.text) else {
            if indirect {
                return self.reader.unexpected("a register");
            }
            return Ok(self.threads.location(name, self.reader)?.place());
        };
        let mut aliases = self.threads.thread(tid).aliases.iter();
        let alias = aliases.find(|(name, _)| spelling(architecture, name).as_ref() == Some(&meant));
        let Some((_, &location)) = alias else {
            let what = "an address in a register";
            let help = "the initial state may say where it points to: `0:RAX=x`";
            return self.reader.unsupported(name.span, what, help);
        };
        if self.threads.known_register(tid, &meant).is_some() {
            let help = "a register that holds an address holds nothing else";
            return self.reader.unsupported(name.span, "addresses that change", help);
        }
        Ok(self.threads.location(location, self.reader)?.place())
    }

    /// The value of an operand; memory is loaded first.
    fn value(&mut self, tid: usize, operand: Operand, span: Span) -> Read<Expr> {
        Ok(match operand {
            Operand::Constant(value) => Expr::Const(value),
            Operand::Register(reg) => Expr::Reg(reg),
            Operand::Memory(place) => {
                let dst = self.threads.temporary(tid, span, self.reader)?;
                self.emit(tid, Instr::Load { dst, place, mode: ReadMode::Rlx }, span);
                Expr::Reg(dst)
            }
        })
    }

    fn binary(
        &mut self,
        tid: usize,
        name: &str,
        target: Operand,
        source: Operand,
        locked: bool,
        start: Span,
    ) -> Read<()> {
        let span = start.to(self.reader.last_span());
        if let (Operand::Memory(_), Operand::Memory(_)) = (&target, &source) {
            let error = Diagnostic::error(codes::SYNTAX, "two operands in memory");
            return self.reader.fail(error.with_label(span, "no instruction has two"));
        }
        match (name, target, source) {
            ("mov", Operand::Register(dst), Operand::Memory(place)) => {
                self.emit(tid, Instr::Load { dst, place, mode: ReadMode::Rlx }, span);
            }
            ("mov", target, source) => {
                let value = self.value(tid, source, span)?;
                self.write(tid, target, value, span)?;
            }
            ("cmp", target, source) => {
                let left = self.value(tid, target, span)?;
                let right = self.value(tid, source, span)?;
                self.compare(tid, left, right, span)?;
            }
            ("test", target, source) => {
                let left = self.value(tid, target, span)?;
                let right = self.value(tid, source, span)?;
                let both = self.both(Binary::BitAnd, left, right, span)?;
                self.compare(tid, both, Expr::Const(0), span)?;
            }
            ("xchg", Operand::Memory(place), Operand::Register(reg))
            | ("xchg", Operand::Register(reg), Operand::Memory(place)) => {
                let update = Update::new(UpdateOp::Set, Expr::Reg(reg));
                self.update(tid, Some(reg), place, update, span);
            }
            ("xchg", Operand::Register(a), Operand::Register(b)) => {
                let kept = self.threads.temporary(tid, span, self.reader)?;
                for (dst, from) in [(kept, a), (a, b), (b, kept)] {
                    self.emit(tid, Instr::Assign { dst, value: Expr::Reg(from) }, span);
                }
            }
            ("xadd", Operand::Memory(place), Operand::Register(reg)) if locked => {
                self.update(tid, Some(reg), place, Update::add(Expr::Reg(reg)), span);
            }
            ("cmpxchg", Operand::Memory(place), Operand::Register(reg)) => {
                self.compare_exchange(tid, place, reg, locked, span)?;
            }
            ("xchg" | "xadd" | "cmpxchg", ..) => {
                let what = format!("`{name}` with these operands");
                let help = "its operands are memory and a register; `XADD` is locked";
                return self.reader.unsupported(span, &what, help);
            }
            ("shl", Operand::Register(dst), Operand::Constant(by @ 0..=31)) => {
                let factor = Expr::Const(1 << by);
                let value = self.both(Binary::Mul, Expr::Reg(dst), factor, span)?;
                self.emit(tid, Instr::Assign { dst, value }, span);
                self.compare(tid, Expr::Reg(dst), Expr::Const(0), span)?;
            }
            ("shl", ..) => {
                let help = "a register is shifted by a constant";
                return self.reader.unsupported(span, "`shl` with these operands", help);
            }
            (name, target, source) => {
                let op = match name {
                    "add" => UpdateOp::Add,
                    "sub" => UpdateOp::Sub,
                    "and" => UpdateOp::And,
                    "or" => UpdateOp::Or,
                    _ => UpdateOp::Xor,
                };
                let operand = self.value(tid, source, span)?;
                self.compute(tid, op, target, operand, locked, start)?;
            }
        }
        Ok(())
    }

    fn update(&mut self, tid: usize, dst: Option<Reg>, place: Place, update: Update, span: Span) {
        let (read, write) = (ReadMode::Rlx, WriteMode::Rlx);
        self.emit(tid, Instr::Rmw { dst, place, update, read, write }, span);
    }

    fn write(&mut self, tid: usize, target: Operand, value: Expr, span: Span) -> Read<()> {
        match target {
            Operand::Register(dst) => self.emit(tid, Instr::Assign { dst, value }, span),
            Operand::Memory(place) => {
                self.emit(tid, Instr::Store { place, value, mode: WriteMode::Rlx }, span)
            }
            Operand::Constant(_) => {
                let error = Diagnostic::error(codes::SYNTAX, "a constant cannot be written");
                return self.reader.fail(error.with_label(span, "the destination is a constant"));
            }
        };
        Ok(())
    }

    /// `target = target op operand`
    fn compute(
        &mut self,
        tid: usize,
        op: UpdateOp,
        target: Operand,
        operand: Expr,
        locked: bool,
        start: Span,
    ) -> Read<()> {
        let span = start.to(self.reader.last_span());
        let operator = op.binary().unwrap_or(Binary::Add);
        let result = match (target, locked) {
            (Operand::Memory(place), true) => {
                let dst = self.threads.temporary(tid, span, self.reader)?;
                self.update(tid, Some(dst), place, Update::new(op, operand.clone()), span);
                self.both(operator, Expr::Reg(dst), operand, span)?
            }
            (Operand::Memory(place), false) => {
                let old = self.value(tid, Operand::Memory(place.clone()), span)?;
                let value = self.both(operator, old, operand, span)?;
                self.write(tid, Operand::Memory(place), value.clone(), span)?;
                value
            }
            (_, true) => {
                let error = Diagnostic::error(codes::SYNTAX, "a locked instruction without memory");
                return self.reader.fail(error.with_label(span, "its destination is no location"));
            }
            (Operand::Register(dst), false) => {
                let value = self.both(operator, Expr::Reg(dst), operand, span)?;
                self.emit(tid, Instr::Assign { dst, value }, span);
                Expr::Reg(dst)
            }
            (target @ Operand::Constant(_), false) => {
                return self.write(tid, target, Expr::Const(0), span);
            }
        };
        self.compare(tid, result, Expr::Const(0), span)
    }

    fn both(&mut self, operator: Binary, left: Expr, right: Expr, span: Span) -> Read<Expr> {
        match Expr::binary(operator, left, right) {
            Some(both) => Ok(both),
            None => {
                let error = Diagnostic::error(codes::LIMIT, "this is nested too deeply");
                self.reader.fail(error.with_label(span, "here"))
            }
        }
    }

    fn compare(&mut self, tid: usize, left: Expr, right: Expr, span: Span) -> Read<()> {
        for (name, value) in COMPARED.into_iter().zip([left, right]) {
            let dst = self.threads.register(tid, name, span, self.reader)?;
            self.emit(tid, Instr::Assign { dst, value }, span);
        }
        Ok(())
    }

    /// `CMPXCHG [x],r`: if x is what the accumulator holds it gets r, else the accumulator gets x.
    fn compare_exchange(
        &mut self,
        tid: usize,
        place: Place,
        new: Reg,
        locked: bool,
        span: Span,
    ) -> Read<()> {
        let accumulator = spelling(self.architecture, "eax").unwrap_or_default();
        let accumulator = self.threads.register(tid, &accumulator, span, self.reader)?;
        let found = self.threads.temporary(tid, span, self.reader)?;
        let (expected, desired) = (Expr::Reg(accumulator), Expr::Reg(new));
        if locked {
            let (read, write, fail) = (ReadMode::Rlx, WriteMode::Rlx, ReadMode::Rlx);
            let dst = Some(found);
            self.emit(tid, Instr::Cas { dst, place, expected, desired, read, write, fail }, span);
        } else {
            let load = Instr::Load { dst: found, place: place.clone(), mode: ReadMode::Rlx };
            self.emit(tid, load, span);
            let other = self.both(Binary::Ne, Expr::Reg(found), expected, span)?;
            let after = Pc(self.threads.here(tid).0 + 2);
            self.threads.jump(tid, other, vec![after], span);
            self.emit(tid, Instr::Store { place, value: desired, mode: WriteMode::Rlx }, span);
        }
        self.compare(tid, Expr::Reg(found), Expr::Reg(accumulator), span)?;
        self.emit(tid, Instr::Assign { dst: accumulator, value: Expr::Reg(found) }, span);
        Ok(())
    }

    fn jump(&mut self, tid: usize, name: &str, token: Token<'a>) -> Read<()> {
        let operator = match name {
            "jmp" => None,
            "je" | "jz" => Some(Binary::Eq),
            "jne" | "jnz" => Some(Binary::Ne),
            "jl" | "jnge" => Some(Binary::Lt),
            "jle" | "jng" => Some(Binary::Le),
            "jg" | "jnle" => Some(Binary::Gt),
            "jge" | "jnl" => Some(Binary::Ge),
            _ => {
                let what = format!("the jump `{}`", token.text);
                let help = "known are jmp, je, jne, jl, jle, jg and jge: comparisons are signed";
                return self.reader.unsupported(token.span, &what, help);
            }
        };
        let label = self.reader.name("a label")?;
        let span = token.span.to(label.span);
        let cond = match operator {
            None => Expr::Const(1),
            Some(operator) => {
                let mut compared = Vec::new();
                for name in COMPARED {
                    compared.push(Expr::Reg(self.threads.register(
                        tid,
                        name,
                        span,
                        self.reader,
                    )?));
                }
                let right = compared.pop().unwrap_or(Expr::Const(0));
                let left = compared.pop().unwrap_or(Expr::Const(0));
                self.both(operator, left, right, span)?
            }
        };
        let at = self.threads.jump(tid, cond, vec![], span);
        self.columns[tid].jumps.push((at, label));
        Ok(())
    }

    /// Labels to places.
    fn resolve(&mut self) -> Read<()> {
        for tid in 0..self.columns.len() {
            let end = self.threads.here(tid);
            let Column { labels, jumps, ends } = std::mem::take(&mut self.columns[tid]);
            for (at, label) in jumps {
                let Some(&target) = labels.get(label.text) else {
                    let message = format!("there is no label `{}`", label.text);
                    let error = Diagnostic::error(codes::NO_LABEL, message);
                    let near = suggest::nearest(label.text, labels.keys().copied());
                    let text = near.map_or_else(
                        || format!("P{tid} has no such label"),
                        |near| format!("did you mean `{near}`?"),
                    );
                    return self.reader.fail(error.with_label(label.span, text));
                };
                self.threads.set_targets(tid, at, vec![target]);
            }
            for at in ends {
                self.threads.lead(tid, at, end);
            }
        }
        Ok(())
    }
}
