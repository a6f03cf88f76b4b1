//! Arguments of `check-tests`, which stand for those of a `check` of each test.

use super::{Check, MemberArgs, MethodName, ModelName, OutputArgs, RequireName, SearchArgs};
use crate::compiled::CodeArgs;
use crate::known::KnownArgs;
use crate::quantity;
use crate::report_files::ReportFileArgs;
use clap::Args as Arguments;
use std::ffi::OsString;
use std::path::PathBuf;
use vm::Stub;

/// Arguments of `check-tests`.
#[derive(Arguments, Debug)]
pub(crate) struct CheckTests {
    /// Only tests whose names have one of these in them [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The crate's Cargo.toml [default: that of the current folder]
    #[arg(long, value_name = "FILE")]
    pub manifest_path: Option<PathBuf>,
    /// The memory model to check against [default: rc11]
    #[arg(long, value_enum, value_name = "MODEL")]
    pub model: Option<ModelName>,
    /// What has to hold for exit code 0, as for `check`
    #[arg(long, value_enum, default_value_t = RequireName::Robust, value_name = "WHAT")]
    pub require: RequireName,
    /// Look for threads that can wait or spin for ever, as for `check`
    #[arg(long)]
    pub liveness: bool,
    /// Let loops go round at most N times, as for `check`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub unroll: Option<u32>,
    /// What a function does that no crate defines: PATH=ignore (returns 0), PATH=7 (returns 7), PATH=stop (never
    /// returns)
    #[arg(long, value_name = "PATH=WHAT", value_parser = quantity::stub)]
    pub stub: Vec<(String, Stub)>,
    #[command(flatten)]
    pub search: SearchArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub known: KnownArgs,
    #[command(flatten)]
    pub faces: ReportFileArgs,
    /// More arguments for `cargo test`, such as --package or --features
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub flags: Vec<OsString>,
}

impl CheckTests {
    /// How each test is checked.
    pub(crate) fn check(&self) -> Check {
        Check {
            inputs: Vec::new(),
            config: None,
            model: self.model,
            method: MethodName::Auto,
            trf: false,
            input: None,
            observational: false,
            no_races: false,
            all: false,
            require: self.require,
            liveness: self.liveness,
            stale: None,
            unroll: self.unroll,
            strict_values: false,
            code: CodeArgs { stub: self.stub.clone(), ..CodeArgs::default() },
            search: self.search.clone(),
            member: MemberArgs::default(),
            output: self.output.clone(),
            known: self.known.clone(),
            faces: self.faces.clone(),
        }
    }
}
