//! Redundant constraints: which rows are left out, and whether they hold nevertheless.
//!
//! Where rows of G depend on each other, G M⁻¹Gᵀ is singular and λ is not unique. Off the manifold g = 0, where iterations
//! are, the same rows are all but dependent, and a solver that judged them by their pivots would change its mind from one
//! matrix to the next. So they are chosen once, at the start of a run and wherever the equations change, and kept in the state
//! ([`LeftOut`]): every engine, iteration and projection leaves out the same ones. What is left is regular, and has the same motion
//! as long as the rows left out hold by themselves. That is measured after every step.

use crate::constraints::{add_position_residual, add_velocity_residual};
use crate::linear::kkt::Kkt;
use crate::linear::loops::Loops;
use crate::linear::projection::project;
use crate::linear::rank::{DENSE, rank, scaled_rows};
use crate::linear::scales::RowScales;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::random::Xorshift;
use bellcrank_model::dynamics::{LeftOut, Scale};
use bellcrank_model::{Dynamics, Point, Subject, Unknown, Workspace};
use std::sync::Arc;

/// A row of which less than this part is left beside those that are kept depends on them.
const INDEPENDENT: f64 = 1e-6;

/// A position is singular if of some row less than this part is left beside the others.
const SINGULAR: f64 = 1e-2;

/// How far aside a start is looked at, in rad and lengths of the model, to see whether its rank is that of a singular position.
const ASIDE: f64 = 0.02;

/// A position is closed within this part of the model's length.
const CLOSED: f64 = 1e-9;

/// A structure comes back to less than this part of the way aside, or stays open by more than this part of its square: what only gives
/// way to first order does, and inaccurate dimensions of a mechanism do not.
const BACK: f64 = 0.1;
const OPENS: f64 = 0.01;

/// Most corrections that put a position aside onto the constraints.
const CORRECTIONS: usize = 8;

/// Chooses the rows to leave out at a consistent point, given those that a factorization has dropped there. The rows that are
/// kept are as far from dependent as they can be (small models); those `of_tree` are kept all, and positions are preferred to rates.
pub(crate) fn choose(
    dynamics: &dyn Dynamics,
    kkt: &mut Kkt,
    at: &Point,
    w: &mut Workspace,
    dropped: &[usize],
    of_tree: &[bool],
) -> LeftOut {
    let m = dynamics.layout().m();
    if dropped.is_empty() {
        return LeftOut { of: m, rows: Vec::new() };
    }
    // at a singular position more rows are dependent than in its neighbourhood
    let closed = aside(dynamics, kkt, at, w).filter(|aside| aside.open <= CLOSED * dynamics.length());
    let aside = closed.map(|aside| (aside.point, kkt.dropped_rows())).filter(|(_, rows)| rows.len() < dropped.len());
    let (at, dropped) = aside.as_ref().map_or((at, dropped), |(at, rows)| (at, rows));
    let rows = match is_dense(dynamics) && !dropped.is_empty() {
        true => dependent(dynamics, at, w, m - dropped.len(), of_tree).0,
        false => dropped.to_vec(),
    };
    w.invalidate();
    LeftOut { of: m, rows }
}

fn is_dense(dynamics: &dyn Dynamics) -> bool {
    dynamics.layout().n().max(dynamics.layout().m()) <= DENSE
}

/// The rows to leave out of a structure close to its dead centre, where a factorization drops rows that hold it: pivots ϑ² of
/// directions that differ by an angle ϑ. `None` if it is none: it moves aside and stays closed, or its rows do depend on each other.
pub(crate) fn of_structure(dynamics: &dyn Dynamics, kkt: &mut Kkt, at: &Point, w: &mut Workspace) -> Option<LeftOut> {
    let dropped = kkt.dropped_rows().len();
    if dropped == 0 || !is_dense(dynamics) {
        return None;
    }
    let rows = rank(dynamics, at, w)?.dependent();
    if rows.len() >= dropped {
        return None;
    }
    let Aside { point, open } = aside(dynamics, kkt, at, w)?;
    let unit = unit_of(dynamics);
    let moved = point.q.iter().zip(&at.q).enumerate().fold(0.0f64, |m, (k, (a, b))| m.max((a - b).abs() * unit(k)));
    let is_held = moved < BACK * ASIDE || open > OPENS * ASIDE * ASIDE * dynamics.length();
    is_held.then_some(LeftOut { of: dynamics.layout().m(), rows })
}

