//! Puts fences into a text.
//!
//! A fence before a state's transitions becomes a new state: `transition q q_fenced mfence` is
//! added, and the transitions that left `q` leave `q_fenced` instead.

use super::read;
use crate::diagnostic::Sink;
use crate::source::{Source, Span};
use ir::Origin;
use std::collections::HashSet;

/// The text of `source` with an `mfence` before each of the instructions that `origins` name; all
/// transitions from the same state share it. `None` if the text is not in this format.
pub fn insert_fences(source: &Source, origins: &[Origin]) -> Option<String> {
    let mut sink = Sink::default();
    let automata = read::read(&source.text, &mut sink);
    if sink.has_errors() {
        return None;
    }
    let wanted: HashSet<Span> = origins.iter().map(|&origin| source.span(origin)).collect();
    let mut edits: Vec<(Span, String)> = Vec::new();
    for automaton in &automata {
        let states: HashSet<&str> = automaton
            .transitions
            .iter()
            .filter(|t| wanted.contains(&t.span) || wanted.contains(&t.from.span))
            .map(|t| t.from.text)
            .collect();
        let taken: HashSet<&str> =
            automaton.transitions.iter().flat_map(|t| [t.from.text, t.to.text]).collect();
        let mut begun: HashSet<&str> = HashSet::new();
        for transition in &automaton.transitions {
            let state = transition.from.text;
            if !states.contains(state) {
                continue;
            }
            let mut fenced = format!("{state}_fenced");
            while taken.contains(fenced.as_str()) {
                fenced.push('_');
            }
            if begun.insert(state) {
                let at = transition.span.start;
                let new = format!("transition {state} {fenced} mfence\n");
                edits.push((Span::new(at, at), new));
            }
            edits.push((transition.from.span, fenced));
        }
    }
    edits.sort_by_key(|(span, _)| *span);
    let mut text = String::new();
    let mut done = 0;
    for (span, new) in edits {
        text.push_str(&source.text[done..span.start]);
        text.push_str(&new);
        done = span.end;
    }
    text.push_str(&source.text[done..]);
    Some(text)
}
