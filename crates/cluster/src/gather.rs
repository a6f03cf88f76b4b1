//! Rounds in which every worker tells all others something.
//!
//! What is told at the edges of a search goes this way: what is about to be searched, what was found, the steps of
//! paths. It is one dataflow for the life of the cluster; a round is a timestamp, and it is over when timely says that
//! nobody can send anything more at that time. All workers see the same, so they take the same decisions.

use crate::health::{Health, Lost};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::InputHandle;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::generic::operator::Operator;
use timely::dataflow::operators::{Input, Probe, probe};
use timely::worker::Worker;

/// How long a worker sleeps before it looks whether the others are still there.
pub(crate) const NAP: Duration = Duration::from_millis(20);

/// To whom, from whom, and what.
type Told = (u64, u64, Vec<u8>);

/// What was told in each round that is not over, and by whom.
type Rounds = Rc<RefCell<HashMap<u64, Vec<(u64, Vec<u8>)>>>>;

/// One worker's part of the rounds.
pub(crate) struct Gather {
    input: InputHandle<u64, CapacityContainerBuilder<Vec<Told>>>,
    rounds: Rounds,
    probe: probe::Handle<u64>,
}

impl Gather {
    /// Makes the dataflow. All workers must do so at the same point.
    pub(crate) fn new(worker: &mut Worker) -> Self {
        let rounds = Rounds::default();
        let (input, probe) = worker.dataflow::<u64, _, _>(|scope| {
            let (input, stream) = scope.new_input::<Vec<Told>>();
            let heard = Rc::clone(&rounds);
            let listen = Exchange::new(|(to, ..): &Told| *to);
            let stream = stream.unary::<CapacityContainerBuilder<Vec<()>>, _, _, _>(
                listen,
                "gather",
                move |_, _| {
                    move |input, _| {
                        input.for_each(|time, told| {
                            let mut rounds = heard.borrow_mut();
                            let round = rounds.entry(*time.time()).or_default();
                            round.extend(told.drain(..).map(|(_, from, what)| (from, what)));
                        });
                    }
                },
            );
            let (probe, _) = stream.probe();
            (input, probe)
        });
        Gather { input, rounds, probe }
    }

    /// Tells all workers something, and hears what they say, in the order of their numbers.
    pub(crate) fn round(
        &mut self,
        worker: &mut Worker,
        health: &Health,
        what: &[u8],
    ) -> Result<Vec<Vec<u8>>, Lost> {
        let (me, round) = (worker.index() as u64, *self.input.time());
        for to in 0..worker.peers() as u64 {
            self.input.send((to, me, what.to_vec()));
        }
        self.input.advance_to(round + 1);
        while self.probe.less_than(&(round + 1)) {
            if let Some(lost) = health.lost() {
                return Err(lost);
            }
            worker.step_or_park(Some(NAP));
        }
        let mut told = self.rounds.borrow_mut().remove(&round).unwrap_or_default();
        told.sort_unstable_by_key(|(from, _)| *from);
        Ok(told.into_iter().map(|(_, what)| what).collect())
    }
}
