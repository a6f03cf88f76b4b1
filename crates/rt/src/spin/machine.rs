//! The machine that runs code on paper: a few dozen instructions of x86-64, and for all others, what they write.

use super::operands::{high, index, is_even, is_move, is_set, ones, survives, writes};
use super::overlay::{Overlay, Whole};
use super::paper::{Code, Paper};
use super::{Entry, Frame, Question};
use iced_x86::{
    ConditionCode, FlowControl, Instruction, InstructionInfoFactory, InstructionInfoOptions,
    Mnemonic, OpKind, Register,
};

/// How much memory is filled at once.
const FILLED: usize = 1 << 12;
/// How far from the stack pointer memory counts as the stack.
const STACK: u64 = 1 << 16;

/// A machine on paper: what is known of its registers, its flags and its stack.
pub(super) struct Machine<'a> {
    pub(super) rip: u64,
    pub(super) registers: [Option<u64>; 16],
    pub(super) flags: Option<Flags>,
    /// The carry, where it is the only flag that is known.
    pub(super) bit: Option<bool>,
    /// Memory that it wrote.
    pub(super) written: Overlay,
    /// May it write elsewhere than on the stack?
    pub(super) writes_anywhere: bool,
    /// Was something that is not known written where it stays: to memory, or to a register that survives a call?
    pub(super) is_vague: bool,
    pub(super) info: InstructionInfoFactory,
    stack: u64,
    /// Memory that it did not write, and code.
    pub(super) paper: &'a Paper<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags {
    zero: bool,
    sign: bool,
    /// Not all instructions say.
    carry: Option<bool>,
    overflow: bool,
    parity: bool,
}

impl<'a> Machine<'a> {
    /// After the access that is asked about.
    pub(super) fn new(frame: &Frame, stack: u64, question: Question, paper: &'a Paper<'a>) -> Self {
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
        let mut machine = Machine {
            rip: frame.pc,
            registers,
            flags: None,
            bit: None,
            written: Overlay::default(),
            writes_anywhere: false,
            is_vague: false,
            info: InstructionInfoFactory::new(),
            stack,
            paper,
        };
        if let Some((address, value, size)) = question.wrote {
            machine.written.store(address, Some(value), usize::from(size));
        }
        machine
    }

    /// One instruction. `Some(true)`: it is back. `None`: it is elsewhere, or we are lost.
    pub(super) fn step(&mut self, home: u64, address: u64) -> Option<bool> {
        let code = self.paper.code(self.rip);
        if let Code::Entry(entry) = code {
            let home = self.returns_to()? == home && entry != Entry::Nothing;
            if home {
                return (self.registers[7] == Some(address)).then_some(true);
            }
        }
        self.run(&code)?;
        Some(false)
    }

    /// Goes on: an instruction, or a whole entry point.
    pub(super) fn go(&mut self) -> Option<()> {
        self.run(&self.paper.code(self.rip))
    }

    fn run(&mut self, code: &Code) -> Option<()> {
        match code {
            Code::Entry(entry) => self.enter(*entry),
            Code::Instruction(instruction) => self.instruction(instruction),
            Code::Nothing => None,
        }
    }

    /// Where the function that was just called returns to.
    pub(super) fn returns_to(&self) -> Option<u64> {
        self.load(self.registers[4]?, 8)
    }

    /// An entry point of the runtime does what it is for.
    fn enter(&mut self, entry: Entry) -> Option<()> {
        let argument = self.registers[7];
        let result = match entry {
            Entry::Load(size) => Some(self.load(argument?, size as usize)?),
            Entry::Cas { .. } | Entry::Effect => return None,
            Entry::Fill => {
                let size = usize::try_from(self.registers[2]?).ok().filter(|&n| n <= FILLED)?;
                let at = argument?;
                if !self.on_stack(at, size) {
                    return None;
                }
                self.written.forget(at, size);
                Some(at)
            }
            Entry::Nothing => None,
        };
        self.return_with(result)
    }

    /// The function that was just called returns this.
    pub(super) fn return_with(&mut self, result: Option<u64>) -> Option<()> {
        self.rip = self.pop()?;
        self.forget_below()?;
        for index in [0, 1, 2, 6, 7, 8, 9, 10, 11] {
            self.registers[index] = None;
        }
        self.registers[0] = result;
        self.flags = None;
        self.bit = None;
        Some(())
    }

    /// A function has returned: what it left below the stack is nobody's.
    fn forget_below(&mut self) -> Option<()> {
        let end = self.registers[4]?;
        self.written.drop_range(end.saturating_sub(STACK), end);
        Some(())
    }

    /// One instruction, whatever it is.
    fn instruction(&mut self, instruction: &Instruction) -> Option<()> {
        self.rip = instruction.next_ip();
        if instruction.rflags_modified() != 0 {
            self.bit = None;
        }
        self.execute(instruction)
    }

