//! The playground: a page on this machine, with an editor on one side and the verdict on the other.
//!
//! The server listens on the loopback address only, and answers only who knows the token that is part of the address it
//! prints, so that neither other users of the machine nor pages of other sites can ask it anything. What it is asked is a
//! check of a text, which runs as a [`Job`]; a new question of the same page ends the one before. Programs in C, C++ and
//! Rust are compiled and explored, never run.
//!
//! A link holds the program in its fragment, which browsers send to nobody ([`link`]).

mod examples;
pub mod link;
mod reply;

use crate::job::{Job, Limits, NoAnswer, Said};
use link::Program;
use reply::Reply;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tiny_http::{Method, Request, Server};

/// The largest program, in bytes.
pub const MOST_TEXT: usize = 256 << 10;
/// The largest body of a request: a program as JSON.
const MOST_BODY: u64 = 2 * MOST_TEXT as u64 + 4096;
/// So many requests are worked on at a time.
const MOST_REQUESTS: usize = 16;
/// How often the server looks whether it should end.
const PACE: Duration = Duration::from_millis(100);

/// The memory models that can be asked about.
const MODELS: [&str; 7] = ["rc11", "rc20", "ra", "sc", "tso", "pso", "pgas"];
/// The options of `check` that the page offers.
const OPTIONS: [&str; 5] = ["all", "observational", "no-races", "liveness", "require-safe"];

/// How to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// Fencepost itself.
    pub executable: PathBuf,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// What a check may use up.
    pub limits: Limits,
    /// The program to begin with.
    pub start: Option<Program>,
}

/// A playground that listens.
pub struct Playground {
    http: Server,
    port: u16,
    token: String,
    options: Options,
    /// The check under way for each page.
    checks: Mutex<HashMap<String, Arc<AtomicBool>>>,
    /// Set when no check may begin any more.
    ending: AtomicBool,
    requests: AtomicUsize,
}

