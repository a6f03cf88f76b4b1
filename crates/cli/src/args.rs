//! The arguments of the command line, and the questions that they stand for.

mod check_tests;
mod cluster;
mod editor;
mod names;
mod repair;

pub(crate) use check_tests::CheckTests;
pub(crate) use cluster::{Cluster, ClusterCommand, ClusterRun, MemberArgs};
pub(crate) use editor::{Lsp, Play};
pub(crate) use names::{
    InputName, LevelName, MethodName, ModelName, ReadingName, RequireName, SearchName, Target,
    TrackName, model,
};
pub(crate) use repair::{Fix, OnlyName, Orders};

use crate::compiled::CodeArgs;
use crate::known::KnownArgs;
use crate::report_files::ReportFileArgs;
use crate::{help, interrupt, quantity};
use check::{Beyond, DoubleCheck, Extent, Method, Property, Question, Reductions, Require};
use clap::{Args as Arguments, Parser, Subcommand};
use memory::rc20::row_layout::Track;
use search::Limits;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything on the command line.
#[derive(Parser, Debug)]
#[command(name = "fencepost", version = env!("FENCEPOST_VERSION"), max_term_width = 100)]
#[command(about = help::ABOUT, long_about = help::LONG_ABOUT, after_long_help = help::EXAMPLES)]
#[command(after_help = "Try: fencepost check --help", arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Can weak memory make a program do what no interleaving explains?
    #[command(long_about = help::CHECK, after_long_help = help::CHECK_EXAMPLES)]
    Check(Check),
    /// Checks the #[test] functions of a crate, each as a program
    #[command(long_about = help::CHECK_TESTS, after_long_help = help::CHECK_TESTS_EXAMPLES)]
    CheckTests(CheckTests),
    /// Checks by several processes, on one machine or many
    Cluster(Cluster),
    /// The final states that a model allows, and which of them SC forbids
    #[command(long_about = help::OUTCOMES, after_long_help = help::OUTCOMES_EXAMPLES)]
    Outcomes(Outcomes),
    /// The cheapest fences and memory orders that make a program correct
    #[command(long_about = help::FIX, after_long_help = help::FIX_EXAMPLES)]
    Fix(Fix),
    /// For each atomic access and fence, the weakest memory order that works, and why
    #[command(long_about = help::ORDERS, after_long_help = help::ORDERS_EXAMPLES)]
    Orders(Orders),
    /// Was a recorded run of transactions atomic under TSO?
    #[command(long_about = help::SERIAL, after_long_help = help::SERIAL_EXAMPLES)]
    Serial(Serial),
    /// Does a library do what its specification says, under weak memory?
    #[command(long_about = help::REFINE, after_long_help = help::REFINE_EXAMPLES)]
    Refine(Refine),
    /// Write a program in another tool's language
    #[command(long_about = help::EXPORT)]
    Export(Export),
    #[command(flatten)]
    Sanitizer(crate::sanitizer::Command),
    /// A page on this machine to try programs on: an editor, the verdict as you type, the execution
    #[command(long_about = help::PLAY, after_long_help = help::PLAY_EXAMPLES)]
    Play(Play),
    /// A language server for editors: diagnostics, what memory orders do, fixes
    #[command(long_about = help::LSP, after_long_help = help::LSP_EXAMPLES)]
    Lsp(Lsp),
    /// What a code such as FP0001 means, with an example and its fix
    Explain(Explain),
    /// Completions for a shell
    #[command(after_long_help = help::COMPLETIONS_EXAMPLES)]
    Completions(Completions),
    /// The manual pages
    #[command(after_long_help = help::MANUAL_EXAMPLES)]
    Man(Manual),
}

