//! The coordinator: finds the loads with which the joints between parts hold, window by window.
//!
//! In step, with the loads ℓ and shifts σ of the end of the window as unknowns, λ and μ their multipliers,
//!
//! ```text
//!     ℓ = F(q, v) − Γᵀλ        Φ(q) = 0
//!     σ = − Γᵀμ                Φ̇(q, v) = 0        q, v: the answers of the parts to ℓ, σ
//! ```
//!
//! which is what a stabilized formulation asks of the whole. Parts with solvers of their own hold the mean load
//! over the window instead,
//!
//! ```text
//!     ℓ̄ = ½(F₀ + F₁) − ½(Γ₀ + Γ₁)ᵀλ̄        Φ̇₁ + (2/H) Φ₁ = 0
//! ```
//!
//! of second order: the velocity row finds the mean of λ without echoes from the last window, and positions drift
//! nowhere, because x₁ = x₀ + ½H(v₀ + v₁) + e with v₀ = −2x₀/H and v₁ = −2x₁/H leaves x₁ = e/2, the error of
//! one window.

use crate::foresee::{Foresight, Past};
use crate::interface::Interface;
use crate::options::{Coupling, GlueError, GlueOptions, Levels, Report};
use crate::port::{Motion, WIDTH, difference, displacement, twist};
use crate::subdomain::{Admittance, PartError, Response, Subdomain, Upcoming, Window, write_whole};
use bellcrank_math::linear::dense::least_squares;
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::dynamics::Channel;
use bellcrank_model::{Point, tape};
use std::path::Path;
use std::time::{Duration, Instant};

/// Singular values of the interface below this part of the largest are taken for zero: singular positions.
const RANK: f64 = 1e-9;
/// A contraction of the residual worse than this asks for a new admittance: it comes with the next answer of parts that
/// can tell it, but costs several exchanges where it must be found by differences.
const SLOW: f64 = 0.02;
const SLOW_BY_DIFFERENCES: f64 = 0.3;
/// An admittance that is expected to leave more than this part of the tolerance after one correction is asked for again.
const NEAR: f64 = 0.3;
/// How much of an admittance is wrong after a window, until that is measured.
const AGEING: f64 = 0.01;
/// An admittance that parts with their own solvers tell is asked for again when windows change their length by more.
const STRETCH: f64 = 0.1;
/// The part of a load that a difference adds.
const DIFFERENCE: f64 = 1e-5;
/// A window is taken as foreseen only if its loads are in balance to this part of the tolerance: what a prediction leaves
/// there is systematic, and moves the machine a little more in every window, while gaps do not add up.
const FORESEEN: f64 = 1e-4;
/// A first guess that displaces ports by so many lengths more than the springs between them ask for is given up.
const FAR: f64 = 0.05;
/// Rounds in which accelerations are recovered: the equations are linear, the second is for rounding.
const ROUNDS: usize = 3;

/// Joins parts at an interface.
pub struct Coordinator {
    parts: Vec<Box<dyn Subdomain>>,
    interface: Interface,
    options: GlueOptions,
    history: History,
    kept: Option<Box<History>>,
    /// The estimated error of the last window.
    error: f64,
    report: Report,
}

/// What the coordinator remembers of committed windows.
#[derive(Clone)]
struct History {
    /// The committed time, and the number of the next window.
    t: f64,
    number: u64,
    motions: Vec<Motion>,
    /// The motions of the window before, and its length.
    before: (f64, Vec<Motion>),
    lambda: Vec<f64>,
    mu: Vec<f64>,
    /// What λ, μ and F were, for extrapolation.
    foresight: Foresight,
    /// The load of the last window and its middle, for the estimate of the error.
    held: Option<(f64, Vec<f64>)>,
    /// F and Γᵀ at the committed time, in the world.
    force: Vec<f64>,
    pull: Matrix,
    /// The admittance, for windows of which length, and whether it is too old.
    admittance: Option<Admittance>,
    length: f64,
    stale: bool,
    /// Whether parts with their own solvers tell it: unknown until they are asked.
    tells: Option<bool>,
    /// How many windows it served, and how much of it each of them made wrong.
    age: usize,
    ageing: f64,
    /// Whether the parts have the accelerations of the committed time.
    told: bool,
    pace: Option<Pace>,
}

/// The answers of all parts to an attempt.
struct Answer {
    motions: Vec<Motion>,
    told: Option<Vec<Admittance>>,
    error: f64,
    rough: bool,
}

/// How a window was crossed.
enum Crossed {
    Committed,
    /// Its error is too large.
    Refused,
    /// It is the first, and something fast died out within it.
    Rough,
}

/// Where a run is among its windows.
#[derive(Clone, Copy, Default)]
struct Pace {
    /// Its start, the windows since then and the length of the next one.
    start: f64,
    windows: u64,
    length: f64,
}

bellcrank_model::kept_by_fields!(Pace { start, windows, length });
bellcrank_model::kept_by_fields!(History {
    t,
    number,
    motions,
    lambda,
    mu,
    before,
    foresight,
    held,
    force,
    pull,
    admittance,
    length,
    stale,
    tells,
    age,
    pace,
    ageing,
    told,
});

/// What the coordinator itself writes down: the interface, nothing of the parts.
struct Written {
    id: String,
    history: History,
    interface: Point,
    report: Report,
    note: Vec<u64>,
}

bellcrank_model::kept_by_fields!(Written { id, history, interface, report, note });

/// The unknowns of a window.
#[derive(Clone)]
struct Unknowns {
    lambda: Vec<f64>,
    mu: Vec<f64>,
    /// In the world.
    load: Vec<f64>,
    shift: Vec<f64>,
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0f64, |m, x| if x.is_nan() { f64::NAN } else { m.max(x.abs()) })
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn column(x: &[f64]) -> Matrix {
    Matrix { rows: x.len(), columns: 1, values: x.to_vec() }
}

