//! Packing a state into bytes: threads, then the memory, last the monitors.
//!
//! Fields have as many bits as their values need. The part of the monitors comes last and starts at a byte, because states
//! with equal bytes before it are compared by their monitors (`search::Width::Monitored`). A step changes the fields of one
//! thread, so the other threads' bits are copied from the state before.

use super::{Product, World};
use ir::bits::{BitReader, BitWriter, above, fits, overwrite, raised};
use ir::{Pc, Tid, Value};
use memory::Monitor;

/// How wide the packed fields are.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub threads: Vec<ThreadLayout>,
    pub bus: u32,
    /// The bit at which all that is not a thread's own starts.
    pub shared_at: u32,
    /// Bits of all but the monitors, filled up to whole bytes.
    pub core_padding: u32,
    pub core_bytes: usize,
    pub bytes: usize,
}

/// The fields of one thread.
#[derive(Clone, Debug)]
pub(super) struct ThreadLayout {
    /// The bit at which they start.
    pub at: u32,
    pub pc: u32,
    /// Smallest value and width per register.
    pub regs: Vec<(Value, u32)>,
}

impl<M: Monitor> Product<M> {
    /// Does `world` fit the bits that it is packed in?
    pub(super) fn fits(&self, world: &World<M::State>) -> bool {
        let fit = |(value, (min, width)): (&Value, &(Value, u32))| fits(*value, *min, *width);
        let threads = self.program.tids().zip(&self.layout.threads);
        let mut fields =
            threads.map(|(tid, thread)| self.regs(world, tid).iter().zip(&thread.regs));
        fields.all(|mut own| own.all(fit)) && self.memory.fits(&world.memory)
    }

    /// Packs `world`.
    #[inline]
    pub(super) fn pack(&self, world: &World<M::State>, words: &mut Vec<u64>) {
        let mut out = BitWriter::new(words);
        let mut regs = &world.regs[..];
        for (pc, thread) in world.pcs.iter().zip(&self.layout.threads) {
            out.push(u64::from(pc.0), thread.pc);
            let (own, others) = regs.split_at(thread.regs.len());
            regs = others;
            for (value, (min, width)) in own.iter().zip(&thread.regs) {
                out.push(above(*value, *min), *width);
            }
        }
        self.pack_shared(world, out);
        words.resize(self.layout.bytes.div_ceil(8), 0);
    }

    /// Packs `world`, which differs from the one packed as `parent` only by steps of `tid`.
    #[inline]
    pub(super) fn pack_successor(
        &self,
        world: &World<M::State>,
        parent: &[u64],
        tid: Tid,
        words: &mut Vec<u64>,
    ) {
        words.clear();
        words.extend_from_slice(&parent[..self.layout.shared_at.div_ceil(64) as usize]);
        let thread = &self.layout.threads[tid.index()];
        overwrite(words, thread.at, u64::from(world.pcs[tid.index()].0), thread.pc);
        let mut at = thread.at + thread.pc;
        for (value, (min, width)) in self.regs(world, tid).iter().zip(&thread.regs) {
            overwrite(words, at, above(*value, *min), *width);
            at += width;
        }
        self.pack_shared(world, BitWriter::resume(words, self.layout.shared_at));
        words.resize(self.layout.bytes.div_ceil(8), 0);
    }

    #[inline(always)]
    fn pack_shared(&self, world: &World<M::State>, mut out: BitWriter<'_>) {
        if self.uses_bus {
            out.push(world.bus.map_or(0, |tid| u64::from(tid.0) + 1), self.layout.bus);
        }
        self.memory.pack(&world.memory, &mut out);
        out.push(0, self.layout.core_padding);
        self.memory.pack_monitors(&world.memory, &mut out);
        out.finish();
    }

    /// Unpacks a state, and leaves its words in `words`.
    #[inline]
    pub(super) fn unpack(&self, state: &[u8], words: &mut Vec<u64>, world: &mut World<M::State>) {
        words.clear();
        words.resize(self.layout.bytes.div_ceil(8), 0);
        bytemuck::cast_slice_mut(words)[..state.len()].copy_from_slice(state);
        let mut from = BitReader::new(words);
        let mut regs = &mut world.regs[..];
        for (pc, thread) in world.pcs.iter_mut().zip(&self.layout.threads) {
            *pc = Pc(from.take(thread.pc) as u32);
            let (own, others) = regs.split_at_mut(thread.regs.len());
            regs = others;
            for (value, (min, width)) in own.iter_mut().zip(&thread.regs) {
                *value = raised(*min, from.take(*width));
            }
        }
        if self.uses_bus {
            world.bus = from.take(self.layout.bus).checked_sub(1).map(|t| Tid(t as u32));
        }
        self.memory.unpack(&mut world.memory, &mut from);
        from.take(self.layout.core_padding);
        self.memory.unpack_monitors(&mut world.memory, &mut from);
    }
}
