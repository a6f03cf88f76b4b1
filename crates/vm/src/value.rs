//! Values of registers and memory: bits, or nothing that was ever written.
//!
//! Some bits of a value may be defined and others not: compilers pass a struct of a `char` and an `int` as one number,
//! padding included, and change one bit-field by reading and writing the word that all of them are in. So a value knows
//! which of its bits were ever given a value ([`Bits`]), copying and masking keep that, and whatever depends on a bit that
//! has no value is undefined as a whole.
//!
//! Pointers are numbers. Every object has a window of the address space to itself (see [`crate::space`]), so the
//! number says which object a pointer belongs to, arithmetic on it is arithmetic, and tags in its unused bits come
//! and go as they do on a machine.

use llvm::instruction::{BinaryFlags, BinaryOp, CastOp, FloatPredicate, IntPredicate};
use llvm::types::Float;

/// What a register holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Val {
    /// A number of as many bits as its type has; higher bits are 0.
    Bits(u128),
    /// No defined value: memory that was never written, `undef`, `poison`.
    Undef,
    /// A number of which only these bits have a value; some have, and some have not.
    Partly(Bits),
    /// The parts of a struct, array or vector.
    Many(Box<[Val]>),
}

/// What a memory cell holds: a [`Val`] that is no aggregate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Word {
    /// No defined value.
    Undef,
    /// A number.
    Bits(u128),
    /// A number of which only these bits have a value; some have, and some have not.
    Partly(Bits),
}

/// Bits, some of which may have no value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Bits {
    /// Their values; 0 where there is none.
    pub(crate) bits: u128,
    /// Which of them have one.
    pub(crate) defined: u128,
}

impl Bits {
    /// A number with a value in all of its bits.
    fn whole(bits: u128) -> Bits {
        Bits { bits, defined: u128::MAX }
    }

    /// The lowest `width` bits; those above have no value.
    pub(crate) fn low(self, width: u32) -> Bits {
        Bits { bits: self.bits & mask(width), defined: self.defined & mask(width) }
    }

    /// The lowest `width` bits, as memory holds them.
    pub(crate) fn word(self, width: u32) -> Word {
        let low = self.low(width);
        match low.defined {
            0 => Word::Undef,
            all if all == mask(width) => Word::Bits(low.bits),
            _ => Word::Partly(Bits { bits: low.bits & low.defined, ..low }),
        }
    }

    /// Some bits further down; what comes from above has no value.
    pub(crate) fn down(self, by: u32) -> Bits {
        let down = |bits: u128| bits.checked_shr(by).unwrap_or(0);
        Bits { bits: down(self.bits), defined: down(self.defined) }
    }

    /// Some bits further up; what comes from below has no value.
    pub(crate) fn up(self, by: u32) -> Bits {
        let up = |bits: u128| bits.checked_shl(by).unwrap_or(0);
        Bits { bits: up(self.bits), defined: up(self.defined) }
    }

    /// The bits of both, none of which has a value in both.
    pub(crate) fn join(self, other: Bits) -> Bits {
        Bits { bits: self.bits | other.bits, defined: self.defined | other.defined }
    }
}

impl Word {
    /// The number 0.
    pub(crate) const ZERO: Word = Word::Bits(0);

    /// Its bits.
    pub(crate) fn bits(self) -> Bits {
        match self {
            Word::Undef => Bits::default(),
            Word::Bits(bits) => Bits::whole(bits),
            Word::Partly(bits) => bits,
        }
    }
}

impl From<Word> for Val {
    fn from(word: Word) -> Val {
        match word {
            Word::Undef => Val::Undef,
            Word::Bits(bits) => Val::Bits(bits),
            Word::Partly(bits) => Val::Partly(bits),
        }
    }
}

impl Val {
    /// The value as memory holds it; aggregates are stored part by part, never whole.
    pub(crate) fn word(&self) -> Word {
        match self {
            Val::Bits(bits) => Word::Bits(*bits),
            Val::Partly(bits) => Word::Partly(*bits),
            Val::Undef | Val::Many(_) => Word::Undef,
        }
    }
}

/// The lowest `width` bits.
pub(crate) fn mask(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

/// The number that these bits are in two's complement.
pub(crate) fn signed(bits: u128, width: u32) -> i128 {
    let unused = 128u32.saturating_sub(width);
    ((bits << unused) as i128) >> unused
}

/// What C leaves undefined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wrong {
    /// A signed result that its type has no room for.
    Overflow,
    /// A division by 0, or of the smallest number by -1.
    Division,
    /// A shift by as many bits as there are, or more.
    Shift,
}