/// What coordinates count in rad and lengths of the model.
fn unit_of(dynamics: &dyn Dynamics) -> impl Fn(usize) -> f64 {
    let (length, scales) = (dynamics.length(), dynamics.scales());
    move |k| if scales[k] == Scale::Angle { 1.0 } else { 1.0 / length }
}

/// A position near by, along any free motion, and by how much it is open.
struct Aside {
    point: Point,
    open: f64,
}

/// The position that corrections lead to from aside; the system has been factored there.
fn aside(dynamics: &dyn Dynamics, kkt: &mut Kkt, at: &Point, w: &mut Workspace) -> Option<Aside> {
    let (length, unit) = (dynamics.length(), unit_of(dynamics));
    let mut trial = at.clone();
    trial.charts.left_out = LeftOut::default();
    let mut random = Xorshift(7);
    let load: Vec<f64> = at.q.iter().map(|_| random.number()).collect();
    let look = |trial: &Point, w: &mut Workspace| {
        w.invalidate();
        dynamics.realize(trial, w);
    };
    look(&trial, w);
    kkt.factor(&trial, w).ok()?;
    let mut way = kkt.respond(&load).ok()?.to_vec();
    let size = way.iter().enumerate().fold(0.0f64, |m, (k, d)| m.max(d.abs() * unit(k)));
    if !size.is_finite() || size <= 0.0 {
        return None;
    }
    way.iter_mut().for_each(|d| *d *= ASIDE / size);
    dynamics.retract(1.0, &mut trial.q, &way);
    let mut open = f64::INFINITY;
    for _ in 0..CORRECTIONS {
        look(&trial, w);
        kkt.factor(&trial, w).ok()?;
        let mut worst = 0.0f64;
        let delta = kkt.project(|rows| {
            add_position_residual(dynamics, -1.0, &trial, w, rows);
            worst = rows.iter().fold(0.0, |m, r| m.max(r.abs()));
        });
        open = worst;
        if open <= 1e-12 * length {
            break;
        }
        let delta = delta.ok()?.to_vec();
        dynamics.retract(1.0, &mut trial.q, &delta);
    }
    Some(Aside { point: trial, open })
}

/// The rows that sweeps over a spanning tree hold exactly, of equations that have one: they are independent in any position.
pub(crate) fn rows_of_tree(dynamics: &Arc<dyn Dynamics>, at: &Point) -> Vec<bool> {
    let loops = if is_dense(&**dynamics) { Loops::new(dynamics.clone(), at) } else { None };
    loops.map_or_else(Vec::new, |loops| (0..dynamics.layout().m()).map(|row| loops.place(row).is_none()).collect())
}

/// The rows that depend on others: of all rows, `rank` are kept at most, one after the other the one of which most is left
/// beside those before it; those of a tree first, then positions, then rates. And the least of what was left of any that was kept.
fn dependent(
    dynamics: &dyn Dynamics,
    at: &Point,
    w: &mut Workspace,
    rank: usize,
    of_tree: &[bool],
) -> (Vec<usize>, f64) {
    let layout = dynamics.layout();
    let (n, mut rows) = (layout.n().max(1), scaled_rows(dynamics, at, w));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let blocks = layout.constraints.iter().zip(&layout.rates);
    let turn = |row: usize, is_rate: bool| match of_tree.get(row) {
        Some(true) => 0,
        _ => 1 + is_rate as usize,
    };
    let turns: Vec<usize> = blocks.flat_map(|(c, r)| c.clone().map(move |row| turn(row, r.is_empty()))).collect();
    let mut left: Vec<usize> = (0..layout.m()).collect();
    let (mut kept, mut least) = (0, 1.0f64);
    for now in 0..3 {
        while kept < rank {
            let sizes = left.iter().enumerate().filter(|(_, k)| turns[**k] == now);
            // the first of those that are as good but for rounding, so that the choice does not hang on rounding
            let better = |best: (usize, f64), (place, k): (usize, &usize)| {
                let row = &rows[k * n..(k + 1) * n];
                let size = dot(row, row).sqrt();
                if size > best.1 * (1.0 + 1e-6) { (place, size) } else { best }
            };
            let (place, size) = sizes.fold((usize::MAX, INDEPENDENT), better);
            if place == usize::MAX {
                break;
            }
            let k = left.remove(place);
            let basis: Vec<f64> = rows[k * n..(k + 1) * n].iter().map(|x| x / size).collect();
            for other in &left {
                let row = &mut rows[other * n..(other + 1) * n];
                let part = dot(row, &basis);
                row.iter_mut().zip(&basis).for_each(|(r, b)| *r -= part * b);
            }
            (kept, least) = (kept + 1, least.min(size));
        }
    }
    (left, least)
}

