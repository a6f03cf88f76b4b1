//! Refused questions, as diagnostics with their place in the source.

use check::{Model, Refusal, legality};
use lang::{Diagnostic, Source, codes};

pub use check::legality::Meaning as By;

/// An error for every kind of construct of `source` that `model` does not know, at its first place.
pub fn unsupported(source: &Source, model: Model, by: By) -> Vec<Diagnostic> {
    let refused = legality::meaningless(&source.program, model, by);
    refused.iter().map(|refusal| refused_at(source, refusal)).collect()
}

/// Why a question about `source` is refused.
pub fn refused_at(source: &Source, refusal: &Refusal) -> Diagnostic {
    let (code, label) = match refusal {
        Refusal::Misplaced(_) => (codes::ATOMIC_BLOCK, "here"),
        Refusal::Unsupported(..) => (codes::UNSUPPORTED, "no event stands for this"),
        _ => (codes::UNSUPPORTED, "not part of the model"),
    };
    let mut error = Diagnostic::error(code, refusal.to_string());
    if let Some((tid, pc)) = refusal.place() {
        error = error.with_label(source.span(source.program.step(tid, pc).origin), label);
    }
    match refusal {
        Refusal::Meaningless { help, .. } => error.with_help(*help),
        _ => error,
    }
}
