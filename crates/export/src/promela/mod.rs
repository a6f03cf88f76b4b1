//! Promela, the language of Spin.
//!
//! The translation is exact: a state of the Promela program is a state of the program under
//! sequential consistency, and so is a step. How that is done:
//!
//! * a thread is a process, started before the first step; it ends by blocking at a label that Spin
//!   takes for a valid end (a process that terminates would take another step to do so);
//! * a location is a global variable, an array an array, a register a local variable, each of the
//!   smallest type that holds the program's values;
//! * an instruction is one statement, or one `atomic` block. `wait`, `BCAS` and `assume` are guards. A
//!   failed `assume` blocks its thread forever, since nobody else changes its registers;
//! * run-time errors (division by zero, an index out of range) are failing assertions;
//! * fences do nothing under sequential consistency, but they are steps. So are `Begin` and `End`;
//! * while a thread holds the bus, a `provided` clause stops all others.
//!
//! Threads that wait forever are "invalid end states" to Spin; `pan -E` ignores them.

mod arithmetic;
mod step;

use crate::names::Names;
use crate::storage::Storage;
use crate::{ExportError, mentions};
use ir::{Domain, Instr, Pc, Program, Reg, Tid, Value};
use std::collections::HashSet;
use step::{Steps, Written};

/// The thread that holds the bus, counted from 1, or 0.
const BUS: &str = "fp_bus";
/// What is read by an instruction that overwrites a register it still needs.
const SCRATCH: &str = "fp_scratch";
/// Spin's limit on the number of processes.
const MOST_PROCESSES: usize = 255;

const HEADER: &str = "\
/* The behaviour of a program under sequential consistency, written by Fencepost.
 *
 *     spin -a FILE && gcc -O2 -DSAFETY -o pan pan.c && ./pan -E
 *
 * explores it and reports failing assertions; without -E also threads that wait forever.
 */
";

/// Writes `program`, as it behaves under sequential consistency, in Promela.
///
/// Spin finds a failing assertion in it if and only if an assertion of `program` can fail or an
/// expression can have no value (division by zero, an index out of range).
///
/// # Errors
///
/// If Promela's limits are too narrow for the program, see [`ExportError`].
pub fn promela(program: &Program) -> Result<String, ExportError> {
    let count = program.threads.len();
    if count > MOST_PROCESSES {
        return Err(ExportError::TooManyThreads { count, most: MOST_PROCESSES });
    }
    let Domain { min, max, .. } = program.domain;
    if i32::try_from(min).is_err() || i32::try_from(max).is_err() {
        return Err(ExportError::Values(program.domain));
    }
    let mut names = Names::default();
    let storage = Storage::new(program, &mut names);
    let uses_bus = program.steps().any(|(_, _, step)| step.instr == Instr::BusLock);
    let mut uses_scratch = false;
    let mut processes = String::new();
    for tid in program.tids() {
        let process = Process::new(program, tid, &storage, uses_bus, &mut names)?;
        uses_scratch |= process.uses_scratch;
        processes.push('\n');
        processes.push_str(&process.text);
    }
    let mut text = HEADER.to_string();
    text.push('\n');
    text.push_str(&declarations(&storage, program));
    if uses_bus {
        text.push_str(&format!("byte {BUS}; /* who keeps all others from moving */\n"));
    }
    if uses_scratch {
        text.push_str(&format!("hidden int {SCRATCH};\n"));
    }
    text.push_str(&processes);
    Ok(text)
}

/// A thread as a process of Promela.
struct Process {
    text: String,
    uses_scratch: bool,
}

impl Process {
    fn new(
        program: &Program,
        tid: Tid,
        storage: &Storage,
        uses_bus: bool,
        names: &mut Names,
    ) -> Result<Self, ExportError> {
        let thread = &program.threads[tid.index()];
        let name = match thread.replica {
            Some(k) => names.claim("thread_", &format!("{}_{k}", thread.name)),
            None => names.claim("thread_", &thread.name),
        };
        let provided = match uses_bus {
            true => format!(" provided ({BUS} == 0 || {BUS} == {})", tid.0 + 1),
            false => String::new(),
        };
        let mut own = Names::default();
        let registers: Vec<String> =
            thread.registers.iter().map(|name| own.claim("reg_", name)).collect();
        let steps = Steps { program, tid, registers: &registers, storage };
        let mut text = format!("active proctype {name}(){provided} {{\n");
        for (r, name) in registers.iter().enumerate() {
            if mentions(thread, Reg::from(r)) {
                text.push_str(&format!("    {} {name};\n", type_of(program.domain)));
            }
        }
        let (count, entry) = (thread.code.len(), thread.entry.index());
        let written = (entry..count)
            .chain(0..entry)
            .map(|pc| Ok((Pc::from(pc), steps.write(Pc::from(pc))?)))
            .collect::<Result<Vec<_>, ExportError>>()?;
        text.push_str(&body(&steps, &written));
        text.push_str("}\n");
        let uses_scratch = written.iter().any(|(_, written)| written.uses_scratch);
        Ok(Process { text, uses_scratch })
    }
}

/// The steps one after the other, with jumps wherever the order does not say what comes next.
fn body(steps: &Steps<'_>, written: &[(Pc, Written)]) -> String {
    let following = |position: usize| written.get(position + 1).map(|(pc, _)| *pc);
    let jump = |position: usize| {
        let (_, written) = &written[position];
        written.falls_to.filter(|&to| Some(to) != following(position))
    };
    let mut targets: HashSet<Pc> = HashSet::new();
    for (position, (_, written)) in written.iter().enumerate() {
        targets.extend(&written.jumps_to);
        targets.extend(jump(position));
    }
    let mut text = String::new();
    for (position, (pc, step)) in written.iter().enumerate() {
        if targets.contains(pc) || steps.may_end(*pc) {
            text.push_str(&format!("{}:\n", steps.label(*pc)));
        }
        text.push_str("    ");
        text.push_str(&step.lines.join("\n    "));
        if let Some(to) = jump(position) {
            text.push_str(&format!("; goto {}", steps.label(to)));
        }
        text.push_str(if following(position).is_some() { ";\n" } else { "\n" });
    }
    text
}

/// The declarations of the variables, a line each.
fn declarations(storage: &Storage, program: &Program) -> String {
    let kind = type_of(program.domain);
    let lines = storage.variables().map(|variable| {
        let size = variable.array.map(|count| format!("[{count}]")).unwrap_or_default();
        let values: Vec<Value> = variable.initial(program).collect();
        let initial = match values.as_slice() {
            same if same.iter().all(|value| *value == 0) => String::new(),
            [first, rest @ ..] if rest.iter().all(|value| value == first) => format!(" = {first}"),
            different => {
                let values: Vec<String> = different.iter().map(Value::to_string).collect();
                format!(" = {{ {} }}", values.join(", "))
            }
        };
        format!("{kind} {}{size}{initial};\n", variable.name)
    });
    lines.collect()
}

/// The smallest type of Promela for the values of `domain`.
fn type_of(domain: Domain) -> &'static str {
    match (domain.min, domain.max) {
        (0.., ..=1) => "bit",
        (0.., ..=255) => "byte",
        (-32768.., ..=32767) => "short",
        _ => "int",
    }
}
