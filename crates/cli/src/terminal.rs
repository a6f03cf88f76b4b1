//! What the terminal can do.

use crate::exit::Exit;
use crate::inputs::Unusable;
use report::text::Look;
use std::io::{self, IsTerminal, Write};

/// How wide text is where there is no terminal to ask.
const WIDTH: usize = 100;

/// How to write to standard output.
pub fn output() -> Look {
    Look { color: colored(&io::stdout()), width: width() }
}

/// How to write to standard error.
pub fn errors() -> Look {
    Look { color: colored(&io::stderr()), width: width() }
}

/// Are colours welcome? NO_COLOR, CLICOLOR and the like have their say.
fn colored(stream: &impl anstream::stream::RawStream) -> bool {
    anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never
}

fn width() -> usize {
    let terminal = io::stdout()
        .is_terminal()
        .then(terminal_size::terminal_size)
        .flatten()
        .map(|(width, _)| usize::from(width.0));
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(told).unwrap_or(WIDTH).clamp(40, 200)
}

/// Writes to standard error. If nobody listens there, there is nobody to tell.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Says what is wrong with an input.
pub fn refuse(unusable: &Unusable) -> Exit {
    let color = errors().color;
    for error in &unusable.why {
        complain(&error.render(&unusable.name, &unusable.text, color));
    }
    Exit::BadInput
}
