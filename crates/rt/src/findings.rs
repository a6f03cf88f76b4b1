//! What is told, once, and to whom.
//!
//! A finding is written as a line of JSON with addresses instead of names; whoever reads it has the
//! binaries and the time to look them up. Under `fencepost run` the lines go to a file as they come.
//! Otherwise they go to a process of `fencepost` that prints them as they come ([`crate::printer`]). So whatever
//! ends the program, what was found before is told.

use crate::heap::{self, Block};
use crate::printer;
use crate::registry;
use clocks::access::Doubt;
use clocks::hash::BuildMixer;
use clocks::replay::Way;
use clocks::trace::{self, Event};
use clocks::{Order, Site, Tid};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A load, or a compare-and-swap that fails, may read an old value.
    StaleRead,
    /// A store may come before one that is there already.
    StaleWrite,
    /// A read-modify-write may.
    StaleUpdate,
    /// Two accesses, one of them plain, are not ordered.
    Race,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Plain read.
    Read,
    /// Plain write.
    Write,
    /// Some atomic read.
    AtomicRead,
    /// Some atomic write.
    AtomicWrite,
    /// Atomic load.
    Load,
    /// Atomic store.
    Store,
    /// Exchange.
    Exchange,
    /// Fetch-and-something.
    Fetch,
    /// Compare-and-swap.
    Cas,
    /// `fencepost_wait`.
    Wait,
}

impl Kind {
    /// How reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::StaleRead => "stale-read",
            Kind::StaleWrite => "stale-write",
            Kind::StaleUpdate => "stale-update",
            Kind::Race => "race",
        }
    }
}

impl Operation {
    const ALL: [Operation; 10] = [
        Operation::Read,
        Operation::Write,
        Operation::AtomicRead,
        Operation::AtomicWrite,
        Operation::Load,
        Operation::Store,
        Operation::Exchange,
        Operation::Fetch,
        Operation::Cas,
        Operation::Wait,
    ];

    /// The operation with this number in a recording.
    pub fn from_number(number: u8) -> Operation {
        Operation::ALL.get(usize::from(number)).copied().unwrap_or(Operation::Read)
    }

    /// One of the accesses of a race.
    pub fn of(way: Way) -> Operation {
        match (way.atomic, way.writes) {
            (false, false) => Operation::Read,
            (false, true) => Operation::Write,
            (true, false) => Operation::AtomicRead,
            (true, true) => Operation::AtomicWrite,
        }
    }

    /// What is wrong if this operation goes wrong.
    pub fn kind(self, overtakes: bool) -> Kind {
        match self {
            Operation::Store => Kind::StaleWrite,
            Operation::Exchange | Operation::Fetch => Kind::StaleUpdate,
            Operation::Cas if overtakes => Kind::StaleUpdate,
            _ => Kind::StaleRead,
        }
    }

    /// How reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::AtomicRead => "atomic read",
            Operation::AtomicWrite => "atomic write",
            Operation::Load => "load",
            Operation::Store => "store",
            Operation::Exchange => "exchange",
            Operation::Fetch => "fetch-and-modify",
            Operation::Cas => "compare-and-swap",
            Operation::Wait => "wait",
        }
    }
}

/// One of the two accesses.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Who.
    pub thread: Tid,
    /// What.
    pub operation: Operation,
    /// In which order, if it is known.
    pub order: Option<Order>,
    /// Where.
    pub site: Site,
    /// In which epoch of the thread, if that is known.
    pub epoch: Option<u64>,
}

impl Access {
    /// By the thread that runs.
    pub fn by(
        thread: &crate::thread::Thread,
        operation: Operation,
        order: Option<Order>,
        site: Site,
    ) -> Access {
        let epoch = Some(thread.epoch.epoch());
        Access { thread: thread.tid, operation, order, site, epoch }
    }
}

/// A finding.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// With which bytes.
    pub address: usize,
    /// How many.
    pub size: usize,
    /// The access at fault.
    pub access: Access,
    /// The locks that its thread holds: where they are, and where they were taken.
    pub locks: Vec<(usize, Site)>,
    /// What it misses or races with.
    pub other: Option<Access>,
    /// What the missed write wrote.
    pub value: Option<u64>,
    /// Values it may read instead.
    pub stale: Vec<u64>,
    /// Does anything that the thread does depend on these values, as far as that is known?
    pub used: Option<bool>,
    /// Would it be nothing new if this compare-and-swap failed for no reason, as weak ones may?
    pub may_fail: bool,
    /// The load that a race needs to be stale.
    pub doubt: Option<Doubt>,
}

