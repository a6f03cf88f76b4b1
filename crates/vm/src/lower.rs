//! From discovered automata to a program that every analysis understands.
//!
//! A node becomes the steps for its action, and what was read selects the node that comes next. The automata were
//! discovered under sequential consistency, so a value that no interleaving reads at a node leads nowhere: whether a
//! weaker memory could produce it is exactly what the analyses look for, and they stop there.
//!
//! **Waiting.** A node that reads and comes back to itself does nothing until it reads something else, so it is a `wait`
//! for the values that let it go on. Which those are is asked of the machine for every value that the location ever
//! holds, also those that no interleaving reads there. A compare-and-exchange whose every failure leads back to itself
//! blocks until it succeeds.
//!
//! **Cells with plain and atomic accesses.** C allows both, and they race unless ordered. Such a cell becomes an atomic
//! location, to which plain accesses are relaxed, and *shadows*, non-atomic locations that race exactly when the cell
//! does: `w`, which plain writes write and everything else reads; and, where a plain read could meet an atomic write,
//! one per writing thread, which its atomic writes write and plain reads read. The shadow of a load is accessed after
//! it, so that what the load synchronises with comes before; that of a write or update before it, so that it is
//! published with it. (An update that is ordered after a plain write only by what it reads itself could have come
//! earlier and raced.)

use crate::action::{Action, Cell, Failure, Order, SPURIOUS};
use crate::atomic;
use crate::automaton::NodeId;
use crate::discover::World;
use crate::machine::Pause;
use crate::space::{Name, Site};
use crate::value::{Word, signed};
use ir::expr::Binary;
use ir::{
    Domain, Edge, Expr, FenceMode, Instr, Loc, Location, LocationKind, Origin, Pc, Place, Program,
    ReadMode, Reg, Step, Thread, Tid, Update, UpdateOp, Value, WriteMode,
};
use llvm::instruction::RmwOp;
use llvm::{Module, PlaceId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A program, and what its parts are in the source.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The program.
    pub program: Program,
    /// Where each step comes from, by its origin: from the innermost call outwards.
    pub origins: Vec<Vec<PlaceId>>,
    /// What goes wrong at steps that fail, by their origin.
    pub failures: Vec<(Origin, Failure)>,
    /// What values of the program stand for that are no numbers.
    pub values: Vec<(Value, String)>,
    /// What the user should know about the answer.
    pub notes: Vec<String>,
}

/// The registers of a thread: what it read last, and what it read from a shadow, which nobody looks at.
const READ: Reg = Reg(0);
const SHADOW: Reg = Reg(1);

/// How a cell is accessed, by whom.
#[derive(Clone, Copy, Default)]
struct Use {
    plain_reads: u64,
    plain_writes: u64,
    atomic_writes: u64,
    atomic: bool,
}

impl Use {
    fn is_mixed(self) -> bool {
        self.atomic && self.plain_reads | self.plain_writes != 0
    }

    fn add(&mut self, action: &Action, thread: u32) {
        let bit = 1 << thread;
        match action {
            Action::Read { order: Order::Plain, .. } => self.plain_reads |= bit,
            Action::Write { order: Order::Plain, .. } => self.plain_writes |= bit,
            action => {
                self.atomic = true;
                if action.writes() {
                    self.atomic_writes |= bit;
                }
            }
        }
    }
}

/// The locations that stand for a cell.
struct Placed {
    loc: Loc,
    kind: LocationKind,
    /// Written by plain writes, read by all others.
    written: Option<Loc>,
    /// Written by atomic writes of a thread, read by plain reads.
    updated: BTreeMap<u32, Loc>,
}

struct Lowering<'w> {
    world: &'w mut World,
    placed: HashMap<Cell, Placed>,
    locations: Vec<Location>,
    numbers: HashMap<(u8, Word), Value>,
    domain: Domain,
    origins: Vec<Vec<PlaceId>>,
    origin_ids: HashMap<Vec<Site>, Origin>,
    failures: Vec<(Origin, Failure)>,
}

