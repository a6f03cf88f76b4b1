//! What is known of a function before it runs: which of its variables need no memory, and which registers matter where.
//!
//! Unoptimised code keeps every variable in memory (`alloca`). A variable whose address is only ever loaded from and
//! stored to is a register in disguise: its register then holds the variable's value in place of its address. Two
//! states of a thread that differ only in registers that nobody will read again are the same state, so registers that
//! are *dead* are forgotten wherever a thread rests.
//!
//! Compilers mark where the variable of an inner block begins and ends (`llvm.lifetime`). These marks are no uses of
//! its address: in between, a variable that is a register has no value.

use llvm::instruction::CastOp;
use llvm::{Callee, Function, Instr, InstrKind, Local, Module, Operand, Ty, Type};

/// A set of registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Registers(Box<[u64]>);

impl Registers {
    fn none(count: usize) -> Self {
        Registers(vec![0; count.div_ceil(64)].into())
    }

    pub(crate) fn contains(&self, local: usize) -> bool {
        self.0[local / 64] >> (local % 64) & 1 == 1
    }

    fn insert(&mut self, local: Local) {
        self.0[local.index() / 64] |= 1 << (local.index() % 64);
    }

    fn remove(&mut self, local: Local) {
        self.0[local.index() / 64] &= !(1 << (local.index() % 64));
    }

    /// Adds members; was any of them new?
    fn add(&mut self, others: &Registers) -> bool {
        let mut grown = false;
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            grown |= *other & !*word != 0;
            *word |= other;
        }
        grown
    }
}

/// What is known of a function.
#[derive(Debug)]
pub(crate) struct Code {
    /// Which registers hold a variable's value in place of its address.
    promoted: Box<[bool]>,
    /// The variable that each register is the address of: that of an `alloca`, or of a conversion of one.
    variables: Box<[Option<Local>]>,
    /// The blocks that control goes back to.
    loops: Box<[bool]>,
    /// Registers that matter before each instruction, by block.
    before: Box<[Box<[Registers]>]>,
    /// Registers that matter at the end of each block, on whichever way.
    after: Box<[Registers]>,
    /// The register that each instruction sets, by block.
    results: Box<[Box<[Option<Local>]>]>,
}

impl Code {
    pub(crate) fn of(module: &Module, function: &Function) -> Self {
        let variables = variables(function);
        let promoted = promoted(module, function, &variables);
        let (before, after) = liveness(module, function, &promoted, &variables);
        let results =
            function.blocks.iter().map(|block| block.instrs.iter().map(|it| it.result).collect());
        let mut loops = vec![false; function.blocks.len()];
        for (index, block) in function.blocks.iter().enumerate() {
            if let Some(last) = block.instrs.last() {
                for_each_successor(&last.kind, |next| loops[next] |= next <= index);
            }
        }
        let loops = loops.into();
        Code { promoted, variables, loops, before, after, results: results.collect() }
    }

    /// Does control go back to a block?
    pub(crate) fn is_loop(&self, block: u32) -> bool {
        self.loops[block as usize]
    }

    /// The variable that an operand is the address of.
    pub(crate) fn variable(&self, operand: &Operand) -> Option<Local> {
        match operand {
            Operand::Local(local) => self.variables[local.index()],
            _ => None,
        }
    }

    /// Does the register hold a variable's value in place of its address?
    pub(crate) fn is_promoted(&self, local: Local) -> bool {
        self.promoted[local.index()]
    }

    /// The registers that matter before an instruction.
    pub(crate) fn live_before(&self, block: u32, instr: u32) -> &Registers {
        &self.before[block as usize][instr as usize]
    }

    /// Does the register hold what an earlier run of the instruction, a call that has not returned, gave? That is
    /// overwritten before anybody reads it.
    pub(crate) fn is_result(&self, block: u32, instr: u32, register: usize) -> bool {
        self.results[block as usize][instr as usize].is_some_and(|it| it.index() == register)
    }

    /// Is what an instruction gives read by anybody?
    pub(crate) fn is_result_read(&self, block: u32, instr: u32) -> bool {
        let live = self.live_after(block, instr);
        self.results[block as usize][instr as usize].is_some_and(|it| live.contains(it.index()))
    }

    /// The registers that matter after an instruction, its own result aside.
    pub(crate) fn live_after(&self, block: u32, instr: u32) -> &Registers {
        self.before[block as usize].get(instr as usize + 1).unwrap_or(&self.after[block as usize])
    }
}

/// Is every value of one type a value of the other, bit by bit? Rust makes room for variables as arrays of bytes, and
/// reads pointers as numbers.
fn same_bits(module: &Module, room: Option<Ty>, ty: Ty) -> bool {
    let Some(room) = room else { return false };
    if room == ty {
        return true;
    }
    let bits = match module.ty(ty) {
        Type::Int(bits) => u64::from(*bits),
        Type::Ptr(space) => 8 * module.layout.pointer_size(*space),
        _ => return false,
    };
    match module.ty(room) {
        Type::Array(count, of) => *module.ty(*of) == Type::Int(8) && bits == 8 * count,
        _ => false,
    }
}

