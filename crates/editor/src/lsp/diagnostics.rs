//! SARIF as diagnostics of the protocol.

use super::text;
use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString,
    Position, Range, Uri,
};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;

/// Who says so.
pub(super) const SOURCE: &str = "fencepost";

/// Files of a report: names as the report has them, and what the editor calls them.
pub(super) struct Files<'a> {
    /// The document's name in reports.
    pub name: &'a str,
    /// The document.
    pub uri: &'a Uri,
    /// Its text.
    pub text: &'a str,
    /// The folder that other names start from.
    pub here: &'a Path,
    /// Texts of other files.
    others: HashMap<String, Option<(Uri, String)>>,
}

impl<'a> Files<'a> {
    /// A document and what its report may name besides.
    pub(super) fn new(name: &'a str, uri: &'a Uri, text: &'a str, here: &'a Path) -> Self {
        Files { name, uri, text, here, others: HashMap::new() }
    }

    /// What the editor calls a file of the report, and its text.
    fn named(&mut self, reported: &str) -> Option<(Uri, &str)> {
        let plain = percent_decoded(reported);
        if plain == self.name {
            return Some((self.uri.clone(), self.text));
        }
        let here = self.here;
        let found = self.others.entry(plain.clone()).or_insert_with(|| {
            let path = here.join(&plain);
            let text = std::fs::read_to_string(&path).ok()?;
            let uri = Uri::from_str(url::Url::from_file_path(&path).ok()?.as_str()).ok()?;
            Some((uri, text))
        });
        // A file that cannot be read any more has no places.
        found.as_ref().map(|(uri, text)| (uri.clone(), text.as_str()))
    }

    /// Where a SARIF location is.
    fn place(&mut self, location: &Value) -> (Uri, Range) {
        let physical = &location["physicalLocation"];
        let reported = physical["artifactLocation"]["uri"].as_str().unwrap_or_default();
        let region = &physical["region"];
        let number = |name: &str| region[name].as_u64().and_then(|n| usize::try_from(n).ok());
        let start = Range::new(Position::new(0, 0), Position::new(0, 0));
        let Some((uri, text)) = self.named(reported) else { return (self.uri.clone(), start) };
        let (Some(line), Some(column)) = (number("startLine"), number("startColumn")) else {
            return (uri, start);
        };
        let from = text::reported(text, line, column);
        let to = match number("endColumn") {
            Some(end) => text::reported(text, line, end),
            None => text::whole_line(text, line).end,
        };
        (uri, Range::new(from, to.max(from)))
    }
}

fn percent_decoded(text: &str) -> String {
    // The names of a report are relative addresses.
    let whole = url::Url::parse("file:///").and_then(|base| base.join(text));
    let path = whole.ok().and_then(|url| url.to_file_path().ok());
    match path {
        Some(path) if !text.starts_with('/') && !text.contains("://") => {
            path.to_string_lossy().trim_start_matches('/').to_string()
        }
        Some(path) => path.to_string_lossy().into_owned(),
        None => text.to_string(),
    }
}

/// The diagnostics of each file that a document's report names.
pub(super) fn of(sarif: &Value, files: &mut Files<'_>) -> Vec<(Uri, Vec<Diagnostic>)> {
    let mut found: Vec<(Uri, Vec<Diagnostic>)> = vec![(files.uri.clone(), Vec::new())];
    for result in sarif["runs"][0]["results"].as_array().into_iter().flatten() {
        let (uri, range) = files.place(&result["locations"][0]);
        let related = result["relatedLocations"].as_array().into_iter().flatten();
        let related: Vec<DiagnosticRelatedInformation> = related
            .map(|other| {
                let (uri, range) = files.place(other);
                let message = other["message"]["text"].as_str().unwrap_or_default().to_string();
                DiagnosticRelatedInformation { location: Location { uri, range }, message }
            })
            .collect();
        let diagnostic = Diagnostic {
            range,
            severity: Some(match result["level"].as_str() {
                Some("error") => DiagnosticSeverity::ERROR,
                Some("warning") => DiagnosticSeverity::WARNING,
                _ => DiagnosticSeverity::INFORMATION,
            }),
            code: result["ruleId"].as_str().map(|code| NumberOrString::String(code.to_string())),
            source: Some(SOURCE.to_string()),
            message: result["message"]["text"].as_str().unwrap_or_default().to_string(),
            related_information: (!related.is_empty()).then_some(related),
            ..Diagnostic::default()
        };
        match found.iter_mut().find(|(file, _)| *file == uri) {
            Some((_, list)) => list.push(diagnostic),
            None => found.push((uri, vec![diagnostic])),
        }
    }
    found
}

