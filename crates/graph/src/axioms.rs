//! What the models allow: the declarative definitions, one line of relational algebra each.
//!
//! | here | definition (RC20 paper) |
//! |---|---|
//! | [`sw`], [`hb`], [`fr`] | section 3.1 |
//! | [`violation`] | Def. 3.5, and the order of `sc` events of RC11 (`psc`) |
//! | [`hb_sc`], [`sc_cycle`] | Def. 3.7 |
//! | [`hb_sc_dp`], [`observational_cycle`] | Def. 4.9 |
//! | [`rf_untainted`], [`hb_untainted`] | Def. 4.13 |
//! | [`races`] | Def. 6.1 |
//!
//! Release sequences are those of C++20: only through read-modify-writes. RC11 as published (PLDI 2017) has those
//! of C11, which later writes of the same thread continue too; C++20 took that out (P0982). So here fewer
//! accesses synchronise and more executions are allowed: what holds here holds with C11's. Non-atomic accesses count as
//! relaxed, and initial writes happen before everything.
//!
//! There is one set of axioms, those of RC11. Other models read a program in other words: RC20 is RC11
//! on [`ir::Program::rc20`], which has no `sc` events, and RA is RC11 on
//! [`ir::Program::release_acquire`], where every read acquires and every write releases.

use super::event::{EventId, ExecutionGraph, Label};
use super::psc::{self, Basis};
use super::relation::{EventSet, Relation};
use std::fmt;

/// An axiom of RC11; without the last, they are those of RC20 (Def. 3.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Axiom {
    /// `mo ; rf? ; hb?` is irreflexive.
    WriteCoherence,
    /// `fr ; rf? ; hb` is irreflexive.
    ReadCoherence,
    /// `fr ; mo` is irreflexive.
    Atomicity,
    /// `po ∪ rf` is acyclic: no value comes out of thin air.
    PoRf,
    /// `psc_base ∪ psc_F` is acyclic: the `sc` events have a total order.
    Sc,
}

impl fmt::Display for Axiom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Axiom::WriteCoherence => "write coherence (mo; rf?; hb? is irreflexive)",
            Axiom::ReadCoherence => "read coherence (fr; rf?; hb is irreflexive)",
            Axiom::Atomicity => "atomicity (fr; mo is irreflexive)",
            Axiom::PoRf => "no thin air (po ∪ rf is acyclic)",
            Axiom::Sc => "order of sc events (psc_base ∪ psc_F is acyclic)",
        })
    }
}

/// Why one event precedes another under SC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// It comes earlier in the same thread.
    Po,
    /// It is the write that the other reads from.
    Rf,
    /// It is an earlier write to the same location.
    Mo,
    /// It reads from a write that the other overwrote.
    Fr,
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EdgeKind::Po => "po",
            EdgeKind::Rf => "rf",
            EdgeKind::Mo => "mo",
            EdgeKind::Fr => "fr",
        })
    }
}

/// A cycle that no order of the events allows: every event with the edge that leads to the next one,
/// the last one's leading back to the first.
pub type Cycle = Vec<(EventId, EdgeKind)>;

/// `fr = (rf⁻¹ ; mo) \ id`: from-read, from a read to the writes that overwrote what it read.
pub fn fr(graph: &ExecutionGraph) -> Relation {
    graph.rf().inverse().compose(&graph.mo()).minus(&Relation::identity(graph.len()))
}

/// `sw = [E⊒rel] ; ([F] ; po)? ; rf⁺ ; (po ; [F])? ; [E⊒acq]`: synchronises-with.
pub fn sw(graph: &ExecutionGraph) -> Relation {
    synchronises(graph, &graph.po(), &graph.rf())
}

/// `hb = (po ∪ sw)⁺`: happens-before.
pub fn hb(graph: &ExecutionGraph) -> Relation {
    graph.po().union(&sw(graph)).transitive()
}

/// `rf_T̄ = rf ; [E \ T]`: reads-from without the tainted reads.
pub fn rf_untainted(graph: &ExecutionGraph, tainted: &EventSet) -> Relation {
    let clean = graph.ids().filter(|&id| !tainted.contains(id));
    graph.rf().to_set(&EventSet::from_members(graph.len(), clean))
}

