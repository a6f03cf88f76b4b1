//! Changes that the editor can offer: what `fencepost fix` found, as edits of the text.
//!
//! `fix` has compiled and checked the changed text before it told of it. The edits are the lines in which the two texts
//! differ, so the rest of the document, its cursor and its marks stay as they are.

use super::document::Document;
use super::text;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, DocumentChanges, OneOf,
    OptionalVersionedTextDocumentIdentifier, Range, TextDocumentEdit, TextEdit, Uri, WorkspaceEdit,
};
use similar::{DiffOp, TextDiff};

/// What a change is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// The program becomes correct.
    Repair,
    /// It stays correct, with weaker orders.
    Weaken,
}

/// A change of a document, and perhaps of others that belong to it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Fix {
    /// What it is for.
    pub purpose: Purpose,
    /// How many accesses and fences are changed.
    pub changes: usize,
    /// The edits of each file; the document's own has its version.
    pub files: Vec<(Uri, Option<i32>, Vec<TextEdit>)>,
}

impl Fix {
    fn title(&self) -> String {
        let changes = match self.changes {
            1 => "1 change of memory orders or fences".to_string(),
            many => format!("{many} changes of memory orders and fences"),
        };
        match self.purpose {
            Purpose::Repair => format!("Fencepost: make it correct ({changes})"),
            Purpose::Weaken => {
                format!("Fencepost: use the weakest orders that are correct ({changes})")
            }
        }
    }

    fn edit(&self) -> WorkspaceEdit {
        let edits = self.files.iter().map(|(uri, version, edits)| TextDocumentEdit {
            text_document: OptionalVersionedTextDocumentIdentifier {
                uri: uri.clone(),
                version: *version,
            },
            edits: edits.iter().cloned().map(OneOf::Left).collect(),
        });
        let document_changes = Some(DocumentChanges::Edits(edits.collect()));
        WorkspaceEdit { document_changes, ..WorkspaceEdit::default() }
    }
}

/// The lines in which two texts differ, as edits of the first.
pub(super) fn edits(before: &str, after: &str) -> Vec<TextEdit> {
    let diff = TextDiff::from_lines(before, after);
    let (old, new) = (diff.old_slices(), diff.new_slices());
    let start =
        |slices: &[&str], line: usize| slices[..line].iter().map(|l| l.len()).sum::<usize>();
    let edit = |op: &DiffOp| {
        let (lines, fresh) = (op.old_range(), op.new_range());
        let from = text::position(before, start(old, lines.start));
        let to = text::position(before, start(old, lines.end));
        TextEdit { range: Range::new(from, to), new_text: new[fresh].concat() }
    };
    diff.ops().iter().filter(|op| !matches!(op, DiffOp::Equal { .. })).map(edit).collect()
}

/// Do two ranges have a line in common?
fn meet(a: &Range, b: &Range) -> bool {
    a.start.line <= b.end.line && b.start.line <= a.end.line
}

/// The changes to offer for a part of a document.
pub(super) fn offered(document: &Document, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
    let wanted = |kind: &CodeActionKind| {
        // `quickfix` asks for `quickfix.x`, too.
        let covers = |only: &CodeActionKind| {
            let rest = kind.as_str().strip_prefix(only.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        params.context.only.as_ref().is_none_or(|only| only.iter().any(covers))
    };
    let about: Vec<_> = document
        .diagnostics
        .iter()
        .filter(|diagnostic| meet(&diagnostic.range, &params.range))
        .cloned()
        .collect();
    let action = |fix: &Fix| {
        let kind = match fix.purpose {
            Purpose::Repair => CodeActionKind::QUICKFIX,
            Purpose::Weaken => CodeActionKind::REFACTOR_REWRITE,
        };
        let own = fix.files.iter().filter(|(uri, ..)| *uri == document.uri);
        let here = own.flat_map(|(_, _, edits)| edits).any(|edit| meet(&edit.range, &params.range));
        let offer =
            wanted(&kind) && (here || (fix.purpose == Purpose::Repair && !about.is_empty()));
        offer.then(|| {
            CodeActionOrCommand::CodeAction(CodeAction {
                title: fix.title(),
                diagnostics: (fix.purpose == Purpose::Repair).then(|| about.clone()),
                is_preferred: Some(fix.purpose == Purpose::Repair),
                kind: Some(kind),
                edit: Some(fix.edit()),
                ..CodeAction::default()
            })
        })
    };
    document.fixes.iter().filter_map(action).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies edits, from the last to the first.
    fn applied(before: &str, edits: &[TextEdit]) -> String {
        let mut text = before.to_string();
        for edit in edits.iter().rev() {
            let from = text::offset(&text, edit.range.start);
            let to = text::offset(&text, edit.range.end);
            text.replace_range(from..to, &edit.new_text);
        }
        text
    }

    #[test]
    fn edits_make_one_text_of_the_other() {
        let texts = [
            "",
            "a\n",
            "a\nb\nc\n",
            "a\nB\nc\n",
            "b\nc",
            "a\nb\nc\nd\n",
            "x\n\na\nb",
            "ä→\nb\nc\n",
            "\n\n",
        ];
        for before in texts {
            for after in texts {
                assert_eq!(applied(before, &edits(before, after)), after, "{before:?}");
            }
        }
        assert_eq!(edits("a\nb\nc\n", "a\nB\nc\n").len(), 1);
        assert!(edits("a\n", "a\n").is_empty());
    }
}
