//! Automorphisms of a program: ways to exchange threads that change nothing.
//!
//! Two threads are interchangeable if their code is the same up to the names of registers and
//! locations, the order of `oneof` branches, and opaque constants ([`super::opaque_values`]), and if
//! exchanging all these consistently maps every other thread to itself. [`find`] looks for
//! exchanges of two threads by matching their code in lockstep, and returns the group they
//! generate. A search then keeps one state of each orbit.
//!
//! # What is promised, and what it rests on
//!
//! **Statement A.** Every element α of [`Symmetries::elements`] maps runs of the program to runs, step
//! by step, and findings to findings at the image of their place. So something is found from a state s
//! iff its image is found from α(s), and a search may keep one state of each orbit.
//!
//! **Statement B.** If α also maps the initial state to itself ([`Automorphism::keeps_initial`]), then
//! what is found at a location in a run from the initial state is found at its image in such a run. So
//! of locations that such elements exchange, a search needs to watch one
//! ([`Symmetries::is_first_of_orbit`]).
//!
//! **Premises**, which [`Automorphism::is_of`] checks on each exchange before it is used, whatever the
//! search for it did:
//!
//! 1. threads, program counters, registers, locations and the values of each class are permuted,
//!    and values of rigid classes stay;
//! 2. each reachable step of a thread, renamed, is the step of the image thread at the image of its
//!    program counter: same kind and modes, same operators, constants renamed as their class says,
//!    successors renamed, branches of a choice in any order. A place with a computed index goes to
//!    one of the same length, element by element; an index that is out of range goes to one that is.
//!    Entries go to entries, and locations to locations of the same kind;
//! 3. the classes of live registers and of locations are mapped as composing automorphisms assumes;
//! 4. what a search treats specially (its counters, [`super::counters::Counters::fixed_by`]) is
//!    its own image. This depends on the search, which passes it to [`find`] as `keeps`;
//! 5. for statement B: a location's initial value goes to the initial value of its image, and the 0 of
//!    a register that is read before it is written to 0.
//!
//! **Proof.** (a) By 2, a thread at a program counter and its image do the same up to renaming: an
//! expression over renamed registers has the renamed value, because the operators that are applied
//! to values of a renamed class are equality tests within the class ([`super::opaque_values`]), which a
//! permutation keeps, and all other values stay by 1. So a step from s to s' becomes a step from
//! α(s) to α(s'), and the same finding is made. This is statement A. (b) By 5, α(init) = init, so the
//! image of a run from the initial state is one. This is statement B. (c) Premises 1 to 5 hold for
//! compositions if they hold for the parts, so they hold for the group if they hold for exchanges.

mod automorphism;
mod exchange;

pub use automorphism::{Automorphism, ValueRenaming};

use super::liveness::live_registers;
use super::opaque_values::{Class, Types};
use super::values::{PossibleValues, Values};
use budget::Budget;
use exchange::exchange;
use ir::ids::{Loc, Pc, Reg, RegSet, Tid};
use ir::program::Program;
use std::collections::HashSet;

/// Groups larger than this are cut down to what was found first; any subset is sound.
const MAX_GROUP: usize = 720;
/// A group of a program with many locations is cut down further: every new state of a search is
/// renamed by every element, and that must not take a noticeable time.
const MAX_RENAMED: usize = 1 << 18;

/// The symmetries of a program.
#[derive(Clone, Debug)]
pub struct Symmetries {
    /// Classes of values, which say what a renaming of values applies to.
    pub types: Types,
    /// The group found, the identity first.
    pub elements: Vec<Automorphism>,
}

impl Symmetries {
    /// Only the identity.
    pub fn trivial(program: &Program) -> Self {
        let types = Types::of(program);
        let identity = Automorphism::identity(program, &types);
        Symmetries { types, elements: vec![identity] }
    }

    /// Those that map every location in `kept` to itself.
    pub fn stabilizer(&self, kept: &[Loc]) -> Symmetries {
        let keeps = |alpha: &&Automorphism| kept.iter().all(|x| alpha.locations[x.index()] == *x);
        Symmetries {
            types: self.types.clone(),
            elements: self.elements.iter().filter(keeps).cloned().collect(),
        }
    }

