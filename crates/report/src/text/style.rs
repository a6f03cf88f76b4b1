//! How text looks: colours and width.

use anstyle::{AnsiColor, Style};

/// How text is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// With colours?
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Look {
    /// For files, pipes and tests.
    pub const PLAIN: Look = Look { color: false, width: 100 };

    /// The text in an ink.
    pub fn paint(&self, ink: Ink, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_string();
        }
        let style = ink.style();
        format!("{style}{text}{style:#}")
    }
}

/// What gets a colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ink {
    /// Good news.
    Good,
    /// Bad news.
    Bad,
    /// Something to look at.
    Warning,
    /// Headings.
    Strong,
    /// What is there if needed.
    Faint,
}

impl Ink {
    fn style(self) -> Style {
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Ink::Good => color(AnsiColor::Green).bold(),
            Ink::Bad => color(AnsiColor::Red).bold(),
            Ink::Warning => color(AnsiColor::Yellow).bold(),
            Ink::Strong => Style::new().bold(),
            Ink::Faint => Style::new().dimmed(),
        }
    }
}
