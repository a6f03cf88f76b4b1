//! Objects: what pointers point to, and what memory holds before the threads start.
//!
//! An object has a *name* that does not depend on how threads are interleaved: a global variable, the n-th live block
//! that a thread allocated at a place of its code, a variable on a thread's stack. So two runs in which a thread does
//! the same things have the same objects, and the states they reach can be equal.
//!
//! Every object has a window of [`WINDOW`] bytes of addresses to itself and starts [`GUARD`] bytes into it. An
//! address therefore says which object it belongs to, and one that runs over either end of an object belongs to no
//! other.

use crate::queue::Slot;
use crate::value::{Bits, Word};
use llvm::{FunctionId, GlobalId};
use std::collections::{BTreeMap, HashMap};

/// The bytes of addresses that belong to one object.
pub(crate) const WINDOW: u64 = 1 << 28;
/// Where in its window an object starts.
pub(crate) const GUARD: u64 = 1 << 16;
/// The largest object.
pub(crate) const LARGEST: u64 = WINDOW - 2 * GUARD;
/// The bits of an address that say which byte it is; those above may carry a tag.
pub(crate) const ADDRESS_BITS: u32 = 48;

/// An object: an index into [`Space::objects`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ObjectId(pub(crate) u32);

/// An instruction of the module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Site {
    pub(crate) function: FunctionId,
    pub(crate) block: u32,
    pub(crate) instr: u32,
}

/// What an object is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Name {
    /// A global variable.
    Global(GlobalId),
    /// The text in type information that the C++ library has.
    TypeText(GlobalId),
    /// A global variable of which each thread has its own.
    ThreadLocal { global: GlobalId, thread: u32 },
    /// A function, whose address is all that is used of it.
    Function(FunctionId),
    /// A variable on a thread's stack.
    Stack { thread: u32, depth: u32, site: Site, nth: u32, size: u64 },
    /// A block of the heap. Who asked for it, as a number of [`crate::machine::Machine::askers`], tells blocks apart whose
    /// size means several types of objects.
    Heap { thread: u32, site: Site, nth: u32, size: u64, zeroed: bool, asker: u32 },
    /// A thread, as the one that starts it knows it: the n-th that it starts.
    Thread { parent: u32, nth: u32 },
    /// Threads that are started together.
    Team(u32),
    /// Memory that a thread is given when it is started, by the object that stands for the thread.
    Given { thread: ObjectId, nth: u32, size: u64 },
    /// What handles of a thread point to in Rust, by the object that stands for the thread.
    Counted { thread: ObjectId },
    /// What the function of a `Once` is told about it in Rust.
    OnceState { thread: u32 },
    /// Where `main` puts its result in Rust.
    MainResult,
    /// A message on its way through a channel of Rust's, of this type.
    Slot { channel: ObjectId, at: u32, slot: Slot, message: String },
    /// What `main` is given: its arguments, a text, the environment.
    Argument { nth: u32 },
    /// What exceptions of the standard library say, and their virtual functions.
    Exceptions,
    /// How many keys for values of threads there are.
    Keys,
    /// The value that a thread has for a key.
    Specific { thread: u32, key: u32 },
    /// A thread's `errno`.
    ErrorNumber { thread: u32 },
}

/// What bytes hold that were never written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fill {
    Undef,
    Zero,
}

/// An object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) name: Name,
    pub(crate) size: u64,
    pub(crate) fill: Fill,
    pub(crate) constant: bool,
}

/// What bytes of an object hold: cells that do not overlap, by their offset.
pub(crate) type Image = BTreeMap<u32, (u8, Word)>;

/// All objects that were ever met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    objects: Vec<Object>,
    ids: HashMap<Name, ObjectId>,
    /// What each object holds before the threads start.
    images: Vec<Image>,
}

impl Space {
    /// The object with this name, new if there is none.
    pub(crate) fn intern(&mut self, object: Object) -> ObjectId {
        if let Some(id) = self.ids.get(&object.name) {
            return *id;
        }
        let id = ObjectId(self.objects.len() as u32);
        self.ids.insert(object.name.clone(), id);
        self.objects.push(object);
        self.images.push(Image::new());
        id
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The object with this name.
    pub(crate) fn find(&self, name: &Name) -> Option<ObjectId> {
        self.ids.get(name).copied()
    }

    /// What all objects are.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.objects.iter().map(|object| &object.name)
    }

    pub(crate) fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.0 as usize]
    }

    pub(crate) fn image(&self, id: ObjectId) -> &Image {
        &self.images[id.0 as usize]
    }

    pub(crate) fn image_mut(&mut self, id: ObjectId) -> &mut Image {
        &mut self.images[id.0 as usize]
    }

    /// The address of an object's first byte.
    pub(crate) fn address(id: ObjectId) -> u64 {
        (u64::from(id.0) + 1) * WINDOW + GUARD
    }

    /// The object whose window an address is in, and the distance from the object's first byte.
    pub(crate) fn locate(&self, address: u128) -> Option<(ObjectId, i64)> {
        let address = u64::try_from(address).ok()?;
        let index = (address / WINDOW).checked_sub(1)?;
        if index >= self.objects.len() as u64 {
            return None;
        }
        Some((ObjectId(index as u32), (address % WINDOW) as i64 - GUARD as i64))
    }

    /// The object that a number would point to if it were a pointer, perhaps with a tag in its upper bits, or shifted
    /// up by one or two bytes with a tag below.
    pub(crate) fn mentioned(&self, bits: u128) -> Option<ObjectId> {
        let untagged = |shift: u32| (bits >> shift) & ((1 << ADDRESS_BITS) - 1);
        [0, 16, 8].into_iter().find_map(|shift| Some(self.locate(untagged(shift))?.0))
    }

    /// The objects that a word of up to 16 bytes would point to if its halves were pointers. Bits without a value count as
    /// 0: a pointer has a value in all of its own.
    pub(crate) fn mentions(&self, word: Word) -> impl Iterator<Item = ObjectId> + '_ {
        let Bits { bits, .. } = word.bits();
        [bits & u128::from(u64::MAX), bits >> 64]
            .into_iter()
            .filter_map(|half| self.mentioned(half))
    }
}

/// The cells of an image that share a byte with `offset..offset + size`.
pub(crate) fn overlapping(
    image: &Image,
    offset: u32,
    size: u8,
) -> impl Iterator<Item = (u32, u8, Word)> + '_ {
    // No cell is longer than 16 bytes.
    let first = offset.saturating_sub(16);
    image
        .range(first..offset + u32::from(size))
        .filter(move |(start, (length, _))| **start + u32::from(*length) > offset)
        .map(|(start, (length, word))| (*start, *length, *word))
}
