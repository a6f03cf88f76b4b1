//! Finds all that the threads of a program can do, by exploring its interleavings.
//!
//! Robustness is decided on what interleavings reach (Theorem 4.6 of the RC20 paper), so nothing has to be known of a
//! program before it runs. Exploration goes in rounds: it starts with no shared memory, and whenever two threads turn
//! out to touch the same bytes, these become a cell and a new round starts ([`crate::shared`]). The last round has seen
//! every node of every thread's automaton and every value that a cell can hold.

mod interleavings;

use crate::action::{Action, Cell, SPURIOUS, outcome};
use crate::automaton::{Automata, NodeId};
use crate::entry::{Entry, are_of_several_files, is_there, named, reads_arguments, structors};
use crate::future::Futures;
use crate::library::AtExit;
use crate::local::{Local, Starting};
use crate::machine::{Machine, Pause};
use crate::queue::OVERFLOW;
use crate::shared::MixedSizes;
use crate::space::{Name, Site};
use crate::team::{MOST_THREADS, Task};
use crate::value::{Val, Word};
use interleavings::Interleavings;
use llvm::{FunctionId, Module};
use search::{Limit, Limits, Options, Paths, Progress, Stop};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

/// Rounds before it is given up. Programs need two or three, and many more if new memory turns out to be shared ever later; each
/// goes a little further than the one before it, so that limits are reached first where this has no end.
const MOST_ROUNDS: usize = 1_000;
/// Local states beyond which threads are not followed beyond interleavings.
const MOST_NODES: usize = 200_000;
/// Local states at one place of the source that are worth naming the place.
const MANY_NODES: usize = 200;
/// States that a round goes on for after it has found memory that is shared and was not known to be.
const SETTLING: u64 = 2_000;

/// Which values nodes may read when they are followed beyond interleavings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Values {
    /// Those that interleavings put into the cell, and the first [`FEW_NEW`] others: a thread that only a stale value lets
    /// come to its end raises a flag there, or is waited for, and that is all that others want of it. What grows goes on growing,
    /// and is not followed.
    Seen,
    /// Also those that nodes write which no interleaving comes to.
    New,
}

/// Why there is no automaton.
#[derive(Clone, Debug)]
pub enum Undiscovered {
    /// The program has something without a meaning here: where, and what.
    Refused {
        /// Where, from the innermost call outwards.
        at: Vec<llvm::PlaceId>,
        /// What.
        why: String,
    },
    /// There is no function to start with.
    NoEntry(String),
    /// A limit was reached.
    Limit {
        /// Which.
        limit: Limit,
        /// How far it was.
        progress: Progress,
        /// Where a thread was in more different local states than anywhere else, from the innermost call outwards, and in
        /// how many, if they are many.
        busiest: Option<(Vec<llvm::PlaceId>, usize)>,
    },
    /// A cell takes more values than are followed.
    Grows {
        /// Where it is written, from the innermost call outwards.
        at: Vec<llvm::PlaceId>,
        /// What the user calls the cell.
        cell: String,
        /// It has more values than this, or as many.
        values: usize,
        /// Do interleavings write them?
        interleaved: bool,
    },
}

/// A cell with more values than this counts without end, as far as can be seen.
const MOST_VALUES: usize = 4_000;

/// How many messages channels without a limit have room for at first, and when they count as growing without end.
const LEAST_ROOM: u32 = 2;
const MOST_ROOM: u32 = 256;

/// Values that no interleaving writes beyond which cells count without end: where threads are followed one by one, with
/// whatever the others may have written, a counter has no bound.
const MOST_ADDED: usize = 256;
/// So many values of a cell that no interleaving writes are read where all that interleavings write are.
const FEW_NEW: usize = 2;

