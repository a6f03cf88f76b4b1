//! Numbers for the values of cells: integers stand for themselves; pointers, undefined values and integers too large get
//! numbers above all integers. Values are only stored, compared for equality and updated, so which number a pointer
//! has does not matter, as long as the same pointer has the same everywhere.

use crate::action::{Action, Cell, outcome};
use crate::atomic;
use crate::discover::World;
use crate::local::Local;
use crate::machine::Pause;
use crate::value::{Word, signed};
use ir::{Domain, Edge, Expr, Update, UpdateOp, Value};
use llvm::instruction::RmwOp;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The number of every value that a cell of some size can hold.
pub(super) struct Numbers {
    known: HashMap<(u8, Word), Value>,
    /// What stands for something else than a number, and what the user calls it.
    pub(super) names: BTreeMap<Value, String>,
    /// All numbers, with room for what updates make of them.
    pub(super) domain: Domain,
}

impl Numbers {
    /// Numbers for all values that were seen in cells or that actions mention.
    pub(super) fn of(world: &mut World) -> Self {
        let mut words: BTreeSet<(u8, Word)> = BTreeSet::new();
        for (id, cell) in world.cells.iter().enumerate() {
            words.extend(world.values[id].iter().map(|word| (cell.size, *word)));
        }
        let mut reach: i128 = 1;
        let idle = Local::idle(0);
        for (_, node) in world.automata.nodes() {
            let Pause::Rest(action) = &node.pause else { continue };
            words.extend(action.cell().map(|cell| (cell.size, world.machine.peek(&idle, cell))));
            match action {
                Action::Write { cell, value, .. } => {
                    words.insert((cell.size, *value));
                }
                Action::Update { cell, op, operand, width, .. } if *op != RmwOp::Xchg => {
                    let id = world.cells.iter().position(|known| known == cell);
                    let held = id.map(|id| &world.values[id]).into_iter().flatten();
                    let new = held.map(|old| atomic::update(*op, *old, *operand, *width));
                    words.extend(new.map(|word| (cell.size, word)));
                    reach = reach.max(signed(*operand, *width).abs());
                }
                Action::CompareExchange { cell, expected, desired, .. } => {
                    words.insert((cell.size, Word::Bits(*expected)));
                    words.insert((cell.size, *desired));
                }
                Action::Lock { cell, below, add } => {
                    let id = world.cells.iter().position(|known| known == cell);
                    let held = id.into_iter().flat_map(|id| &world.values[id]);
                    words.extend(held.filter_map(|word| match word {
                        Word::Bits(held) if *held < u128::from(*below) => {
                            Some((cell.size, Word::Bits(held + u128::from(*add))))
                        }
                        _ => None,
                    }));
                }
                Action::Update { cell, op: RmwOp::Xchg, operand, .. } => {
                    words.insert((cell.size, Word::Bits(*operand)));
                }
                Action::Queue { cell, .. } => {
                    let id = world.cells.iter().position(|known| known == cell);
                    let held = id.into_iter().flat_map(|id| &world.values[id]);
                    let new = held.filter_map(|old| outcome(action, *old)?.0);
                    words.extend(new.map(|word| (cell.size, word)));
                }
                Action::Take { cell } => {
                    words.extend([(cell.size, Word::ZERO), (cell.size, Word::Bits(1))]);
                }
                _ => {}
            }
        }
        let (mut known, mut others) = (HashMap::new(), BTreeSet::new());
        let (mut least, mut most) = (0i128, 1i128);
        for (size, word) in words {
            let number = match word {
                Word::Bits(bits) if size == 0 => Some(bits as i128),
                Word::Bits(bits)
                    if size < 8
                        || bits < 1 << 20
                        || world.machine.space.mentioned(bits).is_none() =>
                {
                    Some(signed(bits, 8 * u32::from(size)))
                }
                _ => None,
            };
            match number.filter(|number| number.unsigned_abs() < 1 << 60) {
                Some(number) => {
                    known.insert((size, word), number as Value);
                    least = least.min(number);
                    most = most.max(number);
                }
                None => {
                    others.insert((word, size));
                }
            }
        }
        let (mut next, mut last) = (most, None);
        let mut names = BTreeMap::new();
        for (word, size) in others {
            if last != Some(word) {
                next += 1;
                last = Some(word);
                names.insert(next as Value, world.machine.word_name(word));
            }
            known.insert((size, word), next as Value);
        }
        let reach = reach.min(1 << 60);
        let (min, max) = ((least - reach) as Value, (next + reach) as Value);
        Numbers { known, names, domain: Domain { min, max, edge: Edge::Wrap } }
    }

    /// What stands for a value of a cell.
    pub(super) fn get(&self, cell: Cell, word: Word) -> Value {
        let known = self.known.get(&(cell.size, word));
        *known.expect("every value that a cell holds or an action mentions has a number")
    }

    /// The update of the language that does the same to every value that the cell ever holds.
    pub(super) fn update(
        &self,
        cell: Cell,
        held: &[Word],
        (op, operand, width): (RmwOp, u128, u32),
    ) -> Option<Update> {
        let constant = |op: UpdateOp, value: Value| Update::new(op, Expr::Const(value));
        if op == RmwOp::Xchg {
            return Some(constant(UpdateOp::Set, self.get(cell, Word::Bits(operand))));
        }
        let operand_value = Value::try_from(signed(operand, width)).ok()?;
        let candidate = match op {
            RmwOp::Add => constant(UpdateOp::Add, operand_value),
            RmwOp::Sub => constant(UpdateOp::Sub, operand_value),
            RmwOp::And => constant(UpdateOp::And, operand_value),
            RmwOp::Or => constant(UpdateOp::Or, operand_value),
            RmwOp::Xor => constant(UpdateOp::Xor, operand_value),
            RmwOp::Nand => constant(UpdateOp::Nand, operand_value),
            RmwOp::Max | RmwOp::UMax => constant(UpdateOp::Max, operand_value),
            RmwOp::Min | RmwOp::UMin => constant(UpdateOp::Min, operand_value),
            _ => constant(UpdateOp::Set, operand_value),
        };
        let results: Vec<(Word, Word)> =
            held.iter().map(|old| (*old, atomic::update(op, *old, operand, width))).collect();
        let fits = |update: &Update| {
            results.iter().all(|(old, new)| {
                let Expr::Const(operand) = update.operand else { return false };
                let mut notes = ir::Notes::default();
                let result =
                    update.op.apply(self.get(cell, *old), operand, self.domain, &mut notes);
                let expected = self.known.get(&(cell.size, *new)).copied().or(match new {
                    Word::Bits(bits) => Value::try_from(signed(*bits, width)).ok(),
                    Word::Undef | Word::Partly(_) => None,
                });
                // What is not defined in all of its bits is not updated: the thread goes wrong there.
                !matches!(old, Word::Bits(_)) || result.ok() == expected && !notes.wrapped
            })
        };
        let same = results.first().and_then(|(_, new)| self.known.get(&(cell.size, *new)));
        let same = same.map(|new| constant(UpdateOp::Set, *new));
        [Some(candidate), same].into_iter().flatten().find(fits)
    }
}
