//! Operands and constants: the values that instructions start from.

use crate::action::Stop;
use crate::library::rust::names::path;
use crate::local::Local;
use crate::machine::Machine;
use crate::private;
use crate::space::{Fill, Image, LARGEST, Name, Object, ObjectId, Space};
use crate::value::{self, Val, Word, mask};
use llvm::{ConstId, ConstantKind, FunctionId, GlobalId, Operand, Ty, Type};

/// What type information has: a table of virtual functions and a name.
const TYPE_INFO: u64 = 16;

/// Is a variable that no file defines one of the library's own? Those are only handed back to it, or compared.
fn is_librarys(name: &str) -> bool {
    if let Some(path) = path(name) {
        let spaces = ["std::", "core::", "alloc::", "__gnu_cxx::", "__cxxabiv1::"];
        return spaces.iter().any(|space| path.starts_with(space));
    }
    let Some(rest) = name.strip_prefix("_Z") else {
        // Names that go on with a small letter after the underscore may be those of C programs.
        let is_small = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
        return ["stdin", "stdout", "stderr", "environ"].contains(&name)
            || name.strip_prefix('_').is_some_and(|rest| !is_small(rest));
    };
    // Of type information only the name is looked at. Tables of virtual functions and guards are whose class or variable they are of.
    let of = ["TV", "TT", "GV", "TH", "TW"].iter().find_map(|kind| rest.strip_prefix(kind));
    let of = of.unwrap_or(rest);
    let of = of.strip_prefix('N').unwrap_or(of);
    rest.starts_with("TI")
        || rest.starts_with("TS")
        || ["S", "10__cxxabiv1", "9__gnu_cxx"].iter().any(|space| of.starts_with(space))
}

impl Machine {
    /// The value of an operand.
    pub(crate) fn eval(&mut self, local: &Local, operand: &Operand) -> Result<Val, Stop> {
        match operand {
            Operand::Local(register) => {
                let frame = local.frames.last().expect("a running thread is in a call");
                Ok(frame.registers[register.index()].clone())
            }
            Operand::Const(constant) => self.constant(local.thread, *constant),
            Operand::Metadata => Stop::refuse("metadata in place of a value"),
        }
    }

    /// The value of an operand as a number.
    pub(crate) fn number(
        &mut self,
        local: &Local,
        operand: &Operand,
        what: &str,
    ) -> Result<u128, Stop> {
        match self.eval(local, operand)? {
            Val::Bits(bits) => Ok(bits),
            _ => Err(Stop::fail(format!("{what} was never given a value"))),
        }
    }

    /// How many bits a value of a scalar type has.
    pub(crate) fn width(&self, ty: Ty) -> Result<u32, Stop> {
        match self.module.ty(ty) {
            Type::Int(bits) if *bits <= 128 => Ok(*bits),
            Type::Ptr(space) => Ok(8 * self.module.layout.pointer_size(*space) as u32),
            Type::Float(format) => Ok(format.bits()),
            _ => Stop::refuse(format!("a value of type {}", self.module.types.show(ty))),
        }
    }

    /// How many bytes a value takes in memory.
    pub(crate) fn size(&self, ty: Ty) -> Result<u64, Stop> {
        match self.module.type_layout(ty) {
            Some(layout) => Ok(layout.size),
            None => Stop::refuse(format!(
                "a value of type {}, whose size is not known",
                self.module.types.show(ty)
            )),
        }
    }

    /// The parts of an aggregate type with their offsets; none for a scalar.
    pub(crate) fn parts(&self, ty: Ty) -> Result<Option<Vec<(Ty, u64)>>, Stop> {
        let repeated = |count: u64, of: Ty| {
            let size = self.size(of)?;
            Ok(Some((0..count).map(|k| (of, k * size)).collect()))
        };
        match self.module.ty(ty) {
            Type::Struct { fields, .. } => {
                let Some(layout) = self.module.type_layout(ty) else {
                    return Stop::refuse("a struct whose size is not known");
                };
                Ok(Some(fields.iter().copied().zip(layout.offsets.iter().copied()).collect()))
            }
            Type::Array(count, of) => repeated(*count, *of),
            Type::Vector { count, of, scalable: false } => repeated(u64::from(*count), *of),
            _ => Ok(None),
        }
    }

    /// A value of this type with the same scalar everywhere.
    pub(crate) fn uniform(&self, ty: Ty, scalar: &Val) -> Result<Val, Stop> {
        Ok(match self.parts(ty)? {
            None => scalar.clone(),
            Some(parts) => Val::Many(
                parts.iter().map(|(ty, _)| self.uniform(*ty, scalar)).collect::<Result<_, _>>()?,
            ),
        })
    }

