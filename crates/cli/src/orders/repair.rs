//! `fencepost fix` where orders and fences are chosen together: what is changed, why, and the text that comes out.

use super::rows::{Row, alone, alone_objects, correct, finding, place, reason, required, word};
use super::{discover, fail, question, report_of, write};
use crate::args::{self, OnlyName};
use crate::compiled::{self, Program};
use crate::exit::Exit;
use crate::report_files::ReportFiles;
use crate::terminal;
use check::fix::orders::{Allowed, Costs, Effort, Found, Goal, Kind, Strength, apply};
use check::{Model, Question};
use fencepost::reorder::{self, Changeable, Changed, Kept, Only, Reordered};
use ir::Origin;
use lang::Source;
use lang::orders::Written;
use report::InputReport;
use report::advice;
use report::escape::visible;
use report::sarif::Repair;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A program to repair.
pub(crate) enum Input<'a> {
    /// One that was read from a file.
    Text(&'a Path, Box<Source>),
    /// One that was compiled from these files.
    Code(&'a [PathBuf], &'a Program),
}

/// What is left alone, with its reason.
type Alone = [(Origin, Kind, String)];

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
    let Changeable { sites, mut alone } =
        reorder::changeable(&source, only, models, |file, line| match () {
            () if args.keep.iter().any(|kept| kept.is(file, line)) => Kept::Asked,
            () if args.code.is_system(file) => Kept::System,
            () => Kept::No,
        });
    let reread = |changed: &[Changed]| match &input {
        Input::Code(files, program) => {
            let program = compiled::recompiled(files, &program.file, changed, &args.code)?;
            discover(&program, &args.code, &question).map_err(|unusable| unusable.summary())
        }
        Input::Text(..) => lang::parse_any(&source.name, &changed[0].after)
            .map_err(|why| why.first().map_or_else(String::new, |why| why.message.clone())),
    };
    let done = match reorder::reorder(&source, &sites, allowed, &goal, &reread) {
        Ok(done) => done,
        // What is to be repaired need not be correct; what shall not become stronger must be.
        Err(why) => {
            return fail(&source, &why, &alone, args.json).map(|exit| match exit {
                Exit::Violated => Exit::BadInput,
                exit => exit,
            });
        }
    };
    alone.extend(done.alone.iter().cloned());
    alone.sort_by_key(|(origin, ..)| source.exact(*origin));
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
        terminal::complain(&format!("error: {why}"));
        return Ok(Exit::BadInput);
    }
    if reports.wanted() && !done.edits.is_empty() {
        reports.add_repair(as_repair(args, &source, &question, models, &done));
    }
    if reports.page_wanted() {
        let pages = pages(&source, &question, models, allowed, &done);
        pages.into_iter().for_each(|page| reports.add_imagined(page));
    }
    show(args, &source, &question, models, &done, &alone)?;
    Ok(Exit::Holds)
}

/// The changes for code-scanning services.
fn as_repair(
    args: &args::Fix,
    source: &Source,
    question: &Question,
    models: &[Model],
    done: &Reordered,
) -> Repair {
    let text = Written::of(source);
    let changes = changes(&text, source, done);
    let of = |(row, strength, _): &Change<'_>| {
        let what = format!("{} `{}`", changed_to(row, *strength), row.text);
        (row.file.clone(), row.place.0, row.place.1, what)
    };
    let edits = done.edits.iter().map(|edit| {
        let (file, line, column) = reorder::place(source, edit.span.start);
        let (_, end_line, end_column) = reorder::place(source, edit.span.end);
        let insert = edit.text.clone();
        (file.to_string(), advice::Edit { line, column, end_line, end_column, insert })
    });
    Repair {
        text: first_line(args, source, question, models, done, changes.len()),
        changes: changes.iter().map(of).collect(),
        edits: edits.collect(),
    }
}

