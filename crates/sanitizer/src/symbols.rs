//! Names for addresses.

use addr2line::Loader;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize)]
pub struct Frame {
    /// The function, if it is known.
    pub function: Option<String>,
    /// The file, if it is known.
    pub file: Option<String>,
    /// The line, if it is known.
    pub line: Option<u32>,
    /// The column, if it is known.
    pub column: Option<u32>,
    /// The program or library.
    pub module: String,
    /// Where in it.
    pub offset: u64,
    /// Was it inlined into the next frame?
    pub inlined: bool,
}

/// A part of a file that was mapped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// From this address
    pub start: u64,
    /// to this one.
    pub end: u64,
    /// What is there: from this place
    pub offset: u64,
    /// of this file.
    pub path: String,
}

/// Looks addresses up; keeps what it read.
#[derive(Default)]
pub struct Symbols {
    modules: HashMap<String, Option<Module>>,
}

/// A variable of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// How many bytes it has.
    pub size: u64,
    /// Where in it the address is.
    pub offset: u64,
}

struct Module {
    loader: Loader,
    /// Variables: where they are when nothing is moved, how many bytes they have, and their names.
    variables: Vec<(u64, u64, String)>,
    /// File offset, size and address of each segment.
    segments: Vec<(u64, u64, u64)>,
    /// Sizes of the symbols at these addresses.
    sizes: HashMap<u64, u64>,
}

impl Symbols {
    /// The frames of a call stack, innermost first, inlined ones included. Frames of the C library's
    /// start-up code are left out.
    pub fn stack(&mut self, pcs: &[u64], maps: &[Mapping]) -> Vec<Frame> {
        let mut frames: Vec<Frame> = pcs.iter().flat_map(|&pc| self.frames(pc, maps)).collect();
        let starts = ["__libc_start_main", "_start", "start_thread", "fencepost_thread"];
        let is_start = |frame: &Frame| {
            frame.function.as_deref().is_some_and(|name| starts.contains(&name))
                || (frame.file.is_none() && frame.module.contains("/libc.so"))
        };
        while frames.len() > 1 && frames.last().is_some_and(is_start) {
            frames.pop();
        }
        frames
    }

    /// The variable that an address is in. Only code is in the mappings; the data of a module moved with it.
    pub fn variable(&mut self, address: u64, maps: &[Mapping]) -> Option<Variable> {
        maps.iter().find_map(|mapping| {
            let module = self
                .modules
                .entry(mapping.path.clone())
                .or_insert_with(|| Module::open(&mapping.path));
            let module = module.as_ref()?;
            let at = address.wrapping_sub(module.moved(mapping)?);
            module.variable(at)
        })
    }

    fn frames(&mut self, pc: u64, maps: &[Mapping]) -> Vec<Frame> {
        // The address is where a call returns to; the call itself is before.
        let at = pc.saturating_sub(1);
        let Some(mapping) = maps.iter().find(|map| (map.start..map.end).contains(&at)) else {
            return vec![unknown("?", at)];
        };
        let offset = at - mapping.start + mapping.offset;
        let module =
            self.modules.entry(mapping.path.clone()).or_insert_with(|| Module::open(&mapping.path));
        let Some(module) = module else { return vec![unknown(&mapping.path, offset)] };
        let found = module.frames(offset, &mapping.path);
        if found.is_empty() { vec![unknown(&mapping.path, offset)] } else { found }
    }
}

fn unknown(module: &str, offset: u64) -> Frame {
    Frame {
        function: None,
        file: None,
        line: None,
        column: None,
        module: module.to_string(),
        offset,
        inlined: false,
    }
}

impl Module {
    fn open(path: &str) -> Option<Module> {
        let loader = Loader::new(Path::new(path)).ok()?;
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let segments = file
            .segments()
            .map(|segment| (segment.file_range().0, segment.file_range().1, segment.address()))
            .collect();
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let sizes = symbols.map(|symbol| (symbol.address(), symbol.size())).collect();
        let data = file.symbols().chain(file.dynamic_symbols());
        let data = data.filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0);
        let named = data.filter_map(|symbol| {
            Some((symbol.address(), symbol.size(), demangled(symbol.name().ok()?)))
        });
        let mut variables: Vec<(u64, u64, String)> = named.collect();
        variables.sort();
        Some(Module { loader, variables, segments, sizes })
    }

    /// By how much it was moved when it was loaded.
    fn moved(&self, mapping: &Mapping) -> Option<u64> {
        const PAGE: u64 = 4096;
        let begins = |offset: u64| offset & !(PAGE - 1);
        let segment = self
            .segments
            .iter()
            .find(|(offset, size, _)| (begins(*offset)..offset + size).contains(&mapping.offset));
        let (offset, _, address) = segment?;
        let unmoved = address.wrapping_sub(*offset).wrapping_add(mapping.offset);
        Some(mapping.start.wrapping_sub(unmoved))
    }

    fn variable(&self, at: u64) -> Option<Variable> {
        let before = self.variables.partition_point(|&(start, _, _)| start <= at);
        let (start, size, name) = self.variables[..before].last()?;
        (at - start < *size).then(|| Variable {
            name: name.clone(),
            size: *size,
            offset: at - start,
        })
    }

    fn frames(&self, offset: u64, path: &str) -> Vec<Frame> {
        let segment =
            self.segments.iter().find(|(from, size, _)| (*from..from + size).contains(&offset));
        let Some((from, _, address)) = segment else { return Vec::new() };
        let probe = offset - from + address;
        let mut result: Vec<Frame> = Vec::new();
        if let Ok(mut frames) = self.loader.find_frames(probe) {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame.function.as_ref().and_then(|name| name.demangle().ok());
                let location = frame.location.as_ref();
                result.push(Frame {
                    function: name.map(|name| shorten(&name)),
                    file: location.and_then(|place| place.file).map(str::to_string),
                    line: location.and_then(|place| place.line),
                    column: location.and_then(|place| place.column).filter(|&column| column > 0),
                    module: path.to_string(),
                    offset,
                    inlined: true,
                });
            }
        }
        if result.iter().all(|frame| frame.function.is_none()) {
            // The nearest symbol before the address may be that of another function, which ended long before.
            let reaches = |start: u64| match self.sizes.get(&start) {
                Some(&size) => size == 0 || probe < start + size,
                None => true,
            };
            let symbol = self.loader.find_symbol_info(probe);
            let name =
                symbol.filter(|symbol| reaches(symbol.address())).map(|symbol| symbol.name());
            let name = name.map(demangled);
            match result.first_mut() {
                Some(first) => first.function = name,
                None => result.push(Frame { function: name, ..unknown(path, offset) }),
            }
        }
        if let Some(last) = result.last_mut() {
            last.inlined = false;
        }
        result
    }
}

/// A symbol's name as the source has it. In C that is the symbol itself, and `x` is not mangled for `long long`.
fn demangled(symbol: &str) -> String {
    if symbol.starts_with("_Z") || symbol.starts_with("_R") {
        shorten(&addr2line::demangle_auto(symbol.into(), None))
    } else {
        symbol.to_string()
    }
}

/// Without the hash that Rust adds.
fn shorten(name: &str) -> String {
    match name.rsplit_once("::h") {
        Some((rest, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            rest.to_string()
        }
        _ => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_c_are_what_they_are() {
        assert_eq!(demangled("x"), "x");
        assert_eq!(demangled("i"), "i");
        assert_eq!(demangled("_ZN5queue4pushEi"), "queue::push(int)");
        assert_eq!(demangled("_ZN5small4main17h0123456789abcdefE"), "small::main");
    }
}
