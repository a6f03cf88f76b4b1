//! Expressions, places and single instructions as text.

use crate::expr::{Binary, Expr, Op};
use crate::ids::{Reg, Value};
use crate::mode::{ReadMode, WriteMode};
use crate::program::{Instr, Place, Program, Thread, Update};

/// How tightly an operand holds together; binary operators have 1 to 9.
const UNARY: u8 = 10;
const LEAF: u8 = 11;

/// The expression, with `registers` as the names of its registers.
pub fn expression(expr: &Expr, registers: &[String]) -> String {
    infix(expr, registers).0
}

/// The text and how tightly it holds together.
fn infix(expr: &Expr, registers: &[String]) -> (String, u8) {
    let name = |reg: &Reg| match registers.get(reg.index()) {
        Some(name) => name.clone(),
        None => format!("r{reg}"),
    };
    let code = match expr {
        Expr::Const(value) => return (constant(*value), LEAF),
        Expr::Reg(reg) => return (name(reg), LEAF),
        Expr::Code(code) => code,
    };
    let mut stack: Vec<(String, u8)> = Vec::new();
    for op in code {
        let operand = match op {
            Op::Const(value) => (constant(*value), LEAF),
            Op::Reg(reg) => (name(reg), LEAF),
            Op::Unary(op) => {
                let (operand, strength) = stack.pop().unwrap_or_default();
                let operand = if strength < UNARY { format!("({operand})") } else { operand };
                (format!("{}{operand}", op.symbol()), UNARY)
            }
            Op::Binary(op) => {
                let right = stack.pop().unwrap_or_default();
                let left = stack.pop().unwrap_or_default();
                (binary(*op, left, right), op.precedence())
            }
        };
        stack.push(operand);
    }
    stack.pop().unwrap_or_default()
}

fn constant(value: Value) -> String {
    value.to_string()
}

fn binary(op: Binary, left: (String, u8), right: (String, u8)) -> String {
    let precedence = op.precedence();
    // C reads `a & b == c` as `a & (b == c)`; few people do, so say it.
    let surprising = |strength: u8| (3..=5).contains(&precedence) && (6..=7).contains(&strength);
    let (mut text, strength) = left;
    if strength < precedence || surprising(strength) {
        text = format!("({text})");
    }
    text.push(' ');
    text.push_str(op.symbol());
    text.push(' ');
    let (right, strength) = right;
    if strength <= precedence || surprising(strength) {
        text.push('(');
        text.push_str(&right);
        text.push(')');
    } else {
        text.push_str(&right);
    }
    text
}

/// The place as an instruction names it.
pub fn place(program: &Program, thread: &Thread, place: &Place) -> String {
    let Some(location) = program.locations.get(place.base.index()) else {
        return format!("location{}", place.base);
    };
    match &place.index {
        None => location.display_name(),
        Some(index) => format!("{}[{}]", location.name, expression(index, &thread.registers)),
    }
}

