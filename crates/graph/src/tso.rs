//! Total store order on execution graphs: x86 as Owens, Sarkar and Sewell (TPHOLs 2009) and, in this
//! form, Alglave, Maranget and Tautschnig (TOPLAS 2014) define it.
//!
//! A graph is consistent if
//!
//! 1. accesses to each location are coherent: `po|loc ∪ rf ∪ mo ∪ fr` has no cycle;
//! 2. nothing comes between the read and the write of an update;
//! 3. `ppo ∪ rfe ∪ mo ∪ fr` has no cycle, where `ppo` is program order without the pairs of a store
//!    and a later load, and `rfe` is reads-from between threads.
//!
//! Updates are locked instructions: they keep their place. So does a compare-and-swap that fails,
//! and a load cannot overtake an `sc` store, which is compiled with a fence behind it. An SC fence is an update
//! of the hidden location, and that is what it is on the machine: a full fence. The order of the
//! hidden location's updates adds no constraint: they take effect with empty buffers, one at a time, and
//! each execution has an order of them that fits.
//!
//! `memory::store_buffer` is the same model as a machine; `check::outcomes` compares the two.

use crate::axioms::fr;
use crate::event::{EventId, ExecutionGraph, Label};
use crate::relation::Relation;
use ir::{Instr, Program, WriteMode};

/// Does TSO allow the graph of an execution of `program`? Prefixes of what it allows it allows too.
pub fn is_tso_consistent(program: &Program, graph: &ExecutionGraph) -> bool {
    let (po, rf, mo, fr) = (graph.po(), graph.rf(), graph.mo(), fr(graph));
    let communication = rf.union(&mo).union(&fr);
    let loc = |id: EventId| graph.event(id).label.loc();
    let same_location = po.pairs().filter(|&(a, b)| loc(a).is_some() && loc(a) == loc(b));
    let coherent =
        Relation::from_pairs(graph.len(), same_location).union(&communication).is_acyclic();
    if !coherent || !fr.compose(&mo).is_irreflexive() {
        return false;
    }
    let waits = |id: EventId| {
        let event = graph.event(id);
        matches!(event.label, Label::Write { mode, .. } if mode != WriteMode::Sc)
    };
    let overtakes = |id: EventId| {
        let event = graph.event(id);
        let locked = event
            .step
            .is_some_and(|(tid, pc)| matches!(program.step(tid, pc).instr, Instr::Cas { .. }));
        !locked && matches!(event.label, Label::Read { .. } | Label::ReadStar { .. })
    };
    let is_access = |id: EventId| loc(id).is_some();
    let kept =
        po.pairs().filter(|&(a, b)| is_access(a) && is_access(b) && !(waits(a) && overtakes(b)));
    let ppo = Relation::from_pairs(graph.len(), kept);
    let thread = |id: EventId| graph.event(id).thread();
    let external =
        Relation::from_pairs(graph.len(), rf.pairs().filter(|&(a, b)| thread(a) != thread(b)));
    ppo.union(&external).union(&mo).union(&fr).is_acyclic()
}
