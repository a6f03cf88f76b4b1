//! Random programs aimed at the reductions.
//!
//! A reduction goes wrong where one of its premises almost holds. So these programs are nearly
//! symmetric (unequal initial values, exchanged locations, arrays that are too short, one thread
//! that differs a little), count (with guards, clocks, constants such as 0 for "offline", loop_counters),
//! compare with what was loaded, hand out numbers of threads that name elements of arrays, wait, choose, and do
//! several of these at once. Every fourth has weak compare-and-swaps and threads that start and await others; every
//! eleventh has hundreds of locations; every
//! seventh does nothing but hand out names ([`names`]), and every ninth nothing but count and look back
//! ([`windows`]); some have negative values, or end with a final condition; every sixth has what only machines with store buffers and
//! interleavings know ([`is_for_interleavings`]).
//!
//! [`parsed`] is a function of its seed, and gives the text too, so that a failure can be read and kept.

mod names;
mod windows;

use ir::random::{Generator, without_registers};
use ir::{Edge, Program};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Looks at programs on two threads, and says which seeds they had: 2,000, or as many as the variable `count` of the environment
/// asks for, from `FENCEPOST_FIRST_SEED` on.
#[allow(dead_code)] // Some tests look at other programs, too.
pub(crate) fn each_seed(count: &str, look: impl Fn(u64) + Sync) -> Range<u64> {
    let asked = |variable: &str, usual: u64| {
        std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let first = asked("FENCEPOST_FIRST_SEED", 0);
    let seeds = first..first + asked(count, 2_000);
    let next = AtomicU64::new(seeds.start);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let seed = || Some(next.fetch_add(1, Relaxed)).filter(|seed| *seed < seeds.end);
                std::iter::from_fn(seed).for_each(&look);
            });
        }
    });
    seeds
}

/// Steps that a thread may have whose registers are left out.
const MOST_STEPS: usize = 400;

