//! The state of one thread: its frames with their registers, and the memory that it alone touches.
//!
//! A thread *rests* before an instruction that others can notice. Such an instruction may need several visible actions
//! (a copy of shared memory reads and writes many cells): the results of those that happened are its *inputs*, and with
//! each new input the instruction is carried out again from its start, with the same results, until it needs one more.

use crate::code::Code;
use crate::library::{AtExit, Thrown};
use crate::private::Private;
use crate::space::{Name, ObjectId, Site, Space};
use crate::team::Task;
use crate::value::{Bits, Val, Word};
use llvm::{FunctionId, Local as Register};
use search::encoding::put;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The state of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    /// Its number.
    pub(crate) thread: u32,
    /// The calls it is in, the innermost last; none before it starts.
    pub(crate) frames: Vec<Frame>,
    pub(crate) private: Private,
    /// The blocks of the heap that it allocated and that are still of interest.
    pub(crate) blocks: BTreeMap<ObjectId, Block>,
    /// Blocks with shared cells that it has allocated before: when it gets one again, what is left in it is gone.
    pub(crate) again: BTreeSet<ObjectId>,
    /// How many threads it has started.
    pub(crate) started: u32,
    /// Threads that it starts with its next visible action.
    pub(crate) starting: Vec<Starting>,
    /// Threads that it waits for before its next visible action.
    pub(crate) joining: Vec<ObjectId>,
    /// What is to run when the program ends, the latest last, which only the first thread has, or when the thread ends.
    pub(crate) at_exit: Vec<AtExit>,
    /// The round of destructors in which a value for a key is destroyed that is set now.
    pub(crate) exit_round: u32,
    /// Threads that it has started and not waited for.
    pub(crate) running: u32,
    /// Its variables on the stack, of this call or an earlier one, whose address may outlive the call.
    pub(crate) stray: BTreeSet<ObjectId>,
    /// The variable of an earlier call that is kept apart from those of later calls (see [`crate::life`]).
    pub(crate) abandoned: Option<ObjectId>,
    /// Where the program says that such a thread is to be started or waited for; it distinguishes no states.
    pub(crate) postponed_at: Vec<Site>,
    /// Exceptions that are on their way or being handled, the innermost handler's last.
    pub(crate) thrown: Vec<Thrown>,
    /// What the landing pad is told that the thread is about to reach: an exception, and of which kind it is there.
    pub(crate) landing: Option<(Word, u32)>,
    /// Results of the visible actions of the instruction it rests at.
    pub(crate) inputs: Vec<Word>,
    /// How many of them the instruction has used.
    pub(crate) cursor: usize,
    /// The call of a library function was carried out to its end and is to be made again; so it is during that call only.
    pub(crate) calls_again: bool,
}

/// A thread about to be started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Starting {
    /// The object that stands for it.
    pub(crate) handle: ObjectId,
    pub(crate) task: Task,
}

/// A block of the heap as the thread that allocated it knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Block {
    /// Other threads may know it.
    pub(crate) escaped: bool,
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) function: FunctionId,
    pub(crate) code: Arc<Code>,
    pub(crate) block: u32,
    pub(crate) instr: u32,
    pub(crate) registers: Vec<Val>,
    /// Variables of this call that are in memory.
    pub(crate) objects: Vec<ObjectId>,
    /// How often loops have gone round, by the block they go back to; only counted if that is limited.
    pub(crate) rounds: BTreeMap<u32, Rounds>,
    /// What happens when it returns.
    pub(crate) then: Then,
}

/// How often a loop has gone round. A round that wrote nothing others can notice, and after which the thread is in a state
/// that it was in before, is one of waiting and does not count.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) count: u32,
    /// Has the thread written something that others can notice since it last came by?
    pub(crate) wrote: bool,
    /// The states it was in when it came by since it last did so, as hashes.
    pub(crate) seen: BTreeSet<u64>,
}

/// What happens when a call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// The caller goes on with the result.
    GoOn,
    /// The thread ends with the result.
    EndThread,
    /// The thread destroys what it was given, and ends.
    DestroyState,
    /// It was called by `exit`: the next of the functions that run then, or the end of the thread.
    Exit,
    /// A `once` is marked as done, and its caller goes on with 0.
    Once(crate::action::Cell),
    /// The destructor of an exception, which is freed then.
    FreeException,
    /// A `Once` of Rust is marked as complete.
    Complete(crate::action::Cell),
    /// It was called on top of a call that the thread is about to leave for good, and leaves now.
    Again,
    /// A message that nobody received was destroyed, in this slot; its caller makes its call again.
    Discard(ObjectId),
    /// The next of the functions that run before `main`, by its number; then `main` itself.
    Constructor(u32),
}

