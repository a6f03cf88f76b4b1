//! Instructions that compute, and the checks of their operands' types.

use super::lexer::Token;
use super::{Fault, Parsed, Parser};
use crate::instruction::{
    BinaryFlags, BinaryOp, CastOp, FloatPredicate, InstrKind, IntPredicate, Operand,
};
use crate::module::BlockId;
use crate::types::{Ty, Type};

/// An operation by its name.
pub(super) fn binary_op(word: &str) -> Option<BinaryOp> {
    Some(match word {
        "add" => BinaryOp::Add,
        "sub" => BinaryOp::Sub,
        "mul" => BinaryOp::Mul,
        "udiv" => BinaryOp::UDiv,
        "sdiv" => BinaryOp::SDiv,
        "urem" => BinaryOp::URem,
        "srem" => BinaryOp::SRem,
        "shl" => BinaryOp::Shl,
        "lshr" => BinaryOp::LShr,
        "ashr" => BinaryOp::AShr,
        "and" => BinaryOp::And,
        "or" => BinaryOp::Or,
        "xor" => BinaryOp::Xor,
        "fadd" => BinaryOp::FAdd,
        "fsub" => BinaryOp::FSub,
        "fmul" => BinaryOp::FMul,
        "fdiv" => BinaryOp::FDiv,
        "frem" => BinaryOp::FRem,
        _ => return None,
    })
}

/// A conversion by its name.
pub(super) fn cast_op(word: &str) -> Option<CastOp> {
    Some(match word {
        "trunc" => CastOp::Trunc,
        "zext" => CastOp::ZExt,
        "sext" => CastOp::SExt,
        "fptrunc" => CastOp::FpTrunc,
        "fpext" => CastOp::FpExt,
        "fptoui" => CastOp::FpToUi,
        "fptosi" => CastOp::FpToSi,
        "uitofp" => CastOp::UiToFp,
        "sitofp" => CastOp::SiToFp,
        "ptrtoint" => CastOp::PtrToInt,
        "ptrtoaddr" => CastOp::PtrToAddr,
        "inttoptr" => CastOp::IntToPtr,
        "bitcast" => CastOp::BitCast,
        "addrspacecast" => CastOp::AddrSpaceCast,
        _ => return None,
    })
}

/// A comparison of integers by its name.
pub(super) fn int_predicate(word: &str) -> Option<IntPredicate> {
    Some(match word {
        "eq" => IntPredicate::Eq,
        "ne" => IntPredicate::Ne,
        "ugt" => IntPredicate::Ugt,
        "uge" => IntPredicate::Uge,
        "ult" => IntPredicate::Ult,
        "ule" => IntPredicate::Ule,
        "sgt" => IntPredicate::Sgt,
        "sge" => IntPredicate::Sge,
        "slt" => IntPredicate::Slt,
        "sle" => IntPredicate::Sle,
        _ => return None,
    })
}

/// A comparison of floating-point numbers by its name.
pub(super) fn float_predicate(word: &str) -> Option<FloatPredicate> {
    Some(match word {
        "false" => FloatPredicate::False,
        "oeq" => FloatPredicate::Oeq,
        "ogt" => FloatPredicate::Ogt,
        "oge" => FloatPredicate::Oge,
        "olt" => FloatPredicate::Olt,
        "ole" => FloatPredicate::Ole,
        "one" => FloatPredicate::One,
        "ord" => FloatPredicate::Ord,
        "ueq" => FloatPredicate::Ueq,
        "ugt" => FloatPredicate::Ugt,
        "uge" => FloatPredicate::Uge,
        "ult" => FloatPredicate::Ult,
        "ule" => FloatPredicate::Ule,
        "une" => FloatPredicate::Une,
        "uno" => FloatPredicate::Uno,
        "true" => FloatPredicate::True,
        _ => return None,
    })
}

/// What an instruction is, and the type of its result; absent for a debug intrinsic.
pub(super) type ParsedInstr = Option<(InstrKind, Option<Ty>)>;

