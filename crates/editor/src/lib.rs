//! Fencepost while a program is being written: a playground in the browser, and a language server.
//!
//! Neither checks anything itself. Each question becomes a process of its own, the command line that a user would have
//! typed: `fencepost check --sarif … FILE`, `fencepost orders --json FILE`. So a question that takes too long or too
//! much memory is ended without a trace ([`job`]), what goes wrong in one answer does not take the server along, and
//! editors are told what the command line tells. This crate knows the commands, their options and their output
//! formats, and nothing else of the workspace.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod job;
pub mod lsp;
pub mod play;
