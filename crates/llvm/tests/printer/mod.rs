//! Prints a module as IR again, with nothing but what the module says.
//!
//! Only tests need this: if the printed text still compiles to a program that does the same, the reader has lost
//! nothing that matters. Registers are called `%v0`, `%v1`, blocks `%b0`, `%b1`.

mod code;

use fencepost_llvm::constant::{ConstId, ConstantKind};
use fencepost_llvm::instruction::{BinaryFlags, Callee, InstrKind};
use fencepost_llvm::module::{Linkage, Param};
use fencepost_llvm::types::Float;
use fencepost_llvm::{Function, FunctionId, GlobalId, Module, Ty, Type};
use std::fmt::Write;

/// A name or string with everything unusual escaped.
fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' | b'\\' | 0..=31 | 127.. => _ = write!(text, "\\{byte:02X}"),
            _ => text.push(byte as char),
        }
    }
    text + "\""
}

fn global_name(name: &str) -> String {
    match name.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("@{name}"),
        false => format!("@{}", quoted(name.as_bytes())),
    }
}

fn linkage(linkage: Linkage, declared: bool) -> &'static str {
    match linkage {
        Linkage::External if declared => "external ",
        Linkage::External => "",
        Linkage::Internal => "internal ",
        Linkage::Private => "private ",
        Linkage::AvailableExternally => "available_externally ",
        Linkage::LinkOnce => "linkonce ",
        Linkage::LinkOnceOdr => "linkonce_odr ",
        Linkage::Weak => "weak ",
        Linkage::WeakOdr => "weak_odr ",
        Linkage::Common => "common ",
        Linkage::Appending => "appending ",
        Linkage::ExternWeak => "extern_weak ",
    }
}

fn align(align: Option<u64>) -> String {
    align.map_or(String::new(), |align| format!(", align {align}"))
}

fn flags(flags: BinaryFlags) -> String {
    let all = [
        (flags.nuw, "nuw "),
        (flags.nsw, "nsw "),
        (flags.exact, "exact "),
        (flags.disjoint, "disjoint "),
        (flags.nneg, "nneg "),
        (flags.samesign, "samesign "),
    ];
    all.iter().filter(|it| it.0).map(|it| it.1).collect()
}

struct Printer<'m> {
    module: &'m Module,
}

/// The text of a module, without debug information.
pub(crate) fn print(module: &Module) -> String {
    Printer { module }.module().expect("strings take everything")
}

