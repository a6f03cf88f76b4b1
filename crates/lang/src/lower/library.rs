//! Libraries, specifications and clients to programs.
//!
//! For every library there are up to three programs: the most general client with the library's
//! methods inlined, the same with the specification's, and a client of the user's with the
//! specification's. Other libraries take part by their specifications, without marks: that is what
//! Corollary 7.4 of Singh and Lahav (POPL 2023) asks for when several are used together.

use super::call::{Method, Methods};
use super::declare::{Globals, Replicas};
use super::{FEW_THREADS, MAX_STEPS, Origins, duplicate, thread, unknown};
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::library::{Linked, Pair};
use crate::source::Span;
use crate::syntax::{Client, Component, ComponentKind, Name, Project, Variables};
use ir::{Instr, Loc, Location, LocationKind, Program, canonical};
use memory::rc11_views::{Space, System};
use std::collections::{BTreeMap, BTreeSet};

/// What the text means.
pub(crate) struct Lowered {
    pub(crate) pairs: Vec<Pair>,
    pub(crate) spaces: Vec<String>,
    pub(crate) domain: ir::Domain,
}

/// All variables of all components: which space each is in.
struct Variety<'a> {
    flat: Vec<Location>,
    space_of: Vec<Space>,
    spaces: Vec<String>,
    /// Whose each space is: a specification's, with its libraries, or the client's. Theorem 7.3 of Singh and Lahav is about
    /// libraries and clients that share no space.
    space_owners: Vec<Owner<'a>>,
    /// Every variable's owner, for messages.
    owners: Vec<(&'a str, String, Span)>,
}

/// Whose variables are in a space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner<'a> {
    Client,
    /// The specification of this name, and its libraries.
    Specification(&'a str),
}

impl<'a> Owner<'a> {
    /// The name of the space for variables that name none.
    fn own(self) -> &'a str {
        match self {
            Owner::Client => "client",
            Owner::Specification(name) => name,
        }
    }
}

impl std::fmt::Display for Owner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Owner::Client => write!(f, "the client"),
            Owner::Specification(name) => write!(f, "the specification `{name}`"),
        }
    }
}

impl<'a> Variety<'a> {
    /// The space of a name, which stands at `span`; that it is another's is an error.
    fn space(&mut self, name: &str, owner: Owner<'a>, span: Span, sink: &mut Sink) -> Space {
        let at = self.spaces.iter().position(|known| known == name).unwrap_or_else(|| {
            self.spaces.push(name.to_string());
            self.space_owners.push(owner);
            self.spaces.len() - 1
        });
        if self.space_owners[at] != owner {
            let message = format!("the space `{name}` belongs to {}", self.space_owners[at]);
            sink.push(
                Diagnostic::error(codes::DUPLICATE, message)
                    .with_label(span, format!("{owner} cannot have variables in it"))
                    .with_help("no space is shared: give this one a name of its own"),
            );
        }
        Space(at as u8)
    }

