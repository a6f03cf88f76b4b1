//! Which monitor judges a recording, and what it says.
//!
//! A recording that shows a commit is an execution: the [execution monitors](crate::execution) read
//! it as it streams by. Otherwise it is a trace and is held in memory. If every transaction leaves
//! its thread's buffer empty, Theorem 3 reduces the question to SC-serializability and SC-equivalence,
//! for which the search of the [trace monitor](crate::trace) stays polynomial in the number of threads
//! except where a walk it finds turns out not to be realizable; otherwise the fixed-parameter search
//! decides.

use std::io::BufRead;
use std::time::Duration;

use budget::{Budget, Spent};

use crate::event::{Action, Event, Names};
use crate::execution::{self, ExecutionMonitor, Question};
use crate::read::{BadInput, Buffers, Reader};
use crate::trace::{self, Effort, Strategy, TraceViolation};
use crate::witness::Violation;

/// How to read a recording.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Reading {
    /// As an execution if it shows a commit, else as a trace.
    #[default]
    Auto,
    /// As an execution.
    Execution,
    /// As a trace; commits are then an error.
    Trace,
}

/// The monitor that judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Monitor {
    /// One execution, streaming.
    Execution,
    /// A trace whose transactions all end fenced.
    FencedTrace,
    /// Any other trace.
    Trace,
}

impl Monitor {
    /// As the reports write it.
    pub fn text(self) -> &'static str {
        match self {
            Monitor::Execution => "execution monitor",
            Monitor::FencedTrace => "transaction-fenced trace monitor",
            Monitor::Trace => "trace monitor",
        }
    }
}

/// The answer to one question.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// The cycle, if the answer is no.
    pub violation: Option<Violation>,
    /// For a trace and the answer no: an execution of the trace (up to the violation, transactions
    /// still open are ended) in which the cycle is.
    pub execution: Option<Vec<Event>>,
    /// What was used up before there was an answer, if anything was: it is neither yes nor no.
    pub spent: Option<Spent>,
}

impl Answer {
    /// Whether the answer is yes.
    pub fn yes(&self) -> bool {
        self.violation.is_none() && self.spent.is_none()
    }

    /// Whether the answer is no.
    pub fn no(&self) -> bool {
        self.violation.is_some()
    }
}

/// What was found out about a recording.
#[derive(Clone, Debug)]
pub struct Report {
    /// Which monitor judged.
    pub monitor: Monitor,
    /// Why that one.
    pub why: String,
    /// The names in the recording.
    pub names: Names,
    /// Lines that are events, `begin` and `end` included.
    pub events: u64,
    /// Transactions, single events included.
    pub transactions: u64,
    /// One answer per question, in the order of [`Question::ALL`]. For a trace, about every execution
    /// it stands for.
    pub answers: Vec<Answer>,
    /// For a trace: the violation of SC-serializability, if any, when every write is taken to commit
    /// at once.
    pub as_recorded: Option<Answer>,
    /// What the user might do to get a better answer.
    pub advice: Option<String>,
    /// The most transactions (or events, for SC-equivalence) held at a time; for executions.
    pub peak: usize,
    /// How hard a trace was.
    pub effort: Effort,
}

impl Report {
    /// The answer to a question.
    pub fn answer(&self, question: Question) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.question == question)
    }

    /// Whether the recording is TSO-serializable.
    pub fn serializable(&self) -> bool {
        self.answer(Question::TsoSerializable).is_some_and(Answer::yes)
    }
}

/// Reads a recording and judges it.
pub fn judge<R: BufRead>(input: R, reading: Reading) -> Result<Report, BadInput> {
    judge_within(input, reading, Budget::UNLIMITED)
}

