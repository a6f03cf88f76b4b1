//! The terminal: its width and colours, and writing to it.

use crate::exit::Exit;
use crate::inputs::Unusable;
use report::text::Look;
use std::io::{self, IsTerminal, Write};

/// How wide text is where there is no terminal to ask.
const WIDTH: usize = 100;

/// How to write to standard output.
pub(crate) fn output() -> Look {
    Look { color: colored(&io::stdout()), width: width() }
}

/// How to write to standard error.
pub(crate) fn errors() -> Look {
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

/// Standard output, for what is told of many files.
///
/// If nobody reads it any more, there is no use in going on, and writing to it is an error that ends
/// the command. But if reports are to be written, they still are: what is printed is then thrown away.
pub(crate) struct Printer {
    /// None if another process reports.
    out: Option<io::StdoutLock<'static>>,
    reports: bool,
}

impl Printer {
    /// Writes to standard output. Are there `reports` to be written as well?
    pub(crate) fn new(reports: bool) -> Self {
        Printer { out: Some(io::stdout().lock()), reports }
    }

    /// Writes nothing.
    pub(crate) fn silent() -> Self {
        Printer { out: None, reports: false }
    }

    fn heard<T>(&self, written: io::Result<T>, instead: T) -> io::Result<T> {
        match written {
            Err(error) if self.reports && error.kind() == io::ErrorKind::BrokenPipe => Ok(instead),
            written => written,
        }
    }
}

impl Write for Printer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(out) = &mut self.out else { return Ok(bytes.len()) };
        let written = out.write(bytes);
        self.heard(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let flushed = out.flush();
        self.heard(flushed, ())
    }
}

/// Writes to standard error. If nobody listens there, there is nobody to tell.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Says what is wrong with an input.
pub(crate) fn refuse(unusable: &Unusable) -> Exit {
    let color = errors().color;
    for error in &unusable.why {
        complain(&error.render(&unusable.name, &unusable.text, color));
    }
    unusable.exit()
}
