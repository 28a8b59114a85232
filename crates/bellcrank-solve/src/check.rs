//! What a look at a model tells before it moves: freedom, redundant and contradicting equations,
//! singular positions, masses that cannot be, units that look wrong, and how stiff it is.
//!
//! Ranks are those of G with its rows scaled to one and its columns to the length of the model; they are
//! taken at the start and at poses nearby, each assembled: an equation is redundant if it is there too,
//! and the start is singular if the rank is larger there.

use crate::initial::{self, Assembly, AssemblyError, Random};
use crate::kkt::{dense, each_block};
use crate::options::{MethodName, Options};
use bellcrank_math::dense::{svd, symmetric_eigenvalues};
use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::bodies::Body;
use bellcrank_model::dynamics::Scale;
use bellcrank_model::joints::equations::{Equation, coincide, hold, perpendicular};
use bellcrank_model::joints::{Joint, Motion, X, Y, Z};
use bellcrank_model::model::{Model, Shape, Space};
use bellcrank_model::{Dynamics, Piece, Point, Slopes, State, System, Unknown, Workspace};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The model cannot run.
    Error,
    /// It runs, but is probably not what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl Level {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        }
    }
}

/// Something the check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What it is: `redundant`, `conflicting`, `singular`, `massless`, `inertia`, `unconnected`, `units`.
    pub kind: &'static str,
    /// The user's names of the bodies, joints and forces it is about.
    pub names: Vec<String>,
    /// One or two sentences.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// Equations of one joint that others hold already.
#[derive(Clone, Debug, PartialEq)]
pub struct Redundancy {
    /// The joint, or the body whose own equation it is.
    pub name: String,
    /// What its redundant equations hold, in words.
    pub directions: Vec<String>,
}

/// Rates of the motion about the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spectrum {
    /// Natural frequencies in Hz, ascending; zero for motions without stiffness.
    pub frequencies: Vec<f64>,
    /// Directions in which the start is unstable: it falls away with this rate in 1/s, the fastest of them.
    pub falling: Option<f64>,
    /// The fastest decay by dampers, in 1/s.
    pub decay: f64,
}

impl Spectrum {
    /// The fastest rate in 1/s.
    pub fn fastest(&self) -> f64 {
        let highest = self.frequencies.last().map_or(0.0, |f| f * std::f64::consts::TAU);
        highest.max(self.decay).max(self.falling.unwrap_or(0.0))
    }

    /// The slowest rate in 1/s that is not zero.
    pub fn slowest(&self) -> f64 {
        let moving = self.frequencies.iter().find(|f| **f > 1e-6 * self.fastest());
        moving.map_or(self.fastest(), |f| f * std::f64::consts::TAU)
    }
}

/// All that a look at a model tells.
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// The model's name.
    pub model: String,
    /// Numbers of bodies, joints and forces.
    pub counts: (usize, usize, usize),
    /// Coordinates of the bodies.
    pub coordinates: usize,
    /// Equations of the joints.
    pub equations: usize,
    /// Degrees of freedom; `None` where the model cannot be assembled.
    pub degrees_of_freedom: Option<usize>,
    /// Equations that others hold already, by joint.
    pub redundancies: Vec<Redundancy>,
    /// The joints whose reactions are not unique.
    pub not_unique: Vec<String>,
    /// What it took to close the joints.
    pub assembly: Option<Assembly>,
    /// What is wrong, the worst first.
    pub findings: Vec<Finding>,
    /// Frequencies about the start, for models that are not too large.
    pub spectrum: Option<Spectrum>,
    /// The method that suits, and why.
    pub method: String,
    /// Whether ranks were found by elimination alone, as the model is large.
    pub large: bool,
}

/// Up to so many coordinates ranks come from singular values.
const DENSE: usize = 400;
/// A singular value below this part of the largest is none.
const RANK: f64 = 1e-7;
/// How far poses nearby are, in lengths of the model.
const NEARBY: f64 = 0.05;
/// Up to so many joints, a smallest contradiction is looked for.
const FEW: usize = 300;

impl Check {
    /// How many equations are redundant.
    pub fn redundant(&self) -> usize {
        self.redundancies.iter().map(|r| r.directions.len()).sum()
    }

    /// Whether nothing keeps the model from running.
    pub fn runs(&self) -> bool {
        self.findings.iter().all(|f| f.level != Level::Error)
    }

    fn push(&mut self, level: Level, kind: &'static str, names: Vec<String>, message: String, help: &str) {
        self.findings.push(Finding { level, kind, names, message, help: help.to_string() });
    }

    /// The object that `--json` prints.
    pub fn to_json(&self) -> Value {
        let finding = |f: &Finding| json!({ "level": f.level.name(), "kind": f.kind, "names": f.names, "message": f.message, "help": f.help });
        let assembly = self.assembly.as_ref().map(|a| {
            json!({
                "iterations": a.iterations,
                "residual": { "before": a.residual.0, "after": a.residual.1 },
                "moved": a.moved.iter().map(|m| json!({ "name": m.name, "distance": m.distance, "angle": m.angle })).collect::<Vec<_>>(),
                "gaps": a.gaps.iter().map(|g| json!({ "name": g.name, "before": g.before, "after": g.after })).collect::<Vec<_>>(),
            })
        });
        let spectrum = self.spectrum.as_ref().map(|s| {
            json!({ "frequencies": s.frequencies, "falling": s.falling, "decay": s.decay, "fastest": s.fastest(), "slowest": s.slowest() })
        });
        json!({
            "model": self.model,
            "runs": self.runs(),
            "bodies": self.counts.0,
            "joints": self.counts.1,
            "forces": self.counts.2,
            "coordinates": self.coordinates,
            "equations": self.equations,
            "degrees_of_freedom": self.degrees_of_freedom,
            "redundant_equations": self.redundant(),
            "redundant": self.redundancies.iter().map(|r| json!({ "name": r.name, "directions": r.directions })).collect::<Vec<_>>(),
            "reactions_unique": self.not_unique.is_empty(),
            "reactions_not_unique": self.not_unique,
            "assembly": assembly,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "spectrum": spectrum,
            "method": self.method,
        })
    }
}

