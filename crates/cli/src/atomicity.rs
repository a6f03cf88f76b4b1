//! `fencepost run --serial`: record a run, and say whether its transactions looked atomic.
//!
//! Races and stale reads are reported as without the option. The verdict goes to standard output. With
//! `--runs` the program is run until a run is found that is not serializable.
//!
//! Limits cover everything, the runs of the program included. A run that is stopped by one, or by a signal, is
//! judged as far as it was recorded, unless the limit is then used up.

use crate::exit::Exit;
use crate::report_files::ReportFiles;
use crate::sanitizer::Run;
use crate::{interrupt, quantity, terminal};
use ::report::document::Document;
use ::report::recording;
use ::report::text::render;
use ::serial::execution::Question;
use ::serial::judge::{self, Reading, Report, Scope};
use ::serial::report;
use budget::Budget;
use sanitizer::launch::{self, Launch};
use sanitizer::transactions::Written;
use sanitizer::{FOUND, UNDECIDED, atomicity};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Runs the program and judges what it did.
pub(crate) fn run(args: &Run, mut files: ReportFiles) -> Result<ExitCode, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let path = folder.path().join("recording");
    let memory = args.limit_memory.or_else(quantity::spare_memory);
    let budget = interrupt::budget(args.limit_time, memory);
    let mut last = None;
    for number in 0..args.runs {
        let seed = args.seed.wrapping_add(number);
        let launch = Launch { runs: 1, seed, record: Some(path.clone()), ..args.launch() };
        let series = launch::run(&within(launch, budget))?;
        let mut text = Vec::new();
        let written = match fits(&path, budget) {
            true => {
                let bytes = std::fs::read(&path);
                let bytes = bytes.map_err(|error| format!("the recording: {error}"))?;
                atomicity::write_text(&bytes, &mut text, budget)?
            }
            false => Written::default(),
        };
        if written.cut_off {
            let message = "fencepost: the program ended before its recording did: what it did last, and \
                           in which lines, is not known";
            terminal::complain(message);
        }
        let stopped = series.interrupted || written.cut_off || budget.is_spent();
        if written.transactions == 0 && !stopped {
            let program = args.program[0].to_string_lossy();
            return Err(format!(
                "{program} marks no transactions: put fencepost_begin() and fencepost_end() around what \
                 should look atomic (#include <fencepost.h>)"
            ));
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        let judged = judge::judge_within(text.as_bytes(), Reading::Trace, Scope::ThisRun, budget);
        let judged = judged.map_err(|bad| format!("the recording of the run: {bad}"))?;
        let answer = judged.answer(Question::TsoSerializable);
        let goes_on = answer.is_some_and(judge::Answer::yes) && !series.interrupted;
        last = Some((number + 1, series, written, judged, text));
        if !goes_on || budget.is_spent() {
            break;
        }
    }
    let Some((runs, series, written, judged, text)) = last else {
        return Err("no run at all".into());
    };
    tell(args, runs, &written, &judged)?;
    if files.wanted() {
        let name = args.program[0].to_string_lossy();
        files.add(recording::sheet(&name, &text, &judged));
        series.reports().into_iter().for_each(|report| files.add(report));
    }
    let stopped = series.interrupted || budget.is_spent();
    let verdict = match judged.answer(Question::TsoSerializable) {
        Some(answer) if answer.no() => FOUND,
        _ if series.code == FOUND => FOUND,
        Some(answer) if answer.yes() && !stopped => match series.code {
            0 if written.cut_off => UNDECIDED,
            code => code,
        },
        _ => UNDECIDED,
    };
    match files.finish() {
        Exit::BadInput => Ok(Exit::BadInput.into()),
        _ => Ok(ExitCode::from(verdict)),
    }
}

/// The same, but the program is stopped when the budget's time is over.
fn within(launch: Launch, budget: Budget) -> Launch {
    match (budget.time_left(), launch.timeout) {
        (Some(left), timeout) if timeout.is_none_or(|timeout| left < timeout) => {
            Launch { timeout: Some(left), timeout_option: "--limit-time", ..launch }
        }
        _ => launch,
    }
}

/// Whether there is time and memory for what was recorded.
fn fits(recording: &Path, budget: Budget) -> bool {
    let bytes = std::fs::metadata(recording).map_or(0, |file| file.len());
    !budget.is_spent() && budget.memory().is_none_or(|most| bytes < most)
}

fn tell(args: &Run, runs: u64, written: &Written, judged: &Report) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    let text = match args.output.json {
        true => report::to_json(judged) + "\n",
        false => {
            let mut document = recorded(args, runs, written);
            document.extend(recording::document(judged));
            render(&document, &terminal::output())
        }
    };
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| format!("cannot write the verdict: {error}"))
}

/// What was recorded.
fn recorded(args: &Run, runs: u64, written: &Written) -> Document<'static> {
    let number = |count: usize, one: &str, many: &str| {
        format!("{count} {}", if count == 1 { one } else { many })
    };
    let mut said = format!(
        "recorded {} with {} to shared memory",
        number(written.transactions, "transaction", "transactions"),
        number(written.accesses, "access", "accesses")
    );
    if written.waited > 0 {
        said.push_str(&format!("; {} of loops that waited left out", written.waited));
    }
    if runs > 1 {
        said.push_str(&format!("; run {runs} of {}", args.runs));
    }
    let mut document = Document::default();
    document.line(said);
    document
}
