//! The effect of an access on a state: the writes, what the thread and the write know, and the thread's next local state.

use super::{Awareness, EAGER_STORES, Finding, Frontier, Machine, State, Stores, Views, Write};
use super::{ones, raise, stuck};
use crate::rc11_views::local::{Effect, Local, Want};
use crate::rc11_views::{Reach, Space, Status};
use ir::expr::Notes;
use ir::ids::{Loc, Tid, Value};
use ir::mode::WriteMode;
use ir::program::Instr;
use ir::thread::Action;

impl Machine {
    pub(super) fn covered(&self, reach: Reach, loc: usize) -> impl Iterator<Item = Space> + use<> {
        let own = self.system.space_of[loc];
        self.spaces().filter(move |&space| reach.covers(own, space))
    }

    /// Does the access of `tid` that reads from, or is placed behind, the write at `position`. Is it a
    /// race?
    pub(super) fn access(
        &self,
        views: &mut Views,
        tid: Tid,
        loc: usize,
        position: usize,
        effect: Effect,
    ) -> bool {
        let t = tid.index();
        views.known[t][loc] = position as u8;
        views.before[t][loc] = position as u8;
        if let Some(mode) = effect.read {
            let Write { carried, aware, .. } = views.writes[loc][position].clone();
            for space in self.covered(Reach::of_read(mode), loc) {
                for &entry in &self.entries[space.0 as usize] {
                    raise(&mut views.before[t][entry], carried[entry]);
                    // Markers propagate by steps of their own, before this or, if owed, later.
                    if entry < self.locations {
                        raise(&mut views.known[t][entry], carried[entry]);
                    }
                }
                views.aware[t] |= aware & self.bits_of_space[space.0 as usize];
            }
        }
        let race = match self.bit_of[loc] {
            Some(bit) => self.watch(views, t, bit, effect.write.is_some()),
            None => false,
        };
        if let Some((value, mode)) = effect.write {
            self.write(views, t, loc, position, (value, mode), effect.read.is_some());
        }
        race
    }

    fn write(
        &self,
        views: &mut Views,
        t: usize,
        loc: usize,
        position: usize,
        (value, mode): (Value, WriteMode),
        updates: bool,
    ) {
        let place = position + 1;
        if place < views.writes[loc].len() {
            for frontier in views.frontiers() {
                if frontier[loc] as usize >= place {
                    frontier[loc] += 1;
                }
            }
        }
        views.known[t][loc] = place as u8;
        views.before[t][loc] = place as u8;
        let before = &mut views.writes[loc][position];
        let (mut carried, mut aware) = match updates {
            true => {
                before.taken = true;
                (before.carried.clone(), before.aware)
            }
            false => (Frontier::nothing(self.width()), 0),
        };
        for space in self.covered(Reach::of_write(mode), loc) {
            for &entry in &self.entries[space.0 as usize] {
                raise(&mut carried[entry], views.before[t][entry]);
            }
            raise(&mut carried[self.count(space, t)], views.markers[t].len() as u8);
            aware |= views.aware[t] & self.bits_of_space[space.0 as usize];
        }
        carried[loc] = 0; // whoever reads the write knows where it is
        views.writes[loc].insert(place, Write { value, taken: false, carried, aware });
    }

    /// Notes a non-atomic access; is it a race?
    fn watch(&self, views: &mut Views, t: usize, bit: u32, writes: bool) -> bool {
        let reads = ones(self.threads as u32) << (bit + 1);
        let mine: Awareness = 1 << (bit + 1 + t as u32);
        let last_write: Awareness = 1 << bit;
        let needed = if writes { last_write | reads } else { last_write };
        let race = views.aware[t] & needed != needed;
        let everywhere = views
            .aware
            .iter_mut()
            .chain(views.writes.iter_mut().flatten().map(|write| &mut write.aware));
        for aware in everywhere {
            *aware = if writes { *aware & !last_write | reads } else { *aware & !mine };
        }
        views.aware[t] |= if writes { last_write } else { mine };
        race
    }

    /// Runs the thread on to where it rests. Finds what is wrong on the way.
    pub(super) fn run_on(&self, state: &mut State, tid: Tid, done: &mut Stores) -> Option<Finding> {
        let program = &self.system.program;
        let mut finding = None;
        for stores in 0.. {
            let polling = &self.polling[tid.index()];
            let noting = &mut |pc| self.note(tid, pc);
            state.locals[tid.index()].run_noting(program, tid, polling, noting);
            finding = finding.or(stuck(&state.locals[tid.index()], tid));
            let Some((loc, effect)) = self.eager_store(&state.locals[tid.index()], tid) else {
                break;
            };
            // A loop that only stores never ends; what is left over is a step of its own.
            if stores == EAGER_STORES
                || state.views.writes[loc].len() > self.options.writes as usize
            {
                break;
            }
            let last = state.views.writes[loc].len() - 1;
            done.push(state.locals[tid.index()].pc);
            if self.access(&mut state.views, tid, loc, last, effect) {
                let pc = state.locals[tid.index()].pc;
                finding = finding.or(Some(Finding::Race { tid, pc, loc: Loc::from(loc) }));
            }
            state.locals[tid.index()].pass(program, tid, None, &self.polling[tid.index()]);
        }
        finding
    }

    fn eager_store(&self, local: &Local, tid: Tid) -> Option<(usize, Effect)> {
        let instr = &self.system.program.step(tid, local.pc).instr;
        if !self.options.reduce
            || local.status != Status::Running
            || !matches!(instr, Instr::Store { .. })
        {
            return None;
        }
        let mut notes = Notes::default();
        let Ok(Want::Access(action @ Action::Write { loc, .. })) =
            local.want_noting(&self.system.program, tid, &mut notes)
        else {
            return None;
        };
        let alone = self.writers[loc.index()] == 1 << tid.0;
        if alone && notes.wrapped {
            self.note(tid, local.pc);
        }
        let effect = Effect::of(&action, 0, &self.system.program)?;
        alone.then_some((loc.index(), effect))
    }
}
