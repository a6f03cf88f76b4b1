//! What instructions do.

use crate::action::{Action, Order, Stop};
use crate::disguise::Kind;
use crate::library::DESTROYED;
use crate::library::rust::TAKEN;
use crate::local::{Local, Then, each_word};
use crate::machine::Machine;
use crate::shared::Strength;
use crate::space::{Fill, LARGEST, Name, Object};
use crate::value::{self, Bits, Val, Word, Wrong};
use llvm::instruction::{
    Access, BinaryFlags, BinaryOp, CastOp, FloatPredicate, IntPredicate, SyncScope,
};
use llvm::{Instr, InstrKind, Module, Operand, Ty};

impl Machine {
    /// Carries out an instruction.
    pub(crate) fn execute(
        &mut self,
        local: &mut Local,
        module: &Module,
        instr: &Instr,
    ) -> Result<(), Stop> {
        let value = match &instr.kind {
            InstrKind::Binary { op, flags, ty, left, right } => {
                let (left, right) = (self.eval(local, left)?, self.eval(local, right)?);
                let result = self.binary(*op, *flags, *ty, &left, &right)?;
                let kind = Kind::of_binary(*op, &right, &result);
                self.computed(local, kind, &[&left, &right], &result);
                result
            }
            InstrKind::FloatNegate { ty, value } => {
                let value = self.eval(local, value)?;
                let sign = self.width(*ty)? - 1;
                map(&value, &|bits| Some(bits ^ 1 << sign)).unwrap_or(Val::Undef)
            }
            InstrKind::Compare { predicate, ty, left, right, .. } => {
                let (left, right) = (self.eval(local, left)?, self.eval(local, right)?);
                self.compare(*predicate, *ty, &left, &right)?
            }
            InstrKind::FloatCompare { predicate, ty, left, right } => {
                let (left, right) = (self.eval(local, left)?, self.eval(local, right)?);
                self.float_compare(*predicate, *ty, &left, &right)?
            }
            InstrKind::Select { condition, yes, no, .. } => {
                let (yes, no) = (self.eval(local, yes)?, self.eval(local, no)?);
                match self.eval(local, condition)? {
                    Val::Bits(0) => no,
                    Val::Bits(_) => yes,
                    Val::Undef | Val::Partly(_) => return Err(undecided("a choice")),
                    Val::Many(conditions) => select(&conditions, &yes, &no),
                }
            }
            InstrKind::Freeze { ty, value } => match self.eval(local, value)? {
                Val::Undef => self.uniform(*ty, &Val::Bits(0))?,
                Val::Partly(Bits { bits, .. }) => Val::Bits(bits),
                value => value,
            },
            // Phis took their values when control came here.
            InstrKind::Phi { .. } => return Stop::refuse("a phi after other instructions"),
            InstrKind::Alloca { ty, count, .. } => {
                self.alloca(local, instr, *ty, count.as_ref())?
            }
            InstrKind::Load { address: Operand::Local(register), .. }
                if self.is_register(local, *register) =>
            {
                self.eval(local, &Operand::Local(*register))?
            }
            InstrKind::Store { value, address: Operand::Local(register), .. }
                if self.is_register(local, *register) =>
            {
                let value = self.eval(local, value)?;
                local.top().set(*register, value);
                Val::Undef
            }
            InstrKind::Load { ty, address, access } => {
                let address = self.eval(local, address)?;
                match access.ordering {
                    Some(_) if self.size(*ty)? == 4 && self.is_attempt(local) => TAKEN.into(),
                    _ => self.load(local, *ty, &address, self.order(access))?,
                }
            }
            InstrKind::Store { ty, value, address, access } => {
                let (value, address) = (self.eval(local, value)?, self.eval(local, address)?);
                self.store(local, *ty, &address, &value, self.order(access))?;
                Val::Undef
            }
            InstrKind::CompareExchange {
                ty,
                address,
                expected,
                new,
                weak,
                success,
                failure,
                ..
            } => {
                let address = self.eval(local, address)?;
                let (expected, new) = (self.eval(local, expected)?, self.eval(local, new)?);
                let size = self.width(*ty)?.div_ceil(8) as u8;
                let orders = ((*success).into(), (*failure).into(), *weak);
                let (old, succeeded) = match size == 4 && self.is_attempt(local) {
                    true => (TAKEN, false),
                    false => {
                        self.compare_exchange(local, size, &address, (&expected, &new), orders)?
                    }
                };
                Val::Many([old.into(), Val::Bits(succeeded.into())].into())
            }
            InstrKind::ReadModifyWrite { op, ty, address, value, ordering, .. } => {
                let (address, value) = (self.eval(local, address)?, self.eval(local, value)?);
                let width = self.width(*ty)?;
                self.read_modify_write(local, (*op, width), &address, &value, (*ordering).into())?
                    .into()
            }
            InstrKind::Fence { scope: SyncScope::SingleThread, .. } => Val::Undef,
            InstrKind::Fence { ordering, .. } => {
                self.visible(local, Action::Fence { order: (*ordering).into() })?;
                Val::Undef
            }
            InstrKind::GetElementPtr { source, base, indices, .. } => {
                let base = self.eval(local, base)?;
                let mut path = Vec::with_capacity(indices.len());
                for (ty, index) in indices {
                    path.push((*ty, self.eval(local, index)?));
                }
                let result = self.element(*source, base.clone(), &path)?;
                let operands: Vec<&Val> =
                    path.iter().map(|(_, index)| index).chain([&base]).collect();
                self.computed(local, Kind::Mixes, &operands, &result);
                result
            }
            // The address of a variable that has none, for a mark of where the variable begins or ends.
            InstrKind::Cast { op: CastOp::BitCast, value: Operand::Local(register), .. }
                if self.is_address_of_register(local, *register) =>
            {
                Val::Undef
            }
            InstrKind::Cast { op, from, value, to, .. } => {
                let value = self.eval(local, value)?;
                let result = self.cast(*op, *from, &value, *to)?;
                let kind = Kind::of_cast(*op, self.width(*to).unwrap_or(u32::MAX));
                self.computed(local, kind, &[&value], &result);
                result
            }
            InstrKind::ExtractValue { value, path, .. } => {
                let mut value = self.eval(local, value)?;
                for index in path {
                    value = match value {
                        Val::Many(parts) => parts[*index as usize].clone(),
                        _ => Val::Undef,
                    };
                }
                value
            }
            InstrKind::InsertValue { ty, value, element, path, .. } => {
                let element = self.eval(local, element)?;
                let whole = match self.eval(local, value)? {
                    Val::Undef => self.uniform(*ty, &Val::Undef)?,
                    whole => whole,
                };
                inserted(whole, path, element)
            }
            InstrKind::ExtractElement { vector, index, .. } => {
                let index = self.number(local, index, "the index of a vector")? as usize;
                match self.eval(local, vector)? {
                    Val::Many(parts) => parts.get(index).cloned().unwrap_or(Val::Undef),
                    _ => Val::Undef,
                }
            }
            InstrKind::InsertElement { ty, vector, element, index, .. } => {
                let index = self.number(local, index, "the index of a vector")? as u32;
                let element = self.eval(local, element)?;
                let whole = match self.eval(local, vector)? {
                    Val::Undef => self.uniform(*ty, &Val::Undef)?,
                    whole => whole,
                };
                inserted(whole, &[index], element)
            }
            InstrKind::ShuffleVector { left, right, mask, .. } => {
                let (left, right) = (self.eval(local, left)?, self.eval(local, right)?);
                let mask = self.eval(local, mask)?;
                shuffled(&left, &right, &mask)
            }
            InstrKind::Return { value } => {
                let value = match value {
                    Some((_, operand)) => self.eval(local, operand)?,
                    None => Val::Undef,
                };
                return self.leave(local, module, value);
            }
            InstrKind::Jump { to } => return self.jump(local, *to),
            InstrKind::Branch { condition, yes, no } => match self.eval(local, condition)? {
                Val::Bits(0) => return self.jump(local, *no),
                Val::Bits(_) => return self.jump(local, *yes),
                _ => return Err(undecided("a branch")),
            },
            InstrKind::Switch { value, default, cases, .. } => {
                let Val::Bits(value) = self.eval(local, value)? else {
                    return Err(undecided("a switch"));
                };
                for (case, to) in cases {
                    if self.constant(local.thread, *case)? == Val::Bits(value) {
                        return self.jump(local, *to);
                    }
                }
                return self.jump(local, *default);
            }
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => {
                return self.call(local, instr, call);
            }
            InstrKind::Unreachable => {
                return Err(Stop::fail("code is reached that the compiler took to be unreachable"));
            }
            InstrKind::LandingPad { .. } => match local.landing.take() {
                Some((object, selector)) => {
                    Val::Many([object.into(), Val::Bits(selector.into())].into())
                }
                None => return Stop::refuse("a landing pad without an exception"),
            },
            InstrKind::Resume { value, .. } => {
                let value = self.eval(local, value)?;
                return self.throw_on(local, &value);
            }
            InstrKind::VaArg { .. } => return Stop::refuse("an argument of a variadic function"),
            InstrKind::IndirectBranch { .. } => return Stop::refuse("a jump to a computed label"),
            InstrKind::Unsupported { name, .. } => {
                return Stop::refuse(format!("the instruction `{name}`"));
            }
        };
        self.done(local, instr, value)
    }

