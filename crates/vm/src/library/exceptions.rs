//! C++ exceptions: thrown, caught by type, passed on by clean-up code.
//!
//! Throwing looks for a handler first, from the innermost call outwards, as the Itanium ABI does. Without one the program
//! ends, which is an error. With one, the calls in between are left one by one: the variables of each come to their end,
//! and those with clean-up code run it first (`landingpad`) and then throw on (`resume`).
//!
//! Types are told apart by the names of their type information. Which classes a class derives from is read from the
//! module, and known here for the standard library's. What is not followed is refused: exception specifications, bases
//! that lie elsewhere in an object than its beginning, conversions of thrown pointers, exceptions that leave a function
//! which the library calls, and exceptions as values (`std::exception_ptr`), whose functions are unknown.

use crate::access::displaced;
use crate::action::{Order, Stop};
use crate::library::heap::throws_without_memory;
use crate::local::{Local, Then};
use crate::machine::Machine;
use crate::space::{Fill, Name, Object, ObjectId};
use crate::value::{Val, Word};
use llvm::instruction::Clause;
use llvm::module::Symbol;
use llvm::{BlockId, ConstId, ConstantKind, GlobalId, InstrKind};

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

pub(super) const JOIN: &str = "_ZNSt6thread4joinEv";
pub(super) const DETACH: &str = "_ZNSt6thread6detachEv";
const EINVAL: u128 = 22;

/// The standard library's classes of exceptions, with their bases, as their names are mangled.
const BASES: [(&str, &str); 22] = [
    ("9exception", ""),
    ("11logic_error", "9exception"),
    ("12domain_error", "11logic_error"),
    ("16invalid_argument", "11logic_error"),
    ("12length_error", "11logic_error"),
    ("12out_of_range", "11logic_error"),
    ("12future_error", "11logic_error"),
    ("13runtime_error", "9exception"),
    ("11range_error", "13runtime_error"),
    ("14overflow_error", "13runtime_error"),
    ("15underflow_error", "13runtime_error"),
    ("12system_error", "13runtime_error"),
    ("9bad_alloc", "9exception"),
    ("20bad_array_new_length", "9bad_alloc"),
    ("8bad_cast", "9exception"),
    ("10bad_typeid", "9exception"),
    ("13bad_exception", "9exception"),
    ("12bad_weak_ptr", "9exception"),
    ("17bad_function_call", "9exception"),
    ("19bad_optional_access", "9exception"),
    ("18bad_variant_access", "9exception"),
    ("12bad_any_cast", "8bad_cast"),
];

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

/// A direct base of a class.
struct Base {
    ty: String,
    public: bool,
    /// Where it stands in the class; nowhere in particular if it is virtual.
    offset: Option<i64>,
}

/// A part of an object that is of some class.
#[derive(Clone)]
struct Part {
    public: bool,
    /// Where it is: from the object, or from the last virtual base, inwards.
    at: Vec<(String, Option<i64>)>,
}

