//! Which questions make sense: constructs that a model gives no meaning to are refused.
//!
//! The language has statements for several memory models. A verdict about a program with statements
//! that the model at hand does not know would be a guess, and so would one about a property that the
//! model does not have.

use crate::question::{Model, Property, Question};
use crate::serializability::Misplaced;
use ir::validate::Invalid;
use ir::{Instr, Pc, Program, Tid};
use memory::store_buffer::Machine;
use std::fmt;

/// Why a question is not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The model gives no meaning to a construct.
    Meaningless {
        /// The constructs, in the plural.
        what: &'static str,
        /// What to write instead, or what they are for.
        help: &'static str,
        /// The model.
        model: Model,
        /// Who would have to give it a meaning.
        by: Meaning,
        /// The first such construct.
        at: (Tid, Pc),
    },
    /// Singularity was asked for where it would miss violations.
    Incomplete(Machine, Option<(Tid, Pc)>),
    /// Transactions do not nest properly.
    Misplaced(Misplaced),
    /// A construct that executions with transactions have no event for.
    Unsupported(Tid, Pc),
    /// The model does not have the property.
    NoSuchProperty(Property, Model),
    /// The program breaks a limit that analyses rely on.
    Invalid(Invalid),
}

/// Who gives a program its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// A search through its states.
    States,
    /// An enumeration of its execution graphs.
    Graphs,
}

impl Refusal {
    /// The place that is to blame, if there is one.
    pub fn place(&self) -> Option<(Tid, Pc)> {
        match self {
            Refusal::Meaningless { at, .. } => Some(*at),
            Refusal::Misplaced(misplaced) => Some((misplaced.tid, misplaced.pc)),
            Refusal::Unsupported(tid, pc) => Some((*tid, *pc)),
            Refusal::Incomplete(..) | Refusal::NoSuchProperty(..) | Refusal::Invalid(_) => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Meaningless { what, model, by: Meaning::States, .. } => {
                write!(f, "{what} mean nothing to the {} model", model.name())
            }
            Refusal::Meaningless { what, model, by: Meaning::Graphs, .. } => {
                write!(f, "{what} are not part of {} execution graphs", model.name())
            }
            Refusal::Incomplete(Machine::Tso, _) => f.write_str(
                "singularity is not complete for tso: stores that stay in order are as good as \
                 lightweight fences, and a violation may need several delayed stores; use locality",
            ),
            Refusal::Incomplete(machine, _) => write!(
                f,
                "singularity is not complete for {machine} here: the program has lightweight fences \
                 (release stores and release fences count), and a violation may need several delayed \
                 stores; use locality"
            ),
            Refusal::Misplaced(misplaced) => f.write_str(misplaced.what.text()),
            Refusal::Unsupported(..) => {
                f.write_str("bus locks are not part of executions with transactions")
            }
            Refusal::NoSuchProperty(property, model) => {
                write!(f, "the {} model has no such property as {property}", model.name())
            }
            Refusal::Invalid(invalid) => invalid.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

/// Why `question` cannot be asked of `program`, as far as a look at the text tells.
pub fn refusals(program: &Program, question: &Question) -> Vec<Refusal> {
    let valid = match has_many_threads(question) {
        true => program.validate_with_many_threads(),
        false => program.validate(),
    };
    if let Err(invalid) = valid {
        return vec![Refusal::Invalid(invalid)];
    }
    let known = match question.property {
        Property::Robustness => true,
        Property::ObservationalRobustness => question.model.machine().is_none(),
        Property::TriangularRaces | Property::Serializability => question.model == Model::Tso,
        _ => false,
    };
    match (known, question.property) {
        (false, property) => vec![Refusal::NoSuchProperty(property, question.model)],
        // Transactions are what this is about.
        (true, Property::Serializability) => Vec::new(),
        _ => meaningless(program, question.model, Meaning::States),
    }
}

/// Do the searches that answer `question` have room for as many threads as a program may have? Those of
/// interleavings and of attacks do; the weak memory, liveness and serializability have sets of 32.
fn has_many_threads(question: &Question) -> bool {
    let property = matches!(question.property, Property::Robustness | Property::TriangularRaces);
    property && !question.model.has_stale_reads() && !question.liveness
}

/// The first of every kind of construct of `program` that `model` does not know.
pub fn meaningless(program: &Program, model: Model, by: Meaning) -> Vec<Refusal> {
    let mut found: Vec<Refusal> = Vec::new();
    for (tid, pc, step) in program.steps() {
        let Some((what, help)) = unknown(&step.instr, model, by) else { continue };
        let is_known =
            |known: &Refusal| matches!(known, Refusal::Meaningless { what: w, .. } if *w == what);
        if !found.iter().any(is_known) {
            found.push(Refusal::Meaningless { what, help, model, by, at: (tid, pc) });
        }
    }
    found
}

/// What the instruction is called, and what to do instead, if `model` does not know it.
fn unknown(instr: &Instr, model: Model, by: Meaning) -> Option<(&'static str, &'static str)> {
    if model.machine().is_some() {
        return None; // the machines have them all
    }
    let weak = model.has_stale_reads();
    match instr {
        Instr::Begin | Instr::End => {
            Some(("transactions", "`atomic` blocks are for checking serializability"))
        }
        Instr::Mark(_) => Some(("calls", "libraries are for `fencepost refine`")),
        Instr::BusLock | Instr::BusUnlock if weak || by == Meaning::Graphs => {
            Some(("bus locks", "use `lock` and `unlock`, or a read-modify-write such as `FADD`"))
        }
        Instr::LightFence(_) if weak => {
            Some(("lightweight fences", "use `fence(acq)`, `fence(rel)` or `fence(seq_cst)`"))
        }
        _ if model != Model::Ra && weak && instr.has_partial_modes() => {
            Some(("`pacq` and `prel`", "they are for checking libraries; use `acq` and `rel`"))
        }
        _ => None,
    }
}
