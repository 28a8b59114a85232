//! The coordinator: finds the loads with which the joints between parts hold, window by window.
//!
//! In step, with the loads ℓ and shifts σ at the end of the window as unknowns, λ and μ their multipliers,
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
//! which is of second order: the velocity row finds the mean of λ without echoes from the last window, and positions do not
//! drift, because x₁ = x₀ + ½H(v₀ + v₁) + e with v₀ = −2x₀/H and v₁ = −2x₁/H leaves x₁ = e/2, the error of one window.
//!
//! | file            | what                                                                    |
//! |-----------------|-------------------------------------------------------------------------|
//! | `start.rs`      | accelerations and multipliers at a committed time                       |
//! | `window.rs`     | one window: predict, try, correct, commit                               |
//! | `corrections.rs`| one window by the paper's algorithm: corrections level by level         |
//! | `equations.rs`  | the residuals of the interface, and one Newton step                     |
//! | `admittance.rs` | how the ports follow the loads: told by parts, by differences, learned  |
//! | `least.rs`      | multipliers of least size where joints are redundant                    |
//! | `pace.rs`       | a run: the length of the next window                                    |
//! | `states.rs`     | save, restore, checkpoints                                              |

mod admittance;
mod corrections;
mod equations;
mod history;
mod least;
mod pace;
mod start;
mod states;
mod window;

use crate::interface::Interface;
use crate::options::{Coupling, GlueError, GlueOptions, GlueReport};
use crate::port::{PortMotion, WIDTH};
use crate::subdomain::{PartError, PartResponse, Subdomain, Upcoming};
use bellcrank_model::Unknown;
use bellcrank_model::dynamics::Channel;
use bellcrank_model::dynamics::roles::*;
use history::History;
pub use states::INTERFACE_FILE;
use std::time::Instant;

/// How the channels of energy begin.
const ENERGY: &str = "energy.";

/// Joins parts at an interface.
pub struct Coordinator {
    parts: Vec<Box<dyn Subdomain>>,
    interface: Interface,
    options: GlueOptions,
    history: History,
    saved: Option<Box<History>>,
    /// The estimated error of the last window, in tolerances.
    error: f64,
    report: GlueReport,
}

/// The largest |x|; NaN if there is one.
fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0f64, |m, x| if x.is_nan() { f64::NAN } else { m.max(x.abs()) })
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Refuses what the paper's algorithm does not know.
fn can_correct(interface: &Interface, options: &GlueOptions) -> Result<(), GlueError> {
    let help = "help: use --coupling stabilized";
    if options.rtol.is_some() {
        return Err(GlueError::Unfit(format!(
            "gluing by corrections has no estimate of its error, and so no windows that follow a tolerance\n{help}, or give a window \
             in the place of the tolerance"
        )));
    }
    match interface.system().layout().rates.iter().position(|r| r.is_empty()) {
        Some(k) => Err(GlueError::Unfit(format!(
            "{} holds rates and no position, and gluing by corrections projects positions\n{help}",
            interface.system().name(Unknown::Lambda, k)
        ))),
        None => Ok(()),
    }
}

impl Coordinator {
    /// Joins the parts at time t: they must meet there, and take the accelerations with which the joints hold.
    pub fn new(
        parts: Vec<Box<dyn Subdomain>>,
        interface: Interface,
        t: f64,
        options: GlueOptions,
    ) -> Result<Coordinator, GlueError> {
        if !matches!(options.coupling, Coupling::Windows | Coupling::Explicit)
            && let Some(part) = parts.iter().find(|p| !p.description().in_step)
        {
            let name = &part.description().name;
            return Err(GlueError::Unfit(format!(
                "part `{name}` has a solver of its own and cannot step with the others\nhelp: use --coupling windows"
            )));
        }
        let forward = parts.iter().find(|p| !p.goes_back()).map(|p| p.description().name.clone());
        if options.coupling == Coupling::Explicit && interface.rows().0 > 0 {
            let owner = interface.owner(0);
            return Err(GlueError::Unfit(match forward {
                None => format!(
                    "explicit coupling cannot hold {owner}\nhelp: use a bushing in its place, or another coupling"
                ),
                Some(name) => format!(
                    "part `{name}` cannot go back to the start of a window (`canGetAndSetFMUState`), so that all parts are coupled in \
                     one pass, which cannot hold {owner}\nhelp: use a bushing in its place"
                ),
            }));
        }
        if let (Some(name), true) = (forward, options.coupling != Coupling::Explicit) {
            return Err(GlueError::Unfit(format!(
                "part `{name}` cannot go back to the start of a window (`canGetAndSetFMUState`), which this coupling needs\n\
                 help: use --coupling explicit: one pass, with bushings and springs between the parts"
            )));
        }
        if options.coupling.corrects() {
            can_correct(&interface, &options)?;
        }
        let history = History::new(t, &interface);
        let report = GlueReport { seconds: vec![0.0; parts.len()], ..GlueReport::default() };
        let mut c = Coordinator { parts, interface, options, history, saved: None, error: 0.0, report };
        c.begin()?;
        Ok(c)
    }

