//! Which memory threads share: found by taking down who touches what.
//!
//! A cell is shared if two threads touch it and one of them writes. So is one that a thread touches alone by accesses
//! that order its accesses to other cells: a seq_cst access is a member of the order that all of them share, whatever its
//! cell is, and read-modify-writes empty the store buffers of machines that have some. Exploration starts with no shared cells. Whenever
//! threads turn out to touch the same bytes, these become a cell and exploration starts again, so in the last round
//! every access that others can notice is visible from the first step on.
//!
//! **Sizes.** Plain accesses of different sizes may share bytes: memory that is copied as a whole, a hash table whose
//! control bytes are written one by one and read sixteen at a time. Then the cells are what none of the accesses cuts, and
//! an access is one of several cells, one after the other. That is no loss: a plain access races with another if any
//! of their bytes do, and without a race its bytes hold what was written last before it. An atomic access is one step, so
//! it must be a cell, and other accesses that share bytes with it must be to that cell: this is refused otherwise.

use crate::action::{Cell, Order};
use crate::space::ObjectId;
use std::collections::{BTreeMap, HashMap};

/// The shared cells, by object and offset. They do not overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    cells: HashMap<ObjectId, BTreeMap<u32, u8>>,
}

impl Shared {
    pub(crate) fn insert(&mut self, cell: Cell) {
        self.cells.entry(cell.object).or_default().insert(cell.offset, cell.size);
    }

    /// Nothing of an object is shared, as far as is known.
    pub(crate) fn forget(&mut self, object: ObjectId) {
        self.cells.remove(&object);
    }

    pub(crate) fn contains(&self, cell: Cell) -> bool {
        self.cells.get(&cell.object).and_then(|cells| cells.get(&cell.offset)) == Some(&cell.size)
    }

    /// Cuts cells so that none has bytes on either side of an offset. Were there any?
    fn cut(&mut self, object: ObjectId, at: u32) -> bool {
        let across: Vec<Cell> = self.overlapping(object, at, 1);
        let Some(cell) = across.into_iter().find(|cell| cell.offset < at && !cell.is_sync()) else {
            return false;
        };
        let left = (at - cell.offset) as u8;
        self.insert(Cell { size: left, ..cell });
        self.insert(Cell { offset: at, size: cell.size - left, ..cell });
        true
    }

    /// Cuts cells so that some bytes are cells of their own or parts of none. Was there anything to cut?
    pub(crate) fn separate(&mut self, bytes: Cell) -> bool {
        let Cell { object, offset, size } = bytes;
        self.cut(object, offset) | self.cut(object, offset + u32::from(size))
    }

    /// The shared cells that the thread library keeps for what is in an object.
    pub(crate) fn of_library(&self, object: ObjectId) -> Vec<Cell> {
        let cells = self.cells.get(&object).into_iter().flatten();
        let sync = cells.filter(|(_, size)| **size == 0);
        sync.map(|(offset, size)| Cell { object, offset: *offset, size: *size }).collect()
    }

    /// The shared cells that have a byte of `offset..offset + size`, in ascending order.
    pub(crate) fn overlapping(&self, object: ObjectId, offset: u32, size: u64) -> Vec<Cell> {
        let Some(cells) = self.cells.get(&object) else { return Vec::new() };
        let end = u64::from(offset) + size;
        cells
            .range(offset.saturating_sub(16)..)
            .take_while(|(start, _)| u64::from(**start) < end)
            .filter(|(start, length)| **start + u32::from(**length) > offset)
            .map(|(start, length)| Cell { object, offset: *start, size: *length })
            .collect()
    }
}

/// What an access is, beside a read or a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Strength {
    Plain,
    Atomic,
    /// It orders accesses to other cells even if no other thread touches its own.
    Ordering,
}

impl Strength {
    /// That of a load or store.
    pub(crate) fn of(order: Order) -> Strength {
        match order {
            Order::Plain => Strength::Plain,
            Order::SeqCst => Strength::Ordering,
            _ => Strength::Atomic,
        }
    }
}

/// Who touched some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Touch {
    pub(crate) readers: u64,
    pub(crate) writers: u64,
    pub(crate) atomic: bool,
    /// Somebody did so by an access that orders others.
    pub(crate) ordering: bool,
}

impl Touch {
    /// Whoever looks at final values reads.
    pub(crate) const OBSERVED: Touch =
        Touch { readers: 1 << 63, writers: 0, atomic: false, ordering: false };

