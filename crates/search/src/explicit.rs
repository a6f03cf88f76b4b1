//! The reachable part of an automaton as an explicit graph, for questions that go backwards: which states can
//! reach one of those?

use crate::inclusion::{Automaton, Word};
use crate::numbered::Numbered;

/// Why there is no graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cut<B> {
    /// A limit hides a part of the automaton.
    Limited(B),
    /// The caller asked to stop.
    Stopped,
}

/// The states of an automaton, with the steps between them.
pub struct Graph {
    /// The states; number 0 is the initial one.
    pub states: Numbered,
    /// For each step, where it leads and where it starts. Ascending, so that the predecessors of a state stand together.
    steps: Vec<(u32, u32)>,
}

impl Graph {
    /// Explores all of `automaton`. `look` is handed each step: the number of the state where it starts, and its labels.
    /// `go_on` is asked now and then, with the number of states and the bytes in use.
    pub fn explore<A: Automaton>(
        automaton: &A,
        mut look: impl FnMut(u32, Word),
        mut go_on: impl FnMut(u64, u64) -> bool,
    ) -> Result<Self, Cut<A::Bad>> {
        let mut states = Numbered::default();
        let mut steps: Vec<(u32, u32)> = Vec::new();
        let mut limit = None;
        automaton.initial(&mut |state, bad| {
            states.insert(state);
            limit = bad.filter(A::is_limit);
        });
        let mut state = Vec::new();
        let mut at = 0;
        while (at as usize) < states.len() {
            state.clear();
            state.extend_from_slice(states.get(at));
            automaton.steps(&state, &mut |word, next, bad| {
                look(at, word);
                limit = limit.take().or(bad.filter(A::is_limit));
                steps.push((states.insert(next).0, at));
            });
            if let Some(limit) = limit {
                return Err(Cut::Limited(limit));
            }
            at += 1;
            if at.is_multiple_of(1 << 4) {
                let bytes = states.bytes() + 8 * steps.capacity() as u64;
                if !go_on(states.len() as u64, bytes) {
                    return Err(Cut::Stopped);
                }
            }
        }
        steps.sort_unstable();
        Ok(Graph { states, steps })
    }

    /// Gives each state the bits of all states that can be reached from it.
    pub fn spread_back(&self, bits: &mut [u32]) {
        let before = |state: u32| {
            let start = self.steps.partition_point(|step| step.0 < state);
            self.steps[start..].iter().take_while(move |step| step.0 == state).map(|step| step.1)
        };
        let mut open: Vec<u32> = (0..self.states.len() as u32).collect();
        while let Some(state) = open.pop() {
            let own = bits[state as usize];
            for from in before(state) {
                if own & !bits[from as usize] != 0 {
                    bits[from as usize] |= own;
                    open.push(from);
                }
            }
        }
    }
}