    /// Is no smaller location the image of `loc` under an element that keeps the initial state?
    pub fn is_first_of_orbit(&self, loc: Loc) -> bool {
        let mut keeping = self.elements.iter().filter(|alpha| alpha.keeps_initial);
        keeping.all(|alpha| alpha.locations[loc.index()] >= loc)
    }

    /// Adds to `possible` what its images hold, and their images, since a search will come to states
    /// that are images of reachable ones.
    pub fn close(&self, program: &Program, possible: &mut PossibleValues) {
        loop {
            let before = possible.clone();
            self.add_images(program, possible);
            if *possible == before {
                return;
            }
        }
    }

    fn add_images(&self, program: &Program, possible: &mut PossibleValues) {
        let original = possible.clone();
        let image = |values: &Values, alpha: &Automorphism, class: Class| match values.members() {
            None => Values::Any,
            Some(members) => Values::of_members(members.iter().map(|&v| alpha.value(class, v))),
        };
        for alpha in &self.elements[1..] {
            for (x, values) in original.locations.iter().enumerate() {
                let loc = Loc::from(x);
                let values = image(values, alpha, self.types.location(loc));
                possible.locations[alpha.locations[x].index()].absorb(&values);
            }
            for (t, thread) in program.threads.iter().enumerate() {
                let to = &mut possible.registers[alpha.threads[t].index()];
                for pc in 0..thread.code.len() {
                    for r in 0..thread.registers.len() {
                        let class = self.types.register(Tid::from(t), Pc::from(pc), Reg::from(r));
                        let values = image(&original.registers[t][pc][r], alpha, class);
                        to[alpha.pcs[t][pc].index()][alpha.registers[t][r].index()].absorb(&values);
                    }
                }
            }
        }
    }
}

/// The group generated by exchanges of two threads that `keeps` accepts, or its first few hundred
/// elements; less of it if there is no time.
pub fn find(
    program: &Program,
    budget: Budget,
    keeps: impl Fn(&Automorphism, &Types) -> bool,
) -> Symmetries {
    let mut found = Symmetries::trivial(program);
    let facts = Facts::of(program);
    let mut swaps = Vec::new();
    // Exchanges with one member of each orbit generate all others.
    let mut first_of_orbits: Vec<Tid> = Vec::new();
    for tid in program.tids() {
        // One that keeps the initial state is worth more.
        let candidates = first_of_orbits.iter().flat_map(|first| [(*first, true), (*first, false)]);
        let in_time = |_: &(Tid, bool)| !budget.is_spent();
        let swap = candidates.take_while(in_time).find_map(|(first, keeps_initial)| {
            exchange(program, &found.types, first, tid, keeps_initial).filter(|swap| {
                swap.is_of(program, &found.types, &facts) && keeps(swap, &found.types)
            })
        });
        if swap.is_none() {
            first_of_orbits.push(tid);
        }
        swaps.extend(swap);
    }
    let most = MAX_GROUP.min(1 + MAX_RENAMED / program.locations.len().max(1));
    let mut known: HashSet<Vec<Tid>> = HashSet::from([found.elements[0].threads.clone()]);
    let mut next = 0;
    while next < found.elements.len() && found.elements.len() < most {
        for swap in &swaps {
            let element = &found.elements[next];
            // The rest of an automorphism is large, and most products are known already.
            let threads = element.threads.iter().map(|t| swap.threads[t.index()]).collect();
            if found.elements.len() < most && known.insert(threads) {
                found.elements.push(element.then(swap));
            }
        }
        next += 1;
    }
    for element in &mut found.elements {
        element.keeps_initial = element.keeps_initial_state(program, &found.types, &facts);
    }
    found
}

/// What is asked about a program again and again.
pub struct Facts {
    /// Per thread and program counter, the live registers.
    live: Vec<Vec<RegSet>>,
    /// Per thread, the program counters that control may come to.
    reachable: Vec<Vec<Pc>>,
}

impl Facts {
    /// The facts about `program`.
    pub fn of(program: &Program) -> Self {
        Facts {
            live: program.threads.iter().map(live_registers).collect(),
            reachable: program.threads.iter().map(|thread| thread.reachable().collect()).collect(),
        }
    }
}
