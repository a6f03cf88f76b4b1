//! Addresses as the source would write them: `q->tail` for the address that an instruction computes.
//!
//! Without optimisation, compilers translate `q->tail` into a load of the variable `q` and an offset. Going back from an
//! address over offsets and loads ends at a variable whose name and type the debug information has. Offsets that are
//! computed at run time (`buf[i]`) are not followed.
//!
//! A block on the heap has no type of its own. What the program stores its address in has one: [`Module::allocated`]
//! finds the variable or field that first gets the result of an allocation, and with it the block's type.

use crate::constant::{ConstId, ConstantKind};
use crate::debug::{Debug, DebugTy};
use crate::instruction::{CastOp, InstrKind, Local, Operand};
use crate::module::{Function, FunctionId, Holds, Module};
use crate::types::{Ty, Type};

/// How many loads and offsets are followed back.
const DEPTH: usize = 16;

/// A variable or a part of one.
#[derive(Clone, PartialEq, Debug)]
pub struct Lvalue {
    /// As the source would write it.
    pub text: String,
    /// Its type in the source.
    pub ty: DebugTy,
}

impl Lvalue {
    /// What is at an offset from where this points to: `n->next`, `*n`, `n[2].key`. Absent if this is no pointer, or
    /// nothing is there.
    pub fn pointee(&self, debug: &Debug, offset: u64) -> Option<String> {
        let ty = debug.pointee(self.ty)?;
        let size = debug.size(ty);
        // An array without a length at the end of a struct goes on beyond the struct.
        if let Some(part) = debug.describe(ty, offset) {
            return Some(follow(&self.text, &part));
        }
        let index = offset.checked_div(size)?;
        let part = debug.describe(ty, offset % size)?;
        Some(format!("{}[{index}]{part}", self.text))
    }
}

/// The part of what a pointer points to.
fn follow(pointer: &str, part: &str) -> String {
    match part.strip_prefix('.') {
        Some(field) => format!("{pointer}->{field}"),
        None if part.is_empty() => format!("*{pointer}"),
        None => format!("{pointer}{part}"),
    }
}

/// An object and an offset in bytes within it.
struct Target {
    /// The object, or the pointer to it.
    text: String,
    through_pointer: bool,
    ty: DebugTy,
    offset: i64,
}

impl Module {
    /// What the source calls the memory at an address that a function uses.
    pub fn lvalue(&self, function: FunctionId, address: Operand) -> Option<Lvalue> {
        self.lvalue_at(self.function(function), address, 0)
    }

    /// The variable or field that first gets the result of an allocation: its type says what was allocated.
    pub fn allocated(&self, function: FunctionId, result: Local) -> Option<Lvalue> {
        let function = self.function(function);
        let instrs = || function.blocks.iter().flat_map(|block| &block.instrs);
        // Old versions convert the result to a pointer with an element type first.
        let mut names = vec![result];
        for instr in instrs() {
            match instr.kind {
                InstrKind::Cast { op: CastOp::BitCast, value: Operand::Local(value), .. }
                    if names.contains(&value) =>
                {
                    names.extend(instr.result);
                }
                InstrKind::Store { value: Operand::Local(value), address, .. }
                    if names.contains(&value) =>
                {
                    return self.lvalue_at(function, address, 0);
                }
                _ => {}
            }
        }
        None
    }

    fn lvalue_at(&self, function: &Function, address: Operand, depth: usize) -> Option<Lvalue> {
        let target = self.target(function, address, depth)?;
        let (part, ty) = self.debug.part(target.ty, target.offset.try_into().ok()?)?;
        let text = match target.through_pointer {
            true => follow(&target.text, &part),
            false => target.text + &part,
        };
        Some(Lvalue { text, ty })
    }

    fn target(&self, function: &Function, address: Operand, depth: usize) -> Option<Target> {
        if depth > DEPTH {
            return None;
        }
        let object =
            |text: &str, ty| Target { text: text.into(), through_pointer: false, ty, offset: 0 };
        let local = match address {
            Operand::Const(constant) => return self.constant_target(constant, depth),
            Operand::Local(local) => local,
            Operand::Metadata => return None,
        };
        let declared = function.variables.iter().find(|variable| {
            variable.storage == address
                && variable.holds == Holds::Address
                && variable.steps.is_empty()
        });
        if let Some(variable) = declared {
            return Some(object(&variable.name, variable.ty?));
        }
        let instrs = function.blocks.iter().flat_map(|block| &block.instrs);
        let definition = instrs.into_iter().find(|instr| instr.result == Some(local))?;
        match &definition.kind {
            InstrKind::Cast { op: CastOp::BitCast, value, .. } => {
                self.target(function, *value, depth + 1)
            }
            InstrKind::GetElementPtr { source, base, indices, .. } => {
                let indices = indices.iter().map(|index| match index.1 {
                    Operand::Const(constant) => self.index_value(constant),
                    _ => None,
                });
                let offset = self.offset(*source, indices)?;
                let base = self.target(function, *base, depth + 1)?;
                Some(Target { offset: base.offset.checked_add(offset)?, ..base })
            }
            InstrKind::Load { address, .. } => {
                let pointer = self.lvalue_at(function, *address, depth + 1)?;
                let ty = self.debug.pointee(pointer.ty)?;
                Some(Target { text: pointer.text, through_pointer: true, ty, offset: 0 })
            }
            _ => None,
        }
    }

    fn constant_target(&self, constant: ConstId, depth: usize) -> Option<Target> {
        if depth > DEPTH {
            return None;
        }
        match &self.constant(constant).kind {
            ConstantKind::Global(global) => {
                let debug = self.global(*global).debug.as_ref()?;
                let text = debug.name.to_string();
                Some(Target { text, through_pointer: false, ty: debug.ty?, offset: 0 })
            }
            ConstantKind::GetElementPtr { source, base, indices, .. } => {
                let offset =
                    self.offset(*source, indices.iter().map(|&it| self.index_value(it)))?;
                let base = self.constant_target(*base, depth + 1)?;
                Some(Target { offset: base.offset.checked_add(offset)?, ..base })
            }
            _ => None,
        }
    }

    /// The value of a constant index.
    fn index_value(&self, constant: ConstId) -> Option<i64> {
        let constant = self.constant(constant);
        match (self.ty(constant.ty), &constant.kind) {
            (Type::Int(bits @ 1..=64), ConstantKind::Int(value)) => {
                let unused = 64 - bits;
                Some(((*value as u64) << unused) as i64 >> unused)
            }
            _ => None,
        }
    }

    /// The offset in bytes that constant indices lead to.
    fn offset(&self, source: Ty, mut indices: impl Iterator<Item = Option<i64>>) -> Option<i64> {
        let scale = |ty: Ty, index: i64| i64::try_from(self.size_of(ty)?).ok()?.checked_mul(index);
        let mut ty = source;
        let mut offset = match indices.next() {
            Some(first) => scale(ty, first?)?,
            None => 0,
        };
        for index in indices {
            let index = index?;
            let (part, of) = match self.ty(ty) {
                Type::Struct { fields, .. } => {
                    let field = usize::try_from(index).ok()?;
                    let start = *self.type_layout(ty)?.offsets.get(field)?;
                    (i64::try_from(start).ok()?, *fields.get(field)?)
                }
                Type::Array(_, of) => (scale(*of, index)?, *of),
                _ => return None,
            };
            offset = offset.checked_add(part)?;
            ty = of;
        }
        Some(offset)
    }
}
