//! How memory orders and fences are spelled in each language.

use super::Orders;
use crate::source::Language;
use ir::{FenceMode, ReadMode, WriteMode};

/// How orders are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// `rel`
    Fencepost,
    /// `memory_order_release`; a function without orders has another name.
    C,
    /// `__ATOMIC_RELEASE`
    Builtin,
    /// `std::memory_order_release`
    Cpp,
    /// `Ordering::Release`
    Rust,
}

/// The order of a failing CAS that C++ takes from that of its success.
pub(super) fn implied_failure(success: &str) -> String {
    success.replace("acq_rel", "acquire").replace("release", "relaxed")
}

impl Style {
    /// The words for orders, in the order in which they are written. `like` is one that `text` has there already.
    pub(super) fn words(self, orders: Orders, like: &str, text: &str) -> Option<Vec<String>> {
        let read = |mode: ReadMode| match mode {
            ReadMode::Rlx => Some("relaxed"),
            ReadMode::Acq => Some("acquire"),
            ReadMode::Sc => Some("seq_cst"),
            ReadMode::Na | ReadMode::Pacq => None,
        };
        let write = |mode: WriteMode| match mode {
            WriteMode::Rlx => Some("relaxed"),
            WriteMode::Rel => Some("release"),
            WriteMode::Sc => Some("seq_cst"),
            WriteMode::Na | WriteMode::Prel => None,
        };
        if self == Style::Fencepost {
            let words = match orders {
                Orders::Load(mode) => vec![mode.keyword()],
                Orders::Store(mode) => vec![mode.keyword()],
                Orders::Update(read, write) => vec![read.keyword(), write.keyword()],
                Orders::CompareExchange(read, write, fail) => {
                    vec![read.keyword(), write.keyword(), fail.keyword()]
                }
                Orders::Fence(mode) => vec![mode?.keyword()],
                Orders::NewFence(mode) | Orders::FenceBehind(mode) => vec![mode.keyword()],
            };
            return Some(words.into_iter().map(String::from).collect());
        }
        let both = |reads: ReadMode, writes: WriteMode| {
            Some(match (read(reads)?, write(writes)?) {
                ("seq_cst", "seq_cst") => "seq_cst",
                ("relaxed", order) => order,
                (order, "relaxed") => order,
                _ => "acq_rel",
            })
        };
        let words = match orders {
            Orders::Load(mode) => vec![read(mode)?],
            Orders::Store(mode) => vec![write(mode)?],
            Orders::Update(reads, writes) => vec![both(reads, writes)?],
            Orders::CompareExchange(reads, writes, fail) => vec![both(reads, writes)?, read(fail)?],
            Orders::Fence(mode) => vec![fence_order(mode?)?],
            Orders::NewFence(mode) | Orders::FenceBehind(mode) => vec![fence_order(mode)?],
        };
        Some(words.into_iter().map(|order| self.spelled(order, like, text)).collect())
    }

    /// An order as it is written in `text`, in the way `like` is.
    pub(super) fn spelled(self, order: &str, like: &str, text: &str) -> String {
        match self {
            Style::Fencepost => order.to_string(),
            Style::C => format!("memory_order_{order}"),
            Style::Builtin => format!("__ATOMIC_{}", order.to_uppercase()),
            Style::Cpp => match like.rfind("memory_order") {
                Some(at) if like[at..].starts_with("memory_order::") => {
                    format!("{}memory_order::{order}", &like[..at])
                }
                Some(at) => format!("{}memory_order_{order}", &like[..at]),
                None => format!("std::memory_order_{order}"),
            },
            Style::Rust => rust(order, like, text),
        }
    }
}

