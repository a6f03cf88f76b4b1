//! Code that goes round for ever is not followed to the last step.
//!
//! A machine on paper does what its state says: nobody else writes its memory. So if it is in the same state twice, it
//! will be there again and again, and nothing comes of it that has not come of it yet. The state after every power of two of steps is
//! compared with the states that follow (Brent, *An improved Monte Carlo factorization algorithm*, 1980), so that rounds are
//! noticed after a few of them, whatever their length and whenever they begin.
//!
//! Premise: [`State`] is all that decides what a machine does next, and [`Paper`](super::paper::Paper) does not change.
//! The tests below have loops that end, and differ from one round to the next in one part of the state only.

use super::machine::{Flags, Machine};
use super::overlay::Overlay;

/// Rounds of fewer steps than this are rare, and comparing costs as much as taking a few steps.
const FIRST: u64 = 64;

/// All that decides what a machine does next.
struct State {
    rip: u64,
    registers: [Option<u64>; 16],
    flags: Option<Flags>,
    bit: Option<bool>,
    written: Overlay,
}

impl State {
    fn of(machine: &Machine<'_>) -> State {
        let Machine { rip, registers, flags, bit, ref written, .. } = *machine;
        State { rip, registers, flags, bit, written: written.clone() }
    }

    fn is(&self, machine: &Machine<'_>) -> bool {
        self.rip == machine.rip
            && self.registers == machine.registers
            && self.flags == machine.flags
            && self.bit == machine.bit
            && self.written == machine.written
    }
}

/// Notices when a machine goes round for ever.
#[derive(Default)]
pub(super) struct Rounds {
    steps: u64,
    state: Option<State>,
}