/// What a thread may name.
struct Scope {
    /// The thread's number, as it writes it: `t` in a replica, else a constant.
    own: String,
    /// The other thread's number.
    other: String,
    /// The names of the plain locations, in this thread's order.
    plain: [&'static str; 2],
    /// The names of the two counters, in this thread's order.
    counters: [&'static str; 2],
    /// Are there negative values?
    signed: bool,
}

/// What the whole program has.
struct Shape {
    threads: usize,
    counts: bool,
    epochs: bool,
    loop_counters: bool,
    turns: bool,
    /// Does `e[0]` hold what the clock showed, to be compared with later?
    publishes: bool,
    na: bool,
    /// Are there weak compare-and-swaps?
    weak: bool,
    /// Do threads start others?
    spawns: bool,
    /// Are there lightweight fences and bus locks?
    machine: bool,
    /// The highest value that a guard lets pass.
    guard: usize,
    /// The length of the array `a`.
    length: usize,
    /// Are there arrays whose elements threads' names stand for, as in a queue lock? And what is to be
    /// taken from a name to get the element?
    names: Option<usize>,
    /// The length of these arrays.
    named: usize,
}

/// Does the program with this seed do nothing but hand out names?
pub(crate) fn is_about_names(seed: u64) -> bool {
    seed % 7 == 3
}

/// Does the program with this seed do nothing but count and look back?
fn is_about_windows(seed: u64) -> bool {
    seed % 9 == 6
}

/// Is it an error in the program with this seed if a value leaves the domain? Text does not say so, who asks does.
#[allow(dead_code)] // not all who compare something ask
pub(crate) fn is_strict(seed: u64) -> bool {
    is_about_windows(seed) && (seed / 9).is_multiple_of(3)
}

/// May the program with this seed have lightweight fences and bus locks, which only interleavings and machines with
/// store buffers know?
pub(crate) fn is_for_interleavings(seed: u64) -> bool {
    seed % 6 == 1
}

/// How the text of a program begins that was unfolded.
pub(crate) const UNFOLDED: &str = "// as an automaton\n";

/// The program with this seed, and its text. In every fifth, what threads know is where they are, if there is room for that:
/// the form of code that was discovered by running it.
pub(crate) fn parsed(seed: u64) -> (Program, String) {
    let text = match seed % 11 {
        5 => padded(&program(seed), [255, 191, 255, 192, 255, 254][seed as usize / 11 % 6]),
        _ => program(seed),
    };
    let source = lang::parse("aimed", &text);
    let mut program = source.unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{text}")).program;
    if is_strict(seed) {
        program.domain.edge = Edge::Fault;
    }
    let unfolded = match seed / 7 % 5 {
        2 => without_registers(&program, MOST_STEPS),
        _ => None,
    };
    match unfolded {
        Some(program) => (program, format!("{UNFOLDED}{text}")),
        None => (program, text),
    }
}

/// The program with arrays behind its first two locations that nobody accesses: sets of locations that have room for so many
/// only take several of the others for one.
fn padded(text: &str, length: usize) -> String {
    let (mut padded, mut pads) = (String::new(), 0);
    for line in text.lines() {
        let declared = line.strip_prefix("atomic ").filter(|declared| !declared.contains('{'));
        let Some(declared) = declared else {
            padded += &format!("{line}\n");
            continue;
        };
        for one in declared.trim_end_matches(';').split(", ") {
            padded += &format!("atomic {one};\n");
            if pads < 2 {
                padded += &format!("atomic pad{pads}[{length}];\n");
                pads += 1;
            }
        }
    }
    padded
}

/// The program with this seed, as text.
fn program(seed: u64) -> String {
    let random = &mut Generator { state: seed };
    if is_about_names(seed) {
        return names::program(random, seed / 7 % 8 == 5);
    }
    if is_about_windows(seed) {
        return windows::program(random);
    }
    let threads = 2 + usize::from(random.one_in(5));
    let shape = Shape {
        threads,
        counts: !random.one_in(4),
        epochs: random.one_in(3),
        loop_counters: !random.one_in(3),
        turns: random.one_in(3),
        publishes: random.one_in(4),
        na: random.one_in(8),
        weak: seed % 4 == 3,
        spawns: seed % 8 == 3,
        machine: is_for_interleavings(seed),
        guard: 2 + random.below(3),
        length: if random.one_in(8) { threads - 1 } else { threads + random.below(2) },
        names: random.one_in(3).then(|| random.below(2)),
        named: if random.one_in(8) { threads - 1 } else { threads + random.below(2) },
    };
    let largest = match (shape.counts, shape.loop_counters) {
        (true, true) => 31, // room for all that loop_counters let through
        (true, false) => 7,
        _ => 3,
    };
    // Values may be negative, and may be all that a word holds.
    let mut text = match seed % 10 {
        2 if !shape.counts => format!("values {}..={};\n", i64::MIN, i64::MAX),
        2 | 7 if !shape.counts => format!("values -2..={largest};\n"),
        _ => format!("max_value {largest};\n"),
    };
    let signed = text.starts_with("values");
    let small = |random: &mut Generator| match random.one_in(3) {
        true => random.below(3) as i64 - i64::from(signed),
        false => 0,
    };
    text += &format!("atomic x = {}, y = {};\n", small(random), small(random));
    text += &format!("atomic a[{}] = {};\n", shape.length, small(random));
    if shape.counts {
        let base = random.below(2);
        text += &format!("atomic c = {base}, d = {};\n", base + usize::from(random.one_in(4)));
        let off = if random.one_in(2) { 0 } else { base };
        text += &format!("atomic e[{threads}] = {off};\n");
    }
    if shape.turns {
        // Whose turn it is at first tells threads apart that are otherwise equal.
        text += &format!("atomic turn = {};\n", random.below(threads));
    }
    if shape.na {
        text += "na p;\n";
    }
    if shape.names.is_some() {
        let (named, last) = (shape.named, small(random));
        text += &format!("atomic last = {last}, link[{named}] = {}, go[{named}];\n", small(random));
    }
    if random.one_in(2) {
        let scope = Scope {
            own: "t".into(),
            other: if threads == 2 { "1 - t".into() } else { "(t + 1) % 3".into() },
            plain: ["x", "y"],
            counters: ["c", "d"],
            signed,
        };
        let body = block(random, &shape, &scope, 2);
        text += &thread(&format!("t[{threads}]"), &body);
        if shape.spawns {
            let children: Vec<String> = (0..threads).map(|t| format!("t[{t}]")).collect();
            text += &thread("m", &parent(random, &children, ""));
        }
    } else {
        // Copies of one body, or bodies of their own now and then.
        let template = random.bits();
        for t in 0..threads {
            let odd = random.one_in(4);
            let exchanged = t % 2 == 1 && random.one_in(2);
            let scope = Scope {
                own: t.to_string(),
                other: ((t + 1) % threads).to_string(),
                plain: if exchanged { ["y", "x"] } else { ["x", "y"] },
                counters: if t % 2 == 1 && random.one_in(2) { ["d", "c"] } else { ["c", "d"] },
                signed,
            };
            let state = if odd { random.bits() } else { template };
            let mut body = block(&mut Generator { state }, &shape, &scope, 2);
            if shape.spawns && t == 0 {
                body = parent(random, &["t1".into()], &body);
            }
            text += &thread(&format!("t{t}"), &body);
        }
    }
    if seed % 5 == 4 {
        text += &final_condition(random, &shape);
    }
    text
}

/// A question about the end, which looks at one of several equal threads or locations, or at numbers that otherwise
/// only count.
fn final_condition(random: &mut Generator, shape: &Shape) -> String {
    let mut what = vec!["x", "y", "a[0]"];
    if shape.counts {
        what.extend(["c", "d", "e[1]"]);
    }
    if shape.turns {
        what.push("turn");
    }
    let mut compared = || {
        let compare = random.pick(&["==", "!=", "<", ">="]);
        match random.one_in(3) {
            true => format!("{} {compare} {}", random.pick(&what), random.pick(&what)),
            false => format!("{} {compare} {}", random.pick(&what), random.below(4)),
        }
    };
    let (first, second) = (compared(), compared());
    let connect = random.pick(&["&&", "||"]);
    format!("{} ({first} {connect} {second});\n", random.pick(&["exists", "~exists", "forall"]))
}

fn thread(name: &str, body: &str) -> String {
    format!("thread {name} {{\n  local r, s, u, v, n, a1, a2;\n{body}}}\n")
}

/// The body of a thread that starts others, does something of its own meanwhile, and may wait for them.
fn parent(random: &mut Generator, children: &[String], meanwhile: &str) -> String {
    let (rm, wm) = (read(random), write(random));
    let mut body = String::new();
    if random.one_in(2) {
        body += &format!("  x.store({}, {wm});\n", random.below(3));
    }
    // Now and then one is left out, and never starts, or is started twice.
    for (k, child) in children.iter().enumerate() {
        let times = match random.below(16) {
            0 if k > 0 => 0,
            1 => 2,
            _ => 1,
        };
        body += &format!("  spawn {child};\n").repeat(times);
    }
    body += meanwhile;
    for child in children {
        if random.one_in(2) {
            body += &format!("  join {child};\n");
        }
    }
    body + &format!("  r = {}.load({rm});\n", random.pick(&["x", "y"]))
}

fn block(random: &mut Generator, shape: &Shape, scope: &Scope, depth: usize) -> String {
    let count = match (depth, shape.threads) {
        (2, 2) => 2 + random.below(4),
        (2, _) => 1 + random.below(3),
        _ => 1 + random.below(2),
    };
    (0..count).map(|_| statement(random, shape, scope, depth)).collect()
}

fn read(random: &mut Generator) -> &'static str {
    random.pick(&["rlx", "acq"])
}

fn write(random: &mut Generator) -> &'static str {
    random.pick(&["rlx", "rel"])
}

