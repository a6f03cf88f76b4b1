//! Types.

use super::lexer::Token;
use super::{Fault, Parsed, Parser};
use crate::types::{Float, Ty, Type};

/// The largest width of an integer.
const MAX_BITS: u32 = 1 << 23;

/// The width of `iN`.
fn integer(word: &str) -> Option<u32> {
    let digits = word.strip_prefix('i')?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

/// The word starts a type.
pub(super) fn is_type_word(word: &str) -> bool {
    matches!(
        word,
        "void"
            | "ptr"
            | "half"
            | "bfloat"
            | "float"
            | "double"
            | "x86_fp80"
            | "fp128"
            | "ppc_fp128"
            | "label"
            | "metadata"
            | "token"
            | "x86_mmx"
            | "x86_amx"
            | "target"
            | "opaque"
    ) || integer(word).is_some()
}

impl<'a> Parser<'a> {
    /// The next token starts a type.
    pub(super) fn at_type(&self) -> bool {
        match self.token {
            Token::Word(word) => is_type_word(word),
            Token::Local(_) => true,
            Token::Punct(punct) => matches!(punct, b'{' | b'[' | b'<'),
            _ => false,
        }
    }

    pub(super) fn int_type(&mut self, bits: u32) -> Ty {
        self.types.intern(Type::Int(bits))
    }

    /// A type: `T*` is a pointer, whatever `T` is.
    pub(super) fn ty(&mut self) -> Parsed<Ty> {
        self.nested(|parser| {
            let mut ty = parser.base_type()?;
            loop {
                match parser.token {
                    Token::Punct(b'*') => {
                        parser.advance()?;
                        ty = parser.types.intern(Type::Ptr(0));
                    }
                    Token::Word("addrspace") => {
                        let space = parser.address_space()?;
                        let pointer = matches!(parser.types.get(ty), Type::Ptr(0));
                        if !parser.eat(b'*')? && !pointer {
                            return parser.expected("`*`");
                        }
                        ty = parser.types.intern(Type::Ptr(space));
                    }
                    Token::Punct(b'(') => ty = parser.function_type(ty)?,
                    _ => return Ok(ty),
                }
            }
        })
    }

    /// `addrspace(1)`; a name in quotes stands for a space that the target knows.
    pub(super) fn address_space(&mut self) -> Parsed<u32> {
        self.need_word("addrspace")?;
        self.need(b'(')?;
        let space = match self.token {
            Token::Str(_) => {
                self.advance()?;
                0
            }
            _ => match u32::try_from(self.unsigned("the number of an address space")?) {
                Ok(space) if space < 1 << 24 => space,
                _ => return self.fault("the number of the address space is too large"),
            },
        };
        self.need(b')')?;
        Ok(space)
    }

    fn function_type(&mut self, ret: Ty) -> Parsed<Ty> {
        self.need(b'(')?;
        let mut params = Vec::new();
        let mut varargs = false;
        while !self.is(b')') {
            if self.token == Token::Dots {
                self.advance()?;
                varargs = true;
                break;
            }
            params.push(self.ty()?);
            if !self.eat(b',')? {
                break;
            }
        }
        self.need(b')')?;
        Ok(self.types.intern(Type::Function { ret, params: params.into(), varargs }))
    }

    fn base_type(&mut self) -> Parsed<Ty> {
        match self.token {
            Token::Word(word) => self.word_type(word),
            Token::Local(name) => {
                let at = self.at;
                self.advance()?;
                let ty = self.types.declare(&name.decode());
                self.type_mentioned.entry(ty).or_insert(at);
                Ok(ty)
            }
            Token::Punct(b'{') => {
                let fields = self.field_types()?;
                Ok(self.types.intern(Type::Struct { packed: false, fields }))
            }
            Token::Punct(b'[') => {
                self.advance()?;
                let count = self.unsigned("the length of an array")?;
                self.need_word("x")?;
                let of = self.ty()?;
                self.need(b']')?;
                self.element_type(of)?;
                Ok(self.types.intern(Type::Array(count, of)))
            }
            Token::Punct(b'<') => self.angle_type(),
            _ => self.expected("a type"),
        }
    }

    fn angle_type(&mut self) -> Parsed<Ty> {
        self.need(b'<')?;
        if self.is(b'{') {
            let fields = self.field_types()?;
            self.need(b'>')?;
            return Ok(self.types.intern(Type::Struct { packed: true, fields }));
        }
        let scalable = self.eat_word("vscale")?;
        if scalable {
            self.need_word("x")?;
        }
        let count = self.unsigned("the length of a vector")?;
        let Some(count) = u32::try_from(count).ok().filter(|&count| count > 0) else {
            return self.fault(format!("a vector of {count} elements"));
        };
        self.need_word("x")?;
        let at = self.at;
        let of = self.ty()?;
        if !matches!(self.types.get(of), Type::Int(_) | Type::Ptr(_) | Type::Float(_)) {
            let message = format!("a vector of `{}`", self.types.show(of));
            return Err(Fault { at, message });
        }
        self.need(b'>')?;
        Ok(self.types.intern(Type::Vector { count, of, scalable }))
    }

    fn field_types(&mut self) -> Parsed<Box<[Ty]>> {
        self.need(b'{')?;
        let mut fields = Vec::new();
        while !self.is(b'}') {
            let field = self.ty()?;
            self.element_type(field)?;
            fields.push(field);
            if !self.eat(b',')? {
                break;
            }
        }
        self.need(b'}')?;
        Ok(fields.into())
    }

    /// Values of the type can be part of another value.
    fn element_type(&self, ty: Ty) -> Parsed<()> {
        match self.types.get(ty) {
            Type::Void | Type::Label | Type::Metadata | Type::Token | Type::Function { .. } => {
                self.fault(format!("`{}` cannot be part of another type", self.types.show(ty)))
            }
            _ => Ok(()),
        }
    }

    fn word_type(&mut self, word: &'a str) -> Parsed<Ty> {
        let ty = match word {
            "void" => Type::Void,
            "ptr" => Type::Ptr(0),
            "half" => Type::Float(Float::Half),
            "bfloat" => Type::Float(Float::BFloat),
            "float" => Type::Float(Float::Single),
            "double" => Type::Float(Float::Double),
            "x86_fp80" => Type::Float(Float::X86Fp80),
            "fp128" => Type::Float(Float::Fp128),
            "ppc_fp128" => Type::Float(Float::PpcFp128),
            "label" => Type::Label,
            "metadata" => Type::Metadata,
            "token" => Type::Token,
            "x86_mmx" | "x86_amx" => Type::Foreign(word.into()),
            "target" => return self.target_type(),
            _ => match integer(word) {
                Some(bits) if (1..=MAX_BITS).contains(&bits) => Type::Int(bits),
                Some(_) => return self.fault(format!("`{word}` is no integer type")),
                None => return self.expected("a type"),
            },
        };
        self.advance()?;
        Ok(self.types.intern(ty))
    }

    /// `target("name", …)`.
    fn target_type(&mut self) -> Parsed<Ty> {
        let start = self.at;
        self.need_word("target")?;
        if !self.is(b'(') {
            return self.expected("`(`");
        }
        self.skip_balanced()?;
        let text = self.text[start..self.at].trim_end();
        Ok(self.types.intern(Type::Foreign(text.into())))
    }

    /// `%name = type …`
    pub(super) fn type_definition(&mut self) -> Parsed<()> {
        let Token::Local(name) = self.token else { return self.expected("a type's name") };
        let at = self.at;
        self.advance()?;
        self.need(b'=')?;
        self.need_word("type")?;
        let named = self.types.declare(&name.decode());
        if !self.type_defined.insert(named) {
            let message = format!("the type `%{}` is defined twice", name.text);
            return Err(Fault { at, message });
        }
        if self.eat_word("opaque")? {
            return Ok(());
        }
        let at = self.at;
        let body = self.ty()?;
        if body == named {
            let message = format!("the type `%{}` is defined as itself", name.text);
            return Err(Fault { at, message });
        }
        // A body that is a name would be a copy of what that name is not yet.
        let body = match self.types.name(body) {
            Some(_) => return Err(Fault { at, message: "a type that is only a name".into() }),
            None => self.types.get(body).clone(),
        };
        self.types.define(named, body);
        Ok(())
    }
}
