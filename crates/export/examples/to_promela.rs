//! Prints programs as Promela: `to_promela FILE…`.

fn main() {
    let mut failed = false;
    for file in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{file}: {error}");
                failed = true;
                continue;
            }
        };
        match lang::parse(&file, &text).map(|source| export::promela(&source.program)) {
            Ok(Ok(promela)) => print!("{promela}"),
            Ok(Err(error)) => {
                eprintln!("{file}: {error}");
                failed = true;
            }
            Err(diagnostics) => {
                eprintln!("{file}: {} errors", diagnostics.len());
                failed = true;
            }
        }
    }
    if failed {
        std::process::exit(2);
    }
}