/// A plain location.
fn place(random: &mut Generator, shape: &Shape, scope: &Scope) -> String {
    // A constant index that is out of range is an error of its own, and no program.
    let element = |index: &str| match index.parse::<usize>() {
        Ok(constant) if constant >= shape.length => "a[0]".into(),
        _ => format!("a[{index}]"),
    };
    match random.below(9) {
        0..=2 => scope.plain[0].into(),
        3 | 4 => scope.plain[1].into(),
        5 | 6 => element(&scope.own),
        7 => element(&scope.other),
        _ if random.one_in(4) => "a[r]".into(),
        _ => element(random.pick(&["0", "1"])),
    }
}

fn value(random: &mut Generator, scope: &Scope) -> String {
    match random.below(9) {
        0..=2 => "1".into(),
        3 => random.below(4).to_string(),
        4 if scope.signed && random.one_in(2) => random.pick(&["-1", "-r", "r - 1"]).into(),
        4 => "r".into(),
        5 => "s".into(),
        6 | 7 => scope.own.clone(),
        _ => format!("{} + 1", scope.own),
    }
}

fn condition(random: &mut Generator, scope: &Scope) -> String {
    let equal = random.pick(&["==", "!="]);
    match random.below(6) {
        0 => format!("r {equal} s"),
        1 => format!("r {equal} {}", scope.own),
        2 => format!("r {equal} {}", random.below(3)),
        3 => format!("s {equal} {}", scope.own),
        4 => format!("r {} {}", random.pick(&["<", ">="]), random.below(3)),
        _ => format!("s {equal} {}", random.below(3)),
    }
}