impl Coordinator {
    /// Joins the parts at time t: they must meet there, and take the accelerations with which the joints hold.
    pub fn new(
        parts: Vec<Box<dyn Subdomain>>,
        interface: Interface,
        t: f64,
        options: GlueOptions,
    ) -> Result<Coordinator, GlueError> {
        if options.coupling != Coupling::Windows
            && let Some(part) =
                parts.iter().find(|p| !p.description().in_step && options.coupling != Coupling::Explicit)
        {
            let name = &part.description().name;
            return Err(GlueError::Unfit(format!(
                "part `{name}` has a solver of its own and cannot step with the others\nhelp: use --coupling windows"
            )));
        }
        let (m, m_rates) = interface.rows();
        if options.coupling == Coupling::Explicit && m > 0 {
            return Err(GlueError::Unfit(format!(
                "explicit coupling cannot hold {}\nhelp: use a bushing in its place, or another coupling",
                interface.owner(0)
            )));
        }
        let (n, sites) = (interface.width(), interface.sites.len());
        let seconds = vec![0.0; parts.len()];
        let history = History {
            t,
            number: 0,
            motions: Vec::with_capacity(sites),
            before: (1.0, Vec::new()),
            lambda: vec![0.0; m],
            mu: vec![0.0; m_rates],
            foresight: Foresight::default(),
            held: None,
            force: vec![0.0; n],
            pull: Matrix::zeros(n, m),
            admittance: None,
            length: 1.0,
            stale: true,
            tells: None,
            age: 0,
            pace: None,
            ageing: AGEING,
            told: true,
        };
        let report = Report { seconds, ..Report::default() };
        let mut c = Coordinator { parts, interface, options, history, kept: None, error: 0.0, report };
        c.begin()?;
        Ok(c)
    }

    /// The committed time.
    pub fn time(&self) -> f64 {
        self.history.t
    }

    /// Committed windows.
    pub fn windows(&self) -> u64 {
        self.history.number
    }

    /// What it was told.
    pub fn options(&self) -> &GlueOptions {
        &self.options
    }

    /// What it took so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The parts.
    pub fn parts(&mut self) -> &mut [Box<dyn Subdomain>] {
        &mut self.parts
    }

    /// The motions of the ports at the committed time, in the order of the interface.
    pub fn motions(&self) -> &[Motion] {
        &self.history.motions
    }

    /// The multipliers of the interface at the committed time (in windows: their last mean).
    pub fn multipliers(&self) -> &[f64] {
        &self.history.lambda
    }

    /// The channels of all parts (with the part's name before them, if asked for) and of the joints between them;
    /// energies are those of all parts together, where all tell them.
    pub fn channels(&self, named: bool) -> Vec<Channel> {
        let mut out = Vec::new();
        for part in &self.parts {
            let own = part.channels().into_iter().filter(|c| !c.name.starts_with(ENERGY));
            let name = &part.description().name;
            out.extend(own.map(|c| if named { Channel { name: format!("{name}/{}", c.name), ..c } } else { c }));
        }
        out.extend(self.interface.channels().into_iter().map(|(_, c)| c));
        if self.tells_energy() {
            let of = |what| Channel { name: format!("{ENERGY}{what}"), unit: "J" };
            out.extend(["kinetic", "stored", "total"].map(of));
        }
        out
    }

    fn tells_energy(&self) -> bool {
        self.parts.iter().all(|p| p.channels().iter().any(|c| c.name.starts_with(ENERGY)))
    }

    /// The values of all channels at the committed time, accelerations and reactions recovered there.
    pub fn observe(&mut self) -> Result<Vec<f64>, GlueError> {
        self.recover_accelerations()?;
        let (mut out, mut energy) = (Vec::new(), [0.0; 3]);
        self.parts.iter_mut().for_each(|part| part.announce(&Upcoming::Observe));
        for part in &mut self.parts {
            let mut values = Vec::new();
            part.observe(&mut values)?;
            for (channel, value) in part.channels().iter().zip(values) {
                match channel.name.strip_prefix(ENERGY) {
                    Some("kinetic") => energy[0] += value,
                    Some("stored") => energy[1] += value,
                    Some(_) => energy[2] += value,
                    None => out.push(value),
                }
            }
        }
        let values = self.interface.observe();
        out.extend(self.interface.channels().iter().map(|(k, _)| values[*k]));
        // what is stored between the parts belongs to the whole
        let stored = self.interface.stored();
        if self.tells_energy() {
            out.extend([energy[0], energy[1] + stored, energy[2] + stored]);
        }
        Ok(out)
    }

    /// Loads in the world, given to each part as six numbers per port.
    fn by_part(&self, world: &[f64]) -> Vec<Vec<f64>> {
        let mut out: Vec<_> = self.parts.iter().map(|p| vec![0.0; WIDTH * p.description().ports.len()]).collect();
        for (&(part, port), load) in self.interface.sites.iter().zip(world.chunks_exact(WIDTH)) {
            out[part][WIDTH * port..WIDTH * (port + 1)].copy_from_slice(load);
        }
        out
    }

    /// Loads of the bodies of the interface, in the world: what a part is told does not turn with its ports.
    fn in_world(&self, own: &[f64]) -> Vec<f64> {
        self.interface.to_own().transpose().apply(own)
    }

    /// The motions of the sites out of the answers of the parts.
    fn seen(&self, answers: &[Response]) -> Result<Vec<Motion>, GlueError> {
        for (part, answer) in self.parts.iter().zip(answers) {
            let d = part.description();
            if answer.ports.len() != d.ports.len() || answer.ports.iter().any(|m| !m.is_finite()) {
                let why = format!(
                    "answered with {} motions, not all finite, for {} ports",
                    answer.ports.len(),
                    d.ports.len()
                );
                return Err(PartError { part: d.name.clone(), why }.into());
            }
        }
        Ok(self.interface.sites.iter().map(|&(part, port)| answers[part].ports[port]).collect())
    }

    /// Gathers what the parts tell into matrices over the bodies of the interface, in its own coordinates.
    fn gather(&self, of: &[Admittance]) -> Admittance {
        let (to_own, sites) = (self.interface.to_own(), &self.interface.sites);
        let world = |which: fn(&Admittance) -> &Matrix| {
            let mut y = Matrix::zeros(WIDTH * sites.len(), WIDTH * sites.len());
            for (i, &(a, p)) in sites.iter().enumerate() {
                for (j, &(_, q)) in sites.iter().enumerate().filter(|(_, s)| s.0 == a) {
                    for r in 0..WIDTH {
                        for c in 0..WIDTH {
                            *y.at_mut(WIDTH * i + r, WIDTH * j + c) = which(&of[a]).at(WIDTH * p + r, WIDTH * q + c);
                        }
                    }
                }
            }
            to_own.times(&y).times(&to_own.transpose())
        };
        Admittance {
            place: world(|a| &a.place),
            velocity: world(|a| &a.velocity),
            place_by_shift: world(|a| &a.place_by_shift),
            velocity_by_shift: world(|a| &a.velocity_by_shift),
        }
    }

