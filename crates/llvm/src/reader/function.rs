//! Functions: headers, blocks, and the registers and blocks they name.
//!
//! Values without a name are numbered in the order of the text, and so are blocks: parameters, then the first block,
//! then whatever follows. A number in the text may be larger than the next one (LLVM 20 allows gaps).

use super::lexer::{Name, Token};
use super::metadata::MetaValue;
use super::{Fault, Parsed, Parser};
use crate::instruction::{Instr, InstrKind, Local, Operand};
use crate::module::{
    Block, BlockId, Function, FunctionId, Holds, Linkage, LocalInfo, Param, Symbol,
};
use crate::types::{Ty, Type};
use std::collections::HashMap;

/// A register's or block's name: `%x` or `%12`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key<'a> {
    Text(&'a str),
    Number(u32),
}

impl<'a> Key<'a> {
    fn of(name: Name<'a>) -> Key<'a> {
        let digits = name.text.bytes().all(|byte| byte.is_ascii_digit());
        match name.text.parse() {
            Ok(number)
                if digits && !name.quoted && (name.text == "0" || !name.text.starts_with('0')) =>
            {
                Key::Number(number)
            }
            _ => Key::Text(name.text),
        }
    }

    fn show(self) -> Box<str> {
        match self {
            Key::Text(text) => Name { text, quoted: true }.decode().into(),
            Key::Number(number) => number.to_string().into(),
        }
    }
}

struct LocalState {
    defined: bool,
    /// The offset of the first mention.
    at: usize,
}

/// A variable's debug record, before the metadata is known.
pub(super) struct RawVariable<'a> {
    pub(super) storage: Operand,
    pub(super) holds: Holds,
    pub(super) variable: MetaValue<'a>,
    pub(super) expression: MetaValue<'a>,
    pub(super) from: (BlockId, u32),
}

/// What is known of the function that is being read.
#[derive(Default)]
pub(super) struct Body<'a> {
    locals: Vec<LocalInfo>,
    local_states: Vec<LocalState>,
    local_ids: HashMap<Key<'a>, Local>,
    pub(super) blocks: Vec<Block>,
    block_states: Vec<LocalState>,
    block_ids: HashMap<Key<'a>, BlockId>,
    /// The blocks in the order of the text.
    order: Vec<BlockId>,
    /// The number of the next value or block without a name.
    number: u32,
    /// The block that instructions go to.
    pub(super) current: Option<BlockId>,
    pub(super) ret: Option<Ty>,
}

/// Each phi has a value for every block that control may come from, and the first block has no phi.
fn check_phis(body: &Body) -> Parsed<()> {
    let wrong = |block: BlockId, message: String| {
        Err(Fault { at: body.block_states[block.index()].at, message })
    };
    let phis = |block: BlockId| {
        let instrs = body.blocks[block.index()].instrs.iter();
        instrs.map_while(|instr| match &instr.kind {
            InstrKind::Phi { incoming, .. } => Some(incoming),
            _ => None,
        })
    };
    if phis(BlockId::ENTRY).next().is_some() {
        return wrong(BlockId::ENTRY, "a phi in the first block".into());
    }
    let mut edges = Vec::new();
    for (index, block) in body.blocks.iter().enumerate() {
        let from = BlockId(index as u32);
        let Some(last) = block.instrs.last() else { continue };
        last.kind.successors(|to| {
            if phis(to).next().is_some() {
                edges.push((from, to));
            }
        });
    }
    edges.sort_by_key(|&(from, to)| (to, from));
    edges.dedup();
    let mut listed: Vec<BlockId> = Vec::new();
    let mut last = None;
    for (from, to) in edges {
        if last != Some(to) {
            last = Some(to);
            // The blocks that all phis of the block list.
            let mut all = phis(to).map(|incoming| {
                let mut blocks: Vec<BlockId> = incoming.iter().map(|it| it.1).collect();
                blocks.sort();
                blocks
            });
            listed = all.next().unwrap_or_default();
            for other in all {
                listed.retain(|block| other.binary_search(block).is_ok());
            }
        }
        if listed.binary_search(&from).is_err() {
            let from = &body.blocks[from.index()].name;
            return wrong(to, format!("a phi of this block has no value for the block `%{from}`"));
        }
    }
    Ok(())
}