fn statement(random: &mut Generator, shape: &Shape, scope: &Scope, depth: usize) -> String {
    let indent = "  ".repeat(3 - depth);
    if shape.counts && random.one_in(2) {
        return format!("{indent}{}\n", counting(random, shape, scope));
    }
    if shape.machine && random.one_in(4) {
        return format!("{indent}{}\n", for_machines(random, shape, scope));
    }
    let (rm, wm) = (read(random), write(random));
    let reg = random.pick(&["r", "s"]);
    if shape.turns && random.one_in(3) {
        let Scope { own, other, .. } = scope;
        let line = match random.below(3) {
            0 => format!("wait(turn, {own}, {rm});"),
            1 if shape.length >= shape.threads => format!(
                "a[{own}].store(1, {wm}); wait(turn, {own}, {rm}); r = a[{other}].load({rm}); \
                 turn.store({other}, {wm});"
            ),
            _ => format!("turn.store({other}, {wm});"),
        };
        return format!("{indent}{line}\n");
    }
    if let Some(offset) = shape.names
        && random.one_in(2)
    {
        return format!("{indent}{}\n", naming(random, shape, scope, offset));
    }
    let line = match random.below(if depth == 0 { 15 } else { 22 }) {
        0..=2 => format!("{}.store({}, {wm});", place(random, shape, scope), value(random, scope)),
        3..=5 => format!("{reg} = {}.load({rm});", place(random, shape, scope)),
        6 => {
            // A sum that nothing bounds keeps numbers from counting as counters.
            let added = if shape.counts { 0 } else { random.below(2) };
            format!("{reg} = FADD({}, {added}, {rm}, {wm});", place(random, shape, scope))
        }
        7 => {
            let (e, d) = (value(random, scope), value(random, scope));
            let at = place(random, shape, scope);
            match shape.weak {
                false => format!("{reg} = CAS({at}, {e}, {d}, {rm}, {wm});"),
                true if random.one_in(2) => {
                    format!("{reg} = weak_CAS({at}, {e}, {d}, {rm}, {wm});")
                }
                true => format!("s, r = weak_CAS({at}, {e}, {d}, {rm}, {wm});"),
            }
        }
        8 => {
            // Compares with what was loaded.
            let (at, other) = (scope.plain[0], place(random, shape, scope));
            let second =
                if random.one_in(3) { format!("s = {other}.load({rm}); ") } else { "".into() };
            let desired = value(random, scope);
            match random.below(3) {
                0 => {
                    format!("r = {at}.load({rm}); {second}s = CAS({at}, r, {desired}, {rm}, {wm});")
                }
                1 => format!("r = {at}.load({rm}); {second}BCAS({at}, r, {desired}, {rm}, {wm});"),
                _ => format!("r = {at}.load({rm}); {second}wait({at}, r, {rm});"),
            }
        }
        9 => {
            let (a, b) = (value(random, scope), value(random, scope));
            match random.one_in(2) {
                true => format!("wait({}, {a}, {rm});", place(random, shape, scope)),
                false => format!("{reg} = wait({}, {a}, {b}, {rm});", place(random, shape, scope)),
            }
        }
        10 => {
            let (e, d) = (value(random, scope), value(random, scope));
            format!("BCAS({}, {e}, {d}, {rm}, {wm});", place(random, shape, scope))
        }
        11 => {
            let v = value(random, scope);
            let updates =
                ["exchange", "exchange", "fetch_or", "fetch_nand", "fetch_max", "fetch_sub"];
            let update = random.pick(&updates);
            format!("{reg} = {update}({}, {v}, {rm}, {wm});", place(random, shape, scope))
        }
        12 => format!("fence({});", random.pick(&["acq", "rel", "seq_cst", "seq_cst", "upd"])),
        13 => match random.one_in(4) {
            true => format!("assert({});", condition(random, scope)),
            false => format!("assume({});", condition(random, scope)),
        },
        14 if shape.na => match random.one_in(2) {
            true => format!("{reg} = p.naload();"),
            false => format!("p.nastore({});", value(random, scope)),
        },
        14 => format!("{reg} = {};", value(random, scope)),
        15 | 16 => {
            let inner = block(random, shape, scope, depth - 1);
            match random.one_in(3) {
                true => {
                    let second = block(random, shape, scope, depth - 1);
                    let cond = condition(random, scope);
                    format!("if ({cond}) {{\n{inner}{indent}}} else {{\n{second}{indent}}}")
                }
                false => format!("if ({}) {{\n{inner}{indent}}}", condition(random, scope)),
            }
        }
        17..=19 => {
            let (first, second) =
                (block(random, shape, scope, depth - 1), block(random, shape, scope, depth - 1));
            format!("oneof({{\n{first}{indent}}}{{\n{second}{indent}}});")
        }
        20 => {
            let inner = block(random, shape, scope, depth - 1);
            format!(
                "while (n < {}) {{\n{indent}  n = n + 1;\n{inner}{indent}}}",
                1 + random.below(2)
            )
        }
        _ => {
            let inner = block(random, shape, scope, depth - 1);
            format!("while ({}) {{\n{inner}{indent}}}", condition(random, scope))
        }
    };
    format!("{indent}{line}\n")
}

