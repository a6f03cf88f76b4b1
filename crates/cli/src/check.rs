//! `fencepost check`: every file in turn, a report for each, one exit code for all.

use crate::args;
use crate::exit::Exit;
use crate::guard;
use crate::inputs::{self, Unusable};
use crate::progress::Board;
use crate::report_files::ReportFiles;
use crate::store_atomic;
use crate::terminal::{self, Printer};
use analysis::symmetry;
use check::{Extent, Settings};
use ir::Edge;
use lang::{Diagnostic, Source};
use report::escape::visible;
use report::text::{self, Detail, Look, Tally};
use report::{By, FileReport, InputReport, Ruling, json};
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

/// Runs the command.
pub fn run(args: &args::Check) -> io::Result<Exit> {
    if let Some(machine) = args.model.machine() {
        return store_atomic::run(args, machine);
    }
    let start = Instant::now();
    let (files, unusable) = inputs::expand(&args.inputs);
    let look = terminal::output();
    let names: Vec<String> = files.iter().map(|file| inputs::name(file)).collect();
    let faces = ReportFiles::new(&args.faces, &files, args.output.quiet);
    let mut job = Job {
        args,
        settings: args.settings(),
        face: match (args.output.json, files.len() + unusable.len()) {
            (true, _) => Face::Json,
            (false, 1) => Face::Story,
            (false, _) => {
                Face::Table { names: text::names_width(names.iter().map(|n| &**n), &look) }
            }
        },
        look,
        errors: terminal::errors(),
        out: Printer::new(faces.wanted()),
        tally: Tally::default(),
        exit: Exit::Holds,
        faces,
        board: Board::new(files.len(), args.output.watched()),
    };
    for argument in &unusable {
        job.refuse(argument)?;
    }
    for file in &files {
        job.check(file)?;
        job.board.done();
    }
    job.finish(start)
}

/// What is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Face {
    /// One object per line.
    Json,
    /// All about one file.
    Story,
    /// A line for each of many files.
    Table {
        /// The width of the names' column.
        names: usize,
    },
}

struct Job<'a> {
    args: &'a args::Check,
    settings: Settings,
    face: Face,
    look: Look,
    errors: Look,
    out: Printer,
    tally: Tally,
    exit: Exit,
    faces: ReportFiles,
    board: Board,
}

