//! Automorphisms of a program: ways to exchange threads that change nothing.
//!
//! Two threads are interchangeable if their code is the same up to the names of registers and
//! locations, the order of `oneof` branches, and opaque constants ([`super::types`]), and if
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
//! to values of a renamed class are equality tests within the class ([`super::types`]), which a
//! permutation keeps, and all other values stay by 1. So a step from s to s' becomes a step from
//! α(s) to α(s'), and the same finding is made. This is statement A. (b) By 5, α(init) = init, so the
//! image of a run from the initial state is one. This is statement B. (c) Premises 1 to 5 hold for
//! compositions if they hold for the parts, so they hold for the group if they hold for exchanges.

use super::liveness::live_registers;
use super::types::{Class, Types, operands};
use super::values::{PossibleValues, Values};
use crate::expr::{Expr, Op};
use crate::ids::{Loc, Pc, Reg, RegSet, Tid, Value};
use crate::program::{Instr, Place, Program};
use budget::Budget;
use std::collections::{HashMap, HashSet};

/// Groups larger than this are cut down to what was found first; any subset is sound.
const MAX_GROUP: usize = 720;
/// A group of a program with many locations is cut down further: every new state of a search is
/// renamed by every element, and that must not take a noticeable time.
const MAX_RENAMED: usize = 1 << 18;
/// Steps of backtracking before a match is given up.
const MAX_STEPS: u32 = 20_000;

/// A renaming of threads, program counters, registers, locations and opaque values under which a
/// program's transitions are the same as before.
#[derive(Clone, Debug)]
pub struct Automorphism {
    /// The image of each thread.
    pub threads: Vec<Tid>,
    /// The image of each program counter of each thread, in the image of the thread.
    pub pcs: Vec<Vec<Pc>>,
    /// The image of each register of each thread, in the image of the thread.
    pub registers: Vec<Vec<Reg>>,
    /// The image of each location; fences' hidden location, last, is its own.
    pub locations: Vec<Loc>,
    /// The image of each class of values.
    classes: Vec<Class>,
    /// How each class's values are renamed; classes not here keep theirs.
    renamed: HashMap<Class, HashMap<Value, Value>>,
    /// Is the initial state its own image (premise 5)?
    pub keeps_initial: bool,
}

impl Automorphism {
    fn identity(program: &Program, types: &Types) -> Self {
        Automorphism {
            threads: program.tids().collect(),
            pcs: program
                .threads
                .iter()
                .map(|t| (0..t.code.len()).map(Pc::from).collect())
                .collect(),
            registers: program
                .threads
                .iter()
                .map(|t| (0..t.registers.len()).map(Reg::from).collect())
                .collect(),
            locations: (0..=program.locations.len()).map(Loc::from).collect(),
            classes: (0..types.count() as Class).collect(),
            renamed: HashMap::new(),
            keeps_initial: true,
        }
    }

    /// First `self`, then `other`.
    fn then(&self, other: &Automorphism) -> Automorphism {
        let through = |t: usize| self.threads[t].index();
        let mut renamed: HashMap<Class, HashMap<Value, Value>> = HashMap::new();
        for class in self.renamed.keys().copied().chain(other.renamed.keys().map(|&image| {
            let source = self.classes.iter().position(|&c| c == image).unwrap_or(image as usize);
            source as Class
        })) {
            let image = self.classes[class as usize];
            let touched = self.renamed.get(&class).into_iter().flat_map(|m| m.keys().copied());
            let behind = other
                .renamed
                .get(&image)
                .into_iter()
                .flat_map(|m| m.keys().map(|&value| self.value_before(class, value)));
            let map = touched
                .chain(behind)
                .map(|value| (value, other.value(image, self.value(class, value))))
                .collect();
            renamed.insert(class, map);
        }
        Automorphism {
            threads: self.threads.iter().map(|t| other.threads[t.index()]).collect(),
            pcs: (0..self.pcs.len())
                .map(|t| self.pcs[t].iter().map(|pc| other.pcs[through(t)][pc.index()]).collect())
                .collect(),
            registers: (0..self.registers.len())
                .map(|t| {
                    let second = &other.registers[through(t)];
                    self.registers[t].iter().map(|r| second[r.index()]).collect()
                })
                .collect(),
            locations: self.locations.iter().map(|x| other.locations[x.index()]).collect(),
            classes: self.classes.iter().map(|&c| other.classes[c as usize]).collect(),
            renamed,
            keeps_initial: self.keeps_initial && other.keeps_initial,
        }
    }