impl Frame {
    pub(crate) fn site(&self) -> Site {
        Site { function: self.function, block: self.block, instr: self.instr }
    }

    pub(crate) fn set(&mut self, register: Register, value: Val) {
        self.registers[register.index()] = value;
    }
}

impl Local {
    /// A thread that has not started.
    pub(crate) fn idle(thread: u32) -> Self {
        Local {
            thread,
            frames: Vec::new(),
            private: Private::default(),
            blocks: BTreeMap::new(),
            again: BTreeSet::new(),
            started: 0,
            starting: Vec::new(),
            joining: Vec::new(),
            at_exit: Vec::new(),
            exit_round: 0,
            running: 0,
            stray: BTreeSet::new(),
            abandoned: None,
            postponed_at: Vec::new(),
            thrown: Vec::new(),
            landing: None,
            inputs: Vec::new(),
            cursor: 0,
            calls_again: false,
        }
    }

    /// An instruction was carried out to its end.
    pub(crate) fn completed(&mut self) {
        self.inputs.clear();
        self.cursor = 0;
    }

    pub(crate) fn top(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a running thread is in a call")
    }

    /// All that distinguishes it from other states, but for how often loops have gone round.
    fn hash_but_for_rounds(&self) -> u64 {
        let mut state = self.clone();
        state.frames.iter_mut().for_each(|frame| frame.rounds.clear());
        let mut encoded = Vec::new();
        state.encode(&mut encoded);
        let mut hasher = DefaultHasher::new();
        encoded.hash(&mut hasher);
        hasher.finish()
    }

    /// Something was written that others can notice.
    pub(crate) fn wrote(&mut self) {
        for frame in &mut self.frames {
            frame.rounds.values_mut().for_each(|rounds| rounds.wrote = true);
        }
    }

    /// A loop is entered, or goes round again, at the block where the thread is. May it, if `most` rounds are allowed?
    pub(crate) fn comes_by(&mut self, is_round: bool, most: u32, space: &Space) -> bool {
        self.tidy(space);
        let hash = self.hash_but_for_rounds();
        let frame = self.top();
        let rounds = frame.rounds.entry(frame.block).or_default();
        if !is_round {
            *rounds = Rounds { seen: BTreeSet::from([hash]), ..Rounds::default() };
            return true;
        }
        if std::mem::take(&mut rounds.wrote) {
            rounds.seen.clear();
        }
        if rounds.seen.insert(hash) {
            rounds.count += 1;
        }
        rounds.count <= most
    }

    /// Where it is, from the innermost call outwards.
    pub(crate) fn sites(&self) -> Vec<Site> {
        self.frames.iter().rev().map(Frame::site).collect()
    }

    /// Where its next visible action is: what was postponed comes before what its instruction does itself.
    pub(crate) fn action_sites(&self) -> Vec<Site> {
        let postponed = !self.starting.is_empty() || !self.joining.is_empty();
        match postponed && self.inputs.is_empty() {
            true => self.postponed_at.clone(),
            false => self.sites(),
        }
    }

    /// Forgets what cannot matter: dead registers, and private blocks that nothing points to.
    pub(crate) fn tidy(&mut self, space: &Space) {
        // An instruction that is yet to be carried out, or once more, needs its operands.
        let comes_back = |then: Then| matches!(then, Then::Again | Then::Discard(_));
        let above: Vec<bool> = self.frames.iter().skip(1).map(|it| comes_back(it.then)).collect();
        for (depth, frame) in self.frames.iter_mut().enumerate() {
            let is_next = above.get(depth).copied().unwrap_or(true);
            let live = match is_next {
                true => frame.code.live_before(frame.block, frame.instr),
                false => frame.code.live_after(frame.block, frame.instr),
            };
            for (index, value) in frame.registers.iter_mut().enumerate() {
                let is_result = !is_next && frame.code.is_result(frame.block, frame.instr, index);
                if is_result || !live.contains(index) {
                    *value = Val::Undef;
                }
            }
        }
        let mentioned = self.mentioned(space);
        let gone: Vec<ObjectId> = self
            .blocks
            .iter()
            .filter(|(object, block)| !block.escaped && !mentioned.contains(*object))
            .map(|(object, _)| *object)
            .collect();
        for object in gone {
            self.blocks.remove(&object);
            self.private.forget(object);
        }
    }

