//! What C++ may forbid: `sc` accesses in models that have none.
//!
//! RC20 and RA know sequentially consistent fences, but no such accesses. An `sc` access is checked as
//! `acq` or `rel`, which allows more: what is robust stays robust with `sc`, but an execution that
//! refutes robustness, a race, or a final state may be one that C++ forbids. So the program gets a
//! warning, and every execution shown in which `sc` accesses take part in the order of all `sc`
//! accesses and fences is marked. An execution with one such event alone is not: an order of one
//! element forbids nothing.

use crate::codes;
use check::Model;
use graph::ExecutionGraph;
use ir::{FenceMode, Instr, Program, ReadMode, WriteMode};
use lang::{Diagnostic, Source};

/// How many places of one kind are pointed out one by one.
pub(crate) const SHOWN_PLACES: usize = 4;

/// Is it a sequentially consistent access?
fn is_sc_access(instr: &Instr) -> bool {
    match instr {
        Instr::Load { mode, .. } | Instr::Wait { mode, .. } => *mode == ReadMode::Sc,
        Instr::Store { mode, .. } => *mode == WriteMode::Sc,
        Instr::Rmw { read, write, .. } | Instr::BlockingCas { read, write, .. } => {
            *read == ReadMode::Sc || *write == WriteMode::Sc
        }
        Instr::Cas { read, write, fail, .. } => {
            *read == ReadMode::Sc || *write == WriteMode::Sc || *fail == ReadMode::Sc
        }
        _ => false,
    }
}

/// May C++ forbid this execution of `program`, as it was written?
pub fn cpp_may_forbid(program: &Program, graph: &ExecutionGraph) -> bool {
    let instrs = || {
        let steps = graph.events().iter().filter_map(|event| event.step);
        steps.map(|(tid, pc)| &program.step(tid, pc).instr)
    };
    let accesses = instrs().filter(|instr| is_sc_access(instr)).count();
    let fences = instrs().any(|instr| *instr == Instr::Fence(FenceMode::Sc));
    accesses > 0 && accesses + usize::from(fences) > 1
}

/// A warning about the `sc` accesses of `source`, if `model` has none.
pub fn warning(source: &Source, model: Model) -> Option<Diagnostic> {
    let mut found: Vec<_> = source
        .program
        .steps()
        .filter(|(_, _, step)| is_sc_access(&step.instr))
        .map(|(_, _, step)| (source.span(step.origin), counts_as(&step.instr)))
        .collect();
    found.sort_unstable();
    found.dedup();
    if !model.has_stale_reads() || found.is_empty() {
        return None;
    }
    let hidden = found.len().saturating_sub(SHOWN_PLACES);
    let count = match found.len() {
        1 => "an `sc` access, which".to_string(),
        n => format!("{n} `sc` accesses, which"),
    };
    let message = format!(
        "the program has {count} {} does not know: `acq` and `rel` are checked instead",
        model.name().to_uppercase()
    );
    let mut help = String::from(
        "what is robust stays robust with `sc`, but C++ may forbid what is violated; fences settle it",
    );
    if hidden > 0 {
        help.push_str(&format!(" ({hidden} more not shown)"));
    }
    let note = Diagnostic::warning(codes::SC_ACCESS, message).with_help(help);
    let shown = found.into_iter().take(SHOWN_PLACES);
    Some(shown.fold(note, |note, (span, text)| note.with_label(span, text)))
}

fn counts_as(instr: &Instr) -> &'static str {
    match instr {
        Instr::Load { .. } | Instr::Wait { .. } => {
            "counts as `acq`; write `fence(seq_cst);` before it"
        }
        Instr::Store { .. } => "counts as `rel`; write `fence(seq_cst);` after it",
        _ => "counts as `acq, rel`; write `fence(seq_cst);` before and after it",
    }
}
