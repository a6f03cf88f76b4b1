//! Which values only count.
//!
//! The ends of a queue, tickets and epochs are numbers that a program moves up and down by constants
//! and compares with each other, never with a constant. Add 5 to all of them, in memory and in
//! registers, and the program behaves as before. The one exception is a guard such as
//! `assume(b < 200)`, which keeps the numbers finite: with smaller numbers more is possible, never
//! less. So for such a class of *counters* a state stands for all states in which its numbers are
//! larger by the same amount, and a search needs only the one where they are as small as they were
//! at first.
//!
//! Often one of the locations is a *clock*: it only grows, and what others hold was the clock's value
//! at some time. How far they are behind it usually does not matter once they are behind. A search
//! may then take all that is far behind for equally far behind, as long as nothing it does depends
//! on the difference ([`Counters::clock`]).
//!
//! Locations may also hold constants, such as 0 for "no epoch", and be compared with them, if all
//! are smaller than what the clock starts with.
//!
//! All that breaks where numbers wrap around. They do not at the upper end if [`super::bounds`] finds
//! an upper bound within the domain for every sum; a search has to watch for the lower end itself,
//! because there the representative is the first to wrap. Where leaving the domain is a run-time error, which ends a run,
//! nothing counts as a counter: an error that only a representative has would end runs that go on in the program.

use super::bounds;
use super::liveness::live_registers;
use super::loop_counter::{self, LoopCounter};
use super::opaque_values::Types;
use super::symmetry::Automorphism;
use super::values::{PossibleValues, Values};
use ir::expr::{Binary, Edge, Expr, Op};
use ir::ids::{Loc, Pc, Reg, RegSet, Tid, Value};
use ir::program::{Instr, Place, Program, Step};
use ir::update::UpdateOp;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Larger domains are not worth the analysis, which climbs them step by step.
const LARGEST_DOMAIN: u128 = 4096;

/// A class of counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters {
    /// The locations.
    pub locations: Vec<Loc>,
    /// Per thread and program counter, the live registers.
    pub registers: Vec<Vec<RegSet>>,
    /// The constants that locations may hold instead, ascending; all are smaller than `base`.
    pub constants: Vec<Value>,
    /// The smallest initial value of the locations that is not such a constant.
    pub base: Value,
    /// A location whose value, as far as can be seen, only grows; a search has to watch it.
    pub clock: Option<Loc>,
    /// The locations whose value only ever grows. Who waits for a smaller one waits forever.
    pub climbing: Vec<Loc>,
    /// What a search does about numbers far behind the clock, if anything.
    pub window: Option<Window>,
}

/// A search takes all numbers that are at least so far behind the clock for equally far behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The clock.
    pub clock: Loc,
    /// How far behind it.
    pub behind: Value,
    /// How far ahead of it numbers may be, if monitors tell them apart.
    pub ahead: Option<Value>,
}

/// What makes the counters of a class small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lowering {
    /// What is smaller becomes this first.
    pub floor: Value,
    /// All become smaller by this.
    pub by: Value,
}

/// The counters of a program.
#[derive(Clone, Default, Debug)]
pub struct Found {
    /// The classes.
    pub classes: Vec<Counters>,
    /// The loop_counters without which they would have no bounds.
    pub loop_counters: Vec<LoopCounter>,
}

/// The counters of `program`, whose values `possible` knows.
pub fn find(program: &Program, possible: &PossibleValues) -> Found {
    let domain = program.domain;
    if domain.min != 0 || domain.size() > LARGEST_DOMAIN || domain.edge == Edge::Fault {
        return Found::default();
    }
    let mut typing = Typing::new(program);
    for (tid, pc, step) in program.steps() {
        typing.constrain(tid, pc, step);
    }
    let classes = typing.classes();
    if classes.is_empty() || bounds::hold(program, &[]) {
        return Found { classes, loop_counters: Vec::new() };
    }
    let loop_counters = loop_counter::find(program, possible);
    match !loop_counters.is_empty() && bounds::hold(program, &loop_counters) {
        true => Found { classes, loop_counters },
        false => Found::default(),
    }
}

impl Counters {
    /// Is the value one of the constants that locations may hold?
    #[inline(always)]
    pub fn is_constant(&self, value: Value) -> bool {
        value < self.base && !self.constants.is_empty()
    }

    /// What becomes of a value.
    #[inline(always)]
    pub fn lowered(&self, value: Value, lowering: Lowering) -> Value {
        match self.is_constant(value) {
            true => value,
            false => value.max(lowering.floor) - lowering.by,
        }
    }

