//! Places the nodes and edges of a drawing.
//!
//! A thread's events stand below each other; an event that reads from another thread stands below what
//! it reads. Edges leave and enter nodes at ports: each end of an edge gets a place of its own on the
//! side of the node that looks towards the other end, in the order of the other ends, so that edges
//! cross as little as possible and never coincide. The names of edges come last (`labels`).
//!
//! There are two sets of measures. On a phone a drawing has to do with a third of the room, so nodes say less there
//! (what is left out is in their titles) and columns stand closer together.

use super::{Edge, Node, Picture, Width, labels};
use crate::escape::{columns, cut, visible};
use crate::proof::EdgeKind;
use std::collections::HashMap;

/// Height of a thread's name.
pub(super) const HEAD: f64 = 38.0;
/// How far above the first node a thread's name stands.
pub(super) const NAME_ABOVE: f64 = 14.0;
/// Height of a node, and of an initial value.
const NODE: f64 = 46.0;
const INITIAL: f64 = 28.0;
/// From the top of a row to the top of the next.
const ROW: f64 = 86.0;
/// Width of a character of a thread's name.
pub(super) const NAME: f64 = 8.2;
/// Width of a character of an edge's name.
pub(super) const SMALL: f64 = 6.7;

/// The measures that depend on how much room there is.
pub(super) struct Measures {
    /// Space around the drawing.
    margin: f64,
    /// Between the columns.
    gap: f64,
    /// Room on both sides for edges that go round.
    bulge: f64,
    /// How far out edges go that come from above.
    around: f64,
    /// Width of a character of a node's label, and of its caption.
    label: f64,
    caption: f64,
    /// The most characters of a label and a caption.
    label_most: usize,
    caption_most: usize,
    /// Space beside a node's text.
    padding: f64,
    /// The narrowest and the widest node.
    narrowest: f64,
    widest: f64,
}

const WIDE: Measures = Measures {
    margin: 22.0,
    gap: 96.0,
    bulge: 38.0,
    around: 58.0,
    label: 7.9,
    caption: 6.7,
    label_most: 29,
    caption_most: 34,
    padding: 24.0,
    narrowest: 132.0,
    widest: 250.0,
};

/// Two columns and what goes round them fit into some 320 pixels.
const NARROW: Measures = Measures {
    margin: 4.0,
    gap: 40.0,
    bulge: 20.0,
    around: 26.0,
    label: 6.7,
    caption: 6.1,
    label_most: 16,
    caption_most: 17,
    padding: 8.0,
    narrowest: 92.0,
    widest: 116.0,
};

impl Measures {
    pub(super) fn of(width: Width) -> &'static Measures {
        match width {
            Width::Wide => &WIDE,
            Width::Narrow => &NARROW,
        }
    }

    /// What a node says it did, cut to fit.
    pub(super) fn label(&self, width: Width, node: &Node) -> String {
        let text = match width {
            Width::Wide => &node.label,
            Width::Narrow => &node.effect,
        };
        let most = if node.line.is_none() { self.label_most + 11 } else { self.label_most };
        cut(&visible(text), most)
    }

    /// The text below a node's label, cut to fit.
    pub(super) fn caption(&self, width: Width, node: &Node) -> String {
        let text = match (node.line, width, &node.mode) {
            (None, ..) => String::new(),
            (Some(line), Width::Wide, _) if node.text.is_empty() => format!("line {line}"),
            (Some(line), Width::Wide, _) => format!("{line}: {}", visible(&node.text)),
            (Some(line), Width::Narrow, Some(mode)) => format!("line {line}, {mode}"),
            (Some(line), Width::Narrow, None) => format!("line {line}"),
        };
        cut(&text, self.caption_most)
    }

    fn width_of(&self, width: Width, node: &Node) -> f64 {
        let text = (columns(&self.label(width, node)) as f64 * self.label)
            .max(columns(&self.caption(width, node)) as f64 * self.caption);
        (text + self.padding).clamp(self.narrowest, self.widest)
    }
}

/// Gives every node a place and every edge a path.
pub(super) fn place(picture: &mut Picture) {
    rows(picture);
    columns_of_lanes(picture);
    nodes(picture);
    paths(picture);
    labels::place(picture);
}

