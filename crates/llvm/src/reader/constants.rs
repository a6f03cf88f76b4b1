//! Constants.

use super::attributes::is_value_word;
use super::lexer::{Token, unescape};
use super::number::{self, Integer};
use super::{Fault, Parsed, Parser, instructions};
use crate::constant::{ConstId, Constant, ConstantKind};
use crate::instruction::{BinaryFlags, CastOp};
use crate::module::{BlockId, FunctionId, GlobalId};
use crate::types::{Ty, Type};

impl<'a> Parser<'a> {
    /// A type and a constant of that type.
    pub(super) fn typed_constant(&mut self) -> Parsed<ConstId> {
        let ty = self.ty()?;
        self.constant_of(ty)
    }

    /// A constant of a type that is known already.
    pub(super) fn constant_of(&mut self, ty: Ty) -> Parsed<ConstId> {
        self.nested(|parser| {
            let at = parser.at;
            let kind = match parser.token {
                Token::Global(name) => {
                    parser.advance()?;
                    return parser.reference(name, ty, at);
                }
                Token::Word(word) => return parser.word_constant(word, ty),
                Token::Int(text) => parser.integer(text, ty)?,
                Token::Float(text) => parser.float(text, ty)?,
                Token::Bytes(text) => parser.bytes(text, ty)?,
                Token::Punct(b'[') => parser.array(ty)?,
                Token::Punct(b'{') => parser.structure(ty, false)?,
                Token::Punct(b'<') => parser.angle(ty)?,
                _ => return parser.expected("a constant"),
            };
            Ok(parser.constant(Constant { ty, kind }))
        })
    }

    /// The type is not what the constant at an offset needs.
    fn mismatch<T>(&self, at: usize, what: &str, ty: Ty) -> Parsed<T> {
        Err(Fault { at, message: format!("{what} cannot have the type `{}`", self.types.show(ty)) })
    }

    /// The address of a symbol. What the symbol is becomes known later: until then, the constant says it is a global
    /// variable with the symbol's number.
    fn reference(&mut self, name: super::Name<'a>, ty: Ty, at: usize) -> Parsed<ConstId> {
        if !matches!(self.types.get(ty), Type::Ptr(_)) {
            return self.mismatch(at, &format!("the address `@{}`", name.text), ty);
        }
        let symbol = self.symbol(name, at);
        if let Some(&known) = self.references.get(&(symbol, ty)) {
            return Ok(known);
        }
        let new = ConstId(self.constants.len() as u32);
        self.constants.push(Constant { ty, kind: ConstantKind::Global(GlobalId(symbol)) });
        self.references.insert((symbol, ty), new);
        Ok(new)
    }

    fn integer(&mut self, text: &'a str, ty: Ty) -> Parsed<ConstantKind> {
        let &Type::Int(width) = self.types.get(ty) else {
            return self.mismatch(self.at, &format!("the integer {text}"), ty);
        };
        let kind = match number::integer(text, width) {
            Integer::Bits(bits) => ConstantKind::Int(bits),
            Integer::Wide => ConstantKind::Unsupported(format!("i{width} {text}").into()),
            Integer::TooLarge => return self.fault(format!("{text} does not fit in `i{width}`")),
        };
        self.advance()?;
        Ok(kind)
    }

    fn float(&mut self, text: &'a str, ty: Ty) -> Parsed<ConstantKind> {
        let &Type::Float(format) = self.types.get(ty) else {
            return self.mismatch(self.at, &format!("the number {text}"), ty);
        };
        match number::float(text, format) {
            Some(bits) => {
                self.advance()?;
                Ok(ConstantKind::Float(bits))
            }
            None => self.mismatch(self.at, &format!("the number {text}"), ty),
        }
    }

    fn bytes(&mut self, text: &'a str, ty: Ty) -> Parsed<ConstantKind> {
        let bytes = unescape(text);
        match *self.types.get(ty) {
            Type::Array(count, of)
                if count == bytes.len() as u64 && *self.types.get(of) == Type::Int(8) => {}
            _ => return self.mismatch(self.at, &format!("a string of {} bytes", bytes.len()), ty),
        }
        self.advance()?;
        Ok(ConstantKind::Bytes(bytes.into()))
    }

    /// Constants with their types, up to a closing bracket.
    fn elements(&mut self, close: u8) -> Parsed<Vec<ConstId>> {
        let mut elements = Vec::new();
        while !self.is(close) {
            elements.push(self.typed_constant()?);
            if !self.eat(b',')? {
                break;
            }
        }
        self.need(close)?;
        Ok(elements)
    }

    fn all_of(&self, elements: &[ConstId], of: Ty) -> bool {
        elements.iter().all(|element| self.constants[element.index()].ty == of)
    }