impl<'a> Parser<'a> {
    pub(super) fn instruction_kind(&mut self, opcode: &'a str) -> Parsed<ParsedInstr> {
        if matches!(opcode, "call" | "tail" | "musttail" | "notail") {
            return self.call();
        }
        let at = self.at;
        self.advance()?;
        if let Some(op) = binary_op(opcode) {
            return self.binary(op).map(Some);
        }
        if let Some(op) = cast_op(opcode) {
            return self.cast(op).map(Some);
        }
        let parsed = match opcode {
            "icmp" | "fcmp" => self.compare(opcode == "icmp"),
            "select" => self.select(),
            "fneg" | "freeze" => self.unary(opcode == "fneg"),
            "phi" => self.phi(),
            "alloca" => self.alloca(),
            "load" => self.load(),
            "store" => self.store(),
            "cmpxchg" => self.compare_exchange(),
            "atomicrmw" => self.read_modify_write(),
            "fence" => self.fence(),
            "getelementptr" => self.get_element_ptr(),
            "extractvalue" => self.extract_value(),
            "insertvalue" => self.insert_value(),
            "va_arg" => self.va_arg(),
            "extractelement" => self.extract_element(),
            "insertelement" => self.insert_element(),
            "shufflevector" => self.shuffle_vector(),
            "ret" => self.ret(),
            "br" => self.br(),
            "switch" => self.switch(),
            "indirectbr" => self.indirect_branch(),
            "invoke" => self.invoke(),
            "callbr" => self.callbr(),
            "resume" => {
                let (ty, value) = self.typed_operand()?;
                Ok((InstrKind::Resume { ty, value }, None))
            }
            "unreachable" => Ok((InstrKind::Unreachable, None)),
            "landingpad" => self.landing_pad(),
            "catchswitch" => self.catch_switch(),
            "catchpad" | "cleanuppad" => self.pad(opcode == "catchpad"),
            "catchret" | "cleanupret" => self.pad_return(opcode == "catchret"),
            _ => {
                let message = format!("the instruction `{opcode}` is unknown");
                return Err(Fault { at, message });
            }
        };
        parsed.map(Some)
    }

    /// Promises of an operation, and the licences of floating-point arithmetic, which mean nothing here.
    pub(super) fn flags(&mut self) -> Parsed<BinaryFlags> {
        let mut flags = BinaryFlags::default();
        while let Token::Word(word) = self.token {
            match word {
                "nsw" => flags.nsw = true,
                "nuw" => flags.nuw = true,
                "exact" => flags.exact = true,
                "disjoint" => flags.disjoint = true,
                "nneg" => flags.nneg = true,
                "samesign" => flags.samesign = true,
                "fast" | "nnan" | "ninf" | "nsz" | "arcp" | "contract" | "afn" | "reassoc" => {}
                _ => break,
            }
            self.advance()?;
        }
        Ok(flags)
    }

    fn binary(&mut self, op: BinaryOp) -> Parsed<(InstrKind, Option<Ty>)> {
        let flags = self.flags()?;
        let at = self.at;
        let (ty, left) = self.typed_operand()?;
        self.expect_operands(op, ty, at)?;
        self.need(b',')?;
        let right = self.operand(ty)?;
        Ok((InstrKind::Binary { op, flags, ty, left, right }, Some(ty)))
    }

    fn cast(&mut self, op: CastOp) -> Parsed<(InstrKind, Option<Ty>)> {
        let flags = self.flags()?;
        let at = self.at;
        let (from, value) = self.typed_operand()?;
        self.need_word("to")?;
        let to = self.ty()?;
        self.check_cast(op, from, to, at)?;
        Ok((InstrKind::Cast { op, flags, from, value, to }, Some(to)))
    }