/// An order in Rust: like the one that is there if that has a path, by its bare name if that is imported, and else by a path that
/// is known.
fn rust(order: &str, like: &str, text: &str) -> String {
    let word = match order {
        "relaxed" => "Relaxed",
        "acquire" => "Acquire",
        "release" => "Release",
        "acq_rel" => "AcqRel",
        _ => "SeqCst",
    };
    match like.rfind("::") {
        Some(at) => format!("{}::{word}", &like[..at]),
        None if imports(text, word) => word.to_string(),
        None if imports(text, "Ordering") => format!("Ordering::{word}"),
        None => format!("std::sync::atomic::Ordering::{word}"),
    }
}

/// Does a `use` of a text bring this name of `std::sync::atomic` into it?
fn imports(text: &str, name: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let uses = text.match_indices("use ").filter(|(at, _)| !text[..*at].ends_with(is_name));
    uses.map(|(at, _)| &text[at + 4..]).any(|rest| {
        let path = &rest[..rest.find(';').unwrap_or(0)];
        // `std::cmp` has an `Ordering`, too.
        let is_order = path.contains("Ordering") && path.contains("atomic");
        // `Ordering::Relaxed` and `Ordering::{self, Relaxed}` bring what stands behind the path.
        let brings = path.match_indices(name).any(|(at, _)| {
            let (before, behind) = (&path[..at], &path[at + name.len()..]);
            let whole = !before.ends_with(is_name) && !behind.starts_with(is_name);
            let renamed = behind.trim_start().starts_with("as ");
            let opened = behind.trim_start().starts_with("::");
            let itself = name == "Ordering" && behind.replace(' ', "").starts_with("::{self");
            whole && !renamed && (!opened || itself)
        });
        let everything = name != "Ordering" && path.replace(' ', "").contains("Ordering::*");
        let all = name == "Ordering" && path.replace(' ', "").contains("atomic::*");
        (is_order && (brings || everything)) || all
    })
}

/// A fence as a statement.
pub(super) fn fence_statement(language: Language, mode: FenceMode) -> Option<String> {
    let order = fence_order(mode)?;
    Some(match language {
        Language::Algorithms => format!("fence({});", mode.keyword()),
        Language::C => format!("atomic_thread_fence({});", Style::C.spelled(order, "", "")),
        Language::Cpp => {
            format!("std::atomic_thread_fence({});", Style::Cpp.spelled(order, "", ""))
        }
        Language::Rust => {
            let order = Style::Rust.spelled(order, "std::sync::atomic::Ordering::SeqCst", "");
            format!("std::sync::atomic::fence({order});")
        }
    })
}

/// The word for a fence's order in C, C++ and Rust.
pub(super) fn fence_order(mode: FenceMode) -> Option<&'static str> {
    match mode {
        FenceMode::Acq => Some("acquire"),
        FenceMode::Rel => Some("release"),
        FenceMode::AcqRel => Some("acq_rel"),
        FenceMode::Sc => Some("seq_cst"),
        FenceMode::ScUpd | FenceMode::Upd => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches an order by a name that the text does not have.
    #[test]
    fn orders_of_rust_by_names_that_are_imported() {
        let path = "std::sync::atomic::Ordering::Acquire";
        for (text, like, spelled) in [
            (
                "use std::sync::atomic::{AtomicBool, Ordering};",
                "Ordering::SeqCst",
                "Ordering::Acquire",
            ),
            ("use std::sync::atomic::Ordering::SeqCst;", "SeqCst", path),
            ("use std::sync::atomic::Ordering::{Acquire, SeqCst};", "SeqCst", "Acquire"),
            ("use std::sync::atomic::Ordering::*;", "SeqCst", "Acquire"),
            ("use std::sync::atomic::Ordering::{self, SeqCst};", "SeqCst", "Ordering::Acquire"),
            ("use std::sync::atomic::{Ordering, Ordering::SeqCst};", "SeqCst", "Ordering::Acquire"),
            ("use std::sync::atomic::Ordering::Acquire as A;", "A", path),
        ] {
            assert_eq!(Style::Rust.spelled("acquire", like, text), spelled, "{text}");
        }
    }
}
