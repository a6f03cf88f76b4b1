//! A visited set for one worker that numbers its byte strings, each once, in the order in which they come.

use crate::Width;
use crate::visited::{Id, Inserted, Visited};

/// Byte strings in the order in which they came.
pub struct Numbered(Visited);

impl Default for Numbered {
    fn default() -> Self {
        Numbered(Visited::new(Width::Varying, 1))
    }
}

impl Numbered {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len_of(0) as usize
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The string with this number.
    pub fn get(&self, number: u32) -> &[u8] {
        self.0.get(Id { worker: 0, index: number })
    }

    /// The number of a string, if it is there.
    pub fn find(&self, string: &[u8]) -> Option<u32> {
        self.0.enter(0).find(string).map(|id| id.index)
    }

    /// The number of a string, and whether it is new.
    pub fn insert(&mut self, string: &[u8]) -> (u32, bool) {
        let (inserted, crowded) = {
            let worker = self.0.enter(0);
            (worker.insert(string), worker.is_crowded())
        };
        if crowded {
            self.0.grow();
        }
        assert!(!self.0.is_full(), "there is no more memory");
        match inserted {
            Inserted::New(id) => (id.index, true),
            Inserted::Known(id) => (id.index, false),
            Inserted::Full => unreachable!("the set is not full"),
        }
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Catches numbers that change, and strings that are lost, when the table grows.
    #[test]
    fn strings_keep_their_numbers() {
        let count: u32 = if cfg!(miri) { 200 } else { 50_000 };
        let string = |k: u32| vec![k as u8; 1 + k as usize % 7].into_iter().chain(k.to_le_bytes());
        let mut numbered = Numbered::default();
        for round in 0..2 {
            for k in 0..count {
                let string: Vec<u8> = string(k).collect();
                assert_eq!(numbered.find(&string), (round > 0).then_some(k));
                assert_eq!(numbered.insert(&string), (k, round == 0));
                assert_eq!(numbered.get(k), string);
            }
        }
        assert_eq!(numbered.len(), count as usize);
    }
}