    fn timed<T>(&mut self, part: usize, act: impl FnOnce(&mut dyn Subdomain) -> T) -> T {
        let started = Instant::now();
        let out = act(&mut *self.parts[part]);
        self.report.seconds[part] += Duration::as_secs_f64(&started.elapsed());
        out
    }

    fn begin_all(&mut self, own: &[f64]) -> Result<(Vec<Motion>, Vec<Response>), GlueError> {
        let loads = self.by_part(&self.in_world(own));
        self.parts.iter_mut().zip(&loads).for_each(|(part, load)| part.announce(&Upcoming::Begin(load)));
        let mut answers = Vec::new();
        for (k, load) in loads.iter().enumerate() {
            answers.push(self.timed(k, |p| p.begin(load))?);
        }
        Ok((self.seen(&answers)?, answers))
    }

    /// Finds the loads at the committed time: Φ̈ = 0, by Gauss's principle [Tseng & Hulbert 2001, eq. 32].
    fn begin(&mut self) -> Result<(), GlueError> {
        let n = self.interface.width();
        let (motions, _) = self.begin_all(&vec![0.0; n])?;
        self.interface.place(self.history.t, &motions, &self.history.lambda.clone());
        let length = self.interface.system_length();
        let speed = motions.iter().map(|m| m.velocity.norm() + length * m.spin.norm()).fold(0.0, f64::max);
        for (residual, scale, rate) in
            [(self.interface.position(), length, false), (self.interface.velocity(), speed, true)]
        {
            if let Some(row) = (0..residual.len()).max_by(|a, b| residual[*a].abs().total_cmp(&residual[*b].abs()))
                && residual[row].abs() > START * scale.max(f64::MIN_POSITIVE)
            {
                return Err(GlueError::Open { joint: self.interface.owner(row), gap: residual[row].abs(), rate });
            }
        }
        let s = self.accelerate()?;
        if self.options.coupling == Coupling::Windows {
            // held loads act through a window as on a free body, until something better is known
            let place = halved(&s, &Matrix::zeros(n, n));
            self.history.admittance = Some(Admittance { velocity: s, ..Admittance::of_accelerations(place) });
            (self.history.length, self.history.stale) = (1.0, false);
        }
        self.look();
        let (t, h) = (self.history.t, &self.history);
        let now = Past { when: t, at: t, lambda: h.lambda.clone(), mu: Vec::new(), force: h.force.clone() };
        self.history.foresight.push(now);
        // the first window is measured by the load at its start
        self.history.held = Some((t, minus(&self.history.force, &self.history.pull.apply(&self.history.lambda))));
        self.history.before.1.clone_from(&self.history.motions);
        Ok(())
    }

    /// Finds λ at the committed time such that Φ̈ = 0, by Gauss's principle [Tseng & Hulbert 2001, eq. 32], and leaves
    /// parts and interface with the accelerations. Returns B M̂⁻¹Bᵀ.
    fn accelerate(&mut self) -> Result<Matrix, GlueError> {
        let (t, force, pull) = (self.history.t, self.interface.force(), self.interface.pull());
        let mut lambda = self.history.lambda.clone();
        let mut s: Option<Matrix> = None;
        let mut left = 0.0;
        for _ in 0..ROUNDS {
            let load = minus(&force, &pull.apply(&lambda));
            let (motions, answers) = self.begin_all(&load)?;
            let s = match &mut s {
                Some(s) => s,
                none => none.insert(self.accelerated(&load, &motions, answers)?),
            };
            self.interface.place(t, &motions, &lambda);
            let length = self.interface.system_length();
            let of = |m: &Motion| m.acceleration.norm() + length * m.spin_rate.norm();
            let fastest = motions.iter().map(of).fold(0.0, f64::max);
            self.history.motions = motions;
            let rest = self.interface.acceleration();
            let by_load = s.times(&pull);
            let change = scaled_least_squares(&pull.transpose().times(&by_load), &rest)
                .ok_or_else(|| self.diverged(0.0, &rest))?;
            // redundant rows, which no load can change, do not count; what hardly moves is measured by its size
            let scale = largest(&s.apply(&load)).max(fastest).max(STILL * length);
            left = largest(&by_load.apply(&change)) / scale;
            if left <= self.options.tolerances.acceleration {
                let told = Levels { acceleration: largest(&rest), ..Levels::default() };
                self.report.residuals.take(&told);
                (self.history.lambda, self.history.told) = (lambda, true);
                return Ok(std::mem::take(s));
            }
            lambda.iter_mut().zip(&change).for_each(|(l, c)| *l += c);
        }
        Err(GlueError::Unfit(format!(
            "the accelerations at t = {t:.9} s were found to {left:.1e} of the largest one only\n\
             help: give accelerations a larger tolerance: the parts' answers are rougher than this one"
        )))
    }

    /// B M̂⁻¹Bᵀ, as the parts tell it with the motions under some loads, or by differences, which are exact: it is linear.
    fn accelerated(&mut self, load: &[f64], at: &[Motion], answers: Vec<Response>) -> Result<Matrix, GlueError> {
        let told: Option<Vec<Admittance>> = answers.into_iter().map(|a| a.admittance).collect();
        if let Some(told) = told {
            return Ok(self.gather(&told).place);
        }
        let (n, size) = (self.interface.width(), 1.0 + largest(load));
        let mut s = Matrix::zeros(n, n);
        for columns in self.together() {
            let mut changed = load.to_vec();
            columns.iter().for_each(|k| changed[*k] += size);
            let (moved, _) = self.begin_all(&changed)?;
            let change = difference(&moved, at, |m| (m.acceleration, m.spin_rate));
            self.spread(&columns, &change, 1.0 / size, &mut s);
        }
        Ok(s)
    }

