//! Executes one thread of a module at a time, exactly.
//!
//! A machine knows the module, all objects, and which cells are shared. [`Machine::advance`] runs a thread until it
//! rests before an action that others can notice, ends, or goes wrong. Accesses to memory that is not shared are nobody
//! else's business and are carried out at once; the machine takes down who touched what, so that cells that turn out
//! to be shared can be found.

use crate::action::{Action, Cell, Order, Stop, changes, outcome};
use crate::code::Code;
use crate::library::rust::names::Class;
use crate::life::owner;
use crate::local::{Frame, Local, Then};
use crate::shared::{MixedSizes, Shared, Strength, Touch, Touches};
use crate::space::{Fill, Name, ObjectId, Site, Space};
use crate::team::{Member, Task, Team};
use crate::value::{Val, Word};
use llvm::{BlockId, FunctionId, Instr, InstrKind, Module};
use search::{Budget, Spent};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Calls within calls before it is taken for recursion without end.
const DEEPEST: usize = 512;
/// Instructions without a visible action before a thread is watched for running in circles, and before it is given up.
const PATIENCE: u64 = 4096;
const MOST_STEPS: u64 = 20_000_000;
/// So many bytes of a state are worth comparing each time that a loop goes round: one that fills a large array comes back to no
/// state, and is found out as well if one is compared now and then.
const COMPARED: usize = 256;

/// What an unknown function does, by the user's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stub {
    /// Nothing; a result is 0.
    Ignore,
    /// Returns this number and does nothing else.
    Return(u64),
    /// Never returns.
    Stop,
}

/// Why a thread goes no further for now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    /// It wants to do this.
    Rest(Action),
    /// It is done.
    Ended,
    /// It is about to start the first other thread.
    Company,
    /// It goes no further.
    Blocked,
    /// It went wrong: how, in one line.
    Fail(String),
    /// There is no meaning for what it does.
    Refuse(String),
}

/// The machine.
pub(crate) struct Machine {
    pub(crate) module: Arc<Module>,
    pub(crate) space: Space,
    pub(crate) shared: Shared,
    pub(crate) touches: Touches,
    pub(crate) threads: Vec<Member>,
    pub(crate) teams: Vec<Team>,
    /// Threads that are waited for one by one.
    pub(crate) individually: BTreeSet<ObjectId>,
    /// Has it turned out that a team is waited for one by one, which was not known?
    pub(crate) surprised: bool,
    pub(crate) stubs: Vec<(String, Stub)>,
    /// What the user should know about the answer, once each.
    pub(crate) notes: Vec<String>,
    /// Are the final values of global variables looked at?
    pub(crate) observed: bool,
    /// Are volatile accesses taken for relaxed atomic ones?
    pub(crate) volatile_atomic: bool,
    /// How often loops go round at most; and did one of them want to go round once more?
    pub(crate) most_rounds: Option<u32>,
    pub(crate) cut: bool,
    /// What may be used up, and what was: threads went no further then.
    pub(crate) budget: Budget,
    /// How many pieces of memory were copied or filled in bulk.
    pub(crate) pieces: u64,
    pub(crate) spent: Option<Spent>,
    /// Where a thread was then that had done nothing visible for long, from the innermost call outwards, and how often it was in such a place.
    pub(crate) spent_at: Option<(Vec<Site>, usize)>,
    /// Is there only one thread yet? Then nothing that it does can be noticed.
    pub(crate) alone: bool,
    /// Functions that run before `main`, in their order.
    pub(crate) constructors: Vec<FunctionId>,
    /// Blocks that Rust's library allocates for its own use.
    pub(crate) librarys: HashSet<ObjectId>,
    /// Variables of the first thread's stack that came to their end while other threads may have been running.
    pub(crate) mortal: BTreeSet<ObjectId>,
    /// Has a thread other than the first ended before threads that it started?
    pub(crate) unjoined: bool,
    /// Sizes of blocks that are allocated while there are several threads, and whether they are filled with 0.
    pub(crate) allocated: BTreeSet<(u64, bool)>,
    /// Sizes of blocks that were freed while somebody still knew their address, and that were not known to be allocated.
    pub(crate) unmatched: BTreeSet<(u64, bool)>,
    /// Blocks that were freed while somebody still knew their address, so that it matters if it is given out again.
    pub(crate) recyclable: BTreeSet<ObjectId>,
    /// Sizes of blocks that objects of different types were in, one after the other, and whether they are filled with 0.
    pub(crate) apart: BTreeSet<(u64, bool)>,
    /// Who asked for such blocks: their size, whether they are filled with 0, and the innermost calls.
    pub(crate) askers: HashMap<(u64, bool, Vec<Site>), u32>,
    /// Those of them who use blocks as an earlier one does.
    pub(crate) together: BTreeMap<u32, u32>,
    /// Those of them who are with nobody, whatever they do.
    pub(crate) loners: BTreeSet<u32>,
    /// Objects whose address may be hidden in a number.
    pub(crate) disguised: BTreeSet<ObjectId>,
    /// Where blocks were first allocated, from the innermost call outwards, for their names.
    pub(crate) births: HashMap<ObjectId, Vec<Site>>,
    /// Where bytes were first accessed as one, from the innermost call outwards, for messages.
    pub(crate) accessed: HashMap<Cell, Vec<Site>>,
    /// What is special about functions, as far as it was asked.
    pub(crate) classes: Vec<Option<Class>>,
    /// The names of types of exceptions that were thrown.
    pub(crate) thrown_types: Vec<String>,
    /// How many messages channels without a limit have room for; and where there was one more, from the innermost call
    /// outwards.
    pub(crate) room: u32,
    pub(crate) overflown: Option<Vec<Site>>,
    /// Are there slots for messages of channels?
    pub(crate) has_slots: bool,
    /// Channels, by their tails, where somebody looks for a message without waiting.
    pub(crate) tried: BTreeSet<Cell>,
    /// Are threads followed beyond what interleavings lead to?
    pub(crate) is_beyond: bool,
    codes: Vec<Option<Arc<Code>>>,
}

