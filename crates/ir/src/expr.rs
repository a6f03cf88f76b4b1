//! Expressions over registers and constants.
//!
//! An expression is compiled once, to postfix code for a small stack machine, and evaluated in the
//! hot loop of every search without touching a syntax tree or the allocator. The two shapes that
//! make up most programs, a constant and a register, skip the machine altogether.

use crate::ids::{Reg, RegSet, Value};

/// The values a program computes with, and what happens at their edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Domain {
    /// The smallest value.
    pub min: Value,
    /// The largest value.
    pub max: Value,
    /// What a result outside `min..=max` becomes.
    pub edge: Edge,
}

/// What becomes of a result outside the domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// It wraps around (and [`Notes::wrapped`] says so).
    Wrap,
    /// It is a [`Fault::Overflow`].
    Fault,
}

impl Domain {
    /// The values `0..=max`, with arithmetic modulo `max + 1`.
    pub fn modulo(max: Value) -> Self {
        Domain { min: 0, max, edge: Edge::Wrap }
    }

    /// How many values there are: up to 2^64, which no 64-bit number says.
    pub fn size(self) -> u128 {
        (i128::from(self.max) - i128::from(self.min) + 1) as u128
    }

    /// The value that is this number, if there is one.
    #[inline(always)]
    pub fn value(self, exact: i128) -> Option<Value> {
        Value::try_from(exact).ok().filter(|value| self.min <= *value && *value <= self.max)
    }

    /// Is this number one of them?
    pub fn contains(self, exact: i128) -> bool {
        self.value(exact).is_some()
    }

    /// How far from 0 its values may be.
    pub fn largest_magnitude(self) -> i128 {
        i128::from(self.max).max(-i128::from(self.min))
    }

    /// Brings an exact result into the domain.
    #[inline(always)]
    pub fn reduce(self, exact: i128, notes: &mut Notes) -> Result<Value, Fault> {
        match self.value(exact) {
            Some(value) => Ok(value),
            None => self.past_the_edge(exact, notes),
        }
    }

    #[cold]
    fn past_the_edge(self, exact: i128, notes: &mut Notes) -> Result<Value, Fault> {
        match self.edge {
            Edge::Fault => Err(Fault::Overflow { exact }),
            Edge::Wrap => {
                notes.wrapped = true;
                let above = (exact - i128::from(self.min)).rem_euclid(self.size() as i128);
                Ok((i128::from(self.min) + above) as Value)
            }
        }
    }
}

impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..={}", self.min, self.max)
    }
}

/// What an evaluation did that its user may want to be warned about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Notes {
    /// A result did not fit the domain and wrapped around.
    pub wrapped: bool,
}

/// A run-time error of the program under check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// Division or remainder by zero.
    DivisionByZero,
    /// An array index outside the array.
    IndexOutOfRange {
        /// The index computed.
        index: Value,
        /// The array's length.
        len: u32,
    },
    /// A value left a domain that does not wrap.
    Overflow {
        /// The exact result.
        exact: i128,
    },
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::DivisionByZero => write!(f, "division by zero"),
            Fault::IndexOutOfRange { index, len } => {
                write!(f, "index {index} is outside an array of length {len}")
            }
            Fault::Overflow { exact } => write!(f, "value {exact} is out of range"),
        }
    }
}

/// Operators with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    /// `!e`: 1 if e is 0, else 0.
    Not,
    /// `-e`
    Neg,
}

/// Operators with two operands. `&&` and `||` evaluate both sides: expressions have no effects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
}

impl Unary {
    /// How the language writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Unary::Not => "!",
            Unary::Neg => "-",
        }
    }

    fn apply(self, a: Value, domain: Domain, notes: &mut Notes) -> Result<Value, Fault> {
        match self {
            Unary::Not => Ok(Value::from(a == 0)),
            Unary::Neg => domain.reduce(-i128::from(a), notes),
        }
    }
}