fn plural(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

/// `a`, `b` and 3 more.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    match names.len() {
        n if n > SHOWN => format!("{} and {} more", shown.join(", "), n - SHOWN),
        n if n > 1 => format!("{} and {}", shown[..n - 1].join(", "), shown[n - 1]),
        _ => shown.join(", "),
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bodies, joints, forces) = self.counts;
        writeln!(
            f,
            "{}: {}, {}, {}",
            self.model,
            plural(bodies, "body", "bodies"),
            plural(joints, "joint", "joints"),
            plural(forces, "force", "forces")
        )?;
        writeln!(f, "coordinates: {}, equations: {}", self.coordinates, self.equations)?;
        if let Some(d) = self.degrees_of_freedom {
            writeln!(f, "degrees of freedom: {d}, redundant equations: {}", self.redundant())?;
        }
        if let Some(a) = self.assembly.as_ref().filter(|a| !a.gaps.is_empty() || !a.moved.is_empty()) {
            writeln!(f, "assembled in {}:", plural(a.iterations, "iteration", "iterations"))?;
            table(f, a)?;
        }
        for finding in &self.findings {
            writeln!(f, "{} ({}): {}", finding.level.name(), finding.kind, finding.message.replace('\n', "\n  "))?;
            if !finding.help.is_empty() {
                writeln!(f, "  help: {}", finding.help.replace('\n', "\n  "))?;
            }
        }
        if let Some(s) = &self.spectrum {
            write!(f, "about the start: ")?;
            let vibrating: Vec<f64> = s.frequencies.iter().copied().filter(|x| *x > 0.0).collect();
            match (vibrating.first(), vibrating.last()) {
                (Some(low), Some(high)) if vibrating.len() > 1 => {
                    write!(f, "{} natural frequencies from {low:.4} to {high:.4} Hz", vibrating.len())?
                }
                (Some(only), _) => write!(f, "one natural frequency, {only:.4} Hz")?,
                _ => write!(f, "no natural frequency")?,
            }
            if let Some(rate) = s.falling {
                write!(f, ", unstable with {rate:.4} 1/s")?;
            }
            if s.decay > 0.0 {
                write!(f, ", damping up to {:.4} 1/s", s.decay)?;
            }
            match s.slowest() {
                slowest if slowest > 0.0 => writeln!(f, "; stiffness spread {:.1e}", s.fastest() / slowest)?,
                _ => writeln!(f)?,
            }
        }
        if !self.method.is_empty() {
            writeln!(f, "method: {}", self.method)?;
        }
        if self.large {
            writeln!(f, "(a large model: redundant equations by elimination at the start only)")?;
        }
        Ok(())
    }
}

fn table(f: &mut fmt::Formatter<'_>, a: &Assembly) -> fmt::Result {
    const SHOWN: usize = 20;
    let width = a.gaps.iter().map(|g| g.name.chars().count()).chain(a.moved.iter().map(|m| m.name.chars().count()));
    let width = width.max().unwrap_or(0);
    if !a.gaps.is_empty() {
        writeln!(f, "  {:width$}  open before      after", "")?;
        for g in a.gaps.iter().take(SHOWN) {
            writeln!(f, "  {:width$}  {:11.3e}  {:9.1e}", g.name, g.before, g.after)?;
        }
    }
    if !a.moved.is_empty() {
        writeln!(f, "  {:width$}   moved by m     by rad", "")?;
        for m in a.moved.iter().take(SHOWN) {
            writeln!(f, "  {:width$}  {:11.3e}  {:9.3e}", m.name, m.distance, m.angle)?;
        }
    }
    let more = a.gaps.len().saturating_sub(SHOWN) + a.moved.len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(f, "  and {more} more")?;
    }
    Ok(())
}

/// Looks at a model: everything.
pub fn check(system: &Arc<System>, options: &Options) -> Check {
    look(system, options, true)
}

/// Looks at a model before it runs: what matters, quickly.
pub fn brief(system: &Arc<System>, options: &Options) -> Check {
    look(system, options, false)
}

fn look(system: &Arc<System>, options: &Options, thorough: bool) -> Check {
    let model = &system.model;
    let layout = system.layout();
    let mut c = Check {
        model: model.name.clone(),
        counts: (model.bodies.len(), model.joints.len(), model.forces.len()),
        coordinates: layout.n(),
        equations: layout.m(),
        large: layout.n().max(layout.m()) > DENSE,
        ..Check::default()
    };
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let start = system.initial_state();
    let mut w = system.workspace();
    let masses = masses(system, &start, &mut w);
    inertias(&mut c, system, &masses);
    units(&mut c, system, &masses);
    unconnected(&mut c, model);
    if c.large && !thorough {
        c.findings.sort_by_key(|f| f.level);
        return c;
    }
    match initial::assemble(&dynamics, &start) {
        Ok((point, assembly)) => {
            ranks(&mut c, system, &point, &assembly, &mut w, thorough);
            if thorough && !c.large {
                c.spectrum = spectrum(system, &point, &mut w);
            }
            c.assembly = Some(assembly);
        }
        Err(AssemblyError::Singular { .. }) => massless(&mut c, system, &start, &mut w),
        Err(e) => conflicting(&mut c, system, &e, thorough),
    }
    if c.degrees_of_freedom.is_some() {
        c.method = method(&c, options);
    }
    c.findings.sort_by_key(|f| f.level);
    c
}

/// G with rows of length one, in coordinates of equal weight, and what follows from it.
struct Rank {
    rows: Vec<f64>,
    rank: usize,
    n: usize,
    /// Motions that G leaves free, in coordinates of equal weight.
    free: Vec<Vec<f64>>,
    /// Combinations of rows that vanish.
    vanishing: Vec<Vec<f64>>,
}