/// The same, until the budget is spent: what is not known then has no answer. A cycle among the events
/// read by then is one of the whole recording.
pub fn judge_within<R: BufRead>(
    input: R,
    reading: Reading,
    budget: Budget,
) -> Result<Report, BadInput> {
    let mut reader = Reader::within(input, budget);
    let mut held: Vec<Event> = Vec::new();
    let mut is_execution = reading == Reading::Execution;
    while !is_execution {
        let Some(event) = reader.next().transpose()? else { break };
        if let Action::Commit(_) = event.action {
            if reading == Reading::Trace {
                return Err(reader.bad("a trace shows no commits, and was asked to be read as one"));
            }
            is_execution = true;
        }
        held.push(event);
    }
    if is_execution {
        let why = match reading {
            Reading::Execution => "asked to read it as an execution".to_string(),
            Reading::Auto | Reading::Trace => "the recording shows commits".to_string(),
        };
        return judge_execution(reader, &held, why);
    }
    // A trace that was not read to its end may still turn out to be an execution.
    let budget = match reader.spent() {
        Some(_) => budget.at_most(Duration::ZERO),
        None => budget,
    };
    Ok(judge_trace_within(&held, reader.into_names(), budget))
}

fn judge_execution<R: BufRead>(
    mut reader: Reader<R>,
    held: &[Event],
    why: String,
) -> Result<Report, BadInput> {
    let mut watch = Watch::default();
    for (index, event) in held.iter().enumerate() {
        watch.step(event, reader.names()).map_err(|message| {
            if index + 1 == held.len() {
                return reader.bad(message);
            }
            let text = reader.names().show_line(event);
            BadInput { line: u64::from(event.line), text, message }
        })?;
    }
    while let Some(event) = reader.next().transpose()? {
        watch.step(&event, reader.names()).map_err(|message| reader.bad(message))?;
    }
    let spent = reader.spent();
    Ok(watch.report(reader.into_names(), why, spent))
}

/// Three monitors over one stream.
struct Watch {
    buffers: Buffers,
    monitors: Vec<ExecutionMonitor>,
    counter: Counter,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            buffers: Buffers::default(),
            monitors: Question::ALL.map(ExecutionMonitor::new).into(),
            counter: Counter::default(),
        }
    }
}

impl Watch {
    fn step(&mut self, event: &Event, names: &Names) -> Result<(), String> {
        self.buffers.step(event, names)?;
        self.counter.step(event);
        self.monitors.iter_mut().for_each(|monitor| monitor.step(event));
        Ok(())
    }

    fn report(self, names: Names, why: String, spent: Option<Spent>) -> Report {
        let peak = self.monitors.iter().map(|monitor| monitor.load().peak).max().unwrap_or(0);
        let answers = Question::ALL.into_iter().zip(self.monitors);
        Report {
            monitor: Monitor::Execution,
            why,
            names,
            events: self.counter.events,
            transactions: self.counter.transactions,
            answers: answers
                .map(|(question, monitor)| {
                    let violation = monitor.into_violation();
                    let spent = spent.filter(|_| violation.is_none());
                    Answer { question, violation, execution: None, spent }
                })
                .collect(),
            as_recorded: None,
            advice: None,
            peak,
            effort: Effort::default(),
        }
    }
}

#[derive(Default)]
struct Counter {
    events: u64,
    transactions: u64,
    open: Vec<bool>,
}

impl Counter {
    fn step(&mut self, event: &Event) {
        self.events += 1;
        let thread = event.thread.0 as usize;
        if self.open.len() <= thread {
            self.open.resize(thread + 1, false);
        }
        match event.action {
            Action::Begin(_) => {
                self.open[thread] = true;
                self.transactions += 1;
            }
            Action::End => self.open[thread] = false,
            Action::Commit(_) => {}
            Action::Read(_) | Action::Write(_) | Action::Fence => {
                self.transactions += u64::from(!self.open[thread]);
            }
        }
    }
}

/// Judges a trace held in memory.
pub fn judge_trace(events: &[Event], names: Names) -> Report {
    judge_trace_within(events, names, Budget::UNLIMITED)
}

