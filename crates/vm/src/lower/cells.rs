//! Locations for cells, and for cells with plain and atomic accesses their shadows.
//!
//! C allows plain and atomic accesses to the same cell, and they race unless ordered. Such a cell becomes an atomic
//! location, to which plain accesses are relaxed, and *shadows*, non-atomic locations that race exactly when the cell
//! does: `w`, which plain writes write and everything else reads; and, where a plain read could meet an atomic write,
//! one per writing thread, which its atomic writes write and plain reads read. The shadow of a load is accessed after
//! it, so that what the load synchronises with comes before; that of a write or update before it, so that it is
//! published with it. (An update that is ordered after a plain write only by what it reads itself could have come
//! earlier and raced.)

use super::SHADOW;
use super::numbers::Numbers;
use crate::action::{Action, Cell, Order};
use crate::automaton::NodeId;
use crate::discover::World;
use crate::local::Local;
use crate::machine::Pause;
use crate::value::Word;
use ir::{Expr, Instr, Loc, Location, LocationKind, Place, ReadMode, Value, WriteMode};
use std::collections::{BTreeMap, HashMap};

/// How a cell is accessed, by whom.
#[derive(Clone, Copy, Default)]
struct Use {
    plain_reads: u64,
    plain_writes: u64,
    atomic_writes: u64,
    atomic: bool,
}

impl Use {
    fn is_mixed(self) -> bool {
        self.atomic && self.plain_reads | self.plain_writes != 0
    }

    /// `changes` says whether the action ever changes its cell: a compare-and-exchange that never succeeds only reads.
    fn add(&mut self, action: &Action, thread: u32, changes: bool) {
        let bit = 1 << thread;
        match action {
            Action::Read { order: Order::Plain, .. } => self.plain_reads |= bit,
            Action::Write { order: Order::Plain, .. } => self.plain_writes |= bit,
            _ => {
                self.atomic = true;
                if changes {
                    self.atomic_writes |= bit;
                }
            }
        }
    }
}

/// The locations that stand for a cell.
pub(super) struct Placed {
    pub(super) loc: Loc,
    pub(super) kind: LocationKind,
    /// Written by plain writes, read by all others.
    written: Option<Loc>,
    /// Written by atomic writes of a thread, read by plain reads.
    updated: BTreeMap<u32, Loc>,
}

/// The locations of all cells.
pub(super) struct Cells {
    placed: HashMap<Cell, Placed>,
    pub(super) locations: Vec<Location>,
    /// Locations that are no memory of the user's: locks, lives of objects, starts and ends of threads, shadows.
    pub(super) internal: Vec<Loc>,
}

impl Cells {
    /// Locations for the cells that the threads in `live` access.
    pub(super) fn of(world: &World, numbers: &Numbers, live: &[u32]) -> Self {
        let mut uses: BTreeMap<Cell, Use> = BTreeMap::new();
        let nodes = world.automata.nodes().filter(|(_, node)| live.contains(&node.local.thread));
        for (_, node) in nodes {
            if let Pause::Rest(action) = &node.pause
                && !matches!(action, Action::Recall { .. })
                && let Some(cell) = action.cell()
            {
                let changes = changes(action, &node.next);
                uses.entry(cell).or_default().add(action, node.local.thread, changes);
            }
        }
        let mut cells =
            Cells { placed: HashMap::new(), locations: Vec::new(), internal: Vec::new() };
        for (cell, used) in uses {
            let id = world.cells.iter().position(|known| *known == cell);
            let initial = match id {
                Some(id) => world.initial[id],
                None => world.machine.peek(&Local::idle(0), cell),
            };
            let (name, initial) = (world.machine.cell_name(cell), numbers.get(cell, initial));
            let from = cells.locations.len();
            cells.place(cell, used, &name, initial);
            let is_users =
                !cell.is_sync() && !cell.is_life() && !world.machine.is_librarys(cell.object);
            let all = (from..cells.locations.len()).map(Loc::from);
            cells.internal.extend(all.skip(usize::from(is_users)));
        }
        // Executions of a program without memory would have nothing to show, not even where a thread waits for ever.
        if cells.locations.is_empty() {
            let unused = cells.location("nothing", 0, LocationKind::Atomic);
            cells.internal.push(unused);
        }
        cells
    }

