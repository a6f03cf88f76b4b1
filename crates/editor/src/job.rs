//! One question as a process: started with limits, ended when nobody wants the answer any more.
//!
//! A job has a folder of its own for the program, for what the process prints, and for temporary files of compilers;
//! the folder goes when the job does. The process gets its limits as options (`--limit-time`, `--limit-memory`) and
//! keeps to them itself. If it does not, or if the flag that it was given is set, it is killed together with all that
//! it started.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How often a process is looked at.
const PACE: Duration = Duration::from_millis(5);
/// How much longer than its limit a process may take, to say what it knows by then.
const GRACE: Duration = Duration::from_secs(3);
/// The most that is read of what a process wrote.
const MOST_OUTPUT: u64 = 16 << 20;

/// What questions may use up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Time for each.
    pub time: Duration,
    /// Memory in bytes.
    pub memory: u64,
}

impl Limits {
    /// The options of the command line that say so.
    fn options(self) -> [String; 4] {
        [
            "--limit-time".to_string(),
            format!("{}ms", self.time.as_millis()),
            "--limit-memory".to_string(),
            format!("{}K", (self.memory >> 10).max(1)),
        ]
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// Nobody wanted it any more.
    Cancelled,
    /// The process did not keep to its limits and was killed.
    Killed,
    /// The process could not be started, or what it wrote could not be read.
    Failed(io::Error),
}

impl From<io::Error> for NoAnswer {
    fn from(error: io::Error) -> Self {
        NoAnswer::Failed(error)
    }
}

/// What a process said.
#[derive(Clone, Debug)]
pub struct Said {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

/// A folder for one question.
#[derive(Debug)]
pub struct Job {
    folder: TempDir,
    executable: PathBuf,
    limits: Limits,
}

impl Job {
    /// A new folder; `executable` is fencepost itself.
    ///
    /// # Errors
    ///
    /// If there is no place for temporary files.
    pub fn new(executable: &Path, limits: Limits) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("fencepost-").tempdir()?;
        Ok(Job { folder, executable: executable.to_path_buf(), limits })
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.path(name);
        std::fs::write(&path, text)?;
        Ok(path)
    }

    /// A file that a process wrote, if it did.
    pub fn read(&self, name: &str) -> Option<String> {
        read(&self.path(name)).ok()
    }

    /// Runs `fencepost COMMAND … ARGUMENTS` in the folder `here`, within the limits, until `cancel` is set.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub fn run(
        &self,
        here: &Path,
        command: &[&str],
        arguments: &[&OsStr],
        cancel: &AtomicBool,
    ) -> Result<Said, NoAnswer> {
        if cancel.load(Ordering::Relaxed) {
            return Err(NoAnswer::Cancelled);
        }
        let (out, err) = (self.path(".stdout"), self.path(".stderr"));
        let mut process = Command::new(&self.executable);
        process
            .args(command)
            .args(self.limits.options())
            .args(arguments)
            .current_dir(here)
            .env("TMPDIR", self.folder.path())
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        let mut running = Running(Some(process.spawn()?));
        let status = running.wait(Instant::now() + self.limits.time + GRACE, cancel)?;
        Ok(Said { code: status.code(), stdout: read(&out)?, stderr: read(&err)? })
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A process that does not outlive whoever waits for it.
struct Running(Option<Child>);

impl Running {
    fn wait(&mut self, deadline: Instant, cancel: &AtomicBool) -> Result<ExitStatus, NoAnswer> {
        let Some(child) = &mut self.0 else { return Err(NoAnswer::Cancelled) };
        loop {
            if let Some(status) = child.try_wait()? {
                self.0 = None;
                return Ok(status);
            }
            if cancel.load(Ordering::Relaxed) {
                return Err(NoAnswer::Cancelled);
            }
            if Instant::now() >= deadline {
                return Err(NoAnswer::Killed);
            }
            std::thread::sleep(PACE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        // The compiler that it may have started is in the same group.
        #[cfg(unix)]
        if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// A job whose executable is a script.
    fn job(script: &str, time: Duration) -> Job {
        let job = Job::new(Path::new("/bin/sh"), Limits { time, memory: 1 << 30 }).expect("a job");
        job.write("script", script).expect("a file");
        job
    }

    fn run(job: &Job, cancel: &AtomicBool) -> Result<Said, NoAnswer> {
        let script = job.path("script");
        job.run(&job.path(""), &[script.to_str().expect("a path")], &[OsStr::new("last")], cancel)
    }

    #[test]
    fn what_is_said_is_heard() {
        let job = job("echo $5; echo $2 >&2; exit 3", Duration::from_secs(20));
        let said = run(&job, &AtomicBool::new(false)).expect("an answer");
        assert_eq!((said.code, &*said.stdout, &*said.stderr), (Some(3), "last\n", "20000ms\n"));
    }

    /// A cancelled job leaves no process behind, not even one that the process had started, and no folder.
    #[test]
    fn cancelled_jobs_leave_nothing() {
        let job = job("sleep 300 & echo $! > pid; wait", Duration::from_secs(200));
        let cancel = Arc::new(AtomicBool::new(false));
        let (pid, folder) = (job.path("pid"), job.path(""));
        let setter = std::thread::spawn({
            let cancel = cancel.clone();
            move || {
                let written = || std::fs::read_to_string(&pid).ok().filter(|t| t.ends_with('\n'));
                let started = loop {
                    match written() {
                        Some(started) => break started,
                        None => std::thread::sleep(PACE),
                    }
                };
                cancel.store(true, Ordering::Relaxed);
                started
            }
        });
        assert!(matches!(run(&job, &cancel), Err(NoAnswer::Cancelled)));
        let pid: i32 = setter.join().expect("no panic").trim().parse().expect("a number");
        // An orphan that was killed may take a moment to be reaped.
        let gone = || {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        for _ in 0..400 {
            if gone() {
                break;
            }
            std::thread::sleep(PACE);
        }
        assert!(gone(), "a process was left behind");
        drop(job);
        assert!(!folder.exists());
    }

    #[test]
    fn limits_are_kept() {
        let job = job("sleep 300", Duration::from_millis(1));
        assert!(matches!(run(&job, &AtomicBool::new(false)), Err(NoAnswer::Killed)));
        let missing = Job::new(Path::new("/nowhere/at/all"), job.limits).expect("a job");
        let failed = missing.run(Path::new("/"), &["x"], &[], &AtomicBool::new(false));
        assert!(matches!(failed, Err(NoAnswer::Failed(_))));
    }
}
