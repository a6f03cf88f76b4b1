//! `fencepost fix`: the cheapest changes that make a program correct.
//!
//! Where a text has memory orders, orders and fences are chosen together ([`crate::orders`]). Automata, litmus tests, and
//! programs that shall be free of triangular races get full fences, here.
//!
//! The crate `repair` reads every changed text again and checks it again, with what is left of the time. So a report claims
//! only what a check of the written text has found: robust, or, with `--trf`, free of triangular races.

use crate::args::{self, RequireName};
use crate::compiled;
use crate::exit::Exit;
use crate::inputs;
use crate::orders::{self, Input, complain, detail, ending, write_text};
use crate::report_files::{ReportFileArgs, ReportFiles};
use crate::terminal;
use check::fix::fences::{Aim, NoPlacement, Unproved, Weights};
use check::robustness::store_atomic::Machine;
use check::{Model, Question};
use repair::NotFenced;
use report::escape::visible;
use report::repairs::FencesReport;
use report::text::render;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const NO_REPORTS: &str =
    "--sarif and --html are for memory orders and fences of .fp, C, C++ and Rust, without --trf";

/// Runs the command.
pub(crate) fn run(args: &args::Fix) -> io::Result<Exit> {
    let is_code = |input: &PathBuf| args.language.is_none() && compiled::is_code(input);
    let (code, texts): (Vec<PathBuf>, Vec<PathBuf>) =
        args.inputs.iter().cloned().partition(is_code);
    let programs = compiled::programs(&code, &args.code);
    if args.write.is_some() && programs.len() + texts.len() > 1 {
        terminal::complain(
            "error: --write has one file, and there are several programs: use --in-place or --diff",
        );
        return Ok(Exit::BadInput);
    }
    if args.trf && (args.sarif.is_some() || args.html.is_some()) {
        return Ok(complain(NO_REPORTS));
    }
    let (html, sarif) = (args.html.clone(), args.sarif.clone());
    let reports = ReportFileArgs { html, sarif, ..ReportFileArgs::default() };
    let mut reports = ReportFiles::new(&reports, &args.inputs, args.json || args.quiet);
    let mut exit = Exit::Holds;
    for program in &programs {
        let models = models_of(args, true);
        exit = exit.and(match usable(args, &models) {
            Ok(()) => orders::fix(args, &models, Input::Code(&code, program), &mut reports)?,
            Err(why) => complain(why),
        });
    }
    for input in &texts {
        let models = models_of(args, args.weaken || args.only.is_some());
        exit = exit.and(match usable(args, &models) {
            Ok(()) => text(args, &models, input, &mut reports)?,
            Err(why) => complain(why),
        });
    }
    Ok(exit.and(reports.finish()))
}

/// The models that a program shall be correct on.
fn models_of(args: &args::Fix, about_orders: bool) -> Vec<Model> {
    let mut models: Vec<Model> = match &args.model[..] {
        [] if about_orders => vec![Model::Rc11],
        [] => vec![Model::Tso],
        named => named.iter().map(|name| name.model()).collect(),
    };
    let mut known = Vec::new();
    models.retain(|model| {
        let new = !known.contains(model);
        known.push(*model);
        new
    });
    models
}

/// Can a program be repaired for these models, as the arguments say?
fn usable(args: &args::Fix, models: &[Model]) -> Result<(), &'static str> {
    let machine = models.iter().any(|model| model.machine().is_some());
    match () {
        () if models.contains(&Model::Sc) => {
            Err("--model sc has no weak memory, so there is nothing to repair")
        }
        () if machine && args.require == RequireName::Safe => {
            Err("--require safe is for models with memory orders: rc11, rc20 and ra")
        }
        () if machine && args.observational => {
            Err("--observational is for models with memory orders: rc11, rc20 and ra")
        }
        () if args.observational && args.require == RequireName::Safe => Err(orders::NOT_BOTH),
        () if args.no_stronger && !args.weaken => {
            Err("--no-stronger is about --weaken: without it, orders only become stronger")
        }
        () if args.trf && models != [Model::Tso] => Err("--trf is about --model tso alone"),
        () => Ok(()),
    }
}

/// Repairs a program that is read and not compiled.
fn text(
    args: &args::Fix,
    models: &[Model],
    input: &Path,
    reports: &mut ReportFiles,
) -> io::Result<Exit> {
    let source = match inputs::load_as(input, args.language) {
        Ok(source) => source,
        Err(unusable) => return Ok(terminal::refuse(&unusable)),
    };
    if source.has_orders() && !args.trf {
        return orders::fix(args, models, Input::Text(input, Box::new(source)), reports);
    }
    let machines: Vec<Machine> = models.iter().filter_map(|model| model.machine()).collect();
    if machines.len() < models.len() || args.weaken || args.only.is_some() {
        return Ok(complain(
            "memory orders are changed in .fp, C, C++ and Rust only; here, fences are placed for tso, pso and pgas",
        ));
    }
    if args.sarif.is_some() || args.html.is_some() {
        return Ok(complain(NO_REPORTS));
    }
    let aims: Vec<Aim> = match args.trf {
        true => vec![Aim::TriangularRaceFree],
        false => machines.into_iter().map(Aim::Robust).collect(),
    };
    let weights = Weights { in_loop: args.loop_weight, ..Weights::default() };
    let (limits, jobs, order) = (args.limits.limits(), args.limits.jobs(), args.search.order());
    let question = Question { limits, jobs, order, ..Question::default() };
    let report = FencesReport { source: &source, aims: &aims, weights };
    let fenced = match repair::fence(&source, &aims, weights, &question) {
        Ok(fenced) => fenced,
        Err(why) => {
            terminal::complain(&format!("error: {}: {why}", visible(&source.name)));
            if args.json {
                writeln!(io::stdout(), "{}", report.failure(&why.to_string()))?;
            }
            return Ok(match &why {
                NotFenced::NoPlacement(NoPlacement::Refused(_) | NoPlacement::Faulty(..))
                | NotFenced::Unproved(Unproved::Faulty(_)) => Exit::BadInput,
                NotFenced::NoPlacement(NoPlacement::Undecided(..))
                | NotFenced::Unproved(Unproved::Unknown(_)) => Exit::Undecided,
                NotFenced::NoPlacement(NoPlacement::Hopeless)
                | NotFenced::Unproved(Unproved::Not) => Exit::Internal,
            });
        }
    };
    let in_place = args.in_place.then(|| input.to_path_buf());
    if let Some(path) = args.write.as_ref().or(in_place.as_ref())
        && let Err(why) = write_text(path, input, &source.text, &fenced.text)
    {
        return Ok(complain(&why));
    }
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", report.object(&fenced))?,
        false => {
            let document = report.document(&fenced, detail(args), ending(args));
            write!(out, "{}", render(&document, &terminal::output()))?;
        }
    }
    out.flush()?;
    Ok(Exit::Holds)
}
