//! A module: what a file of IR says, with all names resolved.

use crate::constant::{ConstId, Constant, ConstantKind};
use crate::debug::{Debug, DebugTy, FileId, SubprogramId};
use crate::instruction::{Instr, Local, Operand};
use crate::layout::{DataLayout, Layouts, TypeLayout};
use crate::types::{Ty, Type, Types};
use std::collections::HashMap;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The index as a number, dense from 0.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// A global variable: an index into [`Module::globals`].
    GlobalId
);
index!(
    /// A function: an index into [`Module::functions`].
    FunctionId
);
index!(
    /// An indirect function: an index into [`Module::ifuncs`].
    IFuncId
);
index!(
    /// An alias: an index into [`Module::aliases`].
    AliasId
);
index!(
    /// A block: an index into [`Function::blocks`].
    BlockId
);

impl BlockId {
    /// The block that a function starts with.
    pub const ENTRY: BlockId = BlockId(0);
}

/// What a name of a module stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Symbol {
    /// A global variable.
    Global(GlobalId),
    /// A function.
    Function(FunctionId),
    /// An indirect function.
    IFunc(IFuncId),
    /// An alias: another name for a constant address.
    Alias(AliasId),
}

/// How definitions of the same name in several files are combined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Linkage {
    /// The only definition of its name.
    External,
    /// Visible in its own file only (`static` in C).
    Internal,
    /// As internal, and without a name in the object file.
    Private,
    /// A copy of a definition elsewhere.
    AvailableExternally,
    /// One of several; dropped if it is not used.
    LinkOnce,
    /// One of several equal ones; dropped if it is not used.
    LinkOnceOdr,
    /// One of several; a strong definition wins.
    Weak,
    /// One of several equal ones.
    WeakOdr,
    /// A tentative definition of C.
    Common,
    /// An array to which all files add elements.
    Appending,
    /// Null if no file defines it.
    ExternWeak,
}

impl Linkage {
    /// Visible in its own file only.
    pub fn is_local(self) -> bool {
        matches!(self, Linkage::Internal | Linkage::Private)
    }
}

/// A global variable.
#[derive(Clone, PartialEq, Debug)]
pub struct Global {
    /// Its name, without `@`.
    pub name: Box<str>,
    /// The type of its value.
    pub ty: Ty,
    /// Its address space.
    pub space: u32,
    /// Its initial value; declared only if absent.
    pub init: Option<ConstId>,
    /// Never written.
    pub constant: bool,
    /// Each thread has its own.
    pub thread_local: bool,
    /// Its alignment in bytes; the type's own if absent.
    pub align: Option<u64>,
    /// How it is combined with others of its name.
    pub linkage: Linkage,
    /// Its line in the file of IR, counted from 1.
    pub line: u32,
    /// The variable in the source.
    pub debug: Option<DebugGlobal>,
}

/// A global variable as the source has it.
#[derive(Clone, PartialEq, Debug)]
pub struct DebugGlobal {
    /// Its name in the source.
    pub name: Box<str>,
    /// The file that declares it.
    pub file: Option<FileId>,
    /// The line that declares it.
    pub line: u32,
    /// Its type in the source.
    pub ty: Option<DebugTy>,
}

/// An indirect function.
#[derive(Clone, PartialEq, Debug)]
pub struct IFunc {
    /// Its name, without `@`.
    pub name: Box<str>,
    /// The function that returns its address.
    pub resolver: ConstId,
    /// How it is combined with others of its name.
    pub linkage: Linkage,
}

/// Another name for a constant address. No constant refers to an alias: it refers to the alias's target.
#[derive(Clone, PartialEq, Debug)]
pub struct Alias {
    /// Its name, without `@`.
    pub name: Box<str>,
    /// What it stands for.
    pub target: ConstId,
    /// How it is combined with others of its name.
    pub linkage: Linkage,
}

/// A parameter of a function. Parameter number n is register number n.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// Its type.
    pub ty: Ty,
    /// A pointer to a value of this type that the function owns: the caller passes a copy.
    pub byval: Option<Ty>,
    /// A pointer to where the result of this type goes.
    pub sret: Option<Ty>,
}

/// A register of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct LocalInfo {
    /// Its name, without `%`; a number if the file gives it none.
    pub name: Box<str>,
    /// The type of its value.
    pub ty: Ty,
}

/// A list of instructions, of which exactly the last is a terminator.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    /// Its name, without `%`; a number if the file gives it none.
    pub name: Box<str>,
    /// Its instructions; never empty.
    pub instrs: Vec<Instr>,
}

/// How a register or constant relates to a variable of the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// It is the variable's address.
    Address,
    /// It is the variable's value, from a point of the function on.
    Value,
}

/// A step from a register to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The pointer is followed.
    Deref,
    /// So many bytes are added.
    Plus(u64),
    /// Only these bits of the variable are meant: offset and size.
    Fragment(u64, u64),
    /// Anything else: the variable cannot be found this way.
    Other,
}