    /// The blocks that something of this thread points to, freed or not.
    pub(crate) fn mentioned(&self, space: &Space) -> BTreeSet<ObjectId> {
        let mut found = BTreeSet::new();
        let mut queue = Vec::new();
        let mut see = |word: Word, queue: &mut Vec<ObjectId>| {
            for object in space.mentions(word) {
                if matches!(space.object(object).name, Name::Heap { .. }) && found.insert(object) {
                    queue.push(object);
                }
            }
        };
        for frame in &self.frames {
            frame
                .registers
                .iter()
                .for_each(|value| each_word(value, &mut |word| see(word, &mut queue)));
        }
        self.inputs.iter().for_each(|word| see(*word, &mut queue));
        self.thrown.iter().for_each(|thrown| see(thrown.object, &mut queue));
        let arguments = self.starting.iter().flat_map(|starting| &starting.task.arguments);
        arguments.for_each(|value| each_word(value, &mut |word| see(word, &mut queue)));
        let at_exit = self.at_exit.iter().filter_map(|later| later.argument.as_ref());
        at_exit.for_each(|value| each_word(value, &mut |word| see(word, &mut queue)));
        let gifts = self.starting.iter().flat_map(|starting| &starting.task.gifts);
        gifts.flat_map(|gift| &gift.image).for_each(|(_, _, word)| see(*word, &mut queue));
        for (object, image) in self.private.objects() {
            let is_root = match space.object(object).name {
                Name::Heap { .. } => self.blocks.get(&object).is_none_or(|block| block.escaped),
                _ => true,
            };
            if is_root {
                image.values().for_each(|(_, word)| see(*word, &mut queue));
            }
        }
        while let Some(object) = queue.pop() {
            for word in self.private.cells(object).collect::<Vec<_>>() {
                see(word, &mut queue);
            }
        }
        found
    }

    /// Does anything of this thread point to an object?
    pub(crate) fn mentions(&self, space: &Space, object: ObjectId) -> bool {
        let is_it = |word: Word| space.mentions(word).any(|other| other == object);
        let registers = self.frames.iter().flat_map(|frame| &frame.registers);
        let tasks = || self.starting.iter().map(|starting| &starting.task);
        let arguments = tasks().flat_map(|task| &task.arguments);
        let at_exit = self.at_exit.iter().filter_map(|later| later.argument.as_ref());
        let mut found = false;
        for value in registers.chain(arguments).chain(at_exit) {
            each_word(value, &mut |word| found |= is_it(word));
        }
        let mut gifts = tasks().flat_map(|task| &task.gifts).flat_map(|gift| &gift.image);
        let mut own = self.private.objects().flat_map(|(_, image)| image.values());
        found
            || self.inputs.iter().any(|word| is_it(*word))
            || self.thrown.iter().any(|thrown| is_it(thrown.object))
            || gifts.any(|(_, _, word)| is_it(*word))
            || own.any(|(_, word)| is_it(*word))
    }

    /// Will anything of this thread point to an object when the instruction is done that it is at?
    pub(crate) fn keeps(&self, space: &Space, object: ObjectId) -> bool {
        let mut after = self.clone();
        after.inputs.clear();
        for frame in &mut after.frames {
            let live = frame.code.live_after(frame.block, frame.instr);
            for (index, value) in frame.registers.iter_mut().enumerate() {
                if !live.contains(index) || frame.code.is_result(frame.block, frame.instr, index) {
                    *value = Val::Undef;
                }
            }
        }
        after.mentions(space, object)
    }

    /// Other threads may get to know a value, and what it points to.
    pub(crate) fn escape(&mut self, word: Word, space: &Space) {
        let mut queue = vec![word];
        while let Some(word) = queue.pop() {
            for object in space.mentions(word) {
                if let Some(block) = self.blocks.get_mut(&object)
                    && !block.escaped
                {
                    block.escaped = true;
                    queue.extend(self.private.cells(object));
                }
            }
        }
    }

