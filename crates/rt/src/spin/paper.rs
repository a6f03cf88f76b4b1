//! Memory and code as they are while stale values are judged: every piece is read from the process once.
//!
//! A judgement follows the same few dozen instructions up to two dozen times, with one value after the other. All of
//! these runs see the same memory, so what one of them read is kept for the others, until the judgement is over. Nothing is kept
//! from one judgement to the next: libraries come and go, and code may be written by the program itself.
//!
//! The stale value may be one that the program never gets to see, such as a null pointer that it is
//! about to call or to load from. So nothing is taken for readable: all memory, code included, is
//! read by the system ([`crate::system::peek`]), which says so where there is none.

use super::Entry;
use crate::system;
use clocks::hash::BuildMixer;
use iced_x86::{Decoder, DecoderOptions, Instruction};
use std::cell::RefCell;
use std::collections::HashMap;

/// How much is read at once: a piece of a page, which can be read as a whole or not at all.
const BLOCK: usize = 1 << 8;
/// The longest instruction.
const INSTRUCTION: usize = 15;

type Block = Option<Box<[u8; BLOCK]>>;

/// What is at an address that the machine comes to.
#[derive(Clone, Copy)]
pub(super) enum Code {
    /// An entry point of the runtime.
    Entry(Entry),
    /// An instruction.
    Instruction(Instruction),
    /// Nothing that could be run.
    Nothing,
}

/// What was read so far.
pub(super) struct Paper<'a> {
    entry: &'a dyn Fn(u64) -> Option<Entry>,
    blocks: RefCell<HashMap<u64, Block, BuildMixer>>,
    code: RefCell<HashMap<u64, Code, BuildMixer>>,
}

impl<'a> Paper<'a> {
    /// Nothing yet. `entry` says what the entry points of the runtime are.
    pub(super) fn new(entry: &'a dyn Fn(u64) -> Option<Entry>) -> Self {
        Paper { entry, blocks: RefCell::default(), code: RefCell::default() }
    }

    /// What is at an address.
    pub(super) fn code(&self, at: u64) -> Code {
        *self
            .code
            .borrow_mut()
            .entry(at)
            .or_insert_with(|| (self.entry)(at).map_or_else(|| self.decode(at), Code::Entry))
    }

    /// The entry point of the runtime at an address.
    pub(super) fn entry(&self, at: u64) -> Option<Entry> {
        match self.code(at) {
            Code::Entry(entry) => Some(entry),
            _ => None,
        }
    }

    /// The instruction at an address.
    pub(super) fn instruction(&self, at: u64) -> Option<Instruction> {
        match self.code(at) {
            Code::Instruction(instruction) => Some(instruction),
            _ => None,
        }
    }

    fn decode(&self, at: u64) -> Code {
        let mut bytes = [0; INSTRUCTION];
        let there = self.copy(at, &mut bytes);
        let mut decoder = Decoder::with_ip(64, &bytes[..there], at, DecoderOptions::NONE);
        match decoder.can_decode().then(|| decoder.decode()) {
            Some(instruction) if !instruction.is_invalid() => Code::Instruction(instruction),
            _ => Code::Nothing,
        }
    }

    /// A number, if all its bytes can be read.
    pub(super) fn read(&self, at: u64, size: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        let wanted = bytes.get_mut(..size)?;
        (self.copy(at, wanted) == size).then(|| u64::from_le_bytes(bytes))
    }

    /// Copies bytes, as many as can be read; says how many.
    fn copy(&self, at: u64, into: &mut [u8]) -> usize {
        let mut blocks = self.blocks.borrow_mut();
        let mut done = 0;
        while done < into.len() {
            let Some(from) = at.checked_add(done as u64) else { break };
            let offset = from as usize % BLOCK;
            let block = blocks.entry(from - offset as u64).or_insert_with_key(|&start| {
                let mut bytes = Box::new([0; BLOCK]);
                (system::peek(start as usize, &mut bytes[..]) == BLOCK).then_some(bytes)
            });
            let Some(block) = block else { break };
            let piece = (BLOCK - offset).min(into.len() - done);
            into[done..done + piece].copy_from_slice(&block[offset..offset + piece]);
            done += piece;
        }
        done
    }
}
