//! What the coordinator remembers of committed windows.

use crate::foresee::Foresight;
use crate::interface::Interface;
use crate::port::PortMotion;
use crate::subdomain::Admittance;
use bellcrank_math::linear::matrix::Matrix;

/// The fraction of an admittance that each window invalidates, until it is measured.
const AGEING: f64 = 0.01;

/// The state of a glued run beside the states of its parts.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct History {
    /// The committed time.
    pub t: f64,
    /// The number of the next window.
    pub number: u64,
    pub motions: Vec<PortMotion>,
    /// The motions one window earlier.
    pub before: LastWindow,
    pub lambda: Vec<f64>,
    pub mu: Vec<f64>,
    /// Earlier λ, μ and F, for extrapolation.
    pub foresight: Foresight,
    /// The load of the last window, for the estimate of the error.
    pub held: Option<HeldLoad>,
    /// The law of the loads at the committed time.
    pub law: InterfaceLaw,
    pub admittance: KnownAdmittance,
    /// Whether the parts have the accelerations of the committed time.
    pub accelerated: bool,
    pub pace: Option<Pace>,
}

/// The motions at the start of the last window, and its length.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct LastWindow {
    pub length: f64,
    pub motions: Vec<PortMotion>,
}

/// A load that was held over a window.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct HeldLoad {
    /// The middle of the window.
    pub middle: f64,
    /// In the world.
    pub load: Vec<f64>,
}

/// F and Γᵀ, in the world.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct InterfaceLaw {
    pub force: Vec<f64>,
    pub pull: Matrix,
}

/// The admittance of the interface, and how far it can be trusted.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct KnownAdmittance {
    pub matrix: Option<Admittance>,
    /// The length of the windows it is for.
    pub length: f64,
    /// Whether it has to be asked for again.
    pub stale: bool,
    /// Whether parts with their own solvers tell it: unknown until they are asked.
    pub told: Option<bool>,
    /// The windows it has served, and the fraction of it that each of them made wrong.
    pub age: usize,
    pub ageing: f64,
    /// What it takes from (λ, μ) if they are to be least: A⁺A of the last correction; none where they are unique.
    pub moving: Option<Matrix>,
}

/// Where a run is among its windows.
#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Pace {
    /// Its start.
    pub start: f64,
    /// The length of the next window.
    pub length: f64,
}

impl History {
    /// That of a run which has not begun.
    pub fn new(t: f64, interface: &Interface) -> History {
        let (n, (m, m_rates)) = (interface.width(), interface.rows());
        History {
            t,
            number: 0,
            motions: Vec::with_capacity(interface.sites.len()),
            before: LastWindow { length: 1.0, motions: Vec::new() },
            lambda: vec![0.0; m],
            mu: vec![0.0; m_rates],
            foresight: Foresight::default(),
            held: None,
            law: InterfaceLaw { force: vec![0.0; n], pull: Matrix::zeros(n, m) },
            admittance: KnownAdmittance { stale: true, ageing: AGEING, length: 1.0, ..KnownAdmittance::default() },
            accelerated: true,
            pace: None,
        }
    }

    /// Whether another one is of the same sizes, so that it can take the place of this one; the interface has `n`
    /// coordinates.
    pub fn fits(&self, other: &History, n: usize) -> bool {
        let sizes = |h: &History| {
            [
                h.motions.len(),
                h.before.motions.len(),
                h.lambda.len(),
                h.mu.len(),
                h.law.force.len(),
                h.law.pull.rows,
                h.law.pull.columns,
            ]
        };
        let fits_admittance = |y: &Admittance| {
            let all = [&y.place, &y.velocity, &y.place_by_shift, &y.velocity_by_shift];
            all.iter().all(|a| (a.rows, a.columns) == (n, n))
        };
        let multipliers = self.lambda.len() + self.mu.len();
        let fits_moving = |a: &Matrix| a.rows == a.columns && a.rows <= multipliers;
        let loads = self.law.force.len();
        sizes(self) == sizes(other)
            && other.admittance.matrix.as_ref().is_none_or(fits_admittance)
            && other.admittance.moving.as_ref().is_none_or(fits_moving)
            && other.held.as_ref().is_none_or(|h| h.load.len() == loads)
            && other.foresight.fits(self.lambda.len(), self.mu.len(), loads)
    }
}