/// `hb_T̄ = (po ∪ sw_T̄)⁺`: happens-before in which tainted reads synchronise with nothing.
pub fn hb_untainted(graph: &ExecutionGraph, tainted: &EventSet) -> Relation {
    let po = graph.po();
    let sw = synchronises(graph, &po, &rf_untainted(graph, tainted));
    po.union(&sw).transitive()
}

/// `hb_SC = (po ∪ rf ∪ mo ∪ fr)⁺`: what must precede what under sequential consistency.
pub fn hb_sc(graph: &ExecutionGraph) -> Relation {
    graph.po().union(&graph.rf()).union(&graph.mo()).union(&fr(graph)).transitive()
}

/// `hb_SC^dp = (po ∪ rf ∪ mo ∪ [dom(dp) ∪ R*] ; fr)⁺`: the same, but a read that nothing depends on
/// may have read a stale value.
pub fn hb_sc_dp(graph: &ExecutionGraph) -> Relation {
    graph.po().union(&graph.rf()).union(&graph.mo()).union(&observed_fr(graph)).transitive()
}

/// The first axiom of RC11 that the graph violates, if it violates any.
pub fn violation(graph: &ExecutionGraph) -> Option<Axiom> {
    let (po, rf, mo, fr) = (graph.po(), graph.rf(), graph.mo(), fr(graph));
    let hb = po.union(&synchronises(graph, &po, &rf)).transitive();
    let (maybe_rf, maybe_hb) = (rf.reflexive(), hb.reflexive());
    let sc_events = graph.select(Label::is_sc);
    if !mo.compose(&maybe_rf).compose(&maybe_hb).is_irreflexive() {
        Some(Axiom::WriteCoherence)
    } else if !fr.compose(&maybe_rf).compose(&hb).is_irreflexive() {
        Some(Axiom::ReadCoherence)
    } else if !fr.compose(&mo).is_irreflexive() {
        Some(Axiom::Atomicity)
    } else if !po.union(&rf).is_acyclic() {
        Some(Axiom::PoRf)
    } else if !psc::is_acyclic(graph, &sc_events, || Basis { po, rf, mo, fr, hb }) {
        Some(Axiom::Sc)
    } else {
        None
    }
}

/// Does RC11 allow the graph?
pub fn is_consistent(graph: &ExecutionGraph) -> bool {
    violation(graph).is_none()
}

/// Do the `sc` events have a total order that RC11 allows, if tainted reads are none of them and read
/// from nothing? They still are accesses in program order. The graph must meet the other axioms.
pub fn has_sc_order(graph: &ExecutionGraph, tainted: &EventSet) -> bool {
    let clean =
        EventSet::from_members(graph.len(), graph.ids().filter(|&id| !tainted.contains(id)));
    let sc = graph.select(Label::is_sc);
    let events = EventSet::from_members(graph.len(), sc.iter().filter(|&id| clean.contains(id)));
    let among = |relation: Relation| relation.restrict(&clean, &clean);
    psc::is_acyclic(graph, &events, || Basis {
        po: graph.po(),
        rf: among(graph.rf()),
        mo: graph.mo(),
        fr: among(fr(graph)),
        hb: hb_untainted(graph, tainted),
    })
}

/// Does sequential consistency allow the graph?
pub fn is_sc_consistent(graph: &ExecutionGraph) -> bool {
    hb_sc(graph).is_irreflexive()
}

/// Does some interleaving explain the graph if reads that nothing depends on are ignored?
pub fn is_observationally_consistent(graph: &ExecutionGraph) -> bool {
    hb_sc_dp(graph).is_irreflexive()
}

/// A shortest cycle in `po ∪ rf ∪ mo ∪ fr`, if the graph is not SC-consistent. Program order and
/// modification order are transitive here, so a chain of either counts as one edge.
pub fn sc_cycle(graph: &ExecutionGraph) -> Option<Cycle> {
    shortest_cycle(graph, fr(graph))
}

/// A shortest cycle in `po ∪ rf ∪ mo ∪ [dom(dp) ∪ R*] ; fr`, if there is one.
pub fn observational_cycle(graph: &ExecutionGraph) -> Option<Cycle> {
    shortest_cycle(graph, observed_fr(graph))
}