/// The length that each coordinate is counted in.
fn weights(dynamics: &dyn Dynamics) -> Vec<f64> {
    let length = dynamics.length();
    dynamics.scales().iter().map(|s| if *s == Scale::Angle { length } else { 1.0 }).collect()
}

fn rank(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> Option<Rank> {
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

/// Degrees of freedom, redundant rows and singular positions.
fn ranks(c: &mut Check, system: &Arc<System>, start: &Point, assembly: &Assembly, w: &mut Workspace, thorough: bool) {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    if c.large {
        c.degrees_of_freedom = Some(assembly.degrees_of_freedom);
        w.invalidate();
        system.realize(start, w);
        c.redundancies = name_rows(system, &assembly.redundant_rows, start, w);
        c.not_unique = assembly.redundant_joints.iter().map(|(name, _)| name.clone()).collect();
        return tell_redundant(c, Vec::new());
    }
    let Some(here) = rank(&*dynamics, start, w) else { return };
    let mut generic: Option<(Point, Rank)> = None;
    let mut moved = false;
    let mut random = Random(7);
    let tries = if thorough { 4 } else { 2 };
    for k in 0..tries {
        let Some(there) = nearby(&dynamics, start, &here, k, &mut random, w) else { continue };
        moved = true;
        if let Some(found) = rank(&*dynamics, &there, w)
            && generic.as_ref().is_none_or(|(_, best)| found.rank > best.rank)
        {
            generic = Some((there, found));
        }
    }
    let n = c.coordinates;
    let (d_here, d_there) = (n - here.rank, generic.as_ref().map_or(n - here.rank, |(_, r)| n - r.rank));
    let blocks = |list: &[usize]| names(list.iter().map(|k| dynamics.name(Unknown::Lambda, *k)));
    let at_start = here.support(&*dynamics);
    let singular = here.rank < generic.as_ref().map_or(0, |(_, r)| r.rank);
    let shaky = d_here > 0 && !moved;
    if singular || shaky {
        let usual = generic.as_ref().map_or_else(Vec::new, |(_, r)| r.support(&*dynamics));
        let odd: Vec<usize> = at_start.iter().copied().filter(|k| !usual.contains(k)).collect();
        let involved = blocks(if odd.is_empty() { &at_start } else { &odd });
        let message = match shaky {
            true => format!(
                "the start is singular: {} can give way a little although nothing can move; the equations do not hold it",
                list(&involved)
            ),
            false => format!(
                "the start is a singular position of {}: {} there, {} nearby; the motion may branch",
                list(&involved),
                plural(d_here, "degree of freedom", "degrees of freedom"),
                d_there
            ),
        };
        let help = "start a little beside it, by a joint's coordinate in [start] or by the places of the bodies";
        c.push(Level::Warning, "singular", involved, message, help);
    }
    c.degrees_of_freedom = Some(if shaky { 0 } else { d_there });
    let (point, usual) = match &generic {
        Some((point, usual)) => (point, usual),
        None => (start, &here),
    };
    // a shaky structure has dependent rows that are not redundant
    if !shaky {
        w.invalidate();
        system.realize(start, w);
        c.redundancies = name_rows(system, &usual.dependent(), start, w);
        c.not_unique = blocks(&usual.support(&*dynamics));
    }
    let advice = if thorough && !c.redundancies.is_empty() { advice(system, point, usual) } else { Vec::new() };
    tell_redundant(c, advice);
}

/// A pose beside the start, assembled; `None` where nothing moves.
fn nearby(
    dynamics: &Arc<dyn Dynamics>,
    start: &Point,
    here: &Rank,
    k: usize,
    random: &mut Random,
    w: &mut Workspace,
) -> Option<Point> {
    let (weights, length) = (weights(&**dynamics), dynamics.length());
    let mut there = start.clone();
    let mut aside = vec![0.0; here.n];
    let mut far = NEARBY * length;
    if here.free.is_empty() {
        // only time moves it
        let speed = start.v.iter().zip(&weights).fold(0.0f64, |m, (v, w)| m.max((v * w).abs()));
        if speed < 1e-9 * length {
            return None;
        }
        let h = far / speed * (1.0 + k as f64) * 0.5;
        there.t += h;
        aside.iter_mut().zip(&start.v).zip(&weights).for_each(|((a, v), w)| *a = h * v * w);
        far = 0.0;
    } else {
        for free in &here.free {
            let part = random.next();
            aside.iter_mut().zip(free).for_each(|(a, f)| *a += part * f);
        }
        let largest = aside.iter().fold(0.0f64, |m, a| m.max(a.abs()));
        aside.iter_mut().for_each(|a| *a *= far / largest.max(f64::MIN_POSITIVE));
    }
    let delta: Vec<f64> = aside.iter().zip(&weights).map(|(a, w)| a / w).collect();
    dynamics.retract(&mut there.q, &delta);
    initial::close(dynamics, &mut there, w).ok()?;
    let distance =
        there.q.iter().zip(&start.q).zip(&weights).map(|((a, b), w)| ((a - b) * w).abs()).fold(0.0, f64::max);
    (distance > 0.1 * far).then_some(there)
}

fn names(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    all.for_each(|name| {
        if !out.contains(&name) {
            out.push(name);
        }
    });
    out
}

/// Words for a direction: `x`, or its components.
fn axis(v: Vec3) -> String {
    let v = v.normalized().unwrap_or(Vec3::Z);
    for (i, name) in ["x", "y", "z"].into_iter().enumerate() {
        if v[i].abs() > 0.9999 {
            return name.to_string();
        }
    }
    let round = |x: f64| (x * 1000.0).round() / 1000.0 + 0.0;
    format!("[{}, {}, {}]", round(v[0]), round(v[1]), round(v[2]))
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
        "{}, held already by the joints before:{}{}",
        plural(c.redundant(), "redundant equation", "redundant equations"),
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

/// A joint that holds less than the one it replaces.
struct Weaker(fn() -> Vec<Box<dyn Equation>>);

impl Joint for Weaker {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        (self.0)()
    }
}

type Kinds = &'static [(&'static str, fn() -> Vec<Box<dyn Equation>>)];

