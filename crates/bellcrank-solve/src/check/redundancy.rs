//! Degrees of freedom, redundant equations and singular positions, from the rank of G.

use super::advice::advice;
use super::text::{axis, list, names, plural};
use super::{Check, DENSE, Level, Redundancy};
use crate::initial::{self, Random};
use crate::kkt::{Blocks, Kkt, RowScales, dense};
use bellcrank_math::dense::svd;
use bellcrank_model::dynamics::Scale;
use bellcrank_model::model::Space;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, System, Unknown, Workspace};
use std::sync::Arc;

/// A singular value below this part of the largest is none.
const RANK: f64 = 1e-7;
/// How far poses nearby are, in lengths of the model.
const NEARBY: f64 = 0.05;

/// G with rows of length one, in coordinates of equal weight, and what follows from it.
pub(super) struct Rank {
    rows: Vec<f64>,
    pub(super) rank: usize,
    pub(super) n: usize,
    /// Motions that G leaves free, in coordinates of equal weight.
    pub(super) free: Vec<Vec<f64>>,
    /// Combinations of rows that vanish.
    vanishing: Vec<Vec<f64>>,
}

/// The length that each coordinate is counted in.
pub(super) fn weights(dynamics: &dyn Dynamics) -> Vec<f64> {
    let length = dynamics.length();
    dynamics.scales().iter().map(|s| if *s == Scale::Angle { length } else { 1.0 }).collect()
}