    fn array(&mut self, ty: Ty) -> Parsed<ConstantKind> {
        let at = self.at;
        self.need(b'[')?;
        let elements = self.elements(b']')?;
        match *self.types.get(ty) {
            Type::Array(count, of)
                if count == elements.len() as u64 && self.all_of(&elements, of) =>
            {
                Ok(ConstantKind::Array(elements.into()))
            }
            _ => self.mismatch(at, &format!("an array of {} such elements", elements.len()), ty),
        }
    }

    fn structure(&mut self, ty: Ty, in_angles: bool) -> Parsed<ConstantKind> {
        let at = self.at;
        self.need(b'{')?;
        let values = self.elements(b'}')?;
        match self.types.get(ty) {
            Type::Struct { packed, fields }
                if *packed == in_angles && fields.len() == values.len() =>
            {
                let types = values.iter().map(|value| self.constants[value.index()].ty);
                if types.eq(fields.iter().copied()) {
                    return Ok(ConstantKind::Struct(values.into()));
                }
            }
            _ => {}
        }
        self.mismatch(at, &format!("a struct of {} such fields", values.len()), ty)
    }

    /// A vector or a packed struct.
    fn angle(&mut self, ty: Ty) -> Parsed<ConstantKind> {
        let at = self.at;
        self.need(b'<')?;
        if self.is(b'{') {
            let kind = self.structure(ty, true)?;
            self.need(b'>')?;
            return Ok(kind);
        }
        let elements = self.elements(b'>')?;
        match *self.types.get(ty) {
            Type::Vector { count, of, .. }
                if count as usize == elements.len() && self.all_of(&elements, of) =>
            {
                Ok(ConstantKind::Vector(elements.into()))
            }
            _ => self.mismatch(at, &format!("a vector of {} such elements", elements.len()), ty),
        }
    }

    fn word_constant(&mut self, word: &'a str, ty: Ty) -> Parsed<ConstId> {
        let at = self.at;
        let first_class = !matches!(
            self.types.get(ty),
            Type::Void | Type::Function { .. } | Type::Label | Type::Metadata
        );
        let simple = match word {
            "true" | "false" if *self.types.get(ty) == Type::Int(1) => {
                ConstantKind::Int(u128::from(word == "true"))
            }
            "null" if matches!(self.types.get(ty), Type::Ptr(_)) => ConstantKind::Null,
            "none" if *self.types.get(ty) == Type::Token => ConstantKind::None,
            "undef" if first_class => ConstantKind::Undef,
            "poison" if first_class => ConstantKind::Poison,
            "zeroinitializer" if first_class => match self.types.get(ty) {
                // One spelling for each zero.
                Type::Int(width) if *width <= 128 => ConstantKind::Int(0),
                Type::Float(_) => ConstantKind::Float(0),
                Type::Ptr(_) => ConstantKind::Null,
                _ => ConstantKind::Zero,
            },
            "true" | "false" | "null" | "none" | "undef" | "poison" | "zeroinitializer" => {
                return self.mismatch(at, &format!("`{word}`"), ty);
            }
            _ => return self.constant_expression(word, ty),
        };
        self.advance()?;
        Ok(self.constant(Constant { ty, kind: simple }))
    }

    fn constant_expression(&mut self, word: &'a str, ty: Ty) -> Parsed<ConstId> {
        let at = self.at;
        if !is_value_word(word) || word == "asm" {
            return self.expected("a constant");
        }
        self.advance()?;
        let (made, kind) = match word {
            "dso_local_equivalent" | "no_cfi" => match self.token {
                Token::Global(_) => return self.constant_of(ty),
                _ => return self.expected("a function's name"),
            },
            "blockaddress" => return self.block_address(ty, at),
            "splat" => {
                self.need(b'(')?;
                let element = self.typed_constant()?;
                self.need(b')')?;
                match *self.types.get(ty) {
                    Type::Vector { of, .. } if self.all_of(&[element], of) => {}
                    _ => return self.mismatch(at, "such a `splat`", ty),
                }
                (ty, ConstantKind::Splat(element))
            }
            "getelementptr" => self.constant_gep()?,
            _ => match instructions::cast_op(word) {
                Some(op) => self.constant_cast(op)?,
                None => self.constant_operation(word, ty)?,
            },
        };
        if made != ty {
            return self.mismatch(at, &format!("this `{word}`"), ty);
        }
        // A bitcast between pointers of old versions is nothing.
        if let ConstantKind::Cast(CastOp::BitCast, value) = kind
            && self.constants[value.index()].ty == ty
        {
            return Ok(value);
        }
        Ok(self.constant(Constant { ty, kind }))
    }

