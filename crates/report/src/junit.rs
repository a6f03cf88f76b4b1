//! Verdicts as JUnit's XML, which every build server shows: a suite per input, a case per question.
//!
//! A violation is a failure, an input that cannot be checked an error, and an undecided question is
//! skipped, as is one that was not asked: it neither passed nor failed.

use crate::codes;
use crate::escape::html;
use crate::input_report::{InputReport, Unchecked};
use crate::ruling::Ruling;
use crate::text::{Look, story};
use std::fmt::Write;

/// The document about these inputs.
pub fn document(sheets: &[InputReport]) -> String {
    let mut suites = String::new();
    let mut sum = Count::default();
    for sheet in sheets {
        sum.add(&suite(&mut suites, sheet));
    }
    let seconds: f64 = sheets.iter().map(|sheet| sheet.cost.elapsed.as_secs_f64()).sum();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"fencepost\" {} time=\"{seconds:.3}\">\n\
         {suites}</testsuites>\n",
        sum.attributes()
    )
}

#[derive(Default)]
struct Count {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Count {
    fn add(&mut self, other: &Count) {
        self.tests += other.tests;
        self.failures += other.failures;
        self.errors += other.errors;
        self.skipped += other.skipped;
    }

    fn attributes(&self) -> String {
        let Count { tests, failures, errors, skipped } = self;
        format!(
            "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\""
        )
    }
}

fn suite(out: &mut String, sheet: &InputReport) -> Count {
    let mut count = Count::default();
    let mut cases = String::new();
    let seconds = sheet.cost.elapsed.as_secs_f64();
    let file = html(&sheet.file);
    let mut case = |name: &str, outcome: &str| {
        let time = if cases.is_empty() { seconds } else { 0.0 };
        let _ = writeln!(
            cases,
            "    <testcase classname=\"{file}\" name=\"{}\" file=\"{file}\" time=\"{time:.3}\">{outcome}</testcase>",
            html(name)
        );
    };
    if !sheet.errors.is_empty() {
        let text: Vec<String> =
            sheet.errors.iter().map(|error| sheet.located(&sheet.notice(error))).collect();
        let internal = sheet.errors[0].code == codes::INTERNAL;
        let name = if internal { "internal error" } else { "read" };
        case(name, &problem("error", sheet.errors[0].code, &text[0], &text.join("\n")));
        count.errors += 1;
        count.tests += 1;
    }
    for fault in &sheet.faults {
        let place = format!("line {}: {}", fault.place.line_text(), fault.message);
        case("run-time errors", &problem("error", fault.code, &place, &story(fault, &Look::PLAIN)));
        count.errors += 1;
        count.tests += 1;
    }
    for reply in &sheet.replies {
        count.tests += 1;
        let outcome = match reply.ruling {
            Ruling::Holds => String::new(),
            Ruling::Undecided => {
                count.skipped += 1;
                let why = reply.why.as_deref().unwrap_or_default();
                format!("<skipped message=\"undecided: {}\"/>", html(why))
            }
            Ruling::Violated if !reply.required => {
                count.skipped += 1;
                "<skipped message=\"violated, but not required\"/>".to_string()
            }
            Ruling::Violated => {
                count.failures += 1;
                let first = reply.findings.first();
                let code = first.map_or("", |finding| finding.code);
                let message = first.map_or("violated", |finding| &finding.message);
                let told: Vec<String> = reply
                    .findings
                    .iter()
                    .map(|finding| {
                        let (file, line) =
                            sheet.origin(finding.place.whole_line).unwrap_or((&sheet.file, 1));
                        let place = format!("{file}:{line}");
                        format!("{place}: {}\n\n{}", finding.message, story(finding, &Look::PLAIN))
                    })
                    .collect();
                problem("failure", code, message, &told.join("\n"))
            }
        };
        case(reply.property, &outcome);
    }
    for Unchecked { property, why } in &sheet.unchecked {
        count.tests += 1;
        count.skipped += 1;
        case(property, &format!("<skipped message=\"not checked: {}\"/>", html(why)));
    }
    let warnings: String =
        sheet.notices().iter().map(|notice| format!("{}\n", sheet.located(notice))).collect();
    if !warnings.is_empty() {
        let _ = writeln!(cases, "    <system-err>{}</system-err>", html(&warnings));
    }
    let _ = writeln!(
        out,
        "  <testsuite name=\"{file} ({})\" {} time=\"{seconds:.3}\">\n{cases}  </testsuite>",
        sheet.model,
        count.attributes()
    );
    count
}

fn problem(element: &str, code: &str, message: &str, text: &str) -> String {
    format!("<{element} type=\"{code}\" message=\"{}\">{}</{element}>", html(message), html(text))
}
