//! A finding of the runtime with names in place of addresses, an id that stays the same, and advice.

use crate::access::{Creation, RunAccess};
use crate::raw;
use crate::symbols::{Frame, Mapping, Symbols, Variable};
use report::observed::{self, Observation};
use serde::Serialize;

/// A finding.
#[derive(Clone, Debug, Serialize)]
pub struct RunFinding {
    /// The same from run to run and build to build, as long as the lines stay where they are.
    pub id: String,
    /// `stale-read`, `stale-write`, `stale-update` or `race`.
    pub kind: String,
    /// What is wrong, in one line.
    pub message: String,
    /// The access at fault.
    pub access: RunAccess,
    /// What it misses or races with.
    pub other: Option<RunAccess>,
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

impl RunFinding {
    /// All frames of both stacks.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.access.stack.iter().chain(self.other.iter().flat_map(|other| &other.stack))
    }

    pub(crate) fn new(
        raw: &raw::RawFinding,
        maps: &[Mapping],
        symbols: &mut Symbols,
        token: Option<&str>,
    ) -> RunFinding {
        let mut access = |access: &raw::RawAccess| RunAccess {
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
        let mut finding = RunFinding {
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

    /// What there is to say about it.
    pub fn document(&self) -> report::document::Document<'static> {
        observed::document(&self.observation())
    }

    /// The same for reports.
    pub(crate) fn observation(&self) -> Observation {
        let access = |access: &RunAccess| {
            let frame = access.own_frame();
            let file = frame.and_then(|frame| frame.file.as_deref()).map(crate::text::short);
            let number =
                |number: Option<u32>| number.and_then(|number| usize::try_from(number).ok());
            observed::ObservedAccess {
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
    pub(crate) fn key(&self) -> (String, String, String) {
        let mut a = self.access.position();
        let mut b = self.other.as_ref().map(RunAccess::position).unwrap_or_default();
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
                let other = self.other.as_ref().map_or_else(|| "?".into(), RunAccess::place);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::beside;

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
        let access = |stack| RunAccess {
            thread: 1,
            operation: "load".into(),
            order: None,
            stack,
            created: None,
        };
        let finding = RunFinding {
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
