//! Instructions, with all names resolved to indices.
//!
//! A block is a list of instructions of which exactly the last is a terminator ([`InstrKind::is_terminator`]). Each
//! instruction carries the types that executing it needs, so that no one has to look up the types of operands. Calls of
//! `llvm.dbg.*` and `#dbg_…` records are no instructions: they become the variables of a function
//! ([`Function::variables`](crate::Function::variables)).

pub use crate::operation::{BinaryFlags, BinaryOp, CastOp, FloatPredicate, IntPredicate, RmwOp};

use crate::constant::ConstId;
use crate::debug::PlaceId;
use crate::module::{BlockId, FunctionId};
use crate::types::Ty;

/// A register of a function: parameters first, then results of instructions, dense from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Local(pub(crate) u32);

impl Local {
    /// The index as a number, dense from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The register with this index.
    pub fn new(index: usize) -> Local {
        Local(index as u32)
    }
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// The value of a register.
    Local(Local),
    /// A constant.
    Const(ConstId),
    /// An argument of an intrinsic that is metadata, no value.
    Metadata,
}

/// An instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Instr {
    /// The register that it defines.
    pub result: Option<Local>,
    /// What it does.
    pub kind: InstrKind,
    /// Its place in the source (`!dbg`).
    pub at: Option<PlaceId>,
    /// Its line in the file of IR, counted from 1.
    pub line: u32,
}

/// The order of an atomic access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ordering {
    /// `unordered`: Java's ordinary accesses.
    Unordered,
    /// `monotonic`: relaxed in C.
    Monotonic,
    /// `acquire`.
    Acquire,
    /// `release`.
    Release,
    /// `acq_rel`.
    AcqRel,
    /// `seq_cst`.
    SeqCst,
}

/// Which threads an atomic access synchronises with.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum SyncScope {
    /// All of the system.
    #[default]
    System,
    /// Signal handlers of the same thread (`atomic_signal_fence`).
    SingleThread,
    /// A name that only some targets know.
    Target(Box<str>),
}

/// How a load or a store accesses memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Access {
    /// May not be left out or doubled.
    pub volatile: bool,
    /// Its order, if it is atomic.
    pub ordering: Option<Ordering>,
    /// With whom it synchronises, if it is atomic.
    pub scope: SyncScope,
    /// The alignment in bytes that the address is promised to have; the type's own if absent.
    pub align: Option<u64>,
}

/// An argument of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct Arg {
    /// Its type.
    pub ty: Ty,
    /// Its value.
    pub value: Operand,
    /// A pointer to a value of this type, which the callee gets a copy of.
    pub byval: Option<Ty>,
    /// A pointer to where the result of this type goes.
    pub sret: Option<Ty>,
}

/// Assembly in place of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InlineAsm {
    /// The instructions, with `$0`, `$1` for operands.
    pub template: Box<str>,
    /// Operands and clobbers: `=r,r,~{memory}`.
    pub constraints: Box<str>,
    /// May not be left out (`volatile` in C).
    pub side_effects: bool,
}

/// What is called.
#[derive(Clone, PartialEq, Debug)]
pub enum Callee {
    /// A function of the module, possibly declared only, possibly an intrinsic.
    Function(FunctionId),
    /// The function that a pointer points to.
    Pointer(Operand),
    /// Assembly.
    Asm(Box<InlineAsm>),
}

/// A call.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// The type of the result, `void` if none.
    pub ret: Ty,
    /// The arguments.
    pub args: Box<[Arg]>,
    /// Written with the type of a function that takes more arguments than parameters.
    pub varargs: bool,
}

/// What catches an exception at a landing pad.
#[derive(Clone, PartialEq, Debug)]
pub enum Clause {
    /// Exceptions of one type, given by its type information.
    Catch(Operand),
    /// Exceptions of none of these types.
    Filter(Operand),
}