/// The same, until the budget is spent.
pub fn judge_trace_within(events: &[Event], names: Names, budget: Budget) -> Report {
    let mut counter = Counter::default();
    events.iter().for_each(|event| counter.step(event));
    let fenced = !budget.is_spent() && trace::is_transaction_fenced(events);
    let mut effort = Effort::default();
    let mut ask = |question| {
        let answer = trace::judge_within(Strategy::Auto, question, events, budget);
        effort.starts += answer.effort.starts;
        effort.places += answer.effort.places;
        effort.exponential += answer.effort.exponential;
        effort.exhaustive += answer.effort.exhaustive;
        self::answer(question, answer.violation, answer.spent)
    };
    let sc = ask(Question::ScSerializable);
    let equivalent = ask(Question::ScEquivalent);
    let by_theorem_3 = fenced.then(|| by_theorem_3(&sc)).flatten();
    let tso = by_theorem_3.unwrap_or_else(|| ask(Question::TsoSerializable));
    let threads = names.threads();
    let (monitor, why) = if fenced {
        let why = "no commits, and every transaction leaves its thread's buffer empty: by Theorem 3 \
                   TSO-serializable iff robust and SC-serializable";
        (Monitor::FencedTrace, why.to_string())
    } else {
        let why = format!(
            "no commits, and some transactions end with writes in the buffer: every order of their \
             commits is considered, which may take time exponential in the {threads} threads"
        );
        (Monitor::Trace, why)
    };
    let advice = (!fenced).then(|| {
        "end every transaction with a fence: TSO-serializability is then SC-serializability plus \
         robustness, and cheap to monitor for any number of threads"
            .to_string()
    });
    Report {
        monitor,
        why,
        names,
        events: counter.events,
        transactions: counter.transactions,
        as_recorded: Some(answer_at_once(events, budget)),
        answers: vec![tso, sc, equivalent],
        advice,
        peak: 0,
        effort,
    }
}

fn answer(question: Question, violation: Option<TraceViolation>, spent: Option<Spent>) -> Answer {
    let (violation, execution) = match violation {
        Some(TraceViolation { violation, execution }) => (Some(violation), Some(execution)),
        None => (None, None),
    };
    Answer { question, violation, execution, spent }
}

/// In a fenced trace an execution is TSO-serializable iff it is SC-serializable (which includes being
/// SC-equivalent): the same execution answers both. Its cycle is looked for again, by the TSO rules.
fn by_theorem_3(sc: &Answer) -> Option<Answer> {
    let Some(execution) = &sc.execution else {
        return Some(answer(Question::TsoSerializable, None, sc.spent));
    };
    let mut violation = execution::judge(Question::TsoSerializable, execution)?;
    for step in &mut violation.cycle {
        let same = |other: &&crate::witness::Step| {
            other.leaves == step.leaves && other.enters == step.enters
        };
        if let Some(other) = sc.violation.iter().flat_map(|v| &v.cycle).find(same) {
            step.kind = other.kind;
        }
    }
    let execution = execution.clone();
    let violation = TraceViolation { violation, execution };
    Some(answer(Question::TsoSerializable, Some(violation), None))
}

/// Whether the trace is SC-serializable as recorded: each write commits where it is issued.
fn answer_at_once(events: &[Event], budget: Budget) -> Answer {
    let question = Question::ScSerializable;
    let mut monitor = ExecutionMonitor::new(question);
    let (mut ticker, mut spent) = (budget.ticker(), None);
    for event in events {
        spent = ticker.tick();
        if spent.is_some() {
            break;
        }
        monitor.step(event);
        if let Action::Write(x) = event.action {
            monitor.step(&Event { action: Action::Commit(x), ..*event });
        }
    }
    let violation = monitor.into_violation();
    let spent = spent.filter(|_| violation.is_none());
    Answer { question, violation, execution: None, spent }
}
