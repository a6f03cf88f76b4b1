//! What read-modify-writes do to a location: C's `atomic_fetch_…` and `atomic_exchange`.
//!
//! An instruction has an [`Update`], whose operand is an expression. A thread that is about to
//! execute it has a [`Change`], whose operand is a value. [`UpdateOp::apply`] is the arithmetic of
//! both, and the only one: every memory and every analysis calls it.

use crate::expr::{Binary, Domain, Expr, Fault, Notes};
use crate::ids::Value;

/// How the value written comes from the value read and the operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UpdateOp {
    /// The operand, whatever was read (`exchange`).
    Set,
    /// The sum (`FADD`, `fetch_add`).
    Add,
    /// The value read minus the operand (`fetch_sub`, `FADD` of a negated expression).
    Sub,
    /// The bits that both have (`fetch_and`).
    And,
    /// The bits that either has (`fetch_or`).
    Or,
    /// The bits that one has and the other has not (`fetch_xor`).
    Xor,
    /// The complement of the bits that both have (`fetch_nand`).
    Nand,
    /// The larger of the two (`fetch_max`).
    Max,
    /// The smaller of the two (`fetch_min`).
    Min,
}

impl UpdateOp {
    /// All of them.
    pub const ALL: [UpdateOp; 9] = [
        UpdateOp::Set,
        UpdateOp::Add,
        UpdateOp::Sub,
        UpdateOp::And,
        UpdateOp::Or,
        UpdateOp::Xor,
        UpdateOp::Nand,
        UpdateOp::Max,
        UpdateOp::Min,
    ];

    /// How the language writes it.
    pub fn keyword(self) -> &'static str {
        match self {
            UpdateOp::Set => "exchange",
            UpdateOp::Add => "fetch_add",
            UpdateOp::Sub => "fetch_sub",
            UpdateOp::And => "fetch_and",
            UpdateOp::Or => "fetch_or",
            UpdateOp::Xor => "fetch_xor",
            UpdateOp::Nand => "fetch_nand",
            UpdateOp::Max => "fetch_max",
            UpdateOp::Min => "fetch_min",
        }
    }

    /// The operator that computes it, if it is one of those that expressions have.
    pub fn binary(self) -> Option<Binary> {
        match self {
            UpdateOp::Add => Some(Binary::Add),
            UpdateOp::Sub => Some(Binary::Sub),
            UpdateOp::And => Some(Binary::BitAnd),
            UpdateOp::Or => Some(Binary::BitOr),
            UpdateOp::Xor => Some(Binary::BitXor),
            UpdateOp::Set | UpdateOp::Nand | UpdateOp::Max | UpdateOp::Min => None,
        }
    }

    /// The value written when `old` was read.
    ///
    /// The complement is taken within the domain, `min + max - v`: in `0..=2^n - 1` and in
    /// `-2^n..=2^n - 1` that flips every bit, and no domain makes it wrap around.
    #[inline(always)]
    pub fn apply(
        self,
        old: Value,
        operand: Value,
        domain: Domain,
        notes: &mut Notes,
    ) -> Result<Value, Fault> {
        match self {
            UpdateOp::Set => Ok(operand),
            UpdateOp::Add => Binary::Add.apply(old, operand, domain, notes),
            UpdateOp::Sub => Binary::Sub.apply(old, operand, domain, notes),
            UpdateOp::And => Binary::BitAnd.apply(old, operand, domain, notes),
            UpdateOp::Or => Binary::BitOr.apply(old, operand, domain, notes),
            UpdateOp::Xor => Binary::BitXor.apply(old, operand, domain, notes),
            UpdateOp::Nand => {
                let both = i128::from(Binary::BitAnd.apply(old, operand, domain, notes)?);
                domain.reduce(i128::from(domain.min) + i128::from(domain.max) - both, notes)
            }
            UpdateOp::Max => Ok(old.max(operand)),
            UpdateOp::Min => Ok(old.min(operand)),
        }
    }
}

/// What a read-modify-write writes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Update {
    /// How the value written comes from the one read and the operand.
    pub op: UpdateOp,
    /// The operand.
    pub operand: Expr,
}

impl Update {
    /// `op` with this operand.
    pub fn new(op: UpdateOp, operand: Expr) -> Self {
        Update { op, operand }
    }

    /// The value read plus this.
    pub fn add(operand: Expr) -> Self {
        Update::new(UpdateOp::Add, operand)
    }

    /// The constant that is added, if that is what it does.
    pub fn added(&self) -> Option<Value> {
        if self.op == UpdateOp::Add { self.operand.as_const() } else { None }
    }
}

/// What a read-modify-write is about to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// How the value written comes from the one read and the operand.
    pub op: UpdateOp,
    /// The operand's value.
    pub operand: Value,
}

impl Change {
    /// The value written when `old` was read.
    #[inline(always)]
    pub fn apply(self, old: Value, domain: Domain, notes: &mut Notes) -> Result<Value, Fault> {
        self.op.apply(old, self.operand, domain, notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Edge;

    fn apply(op: UpdateOp, old: Value, operand: Value, domain: Domain) -> (Value, bool) {
        let mut notes = Notes::default();
        (op.apply(old, operand, domain, &mut notes).expect("the domain wraps"), notes.wrapped)
    }

    /// Catches operators that are mixed up, and a complement that counts as wrapping around.
    #[test]
    fn every_operator_is_that_of_c() {
        let byte = Domain::modulo(255);
        let signed = Domain { min: -128, max: 127, edge: Edge::Wrap };
        for (op, unsigned, negative) in [
            (UpdateOp::Set, (10, false), (-4, false)),
            (UpdateOp::Add, (22, false), (2, false)),
            (UpdateOp::Sub, (2, false), (10, false)),
            (UpdateOp::And, (8, false), (4, false)),
            (UpdateOp::Or, (14, false), (-2, false)),
            (UpdateOp::Xor, (6, false), (-6, false)),
            (UpdateOp::Nand, (247, false), (-5, false)),
            (UpdateOp::Max, (12, false), (6, false)),
            (UpdateOp::Min, (10, false), (-4, false)),
        ] {
            assert_eq!(apply(op, 12, 10, byte), unsigned, "{op:?}");
            assert_eq!(apply(op, 6, -4, signed), negative, "{op:?}");
        }
        assert_eq!(apply(UpdateOp::Sub, 0, 1, byte), (255, true));
        let word = Domain { min: Value::MIN, max: Value::MAX, edge: Edge::Wrap };
        assert_eq!(apply(UpdateOp::Nand, -1, Value::MAX, word), (Value::MIN, false));
    }
}
