//! Rust, with the threads and atomics of its standard library.
//!
//! As in C ([`crate::c()`]), every execution of the program is one of the Rust program, and the other way round. What is
//! different:
//!
//! * a location is a `static` of an atomic type, or a `static mut` if it is non-atomic;
//! * Rust has no `goto`: a thread's code is a loop over a number that says which step comes next;
//! * run-time errors (division by zero, an index out of range) and failing assertions are panics.

use crate::c::orders::{fence, read, update, write};
use crate::c::values::Values;
use crate::names::Names;
use crate::storage::{Storage, Variable};
use crate::text::Text;
use crate::{ExportError, mentions};
use ir::expr::{Binary, Op, Unary};
use ir::{
    Domain, Edge, Expr, Instr, LocationKind, Pc, Place, Program, ReadMode, Reg, Step, Thread,
    UpdateOp, Value, WriteMode,
};
use std::fmt::Write;

const HEADER: &str = "\
// A concurrent program in Rust, written by Fencepost.
#![allow(unused, non_upper_case_globals, static_mut_refs)]
use std::sync::atomic::{self, Ordering};
use std::thread;

unsafe extern \"C\" {
    fn __VERIFIER_nondet_bool() -> bool;
    fn __VERIFIER_assume(condition: i32);
}
";

/// Writes `program` in Rust.
///
/// # Errors
///
/// If Rust has no word for what the program does, see [`ExportError`].
pub fn rust(program: &Program) -> Result<String, ExportError> {
    let mut names = Names::default();
    let storage = Storage::new(program, &mut names);
    let writer = Writer::new(program, &storage);
    let (mut functions, mut started) = (String::new(), Vec::new());
    for thread in &program.threads {
        let name = match thread.replica {
            Some(k) => names.claim("thread_", &format!("{}_{k}", thread.name)),
            None => names.claim("thread_", &thread.name),
        };
        functions.push('\n');
        functions.push_str(&writer.function(thread, &name)?);
        started.push(name);
    }
    let mut text = HEADER.to_string();
    text.push('\n');
    for variable in storage.variables() {
        text.push_str(&writer.declaration(variable));
    }
    text.push_str(&writer.helper());
    text.push_str(&functions);
    let spawned: Vec<String> =
        started.iter().map(|name| format!("thread::spawn({name})")).collect();
    let _ = write!(
        text,
        "\nfn main() {{\n    let threads: [thread::JoinHandle<()>; {}] = [{}];\n    for thread in threads {{\n        \
         thread.join().unwrap();\n    }}\n}}\n",
        started.len(),
        spawned.join(", ")
    );
    Ok(text)
}

/// Rust's name for a memory order of C's.
fn order(name: &str) -> &'static str {
    match name {
        "memory_order_relaxed" => "Ordering::Relaxed",
        "memory_order_acquire" => "Ordering::Acquire",
        "memory_order_release" => "Ordering::Release",
        "memory_order_acq_rel" => "Ordering::AcqRel",
        _ => "Ordering::SeqCst",
    }
}

struct Writer<'a> {
    program: &'a Program,
    storage: &'a Storage,
    /// What C says of the same values: where read-modify-writes wrap around.
    values: Values,
    /// The type of locations, and the atomic one.
    cell: &'static str,
    atomic: &'static str,
    /// The type of registers.
    wide: &'static str,
}

impl<'a> Writer<'a> {
    fn new(program: &'a Program, storage: &'a Storage) -> Self {
        let values = Values::new(program.domain);
        let (cell, atomic) = match values.cell {
            "uint8_t" => ("u8", "AtomicU8"),
            "int8_t" => ("i8", "AtomicI8"),
            "uint16_t" => ("u16", "AtomicU16"),
            "int16_t" => ("i16", "AtomicI16"),
            "uint32_t" => ("u32", "AtomicU32"),
            "int64_t" => ("i64", "AtomicI64"),
            _ => ("i32", "AtomicI32"),
        };
        let wide = if values.wide == "int64_t" { "i64" } else { "i128" };
        Writer { program, storage, values, cell, atomic, wide }
    }

