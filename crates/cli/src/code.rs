//! Real code: makes a program from a module of LLVM IR. The program's text is the user's own files.

use lang::source::{File, Language};
use lang::{Diagnostic, Source, Span, codes};
use llvm::{Module, PlaceId};
use search::{Limits, Progress};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vm::{Entry, Undiscovered};

/// Files below these folders are the compiler's and the system's, not the user's.
const SYSTEM: [&str; 5] = ["/usr/", "/lib/", "/opt/", "/rustc/", "/nix/"];

/// Discovers the program that a module is. `name` is what messages call it.
///
/// # Errors
///
/// What the program does that has no meaning here, with its place in the source, or the limit that was reached.
pub fn discover(
    name: &str,
    module: Module,
    entry: &Entry,
    limits: Limits,
    observe: &(dyn Fn(&Progress) + Sync),
) -> Result<Source, super::Error> {
    let module = Arc::new(module);
    let mut texts = Texts::new(&module, name);
    let lowered = vm::program(module.clone(), entry, limits, observe)
        .map_err(|why| texts.error(name, why))?;
    let (spans, columns): (Vec<Span>, Vec<usize>) =
        lowered.origins.iter().map(|places| texts.span(places)).unzip();
    let mut source = Source::of_program(name, &texts.text, lowered.program, spans);
    source.columns = columns;
    source.language = match Path::new(name).extension().and_then(|e| e.to_str()) {
        Some("cc" | "cpp" | "cxx" | "C" | "hpp") => Language::Cpp,
        Some("rs") => Language::Rust,
        _ => Language::C,
    };
    if texts.files.len() > 1 {
        source.files = texts.files;
    }
    source.failures = lowered.failures;
    source.internal = lowered.internal;
    source.rounds = lowered.rounds;
    source.effects = lowered.effects.into_iter().collect();
    source.values = lowered.values.into_iter().map(|(value, name)| (value, name.into())).collect();
    source.warnings =
        lowered.notes.into_iter().map(|note| Diagnostic::warning(codes::CODE_NOTE, note)).collect();
    if module.optimised.is_some() {
        source.warnings.push(
            Diagnostic::warning(codes::CODE_NOTE, "this file of IR looks optimised, so the verdict is about what is left of the program")
                .with_help("compile with `clang -O0 -Xclang -disable-O0-optnone -g -S -emit-llvm`"),
        );
    }
    Ok(source)
}

/// The user's files that places point into, read as they are needed.
struct Texts<'m> {
    module: &'m Module,
    text: String,
    files: Vec<File>,
    known: HashMap<PathBuf, Option<usize>>,
}

/// What to do about values that grow without bound.
const UNROLL: &str = "`--unroll N` lets every loop go round at most N times; the answer is then about the program up to there";

impl<'m> Texts<'m> {
    fn new(module: &'m Module, name: &str) -> Self {
        let mut texts =
            Texts { module, text: String::new(), files: Vec::new(), known: HashMap::new() };
        if !name.ends_with(".ll") {
            texts.file(Path::new(name));
        }
        texts
    }

    /// The number of a file, if it is the user's.
    fn file(&mut self, path: &Path) -> Option<usize> {
        let key = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let is_system = SYSTEM.iter().any(|folder| key.starts_with(folder))
            || key.to_string_lossy().contains("/lib/rustlib/src/");
        let text = if is_system { None } else { std::fs::read_to_string(&key).ok() };
        let number = text.map(|text| {
            let start = self.text.len();
            self.text.push_str(&text);
            if !text.ends_with('\n') {
                self.text.push('\n');
            }
            let name = match std::env::current_dir().ok().and_then(|here| {
                key.strip_prefix(std::fs::canonicalize(here).ok()?).map(Path::to_path_buf).ok()
            }) {
                Some(inside) => inside.display().to_string(),
                None => path.display().to_string(),
            };
            self.files.push(File { name, span: Span::new(start, self.text.len()) });
            self.files.len() - 1
        });
        self.known.insert(key, number);
        number
    }