impl<'a> Parser<'a> {
    /// Everything up to the body, and the names of the parameters.
    pub(super) fn function_header(&mut self) -> Parsed<(Function, Vec<Option<Name<'a>>>)> {
        let line = self.line;
        let mut linkage = Linkage::External;
        if let Token::Word(word) = self.token
            && let Some(found) = super::globals::linkage(word)
        {
            linkage = found;
        }
        self.result_attributes()?;
        let ret_at = self.at;
        let ret = self.ty()?;
        if matches!(
            self.types.get(ret),
            Type::Function { .. } | Type::Label | Type::Metadata | Type::Opaque
        ) && self.types.name(ret).is_none()
        {
            let message = format!("a function that returns `{}`", self.types.show(ret));
            return Err(Fault { at: ret_at, message });
        }
        let Token::Global(name) = self.token else { return self.expected("a function's name") };
        let at = self.at;
        self.advance()?;
        let symbol = self.symbol(name, at);
        let id = FunctionId(self.functions.len() as u32);
        self.define_symbol(symbol, at, Symbol::Function(id))?;
        let (params, names, varargs) = self.parameters()?;
        let types = params.iter().map(|param| param.ty).collect();
        let ty = self.types.intern(Type::Function { ret, params: types, varargs });
        let declared = Function::declared(name.decode().into(), ty, ret, params, varargs);
        let mut function = Function { linkage, line, ..declared };
        self.function_properties(&mut function, id)?;
        Ok((function, names))
    }

    #[allow(clippy::type_complexity)] // Three lists, taken apart at once.
    fn parameters(&mut self) -> Parsed<(Vec<Param>, Vec<Option<Name<'a>>>, bool)> {
        let mut params = Vec::new();
        let mut names = Vec::new();
        self.need(b'(')?;
        while !self.is(b')') {
            if self.token == Token::Dots {
                self.advance()?;
                self.need(b')')?;
                return Ok((params, names, true));
            }
            let at = self.at;
            let ty = self.ty()?;
            if matches!(self.types.get(ty), Type::Void | Type::Function { .. } | Type::Label) {
                let message = format!("a parameter of type `{}`", self.types.show(ty));
                return Err(Fault { at, message });
            }
            let found = self.param_attributes()?;
            params.push(Param { ty, byval: found.byval, sret: found.sret });
            names.push(match self.token {
                Token::Local(name) => {
                    self.advance()?;
                    Some(name)
                }
                _ => None,
            });
            if !self.eat(b',')? {
                break;
            }
        }
        self.need(b')')?;
        Ok((params, names, false))
    }

    /// What stands between the parameters and the body.
    fn function_properties(&mut self, function: &mut Function, id: FunctionId) -> Parsed<()> {
        loop {
            match self.token {
                Token::Word(
                    "declare" | "define" | "attributes" | "target" | "source_filename" | "module"
                    | "uselistorder" | "uselistorder_bb",
                ) => return Ok(()),
                Token::Word("section" | "partition" | "gc") => {
                    self.advance()?;
                    self.string("a name")?;
                }
                Token::Word("prefix" | "prologue" | "personality") => {
                    self.advance()?;
                    self.typed_constant()?;
                }
                Token::Word(_) => function.noreturn |= self.attribute()? == "noreturn",
                Token::Str(_) => self.string_attribute()?,
                Token::Group(group) => {
                    self.advance()?;
                    self.function_groups.push((id.0, group));
                }
                _ => return Ok(()),
            }
        }
    }

