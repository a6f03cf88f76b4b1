//! Finding the steps of the implementation ahead of the search, on other cores.
//!
//! Which pair is looked at next depends on all pairs before it, so pairs are taken on one core. The steps of the
//! implementation from a state depend on the state alone: workers find them in advance, a batch at a time.

use super::{Automaton, Word};
use std::sync::mpsc;
use std::thread::Scope;

/// Pairs by number, with the implementation's states.
pub(super) type Batch = Vec<(u32, Box<[u8]>)>;

/// The steps from one state: all their states in a row, and where each ends.
pub(super) struct Steps<B> {
    states: Vec<u8>,
    ends: Vec<(Word, usize, Option<B>)>,
}

impl<B> Steps<B> {
    fn of<A: Automaton<Bad = B>>(automaton: &A, state: &[u8]) -> Self {
        let mut steps = Steps { states: Vec::new(), ends: Vec::new() };
        automaton.steps(state, &mut |word, state, bad| {
            steps.states.extend_from_slice(state);
            steps.ends.push((word, steps.states.len(), bad));
        });
        steps
    }

    /// Each step's word, state, and what is wrong with it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Word, &[u8], &Option<B>)> {
        let mut start = 0;
        self.ends.iter().map(move |(word, end, bad)| {
            let state = &self.states[start..*end];
            start = *end;
            (*word, state, bad)
        })
    }
}

/// A thread that finds the steps of the implementation ahead of the search. What is found first does
/// not depend on it: batches are taken and come back in order.
pub(super) struct Worker<B> {
    states: mpsc::Sender<Batch>,
    steps: mpsc::Receiver<Vec<(u32, Steps<B>)>>,
}

/// The steps from each state of a batch.
pub(super) fn find_steps<A: Automaton>(automaton: &A, batch: Batch) -> Vec<(u32, Steps<A::Bad>)> {
    batch.into_iter().map(|(at, state)| (at, Steps::of(automaton, &state))).collect()
}

impl<B: Send> Worker<B> {
    /// Starts one; `None` if the system allows no more threads.
    pub(super) fn new<'scope, A: Automaton<Bad = B>>(
        scope: &'scope Scope<'scope, '_>,
        automaton: &'scope A,
    ) -> Option<Self>
    where
        B: 'scope,
    {
        let (states, batches) = mpsc::channel::<Batch>();
        let (results, steps) = mpsc::channel();
        let work = move || {
            for batch in batches {
                if results.send(find_steps(automaton, batch)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().spawn_scoped(scope, work).ok()?;
        Some(Worker { states, steps })
    }

    /// Hands it something to do.
    pub(super) fn start(&self, batch: Batch) {
        self.states.send(batch).expect("a worker that has not panicked waits for more");
    }

    /// Waits for what it was handed first and has not given back.
    pub(super) fn finish(&self) -> Vec<(u32, Steps<B>)> {
        self.steps.recv().expect("a worker that has not panicked answers")
    }
}
