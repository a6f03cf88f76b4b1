//! Expressions, places and single instructions as text.

use crate::condition::{Condition, Observed};
use crate::expr::{Binary, Expr, Op};
use crate::ids::Reg;
use crate::mode::{ReadMode, WriteMode};
use crate::program::{Instr, Mark, Place, Program, Thread};
use crate::update::{Update, UpdateOp};

/// How tightly an operand holds together; binary operators have 1 to 9.
const UNARY: u8 = 10;
const LEAF: u8 = 11;

/// The expression, with `registers` as the names of its registers.
pub fn expression(expr: &Expr, registers: &[String]) -> String {
    match expr {
        Expr::Const(value) => value.to_string(),
        Expr::Reg(reg) => register(*reg, registers),
        Expr::Code(code) => infix(code, registers),
    }
}

fn register(reg: Reg, registers: &[String]) -> String {
    registers.get(reg.index()).cloned().unwrap_or_else(|| format!("r{reg}"))
}

fn strength(op: &Op) -> u8 {
    match op {
        Op::Const(_) | Op::Reg(_) => LEAF,
        Op::Unary(_) => UNARY,
        Op::Binary(op) => op.precedence(),
    }
}

/// What is still to be written, from right to left.
enum Part {
    /// The subexpression whose last operation is here.
    Code(usize),
    /// The same in parentheses.
    Parenthesised(usize),
    Symbol(&'static str),
}

/// Postfix code as infix text, written backwards from its last operation, so that neither long nor
/// deep code takes more than one pass.
fn infix(code: &[Op], registers: &[String]) -> String {
    let first = first_operations(code);
    let mut pieces: Vec<String> = Vec::with_capacity(code.len());
    let mut parts = vec![Part::Code(code.len() - 1)];
    let operand = |at: usize, parenthesise: bool| {
        if parenthesise { Part::Parenthesised(at) } else { Part::Code(at) }
    };
    while let Some(part) = parts.pop() {
        match part {
            Part::Symbol(symbol) => pieces.push(symbol.to_string()),
            Part::Parenthesised(at) => {
                pieces.push(")".to_string());
                parts.push(Part::Symbol("("));
                parts.push(Part::Code(at));
            }
            Part::Code(at) => match code[at] {
                Op::Const(value) => pieces.push(value.to_string()),
                Op::Reg(reg) => pieces.push(register(reg, registers)),
                Op::Unary(op) => {
                    parts.push(Part::Symbol(op.symbol()));
                    parts.push(operand(at - 1, strength(&code[at - 1]) < UNARY));
                }
                Op::Binary(op) => {
                    let (left, right) = (first[at - 1] - 1, at - 1);
                    let needs = |side: usize, limit: u8| {
                        let inner = strength(&code[side]);
                        inner < limit || surprising(op, inner)
                    };
                    parts.push(operand(left, needs(left, op.precedence())));
                    for symbol in [" ", op.symbol(), " "] {
                        parts.push(Part::Symbol(symbol));
                    }
                    parts.push(operand(right, needs(right, op.precedence() + 1)));
                }
            },
        }
    }
    pieces.reverse();
    pieces.concat()
}

/// Where the subexpression that ends at each operation starts.
fn first_operations(code: &[Op]) -> Vec<usize> {
    let mut first: Vec<usize> = Vec::with_capacity(code.len());
    for (at, op) in code.iter().enumerate() {
        first.push(match op {
            Op::Const(_) | Op::Reg(_) => at,
            Op::Unary(_) => first[at - 1],
            Op::Binary(_) => first[first[at - 1] - 1],
        });
    }
    first
}

/// C reads `a & b == c` as `a & (b == c)`; few people do, so parentheses say it.
fn surprising(op: Binary, operand: u8) -> bool {
    matches!(op, Binary::BitAnd | Binary::BitXor | Binary::BitOr) && (6..=7).contains(&operand)
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

/// The final condition, without a semicolon.
pub fn condition(program: &Program, condition: &Condition) -> String {
    let names: Vec<String> =
        condition.observed.iter().map(|&what| observed(program, what)).collect();
    let keyword = condition.quantifier.keyword();
    format!("{keyword} ({})", expression(&condition.formula, &names))
}

/// A register as others than its thread call it, or a location.
pub fn observed(program: &Program, what: Observed) -> String {
    match what {
        Observed::Location(loc) => program.locations[loc.index()].display_name(),
        Observed::Register(tid, reg) => {
            let thread = &program.threads[tid.index()];
            format!("{}.{}", thread.display_name(), register(reg, &thread.registers))
        }
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
        Instr::Switch { value, .. } => format!("switch ({})", expr(value)),
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
            let Update { op, operand } = update;
            let (name, operand) = match op {
                UpdateOp::Add => ("FADD", expr(operand)),
                UpdateOp::Sub if operand.as_const().is_none_or(|value| value >= 0) => {
                    ("FADD", negated(operand, &thread.registers))
                }
                op => (op.keyword(), expr(operand)),
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
        Instr::Mark(mark) => {
            let values: Vec<String> = mark.expressions().iter().map(expr).collect();
            match mark {
                Mark::Call { method, .. } => format!("call {method}({})", values.join(", ")),
                Mark::Return { .. } => format!("return({})", values.join(", ")),
            }
        }
        Instr::Halt => "halt".to_string(),
    }
}

fn negated(expr: &Expr, registers: &[String]) -> String {
    let text = expression(expr, registers);
    match expr {
        Expr::Code(code) if code.last().is_some_and(|op| strength(op) < UNARY) => {
            format!("-({text})")
        }
        _ => format!("-{text}"),
    }
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
