//! Classes of C++ by their type information: which derives from which, and where in an object its bases are.
//!
//! Types are told apart by the names of their type information, as the Itanium ABI lays it out. What a class derives from is read
//! from the module, and known here for the standard library's classes of exceptions. Handlers of exceptions ask whether
//! a class is another's public base; `dynamic_cast` asks an object for its other parts.

use crate::access::displaced;
use crate::action::{Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::space::Name;
use crate::value::{Val, Word};
use llvm::module::Symbol;
use llvm::{ConstId, ConstantKind, GlobalId};

/// The standard library's classes of exceptions, with their bases, as their names are mangled.
pub(super) const BASES: [(&str, &str); 22] = [
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
pub(super) fn is_pointer(name: &str) -> bool {
    name.starts_with("_ZTIP")
}

impl Machine {
    /// The name of the type information at an address.
    pub(super) fn type_at(&self, address: Word) -> Option<String> {
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
    pub(super) fn is_a(&self, ty: &str, other: &str) -> Result<bool, Stop> {
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
    pub(super) fn dynamic_cast(
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
}