    /// The image of a value of a class.
    #[inline(always)]
    pub fn value(&self, class: Class, value: Value) -> Value {
        match self.renamed.get(&class) {
            None => value,
            Some(map) => map.get(&value).copied().unwrap_or(value),
        }
    }

    fn value_before(&self, class: Class, image: Value) -> Value {
        match self.renamed.get(&class) {
            None => image,
            Some(map) => map.iter().find(|(_, to)| **to == image).map_or(image, |(from, _)| *from),
        }
    }

    /// Are values of this class renamed?
    pub fn renames(&self, class: Class) -> bool {
        self.renamed.contains_key(&class)
    }

    /// Is it an automorphism of `program`: do premises 1 to 3 hold, and premise 5 if it says so?
    pub fn is_of(&self, program: &Program, types: &Types, facts: &Facts) -> bool {
        let kinds = program
            .locations
            .iter()
            .zip(&self.locations)
            .all(|(location, image)| location.kind == program.locations[image.index()].kind);
        kinds
            && self.permutes(types)
            && (!self.keeps_initial || self.keeps_initial_state(program, types, facts))
            && program.tids().all(|tid| {
                let t = tid.index();
                let thread = &program.threads[t];
                let image = &program.threads[self.threads[t].index()];
                self.pcs[t][thread.entry.index()] == image.entry
                    && facts.reachable[t].iter().all(|pc| {
                        let live = facts.live[t][pc.index()];
                        self.maps_step(program, types, tid, *pc)
                            && self.maps_registers(types, tid, *pc, live)
                    })
            })
            && self.maps_locations(types)
    }

    /// Premise 1.
    fn permutes(&self, types: &Types) -> bool {
        let raw = |ids: &[Pc]| ids.iter().map(|id| id.0).collect::<Vec<_>>();
        is_permutation(self.threads.iter().map(|id| id.0))
            && is_permutation(self.locations.iter().map(|id| id.0))
            && is_permutation(self.classes.iter().copied())
            && self.pcs.iter().all(|pcs| is_permutation(raw(pcs).into_iter()))
            && self.registers.iter().all(|regs| is_permutation(regs.iter().map(|id| id.0)))
            && self.renamed.iter().all(|(class, map)| {
                let (mut from, mut to): (Vec<Value>, Vec<Value>) = map.iter().unzip();
                from.sort_unstable();
                to.sort_unstable();
                from == to && !types.is_rigid(*class)
            })
    }

    /// Premise 5.
    fn keeps_initial_state(&self, program: &Program, types: &Types, facts: &Facts) -> bool {
        let locations = program.locations.iter().enumerate().all(|(x, location)| {
            let image = &program.locations[self.locations[x].index()];
            self.value(types.location(Loc::from(x)), location.initial) == image.initial
        });
        locations
            && program.threads.iter().enumerate().all(|(t, thread)| {
                let live = facts.live[t][thread.entry.index()];
                let class = |reg| types.register(Tid::from(t), thread.entry, reg);
                live.iter().all(|reg| self.value(class(reg), 0) == 0)
            })
    }

    /// Premise 2.
    fn maps_step(&self, program: &Program, types: &Types, tid: Tid, pc: Pc) -> bool {
        let t = tid.index();
        let (image_tid, image_pc) = (self.threads[t], self.pcs[t][pc.index()]);
        let (step, image) = (program.step(tid, pc), program.step(image_tid, image_pc));
        let register = |reg: Reg| self.registers[t][reg.index()];
        let place = |a: &Place, b: &Place| {
            let renamed = a.locations().map(|x| self.locations[x.index()]);
            same_kind_of_place(a, b) && renamed.eq(b.locations())
        };
        let places = match (&step.instr, &image.instr) {
            (Instr::LightFence(a), Instr::LightFence(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| place(a, b))
            }
            (a, b) => match (a.place(), b.place()) {
                (Some(a), Some(b)) => place(a, b),
                (a, b) => a.is_none() && b.is_none(),
            },
        };
        let mut classes = types.constants(tid, pc);
        let mut renamed = Vec::new();
        for expr in operands(&step.instr) {
            renamed.push(
                expr.clone()
                    .into_postfix()
                    .into_iter()
                    .map(|op| match op {
                        Op::Const(value) => {
                            let class = classes.next().expect("every constant has a class");
                            Op::Const(self.value(class, value))
                        }
                        Op::Reg(reg) => Op::Reg(register(reg)),
                        op => op,
                    })
                    .collect::<Vec<_>>(),
            );
        }
        let expected = operands(&image.instr).into_iter().map(|e| e.clone().into_postfix());
        let mut targets = [Vec::new(), Vec::new()];
        if let Instr::Jump { targets: from, .. } = &step.instr {
            targets[0].extend(from.iter().map(|pc| self.pcs[t][pc.index()]));
        }
        if let Instr::Jump { targets: to, .. } = &image.instr {
            targets[1].extend_from_slice(to);
        }
        targets.iter_mut().for_each(|targets| targets.sort_unstable());
        same_shape(&step.instr, &image.instr)
            && step.instr.output().map(register) == image.instr.output()
            && places
            && renamed.into_iter().eq(expected)
            && targets[0] == targets[1]
            && (step.instr == Instr::Halt || self.pcs[t][step.next.index()] == image.next)
    }

