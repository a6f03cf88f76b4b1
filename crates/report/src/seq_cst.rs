//! What C++ may forbid: `sc` accesses in models that have none.
//!
//! RC20 and RA know sequentially consistent fences, but no such accesses. An `sc` access is checked as
//! `acq` or `rel`, which allows more: what is robust stays robust with `sc`, but an execution that
//! refutes robustness, a race, or a final state may be one that C++ forbids. So the program gets a
//! warning, and every execution shown that C++ may forbid ([`cpp_may_forbid`]) is marked.

use crate::codes;
use check::Model;
pub use check::remedy::cpp_may_forbid;
use check::remedy::is_sc_access;
use ir::Instr;
use lang::{Diagnostic, Source};

/// How many places of one kind are pointed out one by one.
pub(crate) const SHOWN_PLACES: usize = 4;

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