/// Kinds of findings and their places.
type Seen = HashSet<(Kind, usize, usize), BuildMixer>;

/// How many findings there were.
pub static COUNT: AtomicUsize = AtomicUsize::new(0);
static SEEN: Mutex<Option<Seen>> = Mutex::new(None);
static BUFFER: Mutex<String> = Mutex::new(String::new());
static FINISHED: AtomicBool = AtomicBool::new(false);

/// Tells of a finding, unless the same two places were told of before. The caller is busy.
pub fn report(finding: &Finding) {
    if finding.kind == Kind::Race && registry::is_tolerated(finding.address, finding.size) {
        return;
    }
    let tree = registry::tree();
    let pcs = (tree.pc(finding.access.site), finding.other.map_or(0, |other| tree.pc(other.site)));
    {
        let mut seen = SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let key = match finding.kind {
            // Either access may come second.
            Kind::Race => (finding.kind, pcs.0.min(pcs.1), pcs.0.max(pcs.1)),
            kind => (kind, pcs.0, pcs.1),
        };
        if !seen.get_or_insert_default().insert(key) {
            return;
        }
    }
    COUNT.fetch_add(1, Ordering::Relaxed);
    emit(&format!("{}{}\n", maps(), finding.json()));
    if registry::options().halt_on_error {
        finish();
        // SAFETY: ends the process.
        unsafe { libc::_exit(registry::options().exitcode) };
    }
}

impl Finding {
    fn json(&self) -> String {
        let kind = self.kind.name();
        let access = |access: &Access| {
            let order = access.order.map_or("null".into(), |order| format!("\"{}\"", order.name()));
            let created = registry::creation(access.thread, access.epoch);
            let created = created.map_or("null".into(), |creation| {
                format!("{{\"by\":{},\"stack\":{}}}", creation.by, stack(creation.site))
            });
            format!(
                "{{\"thread\":{},\"operation\":\"{}\",\"order\":{order},\"stack\":{},\
                 \"created\":{created}}}",
                access.thread,
                access.operation.name(),
                stack(access.site)
            )
        };
        let locks: Vec<String> =
            self.locks.iter().map(|&(address, site)| known(address, site)).collect();
        let block = heap::block_of(self.address).map_or("null".into(), |block| {
            let Block { address, size, site } = block;
            format!("{{\"address\":{address},\"size\":{size},\"stack\":{}}}", stack(site))
        });
        let other = self.other.as_ref().map_or("null".into(), access);
        let value = self.value.map_or("null".into(), |value| value.to_string());
        let used = self.used.map_or("null".into(), |used| used.to_string());
        let doubt = self.doubt.map_or("null".into(), |doubt| {
            let older = doubt.older.map_or("null".into(), stack);
            format!("{{\"load\":{},\"older\":{older}}}", stack(doubt.site))
        });
        format!(
            "{{\"kind\":\"{kind}\",\"pid\":{},\"address\":{},\"size\":{},\"access\":{},\
             \"other\":{other},\"value\":{value},\"stale\":{:?},\"used\":{used},\"may_fail\":{},\
             \"doubt\":{doubt},\"locks\":[{}],\"block\":{block}}}",
            std::process::id(),
            self.address,
            self.size,
            access(&self.access),
            self.stale,
            self.may_fail,
            locks.join(","),
        )
    }
}

/// Something at an address, and where it was last dealt with.
fn known(address: usize, site: Site) -> String {
    format!("{{\"address\":{address},\"stack\":{}}}", stack(site))
}

fn stack(site: Site) -> String {
    format!("{:?}", registry::tree().stack(site))
}