/// What a joint of some kind may be replaced by: the usual ones, and then others.
fn weaker(kind: &str, space: Space) -> [Kinds; 2] {
    fn coaxial() -> Vec<Box<dyn Equation>> {
        vec![hold(Motion::Translate(X)), hold(Motion::Translate(Y)), perpendicular(X, Z), perpendicular(Y, Z)]
    }
    fn bead() -> Vec<Box<dyn Equation>> {
        vec![hold(Motion::Translate(X)), hold(Motion::Translate(Y))]
    }
    fn ball() -> Vec<Box<dyn Equation>> {
        vec![coincide(3)]
    }
    fn hinge() -> Vec<Box<dyn Equation>> {
        vec![coincide(3), perpendicular(X, Z), perpendicular(Y, Z)]
    }
    const BEAD: Kinds = &[("point-on-line", bead)];
    match (space, kind) {
        (Space::Space, "revolute") => [&[("spherical", ball), ("cylindrical", coaxial)], BEAD],
        (Space::Space, "prismatic") => [&[("cylindrical", coaxial)], BEAD],
        (Space::Space, "fixed") => [&[("spherical", ball), ("revolute", hinge)], &[]],
        (Space::Space, "universal" | "constant-velocity") => [&[("spherical", ball)], &[]],
        (Space::Space, "cylindrical" | "spherical") => [&[], BEAD],
        (Space::Space, "planar") => [&[("point-on-plane", || vec![hold(Motion::Translate(Z))])], &[]],
        (Space::Plane, "fixed") => [&[("revolute", || vec![coincide(2)])], &[]],
        (Space::Plane, "prismatic") => [&[("point-on-line", || vec![hold(Motion::Translate(Y))])], &[]],
        (Space::Plane, "revolute") => [&[], &[("point-on-line", || vec![hold(Motion::Translate(Y))])]],
        _ => [&[], &[]],
    }
}

/// The redundant equations of a changed model in the same pose, if it has no more freedom than before.
fn redundancy_of(model: Model, at: &Point, freedom: usize) -> Option<usize> {
    let system = model.compile();
    let mut w = system.workspace();
    let mut state = system.initial_state();
    (state.t, state.q) = (at.t, at.q.clone());
    state.charts.centres.clone_from(&at.charts.centres);
    system.settle(&mut state, &mut w);
    let point = Point::at(&state, system.layout());
    let found = rank(&system, &point, &mut w)?;
    (found.n - found.rank == freedom).then(|| system.layout().m() - found.rank)
}

/// Which joints to change to which kind, so that no equation is redundant.
fn advice(system: &System, at: &Point, usual: &Rank) -> Vec<String> {
    const MOST: usize = 40;
    let freedom = usual.n - usual.rank;
    let mut model = system.model.clone();
    // other joints stand on the ends of these, and start values on their motions
    model.start.clear();
    let joint_of = |k: usize| system.constraints()[k].joint;
    let mut suspects: Vec<usize> = Vec::new();
    let mut rows = usual.dependent();
    rows.reverse();
    let blocks = rows.iter().map(|r| system.layout().constraints.partition_point(|b| b.end <= *r));
    for joint in blocks.chain(usual.support(system)).filter_map(joint_of) {
        if !suspects.contains(&joint) {
            suspects.push(joint);
        }
    }
    if suspects.len() > MOST {
        return Vec::new();
    }
    let redundant = system.layout().m() - usual.rank;
    let mut left = redundant;
    for step in [0, 1] {
        while left > 0 {
            let mut best: Option<(usize, Model)> = None;
            for &j in &suspects {
                for (kind, equations) in weaker(model.joints[j].kind, model.space)[step] {
                    let mut changed = model.clone();
                    changed.joints[j].joint = Arc::new(Weaker(*equations));
                    changed.joints[j].kind = kind;
                    if let Some(r) = redundancy_of(changed.clone(), at, freedom)
                        && best.as_ref().map_or(left, |b| b.0) > r
                    {
                        best = Some((r, changed));
                    }
                }
            }
            let Some(better) = best else { break };
            (left, model) = better;
        }
    }
    if left == 0 {
        let kinds = model.joints.iter().zip(&system.model.joints).filter(|(new, old)| new.kind != old.kind);
        return kinds.map(|(new, _)| format!("make joint `{}` {}", new.name, new.kind)).collect();
    }
    // weaker joints do not do it: fewer may
    model.clone_from(&system.model);
    model.start.clear();
    left = redundant;
    let mut out = Vec::new();
    while left > 0 {
        let removed = suspects.iter().find_map(|&j| {
            let mut changed = model.clone();
            changed.joints[j].joint = Arc::new(Weaker(Vec::new));
            let r = redundancy_of(changed.clone(), at, freedom)?;
            (r < left).then(|| (r, changed, format!("leave out joint `{}`", model.joints[j].name)))
        });
        let Some((r, changed, words)) = removed else { return Vec::new() };
        (left, model) = (r, changed);
        out.push(words);
    }
    out
}