    /// The order of a load or store.
    fn order(&self, access: &Access) -> Order {
        match access.ordering {
            Some(ordering) => ordering.into(),
            None if access.volatile && self.volatile_atomic => Order::Relaxed,
            None => Order::Plain,
        }
    }

    pub(crate) fn is_register(&self, local: &Local, register: llvm::Local) -> bool {
        local.frames.last().is_some_and(|frame| frame.code.is_promoted(register))
    }

    fn is_address_of_register(&self, local: &Local, register: llvm::Local) -> bool {
        local.frames.last().is_some_and(|frame| {
            let variable = frame.code.variable(&Operand::Local(register));
            variable.is_some_and(|variable| frame.code.is_promoted(variable))
        })
    }

    fn alloca(
        &mut self,
        local: &mut Local,
        instr: &Instr,
        ty: Ty,
        count: Option<&(Ty, Operand)>,
    ) -> Result<Val, Stop> {
        if instr.result.is_some_and(|result| self.is_register(local, result)) {
            return Ok(Val::Undef);
        }
        let count = match count {
            Some((_, operand)) => self.number(local, operand, "the size of an array")? as u64,
            None => 1,
        };
        let size = self.size(ty)?.saturating_mul(count);
        if size > LARGEST {
            return Stop::refuse(format!(
                "a variable of {size} bytes; {LARGEST} at most are checked"
            ));
        }
        let (thread, depth, site) = (local.thread, local.frames.len() as u32, Machine::site(local));
        if !local.stray.is_empty() {
            local.tidy(&self.space);
        }
        let mut nth = 0;
        let object = loop {
            let name = Name::Stack { thread, depth, site, nth, size };
            let object =
                self.space.intern(Object { name, size, fill: Fill::Undef, constant: false });
            if !local.top().objects.contains(&object)
                && (!local.stray.contains(&object) || self.comes_back(local, object)?)
            {
                break object;
            }
            nth += 1;
        };
        self.renew(local, object, Word::Undef)?;
        local.top().objects.push(object);
        Ok(Machine::pointer(object))
    }

