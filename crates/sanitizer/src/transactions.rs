//! A recording as `fencepost serial` reads it.
//!
//! Every access becomes a line, in the order in which the runtime saw them: it lets one thread go on at
//! a time while it records. What an atomic access read and wrote is told, so that only orders of commits
//! that fit it count; a plain access has no value. A read-modify-write is one event. What else empties the
//! buffer of a machine with store buffers is a fence: full fences, seq_cst stores, compare-and-swaps that
//! fail, giving back a lock, starting a thread, and ending.
//!
//! Some of it is left out.
//! * What only one thread ever accesses, and what happens before there is a second thread.
//! * *Rounds that only waited.* `while (!atomic_load(&ready));` reads an old value all the time, and with
//!   a transaction around it each of these reads would come before the write that ends the loop, and the
//!   last one after it. So a stretch of atomic reads (or of read-modify-writes that put back what they
//!   found) is left out if the thread then comes back to its first access, same place and same location,
//!   without having done anything else. A loop that adds up what it reads looks the same; the number of
//!   accesses left out for this is told.

use crate::symbols::Symbols;
use clocks::access::{Done, Intent};
use clocks::analysis::Analysis;
use clocks::trace::Event;
use clocks::{Loc, Order};
use serial::write::Recorder;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

/// What was left out, and what was not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Transactions.
    pub transactions: usize,
    /// Accesses.
    pub accesses: usize,
    /// Accesses of loops that waited.
    pub waited: usize,
    /// Whether the recording has no end, because the program was killed.
    pub cut_off: bool,
}

/// Where a site is: file, line, and the function if it is known.
pub type Where = (String, u32, Option<String>);

/// Bytes that belong together, because some access takes them together: where they are, for the
/// how-manyth time.
type Variable = (u64, u8, u32);

/// Eight bytes of memory.
#[derive(Default)]
struct Granule {
    /// Sets of bytes that accesses took together, disjoint.
    parts: Vec<u8>,
    /// How often the memory was given back.
    life: u32,
}

/// What a first look at the recording tells.
#[derive(Default)]
struct Known {
    granules: BTreeMap<u64, Granule>,
    /// Per variable, the only thread that accessed it, or none if there are several.
    users: HashMap<Variable, Option<u16>>,
    /// Numbers of events that only waited.
    waited: HashSet<u64>,
}

/// The atomic locations, as the analysis numbers them.
struct Locations {
    numbers: Analysis,
    address: HashMap<Loc, (u64, u8)>,
    /// The value, while it is known.
    value: HashMap<Loc, u64>,
}

impl Locations {
    fn new() -> Self {
        Locations { numbers: Analysis::new(1), address: HashMap::new(), value: HashMap::new() }
    }

    /// Follows an event; what an atomic access found, if that is known.
    fn follow(&mut self, event: &Event) -> Option<u64> {
        match *event {
            Event::Location { value, address, size } => {
                let loc = self.numbers.location(value);
                self.address.insert(loc, (address, size));
                self.value.insert(loc, value);
            }
            Event::Reset { loc, .. } => {
                self.value.remove(&loc);
            }
            Event::Remove { loc } => self.numbers.remove(loc),
            Event::Atomic { loc, done: Some(done), .. } => {
                let found = self.value.get(&loc).copied();
                if let Done::Store(value) | Done::Update(value) = done {
                    self.value.insert(loc, value);
                }
                return found;
            }
            _ => {}
        }
        None
    }

    /// The eight bytes that a location is in, and which of them.
    fn bytes(&self, loc: Loc) -> (u64, u8) {
        let (address, size) = self.address.get(&loc).copied().unwrap_or((0, 8));
        let from = (address & 7) as u32;
        let bits = (1_u32 << u32::from(size).min(8)) - 1;
        (address & !7, (bits << from) as u8)
    }
}

impl Known {
    fn part(&self, address: u64, mask: u8) -> Variable {
        let granule = self.granules.get(&address);
        let part = granule.and_then(|granule| granule.parts.iter().find(|&&part| part & mask != 0));
        (address, part.copied().unwrap_or(mask), granule.map_or(0, |granule| granule.life))
    }

    fn free(&mut self, address: u64, bytes: u64) {
        let to = address.saturating_add(bytes);
        for (_, granule) in self.granules.range_mut(address & !7..to) {
            granule.life += 1;
        }
    }

    fn join(&mut self, address: u64, mask: u8) {
        let parts = &mut self.granules.entry(address).or_default().parts;
        let mut whole = mask;
        while let Some(at) = parts.iter().position(|&part| part & whole != 0) {
            whole |= parts.swap_remove(at);
        }
        parts.push(whole);
    }

    fn forget_lives(&mut self) {
        self.granules.values_mut().for_each(|granule| granule.life = 0);
    }
}

