//! What a `std::thread` is given to run: libstdc++ moves the function and copies of its arguments into an object of a class
//! `std::thread::_State_impl`, which the new thread owns. Its `_M_run` is what the thread does; when that returns, the thread
//! destroys the object, and with it what a lambda has captured.
//!
//! The block of the object is not freed: nobody else knows its address, and blocks that come back would be told apart for
//! nothing. For the same reason a destructor that has nothing to destroy is not run.

use crate::action::Stop;
use crate::local::{Local, Then};
use crate::machine::Machine;
use llvm::instruction::Operand;
use llvm::{Callee, ConstId, ConstantKind, FunctionId, InstrKind};
use std::collections::BTreeSet;

/// How the names of the tables of virtual functions begin that these classes have.
const TABLE: &str = "_ZTVNSt6thread11_State_impl";

/// What begins before the first virtual function of a table: an offset, and the type information.
const BEFORE: usize = 2;

impl Machine {
    /// What happens when a thread has done what it was started for.
    pub(crate) fn after_task(&self, function: FunctionId) -> Then {
        match self.destroys(function) {
            Some(_) => Then::DestroyState,
            None => Then::EndThread,
        }
    }

    /// Destroys what the thread was given, which is the last that it does.
    pub(crate) fn destroy_state(&mut self, local: &mut Local) -> Result<(), Stop> {
        let task = self.threads[local.thread as usize].task.clone();
        let destructor = task.as_ref().and_then(|task| self.destroys(task.function));
        match task.zip(destructor) {
            Some((task, destructor)) => {
                self.enter(local, destructor, task.arguments, Then::EndThread)
            }
            None => Stop::refuse("the destructor of what a thread was given, which is not known"),
        }
    }

    /// The destructor of the class whose `_M_run` this is, if it has something to do.
    fn destroys(&self, run: FunctionId) -> Option<FunctionId> {
        let tables = self.module.each_global().filter(|(_, it)| it.name.starts_with(TABLE));
        let mut tables = tables.filter_map(|(_, table)| {
            let whole = self.module.constant(table.init?).kind.parts();
            let entries = self.module.constant(*whole.first()?).kind.parts();
            let [destructor, _, runs] = entries.get(BEFORE..)? else { return None };
            (self.function_of(*runs)? == run).then(|| self.function_of(*destructor))?
        });
        tables.next().filter(|it| !self.destroys_nothing(*it, &mut BTreeSet::new()))
    }

    /// The function that a constant is the address of.
    fn function_of(&self, id: ConstId) -> Option<FunctionId> {
        match &self.module.constant(id).kind {
            ConstantKind::Function(function) => Some(*function),
            ConstantKind::Cast(_, of) => self.function_of(*of),
            _ => None,
        }
    }

    /// Does a destructor only set pointers to tables of virtual functions, as do those of its parts?
    fn destroys_nothing(&self, function: FunctionId, known: &mut BTreeSet<FunctionId>) -> bool {
        let code = self.module.function(function);
        if code.is_declaration() {
            return *code.name == *"_ZNSt6thread6_StateD2Ev" || code.name.starts_with("llvm.dbg.");
        }
        if !known.insert(function) {
            return true;
        }
        let instrs = || code.blocks.iter().flat_map(|block| &block.instrs);
        let is_table = |value: &Operand| match value {
            Operand::Const(id) => self
                .variable_of(*id)
                .is_some_and(|global| self.module.global(global).name.starts_with("_ZTV")),
            _ => false,
        };
        let is_own = |address: &Operand| match address {
            Operand::Local(register) => instrs().any(|instr| {
                instr.result == Some(*register) && matches!(instr.kind, InstrKind::Alloca { .. })
            }),
            _ => false,
        };
        instrs().all(|instr| match &instr.kind {
            InstrKind::Alloca { .. }
            | InstrKind::GetElementPtr { .. }
            | InstrKind::Cast { .. }
            | InstrKind::Return { .. } => true,
            InstrKind::Load { address, .. } => is_own(address),
            InstrKind::Store { value, address, .. } => is_own(address) || is_table(value),
            InstrKind::Call(call) => match &call.callee {
                Callee::Function(function) => self.destroys_nothing(*function, known),
                _ => false,
            },
            _ => false,
        })
    }
}
