//! The codes of findings. Users look them up with `fencepost explain`, so a code never changes its meaning. `lang::codes` has
//! those of texts that are no programs.

macro_rules! codes {
    ($(#[doc = $doc:literal] $name:ident = $code:literal;)*) => {
        $(#[doc = $doc] pub const $name: &str = $code;)*

        /// All codes, each with what it stands for.
        pub const ALL: &[(&str, &str)] = &[$(($code, $doc)),*];
    };
}

codes! {
    /// Weak memory can make the program do what no interleaving explains.
    ROBUSTNESS = "FP0001";
    /// The same, and the program can tell.
    OBSERVATIONAL_ROBUSTNESS = "FP0002";
    /// Two non-atomic accesses race.
    RACE = "FP0003";
    /// An assertion fails.
    ASSERTION = "FP0004";
    /// An expression has no value: division by zero, an index or a value out of range.
    FAULT = "FP0005";
    /// Threads can get stuck forever.
    STUCK = "FP0006";
    /// A result did not fit and wrapped around during the check.
    WRAPPED = "FP0007";
    /// A file cannot be read, or an argument stands for no file.
    UNREADABLE = "FP0009";
    /// On a machine with store buffers, a store is delayed past a later access, and others can tell.
    DELAYED_STORE = "FP0010";
    /// A triangular race: it may be how a delayed store is noticed.
    TRIANGULAR_RACE = "FP0011";
    /// Transactions of a recorded run cannot have happened one after the other.
    NOT_SERIALIZABLE = "FP0012";
    /// A library has a history that its specification lacks.
    NOT_REFINED = "FP0013";
    /// A client calls where the policy does not let it.
    OFF_POLICY = "FP0014";
    /// Fencepost itself went wrong.
    INTERNAL = "FP0015";
    /// A run ends in a state that the final condition excludes.
    FINAL_CONDITION = "FP0016";
    /// Threads wait or spin for ever, though all see the newest writes.
    LIVENESS = "FP0017";
    /// `fencepost.toml` cannot be used, or there is none.
    PROJECT = "FP0018";
}
