//! Sizes, alignments and offsets of types, from a module's `target datalayout`.
//!
//! The rules are those of the section "Data Layout" of LLVM's language reference. All types of a module are measured
//! once, without recursion, so that looking one up costs an index.

use crate::types::{Float, Ty, Type, Types};

/// What `target datalayout` says. Numbers are in bits here, as the text has them.
#[derive(Clone, PartialEq, Debug)]
pub struct DataLayout {
    /// The most significant byte comes first.
    pub big_endian: bool,
    /// Address space, size and alignment of pointers.
    pointers: Vec<(u32, u32, u32)>,
    /// Width and alignment of integers, by width.
    integers: Vec<(u32, u32)>,
    /// Width and alignment of floating-point numbers.
    floats: Vec<(u32, u32)>,
    /// Width and alignment of vectors.
    vectors: Vec<(u32, u32)>,
    /// The least alignment of structs.
    aggregate: u32,
}

impl Default for DataLayout {
    fn default() -> DataLayout {
        DataLayout {
            big_endian: false,
            pointers: vec![(0, 64, 64)],
            integers: vec![(1, 8), (8, 8), (16, 16), (32, 32), (64, 32)],
            floats: vec![(16, 16), (32, 32), (64, 64), (128, 128)],
            vectors: vec![(64, 64), (128, 128)],
            aggregate: 0,
        }
    }
}

fn set(table: &mut Vec<(u32, u32)>, width: u32, align: u32) {
    match table.binary_search_by_key(&width, |entry| entry.0) {
        Ok(at) => table[at].1 = align,
        Err(at) => table.insert(at, (width, align)),
    }
}

impl DataLayout {
    /// Reads the text of `target datalayout`; says which part is wrong.
    pub fn parse(text: &str) -> Result<DataLayout, String> {
        let mut layout = DataLayout::default();
        for part in text.split('-').filter(|part| !part.is_empty()) {
            layout.part(part).ok_or_else(|| format!("`{part}` in the data layout"))?;
        }
        Ok(layout)
    }

    fn part(&mut self, part: &str) -> Option<()> {
        let mut fields = part.split(':');
        let head = fields.next()?;
        let mut numbers = fields.map(|field| field.parse::<u32>().ok());
        let width = |digits: &str| digits.parse::<u32>().ok().filter(|&width| width < 1 << 24);
        let align = |number: Option<Option<u32>>| {
            number.flatten().filter(|&align| align == 0 || align % 8 == 0 && align < 1 << 24)
        };
        match *head.as_bytes().first()? {
            b'e' if head.len() == 1 => self.big_endian = false,
            b'E' if head.len() == 1 => self.big_endian = true,
            // Pointers may carry flags between `p` and the address space (`pe`, `pu`).
            b'p' => {
                let digits = head.trim_start_matches(|c: char| c.is_ascii_alphabetic());
                let space = if digits.is_empty() { 0 } else { width(digits)? };
                let size = numbers.next()??;
                let align = align(numbers.next())?;
                if size == 0 || size > 1 << 16 || size % 8 != 0 {
                    return None;
                }
                self.pointers.retain(|entry| entry.0 != space);
                self.pointers.push((space, size, align.max(8)));
            }
            b'i' => set(&mut self.integers, width(&head[1..])?, align(numbers.next())?.max(8)),
            b'f' => set(&mut self.floats, width(&head[1..])?, align(numbers.next())?.max(8)),
            b'v' => set(&mut self.vectors, width(&head[1..])?, align(numbers.next())?.max(8)),
            b'a' => self.aggregate = align(numbers.next())?,
            // Mangling, native widths, the stack's alignment, address spaces, function pointers.
            _ => {}
        }
        Some(())
    }

    /// The size of a pointer in bytes.
    pub fn pointer_size(&self, space: u32) -> u64 {
        u64::from(self.pointer(space).0) / 8
    }

    fn pointer(&self, space: u32) -> (u32, u32) {
        let of = |space| self.pointers.iter().find(|entry| entry.0 == space);
        of(space).or_else(|| of(0)).map_or((64, 64), |&(_, size, align)| (size, align))
    }

    fn integer_align(&self, bits: u32) -> u64 {
        let found = self.integers.iter().find(|entry| entry.0 >= bits).or(self.integers.last());
        u64::from(found.map_or(8, |entry| entry.1)) / 8
    }

    fn float_align(&self, float: Float) -> u64 {
        let bits = float.bits();
        let listed = self.floats.iter().find(|entry| entry.0 == bits).map(|entry| entry.1);
        u64::from(listed.unwrap_or(bits.next_power_of_two())) / 8
    }

    fn vector_align(&self, bits: u64) -> Option<u64> {
        let listed = self.vectors.iter().find(|entry| u64::from(entry.0) == bits);
        match listed {
            Some(entry) => Some(u64::from(entry.1) / 8),
            None => bits.div_ceil(8).checked_next_power_of_two(),
        }
    }
}

/// Size and alignment of a type, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeLayout {
    /// The distance of two elements of an array.
    pub size: u64,
    /// How many bytes a load or store touches; less than `size` for `i24`, `x86_fp80` and others.
    pub store_size: u64,
    /// The alignment that the machine's calling convention gives it.
    pub align: u64,
    /// Where the fields of a struct start; empty for other types.
    pub offsets: Box<[u64]>,
}