impl Binary {
    /// How the language writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Binary::Or => "||",
            Binary::And => "&&",
            Binary::BitOr => "|",
            Binary::BitXor => "^",
            Binary::BitAnd => "&",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Rem => "%",
        }
    }

    /// C's precedence, larger binds tighter; all are left-associative.
    pub fn precedence(self) -> u8 {
        match self {
            Binary::Or => 1,
            Binary::And => 2,
            Binary::BitOr => 3,
            Binary::BitXor => 4,
            Binary::BitAnd => 5,
            Binary::Eq | Binary::Ne => 6,
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => 7,
            Binary::Add | Binary::Sub => 8,
            Binary::Mul | Binary::Div | Binary::Rem => 9,
        }
    }

    /// Applies it. Nearly all results are 64-bit numbers and values; what is not goes the slow way.
    #[inline(always)]
    pub(crate) fn apply(
        self,
        a: Value,
        b: Value,
        domain: Domain,
        notes: &mut Notes,
    ) -> Result<Value, Fault> {
        let narrow = match self {
            Binary::Or => Some(Value::from(a != 0 || b != 0)),
            Binary::And => Some(Value::from(a != 0 && b != 0)),
            Binary::BitOr => Some(a | b),
            Binary::BitXor => Some(a ^ b),
            Binary::BitAnd => Some(a & b),
            Binary::Eq => Some(Value::from(a == b)),
            Binary::Ne => Some(Value::from(a != b)),
            Binary::Lt => Some(Value::from(a < b)),
            Binary::Le => Some(Value::from(a <= b)),
            Binary::Gt => Some(Value::from(a > b)),
            Binary::Ge => Some(Value::from(a >= b)),
            Binary::Add => a.checked_add(b),
            Binary::Sub => a.checked_sub(b),
            Binary::Mul => a.checked_mul(b),
            Binary::Div => a.checked_div(b),
            Binary::Rem => a.checked_rem(b),
        };
        match narrow {
            Some(value) if domain.min <= value && value <= domain.max => Ok(value),
            Some(exact) => domain.past_the_edge(exact.into(), notes),
            None => domain.reduce(self.widely(a, b)?, notes),
        }
    }

    /// The exact result where 64 bits do not hold it.
    #[cold]
    fn widely(self, a: Value, b: Value) -> Result<i128, Fault> {
        let (x, y) = (i128::from(a), i128::from(b));
        match self {
            Binary::Div | Binary::Rem if b == 0 => Err(Fault::DivisionByZero),
            Binary::Sub => Ok(x - y),
            Binary::Mul => Ok(x * y),
            Binary::Div => Ok(x / y),
            Binary::Rem => Ok(x % y),
            _ => Ok(x + y),
        }
    }
}

/// One instruction of the stack machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Push a constant.
    Const(Value),
    /// Push a register's value.
    Reg(Reg),
    /// Replace the top.
    Unary(Unary),
    /// Replace the top two.
    Binary(Binary),
}

/// A compiled expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// A register.
    Reg(Reg),
    /// Postfix code; evaluation needs at most [`Expr::MAX_STACK`] stack cells.
    Code(Box<[Op]>),
}

impl Expr {
    /// How many stack cells an expression may need. Front-ends refuse deeper ones, see
    /// [`Expr::from_postfix`].
    pub const MAX_STACK: usize = 32;

    /// The register and the number of `r`, `r + c`, `c + r` or `r - c`.
    pub fn register_and_offset(&self) -> Option<(Reg, i128)> {
        match self {
            Expr::Const(_) => None,
            Expr::Reg(reg) => Some((*reg, 0)),
            Expr::Code(code) => match **code {
                [Op::Reg(reg), Op::Const(c), Op::Binary(Binary::Add)]
                | [Op::Const(c), Op::Reg(reg), Op::Binary(Binary::Add)] => Some((reg, c.into())),
                [Op::Reg(reg), Op::Const(c), Op::Binary(Binary::Sub)] => {
                    Some((reg, -i128::from(c)))
                }
                _ => None,
            },
        }
    }