/// How far down each event is: below the one before it in its thread, and below what it reads.
fn rows(picture: &mut Picture) {
    if picture.timeline {
        // What happened later is further down, in whatever thread.
        let nodes = picture.nodes.iter_mut().enumerate();
        return nodes.for_each(|(index, node)| node.row = index);
    }
    let mut last: HashMap<usize, usize> = HashMap::new();
    for index in 0..picture.nodes.len() {
        let Some(lane) = picture.nodes[index].lane else { continue };
        let after_own = last.get(&lane).map_or(0, |row| row + 1);
        let sources = picture.edges.iter().filter(|edge| {
            edge.to == index
                && edge.from < index
                && matches!(edge.kind, EdgeKind::Rf | EdgeKind::Conflict | EdgeKind::Chosen)
                && picture.nodes[edge.from].lane.is_some_and(|other| other != lane)
        });
        let after_sources = sources.map(|edge| picture.nodes[edge.from].row + 1).max();
        let row = after_own.max(after_sources.unwrap_or(0));
        picture.nodes[index].row = row;
        last.insert(lane, row);
    }
}

fn columns_of_lanes(picture: &mut Picture) {
    let (width, measures) = (picture.width, Measures::of(picture.width));
    let mut x = measures.margin + measures.bulge;
    for (index, lane) in picture.lanes.iter_mut().enumerate() {
        let own = picture.nodes.iter().filter(|node| node.lane == Some(index));
        let name = columns(&visible(&lane.name)) as f64 * NAME + 12.0;
        let own = own.map(|node| measures.width_of(width, node));
        lane.width = own.fold(name.max(measures.narrowest), f64::max);
        lane.x = x + lane.width / 2.0;
        x += lane.width + measures.gap;
    }
    picture.size.0 = x - measures.gap + measures.margin + measures.bulge;
}

fn nodes(picture: &mut Picture) {
    let measures = Measures::of(picture.width);
    let margin = measures.margin;
    let initial: Vec<usize> =
        (0..picture.nodes.len()).filter(|index| picture.nodes[*index].lane.is_none()).collect();
    let width_of_initial =
        |node: &Node| columns(&visible(&node.label)) as f64 * measures.label + measures.padding;
    // Each as near as possible to what it is tied to, but none upon another.
    let mut wanted: Vec<(f64, usize)> = initial
        .iter()
        .map(|&index| {
            let tied = picture.edges.iter().filter(|edge| edge.from == index);
            let lanes = tied.filter_map(|edge| picture.nodes[edge.to].lane);
            let xs: Vec<f64> = lanes.map(|lane| picture.lanes[lane].x).collect();
            let middle = xs.iter().sum::<f64>() / xs.len().max(1) as f64;
            (if xs.is_empty() { picture.size.0 / 2.0 } else { middle }, index)
        })
        .collect();
    wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut x = margin;
    for (middle, index) in wanted {
        let node = &mut picture.nodes[index];
        let width = width_of_initial(node);
        let left = (middle - width / 2.0).max(x);
        node.size = (width, INITIAL);
        node.at = (left + width / 2.0, margin + INITIAL / 2.0);
        x = left + width + 14.0;
    }
    if !initial.is_empty() {
        picture.size.0 = picture.size.0.max(x - 14.0 + margin);
    }
    let top = if initial.is_empty() { margin } else { margin + INITIAL + 34.0 };
    let mut bottom = top + HEAD;
    for node in &mut picture.nodes {
        let Some(lane) = node.lane.map(|lane| &picture.lanes[lane]) else { continue };
        node.size = (lane.width, NODE);
        node.at = (lane.x, top + HEAD + node.row as f64 * ROW + NODE / 2.0);
        bottom = bottom.max(node.at.1 + NODE / 2.0);
    }
    picture.size.1 = bottom + margin + if picture.hidden > 0 { 24.0 } else { 0.0 };
}

/// A side of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Left,
    Right,
    Top,
    Bottom,
}

/// An end of an edge at a node: where the other end is, which edge, and whether it starts here.
type End = (f64, usize, bool);