impl Playground {
    /// Listens on the loopback address.
    ///
    /// # Errors
    ///
    /// Why it cannot, in a sentence.
    pub fn new(options: Options) -> Result<Self, String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let http = Server::http(address).map_err(|error| {
            match error.downcast_ref::<io::Error>().map(io::Error::kind) {
                Some(io::ErrorKind::AddrInUse) => format!(
                    "port {} is taken by another program; choose another with --port, or leave --port out \
                     for any that is free",
                    options.port
                ),
                Some(io::ErrorKind::PermissionDenied) => {
                    format!("port {} is not for everybody; choose one above 1023", options.port)
                }
                _ => format!("cannot listen on {address}: {error}"),
            }
        })?;
        let port = http.server_addr().to_ip().map_or(options.port, |address| address.port());
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| format!("no random token: {error}"))?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let (checks, ending) = (Mutex::new(HashMap::new()), AtomicBool::new(false));
        Ok(Playground { http, port, token, options, checks, ending, requests: AtomicUsize::new(0) })
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }

    /// Serves until `stop` is set; then ends all checks.
    pub fn serve(&self, stop: &AtomicBool) {
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let Ok(Some(mut request)) = self.http.recv_timeout(PACE) else { continue };
                if self.requests.load(Ordering::Relaxed) >= MOST_REQUESTS {
                    Reply::refusal(503, "too many requests at a time").send(request);
                    continue;
                }
                self.requests.fetch_add(1, Ordering::Relaxed);
                scope.spawn(move || {
                    let reply = self.answer(&mut request);
                    self.requests.fetch_sub(1, Ordering::Relaxed);
                    reply.send(request);
                });
            }
            let checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
            self.ending.store(true, Ordering::Relaxed);
            checks.values().for_each(|cancel| cancel.store(true, Ordering::Relaxed));
        });
    }

    fn answer(&self, request: &mut Request) -> Reply {
        if !self.is_ours(header(request, "Host")) {
            return Reply::refusal(403, "this server answers on the loopback address only");
        }
        let url = request.url().to_string();
        let (path, query) = url.split_once('?').unwrap_or((&url, ""));
        let given = query.split('&').find_map(|pair| pair.strip_prefix("token="));
        let known = given.is_some_and(|given| same(given, &self.token));
        match (request.method(), path) {
            (Method::Get | Method::Head, "/") if !known => Reply::page(403, reply::NO_TOKEN),
            _ if !known => Reply::refusal(
                403,
                "the token is missing or wrong: use the address that `fencepost play` printed",
            ),
            (Method::Get | Method::Head, "/") => Reply::page(200, &reply::page(&self.data())),
            (Method::Post, "/check") => {
                // Pages of other sites cannot know the token; this is for those that guess.
                let origin = header(request, "Origin").map(|o| o.replacen("http://", "", 1));
                match origin.is_none_or(|origin| self.is_ours(Some(&origin))) {
                    true => self.check(request),
                    false => Reply::refusal(403, "another site's page may not ask"),
                }
            }
            (_, "/" | "/check") => Reply::refusal(405, "this address is not for that method"),
            _ => Reply::refusal(404, "there is nothing here"),
        }
    }

    /// Does a request come to this very server, and not to a name that somebody made lead here?
    fn is_ours(&self, host: Option<&str>) -> bool {
        let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        host.is_some_and(|host| own.iter().any(|own| own == host))
    }

    /// What the page knows from the start.
    fn data(&self) -> Value {
        json!({
            "token": self.token,
            "models": MODELS,
            "most": MOST_TEXT,
            "seconds": self.options.limits.time.as_secs_f64(),
            "examples": examples::all(),
            "start": self.options.start,
        })
    }

    fn check(&self, request: &mut Request) -> Reply {
        let too_large = || {
            let most = MOST_TEXT >> 10;
            Reply::refusal(413, &format!("the program is too large: {most} KiB is the most"))
        };
        if request.body_length().is_some_and(|length| length as u64 > MOST_BODY) {
            return too_large();
        }
        let mut body = Vec::new();
        if let Err(error) = request.as_reader().take(MOST_BODY + 1).read_to_end(&mut body) {
            return Reply::refusal(400, &format!("the request broke off: {error}"));
        }
        if body.len() as u64 > MOST_BODY {
            return too_large();
        }
        let asked: Asked = match serde_json::from_slice(&body) {
            Ok(asked) => asked,
            Err(error) => return Reply::refusal(400, &format!("not a question: {error}")),
        };
        if asked.program.text.len() > MOST_TEXT {
            return too_large();
        }
        let arguments = match arguments(&asked.program) {
            Ok(arguments) => arguments,
            Err(why) => return Reply::refusal(400, &why),
        };
        let cancel = self.begin(&asked.client);
        let answer = self.run(&asked.program, &arguments, &cancel);
        self.end(&asked.client, &cancel);
        match answer {
            Ok(answer) => Reply::json(200, &answer),
            Err(NoAnswer::Cancelled) => Reply::refusal(409, "a newer question came"),
            Err(NoAnswer::Killed) => Reply::json(
                200,
                &json!({ "verdict": "undecided", "text": "the check did not keep to its limits and was ended" }),
            ),
            Err(NoAnswer::Failed(error)) => {
                Reply::refusal(500, &format!("the check could not be started: {error}"))
            }
        }
    }

    /// A check begins: the one before it of the same page ends.
    fn begin(&self, client: &str) -> Arc<AtomicBool> {
        let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        // Both under the lock: a check that begins as the server ends is ended, too.
        let cancel = Arc::new(AtomicBool::new(self.ending.load(Ordering::Relaxed)));
        if let Some(before) = checks.insert(client.to_string(), cancel.clone()) {
            before.store(true, Ordering::Relaxed);
        }
        cancel
    }

    fn end(&self, client: &str, cancel: &Arc<AtomicBool>) {
        let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        if checks.get(client).is_some_and(|current| Arc::ptr_eq(current, cancel)) {
            checks.remove(client);
        }
    }

    fn run(
        &self,
        program: &Program,
        arguments: &[String],
        cancel: &AtomicBool,
    ) -> Result<Value, NoAnswer> {
        let job = Job::new(&self.options.executable, self.options.limits)?;
        let name = format!("program.{}", program.language.extension());
        job.write(&name, &program.text)?;
        let mut words: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        words.extend(["--html", "page", "--sarif", "found", &name].map(OsStr::new));
        let Said { code, stdout, stderr } =
            job.run(&job.path(""), &["check", "--no-progress"], &words, cancel)?;
        let verdict = match code {
            Some(0) => "holds",
            Some(1) => "violated",
            Some(3) => "undecided",
            _ => "error",
        };
        let sarif = job.read("found").and_then(|text| serde_json::from_str(&text).ok());
        Ok(json!({
            "verdict": verdict,
            "text": format!("{stderr}{stdout}"),
            "marks": sarif.as_ref().map(marks).unwrap_or_default(),
            "page": job.read("page").filter(|_| verdict != "holds"),
        }))
    }
}

/// A question of the page.
#[derive(Deserialize)]
struct Asked {
    /// Which page asks.
    client: String,
    #[serde(flatten)]
    program: Program,
}

/// The arguments of `check` that a program asks for; a sentence if there are none such.
fn arguments(program: &Program) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    if let Some(model) = &program.model {
        if !MODELS.contains(&model.as_str()) {
            return Err(format!("there is no memory model `{model}`"));
        }
        words.extend(["--model".to_string(), model.clone()]);
    }
    for option in &program.options {
        match OPTIONS.iter().find(|known| *known == option) {
            Some(&"require-safe") => words.extend(["--require", "safe"].map(str::to_string)),
            Some(known) => words.push(format!("--{known}")),
            None => return Err(format!("there is no option `{option}`")),
        }
    }
    Ok(words)
}

/// The places of findings and messages, from SARIF.
fn marks(sarif: &Value) -> Vec<Value> {
    let results = sarif["runs"][0]["results"].as_array().cloned().unwrap_or_default();
    let mark = |result: &Value| {
        let region = &result["locations"][0]["physicalLocation"]["region"];
        let text = result["message"]["text"].as_str().unwrap_or_default();
        json!({
            "line": region["startLine"],
            "column": region["startColumn"],
            "level": result["level"],
            "code": result["ruleId"],
            "message": text.lines().next().unwrap_or_default(),
        })
    };
    results.iter().map(mark).collect()
}

fn header<'a>(request: &'a Request, name: &'static str) -> Option<&'a str> {
    let header = request.headers().iter().find(|header| header.field.equiv(name));
    header.map(|header| header.value.as_str())
}

/// Are two texts the same? How long it takes does not tell how much of them is.
fn same(one: &str, other: &str) -> bool {
    let bytes = one.bytes().zip(other.bytes());
    one.len() == other.len() && bytes.fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}
