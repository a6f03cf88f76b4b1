//! Debug information: places, functions, variables and types as the source has them.
//!
//! A place is a line and column with the function it is in and, if the compiler inlined that function, the place of the
//! call. Rust's and C++'s atomics are functions of their libraries: the place that means something to a user is the
//! first of the chain that is in a file of theirs ([`Debug::first_where`]).
//!
//! Types are kept as far as paths need them: `q->tail`, `node.next`, `buf[3]` from a type and an offset
//! ([`Debug::describe`]).

/// A place: an index into [`Debug::places`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PlaceId(pub(crate) u32);

/// A file of source: an index into [`Debug::files`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub(crate) u32);

/// A function of the source: an index into [`Debug::subprograms`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubprogramId(pub(crate) u32);

/// A type of the source: an index into [`Debug::types`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DebugTy(pub(crate) u32);

/// A file of source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct File {
    /// Its name, as the compiler was given it or found it.
    pub name: Box<str>,
    /// The folder that a relative name starts from.
    pub directory: Box<str>,
}

impl File {
    /// The name, below the folder if it is relative.
    pub fn path(&self) -> std::path::PathBuf {
        std::path::Path::new(&*self.directory).join(&*self.name)
    }
}

/// A function of the source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Subprogram {
    /// Its name in the source.
    pub name: Box<str>,
    /// What it is declared in, outermost first (`core::sync::atomic`); empty in C.
    pub scope: Box<str>,
    /// Its name in the object file, if different.
    pub linkage_name: Box<str>,
    /// The file that declares it.
    pub file: Option<FileId>,
    /// The line that declares it.
    pub line: u32,
}

/// A place in the source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Its file.
    pub file: Option<FileId>,
    /// Its line, counted from 1; 0 if the compiler made the instruction up.
    pub line: u32,
    /// Its column, counted from 1; 0 if unknown.
    pub column: u32,
    /// The function it is in.
    pub subprogram: Option<SubprogramId>,
    /// Where that function was called, if it was inlined there.
    pub inlined_at: Option<PlaceId>,
}

/// A field of a struct, class or union, or a base class.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Member {
    /// Its name; empty for a base class and for an anonymous struct or union.
    pub name: Box<str>,
    /// Where it starts, in bits.
    pub offset_bits: u64,
    /// Its size in bits.
    pub size_bits: u64,
    /// Its type.
    pub ty: Option<DebugTy>,
}

/// What a type of the source is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DebugKind {
    /// A number, a character, a truth value.
    Basic {
        /// Negative values exist.
        signed: bool,
        /// A floating-point number.
        float: bool,
        /// A truth value.
        boolean: bool,
    },
    /// A pointer or reference; to nothing in particular if absent.
    Pointer(Option<DebugTy>),
    /// A `typedef`, `const`, `volatile`, `_Atomic` of another type; of `void` if absent.
    Alias(Option<DebugTy>),
    /// A struct, class or union, by its fields.
    Aggregate(Box<[Member]>),
    /// An array.
    Array {
        /// The type of its elements.
        of: Option<DebugTy>,
        /// How many there are in each dimension, outermost first; absent where unknown.
        counts: Box<[Option<u64>]>,
    },
    /// An enumeration: names and their values.
    Enumeration(Box<[(Box<str>, i128)]>),
    /// A function, or a type that is only declared.
    Other,
}

/// A type of the source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DebugType {
    /// Its name in the source; empty if it has none.
    pub name: Box<str>,
    /// Its size in bytes; 0 if unknown.
    pub size: u64,
    /// What it is.
    pub kind: DebugKind,
}

/// The debug information of a module.
#[derive(Clone, Debug, Default)]
pub struct Debug {
    /// Files of source.
    pub files: Vec<File>,
    /// Functions of the source.
    pub subprograms: Vec<Subprogram>,
    /// Places.
    pub places: Vec<Place>,
    /// Types of the source.
    pub types: Vec<DebugType>,
}

/// How many types deep a path may go. Debug information of a broken file can be cyclic.
const DEPTH: usize = 64;

/// How many types are looked at for one path.
const FUEL: usize = 10_000;

/// A search for what is at an offset.
struct Search {
    path: String,
    /// The type that the search is at.
    found: DebugTy,
    /// How many more types may be looked at.
    fuel: usize,
    /// Stop at the first thing that begins at the offset.
    whole: bool,
}

impl Debug {
    /// The place with this index.
    pub fn place(&self, place: PlaceId) -> &Place {
        &self.places[place.0 as usize]
    }

    /// The file with this index.
    pub fn file(&self, file: FileId) -> &File {
        &self.files[file.0 as usize]
    }

    /// The function of the source with this index.
    pub fn subprogram(&self, subprogram: SubprogramId) -> &Subprogram {
        &self.subprograms[subprogram.0 as usize]
    }

    /// The type of the source with this index.
    pub fn ty(&self, ty: DebugTy) -> &DebugType {
        &self.types[ty.0 as usize]
    }

    /// The type of the source with this number, if there are so many.
    pub fn type_at(&self, index: usize) -> Option<DebugTy> {
        (index < self.types.len()).then_some(DebugTy(index as u32))
    }

    /// A place, the place where its function was inlined, and so on outwards.
    pub fn chain(&self, place: PlaceId) -> impl Iterator<Item = &Place> {
        let first = self.place(place);
        // A cycle would be a broken file: no chain is longer than there are places.
        std::iter::successors(Some(first), |place| place.inlined_at.map(|at| self.place(at)))
            .take(self.places.len())
    }