    /// An operator applied to an operand.
    pub fn unary(op: Unary, a: Expr) -> Option<Expr> {
        let mut code = a.into_postfix();
        code.push(Op::Unary(op));
        Expr::from_postfix(code)
    }

    /// An operator applied to two operands; `None` if evaluating it would need too deep a stack.
    pub fn binary(op: Binary, a: Expr, b: Expr) -> Option<Expr> {
        let mut code = a.into_postfix();
        code.extend(b.into_postfix());
        code.push(Op::Binary(op));
        Expr::from_postfix(code)
    }

    /// The expression that `code` computes; `None` if it needs more than [`Expr::MAX_STACK`] cells
    /// or is not the code of one expression.
    pub fn from_postfix(code: Vec<Op>) -> Option<Expr> {
        let mut depth = 0usize;
        for op in &code {
            match op {
                Op::Const(_) | Op::Reg(_) => depth += 1,
                Op::Unary(_) if depth < 1 => return None,
                Op::Unary(_) => {}
                Op::Binary(_) if depth < 2 => return None,
                Op::Binary(_) => depth -= 1,
            }
            if depth > Expr::MAX_STACK {
                return None;
            }
        }
        match (depth, code.as_slice()) {
            (1, [Op::Const(value)]) => Some(Expr::Const(*value)),
            (1, [Op::Reg(reg)]) => Some(Expr::Reg(*reg)),
            (1, _) => Some(Expr::Code(code.into_boxed_slice())),
            _ => None,
        }
    }

    /// The expression as postfix code.
    pub fn into_postfix(self) -> Vec<Op> {
        match self {
            Expr::Const(value) => vec![Op::Const(value)],
            Expr::Reg(reg) => vec![Op::Reg(reg)],
            Expr::Code(code) => code.into_vec(),
        }
    }

    /// The registers it mentions: `Reg(e)` of the paper.
    pub fn registers(&self) -> RegSet {
        match self {
            Expr::Const(_) => RegSet::EMPTY,
            Expr::Reg(reg) => RegSet::one(*reg),
            Expr::Code(code) => code
                .iter()
                .filter_map(|op| match op {
                    Op::Reg(reg) => Some(*reg),
                    _ => None,
                })
                .collect(),
        }
    }

    /// Its value, if no register is needed to know it.
    pub fn as_const(&self) -> Option<Value> {
        match self {
            Expr::Const(value) => Some(*value),
            _ => None,
        }
    }

    /// Evaluates it: φ(e) of the paper, in the program's domain.
    #[inline(always)]
    pub fn eval(&self, regs: &[Value], domain: Domain, notes: &mut Notes) -> Result<Value, Fault> {
        match self {
            Expr::Const(value) => Ok(*value),
            Expr::Reg(reg) => Ok(regs[reg.index()]),
            Expr::Code(code) => run(code, regs, domain, notes),
        }
    }
}

fn run(code: &[Op], regs: &[Value], domain: Domain, notes: &mut Notes) -> Result<Value, Fault> {
    if let [first, second, Op::Binary(op)] = code {
        return op.apply(leaf(first, regs), leaf(second, regs), domain, notes);
    }
    let mut stack = [0; Expr::MAX_STACK];
    let mut top = 0;
    for op in code {
        match op {
            Op::Const(value) => {
                stack[top] = *value;
                top += 1;
            }
            Op::Reg(reg) => {
                stack[top] = regs[reg.index()];
                top += 1;
            }
            Op::Unary(op) => stack[top - 1] = op.apply(stack[top - 1], domain, notes)?,
            Op::Binary(op) => {
                top -= 1;
                stack[top - 1] = op.apply(stack[top - 1], stack[top], domain, notes)?;
            }
        }
    }
    Ok(stack[0])
}