    fn compare(&mut self, integers: bool) -> Parsed<(InstrKind, Option<Ty>)> {
        let flags = self.flags()?;
        let Token::Word(word) = self.token else { return self.expected("a comparison") };
        let (int, float) = (int_predicate(word), float_predicate(word));
        if (integers && int.is_none()) || (!integers && float.is_none()) {
            return self.expected("a comparison");
        }
        self.advance()?;
        let at = self.at;
        let (ty, left) = self.typed_operand()?;
        self.need(b',')?;
        let right = self.operand(ty)?;
        let result = self.truth_type(ty);
        let kind = match (integers, int, float) {
            (true, Some(predicate), _) => {
                self.expect_comparable(ty, at)?;
                InstrKind::Compare { predicate, flags, ty, left, right }
            }
            (_, _, Some(predicate)) => {
                self.expect_float(ty, at)?;
                InstrKind::FloatCompare { predicate, ty, left, right }
            }
            _ => return self.expected("a comparison"),
        };
        Ok((kind, Some(result)))
    }

    fn select(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        self.flags()?;
        let at = self.at;
        let (condition_ty, condition) = self.typed_operand()?;
        self.need(b',')?;
        let (ty, yes) = self.typed_operand()?;
        self.need(b',')?;
        let no_at = self.at;
        let (no_ty, no) = self.typed_operand()?;
        if no_ty != ty {
            return self.refuse_type(&format!("`{}`", self.types.show(ty)), no_ty, no_at);
        }
        let vector = self.truth_type(ty);
        if *self.types.get(condition_ty) != Type::Int(1) && condition_ty != vector {
            return self.refuse_type("a truth value", condition_ty, at);
        }
        Ok((InstrKind::Select { condition_ty, condition, ty, yes, no }, Some(ty)))
    }

    fn unary(&mut self, negate: bool) -> Parsed<(InstrKind, Option<Ty>)> {
        self.flags()?;
        let at = self.at;
        let (ty, value) = self.typed_operand()?;
        if negate {
            self.expect_float(ty, at)?;
            return Ok((InstrKind::FloatNegate { ty, value }, Some(ty)));
        }
        Ok((InstrKind::Freeze { ty, value }, Some(ty)))
    }

    fn phi(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        self.flags()?;
        let ty = self.ty()?;
        let mut incoming = Vec::new();
        loop {
            self.need(b'[')?;
            let value = self.operand(ty)?;
            self.need(b',')?;
            incoming.push((value, self.predecessor()?));
            self.need(b']')?;
            if !self.is(b',') || self.second() != Token::Punct(b'[') {
                break;
            }
            self.advance()?;
        }
        Ok((InstrKind::Phi { ty, incoming: incoming.into() }, Some(ty)))
    }

    fn ret(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let at = self.at;
        let ty = self.ty()?;
        if self.body.ret != Some(ty) {
            return self.refuse_type("the type that the function returns", ty, at);
        }
        let value = match self.types.get(ty) {
            Type::Void => None,
            _ => Some((ty, self.operand(ty)?)),
        };
        Ok((InstrKind::Return { value }, None))
    }

    fn br(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        if self.is_word("label") {
            return Ok((InstrKind::Jump { to: self.label()? }, None));
        }
        let at = self.at;
        let (ty, condition) = self.typed_operand()?;
        if *self.types.get(ty) != Type::Int(1) {
            return self.refuse_type("a truth value", ty, at);
        }
        self.need(b',')?;
        let yes = self.label()?;
        self.need(b',')?;
        let no = self.label()?;
        Ok((InstrKind::Branch { condition, yes, no }, None))
    }

    fn switch(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let at = self.at;
        let (ty, value) = self.typed_operand()?;
        self.expect_scalar_integer(ty, at)?;
        self.need(b',')?;
        let default = self.label()?;
        self.need(b'[')?;
        let mut cases = Vec::new();
        while !self.is(b']') {
            let at = self.at;
            let case_ty = self.ty()?;
            if case_ty != ty {
                return self.refuse_type("the type of the switch", case_ty, at);
            }
            let case = self.constant_of(ty)?;
            self.need(b',')?;
            cases.push((case, self.label()?));
        }
        self.need(b']')?;
        Ok((InstrKind::Switch { ty, value, default, cases: cases.into() }, None))
    }

