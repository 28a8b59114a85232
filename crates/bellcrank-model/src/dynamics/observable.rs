//! What can be seen of a machine from outside: names, channels, energy and momentum.

use super::{HasLayout, Point, Unknown, Workspace};
pub use crate::channel::Channel;
use crate::channel::{Group, Selection};
use crate::subject::Subject;

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

/// Up to where the equations of an element are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Limit {
    /// The deflection of a body that bends, in its lengths: strains are linear.
    Deflection,
    /// The rate at which a body that bends turns, in its lowest natural frequencies: there is no geometric stiffening.
    Spin,
    /// The rotation of a bushing in space, in half turns: beyond one the rotation vector jumps.
    Turn,
    /// The depth of a soft contact, in radii of the smaller sphere: its law is one of small dents.
    Depth,
    /// The way beyond the end of an open curve, in ranges of its parameter: there it is a line.
    Range,
    /// How much two wires that touch are alike where they are nearest: what is parallel touches at no single place.
    Parallel,
    /// The angle by which a taut rope bends away from a pulley, in rad: a real one would leave the pulley.
    Wrap,
}

impl Limit {
    /// Good up to here.
    pub fn bound(self) -> f64 {
        match self {
            // bending shortens a beam by some δ²/L, 1 % of its length here
            Limit::Deflection => 0.1,
            // the stiffness is wrong by about (Ω/ω)², a tenth here
            Limit::Spin => 0.3,
            Limit::Turn => 0.9,
            // the dent of a sphere is small against its radius after Hertz
            Limit::Depth => 0.2,
            Limit::Range | Limit::Wrap => 1e-6,
            Limit::Parallel => 1.0,
        }
    }

    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Limit::Deflection => "deflection",
            Limit::Spin => "spin",
            Limit::Turn => "turn",
            Limit::Depth => "depth",
            Limit::Range => "range",
            Limit::Parallel => "parallel",
            Limit::Wrap => "wrap",
        }
    }

    /// What went too far, for people.
    pub fn words(self, ratio: f64) -> String {
        match self {
            Limit::Deflection => {
                format!("bends by {ratio:.2} of its length; its theory is linear, and good to about {}", self.bound())
            }
            Limit::Spin => format!(
                "turns at {ratio:.2} of its lowest natural frequency; its theory has no geometric stiffening, and is good to \
                 about {}",
                self.bound()
            ),
            Limit::Range => {
                format!(
                    "is beyond the end of its curve by {ratio:.3} of the range of s; there the curve is taken as straight"
                )
            }
            Limit::Parallel => {
                "has curves that become parallel where they are nearest: then they touch at no single place, and \
                                the common normal is uncertain"
                    .into()
            }
            Limit::Wrap => {
                format!(
                    "bends away from a pulley by {:.1} degrees, and is computed as if that held it",
                    ratio.to_degrees()
                )
            }
            Limit::Turn => format!("turns by {:.0} degrees; it is good to half a turn", 180.0 * ratio),
            Limit::Depth => {
                format!(
                    "is pressed in by {ratio:.2} of its radius; its law is one of small dents, good to about {}",
                    self.bound()
                )
            }
        }
    }
}

/// Something beyond the [`Limit`] of its equations.
#[derive(Clone, Debug, PartialEq)]
pub struct BeyondLimit {
    /// The user's name of it.
    pub name: String,
    /// Which limit.
    pub limit: Limit,
    /// Where it is, in the units of the limit.
    pub ratio: f64,
}

/// Something whose value can no longer be computed with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lost {
    /// What it is.
    pub subject: Subject,
    /// Its value, and for which arguments.
    pub what: String,
    /// Whether it is a number still, but a huge one.
    pub is_finite: bool,
}

/// Names, channels and balances.
///
/// By default the unknowns themselves are recorded, power may flow, and there is no balance of momentum.
pub trait Observable: HasLayout {
    /// The body, joint or force that owns a block of unknowns.
    fn subject(&self, of: Unknown, block: usize) -> Subject {
        match of {
            Unknown::Q | Unknown::V => format!("coordinates {:?}", self.layout().bodies[block]).into(),
            Unknown::Z => format!("states {:?}", self.layout().states[block]).into(),
            Unknown::Lambda | Unknown::Mu => format!("constraint rows {:?}", self.layout().constraints[block]).into(),
        }
    }

    /// The words for it alone.
    fn name(&self, of: Unknown, block: usize) -> String {
        self.subject(of, block).words
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

    /// All that can be recorded: the channels, and then those that are there for the asking.
    fn all_channels(&self) -> Vec<Channel> {
        self.channels()
    }

    /// The channels that a function wants, which is told each name and whether it is recorded by default.
    fn select(&self, wanted: &mut dyn FnMut(&str, bool) -> bool) -> Selection {
        let mut selection = Selection::default();
        for (k, channel) in self.channels().into_iter().enumerate() {
            if wanted(&channel.name, true) {
                selection.add(Group::Plain(k), 0, channel);
                selection.reactive = true;
            }
        }
        selection
    }

    /// The values of a selection, as [`observe`](Observable::observe) has them of all channels.
    fn observe_some(&self, selection: &Selection, at: &Point, w: &mut Workspace, out: &mut Vec<f64>) {
        let mut all = Vec::new();
        self.observe(at, w, &mut all);
        out.clear();
        out.extend(selection.items.iter().filter_map(|(group, _)| match group {
            Group::Plain(k) => all.get(*k).copied(),
            _ => None,
        }));
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

    /// Whether anything can leave the range in which its equations are right.
    fn limited(&self) -> bool {
        false
    }

    /// What is beyond the range in which its equations are right, at a realized point.
    fn beyond(&self, at: &Point, w: &mut Workspace) -> Vec<BeyondLimit> {
        let _ = (at, w);
        Vec::new()
    }

    /// What is no number at a realized point, and for which arguments.
    fn not_finite(&self, at: &Point, w: &mut Workspace) -> Option<Lost> {
        let _ = (at, w);
        None
    }

    /// Whether constraints do work, so that the power depends on λ.
    fn driven(&self) -> bool {
        true
    }
}
