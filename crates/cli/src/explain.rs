//! `fencepost explain CODE`, `fencepost completions SHELL` and `fencepost man`: texts that a user looks up.

use crate::args::{Completions, Explain, Manual};
use crate::exit::Exit;
use crate::meaning;
use crate::terminal;
use report::explain;
use report::text::Ink;
use std::io::{self, Write};

/// The page of a code, or a list of all codes.
pub(crate) fn explain(args: &Explain) -> io::Result<Exit> {
    let look = terminal::output();
    let mut out = io::stdout().lock();
    let Some(code) = &args.code else {
        for page in explain::pages() {
            writeln!(out, "{}  {}", look.paint(Ink::Strong, page.code), page.title)?;
        }
        return Ok(Exit::Holds);
    };
    match explain::page(code) {
        Some(page) => {
            out.write_all(page.show(&look).as_bytes())?;
            Ok(Exit::Holds)
        }
        None => {
            let code = report::escape::visible(code);
            terminal::complain(&format!(
                "error: there is no code `{code}`; `fencepost explain` lists all of them"
            ));
            Ok(Exit::BadInput)
        }
    }
}

/// Completions for a shell.
pub(crate) fn completions(args: &Completions) -> io::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut meaning::command(), "fencepost", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Exit::Holds)
}

/// The manual: to standard output, or a page per command into a directory.
pub(crate) fn manual(args: &Manual) -> io::Result<Exit> {
    let mut command = meaning::command().disable_help_subcommand(true);
    command.build();
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        io::stdout().lock().write_all(&page)?;
        return Ok(Exit::Holds);
    };
    if let Err(error) = clap_mangen::generate_to(command, directory) {
        let name = report::escape::visible(&directory.display().to_string());
        terminal::complain(&format!("error: cannot write into `{name}`: {error}"));
        return Ok(Exit::BadInput);
    }
    Ok(Exit::Holds)
}
