//! C11, with POSIX threads.
//!
//! Every execution of the program is one of the C program, and the other way round, under C11's memory
//! model. How that is done:
//!
//! * a location is a global variable, `_Atomic` unless it is non-atomic, an array an array;
//! * a thread is a function that `main` starts, a register a local variable of it. Its code is a graph,
//!   so it is written with labels and `goto`;
//! * memory orders are C's. A read-modify-write has one order in C and two modes here: it is `seq_cst` if
//!   both are, and acquires and releases as they say;
//! * `wait` and `BCAS` are loops that read or try until they may go on;
//! * a choice asks `__VERIFIER_nondet_bool`, and `assume` is `__VERIFIER_assume`, by the names that
//!   verification tools agree on. Such a program compiles, but does not link;
//! * arithmetic wraps around in the domain, by a helper function. Read-modify-writes cannot use it, so the
//!   domain must be that of an integer type if they wrap: `max_value 255`, the default, is `uint8_t`;
//! * run-time errors (division by zero, an index out of range) are failing assertions.
//!
//! `fetch_nand`, `fetch_max` and `fetch_min` are not in C11. The first is a builtin function of clang and gcc,
//! the other two are of clang and not of every gcc.
//!
//! Transactions, bus locks, lightweight fences and partial modes have no counterpart and are refused.

pub(crate) mod orders;
mod step;
pub(crate) mod values;

use crate::names::Names;
use crate::storage::{Storage, Variable};
use crate::{ExportError, mentions};
use ir::{LocationKind, Pc, Program, Reg, Thread, Value};
use std::collections::HashSet;
use step::{Steps, Written, label};
use values::Values;

const HEADER: &str = "\
/* A concurrent program in C11, written by Fencepost. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
";

/// Writes `program` in C11.
///
/// # Errors
///
/// If C has no word for what the program does, see [`ExportError`].
pub fn c(program: &Program) -> Result<String, ExportError> {
    let mut names = Names::default();
    let storage = Storage::new(program, &mut names);
    let mut values = Values::new(program.domain);
    let (mut functions, mut started) = (String::new(), Vec::new());
    for thread in &program.threads {
        let name = match thread.replica {
            Some(k) => names.claim("thread_", &format!("{}_{k}", thread.name)),
            None => names.claim("thread_", &thread.name),
        };
        functions.push('\n');
        functions.push_str(&function(program, thread, &name, &storage, &mut values)?);
        started.push(name);
    }
    let mut text = HEADER.to_string();
    text.push('\n');
    for variable in storage.variables() {
        text.push_str(&declaration(variable, program, &values));
    }
    for helper in &values.used {
        text.push('\n');
        text.push_str(&values.definition(*helper));
    }
    text.push_str(&functions);
    text.push_str(&main(&started));
    Ok(text)
}

fn declaration(variable: &Variable, program: &Program, values: &Values) -> String {
    let kind = variable.locations(program).first().map(|location| location.kind);
    let atomic = if kind == Some(LocationKind::Atomic) { "_Atomic " } else { "" };
    let size = variable.array.map(|count| format!("[{count}]")).unwrap_or_default();
    let initial: Vec<Value> = variable.initial(program).collect();
    let text: Vec<String> = initial.iter().map(|value| values.number(*value).alone()).collect();
    let initial = match (initial.iter().all(|value| *value == 0), variable.array) {
        (true, _) => String::new(),
        (false, None) => format!(" = {}", text.join("")),
        (false, Some(_)) => format!(" = {{ {} }}", text.join(", ")),
    };
    format!("{atomic}{} {}{size}{initial};\n", values.cell, variable.name)
}

/// A thread as a function.
fn function(
    program: &Program,
    thread: &Thread,
    name: &str,
    storage: &Storage,
    values: &mut Values,
) -> Result<String, ExportError> {
    let mut own = Names::default();
    let registers: Vec<String> =
        thread.registers.iter().map(|name| own.claim("reg_", name)).collect();
    let mut text = format!("static void *{name}(void *unused) {{\n    (void)unused;\n");
    for (r, name) in registers.iter().enumerate() {
        if mentions(thread, Reg::from(r)) {
            text.push_str(&format!("    {} {name} = 0;\n", values.wide));
        }
    }
    let mut steps = Steps { program, thread, registers: &registers, storage, values };
    let (before, after): (Vec<Pc>, Vec<Pc>) =
        thread.reachable().partition(|pc| pc.index() < thread.entry.index());
    let written = after
        .into_iter()
        .chain(before)
        .map(|pc| Ok((pc, steps.write(&thread.code[pc.index()])?)))
        .collect::<Result<Vec<_>, ExportError>>()?;
    text.push_str(&body(&written));
    text.push_str("}\n");
    Ok(text)
}

/// The steps one after the other, with jumps wherever the order does not say what comes next.
fn body(written: &[(Pc, Written)]) -> String {
    let jump = |position: usize| {
        let following = written.get(position + 1).map(|(pc, _)| *pc);
        written[position].1.falls_to.filter(|to| Some(*to) != following)
    };
    let mut targets: HashSet<Pc> = HashSet::new();
    for (position, (_, step)) in written.iter().enumerate() {
        targets.extend(&step.jumps_to);
        targets.extend(jump(position));
    }
    let mut text = String::new();
    for (position, (pc, step)) in written.iter().enumerate() {
        if targets.contains(pc) {
            // A label stands before a statement, if only an empty one.
            text.push_str(&format!("{}:;\n", label(*pc)));
        }
        let jump = jump(position).map(|to| format!("goto {};", label(to)));
        for line in step.lines.iter().chain(&jump) {
            text.push_str(&format!("    {line}\n"));
        }
    }
    text
}

fn main(threads: &[String]) -> String {
    let count = threads.len();
    let mut text = format!("\nint main(void) {{\n    pthread_t threads[{}];\n", count.max(1));
    for (k, name) in threads.iter().enumerate() {
        text.push_str(&format!(
            "    if (pthread_create(&threads[{k}], NULL, {name}, NULL)) abort();\n"
        ));
    }
    for k in 0..count {
        text.push_str(&format!("    if (pthread_join(threads[{k}], NULL)) abort();\n"));
    }
    text.push_str("    return 0;\n}\n");
    text
}
