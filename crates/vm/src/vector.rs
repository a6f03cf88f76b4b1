//! Vectors as numbers and back: the same bits, divided in another way.
//!
//! Compilers compare many bytes at once and look at the result as one number (Rust's `HashMap` does). The first element has
//! the lowest bits, as on all machines that programs are compiled for here.

use crate::action::Stop;
use crate::machine::Machine;
use crate::value::{Bits, Val};
use llvm::Ty;

/// Numbers of more bits than this are not made of vectors.
const WIDEST: u32 = 128;

impl Machine {
    /// The bits of a value as a value of another type, if one of both is a vector and they fit into a number.
    pub(crate) fn reinterpret(&self, from: Ty, value: &Val, to: Ty) -> Result<Option<Val>, Stop> {
        let (sources, targets) = (self.elements(from)?, self.elements(to)?);
        let (Some(sources), Some(targets)) = (sources, targets) else { return Ok(None) };
        let width = sources.iter().sum::<u32>();
        if width > WIDEST || width != targets.iter().sum::<u32>() {
            return Ok(None);
        }
        let (mut bits, mut at) = (Bits::default(), 0);
        for (k, width) in sources.iter().enumerate() {
            let element = match value {
                Val::Many(elements) => elements.get(k).map_or(Val::Undef, Val::clone),
                single => single.clone(),
            };
            bits = bits.join(element.word().bits().low(*width).up(at));
            at += width;
        }
        let mut elements = targets.iter().scan(0, |at, width| {
            let element = bits.down(*at).word(*width);
            *at += width;
            Some(Val::from(element))
        });
        Ok(match self.parts(to)? {
            Some(_) => Some(Val::Many(elements.collect())),
            None => elements.next(),
        })
    }

    /// The widths of a vector's elements, or of a number alone.
    fn elements(&self, ty: Ty) -> Result<Option<Vec<u32>>, Stop> {
        let Some(parts) = self.parts(ty)? else { return Ok(Some(vec![self.width(ty)?])) };
        let mut widths = Vec::with_capacity(parts.len());
        for (part, _) in parts {
            if self.parts(part)?.is_some() {
                return Ok(None);
            }
            widths.push(self.width(part)?);
        }
        Ok(Some(widths))
    }
}
