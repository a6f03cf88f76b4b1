//! All findings of a series of runs, once each.

use crate::filter::Filter;
use crate::finding::RunFinding;
use crate::raw::Raw;
use crate::symbols::Symbols;
use report::InputReport;
use report::observed::{self, Observation};
use std::collections::HashMap;
use std::path::Path;

/// The longest source file that becomes part of a report.
const SHOWN: u64 = 1 << 20;

/// The text of a source file, if it is one; never the program itself.
fn shown(program: &Path, file: &str) -> String {
    let short = std::fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() <= SHOWN);
    match short && Path::new(file) != program {
        true => std::fs::read_to_string(file).unwrap_or_default(),
        false => String::new(),
    }
}

/// All findings, once each.
pub struct Collection {
    /// In the order in which they were found.
    pub findings: Vec<RunFinding>,
    /// How many were left out.
    pub suppressed: usize,
    /// How many are the standard library's own business.
    pub internal: usize,
    /// In which run each was found last.
    last_run: Vec<u64>,
    symbols: Symbols,
    filter: Filter,
    seen: HashMap<(String, String, String), Option<usize>>,
}

impl Collection {
    /// Nothing yet.
    pub fn new(filter: Filter) -> Self {
        Collection {
            findings: Vec::new(),
            suppressed: 0,
            internal: 0,
            last_run: Vec::new(),
            symbols: Symbols::default(),
            filter,
            seen: HashMap::new(),
        }
    }

    /// The suppressions that no finding needed.
    pub fn unused_suppressions(&self) -> Vec<String> {
        self.filter.unused().collect()
    }

    /// A report for each source file with findings of `program`.
    pub fn reports(&self, program: &Path) -> Vec<InputReport> {
        let observations: Vec<Observation> =
            self.findings.iter().map(RunFinding::observation).collect();
        let name = program.display().to_string();
        observed::sheets(&name, &observations, &|file| shown(program, file))
    }

    /// How many findings there are after so many runs.
    pub fn count(&self, runs: u64) -> observed::Count {
        let races = self.findings.iter().filter(|finding| finding.kind == "race").count();
        let stale = self.findings.len() - races;
        let Collection { suppressed, internal, .. } = *self;
        observed::Count { stale, races, suppressed, internal, runs }
    }

    /// Adds what was found in the run with this number; says which findings are new.
    pub fn add(&mut self, raw: &Raw, token: Option<&str>, run: u64) -> Vec<usize> {
        let mut new = Vec::new();
        let wanted = raw.findings.iter().filter(|(finding, _)| self.filter.wants(&finding.kind));
        for (finding, maps) in wanted.collect::<Vec<_>>() {
            let may_fail = finding.may_fail;
            let finding = RunFinding::new(finding, maps, &mut self.symbols, token);
            if may_fail && finding.access.is_weak() {
                // It may fail whatever it finds, and nothing else comes of it.
                continue;
            }
            let key = finding.key();
            match self.seen.get(&key) {
                Some(Some(index)) if self.last_run[*index] != run => {
                    self.last_run[*index] = run;
                    self.findings[*index].runs += 1;
                }
                Some(_) => {}
                None if self.filter.folds(&finding) => {
                    self.internal += 1;
                    self.seen.insert(key, None);
                }
                None if self.filter.covers(&finding) => {
                    self.suppressed += 1;
                    self.seen.insert(key, None);
                }
                None => {
                    new.push(self.findings.len());
                    self.seen.insert(key, Some(self.findings.len()));
                    self.findings.push(finding);
                    self.last_run.push(run);
                }
            }
        }
        new
    }
}