/// The data races (Def. 6.1): pairs of accesses of different threads to one non-atomic location, at
/// least one of them a write, that happens-before leaves unordered; each pair once, in the order the
/// events were added.
pub fn races(graph: &ExecutionGraph) -> Vec<(EventId, EventId)> {
    let accesses: Vec<EventId> =
        graph.ids().filter(|&id| graph.event(id).label.is_non_atomic()).collect();
    if accesses.is_empty() {
        return Vec::new();
    }
    let hb = hb(graph);
    let conflict = |a: EventId, b: EventId| {
        let (a, b) = (graph.event(a), graph.event(b));
        a.label.loc() == b.label.loc()
            && a.thread() != b.thread()
            && (a.label.writes() || b.label.writes())
    };
    accesses
        .iter()
        .flat_map(|&a| accesses.iter().map(move |&b| (a, b)))
        .filter(|&(a, b)| a < b && conflict(a, b) && !hb.contains(a, b) && !hb.contains(b, a))
        .collect()
}

fn synchronises(graph: &ExecutionGraph, po: &Relation, rf: &Relation) -> Relation {
    let fences = graph.select(|label| matches!(label, Label::Fence(_)));
    let released = po.from_set(&fences).reflexive().from_set(&graph.select(Label::releases));
    let acquired = po.to_set(&fences).reflexive().to_set(&graph.select(Label::acquires));
    released.compose(&rf.transitive()).compose(&acquired)
}

/// `fr^dp = [dom(dp) ∪ R*] ; fr`.
fn observed_fr(graph: &ExecutionGraph) -> Relation {
    let mut observed = graph.dp().domain();
    for event in graph.select(|label| matches!(label, Label::ReadStar { .. })).iter() {
        observed.insert(event);
    }
    fr(graph).from_set(&observed)
}

/// A cycle with the fewest edges, found by a breadth-first search from every event; where two kinds of
/// edge join the same events, the plainer one is named.
fn shortest_cycle(graph: &ExecutionGraph, fr: Relation) -> Option<Cycle> {
    let edges = [
        (EdgeKind::Po, graph.po()),
        (EdgeKind::Rf, graph.rf()),
        (EdgeKind::Mo, graph.mo()),
        (EdgeKind::Fr, fr),
    ];
    let mut shortest: Option<Cycle> = None;
    for start in graph.ids() {
        let most = shortest.as_ref().map_or(graph.len(), |cycle| cycle.len() - 1);
        shortest = cycle_through(start, graph, &edges, most).or(shortest);
    }
    shortest
}

/// A shortest cycle through `start`, if there is one with at most so many edges.
fn cycle_through(
    start: EventId,
    graph: &ExecutionGraph,
    edges: &[(EdgeKind, Relation)],
    most: usize,
) -> Option<Cycle> {
    let mut unseen = EventSet::from_members(graph.len(), graph.ids());
    let mut reached_by: Vec<Option<(EventId, EdgeKind)>> = vec![None; graph.len()];
    let mut frontier = vec![start];
    for _ in 0..most {
        let mut next = Vec::new();
        for (kind, relation) in edges {
            for &from in &frontier {
                let known = next.len();
                relation.take_successors(from, &mut unseen, &mut next);
                for to in &next[known..] {
                    reached_by[to.index()] = Some((from, *kind));
                }
            }
        }
        frontier = next;
        if frontier.is_empty() || reached_by[start.index()].is_some() {
            break;
        }
    }
    reached_by[start.index()]?;
    let mut cycle = Vec::new();
    let mut at = start;
    while let Some((from, kind)) = reached_by[at.index()] {
        cycle.push((from, kind));
        at = from;
        if at == start {
            break;
        }
    }
    cycle.reverse();
    Some(cycle)
}

#[cfg(test)]
mod tests {
    use super::super::litmus::*;
    use super::super::run::Execution;
    use super::*;
    use ir::{FenceMode, Instr, Loc, Program, Tid};

