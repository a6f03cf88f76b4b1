//! Functions of C's `math.h` whose results are exact or rounded correctly, so that every library gives the same: by their
//! names, and as the compiler has them.

use crate::action::Stop;
use crate::machine::Machine;
use crate::value::{self, Val};
use llvm::types::Float;

impl Machine {
    pub(super) fn math_function(
        &mut self,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let is_known = |name: &str| exact(name, &[0.0; 3]).is_some();
        let (name, format) = match name.strip_prefix("llvm.").map(|name| name.rsplit_once('.')) {
            Some(Some((name, "f32"))) => (name, Float::Single),
            Some(Some((name, "f64"))) => (name, Float::Double),
            Some(_) => return None,
            // `sqrtf` is `sqrt` in single precision.
            None => match name.strip_suffix('f').filter(|name| is_known(name)) {
                Some(name) => (name, Float::Single),
                None => (name, Float::Double),
            },
        };
        if !is_known(name) {
            return None;
        }
        let mut numbers = Vec::new();
        for argument in arguments {
            let Val::Bits(bits) = argument else { return Some(Ok(Val::Undef)) };
            numbers.push(value::to_float(format, *bits)?);
        }
        // Single precision is computed in double precision and rounded, which is exact for all but a product that is added to.
        let result = match (format, name, &numbers[..]) {
            (Float::Single, "fma", [a, b, c]) => {
                f64::from((*a as f32).mul_add(*b as f32, *c as f32))
            }
            (Float::Single, "fmuladd", [a, b, c]) => f64::from(*a as f32 * *b as f32 + *c as f32),
            _ => exact(name, &numbers)?,
        };
        Some(Ok(Val::Bits(value::from_float(format, result)?)))
    }
}

/// The result of a function, if it is one of those that are known and has as many arguments.
fn exact(name: &str, numbers: &[f64]) -> Option<f64> {
    let number = |k: usize| numbers.get(k).copied();
    let (a, b, c) = (number(0)?, number(1), number(2));
    Some(match name {
        "sqrt" => a.sqrt(),
        "fabs" => a.abs(),
        "floor" => a.floor(),
        "ceil" => a.ceil(),
        "trunc" => a.trunc(),
        "round" => a.round(),
        "rint" | "nearbyint" | "roundeven" => a.round_ties_even(),
        "copysign" => a.copysign(b?),
        "fmin" | "minnum" => a.min(b?),
        "fmax" | "maxnum" => a.max(b?),
        "fmod" => a % b?,
        // The product may be rounded before it is added to, and is where there is no instruction for both.
        "fmuladd" => a * b? + c?,
        "fma" => a.mul_add(b?, c?),
        _ => return None,
    })
}
