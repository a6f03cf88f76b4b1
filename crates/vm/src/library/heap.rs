//! The heap: blocks named by who allocated them where, as the n-th that is still of interest.

use crate::access::displaced;
use crate::action::{Action, Cell, Order, Stop};
use crate::local::{Block, Local};
use crate::machine::Machine;
use crate::shared::Strength;
use crate::space::{Fill, LARGEST, Name, Object, ObjectId};
use crate::value::{Val, Word};
use std::collections::BTreeMap;

/// So many calls tell who asks for a block: with fewer, all vectors of Rust would be one.
const CALLERS: usize = 8;
const ENOMEM: u128 = 12;
const EINVAL: u128 = 22;
/// More than any machine has, so that asking for it fails.
const NOBODY_HAS: u64 = 1 << 47;

/// Is it one of C++'s functions that throw where there is no memory?
pub(super) fn throws_without_memory(name: &str, arguments: &[Val]) -> bool {
    matches!(name, "_Znwm" | "_Znam" | "_ZnwmSt11align_val_t" | "_ZnamSt11align_val_t")
        && matches!(arguments.first(), Some(Val::Bits(size)) if *size >= u128::from(NOBODY_HAS))
}

impl Machine {
    pub(super) fn heap_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        let size = |k: usize| match argument(k) {
            Val::Bits(bits) => Ok(bits as u64),
            _ => Err(Stop::fail("an allocation of a size that was never written")),
        };
        Some(match name {
            "malloc"
            | "_Znwm"
            | "_Znam"
            | "_ZnwmRKSt9nothrow_t"
            | "_ZnamRKSt9nothrow_t"
            | "_ZnwmSt11align_val_t"
            | "_ZnamSt11align_val_t"
            | "_ZnwmSt11align_val_tRKSt9nothrow_t"
            | "_ZnamSt11align_val_tRKSt9nothrow_t"
            | "__rust_alloc"
            | "__VERIFIER_hp_alloc" => size(0).and_then(|size| self.allocate(local, size, false)),
            "__rust_alloc_zeroed" => size(0).and_then(|size| self.allocate(local, size, true)),
            "aligned_alloc" | "memalign" => match argument(0) {
                Val::Bits(alignment) if alignment.is_power_of_two() => {
                    size(1).and_then(|size| self.allocate(local, size, false))
                }
                _ => Err(Stop::fail(format!("`{name}` with an alignment that is no power of two"))),
            },
            "calloc" => size(0)
                .and_then(|count| size(1).map(|each| count.saturating_mul(each)))
                .and_then(|size| self.allocate(local, size, true)),
            "posix_memalign" => size(2).and_then(|size| {
                if !matches!(argument(1), Val::Bits(by) if by.is_power_of_two() && by >= 8) {
                    return Ok(Val::Bits(EINVAL));
                }
                if size >= NOBODY_HAS {
                    return Ok(Val::Bits(ENOMEM));
                }
                let block = self.allocate(local, size, false)?;
                self.store_word(local, &argument(0), 8, block.word(), Order::Plain)?;
                Ok(Val::Bits(0))
            }),
            "realloc" => size(1).and_then(|size| self.reallocate(local, &argument(0), size)),
            "free"
            | "_ZdlPv"
            | "_ZdaPv"
            | "_ZdlPvSt11align_val_t"
            | "_ZdaPvSt11align_val_t"
            | "_ZdlPvRKSt9nothrow_t"
            | "_ZdaPvRKSt9nothrow_t"
            | "__rust_dealloc"
            | "cfree" => self.free(local, &argument(0)).map(|()| Val::Undef),
            "_ZdlPvm" | "_ZdaPvm" | "_ZdlPvmSt11align_val_t" | "_ZdaPvmSt11align_val_t" => self
                .is_of_size(&argument(0), &argument(1))
                .and_then(|()| self.free(local, &argument(0)))
                .map(|()| Val::Undef),
            // Rust's allocator, whose names carry a hash of the compiler.
            name if name.ends_with("___rust_alloc") => {
                size(0).and_then(|size| self.allocate(local, size, false))
            }
            name if name.ends_with("___rust_alloc_zeroed") => {
                size(0).and_then(|size| self.allocate(local, size, true))
            }
            name if name.ends_with("___rust_realloc") => {
                size(3).and_then(|size| self.reallocate(local, &argument(0), size))
            }
            name if name.ends_with("___rust_dealloc") => {
                self.free(local, &argument(0)).map(|()| Val::Undef)
            }
            _ => return None,
        })
    }

    pub(super) fn allocate(
        &mut self,
        local: &mut Local,
        size: u64,
        zeroed: bool,
    ) -> Result<Val, Stop> {
        if size >= NOBODY_HAS {
            return Ok(Val::Bits(0));
        }
        if size > LARGEST {
            return Stop::refuse(format!(
                "an allocation of {size} bytes; {LARGEST} at most are checked"
            ));
        }
        // What the library allocates for itself, such as the packet of a thread's result, stays where it is.
        if !self.alone
            && !self.allocates_for_library(local)
            && let Some(block) = self.recycle(local, size, zeroed)?
        {
            return Ok(block);
        }
        if !self.alone
            && let Some(block) = self.recycle_own(local, size, zeroed)?
        {
            return Ok(block);
        }
        let mentioned = local.mentioned(&self.space);
        let (thread, site) = (local.thread, Machine::site(local));
        let asker = self.asker(local, size, zeroed);
        let mut nth = 0;
        let object = loop {
            let name = Name::Heap { thread, site, nth, size, zeroed, asker };
            let fill = if zeroed { Fill::Zero } else { Fill::Undef };
            let object = self.space.intern(Object { name, size, fill, constant: false });
            let in_use = mentioned.contains(&object)
                || local
                    .blocks
                    .get(&object)
                    .is_some_and(|block| block.escaped || self.is_alive(local, object));
            if !in_use {
                break object;
            }
            nth += 1;
        };
        self.births.entry(object).or_insert_with(|| local.sites());
        if self.allocates_for_library(local) {
            self.librarys.insert(object);
        }
        self.renew(local, object, if zeroed { Word::ZERO } else { Word::Undef })?;
        local.blocks.insert(object, Block { escaped: self.alone });
        Ok(Machine::pointer(object))
    }

    /// Who asks for a block: 0, unless such blocks are told apart.
    fn asker(&mut self, local: &Local, size: u64, zeroed: bool) -> u32 {
        if !self.apart.contains(&(size, zeroed)) {
            return 0;
        }
        let mut sites = local.sites();
        sites.truncate(CALLERS);
        let next = self.askers.len() as u32 + 1;
        let asker = *self.askers.entry((size, zeroed, sites)).or_insert(next);
        self.together.get(&asker).copied().unwrap_or(asker)
    }

    /// May a block that was freed be given out again to somebody who asks for one? What was allocated before it was known
    /// that blocks of this size are told apart may not.
    fn fits(&self, object: ObjectId, size: u64, zeroed: bool, asks: u32) -> bool {
        match self.space.object(object).name {
            Name::Heap { size: other, zeroed: filled, asker, .. } => {
                let is_apart = self.apart.contains(&(size, zeroed));
                (other, filled, asker) == (size, zeroed, asks) && (asks != 0 || !is_apart)
            }
            _ => false,
        }
    }

    /// Objects of different types turned out to have been in the same block, one after the other. From now on blocks of its
    /// size come back only to who asked for them before, and to those with whom these are brought together. Is that
    /// something new?
    pub(crate) fn keep_apart(&mut self, object: ObjectId) -> bool {
        let Name::Heap { size, zeroed, asker, .. } = self.space.object(object).name else {
            return false;
        };
        if !self.apart.insert((size, zeroed)) {
            return self.take_apart(asker);
        }
        self.note(format!(
            "the address of a block of {size} bytes that was freed comes back only as that of a block which is used like it"
        ));
        for id in (0..self.space.len() as u32).map(ObjectId) {
            if matches!(self.space.object(id).name, Name::Heap { size: other, zeroed: filled, .. } if (other, filled) == (size, zeroed))
            {
                self.shared.forget(id);
            }
        }
        self.surprised = true;
        true
    }

    /// Those who asked for blocks of one size and used them alike did not do so once they got each other's: each is on its own
    /// again, and stays so. Were there several?
    fn take_apart(&mut self, asker: u32) -> bool {
        let members: Vec<u32> =
            self.together.iter().filter(|(_, of)| **of == asker).map(|(it, _)| *it).collect();
        if members.is_empty() {
            return false;
        }
        for member in members {
            self.together.remove(&member);
            self.loners.insert(member);
        }
        self.loners.insert(asker);
        for id in (0..self.space.len() as u32).map(ObjectId) {
            if matches!(self.space.object(id).name, Name::Heap { asker: other, .. } if other == asker)
            {
                self.shared.forget(id);
            }
        }
        self.surprised = true;
        true
    }

    /// Whose blocks are told apart and are used alike are one: the address of a block of one comes back as that of a block of
    /// the other. Two uses are alike if no atomic access of one shares some bytes, and not all, with an access of the other.
    /// Is there anybody new who can be brought together with others?
    pub(crate) fn bring_together(&mut self) -> bool {
        type Use = Vec<(u32, u8, bool)>;
        let mut uses: BTreeMap<(u64, bool), BTreeMap<u32, Use>> = BTreeMap::new();
        for id in (0..self.space.len() as u32).map(ObjectId) {
            if let Name::Heap { size, zeroed, asker, .. } = self.space.object(id).name
                && asker != 0
                && !self.loners.contains(&asker)
                && !self.together.contains_key(&asker)
            {
                let of_size = uses.entry((size, zeroed)).or_default();
                of_size.entry(asker).or_default().extend(self.touches.accesses(id));
            }
        }
        let alike = |one: &Use, other: &Use| {
            one.iter().all(|(start, size, atomic)| {
                other.iter().all(|(at, length, too)| {
                    (start, size) == (at, length)
                        || !(*atomic || *too)
                        || start + u32::from(*size) <= *at
                        || at + u32::from(*length) <= *start
                })
            })
        };
        let before = self.together.len();
        for of_size in uses.into_values() {
            let mut groups: Vec<(u32, Use)> = Vec::new();
            for (asker, own) in of_size {
                match groups.iter_mut().find(|(_, others)| alike(others, &own)) {
                    Some((first, others)) => {
                        others.extend(own);
                        self.together.insert(asker, *first);
                    }
                    None => groups.push((asker, own)),
                }
            }
        }
        self.together.len() > before
    }

    /// A block that was freed and whose address somebody still knows, given out again.
    fn recycle(&mut self, local: &mut Local, size: u64, zeroed: bool) -> Result<Option<Val>, Stop> {
        // Blocks may have been freed before it was known that it matters.
        if self.allocated.insert((size, zeroed)) && self.unmatched.contains(&(size, zeroed)) {
            self.surprised = true;
        }
        let asks = self.asker(local, size, zeroed);
        let fits = |object: &&ObjectId| self.fits(**object, size, zeroed, asks);
        let candidates: Vec<ObjectId> = self.recyclable.iter().filter(fits).copied().collect();
        for object in candidates {
            let cell = Cell::spare(object);
            self.touches.add(cell, local.thread, true, Strength::Atomic);
            if self.visible(local, Action::Take { cell })? == Word::ZERO {
                continue;
            }
            local.again.insert(object);
            self.renew(local, object, if zeroed { Word::ZERO } else { Word::Undef })?;
            local.blocks.insert(object, Block { escaped: true });
            return Ok(Some(Machine::pointer(object)));
        }
        Ok(None)
    }

    /// A block that the thread has freed, that nobody else knew, and of which it has a pointer left, given out again.
    fn recycle_own(
        &mut self,
        local: &mut Local,
        size: u64,
        zeroed: bool,
    ) -> Result<Option<Val>, Stop> {
        let asks = self.asker(local, size, zeroed);
        let fits = |object: &ObjectId| self.fits(*object, size, zeroed, asks);
        let own = local.blocks.iter().filter(|(object, block)| !block.escaped && fits(object));
        let gone = own.filter(|(object, _)| !self.is_alive(local, **object));
        let gone: Vec<ObjectId> = gone.map(|(object, _)| *object).collect();
        if gone.is_empty() {
            return Ok(None);
        }
        local.tidy(&self.space);
        let mentioned = local.mentioned(&self.space);
        for object in gone.into_iter().filter(|object| mentioned.contains(object)) {
            if self.visible(local, Action::Choose { alternatives: 2 })? == Word::ZERO {
                continue;
            }
            self.renew(local, object, if zeroed { Word::ZERO } else { Word::Undef })?;
            local.blocks.insert(object, Block { escaped: false });
            return Ok(Some(Machine::pointer(object)));
        }
        Ok(None)
    }

    /// A block is gone whose address somebody knows: does it matter whether it is given out again?
    pub(crate) fn is_gone(&mut self, object: ObjectId) {
        let Name::Heap { size, zeroed, .. } = self.space.object(object).name else { return };
        match self.allocated.contains(&(size, zeroed)) {
            true => self.surprised |= self.recyclable.insert(object),
            false => {
                self.unmatched.insert((size, zeroed));
            }
        }
    }

    fn is_alive(&self, local: &Local, object: ObjectId) -> bool {
        self.peek(local, Cell::life(object)) == Word::ZERO
    }

    fn reallocate(&mut self, local: &mut Local, old: &Val, size: u64) -> Result<Val, Stop> {
        // It may free the block and give none.
        if size == 0
            && *old != Val::Bits(0)
            && self.visible(local, Action::Choose { alternatives: 2 })? != Word::ZERO
        {
            self.free(local, old)?;
            return Ok(Val::Bits(0));
        }
        if *old != Val::Bits(0) && !self.alone && size > 0 {
            let (object, offset) = self.bytes_at(local, old, 0, false)?;
            let is_block = matches!(self.space.object(object).name, Name::Heap { .. });
            // What gets smaller may stay where it is.
            if is_block && offset == 0 && size <= self.space.object(object).size {
                self.alive(local, object, "a new size for")?;
                if self.visible(local, Action::Choose { alternatives: 2 })? != Word::ZERO {
                    return Ok(old.clone());
                }
            }
        }
        let new = self.allocate(local, size, false)?;
        if *old != Val::Bits(0) && new != Val::Bits(0) {
            let (object, _) = self.bytes_at(local, old, 0, false)?;
            let kept = self.space.object(object).size.min(size);
            self.copy(local, &new, &displaced(old, 0), kept)?;
            self.free(local, old)?;
        }
        Ok(new)
    }

    /// `delete` knows the size of the class that it deletes an object of: another one means that the object is of a class
    /// derived from it whose destructor is not virtual.
    fn is_of_size(&self, block: &Val, size: &Val) -> Result<(), Stop> {
        let (Val::Bits(address), Val::Bits(size)) = (block, size) else { return Ok(()) };
        let Some((object, 0)) = self.space.locate(*address) else { return Ok(()) };
        let object = self.space.object(object);
        match object.name {
            Name::Heap { .. } if u128::from(object.size) != *size => Err(Stop::fail(format!(
                "`delete` of an object of {size} bytes in a block of {} bytes: one of a derived class, by a destructor that \
                 is not virtual?",
                object.size
            ))),
            _ => Ok(()),
        }
    }

    pub(super) fn free(&mut self, local: &mut Local, block: &Val) -> Result<(), Stop> {
        if *block == Val::Bits(0) {
            return Ok(());
        }
        let (object, offset) = self.bytes_at(local, block, 0, true)?;
        let is_block = matches!(self.space.object(object).name, Name::Heap { .. });
        if !is_block || offset != 0 {
            let called = self.called(object);
            return Err(Stop::fail(format!(
                "free of {called} at offset {offset}, which malloc did not return"
            )));
        }
        self.alive(local, object, "free of")?;
        // Whether somebody still knows the address is asked where others can notice that the block is gone.
        let is_known = local.blocks.get(&object).is_none_or(|block| block.escaped);
        if is_known && !self.alone {
            self.touches.add(Cell::life(object), local.thread, true, Strength::Ordering);
        }
        self.kill(local, object)?;
        // The thread itself may know the address for a while, and forget it before it does anything that others notice.
        if is_known && !self.alone && local.keeps(&self.space, object) {
            self.is_gone(object);
        }
        if self.recyclable.contains(&object) {
            let cell = Cell::spare(object);
            let (value, order) = (Word::Bits(1), Order::Release);
            self.touches.add(cell, local.thread, true, Strength::Atomic);
            self.visible(local, Action::Write { cell, value, order })?;
        }
        Ok(())
    }
}
