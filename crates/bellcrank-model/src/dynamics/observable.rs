//! What can be seen of a machine from outside: names, channels, energy and momentum.

use super::{HasLayout, Point, Unknown, Workspace};

/// Energies of a point, in J, and the power that enters from outside, in W.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// ½ vᵀM v.
    pub kinetic: f64,
    /// Energy stored in gravity and springs.
    pub stored: f64,
    /// Power of everything else (dampers, loads, drives): d(kinetic + stored)/dt.
    pub power: f64,
}

/// Momentum and what changes it, about the origin of the world: three linear components, then three angular ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Balance {
    /// P = Σ m v and L = Σ (r × m v + I ω).
    pub momentum: [f64; 6],
    /// Ṗ and L̇, from the accelerations.
    pub rate: [f64; 6],
    /// The loads on all bodies; those between bodies cancel.
    pub load: [f64; 6],
    /// The worst imbalance of a single body: its number, the force and the moment by which rate and loads differ.
    pub worst: (usize, f64, f64),
    /// The largest single force and moment.
    pub largest: (f64, f64),
    /// Rate less loads of each body.
    pub bodies: Vec<[f64; 6]>,
}

/// A recorded quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The user's name of it, such as `crank.vx`.
    pub name: String,
    /// Its SI unit, such as `m/s`; empty for a pure number.
    pub unit: &'static str,
}

/// Names, channels and balances.
///
/// By default the unknowns themselves are recorded, power may flow, and there is no balance of momentum.
pub trait Observable: HasLayout {
    /// The user's name of the body, joint or force that owns a block of unknowns.
    fn name(&self, of: Unknown, block: usize) -> String {
        match of {
            Unknown::Q | Unknown::V => format!("coordinates {:?}", self.layout().bodies[block]),
            Unknown::Z => format!("states {:?}", self.layout().states[block]),
            Unknown::Lambda | Unknown::Mu => format!("constraint rows {:?}", self.layout().constraints[block]),
        }
    }

    /// The recorded quantities, in the order of [`observe`](Observable::observe).
    fn channels(&self) -> Vec<Channel> {
        let layout = self.layout();
        let list = |prefix: &str, n: usize| -> Vec<Channel> {
            (1..=n).map(|i| Channel { name: format!("{prefix}{i}"), unit: "" }).collect()
        };
        [("q", layout.n()), ("v", layout.n()), ("a", layout.n()), ("z", layout.nz()), ("lambda", layout.m())]
            .into_iter()
            .flat_map(|(prefix, n)| list(prefix, n))
            .collect()
    }

    /// The values of all channels at a realized point with its v̇ and λ.
    fn observe(&self, at: &Point, w: &mut Workspace, out: &mut Vec<f64>) {
        let _ = w;
        out.clear();
        [&at.q, &at.v, &at.vdot, &at.z, &at.lambda].into_iter().for_each(|x| out.extend_from_slice(x));
    }

    /// Momentum, its rate and the loads that must cause it, at a realized point with its v̇ and λ. False if the
    /// equations know nothing of forces in space.
    fn balance(&self, at: &Point, w: &mut Workspace, out: &mut Balance) -> bool {
        let _ = (at, w, out);
        false
    }

    /// Whether energy leaves or enters other than through gravity and springs.
    fn has_power(&self) -> bool {
        true
    }

    /// Whether constraints do work, so that the power depends on λ.
    fn driven(&self) -> bool {
        true
    }
}
