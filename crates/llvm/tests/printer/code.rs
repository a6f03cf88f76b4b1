//! Instructions as text.

use super::{Printer, align, flags, quoted};
use fencepost_llvm::instruction::{
    Access, BinaryOp, Callee, CastOp, Clause, FloatPredicate, InstrKind, IntPredicate, Operand,
    Ordering, RmwOp, SyncScope,
};
use fencepost_llvm::{Call, Ty};

/// The name that `Debug` gives, in small letters: LLVM's own for most operators.
fn small(it: impl std::fmt::Debug) -> String {
    format!("{it:?}").to_lowercase()
}

pub(super) fn binary(op: BinaryOp) -> String {
    small(op)
}

pub(super) fn cast(op: CastOp) -> String {
    small(op)
}

fn int_predicate(predicate: IntPredicate) -> String {
    small(predicate)
}

fn float_predicate(predicate: FloatPredicate) -> String {
    small(predicate)
}

fn rmw(op: RmwOp) -> String {
    match op {
        RmwOp::UIncWrap => "uinc_wrap".into(),
        RmwOp::UDecWrap => "udec_wrap".into(),
        RmwOp::USubCond => "usub_cond".into(),
        RmwOp::USubSat => "usub_sat".into(),
        _ => small(op),
    }
}

fn ordering(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Unordered => "unordered",
        Ordering::Monotonic => "monotonic",
        Ordering::Acquire => "acquire",
        Ordering::Release => "release",
        Ordering::AcqRel => "acq_rel",
        Ordering::SeqCst => "seq_cst",
    }
}

fn scope(scope: &SyncScope) -> String {
    match scope {
        SyncScope::System => String::new(),
        SyncScope::SingleThread => "syncscope(\"singlethread\") ".into(),
        SyncScope::Target(name) => format!("syncscope({}) ", quoted(name.as_bytes())),
    }
}

fn volatile(volatile: bool) -> &'static str {
    if volatile { "volatile " } else { "" }
}

/// What comes before and after the operands of a load or store.
fn access(access: &Access) -> (String, String) {
    let atomic = if access.ordering.is_some() { "atomic " } else { "" };
    let order = match access.ordering {
        Some(order) => format!(" {}{}", scope(&access.scope), ordering(order)),
        None => String::new(),
    };
    (format!("{atomic}{}", volatile(access.volatile)), order + &align(access.align))
}

fn path(path: &[u32]) -> String {
    path.iter().map(|index| format!(", {index}")).collect()
}