/// The joints and start values that contradict each other, as few as it takes [Junker 2004].
fn conflicting(c: &mut Check, system: &Arc<System>, error: &AssemblyError, thorough: bool) {
    let model = &system.model;
    let mut by = error.clone();
    let mut set = Vec::new();
    if thorough && model.joints.len() <= FEW {
        let items: Vec<Item> =
            (0..model.joints.len()).map(Item::Joint).chain((0..model.start.len()).map(Item::Start)).collect();
        set = smallest(model, &[], false, &items);
        if let Some(found) = contradiction(model, &set) {
            by = found;
        }
    }
    let mut involved: Vec<String> = names(set.iter().map(|item| item.name(model)));
    let (worst, amount, unit, also) = match &by {
        AssemblyError::Open { worst, by, others, .. } => (worst, by, "m", others.as_slice()),
        AssemblyError::Rates { worst, by } => (worst, by, "m/s", &[][..]),
        AssemblyError::Singular { name } => (name, &0.0, "m", &[][..]),
    };
    if involved.is_empty() {
        involved = std::iter::once(worst).chain(also).cloned().collect();
    }
    let held: Vec<String> = model.bodies.iter().filter(|b| b.fixed).map(|b| format!("body `{}`", b.name)).collect();
    let mut message = match involved.len() {
        1 => format!("{} cannot be closed: it stays open by {amount:.3e} {unit}", involved[0]),
        _ => format!(
            "{} contradict each other: together they stay open by {amount:.3e} {unit} at {worst}",
            list(&involved)
        ),
    };
    if !held.is_empty() {
        message += &format!(
            "; {} not to move",
            if held.len() == 1 { format!("{} is", held[0]) } else { format!("{} are", list(&held)) }
        );
    }
    let help = match unit {
        "m/s" => "these rates cannot all be: leave one of them out, or change it",
        _ => {
            "change a point, a length or a given start value of one of these, or leave one out; without any one of them the others close"
        }
    };
    c.push(Level::Error, "conflicting", involved, message, help);
}

/// What may contradict: a joint, or a value given at the start.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Joint(usize),
    Start(usize),
}

impl Item {
    fn name(&self, model: &Model) -> String {
        match self {
            Item::Joint(j) => format!("joint `{}`", model.joints[*j].name),
            Item::Start(s) => format!("the start of joint `{}`", model.joints[model.start[*s].joint].name),
        }
    }
}

/// Why the model with only these joints and start values cannot be assembled, if so.
fn contradiction(model: &Model, items: &[Item]) -> Option<AssemblyError> {
    let mut part = model.clone();
    let kept: Vec<usize> = (0..model.joints.len()).filter(|j| items.contains(&Item::Joint(*j))).collect();
    part.joints = kept.iter().map(|j| model.joints[*j].clone()).collect();
    part.start = Vec::new();
    for (_, start) in model.start.iter().enumerate().filter(|(s, _)| items.contains(&Item::Start(*s))) {
        // a start value means nothing without its joint's coordinate, so the joint comes back weightless
        let joint = kept.iter().position(|j| *j == start.joint).unwrap_or_else(|| {
            let mut entry = model.joints[start.joint].clone();
            entry.joint = Arc::new(Measured(entry.joint.clone()));
            part.joints.push(entry);
            part.joints.len() - 1
        });
        part.start.push(bellcrank_model::model::Start { joint, ..start.clone() });
    }
    let system = Arc::new(part.compile());
    let start = system.initial_state();
    let dynamics: Arc<dyn Dynamics> = system;
    match initial::assemble(&dynamics, &start) {
        Err(e @ (AssemblyError::Open { .. } | AssemblyError::Rates { .. })) => Some(e),
        _ => None,
    }
}

/// A joint whose coordinates are measured and which holds nothing.
struct Measured(Arc<dyn Joint>);

impl Joint for Measured {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        Vec::new()
    }
    fn motions(&self, space: Space) -> Vec<Motion> {
        self.0.motions(space)
    }
}

/// QuickXplain: the smallest part of `items` that contradicts what is given.
fn smallest(model: &Model, given: &[Item], added: bool, items: &[Item]) -> Vec<Item> {
    if added && contradiction(model, given).is_some() {
        return Vec::new();
    }
    if items.len() <= 1 {
        return items.to_vec();
    }
    let (first, second) = items.split_at(items.len() / 2);
    let with = |more: &[Item]| [given, more].concat();
    let of_second = smallest(model, &with(first), !first.is_empty(), second);
    let of_first = smallest(model, &with(&of_second), !of_second.is_empty(), first);
    [of_first, of_second].concat()
}

/// The blocks of the mass matrix, by body.
fn masses(system: &System, start: &State, w: &mut Workspace) -> Vec<Vec<f64>> {
    let point = Point::at(start, system.layout());
    w.invalidate();
    system.realize(&point, w);
    let mut out = vec![Vec::new(); system.layout().bodies.len()];
    let slopes = Slopes { v: 1.0, ..Slopes::default() };
    each_block(system, Piece::MassAccel, Unknown::V, slopes, &point, w, |b, c, block| {
        if b == c {
            out[b] = block.to_vec();
        }
    });
    out
}

/// Whether Cholesky's pivots are all above rounding.
fn positive(block: &[f64], n: usize) -> bool {
    let mut l = block.to_vec();
    for k in 0..n {
        let pivot = l[k * n + k];
        if pivot.is_nan() || pivot <= 1e-14 * block[k * n + k].abs() {
            return false;
        }
        for i in k + 1..n {
            let factor = l[i * n + k] / pivot;
            for j in k + 1..n {
                l[i * n + j] -= factor * l[k * n + j];
            }
        }
    }
    true
}

