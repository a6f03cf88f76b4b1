//! Calls, exceptions, and debug records in the form of calls.

use super::attributes::ParamAttributes;
use super::function::RawVariable;
use super::instructions::{ParsedInstr, binary_op, cast_op};
use super::lexer::{Token, unescape};
use super::metadata::MetaValue;
use super::{Fault, Parsed, Parser};
use crate::instruction::{Arg, Call, Callee, Clause, InlineAsm, InstrKind, Operand};
use crate::module::Holds;
use crate::types::{Ty, Type};

/// An argument of a debug record.
#[derive(Clone, Copy)]
enum RecordArg<'a> {
    Value(Operand),
    Meta(MetaValue<'a>),
}

/// The word starts an instruction, so it is no attribute of the call before it.
fn is_opcode(word: &str) -> bool {
    matches!(
        word,
        "call"
            | "tail"
            | "musttail"
            | "notail"
            | "icmp"
            | "fcmp"
            | "select"
            | "fneg"
            | "freeze"
            | "phi"
            | "alloca"
            | "load"
            | "store"
            | "cmpxchg"
            | "atomicrmw"
            | "fence"
            | "getelementptr"
            | "extractvalue"
            | "insertvalue"
            | "va_arg"
            | "extractelement"
            | "insertelement"
            | "shufflevector"
            | "ret"
            | "br"
            | "switch"
            | "indirectbr"
            | "invoke"
            | "callbr"
            | "resume"
            | "unreachable"
            | "landingpad"
            | "catchswitch"
            | "catchpad"
            | "cleanuppad"
            | "catchret"
            | "cleanupret"
            | "uselistorder"
    ) || binary_op(word).is_some()
        || cast_op(word).is_some()
}

impl<'a> Parser<'a> {
    /// A call, or a debug intrinsic, which is no instruction.
    pub(super) fn call(&mut self) -> Parsed<ParsedInstr> {
        while self.eat_word("tail")? || self.eat_word("musttail")? || self.eat_word("notail")? {}
        self.need_word("call")?;
        Ok(self.call_parts()?.map(|call| {
            let ret = call.ret;
            (InstrKind::Call(call.into()), Some(ret))
        }))
    }

    /// Everything after `call` or `invoke`; absent for a debug intrinsic.
    fn call_parts(&mut self) -> Parsed<Option<Call>> {
        self.result_attributes()?;
        let at = self.at;
        let ty = self.ty()?;
        let (ret, varargs) = match *self.types.get(ty) {
            Type::Function { ret, varargs, .. } => (ret, varargs),
            Type::Label | Type::Metadata => {
                return Err(Fault { at, message: "a call with such a result".into() });
            }
            _ => (ty, false),
        };
        if let Token::Global(name) = self.token
            && let Some(record) = name.text.strip_prefix("llvm.dbg.")
        {
            self.advance()?;
            let args = self.record_args()?;
            self.call_attributes()?;
            self.record(record, &args);
            return Ok(None);
        }
        let intrinsic = match self.token {
            Token::Global(name) if name.text.starts_with("llvm.") => {
                self.annotated |= name.text.starts_with("llvm.lifetime.");
                Some(self.symbol(name, self.at))
            }
            _ => None,
        };
        let callee = match self.token {
            Token::Word("asm") => Callee::Asm(self.inline_asm()?.into()),
            _ => {
                let pointer = self.types.intern(Type::Ptr(0));
                Callee::Pointer(self.operand(pointer)?)
            }
        };
        let args = self.arguments()?;
        self.call_attributes()?;
        if let Some(intrinsic) = intrinsic
            && self.symbols[intrinsic as usize].defined.is_none()
        {
            let params = args.iter().map(|arg| arg.ty).collect();
            let ty = self.types.intern(Type::Function { ret, params, varargs });
            self.intrinsics.entry(intrinsic).or_insert(ty);
        }
        Ok(Some(Call { callee, ret, args, varargs }))
    }

    fn inline_asm(&mut self) -> Parsed<InlineAsm> {
        self.need_word("asm")?;
        let mut side_effects = false;
        while let Token::Word(word) = self.token {
            side_effects |= word == "sideeffect";
            self.advance()?;
        }
        let template = super::globals::text(self.string("assembly")?);
        self.need(b',')?;
        let constraints = unescape(self.string("constraints")?);
        let constraints = String::from_utf8_lossy(&constraints).into();
        Ok(InlineAsm { template, constraints, side_effects })
    }

    fn arguments(&mut self) -> Parsed<Box<[Arg]>> {
        self.need(b'(')?;
        let mut args = Vec::new();
        while !self.is(b')') {
            if self.token == Token::Dots {
                // `musttail` passes on what it got.
                self.advance()?;
                break;
            }
            let ty = self.ty()?;
            // After `metadata` may come another type, which is no attribute.
            let found = match self.types.get(ty) {
                Type::Metadata => ParamAttributes::default(),
                _ => self.param_attributes()?,
            };
            let value = match self.types.get(ty) {
                Type::Metadata => {
                    self.metadata_arg()?;
                    Operand::Metadata
                }
                Type::Void | Type::Label | Type::Function { .. } => {
                    return self.expected("a value");
                }
                _ => self.operand(ty)?,
            };
            args.push(Arg { ty, value, byval: found.byval, sret: found.sret });
            if !self.eat(b',')? {
                break;
            }
        }
        self.need(b')')?;
        Ok(args.into())
    }

