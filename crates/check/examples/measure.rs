//! Explores a program and prints how large its state space is.
use check::product::Product;
use check::reduce::Reductions;
use model::analysis::symmetry::{self, Symmetries};
use model::analysis::values::PossibleValues;
use model::memory::Memory;
use model::memory::rc20::columns::Track;
use model::memory::rc20::{Rc20, Robustness};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (model, reduce, jobs, file) = (&args[1], &args[2], args[3].parse().unwrap(), &args[4]);
    let text = std::fs::read_to_string(file).unwrap();
    let source = lang::parse(file, &text).unwrap_or_else(|e| panic!("{e:?}"));
    let program = if model.starts_with("ra") { source.program.release_acquire() } else { source.program };
    let reductions: Reductions = reduce.parse().unwrap();
    let symmetries =
        if reductions.symmetry { symmetry::find(&program) } else { Symmetries::trivial(&program) };
    let mut possible = PossibleValues::of(&program);
    symmetries.close(&program, &mut possible);
    let options = search::Options { jobs, ..Default::default() };
    let group = symmetries.elements.len();
    let observe = |p: &search::Progress| eprint!("\r{} states depth {} {} MB   ", p.states, p.depth, p.bytes >> 20);
    if model == "sc" {
        let memory = model::memory::sc::Sc::new(&program, &possible);
        let product = Product::new(&program, &possible, &symmetries, memory, reductions);
        let report = search::explore(&product, &options, &observe);
        print(&report, group, search::Model::state_bytes(&product));
    } else {
        let kind = if model.ends_with("-o") { Robustness::Observational } else { Robustness::Plain };
        let memory = Rc20::new(&program, &possible, kind, Track::Critical);
        eprintln!("bits {} + {}", memory.bits(), memory.monitor_bits());
        let product = Product::new(&program, &possible, &symmetries, memory, reductions);
        let report = search::explore(&product, &options, &observe);
        print(&report, group, search::Model::state_bytes(&product));
    }
}

fn print<F: std::fmt::Debug>(report: &search::Report<F>, group: usize, width: usize) {
    let p = &report.progress;
    let s = p.elapsed.as_secs_f64();
    println!(
        "\n{} states {} transitions depth {} in {s:.2} s, {:.2} M/s, {} bytes/state of {width}, {} MB, group {group}, findings {:?}",
        p.states, p.transitions, p.depth, p.states as f64 / s / 1e6,
        p.bytes / p.states.max(1), p.bytes >> 20,
        report.findings.iter().map(|f| (&f.finding, f.path.len())).collect::<Vec<_>>()
    );
}
