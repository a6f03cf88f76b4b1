//! Renumbers everything that a function or constant refers to.

use crate::constant::{ConstId, ConstantKind};
use crate::debug::{
    DebugKind, DebugTy, DebugType, FileId, Place, PlaceId, Subprogram, SubprogramId,
};
use crate::instruction::{Call, Callee, Clause, InstrKind, Operand};
use crate::module::{DebugGlobal, Function, FunctionId, GlobalId, IFuncId};
use crate::types::{Ty, Type};

/// What a symbol of a module is in the linked one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Target {
    Global(GlobalId),
    Function(FunctionId),
    IFunc(IFuncId),
    /// What this constant is.
    Constant(ConstId),
}

impl Target {
    fn kind(self) -> Option<ConstantKind> {
        match self {
            Target::Global(global) => Some(ConstantKind::Global(global)),
            Target::Function(function) => Some(ConstantKind::Function(function)),
            Target::IFunc(ifunc) => Some(ConstantKind::IFunc(ifunc)),
            Target::Constant(_) => None,
        }
    }
}

/// How the indices of one module become indices of the linked one.
#[derive(Default)]
pub(super) struct Remap {
    pub(super) types: Vec<Ty>,
    pub(super) globals: Vec<Target>,
    pub(super) functions: Vec<Target>,
    pub(super) ifuncs: Vec<Target>,
    /// Constants, places and the rest are appended: their indices grow by these.
    pub(super) constants: u32,
    pub(super) places: u32,
    pub(super) files: u32,
    pub(super) subprograms: u32,
    pub(super) debug_types: u32,
}

/// A constant whose symbol turned out to be an alias: it becomes what the other constant is.
pub(super) type Patch = (ConstId, ConstId);

impl Remap {
    pub(super) fn ty(&self, ty: Ty) -> Ty {
        self.types[ty.index()]
    }

    fn set_ty(&self, ty: &mut Ty) {
        *ty = self.ty(*ty);
    }