    /// Premise 3 for registers.
    fn maps_registers(&self, types: &Types, tid: Tid, pc: Pc, live: RegSet) -> bool {
        let t = tid.index();
        let (image_tid, image_pc) = (self.threads[t], self.pcs[t][pc.index()]);
        live.iter().all(|reg| {
            let class = types.register(tid, pc, reg);
            let image = types.register(image_tid, image_pc, self.registers[t][reg.index()]);
            self.classes[class as usize] == image
        })
    }

    /// Premise 3 for locations.
    fn maps_locations(&self, types: &Types) -> bool {
        let program_locations = self.locations.len() - 1;
        self.locations.iter().enumerate().take(program_locations).all(|(x, image)| {
            self.classes[types.location(Loc::from(x)) as usize] == types.location(*image)
        })
    }
}

/// Does each number below the number of items come once?
fn is_permutation(items: impl ExactSizeIterator<Item = u32>) -> bool {
    let mut seen = vec![false; items.len()];
    items
        .into_iter()
        .all(|item| seen.get_mut(item as usize).is_some_and(|seen| !std::mem::replace(seen, true)))
}

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

    /// Is there only the identity?
    pub fn is_trivial(&self) -> bool {
        self.elements.len() == 1
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

/// A candidate for the automorphism that exchanges `i` and `j` and keeps all other threads, and perhaps
/// the initial state, too.
fn exchange(
    program: &Program,
    types: &Types,
    i: Tid,
    j: Tid,
    keeps_initial: bool,
) -> Option<Automorphism> {
    let (a, b) = (&program.threads[i.index()], &program.threads[j.index()]);
    if a.code.len() != b.code.len() || a.registers.len() != b.registers.len() {
        return None;
    }
    let mut matcher = Matcher {
        program,
        types,
        thread: program.tids().collect(),
        state: Partial::default(),
        steps: 0,
        keeps_initial,
    };
    matcher.thread[i.index()] = j;
    matcher.thread[j.index()] = i;
    let others = program.tids().filter(|tid| *tid != i && *tid != j);
    let entry = |tid: Tid| program.threads[tid.index()].entry;
    let mut goals: Vec<_> = others.map(|tid| (tid, entry(tid), entry(tid))).collect();
    goals.push((i, a.entry, b.entry)); // looked at first, where most that differ do so at once
    matcher.solve(goals).then(|| matcher.finish(i, j))
}

/// What has been matched so far. Everything is an involution, so each pair stands for two.
#[derive(Clone, Default)]
struct Partial {
    /// Per thread that leads (`i`, and those mapped to themselves).
    pcs: HashMap<(Tid, Pc), Pc>,
    pcs_back: HashMap<(Tid, Pc), Pc>,
    registers: HashMap<(Tid, Reg), Reg>,
    registers_back: HashMap<(Tid, Reg), Reg>,
    locations: HashMap<Loc, Loc>,
    classes: HashMap<Class, Class>,
    values: HashMap<(Class, Value), Value>,
}

struct Matcher<'p> {
    program: &'p Program,
    types: &'p Types,
    thread: Vec<Tid>,
    state: Partial,
    steps: u32,
    keeps_initial: bool,
}

/// Inserts a pair in an involution; false if it contradicts what is there.
fn pair<K: std::hash::Hash + Eq + Copy>(map: &mut HashMap<K, K>, a: K, b: K) -> bool {
    *map.entry(a).or_insert(b) == b && *map.entry(b).or_insert(a) == a
}

