//! Arguments of the commands that change programs or say how they could be changed.

use super::{InputName, LimitArgs, ModelName, RequireName, SearchName};
use crate::compiled::CodeArgs;
use crate::quantity;
use check::fix::orders::Costs;
use clap::{Args as Arguments, ValueEnum};
use std::path::PathBuf;

/// Arguments of `fix`.
#[derive(Arguments, Debug)]
pub(crate) struct Fix {
    /// Programs in .fp, C, C++ or Rust; files in C and C++ that belong together make up one; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
    /// The language of the programs; without it, their content tells
    #[arg(long = "input", value_enum, value_name = "LANGUAGE")]
    pub language: Option<InputName>,
    /// The models to be correct on, all of them at once, separated by commas: models with memory orders, and machines with
    /// store buffers [default: rc11 for C, C++ and Rust and with --weaken or --only, else tso]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MODELS")]
    pub model: Vec<ModelName>,
    /// Let every order become weaker and every fence go, too: the cheapest program that is correct
    #[arg(long)]
    pub weaken: bool,
    /// With --weaken: nothing becomes stronger than it is written, not even where much else could become weaker for it
    #[arg(long)]
    pub no_stronger: bool,
    /// What may be changed [default: all; with --weaken, orders]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub only: Option<OnlyName>,
    /// Leave what is written on this line as it is; may be given several times
    #[arg(long, value_name = "[FILE:]LINE", value_parser = quantity::line)]
    pub keep: Vec<quantity::Line>,
    /// What memory orders cost: generic, x86, arm, power, or a file with a line `NAME = NUMBER` for each cost that differs
    /// from generic: acquire, release, update, sc_load, sc_store, sc_update, fence, sc_fence, in_loop
    #[arg(long, default_value = "generic", value_name = "MACHINE|FILE", value_parser = quantity::costs)]
    pub cost: Costs,
    /// Let stale values be read as long as nothing depends on them
    #[arg(long)]
    pub observational: bool,
    /// What the program has to be: robust and free of races, or only safe, that is without races, failing assertions
    /// and run-time errors on the weak memory
    #[arg(long, value_enum, default_value_t = RequireName::Robust, value_name = "WHAT")]
    pub require: RequireName,
    /// Make the program free of triangular races instead, which makes it robust, but may take more
    /// fences
    #[arg(long)]
    pub trf: bool,
    /// Place fences only, and count one in a loop as N more than one outside
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub loop_weight: u64,
    /// Write the patched program to this file
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Write every file that is changed over itself, or none if one of them cannot be written
    #[arg(long, conflicts_with = "write")]
    pub in_place: bool,
    /// Write the changes to this file as a SARIF result with a fix, which code-scanning services can apply
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Write a page to this file: for each change, the execution that goes wrong without it, drawn
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the patch as a diff
    #[arg(long, conflicts_with = "json")]
    pub diff: bool,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
    /// Print one line, and the diff if it is asked for
    #[arg(long, short)]
    pub quiet: bool,
    /// Breadth first finds the shortest executions, depth first gets to deep states early
    #[arg(long, value_enum, default_value_t = SearchName::Bfs, value_name = "ORDER")]
    pub search: SearchName,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub code: CodeArgs,
}

/// Arguments of `orders`.
#[derive(Arguments, Debug)]
pub(crate) struct Orders {
    /// Programs in .fp, C, C++ or Rust; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
    /// The memory model; ra and machines with store buffers read few orders, and only what they read is listed [default: rc11; rc20
    /// for .tpl files]
    #[arg(long, value_enum, value_name = "MODEL")]
    pub model: Option<ModelName>,
    /// Let stale values be read as long as nothing depends on them
    #[arg(long)]
    pub observational: bool,
    /// What the program has to be: robust and free of races, or only safe
    #[arg(long, value_enum, default_value_t = RequireName::Robust, value_name = "WHAT")]
    pub require: RequireName,
    /// Tell in full what goes wrong with a weaker order on this line
    #[arg(long, value_name = "[FILE:]LINE", conflicts_with = "json", value_parser = quantity::line)]
    pub explain: Option<quantity::Line>,
    /// Write a page to this file: for each access and fence, the execution that goes wrong with less, drawn
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
    /// Print one line
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub code: CodeArgs,
}

/// What `fix` may change, by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnlyName {
    /// Orders of accesses and of fences that are there
    Orders,
    /// Fences that are there, and new ones
    Fences,
    /// Both
    All,
}
