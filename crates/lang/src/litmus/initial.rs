//! The initial state: `{ x=1; int y; int a[2]={1,2}; [z]=3; 0:EAX=4; 0:p=x; }`

use super::lexer::{Kind, Read, Reader, Token};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// The initial state, as the text says it.
#[derive(Default)]
pub(super) struct Initial<'a> {
    pub(super) locations: Vec<InitialLocation<'a>>,
    pub(super) registers: Vec<InitialRegister<'a>>,
    /// The types that it names.
    pub(super) types: Vec<(Type, Span)>,
}

pub(super) struct InitialLocation<'a> {
    pub(super) name: Token<'a>,
    /// The array's length.
    pub(super) length: Option<u32>,
    /// The value of the location, or of the first elements.
    pub(super) values: Vec<i64>,
}

pub(super) struct InitialRegister<'a> {
    pub(super) thread: usize,
    pub(super) name: Token<'a>,
    pub(super) value: InitialValue<'a>,
    pub(super) span: Span,
}

pub(super) enum InitialValue<'a> {
    Number(i64),
    /// The address of a location.
    Address(Token<'a>),
}

/// How wide values are, and whether they have a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Type {
    pub(super) bits: u32,
    pub(super) signed: bool,
}

impl Type {
    pub(super) const INT: Type = Type { bits: 32, signed: true };
}

pub(super) fn read<'a>(reader: &mut Reader<'a, '_>) -> Read<Initial<'a>> {
    let mut initial = Initial::default();
    reader.expect("{")?;
    while !reader.eat("}") {
        if !reader.eat(";") {
            item(reader, &mut initial)?;
            if !reader.at("}") {
                reader.expect(";")?;
            }
        }
    }
    Ok(initial)
}

fn item<'a>(reader: &mut Reader<'a, '_>, initial: &mut Initial<'a>) -> Read<()> {
    let start = reader.span();
    let typed = read_type(reader)?;
    initial.types.extend(typed.map(|(of, _)| (of, start)));
    let is_pointer = reader.eat("*");
    let token = reader.token();
    if reader.ahead(1).text == ":" && matches!(token.kind, Kind::Number | Kind::Name) {
        let Some(thread) = reader.thread(token) else { return reader.unexpected("a thread") };
        reader.advance();
        reader.advance();
        reader.eat("%");
        let name = reader.name("a register")?;
        let value = match reader.eat("=") {
            true => value(reader)?,
            false => InitialValue::Number(0),
        };
        let span = start.to(reader.last_span());
        initial.registers.push(InitialRegister { thread, name, value, span });
        return Ok(());
    }
    let bracketed = reader.eat("[");
    let name = reader.name("a location or a register")?;
    if bracketed {
        reader.expect("]")?;
    }
    let length = array_length(reader)?;
    let mut values = Vec::new();
    if reader.eat("=") {
        if reader.eat("{") {
            while !reader.eat("}") {
                values.push(reader.number("a number")?);
                if !reader.at("}") {
                    reader.expect(",")?;
                }
            }
        } else {
            match value(reader)? {
                InitialValue::Number(number) => values.push(number),
                InitialValue::Address(_) => return address_in_memory(reader, name.span),
            }
        }
        if is_pointer {
            return address_in_memory(reader, name.span);
        }
    }
    let room = length.unwrap_or(1) as usize;
    if values.len() > room {
        let message = format!("{} values for {room} elements", values.len());
        return reader
            .fail(Diagnostic::error(codes::RANGE, message).with_label(name.span, "too many"));
    }
    initial.locations.push(InitialLocation { name, length, values });
    Ok(())
}

fn array_length(reader: &mut Reader<'_, '_>) -> Read<Option<u32>> {
    if !reader.eat("[") {
        return Ok(None);
    }
    let length = reader.number("the array's length")?;
    let span = reader.last_span();
    reader.expect("]")?;
    match u32::try_from(length) {
        Ok(length @ 1..=4096) => Ok(Some(length)),
        _ => {
            let error = Diagnostic::error(codes::RANGE, format!("an array of length {length}"));
            reader.fail(error.with_label(span, "expected 1..=4096"))
        }
    }
}

fn address_in_memory<T>(reader: &mut Reader<'_, '_>, span: Span) -> Read<T> {
    let what = "a location that holds an address";
    reader.unsupported(span, what, "locations hold numbers; pointers to pointers are not read")
}

/// `1`, `-1`, `ATOMIC_INIT(1)`, `x` or `&x`
fn value<'a>(reader: &mut Reader<'a, '_>) -> Read<InitialValue<'a>> {
    if reader.at("ATOMIC_INIT") {
        reader.advance();
        reader.expect("(")?;
        let number = reader.number("a number")?;
        reader.expect(")")?;
        return Ok(InitialValue::Number(number));
    }
    reader.eat("&");
    match reader.token().kind {
        Kind::Name => Ok(InitialValue::Address(reader.advance())),
        _ => Ok(InitialValue::Number(reader.number("a value")?)),
    }
}

/// Is it a word of a type?
pub(super) fn is_type(token: Token<'_>) -> bool {
    token.kind == Kind::Name
        && (named(token.text).is_some()
            || matches!(
                token.text,
                "const" | "volatile" | "_Atomic" | "unsigned" | "signed" | "long" | "short"
            ))
}

fn named(word: &str) -> Option<Type> {
    let signed = |bits| Some(Type { bits, signed: true });
    let unsigned = |bits| Some(Type { bits, signed: false });
    match word {
        "int" | "atomic_int" | "atomic_t" | "int32_t" => signed(32),
        "atomic_uint" | "uint32_t" => unsigned(32),
        "atomic_long" | "atomic_llong" | "int64_t" | "intptr_t" => signed(64),
        "atomic_ulong" | "atomic_ullong" | "uint64_t" | "uintptr_t" => unsigned(64),
        "short" | "int16_t" | "atomic_short" => signed(16),
        "uint16_t" | "atomic_ushort" => unsigned(16),
        "char" | "int8_t" | "atomic_char" => signed(8),
        "uint8_t" | "atomic_uchar" => unsigned(8),
        "bool" | "_Bool" | "atomic_bool" => signed(1),
        "__int128" | "__int128_t" => signed(128),
        "__uint128_t" => unsigned(128),
        _ => None,
    }
}

/// A type, if one stands here, without the stars behind it, and its span.
pub(super) fn read_type(reader: &mut Reader<'_, '_>) -> Read<Option<(Type, Span)>> {
    let start = reader.span();
    let (mut base, mut longs, mut unsigned, mut any) = (None, 0, false, false);
    while is_type(reader.token()) {
        // A location may be called like a type of few words: `{ int long; }` is none of ours.
        any = true;
        let token = reader.advance();
        match token.text {
            "const" | "volatile" | "signed" => {}
            "_Atomic" => {
                if reader.eat("(") {
                    let inner = read_type(reader)?;
                    base = base.or(inner.map(|(of, _)| of));
                    reader.expect(")")?;
                }
            }
            "unsigned" => unsigned = true,
            "long" => longs += 1,
            word => base = base.or(named(word)),
        }
    }
    let of = match (longs > 0, base) {
        (true, _) => Type { bits: 64, signed: true },
        (_, base) => base.unwrap_or(Type::INT),
    };
    let signed = of.signed && !unsigned;
    Ok(any.then(|| (Type { signed, ..of }, start.to(reader.last_span()))))
}
