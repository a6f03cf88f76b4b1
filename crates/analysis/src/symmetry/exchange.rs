//! Looking for an automorphism that exchanges two threads, by matching their code in lockstep.
//!
//! What is found here is a candidate: [`Automorphism::is_of`] decides.

use super::automorphism::{Automorphism, same_kind_of_place, same_shape, waits_for_constants};
use crate::opaque_values::{Class, Types, operands};
use ir::expr::Op;
use ir::ids::{Loc, Pc, Reg, Tid, Value};
use ir::program::{Instr, Place, Program, case};
use std::collections::{HashMap, HashSet};

/// Steps of backtracking before a match is given up, beyond one for each place in the code.
const MAX_STEPS: usize = 20_000;
/// How many places may have several ways that are all tried, one behind the other.
const MAX_TRIES: usize = 200;

/// A candidate for the automorphism that exchanges `i` and `j` and keeps all other threads, and perhaps
/// the initial state, too.
pub(super) fn exchange(
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
        steps_left: MAX_STEPS + program.steps().count(),
        keeps_initial,
    };
    matcher.thread[i.index()] = j;
    matcher.thread[j.index()] = i;
    let others = program.tids().filter(|tid| *tid != i && *tid != j);
    let entry = |tid: Tid| program.threads[tid.index()].entry;
    let mut goals: Vec<_> = others.map(|tid| (tid, entry(tid), entry(tid))).collect();
    goals.push((i, a.entry, b.entry)); // looked at first, where most that differ do so at once
    // Large code is matched as it is written, or not at all: each place where there are several ways costs a copy.
    let enough = matcher.steps_left;
    let solved = [0, MAX_TRIES].into_iter().any(|tries| {
        (matcher.state, matcher.steps_left) = (Partial::default(), enough);
        matcher.solve(goals.clone(), tries) && matcher.tie_elements_to_values()
    });
    solved.then(|| matcher.finish(i, j))
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
    /// Arrays whose elements are named by values.
    named: HashSet<Named>,
}

/// An array of which each element has a name among the values of a class, and the array and class that
/// they are matched with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Named {
    from: Loc,
    to: Loc,
    len: u32,
    classes: (Class, Class),
    /// What is added to a value to get the number of the element.
    offset: i128,
}

/// Branches or cases of two steps that can be matched in several ways: where they lead, and with which value.
#[derive(Default)]
struct Open {
    classes: (Class, Class),
    from: Vec<(Option<Value>, Pc)>,
    to: Vec<(Option<Value>, Pc)>,
}

struct Matcher<'p> {
    program: &'p Program,
    types: &'p Types,
    thread: Vec<Tid>,
    state: Partial,
    steps_left: usize,
    keeps_initial: bool,
}

/// Inserts a pair in an involution; false if it contradicts what is there.
fn pair<K: std::hash::Hash + Eq + Copy>(map: &mut HashMap<K, K>, a: K, b: K) -> bool {
    *map.entry(a).or_insert(b) == b && *map.entry(b).or_insert(a) == a
}

