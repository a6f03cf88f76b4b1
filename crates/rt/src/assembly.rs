//! Fences that are written in assembly, and so in no call of the runtime: `mfence`, `lock; addl $0, (%rsp)`, `xchg`.
//!
//! Compilers make a call of every atomic access and fence of an instrumented program, so an instruction that locks the
//! bus can only come from assembly. Whether there is one between an atomic access and the next is read off the machine
//! code, once for each call stack that comes to the access: the code after it is followed through jumps, calls of
//! known functions and their returns, up to the next access or the first branch. What is found there is executed
//! whenever the access is, so the runtime adds a fence to the analysis before the thread's next access.
//!
//! From a branch on, all ways are followed to the end of the function ([`fences_before`]). A fence belongs to the accesses
//! to which every way leads past one, and is added where one of these is the thread's next access. An access that can be come to
//! without a fence as well gets none; `fencepost_fence` names it. Functions that are not instrumented are passed over: what
//! they lock is their own business. Two ways are not among those that are followed:
//!
//! * The function returns and is called again, so that its next access is one that is behind the fence in its code. What was
//!   found holds for one activation, see [`crate::thread::Thread::expect_fence`].
//! * A function that is passed over never comes back: it throws an exception, or jumps. A fence behind it does not count.

use crate::spin::Entry;
use crate::system;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use std::collections::{HashMap, HashSet};

/// How many instructions are followed.
const STEPS: usize = 200;
/// How much code is read at once; an instruction has at most fifteen bytes.
const CODE: usize = 256;

/// Is there a fence between an access and the next? `stack` has the addresses that the access and the calls that
/// led there return to, innermost first.
pub fn fence_follows(stack: &[usize], entry: &dyn Fn(u64) -> Option<Entry>) -> bool {
    follow(stack, entry).unwrap_or(false)
}

/// The accesses, by the addresses that they return to, before which there is a fence if they come next after an access that
/// returns to `pc`.
pub fn fences_before(pc: usize, entry: &dyn Fn(u64) -> Option<Entry>) -> Vec<usize> {
    let ways =
        Ways { entry, pages: HashMap::new(), seen: HashSet::new(), todo: Vec::new(), steps: 0 };
    let mut reached = ways.follow_all(pc as u64).unwrap_or_default();
    let without: HashSet<usize> =
        reached.iter().filter(|&&(_, fenced)| !fenced).map(|&(at, _)| at).collect();
    reached.retain(|(at, _)| !without.contains(at));
    let mut accesses: Vec<usize> = reached.into_iter().map(|(at, _)| at).collect();
    accesses.sort_unstable();
    accesses.dedup();
    accesses
}

/// How many instructions are followed on all ways together.
const ALL_STEPS: usize = 2_000;
/// In how many instructions of its own a function calls the runtime, or returns, to be taken for an instrumented one.
const PROLOGUE: usize = 24;
const PAGE: u64 = 4096;

/// Where a way is: the next instruction, the calls to return from, was there a fence, and may there still be one? Not behind a
/// call that was passed over.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Point {
    rip: u64,
    calls: Vec<u64>,
    fenced: bool,
    certain: bool,
}

/// The ways from an access.
struct Ways<'a> {
    entry: &'a dyn Fn(u64) -> Option<Entry>,
    pages: HashMap<u64, Vec<u8>>,
    seen: HashSet<Point>,
    todo: Vec<Point>,
    steps: usize,
}

