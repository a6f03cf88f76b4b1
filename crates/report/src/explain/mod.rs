//! What each code means: a page that teaches it, with a minimal program and its fix.
//!
//! The pages are one Markdown file. Tests run every program in it: the wrong ones get the code they
//! stand under, the right ones do not.

use crate::text::{Ink, Look};

const PAGES: &str = include_str!("pages.md");

/// The page of one code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// The code.
    pub code: &'static str,
    /// What it stands for, in a line.
    pub title: &'static str,
    /// All about it, in Markdown.
    pub text: &'static str,
}

impl Page {
    /// The first paragraph, on one line.
    pub fn summary(&self) -> String {
        let first = self.text.split("\n\n").next().unwrap_or_default();
        first.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The page for a terminal: programs indented, nothing else changed.
    pub fn show(&self, look: &Look) -> String {
        let title = look.paint(Ink::Strong, &format!("{}: {}", self.code, self.title));
        let mut out = format!("{title}\n\n");
        let mut inside = false;
        for line in self.text.lines() {
            match (line.starts_with("```"), inside) {
                (true, _) => inside = !inside,
                (false, true) => out.push_str(&format!("    {line}\n")),
                (false, false) => out.push_str(&format!("{line}\n")),
            }
        }
        out
    }
}

/// All pages, in the order of codes.
pub fn pages() -> impl Iterator<Item = Page> {
    let sections = PAGES.split("\n# ").map(|section| section.trim_start_matches("# "));
    sections.filter_map(|section| {
        let (head, text) = section.split_once('\n')?;
        let (code, title) = head.split_once(": ")?;
        Some(Page { code, title, text: text.trim() })
    })
}

/// The page of a code, however it is written: `FP0001`, `fp1`, `1`.
pub fn page(code: &str) -> Option<Page> {
    let digits = code
        .trim()
        .trim_start_matches(|c: char| c.eq_ignore_ascii_case(&'f') || c.eq_ignore_ascii_case(&'p'));
    let number: u32 = digits.parse().ok()?;
    let full = format!("FP{number:04}");
    pages().find(|page| page.code == full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes;

    /// Catches a code that nobody can look up.
    #[test]
    fn every_code_has_a_page() {
        let all = codes::ALL.iter().chain(lang::codes::ALL).map(|(code, _)| *code);
        let pages: Vec<&str> = pages().map(|page| page.code).collect();
        assert_eq!(all.collect::<Vec<_>>(), pages);
    }

    #[test]
    fn codes_are_found_however_they_are_written() {
        for code in ["FP0001", "fp0001", "FP1", "1"] {
            assert_eq!(page(code).map(|page| page.code), Some("FP0001"), "{code}");
        }
        for code in ["", "FP", "FP0000", "E0001", "FP99999"] {
            assert_eq!(page(code), None, "{code}");
        }
    }
}
