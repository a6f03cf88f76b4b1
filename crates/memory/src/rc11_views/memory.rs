//! The machine's memory: which write an access reads or comes behind is a *way* to perform it, and the
//! propagation of a marker is a step of the memory's own.

use super::local::Effect;
use super::{Arrival, Frontier, Machine, Views, Write};
use crate::{Attempt, EffectOn, Memory};
use ir::expr::{Fault, Notes};
use ir::ids::Tid;
use ir::thread::Action;

/// A non-atomic access conflicts with one that does not happen before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Race;

impl Memory for Machine {
    type State = Views;
    type Violation = Race;
    /// The position of the write in modification order.
    type Way = usize;
    type Own = Arrival;
    /// How many writes to the location came after the one that an access reads or comes behind.
    type Seen = u8;

    fn initial(&self) -> Views {
        let nothing = Frontier::nothing(self.width());
        let initial = self.system.program.locations.iter().map(|location| Write {
            value: location.initial,
            taken: false,
            carried: nothing.clone(),
            aware: 0,
        });
        Views {
            known: vec![nothing.clone(); self.threads],
            before: vec![nothing.clone(); self.threads],
            aware: vec![self.all_bits; self.threads],
            writes: initial.map(|write| vec![write]).collect(),
            markers: vec![Vec::new(); self.threads],
        }
    }

    fn ways(&self, views: &Views, tid: Tid, action: &Action, mut each: impl FnMut(usize)) {
        let Some(loc) = action.loc().map(|loc| loc.index()) else { return };
        let known = views.known[tid.index()][loc] as usize;
        // Behind a write that a read-modify-write has read, there is no place.
        let is_free = |(_, write): &(usize, &Write)| {
            let effect = Effect::of(action, write.value, &self.system.program);
            effect.is_some_and(|effect| effect.write.is_none() || !write.taken)
        };
        let writes = views.writes[loc].iter().enumerate().skip(known);
        writes.filter(is_free).for_each(|(position, _)| each(position));
    }

    fn step(
        &self,
        views: &mut Views,
        Attempt { tid, action, .. }: Attempt<'_>,
        position: usize,
        notes: &mut Notes,
    ) -> Result<EffectOn<Self>, Fault> {
        let Some(loc) = action.loc().map(|loc| loc.index()) else {
            return Ok(crate::Effect::Done(None, 0));
        };
        let (value, program) = (views.writes[loc][position].value, &self.system.program);
        let newer = (views.writes[loc].len() - 1 - position) as u8;
        let Some(effect) = Effect::of(action, value, program) else {
            return Ok(crate::Effect::Blocked);
        };
        notes.wrapped |= Effect::wraps(action, value, program);
        let race = self.access(views, tid, loc, position, effect);
        let read = effect.read.map(|_| value);
        match (effect.fault, race) {
            (Some(fault), _) => Err(fault),
            (None, true) => Ok(crate::Effect::Wrong(Race, read, newer)),
            (None, false) => Ok(crate::Effect::Done(read, newer)),
        }
    }

    fn own_steps(&self, views: &Views, mut each: impl FnMut(Arrival)) {
        let tids = || self.system.program.tids();
        for to in tids() {
            for from in tids().filter(|&from| from != to) {
                for space in self.spaces() {
                    let arrival = Arrival { from, to, space };
                    if self.may_arrive(views, arrival) {
                        each(arrival);
                    }
                }
            }
        }
    }

    fn own_step(&self, views: &mut Views, arrival: Arrival) -> Option<u8> {
        self.may_arrive(views, arrival).then(|| {
            self.arrive_at(views, arrival);
            0
        })
    }
}