    /// Returns from a function.
    pub(crate) fn leave(
        &mut self,
        local: &mut Local,
        module: &Module,
        value: Val,
    ) -> Result<(), Stop> {
        let frame = local.frames.last().expect("a running thread is in a call");
        let (then, objects) = (frame.then, frame.objects.clone());
        if then == Then::EndThread && local.thread != 0 && self.next_at_exit(local, Then::Again)? {
            return Ok(());
        }
        if then == Then::EndThread && (local.thread != 0 || local.at_exit.is_empty()) {
            return self.end_thread(local, &value, local.thread != 0);
        }
        each_word(&value, &mut |word| self.strays(local, word, None));
        for object in objects {
            self.kill(local, object)?;
        }
        match then {
            Then::GoOn => {
                local.frames.pop();
                self.returned(local, module, value)
            }
            Then::EndThread | Then::Exit => {
                local.frames.pop();
                match self.next_at_exit(local, then)? {
                    true => Ok(()),
                    false => Err(Stop::Ended),
                }
            }
            Then::Once(cell) => {
                self.touches.add(cell, local.thread, true, Strength::Atomic);
                self.sync(local, Action::Write { cell, value: DESTROYED, order: Order::Release })?;
                local.frames.pop();
                self.returned(local, module, Val::Bits(0))
            }
            Then::DestroyState => {
                local.frames.pop();
                self.destroy_state(local)
            }
            Then::FreeException => {
                self.exception_destroyed(local)?;
                local.frames.pop();
                self.returned(local, module, Val::Undef)
            }
            Then::Complete(cell) => {
                self.complete(local, cell)?;
                local.frames.pop();
                self.returned(local, module, Val::Undef)
            }
            Then::Again => {
                local.frames.pop();
                Ok(())
            }
            Then::Discard(slot) => self.discarded(local, slot),
            Then::Constructor(next) => {
                local.frames.pop();
                self.next_constructor(local, next)
            }
        }
    }

    /// The caller goes on after a call with its result.
    fn returned(&mut self, local: &mut Local, module: &Module, value: Val) -> Result<(), Stop> {
        let frame = local.top();
        let function = module.function(frame.function);
        let call = &function.blocks[frame.block as usize].instrs[frame.instr as usize];
        self.done(local, call, value)
    }

