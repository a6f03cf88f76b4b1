//! Addresses that are hidden in numbers.
//!
//! Programs compute with addresses: they keep the difference of two pointers instead of one of them, link lists by
//! exclusive or, store `~p` or `p >> 3`. No word of memory shows such an address ([`Space::mentions`]), but the program can compute
//! it again, so its object must not be taken for one that nobody knows.
//!
//! Which computations can be undone is not decided here. An object is *disguised* if an operation has an operand that mentions
//! it and a result that does not, unless one of these holds:
//!
//! * it is a difference (`p - q`, `p ^ q`), both operands mention the object, and what is left is small enough to be a distance within
//!   one object, tags above the address aside: the address comes back only with the help of another one that mentions the object. Not
//!   so a sum, `p + p` is twice the address; nor `(p << 8) - p`, where both mention the object and nothing cancels out;
//! * the result has none of the bits that tell objects apart, as in `p & 7`, `p % 64`, `(short)p` or `p >> 48`. Not so `(int)p`, whose other
//!   bits may be those of a neighbour; nor `p % 65537`: a few remainders of different divisors are as good as the address.
//!
//! Memory computes as well. An atomic update leaves in its cell what an operation would give. Bytes of an address may be read, written and
//! overwritten one by one: an object is disguised if a half of what is in memory mentions it, and neither what is read of that half nor
//! what is left of it does.
//!
//! A disguised block of the heap is kept for good, and its address, as that of a disguised variable, counts as known from
//! then on. That may add runs, as an address may be known without being used, and loses none.

use crate::action::Cell;
use crate::local::{Local, each_word};
use crate::machine::Machine;
use crate::space::{ADDRESS_BITS, ObjectId, Space, WINDOW, overlapping};
use crate::value::{Val, Word};
use llvm::instruction::{BinaryOp, CastOp, RmwOp};
use std::collections::BTreeSet;

/// What an operation does with bits, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// It leaves out those that tell objects apart, and changes no others.
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
            BinaryOp::URem | BinaryOp::SRem => is_power_within_window(right),
            BinaryOp::LShr => matches!(right, Val::Bits(by) if *by >= u128::from(ADDRESS_BITS)),
            BinaryOp::And => is_low,
            _ => false,
        };
        match op {
            _ if cuts => Kind::Cuts,
            BinaryOp::Sub | BinaryOp::Xor if is_distance(result) => Kind::Difference,
            _ => Kind::Mixes,
        }
    }

    /// Of an atomic update that leaves `result` in its cell.
    pub(crate) fn of_update(op: RmwOp, right: &Val, result: &Val) -> Self {
        match op {
            RmwOp::Sub => Kind::of_binary(BinaryOp::Sub, right, result),
            RmwOp::Xor => Kind::of_binary(BinaryOp::Xor, right, result),
            RmwOp::And => Kind::of_binary(BinaryOp::And, right, result),
            _ => Kind::Mixes,
        }
    }

    /// Of a conversion to a number of so many bits. With 64 it is the lower of two numbers, and nothing is left of the other.
    pub(crate) fn of_cast(op: CastOp, width: u32) -> Self {
        let cuts = width <= WINDOW.trailing_zeros() || width == 64;
        if op == CastOp::Trunc && cuts { Kind::Cuts } else { Kind::Mixes }
    }
}

/// Is the rest of a division by this number, or by each of several, made of bits alone that do not tell objects apart?
fn is_power_within_window(divisor: &Val) -> bool {
    let mut is_power = true;
    each_word(divisor, &mut |word| {
        is_power &= matches!(word, Word::Bits(by) if by.is_power_of_two() && by <= WINDOW.into());
    });
    is_power
}

/// Is a number, or each of several, small enough to be a distance within an object, up or down, but for a tag above it?
fn is_distance(value: &Val) -> bool {
    let mut is_small = true;
    each_word(value, &mut |word| {
        let bits = word.bits().bits;
        for half in [bits as u64, (bits >> 64) as u64] {
            let low = half << (64 - ADDRESS_BITS);
            let limit = WINDOW << (64 - ADDRESS_BITS);
            is_small &= low < limit || low.wrapping_neg() < limit;
        }
    });
    is_small
}

/// The halves of a word in memory that share a byte with `at..at + size`: where they are, and what they are.
fn halves(
    start: u32,
    length: u8,
    word: Word,
    at: u32,
    size: u8,
) -> impl Iterator<Item = (u32, u8, Word)> {
    let parts = (0..length).step_by(8).map(move |from| {
        let part = word.bits().down(8 * u32::from(from)).low(64);
        (start + u32::from(from), (length - from).min(8), part.word(64))
    });
    parts.filter(move |(from, length, _)| {
        *from < at + u32::from(size) && at < from + u32::from(*length)
    })
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
            if !hidden.is_empty() {
                self.note(
                    "what is computed from addresses is so for one layout of memory, of many",
                );
                self.disguised.extend(hidden);
                each_word(operands[number], &mut |word| {
                    local.escape(word, &self.space);
                    self.strays(local, word, None);
                });
            }
        }
    }

    /// Memory held some words where now others are read, or are left.
    pub(crate) fn regrouped(&mut self, local: &mut Local, before: &[Word], after: &[Word]) {
        for word in before {
            let of_word: Vec<ObjectId> = self.space.mentions(*word).collect();
            let is_shown = |object: &ObjectId| {
                after.iter().any(|word| self.space.mentions(*word).any(|other| other == *object))
            };
            let hidden: Vec<ObjectId> =
                of_word.into_iter().filter(|object| !is_shown(object)).collect();
            if !hidden.is_empty() {
                self.disguised.extend(hidden);
                local.escape(*word, &self.space);
                self.strays(local, *word, None);
            }
        }
    }

    /// Bytes that are nobody else's are read, as this word, or if there is none are about to be overwritten: is it a part of an address?
    pub(crate) fn cut_out(&mut self, local: &mut Local, cell: Cell, read: Option<Word>) {
        let Cell { object, offset, size } = cell;
        let end = offset + u32::from(size);
        let own = local.private.image(object);
        let images = own.into_iter().chain([self.space.image(object)]);
        let cut = images.flat_map(|image| overlapping(image, offset, size));
        let cut = cut.filter(|(start, length, _)| (*start, *length) != (offset, size));
        let cut = cut.flat_map(|(start, length, word)| halves(start, length, word, offset, size));
        // A half that is overwritten as a whole is gone.
        let is_left = |start: u32, length: u8| start < offset || end < start + u32::from(length);
        let cut = cut.filter(|(start, length, _)| read.is_some() || is_left(*start, *length));
        let words: Vec<Word> = cut.map(|(.., word)| word).collect();
        if !words.is_empty() {
            self.regrouped(local, &words, read.as_slice());
        }
    }
}