    fn place(&mut self, cell: Cell, used: Use, name: &str, initial: Value) {
        let kind = match used.atomic {
            true => LocationKind::Atomic,
            false => LocationKind::NonAtomic,
        };
        let loc = self.location(name, initial, kind);
        let mut placed = Placed { loc, kind, written: None, updated: BTreeMap::new() };
        if used.is_mixed() {
            if used.plain_writes != 0 {
                placed.written = Some(self.location(name, 0, LocationKind::NonAtomic));
            }
            for thread in (0..64).filter(|thread| used.atomic_writes >> thread & 1 == 1) {
                if used.plain_reads & !(1 << thread) != 0 {
                    let shadow = self.location(name, 0, LocationKind::NonAtomic);
                    placed.updated.insert(thread, shadow);
                }
            }
        }
        self.placed.insert(cell, placed);
    }

    fn location(&mut self, name: &str, initial: Value, kind: LocationKind) -> Loc {
        self.locations.push(Location { name: name.to_string(), element: None, initial, kind });
        Loc::from(self.locations.len() - 1)
    }

    /// The locations of a cell.
    pub(super) fn placed(&self, cell: Cell) -> &Placed {
        &self.placed[&cell]
    }

    /// For each location of a cell, the values that it held while threads were discovered.
    pub(super) fn foreseen(&self, world: &World, numbers: &Numbers) -> Vec<Option<Vec<Value>>> {
        let mut foreseen = vec![None; self.locations.len()];
        for (cell, values) in world.cells.iter().zip(&world.values) {
            let Some(placed) = self.placed.get(cell) else { continue };
            let mut known: Vec<Value> =
                values.iter().map(|word| numbers.get(*cell, *word)).collect();
            known.sort_unstable();
            known.dedup();
            foreseen[placed.loc.index()] = Some(known);
        }
        foreseen
    }

    /// Accesses to shadows that come before an access; `changes` says whether it ever changes the cell where it is.
    pub(super) fn before(
        &self,
        cell: Cell,
        thread: u32,
        action: &Action,
        changes: bool,
    ) -> Vec<Instr> {
        let placed = self.placed(cell);
        let load =
            |loc: Loc| Instr::Load { dst: SHADOW, place: Place::location(loc), mode: ReadMode::Na };
        let store = |loc: Loc| {
            let place = Place::location(loc);
            Instr::Store { place, value: Expr::Const(0), mode: WriteMode::Na }
        };
        let mut shadows = Vec::new();
        match action {
            Action::Read { order: Order::Plain, .. } => {
                shadows.extend(placed.written.map(load));
                shadows.extend(
                    placed
                        .updated
                        .iter()
                        .filter(|(by, _)| **by != thread)
                        .map(|(_, loc)| load(*loc)),
                );
            }
            Action::Write { order: Order::Plain, .. } => shadows.extend(placed.written.map(store)),
            Action::Read { .. } | Action::Await { .. } => {}
            _ => {
                shadows.extend(placed.written.map(load));
                let updated = placed.updated.get(&thread).copied().filter(|_| changes);
                shadows.extend(updated.map(store));
            }
        }
        shadows
    }

    /// Accesses to shadows that come after an access. They leave the value that was read alone.
    pub(super) fn after(&self, cell: Cell, action: &Action) -> Vec<Instr> {
        match (action, self.placed(cell).written) {
            (Action::Read { order, .. }, Some(written)) if *order != Order::Plain => {
                vec![Instr::Load {
                    dst: SHADOW,
                    place: Place::location(written),
                    mode: ReadMode::Na,
                }]
            }
            _ => Vec::new(),
        }
    }
}

/// Does an action with these continuations ever change its cell? A compare-and-exchange that never succeeds only reads.
pub(super) fn changes(action: &Action, next: &[(Word, NodeId)]) -> bool {
    match action {
        Action::CompareExchange { expected, .. } => {
            next.iter().any(|(input, _)| *input == Word::Bits(*expected))
        }
        action => action.writes(),
    }
}

/// How an access of this order reads.
pub(super) fn read_mode(order: Order) -> ReadMode {
    match order {
        Order::Plain | Order::Relaxed | Order::Release => ReadMode::Rlx,
        Order::Acquire | Order::AcqRel => ReadMode::Acq,
        Order::SeqCst => ReadMode::Sc,
    }
}

/// How an access of this order writes.
pub(super) fn write_mode(order: Order) -> WriteMode {
    match order {
        Order::Plain | Order::Relaxed | Order::Acquire => WriteMode::Rlx,
        Order::Release | Order::AcqRel => WriteMode::Rel,
        Order::SeqCst => WriteMode::Sc,
    }
}
