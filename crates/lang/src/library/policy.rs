//! Policies: which thread may call which method, and in which order.
//!
//! A policy stands for the most general client that keeps to it. This module writes that client out in the language itself, so users can
//! read it, and the rest of the crate treats it like any other client.

use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::lexer;
use crate::parser;
use crate::suggest;
use crate::syntax::{ComponentKind, Exact, Method, Policy, Project, TermKind};
use std::collections::BTreeMap;
use std::fmt::Write;

const POLICIES: [&str; 4] = ["free", "locked", "readers_writer", "thread_per_method"];
/// How many combinations of arguments a generated client tries.
const MOST_CALLS: Exact = 64;

/// The client that the policy in the text stands for, or the default one; `None` if the text has a
/// client written out.
pub(super) fn client(text: &str) -> Result<Option<String>, Vec<Diagnostic>> {
    let mut sink = Sink::default();
    let tokens = lexer::lex(text, &mut sink);
    let project = parser::parse_project(text, &tokens, &mut sink);
    if sink.has_errors() {
        return Err(sink.finish());
    }
    if project.clients.iter().any(|client| !client.unit.threads.is_empty()) {
        let with_policy = project.clients.iter().find_map(|client| client.policies.first());
        if let Some(policy) = with_policy {
            sink.push(
                Diagnostic::error(codes::METHOD, "a client with both threads and a policy")
                    .with_label(policy.name.span, "a policy is a client of its own"),
            );
            return Err(sink.finish());
        }
        return Ok(None);
    }
    let policies: Vec<&Policy> =
        project.clients.iter().flat_map(|client| &client.policies).collect();
    if let [_, second, ..] = policies.as_slice() {
        sink.push(
            Diagnostic::error(codes::DUPLICATE, "there are two policies")
                .with_label(second.name.span, "already one before"),
        );
        return Err(sink.finish());
    }
    if let (Some(client), true) = (project.clients.first(), policies.is_empty()) {
        sink.push(
            Diagnostic::error(codes::METHOD, "the client has no threads")
                .with_label(client.span, "expected threads or a policy")
                .with_help("`client { policy free(2); }` calls everything from two threads"),
        );
        return Err(sink.finish());
    }
    let generated = generate(&project, policies.first().copied(), &mut sink);
    match generated {
        Some(text) if !sink.has_errors() => Ok(Some(text)),
        _ => Err(sink.finish()),
    }
}

fn generate(project: &Project, policy: Option<&Policy>, sink: &mut Sink) -> Option<String> {
    // The methods of all specifications: what a client may call.
    let mut methods: BTreeMap<&str, &Method> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for component in project.components.iter().filter(|c| c.kind == ComponentKind::Spec) {
        for method in &component.methods {
            if methods.insert(method.name.text, method).is_none() {
                order.push(method.name.text);
            }
        }
    }
    let (min, max) =
        project.shared.values.first().map_or((0, 255), |values| (values.min, values.max));
    let name = policy.map_or("free", |policy| policy.name.text);
    if !POLICIES.contains(&name) {
        let span = policy.map(|policy| policy.name.span)?;
        let label = match suggest::nearest(name, POLICIES) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("policies are `{}`", POLICIES.join("`, `")),
        };
        sink.push(
            Diagnostic::error(codes::UNKNOWN_NAME, format!("there is no policy `{name}`"))
                .with_label(span, label),
        );
        return None;
    }
    for writer in policy.iter().flat_map(|policy| &policy.writers) {
        if !methods.contains_key(writer.text) {
            sink.push(
                Diagnostic::error(codes::METHOD, format!("there is no method `{}`", writer.text))
                    .with_label(writer.span, "not a method of any specification"),
            );
        }
    }
    let count = match policy.and_then(|policy| policy.count.as_ref()) {
        None => 2,
        Some(expr) => match expr.terms.as_slice() {
            [term] if matches!(term.kind, TermKind::Number(1..=8)) => match term.kind {
                TermKind::Number(count) => count,
                _ => 2,
            },
            _ => {
                sink.push(
                    Diagnostic::error(codes::RANGE, "a policy has one to eight threads")
                        .with_label(expr.span, "expected a number"),
                );
                return None;
            }
        },
    };
    for name in &order {
        let method = methods[name];
        let calls = (max - min + 1).checked_pow(method.parameters.len() as u32);
        if calls.is_none_or(|calls| calls > MOST_CALLS) {
            sink.push(
                Diagnostic::error(codes::LIMIT, format!("too many arguments to try for `{name}`"))
                    .with_label(method.name.span, format!("every parameter may be {min} to {max}"))
                    .with_help("give a smaller `max_value`, or write a client with threads"),
            );
            return None;
        }
    }
    let writers: Vec<&str> =
        policy.iter().flat_map(|policy| &policy.writers).map(|name| name.text).collect();
    let mut out = String::new();
    let values: Vec<String> = (min..=max).map(|value| value.to_string()).collect();
    let any = format!("oneof({})", values.join(", "));
    let call = |name: &str, around: &str, out: &mut String| {
        let parameters = methods[name].parameters.len();
        let (before, after) = protection(name, around, count, &writers);
        let mut text = String::new();
        for k in 0..parameters {
            let _ = write!(text, "a{k} = {any}; ");
        }
        let arguments: Vec<String> = (0..parameters).map(|k| format!("a{k}")).collect();
        let _ = write!(out, "{text}{before}{name}({});{after}", arguments.join(", "));
    };
    let most = methods.values().map(|method| method.parameters.len()).max().unwrap_or(0);
    let locals: Vec<String> = (0..most).map(|k| format!("a{k}")).collect();
    let locals = match locals.is_empty() {
        true => String::new(),
        false => format!("        local {};\n", locals.join(", ")),
    };
    out.push_str("client {\n");
    match name {
        "locked" => out.push_str("    atomic guard;\n"),
        "readers_writer" => {
            let _ = writeln!(out, "    atomic guard[{count}];");
        }
        _ => {}
    }
    if name == "thread_per_method" {
        for method in &order {
            let _ = write!(out, "    thread {method} {{\n{locals}        while (1) {{ ");
            call(method, name, &mut out);
            out.push_str(" }\n    }\n");
        }
    } else {
        let _ = write!(out, "    thread t[{count}] {{\n{locals}        while (1) {{\n");
        out.push_str("            oneof (\n");
        for method in &order {
            out.push_str("                { ");
            call(method, name, &mut out);
            out.push_str(" }\n");
        }
        out.push_str("            );\n        }\n    }\n");
    }
    out.push_str("}\n");
    Some(out)
}

/// What goes around a call.
fn protection(method: &str, policy: &str, threads: Exact, writers: &[&str]) -> (String, String) {
    match policy {
        "locked" => ("acquire(guard); ".to_string(), " release(guard);".to_string()),
        // A reader holds its own lock, so readers do not synchronise with each other; a writer
        // holds all.
        "readers_writer" if !writers.contains(&method) => {
            ("acquire(guard[t]); ".to_string(), " release(guard[t]);".to_string())
        }
        "readers_writer" => {
            let all = |what: &str| {
                (0..threads).map(|k| format!("{what}(guard[{k}]);")).collect::<Vec<_>>().join(" ")
            };
            (format!("{} ", all("acquire")), format!(" {}", all("release")))
        }
        _ => (String::new(), String::new()),
    }
}