/// The variable that each register is the address of.
fn variables(function: &Function) -> Box<[Option<Local>]> {
    let mut variables = vec![None; function.locals.len()];
    for instr in function.blocks.iter().flat_map(|block| &block.instrs) {
        let Some(result) = instr.result else { continue };
        variables[result.index()] = match &instr.kind {
            InstrKind::Alloca { .. } => Some(result),
            InstrKind::Cast { op: CastOp::BitCast, value: Operand::Local(from), .. } => {
                variables[from.index()]
            }
            _ => None,
        };
    }
    variables.into()
}

/// The variable that a mark is about, if the instruction is one that says that a variable begins or ends.
fn marked(module: &Module, kind: &InstrKind, variables: &[Option<Local>]) -> Option<Local> {
    let InstrKind::Call(call) = kind else { return None };
    let Callee::Function(callee) = &call.callee else { return None };
    if !module.function(*callee).name.starts_with("llvm.lifetime.") {
        return None;
    }
    match call.args.last()?.value {
        Operand::Local(local) => variables[local.index()],
        _ => None,
    }
}

fn promoted(module: &Module, function: &Function, variables: &[Option<Local>]) -> Box<[bool]> {
    let mut promoted = vec![false; function.locals.len()];
    let mut types = vec![None; function.locals.len()];
    for instr in function.blocks.iter().flat_map(|block| &block.instrs) {
        if let (Some(result), InstrKind::Alloca { ty, count: None, .. }) =
            (instr.result, &instr.kind)
        {
            promoted[result.index()] = true;
            types[result.index()] = Some(*ty);
        }
    }
    let entry = function.blocks.first();
    // A variable declared in a loop is a new one each time round; only one at the start of the function is the same.
    for block in function.blocks.iter().skip(1) {
        for instr in &block.instrs {
            if let (Some(result), InstrKind::Alloca { .. }) = (instr.result, &instr.kind) {
                promoted[result.index()] = false;
            }
        }
    }
    debug_assert!(entry.is_some() || function.blocks.is_empty());
    for instr in function.blocks.iter().flat_map(|block| &block.instrs) {
        let mut spoil = |operand: &Operand| {
            if let Operand::Local(local) = operand
                && let Some(variable) = variables[local.index()]
            {
                promoted[variable.index()] = false;
            }
        };
        match &instr.kind {
            // What is converted counts when it is used.
            InstrKind::Cast { op: CastOp::BitCast, .. }
                if instr.result.is_some_and(|result| variables[result.index()].is_some()) => {}
            kind if marked(module, kind, variables).is_some() => {}
            InstrKind::Load { ty, address: Operand::Local(local), access }
                if same_bits(module, types[local.index()], *ty) && access.ordering.is_none() => {}
            InstrKind::Store { ty, value, address: Operand::Local(local), access }
                if same_bits(module, types[local.index()], *ty) && access.ordering.is_none() =>
            {
                spoil(value);
            }
            kind => for_each_operand(kind, &mut spoil),
        }
    }
    promoted.into()
}

type Liveness = (Box<[Box<[Registers]>]>, Box<[Registers]>);

fn liveness(
    module: &Module,
    function: &Function,
    promoted: &[bool],
    variables: &[Option<Local>],
) -> Liveness {
    let count = function.locals.len();
    let mut after = vec![Registers::none(count); function.blocks.len()];
    let mut before: Vec<Box<[Registers]>> = function
        .blocks
        .iter()
        .map(|block| vec![Registers::none(count); block.instrs.len()].into())
        .collect();
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); function.blocks.len()];
    for (index, block) in function.blocks.iter().enumerate() {
        if let Some(last) = block.instrs.last() {
            for_each_successor(&last.kind, |next| predecessors[next].push(index));
        }
    }
    let mut queue: Vec<usize> = (0..function.blocks.len()).collect();
    let mut queued = vec![true; function.blocks.len()];
    while let Some(index) = queue.pop() {
        queued[index] = false;
        let mut live = after[index].clone();
        for (at, instr) in function.blocks[index].instrs.iter().enumerate().rev() {
            transfer(module, instr, promoted, variables, &mut live);
            before[index][at].clone_from(&live);
        }
        for &from in &predecessors[index] {
            let mut on_edge = live.clone();
            for instr in &function.blocks[index].instrs {
                let InstrKind::Phi { incoming, .. } = &instr.kind else { break };
                for (operand, source) in incoming {
                    if source.index() == from
                        && let Operand::Local(local) = operand
                    {
                        on_edge.insert(*local);
                    }
                }
            }
            if after[from].add(&on_edge) && !queued[from] {
                queued[from] = true;
                queue.push(from);
            }
        }
    }
    (before.into(), after.into())
}

