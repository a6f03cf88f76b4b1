//! Final states: what registers and memory hold when everything has stopped.

use crate::escape::{columns, pad, visible};
use crate::input_report::Notice;
use crate::litmus::{self, Counts};
use crate::run::{Assigned, Held};
use crate::shown::Shown;
use crate::text::{Ink, Look, amount};
use check::Model;
use graph::outcome::{FinalState, ThreadEnd};
use graph::run::Status;
use ir::{Program, Tid, Value};
use lang::source::Language;
use lang::{Diagnostic, Source};
use serde::Serialize;
use std::time::Duration;

/// The final states of one program.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OutcomeTable {
    /// The program's file.
    pub file: String,
    /// The model.
    pub model: &'static str,
    /// The states.
    pub outcomes: Vec<Row>,
    /// What is known of the final condition, if the program has one.
    pub condition: Option<Asked>,
    /// How often a thread may come to one statement, if that cut something off: states that SC
    /// forbids may then be missing.
    pub unroll: Option<u32>,
    /// The limit that stopped the enumeration, if one did.
    pub limit: Option<&'static str>,
    /// How many execution graphs there are, or were seen; 0 if states were searched instead.
    pub graphs: usize,
    /// How long it took.
    pub seconds: f64,
    /// What may not be as meant, such as `sc` accesses in a model that has none.
    pub warnings: Vec<Notice>,
    /// Why there is no answer; always null here.
    pub error: Option<String>,
}

/// A final condition and what it is true of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Asked {
    /// The condition, in the program's own notation.
    pub text: String,
    /// Is the answer to `exists` yes, or the claim of `~exists` or `forall` true? If a limit cut the
    /// enumeration short: as far as was seen.
    pub holds: bool,
    /// How many final states satisfy the formula, of those in which every thread came to its end.
    pub satisfying: u64,
    /// How many of these states do not.
    pub others: u64,
    /// The same for executions, as herd counts them; null where executions are not counted.
    pub executions: Option<AskedOfExecutions>,
}

/// How many executions satisfy a condition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AskedOfExecutions {
    /// How many end in a state that satisfies the formula.
    pub satisfying: u64,
    /// How many do not.
    pub others: u64,
    /// `Always`, `Sometimes` or `Never`.
    pub observation: &'static str,
    /// Has an execution a data race?
    pub racy: bool,
}

/// One final state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    /// Does an interleaving end like this?
    pub under_sc: bool,
    /// Does it satisfy the final condition? Null if there is none, or if it is not about this state.
    pub satisfies: Option<bool>,
    /// How the threads ended.
    pub threads: Vec<End>,
    /// What memory holds.
    pub memory: Vec<Held>,
}

/// How a thread ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct End {
    /// The thread.
    pub thread: String,
    /// `done`, `blocked`, `ended`, `failed`, or the run-time error.
    pub status: String,
    /// The line where it stopped, unless it is done.
    pub line: Option<usize>,
    /// Its locals.
    pub locals: Vec<Assigned>,
}

/// What an enumeration saw, to be shown.
#[derive(Clone, Debug)]
pub struct Enumerated {
    /// The final states.
    pub states: Vec<Seen>,
    /// How often a thread may come to one statement, if that cut something off.
    pub unroll: Option<u32>,
    /// The limit that stopped it, if one did.
    pub limit: Option<&'static str>,
    /// How many graphs it saw.
    pub graphs: usize,
    /// If executions were counted: has one of them a data race?
    pub racy: Option<bool>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A final state that was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The state.
    pub state: FinalState,
    /// Does SC allow it?
    pub under_sc: bool,
    /// How many executions end in it; 1 where they are not counted.
    pub executions: u64,
}

impl OutcomeTable {
    /// The final states of `source` under the model of this name, and what was warned about.
    pub fn new(
        source: &Source,
        model: &'static str,
        seen: Enumerated,
        warnings: &[Diagnostic],
    ) -> Self {
        let program = &source.program;
        let mut outcomes: Vec<Row> = Vec::new();
        let sc = model == Model::Sc.name();
        let condition = asked(program, &seen, sc);
        for one in seen.states.into_iter().filter(|one| !sc || one.under_sc) {
            let row = row(source, program, &one);
            match outcomes.iter_mut().find(|known| known.is_like(&row)) {
                Some(known) => known.under_sc |= row.under_sc,
                None => outcomes.push(row),
            }
        }
        outcomes.sort_by_key(Row::sort_key);
        OutcomeTable {
            file: source.name.clone(),
            model,
            outcomes,
            condition,
            unroll: seen.unroll,
            limit: seen.limit,
            graphs: seen.graphs,
            seconds: seen.elapsed.as_secs_f64(),
            warnings: warnings.iter().map(|warning| Notice::new(warning, &source.text)).collect(),
            error: None,
        }
    }

