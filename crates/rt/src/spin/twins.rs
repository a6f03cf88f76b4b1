//! What becomes of a stale value: the code after the access is run on paper twice, once with the stale value
//! and once with the newest, side by side.
//!
//! If both come to the same instruction with the same registers and the same memory, the value is forgotten: nobody
//! can tell any more which of the two was read. There are two ways to get there. A program may not use the value,
//! or only in a comparison that ends the same way. Or it *catches up*: the value is what a
//! compare-and-swap of the same location expects, which then fails, because the newest value is another, and goes on
//! with the newest. That is how every update by a loop of compare-and-swaps begins, and a stale load in it is as good
//! as none. A thread that comes back to the same load catches up as well, if it then does what it would have done
//! at once: a queue that keeps a copy of the other side's index and asks again when it seems full, say. So does one that comes to
//! another load of the location, because the compiler made two copies of a loop that waits, one for the first round. That one must
//! synchronise as much as the first: a relaxed load behind an acquire load reads the newest value as well, but what comes after
//! it need not come after the write.
//!
//! A value is *used* if the two part at a branch, or write different things to memory that is not the
//! thread's own stack. In between there are values that are still somewhere when this module loses track: at the next
//! access that others see, or where the code does something that it does not understand.
//!
//! Memory may be written in either run; it is paper.

use super::machine::Machine;
use super::operands;
use super::paper::Paper;
use super::rounds::Rounds;
use super::{Entry, Frame, Question};
use clocks::Order;
use iced_x86::{Instruction, InstructionInfoOptions, OpAccess};

/// How many instructions are followed.
const STEPS: usize = 2_000;
/// After how many they meet again, behind two copies of a loop.
const APART: usize = 40;

/// What becomes of a stale value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It makes a compare-and-swap of the same location fail, which goes on with the newest.
    CaughtUp,
    /// Nothing depends on it.
    Unused,
    /// Something does.
    Used,
    /// Nobody knows; up to the next access that others see, nothing does.
    Unknown,
}

/// Compares what the code after an access does with a stale value and with the newest one.
pub(super) fn fate(
    frame: &Frame,
    stack: u64,
    stale: Question,
    newest: Question,
    kind: Kind,
    paper: &Paper<'_>,
) -> Fate {
    let machine = |question| {
        let mut machine = Machine::new(frame, stack, question, paper);
        machine.writes_anywhere = true;
        machine
    };
    let mut twins = Twins {
        stale: machine(stale),
        newest: machine(newest),
        location: Location { address: stale.address, newest: newest.value },
        difference: stale.address,
        succeeded: false,
    };
    if twins.comes_around(frame.pc) {
        // It reads the newest in the end, and must then do what it would have done at once.
        return match twins.run() {
            Fate::Unused => Fate::CaughtUp,
            _ => Fate::Used,
        };
    }
    twins.stale = machine(stale);
    if twins.comes_to_a_copy(kind) {
        twins.newest = machine(newest);
        if twins.meet(|| machine(newest)) && twins.run() == Fate::Unused {
            return Fate::CaughtUp;
        }
    }
    // Once more from the beginning.
    (twins.stale, twins.newest) = (machine(stale), machine(newest));
    (twins.difference, twins.succeeded) = (stale.address, false);
    twins.run()
}

/// What kind of load was stale.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// How many bytes.
    pub size: u8,
    /// How it synchronises.
    pub order: Order,
}

impl Kind {
    /// Does a load of this order, as a number of C, synchronise as much?
    fn is_matched_by(self, order: u64) -> bool {
        match self.order {
            Order::Relaxed => true,
            Order::SeqCst => order & 7 == 5,
            _ => matches!(order & 7, 2 | 4 | 5),
        }
    }
}

/// What an instruction makes of different values.
#[derive(PartialEq, Eq)]
enum Results {
    /// What it writes.
    Of(Instruction),
    /// Nothing that can be followed.
    Vague,
}

struct Location {
    address: u64,
    newest: u64,
}

struct Twins<'a> {
    stale: Machine<'a>,
    newest: Machine<'a>,
    location: Location,
    /// Where memory was found to be different last.
    difference: u64,
    /// Did they already come to one and the same compare-and-swap?
    succeeded: bool,
}

impl<'a> Twins<'a> {
    /// Does the stale value lead back to the same load, which then reads the newest? Unlike in a loop that only waits,
    /// memory may be written on the way, such as a copy of what was read.
    fn comes_around(&mut self, home: u64) -> bool {
        let mut rounds = Rounds::default();
        for _ in 0..STEPS {
            if let Some(Entry::Load(_)) = self.stale.entry()
                && self.stale.registers[7] == Some(self.location.address)
                && self.stale.returns_to() == Some(home)
            {
                return self.stale.return_with(Some(self.location.newest)).is_some();
            }
            if self.stale.go().is_none() || rounds.is_endless(&self.stale) {
                return false;
            }
        }
        false
    }

