//! Addresses that are hidden in numbers.
//!
//! Programs compute with addresses: they keep the difference of two pointers instead of one of them, link lists by
//! exclusive or, store `~p` or `p >> 3`. No word of memory shows such an address ([`Space::mentions`]), but the program can compute
//! it again, so its object must not be taken for one that nobody knows.
//!
//! Which computations can be undone is not decided here. An object is *disguised* if an operation has an operand that mentions
//! it and a result that does not, unless one of these holds:
//!
//! * it is a difference (`p - q`, `p ^ q`) and both operands mention the object: the address comes back only with the help of another
//!   one that mentions the object. Not so a sum: `p + p` is twice the address;
//! * the result has none of the bits that tell objects apart, as in `p & 7` or `p >> 48`, or some of them only, as in `p % n` or a
//!   conversion to fewer bits: the address comes back only together with the other bits, which another operation takes.
//!
//! A disguised block of the heap is kept for good, and its address, as that of a disguised variable, counts as known from
//! then on. That may add runs, as an address may be known without being used, and loses none.

use crate::local::{Local, each_word};
use crate::machine::Machine;
use crate::space::{ADDRESS_BITS, ObjectId, Space, WINDOW};
use crate::value::Val;
use llvm::instruction::{BinaryOp, CastOp};
use std::collections::BTreeSet;

/// What an operation does with bits, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// It leaves out those that tell objects apart, or some of them, and changes no others.
    Cuts,
    /// What both operands have in common cancels out.
    Difference,
    /// Anything else.
    Mixes,
}

impl Kind {
    pub(crate) fn of_binary(op: BinaryOp, right: &Val, result: &Val) -> Self {
        let mut is_low = true;
        each_word(result, &mut |word| is_low &= word.bits().bits < u128::from(WINDOW));
        let cuts = match op {
            BinaryOp::URem | BinaryOp::SRem => true,
            BinaryOp::LShr => matches!(right, Val::Bits(by) if *by >= u128::from(ADDRESS_BITS)),
            BinaryOp::And => is_low,
            _ => false,
        };
        match op {
            _ if cuts => Kind::Cuts,
            BinaryOp::Sub | BinaryOp::Xor => Kind::Difference,
            _ => Kind::Mixes,
        }
    }

    pub(crate) fn of_cast(op: CastOp) -> Self {
        if op == CastOp::Trunc { Kind::Cuts } else { Kind::Mixes }
    }
}

fn mentioned(space: &Space, value: &Val) -> BTreeSet<ObjectId> {
    let mut found = BTreeSet::new();
    each_word(value, &mut |word| found.extend(space.mentions(word)));
    found
}

impl Machine {
    /// An operation gave `result`: are addresses among its operands hidden in it?
    pub(crate) fn computed(
        &mut self,
        local: &mut Local,
        kind: Kind,
        operands: &[&Val],
        result: &Val,
    ) {
        if kind == Kind::Cuts {
            return;
        }
        let of_operands: Vec<BTreeSet<ObjectId>> =
            operands.iter().map(|operand| mentioned(&self.space, operand)).collect();
        if of_operands.iter().all(BTreeSet::is_empty) {
            return;
        }
        let shown = mentioned(&self.space, result);
        for (number, objects) in of_operands.iter().enumerate() {
            let others = || of_operands.iter().enumerate().filter(|(other, _)| *other != number);
            let is_hidden = |object: &&ObjectId| {
                let cancels = || others().any(|(_, other)| other.contains(object));
                !shown.contains(object) && (kind != Kind::Difference || !cancels())
            };
            let hidden: Vec<ObjectId> = objects.iter().filter(is_hidden).copied().collect();
            for object in hidden {
                self.disguised.insert(object);
                each_word(operands[number], &mut |word| {
                    local.escape(word, &self.space);
                    self.strays(local, word, None);
                });
            }
        }
    }
}