impl Matcher<'_> {
    /// Matches all pairs of program counters in `goals` and what follows from them. Where there are several ways,
    /// the branches of a `oneof` or cases with values that nothing is known of, it takes the first or, if it may
    /// try, every one.
    fn solve(&mut self, mut goals: Vec<(Tid, Pc, Pc)>, tries: usize) -> bool {
        while let Some((tid, p, q)) = goals.pop() {
            match (self.state.pcs.get(&(tid, p)), self.state.pcs_back.get(&(tid, q))) {
                (None, None) => {}
                (Some(known), _) if *known == q => continue,
                _ => return false,
            }
            let Some(left) = self.steps_left.checked_sub(1) else { return false };
            self.steps_left = left;
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
            let open = match (&a.instr, &b.instr) {
                (Instr::Jump { targets: from, .. }, Instr::Jump { targets: to, .. }) => {
                    let branches = |targets: &[Pc]| targets.iter().map(|pc| (None, *pc)).collect();
                    (from.len() == to.len()).then(|| Open {
                        from: branches(from),
                        to: branches(to),
                        ..Open::default()
                    })
                }
                (Instr::Switch { cases: from, .. }, Instr::Switch { cases: to, .. }) => {
                    self.cases((tid, p, from), (image, q, to), &mut goals)
                }
                _ => continue,
            };
            let Some(open) = open else { return false };
            if tries == 0 || open.from.len() < 2 {
                if !self.pair_up(&open, tid, 0..open.from.len(), &mut goals) {
                    return false;
                }
                continue;
            }
            let saved = self.state.clone();
            for order in permutations(open.to.len()) {
                let mut more = goals.clone();
                if self.pair_up(&open, tid, order.into_iter(), &mut more)
                    && self.solve(more, tries - 1)
                {
                    return true;
                }
                if self.steps_left == 0 {
                    return false;
                }
                self.state = saved.clone();
            }
            return false;
        }
        true
    }

    /// Matches what is open with what is at the positions in `order`.
    fn pair_up(
        &mut self,
        open: &Open,
        tid: Tid,
        order: impl Iterator<Item = usize>,
        goals: &mut Vec<(Tid, Pc, Pc)>,
    ) -> bool {
        let (c, d) = open.classes;
        order.zip(&open.from).all(|(k, (from, p))| {
            let (to, q) = open.to[k];
            goals.push((tid, *p, q));
            match (from, to) {
                (Some(v), Some(w)) => self.value(c, *v, d, w),
                _ => true,
            }
        })
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
                x.len() == y.len() && x.iter().zip(y).all(|(x, y)| self.place((s, p, x), (t, q, y)))
            }
            _ => match (a.place(), b.place()) {
                (Some(x), Some(y)) => self.place((s, p, x), (t, q, y)),
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
        let in_any_order = waits_for_constants(a) && waits_for_constants(b);
        left.into_iter().zip(right).all(|(x, y)| {
            let (x, y) = (x.clone().into_postfix(), y.clone().into_postfix());
            x.len() == y.len()
                && x.iter().zip(&y).all(|ops| match ops {
                    (Op::Const(v), Op::Const(w)) => {
                        let classes = constants.next();
                        classes.is_some_and(|(c, d)| {
                            let any = in_any_order && !self.types.is_rigid(c);
                            self.class(c, d) && (any || self.value(c, *v, d, *w))
                        })
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

    /// Matches cases of two switches whose values are known to be matched, and adds where they lead to `goals`.
    /// The others are left open: those with a value that both have come first, in the same order. None if the switches
    /// cannot be matched.
    fn cases(
        &mut self,
        (s, p, from): (Tid, Pc, &[(Value, Pc)]),
        (t, q, to): (Tid, Pc, &[(Value, Pc)]),
        goals: &mut Vec<(Tid, Pc, Pc)>,
    ) -> Option<Open> {
        // The constants of cases come last, and are all of the class of what is switched on.
        let classes = (self.types.constants(s, p).last(), self.types.constants(t, q).last());
        let (Some(c), Some(d)) = classes else {
            return (from.is_empty() && to.is_empty()).then(Open::default);
        };
        if from.len() != to.len() || !self.class(c, d) {
            return None;
        }
        let rigid = self.types.is_rigid(c);
        let known = |class: Class, value: Value| match rigid {
            true => Some(value),
            false => self.state.values.get(&(class, value)).copied(),
        };
        let mut open = Open { classes: (c, d), ..Open::default() };
        for (value, pc) in from {
            match known(c, *value) {
                Some(image) => goals.push((s, *pc, case(to, image)?)),
                None => open.from.push((Some(*value), *pc)),
            }
        }
        for (value, pc) in to {
            match known(d, *value) {
                Some(image) => _ = case(from, image)?,
                None => open.to.push((Some(*value), *pc)),
            }
        }
        // Most often each thread means the same by a value that nothing is known of.
        let is_in =
            |values: &[Value], case: &Option<Value>| case.is_some_and(|v| values.contains(&v));
        let values = |cases: &[(Option<Value>, Pc)]| cases.iter().filter_map(|it| it.0).collect();
        let (one, other): (Vec<Value>, Vec<Value>) = (values(&open.from), values(&open.to));
        open.from.sort_by_key(|(value, _)| !is_in(&other, value));
        open.to.sort_by_key(|(value, _)| !is_in(&one, value));
        (open.from.len() == open.to.len()).then_some(open)
    }

    fn register(&mut self, tid: Tid, a: Reg, b: Reg) -> bool {
        let state = &mut self.state;
        *state.registers.entry((tid, a)).or_insert(b) == b
            && *state.registers_back.entry((tid, b)).or_insert(a) == a
    }

    fn place(&mut self, (s, p, a): (Tid, Pc, &Place), (t, q, b): (Tid, Pc, &Place)) -> bool {
        if !same_kind_of_place(a, b) {
            return false;
        }
        match (self.types.index(s, p, a), self.types.index(t, q, b)) {
            (Some((c, offset)), Some((d, _))) if !self.types.is_rigid(c) => {
                let (from, to, len) = (a.base, b.base, a.len);
                self.state.named.insert(Named { from, to, len, classes: (c, d), offset });
                true
            }
            _ => a.locations().zip(b.locations()).all(|(x, y)| self.location(x, y)),
        }
    }

    /// Matches the elements that matched values name, and the values that name matched elements.
    fn tie_elements_to_values(&mut self) -> bool {
        loop {
            let before = (self.state.locations.len(), self.state.values.len());
            for named in self.state.named.clone() {
                let Named { from, to, len, classes: (c, d), offset } = named;
                let element = |base: Loc, value: Value| {
                    let k = u32::try_from(i128::from(value) + offset).ok();
                    k.filter(|k| *k < len).map(|k| Loc(base.0 + k))
                };
                let name = |base: Loc, loc: Loc| {
                    let k = loc.0.checked_sub(base.0).filter(|k| *k < len)?;
                    Value::try_from(i128::from(k) - offset).ok()
                };
                let values: Vec<_> = self.state.values.iter().map(|(v, w)| (*v, *w)).collect();
                for ((class, v), w) in values {
                    if class == c
                        && let (Some(x), Some(y)) = (element(from, v), element(to, w))
                        && !self.location(x, y)
                    {
                        return false;
                    }
                }
                let locations: Vec<_> =
                    self.state.locations.iter().map(|(x, y)| (*x, *y)).collect();
                for (x, y) in locations {
                    if let (Some(v), Some(w)) = (name(from, x), name(to, y))
                        && !self.value(c, v, d, w)
                    {
                        return false;
                    }
                }
            }
            if before == (self.state.locations.len(), self.state.values.len()) {
                return true;
            }
        }
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

    /// The automorphism. What is not mentioned is mapped to itself where it can be, and in any case to
    /// something that is not mentioned either: places that control never comes to, values that a class never has.
    fn finish(&self, i: Tid, j: Tid) -> Automorphism {
        let mut alpha = Automorphism::identity(self.program, self.types);
        alpha.threads.clone_from(&self.thread);
        alpha.keeps_initial = self.keeps_initial;
        for tid in self.program.tids().filter(|tid| *tid != j) {
            let t = tid.index();
            let thread = &self.program.threads[t];
            let pc = |p: u32| self.state.pcs.get(&(tid, Pc(p))).map(|q| q.0);
            let register = |a: u32| self.state.registers.get(&(tid, Reg(a))).map(|b| b.0);
            let pcs = bijection(thread.code.len(), pc);
            let registers = bijection(thread.registers.len(), register);
            if tid == i {
                for (p, q) in pcs.iter().enumerate() {
                    alpha.pcs[j.index()][*q as usize] = Pc::from(p);
                }
                for (a, b) in registers.iter().enumerate() {
                    alpha.registers[j.index()][*b as usize] = Reg::from(a);
                }
            }
            alpha.pcs[t] = pcs.into_iter().map(Pc).collect();
            alpha.registers[t] = registers.into_iter().map(Reg).collect();
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
        // Between two classes, values of the one become values of the other, so what they become in the first is open.
        for (&c, &d) in self.state.classes.iter().filter(|(c, d)| c < d) {
            let Some(map) = alpha.renamed.get_mut(&c) else { continue };
            let mut gone: Vec<Value> =
                map.keys().filter(|v| !map.values().any(|w| w == *v)).copied().collect();
            let mut come: Vec<Value> =
                map.values().filter(|w| !map.contains_key(w)).copied().collect();
            gone.sort_unstable();
            come.sort_unstable();
            map.extend(come.into_iter().zip(gone));
            let back = map.iter().map(|(v, w)| (*w, *v)).collect();
            alpha.renamed.insert(d, back);
        }
        alpha
    }
}

/// A bijection of the numbers below `n` that extends one of some of them; the others stay if they can.
fn bijection(n: usize, known: impl Fn(u32) -> Option<u32>) -> Vec<u32> {
    let all = 0..n as u32;
    let mut taken = vec![false; n];
    all.clone().filter_map(&known).for_each(|image| taken[image as usize] = true);
    let stays = |x: &u32| known(*x).is_none() && !taken[*x as usize];
    let kept: Vec<bool> = all.clone().map(|x| stays(&x)).collect();
    let mut free = all.clone().filter(|x| !taken[*x as usize] && !kept[*x as usize]);
    let image = |x: u32| match known(x) {
        Some(image) => image,
        None if kept[x as usize] => x,
        None => free.next().expect("as many are free as are open"),
    };
    all.map(image).collect()
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