    /// Columns that can be found by one difference: one of each part, which answer each for itself.
    fn together(&self) -> Vec<Vec<usize>> {
        let of: Vec<Vec<usize>> = (0..self.parts.len()).map(|part| self.columns_of(part)).collect();
        let most = of.iter().map(Vec::len).max().unwrap_or(0);
        (0..most).map(|k| of.iter().filter_map(|columns| columns.get(k).copied()).collect()).collect()
    }

    /// The coordinates of the interface that belong to a part.
    fn columns_of(&self, part: usize) -> Vec<usize> {
        let bodies = &bellcrank_model::Dynamics::layout(self.interface.system()).bodies;
        let own = self.interface.sites.iter().zip(bodies).filter(|(site, _)| site.0 == part);
        own.flat_map(|(_, range)| range.clone()).collect()
    }

    /// Puts a change, in the world, into the columns of the parts it belongs to.
    fn spread(&self, columns: &[usize], change: &[f64], factor: f64, out: &mut Matrix) {
        let own = self.interface.to_own().apply(change);
        for part in 0..self.parts.len() {
            let rows = self.columns_of(part);
            if let Some(&k) = columns.iter().find(|k| rows.contains(k)) {
                rows.iter().for_each(|&i| *out.at_mut(i, k) = factor * own[i]);
            }
        }
    }

    /// Gives the parts the accelerations and the interface the multipliers of the committed time. The next windows do
    /// not know of it.
    fn recover_accelerations(&mut self) -> Result<(), GlueError> {
        if self.history.told {
            return Ok(());
        }
        let (lambda, motions) = (self.history.lambda.clone(), self.history.motions.clone());
        self.interface.place(self.history.t, &motions, &lambda);
        self.accelerate()?;
        self.report.recoveries += 1;
        (self.history.lambda, self.history.motions) = (lambda, motions);
        Ok(())
    }

    /// Takes notice of F and Γᵀ at the committed motion.
    fn look(&mut self) {
        let to_world = self.interface.to_own().transpose();
        self.history.force = to_world.apply(&self.interface.force());
        self.history.pull = to_world.times(&self.interface.pull());
    }

    fn diverged(&mut self, length: f64, gaps: &[f64]) -> GlueError {
        let row = (0..gaps.len()).max_by(|a, b| gaps[*a].abs().total_cmp(&gaps[*b].abs()));
        let (joint, gap) = match row {
            Some(row) => (self.interface.owner(row.min(self.interface.rows().0.saturating_sub(1))), gaps[row].abs()),
            None => ("a force between the parts".into(), f64::NAN),
        };
        GlueError::Diverged { t: self.history.t, length, joint, gap }
    }

    fn attempt_all(
        &mut self,
        window: &Window,
        load: &[f64],
        shift: &[f64],
        admittance: bool,
    ) -> Result<Answer, GlueError> {
        let (loads, shifts) = (self.by_part(load), self.by_part(shift));
        for (part, (load, shift)) in self.parts.iter_mut().zip(loads.iter().zip(&shifts)) {
            part.announce(&Upcoming::Attempt(window, load, shift, admittance));
        }
        let mut answers = Vec::new();
        for (k, (load, shift)) in loads.iter().zip(&shifts).enumerate() {
            answers.push(self.timed(k, |p| p.attempt(window, load, shift, admittance))?);
        }
        self.report.exchanges += 1;
        let motions = self.seen(&answers)?;
        let error = answers.iter().map(|a| a.error).fold(0.0, f64::max);
        let rough = answers.iter().any(|a| a.rough);
        Ok(Answer { motions, told: answers.into_iter().map(|a| a.admittance).collect(), error, rough })
    }

    /// ∂(motion)/∂(load) of a window by differences, for parts that do not tell it.
    fn by_differences(&mut self, window: &Window, load: &[f64], at: &[Motion]) -> Result<Admittance, GlueError> {
        let n = self.interface.width();
        let scale = DIFFERENCE * (1.0 + largest(load));
        let mut y = Admittance::of_accelerations(Matrix::zeros(n, n));
        let shift = vec![0.0; load.len()];
        let to_own = self.interface.to_own();
        for columns in self.together() {
            let mut changed = load.to_vec();
            for k in &columns {
                changed.iter_mut().zip(to_own.row(*k)).for_each(|(l, c)| *l += scale * c);
            }
            let moved = self.attempt_all(window, &changed, &shift, false)?.motions;
            self.spread(&columns, &displacement(&moved, at), 1.0 / scale, &mut y.place);
            self.spread(&columns, &twist(&moved, at), 1.0 / scale, &mut y.velocity);
        }
        Ok(y)
    }

    /// What a correction taught about the admittance: the least change of every part's with which it would have
    /// foreseen the motion [Broyden 1965].
    fn learn(&self, y: &mut Admittance, load: &[f64], place: &[f64], twist: &[f64]) {
        for part in 0..self.parts.len() {
            let of = self.columns_of(part);
            let size: f64 = of.iter().map(|j| load[*j] * load[*j]).sum();
            if size == 0.0 {
                continue;
            }
            for (y, moved) in [(&mut y.place, place), (&mut y.velocity, twist)] {
                for &i in &of {
                    let rest = moved[i] - of.iter().map(|&j| y.at(i, j) * load[j]).sum::<f64>();
                    of.iter().for_each(|&j| *y.at_mut(i, j) += rest * load[j] / size);
                }
            }
        }
    }

