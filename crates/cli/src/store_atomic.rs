//! `fencepost check --model tso|pso|pgas`: every file in turn.

use crate::args;
use crate::check::strictly;
use crate::exit::Exit;
use crate::guard;
use crate::inputs::{self, Unusable};
use crate::progress::Board;
use crate::report_files::ReportFiles;
use crate::terminal::{self, Printer};
use check::Task;
use check::robustness::store_atomic::Machine;
use check::robustness::store_atomic::safety::{self, Checked, Question};
use lang::{Diagnostic, Source};
use report::escape::visible;
use report::store_atomic::{internal_errors, sheet, text, warnings};
use report::text::Tally;
use report::{InputReport, Ruling, json};
use search::Progress;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

/// Runs the command.
pub fn run(args: &args::Check, machine: Machine) -> io::Result<Exit> {
    let start = Instant::now();
    let (files, unusable) = inputs::expand(&args.inputs);
    let mut exit = Exit::Holds;
    for argument in &unusable {
        exit = exit.and(terminal::refuse(argument));
    }
    let mut job = Job {
        args,
        machine,
        detailed: files.len() == 1 || args.output.details,
        tally: Tally { errors: unusable.len(), ..Tally::default() },
        faces: ReportFiles::new(&args.faces, &files, args.output.quiet),
        board: Board::new(files.len(), args.output.watched()),
    };
    for argument in &unusable {
        let Unusable { name, text, why } = argument;
        job.faces.add(InputReport::refused(name, text, machine.name(), why));
    }
    for file in &files {
        exit = exit.and(job.one(file)?);
        job.board.done();
    }
    job.board.clear();
    if !args.output.json && files.len() + unusable.len() > 1 {
        let mut out = Printer::new(job.faces.wanted());
        out.write_all(job.tally.summary(start.elapsed()).as_bytes())?;
        out.flush()?;
    }
    Ok(exit.and(job.faces.finish()))
}

struct Job<'a> {
    args: &'a args::Check,
    machine: Machine,
    /// Is every violation to be told?
    detailed: bool,
    tally: Tally,
    faces: ReportFiles,
    board: Board,
}

impl Job<'_> {
    fn one(&mut self, file: &Path) -> io::Result<Exit> {
        let loaded = inputs::load_as(file, self.args.input)
            .and_then(|source| strictly(self.args, file, source, Vec::new()));
        let source = match loaded {
            Ok(source) => source,
            Err(unusable) => return self.refuse(&unusable),
        };
        let question = match self.args.trf {
            true => Question::TriangularRaceFree,
            false => Question::Robust(self.machine),
        };
        let settings = self.args.store_atomic_settings();
        let interleavings = self.args.settings();
        let watch = self.board.watch(&source.program, visible(&source.name));
        let observe = |progress: &Progress| watch.observe(&Task::default(), progress);
        let checked = guard::work(|| {
            safety::check(&source.program, question, &settings, &interleavings, &observe)
        });
        drop(watch);
        match checked {
            Err(internal) => {
                self.refuse(&Unusable::new(file, source.text.to_string(), vec![internal]))
            }
            Ok(Ok(checked)) => self.print(&source, &checked),
            Ok(Err(refusal)) => {
                let why = Diagnostic::error(lang::codes::UNSUPPORTED, refusal.to_string());
                self.refuse(&Unusable::new(file, source.text.to_string(), vec![why]))
            }
        }
    }

    fn refuse(&mut self, unusable: &Unusable) -> io::Result<Exit> {
        self.board.clear();
        self.tally.errors += 1;
        let Unusable { name, text, why } = unusable;
        let sheet = InputReport::refused(name, text, self.machine.name(), why);
        if self.args.output.json {
            print_json(&sheet, self.faces.wanted())?;
        }
        self.faces.add(sheet);
        Ok(terminal::refuse(unusable))
    }

    fn print(&mut self, source: &Source, checked: &Checked) -> io::Result<Exit> {
        self.board.clear();
        if !self.args.output.quiet {
            let look = terminal::errors();
            for warning in warnings(source, checked) {
                terminal::complain(&warning.render(&source.name, &source.text, look.color));
            }
        }
        for internal in internal_errors(checked) {
            let look = terminal::errors();
            terminal::complain(&internal.render(&source.name, &source.text, look.color));
        }
        let sheet = sheet(source, self.machine, checked);
        if self.args.output.json {
            print_json(&sheet, self.faces.wanted())?;
        } else {
            let detailed = self.detailed && !self.args.output.quiet;
            let mut out = Printer::new(self.faces.wanted());
            out.write_all(text(&sheet, source, detailed, &terminal::output()).as_bytes())?;
            out.flush()?;
        }
        let ruling = sheet.ruling();
        self.tally.add(ruling, !sheet.faults.is_empty() || !sheet.errors.is_empty());
        let exit = match ruling {
            _ if !sheet.errors.is_empty() => Exit::Internal,
            _ if !sheet.faults.is_empty() => Exit::BadInput,
            Ruling::Holds => Exit::Holds,
            Ruling::Violated => Exit::Violated,
            Ruling::Undecided => Exit::Undecided,
        };
        self.faces.add(sheet);
        Ok(exit)
    }
}

fn print_json(sheet: &InputReport, reports: bool) -> io::Result<()> {
    let mut out = Printer::new(reports);
    for line in json::lines(sheet) {
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
    }
    out.flush()
}