    fn set_types<'t>(&self, types: impl IntoIterator<Item = &'t mut Ty>) {
        types.into_iter().for_each(|ty| self.set_ty(ty));
    }

    pub(super) fn constant(&self, constant: ConstId) -> ConstId {
        ConstId(constant.0 + self.constants)
    }

    fn set_constant(&self, constant: &mut ConstId) {
        *constant = self.constant(*constant);
    }

    fn operand(&self, operand: &mut Operand) {
        if let Operand::Const(constant) = operand {
            self.set_constant(constant);
        }
    }

    fn operands<'o>(&self, operands: impl IntoIterator<Item = &'o mut Operand>) {
        operands.into_iter().for_each(|operand| self.operand(operand));
    }

    /// The body of a type.
    pub(super) fn body(&self, body: &Type) -> Type {
        let mut body = body.clone();
        match &mut body {
            Type::Array(_, of) | Type::Vector { of, .. } => self.set_ty(of),
            Type::Struct { fields, .. } => self.set_types(fields),
            Type::Function { ret, params, .. } => {
                self.set_ty(ret);
                self.set_types(params);
            }
            _ => {}
        }
        body
    }

    /// A constant's contents; `id` is its index in the linked module.
    pub(super) fn kind(&self, kind: &mut ConstantKind, id: ConstId, patches: &mut Vec<Patch>) {
        use ConstantKind as Kind;
        let target = match kind {
            Kind::Global(global) => Some(self.globals[global.index()]),
            Kind::Function(function) => Some(self.functions[function.index()]),
            Kind::IFunc(ifunc) => Some(self.ifuncs[ifunc.index()]),
            _ => None,
        };
        match target {
            Some(Target::Constant(other)) => patches.push((id, other)),
            Some(target) => {
                if let Some(new) = target.kind() {
                    *kind = new;
                }
            }
            None => {}
        }
        if target.is_some() {
            return;
        }
        let set = |constant: &mut ConstId| self.set_constant(constant);
        match kind {
            Kind::Array(parts) | Kind::Vector(parts) | Kind::Struct(parts) => {
                parts.iter_mut().for_each(set);
            }
            Kind::GetElementPtr { source, base, indices, .. } => {
                self.set_ty(source);
                set(base);
                indices.iter_mut().for_each(set);
            }
            Kind::Splat(part) | Kind::Cast(_, part) | Kind::FloatNegate(part) => set(part),
            Kind::Binary(_, _, left, right)
            | Kind::Compare(_, left, right)
            | Kind::FloatCompare(_, left, right) => {
                set(left);
                set(right);
            }
            Kind::Select(condition, yes, no) => [condition, yes, no].into_iter().for_each(set),
            Kind::BlockAddress(function, _) => match self.functions[function.index()] {
                Target::Function(new) => *function = new,
                _ => *kind = Kind::Unsupported("blockaddress".into()),
            },
            _ => {}
        }
    }

    fn call(&self, call: &mut Call) {
        self.set_ty(&mut call.ret);
        match &mut call.callee {
            Callee::Pointer(pointer) => self.operand(pointer),
            Callee::Asm(_) => {}
            Callee::Function(function) => match self.functions[function.index()] {
                Target::Function(new) => *function = new,
                Target::Constant(constant) => {
                    call.callee = Callee::Pointer(Operand::Const(constant));
                }
                // A function that is a variable elsewhere has been refused.
                Target::Global(_) | Target::IFunc(_) => {}
            },
        }
        for arg in &mut call.args {
            self.set_ty(&mut arg.ty);
            self.operand(&mut arg.value);
            self.set_types(&mut arg.byval);
            self.set_types(&mut arg.sret);
        }
    }

    fn instr(&self, kind: &mut InstrKind) {
        use InstrKind as Kind;
        match kind {
            Kind::Binary { ty, left, right, .. }
            | Kind::Compare { ty, left, right, .. }
            | Kind::FloatCompare { ty, left, right, .. } => {
                self.set_ty(ty);
                self.operands([left, right]);
            }
            Kind::FloatNegate { ty, value }
            | Kind::Freeze { ty, value }
            | Kind::Resume { ty, value } => {
                self.set_ty(ty);
                self.operand(value);
            }
            Kind::Select { condition_ty, condition, ty, yes, no } => {
                self.set_types([condition_ty, ty]);
                self.operands([condition, yes, no]);
            }
            Kind::Phi { ty, incoming } => {
                self.set_ty(ty);
                self.operands(incoming.iter_mut().map(|it| &mut it.0));
            }
            Kind::Alloca { ty, count, .. } => {
                self.set_ty(ty);
                if let Some((ty, count)) = count {
                    self.set_ty(ty);
                    self.operand(count);
                }
            }
            Kind::Load { ty, address, .. } => {
                self.set_ty(ty);
                self.operand(address);
            }
            Kind::Store { ty, value, address, .. }
            | Kind::ReadModifyWrite { ty, value, address, .. } => {
                self.set_ty(ty);
                self.operands([value, address]);
            }
            Kind::CompareExchange { ty, address, expected, new, .. } => {
                self.set_ty(ty);
                self.operands([address, expected, new]);
            }
            Kind::GetElementPtr { source, base_ty, base, indices, .. } => {
                self.set_types([source, base_ty]);
                self.operand(base);
                for (ty, index) in indices {
                    self.set_ty(ty);
                    self.operand(index);
                }
            }
            Kind::Cast { from, value, to, .. } => {
                self.set_types([from, to]);
                self.operand(value);
            }
            Kind::Call(call) | Kind::Invoke { call, .. } => self.call(call),
            Kind::ExtractValue { ty, value, element_ty, .. } => {
                self.set_types([ty, element_ty]);
                self.operand(value);
            }
            Kind::InsertValue { ty, value, element_ty, element, .. } => {
                self.set_types([ty, element_ty]);
                self.operands([value, element]);
            }
            Kind::VaArg { ty, list } => {
                self.set_ty(ty);
                self.operand(list);
            }
            Kind::ExtractElement { ty, vector, index_ty, index } => {
                self.set_types([ty, index_ty]);
                self.operands([vector, index]);
            }
            Kind::InsertElement { ty, vector, element, index_ty, index } => {
                self.set_types([ty, index_ty]);
                self.operands([vector, element, index]);
            }
            Kind::ShuffleVector { ty, left, right, mask_ty, mask } => {
                self.set_types([ty, mask_ty]);
                self.operands([left, right, mask]);
            }
            Kind::LandingPad { ty, clauses, .. } => {
                self.set_ty(ty);
                for Clause::Catch(value) | Clause::Filter(value) in clauses {
                    self.operand(value);
                }
            }
            Kind::Return { value } => {
                if let Some((ty, value)) = value {
                    self.set_ty(ty);
                    self.operand(value);
                }
            }
            Kind::Branch { condition, .. } => self.operand(condition),
            Kind::Switch { ty, value, cases, .. } => {
                self.set_ty(ty);
                self.operand(value);
                cases.iter_mut().for_each(|(case, _)| self.set_constant(case));
            }
            Kind::IndirectBranch { address, .. } => self.operand(address),
            Kind::Fence { .. }
            | Kind::Jump { .. }
            | Kind::Unreachable
            | Kind::Unsupported { .. } => {}
        }
    }

    pub(super) fn function(&self, function: &mut Function) {
        self.set_types([&mut function.ty, &mut function.ret]);
        for param in &mut function.params {
            self.set_ty(&mut param.ty);
            self.set_types(&mut param.byval);
            self.set_types(&mut param.sret);
        }
        self.set_types(function.locals.iter_mut().map(|local| &mut local.ty));
        function.subprogram = function.subprogram.map(|it| self.subprogram(it));
        for variable in &mut function.variables {
            self.operand(&mut variable.storage);
            variable.ty = variable.ty.map(|ty| self.debug_ty(ty));
            variable.file = variable.file.map(|file| self.file(file));
        }
        for instr in function.blocks.iter_mut().flat_map(|block| &mut block.instrs) {
            instr.at = instr.at.map(|place| self.place_id(place));
            self.instr(&mut instr.kind);
        }
    }

    // Debug information.

    fn place_id(&self, place: PlaceId) -> PlaceId {
        PlaceId(place.0 + self.places)
    }

    fn file(&self, file: FileId) -> FileId {
        FileId(file.0 + self.files)
    }

    fn subprogram(&self, subprogram: SubprogramId) -> SubprogramId {
        SubprogramId(subprogram.0 + self.subprograms)
    }

    fn debug_ty(&self, ty: DebugTy) -> DebugTy {
        DebugTy(ty.0 + self.debug_types)
    }

    pub(super) fn debug_global(&self, global: &mut DebugGlobal) {
        global.file = global.file.map(|file| self.file(file));
        global.ty = global.ty.map(|ty| self.debug_ty(ty));
    }

    pub(super) fn place(&self, place: Place) -> Place {
        Place {
            file: place.file.map(|file| self.file(file)),
            subprogram: place.subprogram.map(|it| self.subprogram(it)),
            inlined_at: place.inlined_at.map(|it| self.place_id(it)),
            ..place
        }
    }

    pub(super) fn debug_subprogram(&self, subprogram: Subprogram) -> Subprogram {
        Subprogram { file: subprogram.file.map(|file| self.file(file)), ..subprogram }
    }

    pub(super) fn debug_type(&self, mut ty: DebugType) -> DebugType {
        let shift = |ty: &mut Option<DebugTy>| *ty = ty.map(|ty| self.debug_ty(ty));
        match &mut ty.kind {
            DebugKind::Pointer(to) | DebugKind::Alias(to) => shift(to),
            DebugKind::Array { of, .. } => shift(of),
            DebugKind::Aggregate(members) => members.iter_mut().for_each(|it| shift(&mut it.ty)),
            DebugKind::Basic { .. } | DebugKind::Enumeration(_) | DebugKind::Other => {}
        }
        ty
    }
}
