//! Answers about machines with store buffers, as text and as JSON.
//!
//! A witness is a computation of the machine: each access where it happens, a delayed store twice,
//! where it is issued and where it reaches memory. The happens-before cycle follows by source line.

use crate::escape::visible;
use check::Cost;
use check::robustness::store_atomic::judge::{Event, Happening, OnCycle};
use check::robustness::store_atomic::trf::{Freedom, Race};
use check::robustness::store_atomic::{Machine, Outcome, Verdict, Witness};
use lang::Source;
use model::memory::store_buffer::trace::Edge;
use model::{Loc, Pc, Tid};
use serde_json::{Value, json};
use std::fmt::Write;

/// What was found out.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Is the program robust?
    Robustness(Outcome),
    /// Is it free of triangular races?
    TriangularRaces((Freedom, Cost)),
}

/// An answer about a program.
#[derive(Clone, Debug)]
pub struct Reply<'a> {
    source: &'a Source,
    machine: Machine,
    answer: Answer,
}

impl<'a> Reply<'a> {
    /// The answer about `source`.
    pub fn new(source: &'a Source, machine: Machine, answer: Answer) -> Self {
        Reply { source, machine, answer }
    }

    /// `holds`, `violated` or `undecided`.
    pub fn verdict(&self) -> &'static str {
        match &self.answer {
            Answer::Robustness(outcome) => outcome.verdict.name(),
            Answer::TriangularRaces((freedom, _)) => freedom.name(),
        }
    }

    fn cost(&self) -> &Cost {
        match &self.answer {
            Answer::Robustness(outcome) => &outcome.cost,
            Answer::TriangularRaces((_, cost)) => cost,
        }
    }

    fn property(&self) -> &'static str {
        match &self.answer {
            Answer::Robustness(_) => "robustness",
            Answer::TriangularRaces(_) => "triangular-races",
        }
    }

    fn why(&self) -> Option<String> {
        match &self.answer {
            Answer::Robustness(Outcome { verdict: Verdict::Undecided(why), .. })
            | Answer::TriangularRaces((Freedom::Undecided(why), _)) => Some(why.to_string()),
            _ => None,
        }
    }

    /// One JSON object with the fields that every check has.
    pub fn json(&self) -> Value {
        let cost = self.cost();
        let witness = match &self.answer {
            Answer::Robustness(Outcome { verdict: Verdict::Violated(witness), .. }) => {
                self.witness_json(witness)
            }
            Answer::TriangularRaces((Freedom::Race(race), _)) => json!({
                "problem": "triangular-race",
                "thread": self.thread(race.tid),
                "store": self.place(race.tid, race.store),
                "load": self.place(race.tid, race.load),
            }),
            _ => Value::Null,
        };
        let (attacks, examined, method) = match &self.answer {
            Answer::Robustness(outcome) => {
                (Some(outcome.attacks), Some(outcome.attacks_examined), Some(outcome.method.name()))
            }
            Answer::TriangularRaces(_) => (None, None, None),
        };
        json!({
            "file": self.source.name,
            "model": self.machine.name(),
            "property": self.property(),
            "verdict": self.verdict(),
            "states": cost.states,
            "transitions": cost.transitions,
            "seconds": cost.elapsed.as_secs_f64(),
            "peak_bytes": cost.peak_bytes,
            "attacks": attacks,
            "attacks_examined": examined,
            "method": method,
            "witness": witness,
            "error": self.why(),
        })
    }

    fn witness_json(&self, witness: &Witness) -> Value {
        let happened = |h: &Happening| {
            let (what, loc, value) = describe(h.event);
            json!({
                "thread": self.thread(h.tid),
                "at": self.place(h.tid, h.pc),
                "event": what,
                "location": loc.map(|loc| self.location(loc)),
                "value": value,
            })
        };
        let on_cycle = |on: &OnCycle| {
            json!({
                "thread": self.thread(on.tid),
                "at": self.place(on.tid, on.pc),
                "location": self.location(on.loc),
                "edge": on.edge.name(),
            })
        };
        json!({
            "problem": "delayed-store",
            "thread": self.thread(witness.attacker),
            "store": self.place(witness.attacker, witness.start),
            "overtaken_by": self.place(witness.attacker, witness.last),
            "computation": witness.computation.iter().map(happened).collect::<Vec<_>>(),
            "cycle": witness.cycle.iter().map(on_cycle).collect::<Vec<_>>(),
        })
    }

    /// The answer as text; the story of a violation only if `detailed`.
    pub fn text(&self, detailed: bool) -> String {
        let cost = self.cost();
        let mut out = format!(
            "{}: {}, {} states, {:.1} ms\n  {}  {}",
            visible(&self.source.name),
            self.machine.name(),
            cost.states,
            cost.elapsed.as_secs_f64() * 1e3,
            self.property(),
            self.verdict()
        );
        if let Some(why) = self.why() {
            let _ = write!(out, ": {why}");
        }
        if let Answer::Robustness(outcome) = &self.answer {
            let _ = write!(
                out,
                "  ({} of {} attacks examined by {})",
                outcome.attacks_examined,
                outcome.attacks,
                outcome.method.name()
            );
        }
        out.push('\n');
        if detailed {
            match &self.answer {
                Answer::Robustness(Outcome { verdict: Verdict::Violated(witness), .. }) => {
                    self.story(witness, &mut out);
                }
                Answer::TriangularRaces((Freedom::Race(race), _)) => self.race(race, &mut out),
                _ => {}
            }
        }
        out
    }

    fn story(&self, witness: &Witness, out: &mut String) {
        let attacker = self.thread(witness.attacker);
        let _ = writeln!(
            out,
            "\n`{attacker}` may delay its store {} past {}.\n\nOn the machine with buffers:",
            self.quoted(witness.attacker, witness.start),
            self.quoted(witness.attacker, witness.last),
        );
        for happening in &witness.computation {
            let (what, loc, value) = describe(happening.event);
            let target = match (loc, value) {
                (Some(loc), Some(value)) => format!(" {} = {value}", self.location(loc)),
                _ => String::new(),
            };
            let thread = self.thread(happening.tid);
            let place = self.quoted(happening.tid, happening.pc);
            let _ = writeln!(out, "  {thread:<12} {place:<40} {what}{target}");
        }
        out.push_str(
            "\nNo interleaving does this: each of these would have to come before the next.\n",
        );
        for on in &witness.cycle {
            let thread = self.thread(on.tid);
            let _ = writeln!(out, "  {thread:<12} {}", self.quoted(on.tid, on.pc));
            let reason = match on.edge {
                Edge::Program => "comes before, in the same thread (po)",
                Edge::Store => "reaches memory before (st)",
                Edge::Source => "is read by (src)",
                Edge::Conflict => "read before it was overwritten by (cf)",
                Edge::Block => "is in one uninterrupted block with",
            };
            let _ = writeln!(out, "    ↓ {reason}");
        }
        out.push_str("  and so the first before itself\n");
        let _ = writeln!(
            out,
            "\nWhat to do: `fencepost fix --model {} FILE` finds the fences that rule it out.",
            self.machine.name()
        );
    }

    fn race(&self, race: &Race, out: &mut String) {
        let _ = writeln!(
            out,
            "\n`{}` stores at {} and then loads at {} while another thread may write there: a \
             triangular race.\nThe program may be robust all the same; check without --trf.",
            self.thread(race.tid),
            self.quoted(race.tid, race.store),
            self.quoted(race.tid, race.load),
        );
    }

    fn thread(&self, tid: Tid) -> String {
        visible(&self.source.program.threads[tid.index()].display_name())
    }

    fn location(&self, loc: Loc) -> String {
        visible(&self.source.program.locations[loc.index()].display_name())
    }

    fn quoted(&self, tid: Tid, pc: Pc) -> String {
        let span = self.source.span(self.source.program.step(tid, pc).origin);
        let (line, _) = self.source.line_column(span.start);
        format!("{line}: {}", visible(self.source.snippet(span)))
    }

    fn place(&self, tid: Tid, pc: Pc) -> Value {
        let span = self.source.span(self.source.program.step(tid, pc).origin);
        let (line, column) = self.source.line_column(span.start);
        json!({ "line": line, "column": column, "text": self.source.snippet(span) })
    }
}

fn describe(event: Event) -> (&'static str, Option<Loc>, Option<model::Value>) {
    match event {
        Event::Read(loc, value) => ("reads", Some(loc), Some(value)),
        Event::ReadOwn(loc, value) => ("reads, from its own buffer,", Some(loc), Some(value)),
        Event::Write(loc, value) => ("writes", Some(loc), Some(value)),
        Event::Issue(loc, value) => ("issues the store", Some(loc), Some(value)),
        Event::Commit(loc, value) => ("the delayed store reaches memory:", Some(loc), Some(value)),
        Event::Update(loc, _, value) => ("updates", Some(loc), Some(value)),
        Event::LightFence => ("passes the lightweight fence", None, None),
        Event::Lock => ("begins an uninterrupted block", None, None),
        Event::Unlock => ("ends the uninterrupted block", None, None),
    }
}
