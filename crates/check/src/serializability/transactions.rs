//! Where a thread is inside a transaction.
//!
//! `atomic { … }` is well nested by construction, but `atomic begin;` and `atomic end;` may stand
//! anywhere among jumps. Every step must be inside a transaction on all ways to it or on none; a
//! transaction must not begin inside another, end outside, or be left open when its thread is done.

use ::ir::{Instr, Pc, Program, Thread, Tid};

/// A mark where it must not be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misplaced {
    /// The thread.
    pub tid: Tid,
    /// The step.
    pub pc: Pc,
    /// What is wrong.
    pub what: Mistake,
}

/// What can be wrong with a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// A transaction begins inside another.
    Nested,
    /// A transaction ends where none is open.
    EndWithoutBegin,
    /// The thread is done with a transaction still open.
    NeverEnds,
    /// Inside on one way to it, outside on another.
    Both,
}

impl Mistake {
    /// As a message says it.
    pub fn text(self) -> &'static str {
        match self {
            Mistake::Nested => "a transaction begins inside another",
            Mistake::EndWithoutBegin => "a transaction ends where none is open",
            Mistake::NeverEnds => "the thread may be done here with a transaction still open",
            Mistake::Both => {
                "this is inside a transaction on one way to it, and outside on another"
            }
        }
    }
}

/// For each thread and step, is it inside a transaction? Steps that are never reached are not.
pub fn inside(program: &Program) -> Result<Vec<Vec<bool>>, Misplaced> {
    program.tids().zip(&program.threads).map(|(tid, thread)| of_thread(tid, thread)).collect()
}

fn of_thread(tid: Tid, thread: &Thread) -> Result<Vec<bool>, Misplaced> {
    let mut inside: Vec<Option<bool>> = vec![None; thread.code.len()];
    let mut work = vec![(thread.entry, false)];
    while let Some((pc, now)) = work.pop() {
        let misplaced = |what| Err(Misplaced { tid, pc, what });
        match inside[pc.index()] {
            Some(before) if before == now => continue,
            Some(_) => return misplaced(Mistake::Both),
            None => inside[pc.index()] = Some(now),
        }
        let step = &thread.code[pc.index()];
        let after = match (&step.instr, now) {
            (Instr::Begin, true) => return misplaced(Mistake::Nested),
            (Instr::End, false) => return misplaced(Mistake::EndWithoutBegin),
            (Instr::Halt, true) => return misplaced(Mistake::NeverEnds),
            (Instr::Begin, false) => true,
            (Instr::End, true) => false,
            _ => now,
        };
        work.extend(step.successors().map(|next| (next, after)));
    }
    Ok(inside.into_iter().map(|known| known == Some(true)).collect())
}
