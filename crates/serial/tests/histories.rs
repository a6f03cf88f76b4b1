//! Histories of databases against the definitions, by trying every order.

extern crate fencepost_serial as serial;

mod oracle;

use oracle::cases;
use serial::history::level::{Level, judge};
use serial::history::{Ending, History, Key, Op, Seen, Transaction, Word, jepsen, recorded};
use serial::random::Random;
use serial::read::Reader;
use std::collections::HashMap;

/// A database that reads from a state of its choice, mostly a fair one, and appends at the end.
fn random_history(seed: u64, lists: bool) -> History {
    let mut random = Random::new(seed ^ 0xdb);
    let mut history = History::default();
    history.unit = "operation";
    let keys: Vec<Key> = ["x", "y"].iter().map(|name| history.key(name)).collect();
    let words: Vec<Word> = (1..30).map(|n| history.word(&n.to_string())).collect();
    let (count, fair) = (2 + random.below(3), [100, 80, 50][random.below(3)]);
    // Each transaction has a beginning and an end on one line of time.
    let mut moments: Vec<usize> = (0..count).flat_map(|number| [number, number]).collect();
    for at in (1..moments.len()).rev() {
        moments.swap(at, random.below(at + 1));
    }
    let mut states: Vec<HashMap<Key, Vec<Word>>> = vec![HashMap::new()];
    let mut next = words.into_iter();
    let mut open: HashMap<usize, usize> = HashMap::new();
    for (position, &number) in moments.iter().enumerate() {
        let Some(began) = open.remove(&number) else {
            open.insert(number, position);
            continue;
        };
        let snapshot = match random.chance(fair) {
            true => states.len() - 1,
            false => random.below(states.len()),
        };
        let mut mine = states[snapshot].clone();
        let mut last = states[states.len() - 1].clone();
        let mut ops = Vec::new();
        for _ in 0..1 + random.below(3) {
            let key = keys[random.below(keys.len())];
            let state = mine.entry(key).or_default();
            if random.chance(50) {
                let word = next.next().expect("enough words");
                state.push(word);
                last.entry(key).or_default().push(word);
                ops.push(if lists { Op::Append(key, word) } else { Op::Write(key, word) });
            } else if lists {
                ops.push(Op::List(key, Some(state.clone())));
            } else {
                let seen = state.last().map_or(Seen::Initial, |&word| Seen::Value(word));
                ops.push(Op::Read(key, seen));
            }
        }
        states.push(last);
        let process = history.process(&random.below(2).to_string());
        history.transactions.push(Transaction {
            process,
            name: None,
            at: number as u64,
            began: Some(began),
            ended: Some(position),
            ending: Ending::Committed,
            ops,
        });
    }
    history
}

type State = HashMap<Key, Vec<Word>>;

/// Runs a transaction on a state; whether it reads what it read.
fn runs(transaction: &Transaction, state: &mut State) -> bool {
    transaction.ops.iter().all(|op| match op {
        Op::Append(key, word) | Op::Write(key, word) => {
            state.entry(*key).or_default().push(*word);
            true
        }
        Op::List(key, Some(list)) => state.entry(*key).or_default() == list,
        Op::Read(key, seen) => {
            let last = state.entry(*key).or_default().last().copied();
            match seen {
                Seen::Value(word) => last == Some(*word),
                Seen::Initial => last.is_none(),
                Seen::Unknown => true,
            }
        }
        Op::List(_, None) => true,
    })
}

/// One after the other in some order; with `strict`, one in which what had ended comes first.
fn serial_order(history: &History, strict: bool) -> bool {
    fn go(history: &History, strict: bool, done: u32, state: &State) -> bool {
        let all = &history.transactions;
        if done.count_ones() as usize == all.len() {
            return true;
        }
        (0..all.len()).filter(|&n| done >> n & 1 == 0).any(|n| {
            let waits = |m: usize| {
                done >> m & 1 == 0
                    && m != n
                    && all[m].ended < all[n].began
                    && all[m].ended.is_some()
            };
            if strict && (0..all.len()).any(waits) {
                return false;
            }
            let mut next = state.clone();
            runs(&all[n], &mut next) && go(history, strict, done | 1 << n, &next)
        })
    }
    go(history, strict, 0, &State::new())
}