    /// The committed time.
    pub fn time(&self) -> f64 {
        self.history.t
    }

    /// Number of committed windows.
    pub fn windows(&self) -> u64 {
        self.history.number
    }

    /// The options of the run.
    pub fn options(&self) -> &GlueOptions {
        &self.options
    }

    /// Counts, residuals and times so far.
    pub fn report(&self) -> &GlueReport {
        &self.report
    }

    /// The parts, to look at.
    pub fn all_parts(&self) -> &[Box<dyn Subdomain>] {
        &self.parts
    }

    /// The parts.
    pub fn parts(&mut self) -> &mut [Box<dyn Subdomain>] {
        &mut self.parts
    }

    /// The motions of the ports at the committed time, in the order of the interface.
    pub fn motions(&self) -> &[PortMotion] {
        &self.history.motions
    }

    /// The multipliers of the interface at the committed time (with held loads: their last mean).
    pub fn multipliers(&self) -> &[f64] {
        &self.history.lambda
    }

    /// The channels of all parts (preceded by the part's name, if `named`) and of the joints between them. Energies are those
    /// of all parts together, where every part has them.
    pub fn channels(&self, named: bool) -> Vec<Channel> {
        let mut out = Vec::new();
        for part in &self.parts {
            let own = part.channels().into_iter().filter(|c| !c.name.starts_with(ENERGY));
            let name = &part.description().name;
            out.extend(own.map(|c| if named { Channel { name: format!("{name}/{}", c.name), ..c } } else { c }));
        }
        out.extend(self.interface.channels().into_iter().map(|(_, c)| c));
        if self.has_energy() {
            let of = |what| Channel { name: format!("{ENERGY}{what}"), unit: "J" };
            out.extend(["kinetic", "stored", "total"].map(of));
        }
        out
    }

    fn has_energy(&self) -> bool {
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
        if self.has_energy() {
            out.extend([energy[0], energy[1] + stored, energy[2] + stored]);
        }
        Ok(out)
    }

    /// Loads in the world, as six numbers per port for each part.
    fn by_part(&self, world: &[f64]) -> Vec<Vec<f64>> {
        let mut out: Vec<_> = self.parts.iter().map(|p| vec![0.0; WIDTH * p.description().ports.len()]).collect();
        for (&(part, port), load) in self.interface.sites.iter().zip(world.chunks_exact(WIDTH)) {
            out[part][WIDTH * port..WIDTH * (port + 1)].copy_from_slice(load);
        }
        out
    }

    /// Loads of the bodies of the interface, turned into the world: the loads of a part do not turn with its ports.
    fn in_world(&self, own: &[f64]) -> Vec<f64> {
        self.interface.to_own().transpose().apply(own)
    }

    /// The motions of the sites, from the answers of the parts.
    fn site_motions(&self, answers: &[PartResponse]) -> Result<Vec<PortMotion>, GlueError> {
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

    /// Calls a part, and counts the seconds it takes.
    fn timed<T>(&mut self, part: usize, act: impl FnOnce(&mut dyn Subdomain) -> T) -> T {
        let started = Instant::now();
        let out = act(&mut *self.parts[part]);
        self.report.seconds[part] += started.elapsed().as_secs_f64();
        out
    }

    fn diverged(&mut self, length: f64, gaps: &[f64]) -> GlueError {
        let row = (0..gaps.len()).max_by(|a, b| gaps[*a].abs().total_cmp(&gaps[*b].abs()));
        let (joint, gap) = match row {
            Some(row) => (self.interface.owner(row.min(self.interface.rows().0.saturating_sub(1))), gaps[row].abs()),
            None => ("a force between the parts".into(), f64::NAN),
        };
        GlueError::Diverged { t: self.history.t, length, joint, gap, relaxed: None }
    }
}
