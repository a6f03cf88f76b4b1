//! What the user calls things: variables on the stack, parts of objects, threads.

use crate::action::Cell;
use crate::machine::Machine;
use crate::space::{Name, ObjectId, Site};
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
        let part = ty.and_then(|ty| self.module.debug.describe(ty, u64::from(offset)));
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

    /// What the user calls a part of a block of the heap: by the variable that first pointed to the block.
    fn part_of_block(&self, cell: Cell) -> Option<String> {
        let Name::Heap { site, nth, .. } = &self.space.object(cell.object).name else {
            return None;
        };
        if cell.is_life() || cell.is_sync() {
            return None;
        }
        let function = self.module.function(site.function);
        let instr = function.blocks.get(site.block as usize)?.instrs.get(site.instr as usize)?;
        let variable = self.module.allocated(site.function, instr.result?)?;
        let name = variable.pointee(&self.module.debug, u64::from(cell.offset))?;
        Some(if *nth == 0 { name } else { format!("{name} #{}", nth + 1) })
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
            Name::Heap { site, nth, .. } => {
                let line = self.line_of(*site).map_or(String::new(), |line| format!(":{line}"));
                let nth = if *nth == 0 { String::new() } else { format!(" #{}", nth + 1) };
                (format!("block{line}{nth}"), None)
            }
            Name::Thread { .. } => {
                let thread = self.threads.iter().rposition(|member| member.handle == object);
                (thread.map_or("a thread".to_string(), |thread| format!("thread {thread}")), None)
            }
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
