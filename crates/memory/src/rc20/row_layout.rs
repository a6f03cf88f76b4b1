//! Which stale values need telling apart.
//!
//! The monitors keep, for many pairs of a holder and a location, the set of stale values the holder
//! could still read (or overwrite) there. What is asked of such a set is only: is it empty, does it
//! have a member that a wait, BCAS or CAS expects, does it have one that a CAS does not expect. So
//! values fall into classes: one for each *critical* value of the location, one for all others. A
//! set is then a few bits, and all sets of one holder are one row of bits.
//!
//! Critical values come from [`PossibleValues`]; no annotation is needed. Classes are exact (the
//! sets of one location are nested, being images of suffixes of its modification order, so taking
//! images commutes with intersection).
//!
//! Where a thread compares with what it has just loaded from the location itself, which values that
//! can be is of no importance. Such a comparison has two classes of its own instead: the value in
//! the register, its *tag*, and all others. When the register is loaded again, the thread can read
//! nothing older than what it has just read. So of the stale values known then, none will matter
//! for this comparison, and all can go to the second class, in every set: sets from which the
//! thread's own comes later by intersection have all that is written since.

use analysis::last_load::LastLoads;
use analysis::opaque_values::Types;
use analysis::symmetry::Automorphism;
use analysis::values::{PossibleValues, Values};
use ir::expr::Domain;
use ir::ids::{Loc, Pc, Reg, Tid, Value};
use ir::program::{Instr, LocationKind, Program};
use std::ops::Range;

/// Which questions a set of views must answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Which stale writes may be read (V).
    Reading,
    /// Which stale writes, not already read by an RMW, may be overwritten (VR).
    Overwriting,
}

/// Whether values that nothing compares with share a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Track {
    /// They do.
    #[default]
    Critical,
    /// Every value has its own class; for comparison.
    All,
}

impl Track {
    /// What is tracked where these are the values: an empty tag holds a number that is none of them, so all 64-bit
    /// numbers leave no room for tags.
    pub fn within(self, domain: Domain) -> Track {
        if domain.contains(no_tag(domain).into()) { Track::All } else { self }
    }
}

/// What an empty tag holds.
pub(super) fn no_tag(domain: Domain) -> Value {
    domain.min.wrapping_sub(1)
}

/// Where a thread compares with what it loaded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tag {
    /// What it loaded from, and compares with.
    pub loc: Loc,
    /// Who.
    pub tid: Tid,
    /// Where it keeps the value.
    pub reg: Reg,
}

impl Tag {
    /// Its image under an automorphism.
    pub fn renamed(self, alpha: &Automorphism) -> Tag {
        let t = self.tid.index();
        Tag {
            loc: alpha.locations[self.loc.index()],
            tid: alpha.threads[t],
            reg: alpha.registers[t][self.reg.index()],
        }
    }
}

/// The bits of a row that belong to one location: for single values, then two for each tag.
#[derive(Clone, Debug, Default)]
struct Field {
    first: u32,
    /// All bits.
    len: u32,
    /// Bits for single values, and for all other values.
    values: u32,
    /// Values with a bit of their own, ascending; the bit after theirs, if within `values`, is for
    /// all other values.
    critical: Vec<Value>,
    /// The location's tags are these of all.
    tags: Range<usize>,
}

/// How many values of a location may have bits of their own.
pub const MOST_VALUES: u128 = 1 << 20;

/// The layout of a row.
#[derive(Clone, Debug)]
pub struct Columns {
    fields: Vec<Field>,
    /// The locations with bits.
    tracked: Vec<Loc>,
    masks: Vec<Vec<u64>>,
    /// Are the location's bits for threads instead of values: is it non-atomic?
    per_thread: Vec<bool>,
    /// Ascending.
    tags: Vec<Tag>,
    bits: u32,
}

/// The tags of `program` at the locations in `focus`, ascending.
pub fn tags(program: &Program, track: Track, focus: &[Loc]) -> Vec<Tag> {
    let mut tags = Vec::new();
    if track == Track::All {
        return tags;
    }
    for tid in program.tids() {
        let thread = &program.threads[tid.index()];
        let loaded = LastLoads::of(thread);
        for (pc, step) in thread.code.iter().enumerate() {
            let Some(place) = step.instr.place() else { continue };
            for expected in step.instr.compared() {
                if let Some(reg) = loaded.expected(Pc::from(pc), place, expected) {
                    tags.extend(place.locations().map(|loc| Tag { loc, tid, reg }));
                }
            }
        }
    }
    tags.retain(|tag| {
        focus.contains(&tag.loc) && program.locations[tag.loc.index()].kind == LocationKind::Atomic
    });
    tags.sort_unstable();
    tags.dedup();
    tags
}