    /// That of a thread that writes.
    pub(crate) fn written_by(thread: u32) -> Touch {
        Touch { writers: 1 << thread.min(63), ..Touch::default() }
    }

    fn join(self, other: Touch) -> Touch {
        Touch {
            readers: self.readers | other.readers,
            writers: self.writers | other.writers,
            atomic: self.atomic | other.atomic,
            ordering: self.ordering | other.ordering,
        }
    }

    fn is_shared(self) -> bool {
        self.ordering || self.writers != 0 && (self.readers | self.writers).count_ones() > 1
    }
}

/// Who touched what, whether it is shared or not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touches {
    cells: HashMap<ObjectId, BTreeMap<(u32, u8), Touch>>,
    /// Did anything change since it was last asked whether there is news?
    changed: bool,
}

/// Bytes that are accessed in ways that do not fit together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MixedSizes {
    pub(crate) one: Cell,
    pub(crate) other: Cell,
}

impl Touches {
    /// Takes an access down. Is it the first of its kind, to these bytes?
    pub(crate) fn add(
        &mut self,
        cell: Cell,
        thread: u32,
        writes: bool,
        strength: Strength,
    ) -> bool {
        let touch =
            self.cells.entry(cell.object).or_default().entry((cell.offset, cell.size)).or_default();
        let (before, bit) = (*touch, 1 << thread.min(63));
        match writes {
            true => touch.writers |= bit,
            false => touch.readers |= bit,
        }
        touch.atomic |= strength != Strength::Plain;
        touch.ordering |= strength == Strength::Ordering;
        self.changed |= *touch != before;
        before == Touch::default()
    }

    /// Is there memory that turned out to be shared and is not known to be?
    pub(crate) fn has_news(&mut self, shared: &Shared, hidden: impl Fn(Cell) -> Touch) -> bool {
        std::mem::take(&mut self.changed) && self.promote(&mut shared.clone(), hidden) != Ok(false)
    }

    /// Who touches what beside the accesses that are taken down has changed.
    pub(crate) fn reconsider(&mut self) {
        self.changed = true;
    }

    /// The bytes of an object that were accessed, in which sizes, and whether atomically.
    pub(crate) fn accesses(&self, object: ObjectId) -> impl Iterator<Item = (u32, u8, bool)> + '_ {
        let cells = self.cells.get(&object).into_iter().flatten();
        let cells = cells.filter(|((_, size), _)| *size > 0);
        cells.map(|((offset, size), touch)| (*offset, *size, touch.atomic))
    }

    pub(crate) fn clear(&mut self) {
        self.cells.clear();
    }

    /// Makes cells of all bytes that several threads touch, one of them writing, or that order others. Were there new
    /// ones?
    ///
    /// Where accesses of different sizes meet, the smaller ones are the cells, and larger plain ones (a struct that is
    /// copied as a whole) touch several. `hidden` says who touches a cell beside the accesses that were taken down.
    pub(crate) fn promote(
        &self,
        shared: &mut Shared,
        hidden: impl Fn(Cell) -> Touch,
    ) -> Result<bool, MixedSizes> {
        let mut grown = false;
        for (object, ranges) in &self.cells {
            let ranges: Vec<(Cell, Touch)> = ranges
                .iter()
                .map(|((offset, size), touch)| {
                    (Cell { object: *object, offset: *offset, size: *size }, *touch)
                })
                .collect();
            for (index, (cell, own)) in ranges.iter().enumerate() {
                let near = neighbours(&ranges, index);
                let touch = near.iter().fold(*own, |sum, (_, touch)| sum.join(*touch));
                let touch = touch.join(hidden(*cell));
                if !touch.is_shared() {
                    continue;
                }
                if let Some((inner, _)) = near.iter().find(|(other, _)| is_within(*other, *cell)) {
                    if own.atomic {
                        return Err(MixedSizes { one: *cell, other: *inner });
                    }
                    continue;
                }
                // Where they only share some bytes, those are the cell, and what is left of either is seen next time.
                let mut cell = *cell;
                if let Some((other, theirs)) =
                    near.iter().find(|(other, _)| !is_within(cell, *other))
                {
                    if own.atomic || theirs.atomic {
                        return Err(MixedSizes { one: cell, other: *other });
                    }
                    cell = common(cell, *other);
                }
                let is_known = match cell.is_sync() {
                    true => shared.contains(cell),
                    false => {
                        !shared.overlapping(cell.object, cell.offset, cell.size.into()).is_empty()
                    }
                };
                if !is_known {
                    shared.insert(cell);
                    grown = true;
                }
                grown |= !cell.is_sync() && shared.separate(cell);
            }
        }
        Ok(grown)
    }
}

