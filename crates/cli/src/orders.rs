//! `fencepost orders` and `fencepost fix` for models with memory orders.
//!
//! `orders` says of each access and fence alone how weak it may be; `fix` chooses for all of them together. Both speak of
//! places in the user's text, and give a reason for each: what goes wrong with less.

use crate::args::{self, OnlyName, OrderModelName, RequireName};
use crate::compiled::{self, CodeArgs, Reads};
use crate::exit::Exit;
use crate::inputs::{self, Unusable};
use crate::terminal;
use check::fix::orders::{Costs, Found, Goal, Kind, Need, NoAssignment, Site, Strength};
use check::{Beyond, Model, Property, Question, Require};
use fencepost::reorder::{self, Changed, Floor, NotReordered, Only, Reordered};
use lang::orders::operation;
use lang::{Diagnostic, Source, codes};
use report::escape::visible;
use report::text::{self, Detail};
use report::{Finding, InputReport};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// Runs `fencepost orders`.
pub(crate) fn run(args: &args::Orders) -> io::Result<Exit> {
    let mut exit = Exit::Holds;
    for input in &args.inputs {
        exit = exit.and(list(args, input)?);
    }
    Ok(exit)
}

/// Lists what each access of a program needs.
fn list(args: &args::Orders, input: &Path) -> io::Result<Exit> {
    let model = match args.model {
        Some(OrderModelName::Rc11) => Model::Rc11,
        Some(OrderModelName::Rc20) => Model::Rc20,
        None => args::model(None, input),
    };
    let question = question(model, &args.limits, args.observational, args.require);
    let source = match load(input, None, &args.code, &question) {
        Ok(source) => source,
        Err(unusable) => return Ok(terminal::refuse(&unusable)),
    };
    let goal = Goal { models: &[model], question: &question, costs: &Costs::GENERIC };
    let sites = reorder::changeable(&source, Only::Orders, |_, _| false);
    let (needs, cost) = match reorder::needs(&source, &sites, &goal) {
        Ok(known) => known,
        Err(why) => return fail(&source, &why, args.json),
    };
    if let Some(line) = args.explain {
        return explain(&source, &question, &sites, &needs, line);
    }
    let mut rows: Vec<(Row, &Need)> =
        sites.iter().map(|site| Row::of(&source, site)).zip(&needs).collect();
    rows.sort_by_key(|(row, _)| row.place);
    let mut out = io::stdout().lock();
    if args.json {
        let of = |(row, need): &(Row, &Need)| {
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
            "file": source.name, "model": model.name(), "require": required(&question), "sites": sites,
            "states": cost.states, "seconds": cost.elapsed.as_secs_f64(),
        });
        writeln!(out, "{object}")?;
        return Ok(Exit::Holds);
    }
    let weaker = rows.iter().filter(|(row, need)| need.suffices != row.written).count();
    let count = rows.len();
    writeln!(
        out,
        "{}: {} as it is written, against {}; {weaker} of {count} orders could be weaker",
        visible(&source.name),
        correct(&question),
        model.name(),
    )?;
    if args.quiet {
        return Ok(Exit::Holds);
    }
    let at = rows.iter().map(|(row, _)| row.at().len()).max().unwrap_or(0);
    let width = rows.iter().map(|(row, _)| row.text.chars().count()).max().unwrap_or(0).min(WIDTH);
    for (row, need) in &rows {
        let shown = shortened(&row.text);
        let says = match need.suffices == row.written {
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
        };
        writeln!(out, "  {:at$}  {shown:width$}  {says}", row.at())?;
        for (part, found) in &need.without {
            let finding = finding(&source, found);
            let less = word(row.kind, row.kind.weakened(need.suffices, *part));
            let less = if less == "no" { "without" } else { &format!("with {less}") };
            writeln!(out, "      {less}: {}, {}", finding.message, place(&finding))?;
        }
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

/// How much of a statement is shown in a table.
const WIDTH: usize = 60;

/// A statement, cut if it is long.
fn shortened(text: &str) -> String {
    match text.chars().count() > WIDTH {
        true => text.chars().take(WIDTH - 1).chain(['…']).collect(),
        false => text.to_string(),
    }
}

/// Runs `fencepost fix` for models with memory orders.
pub(crate) fn fix(args: &args::Fix, models: &[Model]) -> io::Result<Exit> {
    let question = question(models[0], &args.limits, args.observational, args.require);
    let source = match load(&args.input, args.language, &args.code, &question) {
        Ok(source) => source,
        Err(unusable) => return Ok(terminal::refuse(&unusable)),
    };
    let goal = Goal { models, question: &question, costs: &args.cost };
    let only = match args.only {
        None if args.weaken => Only::Orders,
        None | Some(OnlyName::All) => Only::All,
        Some(OnlyName::Orders) => Only::Orders,
        Some(OnlyName::Fences) => Only::Fences,
    };
    let floor = if args.weaken { Floor::Nothing } else { Floor::Written };
    let sites = reorder::changeable(&source, only, |file, line| {
        args.keep.iter().any(|kept| kept.is(file, line))
    });
    let reread = |changed: &[Changed]| match compiled::is_code(&args.input) {
        true => {
            let program = compiled::recompiled(&args.input, changed, &args.code)?;
            let found = program.discover(&args.code, &question, Reads::Interleavings, &|_| {});
            found.map_err(|unusable| unusable.summary())
        }
        false => lang::parse_any(&source.name, &changed[0].after)
            .map_err(|why| why.first().map_or_else(String::new, |why| why.message.clone())),
    };
    let done = match reorder::reorder(&source, &sites, floor, &goal, &reread) {
        Ok(done) => done,
        Err(why) => return fail(&source, &why, args.json),
    };
    if let Some(path) = &args.write
        && let Err(why) = write(path, &args.input, &source, &done)
    {
        terminal::complain(&format!("error: {why}"));
        return Ok(Exit::BadInput);
    }
    show(args, &source, &sites, &question, models, &done)?;
    Ok(Exit::Holds)
}

/// Writes the changed file. Over the source only if nobody has changed that meanwhile.
fn write(path: &Path, input: &Path, source: &Source, done: &Reordered) -> Result<(), String> {
    let after = match &done.files[..] {
        [] => source.text.to_string(),
        [one] => one.after.clone(),
        several => {
            let names: Vec<&str> = several.iter().map(|file| file.name.as_str()).collect();
            return Err(format!(
                "{} files are to be changed ({}), and --write has one: use --diff",
                names.len(),
                names.join(", ")
            ));
        }
    };
    let same = std::fs::canonicalize(path).ok() == std::fs::canonicalize(input).ok();
    if same
        && path.exists()
        && let Some(one) = done.files.first()
    {
        let now = std::fs::read_to_string(path).unwrap_or_default();
        if now.trim_end() != one.before.trim_end() {
            return Err(format!(
                "{} has changed since it was read; nothing was written",
                path.display()
            ));
        }
    }
    std::fs::write(path, after).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Says what was changed, and why.
fn show(
    args: &args::Fix,
    source: &Source,
    sites: &[Site],
    question: &Question,
    models: &[Model],
    done: &Reordered,
) -> io::Result<()> {
    let assignment = &done.assignment;
    let mut changes: Vec<(Row, Strength, Option<&Found>)> = sites
        .iter()
        .zip(&assignment.strengths)
        .zip(&assignment.reasons)
        .filter(|((site, strength), _)| site.written != **strength)
        .map(|((site, strength), why)| (Row::of(source, site), *strength, why.as_ref()))
        .collect();
    changes.sort_by_key(|(row, ..)| row.place);
    let names: Vec<&str> = models.iter().map(|model| model.name()).collect();
    let mut out = io::stdout().lock();
    if args.json {
        let of = |(row, strength, why): &(Row, Strength, Option<&Found>)| {
            json!({
                "file": row.file, "line": row.place.0, "column": row.place.1, "what": row.kind.to_string(),
                "text": row.text, "new": row.new, "from": word(row.kind, row.written), "to": word(row.kind, *strength),
                "because": why.map(|found| reason(source, found)),
            })
        };
        let files: Vec<Value> = done
            .files
            .iter()
            .map(|file| json!({ "file": file.name, "text": file.after }))
            .collect();
        let object = json!({
            "file": source.name, "models": names, "aim": required(question), "changes": changes.iter().map(of).collect::<Vec<_>>(),
            "cost": { "before": done.cost.1, "after": done.cost.0 }, "minimum": assignment.minimum,
            "searches": assignment.searches, "states": assignment.cost.states,
            "seconds": assignment.cost.elapsed.as_secs_f64(), "files": files,
        });
        return writeln!(out, "{object}");
    }
    let (name, aim) = (visible(&source.name), correct(question));
    let against = names.join(" and ");
    let (after, before) = done.cost;
    let least = match assignment.minimum {
        true => "no cheaper ones of what can be changed will do",
        false => "whether cheaper ones would do was too much to find out",
    };
    match changes.len() {
        0 if args.weaken => {
            writeln!(out, "{name}: {aim} against {against}, with orders as weak as can be")?
        }
        0 => writeln!(out, "{name}: {aim} against {against} already")?,
        count => {
            let changes =
                if count == 1 { "1 change makes" } else { &format!("{count} changes make") };
            writeln!(
                out,
                "{name}: {changes} it {aim} against {against}; cost {before} before, {after} after, and {least}"
            )?;
        }
    }
    for (row, strength, why) in changes.iter().filter(|_| !args.quiet) {
        let what = match (row.kind, row.new, strength.fence()) {
            (Kind::Fence, true, _) => format!("new {} fence before", word(row.kind, *strength)),
            (Kind::Fence, false, None) => "fence not needed:".to_string(),
            _ => format!("{} to {}:", word(row.kind, row.written), word(row.kind, *strength)),
        };
        writeln!(out, "  {}  {what} `{}`", row.at(), row.text)?;
        if let Some(found) = why {
            let finding = finding(source, found);
            writeln!(out, "      without: {}, {}", finding.message, place(&finding))?;
        }
    }
    // What stays as it is written has its reason, too, if it could have become weaker.
    if args.weaken && !args.quiet {
        let kept = sites.iter().zip(&assignment.strengths).zip(&assignment.reasons);
        let kept = kept.filter(|((site, strength), _)| site.written == **strength);
        for ((site, strength), why) in kept {
            let (row, Some(found)) = (Row::of(source, site), why) else { continue };
            let finding = finding(source, found);
            writeln!(out, "  {}  {} stays: `{}`", row.at(), word(row.kind, *strength), row.text)?;
            writeln!(out, "      without: {}, {}", finding.message, place(&finding))?;
        }
    }
    if args.diff {
        for file in &done.files {
            let diff = similar::TextDiff::from_lines(&*file.before, &*file.after);
            write!(out, "{}", diff.unified_diff().header(&file.name, "fixed"))?;
        }
    } else if args.write.is_none() && !args.quiet {
        for file in &done.files {
            write!(out, "\n{}", file.after)?;
        }
    }
    out.flush()
}

/// A site as the user sees it.
struct Row {
    file: String,
    /// Line and column, from 1, in that file.
    place: (usize, usize),
    text: String,
    kind: Kind,
    written: Strength,
    new: bool,
}

impl Row {
    fn of(source: &Source, site: &Site) -> Row {
        let span =
            operation(source, site.origin).map_or(source.span(site.origin), |found| found.span);
        let (file, line, column) = reorder::place(source, span.start);
        let file = file.to_string();
        let statement = source.snippet(source.span(site.origin));
        let text = match site.new {
            true => statement.to_string(),
            false => source.snippet(span).to_string(),
        };
        // A method's name alone does not say whose it is.
        let start = source.span(site.origin).start;
        let text = match start < span.start && !site.new && text.len() < statement.len() {
            true => statement.to_string(),
            false => text,
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (kind, written, new) = (site.kind, site.written, site.new);
        Row { file, place: (line, column), text, kind, written, new }
    }

    fn at(&self) -> String {
        format!("line {}:{}", self.place.0, self.place.1)
    }
}

/// The strength of a kind of access in a word or two.
fn word(kind: Kind, strength: Strength) -> String {
    let both = Strength::ACQUIRE.with(Strength::RELEASE);
    let one = match () {
        () if strength.has(Strength::SC) => "seq_cst",
        () if strength.has(both) => "acq_rel",
        () if strength.has(Strength::ACQUIRE) => "acquire",
        () if strength.has(Strength::RELEASE) => "release",
        () if kind == Kind::Fence => "no",
        () => "relaxed",
    };
    if kind != Kind::CompareExchange {
        return one.to_string();
    }
    let fail = match () {
        () if strength.has(Strength::FAIL_SC) => "seq_cst",
        () if strength.has(Strength::FAIL_ACQUIRE) => "acquire",
        () => "relaxed",
    };
    format!("{one}/{fail}")
}

/// What a program is that meets the goal.
fn correct(question: &Question) -> &'static str {
    match (question.require, question.property) {
        (Require::Safe, _) => "safe",
        (_, Property::ObservationalRobustness) => "observationally robust and free of races",
        _ => "robust and free of races",
    }
}

fn required(question: &Question) -> &'static str {
    match question.require {
        Require::Safe => "safe",
        Require::Robust => question.property.name(),
    }
}

/// What goes wrong, in the user's terms.
fn finding(source: &Source, found: &Found) -> Finding {
    Finding::of(source, &found.program, found.model, Some(found.property), &found.witness)
}

fn place(finding: &Finding) -> String {
    format!("line {}", finding.place.line)
}

fn reason(source: &Source, found: &Found) -> Value {
    let finding = finding(source, found);
    json!({ "property": found.property.name(), "message": finding.message, "line": finding.place.line })
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

/// The program in a file, whichever language it is in.
fn load(
    file: &Path,
    language: Option<args::InputName>,
    code: &CodeArgs,
    question: &Question,
) -> Result<Source, Unusable> {
    if language.is_some() || !compiled::is_code(file) {
        let source = inputs::load_as(file, language)?;
        let written = source.litmus.is_none() && !lang::trencher::looks_like(&source.text);
        return match written {
            true => Ok(source),
            false => {
                let why = "memory orders are changed in .fp, C, C++ and Rust only";
                let why = Diagnostic::error(codes::UNSUPPORTED, why);
                Err(Unusable::new(file, source.text.to_string(), vec![why]))
            }
        };
    }
    if question.require == Require::Safe {
        let why = "--require safe works for .fp programs only: what code does beyond interleavings is not followed here";
        return Err(Unusable::new(
            file,
            String::new(),
            vec![Diagnostic::error(codes::UNSUPPORTED, why)],
        ));
    }
    let mut programs = compiled::programs(&[file.to_path_buf()], code);
    let program = programs.remove(0);
    program.discover(code, question, Reads::Interleavings, &|_| {})
}

/// Tells the whole story of what a weaker order on a line would allow.
fn explain(
    source: &Source,
    question: &Question,
    sites: &[Site],
    needs: &[Need],
    line: usize,
) -> io::Result<Exit> {
    let on_line = |(site, _): &(&Site, &Need)| Row::of(source, site).place.0 == line;
    let here: Vec<(&Site, &Need)> = sites.iter().zip(needs).filter(on_line).collect();
    if here.is_empty() {
        terminal::complain(&format!(
            "error: {}: no memory order on line {line}",
            visible(&source.name)
        ));
        return Ok(Exit::BadInput);
    }
    let mut out = io::stdout().lock();
    for (site, need) in here {
        let row = Row::of(source, site);
        let suffices = word(row.kind, need.suffices);
        writeln!(out, "{}: `{}`: {suffices} suffices", row.at(), row.text)?;
        for (part, found) in &need.without {
            let weaker = word(row.kind, row.kind.weakened(need.suffices, *part));
            writeln!(out, "\nWith {weaker}:\n")?;
            let mut weak = source.clone();
            weak.program = found.program.clone();
            let question = Question { beyond: Beyond::Nothing, ..*question };
            let answer = check::check(&weak.program, &question, &|_, _| {});
            if let Ok(answer) = answer {
                let report = InputReport::of(&weak, &question, &answer);
                write!(out, "{}", text::file(&report, Detail::Stories, &terminal::output()))?;
            }
        }
    }
    out.flush()?;
    Ok(Exit::Holds)
}

/// Says why there is no answer.
fn fail(source: &Source, why: &NotReordered, json: bool) -> io::Result<Exit> {
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
    terminal::complain(&said);
    if json {
        let object = json!({
            "file": source.name, "error": why.to_string(), "because": found.map(|found| reason(source, found)),
        });
        writeln!(io::stdout(), "{object}")?;
    }
    Ok(exit)
}
