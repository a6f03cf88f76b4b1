//! The language server: what `check`, `orders` and `fix` say, at the places where a program is being written.
//!
//! The main loop owns all documents and talks to the editor; it never waits. Each text that is to be checked becomes a
//! thread with a cancelled-flag, which asks the questions in turn (`work`) and sends what it learns to the loop. A new
//! text, a closed document or the end of the session sets the flag. Answers to a text that is no longer the editor's are
//! thrown away, so whatever is shown or offered is about the text that the user sees.
//!
//! Programs in the Fencepost language are checked as they are typed. C, C++ and Rust are checked when they are opened and
//! when they are saved, because compilers read files, and the headers and modules that belong to them.
//!
//! A message that is not JSON, or no message of the protocol, is answered with an error, and the session goes on. If the
//! editor goes away, standard input ends, and so does the server with all its checks.

mod actions;
mod diagnostics;
mod document;
mod hover;
mod settings;
mod text;
mod transport;
mod work;

use crate::job::Limits;
use crossbeam_channel::{Receiver, Sender, never, select, unbounded};
use document::Documents;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionProviderCapability,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, HoverParams, HoverProviderCapability, InitializeParams,
    InitializeResult, MessageType, PositionEncodingKind, PublishDiagnosticsParams, SaveOptions,
    ServerCapabilities, ServerInfo, ShowMessageParams, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use settings::Settings;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use transport::Incoming;
use work::Learnt;

/// How a session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// As the protocol wants it: `shutdown`, then `exit`.
    Orderly,
    /// The editor went away.
    Abandoned,
}

/// How to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// Fencepost itself.
    pub executable: PathBuf,
    /// Its version, for the editor.
    pub version: String,
    /// What each question may use up, unless the editor says otherwise.
    pub limits: Limits,
}

/// Serves one editor until it is done.
pub fn serve(
    options: Options,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Ended {
    let incoming = transport::reader(input);
    let (outgoing, writer) = transport::writer(output);
    let (learnt, news) = unbounded();
    let settings = Settings::new(options.limits);
    let (documents, phase, checks, gone) = (Documents::default(), Phase::New, Vec::new(), never());
    let mut server = Server { options, settings, documents, outgoing, learnt, phase, checks, gone };
    let ended = server.run(&incoming, &news);
    server.end();
    let _ = writer.join();
    ended
}

/// Where in a session we are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    New,
    Initialized,
    ShutDown,
}

struct Server {
    options: Options,
    settings: Settings,
    documents: Documents,
    outgoing: Sender<Value>,
    learnt: Sender<Learnt>,
    phase: Phase,
    /// Threads with checks, the last of each document.
    checks: Vec<JoinHandle<()>>,
    /// Says so when the editor's process is gone.
    gone: Receiver<()>,
}

impl Server {
    /// Ends all checks, with their processes and folders.
    fn end(self) {
        for document in self.documents.all() {
            document.cancel.store(true, Ordering::Relaxed);
        }
        for check in self.checks {
            let _ = check.join();
        }
    }

    fn run(&mut self, incoming: &Receiver<Incoming>, news: &Receiver<Learnt>) -> Ended {
        loop {
            let gone = self.gone.clone();
            select! {
                recv(gone) -> _ => return Ended::Abandoned,
                recv(incoming) -> message => match message {
                    Ok(Incoming::Message(Message::Request(request))) => self.request(request),
                    Ok(Incoming::Message(Message::Notification(note))) if note.method == "exit" => {
                        return match self.phase {
                            Phase::ShutDown => Ended::Orderly,
                            _ => Ended::Abandoned,
                        };
                    }
                    Ok(Incoming::Message(Message::Notification(note))) => self.notification(note),
                    // Nothing was asked of the editor that it could answer.
                    Ok(Incoming::Message(Message::Response(_))) => {}
                    Ok(Incoming::Bad { code, why }) => self.send(json!({
                        "jsonrpc": "2.0", "id": null, "error": { "code": code as i32, "message": why },
                    })),
                    // The editor is gone.
                    Err(_) => return Ended::Abandoned,
                },
                recv(news) -> learnt => if let Ok(learnt) = learnt {
                    self.learn(learnt);
                },
            }
        }
    }

