//! Threads that are started by others: `spawn t;` and `join t;`.
//!
//! A thread that some `spawn` names has a hidden location `spawn_t`, and nothing else is special
//! about it: spawn and join are accesses to that location.
//!
//! | | | means |
//! |---|---|---|
//! | `spawn t;` | in any thread | `r = spawn_t.load(rlx); assert(r == 0); spawn_t.store(1, rel);` |
//! | the start | of `t` | `wait(spawn_t, 1, acq);` |
//! | the end | of `t` | `spawn_t.store(2, rel);` |
//! | `join t;` | in any thread | `wait(spawn_t, 2, acq);` |
//!
//! So what the parent did before `spawn` happens before the child, and the child before what follows
//! `join`. That a thread is spawned a second time is reported like a failed assertion. One that is never spawned never
//! starts; that is no deadlock, see [`ir::Program::spawned`].

use super::declare::{Globals, Replicas, Shared};
use super::thread::Lowering;
use super::unknown;
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Span;
use crate::syntax::{Place, StatementKind, Unit};
use ir::expr::Binary;
use ir::{Expr, Instr, Loc, Location, LocationKind, ReadMode, WriteMode};

/// What the hidden location holds.
const STARTED: ir::Value = 1;
const ENDED: ir::Value = 2;

/// Gives every thread that is spawned somewhere its hidden location.
pub(super) fn declare<'a>(
    unit: &Unit<'a>,
    replicas: &Replicas,
    globals: &mut Globals<'a>,
    sink: &mut Sink,
) {
    let mut spawned: Vec<&'a str> = Vec::new();
    let bodies = unit.threads.iter().map(|thread| &thread.body);
    for body in bodies.chain(unit.procedures.iter().map(|procedure| &procedure.body)) {
        body.for_each(&mut |statement| {
            if let StatementKind::Spawn(place) = &statement.kind {
                spawned.push(place.name.text);
            }
        });
    }
    for (thread, count) in unit.threads.iter().zip(&replicas.counts) {
        globals.threads.insert(thread.name.text);
        if !spawned.contains(&thread.name.text) {
            continue;
        }
        if globals.domain.max < ENDED {
            sink.push(
                Diagnostic::error(codes::RANGE, "threads that are spawned need the value 2")
                    .with_label(thread.name.span, "its hidden location holds 0, 1 or 2")
                    .with_help("`max_value 2;` or more makes room for it"),
            );
        }
        let name = format!("spawn_{}", thread.name.text);
        let first = Loc::from(globals.flat.len());
        let elements = match count {
            None => vec![None],
            Some(count) => (0..*count).map(Some).collect(),
        };
        globals.flat.extend(elements.into_iter().map(|element| Location {
            name: name.clone(),
            element,
            initial: 0,
            kind: LocationKind::Atomic,
        }));
        let span = thread.name.span;
        let cell = Shared { first, length: *count, kind: LocationKind::Atomic, span };
        globals.spawned.insert(thread.name.text, cell);
    }
}

/// All hidden locations.
pub(super) fn locations(globals: &Globals) -> Vec<Loc> {
    let of = |cell: &Shared| {
        let first = cell.first.index();
        (first..first + cell.length.unwrap_or(1) as usize).map(Loc::from)
    };
    globals.spawned.values().flat_map(of).collect()
}

/// The hidden location of a thread that is spawned.
fn own_cell(cell: Shared, number: Option<u32>) -> ir::Place {
    match cell.length {
        None => ir::Place::location(cell.first),
        Some(len) => {
            let index = Expr::Const(number.unwrap_or(0).into());
            ir::Place { base: cell.first, len, index: Some(index) }
        }
    }
}

impl<'a> Lowering<'a, '_, '_> {
    /// What a thread does before its first statement if others start it.
    pub(super) fn start(&mut self, name: &str, number: Option<u32>, span: Span) {
        if let Some(&cell) = self.scope.globals.spawned.get(name) {
            let (place, values) = (own_cell(cell, number), vec![Expr::Const(STARTED)]);
            self.emit(Instr::Wait { dst: None, place, values, mode: ReadMode::Acq }, span);
        }
    }

    /// What it does after its last.
    pub(super) fn end(&mut self, name: &str, number: Option<u32>, span: Span) {
        if let Some(&cell) = self.scope.globals.spawned.get(name) {
            let (place, value) = (own_cell(cell, number), Expr::Const(ENDED));
            self.emit(Instr::Store { place, value, mode: WriteMode::Rel }, span);
        }
    }

    pub(super) fn spawn(&mut self, thread: &Place<'a>, span: Span) -> Option<()> {
        let place = self.cell(thread)?;
        let before = self.temporary("spawned", span)?;
        self.emit(Instr::Load { dst: before, place: place.clone(), mode: ReadMode::Rlx }, span);
        let first = Expr::binary(Binary::Eq, Expr::Reg(before), Expr::Const(0))?;
        self.emit(Instr::Assert(first), span);
        let failure = format!("`{}` is started a second time", thread.name.text);
        self.failures.push((self.origins.of(span), failure));
        let value = Expr::Const(STARTED);
        self.emit(Instr::Store { place, value, mode: WriteMode::Rel }, span);
        Some(())
    }

    pub(super) fn join_thread(&mut self, thread: &Place<'a>, span: Span) -> Option<()> {
        let (place, values) = (self.cell(thread)?, vec![Expr::Const(ENDED)]);
        self.emit(Instr::Wait { dst: None, place, values, mode: ReadMode::Acq }, span);
        Some(())
    }

    fn cell(&mut self, thread: &Place<'a>) -> Option<ir::Place> {
        let globals = self.scope.globals;
        if let Some(cell) = globals.spawned.get(thread.name.text) {
            return self.scope.element(thread, cell, self.sink);
        }
        let error = match globals.threads.contains(thread.name.text) {
            true => {
                let message = format!("`{}` is joined and never spawned", thread.name.text);
                let help = format!("`spawn {};` starts it", thread.name.text);
                Diagnostic::error(codes::UNKNOWN_NAME, message)
                    .with_label(thread.name.span, "this thread starts by itself")
                    .with_help(help)
            }
            false => unknown(thread.name, "a thread", globals.threads.iter().copied()),
        };
        self.sink.push(error);
        None
    }
}