/// A variable of the source that a function's debug information speaks of.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// Its name in the source.
    pub name: Box<str>,
    /// What is known to hold it.
    pub storage: Operand,
    /// How.
    pub holds: Holds,
    /// Which parameter of the source it is, counted from 1.
    pub parameter: Option<u32>,
    /// Its type in the source.
    pub ty: Option<DebugTy>,
    /// The file that declares it.
    pub file: Option<FileId>,
    /// The line that declares it.
    pub line: u32,
    /// How to get from `storage` to the variable; nothing if it is there itself.
    pub steps: Box<[Step]>,
    /// The block and instruction before which this is said.
    pub from: (BlockId, u32),
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Its name, without `@`.
    pub name: Box<str>,
    /// Its type.
    pub ty: Ty,
    /// The type of its result.
    pub ret: Ty,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Takes more arguments than parameters.
    pub varargs: bool,
    /// How it is combined with others of its name.
    pub linkage: Linkage,
    /// Its registers: parameters first.
    pub locals: Vec<LocalInfo>,
    /// Its blocks in the order of the text, the entry first; declared only if there are none.
    pub blocks: Vec<Block>,
    /// The function in the source.
    pub subprogram: Option<SubprogramId>,
    /// Variables of the source and where they are held.
    pub variables: Vec<Variable>,
    /// Never returns.
    pub noreturn: bool,
    /// Its line in the file of IR, counted from 1.
    pub line: u32,
}

impl Function {
    /// A function without a body that nothing more is known of.
    pub(crate) fn declared(
        name: Box<str>,
        ty: Ty,
        ret: Ty,
        params: Vec<Param>,
        varargs: bool,
    ) -> Function {
        Function {
            name,
            ty,
            ret,
            params,
            varargs,
            linkage: Linkage::External,
            locals: Vec::new(),
            blocks: Vec::new(),
            subprogram: None,
            variables: Vec::new(),
            noreturn: false,
            line: 0,
        }
    }

    /// Declared only: its code is in another file or in a library.
    pub fn is_declaration(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The block with this index.
    pub fn block(&self, block: BlockId) -> &Block {
        &self.blocks[block.index()]
    }

    /// The name and type of a register.
    pub fn local(&self, local: Local) -> &LocalInfo {
        &self.locals[local.index()]
    }
}

/// Why a module looks as if an optimiser had changed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Optimised {
    /// Its debug information says so (`isOptimized: true`).
    CompileUnit,
    /// It has annotations that compilers write only for the optimiser (`!tbaa`, `llvm.lifetime.start`).
    Annotations,
}

/// What a file of IR says.
#[derive(Clone, Debug)]
pub struct Module {
    /// The file of source that it was compiled from, by its own word.
    pub source_file: Box<str>,
    /// The machine it was compiled for.
    pub target_triple: Box<str>,
    /// Sizes and alignments of basic types.
    pub layout: DataLayout,
    /// Its types.
    pub types: Types,
    /// Sizes of its types.
    pub layouts: Layouts,
    /// Its constants.
    pub constants: Vec<Constant>,
    /// Its global variables.
    pub globals: Vec<Global>,
    /// Its functions.
    pub functions: Vec<Function>,
    /// Its indirect functions.
    pub ifuncs: Vec<IFunc>,
    /// Its aliases.
    pub aliases: Vec<Alias>,
    /// Assembly outside of functions, a line each.
    pub assembly: Vec<Box<str>>,
    /// What the source was.
    pub debug: Debug,
    /// Why it looks optimised, if it does.
    pub optimised: Option<Optimised>,
    /// What each name stands for.
    pub symbols: HashMap<Box<str>, Symbol>,
}

impl Module {
    /// The constant with this index.
    pub fn constant(&self, constant: ConstId) -> &Constant {
        &self.constants[constant.index()]
    }

    /// The function with this index.
    pub fn function(&self, function: FunctionId) -> &Function {
        &self.functions[function.index()]
    }

    /// The global variable with this index.
    pub fn global(&self, global: GlobalId) -> &Global {
        &self.globals[global.index()]
    }

    /// What a type is.
    pub fn ty(&self, ty: Ty) -> &Type {
        self.types.get(ty)
    }

    /// What a name stands for.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.symbols.get(name).copied()
    }

    /// The function of this name, also by an alias.
    pub fn function_named(&self, name: &str) -> Option<FunctionId> {
        match self.symbol(name)? {
            Symbol::Function(function) => Some(function),
            Symbol::Alias(alias) => match self.constant(self.aliases[alias.index()].target).kind {
                ConstantKind::Function(function) => Some(function),
                _ => None,
            },
            _ => None,
        }
    }

    /// The global variable of this name, also by an alias.
    pub fn global_named(&self, name: &str) -> Option<GlobalId> {
        match self.symbol(name)? {
            Symbol::Global(global) => Some(global),
            Symbol::Alias(alias) => match self.constant(self.aliases[alias.index()].target).kind {
                ConstantKind::Global(global) => Some(global),
                _ => None,
            },
            _ => None,
        }
    }

    /// All functions with their indices.
    pub fn each_function(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        self.functions.iter().enumerate().map(|(index, it)| (FunctionId(index as u32), it))
    }

    /// All global variables with their indices.
    pub fn each_global(&self) -> impl Iterator<Item = (GlobalId, &Global)> {
        self.globals.iter().enumerate().map(|(index, it)| (GlobalId(index as u32), it))
    }

    /// Size, alignment and offsets of a type; absent for types without a size (functions, opaque types).
    pub fn type_layout(&self, ty: Ty) -> Option<&TypeLayout> {
        self.layouts.get(ty)
    }

    /// How many bytes an element of an array of this type takes; absent for types without a size.
    pub fn size_of(&self, ty: Ty) -> Option<u64> {
        self.type_layout(ty).map(|layout| layout.size)
    }
}