impl Ways<'_> {
    /// All accesses that may come next, each with whether there was a fence. None if not all ways can be followed.
    fn follow_all(mut self, pc: u64) -> Option<Vec<(usize, bool)>> {
        let mut reached = Vec::new();
        self.come_to(Point { rip: pc, calls: Vec::new(), fenced: false, certain: true });
        while let Some(mut point) = self.todo.pop() {
            while self.step(&mut point, &mut reached)? {}
        }
        Some(reached)
    }

    fn come_to(&mut self, point: Point) {
        if self.seen.insert(point.clone()) {
            self.todo.push(point);
        }
    }

    /// Follows a way by one instruction. Does it go on?
    fn step(&mut self, point: &mut Point, reached: &mut Vec<(usize, bool)>) -> Option<bool> {
        self.steps += 1;
        if self.steps > ALL_STEPS {
            return None;
        }
        let instruction = self.decode(point.rip)?;
        point.rip = instruction.next_ip();
        point.fenced |= point.certain && is_fence(&instruction);
        let target = match instruction.flow_control() {
            FlowControl::Next => return Some(true),
            FlowControl::UnconditionalBranch => instruction.near_branch_target(),
            FlowControl::ConditionalBranch => {
                let target = instruction.near_branch_target();
                self.come_to(Point { rip: target, ..point.clone() });
                self.come_to(point.clone());
                return Some(false);
            }
            FlowControl::Call => {
                point.calls.push(point.rip);
                instruction.near_branch_target()
            }
            FlowControl::IndirectCall => {
                let known = instruction.is_ip_rel_memory_operand();
                let target = known.then(|| pointer(instruction.ip_rel_memory_address()));
                let target = target.flatten().filter(|&target| (self.entry)(target).is_some());
                point.calls.push(point.rip);
                target.unwrap_or(0)
            }
            // By way of a table, as a function of a library is called.
            FlowControl::IndirectBranch if instruction.is_ip_rel_memory_operand() => {
                pointer(instruction.ip_rel_memory_address())?
            }
            FlowControl::Return => return Some(self.return_from(point)),
            // The code behind what ends the program is not come to.
            FlowControl::Exception => return Some(false),
            _ => return None,
        };
        match (self.entry)(target) {
            Some(Entry::Nothing | Entry::Fill) => Some(self.return_from(point)),
            Some(_) => {
                let back = point.calls.last().copied().unwrap_or_default();
                reached.push((back as usize, point.fenced));
                Some(false)
            }
            // Into what may be a jump within a function.
            None if instruction.flow_control() == FlowControl::UnconditionalBranch => {
                self.come_to(Point { rip: target, ..point.clone() });
                Some(false)
            }
            None if target != 0 && self.is_instrumented(target) => {
                point.rip = target;
                Some(true)
            }
            None => {
                point.certain = false;
                Some(self.return_from(point))
            }
        }
    }

    /// Goes back to the caller, if it is known.
    fn return_from(&self, point: &mut Point) -> bool {
        match point.calls.pop() {
            Some(caller) => {
                point.rip = caller;
                true
            }
            None => false,
        }
    }

    /// Does the function begin as one that is instrumented does, or is it a few instructions and no more?
    fn is_instrumented(&mut self, function: u64) -> bool {
        let mut rip = function;
        for _ in 0..PROLOGUE {
            let Some(instruction) = self.decode(rip) else { return false };
            rip = instruction.next_ip();
            let known = |target: u64| (self.entry)(target).is_some();
            match instruction.flow_control() {
                FlowControl::Next => {}
                FlowControl::Return => return true,
                FlowControl::Call => return known(instruction.near_branch_target()),
                FlowControl::IndirectCall if instruction.is_ip_rel_memory_operand() => {
                    return pointer(instruction.ip_rel_memory_address()).is_some_and(known);
                }
                _ => return false,
            }
        }
        false
    }

    fn decode(&mut self, rip: u64) -> Option<Instruction> {
        let mut bytes = [0; 15];
        let mut length = 0;
        while length < bytes.len() {
            let at = rip.checked_add(length as u64)?;
            let page = self.pages.entry(at / PAGE).or_insert_with(|| {
                let mut page = vec![0; PAGE as usize];
                let read = system::peek((at / PAGE * PAGE) as usize, &mut page);
                page.truncate(read);
                page
            });
            let Some(rest) = page.get((at % PAGE) as usize..).filter(|rest| !rest.is_empty())
            else {
                break;
            };
            let count = rest.len().min(bytes.len() - length);
            bytes[length..length + count].copy_from_slice(&rest[..count]);
            length += count;
        }
        let mut decoder = Decoder::with_ip(64, &bytes[..length], rip, DecoderOptions::NONE);
        Some(decoder.decode()).filter(|instruction| !instruction.is_invalid())
    }
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

    /// The accesses of `code` are its calls of an address before it; the first byte is where an access returned to.
    fn before(code: &[u8]) -> Vec<usize> {
        let at = code.as_ptr() as usize;
        let entry = |rip: u64| (rip == at as u64 - 1).then_some(Entry::Effect);
        fences_before(at, &entry).into_iter().map(|back| back - at).collect()
    }

    /// A call of the access from this offset.
    fn access(offset: usize) -> [u8; 5] {
        let [a, b, c, d] = (-(offset as i32) - 6).to_le_bytes();
        [0xe8, a, b, c, d]
    }

    #[test]
    fn fences_behind_branches() {
        const MFENCE: [u8; 3] = [0x0f, 0xae, 0xf0];
        let two_arms = [&[0x74, 0x09][..], &MFENCE, &access(5), &[0xc3], &access(11), &[0xc3]];
        assert_eq!(before(&two_arms.concat()), [10], "in one of two arms");
        let joined = [&[0x74, 0x03][..], &MFENCE, &access(5), &[0xc3]];
        assert_eq!(before(&joined.concat()), [0; 0], "one arm comes to the access without a fence");
        let both = [&[0x74, 0x05][..], &MFENCE, &[0xeb, 0x03], &MFENCE, &access(10), &[0xc3]];
        assert_eq!(before(&both.concat()), [15], "both arms have a fence");
        let again = [&[0x74, 0x05][..], &MFENCE, &[0x74, 0xf9], &access(7), &[0xc3]];
        assert_eq!(before(&again.concat()), [0; 0], "a loop, which may end at once");
        let forever = [&[0x74, 0x02, 0xff, 0xe0][..], &MFENCE, &access(7), &[0xc3]];
        assert_eq!(before(&forever.concat()), [0; 0], "a jump to nobody knows where");
        let hidden = [&[0x74, 0x0a, 0xff, 0xd0][..], &MFENCE, &access(7), &[0xc3], &access(13)];
        assert_eq!(before(&hidden.concat()), [0; 0], "after a call that may not come back");
        let past = [&[0x74, 0x0a][..], &MFENCE, &[0xff, 0xd0], &access(7), &[0xc3], &access(13)];
        assert_eq!(before(&past.concat()), [12], "before a call of nobody knows what");
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
