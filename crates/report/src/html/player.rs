//! The run of a finding, step by step: columns of steps for everyone, and the data from which the
//! script shows memory, locals, buffers and what could still be read stale after each of them.

use crate::escape::{html, visible};
use crate::finding::{Finding, Kind};
use crate::run::{Assigned, Stale, Step};
use crate::text::{last_step, step_effect};
use serde_json::{Value, json};
use std::fmt::Write;

/// One step as the player shows it.
struct Shown<'a> {
    thread: usize,
    line: usize,
    whole_line: usize,
    text: &'a str,
    effect: String,
    wrong: bool,
    data: Value,
}

pub(super) fn pane(out: &mut String, id: &str, finding: &Finding) {
    let threads: Vec<&str> =
        finding.start.threads.iter().map(|thread| thread.thread.as_str()).collect();
    let steps = steps(finding, &threads);
    if steps.is_empty() {
        return;
    }
    // Only threads that do something get a column.
    let mut active: Vec<usize> = steps.iter().map(|step| step.thread).collect();
    active.sort_unstable();
    active.dedup();
    let _ = write!(
        out,
        "<section class=\"pane player\" data-player=\"{id}\" tabindex=\"0\" aria-label=\"The run, step by \
         step. Arrow keys step, Home and End go to its ends, space plays.\"><div class=\"row\"><h4>How it comes about</h4>\
         <div class=\"controls\" hidden>\
         <button type=\"button\" data-do=\"first\" aria-label=\"To the start\">|◀</button>\
         <button type=\"button\" data-do=\"back\" aria-label=\"One step back\">◀</button>\
         <button type=\"button\" data-do=\"play\" aria-label=\"Play\" class=\"play\">Play</button>\
         <button type=\"button\" data-do=\"step\" aria-label=\"One step forward\">▶</button>\
         <button type=\"button\" data-do=\"last\" aria-label=\"To the end\">▶|</button>\
         <input type=\"range\" min=\"0\" max=\"{count}\" value=\"{count}\" aria-label=\"Step\">\
         <output aria-live=\"polite\">step {count} of {count}</output></div></div>\
         <div class=\"stage\"><div class=\"scroll\"><div class=\"lanes\" \
         style=\"grid-template-columns:repeat({columns},minmax(min(11rem,38vw),1fr))\">",
        count = steps.len(),
        columns = active.len(),
    );
    for thread in &active {
        let _ = write!(out, "<div class=\"lane\">{}</div>", html(threads[*thread]));
    }
    for (index, step) in steps.iter().enumerate() {
        let column = 1 + active.iter().position(|thread| *thread == step.thread).unwrap_or(0);
        let _ = write!(
            out,
            "<button type=\"button\" class=\"cell{}\" style=\"grid-column:{column};grid-row:{}\" data-step=\"{}\" \
             data-line=\"{}\" data-thread=\"{}\"><span class=\"no\">{}</span> <code>{}</code>",
            if step.wrong { " wrong" } else { "" },
            index + 2,
            index + 1,
            step.whole_line,
            html(threads[step.thread]),
            step.line,
            html(step.text)
        );
        if !step.effect.is_empty() {
            let _ = write!(out, "<span class=\"effect\">{}</span>", html(&step.effect));
        }
        out.push_str("</button>");
    }
    let data = json!({
        "memory": finding.start.memory.iter().map(|held| json!([visible(&held.location), held.value])).collect::<Vec<_>>(),
        "threads": finding.start.threads.iter().map(|thread| json!({
            "name": visible(&thread.thread),
            "locals": pairs(&thread.locals),
        })).collect::<Vec<_>>(),
        "buffers": finding.problem == Kind::DelayedStore,
        "stale": finding.run.iter().any(|step| step.stale.is_some()),
        "steps": steps.iter().map(|step| &step.data).collect::<Vec<_>>(),
    });
    let _ = writeln!(
        out,
        "</div></div><div class=\"state\" aria-live=\"off\"></div></div>\
         <script type=\"application/json\">{}</script></section>",
        harmless(&data)
    );
}

/// JSON that cannot end the element it stands in.
fn harmless(data: &Value) -> String {
    let text = data.to_string();
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn pairs(locals: &[Assigned]) -> Vec<Value> {
    locals.iter().map(|local| json!([visible(&local.local), local.value])).collect()
}

fn steps<'a>(finding: &'a Finding, threads: &[&str]) -> Vec<Shown<'a>> {
    let thread_of = |name: &str| threads.iter().position(|thread| *thread == name).unwrap_or(0);
    let matters =
        |step: &&Step| step.is_shown() || !step.assigned.is_empty() || step.stale.is_some();
    let proof = finding.certificate.as_ref();
    let seen = finding.observed.as_ref().map(|observed| &observed.proof);
    let marked = |step: &Step| {
        if let Some(seen) = seen {
            let race = finding.problem == Kind::Race;
            return race || step.events.contains(&seen.access);
        }
        proof.is_some_and(|proof| {
            let is = |event: usize| step.events.contains(&event);
            if proof.timeline {
                return is(proof.access);
            }
            match finding.problem {
                Kind::Race | Kind::DelayedStore => is(proof.access) || is(proof.other),
                Kind::Dependency => is(proof.access),
                _ => false,
            }
        })
    };
    let mut shown: Vec<Shown> = finding
        .run
        .iter()
        .filter(matters)
        .map(|step| {
            let mut effect = step_effect(finding, step);
            if let ([local, ..], true) = (&*step.assigned, effect.is_empty()) {
                effect = format!("{} = {}", local.local, local.value);
            }
            Shown {
                thread: thread_of(&step.thread),
                line: step.place.line,
                whole_line: step.place.whole_line,
                text: &step.place.text,
                wrong: marked(step),
                data: json!({
                    "t": thread_of(&step.thread),
                    "n": step.place.whole_line,
                    "a": step.action,
                    "l": step.location.as_deref().map(visible),
                    "w": step.written,
                    "s": pairs(&step.assigned),
                    "v": step.events,
                    "k": step.stale.as_ref().map(|stale| known(stale, threads)),
                }),
                effect,
            }
        })
        .collect();
    if let Some(effect) = last_step(finding) {
        let events: Vec<usize> = match proof {
            Some(proof) => [Some(proof.access), proof.used_by].into_iter().flatten().collect(),
            None => Vec::new(),
        };
        shown.push(Shown {
            thread: thread_of(&finding.thread),
            line: finding.place.line,
            whole_line: finding.place.whole_line,
            text: &finding.place.text,
            wrong: true,
            data: json!({
                "t": thread_of(&finding.thread),
                "n": finding.place.whole_line,
                "a": "wrong",
                "e": visible(&effect),
                "s": [],
                "v": events,
            }),
            effect,
        });
    }
    shown
}

fn known(stale: &[Stale], threads: &[&str]) -> Vec<Value> {
    stale
        .iter()
        .map(|stale| {
            let values: Vec<String> =
                stale.values.iter().map(|value| value.value.to_string()).collect();
            let thread = threads.iter().position(|thread| *thread == stale.thread);
            json!([thread, visible(&stale.location), values.join(", "), stale.forbidden])
        })
        .collect()
}