/// Another choice of as many rows at a point that need not be closed; none close to a singular position, where any choice is poor.
pub(crate) fn another(
    dynamics: &dyn Dynamics,
    kkt: &mut Kkt,
    at: &Point,
    w: &mut Workspace,
    of_tree: &[bool],
) -> Option<LeftOut> {
    let (m, before) = (dynamics.layout().m(), &at.charts.left_out);
    let rows = if is_dense(dynamics) {
        let (rows, least) = dependent(dynamics, at, w, m.saturating_sub(before.rows.len()), of_tree);
        if least < SINGULAR {
            return None;
        }
        rows
    } else {
        let mut at = at.clone();
        at.charts.left_out = LeftOut::default();
        w.invalidate();
        dynamics.realize(&at, w);
        kkt.factor(&at, w).ok()?;
        kkt.dropped_rows()
    };
    w.invalidate();
    (before.of == m && rows.len() == before.rows.len() && rows != before.rows).then_some(LeftOut { of: m, rows })
}

/// Whether the rows that are kept at a point depend on each other, or nearly so. Small pivots of an elimination, whose order is
/// given, do not prove it; of large models nothing else is known.
pub(crate) fn is_singular(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> bool {
    let m = dynamics.layout().m();
    if !is_dense(dynamics) {
        return true;
    }
    let kept = m - at.charts.left_out.among(m).len();
    let (left, least) = dependent(dynamics, at, w, kept, &[]);
    left.len() > m - kept || least < SINGULAR
}

/// The joints with rows that are left out at a point.
pub(crate) fn owners(dynamics: &dyn Dynamics, at: &Point) -> Vec<Subject> {
    let layout = dynamics.layout();
    let owner = |row: &usize| layout.constraints.partition_point(|r| r.end <= *row);
    let mut blocks: Vec<usize> = at.charts.left_out.among(layout.m()).iter().map(owner).collect();
    blocks.dedup();
    blocks.into_iter().map(|k| dynamics.subject(Unknown::Lambda, k)).collect()
}

/// How far rows are open: positions in rad or lengths of the model, velocities in rad/s or lengths of the model per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Opening {
    pub position: f64,
    pub velocity: f64,
}

impl Opening {
    /// Whether neither exceeds that of another.
    pub fn is_within(self, other: Opening) -> bool {
        self.position <= other.position && self.velocity <= other.velocity
    }
}

/// Measures how far the rows that were left out are open.
#[derive(Default)]
pub(crate) struct Gauge {
    rows: Vec<f64>,
    scales: Vec<f64>,
}

impl Gauge {
    /// At a realized point.
    pub fn measure(&mut self, left_out: &LeftOut, dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> Opening {
        let m = dynamics.layout().m();
        if self.scales.len() != m {
            let length = dynamics.length();
            let turns_count_so = |d: f64| if d == 1.0 { 1.0 / length } else { 1.0 };
            self.scales = RowScales::new(dynamics, at, w).rows.into_iter().map(turns_count_so).collect();
        }
        let left_out = left_out.among(m);
        let worst = |rows: &[f64], scales: &[f64]| {
            left_out
                .iter()
                .map(|&r| rows[r].abs() * scales[r])
                .fold(0.0, |m, x| if x > m || x.is_nan() { x } else { m })
        };
        self.rows.clear();
        self.rows.resize(m, 0.0);
        add_position_residual(dynamics, 1.0, at, w, &mut self.rows);
        let position = worst(&self.rows, &self.scales);
        self.rows.fill(0.0);
        add_velocity_residual(dynamics, 1.0, at, w, &mut self.rows);
        Opening { position, velocity: worst(&self.rows, &self.scales) }
    }

    /// The same where the rows that are kept are closed, which the point is moved to.
    pub fn measure_closed(
        &mut self,
        dynamics: &dyn Dynamics,
        kkt: &mut Kkt,
        at: &mut Point,
        w: &mut Workspace,
    ) -> Result<Opening, LinearError> {
        for _ in 0..2 {
            w.invalidate();
            project(kkt, dynamics, at, w)?;
        }
        w.invalidate();
        dynamics.realize(at, w);
        Ok(self.measure(&at.charts.left_out, dynamics, at, w))
    }
}