impl TypeLayout {
    fn new(store_size: u64, align: u64) -> Option<TypeLayout> {
        let align = align.max(1);
        let size = store_size.checked_next_multiple_of(align)?;
        Some(TypeLayout { size, store_size, align, offsets: Box::default() })
    }
}

/// The layouts of all types of a module.
#[derive(Clone, Debug, Default)]
pub struct Layouts(Vec<Option<TypeLayout>>);

/// A type that has no layout although it should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unmeasurable {
    /// A struct that contains itself.
    Recursive(Ty),
    /// More than 2^62 bytes.
    TooLarge(Ty),
}

/// No object is as large as this.
const TOO_LARGE: u64 = 1 << 62;

impl Layouts {
    /// The layout of a type; absent for types without a size.
    pub fn get(&self, ty: Ty) -> Option<&TypeLayout> {
        self.0.get(ty.index())?.as_ref()
    }

    /// Measures all types.
    pub fn measure(types: &Types, layout: &DataLayout) -> Result<Layouts, Unmeasurable> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut layouts = Layouts(vec![None; types.len()]);
        let mut state = vec![State::New; types.len()];
        let mut stack = Vec::new();
        for (root, _) in types.iter() {
            stack.push(root);
            while let Some(&ty) = stack.last() {
                match state[ty.index()] {
                    State::Done => {
                        stack.pop();
                    }
                    State::New => {
                        state[ty.index()] = State::Open;
                        for &part in parts(types.get(ty)) {
                            match state[part.index()] {
                                State::New => stack.push(part),
                                State::Open => return Err(Unmeasurable::Recursive(part)),
                                State::Done => {}
                            }
                        }
                    }
                    State::Open => {
                        layouts.0[ty.index()] = layouts.one(ty, types, layout)?;
                        state[ty.index()] = State::Done;
                        stack.pop();
                    }
                }
            }
        }
        Ok(layouts)
    }

    fn one(
        &self,
        ty: Ty,
        types: &Types,
        layout: &DataLayout,
    ) -> Result<Option<TypeLayout>, Unmeasurable> {
        let measured = match types.get(ty) {
            Type::Int(bits) => {
                TypeLayout::new(u64::from(*bits).div_ceil(8), layout.integer_align(*bits))
            }
            Type::Ptr(space) => {
                let (size, align) = layout.pointer(*space);
                TypeLayout::new(u64::from(size) / 8, u64::from(align) / 8)
            }
            Type::Float(float) => {
                TypeLayout::new(u64::from(float.bits()).div_ceil(8), layout.float_align(*float))
            }
            Type::Array(count, of) => match self.get(*of) {
                Some(of) => {
                    of.size.checked_mul(*count).and_then(|size| TypeLayout::new(size, of.align))
                }
                None => return Ok(None),
            },
            Type::Vector { scalable: true, .. } => return Ok(None),
            Type::Vector { count, of, .. } => match element_bits(types.get(*of), layout) {
                Some(bits) => {
                    let bits = bits * u64::from(*count);
                    layout
                        .vector_align(bits)
                        .and_then(|align| TypeLayout::new(bits.div_ceil(8), align))
                }
                None => return Ok(None),
            },
            Type::Struct { packed, fields } => {
                if fields.iter().any(|&field| self.get(field).is_none()) {
                    return Ok(None);
                }
                self.fields(*packed, fields, u64::from(layout.aggregate) / 8)
            }
            _ => return Ok(None),
        };
        match measured {
            Some(measured) if measured.size < TOO_LARGE => Ok(Some(measured)),
            _ => Err(Unmeasurable::TooLarge(ty)),
        }
    }

    fn fields(&self, packed: bool, fields: &[Ty], least: u64) -> Option<TypeLayout> {
        let mut offsets = Vec::with_capacity(fields.len());
        let mut end = 0u64;
        let mut align = if packed { 1 } else { least.max(1) };
        for field in fields.iter().map(|&field| self.get(field)) {
            let field = field?;
            if !packed {
                align = align.max(field.align);
                end = end.checked_next_multiple_of(field.align)?;
            }
            offsets.push(end);
            end = end.checked_add(field.size)?;
        }
        let mut measured = TypeLayout::new(end, align)?;
        measured.store_size = measured.size;
        measured.offsets = offsets.into();
        Some(measured)
    }
}

/// The types that a value of this type consists of.
fn parts(ty: &Type) -> &[Ty] {
    match ty {
        Type::Array(_, of) | Type::Vector { of, .. } => std::slice::from_ref(of),
        Type::Struct { fields, .. } => fields,
        _ => &[],
    }
}

/// The bits of a vector's element: elements of a vector have no padding.
fn element_bits(ty: &Type, layout: &DataLayout) -> Option<u64> {
    match ty {
        Type::Int(bits) => Some(u64::from(*bits)),
        Type::Ptr(space) => Some(u64::from(layout.pointer(*space).0)),
        Type::Float(float) => Some(u64::from(float.bits())),
        _ => None,
    }
}
