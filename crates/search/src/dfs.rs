//! Depth-first search, on one core.
//!
//! The stack holds states still to be expanded with their depth; the path to the state in hand is
//! the last state expanded at each smaller depth.

use crate::visited::{Id, Visited, Worker};
use crate::{Found, Limit, Model, Options, Paths, Progress, Report, Sink, Width};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const OBSERVE_EVERY: Duration = Duration::from_millis(100);

struct Push<'v, 's, F> {
    visited: &'v Visited,
    /// None only while the table grows.
    worker: Option<Worker<'v>>,
    stack: &'s mut Vec<(Id, u32)>,
    depth: u32,
    width: Width,
    transitions: u64,
    /// Was one of the states new?
    any_new: bool,
    malformed: Option<Limit>,
    findings: Vec<F>,
}

impl<F> Push<'_, '_, F> {
    /// Lets the table grow if it is crowded; says whether there is room now. A table that cannot grow takes no more:
    /// every search for a slot needs an empty one to end at.
    fn has_room(&mut self) -> bool {
        if self.visited.is_full() {
            return false;
        }
        if self.worker.as_ref().is_some_and(|worker| !worker.is_crowded()) {
            return true;
        }
        self.worker = None;
        self.visited.grow();
        self.worker = Some(self.visited.enter(0));
        !self.visited.is_full()
    }
}

impl<F> Sink<F> for Push<'_, '_, F> {
    fn state(&mut self, state: &[u8]) {
        self.transitions += 1;
        if !self.width.admits(state.len()) {
            self.malformed = Some(Limit::Malformed { bytes: state.len() });
        } else if self.has_room()
            && let Some(id) = self.worker.as_ref().and_then(|worker| worker.insert(state).if_new())
        {
            self.stack.push((id, self.depth));
            self.any_new = true;
        }
    }

    fn finding(&mut self, finding: F) {
        self.findings.push(finding);
    }
}

pub(crate) fn explore<M: Model>(
    model: &M,
    options: &Options,
    go_on: &(dyn Fn(&Progress) -> ControlFlow<()> + Sync),
) -> Report<M::Finding> {
    let start = Instant::now();
    let budget = options.limits.budget;
    let mut ticker = budget.ticker();
    let visited = Visited::new(model.width(), 1).with_memory(budget.memory());
    let mut scratch = model.scratch();
    let mut stack = Vec::new();
    let mut path: Vec<Id> = Vec::new();
    let mut seen = HashSet::new();
    let mut report = Report {
        findings: Vec::new(),
        progress: Progress::default(),
        limit: None,
        exhausted: false,
    };
    let mut answered = false;
    let mut too_deep = false;
    let mut transitions = 0;
    let mut deepest = 0;
    let mut last_observed = start;
    let mut next: Option<Id> = None;
    let mut steps = 0u64;
    loop {
        let mut push = Push {
            visited: &visited,
            worker: Some(visited.enter(0)),
            stack: &mut stack,
            depth: path.len() as u32,
            width: model.width(),
            transitions: 0,
            any_new: false,
            malformed: None,
            findings: Vec::new(),
        };
        match next {
            None => model.initial(&mut scratch, &mut push),
            Some(id) => {
                let state = visited.get(id);
                model.expand_reduced(state, &mut scratch, &mut push);
                if !push.any_new {
                    model.expand(state, &mut scratch, &mut push);
                }
            }
        }
        if next.is_some() {
            transitions += push.transitions;
        }
        let Push { worker, findings, malformed, .. } = push;
        drop(worker);
        if options.limits.depth.is_some_and(|max| path.len() as u64 > max) {
            // Deeper states are not wanted; the search goes on elsewhere, but is no longer complete.
            stack.retain(|(_, depth)| (*depth as usize) < path.len());
            too_deep = true;
        }
        for finding in findings {
            if seen.insert(finding.clone()) {
                answered |= model.stops(&finding);
                let path = match options.paths {
                    Paths::All => path.iter().map(|&id| Box::from(visited.get(id))).collect(),
                    Paths::None => Vec::new(),
                };
                report.findings.push(Found { finding, path });
            }
        }
        deepest = deepest.max(path.len());
        let progress = |waiting: usize| Progress {
            states: visited.len(),
            transitions,
            depth: deepest as u64,
            waiting: waiting as u64,
            bytes: visited.bytes() + (size_of::<(Id, u32)>() * waiting) as u64,
            elapsed: start.elapsed(),
        };
        let done = answered && options.stop.is_due(visited.len());
        let popped = if done { None } else { stack.pop() };
        steps += 1;
        let spent = ticker.tick();
        let cut = visited.is_full()
            || spent.is_some()
            || malformed.is_some()
            || options.limits.states.is_some_and(|max| visited.len() > max);
        if steps.is_multiple_of(64) || popped.is_none() || cut {
            report.progress = progress(stack.len());
            let limits = &options.limits;
            let now = &report.progress;
            if malformed.is_some() {
                report.limit = malformed;
            } else if limits.states.is_some_and(|max| now.states > max) {
                report.limit = Some(Limit::States);
            } else if visited.is_full() || budget.memory().is_some_and(|max| now.bytes > max) {
                report.limit = Some(Limit::Memory);
            } else {
                report.limit = spent.map(Limit::from);
            }
            if last_observed.elapsed() >= OBSERVE_EVERY {
                last_observed = Instant::now();
                if go_on(now).is_break() {
                    report.limit = report.limit.or(Some(Limit::Interrupted));
                }
            }
        }
        let Some((id, depth)) = popped else {
            // A search that ended by itself was not cut short, however large it had grown.
            let full = visited.is_full();
            let depth = too_deep.then_some(Limit::Depth);
            report.limit = malformed.or(if full { Some(Limit::Memory) } else { depth });
            report.exhausted = stack.is_empty() && report.limit.is_none();
            break;
        };
        if report.limit.is_some() {
            break;
        }
        path.truncate(depth as usize);
        path.push(id);
        next = Some(id);
    }
    report
}
