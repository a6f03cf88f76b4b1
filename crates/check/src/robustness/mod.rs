//! Robustness: can weak memory make the program do what no interleaving of its threads explains?

pub mod rc20;
pub mod store_atomic;