/// Something that is done with names of threads. Its registers are used for nothing else, or names would be
/// numbers.
fn naming(random: &mut Generator, shape: &Shape, scope: &Scope, offset: usize) -> String {
    let (rm, wm) = (read(random), write(random));
    let (x, y) = if random.one_in(2) { ("a1", "a2") } else { ("a2", "a1") };
    let me = match (offset, scope.own.parse::<usize>()) {
        (_, Ok(own)) => (own + offset).to_string(),
        (0, _) => scope.own.clone(),
        _ => format!("{} + {offset}", scope.own),
    };
    // A constant index that is out of range is an error of its own, and no program.
    let own = match scope.own.parse::<usize>() {
        Ok(own) if own >= shape.named => "0".into(),
        _ => scope.own.clone(),
    };
    let of = |name: &str| if offset == 0 { name.into() } else { format!("{name} - {offset}") };
    let mut everybody: Vec<String> = (0..shape.threads).map(|t| (t + offset).to_string()).collect();
    if random.one_in(3) {
        everybody.rotate_left(1);
    }
    if random.one_in(6) {
        everybody.pop();
    }
    let array = random.pick(&["link", "go"]);
    match random.below(11) {
        0 | 1 => format!("{x} = exchange(last, {me}, {rm}, {wm});"),
        2 => format!("{x} = last.load({rm});"),
        3 => format!("{x} = CAS(last, {me}, 0, {rm}, {wm});"),
        4 => format!("if ({x} != 0) {{ link[{}].store({me}, {wm}); }}", of(x)),
        5 => format!("if ({x} != 0) {{ go[{}].store(1, {wm}); }}", of(x)),
        6 => format!("{x} = link[{own}].load({rm});"),
        7 => format!("{x} = wait(link[{own}], {}, {rm});", everybody.join(", ")),
        8 => format!("{array}[{own}].store(0, {wm});"),
        9 => format!("{x} = link[{}].load({rm}); assume({x} != {y});", of(y)),
        _ => format!("wait(go[{own}], 1, {rm}); assert({x} != {me});"),
    }
}

/// Something that machines with store buffers know. To an interleaving a lightweight fence is nothing, but for its
/// indices, which may be out of range; they are what somebody may forget.
fn for_machines(random: &mut Generator, shape: &Shape, scope: &Scope) -> String {
    let element = |random: &mut Generator| match random.below(if shape.counts { 6 } else { 4 }) {
        0 => "a[r]".to_string(),
        1 => "a[s]".into(),
        2 if scope.own == "t" => "a[t]".into(),
        2 | 3 => place(random, shape, scope),
        4 => "a[u]".into(),
        _ => "e[v]".into(),
    };
    let (rm, wm) = (read(random), write(random));
    match random.below(6) {
        0 => {
            let (at, other) = (place(random, shape, scope), place(random, shape, scope));
            let v = value(random, scope);
            format!("bus_lock; r = {at}.load({rm}); {other}.store({v}, {wm}); bus_unlock;")
        }
        1 => format!("fence({}, {});", element(random), element(random)),
        // Threads that differ in nothing else.
        2 | 3 => {
            let index = if scope.own == "1" { "r" } else { "s" };
            let [x, y] = scope.plain;
            format!(
                "r = {x}.load({rm}); {x}.store(1, {wm}); fence(a[{index}]); {x}.store(r, {wm}); {y}.store(s, {wm});"
            )
        }
        4 if shape.counts => {
            let clock = scope.counters[0];
            format!(
                "u = {clock}.load({rm}); assume(u < {}); {clock}.store(u + 1, {wm}); u = {clock}.load({rm}); \
                 fence(a[u]);",
                shape.guard
            )
        }
        _ => format!("fence({});", element(random)),
    }
}