    /// What a search makes of the counters, if a window keeps them few.
    pub fn range(&self) -> Option<RangeInclusive<Value>> {
        let Window { behind, ahead, .. } = self.window?;
        Some(self.base..=self.base + behind + ahead?)
    }

    /// Does making the counters of all `classes` small commute with `alpha`? It does if the image of
    /// each class is a class for which all is the image of what it is for this one, and if `alpha`
    /// renames no counters.
    pub fn fixed_by(classes: &[Counters], alpha: &Automorphism, types: &Types) -> bool {
        let image = |loc: Loc| alpha.locations[loc.index()];
        let images = |locations: &[Loc]| {
            let mut images: Vec<Loc> = locations.iter().copied().map(image).collect();
            images.sort_unstable();
            images
        };
        let registers = |registers: &[Vec<RegSet>]| {
            let mut images = registers.to_vec();
            for (t, sets) in registers.iter().enumerate() {
                for (pc, set) in sets.iter().enumerate() {
                    let renamed = set.iter().map(|reg| alpha.registers[t][reg.index()]);
                    images[alpha.threads[t].index()][alpha.pcs[t][pc].index()] = renamed.collect();
                }
            }
            images
        };
        classes.iter().all(|class| {
            let image = Counters {
                locations: images(&class.locations),
                registers: registers(&class.registers),
                clock: class.clock.map(image),
                climbing: images(&class.climbing),
                window: class.window.map(|window| Window { clock: image(window.clock), ..window }),
                ..class.clone()
            };
            let renames_location = |loc: &Loc| alpha.renames(types.location(*loc));
            let renames_register = |(t, pc, set): (usize, usize, &RegSet)| {
                let class = |reg| types.register(Tid::from(t), Pc::from(pc), reg);
                set.iter().any(|reg| alpha.renames(class(reg)))
            };
            let mut sets =
                class.registers.iter().enumerate().flat_map(|(t, sets)| {
                    sets.iter().enumerate().map(move |(pc, set)| (t, pc, set))
                });
            classes.contains(&image)
                && !class.locations.iter().any(renames_location)
                && !sets.any(renames_register)
        })
    }

    /// The values that members hold in a search.
    pub fn members(&self) -> Values {
        match self.range() {
            Some(range) => Values::of_members(self.constants.iter().copied().chain(range)),
            None => Values::Any,
        }
    }
}

/// What an expression amounts to.
#[derive(Clone, Copy)]
enum Kind {
    Constant(Value),
    /// A value of this class, or one that differs from such a value by a constant.
    Class(usize),
    /// A number that has nothing to do with counters.
    Number,
}

/// Union-find over locations and registers.
struct Typing<'p> {
    program: &'p Program,
    parent: Vec<usize>,
    /// Not a class of counters.
    fixed: Vec<bool>,
    /// The constants that members of the class are set to or compared with.
    constants: Vec<Vec<Value>>,
    /// Per thread, the class of its first register at its first instruction.
    first: Vec<usize>,
    live: Vec<Vec<RegSet>>,
}

impl<'p> Typing<'p> {
    fn new(program: &'p Program) -> Self {
        let mut first = Vec::new();
        let mut nodes = program.locations.len();
        for thread in &program.threads {
            first.push(nodes);
            nodes += thread.code.len() * thread.registers.len();
        }
        let live: Vec<_> = program.threads.iter().map(live_registers).collect();
        let mut typing = Typing {
            program,
            parent: (0..nodes).collect(),
            fixed: vec![false; nodes],
            constants: vec![Vec::new(); nodes],
            first,
            live,
        };
        for (tid, pc, step) in program.steps() {
            let output = step.instr.output();
            for next in step.successors() {
                let live = typing.live[tid.index()][next.index()];
                for reg in live.iter().filter(|reg| Some(*reg) != output) {
                    typing.unify(typing.register(tid, pc, reg), typing.register(tid, next, reg));
                }
            }
        }
        for tid in program.tids() {
            // A register that is read before it is written holds the constant 0.
            let entry = program.threads[tid.index()].entry;
            for reg in typing.live[tid.index()][entry.index()].iter() {
                typing.fix(typing.register(tid, entry, reg));
            }
        }
        typing
    }

    fn register(&self, tid: Tid, pc: Pc, reg: Reg) -> usize {
        let registers = self.program.threads[tid.index()].registers.len();
        self.first[tid.index()] + pc.index() * registers + reg.index()
    }

    fn find(&self, mut class: usize) -> usize {
        while self.parent[class] != class {
            class = self.parent[class];
        }
        class
    }

