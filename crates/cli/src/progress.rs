//! The progress of a check, shown on standard error if that is a terminal.
//!
//! One file gets a line that says how far its search has come. Many files get a bar above it that
//! counts them.

use check::Task;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use ir::Program;
use report::escape::visible;
use report::text::amount;
use search::Progress;
use std::cell::OnceCell;
use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Searches shorter than this need no progress.
const PATIENCE: Duration = Duration::from_millis(300);
/// How often the line changes.
const REFRESH: Duration = Duration::from_millis(100);

/// Shows how far everything has come.
pub(crate) struct Board {
    /// None if nobody watches.
    bars: Option<MultiProgress>,
    /// Counts files, if there are several.
    files: Option<ProgressBar>,
}

impl Board {
    /// For so many files, unless that is not `wanted`.
    pub(crate) fn new(files: usize, wanted: bool) -> Self {
        let bars = (wanted && io::stderr().is_terminal())
            .then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        let counted = bars.as_ref().filter(|_| files > 1).map(|bars| {
            let bar = bars.add(ProgressBar::new(files as u64));
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} files, {elapsed}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Board { bars, files: counted }
    }

    /// Watches a check of `program`, called `title`.
    pub(crate) fn watch<'a>(&self, program: &'a Program, title: String) -> Watch<'a> {
        let line = self.bars.clone().map(|bars| {
            let line = Line { bars, bar: OnceCell::new(), shown: None };
            Mutex::new(line)
        });
        Watch { program, title, start: Instant::now(), line }
    }

    /// One more file is done.
    pub(crate) fn done(&self) {
        if let Some(files) = &self.files {
            files.inc(1);
        }
    }

    /// Makes room for something to be printed.
    pub(crate) fn clear(&self) {
        if let Some(bars) = &self.bars {
            let _ = bars.clear();
        }
    }
}

/// Shows how far a check has come.
pub(crate) struct Watch<'a> {
    program: &'a Program,
    title: String,
    start: Instant,
    /// None if nobody watches.
    line: Option<Mutex<Line>>,
}

struct Line {
    bars: MultiProgress,
    bar: OnceCell<ProgressBar>,
    shown: Option<Instant>,
}

impl Watch<'_> {
    /// Takes note of how far `task` has come.
    pub(crate) fn observe(&self, task: &Task, progress: &Progress) {
        let Some(line) = &self.line else { return };
        let now = Instant::now();
        let Ok(mut line) = line.lock() else { return };
        let due = line.shown.is_none_or(|shown| now - shown >= REFRESH);
        if now - self.start < PATIENCE || !due {
            return;
        }
        line.shown = Some(now);
        let bar = line.bar.get_or_init(|| line.bars.add(bar()));
        bar.set_message(self.message(task, progress));
        bar.tick();
    }

    fn message(&self, task: &Task, progress: &Progress) -> String {
        let seconds = progress.elapsed.as_secs_f64().max(1e-3);
        let watched = match task.focus.as_slice() {
            [] => String::new(),
            [loc] => format!(", watching {}", self.location(loc.index())),
            [first, rest @ ..] => {
                format!(", watching {} and {} more", self.location(first.index()), rest.len())
            }
        };
        format!(
            "{} states, {}/s, depth {}, {}{watched}; {}",
            amount::count(progress.states),
            amount::count((progress.states as f64 / seconds) as u64),
            progress.depth,
            amount::bytes(progress.bytes),
            self.title,
        )
    }

    fn location(&self, index: usize) -> String {
        self.program.locations.get(index).map_or_else(String::new, |l| visible(&l.display_name()))
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let line = self.line.take().and_then(|line| line.into_inner().ok());
        if let Some(bar) = line.as_ref().and_then(|line| line.bar.get()) {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner} {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}