impl Columns {
    /// The columns that `purpose` needs for the locations in `focus`. The last location is the
    /// fences' hidden one. `None` if they would tell more than [`MOST_VALUES`] of a location apart.
    pub fn new(
        program: &Program,
        possible: &PossibleValues,
        purpose: Purpose,
        track: Track,
        focus: &[Loc],
        tags: &[Tag],
    ) -> Option<Self> {
        let mut needs = vec![Need::default(); program.locations.len()];
        for (t, thread) in program.threads.iter().enumerate() {
            let loaded = LastLoads::of(thread);
            for (pc, step) in thread.code.iter().enumerate() {
                let expected = |e: &ir::Expr| {
                    let pc = Pc::from(pc);
                    let place = step.instr.place()?;
                    match loaded.expected(pc, place, e) {
                        Some(_) if track == Track::Critical => None,
                        _ => Some(possible.expr(program, t, pc, e)),
                    }
                };
                for loc in step.instr.place().into_iter().flat_map(|place| place.locations()) {
                    needs[loc.index()].note(t, &step.instr, purpose, expected);
                }
            }
        }
        let mut fields: Vec<Field> = needs
            .into_iter()
            .zip(&program.locations)
            .zip(&possible.locations)
            .enumerate()
            .map(|(x, ((need, location), values))| match location.kind {
                _ if !focus.contains(&Loc::from(x)) => Some(Field::default()),
                LocationKind::NonAtomic => Some(match purpose {
                    // One bit per thread: see `Monitor::non_atomic`.
                    Purpose::Reading => {
                        let len = program.threads.len() as u32;
                        Field { len, values: len, ..Field::default() }
                    }
                    Purpose::Overwriting => Field::default(),
                }),
                LocationKind::Atomic => {
                    let of = |x| tags.partition_point(|tag| tag.loc < Loc::from(x));
                    need.field(program, values, purpose, track, of(x)..of(x + 1))
                }
            })
            .collect::<Option<_>>()?;
        fields.push(Field::default());
        let mut bits = 0;
        for field in &mut fields {
            // A location's bits never straddle words, unless there are more than a word of them.
            if bits % 64 + field.len.min(64) > 64 {
                bits = bits.next_multiple_of(64);
            }
            field.first = bits;
            bits += field.len;
        }
        let words = bits.div_ceil(64) as usize;
        let masks = fields
            .iter()
            .map(|field| {
                let mut mask = vec![0; words];
                for bit in field.first..field.first + field.len {
                    mask[bit as usize / 64] |= 1 << (bit % 64);
                }
                mask
            })
            .collect();
        let per_thread =
            program.locations.iter().map(|loc| loc.kind == LocationKind::NonAtomic).collect();
        let is_tracked = |x: &usize| fields[*x].len > 0;
        let tracked = (0..fields.len()).filter(is_tracked).map(Loc::from).collect();
        Some(Columns { fields, tracked, masks, per_thread, tags: tags.to_vec(), bits })
    }

    /// How many bits a row has.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// How many words a row has.
    pub fn words(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }

    /// Has the location any bits?
    pub fn tracks(&self, loc: Loc) -> bool {
        self.fields[loc.index()].len > 0
    }

    /// The locations that have any.
    pub fn tracked(&self) -> &[Loc] {
        &self.tracked
    }

    /// The bits of the location.
    #[inline(always)]
    pub fn mask(&self, loc: Loc) -> &[u64] {
        &self.masks[loc.index()]
    }