    /// Runs threads one step each in the given order; an access takes the write in this position of
    /// its location's modification order, other steps ignore it.
    fn run(program: &Program, steps: &[(u32, usize)]) -> ExecutionGraph {
        let mut execution = Execution::initial(program);
        for &(tid, position) in steps {
            let tid = Tid(tid);
            execution = match execution.next(program, tid) {
                super::super::run::Next::Access(access) => {
                    let write = execution.graph.writes_to(access.loc)[position];
                    execution.access(program, tid, write).expect("the value fits")
                }
                _ => execution.local_steps(program, tid).remove(0),
            };
        }
        execution.graph
    }

    fn message_passing(stronger: bool) -> Program {
        let (read, write) = if stronger { (ACQ, REL) } else { (RLX, WRLX) };
        program([
            vec![store(X, 1, WRLX), store(Y, 1, write)],
            vec![load(A, Y, read), load(B, X, RLX), assert(B)],
        ])
    }

    /// The stale outcome of message passing: with release/acquire it violates read coherence (Ex. 3.6),
    /// without it is a robustness violation (Ex. 4.2), observable only once something depends on it.
    #[test]
    fn message_passing_stale() {
        let stale = [(0, 0), (0, 0), (1, 1), (1, 0)];
        let graph = run(&message_passing(true), &stale);
        assert_eq!(violation(&graph), Some(Axiom::ReadCoherence));

        let program = message_passing(false);
        let graph = run(&program, &stale);
        assert_eq!(violation(&graph), None);
        assert!(sw(&graph).is_empty());
        let [w_x, w_y] = *graph.thread_events(Tid(0)) else { panic!() };
        let [r_y, r_x] = *graph.thread_events(Tid(1)) else { panic!() };
        assert!(fr(&graph).pairs().eq([(r_x, w_x)]));
        let cycle = sc_cycle(&graph).expect("not SC");
        let expected =
            [(w_x, EdgeKind::Po), (w_y, EdgeKind::Rf), (r_y, EdgeKind::Po), (r_x, EdgeKind::Fr)];
        assert_eq!(cycle, expected);
        assert_eq!(observational_cycle(&graph), None);

        let observed = run(&program, &[&stale[..], &[(1, 0)]].concat());
        assert_eq!(observational_cycle(&observed), Some(expected.to_vec()));
    }

    /// Fences synchronise as strongly as accesses do, through relaxed accesses around them.
    #[test]
    fn synchronisation_through_fences() {
        let program = program([
            vec![store(X, 1, WRLX), fence(FenceMode::Rel), store(Y, 1, WRLX)],
            vec![load(A, Y, RLX), fence(FenceMode::Acq), load(B, X, RLX)],
        ]);
        let graph = run(&program, &[(0, 0), (0, 0), (0, 0), (1, 1), (1, 0), (1, 0)]);
        let (release, acquire) = (graph.thread_events(Tid(0))[1], graph.thread_events(Tid(1))[1]);
        assert!(sw(&graph).pairs().eq([(release, acquire)]));
        assert_eq!(violation(&graph), Some(Axiom::ReadCoherence));
    }

    /// A release sequence goes on through an RMW of another thread, but not through a plain write
    /// (C++20).
    #[test]
    fn release_sequences_go_through_updates_only() {
        let middle = |instr: Instr| {
            program([
                vec![store(X, 1, WRLX), store(Y, 1, REL)],
                vec![instr],
                vec![load(A, Y, ACQ), load(B, X, RLX)],
            ])
        };
        let stale = [(0, 0), (0, 0), (1, 1), (2, 2), (2, 0)];
        let through_update = run(&middle(fadd(A, Y, 1, RLX, WRLX)), &stale);
        assert_eq!(violation(&through_update), Some(Axiom::ReadCoherence));
        let through_write = run(&middle(store(Y, 2, WRLX)), &stale);
        assert_eq!(violation(&through_write), None);
    }

    /// Coherence without any synchronisation: a thread never sees a location go back.
    #[test]
    fn coherence_per_location() {
        let read_read = program([vec![store(X, 1, WRLX)], vec![load(A, X, RLX), load(B, X, RLX)]]);
        let graph = run(&read_read, &[(0, 0), (1, 1), (1, 0)]);
        assert_eq!(violation(&graph), Some(Axiom::ReadCoherence));

        let write_write = program([vec![store(X, 1, WRLX), store(X, 2, WRLX)]]);
        let graph = run(&write_write, &[(0, 0), (0, 0)]);
        assert_eq!(violation(&graph), Some(Axiom::WriteCoherence));

        let read_write =
            program([vec![store(X, 1, WRLX)], vec![load(A, X, RLX), store(X, 2, WRLX)]]);
        let graph = run(&read_write, &[(0, 0), (1, 1), (1, 0)]);
        assert_eq!(violation(&graph), Some(Axiom::WriteCoherence));
    }

