//! From discovered automata to a program that every analysis understands.
//!
//! A node becomes the steps for its action, and what was read selects the node that comes next. The automata were
//! discovered under sequential consistency, so a value that no interleaving reads at a node leads nowhere: whether a
//! weaker memory could produce it is exactly what the analyses look for, and they stop there.
//!
//! **Waiting.** A node that reads and comes back to itself does nothing until it reads something else, so it is a `wait`
//! for the values that let it go on. Which those are is asked of the machine for every value that the location ever
//! holds, also those that no interleaving reads there. A compare-and-exchange whose every failure leads back to itself
//! blocks until it succeeds. Plain reads on the way back to the node change nothing of that if they are
//! made on the way to it, too (`after_plain_reads`).
//!
//! [`cells`] gives cells locations, and those with plain and atomic accesses shadows; [`numbers`] gives values numbers;
//! [`values`] has actions that no instruction is, value by value; [`code`] is code under construction.

mod cells;
mod code;
mod numbers;
mod values;

use crate::action::{Action, Cell, Order, SPURIOUS};
use crate::automaton::NodeId;
use crate::discover::{Undiscovered, World};
use crate::fold::{Merged, fold};
use crate::machine::Pause;
use crate::space::Site;
use crate::value::Word;
use cells::{Cells, access, read_mode, write_mode};
use code::Code;
use ir::shadows::Access;
use ir::{
    Expr, FenceMode, Instr, Loc, LocationKind, Origin, Pc, Place, Program, ReadMode, Reg, Step,
    Thread, Tid, Value, WriteMode,
};
use llvm::{Module, PlaceId};
use numbers::Numbers;
use search::{Limits, Progress};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Plain reads that a loop which waits may make each time round.
const MOST_PLAIN_READS: usize = 16;

/// A program, and what its parts are in the source.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The program.
    pub program: Program,
    /// Where each step comes from, by its origin: from the innermost call outwards.
    pub origins: Vec<Vec<PlaceId>>,
    /// Values that stand for something else than a number, such as an address, and what the user calls it.
    pub values: BTreeMap<Value, String>,
    /// What goes wrong at steps that fail, by their origin.
    pub failures: Vec<(Origin, String)>,
    /// What steps of the thread library do, by their origin.
    pub effects: Vec<(Origin, String)>,
    /// Locations that are no memory of the user's: locks, lives of objects, starts and ends of threads.
    pub internal: Vec<Loc>,
    /// If loops were cut off: after so many rounds.
    pub rounds: Option<u32>,
    /// What the user should know about the answer.
    pub notes: Vec<String>,
}

/// The registers of a thread: what it read last, and what it read from a shadow, which nobody looks at.
const READ: Reg = Reg(0);
const SHADOW: Reg = Reg(1);

struct Lowering<'w> {
    world: &'w mut World,
    limits: Limits,
    cells: Cells,
    numbers: Numbers,
    origins: Vec<Vec<PlaceId>>,
    origin_ids: HashMap<Vec<Site>, Origin>,
    /// Which nodes stand for others that do the same.
    merged: Merged,
    /// From which nodes each node is reached, once each.
    before: HashMap<NodeId, Vec<NodeId>>,
    failures: Vec<(Origin, String)>,
    effects: Vec<(Origin, String)>,
}

/// The program that the automata are.
pub(crate) fn lower(
    world: &mut World,
    limits: Limits,
    every_state: bool,
) -> Result<Lowered, Undiscovered> {
    // Threads that are never started are none: they are left from what was assumed about teams at first.
    let live: Vec<u32> = (0..world.first.len() as u32)
        .filter(|thread| *thread == 0 || world.is_started(*thread))
        .collect();
    let numbers = Numbers::of(world);
    let cells = Cells::of(world, &numbers, &live);
    let merged = match every_state {
        true => Merged::default(),
        false => fold(&mut world.automata),
    };
    for first in &mut world.first {
        *first = merged.of(*first);
    }
    let mut before: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for (id, node) in world.automata.nodes() {
        for (_, to) in &node.next {
            let known = before.entry(*to).or_default();
            if !known.contains(&id) {
                known.push(id);
            }
        }
    }
    let mut lowering = Lowering {
        world,
        limits,
        cells,
        numbers,
        origins: Vec::new(),
        origin_ids: HashMap::new(),
        merged,
        before,
        failures: Vec::new(),
        effects: Vec::new(),
    };
    let mut threads = Vec::new();
    for thread in &live {
        threads.push(lowering.thread(*thread)?);
    }
    number_replicas(&mut threads);
    let Lowering { world, cells, numbers, origins, failures, effects, .. } = lowering;
    let foreseen = match world.lists_values {
        true => cells.foreseen(world, &numbers),
        false => Vec::new(),
    };
    let internal = cells.internal;
    let mut program = Program::new(numbers.domain, cells.locations, threads);
    program.foreseen = foreseen;
    program.spawned = (1..live.len()).map(Tid::from).collect();
    let values = numbers.names;
    let notes = world.machine.notes.clone();
    let rounds = world.machine.most_rounds.filter(|_| world.machine.cut);
    Ok(Lowered { program, origins, values, failures, effects, internal, rounds, notes })
}

