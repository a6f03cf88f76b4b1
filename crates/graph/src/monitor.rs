//! The explicit-graph monitors: robustness decided on SC runs, with whole graphs in the states.
//!
//! [`super::verdict`] looks at all consistent graphs. The paper shows that it is enough to look at
//! SC runs: run the program under SC, keep the graph, and ask at every access whether RC20 would have
//! allowed something else. This module does that literally: it is the memory system SC_T of Fig. 4,
//! with the error conditions written as in
//!
//! * Def. 4.5 (robustness): thread τ is about to access x; some interleaving constraint puts the last
//!   write to x before τ's next step, `w_x^max ∈ dom(hb_SC? ; [E^τ])`; yet τ does not know of all writes
//!   to x: there is a write w ≠ w_x^max with `w ∉ dom(mo ; rf? ; hb? ; [E^τ])` that τ could read from, or
//!   overwrite if no RMW reads from it. Adding τ's event at w gives a graph that RC20 allows and SC does
//!   not: the certificate, [`Violation::Stale`].
//! * Def. 4.14 (observational robustness): a load that could have read a stale value is *tainted* and
//!   goes on without teaching its thread anything (`rf_T̄`, `hb_T̄`); it is an error only if something
//!   depends on it. This check is sound, not complete (Ex. 4.19).
//! * Section 6 (races): a non-atomic access by a thread that does not know of the last write, in the
//!   program split by [`split_non_atomics`]. What differs from the print: the thread's own last write
//!   and initial writes count as known.
//!
//! **RC11's `sc` events.** The same holds of RC11, which is RC20 with one more axiom
//! (`psc_base ∪ psc_F` is acyclic): a shortest consistent graph that is not SC-consistent is an SC run and
//! one more event, because consistency is closed under prefixes. So of the writes w that RC20 allows,
//! those count with which the graph has an order of `sc` events. `memory` finds them without looking at
//! graphs; here the axiom is tested.
//!
//! **Non-atomics and robustness.** A stale non-atomic access by τ (Def. 4.5) means that τ does not know
//! of w_x^max, so w_x^max and the access race. Hence testing robustness at atomic accesses only
//! ([`Verdicts::robust_at_atomics`]) loses nothing for programs without races, and for all programs
//! "robust and race-free" is the same either way. It does not follow that a program that is robust at
//! its atomic accesses is robust: it may be stale at non-atomic ones, and racy.
//!
//! **Which races SC runs show.** All of a robust program's. An observationally robust program may have a
//! race that needs a stale load to come about; the monitor sees it only if tainted loads teach nothing
//! ([`Verdicts::race_with_taint`]), and then it sees all. Of other programs, SC runs show some.

use super::axioms;
use super::enumerate::{Limits, Seen, locally_enabled};
use super::event::{EventId, ExecutionGraph, Label};
use super::relation::{EventSet, Relation};
use super::run::{Access, Execution, Next};
use super::split_non_atomics::split_non_atomics;
use ir::{Loc, Pc, Program, ReadMode, Tid};

/// What an SC run showed to be wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// What happened before, under SC.
    pub graph: ExecutionGraph,
    /// The thread whose next step is at fault.
    pub tid: Tid,
    /// Where it is.
    pub pc: Pc,
    /// What is wrong with it.
    pub violation: Violation,
}

/// What is wrong with a thread's next step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// The access may take an old write, which SC forbids.
    Stale {
        /// The old write.
        write: EventId,
        /// The graph with the access added at the old write.
        extended: Box<ExecutionGraph>,
    },
    /// The step depends on loads that may have been stale.
    Dependency(Vec<EventId>),
    /// The non-atomic access does not know of the last write.
    Race,
}

/// What the monitors say about a program; `None` means that nothing is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdicts {
    /// Robustness, tested at every access (Def. 4.5).
    pub robust: Option<Witness>,
    /// Robustness, tested at atomic accesses only.
    pub robust_at_atomics: Option<Witness>,
    /// Observational robustness, as far as SC_T can tell (Def. 4.14).
    pub observational: Option<Witness>,
    /// Races, in the split program; the witness is one of the split program.
    pub race: Option<Witness>,
    /// The same, but tainted loads teach nothing: for use with observational robustness.
    pub race_with_taint: Option<Witness>,
    /// An SC-consistent graph of the program itself that has a race (Def. 6.1).
    pub racy_graph: Option<ExecutionGraph>,
    /// Did a limit cut something off?
    pub bounded: bool,
}

