//! Loads and stores: private memory at once, shared memory as visible actions.

use crate::action::{Action, Cell, Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::shared::Strength;
use crate::space::{Name, ObjectId, Space};
use crate::value::{Bits, Val, Word, mask};
use llvm::{Ty, Type};

/// How some bytes of an object are accessed.
enum Way {
    /// As one cell that others know.
    Shared(Cell),
    /// As bytes that no other thread touches.
    Private,
    /// As several cells, some of them shared, in ascending order.
    Pieces(Vec<(u32, u8, bool)>),
    /// As a part of a cell, which is none any more: all starts again.
    Cut,
}

/// Addresses below this are null pointers with an offset.
const NULL_PAGE: u128 = 1 << 16;

impl Machine {
    /// What messages call an object.
    pub(crate) fn called(&self, object: ObjectId) -> String {
        match &self.space.object(object).name {
            Name::Global(global) | Name::ThreadLocal { global, .. } => {
                let global = self.module.global(*global);
                format!("`{}`", global.debug.as_ref().map_or(&*global.name, |debug| &*debug.name))
            }
            Name::Function(function) => {
                format!("the function `{}`", self.module.function(*function).name)
            }
            Name::Stack { site, .. } => match self.variable_at(*site) {
                Some(name) => format!("the variable `{name}`"),
                None => "a variable".to_string(),
            },
            Name::Heap { size, .. } => format!("a block of {size} bytes"),
            Name::Thread { .. } | Name::Team(_) | Name::Counted { .. } => "a thread".to_string(),
            Name::Given { nth: 0, .. } => "the closure of a thread".to_string(),
            Name::Given { .. } => "the result of a thread".to_string(),
            Name::Slot { .. } => "a message".to_string(),
            Name::OnceState { .. } => "the state of a `Once`".to_string(),
            Name::MainResult => "the result of `main`".to_string(),
            Name::Argument { .. } => "an argument of `main`".to_string(),
            Name::Exceptions => "an exception of the standard library".to_string(),
            Name::TypeText(_) => "the name of a type".to_string(),
            Name::Keys => "the keys of threads' values".to_string(),
            Name::Specific { .. } => "a value of a thread".to_string(),
            Name::ErrorNumber { .. } => "errno".to_string(),
        }
    }

    /// The bytes at an address: their object and offset, if they are all there.
    pub(crate) fn bytes_at(
        &mut self,
        local: &Local,
        address: &Val,
        size: u64,
        writes: bool,
    ) -> Result<(ObjectId, u32), Stop> {
        let verb = if writes { "a store" } else { "a load" };
        let Val::Bits(address) = *address else {
            return Err(Stop::fail(format!(
                "{verb} through a pointer that was never given a value"
            )));
        };
        if address < NULL_PAGE {
            return Err(Stop::fail(format!("{verb} through a null pointer")));
        }
        let Some((object, offset)) = self.space.locate(address) else {
            return Err(Stop::fail(format!("{verb} through {address:#x}, where there is nothing")));
        };
        let known = self.space.object(object);
        let end = offset.checked_add_unsigned(size);
        if offset < 0 || end.is_none_or(|end| end as u64 > known.size) {
            let (called, total) = (self.called(object), known.size);
            let what =
                format!("{verb} of {size} bytes at offset {offset} of {called}, which has {total}");
            return Err(Stop::fail(format!("out of bounds: {what}")));
        }
        if matches!(known.name, Name::Function(_)) || writes && known.constant {
            return Err(Stop::fail(format!(
                "{verb} to {}, which is constant",
                self.called(object)
            )));
        }
        if let Name::Stack { thread, .. } = known.name
            && thread == local.thread
            && !local.frames.iter().any(|frame| frame.objects.contains(&object))
        {
            let called = self.called(object);
            return Err(Stop::fail(format!(
                "{verb} to {called} after its block or function was left"
            )));
        }
        Ok((object, offset as u32))
    }

    fn way(&mut self, object: ObjectId, offset: u32, size: u8, order: Order) -> Result<Way, Stop> {
        let cells = self.shared.overlapping(object, offset, u64::from(size));
        let whole = Cell { object, offset, size };
        match &cells[..] {
            [] => return Ok(Way::Private),
            [cell] if *cell == whole => return Ok(Way::Shared(*cell)),
            _ => {}
        }
        let end = offset + u32::from(size);
        let inside =
            |cell: &Cell| cell.offset >= offset && cell.offset + u32::from(cell.size) <= end;
        if order == Order::Plain && !cells.iter().all(inside) {
            self.shared.separate(whole);
            self.surprised = true;
            return Ok(Way::Cut);
        }
        if order != Order::Plain && self.keep_apart(object) {
            return Err(Stop::Blocked);
        }
        if order != Order::Plain {
            let called = self.called(object);
            return Stop::refuse(format!(
                "mixed-size accesses to {called}: {size} bytes at offset {offset} here, {} at offset {} elsewhere",
                cells[0].size, cells[0].offset
            ));
        }
        let (mut pieces, mut at) = (Vec::new(), offset);
        for cell in cells {
            if at < cell.offset {
                pieces.push((at, (cell.offset - at) as u8, false));
            }
            pieces.push((cell.offset, cell.size, true));
            at = cell.offset + u32::from(cell.size);
        }
        if at < end {
            pieces.push((at, (end - at) as u8, false));
        }
        Ok(Way::Pieces(pieces))
    }

    /// Loads up to 16 bytes as one number.
    pub(crate) fn load_word(
        &mut self,
        local: &mut Local,
        address: &Val,
        size: u8,
        order: Order,
    ) -> Result<Word, Stop> {
        let (object, offset) = self.bytes_at(local, address, u64::from(size), false)?;
        self.alive(local, object, "a load from")?;
        if order != Order::Plain
            && let Some(word) = self.slot_filled(local, address)
        {
            return Ok(word);
        }
        let word = self.load_bytes(local, object, offset, size, order)?;
        if order != Order::Plain && word == Word::Undef {
            let called = self.called(object);
            return Err(Stop::fail(format!(
                "an atomic load of {called}, which was never given a value"
            )));
        }
        Ok(word)
    }

    pub(crate) fn load_bytes(
        &mut self,
        local: &mut Local,
        object: ObjectId,
        offset: u32,
        size: u8,
        order: Order,
    ) -> Result<Word, Stop> {
        let cell = Cell { object, offset, size };
        match self.way(object, offset, size, order)? {
            Way::Shared(cell) => {
                self.touch(local, cell, false, Strength::of(order));
                let order = self.order_at(object, order);
                self.visible(local, Action::Read { cell, order })
            }
            Way::Private => {
                self.touch(local, cell, false, Strength::of(order));
                if order != Order::Plain && self.alone {
                    return self.visible(local, Action::Read { cell, order });
                }
                let word = self.peek(local, cell);
                // A pointer that is read in pieces can be put together again, though nothing shows it meanwhile.
                self.cut_out(local, cell, Some(word));
                Ok(word)
            }
            Way::Cut => {
                self.touch(local, cell, false, Strength::of(order));
                Err(Stop::Blocked)
            }
            Way::Pieces(pieces) => {
                let (mut bits, mut words) = (Bits::default(), Vec::new());
                for (at, length, _) in pieces {
                    let word = self.load_bytes(local, object, at, length, order)?;
                    let piece = word.bits().low(8 * u32::from(length));
                    bits = bits.join(piece.up(8 * (at - offset)));
                    words.push(word);
                }
                let word = bits.word(8 * u32::from(size));
                self.regrouped(local, &words, &[word]);
                Ok(word)
            }
        }
    }

    /// The order of an access to an object's bytes: messages on their way are never plain.
    fn order_at(&self, object: ObjectId, order: Order) -> Order {
        match order {
            Order::Plain if self.is_slot(object) => Order::Relaxed,
            order => order,
        }
    }

    /// Stores up to 16 bytes as one number.
    pub(crate) fn store_word(
        &mut self,
        local: &mut Local,
        address: &Val,
        size: u8,
        word: Word,
        order: Order,
    ) -> Result<(), Stop> {
        let (object, offset) = self.bytes_at(local, address, u64::from(size), true)?;
        self.alive(local, object, "a store to")?;
        if order != Order::Plain
            && let Some(changed) = self.slot_changes(local, address, &word.into())
        {
            return changed.map(|_| ());
        }
        self.store_bytes(local, object, offset, size, word, order)
    }

    fn store_bytes(
        &mut self,
        local: &mut Local,
        object: ObjectId,
        offset: u32,
        size: u8,
        word: Word,
        order: Order,
    ) -> Result<(), Stop> {
        let cell = Cell { object, offset, size };
        match self.way(object, offset, size, order)? {
            Way::Shared(cell) => {
                self.touch(local, cell, true, Strength::of(order));
                let order = self.order_at(object, order);
                self.visible(local, Action::Write { cell, value: word, order })?;
                local.escape(word, &self.space);
                self.strays(local, word, None);
                Ok(())
            }
            Way::Private => {
                self.touch(local, cell, true, Strength::of(order));
                self.cut_out(local, cell, None);
                local.private.write(object, offset, size, word);
                self.known_elsewhere(local, object, word);
                self.strays(local, word, Some(object));
                Ok(())
            }
            Way::Cut => {
                self.touch(local, cell, true, Strength::of(order));
                Err(Stop::Blocked)
            }
            Way::Pieces(pieces) => {
                let mut words = Vec::new();
                for (at, length, _) in pieces {
                    let piece = word.bits().down(8 * (at - offset)).word(8 * u32::from(length));
                    self.store_bytes(local, object, at, length, piece, order)?;
                    words.push(piece);
                }
                self.regrouped(local, &[word], &words);
                Ok(())
            }
        }
    }

    /// A pointer in a block that others know may become known to them.
    fn known_elsewhere(&mut self, local: &mut Local, object: ObjectId, word: Word) {
        let private = match self.space.object(object).name {
            Name::Heap { .. } => local.blocks.get(&object).is_some_and(|block| !block.escaped),
            Name::Stack { .. } | Name::ThreadLocal { .. } => true,
            _ => false,
        };
        if !private {
            local.escape(word, &self.space);
        }
    }

    /// Loads a value of any type.
    pub(crate) fn load(
        &mut self,
        local: &mut Local,
        ty: Ty,
        address: &Val,
        order: Order,
    ) -> Result<Val, Stop> {
        match self.parts(ty)? {
            None => {
                let width = self.width(ty)?;
                let word = self.load_word(local, address, width.div_ceil(8) as u8, order)?;
                Ok(word.bits().word(width).into())
            }
            Some(parts) => {
                let mut values = Vec::with_capacity(parts.len());
                for (ty, at) in parts {
                    values.push(self.load(local, ty, &displaced(address, at), order)?);
                }
                Ok(Val::Many(values.into()))
            }
        }
    }

    /// Stores a value of any type.
    pub(crate) fn store(
        &mut self,
        local: &mut Local,
        ty: Ty,
        address: &Val,
        value: &Val,
        order: Order,
    ) -> Result<(), Stop> {
        match self.parts(ty)? {
            None => {
                let width = self.width(ty)?;
                self.store_word(local, address, width.div_ceil(8) as u8, value.word(), order)
            }
            Some(parts) => {
                for (k, (ty, at)) in parts.into_iter().enumerate() {
                    let part = match value {
                        Val::Many(values) => values.get(k).cloned().unwrap_or(Val::Undef),
                        _ => Val::Undef,
                    };
                    self.store(local, ty, &displaced(address, at), &part, order)?;
                }
                Ok(())
            }
        }
    }

    /// Copies bytes, cell by cell where they are shared, and in the sizes they were written in elsewhere.
    pub(crate) fn copy(
        &mut self,
        local: &mut Local,
        to: &Val,
        from: &Val,
        size: u64,
    ) -> Result<(), Stop> {
        if size == 0 {
            return Ok(());
        }
        let (source, start) = self.bytes_at(local, from, size, false)?;
        let (target, into) = self.bytes_at(local, to, size, true)?;
        self.alive(local, source, "a copy from")?;
        self.alive(local, target, "a copy to")?;
        let mut words = Vec::new();
        let grain = self.grain(local, (source, start), (target, into), size);
        self.pieces += grain.len() as u64;
        for (at, length) in grain {
            let word = self.load_bytes(local, source, start + at, length, Order::Plain)?;
            words.push((at, length, word));
        }
        for (at, length, word) in words {
            self.store_bytes(local, target, into + at, length, word, Order::Plain)?;
        }
        Ok(())
    }

    /// Fills bytes.
    pub(crate) fn fill(
        &mut self,
        local: &mut Local,
        to: &Val,
        byte: Word,
        size: u64,
    ) -> Result<(), Stop> {
        if size == 0 {
            return Ok(());
        }
        let (target, into) = self.bytes_at(local, to, size, true)?;
        self.alive(local, target, "a store to")?;
        let grain = self.grain(local, (target, into), (target, into), size);
        self.pieces += grain.len() as u64;
        for (at, length) in grain {
            let each = (0..u32::from(length)).map(|k| byte.bits().low(8).up(8 * k));
            let word = each.fold(Bits::default(), Bits::join).word(8 * u32::from(length));
            self.store_bytes(local, target, into + at, length, word, Order::Plain)?;
        }
        Ok(())
    }

    /// How to cut bytes that are copied: along the cells that either side has.
    pub(crate) fn grain(
        &self,
        local: &Local,
        (source, start): (ObjectId, u32),
        (target, into): (ObjectId, u32),
        size: u64,
    ) -> Vec<(u32, u8)> {
        let mut taken = std::collections::BTreeMap::new();
        let mut add = |offset: u32, length: u8, base: u32| {
            if let Some(at) = offset.checked_sub(base)
                && u64::from(at) + u64::from(length) <= size
                && length > 0
            {
                let free = taken.range(..at + u32::from(length)).next_back();
                if free.is_none_or(|(other, length): (&u32, &u8)| other + u32::from(*length) <= at)
                {
                    taken.insert(at, length);
                }
            }
        };
        for (object, base) in [(source, start), (target, into)] {
            for cell in self.shared.overlapping(object, base, size) {
                add(cell.offset, cell.size, base);
            }
        }
        for (object, image) in local.private.objects().filter(|(object, _)| *object == source) {
            let _ = object;
            image.range(start..).for_each(|(offset, (length, _))| add(*offset, *length, start));
        }
        let below = self
            .space
            .image(source)
            .range(start..)
            .take_while(|(at, _)| u64::from(**at - start) < size);
        below.for_each(|(offset, (length, _))| add(*offset, *length, start));
        let (mut pieces, mut at) = (Vec::new(), 0u32);
        let gap = |from: u32, to: u32, pieces: &mut Vec<(u32, u8)>| {
            let mut from = from;
            while from < to {
                let step = (8 - from % 8).min(to - from);
                pieces.push((from, step as u8));
                from += step;
            }
        };
        for (offset, length) in &taken {
            gap(at, *offset, &mut pieces);
            pieces.push((*offset, *length));
            at = offset + u32::from(*length);
        }
        gap(at, size as u32, &mut pieces);
        pieces
    }

    /// The text at an address, for messages: as far as it is known.
    pub(crate) fn text(&mut self, local: &Local, address: &Val) -> Option<String> {
        let Val::Bits(address) = address else { return None };
        let (object, offset) = self.space.locate(*address)?;
        let (mut bytes, mut at) = (Vec::new(), u32::try_from(offset).ok()?);
        while bytes.len() < 200 && u64::from(at) < self.space.object(object).size {
            match self.peek(local, Cell { object, offset: at, size: 1 }) {
                Word::Bits(0) => break,
                Word::Bits(byte) => bytes.push(byte as u8),
                Word::Undef | Word::Partly(_) => return None,
            }
            at += 1;
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The address of an object, as a value.
    pub(crate) fn pointer(object: ObjectId) -> Val {
        Val::Bits(Space::address(object).into())
    }

    /// Is the type one whose values are computed with in floating point?
    pub(crate) fn float_format(&self, ty: Ty) -> Option<llvm::types::Float> {
        match self.module.ty(ty) {
            Type::Float(format) => Some(*format),
            _ => None,
        }
    }
}

/// An address some bytes further on.
pub(crate) fn displaced(address: &Val, by: u64) -> Val {
    match address {
        Val::Bits(bits) => Val::Bits(bits.wrapping_add(u128::from(by)) & mask(64)),
        _ => Val::Undef,
    }
}