/// All that threads can do.
pub(crate) struct World {
    pub(crate) machine: Machine,
    pub(crate) automata: Automata,
    /// The cells that actions were about, with their initial values.
    pub(crate) cells: Vec<Cell>,
    pub(crate) initial: Vec<Word>,
    /// All values that each cell ever held.
    pub(crate) values: Vec<BTreeSet<Word>>,
    cell_ids: HashMap<Cell, usize>,
    /// The threads' first nodes.
    pub(crate) first: Vec<NodeId>,
    /// The first thread when it is about to start others, or at its end if it starts none.
    main: (Local, Pause),
    /// Was a loop cut off before the others started?
    cut_alone: bool,
    started: Vec<u32>,
    futures: Futures,
    every_interleaving: bool,
    /// Does the program list the values that threads have code for?
    pub(crate) lists_values: bool,
    /// The first thing that was refused.
    refused: Option<NodeId>,
    /// A cell that takes too many values.
    endless: Option<usize>,
    states: u64,
    grown_at: Option<u64>,
}

/// Explores a program.
pub(crate) fn discover(
    module: Arc<Module>,
    entry: &Entry,
    limits: Limits,
    observe: &(dyn Fn(&Progress) + Sync),
) -> Result<World, Undiscovered> {
    let mut world = World::new(module.clone(), entry, limits, LEAST_ROOM)?;
    world.start_round();
    let mut rounds = 0;
    while rounds < MOST_ROUNDS {
        world.futures = Futures::of(&world.automata, &world.cell_ids);
        let known = world.automata.edges();
        let model = Interleavings { world: Mutex::new(world) };
        let options =
            Options { limits, stop: Stop::AtFirst, paths: Paths::None, ..Options::default() };
        let report = search::explore(&model, &options, observe);
        world = model.world.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(spent) = world.machine.spent {
            return Err(world.limit(spent.into(), report.progress));
        }
        if world.machine.overflown.is_some() {
            rounds += 1;
            world = World::new(module.clone(), entry, limits, world.more_room()?)?;
            world.start_round();
            continue;
        }
        let news = world.has_grown()?;
        if let Some(cell) = world.endless {
            return Err(world.grows(cell, true));
        }
        if let Some(limit) = report.limit {
            return Err(world.limit(limit, report.progress));
        }
        if news {
            rounds += 1;
            world.start_round();
            continue;
        }
        if let Some(node) = world.refused {
            return Err(world.refusal(node));
        }
        if world.automata.edges() == known {
            if world.machine.bring_together() {
                rounds += 1;
                world.start_round();
                continue;
            }
            if entry.beyond_interleavings || entry.beyond_seen_values {
                let values = match entry.beyond_interleavings {
                    true => Values::New,
                    false => Values::Seen,
                };
                world.machine.is_beyond = true;
                world.close(values, limits)?;
                world.machine.is_beyond = false;
                if world.has_grown()? {
                    rounds += 1;
                    world.start_round();
                    continue;
                }
            }
            return Ok(world);
        }
        world.states = 0;
    }
    Err(Undiscovered::Refused {
        at: Vec::new(),
        why: format!("after {MOST_ROUNDS} rounds, more and more memory turns out to be shared"),
    })
}