    /// What a component sees: the constants, and variables of its own.
    fn declare(
        &mut self,
        shared: &Globals<'a>,
        (owner, title, span): (Owner<'a>, &str, Span),
        variables: &[Variables<'a>],
        sink: &mut Sink,
    ) -> Globals<'a> {
        let mut globals = Globals {
            domain: shared.domain,
            says_values: shared.says_values,
            constants: shared.constants.clone(),
            shared: BTreeMap::new(),
            flat: std::mem::take(&mut self.flat),
            spawned: BTreeMap::new(),
            threads: BTreeSet::new(),
            foreign: BTreeMap::new(),
            fence: None,
        };
        for variables in variables {
            let (name, at) = match variables.space {
                Some(name) => (name.text, name.span),
                None => (owner.own(), span),
            };
            let space = self.space(name, owner, at, sink);
            for declaration in &variables.locations {
                globals.location(declaration, sink);
                self.owners.push((declaration.name.text, title.to_string(), declaration.name.span));
            }
            self.space_of.resize(globals.flat.len(), space);
        }
        globals.fence = Some(Loc::from(globals.flat.len()));
        let space = self.space(owner.own(), owner, span, sink);
        globals.flat.push(Location {
            name: "fence".to_string(),
            element: None,
            initial: 0,
            kind: LocationKind::Atomic,
        });
        self.space_of.push(space);
        self.flat = std::mem::take(&mut globals.flat);
        globals
    }

    /// Tells a component what is out of its reach.
    fn hide(&self, globals: &mut Globals<'a>) {
        for (name, owner, span) in &self.owners {
            if !globals.shared.contains_key(name) {
                globals.foreign.entry(name).or_insert_with(|| (owner.clone(), *span));
            }
        }
    }
}

/// How a message names a component.
fn title(component: &Component) -> String {
    match component.kind {
        ComponentKind::Library => format!("the library `{}`", component.name.text),
        ComponentKind::Spec => format!("the specification `{}`", component.name.text),
    }
}

/// A component and what its methods see.
struct Scoped<'a, 'p> {
    component: &'p Component<'a>,
    globals: Globals<'a>,
}

/// The meaning of the text; `None` if something was reported. Clients that start at or behind
/// `users` are the user's, the one before is the most general one.
pub(crate) fn lower<'a>(project: &Project<'a>, users: usize, sink: &mut Sink) -> Option<Lowered> {
    let shared = Globals::declare(&project.shared, sink);
    let mut variety = Variety {
        flat: Vec::new(),
        space_of: Vec::new(),
        spaces: vec![Owner::Client.own().to_string()],
        space_owners: vec![Owner::Client],
        owners: Vec::new(),
    };
    let mut components: Vec<Scoped<'a, '_>> = Vec::new();
    for component in &project.components {
        let own = Owner::Specification(component.implements.unwrap_or(component.name).text);
        let owner = (own, &*title(component), component.name.span);
        let globals = variety.declare(&shared, owner, &component.variables, sink);
        components.push(Scoped { component, globals });
    }
    let mut clients: Vec<(&Client<'a>, Globals<'a>)> = Vec::new();
    // A client that is a policy has been written out; that is the one that counts.
    let written = |client: &&Client| client.policies.is_empty() || client.span.start >= users;
    for client in project.clients.iter().filter(written) {
        let owner = (Owner::Client, "the client", client.span);
        let globals = variety.declare(&shared, owner, &client.variables, sink);
        clients.push((client, globals));
    }
    for scoped in &mut components {
        variety.hide(&mut scoped.globals);
    }
    for (_, globals) in &mut clients {
        variety.hide(globals);
    }
    distinct(&components, sink);
    let general = clients.iter().find(|(client, _)| client.span.start < users)?;
    let user = clients.iter().find(|(client, _)| client.span.start >= users);
    for pair in [false, true] {
        let of_kind = clients.iter().filter(|(client, _)| (client.span.start >= users) == pair);
        if let [_, (second, _), ..] = of_kind.collect::<Vec<_>>().as_slice() {
            sink.push(
                Diagnostic::error(codes::DUPLICATE, "there are two clients")
                    .with_label(second.span, "already one before"),
            );
        }
    }
    let mut pairs = Vec::new();
    for library in components.iter().filter(|s| s.component.kind == ComponentKind::Library) {
        let Some(spec) = specification(library, &components, sink) else { continue };
        compare(library.component, spec.component, sink);
        let linker = Linker { variety: &variety, shared: &shared, components: &components, spec };
        let implementation = linker.link(library, general, sink);
        let specification = linker.link(spec, general, sink);
        let client = user.and_then(|user| linker.link(spec, user, sink));
        let (Some(implementation), Some(specification)) = (implementation, specification) else {
            continue;
        };
        if sink.has_errors() {
            continue;
        }
        let method = |method: &crate::syntax::Method| method.name.text.to_string();
        let mut pair = Pair {
            name: library.component.name.text.to_string(),
            specification_name: spec.component.name.text.to_string(),
            methods: spec.component.methods.iter().map(method).collect(),
            implementation,
            specification,
            client,
            one_space: false,
            own_space: variety
                .spaces
                .iter()
                .position(|name| name == spec.component.name.text)
                .map(|at| Space(at as u8)),
        };
        pair.merge_spaces();
        pairs.push(pair);
    }
    if pairs.is_empty() && !sink.has_errors() {
        sink.push(
            Diagnostic::error(codes::METHOD, "there is no library to check")
                .with_help("a library is written `library NAME { method f() { … } }`"),
        );
    }
    (!sink.has_errors()).then_some(Lowered { pairs, spaces: variety.spaces, domain: shared.domain })
}