/// Something that is done with counters, epochs and clocks.
fn counting(random: &mut Generator, shape: &Shape, scope: &Scope) -> String {
    let (rm, wm) = (read(random), write(random));
    let at = match random.below(4) {
        0..=1 => scope.counters[0].to_string(),
        2 => scope.counters[1].to_string(),
        _ => format!("e[{}]", if random.one_in(2) { &scope.own } else { &scope.other }),
    };
    let clock = scope.counters[0];
    let guard = shape.guard;
    let compare = random.pick(&["<", "<=", ">", ">=", "==", "!="]);
    let by = 1 + usize::from(random.one_in(4));
    let fence = if random.one_in(4) { " fence(seq_cst);" } else { "" };
    if shape.publishes && random.one_in(2) {
        let advance = format!(
            "u = {clock}.load({rm}); assume(u < 5); {clock}.store(u + 1, {wm}); u = {clock}.load({rm});"
        );
        let publish = format!("exchange(e[0], u, {rm}, {wm});");
        return match random.below(3) {
            0 => format!("{advance} {publish} {advance}\n  {advance} {publish} y.store(1, {wm});"),
            1 => format!("{advance} {publish}"),
            _ => format!(
                "u = e[0].load({rm}); wait(y, 1, {rm}); v = CAS(e[0], u, u, {rm}, {wm});\n  \
                 u = e[0].load({rm}); assert(v == u);"
            ),
        };
    }
    if shape.loop_counters && !random.one_in(3) {
        return format!("if (n < 2) {{ n = n + 1; u = FADD({at}, {by}, {rm}, {wm});{fence} }}");
    }
    match random.below(if shape.epochs { 16 } else { 11 }) {
        0 => format!("u = {at}.load({rm}); assume(u < {guard}); {at}.store(u + {by}, {wm});"),
        1 => format!(
            "u = {at}.load({rm}); assume(u < {guard}); v = CAS({at}, u, u + 1, {rm}, {wm});"
        ),
        2 => format!(
            "u = {at}.load({rm}); assume(u <= {guard}); BCAS({at}, u, u + {by}, {rm}, {wm});"
        ),
        3 => format!("u = FADD({at}, 0, {rm}, {wm}); v = {at}.load({rm});"),
        4 => format!("u = {clock}.load({rm});{fence} v = {at}.load({rm}); assert(u {compare} v);"),
        5 => format!("v = {at}.load({rm}); if (u {compare} v) {{ x.store(1, {wm}); }}"),
        6 => format!("u = {clock}.load({rm}); exchange({at}, u, {rm}, {wm});"),
        7 => format!("v = CAS({at}, u, u, {rm}, {wm}); assert(v {compare} u);"),
        8 => {
            format!("u = {at}.load({rm}); v = {clock}.load({rm}); u = CAS({at}, u, v, {rm}, {wm});")
        }
        9 => format!("u = {clock}.load({rm}); wait({at}, u, {rm});"),
        10 => format!("if (n < 2) {{ n = n + 1; u = FADD({clock}, 1, {rm}, {wm});{fence} }}"),
        // Epochs: 0 stands for "offline".
        11 => format!("u = {clock}.load({rm}); e[{}].store(u, {wm});{fence}", scope.own),
        12 => format!("e[{}].store(0, {wm});{fence}", scope.own),
        13 => format!("wait(e[{}], 0, {rm});", scope.other),
        14 => format!(
            "if (n < 2) {{ n = n + 1; u = {clock}.load({rm}); {clock}.store(u + 1, {wm});{fence} \
             wait(e[{}], u + 1, 0, {rm}); }}",
            scope.other
        ),
        _ => {
            format!("v = e[{}].load({rm}); if (u {compare} v) {{ y.store(1, {wm}); }}", scope.other)
        }
    }
}
