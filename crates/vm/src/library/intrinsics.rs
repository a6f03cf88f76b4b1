//! LLVM's intrinsic functions.

use crate::action::Stop;
use crate::disguise::Kind;
use crate::local::Local;
use crate::machine::Machine;
use crate::value::{self, Val, mask, signed};
use llvm::instruction::BinaryOp;
use llvm::{Call, Type};

impl Machine {
    pub(super) fn intrinsic(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
        call: &Call,
    ) -> Result<Val, Stop> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        let kind = name.trim_start_matches("llvm.");
        let is = |prefix: &str| {
            kind == prefix || kind.starts_with(prefix) && kind[prefix.len()..].starts_with('.')
        };
        if is("memcpy") || is("memcpy.inline") {
            return self.copy_apart(local, arguments).map(|()| Val::Undef);
        }
        if is("memmove") {
            return self.copy_call(local, arguments).map(|()| Val::Undef);
        }
        if is("memset") || is("memset.inline") {
            return self.fill_call(local, arguments).map(|()| Val::Undef);
        }
        if is("lifetime.start") || is("lifetime.end") {
            let variable = call.args.last().and_then(|arg| local.top().code.variable(&arg.value));
            let Some(variable) = variable else { return Ok(Val::Undef) };
            match is("lifetime.start") {
                true => self.begin(local, variable)?,
                false => self.end(local, variable)?,
            }
            return Ok(Val::Undef);
        }
        const NOTHING: [&str; 12] = [
            "dbg",
            "donothing",
            "prefetch",
            "sideeffect",
            "invariant",
            "stackrestore",
            "x86.sse2.pause",
            "aarch64.hint",
            "experimental.noalias.scope.decl",
            "var.annotation",
            "pseudoprobe",
            "fake.use",
        ];
        if is("assume") {
            return match argument(0) {
                Val::Bits(0) => Err(Stop::fail("the compiler is told to assume what is not so")),
                _ => Ok(Val::Undef),
            };
        }
        if NOTHING.iter().any(|nothing| is(nothing)) {
            return Ok(Val::Undef);
        }
        if is("expect")
            || is("launder.invariant.group")
            || is("strip.invariant.group")
            || is("threadlocal.address")
            || is("ssa.copy")
            || is("annotation")
            || is("ptr.annotation")
            || is("expect.with.probability")
        {
            return Ok(argument(0));
        }
        match kind {
            "va_start" | "va_start.p0" => return self.start_arguments(local, &argument(0)),
            "va_copy" | "va_copy.p0" => {
                return self.copy_arguments(local, &argument(0), &argument(1));
            }
            "va_end" | "va_end.p0" => return Ok(Val::Undef),
            "eh.typeid.for" | "eh.typeid.for.p0" => return self.selector(&argument(0)),
            "trap" | "debugtrap" | "ubsantrap" => {
                return Err(Stop::fail("the program traps"));
            }
            "stacksave" | "stacksave.p0" | "frameaddress.p0" | "returnaddress" => {
                return Ok(Val::Bits(0));
            }
            _ => {}
        }
        if is("is.constant") {
            return Ok(Val::Bits(0));
        }
        if is("objectsize") {
            return Ok(Val::Bits(mask(64)));
        }
        if let Some(result) = self.math_function(name, arguments) {
            return result;
        }
        let Some(ty) = call.args.first().map(|arg| arg.ty) else {
            return Stop::refuse(format!("the intrinsic `{name}`"));
        };
        if (is("fptosi.sat") || is("fptoui.sat"))
            && let Some(format) = self.float_format(ty)
        {
            let width = self.width(call.ret)?;
            let Val::Bits(bits) = argument(0) else { return Ok(Val::Undef) };
            return match value::to_float(format, bits) {
                Some(number) => Ok(Val::Bits(value::saturated(number, width, is("fptosi.sat")))),
                None => Stop::refuse(format!("the intrinsic `{name}`")),
            };
        }
        let Type::Int(width) = *self.module.ty(ty) else {
            return Stop::refuse(format!("the intrinsic `{name}`"));
        };
        let Val::Bits(a) = argument(0) else { return self.uniform(call.ret, &Val::Undef) };
        let b = match arguments.get(1) {
            Some(Val::Bits(b)) => *b,
            Some(_) => return self.uniform(call.ret, &Val::Undef),
            None => 0,
        };
        let (x, y) = (signed(a, width), signed(b, width));
        let wrap = |number: u128| number & mask(width);
        let flagged = |wrapped: u128, fits: bool| {
            Val::Many([Val::Bits(wrap(wrapped)), Val::Bits((!fits).into())].into())
        };
        let of_signed = |exact: Option<i128>, wrapped: u128| {
            flagged(wrapped, exact.is_some_and(|exact| signed(wrap(wrapped), width) == exact))
        };
        let of_unsigned = |exact: Option<u128>, wrapped: u128| {
            flagged(wrapped, exact.is_some_and(|exact| wrap(wrapped) == exact))
        };
        // The result has no value, says the second argument, where C gives it none: `abs(INT_MIN)`, `__builtin_clz(0)`.
        if b != 0
            && (is("abs") && x < 0 && x == signed(1 << (width - 1), width)
                || (is("ctlz") || is("cttz")) && a == 0)
        {
            return Ok(Val::Undef);
        }
        let bits = if is("sadd.with.overflow") {
            let result = of_signed(x.checked_add(y), a.wrapping_add(b));
            return Ok(self.computes(local, arguments, result));
        } else if is("ssub.with.overflow") {
            let result = of_signed(x.checked_sub(y), a.wrapping_sub(b));
            return Ok(self.subtracts(local, arguments, result));
        } else if is("smul.with.overflow") {
            let result = of_signed(x.checked_mul(y), a.wrapping_mul(b));
            return Ok(self.computes(local, arguments, result));
        } else if is("uadd.with.overflow") {
            let result = of_unsigned(a.checked_add(b), a.wrapping_add(b));
            return Ok(self.computes(local, arguments, result));
        } else if is("usub.with.overflow") {
            let result = of_unsigned(a.checked_sub(b), a.wrapping_sub(b));
            return Ok(self.subtracts(local, arguments, result));
        } else if is("umul.with.overflow") {
            let result = of_unsigned(a.checked_mul(b), a.wrapping_mul(b));
            return Ok(self.computes(local, arguments, result));
        } else if is("scmp") || is("ucmp") {
            let order = if is("scmp") { x.cmp(&y) } else { a.cmp(&b) };
            return Ok(Val::Bits(order as i128 as u128 & mask(self.width(call.ret)?)));
        } else if is("smax") {
            x.max(y) as u128
        } else if is("smin") {
            x.min(y) as u128
        } else if is("umax") {
            a.max(b)
        } else if is("umin") {
            a.min(b)
        } else if is("abs") {
            x.unsigned_abs()
        } else if is("sadd.sat") || is("ssub.sat") {
            let exact = if is("sadd.sat") { x.checked_add(y) } else { x.checked_sub(y) };
            match exact.filter(|exact| signed(wrap(*exact as u128), width) == *exact) {
                Some(exact) => exact as u128,
                // What overflows does so on the side of the first operand.
                None if x < 0 => 1 << (width - 1),
                None => mask(width - 1),
            }
        } else if is("uadd.sat") {
            a.saturating_add(b).min(mask(width))
        } else if is("usub.sat") {
            a.saturating_sub(b)
        } else if is("ctpop") {
            u128::from(a.count_ones())
        } else if is("ctlz") {
            u128::from(a.leading_zeros() - (128 - width))
        } else if is("cttz") {
            u128::from(a.trailing_zeros().min(width))
        } else if is("bswap") {
            a.swap_bytes() >> (128 - width)
        } else if is("bitreverse") {
            a.reverse_bits() >> (128 - width)
        } else if is("fshl") || is("fshr") {
            let Some(Val::Bits(by)) = arguments.get(2) else { return Ok(Val::Undef) };
            let by = (*by % u128::from(width)) as u32;
            match (is("fshl"), by) {
                (true, 0) => a,
                (false, 0) => b,
                (true, by) => a << by | b >> (width - by),
                (false, by) => a << (width - by) | b >> by,
            }
        } else {
            return Stop::refuse(format!("the intrinsic `{name}`"));
        };
        Ok(self.computes(local, arguments, Val::Bits(wrap(bits))))
    }

    fn subtracts(&mut self, local: &mut Local, arguments: &[Val], result: Val) -> Val {
        let operands: Vec<&Val> = arguments.iter().collect();
        let right = arguments.get(1).unwrap_or(&Val::Undef);
        let kind = Kind::of_binary(BinaryOp::Sub, right, &result);
        self.computed(local, kind, &operands, &result);
        result
    }

    fn computes(&mut self, local: &mut Local, arguments: &[Val], result: Val) -> Val {
        let operands: Vec<&Val> = arguments.iter().collect();
        self.computed(local, Kind::Mixes, &operands, &result);
        result
    }
}
