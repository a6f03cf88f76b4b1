//! The trees of `std::map` and `std::set`: what of them is in libstdc++ and not in its headers.
//!
//! A node has a colour, its parent, its left and its right child; the tree's header has the root as its parent, the first
//! and the last node as its children, and is red where the root is black. Trees are not balanced here: nothing but the
//! time that a program takes depends on it.

use crate::action::{Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::value::{Val, Word};

/// Where the parts of a node are.
const COLOUR: u64 = 0;
const PARENT: u64 = 8;
const LEFT: u64 = 16;
const RIGHT: u64 = 24;
const BLACK: Word = Word::Bits(1);

impl Machine {
    pub(super) fn tree_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        Some(match name {
            "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base"
            | "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base" => {
                self.neighbour(local, argument(0), RIGHT, LEFT)
            }
            "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base"
            | "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base" => {
                self.neighbour(local, argument(0), LEFT, RIGHT)
            }
            "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_" => {
                let side = if argument(0) == Val::Bits(0) { RIGHT } else { LEFT };
                self.insert_node(local, side, argument(1), argument(2), argument(3))
                    .map(|()| Val::Undef)
            }
            "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_" => {
                self.erase_node(local, argument(0), argument(1))
            }
            _ => return None,
        })
    }

    fn part(&mut self, local: &mut Local, node: &Val, part: u64) -> Result<Val, Stop> {
        Ok(self.load_word(local, &Machine::field(node, part), 8, Order::Plain)?.into())
    }

    fn set_part(&mut self, local: &mut Local, node: &Val, part: u64, to: &Val) -> Result<(), Stop> {
        self.store_word(local, &Machine::field(node, part), 8, to.word(), Order::Plain)
    }

    /// The next node on a side: `towards` is right for the next, left for the one before.
    fn neighbour(
        &mut self,
        local: &mut Local,
        mut node: Val,
        towards: u64,
        back: u64,
    ) -> Result<Val, Stop> {
        let colour = self.load_word(local, &Machine::field(&node, COLOUR), 4, Order::Plain)?;
        let above = self.part(local, &node, PARENT)?;
        // From the header, the one before is the last.
        if towards == LEFT && colour != BLACK && self.part(local, &above, PARENT)? == node {
            return self.part(local, &node, RIGHT);
        }
        let child = self.part(local, &node, towards)?;
        if child != Val::Bits(0) {
            node = child;
            loop {
                match self.part(local, &node, back)? {
                    Val::Bits(0) => return Ok(node),
                    further => node = further,
                }
            }
        }
        let mut above = above;
        while self.part(local, &above, towards)? == node {
            node = above;
            above = self.part(local, &node, PARENT)?;
        }
        // Behind the last node is the header, also if the root is the last.
        match towards == RIGHT && self.part(local, &node, RIGHT)? == above {
            true => Ok(node),
            false => Ok(above),
        }
    }

    fn insert_node(
        &mut self,
        local: &mut Local,
        side: u64,
        node: Val,
        above: Val,
        header: Val,
    ) -> Result<(), Stop> {
        let none = Val::Bits(0);
        self.set_part(local, &node, PARENT, &above)?;
        self.set_part(local, &node, LEFT, &none)?;
        self.set_part(local, &node, RIGHT, &none)?;
        // All nodes are black, so that nobody takes one for the header.
        self.store_word(local, &Machine::field(&node, COLOUR), 4, BLACK, Order::Plain)?;
        let is_first = above == header;
        let end = self.part(local, &header, side)?;
        self.set_part(local, &above, side, &node)?;
        if is_first {
            self.set_part(local, &header, PARENT, &node)?;
            self.set_part(local, &header, LEFT, &node)?;
            self.set_part(local, &header, RIGHT, &node)?;
        } else if end == above {
            self.set_part(local, &header, side, &node)?;
        }
        Ok(())
    }

    /// Takes a node out; the result is the node.
    fn erase_node(&mut self, local: &mut Local, node: Val, header: Val) -> Result<Val, Stop> {
        let none = Val::Bits(0);
        for (end, inwards, back) in [(LEFT, RIGHT, LEFT), (RIGHT, LEFT, RIGHT)] {
            if self.part(local, &header, end)? != node {
                continue;
            }
            // The node is the first or last: its child on the other side, as far as that goes, or what is above.
            let mut next = self.part(local, &node, inwards)?;
            if next == none {
                next = self.part(local, &node, PARENT)?;
            } else {
                loop {
                    match self.part(local, &next, back)? {
                        Val::Bits(0) => break,
                        further => next = further,
                    }
                }
            }
            self.set_part(local, &header, end, &next)?;
        }
        let (left, right) = (self.part(local, &node, LEFT)?, self.part(local, &node, RIGHT)?);
        let replacement = if left == none {
            right
        } else if right == none {
            left
        } else {
            // The next node takes the place of this one.
            let mut next = right.clone();
            loop {
                match self.part(local, &next, LEFT)? {
                    Val::Bits(0) => break,
                    further => next = further,
                }
            }
            if next != right {
                let (above, below) =
                    (self.part(local, &next, PARENT)?, self.part(local, &next, RIGHT)?);
                self.set_part(local, &above, LEFT, &below)?;
                if below != none {
                    self.set_part(local, &below, PARENT, &above)?;
                }
                self.set_part(local, &next, RIGHT, &right)?;
                self.set_part(local, &right, PARENT, &next)?;
            }
            self.set_part(local, &next, LEFT, &left)?;
            self.set_part(local, &left, PARENT, &next)?;
            next
        };
        let above = self.part(local, &node, PARENT)?;
        if replacement != none {
            self.set_part(local, &replacement, PARENT, &above)?;
        }
        if self.part(local, &header, PARENT)? == node {
            self.set_part(local, &header, PARENT, &replacement)?;
        } else if self.part(local, &above, LEFT)? == node {
            self.set_part(local, &above, LEFT, &replacement)?;
        } else {
            self.set_part(local, &above, RIGHT, &replacement)?;
        }
        Ok(node)
    }
}
