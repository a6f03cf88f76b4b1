//! What stands outside of functions: globals, aliases, targets, assembly.

use super::lexer::{Token, unescape};
use super::{Fault, Parsed, Parser};
use crate::constant::ConstId;
use crate::layout::DataLayout;
use crate::module::{
    Alias, AliasId, FunctionId, Global, GlobalId, IFunc, IFuncId, Linkage, Symbol,
};
use crate::types::Type;

/// A linkage by its name.
pub(super) fn linkage(word: &str) -> Option<Linkage> {
    Some(match word {
        "private" => Linkage::Private,
        "internal" => Linkage::Internal,
        "available_externally" => Linkage::AvailableExternally,
        "linkonce" => Linkage::LinkOnce,
        "linkonce_odr" => Linkage::LinkOnceOdr,
        "weak" => Linkage::Weak,
        "weak_odr" => Linkage::WeakOdr,
        "common" => Linkage::Common,
        "appending" => Linkage::Appending,
        "extern_weak" => Linkage::ExternWeak,
        "external" => Linkage::External,
        _ => return None,
    })
}

pub(super) fn text(raw: &str) -> Box<str> {
    String::from_utf8_lossy(&unescape(raw)).into()
}

impl<'a> Parser<'a> {
    /// The whole text.
    pub(super) fn module(&mut self) -> Parsed<()> {
        self.advance()?;
        loop {
            match self.token {
                Token::End => return Ok(()),
                Token::Word("source_filename") => {
                    self.advance()?;
                    self.need(b'=')?;
                    self.source_file = text(self.string("a file's name")?);
                }
                Token::Word("target") => self.target()?,
                Token::Word("module") => {
                    self.advance()?;
                    self.need_word("asm")?;
                    let line = text(self.string("assembly")?);
                    self.assembly.push(line);
                }
                Token::Word("declare") => self.declaration()?,
                Token::Word("define") => self.definition()?,
                Token::Word("attributes") => self.attribute_group()?,
                Token::Word("uselistorder" | "uselistorder_bb") => self.use_list_order()?,
                Token::Local(_) => self.type_definition()?,
                Token::Global(_) => self.global()?,
                Token::Comdat => {
                    self.advance()?;
                    self.need(b'=')?;
                    self.need_word("comdat")?;
                    match self.token {
                        Token::Word(_) => self.advance()?,
                        _ => return self.expected("how a comdat is chosen"),
                    };
                }
                Token::MetaId(_) | Token::MetaName(_) => self.metadata_definition()?,
                // Summaries of modules: `^0 = module: (…)`.
                Token::Punct(b'^') => self.summary()?,
                _ => return self.expected("a definition"),
            }
        }
    }

    fn target(&mut self) -> Parsed<()> {
        self.need_word("target")?;
        match self.advance()? {
            Token::Word("datalayout") => {
                self.need(b'=')?;
                let at = self.at;
                let layout = text(self.string("a data layout")?);
                self.layout = DataLayout::parse(&layout)
                    .map_err(|part| Fault { at, message: format!("cannot read {part}") })?;
            }
            Token::Word("triple") => {
                self.need(b'=')?;
                self.target_triple = text(self.string("a target")?);
            }
            _ => return self.fault("expected `datalayout` or `triple` after `target`"),
        }
        Ok(())
    }

    fn summary(&mut self) -> Parsed<()> {
        self.need(b'^')?;
        self.unsigned("a number")?;
        self.need(b'=')?;
        let Token::Label(_) = self.token else { return self.expected("a summary") };
        self.advance()?;
        match self.token {
            Token::Punct(b'(') => self.skip_balanced(),
            Token::Int(_) => self.advance().map(|_| ()),
            _ => self.expected("a summary"),
        }
    }

    /// `uselistorder i32 %x, { 1, 0 }`
    pub(super) fn use_list_order(&mut self) -> Parsed<()> {
        while !self.is(b'{') {
            match self.token {
                Token::End => return self.expected("`{`"),
                Token::Punct(b'(' | b'[') => self.skip_balanced()?,
                _ => {
                    self.advance()?;
                }
            }
        }
        self.skip_balanced()
    }

