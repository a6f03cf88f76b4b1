//! What reductions need of the monitors: packing, renaming, forgetting, and smaller counters.

use super::row_layout::Columns;
use super::rows::RowsRenaming;
use super::unreachable::Prospect;
use super::{NO_RUN, Rc20, Robustness, State};
use crate::sc::StoreRenaming;
use crate::{Ahead, Lowered, Packed, Renamed};
use analysis::access::Uses;
use analysis::counters::{Counters, Lowering};
use analysis::opaque_values::Types;
use analysis::symmetry::{Automorphism, ValueRenaming};
use ir::bits::{BitReader, BitWriter, above, fits, raised};
use ir::ids::{Loc, RegSet, Tid, Value};
use ir::program::Instr;

/// An automorphism in the form the monitors need.
#[derive(Clone, Debug)]
pub struct Renaming {
    alpha: Automorphism,
    store: StoreRenaming,
    /// The image of each tag, and of each of its values if they are renamed.
    tags: Vec<(usize, ValueRenaming)>,
    precede: RowsRenaming,
    reading: RowsRenaming,
    overwriting: RowsRenaming,
}

impl Packed for Rc20 {
    fn fits(&self, state: &State) -> bool {
        let tag = |tag: &Value| fits(*tag, self.no_tag, self.tag_bits);
        self.store.fits(&state.values) && state.tags.iter().all(tag)
    }

    fn bits(&self) -> u32 {
        let runs = self.registers.len() as u32 * self.run_bits;
        self.store.bits() + self.tags.len() as u32 * self.tag_bits + runs
    }

    fn pack(&self, state: &State, out: &mut BitWriter<'_>) {
        self.store.pack(&state.values, out);
        for tag in &state.tags {
            out.push(above(*tag, self.no_tag), self.tag_bits);
        }
        for run in &state.runs {
            out.push(u64::from(run.0.wrapping_add(1)), self.run_bits);
        }
    }

    fn unpack(&self, state: &mut State, from: &mut BitReader<'_>) {
        self.store.unpack(&mut state.values, from);
        for tag in &mut state.tags {
            *tag = raised(self.no_tag, from.take(self.tag_bits));
        }
        for run in &mut state.runs {
            *run = Loc((from.take(self.run_bits) as u32).wrapping_sub(1));
        }
    }

    /// All sets grow with the sets they are computed from, every violation is that some set has a
    /// member, and no set decides what a thread may do: the monitors are monotone. (A load that is
    /// tainted with more bits and not with fewer leaves V and VR as they are, which is more than
    /// the full step leaves, and taints a register. Either way its location becomes that of its
    /// thread's run, which is part of the core. Its tag stays empty then, where the full step fills it,
    /// and tags are part of the core, too: of the two states that follow, the one with the empty tag and the
    /// tainted register counts as the larger. Whoever compares with that register uses a tainted value
    /// there, which is a violation already, and until the register gets another value, which empties the
    /// tag in both, a tag does nothing else.)
    fn monitor_bits(&self) -> u32 {
        let taint = match self.robustness {
            Robustness::Plain => 0,
            Robustness::Observational => self.registers.iter().sum(),
        };
        taint + self.precede.bits() + self.reading.bits() + self.overwriting.bits()
    }

    fn pack_monitors(&self, state: &State, out: &mut BitWriter<'_>) {
        if self.robustness == Robustness::Observational {
            for (taint, width) in state.taint.iter().zip(&self.registers) {
                out.push(taint.0, *width);
            }
        }
        self.precede.pack(&state.precede, out);
        self.reading.pack(&state.reading, out);
        self.overwriting.pack(&state.overwriting, out);
    }

    fn unpack_monitors(&self, state: &mut State, from: &mut BitReader<'_>) {
        if self.robustness == Robustness::Observational {
            for (taint, width) in state.taint.iter_mut().zip(&self.registers) {
                *taint = RegSet(from.take(*width));
            }
        }
        self.precede.unpack(&mut state.precede, from);
        self.reading.unpack(&mut state.reading, from);
        self.overwriting.unpack(&mut state.overwriting, from);
    }
}

impl Renamed for Rc20 {
    type Renaming = Renaming;
    type Prospect = Prospect;

