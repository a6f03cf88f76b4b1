//! Files of IR with mistakes in them: read or refused, never a panic, a hang or an overflow of the stack.
//!
//! `FENCEPOST_MUTATED_INPUTS` says how many; a failure prints its number, which is the seed.
//! `FENCEPOST_MUTATED_FOLDER` names a folder of more files to make mistakes in. What is read is walked
//! through as a machine would: every index must be in range, and every type that is loaded must be known.

use fencepost_llvm::constant::ConstantKind;
use fencepost_llvm::instruction::{Callee, InstrKind, Operand};
use fencepost_llvm::{Module, parse};
use std::time::{Duration, Instant};

fn originals() -> Vec<String> {
    let own = [
        include_str!("ir/typed_pointers.ll"),
        include_str!("ir/debug.ll"),
        include_str!("ir/newest.ll"),
    ];
    let mut all = own.map(str::to_string).to_vec();
    if let Some(folder) = std::env::var_os("FENCEPOST_MUTATED_FOLDER") {
        let entries = std::fs::read_dir(folder).expect("FENCEPOST_MUTATED_FOLDER is a folder");
        let mut paths: Vec<_> = entries.filter_map(|it| it.ok().map(|it| it.path())).collect();
        paths.sort();
        let files = paths.into_iter().filter(|it| it.extension().is_some_and(|it| it == "ll"));
        all.extend(files.filter_map(|path| std::fs::read_to_string(path).ok()));
    }
    all
}

/// Words that are put in: keywords where they do not belong, brackets, large numbers.
const WORDS: [&str; 40] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    ",",
    "=",
    "*",
    "!",
    "\"",
    "@x",
    "%x",
    "%0",
    "#0",
    "!0",
    "!{",
    "i32",
    "i8388608",
    "ptr",
    "void",
    "label",
    "metadata",
    "null",
    "undef",
    "type",
    "18446744073709551616",
    "4294967295",
    "-1",
    "0x",
    "c\"",
    "...",
    "call",
    "ret void",
    "addrspace(1)",
    "x",
    "getelementptr",
    "\u{e9}",
];

/// A small generator: the sequence is a function of the seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end.max(1)
    }
}

