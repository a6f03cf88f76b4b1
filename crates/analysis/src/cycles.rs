//! Cycles of a thread's control flow: which steps lie on one, and its natural loops.
//!
//! A thread may come back to a step on a cycle. A fence there costs more than one outside of loops (`check::fix`), and a
//! reduction that rests on threads getting on must not rest on it (`check::weak`). Rounds of natural loops that only read are
//! left out by `memory::rc11_views`.

use ir::ids::Pc;
use ir::program::Thread;
use petgraph::Direction;
use petgraph::algo::{dominators, kosaraju_scc};
use petgraph::graph::{DiGraph, NodeIndex};

/// The control flow of a thread, a node for each program counter.
fn control_flow(thread: &Thread) -> DiGraph<(), ()> {
    let steps = thread.code.iter().enumerate();
    let edges: Vec<(u32, u32)> = steps
        .flat_map(|(pc, step)| step.successors().map(move |next| (pc as u32, next.0)))
        .collect();
    let mut graph = DiGraph::<(), ()>::from_edges(&edges);
    while graph.node_count() < thread.code.len() {
        graph.add_node(());
    }
    graph
}

/// A way back to the head of a loop that can be entered at its head only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NaturalLoop {
    /// Every path from the thread's entry to `last` leads through it.
    pub head: Pc,
    /// The step behind which control is at the head again.
    pub last: Pc,
    /// The steps on paths from `head` to `last` that do not come back to `head` on the way, both ends included, in order.
    pub steps: Vec<Pc>,
}

/// The natural loops of a thread, one for each way back.
pub fn natural_loops(thread: &Thread) -> Vec<NaturalLoop> {
    let graph = control_flow(thread);
    let node = |pc: Pc| NodeIndex::new(pc.index());
    let dominators = dominators::simple_fast(&graph, node(thread.entry));
    let mut component = vec![0; graph.node_count()];
    for (number, members) in kosaraju_scc(&graph).iter().enumerate() {
        members.iter().for_each(|at| component[at.index()] = number);
    }
    let mut loops = Vec::new();
    for (last, step) in thread.code.iter().enumerate() {
        for head in step.successors() {
            let (from, to) = (NodeIndex::new(last), node(head));
            let dominates =
                || dominators.dominators(from).is_some_and(|mut of| of.any(|d| d == to));
            if component[last] != component[head.index()] || !dominates() {
                continue;
            }
            // Backwards from the last step. What is not reached at all may lead there, too, and is no part of the loop.
            let mut steps = vec![to];
            let mut inside = vec![false; graph.node_count()];
            inside[to.index()] = true;
            let mut open = vec![from];
            while let Some(at) = open.pop() {
                let is_reached =
                    at == node(thread.entry) || dominators.immediate_dominator(at).is_some();
                if is_reached && !std::mem::replace(&mut inside[at.index()], true) {
                    steps.push(at);
                    open.extend(graph.neighbors_directed(at, Direction::Incoming));
                }
            }
            let mut steps: Vec<Pc> = steps.into_iter().map(|at| Pc::from(at.index())).collect();
            steps.sort_unstable();
            loops.push(NaturalLoop { head, last: Pc::from(last), steps });
        }
    }
    loops
}

/// Per program counter: may control come back to it?
pub fn on_cycle(thread: &Thread) -> Vec<bool> {
    let graph = control_flow(thread);
    let mut on_cycle = vec![false; thread.code.len()];
    for component in kosaraju_scc(&graph) {
        let comes_back = |at: NodeIndex| component.len() > 1 || graph.contains_edge(at, at);
        for &at in &component {
            on_cycle[at.index()] = comes_back(at);
        }
    }
    on_cycle
}

