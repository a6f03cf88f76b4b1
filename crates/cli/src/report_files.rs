//! Reports in files: `--html`, `--svg`, `--dot`, `--sarif` and `--junit`.
//!
//! Whatever goes wrong with a file, no work is lost. A file that cannot be written, or that is one of
//! the inputs, is complained about before anything is checked; the check goes on, its verdict is
//! printed, and the exit code says that something was wrong. A report replaces an older one only once
//! it is complete, so a full disk does not cost the older one either.

use crate::exit::Exit;
use crate::terminal;
use clap::Args as Arguments;
use report::escape::visible;
use report::picture::{dot, svg};
use report::sarif::{self, Repair};
use report::text::amount;
use report::{Finding, InputReport, html, junit};
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Files to write reports to.
#[derive(Arguments, Clone, Debug, Default)]
#[command(next_help_heading = "Reports")]
pub(crate) struct ReportFileArgs {
    /// Write a page to this file: a table of all inputs, and for each finding the source, the execution
    /// drawn, and a player for the run; it needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the executions drawn to this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the executions to this file as graphs for Graphviz
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
    /// Write the findings to this file as SARIF, for code-scanning services
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Write the verdicts to this file as JUnit's XML, for build servers
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Html,
    Svg,
    Dot,
    Sarif,
    Junit,
}

impl Format {
    fn option(self) -> &'static str {
        match self {
            Format::Html => "--html",
            Format::Svg => "--svg",
            Format::Dot => "--dot",
            Format::Sarif => "--sarif",
            Format::Junit => "--junit",
        }
    }
}

/// The reports to be written when everything is checked.
pub(crate) struct ReportFiles {
    files: Vec<(Format, PathBuf)>,
    sheets: Vec<InputReport>,
    /// What only the page has: executions of programs that are not the user's.
    imagined: Vec<InputReport>,
    repairs: Vec<Repair>,
    exit: Exit,
    quiet: bool,
}

impl ReportFiles {
    /// The reports that `args` ask for, about `inputs`. What cannot be written is said at once.
    pub(crate) fn new(args: &ReportFileArgs, inputs: &[PathBuf], quiet: bool) -> Self {
        let asked = [
            (Format::Html, &args.html),
            (Format::Svg, &args.svg),
            (Format::Dot, &args.dot),
            (Format::Sarif, &args.sarif),
            (Format::Junit, &args.junit),
        ];
        let (files, sheets, imagined, repairs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut faces = ReportFiles { files, sheets, imagined, repairs, exit: Exit::Holds, quiet };
        for (format, path) in asked {
            let Some(path) = path else { continue };
            let name = visible(&path.display().to_string());
            let twice = faces.files.iter().any(|(_, other)| same_file(other, path));
            let why = if path.as_os_str() == "-" {
                Some("reports are written to files: standard output has the verdicts".to_string())
            } else if inputs.iter().any(|input| same_file(input, path)) {
                Some(format!("`{name}` is one of the inputs, and stays as it is"))
            } else if twice {
                Some(format!("`{name}` is written by another option already"))
            } else {
                writable(path)
                    .err()
                    .map(|error| format!("cannot write `{name}`: {}", plain(&error)))
            };
            match why {
                None => faces.files.push((format, path.clone())),
                Some(why) => {
                    terminal::complain(&format!("error: {}: {why}", format.option()));
                    faces.exit = Exit::BadInput;
                }
            }
        }
        faces
    }

    /// Is there anything to write?
    pub(crate) fn wanted(&self) -> bool {
        !self.files.is_empty()
    }

    /// Is there a page to write?
    pub(crate) fn page_wanted(&self) -> bool {
        self.files.iter().any(|(format, _)| *format == Format::Html)
    }

    /// Keeps an execution of a program that is not the user's, for the page.
    pub(crate) fn add_imagined(&mut self, sheet: InputReport) {
        self.imagined.push(sheet);
    }

    /// Keeps what is known of an input.
    pub(crate) fn add(&mut self, sheet: InputReport) {
        if self.wanted() {
            self.sheets.push(sheet);
        }
    }

    /// Keeps changes of an input.
    pub(crate) fn add_repair(&mut self, repair: Repair) {
        self.repairs.push(repair);
    }

    fn render(&self, format: Format) -> String {
        let findings =
            || -> Vec<&Finding> { self.sheets.iter().flat_map(InputReport::findings).collect() };
        match format {
            Format::Html if self.imagined.is_empty() => html::page(&self.sheets),
            Format::Html => html::page(&[&self.sheets[..], &self.imagined[..]].concat()),
            Format::Svg => svg::file(&findings()),
            Format::Dot => dot::file(&findings()),
            Format::Sarif => format!("{:#}\n", sarif::document(&self.sheets, &self.repairs)),
            Format::Junit => junit::document(&self.sheets),
        }
    }

    /// Writes the reports.
    pub(crate) fn finish(mut self) -> Exit {
        for (format, path) in &self.files {
            let begun = Instant::now();
            let text = self.render(*format);
            let name = visible(&path.display().to_string());
            match replace(path, text.as_bytes()) {
                Ok(()) if self.quiet => {}
                Ok(()) => terminal::complain(&format!(
                    "wrote {name}: {} in {}",
                    amount::bytes(text.len() as u64),
                    amount::time(begun.elapsed())
                )),
                Err(error) => {
                    let why = format!("cannot write `{name}`: {}", plain(&error));
                    terminal::complain(&format!("error: {}: {why}", format.option()));
                    self.exit = Exit::BadInput;
                }
            }
        }
        self.exit
    }
}

/// Are they the same file, whatever they are called?
pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) if one == other => true,
        (Ok(one), Ok(other)) => same_inode(&one, &other),
        _ => one == other,
    }
}

#[cfg(unix)]
fn same_inode(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    id(one).is_some() && id(one) == id(other)
}

#[cfg(not(unix))]
fn same_inode(_: &Path, _: &Path) -> bool {
    false
}

/// Can the file be written? Leaves no trace.
fn writable(path: &Path) -> io::Result<()> {
    let existed = path.exists();
    OpenOptions::new().append(true).create(true).open(path)?;
    if !existed {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Writes a file in one go: an older one stays until the new one is complete, which may then be used by whom the older one
/// could be used.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let ordinary = fs::symlink_metadata(path).map_or(true, |data| data.file_type().is_file());
    let (Some(name), true) = (path.file_name(), ordinary) else { return fs::write(path, bytes) };
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(beside);
    let written = fs::write(&beside, bytes).and_then(|()| match fs::metadata(path) {
        Ok(older) => fs::set_permissions(&beside, older.permissions()),
        Err(_) => Ok(()),
    });
    match written.and_then(|()| fs::rename(&beside, path)) {
        Ok(()) => Ok(()),
        Err(error) => {
            let _ = fs::remove_file(&beside);
            match error.kind() {
                // The file may be written, but not its directory.
                io::ErrorKind::PermissionDenied => fs::write(path, bytes),
                _ => Err(error),
            }
        }
    }
}

/// The error without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