/// The bodies that move without inertia in some free motion at a point; for models of moderate size.
pub fn free_without_mass(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> Vec<String> {
    let n = dynamics.layout().n();
    let slopes = Slopes { v: 1.0, ..Slopes::default() };
    w.invalidate();
    dynamics.realize(at, w);
    if dynamics.recursive() {
        return Vec::new(); // the recursion finds it by itself
    }
    let mut suspect = false;
    each_block(dynamics, Piece::MassAccel, Unknown::V, slopes, at, w, |b, c, block| {
        suspect |= b == c && !positive(block, dynamics.layout().bodies[b].len());
    });
    if !suspect || n > DENSE {
        return Vec::new();
    }
    let Some(here) = rank(dynamics, at, w) else { return Vec::new() };
    let mass = dense(dynamics, Piece::MassAccel, Unknown::V, slopes, at, w);
    let (d, weights) = (here.free.len(), weights(dynamics));
    let reduced = reduce(&mass, &here.free, &weights);
    let Ok(found) = svd(&reduced, d, d) else { return Vec::new() };
    let largest = found.values.first().copied().unwrap_or(0.0);
    let directions = (0..d).filter(|&k| found.values[k] <= 1e-13 * largest);
    names(directions.flat_map(|k| {
        let mut motion = vec![0.0; n];
        for (part, free) in found.right(k).iter().zip(&here.free) {
            motion.iter_mut().zip(free).for_each(|(m, f)| *m += part * f);
        }
        let size = |r: &std::ops::Range<usize>| motion[r.clone()].iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let bodies = &dynamics.layout().bodies;
        let most = bodies.iter().map(size).fold(0.0, f64::max);
        let moving = |r: &std::ops::Range<usize>| size(r) > 0.3 * most;
        bodies
            .iter()
            .enumerate()
            .filter(|(_, r)| moving(r))
            .map(|(b, _)| dynamics.name(Unknown::Q, b))
            .collect::<Vec<_>>()
    }))
}

/// SᵀAS for a basis S of the free motions.
fn reduce(a: &[f64], free: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let (n, d) = (weights.len(), free.len());
    let mut out = vec![0.0; d * d];
    for (j, s) in free.iter().enumerate() {
        let x: Vec<f64> = s.iter().zip(weights).map(|(s, w)| s / w).collect();
        let image: Vec<f64> = (0..n)
            .map(|i| a[i * n..(i + 1) * n].iter().zip(&x).map(|(a, x)| a * x).sum::<f64>() / weights[i])
            .collect();
        for (i, s) in free.iter().enumerate() {
            out[i * d + j] = s.iter().zip(&image).map(|(s, y)| s * y).sum();
        }
    }
    out
}

fn massless(c: &mut Check, system: &Arc<System>, start: &State, w: &mut Workspace) {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let mut point = Point::at(start, system.layout());
    let _ = initial::close(&dynamics, &mut point, w);
    let names = free_without_mass(&**system, &point, w);
    let message = format!("{} can move without inertia: the motion is not determined", list(&names));
    let help = "give it a mass and an inertia, or hold it by joints; a body without mass is fine where joints hold it";
    c.push(Level::Error, "massless", names, message, help);
}

/// Inertias that no body can have, and the likely slip.
fn inertias(c: &mut Check, system: &System, masses: &[Vec<f64>]) {
    let sizes = body_sizes(system);
    for (b, mass) in masses.iter().enumerate() {
        let name = format!("body `{}`", system.model.bodies[b].name);
        let (m, moments, matrix) = match &system.model.bodies[b].body {
            Body::Rigid(_) => {
                let at = |i: usize, j: usize| mass[(3 + i) * 6 + 3 + j];
                let j = Mat3([0, 1, 2].map(|i| [0, 1, 2].map(|k| at(i, k))));
                (mass[0], principal(&j), Some(j))
            }
            Body::Planar(_) => (mass[0], vec![mass[8]], None),
            _ => continue,
        };
        let largest = moments.iter().fold(0.0f64, |s, x| s.max(x.abs()));
        if largest == 0.0 || m <= 0.0 {
            continue;
        }
        if let ([x, y, z], Some(j)) = (moments.as_slice(), matrix) {
            if *x < -1e-12 * largest {
                let message = format!("{name}: a principal moment of inertia is negative ({x:.4e} kg m²)");
                c.push(Level::Error, "inertia", vec![name.clone()], message, &slip(&j));
                continue;
            }
            if x + y < z * (1.0 - 1e-6) {
                let message = format!(
                    "{name}: no body has the principal moments of inertia {x:.4}, {y:.4}, {z:.4} kg m²; each is at most the sum of the others"
                );
                c.push(Level::Warning, "inertia", vec![name.clone()], message, &slip(&j));
                continue;
            }
        }
        let (radius, size) = ((largest / m).sqrt(), sizes[b]);
        if size > 0.0 && !(1e-2..=10.0).contains(&(radius / size)) {
            let message = format!(
                "{name}: its radius of gyration √(J/m) = {radius:.3e} m does not fit its size of about {size:.3e} m"
            );
            let units = [
                (1e-6, "kg mm²"),
                (1e-4, "kg cm²"),
                (1e-9, "g mm²"),
                (1e-7, "g cm²"),
                (1e-3, "g m²"),
                (1e3, "t m²"),
                (1e6, "kg km²"),
            ];
            let fits = |f: f64| (0.15..=1.2).contains(&(radius * f.sqrt() / size));
            let guess = units.iter().find(|(f, _)| fits(*f));
            let help = guess.map_or("inertia is in kg m², about the centre of mass".to_string(), |(_, unit)| {
                format!("inertia is in kg m²: is this one in {unit}?")
            });
            c.push(Level::Warning, "inertia", vec![name], message, &help);
        }
    }
}

fn principal(j: &Mat3) -> Vec<f64> {
    symmetric_eigenvalues(&j.0.concat(), 3).unwrap_or_default()
}

/// What was probably meant by an inertia that cannot be.
fn slip(j: &Mat3) -> String {
    let fits = |j: &Mat3| match principal(j).as_slice() {
        [x, y, z] => *x >= 0.0 && x + y >= z * (1.0 - 1e-6),
        _ => false,
    };
    let mut flipped = *j;
    (0..3).for_each(|i| (0..3).filter(|k| *k != i).for_each(|k| flipped.0[i][k] = -j.0[i][k]));
    if flipped.0 != j.0 && fits(&flipped) {
        return "with the opposite products of inertia it would be a body: off the diagonal stands −∫ x y dm".into();
    }
    let slips = [
        (0.1, "ten times too large"),
        (10.0, "ten times too small"),
        (1e-3, "a thousand times too large"),
        (1e3, "a thousand times too small"),
    ];
    for (factor, words) in slips {
        for (i, which) in ["first", "second", "third"].into_iter().enumerate() {
            let mut other = *j;
            other.0[i][i] *= factor;
            if fits(&other) {
                return format!("is the {which} moment {words}? (in kg m², about the centre of mass)");
            }
        }
    }
    "in kg m², about the centre of mass, in the body's frame".into()
}

/// How large each body is: its shape, or the reach of what stands on it.
fn body_sizes(system: &System) -> Vec<f64> {
    let model = &system.model;
    let mut sizes: Vec<f64> = model
        .bodies
        .iter()
        .map(|b| match b.shape {
            Shape::Unknown => 0.0,
            Shape::Rod { length, .. } => 0.5 * length,
            Shape::Cylinder { length, radius } => radius.max(0.5 * length),
            Shape::Box { size } => 0.5 * size.norm(),
            Shape::Sphere { radius } => radius,
        })
        .collect();
    let ends = model.joints.iter().flat_map(|j| &j.ends).chain(model.forces.iter().flat_map(|f| &f.ends));
    for end in ends {
        if let Some(b) = end.body {
            sizes[b] = sizes[b].max(end.on.point.norm());
        }
    }
    sizes
}

/// Numbers that look like those of other units.
fn units(c: &mut Check, system: &System, masses: &[Vec<f64>]) {
    let model = &system.model;
    let warn = |c: &mut Check, names: Vec<String>, message: String, help: &str| {
        c.push(Level::Warning, "units", names, message, help);
    };
    let g = model.gravity.norm();
    if g > 100.0 {
        let message = format!("gravity is {g} m/s², {:.0} times that of the earth", g / 9.81);
        warn(c, vec!["gravity".into()], message, "all is in SI units: 9.81 m/s², lengths in m");
    }
    for (b, entry) in model.bodies.iter().enumerate() {
        let name = format!("body `{}`", entry.name);
        let mass = masses[b].first().copied().unwrap_or(0.0);
        let volume = match entry.shape {
            Shape::Rod { length, radius } | Shape::Cylinder { length, radius } => {
                std::f64::consts::PI * radius * radius * length
            }
            Shape::Box { size } => size[0] * size[1] * size[2],
            Shape::Sphere { radius } => 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3),
            Shape::Unknown => 0.0,
        };
        let density = mass / volume;
        if volume > 0.0 && mass > 0.0 && !(0.5..=5e4).contains(&density) {
            let message = format!("{name} has a density of {density:.3e} kg/m³ (water has 1000, steel 7850)");
            let usual = |f: f64| (500.0..=25000.0).contains(&(density * f));
            let help = match () {
                _ if usual(1e-3) => "is its mass in g? masses are in kg, lengths in m",
                _ if usual(1e9) => "are its lengths in mm? lengths are in m, masses in kg",
                _ if usual(1e6) => {
                    "are its lengths in mm and its mass in t, or its lengths in cm? lengths are in m, masses in kg"
                }
                _ if usual(1e3) => "is its mass in t? masses are in kg, lengths in m",
                _ => "masses are in kg, lengths in m",
            };
            warn(c, vec![name.clone()], message, help);
        }
        let degrees = entry.angle.abs();
        if (10.0..=720.0).contains(&degrees) && (degrees / 5.0).fract() < 1e-9 {
            let message = format!("{name} starts at an angle of {} rad", entry.angle);
            warn(c, vec![name], message, &format!("angles are in rad: for degrees write \"{}*pi/180\"", entry.angle));
        }
    }
    for start in &model.start {
        let turns = model.joints[start.joint].joint.motions(model.space).get(start.motion).is_some_and(Motion::turns);
        let value = start.value.unwrap_or(0.0);
        if turns && (10.0..=720.0).contains(&value.abs()) && (value.abs() / 5.0).fract() < 1e-9 {
            let name = format!("joint `{}`", model.joints[start.joint].name);
            let message = format!("{name} starts at an angle of {value} rad");
            warn(c, vec![name], message, &format!("angles are in rad: for degrees write \"{value}*pi/180\""));
        }
    }
    let heaviest = masses.iter().filter_map(|m| m.first()).fold(0.0f64, |a, m| a.max(*m));
    let length = system.length();
    if length > 100.0 && heaviest > 0.0 && heaviest / length < 1e-3 {
        let message = format!("the model is about {length:.3e} m large, but its heaviest body has {heaviest:.3e} kg");
        warn(c, vec!["model".into()], message, "are the lengths in mm? lengths are in m, masses in kg");
    } else if heaviest / length.powi(3) > 1e7 {
        let message = format!("the model is about {length:.3e} m large, but its heaviest body has {heaviest:.3e} kg");
        warn(c, vec!["model".into()], message, "are the masses in g? masses are in kg, lengths in m");
    }
}

