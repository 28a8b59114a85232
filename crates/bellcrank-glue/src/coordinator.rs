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

use crate::interface::Interface;
use crate::options::{Coupling, GlueError, GlueOptions, Report};
use crate::port::{Motion, WIDTH};
use crate::subdomain::{Admittance, PartError, Response, Subdomain, Window, write_whole};
use bellcrank_math::dense::least_squares;
use bellcrank_math::matrix::Matrix;
use bellcrank_model::dynamics::Channel;
use bellcrank_model::{Point, tape};
use std::path::Path;
use std::time::{Duration, Instant};

/// Singular values of the interface below this part of the largest are taken for zero: singular positions.
const RANK: f64 = 1e-9;
/// A contraction of the residual worse than this asks for a new admittance.
const SLOW: f64 = 0.02;
/// The part of a load that a difference adds.
const DIFFERENCE: f64 = 1e-5;

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
    lambda: Vec<f64>,
    mu: Vec<f64>,
    /// When λ and F of the last windows were, and what they were, the newest first: for extrapolation.
    before: Vec<(f64, Vec<f64>, Vec<f64>)>,
    /// The load of the last window and its middle, for the estimate of the error.
    held: Option<(f64, Vec<f64>)>,
    /// F and Γᵀ at the committed time, in the world.
    force: Vec<f64>,
    pull: Matrix,
    admittance: Option<Admittance>,
    /// Whether the admittance is too old; how many windows it served, and how many it may serve.
    stale: bool,
    age: usize,
    lasts: usize,
    pace: Option<Pace>,
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
    held,
    force,
    pull,
    admittance,
    stale,
    age,
    lasts,
    pace,
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
            lambda: vec![0.0; m],
            mu: vec![0.0; m_rates],
            before: Vec::new(),
            held: None,
            force: vec![0.0; n],
            pull: Matrix::zeros(n, m),
            admittance: None,
            stale: true,
            age: 0,
            lasts: 1,
            pace: None,
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

    /// What it took so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The parts.
    pub fn parts(&mut self) -> &mut [Box<dyn Subdomain>] {
        &mut self.parts
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

    /// The values of all channels at the committed time.
    pub fn observe(&mut self) -> Result<Vec<f64>, GlueError> {
        let (mut out, mut energy) = (Vec::new(), [0.0; 3]);
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
        let mut answers = Vec::new();
        for (k, load) in loads.iter().enumerate() {
            answers.push(self.timed(k, |p| p.begin(load))?);
        }
        Ok((self.seen(&answers)?, answers))
    }

    /// Finds the loads at the committed time: Φ̈ = 0, by Gauss's principle [Tseng & Hulbert 2001, eq. 32].
    fn begin(&mut self) -> Result<(), GlueError> {
        let n = self.interface.width();
        let (motions, answers) = self.begin_all(&vec![0.0; n])?;
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
        let (force, pull) = (self.interface.force(), self.interface.pull());
        let told: Option<Vec<Admittance>> = answers.into_iter().map(|a| a.admittance).collect();
        let s = match told {
            Some(told) => self.gather(&told).place,
            None => self.begin_by_differences(&motions)?,
        };
        let (motions, _) = self.begin_all(&force)?;
        self.interface.place(self.history.t, &motions, &self.history.lambda.clone());
        let rest = self.interface.acceleration();
        self.history.lambda = scaled_least_squares(&pull.transpose().times(&s).times(&pull), &rest)
            .ok_or_else(|| self.diverged(0.0, &rest))?;
        let load = minus(&force, &pull.apply(&self.history.lambda));
        let (motions, _) = self.begin_all(&load)?;
        self.history.motions = motions;
        self.interface.place(self.history.t, &self.history.motions, &self.history.lambda);
        self.look();
        Ok(())
    }

    /// Takes notice of F and Γᵀ at the committed motion.
    fn look(&mut self) {
        let to_world = self.interface.to_own().transpose();
        self.history.force = to_world.apply(&self.interface.force());
        self.history.pull = to_world.times(&self.interface.pull());
    }

    /// ∂(acceleration)/∂(load) by differences: it is linear, so one difference per load is exact.
    fn begin_by_differences(&mut self, rest: &[Motion]) -> Result<Matrix, GlueError> {
        let n = self.interface.width();
        let mut s = Matrix::zeros(n, n);
        for k in 0..n {
            let mut load = vec![0.0; n];
            load[k] = 1.0;
            let (moved, _) = self.begin_all(&load)?;
            let change: Vec<f64> = moved
                .iter()
                .zip(rest)
                .flat_map(|(a, b)| [a.acceleration - b.acceleration, a.spin_rate - b.spin_rate])
                .flat_map(|x| x.0)
                .collect();
            let own = self.interface.to_own().apply(&change);
            (0..n).for_each(|i| *s.at_mut(i, k) = own[i]);
        }
        Ok(s)
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
    ) -> Result<(Vec<Motion>, Option<Vec<Admittance>>), GlueError> {
        let (loads, shifts) = (self.by_part(load), self.by_part(shift));
        for (part, (load, shift)) in self.parts.iter_mut().zip(loads.iter().zip(&shifts)) {
            part.announce(window, load, shift, admittance);
        }
        let mut answers = Vec::new();
        for (k, (load, shift)) in loads.iter().zip(&shifts).enumerate() {
            answers.push(self.timed(k, |p| p.attempt(window, load, shift, admittance))?);
        }
        self.report.exchanges += 1;
        let motions = self.seen(&answers)?;
        Ok((motions, answers.into_iter().map(|a| a.admittance).collect()))
    }

    /// ∂(motion)/∂(load) of a window by differences, for parts that do not tell it.
    fn by_differences(&mut self, window: &Window, load: &[f64], at: &[Motion]) -> Result<Admittance, GlueError> {
        let n = self.interface.width();
        let scale = DIFFERENCE * (1.0 + largest(load));
        let none = Matrix::zeros(n, n);
        let mut y = Admittance {
            place: none.clone(),
            velocity: none.clone(),
            place_by_shift: none.clone(),
            velocity_by_shift: none,
        };
        let shift = vec![0.0; load.len()];
        let to_own = self.interface.to_own();
        for k in 0..n {
            let changed: Vec<f64> = load.iter().zip(to_own.row(k)).map(|(l, c)| l + scale * c).collect();
            let (moved, _) = self.attempt_all(window, &changed, &shift, false)?;
            let pairs = || moved.iter().zip(at);
            let place = pairs().flat_map(|(a, b)| {
                let turn = a.rotation.then(b.rotation.conjugate()).log();
                [a.place - b.place, turn].map(|x| x * (1.0 / scale))
            });
            let place: Vec<f64> = place.flat_map(|x| x.0).collect();
            let twist =
                pairs().flat_map(|(a, b)| [a.velocity - b.velocity, a.spin - b.spin].map(|x| x * (1.0 / scale)));
            let twist: Vec<f64> = twist.flat_map(|x| x.0).collect();
            let (place, twist) = (to_own.apply(&place), to_own.apply(&twist));
            for i in 0..n {
                *y.place.at_mut(i, k) = place[i];
                *y.velocity.at_mut(i, k) = twist[i];
            }
        }
        Ok(y)
    }

    /// Predicts the unknowns of a window: λ and F by parabolas, the geometry from velocities and accelerations.
    fn predict(&mut self, window: &Window) -> Unknowns {
        // Lagrange's polynomial through the present values and the last ones
        let times: Vec<f64> = std::iter::once(self.history.t).chain(self.history.before.iter().map(|b| b.0)).collect();
        let weights: Vec<f64> = (0..times.len())
            .map(|k| {
                let others = (0..times.len()).filter(|j| *j != k);
                others.map(|j| (window.to - times[j]) / (times[k] - times[j])).product()
            })
            .collect();
        let extrapolate = |now: &[f64], of: &dyn Fn(usize) -> Vec<f64>| -> Vec<f64> {
            let mut out: Vec<f64> = now.iter().map(|x| weights[0] * x).collect();
            for k in 1..times.len() {
                out.iter_mut().zip(of(k - 1)).for_each(|(o, x)| *o += weights[k] * x);
            }
            out
        };
        let lambda = extrapolate(&self.history.lambda, &|k| self.history.before[k].1.clone());
        let force = extrapolate(&self.history.force, &|k| self.history.before[k].2.clone());
        let there: Vec<Motion> = self.history.motions.iter().map(|m| m.after(window.length())).collect();
        self.interface.place(window.to, &there, &lambda);
        let mut pull = self.interface.to_own().transpose().times(&self.interface.pull());
        let mut load = force.clone();
        if self.options.coupling == Coupling::Windows {
            pull = halved(&pull, &self.history.pull);
            load = force.iter().zip(&self.history.force).map(|(a, b)| 0.5 * (a + b)).collect();
        }
        let load = minus(&load, &pull.apply(&lambda));
        Unknowns { lambda, mu: vec![0.0; self.history.mu.len()], shift: vec![0.0; load.len()], load }
    }

    /// Crosses one window; false if its error is too large, and nothing was committed.
    pub fn window(&mut self, length: f64) -> Result<bool, GlueError> {
        let window = Window { number: self.history.number, from: self.history.t, to: self.history.t + length };
        let mut x = self.predict(&window);
        if self.options.coupling == Coupling::Explicit {
            x.load.clone_from(&self.history.force);
            let (motions, _) = self.attempt_all(&window, &x.load, &x.shift, false)?;
            self.report.most = self.report.most.max(1);
            self.commit(&window, x, motions)?;
            return Ok(true);
        }
        let tolerance = self.options.tolerance * self.interface.system_length();
        let mut before = f64::INFINITY;
        for attempt in 1..=self.options.max_attempts {
            let ask = self.history.stale || self.history.admittance.is_none();
            let (motions, told) = self.attempt_all(&window, &x.load, &x.shift, ask)?;
            self.interface.place(window.to, &motions, &x.lambda);
            if ask {
                self.report.admittances += 1;
                self.history.admittance = Some(match told {
                    Some(told) => self.gather(&told),
                    None => self.by_differences(&window, &x.load, &motions)?,
                });
                // differences leave the parts at another attempt
                if !self.parts.iter().all(|p| p.description().in_step) {
                    self.attempt_all(&window, &x.load, &x.shift, false)?;
                    self.interface.place(window.to, &motions, &x.lambda);
                }
                (self.history.stale, self.history.age) = (false, 0);
            }
            let Some(y) = self.history.admittance.take() else { break };
            let rest = self.rest(&window, &x);
            let imbalance = largest(&y.place.apply(&rest.load)).max(largest(&y.place_by_shift.apply(&rest.shift)));
            let sizes = [largest(&rest.gaps), length * largest(&rest.rates), imbalance];
            let worst = sizes.into_iter().fold(0.0f64, |m, x| if x.is_nan() { f64::NAN } else { m.max(x) });
            if worst <= tolerance {
                self.report.most = self.report.most.max(attempt);
                let r = &mut self.report.residuals;
                *r = [r[0].max(sizes[0]), r[1].max(largest(&rest.rates)), r[2].max(imbalance)];
                self.error = self.estimate(&window, &x, &y);
                self.history.admittance = Some(y);
                if self.error > 1.0 {
                    self.report.rejected += 1;
                    return Ok(false);
                }
                self.history.age += 1;
                // the third attempt paid for an old admittance: the next ones serve shorter
                self.history.lasts = if attempt > 2 {
                    (self.history.lasts / 2).max(1)
                } else {
                    self.history.lasts + (self.history.age == self.history.lasts) as usize
                };
                self.history.stale = self.history.age >= self.history.lasts;
                self.commit(&window, x, motions)?;
                return Ok(true);
            }
            // an old admittance that contracts badly is asked for again; at the floor of rounding it may stay
            self.history.stale |= attempt > 1 && worst > SLOW * before;
            if !worst.is_finite() || (attempt > 6 && worst > before) {
                return Err(self.diverged(length, &rest.rows));
            }
            before = worst;
            let solved = self.solve(&window, &y, &rest, &mut x);
            self.history.admittance = Some(y);
            if !solved {
                return Err(self.diverged(length, &rest.rows));
            }
        }
        let gaps = self.interface.position();
        Err(self.diverged(length, &gaps))
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
        let rates_count = match self.options.coupling {
            Coupling::Position => Vec::new(),
            Coupling::Windows => rows.clone(),
            _ => rates,
        };
        let gaps = if self.options.coupling == Coupling::Windows { Vec::new() } else { gaps };
        Rest { load: minus(&to_own.apply(&x.load), &law), shift, gaps, rates: rates_count, rows, effective }
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
        let twist = beside(&y.velocity, &y.velocity_by_shift);
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
        let before = (
            window.from,
            std::mem::replace(&mut self.history.lambda, x.lambda),
            std::mem::take(&mut self.history.force),
        );
        self.history.before.insert(0, before);
        self.history.before.truncate(2);
        self.history.mu = x.mu;
        self.interface.place(window.to, &motions, &self.history.lambda);
        self.look();
        self.history.motions = motions;
        self.history.held = Some((0.5 * (window.from + window.to), x.load));
        (self.history.t, self.history.number) = (window.to, self.history.number + 1);
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
            let to = if aim > until - 1e-9 * h { until } else { aim };
            let committed = self.window(to - self.history.t)?;
            let mut length = h;
            if self.options.rtol.is_some() {
                // the estimate is of third order
                let factor = if self.error > 0.0 { 0.9 * self.error.powf(-1.0 / 3.0) } else { 1.0 };
                length *= factor.clamp(0.3, 1.5);
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