    fn declaration(&self, variable: &Variable) -> String {
        let kind = variable.locations(self.program).first().map(|location| location.kind);
        let is_atomic = kind == Some(LocationKind::Atomic);
        let one = |value: Value| match is_atomic {
            true => format!("atomic::{}::new({value})", self.atomic),
            false => value.to_string(),
        };
        let (keyword, ty) = match is_atomic {
            true => ("static", format!("atomic::{}", self.atomic)),
            false => ("static mut", self.cell.to_string()),
        };
        let initial: Vec<String> = variable.initial(self.program).map(one).collect();
        match variable.array {
            None => format!("{keyword} {}: {ty} = {};\n", variable.name, initial.join("")),
            Some(count) => {
                format!(
                    "{keyword} {}: [{ty}; {count}] = [{}];\n",
                    variable.name,
                    initial.join(", ")
                )
            }
        }
    }

    fn helper(&self) -> String {
        let Domain { min, max, edge } = self.program.domain;
        let wide = self.wide;
        match edge {
            Edge::Wrap => format!(
                "\n// Arithmetic wraps around: the values are those from {min} to {max}.\n\
                 fn value(exact: {wide}) -> {wide} {{\n    \
                 (exact - ({min})).rem_euclid({max} - ({min}) + 1) + ({min})\n}}\n"
            ),
            Edge::Fault => format!(
                "\n// It is an error to leave the values from {min} to {max}.\n\
                 fn value(exact: {wide}) -> {wide} {{\n    \
                 assert!({min} <= exact && exact <= {max});\n    exact\n}}\n"
            ),
        }
    }

    fn function(&self, thread: &Thread, name: &str) -> Result<String, ExportError> {
        let mut own = Names::default();
        let registers: Vec<String> =
            thread.registers.iter().map(|name| own.claim("reg_", name)).collect();
        let mut text = format!("fn {name}() {{\n");
        for (r, name) in registers.iter().enumerate() {
            if mentions(thread, Reg::from(r)) {
                let _ = writeln!(text, "    let mut {name}: {} = 0;", self.wide);
            }
        }
        let _ = writeln!(text, "    let mut step = {};", thread.entry.index());
        text.push_str("    loop {\n        step = match step {\n");
        let steps = Steps { writer: self, thread, registers: &registers };
        for pc in thread.reachable() {
            let (statement, next) = steps.step(&thread.code[pc.index()])?;
            let _ = writeln!(text, "            {} => unsafe {{ {statement}{next} }}", pc.index());
        }
        text.push_str("            _ => unreachable!(),\n        };\n    }\n}\n");
        Ok(text)
    }
}

/// Writes the steps of one thread.
struct Steps<'a> {
    writer: &'a Writer<'a>,
    thread: &'a Thread,
    registers: &'a [String],
}

