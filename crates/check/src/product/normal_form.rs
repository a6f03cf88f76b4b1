//! The normal form of a state: one representative for all states that a search need not tell apart.
//!
//! # Statement
//!
//! The normal form n = o ∘ c ∘ r ∘ d is a composition of four maps, applied in this order wherever a
//! thread comes to rest ([`Product::packed`]):
//!
//! | map | forgets | module | relation between s and its image |
//! |---|---|---|---|
//! | d | registers that are not read again, and tags and taint that belong to them | [`follow`](super::follow) | bisimulation |
//! | r | what the memory keeps for threads that never move again, and what no thread can use | [`retire`](super::retire) and, for monitors, [`memory::rc20`] (`unreachable`) | bisimulation |
//! | c | how large counters are, and how far below their window | [`counters`](super::counters) | simulation: the image can do what s can, and perhaps more |
//! | o | which of several equal threads is which | [`orbit`](super::orbit) | bisimulation, up to an automorphism |
//!
//! n is a simulation: whatever is found from s is found from n(s), at the same place up to an
//! automorphism. Without counters it is a bisimulation. Where c makes up a finding, replaying its run
//! fails and the search is repeated without c ([`crate::explore`]).
//!
//! # Proof
//!
//! 1. Each map relates s and its image as the table says; the arguments are in the modules.
//! 2. Relations of these kinds compose, so n is a simulation whatever the order.
//! 3. The order matters for how much is saved and for one premise only: o must rename what c leaves,
//!    and c picks by how much to lower from all counters of the state. So o and c must commute. They
//!    do if the automorphism maps each class of counters, with its clock, base, constants and window,
//!    to one such class, and renames no counter; `Counters::fixed_by` checks that for every
//!    automorphism that is used ([`analysis::symmetry`], premise 5).
//! 4. d and r commute with o because liveness, and whether a thread has ended, are facts about the
//!    code, which the automorphism maps to itself. They come before c because c looks at live
//!    registers only.
//!    What no thread can use follows from the sets themselves and from what each thread may still access, which the automorphism
//!    maps, too, because it is known exactly: if it were overestimated for one thread and not for its image, states that were found
//!    could not be followed again. c moves values of all sets of a location in the same way.
//! 5. d is applied to the thread that has just moved, on every step of it: the other threads'
//!    registers were treated when they came to rest, and are live or not as before. r, c and o look at
//!    the whole state.
//!
//! What is found *early* is not part of the statement: a thread that comes to a choice looks ahead only if the memory may object
//! there, and what it meets on the way, a run-time error say, is found then, and otherwise when the choice is made. For
//! observational robustness the two may differ between s and n(s), as taint of dead registers is forgotten in n(s) only; a state of
//! the aimed program with seed 6647 shows it.
//!
//! The diagram n(successors of s) = n(successors of n(s)), or ⊆ with counters, is tested at every state
//! of thousands of programs in `diagrams`.

use super::counters::TooLarge;
use super::{Product, Scratch};
use memory::Monitor;

impl<M: Monitor> Product<M> {
    /// The packed representative of `scratch.next`.
    pub(crate) fn packed<'s>(
        &self,
        scratch: &'s mut Scratch<M::State>,
    ) -> Result<&'s [u8], TooLarge> {
        if self.retire(&mut scratch.next) {
            scratch.mover = None; // other threads' registers have changed
        }
        if self.lower_next(scratch)? {
            scratch.mover = None; // other threads' counters change, too
            std::mem::swap(&mut scratch.next, &mut scratch.lowered);
            self.pack_representative(scratch);
            std::mem::swap(&mut scratch.next, &mut scratch.lowered);
        } else {
            self.pack_representative(scratch);
        }
        Ok(&bytemuck::cast_slice(&scratch.words)[..self.layout.bytes])
    }

    /// Packs `scratch.next` with its counters made small, and nothing else forgotten. Larger numbers may
    /// not fit the fields that a window leaves them.
    pub(super) fn pack_lowered(
        &self,
        scratch: &mut Scratch<M::State>,
        words: &mut Vec<u64>,
    ) -> Result<(), TooLarge> {
        let world = match self.lower_next(scratch)? {
            true => &scratch.lowered,
            false => &scratch.next,
        };
        self.pack(world, words);
        Ok(())
    }

    /// Writes `scratch.next` with small counters to `scratch.lowered`, unless they are small already.
    fn lower_next(&self, scratch: &mut Scratch<M::State>) -> Result<bool, TooLarge> {
        if !self.may_not_fit {
            return Ok(false);
        }
        self.lowerings(&scratch.next, &mut scratch.lowerings)?;
        let lowers = !scratch.lowerings.is_empty();
        if lowers {
            scratch.lowered.clone_from(&scratch.next);
            self.lower(&mut scratch.lowered, &scratch.lowerings);
        }
        // Small numbers may lead to where the program never comes, and to values it never has.
        let world = if lowers { &scratch.lowered } else { &scratch.next };
        if self.fits(world) { Ok(lowers) } else { Err(TooLarge) }
    }
}
