//! Programs as text of the Fencepost language, and instructions as a reader would write them.
//!
//! [`program`] prints labels and gotos, since that is all a step graph knows. Reading the text back
//! gives the program that [`printable`] gives: the same program in canonical form
//! ([`crate::canonical`]) without origins, and with these further changes, each of which only
//! touches programs that the language could not express as they are:
//!
//! * names that are no identifiers, or clash, are replaced by similar ones;
//! * replicas are printed as `thread t[3]` if their code is equal, else as threads `t_0`, `t_1`, …;
//! * a place without index that is an array element gets its index;
//! * a conditional jump to several places becomes a conditional jump to a choice, one to no
//!   place an assumption, and a switch a jump for each of its cases;
//! * threads that others start begin with the wait that this means, like any other.
//!
//! So `printable(a) == printable(b)` is equality of programs up to origins, and reading back what
//! was printed keeps it. Not covered are domains that do not wrap around, and constant
//! indices outside their array, which the language refuses.

mod names;
mod text;

pub use text::{condition, expression, instruction, observed, place};

use crate::canonical;
use crate::condition::Condition;
use crate::expr::{Binary, Expr, Unary};
use crate::ids::{Loc, Origin, Pc, Value};
use crate::program::{Instr, Location, LocationKind, Place, Program, Step, Thread};
use names::Names;
use std::fmt::Write;
use std::ops::Range;

/// The program as text of the Fencepost language.
pub fn program(program: &Program) -> String {
    let program = printable(program);
    let mut out = match program.domain.min {
        0 => format!("max_value {};\n", program.domain.max),
        _ => format!("values {};\n", program.domain),
    };
    declarations(&program, &mut out);
    for group in groups(&program.threads) {
        out.push('\n');
        thread(&program, &program.threads[group.clone()], &mut out);
    }
    if let Some(asked) = &program.condition {
        let _ = writeln!(out, "\n{};", condition(&program, asked));
    }
    out
}

/// The program that reading its text back gives.
pub fn printable(program: &Program) -> Program {
    let mut locations = program.locations.clone();
    name_locations(&mut locations);
    let threads = program.threads.iter().map(|thread| {
        let mut thread = thread.clone();
        for step in &mut thread.code {
            canonical::for_each_place(&mut step.instr, |place| index_element(place, &locations));
        }
        split_jumps(&mut thread.code);
        let mut thread = canonical::thread(&thread, program.domain);
        for step in &mut thread.code {
            step.origin = Origin(0);
        }
        let mut taken = Names::default();
        for register in &mut thread.registers {
            *register = taken.claim(register);
        }
        thread
    });
    let mut threads: Vec<Thread> = threads.collect();
    name_threads(&mut threads);
    let condition = program.condition.clone().map(|asked| Condition { origin: Origin(0), ..asked });
    Program { condition, ..Program::new(program.domain, locations, threads) }
}

/// Jumps that the language has no statement for, in terms of those that it has.
fn split_jumps(code: &mut Vec<Step>) {
    for at in 0..code.len() {
        let (next, origin) = (code[at].next, code[at].origin);
        if let Instr::Switch { value, cases } = &code[at].instr {
            let test = |(case, to): &(Value, Pc)| {
                let cond = Expr::binary(Binary::Eq, value.clone(), Expr::Const(*case));
                // A value that leaves no room for a comparison does not come from any front-end.
                Instr::Jump { cond: cond.unwrap_or(Expr::Const(0)), targets: vec![*to] }
            };
            let tests: Vec<Instr> = cases.iter().map(test).collect();
            unfold(code, at, tests);
            continue;
        }
        let fresh = Pc::from(code.len());
        let Instr::Jump { cond, targets } = &mut code[at].instr else { continue };
        if targets.is_empty() {
            let stuck = Expr::unary(Unary::Not, cond.clone()).unwrap_or(Expr::Const(0));
            code[at].instr = Instr::Assume(stuck);
        } else if targets.len() > 1 && cond.as_const().is_none() {
            let targets = std::mem::replace(targets, vec![fresh]);
            let instr = Instr::Jump { cond: Expr::Const(1), targets };
            code.push(Step { instr, next, origin });
        }
    }
}

/// Puts instructions that are followed by each other in the place of a step.
fn unfold(code: &mut Vec<Step>, at: usize, instrs: Vec<Instr>) {
    let Step { next, origin, .. } = code[at];
    let mut last = at;
    code[at].instr = Instr::Skip;
    for (k, instr) in instrs.into_iter().enumerate() {
        if k > 0 {
            let fresh = Pc::from(code.len());
            code[last].next = fresh;
            last = code.len();
            code.push(Step { instr: Instr::Skip, next, origin });
        }
        code[last].instr = instr;
    }
}

fn index_element(place: &mut Place, locations: &[Location]) {
    let base = place.base.index();
    let element = locations.get(base).and_then(|location| location.element);
    let (None, Some(element)) = (&place.index, element) else { return };
    let Some(first) = base.checked_sub(element as usize) else { return };
    let array = array_around(first, locations);
    if array.contains(&base) {
        place.base = Loc::from(array.start);
        place.len = array.len() as u32;
        place.index = Some(Expr::Const(element.into()));
    }
}