/// An operation on integers. `None` for operations on floating-point numbers.
pub(crate) fn binary(
    op: BinaryOp,
    flags: BinaryFlags,
    width: u32,
    left: u128,
    right: u128,
) -> Option<Result<u128, Wrong>> {
    let (a, b) = (signed(left, width), signed(right, width));
    let wrap = |exact: u128| exact & mask(width);
    // Exact results of 128-bit operations may not fit 128 bits; `checked_…` notices.
    let fits = |exact: Option<i128>| {
        exact.is_some_and(|exact| signed(wrap(exact as u128), width) == exact)
    };
    let sum = |exact: Option<i128>, wrapped: u128| match flags.nsw && !fits(exact) {
        true => Err(Wrong::Overflow),
        false => Ok(wrap(wrapped)),
    };
    Some(match op {
        BinaryOp::Add => sum(a.checked_add(b), left.wrapping_add(right)),
        BinaryOp::Sub => sum(a.checked_sub(b), left.wrapping_sub(right)),
        BinaryOp::Mul => sum(a.checked_mul(b), left.wrapping_mul(right)),
        BinaryOp::UDiv | BinaryOp::URem | BinaryOp::SDiv | BinaryOp::SRem if right == 0 => {
            Err(Wrong::Division)
        }
        BinaryOp::UDiv => Ok(left / right),
        BinaryOp::URem => Ok(left % right),
        // Where the quotient does not fit, the rest is undefined, too (C11, 6.5.5).
        BinaryOp::SDiv | BinaryOp::SRem if !fits(a.checked_div(b)) => Err(Wrong::Division),
        BinaryOp::SDiv => Ok(wrap((a / b) as u128)),
        BinaryOp::SRem => Ok(wrap((a % b) as u128)),
        BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr if right >= u128::from(width) => {
            Err(Wrong::Shift)
        }
        BinaryOp::Shl => {
            let shifted = wrap(left << right);
            match flags.nsw && signed(shifted, width) >> right != a {
                true => Err(Wrong::Overflow),
                false => Ok(shifted),
            }
        }
        BinaryOp::LShr => Ok(left >> right),
        BinaryOp::AShr => Ok(wrap((a >> right) as u128)),
        BinaryOp::And => Ok(left & right),
        BinaryOp::Or => Ok(left | right),
        BinaryOp::Xor => Ok(left ^ right),
        _ => return None,
    })
}

/// An operation on numbers of which only some bits have a value. `None` if nothing is known of the result: all of it may
/// depend on bits without a value.
pub(crate) fn binary_of_parts(op: BinaryOp, width: u32, left: Word, right: Word) -> Option<Word> {
    let (a, b) = (left.bits(), right.bits());
    let (known, set) = (|bits: Bits| bits.defined, |bits: Bits| bits.bits & bits.defined);
    let by = || match right {
        Word::Bits(by) if by < u128::from(width) => Some(by as u32),
        _ => None,
    };
    let result = match op {
        // A bit of the result has a value if both have one, or one decides it.
        BinaryOp::And => Bits {
            bits: set(a) & set(b),
            defined: known(a) & known(b) | known(a) & !set(a) | known(b) & !set(b),
        },
        BinaryOp::Or => {
            Bits { bits: set(a) | set(b), defined: known(a) & known(b) | set(a) | set(b) }
        }
        BinaryOp::Xor => Bits { bits: a.bits ^ b.bits, defined: known(a) & known(b) },
        BinaryOp::Shl => a.up(by()?).join(Bits { bits: 0, defined: mask(by()?) }),
        BinaryOp::LShr => {
            let zeros = mask(width) & !(mask(width) >> by()?);
            a.low(width).down(by()?).join(Bits { bits: 0, defined: zeros })
        }
        BinaryOp::AShr => {
            let wide = cast_of_parts(CastOp::SExt, left, width, 128)?;
            wide.bits().down(by()?)
        }
        _ => return None,
    };
    Some(result.word(width))
}

/// Are the numbers equal, as far as the bits tell that have a value in both?
pub(crate) fn differ_in_parts(left: Word, right: Word, width: u32) -> bool {
    let (a, b) = (left.bits(), right.bits());
    (a.bits ^ b.bits) & a.defined & b.defined & mask(width) != 0
}

