//! Which statements no execution reaches, judged by control flow and constant conditions alone.

use super::thread::{Laid, LoweredThread};
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Span;
use ir::{Pc, Thread};

/// The statements of a thread and whether any of its replicas reaches them: `if (t == 0) …` is dead
/// code in some replicas only, which is fine.
#[derive(Default)]
pub(super) struct Reached {
    statements: Vec<(Span, bool, bool)>,
}

impl Reached {
    pub(super) fn add(&mut self, lowered: &LoweredThread) {
        let reachable = reachable(&lowered.thread);
        let here = |laid: &Laid| reachable.get(laid.first.index()).copied().unwrap_or(true);
        if self.statements.is_empty() {
            let laid = lowered.statements.iter();
            self.statements = laid.map(|laid| (laid.span, laid.trivial, here(laid))).collect();
        } else {
            for ((_, _, reached), laid) in self.statements.iter_mut().zip(&lowered.statements) {
                *reached |= here(laid);
            }
        }
    }

    /// One warning for each stretch of dead statements that would do something.
    pub(super) fn warn(&self, sink: &mut Sink) {
        for stretch in self.statements.split(|(_, _, reached)| *reached) {
            if let Some((span, ..)) = stretch.iter().find(|(_, trivial, _)| !trivial) {
                sink.push(
                    Diagnostic::warning(codes::UNREACHABLE, "unreachable statement")
                        .with_label(*span, "no execution gets here"),
                );
            }
        }
    }
}

fn reachable(thread: &Thread) -> Vec<bool> {
    let mut seen = vec![false; thread.code.len()];
    let mut stack = vec![thread.entry];
    while let Some(Pc(at)) = stack.pop() {
        if !std::mem::replace(&mut seen[at as usize], true) {
            stack.extend(thread.code[at as usize].successors());
        }
    }
    seen
}