/// Names of components and methods must be clear.
fn distinct(components: &[Scoped], sink: &mut Sink) {
    let mut names: BTreeMap<(bool, &str), Span> = BTreeMap::new();
    let mut methods: BTreeMap<&str, Span> = BTreeMap::new();
    for Scoped { component, .. } in components {
        let is_spec = component.kind == ComponentKind::Spec;
        if let Some(first) = names.insert((is_spec, component.name.text), component.name.span) {
            let what = if is_spec { "a specification" } else { "a library" };
            sink.push(duplicate(component.name, what, first));
        }
        let mut own: BTreeMap<&str, Span> = BTreeMap::new();
        for method in &component.methods {
            if let Some(first) = own.insert(method.name.text, method.name.span) {
                sink.push(duplicate(method.name, "a method", first));
            }
        }
        if is_spec {
            for (name, span) in own {
                if let Some(first) = methods.insert(name, span) {
                    let name = Name { text: name, span };
                    sink.push(duplicate(name, "a method of another specification", first));
                }
            }
        }
    }
}

fn specification<'c, 'a, 'p>(
    library: &Scoped<'a, 'p>,
    components: &'c [Scoped<'a, 'p>],
    sink: &mut Sink,
) -> Option<&'c Scoped<'a, 'p>> {
    let wanted = library.component.implements.unwrap_or(library.component.name);
    let mut specs = components.iter().filter(|s| s.component.kind == ComponentKind::Spec);
    let found = specs.clone().find(|s| s.component.name.text == wanted.text);
    if found.is_none() {
        let known = specs.by_ref().map(|s| s.component.name.text);
        let mut error = unknown(wanted, "the name of a specification", known);
        error.code = codes::METHOD;
        error.message =
            format!("there is no specification of the library `{}`", library.component.name.text);
        let help = format!("a specification is written `spec {} {{ … }}`", wanted.text);
        sink.push(error.with_help(help));
    }
    found
}

/// A library and its specification have the same methods.
fn compare(library: &Component, spec: &Component, sink: &mut Sink) {
    for (one, other) in [(library, spec), (spec, library)] {
        for method in &one.methods {
            let same = other.methods.iter().find(|m| m.name.text == method.name.text);
            match same {
                None => {
                    let message =
                        format!("the method `{}` is missing in {}", method.name.text, title(other));
                    sink.push(
                        Diagnostic::error(codes::METHOD, message)
                            .with_label(method.name.span, format!("a method of {}", title(one)))
                            .with_label(other.name.span, "which has no such method"),
                    );
                }
                Some(same) if same.parameters.len() != method.parameters.len() => {
                    let message =
                        format!("the method `{}` has different parameters", method.name.text);
                    sink.push(
                        Diagnostic::error(codes::METHOD, message)
                            .with_label(method.name.span, format!("in {}", title(one)))
                            .with_label(same.name.span, format!("in {}", title(other))),
                    );
                    return;
                }
                Some(_) => {}
            }
        }
    }
}

struct Linker<'l, 'a, 'p> {
    variety: &'l Variety<'a>,
    shared: &'l Globals<'a>,
    components: &'l [Scoped<'a, 'p>],
    /// The specification of the library being checked.
    spec: &'l Scoped<'a, 'p>,
}