    fn block_address(&mut self, ty: Ty, at: usize) -> Parsed<ConstId> {
        if !matches!(self.types.get(ty), Type::Ptr(_)) {
            return self.mismatch(at, "`blockaddress`", ty);
        }
        self.need(b'(')?;
        let Token::Global(function) = self.token else { return self.expected("a function") };
        self.advance()?;
        let function = self.symbol(function, at);
        self.need(b',')?;
        let Token::Local(block) = self.token else { return self.expected("a block") };
        self.advance()?;
        self.need(b')')?;
        let id = ConstId(self.constants.len() as u32);
        let unknown = ConstantKind::BlockAddress(FunctionId(0), BlockId::ENTRY);
        self.constants.push(Constant { ty, kind: unknown });
        self.block_addresses.push((id, function, block.decode(), at));
        Ok(id)
    }

    fn constant_cast(&mut self, op: CastOp) -> Parsed<(Ty, ConstantKind)> {
        self.need(b'(')?;
        let at = self.at;
        let value = self.typed_constant()?;
        self.need_word("to")?;
        let to = self.ty()?;
        self.need(b')')?;
        let from = self.constants[value.index()].ty;
        self.check_cast(op, from, to, at)?;
        Ok((to, ConstantKind::Cast(op, value)))
    }

    fn constant_gep(&mut self) -> Parsed<(Ty, ConstantKind)> {
        let inbounds = self.gep_flags()?;
        self.need(b'(')?;
        let source = self.ty()?;
        self.need(b',')?;
        let at = self.at;
        let base = self.typed_constant()?;
        let base_ty = self.constants[base.index()].ty;
        self.expect_address(base_ty, at)?;
        let mut indices = Vec::new();
        while self.eat(b',')? {
            self.eat_word("inrange")?;
            let at = self.at;
            let index = self.typed_constant()?;
            let index_ty = self.constants[index.index()].ty;
            self.expect_integer(index_ty, at)?;
            indices.push(index);
        }
        self.need(b')')?;
        let path = indices.iter().map(|&index| Some(index));
        self.check_path(source, path, at)?;
        let types =
            indices.iter().map(|index| self.constants[index.index()].ty).collect::<Vec<_>>();
        let ty = self.gep_type(base_ty, types);
        Ok((ty, ConstantKind::GetElementPtr { inbounds, source, base, indices: indices.into() }))
    }

    /// Operations on constants that old versions have.
    fn constant_operation(&mut self, word: &'a str, ty: Ty) -> Parsed<(Ty, ConstantKind)> {
        let flags = self.flags()?;
        let predicate = match (word, self.token) {
            ("icmp" | "fcmp", Token::Word(predicate)) => {
                self.advance()?;
                Some(predicate)
            }
            _ => None,
        };
        let at = self.at;
        self.need(b'(')?;
        let mut operands = Vec::new();
        while self.at_type() {
            operands.push(self.typed_constant()?);
            if !self.eat(b',')? {
                break;
            }
        }
        // The path of `extractvalue` has no types.
        while let Token::Int(_) = self.token {
            self.advance()?;
            self.eat(b',')?;
        }
        if word == "ptrauth" {
            while !self.is(b')') && self.token != Token::End {
                self.advance()?;
            }
        }
        self.need(b')')?;
        let first = operands.first().map(|operand| self.constants[operand.index()].ty);
        let same = first.is_some_and(|first| self.all_of(&operands, first));
        let kind = match (word, &operands[..], first) {
            ("icmp", &[left, right], Some(of)) if same => {
                self.expect_comparable(of, at)?;
                let Some(predicate) = predicate.and_then(instructions::int_predicate) else {
                    return self.fault("an unknown comparison");
                };
                (self.truth_type(of), ConstantKind::Compare(predicate, left, right))
            }
            ("fcmp", &[left, right], Some(of)) if same => {
                self.expect_float(of, at)?;
                let Some(predicate) = predicate.and_then(instructions::float_predicate) else {
                    return self.fault("an unknown comparison");
                };
                (self.truth_type(of), ConstantKind::FloatCompare(predicate, left, right))
            }
            ("select", &[condition, yes, no], Some(of))
                if *self.types.get(of) == Type::Int(1) && self.all_of(&[yes, no], ty) =>
            {
                (ty, ConstantKind::Select(condition, yes, no))
            }
            ("fneg", &[value], Some(of)) => {
                self.expect_float(of, at)?;
                (of, ConstantKind::FloatNegate(value))
            }
            (_, &[left, right], Some(of)) if same => match instructions::binary_op(word) {
                Some(op) => {
                    self.expect_operands(op, of, at)?;
                    let flags = BinaryFlags { nneg: false, samesign: false, ..flags };
                    (of, ConstantKind::Binary(op, flags, left, right))
                }
                None => (ty, ConstantKind::Unsupported(word.into())),
            },
            _ if instructions::binary_op(word).is_none() && !operands.is_empty() => {
                (ty, ConstantKind::Unsupported(word.into()))
            }
            _ => return Err(Fault { at, message: format!("`{word}` of these constants") }),
        };
        Ok(kind)
    }
}
