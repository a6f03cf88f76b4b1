//! Random small programs for property tests and benchmarks.
//!
//! [`program`] is a function of its seed: print the seed of a failing test and the program comes
//! back. Programs are in canonical form ([`crate::canonical`]), every thread can reach its halt, no
//! array index is out of range and nothing divides by zero. Arithmetic may wrap.

mod automaton;
mod sc;

pub use automaton::without_registers;
pub use sc::{Strengthen, with_sc_events, with_sc_orders};

use crate::canonical;
use crate::expr::{Binary, Domain, Expr, Unary};
use crate::ids::{Loc, Origin, Pc, Reg, Value};
use crate::mode::{FenceMode, ReadMode, WriteMode};
use crate::program::{Instr, Location, LocationKind, Place, Program, Step, Thread};
use crate::update::{Update, UpdateOp};
use std::ops::RangeInclusive;

/// How large programs are and what they consist of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// How many threads.
    pub threads: RangeInclusive<usize>,
    /// How many instructions per thread, the halt not counted.
    pub instructions: RangeInclusive<usize>,
    /// How many atomic locations that are no array; at least one is made.
    pub locations: usize,
    /// How many non-atomic locations, if [`Allow::na`].
    pub non_atomic: usize,
    /// The length of the one atomic array, if [`Allow::arrays`].
    pub array: u32,
    /// How many registers per thread, 1 to 64.
    pub registers: usize,
    /// The largest value.
    pub max_value: Value,
    /// What else there is beside loads and stores.
    pub allow: Allow,
}

/// The kinds of instruction a random program may have beside atomic loads and stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Allow {
    /// Assignments of expressions to registers.
    pub assignments: bool,
    /// Non-atomic locations and their accesses.
    pub na: bool,
    /// Acquire and release fences.
    pub fences: bool,
    /// SC fences, and `upd` fences.
    pub sc_fences: bool,
    /// Lightweight fences (PGAS).
    pub light_fences: bool,
    /// Accesses of mode `sc`.
    pub sc_accesses: bool,
    /// `FADD`.
    pub fadd: bool,
    /// `exchange`.
    pub exchange: bool,
    /// `fetch_and`, `fetch_or`, `fetch_xor`, `fetch_nand`, `fetch_max`, `fetch_min`.
    pub fetch: bool,
    /// `CAS`.
    pub cas: bool,
    /// `BCAS`.
    pub bcas: bool,
    /// `wait`.
    pub wait: bool,
    /// Conditional jumps, forwards.
    pub branches: bool,
    /// Nondeterministic jumps, forwards.
    pub choices: bool,
    /// Conditional jumps backwards.
    pub loops: bool,
    /// An array with computed indices.
    pub arrays: bool,
    /// Assertions and assumptions.
    pub asserts: bool,
    /// CAS, BCAS and wait that compare with what was loaded from the location.
    pub loaded: bool,
}

impl Allow {
    /// Loads and stores only.
    pub const NOTHING: Allow = Allow {
        assignments: false,
        na: false,
        fences: false,
        sc_fences: false,
        light_fences: false,
        sc_accesses: false,
        fadd: false,
        exchange: false,
        fetch: false,
        cas: false,
        bcas: false,
        wait: false,
        branches: false,
        choices: false,
        loops: false,
        arrays: false,
        asserts: false,
        loaded: false,
    };

    /// Everything, loops included.
    pub const EVERYTHING: Allow = Allow {
        assignments: true,
        na: true,
        fences: true,
        sc_fences: true,
        light_fences: true,
        sc_accesses: true,
        fadd: true,
        exchange: true,
        fetch: true,
        cas: true,
        bcas: true,
        wait: true,
        branches: true,
        choices: true,
        loops: true,
        arrays: true,
        asserts: true,
        loaded: true,
    };

    /// What RC20 has, without loops.
    pub const RC20: Allow =
        Allow { light_fences: false, sc_accesses: false, loops: false, ..Allow::EVERYTHING };
}

impl Default for Config {
    /// Loop-free RC20 programs of two or three threads with a handful of accesses each.
    fn default() -> Self {
        Config {
            threads: 2..=3,
            instructions: 2..=5,
            locations: 2,
            non_atomic: 1,
            array: 2,
            registers: 2,
            max_value: 2,
            allow: Allow::RC20,
        }
    }
}

