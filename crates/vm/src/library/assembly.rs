//! Assembly in C and Rust: barriers for the compiler, hints to the processor, and full fences. Anything else is refused.
//!
//! An empty template is a barrier for the compiler that also hides values from it: `asm("" : "+r"(x))` leaves `x` as it is, and
//! an output that no input is tied to has no value. Constraints are as LLVM writes them: outputs first (`=r`), then inputs, each
//! perhaps tied to an output by its number (`0`), then clobbers (`~{memory}`). What is accessed by address (`*m`) is given as an
//! argument also if it is an output, and is no result.

use crate::action::{Action, Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::value::Val;
use llvm::instruction::{InlineAsm, RmwOp};

impl Machine {
    /// Carries out some assembly; its result.
    pub(super) fn assembly(
        &mut self,
        local: &mut Local,
        asm: &InlineAsm,
        arguments: &[Val],
    ) -> Result<Val, Stop> {
        let text: String = asm.template.split(|c: char| c.is_whitespace() || c == ';').collect();
        let text = text.to_ascii_lowercase();
        match &*text {
            "" => Ok(results(&asm.constraints, arguments)),
            "pause" | "repnop" | "yield" | "nop" | "isb" | "isbsy" => Ok(Val::Undef),
            text if is_full_fence(text) => self.full_fence(local, asm),
            text => match (negated(text), arguments) {
                // An update of a variable of its own is a cheaper full fence to some.
                (Some(width), [address]) => {
                    let ones = Val::Bits((1 << width) - 1);
                    self.read_modify_write(
                        local,
                        (RmwOp::Xor, width),
                        address,
                        &ones,
                        Order::SeqCst,
                    )?;
                    self.full_fence(local, asm)
                }
                _ => Stop::refuse(format!("inline assembly: `{}`", asm.template)),
            },
        }
    }

    fn full_fence(&mut self, local: &mut Local, asm: &InlineAsm) -> Result<Val, Stop> {
        let text = asm.template.split_whitespace().collect::<Vec<_>>().join(" ");
        self.note(format!("the assembly `{text}` is taken for a seq_cst fence"));
        self.visible(local, Action::Fence { order: Order::SeqCst })?;
        Ok(Val::Undef)
    }
}

/// The width of what a `lock not` of the memory at its only operand negates, in bits.
fn negated(text: &str) -> Option<u32> {
    let (width, operand) = match text.strip_prefix("locknot")?.split_once("wordptr[$")? {
        ("d", operand) => (32, operand),
        ("q", operand) => (64, operand),
        _ => return None,
    };
    matches!(operand, "0]" | "{0}]" | "{0:q}]" | "{0:e}]").then_some(width)
}

/// Is it a full fence, or an update of the stack that is one? Without white space and semicolons, in lower case.
fn is_full_fence(text: &str) -> bool {
    if matches!(text, "mfence" | "dmbish" | "dmbsy" | "sync" | "fencerw,rw") {
        return true;
    }
    let operands = text.strip_prefix("lock").and_then(|rest| {
        ["addl", "addq", "add", "orl", "orq", "orb", "or"]
            .iter()
            .find_map(|op| rest.strip_prefix(op))
    });
    let place = operands
        .and_then(|rest| rest.strip_prefix("$$0x0,").or_else(|| rest.strip_prefix("$$0,")))
        .and_then(|rest| rest.strip_suffix("(%rsp)").or_else(|| rest.strip_suffix("(%esp)")));
    place.is_some_and(|offset| offset.is_empty() || offset.parse::<i32>().is_ok())
}

/// The results of an empty template: each the input that is tied to it.
fn results(constraints: &str, arguments: &[Val]) -> Val {
    let mut results = Vec::new();
    // The results by the numbers of outputs, which count those that are none.
    let (mut result_of, mut given) = (Vec::new(), arguments.iter());
    for constraint in constraints.split(',').filter(|it| !it.starts_with('~')) {
        let indirect = constraint.contains('*');
        if constraint.starts_with('=') {
            result_of.push((!indirect).then_some(results.len()));
            match indirect {
                true => drop(given.next()),
                false => results.push(Val::Undef),
            }
            continue;
        }
        let value = given.next().cloned().unwrap_or(Val::Undef);
        let tied = constraint.parse::<usize>().ok().and_then(|output| *result_of.get(output)?);
        if let Some(result) = tied {
            results[result] = value;
        }
    }
    match results.len() {
        0 => Val::Undef,
        1 => results.remove(0),
        _ => Val::Many(results.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_template_passes_tied_values_on() {
        let (a, b) = (Val::Bits(7), Val::Bits(8));
        let both = [a.clone(), b.clone()];
        assert_eq!(results("=r,0,~{memory}", &both[..1]), a);
        assert_eq!(results("=r,r", &both[..1]), Val::Undef);
        assert_eq!(results("~{memory},~{dirflag}", &[]), Val::Undef);
        assert_eq!(results("=r,=&r,1,0", &both), Val::Many([b.clone(), a].into()));
        // What is accessed by address is an argument and no result.
        assert_eq!(results("=*m,=r,1", &both), b);
        assert_eq!(results("=*m,*m,~{memory}", &both), Val::Undef);
    }

    #[test]
    fn negations_have_a_width() {
        assert_eq!(negated("locknotqwordptr[${0:q}]"), Some(64));
        assert_eq!(negated("locknotdwordptr[$0]"), Some(32));
        for other in ["locknotqwordptr[${1:q}]", "notqwordptr[$0]", "locknotwordptr[$0]"] {
            assert_eq!(negated(other), None, "{other}");
        }
    }

    #[test]
    fn full_fences_are_known() {
        for fence in ["mfence", "dmbish", "lockaddl$$0,0(%rsp)", "lockorl$$0,(%esp)"] {
            assert!(is_full_fence(fence), "{fence}");
        }
        assert!(is_full_fence("lockaddq$$0x0,-4(%rsp)"));
        for other in ["lockaddl$$1,(%rsp)", "lockaddl$$0,(%rax)", "addl$$0,(%rsp)", "lfence"] {
            assert!(!is_full_fence(other), "{other}");
        }
    }
}