    /// `{ … }`
    pub(super) fn function_body(
        &mut self,
        mut function: Function,
        names: Vec<Option<Name<'a>>>,
    ) -> Parsed<Function> {
        self.need(b'{')?;
        self.body = Body { ret: Some(function.ret), ..Body::default() };
        for (param, name) in function.params.iter().zip(names) {
            self.define_local(name, param.ty, self.at)?;
        }
        while !self.is(b'}') {
            match self.token {
                Token::Label(name) => {
                    let at = self.at;
                    self.advance()?;
                    self.start_block(Key::of(name), at)?;
                }
                Token::Word("uselistorder") => self.use_list_order()?,
                Token::Record(kind) => self.debug_record(kind)?,
                Token::End => return self.expected("`}`"),
                _ => {
                    self.implicit_block()?;
                    self.instruction()?;
                }
            }
        }
        if self.body.current.is_some() {
            return self.fault("the last block has no terminator");
        }
        if self.body.blocks.is_empty() {
            return self.fault("a function without blocks");
        }
        self.advance()?;
        let body = std::mem::take(&mut self.body);
        for (state, local) in body.local_states.iter().zip(&body.locals) {
            if !state.defined {
                let message = format!("`%{}` is used and not defined", local.name);
                return Err(Fault { at: state.at, message });
            }
        }
        for (state, block) in body.block_states.iter().zip(&body.blocks) {
            if !state.defined {
                let message = format!("the block `%{}` does not exist", block.name);
                return Err(Fault { at: state.at, message });
            }
        }
        check_phis(&body)?;
        function.locals = body.locals;
        function.blocks = self.in_text_order(body.blocks, &body.order);
        Ok(function)
    }

    /// Blocks got their index when they were first mentioned; they keep the order of the text.
    fn in_text_order(&mut self, mut blocks: Vec<Block>, order: &[BlockId]) -> Vec<Block> {
        let mut new = vec![BlockId::ENTRY; blocks.len()];
        for (index, block) in order.iter().enumerate() {
            new[block.index()] = BlockId(index as u32);
        }
        let rename = |block: BlockId| new[block.index()];
        for instr in blocks.iter_mut().flat_map(|block| &mut block.instrs) {
            instr.kind.rename_blocks(rename);
        }
        let id = self.functions.len() as u32;
        for (_, variable) in self.variables.iter_mut().rev().take_while(|it| it.0 == id) {
            if let Some(&block) = new.get(variable.from.0.index()) {
                variable.from.0 = block;
            }
        }
        order.iter().map(|block| std::mem::take(&mut blocks[block.index()])).collect()
    }

    // Blocks.

    /// The block of a name.
    fn block(&mut self, key: Key<'a>, at: usize) -> BlockId {
        let body = &mut self.body;
        if let Some(&known) = body.block_ids.get(&key) {
            return known;
        }
        let new = BlockId(body.blocks.len() as u32);
        body.blocks.push(Block { name: key.show(), instrs: Vec::new() });
        body.block_states.push(LocalState { defined: false, at });
        body.block_ids.insert(key, new);
        new
    }

    /// `%name`, the name of a block that control comes from.
    pub(super) fn predecessor(&mut self) -> Parsed<BlockId> {
        let Token::Local(name) = self.token else { return self.expected("a block") };
        let block = self.block(Key::of(name), self.at);
        self.advance()?;
        Ok(block)
    }

    /// `label %name`, where control goes.
    pub(super) fn label(&mut self) -> Parsed<BlockId> {
        self.need_word("label")?;
        let at = self.at;
        match self.predecessor()? {
            BlockId::ENTRY => Err(Fault { at, message: "a jump to the first block".into() }),
            block => Ok(block),
        }
    }

    fn start_block(&mut self, key: Key<'a>, at: usize) -> Parsed<()> {
        if self.body.current.is_some() {
            return Err(Fault { at, message: "the block before has no terminator".into() });
        }
        if let Key::Number(number) = key {
            self.count(number, at)?;
        }
        let block = self.block(key, at);
        let state = &mut self.body.block_states[block.index()];
        if std::mem::replace(&mut state.defined, true) {
            return Err(Fault { at, message: format!("the block `{}` exists twice", key.show()) });
        }
        self.body.current = Some(block);
        self.body.order.push(block);
        Ok(())
    }

    /// Starts a block without a label where an instruction comes after a terminator.
    fn implicit_block(&mut self) -> Parsed<()> {
        if self.body.current.is_some() {
            return Ok(());
        }
        self.start_block(Key::Number(self.body.number), self.at)
    }

