//! Text to [`Module`].
//!
//! One pass over the text makes types, constants, globals and functions. Names may be used before they are defined:
//! types, registers and blocks get their index at the first mention, symbols (`@name`) and metadata are resolved when
//! the text is over (`finish`, `source`). Everything that nests (types, constants, metadata) has a depth limit, and
//! nothing else recurses.
//!
//! The reader checks what a machine relies on: operands have the types their instruction says, paths into structs and
//! arrays exist, blocks end with a terminator, every name is defined. It does not check dominance, or calls against the
//! type of the callee.

mod attributes;
mod calls;
mod checks;
mod constants;
mod finish;
mod function;
mod globals;
mod instructions;
mod lexer;
mod memory;
mod metadata;
mod number;
mod source;
mod types;

use crate::constant::{ConstId, Constant};
use crate::error::Error;
use crate::layout::DataLayout;
use crate::module::{Alias, Function, Global, IFunc, Module, Symbol};
use crate::types::{Ty, Types};
use function::{Body, RawVariable};
use lexer::{Lexer, Name, Token};
use metadata::{MetaValue, Nodes};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// How deep types, constants and metadata may nest.
const DEPTH: u32 = 200;

/// Reads a module. `name` is what messages call the file.
pub fn parse(name: &str, text: &str) -> Result<Module, Error> {
    let mut parser = Parser::new(text);
    let fault = match parser.module() {
        Ok(()) => match parser.finish() {
            Ok(module) => return Ok(module),
            Err(fault) => fault,
        },
        Err(fault) => fault,
    };
    let (line, column) = position(text, fault.at);
    Err(Error { file: name.into(), line, column, message: fault.message })
}

/// Reads a file of IR.
pub fn read(path: &std::path::Path) -> Result<Module, Error> {
    let name = path.display().to_string();
    let refuse =
        |message: String| Error { file: name.as_str().into(), line: 0, column: 0, message };
    let bytes = std::fs::read(path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    // Bitcode starts with "BC" 0xC0DE, or with a wrapper around that.
    if bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(&[0xde, 0xc0, 0x17, 0x0b]) {
        return Err(refuse("this is bitcode, not text: `llvm-dis` makes text of it".into()));
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        refuse(format!("this is no text: line {} is not UTF-8", line + 1))
    })?;
    parse(&name, text)
}

fn position(text: &str, at: usize) -> (u32, u32) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    (line as u32, (before.len() - start + 1) as u32)
}

/// What is wrong, and the offset where.
struct Fault {
    at: usize,
    message: String,
}

type Parsed<T> = Result<T, Fault>;

impl From<lexer::LexError> for Fault {
    fn from(error: lexer::LexError) -> Fault {
        Fault { at: error.at, message: error.message }
    }
}

/// A name with `@`: mentioned, perhaps defined.
struct SymbolState<'a> {
    name: Cow<'a, str>,
    defined: Option<Symbol>,
    /// The offset of the first mention.
    at: usize,
}

struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// The next token.
    token: Token<'a>,
    /// The offset and line of the next token.
    at: usize,
    line: u32,
    depth: u32,

    source_file: Box<str>,
    target_triple: Box<str>,
    layout: DataLayout,
    types: Types,
    /// Named types that have a body or are declared opaque, and the first mention of each.
    type_defined: HashSet<Ty>,
    type_mentioned: HashMap<Ty, usize>,
    constants: Vec<Constant>,
    constant_ids: HashMap<Constant, ConstId>,
    symbols: Vec<SymbolState<'a>>,
    symbol_ids: HashMap<Cow<'a, str>, u32>,
    /// Constants that are references to symbols.
    references: HashMap<(u32, Ty), ConstId>,
    /// Constants that are addresses of blocks: function, block, offset of the mention.
    block_addresses: Vec<(ConstId, u32, Cow<'a, str>, usize)>,
    globals: Vec<Global>,
    functions: Vec<Function>,
    ifuncs: Vec<IFunc>,
    aliases: Vec<Alias>,
    assembly: Vec<Box<str>>,
    annotated: bool,
    body: Body<'a>,

    nodes: Nodes<'a>,
    /// `!dbg` of globals, functions and instructions, resolved when the metadata is known.
    global_debug: Vec<(u32, MetaValue<'a>)>,
    function_debug: Vec<(u32, MetaValue<'a>)>,
    places: HashMap<MetaValue<'a>, crate::PlaceId>,
    place_nodes: Vec<MetaValue<'a>>,
    variables: Vec<(u32, RawVariable<'a>)>,
    /// Groups of attributes that functions may have, by number: never returns.
    noreturn_groups: HashMap<u32, bool>,
    function_groups: Vec<(u32, u32)>,
    /// Intrinsics that are called, and their types: since LLVM 18 they need no declaration.
    intrinsics: HashMap<u32, Ty>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parser<'a> {
        Parser {
            text,
            lexer: Lexer::new(text),
            token: Token::End,
            at: 0,
            line: 1,
            depth: 0,
            source_file: Box::default(),
            target_triple: Box::default(),
            layout: DataLayout::default(),
            types: Types::default(),
            type_defined: HashSet::new(),
            type_mentioned: HashMap::new(),
            constants: Vec::new(),
            constant_ids: HashMap::new(),
            symbols: Vec::new(),
            symbol_ids: HashMap::new(),
            references: HashMap::new(),
            block_addresses: Vec::new(),
            globals: Vec::new(),
            functions: Vec::new(),
            ifuncs: Vec::new(),
            aliases: Vec::new(),
            assembly: Vec::new(),
            annotated: false,
            body: Body::default(),
            nodes: Nodes::default(),
            global_debug: Vec::new(),
            function_debug: Vec::new(),
            places: HashMap::new(),
            place_nodes: Vec::new(),
            variables: Vec::new(),
            noreturn_groups: HashMap::new(),
            function_groups: Vec::new(),
            intrinsics: HashMap::new(),
        }
    }

    // Tokens.

    fn advance(&mut self) -> Parsed<Token<'a>> {
        let (at, token) = self.lexer.next()?;
        self.at = at;
        // Only strings span lines, and a string's line is of no use.
        self.line = self.lexer.line;
        Ok(std::mem::replace(&mut self.token, token))
    }

    /// The token after the next one.
    fn second(&self) -> Token<'a> {
        let mut lexer = self.lexer;
        lexer.next().map_or(Token::End, |(_, token)| token)
    }

    fn fault<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(Fault { at: self.at, message: message.into() })
    }

    /// Refuses the next token, saying what should have been there.
    fn expected<T>(&self, what: &str) -> Parsed<T> {
        let found = match self.token {
            Token::End => "the end of the file".to_string(),
            _ => {
                let rest = &self.text[self.at..];
                let mut end = self.lexer.clone().next().map_or(rest.len(), |(at, _)| at - self.at);
                end = end.min(40);
                while !rest.is_char_boundary(end) {
                    end -= 1;
                }
                let shown = rest[..end].split(['\n', ';']).next().unwrap_or_default();
                format!("`{}`", shown.trim_end())
            }
        };
        self.fault(format!("expected {what}, found {found}"))
    }

    fn is(&self, punct: u8) -> bool {
        self.token == Token::Punct(punct)
    }

    fn is_word(&self, word: &str) -> bool {
        self.token == Token::Word(word)
    }

    fn eat(&mut self, punct: u8) -> Parsed<bool> {
        let there = self.is(punct);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn eat_word(&mut self, word: &str) -> Parsed<bool> {
        let there = self.is_word(word);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn need(&mut self, punct: u8) -> Parsed<()> {
        match self.eat(punct)? {
            true => Ok(()),
            false => self.expected(&format!("`{}`", punct as char)),
        }
    }

    fn need_word(&mut self, word: &str) -> Parsed<()> {
        match self.eat_word(word)? {
            true => Ok(()),
            false => self.expected(&format!("`{word}`")),
        }
    }

    fn string(&mut self, what: &str) -> Parsed<&'a str> {
        match self.token {
            Token::Str(text) => {
                self.advance()?;
                Ok(text)
            }
            _ => self.expected(what),
        }
    }

    fn unsigned(&mut self, what: &str) -> Parsed<u64> {
        match self.token {
            Token::Int(text) => match text.parse() {
                Ok(number) => {
                    self.advance()?;
                    Ok(number)
                }
                Err(_) => self.expected(what),
            },
            _ => self.expected(what),
        }
    }

    /// Runs a parser one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH {
            return self.fault(format!("nested more than {DEPTH} levels deep"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Skips from an opening bracket to its closing one.
    fn skip_balanced(&mut self) -> Parsed<()> {
        let mut open = 0usize;
        loop {
            match self.token {
                Token::Punct(b'(' | b'[' | b'{') => open += 1,
                Token::Punct(b')' | b']' | b'}') => match open {
                    0 => return self.expected("an opening bracket"),
                    _ => open -= 1,
                },
                Token::End => return self.expected("a closing bracket"),
                _ => {}
            }
            self.advance()?;
            if open == 0 {
                return Ok(());
            }
        }
    }

    // Symbols.

    fn symbol(&mut self, name: Name<'a>, at: usize) -> u32 {
        let name = name.decode();
        if let Some(&known) = self.symbol_ids.get(&name) {
            return known;
        }
        let new = self.symbols.len() as u32;
        self.symbols.push(SymbolState { name: name.clone(), defined: None, at });
        self.symbol_ids.insert(name, new);
        new
    }

    fn define_symbol(&mut self, symbol: u32, at: usize, is: Symbol) -> Parsed<()> {
        let state = &mut self.symbols[symbol as usize];
        if state.defined.is_some() {
            let message = format!("`@{}` is defined twice", state.name);
            return Err(Fault { at, message });
        }
        state.defined = Some(is);
        Ok(())
    }

    fn constant(&mut self, constant: Constant) -> ConstId {
        if let Some(&known) = self.constant_ids.get(&constant) {
            return known;
        }
        let new = ConstId(self.constants.len() as u32);
        self.constants.push(constant.clone());
        self.constant_ids.insert(constant, new);
        new
    }
}
