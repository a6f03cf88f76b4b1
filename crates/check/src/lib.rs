//! The analyses: what is asked of a program on a memory.
//!
//! [`check`] answers with an [`Outcome`]: a [`Verdict`] for each property, with a witness where one
//! is violated.

pub mod certificate;
pub mod explore;
pub mod fix;
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
pub use settings::{Extent, Model, Settings};
pub use verdict::{Certificate, Cost, Outcome, Problem, Property, Verdict, Why, Witness};

use search::Progress;

/// Checks `program` as `settings` say. `observe` is told now and then how far it has come.
pub fn check(
    program: &model::Program,
    settings: &Settings,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Outcome {
    match settings.model {
        Model::Sc => plan::first_answer(program, settings, observe, safety::check),
        Model::Rc20 => plan::first_answer(program, settings, observe, robustness::rc20::check),
        Model::Ra => {
            let program = program.release_acquire();
            plan::first_answer(&program, settings, observe, robustness::rc20::check)
        }
    }
}
