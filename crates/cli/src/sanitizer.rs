//! The commands of the sanitizer: their arguments, and what the crate `sanitizer` is asked to do.

use crate::atomicity;
use crate::exit::Exit;
use crate::report_files::{ReportFileArgs, ReportFiles};
use crate::{quantity, terminal};
use clap::{Args as Arguments, Subcommand};
use rt::options::Schedule;
use sanitizer::compiler::{self, Language};
use sanitizer::filter::Only;
use sanitizer::launch::{self, Launch};
use sanitizer::raw::{self, Log};
use sanitizer::{Series, replay};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Compile and link C with the sanitizer: CC="fencepost cc" make
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Cc(Compile),
    /// Compile and link C++ with the sanitizer: CXX="fencepost c++" make
    #[command(name = "c++", disable_help_flag = true, disable_version_flag = true)]
    Cxx(Compile),
    /// Compile Rust with the sanitizer
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Rustc(Compile),
    /// Run cargo with the sanitizer: fencepost cargo test
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Cargo(Compile),
    /// Make fencepost-cc and its like in a folder, for builds that take one word
    Wrappers(Wrappers),
    /// Run a program built with the sanitizer, as often as you like, and report what it finds
    #[command(long_about = RUN, after_long_help = RUN_EXAMPLES)]
    Run(Run),
    /// Analyse a recording of `run --record` again
    Replay(Replay),
    /// Print findings as the runtime writes them
    #[command(hide = true)]
    ReportRaw(ReportRaw),
}

/// Arguments that are passed on.
#[derive(Arguments, Debug)]
pub(crate) struct Compile {
    /// What the compiler gets
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}

/// Arguments of `wrappers`.
#[derive(Arguments, Debug)]
pub(crate) struct Wrappers {
    /// The folder; CC=DIR/fencepost-cc ./configure
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Arguments of `run`.
#[derive(Arguments, Debug)]
pub(crate) struct Run {
    /// How often to run it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub runs: u64,
    /// Who decides which thread goes on: os, random, or pct:D
    #[arg(long, value_name = "WHO", default_value = "os", value_parser = schedule)]
    pub schedule: Schedule,
    /// Seed of the first run's schedule; the others count on from it
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Stop after the first run with findings
    #[arg(long)]
    pub until_found: bool,
    /// Do again what a report's token stands for
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["runs", "schedule", "seed"])]
    pub token: Option<String>,
    /// How many runs at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
    /// Stop a run after this time, such as 30s [default: 5m with --schedule random or pct:D]
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    pub timeout: Option<Duration>,
    /// Report loops that wait for a value like any other stale read, as the paper's numbers do
    #[arg(long)]
    pub paper_counts: bool,
    /// Record everything for `fencepost replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Say whether the blocks between fencepost_begin() and fencepost_end() looked atomic in this run
    #[arg(long, conflicts_with_all = ["record", "jobs"])]
    pub serial: bool,
    /// Give up judging after this time, the runs included, such as 30s, 5m or 2h [only with --serial]
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration, requires = "serial")]
    pub limit_time: Option<Duration>,
    /// Give up judging when it takes this much memory, such as 512M or 2G [default: four fifths of what is
    /// free] [only with --serial]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes, requires = "serial")]
    pub limit_memory: Option<u64>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub faces: ReportFileArgs,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub program: Vec<OsString>,
}

/// What to report, and how.
#[derive(Arguments, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Print a JSON object per finding
    #[arg(long)]
    pub json: bool,
    /// Print only how many findings there are, and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Findings not to report: a line KIND:PATTERN for each, such as race:parse_* or stale-read:queue.c or
    /// id:FP1a2b3c4d5e6f; PATTERN is a function or a file
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,
    /// Report only findings whose ids are not in this file
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Name the suppressions that no finding needed
    #[arg(long, requires = "suppressions")]
    pub show_unused: bool,
    /// Report stale reads inside the standard library of Rust or C++, too
    #[arg(long)]
    pub show_std: bool,
    /// Report only races, or only accesses that may be stale
    #[arg(long, value_name = "WHAT", value_parser = only)]
    pub only: Option<Only>,
    /// Write the ids of all findings to this file, for --baseline
    #[arg(long, value_name = "FILE")]
    pub write_baseline: Option<PathBuf>,
}

