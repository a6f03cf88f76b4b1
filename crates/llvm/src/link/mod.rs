//! Several modules to one, as a linker does it.
//!
//! 1. For each name that is visible outside its file, one definition is chosen: a strong one before a tentative one of C
//!    (the largest of those), before a weak one (the first), before a copy of one elsewhere, before a declaration. Two
//!    strong ones are an error.
//! 2. Types, constants and debug information are appended; types with the same name and the same body become one.
//! 3. What referred to a definition that was not chosen refers to the chosen one.
//!
//! A reference to an alias was replaced by the alias's target when its file was read, so a weak alias keeps its target for
//! its own file even if another file has a strong definition of that name.
//!
//! Names that are local to a file stay apart, whatever they are called. `llvm.global_ctors` and other arrays with
//! `appending` linkage become one array.

mod remap;

use crate::constant::{ConstId, Constant, ConstantKind};
use crate::debug::Debug;
use crate::error::Error;
use crate::instruction::{Callee, InstrKind, Operand};
use crate::layout::Layouts;
use crate::module::{
    Alias, AliasId, Function, FunctionId, Global, GlobalId, IFunc, IFuncId, Linkage, Module, Symbol,
};
use crate::types::{Ty, Type, Types};
use remap::{Patch, Remap, Target};
use std::collections::{BTreeMap, HashMap};

/// How much a definition counts when several have the same name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Strength {
    Declared,
    Copy,
    Weak,
    /// A tentative definition of so many bytes.
    Common(u64),
    Strong,
}

/// A definition: the module's number and what it is there.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    module: usize,
    symbol: Symbol,
    strength: Strength,
}

impl Module {
    /// Links modules into one. With a single one, that one is returned.
    pub fn link(modules: Vec<Module>) -> Result<Module, Error> {
        let names: Vec<Box<str>> = modules.iter().map(|it| it.source_file.clone()).collect();
        let mut linker = Linker { names, ..Linker::default() };
        match <[Module; 1]>::try_from(modules) {
            Ok([only]) => Ok(only),
            Err(modules) => linker.link(modules),
        }
    }
}

#[derive(Default)]
struct Linker {
    /// What messages call the modules.
    names: Vec<Box<str>>,
    chosen: HashMap<Box<str>, Candidate>,
    types: Types,
    constants: Vec<Constant>,
    globals: Vec<Global>,
    functions: Vec<Function>,
    ifuncs: Vec<IFunc>,
    aliases: Vec<Alias>,
    debug: Debug,
    /// Arrays that all modules add to: the elements, in order.
    appending: BTreeMap<GlobalId, Vec<ConstId>>,
    patches: Vec<Patch>,
}

impl Linker {
    fn error<T>(&self, module: usize, message: String) -> Result<T, Error> {
        Err(Error { file: self.names[module].clone(), line: 0, column: 0, message })
    }

    fn link(&mut self, modules: Vec<Module>) -> Result<Module, Error> {
        let Some(first) = modules.first() else {
            let file = "link".into();
            return Err(Error { file, line: 0, column: 0, message: "no modules".into() });
        };
        let layout = first.layout.clone();
        let (source_file, target_triple) = (first.source_file.clone(), first.target_triple.clone());
        for (index, module) in modules.iter().enumerate() {
            self.choose_all(index, module)?;
        }
        let mut remaps = Vec::new();
        let mut next = (0, 0, 0);
        let mut constants = 0;
        for (index, module) in modules.iter().enumerate() {
            let mut remap = self.append_types(module);
            remap.constants = constants;
            constants += module.constants.len() as u32;
            self.number(index, module, &mut remap, &mut next);
            remaps.push(remap);
        }
        self.point_to_chosen(&modules, &mut remaps);
        let own: Vec<Layouts> = modules.iter().map(|module| module.layouts.clone()).collect();
        let optimised = modules.iter().find_map(|module| module.optimised);
        let mut assembly = Vec::new();
        for (index, module) in modules.into_iter().enumerate() {
            assembly.extend_from_slice(&module.assembly);
            self.append(index, module, &mut remaps[index]);
        }
        self.join_appending();
        self.apply_patches()?;
        let layouts = match Layouts::measure(&self.types, &layout) {
            Ok(layouts) => layouts,
            Err(_) => return self.error(0, "its types do not fit together".into()),
        };
        for (index, (own, remap)) in own.iter().zip(&remaps).enumerate() {
            for (ty, &new) in remap.types.iter().enumerate() {
                if own.get(Ty(ty as u32)) != layouts.get(new) && own.get(Ty(ty as u32)).is_some() {
                    let ty = self.types.show(new);
                    let message = format!(
                        "compiled for another machine than {}: `{ty}` has another size or alignment",
                        self.names[0]
                    );
                    return self.error(index, message);
                }
            }
        }
        let symbols = self.symbols();
        let this = std::mem::take(self);
        Ok(Module {
            source_file,
            target_triple,
            layout,
            types: this.types,
            layouts,
            constants: this.constants,
            globals: this.globals,
            functions: this.functions,
            ifuncs: this.ifuncs,
            aliases: this.aliases,
            assembly,
            debug: this.debug,
            optimised,
            symbols,
        })
    }