/// What a compiler complained about: clang writes `file:line:column: error: what`, rustc writes `error: what` and the
/// place into the next line, behind an arrow.
pub(super) fn compiler(complaints: &str, files: &Files<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut said = None;
    for line in complaints.lines() {
        let line = line.trim_start();
        let place = line.strip_prefix("--> ").and_then(|place| split(place, files.name));
        let error = line.starts_with("error: ") || line.starts_with("error[E");
        if let (Some((line, column, _)), Some(message)) = (place, said.take_if(|_| place.is_some()))
        {
            found.push((line, column, message));
        } else if let Some((number, column, rest)) = split(line, files.name) {
            let rest = rest.trim_start_matches(':').trim_start();
            let message = rest.strip_prefix("error: ").or(rest.strip_prefix("fatal error: "));
            found.extend(message.map(|message| (number, column, message.to_string())));
        } else if error {
            said = line.split_once(": ").map(|(_, message)| message.to_string());
        }
    }
    let diagnostic = |(line, column, message): (usize, usize, String)| {
        let from = text::reported(files.text, line, column);
        let to = text::whole_line(files.text, line).end;
        Diagnostic {
            range: Range::new(from, to.max(from)),
            ..remark(
                format!("not checked, because it does not compile: {message}"),
                DiagnosticSeverity::INFORMATION,
            )
        }
    };
    found.into_iter().map(diagnostic).collect()
}

/// `name:line:column` and what comes behind.
fn split<'a>(text: &'a str, name: &str) -> Option<(usize, usize, &'a str)> {
    // Compilers may name the file by its whole path.
    let (path, rest) = text.split_at(text.find(&format!("{name}:"))? + name.len());
    let whole = path == name || path.ends_with(&format!("/{name}"));
    let mut parts = rest.strip_prefix(':').filter(|_| whole)?.splitn(3, ':');
    let line = parts.next()?.parse().ok()?;
    let column = parts.next()?;
    let digits = column.find(|c: char| !c.is_ascii_digit()).unwrap_or(column.len());
    Some((line, column[..digits].parse().ok()?, parts.next().unwrap_or_default()))
}

/// Something to be said of a document as a whole.
pub(super) fn remark(message: String, severity: DiagnosticSeverity) -> Diagnostic {
    Diagnostic {
        range: Range::new(Position::new(0, 0), Position::new(0, 0)),
        severity: Some(severity),
        source: Some(SOURCE.to_string()),
        message,
        ..Diagnostic::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn location(file: &str, line: u64, column: u64, end: Option<u64>) -> Value {
        let mut region = json!({ "startLine": line, "startColumn": column });
        if let Some(end) = end {
            region["endColumn"] = end.into();
        }
        json!({
            "message": { "text": "there" },
            "physicalLocation": { "artifactLocation": { "uri": file }, "region": region },
        })
    }

    #[test]
    fn compilers_say_where() {
        let uri = Uri::from_str("file:///x/t.c").expect("an address");
        let text = "int main(void) {\n\treturn 0\n}\n";
        let files = Files::new("t.c", &uri, text, Path::new("/x"));
        let clang = "/x/t.c:2:10: error: expected ';'\n\treturn 0\n\t^\nother.c:1:1: error: no\n\
                     t.c:1:1: warning: w\n1 error generated.\n";
        let found = compiler(clang, &files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].range.start, &*found[0].message),
            (Position::new(1, 9), "not checked, because it does not compile: expected ';'")
        );
        let rustc = "error[E0308]: mismatched types\n --> t.c:1:5\n  |\n\nerror: aborting due to 1 previous error\n";
        let found = compiler(rustc, &files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].range.start, &*found[0].message),
            (Position::new(0, 4), "not checked, because it does not compile: mismatched types")
        );
        assert!(compiler("t.c:x:y: error: z\nt.c:\n--> t.c\n", &files).is_empty());
    }

    #[test]
    fn places_are_in_the_files_they_name() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a b.h"), "first\n\tsecond;\n").expect("a file");
        let uri = Uri::from_str("file:///x/t.c").expect("an address");
        let text = "→→ x.store(1);\n";
        let mut files = Files::new("t.c", &uri, text, folder.path());
        let sarif = json!({ "runs": [{ "results": [
            {
                "ruleId": "FP0001", "level": "error", "message": { "text": "wrong" },
                "locations": [location("t.c", 1, 4, Some(14))],
                "relatedLocations": [location("a%20b.h", 2, 2, None)],
            },
            { "level": "warning", "message": { "text": "w" }, "locations": [location("a%20b.h", 1, 1, None)] },
            { "level": "note", "message": { "text": "n" }, "locations": [location("gone.h", 9, 9, None)] },
            { "level": "note", "message": { "text": "m" }, "locations": [] },
        ] }] });
        let found = of(&sarif, &mut files);
        assert_eq!(found.len(), 2);
        let [(own, here), (other, there)] = &found[..] else { panic!("two files") };
        assert_eq!(own, &uri);
        assert_eq!(here.len(), 3, "what has no place is at the start of the document");
        assert_eq!(here[0].range, Range::new(Position::new(0, 3), Position::new(0, 13)));
        let related = here[0].related_information.as_ref().expect("a place");
        assert_eq!(related[0].location.range, Range::new(Position::new(1, 1), Position::new(1, 8)));
        assert!(other.as_str().ends_with("/a%20b.h"), "{}", other.as_str());
        assert_eq!(there[0].severity, Some(DiagnosticSeverity::WARNING));
        // A report that is none has no diagnostics.
        assert_eq!(of(&json!([]), &mut files), [(uri.clone(), Vec::new())]);
    }
}
