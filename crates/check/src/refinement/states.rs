//! Byte strings with numbers: a sequence, and a set that never forgets, for states and for sets of
//! states.

use xxhash_rust::xxh3::xxh3_64;

/// Byte strings in the order they came.
#[derive(Default)]
pub struct Arena {
    bytes: Vec<u8>,
    /// Where each string ends.
    ends: Vec<u64>,
}

impl Arena {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string with this number.
    pub fn get(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        &self.bytes[start..self.ends[id] as usize]
    }

    /// Adds a string and gives it a number.
    pub fn push(&mut self, string: &[u8]) -> u32 {
        let id = u32::try_from(self.ends.len()).expect("memory runs out before numbers do");
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len() as u64);
        id
    }

    /// Bytes in use.
    pub fn memory(&self) -> u64 {
        (self.bytes.len() + 8 * self.ends.len()) as u64
    }
}

/// Byte strings in the order they came, each once.
#[derive(Default)]
pub struct States {
    strings: Arena,
    /// Numbers plus one, by hash; 0 is free.
    table: Vec<u32>,
}

impl States {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.strings.len()
    }

    /// The string with this number.
    pub fn get(&self, id: u32) -> &[u8] {
        self.strings.get(id)
    }

    /// The number of a string, if it is there.
    pub fn find(&self, string: &[u8]) -> Option<u32> {
        let mask = self.table.len().checked_sub(1)?;
        let mut slot = xxh3_64(string) as usize & mask;
        loop {
            match self.table[slot] {
                0 => return None,
                found if self.get(found - 1) == string => return Some(found - 1),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// The number of a string, and whether it is new.
    pub fn insert(&mut self, string: &[u8]) -> (u32, bool) {
        if (self.len() + 1) * 4 > self.table.len() * 3 {
            self.grow();
        }
        let mask = self.table.len() - 1;
        let mut slot = xxh3_64(string) as usize & mask;
        loop {
            match self.table[slot] {
                0 => break,
                found if self.get(found - 1) == string => return (found - 1, false),
                _ => slot = (slot + 1) & mask,
            }
        }
        let id = self.strings.push(string);
        self.table[slot] = id + 1;
        (id, true)
    }

    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(1 << 10);
        let mut table = vec![0; size];
        for id in 0..self.len() as u32 {
            let mut slot = xxh3_64(self.get(id)) as usize & (size - 1);
            while table[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            table[slot] = id + 1;
        }
        self.table = table;
    }

    /// Bytes in use.
    pub fn memory(&self) -> u64 {
        self.strings.memory() + 4 * self.table.len() as u64
    }
}