/// The access of an event: who, to which bytes, whether it changes nothing, and where.
struct Touch {
    tid: u16,
    address: u64,
    mask: u8,
    /// An atomic access that leaves the value as it is.
    idle: bool,
    site: u32,
}

fn touch(event: &Event, found: Option<u64>, locations: &Locations) -> Option<Touch> {
    match *event {
        Event::Plain { tid, address, mask, site, .. } => {
            Some(Touch { tid, address, mask, idle: false, site })
        }
        Event::Atomic { tid, loc, done: Some(done), site, .. } if site != 0 => {
            let (address, mask) = locations.bytes(loc);
            let idle = match done {
                Done::Read => true,
                Done::Update(value) => found == Some(value),
                Done::Store(_) => false,
            };
            Some(Touch { tid, address, mask, idle, site })
        }
        _ => None,
    }
}

/// The thread that does what can end a round of waiting.
fn actor(event: &Event) -> Option<u16> {
    match *event {
        Event::Transaction { tid, .. }
        | Event::Fence { tid, .. }
        | Event::Release { tid, .. }
        | Event::Acquire { tid, .. }
        | Event::Join { tid, .. } => Some(tid),
        Event::Start { parent } => parent,
        _ => None,
    }
}

fn look(events: impl Iterator<Item = Event> + Clone) -> Known {
    let mut known = Known::default();
    let mut locations = Locations::new();
    for event in events.clone() {
        let found = locations.follow(&event);
        if let Some(Touch { address, mask, .. }) = touch(&event, found, &locations) {
            known.join(address, mask);
        }
    }
    let mut locations = Locations::new();
    let mut threads = 0;
    for event in events.clone() {
        let found = locations.follow(&event);
        threads += usize::from(matches!(event, Event::Start { .. }));
        if let Event::Clear { address, bytes } = event {
            known.free(address, bytes);
        }
        let Some(touch) = touch(&event, found, &locations) else { continue };
        let variable = known.part(touch.address, touch.mask);
        if threads > 1 {
            let user = known.users.entry(variable).or_insert(Some(touch.tid));
            *user = user.filter(|&tid| tid == touch.tid);
        }
    }
    known.forget_lives();
    known.find_rounds(events);
    known.forget_lives();
    known
}

impl Known {
    /// Finds the rounds of loops that only waited. What a round does to memory that no other thread accesses,
    /// such as the expected value of a compare-and-swap, does not count.
    fn find_rounds(&mut self, events: impl Iterator<Item = Event>) {
        let mut locations = Locations::new();
        // Per thread, its idle accesses since it last did anything else: number, place and bytes.
        let mut idle: HashMap<u16, Vec<(u64, u32, u64)>> = HashMap::new();
        for (number, event) in (0..).zip(events) {
            let found = locations.follow(&event);
            if let Event::Clear { address, bytes } = event {
                self.free(address, bytes);
            }
            if let Some(tid) = actor(&event) {
                idle.remove(&tid);
            }
            let Some(touch) = touch(&event, found, &locations) else { continue };
            let variable = self.part(touch.address, touch.mask);
            if self.users.get(&variable).is_none_or(Option::is_some) {
                continue;
            }
            let round = idle.entry(touch.tid).or_default();
            let here = (touch.site, touch.address);
            if let Some(start) = round.iter().position(|&(_, site, at)| (site, at) == here) {
                self.waited.extend(round.drain(start..).map(|(number, ..)| number));
            }
            match touch.idle {
                true => round.push((number, touch.site, touch.address)),
                false => round.clear(),
            }
        }
    }
}

/// Writes all accesses and transactions. `place` says where a site is, `name` what is at an address.
pub fn write(
    events: impl Iterator<Item = Event> + Clone,
    place: impl Fn(u32, &mut Symbols) -> Option<Where>,
    name: impl Fn(u64) -> Option<String>,
    out: impl Write,
) -> io::Result<Written> {
    let known = look(events.clone());
    let mut writer = Writer {
        recorder: Recorder::new(out),
        known,
        symbols: Symbols::default(),
        places: HashMap::new(),
        names: HashMap::new(),
        open: HashMap::new(),
        called: HashMap::new(),
        written: Written::default(),
    };
    let mut locations = Locations::new();
    let mut threads = 0;
    for (number, event) in (0..).zip(events) {
        let found = locations.follow(&event);
        threads += usize::from(matches!(event, Event::Start { .. }));
        if let Event::Clear { address, bytes } = event {
            writer.known.free(address, bytes);
        }
        if threads > 1 || matches!(event, Event::Transaction { .. } | Event::Name { .. }) {
            writer.event(number, &event, found, &locations, &place, &name)?;
        }
    }
    // What is still open stays so: who reads it will say so.
    writer.recorder.flush()?;
    Ok(writer.written)
}

