//! Findings with names, once each.

use crate::filter::Filter;
use crate::raw::{self, Raw};
use crate::symbols::{Frame, Mapping, Symbols, Variable};
use report::InputReport;
use report::observed::{self, Observation};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// A finding.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The same from run to run and build to build, as long as the lines stay where they are.
    pub id: String,
    /// `stale-read`, `stale-write`, `stale-update` or `race`.
    pub kind: String,
    /// What is wrong, in one line.
    pub message: String,
    /// The access at fault.
    pub access: Access,
    /// What it misses or races with.
    pub other: Option<Access>,
    /// How many bytes.
    pub size: u64,
    /// What the missed write wrote.
    pub value: Option<u64>,
    /// What may be read instead.
    pub stale_values: Vec<u64>,
    /// Does anything depend on the stale value? None where that is not known.
    pub used: Option<bool>,
    /// What the bytes belong to.
    pub memory: Option<Memory>,
    /// The locks that the thread at fault holds.
    pub locks: Vec<Lock>,
    /// The load that must be stale for a race to happen.
    pub needs_stale_load: Option<Vec<Frame>>,
    /// What to do about it.
    pub advice: Vec<String>,
    /// With what the run can be had again, if the runtime scheduled.
    pub token: Option<String>,
    /// In how many runs it was found.
    pub runs: u64,
}

/// One of the accesses.
#[derive(Clone, Debug, Serialize)]
pub struct Access {
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

/// What bytes belong to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Memory {
    /// A variable.
    Global {
        /// Its name.
        name: String,
        /// How many bytes it has.
        size: u64,
        /// Where in it they are.
        offset: u64,
    },
    /// A block of the heap.
    Heap {
        /// How many bytes were asked for.
        size: u64,
        /// Where in it they are.
        offset: u64,
        /// Where it was allocated, innermost first.
        stack: Vec<Frame>,
    },
}

/// A lock that is held.
#[derive(Clone, Debug, Serialize)]
pub struct Lock {
    /// Its name, if it is a variable, or where it is.
    pub name: String,
    /// Where it was taken, innermost first.
    pub stack: Vec<Frame>,
}