/// The instruction without its successor: a statement without its semicolon, or for jumps its head.
pub fn instruction(program: &Program, thread: &Thread, instr: &Instr) -> String {
    let expr = |e: &Expr| expression(e, &thread.registers);
    let at = |p: &Place| place(program, thread, p);
    let to = |dst: &Reg| match thread.registers.get(dst.index()) {
        Some(name) => format!("{name} = "),
        None => format!("r{dst} = "),
    };
    let maybe_to = |dst: &Option<Reg>| dst.as_ref().map_or(String::new(), to);
    match instr {
        Instr::Assign { dst, value } => format!("{}{}", to(dst), expr(value)),
        Instr::Jump { cond, .. } if cond.as_const().is_some() => "oneof".to_string(),
        Instr::Jump { cond, .. } => format!("if ({})", expr(cond)),
        Instr::Skip => "skip".to_string(),
        Instr::Assert(cond) => format!("assert({})", expr(cond)),
        Instr::Assume(cond) => format!("assume({})", expr(cond)),
        Instr::Load { dst, place, mode: ReadMode::Na } => {
            format!("{}{}.naload()", to(dst), at(place))
        }
        Instr::Load { dst, place, mode } => {
            format!("{}{}.load({})", to(dst), at(place), mode.keyword())
        }
        Instr::Store { place, value, mode: WriteMode::Na } => {
            format!("{}.nastore({})", at(place), expr(value))
        }
        Instr::Store { place, value, mode } => {
            format!("{}.store({}, {})", at(place), expr(value), mode.keyword())
        }
        Instr::Rmw { dst, place, update, read, write } => {
            let (name, operand) = match update {
                Update::Add(e) => ("FADD", expr(e)),
                Update::Sub(e) => ("FADD", negated(e, &thread.registers)),
                Update::Set(e) => ("exchange", expr(e)),
            };
            let modes = format!("{}, {}", read.keyword(), write.keyword());
            format!("{}{name}({}, {operand}, {modes})", maybe_to(dst), at(place))
        }
        Instr::Cas { dst, place, expected, desired, read, write, fail } => {
            let mut modes = format!("{}, {}", read.keyword(), write.keyword());
            if fail != read {
                modes = format!("{modes}, {}", fail.keyword());
            }
            let (expected, desired) = (expr(expected), expr(desired));
            format!("{}CAS({}, {expected}, {desired}, {modes})", maybe_to(dst), at(place))
        }
        Instr::BlockingCas { place, expected, desired, read, write } => format!(
            "BCAS({}, {}, {}, {}, {})",
            at(place),
            expr(expected),
            expr(desired),
            read.keyword(),
            write.keyword()
        ),
        Instr::Wait { dst, place, values, mode } => {
            let values: Vec<String> = values.iter().map(expr).collect();
            let (dst, place) = (maybe_to(dst), at(place));
            format!("{dst}wait({place}, {}, {})", values.join(", "), mode.keyword())
        }
        Instr::Fence(mode) => format!("fence({})", mode.keyword()),
        Instr::LightFence(places) => {
            let places: Vec<String> = places.iter().map(at).collect();
            format!("fence({})", places.join(", "))
        }
        Instr::BusLock => "bus_lock".to_string(),
        Instr::BusUnlock => "bus_unlock".to_string(),
        Instr::Begin => "atomic begin".to_string(),
        Instr::End => "atomic end".to_string(),
        Instr::Halt => "halt".to_string(),
    }
}

fn negated(expr: &Expr, registers: &[String]) -> String {
    let (text, strength) = infix(expr, registers);
    if strength < UNARY { format!("-({text})") } else { format!("-{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Unary;

    /// Catches parentheses that change the meaning by being left out.
    #[test]
    fn parentheses_stand_where_they_must() {
        let names: Vec<String> = vec!["a".into(), "b".into()];
        let (a, b) = (Expr::Reg(Reg(0)), Expr::Reg(Reg(1)));
        let two = |op, x: &Expr, y: &Expr| Expr::binary(op, x.clone(), y.clone()).unwrap();
        let sum = two(Binary::Add, &a, &b);
        let cases = [
            (two(Binary::Mul, &sum, &b), "(a + b) * b"),
            (two(Binary::Sub, &a, &two(Binary::Sub, &a, &b)), "a - (a - b)"),
            (two(Binary::Sub, &two(Binary::Sub, &a, &b), &b), "a - b - b"),
            (two(Binary::BitAnd, &a, &two(Binary::Eq, &b, &a)), "a & (b == a)"),
            (Expr::unary(Unary::Neg, sum).unwrap(), "-(a + b)"),
            (Expr::unary(Unary::Not, Expr::unary(Unary::Neg, a).unwrap()).unwrap(), "!-a"),
        ];
        for (expr, text) in cases {
            assert_eq!(expression(&expr, &names), text);
        }
    }
}
