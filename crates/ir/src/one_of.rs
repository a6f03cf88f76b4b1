//! Waiting for one of several values.
//!
//! Code that was discovered takes a lock that may be shared, and updates a location whose values have no arithmetic, by
//! choosing among steps that wait, one for each value that the location may hold. A choice in a program is made for good:
//! who has chosen to wait for what never comes waits for ever. Here that would be wrong. The thread waits for whichever
//! value is there, so it has not chosen before it takes one of the steps, and waits only if none of them can be taken.
//!
//! [`OneOf`] says which choices are of this kind: those that lead to nothing but steps that wait until one location holds a
//! constant, each of which is reached by no other way. Where a thread may keep all others out (`bus_lock`), that the value is
//! there does not mean that the step can be taken, and no choice counts. For questions about what threads can do it makes no difference when a choice is
//! made, because it is local. It does for questions about threads that do not go on: who asks these has to know.

use crate::{Instr, Loc, Pc, Program, Thread, Tid};

/// The choices of a program that wait for one of several values.
#[derive(Clone, Debug)]
pub struct OneOf {
    /// Per thread and program counter, the choice that leads there.
    choices: Vec<Vec<Option<Pc>>>,
}

impl OneOf {
    /// Those of `program`.
    pub fn of(program: &Program) -> Self {
        let keeps_out = program.steps().any(|(_, _, step)| step.instr == Instr::BusLock);
        let choices = program.threads.iter().map(|thread| match keeps_out {
            true => vec![None; thread.code.len()],
            false => of_thread(thread),
        });
        OneOf { choices: choices.collect() }
    }

    /// The choice that a step which waits is part of, if there is one.
    pub fn choice(&self, tid: Tid, pc: Pc) -> Option<Pc> {
        self.choices[tid.index()][pc.index()]
    }

    /// Is a choice at `pc`, with these targets, one of them?
    pub fn has(&self, tid: Tid, pc: Pc, targets: &[Pc]) -> bool {
        !targets.is_empty() && targets.iter().all(|&to| self.choice(tid, to) == Some(pc))
    }
}

fn of_thread(thread: &Thread) -> Vec<Option<Pc>> {
    let mut ways = vec![0; thread.code.len()];
    ways[thread.entry.index()] = 1;
    for next in thread.code.iter().flat_map(|step| step.successors()) {
        ways[next.index()] += 1;
    }
    let waits_for = |pc: &Pc| -> Option<Loc> {
        let instr = &thread.code[pc.index()].instr;
        let waits = matches!(instr, Instr::BlockingCas { .. } | Instr::Wait { .. });
        let constant = instr.operands().iter().all(|operand| operand.as_const().is_some());
        let place = instr.place().filter(|_| waits && constant && ways[pc.index()] == 1)?;
        place.known()?.ok()
    };
    let mut choices = vec![None; thread.code.len()];
    for (pc, step) in thread.code.iter().enumerate() {
        let Instr::Jump { cond, targets } = &step.instr else { continue };
        let is_choice = targets.len() > 1 && cond.as_const().is_some_and(|value| value != 0);
        let Some(first) = targets.first().filter(|_| is_choice).and_then(waits_for) else {
            continue;
        };
        if targets.iter().all(|target| waits_for(target) == Some(first)) {
            targets.iter().for_each(|target| choices[target.index()] = Some(Pc::from(pc)));
        }
    }
    choices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Expr, Location, LocationKind, Origin, Place, ReadMode, Step, WriteMode};

    fn take(loc: u32, expected: i64) -> Instr {
        let desired = Expr::Const(expected as crate::Value + 1);
        let (read, write) = (ReadMode::Acq, WriteMode::Rlx);
        let (place, expected) = (Place::location(Loc(loc)), Expr::Const(expected as crate::Value));
        Instr::BlockingCas { place, expected, desired, read, write }
    }

    /// A thread that jumps to one of `targets`, behind which the steps 1 and 2 take something, and then is done.
    fn program(targets: &[u32], first: Instr, second: Instr) -> Program {
        let targets = targets.iter().map(|&pc| Pc(pc)).collect();
        let jump = Instr::Jump { cond: Expr::Const(1), targets };
        let code = [(jump, 3), (first, 3), (second, 3), (Instr::Halt, 3)].into_iter();
        let step = |(instr, next)| Step { instr, next: Pc(next), origin: Origin(0) };
        let thread = Thread {
            name: "t".into(),
            replica: None,
            registers: Vec::new(),
            entry: Pc(0),
            code: code.map(step).collect(),
        };
        let location = |name: &str| Location {
            name: name.into(),
            element: None,
            initial: 0,
            kind: LocationKind::Atomic,
        };
        Program::new(Domain::modulo(7), vec![location("x"), location("y")], vec![thread])
    }

    /// Catches choices that are decisions: between locations, or between waiting and something else.
    #[test]
    fn only_waits_for_one_location_count() {
        let choices = |program: &Program| {
            let one_of = OneOf::of(program);
            (0..4).map(|pc| one_of.choice(Tid(0), Pc(pc))).collect::<Vec<_>>()
        };
        let shared = program(&[1, 2], take(0, 0), take(0, 1));
        assert_eq!(choices(&shared), [None, Some(Pc(0)), Some(Pc(0)), None]);
        assert!(OneOf::of(&shared).has(Tid(0), Pc(0), &[Pc(1), Pc(2)]));
        for other in [
            program(&[1, 2], take(0, 0), take(1, 1)),
            program(&[1, 2, 3], take(0, 0), take(0, 1)),
            program(&[1, 2], take(0, 0), Instr::Skip),
        ] {
            assert_eq!(choices(&other), [None; 4]);
        }
        // Step 2 is reached behind step 1 as well.
        let mut chained = program(&[1, 2], take(0, 0), take(0, 1));
        chained.threads[0].code[1].next = Pc(2);
        assert_eq!(choices(&chained), [None; 4]);
    }
}
