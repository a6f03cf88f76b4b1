//! What is asked about a text, in turn: `check`, then `orders` if all is well, or `fix` if it is not.

use super::actions::{Fix, Purpose, edits};
use super::diagnostics::{self, Files};
use super::hover::Site;
use super::settings::Settings;
use crate::job::{Job, NoAnswer, Said};
use crossbeam_channel::Sender;
use lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString, Uri};
use serde::Deserialize;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A text to look at.
pub(super) struct Task {
    pub uri: Uri,
    pub version: i32,
    pub text: Arc<String>,
    pub path: Option<PathBuf>,
    /// Is the text itself what is checked, or the file?
    pub typed: bool,
    pub settings: Settings,
    pub executable: PathBuf,
}

/// Something learnt about a document of a version.
pub(super) enum Learnt {
    /// What is wrong, in each file.
    Diagnostics { uri: Uri, version: i32, files: Vec<(Uri, Vec<Diagnostic>)> },
    /// What memory orders do.
    Orders { uri: Uri, version: i32, sites: Vec<Site> },
    /// A change to offer.
    Fix { uri: Uri, version: i32, fix: Fix },
    /// That is all.
    Done { uri: Uri, version: i32 },
}

impl Learnt {
    pub(super) fn uri(&self) -> &Uri {
        match self {
            Learnt::Diagnostics { uri, .. }
            | Learnt::Orders { uri, .. }
            | Learnt::Fix { uri, .. }
            | Learnt::Done { uri, .. } => uri,
        }
    }

    pub(super) fn version(&self) -> i32 {
        match self {
            Learnt::Diagnostics { version, .. }
            | Learnt::Orders { version, .. }
            | Learnt::Fix { version, .. }
            | Learnt::Done { version, .. } => *version,
        }
    }
}

/// Learns what there is to learn, until it is cancelled.
pub(super) fn work(task: &Task, cancel: &AtomicBool, learnt: &Sender<Learnt>) {
    let (uri, version) = (task.uri.clone(), task.version);
    if let Err(why) = ask(task, cancel, learnt) {
        let (message, severity) = match why {
            NoAnswer::Cancelled => return,
            NoAnswer::Killed => {
                let text = "the check did not keep to its limits and was ended";
                (text.to_string(), DiagnosticSeverity::INFORMATION)
            }
            NoAnswer::Failed(error) => {
                (format!("the check could not be started: {error}"), DiagnosticSeverity::WARNING)
            }
        };
        let files = vec![(uri.clone(), vec![diagnostics::remark(message, severity)])];
        let _ = learnt.send(Learnt::Diagnostics { uri: uri.clone(), version, files });
    }
    let _ = learnt.send(Learnt::Done { uri, version });
}

fn ask(task: &Task, cancel: &AtomicBool, learnt: &Sender<Learnt>) -> Result<(), NoAnswer> {
    if task.typed {
        pause(task.settings.delay, cancel)?;
    }
    let Some(asking) = Asking::new(task, cancel)? else { return Ok(()) };
    let (uri, version) = (&task.uri, task.version);
    let model = task.settings.model.as_deref();
    let mut words: Vec<&OsStr> = vec![OsStr::new("--sarif"), OsStr::new(&asking.sarif)];
    // Machines with store buffers are asked for one attack, not for all of them.
    if !matches!(model, Some("tso" | "pso" | "pgas")) {
        words.push(OsStr::new("--all"));
    }
    let checked = asking.run(&["check", "--no-progress"], &words)?;
    let files = asking.diagnostics(&checked);
    let _ = learnt.send(Learnt::Diagnostics { uri: uri.clone(), version, files });
    if !task.settings.orders || matches!(model, Some("sc")) {
        return Ok(());
    }
    let orders = matches!(model, None | Some("rc11" | "rc20"));
    match checked.code {
        Some(0) if orders => {
            let said = asking.run(&["orders", "--json"], &[])?;
            let Some(sites) = asking.sites(&said) else { return Ok(()) };
            let weaker = sites.iter().any(|site| !site.needed);
            let _ = learnt.send(Learnt::Orders { uri: uri.clone(), version, sites });
            if weaker && let Some(fix) = asking.fix(&["--weaken"], Purpose::Weaken)? {
                let _ = learnt.send(Learnt::Fix { uri: uri.clone(), version, fix });
            }
        }
        Some(1) => {
            let model: &[&str] = if model.is_none() { &["--model", "rc11"] } else { &[] };
            if let Some(fix) = asking.fix(model, Purpose::Repair)? {
                let _ = learnt.send(Learnt::Fix { uri: uri.clone(), version, fix });
            }
        }
        _ => {}
    }
    Ok(())
}

