//! `cluster run`: starts all processes of a search, here or over ssh, and shows what process 0 reports.

use crate::args::{ClusterCommand, ClusterRun};
use crate::exit::Exit;
use crate::{member, terminal};
use cluster::Hosts;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Runs the command.
pub(crate) fn run(args: &ClusterCommand) -> io::Result<Exit> {
    let ClusterCommand::Run(args) = args;
    match start(args) {
        Ok(processes) => Ok(wait(processes)),
        Err(why) => {
            terminal::complain(&format!("error: {why}"));
            Ok(Exit::BadInput)
        }
    }
}

/// Starts all processes.
fn start(args: &ClusterRun) -> Result<Vec<Child>, String> {
    let is_check = args.command.first().is_some_and(|command| command == "check");
    if !is_check {
        return Err("after `--` comes the command that all processes run, and only check can be run by several: \
                    fencepost cluster run --processes 2 -- check FILE"
            .into());
    }
    let told = |option: &str| {
        let with_value = format!("{option}=");
        let given =
            |word: &OsString| word == option || word.to_string_lossy().starts_with(&with_value);
        args.command.iter().any(given)
    };
    if let Some(option) = ["--hosts", "--process", "--workers"].iter().find(|option| told(option)) {
        return Err(format!("{option} belongs before `--`; each process is told its own"));
    }
    let hosts = match (&args.hosts, args.processes) {
        (Some(given), _) => member::hosts(given)?,
        (None, processes) => cluster::local_hosts(processes.map_or(1, usize::from))
            .map_err(|error| format!("cannot find free ports on this machine: {error}"))?,
    };
    let here = std::env::current_exe().map_err(|error| format!("where is fencepost? {error}"))?;
    let mut started: Vec<Child> = Vec::new();
    for process in 0..hosts.len() {
        let words = words(args, &hosts, process);
        let mut command = match &args.hosts {
            None => {
                let mut command = Command::new(&here);
                command.args(words);
                command
            }
            Some(_) => remote(args, &hosts, process, &here, words)?,
        };
        // They end when we do.
        command.stdin(Stdio::piped());
        if process > 0 {
            command.stdout(Stdio::null());
        }
        match command.spawn() {
            Ok(child) => started.push(child),
            Err(error) => {
                for child in &mut started {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                let program = command.get_program().to_string_lossy().into_owned();
                return Err(format!("cannot run {program}: {error}"));
            }
        }
    }
    Ok(started)
}

/// What a process is told.
fn words(args: &ClusterRun, hosts: &Hosts, process: usize) -> Vec<OsString> {
    let addresses: Vec<&str> = hosts.addresses().collect();
    let mut words: Vec<OsString> =
        vec!["check".into(), "--hosts".into(), addresses.join(",").into()];
    words.extend(["--process".into(), process.to_string().into(), "--end-with-stdin".into()]);
    if let Some(workers) = args.workers {
        words.extend(["--workers".into(), workers.to_string().into()]);
    }
    words.extend(args.command.iter().skip(1).cloned());
    words
}

/// A command that runs fencepost on another host, in a directory of the same name.
fn remote(
    args: &ClusterRun,
    hosts: &Hosts,
    process: usize,
    here: &PathBuf,
    words: Vec<OsString>,
) -> Result<Command, String> {
    let address = hosts.address(process);
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let folder = std::env::current_dir().map_err(|error| format!("where are we? {error}"))?;
    let binary = args.binary.as_ref().unwrap_or(here);
    let quoted = |word: &OsString| quoted(&word.to_string_lossy());
    let mut line = format!("cd {} && exec {}", quoted(&folder.into()), quoted(&binary.into()));
    for word in &words {
        line.push(' ');
        line.push_str(&quoted(word));
    }
    let mut command = Command::new(&args.ssh);
    command.arg(host).arg(line);
    Ok(command)
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Waits for all processes. What counts is how process 0 ended.
fn wait(mut processes: Vec<Child>) -> Exit {
    let mut first = None;
    for (number, process) in processes.iter_mut().enumerate() {
        // Standard input stays open until the process has ended.
        let input = process.stdin.take();
        let ended = process.wait();
        drop(input);
        if number == 0 {
            first = ended.ok();
        }
    }
    match first.as_ref().and_then(ExitStatus::code) {
        Some(0) => Exit::Holds,
        Some(1) => Exit::Violated,
        Some(3) => Exit::Undecided,
        Some(4) => Exit::Internal,
        Some(_) => Exit::BadInput,
        None => {
            terminal::complain("undecided: host 0 was lost");
            Exit::Undecided
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches words that a shell takes apart.
    #[test]
    fn words_reach_a_shell_whole() {
        for word in ["plain", "two words", "it's", "$HOME;`x`", ""] {
            let script = format!("printf %s {}", quoted(word));
            let output = Command::new("sh").arg("-c").arg(script).output().expect("a shell");
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }
}
