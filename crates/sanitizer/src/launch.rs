//! `fencepost run`: the program, as often as the user likes.

use crate::collection::Collection;
use crate::filter::Filter;
use crate::raw::Raw;
use crate::signals::{Asked, Watch};
use crate::{FOUND, Output, Series, UNDECIDED, complain, plain_text};
use rt::options::Schedule;
use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program and its arguments.
    pub program: Vec<OsString>,
    /// How often to run it.
    pub runs: u64,
    /// Who decides which thread goes on.
    pub schedule: Schedule,
    /// Seed of the first run's schedule; the others count on from it.
    pub seed: u64,
    /// Stop after the first run with findings?
    pub until_found: bool,
    /// The schedule of an earlier run, to be had again.
    pub token: Option<String>,
    /// How many runs at a time.
    pub jobs: usize,
    /// Stop a run after this time.
    pub timeout: Option<Duration>,
    /// The option that says so.
    pub timeout_option: &'static str,
    /// Record everything there, for [`crate::replay`].
    pub record: Option<PathBuf>,
    /// Report waiting loops as well, as the paper counts?
    pub paper_counts: bool,
    /// Is the program a build system, which may or may not run programs that were built with the sanitizer?
    pub is_build: bool,
    /// What its environment has besides ours.
    pub environment: Vec<(OsString, OsString)>,
    /// Which findings to print, and how.
    pub output: Output,
}

/// How long a run may take that the runtime schedules, unless the user says otherwise: a program that waits
/// for something that never comes can do so in ways that nobody notices.
const SCHEDULED: Duration = Duration::from_secs(300);

/// How a run is scheduled, in a form that can be printed and read again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Token {
    schedule: Schedule,
    steps: u64,
    seed: u64,
}

impl Token {
    fn parse(text: &str) -> Option<Token> {
        let mut parts = text.split('/');
        let schedule =
            Schedule::parse(parts.next()?).filter(|&schedule| schedule != Schedule::Os)?;
        let token = Token {
            schedule,
            steps: parts.next()?.parse().ok()?,
            seed: parts.next()?.parse().ok()?,
        };
        (parts.next().is_none() && token.steps > 0).then_some(token)
    }

    fn text(&self) -> Option<String> {
        let schedule = match self.schedule {
            Schedule::Os => return None,
            Schedule::Random => "random".to_string(),
            Schedule::Pct(depth) => format!("pct:{depth}"),
        };
        Some(format!("{schedule}/{}/{}", self.steps, self.seed))
    }

    fn options(&self) -> String {
        let schedule = match self.schedule {
            Schedule::Os => "os".to_string(),
            Schedule::Random => "random".to_string(),
            Schedule::Pct(depth) => format!("pct,{depth}"),
        };
        format!("schedule={schedule}:steps={}:seed={}", self.steps, self.seed)
    }
}

struct Running {
    child: Child,
    number: u64,
    token: Token,
    raw: std::path::PathBuf,
    /// How much of that was read.
    read: u64,
    /// The last line that says what is mapped where.
    maps: String,
    since: Instant,
    timed_out: bool,
}

impl Running {
    /// What the program wrote since this was last asked, in whole lines.
    fn news(&mut self) -> Raw {
        let mut bytes = Vec::new();
        let read = File::open(&self.raw).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_end(&mut bytes)
        });
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        if read.is_err() || whole == 0 {
            return Raw::default();
        }
        self.read += whole as u64;
        let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
        let raw = Raw::parse(&format!("{}\n{text}", self.maps));
        if let Some(maps) = text.lines().rev().find(|line| line.starts_with("{\"maps\"")) {
            self.maps = maps.to_string();
        }
        raw
    }
}

/// All that was found, told as it comes.
struct Told<'a> {
    collection: Collection,
    output: &'a Output,
    progress: Progress,
    processes: usize,
    lost: Vec<String>,
}

impl Told<'_> {
    /// Tells what a program wrote; how many steps it took, if it says so.
    fn tell(&mut self, one: &mut Running) -> u64 {
        let raw = one.news();
        self.processes += raw.processes;
        for what in &raw.lost {
            if !self.lost.contains(what) {
                self.progress.hide();
                complain(&format!("fencepost: {what}"));
                self.lost.push(what.clone());
            }
        }
        for index in self.collection.add(&raw, one.token.text().as_deref(), one.number) {
            show(&self.collection, index, self.output, &self.progress);
        }
        raw.steps
    }
}

