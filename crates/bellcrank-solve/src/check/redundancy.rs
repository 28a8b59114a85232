//! Degrees of freedom, redundant equations and singular positions, from the rank of G.

use super::advice::advice;
use super::text::{axis, distinct, list, plural};
use super::{Check, DENSE, Redundancy, Severity};
use crate::constraints::add_position_residual;
use crate::linear::kkt::Kkt;
use crate::linear::rank::{rank, weights};
use crate::linear::scales::{MANY, RowScales, turn};
use crate::start;
use bellcrank_math::random::Xorshift;
use bellcrank_model::dynamics::Scale;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::model::Space;
use bellcrank_model::{Dynamics, Point, System, Unknown, Workspace};
use std::sync::Arc;

/// How far poses nearby are, in lengths of the model.
const NEARBY: f64 = 0.05;
/// What closes a pose of a large model is at most this part of the way to it.
const SHORTER: f64 = 0.25;

/// What the equations hold at a point.
pub(super) struct RowsAtPoint {
    /// Degrees of freedom.
    pub(super) freedom: usize,
    /// Rows that others hold already.
    pub(super) dependent: Vec<usize>,
    /// The constraint blocks that take part in that, ascending.
    pub(super) support: Vec<usize>,
}

fn is_large(dynamics: &dyn Dynamics) -> bool {
    dynamics.layout().n().max(dynamics.layout().m()) > DENSE
}

/// Degrees of freedom and the number of redundant rows at a point: by singular values, or by elimination
/// where the model is large.
pub(super) fn count(dynamics: &Arc<dyn Dynamics>, at: &Point, w: &mut Workspace) -> Option<(usize, usize)> {
    let (n, m) = (dynamics.layout().n(), dynamics.layout().m());
    let redundant = match is_large(&**dynamics) {
        true => RowElimination::new(dynamics, at, w).factor(at, w)?.dropped(),
        false => m - rank(&**dynamics, at, w)?.rank,
    };
    Some(((n + redundant).saturating_sub(m), redundant))
}

/// G in coordinates of equal weight, for elimination: one analysis for all poses.
pub(super) struct RowElimination {
    dynamics: Arc<dyn Dynamics>,
    /// What one unit of each coordinate counts.
    weights: Vec<f64>,
    kkt: Kkt,
}

impl RowElimination {
    pub(super) fn new(dynamics: &Arc<dyn Dynamics>, at: &Point, w: &mut Workspace) -> RowElimination {
        w.invalidate();
        dynamics.realize(at, w);
        let turn = turn(&**dynamics, at, w);
        let weights: Vec<f64> = dynamics.scales().iter().map(|s| if *s == Scale::Angle { turn } else { 1.0 }).collect();
        let kkt = Kkt::weighted(dynamics.clone(), weights.iter().map(|w| w * w).collect());
        RowElimination { dynamics: dynamics.clone(), weights, kkt }
    }

    /// Factored at a point, if that tells the rank.
    fn factor(&mut self, at: &Point, w: &mut Workspace) -> Option<&mut Kkt> {
        w.invalidate();
        self.dynamics.realize(at, w);
        self.kkt.factor(at, w).ok()?;
        self.kkt.reveals_rank().then_some(&mut self.kkt)
    }

    /// What a look has cost: multiplications and additions of its factorizations.
    fn work(&self) -> usize {
        self.kkt.factorizations * self.kkt.flops().factor
    }

    /// What the equations hold at a point; of a large model without the blocks that take part in redundancy.
    pub(super) fn find(&mut self, at: &Point, w: &mut Workspace) -> Option<RowsAtPoint> {
        let dynamics = self.dynamics.clone();
        if !is_large(&*dynamics) {
            let found = rank(&*dynamics, at, w)?;
            let (dependent, support) = (found.dependent(), found.support(&*dynamics));
            return Some(RowsAtPoint { freedom: found.n - found.rank, dependent, support });
        }
        let dependent = self.factor(at, w)?.dropped_rows();
        let freedom = (dynamics.layout().n() + dependent.len()).saturating_sub(dynamics.layout().m());
        Some(RowsAtPoint { freedom, dependent, support: Vec::new() })
    }