/// The program that the automata are.
pub(crate) fn lower(world: &mut World) -> Result<Lowered, crate::discover::Undiscovered> {
    // Threads that are never started are none: they are left from what was assumed about teams at first.
    let live: Vec<u32> = (0..world.first.len() as u32)
        .filter(|thread| *thread == 0 || world.is_started(*thread))
        .collect();
    let mut uses: BTreeMap<Cell, Use> = BTreeMap::new();
    for (_, node) in world.automata.nodes().filter(|(_, node)| live.contains(&node.local.thread)) {
        if let Pause::Rest(action) = &node.pause
            && let Some(cell) = action.cell()
        {
            uses.entry(cell).or_default().add(action, node.local.thread);
        }
    }
    let (numbers, names, domain) = numbers(world);
    let mut lowering = Lowering {
        world,
        placed: HashMap::new(),
        locations: Vec::new(),
        numbers,
        domain,
        origins: Vec::new(),
        origin_ids: HashMap::new(),
        failures: Vec::new(),
    };
    lowering.place(&uses);
    let mut threads = Vec::new();
    for thread in &live {
        threads.push(lowering.thread(*thread)?);
    }
    number_replicas(&mut threads);
    let Lowering { world, locations, origins, failures, .. } = lowering;
    let mut program = Program::new(domain, locations, threads);
    program.spawned = (1..live.len()).map(Tid::from).collect();
    Ok(Lowered { program, origins, failures, values: names, notes: world.machine.notes.clone() })
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

type Numbers = (HashMap<(u8, Word), Value>, Vec<(Value, String)>, Domain);

/// What stands for the values of cells: numbers for themselves, pointers and undefined values for numbers above all.
fn numbers(world: &World) -> Numbers {
    let mut words: BTreeSet<(u8, Word)> = BTreeSet::new();
    for (id, cell) in world.cells.iter().enumerate() {
        words.extend(world.values[id].iter().map(|word| (cell.size, *word)));
    }
    let mut reach: i128 = 1;
    for (_, node) in world.automata.nodes() {
        let Pause::Rest(action) = &node.pause else { continue };
        match action {
            Action::Write { cell, value, .. } => {
                words.insert((cell.size, *value));
            }
            Action::CompareExchange { cell, expected, desired, .. } => {
                words.insert((cell.size, Word::Bits(*expected)));
                words.insert((cell.size, *desired));
            }
            Action::Update { cell, op: RmwOp::Xchg, operand, .. } => {
                words.insert((cell.size, Word::Bits(*operand)));
            }
            Action::Update { operand, width, .. } => {
                reach = reach.max(signed(*operand, *width).abs());
            }
            _ => {}
        }
    }
    let (mut known, mut others) = (HashMap::new(), BTreeSet::new());
    let (mut least, mut most) = (0i128, 1i128);
    for (size, word) in words {
        let number = match word {
            Word::Bits(bits) if size == 0 => Some(bits as i128),
            Word::Bits(bits) if bits < 1 << 20 || world.machine.space.mentioned(bits).is_none() => {
                Some(signed(bits, 8 * u32::from(size)))
            }
            _ => None,
        };
        match number.filter(|number| number.unsigned_abs() < 1 << 60) {
            Some(number) => {
                known.insert((size, word), number as Value);
                least = least.min(number);
                most = most.max(number);
            }
            None => {
                others.insert((word, size));
            }
        }
    }
    let mut names = Vec::new();
    let mut next = most;
    let mut last = None;
    for (word, size) in others {
        if last != Some(word) {
            next += 1;
            last = Some(word);
            let name = match word {
                Word::Undef => "undefined".to_string(),
                Word::Bits(bits) => match world.machine.space.locate(bits) {
                    Some((object, offset)) if offset >= 0 => {
                        let cell = Cell { object, offset: offset as u32, size: 1 };
                        match world.machine.space.object(object).name {
                            Name::Function(_) => world.machine.cell_name(cell),
                            _ => format!("&{}", world.machine.cell_name(cell)),
                        }
                    }
                    _ => format!("{bits:#x}"),
                },
            };
            names.push((next as Value, name));
        }
        known.insert((size, word), next as Value);
    }
    let reach = reach.min(1 << 60);
    let (min, max) = ((least - reach) as Value, (next + reach) as Value);
    (known, names, Domain { min, max, edge: Edge::Wrap })
}

impl Lowering<'_> {
    fn place(&mut self, uses: &BTreeMap<Cell, Use>) {
        for (cell, used) in uses {
            let id = self.world.cells.iter().position(|known| known == cell);
            let initial = match id {
                Some(id) => self.world.initial[id],
                None => self.world.machine.peek(&crate::local::Local::idle(0), *cell),
            };
            let initial = self.number(*cell, initial);
            let kind = match used.atomic {
                true => LocationKind::Atomic,
                false => LocationKind::NonAtomic,
            };
            let name = self.world.machine.cell_name(*cell);
            let loc = self.location(&name, initial, kind);
            let mut placed = Placed { loc, kind, written: None, updated: BTreeMap::new() };
            if used.is_mixed() {
                if used.plain_writes != 0 {
                    placed.written = Some(self.location(&name, 0, LocationKind::NonAtomic));
                }
                for thread in (0..64).filter(|thread| used.atomic_writes >> thread & 1 == 1) {
                    if used.plain_reads & !(1 << thread) != 0 {
                        placed
                            .updated
                            .insert(thread, self.location(&name, 0, LocationKind::NonAtomic));
                    }
                }
            }
            self.placed.insert(*cell, placed);
        }
    }

    fn location(&mut self, name: &str, initial: Value, kind: LocationKind) -> Loc {
        self.locations.push(Location { name: name.to_string(), element: None, initial, kind });
        Loc::from(self.locations.len() - 1)
    }

    /// What stands for a value of a cell.
    fn number(&self, cell: Cell, word: Word) -> Value {
        self.numbers.get(&(cell.size, word)).copied().unwrap_or(0)
    }

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

    /// All values that a cell ever holds, in order of their numbers.
    fn held(&self, cell: Cell) -> Vec<Word> {
        let id = self.world.cells.iter().position(|known| *known == cell);
        let mut words: Vec<Word> =
            id.map_or(Vec::new(), |id| self.world.values[id].iter().copied().collect());
        words.sort_by_key(|word| self.number(cell, *word));
        words
    }

    fn thread(&mut self, thread: u32) -> Result<Thread, crate::discover::Undiscovered> {
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
        let mut code = Code { steps: Vec::new(), starts: HashMap::new(), holes: Vec::new() };
        for id in order {
            code.starts.insert(id, Pc::from(code.steps.len()));
            self.node(&mut code, id, thread)?;
        }
        let Code { mut steps, starts, holes } = code;
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

    fn node(
        &mut self,
        code: &mut Code,
        id: NodeId,
        thread: u32,
    ) -> Result<(), crate::discover::Undiscovered> {
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
                let own = Origin::from(self.origins.len());
                self.origins.push(self.origins[origin.index()].clone());
                self.failures.push((own, failure));
                code.push(Instr::Assert(Expr::Const(0)), own);
                code.halt(Instr::Halt, origin);
                return Ok(());
            }
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
            Action::Choose { .. } => {
                let pc =
                    code.push(Instr::Jump { cond: Expr::Const(1), targets: Vec::new() }, origin);
                code.holes.extend(next.iter().map(|(_, to)| (pc, *to)));
                code.halt(Instr::Halt, origin);
            }
            Action::Write { cell, value, order } => {
                let value = Expr::Const(self.number(cell, value));
                self.before(code, cell, thread, &action, origin);
                let placed = &self.placed[&cell];
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
                let place = Place::location(self.placed[&cell].loc);
                let values = self.constants(cell, &values);
                code.push(
                    Instr::Wait { dst: Some(READ), place, values, mode: ReadMode::Acq },
                    origin,
                );
                self.branch(code, cell, &next, origin);
            }
            Action::Lock { cell, below, add } => {
                let free =
                    |word: &Word| matches!(word, Word::Bits(held) if *held < u128::from(below));
                let values: Vec<Word> = self.held(cell).into_iter().filter(free).collect();
                let choice =
                    code.push(Instr::Jump { cond: Expr::Const(1), targets: Vec::new() }, origin);
                code.halt(Instr::Halt, origin);
                let mut targets = Vec::new();
                for word in values {
                    let Word::Bits(held) = word else { continue };
                    let to = Word::Bits(held + u128::from(add));
                    let lock = Instr::BlockingCas {
                        place: Place::location(self.placed[&cell].loc),
                        expected: Expr::Const(self.number(cell, word)),
                        desired: Expr::Const(self.number(cell, to)),
                        read: ReadMode::Acq,
                        write: WriteMode::Rlx,
                    };
                    targets.push(Pc::from(code.steps.len()));
                    code.push_to(lock, origin, next.first().map(|(_, to)| *to));
                }
                if let Instr::Jump { targets: all, .. } = &mut code.steps[choice].instr {
                    *all = targets;
                }
            }
            Action::Update { cell, op, operand, width, order } => {
                self.before(code, cell, thread, &action, origin);
                let Some(update) = self.update(cell, op, operand, width) else {
                    return Err(crate::discover::Undiscovered::Refused {
                        at: self.origins[origin.index()].clone(),
                        why: format!(
                            "an atomic {op:?} of {} that wraps around or mixes numbers with pointers",
                            self.world.machine.cell_name(cell)
                        ),
                    });
                };
                let place = Place::location(self.placed[&cell].loc);
                let (read, write) = (read_mode(order), write_mode(order));
                let dst = Some(READ);
                code.push(Instr::Rmw { dst, place, update, read, write }, origin);
                self.branch(code, cell, &next, origin);
            }
            Action::CompareExchange { cell, expected, desired, success, failure, weak } => {
                self.before(code, cell, thread, &action, origin);
                self.compare_exchange(
                    code,
                    id,
                    cell,
                    (expected, desired),
                    (success, failure, weak),
                    &next,
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
        origin: Origin,
    ) {
        let place = Place::location(self.placed[&cell].loc);
        let value = Expr::Const(self.number(cell, Word::Bits(expected)));
        let new = Expr::Const(self.number(cell, desired));
        let spurious = next.iter().find(|(input, _)| weak && *input == SPURIOUS).map(|(_, to)| *to);
        let next: Vec<(Word, NodeId)> =
            next.iter().filter(|(input, _)| !weak || *input != SPURIOUS).copied().collect();
        let fails: Vec<Word> =
            self.held(cell).into_iter().filter(|word| *word != Word::Bits(expected)).collect();
        let returns = |lowering: &mut Self, word: Word| lowering.target(id, word) == id;
        let blocks = spurious.is_none_or(|to| to == id)
            && fails.iter().all(|word| returns(self, *word))
            && next.iter().all(|(input, to)| *input == Word::Bits(expected) || *to == id);
        let to = next.iter().find(|(input, _)| *input == Word::Bits(expected)).map(|(_, to)| *to);
        if blocks && !fails.is_empty() {
            let (read, write) = (read_mode(success), write_mode(success));
            let lock = Instr::BlockingCas { place, expected: value, desired: new, read, write };
            code.push_to(lock, origin, to);
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
                expected: value,
                desired: new,
                read: read_mode(success),
                write: write_mode(success),
                fail: read_mode(failure),
            },
            origin,
        );
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

    /// Where a node goes when it reads a value, whether any interleaving reads it there or not.
    fn target(&mut self, id: NodeId, word: Word) -> NodeId {
        let world = &mut *self.world;
        let known = world
            .automata
            .node(id)
            .next
            .iter()
            .find(|(input, _)| *input == word)
            .map(|(_, to)| *to);
        known.unwrap_or_else(|| world.automata.probe(&mut world.machine, id, word))
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
        let action = Action::Read { cell, order };
        let placed = &self.placed[&cell];
        let place = Place::location(placed.loc);
        let mode = match order {
            Order::Plain if placed.kind == LocationKind::NonAtomic => ReadMode::Na,
            order => read_mode(order),
        };
        let spins = next.iter().any(|(_, to)| *to == id);
        if spins && mode != ReadMode::Na {
            self.before(code, cell, thread, &action, origin);
            let held = self.held(cell);
            let leaving: Vec<Word> =
                held.into_iter().filter(|word| self.target(id, *word) != id).collect();
            let values = self.constants(cell, &leaving);
            code.push(Instr::Wait { dst: Some(READ), place, values, mode }, origin);
            self.after(code, cell, &action, origin);
            let next: Vec<(Word, NodeId)> =
                next.iter().filter(|(_, to)| *to != id).copied().collect();
            self.branch(code, cell, &next, origin);
            return;
        }
        self.before(code, cell, thread, &action, origin);
        code.push(Instr::Load { dst: READ, place, mode }, origin);
        self.after(code, cell, &action, origin);
        self.branch(code, cell, next, origin);
    }

    /// Constants for some values of a cell; one that the cell never holds if there are none, which waits for ever.
    fn constants(&self, cell: Cell, words: &[Word]) -> Vec<Expr> {
        match words {
            [] => vec![Expr::Const(self.domain.min)],
            words => words.iter().map(|word| Expr::Const(self.number(cell, *word))).collect(),
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
        for (input, to) in next {
            let value = Expr::Const(self.number(cell, *input));
            let cond =
                Expr::binary(Binary::Eq, Expr::Reg(READ), value).expect("a small expression");
            let pc = code.push(Instr::Jump { cond, targets: Vec::new() }, origin);
            code.holes.push((pc, *to));
        }
        code.push(Instr::Assume(Expr::Const(0)), origin);
        code.halt(Instr::Halt, origin);
    }

    /// Accesses to shadows that come before an access.
    fn before(
        &mut self,
        code: &mut Code,
        cell: Cell,
        thread: u32,
        action: &Action,
        origin: Origin,
    ) {
        let placed = &self.placed[&cell];
        let load =
            |loc: Loc| Instr::Load { dst: SHADOW, place: Place::location(loc), mode: ReadMode::Na };
        let store = |loc: Loc| {
            let place = Place::location(loc);
            Instr::Store { place, value: Expr::Const(0), mode: WriteMode::Na }
        };
        let mut shadows = Vec::new();
        match action {
            Action::Read { order: Order::Plain, .. } => {
                shadows.extend(placed.written.map(load));
                shadows.extend(
                    placed
                        .updated
                        .iter()
                        .filter(|(by, _)| **by != thread)
                        .map(|(_, loc)| load(*loc)),
                );
            }
            Action::Write { order: Order::Plain, .. } => shadows.extend(placed.written.map(store)),
            Action::Read { .. } | Action::Await { .. } => {}
            _ => {
                shadows.extend(placed.written.map(load));
                shadows.extend(placed.updated.get(&thread).copied().map(store));
            }
        }
        for shadow in shadows {
            code.push(shadow, origin);
        }
    }

    /// Accesses to shadows that come after an access. They leave the value that was read alone.
    fn after(&mut self, code: &mut Code, cell: Cell, action: &Action, origin: Origin) {
        if let Action::Read { order, .. } = action
            && *order != Order::Plain
            && let Some(written) = self.placed[&cell].written
        {
            let place = Place::location(written);
            code.push(Instr::Load { dst: SHADOW, place, mode: ReadMode::Na }, origin);
        }
    }

    /// The update of the language that does the same to every value that the cell ever holds.
    fn update(&self, cell: Cell, op: RmwOp, operand: u128, width: u32) -> Option<Update> {
        let constant = |op: UpdateOp, value: Value| Update::new(op, Expr::Const(value));
        if op == RmwOp::Xchg {
            return Some(constant(UpdateOp::Set, self.number(cell, Word::Bits(operand))));
        }
        let held = self.held(cell);
        let operand_value = Value::try_from(signed(operand, width)).ok()?;
        let candidate = match op {
            RmwOp::Add => constant(UpdateOp::Add, operand_value),
            RmwOp::Sub => constant(UpdateOp::Sub, operand_value),
            RmwOp::And => constant(UpdateOp::And, operand_value),
            RmwOp::Or => constant(UpdateOp::Or, operand_value),
            RmwOp::Xor => constant(UpdateOp::Xor, operand_value),
            RmwOp::Nand => constant(UpdateOp::Nand, operand_value),
            RmwOp::Max | RmwOp::UMax => constant(UpdateOp::Max, operand_value),
            RmwOp::Min | RmwOp::UMin => constant(UpdateOp::Min, operand_value),
            _ => constant(UpdateOp::Set, operand_value),
        };
        let results: Vec<(Word, Word)> =
            held.iter().map(|old| (*old, atomic::update(op, *old, operand, width))).collect();
        let fits = |update: &Update| {
            results.iter().all(|(old, new)| {
                let Expr::Const(operand) = update.operand else { return false };
                let mut notes = ir::Notes::default();
                let result =
                    update.op.apply(self.number(cell, *old), operand, self.domain, &mut notes);
                let expected = self.numbers.get(&(cell.size, *new)).copied().or(match new {
                    Word::Bits(bits) => Value::try_from(signed(*bits, width)).ok(),
                    Word::Undef => None,
                });
                *old == Word::Undef || result.ok() == expected && !notes.wrapped
            })
        };
        let same = results.first().map(|(_, new)| constant(UpdateOp::Set, self.number(cell, *new)));
        [Some(candidate), same].into_iter().flatten().find(fits)
    }
}

/// The place of a site in the source.
fn place_of(module: &Module, site: Site) -> Option<PlaceId> {
    let function = module.function(site.function);
    function.blocks.get(site.block as usize)?.instrs.get(site.instr as usize)?.at
}

fn read_mode(order: Order) -> ReadMode {
    match order {
        Order::Plain | Order::Relaxed | Order::Release => ReadMode::Rlx,
        Order::Acquire | Order::AcqRel => ReadMode::Acq,
        Order::SeqCst => ReadMode::Sc,
    }
}

fn write_mode(order: Order) -> WriteMode {
    match order {
        Order::Plain | Order::Relaxed | Order::Acquire => WriteMode::Rlx,
        Order::Release | Order::AcqRel => WriteMode::Rel,
        Order::SeqCst => WriteMode::Sc,
    }
}

/// Steps of a thread under construction.
struct Code {
    steps: Vec<Step>,
    starts: HashMap<NodeId, Pc>,
    /// Steps that lead to a node: as a jump's target if they are jumps, else as what comes next.
    holes: Vec<(usize, NodeId)>,
}

impl Code {
    /// A step that is followed by the one pushed next.
    fn push(&mut self, instr: Instr, origin: Origin) -> usize {
        let pc = self.steps.len();
        self.steps.push(Step { instr, next: Pc::from(pc + 1), origin });
        pc
    }

    /// A step that leads to a node, or nowhere.
    fn push_to(&mut self, instr: Instr, origin: Origin, to: Option<NodeId>) {
        let pc = self.push(instr, origin);
        match to {
            Some(to) => self.holes.push((pc, to)),
            None => self.halt(Instr::Halt, origin),
        }
    }

    fn halt(&mut self, instr: Instr, origin: Origin) {
        let pc = self.steps.len();
        self.steps.push(Step { instr, next: Pc::from(pc), origin });
    }
}
