//! Expressions as text, and where they need parentheses.

/// An expression in another tool's language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Text {
    text: String,
    /// Is it a single word, or in parentheses?
    closed: bool,
}

impl Text {
    /// A name or a number.
    pub(crate) fn word(text: impl Into<String>) -> Self {
        Text { text: text.into(), closed: true }
    }

    /// An operator with its operands.
    pub(crate) fn open(text: String) -> Self {
        Text { text, closed: false }
    }

    /// To be used where nothing around it can tear it apart.
    pub(crate) fn alone(self) -> String {
        self.text
    }

    /// To be used as an operand.
    pub(crate) fn operand(&self) -> String {
        if self.closed { self.text.clone() } else { format!("({})", self.text) }
    }
}
