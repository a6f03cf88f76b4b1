//! Where values live in Promela: the variables for locations, and their type.

use super::arithmetic::{Arithmetic, Text};
use super::names::Names;
use crate::ExportError;
use ir::{Domain, Loc, Location, Place, Program, Value};

/// The smallest type of Promela for the values of `domain`.
pub(super) fn type_of(domain: Domain) -> &'static str {
    match (domain.min, domain.max) {
        (0.., ..=1) => "bit",
        (0.., ..=255) => "byte",
        (-32768.., ..=32767) => "short",
        _ => "int",
    }
}

/// A variable: a location, or an array of them.
struct Variable {
    name: String,
    first: usize,
    /// Its length, if it is an array.
    array: Option<usize>,
}

/// The variables for a program's locations.
pub(super) struct Storage {
    variables: Vec<Variable>,
    /// Per location, which variable it is part of.
    variable_of: Vec<usize>,
}

impl Storage {
    pub(super) fn new(program: &Program, names: &mut Names) -> Self {
        let mut storage = Storage { variables: Vec::new(), variable_of: Vec::new() };
        let mut rest = program.locations.as_slice();
        while let Some(location) = rest.first() {
            let array = match location.element {
                Some(0) => Some(elements(rest)),
                _ => None,
            };
            let name = match array {
                Some(_) => names.claim("loc_", &location.name),
                None => names.claim("loc_", &location.display_name()),
            };
            let count = array.unwrap_or(1);
            let first = storage.variable_of.len();
            storage.variable_of.extend(std::iter::repeat_n(storage.variables.len(), count));
            storage.variables.push(Variable { name, first, array });
            rest = &rest[count..];
        }
        storage
    }

    /// Their declarations, a line each.
    pub(super) fn declarations(&self, program: &Program) -> String {
        let kind = type_of(program.domain);
        let lines = self.variables.iter().map(|variable| {
            let Variable { name, first, array } = variable;
            let count = array.unwrap_or(1);
            let initial: Vec<Value> =
                program.locations[*first..first + count].iter().map(|loc| loc.initial).collect();
            let size = array.map(|count| format!("[{count}]")).unwrap_or_default();
            let initial = match initial.as_slice() {
                same if same.iter().all(|value| *value == 0) => String::new(),
                [first, rest @ ..] if rest.iter().all(|value| value == first) => {
                    format!(" = {first}")
                }
                different => {
                    let values: Vec<String> = different.iter().map(Value::to_string).collect();
                    format!(" = {{ {} }}", values.join(", "))
                }
            };
            format!("{kind} {name}{size}{initial};\n")
        });
        lines.collect()
    }

    fn element(&self, loc: Loc) -> Text {
        let variable = &self.variables[self.variable_of[loc.index()]];
        Text::word(match variable.array {
            None => variable.name.clone(),
            Some(_) => format!("{}[{}]", variable.name, loc.index() - variable.first),
        })
    }

    /// What `place` stands for in `thread`; that its index is in range is left to `arithmetic`.
    pub(super) fn place(
        &self,
        place: &Place,
        arithmetic: &mut Arithmetic<'_>,
        program: &Program,
        thread: &str,
    ) -> Result<Text, ExportError> {
        let Some(index) = &place.index else { return Ok(self.element(place.base)) };
        if let (Some(_), Some(only)) = (index.as_const(), single(place)) {
            return Ok(self.element(only));
        }
        let variable = &self.variables[self.variable_of[place.base.index()]];
        let offset = place.base.index() - variable.first;
        let fits = variable.array.is_some_and(|count| offset + place.len as usize <= count);
        if !fits {
            return Err(ExportError::NotAnArray {
                thread: thread.to_string(),
                base: program.locations[place.base.index()].display_name(),
                len: place.len,
            });
        }
        let index = arithmetic.index(index, place.len)?;
        Ok(Text::word(match offset {
            0 => format!("{}[{}]", variable.name, index.alone()),
            _ => format!("{}[{offset} + {}]", variable.name, index.operand()),
        }))
    }
}

/// The location, if there is only one that `place` may stand for.
fn single(place: &Place) -> Option<Loc> {
    let mut locations = place.locations();
    match (locations.next(), locations.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// How many locations, from the first on, are the elements of one array.
fn elements(locations: &[Location]) -> usize {
    let name = locations.first().map(|location| &location.name);
    locations
        .iter()
        .enumerate()
        .take_while(|(k, location)| {
            location.element == u32::try_from(*k).ok() && Some(&location.name) == name
        })
        .count()
}
