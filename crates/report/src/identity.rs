//! Names of findings that stay the same while a program is edited around them.
//!
//! A baseline and a suppression name a finding by its id, and a code-scanning service recognises it by its
//! fingerprint. Both are made here, of what the finding is about and not of where it stands: the file, the model,
//! the code, the thread, and the text of the statements involved. Lines and columns are left out, so inserting a line
//! above changes nothing; neither does the order in which a search on several cores comes across things. Two findings
//! of one input that agree in all of this are told apart by a number, in the order of their lines.

use crate::finding::{Finding, Kind};
use crate::input_report::InputReport;
use std::path::Path;

impl InputReport {
    /// The id of one of the report's findings: `FP` and twelve hexadecimal digits. What was observed in a
    /// running program has one already.
    pub fn id(&self, finding: &Finding) -> String {
        if let Some(observed) = &finding.observed {
            return observed.id.clone();
        }
        let key = self.key(finding);
        let place = |finding: &Finding| (finding.place.whole_line, finding.place.column);
        let same = self.all_findings().filter(|other| self.key(other) == key);
        let before = same.filter(|other| place(other) < place(finding)).count();
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let parts = key.iter().map(String::as_str);
        let number = match before {
            0 => String::new(),
            more => more.to_string(),
        };
        for part in parts.chain([number.as_str()]) {
            for byte in part.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
        format!("FP{:012x}", (hash ^ (hash >> 48)) & 0xffff_ffff_ffff)
    }

    /// The file that a finding is in, as seen from the current folder if it is below it.
    pub fn file_of(&self, finding: &Finding) -> String {
        let file = match self.origin(finding.place.whole_line) {
            Some((file, _)) => file,
            None => &self.file,
        };
        let here = std::env::current_dir().unwrap_or_default();
        match Path::new(file).strip_prefix(here) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => file.strip_prefix("./").unwrap_or(file).to_string(),
        }
    }

    fn key(&self, finding: &Finding) -> [String; 5] {
        // Which of two accesses that race comes last is up to the search.
        let (mut one, mut other) = (finding.place.text.clone(), String::new());
        let proof = finding.certificate.as_ref().filter(|_| finding.problem == Kind::Race);
        if let Some(place) = proof.and_then(|proof| proof.other().place.as_ref()) {
            other.clone_from(&place.text);
            if other < one {
                std::mem::swap(&mut one, &mut other);
            }
        }
        // And which of several equal threads it happens to.
        let thread = match finding.problem {
            Kind::Race => "",
            _ => finding.thread.split('[').next().unwrap_or_default(),
        };
        let code = format!("{}/{}", self.model, finding.code);
        [self.file_of(finding), code, thread.to_string(), one, other]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn ids(name: &str, text: &str) -> Vec<String> {
        let source = lang::parse(name, text).expect("a program");
        let question = check::Question { extent: check::Extent::All, ..Default::default() };
        let question = question.reporting_all(&source.program, |origin| origin);
        let answer = check::check(&source.program, &question, &|_, _| {}).expect("an answer");
        let report = InputReport::of(&source, &question, &answer);
        report.findings().map(|finding| report.id(finding)).collect()
    }

    const BUFFERING: &str = "global x, y;\n\
        thread left  { local r; x.store(1, rlx); r = y.load(rlx); }\n\
        thread right { local r; y.store(1, rlx); r = x.load(rlx); }\n";

    /// Catches an id that depends on lines, and one that does not depend on the file or the statement.
    #[test]
    fn ids_follow_the_statement() {
        let first = ids("sb.fp", BUFFERING);
        assert!(first.len() > 1, "{first:?}");
        assert_eq!(ids("sb.fp", &format!("// moved\n\n{BUFFERING}")), first);
        assert_ne!(ids("other.fp", BUFFERING), first);
        assert_ne!(ids("sb.fp", &BUFFERING.replace("x.load(rlx)", "x.load(acq)")), first);
    }

    /// Catches two findings of a program with one id.
    #[test]
    fn ids_differ_within_a_program() {
        let twice = "global x, y;\n\
            thread left  { local r; x.store(1, rlx); r = y.load(rlx); r = y.load(rlx); }\n\
            thread right { local r; y.store(1, rlx); r = x.load(rlx); r = x.load(rlx); }\n";
        let all = ids("sb.fp", twice);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
    }
}
