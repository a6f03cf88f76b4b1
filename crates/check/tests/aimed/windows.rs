//! Random programs in which numbers fall behind a clock.
//!
//! A thread advances `c` and leaves what it shows, or a little less, in `x`; another keeps what it has seen of `x` and
//! `c`, and later compares it, guards itself with it, or calculates with it. A search that does not tell numbers far
//! behind `c` apart is right about most of this, as long as nobody asks how far behind they are. What could go wrong is
//! near: numbers smaller than all were at first, or far ahead, guards that stop what stands for a number and not the number,
//! sums that leave the domain in a compare-and-swap that fails anyway, values overwritten one after the other while
//! somebody still holds one of them, and constants that are no counters. A thief compares the clock itself with what it
//! loaded, as in a queue from which several threads steal; in others, `x` is compared with what was loaded from there. And in
//! some only a count of rounds bounds the clock.

use super::{read, write};
use ir::random::Generator;

/// The largest value that a guard of `c` lets pass.
const GUARD: usize = 20;

/// A program that is aimed at windows.
pub(crate) fn program(random: &mut Generator) -> String {
    let base = [0, 3, 5, 5][random.below(4)];
    let x = match random.below(5) {
        0 if base > 0 => 0, // no counter, but a constant such as "offline"
        1 => base + 1,
        2 => base + 10, // far ahead
        _ => base,
    };
    // With more than a few values, a search has to learn first which of them `y` takes.
    let is_wide = random.one_in(4);
    let largest = if is_wide { 250 } else { 31 };
    let mut text = format!("max_value {largest};\natomic c = {base}, x = {x}, y, m = 1;\n");
    let (mut advances, mut looks) = (String::new(), String::new());
    let compared = if random.one_in(2) { "c" } else { "x" };
    match random.below(3) {
        // Numbers are left behind one after the other, and somebody holds one of them.
        0 => {
            (0..3).for_each(|_| advances += &leave_behind(random));
            looks += &hold(random, compared);
        }
        // Somebody has more to take from a number than there is.
        1 => {
            advances += &advance(random, is_wide);
            looks += &take_away(random, base, is_wide);
        }
        _ => {}
    }
    (0..1 + random.below(4)).for_each(|_| advances += &advance(random, is_wide));
    (0..1 + random.below(4)).for_each(|_| looks += &look(random, base, is_wide, compared));
    if random.one_in(3) {
        // Nothing but the count of rounds keeps the clock finite.
        let (rm, wm, rounds) = (read(random), write(random), 3 + random.below(2));
        advances = format!(
            "  while (n < {rounds}) {{\n  n = n + 1; a = FADD(c, 1, {rm}, {wm});\n{advances}  }}\n"
        );
    }
    text += &format!("thread u {{\n  local a, n;\n{advances}  y.store(1, rel);\n}}\n");
    text += &format!("thread t {{\n  local r, s, k;\n{looks}}}\n");
    text
}

fn leave_behind(random: &mut Generator) -> String {
    let (rm, wm) = (read(random), write(random));
    format!(
        "  a = c.load({rm}); exchange(x, a, {rm}, {wm}); assume(a < {GUARD}); c.store(a + 2, {wm});\n"
    )
}

/// Compares a location, much later, with what was loaded from there.
fn hold(random: &mut Generator, compared: &str) -> String {
    let (rm, wm) = (read(random), write(random));
    let load = format!("r = {compared}.load({rm}); assume(r < {GUARD});");
    let copied = if random.one_in(3) { format!(" x.store(r, {wm});") } else { String::new() };
    let compare = match (compared, random.below(4)) {
        ("c", 0) => format!("BCAS(c, r, r + 1, {rm}, {wm});"),
        ("c", 1) => format!("s = CAS(c, r, s, {rm}, {wm});"),
        ("c", _) => format!("s = CAS(c, r, r + 2, {rm}, {wm}); assert(s >= r);"),
        (_, 0) => format!("wait({compared}, r, {rm});"),
        _ => format!("s = CAS({compared}, r, r, {rm}, {wm});"),
    };
    let after = match random.below(3) {
        0 => format!(" s = c.load({rm}); if (r < s) {{ y.store(4, {wm}); }}"),
        1 => format!(" s = x.load({rm}); if (r != s) {{ y.store(5, {wm}); }}"),
        _ => String::new(),
    };
    format!("  {load}{copied} wait(y, 1, {rm}); {compare}{after}\n")
}