    /// All that distinguishes it from other states of the same thread.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        let number = |value: usize, out: &mut Vec<u8>| put(value as u128, out);
        number(self.thread as usize, out);
        number(self.started as usize, out);
        number(self.starting.len(), out);
        for starting in &self.starting {
            number(starting.handle.0 as usize, out);
            number(starting.task.function.index(), out);
            starting.task.arguments.iter().for_each(|value| put_value(value, out));
            for (gift, (offset, size, word)) in starting
                .task
                .gifts
                .iter()
                .flat_map(|gift| gift.image.iter().map(move |it| (gift, it)))
            {
                number(1 + gift.to.0 as usize, out);
                number(*offset as usize, out);
                number(*size as usize, out);
                put_word(*word, out);
            }
            number(0, out);
        }
        number(self.joining.len(), out);
        self.joining.iter().for_each(|handle| number(handle.0 as usize, out));
        number(self.running as usize, out);
        number(self.stray.len(), out);
        self.stray.iter().for_each(|object| number(object.0 as usize, out));
        number(self.abandoned.map_or(0, |object| 1 + object.0 as usize), out);
        number(self.at_exit.len(), out);
        number(self.exit_round as usize, out);
        for AtExit { function, argument, key, with_thread, round } in &self.at_exit {
            number(2 * function.index() + usize::from(*with_thread), out);
            number(*round as usize, out);
            number(key.map_or(0, |key| 1 + key as usize), out);
            put_value(argument.as_ref().unwrap_or(&Val::Undef), out);
        }
        number(self.thrown.len(), out);
        for Thrown { object, ty, destructor, handlers, again } in &self.thrown {
            put_word(*object, out);
            number(*ty as usize, out);
            put_word(*destructor, out);
            number(*handlers as usize, out);
            number(usize::from(*again), out);
        }
        number(self.frames.len(), out);
        for frame in &self.frames {
            number(frame.function.index(), out);
            number(frame.block as usize, out);
            number(frame.instr as usize, out);
            frame.registers.iter().for_each(|value| put_value(value, out));
            number(frame.objects.len(), out);
            frame.objects.iter().for_each(|object| number(object.0 as usize, out));
            number(frame.rounds.len(), out);
            for (block, Rounds { count, wrote, seen }) in &frame.rounds {
                number(*block as usize, out);
                number(*count as usize, out);
                number(usize::from(*wrote), out);
                number(seen.len(), out);
                seen.iter().for_each(|hash| put(u128::from(*hash), out));
            }
            put_then(frame.then, out);
        }
        number(self.inputs.len(), out);
        self.inputs.iter().for_each(|word| put_word(*word, out));
        for (object, block) in &self.blocks {
            number(1 + object.0 as usize, out);
            number(usize::from(block.escaped), out);
        }
        number(0, out);
        number(self.again.len(), out);
        self.again.iter().for_each(|object| number(object.0 as usize, out));
        for (object, image) in self.private.objects() {
            number(1 + object.0 as usize, out);
            number(image.len(), out);
            for (offset, (size, word)) in image {
                number(*offset as usize, out);
                number(*size as usize, out);
                put_word(*word, out);
            }
        }
    }
}

fn put_then(then: Then, out: &mut Vec<u8>) {
    match then {
        Then::GoOn => put(0, out),
        Then::EndThread => put(1, out),
        Then::Once(cell) => {
            put(2, out);
            put(cell.object.0.into(), out);
            put(cell.offset.into(), out);
        }
        Then::Constructor(next) => {
            put(3, out);
            put(next.into(), out);
        }
        Then::Complete(cell) => {
            put(4, out);
            put(cell.object.0.into(), out);
            put(cell.offset.into(), out);
        }
        Then::Exit => put(5, out),
        Then::FreeException => put(6, out),
        Then::DestroyState => put(7, out),
        Then::Again => put(9, out),
        Then::Discard(slot) => {
            put(8, out);
            put(slot.0.into(), out);
        }
    }
}

pub(crate) fn put_word(word: Word, out: &mut Vec<u8>) {
    match word {
        Word::Undef => out.push(0),
        Word::Bits(bits) => {
            out.push(1);
            put(bits, out);
        }
        Word::Partly(Bits { bits, defined }) => {
            out.push(2);
            put(bits, out);
            put(defined, out);
        }
    }
}

fn put_value(value: &Val, out: &mut Vec<u8>) {
    match value {
        Val::Many(parts) => {
            out.push(3);
            put(parts.len() as u128, out);
            parts.iter().for_each(|part| put_value(part, out));
        }
        scalar => put_word(scalar.word(), out),
    }
}

pub(crate) fn each_word(value: &Val, each: &mut impl FnMut(Word)) {
    match value {
        Val::Many(parts) => parts.iter().for_each(|part| each_word(part, each)),
        scalar => each(scalar.word()),
    }
}