    /// A global variable, alias or indirect function.
    fn global(&mut self) -> Parsed<()> {
        let Token::Global(name) = self.token else { return self.expected("a global") };
        let (at, line) = (self.at, self.line);
        self.advance()?;
        self.need(b'=')?;
        let symbol = self.symbol(name, at);
        let mut global = Global {
            name: name.decode().into(),
            ty: self.types.intern(Type::Void),
            space: 0,
            init: None,
            constant: false,
            thread_local: false,
            align: None,
            linkage: Linkage::External,
            line,
            debug: None,
        };
        let mut declared_only = false;
        loop {
            match self.token {
                Token::Word("global") => {
                    self.advance()?;
                    break;
                }
                Token::Word("constant") => {
                    self.advance()?;
                    global.constant = true;
                    break;
                }
                Token::Word("alias") => return self.alias(symbol, at, global),
                Token::Word("ifunc") => return self.ifunc(symbol, at, global),
                Token::Word("addrspace") => global.space = self.address_space()?,
                Token::Word(word) => {
                    if let Some(linkage) = linkage(word) {
                        global.linkage = linkage;
                        declared_only = matches!(word, "external" | "extern_weak");
                    }
                    global.thread_local |= word == "thread_local";
                    self.attribute()?;
                }
                _ => return self.expected("`global`, `constant` or `alias`"),
            }
        }
        let ty_at = self.at;
        global.ty = self.ty()?;
        if matches!(
            self.types.get(global.ty),
            Type::Void | Type::Label | Type::Metadata | Type::Token | Type::Function { .. }
        ) {
            let message = format!("a variable of type `{}`", self.types.show(global.ty));
            return Err(Fault { at: ty_at, message });
        }
        if !declared_only {
            global.init = Some(self.constant_of(global.ty)?);
        }
        self.global_properties(&mut global)?;
        let id = self.globals.len() as u32;
        self.define_symbol(symbol, at, Symbol::Global(GlobalId(id)))?;
        self.globals.push(global);
        Ok(())
    }

    fn global_properties(&mut self, global: &mut Global) -> Parsed<()> {
        let id = self.globals.len() as u32;
        loop {
            match self.token {
                Token::Punct(b',') => {
                    self.advance()?;
                    match self.token {
                        Token::Word("align") => global.align = self.alignment()?,
                        Token::Word("section" | "partition" | "code_model") => {
                            self.advance()?;
                            self.string("a name")?;
                        }
                        Token::Word(_) => {
                            self.attribute()?;
                        }
                        Token::MetaName(_) => {
                            let mut debug = None;
                            self.attachment(&mut debug)?;
                            self.global_debug.extend(debug.map(|debug| (id, debug)));
                        }
                        _ => return self.expected("a property of the variable"),
                    }
                }
                Token::Group(_) => {
                    self.advance()?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// `alias T, ptr @target`
    fn alias(&mut self, symbol: u32, at: usize, global: Global) -> Parsed<()> {
        self.advance()?;
        let target = self.indirect_target()?;
        let id = AliasId(self.aliases.len() as u32);
        self.define_symbol(symbol, at, Symbol::Alias(id))?;
        self.aliases.push(Alias { name: global.name, target, linkage: global.linkage });
        Ok(())
    }

    fn ifunc(&mut self, symbol: u32, at: usize, global: Global) -> Parsed<()> {
        self.advance()?;
        let resolver = self.indirect_target()?;
        let id = IFuncId(self.ifuncs.len() as u32);
        self.define_symbol(symbol, at, Symbol::IFunc(id))?;
        self.ifuncs.push(IFunc { name: global.name, resolver, linkage: global.linkage });
        Ok(())
    }

    fn indirect_target(&mut self) -> Parsed<ConstId> {
        self.ty()?;
        self.need(b',')?;
        let at = self.at;
        let target = match self.at_type() {
            true => self.typed_constant()?,
            // `alias i32, bitcast (…)` leaves the type out.
            false => {
                let pointer = self.types.intern(Type::Ptr(0));
                self.constant_of(pointer)?
            }
        };
        let ty = self.constants[target.index()].ty;
        if !matches!(self.types.get(ty), Type::Ptr(_)) {
            return Err(Fault { at, message: "an alias for something that is no address".into() });
        }
        while self.is(b',') {
            self.advance()?;
            self.need_word("partition")?;
            self.string("a name")?;
        }
        Ok(target)
    }

    /// `declare …`
    fn declaration(&mut self) -> Parsed<()> {
        self.need_word("declare")?;
        let mut debug = None;
        while let Token::MetaName(_) = self.token {
            self.attachment(&mut debug)?;
        }
        let (function, _) = self.function_header()?;
        self.function_debug.extend(debug.map(|debug| (self.functions.len() as u32, debug)));
        self.functions.push(function);
        Ok(())
    }

    /// `define … { … }`
    fn definition(&mut self) -> Parsed<()> {
        self.need_word("define")?;
        let (function, names) = self.function_header()?;
        let mut debug = None;
        while let Token::MetaName(_) = self.token {
            self.attachment(&mut debug)?;
        }
        let id = FunctionId(self.functions.len() as u32);
        self.function_debug.extend(debug.map(|debug| (id.0, debug)));
        let function = self.function_body(function, names)?;
        self.functions.push(function);
        Ok(())
    }
}
