//! The language server, spoken to as an editor does.

mod run;

use run::Desk;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long to wait for a message: long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// An editor with its server.
struct Editor {
    process: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Came while something else was waited for.
    kept: VecDeque<Value>,
    next: i64,
    desk: Desk,
}

fn address(path: &Path) -> String {
    format!("file://{}", path.display())
}

impl Editor {
    /// A server that has not been initialized.
    fn raw(desk: Desk) -> Editor {
        let jobs = desk.path().join("jobs");
        std::fs::create_dir_all(&jobs).expect("a folder");
        let mut process = Command::new(env!("CARGO_BIN_EXE_fencepost"))
            .args(["lsp", "--limit-time", "60s"])
            .current_dir(desk.path())
            .env("TMPDIR", jobs)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut output = BufReader::new(process.stdout.take().expect("its output"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            loop {
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if output.read_line(&mut line).unwrap_or(0) == 0 {
                        return;
                    }
                    match line.trim().strip_prefix("Content-Length: ") {
                        Some(number) => length = number.parse().expect("a length"),
                        None if line.trim().is_empty() => break,
                        None => panic!("{line}"),
                    }
                }
                let mut body = vec![0; length];
                output.read_exact(&mut body).expect("a body");
                let message: Value = serde_json::from_slice(&body).expect("JSON");
                assert_eq!(message["jsonrpc"], "2.0", "{message}");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = process.stdin.take();
        Editor { process, input, messages, kept: VecDeque::new(), next: 1, desk }
    }

    fn new(desk: Desk, options: Value) -> Editor {
        let mut editor = Editor::raw(desk);
        let params = json!({
            "processId": std::process::id(), "rootUri": null, "capabilities": {}, "initializationOptions": options,
        });
        let result = editor.ask("initialize", params);
        let can = &result["result"]["capabilities"];
        assert_eq!(can["hoverProvider"], true, "{result}");
        assert_eq!(can["textDocumentSync"]["change"], 2, "{result}");
        assert_eq!(result["result"]["serverInfo"]["name"], "fencepost");
        editor.note("initialized", json!({}));
        editor
    }

    fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("open");
        input.write_all(bytes).expect("it listens");
        input.flush().expect("it listens");
    }

    fn send(&mut self, body: &str) {
        self.write(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    fn note(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Asks, and waits for the answer.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&body.to_string());
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    /// The next message of a kind.
    fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at).expect("it is there");
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).expect("a message");
            if wanted(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    fn open(&mut self, name: &str, language: &str, text: &str) -> String {
        let path = self.desk.path().join(name);
        std::fs::write(&path, text).expect("a file");
        let uri = address(&path);
        self.note(
            "textDocument/didOpen",
            json!({ "textDocument": { "uri": uri, "languageId": language, "version": 1, "text": text } }),
        );
        uri
    }

    /// The diagnostics of a document of a version.
    fn diagnostics(&mut self, uri: &str, version: i64) -> Vec<Value> {
        let found = self.wait(|message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
                && message["params"]["version"] == version
        });
        found["params"]["diagnostics"].as_array().expect("a list").clone()
    }

    fn hover(&mut self, uri: &str, line: u64, character: u64) -> Value {
        let at = json!({ "line": line, "character": character });
        self.ask("textDocument/hover", json!({ "textDocument": { "uri": uri }, "position": at }))["result"].clone()
    }

    /// Asks again and again, because orders come after diagnostics.
    fn hover_until(&mut self, uri: &str, line: u64, character: u64, part: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let hover = self.hover(uri, line, character);
            let text = hover["contents"]["value"].as_str().unwrap_or_default().to_string();
            if text.contains(part) {
                return text;
            }
            assert!(Instant::now() < deadline, "no hover with `{part}`: {text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn actions(&mut self, uri: &str, line: u64, only: Option<&str>) -> Vec<Value> {
        let place = json!({ "line": line, "character": 0 });
        let context = match only {
            Some(only) => json!({ "diagnostics": [], "only": [only] }),
            None => json!({ "diagnostics": [] }),
        };
        let range = json!({ "start": place, "end": place });
        let params = json!({ "textDocument": { "uri": uri }, "range": range, "context": context });
        self.ask("textDocument/codeAction", params)["result"].as_array().expect("a list").clone()
    }

    fn actions_until(&mut self, uri: &str, line: u64) -> Vec<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let actions = self.actions(uri, line, None);
            if !actions.is_empty() {
                return actions;
            }
            assert!(Instant::now() < deadline, "no actions");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Goes away in an orderly manner; the exit code.
    fn leave(mut self) -> Option<i32> {
        assert_eq!(self.ask("shutdown", Value::Null)["result"], Value::Null);
        self.note("exit", Value::Null);
        self.process.wait().expect("it ends").code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Applies the edits that an action has for a document.
fn applied(text: &str, action: &Value, uri: &str) -> String {
    let changes = action["edit"]["documentChanges"].as_array().expect("changes");
    let own = changes.iter().find(|change| change["textDocument"]["uri"] == uri).expect("its own");
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_string).collect();
    let mut edits: Vec<&Value> = own["edits"].as_array().expect("edits").iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit["range"]["start"]["line"].as_u64()));
    for edit in edits {
        let line = |end: &str| edit["range"][end]["line"].as_u64().expect("a line") as usize;
        assert_eq!(edit["range"]["start"]["character"], 0);
        let new = edit["newText"].as_str().expect("a text");
        lines.splice(line("start")..line("end").min(lines.len()), [new.to_string()]);
    }
    lines.concat()
}

const SB: &str = "atomic x, y;\n\
    thread left  { local a;  x.store(1, rlx);  a = y.load(rlx); }\n\
    thread right { local b;  y.store(1, rlx);  b = x.load(rlx); }\n";

const MP: &str = "atomic flag;\nna data;\n\
    thread writer {\n    data.nastore(7);\n    flag.store(1, rel);\n}\n\
    thread reader {\n    local f, d;\n    f = flag.load(sc);\n    if (f) { d = data.naload(); assert(d == 7); }\n}\n";

/// What is typed is checked: the diagnostics are those of `check`, with their places.
#[test]
fn diagnostics_follow_the_text() {
    let mut editor = Editor::new(Desk::new(), json!({ "delay": 20 }));
    let uri = editor.open("t.fp", "fencepost", SB);
    let found = editor.diagnostics(&uri, 1);
    assert!(!found.is_empty());
    let first = &found[0];
    assert_eq!(
        (&first["code"], &first["severity"], &first["source"]),
        (&json!("FP0001"), &json!(1), &json!("fencepost"))
    );
    let line = first["range"]["start"]["line"].as_u64().expect("a line") as usize;
    let range = |end: &str| first["range"][end]["character"].as_u64().expect("a column") as usize;
    let marked = &SB.lines().nth(line).expect("a line")[range("start")..range("end")];
    assert!(marked.contains("load"), "{marked}");
    assert!(first["relatedInformation"].as_array().is_some_and(|related| !related.is_empty()));

    // A change in the middle, another at once: only the last text counts.
    let insert = |line: u64, character: u64, text: &str| {
        let at = json!({ "line": line, "character": character });
        json!({ "range": { "start": at, "end": at }, "text": text })
    };
    let column = |line: usize| {
        SB.lines().nth(line).expect("a line").find(';').map(|_| {
            SB.lines().nth(line).expect("a line").find("rlx);").expect("a store") as u64 + 5
        })
    };
    for (version, line) in [(2, 1), (3, 2)] {
        let change = insert(line, column(line as usize).expect("a column"), " fence(seq_cst);");
        editor.note(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [change] }),
        );
    }
    assert_eq!(editor.diagnostics(&uri, 3), Vec::<Value>::new());

    // A whole new text, with a mistake.
    editor.note(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 4 }, "contentChanges": [{ "text": "atomic x;\n\tthread t { x.stor(1); }\n" }] }),
    );
    let found = editor.diagnostics(&uri, 4);
    assert_eq!(found[0]["range"]["start"]["line"], 1, "{found:?}");
    assert_eq!(found[0]["severity"], 1);

    editor.note("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    let cleared = editor.wait(|m| {
        m["method"] == "textDocument/publishDiagnostics" && m["params"].get("version").is_none()
    });
    assert_eq!(cleared["params"]["diagnostics"], json!([]));
    assert_eq!(editor.leave(), Some(0));
}