    fn indirect_branch(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let at = self.at;
        let (ty, address) = self.typed_operand()?;
        self.expect_pointer(ty, at)?;
        self.need(b',')?;
        let targets = self.labels()?.into();
        Ok((InstrKind::IndirectBranch { address, targets }, None))
    }

    /// `[label %a, label %b]`
    pub(super) fn labels(&mut self) -> Parsed<Vec<BlockId>> {
        self.need(b'[')?;
        let mut targets = Vec::new();
        while !self.is(b']') {
            targets.push(self.label()?);
            if !self.eat(b',')? {
                break;
            }
        }
        self.need(b']')?;
        Ok(targets)
    }

    /// `, 1, 0` after a struct or array: a path into it, and the type it leads to.
    fn path(&mut self, mut ty: Ty) -> Parsed<(Box<[u32]>, Ty)> {
        let mut path = Vec::new();
        while self.is(b',') && matches!(self.second(), Token::Int(_)) {
            self.advance()?;
            let at = self.at;
            let index = self.unsigned("an index")?;
            let element = match self.types.get(ty) {
                Type::Struct { fields, .. } => fields.get(index as usize).copied(),
                Type::Array(count, of) => (index < *count).then_some(*of),
                _ => None,
            };
            let (Some(element), Ok(index)) = (element, u32::try_from(index)) else {
                return self.refuse_type(&format!("something with a part {index}"), ty, at);
            };
            path.push(index);
            ty = element;
        }
        if path.is_empty() {
            return self.expected("`,` and an index");
        }
        Ok((path.into(), ty))
    }

    fn extract_value(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let (ty, value) = self.typed_operand()?;
        let (path, element_ty) = self.path(ty)?;
        Ok((InstrKind::ExtractValue { ty, value, path, element_ty }, Some(element_ty)))
    }

    fn insert_value(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let (ty, value) = self.typed_operand()?;
        self.need(b',')?;
        let at = self.at;
        let (element_ty, element) = self.typed_operand()?;
        let (path, there) = self.path(ty)?;
        if there != element_ty {
            return self.refuse_type(&format!("`{}`", self.types.show(there)), element_ty, at);
        }
        Ok((InstrKind::InsertValue { ty, value, element_ty, element, path }, Some(ty)))
    }

    // Vectors.

    fn vector(&mut self) -> Parsed<(Ty, Operand, Ty)> {
        let at = self.at;
        let (ty, vector) = self.typed_operand()?;
        match *self.types.get(ty) {
            Type::Vector { of, .. } => Ok((ty, vector, of)),
            _ => self.refuse_type("a vector", ty, at),
        }
    }

    fn index(&mut self) -> Parsed<(Ty, Operand)> {
        self.need(b',')?;
        let at = self.at;
        let (ty, index) = self.typed_operand()?;
        self.expect_scalar_integer(ty, at)?;
        Ok((ty, index))
    }

    fn extract_element(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let (ty, vector, of) = self.vector()?;
        let (index_ty, index) = self.index()?;
        Ok((InstrKind::ExtractElement { ty, vector, index_ty, index }, Some(of)))
    }

    fn insert_element(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let (ty, vector, of) = self.vector()?;
        self.need(b',')?;
        let at = self.at;
        let (element_ty, element) = self.typed_operand()?;
        if element_ty != of {
            return self.refuse_type(&format!("`{}`", self.types.show(of)), element_ty, at);
        }
        let (index_ty, index) = self.index()?;
        Ok((InstrKind::InsertElement { ty, vector, element, index_ty, index }, Some(ty)))
    }

    fn shuffle_vector(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let (ty, left, of) = self.vector()?;
        self.need(b',')?;
        let at = self.at;
        let (right_ty, right, _) = self.vector()?;
        if right_ty != ty {
            return self.refuse_type(&format!("`{}`", self.types.show(ty)), right_ty, at);
        }
        self.need(b',')?;
        let (mask_ty, mask, _) = self.vector()?;
        let of = self.types.get(of).clone();
        let result = self.like(mask_ty, of);
        Ok((InstrKind::ShuffleVector { ty, left, right, mask_ty, mask }, Some(result)))
    }
}