    /// Two updates cannot read from the same write, nor a write come between an update and its source.
    #[test]
    fn updates_are_atomic() {
        let two = program([vec![fadd(A, X, 1, RLX, WRLX)], vec![fadd(A, X, 1, RLX, WRLX)]]);
        assert_eq!(violation(&run(&two, &[(0, 0), (1, 0)])), Some(Axiom::Atomicity));
        assert_eq!(violation(&run(&two, &[(0, 0), (1, 1)])), None);
        let between = program([vec![fadd(A, X, 1, RLX, WRLX)], vec![store(X, 5, WRLX)]]);
        assert_eq!(violation(&run(&between, &[(0, 0), (1, 0)])), Some(Axiom::Atomicity));
    }

    /// RC20's SC fences are three events on a hidden location, totally ordered by happens-before.
    #[test]
    fn sc_fences_are_ordered() {
        let sides =
            |mine, other| vec![store(mine, 1, WRLX), fence(FenceMode::Sc), load(A, other, RLX)];
        let program = program([sides(X, Y), sides(Y, X)]).rc20();
        let both_stale =
            [&[(0, 0); 4][..], &[(1, 0), (1, 0), (1, 1), (1, 0)], &[(0, 0), (1, 0)]].concat();
        let graph = run(&program, &both_stale);
        assert_eq!(graph.location_count(), 5);
        let fences: Vec<_> = graph.writes_to(Loc(4)).to_vec();
        assert!(hb(&graph).contains(fences[1], fences[2]));
        assert_eq!(violation(&graph), Some(Axiom::ReadCoherence));
    }

    /// Store buffering is stale on both sides; either read alone is harmless.
    #[test]
    fn store_buffering() {
        let program = program([
            vec![store(X, 1, REL), load(A, Y, ACQ)],
            vec![store(Y, 1, REL), load(A, X, ACQ)],
        ]);
        let both = run(&program, &[(0, 0), (1, 0), (0, 0), (1, 0)]);
        assert!(is_consistent(&both) && !is_sc_consistent(&both));
        assert_eq!(sc_cycle(&both).expect("a cycle").len(), 4);
        assert!(is_sc_consistent(&run(&program, &[(0, 0), (0, 0), (1, 0), (1, 1)])));
    }

    /// Two na accesses race unless happens-before orders them; initial writes never race.
    #[test]
    fn races_need_an_unordered_write() {
        use ir::{ReadMode, WriteMode};
        let threads = |write, read| {
            program([
                vec![store(N, 1, WriteMode::Na), store(X, 1, write)],
                vec![wait(X, 1, read), load(A, N, ReadMode::Na)],
            ])
        };
        let steps = [(0, 0), (0, 0), (1, 1), (1, 1)];
        let graph = run(&threads(WRLX, ACQ), &steps);
        let (write, read) = (graph.thread_events(Tid(0))[0], graph.thread_events(Tid(1))[1]);
        assert_eq!(races(&graph), [(write, read)]);
        assert_eq!(races(&run(&threads(REL, ACQ), &steps)), []);
        assert_eq!(races(&run(&threads(WRLX, RLX), &steps[..3])), []);
    }

    /// A tainted read leaves the thread as unaware as it was before (Def. 4.13).
    #[test]
    fn tainted_reads_synchronise_with_nothing() {
        let program = message_passing(true);
        let graph = run(&program, &[(0, 0), (0, 0), (1, 1)]);
        let read = graph.thread_events(Tid(1))[0];
        let write = graph.thread_events(Tid(0))[0];
        assert!(hb(&graph).contains(write, read));
        let tainted = EventSet::from_members(graph.len(), [read]);
        assert!(!hb_untainted(&graph, &tainted).contains(write, read));
        assert!(rf_untainted(&graph, &tainted).is_empty());
    }
}
