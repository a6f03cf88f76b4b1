//! `fencepost run --serial`: record a run, and say whether its transactions looked atomic.
//!
//! Races and stale reads are reported as without the option. The verdict goes to standard output. With
//! `--runs` the program is run until a run is found that is not serializable.

use crate::exit::Exit;
use crate::report_files::ReportFiles;
use crate::sanitizer::Run;
use ::report::recording;
use ::serial::execution::Question;
use ::serial::judge::{self, Reading, Report, Scope};
use ::serial::report;
use sanitizer::launch::{self, Launch};
use sanitizer::transactions::Written;
use sanitizer::{FOUND, UNDECIDED, atomicity};
use std::io::Write;
use std::process::ExitCode;

/// Runs the program and judges what it did.
pub(crate) fn run(args: &Run, mut files: ReportFiles) -> Result<ExitCode, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let path = folder.path().join("recording");
    let mut last = None;
    for number in 0..args.runs {
        let seed = args.seed.wrapping_add(number);
        let launch = Launch { runs: 1, seed, record: Some(path.clone()), ..args.launch() };
        let series = launch::run(&launch)?;
        let bytes = std::fs::read(&path).map_err(|error| format!("the recording: {error}"))?;
        let mut text = Vec::new();
        let written = atomicity::write_text(&bytes, &mut text)?;
        drop(bytes);
        if written.transactions == 0 {
            let program = args.program[0].to_string_lossy();
            return Err(format!(
                "{program} marks no transactions: put fencepost_begin() and fencepost_end() around what \
                 should look atomic (#include <fencepost.h>)"
            ));
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        let judged = judge::judge_within(
            text.as_bytes(),
            Reading::Trace,
            Scope::ThisRun,
            budget::Budget::UNLIMITED,
        );
        let judged = judged.map_err(|bad| format!("the recording of the run: {bad}"))?;
        let found = judged.answer(Question::TsoSerializable).is_some_and(judge::Answer::no);
        last = Some((number + 1, series, written, judged, text));
        if found {
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
    let verdict = match judged.answer(Question::TsoSerializable) {
        Some(answer) if answer.yes() => series.code,
        Some(answer) if answer.no() => FOUND,
        _ => UNDECIDED,
    };
    match files.finish() {
        Exit::BadInput => Ok(Exit::BadInput.into()),
        _ => Ok(ExitCode::from(verdict)),
    }
}

fn tell(args: &Run, runs: u64, written: &Written, judged: &Report) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    let text = match args.output.json {
        true => report::to_json(judged) + "\n",
        false => {
            let plural = |count: usize, what: &str| {
                format!("{count} {what}{}", if count == 1 { "" } else { "s" })
            };
            let mut text = format!(
                "recorded {} with {} to shared memory",
                plural(written.transactions, "transaction"),
                plural(written.accesses, "access").replace("accesss", "accesses")
            );
            if written.waited > 0 {
                text.push_str(&format!("; {} of loops that waited left out", written.waited));
            }
            if runs > 1 {
                text.push_str(&format!("; run {runs} of {}", args.runs));
            }
            text + "\n" + &report::text(judged)
        }
    };
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| format!("cannot write the verdict: {error}"))
}
