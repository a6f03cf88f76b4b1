//! States of the machine with store buffers, as byte strings for `search`.
//!
//! The bytes hold all that the machine's next steps depend on. The numbers of stores are left out, since no step depends
//! on them; states that are read back from bytes have zeros there.

use ir::{Fault, Loc, Pc, Program, Tid, Value};
use memory::store_buffer::{Entry, State, initial};
use search::encoding::{Reader, put, put_signed};
use std::collections::VecDeque;

/// Appends a value.
pub(crate) fn put_value(value: Value, out: &mut Vec<u8>) {
    put_signed(value, out);
}

/// The next value.
pub(crate) fn take_value(from: &mut Reader<'_>) -> Value {
    from.take_signed()
}

/// Appends the values of registers or locations, of which there is a known number.
pub(crate) fn put_values<'v>(values: impl IntoIterator<Item = &'v Value>, out: &mut Vec<u8>) {
    values.into_iter().for_each(|&value| put_value(value, out));
}

/// Appends a state.
pub(crate) fn put_state(state: &State, out: &mut Vec<u8>) {
    for (thread, buffers) in state.threads.iter().zip(&state.shared.buffers) {
        put(thread.pc.0.into(), out);
        put_values(&thread.regs, out);
        let waiting: usize = buffers.of.iter().map(VecDeque::len).sum();
        put(waiting as u128, out);
        for buffer in buffers.of.iter().filter(|_| waiting > 0) {
            put(buffer.len() as u128, out);
            put_values(buffer.iter().map(|(value, _)| value), out);
        }
        put(buffers.all.len() as u128, out);
        for entry in &buffers.all {
            match entry {
                Entry::Fence => put(0, out),
                Entry::Store(loc, value, _) => {
                    put(u128::from(loc.0) + 1, out);
                    put_value(*value, out);
                }
            }
        }
    }
    put_values(state.shared.memory.iter().map(|(value, _)| value), out);
    put(state.shared.owner.map_or(0, |tid| u128::from(tid.0) + 1), out);
}

/// The next state, of `program`.
pub(crate) fn take_state(program: &Program, from: &mut Reader<'_>) -> State {
    let mut state = initial(program);
    let State { threads, shared } = &mut state;
    for (thread, buffers) in threads.iter_mut().zip(&mut shared.buffers) {
        thread.pc = Pc(from.take() as u32);
        thread.regs.iter_mut().for_each(|value| *value = take_value(from));
        let waiting = from.take();
        for buffer in buffers.of.iter_mut().filter(|_| waiting > 0) {
            let count = from.take_index();
            buffer.extend((0..count).map(|_| (take_value(from), 0)));
        }
        let count = from.take_index();
        buffers.all.extend((0..count).map(|_| match from.take() as u32 {
            0 => Entry::Fence,
            loc => Entry::Store(Loc(loc - 1), take_value(from), 0),
        }));
    }
    state.shared.memory.iter_mut().for_each(|(value, _)| *value = take_value(from));
    state.shared.owner = (from.take() as u32).checked_sub(1).map(Tid);
    state
}

/// Appends why a thread was stopped by a run-time error, or that it was not.
pub(crate) fn put_fault(fault: Option<Fault>, out: &mut Vec<u8>) {
    match fault {
        None => put(0, out),
        Some(Fault::DivisionByZero) => put(1, out),
        Some(Fault::IndexOutOfRange { index, len }) => {
            put(2, out);
            put_value(index, out);
            put(len.into(), out);
        }
        Some(Fault::Overflow { exact }) => {
            put(3, out);
            put(exact as u128, out);
        }
    }
}

/// The next run-time error, if there was one.
pub(crate) fn take_fault(from: &mut Reader<'_>) -> Option<Fault> {
    match from.take() {
        0 => None,
        1 => Some(Fault::DivisionByZero),
        2 => {
            let (index, len) = (take_value(from), from.take() as u32);
            Some(Fault::IndexOutOfRange { index, len })
        }
        _ => Some(Fault::Overflow { exact: from.take() as i128 }),
    }
}
