//! `fencepost orders` and `fencepost fix` where memory orders are chosen.
//!
//! `orders` says of each access and fence alone how weak it may be; [`fix`](mod@fix) chooses for all of them together. The crate
//! `repair` finds the answers, and [`report::repairs`] words them.

mod fix;
mod write;

pub(crate) use fix::{Input, detail, ending, fix};
pub(crate) use write::write_text;

use crate::args::{self, RequireName};
use crate::compiled::{self, CodeArgs, Program, Reads};
use crate::exit::Exit;
use crate::inputs::{self, Unusable};
use crate::report_files::{ReportFileArgs, ReportFiles};
use crate::terminal;
use check::fix::orders::{Costs, Effort, Goal, NoAssignment};
use check::{Beyond, Model, Property, Question, Require};
use lang::{Diagnostic, Source, codes};
use repair::variant::around;
use repair::{Changeable, Kept, NotReordered, Only};
use report::escape::visible;
use report::repairs::{Failure, NeedsReport};
use report::text::{Detail, render};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Runs `fencepost orders`.
pub(crate) fn run(args: &args::Orders) -> io::Result<Exit> {
    let pages = ReportFileArgs { html: args.html.clone(), ..ReportFileArgs::default() };
    let mut pages = ReportFiles::new(&pages, &args.inputs, args.json);
    let mut exit = Exit::Holds;
    if args.model == Some(args::ModelName::Sc) {
        return Ok(complain(
            "--model sc has no weak memory, so no memory order matters there: use rc11, rc20, ra, tso, pso or pgas",
        ));
    }
    if args.observational && args.require == RequireName::Safe {
        return Ok(complain(NOT_BOTH));
    }
    let (code, texts): (Vec<PathBuf>, Vec<PathBuf>) =
        args.inputs.iter().cloned().partition(|input| compiled::is_code(input));
    for program in compiled::programs(&code, &args.code) {
        let question = asked(args, &program.file);
        let source = discover(&program, &args.code, &question);
        exit = exit.and(list(args, source, &question, &mut pages)?);
    }
    for input in &texts {
        let question = asked(args, input);
        exit = exit.and(list(args, load(input, None), &question, &mut pages)?);
    }
    Ok(exit.and(pages.finish()))
}

/// Why two options exclude each other.
pub(crate) const NOT_BOTH: &str = "--observational asks for a kind of robustness, and with --require safe a program need not be robust: leave one of \
     them out";

/// The question that the arguments of `orders` stand for.
fn asked(args: &args::Orders, input: &Path) -> Question {
    let model = args::model(args.model, input);
    question(model, &args.limits, args.observational, args.require)
}

/// Lists what each access of a program needs.
fn list(
    args: &args::Orders,
    source: Result<Source, Unusable>,
    question: &Question,
    pages: &mut ReportFiles,
) -> io::Result<Exit> {
    let source = match source {
        Ok(source) => source,
        Err(unusable) => return Ok(terminal::refuse(&unusable)),
    };
    let model = question.model;
    let goal = Goal { models: &[model], question, costs: &Costs::GENERIC, effort: Effort::FULL };
    let Changeable { sites, alone: left } =
        repair::changeable(&source, Only::Orders, &[model], |file, _| {
            match args.code.is_system(file) {
                true => Kept::System,
                false => Kept::No,
            }
        });
    let needs = match repair::needs(&source, &sites, &goal) {
        Ok(known) => known,
        Err(why) => return fail(&Failure { source: &source, why: &why, left: &left }, args.json),
    };
    let report = NeedsReport::new(&source, question, &sites, &needs, &left);
    let around = |site: usize| {
        let tried = around(&source, question, &sites, site, &needs.each[site]);
        let page = |(strength, variant)| {
            let page = report.page(site, strength, &variant)?;
            Some((strength, page))
        };
        tried.into_iter().filter_map(page).collect::<Vec<_>>()
    };
    if pages.wanted() {
        report.sites().flat_map(around).for_each(|(_, page)| pages.add(page));
    }
    if let Some(line) = &args.explain {
        let here = report.sites_on(|file, number| line.is(file, number));
        if here.is_empty() {
            return Ok(complain(&format!(
                "{}: no memory order{} on line {}",
                visible(&source.name),
                read_by(model),
                line.line
            )));
        }
        let mut out = io::stdout().lock();
        for site in here {
            let is_needed = !needs.each[site].without.is_empty();
            let mut weaker = if is_needed { around(site) } else { Vec::new() };
            weaker.iter_mut().for_each(|(_, page)| page.file = source.name.clone());
            let story = report.story(site, &weaker);
            write!(out, "{}", render(&story, &terminal::output()))?;
        }
        out.flush()?;
        return Ok(Exit::Holds);
    }
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", report.object())?,
        false => {
            let detail = if args.quiet { Detail::Verdicts } else { Detail::Stories };
            write!(out, "{}", render(&report.document(detail), &terminal::output()))?;
        }
    }
    out.flush()?;
    Ok(Exit::Holds)
}

/// What `no memory order` is followed by: what other models read is none for this one.
fn read_by(model: Model) -> String {
    match model {
        Model::Rc11 | Model::Rc20 => String::new(),
        model => format!(" that {} reads", model.name()),
    }
}

/// The question whether a program is correct.
fn question(
    model: Model,
    limits: &args::LimitArgs,
    observational: bool,
    require: RequireName,
) -> Question {
    let property = match observational {
        true => Property::ObservationalRobustness,
        false => Property::Robustness,
    };
    let (require, beyond) = match require {
        RequireName::Robust => (Require::Robust, Beyond::Nothing),
        RequireName::Safe => (Require::Safe, Beyond::Full),
    };
    let (limits, jobs) = (limits.limits(), limits.jobs());
    Question { property, model, limits, jobs, require, beyond, ..Question::default() }
}

/// The program in a file that is read and not compiled.
fn load(file: &Path, language: Option<args::InputName>) -> Result<Source, Unusable> {
    let source = inputs::load_as(file, language)?;
    match source.has_orders() {
        true => Ok(source),
        false => {
            let why = "memory orders are changed in .fp, C, C++ and Rust only";
            let why = Diagnostic::error(codes::UNSUPPORTED, why);
            Err(Unusable::new(file, source.text.to_string(), vec![why]))
        }
    }
}

/// The program that compiled files are. Where it only has to be safe, its threads are followed on the weak memory, too.
fn discover(program: &Program, code: &CodeArgs, question: &Question) -> Result<Source, Unusable> {
    let reads = match question.require {
        Require::Safe => Reads::SeenAnywhere,
        Require::Robust => Reads::Interleavings,
    };
    program.discover(code, question, reads, &|_| {})
}

/// Says why there is no answer.
fn fail(failure: &Failure<'_>, json: bool) -> io::Result<Exit> {
    let exit = match failure.why {
        NotReordered::NoAssignment(NoAssignment::Incorrect(_)) => Exit::Violated,
        NotReordered::NoAssignment(NoAssignment::Undecided(..))
        | NotReordered::Unproved(Some(_)) => Exit::Undecided,
        NotReordered::NoAssignment(NoAssignment::Internal(_)) => Exit::Internal,
        _ => Exit::BadInput,
    };
    terminal::complain(render(&failure.document(), &terminal::errors()).trim_end());
    if json {
        writeln!(io::stdout(), "{}", failure.object())?;
    }
    Ok(exit)
}

/// Says what is wrong with the arguments.
pub(crate) fn complain(why: &str) -> Exit {
    terminal::complain(&format!("error: {why}"));
    Exit::BadInput
}
