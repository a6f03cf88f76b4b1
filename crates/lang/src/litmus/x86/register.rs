//! Names of registers, and how wide they and instructions are.

use crate::litmus::Architecture;

const REGISTERS_32: [&str; 9] = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI", "EBP", "ESP", "EIP"];
/// The names of 64-bit registers, of their lower halves, and of the parts that are not supported.
const REGISTERS_64: [[&str; 4]; 17] = [
    ["rip", "eip", "", ""],
    ["rax", "eax", "ax", "al"],
    ["rbx", "ebx", "bx", "bl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["rbp", "ebp", "bp", "bpl"],
    ["rsp", "esp", "sp", "spl"],
    ["r8", "r8d", "r8w", "r8b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r11", "r11d", "r11w", "r11b"],
    ["r12", "r12d", "r12w", "r12b"],
    ["r13", "r13d", "r13w", "r13b"],
    ["r14", "r14d", "r14w", "r14b"],
    ["r15", "r15d", "r15w", "r15b"],
];
/// How the code names a register that may be written in several ways; `None` if it is none.
pub(in crate::litmus) fn spelling(architecture: Architecture, name: &str) -> Option<String> {
    let known = match architecture {
        Architecture::C => return Some(name.to_string()),
        Architecture::X86 => {
            REGISTERS_32.into_iter().find(|known| known.eq_ignore_ascii_case(name))
        }
        Architecture::X86_64 => {
            let lower = name.to_ascii_lowercase();
            let family = REGISTERS_64.iter().find(|family| family.contains(&lower.as_str()));
            family.map(|family| family[0]).or((lower == "cs").then_some("cs"))
        }
    };
    known.map(String::from)
}

/// Where herd shows a register among those of its thread.
pub(in crate::litmus) fn rank(architecture: Architecture, spelling: &str) -> usize {
    match architecture {
        Architecture::C => 0,
        Architecture::X86 => REGISTERS_32.iter().position(|r| *r == spelling).unwrap_or(99),
        Architecture::X86_64 => {
            REGISTERS_64.iter().position(|family| family[0] == spelling).unwrap_or(99)
        }
    }
}

/// The width of a 64-bit machine's register, by its name.
pub(super) fn width(name: &str) -> Option<u32> {
    let lower = name.to_ascii_lowercase();
    let part = REGISTERS_64.iter().find_map(|family| family.iter().position(|r| *r == lower))?;
    Some([64, 32, 16, 8][part])
}

/// The instruction without the letter that says how wide it is, and how wide.
pub(super) fn split(word: &str) -> (&str, Option<u32>) {
    const SIZED: [&str; 15] = [
        "nop", "mov", "add", "sub", "and", "or", "xor", "shl", "inc", "dec", "cmp", "test", "xchg",
        "xadd", "cmpxchg",
    ];
    let (name, suffix) = word.split_at(word.len().saturating_sub(1));
    let bits = match suffix {
        "b" => 8,
        "w" => 16,
        "l" => 32,
        "q" => 64,
        _ => return (word, None),
    };
    if SIZED.contains(&name) { (name, Some(bits)) } else { (word, None) }
}