    /// Predicts the unknowns of a window: λ, μ and F by polynomials of every order there are values for, the geometry
    /// from velocities and accelerations.
    fn predict(&mut self, window: &Window) -> Vec<Unknowns> {
        let held = self.options.coupling == Coupling::Windows;
        let when = if held { 0.5 * (window.from + window.to) } else { window.to };
        let (passed, before) = &self.history.before;
        let there = self.history.motions.iter().zip(before).map(|(m, b)| m.after(window.length(), b, *passed));
        let there: Vec<Motion> = there.collect();
        self.interface.place(window.to, &there, &self.history.lambda);
        let own = self.interface.pull();
        let to_world = self.interface.to_own().transpose();
        let pull_mu = to_world.times(&self.rate_columns(&own));
        let mut pull = to_world.times(&own);
        if held {
            pull = halved(&pull, &self.history.pull);
        }
        let of_order = |order: usize| {
            let (lambda, mut mu, force) = self.history.foresight.values(order, when, window.to);
            mu.resize(self.history.mu.len(), 0.0);
            let mut load = force;
            if held {
                load.iter_mut().zip(&self.history.force).for_each(|(a, b)| *a = 0.5 * (*a + b));
            }
            let load = minus(&load, &pull.apply(&lambda));
            let shift = match self.options.coupling {
                Coupling::Stabilized => pull_mu.apply(&mu).iter().map(|x| -x).collect(),
                _ => vec![0.0; load.len()],
            };
            Unknowns { lambda, mu, shift, load }
        };
        (0..self.history.foresight.orders()).map(of_order).collect()
    }

    /// The admittance for windows of another length: what is held acts like H² on places and like H on velocities.
    fn stretch_admittance(&mut self, length: f64) {
        let r = length / self.history.length;
        // which is not true of stiff parts
        self.history.stale |= self.options.coupling == Coupling::Windows && self.tells() && (r - 1.0).abs() > STRETCH;
        if let Some(y) = &mut self.history.admittance
            && r != 1.0
        {
            for (y, factor) in [(&mut y.place, r * r), (&mut y.velocity, r), (&mut y.place_by_shift, r)] {
                y.values.iter_mut().for_each(|x| *x *= factor);
            }
        }
        self.history.length = length;
    }

    /// Crosses one window; false if its error is too large, and nothing was committed.
    ///
    /// A first window in which something fast dies out is taken back and passed with damping, as a run of the whole does;
    /// error control finds a shorter one instead.
    pub fn window(&mut self, length: f64) -> Result<bool, GlueError> {
        let fresh = self.history.number == 0 && self.options.rtol.is_none();
        let mut crossed = self.cross(length);
        if fresh && matches!(crossed, Ok(Crossed::Rough) | Err(GlueError::Diverged { .. } | GlueError::Part(_))) {
            self.parts.iter_mut().try_for_each(|p| p.soften())?;
            self.history.stale = true;
            crossed = self.cross(length);
        }
        Ok(matches!(crossed?, Crossed::Committed))
    }

    fn cross(&mut self, length: f64) -> Result<Crossed, GlueError> {
        let window = Window { number: self.history.number, from: self.history.t, to: self.history.t + length };
        let foreseen = self.predict(&window);
        let mut x = foreseen[self.history.foresight.best()].clone();
        if self.options.coupling == Coupling::Explicit {
            x.load.clone_from(&self.history.force);
            let motions = self.attempt_all(&window, &x.load, &x.shift, false)?.motions;
            self.report.most = self.report.most.max(1);
            self.commit(&window, x, motions)?;
            return Ok(Crossed::Committed);
        }
        self.stretch_admittance(length);
        let in_step = self.options.coupling != Coupling::Windows;
        let (mut before, mut tried): (f64, Option<(Vec<f64>, Vec<Motion>)>) = (f64::INFINITY, None);
        let (mut first, mut second) = (0.0, None);
        for attempt in 1..=self.options.max_attempts {
            let need = self.history.stale || self.history.admittance.is_none();
            let ask = need || (!in_step && self.history.tells.is_none());
            let answer = self.attempt_all(&window, &x.load, &x.shift, ask)?;
            let motions = answer.motions;
            self.interface.place(window.to, &motions, &x.lambda);
            let mut elsewhere = false;
            let told = answer.told.filter(|_| ask);
            if ask && !in_step {
                self.history.tells = Some(told.is_some());
            }
            if need || told.is_some() {
                self.report.admittances += 1;
                self.history.admittance = Some(match told {
                    Some(told) => self.gather(&told),
                    None => {
                        elsewhere = true;
                        let y = self.by_differences(&window, &x.load, &motions)?;
                        self.interface.place(window.to, &motions, &x.lambda);
                        y
                    }
                });
                (self.history.stale, self.history.age) = (false, 0);
            }
            let Some(mut y) = self.history.admittance.take() else { break };
            if let Some((load, at)) = tried.take().filter(|_| !in_step && !ask) {
                let to_own = self.interface.to_own();
                let moved = to_own.apply(&displacement(&motions, &at));
                let twist = to_own.apply(&twist(&motions, &at));
                self.learn(&mut y, &to_own.apply(&minus(&x.load, &load)), &moved, &twist);
            }
            let rest = self.rest(&window, &x);
            let left = rest.levels(&y);
            let worst = self.measure(&left, &rest, length, attempt);
            match attempt {
                // an admittance costs a part in step next to nothing, and one with its own solver several windows
                1 => first = if in_step { worst } else { self.measure(&left, &rest, length, 2) },
                2 => second = Some(worst),
                _ => {}
            }
            if worst <= 1.0 {
                if elsewhere {
                    self.attempt_all(&window, &x.load, &x.shift, false)?;
                    self.interface.place(window.to, &motions, &x.lambda);
                }
                self.report.most = self.report.most.max(attempt);
                self.error = match (in_step, self.options.rtol) {
                    (true, Some(rtol)) => answer.error / rtol,
                    _ => self.estimate(&window, &x, &y),
                };
                if self.error > 1.0 {
                    self.history.admittance = Some(y);
                    // stiff parts answer otherwise in a window of another length
                    self.history.stale |= self.tells();
                    self.report.rejected += 1;
                    return Ok(Crossed::Refused);
                }
                if answer.rough && self.options.rtol.is_none() {
                    return Ok(Crossed::Rough);
                }
                self.report.residuals.take(&left);
                self.score(&foreseen, &x, &y);
                self.history.admittance = Some(y);
                self.grow_old(first, second);
                self.commit(&window, x, motions)?;
                return Ok(Crossed::Committed);
            }
            if attempt == 1 && left.dynamics > FAR * self.interface.system_length() {
                // nothing is learned of springs from where their own load threw them
                let pull = self.interface.to_own().transpose().times(&rest.effective);
                x.load = pull.apply(&x.lambda).iter().map(|x| -x).collect();
                self.history.admittance = Some(y);
                continue;
            }
            // an old admittance that contracts badly is asked for again; at the floor of rounding it may stay
            let slow = if self.tells() { SLOW } else { SLOW_BY_DIFFERENCES };
            self.history.stale |= attempt > 1 && worst > slow * before;
            if !worst.is_finite() || (attempt > 6 && worst > before) {
                return Err(self.diverged(length, &rest.rows));
            }
            before = worst;
            tried = Some((x.load.clone(), motions));
            let solved = self.solve(&window, &y, &rest, &mut x);
            self.history.admittance = Some(y);
            if !solved {
                return Err(self.diverged(length, &rest.rows));
            }
        }
        let gaps = self.interface.position();
        Err(self.diverged(length, &gaps))
    }

