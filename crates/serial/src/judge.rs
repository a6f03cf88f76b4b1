//! Chooses the monitor that judges a recording, and reports its answers.
//!
//! A recording that shows a commit is an execution: the [execution monitors](crate::execution) read
//! it as it streams by. Otherwise it is a trace and is held in memory. If every transaction leaves
//! its thread's buffer empty, Theorem 3 reduces the question to SC-serializability and SC-equivalence,
//! for which the search of the [trace monitor](crate::trace) stays polynomial in the number of threads
//! except where a walk it finds turns out not to be realizable; otherwise the fixed-parameter search
//! decides.

use std::collections::HashMap;
use std::io::BufRead;
use std::time::Duration;

use budget::{Budget, Spent};

use crate::event::{Action, Data, Event, Names, Source, Thread};
use crate::execution::{self, ExecutionMonitor, Question};
use crate::machine::Machine;
use crate::read::{BadInput, Reader};
use crate::trace::believe::{Asked, Believed, Unbelievable};
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

/// Which runs a verdict on a trace is about.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Scope {
    /// The run that was recorded: every placement of its commits that fits what was read.
    #[default]
    ThisRun,
    /// All runs of this shape: every placement of commits, whatever was read. The paper's prediction.
    Predicted,
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
    /// Which runs the answers are about.
    pub scope: Scope,
    /// Whether the recording says anything about what was read.
    pub has_values: bool,
    /// What is odd about the recording.
    pub warnings: Vec<String>,
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
    /// For a prediction: a read that could have come before a write, the write, and what the read would
    /// have overtaken (see [`robust`](crate::trace::robust)).
    pub early: Option<[Event; 3]>,
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
    judge_within(input, reading, Scope::ThisRun, Budget::UNLIMITED)
}

/// The same, until the budget is spent: what is not known then has no answer. A cycle among the events
/// read by then is one of the whole recording.
pub fn judge_within<R: BufRead>(
    input: R,
    reading: Reading,
    scope: Scope,
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
        if scope == Scope::Predicted {
            let line = held.last().map_or(0, |event| u64::from(event.line));
            let message = "a prediction is about traces, and this recording shows commits";
            return Err(BadInput { line, text: reader.text(), message: message.into() });
        }
        return judge_execution(reader, &held, why);
    }
    // A trace that was not read to its end may still turn out to be an execution.
    let budget = match reader.spent() {
        Some(_) => budget.at_most(Duration::ZERO),
        None => budget,
    };
    let warnings = reader.warnings().to_vec();
    let report = judge_trace_within(&held, reader.into_names(), scope, budget)?;
    Ok(Report { warnings, ..report })
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
    let (spent, warnings) = (reader.spent(), reader.warnings().to_vec());
    let report = watch.report(reader.into_names(), why, spent);
    Ok(Report { warnings, ..report })
}

/// Three monitors over one stream.
struct Watch {
    machine: Machine,
    has_values: bool,
    monitors: Vec<ExecutionMonitor>,
    counter: Counter,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            machine: Machine::default(),
            has_values: false,
            monitors: Question::ALL.map(ExecutionMonitor::new).into(),
            counter: Counter::default(),
        }
    }
}

impl Watch {
    fn step(&mut self, event: &Event, names: &Names) -> Result<(), String> {
        self.machine.step(event, names)?;
        self.has_values |= event.data.tells_read();
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
            scope: Scope::ThisRun,
            has_values: self.has_values,
            warnings: Vec::new(),
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
            early: None,
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
            Action::End | Action::Abort => self.open[thread] = false,
            Action::Commit(_) | Action::Unlock(_) => {}
            Action::Read(_)
            | Action::Write(_)
            | Action::Rmw(_)
            | Action::Fence
            | Action::Lock(_) => {
                self.transactions += u64::from(!self.open[thread]);
            }
        }
    }
}