    /// Finds the blocks that take part in redundancy, where [`Self::find`] left them out.
    fn complete(&mut self, found: &mut RowsAtPoint, at: &Point, w: &mut Workspace) -> Option<()> {
        if is_large(&*self.dynamics) && !found.dependent.is_empty() && found.support.is_empty() {
            self.factor(at, w)?;
            let scales = RowScales::new(&*self.dynamics, at, w);
            found.support = self.kkt.taking_part(&scales).ok()?;
        }
        Some(())
    }

    /// A pose beside the start, assembled; `None` where nothing moves.
    fn nearby(
        &mut self,
        start: &Point,
        freedom: usize,
        k: usize,
        random: &mut Xorshift,
        w: &mut Workspace,
    ) -> Option<Point> {
        let dynamics = self.dynamics.clone();
        let (weights, length) = (weights(&*dynamics), dynamics.length());
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
            dynamics.retract(1.0, &mut there.q, &aside);
        } else {
            // any motion, and the least change that frees it
            aside = match k {
                // where it goes, or would go: among many freedoms chance finds no branch of a singular position
                1 if size(&start.v) > 1e-9 * length => start.v.clone(),
                1 if size(&start.vdot) > 0.0 => start.vdot.clone(),
                _ => self.weights.iter().map(|w| random.number() / w).collect(),
            };
            self.factor(start, w)?;
            let mut rates = vec![0.0; dynamics.layout().m()];
            self.kkt.add_rates(-1.0, &aside, &mut rates);
            let change = self.kkt.project(|rows| rows.copy_from_slice(&rates)).ok()?;
            aside.iter_mut().zip(change).for_each(|(a, c)| *a += c);
            let largest = size(&aside).max(f64::MIN_POSITIVE);
            aside.iter_mut().for_each(|a| *a *= far / largest);
            dynamics.retract(1.0, &mut there.q, &aside);
            // the joints of a large model may be far closer together: what closes it is the shorter way
            for _ in 0..if weights.len() > MANY { 3 } else { 0 } {
                self.residual(&there, w, &mut rates);
                let back = size(self.kkt.project(|rows| rows.copy_from_slice(&rates)).ok()?);
                if back <= SHORTER * far {
                    break;
                }
                let nearer = SHORTER * far / back;
                far *= nearer;
                aside.iter_mut().for_each(|a| *a *= nearer);
                there.q.copy_from_slice(&start.q);
                dynamics.retract(1.0, &mut there.q, &aside);
            }
        }
        match weights.len() > MANY {
            true => self.close(&mut there, w)?,
            false => start::close(&dynamics, &mut there, w).ok()?,
        }
        let moved: Vec<f64> = there.q.iter().zip(&start.q).map(|(a, b)| a - b).collect();
        (size(&moved) > 0.1 * far).then_some(there)
    }

    /// Minus the residual of the positions, and its largest row.
    fn residual(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) -> f64 {
        w.invalidate();
        self.dynamics.realize(at, w);
        out.fill(0.0);
        add_position_residual(&*self.dynamics, -1.0, at, w, out);
        out.iter().fold(0.0, |worst, r| if r.is_nan() { f64::INFINITY } else { r.abs().max(worst) })
    }

    /// Closes a pose by Newton's method, if that closes it at once.
    fn close(&mut self, there: &mut Point, w: &mut Workspace) -> Option<()> {
        const ITERATIONS: usize = 12;
        let length = self.dynamics.length();
        let largest = there.q.iter().fold(length, |m, q| m.max(q.abs()));
        // what rounding leaves of differences of coordinates
        let tolerance = 1e-12 * length + 32.0 * f64::EPSILON * largest;
        let mut rest = vec![0.0; self.dynamics.layout().m()];
        let mut residual = self.residual(there, w, &mut rest);
        for _ in 0..ITERATIONS {
            // one more iteration after the tolerance is met squares what is left
            let polished = residual <= tolerance;
            self.kkt.factor(there, w).ok()?;
            let change = self.kkt.project(|rows| rows.copy_from_slice(&rest)).ok()?;
            self.dynamics.retract(1.0, &mut there.q, change);
            let before = std::mem::replace(&mut residual, self.residual(there, w, &mut rest));
            if polished || residual > 0.9 * before {
                break;
            }
        }
        // a singular position closes only with the square root of the precision
        (residual <= tolerance.max(1e-9 * length)).then_some(())
    }
}

