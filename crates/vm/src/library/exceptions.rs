//! C++ exceptions: thrown, caught by type, passed on by clean-up code.
//!
//! Throwing looks for a handler first, from the innermost call outwards, as the Itanium ABI does. Without one the program
//! ends, which is an error. With one, the calls in between are left one by one: the variables of each come to their end,
//! and those with clean-up code run it first (`landingpad`) and then throw on (`resume`).
//!
//! What a class derives from is known by its type information ([`super::classes`]). What is not followed is refused: exception specifications, bases
//! that lie elsewhere in an object than its beginning, conversions of thrown pointers, exceptions that leave a function
//! which the library calls, and exceptions as values (`std::exception_ptr`), whose functions are unknown.

use crate::access::displaced;
use crate::action::{Order, Stop};
use crate::library::classes::{BASES, is_pointer};
use crate::library::heap::throws_without_memory;
use crate::local::{Local, Then};
use crate::machine::Machine;
use crate::space::{Fill, Name, Object, ObjectId};
use crate::value::{Val, Word};
use llvm::instruction::Clause;
use llvm::{BlockId, InstrKind};

/// An exception that is on its way, or being handled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Thrown {
    /// Where it is.
    pub(crate) object: Word,
    /// Its type, as a number of [`Machine::thrown_types`].
    pub(crate) ty: u32,
    /// What destroys it.
    pub(crate) destructor: Word,
    /// Handlers that are at it.
    pub(crate) handlers: u32,
    /// Was it thrown once more by the innermost of them?
    pub(crate) again: bool,
}

/// What a landing pad is told of an exception that any handler takes.
const ANY: u32 = i32::MAX as u32;

/// What stands before an exception in its block, as the Itanium ABI has it. Landing pads are told where this begins, and
/// handlers of references to pointers count from there.
const HEADER: u64 = 32;

/// What throws if the `std::thread` has no thread.
pub(super) const JOIN: &str = "_ZNSt6thread4joinEv";
pub(super) const DETACH: &str = "_ZNSt6thread6detachEv";
const EINVAL: u128 = 22;

/// The mangled name of a class with its length in front, and what follows it.
fn class(mangled: &str) -> Option<(&str, &str)> {
    let digits = mangled.len() - mangled.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length: usize = mangled.get(..digits)?.parse().ok()?;
    let end = digits.checked_add(length)?;
    Some((mangled.get(..end)?, mangled.get(end..)?))
}

/// The class that a member function of a class of exceptions belongs to, and the rest of its name.
fn member(name: &str) -> Option<(&str, &str)> {
    let mangled = name.strip_prefix("_ZNSt").or_else(|| name.strip_prefix("_ZNKSt"))?;
    let (class, rest) = class(mangled)?;
    BASES.iter().any(|(known, _)| *known == class).then_some((class, rest))
}

/// The type information of what a function throws that the library has for nothing else.
fn thrown_by(name: &str) -> Option<String> {
    let (function, _) = class(name.strip_prefix("_ZSt")?)?;
    let (_, kind) = function.split_once("__throw_")?;
    let kind = kind.strip_suffix("_fmt").unwrap_or(kind);
    Some(format!("_ZTISt{}{kind}", kind.len()))
}

/// How many exceptions are on their way.
fn underway(local: &Local) -> u128 {
    let thrown = local.thrown.iter();
    thrown.filter(|thrown| thrown.handlers == 0 || thrown.again).count() as u128
}

/// What a landing pad is told of where an exception is.
fn header(object: Word) -> Val {
    displaced(&object.into(), HEADER.wrapping_neg())
}

