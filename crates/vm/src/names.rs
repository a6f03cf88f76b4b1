//! What the user calls things: variables on the stack, parts of objects, threads.

use crate::action::{Action, Cell, Order};
use crate::library::rust::names::demangled;
use crate::machine::Machine;
use crate::queue::{END, Queueing, TAKEN};
use crate::space::{Name, ObjectId, Site, Space};
use crate::value::Word;
use llvm::module::Holds;
use llvm::{DebugTy, InstrKind, Operand};

impl Machine {
    /// The name of the variable that an `alloca` makes room for.
    pub(crate) fn variable_at(&self, site: Site) -> Option<String> {
        self.declared_at(site).map(|(name, _)| name)
    }

    fn declared_at(&self, site: Site) -> Option<(String, Option<DebugTy>)> {
        let function = self.module.function(site.function);
        let instr = function.blocks.get(site.block as usize)?.instrs.get(site.instr as usize)?;
        let (Some(result), InstrKind::Alloca { .. }) = (instr.result, &instr.kind) else {
            return None;
        };
        let variable = function.variables.iter().find(|variable| {
            variable.storage == Operand::Local(result) && variable.holds == Holds::Address
        })?;
        Some((variable.name.to_string(), variable.ty))
    }

    /// What the user calls a cell: `flag`, `q.tail`, `buf[3]`.
    pub(crate) fn cell_name(&self, cell: Cell) -> String {
        if let Some(name) = self.part_of_block(cell) {
            return name;
        }
        let (base, ty) = self.object_name(cell.object);
        if cell.is_life() {
            return format!("{base} (allocated)");
        }
        let offset = match cell.is_sync() {
            true => match self.space.object(cell.object).name {
                Name::Thread { .. } => return format!("{base} (ended)"),
                Name::Team(_) if cell == Cell::start(cell.object) => {
                    return format!("{base} (started)");
                }
                Name::Team(_) => return format!("{base} (ended)"),
                _ => cell.offset & 0x0fff_ffff,
            },
            false => cell.offset,
        };
        let part = ty.and_then(|ty| match cell.is_sync() {
            true => self.module.debug.describe_whole(ty, u64::from(offset)),
            false => self.module.debug.describe(ty, u64::from(offset)),
        });
        match part {
            Some(part) => format!("{base}{part}"),
            None if offset == 0
                && self.space.object(cell.object).size <= u64::from(cell.size.max(1)) =>
            {
                base
            }
            None if offset == 0 => base,
            None => format!("{base}+{offset}"),
        }
    }

    /// What an action of the thread library does, or one that concerns the life of an object, in the user's words;
    /// nothing of one that only looks whether the object is there.
    pub(crate) fn effect_name(&self, action: &Action) -> Option<String> {
        let cell = action.cell().filter(|cell| cell.is_sync() || cell.is_life())?;
        let (base, _) = self.object_name(cell.object);
        if cell.is_life() {
            return Some(match action {
                Action::Write { value: Word::ZERO, .. } => format!("{base} is there"),
                Action::Write { .. } => format!("{base} is gone"),
                _ => String::new(),
            });
        }
        if cell.is_spare() {
            let address = self.address_name(Space::address(cell.object).into()).unwrap_or(base);
            return Some(match action {
                Action::Take { .. } => format!("may get the address of {address}, which was freed"),
                _ => format!("the address of {address} may be given out again"),
            });
        }
        Some(match (&self.space.object(cell.object).name, action) {
            (Name::Team(_), Action::Write { .. }) => format!("starts {base}"),
            (Name::Team(_), Action::Await { .. }) if cell == Cell::start(cell.object) => {
                "begins".to_string()
            }
            (Name::Team(_) | Name::Thread { .. }, Action::Await { .. }) => {
                format!("has waited for {base}")
            }
            (Name::Team(_) | Name::Thread { .. }, _) => "ends".to_string(),
            (_, Action::Queue { queueing, .. }) => match queueing {
                Queueing::Reserve { .. } => "sends a message".to_string(),
                Queueing::Leave => "drops the receiver".to_string(),
                Queueing::Release => "has sent the message, and others may".to_string(),
                Queueing::Room => "has room for a message".to_string(),
                Queueing::Fill { content: END } | Queueing::Finish => {
                    "drops the last sender".to_string()
                }
                Queueing::Fill { .. } => "has sent the message".to_string(),
                Queueing::Claim { .. } => "meets a receiver".to_string(),
            },
            (_, Action::Await { least: TAKEN, .. }) if self.is_channel(cell) => {
                "receives a message".to_string()
            }
            (_, Action::Lock { .. }) => format!("takes {}", self.cell_name(cell)),
            (_, Action::Write { value: Word::ZERO, order: Order::Release, .. }) => {
                format!("gives {} back", self.cell_name(cell))
            }
            _ => return None,
        })
    }

