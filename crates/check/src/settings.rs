//! How a check is to be made.

use crate::reduce::Reductions;
use memory::rc20::row_layout::Track;
use search::{Limits, Order};

/// The memory model to check against.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Model {
    /// C11 with relaxed and release/acquire accesses and fences.
    #[default]
    Rc20,
    /// The release/acquire fragment: every access counts as acquire or release.
    Ra,
    /// Sequential consistency: no weak memory at all.
    Sc,
}

impl Model {
    /// The name used in options, reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Model::Rc20 => "rc20",
            Model::Ra => "ra",
            Model::Sc => "sc",
        }
    }
}

/// How much to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Extent {
    /// One shortest witness per property.
    #[default]
    First,
    /// A witness for every place that can go wrong.
    All,
}

/// Whether what was decided with reductions is decided once more without ([`crate::double_check`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DoubleCheck {
    /// If it took next to no time, and may take next to no time again.
    #[default]
    IfSmall,
    /// Never.
    Never,
    /// Always, however long it takes.
    Always,
}

/// How a check is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The memory model.
    pub model: Model,
    /// Observational instead of plain robustness?
    pub observational: bool,
    /// Look for races?
    pub races: bool,
    /// How much to look for.
    pub extent: Extent,
    /// What to save.
    pub reductions: Reductions,
    /// Which values to tell apart.
    pub track: Track,
    /// Whether to check again without what is saved.
    pub double_check: DoubleCheck,
    /// The order of exploration.
    pub order: Order,
    /// What it may use up.
    pub limits: Limits,
    /// On how many cores.
    pub jobs: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            model: Model::Rc20,
            observational: false,
            races: true,
            extent: Extent::First,
            reductions: Reductions::ALL,
            track: Track::Critical,
            double_check: DoubleCheck::IfSmall,
            order: Order::Breadth,
            limits: Limits::default(),
            jobs: 1,
        }
    }
}