/// Threads of the same name are told apart by number.
fn number_replicas(threads: &mut [Thread]) {
    let names: Vec<String> = threads.iter().map(|thread| thread.name.clone()).collect();
    for (k, thread) in threads.iter_mut().enumerate() {
        if names.iter().filter(|name| **name == names[k]).count() > 1 {
            thread.replica =
                Some(names[..k].iter().filter(|name| **name == names[k]).count() as u32);
        }
    }
}

impl Lowering<'_> {
    fn origin(&mut self, sites: &[Site]) -> Origin {
        if let Some(known) = self.origin_ids.get(sites) {
            return *known;
        }
        let module = &self.world.machine.module;
        let places = sites.iter().filter_map(|site| place_of(module, *site)).collect();
        let origin = Origin::from(self.origins.len());
        self.origins.push(places);
        self.origin_ids.insert(sites.to_vec(), origin);
        origin
    }

    /// One more origin at the same place.
    fn another(&mut self, origin: Origin) -> Origin {
        let own = Origin::from(self.origins.len());
        self.origins.push(self.origins[origin.index()].clone());
        own
    }

    /// All values that a cell ever holds, in order of their numbers.
    fn held(&self, cell: Cell) -> Vec<Word> {
        let id = self.world.cells.iter().position(|known| *known == cell);
        let mut words: Vec<Word> =
            id.map_or(Vec::new(), |id| self.world.values[id].iter().copied().collect());
        words.sort_by_key(|word| self.numbers.get(cell, *word));
        words
    }

    fn thread(&mut self, thread: u32) -> Result<Thread, Undiscovered> {
        let first = self.world.first[thread as usize];
        // Numbered from the first node on, so that equal threads get equal code.
        let (mut order, mut seen) = (vec![first], BTreeSet::from([first]));
        let mut at = 0;
        while at < order.len() {
            let mut next = self.world.automata.node(order[at]).next.clone();
            next.sort();
            for (_, to) in next {
                if seen.insert(to) {
                    order.push(to);
                }
            }
            at += 1;
        }
        let mut code = Code::new();
        for id in order {
            // A node has a step for each value that it reads, so this can be the larger part of the work.
            if let Some(spent) = self.limits.budget.spent() {
                let (limit, progress) = (spent.into(), Progress::default());
                return Err(Undiscovered::Limit { limit, progress, busiest: None });
            }
            code.starts.insert(id, Pc::from(code.steps.len()));
            self.node(&mut code, id, thread)?;
        }
        let Code { mut steps, starts, holes, cases: mut chosen } = code;
        chosen.sort_unstable();
        for (pc, value, to) in chosen {
            if let Instr::Switch { cases, .. } = &mut steps[pc].instr {
                cases.push((value, starts[&to]));
            }
        }
        for (pc, to) in holes {
            let target = starts[&to];
            match &mut steps[pc].instr {
                Instr::Jump { targets, .. } => targets.push(target),
                _ => steps[pc].next = target,
            }
        }
        Ok(Thread {
            name: self.world.machine.thread_name(thread),
            replica: None,
            registers: vec!["read".to_string(), "shadow".to_string()],
            code: steps,
            entry: Pc(0),
        })
    }

    fn node(&mut self, code: &mut Code, id: NodeId, thread: u32) -> Result<(), Undiscovered> {
        let node = self.world.automata.node(id);
        let (pause, mut sites) = (node.pause.clone(), node.sites.clone());
        if sites.is_empty() {
            sites.extend(self.world.machine.entry_of(thread));
        }
        let mut next = self.world.automata.node(id).next.clone();
        next.sort();
        let origin = self.origin(&sites);
        let action = match pause {
            Pause::Rest(action) => action,
            Pause::Ended | Pause::Company | Pause::Refuse(_) => {
                code.halt(Instr::Halt, origin);
                return Ok(());
            }
            Pause::Blocked => {
                code.push(Instr::Assume(Expr::Const(0)), origin);
                code.halt(Instr::Halt, origin);
                return Ok(());
            }
            Pause::Fail(failure) => {
                // Each failure has an origin of its own: a statement can go wrong in several ways.
                let own = self.another(origin);
                self.failures.push((own, failure));
                code.push(Instr::Assert(Expr::Const(0)), own);
                code.halt(Instr::Halt, origin);
                return Ok(());
            }
        };
        let origin = match self.world.machine.effect_name(&action) {
            Some(effect) => {
                let own = self.another(origin);
                self.effects.push((own, effect));
                own
            }
            None => origin,
        };
        match action {
            Action::Fence { order } => {
                let mode = match order {
                    Order::Acquire => FenceMode::Acq,
                    Order::Release => FenceMode::Rel,
                    Order::AcqRel => FenceMode::AcqRel,
                    Order::SeqCst => FenceMode::Sc,
                    Order::Plain | Order::Relaxed => {
                        code.push_to(Instr::Skip, origin, next.first().map(|(_, to)| *to));
                        return Ok(());
                    }
                };
                code.push_to(Instr::Fence(mode), origin, next.first().map(|(_, to)| *to));
            }
            Action::Choose { .. } | Action::Recall { .. } => {
                let pc =
                    code.push(Instr::Jump { cond: Expr::Const(1), targets: Vec::new() }, origin);
                code.holes.extend(next.iter().map(|(_, to)| (pc, *to)));
                code.halt(Instr::Halt, origin);
            }
            Action::Take { cell } => {
                // Who takes it waits until it is there, and may go on without it meanwhile. So asking in vain is no access,
                // which nobody could notice in the program, and which would be a fence on machines with store buffers.
                let choice =
                    code.push(Instr::Jump { cond: Expr::Const(1), targets: Vec::new() }, origin);
                let to = |input: Word| next.iter().find(|(it, _)| *it == input).map(|(_, to)| *to);
                code.holes.extend(to(Word::ZERO).map(|to| (choice, to)));
                code.halt(Instr::Halt, origin);
                if let Some(taken) = to(Word::Bits(1)) {
                    let takes = Pc::from(code.steps.len());
                    let (spare, given) = (Word::Bits(1), Word::ZERO);
                    code.push(self.replaces(cell, spare, given, Order::Acquire), origin);
                    let then = Instr::Jump { cond: Expr::Const(1), targets: Vec::new() };
                    let then = code.push(then, origin);
                    code.holes.push((then, taken));
                    code.halt(Instr::Halt, origin);
                    if let Instr::Jump { targets, .. } = &mut code.steps[choice].instr {
                        targets.push(takes);
                    }
                }
            }
            Action::Write { cell, value, order } => {
                let value = Expr::Const(self.numbers.get(cell, value));
                let access = access(&action, &next);
                code.extend(self.cells.before(cell, thread, access), origin);
                let placed = self.cells.placed(cell);
                let place = Place::location(placed.loc);
                let mode = match order {
                    Order::Plain if placed.kind == LocationKind::NonAtomic => WriteMode::Na,
                    order => write_mode(order),
                };
                let store = Instr::Store { place, value, mode };
                code.push_to(store, origin, next.first().map(|(_, to)| *to));
            }
            Action::Read { cell, order } => {
                self.read(code, id, (cell, order), &next, thread, origin)
            }
            Action::Await { cell, least } => {
                let ready = |word: &Word| matches!(word, Word::Bits(bits) if *bits >= least);
                let values: Vec<Word> = self.held(cell).into_iter().filter(ready).collect();
                let place = Place::location(self.cells.placed(cell).loc);
                let values = self.constants(cell, &values);
                code.push(
                    Instr::Wait { dst: Some(READ), place, values, mode: ReadMode::Acq },
                    origin,
                );
                self.branch(code, cell, &next, origin);
            }
            Action::Lock { cell, below, add } => {
                let steps = self.lock(cell, (below, add), &next);
                code.alternatives(steps, origin);
            }
            Action::Queue { cell, queueing } => {
                let steps = self.queue(id, cell, queueing, &next);
                code.alternatives(steps, origin);
            }
            Action::Update { cell, op, operand, width, order } => {
                let access = access(&action, &next);
                let held = self.held(cell);
                let place = Place::location(self.cells.placed(cell).loc);
                let (read, write) = (read_mode(order), write_mode(order));
                let Some(update) = self.numbers.update(cell, &held, (op, operand, width)) else {
                    // Nothing comes after alternatives but where they lead.
                    let access = Access::Update { publishes: true };
                    code.extend(self.cells.before(cell, thread, access), origin);
                    let steps = self.update(cell, (op, operand, width), order, &next);
                    code.alternatives(steps, origin);
                    return Ok(());
                };
                let dst = Some(READ);
                code.extend(self.cells.before(cell, thread, access), origin);
                code.push(Instr::Rmw { dst, place, update, read, write }, origin);
                code.extend(self.cells.after(cell, thread, access), origin);
                self.branch(code, cell, &next, origin);
            }
            Action::CompareExchange { cell, expected, desired, success, failure, weak } => {
                let access = access(&action, &next);
                code.extend(self.cells.before(cell, thread, access), origin);
                let touch = self.cells.after_success(cell, thread, access);
                self.compare_exchange(
                    code,
                    id,
                    cell,
                    (expected, desired),
                    (success, failure, weak),
                    &next,
                    touch,
                    origin,
                );
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn compare_exchange(
        &mut self,
        code: &mut Code,
        id: NodeId,
        cell: Cell,
        (expected, desired): (u128, Word),
        (success, failure, weak): (Order, Order, bool),
        next: &[(Word, NodeId)],
        touch: Option<Instr>,
        origin: Origin,
    ) {
        let place = Place::location(self.cells.placed(cell).loc);
        let value = self.numbers.get(cell, Word::Bits(expected));
        let new = Expr::Const(self.numbers.get(cell, desired));
        let spurious = next.iter().find(|(input, _)| weak && *input == SPURIOUS).map(|(_, to)| *to);
        let next: Vec<(Word, NodeId)> =
            next.iter().filter(|(input, _)| !weak || *input != SPURIOUS).copied().collect();
        let fails: Vec<Word> =
            self.held(cell).into_iter().filter(|word| *word != Word::Bits(expected)).collect();
        let returns = |lowering: &mut Self, word: Word| lowering.returns(id, word);
        let blocks = spurious.is_none_or(|to| self.after_plain_reads(to) == id)
            && fails.iter().all(|word| returns(self, *word))
            && next.iter().all(|(input, to)| {
                *input == Word::Bits(expected) || self.after_plain_reads(*to) == id
            });
        let to = next.iter().find(|(input, _)| *input == Word::Bits(expected)).map(|(_, to)| *to);
        if blocks && !fails.is_empty() {
            let (read, write) = (read_mode(success), write_mode(success));
            let lock = Instr::BlockingCas {
                place,
                expected: Expr::Const(value),
                desired: new,
                read,
                write,
            };
            match touch {
                Some(touch) => {
                    code.push(lock, origin);
                    code.push_to(touch, origin, to);
                }
                None => code.push_to(lock, origin, to),
            }
            return;
        }
        let choice = spurious.map(|to| {
            let choice =
                code.push(Instr::Jump { cond: Expr::Const(1), targets: Vec::new() }, origin);
            code.halt(Instr::Halt, origin);
            (choice, to)
        });
        let strong = Pc::from(code.steps.len());
        code.push(
            Instr::Cas {
                dst: Some(READ),
                place: place.clone(),
                expected: Expr::Const(value),
                desired: new,
                read: read_mode(success),
                write: write_mode(success),
                fail: read_mode(failure),
            },
            origin,
        );
        if let Some((touch, to)) = touch.zip(to) {
            let after = Pc::from(code.steps.len() + 2);
            let cases = vec![(value, Pc::from(code.steps.len() + 1))];
            code.steps.push(Step {
                instr: Instr::Switch { value: Expr::Reg(READ), cases },
                next: after,
                origin,
            });
            code.push_to(touch, origin, Some(to));
        }
        self.branch(code, cell, &next, origin);
        if let Some((choice, to)) = choice {
            let failing = Pc::from(code.steps.len());
            code.push(Instr::Load { dst: READ, place, mode: read_mode(failure) }, origin);
            let mut failed: Vec<(Word, NodeId)> =
                next.iter().filter(|(input, _)| *input != Word::Bits(expected)).copied().collect();
            failed.push((Word::Bits(expected), to));
            self.branch(code, cell, &failed, origin);
            if let Instr::Jump { targets, .. } = &mut code.steps[choice].instr {
                *targets = vec![strong, failing];
            }
        }
    }

    /// Does a node come back to itself when it reads a value, whether any interleaving reads it there or not? Each of the
    /// nodes it stands for must: what no interleaving reads there did not tell them apart.
    fn returns(&mut self, id: NodeId, word: Word) -> bool {
        self.merged.members(id).into_iter().all(|member| {
            let world = &mut *self.world;
            let to = world.automata.probe(&mut world.machine, member, word);
            let to = self.merged.of(to);
            self.after_plain_reads(to) == id
        })
    }

    /// The first node from here on that does something else than read plainly what it always reads, if nobody comes to
    /// that node without these reads; the node itself otherwise.
    ///
    /// In a loop that reads one location until it has another value, the thread releases nothing. So a plain write to
    /// what else it reads there is ordered before all of its plain reads, or races with the first of them, which was made
    /// before the loop's node was reached: where there is no race, going round again reads the same once more, and the
    /// loop waits all the same. Without a first time, as in `while (!flag) use(x);`, leaving the reads out would leave
    /// their races out.
    fn after_plain_reads(&self, start: NodeId) -> NodeId {
        let mut id = start;
        for _ in 0..MOST_PLAIN_READS {
            let node = self.world.automata.node(id);
            let Pause::Rest(Action::Read { order: Order::Plain, .. }) = node.pause else { break };
            let [(_, to)] = node.next[..] else { break };
            let only = self.before.get(&to).is_some_and(|before| before[..] == [id]);
            if !only || self.world.first.contains(&to) {
                return start;
            }
            id = to;
        }
        id
    }

    fn read(
        &mut self,
        code: &mut Code,
        id: NodeId,
        (cell, order): (Cell, Order),
        next: &[(Word, NodeId)],
        thread: u32,
        origin: Origin,
    ) {
        let access = access(&Action::Read { cell, order }, next);
        let placed = self.cells.placed(cell);
        let place = Place::location(placed.loc);
        let mode = match order {
            Order::Plain if placed.kind == LocationKind::NonAtomic => ReadMode::Na,
            order => read_mode(order),
        };
        let spins = next.iter().any(|(_, to)| self.after_plain_reads(*to) == id);
        if spins && mode != ReadMode::Na {
            let access = if access == Access::Load { Access::Wait } else { access };
            code.extend(self.cells.before(cell, thread, access), origin);
            let held = self.held(cell);
            let leaving: Vec<Word> =
                held.into_iter().filter(|word| !self.returns(id, *word)).collect();
            let values = self.constants(cell, &leaving);
            code.push(Instr::Wait { dst: Some(READ), place, values, mode }, origin);
            let next = next.iter().filter(|(input, _)| leaving.contains(input));
            let next: Vec<(Word, NodeId)> = next.copied().collect();
            self.branch(code, cell, &next, origin);
            return;
        }
        code.extend(self.cells.before(cell, thread, access), origin);
        code.push(Instr::Load { dst: READ, place, mode }, origin);
        code.extend(self.cells.after(cell, thread, access), origin);
        self.branch(code, cell, next, origin);
    }

    /// Constants for some values of a cell; one that the cell never holds if there are none, which waits for ever.
    fn constants(&self, cell: Cell, words: &[Word]) -> Vec<Expr> {
        match words {
            [] => vec![Expr::Const(self.numbers.domain.min)],
            words => words.iter().map(|word| Expr::Const(self.numbers.get(cell, *word))).collect(),
        }
    }

    /// Goes where the value that was read leads.
    fn branch(&mut self, code: &mut Code, cell: Cell, next: &[(Word, NodeId)], origin: Origin) {
        let targets: BTreeSet<NodeId> = next.iter().map(|(_, to)| *to).collect();
        let held = self.held(cell);
        // Where every value leads to the same node, nothing depends on it.
        if targets.len() == 1 && held.iter().all(|word| next.iter().any(|(input, _)| input == word))
        {
            let last = code.steps.len() - 1;
            code.holes.push((last, next[0].1));
            return;
        }
        let switch = Instr::Switch { value: Expr::Reg(READ), cases: Vec::new() };
        let pc = code.push(switch, origin);
        let case = |(input, to): &(Word, NodeId)| (pc, self.numbers.get(cell, *input), *to);
        code.cases.extend(next.iter().map(case));
        code.push(Instr::Assume(Expr::Const(0)), origin);
        code.halt(Instr::Halt, origin);
    }
}

/// The place of a site in the source.
fn place_of(module: &Module, site: Site) -> Option<PlaceId> {
    let function = module.function(site.function);
    function.blocks.get(site.block as usize)?.instrs.get(site.instr as usize)?.at
}
