//! States as bytes, for sets of them.
//!
//! Small numbers dominate: positions and counts of a few bits. They are written as nibbles, with an
//! escape for larger ones; a frontier that is all 0 is a single bit.

use super::{Awareness, Frontier, Local, Machine, State, Status, Write};
use crate::expr::Fault;
use crate::ids::{Pc, Value};
use smallvec::SmallVec;

struct Writer<'b> {
    bytes: &'b mut Vec<u8>,
    half: bool,
}

impl Writer<'_> {
    #[inline(always)]
    fn nibble(&mut self, value: u8) {
        if self.half {
            *self.bytes.last_mut().expect("a half-filled byte") |= value << 4;
        } else {
            self.bytes.push(value);
        }
        self.half = !self.half;
    }

    /// Seven and more take further nibbles of three bits each.
    #[inline(always)]
    fn number(&mut self, mut value: u64) {
        while value >= 8 {
            self.nibble((value & 7) as u8 | 8);
            value >>= 3;
        }
        self.nibble(value as u8);
    }

    fn frontier(&mut self, frontier: &Frontier) {
        for &entry in frontier {
            self.number(entry.into());
        }
    }

    fn awareness(&mut self, aware: Awareness) {
        self.number(aware as u64);
        self.number((aware >> 64) as u64);
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Reader<'_> {
    #[inline(always)]
    fn nibble(&mut self) -> u8 {
        let byte = self.bytes[self.at / 2];
        let nibble = if self.at.is_multiple_of(2) { byte & 15 } else { byte >> 4 };
        self.at += 1;
        nibble
    }

    #[inline(always)]
    fn number(&mut self) -> u64 {
        let mut value = 0;
        let mut shift = 0;
        loop {
            let nibble = self.nibble();
            value |= u64::from(nibble & 7) << shift;
            if nibble < 8 {
                return value;
            }
            shift += 3;
        }
    }

    fn frontier(&mut self, width: usize) -> Frontier {
        (0..width).map(|_| self.number() as u8).collect()
    }

    fn awareness(&mut self) -> Awareness {
        let low = Awareness::from(self.number());
        low | Awareness::from(self.number()) << 64
    }
}

/// Values may be negative in principle; small ones of either sign are small numbers.
fn zigzag(value: Value) -> u64 {
    u64::from((value as u32) << 1 ^ (value >> 31) as u32)
}

fn unzigzag(code: u64) -> Value {
    (code as u32 >> 1) as Value ^ -((code & 1) as Value)
}

fn status_code(status: Status) -> (u64, Value, u32) {
    match status {
        Status::Running => (0, 0, 0),
        Status::Halted => (1, 0, 0),
        Status::Ended => (2, 0, 0),
        Status::Spinning => (3, 0, 0),
        Status::Failed => (4, 0, 0),
        Status::Fruitless => (5, 0, 0),
        Status::Faulted(Fault::DivisionByZero) => (6, 0, 0),
        Status::Faulted(Fault::IndexOutOfRange { index, len }) => (7, index, len),
        Status::Faulted(Fault::Overflow { exact }) => (8, exact as Value, 0),
    }
}

fn status_of(code: u64, index: Value, len: u32) -> Status {
    match code {
        0 => Status::Running,
        1 => Status::Halted,
        2 => Status::Ended,
        3 => Status::Spinning,
        4 => Status::Failed,
        5 => Status::Fruitless,
        6 => Status::Faulted(Fault::DivisionByZero),
        7 => Status::Faulted(Fault::IndexOutOfRange { index, len }),
        _ => Status::Faulted(Fault::Overflow { exact: index.into() }),
    }
}

impl Machine {
    /// Appends the state as bytes.
    pub fn pack(&self, state: &State, bytes: &mut Vec<u8>) {
        let mut out = Writer { bytes, half: false };
        for t in 0..self.threads {
            let local = &state.locals[t];
            out.number(local.pc.0.into());
            let (code, index, len) = status_code(local.status);
            out.number(code);
            if code >= 7 {
                out.number(zigzag(index));
                out.number(len.into());
            }
            for &value in &local.registers {
                out.number(zigzag(value));
            }
            out.frontier(&state.known[t]);
            out.frontier(&state.before[t]);
            if self.all_bits != 0 {
                out.awareness(self.all_bits & !state.aware[t]);
            }
            out.number(state.markers[t].len() as u64);
            for marker in &state.markers[t] {
                out.frontier(marker);
            }
        }
        for writes in &state.writes {
            out.number(writes.len() as u64);
            for write in writes {
                let carries = write.carried.iter().any(|&entry| entry != 0);
                let aware = write.aware != 0;
                out.nibble(u8::from(write.taken) | u8::from(carries) << 1 | u8::from(aware) << 2);
                out.number(zigzag(write.value));
                if carries {
                    out.frontier(&write.carried);
                }
                if aware {
                    out.awareness(write.aware);
                }
            }
        }
    }

    /// The state that [`Machine::pack`] wrote.
    pub fn unpack(&self, bytes: &[u8]) -> State {
        let mut from = Reader { bytes, at: 0 };
        let width = self.width();
        let mut state = State {
            locals: Vec::with_capacity(self.threads),
            known: Vec::with_capacity(self.threads),
            before: Vec::with_capacity(self.threads),
            aware: Vec::with_capacity(self.threads),
            writes: Vec::with_capacity(self.locations),
            markers: Vec::with_capacity(self.threads),
        };
        for thread in &self.system.program.threads {
            let pc = Pc(from.number() as u32);
            let code = from.number();
            let status = match code {
                7.. => {
                    let index = unzigzag(from.number());
                    status_of(code, index, from.number() as u32)
                }
                _ => status_of(code, 0, 0),
            };
            let registers = thread.registers.iter().map(|_| unzigzag(from.number())).collect();
            state.locals.push(Local { pc, registers, status });
            state.known.push(from.frontier(width));
            state.before.push(from.frontier(width));
            let unaware = if self.all_bits != 0 { from.awareness() } else { 0 };
            state.aware.push(self.all_bits & !unaware);
            let markers = from.number();
            state.markers.push((0..markers).map(|_| from.frontier(width)).collect());
        }
        for _ in 0..self.locations {
            let count = from.number();
            let write = |_| {
                let flags = from.nibble();
                let value = unzigzag(from.number());
                let carried = match flags & 2 {
                    0 => SmallVec::from_elem(0, width),
                    _ => from.frontier(width),
                };
                let aware = if flags & 4 == 0 { 0 } else { from.awareness() };
                Write { value, taken: flags & 1 == 1, carried, aware }
            };
            state.writes.push((0..count).map(write).collect());
        }
        state
    }
}
