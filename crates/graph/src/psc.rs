//! The order of `sc` events: what RC11 asks of seq_cst accesses and SC fences (Lahav, Vafeiadis, Kang,
//! Hur and Dreyer, PLDI 2017, section 4).
//!
//! In an execution that RC11 allows, some total order of the `sc` events agrees with *partial SC*:
//!
//! ```text
//! eco      = (rf ∪ mo ∪ fr)⁺
//! scb      = po ∪ po≠loc ; hb ; po≠loc ∪ hb|loc ∪ mo ∪ fr
//! psc_base = ([E^sc] ∪ [F^sc] ; hb?) ; scb ; ([E^sc] ∪ hb? ; [F^sc])
//! psc_F    = [F^sc] ; (hb ∪ hb ; eco ; hb) ; [F^sc]
//! ```
//!
//! That is, `psc_base ∪ psc_F` is acyclic. `po≠loc` holds between events of a thread that do not access
//! the same location; fences access none. Control events are no events of RC11 and are left out of it.
//!
//! A graph without `sc` events has no such order, and RC11 is RC20 there. RC20's own SC fences are
//! updates of a hidden location, not `sc` events ([`ir::Program::rc20`]).

use super::event::{EventId, ExecutionGraph, Label};
use super::relation::{EventSet, Relation};
use ir::FenceMode;

fn is_sc_fence(label: &Label) -> bool {
    *label == Label::Fence(FenceMode::Sc)
}

/// The relations that the order of `sc` events is made of.
pub(crate) struct Basis {
    pub(crate) po: Relation,
    pub(crate) rf: Relation,
    pub(crate) mo: Relation,
    pub(crate) fr: Relation,
    pub(crate) hb: Relation,
}

/// Is the partial order of these `sc` events of the graph acyclic? The graph must meet the other axioms.
/// `basis` is asked for only if it matters.
pub(crate) fn is_acyclic(
    graph: &ExecutionGraph,
    events: &EventSet,
    basis: impl FnOnce() -> Basis,
) -> bool {
    // An edge from an event to itself would contradict coherence.
    let single = events.iter().nth(1).is_none();
    single || psc(graph, events, &basis()).is_acyclic()
}

/// `psc_base ∪ psc_F`.
fn psc(graph: &ExecutionGraph, events: &EventSet, basis: &Basis) -> Relation {
    let Basis { po, rf, mo, fr, hb } = basis;
    let elsewhere = filtered(graph, po, |a, b| {
        *a != Label::Ctrl && *b != Label::Ctrl && (a.loc() != b.loc() || a.loc().is_none())
    });
    let here = filtered(graph, hb, |a, b| a.loc().is_some() && a.loc() == b.loc());
    let scb = po.union(&elsewhere.compose(hb).compose(&elsewhere)).union(&here).union(mo).union(fr);
    let fences = graph.select(is_sc_fence);
    let itself = Relation::identity_on(graph.len(), events);
    let maybe_hb = hb.reflexive();
    let base = itself
        .union(&maybe_hb.from_set(&fences))
        .compose(&scb)
        .compose(&itself.union(&maybe_hb.to_set(&fences)));
    let eco = rf.union(mo).union(fr).transitive();
    let fence = hb.union(&hb.compose(&eco).compose(hb)).restrict(&fences, &fences);
    base.union(&fence)
}

fn filtered(
    graph: &ExecutionGraph,
    relation: &Relation,
    keep: impl Fn(&Label, &Label) -> bool,
) -> Relation {
    let label = |id: EventId| &graph.event(id).label;
    let pairs = relation.pairs().filter(|&(a, b)| keep(label(a), label(b)));
    Relation::from_pairs(graph.len(), pairs)
}

#[cfg(test)]
mod tests {
    use super::super::litmus::*;
    use super::super::{Limits, is_robust, outcomes};
    use ir::{FenceMode, Instr, Loc, Program, ReadMode, WriteMode};

    const SC: ReadMode = ReadMode::Sc;
    const WSC: WriteMode = WriteMode::Sc;

    fn robust(program: &Program) -> bool {
        let answer = is_robust(program, &Limits::default());
        assert!(!answer.bounded);
        answer.holds()
    }

    fn fenced(first: Instr, second: Instr) -> Vec<Instr> {
        vec![first, fence(FenceMode::Sc), second]
    }

    /// Store buffering, with an order for each access.
    fn store_buffering(w0: WriteMode, r0: ReadMode, w1: WriteMode, r1: ReadMode) -> Program {
        program([vec![store(X, 1, w0), load(A, Y, r0)], vec![store(Y, 1, w1), load(A, X, r1)]])
    }

    #[test]
    fn store_buffering_needs_all_four() {
        assert!(robust(&store_buffering(WSC, SC, WSC, SC)));
        for weak in [
            store_buffering(REL, SC, WSC, SC),
            store_buffering(WSC, ACQ, WSC, SC),
            store_buffering(WSC, SC, REL, SC),
            store_buffering(WSC, SC, WSC, ACQ),
        ] {
            assert!(!robust(&weak));
        }
        let side = |mine: Loc, other: Loc| fenced(store(mine, 1, WRLX), load(A, other, RLX));
        let both = program([side(X, Y), side(Y, X)]);
        assert!(robust(&both) && robust(&both.rc20()));
        assert!(!robust(&store_buffering(WSC, SC, WSC, SC).rc20()), "RC20 has no sc accesses");
    }

