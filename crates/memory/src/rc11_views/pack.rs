//! States as bytes, for sets of them.
//!
//! First the length of the *core* and the core itself: the threads' local states, how many markers
//! each has on their way, and which have reached whom. Then all that [`simulation`](super::simulation) compares:
//! positions, counts and writes. Nearly all numbers are below 255 and take a byte; a frontier that is
//! all 0 takes one byte as well.

use super::{Awareness, Frontier, Local, Machine, State, Status, Views, Write};
use ir::expr::Fault;
use ir::ids::{Pc, Value};
use smallvec::SmallVec;

/// A number that does not fit a byte follows this one.
const MORE: u8 = 255;

fn put(bytes: &mut Vec<u8>, number: u64) {
    match u8::try_from(number) {
        Ok(byte) if byte != MORE => bytes.push(byte),
        _ => {
            bytes.push(MORE);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
}

fn put_frontier(bytes: &mut Vec<u8>, frontier: &[u8]) {
    let matters = frontier.iter().any(|&entry| entry != 0);
    bytes.push(u8::from(matters));
    if matters {
        bytes.extend_from_slice(frontier);
    }
}

/// Reads what was written.
pub(super) struct Reader<'b> {
    pub(super) bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    #[inline(always)]
    pub(super) fn byte(&mut self) -> u8 {
        let (&first, rest) = self.bytes.split_first().expect("a packed state is complete");
        self.bytes = rest;
        first
    }

    #[inline(always)]
    pub(super) fn take(&mut self, count: usize) -> &'b [u8] {
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        taken
    }

    #[inline(always)]
    pub(super) fn number(&mut self) -> u64 {
        match self.byte() {
            MORE => u64::from_le_bytes(*self.array()),
            byte => byte.into(),
        }
    }

    fn array<const N: usize>(&mut self) -> &'b [u8; N] {
        let (taken, rest) = self.bytes.split_first_chunk().expect("a packed state is complete");
        self.bytes = rest;
        taken
    }

    /// The entries, or `None` if all are 0.
    #[inline(always)]
    pub(super) fn frontier(&mut self, width: usize) -> Option<&'b [u8]> {
        (self.byte() != 0).then(|| self.take(width))
    }

    pub(super) fn awareness(&mut self) -> Awareness {
        let bytes = self.take(size_of::<Awareness>());
        bytes.iter().rev().fold(0, |aware, &byte| aware << 8 | Awareness::from(byte))
    }
}

/// Values may be negative in principle; small ones of either sign are small numbers.
fn zigzag(value: Value) -> u64 {
    (value as u64) << 1 ^ (value >> 63) as u64
}

fn unzigzag(code: u64) -> Value {
    (code >> 1) as Value ^ -((code & 1) as Value)
}

fn put_status(bytes: &mut Vec<u8>, status: Status) {
    bytes.push(match status {
        Status::Running => 0,
        Status::Halted => 1,
        Status::Ended => 2,
        Status::Spinning => 3,
        Status::Failed => 4,
        Status::Fruitless => 5,
        Status::Lost => 6,
        Status::Faulted(Fault::DivisionByZero) => 7,
        Status::Faulted(Fault::IndexOutOfRange { .. }) => 8,
        Status::Faulted(Fault::Overflow { .. }) => 9,
    });
    match status {
        Status::Faulted(Fault::IndexOutOfRange { index, len }) => {
            put(bytes, zigzag(index));
            put(bytes, len.into());
        }
        Status::Faulted(Fault::Overflow { exact }) => bytes.extend(exact.to_le_bytes()),
        _ => {}
    }
}

fn put_local(bytes: &mut Vec<u8>, local: &Local) {
    put(bytes, local.pc.0.into());
    put_status(bytes, local.status);
    for &value in &local.registers {
        put(bytes, zigzag(value));
    }
}