impl Steps<'_> {
    /// What a step does, and the number of the step that comes next.
    fn step(&self, step: &Step) -> Result<(String, String), ExportError> {
        let next = step.next.index().to_string();
        Ok(match &step.instr {
            Instr::Jump { cond, targets } => {
                let ways = |targets: &[Pc]| -> String {
                    let (last, others) = targets.split_last().expect("a jump has targets");
                    let mut text = String::new();
                    for to in others {
                        let _ =
                            write!(text, "if __VERIFIER_nondet_bool() {{ {} }} else ", to.index());
                    }
                    match others.is_empty() {
                        true => last.index().to_string(),
                        false => format!("{text}{{ {} }}", last.index()),
                    }
                };
                match cond.as_const() {
                    Some(0) => (String::new(), next),
                    Some(_) => (String::new(), ways(targets)),
                    None => {
                        let cond = self.expr(cond).alone();
                        (
                            String::new(),
                            format!("if {cond} != 0 {{ {} }} else {{ {next} }}", ways(targets)),
                        )
                    }
                }
            }
            Instr::Switch { value, cases } => {
                let value = self.expr(value).alone();
                let mut text = format!("match {value} {{ ");
                for (case, to) in cases {
                    let _ = write!(text, "{case} => {}, ", to.index());
                }
                (String::new(), format!("{text}_ => {next} }}"))
            }
            Instr::Halt => (String::new(), "return".into()),
            instr => (self.statement(instr)?, next),
        })
    }

    fn statement(&self, instr: &Instr) -> Result<String, ExportError> {
        let cell = self.writer.cell;
        Ok(match instr {
            Instr::Assign { dst, value } => self.keep(Some(*dst), &self.expr(value).alone()),
            Instr::Assert(cond) => format!("assert!({} != 0); ", self.expr(cond).alone()),
            Instr::Assume(cond) => {
                format!("__VERIFIER_assume(i32::from({} != 0)); ", self.expr(cond).alone())
            }
            Instr::Load { dst, place, mode } => self.keep(Some(*dst), &self.load(place, *mode)?),
            Instr::Store { place, value, mode } => {
                let value = format!("({}) as {cell}", self.expr(value).alone());
                let place = self.place(place)?;
                match mode {
                    WriteMode::Na => format!("{place} = {value}; "),
                    _ => {
                        let order = order(write(*mode).ok_or_else(|| self.partial())?);
                        format!("{place}.store({value}, {order}); ")
                    }
                }
            }
            Instr::Rmw { dst, place, update: change, read, write } => {
                let order = order(update(*read, *write).ok_or_else(|| self.partial())?);
                self.rmw(*dst, place, change.op, &change.operand, order)?
            }
            Instr::Cas { dst, place, expected, desired, read: r, write, fail } => {
                let success = order(update(*r, *write).ok_or_else(|| self.partial())?);
                let failure = order(read(*fail).ok_or_else(|| self.partial())?);
                let exchange = self.exchange(place, expected, desired, success, failure)?;
                let old = format!("match {exchange} {{ Ok(old) => old, Err(old) => old }}");
                self.keep(*dst, &format!("({old}) as {}", self.writer.wide))
            }
            Instr::BlockingCas { place, expected, desired, read, write } => {
                let success = order(update(*read, *write).ok_or_else(|| self.partial())?);
                let exchange =
                    self.exchange(place, expected, desired, success, "Ordering::Relaxed")?;
                format!("while {exchange}.is_err() {{}} ")
            }
            Instr::Wait { dst, place, values, mode } => {
                let seen = self.load(place, *mode)?;
                let equal: Vec<String> = values
                    .iter()
                    .map(|value| format!("seen == {}", self.expr(value).operand()))
                    .collect();
                let keep = self.keep(*dst, "seen");
                format!(
                    "let seen = loop {{ let seen = {seen}; if {} {{ break seen; }} }}; {keep}",
                    equal.join(" || ")
                )
            }
            Instr::Fence(mode) => {
                let kind = fence(*mode)
                    .ok_or_else(|| self.lacks("an update of a hidden location as a fence"))?;
                format!("atomic::fence({}); ", order(kind))
            }
            Instr::LightFence(_) => return Err(self.lacks("a fence for some locations only")),
            Instr::BusLock | Instr::BusUnlock => {
                return Err(self.lacks("a block of instructions that locks the bus"));
            }
            Instr::Begin | Instr::End => return Err(self.lacks("a transaction")),
            Instr::Skip
            | Instr::Mark(_)
            | Instr::Jump { .. }
            | Instr::Switch { .. }
            | Instr::Halt => String::new(),
        })
    }

    fn exchange(
        &self,
        place: &Place,
        expected: &Expr,
        desired: &Expr,
        success: &str,
        failure: &str,
    ) -> Result<String, ExportError> {
        let cell = self.writer.cell;
        let (expected, desired) = (self.expr(expected).alone(), self.expr(desired).alone());
        let place = self.place(place)?;
        Ok(format!(
            "{place}.compare_exchange(({expected}) as {cell}, ({desired}) as {cell}, {success}, {failure})"
        ))
    }

    fn rmw(
        &self,
        dst: Option<Reg>,
        place: &Place,
        op: UpdateOp,
        operand: &Expr,
        order: &str,
    ) -> Result<String, ExportError> {
        let Writer { values, cell, wide, program, .. } = self.writer;
        if values.wraps_elsewhere(op) {
            return Err(ExportError::WrapsElsewhere {
                thread: self.thread.display_name(),
                operator: op.keyword(),
                domain: program.domain,
            });
        }
        let name = if op == UpdateOp::Set { "swap" } else { op.keyword() };
        let (operand, place) = (self.expr(operand).alone(), self.place(place)?);
        let tested = match values.must_be_tested(op) {
            Some(op) => {
                format!("{}; ", self.binary(op, &Text::word("old"), &Text::word("operand")).alone())
            }
            None => String::new(),
        };
        let keep = self.keep(dst, "old");
        Ok(format!(
            "let operand: {wide} = {operand}; let old = {place}.{name}(operand as {cell}, {order}) as {wide}; {tested}{keep}"
        ))
    }

    fn load(&self, place: &Place, mode: ReadMode) -> Result<String, ExportError> {
        let (place, wide) = (self.place(place)?, self.writer.wide);
        if mode == ReadMode::Na {
            return Ok(format!("{place} as {wide}"));
        }
        let order = order(read(mode).ok_or_else(|| self.partial())?);
        Ok(format!("{place}.load({order}) as {wide}"))
    }

    fn place(&self, place: &Place) -> Result<String, ExportError> {
        let index = |index: &Expr| {
            let text = self.expr(index).alone();
            // Negative numbers become large ones, which are no index either.
            let len = place.len;
            Ok(Text::word(format!("{{ let at = ({text}) as usize; assert!(at < {len}); at }}")))
        };
        let name = self.thread.display_name();
        Ok(self.writer.storage.place(place, self.writer.program, &name, index)?.alone())
    }

    fn keep(&self, dst: Option<Reg>, value: &str) -> String {
        match dst {
            Some(dst) => format!("{} = {value}; ", self.registers[dst.index()]),
            None => format!("let _ = {value}; "),
        }
    }

    /// The expression, as a number.
    fn expr(&self, expr: &Expr) -> Text {
        let wide = self.writer.wide;
        let mut stack: Vec<Text> = Vec::new();
        for op in expr.clone().into_postfix() {
            let result = match op {
                Op::Const(value) => Text::word(format!("({value}_{wide})")),
                Op::Reg(reg) => Text::word(self.registers[reg.index()].as_str()),
                Op::Unary(op) => {
                    let a = stack.pop().expect("postfix code has its operands");
                    Text::word(match op {
                        Unary::Not => format!("{wide}::from({} == 0)", a.operand()),
                        Unary::Neg => format!("value(-{})", a.operand()),
                    })
                }
                Op::Binary(op) => {
                    let b = stack.pop().expect("postfix code has its operands");
                    let a = stack.pop().expect("postfix code has its operands");
                    self.binary(op, &a, &b)
                }
            };
            stack.push(result);
        }
        stack.pop().expect("postfix code has a result")
    }

    fn binary(&self, op: Binary, a: &Text, b: &Text) -> Text {
        let (wide, a, b) = (self.writer.wide, a.operand(), b.operand());
        Text::word(match op {
            // Both sides are evaluated.
            Binary::And => format!("{wide}::from(({a} != 0) & ({b} != 0))"),
            Binary::Or => format!("{wide}::from(({a} != 0) | ({b} != 0))"),
            Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => {
                format!("{wide}::from({a} {} {b})", op.symbol())
            }
            _ => format!("value({a} {} {b})", op.symbol()),
        })
    }

    fn lacks(&self, what: &'static str) -> ExportError {
        ExportError::NotInC { thread: self.thread.display_name(), what }
    }

    fn partial(&self) -> ExportError {
        self.lacks("an access that synchronises one space only (`pacq`, `prel`)")
    }
}
