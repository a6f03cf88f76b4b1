//! LLVM IR as text, versions 14 to 22, read into a [`Module`].
//!
//! Clang and rustc print IR in the syntax of the LLVM they were built with. This crate reads all of them with one
//! reader of its own, so that no LLVM has to be linked: pointers with an element type (`i32*`, LLVM 14 to 16) become
//! `ptr`, and attributes and metadata that do not change what a program does are skipped.
//!
//! In a module, names are resolved to dense indices, types are interned and measured, and debug information is at hand
//! as places, variables and types of the source. Nothing a file contains makes this crate panic.
//!
//! ```
//! let module = fencepost_llvm::parse(
//!     "inc.ll",
//!     "@n = global i32 7
//!      define i32 @inc() {
//!        %old = atomicrmw add ptr @n, i32 1 acq_rel
//!        ret i32 %old
//!      }",
//! )
//! .expect("good IR");
//! let inc = module.function(module.function_named("inc").expect("a function"));
//! assert_eq!(inc.blocks[0].instrs.len(), 2);
//! assert_eq!(module.size_of(module.globals[0].ty), Some(4));
//! ```
//!
//! Four stations, each a module: [`compile`] (calls clang or rustc), `reader` (text to [`Module`]), `link` (several
//! modules to one, [`Module::link`]), and the module's own types: [`types`], [`layout`], [`constant`], [`instruction`],
//! [`module`], [`debug`].

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod compile;
pub mod constant;
pub mod debug;
pub mod error;
pub mod instruction;
pub mod layout;
mod link;
pub mod lvalue;
pub mod module;
mod operation;
mod reader;
pub mod types;

pub use constant::{ConstId, Constant, ConstantKind};
pub use debug::{Debug, DebugTy, PlaceId};
pub use error::Error;
pub use instruction::{Call, Callee, Instr, InstrKind, Local, Operand, Ordering};
pub use layout::DataLayout;
pub use module::{BlockId, Function, FunctionId, Global, GlobalId, Module};
pub use reader::{parse, read};
pub use types::{Ty, Type, Types};