/// Per program counter: how many loops it is in, up to `most`. A loop that is in no other and that its thread never leaves does not
/// count.
///
/// A loop is a set of steps from each of which control may come to each other; without its head, the first step at which
/// control comes in, what is left of it may have loops inside.
pub fn loop_depths(thread: &Thread, most: u32) -> Vec<u32> {
    const NOWHERE: usize = usize::MAX;
    let mut depths = vec![0; thread.code.len()];
    // For the steps that are looked at: their number among these.
    let mut number = vec![NOWHERE; thread.code.len()];
    let mut open: Vec<(Vec<usize>, u32, bool)> = vec![((0..thread.code.len()).collect(), 0, true)];
    while let Some((inside, depth, outermost)) = open.pop() {
        inside.iter().enumerate().for_each(|(k, pc)| number[*pc] = k);
        let successors = |k: usize| {
            let all = thread.code[inside[k]].successors().map(|next| number[next.index()]);
            all.filter(|next| *next != NOWHERE)
        };
        let mut graph = DiGraph::<(), ()>::with_capacity(inside.len(), inside.len());
        for _ in &inside {
            graph.add_node(());
        }
        for k in 0..inside.len() {
            for next in successors(k) {
                graph.add_edge(NodeIndex::new(k), NodeIndex::new(next), ());
            }
        }
        let components = kosaraju_scc(&graph);
        let mut component = vec![0; inside.len()];
        for (c, members) in components.iter().enumerate() {
            members.iter().for_each(|at| component[at.index()] = c);
        }
        let (mut entered, mut left) = (vec![false; inside.len()], vec![false; components.len()]);
        for (k, pc) in inside.iter().enumerate() {
            entered[k] |= *pc == thread.entry.index();
            for next in successors(k).filter(|next| component[*next] != component[k]) {
                entered[next] = true;
                left[component[k]] = true;
            }
        }
        for (c, members) in components.iter().enumerate() {
            if members.len() == 1 && !graph.contains_edge(members[0], members[0]) {
                continue;
            }
            let depth = depth + u32::from(!outermost || left[c]);
            members.iter().for_each(|at| depths[inside[at.index()]] = depth);
            let mut rest: Vec<usize> = members.iter().map(|at| at.index()).collect();
            rest.sort_unstable();
            if let Some(head) = rest.iter().position(|k| entered[*k])
                && depth < most
            {
                rest.remove(head);
                open.push((rest.into_iter().map(|k| inside[k]).collect(), depth, false));
            }
        }
        inside.iter().for_each(|pc| number[*pc] = NOWHERE);
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::expr::Expr;
    use ir::ids::Origin;
    use ir::program::{Instr, Step};

    fn jump(to: &[u32]) -> Instr {
        let targets = to.iter().map(|&pc| Pc(pc)).collect();
        Instr::Jump { cond: Expr::Reg(ir::ids::Reg(0)), targets }
    }

    /// Steps go on to the next, and jumps elsewhere besides; the last but one ends, and leads nowhere.
    fn thread(code: impl IntoIterator<Item = Instr>) -> Thread {
        let step = |(pc, instr): (u32, Instr)| Step { instr, next: Pc(pc + 1), origin: Origin(0) };
        let mut code: Vec<Step> = (0u32..).zip(code).map(step).collect();
        let end = code.len() - 2;
        code[end + 1].next = Pc::from(end);
        let (name, registers) = ("t".into(), vec!["r".into()]);
        Thread { name, replica: None, registers, entry: Pc(0), code }
    }

    /// Would catch a step behind a loop, or before it, that is taken for one of the loop.
    #[test]
    fn loops_and_what_is_around_them() {
        // 0 → 1 → 2 → 1, 2 → 3; 3 → 3, 3 → 4; 4 ends; 5 is not reached.
        let code = [Instr::Skip, Instr::Skip, jump(&[1]), jump(&[3]), Instr::Halt, Instr::Skip];
        let thread = thread(code);
        assert_eq!(on_cycle(&thread), [false, true, true, true, false, false]);
    }

    /// Would catch a loop that is not counted, a step behind one that is, an endless one that counts, and time that grows with the
    /// square of the code.
    #[test]
    fn loops_are_nested() {
        let skip = || Instr::Skip;
        // 1 → 2 → 3 → 2, 4 → 1, 5 → 5.
        let nested =
            [skip(), skip(), skip(), jump(&[2]), jump(&[1]), jump(&[5]), Instr::Halt, skip()];
        assert_eq!(loop_depths(&thread(nested.clone()), 4), [0, 1, 2, 2, 1, 1, 0, 0]);
        assert_eq!(loop_depths(&thread(nested), 1), [0, 1, 1, 1, 1, 1, 0, 0]);
        // 1 → 2 → 2, 3 → 1, for ever.
        let mut endless = thread([skip(), skip(), jump(&[2]), skip(), Instr::Halt, skip()]);
        endless.code[3].next = Pc(1);
        assert_eq!(loop_depths(&endless, 4), [0, 0, 1, 0, 0, 0]);
        // Twenty thousand loops one after the other, in one that is around them all.
        let many = (0..40_000).map(|k| jump(&[if k % 2 == 0 { k } else { 0 }]));
        let depths = loop_depths(&thread(many.chain([Instr::Halt, skip()])), 4);
        let expected = |k: u32| if k.is_multiple_of(2) && k > 0 { 2 } else { 1 };
        assert!((0..40_000).all(|k| depths[k as usize] == expected(k)));
    }

    /// Would catch a loop that can be entered elsewhere, a step that only leads there from where nothing comes, and an inner
    /// loop that is left out of the outer one.
    #[test]
    fn natural_loops_are_entered_at_their_head() {
        let all = |code: &[Instr]| -> Vec<(u32, u32, Vec<u32>)> {
            let loops = natural_loops(&thread(code.to_vec())).into_iter();
            loops
                .map(|it| (it.last.0, it.head.0, it.steps.iter().map(|pc| pc.0).collect()))
                .collect()
        };
        let skip = || Instr::Skip;
        // 1 → 2 → 3 → 2, 4 → 1; 6 is not reached.
        let nested = [skip(), skip(), skip(), jump(&[2]), jump(&[1]), Instr::Halt, skip()];
        assert_eq!(all(&nested), [(3, 2, vec![2, 3]), (4, 1, vec![1, 2, 3, 4])]);
        // 0 → 2 as well, so 1 is not on every path to 3.
        let entered = [jump(&[2]), skip(), skip(), jump(&[1]), Instr::Halt, skip()];
        assert_eq!(all(&entered), []);
        // A step that leads back to itself, the first one.
        assert_eq!(all(&[jump(&[0]), Instr::Halt, skip()]), [(0, 0, vec![0])]);
    }
}
