//! What is wrong with a file of IR, and where.

use std::fmt;

/// Why a file of IR was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// The file, as the caller named it.
    pub file: Box<str>,
    /// The line, counted from 1; 0 if the file as a whole is meant.
    pub line: u32,
    /// The column in bytes, counted from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => write!(f, "{}: {}", self.file, self.message),
            (line, column) => write!(f, "{}:{line}:{column}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for Error {}
