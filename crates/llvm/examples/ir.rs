//! Reads files of IR and says what is in them, or what is wrong with them.
//!
//!     cargo run --release -p fencepost-llvm --example ir -- FILE.ll…

use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let mut refused = 0;
    let mut time = Duration::ZERO;
    let files: Vec<_> = std::env::args_os().skip(1).collect();
    for file in &files {
        let start = Instant::now();
        let read = fencepost_llvm::read(file.as_ref());
        let took = start.elapsed();
        time += took;
        match read {
            Ok(module) => {
                let defined = module.functions.iter().filter(|it| !it.is_declaration()).count();
                let blocks = module.functions.iter().flat_map(|it| &it.blocks);
                let instrs: Vec<_> = blocks.flat_map(|block| &block.instrs).collect();
                let placed = instrs.iter().filter(|instr| instr.at.is_some()).count();
                println!(
                    "{}: {} functions ({defined} defined), {} globals, {} instructions ({placed} with a place), \
                     {} variables, {} types of the source, optimised: {:?}, {took:?}",
                    file.display(),
                    module.functions.len(),
                    module.globals.len(),
                    instrs.len(),
                    module.functions.iter().map(|it| it.variables.len()).sum::<usize>(),
                    module.debug.types.len(),
                    module.optimised,
                );
            }
            Err(error) => {
                refused += 1;
                println!("{error}");
            }
        }
    }
    println!("{} of {} files read in {time:?}", files.len() - refused, files.len());
    if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
