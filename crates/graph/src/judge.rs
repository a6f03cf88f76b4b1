//! The judge of certificates: is this graph what it is claimed to be?
//!
//! Every "not robust" comes with an execution graph. The search that made it may be wrong, so this
//! module takes nothing on trust: it replays every thread against its events, and tests the graph
//! against the declarative definitions in [`super::axioms`].

use super::axioms::{self, Axiom, Cycle};
use super::event::{EventId, ExecutionGraph};
use super::run::{Execution, Next, ThreadState};
use budget::{Budget, Spent};
use ir::{Program, Tid};

/// What the judge found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// Can the program's threads produce exactly these events and dependencies, given the values read
    /// (Def. 3.11)?
    pub generated: bool,
    /// The axiom that it violates; `None` if it is consistent.
    pub violation: Option<Axiom>,
    /// A shortest cycle that SC forbids; `None` if it is SC-consistent.
    pub sc_cycle: Option<Cycle>,
    /// A shortest cycle that observational robustness forbids; `None` if there is none.
    pub observational_cycle: Option<Cycle>,
    /// The data races.
    pub races: Vec<(EventId, EventId)>,
}

impl Judgement {
    /// Does the model allow the graph?
    pub fn consistent(&self) -> bool {
        self.violation.is_none()
    }

    /// Does SC allow the graph?
    pub fn sc_consistent(&self) -> bool {
        self.sc_cycle.is_none()
    }

    /// Does the graph prove that the program is not robust?
    pub fn refutes_robustness(&self) -> bool {
        self.generated && self.consistent() && !self.sc_consistent()
    }

    /// Does the graph prove that the program is not observationally robust?
    pub fn refutes_observational_robustness(&self) -> bool {
        self.generated && self.consistent() && self.observational_cycle.is_some()
    }

    /// Does the graph prove that the program has a data race?
    pub fn refutes_race_freedom(&self) -> bool {
        self.generated && self.consistent() && !self.races.is_empty()
    }
}

/// Judges a graph by RC11. For RC20, pass [`Program::rc20`]; for RA, [`Program::release_acquire`].
pub fn judge(program: &Program, graph: &ExecutionGraph) -> Judgement {
    weigh(program, graph, Budget::UNLIMITED).expect("no budget was set")
}

/// How many events a graph may have to be judged: its relations are matrices, here of 50 MB each.
const MOST_EVENTS: usize = 20_000;

/// Judges a graph, unless the budget is spent before there is a judgement, or the graph is so large that no
/// memory would be enough. The definitions are computed one by one, in time that grows with the cube of the number
/// of events, and the budget is looked at in between.
pub fn judge_within(
    program: &Program,
    graph: &ExecutionGraph,
    budget: Budget,
) -> Result<Judgement, Unjudged> {
    match graph.len() > MOST_EVENTS {
        true => Err(Unjudged::TooLong),
        false => weigh(program, graph, budget).map_err(Unjudged::Spent),
    }
}

/// Why a graph was not judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unjudged {
    /// It has too many events.
    TooLong,
    /// The budget was spent before.
    Spent(Spent),
}

fn weigh(program: &Program, graph: &ExecutionGraph, budget: Budget) -> Result<Judgement, Spent> {
    let in_time = || budget.spent().map_or(Ok(()), Err);
    let generated = is_generated(program, graph);
    in_time()?;
    let violation = axioms::violation(graph);
    in_time()?;
    let sc_cycle = axioms::sc_cycle(graph);
    in_time()?;
    let observational_cycle = axioms::observational_cycle(graph);
    in_time()?;
    let races = axioms::races(graph);
    Ok(Judgement { generated, violation, sc_cycle, observational_cycle, races })
}

/// Can the program's threads produce this graph?
pub fn is_generated(program: &Program, graph: &ExecutionGraph) -> bool {
    let start = Execution::initial(program);
    graph.thread_count() == program.threads.len()
        && graph.events().iter().filter(|event| event.is_initial()).eq(start.graph.events())
        && start.threads.into_iter().zip(program.tids()).all(|(state, tid)| {
            let events = graph.thread_events(tid).iter();
            !events.fold(vec![state], |states, &id| replay(program, graph, states, id)).is_empty()
        })
}

/// The states in which a thread can be after event `id` if it was in one of `states` before. They are
/// several only where a jump chooses: the choice leaves no trace in the graph.
///
/// A thread is replayed alone. Other threads matter to it only through the values it reads, and that
/// these are the values written is an invariant of graphs.
fn replay(
    program: &Program,
    graph: &ExecutionGraph,
    states: Vec<ThreadState>,
    id: EventId,
) -> Vec<ThreadState> {
    let event = graph.event(id);
    let Some((tid, pc)) = event.step else { return Vec::new() };
    let mut after = Vec::new();
    for state in before_next_event(program, tid, states) {
        let label = match state.next(program, tid) {
            Next::Local(label) => Some(label),
            Next::Access(access) => match event.label.value_read() {
                Some(value) => access.label(value),
                // A write needs no value; any will do.
                None => access.label(0),
            },
            Next::Nothing | Next::Silent => None,
        };
        let depends_on = state.dependencies(program, tid, event.label.writes());
        let matches =
            state.pc == pc && label == Some(event.label) && (depends_on == graph.dependencies(id));
        if matches {
            let value = event.label.value_read().unwrap_or(0);
            after.extend(state.after_local(program, tid));
            after.extend(state.after_access(program, tid, value, id));
        }
    }
    after
}

