//! Texts with mistakes that no one made by hand, and a watch over what becomes of them.
//!
//! A text of a corpus is mutated: words are deleted, doubled, exchanged, replaced by words of other
//! texts, numbers changed. [`survive`] hands each to the test, catches panics, ends the test if one
//! input hangs, and fails if one panicked or took too long.

use ir::random::Generator;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long one input may take in all. Limits given to checks are a twentieth of that.
pub(crate) const PATIENCE: Duration = Duration::from_secs(4);
/// After this long, an input is taken to hang and the test is ended.
const HANGS: Duration = Duration::from_secs(60);

/// How many inputs to try.
fn count() -> u64 {
    std::env::var("FENCEPOST_MUTATED_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

/// Words, numbers and single signs; blanks belong to what follows.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = ' ';
    for c in text.chars() {
        let joins = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(word)
                if (joins && (last.is_alphanumeric() || last == '_')) || last.is_whitespace() =>
            {
                word.push(c);
            }
            _ => words.push(c.to_string()),
        }
        last = c;
    }
    words
}

fn mutated(texts: &[String], vocabulary: &[&str], random: &mut Generator) -> String {
    let pick = |random: &mut Generator| texts[random.below(texts.len())].clone();
    let mut words = words(&pick(random));
    for _ in 0..1 + random.below(3) {
        if words.is_empty() {
            break;
        }
        let at = random.below(words.len());
        let other = random.below(words.len());
        let blank = |word: &str| format!(" {word}");
        let numbers: Vec<usize> = (0..words.len())
            .filter(|&k| {
                words[k].trim().chars().all(|c| c.is_ascii_digit()) && !words[k].trim().is_empty()
            })
            .collect();
        match random.below(12) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[other].clone()),
            2 => words.swap(at, other),
            3 => words[at] = blank(vocabulary[random.below(vocabulary.len())]),
            4 => words.insert(at, blank(vocabulary[random.below(vocabulary.len())])),
            5 => {
                let donor = self::words(&pick(random));
                if !donor.is_empty() {
                    words[at] = donor[random.below(donor.len())].clone();
                }
            }
            6 => {
                // A run of words, such as a statement, twice.
                let end = (at + 1 + random.below(12)).min(words.len());
                let copy: Vec<String> = words[at..end].to_vec();
                words.splice(at..at, copy);
            }
            _ if !numbers.is_empty() => {
                let number = numbers[random.below(numbers.len())];
                let values = ["0", "1", "2", "3", "5", "30", "255", "1000"];
                words[number] = blank(values[random.below(values.len())]);
            }
            _ => {}
        }
    }
    words.concat()
}

/// Hands mutated texts to `ask`, which says whether it could make something of one. At least one in five
/// must be of use.
pub(crate) fn survive(
    texts: &[String],
    vocabulary: &[&str],
    ask: impl Fn(&str, &mut Generator) -> bool,
) {
    let panicked: Mutex<BTreeMap<String, String>> = Mutex::default();
    let place: &'static Mutex<String> = Box::leak(Box::default());
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        let at = info.location().map_or("somewhere".into(), ToString::to_string);
        if let Ok(mut place) = place.lock() {
            *place = format!("{at}: {info}");
        }
    }));
    // Who hangs is named, and the test ends: nothing else would.
    let (begins, watched) = channel::<String>();
    let watcher = std::thread::spawn(move || {
        let mut current = String::new();
        loop {
            match watched.recv_timeout(HANGS) {
                Ok(text) => current = text,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("still at it after {HANGS:?}:\n{current}");
                    std::process::abort();
                }
            }
        }
    });
    let (mut used, mut slow) = (0u64, Vec::new());
    for seed in 0..count() {
        let mut random = Generator { state: seed.wrapping_mul(0x2545_f491_4f6c_dd1d) };
        let text = mutated(texts, vocabulary, &mut random);
        begins.send(format!("seed {seed}\n{text}")).expect("the watcher runs");
        let begun = Instant::now();
        let asked = catch_unwind(AssertUnwindSafe(|| u64::from(ask(&text, &mut random))));
        match asked {
            Ok(useful) => used += useful,
            Err(_) => {
                let place = place.lock().map(|place| place.clone()).unwrap_or_default();
                let mut panicked = panicked.lock().expect("only this thread");
                let known = panicked.entry(place).or_insert_with(|| format!("seed {seed}\n{text}"));
                if text.len() < known.len() {
                    *known = format!("seed {seed}\n{text}");
                }
            }
        }
        if begun.elapsed() > PATIENCE {
            slow.push((begun.elapsed(), seed, text));
        }
    }
    drop(begins);
    watcher.join().expect("the watcher ends");
    std::panic::set_hook(usual);
    eprintln!("{} inputs, {used} of them of use", count());
    let panicked = panicked.into_inner().expect("only this thread");
    for (place, text) in &panicked {
        eprintln!("== {place}\n{text}\n");
    }
    for (time, seed, text) in &slow {
        eprintln!("== {time:?}: seed {seed}\n{text}\n");
    }
    assert!(panicked.is_empty(), "{} places panicked", panicked.len());
    assert!(slow.is_empty(), "{} inputs took too long", slow.len());
    assert!(used * 5 > count(), "only {used} of {} inputs are of use", count());
}