impl World {
    fn new(
        module: Arc<Module>,
        entry: &Entry,
        limits: Limits,
        room: u32,
    ) -> Result<Self, Undiscovered> {
        let mut machine = Machine::new(module.clone(), entry.stubs.clone());
        machine.room = room;
        for (name, _) in &entry.stubs {
            if !is_there(&module, name) {
                machine.note(format!("the stub of `{name}` is for no function of this program"));
            }
        }
        machine.observed = entry.observed;
        machine.budget = limits.budget;
        machine.most_rounds = entry.rounds;
        machine.volatile_atomic = entry.volatile_atomic;
        machine.constructors = structors(&module, "llvm.global_ctors");
        if are_of_several_files(&module, &machine.constructors) {
            machine.note(
                "variables of several files that are initialised before `main` are so in one order of the files, of many",
            );
        }
        let destructors = structors(&module, "llvm.global_dtors");
        let later = |function: FunctionId| AtExit {
            function,
            argument: None,
            key: None,
            with_thread: false,
            round: 0,
        };
        let mut started = Vec::new();
        if entry.functions.is_empty() {
            let Some(main) = module
                .function_named("main")
                .filter(|main| !module.function(*main).is_declaration())
            else {
                return Err(Undiscovered::NoEntry(
                    "there is no function `main`; `--entry f,g` says which functions run as threads".into(),
                ));
            };
            let arguments = machine.arguments_of_main();
            let arguments =
                arguments.into_iter().take(module.function(main).params.len()).collect();
            if reads_arguments(&module, main) {
                machine.note("`main` is run without arguments: `argc` is 1");
            }
            let gifts = Vec::new();
            machine.threads[0].task = Some(Task { function: main, arguments, gifts });
        }
        let mut starting = Vec::new();
        for (k, name) in entry.functions.iter().enumerate() {
            let function = named(&module, name).map_err(Undiscovered::NoEntry)?;
            if reads_arguments(&module, function) {
                machine.note(format!("`{name}` is run with 0 for each of its arguments"));
            }
            let handle = machine.thread_object(0, k as u32);
            let arguments = vec![Val::Bits(0); module.function(function).params.len()];
            let task = Task { function, arguments, gifts: Vec::new() };
            starting.push(Starting { handle, task });
        }
        if !starting.is_empty() {
            let team = machine.team(0, &starting).map_err(|_| {
                Undiscovered::NoEntry(format!("more than {} threads", MOST_THREADS))
            })?;
            started.push(team);
        }
        let at_exit = destructors.into_iter().map(later).collect();
        let (main, pause) = machine.advance(Local { at_exit, ..Local::idle(0) });
        let cut_alone = machine.cut;
        let mut world = World {
            main: (main.clone(), pause.clone()),
            machine,
            automata: Automata::default(),
            cells: Vec::new(),
            initial: Vec::new(),
            values: Vec::new(),
            cell_ids: HashMap::new(),
            first: Vec::new(),
            cut_alone,
            started,
            futures: Futures::default(),
            every_interleaving: entry.every_interleaving,
            lists_values: entry.beyond_seen_values && !entry.beyond_interleavings,
            refused: None,
            endless: None,
            states: 0,
            grown_at: None,
        };
        if let Some(spent) = world.machine.spent {
            return Err(world.limit(spent.into(), Progress::default()));
        }
        if let Pause::Refuse(_) = pause {
            let node = world.automata.intern(main, pause);
            return Err(world.refusal(node));
        }
        // What was there before the others started happens before all they do.
        for (object, image) in world.main.0.private.take() {
            for (offset, (size, word)) in image {
                if Cell::is_held(offset) {
                    world.main.0.private.write(object, offset, size, word);
                    continue;
                }
                crate::private::write(world.machine.space.image_mut(object), offset, size, word);
            }
        }
        world.main.0.blocks.values_mut().for_each(|block| block.escaped = true);
        world.machine.alone = false;
        Ok(world)
    }

    /// How many messages a channel without a limit should have room for, after one has had too little.
    fn more_room(&self) -> Result<u32, Undiscovered> {
        let room = self.machine.room;
        if room < MOST_ROOM {
            return Ok(2 * room);
        }
        let at = self.machine.overflown.as_ref().map_or(Vec::new(), |sites| self.places(sites));
        let cell = "the messages on their way through a channel".to_string();
        Err(Undiscovered::Grows { at, cell, values: room as usize, interleaved: true })
    }

    /// Did the round find out something that makes another one necessary?
    fn has_grown(&mut self) -> Result<bool, Undiscovered> {
        let grown = match self.machine.promote() {
            Ok(grown) => grown,
            // Blocks are told apart already, since an access in this round.
            Err(_) if self.machine.surprised => true,
            Err(mixed) if self.machine.keep_apart(mixed.one.object) => true,
            Err(mixed) => return Err(self.mixed_sizes(mixed)),
        };
        Ok(grown | std::mem::take(&mut self.machine.surprised))
    }