impl Access {
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
    fn own_frame(&self) -> Option<&Frame> {
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
    fn position(&self) -> String {
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
    fn is_weak(&self) -> bool {
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

    fn acquires(&self) -> bool {
        matches!(self.order.as_deref(), Some("consume" | "acquire" | "acq_rel" | "seq_cst"))
    }

    fn releases(&self) -> bool {
        matches!(self.order.as_deref(), Some("release" | "acq_rel" | "seq_cst"))
    }
}

/// Is it a header of libstdc++ or libc++?
fn is_cpp_library(file: &str) -> bool {
    file.contains("/include/c++/")
}

/// A source file's path as seen from the program that was built from it: without the folders that both are in, so
/// that it is the same wherever the project is.
fn beside(file: &str, module: &str) -> String {
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

impl Finding {
    /// All frames of both stacks.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.access.stack.iter().chain(self.other.iter().flat_map(|other| &other.stack))
    }

    fn new(
        raw: &raw::Finding,
        maps: &[Mapping],
        symbols: &mut Symbols,
        token: Option<&str>,
    ) -> Finding {
        let mut access = |access: &raw::Access| Access {
            thread: access.thread,
            operation: access.operation.clone(),
            order: access.order.clone(),
            stack: symbols.stack(&access.stack, maps),
            created: access.created.as_ref().map(|creation| Creation {
                by: creation.by,
                stack: symbols.stack(&creation.stack, maps),
            }),
        };
        let first = access(&raw.access);
        let other = raw.other.as_ref().map(access);
        let doubt = raw.doubt.as_ref().map(|doubt| symbols.stack(&doubt.load, maps));
        let memory = match &raw.block {
            Some(block) => Some(Memory::Heap {
                size: block.size,
                offset: raw.address.saturating_sub(block.address),
                stack: symbols.stack(&block.stack, maps),
            }),
            None => symbols.variable(raw.address, maps).map(|variable| {
                let Variable { name, size, offset } = variable;
                Memory::Global { name, size, offset }
            }),
        };
        let locks = raw.locks.iter().map(|lock| Lock {
            name: symbols
                .variable(lock.address, maps)
                .map_or_else(|| format!("{:#x}", lock.address), |variable| variable.name),
            stack: symbols.stack(&lock.stack, maps),
        });
        let locks = locks.collect();
        let mut finding = Finding {
            id: String::new(),
            kind: raw.kind.clone(),
            message: String::new(),
            access: first,
            other,
            size: raw.size,
            value: raw.value,
            stale_values: raw.stale.clone(),
            used: raw.used,
            memory,
            locks,
            needs_stale_load: doubt,
            advice: Vec::new(),
            token: token.map(str::to_string),
            runs: 1,
        };
        finding.id = finding.identify();
        finding.message = finding.summarise();
        finding.advice = finding.advise();
        finding
    }

    /// The same for reports.
    fn observation(&self) -> Observation {
        let access = |access: &Access| {
            let frame = access.own_frame();
            let file = frame.and_then(|frame| frame.file.as_deref()).map(crate::text::short);
            let number =
                |number: Option<u32>| number.and_then(|number| usize::try_from(number).ok());
            observed::Access {
                thread: access.thread,
                what: access.describe(),
                action: if access.operation.contains("load") || access.operation.contains("read") {
                    "load"
                } else {
                    "store"
                },
                file: file.unwrap_or_else(|| "?".into()),
                line: number(frame.and_then(|frame| frame.line)).unwrap_or(0),
                column: number(frame.and_then(|frame| frame.column)).unwrap_or(1),
            }
        };
        Observation {
            problem: match self.kind.as_str() {
                "stale-read" => report::finding::Kind::StaleRead,
                "stale-write" => report::finding::Kind::StaleWrite,
                "stale-update" => report::finding::Kind::StaleUpdate,
                _ => report::finding::Kind::Race,
            },
            message: self.message.clone(),
            id: self.id.clone(),
            access: access(&self.access),
            other: self.other.as_ref().map(access),
            size: self.size,
            value: self.value.map(crate::text::number),
            stale_values: self.stale_values.iter().copied().map(crate::text::number).collect(),
            token: self.token.clone(),
            runs: self.runs,
            advice: self.advice.clone(),
            is_unused: self.used == Some(false),
            details: crate::text::details(self),
        }
    }

    /// Where it is: what makes two findings the same.
    fn key(&self) -> (String, String, String) {
        let mut a = self.access.position();
        let mut b = self.other.as_ref().map(Access::position).unwrap_or_default();
        if self.kind == "race" && b < a {
            std::mem::swap(&mut a, &mut b);
        }
        (self.kind.clone(), a, b)
    }

    /// The key as a name: 48 bits, so that a hundred thousand findings have as many names.
    fn identify(&self) -> String {
        let (kind, a, b) = self.key();
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in kind.bytes().chain([0]).chain(a.bytes()).chain([0]).chain(b.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        format!("FP{:012x}", (hash ^ (hash >> 48)) & 0xffff_ffff_ffff)
    }

    fn summarise(&self) -> String {
        let place = self.access.place();
        match self.kind.as_str() {
            "stale-read" => {
                format!("this {} may read a stale value: {place}", self.access.operation)
            }
            "stale-write" => {
                format!("this store may take effect before one that is there already: {place}")
            }
            "stale-update" => {
                format!("this {} may act on a stale value: {place}", self.access.operation)
            }
            _ => {
                let other = self.other.as_ref().map_or_else(|| "?".into(), Access::place);
                format!("data race: {place} and {other}")
            }
        }
    }

    /// The smallest strengthening that rules it out.
    fn advise(&self) -> Vec<String> {
        let Some(other) = &self.other else { return Vec::new() };
        let (here, there) = (self.access.place(), other.place());
        if self.kind == "race" {
            return match &self.needs_stale_load {
                Some(load) => {
                    let load = load.first().map_or_else(|| "?".into(), crate::text::place);
                    vec![format!(
                        "the race needs the load at {load} to be stale: repair that, and the race is gone"
                    )]
                }
                None => vec![
                    "order the two accesses: with a mutex, or by a release store after the first and an \
                     acquire load that reads it before the second"
                        .into(),
                ],
            };
        }
        let mut advice = Vec::new();
        if !other.releases() || !self.access.acquires() {
            let mut parts = Vec::new();
            if !other.releases() {
                parts.push(format!("the write at {there} release"));
            }
            if !self.access.acquires() && self.kind == "stale-read" {
                parts.push(format!("the {} at {here} acquire", self.access.operation));
            }
            if !parts.is_empty() {
                advice.push(format!(
                    "if the thread learned of that write through another atomic, make the accesses on the \
                     way release and acquire ({})",
                    parts.join(", ")
                ));
            }
        }
        let lead = if advice.is_empty() { "" } else { "otherwise " };
        advice.push(format!(
            "{lead}put a seq_cst fence before {here}, after the thread's own last write, and one after \
             {there} in the other thread; or make these accesses seq_cst"
        ));
        advice
    }
}

/// The longest source file that becomes part of a report.
const SHOWN: u64 = 1 << 20;

/// The text of a source file, if it is one; never the program itself.
fn shown(program: &Path, file: &str) -> String {
    let short = std::fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() <= SHOWN);
    match short && Path::new(file) != program {
        true => std::fs::read_to_string(file).unwrap_or_default(),
        false => String::new(),
    }
}

/// All findings, once each.
pub struct Collection {
    /// In the order in which they were found.
    pub findings: Vec<Finding>,
    /// How many were left out.
    pub suppressed: usize,
    /// How many are the standard library's own business.
    pub internal: usize,
    /// In which run each was found last.
    last_run: Vec<u64>,
    symbols: Symbols,
    filter: Filter,
    seen: HashMap<(String, String, String), Option<usize>>,
}

impl Collection {
    /// Nothing yet.
    pub fn new(filter: Filter) -> Self {
        Collection {
            findings: Vec::new(),
            suppressed: 0,
            internal: 0,
            last_run: Vec::new(),
            symbols: Symbols::default(),
            filter,
            seen: HashMap::new(),
        }
    }

    /// The suppressions that no finding needed.
    pub fn unused_suppressions(&self) -> Vec<String> {
        self.filter.unused().collect()
    }

    /// A report for each source file with findings of `program`.
    pub fn reports(&self, program: &Path) -> Vec<InputReport> {
        let observations: Vec<Observation> =
            self.findings.iter().map(Finding::observation).collect();
        let name = program.display().to_string();
        observed::sheets(&name, &observations, &|file| shown(program, file))
    }

    /// Adds what was found in the run with this number; says which findings are new.
    pub fn add(&mut self, raw: &Raw, token: Option<&str>, run: u64) -> Vec<usize> {
        let mut new = Vec::new();
        let wanted = raw.findings.iter().filter(|(finding, _)| self.filter.wants(&finding.kind));
        for (finding, maps) in wanted.collect::<Vec<_>>() {
            let may_fail = finding.may_fail;
            let finding = Finding::new(finding, maps, &mut self.symbols, token);
            if may_fail && finding.access.is_weak() {
                // It may fail whatever it finds, and nothing else comes of it.
                continue;
            }
            let key = finding.key();
            match self.seen.get(&key) {
                Some(Some(index)) if self.last_run[*index] != run => {
                    self.last_run[*index] = run;
                    self.findings[*index].runs += 1;
                }
                Some(_) => {}
                // Its own loops wait for what they need, in ways that cannot be told from mistakes.
                None if finding.kind != "race" && finding.access.is_internal() => {
                    self.internal += 1;
                    self.seen.insert(key, None);
                }
                None if self.filter.covers(&finding) => {
                    self.suppressed += 1;
                    self.seen.insert(key, None);
                }
                None => {
                    new.push(self.findings.len());
                    self.seen.insert(key, Some(self.findings.len()));
                    self.findings.push(finding);
                    self.last_run.push(run);
                }
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str, line: u32, column: u32) -> Frame {
        Frame {
            function: Some(function.into()),
            file: Some(file.into()),
            line: Some(line),
            column: Some(column),
            module: "/home/me/project/build/program".into(),
            offset: 0,
            inlined: false,
        }
    }

    fn id(kind: &str, stack: Vec<Frame>, other: Vec<Frame>) -> String {
        let access = |stack| Access {
            thread: 1,
            operation: "load".into(),
            order: None,
            stack,
            created: None,
        };
        let finding = Finding {
            id: String::new(),
            kind: kind.into(),
            message: String::new(),
            access: access(stack),
            other: Some(access(other)),
            size: 4,
            value: None,
            stale_values: Vec::new(),
            used: None,
            memory: None,
            locks: Vec::new(),
            needs_stale_load: None,
            advice: Vec::new(),
            token: None,
            runs: 1,
        };
        finding.identify()
    }

    /// Whatever tells two findings apart for people tells their names apart.
    #[test]
    fn different_findings_have_different_names() {
        let here = || frame("pop", "/home/me/project/src/queue.c", 10, 5);
        let there = || frame("push", "/home/me/project/src/queue.c", 20, 3);
        let first = id("race", vec![here()], vec![there()]);
        let others = [
            id("stale-read", vec![here()], vec![there()]),
            id("race", vec![frame("pop", "/home/me/project/src/queue.c", 10, 9)], vec![there()]),
            id("race", vec![frame("pop", "/home/me/project/src/queue.c", 11, 5)], vec![there()]),
            id("race", vec![frame("pop", "/home/me/project/old/queue.c", 10, 5)], vec![there()]),
            id("race", vec![frame("pop2", "/home/me/project/src/queue.c", 10, 5)], vec![there()]),
            id("race", vec![here()], vec![frame("push", "/home/me/project/src/queue.c", 20, 4)]),
            // Two functions of a library that the same call was inlined from.
            id(
                "race",
                vec![frame("load", "/usr/include/c++/12/atomic", 1, 1), here()],
                vec![there()],
            ),
            id(
                "race",
                vec![frame("store", "/usr/include/c++/12/atomic", 1, 1), here()],
                vec![there()],
            ),
            id("race", vec![here()], vec![]),
        ];
        for (index, other) in others.iter().enumerate() {
            assert_ne!(*other, first, "{index}");
            assert!(!others[..index].contains(other), "{index}");
        }
        // Either access of a race may come second, and the project may be elsewhere.
        assert_eq!(id("race", vec![there()], vec![here()]), first);
        assert_ne!(
            id("stale-read", vec![there()], vec![here()]),
            id("stale-read", vec![here()], vec![there()])
        );
        assert_eq!(
            beside("/ci/7/project/src/queue.c", "/ci/7/project/build/program"),
            "src/queue.c"
        );
        assert_eq!(beside("/src/queue.c", "/elsewhere/program"), "src/queue.c");
        assert_eq!(beside("queue.c", "/elsewhere/program"), "queue.c");
    }
}
