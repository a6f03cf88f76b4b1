//! `fencepost fix`: the cheapest changes that make a program correct.
//!
//! Where a text has memory orders, orders and fences are chosen together ([`crate::orders`]). Automata, litmus tests, and
//! programs that shall be free of triangular races get full fences, here.
//!
//! Nothing is claimed that was not checked. The fences come from a search that knows no cheaper set; the
//! patched text is read again and checked again, with what is left of the time; and what the program is
//! afterwards is said in the words of that check: robust, or, with `--trf`, free of triangular races.

use crate::args::{self, RequireName};
use crate::compiled;
use crate::exit::Exit;
use crate::inputs;
use crate::orders::{self, Input, write_text};
use crate::report_files::{ReportFileArgs, ReportFiles};
use crate::terminal;
use check::fix::fences::{Aim, NoPlacement, Placement, Unproved, Weights};
use check::robustness::store_atomic::Machine;
use check::{Model, Question};
use fencepost::NotFixed;
use lang::Source;
use report::escape::visible;
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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

fn complain(why: &str) -> Exit {
    terminal::complain(&format!("error: {why}"));
    Exit::BadInput
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
    if orders::is_braced(&source) && !args.trf {
        return orders::fix(args, models, Input::Text(input, Box::new(source)), reports);
    }
    let machines: Vec<Machine> = models.iter().filter_map(|model| model.machine()).collect();
    if machines.len() < models.len() || args.weaken || args.only.is_some() {
        return Ok(complain(
            "memory orders are changed in .fp, C, C++ and Rust only; here, fences are placed for tso, pso and pgas",
        ));
    }
    if args.sarif.is_some() || args.html.is_some() {
        return Ok(complain(
            "--sarif and --html are for memory orders and fences of .fp, C, C++ and Rust, without --trf",
        ));
    }
    let aims: Vec<Aim> = match args.trf {
        true => vec![Aim::TriangularRaceFree],
        false => machines.into_iter().map(Aim::Robust).collect(),
    };
    let weights = Weights { in_loop: args.loop_weight, ..Weights::default() };
    let (limits, jobs, order) = (args.limits.limits(), args.limits.jobs(), args.search.order());
    let question = Question { limits, jobs, order, ..Question::default() };
    let fixed = match fencepost::fix(&source, &aims, weights, &question) {
        Ok(fixed) => fixed,
        Err(why) => {
            let exit = match &why {
                NotFixed::NoPlacement(NoPlacement::Refused(_) | NoPlacement::Faulty(..))
                | NotFixed::Unproved(Unproved::Faulty(_)) => Exit::BadInput,
                NotFixed::NoPlacement(NoPlacement::Undecided(..) | NoPlacement::Hopeless)
                | NotFixed::Unproved(Unproved::Not | Unproved::Unknown(_)) => Exit::Undecided,
            };
            return fail(args, &source, &aims, &why.to_string(), exit);
        }
    };
    let (patched, placement) = (fixed.text, fixed.placement);
    let in_place = args.in_place.then(|| input.to_path_buf());
    if let Some(path) = args.write.as_ref().or(in_place.as_ref())
        && let Err(why) = write_text(path, input, &source.text, &patched)
    {
        return Ok(complain(&why));
    }
    print(args, &source, &aims, &placement, &patched)?;
    Ok(Exit::Holds)
}

/// Says why there is no patch.
fn fail(
    args: &args::Fix,
    source: &Source,
    aims: &[Aim],
    why: &str,
    exit: Exit,
) -> io::Result<Exit> {
    terminal::complain(&format!("error: {}: {why}", visible(&source.name)));
    if args.json {
        let object = json!({
            "file": source.name,
            "models": models(aims),
            "aim": aim(aims),
            "error": why,
        });
        writeln!(io::stdout(), "{object}")?;
    }
    Ok(exit)
}

fn models(aims: &[Aim]) -> Vec<&'static str> {
    aims.iter().map(|aim| aim.machine().name()).collect()
}

/// What the fences are for, as a word.
fn aim(aims: &[Aim]) -> &'static str {
    match aims {
        [Aim::TriangularRaceFree] => "triangular-race-freedom",
        _ => "robustness",
    }
}

/// What the program is with the fences.
fn reached(aims: &[Aim]) -> String {
    match aims {
        [Aim::TriangularRaceFree] => {
            "free of triangular races, hence robust against tso".to_string()
        }
        _ => format!("robust against {}", models(aims).join(" and ")),
    }
}

/// What is known of other sets of fences. Each fence is known to be needed: without it alone, the
/// program was checked not to be what it should be.
fn least(args: &args::Fix, aims: &[Aim], placement: &Placement) -> String {
    let fewer = match args.loop_weight {
        0 => "fewer",
        _ => "cheaper ones",
    };
    let goal = match aims {
        [Aim::TriangularRaceFree] => "would make it free of them",
        _ => "will do",
    };
    let mut said = match placement.minimum {
        true => format!(", and no {fewer} {goal}"),
        false => format!("; each is needed, but whether {fewer} {goal} was too much to find out"),
    };
    if aims == [Aim::TriangularRaceFree] {
        said.push_str("; robustness alone may take fewer");
    }
    said
}

fn print(
    args: &args::Fix,
    source: &Source,
    aims: &[Aim],
    placement: &Placement,
    patched: &str,
) -> io::Result<()> {
    let mut places: Vec<(usize, usize, String, &str)> = placement
        .sites
        .iter()
        .map(|site| {
            let span = source.span(site.origin);
            let (line, column) = source.line_column(span.start);
            (line, column, site.thread.clone(), source.snippet(span))
        })
        .collect();
    places.sort_unstable();
    let mut out = io::stdout().lock();
    if args.json {
        let fences: Vec<_> = places
            .iter()
            .map(|(line, column, thread, text)| {
                json!({ "line": line, "column": column, "thread": thread, "before": text })
            })
            .collect();
        let object = json!({
            "file": source.name,
            "models": models(aims),
            "aim": aim(aims),
            "fences": fences,
            "minimum": placement.minimum,
            "irreducible": true,
            "states": placement.cost.states,
            "seconds": placement.cost.elapsed.as_secs_f64(),
            "program": patched,
        });
        return writeln!(out, "{object}");
    }
    let (name, reached) = (visible(&source.name), reached(aims));
    match places.len() {
        0 => writeln!(out, "{name}: {reached} already")?,
        count => {
            let fences = if count == 1 { "1 fence makes" } else { &format!("{count} fences make") };
            let least = least(args, aims, placement);
            writeln!(out, "{name}: {fences} it {reached}{least}")?;
        }
    }
    for (line, _, thread, text) in places.iter().filter(|_| !args.quiet) {
        writeln!(out, "  line {line}, thread `{thread}`: before `{text}`")?;
    }
    if args.diff {
        let diff = similar::TextDiff::from_lines(&*source.text, patched);
        write!(out, "{}", diff.unified_diff().header(&source.name, "fixed"))?;
    } else if args.write.is_none() && !args.in_place && !places.is_empty() && !args.quiet {
        write!(out, "\n{patched}")?;
    }
    out.flush()
}