/// The program that `seed` stands for.
pub fn program(seed: u64, config: &Config) -> Program {
    let mut random = Generator { state: seed };
    let domain = Domain::modulo(config.max_value.max(1));
    let layout = Layout::new(config);
    let threads = random.within(&config.threads).max(1);
    let threads = (0..threads)
        .map(|number| {
            let thread = Builder { random: &mut random, config, layout: &layout, loaded: None }
                .thread(number);
            canonical::thread(&thread, domain)
        })
        .collect();
    Program::new(domain, layout.locations, threads)
}

/// SplitMix64: small, fast, and every seed gives a different stream.
#[derive(Clone, Debug)]
pub struct Generator {
    /// The state; any value will do to start with.
    pub state: u64,
}

impl Generator {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.bits() % bound as u64) as usize }
    }

    /// A number in `range`; its start if it is empty.
    pub fn within(&mut self, range: &RangeInclusive<usize>) -> usize {
        let span = (range.end() + 1).saturating_sub(*range.start());
        range.start() + self.below(span)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of the items.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

struct Layout {
    locations: Vec<Location>,
    atomic: Vec<Place>,
    non_atomic: Vec<Place>,
    array: Option<(Loc, u32)>,
}

impl Layout {
    fn new(config: &Config) -> Self {
        let mut layout =
            Layout { locations: vec![], atomic: vec![], non_atomic: vec![], array: None };
        for k in 0..config.locations.max(1) {
            let name = match k {
                0..3 => ["x", "y", "z"][k].to_string(),
                _ => format!("x{k}"),
            };
            let place = layout.declare(name, None, LocationKind::Atomic);
            layout.atomic.push(place);
        }
        if config.allow.arrays && config.array > 0 {
            let first = Loc::from(layout.locations.len());
            for k in 0..config.array {
                layout.declare("a".into(), Some(k), LocationKind::Atomic);
            }
            layout.array = Some((first, config.array));
        }
        if config.allow.na {
            for k in 0..config.non_atomic {
                let place = layout.declare(format!("n{k}"), None, LocationKind::NonAtomic);
                layout.non_atomic.push(place);
            }
        }
        layout
    }

    fn declare(&mut self, name: String, element: Option<u32>, kind: LocationKind) -> Place {
        let loc = Loc::from(self.locations.len());
        self.locations.push(Location { name, element, initial: 0, kind });
        Place::location(loc)
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Load,
    Store,
    Assign,
    NaLoad,
    NaStore,
    Fence,
    ScFence,
    LightFence,
    Fadd,
    Exchange,
    Fetch,
    Cas,
    Bcas,
    Wait,
    Branch,
    Choice,
    Loop,
    Assert,
}

struct Builder<'a> {
    random: &'a mut Generator,
    config: &'a Config,
    layout: &'a Layout,
    /// The last load, if it was atomic.
    loaded: Option<(Reg, Place)>,
}

impl Builder<'_> {
    fn thread(&mut self, number: usize) -> Thread {
        let len = self.random.within(&self.config.instructions);
        let kinds = self.kinds();
        let mut code: Vec<Step> = (0..len)
            .map(|pc| {
                let kind = self.random.pick(&kinds);
                Step { instr: self.instr(kind, pc, len), next: Pc::from(pc + 1), origin: Origin(0) }
            })
            .collect();
        code.push(Step { instr: Instr::Halt, next: Pc::from(len), origin: Origin(0) });
        Thread {
            name: format!("t{number}"),
            replica: None,
            registers: (0..self.registers()).map(|k| format!("r{k}")).collect(),
            code,
            entry: Pc(0),
        }
    }

    fn registers(&self) -> usize {
        self.config.registers.clamp(1, crate::RegSet::CAPACITY)
    }

    /// The kinds allowed, each as often as it should be picked.
    fn kinds(&self) -> Vec<Kind> {
        let allow = &self.config.allow;
        let na = allow.na && !self.layout.non_atomic.is_empty();
        let weights = [
            (true, 4, Kind::Load),
            (true, 4, Kind::Store),
            (allow.assignments, 1, Kind::Assign),
            (na, 1, Kind::NaLoad),
            (na, 1, Kind::NaStore),
            (allow.fences, 1, Kind::Fence),
            (allow.sc_fences, 1, Kind::ScFence),
            (allow.light_fences, 1, Kind::LightFence),
            (allow.fadd, 1, Kind::Fadd),
            (allow.exchange, 1, Kind::Exchange),
            (allow.fetch, 1, Kind::Fetch),
            (allow.cas, 1, Kind::Cas),
            (allow.bcas, 1, Kind::Bcas),
            (allow.wait, 1, Kind::Wait),
            (allow.branches, 1, Kind::Branch),
            (allow.choices, 1, Kind::Choice),
            (allow.loops, 1, Kind::Loop),
            (allow.asserts, 1, Kind::Assert),
        ];
        weights
            .into_iter()
            .filter(|(allowed, ..)| *allowed)
            .flat_map(|(_, weight, kind)| std::iter::repeat_n(kind, weight))
            .collect()
    }

    fn instr(&mut self, kind: Kind, pc: usize, len: usize) -> Instr {
        match kind {
            Kind::Load => {
                let (dst, place) = (self.reg(), self.place());
                self.loaded = Some((dst, place.clone()));
                Instr::Load { dst, place, mode: self.read_mode() }
            }
            Kind::Store => {
                Instr::Store { place: self.place(), value: self.value(), mode: self.write_mode() }
            }
            Kind::Assign => Instr::Assign { dst: self.reg(), value: self.computed() },
            Kind::NaLoad => {
                Instr::Load { dst: self.reg(), place: self.na_place(), mode: ReadMode::Na }
            }
            Kind::NaStore => {
                Instr::Store { place: self.na_place(), value: self.value(), mode: WriteMode::Na }
            }
            Kind::Fence => {
                Instr::Fence(self.random.pick(&[FenceMode::Acq, FenceMode::Rel, FenceMode::AcqRel]))
            }
            Kind::ScFence => {
                Instr::Fence(self.random.pick(&[FenceMode::Sc, FenceMode::Sc, FenceMode::Upd]))
            }
            Kind::LightFence => {
                let count = 1 + self.random.below(2);
                Instr::LightFence((0..count).map(|_| self.place()).collect())
            }
            Kind::Fadd => {
                let amount = self.value();
                let op = if self.random.one_in(4) { UpdateOp::Sub } else { UpdateOp::Add };
                self.rmw(Update::new(op, amount))
            }
            Kind::Exchange => {
                let value = self.value();
                self.rmw(Update::new(UpdateOp::Set, value))
            }
            Kind::Fetch => {
                let op = self.random.pick(&[
                    UpdateOp::And,
                    UpdateOp::Or,
                    UpdateOp::Xor,
                    UpdateOp::Nand,
                    UpdateOp::Max,
                    UpdateOp::Min,
                ]);
                let operand = self.value();
                self.rmw(Update::new(op, operand))
            }
            Kind::Cas => {
                let read = self.read_mode();
                let fail = if self.random.one_in(3) { self.read_mode() } else { read };
                let (place, expected) = self.compared();
                Instr::Cas {
                    dst: self.kept(),
                    place,
                    expected,
                    desired: self.value(),
                    read,
                    write: self.write_mode(),
                    fail,
                }
            }
            Kind::Bcas => {
                let (place, expected) = self.compared();
                Instr::BlockingCas {
                    place,
                    expected,
                    desired: self.value(),
                    read: self.read_mode(),
                    write: self.write_mode(),
                }
            }
            Kind::Wait => {
                let (place, expected) = self.compared();
                let more = self.random.below(2);
                let values = (0..more).map(|_| self.value()).chain([expected]).collect();
                Instr::Wait { dst: self.kept(), place, values, mode: self.read_mode() }
            }
            Kind::Branch => {
                let target = self.later(pc, len);
                Instr::Jump { cond: self.condition(), targets: vec![target] }
            }
            Kind::Choice => {
                let targets = vec![Pc::from(pc + 1), self.later(pc, len)];
                Instr::Jump { cond: Expr::Const(1), targets }
            }
            Kind::Loop => {
                let target = Pc::from(self.random.below(pc + 1));
                Instr::Jump { cond: self.condition(), targets: vec![target] }
            }
            Kind::Assert if self.random.one_in(3) => Instr::Assume(self.condition()),
            Kind::Assert => Instr::Assert(self.condition()),
        }
    }

    fn rmw(&mut self, update: Update) -> Instr {
        Instr::Rmw {
            dst: self.kept(),
            place: self.place(),
            update,
            read: self.read_mode(),
            write: self.write_mode(),
        }
    }

    fn later(&mut self, pc: usize, len: usize) -> Pc {
        Pc::from(pc + 1 + self.random.below(len - pc))
    }

    fn reg(&mut self) -> Reg {
        Reg::from(self.random.below(self.registers()))
    }

    fn kept(&mut self) -> Option<Reg> {
        if self.random.one_in(4) { None } else { Some(self.reg()) }
    }

    fn constant(&mut self) -> Expr {
        // Small constants meet each other more often.
        let top = self.config.max_value.clamp(1, 3) as usize;
        Expr::Const(self.random.below(top + 1) as Value)
    }

    fn value(&mut self) -> Expr {
        match self.random.below(6) {
            0 => Expr::Reg(self.reg()),
            1 => self.computed(),
            _ => self.constant(),
        }
    }

    fn computed(&mut self) -> Expr {
        let a = Expr::Reg(self.reg());
        match self.random.below(8) {
            0 => a,
            1 => Expr::unary(Unary::Not, a.clone()).unwrap_or(a),
            2 => Expr::unary(Unary::Neg, a.clone()).unwrap_or(a),
            3 => self.condition(),
            _ => {
                let op = self.random.pick(&[
                    Binary::Add,
                    Binary::Add,
                    Binary::Sub,
                    Binary::Mul,
                    Binary::BitAnd,
                    Binary::BitOr,
                    Binary::BitXor,
                ]);
                let b = self.operand();
                Expr::binary(op, a.clone(), b).unwrap_or(a)
            }
        }
    }

    fn operand(&mut self) -> Expr {
        if self.random.one_in(2) { Expr::Reg(self.reg()) } else { self.constant() }
    }

    fn condition(&mut self) -> Expr {
        let a = Expr::Reg(self.reg());
        let comparisons = [Binary::Eq, Binary::Ne, Binary::Lt, Binary::Le, Binary::Gt, Binary::Ge];
        let op = self.random.pick(&comparisons);
        let b = self.operand();
        let simple = Expr::binary(op, a.clone(), b).unwrap_or(a);
        if !self.random.one_in(4) {
            return simple;
        }
        let op = self.random.pick(&[Binary::And, Binary::Or]);
        let other = Expr::Reg(self.reg());
        Expr::binary(op, simple.clone(), other).unwrap_or(simple)
    }

    /// A place and a value to compare it with.
    fn compared(&mut self) -> (Place, Expr) {
        match self.loaded.clone() {
            Some((reg, place)) if self.config.allow.loaded && !self.random.one_in(3) => {
                (place, Expr::Reg(reg))
            }
            _ => (self.place(), self.value()),
        }
    }

    fn place(&mut self) -> Place {
        match self.layout.array {
            Some((base, len)) if self.random.one_in(3) => {
                Place { base, len, index: Some(self.index(len)) }
            }
            _ => self.layout.atomic[self.random.below(self.layout.atomic.len())].clone(),
        }
    }

    /// An index that is always in range.
    fn index(&mut self, len: u32) -> Expr {
        let max = self.config.max_value.max(1) as u32;
        let top = len.min(max + 1) as usize;
        if self.random.one_in(2) {
            return Expr::Const(self.random.below(top) as Value);
        }
        let reg = Expr::Reg(self.reg());
        if max < len {
            return reg;
        }
        Expr::binary(Binary::Rem, reg, Expr::Const(len as Value)).unwrap_or(Expr::Const(0))
    }

    fn na_place(&mut self) -> Place {
        self.layout.non_atomic[self.random.below(self.layout.non_atomic.len())].clone()
    }

    fn read_mode(&mut self) -> ReadMode {
        match self.random.below(5) {
            0 if self.config.allow.sc_accesses => ReadMode::Sc,
            0..3 => ReadMode::Rlx,
            _ => ReadMode::Acq,
        }
    }

    fn write_mode(&mut self) -> WriteMode {
        match self.random.below(5) {
            0 if self.config.allow.sc_accesses => WriteMode::Sc,
            0..3 => WriteMode::Rlx,
            _ => WriteMode::Rel,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_program() {
        let config = Config { allow: Allow::EVERYTHING, ..Config::default() };
        for seed in 0..500 {
            let one = program(seed, &config);
            assert_eq!(one, program(seed, &config));
            assert_eq!(one, canonical::program(&one));
            for thread in &one.threads {
                assert_eq!(thread.code.last().map(|step| &step.instr), Some(&Instr::Halt));
            }
        }
        assert_ne!(program(1, &config), program(2, &config));
    }

    /// Catches a generator that makes loops where a test asked for finite executions.
    #[test]
    fn without_loops_control_only_moves_on() {
        for seed in 0..500 {
            let one = program(seed, &Config::default());
            for (thread, pc) in
                one.threads.iter().flat_map(|t| (0..t.code.len()).map(move |k| (t, k)))
            {
                let mut seen = vec![false; thread.code.len()];
                let mut stack: Vec<Pc> = thread.code[pc].successors().collect();
                while let Some(at) = stack.pop() {
                    assert_ne!(at.index(), pc, "seed {seed}: a loop");
                    if !std::mem::replace(&mut seen[at.index()], true) {
                        stack.extend(thread.code[at.index()].successors());
                    }
                }
            }
        }
    }
}
