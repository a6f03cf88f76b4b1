//! The programs that the page offers. Each says in its name what comes out, and a test holds it to that.

use super::link::{Language, Program};
use serde_json::{Value, json};

/// An example: its name, its language, its text, its model if that is not the language's own, an option, and the verdict.
type Example = (
    &'static str,
    Language,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    &'static str,
);

/// All of them; the page begins with the first.
pub(super) const EXAMPLES: [Example; 8] = [
    (
        "Store buffering: not robust",
        Language::Fp,
        include_str!("examples/store-buffering.fp"),
        None,
        None,
        "violated",
    ),
    (
        "Message passing: release and acquire are enough",
        Language::Fp,
        include_str!("examples/message-passing.fp"),
        None,
        None,
        "holds",
    ),
    (
        "A race: the flag is relaxed",
        Language::Fp,
        include_str!("examples/race.fp"),
        None,
        None,
        "violated",
    ),
    (
        "Peterson's lock on x86: a fence is missing",
        Language::Fp,
        include_str!("examples/peterson.fp"),
        Some("tso"),
        None,
        "violated",
    ),
    (
        "Seqlock: readers retry until all fits",
        Language::Fp,
        include_str!("examples/seqlock.fp"),
        None,
        Some("observational"),
        "holds",
    ),
    (
        "C: a spin lock with one order too weak",
        Language::C,
        include_str!("examples/lock.c"),
        None,
        None,
        "violated",
    ),
    (
        "Rust: publish a value",
        Language::Rs,
        include_str!("examples/publish.rs"),
        None,
        None,
        "holds",
    ),
    (
        "A litmus test, as herd reads it",
        Language::Litmus,
        include_str!("examples/sb.litmus"),
        None,
        None,
        "violated",
    ),
];

/// For the page.
pub(super) fn all() -> Vec<Value> {
    let shown = |(name, language, text, model, option, verdict): &Example| {
        let program = Program {
            text: (*text).to_string(),
            language: *language,
            model: model.map(str::to_string),
            options: option.iter().map(|option| (*option).to_string()).collect(),
        };
        json!({ "name": name, "program": program, "verdict": verdict })
    };
    EXAMPLES.iter().map(shown).collect()
}