/// The program as it comes out, on each model, and what goes wrong without the strength of each site that is needed.
fn pages(
    source: &Source,
    question: &Question,
    models: &[Model],
    allowed: Allowed,
    done: &Reordered,
) -> Vec<InputReport> {
    let Reordered { assignment, sites, .. } = done;
    let text = Written::of(source);
    let result = apply(&source.program, sites, &assignment.strengths);
    let changed = match done.edits.is_empty() {
        true => source.name.clone(),
        false => format!("{}, changed", source.name),
    };
    let on = |model: Model| Question { model, ..*question };
    let mut pages: Vec<InputReport> = models
        .iter()
        .filter_map(|model| report_of(source, &on(*model), result.clone(), changed.clone()))
        .collect();
    let floor = allowed.floor(sites);
    let mut without = Vec::new();
    for (k, (site, found)) in sites.iter().zip(&assignment.reasons).enumerate() {
        let Some(found) = found else { continue };
        let row = Row::of(&text, source, site);
        let chosen = word(row.kind, assignment.strengths[k]);
        let what = &row.text;
        let says = match (row.new, row.kind, floor[k]) {
            (true, ..) => format!("without {} `{what}`", changed_to(&row, assignment.strengths[k])),
            (_, Kind::Fence, Strength::NONE) => format!("without `{what}`"),
            (_, _, less) => format!("`{what}` with {}, not {chosen}", word(row.kind, less)),
        };
        let mut strengths = assignment.strengths.clone();
        strengths[k] = floor[k];
        without.push((row, says, found.model, apply(&source.program, sites, &strengths)));
    }
    without.sort_by(|(a, ..), (b, ..)| (&a.file, a.place).cmp(&(&b.file, b.place)));
    pages.extend(without.into_iter().filter_map(|(row, says, model, program)| {
        let name = format!("{}, {}: {says}", row.file, row.at(source));
        report_of(source, &on(model), program, name)
    }));
    pages
}

/// A site that is changed: how, to what strength, and what goes wrong without.
type Change<'a> = (Row, Strength, Option<&'a Found>);

/// All changes, in the order of the text.
fn changes<'a>(text: &Written<'_>, source: &Source, done: &'a Reordered) -> Vec<Change<'a>> {
    let Reordered { assignment, sites, .. } = done;
    let mut changes: Vec<Change<'a>> = sites
        .iter()
        .zip(&assignment.strengths)
        .zip(&assignment.reasons)
        .filter(|((site, strength), _)| site.written != **strength)
        .map(|((site, strength), why)| (Row::of(text, source, site), *strength, why.as_ref()))
        .collect();
    changes.sort_by(|(a, ..), (b, ..)| (&a.file, a.place).cmp(&(&b.file, b.place)));
    changes
}

/// How a site is changed.
fn changed_to(row: &Row, strength: Strength) -> String {
    match (row.kind, row.new, strength.fence()) {
        (Kind::Fence, true, _) => {
            let side = if row.behind { "behind" } else { "before" };
            format!("new {} fence {side}", word(row.kind, strength))
        }
        (Kind::Fence, false, None) => "fence not needed:".to_string(),
        _ => format!("{} to {}:", word(row.kind, row.written), word(row.kind, strength)),
    }
}

