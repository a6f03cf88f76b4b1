//! Parts of a program that have nothing to do with each other are explored one by one.
//!
//! # Statement
//!
//! Let the threads of a program be divided so that the premises hold. The *part* of a class C of threads is the program in
//! which every thread outside C ends at once. Then the program is robust, has a race, a failing assertion, a run-time error
//! or a result that wraps around iff one of its parts is, or has, at the same place; and what shows it in the part, shows
//! it in the program.
//!
//! # Premises, which [`of`] checks
//!
//! 1. A location that threads of two classes may access is written by no thread. What a thread may access is what
//!    its text names, a computed index standing for the whole array; unreachable code counts.
//! 2. Where reads can be stale, all threads with `sc` accesses, `sc` fences or fences that update are in one class: these
//!    are related whatever they access. (Leaving this out has given no wrong answer yet; the proof below rests on it.)
//! 3. No thread can keep others from moving (`lock` of the bus), starts others, or is part of a library's history; there are no
//!    transactions.
//! 4. Nothing is asked that is about several threads at a time: no final condition, nothing about waiting, no
//!    observational robustness (what is used where is a matter of one part, too, but this has not been proved here).
//!
//! # Proof
//!
//! 1. *Runs.* What a thread does depends on its registers and the values of the locations that it accesses. By 1, those are written
//!    by its own class only. So the steps of C in a run of the program are a run of the part, and a run of the part is one
//!    of the program, in which the others have not moved yet; by 3 nobody has to move first. The same holds for computations of
//!    machines with store buffers, since buffers belong to threads.
//! 2. *Places.* So a thread comes to a place with certain registers in the program iff it does in its part. Assertions,
//!    run-time errors and results that wrap around depend on nothing else, or on the value of a location that is accessed there.
//! 3. *Executions.* The execution graph of a run is the disjoint union of the graphs of its parts, initial writes aside, to which
//!    no edge leads: program order, reads-from and modification order relate events of one thread or of one location, and by 2
//!    so do all orders of `sc` events. All that memories derive of them are unions of compositions of these. So a cycle, and a
//!    pair of accesses that nothing orders, is within one part; and whether a monitor objects to an access depends on paths
//!    that end at accesses of the same thread or location, which are within one part.
//! 4. *Traces* of machines with store buffers are unions in the same way, so a cycle of a trace is one in a part.
//!
//! A thread that waits for good in a part does so in the program: nobody else can wake it. The program as a whole need not come to
//! a standstill then.
//!
//! # Parts in which nothing can go wrong
//!
//! Interleavings of a part are not explored if its text shows that there is nothing to be found there
//! (`is_harmless`): no thread has an assertion or assumption, waits, or repeats anything, every access is to a known location, and
//! no expression calculates, so none can have a run-time error or wrap around.

use crate::answer::{Answer, By, Decision, Evidence, Verdict, Why, Witness};
use crate::question::{Extent, Model, Property, Question};
use analysis::cycles::on_cycle;
use ir::{Expr, FenceMode, Instr, Pc, Program, Step, Thread, Tid, UpdateOp};
use std::collections::HashMap;

/// The parts of `program`, each with the threads that are left in it; the program alone if it has one part, or a premise does
/// not hold, or `question` wants no such thing.
pub fn of(program: &Program, question: &Question) -> Vec<Program> {
    let classes = match question.reductions.parts && may_divide(program, question) {
        true => classes(program, question.model),
        false => Vec::new(),
    };
    if classes.len() < 2 {
        return vec![program.clone()];
    }
    classes.iter().map(|class| part(program, class)).collect()
}

/// Premises 3 and 4.
fn may_divide(program: &Program, question: &Question) -> bool {
    let is_alone = |step: &Step| {
        !matches!(
            step.instr,
            Instr::BusLock | Instr::BusUnlock | Instr::Begin | Instr::End | Instr::Mark(_)
        )
    };
    program.threads.len() > 1
        && program.condition.is_none()
        && program.spawned.is_empty()
        && !question.liveness
        && !question.observational()
        && program.steps().all(|(_, _, step)| is_alone(step))
}

/// The finest division that premises 1 and 2 allow; threads that do nothing are in none.
fn classes(program: &Program, model: Model) -> Vec<Vec<Tid>> {
    let mut written = vec![false; program.locations.len()];
    for (_, _, step) in program.steps().filter(|(_, _, step)| step.instr.may_write()) {
        for loc in step.instr.place().into_iter().flat_map(|place| place.locations()) {
            written[loc.index()] = true;
        }
    }
    let mut class: Vec<usize> = (0..program.threads.len()).collect();
    let mut join = |t: usize, u: usize| {
        let (kept, gone) = (class[t].min(class[u]), class[t].max(class[u]));
        class.iter_mut().filter(|class| **class == gone).for_each(|class| *class = kept);
    };
    // The first thread that accesses each location, and the first with a place in the order of `sc` events.
    let mut first: HashMap<usize, usize> = HashMap::new();
    let mut first_sc: Option<usize> = None;
    for (tid, _, step) in program.steps() {
        let t = tid.index();
        for loc in step.instr.places().iter().flat_map(|place| place.locations()) {
            if written[loc.index()] {
                join(*first.entry(loc.index()).or_insert(t), t);
            }
        }
        let ordered = match &step.instr {
            Instr::Fence(mode) => *mode == FenceMode::Sc || mode.updates(),
            instr => instr.is_sc_access(),
        };
        if model.has_stale_reads() && ordered {
            join(*first_sc.get_or_insert(t), t);
        }
    }
    let is_idle = |t: usize| {
        let thread = &program.threads[t];
        thread.code[thread.entry.index()].instr == Instr::Halt
    };
    let mut classes: Vec<Vec<Tid>> = Vec::new();
    for first in 0..class.len() {
        let members = (0..class.len()).filter(|t| class[*t] == first && !is_idle(*t));
        let members: Vec<Tid> = members.map(Tid::from).collect();
        if !members.is_empty() {
            classes.push(members);
        }
    }
    classes
}