/// Bodies that nothing stands on, and groups that stand on nothing.
fn unconnected(c: &mut Check, model: &Model) {
    let n = model.bodies.len();
    let mut group: Vec<usize> = (0..=n).collect(); // the ground is the last
    fn root(group: &mut [usize], mut i: usize) -> usize {
        while group[i] != i {
            group[i] = group[group[i]];
            i = group[i];
        }
        i
    }
    let mut touched = vec![false; n];
    let elements = model.joints.iter().map(|j| &j.ends).chain(model.forces.iter().map(|f| &f.ends));
    for ends in elements {
        let bodies: Vec<usize> = ends.iter().map(|e| e.body.unwrap_or(n)).collect();
        for &b in &bodies {
            if b < n {
                touched[b] = true;
            }
            let (a, b) = (root(&mut group, bodies[0]), root(&mut group, b));
            group[a] = b;
        }
    }
    let name = |b: usize| format!("body `{}`", model.bodies[b].name);
    let alone: Vec<String> = (0..n).filter(|&b| !touched[b]).map(name).collect();
    if !alone.is_empty() {
        let message = format!(
            "{} connected to nothing: no joint, no force",
            match alone.len() {
                1 => format!("{} is", alone[0]),
                _ => format!("{} are", list(&alone)),
            }
        );
        c.push(Level::Note, "unconnected", alone, message, "it moves freely; add a joint if it should not");
    }
    let ground = root(&mut group, n);
    let mut roots: Vec<usize> = (0..n).filter(|&b| touched[b]).map(|b| root(&mut group, b)).collect();
    roots.sort_unstable();
    roots.dedup();
    for r in roots.into_iter().filter(|r| *r != ground) {
        let members: Vec<String> = (0..n).filter(|&b| root(&mut group, b) == r).map(name).collect();
        let message = format!(
            "{} not connected to the ground",
            match members.len() {
                1 => format!("{} is", members[0]),
                _ => format!("{} are", list(&members)),
            }
        );
        c.push(
            Level::Note,
            "unconnected",
            members,
            message,
            "together they move freely; add a joint to the ground if they should not",
        );
    }
}

