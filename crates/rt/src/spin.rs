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
//! Only registers that survive a call are known after the load. What depends on others, or on memory
//! that is not the stack's, is unknown, and a branch on something unknown ends the attempt, except that
//! other atomic loads in the loop (`while (a.load() && b.load())`) return what memory holds now.

use iced_x86::{
    Code, ConditionCode, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register,
};
use std::collections::HashMap;

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

/// What the entry points of the runtime do, as far as a loop is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// An atomic load of so many bytes, or a compare-and-swap: its first argument is the address.
    Load(u8),
    /// Compare-and-swap: only the one asked about may come again.
    Cas,
    /// Nothing that matters.
    Nothing,
}

/// What the access is, and what it gave.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The location.
    pub address: u64,
    /// What it returned.
    pub result: u64,
    /// Memory that it wrote besides: where, what, and how many bytes (the expected value of a
    /// compare-and-swap).
    pub wrote: Option<(u64, u64, u8)>,
}

const STEPS: usize = 4_000;
/// How far from the stack pointer memory counts as the stack.
const STACK: u64 = 1 << 16;

/// Does the code after the access come back to it?
///
/// # Safety
/// `frame` must be that of a running access, whose thread is waiting for the answer.
pub unsafe fn comes_back(
    frame: &Frame,
    stack: u64,
    question: Question,
    entry: &dyn Fn(u64) -> Option<Entry>,
) -> bool {
    let mut machine = Machine::new(frame, stack, question);
    for _ in 0..STEPS {
        // SAFETY: the caller's promise; `step` reads code and stack of the waiting thread only.
        match unsafe { machine.step(frame.pc, question.address, entry) } {
            Some(true) => return true,
            Some(false) => {}
            None => return false,
        }
    }
    false
}

struct Machine {
    rip: u64,
    registers: [Option<u64>; 16],
    flags: Option<Flags>,
    written: HashMap<u64, u8>,
    stack: u64,
}

#[derive(Clone, Copy)]
struct Flags {
    zero: bool,
    sign: bool,
    carry: bool,
    overflow: bool,
    parity: bool,
}

impl Machine {
    fn new(frame: &Frame, stack: u64, question: Question) -> Self {
        let mut registers = [None; 16];
        for (index, value) in [
            (0, question.result),
            (3, frame.rbx),
            (4, stack),
            (5, frame.rbp),
            (12, frame.r12),
            (13, frame.r13),
            (14, frame.r14),
            (15, frame.r15),
        ] {
            registers[index] = Some(value);
        }
        let mut machine =
            Machine { rip: frame.pc, registers, flags: None, written: HashMap::new(), stack };
        if let Some((address, value, size)) = question.wrote {
            for k in 0..u64::from(size) {
                machine.written.insert(address + k, (value >> (8 * k)) as u8);
            }
        }
        machine
    }

    /// One instruction. `Some(true)`: it is back. `None`: it is elsewhere, or we are lost.
    unsafe fn step(
        &mut self,
        home: u64,
        address: u64,
        entry: &dyn Fn(u64) -> Option<Entry>,
    ) -> Option<bool> {
        if let Some(entry) = entry(self.rip) {
            // SAFETY: the stack of the waiting thread.
            let back = unsafe { self.pop() }?;
            let argument = self.registers[7];
            let same = argument == Some(address);
            if back == home && entry != Entry::Nothing {
                return same.then_some(true);
            }
            let result = match entry {
                Entry::Load(size) => {
                    let at = argument?;
                    // SAFETY: the loop is about to load from there, so it can be read.
                    Some(unsafe { read(at, size as usize) })
                }
                Entry::Cas => return None,
                Entry::Nothing => None,
            };
            for index in [0, 1, 2, 6, 7, 8, 9, 10, 11] {
                self.registers[index] = None;
            }
            self.registers[0] = result;
            self.flags = None;
            self.rip = back;
            return Some(false);
        }
        // SAFETY: code that the thread is about to run, which is followed by more code or a page that
        // the decoder does not read because no instruction goes there.
        let code = unsafe { std::slice::from_raw_parts(self.rip as *const u8, 15) };
        let mut decoder = Decoder::with_ip(64, code, self.rip, DecoderOptions::NONE);
        let instruction = decoder.decode();
        self.rip = instruction.next_ip();
        // SAFETY: as above.
        unsafe { self.execute(&instruction) }?;
        Some(false)
    }