/// From what matters after an instruction to what matters before it. What a phi takes matters at the end of the
/// block that it comes from.
fn transfer(
    module: &Module,
    instr: &Instr,
    promoted: &[bool],
    variables: &[Option<Local>],
    live: &mut Registers,
) {
    if let Some(result) = instr.result {
        live.remove(result);
    }
    match &instr.kind {
        InstrKind::Store { value, address: Operand::Local(local), .. }
            if promoted[local.index()] =>
        {
            live.remove(*local);
            if let Operand::Local(local) = value {
                live.insert(*local);
            }
        }
        InstrKind::Phi { .. } => {}
        InstrKind::Cast { op: CastOp::BitCast, value: Operand::Local(local), .. }
            if variables[local.index()].is_some_and(|variable| promoted[variable.index()]) => {}
        kind if marked(module, kind, variables)
            .is_some_and(|variable| promoted[variable.index()]) =>
        {
            live.remove(marked(module, kind, variables).expect("it is about a variable"));
        }
        kind => {
            for_each_operand(kind, &mut |operand| {
                if let Operand::Local(local) = operand {
                    live.insert(*local);
                }
            });
            // A mark may be about a cast of the variable's address; it is the variable itself that begins or ends.
            if let Some(variable) = marked(module, kind, variables) {
                live.insert(variable);
            }
        }
    }
}

/// The blocks that control can go to from a terminator.
fn for_each_successor(kind: &InstrKind, mut each: impl FnMut(usize)) {
    match kind {
        InstrKind::Jump { to } => each(to.index()),
        InstrKind::Branch { yes, no, .. } => {
            each(yes.index());
            each(no.index());
        }
        InstrKind::Switch { default, cases, .. } => {
            each(default.index());
            cases.iter().for_each(|(_, to)| each(to.index()));
        }
        InstrKind::IndirectBranch { targets, .. } => targets.iter().for_each(|to| each(to.index())),
        InstrKind::Invoke { normal, unwind, .. } => {
            each(normal.index());
            each(unwind.index());
        }
        _ => {}
    }
}

/// Shows every operand of an instruction.
fn for_each_operand(kind: &InstrKind, each: &mut impl FnMut(&Operand)) {
    match kind {
        InstrKind::Binary { left, right, .. }
        | InstrKind::Compare { left, right, .. }
        | InstrKind::FloatCompare { left, right, .. } => {
            each(left);
            each(right);
        }
        InstrKind::FloatNegate { value, .. }
        | InstrKind::Freeze { value, .. }
        | InstrKind::Cast { value, .. }
        | InstrKind::ExtractValue { value, .. }
        | InstrKind::Switch { value, .. }
        | InstrKind::Resume { value, .. } => each(value),
        InstrKind::Select { condition, yes, no, .. } => {
            each(condition);
            each(yes);
            each(no);
        }
        InstrKind::Phi { incoming, .. } => incoming.iter().for_each(|(operand, _)| each(operand)),
        InstrKind::Alloca { count, .. } => count.iter().for_each(|(_, operand)| each(operand)),
        InstrKind::Load { address, .. } | InstrKind::IndirectBranch { address, .. } => {
            each(address)
        }
        InstrKind::Store { value, address, .. }
        | InstrKind::ReadModifyWrite { value, address, .. } => {
            each(value);
            each(address);
        }
        InstrKind::CompareExchange { address, expected, new, .. } => {
            each(address);
            each(expected);
            each(new);
        }
        InstrKind::GetElementPtr { base, indices, .. } => {
            each(base);
            indices.iter().for_each(|(_, operand)| each(operand));
        }
        InstrKind::Call(call) | InstrKind::Invoke { call, .. } => {
            if let Callee::Pointer(operand) = &call.callee {
                each(operand);
            }
            call.args.iter().for_each(|arg| each(&arg.value));
        }
        InstrKind::InsertValue { value, element, .. } => {
            each(value);
            each(element);
        }
        InstrKind::VaArg { list, .. } => each(list),
        InstrKind::ExtractElement { vector, index, .. } => {
            each(vector);
            each(index);
        }
        InstrKind::InsertElement { vector, element, index, .. } => {
            each(vector);
            each(element);
            each(index);
        }
        InstrKind::ShuffleVector { left, right, mask, .. } => {
            each(left);
            each(right);
            each(mask);
        }
        InstrKind::Return { value } => value.iter().for_each(|(_, operand)| each(operand)),
        InstrKind::Branch { condition, .. } => each(condition),
        InstrKind::Fence { .. }
        | InstrKind::LandingPad { .. }
        | InstrKind::Jump { .. }
        | InstrKind::Unreachable
        | InstrKind::Unsupported { .. } => {}
    }
}
