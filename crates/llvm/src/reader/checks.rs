//! Checks of types: what a machine may rely on without looking again.

use super::{Fault, Parsed, Parser};
use crate::constant::{ConstId, ConstantKind};
use crate::instruction::{BinaryOp, CastOp};
use crate::types::{Ty, Type};

impl<'a> Parser<'a> {
    /// The type, or that of its elements if it is a vector.
    pub(super) fn scalar(&self, ty: Ty) -> &Type {
        match self.types.get(ty) {
            Type::Vector { of, .. } => self.types.get(*of),
            other => other,
        }
    }

    pub(super) fn refuse_type<T>(&self, what: &str, ty: Ty, at: usize) -> Parsed<T> {
        Err(Fault {
            at,
            message: format!("expected {what}, found the type `{}`", self.types.show(ty)),
        })
    }

    pub(super) fn expect_integer(&self, ty: Ty, at: usize) -> Parsed<()> {
        match self.scalar(ty) {
            Type::Int(_) => Ok(()),
            _ => self.refuse_type("an integer", ty, at),
        }
    }

    pub(super) fn expect_scalar_integer(&self, ty: Ty, at: usize) -> Parsed<()> {
        match self.types.get(ty) {
            Type::Int(_) => Ok(()),
            _ => self.refuse_type("an integer", ty, at),
        }
    }

    pub(super) fn expect_float(&self, ty: Ty, at: usize) -> Parsed<()> {
        match self.scalar(ty) {
            Type::Float(_) => Ok(()),
            _ => self.refuse_type("a floating-point number", ty, at),
        }
    }

    pub(super) fn expect_comparable(&self, ty: Ty, at: usize) -> Parsed<()> {
        match self.scalar(ty) {
            Type::Int(_) | Type::Ptr(_) => Ok(()),
            _ => self.refuse_type("an integer or a pointer", ty, at),
        }
    }

    /// A pointer, or a vector of pointers.
    pub(super) fn expect_address(&self, ty: Ty, at: usize) -> Parsed<()> {
        match self.scalar(ty) {
            Type::Ptr(_) => Ok(()),
            _ => self.refuse_type("a pointer", ty, at),
        }
    }

    pub(super) fn expect_pointer(&self, ty: Ty, at: usize) -> Parsed<()> {
        match self.types.get(ty) {
            Type::Ptr(_) => Ok(()),
            _ => self.refuse_type("a pointer", ty, at),
        }
    }

    pub(super) fn expect_operands(&self, op: BinaryOp, ty: Ty, at: usize) -> Parsed<()> {
        use BinaryOp::{FAdd, FDiv, FMul, FRem, FSub};
        match op {
            FAdd | FSub | FMul | FDiv | FRem => self.expect_float(ty, at),
            _ => self.expect_integer(ty, at),
        }
    }

    /// The type of a comparison's result.
    pub(super) fn truth_type(&mut self, of: Ty) -> Ty {
        self.like(of, Type::Int(1))
    }

    /// The scalar type, in a vector of the same length if the other type is a vector.
    pub(super) fn like(&mut self, other: Ty, scalar: Type) -> Ty {
        let of = self.types.intern(scalar);
        match *self.types.get(other) {
            Type::Vector { count, scalable, .. } => {
                self.types.intern(Type::Vector { count, of, scalable })
            }
            _ => of,
        }
    }

    fn bits(&self, ty: Ty) -> Option<u64> {
        Some(match self.types.get(ty) {
            Type::Int(bits) => u64::from(*bits),
            Type::Float(float) => u64::from(float.bits()),
            Type::Vector { count, of, .. } => u64::from(*count) * self.bits(*of)?,
            _ => return None,
        })
    }

    pub(super) fn check_cast(&self, op: CastOp, from: Ty, to: Ty, at: usize) -> Parsed<()> {
        let shape = |ty: Ty| match *self.types.get(ty) {
            Type::Vector { count, scalable, .. } => Some((count, scalable)),
            _ => None,
        };
        let good = match (op, self.scalar(from), self.scalar(to)) {
            (CastOp::BitCast, Type::Foreign(_), _) | (CastOp::BitCast, _, Type::Foreign(_)) => true,
            (CastOp::BitCast, Type::Ptr(a), Type::Ptr(b)) => a == b && shape(from) == shape(to),
            (CastOp::BitCast, ..) => self.bits(from).is_some() && self.bits(from) == self.bits(to),
            _ if shape(from) != shape(to) => false,
            (CastOp::Trunc, Type::Int(from), Type::Int(to)) => from > to,
            (CastOp::ZExt | CastOp::SExt, Type::Int(from), Type::Int(to)) => from < to,
            (CastOp::FpTrunc | CastOp::FpExt, Type::Float(_), Type::Float(_))
            | (CastOp::FpToUi | CastOp::FpToSi, Type::Float(_), Type::Int(_))
            | (CastOp::UiToFp | CastOp::SiToFp, Type::Int(_), Type::Float(_))
            | (CastOp::PtrToInt | CastOp::PtrToAddr, Type::Ptr(_), Type::Int(_))
            | (CastOp::IntToPtr, Type::Int(_), Type::Ptr(_))
            | (CastOp::AddrSpaceCast, Type::Ptr(_), Type::Ptr(_)) => true,
            _ => false,
        };
        if good {
            return Ok(());
        }
        let (from, to) = (self.types.show(from), self.types.show(to));
        Err(Fault { at, message: format!("there is no such conversion from `{from}` to `{to}`") })
    }

    /// Indices lead through a type: those into structs are constants and name a field. The first one counts whole
    /// objects.
    pub(super) fn check_path(
        &self,
        source: Ty,
        indices: impl Iterator<Item = Option<ConstId>>,
        at: usize,
    ) -> Parsed<()> {
        let mut ty = source;
        for index in indices.skip(1) {
            ty = match self.types.get(ty) {
                Type::Array(_, of) | Type::Vector { of, .. } => *of,
                Type::Struct { fields, .. } => {
                    let field = index.and_then(|index| self.small(index));
                    match field.and_then(|field| fields.get(field)) {
                        Some(&field) => field,
                        None => return self.refuse_type("a field of a struct", ty, at),
                    }
                }
                _ => return self.refuse_type("an array or a struct", ty, at),
            };
        }
        Ok(())
    }

    /// The value of a constant that is an index, also of a vector whose elements are all the same.
    fn small(&self, constant: ConstId) -> Option<usize> {
        match &self.constants[constant.index()].kind {
            ConstantKind::Int(value) => usize::try_from(*value).ok(),
            ConstantKind::Zero => Some(0),
            ConstantKind::Splat(element) => self.small(*element),
            ConstantKind::Vector(elements) => {
                let first = elements.first()?;
                elements.iter().all(|it| it == first).then(|| self.small(*first))?
            }
            _ => None,
        }
    }

    /// The type of an address computed from a base and indices: a vector if one of them is.
    pub(super) fn gep_type(&mut self, base: Ty, indices: Vec<Ty>) -> Ty {
        if !matches!(self.types.get(base), Type::Ptr(_)) {
            return base;
        }
        let pointer = self.types.get(base).clone();
        let vector =
            indices.into_iter().find(|&ty| matches!(self.types.get(ty), Type::Vector { .. }));
        match vector {
            Some(vector) => self.like(vector, pointer),
            None => base,
        }
    }
}