    // Which definition is chosen.

    fn choose_all(&mut self, index: usize, module: &Module) -> Result<(), Error> {
        let defined = |linkage: Linkage, defined: bool, size: u64| match linkage {
            _ if !defined => Strength::Declared,
            Linkage::AvailableExternally => Strength::Copy,
            Linkage::Common => Strength::Common(size),
            Linkage::LinkOnce | Linkage::LinkOnceOdr | Linkage::Weak | Linkage::WeakOdr => {
                Strength::Weak
            }
            _ => Strength::Strong,
        };
        for (id, it) in module.each_global().filter(|(_, it)| !it.linkage.is_local()) {
            let size = module.size_of(it.ty).unwrap_or(0);
            let strength = defined(it.linkage, it.init.is_some(), size);
            self.choose(&it.name, index, Symbol::Global(id), strength, it.linkage)?;
        }
        for (id, it) in module.each_function().filter(|(_, it)| !it.linkage.is_local()) {
            let strength = defined(it.linkage, !it.is_declaration(), 0);
            self.choose(&it.name, index, Symbol::Function(id), strength, it.linkage)?;
        }
        for (id, it) in module.ifuncs.iter().enumerate().filter(|(_, it)| !it.linkage.is_local()) {
            let symbol = Symbol::IFunc(IFuncId(id as u32));
            self.choose(&it.name, index, symbol, defined(it.linkage, true, 0), it.linkage)?;
        }
        for (id, it) in module.aliases.iter().enumerate().filter(|(_, it)| !it.linkage.is_local()) {
            let symbol = Symbol::Alias(AliasId(id as u32));
            self.choose(&it.name, index, symbol, defined(it.linkage, true, 0), it.linkage)?;
        }
        Ok(())
    }

    fn choose(
        &mut self,
        name: &str,
        module: usize,
        symbol: Symbol,
        strength: Strength,
        linkage: Linkage,
    ) -> Result<(), Error> {
        let new = Candidate { module, symbol, strength };
        let Some(&old) = self.chosen.get(name) else {
            self.chosen.insert(name.into(), new);
            return Ok(());
        };
        let differ = matches!(
            (old.symbol, symbol),
            (Symbol::Global(_), Symbol::Function(_)) | (Symbol::Function(_), Symbol::Global(_))
        );
        if differ {
            let message = format!(
                "`{name}` is a function in one file and a variable in {}",
                self.names[old.module]
            );
            return self.error(module, message);
        }
        if old.strength == Strength::Strong && strength == Strength::Strong {
            if linkage == Linkage::Appending {
                return Ok(());
            }
            let message = format!("`{name}` is defined here and in {}", self.names[old.module]);
            return self.error(module, message);
        }
        if strength > old.strength {
            self.chosen.insert(name.into(), new);
        }
        Ok(())
    }

    fn is_chosen(&self, name: &str, linkage: Linkage, module: usize, symbol: Symbol) -> bool {
        let chosen = || self.chosen.get(name);
        linkage.is_local() || chosen().is_some_and(|it| it.module == module && it.symbol == symbol)
    }

    // Numbers.

    /// Gives a module's types their place among those of the linked module.
    fn append_types(&mut self, module: &Module) -> Remap {
        let mut remap = Remap { types: vec![Ty(0); module.types.len()], ..Remap::default() };
        let mut done = vec![false; module.types.len()];
        let mut stack: Vec<Ty> = Vec::new();
        for (root, _) in module.types.iter() {
            stack.push(root);
            while let Some(&ty) = stack.last() {
                let body = module.types.get(ty);
                let open = stack.len();
                if !done[ty.index()] {
                    stack.extend(body.parts().filter(|part| !done[part.index()]));
                }
                if stack.len() > open {
                    continue;
                }
                stack.pop();
                if !std::mem::replace(&mut done[ty.index()], true) {
                    let body = remap.body(body);
                    remap.types[ty.index()] = self.append_type(module.types.name(ty), body);
                }
            }
        }
        remap
    }

