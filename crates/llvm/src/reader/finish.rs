//! What is left to do when the text is over: symbols, aliases, sizes, debug information.

use super::{Fault, Parsed, Parser};
use crate::constant::{ConstId, ConstantKind};
use crate::instruction::{Callee, InstrKind, Operand};
use crate::layout::{Layouts, Unmeasurable};
use crate::module::{BlockId, Function, FunctionId, Module, Param, Symbol};
use crate::types::{Ty, Type};
use std::collections::HashMap;

impl<'a> Parser<'a> {
    pub(super) fn finish(mut self) -> Parsed<Module> {
        self.check_types()?;
        self.declare_intrinsics()?;
        self.resolve_references()?;
        self.resolve_block_addresses()?;
        for (function, group) in std::mem::take(&mut self.function_groups) {
            let noreturn = self.noreturn_groups.get(&group).copied().unwrap_or(false);
            self.functions[function as usize].noreturn |= noreturn;
        }
        self.resolve_callees();
        let layouts = self.measure()?;
        let (debug, optimised) = self.debug();
        let symbols = std::mem::take(&mut self.symbols);
        let symbols = symbols.into_iter().filter_map(|it| Some((it.name.into(), it.defined?)));
        Ok(Module {
            source_file: self.source_file,
            target_triple: self.target_triple,
            layout: self.layout,
            types: self.types,
            layouts,
            constants: self.constants,
            globals: self.globals,
            functions: self.functions,
            ifuncs: self.ifuncs,
            aliases: self.aliases,
            assembly: self.assembly,
            debug,
            optimised,
            symbols: symbols.collect(),
        })
    }

    /// Every named type that is mentioned is defined.
    fn check_types(&self) -> Parsed<()> {
        let undefined =
            self.type_mentioned.iter().filter(|(ty, _)| !self.type_defined.contains(ty));
        match undefined.min_by_key(|(_, at)| **at) {
            Some((ty, &at)) => {
                let message = format!("the type `{}` is not defined", self.types.show(*ty));
                Err(Fault { at, message })
            }
            None => Ok(()),
        }
    }

    /// Declares the intrinsics that are called without a declaration.
    fn declare_intrinsics(&mut self) -> Parsed<()> {
        let mut missing: Vec<(u32, Ty)> =
            std::mem::take(&mut self.intrinsics).into_iter().collect();
        missing.retain(|it| self.symbols[it.0 as usize].defined.is_none());
        missing.sort();
        for (symbol, ty) in missing {
            let Type::Function { ret, params, varargs } = self.types.get(ty) else { continue };
            let (ret, varargs) = (*ret, *varargs);
            let param = |&ty| Param { ty, byval: None, sret: None };
            let params = params.iter().map(param).collect();
            let state = &self.symbols[symbol as usize];
            let (name, at) = (state.name.as_ref().into(), state.at);
            let id = FunctionId(self.functions.len() as u32);
            self.define_symbol(symbol, at, Symbol::Function(id))?;
            self.functions.push(Function::declared(name, ty, ret, params, varargs));
        }
        Ok(())
    }

