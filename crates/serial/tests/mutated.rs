//! Recordings with mistakes that nobody made by hand: whatever a file holds, reading and judging it ends, with an
//! answer or with a message. A panic or an endless loop fails.
//!
//! `FENCEPOST_MUTATED_INPUTS` says how many are tried; each is a function of its number.

extern crate fencepost_serial as serial;

use budget::Budget;
use serial::judge::{Reading, Scope, judge_within};
use serial::random::{Shape, Style};
use std::time::{Duration, Instant};

/// A small generator (xorshift), so that a failure can be repeated from its number.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

fn recording(dice: &mut Dice) -> Vec<u8> {
    let shape = Shape {
        threads: 1 + dice.roll(5),
        vars: 1 + dice.roll(4),
        events: 1 + dice.roll(60),
        transaction: 1 + dice.roll(6),
        commits: dice.roll(2) == 0,
        style: Style::Free,
        seed: dice.0,
    };
    let names = shape.names();
    let mut text = String::new();
    shape.generate(|event| text.push_str(&format!("{}\n", names.show_line(&event))));
    text.into_bytes()
}

/// Changes a few bytes, lines or words.
fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    const WORDS: [&str; 12] = [
        "begin",
        "end",
        "rd x",
        "wr x",
        "commit x",
        "fence",
        "T1",
        "#",
        "@a.c:1",
        "\u{1f980}",
        "\r",
        "T9 wr",
    ];
    for _ in 0..1 + dice.roll(6) {
        let at = dice.roll(bytes.len() + 1);
        match dice.roll(8) {
            0 if at < bytes.len() => bytes[at] = dice.roll(256) as u8,
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => bytes.insert(at, dice.roll(256) as u8),
            3 => bytes.truncate(at),
            4 => drop(bytes.splice(at..at, WORDS[dice.roll(WORDS.len())].bytes())),
            5 => bytes.insert(at, b'\n'),
            6 => {
                let end = at + dice.roll(bytes.len() + 1 - at);
                let piece = bytes[at..end].to_vec();
                let to = dice.roll(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            _ => {
                let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
                let (a, b) = (dice.roll(lines.len()), dice.roll(lines.len()));
                if !lines.is_empty() {
                    lines.swap(a, b);
                }
                *bytes = lines.concat();
            }
        }
    }
}

#[test]
fn mutated_recordings_are_judged_or_refused() {
    let count = std::env::var("FENCEPOST_MUTATED_INPUTS").ok().and_then(|n| n.parse().ok());
    let count: u64 = count.unwrap_or(500);
    let (mut judged, mut refused) = (0, 0);
    for number in 1..=count {
        let mut dice = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut bytes = recording(&mut dice);
        mutate(&mut bytes, &mut dice);
        let reading = [Reading::Auto, Reading::Execution, Reading::Trace][dice.roll(3)];
        let begun = Instant::now();
        let budget = Budget::new(Some(Duration::from_secs(2)), None);
        let answer =
            std::panic::catch_unwind(|| judge_within(&bytes[..], reading, Scope::ThisRun, budget));
        let text = String::from_utf8_lossy(&bytes);
        match answer.unwrap_or_else(|_| panic!("number {number} panics:\n{text}")) {
            Ok(report) => {
                judged += 1;
                // All faces can be drawn.
                assert!(!serial::report::text(&report).is_empty());
                assert!(serial::report::to_json(&report).ends_with('}'));
            }
            Err(bad) => {
                refused += 1;
                assert!(!bad.to_string().is_empty(), "number {number}");
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(4), "number {number} takes long:\n{text}");
    }
    assert!(judged > count / 50 && refused > count / 50, "{judged} judged, {refused} refused");
}
