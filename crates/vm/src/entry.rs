//! What to run: where a program begins, and what runs before and after it.

use crate::library::rust::names::path;
use crate::machine::Stub;
use llvm::module::Symbol;
use llvm::{Callee, ConstantKind, FunctionId, InstrKind, Module, Operand};

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Functions that start as threads, in place of `main`.
    pub functions: Vec<String>,
    /// What functions do that no file defines.
    pub stubs: Vec<(String, Stub)>,
    /// Follow threads also where they read what no interleaving lets them read. Robustness is decided on interleavings
    /// alone; final states are not.
    ///
    /// For RC11 and RC20 that is Theorem 4.6 of the RC20 paper. For machines with store buffers, let a computation have a
    /// cyclic trace, and none of its prefixes. Without its last step it has the trace of an interleaving, so each thread has come to
    /// where some interleaving brings it, with the same registers (the theorem of `check::robustness::store_atomic::safety`,
    /// which is about one computation at a time). The last step is made from there. So a program whose threads end where
    /// they read what no interleaving lets them read has this computation as well; and it has no others than the program.
    pub beyond_interleavings: bool,
    /// Follow threads also where they read, at some place, a value that interleavings put into the cell at any other. On
    /// a weak memory that writes no other values, threads are then known completely; the program lists the values
    /// ([`ir::Program::foreseen`]). Unlike [`Entry::beyond_interleavings`], it ends where values only grow because
    /// nobody asks whether they can come about.
    pub beyond_seen_values: bool,
    /// The final values of global variables are looked at, also of those that one thread alone writes.
    pub observed: bool,
    /// Take volatile accesses for relaxed atomic ones.
    pub volatile_atomic: bool,
    /// Let loops go round at most so many times, those that only wait aside; threads go no further then.
    pub rounds: Option<u32>,
    /// Keep apart local states that no interleaving tells apart but a stale value might. It matters to questions about what
    /// depends on values that are read; others ask only what interleavings read.
    pub every_state: bool,
    /// Explore every interleaving, also those that differ from others only in the order of steps that commute.
    pub every_interleaving: bool,
}

/// The function of a name: that of its symbol or, in Rust, its path or the end of it.
pub(crate) fn named(module: &Module, name: &str) -> Result<FunctionId, String> {
    let is_defined = |function: &FunctionId| !module.function(*function).is_declaration();
    if let Some(function) = module.function_named(name).filter(is_defined) {
        return Ok(function);
    }
    let end = format!("::{name}");
    let mut found: Vec<(FunctionId, String)> = Vec::new();
    for (id, function) in module.each_function() {
        if function.is_declaration() {
            continue;
        }
        let Some(path) = path(&function.name) else { continue };
        if path == name || path.ends_with(&end) {
            found.push((id, path));
        }
    }
    match &found[..] {
        [] => Err(format!("there is no function `{name}`")),
        [(function, _)] => Ok(*function),
        [(_, one), (_, other), ..] => {
            Err(format!("`{name}` may be `{one}` or `{other}`: give more of its path"))
        }
    }
}

/// Is there a function of a name, or of this path, defined or not?
pub(crate) fn is_there(module: &Module, name: &str) -> bool {
    module.function_named(name).is_some()
        || module.each_function().any(|(_, it)| path(&it.name).as_deref() == Some(name))
}

/// Does a function do more with its parameters than keep them? Code that is not optimised stores each of them in a
/// variable first.
pub(crate) fn reads_arguments(module: &Module, function: FunctionId) -> bool {
    let function = module.function(function);
    let instrs = || function.blocks.iter().flat_map(|block| &block.instrs);
    let kept = |address: &Operand| {
        instrs().any(|instr| match &instr.kind {
            InstrKind::Store { value: Operand::Local(value), address: to, .. } => {
                to == address && value.index() < function.params.len()
            }
            _ => false,
        })
    };
    instrs().any(|instr| match &instr.kind {
        InstrKind::Load { address, .. } => kept(address),
        _ => false,
    })
}

/// Functions that run before `main`, such as C++ initialisers of global variables, or after it, in the order of their
/// priorities.
pub(crate) fn structors(module: &Module, list: &str) -> Vec<FunctionId> {
    let Some(Symbol::Global(list)) = module.symbol(list) else { return Vec::new() };
    let Some(init) = module.global(list).init else { return Vec::new() };
    let ConstantKind::Array(entries) = &module.constant(init).kind else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries {
        if let ConstantKind::Struct(fields) = &module.constant(*entry).kind
            && let [priority, function, ..] = &fields[..]
            && let ConstantKind::Int(priority) = module.constant(*priority).kind
            && let ConstantKind::Function(function) = module.constant(*function).kind
        {
            found.push((priority, function));
        }
    }
    found.sort_by_key(|(priority, _)| *priority);
    found.into_iter().map(|(_, function)| function).collect()
}

/// Are there C++ initialisers of several files among functions that run before `main`, those aside that only make `std::cout`
/// and its like ready?
pub(crate) fn are_of_several_files(module: &Module, functions: &[FunctionId]) -> bool {
    let called = |function: FunctionId| {
        let blocks = module.function(function).blocks.iter();
        blocks.flat_map(|block| &block.instrs).filter_map(|instr| match &instr.kind {
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => match call.callee {
                Callee::Function(function) => Some(function),
                _ => None,
            },
            _ => None,
        })
    };
    let is_for_streams = |function: FunctionId| {
        called(function).any(|it| &*module.function(it).name == "_ZNSt8ios_base4InitC1Ev")
    };
    let of_files = functions.iter().filter(|function| {
        let of_file = module.function(**function).name.starts_with("_GLOBAL__sub_I_");
        of_file && !called(**function).all(is_for_streams)
    });
    of_files.count() > 1
}
