//! `check --hosts`: how a process becomes one of several that search together.
//!
//! All processes run the same command. What they must have in common is compared when they meet: the binary, the
//! options, and the text of the programs; before each check, the program as it was understood. Process 0 reports; the
//! others do the same work in silence, and end with the same exit code.

use crate::args::{self, MemberArgs};
use cluster::{Checkpoints, Cluster, Hosts, Join};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long processes wait for each other at the start.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a checkpoint is written.
const EVERY: Duration = Duration::from_secs(300);

/// Where schedulers say which of several processes this is.
const NUMBERS: [&str; 3] = ["FENCEPOST_PROCESS", "SLURM_PROCID", "JOB_COMPLETION_INDEX"];

/// Reads hosts from a file, or from a list of addresses.
pub(crate) fn hosts(given: &str) -> Result<Hosts, String> {
    let path = Path::new(given);
    if !path.exists() && given.contains(':') && !given.contains('/') {
        let lines = given.replace(',', "\n");
        return Hosts::parse(&lines).map_err(|error| format!("in --hosts {given}: {}", error.why));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read the hosts file {given}: {error}"))?;
    Hosts::parse(&text).map_err(|error| format!("in the hosts file {given}: {error}"))
}

/// Which process this is.
fn number(args: &MemberArgs) -> Result<usize, String> {
    if let Some(process) = args.process {
        return Ok(process as usize);
    }
    for name in NUMBERS {
        if let Ok(text) = std::env::var(name) {
            return text
                .trim()
                .parse()
                .map_err(|_| format!("{name} is `{text}`, which is no number of a process"));
        }
    }
    Err(format!(
        "--hosts needs --process I, which line of the hosts this process is; {} would do as well",
        NUMBERS.join(", ")
    ))
}

/// Joins the other processes, if the arguments say that there are others.
pub(crate) fn join(
    args: &args::Check,
    files: &[PathBuf],
) -> Result<Option<&'static Cluster>, String> {
    let member = &args.member;
    let told = std::env::var("FENCEPOST_HOSTS").ok().filter(|hosts| !hosts.is_empty());
    let given = member.hosts.clone().or(told);
    if given.is_none() {
        let alone = [
            ("--process", member.process.is_some()),
            ("--workers", member.workers.is_some() && member.checkpoint.is_none()),
            ("--join-time", member.join_time.is_some()),
        ];
        if let Some((option, _)) = alone.iter().find(|(_, given)| *given) {
            return Err(format!(
                "{option} is about searches of several processes: it needs --hosts"
            ));
        }
    }
    if member.checkpoint.is_none() {
        let alone = [
            ("--checkpoint-every", member.checkpoint_every.is_some()),
            ("--resume", member.resume),
        ];
        if let Some((option, _)) = alone.iter().find(|(_, given)| *given) {
            return Err(format!("{option} needs --checkpoint DIR"));
        }
        if given.is_none() {
            return Ok(None);
        }
    }
    let option = if given.is_some() { "--hosts" } else { "--checkpoint" };
    if args.search.search == args::SearchName::Dfs {
        return Err(format!("{option} searches breadth first: it does not go with --search dfs"));
    }
    if args.search.limits.jobs.is_some() {
        return Err(format!(
            "{option} does not go with --jobs: --workers says how many threads search"
        ));
    }
    if files.iter().any(|file| file.as_os_str() == "-") {
        return Err(format!(
            "{option} does not go with standard input: every process has to read the program"
        ));
    }
    let workers = usize::from(member.workers.unwrap_or(1));
    let digests = digests(args, files)?;
    let hosts = given.as_deref().map(hosts).transpose()?;
    let process = match &hosts {
        Some(_) => number(member)?,
        None => 0,
    };
    let processes = hosts.as_ref().map_or(1, Hosts::len);
    if process >= processes {
        return Err(format!(
            "there is no process {process}: the hosts have {processes} lines, so processes are numbered 0 to {}",
            processes - 1
        ));
    }
    let checkpoints = match &member.checkpoint {
        None => None,
        Some(folder) => {
            let mut all = digests.clone();
            all.push(("number of workers".into(), (workers * processes) as u64));
            let every = member.checkpoint_every.unwrap_or(EVERY);
            let opened = Checkpoints::open(folder, process, &all, every, member.resume);
            Some(opened.map_err(|error| error.to_string())?)
        }
    };
    let cluster = match &hosts {
        Some(hosts) if processes > 1 => {
            let patience = member.join_time.unwrap_or(PATIENCE);
            let join = Join { hosts, process, workers, digests: &digests, patience };
            Cluster::join(&join).map_err(|error| error.to_string())?
        }
        _ => Cluster::threads(workers).map_err(|error| format!("cannot start threads: {error}"))?,
    };
    if member.end_with_stdin {
        std::thread::spawn(|| {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            crate::interrupt::interrupt();
        });
    }
    // It lives as long as the process.
    Ok(Some(Box::leak(Box::new(cluster.with_checkpoints(checkpoints)))))
}

/// What all processes must have in common.
fn digests(args: &args::Check, files: &[PathBuf]) -> Result<Vec<(String, u64)>, String> {
    let binary = std::env::current_exe()
        .and_then(std::fs::read)
        .map_err(|error| format!("cannot read the binary, which all hosts compare: {error}"))?;
    let mut programs = DefaultHasher::new();
    for file in files {
        // What cannot be read is refused later, by all.
        std::fs::read(file).unwrap_or_default().hash(&mut programs);
    }
    let limits = &args.search.limits;
    let options = format!(
        "{:?}",
        (
            (&args.model, args.method, args.trf, args.input, args.observational, args.no_races),
            (args.all, args.liveness, args.require, args.stale, args.unroll, args.strict_values),
            (
                &args.code,
                args.search.reduce,
                args.search.track,
                limits.limit_states,
                limits.limit_time
            ),
            (args.search.double_check, args.search.no_double_check),
        )
    );
    Ok(vec![
        ("binary".into(), digest(&binary)),
        ("options".into(), digest(options.as_bytes())),
        ("programs".into(), programs.finish()),
    ])
}

/// A number that is the same for the same bytes, in all processes of one binary.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Says whether this process is one of several but not the one that reports.
pub(crate) fn is_silent(cluster: Option<&Cluster>) -> bool {
    cluster.is_some_and(|cluster| cluster.process() != 0)
}
