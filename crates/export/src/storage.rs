//! Where values live: the variables for locations.

use crate::ExportError;
use crate::names::Names;
use crate::text::Text;
use ir::{Expr, Loc, Location, Place, Program, Value};

/// A variable: a location, or an array of them.
pub(crate) struct Variable {
    /// Its identifier.
    pub(crate) name: String,
    first: usize,
    /// Its length, if it is an array.
    pub(crate) array: Option<usize>,
}

impl Variable {
    /// The locations that it stands for.
    pub(crate) fn locations<'p>(&self, program: &'p Program) -> &'p [Location] {
        &program.locations[self.first..self.first + self.array.unwrap_or(1)]
    }

    /// The values it starts with.
    pub(crate) fn initial<'p>(&self, program: &'p Program) -> impl Iterator<Item = Value> + 'p {
        self.locations(program).iter().map(|location| location.initial)
    }
}

/// The variables for a program's locations.
pub(crate) struct Storage {
    variables: Vec<Variable>,
    /// Per location, which variable it is part of.
    variable_of: Vec<usize>,
}

impl Storage {
    pub(crate) fn new(program: &Program, names: &mut Names) -> Self {
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

    /// All of them, in the order of their locations.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.variables.iter()
    }

    fn element(&self, loc: Loc) -> Text {
        let variable = &self.variables[self.variable_of[loc.index()]];
        Text::word(match variable.array {
            None => variable.name.clone(),
            Some(_) => format!("{}[{}]", variable.name, loc.index() - variable.first),
        })
    }

    /// What `place` stands for in `thread`. `write` writes its index, and sees to it that it is in range.
    pub(crate) fn place(
        &self,
        place: &Place,
        program: &Program,
        thread: &str,
        write: impl FnOnce(&Expr) -> Result<Text, ExportError>,
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
        let index = write(index)?;
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
