//! The documents that the editor has open, and what is known of them.

use super::actions::Fix;
use super::hover::Site;
use super::text;
use lsp_types::{Diagnostic, TextDocumentContentChangeEvent, TextDocumentItem, Uri};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is done with documents of a language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Language {
    /// Checked as they are typed.
    Typed,
    /// Checked when they are saved.
    Compiled,
    /// Not at all.
    Other,
}

/// A document.
pub(super) struct Document {
    pub uri: Uri,
    /// The file, if it is one.
    pub path: Option<PathBuf>,
    language: Language,
    pub version: i32,
    pub text: Arc<String>,
    /// Ends the check under way.
    pub cancel: Arc<AtomicBool>,
    /// What was found last.
    pub diagnostics: Vec<Diagnostic>,
    /// Memory orders of this very text, if they are known.
    pub orders: Option<Vec<Site>>,
    /// Changes of this very text that can be offered.
    pub fixes: Vec<Fix>,
    /// Is a check under way?
    pub busy: bool,
    /// Other files that were told of findings.
    pub told: Vec<Uri>,
}

/// The file that an address stands for.
pub(super) fn path_of(uri: &Uri) -> Option<PathBuf> {
    url::Url::parse(uri.as_str()).ok()?.to_file_path().ok()
}

fn language(identifier: &str, path: Option<&PathBuf>) -> Language {
    let extension = path.and_then(|path| path.extension()).and_then(|e| e.to_str());
    match (identifier, extension) {
        ("fencepost", _) | (_, Some("fp" | "tpl" | "litmus")) => Language::Typed,
        ("c" | "cpp" | "rust", _) | (_, Some("c" | "cc" | "cpp" | "cxx" | "C" | "rs")) => {
            Language::Compiled
        }
        _ => Language::Other,
    }
}

impl Document {
    /// Is it checked as it is typed?
    pub(super) fn is_typed(&self) -> bool {
        self.language == Language::Typed
    }

    /// Is it checked at all?
    pub(super) fn is_known(&self) -> bool {
        self.language != Language::Other
    }

    /// Applies changes in their order.
    pub(super) fn change(&mut self, version: i32, changes: Vec<TextDocumentContentChangeEvent>) {
        let mut text = self.text.to_string();
        for change in changes {
            match change.range {
                Some(range) => {
                    let (start, end) =
                        (text::offset(&text, range.start), text::offset(&text, range.end));
                    text.replace_range(start..end.max(start), &change.text);
                }
                None => text = change.text,
            }
        }
        self.text = Arc::new(text);
        self.version = version;
    }

    /// A new check begins, or none: the one under way ends, and what was known of the text is forgotten.
    pub(super) fn renew(&mut self) -> Arc<AtomicBool> {
        self.cancel.store(true, Ordering::Relaxed);
        self.cancel = Arc::new(AtomicBool::new(false));
        self.orders = None;
        self.fixes.clear();
        self.busy = true;
        self.cancel.clone()
    }
}

/// All documents; a session has few.
#[derive(Default)]
pub(super) struct Documents(Vec<Document>);

impl Documents {
    pub(super) fn open(&mut self, item: TextDocumentItem) {
        self.close(&item.uri);
        let path = path_of(&item.uri);
        self.0.push(Document {
            language: language(&item.language_id, path.as_ref()),
            uri: item.uri,
            path,
            version: item.version,
            text: Arc::new(item.text),
            cancel: Arc::default(),
            diagnostics: Vec::new(),
            orders: None,
            fixes: Vec::new(),
            busy: false,
            told: Vec::new(),
        });
    }

    pub(super) fn close(&mut self, uri: &Uri) -> Option<Document> {
        let at = self.0.iter().position(|document| document.uri == *uri)?;
        Some(self.0.swap_remove(at))
    }

    pub(super) fn get(&self, uri: &Uri) -> Option<&Document> {
        self.0.iter().find(|document| document.uri == *uri)
    }

    pub(super) fn get_mut(&mut self, uri: &Uri) -> Option<&mut Document> {
        self.0.iter_mut().find(|document| document.uri == *uri)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Document> {
        self.0.iter()
    }
}