/// Degrees of freedom, redundant rows and singular positions.
pub(super) fn ranks(c: &mut Check, system: &Arc<System>, start: &Point, w: &mut Workspace, thorough: bool) {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let mut elimination = RowElimination::new(&dynamics, start, w);
    let Some(mut here) = elimination.find(start, w) else {
        return c.leave_out("redundant equations and freedom", "the rank of the constraints could not be found");
    };
    let mut generic: Option<(Point, RowsAtPoint)> = None;
    let mut poses = 0;
    let mut random = Xorshift(7);
    let tries = if thorough { 4 } else { 2 };
    for k in 0..tries {
        let Some(there) = elimination.nearby(start, here.freedom, k, &mut random, w) else { continue };
        poses += 1;
        if let Some(found) = elimination.find(&there, w)
            && generic.as_ref().is_none_or(|(_, best)| found.freedom < best.freedom)
        {
            generic = Some((there, found));
        }
    }
    let singular = generic.as_ref().is_some_and(|(_, usual)| here.freedom > usual.freedom);
    let completed = match &mut generic {
        Some((point, found)) => elimination.complete(found, point, w),
        None => elimination.complete(&mut here, start, w),
    };
    let known = if singular { elimination.complete(&mut here, start, w).and(completed) } else { completed };
    if known.is_none() {
        c.leave_out("the joints whose reactions are not unique", "the equations for them could not be solved");
    }
    c.work = elimination.work();
    drop(elimination);
    let blocks = |list: &[usize]| distinct(list.iter().map(|k| dynamics.subject(Unknown::Lambda, *k)));
    let (point, usual) = generic.as_ref().map_or((start, &here), |(point, found)| (point, found));
    let stuck = here.freedom > 0 && poses == 0;
    let shaky = stuck && !c.large;
    if stuck && !shaky {
        c.leave_out("whether the start is singular", "no pose nearby could be closed");
    }
    if singular || shaky {
        let odd: Vec<usize> =
            here.support.iter().copied().filter(|k| shaky || usual.support.binary_search(k).is_err()).collect();
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
        c.push(Severity::Warning, "singular", involved, message, help);
    }
    c.degrees_of_freedom = Some(if shaky { 0 } else { usual.freedom });
    if usual.freedom == 0 && !shaky && !dynamics.driven() && c.counts.joints > 0 {
        let message = "nothing can move: no degree of freedom, and no drive".to_string();
        let help = "if it should: a joint holds too much, or axes that were meant to be parallel are not";
        c.push(Severity::Note, "locked", Vec::new(), message, help);
    }
    // a shaky structure has dependent rows that are not redundant
    if !shaky {
        w.invalidate();
        system.realize(start, w);
        c.redundancies = name_rows(system, &usual.dependent, start, w);
        c.not_unique = blocks(&usual.support).into_iter().map(|s| s.words).collect();
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

/// The rows of a realized point by joint, in words.
fn name_rows(system: &System, rows: &[usize], at: &Point, w: &Workspace) -> Vec<Redundancy> {
    let layout = system.layout();
    let mut out: Vec<Redundancy> = Vec::new();
    let mut unit = at.clone();
    unit.lambda.fill(0.0);
    for &row in rows {
        let block = layout.constraints.partition_point(|r| r.end <= row);
        let of = system.subject(Unknown::Lambda, block);
        let words = match system.constraints()[block].joint {
            None => "its length".to_string(),
            Some(joint) => {
                unit.lambda[row] = 1.0;
                let load = system.reaction(joint, &unit, w);
                unit.lambda[row] = 0.0;
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
            Some(last) if last.of == of => last.directions.push(words),
            _ => out.push(Redundancy { of, directions: vec![words] }),
        }
    }
    out
}

fn tell_redundant(c: &mut Check, advice: Vec<String>) {
    if c.redundancies.is_empty() {
        return;
    }
    let lines: Vec<String> =
        c.redundancies.iter().take(12).map(|r| format!("\n{}: {}", r.of, r.directions.join(", "))).collect();
    let more = c.redundancies.len().saturating_sub(12);
    let message = format!(
        "{}, already imposed by {}:{}{}",
        plural(c.redundant(), "redundant equation", "redundant equations"),
        if c.large { "other joints" } else { "earlier joints" },
        lines.concat(),
        if more > 0 { format!("\nand {more} more joints") } else { String::new() }
    );
    let help = match advice.is_empty() {
        true => "the model runs as long as these joints agree, which a run measures; their reactions are not unique"
            .to_string(),
        false => format!("the model runs, but its reactions are not unique; to make them unique, {}", list(&advice)),
    };
    let about = c.redundancies.iter().map(|r| r.of.clone()).collect();
    c.push(Severity::Note, "redundant", about, message, &help);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::rank::RANK;
    use bellcrank_math::linear::dense::svd;
    use bellcrank_model::read::read_text;
    use std::fmt::Write;

    /// Squares of hinged bars in a row, the first bar on the ground.
    fn ladder(m: usize, space: bool) -> String {
        let (z, axis) = if space { (", 0", ", axis = [0, 0, 1]") } else { ("", "") };
        let mut out =
            String::from(if space { "model = { gravity = [0, -9.81, 0] }\n" } else { "model = { plane = \"xy\" }\n" });
        let body = |out: &mut String, name: String, x: f64, y: f64| {
            let inertia = if space { "[0.05, 0.06, 0.08]" } else { "0.08" };
            writeln!(out, "body.{name} = {{ mass = 1, inertia = {inertia}, at = [{x:?}, {y:?}{z}] }}").unwrap();
        };
        for i in 0..=m {
            body(&mut out, format!("v{i}"), i as f64, -0.5);
            if i < m {
                body(&mut out, format!("t{i}"), i as f64 + 0.5, 0.0);
                body(&mut out, format!("b{i}"), i as f64 + 0.5, -1.0);
            }
        }
        let pin = |out: &mut String, a: &str, b: &str, x: usize, y: i32| {
            let joint = format!("type = \"revolute\", between = [\"{a}\", \"{b}\"]");
            writeln!(out, "joint.{a}-{b} = {{ {joint}, at = [{x}, {y}{z}]{axis} }}").unwrap();
        };
        pin(&mut out, "ground", "v0", 0, 0);
        for i in 0..m {
            for (rail, y) in [("t", 0), ("b", -1)] {
                pin(&mut out, &format!("v{i}"), &format!("{rail}{i}"), i, y);
                pin(&mut out, &format!("{rail}{i}"), &format!("v{}", i + 1), i + 1, y);
            }
        }
        out
    }

    /// Points in a square, at fixed distances, hung up at two corners; with both diagonals in the first `braced` meshes.
    fn net(n: usize, braced: usize) -> String {
        let mut out = String::from("model = { gravity = [0, 0, -9.81] }\n");
        let mut links = String::new();
        let link = |links: &mut String, i: usize, j: usize, k: usize, l: usize| {
            let between = format!("[\"m{i}-{j}\", \"m{k}-{l}\"], on = [[0, 0, 0], [0, 0, 0]]");
            writeln!(links, "joint.l{i}-{j}-{k}-{l} = {{ type = \"distance\", between = {between} }}").unwrap();
        };
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            writeln!(out, "body.m{i}-{j} = {{ mass = 1, at = [{i}, {j}, 0] }}").unwrap();
            (i + 1 < n).then(|| link(&mut links, i, j, i + 1, j));
            (j + 1 < n).then(|| link(&mut links, i, j, i, j + 1));
            if i * n + j < braced && j + 1 < n && i + 1 < n {
                link(&mut links, i, j, i + 1, j + 1);
                link(&mut links, i, j + 1, i + 1, j);
            }
        }
        for i in [0, n - 1] {
            writeln!(
                links,
                "joint.c{i} = {{ type = \"spherical\", between = [\"ground\", \"m{i}-{i}\"], at = [{i}, {i}, 0] }}"
            )
            .unwrap();
        }
        out + &links
    }

    fn started(text: &str) -> (Arc<System>, Arc<dyn Dynamics>, Point, Workspace) {
        let system = Arc::new(read_text("model.toml", text, &[]).unwrap().model.into_system());
        let dynamics: Arc<dyn Dynamics> = system.clone();
        let (point, _) = start::assemble(&dynamics, &system.initial_state()).unwrap();
        let w = system.workspace();
        (system, dynamics, point, w)
    }

    /// Rows that the elimination drops are as many as vanishing combinations, and the others are independent.
    #[test]
    fn elimination_and_singular_values_agree() {
        let samples = [
            ladder(40, false),
            ladder(16, true),
            net(7, 0),
            net(7, 15),
            ladder(40, false) + "joint.more = { type = \"revolute\", between = [\"t7\", \"v8\"], at = [8, 0] }\n",
        ];
        for text in &samples {
            let (_, dynamics, start, mut w) = started(text);
            let mut elimination = RowElimination::new(&dynamics, &start, &mut w);
            // flat meshes with both diagonals are stiff, and only to first order redundant
            let nearby = elimination.nearby(&start, 1, 0, &mut Xorshift(7), &mut w);
            assert_eq!(nearby.is_none(), text.contains("l0-1-1-0"));
            for at in std::iter::once(&start).chain(&nearby) {
                let dense = rank(&*dynamics, at, &mut w).unwrap();
                let (n, m) = (dense.n, dynamics.layout().m());
                let dropped = elimination.factor(at, &mut w).unwrap().dropped_rows();
                assert_eq!(m - dropped.len(), dense.rank, "{n} coordinates, {m} equations");
                assert_eq!(count_sparse(&dynamics, at, &mut w), (n - dense.rank, m - dense.rank));
                let kept: Vec<f64> = (0..m)
                    .filter(|k| dropped.binary_search(k).is_err())
                    .flat_map(|k| dense.rows[k * n..(k + 1) * n].to_vec())
                    .collect();
                assert_eq!(svd(&kept, m - dropped.len(), n).unwrap().rank(RANK), dense.rank);
                // those that take part in what vanishes
                elimination.factor(at, &mut w).unwrap();
                let scales = RowScales::new(&*dynamics, at, &mut w);
                assert_eq!(elimination.kkt.taking_part(&scales).unwrap(), dense.support(&*dynamics));
            }
        }
    }

    fn count_sparse(dynamics: &Arc<dyn Dynamics>, at: &Point, w: &mut Workspace) -> (usize, usize) {
        let dropped = RowElimination::new(dynamics, at, w).factor(at, w).unwrap().dropped();
        (dynamics.layout().n() + dropped - dynamics.layout().m(), dropped)
    }

    /// Counted: ladders of twice the bodies cost twice the work, nets of four times the points eight times at most.
    #[test]
    fn a_look_at_a_large_model_costs_in_proportion_to_it() {
        let look = |text: &str| {
            let system = Arc::new(read_text("model.toml", text, &[]).unwrap().model.into_system());
            let check = super::super::check(&system, &crate::choices::Options::default());
            assert!(check.counts.coordinates > MANY && check.runs() && check.work > 0);
            check
        };
        for (space, m) in [(false, 400), (true, 200)] {
            let [small, large] = [m, 2 * m].map(|m| look(&ladder(m, space)));
            let ratio = large.work as f64 / small.work as f64;
            assert!(ratio < 2.1, "{} and {} operations", small.work, large.work);
            assert_eq!(large.degrees_of_freedom, Some(2 * m + 1));
            assert_eq!(large.redundant(), if space { 3 * 2 * m } else { 0 });
            // every loop, but not the joint on the ground
            assert_eq!(large.not_unique.len(), if space { 4 * 2 * m } else { 0 });
            let told = large.to_string();
            assert!(told.lines().count() < 40, "{told}");
            assert_eq!(told.contains(&format!("and {} more joints", 2 * m - 12)), space, "{told}");
        }
        let [small, large] = [32, 64].map(|n| look(&net(n, 0)));
        assert!(large.work < 9 * small.work, "{} and {} operations", small.work, large.work);
    }

    /// A body far away makes the model long, and its loops no less closed.
    #[test]
    fn loops_of_a_model_that_reaches_far_are_not_redundant() {
        let text = ladder(340, false) + "body.far = { mass = 1, inertia = 1, at = [1e7, 0] }\n";
        let system = Arc::new(read_text("model.toml", &text, &[]).unwrap().model.into_system());
        let check = super::super::check(&system, &crate::choices::Options::default());
        assert_eq!((check.degrees_of_freedom, check.redundant()), (Some(341 + 3), 0), "{check}");
    }
}