impl<'l, 'a> Linker<'l, 'a, '_> {
    /// The client with the methods of `subject`, and other libraries by their specifications.
    fn link(
        &self,
        subject: &'l Scoped<'a, '_>,
        (client, globals): &(&Client<'a>, Globals<'a>),
        sink: &mut Sink,
    ) -> Option<Linked> {
        let mut methods = Methods::default();
        let others = self.components.iter().filter(|scoped| {
            scoped.component.kind == ComponentKind::Spec
                && scoped.component.name.text != self.spec.component.name.text
        });
        for scoped in others {
            for syntax in &scoped.component.methods {
                let method = Method { syntax, globals: &scoped.globals, mark: None };
                methods.by_name.insert(syntax.name.text, method);
            }
        }
        for syntax in &subject.component.methods {
            // Numbers are those of the specification, so that both sides call a method the same.
            let of_spec = self.spec.component.methods.iter();
            let number = of_spec.map(|m| m.name.text).position(|name| name == syntax.name.text);
            let mark = Some(number.unwrap_or(0) as u32);
            methods
                .by_name
                .insert(syntax.name.text, Method { syntax, globals: &subject.globals, mark });
        }
        let replicas = Replicas::count(&client.unit, globals, FEW_THREADS, sink)?;
        let mut origins = Origins::default();
        let mut threads = Vec::new();
        let (mut steps, mut calls) = (0, 0);
        for (thread, count) in client.unit.threads.iter().zip(&replicas.counts) {
            let numbers: Vec<Option<u32>> = match count {
                None => vec![None],
                Some(count) => (0..*count).map(Some).collect(),
            };
            for number in numbers {
                let room = MAX_STEPS - steps;
                let lowered =
                    thread::lower(thread, number, room, globals, &methods, &mut origins, sink)?;
                steps += lowered.thread.code.len();
                calls += lowered.calls;
                threads.push(canonical::thread(&lowered.thread, self.shared.domain));
            }
        }
        if calls == 0 && !sink.has_errors() {
            sink.push(
                Diagnostic::error(codes::METHOD, "the client never calls a method")
                    .with_label(client.span, "nothing can be learned from this client")
                    .with_help("a method is called by `f(1);` or `r = f(1);`"),
            );
            return None;
        }
        let program = Program::new(self.shared.domain, self.variety.flat.clone(), threads);
        let space_of = self.variety.space_of.clone();
        let mut system = System { program, space_of, spaces: self.variety.spaces.len() };
        remove_unused(&mut system);
        if let Some((tid, pc)) = system.meaningless_step() {
            let span = origins.spans[system.program.step(tid, pc).origin.index()];
            sink.push(
                Diagnostic::error(codes::UNSUPPORTED, "the model of libraries does not have this")
                    .with_label(span, "not part of the model"),
            );
            return None;
        }
        Some(Linked { system, spans: origins.spans })
    }
}

/// Removes the variables that nothing accesses, such as those of the other side.
fn remove_unused(system: &mut System) {
    let locations = &system.program.locations;
    let mut used = vec![false; locations.len()];
    for (_, _, step) in system.program.steps() {
        if let Some(place) = step.instr.place() {
            let first = place.base.index();
            used[first..first + place.len as usize].fill(true);
        }
    }
    let mut moved = Vec::new();
    let mut kept = 0;
    for &used in &used {
        moved.push(Loc::from(kept));
        kept += usize::from(used);
    }
    for step in system.program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        canonical::for_each_place(&mut step.instr, |place| place.base = moved[place.base.index()]);
    }
    let mut keep = used.iter();
    system.program.locations.retain(|_| *keep.next().unwrap_or(&true));
    let mut keep = used.iter();
    system.space_of.retain(|_| *keep.next().unwrap_or(&true));
    debug_assert!(system.program.steps().all(|(_, _, step)| {
        !matches!(&step.instr, Instr::Load { place, .. } if place.base.index() >= kept)
    }));
}