/// The other ranges that share a byte with one of a sorted list.
fn neighbours(ranges: &[(Cell, Touch)], index: usize) -> Vec<(Cell, Touch)> {
    let (cell, _) = ranges[index];
    let overlaps = |other: &Cell| {
        !cell.is_sync()
            && !other.is_sync()
            && other.offset < cell.offset + u32::from(cell.size)
            && cell.offset < other.offset + u32::from(other.size)
    };
    let before =
        ranges[..index].iter().rev().take_while(|(other, _)| other.offset + 16 > cell.offset);
    let after = ranges[index + 1..].iter().take_while(|(other, _)| other.offset < cell.offset + 16);
    before.chain(after).filter(|(other, _)| overlaps(other)).copied().collect()
}

fn is_within(inner: Cell, outer: Cell) -> bool {
    outer.offset <= inner.offset
        && inner.offset + u32::from(inner.size) <= outer.offset + u32::from(outer.size)
}

/// The bytes that two cells which overlap have in common.
fn common(one: Cell, other: Cell) -> Cell {
    let end = |cell: Cell| cell.offset + u32::from(cell.size);
    let offset = one.offset.max(other.offset);
    Cell { offset, size: (end(one).min(end(other)) - offset) as u8, ..one }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(offset: u32, size: u8) -> Cell {
        Cell { object: ObjectId(0), offset, size }
    }

    #[test]
    fn cells_are_what_two_threads_touch_and_one_writes() {
        let (mut touches, mut shared) = (Touches::default(), Shared::default());
        touches.add(cell(0, 4), 0, false, Strength::Plain);
        touches.add(cell(0, 4), 1, false, Strength::Plain);
        touches.add(cell(4, 4), 0, true, Strength::Plain);
        assert_eq!(touches.promote(&mut shared, |_| Touch::default()), Ok(false));
        touches.add(cell(4, 4), 1, false, Strength::Atomic);
        assert_eq!(touches.promote(&mut shared, |_| Touch::default()), Ok(true));
        assert_eq!(touches.promote(&mut shared, |_| Touch::default()), Ok(false));
        assert_eq!(shared.overlapping(ObjectId(0), 0, 16), [cell(4, 4)]);
    }

    /// Catches accesses that are left out because nobody else touches their cell, and are fences all the same.
    #[test]
    fn what_orders_other_accesses_is_never_private() {
        let (mut touches, mut shared) = (Touches::default(), Shared::default());
        touches.add(cell(0, 4), 0, true, Strength::of(Order::Release));
        touches.add(cell(4, 4), 0, true, Strength::of(Order::SeqCst));
        assert_eq!(touches.promote(&mut shared, |_| Touch::default()), Ok(true));
        assert_eq!(shared.overlapping(ObjectId(0), 0, 16), [cell(4, 4)]);
    }

    #[test]
    fn the_smaller_access_makes_the_cell() {
        let (mut touches, mut shared) = (Touches::default(), Shared::default());
        touches.add(cell(0, 8), 0, true, Strength::Plain);
        touches.add(cell(4, 4), 1, false, Strength::Plain);
        assert_eq!(touches.promote(&mut shared, |_| Touch::default()), Ok(true));
        assert_eq!(shared.overlapping(ObjectId(0), 0, 16), [cell(4, 4)]);
        // What only shares some bytes with it cuts it; what is left is touched by itself then.
        touches.add(cell(2, 4), 1, true, Strength::Plain);
        assert_eq!(touches.promote(&mut shared, |_| Touch::default()), Ok(true));
        assert_eq!(shared.overlapping(ObjectId(0), 0, 16), [cell(4, 2), cell(6, 2)]);
        assert_eq!(touches.promote(&mut shared, |_| Touch::default()), Ok(false));
        // Atomic accesses cannot be cut.
        touches.add(cell(4, 4), 1, false, Strength::Atomic);
        assert!(touches.promote(&mut shared, |_| Touch::default()).is_err());
    }
}
