//! The playground: who may ask it what, and the page in a real browser.

mod chromium;
mod run;

use chromium::{Shown, scheme, size};
use run::Desk;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A playground that runs until the test is over.
struct Server {
    process: Child,
    port: u16,
    token: String,
    desk: Desk,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        Server::start_in(Desk::new(), arguments)
    }

    fn start_in(desk: Desk, arguments: &[&str]) -> Server {
        // Jobs put their folders here.
        let folder = desk.path().join("jobs");
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut process = Command::new(env!("CARGO_BIN_EXE_fencepost"))
            .arg("play")
            .args(arguments)
            .current_dir(desk.path())
            .env("TMPDIR", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        // What is not read any more must not end it: the pipe is closed behind this line.
        let mut line = String::new();
        let out = process.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let (_, address) = line.trim().split_once("http://127.0.0.1:").expect("an address");
        let (port, token) = address.split_once("/?token=").expect("a token");
        let (port, token) = (port.parse().expect("a number"), token.to_string());
        assert_eq!(token.len(), 32);
        Server { process, port, token, desk }
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }

    fn raw(&self, request: &str) -> (u16, String) {
        raw(self.port, request)
    }

    fn get(&self, path: &str, host: &str) -> (u16, String) {
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    }

    fn post(&self, token: &str, headers: &str, body: &str) -> (u16, Value) {
        let (status, body) = self.raw(&request(self.port, token, headers, body));
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    fn check(&self, client: &str, language: &str, text: &str) -> (u16, Value) {
        let model = if text == ENDLESS { Some("sc") } else { None };
        let body = json!({ "client": client, "language": language, "text": text, "model": model });
        self.post(&self.token, "", &body.to_string())
    }

    /// Ends the server as Ctrl-C would.
    fn interrupt(mut self) -> (Option<i32>, Desk) {
        let pid = self.process.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().expect("kill");
        let code = self.process.wait().expect("it ends").code();
        let desk = std::mem::replace(&mut self.desk, Desk::new());
        (code, desk)
    }
}

/// A question as a request.
fn request(port: u16, token: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /check?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{headers}\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Sends a request as it is; the status and the body of the answer.
fn raw(port: u16, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
    // A server that has seen enough need not read all.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, body.to_string())
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const SB: &str = "atomic x, y;\n\
    thread left  { local a;  x.store(1, rlx);  a = y.load(rlx); }\n\
    thread right { local b;  y.store(1, rlx);  b = x.load(rlx); }\n";

/// Has so many interleavings that they are explored for as long as it may take.
const ENDLESS: &str = "max_value 200; atomic a, b, c, d;\n\
    thread t[4] { local r; while (true) { r = a.load(rlx); a.store(r + 1, rlx); r = b.load(rlx); b.store(r + 3, rlx);\n\
    r = c.load(rlx); c.store(r + 7, rlx); r = d.load(rlx); d.store(r + 11, rlx); } }\n";

#[test]
fn checks_are_answered() {
    let server = Server::start(&[]);
    let (status, answer) = server.check("a", "fp", SB);
    assert_eq!((status, answer["verdict"].as_str()), (200, Some("violated")), "{answer}");
    assert!(
        answer["page"].as_str().is_some_and(|page| page.contains("<svg class=\"execution wide\""))
    );
    assert_eq!(answer["marks"][0]["code"], "FP0001");
    assert!(answer["marks"][0]["line"].as_u64() > Some(1), "{}", answer["marks"]);
    let fenced = SB.replace("rlx);  ", "rlx); fence(seq_cst); ");
    let (_, answer) = server.check("a", "fp", &fenced);
    assert_eq!(answer["verdict"], "holds", "{answer}");
    let (_, answer) = server.check("a", "fp", "atomic x; thread t { x.stor(1); }");
    assert_eq!(answer["verdict"], "error");
    assert_eq!(answer["marks"][0]["line"], 1, "{answer}");
    let body = json!({ "client": "a", "text": SB, "model": "sc", "options": ["all"] });
    assert_eq!(server.post(&server.token, "", &body.to_string()).1["verdict"], "holds");
}

/// Nobody without the token, by another name, from another site, with another method or too much text is answered, and
/// each is told why.
#[test]
fn others_are_refused() {
    let server = Server::start(&[]);
    let (own, path) = (format!("127.0.0.1:{}", server.port), format!("/?token={}", server.token));
    assert_eq!(server.get(&path, &own).0, 200);
    let (status, page) = server.get("/", &own);
    assert_eq!(status, 403);
    assert!(page.contains("The token is missing or wrong"), "{page}");
    assert_eq!(server.get(&format!("{path}0"), &own).0, 403);
    assert_eq!(server.get(&path, "evil.example").0, 403, "a name that somebody made lead here");
    assert_eq!(server.get(&format!("/nothing?token={}", server.token), &own).0, 404);
    assert_eq!(server.get(&format!("/check?token={}", server.token), &own).0, 405);

    let good = json!({ "client": "a", "text": SB }).to_string();
    let refused = |(status, answer): (u16, Value)| (status, answer["error"].to_string());
    let (status, why) = refused(server.post("00", "", &good));
    assert!(status == 403 && why.contains("token"), "{status} {why}");
    let (status, why) =
        refused(server.post(&server.token, "Origin: http://evil.example\r\n", &good));
    assert!(status == 403 && why.contains("another site"), "{status} {why}");
    for (body, expected) in [
        ("{", "not a question"),
        ("{}", "not a question"),
        (r#"{"client":"a","text":"","model":"arm"}"#, "no memory model `arm`"),
        (r#"{"client":"a","text":"","options":["html=x"]}"#, "no option `html=x`"),
        (r#"{"client":"a","text":"","language":"sh"}"#, "not a question"),
    ] {
        let (status, why) = refused(server.post(&server.token, "", body));
        assert!(status == 400 && why.contains(expected), "{body}: {status} {why}");
    }
    for size in [300_000, 3_000_000] {
        let large = json!({ "client": "a", "text": "/".repeat(size) }).to_string();
        let (status, why) = refused(server.post(&server.token, "", &large));
        assert!(status == 413 && why.contains("too large"), "{size}: {status} {why}");
    }
    // After all that it still works.
    assert_eq!(server.check("a", "fp", SB).0, 200);
}

/// A new question of the same page ends the one before; one of another page does not. Ctrl-C ends everything, and
/// nothing is left behind.
#[test]
fn a_new_question_ends_the_old() {
    let server = Server::start(&["--limit-time", "10m"]);
    std::thread::scope(|scope| {
        let old = scope.spawn(|| server.check("a", "fp", ENDLESS));
        let jobs = || std::fs::read_dir(server.desk.path().join("jobs")).map_or(0, Iterator::count);
        let deadline = Instant::now() + Duration::from_secs(60);
        while jobs() == 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(server.check("b", "fp", SB).1["verdict"], "violated");
        assert!(!old.is_finished(), "another page's question is its own affair");
        assert_eq!(server.check("a", "fp", SB).1["verdict"], "violated");
        assert_eq!(old.join().expect("an answer").0, 409);
    });
    let (port, token) = (server.port, server.token.clone());
    let asking = std::thread::spawn(move || {
        let body = json!({ "client": "a", "text": ENDLESS, "model": "sc" }).to_string();
        raw(port, &request(port, &token, "", &body))
    });
    std::thread::sleep(Duration::from_millis(500));
    let (code, desk) = server.interrupt();
    assert_eq!(code, Some(0));
    let left = std::fs::read_dir(desk.path().join("jobs")).expect("a folder").count();
    assert_eq!(left, 0, "folders of jobs are left");
    asking.join().expect("an end");
}

/// A check that reaches its limit says so.
#[test]
fn limits_are_kept() {
    let server = Server::start(&["--limit-time", "300ms"]);
    let (status, answer) = server.check("a", "fp", ENDLESS);
    assert_eq!((status, answer["verdict"].as_str()), (200, Some("undecided")), "{answer}");
}

/// C is compiled, never run.
#[test]
fn c_is_compiled_but_not_run() {
    let server = Server::start(&["--limit-time", "60s"]);
    let program =
        "#include <stdio.h>\nint main(void) { fclose(fopen(\"ran\", \"w\")); return 0; }\n";
    let (status, _) = server.check("a", "c", program);
    assert_eq!(status, 200);
    let ran = walk(server.desk.path());
    assert!(!ran.iter().any(|name| name == "ran"), "{ran:?}");
    let (_, answer) = server.check("a", "c", "int main(void) { return 0 }");
    assert_eq!(answer["verdict"], "error");
    assert!(answer["text"].as_str().is_some_and(|text| text.contains("expected ';'")), "{answer}");
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        names.push(entry.file_name().to_string_lossy().into_owned());
        names.extend(walk(&entry.path()));
    }
    names
}

/// What cannot be served is refused with a sentence and exit code 2.
#[test]
fn bad_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let desk = Desk::new().and("large.fp", "/".repeat(300_000));
    for (arguments, expected) in [
        (format!("play --port {port}"), format!("port {port} is taken")),
        ("play nowhere.fp".into(), "nowhere.fp: ".into()),
        ("play large.fp".into(), "large.fp: the program is too large".into()),
        ("play /dev/zero".into(), "/dev/zero: the program is too large".into()),
        ("play .".into(), ".: ".into()),
        ("play http://127.0.0.1:1/#p=!!".into(), "the link is damaged".into()),
        ("play --port 99999".into(), "99999".into()),
        ("play --limit-time soon".into(), "soon".into()),
    ] {
        let run = desk.run(&arguments);
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.all());
        assert!(run.stderr.contains(&expected), "{arguments}: {}", run.stderr);
    }
}

const TYPE: &str = "((t, v) => { t.value = v; t.dispatchEvent(new Event('input')); })\
    (document.querySelector('#text'), ";

fn type_text(shown: &Shown, text: &str) {
    shown.ask(&format!("{TYPE}{})", json!(text)));
}

fn wait_for(shown: &Shown, verdict: &str) {
    shown.until(&format!(
        "(v => v.textContent === {verdict:?} && !v.classList.contains('checking'))(document.querySelector('#verdict'))"
    ));
}

/// The page in a browser: the verdict follows what is typed, the execution and its player stand beside it, and the
/// address holds the program.
#[test]
fn the_page_checks_as_you_type() {
    let server = Server::start(&[]);
    let Some(shown) = Shown::visit(&server.address()) else { return };
    // It begins with an example.
    wait_for(&shown, "violated");
    assert!(
        shown
            .ask("document.querySelector('#text').value")
            .as_str()
            .is_some_and(|t| t.contains("thread left"))
    );
    assert_eq!(shown.ask("document.querySelector('#page').hidden"), false);
    let framed = "document.querySelector('#page').srcdoc";
    let page = shown.ask(framed);
    assert!(page.as_str().is_some_and(|page| page.contains("data-do=\"play\"")), "a player");
    assert!(shown.count(".numbers .error") >= 1);
    assert!(shown.count(".marks .error button") >= 1);
    shown.click(".marks .error button");
    assert!(shown.ask("document.querySelector('#text').selectionStart").as_u64() > Some(0));

    let fenced = SB.replace("rlx);  ", "rlx); fence(seq_cst); ");
    type_text(&shown, &fenced);
    wait_for(&shown, "holds");
    assert_eq!(shown.count(".numbers .error"), 0);
    assert_eq!(shown.ask("document.querySelector('#page').hidden"), true);
    let said = shown.text("#said");
    assert!(said.contains("robustness"), "{said}");
    // Faster than checks: only the last counts.
    for text in ["atomic x", "atomic x; thread", SB, &fenced, SB] {
        type_text(&shown, text);
    }
    wait_for(&shown, "violated");
    shown.ask("((m) => { m.value = 'sc'; m.dispatchEvent(new Event('change')); })(document.querySelector('#model'))");
    wait_for(&shown, "holds");
    type_text(&shown, "atomic x; thread t { x.stor(1); }");
    wait_for(&shown, "error");
    assert_eq!(shown.text(".numbers .error"), "1");
    type_text(&shown, "");
    shown.until("document.querySelector('#said').textContent.includes('Write a program')");
    type_text(&shown, &"/".repeat(300_000));
    shown.until("document.querySelector('#note').textContent.includes('too large')");
    shown.no_complaints();
}

/// A link holds text, language, model and options, with and without a browser.
#[test]
fn links_hold_the_program() {
    let server = Server::start(&[]);
    let Some(shown) = Shown::visit(&server.address()) else { return };
    wait_for(&shown, "violated");
    let text = format!("// ünï → 😀 #p=\n{SB}");
    shown.ask("document.querySelector('#model').value = 'tso'");
    type_text(&shown, &text);
    shown.until("document.querySelector('#text').value.startsWith('// ünï')");
    wait_for(&shown, "violated");
    shown.until("location.hash.length > 100");
    let hash = shown.ask("location.hash");
    let hash = hash.as_str().expect("a text");
    // The same server, opened again with the link.
    let again = Shown::visit(&format!("{}{hash}", server.address())).expect("a browser");
    wait_for(&again, "violated");
    assert_eq!(again.ask("document.querySelector('#text').value"), json!(text));
    assert_eq!(again.ask("document.querySelector('#model').value"), "tso");
    // The link that is copied holds no token; whoever has it starts a playground with it.
    again.click("#link");
    again.until("document.querySelector('#copied').value !== ''");
    let link = again.ask("document.querySelector('#copied').value");
    let link = link.as_str().expect("a link").to_string();
    assert!(!link.contains(&server.token), "{link}");
    let other = Server::start(&[&link]);
    let theirs = Shown::visit(&other.address()).expect("a browser");
    wait_for(&theirs, "violated");
    assert_eq!(theirs.ask("document.querySelector('#text').value"), json!(text));
    // Without a token there is a page that says what to do.
    let lost = Shown::visit(&link).expect("a browser");
    assert!(lost.text("#command").starts_with("fencepost play 'http://127.0.0.1:"));
    // A damaged link is told.
    let damaged = Shown::visit(&format!("{}#p=AAAA", server.address())).expect("a browser");
    damaged.until("document.querySelector('#note').textContent.includes('damaged')");
}

/// Every example has the verdict that its name promises.
#[test]
fn examples_are_as_promised() {
    let server = Server::start(&["--limit-time", "60s"]);
    let (_, page) =
        server.get(&format!("/?token={}", server.token), &format!("127.0.0.1:{}", server.port));
    let (_, data) = page.split_once("id=\"data\">").expect("data");
    let data: Value =
        serde_json::from_str(data.split("</script>").next().expect("an end")).expect("JSON");
    let examples = data["examples"].as_array().expect("examples");
    assert!(examples.len() >= 6);
    for example in examples {
        let mut body = example["program"].clone();
        body["client"] = "examples".into();
        let (status, answer) = server.post(&server.token, "", &body.to_string());
        assert_eq!(status, 200, "{}", example["name"]);
        assert_eq!(
            answer["verdict"], example["verdict"],
            "{}: {}",
            example["name"], answer["text"]
        );
    }
}

/// A playground that ends is noticed, and everything can be read in both themes and on a phone.
#[test]
fn the_page_is_readable_and_honest() {
    let desk = Desk::new().and("mine.fp", SB);
    let server = Server::start_in(desk, &["mine.fp"]);
    let Some(shown) = Shown::visit(&server.address()) else { return };
    wait_for(&shown, "violated");
    assert_eq!(shown.ask("document.querySelector('#text').value"), json!(SB));
    for theme in ["light", "dark"] {
        scheme(&shown.tab, theme);
        assert_eq!(shown.ask(include_str!("contrast.js")), json!([]), "{theme}");
    }
    size(&shown.tab, 390, 800, true);
    let wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(shown.ask(wider), 0);
    let (code, _) = server.interrupt();
    assert_eq!(code, Some(0));
    type_text(&shown, "atomic x;");
    shown.until("document.querySelector('#note').textContent.includes('does not answer')");
}