    /// The value of a constant, for a thread.
    pub(crate) fn constant(&mut self, thread: u32, constant: ConstId) -> Result<Val, Stop> {
        let module = self.module.clone();
        let known = module.constant(constant);
        let mut each = |ids: &[ConstId]| -> Result<Val, Stop> {
            Ok(Val::Many(
                ids.iter().map(|id| self.constant(thread, *id)).collect::<Result<_, _>>()?,
            ))
        };
        match &known.kind {
            ConstantKind::Int(bits) | ConstantKind::Float(bits) => Ok(Val::Bits(*bits)),
            ConstantKind::Null => Ok(Val::Bits(0)),
            ConstantKind::Undef | ConstantKind::Poison => self.uniform(known.ty, &Val::Undef),
            ConstantKind::Zero => self.uniform(known.ty, &Val::Bits(0)),
            ConstantKind::None => Ok(Val::Undef),
            ConstantKind::Array(ids) | ConstantKind::Vector(ids) | ConstantKind::Struct(ids) => {
                each(ids)
            }
            ConstantKind::Bytes(bytes) => {
                Ok(Val::Many(bytes.iter().map(|byte| Val::Bits(u128::from(*byte))).collect()))
            }
            ConstantKind::Splat(id) => {
                let scalar = self.constant(thread, *id)?;
                self.uniform(known.ty, &scalar)
            }
            ConstantKind::Global(global) => {
                let object = self.global(thread, *global)?;
                Ok(Val::Bits(Space::address(object).into()))
            }
            ConstantKind::Function(function) => {
                Ok(Val::Bits(Space::address(self.function(*function)).into()))
            }
            ConstantKind::GetElementPtr { source, base, indices, .. } => {
                let base = self.constant(thread, *base)?;
                let mut path = Vec::new();
                for index in indices {
                    let ty = module.constant(*index).ty;
                    path.push((ty, self.constant(thread, *index)?));
                }
                self.element(*source, base, &path)
            }
            ConstantKind::Cast(op, id) => {
                let (from, bits) = (module.constant(*id).ty, self.constant(thread, *id)?);
                self.cast(*op, from, &bits, known.ty)
            }
            ConstantKind::Binary(op, flags, left, right) => {
                let (left, right) = (self.constant(thread, *left)?, self.constant(thread, *right)?);
                self.binary(*op, *flags, known.ty, &left, &right)
            }
            ConstantKind::Compare(predicate, left, right) => {
                let ty = module.constant(*left).ty;
                let (left, right) = (self.constant(thread, *left)?, self.constant(thread, *right)?);
                self.compare(*predicate, ty, &left, &right)
            }
            ConstantKind::Select(condition, yes, no) => match self.constant(thread, *condition)? {
                Val::Bits(0) => self.constant(thread, *no),
                Val::Bits(_) => self.constant(thread, *yes),
                _ => Ok(Val::Undef),
            },
            ConstantKind::FloatNegate(_) | ConstantKind::FloatCompare(..) => {
                Stop::refuse("a constant computed from floating-point numbers")
            }
            ConstantKind::IFunc(_) => Stop::refuse("an indirect function (ifunc)"),
            ConstantKind::BlockAddress(..) => Stop::refuse("the address of a label"),
            ConstantKind::Unsupported(name) => Stop::refuse(format!("a constant `{name}`")),
        }
    }

    /// The object of a function: nothing but an address.
    pub(crate) fn function(&mut self, function: FunctionId) -> ObjectId {
        self.space.intern(Object {
            name: Name::Function(function),
            size: 1,
            fill: Fill::Zero,
            constant: true,
        })
    }

    /// The function at an address.
    pub(crate) fn function_at(&self, address: u128) -> Option<FunctionId> {
        let (object, offset) = self.space.locate(address)?;
        match self.space.object(object).name {
            Name::Function(function) if offset == 0 => Some(function),
            _ => None,
        }
    }

    /// The name of a type that the C++ library has the information of: comparing types compares names.
    fn type_name(&mut self, info: GlobalId, text: &str) -> ObjectId {
        let (size, fill) = (text.len() as u64 + 1, Fill::Zero);
        let name = Name::TypeText(info);
        let object = self.space.intern(Object { name, size, fill, constant: true });
        let image = self.space.image_mut(object);
        for (at, byte) in text.bytes().enumerate() {
            crate::private::write(image, at as u32, 1, Word::Bits(byte.into()));
        }
        object
    }

