//! LLVM IR as text, versions 14 to 22, read into a [`Module`].
//!
//! Clang and rustc print IR in the syntax of the LLVM they were built with. This crate reads all of them with one
//! reader of its own, so that no LLVM has to be linked: pointers with an element type (`i32*`, LLVM 14 to 16) become
//! `ptr`, and attributes and metadata that do not change what a program does are skipped.
//!
//! In a module, names are resolved to dense indices, types are interned and measured, and debug information is at hand
//! as places, variables and types of the source. Nothing a file contains makes this crate panic.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod compile;
pub mod constant;
pub mod debug;
pub mod error;
pub mod instruction;
pub mod layout;
mod link;
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