/// Hovers say what an order does and whether it is needed; the fix makes the program correct, and the weaker orders
/// leave it so.
#[test]
fn hovers_and_actions() {
    let mut editor = Editor::new(Desk::new(), json!({ "delay": 0 }));
    let uri = editor.open("mp.fp", "fencepost", MP);
    assert_eq!(editor.diagnostics(&uri, 1), Vec::<Value>::new());
    let hover = editor.hover_until(&uri, 4, 10, "**needed**");
    assert!(hover.contains("store, release") && hover.contains("with less: "), "{hover}");
    let hover = editor.hover_until(&uri, 8, 10, "more than needed");
    assert!(hover.contains("`acquire` suffices"), "{hover}");
    assert_eq!(editor.hover(&uri, 0, 0), Value::Null);
    let actions = editor.actions_until(&uri, 8);
    assert_eq!(actions[0]["kind"], "refactor.rewrite");
    let weaker = applied(MP, &actions[0], &uri);
    assert!(weaker.contains("flag.load(acq)"), "{weaker}");
    assert_eq!(editor.actions(&uri, 8, Some("quickfix")), Vec::<Value>::new());
    assert_eq!(editor.actions(&uri, 8, Some("refactor")).len(), 1);
    assert_eq!(editor.actions(&uri, 0, None), Vec::<Value>::new(), "nothing is changed there");

    // A program that is not correct: what makes it so.
    let uri = editor.open("sb.fp", "fencepost", SB);
    assert!(!editor.diagnostics(&uri, 1).is_empty());
    let actions = editor.actions_until(&uri, 1);
    assert_eq!(
        (&actions[0]["kind"], &actions[0]["isPreferred"]),
        (&json!("quickfix"), &json!(true))
    );
    let versions = &actions[0]["edit"]["documentChanges"][0]["textDocument"]["version"];
    assert_eq!(versions, 1, "an editor can tell whether it is still about its text");
    let fixed = applied(SB, &actions[0], &uri);
    std::fs::write(editor.desk.path().join("fixed.fp"), &fixed).expect("a file");
    assert_eq!(editor.desk.run("check fixed.fp").code, Some(0), "{fixed}");
    let hover = editor.hover(&uri, 1, 36);
    assert!(
        hover["contents"]["value"].as_str().is_some_and(|t| t.starts_with("**relaxed**")),
        "{hover}"
    );
    // Changed since: nothing is offered that was about another text.
    editor.note(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": "atomic x;\n" }] }),
    );
    assert_eq!(editor.actions(&uri, 1, None), Vec::<Value>::new());
    assert_eq!(editor.leave(), Some(0));
}

