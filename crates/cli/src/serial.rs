//! `fencepost serial`: was a recorded run atomic? Are all runs of a program?

use crate::args::{self, ReadingName};
use crate::exit::Exit;
use crate::inputs::{self, Unusable};
use crate::promises;
use crate::report_files::ReportFiles;
use crate::terminal;
use ::report::recording;
use ::report::text::render;
use ::serial::execution::Question;
use ::serial::judge::{self, Reading, Scope};
use ::serial::random::{Shape, Style};
use ::serial::report;
use check::{Model, Property, Verdict, Why};
use search::Limits;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// How much of a recording is read at once.
const BUFFER: usize = 1 << 16;
/// The longest recording whose text becomes part of a report.
const SHOWN: u64 = 1 << 18;
/// How long executions of a program are explored if nothing is said.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many events a transaction of a random recording has.
const TRANSACTION: usize = 5;

/// Runs the command.
pub(crate) fn run(args: &args::Serial) -> io::Result<Exit> {
    if let Some(program) = &args.from {
        return explore(args, program);
    }
    let Some(input) = &args.input else { return random(args) };
    if let Some(text) = promises::wanted(args, input) {
        return promises::run(args, input, text);
    }
    let reading = match args.reading {
        None => Reading::Auto,
        Some(ReadingName::Execution) => Reading::Execution,
        Some(ReadingName::Trace) => Reading::Trace,
    };
    let scope = if args.predict { Scope::Predicted } else { Scope::ThisRun };
    let name = inputs::name(input);
    let mut faces = ReportFiles::new(&args.faces, std::slice::from_ref(input), args.quiet);
    let budget = args.limits.limits().budget;
    let judged = match input.to_str() {
        Some("-") => judge::judge_within(io::stdin().lock(), reading, scope, budget),
        _ => match File::open(input) {
            Ok(file) => {
                judge::judge_within(BufReader::with_capacity(BUFFER, file), reading, scope, budget)
            }
            Err(error) => {
                terminal::complain(&format!("error: {name}: cannot read the file: {error}"));
                return Ok(Exit::BadInput);
            }
        },
    };
    let judged = match judged {
        Ok(judged) => judged,
        Err(bad) => {
            terminal::complain(&format!("error: {name}: {bad}"));
            return Ok(Exit::BadInput);
        }
    };
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", report::to_json(&judged))?;
    } else {
        let text = render(&recording::document(&judged), &terminal::output());
        out.write_all(verdicts(&text, args.quiet).as_bytes())?;
    }
    out.flush()?;
    if faces.wanted() {
        faces.add(recording::sheet(&name, &shown(input), &judged));
    }
    let exit = match judged.answer(Question::TsoSerializable) {
        Some(answer) if answer.yes() => Exit::Holds,
        Some(answer) if answer.no() => Exit::Violated,
        _ => Exit::Undecided,
    };
    Ok(exit.and(faces.finish()))
}

/// A report, or only its verdicts, which stand before the first empty line.
fn verdicts(report: &str, only: bool) -> &str {
    let end = report.find("\n\n").filter(|_| only).map_or(report.len(), |at| at + 1);
    &report[..end]
}

/// The text of a recording, if it is short enough to be shown.
fn shown(input: &Path) -> String {
    let short = std::fs::metadata(input).is_ok_and(|data| data.is_file() && data.len() <= SHOWN);
    if short { std::fs::read_to_string(input).unwrap_or_default() } else { String::new() }
}

/// Checks every execution of a program.
fn explore(args: &args::Serial, program: &Path) -> io::Result<Exit> {
    let source = match inputs::load(program) {
        Ok(source) => source,
        Err(unusable) => return refuse(args, &unusable),
    };
    let look = terminal::errors();
    for warning in source.warnings.iter().filter(|_| !args.quiet) {
        terminal::complain(&warning.render(&source.name, &source.text, look.color));
    }
    let question = check::Question {
        property: Property::Serializability,
        limits: match args.limits.limit_time {
            Some(_) => args.limits.limits(),
            None => {
                let limits = args.limits.limits();
                Limits { budget: limits.budget.at_most(PATIENCE), ..limits }
            }
        },
        buffer: args.limit_buffer.into(),
        jobs: args.limits.jobs(),
        ..check::Question::of(Model::Tso)
    };
    let answer = match check::check(&source.program, &question, &|_, _| {}) {
        Ok(answer) => answer,
        Err(refused) => {
            let why = refused.iter().map(|why| ::report::refused_at(&source, why)).collect();
            return refuse(args, &Unusable::new(program, source.text.to_string(), why));
        }
    };
    let mut faces = ReportFiles::new(&args.faces, &[program.to_path_buf()], args.quiet);
    let mut reply = ::report::serializability::Reply::new(&source, &answer);
    let mut out = io::stdout().lock();
    match args.json {
        true => {
            for line in reply.json() {
                writeln!(out, "{}", serde_json::to_string(&line)?)?;
            }
        }
        false => {
            let text = render(&reply.document(), &terminal::output());
            out.write_all(verdicts(&text, args.quiet).as_bytes())?;
        }
    }
    out.flush()?;
    if faces.wanted() {
        faces.add(reply.sheet());
    }
    let exit = match &answer.decisions[0].verdict {
        Verdict::Holds => Exit::Holds,
        Verdict::Violated(_) => Exit::Violated,
        Verdict::Undecided(Why::CutShort(_)) => Exit::BadInput,
        Verdict::Undecided(_) => Exit::Undecided,
    };
    Ok(exit.and(faces.finish()))
}

fn refuse(args: &args::Serial, unusable: &Unusable) -> io::Result<Exit> {
    if args.json {
        let Unusable { name, text, why } = unusable;
        let line = ::report::json::error(name, text, "tso", why);
        writeln!(io::stdout(), "{}", serde_json::to_string(&line)?)?;
    }
    Ok(terminal::refuse(unusable))
}

/// Writes a random recording.
fn random(args: &args::Serial) -> io::Result<Exit> {
    if args.threads == 0 || args.vars == 0 {
        terminal::complain("error: a recording has at least one thread and one variable");
        return Ok(Exit::BadInput);
    }
    let shape = Shape {
        threads: args.threads,
        vars: args.vars,
        events: args.events,
        transaction: TRANSACTION,
        commits: args.commits,
        style: Style::Free,
        seed: args.seed,
    };
    let names = shape.names();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    shape.generate(|event| {
        if written.is_ok() {
            written = writeln!(out, "{}", names.show_line(&event));
        }
    });
    written.and_then(|()| out.flush())?;
    Ok(Exit::Holds)
}