    /// Does the stale value lead to another load of the location, which then reads the newest?
    fn comes_to_a_copy(&mut self, kind: Kind) -> bool {
        let mut rounds = Rounds::default();
        for _ in 0..STEPS {
            if let Some(Entry::Load(size)) = self.stale.entry()
                && self.stale.registers[7] == Some(self.location.address)
            {
                return size == kind.size
                    && self.stale.registers[6].is_some_and(|order| kind.is_matched_by(order))
                    && self.stale.return_with(Some(self.location.newest)).is_some();
            }
            if self.stale.go().is_none() || rounds.is_endless(&self.stale) {
                return false;
            }
        }
        false
    }

    /// Lets each go on by itself, up to the first instruction of the one that the other comes to as well, a few instructions
    /// behind the copies of the loop. Nothing that others see is on the way. Is there one? `again` is the other at its beginning.
    ///
    /// It is not in a function that both call, which returns to different places.
    fn meet(&mut self, again: impl Fn() -> Machine<'a>) -> bool {
        let goes_on =
            |machine: &Machine<'_>| matches!(machine.entry(), None | Some(Entry::Nothing));
        let here = self.newest.registers[4];
        let place = |machine: &Machine<'_>| (machine.rip, machine.registers[4]);
        let mut way = vec![place(&self.newest)];
        while way.len() < APART && goes_on(&self.newest) && self.newest.go().is_some() {
            way.push(place(&self.newest));
        }
        for _ in 0..APART {
            let now = place(&self.stale);
            if now.1 >= here
                && let Some(steps) = way.iter().position(|&then| then == now)
            {
                self.newest = again();
                return (0..steps).all(|_| self.newest.go().is_some());
            }
            if !goes_on(&self.stale) || self.stale.go().is_none() {
                return false;
            }
        }
        false
    }

    fn run(&mut self) -> Fate {
        let (mut stale_rounds, mut newest_rounds) = (Rounds::default(), Rounds::default());
        for _ in 0..STEPS {
            if self.are_the_same() {
                return Fate::Unused;
            }
            if self.stale.rip != self.newest.rip {
                return if self.succeeded { Fate::Used } else { self.catch_up() };
            }
            if self.newest.expects(&self.location).is_some() {
                return if self.succeeded { Fate::Unknown } else { self.catch_up() };
            }
            let differs = self.next_differs();
            let (stale, newest) = (self.stale.go(), self.newest.go());
            if stale.is_none() || newest.is_none() || differs == Some(Results::Vague) {
                break;
            }
            // What came of it must be known: two unknown results are not the same.
            if let Some(Results::Of(instruction)) = differs
                && (self.stale.lost(&instruction) || self.newest.lost(&instruction))
            {
                return Fate::Used;
            }
            // Both take as many steps, so they are both where they were then.
            let stale = stale_rounds.is_endless(&self.stale);
            if newest_rounds.is_endless(&self.newest) && stale {
                break;
            }
        }
        if self.stale.differs_elsewhere(&self.newest) { Fate::Used } else { Fate::Unknown }
    }

    /// Are both at the same place in the same state? Where memory was different last it most often still is.
    fn are_the_same(&mut self) -> bool {
        let byte = |machine: &Machine<'_>| machine.load(self.difference, 1);
        if !self.stale.is_near(&self.newest) || byte(&self.stale) != byte(&self.newest) {
            return false;
        }
        match self.stale.differing(&self.newest).next() {
            Some(at) => {
                self.difference = at;
                false
            }
            None => true,
        }
    }

