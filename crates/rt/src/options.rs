//! `FENCEPOST_OPTIONS`: `name=value` pairs, separated by colons or spaces.
//!
//! | option | meaning | default |
//! |---|---|---|
//! | `exitcode` | exit code of a program with findings, 0 to keep its own | 66 |
//! | `log_path` | where reports go: `stderr`, `stdout` or a file, to which the process id is added | stderr |
//! | `halt_on_error` | stop at the first finding | 0 |
//! | `suppressions` | a file with findings not to report | none |
//! | `history_size` | writes remembered per atomic location | 8 |
//! | `reader_sets` | sets of threads that read the same bytes, at a time | 16777216 |
//! | `report_races`, `report_robustness` | what to report | 1 |
//! | `recognise_loops` | are loops that would only have gone round again no violations? | 1 |
//! | `schedule`, `seed` | `os`, `random` or `pct:D`, and the seed of its choices | os, 0 |
//! | `steps` | how many steps `pct` spreads its changes over | 1000 |
//! | `quick` | may accesses that nothing can be wrong with go [a shorter way](crate::quick)? | 1 |
//! | `count_shared_locks` | say at the end how often locks were taken that all threads share | 0 |
//! | `record` | a file for all events, for `fencepost replay` | none |
//!
//! `fencepost run` sets what it needs itself.

/// What the user wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Exit code of a program with findings; 0 keeps its own.
    pub exitcode: i32,
    /// Where reports go; none is standard error.
    pub log_path: Option<String>,
    /// Stop at the first finding.
    pub halt_on_error: bool,
    /// A file with findings not to report.
    pub suppressions: Option<String>,
    /// Writes remembered per location.
    pub history_size: usize,
    /// Sets of threads that read the same bytes, at a time.
    pub reader_sets: usize,
    /// Report races?
    pub races: bool,
    /// Report stale accesses?
    pub robustness: bool,
    /// Are loops that would only have gone round again no violations?
    pub recognise_loops: bool,
    /// Who decides which thread goes on.
    pub schedule: Schedule,
    /// Seed of its choices.
    pub seed: u64,
    /// How many steps changes of priority are spread over.
    pub steps: u64,
    /// May accesses that nothing can be wrong with go a shorter way?
    pub quick: bool,
    /// Say how often locks were taken that all threads share?
    pub count_shared_locks: bool,
    /// A file for all events.
    pub record: Option<String>,
    /// A file that findings are appended to, unsymbolised, for whoever runs the program.
    pub raw: Option<String>,
}

/// Who decides which thread goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// The operating system.
    Os,
    /// A coin, at every atomic access and lock.
    Random,
    /// Priorities that change this often: Burckhardt and others, ASPLOS 2010.
    Pct(u32),
}

impl Default for Options {
    fn default() -> Self {
        Options {
            exitcode: 66,
            log_path: None,
            halt_on_error: false,
            suppressions: None,
            history_size: 8,
            reader_sets: 1 << 24,
            races: true,
            robustness: true,
            recognise_loops: true,
            schedule: Schedule::Os,
            seed: 0,
            steps: 1000,
            quick: true,
            count_shared_locks: false,
            record: None,
            raw: None,
        }
    }
}

impl Options {
    /// Reads options; says what it did not understand.
    pub fn parse(text: &str) -> (Options, Vec<String>) {
        let mut options = Options::default();
        let mut complaints = Vec::new();
        for pair in text.split([':', ' ', '\n']).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if options.set(name, value).is_none() {
                complaints.push(format!("FENCEPOST_OPTIONS: cannot use `{pair}`"));
            }
        }
        (options, complaints)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let flag = || match value {
            "1" | "true" | "yes" => Some(true),
            "0" | "false" | "no" => Some(false),
            _ => None,
        };
        let path = || (!value.is_empty()).then(|| Some(unescape(value)));
        match name {
            "exitcode" => {
                self.exitcode = value.parse().ok().filter(|code| (0..256).contains(code))?
            }
            "log_path" => self.log_path = path()?,
            "halt_on_error" => self.halt_on_error = flag()?,
            "suppressions" => self.suppressions = path()?,
            "history_size" => {
                self.history_size = value.parse().ok().filter(|n| (2..=65_536).contains(n))?;
            }
            "reader_sets" => {
                self.reader_sets = value.parse().ok().filter(|n| (1..=1 << 24).contains(n))?;
            }
            "report_races" => self.races = flag()?,
            "report_robustness" => self.robustness = flag()?,
            "recognise_loops" => self.recognise_loops = flag()?,
            "schedule" => self.schedule = Schedule::parse(value)?,
            "seed" => self.seed = value.parse().ok()?,
            "steps" => self.steps = value.parse().ok().filter(|&steps| steps > 0)?,
            "quick" => self.quick = flag()?,
            "count_shared_locks" => self.count_shared_locks = flag()?,
            "record" => self.record = path()?,
            "raw" => self.raw = path()?,
            _ => return None,
        }
        Some(())
    }
}

/// Colons and spaces in paths are written `%3a` and `%20`, percent signs `%25`.
fn unescape(path: &str) -> String {
    path.replace("%3a", ":").replace("%20", " ").replace("%25", "%")
}

impl Schedule {
    /// `os`, `random` or `pct:D`; the colon may be a comma.
    pub fn parse(text: &str) -> Option<Schedule> {
        match text {
            "os" => Some(Schedule::Os),
            "random" => Some(Schedule::Random),
            _ => {
                let depth = text.strip_prefix("pct,").or_else(|| text.strip_prefix("pct:"))?;
                depth.parse().ok().map(Schedule::Pct)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_mistakes_named() {
        let (options, complaints) =
            Options::parse("exitcode=3:halt_on_error=1 log_path=/a%20b:seed=9:schedule=pct,3");
        assert_eq!(complaints, Vec::<String>::new());
        assert_eq!((options.exitcode, options.halt_on_error, options.seed), (3, true, 9));
        assert_eq!(options.log_path.as_deref(), Some("/a b"));
        assert_eq!(options.schedule, Schedule::Pct(3));
        let (options, complaints) = Options::parse("exitcode=many:colour=blue");
        assert_eq!(options, Options::default());
        assert_eq!(complaints.len(), 2);
    }
}
