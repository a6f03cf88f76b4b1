//! Which steps of a thread lie on a cycle of its control flow.
//!
//! A thread may come back to such a step. A fence there costs more than one outside of loops (`check::fix::fences`), and a
//! reduction that rests on threads getting on must not rest on it (`check::weak`).

use ir::program::Thread;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

/// Per program counter: may control come back to it?
pub fn on_cycle(thread: &Thread) -> Vec<bool> {
    let steps = thread.code.iter().enumerate();
    let edges: Vec<(u32, u32)> = steps
        .flat_map(|(pc, step)| step.successors().map(move |next| (pc as u32, next.0)))
        .collect();
    let mut graph = DiGraph::<(), ()>::from_edges(&edges);
    while graph.node_count() < thread.code.len() {
        graph.add_node(());
    }
    let mut on_cycle = vec![false; thread.code.len()];
    for component in kosaraju_scc(&graph) {
        let comes_back = |at: NodeIndex| component.len() > 1 || graph.contains_edge(at, at);
        for &at in &component {
            on_cycle[at.index()] = comes_back(at);
        }
    }
    on_cycle
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::expr::Expr;
    use ir::ids::{Origin, Pc};
    use ir::program::{Instr, Step};

    /// Would catch a step behind a loop, or before it, that is taken for one of the loop.
    #[test]
    fn loops_and_what_is_around_them() {
        let jump = |to: &[u32]| Instr::Jump {
            cond: Expr::Reg(ir::ids::Reg(0)),
            targets: to.iter().map(|&pc| Pc(pc)).collect(),
        };
        // 0 → 1 → 2 → 1, 2 → 3; 3 → 3, 3 → 4; 4 ends; 5 is not reached.
        let code = [Instr::Skip, Instr::Skip, jump(&[1]), jump(&[3]), Instr::Halt, Instr::Skip];
        let step = |(pc, instr): (u32, Instr)| Step { instr, next: Pc(pc + 1), origin: Origin(0) };
        let mut steps: Vec<Step> = (0u32..).zip(code).map(step).collect();
        steps[5].next = Pc(4);
        let thread = Thread {
            name: "t".into(),
            replica: None,
            registers: vec!["r".into()],
            entry: Pc(0),
            code: steps,
        };
        assert_eq!(on_cycle(&thread), [false, true, true, true, false, false]);
    }
}
