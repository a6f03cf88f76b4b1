//! The codes of diagnostics. Users look them up with `fencepost explain`, so a code never changes its meaning.

macro_rules! codes {
    ($(#[doc = $doc:literal] $name:ident = $code:literal;)*) => {
        $(#[doc = $doc] pub const $name: &str = $code;)*

        /// All codes, each with what it stands for.
        pub const ALL: &[(&str, &str)] = &[$(($code, $doc)),*];
    };
}

codes! {
    /// The text does not follow the grammar.
    SYNTAX = "FP1001";
    /// A character or number that no token starts with.
    LEXICAL = "FP1002";
    /// A name that nothing declares.
    UNKNOWN_NAME = "FP1003";
    /// A name of the wrong kind, such as a local where a location must stand.
    WRONG_KIND = "FP1004";
    /// A shared access inside an expression.
    SHARED_IN_EXPRESSION = "FP1005";
    /// A name declared twice.
    DUPLICATE = "FP1006";
    /// A `goto` whose label does not exist.
    NO_LABEL = "FP1007";
    /// An array index out of range, missing, or where there is no array.
    INDEX = "FP1008";
    /// An atomic access to a non-atomic location, or the reverse.
    MIXED_ACCESS = "FP1009";
    /// A declared value outside its range.
    RANGE = "FP1010";
    /// More of something than can be handled.
    LIMIT = "FP1011";
    /// A constant expression without a value.
    CONSTANT = "FP1012";
    /// Nothing to run.
    NO_THREADS = "FP1013";
    /// Part of the language, but not for this command.
    UNSUPPORTED = "FP1014";
    /// A memory order that the access cannot have.
    MODE = "FP1015";
    /// An `atomic` block that control enters or leaves sideways, or inside another.
    ATOMIC_BLOCK = "FP1016";
    /// The file is not UTF-8 text.
    NOT_TEXT = "FP1017";
    /// An access to a variable of another component's space.
    FOREIGN_SPACE = "FP1020";
    /// A call, a return or a method where there can be none, or none where there must be.
    METHOD = "FP1021";
    /// Compiled code that cannot be checked: something in it has no meaning here.
    CODE = "FP1030";
    /// Compiled code whose threads could not be followed to the end within the limits.
    UNFINISHED = "FP1031";
    /// A constant outside `0..=max_value`, which wraps around.
    WRAPS = "FP2001";
    /// Operators that C reads differently from what they look like.
    PRECEDENCE = "FP2002";
    /// Statements that no execution reaches.
    UNREACHABLE = "FP2003";
    /// A division that fails whenever it is reached.
    DIVIDES_BY_ZERO = "FP2004";
    /// A register that is read but never written.
    NEVER_WRITTEN = "FP2005";
    /// Something said twice, of which one counts.
    REPEATED = "FP2006";
    /// Something about compiled code that the verdict depends on.
    CODE_NOTE = "FP2030";
}
