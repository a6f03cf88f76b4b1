//! Recordings with mistakes that nobody made by hand: whatever a file holds, reading and judging it ends, with an
//! answer or with a message. A panic or an endless loop fails.
//!
//! `FENCEPOST_MUTATED_INPUTS` says how many are tried; each is a function of its number.

extern crate fencepost_serial as serial;

use budget::Budget;
use serial::event::Action;
use serial::history::jepsen;
use serial::history::level::{self, Level};
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
    let valued = dice.roll(3) == 0;
    shape.generate(|event| {
        text.push_str(&names.show_line(&event));
        if valued && matches!(event.action, Action::Read(_) | Action::Write(_)) {
            text.push_str(&format!(" ={}", dice.roll(3)));
        }
        text.push('\n');
    });
    text.into_bytes()
}

/// A history as Jepsen writes it, of lists or registers, in EDN or JSON.
fn history(dice: &mut Dice) -> Vec<u8> {
    let (lists, json) = (dice.roll(2) == 0, dice.roll(2) == 0);
    let mut text = String::new();
    for process in 0..1 + dice.roll(6) {
        let mut ops: Vec<String> = Vec::new();
        for _ in 0..dice.roll(4) {
            let (key, value) = (dice.roll(3), dice.roll(4));
            let list = |length: usize| (0..length).map(|n| n.to_string()).collect::<Vec<_>>();
            let (what, value) = match (dice.roll(2), lists) {
                (0, true) => ("append", value.to_string()),
                (0, false) => ("w", value.to_string()),
                (_, true) => ("r", format!("[{}]", list(value).join(if json { "," } else { " " }))),
                (_, false) => ("r", value.to_string()),
            };
            ops.push(match json {
                true => format!("[\"{what}\",{key},{value}]"),
                false => format!("[:{what} {key} {value}]"),
            });
        }
        for kind in ["invoke", ["ok", "fail", "info"][dice.roll(3)]] {
            text.push_str(&match json {
                true => format!(
                    "{{\"type\":\"{kind}\",\"process\":{process},\"value\":[{}]}}\n",
                    ops.join(",")
                ),
                false => {
                    format!("{{:type :{kind} :process {process} :value [{}]}}\n", ops.join(" "))
                }
            });
        }
    }
    text.into_bytes()
}

/// Changes a few bytes, lines or words.
fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    const WORDS: [&str; 28] = [
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
        " =3",
        " =0 =1",
        "rmw x",
        "lock l",
        "unlock l",
        "abort",
        " from T2#3",
        " from init",
        "from T1#0",
        "#99999999999999999999",
        "[:r 0 [0]]",
        ":info",
        "nil",
        "\\",
        "}{",
        "\u{feff}",
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

/// Takes lines out, doubles, swaps and adds them: what comes of it often is a recording, if not of any run.
fn mutate_lines(bytes: &mut Vec<u8>, dice: &mut Dice) {
    const LINES: [&str; 10] = [
        "T1 rd x1 =0\n",
        "T2 wr x1 =1\n",
        "T1 rmw x1 =0 =1\n",
        "T2 rmw x2\n",
        "T1 lock l\n",
        "T1 unlock l\n",
        "T2 abort\n",
        "T2 rd x1 from init\n",
        "T1 rd x2 =1 from T2#2\n",
        "T3 fence @a.c:1\n",
    ];
    let mut lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..1 + dice.roll(4) {
        let (a, b) = (dice.roll(lines.len()), dice.roll(lines.len()));
        match dice.roll(4) {
            0 if !lines.is_empty() => drop(lines.remove(a)),
            1 if !lines.is_empty() => lines.swap(a, b),
            2 if !lines.is_empty() => lines.insert(a, lines[b].clone()),
            _ => lines.insert(a, LINES[dice.roll(LINES.len())].into()),
        }
    }
    *bytes = lines.concat();
}

#[test]
fn mutated_recordings_are_judged_or_refused() {
    let count = std::env::var("FENCEPOST_MUTATED_INPUTS").ok().and_then(|n| n.parse().ok());
    let count: u64 = count.unwrap_or(500);
    let (mut judged, mut refused) = (0, 0);
    for number in 1..=count {
        let mut dice = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut bytes = recording(&mut dice);
        match dice.roll(2) {
            0 => mutate(&mut bytes, &mut dice),
            _ => mutate_lines(&mut bytes, &mut dice),
        }
        let reading =
            [Reading::Auto, Reading::Auto, Reading::Execution, Reading::Trace][dice.roll(4)];
        let scope = [Scope::ThisRun, Scope::Predicted][dice.roll(2)];
        let begun = Instant::now();
        let budget = Budget::new(Some(Duration::from_secs(2)), None);
        let answer = std::panic::catch_unwind(|| judge_within(&bytes[..], reading, scope, budget));
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
    assert!(judged > count / 20 && refused > count / 20, "{judged} judged, {refused} refused");
}

#[test]
fn mutated_histories_are_judged_or_refused() {
    let count = std::env::var("FENCEPOST_MUTATED_INPUTS").ok().and_then(|n| n.parse().ok());
    let count: u64 = count.unwrap_or(500);
    let (mut judged, mut refused) = (0, 0);
    for number in 1..=count {
        let mut dice = Dice(number.wrapping_mul(0xd134_2543_de82_ef95) | 1);
        let mut bytes = history(&mut dice);
        mutate(&mut bytes, &mut dice);
        let begun = Instant::now();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let answer = std::panic::catch_unwind(|| {
            let history = jepsen::read(&text)?;
            for level in Level::ALL {
                let verdict = level::judge(&history, level);
                assert!(!level::text(&history, &verdict).is_empty());
                assert!(level::to_json(&history, &verdict).is_object());
            }
            Ok::<(), (u64, String)>(())
        });
        match answer.unwrap_or_else(|_| panic!("number {number} panics:\n{text}")) {
            Ok(()) => judged += 1,
            Err((_, message)) => {
                refused += 1;
                assert!(!message.is_empty(), "number {number}");
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(4), "number {number} takes long:\n{text}");
    }
    assert!(judged > count / 50 && refused > count / 50, "{judged} judged, {refused} refused");
}