    /// Attributes and bundles after the arguments.
    fn call_attributes(&mut self) -> Parsed<()> {
        loop {
            match self.token {
                Token::Word(word) if word != "to" && !is_opcode(word) => {
                    self.attribute()?;
                }
                Token::Str(_) => self.string_attribute()?,
                Token::Group(_) => {
                    self.advance()?;
                }
                Token::Punct(b'[') => self.skip_balanced()?,
                _ => return Ok(()),
            }
        }
    }

    // Debug records.

    /// What follows the type `metadata`.
    fn metadata_arg(&mut self) -> Parsed<RecordArg<'a>> {
        match self.token {
            Token::MetaId(_) | Token::MetaName(_) | Token::Punct(b'!') => {
                Ok(RecordArg::Meta(self.meta_value()?))
            }
            _ => {
                let (_, value) = self.typed_operand()?;
                Ok(RecordArg::Value(value))
            }
        }
    }

    fn record_args(&mut self) -> Parsed<Vec<RecordArg<'a>>> {
        self.need(b'(')?;
        let mut args = Vec::new();
        while !self.is(b')') {
            // Intrinsics say `metadata` and may have other arguments; records do not.
            if self.is_word("metadata") {
                self.advance()?;
            }
            args.push(self.metadata_arg()?);
            if !self.eat(b',')? {
                break;
            }
        }
        self.need(b')')?;
        Ok(args)
    }

    /// `#dbg_declare(ptr %x, !12, !DIExpression(), !13)`
    pub(super) fn debug_record(&mut self, kind: &'a str) -> Parsed<()> {
        let Some(record) = kind.strip_prefix("dbg_") else {
            return self.expected("an instruction");
        };
        self.advance()?;
        let args = self.record_args()?;
        self.record(record, &args);
        Ok(())
    }

    fn record(&mut self, kind: &str, args: &[RecordArg<'a>]) {
        let holds = match kind {
            "declare" | "addr" => Holds::Address,
            "value" | "declare_value" | "assign" => Holds::Value,
            _ => return,
        };
        let [RecordArg::Value(storage), RecordArg::Meta(variable), RecordArg::Meta(expression), ..] =
            *args
        else {
            return;
        };
        // Before the first instruction of a block without a label, the block is not there yet.
        let next = crate::module::BlockId(self.body.blocks.len() as u32);
        let block = self.body.current.unwrap_or(next);
        let index = self.body.blocks.get(block.index()).map_or(0, |block| block.instrs.len());
        let from = (block, index as u32);
        let raw = RawVariable { storage, holds, variable, expression, from };
        self.variables.push((self.functions.len() as u32, raw));
    }

    // Exceptions.

    pub(super) fn invoke(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let Some(call) = self.call_parts()? else {
            return self.fault("a debug intrinsic cannot throw");
        };
        self.need_word("to")?;
        let normal = self.label()?;
        self.need_word("unwind")?;
        let unwind = self.label()?;
        let ret = call.ret;
        Ok((InstrKind::Invoke { call: call.into(), normal, unwind }, Some(ret)))
    }

    /// `asm goto`: read, not executed.
    pub(super) fn callbr(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let Some(call) = self.call_parts()? else {
            return self.fault("a debug intrinsic cannot jump");
        };
        self.need_word("to")?;
        self.label()?;
        self.labels()?;
        Ok((InstrKind::Unsupported { name: "callbr", terminator: true }, Some(call.ret)))
    }

    pub(super) fn landing_pad(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        let ty = self.ty()?;
        let cleanup = self.eat_word("cleanup")?;
        let mut clauses = Vec::new();
        loop {
            if self.eat_word("catch")? {
                clauses.push(Clause::Catch(self.typed_operand()?.1));
            } else if self.eat_word("filter")? {
                clauses.push(Clause::Filter(self.typed_operand()?.1));
            } else {
                let clauses = clauses.into();
                return Ok((InstrKind::LandingPad { ty, cleanup, clauses }, Some(ty)));
            }
        }
    }

    /// `none` or the token of a pad.
    fn parent(&mut self) -> Parsed<()> {
        let token = self.types.intern(Type::Token);
        self.operand(token)?;
        Ok(())
    }

    /// `unwind to caller` or `unwind label %x`
    fn unwind(&mut self) -> Parsed<()> {
        self.need_word("unwind")?;
        if self.eat_word("to")? {
            return self.need_word("caller");
        }
        self.label()?;
        Ok(())
    }

    pub(super) fn catch_switch(&mut self) -> Parsed<(InstrKind, Option<Ty>)> {
        self.need_word("within")?;
        self.parent()?;
        self.labels()?;
        self.unwind()?;
        let token = self.types.intern(Type::Token);
        Ok((InstrKind::Unsupported { name: "catchswitch", terminator: true }, Some(token)))
    }

    pub(super) fn pad(&mut self, catch: bool) -> Parsed<(InstrKind, Option<Ty>)> {
        self.need_word("within")?;
        self.parent()?;
        if !self.is(b'[') {
            return self.expected("`[`");
        }
        self.skip_balanced()?;
        let token = self.types.intern(Type::Token);
        let name = if catch { "catchpad" } else { "cleanuppad" };
        Ok((InstrKind::Unsupported { name, terminator: false }, Some(token)))
    }

    pub(super) fn pad_return(&mut self, catch: bool) -> Parsed<(InstrKind, Option<Ty>)> {
        self.need_word("from")?;
        self.parent()?;
        if catch {
            self.need_word("to")?;
            self.label()?;
        } else {
            self.unwind()?;
        }
        let name = if catch { "catchret" } else { "cleanupret" };
        Ok((InstrKind::Unsupported { name, terminator: true }, None))
    }
}