fn thread_name(tid: u16) -> String {
    format!("T{tid}")
}

struct Writer<W> {
    recorder: Recorder<W>,
    known: Known,
    symbols: Symbols,
    places: HashMap<u32, Option<(String, u32)>>,
    names: HashMap<Variable, String>,
    open: HashMap<u16, u32>,
    /// The name of the transaction that begins next.
    called: HashMap<u16, String>,
    written: Written,
}

impl<W: Write> Writer<W> {
    fn event(
        &mut self,
        number: u64,
        event: &Event,
        found: Option<u64>,
        locations: &Locations,
        place: &impl Fn(u32, &mut Symbols) -> Option<Where>,
        name: &impl Fn(u64) -> Option<String>,
    ) -> io::Result<()> {
        match *event {
            Event::Name { tid, ref name } => {
                let word: String =
                    name.chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect();
                let word = word.trim_start_matches(['#', '@']).to_string();
                self.called.insert(tid, word);
                return Ok(());
            }
            Event::Transaction { tid, begins } => return self.transaction(tid, begins),
            Event::Fence { tid, order: Order::SeqCst } | Event::Release { tid, .. } => {
                return self.recorder.fence(&thread_name(tid), None);
            }
            Event::Start { parent: Some(parent) } => {
                return self.recorder.fence(&thread_name(parent), None);
            }
            Event::Join { child, .. } => {
                return self.recorder.fence(&thread_name(child), None);
            }
            _ => {}
        }
        let Some(touch) = touch(event, found, locations) else { return Ok(()) };
        let variable = self.known.part(touch.address, touch.mask);
        if self.known.waited.contains(&number) {
            self.written.waited += 1;
            return Ok(());
        }
        if self.known.users.get(&variable).is_none_or(Option::is_some) {
            return Ok(());
        }
        self.written.accesses += 1;
        let at = self.places.entry(touch.site).or_insert_with(|| {
            let (file, line, function) = place(touch.site, &mut self.symbols)?;
            let file = file.rsplit('/').next().unwrap_or(&file).to_string();
            let shown = match function {
                Some(function) => format!("{function}:{file}"),
                None => file,
            };
            Some((shown.replace(char::is_whitespace, "_"), line))
        });
        let at = at.as_ref().map(|(file, line)| (file.as_str(), *line));
        let var = self.names.entry(variable).or_insert_with(|| {
            let (address, part, life) = variable;
            let address = address + u64::from(part.trailing_zeros());
            let word = name(address).unwrap_or_else(|| format!("0x{address:x}"));
            if life == 0 { word } else { format!("{word}.{life}") }
        });
        let (thread, recorder) = (thread_name(touch.tid), &mut self.recorder);
        match (event, found) {
            (Event::Plain { is_write: true, .. }, _) => recorder.write(&thread, var, at),
            (Event::Atomic { done: Some(Done::Update(put)), .. }, Some(got)) if *put == got => {
                // Nothing is changed that anybody could see.
                recorder.fence(&thread, None)?;
                recorder.read_value(&thread, var, got, at)
            }
            (Event::Atomic { done: Some(Done::Update(put)), .. }, Some(got)) => {
                recorder.update(&thread, var, (got, *put), at)
            }
            (Event::Atomic { done: Some(Done::Update(put)), .. }, None) => {
                recorder.update_unknown(&thread, var, *put, at)
            }
            (Event::Atomic { done: Some(Done::Store(put)), order, .. }, _) => {
                recorder.write_value(&thread, var, *put, at)?;
                match order {
                    Order::SeqCst => recorder.fence(&thread, None),
                    _ => Ok(()),
                }
            }
            (Event::Atomic { intent, .. }, _) => {
                if let Some((Intent::StrongCas(_) | Intent::WeakCas(_), _)) = intent {
                    recorder.fence(&thread, None)?;
                }
                match found {
                    Some(got) => recorder.read_value(&thread, var, got, at),
                    None => recorder.read(&thread, var, at),
                }
            }
            _ => recorder.read(&thread, var, at),
        }
    }

    fn transaction(&mut self, tid: u16, begins: bool) -> io::Result<()> {
        let depth = self.open.entry(tid).or_default();
        let thread = thread_name(tid);
        if begins {
            *depth += 1;
            let called = self.called.remove(&tid).filter(|name| !name.is_empty());
            if *depth == 1 {
                self.written.transactions += 1;
                self.recorder.begin(&thread, called.as_deref())?;
            }
            return Ok(());
        }
        // One that ends without having begun was begun before the recording.
        if *depth == 1 {
            self.recorder.end(&thread)?;
        }
        *depth = depth.saturating_sub(1);
        Ok(())
    }
}