    /// The table as text.
    pub fn text(&self, look: &Look) -> String {
        let forbidden = self.outcomes.iter().filter(|row| !row.under_sc).count();
        let all = self.outcomes.len();
        let mut out = format!(
            "{}: {} under {}",
            look.paint(Ink::Strong, &visible(&self.file)),
            amount::plural(all as u64, "final state"),
            self.model,
        );
        match forbidden {
            _ if self.model == Model::Sc.name() || all == 0 => {}
            0 => out.push_str(", all allowed by SC"),
            n if n == all => out.push_str(", forbidden by SC"),
            n => out.push_str(&format!(", {n} of them forbidden by SC")),
        }
        out.push('\n');
        if all == 0 && self.limit.is_none() {
            out.push_str("  every execution goes on forever\n");
        }
        out.push_str(&self.rows(look));
        if let Some(asked) = &self.condition {
            out.push_str(&asked.line(look));
        }
        out.push_str(&self.incomplete(look));
        out
    }

    /// What may be missing, a line for each reason.
    pub fn incomplete(&self, look: &Look) -> String {
        let mut out = String::new();
        if let Some(unroll) = self.unroll {
            let warning = format!(
                "states that SC forbids are complete only up to {unroll} visits of each statement; \
                 --unroll goes further"
            );
            out.push_str(&format!("{}\n", look.paint(Ink::Warning, &warning)));
        }
        if let Some(limit) = self.limit {
            let warning = match limit {
                "interrupted" => "it was interrupted: there may be more".to_string(),
                limit => format!("the limit on {limit} was reached: there may be more"),
            };
            out.push_str(&format!("{}\n", look.paint(Ink::Warning, &warning)));
        }
        out
    }

    fn rows(&self, look: &Look) -> String {
        let Some(first) = self.outcomes.first() else { return String::new() };
        let heads: Vec<String> = first.cells().into_iter().map(|(name, _)| name).collect();
        let values: Vec<Vec<String>> = self
            .outcomes
            .iter()
            .map(|row| row.cells().into_iter().map(|(_, value)| value.to_string()).collect())
            .collect();
        let (same, different): (Vec<usize>, Vec<usize>) = (0..heads.len())
            .partition(|&column| values.iter().all(|row| row[column] == values[0][column]));
        let mut out = String::new();
        if !different.is_empty() || self.outcomes.len() > 1 || first.ends_early() {
            out.push_str(&self.differing(&heads, &values, &different, look));
        }
        if !same.is_empty() {
            let bindings: Vec<String> =
                same.iter().map(|&c| format!("{} = {}", heads[c], values[0][c])).collect();
            out.push_str(&format!("  always: {}\n", bindings.join(", ")));
        }
        out
    }

