//! From the states of a path back to what the threads did.
//!
//! A search remembers states, and of each orbit only a representative; a user wants to see a run of
//! the program. [`replay`] walks along the path again, in the program's own names: from the state in
//! hand it moves every thread in every way and goes on with the successor whose representative is
//! the next state of the path. An orbit may have several representatives, so a successor is renamed first, as
//! the states before it were, to look as it did to the search (`product::orbit::Naming`). The steps then get the values
//! that they write and assign, so that nobody has to do the run again to know them.

pub use crate::product::RunStep;
use crate::product::{Finding, Move, Naming, Noted, Product, Scratch, beginnings, moves};
use ir::thread::Action;
use ir::{Instr, Notes, Pc, Program, Tid, Value};
use memory::Monitor;
use search::Model;

/// A run of the program under SC, up to where something was found: the thread concerned is about to
/// take the step that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run<V> {
    /// What happened, in order.
    pub steps: Vec<RunStep>,
    /// What is found then, in terms of this run's threads.
    pub finding: Finding<V>,
    /// How deep the search had to go for it.
    pub depth: usize,
}

/// The run along `path` to `finding`; `None` if there is none, which would be a bug.
pub fn replay<M: Monitor>(
    product: &Product<M>,
    path: &[Box<[u8]>],
    finding: &Finding<M::Violation>,
) -> Option<Run<M::Violation>> {
    let mut run = follow_path(product, path, finding)?;
    add_values(&product.program, &mut run.steps);
    Some(run)
}

/// Adds to the steps of a run what they write and assign.
pub(crate) fn add_values(program: &Program, steps: &mut [RunStep]) {
    let mut registers: Vec<Vec<Value>> =
        program.threads.iter().map(|thread| vec![0; thread.registers.len()]).collect();
    for step in steps {
        let registers = &mut registers[step.tid.index()];
        let instr = &program.step(step.tid, step.pc).instr;
        let value = match instr {
            Instr::Assign { value, .. } => {
                value.eval(registers, program.domain, &mut Notes::default()).ok()
            }
            _ => step.read,
        };
        step.assigned = instr.output().zip(value);
        if let Some((register, value)) = step.assigned {
            registers[register.index()] = value;
        }
        step.written = written(&step.action, step.read, program);
    }
}

/// What an action writes when it reads `read`.
pub(crate) fn written(action: &Action, read: Option<Value>, program: &Program) -> Option<Value> {
    match action {
        Action::Write { value, .. } => Some(*value),
        Action::Update { change, .. } => {
            change.apply(read?, program.domain, &mut Notes::default()).ok()
        }
        Action::Cas { expected, desired, .. } | Action::BlockingCas { expected, desired, .. } => {
            (read == Some(*expected)).then_some(*desired)
        }
        _ => None,
    }
}

fn follow_path<M: Monitor>(
    product: &Product<M>,
    path: &[Box<[u8]>],
    finding: &Finding<M::Violation>,
) -> Option<Run<M::Violation>> {
    let mut scratch = product.scratch();
    let (begun, found_first) = beginnings(product, &mut scratch);
    let is_wanted = |noted: &Noted<M::Violation>| is_image(product, &noted.finding, finding);
    let Some((first, rest)) = path.split_first() else {
        let Noted { finding, steps } = found_first.into_iter().find(is_wanted)?;
        return Some(Run { steps, finding, depth: 0 });
    };
    let mut naming = Naming::new();
    let mut comes_to = |scratch: &mut Scratch<M::State>, found: &Move<M>, next: &[u8]| {
        product.is_represented_by(scratch, &found.world, next, &mut naming)
    };
    let here = begun.into_iter().find(|begun| comes_to(&mut scratch, begun, first))?;
    let (mut world, mut steps) = (here.world, here.steps);
    for next in rest {
        let (moves, _) = moves(product, &mut scratch, &world);
        let found = moves.into_iter().find(|found| comes_to(&mut scratch, found, next))?;
        steps.extend(found.steps);
        world = found.world;
    }
    let (_, findings) = moves(product, &mut scratch, &world);
    if let Some(noted) = findings.into_iter().find(is_wanted) {
        steps.extend(noted.steps);
        return Some(Run { steps, finding: noted.finding, depth: path.len() });
    }
    // A deadlock is found in a state, not on the way from it.
    matches!(finding, Finding::Deadlock { .. }).then(|| {
        let waits = |tid: &Tid| {
            let instr = &product.program.step(*tid, world.pcs[tid.index()]).instr;
            let pc = world.pcs[tid.index()];
            !product.program.is_unstarted(*tid, pc)
                && (instr.place().is_some() || product.rests_before_choice(*tid, pc))
        };
        let tid = product.program.tids().find(waits).unwrap_or_default();
        let finding = Finding::Deadlock { tid, pc: world.pcs[tid.index()] };
        Run { steps, finding, depth: path.len() }
    })
}

/// Is `wanted` the image of `finding` under some automorphism?
fn is_image<M: Monitor>(
    product: &Product<M>,
    finding: &Finding<M::Violation>,
    wanted: &Finding<M::Violation>,
) -> bool {
    let is_image = |tid: &Tid, pc: &Pc, t: &Tid, p: &Pc| {
        let first = |tid: &Tid, pc: &Pc| product.symmetries.first_place(*tid, *pc);
        (tid, pc) == (t, p) || first(tid, pc) == first(t, p)
    };
    match (finding, wanted) {
        (
            Finding::Violation { tid, pc, violation },
            Finding::Violation { tid: t, pc: p, violation: v },
        ) => violation == v && is_image(tid, pc, t, p),
        (Finding::Assertion { tid, pc }, Finding::Assertion { tid: t, pc: p }) => {
            is_image(tid, pc, t, p)
        }
        (Finding::Fault { tid, pc, fault }, Finding::Fault { tid: t, pc: p, fault: f }) => {
            fault == f && is_image(tid, pc, t, p)
        }
        _ => false,
    }
}