impl Printer<'_> {
    fn operand(&self, operand: Operand) -> String {
        match operand {
            Operand::Local(local) => format!("%v{}", local.index()),
            Operand::Const(constant) => self.value(constant),
            Operand::Metadata => "!{}".into(),
        }
    }

    fn typed(&self, ty: Ty, operand: Operand) -> String {
        format!("{} {}", self.ty(ty), self.operand(operand))
    }

    fn call(&self, call: &Call) -> String {
        let args = call.args.iter().map(|arg| {
            let byval = arg.byval.map(|ty| format!("byval({}) ", self.ty(ty))).unwrap_or_default();
            let sret = arg.sret.map(|ty| format!("sret({}) ", self.ty(ty))).unwrap_or_default();
            format!("{} {byval}{sret}{}", self.ty(arg.ty), self.operand(arg.value))
        });
        let args = args.collect::<Vec<_>>().join(", ");
        let (ty, callee) = match &call.callee {
            Callee::Function(function) => {
                let ty = match call.varargs {
                    true => self.ty(self.module.function(*function).ty),
                    false => self.ty(call.ret),
                };
                (ty, self.function_name(*function))
            }
            Callee::Pointer(pointer) => {
                let dots = if call.varargs { " (...)" } else { "" };
                (self.ty(call.ret) + dots, self.operand(*pointer))
            }
            Callee::Asm(asm) => {
                let effects = if asm.side_effects { "sideeffect " } else { "" };
                let template = quoted(asm.template.as_bytes());
                let constraints = quoted(asm.constraints.as_bytes());
                (self.ty(call.ret), format!("asm {effects}{template}, {constraints}"))
            }
        };
        format!("{ty} {callee}({args})")
    }

    pub(super) fn instr(&self, kind: &InstrKind) -> String {
        match kind {
            InstrKind::Binary { op, flags: with, ty, left, right } => {
                let (left, right) = (self.typed(*ty, *left), self.operand(*right));
                format!("{} {}{left}, {right}", binary(*op), flags(*with))
            }
            InstrKind::FloatNegate { ty, value } => format!("fneg {}", self.typed(*ty, *value)),
            InstrKind::Compare { predicate, flags: with, ty, left, right } => {
                let (left, right) = (self.typed(*ty, *left), self.operand(*right));
                format!("icmp {}{} {left}, {right}", flags(*with), int_predicate(*predicate))
            }
            InstrKind::FloatCompare { predicate, ty, left, right } => {
                let (left, right) = (self.typed(*ty, *left), self.operand(*right));
                format!("fcmp {} {left}, {right}", float_predicate(*predicate))
            }
            InstrKind::Select { condition_ty, condition, ty, yes, no } => {
                let condition = self.typed(*condition_ty, *condition);
                format!("select {condition}, {}, {}", self.typed(*ty, *yes), self.typed(*ty, *no))
            }
            InstrKind::Freeze { ty, value } => format!("freeze {}", self.typed(*ty, *value)),
            InstrKind::Phi { ty, incoming } => {
                let incoming = incoming.iter();
                let incoming = incoming.map(|(value, from)| {
                    format!("[ {}, %b{} ]", self.operand(*value), from.index())
                });
                format!("phi {} {}", self.ty(*ty), incoming.collect::<Vec<_>>().join(", "))
            }
            InstrKind::Alloca { ty, count, align: with } => {
                let count = count.map(|(ty, count)| format!(", {}", self.typed(ty, count)));
                format!("alloca {}{}{}", self.ty(*ty), count.unwrap_or_default(), align(*with))
            }
            InstrKind::Load { ty, address, access: how } => {
                let (before, after) = access(how);
                format!("load {before}{}, ptr {}{after}", self.ty(*ty), self.operand(*address))
            }
            InstrKind::Store { ty, value, address, access: how } => {
                let (before, after) = access(how);
                let value = self.typed(*ty, *value);
                format!("store {before}{value}, ptr {}{after}", self.operand(*address))
            }
            InstrKind::CompareExchange {
                ty,
                address,
                expected,
                new,
                weak,
                volatile: is_volatile,
                success,
                failure,
                scope: within,
                align: with,
            } => {
                let weak = if *weak { "weak " } else { "" };
                format!(
                    "cmpxchg {weak}{}ptr {}, {}, {} {}{} {}{}",
                    volatile(*is_volatile),
                    self.operand(*address),
                    self.typed(*ty, *expected),
                    self.typed(*ty, *new),
                    scope(within),
                    ordering(*success),
                    ordering(*failure),
                    align(*with)
                )
            }
            InstrKind::ReadModifyWrite {
                op,
                ty,
                address,
                value,
                volatile: is_volatile,
                ordering: order,
                scope: within,
                align: with,
            } => format!(
                "atomicrmw {}{} ptr {}, {} {}{}{}",
                volatile(*is_volatile),
                rmw(*op),
                self.operand(*address),
                self.typed(*ty, *value),
                scope(within),
                ordering(*order),
                align(*with)
            ),
            InstrKind::Fence { ordering: order, scope: within } => {
                format!("fence {}{}", scope(within), ordering(*order))
            }
            InstrKind::GetElementPtr { inbounds, source, base_ty, base, indices } => {
                let inbounds = if *inbounds { "inbounds " } else { "" };
                let indices: String =
                    indices.iter().map(|(ty, it)| format!(", {}", self.typed(*ty, *it))).collect();
                let base = self.typed(*base_ty, *base);
                format!("getelementptr {inbounds}{}, {base}{indices}", self.ty(*source))
            }
            InstrKind::Cast { op, flags: with, from, value, to } => {
                let value = self.typed(*from, *value);
                format!("{} {}{value} to {}", cast(*op), flags(*with), self.ty(*to))
            }
            InstrKind::Call(call) => format!("call {}", self.call(call)),
            InstrKind::ExtractValue { ty, value, path: to, .. } => {
                format!("extractvalue {}{}", self.typed(*ty, *value), path(to))
            }
            InstrKind::InsertValue { ty, value, element_ty, element, path: to } => {
                let element = self.typed(*element_ty, *element);
                format!("insertvalue {}, {element}{}", self.typed(*ty, *value), path(to))
            }
            InstrKind::VaArg { ty, list } => {
                format!("va_arg ptr {}, {}", self.operand(*list), self.ty(*ty))
            }
            InstrKind::ExtractElement { ty, vector, index_ty, index } => {
                let index = self.typed(*index_ty, *index);
                format!("extractelement {}, {index}", self.typed(*ty, *vector))
            }
            InstrKind::InsertElement { ty, vector, element, index_ty, index } => {
                let of = match self.module.ty(*ty) {
                    fencepost_llvm::Type::Vector { of, .. } => *of,
                    _ => panic!("a vector"),
                };
                let (element, index) = (self.typed(of, *element), self.typed(*index_ty, *index));
                format!("insertelement {}, {element}, {index}", self.typed(*ty, *vector))
            }
            InstrKind::ShuffleVector { ty, left, right, mask_ty, mask } => format!(
                "shufflevector {}, {}, {}",
                self.typed(*ty, *left),
                self.typed(*ty, *right),
                self.typed(*mask_ty, *mask)
            ),
            InstrKind::LandingPad { ty, cleanup, clauses } => {
                let clauses = clauses.iter().map(|clause| match clause {
                    Clause::Catch(value) => format!(" catch ptr {}", self.operand(*value)),
                    Clause::Filter(Operand::Const(value)) => {
                        format!(" filter {}", self.constant(*value))
                    }
                    Clause::Filter(_) => panic!("a filter is constant"),
                });
                let cleanup = if *cleanup { " cleanup" } else { "" };
                format!("landingpad {}{cleanup}{}", self.ty(*ty), clauses.collect::<String>())
            }
            InstrKind::Return { value } => match value {
                Some((ty, value)) => format!("ret {}", self.typed(*ty, *value)),
                None => "ret void".into(),
            },
            InstrKind::Jump { to } => format!("br label %b{}", to.index()),
            InstrKind::Branch { condition, yes, no } => format!(
                "br i1 {}, label %b{}, label %b{}",
                self.operand(*condition),
                yes.index(),
                no.index()
            ),
            InstrKind::Switch { ty, value, default, cases } => {
                let cases = cases.iter();
                let cases: String = cases
                    .map(|(case, to)| format!(" {}, label %b{}", self.constant(*case), to.index()))
                    .collect();
                let value = self.typed(*ty, *value);
                format!("switch {value}, label %b{} [{cases} ]", default.index())
            }
            InstrKind::IndirectBranch { address, targets } => {
                let targets = targets.iter().map(|to| format!("label %b{}", to.index()));
                let targets = targets.collect::<Vec<_>>().join(", ");
                format!("indirectbr ptr {}, [ {targets} ]", self.operand(*address))
            }
            InstrKind::Invoke { call, normal, unwind } => format!(
                "invoke {} to label %b{} unwind label %b{}",
                self.call(call),
                normal.index(),
                unwind.index()
            ),
            InstrKind::Resume { ty, value } => format!("resume {}", self.typed(*ty, *value)),
            InstrKind::Unreachable => "unreachable".into(),
            InstrKind::Unsupported { name, .. } => panic!("{name} is not printed"),
        }
    }
}
