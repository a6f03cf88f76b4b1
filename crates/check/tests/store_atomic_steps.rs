//! The quick way to the successors of a state of the attack search, against the plain way.
//!
//! A search remembers where local steps led, and packs a successor by changing what the step changed in its parent. Whoever
//! wants labels gets neither: local steps are taken one by one, and a state is packed as a whole. Both must hand out the same
//! states in the same order. Catches a run of local steps that is taken for another, and a step that changes more than its
//! thread, one location and the attack.

extern crate fencepost_check as check;

use budget::Budget;
use check::robustness::store_atomic::model::{
    AttackFinding, AttackSearch, Buffers, Goal, Label, Receiver,
};
use check::robustness::store_atomic::state::State;
use check::robustness::store_atomic::{Machine, compile};
use ir::random::{Allow, Config, program};
use search::{Model, Sink};
use std::collections::{HashSet, VecDeque};

/// States of one search that are looked at.
const STATES: usize = 400;

#[derive(Default)]
struct Quick(Vec<Box<[u8]>>, Vec<AttackFinding>);

impl Sink<AttackFinding> for Quick {
    fn state(&mut self, state: &[u8]) {
        self.0.push(state.into());
    }

    fn finding(&mut self, finding: AttackFinding) {
        self.1.push(finding);
    }
}

struct Plain<'s>(&'s AttackSearch, Vec<Box<[u8]>>, Vec<AttackFinding>);

impl Receiver for Plain<'_> {
    const WANTS_LOCAL_STEPS: bool = true;

    fn state(&mut self, _: &Label, state: &State) {
        self.1.push(self.0.pack(state));
    }

    fn found(&mut self, _: &Label, finding: AttackFinding) {
        self.2.push(finding);
    }
}

/// Compares all states of a search, up to [`STATES`]; how many there were.
fn compare(search: &AttackSearch, seed: u64) -> usize {
    let mut scratch = search.scratch();
    let first = search.pack(&search.start());
    let mut seen = HashSet::from([first.clone()]);
    let mut open = VecDeque::from([first]);
    let mut looked_at = 0;
    while let Some(state) = open.pop_front().filter(|_| looked_at < STATES) {
        looked_at += 1;
        let mut quick = Quick::default();
        search.expand_reduced(&state, &mut scratch, &mut quick);
        search.expand(&state, &mut scratch, &mut quick);
        let mut plain = Plain(search, Vec::new(), Vec::new());
        search.successors(&search.unpack(&state), &mut Buffers::new(search), &mut plain);
        assert_eq!((&quick.0, &quick.1), (&plain.1, &plain.2), "seed {seed}");
        open.extend(quick.0.into_iter().filter(|next| seen.insert(next.clone())));
    }
    looked_at
}

#[test]
fn successors_are_the_same_either_way() {
    let allow = Allow { na: false, sc_accesses: true, light_fences: false, ..Allow::EVERYTHING };
    let mut looked_at = 0;
    for seed in 0..600 {
        let machine = Machine::ALL[seed as usize % 3];
        let light_fences = machine == Machine::Pgas;
        let config = Config {
            instructions: 3..=8,
            registers: 3,
            max_value: 5,
            allow: Allow { light_fences, ..allow },
            ..Config::default()
        };
        let compiled = compile(&program(seed, &config), machine);
        let program = &compiled.program;
        for singular in [false, true] {
            looked_at +=
                compare(&AttackSearch::new(program, machine, singular, Budget::UNLIMITED), seed);
            let apart = AttackSearch::telling_apart(program, machine, singular, Budget::UNLIMITED);
            looked_at += compare(&apart.without_reduction(), seed);
        }
        if machine == Machine::Tso {
            let races = AttackSearch::new(program, machine, false, Budget::UNLIMITED)
                .looking_for(Goal::TriangularRace);
            looked_at += compare(&races, seed);
        }
    }
    assert!(looked_at > 50_000, "{looked_at} states");
}
