//! A sequence of byte strings, back to back in one allocation.

/// Byte strings in the order they came.
#[derive(Default)]
pub(super) struct Strings {
    bytes: Vec<u8>,
    /// Where each string ends.
    ends: Vec<u64>,
}

impl Strings {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string with this number.
    pub(super) fn get(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        &self.bytes[start..self.ends[id] as usize]
    }

    /// Adds a string and gives it a number.
    pub(super) fn push(&mut self, string: &[u8]) -> u32 {
        let id = u32::try_from(self.ends.len()).expect("memory runs out before numbers do");
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len() as u64);
        id
    }

    /// Bytes in use.
    pub(super) fn memory(&self) -> u64 {
        (self.bytes.len() + 8 * self.ends.len()) as u64
    }
}
