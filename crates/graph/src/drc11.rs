//! dRC11: RC11 without fences, with spaces and partial modes (section 4 of Singh and Lahav, POPL
//! 2023).
//!
//! `sw_base = [W^rel] ; rf⁺ ; [R^acq]` synchronises everything, `sw_X = [W_X^⊒prel] ; rf⁺ ; [R_X^⊒pacq]`
//! the variables of space X only, and there is a happens-before for every space:
//! `hb_X = (po ∪ sw_base ∪ sw_X)⁺`. Accesses to a variable must be coherent with that of its space.
//!
//! The judge of `memory::rc11_views`.

use super::axioms::{Axiom, fr};
use super::event::{EventId, ExecutionGraph, Label};
use super::relation::{EventSet, Relation};
use ir::{ReadMode, Space, WriteMode};

fn read_mode(label: &Label) -> Option<ReadMode> {
    match label {
        Label::Read { mode, .. } | Label::ReadStar { mode, .. } => Some(*mode),
        Label::Rmw { read_mode, .. } => Some(*read_mode),
        _ => None,
    }
}

fn write_mode(label: &Label) -> Option<WriteMode> {
    match label {
        Label::Write { mode, .. } => Some(*mode),
        Label::Rmw { write_mode, .. } => Some(*write_mode),
        _ => None,
    }
}

/// The accesses to variables of a space.
fn accesses(graph: &ExecutionGraph, space_of: &[Space], space: Space) -> EventSet {
    graph.select(|label| label.loc().is_some_and(|loc| space_of[loc.index()] == space))
}

/// `hb_X`: happens-before for the variables of a space.
pub fn hb(graph: &ExecutionGraph, space_of: &[Space], space: Space) -> Relation {
    let chain = graph.rf().transitive();
    let own = |label: &Label| label.loc().is_some_and(|loc| space_of[loc.index()] == space);
    let released = graph.select(|label| write_mode(label) >= Some(WriteMode::Rel));
    let acquired = graph.select(|label| read_mode(label) >= Some(ReadMode::Acq));
    let part_released =
        graph.select(|label| own(label) && write_mode(label) >= Some(WriteMode::Prel));
    let part_acquired =
        graph.select(|label| own(label) && read_mode(label) >= Some(ReadMode::Pacq));
    let base = chain.restrict(&released, &acquired);
    let partial = chain.restrict(&part_released, &part_acquired);
    graph.po().union(&base).union(&partial).transitive()
}

/// The first axiom that the graph violates (Def. 4.9), if it violates any.
pub fn violation(graph: &ExecutionGraph, space_of: &[Space], spaces: usize) -> Option<Axiom> {
    let (po, rf, mo, fr) = (graph.po(), graph.rf(), graph.mo(), fr(graph));
    let maybe_rf = rf.reflexive();
    for space in (0..spaces as u8).map(Space) {
        let own = accesses(graph, space_of, space);
        let hb = hb(graph, space_of, space);
        if !fr.from_set(&own).compose(&maybe_rf).compose(&hb).is_irreflexive() {
            return Some(Axiom::ReadCoherence);
        }
        if !mo.from_set(&own).compose(&maybe_rf).compose(&hb).is_irreflexive() {
            return Some(Axiom::WriteCoherence);
        }
    }
    if !mo.compose(&rf).is_irreflexive() || !fr.compose(&mo).is_irreflexive() {
        return Some(Axiom::Atomicity);
    }
    (!po.union(&rf).is_acyclic()).then_some(Axiom::PoRf)
}

/// Does dRC11 allow the graph?
pub fn is_consistent(graph: &ExecutionGraph, space_of: &[Space], spaces: usize) -> bool {
    violation(graph, space_of, spaces).is_none()
}

/// Is there a race (Def. 4.12): two accesses to a variable of space X, at least one of them
/// non-atomic and at least one a write, that `hb_X` leaves unordered?
pub fn is_racy(graph: &ExecutionGraph, space_of: &[Space], spaces: usize) -> bool {
    let conflict = |a: EventId, b: EventId| {
        let (a, b) = (&graph.event(a).label, &graph.event(b).label);
        a.loc() == b.loc() && (a.writes() || b.writes()) && (a.is_non_atomic() || b.is_non_atomic())
    };
    (0..spaces as u8).map(Space).any(|space| {
        let own = accesses(graph, space_of, space);
        let hb = hb(graph, space_of, space);
        own.iter().any(|a| {
            own.iter().any(|b| a < b && conflict(a, b) && !hb.contains(a, b) && !hb.contains(b, a))
        })
    })
}