    /// A number was given to a value or block.
    fn count(&mut self, number: u32, at: usize) -> Parsed<()> {
        if number < self.body.number || number == u32::MAX {
            let message = format!("the number {number} is out of order");
            return Err(Fault { at, message });
        }
        self.body.number = number + 1;
        Ok(())
    }

    // Registers.

    fn local(&mut self, key: Key<'a>, ty: Ty, at: usize) -> Parsed<Local> {
        let body = &mut self.body;
        if let Some(&known) = body.local_ids.get(&key) {
            let has = body.locals[known.index()].ty;
            if has != ty {
                let (has, wanted) = (self.types.show(has), self.types.show(ty));
                let message = format!("`%{}` has the type `{has}`, not `{wanted}`", key.show());
                return Err(Fault { at, message });
            }
            return Ok(known);
        }
        let new = Local(body.locals.len() as u32);
        body.locals.push(LocalInfo { name: key.show(), ty });
        body.local_states.push(LocalState { defined: false, at });
        body.local_ids.insert(key, new);
        Ok(new)
    }

    fn define_local(&mut self, name: Option<Name<'a>>, ty: Ty, at: usize) -> Parsed<Local> {
        let key = name.map_or(Key::Number(self.body.number), Key::of);
        if let Key::Number(number) = key {
            self.count(number, at)?;
        }
        let local = self.local(key, ty, at)?;
        let state = &mut self.body.local_states[local.index()];
        if std::mem::replace(&mut state.defined, true) {
            return Err(Fault { at, message: format!("`%{}` is defined twice", key.show()) });
        }
        Ok(local)
    }

    /// An operand of a type that is known already.
    pub(super) fn operand(&mut self, ty: Ty) -> Parsed<Operand> {
        match self.token {
            Token::Local(name) => {
                let local = self.local(Key::of(name), ty, self.at)?;
                self.advance()?;
                Ok(Operand::Local(local))
            }
            _ if *self.types.get(ty) == Type::Metadata => self.expected("a value"),
            _ => Ok(Operand::Const(self.constant_of(ty)?)),
        }
    }

    /// A type and an operand of that type.
    pub(super) fn typed_operand(&mut self) -> Parsed<(Ty, Operand)> {
        let ty = self.ty()?;
        Ok((ty, self.operand(ty)?))
    }

    /// An instruction with its result and its metadata.
    fn instruction(&mut self) -> Parsed<()> {
        let (at, line) = (self.at, self.line);
        let name = match self.token {
            Token::Local(name) => {
                self.advance()?;
                self.need(b'=')?;
                Some(name)
            }
            _ => None,
        };
        let Token::Word(opcode) = self.token else { return self.expected("an instruction") };
        let parsed = self.instruction_kind(opcode)?;
        let debug = self.attachments()?;
        let Some((kind, ty)) = parsed else {
            return match name {
                Some(_) => Err(Fault { at, message: "a debug record has no result".into() }),
                None => Ok(()),
            };
        };
        let result = match ty.filter(|&ty| *self.types.get(ty) != Type::Void) {
            Some(ty) => Some(self.define_local(name, ty, at)?),
            None if name.is_some() => {
                return Err(Fault { at, message: format!("`{opcode}` has no result") });
            }
            None => None,
        };
        let place = debug.map(|debug| self.place(debug));
        self.push(Instr { result, kind, at: place, line }, at)
    }

    fn push(&mut self, instr: Instr, at: usize) -> Parsed<()> {
        let Some(block) = self.body.current else {
            return Err(Fault { at, message: "an instruction outside of blocks".into() });
        };
        let instrs = &mut self.body.blocks[block.index()].instrs;
        let late = matches!(instr.kind, InstrKind::Phi { .. })
            && instrs.last().is_some_and(|last| !matches!(last.kind, InstrKind::Phi { .. }));
        if late {
            return Err(Fault { at, message: "a phi after other instructions".into() });
        }
        let ends = instr.kind.is_terminator();
        instrs.push(instr);
        if ends {
            self.body.current = None;
        }
        Ok(())
    }
}