    fn append_type(&mut self, name: Option<&str>, body: Type) -> Ty {
        let Some(name) = name else { return self.types.intern(body) };
        let mut fresh = name.to_string();
        let mut number = 0;
        loop {
            let Some(known) = self.types.named(&fresh) else {
                let new = self.types.declare(&fresh);
                self.types.define(new, body);
                return new;
            };
            let there = self.types.get(known);
            if *there == body || body == Type::Opaque {
                return known;
            }
            if *there == Type::Opaque {
                self.types.define(known, body);
                return known;
            }
            number += 1;
            fresh = format!("{name}.{number}");
        }
    }

    /// Numbers the chosen definitions of a module.
    fn number(&self, index: usize, module: &Module, remap: &mut Remap, next: &mut (u32, u32, u32)) {
        // What is not chosen is set by `point_to_chosen`.
        let unknown = Target::Constant(ConstId(0));
        for (id, it) in module.each_global() {
            let chosen = self.is_chosen(&it.name, it.linkage, index, Symbol::Global(id));
            remap.globals.push(if chosen { Target::Global(GlobalId(next.0)) } else { unknown });
            next.0 += u32::from(chosen);
        }
        for (id, it) in module.each_function() {
            let chosen = self.is_chosen(&it.name, it.linkage, index, Symbol::Function(id));
            remap.functions.push(if chosen {
                Target::Function(FunctionId(next.1))
            } else {
                unknown
            });
            next.1 += u32::from(chosen);
        }
        for (id, it) in module.ifuncs.iter().enumerate() {
            let symbol = Symbol::IFunc(IFuncId(id as u32));
            let chosen = self.is_chosen(&it.name, it.linkage, index, symbol);
            remap.ifuncs.push(if chosen { Target::IFunc(IFuncId(next.2)) } else { unknown });
            next.2 += u32::from(chosen);
        }
    }

    /// What was not chosen becomes what was.
    fn point_to_chosen(&self, modules: &[Module], remaps: &mut [Remap]) {
        let target = |remaps: &[Remap], name: &str| {
            let chosen = self.chosen.get(name)?;
            let (remap, module) = (&remaps[chosen.module], &modules[chosen.module]);
            Some(match chosen.symbol {
                Symbol::Global(global) => remap.globals[global.index()],
                Symbol::Function(function) => remap.functions[function.index()],
                Symbol::IFunc(ifunc) => remap.ifuncs[ifunc.index()],
                Symbol::Alias(alias) => {
                    Target::Constant(remap.constant(module.aliases[alias.index()].target))
                }
            })
        };
        for (index, module) in modules.iter().enumerate() {
            for (id, it) in module.each_global().filter(|(_, it)| !it.linkage.is_local()) {
                if let Some(target) = target(remaps, &it.name) {
                    remaps[index].globals[id.index()] = target;
                }
            }
            for (id, it) in module.each_function().filter(|(_, it)| !it.linkage.is_local()) {
                if let Some(target) = target(remaps, &it.name) {
                    remaps[index].functions[id.index()] = target;
                }
            }
            for (id, it) in
                module.ifuncs.iter().enumerate().filter(|(_, it)| !it.linkage.is_local())
            {
                if let Some(target) = target(remaps, &it.name) {
                    remaps[index].ifuncs[id] = target;
                }
            }
        }
    }

    // Contents.

    fn append(&mut self, index: usize, module: Module, remap: &mut Remap) {
        let elements =
            |init: Option<ConstId>| match init.map(|it| &module.constants[it.index()].kind) {
                Some(ConstantKind::Array(elements)) => {
                    elements.iter().map(|&it| remap.constant(it)).collect()
                }
                _ => Vec::new(),
            };
        for (id, global) in module.each_global() {
            if let (Linkage::Appending, Target::Global(id)) =
                (global.linkage, remap.globals[id.index()])
            {
                self.appending.entry(id).or_default().extend(elements(global.init));
            }
        }
        remap.files = self.debug.files.len() as u32;
        remap.subprograms = self.debug.subprograms.len() as u32;
        remap.places = self.debug.places.len() as u32;
        remap.debug_types = self.debug.types.len() as u32;
        self.debug.files.extend(module.debug.files);
        let debug = module.debug.subprograms.into_iter();
        self.debug.subprograms.extend(debug.map(|it| remap.debug_subprogram(it)));
        self.debug.places.extend(module.debug.places.into_iter().map(|it| remap.place(it)));
        self.debug.types.extend(module.debug.types.into_iter().map(|it| remap.debug_type(it)));
        for mut constant in module.constants {
            let id = ConstId(self.constants.len() as u32);
            constant.ty = remap.ty(constant.ty);
            remap.kind(&mut constant.kind, id, &mut self.patches);
            self.constants.push(constant);
        }
        for (id, mut it) in module.globals.into_iter().enumerate() {
            let symbol = Symbol::Global(GlobalId(id as u32));
            if self.is_chosen(&it.name, it.linkage, index, symbol) {
                it.ty = remap.ty(it.ty);
                it.init = it.init.map(|init| remap.constant(init));
                it.debug.iter_mut().for_each(|debug| remap.debug_global(debug));
                self.globals.push(it);
            }
        }
        for (id, mut it) in module.functions.into_iter().enumerate() {
            let symbol = Symbol::Function(FunctionId(id as u32));
            if self.is_chosen(&it.name, it.linkage, index, symbol) {
                remap.function(&mut it);
                self.functions.push(it);
            }
        }
        for (id, mut it) in module.ifuncs.into_iter().enumerate() {
            let symbol = Symbol::IFunc(IFuncId(id as u32));
            if self.is_chosen(&it.name, it.linkage, index, symbol) {
                it.resolver = remap.constant(it.resolver);
                self.ifuncs.push(it);
            }
        }
        for (id, mut it) in module.aliases.into_iter().enumerate() {
            let symbol = Symbol::Alias(AliasId(id as u32));
            if self.is_chosen(&it.name, it.linkage, index, symbol) {
                it.target = remap.constant(it.target);
                self.aliases.push(it);
            }
        }
    }

