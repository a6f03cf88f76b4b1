//! Checks files against every model: `cargo run --example verdicts -- corpus/litmus/sb-rlx.fp`.

use fencepost::{Model, Property, Question, check, parse};

const MODELS: [Model; 7] =
    [Model::Rc11, Model::Rc20, Model::Ra, Model::Sc, Model::Tso, Model::Pso, Model::Pgas];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let source = parse(&path, &std::fs::read_to_string(&path)?)?;
        for model in MODELS {
            let said = match check(&source, &Question::of(model)) {
                Err(_) => "has a construct that this model lacks".to_string(),
                Ok(answer) => {
                    let verdict = |property| answer.verdict(property).map(|v| v.name());
                    let robust = verdict(Property::Robustness).unwrap_or("-");
                    let assertions = verdict(Property::Assertions).unwrap_or("-");
                    format!("robustness {robust}, assertions {assertions}")
                }
            };
            println!("{path}, {}: {said}", model.name());
        }
    }
    Ok(())
}