    /// An operation on two values.
    pub(crate) fn binary(
        &self,
        op: BinaryOp,
        flags: BinaryFlags,
        ty: Ty,
        left: &Val,
        right: &Val,
    ) -> Result<Val, Stop> {
        let (a, b) = match (left, right) {
            (Val::Bits(a), Val::Bits(b)) => (*a, *b),
            (Val::Many(left), Val::Many(right)) => {
                let Some(parts) = self.parts(ty)? else { return Ok(Val::Undef) };
                let each = parts.iter().zip(left.iter().zip(right));
                let values = each.map(|((ty, _), (a, b))| self.binary(op, flags, *ty, a, b));
                return Ok(Val::Many(values.collect::<Result<_, _>>()?));
            }
            (Val::Many(_), _) | (_, Val::Many(_)) => return Ok(Val::Undef),
            (left, right) => {
                let parts = match self.float_format(ty) {
                    None => value::binary_of_parts(op, self.width(ty)?, left.word(), right.word()),
                    Some(_) => None,
                };
                return Ok(parts.map_or(Val::Undef, Val::from));
            }
        };
        if let Some(format) = self.float_format(ty) {
            let numbers = value::to_float(format, a).zip(value::to_float(format, b));
            let result = numbers.and_then(|(a, b)| value::float_binary(op, a, b));
            return match result.and_then(|number| value::from_float(format, number)) {
                Some(bits) => Ok(Val::Bits(bits)),
                None => Stop::refuse(format!("arithmetic of type {}", self.module.types.show(ty))),
            };
        }
        let width = self.width(ty)?;
        match value::binary(op, flags, width, a, b) {
            Some(Ok(bits)) => Ok(Val::Bits(bits)),
            Some(Err(Wrong::Overflow)) => {
                let sign = match op {
                    BinaryOp::Add => "+",
                    BinaryOp::Sub => "-",
                    BinaryOp::Mul => "*",
                    _ => "<<",
                };
                let (a, b) = (value::signed(a, width), value::signed(b, width));
                Err(Stop::fail(format!("signed overflow: {a} {sign} {b} in {width} bits")))
            }
            Some(Err(Wrong::Division)) => {
                Err(Stop::fail("division by zero, or overflow of a division"))
            }
            Some(Err(Wrong::Shift)) => {
                Err(Stop::fail(format!("a shift by {b} of a number of {width} bits")))
            }
            None => Stop::refuse("floating-point arithmetic on integers"),
        }
    }

    /// A comparison of integers or pointers.
    pub(crate) fn compare(
        &self,
        predicate: IntPredicate,
        ty: Ty,
        left: &Val,
        right: &Val,
    ) -> Result<Val, Stop> {
        match (left, right) {
            (Val::Bits(a), Val::Bits(b)) => {
                Ok(Val::Bits(value::compare(predicate, self.width(ty)?, *a, *b).into()))
            }
            (Val::Many(left), Val::Many(right)) => {
                let Some(parts) = self.parts(ty)? else { return Ok(Val::Undef) };
                let each = parts.iter().zip(left.iter().zip(right));
                let values = each.map(|((ty, _), (a, b))| self.compare(predicate, *ty, a, b));
                Ok(Val::Many(values.collect::<Result<_, _>>()?))
            }
            // Numbers that differ in bits that have a value are different, whatever the others are.
            (Val::Bits(_) | Val::Partly(_), Val::Bits(_) | Val::Partly(_))
                if value::differ_in_parts(left.word(), right.word(), self.width(ty)?) =>
            {
                Ok(match predicate {
                    IntPredicate::Eq => Val::Bits(0),
                    IntPredicate::Ne => Val::Bits(1),
                    _ => Val::Undef,
                })
            }
            _ => Ok(Val::Undef),
        }
    }

    fn float_compare(
        &self,
        predicate: FloatPredicate,
        ty: Ty,
        left: &Val,
        right: &Val,
    ) -> Result<Val, Stop> {
        let (Val::Bits(a), Val::Bits(b)) = (left, right) else { return Ok(Val::Undef) };
        let numbers = self
            .float_format(ty)
            .and_then(|format| value::to_float(format, *a).zip(value::to_float(format, *b)));
        match numbers {
            Some((a, b)) => Ok(Val::Bits(value::float_compare(predicate, a, b).into())),
            None => Stop::refuse(format!("a comparison of type {}", self.module.types.show(ty))),
        }
    }