/// What an instruction does.
#[derive(Clone, PartialEq, Debug)]
pub enum InstrKind {
    /// An operation on two values of type `ty`.
    Binary {
        /// The operation.
        op: BinaryOp,
        /// What it promises.
        flags: BinaryFlags,
        /// The type of operands and result.
        ty: Ty,
        /// The left operand.
        left: Operand,
        /// The right operand.
        right: Operand,
    },
    /// `fneg`.
    FloatNegate {
        /// The type of operand and result.
        ty: Ty,
        /// The operand.
        value: Operand,
    },
    /// `icmp`: the result is `i1`, or a vector of them.
    Compare {
        /// The comparison.
        predicate: IntPredicate,
        /// What it promises.
        flags: BinaryFlags,
        /// The type of the operands.
        ty: Ty,
        /// The left operand.
        left: Operand,
        /// The right operand.
        right: Operand,
    },
    /// `fcmp`: the result is `i1`, or a vector of them.
    FloatCompare {
        /// The comparison.
        predicate: FloatPredicate,
        /// The type of the operands.
        ty: Ty,
        /// The left operand.
        left: Operand,
        /// The right operand.
        right: Operand,
    },
    /// `select`.
    Select {
        /// The type of the condition: `i1` or a vector of them.
        condition_ty: Ty,
        /// The condition.
        condition: Operand,
        /// The type of both values and the result.
        ty: Ty,
        /// The result if the condition is true.
        yes: Operand,
        /// The result if it is false.
        no: Operand,
    },
    /// `freeze`: an arbitrary but fixed value in place of undef and poison.
    Freeze {
        /// The type of operand and result.
        ty: Ty,
        /// The operand.
        value: Operand,
    },
    /// `phi`: the value that belongs to the block control came from. Phis come first in their block.
    Phi {
        /// The type of the values.
        ty: Ty,
        /// A value for each predecessor.
        incoming: Box<[(Operand, BlockId)]>,
    },
    /// `alloca`: memory until the function returns.
    Alloca {
        /// The type of an element.
        ty: Ty,
        /// The number of elements and its type; one if absent.
        count: Option<(Ty, Operand)>,
        /// The alignment in bytes.
        align: Option<u64>,
    },
    /// `load`.
    Load {
        /// The type of the value.
        ty: Ty,
        /// The address.
        address: Operand,
        /// How memory is accessed.
        access: Access,
    },
    /// `store`.
    Store {
        /// The type of the value.
        ty: Ty,
        /// The value.
        value: Operand,
        /// The address.
        address: Operand,
        /// How memory is accessed.
        access: Access,
    },
    /// `cmpxchg`: the result is `{ ty, i1 }`, the old value and whether it was as expected.
    CompareExchange {
        /// The type of the values.
        ty: Ty,
        /// The address.
        address: Operand,
        /// The value that is compared with.
        expected: Operand,
        /// The value that is stored if they are equal.
        new: Operand,
        /// May fail although they are equal.
        weak: bool,
        /// May not be left out or doubled.
        volatile: bool,
        /// The order if it succeeds.
        success: Ordering,
        /// The order if it fails.
        failure: Ordering,
        /// With whom it synchronises.
        scope: SyncScope,
        /// The alignment in bytes that the address is promised to have.
        align: Option<u64>,
    },
    /// `atomicrmw`: the result is the old value.
    ReadModifyWrite {
        /// What is done.
        op: RmwOp,
        /// The type of the values.
        ty: Ty,
        /// The address.
        address: Operand,
        /// The operand.
        value: Operand,
        /// May not be left out or doubled.
        volatile: bool,
        /// Its order.
        ordering: Ordering,
        /// With whom it synchronises.
        scope: SyncScope,
        /// The alignment in bytes that the address is promised to have.
        align: Option<u64>,
    },
    /// `fence`.
    Fence {
        /// Its order.
        ordering: Ordering,
        /// With whom it synchronises.
        scope: SyncScope,
    },
    /// `getelementptr`.
    GetElementPtr {
        /// The result is poison outside the base's object.
        inbounds: bool,
        /// The type whose layout the indices walk through.
        source: Ty,
        /// The type of the base: a pointer or a vector of pointers.
        base_ty: Ty,
        /// The address they start from.
        base: Operand,
        /// The indices and their types.
        indices: Box<[(Ty, Operand)]>,
    },
    /// A conversion.
    Cast {
        /// Which.
        op: CastOp,
        /// What it promises.
        flags: BinaryFlags,
        /// The type of the operand.
        from: Ty,
        /// The operand.
        value: Operand,
        /// The type of the result.
        to: Ty,
    },
    /// `call`.
    Call(Box<Call>),
    /// `extractvalue`.
    ExtractValue {
        /// The type of the struct or array.
        ty: Ty,
        /// The struct or array.
        value: Operand,
        /// Which element of which element.
        path: Box<[u32]>,
        /// The type of the result.
        element_ty: Ty,
    },
    /// `insertvalue`.
    InsertValue {
        /// The type of the struct or array.
        ty: Ty,
        /// The struct or array.
        value: Operand,
        /// The type of the new element.
        element_ty: Ty,
        /// The new element.
        element: Operand,
        /// Which element of which element.
        path: Box<[u32]>,
    },
    /// `va_arg`.
    VaArg {
        /// The type of the argument.
        ty: Ty,
        /// The address of the list.
        list: Operand,
    },
    /// `extractelement`.
    ExtractElement {
        /// The type of the vector.
        ty: Ty,
        /// The vector.
        vector: Operand,
        /// The type of the index.
        index_ty: Ty,
        /// Which element.
        index: Operand,
    },
    /// `insertelement`.
    InsertElement {
        /// The type of the vector.
        ty: Ty,
        /// The vector.
        vector: Operand,
        /// The new element.
        element: Operand,
        /// The type of the index.
        index_ty: Ty,
        /// Which element.
        index: Operand,
    },
    /// `shufflevector`.
    ShuffleVector {
        /// The type of both vectors.
        ty: Ty,
        /// The first vector.
        left: Operand,
        /// The second vector.
        right: Operand,
        /// The type of the mask.
        mask_ty: Ty,
        /// Which element of both goes where.
        mask: Operand,
    },
    /// `landingpad`: where an exception is caught.
    LandingPad {
        /// The type of the result.
        ty: Ty,
        /// Entered for every exception.
        cleanup: bool,
        /// Entered for these.
        clauses: Box<[Clause]>,
    },
    /// `ret`.
    Return {
        /// The result and its type.
        value: Option<(Ty, Operand)>,
    },
    /// `br label`.
    Jump {
        /// Where control goes.
        to: BlockId,
    },
    /// `br i1`.
    Branch {
        /// The condition.
        condition: Operand,
        /// Where control goes if it is true.
        yes: BlockId,
        /// Where it goes if it is false.
        no: BlockId,
    },
    /// `switch`.
    Switch {
        /// The type of the value.
        ty: Ty,
        /// The value.
        value: Operand,
        /// Where control goes for a value that is not listed.
        default: BlockId,
        /// Values and where control goes for them.
        cases: Box<[(ConstId, BlockId)]>,
    },
    /// `indirectbr`: a jump to a block's address.
    IndirectBranch {
        /// The address.
        address: Operand,
        /// The blocks it may be the address of.
        targets: Box<[BlockId]>,
    },
    /// `invoke`: a call that may throw.
    Invoke {
        /// The call.
        call: Box<Call>,
        /// Where control goes when it returns.
        normal: BlockId,
        /// Where it goes when it throws.
        unwind: BlockId,
    },
    /// `resume`: goes on throwing.
    Resume {
        /// The type of the exception.
        ty: Ty,
        /// The exception.
        value: Operand,
    },
    /// `unreachable`: undefined if it is reached.
    Unreachable,
    /// An instruction that is read but has no meaning here (`callbr`, exceptions as Windows has them), by its name in
    /// LLVM: an error where it is executed.
    Unsupported {
        /// Its name.
        name: &'static str,
        /// The last of its block.
        terminator: bool,
    },
}

