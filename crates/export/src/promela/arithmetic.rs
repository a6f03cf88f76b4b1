//! Expressions in Promela, with Fencepost's arithmetic.
//!
//! Promela computes with C's `int` and cuts a result when it is stored. Fencepost brings the result
//! of every operator into the program's domain, so that is written out, wherever an operator can
//! leave the domain at all. What makes an expression a run-time error becomes a condition to be
//! tested before it is evaluated.

use crate::ExportError;
use crate::text::Text;
use ir::expr::{Binary, Op, Unary};
use ir::{Domain, Edge, Expr, UpdateOp, Value};
use std::ops::RangeInclusive;

/// Something that must hold for an expression to have a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    /// The condition.
    pub(super) text: Text,
    /// What is wrong when it does not hold.
    pub(super) otherwise: &'static str,
}

/// Writes the expressions of one instruction and collects what they require.
pub(super) struct Arithmetic<'a> {
    domain: Domain,
    /// The names of the thread's registers.
    registers: &'a [String],
    /// What must hold for all expressions written so far to have values, in the order in which to
    /// test it: later conditions may have values only if the earlier ones hold.
    pub(super) conditions: Vec<Condition>,
}

impl<'a> Arithmetic<'a> {
    pub(super) fn new(domain: Domain, registers: &'a [String]) -> Self {
        Arithmetic { domain, registers, conditions: Vec::new() }
    }

    /// The expression.
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<Text, ExportError> {
        let code = expr.clone().into_postfix();
        let mut stack: Vec<Text> = Vec::new();
        for op in code {
            let result = match op {
                Op::Const(value) => number(value),
                Op::Reg(reg) => Text::word(self.registers[reg.index()].as_str()),
                Op::Unary(op) => {
                    let a = stack.pop().expect("postfix code has its operands");
                    self.unary(op, &a)?
                }
                Op::Binary(op) => {
                    let b = stack.pop().expect("postfix code has its operands");
                    let a = stack.pop().expect("postfix code has its operands");
                    self.binary(op, &a, &b)?
                }
            };
            stack.push(result);
        }
        Ok(stack.pop().expect("postfix code has a result"))
    }

    fn unary(&mut self, op: Unary, a: &Text) -> Result<Text, ExportError> {
        let (min, max) = self.bounds();
        let exact = Text::open(format!("{}{}", op.symbol(), a.operand()));
        match op {
            Unary::Not => Ok(exact),
            Unary::Neg => self.reduce(op.symbol(), exact, -max..=-min),
        }
    }

    /// An operator applied to two operands.
    pub(super) fn binary(&mut self, op: Binary, a: &Text, b: &Text) -> Result<Text, ExportError> {
        let exact = Text::open(format!("{} {} {}", a.operand(), op.symbol(), b.operand()));
        let (min, max) = self.bounds();
        let largest = max.max(-min);
        let range = match op {
            Binary::Or | Binary::And => return Ok(exact),
            Binary::Eq | Binary::Ne => return Ok(exact),
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => return Ok(exact),
            Binary::BitAnd if min >= 0 => return Ok(exact),
            Binary::BitOr | Binary::BitXor | Binary::BitAnd => {
                let power = (largest as u128 + 1).next_power_of_two() as i128;
                if min < 0 { -power..=power - 1 } else { 0..=power - 1 }
            }
            Binary::Add => 2 * min..=2 * max,
            Binary::Sub => min - max..=max - min,
            Binary::Mul => {
                let products = [min * min, min * max, max * max];
                products.into_iter().min().unwrap_or(0)..=products.into_iter().max().unwrap_or(0)
            }
            Binary::Div | Binary::Rem => {
                if !is_nonzero_number(b) {
                    self.conditions.push(Condition {
                        text: Text::open(format!("{} != 0", b.operand())),
                        otherwise: "division by zero",
                    });
                }
                if min >= 0 {
                    return Ok(exact);
                }
                -largest..=largest
            }
        };
        self.reduce(op.symbol(), exact, range)
    }

    /// What a read-modify-write makes of `old`.
    pub(super) fn update(
        &mut self,
        op: UpdateOp,
        old: &Text,
        operand: Text,
    ) -> Result<Text, ExportError> {
        if let Some(op) = op.binary() {
            return self.binary(op, old, &operand);
        }
        let (a, b) = (old.operand(), operand.operand());
        Ok(match op {
            UpdateOp::Nand => {
                let both = self.binary(Binary::BitAnd, old, &operand)?.operand();
                let (min, max) = self.bounds();
                let range = min + max - max..=min + max - min;
                let exact = Text::open(format!("{} - {both}", min + max));
                self.reduce(op.keyword(), exact, range)?
            }
            UpdateOp::Max => Text::word(format!("({a} > {b} -> {a} : {b})")),
            UpdateOp::Min => Text::word(format!("({a} < {b} -> {a} : {b})")),
            _ => operand,
        })
    }

    /// Brings an exact result, known to be in `range`, into the domain.
    fn reduce(
        &mut self,
        operator: &'static str,
        exact: Text,
        range: RangeInclusive<i128>,
    ) -> Result<Text, ExportError> {
        let (min, max) = self.bounds();
        let (low, high) = range.into_inner();
        if min <= low && high <= max {
            return Ok(exact);
        }
        let size = self.domain.size() as i128;
        let fits = |value: i128| i32::try_from(value).is_ok();
        if ![low, high, low - min, high - min, low + size, 2 * size].into_iter().all(fits) {
            let Domain { min, max, .. } = self.domain;
            return Err(ExportError::TooWide { operator, min, max });
        }
        let text = exact.operand();
        Ok(match self.domain.edge {
            Edge::Fault => {
                let above = (low < min).then(|| format!("{text} >= {min}"));
                let below = (high > max).then(|| format!("{text} <= {max}"));
                let both: Vec<String> = above.into_iter().chain(below).collect();
                self.conditions.push(Condition {
                    text: Text::open(both.join(" && ")),
                    otherwise: "value out of range",
                });
                exact
            }
            Edge::Wrap if min == 0 && low >= 0 => Text::open(format!("{text} % {size}")),
            Edge::Wrap if min == 0 && low >= -size => {
                Text::open(format!("({text} + {size}) % {size}"))
            }
            Edge::Wrap => {
                let smallest = number(self.domain.min).operand();
                let rest = format!("({text} - {smallest}) % {size}");
                Text::open(format!("(({rest} + {size}) % {size}) + {smallest}"))
            }
        })
    }