/// Runs a program as often as asked, and prints each finding when it is first found.
pub fn run(args: &Launch) -> Result<Series, String> {
    let filter = Filter::new(&args.output)?;
    let program = PathBuf::from(&args.program[0]);
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    if args.record.is_some() && (args.runs > 1 || args.jobs > 1) {
        return Err("--record keeps one run: leave out --runs and --jobs".into());
    }
    let told = args.token.as_deref().map(|token| {
        Token::parse(token).ok_or_else(|| {
            format!("`{token}` is no token of a report: expected one such as pct:3/140/17")
        })
    });
    let told = told.transpose()?;
    let mut first = told.unwrap_or(Token { schedule: args.schedule, steps: 100, seed: args.seed });
    let runs = if told.is_some() { 1 } else { args.runs };
    let timeout = args.timeout.or((first.schedule != Schedule::Os).then_some(SCHEDULED));
    let mut told_so_far = Told {
        collection: Collection::new(filter),
        output: &args.output,
        progress: Progress::new(runs),
        processes: 0,
        lost: Vec::new(),
    };
    let (mut started, mut ended) = (0, 0);
    let mut last = None;
    let mut running: Vec<Running> = Vec::new();
    let mut signals = Watch::new();
    let mut stop = false;
    while started < runs || !running.is_empty() {
        while !stop && started < runs && running.len() < args.jobs {
            let token = Token { seed: first.seed.wrapping_add(started), ..first };
            running.push(start(args, token, timeout, folder.path(), started)?);
            started += 1;
        }
        let next = wait(&mut running, timeout, &mut signals, &mut told_so_far)?;
        let Some((mut one, status)) = next else { break };
        ended += 1;
        let steps = told_so_far.tell(&mut one);
        let _ = std::fs::remove_file(&one.raw);
        if told.is_none() && steps > 0 && ended == 1 {
            // From now on, changes are spread over as many steps as there are.
            first.steps = steps;
        }
        let Told { collection, progress, .. } = &told_so_far;
        progress.done(ended, collection.findings.len());
        if one.timed_out {
            progress.hide();
            let limit = timeout.unwrap_or_default().as_secs_f32();
            let option = args.timeout_option;
            complain(&format!("fencepost: the program was stopped after {limit} s ({option})"));
            let _ = one.child.kill();
        } else if let Some(signal) = status.signal() {
            progress.hide();
            complain(&format!("fencepost: the program was killed by {}", name(signal)));
        }
        let code = match (one.timed_out, status.signal()) {
            (true, _) => 124,
            (_, Some(signal)) => 128 + signal as u8,
            _ => status.code().unwrap_or(0) as u8,
        };
        last = Some(last.filter(|&code| code != 0).unwrap_or(code));
        if args.until_found && !collection.findings.is_empty() || signals.last().is_some() {
            stop = true;
            started = runs;
        }
    }
    let interrupted = signals.last().is_some();
    drop(signals);
    let Told { collection, progress, processes, lost, .. } = told_so_far;
    progress.hide();
    if processes == 0 && !args.is_build {
        let program = Path::new(&args.program[0]).display();
        return Err(format!(
            "{program}: nothing to check: build it with fencepost cc, c++, rustc or cargo"
        ));
    }
    if let Some(path) = &args.output.write_baseline {
        let ids: String =
            collection.findings.iter().map(|finding| finding.id.clone() + "\n").collect();
        std::fs::write(path, ids).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if args.output.show_unused {
        for rule in collection.unused_suppressions() {
            complain(&format!("fencepost: no finding needed the suppression {rule}"));
        }
    }
    if !args.output.json && processes > 0 {
        complain(plain_text(&collection.count(ended).document()).trim_end());
    }
    let code = match last.unwrap_or(0) {
        _ if !collection.findings.is_empty() => FOUND,
        0 if !lost.is_empty() => UNDECIDED,
        code => code,
    };
    Ok(Series { subject: program, collection, code, interrupted })
}

/// Prints a finding.
pub fn show(collection: &Collection, index: usize, output: &Output, progress: &Progress) {
    let finding = &collection.findings[index];
    progress.hide();
    if output.json {
        // The program prints, too. What is written at once stays together.
        let line = serde_json::to_string(finding).unwrap_or_default() + "\n";
        let _ = std::io::stdout().lock().write_all(line.as_bytes());
    } else if !output.quiet {
        let _ = write!(std::io::stderr(), "{}", plain_text(&finding.document()));
    }
}

fn start(
    args: &Launch,
    token: Token,
    timeout: Option<Duration>,
    folder: &Path,
    number: u64,
) -> Result<Running, String> {
    let raw = folder.join(format!("findings-{number}"));
    let escape = |path: &Path| {
        path.to_string_lossy().replace('%', "%25").replace(':', "%3a").replace(' ', "%20")
    };
    let mut options = std::env::var("FENCEPOST_OPTIONS").unwrap_or_default();
    options.push_str(&format!(":{}:raw={}", token.options(), escape(&raw)));
    if args.paper_counts {
        options.push_str(":recognise_loops=0");
    }
    if let Some(record) = &args.record {
        let record = std::path::absolute(record).unwrap_or_else(|_| record.clone());
        if let Err(error) = std::fs::write(&record, []) {
            return Err(format!("{}: cannot record there: {error}", record.display()));
        }
        options.push_str(&format!(":record={}", escape(&record)));
    }
    let mut command = Command::new(&args.program[0]);
    command.args(&args.program[1..]).env("FENCEPOST_OPTIONS", options);
    command.envs(args.environment.iter().map(|(name, value)| (name, value)));
    if timeout.is_some() {
        // A group of its own, so that its children end with it.
        command.process_group(0);
    }
    let child = command.spawn().map_err(|error| {
        format!("cannot run {}: {error}", Path::new(&args.program[0]).display())
    })?;
    Ok(Running {
        child,
        number,
        token,
        raw,
        read: 0,
        maps: String::new(),
        since: Instant::now(),
        timed_out: false,
    })
}

/// Waits until one of them ends, tells what they find meanwhile, and passes signals on.
fn wait(
    running: &mut Vec<Running>,
    timeout: Option<Duration>,
    signals: &mut Watch,
    told: &mut Told<'_>,
) -> Result<Option<(Running, ExitStatus)>, String> {
    let failed = |error: std::io::Error| format!("cannot wait for the program: {error}");
    // A program with a time limit has a group of its own.
    let send = |one: &Running, signal: i32| {
        let id = one.child.id() as i32;
        // SAFETY: our child, which has not been waited for yet, or the group that was made for it.
        unsafe { libc::kill(if timeout.is_some() { -id } else { id }, signal) };
    };
    let mut pause = Duration::from_millis(1);
    let mut last_told = Instant::now();
    while !running.is_empty() {
        let asked = signals.asked(timeout.is_none());
        for index in 0..running.len() {
            let one = &mut running[index];
            if let Some(status) = one.child.try_wait().map_err(failed)? {
                return Ok(Some((running.swap_remove(index), status)));
            }
            match asked {
                Some(Asked::PassOn(signal)) => send(one, signal),
                Some(Asked::Kill) => send(one, libc::SIGKILL),
                Some(Asked::Wait) | None => {}
            }
            if !one.timed_out && timeout.is_some_and(|limit| one.since.elapsed() > limit) {
                one.timed_out = true;
                send(one, libc::SIGKILL);
            }
        }
        if last_told.elapsed() > TELL {
            running.iter_mut().for_each(|one| {
                told.tell(one);
            });
            last_told = Instant::now();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    Ok(None)
}

/// How often to look for what running programs found.
const TELL: Duration = Duration::from_millis(100);

fn name(signal: i32) -> String {
    let name = match signal {
        libc::SIGSEGV => "SIGSEGV (a bad address)",
        libc::SIGABRT => "SIGABRT (it gave up)",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGKILL => "SIGKILL",
        libc::SIGTERM => "SIGTERM",
        libc::SIGINT => "SIGINT",
        other => return format!("signal {other}"),
    };
    name.to_string()
}

/// How far we are, where somebody is looking.
pub struct Progress(Option<indicatif::ProgressBar>);

impl Progress {
    /// Of so many runs.
    pub fn new(runs: u64) -> Progress {
        let wanted = runs > 1 && std::io::stderr().is_terminal();
        Progress(wanted.then(|| indicatif::ProgressBar::new(runs)))
    }

    fn done(&self, ended: u64, found: usize) {
        if let Some(bar) = &self.0 {
            bar.set_position(ended);
            bar.set_message(format!("{found} found"));
        }
    }

    fn hide(&self) {
        if let Some(bar) = &self.0 {
            bar.suspend(|| {});
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back() {
        for text in ["pct:3/140/17", "random/1/0"] {
            assert_eq!(Token::parse(text).and_then(|token| token.text()).as_deref(), Some(text));
        }
        for text in ["", "pct:3", "os/1/1", "pct:3/0/1", "pct:x/1/1", "random/1/1/1"] {
            assert_eq!(Token::parse(text), None, "{text}");
        }
    }
}
