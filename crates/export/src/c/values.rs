//! The program's values in C: the types that hold them, and expressions with Fencepost's arithmetic.
//!
//! Registers have a type with room for every exact result, locations the type whose values are those of
//! the domain, if there is one. A helper function brings exact results into the domain. What makes an
//! expression a run-time error is a failing assertion of a helper.

use crate::text::Text;
use ir::expr::{Binary, Op, Unary};
use ir::{Domain, Edge, Expr, UpdateOp, Value};
use std::collections::BTreeSet;

/// C's integer types and their values.
const TYPES: [(&str, i64, i64); 7] = [
    ("uint8_t", 0, u8::MAX as i64),
    ("int8_t", i8::MIN as i64, i8::MAX as i64),
    ("uint16_t", 0, u16::MAX as i64),
    ("int16_t", i16::MIN as i64, i16::MAX as i64),
    ("uint32_t", 0, u32::MAX as i64),
    ("int32_t", i32::MIN as i64, i32::MAX as i64),
    ("int64_t", i64::MIN, i64::MAX),
];

/// The functions that an exported program may bring along.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Helper {
    /// Brings an exact result into the domain.
    Value,
    /// Tests a divisor.
    Divisor,
    /// Tests an index.
    Index,
    /// A verifier's: ends the thread unless its argument holds.
    Assume,
    /// A verifier's: any truth value.
    Choose,
}

/// Writes the expressions of a program and remembers which helpers they need.
pub(crate) struct Values {
    domain: Domain,
    /// The type of locations.
    pub(crate) cell: &'static str,
    /// The type of registers.
    pub(crate) wide: &'static str,
    /// Are the values of `cell` those of the domain?
    exact: bool,
    /// The helpers used so far.
    pub(crate) used: BTreeSet<Helper>,
}

impl Values {
    pub(crate) fn new(domain: Domain) -> Self {
        let Domain { min, max, .. } = domain;
        let same = TYPES.iter().find(|(_, low, high)| (*low, *high) == (min, max));
        let is_int = i32::try_from(min).is_ok() && i32::try_from(max).is_ok();
        let cell = match same {
            Some((name, ..)) => name,
            None if is_int => "int",
            None => "int64_t",
        };
        // Products of values of 32 bits, signed, are exact in 64.
        let wide = if is_int { "int64_t" } else { "__int128" };
        Values { domain, cell, wide, exact: same.is_some(), used: BTreeSet::new() }
    }

    /// The expression, in terms of the registers' names.
    pub(crate) fn expr(&mut self, expr: &Expr, registers: &[String]) -> Text {
        let mut stack: Vec<Text> = Vec::new();
        for op in expr.clone().into_postfix() {
            let result = match op {
                Op::Const(value) => self.number(value),
                Op::Reg(reg) => Text::word(registers[reg.index()].as_str()),
                Op::Unary(op) => {
                    let a = stack.pop().expect("postfix code has its operands");
                    let exact = Text::open(format!("{}{}", op.symbol(), a.operand()));
                    if op == Unary::Neg { self.reduced(exact) } else { exact }
                }
                Op::Binary(op) => {
                    let b = stack.pop().expect("postfix code has its operands");
                    let a = stack.pop().expect("postfix code has its operands");
                    self.binary(op, &a, &b)
                }
            };
            stack.push(result);
        }
        stack.pop().expect("postfix code has a result")
    }

    /// An operator applied to two operands.
    pub(crate) fn binary(&mut self, op: Binary, a: &Text, b: &Text) -> Text {
        let divides = matches!(op, Binary::Div | Binary::Rem);
        let b = match divides && !is_nonzero(b) {
            true => format!("{}({})", self.helper(Helper::Divisor), b.clone().alone()),
            false => b.operand(),
        };
        let exact = Text::open(format!("{} {} {b}", a.operand(), op.symbol()));
        if self.may_leave(op) { self.reduced(exact) } else { exact }
    }

    /// Can the exact result of an operator lie outside the domain?
    fn may_leave(&self, op: Binary) -> bool {
        let Domain { min, max, .. } = self.domain;
        // A domain of all numbers with so many bits is closed under operations on bits.
        let all_bits = (max as u64).wrapping_add(1).is_power_of_two() && (min == 0 || min == !max);
        match op {
            Binary::Or | Binary::And | Binary::Eq | Binary::Ne => false,
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => false,
            Binary::BitAnd => min < 0 && !all_bits,
            Binary::BitOr | Binary::BitXor => !all_bits,
            Binary::Div | Binary::Rem => min < 0,
            Binary::Add | Binary::Sub | Binary::Mul => true,
        }
    }

    /// Can C's read-modify-write leave the domain, and should not?
    pub(crate) fn wraps_elsewhere(&self, op: UpdateOp) -> bool {
        let leaves = op == UpdateOp::Nand || op.binary().is_some_and(|op| self.may_leave(op));
        leaves && !self.exact && (self.domain.edge == Edge::Wrap || op == UpdateOp::Nand)
    }

    /// Is it an error if the result of this read-modify-write is outside the domain?
    pub(crate) fn must_be_tested(&self, op: UpdateOp) -> Option<Binary> {
        op.binary().filter(|op| self.domain.edge == Edge::Fault && self.may_leave(*op))
    }

    fn reduced(&mut self, exact: Text) -> Text {
        Text::word(format!("{}({})", self.helper(Helper::Value), exact.alone()))
    }

