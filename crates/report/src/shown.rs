//! Values as the user knows them.
//!
//! Programs compute with numbers. In a program that was made from C, C++ or Rust some of these numbers stand for
//! something else, such as the address of a variable, and the source says for what ([`Source::values`]).

use ir::Value;
use lang::Source;
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// A value, and what the user calls it if it is no number to them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Shown {
    value: Value,
    name: Option<Arc<str>>,
}

impl Shown {
    /// A value of a program, as its source calls it.
    pub fn of(source: &Source, value: Value) -> Self {
        Shown { value, name: source.values.get(&value).cloned() }
    }
}

impl From<Value> for Shown {
    fn from(value: Value) -> Self {
        Shown { value, name: None }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => name.fmt(f),
            None => self.value.fmt(f),
        }
    }
}

/// A number where it is one, a text otherwise.
impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.name {
            Some(name) => serializer.serialize_str(name),
            None => self.value.serialize(serializer),
        }
    }
}