/// Runs all silent steps.
fn before_next_event(program: &Program, tid: Tid, states: Vec<ThreadState>) -> Vec<ThreadState> {
    let mut reached: Vec<ThreadState> = Vec::new();
    let mut open = states;
    while let Some(state) = open.pop() {
        if reached.iter().any(|known| known.same_but_visits(&state)) {
            continue;
        }
        if state.next(program, tid) == Next::Silent {
            open.extend(state.after_local(program, tid));
        }
        reached.push(state);
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::event::Label;
    use super::super::litmus::*;
    use super::*;
    use ir::{Loc, Pc, Value, WriteMode};

    fn write(loc: Loc, value: Value) -> Label {
        Label::Write { loc, value, mode: WriteMode::Rlx }
    }

    fn read(loc: Loc, value: Value) -> Label {
        Label::Read { loc, value, mode: RLX }
    }

    fn message_passing() -> Program {
        program([
            vec![store(X, 1, WRLX), store(Y, 1, WRLX)],
            vec![load(A, Y, RLX), load(B, X, RLX), assert(B)],
        ])
    }

    /// x=1; y=1 ∥ a=y (1); b=x (0)
    fn stale(program: &Program) -> ExecutionGraph {
        let start = ExecutionGraph::initial(program);
        let (x, y) = (start.latest(X), start.latest(Y));
        let graph = start.extend(Tid(0), Pc(0), write(X, 1), &[], Some(x)).unwrap();
        let graph = graph.extend(Tid(0), Pc(1), write(Y, 1), &[], Some(y)).unwrap();
        let latest = graph.latest(Y);
        let graph = graph.extend(Tid(1), Pc(0), read(Y, 1), &[], Some(latest)).unwrap();
        graph.extend(Tid(1), Pc(1), read(X, 0), &[], Some(x)).unwrap()
    }

    #[test]
    fn a_certificate() {
        let program = message_passing();
        let graph = stale(&program);
        let judgement = judge(&program, &graph);
        assert!(judgement.refutes_robustness());
        assert!(!judgement.refutes_observational_robustness());
        assert!(!judgement.refutes_race_freedom());

        let last = *graph.thread_events(Tid(1)).last().unwrap();
        let observed = graph.extend(Tid(1), Pc(2), Label::Ctrl, &[last], None).unwrap();
        assert!(judge(&program, &observed).refutes_observational_robustness());
    }

    /// Catches certificates whose events the program cannot produce.
    #[test]
    fn made_up_events() {
        let program = message_passing();
        let graph = stale(&program);
        let last = *graph.thread_events(Tid(1)).last().unwrap();
        let without_dependency = graph.extend(Tid(1), Pc(2), Label::Ctrl, &[], None).unwrap();
        assert!(!judge(&program, &without_dependency).generated);
        let wrong_pc = graph.extend(Tid(1), Pc(1), Label::Ctrl, &[last], None).unwrap();
        assert!(!judge(&program, &wrong_pc).generated);
        let one_too_many =
            graph.extend(Tid(0), Pc(2), write(X, 1), &[], Some(graph.latest(X))).unwrap();
        assert!(!judge(&program, &one_too_many).generated);
        let start = ExecutionGraph::initial(&program);
        let wrong_value =
            start.extend(Tid(0), Pc(0), write(X, 2), &[], Some(start.latest(X))).unwrap();
        assert!(!judge(&program, &wrong_value).generated);
        let other_program = self::program([vec![store(X, 1, WRLX)]]);
        assert!(!judge(&other_program, &graph).generated);
    }

    /// What is no graph at all cannot be built.
    #[test]
    fn malformed_events() {
        let program = message_passing();
        let graph = stale(&program);
        let (x, y) = (graph.latest(X), graph.latest(Y));
        let add = |label, depends_on: &[EventId], at| {
            graph.extend(Tid(1), Pc(2), label, depends_on, at).is_some()
        };
        assert!(add(read(X, 1), &[], Some(x)));
        assert!(!add(read(X, 0), &[], Some(x)), "another value");
        assert!(!add(read(X, 1), &[], Some(y)), "another location");
        assert!(!add(read(X, 1), &[], None), "no source");
        assert!(!add(Label::Ctrl, &[], Some(x)), "a source for an event that reads nothing");
        assert!(!add(Label::Ctrl, &[x], None), "a dependency on another thread's write");
    }
}