    fn mixed_sizes(&self, MixedSizes { one, other }: MixedSizes) -> Undiscovered {
        let places = |cell: Cell| {
            let sites = self.machine.accessed.get(&cell);
            sites.map_or(Vec::new(), |sites| self.places(sites))
        };
        let debug = &self.machine.module.debug;
        let line = |place: &llvm::PlaceId| debug.chain(*place).next().map(|place| place.line);
        let also = places(other).first().and_then(line);
        let also = also.map_or(String::new(), |line| format!(" in line {line}"));
        Undiscovered::Refused {
            at: places(one),
            why: format!(
                "mixed-size accesses to {}: {} bytes at offset {}, and {} at offset {}{also}; an atomic \
                 access to bytes that are also accessed in another size is not checked",
                self.machine.called(one.object),
                one.size,
                one.offset,
                other.size,
                other.offset
            ),
        }
    }

    /// Says that a limit was reached, and where most of the work was.
    fn limit(&self, limit: Limit, progress: Progress) -> Undiscovered {
        let mut counts: HashMap<Site, usize> = HashMap::new();
        for (_, node) in self.automata.nodes() {
            if let Some(site) = node.sites.first() {
                *counts.entry(*site).or_default() += 1;
            }
        }
        if let Some((sites, times)) = &self.machine.spent_at {
            let busiest = Some((self.places(sites), *times));
            return Undiscovered::Limit { limit, progress, busiest };
        }
        let most = counts.into_iter().max_by_key(|(site, count)| (*count, *site));
        let busiest = most.filter(|(_, count)| *count >= MANY_NODES).and_then(|(site, count)| {
            let at = |node: &&crate::automaton::Node| node.sites.first() == Some(&site);
            let node = self.automata.nodes().map(|(_, node)| node).find(at)?;
            Some((self.places(&node.sites), count))
        });
        Undiscovered::Limit { limit, progress, busiest }
    }

    /// Says of a cell that it takes more and more values.
    fn grows(&self, id: usize, interleaved: bool) -> Undiscovered {
        let cell = self.cells[id];
        let writes = |action: &Action| action.cell() == Some(cell) && action.writes();
        let node = self.automata.nodes().find(|(_, node)| match &node.pause {
            Pause::Rest(action) => writes(action) && !node.sites.is_empty(),
            _ => false,
        });
        let at = node.map_or(Vec::new(), |(_, node)| self.places(&node.sites));
        let values = self.values[id].len();
        let cell = self.machine.cell_name(cell);
        Undiscovered::Grows { at, cell, values, interleaved }
    }

    fn fuller(&self, node: NodeId) -> Undiscovered {
        let why = "a channel may hold more messages here than interleavings put into it, where threads are followed beyond \
                   these; for `--model rc11` they are not"
            .to_string();
        Undiscovered::Refused { at: self.places(&self.automata.node(node).sites), why }
    }

    fn places(&self, sites: &[Site]) -> Vec<llvm::PlaceId> {
        let place = |site: &Site| {
            let function = self.machine.module.function(site.function);
            function.blocks[site.block as usize].instrs[site.instr as usize].at
        };
        sites.iter().filter_map(place).collect()
    }

    fn refusal(&self, node: NodeId) -> Undiscovered {
        let node = self.automata.node(node);
        let why = match &node.pause {
            Pause::Refuse(why) => why.clone(),
            _ => String::new(),
        };
        Undiscovered::Refused { at: self.places(&node.sites), why }
    }

    fn start_round(&mut self) {
        self.machine.touches.clear();
        // As long as memory was not known to be shared, threads may have waited for what nobody would write.
        self.machine.cut = self.cut_alone;
        self.machine.forget_teams(self.started.len());
        self.automata = Automata::default();
        self.cells.clear();
        self.initial.clear();
        self.values.clear();
        self.cell_ids.clear();
        self.first.clear();
        self.refused = None;
        self.endless = None;
        self.states = 0;
        self.grown_at = None;
    }

    /// The number of a cell.
    fn cell(&mut self, cell: Cell) -> usize {
        if let Some(id) = self.cell_ids.get(&cell) {
            return *id;
        }
        let is_started = match self.machine.space.object(cell.object).name {
            Name::Team(team) => cell == Cell::start(cell.object) && self.started.contains(&team),
            _ => false,
        };
        let initial = match is_started {
            true => Word::Bits(1),
            false => self.machine.peek(&Local::idle(0), cell),
        };
        let id = self.cells.len();
        self.cells.push(cell);
        self.initial.push(initial);
        self.values.push(BTreeSet::from([initial]));
        self.cell_ids.insert(cell, id);
        id
    }

