//! How Rust's threads start, end and are waited for.
//!
//! `spawn` puts the closure into a box and the place for its result (a *packet*) into an `Arc`, one reference for either
//! side, and hands the box to the operating system. Both are the library's own, and nobody but the two threads ever sees
//! them. So the new thread gets *copies* of them that are its own from the start, and the packet comes back by a copy when
//! the thread is joined: starting a thread is then no action that others could notice in between, and threads that are
//! started one after the other are one team (see [`Team`](crate::machine::Team)).
//!
//! A scope counts its running threads and waits until there are none. Here the thread that runs the scope remembers
//! which threads it started there, and waits for their ends.

use super::names;
use crate::access::displaced;
use crate::action::{Cell, Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::space::{Fill, Name, Object, ObjectId, Space};
use crate::team::Gift;
use crate::value::{Val, Word};
use llvm::FunctionId;

/// Where a scope remembers its threads: behind the object that holds its data.
const SCOPE: u32 = 1 << 29;
/// Where it is remembered that a thread was joined: behind the object that stands for it.
const JOINED: u32 = 1 << 28;
/// What the reference count of a thread's handle always is.
const MANY: u128 = 1 << 20;
/// The size of what a thread's handle points to.
const HANDLE: u64 = 64;

impl Machine {
    /// The function at a place of a table of virtual functions.
    pub(super) fn virtual_function(
        &mut self,
        local: &mut Local,
        table: &Val,
        nth: u64,
    ) -> Result<FunctionId, Stop> {
        let entry = self.load_word(local, &displaced(table, 8 * nth), 8, Order::Plain)?;
        let function = match entry {
            Word::Bits(address) => self.function_at(address),
            Word::Undef | Word::Partly(_) => None,
        };
        match function {
            Some(function) => Ok(function),
            None => Stop::refuse("a table of functions that has none where one is called"),
        }
    }

    /// Where a field is in a type of the library, by the debug information.
    pub(super) fn field_offset(&self, ty: &str, field: &str) -> Result<u64, Stop> {
        let debug = &self.module.debug;
        let members =
            debug.types.iter().filter(|known| &*known.name == ty).filter_map(|known| match &known
                .kind
            {
                llvm::debug::DebugKind::Aggregate(members) => Some(members),
                _ => None,
            });
        let member = members.flat_map(|members| members.iter()).find(|one| &*one.name == field);
        match member {
            Some(member) => Ok(member.offset_bits / 8),
            None => Stop::refuse(format!(
                "Rust's `{ty}` without a field `{field}` in the debug information: is this another version of the \
                 standard library than those that are known?"
            )),
        }
    }

    /// What a thread's handle (`std::thread::Thread`) points to.
    pub(super) fn counted(&mut self, thread: ObjectId) -> Val {
        let name = Name::Counted { thread };
        let object =
            self.space.intern(Object { name, size: HANDLE, fill: Fill::Zero, constant: false });
        Machine::pointer(object)
    }

    /// The reference count at an address, if it is one that never changes: that of a thread's handle.
    pub(crate) fn constant_count(&self, address: &Val) -> Option<Word> {
        let Val::Bits(address) = address else { return None };
        let (object, _) = self.space.locate(*address)?;
        matches!(self.space.object(object).name, Name::Counted { .. }).then_some(Word::Bits(MANY))
    }

    /// The thread that a handle belongs to, by the handle's address.
    pub(super) fn counted_thread(
        &mut self,
        local: &mut Local,
        handle: &Val,
    ) -> Result<ObjectId, Stop> {
        if let Word::Bits(address) = self.load_word(local, handle, 8, Order::Plain)?
            && let Some((object, 0)) = self.space.locate(address)
            && let Name::Counted { thread } = self.space.object(object).name
        {
            return Ok(thread);
        }
        Stop::refuse("a handle of a thread that is not known")
    }

    /// Is the memory the library's own? Then atomic accesses to it order nothing of the user's.
    pub(crate) fn is_librarys(&self, object: ObjectId) -> bool {
        matches!(self.space.object(object).name, Name::Given { .. } | Name::Slot { .. })
            || self.librarys.contains(&object)
    }

    /// Starts a thread of the operating system.
    pub(super) fn spawn_rust(&mut self, local: &mut Local, arguments: &[Val]) -> Result<Val, Stop> {
        let (data, table) = match arguments {
            [_, data, table] => (data.clone(), table.clone()),
            [_, init] => {
                let start = displaced(init, self.field_offset("ThreadInit", "rust_start")?);
                let data: Val = self.load_word(local, &start, 8, Order::Plain)?.into();
                let table: Val =
                    self.load_word(local, &displaced(&start, 8), 8, Order::Plain)?.into();
                (data, table)
            }
            _ => return Stop::refuse("a start of a thread by a version of Rust that is not known"),
        };
        let run = self.virtual_function(local, &table, 3)?;
        if self.alone {
            return Err(Stop::Company);
        }
        let size = match self.load_word(local, &displaced(&table, 8), 8, Order::Plain)? {
            Word::Bits(size) => size as u64,
            Word::Undef | Word::Partly(_) => 0,
        };
        let thread = self.thread_object(local.thread, local.started);
        let (argument, gifts) = match size {
            0 => (data, Vec::new()),
            size => self.give(local, thread, &data, size)?,
        };
        self.start_task(local, thread, run, vec![argument], gifts)?;
        Ok(Val::Many([Val::Bits(0), Machine::pointer(thread)].into()))
    }

    /// Copies a closure, and the packet that it holds a reference to, for a thread of its own.
    fn give(
        &mut self,
        local: &mut Local,
        thread: ObjectId,
        closure: &Val,
        size: u64,
    ) -> Result<(Val, Vec<Gift>), Stop> {
        let mut gifts = Vec::new();
        let (source, _) = self.bytes_at(local, closure, size, false)?;
        let mut image = self.contents(local, source, size)?;
        for (_, length, word) in &mut image {
            let Word::Bits(address) = *word else { continue };
            if *length != 8 {
                continue;
            }
            let Some((packet, 0)) = self.space.locate(address) else { continue };
            // The packet is the library's, and there are two references to it: others that threads carry along (the
            // handle of another thread) have one.
            let two = self.librarys.contains(&packet)
                && self.load_bytes(local, packet, 0, 8, Order::Plain)? == Word::Bits(2);
            if !two {
                continue;
            }
            let size = self.space.object(packet).size;
            let contents = self.contents(local, packet, size)?;
            let nth = gifts.len() as u32 + 1;
            let copy = self.given(thread, nth, size);
            gifts.push(Gift { to: copy, from: Some(packet), image: contents });
            *word = Machine::pointer(copy).word();
            // Either side has one reference, to its own copy; that of the thread is never the last.
            self.store_word(local, &Machine::pointer(packet), 8, Word::Bits(1), Order::Plain)?;
        }
        let copy = self.given(thread, 0, size);
        gifts.push(Gift { to: copy, from: None, image });
        for gift in &mut gifts {
            let mut kept = Vec::new();
            for (offset, size, word) in std::mem::take(&mut gift.image) {
                local.escape(word, &self.space);
                let cell = Cell { object: gift.to, offset, size };
                // What others see too is written as everything that others see.
                match self.shared.overlapping(gift.to, offset, size.into()).is_empty() {
                    true => kept.push((cell.offset, cell.size, word)),
                    false => {
                        let at = displaced(&Machine::pointer(gift.to), offset.into());
                        self.store_word(local, &at, size, word, Order::Plain)?;
                    }
                }
            }
            gift.image = kept;
        }
        Ok((Machine::pointer(copy), gifts))
    }

    fn given(&mut self, thread: ObjectId, nth: u32, size: u64) -> ObjectId {
        let name = Name::Given { thread, nth, size };
        self.space.intern(Object { name, size, fill: Fill::Undef, constant: false })
    }

    /// What an object holds, piece by piece; what was never written is left out.
    fn contents(
        &mut self,
        local: &mut Local,
        object: ObjectId,
        size: u64,
    ) -> Result<Vec<(u32, u8, Word)>, Stop> {
        let mut pieces = Vec::new();
        for (at, length) in self.grain(local, (object, 0), (object, 0), size) {
            let word = self.load_bytes(local, object, at, length, Order::Plain)?;
            if word != Word::Undef {
                pieces.push((at, length, word));
            }
        }
        Ok(pieces)
    }

    /// Waits for a thread, and takes its packet.
    pub(super) fn join_rust(&mut self, local: &mut Local, handle: &Val) -> Result<Val, Stop> {
        let thread = self.join_rust_unit(local, handle)?;
        if local.starting.iter().any(|starting| starting.handle == thread) {
            self.settle(local)?;
        }
        let members = self.threads.iter().filter(|member| member.handle == thread);
        let gifts = members.filter_map(|member| member.task.as_ref()).flat_map(|task| &task.gifts);
        let mut packets: Vec<(ObjectId, ObjectId)> =
            gifts.filter_map(|gift| Some((gift.from?, gift.to))).collect();
        packets.sort();
        packets.dedup();
        match &packets[..] {
            [] => {}
            [(packet, copy)] => {
                let (packet, copy) = (*packet, *copy);
                self.take_back(local, packet, copy)?;
            }
            _ => {
                return Stop::refuse(
                    "a thread whose result is in different places, depending on what others do",
                );
            }
        }
        Ok(Val::Undef)
    }

    /// Takes what a thread left in its packet, behind the two counts. What the thread never touched is as it was.
    fn take_back(
        &mut self,
        local: &mut Local,
        packet: ObjectId,
        copy: ObjectId,
    ) -> Result<(), Stop> {
        let size = self.space.object(packet).size;
        let pieces = self.grain(local, (copy, 16), (copy, 16), size.saturating_sub(16));
        let mut left = Vec::new();
        for (at, length) in pieces {
            let word = self.load_bytes(local, copy, 16 + at, length, Order::Plain)?;
            let is_seen = !self.shared.overlapping(copy, 16 + at, length.into()).is_empty();
            if is_seen || word != Word::Undef {
                left.push((at, length, word));
            }
        }
        for (at, length, word) in left {
            let into = displaced(&Machine::pointer(packet), 16 + u64::from(at));
            self.store_word(local, &into, length, word, Order::Plain)?;
        }
        Ok(())
    }

    /// Waits for a thread.
    pub(super) fn join_rust_unit(
        &mut self,
        local: &mut Local,
        handle: &Val,
    ) -> Result<ObjectId, Stop> {
        self.join_thread(local, handle, &Val::Bits(0), 8)?;
        let Val::Bits(address) = handle else { return Stop::refuse("a thread without a handle") };
        let Some((thread, _)) = self.space.locate(*address) else {
            return Stop::refuse("a thread without a handle");
        };
        local.private.write(thread, JOINED, 1, Word::Bits(1));
        Ok(thread)
    }

    /// A thread is about to be started in a scope.
    pub(super) fn enter_scope(&mut self, local: &mut Local, scope: &Val) -> Result<(), Stop> {
        let (object, _) = self.bytes_at(local, scope, 1, true)?;
        let owner = match self.space.object(object).name {
            Name::Heap { thread, .. } => thread,
            _ => local.thread,
        };
        if owner != local.thread {
            return Stop::refuse(
                "a thread that is started in a scope by another thread of the scope; only the thread that runs the \
                 scope may",
            );
        }
        let running = displaced(scope, self.field_offset("ScopeData", "num_running_threads")?);
        self.store_word(local, &running, 8, Word::Bits(1), Order::Plain)?;
        let count = self.scope_word(local, object, 0);
        let thread = self.thread_object(local.thread, local.started);
        let at = SCOPE + 8 * (count as u32 + 1);
        local.private.write(object, at, 8, Word::Bits(Space::address(thread).into()));
        local.private.write(object, SCOPE, 8, Word::Bits(count + 1));
        Ok(())
    }

    fn scope_word(&self, local: &Local, object: ObjectId, nth: u32) -> u128 {
        match self.peek(local, Cell { object, offset: SCOPE + 8 * nth, size: 8 }) {
            Word::Bits(bits) => bits,
            Word::Undef | Word::Partly(_) => 0,
        }
    }

    /// Waits for the threads of a scope; `inside` is an address in the scope's data.
    pub(super) fn leave_scope(&mut self, local: &mut Local, inside: &Val) -> Result<(), Stop> {
        let (object, _) = self.bytes_at(local, inside, 1, true)?;
        let count = self.scope_word(local, object, 0) as u32;
        for nth in 1..=count {
            let thread = Val::Bits(self.scope_word(local, object, nth));
            let joined = match thread {
                Val::Bits(address) => self.space.locate(address).is_none_or(|(thread, _)| {
                    let flag = Cell { object: thread, offset: JOINED, size: 1 };
                    self.peek(local, flag) == Word::Bits(1)
                }),
                _ => true,
            };
            if !joined {
                self.join_rust_unit(local, &thread)?;
            }
            local.private.write(object, SCOPE + 8 * nth, 8, Word::ZERO);
        }
        local.private.write(object, SCOPE, 8, Word::ZERO);
        let at = self.field_offset("ScopeData", "num_running_threads")?;
        // The data is behind the two counts of its `Arc`.
        let running = displaced(&Machine::pointer(object), 16 + at);
        self.store_word(local, &running, 8, Word::ZERO, Order::Plain)
    }

    /// A thread is let go.
    pub(super) fn detach_rust(&mut self, local: &mut Local, native: &Val) -> Result<(), Stop> {
        let handle = self.load_word(local, native, 8, Order::Plain)?;
        let Word::Bits(address) = handle else { return Ok(()) };
        let Some((thread, _)) = self.space.locate(address) else { return Ok(()) };
        let starting = local.starting.iter().find(|one| one.handle == thread).map(|one| &one.task);
        let known = self.threads.iter().find(|one| one.handle == thread);
        let task = starting.or_else(|| known.and_then(|member| member.task.as_ref()));
        let Some(result) = task.and_then(|task| self.spawned(task.function)) else { return Ok(()) };
        let destructor = format!("core::ptr::drop_in_place::<{}>", result.1);
        let has_one = self.module.functions.iter().any(|function| {
            function.name.contains("drop_in_place")
                && names::demangled(&function.name).as_deref() == Some(&*destructor)
        });
        if has_one {
            self.note(format!(
                "a thread that nobody joins returns a `{}`, whose destructor is not run",
                result.1
            ));
        }
        Ok(())
    }

    /// The closure that a thread runs and the type of its result, by the name of the function that starts it.
    pub(crate) fn spawned(&self, function: FunctionId) -> Option<(String, String)> {
        let name = names::demangled(&self.module.function(function).name)?;
        let at = name.find("spawn_unchecked")?;
        let arguments = &name[at + name[at..].find('<')? + 1..];
        let (mut depth, mut comma) = (0i32, None);
        for (at, letter) in arguments.char_indices() {
            match letter {
                '<' | '(' | '[' => depth += 1,
                '>' if arguments[..at].ends_with('-') => {}
                '>' | ')' | ']' if depth == 0 => {
                    let comma = comma?;
                    let result = arguments[comma + 1..at].trim().to_string();
                    return Some((arguments[..comma].trim().to_string(), result));
                }
                '>' | ')' | ']' => depth -= 1,
                ',' if depth == 0 && comma.is_none() => comma = Some(at),
                _ => {}
            }
        }
        None
    }
}