/// Frequencies about a point: S²ᵀM S ẍ + SᵀC S ẋ + SᵀK S x = 0 on the free motions S.
fn spectrum(system: &Arc<System>, at: &Point, w: &mut Workspace) -> Option<Spectrum> {
    let here = rank(&**system, at, w)?;
    let d = here.free.len();
    let weights = weights(&**system);
    let mut part = |piece, wrt, slopes| reduce(&dense(&**system, piece, wrt, slopes, at, w), &here.free, &weights);
    let none = Slopes::default();
    let mass = part(Piece::MassAccel, Unknown::V, Slopes { v: 1.0, ..none });
    let mut stiffness = part(Piece::GtLambda, Unknown::Q, none);
    let by_force = part(Piece::Force, Unknown::Q, none);
    stiffness.iter_mut().zip(&by_force).for_each(|(k, f)| *k -= f);
    let mut damping = part(Piece::Force, Unknown::V, none);
    damping.iter_mut().for_each(|c| *c = -*c);
    let squares = pencil(&stiffness, &mass, d)?;
    let decays = pencil(&damping, &mass, d)?;
    let largest = squares.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let small = 1e-12 * largest;
    let frequency = |x: &f64| if *x > small { x.sqrt() / std::f64::consts::TAU } else { 0.0 };
    let falling = squares.first().filter(|x| **x < -small).map(|x| (-x).sqrt());
    let mut frequencies: Vec<f64> = squares.iter().filter(|x| **x >= -small).map(frequency).collect();
    frequencies.sort_by(f64::total_cmp);
    let decay = decays.last().copied().filter(|x| *x > 1e-12).unwrap_or(0.0);
    Some(Spectrum { frequencies, falling, decay })
}

/// The eigenvalues of the symmetric part of A relative to a positive definite B, ascending.
fn pencil(a: &[f64], b: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let sum = b[i * n + j] - (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum::<f64>();
            if i == j {
                if sum.is_nan() || sum <= 0.0 {
                    return None;
                }
                l[i * n + i] = sum.sqrt();
            } else {
                l[i * n + j] = sum / l[j * n + j];
            }
        }
    }
    let mut x: Vec<f64> = (0..n * n).map(|k| 0.5 * (a[k] + a[(k % n) * n + k / n])).collect();
    // L⁻¹ A L⁻ᵀ: first the columns, then the rows
    for _ in 0..2 {
        for c in 0..n {
            for i in 0..n {
                let sum = x[i * n + c] - (0..i).map(|k| l[i * n + k] * x[k * n + c]).sum::<f64>();
                x[i * n + c] = sum / l[i * n + i];
            }
        }
        x = (0..n * n).map(|k| x[(k % n) * n + k / n]).collect();
    }
    symmetric_eigenvalues(&x, n).ok()
}

/// The method that suits, with the reason.
fn method(c: &Check, options: &Options) -> String {
    if options.method != MethodName::Auto {
        return format!("{} (chosen)", options.method.name());
    }
    if c.degrees_of_freedom == Some(0) {
        return "kinematics: there is no degree of freedom".into();
    }
    if options.step.is_some() {
        return "gen-alpha on si2, with the fixed step".into();
    }
    // an explicit method takes about one step in three units of the fastest rate
    const MANY: f64 = 2e4;
    let explicit = if options.rtol < 1e-7 { "dop853" } else { "dopri5" };
    match &c.spectrum {
        Some(s) if s.fastest() * options.until / 3.0 > MANY => {
            let steps = s.fastest() * options.until / 3.0;
            format!("bdf on ggl: stiff, an explicit method would need about {steps:.0e} steps")
        }
        Some(_) => format!("{explicit} on index1: not stiff about the start"),
        None => format!("{explicit} on index1, and bdf on ggl once it proves stiff"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pencil_has_the_eigenvalues_of_the_string() {
        // springs in a row, masses 2: ω² = (2 − 2 cos(kπ/4))/2
        let k = [2.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, 2.0];
        let m = [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0];
        for (k, x) in pencil(&k, &m, 3).unwrap().iter().enumerate() {
            let exact = 1.0 - (std::f64::consts::PI * (k + 1) as f64 / 4.0).cos();
            assert!((x - exact).abs() < 1e-14);
        }
        assert_eq!(pencil(&[1.0], &[0.0], 1), None);
    }

    #[test]
    fn directions_read_well() {
        assert_eq!(axis(Vec3::new(0.0, -2.0, 0.0)), "y");
        assert_eq!(axis(Vec3::new(1.0, 0.0, 1.0)), "[0.707, 0, 0.707]");
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
