//! Would the loop have gone round with the stale value?
//!
//! `while (!flag.load()) ;` reads old values all the time, and no harm is done: it tries again. The
//! paper has the programmer replace such loops by a `wait` instruction, so that only the value that
//! *ends* the loop matters. Here nobody need announce anything: when a load could have returned a stale
//! value, the code that follows it is run on paper, from the load on, with that value in the result
//! register and everything else as it is. If it comes back to the same load of the same location
//! without having touched anything but its own registers and stack, the stale value makes the thread try
//! again, which is as good as if it had not been read. Otherwise, or if the code does something that
//! this module does not understand, it does not.
//!
//! Only registers that survive a call are known after the load. What depends on others is unknown, and a branch
//! on something unknown ends the attempt. Memory that the code reads, plainly or by other atomic loads
//! (`while (a.load() != q->want)`), holds what it holds now. The results of instructions that are not
//! worth the trouble, such as those on wide registers, are unknown as well; one that writes memory
//! elsewhere than on the stack ends the attempt.

mod machine;
mod operands;
mod overlay;
mod paper;
mod rounds;
mod twins;

use machine::Machine;
use paper::Paper;
use rounds::Rounds;
pub use twins::{Fate, Kind};

/// Registers as an access to memory found them; laid out by the entry points.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame {
    padding: u64,
    rbp: u64,
    rbx: u64,
    r12: u64,
    r13: u64,
    r14: u64,
    r15: u64,
    /// Where the access returns to.
    pub pc: u64,
}

impl Frame {
    /// Of an access by the runtime itself, on behalf of the code at `pc`. No register is known.
    pub fn at(pc: usize) -> Frame {
        Frame { pc: pc as u64, ..Frame::default() }
    }
}

/// What the entry points of the runtime do, as far as a loop is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// An atomic load of so many bytes, or a compare-and-swap: its first argument is the address.
    Load(u8),
    /// Compare-and-swap of so many bytes: only the one asked about may come again.
    Cas {
        /// How many bytes.
        size: u8,
        /// Does it return the value that it found? Otherwise it says whether it succeeded, and its second argument
        /// is where the expected value is.
        returns_value: bool,
    },
    /// Any other atomic access, which others see.
    Effect,
    /// Fills memory: its first argument is where, its third how much, and it returns the first.
    Fill,
    /// Nothing that matters.
    Nothing,
}

/// What the access is, and what it gave.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The location.
    pub address: u64,
    /// The value of the location that it saw.
    pub value: u64,
    /// What it returned.
    pub result: u64,
    /// Memory that it wrote besides: where, what, and how many bytes (the expected value of a
    /// compare-and-swap).
    pub wrote: Option<(u64, u64, u8)>,
}

/// How many instructions are followed.
const STEPS: usize = 10_000;

/// An access whose stale values are judged, one after the other.
pub struct Trial<'a> {
    frame: &'a Frame,
    stack: u64,
    paper: Paper<'a>,
}

impl<'a> Trial<'a> {
    /// `stack` is where the stack ends once the access has returned; `entry` says what the entry points of the runtime
    /// are.
    pub fn new(frame: &'a Frame, stack: u64, entry: &'a dyn Fn(u64) -> Option<Entry>) -> Self {
        Trial { frame, stack, paper: Paper::new(entry) }
    }

    /// Does the code after the access come back to it?
    pub fn comes_back(&self, question: Question) -> bool {
        let mut machine = Machine::new(self.frame, self.stack, question, &self.paper);
        let mut rounds = Rounds::default();
        for _ in 0..STEPS {
            match machine.step(self.frame.pc, question.address) {
                Some(true) => return true,
                Some(false) if rounds.is_endless(&machine) => return false,
                Some(false) => {}
                None => return false,
            }
        }
        false
    }