    /// The object of a global variable, initialised when it is first asked for.
    pub(crate) fn global(&mut self, thread: u32, global: GlobalId) -> Result<ObjectId, Stop> {
        let module = self.module.clone();
        let known = module.global(global);
        let name = match known.thread_local {
            true => Name::ThreadLocal { global, thread },
            false => Name::Global(global),
        };
        if let Some(object) = self.space.find(&name) {
            return Ok(object);
        }
        let of_type = known.name.strip_prefix("_ZTI").filter(|_| known.init.is_none());
        let size = match of_type {
            Some(_) => TYPE_INFO,
            None => self.size(known.ty).unwrap_or(0),
        };
        if size > LARGEST {
            return Stop::refuse(format!(
                "`{}` has {size} bytes; objects of at most {LARGEST} are checked",
                known.name
            ));
        }
        let object =
            self.space.intern(Object { name, size, fill: Fill::Zero, constant: known.constant });
        match known.init {
            Some(init) => {
                let mut image = Image::new();
                self.initialise(thread, init, 0, &mut image)?;
                *self.space.image_mut(object) = image;
                Ok(object)
            }
            None => {
                if let Some(of_type) = of_type {
                    let text = self.type_name(global, of_type);
                    let image = self.space.image_mut(object);
                    crate::private::write(image, 8, 8, Machine::pointer(text).word());
                }
                if !is_librarys(&known.name) {
                    self.note(format!(
                        "`{}` is not defined in these files: it is taken to be 0 at first",
                        path(&known.name).unwrap_or_else(|| known.name.to_string())
                    ));
                }
                Ok(object)
            }
        }
    }

    /// Puts a constant into an image, scalar by scalar.
    fn initialise(
        &mut self,
        thread: u32,
        constant: ConstId,
        offset: u64,
        image: &mut Image,
    ) -> Result<(), Stop> {
        let module = self.module.clone();
        let known = module.constant(constant);
        match &known.kind {
            // What is not written is 0.
            ConstantKind::Zero => Ok(()),
            ConstantKind::Array(ids) | ConstantKind::Vector(ids) | ConstantKind::Struct(ids) => {
                let parts = self.parts(known.ty)?.unwrap_or_default();
                for (id, (_, at)) in ids.iter().zip(parts) {
                    self.initialise(thread, *id, offset + at, image)?;
                }
                Ok(())
            }
            ConstantKind::Bytes(bytes) => {
                for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| **byte != 0) {
                    private::write(
                        image,
                        offset as u32 + at as u32,
                        1,
                        value::Word::Bits(u128::from(*byte)),
                    );
                }
                Ok(())
            }
            _ => {
                let value = self.constant(thread, constant)?;
                self.put(known.ty, &value, offset, image)
            }
        }
    }

    fn put(&self, ty: Ty, value: &Val, offset: u64, image: &mut Image) -> Result<(), Stop> {
        match (self.parts(ty)?, value) {
            (Some(parts), Val::Many(values)) => {
                for ((ty, at), value) in parts.into_iter().zip(values) {
                    self.put(ty, value, offset + at, image)?;
                }
                Ok(())
            }
            _ => {
                let size = self.width(ty)?.div_ceil(8);
                private::write(image, offset as u32, size as u8, value.word());
                Ok(())
            }
        }
    }

    /// The address that `getelementptr` computes.
    pub(crate) fn element(&self, source: Ty, base: Val, path: &[(Ty, Val)]) -> Result<Val, Stop> {
        let Val::Bits(base) = base else { return Ok(Val::Undef) };
        let (mut address, mut ty) = (base as u64, source);
        for (depth, (index_ty, index)) in path.iter().enumerate() {
            let Val::Bits(bits) = index else { return Ok(Val::Undef) };
            let index = value::signed(*bits, self.width(*index_ty)?) as i64;
            if depth == 0 {
                address = address.wrapping_add_signed(index.wrapping_mul(self.size(ty)? as i64));
                continue;
            }
            match self.module.ty(ty) {
                Type::Struct { fields, .. } => {
                    let layout = self.module.type_layout(ty);
                    let field = layout
                        .and_then(|l| l.offsets.get(index as usize))
                        .zip(fields.get(index as usize));
                    let Some((offset, field)) = field else {
                        return Stop::refuse("a field that the struct does not have");
                    };
                    address = address.wrapping_add(*offset);
                    ty = *field;
                }
                Type::Array(_, of) | Type::Vector { of, .. } => {
                    ty = *of;
                    address =
                        address.wrapping_add_signed(index.wrapping_mul(self.size(ty)? as i64));
                }
                _ => return Stop::refuse("an index into a value without parts"),
            }
        }
        Ok(Val::Bits(u128::from(address) & mask(64)))
    }
}