    /// Whether a new admittance comes with the next answer.
    fn tells(&self) -> bool {
        self.options.coupling != Coupling::Windows || self.history.tells == Some(true)
    }

    /// Decides whether the admittance can serve for another window: what a first correction leaves of the residual
    /// grows with the age of the admittance.
    fn grow_old(&mut self, first: f64, second: Option<f64>) {
        let tells = self.tells();
        let h = &mut self.history;
        if let Some(second) = second.filter(|_| h.age > 0) {
            h.ageing = (second / (first * h.age as f64)).max(0.5 * h.ageing);
        }
        h.age += 1;
        h.stale = tells && h.ageing * h.age as f64 * first > NEAR;
    }

    /// The worst of what is left, in tolerances.
    fn measure(&self, left: &Levels, rest: &Rest, length: f64, attempt: usize) -> f64 {
        let (allowed, size) = (&self.options.tolerances, self.interface.system_length());
        let position = match self.options.coupling {
            Coupling::Windows => 0.0,
            _ => left.position / (allowed.position * size),
        };
        let velocity = match self.options.coupling {
            Coupling::Position => 0.0,
            Coupling::Windows => largest(&rest.rows) * length / (allowed.velocity.min(allowed.position) * size),
            _ => left.velocity * length / (allowed.velocity * size),
        };
        let foreseen = if attempt == 1 { FORESEEN } else { 1.0 };
        let dynamics = left.dynamics / (foreseen * allowed.dynamics * size);
        [position, velocity, dynamics].into_iter().fold(0.0f64, |m, x| if x.is_nan() { f64::NAN } else { m.max(x) })
    }

    /// Tells which order would have foreseen the loads of a window best, by the displacements it was off.
    fn score(&mut self, foreseen: &[Unknowns], found: &Unknowns, y: &Admittance) {
        let to_own = self.interface.to_own();
        let off = |guess: &Unknowns| {
            let load = y.place.apply(&to_own.apply(&minus(&guess.load, &found.load)));
            let shift = y.place_by_shift.apply(&to_own.apply(&minus(&guess.shift, &found.shift)));
            largest(&load).max(largest(&shift))
        };
        let off: Vec<f64> = foreseen.iter().map(off).collect();
        self.history.foresight.score(off.into_iter());
    }

    /// The error of a window whose load was held, in units of the tolerance: a load that changes at the rate ℓ̇
    /// displaces by H³/12 · M⁻¹ℓ̇ what a held one does not, and H²/2 · M⁻¹ is the admittance.
    fn estimate(&self, window: &Window, x: &Unknowns, y: &Admittance) -> f64 {
        let (Some(rtol), Some((middle, held))) = (self.options.rtol, &self.history.held) else { return 0.0 };
        let passed = 0.5 * (window.from + window.to) - middle;
        let change = minus(&x.load, held);
        let moved = largest(&y.place.apply(&self.interface.to_own().apply(&change))) * window.length() / (6.0 * passed);
        moved / (LOCAL * rtol * self.interface.system_length())
    }

    /// What is left of the equations of the interface at the present motion.
    fn rest(&mut self, window: &Window, x: &Unknowns) -> Rest {
        let pull = self.interface.pull();
        let (mut force, mut effective) = (self.interface.force(), pull.clone());
        let to_own = self.interface.to_own();
        if self.options.coupling == Coupling::Windows {
            // the mean of the window, in the world: the ports turn
            let start = to_own.apply(&self.history.force);
            force = force.iter().zip(&start).map(|(a, b)| 0.5 * (a + b)).collect();
            effective = halved(&pull, &to_own.times(&self.history.pull));
        }
        let law = minus(&force, &effective.apply(&x.lambda));
        let shift = match self.options.coupling {
            Coupling::Stabilized => {
                let by_mu = self.rate_columns(&pull).apply(&x.mu);
                to_own.apply(&x.shift).iter().zip(by_mu).map(|(s, p)| s + p).collect()
            }
            _ => vec![0.0; self.interface.width()],
        };
        let (gaps, rates) = (self.interface.position(), self.interface.velocity());
        let rows = match self.options.coupling {
            Coupling::Stabilized => gaps.iter().chain(&rates).copied().collect(),
            Coupling::Windows => self.mixed(&gaps, &rates, 2.0 / window.length()),
            _ => gaps.clone(),
        };
        Rest { load: minus(&to_own.apply(&x.load), &law), shift, gaps, rates, rows, effective }
    }

    /// Γᵀ without the columns of nonholonomic rows, which have no μ.
    fn rate_columns(&self, pull: &Matrix) -> Matrix {
        let layout = bellcrank_model::Dynamics::layout(self.interface.system());
        let kept: Vec<usize> = layout
            .constraints
            .iter()
            .zip(&layout.rates)
            .filter(|(_, r)| !r.is_empty())
            .flat_map(|(c, _)| c.clone())
            .collect();
        Matrix::from_fn(pull.rows, kept.len(), |i, j| pull.at(i, kept[j]))
    }

    /// Φ̇ + c Φ, or the velocity row itself where it is nonholonomic.
    fn mixed(&self, positions: &[f64], velocities: &[f64], c: f64) -> Vec<f64> {
        let layout = bellcrank_model::Dynamics::layout(self.interface.system());
        let mut out = positions.to_vec();
        for (rows, rates) in layout.constraints.iter().zip(&layout.rates).filter(|(_, r)| !r.is_empty()) {
            rows.clone().zip(rates.clone()).for_each(|(i, k)| out[i] = velocities[k] + c * positions[i]);
        }
        out
    }