/// The program in which only threads of `class` do anything. Threads, registers, locations and places in the code of those that do
/// are what they were.
fn part(program: &Program, class: &[Tid]) -> Program {
    let mut part = program.clone();
    for tid in program.tids().filter(|tid| !class.contains(tid)) {
        let thread = &mut part.threads[tid.index()];
        let origin = thread.code[thread.entry.index()].origin;
        thread.code = vec![Step { instr: Instr::Halt, next: Pc(0), origin }];
        thread.entry = Pc(0);
    }
    part
}

/// Does the text alone show that interleavings have no failing assertion, run-time error, waiting thread or result that
/// wraps around?
pub(crate) fn is_harmless(program: &Program) -> bool {
    let finds_nothing = program.steps().all(|(_, _, step)| {
        let instr = match &step.instr {
            Instr::Assign { .. }
            | Instr::Load { .. }
            | Instr::Store { .. }
            | Instr::Cas { .. }
            | Instr::Fence(_)
            | Instr::LightFence(_)
            | Instr::Jump { .. }
            | Instr::Switch { .. }
            | Instr::Halt => true,
            Instr::Rmw { update, .. } => update.op == UpdateOp::Set,
            _ => false,
        };
        instr
            && step.instr.places().iter().all(|place| matches!(place.known(), Some(Ok(_))))
            && step.instr.operands().into_iter().all(Expr::is_formula)
    });
    let ends = |thread: &Thread| {
        let again = on_cycle(thread);
        let steps = thread.code.iter().zip(again);
        steps.into_iter().all(|(step, again)| !again || step.instr == Instr::Halt)
    };
    finds_nothing && program.threads.iter().all(ends)
}

/// Puts the answers about the parts of `program` together; of several places where a property is violated, all that the
/// question asked for.
pub(crate) fn combined(program: &Program, extent: Extent, answers: Vec<Answer>) -> Answer {
    let mut answers = answers.into_iter();
    let mut all = answers.next().expect("a program has a part");
    for answer in answers {
        for (decision, other) in all.decisions.iter_mut().zip(answer.decisions) {
            let property = decision.property;
            let longer = decision.include(other).filter(|_| extent == Extent::All);
            all.more.extend(longer.map(|witness| (property, *witness)));
        }
        all.more.extend(answer.more);
        all.faults.extend(answer.faults);
        all.stuck.extend(answer.stuck);
        all.wrapped.extend(answer.wrapped);
        all.internal.extend(answer.internal);
        all.double_checked &= answer.double_checked;
        let elapsed = all.cost.elapsed + answer.cost.elapsed;
        all.cost.include(&answer.cost);
        all.cost.elapsed = elapsed;
    }
    all.wrapped.sort_unstable();
    // Runs end at a run-time error, so what would have come after was not looked at.
    if !all.faults.is_empty() {
        let held = all.decisions.iter_mut().filter(|decision| decision.verdict.holds());
        held.for_each(|decision| decision.verdict = Verdict::Undecided(Why::Faulty));
    }
    // If one part is not robust, the program is not, and interleavings of the others do not show all of it.
    let is_broken =
        |one: &Decision| one.property == Property::Robustness && one.verdict.witness().is_some();
    if all.decisions.iter().any(is_broken) {
        let open = all.decisions.iter_mut().filter(|one| one.verdict.witness().is_none());
        open.for_each(|one| one.verdict = Verdict::Undecided(Why::NotRobust));
    }
    Answer { program: program.clone(), ..all }
}

impl Decision {
    /// Makes it the decision about two parts of a program. If both are violated, the witness that is not shown is handed back.
    ///
    /// Of two reasons why it is open, one that stands for itself counts: what is open because of a race is settled once the
    /// race is accepted, and what is open because of a limit is not.
    pub(crate) fn include(&mut self, other: Decision) -> Option<Box<Witness>> {
        debug_assert_eq!(self.property, other.property);
        let known = std::mem::replace(&mut self.verdict, Verdict::Holds);
        let mut longer = None;
        self.verdict = match (known, other.verdict) {
            // The shorter story, of two; the first, of equal ones.
            (Verdict::Violated(a), Verdict::Violated(b)) => {
                let (shown, other) = if length(&b) < length(&a) { (b, a) } else { (a, b) };
                longer = Some(other);
                Verdict::Violated(shown)
            }
            (Verdict::Violated(witness), _) | (_, Verdict::Violated(witness)) => {
                Verdict::Violated(witness)
            }
            (Verdict::Undecided(a), Verdict::Undecided(b)) => {
                Verdict::Undecided(if a.follows() { b } else { a })
            }
            (Verdict::Undecided(why), _) | (_, Verdict::Undecided(why)) => Verdict::Undecided(why),
            (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
        };
        self.by = match (self.by, other.by) {
            (
                By::Attacks { method, attacks, examined },
                By::Attacks { attacks: more, examined: further, .. },
            ) => By::Attacks { method, attacks: attacks + more, examined: examined + further },
            (by, _) => by,
        };
        self.cost.include(&other.cost);
        longer
    }
}

/// How many steps a witness takes to tell.
fn length(witness: &Witness) -> usize {
    match &witness.evidence {
        Evidence::Computation(computation) => computation.happenings.len(),
        _ => witness.run().len(),
    }
}
