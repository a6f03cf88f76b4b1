//! Packing a state into bytes: program counters, registers, the memory, and last the monitors.

use super::{Product, World};
use model::bits::{BitReader, BitWriter};
use model::memory::Memory;
use model::{Pc, Tid, Value};

/// How wide the packed fields are.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub pcs: Vec<u32>,
    /// Smallest value and width per register, one thread after the other.
    pub regs: Vec<(Value, u32)>,
    pub bus: u32,
    /// Bits of all but the monitors, filled up to whole bytes.
    pub core_padding: u32,
    pub core_bytes: usize,
    pub bytes: usize,
}

impl<M: Memory> Product<'_, M> {
    /// Packs `world`.
    #[inline]
    pub(super) fn pack(&self, world: &World<M::State>, words: &mut Vec<u64>) {
        let mut out = BitWriter::new(words);
        for (pc, width) in world.pcs.iter().zip(&self.layout.pcs) {
            out.push(u64::from(pc.0), *width);
        }
        for (value, (min, width)) in world.regs.iter().zip(&self.layout.regs) {
            out.push((value - min) as u64, *width);
        }
        if self.uses_bus {
            out.push(world.bus.map_or(0, |tid| u64::from(tid.0) + 1), self.layout.bus);
        }
        self.memory.pack(&world.memory, &mut out);
        out.push(0, self.layout.core_padding);
        self.memory.pack_monitors(&world.memory, &mut out);
        out.finish();
        words.resize(self.layout.bytes.div_ceil(8), 0);
    }

    /// Unpacks a state.
    #[inline]
    pub(super) fn unpack(&self, state: &[u8], words: &mut Vec<u64>, world: &mut World<M::State>) {
        words.clear();
        words.resize(self.layout.bytes.div_ceil(8), 0);
        bytemuck::cast_slice_mut(words)[..state.len()].copy_from_slice(state);
        let mut from = BitReader::new(words);
        for (pc, width) in world.pcs.iter_mut().zip(&self.layout.pcs) {
            *pc = Pc(from.take(*width) as u32);
        }
        for (value, (min, width)) in world.regs.iter_mut().zip(&self.layout.regs) {
            *value = min + from.take(*width) as Value;
        }
        if self.uses_bus {
            world.bus = from.take(self.layout.bus).checked_sub(1).map(|t| Tid(t as u32));
        }
        self.memory.unpack(&mut world.memory, &mut from);
        from.take(self.layout.core_padding);
        self.memory.unpack_monitors(&mut world.memory, &mut from);
    }
}