    unsafe fn execute(&mut self, i: &Instruction) -> Option<()> {
        use Mnemonic as M;
        // SAFETY (all below): operands are registers, immediates, or memory checked by `load`.
        unsafe {
            match i.mnemonic() {
                M::Nop | M::Endbr64 | M::Pause => {}
                M::Mov | M::Movzx => {
                    let value = self.operand(i, 1);
                    self.assign(i, value)?;
                }
                M::Movsx | M::Movsxd => {
                    let bits = 8 * self.size(i, 1)?;
                    let value = self
                        .operand(i, 1)
                        .map(|v| ((v << (64 - bits)) as i64 >> (64 - bits)) as u64);
                    self.assign(i, value)?;
                }
                M::Cdqe => {
                    self.registers[0] = self.registers[0].map(|v| v as i32 as i64 as u64);
                }
                M::Lea => {
                    let at = self.address(i);
                    self.assign(i, at)?;
                }
                M::Add | M::Sub | M::Cmp | M::And | M::Or | M::Xor | M::Test => {
                    self.arithmetic(i)?;
                }
                M::Inc | M::Dec | M::Neg | M::Not => {
                    let value = self.operand(i, 0);
                    let bits = 8 * self.size(i, 0)?;
                    let result = value.map(|v| match i.mnemonic() {
                        M::Inc => v.wrapping_add(1),
                        M::Dec => v.wrapping_sub(1),
                        M::Neg => v.wrapping_neg(),
                        _ => !v,
                    });
                    if i.mnemonic() != M::Not {
                        self.flags = None;
                    }
                    self.assign(i, result.map(|v| v & ones(bits)))?;
                }
                M::Shl | M::Shr | M::Sar => {
                    let bits = 8 * self.size(i, 0)?;
                    let (value, by) = (self.operand(i, 0), self.operand(i, 1));
                    self.flags = None;
                    let result = value.zip(by).map(|(v, by)| {
                        let by = by as u32 & if bits == 64 { 63 } else { 31 };
                        match i.mnemonic() {
                            M::Shl => v.checked_shl(by).unwrap_or(0),
                            M::Shr => v.checked_shr(by).unwrap_or(0),
                            _ => (((v << (64 - bits)) as i64) >> (64 - bits) >> by) as u64,
                        }
                    });
                    self.assign(i, result.map(|v| v & ones(bits)))?;
                }
                M::Push => {
                    let value = self.operand(i, 0);
                    self.push(value)?;
                }
                M::Pop => {
                    let value = self.pop();
                    self.assign(i, value)?;
                }
                M::Leave => {
                    self.registers[4] = self.registers[5];
                    self.registers[5] = self.pop();
                }
                M::Jmp => self.rip = self.target(i)?,
                M::Call => {
                    let back = self.rip;
                    self.rip = self.target(i)?;
                    self.push(Some(back))?;
                }
                M::Ret => self.rip = self.pop()?,
                _ if i.condition_code() != ConditionCode::None => {
                    let holds = self.holds(i.condition_code())?;
                    if i.is_jcc_short_or_near() {
                        if holds {
                            self.rip = i.near_branch_target();
                        }
                    } else if is_set(i) {
                        self.assign(i, Some(u64::from(holds)))?;
                    } else if is_move(i) {
                        let value = if holds { self.operand(i, 1) } else { self.operand(i, 0) };
                        self.assign(i, value)?;
                    } else {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        Some(())
    }

    unsafe fn arithmetic(&mut self, i: &Instruction) -> Option<()> {
        use Mnemonic as M;
        let bits = 8 * self.size(i, 0)?;
        // Zero whatever the register holds.
        let zeroes = i.mnemonic() == M::Xor
            && i.op1_kind() == OpKind::Register
            && i.op0_kind() == OpKind::Register
            && i.op0_register() == i.op1_register();
        // SAFETY: operands are checked by `load`.
        let (a, b) = unsafe { (self.operand(i, 0), self.operand(i, 1)) };
        let operands = if zeroes { Some((0, 0)) } else { a.zip(b) };
        let Some((a, b)) = operands else {
            self.flags = None;
            if !matches!(i.mnemonic(), M::Cmp | M::Test) {
                // SAFETY: as above.
                unsafe { self.assign(i, None)? };
            }
            return Some(());
        };
        let mask = ones(bits);
        let (a, b) = (a & mask, b & mask);
        let top = |v: u64| v >> (bits - 1) & 1 == 1;
        let (result, carry, overflow) = match i.mnemonic() {
            M::Add => {
                let result = a.wrapping_add(b) & mask;
                (result, result < a, top(a) == top(b) && top(result) != top(a))
            }
            M::Sub | M::Cmp => {
                let result = a.wrapping_sub(b) & mask;
                (result, a < b, top(a) != top(b) && top(result) != top(a))
            }
            M::And | M::Test => (a & b, false, false),
            M::Or => (a | b, false, false),
            _ => (a ^ b, false, false),
        };
        self.flags = Some(Flags {
            zero: result == 0,
            sign: top(result),
            carry,
            overflow,
            parity: (result as u8).count_ones().is_multiple_of(2),
        });
        if !matches!(i.mnemonic(), M::Cmp | M::Test) {
            // SAFETY: as above.
            unsafe { self.assign(i, Some(result))? };
        }
        Some(())
    }

    fn holds(&self, condition: ConditionCode) -> Option<bool> {
        use ConditionCode as C;
        let Flags { zero, sign, carry, overflow, parity } = self.flags?;
        Some(match condition {
            C::o => overflow,
            C::no => !overflow,
            C::b => carry,
            C::ae => !carry,
            C::e => zero,
            C::ne => !zero,
            C::be => carry || zero,
            C::a => !carry && !zero,
            C::s => sign,
            C::ns => !sign,
            C::p => parity,
            C::np => !parity,
            C::l => sign != overflow,
            C::ge => sign == overflow,
            C::le => zero || sign != overflow,
            C::g => !zero && sign == overflow,
            C::None => return None,
        })
    }

    unsafe fn target(&self, i: &Instruction) -> Option<u64> {
        match i.op0_kind() {
            OpKind::NearBranch64 => Some(i.near_branch_target()),
            // SAFETY: operands are checked by `load`; a table of function addresses can be read.
            OpKind::Memory if i.is_ip_rel_memory_operand() => unsafe {
                Some(read(i.ip_rel_memory_address(), 8))
            },
            // SAFETY: as above.
            _ => unsafe { self.operand(i, 0) },
        }
    }

    fn size(&self, i: &Instruction, operand: u32) -> Option<u32> {
        match i.op_kind(operand) {
            OpKind::Register => Some(i.op_register(operand).size() as u32),
            OpKind::Memory => {
                Some(i.memory_size().size() as u32).filter(|size| (1..=8).contains(size))
            }
            _ => None,
        }
    }

    unsafe fn operand(&self, i: &Instruction, operand: u32) -> Option<u64> {
        match i.op_kind(operand) {
            OpKind::Register => self.register(i.op_register(operand)),
            OpKind::Memory => {
                let size = self.size(i, operand)?;
                // SAFETY: `load` checks that it is the stack.
                unsafe { self.load(self.address(i)?, size as usize) }
            }
            _ => i.try_immediate(operand).ok(),
        }
    }

    fn register(&self, register: Register) -> Option<u64> {
        let value = self.registers[index(register)?]?;
        if register.is_gpr8() && high(register) {
            return Some(value >> 8 & 0xff);
        }
        Some(value & ones(8 * register.size() as u32))
    }

    fn address(&self, i: &Instruction) -> Option<u64> {
        if i.segment_prefix() != Register::None {
            return None;
        }
        if i.is_ip_rel_memory_operand() {
            return Some(i.ip_rel_memory_address());
        }
        let part = |register: Register| match register {
            Register::None => Some(0),
            register => self.register(register),
        };
        let index = part(i.memory_index())?.wrapping_mul(u64::from(i.memory_index_scale()));
        Some(part(i.memory_base())?.wrapping_add(index).wrapping_add(i.memory_displacement64()))
    }

    unsafe fn assign(&mut self, i: &Instruction, value: Option<u64>) -> Option<()> {
        match i.op0_kind() {
            OpKind::Register => {
                let register = i.op0_register();
                let at = index(register)?;
                let old = self.registers[at];
                self.registers[at] = match register.size() {
                    8 => value,
                    4 => value.map(|v| v & ones(32)),
                    _ if high(register) => None,
                    size => {
                        let mask = ones(8 * size as u32);
                        old.zip(value).map(|(old, v)| (old & !mask) | (v & mask))
                    }
                };
                // `setne al` before `movzx eax, al`: only the low byte is known.
                if register.size() == 1 && self.registers[at].is_none() && !high(register) {
                    self.registers[at] = value.map(|v| v & 0xff);
                }
                Some(())
            }
            OpKind::Memory => {
                let size = self.size(i, 0)?;
                let at = self.address(i)?;
                self.store(at, value?, size as usize)
            }
            _ => None,
        }
    }

    fn on_stack(&self, at: u64, size: usize) -> bool {
        at > self.stack.saturating_sub(STACK) && at + (size as u64) < self.stack + STACK
    }

    unsafe fn load(&self, at: u64, size: usize) -> Option<u64> {
        if !self.on_stack(at, size) {
            return None;
        }
        let mut value = 0;
        for k in 0..size as u64 {
            let byte = match self.written.get(&(at + k)) {
                Some(&byte) => byte,
                // SAFETY: on the waiting thread's stack, above its end.
                None if at + k >= self.stack => unsafe { *((at + k) as *const u8) },
                None => return None,
            };
            value |= u64::from(byte) << (8 * k);
        }
        Some(value)
    }

    fn store(&mut self, at: u64, value: u64, size: usize) -> Option<()> {
        if !self.on_stack(at, size) {
            return None;
        }
        for k in 0..size as u64 {
            self.written.insert(at + k, (value >> (8 * k)) as u8);
        }
        Some(())
    }

    fn push(&mut self, value: Option<u64>) -> Option<()> {
        let at = self.registers[4]?.wrapping_sub(8);
        self.registers[4] = Some(at);
        self.store(at, value?, 8)
    }

    unsafe fn pop(&mut self) -> Option<u64> {
        let at = self.registers[4]?;
        self.registers[4] = Some(at.wrapping_add(8));
        // SAFETY: `load` checks.
        unsafe { self.load(at, 8) }
    }
}

fn is_set(i: &Instruction) -> bool {
    i.op_count() == 1 && i.op0_kind() != OpKind::NearBranch64 && i.code() != Code::INVALID
}

fn is_move(i: &Instruction) -> bool {
    i.op_count() == 2
}

fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn index(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

fn high(register: Register) -> bool {
    matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

/// # Safety
/// The bytes must be readable.
unsafe fn read(at: u64, size: usize) -> u64 {
    let mut value = 0;
    for k in 0..size as u64 {
        // SAFETY: the caller's promise.
        value |= u64::from(unsafe { std::ptr::read_volatile((at + k) as *const u8) }) << (8 * k);
    }
    value
}