/// For machines with store buffers the fix is fences.
#[test]
fn the_model_can_be_set() {
    let mut editor = Editor::new(
        Desk::new(),
        json!({ "delay": 0, "model": "tso", "nonsense": 1, "limitTime": "x" }),
    );
    let first = editor.wait(|message| message["method"] == "window/showMessage");
    let second = editor.wait(|message| message["method"] == "window/showMessage");
    let told = format!("{first}{second}");
    assert!(
        told.contains("no setting `nonsense`") && told.contains("`limitTime` must be"),
        "{told}"
    );
    let uri = editor.open("sb.fp", "fencepost", SB);
    let found = editor.diagnostics(&uri, 1);
    assert!(!found.is_empty());
    let actions = editor.actions_until(&uri, 1);
    let fixed = applied(SB, &actions[0], &uri);
    std::fs::write(editor.desk.path().join("fixed.fp"), &fixed).expect("a file");
    assert_eq!(editor.desk.run("check --model tso fixed.fp").code, Some(0), "{fixed}");
    // Another model: everything is checked again.
    editor.note(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "fencepost": { "model": "sc" } } }),
    );
    assert_eq!(editor.diagnostics(&uri, 1), Vec::<Value>::new());
    assert_eq!(editor.leave(), Some(0));
}

const LOCK: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include \"shared.h\"\n\
    static void *add(void *unused) {\n\
    \twhile (atomic_exchange_explicit(&locked, 1, memory_order_acquire)) {\n\t}\n\
    \tcounter++;\n\
    \tatomic_store_explicit(&locked, 0, memory_order_relaxed);\n\
    \treturn NULL;\n}\n\
    int main(void) {\n\tpthread_t one, two;\n\
    \tpthread_create(&one, NULL, add, NULL);\n\tpthread_create(&two, NULL, add, NULL);\n\
    \tpthread_join(one, NULL);\n\tpthread_join(two, NULL);\n\treturn 0;\n}\n";

