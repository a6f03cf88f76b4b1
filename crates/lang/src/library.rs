//! Libraries and their specifications: what `fencepost refine` reads.
//!
//! ```
//! let project = fencepost_lang::library::parse(
//!     &[("counter.fp".to_string(), "
//!         max_value 1;
//!         spec    flag { atomic x; method set() { x.store(1, rel); }
//!                                  method get() { local r; r = x.load(acq); return(r); } }
//!         library flag { atomic x; method set() { x.store(1, rlx); }
//!                                  method get() { local r; r = x.load(rlx); return(r); } }
//!         client { policy thread_per_method; }".to_string())],
//!     None,
//! )
//! .expect("good libraries");
//! let pair = &project.pairs[0];
//! assert_eq!(pair.methods, ["set", "get"]);
//! assert_eq!(pair.implementation.system.program.threads.len(), 2);
//! ```
//!
//! Files are read as one text, in the order given; [`Project::locate`] says which file a place is
//! in. A `policy` is turned into a client in the language itself, which is part of the text too and
//! can be looked at ([`Project::text`]).

mod policy;

use crate::diagnostic::{Diagnostic, Sink};
use crate::lexer;
use crate::lower;
use crate::parser;
pub use crate::source::File;
use crate::source::{Span, origin_of_line};
use ir::Domain;
use memory::rc11_views::{Space, System};

/// What the client that a policy stands for is called among the files.
pub const GENERATED: &str = "most general client";

/// Libraries, specifications and clients, ready to be checked.
#[derive(Clone, Debug)]
pub struct Project {
    /// All texts, one after the other.
    pub text: String,
    /// The files, in the order of the text.
    pub files: Vec<File>,
    /// A library and its specification, each.
    pub pairs: Vec<Pair>,
    /// The names of the spaces.
    pub spaces: Vec<String>,
    /// The values.
    pub domain: Domain,
    /// What may not be as meant.
    pub warnings: Vec<Diagnostic>,
}

/// A library with its specification under the same client.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The library's name.
    pub name: String,
    /// The specification's name; often the same.
    pub specification_name: String,
    /// The names of the methods, in the order of the specification.
    pub methods: Vec<String>,
    /// The most general client with the library.
    pub implementation: Linked,
    /// The most general client with the specification.
    pub specification: Linked,
    /// The user's client with the specification.
    pub client: Option<Linked>,
    /// Is there only one space, because no access synchronises one space only?
    pub one_space: bool,
    /// The library's own space; `None` if there is only one.
    pub own_space: Option<Space>,
}

/// A client with methods inlined.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The program and its spaces.
    pub system: System,
    /// Where its instructions came from, by [`ir::Origin`], in [`Project::text`].
    pub spans: Vec<Span>,
}

impl Pair {
    /// Spaces make a difference only to partial modes. Without any, markers need not propagate to
    /// each space on its own.
    pub(crate) fn merge_spaces(&mut self) {
        let mut linked = [&mut self.implementation, &mut self.specification]
            .into_iter()
            .chain(self.client.as_mut())
            .map(|linked| &mut linked.system)
            .collect::<Vec<&mut System>>();
        self.one_space = !linked.iter().any(|system| system.has_partial_modes());
        if self.one_space {
            self.own_space = None;
            for system in &mut linked {
                system.space_of.fill(Space(0));
                system.spaces = 1;
            }
        }
    }
}

/// What is wrong with files, and their text.
#[derive(Clone, Debug)]
pub struct Unusable {
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// All texts, one after the other.
    pub text: String,
    /// The files, in the order of the text.
    pub files: Vec<File>,
}

/// Reads libraries, specifications and a most general client from files, and a client to be checked
/// against them from another.
pub fn parse(
    files: &[(String, String)],
    client: Option<&(String, String)>,
) -> Result<Project, Box<Unusable>> {
    let mut all = Text::default();
    for (name, text) in files {
        all.append(name, text);
    }
    let generated = match policy::client(&all.text) {
        Ok(generated) => generated,
        Err(diagnostics) => return Err(all.unusable(diagnostics)),
    };
    if let Some(generated) = generated {
        all.append(GENERATED, &generated);
    }
    let users = all.text.len();
    if let Some((name, text)) = client {
        all.append(name, text);
    }
    let mut sink = Sink::default();
    let tokens = lexer::lex(&all.text, &mut sink);
    if sink.has_errors() {
        return Err(all.unusable(sink.finish()));
    }
    let project = parser::parse_project(&all.text, &tokens, &mut sink);
    if client.is_some() && !project.clients.iter().any(|c| c.span.start >= users) {
        let message = "the file given as client has no `client { … }`";
        sink.push(Diagnostic::error(crate::codes::METHOD, message));
    }
    if sink.has_errors() {
        return Err(all.unusable(sink.finish()));
    }
    match lower::library::lower(&project, users, &mut sink) {
        Some(lowered) if !sink.has_errors() => Ok(Project {
            pairs: lowered.pairs,
            spaces: lowered.spaces,
            domain: lowered.domain,
            warnings: sink.finish(),
            text: all.text.clone(),
            files: all.files,
        }),
        _ => Err(all.unusable(sink.finish())),
    }
}

#[derive(Default)]
struct Text {
    text: String,
    files: Vec<File>,
}

impl Text {
    fn append(&mut self, name: &str, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.files.push(File { name: name.to_string(), span: Span::new(start, self.text.len()) });
        self.text.push('\n');
    }

    fn unusable(self, diagnostics: Vec<Diagnostic>) -> Box<Unusable> {
        Box::new(Unusable { diagnostics, text: self.text, files: self.files })
    }
}

/// The file that a place is in, and the place in that file.
fn locate(files: &[File], span: Span) -> Option<(&File, Span)> {
    let file = files.iter().rev().find(|file| file.span.start <= span.start)?;
    let start = file.span.start;
    Some((file, Span::new(span.start - start, span.end.max(span.start) - start)))
}

impl Project {
    /// The file that a place is in, and the place in that file.
    pub fn locate(&self, span: Span) -> Option<(&File, Span)> {
        locate(&self.files, span)
    }

    /// The warnings as a terminal shows them.
    pub fn render_warnings(&self, color: bool) -> String {
        self.render(&self.warnings, color)
    }

    /// Diagnostics about the text as a terminal shows them.
    pub fn render(&self, diagnostics: &[Diagnostic], color: bool) -> String {
        render(diagnostics, &self.files, &self.text, color)
    }

    /// The file and line of a place, as messages write it.
    pub fn line(&self, span: Span) -> String {
        match self.locate(span) {
            None => String::new(),
            Some((file, place)) => {
                let text = &self.text[file.span.start..file.span.end];
                let before = &text[..place.start.min(text.len())];
                format!("{}:{}", file.name, 1 + before.matches('\n').count())
            }
        }
    }
}

impl Unusable {
    /// The diagnostics as a terminal shows them, each with the file that its main place is in.
    pub fn render(&self, color: bool) -> String {
        render(&self.diagnostics, &self.files, &self.text, color)
    }
}

fn render(diagnostics: &[Diagnostic], files: &[File], text: &str, color: bool) -> String {
    let name = files.first().map_or("", |file| &*file.name);
    let origin = |line| {
        let (file, line) = origin_of_line(files, text, line).unwrap_or((name, line));
        (file.to_string(), line)
    };
    let one = |found: &Diagnostic| found.render_within(name, text, &origin, color, usize::MAX);
    diagnostics.iter().map(one).collect::<Vec<String>>().join("\n")
}
