//! The analyses: what is asked of a program on a memory.
//!
//! [`check`] answers with an [`Outcome`]: a [`Verdict`] for each property, with a witness where one
//! is violated.

pub mod certificate;
pub mod double_check;
pub mod explore;
pub mod fix;
pub mod outcomes;
mod packed;
mod plan;
pub mod product;
pub mod reduce;
pub mod refinement;
pub mod replay;
pub mod robustness;
pub mod safety;
pub mod serializability;
pub mod settings;
pub mod verdict;

pub use explore::Task;
pub use reduce::Reductions;
pub use settings::{DoubleCheck, Extent, Model, Settings};
pub use verdict::{Certificate, Cost, Outcome, Problem, Property, Verdict, Why, Witness};

use search::Progress;

/// Checks `program` as `settings` say. `observe` is told now and then how far it has come.
pub fn check(
    program: &ir::Program,
    settings: &Settings,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Outcome {
    let strengthened;
    let (program, check): (_, plan::Check) = match settings.model {
        Model::Sc => (program, safety::check),
        Model::Rc20 => (program, robustness::rc20::check),
        Model::Ra => {
            strengthened = program.release_acquire();
            (&strengthened, robustness::rc20::check)
        }
    };
    let answer = |settings: &Settings| plan::first_answer(program, settings, observe, check);
    double_check::confirm(program, settings, answer(settings), answer)
}