impl Rounds {
    /// The machine took another step: is it where it was before?
    pub(super) fn is_endless(&mut self, machine: &Machine<'_>) -> bool {
        self.steps += 1;
        if self.state.as_ref().is_some_and(|state| state.is(machine)) {
            return true;
        }
        if self.steps.is_power_of_two() && self.steps >= FIRST {
            self.state = Some(State::of(machine));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spin::paper::Paper;
    use crate::spin::{Frame, Question};

    /// After how many steps code is noticed to go round; `None` if it comes to its end, two bytes that are no
    /// instruction.
    fn noticed(code: &[u8], rbx: u64) -> Option<usize> {
        let mut code = code.to_vec();
        code.extend([0x0f, 0x0b]);
        let stack = [0_u64; 64];
        let frame = Frame { pc: code.as_ptr() as u64, rbx, ..Frame::default() };
        let question = Question { address: 0x1234, value: 0, result: 0, wrote: None };
        let paper = Paper::new(&|_| None);
        let mut machine = Machine::new(&frame, stack.as_ptr() as u64 + 256, question, &paper);
        let mut rounds = Rounds::default();
        for step in 1..100_000 {
            machine.go()?;
            if rounds.is_endless(&machine) {
                return Some(step);
            }
        }
        panic!("neither noticed nor over");
    }

    #[test]
    fn rounds_are_noticed_after_a_few_of_them() {
        // jmp to itself
        assert!(noticed(&[0xeb, 0xfe], 0).is_some_and(|steps| steps < 200));
        // inc bl; jmp back: 512 steps a round
        assert!(noticed(&[0xfe, 0xc3, 0xeb, 0xfc], 0).is_some_and(|steps| steps < 3000));
        // 300 times dec ebx; jne back; then jmp to itself
        let late = [0xff, 0xcb, 0x75, 0xfc, 0xeb, 0xfe];
        assert!(noticed(&late, 300).is_some_and(|steps| steps < 2000));
    }

    /// Each of these loops ends, and fails the test if one part of the state is not compared.
    #[test]
    fn loops_that_end_are_followed_to_their_end() {
        // registers: dec ebx; jne back
        assert_eq!(noticed(&[0xff, 0xcb, 0x75, 0xfc], 3000), None);
        // memory: push rbx; 1: dec dword [rsp]; jne 1
        assert_eq!(noticed(&[0x53, 0xff, 0x0c, 0x24, 0x75, 0xfb], 3000), None);
        // memory that is compared with a register, so that flags are the same in every round but the last:
        // push rbx; 1: dec dword [rsp]; cmp [rsp], eax; ja 1
        let compares = [0x53, 0xff, 0x0c, 0x24, 0x39, 0x04, 0x24, 0x77, 0xf8];
        assert_eq!(noticed(&compares, 3000), None);
    }

    /// Two ways to the same instruction with the same registers and memory, which differ in what was compared last.
    #[test]
    fn flags_are_a_part_of_the_state() {
        let stack = [0_u64; 64];
        let question = Question { address: 0x1234, value: 0, result: 0, wrote: None };
        let after = |code: &[u8], rounds: &mut Rounds| {
            let paper = Paper::new(&|_| None);
            let frame = Frame { pc: code.as_ptr() as u64, ..Frame::default() };
            let mut machine = Machine::new(&frame, stack.as_ptr() as u64 + 256, question, &paper);
            assert!(machine.go().is_some());
            machine.rip = 0;
            rounds.state = rounds.state.take().or_else(|| Some(State::of(&machine)));
            rounds.is_endless(&machine)
        };
        // cmp eax, 0 and cmp eax, 1
        let (zero, one) = ([0x83, 0xf8, 0x00], [0x83, 0xf8, 0x01]);
        let mut rounds = Rounds::default();
        assert!(after(&zero, &mut rounds));
        assert!(!after(&one, &mut rounds), "flags");
        // bt eax, 0, and nothing
        let clear = [0x0f, 0xba, 0xe0, 0x00];
        let mut rounds = Rounds::default();
        assert!(after(&clear, &mut rounds));
        let paper = Paper::new(&|_| None);
        let frame = Frame::default();
        let machine = Machine::new(&frame, stack.as_ptr() as u64 + 256, question, &paper);
        assert!(!rounds.is_endless(&machine), "a bit that is known and one that is not");
    }

    /// Catches a machine that is said to go round for ever and does not: code at random, followed further by as many
    /// steps as anybody ever follows it.
    #[test]
    fn what_is_endless_never_ends() {
        let mut state = 11_u64;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % bound
        };
        // Four bytes each, so that jumps know where instructions are.
        let pieces: &[[u8; 4]] = &[
            [0xff, 0xc3, 0x90, 0x90], // inc ebx
            [0xff, 0xcb, 0x90, 0x90], // dec ebx
            [0xfe, 0xc8, 0x90, 0x90], // dec al
            [0xff, 0x0c, 0x24, 0x90], // dec dword [rsp]
            [0xfe, 0x04, 0x24, 0x90], // inc byte [rsp]
            [0x83, 0xfb, 0x07, 0x90], // cmp ebx, 7
            [0x83, 0xe3, 0x1f, 0x90], // and ebx, 31
            [0x03, 0x1c, 0x24, 0x90], // add ebx, [rsp]
            [0x33, 0x1c, 0x24, 0x90], // xor ebx, [rsp]
            [0x0f, 0xba, 0xe3, 0x02], // bt ebx, 2
            [0x89, 0x1c, 0x24, 0x90], // mov [rsp], ebx
        ];
        let (mut endless, mut over) = (0, 0);
        for _ in 0..3000 {
            let length = 2 + below(8);
            let mut code: Vec<u8> = Vec::new();
            for place in 0..length {
                if below(3) > 0 && place > 0 {
                    // jb, jae, je, jne, js or jmp to another place
                    let jump = [0x72, 0x73, 0x74, 0x75, 0x78, 0xeb][below(6)];
                    let to = 4 * (below(length + 1) as i32 - place as i32) - 2;
                    code.extend([jump, to as i8 as u8, 0x90, 0x90]);
                } else {
                    code.extend(pieces[below(pieces.len())]);
                }
            }
            code.extend([0x0f, 0x0b]);
            let stack = [below(1000) as u64; 64];
            let rbx = below(1000) as u64;
            let frame = Frame { pc: code.as_ptr() as u64, rbx, ..Frame::default() };
            let question = Question { address: 0x1234, value: 0, result: 5, wrote: None };
            let paper = Paper::new(&|_| None);
            let mut machine = Machine::new(&frame, stack.as_ptr() as u64 + 256, question, &paper);
            let mut rounds = Rounds::default();
            let noticed = (0..10_000).try_fold(false, |noticed, _| {
                machine.go()?;
                Some(noticed || rounds.is_endless(&machine))
            });
            match noticed {
                Some(true) => endless += 1,
                Some(false) => {}
                // It came to its end: was it said before that it would not?
                None => {
                    let mut machine =
                        Machine::new(&frame, stack.as_ptr() as u64 + 256, question, &paper);
                    let mut rounds = Rounds::default();
                    while machine.go().is_some() {
                        assert!(!rounds.is_endless(&machine), "{code:02x?}, rbx {rbx}");
                    }
                    over += 1;
                }
            }
        }
        assert!(endless > 200 && over > 200, "{endless} endless, {over} over");
    }
}