/// Arguments of `replay`.
#[derive(Arguments, Debug)]
pub(crate) struct Replay {
    /// The recording
    #[arg(value_name = "FILE")]
    pub recording: PathBuf,
    /// Write the accesses, and the transactions between fencepost_begin() and fencepost_end(), to this file
    /// as `fencepost serial` reads them
    #[arg(long, value_name = "FILE")]
    pub transactions: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub faces: ReportFileArgs,
}

/// Arguments of `report-raw`.
#[derive(Arguments, Debug)]
pub(crate) struct ReportRaw {
    /// Where the report goes: stderr, stdout, or a file, to which the process id is added
    #[arg(long)]
    pub log_path: Option<String>,
    /// The process that wrote the findings
    #[arg(long)]
    pub pid: Option<u32>,
    /// Findings not to report
    #[arg(long)]
    pub suppressions: Option<PathBuf>,
    /// Print findings as they come, without being anybody's child
    #[arg(long)]
    pub follow: bool,
}

/// Runs a command of the sanitizer.
pub(crate) fn run(command: &Command) -> ExitCode {
    explain(command);
    let code = match command {
        Command::Cc(args) => compiler::c(&args.arguments, Language::C).map(|never| match never {}),
        Command::Cxx(args) => {
            compiler::c(&args.arguments, Language::Cxx).map(|never| match never {})
        }
        Command::Rustc(args) => compiler::rustc(&args.arguments).map(|never| match never {}),
        Command::Cargo(args) => compiler::cargo(&args.arguments).map(ExitCode::from),
        Command::Wrappers(args) => compiler::make_wrappers(&args.folder).map(|made| {
            for link in made {
                // If nobody reads it, the links are there all the same.
                let _ = writeln!(std::io::stdout(), "{}", link.display());
            }
            ExitCode::SUCCESS
        }),
        Command::Run(args) => args.run(),
        Command::Replay(args) => args.run(),
        Command::ReportRaw(args) => raw::report(&Log {
            path: args.log_path.clone(),
            pid: args.pid,
            suppressions: args.suppressions.clone(),
            follow: args.follow,
        })
        .map(ExitCode::from),
    };
    code.unwrap_or_else(|message| {
        terminal::complain(&format!("error: {message}"));
        ExitCode::from(2)
    })
}

/// Where a wrapper is asked for help, says first what the wrapper does; the compiler's own help follows.
fn explain(command: &Command) {
    let (text, args) = match command {
        Command::Cc(args) => (CC, args),
        Command::Cxx(args) => (CXX, args),
        Command::Rustc(args) => (RUSTC, args),
        Command::Cargo(args) => (CARGO, args),
        _ => return,
    };
    if args.arguments.first().is_some_and(|word| word == "--help" || word == "-h") {
        let mut out = std::io::stdout();
        // If nobody reads it, the compiler will notice, too.
        let _ = writeln!(out, "{text}\n").and_then(|()| out.flush());
    }
}

impl Run {
    fn run(&self) -> Result<ExitCode, String> {
        let inputs: Vec<PathBuf> = self.program.first().map(PathBuf::from).into_iter().collect();
        let files = ReportFiles::new(&self.faces, &inputs, self.output.json || self.output.quiet);
        if self.serial {
            return atomicity::run(self, files);
        }
        let series = launch::run(&self.launch())?;
        Ok(finish(&series, files))
    }

    /// What to run, and how.
    pub(crate) fn launch(&self) -> Launch {
        Launch {
            program: self.program.clone(),
            runs: self.runs,
            schedule: self.schedule,
            seed: self.seed,
            until_found: self.until_found,
            token: self.token.clone(),
            jobs: self.jobs.into(),
            timeout: self.timeout,
            timeout_option: "--timeout",
            record: self.record.clone(),
            paper_counts: self.paper_counts,
            is_build: false,
            environment: Vec::new(),
            output: self.output.wanted(),
        }
    }
}

impl Replay {
    fn run(&self) -> Result<ExitCode, String> {
        let inputs = std::slice::from_ref(&self.recording);
        let files = ReportFiles::new(&self.faces, inputs, self.output.json || self.output.quiet);
        let series = replay::run(&replay::Replay {
            recording: self.recording.clone(),
            transactions: self.transactions.clone(),
            most: quantity::spare_memory().unwrap_or(u64::MAX - 1),
            output: self.output.wanted(),
        })?;
        Ok(finish(&series, files))
    }
}

