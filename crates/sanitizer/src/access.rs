//! One access of a running program: its thread, what it does, and its place in the program's own code.
//!
//! Many accesses happen in functions of a standard library, such as `std::atomic::load`. People look for the place in their
//! own code that called the library, so the innermost frame of the program's own names an access.

use crate::symbols::Frame;
use serde::Serialize;

/// One of the accesses.
#[derive(Clone, Debug, Serialize)]
pub struct RunAccess {
    /// Who: threads are numbered as they start; 0 is the main thread.
    pub thread: u32,
    /// What.
    pub operation: String,
    /// In which order.
    pub order: Option<String>,
    /// Where, innermost first.
    pub stack: Vec<Frame>,
    /// How its thread came to be, if that is known.
    pub created: Option<Creation>,
}

/// How a thread came to be.
#[derive(Clone, Debug, Serialize)]
pub struct Creation {
    /// By whom.
    pub by: u32,
    /// Where, innermost first.
    pub stack: Vec<Frame>,
}

impl RunAccess {
    /// `atomic load (acquire)`.
    pub fn describe(&self) -> String {
        match &self.order {
            Some(order) => format!("{} ({order})", self.operation),
            None => self.operation.clone(),
        }
    }

    /// `queue.c:12`.
    pub fn place(&self) -> String {
        self.own_frame().map_or_else(|| "?".into(), crate::text::place)
    }

    /// The innermost frame that is not the standard library's.
    pub(crate) fn own_frame(&self) -> Option<&Frame> {
        self.own_index().map(|index| &self.stack[index])
    }

    /// The frames of the standard library that the program's own called.
    pub fn library_frames(&self) -> &[Frame] {
        &self.stack[..self.own_index().unwrap_or(0)]
    }

    fn own_index(&self) -> Option<usize> {
        let library = |frame: &Frame| {
            // What gives memory back is shown on stacks as well, see the runtime's `heap`.
            let gives = |name: &str| {
                ["free", "realloc", "munmap"].contains(&name) || name.starts_with("operator delete")
            };
            if frame.file.is_none() && frame.function.as_deref().is_some_and(gives) {
                return true;
            }
            let file = frame.file.as_deref().unwrap_or_default();
            is_rust_library(file)
                || is_cpp_library(file)
                || file.starts_with("/usr/include/")
                || file.contains("/bits/")
        };
        let own = self.stack.iter().position(|frame| !library(frame));
        own.or_else(|| (!self.stack.is_empty()).then_some(0))
    }

    /// What tells it from other accesses, from run to run and from build to build: the functions from the
    /// innermost to the first of the program's own, and the position in that one.
    pub(crate) fn position(&self) -> String {
        let Some(own) = self.own_index() else { return String::new() };
        let functions = self.stack[..=own].iter();
        let functions: Vec<&str> =
            functions.map(|frame| frame.function.as_deref().unwrap_or_default()).collect();
        let frame = &self.stack[own];
        let place = match (&frame.file, frame.line) {
            (Some(file), Some(line)) => {
                let file = beside(file, &frame.module);
                format!("{file}:{line}:{}", frame.column.unwrap_or_default())
            }
            _ => {
                let name = frame.module.rsplit('/').next().unwrap_or_default();
                format!("{name}+{:x}", frame.offset)
            }
        };
        format!("{}@{place}", functions.join("<"))
    }

    /// Is this a weak compare-and-swap? Only GCC tells the runtime; but the functions of C++ and Rust have names,
    /// and C says so in the text.
    pub(crate) fn is_weak(&self) -> bool {
        const NAME: &str = "compare_exchange_weak";
        let functions = self.stack.iter().take(self.own_index().unwrap_or(0) + 1);
        let mut names = functions.filter_map(|frame| frame.function.as_deref());
        names.any(|name| name.contains(NAME))
            || self.stack.first().is_some_and(|frame| {
                let (Some(file), Some(line)) = (&frame.file, frame.line) else { return false };
                let text = std::fs::read_to_string(file).unwrap_or_default();
                let line = text.lines().nth(line.saturating_sub(1) as usize);
                line.is_some_and(|line| line.contains(NAME))
            })
    }

    /// Does the standard library make this access for its own purposes, as in a channel of Rust or a barrier of
    /// C++?
    pub fn is_internal(&self) -> bool {
        // Atomics themselves are its functions, too.
        let atomics = |frame: &&Frame| {
            let ours = ["core::sync::atomic", "std::atomic", "std::__atomic"];
            let name = frame.function.as_deref().unwrap_or_default();
            ours.iter().any(|ours| name.contains(ours))
        };
        let caller = self.stack.iter().find(|frame| !atomics(frame));
        caller
            .and_then(|frame| frame.file.as_deref())
            .is_some_and(|file| is_rust_library(file) || is_cpp_library(file))
    }

    pub(crate) fn acquires(&self) -> bool {
        matches!(self.order.as_deref(), Some("consume" | "acquire" | "acq_rel" | "seq_cst"))
    }

    pub(crate) fn releases(&self) -> bool {
        matches!(self.order.as_deref(), Some("release" | "acq_rel" | "seq_cst"))
    }
}

/// Is it a header of libstdc++ or libc++?
fn is_cpp_library(file: &str) -> bool {
    file.contains("/include/c++/")
}

/// A source file's path as seen from the program that was built from it: without the folders that both are in, so
/// that it is the same wherever the project is.
pub(crate) fn beside(file: &str, module: &str) -> String {
    let folders = |path: &str| {
        let mut parts: Vec<String> = path.split('/').map(str::to_string).collect();
        parts.pop();
        parts
    };
    let (of_file, of_module) = (folders(file), folders(module));
    let common = of_file.iter().zip(&of_module).take_while(|(a, b)| a == b).count();
    file.split('/').skip(common).collect::<Vec<_>>().join("/")
}

fn is_rust_library(file: &str) -> bool {
    file.starts_with("/rustc/") || file.contains("/lib/rustlib/src/rust/library/")
}