    /// A read of the own write in between: x86 shows it, and so must RC11 (section 2 of the paper).
    #[test]
    fn store_buffering_with_own_reads() {
        let side = |mine, other| vec![store(mine, 1, WSC), load(A, mine, ACQ), load(B, other, ACQ)];
        assert!(!robust(&program([side(X, Y), side(Y, X)])));
    }

    #[test]
    fn two_plus_two_writes() {
        let with = |first: WriteMode, second: WriteMode| {
            program([
                vec![store(X, 1, first), store(Y, 2, WSC)],
                vec![store(Y, 1, WSC), store(X, 2, second)],
            ])
        };
        assert!(robust(&with(WSC, WSC)));
        assert!(!robust(&with(REL, WSC)) && !robust(&with(WSC, REL)));
        let side = |one, two| fenced(store(one, 1, WRLX), store(two, 2, WRLX));
        assert!(robust(&program([side(X, Y), side(Y, X)])));
    }

    #[test]
    fn independent_reads_of_independent_writes() {
        let with = |mode: ReadMode| {
            program([
                vec![store(X, 1, WSC)],
                vec![store(Y, 1, WSC)],
                vec![load(A, X, mode), load(B, Y, mode)],
                vec![load(A, Y, mode), load(B, X, mode)],
            ])
        };
        assert!(robust(&with(SC)));
        assert!(!robust(&with(ACQ)), "acquire readers may disagree");
        let reader = |one, two| fenced(load(A, one, RLX), load(B, two, RLX));
        let fences =
            program([vec![store(X, 1, WRLX)], vec![store(Y, 1, WRLX)], reader(X, Y), reader(Y, X)]);
        assert!(robust(&fences));
    }

    /// Z6.U, with sc accesses as the paper's Fig. 3 has them, and with fences.
    #[test]
    fn z6_u() {
        let accesses = program([
            vec![store(X, 1, WSC), store(Y, 1, REL)],
            vec![fadd(A, Y, 1, SC, WSC), load(B, Y, RLX)],
            vec![store(Y, 3, WSC), load(A, X, SC)],
        ]);
        assert!(!robust(&accesses));
        let fences = program([
            fenced(store(X, 1, WRLX), store(Y, 1, WRLX)),
            fenced(load(A, Y, RLX), store(Z, 1, WRLX)),
            fenced(store(Z, 2, WRLX), load(A, X, RLX)),
        ]);
        assert!(robust(&fences));
    }

    /// RC20's fences are stronger than RC11's here: their updates synchronise.
    #[test]
    fn psc_ar() {
        let native = program([
            fenced(load(A, Y, RLX), load(B, Z, RLX)),
            fenced(store(Z, 1, WRLX), store(X, 1, WRLX)),
            vec![load(A, X, RLX), jump(A, 3), jump(A, 3), store_reg(Y, A, WRLX)],
        ]);
        assert!(!robust(&native));
        assert!(robust(&native.rc20()));
    }

    /// And weaker here: an update has a place in the order of all updates even if nothing ties it.
    #[test]
    fn a_fence_before_everything_and_one_after() {
        let native = program([
            vec![fence(FenceMode::Sc), store(Y, 1, WRLX)],
            vec![store(X, 1, WRLX), fence(FenceMode::Sc)],
            vec![load(A, Y, RLX), store(X, 2, WRLX)],
        ]);
        assert!(robust(&native));
        assert!(!robust(&native.rc20()));
    }

    /// A control event is no event of RC11: with one between the two reads of x, the order of `sc` events
    /// would put the write of y before the second.
    #[test]
    fn control_events_order_nothing() {
        let reader =
            |between: Vec<Instr>| [vec![load(A, X, ACQ)], between, vec![load(B, X, SC)]].concat();
        for between in [vec![], vec![jump(A, 2)]] {
            let program = program([
                vec![store(Y, 1, WSC), store(X, 1, REL)],
                reader(between),
                vec![store(X, 2, WSC), load(A, Y, SC)],
            ]);
            let outcomes = outcomes(&program, &Limits::default()).outcomes;
            let stale = outcomes.iter().any(|end| {
                let registers = |t: usize| &end.state.threads[t].registers[..];
                registers(1) == [1, 1] && registers(2)[0] == 0 && end.state.memory[0] == 2
            });
            assert!(stale);
        }
        let fenced = program([
            vec![store(Y, 1, WSC), store(X, 1, REL)],
            reader(vec![fence(FenceMode::Rel)]),
            vec![store(X, 2, WSC), load(A, Y, SC)],
        ]);
        let outcomes = outcomes(&fenced, &Limits::default()).outcomes;
        let stale = outcomes.iter().any(|end| {
            let registers = |t: usize| &end.state.threads[t].registers[..];
            registers(1) == [1, 1] && registers(2)[0] == 0 && end.state.memory[0] == 2
        });
        assert!(!stale, "a fence is an event that accesses no location");
    }
}