/// Everybody reads the state at a moment of its own, and writes at a later one, between which nobody
/// else writes the same keys.
fn snapshot_order(history: &History) -> bool {
    #[derive(Clone)]
    struct At {
        snapshots: HashMap<usize, State>,
        /// Keys written since a transaction took its snapshot.
        dirty: HashMap<usize, Vec<Key>>,
        state: State,
        done: u32,
    }
    fn go(history: &History, at: &At) -> bool {
        let all = &history.transactions;
        if at.done.count_ones() as usize == all.len() {
            return true;
        }
        (0..all.len()).filter(|&n| at.done >> n & 1 == 0).any(|n| {
            let mut next = at.clone();
            let Some(mut snapshot) = next.snapshots.remove(&n) else {
                next.snapshots.insert(n, at.state.clone());
                next.dirty.insert(n, Vec::new());
                return go(history, &next);
            };
            let written: Vec<(Key, Word)> = all[n]
                .ops
                .iter()
                .filter_map(|op| match op {
                    Op::Append(key, word) | Op::Write(key, word) => Some((*key, *word)),
                    _ => None,
                })
                .collect();
            let dirty = next.dirty.remove(&n).unwrap_or_default();
            if !runs(&all[n], &mut snapshot) || written.iter().any(|(key, _)| dirty.contains(key)) {
                return false;
            }
            for &(key, word) in &written {
                next.state.entry(key).or_default().push(word);
                next.dirty.values_mut().for_each(|dirty| dirty.push(key));
            }
            next.done |= 1 << n;
            go(history, &next)
        })
    }
    let start =
        At { snapshots: HashMap::new(), dirty: HashMap::new(), state: State::new(), done: 0 };
    go(history, &start)
}

fn shown(history: &History) -> String {
    let line = |t: &Transaction| format!("{:?}-{:?} {}\n", t.began, t.ended, history.show(t));
    history.transactions.iter().map(line).collect()
}

/// Lists tell everything about serializability: the verdict is exact. Two appends to one list that nobody read
/// exclude each other under snapshot isolation, in an order that nobody knows: that may go unnoticed.
#[test]
fn lists_agree_with_every_order() {
    let mut broken = [0; 3];
    for seed in 0..cases() {
        let history = random_history(seed, true);
        let levels = [
            (Level::Serializable, serial_order(&history, false)),
            (Level::StrictSerializable, serial_order(&history, true)),
            (Level::SnapshotIsolation, snapshot_order(&history)),
        ];
        for (index, (level, expected)) in levels.into_iter().enumerate() {
            let verdict = judge(&history, level);
            let names: Vec<&str> = verdict.anomalies.iter().map(|anomaly| anomaly.name).collect();
            let text = shown(&history);
            let agrees = match level {
                Level::SnapshotIsolation => verdict.valid() || !expected,
                _ => verdict.valid() == expected,
            };
            assert!(agrees, "{level:?}, seed {seed}, {names:?}\n{text}");
            broken[index] += u64::from(!expected);
        }
    }
    assert!(broken.iter().all(|&count| count > cases() / 50), "{broken:?}");
}

/// Registers tell a part: what is reported happened.
#[test]
fn registers_never_accuse_wrongly() {
    let mut found = 0;
    for seed in 0..cases() {
        let history = random_history(seed, false);
        for (level, holds) in [
            (Level::Serializable, serial_order(&history, false)),
            (Level::StrictSerializable, serial_order(&history, true)),
            (Level::SnapshotIsolation, snapshot_order(&history)),
        ] {
            let verdict = judge(&history, level);
            assert!(verdict.valid() || !holds, "{level:?}, seed {seed}\n{}", shown(&history));
            found += u64::from(!verdict.valid());
        }
    }
    assert!(found > cases() / 50, "{found}");
}

fn names(text: &str, level: Level) -> Vec<&'static str> {
    let history = jepsen::read(text).expect("a history");
    judge(&history, level).anomalies.iter().map(|anomaly| anomaly.name).collect()
}

