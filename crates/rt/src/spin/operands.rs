//! What instructions of x86-64 do with their operands, and how wide these are.

use iced_x86::{Code, Instruction, OpAccess, OpKind, Register};

pub(super) fn is_set(i: &Instruction) -> bool {
    i.op_count() == 1 && i.op0_kind() != OpKind::NearBranch64 && i.code() != Code::INVALID
}

pub(super) fn is_move(i: &Instruction) -> bool {
    i.op_count() == 2
}

/// Has the low byte an even number of ones?
pub(super) fn is_even(value: u64) -> bool {
    (value as u8).count_ones().is_multiple_of(2)
}

pub(super) fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Does this write?
pub(super) fn writes(access: OpAccess) -> bool {
    !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess)
}

pub(super) fn index(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

/// Does a register survive a call?
pub(super) fn survives(index: usize) -> bool {
    matches!(index, 3 | 5 | 12..=15)
}

pub(super) fn high(register: Register) -> bool {
    matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}
