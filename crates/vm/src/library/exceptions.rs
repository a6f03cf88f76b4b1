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

use crate::action::Stop;
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
                let ty = thrown_by(name)?;
                let object = match self.standard_exception(local) {
                    Ok(object) => object,
                    Err(stop) => return Some(Err(stop)),
                };
                (ty, object.word(), Word::ZERO, format!("the standard library throws (`{name}`)"))
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
                Val::Bits(size) => self.allocate(local, size as u64, false),
                _ => Stop::refuse("an exception whose size is not known"),
            },
            "__cxa_free_exception" => Ok(Val::Undef),
            "__cxa_get_exception_ptr" => Ok(argument(0)),
            "__cxa_begin_catch" => {
                let is_it = |thrown: &Thrown| thrown.object == argument(0).word();
                let Some(at) = local.thrown.iter().rposition(is_it) else {
                    return Some(Stop::refuse("a handler for an exception that is not known"));
                };
                let mut thrown = local.thrown.remove(at);
                thrown.handlers += 1;
                thrown.again = false;
                local.thrown.push(thrown);
                Ok(argument(0))
            }
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
            Val::Many(parts) => parts.first().map_or(Word::Undef, Val::word),
            _ => Word::Undef,
        };
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
                Then::GoOn | Then::EndThread => {}
                _ => return Stop::refuse(format!("{what}, and leaves what the library calls")),
            }
        }
        if !is_caught {
            return Err(Stop::fail(format!("{what}, and nobody catches it")));
        }
        loop {
            let innermost = local.frames.len() - 1;
            if let Some((pad, selector)) = self.pad(local, innermost, &ty)? {
                local.landing = Some((object, selector));
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

    /// Is a type another one, or a class that derives from it?
    fn is_a(&self, ty: &str, other: &str) -> Result<bool, Stop> {
        if ty == other {
            return Ok(true);
        }
        let is_pointer = |name: &str| name.starts_with("_ZTIP");
        if is_pointer(ty) && is_pointer(other) {
            return Stop::refuse("a thrown pointer meets a handler for other pointers");
        }
        if let Some(known) = ty.strip_prefix("_ZTISt")
            && let Some((_, base)) = BASES.iter().find(|(class, _)| *class == known)
        {
            return match *base {
                "" => Ok(false),
                base => self.is_a(&format!("_ZTISt{base}"), other),
            };
        }
        for (base, is_at_start) in self.bases(ty)? {
            if self.is_a(&base, other)? {
                return match is_at_start {
                    true => Ok(true),
                    false => Stop::refuse(
                        "an exception is caught as a base that does not stand at its beginning",
                    ),
                };
            }
        }
        Ok(false)
    }

    /// The public bases of a class by its type information, and whether they stand at the beginning of the object.
    fn bases(&self, ty: &str) -> Result<Vec<(String, bool)>, Stop> {
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
            return Ok(vec![(base, true)]);
        }
        if table.contains("__vmi_class_type_info") {
            let mut bases = Vec::new();
            for pair in fields.get(4..).unwrap_or_default().chunks(2) {
                let [base, flags] = pair else { return unknown() };
                let (Some(base), Some(flags)) = (name(*base), number(*flags)) else {
                    return unknown();
                };
                let (is_virtual, is_public) = (flags & 1 != 0, flags & 2 != 0);
                if is_public {
                    bases.push((base, !is_virtual && (flags as u64) >> 8 == 0));
                }
            }
            return Ok(bases);
        }
        Ok(Vec::new())
    }

    /// The variable that a constant address is in.
    fn variable_of(&self, id: ConstId) -> Option<GlobalId> {
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
        let Thrown { object, destructor, .. } = local.thrown.remove(at);
        let Word::Bits(destructor) = destructor else { return Ok(()) };
        match self.function_at(destructor) {
            Some(function) if !self.module.function(function).is_declaration() => {
                self.enter(local, function, vec![object.into()], Then::GoOn)
            }
            _ => Ok(()),
        }
    }

    /// An exception that the library makes.
    fn standard_exception(&mut self, local: &mut Local) -> Result<Val, Stop> {
        let object = self.allocate(local, 16, false)?;
        self.construct(local, &object)?;
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