    /// One Newton step of the interface.
    fn solve(&mut self, window: &Window, y: &Admittance, rest: &Rest, x: &mut Unknowns) -> bool {
        let n = self.interface.width();
        let linear = self.interface.linearize();
        let stabilized = self.options.coupling == Coupling::Stabilized;
        let half = if self.options.coupling == Coupling::Windows { 0.5 } else { 1.0 };
        let columns = if stabilized { 2 * n } else { n };
        let beside = |a: &Matrix, b: &Matrix| {
            Matrix::from_fn(a.rows, columns, |i, j| if j < n { a.at(i, j) } else { b.at(i, j - n) })
        };
        // displacement and twist of the ports by (ℓ, σ)
        let place = beside(&y.place, &y.place_by_shift);
        let mut twist = beside(&y.velocity, &y.velocity_by_shift);
        self.interface.turn(&place, &mut twist);
        let law = linear.stiffness.times(&place).plus(1.0, &linear.damping.times(&twist));
        let d = Matrix::from_fn(columns, columns, |i, j| {
            (i == j) as u8 as f64 - if i < n { half * law.at(i, j) } else { 0.0 }
        });
        let position = linear.position.times(&place).plus(1.0, &linear.position_by_twist.times(&twist));
        let velocity = linear.velocity.times(&place).plus(1.0, &linear.velocity_by_twist.times(&twist));
        let rows = match self.options.coupling {
            Coupling::Stabilized => Matrix::from_fn(position.rows + velocity.rows, columns, |i, j| {
                if i < position.rows { position.at(i, j) } else { velocity.at(i - position.rows, j) }
            }),
            Coupling::Windows => {
                let mut rows = Matrix::zeros(position.rows, columns);
                for j in 0..columns {
                    let mixed = self.mixed(&position.column(j), &velocity.column(j), 2.0 / window.length());
                    (0..position.rows).for_each(|i| *rows.at_mut(i, j) = mixed[i]);
                }
                rows
            }
            _ => position,
        };
        let pull_mu = if stabilized { self.rate_columns(&linear.pull) } else { Matrix::zeros(n, 0) };
        let (m, p) = (rest.effective.columns, pull_mu.columns);
        // right-hand sides: −(imbalance), and the pulls of λ and μ
        let sides = Matrix::from_fn(columns, 1 + m + p, |i, j| match (j, i < n) {
            (0, true) => -rest.load[i],
            (0, false) => -rest.shift[i - n],
            (j, true) if j <= m => -rest.effective.at(i, j - 1),
            (j, false) if j > m => -pull_mu.at(i - n, j - 1 - m),
            _ => 0.0,
        });
        let Ok(answers) = d.solve(&sides) else { return false };
        let moved = rows.times(&answers);
        let k = Matrix::from_fn(rows.rows, m + p, |i, j| moved.at(i, 1 + j));
        let wanted: Vec<f64> = (0..rows.rows).map(|i| -rest.rows[i] - moved.at(i, 0)).collect();
        let Some(delta) = scaled_least_squares(&k, &wanted) else { return false };
        let by_multipliers = Matrix::from_fn(columns, m + p, |i, j| answers.at(i, 1 + j)).times(&column(&delta));
        let change: Vec<f64> = (0..columns).map(|i| answers.at(i, 0) + by_multipliers.at(i, 0)).collect();
        x.load.iter_mut().zip(self.in_world(&change[..n])).for_each(|(x, c)| *x += c);
        if stabilized {
            x.shift.iter_mut().zip(self.in_world(&change[n..])).for_each(|(x, c)| *x += c);
        }
        x.lambda.iter_mut().zip(&delta).for_each(|(l, d)| *l += d);
        x.mu.iter_mut().zip(&delta[m..]).for_each(|(l, d)| *l += d);
        true
    }

    fn commit(&mut self, window: &Window, x: Unknowns, motions: Vec<Motion>) -> Result<(), GlueError> {
        for k in 0..self.parts.len() {
            self.timed(k, |p| p.commit())?;
        }
        self.interface.place(window.to, &motions, &x.lambda);
        self.interface.settle();
        self.history.lambda = x.lambda;
        self.history.mu = x.mu;
        self.interface.place(window.to, &motions, &self.history.lambda);
        self.look();
        self.history.before = (window.length(), std::mem::replace(&mut self.history.motions, motions));
        let (middle, h) = (0.5 * (window.from + window.to), &self.history);
        let when = if self.options.coupling == Coupling::Windows { middle } else { window.to };
        let (lambda, mu, force) = (h.lambda.clone(), h.mu.clone(), h.force.clone());
        self.history.foresight.push(Past { when, at: window.to, lambda, mu, force });
        self.history.held = Some((middle, x.load));
        (self.history.t, self.history.number, self.history.told) = (window.to, self.history.number + 1, false);
        self.report.windows += 1;
        Ok(())
    }

    /// Keeps the committed state of all parts and of the interface.
    pub fn save(&mut self) -> Result<(), GlueError> {
        self.parts.iter_mut().try_for_each(|p| p.save())?;
        self.kept = Some(Box::new(self.history.clone()));
        self.interface.save();
        Ok(())
    }

    /// Goes back to what was kept; the same windows give the same bits from there on.
    pub fn restore(&mut self) -> Result<(), GlueError> {
        let Some(kept) = &self.kept else { return Err(GlueError::Unfit("no state was kept".into())) };
        self.history = History::clone(kept);
        self.interface.restore();
        self.parts.iter_mut().try_for_each(|p| p.restore())?;
        Ok(())
    }

    /// Keeps the committed state of all parts, each where it lives, and that of the interface in a folder, with a
    /// note of the caller.
    pub fn keep(&mut self, folder: &Path, id: &str, note: &[u64]) -> Result<(), GlueError> {
        self.parts.iter_mut().try_for_each(|p| p.keep(folder, id))?;
        let (history, interface) = (self.history.clone(), self.interface.point().clone());
        let (id, note) = (id.to_string(), note.to_vec());
        let mut written = Written { id, history, interface, report: self.report.clone(), note };
        let path = folder.join(INTERFACE);
        write_whole(&path, &tape::write(&mut written))
            .map_err(|e| GlueError::Unfit(format!("cannot write the checkpoint `{}`: {e}", path.display())))
    }

