//! Final conditions: the question that a litmus test asks about the states in which all threads have
//! ended.
//!
//! The formula is an expression over *variables*, the registers and locations it mentions. It is
//! evaluated in the program's domain like any other expression, with the variables' final values as
//! its registers.

use crate::expr::{Domain, Expr, Fault, Notes};
use crate::ids::{Loc, Reg, RegSet, Tid, Value};
use smallvec::SmallVec;

/// What is asked about the final states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FinalCondition {
    /// Of how many final states the formula should hold.
    pub quantifier: Quantifier,
    /// What the formula's registers stand for, at most [`FinalCondition::MOST_VARIABLES`].
    pub variables: Vec<Variable>,
    /// The formula.
    pub formula: Expr,
}

/// Of how many final states a formula should hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantifier {
    /// `exists`: of at least one.
    Exists,
    /// `~exists`: of none.
    NotExists,
    /// `forall`: of all.
    Forall,
}

/// A part of a final state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variable {
    /// A thread's register.
    Register(Tid, Reg),
    /// A location.
    Location(Loc),
}

/// Of how many of some final states the formula holds, in herd's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observation {
    /// Of all.
    Always,
    /// Of some and not of others.
    Sometimes,
    /// Of none.
    Never,
}

impl Quantifier {
    /// How the language writes it.
    pub fn keyword(self) -> &'static str {
        match self {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        }
    }

    /// Is the condition true if the formula holds of so many final states, and not of so many?
    pub fn is_met(self, holding: usize, others: usize) -> bool {
        match self {
            Quantifier::Exists => holding > 0,
            Quantifier::NotExists => holding == 0,
            Quantifier::Forall => others == 0,
        }
    }
}

impl Observation {
    /// What it is if the formula holds of so many final states, and not of so many.
    pub fn of(holding: usize, others: usize) -> Self {
        match (holding, others) {
            (0, _) => Observation::Never,
            (_, 0) => Observation::Always,
            _ => Observation::Sometimes,
        }
    }

    /// herd's word.
    pub fn name(self) -> &'static str {
        match self {
            Observation::Always => "Always",
            Observation::Sometimes => "Sometimes",
            Observation::Never => "Never",
        }
    }
}

impl FinalCondition {
    /// How many registers and locations a formula can mention.
    pub const MOST_VARIABLES: usize = RegSet::CAPACITY;

    /// Does the formula hold where `value` says what each variable is?
    ///
    /// # Errors
    ///
    /// If the formula divides by zero there, or leaves a domain that does not wrap around.
    pub fn holds(
        &self,
        domain: Domain,
        value: impl FnMut(Variable) -> Value,
    ) -> Result<bool, Fault> {
        let values: SmallVec<[Value; 8]> = self.variables.iter().copied().map(value).collect();
        Ok(self.formula.eval(&values, domain, &mut Notes::default())? != 0)
    }
}