impl Machine {
    /// A call that throws, which does not come back where it was made.
    pub(super) fn throwing(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<(), Stop>> {
        let argument = |k: usize| arguments.get(k).map_or(Word::Undef, Val::word);
        if name == "__cxa_rethrow" {
            let Some(at) = local.thrown.iter().rposition(|thrown| thrown.handlers > 0) else {
                return Some(Err(Stop::fail("`throw` without an exception to throw again")));
            };
            local.thrown[at].again = true;
            return Some(self.unwind(local, at, "an exception is thrown"));
        }
        let (ty, object, destructor, what) = match name {
            "__cxa_throw" => {
                let Some(ty) = self.type_at(argument(1)) else {
                    return Some(Stop::refuse("an exception of a type that is not known"));
                };
                (ty, argument(0), argument(2), "an exception is thrown".to_string())
            }
            name => {
                let ty = match self.is_not_joinable(local, name, arguments) {
                    Ok(true) => "_ZTISt12system_error".to_string(),
                    Ok(false) if throws_without_memory(name, arguments) => {
                        "_ZTISt9bad_alloc".to_string()
                    }
                    Ok(false) => thrown_by(name)?,
                    Err(stop) => return Some(Err(stop)),
                };
                let error = match name {
                    "_ZSt20__throw_system_errori" | "_ZSt20__throw_future_errori" => argument(0),
                    _ => Word::Bits(EINVAL),
                };
                let object = match self.standard_exception(local, &ty, error) {
                    Ok(object) => object,
                    Err(stop) => return Some(Err(stop)),
                };
                let what = match name {
                    JOIN => "`join` of a `std::thread` without a thread throws".to_string(),
                    DETACH => "`detach` of a `std::thread` without a thread throws".to_string(),
                    _ if throws_without_memory(name, arguments) => {
                        "`new` throws, as there is no memory".to_string()
                    }
                    _ => format!("the standard library throws (`{name}`)"),
                };
                (ty, object.word(), Word::ZERO, what)
            }
        };
        let ty = match self.thrown_types.iter().position(|known| *known == ty) {
            Some(known) => known,
            None => {
                self.thrown_types.push(ty);
                self.thrown_types.len() - 1
            }
        } as u32;
        local.thrown.push(Thrown { object, ty, destructor, handlers: 0, again: false });
        let at = local.thrown.len() - 1;
        Some(self.unwind(local, at, &what))
    }

    /// Is it a join or detach of a `std::thread` that has no thread (any more)? That throws.
    fn is_not_joinable(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Result<bool, Stop> {
        match (name, arguments) {
            (JOIN | DETACH, [thread]) => {
                Ok(self.load_word(local, thread, 8, Order::Plain)? == Word::ZERO)
            }
            _ => Ok(false),
        }
    }

    /// What handlers call, and constructors and destructors of the library's exceptions.
    pub(super) fn exception_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        Some(match name {
            "__cxa_allocate_exception" => match argument(0) {
                Val::Bits(size) => self.exception(local, size as u64),
                _ => Stop::refuse("an exception whose size is not known"),
            },
            "__cxa_free_exception" => {
                self.free_exception(local, argument(0).word()).map(|()| Val::Undef)
            }
            "__cxa_get_exception_ptr" | "__cxa_begin_catch" => {
                let object = displaced(&argument(0), HEADER).word();
                let Some(at) = local.thrown.iter().rposition(|thrown| thrown.object == object)
                else {
                    return Some(Stop::refuse("a handler for an exception that is not known"));
                };
                let ty = local.thrown[at].ty;
                if name == "__cxa_begin_catch" {
                    let mut thrown = local.thrown.remove(at);
                    thrown.handlers += 1;
                    thrown.again = false;
                    local.thrown.push(thrown);
                }
                // Who catches a pointer is told the pointer itself.
                match is_pointer(&self.thrown_types[ty as usize]) {
                    true => self.load_word(local, &object.into(), 8, Order::Plain).map(Val::from),
                    false => Ok(object.into()),
                }
            }
            "__dynamic_cast" => self.dynamic_cast(local, &argument(0), &argument(1), &argument(2)),
            "_ZSt18uncaught_exceptionv" => Ok(Val::Bits((underway(local) > 0).into())),
            "_ZSt19uncaught_exceptionsv" => Ok(Val::Bits(underway(local))),
            "__cxa_end_catch" => self.handled(local).map(|()| Val::Undef),
            name => {
                let (_, rest) = member(name)?;
                match rest {
                    "4whatEv" => Ok(Machine::pointer(self.texts_of_exceptions())),
                    "D0Ev" | "D1Ev" | "D2Ev" => Ok(Val::Undef),
                    rest if rest.starts_with("C1E") || rest.starts_with("C2E") => {
                        self.construct(local, &argument(0)).map(|()| Val::Undef)
                    }
                    _ => return None,
                }
            }
        })
    }

    /// Virtual functions of the library's exceptions: `what`, which gives a text, and destructors.
    pub(super) fn virtual_of_exception(&mut self, address: u128) -> Option<Val> {
        let (object, offset) = self.space.locate(address)?;
        let is_it = matches!(self.space.object(object).name, Name::Exceptions) && offset == 0;
        is_it.then(|| Machine::pointer(object))
    }

    /// What a landing pad compares with to see whether an exception is of a type.
    pub(super) fn selector(&self, ty: &Val) -> Result<Val, Stop> {
        let object = match ty {
            Val::Bits(address) => self.space.locate(*address),
            _ => None,
        };
        match object {
            Some((object, 0)) => Ok(Val::Bits(u128::from(object.0) + 1)),
            _ => Stop::refuse("a handler for a type that is not known"),
        }
    }

    /// Clean-up code is done: the exception goes on.
    pub(crate) fn throw_on(&mut self, local: &mut Local, value: &Val) -> Result<(), Stop> {
        let object = match value {
            Val::Many(parts) => parts.first().map(|header| displaced(header, HEADER).word()),
            _ => None,
        };
        let object = object.unwrap_or(Word::Undef);
        match local.thrown.iter().rposition(|thrown| thrown.object == object) {
            Some(at) => self.unwind(local, at, "an exception is thrown"),
            None => Stop::refuse("an exception that is not known is thrown on"),
        }
    }

    /// Leaves calls up to the next that has something to do with an exception.
    fn unwind(&mut self, local: &mut Local, at: usize, what: &str) -> Result<(), Stop> {
        let Thrown { object, ty, .. } = local.thrown[at];
        let ty = self.thrown_types[ty as usize].clone();
        let mut is_caught = false;
        for depth in (0..local.frames.len()).rev() {
            if self.pad(local, depth, &ty)?.is_some_and(|(_, selector)| selector != 0) {
                is_caught = true;
                break;
            }
            match local.frames[depth].then {
                Then::GoOn | Then::EndThread | Then::DestroyState => {}
                _ => return Stop::refuse(format!("{what}, and leaves what the library calls")),
            }
        }
        if !is_caught {
            return Err(Stop::fail(format!("{what}, and nobody catches it")));
        }
        loop {
            let innermost = local.frames.len() - 1;
            if let Some((pad, selector)) = self.pad(local, innermost, &ty)? {
                local.landing = Some((header(object).word(), selector));
                return self.jump(local, pad);
            }
            for object in local.top().objects.clone() {
                self.kill(local, object)?;
            }
            local.frames.pop();
        }
    }

    /// What a call does with an exception of a type: where it goes on, and what it is told there, 0 for clean-up code.
    fn pad(
        &mut self,
        local: &mut Local,
        depth: usize,
        ty: &str,
    ) -> Result<Option<(BlockId, u32)>, Stop> {
        let module = self.module.clone();
        let frame = &local.frames[depth];
        let function = module.function(frame.function);
        let at = &function.blocks[frame.block as usize].instrs[frame.instr as usize];
        let InstrKind::Invoke { unwind, .. } = at.kind else { return Ok(None) };
        for instr in &function.block(unwind).instrs {
            let InstrKind::LandingPad { cleanup, clauses, .. } = &instr.kind else { continue };
            for clause in clauses {
                let Clause::Catch(of) = clause else {
                    return Stop::refuse("an exception meets an exception specification");
                };
                let of = self.eval(local, of)?;
                if of == Val::Bits(0) {
                    return Ok(Some((unwind, ANY)));
                }
                let Some(caught) = self.type_at(of.word()) else {
                    return Stop::refuse("a handler for a type that is not known");
                };
                if self.is_a(ty, &caught)? {
                    let Val::Bits(selector) = self.selector(&of)? else { continue };
                    return Ok(Some((unwind, selector as u32)));
                }
            }
            return Ok(cleanup.then_some((unwind, 0)));
        }
        Ok(None)
    }

    /// Does something happen when all calls of a thread are left, as by an exception?
    pub(super) fn unwinds(&self, local: &Local) -> bool {
        local.frames.iter().any(|frame| {
            let block = &self.module.function(frame.function).blocks[frame.block as usize];
            let at = &block.instrs[frame.instr as usize];
            matches!(at.kind, InstrKind::Invoke { .. }) || frame.then == Then::DestroyState
        })
    }

    /// A handler is done: without another one, its exception is destroyed.
    fn handled(&mut self, local: &mut Local) -> Result<(), Stop> {
        let Some(at) = local.thrown.iter().rposition(|thrown| thrown.handlers > 0) else {
            return Stop::refuse("the end of a handler without an exception");
        };
        local.thrown[at].handlers -= 1;
        if local.thrown[at].handlers > 0 || local.thrown[at].again {
            return Ok(());
        }
        let thrown = local.thrown.remove(at);
        let destructor = match thrown.destructor {
            Word::Bits(address) => self.function_at(address),
            _ => None,
        };
        match destructor {
            Some(function) if !self.module.function(function).is_declaration() => {
                let object = thrown.object.into();
                local.thrown.push(thrown);
                self.enter(local, function, vec![object], Then::FreeException)
            }
            _ => self.free_exception(local, thrown.object),
        }
    }

    /// The destructor of an exception has come back: what it threw itself is gone, so its exception is the last one.
    pub(crate) fn exception_destroyed(&mut self, local: &mut Local) -> Result<(), Stop> {
        match local.thrown.pop() {
            Some(thrown) => self.free_exception(local, thrown.object),
            None => Stop::refuse("the destructor of an exception that is not known"),
        }
    }

    /// Memory for an exception.
    fn exception(&mut self, local: &mut Local, size: u64) -> Result<Val, Stop> {
        let block = self.allocate(local, size.saturating_add(HEADER), false)?;
        Ok(displaced(&block, HEADER))
    }

    fn free_exception(&mut self, local: &mut Local, object: Word) -> Result<(), Stop> {
        self.free(local, &header(object))
    }

    /// An exception that the library makes. Some say which error of the system it was.
    fn standard_exception(
        &mut self,
        local: &mut Local,
        ty: &str,
        error: Word,
    ) -> Result<Val, Stop> {
        let tells = matches!(ty, "_ZTISt12system_error" | "_ZTISt12future_error");
        let object = self.exception(local, if tells { 32 } else { 16 })?;
        self.construct(local, &object)?;
        if tells {
            self.store_word(local, &displaced(&object, 16), 4, error, Order::Plain)?;
        }
        Ok(object)
    }

    fn construct(&mut self, local: &mut Local, object: &Val) -> Result<(), Stop> {
        let table = Machine::field(&Machine::pointer(self.texts_of_exceptions()), 8);
        self.store_word(local, object, 8, table.word(), crate::action::Order::Plain)
    }

    /// An empty text, which is what the library's exceptions say, and behind it the table of their virtual functions: two
    /// destructors and `what`, all of which are at the address of the text.
    fn texts_of_exceptions(&mut self) -> ObjectId {
        self.note("what an exception of the standard library says is taken to be an empty text");
        let object = Object { name: Name::Exceptions, size: 32, fill: Fill::Zero, constant: true };
        let object = self.space.intern(object);
        let Val::Bits(address) = Machine::pointer(object) else { return object };
        let image = self.space.image_mut(object);
        for slot in [8, 16, 24] {
            crate::private::write(image, slot, 8, Word::Bits(address));
        }
        object
    }
}