    /// An index that must be one of the `len` first numbers.
    pub(crate) fn index(&mut self, index: &Expr, len: u32, registers: &[String]) -> Text {
        let text = self.expr(index, registers);
        let in_range = match index.as_const() {
            Some(value) => (0..Value::from(len)).contains(&value),
            None => self.domain.min >= 0 && self.domain.max < Value::from(len),
        };
        if in_range {
            return text;
        }
        Text::word(format!("{}({}, {len})", self.helper(Helper::Index), text.alone()))
    }

    /// A number. Small ones need no type: no operator makes an overflow of two of them.
    pub(crate) fn number(&self, value: Value) -> Text {
        let wide = self.wide;
        match value {
            -32768..0 => Text::word(format!("({value})")),
            0..=32767 => Text::word(value.to_string()),
            Value::MIN => Text::word(format!("(({wide})(INT64_MIN))")),
            _ => Text::word(format!("(({wide}){value})")),
        }
    }

    /// The name of a helper, which the program brings along from now on.
    pub(crate) fn helper(&mut self, helper: Helper) -> &'static str {
        self.used.insert(helper);
        match helper {
            Helper::Value => "fp_value",
            Helper::Divisor => "fp_divisor",
            Helper::Index => "fp_index",
            Helper::Assume => "__VERIFIER_assume",
            Helper::Choose => "__VERIFIER_nondet_bool",
        }
    }

    /// The text of a helper.
    pub(crate) fn definition(&self, helper: Helper) -> String {
        let Domain { min, max, edge } = self.domain;
        let (wide, first, last) = (self.wide, self.number(min).alone(), self.number(max).alone());
        match (helper, edge) {
            (Helper::Value, Edge::Wrap) => format!(
                "/* Arithmetic wraps around: the values are those from {min} to {max}. */\n\
                 static {wide} fp_value({wide} exact) {{\n    \
                 const {wide} size = ({wide}){last} - {first} + 1;\n    \
                 {wide} above = (exact - {first}) % size;\n    \
                 return (above < 0 ? above + size : above) + {first};\n}}\n"
            ),
            (Helper::Value, Edge::Fault) => format!(
                "/* It is an error to leave the values from {min} to {max}. */\n\
                 static {wide} fp_value({wide} exact) {{\n    \
                 assert({first} <= exact && exact <= {last});\n    return exact;\n}}\n"
            ),
            (Helper::Divisor, _) => format!(
                "static {wide} fp_divisor({wide} divisor) {{\n    \
                 assert(divisor != 0);\n    return divisor;\n}}\n"
            ),
            (Helper::Index, _) => format!(
                "static {wide} fp_index({wide} index, {wide} length) {{\n    \
                 assert(0 <= index && index < length);\n    return index;\n}}\n"
            ),
            (Helper::Assume, _) => "void __VERIFIER_assume(int);\n".into(),
            (Helper::Choose, _) => "_Bool __VERIFIER_nondet_bool(void);\n".into(),
        }
    }
}

fn is_nonzero(text: &Text) -> bool {
    text.clone().alone().trim_matches(['(', ')']).parse::<Value>().is_ok_and(|value| value != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::Reg;

    fn written(op: Binary, domain: Domain) -> String {
        let registers = ["a".to_string(), "b".to_string()];
        let expr = Expr::binary(op, Expr::Reg(Reg(0)), Expr::Reg(Reg(1))).expect("not deep");
        Values::new(domain).expr(&expr, &registers).alone()
    }

    /// Catches results that are not brought into the domain, and helpers where none is needed.
    #[test]
    fn every_operator_is_brought_into_the_domain() {
        let signed = Domain { min: -5, max: 5, edge: Edge::Wrap };
        for (op, byte, few, negative) in [
            (Binary::Add, "fp_value(a + b)", "fp_value(a + b)", "fp_value(a + b)"),
            (Binary::BitAnd, "a & b", "a & b", "fp_value(a & b)"),
            (Binary::BitXor, "a ^ b", "fp_value(a ^ b)", "fp_value(a ^ b)"),
            (Binary::Rem, "a % fp_divisor(b)", "a % fp_divisor(b)", "fp_value(a % fp_divisor(b))"),
            (Binary::Le, "a <= b", "a <= b", "a <= b"),
        ] {
            assert_eq!(written(op, Domain::modulo(255)), byte);
            assert_eq!(written(op, Domain::modulo(2)), few);
            assert_eq!(written(op, signed), negative);
        }
    }

    /// Catches a type that wraps around elsewhere than the program's values.
    #[test]
    fn updates_wrap_around_where_a_type_does() {
        let fits = |domain, op| !Values::new(domain).wraps_elsewhere(op);
        for op in UpdateOp::ALL {
            assert!(fits(Domain::modulo(255), op), "{op:?}");
            assert!(fits(Domain { min: i64::MIN, max: i64::MAX, edge: Edge::Wrap }, op), "{op:?}");
        }
        let three = Domain::modulo(3);
        assert!(!fits(three, UpdateOp::Add) && !fits(three, UpdateOp::Nand));
        assert!(fits(three, UpdateOp::Or) && fits(three, UpdateOp::Max));
        assert!(!fits(Domain::modulo(2), UpdateOp::Or) && fits(Domain::modulo(2), UpdateOp::Set));
        assert!(fits(Domain { edge: Edge::Fault, ..three }, UpdateOp::Add));
    }
}