impl Output {
    fn wanted(&self) -> sanitizer::Output {
        sanitizer::Output {
            json: self.json,
            quiet: self.quiet,
            suppressions: self.suppressions.clone(),
            baseline: self.baseline.clone(),
            write_baseline: self.write_baseline.clone(),
            show_unused: self.show_unused,
            show_std: self.show_std,
            only: self.only,
        }
    }
}

/// Writes the reports that were asked for.
fn finish(series: &Series, mut files: ReportFiles) -> ExitCode {
    if files.wanted() {
        series.reports().into_iter().for_each(|report| files.add(report));
    }
    match files.finish() {
        Exit::BadInput => Exit::BadInput.into(),
        _ => ExitCode::from(series.code),
    }
}

fn schedule(text: &str) -> Result<Schedule, String> {
    Schedule::parse(text).ok_or_else(|| "expected os, random or pct:D, such as pct:3".to_string())
}

fn only(text: &str) -> Result<Only, String> {
    Only::parse(text).ok_or_else(|| "expected races or robustness".to_string())
}

const CC: &str = "\
fencepost cc: compiles and links C with the sanitizer, by your own compiler.

  fencepost cc -O1 -o queue queue.c -pthread && fencepost run ./queue
  make CC=\"fencepost cc\"                 a whole project
  fencepost wrappers DIR                   DIR/fencepost-cc, for builds that take one word

All arguments go to the compiler: the one that FENCEPOST_CC or CC names, else gcc, clang or cc (GCC 9, Clang 11 or
newer, x86-64 Linux). Added are -g, -fsanitize=thread and Fencepost's runtime in place of ThreadSanitizer's.
`fencepost run --help` says what the program then reports. What follows is the compiler's own help.";

const CXX: &str = "\
fencepost c++: compiles and links C++ with the sanitizer, by your own compiler.

  fencepost c++ -O1 -o queue queue.cc -pthread && fencepost run ./queue
  make CC=\"fencepost cc\" CXX=\"fencepost c++\"

All arguments go to the compiler: the one that FENCEPOST_CXX or CXX names, else g++, clang++ or c++ (GCC 9, Clang 11
or newer, x86-64 Linux). Added are -g, -fsanitize=thread and Fencepost's runtime in place of ThreadSanitizer's.
`fencepost run --help` says what the program then reports. What follows is the compiler's own help.";

const RUSTC: &str = "\
fencepost rustc: compiles Rust with the sanitizer, by your own rustc.

  fencepost rustc -O queue.rs && fencepost run ./queue

All arguments go to rustc, the one that RUSTC names. Added are -g, instrumentation and Fencepost's runtime; the flags are
not stable, so RUSTC_BOOTSTRAP=1 is set. `fencepost cargo` does the same for a package. What follows is rustc's own help.";

const CARGO: &str = "\
fencepost cargo: runs cargo with the sanitizer.

  fencepost cargo test                     all test programs run; one report, one exit code
  fencepost cargo build && fencepost run target/x86_64-unknown-linux-gnu/debug/server

All arguments go to cargo, the one that CARGO names. Programs that it runs (test, run, bench) are watched as by `fencepost
run`. A target is set, so that build scripts are built as usual. What follows is cargo's own help.";

const RUN: &str = "\
Runs a program that was built with `fencepost cc`, `c++`, `rustc` or `cargo`, and reports accesses that weak \
memory may let go wrong, and data races. Each finding is reported once, with both accesses, however many \
runs and processes find it. The analysis predicts: what is reported need not have happened in this run.

Left to the operating system, threads seldom switch where it matters. With --schedule random or pct:D the \
runtime decides at every atomic access and lock who goes on. A report then has a token, with which the same \
run can be had again.

The program's own options for the runtime are in FENCEPOST_OPTIONS, name=value pairs separated by colons: \
exitcode, log_path, halt_on_error, suppressions, history_size, reader_sets, report_races, report_robustness.";

const RUN_EXAMPLES: &str = "\
Examples:
  fencepost cc -O1 -o queue queue.c -pthread && fencepost run ./queue
  fencepost run --runs 1000 --schedule pct:3 --until-found ./queue
  fencepost run --token pct:3/140/17 ./queue
  fencepost run --record queue.rec ./queue && fencepost replay queue.rec
  fencepost run --serial -- ./bank           did the marked blocks look atomic?

Exit codes: 66 something was found, 2 bad input, 3 nothing was found but the analysis had to give something
up, 124 a run was stopped by --timeout, otherwise the program's own.";
