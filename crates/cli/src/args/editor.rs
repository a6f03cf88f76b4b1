//! Arguments of `play` and `lsp`.

use crate::quantity;
use ::editor::job;
use clap::Args as Arguments;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `play`.
#[derive(Arguments, Debug)]
pub(crate) struct Play {
    /// The program to begin with: a file in .fp, C, C++, Rust or a litmus test, or a link of a playground
    #[arg(value_name = "FILE|LINK")]
    pub start: Option<PathBuf>,
    /// The port to listen on, on the loopback address [default: any that is free]
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    #[command(flatten)]
    pub limits: EachArgs,
}

/// Arguments of `lsp`.
#[derive(Arguments, Debug)]
pub(crate) struct Lsp {
    /// Talk over standard input and output, which is what it does anyway: editors like to say so
    #[arg(long)]
    pub stdio: bool,
    #[command(flatten)]
    pub limits: EachArgs,
}

/// What each check may use up.
#[derive(Arguments, Clone, Copy, Debug)]
pub(crate) struct EachArgs {
    /// Give up on a check after this time, such as 5s or 1m
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = quantity::duration)]
    pub limit_time: Duration,
    /// Give up on a check when its states take this much memory, such as 512M or 2G
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = quantity::bytes)]
    pub limit_memory: u64,
}

impl EachArgs {
    /// The limits that the arguments stand for.
    pub(crate) fn limits(self) -> job::Limits {
        // A time that no clock can show is as good as a day.
        let time = self.limit_time.min(Duration::from_secs(86_400));
        job::Limits { time, memory: self.limit_memory }
    }
}