impl Machine {
    pub(crate) fn new(module: Arc<Module>, stubs: Vec<(String, Stub)>) -> Self {
        let codes = vec![None; module.functions.len()];
        let mut machine = Machine {
            module,
            space: Space::default(),
            shared: Shared::default(),
            touches: Touches::default(),
            threads: Vec::new(),
            teams: Vec::new(),
            individually: BTreeSet::new(),
            surprised: false,
            stubs,
            notes: Vec::new(),
            observed: false,
            volatile_atomic: false,
            most_rounds: None,
            cut: false,
            budget: Budget::UNLIMITED,
            pieces: 0,
            spent: None,
            spent_at: None,
            alone: true,
            constructors: Vec::new(),
            librarys: HashSet::new(),
            mortal: BTreeSet::new(),
            unjoined: false,
            allocated: BTreeSet::new(),
            unmatched: BTreeSet::new(),
            recyclable: BTreeSet::new(),
            apart: BTreeSet::new(),
            askers: HashMap::new(),
            together: BTreeMap::new(),
            loners: BTreeSet::new(),
            disguised: BTreeSet::new(),
            births: HashMap::new(),
            accessed: HashMap::new(),
            classes: vec![None; codes.len()],
            thrown_types: Vec::new(),
            room: 0,
            overflown: None,
            has_slots: false,
            tried: BTreeSet::new(),
            is_beyond: false,
            codes,
        };
        let handle = machine.thread_object(u32::MAX, 0);
        machine.threads.push(Member { team: None, handle, task: None });
        machine
    }

    /// Makes cells of the memory that turned out to be shared. Was there any that was not known?
    pub(crate) fn promote(&mut self) -> Result<bool, MixedSizes> {
        let Machine { space, observed, mortal, unjoined, .. } = self;
        let hidden = |cell: Cell| hidden_touch(space, cell, *observed, mortal, *unjoined);
        self.touches.promote(&mut self.shared, hidden)
    }

    /// Is there memory that turned out to be shared and is not known to be?
    pub(crate) fn has_news(&mut self) -> bool {
        let Machine { space, observed, mortal, unjoined, .. } = self;
        let hidden = |cell: Cell| hidden_touch(space, cell, *observed, mortal, *unjoined);
        self.touches.has_news(&self.shared, hidden)
    }

    /// Takes down that an instruction accesses some bytes.
    pub(crate) fn touch(&mut self, local: &Local, cell: Cell, writes: bool, strength: Strength) {
        if self.touches.add(cell, local.thread, writes, strength) {
            self.accessed.entry(cell).or_insert_with(|| local.sites());
        }
    }

