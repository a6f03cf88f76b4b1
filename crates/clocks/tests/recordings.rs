//! Recordings that no runtime wrote: whatever the bytes are, they are replayed or refused.

extern crate fencepost_clocks as clocks;

use clocks::access::{Done, Intent};
use clocks::replay::Replay;
use clocks::trace::{Event, MAGIC, Reader};
use clocks::{Order, Tid};

/// Numbers of a linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    /// Mostly a number that may well exist, now and then one at the far end.
    fn number(&mut self, most: u64) -> u64 {
        if self.below(50) == 0 { most - self.below(3) } else { self.below(5) }
    }

    fn tid(&mut self) -> Tid {
        self.number(u64::from(Tid::MAX)) as Tid
    }

    fn event(&mut self) -> Event {
        let order = Order::from_number(self.below(8) as u32);
        let value = self.number(u64::MAX);
        let intents = [None, Some(Intent::Load), Some(Intent::StrongCas(value))];
        let deeds = [None, Some(Done::Read), Some(Done::Store(value)), Some(Done::Update(value))];
        match self.below(16) {
            0 => Event::Start { parent: self.tid().checked_sub(1) },
            1 => Event::Join { tid: self.tid(), child: self.tid() },
            2 => Event::Retire { tid: self.tid() },
            3 => Event::Location { value, address: self.number(u64::MAX), size: self.byte() },
            4 => Event::Reset { loc: self.index(), value },
            5 => Event::Remove { loc: self.index() },
            6 | 7 => Event::Atomic {
                tid: self.tid(),
                loc: self.index(),
                intent: intents[self.below(3) as usize].map(|intent| (intent, order)),
                order,
                done: deeds[self.below(4) as usize],
                site: self.index(),
                operation: self.byte(),
            },
            8 => Event::Judged { spins: vec![value] },
            9 => Event::Fence { tid: self.tid(), order },
            10 => Event::Object,
            11 => Event::RemoveObject { object: self.index() },
            12 => Event::Release { tid: self.tid(), object: self.index() },
            13 => Event::Acquire { tid: self.tid(), object: self.index() },
            15 => Event::Publish { loc: self.index(), object: self.index() },
            14 => Event::Plain {
                tid: self.tid(),
                address: self.number(u64::MAX),
                mask: self.byte(),
                is_write: self.below(2) == 0,
                site: self.index(),
            },
            _ => Event::Clear { address: self.number(u64::MAX), bytes: self.number(u64::MAX) },
        }
    }

    fn byte(&mut self) -> u8 {
        self.number(u64::from(u8::MAX)) as u8
    }

    fn index(&mut self) -> u32 {
        self.number(u64::from(u32::MAX)) as u32
    }
}

fn replay(bytes: &[u8]) -> Result<usize, String> {
    let mut replay = Replay::new(8);
    let mut shown = 0;
    for event in Reader::new(bytes).map_err(|why| why.to_string())? {
        shown += replay.tell(&event.map_err(|why| why.to_string())?)?.len();
    }
    Ok(shown)
}

/// Catches events that are believed without a look at what they speak of.
#[test]
fn events_without_rhyme_or_reason() {
    let (mut told, mut refused) = (0, 0);
    for seed in 0..if cfg!(miri) { 5 } else { 2_000 } {
        let mut random = Random(seed);
        let mut replay = Replay::new(8);
        for _ in 0..200 {
            match replay.tell(&random.event()) {
                Ok(_) => told += 1,
                Err(_) => refused += 1,
            }
        }
    }
    let some = if cfg!(miri) { 25 } else { 10_000 };
    assert!(told > some && refused > some, "{told} told, {refused} refused: not trivial");
}

/// Catches numbers of the file that are believed by the reader.
#[test]
fn damaged_bytes() {
    let mut random = Random(7);
    let mut whole = MAGIC.to_vec();
    let mut replayed = Replay::new(8);
    while whole.len() < 1_000 {
        let event = random.event();
        if replayed.tell(&event).is_ok() {
            event.encode(&mut whole);
        }
    }
    Event::End { nodes: vec![(0, 1), (1, 2)], maps: String::new() }.encode(&mut whole);
    replay(&whole).expect("every event was accepted");
    let cases = std::env::var("FENCEPOST_MUTATED_INPUTS").ok().and_then(|cases| cases.parse().ok());
    let cases: u32 = cases.unwrap_or(if cfg!(miri) { 20 } else { 20_000 });
    let mut refused = 0;
    for _ in 0..cases {
        let mut bytes = whole.clone();
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = random.below(256) as u8;
        refused += u32::from(replay(&bytes).is_err());
    }
    assert!(refused > cases / 20 - 1, "{refused}");
}

/// The runtime gives up before; their numbers would not fit into what is known of plain memory.
#[test]
fn more_threads_than_there_can_be() {
    let mut replay = Replay::new(8);
    for _ in 0..1 << 12 {
        replay.tell(&Event::Start { parent: None }).expect("a thread");
    }
    replay.tell(&Event::Start { parent: None }).expect_err("one too many");
    replay.tell(&Event::Retire { tid: 17 }).expect("a thread");
    replay.tell(&Event::Start { parent: None }).expect("its number is free");
}

/// Memory that was given back holds nothing to race with, however much of it there is.
#[test]
fn memory_that_is_given_back() {
    let write = |tid| Event::Plain { tid, address: 64, mask: 1, is_write: true, site: 1 };
    for (address, bytes, races) in [
        (64, 8, false),
        (0, 1 << 45, false),
        (0, u64::MAX, false),
        (72, 8, true),
        (72, 1 << 45, true),
    ] {
        let mut replay = Replay::new(8);
        let start = Event::Start { parent: None };
        let events = [start.clone(), start, write(0), Event::Clear { address, bytes }, write(1)];
        let shown = events.map(|event| replay.tell(&event).expect("an event").len());
        assert_eq!(shown, [0, 0, 0, 0, usize::from(races)], "{bytes} bytes at {address}");
    }
}