    fn unify(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.fixed[a] |= self.fixed[b];
            let constants = std::mem::take(&mut self.constants[b]);
            self.constants[a].extend(constants);
            self.parent[b] = a;
        }
    }

    /// The class may hold a constant.
    fn hold(&mut self, class: usize, value: Value) {
        let root = self.find(class);
        self.constants[root].push(value);
    }

    fn fix(&mut self, class: usize) {
        let root = self.find(class);
        self.fixed[root] = true;
    }

    fn kind(&mut self, tid: Tid, pc: Pc, expr: &Expr) -> Kind {
        let mut stack: Vec<Kind> = Vec::new();
        for op in expr.clone().into_postfix() {
            let kind = match op {
                Op::Const(value) => Kind::Constant(value),
                Op::Reg(reg) => Kind::Class(self.register(tid, pc, reg)),
                Op::Unary(_) => {
                    let operand = stack.pop().expect("code of one expression");
                    self.is_number(operand);
                    Kind::Number
                }
                Op::Binary(op) => {
                    let b = stack.pop().expect("code of one expression");
                    let a = stack.pop().expect("code of one expression");
                    self.binary(op, a, b)
                }
            };
            stack.push(kind);
        }
        stack.pop().expect("code of one expression")
    }

    fn binary(&mut self, op: Binary, a: Kind, b: Kind) -> Kind {
        match (op, a, b) {
            (Binary::Add | Binary::Sub, Kind::Class(class), Kind::Constant(_))
            | (Binary::Add, Kind::Constant(_), Kind::Class(class)) => Kind::Class(class),
            (
                Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge,
                Kind::Class(a),
                Kind::Class(b),
            ) => {
                self.unify(a, b);
                Kind::Number
            }
            _ => {
                self.is_number(a);
                self.is_number(b);
                Kind::Number
            }
        }
    }

    /// Something other than counting is done with it.
    fn is_number(&mut self, kind: Kind) {
        if let Kind::Class(class) = kind {
            self.fix(class);
        }
    }

    /// The class gets the value of an expression.
    fn assign(&mut self, class: usize, kind: Kind) {
        match kind {
            Kind::Class(other) => self.unify(class, other),
            Kind::Constant(value) => self.hold(class, value),
            Kind::Number => self.fix(class),
        }
    }

    fn place(&mut self, tid: Tid, pc: Pc, place: &Place) -> usize {
        if let Some(index) = &place.index {
            let index = self.kind(tid, pc, index);
            self.is_number(index);
        }
        let locations: Vec<_> = place.locations().collect();
        for loc in &locations {
            self.unify(locations[0].index(), loc.index());
        }
        locations.first().map_or(place.base.index(), |loc| loc.index())
    }

    fn constrain(&mut self, tid: Tid, pc: Pc, step: &Step) {
        let output = step.instr.output().filter(|reg| {
            let live = self.live[tid.index()][step.next.index()];
            live.contains(*reg)
        });
        let output = output.map(|reg| self.register(tid, step.next, reg));
        let place = step.instr.place().map(|place| self.place(tid, pc, place));
        match &step.instr {
            Instr::Assign { value, .. } => {
                let kind = self.kind(tid, pc, value);
                if let Some(output) = output {
                    self.assign(output, kind);
                }
                return;
            }
            Instr::Assume(cond) if is_upper_guard(cond) => {}
            Instr::Jump { cond: value, .. }
            | Instr::Assert(value)
            | Instr::Assume(value)
            | Instr::Switch { value, .. } => {
                let kind = self.kind(tid, pc, value);
                self.is_number(kind);
            }
            Instr::LightFence(places) => {
                for index in places.iter().filter_map(|place| place.index.as_ref()) {
                    let kind = self.kind(tid, pc, index);
                    self.is_number(kind);
                }
            }
            Instr::Mark(mark) => {
                for value in mark.expressions() {
                    let kind = self.kind(tid, pc, value);
                    self.is_number(kind);
                }
            }
            _ => {}
        }
        let Some(class) = place else { return };
        match &step.instr {
            Instr::Store { value, .. } => {
                let kind = self.kind(tid, pc, value);
                self.assign(class, kind);
            }
            Instr::Rmw { update, .. } => {
                let kind = self.kind(tid, pc, &update.operand);
                match (update.op, kind) {
                    (UpdateOp::Set, kind) => self.assign(class, kind),
                    (UpdateOp::Add | UpdateOp::Sub, Kind::Constant(_)) => {}
                    (_, kind) => {
                        self.is_number(kind);
                        self.fix(class);
                    }
                }
            }
            Instr::Cas { desired, .. } | Instr::BlockingCas { desired, .. } => {
                let kind = self.kind(tid, pc, desired);
                self.assign(class, kind);
            }
            _ => {}
        }
        for compared in step.instr.compared() {
            let kind = self.kind(tid, pc, compared);
            self.assign(class, kind);
        }
        if let Some(output) = output {
            self.unify(class, output);
        }
    }

    fn classes(&self) -> Vec<Counters> {
        let program = self.program;
        let mut written = vec![false; program.locations.len()];
        for (_, _, step) in program.steps().filter(|(_, _, step)| step.instr.may_write()) {
            for loc in step.instr.place().into_iter().flat_map(Place::locations) {
                written[loc.index()] = true;
            }
        }
        let mut members: BTreeMap<usize, Vec<Loc>> = BTreeMap::new();
        for loc in (0..program.locations.len()).map(Loc::from) {
            members.entry(self.find(loc.index())).or_default().push(loc);
        }
        // What is never written needs no shifting.
        members.retain(|root, locations| {
            !self.fixed[*root] && locations.iter().any(|loc| written[loc.index()])
        });
        let class = |(root, locations): (usize, Vec<Loc>)| {
            let mut constants = self.constants[root].clone();
            let largest = constants.iter().copied().max();
            let initial = |loc: &Loc| program.locations[loc.index()].initial;
            let counts = |loc: &&Loc| largest.is_none_or(|largest| initial(loc) > largest);
            let base = locations.iter().filter(counts).map(initial).min()?;
            constants.extend(locations.iter().map(initial).filter(|value| *value < base));
            constants.sort_unstable();
            constants.dedup();
            let registers = program.tids().map(|tid| {
                let live = self.live[tid.index()].iter().enumerate();
                live.map(|(pc, live)| {
                    let is_member =
                        |reg: &Reg| self.find(self.register(tid, Pc::from(pc), *reg)) == root;
                    live.iter().filter(is_member).collect()
                })
                .collect()
            });
            let climbing: Vec<Loc> =
                locations.iter().copied().filter(|loc| climbs(program, *loc)).collect();
            let mut counting = locations.iter().filter(counts);
            let clock = climbing.first().or(counting.find(|loc| rises(program, **loc)));
            Some(Counters {
                registers: registers.collect(),
                clock: clock.copied(),
                window: None,
                climbing,
                locations,
                constants,
                base,
            })
        };
        members.into_iter().filter_map(class).collect()
    }
}