    fn join_appending(&mut self) {
        for (global, elements) in std::mem::take(&mut self.appending) {
            let Some(first) = elements.first() else { continue };
            let of = self.constants[first.index()].ty;
            let ty = self.types.intern(Type::Array(elements.len() as u64, of));
            let init = ConstId(self.constants.len() as u32);
            self.constants.push(Constant { ty, kind: ConstantKind::Array(elements.into()) });
            let global = &mut self.globals[global.index()];
            (global.ty, global.init) = (ty, Some(init));
        }
    }

    /// References to declarations that are aliases elsewhere.
    fn apply_patches(&mut self) -> Result<(), Error> {
        let targets: HashMap<ConstId, ConstId> = self.patches.iter().copied().collect();
        for &(constant, first) in &self.patches {
            let mut target = first;
            let mut steps = 0;
            while let Some(&next) = targets.get(&target) {
                (target, steps) = (next, steps + 1);
                if steps > targets.len() {
                    return self.error(0, "aliases of several files stand for each other".into());
                }
            }
            self.constants[constant.index()].kind = self.constants[target.index()].kind.clone();
        }
        let functions = self.functions.len();
        let blocks: Vec<usize> = self.functions.iter().map(|it| it.blocks.len()).collect();
        for constant in &mut self.constants {
            // Of two equal inline functions one was dropped, and the other may have fewer blocks.
            if let ConstantKind::BlockAddress(function, block) = constant.kind
                && (function.index() >= functions || block.index() >= blocks[function.index()])
            {
                constant.kind = ConstantKind::Unsupported("blockaddress".into());
            }
        }
        for instr in
            self.functions.iter_mut().flat_map(|it| &mut it.blocks).flat_map(|it| &mut it.instrs)
        {
            if let InstrKind::Call(call) | InstrKind::Invoke { call, .. } = &mut instr.kind
                && let Callee::Pointer(Operand::Const(constant)) = call.callee
                && let ConstantKind::Function(function) = self.constants[constant.index()].kind
            {
                call.callee = Callee::Function(function);
            }
        }
        Ok(())
    }

    /// Names, those that are visible everywhere before those that are local to a file.
    fn symbols(&self) -> HashMap<Box<str>, Symbol> {
        let mut symbols = HashMap::new();
        let globals = self
            .globals
            .iter()
            .enumerate()
            .map(|(id, it)| (&it.name, it.linkage, Symbol::Global(GlobalId(id as u32))));
        let functions = self
            .functions
            .iter()
            .enumerate()
            .map(|(id, it)| (&it.name, it.linkage, Symbol::Function(FunctionId(id as u32))));
        let ifuncs = self.ifuncs.iter().enumerate();
        let ifuncs =
            ifuncs.map(|(id, it)| (&it.name, it.linkage, Symbol::IFunc(IFuncId(id as u32))));
        let aliases = self.aliases.iter().enumerate();
        let aliases =
            aliases.map(|(id, it)| (&it.name, it.linkage, Symbol::Alias(AliasId(id as u32))));
        let mut all: Vec<_> = globals.chain(functions).chain(ifuncs).chain(aliases).collect();
        all.sort_by_key(|(_, linkage, _)| linkage.is_local());
        for (name, _, symbol) in all {
            symbols.entry(name.clone()).or_insert(symbol);
        }
        symbols
    }
}
