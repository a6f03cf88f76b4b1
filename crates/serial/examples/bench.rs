//! The figures of the monitors, measured in one run. Times are processor time of this process, which
//! has one thread: on an idle machine the same as time on the wall.
//!
//! `cargo run --release -p fencepost-serial --example bench [-- quick]`

extern crate fencepost_serial as serial;

use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufReader, Read, Write};
use std::time::{Duration, Instant};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use serial::event::{Action, Event, Names};
use serial::execution::{ExecutionMonitor, Question};
use serial::machine::Machine;
use serial::random::{Shape, Style};
use serial::read::Reader;
use serial::trace;

fn main() {
    let quick = std::env::args().any(|arg| arg == "quick");
    let scale = if quick { 10 } else { 1 };
    executions(10_000_000 / scale, Style::Locked);
    executions(10_000_000 / scale, Style::Published);
    executions_from_text(10_000_000 / scale);
    for events in [100_000, 1_000_000, 10_000_000 / scale] {
        for style in [Style::Locked, Style::Published] {
            traces(events, 4, 6, style);
        }
    }
    for style in [Style::Locked, Style::Published] {
        traces(100_000 / scale, 8, 12, style);
    }
    baseline(250_000 / scale, Edges::All);
    baseline(10_000_000 / scale, Edges::Nearest);
}

fn execution(events: usize, style: Style) -> Shape {
    Shape { threads: 8, vars: 1_000, events, transaction: 5, commits: true, style, seed: 1 }
}

fn rate(events: u64, time: Duration) -> f64 {
    events as f64 / time.as_secs_f64() / 1e6
}

/// Events made on the fly, so that the memory measured is the monitor's.
fn executions(events: usize, style: Style) {
    println!(
        "executions ({style:?}): {events} events, 8 threads, 1,000 variables, transactions of 5"
    );
    for question in Question::ALL {
        let mut monitor = ExecutionMonitor::new(question);
        let mut generating = Duration::ZERO;
        let start = Clock::start();
        execution(events, style).generate(|event| {
            black_box(event);
        });
        generating += start.elapsed();
        let start = Clock::start();
        let mut memory = Vec::new();
        execution(events, style).generate(|event| {
            monitor.step(&event);
            if monitor.load().events.is_multiple_of(events as u64 / 4) {
                memory.push((resident(), monitor.load().live));
            }
        });
        let time = start.elapsed().saturating_sub(generating);
        let load = monitor.load();
        println!(
            "  {:<17} {:>6.2} s  {:>6.2} M events/s  {} | live at most {}, memory (MB, live): {}",
            question.text(),
            time.as_secs_f64(),
            rate(load.events, time),
            if monitor.violation().is_none() { "yes" } else { "no" },
            load.peak,
            memory
                .iter()
                .map(|(mb, live)| format!("{mb:.0} ({live})"))
                .collect::<Vec<_>>()
                .join(" "),
        );
    }
}

/// The same through the text format: reading, checking the buffers, all three monitors.
fn executions_from_text(events: usize) {
    let path = std::env::temp_dir().join(format!("fencepost-serial-bench-{}", std::process::id()));
    let shape = execution(events, Style::Locked);
    let names = shape.names();
    let written = write_file(&path, &shape, &names);
    if let Err(error) = written {
        println!("  cannot write {}: {error}", path.display());
        return;
    }
    for questions in [&Question::ALL[..1], &Question::ALL[..]] {
        let Ok(file) = std::fs::File::open(&path) else { return };
        let start = Clock::start();
        let mut reader = Reader::new(BufReader::with_capacity(1 << 16, file));
        let mut buffers = Machine::default();
        let mut monitors: Vec<ExecutionMonitor> =
            questions.iter().map(|&question| ExecutionMonitor::new(question)).collect();
        while let Some(Ok(event)) = reader.next() {
            buffers.step(&event, reader.names()).expect("a valid execution");
            monitors.iter_mut().for_each(|monitor| monitor.step(&event));
        }
        let time = start.elapsed();
        let seen = monitors[0].load().events;
        println!(
            "  from a text file, {} question(s): {:.2} s, {:.2} M events/s, {:.0} MB",
            questions.len(),
            time.as_secs_f64(),
            rate(seen, time),
            resident()
        );
    }
    std::fs::remove_file(&path).ok();
}

fn write_file(path: &std::path::Path, shape: &Shape, names: &Names) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut result = Ok(());
    shape.generate(|event| {
        if result.is_ok() {
            result = writeln!(out, "{}", names.show_line(&event));
        }
    });
    result.and_then(|()| out.flush())
}