    /// The values of the location that have bits of their own, ascending, with these.
    pub fn critical(&self, loc: Loc) -> impl Iterator<Item = (Value, u32)> + '_ {
        let field = &self.fields[loc.index()];
        field.critical.iter().copied().zip(field.first..)
    }

    /// Calls `mark` with the bits for `value` at the location; `tags` are the values in the tags.
    #[inline(always)]
    pub fn bits_for(&self, loc: Loc, value: Value, tags: &[Value], mut mark: impl FnMut(u32)) {
        let field = &self.fields[loc.index()];
        if field.len == 0 {
            return;
        }
        let class = match field.critical.binary_search(&value) {
            Ok(class) => class as u32,
            Err(_) => field.critical.len() as u32,
        };
        if class < field.values {
            mark(field.first + class);
        }
        let pairs = (field.first + field.values..).step_by(2);
        for (tag, pair) in tags[field.tags.clone()].iter().zip(pairs) {
            mark(pair + u32::from(*tag != value));
        }
    }

    /// The bit for the value in the tag number `k`; the next one is for all others. None if the
    /// comparison is never asked about.
    #[inline(always)]
    pub fn tag_bit(&self, k: usize) -> Option<u32> {
        let field = &self.fields[self.tags[k].loc.index()];
        (field.len > field.values)
            .then(|| field.first + field.values + 2 * (k - field.tags.start) as u32)
    }

    /// The first and the number of the location's bits for values, its tags' left out.
    #[inline(always)]
    pub fn value_bits(&self, loc: Loc) -> Range<u32> {
        let field = &self.fields[loc.index()];
        field.first..field.first + field.values
    }

    /// The bit for `value` at the location if something compares with it. Values that the location
    /// never holds have none, so nothing stale can be mistaken for them.
    #[inline(always)]
    pub fn critical_bit(&self, loc: Loc, value: Value) -> Option<u32> {
        let field = &self.fields[loc.index()];
        let class = field.critical.binary_search(&value).ok()?;
        Some(field.first + class as u32)
    }

    /// The image of every bit under an automorphism.
    pub fn renaming(&self, alpha: &Automorphism, types: &Types) -> Box<[u32]> {
        let mut image: Box<[u32]> = (0..self.bits).collect();
        for (x, field) in self.fields.iter().enumerate().take(self.fields.len() - 1) {
            let to = &self.fields[alpha.locations[x].index()];
            let class = types.location(Loc::from(x));
            for (pair, k) in field.tags.clone().enumerate() {
                let renamed = self.tags[k].renamed(alpha);
                let (Some(from), Ok(at)) = (self.tag_bit(k), self.tags.binary_search(&renamed))
                else {
                    continue;
                };
                let bit = self.tag_bit(at).expect("columns are symmetric");
                debug_assert_eq!(from, field.first + field.values + 2 * pair as u32);
                image[from as usize] = bit;
                image[from as usize + 1] = bit + 1;
            }
            for k in 0..field.values {
                let bit = if self.per_thread[x] {
                    alpha.threads[k as usize].0
                } else if let Some(value) = field.critical.get(k as usize) {
                    let renamed = alpha.value(class, *value);
                    to.critical.binary_search(&renamed).expect("columns are symmetric") as u32
                } else {
                    k
                };
                image[(field.first + k) as usize] = to.first + bit;
            }
        }
        image
    }

    /// The bit for thread number `t` at a non-atomic location.
    #[inline(always)]
    pub fn thread_bit(&self, loc: Loc, t: usize) -> u32 {
        self.fields[loc.index()].first + t as u32
    }
}

/// What is asked about the stale values of one location.
#[derive(Clone, Default)]
struct Need {
    asked: bool,
    /// Is there a plain store?
    overwritten: bool,
    /// The threads that write, as far as it matters: none, this one, or several.
    writers: Writers,
    compared: Vec<Values>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Writers {
    #[default]
    None,
    One(usize),
    Several,
}

impl Need {
    fn note(
        &mut self,
        t: usize,
        instr: &Instr,
        purpose: Purpose,
        expected: impl Fn(&ir::Expr) -> Option<Values>,
    ) {
        self.overwritten |= matches!(instr, Instr::Store { .. });
        if instr.may_write() {
            self.writers = match self.writers {
                Writers::None => Writers::One(t),
                Writers::One(other) if other == t => Writers::One(t),
                _ => Writers::Several,
            };
        }
        match (instr, purpose) {
            (Instr::Load { .. }, Purpose::Reading)
            | (Instr::Store { .. } | Instr::Rmw { .. }, Purpose::Overwriting) => self.asked = true,
            (Instr::Wait { values, .. }, Purpose::Reading) => {
                self.asked = true;
                self.compared.extend(values.iter().filter_map(expected));
            }
            (Instr::Cas { expected: e, .. }, _)
            | (Instr::BlockingCas { expected: e, .. }, Purpose::Overwriting) => {
                self.asked = true;
                self.compared.extend(expected(e));
            }
            _ => {}
        }
    }

    fn field(
        self,
        program: &Program,
        values: &Values,
        purpose: Purpose,
        track: Track,
        tags: Range<usize>,
    ) -> Option<Field> {
        // Only plain stores leave behind writes that another write could be placed after, and a
        // thread is aware of its own.
        let unneeded = match purpose {
            Purpose::Reading => self.writers == Writers::None,
            Purpose::Overwriting => !self.overwritten || self.writers != Writers::Several,
        };
        if !self.asked || unneeded {
            return Some(Field::default());
        }
        let domain = program.domain;
        let all = || match values.members() {
            Some(members) => Some(members.to_vec()),
            None => (domain.size() <= MOST_VALUES).then(|| (domain.min..=domain.max).collect()),
        };
        let mut critical = Vec::new();
        for compared in &self.compared {
            match compared.members() {
                Some(members) => critical.extend(members.iter().filter(|&&v| values.contains(v))),
                None => critical.extend(all()?),
            }
        }
        if track == Track::All {
            critical = all()?;
        }
        critical.sort_unstable();
        critical.dedup();
        let others = match values.members() {
            Some(members) => members.len() > critical.len(),
            None => domain.size() > critical.len() as u128,
        };
        // With tags and nothing else to compare with, they tell if there is anything stale at all; a
        // value that the location never has is nothing to compare with.
        let values = match critical.is_empty() && !tags.is_empty() {
            true => 0,
            false => critical.len() as u32 + u32::from(others),
        };
        Some(Field { first: 0, len: values + 2 * tags.len() as u32, values, critical, tags })
    }
}
