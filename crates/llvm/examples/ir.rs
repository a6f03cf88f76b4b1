//! Reads files of IR and says what is in them, or what is wrong with them; with `--link`, links them too.
//!
//!     cargo run --release -p fencepost-llvm --example ir -- [--link] FILE.ll…

use fencepost_llvm::Module;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What is in a module, in a line.
fn summary(module: &Module) -> String {
    let defined = module.functions.iter().filter(|it| !it.is_declaration()).count();
    let blocks = module.functions.iter().flat_map(|it| &it.blocks);
    let instrs: Vec<_> = blocks.flat_map(|block| &block.instrs).collect();
    format!(
        "{} functions ({defined} defined), {} globals, {} instructions ({} with a place), {} variables, \
         {} types of the source, optimised: {:?}",
        module.functions.len(),
        module.globals.len(),
        instrs.len(),
        instrs.iter().filter(|instr| instr.at.is_some()).count(),
        module.functions.iter().map(|it| it.variables.len()).sum::<usize>(),
        module.debug.types.len(),
        module.optimised,
    )
}

fn main() -> ExitCode {
    let mut files: Vec<_> = std::env::args_os().skip(1).collect();
    let link = files.first().is_some_and(|first| first == "--link");
    files.drain(..usize::from(link));
    let mut modules = Vec::new();
    let mut read = 0;
    let mut time = Duration::ZERO;
    for file in &files {
        let start = Instant::now();
        let module = fencepost_llvm::read(file.as_ref());
        let took = start.elapsed();
        time += took;
        match module {
            Ok(module) => {
                println!("{}: {}, {took:?}", file.display(), summary(&module));
                read += 1;
                modules.extend(link.then_some(module));
            }
            Err(error) => println!("{error}"),
        }
    }
    println!("{read} of {} files read in {time:?}", files.len());
    if link {
        let start = Instant::now();
        match Module::link(modules) {
            Ok(module) => println!("linked: {}, {:?}", summary(&module), start.elapsed()),
            Err(error) => {
                println!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if read == files.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