    /// `index`, which must be one of the `len` first numbers.
    pub(super) fn index(&mut self, index: &Expr, len: u32) -> Result<Text, ExportError> {
        let text = self.expr(index)?;
        let (min, max) = self.bounds();
        let in_range = match index.as_const() {
            Some(value) => (0..Value::from(len)).contains(&value),
            None => min >= 0 && max < i128::from(len),
        };
        if !in_range {
            let operand = text.operand();
            let above = if min < 0 { format!("{operand} >= 0 && ") } else { String::new() };
            self.conditions.push(Condition {
                text: Text::open(format!("{above}{operand} < {len}")),
                otherwise: "index out of range",
            });
        }
        Ok(text)
    }

    fn bounds(&self) -> (i128, i128) {
        (self.domain.min.into(), self.domain.max.into())
    }
}

/// A number.
pub(super) fn number(value: Value) -> Text {
    if value < 0 { Text::word(format!("({value})")) } else { Text::word(value.to_string()) }
}

fn is_nonzero_number(text: &Text) -> bool {
    text.clone().alone().trim_matches(['(', ')']).parse::<Value>().is_ok_and(|value| value != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::{Reg, RegSet};

    fn written(expr: &Expr, domain: Domain) -> (String, Vec<String>) {
        let registers: Vec<String> = (0..RegSet::CAPACITY).map(|k| format!("r{k}")).collect();
        let mut arithmetic = Arithmetic::new(domain, &registers);
        let text = arithmetic.expr(expr).expect("fits").alone();
        (text, arithmetic.conditions.into_iter().map(|condition| condition.text.alone()).collect())
    }

    fn apply(op: Binary, a: Expr, b: Expr) -> Expr {
        Expr::binary(op, a, b).expect("not deep")
    }

    /// Catches results that are not reduced, and reductions where nothing can leave the domain.
    #[test]
    fn every_operator_is_brought_into_the_domain() {
        let (a, b) = (Expr::Reg(Reg(0)), Expr::Reg(Reg(1)));
        let in_domain = |op, max| written(&apply(op, a.clone(), b.clone()), Domain::modulo(max)).0;
        assert_eq!(in_domain(Binary::Add, 3), "(r0 + r1) % 4");
        assert_eq!(in_domain(Binary::Sub, 3), "((r0 - r1) + 4) % 4");
        assert_eq!(in_domain(Binary::Mul, 1), "r0 * r1");
        assert_eq!(in_domain(Binary::BitOr, 3), "r0 | r1");
        assert_eq!(in_domain(Binary::BitOr, 4), "(r0 | r1) % 5");
        assert_eq!(in_domain(Binary::BitAnd, 4), "r0 & r1");
        let minus = Expr::unary(Unary::Neg, a.clone()).expect("not deep");
        assert_eq!(written(&minus, Domain::modulo(6)).0, "((-r0) + 7) % 7");
    }

    /// A divisor that is itself a quotient needs its own divisor tested first.
    #[test]
    fn conditions_come_in_the_order_of_evaluation() {
        let (a, b, c) = (Expr::Reg(Reg(0)), Expr::Reg(Reg(1)), Expr::Reg(Reg(2)));
        let nested = apply(Binary::Div, a, apply(Binary::Rem, b, c));
        let (text, conditions) = written(&nested, Domain::modulo(9));
        assert_eq!(text, "r0 / (r1 % r2)");
        assert_eq!(conditions, ["r2 != 0", "(r1 % r2) != 0"]);
    }

    #[test]
    fn a_domain_without_wrap_has_conditions_instead() {
        let sum = apply(Binary::Add, Expr::Reg(Reg(0)), Expr::Const(-2));
        let strict = Domain { min: -5, max: 5, edge: Edge::Fault };
        let expected = ("r0 + (-2)".into(), vec!["(r0 + (-2)) >= -5 && (r0 + (-2)) <= 5".into()]);
        assert_eq!(written(&sum, strict), expected);
        let wrapping = Domain { edge: Edge::Wrap, ..strict };
        let text = "((((r0 + (-2)) - (-5)) % 11 + 11) % 11) + (-5)";
        assert_eq!(written(&sum, wrapping).0, text);
    }

    #[test]
    fn products_that_need_more_than_32_bits_are_refused() {
        let product = apply(Binary::Mul, Expr::Reg(Reg(0)), Expr::Reg(Reg(0)));
        let registers = ["r".to_string()];
        let mut arithmetic = Arithmetic::new(Domain::modulo(1_000_000), &registers);
        let error = arithmetic.expr(&product).expect_err("10^12 is too much");
        assert!(error.to_string().starts_with("`*` on values 0..=1000000 needs more"));
        let sum = apply(Binary::Add, Expr::Reg(Reg(0)), Expr::Reg(Reg(0)));
        let mut widest = Arithmetic::new(Domain::modulo(1_000_000_000), &registers);
        assert!(widest.expr(&sum).is_ok());
    }
}