/// What is mapped where, as a line of JSON.
fn maps() -> String {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut line = String::from("{\"maps\":[");
    let mut first = true;
    for entry in text.lines() {
        let mut fields = entry.split_ascii_whitespace();
        let (Some(range), Some(access), Some(offset)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let path = fields.skip(2).collect::<Vec<_>>().join(" ");
        if !access.contains('x') || !path.starts_with('/') {
            continue;
        }
        let Some((start, end)) = range.split_once('-') else { continue };
        let path = path.replace('\\', "\\\\").replace('"', "\\\"");
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        let _ = write!(line, "{comma}[\"{start}\",\"{end}\",\"{offset}\",\"{path}\"]");
    }
    line.push_str("]}\n");
    line
}

fn emit(text: &str) {
    if let Some(path) = &registry::options().raw {
        let file = OpenOptions::new().append(true).create(true).open(path);
        if file.and_then(|mut file| file.write_all(text.as_bytes())).is_ok() {
            return;
        }
    }
    if registry::options().raw.is_some() || !printer::print(text) {
        BUFFER.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push_str(text);
    }
}

/// Something that the analysis had to give up, so that what it finds may not be all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// There were too many sets of readers.
    Readers,
    /// There were too many threads.
    Threads,
}

/// Which losses were told.
static LOST: AtomicUsize = AtomicUsize::new(0);

/// Tells of a loss, once. The caller is busy.
#[cold]
pub fn lost(loss: Loss) {
    let bit = 1 << loss as usize;
    if LOST.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
        return;
    }
    let what = match loss {
        Loss::Readers => {
            "there were too many sets of threads that read the same bytes: some reads were forgotten, and \
             races with them are missed (option reader_sets)"
        }
        Loss::Threads => {
            "there were too many threads: some are taken to come after others that ended, and what they do \
             wrong may be missed"
        }
    };
    match registry::options().raw {
        Some(_) => emit(&format!("{{\"lost\":\"{what}\"}}\n")),
        None => complain(what),
    }
}

/// Says to whoever runs the program that it is one of ours.
pub fn hello() {
    if registry::options().raw.is_some() {
        emit(&format!("{{\"hello\":{}}}\n", std::process::id()));
    }
}

/// The program has ended, or is about to.
pub fn finish() {
    if FINISHED.swap(true, Ordering::SeqCst) {
        return;
    }
    if registry::options().count_shared_locks {
        complain(&format!("shared locks were taken {} times", registry::shared_turns()));
    }
    let buffered = std::mem::take(&mut *BUFFER.lock().unwrap_or_else(|p| p.into_inner()));
    if !buffered.is_empty() {
        fallback(&buffered);
    }
    printer::finish();
    if registry::options().raw.is_some() && crate::schedule::steps() > 0 {
        emit(&format!("{{\"steps\":{}}}\n", crate::schedule::steps()));
    }
    if registry::options().record.is_some() {
        let trailer = maps();
        let nodes = registry::tree().all();
        let mut state = registry::lock();
        if let Some(recorder) = &mut state.recorder {
            recorder.end(&nodes, &trailer);
        }
    }
}

/// Keeps others from telling, as long as what is returned lives.
pub fn hold() -> impl Sized {
    let seen = SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    (seen, printer::hold(), BUFFER.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// A child process starts with no findings of its own.
pub fn forked() {
    BUFFER.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
    printer::forked();
    COUNT.store(0, Ordering::Relaxed);
    FINISHED.store(false, Ordering::Relaxed);
    hello();
}

/// Without `fencepost` at hand, the lines as they are.
fn fallback(findings: &str) {
    complain("findings, as `fencepost report-raw` reads them:");
    let _ = std::io::stderr().write_all(findings.as_bytes());
}

/// Writes to standard error. If nobody listens there, the program runs as it would without us.
pub fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "fencepost: {message}");
}

/// Something is so wrong that the program cannot go on.
pub fn die(message: &str) -> ! {
    complain(message);
    // SAFETY: ends the process.
    unsafe { libc::_exit(2) }
}

/// Writes events to a file.
pub struct Recorder {
    file: BufWriter<File>,
    bytes: Vec<u8>,
}

impl Recorder {
    /// To this file.
    pub fn new(path: &str) -> std::io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 16, File::create(path)?);
        file.write_all(trace::MAGIC)?;
        Ok(Recorder { file, bytes: Vec::new() })
    }

    /// One more event.
    pub fn record(&mut self, event: &Event) {
        self.bytes.clear();
        event.encode(&mut self.bytes);
        let _ = self.file.write_all(&self.bytes);
        // A program that is killed has then told of every transaction that it began.
        if let Event::Transaction { .. } = event {
            let _ = self.file.flush();
        }
    }

    fn end(&mut self, nodes: &[(Site, usize)], maps: &str) {
        self.record(&Event::End {
            nodes: nodes.iter().map(|&(parent, pc)| (parent, pc as u64)).collect(),
            maps: maps.to_string(),
        });
        let _ = self.file.flush();
    }
}