    /// Says something about the answer, unless it was said before.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub(crate) fn code(&mut self, function: FunctionId) -> Arc<Code> {
        let module = &self.module;
        let code = &mut self.codes[function.index()];
        code.get_or_insert_with(|| Arc::new(Code::of(module, module.function(function)))).clone()
    }

    /// Enters a function.
    pub(crate) fn enter(
        &mut self,
        local: &mut Local,
        function: FunctionId,
        arguments: Vec<Val>,
        then: Then,
    ) -> Result<(), Stop> {
        if local.frames.len() >= DEEPEST {
            let name = &self.module.function(function).name;
            return Stop::refuse(format!(
                "more than {DEEPEST} calls within each other, of `{name}` at last: recursion without end?"
            ));
        }
        let declared = self.module.function(function);
        if declared.is_declaration() {
            return Stop::refuse(format!(
                "a library function, `{}`, as what a thread or `once` runs",
                declared.name
            ));
        }
        let code = self.code(function);
        let declared = self.module.function(function);
        let mut registers = vec![Val::Undef; declared.locals.len()];
        for (register, value) in registers.iter_mut().zip(arguments).take(declared.params.len()) {
            *register = value;
        }
        let objects = Vec::new();
        let rounds = BTreeMap::new();
        let frame = Frame { function, code, block: 0, instr: 0, registers, objects, rounds, then };
        local.frames.push(frame);
        Ok(())
    }

    /// The thread with one more input for the instruction it rests at: what its visible action gave.
    pub(crate) fn resume(&mut self, local: &Local, input: Word) -> (Local, Pause) {
        let mut next = local.clone();
        next.inputs.push(input);
        self.advance(next)
    }

    /// Runs a thread until it pauses.
    pub(crate) fn advance(&mut self, mut local: Local) -> (Local, Pause) {
        let pause = self.run(&mut local);
        if local.frames.is_empty() {
            local.inputs.clear();
        }
        match &pause {
            Pause::Rest(_) => local.tidy(&self.space),
            Pause::Company => {}
            _ => {
                // Nothing more happens here, so nothing distinguishes such states but where they are.
                local.inputs.clear();
                local.starting.clear();
                local.joining.clear();
                local.at_exit.clear();
                local.exit_round = 0;
                local.stray.clear();
                local.thrown.clear();
                local.abandoned = None;
                local.running = 0;
                local.private = Default::default();
                local.blocks.clear();
                for frame in &mut local.frames {
                    frame.registers.fill(Val::Undef);
                    frame.objects.clear();
                }
            }
        }
        (local, pause)
    }

    fn run(&mut self, local: &mut Local) -> Pause {
        let (mut steps, mut next_mark) = (0u64, PATIENCE);
        // One instruction may copy a megabyte, so the pieces count, too.
        let (before, mut next_look) = (self.pieces, PATIENCE);
        // A state that it may come back to, where that was, and how often it was there again.
        let (mut mark, mut marked, mut visits) = (Vec::new(), None, 0usize);
        let mut now = Vec::new();
        loop {
            if local.frames.is_empty() {
                match self.start(local) {
                    Ok(()) => continue,
                    Err(stop) => return pause(stop),
                }
            }
            let frame = local.top();
            let at_start_of_block = frame.instr == 0;
            steps += 1;
            let work = steps + (self.pieces - before);
            let looks = work >= next_look;
            if looks {
                next_look = work + PATIENCE;
                self.spent = self.spent.or_else(|| self.budget.spent());
            }
            if self.spent.is_some() && work >= PATIENCE {
                self.spent_at = Some((local.sites(), visits)).filter(|_| visits > 0);
                return Pause::Blocked;
            }
            // What it does for so long may be somebody's business, as it turns out: the next round will tell.
            if looks && !self.alone && self.has_news() {
                self.surprised = true;
                return Pause::Blocked;
            }
            let mut circles = false;
            if steps > PATIENCE && at_start_of_block {
                let frame = local.top();
                let place = Some((frame.function, frame.block));
                if steps > next_mark {
                    local.encode(&mut mark);
                    (marked, visits, next_mark) = (place, 0, 2 * steps);
                } else if place == marked {
                    visits += 1;
                    if visits % (1 + mark.len() / COMPARED) == 0 {
                        local.encode(&mut now);
                        circles = now == mark;
                    }
                }
            }
            let done = match () {
                () if circles => Err(Stop::Blocked),
                () if steps > MOST_STEPS => Stop::refuse(format!(
                    "{MOST_STEPS} instructions without an access to shared memory: does this loop end?"
                )),
                () => self.instruction(local),
            };
            match done {
                Ok(()) => local.completed(),
                Err(Stop::Rest(action)) => {
                    local.cursor = 0;
                    return Pause::Rest(action);
                }
                Err(Stop::Company) => return Pause::Company,
                // Before it ends, whatever it left for later is done.
                Err(stop) => {
                    let before = local.clone();
                    return match self.settle(local) {
                        Err(Stop::Rest(action)) => {
                            *local = before;
                            Pause::Rest(action)
                        }
                        _ => pause(stop),
                    };
                }
            }
        }
    }

    /// Carries out the instruction the thread is at, or leaves the thread as it was.
    fn instruction(&mut self, local: &mut Local) -> Result<(), Stop> {
        let module = self.module.clone();
        let frame = local.top();
        let function = module.function(frame.function);
        let instr = &function.blocks[frame.block as usize].instrs[frame.instr as usize];
        let postponed = !local.starting.is_empty() || !local.joining.is_empty();
        let recalls = !local.stray.is_empty() && matches!(instr.kind, InstrKind::Alloca { .. });
        if !postponed && !recalls && !self.leaves_traces(&module, instr) {
            return self.execute(local, &module, instr);
        }
        let before = local.clone();
        self.execute(local, &module, instr).inspect_err(|_| *local = before)
    }

    /// The thread is not running: `main` starts, another waits to be started.
    fn start(&mut self, local: &mut Local) -> Result<(), Stop> {
        let Some(team) = self.threads[local.thread as usize].team else {
            return self.next_constructor(local, 0);
        };
        let cell = Cell::start(self.teams[team as usize].object);
        self.visible(local, Action::Await { cell, least: 1 })?;
        let task = self.threads[local.thread as usize].task.clone();
        let Some(Task { function, arguments, gifts }) = task else { return Err(Stop::Blocked) };
        for gift in gifts {
            for (offset, size, word) in gift.image {
                local.private.write(gift.to, offset, size, word);
            }
        }
        self.enter(local, function, arguments, self.after_task(function))?;
        local.completed();
        Ok(())
    }

    /// Enters the next of the functions that run before `main`, or `main`.
    pub(crate) fn next_constructor(&mut self, local: &mut Local, next: u32) -> Result<(), Stop> {
        if let Some(constructor) = self.constructors.get(next as usize).copied() {
            return self.enter(local, constructor, Vec::new(), Then::Constructor(next + 1));
        }
        let Some(Task { function, arguments, .. }) = self.threads[0].task.clone() else {
            return Err(Stop::Ended);
        };
        self.enter(local, function, arguments, Then::EndThread)
    }

    /// Does something that others can notice: its result if it happened already, else the thread rests.
    pub(crate) fn visible(&mut self, local: &mut Local, action: Action) -> Result<Word, Stop> {
        self.settle(local)?;
        if self.alone {
            return self.unnoticed(local, action);
        }
        self.noticed(local, action)
    }

    /// Starts the threads that are to be started, and waits for those that are waited for.
    pub(crate) fn settle(&mut self, local: &mut Local) -> Result<(), Stop> {
        if !local.starting.is_empty() {
            let team = self.team(local.thread, &local.starting)?;
            let cell = Cell::start(self.teams[team as usize].object);
            let start = Action::Write { cell, value: Word::Bits(1), order: Order::Release };
            self.noticed(local, start)?;
            local.starting.clear();
        }
        if !local.joining.is_empty() {
            self.wait_for_all(local)?;
            local.joining.clear();
        }
        Ok(())
    }

    pub(crate) fn noticed(&mut self, local: &mut Local, action: Action) -> Result<Word, Stop> {
        match local.inputs.get(local.cursor) {
            Some(input) => {
                let input = *input;
                local.cursor += 1;
                if self.most_rounds.is_some() && changes(&action, input) {
                    local.wrote();
                }
                Ok(input)
            }
            None => Err(Stop::Rest(action)),
        }
    }

    /// Does something visible while there is nobody to see it.
    fn unnoticed(&mut self, local: &mut Local, action: Action) -> Result<Word, Stop> {
        let Some(cell) = action.cell() else {
            return match action {
                Action::Fence { .. } => Ok(Word::ZERO),
                // What is chosen here is chosen while the others are watched for.
                choice => Err(Stop::Rest(choice)),
            };
        };
        if matches!(self.space.object(cell.object).name, Name::Thread { .. } | Name::Team(_)) {
            return Err(Stop::Rest(action));
        }
        let old = self.peek(local, cell);
        let (new, input) = match outcome(&action, old) {
            Some((new, input)) => (new, input),
            // It waits for ever, which is to be seen.
            None => return Err(Stop::Rest(action)),
        };
        if let Some(word) = new {
            local.private.write(cell.object, cell.offset, cell.size.max(1), word);
        }
        Ok(input)
    }

    /// What a cell holds as far as this thread knows.
    pub(crate) fn peek(&self, local: &Local, cell: Cell) -> Word {
        let below = self.space.image(cell.object);
        let fill = match cell.is_sync() || cell.is_life() {
            true => Fill::Zero,
            false => self.space.object(cell.object).fill,
        };
        local.private.read(cell.object, cell.offset, cell.size.max(1), below, fill)
    }

    /// Goes to a block: all its phis take their values at once.
    pub(crate) fn jump(&mut self, local: &mut Local, to: BlockId) -> Result<(), Stop> {
        let module = self.module.clone();
        let frame = local.top();
        let function = module.function(frame.function);
        let from = frame.block;
        let mut values = Vec::new();
        for instr in &function.block(to).instrs {
            let InstrKind::Phi { incoming, .. } = &instr.kind else { break };
            let operand = incoming.iter().find(|(_, source)| source.index() == from as usize);
            let Some((operand, _)) = operand else {
                return Stop::refuse("a phi without a value for where control comes from");
            };
            values.push((instr.result, self.eval(local, operand)?));
        }
        let frame = local.top();
        frame.block = to.index() as u32;
        frame.instr = values.len() as u32;
        for (result, value) in values {
            if let Some(result) = result {
                frame.set(result, value);
            }
        }
        // Every loop has a jump that does not lead forward; a loop that is entered starts to count.
        if let Some(most) = self.most_rounds
            && frame.code.is_loop(frame.block)
            && !local.comes_by(to.index() as u32 <= from, most, &self.space)
        {
            self.cut = true;
            return Err(Stop::Blocked);
        }
        Ok(())
    }

    /// Sets the result of the instruction the thread is at, and goes on to the next.
    pub(crate) fn done(
        &mut self,
        local: &mut Local,
        instr: &Instr,
        value: Val,
    ) -> Result<(), Stop> {
        let frame = local.top();
        if let Some(result) = instr.result {
            frame.set(result, value);
        }
        match &instr.kind {
            InstrKind::Invoke { normal, .. } => self.jump(local, *normal),
            _ => {
                frame.instr += 1;
                Ok(())
            }
        }
    }

    /// May an instruction change the thread before it rests? Then it must be undone when it does.
    fn leaves_traces(&mut self, module: &Module, instr: &Instr) -> bool {
        match &instr.kind {
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => match &call.callee {
                llvm::Callee::Function(function) => {
                    module.function(*function).is_declaration()
                        || call.args.iter().any(|arg| arg.byval.is_some())
                        || self.is_known_rust(*function)
                }
                llvm::Callee::Pointer(_) => true,
                llvm::Callee::Asm(asm) => !asm.template.is_empty(),
            },
            InstrKind::Return { .. } | InstrKind::Resume { .. } => true,
            // What fills or empties the slot of a channel does more than one thing.
            InstrKind::Store { .. } | InstrKind::ReadModifyWrite { .. } => self.has_slots,
            _ => false,
        }
    }

    /// The innermost place of the thread's code.
    pub(crate) fn site(local: &Local) -> Site {
        local.frames.last().expect("a running thread is in a call").site()
    }
}

/// How a cell is touched beside the accesses of instructions: at the end of its object, or by whoever looks at final
/// values. What dies when all others have ended and were waited for dies unnoticed.
fn hidden_touch(
    space: &Space,
    cell: Cell,
    observed: bool,
    mortal: &BTreeSet<ObjectId>,
    unjoined: bool,
) -> Touch {
    match space.object(cell.object).name {
        Name::Global(_) if observed => Touch::OBSERVED,
        _ if !cell.is_life() => Touch::default(),
        _ => match owner(space, cell.object) {
            Some(0) if !unjoined && !mortal.contains(&cell.object) => Touch::default(),
            thread => thread.map_or(Touch::default(), Touch::written_by),
        },
    }
}

fn pause(stop: Stop) -> Pause {
    match stop {
        Stop::Rest(action) => Pause::Rest(action),
        Stop::Ended => Pause::Ended,
        Stop::Company => Pause::Company,
        Stop::Blocked => Pause::Blocked,
        Stop::Fail(how) => Pause::Fail(how),
        Stop::Refuse(why) => Pause::Refuse(why),
    }
}
