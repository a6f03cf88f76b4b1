//! Places the names of edges in a drawing.
//!
//! A name belongs on its edge, near the middle, but never on a node, on a thread's name or on another edge's name. For
//! each edge, in the order of their importance, places along the curve are tried, then places beside it, then all
//! around. The first that is free is taken. If none is, the edge goes without: its colour and its title still tell.

use super::{Picture, layout};
use crate::escape::{columns, visible};

/// Height of a name.
const HEIGHT: f64 = 14.0;
/// How far from the baseline of a name its top is.
pub(super) const RISE: f64 = 11.0;
/// Where on the curve to try, in this order.
const ALONG: [f64; 13] =
    [0.5, 0.43, 0.57, 0.36, 0.64, 0.29, 0.71, 0.22, 0.78, 0.15, 0.85, 0.1, 0.9];
/// How far beside it.
const BESIDE: [f64; 7] = [0.0, 7.0, -7.0, 13.0, -13.0, 20.0, -20.0];
/// How far around its middle, and in which steps.
const AROUND: i32 = 14;
const STEP: f64 = 6.0;

/// A rectangle: left, top, right, bottom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rect(pub f64, pub f64, pub f64, pub f64);

impl Rect {
    fn around(x: f64, y: f64, width: f64, height: f64) -> Rect {
        Rect(x - width / 2.0, y - height / 2.0, x + width / 2.0, y + height / 2.0)
    }

    /// Do the two have a point in common, or nearly?
    pub(super) fn meets(&self, other: &Rect) -> bool {
        const APART: f64 = 1.5;
        self.0 < other.2 + APART
            && other.0 < self.2 + APART
            && self.1 < other.3 + APART
            && other.1 < self.3 + APART
    }
}

/// What edges' names must keep clear of: nodes, the names of threads, the note about events that are left out.
pub(super) fn obstacles(picture: &Picture) -> Vec<Rect> {
    let nodes = picture.nodes.iter().map(|n| Rect::around(n.at.0, n.at.1, n.size.0, n.size.1));
    let mut taken: Vec<Rect> = nodes.collect();
    let top = picture.top();
    taken.extend(picture.lanes.iter().map(|lane| {
        let width = columns(&visible(&lane.name)) as f64 * layout::NAME;
        Rect::around(lane.x, top - layout::NAME_ABOVE - 4.0, width, 18.0)
    }));
    if picture.hidden > 0 {
        let (width, height) = picture.size;
        taken.push(Rect(0.0, height - 30.0, width, height));
    }
    taken
}

/// The room that an edge's name takes if its middle is at a point.
pub(super) fn room(picture: &Picture, edge: usize, (x, y): (f64, f64)) -> Rect {
    let width = columns(picture.edges[edge].kind.name()) as f64 * layout::SMALL + 2.0;
    Rect::around(x, y, width, HEIGHT)
}

/// Gives every edge's name a place.
pub(super) fn place(picture: &mut Picture) {
    let mut taken = obstacles(picture);
    let mut order: Vec<usize> = (0..picture.edges.len()).collect();
    order.sort_by_key(|index| {
        let edge = &picture.edges[*index];
        (edge.quiet, !edge.on_cycle)
    });
    for index in order {
        let (width, height) = picture.size;
        let free = |point: &(f64, f64)| {
            let here = room(picture, index, *point);
            here.0 >= 0.0
                && here.1 >= 0.0
                && here.2 <= width
                && here.3 <= height
                && !taken.iter().any(|other| other.meets(&here))
        };
        let found = candidates(&picture.edges[index].path).find(free);
        if let Some(point) = found {
            taken.push(room(picture, index, point));
        }
        picture.edges[index].label = found;
    }
}

/// The places to try for the name of an edge with this path.
fn candidates(path: &[(f64, f64); 4]) -> impl Iterator<Item = (f64, f64)> {
    let path = *path;
    let on_curve = BESIDE.into_iter().flat_map(move |beside| {
        ALONG.into_iter().map(move |t| {
            let ((x, y), (dx, dy)) = (point(&path, t), direction(&path, t));
            (x - dy * beside, y + dx * beside)
        })
    });
    let (x, y) = point(&path, 0.5);
    let rings = (1..=AROUND).flat_map(move |ring| {
        let side = -ring..=ring;
        side.clone().flat_map(move |i| {
            let edge = i.abs() == ring;
            let across = (-ring..=ring).filter(move |j| edge || j.abs() == ring);
            across.map(move |j| (x + f64::from(i) * STEP, y + f64::from(j) * STEP))
        })
    });
    on_curve.chain(rings)
}