/// A conversion of a number of which only some bits have a value; `None` as for [`cast`].
pub(crate) fn cast_of_parts(op: CastOp, value: Word, from: u32, to: u32) -> Option<Word> {
    let (own, above) = (value.bits().low(from), mask(to) & !mask(from));
    let sign = 1u128 << (from - 1);
    let result = match op {
        CastOp::SExt if own.defined & sign == 0 => own,
        CastOp::SExt if own.bits & sign != 0 => own.join(Bits { bits: above, defined: above }),
        CastOp::SExt | CastOp::ZExt | CastOp::PtrToInt | CastOp::IntToPtr => {
            own.join(Bits { bits: 0, defined: above })
        }
        CastOp::Trunc | CastOp::PtrToAddr | CastOp::BitCast | CastOp::AddrSpaceCast => own,
        _ => return None,
    };
    Some(result.word(to))
}

/// A comparison of integers or pointers.
pub(crate) fn compare(predicate: IntPredicate, width: u32, left: u128, right: u128) -> bool {
    let (a, b) = (signed(left, width), signed(right, width));
    match predicate {
        IntPredicate::Eq => left == right,
        IntPredicate::Ne => left != right,
        IntPredicate::Ugt => left > right,
        IntPredicate::Uge => left >= right,
        IntPredicate::Ult => left < right,
        IntPredicate::Ule => left <= right,
        IntPredicate::Sgt => a > b,
        IntPredicate::Sge => a >= b,
        IntPredicate::Slt => a < b,
        IntPredicate::Sle => a <= b,
    }
}

/// The number with these bits; `None` for formats that are not computed with.
pub(crate) fn to_float(format: Float, bits: u128) -> Option<f64> {
    match format {
        Float::Single => Some(f64::from(f32::from_bits(bits as u32))),
        Float::Double => Some(f64::from_bits(bits as u64)),
        _ => None,
    }
}

/// The bits of a number.
pub(crate) fn from_float(format: Float, number: f64) -> Option<u128> {
    match format {
        Float::Single => Some(u128::from((number as f32).to_bits())),
        Float::Double => Some(u128::from(number.to_bits())),
        _ => None,
    }
}

/// The bits of an integer as a floating-point number, rounded once.
pub(crate) fn of_unsigned(format: Float, integer: u128) -> Option<u128> {
    match format {
        Float::Single => Some(u128::from((integer as f32).to_bits())),
        Float::Double => Some(u128::from((integer as f64).to_bits())),
        _ => None,
    }
}

/// The same of a number with a sign.
pub(crate) fn of_signed(format: Float, integer: i128) -> Option<u128> {
    match format {
        Float::Single => Some(u128::from((integer as f32).to_bits())),
        Float::Double => Some(u128::from((integer as f64).to_bits())),
        _ => None,
    }
}

/// What is left of a floating-point number without its fraction, as bits of an integer of this width, if it fits; if
/// it does not, C gives the result no value (C11, 6.3.1.4).
pub(crate) fn to_integer(number: f64, width: u32, is_signed: bool) -> Option<u128> {
    let whole = number.trunc();
    let (least, above) = match is_signed {
        true => (-(2f64.powi(width as i32 - 1)), 2f64.powi(width as i32 - 1)),
        false => (0.0, 2f64.powi(width as i32)),
    };
    let fits = least <= whole && whole < above;
    fits.then(|| match is_signed {
        true => whole as i128 as u128 & mask(width),
        false => whole as u128,
    })
}

/// The same, or the nearest integer that fits; 0 for what is no number.
pub(crate) fn saturated(number: f64, width: u32, is_signed: bool) -> u128 {
    match to_integer(number, width, is_signed) {
        Some(integer) => integer,
        None if number.is_nan() || number < 0.0 && !is_signed => 0,
        None if number < 0.0 => 1 << (width - 1),
        None => mask(width - u32::from(is_signed)),
    }
}

/// An operation on floating-point numbers. Single precision is computed in double precision and rounded, which is
/// exact for these operations.
pub(crate) fn float_binary(op: BinaryOp, left: f64, right: f64) -> Option<f64> {
    Some(match op {
        BinaryOp::FAdd => left + right,
        BinaryOp::FSub => left - right,
        BinaryOp::FMul => left * right,
        BinaryOp::FDiv => left / right,
        BinaryOp::FRem => left % right,
        _ => return None,
    })
}