    /// What the user calls a value that is no small number.
    pub(crate) fn word_name(&self, word: Word) -> String {
        match word {
            Word::Undef => "nothing".to_string(),
            Word::Partly(_) => "something that was never written as a whole".to_string(),
            Word::Bits(bits) => self.address_name(bits).unwrap_or_else(|| format!("{bits:#x}")),
        }
    }

    /// What the user calls an address: `&queue.stub`, `node`, `&buf[3]`; none if it points to nothing that has a name.
    pub(crate) fn address_name(&self, bits: u128) -> Option<String> {
        let (object, offset) = self.space.locate(bits)?;
        let offset = u64::try_from(offset).ok()?;
        if let Name::Heap { site, .. } = &self.space.object(object).name {
            let function = self.module.function(site.function);
            let instr =
                function.blocks.get(site.block as usize)?.instrs.get(site.instr as usize)?;
            let nth = self.which_block(object);
            let variable =
                instr.result.and_then(|result| self.module.allocated(site.function, result));
            return Some(match (variable, offset) {
                (Some(variable), 0) => format!("{}{nth}", variable.text),
                (Some(variable), offset) => {
                    let part = variable.pointee(&self.module.debug, offset)?;
                    format!("&{part}{nth}")
                }
                (None, 0) => format!("&{}", self.object_name(object).0),
                (None, offset) => format!("&{}+{offset}", self.object_name(object).0),
            });
        }
        let (base, ty) = self.object_name(object);
        let part = ty.and_then(|ty| self.module.debug.describe_whole(ty, offset));
        Some(match part {
            Some(part) => format!("&{base}{part}"),
            None if offset == 0 => format!("&{base}"),
            None => format!("&{base}+{offset}"),
        })
    }

    /// What the user calls a part of a block of the heap: by the variable that first pointed to the block.
    fn part_of_block(&self, cell: Cell) -> Option<String> {
        let Name::Heap { site, .. } = &self.space.object(cell.object).name else {
            return None;
        };
        if cell.is_life() || cell.is_sync() {
            return None;
        }
        let name = match self.part_of_rust_block(cell) {
            Some(name) => name,
            None => {
                let function = self.module.function(site.function);
                let block = function.blocks.get(site.block as usize)?;
                let variable = self
                    .module
                    .allocated(site.function, block.instrs.get(site.instr as usize)?.result?)?;
                variable.pointee(&self.module.debug, u64::from(cell.offset))?
            }
        };
        Some(format!("{name}{}", self.which_block(cell.object)))
    }

    /// What tells a block of the heap from others that were allocated at the same place: the thread that did it, if
    /// several do, and which of its blocks it is.
    fn which_block(&self, object: ObjectId) -> String {
        let Name::Heap { thread, site, nth, .. } = &self.space.object(object).name else {
            return String::new();
        };
        let others = |name: &Name| matches!(name, Name::Heap { thread: of, site: at, .. } if of != thread && at == site);
        let shared = self.space.names().any(others);
        let nth = if *nth == 0 { String::new() } else { format!(" #{}", nth + 1) };
        match (shared, thread) {
            (false, _) => nth,
            (true, 0) => format!("{nth} of main"),
            (true, thread) => format!("{nth} of thread {thread}"),
        }
    }