/// Arguments of `check`.
#[derive(Arguments, Clone, Debug)]
pub(crate) struct Check {
    /// Programs in C, C++, Rust or .fp, directories of .fp programs, or patterns such as 'locks/*.c'; - reads
    /// standard input [default: what fencepost.toml says]
    #[arg(value_name = "FILE|DIR|GLOB")]
    pub inputs: Vec<PathBuf>,
    /// Check the programs of a project, as this file says; if files are named as well, only programs with one of them
    /// [default: without files, fencepost.toml in this folder or one above it]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The memory model to check against [default: rc11; rc20 for .tpl files]
    #[arg(long, value_enum, value_name = "MODEL")]
    pub model: Option<ModelName>,
    /// The theorem to rely on
    #[arg(long, value_enum, default_value_t = MethodName::Auto, value_name = "METHOD")]
    pub method: MethodName,
    /// Look for triangular races instead: a program without is robust, one with may be robust, too
    #[arg(long, conflicts_with = "method")]
    pub trf: bool,
    /// The language of the files; without it, their content tells
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub input: Option<InputName>,
    /// Let stale values be read as long as nothing depends on them
    #[arg(long)]
    pub observational: bool,
    /// Do not look for races on non-atomic locations
    #[arg(long)]
    pub no_races: bool,
    /// Report every place that can go wrong, not only the first
    #[arg(long)]
    pub all: bool,
    /// Look for threads that wait or spin for ever, although all of them see the newest writes
    #[arg(long)]
    pub liveness: bool,
    /// What has to hold for exit code 0. A program that is not robust may be safe all the same: no races, failing
    /// assertions or run-time errors on the weak memory. `safe` accepts it, and explores the weak memory as far as the
    /// limits allow; `robust` has a brief look only
    #[arg(long, value_enum, default_value_t = RequireName::Robust, value_name = "WHAT")]
    pub require: RequireName,
    /// Where the weak memory is explored, how many old writes of a location can still be read at most; executions with
    /// more are left out [default: more and more, until no execution has more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=190))]
    pub stale: Option<u8>,
    /// C, C++, Rust: let loops go round at most N times, those that only wait aside. Nothing holds then but up to N
    /// rounds, and the answer says so
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub unroll: Option<u32>,
    /// Make it an error if a value wraps around at max_value
    #[arg(long)]
    pub strict_values: bool,
    #[command(flatten)]
    pub code: CodeArgs,
    #[command(flatten)]
    pub search: SearchArgs,
    #[command(flatten)]
    pub member: MemberArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub known: KnownArgs,
    #[command(flatten)]
    pub faces: ReportFileArgs,
}

/// Arguments of `refine`.
#[derive(Arguments, Debug)]
pub(crate) struct Refine {
    /// Files with a library, its specification and, perhaps, a most general client; read as one
    #[arg(required = true, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
    /// Check the client in this file instead: does it keep to the policy, is it free of races, and
    /// do its assertions hold, with the specification in the library's place?
    #[arg(long, value_name = "FILE")]
    pub client: Option<PathBuf>,
    /// How many markers may be on their way from any thread to any other
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=50))]
    pub pending: u8,
    /// Ignore propagation: compare calls and returns only, as linearizability does. Not sound for
    /// weak memory
    #[arg(long)]
    pub history_only: bool,
    /// Demand the same histories to the letter, also where no client could tell: without this, if
    /// they are not, the specification may let a marker reach a thread early while that thread is
    /// inside a method. Clients are always held to the letter
    #[arg(long, conflicts_with_all = ["client", "history_only"])]
    pub literal: bool,
    /// Check also that methods can return: a call may get stuck for good, so that it does not return
    /// whatever happens next, only where the specification's may after the same history. Without this,
    /// a method that never returns refines everything (partial correctness). No fairness is
    /// assumed, so a method that could return but need not (livelock, starvation) is not found
    #[arg(long, conflicts_with = "client")]
    pub total: bool,
    /// Print the most general client that a policy stands for, and do nothing else
    #[arg(
        long,
        conflicts_with_all = [
            "client", "pending", "history_only", "literal", "total", "no_reduction", "limit_memory",
            "limit_time", "jobs", "json", "quiet"
        ]
    )]
    pub show_client: bool,
    /// Take every step, also those that make no difference
    #[arg(long)]
    pub no_reduction: bool,
    /// Give up when states take this much memory, such as 512M or 2G
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes)]
    pub limit_memory: Option<u64>,
    /// Give up after this time, such as 30s, 5m or 2h
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    pub limit_time: Option<Duration>,
    /// Cores to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Print a JSON object per line for each library
    #[arg(long)]
    pub json: bool,
    /// Print nothing but verdicts and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Reports.
    #[command(flatten)]
    pub faces: ReportFileArgs,
}