    /// A conversion.
    pub(crate) fn cast(&self, op: CastOp, from: Ty, value: &Val, to: Ty) -> Result<Val, Stop> {
        let elements = |ty: Ty| self.parts(ty).map(|parts| parts.map(|parts| parts.len()));
        if op == CastOp::BitCast
            && elements(from)? != elements(to)?
            && let Some(value) = self.reinterpret(from, value, to)?
        {
            return Ok(value);
        }
        if let Val::Many(values) = value {
            let (Some(sources), Some(targets)) = (self.parts(from)?, self.parts(to)?) else {
                return Stop::refuse("a conversion between a vector and a number");
            };
            if sources.len() != targets.len() {
                return Stop::refuse("a conversion between vectors of different lengths");
            }
            let each = values.iter().zip(sources.iter().zip(&targets));
            let values = each.map(|(value, ((from, _), (to, _)))| self.cast(op, *from, value, *to));
            return Ok(Val::Many(values.collect::<Result<_, _>>()?));
        }
        let Val::Bits(bits) = *value else {
            let parts = match self.float_format(from).or(self.float_format(to)) {
                Some(_) if op != CastOp::BitCast => None,
                _ => value::cast_of_parts(op, value.word(), self.width(from)?, self.width(to)?),
            };
            return Ok(parts.map_or(Val::Undef, Val::from));
        };
        if let Some(bits) = value::cast(op, bits, self.width(from)?, self.width(to)?) {
            return Ok(Val::Bits(bits));
        }
        let (source, target) = (self.float_format(from), self.float_format(to));
        let width = self.width(to)?;
        let unknown = || {
            Stop::refuse(format!(
                "a conversion from {} to {}",
                self.module.types.show(from),
                self.module.types.show(to)
            ))
        };
        let result = match (op, source, target) {
            (CastOp::FpTrunc | CastOp::FpExt, Some(source), Some(target)) => {
                value::to_float(source, bits).and_then(|number| value::from_float(target, number))
            }
            (CastOp::FpToUi | CastOp::FpToSi, Some(source), _) => {
                let Some(number) = value::to_float(source, bits) else { return unknown() };
                let integer = value::to_integer(number, width, op == CastOp::FpToSi);
                return Ok(integer.map_or(Val::Undef, Val::Bits));
            }
            (CastOp::UiToFp, _, Some(target)) => value::of_unsigned(target, bits),
            (CastOp::SiToFp, _, Some(target)) => {
                value::of_signed(target, value::signed(bits, self.width(from)?))
            }
            _ => None,
        };
        result.map_or_else(unknown, |bits| Ok(Val::Bits(bits)))
    }
}

fn undecided(what: &str) -> Stop {
    Stop::fail(format!("{what} depends on a value that was never written"))
}

/// The same function of every number in a value.
fn map(value: &Val, f: &impl Fn(u128) -> Option<u128>) -> Option<Val> {
    match value {
        Val::Bits(bits) => f(*bits).map(Val::Bits),
        Val::Undef | Val::Partly(_) => Some(Val::Undef),
        Val::Many(parts) => {
            parts.iter().map(|part| map(part, f)).collect::<Option<_>>().map(Val::Many)
        }
    }
}

fn select(conditions: &[Val], yes: &Val, no: &Val) -> Val {
    let part = |value: &Val, k: usize| match value {
        Val::Many(parts) => parts[k].clone(),
        _ => Val::Undef,
    };
    let each = conditions.iter().enumerate().map(|(k, condition)| match condition {
        Val::Bits(0) => part(no, k),
        Val::Bits(_) => part(yes, k),
        _ => Val::Undef,
    });
    Val::Many(each.collect())
}

fn inserted(whole: Val, path: &[u32], element: Val) -> Val {
    let Some((first, rest)) = path.split_first() else { return element };
    match whole {
        Val::Many(mut parts) => {
            if let Some(part) = parts.get_mut(*first as usize) {
                *part = inserted(part.clone(), rest, element);
            }
            Val::Many(parts)
        }
        other => other,
    }
}

fn shuffled(left: &Val, right: &Val, mask: &Val) -> Val {
    let (Val::Many(left), Val::Many(right), Val::Many(mask)) = (left, right, mask) else {
        return Val::Undef;
    };
    let pick = |index: &Val| match index {
        Val::Bits(index) => {
            left.iter().chain(right.iter()).nth(*index as usize).cloned().unwrap_or(Val::Undef)
        }
        _ => Val::Undef,
    };
    Val::Many(mask.iter().map(pick).collect())
}
