//! Final states and the verdict on a condition, as herd prints them, so that the two can be compared
//! line by line:
//!
//! ```text
//! Test SB Allowed
//! States 4
//! 0:r0=0; 1:r0=0;
//! …
//! Ok
//! Witnesses
//! Positive: 1 Negative: 3
//! Condition exists (0:r0=0 /\ 1:r0=0)
//! Observation SB Sometimes 1 3
//! Time SB 0.00
//! ```
//!
//! A state is shown by what the test names. The numbers count executions, not states. Those behind
//! `Positive` satisfy what is asked, for `~exists` the opposite of its formula; those of the observation
//! always satisfy the formula. `Undef` stands instead of `Ok` or `No` if an execution has a data race.
//! The line with herd's hash of the test is left out.

use check::outcomes::Seen;
use graph::FinalState;
use graph::run::Status;
use ir::expr::{Binary, Op, Unary};
use ir::{Condition, Expr, Observed, Program, Quantifier, Value};
use lang::Source;
use lang::litmus::Litmus;
use std::collections::BTreeSet;
use std::time::Duration;

/// What is known of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// What satisfies the formula.
    pub satisfying: u64,
    /// What does not.
    pub others: u64,
}

impl Counts {
    /// Adds one more, or many.
    pub fn add(&mut self, satisfies: bool, count: u64) {
        match satisfies {
            true => self.satisfying += count,
            false => self.others += count,
        }
    }

    /// Is the answer to `exists` yes, or the claim true?
    pub fn holds(self, quantifier: Quantifier) -> bool {
        match quantifier {
            Quantifier::Exists => self.satisfying > 0,
            Quantifier::NotExists => self.satisfying == 0,
            Quantifier::Forall => self.others == 0,
        }
    }

    /// Herd's word for it.
    pub fn observation(self) -> &'static str {
        match (self.satisfying, self.others) {
            (0, _) => "Never",
            (_, 0) => "Always",
            _ => "Sometimes",
        }
    }
}

/// Does the condition ask about the state: has every thread come to its end?
pub fn is_asked_about(state: &FinalState) -> bool {
    state.threads.iter().all(|thread| thread.status == Status::Halted)
}

/// Does the state satisfy the formula?
pub fn satisfies(condition: &Condition, state: &FinalState) -> bool {
    condition.is_satisfied(|what| value(what, state))
}

fn value(what: Observed, state: &FinalState) -> Value {
    match what {
        Observed::Location(loc) => state.memory[loc.index()],
        Observed::Register(tid, reg) => state.threads[tid.index()].registers[reg.index()],
    }
}

/// The table of a litmus test; empty if the source is none.
pub fn table(source: &Source, seen: &[Seen], racy: bool, elapsed: Duration) -> String {
    let Some(litmus) = &source.litmus else { return String::new() };
    let (program, condition) = (&source.program, &litmus.condition);
    let mut states: BTreeSet<Vec<Value>> = BTreeSet::new();
    let mut counts = Counts::default();
    for one in seen.iter().filter(|one| is_asked_about(&one.state)) {
        if litmus.filter.as_ref().is_some_and(|filter| !satisfies(filter, &one.state)) {
            continue;
        }
        states.insert(litmus.shown.iter().map(|&what| value(what, &one.state)).collect());
        counts.add(satisfies(condition, &one.state), one.executions);
    }
    let kind = match condition.quantifier {
        Quantifier::Exists => "Allowed",
        Quantifier::NotExists => "Forbidden",
        Quantifier::Forall => "Required",
    };
    let verdict = match counts.holds(condition.quantifier) {
        _ if racy => "Undef",
        true => "Ok",
        false => "No",
    };
    let Litmus { name, shown, .. } = litmus;
    let mut out = format!("Test {name} {kind}\nStates {}\n", states.len());
    for state in &states {
        let bindings = shown.iter().zip(state);
        let line: Vec<String> =
            bindings.map(|(&what, value)| format!("{}={value};", spelled(program, what))).collect();
        out.push_str(&format!("{}\n", line.join(" ")));
    }
    let Counts { satisfying, others } = counts;
    let (positive, negative) = match condition.quantifier {
        Quantifier::NotExists => (others, satisfying),
        _ => (satisfying, others),
    };
    out.push_str(&format!("{verdict}\nWitnesses\nPositive: {positive} Negative: {negative}\n"));
    if racy {
        out.push_str("Flag *undef*\n");
    }
    out.push_str(&format!("Condition {}\n", written(program, condition)));
    let observation = counts.observation();
    out.push_str(&format!("Observation {name} {observation} {satisfying} {others}\n"));
    out.push_str(&format!("Time {name} {:.2}\n\n", elapsed.as_secs_f64()));
    out
}

/// `0:r0`, `[x]` or `a[1]`
fn spelled(program: &Program, what: Observed) -> String {
    match what {
        Observed::Register(tid, reg) => {
            format!("{tid}:{}", program.threads[tid.index()].registers[reg.index()])
        }
        Observed::Location(loc) => {
            let location = &program.locations[loc.index()];
            match location.element {
                Some(_) => location.display_name(),
                None => format!("[{}]", location.name),
            }
        }
    }
}

/// How tightly a formula holds together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Outermost {
    #[default]
    Atom,
    And,
    Or,
}

/// The condition in herd's notation.
pub fn written(program: &Program, condition: &Condition) -> String {
    let name = |what: Observed| spelled(program, what);
    let mut stack: Vec<(String, Outermost)> = Vec::new();
    for op in condition.formula.clone().into_postfix() {
        let formula = match op {
            Op::Const(value) => (value.to_string(), Outermost::Atom),
            Op::Reg(reg) => (name(condition.observed[reg.index()]), Outermost::Atom),
            Op::Unary(op) => {
                let (inner, _) = stack.pop().unwrap_or_default();
                let word = if op == Unary::Not { "not " } else { "-" };
                (format!("{word}({inner})"), Outermost::Atom)
            }
            Op::Binary(op) => {
                let right = stack.pop().unwrap_or_default();
                let left = stack.pop().unwrap_or_default();
                binary(op, left, right)
            }
        };
        stack.push(formula);
    }
    let (formula, _) = stack.pop().unwrap_or_default();
    let formula = match condition.formula {
        Expr::Const(0) => "false".to_string(),
        Expr::Const(_) => "true".to_string(),
        _ => formula,
    };
    format!("{} ({formula})", condition.quantifier.keyword())
}

fn binary(
    op: Binary,
    left: (String, Outermost),
    right: (String, Outermost),
) -> (String, Outermost) {
    let within = |(text, inner): (String, Outermost), outer: Outermost| match (outer, inner) {
        (Outermost::And, Outermost::Or) => format!("({text})"),
        _ => text,
    };
    let join = |symbol: &str, outer: Outermost| {
        let (left, right) = (within(left.clone(), outer), within(right.clone(), outer));
        (format!("{left}{symbol}{right}"), outer)
    };
    match op {
        Binary::And => join(" /\\ ", Outermost::And),
        Binary::Or => join(" \\/ ", Outermost::Or),
        Binary::Eq => join("=", Outermost::Atom),
        Binary::Ne => {
            let (equal, _) = join("=", Outermost::Atom);
            (format!("not ({equal})"), Outermost::Atom)
        }
        other => join(other.symbol(), Outermost::Atom),
    }
}