/// Says what was changed, and why.
fn show(
    args: &args::Fix,
    source: &Source,
    question: &Question,
    models: &[Model],
    done: &Reordered,
    left: &Alone,
) -> io::Result<()> {
    let (assignment, sites) = (&done.assignment, &done.sites);
    let text = Written::of(source);
    let row = |site| Row::of(&text, source, site);
    let changes = changes(&text, source, done);
    let mut out = io::stdout().lock();
    if args.json {
        let object = object(source, question, models, done, &changes, left);
        return writeln!(out, "{object}");
    }
    writeln!(out, "{}", first_line(args, source, question, models, done, changes.len()))?;
    for (row, strength, why) in changes.iter().filter(|_| !args.quiet) {
        let what = changed_to(row, *strength);
        writeln!(out, "  {}  {what} `{}`", row.at(source), row.text)?;
        without(source, *why, &mut out)?;
    }
    // What stays as it is written has its reason, too, if it could have become weaker.
    if args.weaken && !args.quiet {
        let kept = sites.iter().zip(&assignment.strengths).zip(&assignment.reasons);
        for ((site, strength), why) in kept.filter(|((site, s), _)| site.written == **s) {
            let (row, Some(_)) = (row(site), why) else { continue };
            let stays = word(row.kind, *strength);
            writeln!(out, "  {}  {stays} stays: `{}`", row.at(source), row.text)?;
            without(source, why.as_ref(), &mut out)?;
        }
    }
    for line in alone(source, left).iter().filter(|_| !args.quiet) {
        writeln!(out, "{line}")?;
    }
    if args.diff {
        for file in &done.files {
            let diff = similar::TextDiff::from_lines(&*file.before, &*file.after);
            write!(out, "{}", diff.unified_diff().header(&file.name, "fixed"))?;
        }
    } else if args.write.is_none() && !args.in_place && !args.quiet {
        for file in &done.files {
            write!(out, "\n{}", file.after)?;
        }
    }
    out.flush()
}

/// What goes wrong without a change.
fn without(source: &Source, why: Option<&Found>, out: &mut impl Write) -> io::Result<()> {
    let Some(found) = why else { return Ok(()) };
    let finding = finding(source, found);
    let on = match found.model.machine() {
        Some(machine) => format!(" on {machine}"),
        None => String::new(),
    };
    writeln!(out, "      without: {}, {}{on}", finding.message, place(&finding))
}

/// The first line.
fn first_line(
    args: &args::Fix,
    source: &Source,
    question: &Question,
    models: &[Model],
    done: &Reordered,
    changes: usize,
) -> String {
    let aim = correct(question, models);
    let name = visible(&source.name);
    let against = models.iter().map(|model| model.name()).collect::<Vec<_>>().join(" and ");
    let (after, before) = done.cost;
    let least = match done.assignment.minimum {
        true if args.no_stronger => "no cheaper ones will do if nothing becomes stronger",
        true => "no cheaper ones of what can be changed will do",
        false => "whether cheaper ones would do was too much to find out",
    };
    match changes {
        0 if args.weaken => {
            format!("{name}: {aim} against {against}, with orders as weak as can be")
        }
        0 => format!("{name}: {aim} against {against} already"),
        count => {
            let changes =
                if count == 1 { "1 change makes" } else { &format!("{count} changes make") };
            format!(
                "{name}: {changes} it {aim} against {against}; cost {before} before, {after} after, and {least}"
            )
        }
    }
}

/// All of it as an object.
fn object(
    source: &Source,
    question: &Question,
    models: &[Model],
    done: &Reordered,
    changes: &[Change<'_>],
    left: &Alone,
) -> Value {
    let names: Vec<&str> = models.iter().map(|model| model.name()).collect();
    let of = |(row, strength, why): &Change<'_>| {
        json!({
            "file": row.file, "line": row.place.0, "column": row.place.1, "what": row.kind.to_string(),
            "text": row.text, "new": row.new, "behind": row.behind,
            "from": word(row.kind, row.written), "to": word(row.kind, *strength),
            "because": why.map(|found| reason(source, found)),
        })
    };
    let files: Vec<Value> =
        done.files.iter().map(|file| json!({ "file": file.name, "text": file.after })).collect();
    let assignment = &done.assignment;
    json!({
        "file": source.name, "models": names, "aim": required(question),
        "changes": changes.iter().map(of).collect::<Vec<_>>(),
        "left_alone": alone_objects(source, left),
        "cost": { "before": done.cost.1, "after": done.cost.0 }, "minimum": assignment.minimum,
        "searches": assignment.searches, "states": assignment.cost.states,
        "seconds": assignment.cost.elapsed.as_secs_f64(), "files": files,
    })
}
