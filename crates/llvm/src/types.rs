//! Types of a module, each stored once and named by a small index.
//!
//! A literal type (`[4 x i32]`, `{ i8, ptr }`) is interned by its structure: equal types have equal indices. A named
//! type (`%struct.node`) has an index of its own, whatever its body: that is what lets it be mentioned before it is
//! defined. All pointers are one type per address space: `T*` of LLVM 14 is read as `ptr`, so a type can contain itself
//! only by mistake, which the reader refuses.

use std::collections::HashMap;

/// A type of a module: an index into its [`Types`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ty(pub(crate) u32);

impl Ty {
    /// The index as a number, dense from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Float {
    /// `half`: 16 bits, IEEE.
    Half,
    /// `bfloat`: 16 bits, the upper half of a `float`.
    BFloat,
    /// `float`: 32 bits.
    Single,
    /// `double`: 64 bits.
    Double,
    /// `x86_fp80`: 80 bits.
    X86Fp80,
    /// `fp128`: 128 bits, IEEE.
    Fp128,
    /// `ppc_fp128`: a pair of doubles.
    PpcFp128,
}

impl Float {
    /// How many bits a value has.
    pub fn bits(self) -> u32 {
        match self {
            Float::Half | Float::BFloat => 16,
            Float::Single => 32,
            Float::Double => 64,
            Float::X86Fp80 => 80,
            Float::Fp128 | Float::PpcFp128 => 128,
        }
    }
}

/// What a type is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// No value.
    Void,
    /// An integer of so many bits, 1 to 2^23.
    Int(u32),
    /// A pointer into an address space (0 is the ordinary one).
    Ptr(u32),
    /// A floating-point number.
    Float(Float),
    /// So many elements, one after the other.
    Array(u64, Ty),
    /// So many elements in one register.
    Vector {
        /// The number of elements, or the factor of the machine's own number if scalable.
        count: u32,
        /// Their type.
        of: Ty,
        /// The number is known only to the machine that runs the program.
        scalable: bool,
    },
    /// Fields at increasing offsets.
    Struct {
        /// Without padding between fields.
        packed: bool,
        /// The types of the fields.
        fields: Box<[Ty]>,
    },
    /// A named type without a body.
    Opaque,
    /// A function.
    Function {
        /// The type of its result.
        ret: Ty,
        /// The types of its fixed parameters.
        params: Box<[Ty]>,
        /// Takes more arguments than parameters.
        varargs: bool,
    },
    /// A basic block.
    Label,
    /// An argument of an intrinsic that is no value.
    Metadata,
    /// A value that ties instructions together and cannot be stored.
    Token,
    /// `x86_amx`, `target("…")` and others: no program that the checker executes uses their values.
    Foreign(Box<str>),
}

impl Type {
    /// The types that it mentions.
    pub fn parts(&self) -> impl Iterator<Item = Ty> + '_ {
        let (first, rest): (Option<Ty>, &[Ty]) = match self {
            Type::Array(_, of) | Type::Vector { of, .. } => (Some(*of), &[]),
            Type::Struct { fields, .. } => (None, fields),
            Type::Function { ret, params, .. } => (Some(*ret), params),
            _ => (None, &[]),
        };
        first.into_iter().chain(rest.iter().copied())
    }
}

/// The types of a module.
#[derive(Clone, Debug, Default)]
pub struct Types {
    all: Vec<Type>,
    literal: HashMap<Type, Ty>,
    named: HashMap<Box<str>, Ty>,
    names: HashMap<Ty, Box<str>>,
}

impl Types {
    /// The type with this structure.
    pub fn intern(&mut self, ty: Type) -> Ty {
        if let Some(&known) = self.literal.get(&ty) {
            return known;
        }
        let new = Ty(self.all.len() as u32);
        self.all.push(ty.clone());
        self.literal.insert(ty, new);
        new
    }

    /// The type with this name (without `%`); opaque until [`Types::define`] gives it a body.
    pub fn declare(&mut self, name: &str) -> Ty {
        if let Some(&known) = self.named.get(name) {
            return known;
        }
        let new = Ty(self.all.len() as u32);
        self.all.push(Type::Opaque);
        self.named.insert(name.into(), new);
        self.names.insert(new, name.into());
        new
    }

    /// Gives a named type its body.
    pub fn define(&mut self, named: Ty, body: Type) {
        self.all[named.index()] = body;
    }

    /// What a type is.
    pub fn get(&self, ty: Ty) -> &Type {
        &self.all[ty.index()]
    }

    /// The named type of this name (without `%`).
    pub fn named(&self, name: &str) -> Option<Ty> {
        self.named.get(name).copied()
    }

    /// The name of a named type.
    pub fn name(&self, ty: Ty) -> Option<&str> {
        self.names.get(&ty).map(|name| &**name)
    }

    /// How many types there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All types with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (Ty, &Type)> {
        self.all.iter().enumerate().map(|(index, ty)| (Ty(index as u32), ty))
    }

    /// The type as LLVM writes it; bodies of named types are left out, and very deep types cut short.
    pub fn show(&self, ty: Ty) -> String {
        let mut text = String::new();
        self.write(ty, 0, &mut text);
        text
    }

    fn write(&self, ty: Ty, depth: usize, out: &mut String) {
        use std::fmt::Write;
        if let Some(name) = self.name(ty) {
            let _ = write!(out, "%{name}");
            return;
        }
        if depth > 16 {
            out.push('…');
            return;
        }
        let list = |types: &[Ty], out: &mut String| {
            for (index, &ty) in types.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                self.write(ty, depth + 1, out);
            }
        };
        let _ = match self.get(ty) {
            Type::Void => write!(out, "void"),
            Type::Int(bits) => write!(out, "i{bits}"),
            Type::Ptr(0) => write!(out, "ptr"),
            Type::Ptr(space) => write!(out, "ptr addrspace({space})"),
            Type::Float(float) => write!(
                out,
                "{}",
                match float {
                    Float::Half => "half",
                    Float::BFloat => "bfloat",
                    Float::Single => "float",
                    Float::Double => "double",
                    Float::X86Fp80 => "x86_fp80",
                    Float::Fp128 => "fp128",
                    Float::PpcFp128 => "ppc_fp128",
                }
            ),
            Type::Array(count, of) => {
                let _ = write!(out, "[{count} x ");
                self.write(*of, depth + 1, out);
                write!(out, "]")
            }
            Type::Vector { count, of, scalable } => {
                let _ = write!(out, "<{}{count} x ", if *scalable { "vscale x " } else { "" });
                self.write(*of, depth + 1, out);
                write!(out, ">")
            }
            Type::Struct { packed, fields } => {
                out.push_str(if *packed { "<{ " } else { "{ " });
                list(fields, out);
                write!(out, "{}", if *packed { " }>" } else { " }" })
            }
            Type::Opaque => write!(out, "opaque"),
            Type::Function { ret, params, varargs } => {
                self.write(*ret, depth + 1, out);
                out.push_str(" (");
                list(params, out);
                let more = match (varargs, params.is_empty()) {
                    (true, true) => "...",
                    (true, false) => ", ...",
                    (false, _) => "",
                };
                write!(out, "{more})")
            }
            Type::Label => write!(out, "label"),
            Type::Metadata => write!(out, "metadata"),
            Type::Token => write!(out, "token"),
            Type::Foreign(name) => write!(out, "{name}"),
        };
    }
}