impl InstrKind {
    /// Ends a block.
    pub fn is_terminator(&self) -> bool {
        match self {
            InstrKind::Return { .. }
            | InstrKind::Jump { .. }
            | InstrKind::Branch { .. }
            | InstrKind::Switch { .. }
            | InstrKind::IndirectBranch { .. }
            | InstrKind::Invoke { .. }
            | InstrKind::Resume { .. }
            | InstrKind::Unreachable => true,
            InstrKind::Unsupported { terminator, .. } => *terminator,
            _ => false,
        }
    }

    /// Visits the blocks that control may go to; none for what does not end a block.
    pub fn successors(&self, mut visit: impl FnMut(BlockId)) {
        match self {
            InstrKind::Jump { to } => visit(*to),
            InstrKind::Branch { yes, no, .. } => [*yes, *no].into_iter().for_each(visit),
            InstrKind::Switch { default, cases, .. } => {
                visit(*default);
                cases.iter().for_each(|case| visit(case.1));
            }
            InstrKind::IndirectBranch { targets, .. } => targets.iter().copied().for_each(visit),
            InstrKind::Invoke { normal, unwind, .. } => {
                [*normal, *unwind].into_iter().for_each(visit);
            }
            _ => {}
        }
    }

    /// Renames the blocks that it mentions.
    pub(crate) fn rename_blocks(&mut self, rename: impl Fn(BlockId) -> BlockId) {
        let set = |block: &mut BlockId| *block = rename(*block);
        match self {
            InstrKind::Phi { incoming, .. } => incoming.iter_mut().for_each(|it| set(&mut it.1)),
            InstrKind::Jump { to } => set(to),
            InstrKind::Branch { yes, no, .. } => [yes, no].into_iter().for_each(set),
            InstrKind::Switch { default, cases, .. } => {
                set(default);
                cases.iter_mut().for_each(|it| set(&mut it.1));
            }
            InstrKind::IndirectBranch { targets, .. } => targets.iter_mut().for_each(set),
            InstrKind::Invoke { normal, unwind, .. } => [normal, unwind].into_iter().for_each(set),
            _ => {}
        }
    }
}