/// How many cores to use; all, if nothing is said.
pub(crate) fn cores(jobs: Option<u16>) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    jobs.map_or_else(all, usize::from)
}

/// When to give up, and what to use until then.
#[derive(Arguments, Clone, Debug)]
#[command(next_help_heading = "Search")]
pub(crate) struct LimitArgs {
    /// Give up on a file after this many states, such as 200000 or 10M
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub limit_states: Option<u64>,
    /// Give up on a file when its states take this much memory, such as 512M or 2G [default: four
    /// fifths of what is free]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes)]
    pub limit_memory: Option<u64>,
    /// Give up on a file after this time, such as 30s, 5m or 2h
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    pub limit_time: Option<Duration>,
    /// Cores to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
}

impl LimitArgs {
    /// How many cores to use.
    pub(crate) fn jobs(&self) -> usize {
        cores(self.jobs)
    }

    /// The limits that the arguments stand for, for work that begins now.
    pub(crate) fn limits(&self) -> Limits {
        let memory = self.limit_memory.or_else(quantity::spare_memory);
        Limits {
            states: self.limit_states,
            depth: None,
            budget: interrupt::budget(self.limit_time, memory),
        }
    }
}

/// How to search.
#[derive(Arguments, Clone, Debug)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchArgs {
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Breadth first finds the shortest witnesses, depth first gets to deep states early
    #[arg(long, value_enum, default_value_t = SearchName::Bfs, value_name = "ORDER")]
    pub search: SearchName,
    /// Reductions to use, separated by commas: local, choice, por, symmetry,
    /// subsume, dead, parts, counters, all, none
    #[arg(long, value_name = "LIST", default_value = "all")]
    pub reduce: Reductions,
    /// Stale values to tell apart
    #[arg(long, value_enum, default_value_t = TrackName::Critical, value_name = "VALUES")]
    pub track: TrackName,
    /// Check again without reductions, however long it takes, and compare [default: if that takes
    /// next to no time]
    #[arg(long)]
    pub double_check: bool,
    /// Never check again without reductions
    #[arg(long, conflicts_with = "double_check")]
    pub no_double_check: bool,
}

/// What to print.
#[derive(Arguments, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print a JSON object per line for each file and property
    #[arg(long)]
    pub json: bool,
    /// Tell the story of every violation, even of many files
    #[arg(long)]
    pub details: bool,
    /// Print nothing but verdicts and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
}

impl OutputArgs {
    /// Is progress to be shown?
    pub(crate) fn watched(&self) -> bool {
        !self.quiet && !self.no_progress
    }
}

/// Arguments of `outcomes`.
#[derive(Arguments, Debug)]
pub(crate) struct Outcomes {
    /// The program, also in C, C++, Rust or LLVM IR; - reads standard input
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// The language of the program; without it, its content tells
    #[arg(long = "input", value_enum, value_name = "LANGUAGE")]
    pub language: Option<InputName>,
    /// The memory model [default: rc11; rc20 for .tpl files]
    #[arg(long, value_enum, value_name = "MODEL")]
    pub model: Option<ModelName>,
    /// How often a thread may come to one statement on weak memory; longer loops are cut off
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub unroll: u32,
    /// How many stores of a thread may wait; longer buffers are cut off
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    pub limit_buffer: u16,
    /// Give up after this many states, such as 50000 or 2M
    #[arg(long, value_name = "N", default_value = "2M", value_parser = entries)]
    pub limit_states: usize,
    /// Give up after this many execution graphs, such as 50000 or 2M
    #[arg(long, value_name = "N", default_value = "300K", value_parser = entries)]
    pub limit_graphs: usize,
    /// Give up after this time, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = quantity::duration)]
    pub limit_time: Duration,
    /// Cores on which to search states. On one, the search goes deep first and comes to ends early;
    /// on several it goes level by level. Execution graphs are listed on one core
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
    /// Print how many states there are, and errors
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub code: CodeArgs,
}