impl Job<'_> {
    fn check(&mut self, file: &Path) -> io::Result<()> {
        match self.load(file) {
            Ok(source) => self.check_source(&source),
            Err(unusable) => self.refuse(&unusable),
        }
    }

    fn load(&self, file: &Path) -> Result<Source, Unusable> {
        let source = inputs::load_as(file, self.args.input)?;
        let why = report::unsupported(&source, self.settings.model, By::Search);
        strictly(self.args, file, source, why)
    }

    fn check_source(&mut self, source: &Source) -> io::Result<()> {
        let watch = self.board.watch(&source.program, visible(&source.name));
        let mut settings = self.args.settings();
        let worked = guard::work(|| {
            if settings.extent == Extent::All && symmetry_hides_lines(source, &settings) {
                settings.reductions.symmetry = false;
            }
            let outcome = check::check(&source.program, &settings, &|task, progress| {
                watch.observe(task, progress);
            });
            FileReport::new(source, &settings, &outcome)
        });
        drop(watch);
        let report = match worked {
            Ok(report) => report,
            Err(internal) => {
                let (name, text) = (source.name.clone(), source.text.to_string());
                return self.refuse(&Unusable { name, text, why: vec![internal] });
            }
        };
        for internal in &report.internal {
            let shown = internal.render(&report.file, &source.text, self.errors.color);
            terminal::complain(&shown);
        }
        let wrong = !report.faults.is_empty() || !report.internal.is_empty();
        self.tally.add(report.ruling(), wrong);
        self.faces.add(InputReport::of(&report, source));
        self.exit = self.exit.and(match report.ruling() {
            _ if !report.internal.is_empty() => Exit::Internal,
            _ if !report.faults.is_empty() => Exit::BadInput,
            Ruling::Violated => Exit::Violated,
            Ruling::Undecided => Exit::Undecided,
            Ruling::Holds => Exit::Holds,
        });
        self.show(&report, source)
    }

    fn show(&mut self, report: &FileReport, source: &Source) -> io::Result<()> {
        self.board.clear();
        let details = self.args.output.details && !self.args.output.quiet;
        if !self.args.output.quiet && (details || !matches!(self.face, Face::Table { .. })) {
            self.warn(report, source);
        }
        match self.face {
            Face::Json => {
                for line in json::lines(&InputReport::of(report, source)) {
                    writeln!(self.out, "{}", serde_json::to_string(&line)?)?;
                }
            }
            Face::Story => {
                let detail = match self.args.output.quiet {
                    true => Detail::Verdicts,
                    false => Detail::Stories,
                };
                self.out.write_all(text::file(report, source, detail, &self.look).as_bytes())?;
            }
            Face::Table { names } => {
                for fault in report.faults.iter().filter(|_| !details) {
                    let shown = fault.diagnostic();
                    terminal::complain(&shown.render(
                        &report.file,
                        &source.text,
                        self.errors.color,
                    ));
                }
                self.out.write_all(text::line(report, names, &self.look).as_bytes())?;
                if details && report.findings().next().is_some() {
                    let story = text::file(report, source, Detail::Stories, &self.look);
                    write!(self.out, "\n{story}\n")?;
                }
            }
        }
        self.out.flush()
    }

    fn warn(&self, report: &FileReport, source: &Source) {
        let mut warnings = report.warnings.clone();
        if self.settings.extent == Extent::First {
            warnings.extend(
                report
                    .stuck
                    .iter()
                    .map(|finding| finding.diagnostic().with_help("--all shows how it gets there")),
            );
        }
        for warning in warnings {
            terminal::complain(&warning.render(&report.file, &source.text, self.errors.color));
        }
    }

    fn refuse(&mut self, unusable: &Unusable) -> io::Result<()> {
        self.board.clear();
        self.exit = self.exit.and(unusable.exit());
        self.tally.errors += 1;
        let Unusable { name, text, why } = unusable;
        self.faces.add(InputReport::refused(name, text, self.settings.model.name(), why));
        for diagnostic in why {
            terminal::complain(&diagnostic.render(name, text, self.errors.color));
        }
        match self.face {
            Face::Json => {
                let sheet = InputReport::refused(name, text, self.settings.model.name(), why);
                for line in json::lines(&sheet) {
                    writeln!(self.out, "{}", serde_json::to_string(&line)?)?;
                }
            }
            Face::Story => {}
            Face::Table { names } => {
                self.out.write_all(text::error_line(name, names, &self.look).as_bytes())?;
            }
        }
        self.out.flush()
    }

    fn finish(mut self, start: Instant) -> io::Result<Exit> {
        self.board.clear();
        if matches!(self.face, Face::Table { .. }) {
            let summary = self.tally.summary(start.elapsed());
            self.out.write_all(summary.as_bytes())?;
        }
        self.out.flush()?;
        Ok(self.exit.and(self.faces.finish()))
    }
}

/// The program, with values that wrap around made errors if that is asked for, unless there is a reason
/// `why` it cannot be checked.
pub fn strictly(
    args: &args::Check,
    file: &Path,
    mut source: Source,
    mut why: Vec<Diagnostic>,
) -> Result<Source, Unusable> {
    if args.strict_values {
        source.program.domain.edge = Edge::Fault;
        let errors = source.warnings.iter().filter(|warning| warning.code == lang::codes::WRAPS);
        why.extend(errors.cloned().map(|w| Diagnostic { severity: lang::Severity::Error, ..w }));
    }
    match why.is_empty() {
        true => Ok(source),
        false => Err(Unusable::new(file, source.text.to_string(), why)),
    }
}

/// Does symmetry exchange threads that stand in different lines? Then a search that makes use of it
/// reports only some of the lines where things go wrong.
fn symmetry_hides_lines(source: &Source, settings: &Settings) -> bool {
    let program = &source.program;
    symmetry::find(program, settings.limits.budget, |_, _| true).elements.iter().any(|alpha| {
        program.steps().any(|(tid, pc, step)| {
            let image = alpha.threads[tid.index()];
            let image = program.step(image, alpha.pcs[tid.index()][pc.index()]);
            source.span(image.origin) != source.span(step.origin)
        })
    })
}