    fn send(&self, message: Value) {
        let _ = self.outgoing.send(message);
    }

    fn notify(&self, method: &str, params: impl serde::Serialize) {
        let note = Notification::new(method.to_string(), params);
        self.send(json!({ "jsonrpc": "2.0", "method": note.method, "params": note.params }));
    }

    fn reply(&self, id: RequestId, answer: Result<Value, (ErrorCode, String)>) {
        let response = match answer {
            Ok(result) => Response::new_ok(id, result),
            Err((code, why)) => Response::new_err(id, code as i32, why),
        };
        let mut object = serde_json::to_value(response).unwrap_or_default();
        object["jsonrpc"] = "2.0".into();
        // A result of nothing is a result all the same.
        if object.get("error").is_none() && object.get("result").is_none() {
            object["result"] = Value::Null;
        }
        self.send(object);
    }

    fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        let answer = match (self.phase, method.as_str()) {
            (Phase::New, "initialize") => self.initialize(params),
            (Phase::New, _) => {
                Err((ErrorCode::ServerNotInitialized, format!("`{method}` before `initialize`")))
            }
            (Phase::ShutDown, _) => {
                Err((ErrorCode::InvalidRequest, format!("`{method}` after `shutdown`")))
            }
            (_, "initialize") => {
                Err((ErrorCode::InvalidRequest, "`initialize` came before".to_string()))
            }
            (_, "shutdown") => {
                self.phase = Phase::ShutDown;
                self.documents.all().for_each(|one| one.cancel.store(true, Ordering::Relaxed));
                Ok(Value::Null)
            }
            (_, "textDocument/hover") => read(params).map(|params: HoverParams| {
                let at = params.text_document_position_params;
                let document = self.documents.get(&at.text_document.uri);
                json!(document.and_then(|document| hover::at(document, at.position)))
            }),
            (_, "textDocument/codeAction") => read(params).map(|params: CodeActionParams| {
                let document = self.documents.get(&params.text_document.uri);
                json!(
                    document
                        .map(|document| actions::offered(document, &params))
                        .unwrap_or_default()
                )
            }),
            _ => Err((ErrorCode::MethodNotFound, format!("`{method}` is not known here"))),
        };
        self.reply(id, answer);
    }

    fn initialize(&mut self, params: Value) -> Result<Value, (ErrorCode, String)> {
        let params: InitializeParams = read(params)?;
        self.phase = Phase::Initialized;
        if let Some(given) = params.initialization_options {
            self.configure(given);
        }
        if let Some(process) = params.process_id {
            self.gone = transport::end_of(process);
        }
        let sync = TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
                include_text: Some(false),
            })),
            ..TextDocumentSyncOptions::default()
        };
        let kinds = vec![CodeActionKind::QUICKFIX, CodeActionKind::REFACTOR_REWRITE];
        let result = InitializeResult {
            capabilities: ServerCapabilities {
                position_encoding: Some(PositionEncodingKind::UTF16),
                text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
                hover_provider: Some(HoverProviderCapability::Simple(true)),
                code_action_provider: Some(CodeActionProviderCapability::Options(
                    CodeActionOptions {
                        code_action_kinds: Some(kinds),
                        ..CodeActionOptions::default()
                    },
                )),
                ..ServerCapabilities::default()
            },
            server_info: Some(ServerInfo {
                name: "fencepost".to_string(),
                version: Some(self.options.version.clone()),
            }),
        };
        Ok(json!(result))
    }

    /// Takes settings; what is wrong with them is told, and left as it was.
    fn configure(&mut self, given: Value) {
        for complaint in self.settings.take(&given) {
            let params = ShowMessageParams {
                typ: MessageType::WARNING,
                message: format!("fencepost: {complaint}"),
            };
            self.notify("window/showMessage", params);
        }
    }

    fn notification(&mut self, note: Notification) {
        if self.phase != Phase::Initialized {
            return;
        }
        // What a notification gets wrong cannot be answered; what it does not change stays as it was.
        match note.method.as_str() {
            "textDocument/didOpen" => {
                let Ok(DidOpenTextDocumentParams { text_document: opened }) = read(note.params)
                else {
                    return;
                };
                let uri = opened.uri.clone();
                self.documents.open(opened);
                self.check(&uri);
            }
            "textDocument/didChange" => {
                let Ok(params) = read::<DidChangeTextDocumentParams>(note.params) else { return };
                let uri = params.text_document.uri.clone();
                let Some(document) = self.documents.get_mut(&uri) else { return };
                document.change(params.text_document.version, params.content_changes);
                match document.is_typed() {
                    true => self.check(&uri),
                    false => self.forget(&uri),
                }
            }
            "textDocument/didSave" => {
                let Ok(params) = read::<DidSaveTextDocumentParams>(note.params) else { return };
                self.check(&params.text_document.uri);
            }
            "textDocument/didClose" => {
                let Ok(params) = read::<DidCloseTextDocumentParams>(note.params) else { return };
                let uri = params.text_document.uri;
                if let Some(document) = self.documents.close(&uri) {
                    document.cancel.store(true, Ordering::Relaxed);
                    for other in document.told {
                        self.publish(other, Vec::new(), None);
                    }
                    self.publish(uri, Vec::new(), None);
                }
            }
            "workspace/didChangeConfiguration" => {
                let given = note.params.get("settings").cloned().unwrap_or_default();
                self.configure(given.get("fencepost").cloned().unwrap_or(given));
                let all: Vec<Uri> = self.documents.all().map(|one| one.uri.clone()).collect();
                all.iter().for_each(|uri| self.check(uri));
            }
            _ => {}
        }
    }

    /// Begins to check a document as it is now.
    fn check(&mut self, uri: &Uri) {
        let Some(document) = self.documents.get_mut(uri).filter(|one| one.is_known()) else {
            return;
        };
        let cancel = document.renew();
        let task = work::Task {
            uri: uri.clone(),
            version: document.version,
            text: document.text.clone(),
            path: document.path.clone(),
            typed: document.is_typed(),
            settings: self.settings.clone(),
            executable: self.options.executable.clone(),
        };
        let learnt = self.learnt.clone();
        self.checks.retain(|check| !check.is_finished());
        self.checks.push(std::thread::spawn(move || work::work(&task, &cancel, &learnt)));
    }

    /// The text was changed and is not checked before it is saved: what was known is about another text.
    fn forget(&mut self, uri: &Uri) {
        if let Some(document) = self.documents.get_mut(uri) {
            document.renew();
            document.busy = false;
        }
    }

    fn publish(&self, uri: Uri, diagnostics: Vec<lsp_types::Diagnostic>, version: Option<i32>) {
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        self.notify("textDocument/publishDiagnostics", params);
    }

    fn learn(&mut self, learnt: Learnt) {
        let Some(document) = self.documents.get_mut(learnt.uri()) else { return };
        if document.version != learnt.version() {
            return;
        }
        match learnt {
            Learnt::Diagnostics { uri, version, files } => {
                let mut told = Vec::new();
                let mut stale = std::mem::take(&mut document.told);
                let own = files.iter().find(|(file, _)| *file == uri);
                document.diagnostics = own.map(|(_, found)| found.clone()).unwrap_or_default();
                stale.retain(|other| !files.iter().any(|(file, _)| file == other));
                told.extend(files.iter().map(|(file, _)| file.clone()).filter(|f| *f != uri));
                document.told = told;
                let own = document.diagnostics.clone();
                stale.into_iter().for_each(|other| self.publish(other, Vec::new(), None));
                self.publish(uri.clone(), own, Some(version));
                for (file, found) in files {
                    if file != uri {
                        self.publish(file, found, None);
                    }
                }
            }
            Learnt::Orders { sites, .. } => document.orders = Some(sites),
            Learnt::Fix { fix, .. } => document.fixes.push(fix),
            Learnt::Done { .. } => document.busy = false,
        }
    }
}

/// Parameters of a message.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, (ErrorCode, String)> {
    serde_json::from_value(params).map_err(|error| (ErrorCode::InvalidParams, error.to_string()))
}