impl Reader<'_> {
    fn status(&mut self) -> Status {
        match self.byte() {
            0 => Status::Running,
            1 => Status::Halted,
            2 => Status::Ended,
            3 => Status::Spinning,
            4 => Status::Failed,
            5 => Status::Fruitless,
            6 => Status::Lost,
            7 => Status::Faulted(Fault::DivisionByZero),
            8 => {
                let (index, len) = (unzigzag(self.number()), self.number() as u32);
                Status::Faulted(Fault::IndexOutOfRange { index, len })
            }
            _ => {
                let exact = i128::from_le_bytes(*self.array());
                Status::Faulted(Fault::Overflow { exact })
            }
        }
    }

    fn local(&mut self, registers: usize) -> Local {
        let pc = Pc(self.number() as u32);
        let status = self.status();
        let registers = (0..registers).map(|_| unzigzag(self.number())).collect();
        Local { pc, registers, status }
    }
}

impl Machine {
    /// Appends the state as bytes.
    pub fn pack(&self, state: &State, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend_from_slice(&[0; 2]);
        for (t, local) in state.locals.iter().enumerate() {
            put_local(bytes, local);
            bytes.push(state.views.markers[t].len() as u8);
            bytes.extend_from_slice(&state.views.known[t][self.locations..]);
        }
        let core = u16::try_from(bytes.len() - start).expect("32 threads of 64 registers");
        bytes[start..start + 2].copy_from_slice(&core.to_le_bytes());
        bytes.extend(state.views.writes.iter().map(|writes| writes.len() as u8));
        for t in 0..self.threads {
            bytes.extend_from_slice(&state.views.known[t][..self.locations]);
            put_frontier(bytes, &state.views.before[t]);
            bytes.push(state.views.markers[t].len() as u8);
            for marker in &state.views.markers[t] {
                put_frontier(bytes, marker);
            }
        }
        for write in state.views.writes.iter().flatten() {
            bytes.push(u8::from(write.taken));
            put(bytes, zigzag(write.value));
            put_frontier(bytes, &write.carried);
        }
        if self.all_bits != 0 {
            let writes = state.views.writes.iter().flatten().map(|write| write.aware);
            for aware in state.views.aware.iter().copied().chain(writes) {
                bytes.extend_from_slice(&aware.to_le_bytes());
            }
        }
    }

    /// The length of the core at the front of a packed state.
    pub fn core_length(packed: &[u8]) -> usize {
        u16::from_le_bytes([packed[0], packed[1]]).into()
    }

    /// The state that [`Machine::pack`] wrote.
    pub fn unpack(&self, bytes: &[u8]) -> State {
        let mut from = Reader { bytes: &bytes[2..] };
        let width = self.width();
        let mut state = State {
            locals: Vec::with_capacity(self.threads),
            views: Views {
                known: Vec::with_capacity(self.threads),
                before: Vec::with_capacity(self.threads),
                aware: vec![0; self.threads],
                writes: Vec::with_capacity(self.locations),
                markers: Vec::with_capacity(self.threads),
            },
        };
        for thread in &self.system.program.threads {
            state.locals.push(from.local(thread.registers.len()));
            from.byte();
            let mut known = Frontier::nothing(width);
            known[self.locations..].copy_from_slice(from.take(width - self.locations));
            state.views.known.push(known);
        }
        let whole = |entries: Option<&[u8]>| -> Frontier {
            entries.map_or_else(
                || Frontier::nothing(width),
                |entries| Frontier(SmallVec::from_slice(entries)),
            )
        };
        let counts = from.take(self.locations);
        for t in 0..self.threads {
            state.views.known[t][..self.locations].copy_from_slice(from.take(self.locations));
            state.views.before.push(whole(from.frontier(width)));
            let markers = from.byte();
            state.views.markers.push((0..markers).map(|_| whole(from.frontier(width))).collect());
        }
        for &count in counts {
            let write = |_| {
                let taken = from.byte() != 0;
                let value = unzigzag(from.number());
                Write { value, taken, carried: whole(from.frontier(width)), aware: 0 }
            };
            state.views.writes.push((0..count).map(write).collect());
        }
        if self.all_bits != 0 {
            let writes = state.views.writes.iter_mut().flatten().map(|write| &mut write.aware);
            state.views.aware.iter_mut().chain(writes).for_each(|aware| *aware = from.awareness());
        } else {
            state.views.aware.fill(self.all_bits);
        }
        state
    }
}
