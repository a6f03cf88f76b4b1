//! Changes a text so that its program is correct, and no more than needed.
//!
//! `check` chooses memory orders and fences for a program in memory, and `lang` edits texts. This crate uses both, and
//! claims nothing of a program in memory: every changed text is read or compiled again, and checked again as it stands.
//!
//! * [`fences`]: full fences for machines with store buffers, in any of the languages.
//! * [`orders`]: memory orders and fences of `.fp`, C, C++ and Rust, chosen together.
//! * [`enough`](mod@enough): the same with little effort, as advice at the end of a report.
//! * [`variant`](mod@variant): the program with other orders, checked, for reports that show what goes wrong without a change.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod enough;
pub mod fences;
pub mod orders;
pub mod variant;

pub use enough::{Enough, enough};
pub use fences::{Fenced, NotFenced, fence};
pub use orders::{
    Changeable, Changed, Kept, LeftAlone, NotReordered, Only, Reordered, Reread, changeable, needs,
    reorder,
};
pub use variant::{Variant, variant};