/// C is checked when it is opened and saved, with its headers; the fix is a memory order.
#[test]
fn c_is_checked_when_saved() {
    let desk =
        Desk::new().and("shared.h", "extern int nothing;\natomic_int locked;\nint counter;\n");
    let mut editor = Editor::new(desk, json!({}));
    let uri = editor.open("lock.c", "c", LOCK);
    let found = editor.diagnostics(&uri, 1);
    if found.iter().any(|one| one["message"].to_string().contains("no clang found")) {
        eprintln!("clang is missing: SKIPPED");
        return;
    }
    assert!(!found.is_empty(), "the lock is broken");
    let actions =
        editor.actions_until(&uri, found[0]["range"]["start"]["line"].as_u64().expect("a line"));
    let fixed = applied(LOCK, &actions[0], &uri);
    assert_eq!(fixed, LOCK.replace("memory_order_relaxed", "memory_order_release"));
    // Typed, but not saved: what was offered is withdrawn, and nothing is checked.
    editor.note(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": fixed }] }),
    );
    assert_eq!(editor.actions(&uri, 7, None), Vec::<Value>::new());
    std::fs::write(editor.desk.path().join("lock.c"), &fixed).expect("a file");
    editor.note("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(editor.diagnostics(&uri, 2), Vec::<Value>::new());
    editor.hover_until(&uri, 7, 5, "release` is **needed**");
    // Does not compile: the compiler's message.
    let broken = fixed.replace("return 0;", "return 0");
    editor.note(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 3 }, "contentChanges": [{ "text": broken }] }),
    );
    std::fs::write(editor.desk.path().join("lock.c"), &broken).expect("a file");
    editor.note("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    let found = editor.diagnostics(&uri, 3);
    assert_eq!(found[0]["range"]["start"]["line"], 16, "{found:?}");
    assert!(
        found[0]["message"].as_str().is_some_and(|text| text.contains("expected ';'")),
        "{found:?}"
    );
    assert_eq!(found[0]["severity"], 3, "the compiler's own server says that it is an error");
    // Part of a program: there is nothing to say about it alone.
    let part = editor.open("part.c", "c", "int part(void) { return 1; }\n");
    assert_eq!(editor.diagnostics(&part, 1), Vec::<Value>::new());
    assert_eq!(editor.leave(), Some(0));
}

/// Messages that are none, or come at the wrong time, are answered with an error, and the session goes on.
#[test]
fn bad_messages() {
    let mut editor = Editor::raw(Desk::new());
    let code = |answer: Value| answer["error"]["code"].as_i64();
    assert_eq!(code(editor.ask("textDocument/hover", json!({}))), Some(-32002), "not yet");
    editor.note("textDocument/didOpen", json!({ "textDocument": { "uri": "file:///x", "languageId": "fencepost", "version": 1, "text": "" } }));
    assert_eq!(code(editor.ask("initialize", json!({ "capabilities": 3 }))), Some(-32602));
    assert!(editor.ask("initialize", json!({ "capabilities": {} }))["result"].is_object());
    assert_eq!(
        code(editor.ask("initialize", json!({ "capabilities": {} }))),
        Some(-32600),
        "twice"
    );
    for (body, expected) in
        [("{nonsense", -32700), ("[]", -32600), ("\"text\"", -32600), ("\u{1}\u{2}", -32700)]
    {
        editor.send(body);
        let answer =
            editor.wait(|message| message["id"].is_null() && message.get("error").is_some());
        assert_eq!(code(answer), Some(expected), "{body}");
    }
    assert_eq!(code(editor.ask("textDocument/rename", json!({}))), Some(-32601));
    assert_eq!(code(editor.ask("textDocument/hover", json!({ "position": 1 }))), Some(-32602));
    // Notifications cannot be answered; these are about nothing.
    editor.note(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": "file:///gone.fp", "version": 1 }, "contentChanges": [] }),
    );
    editor.note("textDocument/didOpen", json!([1, 2]));
    editor.note("textDocument/didSave", json!({ "textDocument": { "uri": "not an address" } }));
    editor.note("no/such/note", json!(null));
    // A range that is no range of the text.
    let uri = editor.open("t.fp", "fencepost", SB);
    let (far, near) =
        (json!({ "line": 99, "character": 99 }), json!({ "line": 98, "character": 1 }));
    let change = json!({ "range": { "start": far, "end": near }, "text": "// ü\n" });
    editor.note(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [change] }),
    );
    assert!(!editor.diagnostics(&uri, 2).is_empty());
    assert_eq!(editor.hover(&uri, 99, 99), Value::Null);
    assert_eq!(editor.actions(&uri, 99, None), Vec::<Value>::new());
    // Documents of other languages are left alone, wherever they are.
    editor.open("notes.txt", "plaintext", "hello");
    editor.note("textDocument/didOpen", json!({ "textDocument": { "uri": "untitled:Untitled-1", "languageId": "fencepost", "version": 7, "text": SB } }));
    assert!(!editor.diagnostics("untitled:Untitled-1", 7).is_empty());
    assert_eq!(editor.ask("shutdown", Value::Null)["result"], Value::Null);
    assert_eq!(code(editor.ask("textDocument/hover", json!({}))), Some(-32600), "after shutdown");
    editor.note("exit", Value::Null);
    assert_eq!(editor.process.wait().expect("it ends").code(), Some(0));
}

