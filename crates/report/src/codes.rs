//! The codes of findings: what a user looks up, and what never changes its meaning. Codes of texts
//! that are no programs are `lang::codes`.

/// Weak memory can make the program do what no interleaving explains.
pub const ROBUSTNESS: &str = "FP0001";
/// The same, and the program can tell.
pub const OBSERVATIONAL_ROBUSTNESS: &str = "FP0002";
/// Two non-atomic accesses race.
pub const RACE: &str = "FP0003";
/// An assertion fails.
pub const ASSERTION: &str = "FP0004";
/// An expression has no value: division by zero, an index or a value out of range.
pub const FAULT: &str = "FP0005";
/// Threads can get stuck forever.
pub const STUCK: &str = "FP0006";
/// A result did not fit and wrapped around during the check.
pub const WRAPPED: &str = "FP0007";
/// An `sc` access, which the model does not have.
pub const SC_ACCESS: &str = "FP0008";
/// A file cannot be read, or an argument stands for no file.
pub const UNREADABLE: &str = "FP0009";
/// On a machine with store buffers, a store is delayed past a later access, and others can tell.
pub const DELAYED_STORE: &str = "FP0010";
/// A triangular race: it may be how a delayed store is noticed.
pub const TRIANGULAR_RACE: &str = "FP0011";
/// Transactions of a recorded run cannot have happened one after the other.
pub const NOT_SERIALIZABLE: &str = "FP0012";