/// Arguments of `serial`.
#[derive(Arguments, Debug)]
pub(crate) struct Serial {
    /// The recording, one event a line, or a history that Jepsen wrote; - reads standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["random", "from"])]
    pub input: Option<PathBuf>,
    /// Check every execution of a program whose blocks are marked `atomic { … }` instead, for a minute
    /// unless --limit-time says otherwise
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["input", "random", "reading"])]
    pub from: Option<PathBuf>,
    /// How many writes of a thread may wait in its buffer
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    pub limit_buffer: u16,
    /// Read it as an execution, which shows commits, or a trace, which does not
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub reading: Option<ReadingName>,
    /// Judge what a database or transactional memory promises: transactions by what they read and wrote
    /// [default for Jepsen's histories: strict-serializable]
    #[arg(long, value_enum, value_name = "LEVEL", conflicts_with_all = ["predict", "reading"])]
    pub level: Option<LevelName>,
    /// Judge all runs of this shape, whatever was read, instead of the run that was recorded
    #[arg(long)]
    pub predict: bool,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
    /// Print nothing but verdicts and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Write a random recording instead of judging one
    #[arg(long, conflicts_with = "input")]
    pub random: bool,
    /// Threads of a random recording
    #[arg(long, value_name = "K", default_value_t = 3)]
    pub threads: usize,
    /// Events of a random recording
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub events: usize,
    /// Variables of a random recording
    #[arg(long, value_name = "M", default_value_t = 3)]
    pub vars: usize,
    /// The seed of a random recording; the same seed gives the same recording
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Show commits in a random recording, which makes it an execution
    #[arg(long)]
    pub commits: bool,
    #[command(flatten)]
    pub faces: ReportFileArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Arguments of `explain`.
#[derive(Arguments, Debug)]
pub(crate) struct Explain {
    /// The code; without one, all codes are listed
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

/// Arguments of `completions`.
#[derive(Arguments, Debug)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Arguments, Debug)]
pub(crate) struct Manual {
    /// Write a page for each command into this directory [default: print the page of fencepost]
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

/// Arguments of `export`.
#[derive(Arguments, Debug)]
pub(crate) struct Export {
    /// The program; - reads standard input
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// The language to write
    #[arg(long, value_enum, default_value_t = Target::Promela, value_name = "LANGUAGE")]
    pub to: Target,
}

fn entries(text: &str) -> Result<usize, String> {
    quantity::count(text).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

impl Check {
    /// Does a project's file say what to check?
    pub(crate) fn is_project(&self) -> bool {
        self.config.is_some()
    }

    /// The question about a file that the arguments stand for, for work that begins now.
    pub(crate) fn question(&self, file: &Path) -> Question {
        Question {
            property: match (self.trf, self.observational) {
                (true, _) => Property::TriangularRaces,
                (_, true) => Property::ObservationalRobustness,
                _ => Property::Robustness,
            },
            model: model(self.model, file),
            races: !self.no_races,
            extent: if self.all { Extent::All } else { Extent::First },
            method: match self.method {
                MethodName::Auto => Method::Auto,
                MethodName::Locality => Method::Locality,
                MethodName::Singularity => Method::Singularity,
            },
            reductions: self.search.reduce,
            track: match self.search.track {
                TrackName::Critical => Track::Critical,
                TrackName::All => Track::All,
            },
            double_check: match (self.search.double_check, self.search.no_double_check) {
                (true, _) => DoubleCheck::Always,
                (_, true) => DoubleCheck::Never,
                _ => DoubleCheck::IfSmall,
            },
            order: self.search.search.order(),
            limits: self.search.limits.limits(),
            jobs: self.search.limits.jobs(),
            require: match self.require {
                RequireName::Robust => Require::Robust,
                RequireName::Safe => Require::Safe,
            },
            liveness: self.liveness,
            beyond: match (self.require, self.stale, self.liveness) {
                (RequireName::Robust, None, false) => Beyond::Brief,
                _ => Beyond::Full,
            },
            stale: self.stale.map(usize::from),
            ..Question::default()
        }
    }
}