    /// The statement of the innermost place that is in a file of the user's, and where in it that is.
    fn span(&mut self, places: &[PlaceId]) -> (Span, usize) {
        let module = self.module;
        for place in places.iter().flat_map(|place| module.debug.chain(*place)) {
            let Some(file) = place.file else { continue };
            let path = module.debug.file(file).path();
            if let Some(number) = self.file(&path) {
                return self.statement(number, place.line as usize, place.column as usize);
            }
        }
        (Span::new(0, 0), 0)
    }

    /// What is written at a line and column, to the end of its statement, and where the column is.
    fn statement(&self, file: usize, line: usize, column: usize) -> (Span, usize) {
        let File { span, .. } = self.files[file];
        let text = &self.text[span.start..span.end];
        let start_of_line = match line {
            0 | 1 => 0,
            line => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1),
        };
        let rest = &text[start_of_line..];
        let rest = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let indent = rest.len() - rest.trim_start().len();
        // Where a line is one statement, all of it is shown: `r = x` says more than `x`.
        let whole = rest.trim();
        let exact = (column.max(1) - 1).min(rest.len());
        let exact = (0..=exact).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
        let start = match whole.matches(';').count() {
            0 | 1 => indent,
            _ => exact,
        };
        let end = rest[start..].find(';').map_or(rest.trim_end().len(), |at| start + at);
        let base = span.start + start_of_line;
        (Span::new(base + start, base + end.max(start)), base + exact)
    }

    fn error(&mut self, name: &str, why: Undiscovered) -> super::Error {
        let diagnostic = match why {
            Undiscovered::NoEntry(why) => Diagnostic::error(codes::CODE, why),
            Undiscovered::Limit { limit, progress, busiest } => {
                let (at, many) = busiest.unwrap_or_default();
                let many = match many {
                    0 => String::new(),
                    many => format!(
                        "; a thread comes here with ever new values of its own, {many} times so far: does something \
                         grow without bound?"
                    ),
                };
                let why = format!(
                    "undecided: {} after {} states, before all that the threads do was seen{many}",
                    limit.reached(),
                    progress.states
                );
                let error = Diagnostic::error(codes::UNFINISHED, why);
                let error = if many.is_empty() { error } else { error.with_help(UNROLL) };
                return self.error_at(name, &at, error);
            }
            Undiscovered::Grows { at, cell, values, interleaved } => {
                let (why, help) = match interleaved {
                    true => (
                        format!(
                            "undecided: `{cell}` grows without bound, as far as can be seen: it takes {values} values and more"
                        ),
                        UNROLL,
                    ),
                    false => (
                        format!(
                            "undecided: `{cell}` grows without bound where threads are followed beyond interleavings: it takes \
                             {values} values and more"
                        ),
                        "on a machine with store buffers each thread is followed with whatever others may have written, so \
                         a count has no end; for `--model rc11` interleavings say which values there are",
                    ),
                };
                let error = Diagnostic::error(codes::UNFINISHED, why).with_help(help);
                return self.error_at(name, &at, error);
            }
            Undiscovered::Refused { at, why } => {
                return self.error_at(name, &at, Diagnostic::error(codes::CODE, why));
            }
        };
        self.error_at(name, &[], diagnostic)
    }

    /// A diagnostic with its place, in the file that the place is in.
    fn error_at(&mut self, name: &str, at: &[PlaceId], diagnostic: Diagnostic) -> super::Error {
        let (span, _) = self.span(at);
        let file = self.files.iter().rev().find(|file| file.span.start <= span.start);
        match file.filter(|_| span != Span::new(0, 0)) {
            Some(File { name, span: whole }) => {
                let here = Span::new(span.start - whole.start, span.end - whole.start);
                super::Error {
                    name: name.clone(),
                    text: self.text[whole.start..whole.end].to_string(),
                    diagnostics: vec![diagnostic.with_label(here, "here")],
                }
            }
            None => super::Error {
                name: name.to_string(),
                text: self.text.clone(),
                diagnostics: vec![diagnostic],
            },
        }
    }
}