    /// The node that a thread starts at.
    fn first(&mut self, thread: usize) -> NodeId {
        while self.first.len() <= thread {
            let next = self.first.len() as u32;
            let node = match next {
                0 => {
                    let (local, pause) = match &self.main {
                        (local, Pause::Company | Pause::Rest(_)) => {
                            self.machine.advance(local.clone())
                        }
                        (local, pause) => (local.clone(), pause.clone()),
                    };
                    self.automata.intern(local, pause)
                }
                _ => self.automata.idle(&mut self.machine, next),
            };
            self.first.push(node);
        }
        self.first[thread]
    }

    /// Lets every node read every value that its cell holds anywhere, until nothing new comes of it. A value that is
    /// only written where no interleaving comes counts if `values` says so. At most so many values are added, and nodes
    /// followed.
    fn close(&mut self, values: Values, limits: Limits) -> Result<(), Undiscovered> {
        let mut added = 0;
        let mut new_values: HashMap<usize, usize> = HashMap::new();
        loop {
            let (known, before) = (self.automata.edges(), added);
            // Threads that no interleaving starts may be started all the same.
            for thread in self.first.len()..self.machine.threads.len() {
                self.first(thread);
            }
            let mut at = 0;
            while at < self.automata.len() {
                let node = NodeId(at as u32);
                at += 1;
                if let Pause::Refuse(_) = self.automata.node(node).pause {
                    return Err(self.refusal(node));
                }
                let Some(action) = self.automata.action(node) else { continue };
                if let Action::Choose { alternatives } = action {
                    for choice in 0..alternatives {
                        self.automata.step(&mut self.machine, node, Word::Bits(choice.into()));
                    }
                    continue;
                }
                let Some(cell) = action.cell() else {
                    self.automata.step(&mut self.machine, node, Word::ZERO);
                    continue;
                };
                let id = self.cell(cell);
                if let Action::Recall { .. } | Action::Take { .. } = action {
                    self.automata.step(&mut self.machine, node, Word::ZERO);
                    self.automata.step(&mut self.machine, node, Word::Bits(1));
                    continue;
                }
                if let Action::CompareExchange { weak: true, .. } = action {
                    self.automata.step(&mut self.machine, node, SPURIOUS);
                }
                for old in self.values[id].clone() {
                    let Some((new, input)) = outcome(&action, old) else {
                        continue;
                    };
                    // Every thread of a team ends once, whatever it has read, so they are not counted any further.
                    if action.writes() && self.machine.all_ended(cell, old) {
                        continue;
                    }
                    if let Some(new) = new.filter(|new| !self.values[id].contains(new)) {
                        let of_cell = new_values.entry(id).or_insert(0);
                        let counts = match values {
                            // Whether a channel can be fuller than interleavings fill it is not known there.
                            Values::New if new == OVERFLOW => return Err(self.fuller(node)),
                            Values::New if added == MOST_ADDED => {
                                return Err(self.grows(id, false));
                            }
                            Values::New => true,
                            Values::Seen if self.machine.counts_ends(cell) => true,
                            Values::Seen => new != OVERFLOW && *of_cell < FEW_NEW,
                        };
                        if counts {
                            *of_cell += 1;
                            added += 1;
                            self.values[id].insert(new);
                        }
                    }
                    self.automata.step(&mut self.machine, node, input);
                }
                let spent = self.machine.spent.or_else(|| limits.budget.spent()).map(Limit::from);
                let many = (self.automata.len() > MOST_NODES).then_some(Limit::States);
                if let Some(limit) = spent.or(many) {
                    return Err(self.limit(limit, Progress::default()));
                }
            }
            let all_started = self.first.len() == self.machine.threads.len();
            if self.automata.edges() == known && added == before && all_started {
                return Ok(());
            }
        }
    }

    /// Was the thread ever started?
    pub(crate) fn is_started(&self, thread: u32) -> bool {
        !self.automata.node(self.first[thread as usize]).next.is_empty()
    }
}
