//! Names for variables: the global that is at an address.
//!
//! A program says where its code is mapped; its globals are at the same distance from that as in the
//! file. What is on the heap or on a stack has no name.

use crate::symbols::Mapping;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::HashSet;

/// The globals of all modules, in the order of their addresses.
#[derive(Debug, Default)]
pub(crate) struct DataNames {
    globals: Vec<(u64, u64, String)>,
}

impl DataNames {
    /// Of what was mapped.
    pub(crate) fn new(maps: &[Mapping]) -> DataNames {
        let mut globals = Vec::new();
        let mut seen = HashSet::new();
        for map in maps {
            if !map.path.starts_with('/') || seen.contains(&map.path) {
                continue;
            }
            if let Some(found) = globals_of(map) {
                seen.insert(&map.path);
                globals.extend(found);
            }
        }
        globals.sort();
        DataNames { globals }
    }

    /// `balance`, or `pool+8`.
    pub(crate) fn of(&self, address: u64) -> Option<String> {
        let after = self.globals.partition_point(|(start, ..)| *start <= address);
        let (start, size, name) = self.globals.get(after.checked_sub(1)?)?;
        let offset = address - start;
        match offset {
            0 => Some(name.clone()),
            _ if offset < *size => Some(format!("{name}+{offset}")),
            _ => None,
        }
    }
}

fn globals_of(map: &Mapping) -> Option<Vec<(u64, u64, String)>> {
    let bytes = std::fs::read(&map.path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let segment = file.segments().find(|segment| {
        let (from, size) = segment.file_range();
        (from..from + size).contains(&map.offset)
    })?;
    let here = segment.address() + (map.offset - segment.file_range().0);
    let base = map.start.wrapping_sub(here);
    let named = file.symbols().filter(|symbol| {
        symbol.kind() == SymbolKind::Data && symbol.is_definition() && symbol.size() > 0
    });
    let global = |symbol: object::Symbol<'_, '_>| {
        let name = symbol.name().ok().filter(|name| !name.is_empty())?;
        let name = addr2line::demangle_auto(name.into(), None).replace(char::is_whitespace, "");
        Some((base.wrapping_add(symbol.address()), symbol.size(), name))
    };
    Some(named.filter_map(global).collect())
}
