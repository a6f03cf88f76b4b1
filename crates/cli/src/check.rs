//! `fencepost check`: every file in turn, a report for each, one exit code for all.

use crate::args;
use crate::compiled::{self, Reads};
use crate::exit::Exit;
use crate::guard;
use crate::inputs::{self, Unusable};
use crate::known::{self, Known, Suppression};
use crate::member;
use crate::progress::Board;
use crate::project::{self, Task};
use crate::report_files::{ReportFileArgs, ReportFiles};
use crate::terminal::{self, Printer};
use ::cluster::Cluster;
use check::{Beyond, Extent, Property, Question};
use ir::Edge;
use lang::{Diagnostic, Source};
use repair::{Changed, Reread};
use report::escape::visible;
use report::text::{self, Detail, Look, Tally};
use report::{InputReport, Ruling, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs the command.
pub(crate) fn run(args: &args::Check) -> io::Result<Exit> {
    if args.inputs.is_empty() || args.config.is_some() {
        return match project::tasks(args) {
            Ok((tasks, suppressions)) => run_tasks(&tasks, Vec::new(), suppressions, args),
            Err(refusal) => {
                for why in &refusal.why {
                    let color = terminal::errors().color;
                    terminal::complain(&why.render(&refusal.name, &refusal.text, color));
                }
                Ok(Exit::BadInput)
            }
        };
    }
    let (files, unusable) = inputs::expand(&args.inputs);
    let task = Task { args: args.clone(), files, expected: BTreeMap::new() };
    run_tasks(&[task], unusable, Vec::new(), args)
}

/// Checks the programs of each task in turn, and refuses what is not usable.
fn run_tasks(
    tasks: &[Task],
    unusable: Vec<Unusable>,
    suppressions: Vec<Suppression>,
    args: &args::Check,
) -> io::Result<Exit> {
    let start = Instant::now();
    // Names of files are made absolute where the current folder changes; the tasks have them so.
    let args = tasks.first().map_or(args, |task| &task.args);
    let files: Vec<PathBuf> = tasks.iter().flat_map(|task| task.files.clone()).collect();
    if files.is_empty() && unusable.is_empty() {
        return Ok(Exit::Holds);
    }
    let names: Vec<String> = files.iter().map(|file| inputs::name(file)).collect();
    let known = Known::new(&args.known, suppressions).map_err(|why| why.to_string());
    let joined = known.and_then(|known| {
        let cluster = member::join(args, &files).map_err(|why| why.to_string())?;
        Ok((known, cluster))
    });
    let (known, cluster) = match joined {
        Ok(joined) => joined,
        Err(why) => {
            terminal::complain(&format!("error: {why}"));
            return Ok(Exit::BadInput);
        }
    };
    let is_code = |task: &Task, file: &Path| task.args.input.is_none() && compiled::is_code(file);
    // Files of code may be one program, and then there is a story to tell.
    let mut compiled = match tasks {
        [task] if task.files.len() > 1 && task.files.iter().all(|file| is_code(task, file)) => {
            Some(compiled::programs(&task.files, &task.args.code))
        }
        _ => None,
    };
    let inputs = compiled.as_ref().map_or(files.len(), Vec::len) + unusable.len();
    let mut job = Job::new(args, known, &files, &names, inputs, cluster);
    for argument in &unusable {
        job.refuse(argument)?;
    }
    for task in tasks {
        job.args = &task.args;
        job.expected = &task.expected;
        job.ids |= task.args.is_project();
        let (code, texts): (Vec<PathBuf>, Vec<PathBuf>) =
            task.files.iter().cloned().partition(|file| is_code(task, file));
        for file in &texts {
            job.check(file)?;
            job.board.done();
        }
        let programs = compiled.take();
        for program in programs.unwrap_or_else(|| compiled::programs(&code, &task.args.code)) {
            job.check_code(program, &code)?;
            job.board.done();
        }
    }
    job.finish(start)
}

/// Checks programs that are compiled already.
pub(crate) fn run_programs(
    args: &args::Check,
    programs: Vec<compiled::Program>,
) -> io::Result<Exit> {
    let start = Instant::now();
    let names: Vec<String> = programs.iter().map(compiled::Program::name).collect();
    let files: Vec<PathBuf> = programs.iter().map(|program| program.file.clone()).collect();
    let known = match Known::new(&args.known, Vec::new()) {
        Ok(known) => known,
        Err(why) => {
            terminal::complain(&format!("error: {why}"));
            return Ok(Exit::BadInput);
        }
    };
    let mut job = Job::new(args, known, &files, &names, programs.len(), None);
    for program in programs {
        job.check_code(program, &[])?;
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
    known: Known,
    /// The verdicts that the project expects.
    expected: &'a BTreeMap<String, Ruling>,
    /// Are ids of findings shown in tables?
    ids: bool,
    face: Face,
    look: Look,
    errors: Look,
    out: Printer,
    tally: Tally,
    exit: Exit,
    faces: ReportFiles,
    board: Board,
    /// The other processes that check the same.
    cluster: Option<&'static Cluster>,
    /// Does another process report?
    silent: bool,
}

impl<'a> Job<'a> {
    /// A job on so many inputs: their files, and what messages call them.
    fn new(
        args: &'a args::Check,
        known: Known,
        files: &[PathBuf],
        names: &[String],
        inputs: usize,
        cluster: Option<&'static Cluster>,
    ) -> Self {
        const NOTHING: &BTreeMap<String, Ruling> = &BTreeMap::new();
        let look = terminal::output();
        let silent = member::is_silent(cluster);
        let no_reports = ReportFileArgs::default();
        let reports = if silent { &no_reports } else { &args.faces };
        let faces = ReportFiles::new(reports, files, args.output.quiet);
        let face = match (args.output.json, inputs) {
            (true, _) => Face::Json,
            (false, 1) => Face::Story,
            (false, _) => {
                Face::Table { names: text::names_width(names.iter().map(|n| &**n), &look) }
            }
        };
        Job {
            args,
            ids: known.is_active(),
            known,
            expected: NOTHING,
            face,
            look,
            errors: terminal::errors(),
            out: if silent { Printer::silent() } else { Printer::new(faces.wanted()) },
            tally: Tally::default(),
            exit: Exit::Holds,
            faces,
            board: Board::new(files.len(), args.output.watched() && !silent),
            cluster,
            silent,
        }
    }
}

impl Job<'_> {
    fn check(&mut self, file: &Path) -> io::Result<()> {
        match self.load(file) {
            Ok(source) => self.check_source(&source),
            Err(unusable) => self.refuse(&unusable),
        }
    }

    /// Checks a program that was compiled from `files`, if they are known.
    fn check_code(&mut self, mut program: compiled::Program, files: &[PathBuf]) -> io::Result<()> {
        program.rounds = self.args.unroll;
        // What discovering the program takes is taken from what checking it may take.
        let question = self.question(&program.file);
        let code = &self.args.code;
        let discover = |question: &Question, reads: Reads| {
            let found = guard::work(|| program.discover(code, question, reads, &|_| {}));
            found.unwrap_or_else(|internal| {
                Err(Unusable::new(Path::new(""), String::new(), vec![internal]))
            })
        };
        let source = match discover(&question, Reads::Interleavings) {
            Ok(source) => source,
            Err(unusable) => return self.refuse(&unusable),
        };
        // Advice is about the text, so the changed text is compiled again.
        let again = |changed: &[Changed]| {
            let program = compiled::recompiled(files, &program.file, changed, code)?;
            let found = program.discover(code, &question, Reads::Interleavings, &|_| {});
            found.map_err(|unusable| unusable.summary())
        };
        let again: Option<&Reread<'_>> = (!files.is_empty()).then_some(&again);
        // Threads are not known yet beyond what interleavings read.
        let beyond = match question.beyond {
            Beyond::Nothing => Beyond::Nothing,
            _ => Beyond::Interleavings,
        };
        let first = Question { beyond, ..question };
        let report = match self.report(&source, &first, again) {
            Ok(report) => report,
            Err(unusable) => return self.refuse(&unusable),
        };
        // Buffers are not explored, however much of the threads is known.
        let explored = question.beyond != Beyond::Nothing && question.model.machine().is_none();
        if !explored || !report.awaits_weak_memory() {
            return self.conclude(report);
        }
        let mut brief = question;
        if question.beyond == Beyond::Brief {
            brief.limits.budget = question.limits.budget.at_most(check::weak::BRIEF_TIME);
        }
        match discover(&brief, Reads::SeenAnywhere) {
            Ok(source) => match self.report(&source, &question, again) {
                Ok(further) => self.conclude(further),
                Err(_) => self.conclude(report),
            },
            Err(why) => {
                let mut report = report;
                report.weak_memory_unknown(&why.summary());
                self.conclude(report)
            }
        }
    }

    fn load(&self, file: &Path) -> Result<Source, Unusable> {
        let mut source = inputs::load_as(file, self.args.input)?;
        if self.args.strict_values {
            source.program.domain.edge = Edge::Fault;
            let is_error = |warning: &&Diagnostic| warning.code == lang::codes::WRAPS;
            let errors = source.warnings.iter().filter(is_error).cloned();
            let why: Vec<Diagnostic> =
                errors.map(|w| Diagnostic { severity: lang::Severity::Error, ..w }).collect();
            if !why.is_empty() {
                return Err(Unusable::new(file, source.text.to_string(), why));
            }
        }
        Ok(source)
    }

    fn check_source(&mut self, source: &Source) -> io::Result<()> {
        let question = self.question(Path::new(&source.name));
        self.check_with(source, &question)
    }

    fn check_with(&mut self, source: &Source, question: &Question) -> io::Result<()> {
        match self.report(source, question, None) {
            Ok(report) => self.conclude(report),
            Err(unusable) => self.refuse(&unusable),
        }
    }

    /// The question about a file.
    fn question(&self, file: &Path) -> Question {
        let mut question = self.args.question(file);
        if self.known.is_active() {
            question.extent = Extent::All;
        }
        question
    }

    /// The answer to a question about a program, which `again` reads again with some files changed if it was compiled.
    fn report(
        &self,
        source: &Source,
        question: &Question,
        again: Option<&Reread<'_>>,
    ) -> Result<InputReport, Unusable> {
        let watch = self.board.watch(&source.program, visible(&source.name));
        let mut question = Question { cluster: self.cluster, ..*question };
        self.compare(source)?;
        match inputs::model_for(source, question.model, self.args.model.is_some()) {
            Ok(model) => question.model = model,
            Err(why) => {
                let (name, text) = (source.name.clone(), source.text.to_string());
                return Err(Unusable { name, text, why: vec![why] });
            }
        }
        let worked = guard::work(|| {
            let question = question.reporting_all(&source.program, |origin| source.span(origin));
            let answer = check::check(&source.program, &question, &|task, progress| {
                watch.observe(task, progress);
            });
            let answer = answer.map(|answer| match source.rounds {
                Some(most) => answer.within_rounds(most),
                None => answer,
            });
            let report = |answer| {
                let mut report = InputReport::of(source, &question, &answer);
                // Threads that are read as going on at any time are never found waiting.
                let unnoticed =
                    |warning: &&Diagnostic| warning.message.ends_with(vm::WAITING_UNNOTICED);
                if let Some(warning) = source.warnings.iter().find(unnoticed) {
                    report.leave_open(Property::Liveness, &warning.message);
                }
                // Nobody reads the advice of a table.
                let read = self.face == Face::Story || self.faces.wanted();
                if read
                    && report.advises_steps()
                    && let Some(enough) = repair::enough(source, &question, again)
                    && let Some(advice) = report::advice::enough(source, &question, &enough)
                {
                    report.advise(&advice);
                }
                report
            };
            answer
                .map(report)
                .map_err(|why| why.iter().map(|why| report::refused_at(source, why)).collect())
        });
        drop(watch);
        worked.unwrap_or_else(|internal| Err(vec![internal])).map_err(|why| {
            let (name, text) = (source.name.clone(), source.text.to_string());
            Unusable { name, text, why }
        })
    }

    /// Makes sure that all processes are about to check the same program.
    fn compare(&self, source: &Source) -> Result<(), Unusable> {
        let Some(cluster) = self.cluster else { return Ok(()) };
        let digest = member::digest(format!("{:?}", source.program).as_bytes());
        // If somebody is lost, the answer will say so.
        match cluster.meet(digest) {
            Ok(Some(process)) => {
                let why = format!(
                    "process {process} read another program than process {}",
                    cluster.process()
                );
                let why = Diagnostic::error(lang::codes::CODE, why);
                Err(Unusable::new(Path::new(&source.name), String::new(), vec![why]))
            }
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Shows a report, and counts it.
    fn conclude(&mut self, mut report: InputReport) -> io::Result<()> {
        self.known.take_from(&mut report);
        if let Err(property) = known::compare(&mut report, self.expected) {
            let file = visible(&report.file);
            terminal::complain(&format!(
                "error: {file}: fencepost.toml expects an answer about {property}, which was not asked"
            ));
            self.exit = self.exit.and(Exit::BadInput);
        }
        for internal in &report.errors {
            let shown = report.shown(internal, self.errors.color, usize::MAX);
            terminal::complain(&shown);
        }
        let wrong = !report.faults.is_empty() || !report.errors.is_empty();
        self.tally.add(report.ruling(), wrong);
        self.exit = self.exit.and(match report.ruling() {
            _ if !report.errors.is_empty() => Exit::Internal,
            _ if !report.faults.is_empty() => Exit::BadInput,
            Ruling::Violated => Exit::Violated,
            Ruling::Undecided => Exit::Undecided,
            Ruling::Holds => Exit::Holds,
        });
        self.show(&report)?;
        self.faces.add(report);
        Ok(())
    }

    fn show(&mut self, report: &InputReport) -> io::Result<()> {
        self.board.clear();
        let details = self.args.output.details && !self.args.output.quiet;
        if !self.args.output.quiet && (details || !matches!(self.face, Face::Table { .. })) {
            self.warn(report);
        }
        match self.face {
            Face::Json => {
                for line in json::lines(report) {
                    writeln!(self.out, "{}", serde_json::to_string(&line)?)?;
                }
            }
            Face::Story => {
                let detail = match self.args.output.quiet {
                    true => Detail::Verdicts,
                    false => Detail::Stories,
                };
                self.out.write_all(text::file(report, detail, &self.look).as_bytes())?;
            }
            Face::Table { names } => {
                for fault in report.faults.iter().filter(|_| !details) {
                    let shown = fault.diagnostic();
                    terminal::complain(&report.shown(&shown, self.errors.color, usize::MAX));
                }
                self.out.write_all(text::line(report, names, &self.look).as_bytes())?;
                if self.ids {
                    let counting = report.replies.iter().filter(|reply| reply.required);
                    let counting = counting.flat_map(|reply| &reply.findings);
                    for finding in report.faults.iter().chain(counting) {
                        let (id, file) = (report.id(finding), report.file_of(finding));
                        let (line, message) = (finding.place.line, &finding.message);
                        let told = visible(&format!("{id}  {file}:{line}: {message}"));
                        writeln!(self.out, "  {told}")?;
                    }
                }
                if details && report.findings().next().is_some() {
                    let story = text::file(report, Detail::Stories, &self.look);
                    write!(self.out, "\n{story}\n")?;
                }
            }
        }
        self.out.flush()
    }

    fn warn(&self, report: &InputReport) {
        if self.silent {
            return;
        }
        let mut warnings = report.warnings.clone();
        let question = self.question(Path::new(&report.file));
        if question.extent == Extent::First {
            let help = match question.model.machine() {
                None => "--all shows how it gets there",
                Some(_) => "`--model sc --all` shows how it gets there",
            };
            let stuck = report.stuck.iter();
            warnings.extend(stuck.map(|finding| finding.diagnostic().with_help(help)));
        }
        for warning in warnings {
            terminal::complain(&report.shown(&warning, self.errors.color, usize::MAX));
        }
    }

    fn refuse(&mut self, unusable: &Unusable) -> io::Result<()> {
        self.board.clear();
        self.exit = self.exit.and(unusable.exit());
        self.tally.errors += 1;
        let Unusable { name, text, why } = unusable;
        let model = args::model(self.args.model, Path::new(name));
        let sheet = InputReport::refused(name, text, model.name(), why);
        for diagnostic in why {
            terminal::complain(&diagnostic.render(name, text, self.errors.color));
        }
        match self.face {
            Face::Json => {
                for line in json::lines(&sheet) {
                    writeln!(self.out, "{}", serde_json::to_string(&line)?)?;
                }
            }
            Face::Story => {}
            Face::Table { names } => {
                self.out.write_all(text::error_line(name, names, &self.look).as_bytes())?;
            }
        }
        self.faces.add(sheet);
        self.out.flush()
    }

    fn finish(mut self, start: Instant) -> io::Result<Exit> {
        self.board.clear();
        if matches!(self.face, Face::Table { .. }) {
            let summary = self.tally.summary(start.elapsed());
            self.out.write_all(summary.as_bytes())?;
        }
        self.out.flush()?;
        if let Some(cluster) = self.cluster {
            cluster.finish();
            if let Some(trouble) = cluster.trouble() {
                terminal::complain(&format!("warning: no more checkpoints: {trouble}"));
            }
        }
        let known = self.known.finish();
        Ok(self.exit.and(self.faces.finish()).and(known))
    }
}
