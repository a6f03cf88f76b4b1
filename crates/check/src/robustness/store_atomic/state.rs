//! States of the attack search, and how they are packed.
//!
//! A packed state has a common part (program counters, registers, memory) and a part that depends on
//! the phase: delayed values while the attacker delays, marks while helpers close the cycle. The two
//! share their bits. When the attacker pauses its registers no longer matter and are zeroed, so many
//! attacks end up in the same state and are finished together.

use super::attack_candidates::Candidates;
use ir::bits::{BitReader, BitWriter, above, overwrite, raised, width_for, width_of};
use ir::{Loc, Pc, Program, Reg, Tid, Value};
use memory::attack::{Attack, Mark, Phase};

/// A state, unpacked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Where each thread is; the length of its code if it is done.
    pub pcs: Vec<u32>,
    /// All registers, one thread after the other.
    pub regs: Vec<Value>,
    /// Memory and the attack.
    pub attack: Attack,
    /// The store delayed first, if the search tells attacks apart.
    pub start: Pc,
    /// The attacker's last access, if the search tells attacks apart.
    pub last: Pc,
}

impl State {
    /// Becomes a copy of `other` without allocating.
    pub fn copy_from(&mut self, other: &State) {
        self.pcs.copy_from_slice(&other.pcs);
        self.regs.copy_from_slice(&other.regs);
        self.attack.copy_from(&other.attack);
        self.start = other.start;
        self.last = other.last;
    }
}

/// Values `min..min + 2^width`.
#[derive(Clone, Copy, Debug)]
struct Field {
    min: Value,
    width: u32,
}

impl Field {
    fn new(bounds: Option<(Value, Value)>) -> Self {
        let (min, max) = bounds.unwrap_or((0, 0));
        let (min, max) = (min.min(0), max.max(0));
        Field { min, width: width_of(min, max) }
    }

    #[inline(always)]
    fn put(self, value: Value, out: &mut BitWriter<'_>) {
        out.push(above(value, self.min), self.width);
    }

    #[inline(always)]
    fn put_at(self, value: Value, words: &mut [u64], at: u32) {
        overwrite(words, at, above(value, self.min), self.width);
    }

    #[inline(always)]
    fn get(self, from: &mut BitReader<'_>) -> Value {
        raised(self.min, from.take(self.width))
    }
}

/// Where everything is in a packed state.
#[derive(Clone, Debug)]
pub struct Layout {
    tid_width: u32,
    loc_width: u32,
    pcs: Vec<u32>,
    regs: Vec<Field>,
    /// Where each thread's registers start.
    pub first_reg: Vec<usize>,
    memory: Vec<Field>,
    /// Locations that more than one thread touches: only they are delayed or marked.
    shared: Vec<usize>,
    threads: usize,
    blocks: bool,
    singular: bool,
    pc_width: u32,
    /// The bit where each thread's program counter, each register, each location starts; and the part that
    /// depends on the phase.
    pc_at: Vec<u32>,
    reg_at: Vec<u32>,
    memory_at: Vec<u32>,
    phase_at: u32,
    bytes: usize,
}

