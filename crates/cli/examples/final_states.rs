//! Which final states of a program does x86-TSO add to those of its interleavings?
//! `cargo run --example final_states -- corpus/litmus/sb-rlx.fp`.

use fencepost::{Machine, OutcomeLimits, interleavings, outcomes, parse};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let source = parse(&path, &std::fs::read_to_string(&path)?)?;
    let limits = OutcomeLimits::default();
    let all = outcomes(&source, Machine::Tso, &limits);
    let count = interleavings(&source, &limits).states.len();
    println!("{count} final states of interleavings, {} on TSO; only there:", all.outcomes.len());
    for outcome in all.outcomes.iter().filter(|outcome| !outcome.under_sc) {
        for (thread, end) in source.program.threads.iter().zip(&outcome.state.threads) {
            let registers = thread.registers.iter().zip(&end.registers);
            let shown: Vec<String> =
                registers.map(|(name, value)| format!("{name} = {value}")).collect();
            println!("  {}: {}", thread.display_name(), shown.join(", "));
        }
    }
    Ok(())
}