    /// Replaces symbols in constants by what they stand for.
    fn resolve_references(&mut self) -> Parsed<()> {
        for state in &self.symbols {
            if state.defined.is_none() {
                let message = format!("`@{}` is used and not declared", state.name);
                return Err(Fault { at: state.at, message });
            }
        }
        let symbol_of: HashMap<ConstId, u32> =
            self.references.iter().map(|(&(symbol, _), &constant)| (constant, symbol)).collect();
        let mut aliased = false;
        // What each symbol stands for in the end, found by following aliases once.
        let mut ends: Vec<Option<u32>> = vec![None; self.symbols.len()];
        let mut resolved = Vec::with_capacity(symbol_of.len());
        // In the order of their first mention, so that messages do not depend on a hash.
        let mut references: Vec<_> = symbol_of.iter().map(|(&it, &symbol)| (symbol, it)).collect();
        references.sort();
        for (first, constant) in references {
            let mut symbol = first;
            let mut passed = Vec::new();
            let end = loop {
                let next = match self.symbols[symbol as usize].defined {
                    Some(Symbol::Alias(alias)) => {
                        symbol_of.get(&self.aliases[alias.index()].target).copied()
                    }
                    _ => None,
                };
                match (ends[symbol as usize], next) {
                    (Some(end), _) => break end,
                    (None, None) => break symbol,
                    (None, Some(_)) if passed.len() > self.symbols.len() => {
                        return self.endless(first);
                    }
                    (None, Some(next)) => {
                        passed.push(symbol);
                        symbol = next;
                    }
                }
            };
            passed.into_iter().for_each(|it| ends[it as usize] = Some(end));
            let kind = match self.symbols[end as usize].defined {
                Some(Symbol::Global(global)) => ConstantKind::Global(global),
                Some(Symbol::Function(function)) => ConstantKind::Function(function),
                Some(Symbol::IFunc(ifunc)) => ConstantKind::IFunc(ifunc),
                Some(Symbol::Alias(alias)) => {
                    aliased = true;
                    let target = self.aliases[alias.index()].target;
                    self.constants[target.index()].kind.clone()
                }
                None => return self.endless(first),
            };
            resolved.push((constant, kind));
        }
        for (constant, kind) in resolved {
            self.constants[constant.index()].kind = kind;
        }
        // Without aliases of expressions, a constant consists of constants that were there before it.
        match aliased.then(|| self.constant_cycle()).flatten() {
            Some(constant) => {
                let at = self.references.iter().find(|it| *it.1 == constant);
                self.endless(at.map_or(0, |it| it.0.0))
            }
            None => Ok(()),
        }
    }

    fn endless<T>(&self, symbol: u32) -> Parsed<T> {
        let state = &self.symbols[symbol as usize];
        let message = format!("the alias `@{}` is defined by itself", state.name);
        Err(Fault { at: state.at, message })
    }

    /// A constant that contains itself.
    fn constant_cycle(&self) -> Option<ConstId> {
        let mut state = vec![0u8; self.constants.len()];
        let mut stack = Vec::new();
        for root in 0..self.constants.len() as u32 {
            stack.push(ConstId(root));
            while let Some(&constant) = stack.last() {
                match state[constant.index()] {
                    0 => {
                        state[constant.index()] = 1;
                        for part in self.constants[constant.index()].kind.parts() {
                            match state[part.index()] {
                                0 => stack.push(part),
                                1 => return Some(part),
                                _ => {}
                            }
                        }
                    }
                    _ => {
                        state[constant.index()] = 2;
                        stack.pop();
                    }
                }
            }
        }
        None
    }

    fn resolve_block_addresses(&mut self) -> Parsed<()> {
        let mut blocks: HashMap<FunctionId, HashMap<Box<str>, BlockId>> = HashMap::new();
        for (constant, symbol, block, at) in std::mem::take(&mut self.block_addresses) {
            let Some(Symbol::Function(function)) = self.symbols[symbol as usize].defined else {
                return Err(Fault { at, message: "the address of a block of no function".into() });
            };
            let known = blocks.entry(function).or_insert_with(|| {
                let blocks = self.functions[function.index()].blocks.iter().enumerate();
                blocks.map(|(index, it)| (it.name.clone(), BlockId(index as u32))).collect()
            });
            let Some(&block) = known.get(&*block) else {
                return Err(Fault { at, message: format!("there is no block `%{block}`") });
            };
            self.constants[constant.index()].kind = ConstantKind::BlockAddress(function, block);
        }
        Ok(())
    }

    /// Calls of a function's address are calls of that function.
    fn resolve_callees(&mut self) {
        for function in &mut self.functions {
            for instr in function.blocks.iter_mut().flat_map(|block| &mut block.instrs) {
                let (InstrKind::Call(call) | InstrKind::Invoke { call, .. }) = &mut instr.kind
                else {
                    continue;
                };
                if let Callee::Pointer(Operand::Const(constant)) = call.callee
                    && let ConstantKind::Function(callee) = self.constants[constant.index()].kind
                {
                    call.callee = Callee::Function(callee);
                }
            }
        }
    }

    fn measure(&self) -> Parsed<Layouts> {
        Layouts::measure(&self.types, &self.layout).map_err(|wrong| {
            let (ty, message) = match wrong {
                Unmeasurable::Recursive(ty) => (ty, "contains itself"),
                Unmeasurable::TooLarge(ty) => (ty, "is too large for any memory"),
            };
            let at = self.type_mentioned.get(&ty).copied().unwrap_or(0);
            Fault { at, message: format!("the type `{}` {message}", self.types.show(ty)) }
        })
    }
}