impl Layout {
    /// The layout for `program`. If `singular`, only the target's value is ever delayed; if `tell_apart`,
    /// states remember their attack.
    pub fn new(
        program: &Program,
        candidates: &Candidates,
        singular: bool,
        tell_apart: bool,
    ) -> Self {
        let domain = program.domain;
        let mut regs = Vec::new();
        let mut first_reg = Vec::new();
        let mut pcs = Vec::new();
        for (t, thread) in program.threads.iter().enumerate() {
            first_reg.push(regs.len());
            pcs.push(width_for(thread.code.len() as u64 + 1));
            for reg in 0..thread.registers.len() {
                let values = candidates.possible.register(t, Reg::from(reg));
                regs.push(Field::new(values.bounds(domain)));
            }
        }
        first_reg.push(regs.len());
        let memory: Vec<Field> = candidates
            .possible
            .locations
            .iter()
            .map(|values| Field::new(values.bounds(domain)))
            .collect();
        let shared: Vec<usize> = (0..memory.len()).filter(|&loc| candidates.shared[loc]).collect();
        let blocks = program.steps().any(|(_, _, step)| matches!(step.instr, ir::Instr::BusLock));
        let threads = program.threads.len();
        let mut layout = Layout {
            tid_width: width_for(threads as u64 + 1),
            loc_width: width_for(memory.len() as u64),
            pc_width: if tell_apart { pcs.iter().copied().max().unwrap_or(0) } else { 0 },
            pcs,
            regs,
            first_reg,
            memory,
            shared,
            threads,
            blocks,
            singular,
            pc_at: Vec::new(),
            reg_at: Vec::new(),
            memory_at: Vec::new(),
            phase_at: 0,
            bytes: 0,
        };
        let mut at = layout.header_bits();
        let mut start = |width: u32| {
            let start = at;
            at += width;
            start
        };
        layout.pc_at = layout.pcs.iter().map(|&width| start(width)).collect();
        layout.reg_at = layout.regs.iter().map(|field| start(field.width)).collect();
        layout.memory_at = layout.memory.iter().map(|field| start(field.width)).collect();
        layout.phase_at = at;
        layout.bytes = layout.bits().div_ceil(8) as usize;
        layout
    }

    fn header_bits(&self) -> u32 {
        2 + 2 * self.tid_width + self.loc_width + 2 * self.pc_width
    }

    fn bits(&self) -> u32 {
        let delayed = match self.singular {
            true => 1 + self.shared.iter().map(|&loc| self.memory[loc].width).max().unwrap_or(0),
            false => 1 + self.shared.iter().map(|&loc| 1 + self.memory[loc].width).sum::<u32>(),
        };
        let marks = 2 * self.shared.len() as u32 * if self.blocks { 2 } else { 1 };
        (self.phase_at + delayed.max(marks + self.threads as u32)).max(1)
    }

    /// How many bytes a packed state has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Packs `state` into `words`, whose first [`Layout::bytes`] bytes count.
    pub fn pack(&self, state: &State, words: &mut Vec<u64>) {
        let attack = &state.attack;
        let mut out = BitWriter::new(words);
        out.push(self.attack_bits(attack), self.header_bits() - 2 * self.pc_width);
        out.push(u64::from(state.start.0), self.pc_width);
        out.push(u64::from(state.last.0), self.pc_width);
        for (&pc, &width) in state.pcs.iter().zip(&self.pcs) {
            out.push(u64::from(pc), width);
        }
        for (&value, field) in state.regs.iter().zip(&self.regs) {
            field.put(value, &mut out);
        }
        for (&value, field) in attack.memory.iter().zip(&self.memory) {
            field.put(value, &mut out);
        }
        self.pack_phase(attack, &mut out);
        out.finish();
        words.resize(self.bytes.div_ceil(8), 0);
    }

    /// Packs `state`, which thread `tid` has come to from the state packed in `before` by a step that wrote
    /// at most this location. All other fields of the threads and of memory are what they were.
    pub fn pack_step(
        &self,
        before: &[u64],
        state: &State,
        tid: Tid,
        written: Option<Loc>,
        words: &mut Vec<u64>,
    ) {
        let attack = &state.attack;
        words.clear();
        words.extend_from_slice(&before[..self.bytes.div_ceil(8)]);
        let width = self.header_bits() - 2 * self.pc_width;
        overwrite(words, 0, self.attack_bits(attack), width);
        overwrite(words, width, u64::from(state.start.0), self.pc_width);
        overwrite(words, width + self.pc_width, u64::from(state.last.0), self.pc_width);
        let t = tid.index();
        overwrite(words, self.pc_at[t], u64::from(state.pcs[t]), self.pcs[t]);
        for reg in self.first_reg[t]..self.first_reg[t + 1] {
            self.regs[reg].put_at(state.regs[reg], words, self.reg_at[reg]);
        }
        if let Some(loc) = written.map(Loc::index) {
            self.memory[loc].put_at(attack.memory[loc], words, self.memory_at[loc]);
        }
        if attack.phase != Phase::Calm {
            let mut out = BitWriter::resume(words, self.phase_at);
            self.pack_phase(attack, &mut out);
            out.finish();
            words.resize(self.bytes.div_ceil(8), 0);
        }
        debug_assert_eq!(
            *words,
            {
                let mut whole = Vec::new();
                self.pack(state, &mut whole);
                whole
            },
            "a step changes its thread, one location and the attack"
        );
    }