/// Runs the monitors.
pub fn verdicts(program: &Program, limits: &Limits) -> Verdicts {
    let mut own = Explorer::new(program, limits);
    own.explore();
    let mut split = Explorer::new(program, limits);
    let split_program = split_non_atomics(program);
    let has_non_atomics = split_program.locations != program.locations;
    if has_non_atomics {
        split = Explorer::new(&split_program, limits);
        split.explore();
    }
    Verdicts {
        robust: own.stale,
        robust_at_atomics: own.stale_atomic,
        observational: own.observed,
        race: split.unaware,
        race_with_taint: split.unaware_tainted,
        racy_graph: own.racy,
        bounded: own.seen.bounded || split.seen.bounded,
    }
}

struct Explorer<'a> {
    program: &'a Program,
    seen: Seen,
    stale: Option<Witness>,
    stale_atomic: Option<Witness>,
    observed: Option<Witness>,
    unaware: Option<Witness>,
    unaware_tainted: Option<Witness>,
    racy: Option<ExecutionGraph>,
}

/// A state of SC_T: ⟨G, ψ, T⟩ and the program's state.
struct State {
    execution: Execution,
    tainted: Vec<EventId>,
}

impl<'a> Explorer<'a> {
    fn new(program: &'a Program, limits: &Limits) -> Self {
        Explorer {
            program,
            seen: Seen::new(limits),
            stale: None,
            stale_atomic: None,
            observed: None,
            unaware: None,
            unaware_tainted: None,
            racy: None,
        }
    }

    fn explore(&mut self) {
        let mut open = Vec::new();
        self.admit(&mut open, Execution::initial(self.program), Vec::new());
        while let Some(state) = open.pop() {
            let graph = &state.execution.graph;
            let plain = Awareness::new(graph, &[]);
            let tainted = Awareness::new(graph, &state.tainted);
            self.inspect(&state, &plain, &tainted);
            if let Some(tid) = locally_enabled(self.program, &state.execution) {
                for next in state.execution.local_steps(self.program, tid) {
                    self.admit(&mut open, next, state.tainted.clone());
                }
                continue;
            }
            for tid in self.program.tids() {
                let Next::Access(access) = state.execution.next(self.program, tid) else {
                    continue;
                };
                let latest = graph.latest(access.loc);
                let Some(next) = state.execution.access(self.program, tid, latest) else {
                    continue;
                };
                let mut taint = state.tainted.clone();
                if access.is_load() && self.stale(&state.execution, tid, &tainted).is_some() {
                    taint.push(EventId::from(graph.len()));
                }
                self.admit(&mut open, next, taint);
            }
        }
    }

    /// A write that the next access of `tid` may take although SC forbids it, and the graph in which it
    /// does.
    fn stale(
        &self,
        execution: &Execution,
        tid: Tid,
        awareness: &Awareness,
    ) -> Option<(EventId, ExecutionGraph)> {
        let graph = &execution.graph;
        let Next::Access(access) = execution.next(self.program, tid) else { return None };
        awareness.stale_choices(graph, tid, &access).find_map(|write| {
            let extended = execution.access(self.program, tid, write)?.graph;
            axioms::has_sc_order(&extended, &awareness.tainted(extended.len()))
                .then_some((write, extended))
        })
    }

    fn admit(&mut self, open: &mut Vec<State>, execution: Execution, tainted: Vec<EventId>) {
        if let Some(execution) = self.seen.admit(execution, &tainted) {
            open.push(State { execution, tainted });
        }
    }

    /// Applies all error conditions to the next steps of all threads.
    fn inspect(&mut self, state: &State, plain: &Awareness, tainted: &Awareness) {
        let graph = &state.execution.graph;
        if self.racy.is_none() && !axioms::races(graph).is_empty() {
            self.racy = Some(graph.clone());
        }
        for tid in self.program.tids() {
            let thread = &state.execution.threads[tid.index()];
            let witness =
                |violation| Witness { graph: graph.clone(), tid, pc: thread.pc, violation };
            let next = state.execution.next(self.program, tid);

            // ERR-DEP. A CAS may succeed whatever the memory holds, so all its inputs count.
            if matches!(next, Next::Access(_) | Next::Local(Label::Ctrl)) {
                let mut depends_on = thread.dependencies(self.program, tid, true);
                depends_on.retain(|read| state.tainted.contains(read));
                if self.observed.is_none() && !depends_on.is_empty() {
                    self.observed = Some(witness(Violation::Dependency(depends_on)));
                }
            }

            let Next::Access(access) = next else { continue };
            let stale = |awareness: &Awareness| {
                let (write, extended) = self.stale(&state.execution, tid, awareness)?;
                Some(witness(Violation::Stale { write, extended: Box::new(extended) }))
            };
            let plain_stale = self.stale.is_none().then(|| stale(plain)).flatten();
            let at_atomic = self.stale_atomic.is_none() && !access.is_non_atomic();
            let atomic_stale = at_atomic.then(|| stale(plain)).flatten();
            // ERR-SC
            let used = self.observed.is_none() && !access.is_load();
            let observed = used.then(|| stale(tainted)).flatten();
            self.stale = self.stale.take().or(plain_stale);
            self.stale_atomic = self.stale_atomic.take().or(atomic_stale);
            self.observed = self.observed.take().or(observed);
            if access.is_non_atomic() {
                let latest = graph.latest(access.loc);
                if self.unaware.is_none() && !plain.knows(tid, latest) {
                    self.unaware = Some(witness(Violation::Race));
                }
                if self.unaware_tainted.is_none() && !tainted.knows(tid, latest) {
                    self.unaware_tainted = Some(witness(Violation::Race));
                }
            }
        }
    }
}