fn take_away(random: &mut Generator, base: usize, is_wide: bool) -> String {
    let (rm, wm) = (read(random), write(random));
    let less = 1 + random.below(base + 1);
    match random.below(3) {
        0 => format!(
            "  r = c.load({rm}); x.store(r - {less}, {wm}); r = x.load({rm}); s = c.load({rm}); \
             s = CAS(x, s, r - {base}, {rm}, {wm});\n"
        ),
        1 if is_wide => {
            format!("  r = c.load({rm}); s = r - 40; if (s < r) {{ y.store(6, {wm}); }}\n")
        }
        _ => format!(
            "  r = c.load({rm}); x.store(r - {less}, {wm}); r = x.load({rm}); assume(r < {}); \
             y.store(3, {wm});\n",
            (base + 2).saturating_sub(less)
        ),
    }
}

/// Something that moves the clock or the numbers behind it.
fn advance(random: &mut Generator, is_wide: bool) -> String {
    let (rm, wm) = (read(random), write(random));
    let by = 1 + usize::from(random.one_in(3));
    let now = format!("a = c.load({rm});");
    let step = format!("{now} assume(a < {GUARD}); c.store(a + {by}, {wm});");
    let line = match random.below(9) {
        0 if is_wide => format!("{now} assume(a < 100); c.store(a + 50, {wm});"),
        0..=2 => step,
        3 => format!("{step} {now} exchange(x, a, {rm}, {wm});"),
        4 => format!("{now} x.store(a, {wm});"),
        5 => format!("{now} exchange(x, a, {rm}, {wm}); {step} {step}"),
        6 => format!("{now} x.store(a - {}, {wm});", 1 + random.below(4)),
        7 => format!("fetch_sub(x, {by}, {rm}, {wm});"),
        _ => format!("{now} BCAS(x, a, a - {by}, {rm}, {wm});"),
    };
    format!("  {line}\n")
}

/// Something that looks at numbers, perhaps at what is no longer there.
fn look(random: &mut Generator, base: usize, is_wide: bool, compared: &str) -> String {
    let (rm, wm) = (read(random), write(random));
    let reg = random.pick(&["r", "s"]);
    let compare = random.pick(&["<", "<=", ">", ">=", "==", "!="]);
    let by = 1 + random.below(3);
    let line = match random.below(16) {
        0 | 1 if is_wide => {
            format!("k = m.load({rm}); m.store(k * 6, {wm}); k = m.load({rm}); wait(y, k, {rm});")
        }
        0..=3 => format!("{reg} = x.load({rm});"),
        4 => format!("{reg} = c.load({rm});"),
        5 | 6 => format!("wait(y, 1, {rm});"),
        7 => format!("s = CAS({compared}, r, s, {rm}, {wm});"),
        8 => format!("s = CAS({compared}, r, {reg} - {by}, {rm}, {wm});"),
        9 => format!("assume({reg} < {}); y.store(2, {wm});", (base + by).saturating_sub(2)),
        10 => format!("assume({reg} <= {}); assert(r {compare} s);", base.saturating_sub(by)),
        11 => format!("if (r {compare} s) {{ y.store(3, {wm}); }}"),
        12 => format!("assert(r {compare} s);"),
        13 => format!("{reg} = {reg} - {by};"),
        14 => format!("wait({compared}, {reg}, {rm});"),
        _ => format!("exchange(x, {reg}, {rm}, {wm});"),
    };
    format!("  {line}\n")
}
