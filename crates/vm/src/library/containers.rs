//! What of `std::list` and of `std::unordered_map` is in libstdc++ and not in its headers.
//!
//! A list is a ring of nodes, each of which has the next and the one before. How many buckets a hash table has, and which
//! number a key is hashed to, nobody can rely on: here as many as there are keys, up to the next prime, and FNV-1a.

use crate::action::{Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::value::{Val, Word};

/// Where the parts of a node of a list are.
const NEXT: u64 = 0;
const BEFORE: u64 = 8;
/// Where a hash table's policy keeps the number of keys that it grows at.
const GROWS_AT: u64 = 8;
/// The buckets of a table that gets its first key.
const FIRST: u64 = 11;

impl Machine {
    pub(super) fn container_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        let done = |result: Result<(), Stop>| result.map(|()| Val::Undef);
        let number = |k: usize| match arguments.get(k) {
            Some(Val::Bits(number)) => Ok(*number as u64),
            _ => Err(Stop::fail("a hash table is asked about a number that was never written")),
        };
        if let Some(rest) = name.strip_prefix("_ZNSt8__detail15_List_node_base") {
            let node = argument(0);
            return Some(done(match rest {
                "7_M_hookEPS0_" => self.hook(local, &node, &argument(1)),
                "9_M_unhookEv" => self.unhook(local, &node),
                "11_M_transferEPS0_S1_" => self.transfer(local, &node, &argument(1), &argument(2)),
                "10_M_reverseEv" => self.reverse(local, &node),
                "4swapERS0_S1_" => self.swap_lists(local, &node, &argument(1)),
                _ => return None,
            }));
        }
        Some(match name {
            "_ZSt11_Hash_bytesPKvmm" | "_ZSt15_Fnv_hash_bytesPKvmm" => number(1).and_then(|size| {
                let bytes = self.written_bytes_of(local, &argument(0), size)?;
                let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                    (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
                });
                Ok(Val::Bits(hash.into()))
            }),
            "_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm" => number(1)
                .and_then(|least| self.buckets(local, &argument(0), least))
                .map(|buckets| Val::Bits(buckets.into())),
            "_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm" => {
                number(1).and_then(|buckets| {
                    let keys = number(2)?.saturating_add(number(3)?);
                    self.grows(local, &argument(0), buckets, keys)
                })
            }
            _ => return None,
        })
    }

    fn link(&mut self, local: &mut Local, node: &Val, part: u64) -> Result<Val, Stop> {
        Ok(self.load_word(local, &Machine::field(node, part), 8, Order::Plain)?.into())
    }

    fn set_link(&mut self, local: &mut Local, node: &Val, part: u64, to: &Val) -> Result<(), Stop> {
        self.store_word(local, &Machine::field(node, part), 8, to.word(), Order::Plain)
    }

    /// Puts a node in front of another.
    fn hook(&mut self, local: &mut Local, node: &Val, before: &Val) -> Result<(), Stop> {
        self.set_link(local, node, NEXT, before)?;
        let last = self.link(local, before, BEFORE)?;
        self.set_link(local, node, BEFORE, &last)?;
        self.set_link(local, &last, NEXT, node)?;
        self.set_link(local, before, BEFORE, node)
    }

    fn unhook(&mut self, local: &mut Local, node: &Val) -> Result<(), Stop> {
        let next = self.link(local, node, NEXT)?;
        let before = self.link(local, node, BEFORE)?;
        self.set_link(local, &before, NEXT, &next)?;
        self.set_link(local, &next, BEFORE, &before)
    }

    /// Moves the nodes from `first` up to `end`, without it, in front of another.
    fn transfer(
        &mut self,
        local: &mut Local,
        to: &Val,
        first: &Val,
        end: &Val,
    ) -> Result<(), Stop> {
        if to == end {
            return Ok(());
        }
        let last = self.link(local, end, BEFORE)?;
        let before_first = self.link(local, first, BEFORE)?;
        let before_to = self.link(local, to, BEFORE)?;
        self.set_link(local, &last, NEXT, to)?;
        self.set_link(local, &before_first, NEXT, end)?;
        self.set_link(local, &before_to, NEXT, first)?;
        self.set_link(local, to, BEFORE, &last)?;
        self.set_link(local, end, BEFORE, &before_first)?;
        self.set_link(local, first, BEFORE, &before_to)
    }

    fn reverse(&mut self, local: &mut Local, list: &Val) -> Result<(), Stop> {
        let mut node = list.clone();
        loop {
            let next = self.link(local, &node, NEXT)?;
            let before = self.link(local, &node, BEFORE)?;
            self.set_link(local, &node, NEXT, &before)?;
            self.set_link(local, &node, BEFORE, &next)?;
            node = next;
            if node == *list {
                return Ok(());
            }
        }
    }

    /// Two lists, by the nodes that stand for their ends, become each other.
    fn swap_lists(&mut self, local: &mut Local, left: &Val, right: &Val) -> Result<(), Stop> {
        let mut ends = Vec::new();
        for list in [left, right] {
            ends.push((self.link(local, list, NEXT)?, self.link(local, list, BEFORE)?));
        }
        for (list, other, (first, last)) in [(left, right, &ends[1]), (right, left, &ends[0])] {
            // One that is empty has itself on both sides.
            let (first, last) = if first == other { (list, list) } else { (first, last) };
            self.set_link(local, list, NEXT, first)?;
            self.set_link(local, list, BEFORE, last)?;
            if first != list {
                self.set_link(local, first, BEFORE, list)?;
                self.set_link(local, last, NEXT, list)?;
            }
        }
        Ok(())
    }

    /// The number of buckets that a table gets, and with it the number of keys that it grows at.
    fn buckets(&mut self, local: &mut Local, policy: &Val, least: u64) -> Result<u64, Stop> {
        let is_prime = |n: u64| (2..).take_while(|k| k * k <= n).all(|k| !n.is_multiple_of(k));
        let least = least.min(u64::from(u32::MAX));
        let buckets = (least.max(1)..).find(|n| is_prime(*n)).unwrap_or(least);
        let most = (buckets as f64 * self.load_factor(local, policy)?).floor() as u64;
        let at = Machine::field(policy, GROWS_AT);
        self.store_word(local, &at, 8, Word::Bits(most.into()), Order::Plain)?;
        Ok(buckets)
    }

    /// How many keys a table has for each bucket at most.
    fn load_factor(&mut self, local: &mut Local, policy: &Val) -> Result<f64, Stop> {
        match self.load_word(local, policy, 4, Order::Plain)? {
            Word::Bits(bits) => Ok(f64::from(f32::from_bits(bits as u32))),
            _ => Err(Stop::fail("a hash table is used that was never initialised")),
        }
    }

    /// Does a table grow with so many keys, and to how many buckets? A pair of both.
    fn grows(
        &mut self,
        local: &mut Local,
        policy: &Val,
        buckets: u64,
        keys: u64,
    ) -> Result<Val, Stop> {
        let at = Machine::field(policy, GROWS_AT);
        let Word::Bits(most) = self.load_word(local, &at, 8, Order::Plain)? else {
            return Err(Stop::fail("a hash table is used that was never initialised"));
        };
        let pair = |grows: bool, buckets: u64| {
            Val::Many([Val::Bits(grows.into()), Val::Bits(buckets.into())].into())
        };
        if u128::from(keys) <= most {
            return Ok(pair(false, 0));
        }
        let factor = self.load_factor(local, policy)?;
        let wanted = if most == 0 { keys.max(FIRST) } else { keys };
        let least = (wanted as f64 / factor).floor() as u64;
        if least >= buckets {
            let least = least.saturating_add(1).max(buckets.saturating_mul(2));
            return Ok(pair(true, self.buckets(local, policy, least)?));
        }
        let most = (buckets as f64 * factor).floor() as u64;
        self.store_word(local, &at, 8, Word::Bits(most.into()), Order::Plain)?;
        Ok(pair(false, 0))
    }
}
