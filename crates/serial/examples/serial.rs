//! Tries the monitors on a recording.
//!
//! ```text
//! serial FILE|- [--as execution|trace] [--json]
//! serial --random [--threads K] [--events N] [--vars M] [--seed S] [--commits]
//!        [--style free|fenced|locked|published]
//! ```
//!
//! Exit code 0: TSO-serializable; 1: not; 2: bad input or usage.

extern crate fencepost_serial as serial;

use std::io::{BufReader, Write};
use std::process::ExitCode;

use serial::judge::{self, Reading};
use serial::random::{Shape, Style};
use serial::report;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = if arguments.iter().any(|argument| argument == "--random") {
        random(&arguments)
    } else {
        judge(&arguments)
    };
    result.unwrap_or_else(|message| {
        eprintln!("error: {message}");
        ExitCode::from(2)
    })
}

fn option<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.get(at + 1).map(String::as_str)
}

fn number(arguments: &[String], name: &str, default: usize) -> Result<usize, String> {
    match option(arguments, name) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| format!("{name} needs a number, found {text:?}")),
    }
}

fn judge(arguments: &[String]) -> Result<ExitCode, String> {
    let reading = match option(arguments, "--as") {
        None => Reading::Auto,
        Some("execution") => Reading::Execution,
        Some("trace") => Reading::Trace,
        Some(other) => return Err(format!("--as takes execution or trace, found {other:?}")),
    };
    let file = arguments.first().ok_or("which recording? give a file, or - for the input")?;
    let report = if file == "-" {
        judge::judge(std::io::stdin().lock(), reading)
    } else {
        let input = std::fs::File::open(file).map_err(|error| format!("{file}: {error}"))?;
        judge::judge(BufReader::with_capacity(1 << 16, input), reading)
    };
    let report = report.map_err(|bad| format!("{file}: {bad}"))?;
    if arguments.iter().any(|argument| argument == "--json") {
        println!("{}", report::to_json(&report));
    } else {
        print!("{}", report::text(&report));
    }
    Ok(ExitCode::from(u8::from(!report.serializable())))
}

fn random(arguments: &[String]) -> Result<ExitCode, String> {
    let style = match option(arguments, "--style") {
        None | Some("free") => Style::Free,
        Some("fenced") => Style::Fenced,
        Some("locked") => Style::Locked,
        Some("published") => Style::Published,
        Some(other) => return Err(format!("unknown --style {other:?}")),
    };
    let shape = Shape {
        threads: number(arguments, "--threads", 3)?,
        vars: number(arguments, "--vars", 3)?,
        events: number(arguments, "--events", 20)?,
        transaction: number(arguments, "--transaction", 5)?,
        commits: arguments.iter().any(|argument| argument == "--commits"),
        style,
        seed: number(arguments, "--seed", 0)? as u64,
    };
    let names = shape.names();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut written = Ok(());
    shape.generate(|event| {
        if written.is_ok() {
            written = writeln!(out, "{}", names.show_line(&event));
        }
    });
    written.and_then(|()| out.flush()).map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}