/// What `check` says of code that it cannot follow.
const UNFOLLOWED: &str = "FP1030";
/// What it says of a file that is part of a program.
const NO_MAIN: &str = "there is no function `main`";

/// A file of C, C++ or Rust that cannot be followed, or is not a program, is not wrong: most files of a project are like
/// that, and compilers and other servers have their own word on them.
fn soften(found: &mut [(Uri, Vec<Diagnostic>)]) {
    for (_, list) in found {
        list.retain(|one| !one.message.starts_with(NO_MAIN));
        for one in list.iter_mut() {
            if one.code == Some(NumberOrString::String(UNFOLLOWED.to_string())) {
                one.severity = Some(DiagnosticSeverity::INFORMATION);
            }
        }
    }
}

fn pause(time: Duration, cancel: &AtomicBool) -> Result<(), NoAnswer> {
    let until = Instant::now() + time;
    while Instant::now() < until {
        if cancel.load(Ordering::Relaxed) {
            return Err(NoAnswer::Cancelled);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A text with all that questions about it need.
struct Asking<'a> {
    task: &'a Task,
    cancel: &'a AtomicBool,
    job: Job,
    /// Where processes run.
    here: PathBuf,
    /// What the text is called there.
    name: String,
    sarif: OsString,
}

/// What `fix --json` says.
#[derive(Deserialize)]
struct Fixed {
    #[serde(default)]
    changes: Vec<Value>,
    #[serde(default)]
    files: Vec<Changed>,
    /// For machines with store buffers: new fences, and the program with them.
    #[serde(default)]
    fences: Vec<Value>,
    program: Option<String>,
}

#[derive(Deserialize)]
struct Changed {
    file: String,
    text: String,
}

impl<'a> Asking<'a> {
    /// None if the text cannot be asked about: it is not in a file, or not as it is in its file.
    fn new(task: &'a Task, cancel: &'a AtomicBool) -> Result<Option<Self>, NoAnswer> {
        let job = Job::new(&task.executable, task.settings.limits)?;
        let named = task.path.as_ref().and_then(|path| path.file_name()).and_then(OsStr::to_str);
        let (here, name) = match (task.typed, &task.path, named) {
            (true, _, named) => {
                let name = named.unwrap_or("untitled.fp").to_string();
                // The name is somebody else's, and ours begin with a dot.
                let name = name.trim_start_matches(['.', '-']).to_string();
                job.write(&name, &task.text)?;
                (job.path(""), name)
            }
            (false, Some(path), Some(name)) => {
                let saved = std::fs::read_to_string(path).is_ok_and(|text| text == *task.text);
                let folder = path.parent().map(Path::to_path_buf);
                let Some(folder) = folder.filter(|_| saved) else { return Ok(None) };
                (folder, name.to_string())
            }
            _ => return Ok(None),
        };
        let sarif = job.path(".found").into_os_string();
        Ok(Some(Asking { task, cancel, job, here, name, sarif }))
    }

    /// Asks one question about the text.
    fn run(&self, command: &[&str], words: &[&OsStr]) -> Result<Said, NoAnswer> {
        let settings = &self.task.settings;
        let mut all = words.to_vec();
        if let Some(model) = &settings.model {
            all.extend([OsStr::new("--model"), OsStr::new(model)]);
        }
        let name = match self.name.starts_with('-') {
            true => format!("./{}", self.name),
            false => self.name.clone(),
        };
        all.push(OsStr::new(&name));
        if !self.task.typed {
            if let Some(folder) = &settings.compile_commands {
                all.extend([OsStr::new("-p"), OsStr::new(folder)]);
            }
            if !settings.flags.is_empty() {
                all.push(OsStr::new("--"));
                all.extend(settings.flags.iter().map(OsStr::new));
            }
        }
        self.job.run(&self.here, command, &all, self.cancel)
    }

    fn diagnostics(&self, checked: &Said) -> Vec<(Uri, Vec<Diagnostic>)> {
        let Task { uri, text, .. } = self.task;
        let sarif = self.job.read(".found").and_then(|text| serde_json::from_str(&text).ok());
        let mut files = Files::new(&self.name, uri, text, &self.here);
        let mut found = diagnostics::of(&sarif.unwrap_or(Value::Null), &mut files);
        if !self.task.typed {
            soften(&mut found);
            // Where a compiler stopped says more than that it did.
            let stopped = diagnostics::compiler(&checked.stderr, &files).into_iter().next();
            if let (Some(2), Some(stopped)) = (checked.code, stopped) {
                return vec![(uri.clone(), vec![stopped])];
            }
            if checked.code == Some(2) && checked.stderr.contains(NO_MAIN) {
                return found;
            }
        }
        let nothing = found.iter().all(|(_, list)| list.is_empty());
        let remark = match checked.code {
            // What is not known is not well.
            Some(3) => {
                let open = checked.stdout.lines().filter(|line| line.contains("undecided"));
                let open: Vec<&str> = open.map(str::trim).collect();
                Some((open.join("\n"), DiagnosticSeverity::INFORMATION))
            }
            Some(0 | 1) => None,
            // Complaints that have no place are not in reports.
            _ if nothing => Some((checked.stderr.trim().to_string(), DiagnosticSeverity::ERROR)),
            _ => None,
        };
        if let (Some((message, severity)), Some((_, own))) = (remark, found.first_mut()) {
            let message = if message.is_empty() { "no answer".to_string() } else { message };
            own.push(diagnostics::remark(message, severity));
        }
        found
    }

    /// The accesses of the document itself.
    fn sites(&self, said: &Said) -> Option<Vec<Site>> {
        #[derive(Deserialize)]
        struct Sites {
            sites: Vec<Site>,
        }
        let Sites { mut sites } = serde_json::from_str(said.stdout.lines().next()?).ok()?;
        sites.retain(|site| site.file == self.name);
        Some(sites)
    }

    /// A change of the text, if there is one.
    fn fix(&self, words: &[&str], purpose: Purpose) -> Result<Option<Fix>, NoAnswer> {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        let said = self.run(&["fix", "--json"], &words)?;
        let fixed: Option<Fixed> =
            said.stdout.lines().next().and_then(|line| serde_json::from_str(line).ok());
        let Some(mut fixed) = fixed.filter(|_| said.code == Some(0)) else { return Ok(None) };
        let changes = fixed.changes.len() + fixed.fences.len();
        let whole = fixed.program.filter(|_| changes > 0);
        fixed.files.extend(whole.map(|text| Changed { file: self.name.clone(), text }));
        let mut files = Vec::new();
        for Changed { file, text } in fixed.files {
            let own = file == self.name;
            let path = self.here.join(&file);
            let before = match own {
                true => Some(self.task.text.to_string()),
                false => std::fs::read_to_string(&path).ok(),
            };
            let uri = match own {
                true => Some(self.task.uri.clone()),
                false => {
                    url::Url::from_file_path(&path).ok().and_then(|url| url.as_str().parse().ok())
                }
            };
            let (Some(before), Some(uri)) = (before, uri) else { return Ok(None) };
            files.push((uri, own.then_some(self.task.version), edits(&before, &text)));
        }
        Ok((!files.is_empty()).then_some(Fix { purpose, changes, files }))
    }
}
