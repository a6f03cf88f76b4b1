//! The dataflow of a search: one operator, whose output comes back to it a level later.
//!
//! Time is the level, counted from the one that the search begins at. A worker keeps the capability to send at the level it
//! expands; messages that it sends then arrive at the time of the next level. So the operator's input can hold no
//! more of a level once every worker has given up the level before, and that is what timely's frontier tells.

use crate::checkpoint::Writer;
use crate::engine::{Engine, Phase};
use crate::gather::NAP;
use crate::health::{Health, Lost};
use crate::message::{Message, ToTarget};
use search::{Model, Progress};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Mutex;
use std::time::Instant;
use timely::dataflow::channels::pact::DistributorPact;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::operators::{ConnectLoop, Feedback};
use timely::worker::Worker;

/// What the operator and its worker share.
struct Shared<M: Model> {
    engine: Engine<M>,
    writer: Option<Writer>,
}

/// Where a process shows how far its search has come.
#[derive(Debug)]
pub(crate) struct Board {
    pub start: Instant,
    pub progress: Mutex<Progress>,
}

/// Searches until everything was seen or somebody stopped it. All workers must come here at the same point.
/// If a process is lost, what was seen so far comes back with it.
pub(crate) fn run<M: Model>(
    worker: &mut Worker,
    health: &Health,
    board: Option<&Board>,
    engine: Engine<M>,
    writer: Option<Writer>,
) -> (Engine<M>, Option<Lost>) {
    let base = engine.level;
    let shared = Rc::new(RefCell::new(Some(Shared { engine, writer })));
    let finished = Rc::new(Cell::new(false));
    let activator = worker.dataflow::<u64, _, _>(|scope| {
        let (feedback, cycle) = scope.feedback::<Message>(1);
        let mut builder = OperatorBuilder::new("search".into(), scope);
        let mut input = builder.new_input(cycle, DistributorPact(|_| ToTarget));
        let (mut output, stream) = builder.new_output::<Message>();
        let address = builder.operator_info().address;
        let activator = scope.activator_for(Rc::clone(&address));
        let again = scope.activator_for(address);
        let (shared, finished) = (Rc::clone(&shared), Rc::clone(&finished));
        builder.build(move |mut capabilities| {
            let mut capability = capabilities.pop();
            move |frontiers| {
                let mut shared = shared.borrow_mut();
                let Some(Shared { engine, writer }) = shared.as_mut() else { return };
                input.for_each(|time, message| {
                    engine.receive(base + *time.time(), message);
                });
                engine.look_again();
                let mut output = output.activate();
                if engine.phase == Phase::Waiting
                    && capability.is_some()
                    && !frontiers[0].less_equal(&(engine.level - base))
                    && engine.begin()
                    && let Some(writer) = writer
                {
                    writer.write(engine);
                }
                let done = engine.can_work() && engine.work();
                if let Some(capability) = &mut capability {
                    for mut message in engine.ready.drain(..) {
                        output.give(capability, &mut message);
                    }
                    if done {
                        engine.advance();
                        capability.downgrade(&(engine.level - base));
                    }
                }
                drop(output);
                engine.ready.clear();
                if engine.phase == Phase::Over {
                    capability = None;
                }
                if engine.can_work() {
                    again.activate();
                }
                finished.set(capability.is_none() && frontiers[0].is_empty());
            }
        });
        stream.connect_loop(feedback);
        activator
    });
    let mut lost = None;
    while !finished.get() {
        lost = health.lost();
        if lost.is_some() {
            break;
        }
        worker.step_or_park(Some(NAP));
        if let Some(Shared { engine, .. }) = shared.borrow_mut().as_mut() {
            health.reach(engine.level);
            if engine.look_again() {
                activator.activate();
            }
            if let Some(board) = board {
                show(engine, board);
            }
        }
    }
    let Some(Shared { engine, .. }) = shared.borrow_mut().take() else {
        unreachable!("the engine is taken once")
    };
    (engine, lost)
}

fn show<M: Model>(engine: &Engine<M>, board: &Board) {
    if let Ok(mut progress) = board.progress.try_lock()
        && board.start.elapsed() >= progress.elapsed + NAP
    {
        let total = engine.total();
        *progress = Progress {
            states: total.states,
            transitions: total.transitions,
            depth: engine.level,
            waiting: total.states.saturating_sub(total.expanded),
            bytes: total.bytes,
            elapsed: board.start.elapsed(),
        };
    }
}