/// The instructions that may write to `loc`.
fn writes(program: &Program, loc: Loc) -> impl Iterator<Item = &Instr> {
    program.steps().map(|(_, _, step)| &step.instr).filter(move |instr| {
        instr.may_write() && instr.place().is_some_and(|place| place.locations().any(|x| x == loc))
    })
}

/// Does every write make the value at `loc` larger, as long as nothing wraps around?
fn climbs(program: &Program, loc: Loc) -> bool {
    writes(program, loc).all(|instr| match instr {
        Instr::Rmw { update, .. } => update.added().is_some_and(|amount| amount > 0),
        Instr::Cas { expected: Expr::Reg(expected), desired: Expr::Code(desired), .. }
        | Instr::BlockingCas {
            expected: Expr::Reg(expected), desired: Expr::Code(desired), ..
        } => {
            matches!(**desired, [Op::Reg(reg), Op::Const(amount), Op::Binary(Binary::Add)]
                if reg == *expected && amount > 0)
        }
        _ => false,
    })
}

/// Is nothing written to `loc` that is a constant, or smaller than a register?
fn rises(program: &Program, loc: Loc) -> bool {
    let goes_down = |expr: &Expr| match expr {
        Expr::Const(_) => true,
        Expr::Reg(_) => false,
        Expr::Code(code) => code.contains(&Op::Binary(Binary::Sub)),
    };
    writes(program, loc).all(|instr| match instr {
        Instr::Store { value, .. } => !goes_down(value),
        Instr::Rmw { update, .. } => match update.op {
            UpdateOp::Set => !goes_down(&update.operand),
            op => op == UpdateOp::Add,
        },
        Instr::Cas { desired, .. } | Instr::BlockingCas { desired, .. } => !goes_down(desired),
        _ => false,
    })
}

/// Is it `r < c` or `r <= c`?
pub fn is_upper_guard(cond: &Expr) -> bool {
    let Expr::Code(code) = cond else { return false };
    matches!(**code, [Op::Reg(_), Op::Const(_), Op::Binary(Binary::Lt | Binary::Le)])
}