impl Printer<'_> {
    /// The name of a variable. Linked modules may have several local ones of the same name.
    fn global_name(&self, id: GlobalId) -> String {
        let global = self.module.global(id);
        match global.linkage.is_local() {
            true => format!("@local.g{}", id.index()),
            false => global_name(&global.name),
        }
    }

    fn function_name(&self, id: FunctionId) -> String {
        let function = self.module.function(id);
        match function.linkage.is_local() {
            true => format!("@local.f{}", id.index()),
            false => global_name(&function.name),
        }
    }

    fn module(&self) -> Result<String, std::fmt::Error> {
        let module = self.module;
        let mut out = String::new();
        if !module.target_triple.is_empty() {
            writeln!(out, "target triple = \"{}\"", module.target_triple)?;
        }
        for line in &module.assembly {
            writeln!(out, "module asm {}", quoted(line.as_bytes()))?;
        }
        for (ty, body) in module.types.iter() {
            if let Some(name) = module.types.name(ty) {
                writeln!(out, "%{} = type {}", quoted(name.as_bytes()), self.body(body))?;
            }
        }
        for (id, global) in module.each_global() {
            let name = self.global_name(id);
            let linkage = linkage(global.linkage, global.init.is_none());
            let local = if global.thread_local { "thread_local " } else { "" };
            let kind = if global.constant { "constant" } else { "global" };
            let init = global.init.map_or(String::new(), |init| self.value(init));
            let section = match &*global.name {
                "llvm.used" | "llvm.compiler.used" => ", section \"llvm.metadata\"",
                _ => "",
            };
            let ty = self.ty(global.ty);
            let align = align(global.align);
            writeln!(out, "{name} = {linkage}{local}{kind} {ty} {init}{section}{align}")?;
        }
        for alias in &module.aliases {
            let (name, linkage) = (global_name(&alias.name), linkage(alias.linkage, false));
            writeln!(out, "{name} = {linkage}alias i8, {}", self.constant(alias.target))?;
        }
        for ifunc in &module.ifuncs {
            let (name, linkage) = (global_name(&ifunc.name), linkage(ifunc.linkage, false));
            writeln!(out, "{name} = {linkage}ifunc void (), {}", self.constant(ifunc.resolver))?;
        }
        for (id, function) in module.each_function() {
            self.function(id, function, &mut out)?;
        }
        Ok(out)
    }

    fn ty(&self, ty: Ty) -> String {
        match self.module.types.name(ty) {
            Some(name) => format!("%{}", quoted(name.as_bytes())),
            None => self.body(self.module.ty(ty)),
        }
    }

    fn types(&self, types: &[Ty]) -> String {
        types.iter().map(|&ty| self.ty(ty)).collect::<Vec<_>>().join(", ")
    }

    fn body(&self, body: &Type) -> String {
        match body {
            Type::Void => "void".into(),
            Type::Int(bits) => format!("i{bits}"),
            Type::Ptr(0) => "ptr".into(),
            Type::Ptr(space) => format!("ptr addrspace({space})"),
            Type::Float(float) => match float {
                Float::Half => "half",
                Float::BFloat => "bfloat",
                Float::Single => "float",
                Float::Double => "double",
                Float::X86Fp80 => "x86_fp80",
                Float::Fp128 => "fp128",
                Float::PpcFp128 => "ppc_fp128",
            }
            .into(),
            Type::Array(count, of) => format!("[{count} x {}]", self.ty(*of)),
            Type::Vector { count, of, scalable } => {
                let scalable = if *scalable { "vscale x " } else { "" };
                format!("<{scalable}{count} x {}>", self.ty(*of))
            }
            Type::Struct { packed: true, fields } => format!("<{{ {} }}>", self.types(fields)),
            Type::Struct { packed: false, fields } => format!("{{ {} }}", self.types(fields)),
            Type::Opaque => "opaque".into(),
            Type::Function { ret, params, varargs } => self.signature(*ret, params, *varargs),
            Type::Label => "label".into(),
            Type::Metadata => "metadata".into(),
            Type::Token => "token".into(),
            Type::Foreign(name) => name.to_string(),
        }
    }

    fn signature(&self, ret: Ty, params: &[Ty], varargs: bool) -> String {
        let dots = match (varargs, params.is_empty()) {
            (true, true) => "...",
            (true, false) => ", ...",
            _ => "",
        };
        format!("{} ({}{dots})", self.ty(ret), self.types(params))
    }

    /// A constant with its type.
    fn constant(&self, constant: ConstId) -> String {
        format!("{} {}", self.ty(self.module.constant(constant).ty), self.value(constant))
    }

    fn constants(&self, constants: &[ConstId]) -> String {
        constants.iter().map(|&it| self.constant(it)).collect::<Vec<_>>().join(", ")
    }

    fn value(&self, constant: ConstId) -> String {
        let constant = self.module.constant(constant);
        match &constant.kind {
            ConstantKind::Int(value) => value.to_string(),
            ConstantKind::Float(bits) => self.float(constant.ty, *bits),
            ConstantKind::Null => "null".into(),
            ConstantKind::Undef => "undef".into(),
            ConstantKind::Poison => "poison".into(),
            ConstantKind::Zero => "zeroinitializer".into(),
            ConstantKind::None => "none".into(),
            ConstantKind::Array(parts) => format!("[ {} ]", self.constants(parts)),
            ConstantKind::Bytes(bytes) => format!("c{}", quoted(bytes)),
            ConstantKind::Vector(parts) => format!("< {} >", self.constants(parts)),
            ConstantKind::Splat(part) => format!("splat ({})", self.constant(*part)),
            ConstantKind::Struct(parts) => match self.module.ty(constant.ty) {
                Type::Struct { packed: true, .. } => format!("<{{ {} }}>", self.constants(parts)),
                _ => format!("{{ {} }}", self.constants(parts)),
            },
            ConstantKind::Global(global) => self.global_name(*global),
            ConstantKind::Function(function) => self.function_name(*function),
            ConstantKind::IFunc(ifunc) => global_name(&self.module.ifuncs[ifunc.index()].name),
            ConstantKind::BlockAddress(function, block) => {
                let function = self.function_name(*function);
                format!("blockaddress({function}, %b{})", block.index())
            }
            ConstantKind::GetElementPtr { inbounds, source, base, indices } => {
                let inbounds = if *inbounds { "inbounds " } else { "" };
                let (source, base) = (self.ty(*source), self.constant(*base));
                let comma = if indices.is_empty() { "" } else { ", " };
                let indices = self.constants(indices);
                format!("getelementptr {inbounds}({source}, {base}{comma}{indices})")
            }
            ConstantKind::Cast(op, value) => {
                format!(
                    "{} ({} to {})",
                    code::cast(*op),
                    self.constant(*value),
                    self.ty(constant.ty)
                )
            }
            ConstantKind::Binary(op, with, left, right) => {
                format!(
                    "{} {}({})",
                    code::binary(*op),
                    flags(*with),
                    self.constants(&[*left, *right])
                )
            }
            // Versions that read `ptr` without asking have no other constant expressions.
            other => panic!("a constant of old versions: {other:?}"),
        }
    }

    fn float(&self, ty: Ty, bits: u128) -> String {
        let Type::Float(float) = *self.module.ty(ty) else { panic!("a number") };
        match float {
            Float::Double => format!("0x{bits:016X}"),
            Float::Single => {
                let value = f32::from_bits(bits as u32);
                match value.is_nan() {
                    // Sign, all ones, and the fraction, each where a double has it.
                    true => format!(
                        "0x{:016X}",
                        (bits as u64 >> 31) << 63 | 0x7ff << 52 | (bits as u64 & 0x7f_ffff) << 29
                    ),
                    false => format!("0x{:016X}", f64::from(value).to_bits()),
                }
            }
            Float::Half => format!("0xH{bits:04X}"),
            Float::BFloat => format!("0xR{bits:04X}"),
            Float::X86Fp80 => format!("0xK{bits:020X}"),
            Float::Fp128 => format!("0xL{:032X}", bits.rotate_left(64)),
            Float::PpcFp128 => format!("0xM{:032X}", bits.rotate_left(64)),
        }
    }

    fn param(&self, param: &Param) -> String {
        let byval = param.byval.map(|ty| format!(" byval({})", self.ty(ty)));
        let sret = param.sret.map(|ty| format!(" sret({})", self.ty(ty)));
        self.ty(param.ty) + &byval.unwrap_or_default() + &sret.unwrap_or_default()
    }

    /// A call that only means something with metadata, which the module does not keep.
    fn is_annotation(&self, kind: &InstrKind) -> bool {
        match kind {
            InstrKind::Call(call) => match call.callee {
                Callee::Function(function) => {
                    self.module.function(function).name.starts_with("llvm.experimental.noalias")
                }
                _ => false,
            },
            _ => false,
        }
    }

    fn function(&self, id: FunctionId, function: &Function, out: &mut String) -> std::fmt::Result {
        let name = self.function_name(id);
        let ret = self.ty(function.ret);
        let mut params: Vec<_> = function.params.iter().map(|it| self.param(it)).collect();
        if function.is_declaration() {
            params.extend(function.varargs.then(|| "...".to_string()));
            let weak = if function.linkage == Linkage::ExternWeak { "extern_weak " } else { "" };
            return writeln!(out, "declare {weak}{ret} {name}({})", params.join(", "));
        }
        let mut params: Vec<_> =
            params.iter().enumerate().map(|(index, it)| format!("{it} %v{index}")).collect();
        params.extend(function.varargs.then(|| "...".to_string()));
        let instrs = function.blocks.iter().flat_map(|block| &block.instrs);
        let throws = instrs.clone().any(|it| matches!(it.kind, InstrKind::LandingPad { .. }));
        let known = ["__gxx_personality_v0", "rust_eh_personality"];
        let personality = known.into_iter().find(|it| self.module.function_named(it).is_some());
        let personality = match personality.filter(|_| throws) {
            Some(name) => format!(" personality ptr @{name}"),
            None => String::new(),
        };
        let noreturn = if function.noreturn { " noreturn" } else { "" };
        let linkage = linkage(function.linkage, false);
        let params = params.join(", ");
        writeln!(out, "define {linkage}{ret} {name}({params}){noreturn}{personality} {{")?;
        for (index, block) in function.blocks.iter().enumerate() {
            writeln!(out, "b{index}:")?;
            for instr in block.instrs.iter().filter(|it| !self.is_annotation(&it.kind)) {
                let result = instr.result.map(|it| format!("%v{} = ", it.index()));
                writeln!(out, "  {}{}", result.unwrap_or_default(), self.instr(&instr.kind))?;
            }
        }
        writeln!(out, "}}")
    }
}