/// An offset that is no middle of a character.
fn offset(text: &str, random: &mut Random) -> usize {
    let mut at = random.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The words of a line are between these.
fn word_at(text: &str, at: usize) -> (usize, usize) {
    let separates = |c: char| c.is_whitespace() || ",()[]{}".contains(c);
    let start = text[..at].rfind(separates).map_or(0, |it| it + 1);
    let end = text[at..].find(separates).map_or(text.len(), |it| at + it);
    (start.min(end), end)
}

fn mutate(text: &mut String, random: &mut Random) {
    let at = offset(text, random);
    match random.below(8) {
        0 => text.insert_str(at, WORDS[random.below(WORDS.len())]),
        1 => {
            let (start, end) = word_at(text, at);
            text.replace_range(start..end, WORDS[random.below(WORDS.len())]);
        }
        2 => {
            let (start, end) = word_at(text, at);
            text.replace_range(start..end, "");
        }
        3 => {
            // A word of elsewhere.
            let from = offset(text, random);
            let (start, end) = word_at(text, from);
            let word = text[start..end].to_string();
            let (start, end) = word_at(text, at);
            text.replace_range(start..end, &word);
        }
        4 => {
            let mut lines: Vec<&str> = text.lines().collect();
            let from = random.below(lines.len());
            let Some(&line) = lines.get(from) else { return };
            match random.below(3) {
                0 => lines.insert(random.below(lines.len()), line),
                1 => {
                    lines.remove(from);
                }
                _ => {
                    let to = random.below(lines.len());
                    lines.swap(from, to);
                }
            }
            *text = lines.join("\n");
        }
        5 => text.truncate(at),
        6 => {
            let byte = [b' ', b'\n', b'%', b'"', b'\\', b'0', b'-', 0x7f][random.below(8)];
            text.insert(at, byte as char);
        }
        _ => {
            if let Some(next) = text[at..].chars().next() {
                text.replace_range(at..at + next.len_utf8(), "");
            }
        }
    }
}

/// Follows every index of a module.
fn walk(module: &Module) -> usize {
    let mut seen = 0;
    for constant in &module.constants {
        seen += module.types.show(constant.ty).len();
        seen += constant.kind.parts().iter().map(|part| part.index()).sum::<usize>();
        assert!(constant.kind.parts().iter().all(|part| part.index() < module.constants.len()));
        match constant.kind {
            ConstantKind::Global(global) => seen += module.global(global).name.len(),
            ConstantKind::Function(function) => seen += module.function(function).name.len(),
            ConstantKind::BlockAddress(function, block) => {
                seen += module.function(function).block(block).instrs.len();
            }
            _ => {}
        }
    }
    for (id, function) in module.each_function() {
        for (index, block) in function.blocks.iter().enumerate() {
            let (last, before) = block.instrs.split_last().expect("a terminator");
            assert!(last.kind.is_terminator(), "block {index} of {}", function.name);
            assert!(before.iter().all(|instr| !instr.kind.is_terminator()));
            for instr in &block.instrs {
                seen += instr.at.map_or(0, |at| module.debug.chain(at).count());
                seen += instr.result.map_or(0, |result| function.local(result).name.len());
                match &instr.kind {
                    InstrKind::Load { address: Operand::Local(local), .. } => {
                        assert_eq!(
                            module.types.show(function.local(*local).ty).split(' ').next(),
                            Some("ptr")
                        );
                    }
                    InstrKind::Store { address, .. } => {
                        seen += module.lvalue(id, *address).map_or(0, |it| it.text.len());
                    }
                    InstrKind::Jump { to } => seen += function.block(*to).instrs.len(),
                    InstrKind::Branch { yes, no, .. } => {
                        seen +=
                            function.block(*yes).instrs.len() + function.block(*no).instrs.len();
                    }
                    InstrKind::Call(call) => {
                        let allocated = instr.result.and_then(|it| module.allocated(id, it));
                        let named = allocated.and_then(|it| it.pointee(&module.debug, 8));
                        seen += named.map_or(0, |it| it.len());
                        if let Callee::Function(callee) = call.callee {
                            seen += module.function(callee).params.len();
                        }
                    }
                    _ => {}
                }
            }
        }
        for variable in &function.variables {
            let ty = variable.ty;
            seen +=
                ty.map_or(0, |ty| (0..64).filter_map(|at| module.debug.describe(ty, at)).count());
        }
    }
    seen
}

#[test]
fn mutated_files_are_read_or_refused() {
    let inputs: u64 = match std::env::var("FENCEPOST_MUTATED_INPUTS") {
        Ok(number) => number.parse().expect("FENCEPOST_MUTATED_INPUTS is a number"),
        Err(_) => 3000,
    };
    let originals = originals();
    let mut read = 0;
    for seed in 0..inputs {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut text = originals[random.below(originals.len())].clone();
        for _ in 0..=random.below(4) {
            mutate(&mut text, &mut random);
        }
        let start = Instant::now();
        let result = std::panic::catch_unwind(|| {
            let module = parse("mutated.ll", &text);
            module.map(|module| {
                walk(&module);
                let linked = Module::link(vec![module.clone(), module]);
                linked.map(|module| walk(&module)).is_ok()
            })
        });
        let Ok(result) = result else { panic!("seed {seed} panics:\n{text}") };
        read += u64::from(result.is_ok());
        assert!(start.elapsed() < Duration::from_secs(5), "seed {seed} takes long");
    }
    // Neither all nor none: else the mistakes are too few or too many to reach the deeper code.
    assert!(read > inputs / 20 && read < inputs * 9 / 10, "{read} of {inputs} were read");
}
