//! `fencepost orders` and `fencepost fix` where memory orders are chosen.
//!
//! `orders` says of each access and fence alone how weak it may be; `fix` (`repair`) chooses for all of them together. Both speak
//! of places in the user's text, and give a reason for each: what goes wrong with less. What cannot be changed is listed, too.

mod repair;
mod rows;
mod write;

pub(crate) use repair::{Input, fix};
pub(crate) use write::write_text;

use crate::args::{self, RequireName};
use crate::compiled::{self, CodeArgs, Program, Reads};
use crate::exit::Exit;
use crate::inputs::{self, Unusable};
use crate::report_files::{ReportFileArgs, ReportFiles};
use crate::terminal;
use check::fix::orders::{
    Costs, Effort, Found, Goal, Kind, Need, Needs, NoAssignment, Site, Strength, apply,
};
use check::{Beyond, Model, Property, Question, Require};
use fencepost::reorder::{self, Changeable, Kept, NotReordered, Only};
use ir::Origin;
use lang::orders::Written;
use lang::{Diagnostic, Source, codes};
use report::InputReport;
use report::escape::visible;
use report::text::{self, Detail};
use rows::{Row, alone, alone_objects, correct, finding, place, reason, required, word};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Runs `fencepost orders`.
pub(crate) fn run(args: &args::Orders) -> io::Result<Exit> {
    let pages = ReportFileArgs { html: args.html.clone(), ..ReportFileArgs::default() };
    let mut pages = ReportFiles::new(&pages, &args.inputs, args.json);
    let mut exit = Exit::Holds;
    if args.model == Some(args::ModelName::Sc) {
        terminal::complain(
            "error: --model sc has no weak memory, so no memory order matters there: use rc11, rc20, ra, tso, pso or pgas",
        );
        return Ok(Exit::BadInput);
    }
    if args.observational && args.require == RequireName::Safe {
        terminal::complain(&format!("error: {NOT_BOTH}"));
        return Ok(Exit::BadInput);
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
        reorder::changeable(&source, Only::Orders, &[model], |file, _| {
            match args.code.is_system(file) {
                true => Kept::System,
                false => Kept::No,
            }
        });
    let Needs { each: needs, searches, cost } = match reorder::needs(&source, &sites, &goal) {
        Ok(known) => known,
        Err(why) => return fail(&source, &why, &left, args.json),
    };
    let text = Written::of(&source);
    // Models with memory orders read everything; others cannot say of what they do not read whether it is needed.
    let is_read = |site: &Site| {
        let all = site.kind.parts().iter().all(|part| site.kind.read_by(model).has(*part));
        all || site.read_by(&[model]) != Strength::NONE
    };
    let mut rows: Vec<(Row, &Site, &Need)> = sites
        .iter()
        .zip(&needs)
        .filter(|(site, _)| is_read(site))
        .map(|(site, need)| (Row::of(&text, &source, site), site, need))
        .collect();
    let unread = sites.len() - rows.len();
    rows.sort_by(|(a, ..), (b, ..)| (&a.file, a.place).cmp(&(&b.file, b.place)));
    if pages.wanted() {
        for (row, site, need) in &rows {
            executions(&source, question, &sites, site, row, need)
                .into_iter()
                .for_each(|sheet| pages.add(sheet));
        }
    }
    if let Some(line) = &args.explain {
        let here = |row: &Row| line.is(&row.file, row.place.0);
        let here: Vec<_> = rows.iter().filter(|(row, ..)| here(row)).collect();
        return explain(&source, question, &sites, &here, line.line);
    }
    let mut out = io::stdout().lock();
    if args.json {
        let of = |(row, _, need): &(Row, &Site, &Need)| {
            let why: Vec<Value> =
                need.without.iter().map(|(_, found)| reason(&source, found)).collect();
            json!({
                "file": row.file, "line": row.place.0, "column": row.place.1, "what": row.kind.to_string(),
                "text": row.text, "written": word(row.kind, row.written), "suffices": word(row.kind, need.suffices),
                "needed": need.suffices == row.written, "because": why,
            })
        };
        let sites: Vec<Value> = rows.iter().map(of).collect();
        let object = json!({
            "file": source.name, "model": model.name(), "require": required(question), "sites": sites,
            "unread": unread, "left_alone": alone_objects(&source, &left),
            "searches": searches, "states": cost.states, "seconds": cost.elapsed.as_secs_f64(),
        });
        writeln!(out, "{object}")?;
        return Ok(Exit::Holds);
    }
    let weaker = rows.iter().filter(|(row, _, need)| need.suffices != row.written).count();
    let count = rows.len();
    writeln!(
        out,
        "{}: {} as it is written, against {}; {weaker} of {count} orders could be weaker",
        visible(&source.name),
        correct(question, &[model]),
        model.name(),
    )?;
    if args.quiet {
        return Ok(Exit::Holds);
    }
    let at = rows.iter().map(|(row, ..)| row.at(&source).len()).max().unwrap_or(0);
    let width = rows.iter().map(|(row, ..)| row.text.chars().count()).max().unwrap_or(0).min(WIDTH);
    for (row, _, need) in &rows {
        let shown = shortened(&row.text);
        writeln!(out, "  {:at$}  {shown:width$}  {}", row.at(&source), suffices(row, need))?;
        for (part, found) in &need.without {
            let finding = finding(&source, found);
            let less = word(row.kind, row.kind.weakened(need.suffices, *part));
            let less = if less == "no" { "without" } else { &format!("with {less}") };
            writeln!(out, "      {less}: {}, {}", finding.message, place(&finding))?;
        }
    }
    if unread > 0 {
        writeln!(out, "{}", not_listed(unread, model))?;
    }
    for line in alone(&source, &left) {
        writeln!(out, "{line}")?;
    }
    if weaker > 1 {
        writeln!(
            out,
            "Each of these is about one access alone; `fencepost fix --weaken` chooses for all of them together."
        )?;
    }
    out.flush()?;
    Ok(Exit::Holds)
}

/// Why some orders are not listed.
fn not_listed(unread: usize, model: Model) -> String {
    let others = if unread == 1 { "1 other".to_string() } else { format!("{unread} others") };
    let why = match model {
        Model::Ra => {
            "for ra every access acquires and releases, whatever is written; of fences, it knows seq_cst ones"
        }
        Model::Tso => "tso knows seq_cst stores and fences only",
        _ => "machines with store buffers know seq_cst and release stores and fences only",
    };
    format!("  {others} not listed: {why}. `--model rc11` says what they need in C, C++ and Rust.")
}

/// What is known of a site, in a few words.
fn suffices(row: &Row, need: &Need) -> String {
    match need.suffices == row.written {
        _ if row.written == Strength::NONE => "as weak as can be".to_string(),
        true => format!("{} is needed", word(row.kind, row.written)),
        false if row.kind == Kind::Fence && need.suffices == Strength::NONE => {
            "not needed".to_string()
        }
        false => format!(
            "{} is more than needed: {} suffices",
            word(row.kind, row.written),
            word(row.kind, need.suffices)
        ),
    }
}

/// How much of a statement is shown in a table.
const WIDTH: usize = 60;

/// A statement, cut if it is long.
fn shortened(text: &str) -> String {
    match text.chars().count() > WIDTH {
        true => text.chars().take(WIDTH - 1).chain(['…']).collect(),
        false => text.to_string(),
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
    match is_braced(&source) {
        true => Ok(source),
        false => {
            let why = "memory orders are changed in .fp, C, C++ and Rust only";
            let why = Diagnostic::error(codes::UNSUPPORTED, why);
            Err(Unusable::new(file, source.text.to_string(), vec![why]))
        }
    }
}

/// Is a text one with statements and memory orders, and not an automaton or a litmus test in columns?
pub(crate) fn is_braced(source: &Source) -> bool {
    source.litmus.is_none() && !lang::trencher::looks_like(&source.text)
}

/// The program that compiled files are. Where it only has to be safe, its threads are followed on the weak memory, too.
fn discover(program: &Program, code: &CodeArgs, question: &Question) -> Result<Source, Unusable> {
    let reads = match question.require {
        Require::Safe => Reads::SeenAnywhere,
        Require::Robust => Reads::Interleavings,
    };
    program.discover(code, question, reads, &|_| {})
}

/// What goes wrong with less than a site needs, as reports; if nothing can be less, that nothing goes wrong.
fn executions(
    source: &Source,
    question: &Question,
    sites: &[Site],
    site: &Site,
    row: &Row,
    need: &Need,
) -> Vec<InputReport> {
    // What was found may have been found in another program; that it is possible in this one is all that is known of it.
    let report = |strength: Strength, says: String| {
        let strengths: Vec<Strength> = sites
            .iter()
            .map(|other| if std::ptr::eq(other, site) { strength } else { other.written })
            .collect();
        let program = apply(&source.program, sites, &strengths);
        let name = format!("{}, {}: `{}` {says}", row.file, row.at(source), row.text);
        report_of(source, question, program, name)
    };
    if need.without.is_empty() {
        return report(need.suffices, suffices(row, need)).into_iter().collect();
    }
    let less = |(part, _): &(Strength, Found)| {
        let less = row.kind.weakened(need.suffices, *part);
        report(less, format!("with {} ({})", word(row.kind, less), suffices(row, need)))
    };
    need.without.iter().filter_map(less).collect()
}

/// What a check says of a source with another program, under this name.
fn report_of(
    source: &Source,
    question: &Question,
    program: ir::Program,
    name: String,
) -> Option<InputReport> {
    let mut changed = source.clone();
    changed.program = program;
    let answer = check::check(&changed.program, question, &|_, _| {}).ok()?;
    let mut report = InputReport::of(&changed, question, &answer);
    report.file = name;
    Some(report)
}

/// Tells the whole story of what a weaker order on a line would allow.
fn explain(
    source: &Source,
    question: &Question,
    sites: &[Site],
    here: &[&(Row, &Site, &Need)],
    line: usize,
) -> io::Result<Exit> {
    if here.is_empty() {
        // What other models read is none for this one.
        let read = match question.model {
            Model::Rc11 | Model::Rc20 => String::new(),
            model => format!(" that {} reads", model.name()),
        };
        terminal::complain(&format!(
            "error: {}: no memory order{read} on line {line}",
            visible(&source.name)
        ));
        return Ok(Exit::BadInput);
    }
    let mut out = io::stdout().lock();
    for (row, site, need) in here {
        let least = word(row.kind, need.suffices);
        writeln!(out, "{}: `{}`: {least} suffices", row.at(source), row.text)?;
        for ((part, _), mut report) in
            need.without.iter().zip(executions(source, question, sites, site, row, need))
        {
            let weaker = word(row.kind, row.kind.weakened(need.suffices, *part));
            writeln!(out, "\nWith {weaker}:\n")?;
            report.file = source.name.clone();
            write!(out, "{}", text::file(&report, Detail::Stories, &terminal::output()))?;
        }
    }
    out.flush()?;
    Ok(Exit::Holds)
}

/// Says why there is no answer.
fn fail(
    source: &Source,
    why: &NotReordered,
    left: &[(Origin, Kind, String)],
    json: bool,
) -> io::Result<Exit> {
    let exit = match why {
        NotReordered::NoAssignment(NoAssignment::Incorrect(_)) => Exit::Violated,
        NotReordered::NoAssignment(NoAssignment::Undecided(..))
        | NotReordered::Unproved(Some(_)) => Exit::Undecided,
        NotReordered::NoAssignment(NoAssignment::Internal(_)) => Exit::Internal,
        _ => Exit::BadInput,
    };
    let found = match why {
        NotReordered::NoAssignment(
            NoAssignment::Incorrect(found) | NoAssignment::Hopeless(found),
        ) => Some(found),
        _ => None,
    };
    let name = visible(&source.name);
    let mut said = format!("error: {name}: {why}");
    if let Some(found) = found {
        let finding = finding(source, found);
        said.push_str(&format!(":\n  {}, {}", finding.message, place(&finding)));
    }
    if matches!(why, NotReordered::NoAssignment(NoAssignment::Incorrect(_))) {
        let model = found.map_or("rc11", |found| found.model.name());
        said.push_str(&format!(
            "\nTry `fencepost fix --model {model} {name}`, or `fencepost check {name}` for the whole story."
        ));
    }
    // Something else than the program may be why nothing helps.
    if matches!(why, NotReordered::NoAssignment(NoAssignment::Hopeless(_))) && !left.is_empty() {
        said.push_str("\nWhat could not be changed:\n");
        said.push_str(&alone(source, left).join("\n"));
    }
    terminal::complain(&said);
    if json {
        let object = json!({
            "file": source.name, "error": why.to_string(), "because": found.map(|found| reason(source, found)),
            "left_alone": alone_objects(source, left),
        });
        writeln!(io::stdout(), "{object}")?;
    }
    Ok(exit)
}