impl Matcher<'_> {
    /// Matches all pairs of program counters in `goals` and what follows from them; tries the
    /// branches of a `oneof` in every order.
    fn solve(&mut self, mut goals: Vec<(Tid, Pc, Pc)>) -> bool {
        while let Some((tid, p, q)) = goals.pop() {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return false;
            }
            match (self.state.pcs.get(&(tid, p)), self.state.pcs_back.get(&(tid, q))) {
                (None, None) => {}
                (Some(known), _) if *known == q => continue,
                _ => return false,
            }
            self.state.pcs.insert((tid, p), q);
            self.state.pcs_back.insert((tid, q), p);
            let image = self.thread[tid.index()];
            let (a, b) = (self.program.step(tid, p), self.program.step(image, q));
            if !self.instr(tid, p, &a.instr, image, q, &b.instr) {
                return false;
            }
            if !matches!(a.instr, Instr::Halt) {
                goals.push((tid, a.next, b.next));
            }
            if let (Instr::Jump { targets: from, .. }, Instr::Jump { targets: to, .. }) =
                (&a.instr, &b.instr)
            {
                if from.len() != to.len() {
                    return false;
                }
                if let ([p], [q]) = (&from[..], &to[..]) {
                    goals.push((tid, *p, *q));
                    continue;
                }
                let saved = self.state.clone();
                for order in permutations(to.len()) {
                    let mut more = goals.clone();
                    more.extend(order.iter().zip(from).map(|(&k, &p)| (tid, p, to[k])));
                    if self.solve(more) {
                        return true;
                    }
                    if self.steps > MAX_STEPS {
                        return false;
                    }
                    self.state = saved.clone();
                }
                return false;
            }
        }
        true
    }

    fn instr(&mut self, s: Tid, p: Pc, a: &Instr, t: Tid, q: Pc, b: &Instr) -> bool {
        if !same_shape(a, b) {
            return false;
        }
        let output = match (a.output(), b.output()) {
            (Some(x), Some(y)) => self.register(s, x, y),
            (x, y) => x == y,
        };
        let places = match (a, b) {
            (Instr::LightFence(x), Instr::LightFence(y)) => {
                x.len() == y.len() && x.iter().zip(y).all(|(x, y)| self.place(x, y))
            }
            _ => match (a.place(), b.place()) {
                (Some(x), Some(y)) => self.place(x, y),
                (x, y) => x == y,
            },
        };
        let (left, right) = (operands(a), operands(b));
        if !output || !places || left.len() != right.len() {
            return false;
        }
        let left_classes: Vec<Class> = self.types.constants(s, p).collect();
        let right_classes: Vec<Class> = self.types.constants(t, q).collect();
        let mut constants = left_classes.into_iter().zip(right_classes);
        left.into_iter().zip(right).all(|(x, y)| {
            let (x, y) = (x.clone().into_postfix(), y.clone().into_postfix());
            x.len() == y.len()
                && x.iter().zip(&y).all(|ops| match ops {
                    (Op::Const(v), Op::Const(w)) => {
                        let classes = constants.next();
                        classes.is_some_and(|(c, d)| self.class(c, d) && self.value(c, *v, d, *w))
                    }
                    (Op::Reg(v), Op::Reg(w)) => {
                        let classes =
                            (self.types.register(s, p, *v), self.types.register(t, q, *w));
                        self.register(s, *v, *w) && self.class(classes.0, classes.1)
                    }
                    (v, w) => v == w,
                })
        })
    }

    fn register(&mut self, tid: Tid, a: Reg, b: Reg) -> bool {
        let state = &mut self.state;
        *state.registers.entry((tid, a)).or_insert(b) == b
            && *state.registers_back.entry((tid, b)).or_insert(a) == a
    }

    fn place(&mut self, a: &Place, b: &Place) -> bool {
        same_kind_of_place(a, b)
            && a.locations().zip(b.locations()).all(|(x, y)| self.location(x, y))
    }

    fn location(&mut self, x: Loc, y: Loc) -> bool {
        let (first, second) = (self.types.location(x), self.types.location(y));
        let (from, to) = (&self.program.locations[x.index()], &self.program.locations[y.index()]);
        from.kind == to.kind
            && pair(&mut self.state.locations, x, y)
            && self.class(first, second)
            && (!self.keeps_initial || self.value(first, from.initial, second, to.initial))
    }

    fn class(&mut self, c: Class, d: Class) -> bool {
        self.types.is_rigid(c) == self.types.is_rigid(d) && pair(&mut self.state.classes, c, d)
    }

    fn value(&mut self, c: Class, v: Value, d: Class, w: Value) -> bool {
        if self.types.is_rigid(c) {
            return v == w;
        }
        let values = &mut self.state.values;
        *values.entry((c, v)).or_insert(w) == w && *values.entry((d, w)).or_insert(v) == v
    }

    /// The automorphism, with everything not mentioned mapped to itself.
    fn finish(&self, i: Tid, j: Tid) -> Automorphism {
        let mut alpha = Automorphism::identity(self.program, self.types);
        alpha.threads.clone_from(&self.thread);
        alpha.keeps_initial = self.keeps_initial;
        for (&(tid, p), &q) in &self.state.pcs {
            alpha.pcs[tid.index()][p.index()] = q;
            if tid == i {
                alpha.pcs[j.index()][q.index()] = p;
            }
        }
        for (&(tid, a), &b) in &self.state.registers {
            alpha.registers[tid.index()][a.index()] = b;
            if tid == i {
                alpha.registers[j.index()][b.index()] = a;
            }
        }
        for (&x, &y) in &self.state.locations {
            alpha.locations[x.index()] = y;
        }
        for (&c, &d) in &self.state.classes {
            alpha.classes[c as usize] = d;
        }
        for (&(c, v), &w) in &self.state.values {
            if v != w {
                alpha.renamed.entry(c).or_default().insert(v, w);
            }
        }
        alpha
    }
}