    /// Takes all parts and the interface back to what was kept in a folder: the same windows give the same bits from
    /// there on. Returns the note.
    pub fn recover(&mut self, folder: &Path) -> Result<Vec<u64>, GlueError> {
        let path = folder.join(INTERFACE);
        let unfit = |why: String| GlueError::Unfit(format!("the checkpoint `{}` {why}", path.display()));
        let bytes = std::fs::read(&path).map_err(|e| unfit(format!("cannot be read: {e}")))?;
        let (history, interface) = (self.history.clone(), self.interface.point().clone());
        let report = self.report.clone();
        let mut found = Written { id: String::new(), history, interface, report, note: Vec::new() };
        tape::read(&mut found, &bytes).map_err(unfit)?;
        let sizes = |h: &History| (h.motions.len(), h.lambda.len(), h.mu.len(), h.force.len());
        if sizes(&found.history) != sizes(&self.history) || found.report.seconds.len() != self.parts.len() {
            return Err(unfit("belongs to another assembly".into()));
        }
        self.parts.iter_mut().try_for_each(|p| p.recover(folder, &found.id))?;
        self.interface.set_point(found.interface);
        (self.history, self.report) = (found.history, found.report);
        Ok(found.note)
    }

    /// Goes on until a time in windows of the length that was asked for; `watch` is called after each.
    pub fn run(
        &mut self,
        until: f64,
        watch: &mut dyn FnMut(&mut Coordinator) -> Result<(), GlueError>,
    ) -> Result<(), GlueError> {
        // a run that was taken back from a checkpoint goes on counting
        let fresh = Pace { start: self.history.t, windows: 0, length: self.options.window };
        self.history.pace.get_or_insert(fresh);
        while let Some(Pace { start, windows: k, length: h }) = self.history.pace
            && self.history.t < until
        {
            // fixed windows end at multiples, so that rounding does not add up
            let aim = if self.options.rtol.is_some() { self.history.t + h } else { start + (k + 1) as f64 * h };
            let end = match (self.options.rtol, self.options.grid) {
                (Some(_), Some(grid)) => {
                    until.min(start + (((self.history.t - start) / grid + 1e-9).floor() + 1.0) * grid)
                }
                _ => until,
            };
            // a sliver before the end is shared by the last two windows
            let to = match aim {
                aim if aim > end - 1e-9 * h => end,
                aim if self.options.rtol.is_some() && aim > end - 0.5 * h => 0.5 * (self.history.t + end),
                aim => aim,
            };
            let cut = to - self.history.t < 0.999 * h;
            let from = self.history.t;
            let committed = match self.window(to - from) {
                Err(GlueError::Diverged { .. }) if self.options.rtol.is_some() && h > 1e-12 * until => {
                    // a shorter window may be found
                    (self.error, self.history.stale) = (f64::INFINITY, true);
                    self.report.rejected += 1;
                    false
                }
                crossed => crossed?,
            };
            let mut length = h;
            if self.options.rtol.is_some() {
                // the estimate is of third order
                let factor = if self.error > 0.0 { 0.9 * self.error.powf(-1.0 / 3.0) } else { 1.0 };
                let wish = (to - from) * factor.clamp(0.3, 1.5);
                // a window that was cut short to land somewhere says nothing against the one that was wanted
                length = if cut && committed { h.max(wish) } else { wish };
                if length < 1e-12 * until {
                    let gaps = self.interface.position();
                    return Err(self.diverged(length, &gaps));
                }
            }
            self.history.pace = Some(Pace { start, windows: k + committed as u64, length });
            if committed {
                watch(self)?;
            }
        }
        self.history.pace = None;
        Ok(())
    }
}

/// Local errors add up: a tenth of the tolerance for one window.
const LOCAL: f64 = 0.1;

/// The file of the interface in a checkpoint.
const INTERFACE: &str = "interface.state";

/// How channels of energy begin.
const ENERGY: &str = "energy.";

/// Accelerations below this part of a length per s² are those of a machine at rest.
const STILL: f64 = 1e-6;

/// Gaps of this part of a length (or of the speed) are closed.
const START: f64 = 1e-6;

/// What is left of the equations of the interface.
struct Rest {
    load: Vec<f64>,
    shift: Vec<f64>,
    gaps: Vec<f64>,
    rates: Vec<f64>,
    /// The rows that Newton solves.
    rows: Vec<f64>,
    /// The pull of λ as it stands in the law of the loads.
    effective: Matrix,
}

impl Rest {
    /// How much is left of each residual; the imbalance by the displacement it causes.
    fn levels(&self, y: &Admittance) -> Levels {
        let dynamics = largest(&y.place.apply(&self.load)).max(largest(&y.place_by_shift.apply(&self.shift)));
        Levels { position: largest(&self.gaps), velocity: largest(&self.rates), acceleration: 0.0, dynamics }
    }
}

fn halved(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::from_fn(a.rows, a.columns, |i, j| 0.5 * (a.at(i, j) + b.at(i, j)))
}

/// The x of least size with A x = b as well as can be, after rows and columns are scaled to one.
fn scaled_least_squares(a: &Matrix, b: &[f64]) -> Option<Vec<f64>> {
    if a.rows == 0 || a.columns == 0 {
        return Some(vec![0.0; a.columns]);
    }
    let unit = |x: f64| if x > 0.0 { 1.0 / x } else { 1.0 };
    let columns: Vec<f64> = (0..a.columns).map(|j| unit(largest(&a.column(j)))).collect();
    let scaled = Matrix::from_fn(a.rows, a.columns, |i, j| a.at(i, j) * columns[j]);
    let rows: Vec<f64> = (0..a.rows).map(|i| unit(largest(scaled.row(i)))).collect();
    let scaled = Matrix::from_fn(a.rows, a.columns, |i, j| scaled.at(i, j) * rows[i]);
    let b: Vec<f64> = b.iter().zip(&rows).map(|(b, r)| b * r).collect();
    let found = least_squares(&scaled.values, a.rows, a.columns, &b, RANK).ok()?;
    Some(found.x.iter().zip(&columns).map(|(x, c)| x * c).collect())
}