    /// The innermost place of the chain whose file the caller accepts.
    pub fn first_where(
        &self,
        place: PlaceId,
        mut accept: impl FnMut(&File) -> bool,
    ) -> Option<&Place> {
        self.chain(place).find(|place| place.file.is_some_and(|file| accept(self.file(file))))
    }

    /// The type without names, `const` and the like around it; absent for `void`.
    pub fn strip(&self, mut ty: DebugTy) -> Option<DebugTy> {
        for _ in 0..DEPTH {
            match self.ty(ty).kind {
                DebugKind::Alias(of) => ty = of?,
                _ => return Some(ty),
            }
        }
        None
    }

    /// What a pointer points to.
    pub fn pointee(&self, ty: DebugTy) -> Option<DebugTy> {
        match self.ty(self.strip(ty)?).kind {
            DebugKind::Pointer(to) => to,
            _ => None,
        }
    }

    /// The size of a type in bytes, through names and array dimensions; 0 if unknown.
    pub fn size(&self, ty: DebugTy) -> u64 {
        self.strip(ty).map_or(0, |ty| self.ty(ty).size)
    }

    /// The path from an object of a type to what is at an offset in bytes: `.next`, `[3].key`, or nothing for the object
    /// itself. Put it after the object's name; after a pointer's name, write `->` for a leading dot.
    ///
    /// Absent if the offset is in padding, in the middle of a number, or beyond the object's end. Fields inside the
    /// library's atomic types are left out: `head`, not `head._M_b._M_p`.
    pub fn describe(&self, ty: DebugTy, offset: u64) -> Option<String> {
        self.part(ty, offset).map(|part| part.0)
    }

    /// The same, but to the largest thing that begins at the offset: to a struct, not to its first field.
    pub fn describe_whole(&self, ty: DebugTy, offset: u64) -> Option<String> {
        let mut search = Search { path: String::new(), found: ty, fuel: FUEL, whole: true };
        let bits = offset.checked_mul(8)?;
        self.describe_part(ty, bits, 0, &mut search).then_some(search.path)
    }

    /// The path of [`Debug::describe`], and the type of what is there.
    pub fn part(&self, ty: DebugTy, offset: u64) -> Option<(String, DebugTy)> {
        let mut search = Search { path: String::new(), found: ty, fuel: FUEL, whole: false };
        let bits = offset.checked_mul(8)?;
        self.describe_part(ty, bits, 0, &mut search).then_some((search.path, search.found))
    }

    /// Adds the path within a type, if there is one. Several members can be at the same place (those of a union, an
    /// empty base class and the first field): the first that leads to something is taken.
    fn describe_part(&self, ty: DebugTy, bits: u64, depth: usize, search: &mut Search) -> bool {
        search.found = ty;
        let Some(stripped) = self.strip(ty).filter(|_| bits > 0 || !search.whole) else {
            return bits == 0;
        };
        if depth > DEPTH || search.fuel == 0 {
            return false;
        }
        search.fuel -= 1;
        let it = self.ty(stripped);
        match &it.kind {
            DebugKind::Aggregate(_) if bits == 0 && self.is_wrapper(it) => true,
            DebugKind::Aggregate(members) => members.iter().any(|member| {
                let Some(within) = bits.checked_sub(member.offset_bits) else { return false };
                let Some(ty) = member.ty else { return false };
                if within >= member.size_bits && !self.is_flexible(member) {
                    return false;
                }
                let length = search.path.len();
                if !member.name.is_empty() {
                    search.path.push('.');
                    search.path.push_str(&member.name);
                }
                let found = self.describe_part(ty, within, depth + 1, search);
                if !found {
                    search.path.truncate(length);
                }
                found
            }),
            DebugKind::Array { of, counts } => {
                match self.describe_index(*of, counts, bits, &mut search.path) {
                    Some((of, within)) => self.describe_part(of, within, depth + 1, search),
                    None => false,
                }
            }
            _ => bits == 0,
        }
    }

    /// An array without a length at the end of a struct.
    fn is_flexible(&self, member: &Member) -> bool {
        let ty = member.ty.and_then(|ty| self.strip(ty)).map(|ty| &self.ty(ty).kind);
        matches!(ty, Some(DebugKind::Array { counts, .. }) if counts.contains(&None))
    }

    /// Writes the indices of an array and returns the type of the element and the offset within it.
    fn describe_index(
        &self,
        of: Option<DebugTy>,
        counts: &[Option<u64>],
        bits: u64,
        path: &mut String,
    ) -> Option<(DebugTy, u64)> {
        use std::fmt::Write;
        let of = of?;
        let stride = self.size(of).checked_mul(8).filter(|&stride| stride > 0)?;
        let mut index = bits / stride;
        let mut indices = Vec::with_capacity(counts.len());
        for count in counts.iter().rev() {
            match count {
                Some(0) => return None,
                Some(count) => {
                    indices.push(index % count);
                    index /= count;
                }
                None => indices.push(std::mem::take(&mut index)),
            }
        }
        if index != 0 {
            return None;
        }
        for index in indices.iter().rev() {
            let _ = write!(path, "[{index}]");
        }
        Some((of, bits % stride))
    }

    /// An atomic or cell type of a standard library: one value, wrapped.
    fn is_wrapper(&self, ty: &DebugType) -> bool {
        const NAMES: [&str; 6] =
            ["atomic<", "__atomic_base<", "__atomic_float<", "Atomic", "UnsafeCell<", "Cell<"];
        let DebugKind::Aggregate(members) = &ty.kind else { return false };
        NAMES.iter().any(|name| ty.name.starts_with(name))
            && members.iter().filter(|member| member.size_bits > 0).count() <= 1
    }
}