/// The value of code that is a single push: what stands before a lone binary operator.
#[inline(always)]
fn leaf(op: &Op, regs: &[Value]) -> Value {
    match op {
        Op::Const(value) => *value,
        Op::Reg(reg) => regs[reg.index()],
        Op::Unary(_) | Op::Binary(_) => unreachable!("an operator needs an operand before it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(expr: &Expr, regs: &[Value], domain: Domain) -> (Result<Value, Fault>, bool) {
        let mut notes = Notes::default();
        (expr.eval(regs, domain, &mut notes), notes.wrapped)
    }

    /// Catches a reduction that forgets negative results or reports wraps that did not happen.
    #[test]
    fn arithmetic_is_modulo_the_domain_and_says_so() {
        let minus = Expr::binary(Binary::Sub, Expr::Reg(Reg(0)), Expr::Const(1)).unwrap();
        assert_eq!(eval(&minus, &[0], Domain::modulo(255)), (Ok(255), true));
        assert_eq!(eval(&minus, &[7], Domain::modulo(255)), (Ok(6), false));
    }

    /// `if` of 1+1 is true even where 2 is outside a C compiler's bool: results are values.
    #[test]
    fn nested_code_uses_the_stack() {
        let sum = Expr::binary(Binary::Add, Expr::Reg(Reg(0)), Expr::Reg(Reg(1))).unwrap();
        let square = Expr::binary(Binary::Mul, sum.clone(), sum).unwrap();
        assert_eq!(eval(&square, &[2, 3], Domain::modulo(100)), (Ok(25), false));
        assert_eq!(eval(&square, &[2, 3], Domain::modulo(9)), (Ok(5), true));
    }

    /// Catches intermediate results that are cut to 64 bits, and panics at the largest values.
    #[test]
    fn all_64_bits_are_values() {
        let word = Domain { min: Value::MIN, max: Value::MAX, edge: Edge::Wrap };
        let of = |op| Expr::binary(op, Expr::Reg(Reg(0)), Expr::Reg(Reg(1))).unwrap();
        let (min, max) = (Value::MIN, Value::MAX);
        assert_eq!(word.size(), 1 << 64);
        assert_eq!(eval(&of(Binary::Add), &[max, 1], word), (Ok(min), true));
        assert_eq!(eval(&of(Binary::Mul), &[min, min], word), (Ok(0), true));
        assert_eq!(eval(&of(Binary::Mul), &[max, max], word), (Ok(1), true));
        assert_eq!(eval(&of(Binary::Div), &[min, -1], word), (Ok(min), true));
        assert_eq!(eval(&of(Binary::Rem), &[min, -1], word), (Ok(0), false));
        assert_eq!(eval(&of(Binary::BitXor), &[min, -1], word), (Ok(max), false));
        let strict = Domain { edge: Edge::Fault, ..word };
        let exact = i128::from(max) * i128::from(max);
        assert_eq!(eval(&of(Binary::Mul), &[max, max], strict).0, Err(Fault::Overflow { exact }));
        let byte = Domain { min: -128, max: 127, edge: Edge::Wrap };
        assert_eq!(eval(&of(Binary::Sub), &[-128, 1], byte), (Ok(127), true));
    }

    #[test]
    fn faults_are_values_not_panics() {
        let ratio = Expr::binary(Binary::Div, Expr::Const(1), Expr::Reg(Reg(0))).unwrap();
        assert_eq!(eval(&ratio, &[0], Domain::modulo(3)).0, Err(Fault::DivisionByZero));
        let strict = Domain { min: 0, max: 3, edge: Edge::Fault };
        let sum = Expr::binary(Binary::Add, Expr::Const(3), Expr::Reg(Reg(0))).unwrap();
        assert_eq!(eval(&sum, &[1], strict).0, Err(Fault::Overflow { exact: 4 }));
    }

    #[test]
    fn too_deep_is_refused() {
        let mut expr = Expr::Reg(Reg(0));
        let mut depth = 1;
        while let Some(deeper) = Expr::binary(Binary::Add, Expr::Const(1), expr.clone()) {
            expr = deeper;
            depth += 1;
        }
        assert_eq!(depth, Expr::MAX_STACK);
    }
}
