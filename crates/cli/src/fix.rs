//! `fencepost fix`: the cheapest fences that make a program robust.

use crate::args;
use crate::exit::Exit;
use crate::inputs;
use crate::store_atomic::is_robust;
use crate::terminal;
use check::fix::fences::{Aim, Placement, Weights, insert, place};
use check::robustness::store_atomic::{Machine, Settings};
use lang::Source;
use model::Origin;
use serde_json::json;
use std::io::{self, Write};

/// The statement that is inserted.
const FENCE: &str = "fence(seq_cst); ";

/// Runs the command.
pub fn run(args: &args::Fix) -> io::Result<Exit> {
    let source = match inputs::load_as(&args.input, args.language) {
        Ok(source) => source,
        Err(unusable) => return Ok(terminal::refuse(&unusable)),
    };
    let machines: Vec<Machine> = match args.trf {
        true => vec![Machine::Tso],
        false => args.model.iter().map(|&name| name.into()).collect(),
    };
    let aims: Vec<Aim> = match args.trf {
        true => vec![Aim::TriangularRaceFree],
        false => machines.iter().map(|&machine| Aim::Robust(machine)).collect(),
    };
    let weights = Weights { in_loop: args.loop_weight, ..Weights::default() };
    let settings =
        Settings { limits: args.limits.limits(), jobs: args::all_cores(), ..Settings::default() };
    let placement = match place(&source.program, &aims, weights, &settings, &|_| {}) {
        Ok(placement) => placement,
        Err(why) => {
            terminal::complain(&format!("error: {}: {why}", source.name));
            return Ok(match why {
                check::fix::fences::NoPlacement::Refused(_) => Exit::BadInput,
                _ => Exit::Undecided,
            });
        }
    };
    let Some(patched) = patch(&source, &placement, &machines, &settings) else {
        terminal::complain("error: the patched program is not robust, which is a bug in fencepost");
        return Ok(Exit::Undecided);
    };
    if let Some(path) = &args.write
        && let Err(error) = std::fs::write(path, &patched)
    {
        terminal::complain(&format!("error: cannot write {}: {error}", path.display()));
        return Ok(Exit::BadInput);
    }
    print(args, &source, &machines, &placement, &patched)?;
    Ok(Exit::Holds)
}

/// The program's text with the fences in it, proved robust once more. Where a statement cannot
/// simply have a fence put before it, the program is printed anew.
fn patch(
    source: &Source,
    placement: &Placement,
    machines: &[Machine],
    settings: &Settings,
) -> Option<String> {
    let origins: Vec<Origin> = placement.sites.iter().map(|site| site.origin).collect();
    let in_place = lang::trencher::insert_fences(source, &origins).unwrap_or_else(|| {
        let mut starts: Vec<usize> =
            origins.iter().map(|&origin| source.span(origin).start).collect();
        starts.sort_unstable();
        let mut text = source.text.to_string();
        for start in starts.into_iter().rev() {
            text.insert_str(start, FENCE);
        }
        text
    });
    let anew = || model::print::program(&insert(&source.program, &placement.sites));
    let is_fixed = |text: &String| {
        let parse = match lang::trencher::looks_like(text) {
            true => lang::trencher::parse,
            false => lang::parse,
        };
        parse(&source.name, text).is_ok_and(|fixed| is_robust(&fixed, machines, settings))
    };
    Some(in_place).filter(is_fixed).or_else(|| Some(anew()).filter(is_fixed))
}

fn print(
    args: &args::Fix,
    source: &Source,
    machines: &[Machine],
    placement: &Placement,
    patched: &str,
) -> io::Result<()> {
    let names: Vec<&str> = machines.iter().map(|machine| machine.name()).collect();
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
            "models": names,
            "fences": fences,
            "minimum": placement.minimum,
            "states": placement.cost.states,
            "seconds": placement.cost.elapsed.as_secs_f64(),
            "program": patched,
        });
        return writeln!(out, "{object}");
    }
    let models = names.join(" and ");
    match places.len() {
        0 => writeln!(out, "{}: robust against {models} already", source.name)?,
        count => {
            let least = if placement.minimum { ", and no fewer will do" } else { "" };
            let fences = if count == 1 { "1 fence makes" } else { &format!("{count} fences make") };
            writeln!(out, "{}: {fences} it robust against {models}{least}", source.name)?;
        }
    }
    for (line, _, thread, text) in &places {
        writeln!(out, "  line {line}, thread `{thread}`: before `{text}`")?;
    }
    if args.diff {
        let diff = similar::TextDiff::from_lines(&*source.text, patched);
        write!(out, "{}", diff.unified_diff().header(&source.name, "fixed"))?;
    } else if args.write.is_none() && !places.is_empty() {
        write!(out, "\n{patched}")?;
    }
    out.flush()
}
