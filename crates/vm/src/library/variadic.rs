//! Arguments of variadic functions, where compiled code for x86-64 looks for them.
//!
//! A `va_list` has two counters of registers that are used up and a pointer to the arguments that came by the stack. Here
//! all arguments come by the stack: both counters say that no register is left.

use crate::access::displaced;
use crate::action::{Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::space::{Fill, Name, Object, ObjectId};
use crate::value::{Bits, Val, Word};
use llvm::Call;

/// What marks the object with the arguments among the variables of a call.
const ARGUMENTS: u32 = 2000;
/// How much room registers take in the area where they are saved: as much is used up.
const INTEGERS: u128 = 48;
const FLOATS: u128 = 176;

impl Machine {
    /// An object with the arguments of a call that have no parameter; it belongs to the callee.
    pub(super) fn variadic(
        &mut self,
        local: &mut Local,
        params: usize,
        arguments: &[Val],
        call: &Call,
    ) -> Result<Option<ObjectId>, Stop> {
        let more = arguments.get(params..).unwrap_or(&[]);
        if more.is_empty() {
            return Ok(None);
        }
        let (thread, depth) = (local.thread, local.frames.len() as u32 + 1);
        let (site, size) = (Machine::site(local), 8 * more.len() as u64);
        let name = Name::Stack { thread, depth, site, nth: ARGUMENTS, size };
        let object = self.space.intern(Object { name, size, fill: Fill::Undef, constant: false });
        local.private.forget(object);
        for (k, value) in more.iter().enumerate() {
            let arg = &call.args[params + k];
            if arg.byval.is_some() || self.size(arg.ty)? > 8 {
                return Stop::refuse("a struct or a large number among variadic arguments");
            }
            let size = self.size(arg.ty)? as u8;
            local.private.write(object, 8 * k as u32, size, value.word());
        }
        Ok(Some(object))
    }

    /// `va_start`: a list of the arguments that the innermost call has.
    pub(super) fn start_arguments(&mut self, local: &mut Local, list: &Val) -> Result<Val, Stop> {
        if !self.module.target_triple.starts_with("x86_64") {
            return Stop::refuse("a variadic function on a machine other than x86-64");
        }
        let is_it = |object: &&ObjectId| {
            matches!(self.space.object(**object).name, Name::Stack { nth: ARGUMENTS, .. })
        };
        let own = local.top().objects.iter().find(is_it).copied();
        let address = own.map_or(Val::Bits(0), Machine::pointer).word();
        let mut put = |at: u64, size: u8, word: Word| {
            self.store_word(local, &displaced(list, at), size, word, Order::Plain)
        };
        put(0, 4, Word::Bits(INTEGERS))?;
        put(4, 4, Word::Bits(FLOATS))?;
        put(8, 8, address)?;
        put(16, 8, Word::ZERO)?;
        Ok(Val::Undef)
    }

    /// `va_copy`.
    pub(super) fn copy_arguments(
        &mut self,
        local: &mut Local,
        to: &Val,
        from: &Val,
    ) -> Result<Val, Stop> {
        self.copy(local, to, from, 24).map(|()| Val::Undef)
    }

    /// The arguments in a list that a format may ask for.
    pub(super) fn listed(
        &mut self,
        local: &mut Local,
        format: &Val,
        list: &Val,
    ) -> Result<Vec<Val>, Stop> {
        let format = self.text_at(local, format, u64::MAX)?;
        let most = format.iter().filter(|byte| matches!(byte, b'%' | b'*')).count() as u64;
        let first: Val = self.load_word(local, &displaced(list, 8), 8, Order::Plain)?.into();
        let room = match first {
            Val::Bits(0) => 0,
            Val::Bits(address) => match self.space.locate(address) {
                Some((object, offset)) => {
                    self.space.object(object).size.saturating_sub(offset.unsigned_abs()) / 8
                }
                None => 0,
            },
            _ => {
                return Err(Stop::fail("a list of arguments is used that `va_start` did not make"));
            }
        };
        let argument = |k: u64| {
            let word = self.load_word(local, &displaced(&first, 8 * k), 8, Order::Plain)?;
            Ok(match word {
                // An `int` is the lower half of its place.
                Word::Partly(Bits { bits, defined }) if (defined + 1).is_power_of_two() => {
                    Val::Bits(bits & defined)
                }
                word => word.into(),
            })
        };
        (0..most.min(room)).map(argument).collect()
    }
}