    /// What the user calls a part of a block that Rust's library allocated: by the type of what is in it, which the
    /// names of `Box<T>::new` and its like say, and the field.
    fn part_of_rust_block(&self, cell: Cell) -> Option<String> {
        let (short, ty) = self.rust_block(cell.object)?;
        let part = self.module.debug.describe(ty, u64::from(cell.offset))?;
        Some(format!("{short}{}", part.strip_prefix(".data").unwrap_or(&part)))
    }

    /// The type of what is in a block of Rust's library: what the user calls it, and all of it.
    fn rust_block(&self, object: ObjectId) -> Option<(String, DebugTy)> {
        let mut boxed = None;
        for site in self.births.get(&object)? {
            let function = self.module.function(site.function);
            let own = demangled(&function.name)?;
            let instr =
                function.blocks.get(site.block as usize)?.instrs.get(site.instr as usize)?;
            let inlined = instr.at.into_iter().flat_map(|at| self.module.debug.chain(at));
            let inlined = inlined.filter_map(|place| {
                let subprogram = self.module.debug.subprogram(place.subprogram?);
                demangled(&subprogram.linkage_name)
            });
            let found = inlined.chain([own.clone()]).find_map(|name| content(&name));
            boxed = boxed.or(found);
            let library = ["core::", "alloc::", "std::"];
            if !library.iter().any(|name| own.trim_start_matches('<').starts_with(name)) {
                break;
            }
        }
        let (wrapper, of) = boxed?;
        let inner = |of: &str| {
            let held = of
                .strip_prefix("alloc::sync::ArcInner<")
                .or(of.strip_prefix("alloc::rc::RcInner<"));
            held.and_then(|held| held.strip_suffix('>')).map(str::to_string)
        };
        let short = shortened(inner(&of).as_deref().unwrap_or(&of));
        let name = match wrapper {
            "Box" => shortened(&of),
            wrapper => format!("{wrapper}Inner<{of}>"),
        };
        let debug = &self.module.debug;
        let ty = (0..debug.types.len()).find(|index| *debug.types[*index].name == *name)?;
        Some((short, debug.type_at(ty)?))
    }

    fn object_name(&self, object: ObjectId) -> (String, Option<DebugTy>) {
        match &self.space.object(object).name {
            Name::Global(global) | Name::ThreadLocal { global, .. } => {
                let global = self.module.global(*global);
                match &global.debug {
                    Some(debug) => (debug.name.to_string(), debug.ty),
                    None => (global.name.to_string(), None),
                }
            }
            Name::Function(function) => (self.module.function(*function).name.to_string(), None),
            Name::Stack { site, .. } => self
                .declared_at(*site)
                .unwrap_or_else(|| (format!("variable of {}", self.function_name(*site)), None)),
            Name::Heap { .. } if self.rust_block(object).is_some() => {
                let short = self.rust_block(object).map_or(String::new(), |(short, _)| short);
                (format!("{short}{}", self.which_block(object)), None)
            }
            Name::Heap { site, .. } => {
                let line = self.line_of(*site).map_or(String::new(), |line| format!(":{line}"));
                (format!("block{line}{}", self.which_block(object)), None)
            }
            Name::Thread { .. } => {
                let thread = self.threads.iter().rposition(|member| member.handle == object);
                (thread.map_or("a thread".to_string(), |thread| format!("thread {thread}")), None)
            }
            Name::Given { thread, nth, .. } => {
                let part = if *nth == 0 { "closure" } else { "result" };
                (format!("{part} of {}", self.object_name(*thread).0), None)
            }
            Name::Counted { thread } => self.object_name(*thread),
            Name::Slot { .. } => ("a message".to_string(), None),
            Name::OnceState { .. } => ("the state of a `Once`".to_string(), None),
            Name::MainResult => ("the result of `main`".to_string(), None),
            Name::Argument { .. } => ("an argument of `main`".to_string(), None),
            Name::Exceptions => ("an exception of the standard library".to_string(), None),
            Name::TypeText(_) => ("the name of a type".to_string(), None),
            Name::Keys => ("the keys of threads' values".to_string(), None),
            Name::Specific { .. } => ("a value of a thread".to_string(), None),
            Name::ErrorNumber { .. } => ("errno".to_string(), None),
            Name::Team(number) => match &self.teams[*number as usize].threads[..] {
                [only] => (format!("thread {only}"), None),
                [first, .., last] => (format!("threads {first} to {last}"), None),
                [] => ("threads".to_string(), None),
            },
        }
    }

