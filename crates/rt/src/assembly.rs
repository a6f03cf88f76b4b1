//! Fences that are written in assembly, and so in no call of the runtime: `mfence`, `lock; addl $0, (%rsp)`, `xchg`.
//!
//! Compilers make a call of every atomic access and fence of an instrumented program, so an instruction that locks the
//! bus can only come from assembly. Whether there is one between an atomic access and the next is read off the machine
//! code, once for each call stack that comes to the access: the code after it is followed through jumps, calls of
//! known functions and their returns, up to the next access or the first branch. What is found there is executed
//! whenever the access is, so the runtime adds a fence to the analysis before the thread's next access. A fence behind
//! a branch is not seen; `fencepost_fence` names it.

use crate::spin::Entry;
use crate::system;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

/// How many instructions are followed.
const STEPS: usize = 200;
/// How much code is read at once; an instruction has at most fifteen bytes.
const CODE: usize = 256;

/// Is there a fence between an access and the next? `stack` has the addresses that the access and the calls that
/// led there return to, innermost first.
pub fn fence_follows(stack: &[usize], entry: &dyn Fn(u64) -> Option<Entry>) -> bool {
    follow(stack, entry).unwrap_or(false)
}

/// Makes the decoder's tables.
pub fn prepare() {
    let _ = Decoder::with_ip(64, &[0x90], 0, DecoderOptions::NONE).decode();
}

fn follow(stack: &[usize], entry: &dyn Fn(u64) -> Option<Entry>) -> Option<bool> {
    let mut calls: Vec<u64> = stack.iter().rev().map(|&pc| pc as u64).collect();
    let mut rip = calls.pop()?;
    let mut code = (0, Vec::new());
    for _ in 0..STEPS {
        match entry(rip) {
            // Checks of plain accesses, and what comes and goes with a function.
            Some(Entry::Nothing | Entry::Fill) => {
                rip = calls.pop()?;
                continue;
            }
            Some(_) => return Some(false),
            None => {}
        }
        let instruction = decode(rip, &mut code)?;
        rip = instruction.next_ip();
        match instruction.flow_control() {
            _ if is_fence(&instruction) => return Some(true),
            FlowControl::Next => {}
            FlowControl::UnconditionalBranch => rip = instruction.near_branch_target(),
            FlowControl::Call => {
                calls.push(rip);
                rip = instruction.near_branch_target();
            }
            // By way of a table of addresses: only to what is known.
            FlowControl::IndirectCall | FlowControl::IndirectBranch
                if instruction.is_ip_rel_memory_operand() =>
            {
                let target = pointer(instruction.ip_rel_memory_address())?;
                entry(target)?;
                if instruction.flow_control() == FlowControl::IndirectCall {
                    calls.push(rip);
                }
                rip = target;
            }
            FlowControl::Return => rip = calls.pop()?,
            _ => return None,
        }
    }
    None
}

fn decode(rip: u64, code: &mut (u64, Vec<u8>)) -> Option<Instruction> {
    let offset = rip.checked_sub(code.0).filter(|&k| k + 15 <= code.1.len() as u64);
    let offset = match offset {
        Some(offset) => offset as usize,
        None => {
            let mut bytes = vec![0; CODE];
            let read = system::peek(rip as usize, &mut bytes);
            bytes.truncate(read);
            *code = (rip, bytes);
            0
        }
    };
    let mut decoder = Decoder::with_ip(64, code.1.get(offset..)?, rip, DecoderOptions::NONE);
    Some(decoder.decode()).filter(|instruction| !instruction.is_invalid())
}

fn is_fence(instruction: &Instruction) -> bool {
    let exchanges = instruction.mnemonic() == Mnemonic::Xchg
        && (0..instruction.op_count()).any(|k| instruction.op_kind(k) == OpKind::Memory);
    instruction.mnemonic() == Mnemonic::Mfence || instruction.has_lock_prefix() || exchanges
}

fn pointer(at: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (system::peek(at as usize, &mut bytes) == 8).then(|| u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &[u8]) -> bool {
        fence_follows(&[code.as_ptr() as usize], &|_| None)
    }

    #[test]
    fn fences_are_found_in_what_follows_only() {
        let ret = 0xc3;
        assert!(found(&[0x0f, 0xae, 0xf0, ret]), "mfence");
        assert!(found(&[0xf0, 0x83, 0x0c, 0x24, 0x00, ret]), "lock or dword [rsp], 0");
        assert!(found(&[0x87, 0x04, 0x24, ret]), "xchg [rsp], eax");
        assert!(!found(&[0x93, ret]), "xchg ebx, eax");
        assert!(!found(&[0x0f, 0xae, 0xe8, ret]), "lfence");
        assert!(found(&[0x90, 0xeb, 0x01, ret, 0x0f, 0xae, 0xf0, ret]), "jmp over one byte");
        assert!(!found(&[0x74, 0x00, 0x0f, 0xae, 0xf0, ret]), "behind a branch");
        assert!(found(&[0xe8, 0x01, 0, 0, 0, ret, 0x0f, 0xae, 0xf0, ret]), "in a function");
        assert!(found(&[0xe8, 0x04, 0, 0, 0, 0x0f, 0xae, 0xf0, ret, ret]), "after a function");
        assert!(!found(&[ret, 0x0f, 0xae, 0xf0]), "after the outermost function");
    }

    #[test]
    fn callers_are_followed_up_to_the_next_access() {
        static CODE: [u8; 6] = [0x90, 0xc3, 0x0f, 0xae, 0xf0, 0x90];
        let at = CODE.as_ptr() as usize;
        assert!(fence_follows(&[at, at + 2], &|_| None));
        let access = |rip: u64| (rip == at as u64 + 2).then_some(Entry::Effect);
        assert!(!fence_follows(&[at, at + 2], &access));
    }
}