/// Do both places stand for one known location, both for an element of arrays of equal length, or both
/// for no element of any array, whatever happens?
fn same_kind_of_place(a: &Place, b: &Place) -> bool {
    match (a.known(), b.known()) {
        (Some(Ok(_)), Some(Ok(_))) => true,
        (Some(Err(x)), Some(Err(y))) => (x, a.len) == (y, b.len),
        (None, None) => a.len == b.len,
        _ => false,
    }
}

/// Are the instructions the same but for places, registers and constants?
fn same_shape(a: &Instr, b: &Instr) -> bool {
    let blank = |instr: &Instr| {
        let mut instr = instr.clone();
        let nothing = || Expr::Const(0);
        let nowhere = || Place::location(Loc(0));
        match &mut instr {
            Instr::Assign { dst, value } => (*dst, *value) = (Reg(0), nothing()),
            Instr::Jump { cond, targets } => {
                *cond = nothing();
                targets.clear();
            }
            Instr::Assert(cond) | Instr::Assume(cond) => *cond = nothing(),
            Instr::Load { dst, place, .. } => (*dst, *place) = (Reg(0), nowhere()),
            Instr::Store { place, value, .. } => (*place, *value) = (nowhere(), nothing()),
            Instr::Rmw { dst, place, update, .. } => {
                *dst = dst.map(|_| Reg(0));
                *place = nowhere();
                match update {
                    crate::Update::Add(e) | crate::Update::Sub(e) | crate::Update::Set(e) => {
                        *e = nothing();
                    }
                }
            }
            Instr::Cas { dst, place, expected, desired, .. } => {
                *dst = dst.map(|_| Reg(0));
                (*place, *expected, *desired) = (nowhere(), nothing(), nothing());
            }
            Instr::BlockingCas { place, expected, desired, .. } => {
                (*place, *expected, *desired) = (nowhere(), nothing(), nothing());
            }
            Instr::Wait { dst, place, values, .. } => {
                *dst = dst.map(|_| Reg(0));
                *place = nowhere();
                values.fill(nothing());
            }
            Instr::LightFence(places) => places.clear(),
            Instr::Skip
            | Instr::Fence(_)
            | Instr::BusLock
            | Instr::BusUnlock
            | Instr::Begin
            | Instr::End
            | Instr::Mark(_)
            | Instr::Halt => {}
        }
        instr
    };
    blank(a) == blank(b)
}

/// All orders of `0..n`, the ascending one first; only that one if there would be too many.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n > 5 {
        return vec![(0..n).collect()];
    }
    let mut all = vec![Vec::new()];
    for _ in 0..n {
        all = all
            .into_iter()
            .flat_map(|prefix: Vec<usize>| {
                (0..n)
                    .filter(|k| !prefix.contains(k))
                    .map(|k| {
                        let mut longer = prefix.clone();
                        longer.push(k);
                        longer
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    all
}
