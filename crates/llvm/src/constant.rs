//! Constants of a module, each stored once and named by a small index.
//!
//! Operands of instructions and initial values of globals refer to constants by [`ConstId`], so an operand is eight
//! bytes and a machine can evaluate each constant once. Aliases are gone by the time a module is read: a reference to an
//! alias is a reference to what it stands for.

use crate::instruction::{BinaryFlags, BinaryOp, CastOp, FloatPredicate, IntPredicate};
use crate::module::{BlockId, FunctionId, GlobalId, IFuncId};
use crate::types::Ty;

/// A constant of a module: an index into [`Module::constants`](crate::Module::constants).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConstId(pub(crate) u32);

impl ConstId {
    /// The index as a number, dense from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A constant and its type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Constant {
    /// Its type.
    pub ty: Ty,
    /// What it is.
    pub kind: ConstantKind,
}

/// What a constant is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConstantKind {
    /// An integer of at most 128 bits, as the unsigned number with these bits; bits above the type's width are 0.
    Int(u128),
    /// A floating-point number by its bits, in the format of its type.
    Float(u128),
    /// The null pointer.
    Null,
    /// Any value, chosen anew at each use.
    Undef,
    /// The result of an operation without a meaning.
    Poison,
    /// `zeroinitializer`: all bytes are 0.
    Zero,
    /// The token `none`.
    None,
    /// The elements of an array.
    Array(Box<[ConstId]>),
    /// An array of bytes, written as `c"…"`.
    Bytes(Box<[u8]>),
    /// The elements of a vector.
    Vector(Box<[ConstId]>),
    /// A vector whose elements are all this one.
    Splat(ConstId),
    /// The fields of a struct.
    Struct(Box<[ConstId]>),
    /// The address of a global variable.
    Global(GlobalId),
    /// The address of a function.
    Function(FunctionId),
    /// The address that a resolver function returns when the program is loaded.
    IFunc(IFuncId),
    /// The address of a block.
    BlockAddress(FunctionId, BlockId),
    /// An address computed from a base.
    GetElementPtr {
        /// The result is poison outside the base's object.
        inbounds: bool,
        /// The type whose layout the indices walk through.
        source: Ty,
        /// The address they start from.
        base: ConstId,
        /// The indices, constants of integer (or vector) types.
        indices: Box<[ConstId]>,
    },
    /// A conversion to the constant's type.
    Cast(CastOp, ConstId),
    /// A binary operation.
    Binary(BinaryOp, BinaryFlags, ConstId, ConstId),
    /// The negation of a floating-point number.
    FloatNegate(ConstId),
    /// A comparison of integers or pointers.
    Compare(IntPredicate, ConstId, ConstId),
    /// A comparison of floating-point numbers.
    FloatCompare(FloatPredicate, ConstId, ConstId),
    /// The second if the first is true, else the third.
    Select(ConstId, ConstId, ConstId),
    /// Anything else, by its name in LLVM (`ptrauth`, an integer of 256 bits): an error where it is evaluated.
    Unsupported(Box<str>),
}

impl ConstantKind {
    /// The constants that it is made of.
    pub fn parts(&self) -> Vec<ConstId> {
        use ConstantKind as Kind;
        match self {
            Kind::Array(parts) | Kind::Vector(parts) | Kind::Struct(parts) => parts.to_vec(),
            Kind::GetElementPtr { base, indices, .. } => {
                std::iter::once(*base).chain(indices.iter().copied()).collect()
            }
            Kind::Splat(part) | Kind::Cast(_, part) | Kind::FloatNegate(part) => vec![*part],
            Kind::Binary(_, _, left, right)
            | Kind::Compare(_, left, right)
            | Kind::FloatCompare(_, left, right) => vec![*left, *right],
            Kind::Select(condition, yes, no) => vec![*condition, *yes, *no],
            Kind::Int(_)
            | Kind::Float(_)
            | Kind::Null
            | Kind::Undef
            | Kind::Poison
            | Kind::Zero
            | Kind::None
            | Kind::Bytes(_)
            | Kind::Global(_)
            | Kind::Function(_)
            | Kind::IFunc(_)
            | Kind::BlockAddress(..)
            | Kind::Unsupported(_) => Vec::new(),
        }
    }
}