pub(super) fn rank(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> Option<Rank> {
    w.invalidate();
    dynamics.realize(at, w);
    let (n, m) = (dynamics.layout().n(), dynamics.layout().m());
    let transposed = dense(dynamics, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w);
    let weights = weights(dynamics);
    let mut rows = vec![0.0; m * n];
    for k in 0..m {
        let row = &mut rows[k * n..(k + 1) * n];
        (0..n).for_each(|i| row[i] = transposed[i * m + k] / weights[i]);
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 1e-12 {
            row.iter_mut().for_each(|x| *x /= length);
        }
    }
    let svd = svd(&rows, m, n).ok()?;
    let rank = svd.rank(RANK);
    let free = (rank..n).map(|k| svd.right(k).to_vec()).collect();
    let vanishing = (rank..m).map(|k| svd.left(k).to_vec()).collect();
    Some(Rank { rows, rank, n, free, vanishing })
}

impl Rank {
    /// The rows that depend on those before them.
    fn dependent(&self) -> Vec<usize> {
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let mut found = Vec::new();
        for (k, row) in self.rows.chunks_exact(self.n.max(1)).enumerate() {
            let mut rest = row.to_vec();
            // twice is enough [Parlett 1980]
            for _ in 0..2 {
                for b in &basis {
                    let part: f64 = b.iter().zip(&rest).map(|(b, r)| b * r).sum();
                    rest.iter_mut().zip(b).for_each(|(r, b)| *r -= part * b);
                }
            }
            let length = rest.iter().map(|x| x * x).sum::<f64>().sqrt();
            if length > 10.0 * RANK && basis.len() < self.rank {
                rest.iter_mut().for_each(|x| *x /= length);
                basis.push(rest);
            } else {
                found.push(k);
            }
        }
        found
    }

    /// The constraint blocks in vanishing combinations of rows.
    fn support(&self, dynamics: &dyn Dynamics) -> Vec<usize> {
        let involved =
            |r: &std::ops::Range<usize>| self.vanishing.iter().any(|u| u[r.clone()].iter().any(|x| x.abs() > 1e-6));
        let blocks = dynamics.layout().constraints.iter().enumerate();
        blocks.filter(|(_, r)| involved(r)).map(|(k, _)| k).collect()
    }
}

/// What the equations hold at a point.
pub(super) struct Found {
    /// Degrees of freedom.
    pub(super) freedom: usize,
    /// Rows that others hold already.
    pub(super) dependent: Vec<usize>,
    /// The constraint blocks that take part in that.
    pub(super) support: Vec<usize>,
}

fn is_large(dynamics: &dyn Dynamics) -> bool {
    dynamics.layout().n().max(dynamics.layout().m()) > DENSE
}

/// G in coordinates of equal weight, for elimination, factored at a point.
fn eliminate(dynamics: &Arc<dyn Dynamics>, at: &Point, w: &mut Workspace) -> Option<Kkt> {
    let squares = weights(&**dynamics).iter().map(|w| w * w).collect();
    let mut kkt = Kkt::weighted(dynamics.clone(), squares);
    w.invalidate();
    dynamics.realize(at, w);
    kkt.factor(at, w).ok()?;
    kkt.reveals_rank().then_some(kkt)
}

/// Degrees of freedom and the number of redundant rows at a point: by singular values, or by elimination
/// where the model is large.
pub(super) fn count(dynamics: &Arc<dyn Dynamics>, at: &Point, w: &mut Workspace) -> Option<(usize, usize)> {
    let (n, m) = (dynamics.layout().n(), dynamics.layout().m());
    let redundant = match is_large(&**dynamics) {
        true => eliminate(dynamics, at, w)?.dropped(),
        false => m - rank(&**dynamics, at, w)?.rank,
    };
    Some(((n + redundant).saturating_sub(m), redundant))
}

fn find(dynamics: &Arc<dyn Dynamics>, at: &Point, w: &mut Workspace) -> Option<Found> {
    let layout = dynamics.layout();
    if !is_large(&**dynamics) {
        let found = rank(&**dynamics, at, w)?;
        let (dependent, support) = (found.dependent(), found.support(&**dynamics));
        return Some(Found { freedom: found.n - found.rank, dependent, support });
    }
    let dependent = eliminate(dynamics, at, w)?.dropped_rows();
    let freedom = (layout.n() + dependent.len()).saturating_sub(layout.m());
    let scales = RowScales::new(&**dynamics, at, w);
    let support = match dependent.is_empty() {
        true => Vec::new(),
        false => Kkt::new(dynamics.clone()).not_unique(&scales, at, w).ok()?,
    };
    Some(Found { freedom, dependent, support })
}

/// Degrees of freedom, redundant rows and singular positions.
pub(super) fn ranks(c: &mut Check, system: &Arc<System>, start: &Point, w: &mut Workspace, thorough: bool) {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let Some(here) = find(&dynamics, start, w) else {
        return c.leave_out("redundant equations and freedom", "the rank of the constraints could not be found");
    };
    let mut generic: Option<(Point, Found)> = None;
    let mut poses = 0;
    let mut random = Random(7);
    let tries = if thorough { 4 } else { 2 };
    for k in 0..tries {
        let Some(there) = nearby(&dynamics, start, here.freedom, k, &mut random, w) else { continue };
        poses += 1;
        if let Some(found) = find(&dynamics, &there, w)
            && generic.as_ref().is_none_or(|(_, best)| found.freedom < best.freedom)
        {
            generic = Some((there, found));
        }
    }
    let blocks = |list: &[usize]| names(list.iter().map(|k| dynamics.name(Unknown::Lambda, *k)));
    let (point, usual) = generic.as_ref().map_or((start, &here), |(point, found)| (point, found));
    let singular = here.freedom > usual.freedom;
    let stuck = here.freedom > 0 && poses == 0;
    let shaky = stuck && !c.large;
    if stuck && !shaky {
        c.leave_out("whether the start is singular", "no pose nearby could be closed");
    }
    if singular || shaky {
        let odd: Vec<usize> = here.support.iter().copied().filter(|k| shaky || !usual.support.contains(k)).collect();
        let involved = blocks(if odd.is_empty() { &here.support } else { &odd });
        let message = match shaky {
            true => format!(
                "the start is singular: {} can give way a little although nothing can move; the equations do not hold it",
                list(&involved)
            ),
            false => format!(
                "the start is a singular position of {}: {} there, {} nearby; the motion may branch",
                list(&involved),
                plural(here.freedom, "degree of freedom", "degrees of freedom"),
                usual.freedom
            ),
        };
        let help = "start a little beside it, by a joint's coordinate in [start] or by the places of the bodies";
        c.push(Level::Warning, "singular", involved, message, help);
    }
    c.degrees_of_freedom = Some(if shaky { 0 } else { usual.freedom });
    if usual.freedom == 0 && !shaky && !dynamics.driven() && c.counts.1 > 0 {
        let message = "nothing can move: no degree of freedom, and no drive".to_string();
        let help = "if it should: a joint holds too much, or axes that were meant to be parallel are not";
        c.push(Level::Note, "locked", Vec::new(), message, help);
    }
    // a shaky structure has dependent rows that are not redundant
    if !shaky {
        w.invalidate();
        system.realize(start, w);
        c.redundancies = name_rows(system, &usual.dependent, start, w);
        c.not_unique = blocks(&usual.support);
    }
    let mut changes = Vec::new();
    if thorough && !c.redundancies.is_empty() {
        match advice(system, point, usual) {
            Ok(found) => changes = found,
            Err(why) => c.leave_out("which joints to change", &why),
        }
    }
    tell_redundant(c, changes);
}

/// A pose beside the start, assembled; `None` where nothing moves.
fn nearby(
    dynamics: &Arc<dyn Dynamics>,
    start: &Point,
    freedom: usize,
    k: usize,
    random: &mut Random,
    w: &mut Workspace,
) -> Option<Point> {
    let (weights, length) = (weights(&**dynamics), dynamics.length());
    let mut there = start.clone();
    let size = |x: &[f64]| x.iter().zip(&weights).fold(0.0f64, |m, (x, w)| m.max((x * w).abs()));
    // nearer where it does not close at once, but not so near that a singular position is not left
    let mut far = NEARBY * length * if k > 1 { 0.5f64.powi(k as i32 - 1) } else { 1.0 };
    let mut aside: Vec<f64>;
    if freedom == 0 {
        // only time moves it
        let speed = size(&start.v);
        if speed < 1e-9 * length {
            return None;
        }
        let h = far / speed * (1.0 + k as f64) * 0.5;
        there.t += h;
        aside = start.v.iter().map(|v| h * v).collect();
        far = 0.0;
    } else {
        // any motion, and the least change that frees it
        let mut kkt = eliminate(dynamics, start, w)?;
        let g = Blocks::new(&**dynamics, Piece::GtLambda, Unknown::Lambda, Slopes::default(), start, w);
        aside = match k {
            // where it goes, or would go: among many freedoms chance finds no branch of a singular position
            1 if size(&start.v) > 1e-9 * length => start.v.clone(),
            1 if size(&start.vdot) > 0.0 => start.vdot.clone(),
            _ => weights.iter().map(|w| random.next() / w).collect(),
        };
        let change = kkt.project(|rows| g.add_transposed_times(-1.0, &aside, rows)).ok()?;
        aside.iter_mut().zip(change).for_each(|(a, c)| *a += c);
        let largest = size(&aside).max(f64::MIN_POSITIVE);
        aside.iter_mut().for_each(|a| *a *= far / largest);
    }
    dynamics.retract(&mut there.q, &aside);
    initial::close(dynamics, &mut there, w).ok()?;
    let moved: Vec<f64> = there.q.iter().zip(&start.q).map(|(a, b)| a - b).collect();
    (size(&moved) > 0.1 * far).then_some(there)
}

/// The rows of a realized point by joint, in words.
fn name_rows(system: &System, rows: &[usize], at: &Point, w: &Workspace) -> Vec<Redundancy> {
    let layout = system.layout();
    let mut out: Vec<Redundancy> = Vec::new();
    let mut unit = at.clone();
    for &row in rows {
        let block = layout.constraints.partition_point(|r| r.end <= row);
        let name = system.name(Unknown::Lambda, block);
        let words = match system.constraints()[block].joint {
            None => "its length".to_string(),
            Some(joint) => {
                unit.lambda.fill(0.0);
                unit.lambda[row] = 1.0;
                let load = system.reaction(joint, &unit, w);
                match system.model.joints[joint].kind {
                    "drive" => "the driven motion".into(),
                    "gear" | "belt" | "rack" => "the ratio".into(),
                    "distance" => "the distance".into(),
                    _ if load.lin.norm() > 1e-9 => format!("shift along {}", axis(load.lin)),
                    _ if system.model.space == Space::Plane => "turn".into(),
                    _ => format!("turn about {}", axis(load.ang)),
                }
            }
        };
        match out.last_mut() {
            Some(last) if last.name == name => last.directions.push(words),
            _ => out.push(Redundancy { name, directions: vec![words] }),
        }
    }
    out
}

fn tell_redundant(c: &mut Check, advice: Vec<String>) {
    if c.redundancies.is_empty() {
        return;
    }
    let lines: Vec<String> =
        c.redundancies.iter().take(12).map(|r| format!("\n{}: {}", r.name, r.directions.join(", "))).collect();
    let more = c.redundancies.len().saturating_sub(12);
    let message = format!(
        "{}, held already by the {}:{}{}",
        plural(c.redundant(), "redundant equation", "redundant equations"),
        if c.large { "other joints" } else { "joints before" },
        lines.concat(),
        if more > 0 { format!("\nand {more} more joints") } else { String::new() }
    );
    let help = match advice.is_empty() {
        true => "it runs so; the motion is unique, the reactions of these joints are not".to_string(),
        false => format!("it runs so, but the reactions are not unique; to make them so, {}", list(&advice)),
    };
    let names = c.redundancies.iter().map(|r| r.name.clone()).collect();
    c.push(Level::Note, "redundant", names, message, &help);
}
