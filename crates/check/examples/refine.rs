//! Refinement with numbers: `refine PENDING FILE…`

use check::refinement::{Settings, refines};
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let pending = args.next().and_then(|n| n.parse().ok()).unwrap_or(2);
    let files: Vec<(String, String)> = args
        .map(|path| (path.clone(), std::fs::read_to_string(&path).expect("a readable file")))
        .collect();
    let project = match lang::library::parse(&files, None) {
        Ok(project) => project,
        Err(unusable) => {
            eprintln!("{}", unusable.render(false));
            std::process::exit(2);
        }
    };
    let history_only = std::env::var("HISTORY_ONLY").is_ok();
    for pair in &project.pairs {
        let start = Instant::now();
        let own_space = pair.own_space;
        let settings = Settings { pending, history_only, own_space, ..Settings::default() };
        let (first, second) = (&pair.implementation.system, &pair.specification.system);
        let mut last = Instant::now();
        let answer = refines(first, second, &settings, &mut |statistics| {
            if last.elapsed().as_secs() >= 10 {
                last = Instant::now();
                eprintln!("{:?} {statistics:?}", start.elapsed());
            }
            true
        });
        println!("{} {:?} {:?}", pair.name, start.elapsed(), answer.statistics);
        println!("{:#?}", answer.verdict);
    }
}