    /// Who attacks whom, how far that has come, and who owns an uninterrupted block.
    #[inline(always)]
    fn attack_bits(&self, attack: &Attack) -> u64 {
        let owner = attack.owner.map_or(0, |tid| u64::from(tid.0) + 1);
        let target = u64::from(attack.target.0) << self.tid_width | u64::from(attack.attacker.0);
        (target << self.tid_width | owner) << 2 | attack.phase as u64
    }

    /// Packs what belongs to the phase.
    #[inline(always)]
    fn pack_phase(&self, attack: &Attack, out: &mut BitWriter<'_>) {
        match attack.phase {
            Phase::Calm => {}
            Phase::Delaying if self.singular => {
                out.push(u64::from(attack.fence_delayed), 1);
                let target = attack.target.index();
                let value = attack.delayed[target].unwrap_or(0);
                self.memory[target].put(value, out);
            }
            Phase::Delaying => {
                out.push(u64::from(attack.fence_delayed), 1);
                for &loc in &self.shared {
                    out.push(u64::from(attack.delayed[loc].is_some()), 1);
                    if let Some(value) = attack.delayed[loc] {
                        self.memory[loc].put(value, out);
                    }
                }
            }
            Phase::Closing => {
                out.push(attack.joined as u64, self.threads.min(64) as u32);
                if self.threads > 64 {
                    out.push((attack.joined >> 64) as u64, self.threads as u32 - 64);
                }
                for &loc in &self.shared {
                    out.push(attack.marks[loc] as u64, 2);
                    if self.blocks {
                        out.push(attack.noted[loc] as u64, 2);
                    }
                }
            }
        }
    }

    /// Unpacks into `state`.
    pub fn unpack(&self, bytes: &[u8], words: &mut Vec<u64>, state: &mut State) {
        words.clear();
        words.resize(bytes.len().div_ceil(8) + 1, 0);
        bytemuck::cast_slice_mut::<u64, u8>(words)[..bytes.len()].copy_from_slice(bytes);
        let mut from = BitReader::new(words);
        let attack = &mut state.attack;
        attack.calm_down();
        attack.phase = match from.take(2) {
            0 => Phase::Calm,
            1 => Phase::Delaying,
            _ => Phase::Closing,
        };
        let owner = from.take(self.tid_width) as u32;
        attack.owner = owner.checked_sub(1).map(Tid);
        attack.attacker = Tid(from.take(self.tid_width) as u32);
        attack.target = Loc(from.take(self.loc_width) as u32);
        state.start = Pc(from.take(self.pc_width) as u32);
        state.last = Pc(from.take(self.pc_width) as u32);
        for (pc, &width) in state.pcs.iter_mut().zip(&self.pcs) {
            *pc = from.take(width) as u32;
        }
        for (value, field) in state.regs.iter_mut().zip(&self.regs) {
            *value = field.get(&mut from);
        }
        for (value, field) in attack.memory.iter_mut().zip(&self.memory) {
            *value = field.get(&mut from);
        }
        match attack.phase {
            Phase::Calm => {}
            Phase::Delaying if self.singular => {
                attack.fence_delayed = from.take(1) == 1;
                let target = attack.target.index();
                attack.delayed[target] = Some(self.memory[target].get(&mut from));
            }
            Phase::Delaying => {
                attack.fence_delayed = from.take(1) == 1;
                for &loc in &self.shared {
                    if from.take(1) == 1 {
                        attack.delayed[loc] = Some(self.memory[loc].get(&mut from));
                    }
                }
            }
            Phase::Closing => {
                attack.joined = from.take(self.threads.min(64) as u32).into();
                if self.threads > 64 {
                    attack.joined |= u128::from(from.take(self.threads as u32 - 64)) << 64;
                }
                for &loc in &self.shared {
                    attack.marks[loc] = Mark::from_bits(from.take(2));
                    if self.blocks {
                        attack.noted[loc] = Mark::from_bits(from.take(2));
                    }
                }
            }
        }
    }
}
