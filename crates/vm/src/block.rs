//! Variables of inner blocks: compilers mark where they begin and end (`llvm.lifetime`).
//!
//! All variables of a function get their memory when it is entered, so one of an inner block is there before its block
//! begins. When the block is left it is gone, and when the block is entered again it is a new one: see [`crate::life`] for
//! what that means for pointers to the old one.

use crate::action::Stop;
use crate::local::Local;
use crate::machine::Machine;
use crate::space::{Fill, Name, Object, ObjectId};
use crate::value::{Val, Word};
use llvm::Operand;

impl Machine {
    /// A variable of an inner block is there from here on. The first time, it is there already.
    pub(crate) fn begin(&mut self, local: &mut Local, variable: llvm::Local) -> Result<(), Stop> {
        if self.is_register(local, variable) {
            local.top().set(variable, Val::Undef);
            return Ok(());
        }
        let old = self.variable(local, variable)?;
        if local.top().objects.contains(&old) {
            return Ok(());
        }
        let Object { name, size, .. } = self.space.object(old).clone();
        let Name::Stack { thread, depth, site, .. } = name else { return Ok(()) };
        let mut nth = 0;
        local.tidy(&self.space);
        // What the compiler keeps of the address of the variable of the last time is no pointer of the program's.
        let frame = local.top();
        let (code, kept) = (frame.code.clone(), frame.registers.clone());
        for (register, value) in frame.registers.iter_mut().enumerate() {
            if !code.is_promoted(llvm::Local::new(register)) {
                *value = Val::Undef;
            }
        }
        let object = loop {
            let name = Name::Stack { thread, depth, site, nth, size };
            let object =
                self.space.intern(Object { name, size, fill: Fill::Undef, constant: false });
            if !local.top().objects.contains(&object) && self.comes_back(local, object)? {
                break object;
            }
            nth += 1;
        };
        let frame = local.top();
        frame.registers = kept;
        for register in 0..frame.registers.len() {
            if code.variable(&Operand::Local(llvm::Local::new(register))) == Some(variable) {
                frame.registers[register] = Machine::pointer(object);
            }
        }
        frame.objects.push(object);
        self.renew(local, object, Word::Undef)
    }

    /// A variable of an inner block is gone from here on.
    pub(crate) fn end(&mut self, local: &mut Local, variable: llvm::Local) -> Result<(), Stop> {
        if self.is_register(local, variable) {
            local.top().set(variable, Val::Undef);
            return Ok(());
        }
        let object = self.variable(local, variable)?;
        if local.top().objects.contains(&object) {
            self.kill(local, object)?;
            local.top().objects.retain(|other| *other != object);
        }
        Ok(())
    }

    /// The variable whose address a register holds.
    fn variable(&self, local: &Local, register: llvm::Local) -> Result<ObjectId, Stop> {
        let known = match local.frames.last().map(|frame| &frame.registers[register.index()]) {
            Some(Val::Bits(address)) => self.space.locate(*address),
            _ => None,
        };
        match known {
            Some((object, _)) => Ok(object),
            None => Stop::refuse("a mark of where a variable begins or ends, before it has memory"),
        }
    }
}
