//! Puts fences into a program so that it is robust against x86-TSO:
//! `cargo run --example repair -- corpus/litmus/sb-rlx.fp`.

use fencepost::{Aim, Machine, Question, Weights, fix, parse};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let source = parse(&path, &std::fs::read_to_string(&path)?)?;
    let aims = [Aim::Robust(Machine::Tso)];
    let fixed = fix(&source, &aims, Weights::default(), &Question::default())?;
    eprintln!("{} fences", fixed.placement.sites.len());
    print!("{}", fixed.text);
    Ok(())
}
