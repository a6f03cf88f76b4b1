//! Instructions that touch memory or compute addresses.

use super::lexer::Token;
use super::{Parsed, Parser};
use crate::instruction::{Access, InstrKind, Operand, Ordering, RmwOp, SyncScope};
use crate::types::{Ty, Type};

fn ordering(word: &str) -> Option<Ordering> {
    Some(match word {
        "unordered" => Ordering::Unordered,
        "monotonic" => Ordering::Monotonic,
        "acquire" => Ordering::Acquire,
        "release" => Ordering::Release,
        "acq_rel" => Ordering::AcqRel,
        "seq_cst" => Ordering::SeqCst,
        _ => return None,
    })
}

fn rmw_op(word: &str) -> Option<RmwOp> {
    Some(match word {
        "xchg" => RmwOp::Xchg,
        "add" => RmwOp::Add,
        "sub" => RmwOp::Sub,
        "and" => RmwOp::And,
        "nand" => RmwOp::Nand,
        "or" => RmwOp::Or,
        "xor" => RmwOp::Xor,
        "max" => RmwOp::Max,
        "min" => RmwOp::Min,
        "umax" => RmwOp::UMax,
        "umin" => RmwOp::UMin,
        "fadd" => RmwOp::FAdd,
        "fsub" => RmwOp::FSub,
        "fmax" => RmwOp::FMax,
        "fmin" => RmwOp::FMin,
        "fmaximum" => RmwOp::FMaximum,
        "fminimum" => RmwOp::FMinimum,
        "uinc_wrap" => RmwOp::UIncWrap,
        "udec_wrap" => RmwOp::UDecWrap,
        "usub_cond" => RmwOp::USubCond,
        "usub_sat" => RmwOp::USubSat,
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    fn ordering(&mut self) -> Parsed<Ordering> {
        match self.token {
            Token::Word(word) if ordering(word).is_some() => {
                self.advance()?;
                Ok(ordering(word).unwrap_or(Ordering::SeqCst))
            }
            _ => self.expected("a memory order"),
        }
    }

    /// `syncscope("singlethread")`
    fn scope(&mut self) -> Parsed<SyncScope> {
        if !self.eat_word("syncscope")? {
            return Ok(SyncScope::System);
        }
        self.need(b'(')?;
        let name = self.string("a scope")?;
        self.need(b')')?;
        Ok(match name {
            "singlethread" => SyncScope::SingleThread,
            "" => SyncScope::System,
            _ => SyncScope::Target(super::globals::text(name)),
        })
    }

    /// `, align 8` if it comes next.
    fn trailing_alignment(&mut self) -> Parsed<Option<u64>> {
        if self.is(b',') && self.second() == Token::Word("align") {
            self.advance()?;
            return self.alignment();
        }
        Ok(None)
    }

    /// `ptr %p`
    fn address(&mut self) -> Parsed<Operand> {
        let at = self.at;
        let (ty, address) = self.typed_operand()?;
        self.expect_pointer(ty, at)?;
        Ok(address)
    }

    /// What follows the address of a load or store.
    fn access(&mut self, atomic: bool, volatile: bool) -> Parsed<Access> {
        let (scope, ordering) = match atomic {
            true => (self.scope()?, Some(self.ordering()?)),
            false => (SyncScope::System, None),
        };
        Ok(Access { volatile, ordering, scope, align: self.trailing_alignment()? })
    }

    /// Values of the type can be in memory.
    fn storable(&self, ty: Ty) -> Parsed<()> {
        match self.types.get(ty) {
            Type::Void | Type::Function { .. } | Type::Label | Type::Metadata | Type::Token => {
                self.fault(format!("no value of type `{}` is in memory", self.types.show(ty)))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn alloca(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        while self.eat_word("inalloca")? || self.eat_word("swifterror")? {}
        let ty = self.ty()?;
        self.storable(ty)?;
        let mut count = None;
        let mut align = None;
        let mut space = 0;
        while self.is(b',') && !matches!(self.second(), Token::MetaName(_)) {
            self.advance()?;
            match self.token {
                Token::Word("align") => align = self.alignment()?,
                Token::Word("addrspace") => space = self.address_space()?,
                _ => {
                    let at = self.at;
                    let (ty, number) = self.typed_operand()?;
                    self.expect_scalar_integer(ty, at)?;
                    count = Some((ty, number));
                }
            }
        }
        let pointer = self.types.intern(Type::Ptr(space));
        Ok((InstrKind::Alloca { ty, count, align }, Some(pointer)))
    }

    pub(super) fn load(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let atomic = self.eat_word("atomic")?;
        let volatile = self.eat_word("volatile")?;
        let ty = self.ty()?;
        self.storable(ty)?;
        self.need(b',')?;
        let address = self.address()?;
        let access = self.access(atomic, volatile)?;
        Ok((InstrKind::Load { ty, address, access }, Some(ty)))
    }

    pub(super) fn store(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let atomic = self.eat_word("atomic")?;
        let volatile = self.eat_word("volatile")?;
        let (ty, value) = self.typed_operand()?;
        self.storable(ty)?;
        self.need(b',')?;
        let address = self.address()?;
        let access = self.access(atomic, volatile)?;
        Ok((InstrKind::Store { ty, value, address, access }, None))
    }

    pub(super) fn compare_exchange(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let weak = self.eat_word("weak")?;
        let volatile = self.eat_word("volatile")?;
        let address = self.address()?;
        self.need(b',')?;
        let at = self.at;
        let (ty, expected) = self.typed_operand()?;
        match self.types.get(ty) {
            Type::Ptr(_) => {}
            _ => self.expect_scalar_integer(ty, at)?,
        }
        self.need(b',')?;
        let new_ty = self.ty()?;
        if new_ty != ty {
            return self.fault("`cmpxchg` with values of different types");
        }
        let new = self.operand(ty)?;
        let scope = self.scope()?;
        let success = self.ordering()?;
        let failure = self.ordering()?;
        let align = self.trailing_alignment()?;
        let truth = self.int_type(1);
        let fields = Box::new([ty, truth]);
        let result = self.types.intern(Type::Struct { packed: false, fields });
        let kind = InstrKind::CompareExchange {
            ty,
            address,
            expected,
            new,
            weak,
            volatile,
            success,
            failure,
            scope,
            align,
        };
        Ok((kind, Some(result)))
    }

    pub(super) fn read_modify_write(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let volatile = self.eat_word("volatile")?;
        let op = match self.token {
            Token::Word(word) => rmw_op(word),
            _ => None,
        };
        let Some(op) = op else { return self.expected("what `atomicrmw` does") };
        self.advance()?;
        let address = self.address()?;
        self.need(b',')?;
        let at = self.at;
        let (ty, value) = self.typed_operand()?;
        use RmwOp::{FAdd, FMax, FMaximum, FMin, FMinimum, FSub, Xchg};
        match op {
            FAdd | FSub | FMax | FMin | FMaximum | FMinimum => self.expect_float(ty, at)?,
            Xchg if matches!(self.types.get(ty), Type::Ptr(_) | Type::Float(_)) => {}
            _ => self.expect_scalar_integer(ty, at)?,
        }
        let scope = self.scope()?;
        let ordering = self.ordering()?;
        let align = self.trailing_alignment()?;
        let kind =
            InstrKind::ReadModifyWrite { op, ty, address, value, volatile, ordering, scope, align };
        Ok((kind, Some(ty)))
    }

    pub(super) fn fence(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let scope = self.scope()?;
        let ordering = self.ordering()?;
        Ok((InstrKind::Fence { ordering, scope }, None))
    }

    pub(super) fn va_arg(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let list = self.address()?;
        self.need(b',')?;
        let ty = self.ty()?;
        self.storable(ty)?;
        Ok((InstrKind::VaArg { ty, list }, Some(ty)))
    }

    /// `inbounds`, `nuw`, `inrange(…)` and the like: whether the result stays in its object.
    pub(super) fn gep_flags(&mut self) -> Parsed<bool> {
        let mut inbounds = false;
        while let Token::Word(word @ ("inbounds" | "nusw" | "nuw" | "inrange")) = self.token {
            self.advance()?;
            inbounds |= word == "inbounds";
            if word == "inrange" {
                self.skip_balanced()?;
            }
        }
        Ok(inbounds)
    }

    pub(super) fn get_element_ptr(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let inbounds = self.gep_flags()?;
        let source = self.ty()?;
        self.need(b',')?;
        let at = self.at;
        let (base_ty, base) = self.typed_operand()?;
        self.expect_address(base_ty, at)?;
        let mut indices = Vec::new();
        while self.is(b',') && !matches!(self.second(), Token::MetaName(_)) {
            self.advance()?;
            self.eat_word("inrange")?;
            let at = self.at;
            let (ty, index) = self.typed_operand()?;
            self.expect_integer(ty, at)?;
            indices.push((ty, index));
        }
        let constants = indices.iter().map(|(_, index)| match index {
            Operand::Const(constant) => Some(*constant),
            _ => None,
        });
        self.check_path(source, constants, at)?;
        let result = self.gep_type(base_ty, indices.iter().map(|index| index.0).collect());
        let indices = indices.into();
        Ok((InstrKind::GetElementPtr { inbounds, source, base_ty, base, indices }, Some(result)))
    }
}