    fn function_name(&self, site: Site) -> String {
        let function = self.module.function(site.function);
        match function.subprogram {
            Some(subprogram) => self.module.debug.subprogram(subprogram).name.to_string(),
            None => function.name.to_string(),
        }
    }

    fn line_of(&self, site: Site) -> Option<u32> {
        let function = self.module.function(site.function);
        let instr = function.blocks.get(site.block as usize)?.instrs.get(site.instr as usize)?;
        instr.at.map(|at| self.module.debug.place(at).line)
    }

    /// Where the function that a thread runs begins.
    pub(crate) fn entry_of(&self, thread: u32) -> Option<Site> {
        let function = self.threads[thread as usize].task.as_ref()?.function;
        let blocks = self.module.function(function).blocks.iter().enumerate();
        let mut instrs = blocks.flat_map(|(block, code)| {
            code.instrs.iter().enumerate().map(move |(at, instr)| (block, at, instr))
        });
        let (block, instr, _) = instrs.find(|(_, _, instr)| instr.at.is_some())?;
        Some(Site { function, block: block as u32, instr: instr as u32 })
    }

    /// What the user calls a thread: the function it runs.
    pub(crate) fn thread_name(&self, thread: u32) -> String {
        match &self.threads[thread as usize].task {
            Some(task) => {
                if let Some((closure, _)) = self.spawned(task.function) {
                    return in_crate(&closure).to_string();
                }
                let function = self.module.function(task.function);
                match function.subprogram.map(|subprogram| self.module.debug.subprogram(subprogram))
                {
                    // What `std::thread` runs is the library's; its name says nothing to the user.
                    Some(subprogram) if &*subprogram.name == "_M_run" => "thread".to_string(),
                    Some(subprogram) => subprogram.name.to_string(),
                    None => function.name.to_string(),
                }
            }
            None => format!("thread{thread}"),
        }
    }
}

/// The type of what a `Box`, `Arc` or `Rc` holds, by the name of a function of theirs.
fn content(name: &str) -> Option<(&'static str, String)> {
    let wrappers =
        [("alloc::sync::Arc<", "Arc"), ("alloc::rc::Rc<", "Rc"), ("alloc::boxed::Box<", "Box")];
    let (start, wrapper) = wrappers.iter().find_map(|(start, wrapper)| {
        name.strip_prefix('<')
            .and_then(|name| name.strip_prefix(start))
            .map(|rest| (rest, *wrapper))
    })?;
    let mut depth = 0i32;
    let end = start.char_indices().find(|(_, letter)| {
        depth += i32::from(*letter == '<') - i32::from(*letter == '>');
        depth < 0 || depth == 0 && *letter == ','
    })?;
    Some((wrapper, start[..end.0].to_string()))
}

/// The name of a type without the path that leads to it.
fn shortened(ty: &str) -> String {
    let head = ty.find('<').unwrap_or(ty.len());
    let start = ty[..head].rfind("::").map_or(0, |at| at + 2);
    ty[start..].to_string()
}

/// A path of Rust without the crate that it starts with.
fn in_crate(path: &str) -> &str {
    path.split_once("::").map_or(path, |(_, rest)| rest)
}
