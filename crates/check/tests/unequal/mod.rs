//! Makes random programs less even: unequal initial values, arrays that are too short for some of
//! their indices, arithmetic that has an edge, assertions that fail. Reductions that assume one of
//! these away look right on even programs.

use model::random::Generator;
use model::{Edge, Instr, Place, Program};

/// What was made uneven.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uneven {
    /// Initial values that are not 0.
    pub values: bool,
    /// Arrays that are too short.
    pub arrays: bool,
    /// Results that do not fit are errors.
    pub edge: bool,
}

/// Makes `program` uneven, as `seed` says.
pub fn make_uneven(program: &mut Program, seed: u64) -> Uneven {
    let mut random = Generator { state: seed ^ 0x9e37_79b9_7f4a_7c15 };
    let mut done = Uneven::default();
    if random.below(4) > 0 {
        let max = program.domain.max as usize;
        for location in &mut program.locations {
            location.initial = random.below(max + 1) as i32;
            done.values |= location.initial != 0;
        }
    }
    if random.below(3) == 0 {
        for step in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
            if let Some(place) = place_of(&mut step.instr)
                && place.index.is_some()
                && place.len > 1
                && random.below(2) == 0
            {
                place.len -= 1;
                done.arrays = true;
            }
        }
    }
    if random.below(4) == 0 {
        program.domain.edge = Edge::Fault;
        done.edge = true;
    }
    done
}

/// The place that an access is to.
fn place_of(instr: &mut Instr) -> Option<&mut Place> {
    match instr {
        Instr::Load { place, .. }
        | Instr::Store { place, .. }
        | Instr::Rmw { place, .. }
        | Instr::Cas { place, .. }
        | Instr::BlockingCas { place, .. }
        | Instr::Wait { place, .. } => Some(place),
        _ => None,
    }
}