    fn execute(&mut self, i: &Instruction) -> Option<()> {
        use Mnemonic as M;
        match i.mnemonic() {
            M::Nop | M::Endbr64 | M::Pause => {}
            M::Mov | M::Movzx => {
                let value = self.operand(i, 1);
                self.assign(i, value)?;
            }
            M::Movsx | M::Movsxd => {
                let bits = 8 * self.size(i, 1)?;
                let value =
                    self.operand(i, 1).map(|v| ((v << (64 - bits)) as i64 >> (64 - bits)) as u64);
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
                    self.flags = value.map(|v| {
                        let (v, top) = (v & ones(bits), 1 << (bits - 1));
                        let result = result.unwrap_or_default() & ones(bits);
                        // Adding one leaves the carry alone; a negation has one unless it is of zero.
                        let (carry, overflows) = match i.mnemonic() {
                            M::Inc => (self.flags.and_then(|flags| flags.carry), result == top),
                            M::Dec => (self.flags.and_then(|flags| flags.carry), v == top),
                            _ => (Some(v != 0), v == top),
                        };
                        let sign = result & top != 0;
                        let parity = is_even(result);
                        Flags { zero: result == 0, sign, carry, overflow: overflows, parity }
                    });
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
            M::Imul if i.op_count() >= 2 => {
                let bits = 8 * self.size(i, 0)?;
                let (a, b) = (i.op_count() - 2, i.op_count() - 1);
                let product = self.operand(i, a).zip(self.operand(i, b));
                self.flags = None;
                self.assign(i, product.map(|(a, b)| a.wrapping_mul(b) & ones(bits)))?;
            }
            M::Div => self.divide(i)?,
            M::Rol | M::Ror => {
                let bits = 8 * self.size(i, 0)?;
                let (value, by) = (self.operand(i, 0), self.operand(i, 1));
                self.flags = None;
                let turned = value.zip(by).map(|(v, by)| {
                    let by = (by as u32 & if bits == 64 { 63 } else { 31 }) % bits;
                    let by = if i.mnemonic() == M::Rol { by } else { (bits - by) % bits };
                    let v = v & ones(bits);
                    let high = if by == 0 { 0 } else { v >> (bits - by) };
                    (v << by | high) & ones(bits)
                });
                self.assign(i, turned)?;
            }
            M::Bt if i.op0_kind() == OpKind::Register => {
                let bits = 8 * self.size(i, 0)?;
                let bit = self.operand(i, 0).zip(self.operand(i, 1));
                let carry = bit.map(|(v, at)| v >> (at as u32 % bits) & 1 == 1);
                self.flags = None;
                self.bit = carry;
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
                // No function is told anything in these.
                for index in [0, 10, 11] {
                    self.registers[index] = None;
                }
            }
            M::Ret => {
                self.rip = self.pop()?;
                self.forget_below()?;
            }
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
            _ => self.forget_results(i)?,
        }
        Some(())
    }

    /// An instruction that is not worth the trouble: what it writes is unknown from now on.
    fn forget_results(&mut self, i: &Instruction) -> Option<()> {
        let repeats = i.has_rep_prefix() || i.has_repne_prefix();
        if i.flow_control() != FlowControl::Next
            || i.has_lock_prefix()
            || repeats
            || i.is_privileged()
        {
            return None;
        }
        let info = self.info.info_options(i, InstructionInfoOptions::NONE);
        let used = info.used_registers().iter().filter(|used| writes(used.access()));
        let registers: Vec<usize> = used.filter_map(|used| index(used.register())).collect();
        let written: Vec<usize> = info
            .used_memory()
            .iter()
            .filter(|used| writes(used.access()))
            .map(|used| used.memory_size().size())
            .collect();
        match written[..] {
            [] => {}
            // What has one operand in memory has it at the address that is written in the instruction.
            [size] if size > 0 && (0..i.op_count()).any(|k| i.op_kind(k) == OpKind::Memory) => {
                let at = self.address(i)?;
                if !self.on_stack(at, size) && !self.writes_anywhere {
                    return None;
                }
                self.written.forget(at, size);
            }
            _ => return None,
        }
        self.is_vague |= !written.is_empty() || registers.iter().any(|&index| survives(index));
        for register in registers {
            self.registers[register] = None;
        }
        if i.rflags_modified() != 0 {
            self.flags = None;
        }
        // Without the end of the stack there is no way back.
        self.registers[4]?;
        Some(())
    }

    /// An unsigned division of what two registers hold together.
    fn divide(&mut self, i: &Instruction) -> Option<()> {
        let bits = 8 * self.size(i, 0)?;
        self.flags = None;
        let known = (self.registers[0], self.registers[2], self.operand(i, 0));
        let (Some(low), Some(high), Some(by)) = known else {
            (self.registers[0], self.registers[2]) = (None, None);
            return Some(());
        };
        if bits < 32 {
            return None;
        }
        let (low, high, by) = (low & ones(bits), high & ones(bits), by & ones(bits));
        let number = u128::from(high) << bits | u128::from(low);
        let (quotient, rest) = (number.checked_div(by.into())?, number.checked_rem(by.into())?);
        // A quotient that is too large is an error.
        self.registers[0] = Some(u64::try_from(quotient).ok().filter(|&q| q <= ones(bits))?);
        self.registers[2] = Some(rest as u64);
        Some(())
    }

    fn arithmetic(&mut self, i: &Instruction) -> Option<()> {
        use Mnemonic as M;
        let bits = 8 * self.size(i, 0)?;
        // Zero whatever the register holds.
        let zeroes = i.mnemonic() == M::Xor
            && i.op1_kind() == OpKind::Register
            && i.op0_kind() == OpKind::Register
            && i.op0_register() == i.op1_register();
        let (a, b) = (self.operand(i, 0), self.operand(i, 1));
        let operands = if zeroes { Some((0, 0)) } else { a.zip(b) };
        let Some((a, b)) = operands else {
            self.flags = None;
            if !matches!(i.mnemonic(), M::Cmp | M::Test) {
                self.assign(i, None)?;
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
            carry: Some(carry),
            overflow,
            parity: is_even(result),
        });
        if !matches!(i.mnemonic(), M::Cmp | M::Test) {
            self.assign(i, Some(result))?;
        }
        Some(())
    }

    fn holds(&self, condition: ConditionCode) -> Option<bool> {
        use ConditionCode as C;
        match (self.flags, condition) {
            (None, C::b) => return self.bit,
            (None, C::ae) => return self.bit.map(|bit| !bit),
            _ => {}
        }
        let Flags { zero, sign, carry, overflow, parity } = self.flags?;
        Some(match condition {
            C::o => overflow,
            C::no => !overflow,
            C::b => carry?,
            C::ae => !carry?,
            C::e => zero,
            C::ne => !zero,
            C::be => carry? || zero,
            C::a => !carry? && !zero,
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

    fn target(&self, i: &Instruction) -> Option<u64> {
        match i.op0_kind() {
            OpKind::NearBranch64 => Some(i.near_branch_target()),
            // A table of function addresses.
            OpKind::Memory if i.is_ip_rel_memory_operand() => {
                self.paper.read(i.ip_rel_memory_address(), 8)
            }
            _ => self.operand(i, 0),
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

    fn operand(&self, i: &Instruction, operand: u32) -> Option<u64> {
        match i.op_kind(operand) {
            OpKind::Register => self.register(i.op_register(operand)),
            OpKind::Memory => {
                let size = self.size(i, operand)?;
                self.load(self.address(i)?, size as usize)
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

    pub(super) fn address(&self, i: &Instruction) -> Option<u64> {
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

    fn assign(&mut self, i: &Instruction, value: Option<u64>) -> Option<()> {
        match i.op0_kind() {
            OpKind::Register => {
                let register = i.op0_register();
                let at = index(register)?;
                self.is_vague |= value.is_none() && survives(at);
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
                self.is_vague |= value.is_none();
                self.store(at, value, size as usize)
            }
            _ => None,
        }
    }

    pub(super) fn on_stack(&self, at: u64, size: usize) -> bool {
        let end = at.saturating_add(size as u64);
        at > self.stack.saturating_sub(STACK) && end < self.stack.saturating_add(STACK)
    }

    pub(super) fn load(&self, at: u64, size: usize) -> Option<u64> {
        if !self.on_stack(at, size) && !self.writes_anywhere {
            return self.paper.read(at, size);
        }
        match self.written.whole(at, size) {
            Whole::Below => self.paper.read(at, size),
            Whole::Here(value) => Some(value),
            Whole::Mixed => self.load_bytes(at, size),
        }
    }

    fn load_bytes(&self, at: u64, size: usize) -> Option<u64> {
        let mut value = 0;
        for k in 0..size as u64 {
            let byte = match self.written.get(at.wrapping_add(k)) {
                Some(byte) => byte?,
                None => self.paper.read(at.wrapping_add(k), 1)? as u8,
            };
            value |= u64::from(byte) << (8 * k);
        }
        Some(value)
    }

    pub(super) fn store(&mut self, at: u64, value: Option<u64>, size: usize) -> Option<()> {
        if !self.on_stack(at, size) && !self.writes_anywhere {
            return None;
        }
        self.written.store(at, value, size);
        Some(())
    }

    fn push(&mut self, value: Option<u64>) -> Option<()> {
        let at = self.registers[4]?.wrapping_sub(8);
        self.registers[4] = Some(at);
        self.store(at, value, 8)
    }

    fn pop(&mut self) -> Option<u64> {
        let at = self.registers[4]?;
        self.registers[4] = Some(at.wrapping_add(8));
        self.load(at, 8)
    }
}