/// Judges a trace held in memory, about the runs of this scope, until the budget is spent.
pub fn judge_trace_within(
    events: &[Event],
    names: Names,
    scope: Scope,
    budget: Budget,
) -> Result<Report, BadInput> {
    let mut counter = Counter::default();
    events.iter().for_each(|event| counter.step(event));
    let has_values = events.iter().any(|event| event.data.tells_read());
    let kept = survivors(events, &names, scope)?;
    let events = kept.as_deref().unwrap_or(events);
    let unbelievable = |Unbelievable { at, message }: Unbelievable| match at {
        Some(at) => {
            let (line, text) = (events[at].line.into(), names.show_line(&events[at]));
            BadInput { line, text, message }
        }
        None => BadInput { line: 0, text: String::new(), message },
    };
    let mut believed = match budget.is_spent() {
        true => None,
        false => Believed::new(events).map_err(unbelievable)?,
    };
    if let Some(believed) = &mut believed
        && let Ok(None) = believed.solve(&Asked::default(), budget)
    {
        let message =
            "no order of the commits explains everything that was read: this is no run of a \
                       machine with store buffers"
                .to_string();
        return Err(BadInput { line: 0, text: String::new(), message });
    }
    let early = match scope {
        Scope::Predicted if !budget.is_spent() => trace::robust::early_read(events),
        _ => None,
    };
    let fenced = !budget.is_spent() && trace::is_transaction_fenced(events);
    let mut effort = Effort::default();
    let mut ask = |question| {
        let believed = believed.as_mut();
        let answer = trace::judge_within(Strategy::Auto, question, events, believed, budget);
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
    Ok(Report {
        monitor,
        why,
        scope,
        has_values,
        warnings: Vec::new(),
        names,
        events: counter.events,
        transactions: counter.transactions,
        as_recorded: Some(answer_at_once(events, budget)),
        early: early.map(|early| [early.read, early.write, early.overtaken].map(|at| events[at])),
        answers: vec![tso, sc, equivalent],
        advice,
        peak: 0,
        effort,
    })
}

/// The events without those of aborted transactions, and for a prediction without what was read;
/// nothing if that leaves all as it is. It is an error to have read what an aborted transaction wrote.
fn survivors(
    events: &[Event],
    names: &Names,
    scope: Scope,
) -> Result<Option<Vec<Event>>, BadInput> {
    let aborts = events.iter().any(|event| event.action == Action::Abort);
    if !aborts && scope == Scope::ThisRun {
        return Ok(None);
    }
    let mut open: HashMap<Thread, usize> = HashMap::new();
    let mut kept = vec![true; events.len()];
    for (at, event) in events.iter().enumerate() {
        match event.action {
            Action::Begin(_) => {
                open.insert(event.thread, at);
            }
            Action::End => {
                open.remove(&event.thread);
            }
            Action::Abort => {
                let begin = open.remove(&event.thread).unwrap_or(at);
                for lost in (begin..=at).filter(|&lost| events[lost].thread == event.thread) {
                    kept[lost] = matches!(events[lost].action, Action::Lock(_) | Action::Unlock(_));
                }
            }
            _ => {}
        }
    }
    // Per thread and line, the number of the line among those that are kept.
    let mut lines: HashMap<Thread, Vec<Option<u32>>> = HashMap::new();
    let mut counts: HashMap<Thread, u32> = HashMap::new();
    let mut left = Vec::new();
    for (event, kept) in events.iter().zip(kept) {
        let number = kept.then(|| {
            let count = counts.entry(event.thread).or_default();
            *count += 1;
            *count
        });
        lines.entry(event.thread).or_default().push(number);
        if !kept {
            continue;
        }
        let mut event = *event;
        if scope == Scope::Predicted {
            event.data = Data::NONE;
        } else if let Source::Event(thread, line) = event.data.source {
            match lines.get(&thread).and_then(|lines| lines.get(line as usize - 1)) {
                Some(None) => {
                    let message =
                        "this reads what an aborted transaction wrote (an aborted read, G1a)";
                    let (line, text) = (event.line.into(), names.show_line(&event));
                    return Err(BadInput { line, text, message: message.into() });
                }
                Some(&Some(line)) => event.data.source = Source::Event(thread, line),
                None => {}
            }
        }
        left.push(event);
    }
    Ok(Some(left))
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
    // Even of no events nothing is known if the recording was not read.
    let (mut ticker, mut spent) = (budget.ticker(), budget.spent());
    for event in events {
        spent = spent.or_else(|| ticker.tick());
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
