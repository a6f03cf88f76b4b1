//! Locations for cells, and for cells with plain and atomic accesses their shadows (`ir::shadows`).

use super::SHADOW;
use super::numbers::Numbers;
use crate::action::{Action, Cell, Order};
use crate::automaton::NodeId;
use crate::discover::World;
use crate::local::Local;
use crate::machine::Pause;
use crate::value::Word;
use ir::shadows::{Access, Shadows, Touch, Uses};
use ir::{Instr, Loc, Location, LocationKind, Place, ReadMode, Value, WriteMode};
use std::collections::{BTreeMap, HashMap};

/// The locations that stand for a cell.
pub(super) struct Placed {
    pub(super) loc: Loc,
    pub(super) kind: LocationKind,
    shadows: Shadows,
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
        let mut uses: BTreeMap<Cell, Uses> = BTreeMap::new();
        let nodes = world.automata.nodes().filter(|(_, node)| live.contains(&node.local.thread));
        for (_, node) in nodes {
            if let Pause::Rest(action) = &node.pause
                && !matches!(action, Action::Recall { .. })
                && let Some(cell) = action.cell()
            {
                let access = access(action, &node.next);
                uses.entry(cell).or_default().add(access, node.local.thread as usize);
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

    fn place(&mut self, cell: Cell, used: Uses, name: &str, initial: Value) {
        let kind = match used.is_atomic() {
            true => LocationKind::Atomic,
            false => LocationKind::NonAtomic,
        };
        let loc = self.location(name, initial, kind);
        let shadows = Shadows::of(&used, || self.location(name, 0, LocationKind::NonAtomic));
        self.placed.insert(cell, Placed { loc, kind, shadows });
    }

    fn location(&mut self, name: &str, initial: Value, kind: LocationKind) -> Loc {
        self.locations.push(Location { name: name.to_string(), element: None, initial, kind });
        Loc::from(self.locations.len() - 1)
    }

    /// The locations of a cell.
    pub(super) fn placed(&self, cell: Cell) -> &Placed {
        &self.placed[&cell]
    }

    /// For each location of a cell, the values that it held while threads were discovered; none where these are all that any
    /// execution can write.
    pub(super) fn foreseen(&self, world: &World, numbers: &Numbers) -> Vec<Option<Vec<Value>>> {
        let mut foreseen = vec![None; self.locations.len()];
        for (cell, values) in world.cells.iter().zip(&world.values) {
            let Some(placed) = self.placed.get(cell) else { continue };
            if world.machine.counts_ends(*cell) {
                continue;
            }
            let mut known: Vec<Value> =
                values.iter().map(|word| numbers.get(*cell, *word)).collect();
            known.sort_unstable();
            known.dedup();
            foreseen[placed.loc.index()] = Some(known);
        }
        foreseen
    }

    /// Accesses to shadows that come before an access.
    pub(super) fn before(&self, cell: Cell, thread: u32, access: Access) -> Vec<Instr> {
        let shadows = &self.placed(cell).shadows;
        shadows.before(access, thread as usize).into_iter().map(step).collect()
    }

    /// Accesses to shadows that come after an access. They leave the value that was read alone.
    pub(super) fn after(&self, cell: Cell, thread: u32, access: Access) -> Vec<Instr> {
        let shadows = &self.placed(cell).shadows;
        shadows.after(access, thread as usize).into_iter().map(step).collect()
    }

    /// Accesses to shadows that come after an access that has succeeded.
    pub(super) fn after_success(&self, cell: Cell, thread: u32, access: Access) -> Option<Instr> {
        self.placed(cell).shadows.after_success(access, thread as usize).map(step)
    }
}

fn step(touch: Touch) -> Instr {
    touch.step(Place::location(touch.loc()), SHADOW)
}

/// What an action with these continuations is to shadows. A compare-and-exchange that never succeeds only reads.
pub(super) fn access(action: &Action, next: &[(Word, NodeId)]) -> Access {
    match action {
        Action::Read { order: Order::Plain, .. } => Access::PlainRead,
        Action::Write { order: Order::Plain, .. } => Access::PlainWrite,
        Action::Read { .. } | Action::Await { .. } => Access::Load,
        Action::CompareExchange { expected, success, .. } => Access::Compare {
            succeeds: next.iter().any(|(input, _)| *input == Word::Bits(*expected)),
            publishes: write_mode(*success) != WriteMode::Rlx,
        },
        Action::Update { order, .. } => {
            Access::Update { publishes: write_mode(*order) != WriteMode::Rlx }
        }
        _ => Access::Write,
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
