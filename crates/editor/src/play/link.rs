//! Programs as links.
//!
//! What comes behind `#p=` is a program with its language, model and options: JSON, in the alphabet of base64 that is
//! meant for addresses. `page.js` writes and reads the same.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What stands before a program in an address.
const MARK: &str = "#p=";

/// A program and what to ask about it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Program {
    /// The text.
    pub text: String,
    /// Its language.
    #[serde(default)]
    pub language: Language,
    /// The memory model; none for the language's own.
    #[serde(default)]
    pub model: Option<String>,
    /// Options of `check` by name, without dashes.
    #[serde(default)]
    pub options: Vec<String>,
}

/// The language of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Fencepost's.
    #[default]
    Fp,
    /// C.
    C,
    /// C++.
    Cpp,
    /// Rust.
    Rs,
    /// A litmus test.
    Litmus,
}

impl Language {
    /// How its files are called.
    pub fn extension(self) -> &'static str {
        match self {
            Language::Fp => "fp",
            Language::C => "c",
            Language::Cpp => "cpp",
            Language::Rs => "rs",
            Language::Litmus => "litmus",
        }
    }

    /// The language of a file.
    pub fn of(file: &Path) -> Self {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("c" | "h") => Language::C,
            Some("cc" | "cpp" | "cxx" | "C" | "hpp" | "hh") => Language::Cpp,
            Some("rs") => Language::Rs,
            Some("litmus") => Language::Litmus,
            _ => Language::Fp,
        }
    }
}

/// Is it a link of a playground, and not a file?
pub fn is_link(text: &str) -> bool {
    text.contains("://") && text.contains(MARK)
}

/// The program that a link holds.
///
/// # Errors
///
/// Why it holds none, in a sentence.
pub fn read(link: &str) -> Result<Program, String> {
    let (_, packed) = link.split_once(MARK).ok_or("the link holds no program")?;
    let bytes = URL_SAFE_NO_PAD
        .decode(packed.trim())
        .map_err(|_| "the link is damaged: a part of it is missing or was changed")?;
    serde_json::from_slice(&bytes)
        .map_err(|error| format!("the link is damaged, or of another version: {error}"))
}

/// A program as what comes behind an address.
pub fn write(program: &Program) -> String {
    let text = serde_json::to_string(program).unwrap_or_default();
    format!("{MARK}{}", URL_SAFE_NO_PAD.encode(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_hold_programs() {
        let program = Program {
            text: "atomic x; // ünï → #p= ?&\n".into(),
            language: Language::C,
            model: Some("tso".into()),
            options: vec!["all".into()],
        };
        let link = format!("http://127.0.0.1:1/{}", write(&program));
        assert!(is_link(&link));
        assert_eq!(read(&link), Ok(program));
        let small = format!("x://{MARK}{}", URL_SAFE_NO_PAD.encode(r#"{"text":"t"}"#));
        assert_eq!(read(&small).map(|p| (p.text, p.language)), Ok(("t".into(), Language::Fp)));
    }

    #[test]
    fn damaged_links_are_refused() {
        let link = format!("http://127.0.0.1:1/{MARK}!!");
        for damaged in ["http://127.0.0.1:1/", &link, &link.replace("!!", "AAAA")] {
            assert!(read(damaged).is_err(), "{damaged}");
        }
        assert!(!is_link("a#p=b.fp"));
    }
}
