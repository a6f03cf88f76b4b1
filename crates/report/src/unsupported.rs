//! Constructs that a model gives no meaning to.
//!
//! The language has statements for several memory models. A verdict about a program with statements
//! that the model at hand does not know would be a guess, so such programs are refused.

use check::Model;
use ir::{Instr, ReadMode, WriteMode};
use lang::{Diagnostic, Source, codes};

/// Who gives a program its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// A search through its states.
    Search,
    /// An enumeration of its execution graphs.
    Graphs,
}

/// An error for every kind of construct of `source` that `model` does not know, at its first place.
pub fn unsupported(source: &Source, model: Model, by: By) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for (_, _, step) in source.program.steps() {
        let Some((what, help)) = meaningless(&step.instr, model, by) else { continue };
        let message = match by {
            By::Search => format!("{what} mean nothing to the {} model", model.name()),
            By::Graphs => format!("{what} are not part of {} execution graphs", model.name()),
        };
        if !found.iter().any(|known| known.message == message) {
            let error = Diagnostic::error(codes::UNSUPPORTED, message);
            let label = "not part of the model";
            found.push(error.with_label(source.span(step.origin), label).with_help(help));
        }
    }
    found
}

fn meaningless(instr: &Instr, model: Model, by: By) -> Option<(&'static str, &'static str)> {
    let weak = model != Model::Sc;
    match instr {
        Instr::Begin | Instr::End => {
            Some(("transactions", "`atomic` blocks are for checking serializability"))
        }
        Instr::Mark(_) => Some(("calls", "libraries are for `fencepost refine`")),
        Instr::BusLock | Instr::BusUnlock if weak || by == By::Graphs => {
            Some(("bus locks", "use `lock` and `unlock`, or a read-modify-write such as `FADD`"))
        }
        Instr::LightFence(_) if weak => {
            Some(("lightweight fences", "use `fence(acq)`, `fence(rel)` or `fence(seq_cst)`"))
        }
        _ if model == Model::Rc20 && has_space_modes(instr) => {
            Some(("`pacq` and `prel`", "they are for checking libraries; use `acq` and `rel`"))
        }
        _ => None,
    }
}

fn has_space_modes(instr: &Instr) -> bool {
    let reads = |mode: &ReadMode| *mode == ReadMode::Pacq;
    let writes = |mode: &WriteMode| *mode == WriteMode::Prel;
    match instr {
        Instr::Load { mode, .. } | Instr::Wait { mode, .. } => reads(mode),
        Instr::Store { mode, .. } => writes(mode),
        Instr::Rmw { read, write, .. } | Instr::BlockingCas { read, write, .. } => {
            reads(read) || writes(write)
        }
        Instr::Cas { read, write, fail, .. } => reads(read) || writes(write) || reads(fail),
        _ => false,
    }
}