/// A comparison of floating-point numbers.
pub(crate) fn float_compare(predicate: FloatPredicate, left: f64, right: f64) -> bool {
    use FloatPredicate as P;
    let unordered = left.is_nan() || right.is_nan();
    match predicate {
        P::False => false,
        P::True => true,
        P::Ord => !unordered,
        P::Uno => unordered,
        P::Oeq => left == right,
        P::Ogt => left > right,
        P::Oge => left >= right,
        P::Olt => left < right,
        P::Ole => left <= right,
        P::One => !unordered && left != right,
        P::Ueq => unordered || left == right,
        P::Ugt => unordered || left > right,
        P::Uge => unordered || left >= right,
        P::Ult => unordered || left < right,
        P::Ule => unordered || left <= right,
        P::Une => left != right,
    }
}

/// A conversion between integers and pointers of `from` and `to` bits. `None` for floating-point numbers.
pub(crate) fn cast(op: CastOp, bits: u128, from: u32, to: u32) -> Option<u128> {
    Some(match op {
        CastOp::SExt => signed(bits, from) as u128 & mask(to),
        CastOp::Trunc
        | CastOp::ZExt
        | CastOp::PtrToInt
        | CastOp::PtrToAddr
        | CastOp::IntToPtr
        | CastOp::BitCast
        | CastOp::AddrSpaceCast => bits & mask(to),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_overflow_is_noticed_and_unsigned_wraps() {
        let nsw = BinaryFlags { nsw: true, ..BinaryFlags::default() };
        let plain = BinaryFlags::default();
        let max = i32::MAX as u128;
        assert_eq!(binary(BinaryOp::Add, nsw, 32, max, 1), Some(Err(Wrong::Overflow)));
        assert_eq!(binary(BinaryOp::Add, plain, 32, max, 1), Some(Ok(max + 1)));
        assert_eq!(binary(BinaryOp::Sub, nsw, 32, 0, 1), Some(Ok(mask(32))));
        assert_eq!(binary(BinaryOp::SDiv, plain, 8, 0x80, 0xff), Some(Err(Wrong::Division)));
        assert_eq!(binary(BinaryOp::AShr, plain, 8, 0x80, 7), Some(Ok(0xff)));
        assert_eq!(binary(BinaryOp::Shl, nsw, 8, 0x40, 1), Some(Err(Wrong::Overflow)));
        assert_eq!(binary(BinaryOp::Mul, nsw, 128, 1 << 100, 1 << 100), Some(Err(Wrong::Overflow)));
    }

    /// Catches masks and shifts that lose a bit's value, or give one to a bit that has none.
    #[test]
    fn every_bit_has_a_value_or_none() {
        let low = Bits { bits: 0x5, defined: 0xf }.word(8);
        let whole = Word::Bits;
        let of = |op, a, b| binary_of_parts(op, 8, a, b);
        assert_eq!(of(BinaryOp::And, low, whole(0xf)), Some(whole(5)));
        assert_eq!(of(BinaryOp::Or, low, whole(0xf0)), Some(whole(0xf5)));
        assert_eq!(of(BinaryOp::Or, Word::Undef, whole(0)), Some(Word::Undef));
        assert_eq!(of(BinaryOp::Shl, low, whole(4)), Some(whole(0x50)));
        assert_eq!(
            of(BinaryOp::LShr, low, whole(4)),
            Some(Bits { bits: 0, defined: 0xf0 }.word(8))
        );
        assert_eq!(of(BinaryOp::AShr, low, whole(4)), Some(Word::Undef));
        assert_eq!(
            of(BinaryOp::AShr, Bits { bits: 0x80, defined: 0xf0 }.word(8), whole(4)),
            Some(whole(0xf8))
        );
        assert_eq!(of(BinaryOp::Add, low, whole(1)), None);
        assert_eq!(cast_of_parts(CastOp::Trunc, low, 8, 4), Some(whole(5)));
        assert_eq!(
            cast_of_parts(CastOp::ZExt, low, 8, 16),
            Some(Bits { bits: 5, defined: 0xff0f }.word(16))
        );
        assert_eq!(cast_of_parts(CastOp::SExt, low, 8, 16), Some(low));
        assert!(differ_in_parts(low, whole(6), 8) && !differ_in_parts(low, whole(0x15), 8));
    }

    #[test]
    fn comparisons_know_signs() {
        assert!(compare(IntPredicate::Slt, 8, 0xff, 0));
        assert!(compare(IntPredicate::Ugt, 8, 0xff, 0));
    }
}