/// Has so many interleavings that they are explored for as long as it may take.
const ENDLESS: &str = "max_value 200; atomic a, b, c, d;\n\
    thread t[4] { local r; while (true) { r = a.load(rlx); a.store(r + 1, rlx); r = b.load(rlx); b.store(r + 3, rlx);\n\
    r = c.load(rlx); c.store(r + 7, rlx); r = d.load(rlx); d.store(r + 11, rlx); } }\n";

/// An editor that dies takes the server and its checks along, and nothing is left behind.
#[test]
fn an_editor_that_dies() {
    let mut editor =
        Editor::new(Desk::new(), json!({ "delay": 0, "limitTime": 600, "model": "sc" }));
    let jobs = editor.desk.path().join("jobs");
    editor.open("endless.fp", "fencepost", ENDLESS);
    let folders = || std::fs::read_dir(&jobs).expect("a folder").count();
    let deadline = Instant::now() + PATIENCE;
    while folders() == 0 {
        assert!(Instant::now() < deadline, "no check begins");
        std::thread::sleep(Duration::from_millis(10));
    }
    editor.input = None;
    assert_eq!(editor.process.wait().expect("it ends").code(), Some(1));
    assert_eq!(folders(), 0, "folders of checks are left");

    // A header that nobody can read is the end, too.
    let mut editor = Editor::new(Desk::new(), json!({}));
    editor.write(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(editor.process.wait().expect("it ends").code(), Some(1));

    // And an `exit` without a `shutdown`.
    let mut editor = Editor::new(Desk::new(), json!({}));
    editor.note("exit", Value::Null);
    assert_eq!(editor.process.wait().expect("it ends").code(), Some(1));
}

/// A check that takes too long says so, and what is typed meanwhile is checked.
#[test]
fn limits_and_cancellation() {
    let mut editor = Editor::new(
        Desk::new(),
        json!({ "delay": 0, "limitTime": 0.3, "limitMemory": 512, "model": "sc" }),
    );
    let uri = editor.open("endless.fp", "fencepost", ENDLESS);
    let found = editor.diagnostics(&uri, 1);
    assert!(
        found
            .iter()
            .any(|one| one["severity"] == 3 && one["message"].to_string().contains("undecided")),
        "{found:?}"
    );
    editor.note("workspace/didChangeConfiguration", json!({ "settings": { "limitTime": 600 } }));
    editor.note("textDocument/didChange", json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": ENDLESS }] }));
    std::thread::sleep(Duration::from_millis(200));
    editor.note(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 3 }, "contentChanges": [{ "text": "atomic x; thread t { x.stor(1); }" }] }),
    );
    assert!(!editor.diagnostics(&uri, 3).is_empty());
    assert_eq!(editor.leave(), Some(0));
}

/// The client of the extension for VS Code speaks to the server, if there is a Node to run it.
#[test]
fn the_client_of_the_extension() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode");
    let manifest = std::fs::read_to_string(root.join("package.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    for file in ["main", "contributes/grammars/0/path", "contributes/languages/0/configuration"] {
        let name = manifest.pointer(&format!("/{file}")).and_then(Value::as_str).expect("a file");
        assert!(root.join(name).is_file(), "{name}");
    }
    for json in ["language-configuration.json", "syntaxes/fencepost.tmLanguage.json"] {
        let text = std::fs::read_to_string(root.join(json)).expect("a file");
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{json}");
    }
    let desk = Desk::new().and("sb.fp", SB).and("drive.js", include_str!("vscode/drive.js"));
    let output = Command::new("node")
        .arg("drive.js")
        .arg(&root)
        .arg(env!("CARGO_BIN_EXE_fencepost"))
        .current_dir(desk.path())
        .output();
    let Ok(output) = output else { return eprintln!("Node is missing: SKIPPED") };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("all well"), "{said}");
}