#[test]
fn anomalies_have_their_names() {
    let skew = "{:type :invoke :process 0 :value [[:r x nil] [:append y 1]]}
                {:type :invoke :process 1 :value [[:r y nil] [:append x 1]]}
                {:type :ok :process 0 :value [[:r x []] [:append y 1]]}
                {:type :ok :process 1 :value [[:r y []] [:append x 1]]}";
    assert_eq!(names(skew, Level::Serializable), ["G2-item"]);
    let history = jepsen::read(skew).expect("a history");
    assert!(judge(&history, Level::SnapshotIsolation).valid());
    let aborted = "[{:type :fail :process 0 :value [[:append x 1]]}
                    {:type :ok :process 1 :value [[:r x [1]]]}]";
    assert!(names(aborted, Level::ReadCommitted).contains(&"G1a"));
    let stale = "{\"type\": \"invoke\", \"process\": 0, \"value\": [[\"w\", \"x\", 1]]}
                 {\"type\": \"ok\", \"process\": 0, \"value\": [[\"w\", \"x\", 1]]}
                 {\"type\": \"invoke\", \"process\": 1, \"value\": [[\"r\", \"x\", null]]}
                 {\"type\": \"ok\", \"process\": 1, \"value\": [[\"r\", \"x\", null]]}";
    assert_eq!(names(stale, Level::StrictSerializable), ["G-single-realtime"]);
    let lost = "{:type :ok :process 0 :value [[:r x nil] [:w x 1]]}
                {:type :ok :process 1 :value [[:r x nil] [:w x 2]]}";
    assert!(names(lost, Level::SnapshotIsolation).contains(&"lost-update"));
    let circle = "{:type :ok :process 0 :value [[:append x 1] [:r y [1]]]}
                  {:type :ok :process 1 :value [[:append y 1] [:r x [1]]]}";
    assert!(names(circle, Level::ReadCommitted).contains(&"G1c"));
    for bad in ["", "{:type :ok}", "{:type :ok :process 0 :value [[:q x 1]]}", "[{"] {
        assert!(jepsen::read(bad).is_err(), "{bad}");
    }
}

/// A transaction that is aborted in the end may still not see half of another.
#[test]
fn opacity_counts_what_aborted_transactions_saw() {
    let text =
        "T1 begin\nT1 rd x =0\nT2 begin\nT2 wr x =1\nT2 wr y =1\nT2 end\nT1 rd y =1\nT1 abort\n";
    let mut reader = Reader::new(text.as_bytes());
    let events: Vec<_> = reader.by_ref().collect::<Result<_, _>>().expect("a recording");
    let history = recorded::history(&events, reader.names());
    assert!(judge(&history, Level::StrictSerializable).valid());
    let opaque = judge(&history, Level::Opaque);
    assert!(!opaque.valid());
    assert!(opaque.anomalies.iter().any(|anomaly| anomaly.name == "G-single"));
}

/// A history in EDN and in JSON: all transactions at once, or one after the other. An operation is a letter
/// (`a`, `r`, `w`), a key, and a value as JSON has it; a transaction that begins with `!` was aborted.
fn both_ways(transactions: &[&str], at_once: bool) -> [String; 2] {
    let mut lines: Vec<(usize, &str, String)> = Vec::new();
    let parsed: Vec<(usize, &str, String)> = (0..)
        .zip(transactions)
        .map(|(process, text)| {
            let kind = if text.starts_with('!') { "fail" } else { "ok" };
            let ops = text.trim_start_matches('!').split(';').map(|op| {
                let (letter, rest) = op.trim().split_at(1);
                let (key, value) = rest.split_at(1);
                let letter = if letter == "a" { "append" } else { letter };
                format!("[\"{letter}\", \"{key}\", {value}]")
            });
            (process, kind, format!("[{}]", ops.collect::<Vec<_>>().join(", ")))
        })
        .collect();
    let invoked =
        |&(process, ..): &(usize, &'static str, String)| (process, "invoke", "[]".to_string());
    match at_once {
        true => {
            lines.extend(parsed.iter().map(invoked));
            lines.extend(parsed.iter().cloned());
        }
        false => lines.extend(parsed.iter().flat_map(|one| [invoked(one), one.clone()])),
    }
    let json = |(process, kind, ops): &(usize, &str, String)| {
        format!("{{\"type\": \"{kind}\", \"process\": {process}, \"value\": {ops}}}\n")
    };
    let edn = |(process, kind, ops): &(usize, &str, String)| {
        let mut ops = ops.replace("null", "nil").replace(',', " ");
        for letter in ["append", "r", "w"] {
            ops = ops.replace(&format!("[\"{letter}\""), &format!("[:{letter}"));
        }
        format!("{{:type :{kind}, :process {process}, :value {ops}}}\n")
    };
    [lines.iter().map(edn).collect(), lines.iter().map(json).collect()]
}

/// The anomalies that Elle names, each in a history as small as it gets: exactly these names are given.
/// Would catch a cycle with `wr` that is called G0, and updates of lists that nobody calls lost.
#[test]
fn every_anomaly_has_exactly_its_names() {
    let at_once: &[(&[&str], &[&str])] = &[
        (&["ax1; ay1", "ax2; ay2", "rx[1,2]; ry[2,1]"], &["G0"]),
        (&["!ax1", "rx[1]"], &["G1a"]),
        (&["ax1; ax2", "rx[1]", "rx[1,2]"], &["G1b", "G-single"]),
        (&["ax1; ry[2]", "ay2; rx[1]"], &["G1c"]),
        (&["ax1; ay1", "rx[]; ry[1]", "rx[1]"], &["G-single"]),
        (&["rx[]; ay1", "ry[]; ax1", "rx[1]; ry[1]"], &["G2-item"]),
        (&["ru[1]; rx[]", "ax1; ay1", "ry[1]; rz[]", "az1; au1"], &["G-nonadjacent"]),
        (&["rx[]; ax1", "rx[]; ax2", "rx[1,2]"], &["lost-update", "G-single"]),
        (&["ax1; rx[]"], &["internal"]),
        (&["rx[]; ax2; rx[1,2]", "ax1"], &["internal"]),
        (&["ax1", "rx[1,1]"], &["duplicate-elements"]),
        (&["ax1", "ax2", "rx[1,2]", "rx[2,1]"], &["incompatible-order"]),
        (&["rx[7]"], &["unwritten-read"]),
        (&["ax1", "rx[1]; ax2", "rx[1,2]"], &[]),
        (&["!wx1", "rx1"], &["G1a"]),
        (&["wx1; wx2", "rx1"], &["G1b"]),
        (&["wx1; ry2", "wy2; rx1"], &["G1c"]),
        (&["wx1; wy1", "rxnull; ry1"], &["G-single"]),
        (&["rxnull; wy1", "rynull; wx1"], &["G2-item"]),
        (&["rxnull; wx1", "rxnull; wx2"], &["lost-update", "G2-item"]),
        (&["wx1; rx2", "wx2"], &["internal"]),
        (&["rx1; wx2", "rx2; wx1"], &["G0"]),
        // What the transaction itself appends only later is no version that it can have found.
        (&["rx[1]; ax1"], &["future-read"]),
        (&["ay3; ry[4,3]; ay4"], &["future-read"]),
        (&["rz[]; az1; rz[1]; az2"], &[]),
        // Empty, and yet with a value from nowhere.
        (&["rxnull", "rx7"], &["unwritten-read"]),
        (&["rx7", "rx7; wx8"], &[]),
        // The worst cycle has the name, not what it is a case of; but another among other transactions has.
        (&["ax1; ay1", "ax2; ay2", "rx[1,2]; ry[2,1]", "au1; rv[1]", "av1; ru[1]"], &["G0", "G1c"]),
    ];
    let in_turn: &[(&[&str], &[&str])] = &[
        (&["ax1", "ax2", "rx[2,1]"], &["G0-realtime"]),
        (&["rx[1]", "ax1"], &["G1c-realtime"]),
        (&["ax1", "rx[]", "rx[1]"], &["G-single-realtime"]),
        (&["ax1", "rx[1]; ax2", "rx[1,2]"], &[]),
        (&["wx1", "rxnull"], &["G-single-realtime"]),
        // Registers by time: an old value, one that comes back, one that was read and is read again.
        (&["wx1", "wx2", "rx1"], &["G-single-realtime"]),
        (&["wx1", "wx2", "rx2", "wy1"], &[]),
        (&["wx1; wy2", "wx2; wy1", "rx2", "ry2"], &["G-single-realtime"]),
        (&["rx[]; ay1", "ry[]; ax1", "rx[1]; ry[1]"], &["G2-item", "G-single-realtime"]),
    ];
    let at_once = at_once.iter().map(|case| (case, true));
    for ((transactions, expected), at_once) in
        at_once.chain(in_turn.iter().map(|case| (case, false)))
    {
        for text in both_ways(transactions, at_once) {
            assert_eq!(names(&text, Level::StrictSerializable), *expected, "{text}");
        }
    }
}

/// A history without invocations does not say when transactions began: real time accuses nobody, the order of
/// a process does.
#[test]
fn completions_alone_have_no_real_time() {
    let late = "{:type :ok :process 0 :value [[:append x 1]]}
                {:type :ok :process 1 :value [[:r x []]]}
                {:type :ok :process 2 :value [[:r x [1]]]}";
    assert!(names(late, Level::StrictSerializable).is_empty());
    let by_one = late.replace(":process 1", ":process 0");
    assert_eq!(names(&by_one, Level::StrictSerializable), ["G-single-process"]);
    // What had ended before another was invoked comes before it.
    let mixed = late.replace(
        "{:type :ok :process 1",
        "{:type :invoke :process 1 :value []}
                {:type :ok :process 1",
    );
    assert_eq!(names(&mixed, Level::StrictSerializable), ["G-single-realtime"]);
}

/// Two that wrote at the same time, and three that read one after the other: the value flips back.
#[test]
fn a_register_that_flips_back_is_not_strict() {
    let history = |last: u32| {
        format!(
            "{{:type :invoke :process 0 :value [[:w x 1]]}}
             {{:type :invoke :process 1 :value [[:w x 2]]}}
             {{:type :invoke :process 2 :value [[:r x nil]]}}
             {{:type :ok :process 2 :value [[:r x 2]]}}
             {{:type :invoke :process 2 :value [[:r x nil]]}}
             {{:type :ok :process 2 :value [[:r x 1]]}}
             {{:type :invoke :process 2 :value [[:r x nil]]}}
             {{:type :ok :process 2 :value [[:r x {last}]]}}
             {{:type :ok :process 0 :value [[:w x 1]]}}
             {{:type :ok :process 1 :value [[:w x 2]]}}"
        )
    };
    assert_eq!(names(&history(2), Level::StrictSerializable), ["G-single-realtime"]);
    assert!(names(&history(1), Level::StrictSerializable).is_empty());
}

/// Memory that is zero before it is written as zero: reading that zero is no view of the future, and no
/// proof that the writer came first.
#[test]
fn an_initial_value_that_is_written_again_proves_nothing() {
    let verdict = |text: &str| {
        let mut reader = Reader::new(text.as_bytes());
        let events: Vec<_> = reader.by_ref().collect::<Result<_, _>>().expect("a recording");
        judge(&recorded::history(&events, reader.names()), Level::StrictSerializable)
    };
    for fine in [
        "T1 rd x =0\nT2 wr x =1\nT2 wr x =0\nT3 rd x =0\n",
        "T2 begin\nT2 wr x =0\nT1 begin\nT1 rd x =0\nT1 wr y =5\nT1 end\nT2 rd y =5\nT2 end\n",
    ] {
        let verdict = verdict(fine);
        assert!(verdict.valid(), "{:?}\n{fine}", verdict.anomalies);
    }
    let stale = verdict("T1 wr x =1\nT2 wr x =2\nT3 rd x =1\n");
    assert!(!stale.valid());
}