    fn differing(
        &self,
        heads: &[String],
        values: &[Vec<String>],
        shown: &[usize],
        look: &Look,
    ) -> String {
        let width = |column: usize| {
            let cells = values.iter().map(|row| row[column].len());
            cells.chain([columns(&heads[column])]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = shown.iter().map(|&column| width(column)).collect();
        let mut out = String::new();
        let names = shown.iter().zip(&widths).map(|(&column, width)| pad(&heads[column], *width));
        let header = names.collect::<Vec<_>>().join("  ");
        if !header.is_empty() {
            out.push_str(&format!("  {}\n", look.paint(Ink::Strong, header.trim_end())));
        }
        for (row, values) in self.outcomes.iter().zip(values) {
            let cells = shown.iter().zip(&widths).map(|(&c, width)| pad(&values[c], *width));
            let mut line = cells.collect::<Vec<_>>().join("  ");
            let notes = row.notes();
            if !notes.is_empty() {
                line = format!("{line}  {}", look.paint(Ink::Warning, &notes));
            }
            if row.satisfies == Some(true) {
                line.push_str("  satisfies the condition");
            }
            if !row.under_sc {
                line = format!("{line}  {}", look.paint(Ink::Bad, "forbidden by SC"));
            }
            out.push_str(&format!("  {}\n", line.trim_end()));
        }
        out
    }
}

/// What is known of the program's condition.
fn asked(program: &Program, seen: &Enumerated, sc: bool) -> Option<Asked> {
    let condition = program.condition.as_ref()?;
    let (mut states, mut executions) = (Counts::default(), Counts::default());
    for one in seen.states.iter().filter(|one| !sc || one.under_sc) {
        if litmus::is_asked_about(&one.state) {
            let satisfies = litmus::satisfies(condition, &one.state);
            states.add(satisfies, 1);
            executions.add(satisfies, one.executions);
        }
    }
    Some(Asked {
        text: ir::print::condition(program, condition),
        holds: states.holds(condition.quantifier),
        satisfying: states.satisfying,
        others: states.others,
        executions: seen.racy.map(|racy| AskedOfExecutions {
            satisfying: executions.satisfying,
            others: executions.others,
            observation: executions.observation(),
            racy,
        }),
    })
}

impl Asked {
    fn line(&self, look: &Look) -> String {
        let answer = match self.holds {
            true => look.paint(Ink::Good, "yes"),
            false => look.paint(Ink::Bad, "no"),
        };
        let all = amount::plural(self.satisfying + self.others, "final state");
        let verb = if self.satisfying == 1 { "satisfies" } else { "satisfy" };
        format!("  {}: {answer}, {} of {all} {verb} it\n", visible(&self.text), self.satisfying)
    }
}

impl Row {
    fn is_like(&self, other: &Row) -> bool {
        (&self.threads, &self.memory) == (&other.threads, &other.memory)
    }

    fn sort_key(&self) -> (Vec<Shown>, Vec<String>) {
        let values = self.cells().into_iter().map(|(_, value)| value).collect();
        (values, self.threads.iter().map(|end| end.status.clone()).collect())
    }

    /// Every register and location with its value.
    fn cells(&self) -> Vec<(String, Shown)> {
        let locals = self.threads.iter().flat_map(|end| {
            let name = |a: &Assigned| visible(&format!("{}.{}", end.thread, a.local));
            end.locals.iter().map(move |a| (name(a), a.value.clone()))
        });
        let memory = self.memory.iter().map(|held| (visible(&held.location), held.value.clone()));
        locals.chain(memory).collect()
    }

    fn ends_early(&self) -> bool {
        self.threads.iter().any(|end| end.line.is_some())
    }

    /// What there is to say about threads that are not done.
    fn notes(&self) -> String {
        let note = |end: &End| {
            let line = end.line?;
            let thread = visible(&end.thread);
            Some(match end.status.as_str() {
                "blocked" => format!("{thread} waits at line {line}"),
                "failed" => format!("{thread} fails at line {line}"),
                "ended" => format!("{thread} ends at line {line}"),
                fault => format!("{thread} stops at line {line}: {fault}"),
            })
        };
        self.threads.iter().filter_map(note).collect::<Vec<_>>().join(", ")
    }
}

fn row(source: &Source, program: &Program, seen: &Seen) -> Row {
    let Seen { state, under_sc, .. } = seen;
    let held = |(location, value): (&ir::Location, &Value)| Held {
        location: location.display_name(),
        value: Shown::of(source, *value),
    };
    let memory = program.locations.iter().zip(&state.memory).enumerate();
    let is_users = |k: usize| !source.internal.iter().any(|loc| loc.index() == k);
    let ends = program.tids().zip(&state.threads);
    let asking = program.condition.as_ref().filter(|_| litmus::is_asked_about(state));
    Row {
        satisfies: asking.map(|condition| litmus::satisfies(condition, state)),
        under_sc: *under_sc,
        threads: ends.map(|(tid, end)| end_of(source, program, tid, end)).collect(),
        memory: memory.filter(|(k, _)| is_users(*k)).map(|(_, it)| held(it)).collect(),
    }
}

fn end_of(source: &Source, program: &Program, tid: Tid, end: &ThreadEnd) -> End {
    let thread = &program.threads[tid.index()];
    let status = match end.status {
        Status::Halted => "done".to_string(),
        Status::Blocked => "blocked".to_string(),
        Status::Ended => "ended".to_string(),
        Status::Failed => "failed".to_string(),
        Status::Faulted(fault) => fault.to_string(),
        Status::Running => "running".to_string(),
        Status::Cut => "cut".to_string(),
    };
    // What compiled code keeps in registers has no name of the user's.
    let named = source.language == Language::Algorithms;
    let locals = thread.registers.iter().zip(&end.registers).filter(|_| named);
    let span = source.span(program.step(tid, end.pc).origin);
    End {
        thread: thread.display_name(),
        line: (end.status != Status::Halted).then(|| source.line_column(span.start).0),
        status,
        locals: locals
            .map(|(name, value)| Assigned { local: name.clone(), value: Shown::of(source, *value) })
            .collect(),
    }
}