/// A point of a cubic curve.
fn point([a, b, c, d]: &[(f64, f64); 4], t: f64) -> (f64, f64) {
    let s = 1.0 - t;
    let (wa, wb, wc, wd) = (s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t);
    (wa * a.0 + wb * b.0 + wc * c.0 + wd * d.0, wa * a.1 + wb * b.1 + wc * c.1 + wd * d.1)
}

/// Where the curve goes at that point, as a vector of length one.
fn direction(path: &[(f64, f64); 4], t: f64) -> (f64, f64) {
    let (before, after) = (point(path, t - 0.01), point(path, t + 0.01));
    let (dx, dy) = (after.0 - before.0, after.1 - before.1);
    let length = dx.hypot(dy).max(1e-9);
    (dx / length, dy / length)
}

#[cfg(test)]
mod tests {
    use super::super::{Edge, Lane, Node, Width};
    use super::*;
    use crate::proof::{EdgeKind, EventKind};

    /// A drawing that a seed stands for: some threads, some events, far more edges than executions have.
    fn picture(mut seed: u64, width: Width) -> Picture {
        let mut below = |most: usize| {
            // Numerical Recipes' generator: any will do.
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % most
        };
        let lanes: Vec<Lane> = (0..1 + below(4))
            .map(|n| Lane { name: "t".repeat(1 + n * 4), x: 0.0, width: 0.0 })
            .collect();
        let node = |lane: Option<usize>, label: String| Node {
            events: Vec::new(),
            lane,
            row: 0,
            effect: label.clone(),
            mode: lane.map(|_| "acq_rel".to_string()),
            line: lane.map(|_| 12),
            whole_line: None,
            text: "x.store(1, rel)".to_string(),
            kind: EventKind::Write,
            on_cycle: false,
            wrong: false,
            at: (0.0, 0.0),
            size: (0.0, 0.0),
            label,
        };
        let mut nodes: Vec<Node> = (0..below(4)).map(|n| node(None, format!("x{n} = 0"))).collect();
        for _ in 0..2 + below(14) {
            let label = "write location = 1"[..6 + below(12)].to_string();
            nodes.push(node(Some(below(lanes.len())), label));
        }
        let kinds = [EdgeKind::Po, EdgeKind::Rf, EdgeKind::Fr, EdgeKind::Hb, EdgeKind::Propagation];
        let edges: Vec<Edge> = (0..below(2 * nodes.len()))
            .map(|_| Edge {
                from: below(nodes.len()),
                to: below(nodes.len()),
                kind: kinds[below(kinds.len())],
                on_cycle: below(3) == 0,
                quiet: below(5) == 0,
                path: [(0.0, 0.0); 4],
                label: None,
            })
            .filter(|edge| edge.from != edge.to)
            .collect();
        let (hidden, timeline) = (below(2), below(4) == 0);
        let mut picture =
            Picture { lanes, nodes, edges, hidden, timeline, width, size: (0.0, 0.0) };
        layout::place(&mut picture);
        picture
    }

    /// No name of an edge meets a node, a thread's name or another edge's name, or leaves the drawing, however dense
    /// it is; and next to all edges have one.
    #[test]
    fn names_meet_nothing() {
        let (mut named, mut edges) = (0, 0);
        for seed in 0..400 {
            for width in [Width::Wide, Width::Narrow] {
                let picture = picture(seed, width);
                let obstacles = obstacles(&picture);
                let rooms: Vec<Rect> = (0..picture.edges.len())
                    .filter_map(|index| Some(room(&picture, index, picture.edges[index].label?)))
                    .collect();
                for (index, here) in rooms.iter().enumerate() {
                    let others = obstacles.iter().chain(&rooms[..index]);
                    assert!(!others.clone().any(|other| other.meets(here)), "seed {seed}");
                    assert!(here.0 >= 0.0 && here.2 <= picture.size.0, "seed {seed}");
                }
                if width == Width::Wide {
                    named += rooms.len();
                    edges += picture.edges.len();
                }
            }
        }
        assert!(edges > 2000 && named * 100 >= edges * 97, "{named} of {edges}");
    }
}