fn traces(events: usize, threads: usize, vars: usize, style: Style) {
    println!(
        "traces ({style:?}): {events} events, {threads} threads, {vars} variables, transactions of 5"
    );
    let shape = Shape { threads, vars, events, transaction: 5, commits: false, style, seed: 2 };
    let trace = shape.events();
    for question in Question::ALL {
        let start = Clock::start();
        let answer = trace::judge(question, &trace);
        let time = start.elapsed();
        println!(
            "  {:<17} {:>6.2} s  {:>6.2} M events/s  {} | {:?}, {:.0} MB",
            question.text(),
            time.as_secs_f64(),
            rate(trace.len() as u64, time),
            if answer.violation.is_none() { "yes" } else { "no" },
            answer.effort,
            resident()
        );
    }
}

/// Which conflicts the baseline draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edges {
    /// Every pair, as the definition says.
    All,
    /// Only with the accesses since the last commit to the variable; the others follow.
    Nearest,
}

/// Build the whole conflict graph over transactions, then ask petgraph for its components.
fn baseline(events: usize, edges: Edges) {
    println!(
        "baseline: the whole conflict graph ({edges:?}), then petgraph's SCC, {events} events"
    );
    let recording = execution(events, Style::Locked).events();
    let start = Clock::start();
    let mut monitor = ExecutionMonitor::new(Question::TsoSerializable);
    recording.iter().for_each(|event| monitor.step(event));
    let ours = start.elapsed();
    let before = resident();
    let start = Clock::start();
    let graph = whole_graph(&recording, edges);
    let built = start.elapsed();
    let cyclic = tarjan_scc(&graph).iter().any(|component| component.len() > 1);
    let theirs = start.elapsed();
    println!(
        "  monitor  {:>6.2} s  ({}; at most {} transactions alive)",
        ours.as_secs_f64(),
        if monitor.violation().is_none() { "yes" } else { "no" },
        monitor.load().peak
    );
    println!(
        "  baseline {:>6.2} s  ({}; {} transactions, {} edges, {:.0} MB more; {:.2} s to build)",
        theirs.as_secs_f64(),
        if cyclic { "no" } else { "yes" },
        graph.node_count(),
        graph.edge_count(),
        resident() - before,
        built.as_secs_f64()
    );
}

fn whole_graph(recording: &[Event], edges: Edges) -> DiGraph<(), ()> {
    let mut graph = DiGraph::new();
    let mut open: HashMap<u32, NodeIndex> = HashMap::new();
    let mut buffers: HashMap<u32, std::collections::VecDeque<NodeIndex>> = HashMap::new();
    let mut last_of_thread: HashMap<u32, NodeIndex> = HashMap::new();
    let mut accesses: HashMap<u32, Vec<(u32, bool, NodeIndex)>> = HashMap::new();
    for event in recording {
        let thread = event.thread.0;
        let node = match event.action {
            Action::Begin(_) => {
                open.insert(thread, graph.add_node(()));
                continue;
            }
            Action::End => {
                open.remove(&thread);
                continue;
            }
            Action::Commit(_) => buffers.get_mut(&thread).and_then(|buffer| buffer.pop_front()),
            _ => None,
        };
        let node =
            node.or_else(|| open.get(&thread).copied()).unwrap_or_else(|| graph.add_node(()));
        if !matches!(event.action, Action::Commit(_))
            && let Some(last) = last_of_thread.insert(thread, node).filter(|&last| last != node)
        {
            graph.add_edge(last, node, ());
        }
        let (var, write) = match event.action {
            Action::Write(_) => {
                buffers.entry(thread).or_default().push_back(node);
                continue;
            }
            Action::Read(x) => (x.0, false),
            Action::Commit(x) => (x.0, true),
            _ => continue,
        };
        let earlier = accesses.entry(var).or_default();
        for &(_, _, other) in earlier
            .iter()
            .filter(|&&(who, wrote, other)| who != thread && (wrote || write) && other != node)
        {
            graph.add_edge(other, node, ());
        }
        if write && edges == Edges::Nearest {
            earlier.clear();
        }
        earlier.push((thread, write, node));
    }
    graph
}

/// Processor time where the system tells, else time on the wall.
struct Clock {
    wall: Instant,
    processor: Option<Duration>,
}

impl Clock {
    fn start() -> Self {
        Clock { wall: Instant::now(), processor: processor_time() }
    }

    fn elapsed(&self) -> Duration {
        match (self.processor, processor_time()) {
            (Some(start), Some(now)) => now.saturating_sub(start),
            _ => self.wall.elapsed(),
        }
    }
}

/// In ticks of a hundredth of a second, which is what Linux counts in.
fn processor_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * ticks))
}

/// Resident memory in MB, where the system tells.
fn resident() -> f64 {
    let mut status = String::new();
    if std::fs::File::open("/proc/self/status")
        .and_then(|mut file| file.read_to_string(&mut status))
        .is_err()
    {
        return f64::NAN;
    }
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}
