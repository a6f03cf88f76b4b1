//! `fencepost export`: a program in another tool's language.

use crate::args::{self, Target};
use crate::exit::Exit;
use crate::inputs;
use crate::terminal;
use std::io::{self, Write};

/// Runs the command.
pub(crate) fn run(args: &args::Export) -> io::Result<Exit> {
    let source = match inputs::load(&args.input) {
        Ok(source) => source,
        Err(unusable) => return Ok(terminal::refuse(&unusable)),
    };
    let exported = match args.to {
        Target::Promela => ::export::promela(&source.program),
        Target::C => ::export::c(&source.program),
        Target::Rust => ::export::rust(&source.program),
    };
    match exported {
        Ok(text) => {
            if source.program.condition.is_some() {
                let name = &source.name;
                terminal::complain(&format!(
                    "warning: {name}: the final condition is not exported"
                ));
            }
            io::stdout().lock().write_all(text.as_bytes())?;
            Ok(Exit::Holds)
        }
        Err(error) => {
            terminal::complain(&format!("error: {}: {error}", source.name));
            Ok(Exit::BadInput)
        }
    }
}