/// Is it the type information of pointers?
fn is_pointer(name: &str) -> bool {
    name.starts_with("_ZTIP")
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

    /// The name of the type information at an address.
    fn type_at(&self, address: Word) -> Option<String> {
        let Word::Bits(address) = address else { return None };
        let (object, offset) = self.space.locate(address)?;
        match self.space.object(object).name {
            Name::Global(global) if offset == 0 => {
                Some(self.module.global(global).name.to_string())
            }
            _ => None,
        }
    }

    /// Does a handler for a type catch another one: are they the same, or is it a base that is public, and of which there is
    /// one only?
    fn is_a(&self, ty: &str, other: &str) -> Result<bool, Stop> {
        if ty == other {
            return Ok(true);
        }
        if is_pointer(ty) && is_pointer(other) {
            return Stop::refuse("a thrown pointer meets a handler for other pointers");
        }
        let mut parts = Vec::new();
        self.parts_of(ty, other, &Part { public: true, at: Vec::new() }, &mut parts)?;
        match &parts[..] {
            [Part { public: true, at }] => match at.iter().all(|(_, offset)| *offset == Some(0)) {
                true => Ok(true),
                false => Stop::refuse(
                    "an exception is caught as a base that does not stand at its beginning",
                ),
            },
            _ => Ok(false),
        }
    }

    /// `dynamic_cast` of a pointer to a part of the class `from` ([expr.dynamic.cast]): the object of the class `to` that this
    /// is a public base of, if it is the base of no other; else the whole object's only public base of that class, if
    /// the pointer is to a public base of the whole; else 0. In front of what the table of virtual functions points to
    /// are how far the whole object's beginning is, and its type.
    fn dynamic_cast(
        &mut self,
        local: &mut Local,
        object: &Val,
        from: &Val,
        to: &Val,
    ) -> Result<Val, Stop> {
        let table: Val = self.load_word(local, object, 8, Order::Plain)?.into();
        let offset = displaced(&table, 16u64.wrapping_neg());
        let offset = self.load_word(local, &offset, 8, Order::Plain)?;
        let ty = self.load_word(local, &displaced(&table, 8u64.wrapping_neg()), 8, Order::Plain)?;
        let (Word::Bits(offset), Some(ty), Some(from), Some(to)) =
            (offset, self.type_at(ty), self.type_at(from.word()), self.type_at(to.word()))
        else {
            return Stop::refuse("a `dynamic_cast` between types that are not known");
        };
        let whole = displaced(object, offset as u64);
        let pointed = (offset as i64).wrapping_neg();
        let found = self.placed_parts(&ty, &to)?;
        let mut below = Vec::new();
        for (place, _) in &found {
            let parts = self.placed_parts(&to, &from)?;
            let parts = parts.into_iter().filter(|(within, _)| place + within == pointed);
            below.extend(parts.map(|(_, public)| (*place, public)));
        }
        let is_public = self.placed_parts(&ty, &from)?.contains(&(pointed, true));
        let part = match (&below[..], &found[..]) {
            (&[(place, true)], _) => Some(place),
            (_, &[(place, true)]) if is_public => Some(place),
            _ => None,
        };
        Ok(part.map_or(Val::Bits(0), |place| displaced(&whole, place as u64)))
    }

    /// Where in an object its parts of a class are, and whether they are public. The whole is a part, too.
    fn placed_parts(&self, ty: &str, other: &str) -> Result<Vec<(i64, bool)>, Stop> {
        if ty == other {
            return Ok(vec![(0, true)]);
        }
        let mut parts = Vec::new();
        self.parts_of(ty, other, &Part { public: true, at: Vec::new() }, &mut parts)?;
        let placed = parts.iter().map(|part| {
            let place = part.at.iter().map(|(_, offset)| *offset).sum::<Option<i64>>()?;
            Some((place, part.public))
        });
        match placed.collect() {
            Some(placed) => Ok(placed),
            None => Stop::refuse("a `dynamic_cast` of an object with virtual bases"),
        }
    }

    /// Adds the parts of a class that are of another one to `parts`. Parts that are one because a base is virtual are added once.
    fn parts_of(
        &self,
        ty: &str,
        other: &str,
        within: &Part,
        parts: &mut Vec<Part>,
    ) -> Result<(), Stop> {
        for Base { ty, public, offset } in self.bases(ty)? {
            let mut part = within.clone();
            part.public &= public;
            if offset.is_none() {
                part.at.clear();
            }
            part.at.push((ty.clone(), offset));
            if ty != other {
                self.parts_of(&ty, other, &part, parts)?;
                continue;
            }
            match parts.iter_mut().find(|known| known.at == part.at) {
                Some(known) => known.public |= part.public,
                None => parts.push(part),
            }
        }
        Ok(())
    }

    /// The bases of a class by its type information.
    fn bases(&self, ty: &str) -> Result<Vec<Base>, Stop> {
        let only = |ty: String| vec![Base { ty, public: true, offset: Some(0) }];
        if let Some(known) = ty.strip_prefix("_ZTISt")
            && let Some((_, base)) = BASES.iter().find(|(class, _)| *class == known)
        {
            return Ok(match *base {
                "" => Vec::new(),
                base => only(format!("_ZTISt{base}")),
            });
        }
        let info = match self.module.symbol(ty) {
            Some(Symbol::Global(global)) => self.module.global(global).init,
            _ => None,
        };
        let fields = info.map(|init| &self.module.constant(init).kind);
        let Some(ConstantKind::Struct(fields)) = fields else {
            // Numbers and the like have no bases.
            return match ty.strip_prefix("_ZTI") {
                Some(kind) if kind.len() == 1 || kind.starts_with('P') => Ok(Vec::new()),
                _ => Stop::refuse(format!(
                    "an exception of the type `{ty}`, of which nothing is known"
                )),
            };
        };
        let name =
            |id: ConstId| self.variable_of(id).map(|it| self.module.global(it).name.to_string());
        let number = |id: ConstId| match self.module.constant(id).kind {
            ConstantKind::Int(number) => Some(number),
            ConstantKind::Zero => Some(0),
            _ => None,
        };
        let table = fields.first().and_then(|id| name(*id)).unwrap_or_default();
        let unknown = || Stop::refuse(format!("the type information `{ty}`"));
        if table.contains("__si_class_type_info") {
            let Some(base) = fields.get(2).and_then(|id| name(*id)) else { return unknown() };
            return Ok(only(base));
        }
        if table.contains("__vmi_class_type_info") {
            let mut bases = Vec::new();
            for pair in fields.get(4..).unwrap_or_default().chunks(2) {
                let [base, flags] = pair else { return unknown() };
                let (Some(base), Some(flags)) = (name(*base), number(*flags)) else {
                    return unknown();
                };
                let (is_virtual, is_public) = (flags & 1 != 0, flags & 2 != 0);
                let offset = (!is_virtual).then_some((flags as i64) >> 8);
                bases.push(Base { ty: base, public: is_public, offset });
            }
            return Ok(bases);
        }
        Ok(Vec::new())
    }

    /// The variable that a constant address is in.
    pub(super) fn variable_of(&self, id: ConstId) -> Option<GlobalId> {
        match &self.module.constant(id).kind {
            ConstantKind::Global(global) => Some(*global),
            ConstantKind::GetElementPtr { base, .. } => self.variable_of(*base),
            ConstantKind::Cast(_, of) => self.variable_of(*of),
            _ => None,
        }
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
