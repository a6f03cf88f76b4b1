//! Memory orders of atomic accesses and fences.

/// A memory order, as C and C++ number them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Order {
    /// No order beyond coherence.
    #[default]
    Relaxed = 0,
    /// Counted as acquire, as compilers do.
    Consume = 1,
    /// Reads what the write it reads from released.
    Acquire = 2,
    /// Publishes all that the thread knows.
    Release = 3,
    /// Both.
    AcqRel = 4,
    /// Both, and ordered with all others of its kind.
    SeqCst = 5,
}

impl Order {
    /// The order with this number; compilers put hints into the high bits.
    pub fn from_number(number: u32) -> Order {
        match number & 0x7fff {
            0 => Order::Relaxed,
            1 => Order::Consume,
            2 => Order::Acquire,
            3 => Order::Release,
            4 => Order::AcqRel,
            _ => Order::SeqCst,
        }
    }

    /// Does a read or fence in this order synchronise with what was read?
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(self, Order::Consume | Order::Acquire | Order::AcqRel | Order::SeqCst)
    }

    /// Does a write or fence in this order publish what its thread knows?
    #[inline]
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel | Order::SeqCst)
    }

    /// The name after `memory_order_`.
    pub fn name(self) -> &'static str {
        match self {
            Order::Relaxed => "relaxed",
            Order::Consume => "consume",
            Order::Acquire => "acquire",
            Order::Release => "release",
            Order::AcqRel => "acq_rel",
            Order::SeqCst => "seq_cst",
        }
    }
}