    /// What becomes of a stale value, compared with the newest one?
    pub fn fate(&self, stale: Question, newest: Question, kind: Kind) -> Fate {
        twins::fate(self.frame, self.stack, stale, newest, kind, &self.paper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clocks::Order;

    /// What follows an access in the program, and the registers that it finds there.
    fn asked(code: &[u8], result: u64) -> bool {
        let stack = [0_u64; 64];
        let frame = Frame { pc: code.as_ptr() as u64, ..Frame::default() };
        let question = Question { address: 0x1234, value: result, result, wrote: None };
        Trial::new(&frame, stack.as_ptr() as u64, &|_| None).comes_back(question)
    }

    /// A function pointer whose stale value is null, or anything else where no code is: the program
    /// would crash there, the runtime must not.
    #[test]
    fn calls_of_stale_function_pointers_are_not_followed() {
        for stale in [0, 8, 0xffff_ffff_ffff_fff8, 0x8000_0000_0000_0000, u64::MAX] {
            assert!(!asked(&[0xff, 0xd0], stale), "call rax");
            assert!(!asked(&[0xff, 0xe0], stale), "jmp rax");
            assert!(!asked(&[0x50, 0xc3], stale), "push rax; ret");
        }
    }

    /// The same for an atomic load through a stale pointer.
    #[test]
    fn loads_through_stale_pointers_are_not_followed() {
        // mov rdi, rax; call rdx is not known; so jump to an entry: call rel32 to itself + 5.
        let code = [0x48, 0x89, 0xc7, 0xe8, 0, 0, 0, 0, 0x90];
        let stack = [0_u64; 64];
        let frame = Frame { pc: code.as_ptr() as u64, ..Frame::default() };
        let entry_point = code.as_ptr() as u64 + 8;
        for stale in [0, 16, u64::MAX - 3] {
            let question = Question { address: 0x1234, value: stale, result: stale, wrote: None };
            let entry = |at: u64| (at == entry_point).then_some(Entry::Load(8));
            let trial = Trial::new(&frame, stack.as_ptr() as u64 + 256, &entry);
            assert!(!trial.comes_back(question));
        }
    }

    /// A loop of which there are two copies: the first round, which is asked about, and the others. The stale value goes round once more,
    /// and sets a register on the way that nobody reads again.
    #[test]
    fn copies_of_a_loop() {
        let fate = |order: Order, change: fn(&mut [u8])| {
            let mut code = [0x90_u8; 80];
            // 0: mov ebp, eax; 2: call 0x48, which does nothing; 7: cmp ebp, 1; 0xa: je 0x2b
            code[..7].copy_from_slice(&[0x89, 0xc5, 0xe8, 0x41, 0, 0, 0]);
            code[7..12].copy_from_slice(&[0x83, 0xfd, 1, 0x74, 0x1f]);
            // 0xc: mov r14d, 7; 0x12: mov rdi, rbx; 0x15: mov esi, 2; 0x1a: call 0x40, the load; 0x1f: mov ebp, eax
            code[12..21].copy_from_slice(&[0x41, 0xbe, 7, 0, 0, 0, 0x48, 0x89, 0xdf]);
            code[21..33].copy_from_slice(&[0xbe, 2, 0, 0, 0, 0xe8, 0x21, 0, 0, 0, 0x89, 0xc5]);
            // 0x21: call 0x48; 0x26: cmp ebp, 1; 0x29: jne 0x12; 0x2b: pop r14; 0x2d: ud2
            code[33..43].copy_from_slice(&[0xe8, 0x22, 0, 0, 0, 0x83, 0xfd, 1, 0x75, 0xe7]);
            code[43..47].copy_from_slice(&[0x41, 0x5e, 0x0f, 0x0b]);
            change(&mut code);
            let start = code.as_ptr() as u64;
            let stack = [0_u64; 64];
            let frame = Frame { pc: start, rbx: 0x1234, ..Frame::default() };
            let entry = |at: u64| match at.wrapping_sub(start) {
                0x40 => Some(Entry::Load(4)),
                0x48 => Some(Entry::Nothing),
                _ => None,
            };
            let question =
                |result| Question { address: 0x1234, value: result, result, wrote: None };
            let trial = Trial::new(&frame, stack.as_ptr() as u64 + 256, &entry);
            trial.fate(question(0), question(1), Kind { size: 4, order })
        };
        assert_eq!(fate(Order::Acquire, |_| ()), Fate::CaughtUp);
        assert_eq!(fate(Order::Relaxed, |code| code[22] = 0), Fate::CaughtUp);
        for (what, order, change) in [
            (
                "a copy that synchronises less",
                Order::Acquire,
                (|code| code[22] = 0) as fn(&mut [u8]),
            ),
            ("a copy that synchronises less", Order::SeqCst, |_| ()),
            ("another location", Order::Relaxed, |code| code[20] = 0xd7),
            ("a register that lives on", Order::Relaxed, |code| code[44] = 0x5f),
            ("the copy waits for something else", Order::Relaxed, |code| code[40] = 2),
            // mov [rsp], esp instead of setting the register
            ("memory that is read again", Order::Relaxed, |code| {
                code[12..18].copy_from_slice(&[0x89, 0x24, 0x24, 0x90, 0x90, 0x90]);
            }),
        ] {
            assert_ne!(fate(order, change), Fate::CaughtUp, "{what}");
        }
    }

    /// A loop that does come back is still seen to: call the entry, test, jump back.
    #[test]
    fn loops_come_back() {
        // 0: call 0x20 (the entry point); 5: test eax, eax; 7: je 0
        let mut code = [0x90_u8; 64];
        code[..9].copy_from_slice(&[0xe8, 0x1b, 0, 0, 0, 0x85, 0xc0, 0x74, 0xf7]);
        let stack = [0_u64; 64];
        let start = code.as_ptr() as u64;
        // The load's argument survives in rbx, as `mov rdi, rbx` would show; here the entry is asked
        // with an unknown argument, which is not the same location.
        let frame = Frame { pc: start + 5, ..Frame::default() };
        let entry = |at: u64| (at == start + 0x20).then_some(Entry::Load(4));
        let question = |result| Question { address: 0x1234, value: result, result, wrote: None };
        let end = stack.as_ptr() as u64 + 256;
        let comes_back = |frame, question| Trial::new(&frame, end, &entry).comes_back(question);
        assert!(!comes_back(frame, question(0)), "another location");
        // 0: mov rdi, rbx; 3: call 0x20; 8: test eax, eax; 10: je 0
        code[..12]
            .copy_from_slice(&[0x48, 0x89, 0xdf, 0xe8, 0x18, 0, 0, 0, 0x85, 0xc0, 0x74, 0xf4]);
        let frame = Frame { pc: start + 8, rbx: 0x1234, ..Frame::default() };
        assert!(comes_back(frame, question(0)), "it tries again");
        assert!(!comes_back(frame, question(1)), "it goes on");
    }
}
