//! Words that options take: models, methods, languages, formats, orders of search.

use check::Model;
use clap::ValueEnum;
use search::Order;
use std::path::Path;

/// Memory models by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ModelName {
    /// C, C++ and Rust: C11 as RC11 repaired it, seq_cst accesses and fences included
    Rc11,
    /// RC11 without seq_cst accesses; SC fences are read-modify-writes of one hidden location
    Rc20,
    /// Release/acquire: every read acquires, every write releases
    Ra,
    /// Sequential consistency: interleavings only
    Sc,
    /// Total store order: x86
    Tso,
    /// Partial store order: stores to different addresses overtake each other
    Pso,
    /// Partial store order with lightweight fences
    Pgas,
}

/// The model to take for a file: the one asked for, or that of its language. TPL is the language of the
/// paper that RC20 is from; what is written in it keeps its meaning.
pub(crate) fn model(asked: Option<ModelName>, file: &Path) -> Model {
    match asked {
        Some(name) => name.model(),
        None if file.extension().is_some_and(|extension| extension == "tpl") => Model::Rc20,
        None => Model::Rc11,
    }
}

impl ModelName {
    pub(crate) fn model(self) -> Model {
        match self {
            ModelName::Rc11 => Model::Rc11,
            ModelName::Rc20 => Model::Rc20,
            ModelName::Ra => Model::Ra,
            ModelName::Sc => Model::Sc,
            ModelName::Tso => Model::Tso,
            ModelName::Pso => Model::Pso,
            ModelName::Pgas => Model::Pgas,
        }
    }
}

/// What has to hold, by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RequireName {
    /// Every execution is an interleaving
    Robust,
    /// Nothing goes wrong in any execution
    Safe,
}

/// Theorems by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MethodName {
    /// Singularity where it is complete, else locality
    Auto,
    /// One thread delays stores
    Locality,
    /// One store is delayed
    Singularity,
}

/// Languages of programs by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InputName {
    /// The Fencepost language, of which TPL is a part
    Fp,
    /// Trencher's automata
    Trencher,
    /// A litmus test in C or x86
    Litmus,
}

/// Kinds of recordings by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadingName {
    /// It shows when writes reach memory
    Execution,
    /// It does not
    Trace,
}

/// Promises of databases and transactional memories by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LevelName {
    /// Nothing uncommitted is seen
    ReadCommitted,
    /// Everybody reads a snapshot, and overwrites only what they have seen
    SnapshotIsolation,
    /// As if one after the other
    Serializable,
    /// As if one after the other, in an order that fits real time
    StrictSerializable,
    /// The same, also for what aborted transactions saw
    Opaque,
}

/// Languages to export to.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// Spin's
    Promela,
    /// C11 with POSIX threads
    C,
    /// Rust with `std::thread`
    Rust,
}

/// Values to tell apart, by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TrackName {
    /// Those that a CAS or wait compares with
    Critical,
    /// All of them
    All,
}

/// Orders of exploration by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SearchName {
    /// Breadth first
    Bfs,
    /// Depth first
    Dfs,
}

impl SearchName {
    /// The order that it stands for.
    pub(crate) fn order(self) -> Order {
        match self {
            SearchName::Bfs => Order::Breadth,
            SearchName::Dfs => Order::Depth,
        }
    }
}
