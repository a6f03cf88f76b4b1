//! `fencepost fix` where orders and fences are chosen together.

use super::{complain, discover, fail, question, write};
use crate::args::{self, OnlyName};
use crate::compiled::{self, Program};
use crate::exit::Exit;
use crate::report_files::ReportFiles;
use crate::terminal;
use check::Model;
use check::fix::orders::{Allowed, Costs, Effort, Goal};
use lang::Source;
use repair::variant::{results, without_each};
use repair::{Changeable, Changed, Kept, Only};
use report::escape::visible;
use report::repairs::{ChangesReport, Ending, Failure};
use report::text::{Detail, render};
use std::cell::Cell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A program to repair.
pub(crate) enum Input<'a> {
    /// One that was read from a file.
    Text(&'a Path, Box<Source>),
    /// One that was compiled from these files.
    Code(&'a [PathBuf], &'a Program),
}

/// Runs `fencepost fix` on a program.
pub(crate) fn fix(
    args: &args::Fix,
    models: &[Model],
    input: Input<'_>,
    reports: &mut ReportFiles,
) -> io::Result<Exit> {
    // Threads of compiled programs are followed as far as a machine takes them, if there is one.
    let machine = models.iter().copied().find(|model| model.machine().is_some());
    let mut question =
        question(machine.unwrap_or(models[0]), &args.limits, args.observational, args.require);
    question.order = args.search.order();
    let source = match &input {
        Input::Text(_, source) => (**source).clone(),
        Input::Code(_, program) => match discover(program, &args.code, &question) {
            Ok(source) => source,
            Err(unusable) => return Ok(terminal::refuse(&unusable)),
        },
    };
    let mut costs: Costs = args.cost;
    if args.loop_weight > 0 {
        costs.in_loop = 1 + args.loop_weight;
    }
    let goal = Goal { models, question: &question, costs: &costs, effort: Effort::FULL };
    let only = match args.only {
        None if args.loop_weight > 0 => Only::Fences,
        None if args.weaken => Only::Orders,
        None | Some(OnlyName::All) => Only::All,
        Some(OnlyName::Orders) => Only::Orders,
        Some(OnlyName::Fences) => Only::Fences,
    };
    let allowed = match (args.weaken, args.no_stronger) {
        (false, _) => Allowed::Stronger,
        (true, false) => Allowed::Both,
        (true, true) => Allowed::Weaker,
    };
    let met: Vec<Cell<bool>> = args.keep.iter().map(|_| Cell::new(false)).collect();
    let is_kept = |file: &str, line| {
        let these = args.keep.iter().zip(&met).filter(|(kept, _)| kept.is(file, line));
        these.inspect(|(_, met)| met.set(true)).count() > 0
    };
    let Changeable { sites, alone: mut left } =
        repair::changeable(&source, only, models, |file, line| match () {
            () if is_kept(file, line) => Kept::Asked,
            () if args.code.is_system(file) => Kept::System,
            () => Kept::No,
        });
    if let Some((kept, _)) = args.keep.iter().zip(&met).find(|(kept, met)| {
        // With a file, it may be meant for another of the programs.
        !met.get() && (kept.file.is_none() || args.inputs.len() == 1)
    }) {
        let name = visible(&source.name);
        return Ok(complain(&format!("{name}: --keep {kept}: no memory order on this line")));
    }
    let reread = |changed: &[Changed]| match &input {
        Input::Code(files, program) => {
            let program = compiled::recompiled(files, &program.file, changed, &args.code)?;
            discover(&program, &args.code, &question).map_err(|unusable| unusable.summary())
        }
        Input::Text(..) => lang::parse_any(&source.name, &changed[0].after)
            .map_err(|why| why.first().map_or_else(String::new, |why| why.message.clone())),
    };
    let done = match repair::reorder(&source, &sites, allowed, &goal, &reread) {
        Ok(done) => done,
        // What is to be repaired need not be correct; what shall not become stronger must be.
        Err(why) => {
            let failure = Failure { source: &source, why: &why, left: &left };
            return fail(&failure, args.json).map(|exit| match exit {
                Exit::Violated => Exit::BadInput,
                exit => exit,
            });
        }
    };
    left.extend(done.alone.iter().cloned());
    left.sort_by_key(|left| source.exact(left.origin));
    let own = match &input {
        Input::Text(path, _) => path,
        Input::Code(_, program) => program.file.as_path(),
    };
    let written = match (&args.write, args.in_place) {
        (Some(path), _) => write::one(path, own, &source, &done.files),
        (None, true) => write::in_place(own, &done.files),
        (None, false) => Ok(()),
    };
    if let Err(why) = written {
        return Ok(complain(&why));
    }
    let (question, done, left) = (&question, &done, &left[..]);
    let report = ChangesReport { source: &source, question, models, allowed, done, left };
    if reports.wanted() && !done.edits.is_empty() {
        reports.add_repair(report.repair());
    }
    if reports.page_wanted() {
        let results = results(&source, question, models, done);
        let without = without_each(&source, question, allowed, done);
        let pages = report.pages(&results, &without);
        pages.into_iter().for_each(|page| reports.add_imagined(page));
    }
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", report.object())?,
        false => {
            let document = report.document(detail(args), ending(args));
            write!(out, "{}", render(&document, &terminal::output()))?;
        }
    }
    out.flush()?;
    Ok(Exit::Holds)
}

/// How much to say.
pub(crate) fn detail(args: &args::Fix) -> Detail {
    if args.quiet { Detail::Verdicts } else { Detail::Stories }
}

/// What to show of the changed text.
pub(crate) fn ending(args: &args::Fix) -> Ending {
    match () {
        () if args.diff => Ending::Diff,
        () if args.write.is_some() || args.in_place || args.quiet => Ending::Nothing,
        () => Ending::Texts,
    }
}
