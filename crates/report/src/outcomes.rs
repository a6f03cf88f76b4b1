//! Tables of final states: the values of registers and memory after all threads have stopped.

use crate::document::{Block, Document, Line, Table, TableRow};
use crate::escape::visible;
use crate::input_report::Notice;
use crate::litmus::{self, Counts};
use crate::run::{Assigned, Held};
use crate::shown::Shown;
use crate::text::{Ink, amount};
use check::Model;
use check::outcomes::{Enumerated, Seen};
use graph::outcome::ThreadEnd;
use graph::run::Status;
use ir::{Program, Reg, Tid, Value};
use lang::source::Language;
use lang::{Diagnostic, Source};
use serde::Serialize;

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

    /// What there is to say about the states.
    pub fn document(&self) -> Document<'static> {
        let forbidden = self.outcomes.iter().filter(|row| !row.under_sc).count();
        let all = self.outcomes.len();
        let mut document = Document::default();
        let states = amount::plural(all as u64, "final state");
        let title = Line::inked(Ink::Strong, visible(&self.file))
            .then(format!(": {states} under {}", self.model));
        document.line(match forbidden {
            _ if self.model == Model::Sc.name() || all == 0 => title,
            0 => title.then(", all allowed by SC"),
            n if n == all => title.then(", forbidden by SC"),
            n => title.then(format!(", {n} of them forbidden by SC")),
        });
        if all == 0 && self.limit.is_none() {
            document.line("  every execution goes on forever");
        }
        self.states(&mut document);
        if let Some(asked) = &self.condition {
            document.line(asked.line());
        }
        document.extend(self.incomplete());
        document
    }

    /// What may be missing, a line for each reason.
    pub fn incomplete(&self) -> Document<'static> {
        let mut document = Document::default();
        if let Some(unroll) = self.unroll {
            let warning = format!(
                "states that SC forbids are complete only up to {unroll} visits of each statement; \
                 --unroll goes further"
            );
            document.line(Line::inked(Ink::Warning, warning));
        }
        if let Some(limit) = self.limit {
            let warning = match limit {
                "interrupted" => "it was interrupted: there may be more".to_string(),
                limit => format!("the limit on {limit} was reached: there may be more"),
            };
            document.line(Line::inked(Ink::Warning, warning));
        }
        document
    }

    /// The states: what differs between them as a table, then what does not.
    fn states(&self, document: &mut Document) {
        let Some(first) = self.outcomes.first() else { return };
        let heads: Vec<String> = first.cells().into_iter().map(|(name, _)| name).collect();
        let values: Vec<Vec<String>> = self
            .outcomes
            .iter()
            .map(|row| row.cells().into_iter().map(|(_, value)| value.to_string()).collect())
            .collect();
        let (same, different): (Vec<usize>, Vec<usize>) = (0..heads.len())
            .partition(|&column| values.iter().all(|row| row[column] == values[0][column]));
        if !different.is_empty() || self.outcomes.len() > 1 || first.ends_early() {
            let only = |all: &[String]| different.iter().map(|&k| all[k].clone()).collect();
            let rows = self.outcomes.iter().zip(&values);
            document.push(Block::Table(Table {
                heads: only(&heads),
                rows: rows
                    .map(|(row, values)| TableRow {
                        values: only(values),
                        notes: row.notes(),
                        below: Vec::new(),
                    })
                    .collect(),
            }));
        }
        if !same.is_empty() {
            let bindings: Vec<String> =
                same.iter().map(|&c| format!("{} = {}", heads[c], values[0][c])).collect();
            document.line(format!("  always: {}", bindings.join(", ")));
        }
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
    fn line(&self) -> Line {
        let (ink, answer) = if self.holds { (Ink::Good, "yes") } else { (Ink::Bad, "no") };
        let all = amount::plural(self.satisfying + self.others, "final state");
        let verb = if self.satisfying == 1 { "satisfies" } else { "satisfy" };
        Line::plain(format!("  {}: ", visible(&self.text)))
            .then_inked(ink, answer)
            .then(format!(", {} of {all} {verb} it", self.satisfying))
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

    /// What there is to say about the state beside its values.
    fn notes(&self) -> Vec<Line> {
        let ends: Vec<String> = self.threads.iter().filter_map(End::note).collect();
        let ends = (!ends.is_empty()).then(|| Line::inked(Ink::Warning, ends.join(", ")));
        let satisfies = self.satisfies == Some(true);
        let satisfies = satisfies.then(|| Line::plain("satisfies the condition"));
        let forbidden = (!self.under_sc).then(|| Line::inked(Ink::Bad, "forbidden by SC"));
        [ends, satisfies, forbidden].into_iter().flatten().collect()
    }
}

impl End {
    /// What there is to say about a thread that is not done.
    fn note(&self) -> Option<String> {
        let line = self.line?;
        let thread = visible(&self.thread);
        Some(match self.status.as_str() {
            "blocked" => format!("{thread} waits at line {line}"),
            "failed" => format!("{thread} fails at line {line}"),
            "ended" => format!("{thread} ends at line {line}"),
            fault => format!("{thread} stops at line {line}: {fault}"),
        })
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
    let is_users = |k: usize| named && !source.hidden.contains(&(tid, Reg::from(k)));
    let locals = thread.registers.iter().zip(&end.registers).enumerate();
    let locals = locals.filter(|(k, _)| is_users(*k)).map(|(_, local)| local);
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