/// The sides at which an edge leaves and enters.
fn sides(picture: &Picture, edge: &Edge) -> (Side, Side) {
    let (from, to) = (&picture.nodes[edge.from], &picture.nodes[edge.to]);
    match (from.lane, to.lane) {
        (None, None) => (Side::Bottom, Side::Bottom),
        (None, Some(lane)) => (Side::Bottom, from_above(picture, to, lane)),
        (Some(lane), None) => (from_above(picture, from, lane), Side::Bottom),
        (Some(a), Some(b)) if a == b => match edge.kind {
            EdgeKind::Po => (Side::Bottom, Side::Top),
            _ => (Side::Right, Side::Right),
        },
        (Some(a), Some(b)) if a < b => (Side::Right, Side::Left),
        _ => (Side::Left, Side::Right),
    }
}

/// Where an edge between an initial value and a node of a lane meets the node: on top of the lane's
/// first, else on the side where the lane's other nodes are not in the way.
fn from_above(picture: &Picture, node: &Node, lane: usize) -> Side {
    match node.row {
        0 => Side::Top,
        _ if lane + 1 == picture.lanes.len() => Side::Right,
        _ => Side::Left,
    }
}

fn paths(picture: &mut Picture) {
    let around_by = Measures::of(picture.width).around;
    // All ends of edges at one side of one node, with where the other end is.
    let mut ports: HashMap<(usize, Side), Vec<End>> = HashMap::new();
    let all: Vec<(Side, Side)> = picture.edges.iter().map(|edge| sides(picture, edge)).collect();
    for (index, (edge, (leaves, enters))) in picture.edges.iter().zip(&all).enumerate() {
        let towards = |side: Side, other: usize| match side {
            Side::Left | Side::Right => picture.nodes[other].at.1,
            Side::Top | Side::Bottom => picture.nodes[other].at.0,
        };
        let start = (towards(*leaves, edge.to), index, true);
        ports.entry((edge.from, *leaves)).or_default().push(start);
        let end = (towards(*enters, edge.from), index, false);
        ports.entry((edge.to, *enters)).or_default().push(end);
    }
    let mut ends: Vec<[(f64, f64); 2]> = vec![[(0.0, 0.0); 2]; picture.edges.len()];
    for ((node, side), mut here) in ports {
        here.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let node = &picture.nodes[node];
        let length = match side {
            Side::Left | Side::Right => node.size.1 - 12.0,
            Side::Top | Side::Bottom => node.size.0 - 40.0,
        };
        let apart = (length / here.len() as f64).min(30.0);
        for (position, (_, edge, start)) in here.iter().enumerate() {
            let offset = (position as f64 - (here.len() - 1) as f64 / 2.0) * apart;
            let (x, y) = node.at;
            let (half_width, half_height) = (node.size.0 / 2.0, node.size.1 / 2.0);
            ends[*edge][usize::from(!start)] = match side {
                Side::Left => (x - half_width, y + offset),
                Side::Right => (x + half_width, y + offset),
                Side::Top => (x + offset, y - half_height),
                Side::Bottom => (x + offset, y + half_height),
            };
        }
    }
    for ((edge, [start, end]), (leaves, enters)) in picture.edges.iter_mut().zip(ends).zip(all) {
        let distance = (end.0 - start.0).hypot(end.1 - start.1);
        let reach = match leaves {
            Side::Right if enters == Side::Right => (26.0 + distance / 9.0).min(around_by * 1.2),
            _ => (distance * 0.4).clamp(18.0, 110.0),
        };
        let out = |(x, y): (f64, f64), side: Side| match side {
            Side::Left => (x - reach, y),
            Side::Right => (x + reach, y),
            Side::Top => (x, y - reach),
            Side::Bottom => (x, y + reach),
        };
        let around = |to: (f64, f64), side: Side| match side {
            Side::Left => Some((to.0 - around_by, start.1 + 16.0)),
            Side::Right => Some((to.0 + around_by, start.1 + 16.0)),
            Side::Top | Side::Bottom => None,
        };
        edge.path = match around(end, enters).filter(|_| leaves == Side::Bottom) {
            // From above, round the nodes that are in between.
            Some(first) => [start, first, (first.0, end.1 - 10.0), end],
            None => [start, out(start, leaves), out(end, enters), end],
        };
    }
}
