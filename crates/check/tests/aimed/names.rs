//! Random programs whose threads hand out their names.
//!
//! Equal threads keep each other's names in registers, in `last` and in `link`, and a name stands for an element
//! of `link` and `go`, as in a queue lock. Nothing else tells the threads apart, so most of these programs are symmetric
//! if and only if the elements are exchanged along with the names. What could go wrong is near: arrays with
//! too few elements or too many, sums that wrap around before they name an element, names that are there from the
//! start or mean nobody, a thread that looks at one element, and gates that let one thread pass, after
//! which its name is all that tells it from the others.

use super::{read, write};
use ir::random::Generator;

/// What the whole program has.
struct Names {
    threads: usize,
    /// The first thread's name.
    first: usize,
    /// The value that is nobody's name.
    nobody: usize,
    /// What is added to a name to get the number of its element; less than 0 is written as a difference.
    offset: isize,
    /// The length of the arrays.
    length: usize,
    /// Does a thread have another element for its own than the one that its name stands for?
    crossed: bool,
}

/// A program that is aimed at names. If `crossed`, threads have other elements for their own than those that their names
/// stand for, and some elements may have no name.
pub(crate) fn program(random: &mut Generator, crossed: bool) -> String {
    let threads = 2 + random.below(2);
    let first = random.below(2);
    let largest = threads + first + random.below(3);
    let offset = match random.below(8) {
        0 => 1 - first as isize,
        1 => largest as isize, // wraps around for all names but 0
        2 => (largest - first - 1) as isize, // wraps around from the third on
        _ => -(first as isize),
    };
    let enough = (threads + first).saturating_add_signed(offset).max(1);
    let length = match random.below(8) {
        0 => (enough - 1).max(1),
        1 => enough + 1,
        2 => 2 * largest + 1,
        _ => enough,
    };
    let nobody = if first == 1 { 0 } else { largest };
    let names = Names { threads, first, nobody, offset, length, crossed };
    let mut text = format!("max_value {largest};\n");
    let last = if random.one_in(6) { first + random.below(threads) } else { nobody };
    text += &format!("atomic x, last = {last}, go[{length}];\n");
    text += &match random.below(6) {
        0 => {
            let named: Vec<String> =
                (0..length).map(|k| ((k + first) % (largest + 1)).to_string()).collect();
            format!("atomic link[{length}] = {{{}}};\n", named.join(", "))
        }
        1 => format!("atomic link[{length}] = {first};\n"),
        _ => format!("atomic link[{length}] = {nobody};\n"),
    };
    let template = random.bits();
    let gated = random.one_in(3);
    // Copies of one thread have numbers for `t`.
    let copies = random.one_in(4);
    let numbers = if copies { threads } else { 1 };
    for t in 0..numbers {
        // Now and then one differs from the others.
        let state = if t > 0 && random.one_in(8) { random.bits() } else { template };
        let own = if copies { t.to_string() } else { "t".into() };
        let random = &mut Generator { state };
        let inner = block(random, &names, &own, if gated { 1 } else { 2 });
        let body = match gated {
            true => format!("  r = CAS(x, 0, 1, rlx, rlx);\n  if (r == 0) {{\n{inner}  }}\n"),
            false => inner,
        };
        let head = if copies { format!("t{t}") } else { format!("t[{threads}]") };
        text +=
            &format!("thread {head} {{\n  local p, o, r;\n  p = {};\n{body}}}\n", me(&names, &own));
    }
    if random.one_in(2) {
        let (rm, k) = (read(random), random.below(length));
        let look = match random.below(3) {
            0 => format!("r = go[{k}].load({rm}); assert(r == 0);"),
            1 => format!("p = link[{k}].load({rm}); assert(p == {nobody});"),
            _ => format!(
                "p = last.load({rm}); r = go[{}].load({rm}); assert(r == 0);",
                names.of("p")
            ),
        };
        text += &format!("thread u {{\n  local p, r;\n  {look}\n}}\n");
    }
    text
}

impl Names {
    /// The element that a register's name stands for.
    fn of(&self, name: &str) -> String {
        match self.offset {
            0 => name.into(),
            less if less < 0 => format!("{name} - {}", -less),
            more => format!("{name} + {more}"),
        }
    }
}

/// The name of the thread with this number.
fn me(names: &Names, own: &str) -> String {
    match own.parse::<usize>() {
        Ok(own) => (own + names.first).to_string(),
        Err(_) if names.first == 0 => own.into(),
        Err(_) => format!("{own} + {}", names.first),
    }
}

fn block(random: &mut Generator, names: &Names, own: &str, depth: usize) -> String {
    let count = if names.threads == 2 { 2 + random.below(3) } else { 1 + random.below(3) };
    let count = if depth == 0 { 1 } else { count };
    (0..count).map(|_| format!("  {}\n", statement(random, names, own, depth))).collect()
}

fn statement(random: &mut Generator, names: &Names, own: &str, depth: usize) -> String {
    let (rm, wm) = (read(random), write(random));
    let (p, o) = if random.one_in(3) { ("o", "p") } else { ("p", "o") };
    let (me, nobody) = (me(names, own), names.nobody);
    // Constant indices are exact, and out of range they are no program.
    let first = match names.crossed {
        true => 0,
        false => names.first.saturating_add_signed(names.offset),
    };
    let mine = match own.parse::<usize>() {
        Ok(own) if own + first >= names.length => "0".into(),
        Ok(own) => (own + first).to_string(),
        Err(_) if first == 0 => own.into(),
        Err(_) => format!("{own} + {first}"),
    };
    let of = names.of(p);
    let name = random.pick(&[me.as_str(), me.as_str(), p, o]);
    match random.below(if depth == 0 { 17 } else { 20 }) {
        0 | 1 => format!("{p} = exchange(last, {name}, {rm}, {wm});"),
        2 => format!("{p} = last.load({rm});"),
        3 => format!("last.store({name}, {wm});"),
        4 => format!("{p} = CAS(last, {name}, {nobody}, {rm}, {wm});"),
        5 => format!("if ({p} != {nobody}) {{ link[{of}].store({name}, {wm}); }}"),
        6 | 7 => format!("go[{of}].store(1, {wm});"),
        8 => format!("if ({p} != {nobody}) {{ {p} = link[{of}].load({rm}); }}"),
        9 => format!("{p} = exchange(link[{of}], {name}, {rm}, {wm});"),
        10 => format!("r = go[{of}].load({rm});"),
        11 => format!("link[{mine}].store({name}, {wm});"),
        12 => format!("{p} = link[{mine}].load({rm});"),
        13 => format!("wait(go[{mine}], 1, {rm});"),
        14 => format!("assume({p} {} {name});", random.pick(&["==", "!="])),
        15 => format!("assert({p} != {name});"),
        16 => format!("r = CAS(x, 0, 1, {rm}, {wm});"),
        17 => {
            let equal = random.pick(&["==", "!="]);
            let inner = block(random, names, own, depth - 1);
            format!("if ({p} {equal} {o}) {{\n{inner}  }}")
        }
        18 => {
            let inner = block(random, names, own, depth - 1);
            format!("if (r == 0) {{\n{inner}  }}")
        }
        _ => {
            let (one, other) =
                (block(random, names, own, depth - 1), block(random, names, own, depth - 1));
            format!("oneof({{\n{one}  }}{{\n{other}  }});")
        }
    }
}