    /// Are both about to do the same with different values?
    fn next_differs(&mut self) -> Option<Results> {
        if let Some(entry) = self.stale.entry() {
            // What these read and return is known; what others are told is not followed.
            let same =
                [2, 6, 7].iter().all(|&k| self.stale.registers[k] == self.newest.registers[k]);
            return (entry == Entry::Fill && !same).then_some(Results::Vague);
        }
        let instruction = self.stale.paper.instruction(self.stale.rip)?;
        let info = self.stale.info.info_options(&instruction, InstructionInfoOptions::NONE);
        let read = |access: OpAccess| access != OpAccess::None && access != OpAccess::Write;
        let mut differs = info.used_registers().iter().any(|used| {
            read(used.access())
                && operands::index(used.register())
                    .is_some_and(|k| self.stale.registers[k] != self.newest.registers[k])
        });
        let sizes: Vec<usize> = info
            .used_memory()
            .iter()
            .filter(|used| read(used.access()))
            .map(|used| used.memory_size().size())
            .collect();
        let flags = |machine: &Machine<'_>| (machine.flags, machine.bit);
        differs |= instruction.rflags_read() != 0
            && (flags(&self.stale) != flags(&self.newest) || flags(&self.stale) == (None, None));
        for size in sizes {
            let bytes = |machine: &Machine<'_>| {
                let at = machine.address(&instruction)?;
                (0..size as u64)
                    .map(|k| machine.load(at.checked_add(k)?, 1))
                    .collect::<Option<Vec<_>>>()
            };
            // Of what is on the stack, the instruction may read elsewhere than its operand says.
            differs |= bytes(&self.stale) != bytes(&self.newest);
        }
        differs.then_some(Results::Of(instruction))
    }

    /// One goes to its next compare-and-swap of the location, and the other follows, if it can. What is then still
    /// different, on the stack or in registers, must be forgotten afterwards.
    fn catch_up(&mut self) -> Fate {
        let parted = self.stale.rip != self.newest.rip;
        let mut steps = 0;
        while self.newest.expects(&self.location).is_none() {
            steps += 1;
            if steps > STEPS || self.newest.go().is_none() {
                return Fate::Used;
            }
        }
        for _ in 0..STEPS {
            let done = match self.stale.expects(&self.location) {
                Some(expected) if expected.value == Some(self.location.newest) => {
                    let vague = parted && (self.stale.is_vague || self.newest.is_vague);
                    let same = self.stale.rip == self.newest.rip
                        && self.stale.registers[2] == self.newest.registers[2]
                        && !self.stale.differs_elsewhere(&self.newest);
                    return if same && !vague { self.succeed(&expected) } else { Fate::Used };
                }
                Some(expected) => self.stale.fail(expected, self.location.newest),
                None => self.stale.go(),
            };
            if done.is_none() {
                break;
            }
        }
        Fate::Used
    }

    /// Both compare-and-swaps succeed: does anything depend on how they came to it?
    fn succeed(&mut self, expected: &Expected) -> Fate {
        self.succeeded = true;
        let result = if expected.at.is_some() { 1 } else { self.location.newest };
        for machine in [&mut self.stale, &mut self.newest] {
            if machine.return_with(Some(result)).is_none() {
                return Fate::Used;
            }
        }
        match self.run() {
            Fate::Unused => Fate::CaughtUp,
            fate => fate,
        }
    }
}

/// What a compare-and-swap expects.
struct Expected {
    value: Option<u64>,
    /// Where the value is, if it is in memory, and how many bytes.
    at: Option<(u64, u8)>,
}

impl Machine<'_> {
    /// The entry point of the runtime that it has come to.
    fn entry(&self) -> Option<Entry> {
        self.paper.entry(self.rip)
    }

    /// Is it about to compare and swap the location?
    fn expects(&self, location: &Location) -> Option<Expected> {
        let Some(Entry::Cas { size, returns_value }) = self.entry() else { return None };
        if self.registers[7] != Some(location.address) {
            return None;
        }
        let mask = u64::MAX >> (64 - 8 * u32::from(size));
        let second = self.registers[6];
        Some(match returns_value {
            true => Expected { value: second.map(|value| value & mask), at: None },
            false => Expected {
                value: second.and_then(|at| self.load(at, usize::from(size))),
                at: second.map(|at| (at, size)),
            },
        })
    }

    /// The compare-and-swap that it is about to do fails.
    fn fail(&mut self, expected: Expected, newest: u64) -> Option<()> {
        expected.value?;
        match expected.at {
            Some((at, size)) => {
                self.store(at, Some(newest), usize::from(size))?;
                self.return_with(Some(0))
            }
            None => self.return_with(Some(newest)),
        }
    }

    /// Is any of what the instruction wrote not known?
    fn lost(&mut self, instruction: &Instruction) -> bool {
        let info = self.info.info_options(instruction, InstructionInfoOptions::NONE);
        let registers = info.used_registers().iter().any(|used| {
            operands::writes(used.access())
                && operands::index(used.register()).is_none_or(|k| self.registers[k].is_none())
        });
        let size = info
            .used_memory()
            .iter()
            .filter(|used| operands::writes(used.access()))
            .map(|used| used.memory_size().size() as u64)
            .sum::<u64>();
        let memory = size > 0
            && self.address(instruction).is_none_or(|at| {
                (0..size).any(|k| self.written.get(at.wrapping_add(k)) == Some(None))
            });
        registers || memory
    }

    /// Are two machines at the same place in the same state, but for memory?
    fn is_near(&self, other: &Machine<'_>) -> bool {
        self.rip == other.rip
            && self.registers == other.registers
            && self.flags == other.flags
            && self.bit == other.bit
    }

    /// Is memory different that is not on the stack?
    fn differs_elsewhere(&self, other: &Machine<'_>) -> bool {
        self.differing(other).any(|at| !self.on_stack(at, 1))
    }

    /// The addresses of bytes that are not the same in both.
    fn differing<'b>(&'b self, other: &'b Machine<'_>) -> impl Iterator<Item = u64> + 'b {
        let differing = self.written.differing(&other.written);
        differing.filter(|&at| self.load(at, 1) != other.load(at, 1))
    }
}