    fn renaming(&self, alpha: &Automorphism, types: &Types) -> Renaming {
        Renaming {
            store: self.store.renaming(alpha, types),
            tags: self
                .tags
                .iter()
                .map(|tag| {
                    let image = self.tags.binary_search(&tag.renamed(alpha));
                    (image.expect("tags are symmetric"), alpha.values(types.location(tag.loc)))
                })
                .collect(),
            precede: self.precede.renaming(alpha),
            reading: self.reading.renaming(alpha, types),
            overwriting: self.overwriting.renaming(alpha, types),
            alpha: alpha.clone(),
        }
    }

    fn rename(&self, renaming: &Renaming, state: &State, image: &mut State) {
        let Renaming { alpha, store, tags, precede, reading, overwriting } = renaming;
        self.store.rename(store, &state.values, &mut image.values);
        for (tag, (to, values)) in state.tags.iter().zip(tags) {
            image.tags[*to] = values.image(*tag);
        }
        for (t, run) in state.runs.iter().enumerate() {
            let to = alpha.locations.get(run.index()).copied();
            image.runs[alpha.threads[t].index()] = to.unwrap_or(NO_RUN);
        }
        self.precede.rename(precede, &state.precede, &mut image.precede);
        self.reading.rename(reading, &state.reading, &mut image.reading);
        self.overwriting.rename(overwriting, &state.overwriting, &mut image.overwriting);
        for (t, taint) in state.taint.iter().enumerate() {
            image.taint[alpha.threads[t].index()] =
                taint.iter().map(|reg| alpha.registers[t][reg.index()]).collect();
        }
    }

    fn forget_dead(&self, state: &mut State, tid: Tid, live: RegSet) {
        let taint = &mut state.taint[tid.index()];
        *taint = taint.intersect(live);
        for (k, tag) in self.tags.iter().enumerate() {
            if tag.tid == tid && !live.contains(tag.reg) && state.tags[k] != self.no_tag {
                self.retag(state, k, self.no_tag);
            }
        }
    }

    /// What it could still read, or pass on by writing, no longer matters.
    fn retire(&self, state: &mut State, tid: Tid) {
        self.forget_dead(state, tid, RegSet::EMPTY);
        if let Some(run) = state.runs.get_mut(tid.index()) {
            *run = NO_RUN;
        }
        self.precede.retire(&mut state.precede, tid);
        self.reading.retire(&mut state.reading, tid);
        self.overwriting.retire(&mut state.overwriting, tid);
    }

    fn settles(&self, instr: &Instr) -> bool {
        match self.robustness {
            Robustness::Plain => true,
            // A load that is tainted teaches nothing.
            Robustness::Observational => !matches!(instr, Instr::Load { .. }),
        }
    }

    fn prospect(&self, instr: &Instr, uses: &[Uses; 2]) -> Prospect {
        Prospect::new(self, instr, uses)
    }

    fn forget_unreachable<'a>(
        &self,
        state: &mut State,
        ahead: impl Fn(Tid) -> Ahead<'a, Prospect>,
    ) {
        self.forget_out_of_reach(state, ahead);
    }
}

impl Lowered for Rc20 {
    fn values<'s>(&self, state: &'s State) -> &'s [Value] {
        &state.values
    }

    /// Counters move from bit to bit, so either each has one of its own or none has.
    fn can_lower(&self, counters: &Counters) -> bool {
        let columns = [&self.reading.columns, &self.overwriting.columns];
        let told_apart = |columns: &Columns, loc| {
            let critical = columns.critical(loc).map(|(value, _)| value);
            let count = critical.filter(|value| !counters.is_constant(*value)).count();
            count == 0 || counters.range().is_some_and(|range| range.count() == count)
        };
        counters.locations.iter().all(|loc| columns.iter().all(|c| told_apart(c, *loc)))
    }

    fn lower(&self, state: &mut State, counters: &Counters, lowering: Lowering) {
        for loc in &counters.locations {
            let value = &mut state.values[loc.index()];
            *value = counters.lowered(*value, lowering);
            let lowered = |value| counters.lowered(value, lowering);
            self.reading.lower(&mut state.reading, *loc, lowered);
            self.overwriting.lower(&mut state.overwriting, *loc, lowered);
        }
        for (tag, value) in self.tags.iter().zip(&mut state.tags) {
            if *value != self.no_tag && counters.locations.contains(&tag.loc) {
                *value = counters.lowered(*value, lowering);
            }
        }
    }
}
