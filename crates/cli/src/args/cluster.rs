//! Arguments of searches by several processes: `check --hosts`, and `cluster run`, which starts them.

use crate::quantity;
use clap::{Args as Arguments, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How this process searches together with others.
#[derive(Arguments, Clone, Debug, Default)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct MemberArgs {
    /// Search together with other processes: a file with an address such as 10.0.0.1:4700 on each line, one for each
    /// process, or the addresses themselves, separated by commas. Run the same command on every host; process 0
    /// reports. Connections are neither encrypted nor authenticated: use a private network [env: FENCEPOST_HOSTS]
    #[arg(long, value_name = "FILE|LIST")]
    pub hosts: Option<String>,
    /// Which line of the hosts this process is, counted from 0 [env: FENCEPOST_PROCESS, SLURM_PROCID or
    /// JOB_COMPLETION_INDEX]
    #[arg(long, value_name = "I")]
    pub process: Option<u32>,
    /// Threads that search in each process; the same number on all hosts [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,
    /// How long to wait for the other processes at the start [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    pub join_time: Option<Duration>,
    /// Write checkpoints of the search to this directory, so that it can be resumed if a host is lost
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// How often to write a checkpoint [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    pub checkpoint_every: Option<Duration>,
    /// Go on from the checkpoint in --checkpoint DIR: the same command, with as many processes and workers
    #[arg(long)]
    pub resume: bool,
    /// End when standard input does: whoever started the process is gone
    #[arg(long, hide = true)]
    pub end_with_stdin: bool,
}

/// Arguments of `cluster`.
#[derive(Arguments, Debug)]
pub(crate) struct Cluster {
    /// What to do.
    #[command(subcommand)]
    pub command: ClusterCommand,
}

/// What to do with several processes.
#[derive(Subcommand, Debug)]
pub(crate) enum ClusterCommand {
    /// Start all processes of a search, here or on other hosts, and show what process 0 reports
    #[command(long_about = crate::help::CLUSTER_RUN, after_long_help = crate::help::CLUSTER_RUN_EXAMPLES)]
    Run(ClusterRun),
}

/// Arguments of `cluster run`.
#[derive(Arguments, Debug)]
pub(crate) struct ClusterRun {
    /// Start so many processes on this machine
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024),
        conflicts_with = "hosts",
        required_unless_present = "hosts"
    )]
    pub processes: Option<u16>,
    /// Start a process on each of these hosts over ssh: a file with an address such as 10.0.0.1:4700 on each line, or
    /// the addresses themselves, separated by commas
    #[arg(long, value_name = "FILE|LIST")]
    pub hosts: Option<String>,
    /// Threads that search in each process [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,
    /// The command that takes a host's name and a command line, and runs it there
    #[arg(long, value_name = "COMMAND", default_value = "ssh", requires = "hosts")]
    pub ssh: String,
    /// Where fencepost is on the hosts [default: where it is here]
    #[arg(long, value_name = "PATH", requires = "hosts")]
    pub binary: Option<PathBuf>,
    /// The command to run: check and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
