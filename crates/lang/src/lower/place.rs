//! Resolves names of locations, and refuses accesses that a location's kind does not allow.

use super::declare::Shared;
use super::thread::Scope;
use super::unknown;
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::syntax::{Name, Place};
use ir::{Expr, LocationKind, Reg};

/// How a place is about to be accessed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// By an atomic load, store or read-modify-write.
    Atomic,
    /// By `naload` or `nastore`.
    NonAtomic,
    /// Not at all: a fence names it.
    Named,
}

impl Scope<'_, '_> {
    pub(super) fn place(&self, place: &Place, access: Use, sink: &mut Sink) -> Option<ir::Place> {
        let name = place.name;
        let Some(shared) = self.globals.shared.get(name.text) else {
            let mut error = self.not_a_location(name);
            if access == Use::Named && place.index.is_none() {
                error.help = Some(
                    "the modes of fences are `acq`, `rel`, `acq_rel`, `seq_cst` and `upd`".into(),
                );
            }
            sink.push(error);
            return None;
        };
        let wrong = match (access, shared.kind) {
            (Use::Atomic, LocationKind::NonAtomic) => Some((
                format!("an atomic access to the non-atomic location `{}`", name.text),
                "`naload` and `nastore` access it",
                "declared `na` here",
            )),
            (Use::NonAtomic, LocationKind::Atomic) => Some((
                format!("a non-atomic access to the atomic location `{}`", name.text),
                "`load` and `store` access it",
                "declared atomic here",
            )),
            _ => None,
        };
        if let Some((message, label, declared)) = wrong {
            sink.push(
                Diagnostic::error(codes::MIXED_ACCESS, message)
                    .with_label(place.span, label)
                    .with_label(shared.span, declared),
            );
            return None;
        }
        self.element(place, shared, sink)
    }

    /// The location, or the element of the array, that `shared` declares.
    pub(super) fn element(
        &self,
        place: &Place,
        shared: &Shared,
        sink: &mut Sink,
    ) -> Option<ir::Place> {
        let name = place.name;
        match (&place.index, shared.length) {
            (None, None) => Some(ir::Place::location(shared.first)),
            (Some(index), Some(len)) => {
                let index_value = self.expr(index, sink)?;
                if let Expr::Const(k) = index_value
                    && !(0..ir::Value::from(len)).contains(&k)
                    && !self.mentions_replica(index)
                {
                    let message = format!("index {k} is outside `{}`", name.text);
                    let label = format!("`{}` has the elements 0..={}", name.text, len - 1);
                    sink.push(
                        Diagnostic::error(codes::INDEX, message)
                            .with_label(index.span, label)
                            .with_label(shared.span, "declared here"),
                    );
                    return None;
                }
                Some(ir::Place { base: shared.first, len, index: Some(index_value) })
            }
            (Some(index), None) => {
                sink.push(
                    Diagnostic::error(codes::INDEX, format!("`{}` is not an array", name.text))
                        .with_label(index.span, "it has no elements")
                        .with_label(shared.span, "declared here"),
                );
                None
            }
            (None, Some(_)) => {
                sink.push(
                    Diagnostic::error(codes::INDEX, format!("`{}` is an array", name.text))
                        .with_label(name.span, "which element?")
                        .with_help(format!("write `{}[0]` for the first", name.text)),
                );
                None
            }
        }
    }

    fn not_a_location(&self, name: Name) -> Diagnostic {
        let kind = if self.locals.contains_key(name.text) {
            "a local"
        } else if self.globals.constants.contains_key(name.text) {
            "a constant"
        } else if self.replica_number(name.text).is_some() {
            "the thread's number"
        } else if let Some((owner, declared)) = self.globals.foreign.get(name.text) {
            let message = format!("`{}` belongs to {owner}", name.text);
            return Diagnostic::error(codes::FOREIGN_SPACE, message)
                .with_label(name.span, "out of reach: libraries and clients share no variables")
                .with_label(*declared, "declared here")
                .with_help("pass values as arguments and results of methods");
        } else {
            return unknown(name, "a location", self.globals.shared.keys().copied());
        };
        let message = format!("`{}` is {kind}, not a location", name.text);
        Diagnostic::error(codes::WRONG_KIND, message)
            .with_label(name.span, "expected a location")
            .with_help(format!("shared locations are declared by `global {};`", name.text))
    }

    /// The local that receives a value.
    pub(super) fn local(&self, name: Name, sink: &mut Sink) -> Option<Reg> {
        if let Some((reg, _)) = self.locals.get(name.text) {
            return Some(*reg);
        }
        let wrong = |kind: &str| {
            Diagnostic::error(codes::WRONG_KIND, format!("`{}` is {kind}, not a local", name.text))
                .with_label(name.span, "expected a local")
        };
        sink.push(if let Some(shared) = self.globals.shared.get(name.text) {
            let store = match shared.kind {
                LocationKind::Atomic => "store",
                LocationKind::NonAtomic => "nastore",
            };
            let index = if shared.length.is_some() { "[…]" } else { "" };
            wrong("a shared location").with_help(format!(
                "a shared location is written by `{}{index}.{store}(…);`",
                name.text
            ))
        } else if self.globals.constants.contains_key(name.text) {
            wrong("a constant")
        } else if self.replica_number(name.text).is_some() {
            wrong("the thread's number")
        } else {
            unknown(name, "a local", self.locals.keys().copied()).with_help(format!(
                "locals are declared first in their thread: `local {};`",
                name.text
            ))
        });
        None
    }
}