/// The locations that are declared together with the one at `first`.
fn array_around(first: usize, locations: &[Location]) -> Range<usize> {
    let start = &locations[first];
    let elements = (first..locations.len()).take_while(|&at| {
        let location = &locations[at];
        at == first
            || start.element == Some(0)
                && location.element == Some((at - first) as u32)
                && location.name == start.name
                && location.kind == start.kind
    });
    first..first + elements.count()
}

fn name_locations(locations: &mut [Location]) {
    let mut taken = Names::without_modes();
    let mut at = 0;
    while at < locations.len() {
        let array = array_around(at, locations);
        let name = taken.claim(&locations[at].name);
        at = array.end;
        for location in &mut locations[array] {
            location.name.clone_from(&name);
        }
    }
}

fn name_threads(threads: &mut [Thread]) {
    let mut taken = Names::default();
    for group in groups(threads) {
        let group = &mut threads[group];
        let first = &group[0];
        let equal = group.iter().all(|t| t.code == first.code && t.registers == first.registers);
        if first.replica == Some(0) && equal {
            let name = taken.claim(&first.name);
            // Inside, the name stands for the replica's number.
            if !first.registers.contains(&name) {
                group.iter_mut().for_each(|thread| thread.name.clone_from(&name));
                continue;
            }
        }
        for thread in group {
            let name = match thread.replica.take() {
                Some(number) => format!("{}_{number}", thread.name),
                None => thread.name.clone(),
            };
            thread.name = taken.claim(&name);
        }
    }
}

/// Runs of replicas that are numbered from 0; every other thread is a run of its own.
fn groups(threads: &[Thread]) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut start = 0;
    while start < threads.len() {
        let more = threads[start + 1..].iter().zip(1..).take_while(|(thread, number)| {
            threads[start].replica == Some(0)
                && thread.replica == Some(*number)
                && thread.name == threads[start].name
        });
        let end = start + 1 + more.count();
        groups.push(start..end);
        start = end;
    }
    groups
}

fn declarations(program: &Program, out: &mut String) {
    let mut at = 0;
    while at < program.locations.len() {
        let array = array_around(at, &program.locations);
        let elements = &program.locations[array.clone()];
        let first = &elements[0];
        out.push_str(match first.kind {
            LocationKind::Atomic => "global ",
            LocationKind::NonAtomic => "na ",
        });
        out.push_str(&first.name);
        if first.element.is_some() {
            let _ = write!(out, "[{}]", elements.len());
        }
        if elements.iter().any(|element| element.initial != first.initial) {
            let values: Vec<String> = elements.iter().map(|e| e.initial.to_string()).collect();
            let _ = write!(out, " = {{{}}}", values.join(", "));
        } else if first.initial != 0 {
            let _ = write!(out, " = {}", first.initial);
        }
        out.push_str(";\n");
        at = array.end;
    }
}

/// A thread, or the replicas that stand for one declaration.
fn thread(program: &Program, replicas: &[Thread], out: &mut String) {
    let thread = &replicas[0];
    let _ = write!(out, "thread {}", thread.name);
    if thread.replica.is_some() {
        let _ = write!(out, "[{}]", replicas.len());
    }
    out.push_str(" {\n");
    if !thread.registers.is_empty() {
        let _ = writeln!(out, "  local {};", thread.registers.join(", "));
    }
    let labelled = labels(thread);
    for (at, step) in thread.code.iter().enumerate() {
        if labelled[at] {
            let _ = writeln!(out, "L{at}:");
        }
        let (jumps, text) = statement(program, thread, step);
        if !text.is_empty() {
            let _ = writeln!(out, "  {text}");
        } else if labelled[at] {
            out.push_str("  skip;\n");
        }
        if !jumps && step.next.index() != at + 1 {
            let _ = writeln!(out, "  goto L{};", step.next);
        }
    }
    out.push_str("}\n");
}

/// The statement for a step, and whether it says itself where control goes.
fn statement(program: &Program, thread: &Thread, step: &Step) -> (bool, String) {
    match &step.instr {
        Instr::Halt => (true, String::new()),
        Instr::Jump { cond, targets } if cond.as_const().is_some() => {
            let blocks: Vec<String> =
                targets.iter().map(|target| format!("{{ goto L{target}; }}")).collect();
            (true, format!("oneof({});", blocks.join(" ")))
        }
        Instr::Jump { cond, targets } if *targets != [step.next] => {
            let cond = expression(cond, &thread.registers);
            let target = targets.first().copied().unwrap_or(step.next);
            (false, format!("if ({cond}) goto L{target};"))
        }
        Instr::Jump { cond, .. } => {
            (false, format!("verify({});", expression(cond, &thread.registers)))
        }
        instr => (false, format!("{};", instruction(program, thread, instr))),
    }
}

/// Which steps some printed goto leads to.
fn labels(thread: &Thread) -> Vec<bool> {
    let mut labelled = vec![false; thread.code.len()];
    for (at, step) in thread.code.iter().enumerate() {
        let falls_through = match &step.instr {
            Instr::Halt => false,
            Instr::Jump { cond, targets } => {
                if cond.as_const().is_some() || *targets != [step.next] {
                    targets.iter().for_each(|target| labelled[target.index()] = true);
                }
                cond.as_const().is_none()
            }
            _ => true,
        };
        if falls_through && step.next.index() != at + 1 {
            labelled[step.next.index()] = true;
        }
    }
    labelled
}