/// What the threads know in an SC-consistent graph, if tainted reads teach nothing.
pub struct Awareness {
    tainted: Vec<EventId>,
    threads: Vec<EventSet>,
    initial: EventSet,
    /// `hb_SC?`
    precedes: Relation,
    /// `rf_T̄? ; hb_T̄?`
    reaches: Relation,
    /// `mo ; rf_T̄? ; hb_T̄?`
    overwritten: Relation,
    /// `dom(rf ; [RMW])`
    updated: EventSet,
}

impl Awareness {
    /// What they know in `graph`.
    pub fn new(graph: &ExecutionGraph, tainted: &[EventId]) -> Self {
        let ignored = EventSet::from_members(graph.len(), tainted.iter().copied());
        let rf = axioms::rf_untainted(graph, &ignored).reflexive();
        let hb = axioms::hb_untainted(graph, &ignored).reflexive();
        let reaches = rf.compose(&hb);
        let updates = graph.select(|label| matches!(label, Label::Rmw { .. }));
        let initial = graph.ids().filter(|&id| graph.event(id).is_initial());
        Awareness {
            tainted: tainted.to_vec(),
            threads: (0..graph.thread_count()).map(|t| graph.thread_set(Tid::from(t))).collect(),
            initial: EventSet::from_members(graph.len(), initial),
            precedes: axioms::hb_sc(graph).reflexive(),
            overwritten: graph.mo().compose(&reaches),
            reaches,
            updated: graph.rf().domain_into(&updates),
        }
    }

    /// The tainted reads, in a graph that has grown to so many events.
    fn tainted(&self, events: usize) -> EventSet {
        EventSet::from_members(events, self.tainted.iter().copied())
    }

    /// `write ∈ dom(hb_SC? ; [E^τ])`: under SC, is the thread's next step after `write`?
    pub fn must_follow(&self, tid: Tid, write: EventId) -> bool {
        self.precedes.domain_into(&self.threads[tid.index()]).contains(write)
    }

    /// The writes to a location of which the thread does not know that they were overwritten, in modification order. The
    /// latest is always one of them. A relaxed load of the thread may read those that [`Awareness::is_in_sc_order`].
    pub fn not_overwritten(&self, graph: &ExecutionGraph, tid: Tid, loc: Loc) -> Vec<EventId> {
        let known = self.overwritten.domain_into(&self.threads[tid.index()]);
        graph.writes_to(loc).iter().copied().filter(|&write| !known.contains(write)).collect()
    }

    /// Do the `sc` events still have an order if a relaxed load of the thread reads this write?
    pub fn is_in_sc_order(&self, graph: &ExecutionGraph, tid: Tid, write: EventId) -> bool {
        let label = &graph.event(write).label;
        let (Some(loc), Some(value)) = (label.loc(), label.value_written()) else { return false };
        let load = Label::Read { loc, value, mode: ReadMode::Rlx };
        let read = graph.extend(tid, Pc(0), load, &[], Some(write));
        read.is_some_and(|read| axioms::has_sc_order(&read, &self.tainted(read.len())))
    }

    /// `write ∈ dom(rf_T̄? ; hb_T̄? ; [E^τ])`: does happens-before oblige the thread to know of `write`?
    fn knows(&self, tid: Tid, write: EventId) -> bool {
        self.initial.contains(write)
            || self.reaches.domain_into(&self.threads[tid.index()]).contains(write)
    }

    /// The writes w that meet the conditions of Def. 4.5.
    fn stale_choices(
        &self,
        graph: &ExecutionGraph,
        tid: Tid,
        access: &Access,
    ) -> impl Iterator<Item = EventId> {
        let latest = graph.latest(access.loc);
        let follows = self.must_follow(tid, latest);
        let known = self.overwritten.domain_into(&self.threads[tid.index()]);
        let writes = if follows { graph.writes_to(access.loc) } else { &[] };
        writes.iter().copied().filter(move |&write| {
            let value = graph.event(write).label.value_written();
            let label = value.and_then(|value| access.label(value));
            write != latest
                && !known.contains(write)
                && label.is_some_and(|label| !label.writes() || !self.updated.contains(write))
        })
    }
}
