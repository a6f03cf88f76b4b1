//! Looking for an automorphism that exchanges two threads, by matching their code in lockstep.
//!
//! What is found here is a candidate: [`Automorphism::is_of`] decides.

use super::automorphism::{Automorphism, same_kind_of_place, same_shape, waits_for_constants};
use crate::opaque_values::{Class, Types, operands};
use ir::expr::Op;
use ir::ids::{Loc, Pc, Reg, Tid, Value};
use ir::program::{Instr, Place, Program};
use std::collections::{HashMap, HashSet};

/// Steps of backtracking before a match is given up.
const MAX_STEPS: u32 = 20_000;

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
        steps: 0,
        keeps_initial,
    };
    matcher.thread[i.index()] = j;
    matcher.thread[j.index()] = i;
    let others = program.tids().filter(|tid| *tid != i && *tid != j);
    let entry = |tid: Tid| program.threads[tid.index()].entry;
    let mut goals: Vec<_> = others.map(|tid| (tid, entry(tid), entry(tid))).collect();
    goals.push((i, a.entry, b.entry)); // looked at first, where most that differ do so at once
    (matcher.solve(goals) && matcher.tie_elements_to_values()).then(|| matcher.finish(i, j))
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
