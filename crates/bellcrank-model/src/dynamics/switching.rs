//! Events: forces with several smooth branches, and what happens when one gives way to another.

use super::{Course, Dynamics, PlacedLaw, Point, Workspace};
use crate::subject::Subject;
use bellcrank_math::Vec3;
use std::sync::Arc;

/// The mode of a force that switches: a smooth branch of its law, kept until an event.
pub type Mode = u8;

/// No mode is kept: the force goes by its present values.
pub const BY_VALUE: Mode = 0;

/// What happens at an event that changes one mode and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The place in [`Charts::modes`](super::Charts::modes).
    pub slot: usize,
    /// The mode from now on.
    pub mode: Mode,
    /// What switches.
    pub subject: Subject,
    /// What it does: `touches`, `becomes taut`.
    pub what: &'static str,
}

/// Something that may hold a motion at an instant. All of them are decided on together: velocities may jump.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The place in [`Charts::modes`](super::Charts::modes).
    pub slot: usize,
    /// Its present mode.
    pub mode: Mode,
    /// What it may do.
    pub law: HoldingLaw,
    /// The gradient of the gap and, with friction, the rates of sliding across it, each as a row on v; or the rate of
    /// friction.
    pub rows: Vec<Vec<f64>>,
}

/// The law of something that may hold a motion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HoldingLaw {
    /// A gap that cannot become negative.
    Gap {
        /// Its present size.
        gap: f64,
        /// e of Newton's law, ġ⁺ = −e ġ⁻.
        restitution: f64,
        /// The rate after an impact below which it rests.
        rest: f64,
        /// 1 where the row that holds it is the gradient of the gap, −1 where that points the other way.
        sign: f64,
        /// Coulomb's coefficient across.
        friction: f64,
        /// Whether a start beyond the touch is moved out to it.
        push_out: bool,
        /// Its modes.
        modes: GapModes,
    },
    /// Friction of a given level.
    Dry {
        /// The present rate of sliding.
        rate: f64,
        /// The level up to which it sticks.
        sticks: f64,
        /// Its modes.
        modes: DryModes,
    },
}

/// The modes of a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapModes {
    /// It is open.
    pub open: Mode,
    /// It is held closed, and slides if there is friction.
    pub closed: Mode,
    /// It is held closed and does not slide.
    pub stuck: Option<Mode>,
    /// It is closed, but others hold it so.
    pub carried: Mode,
    /// The speed of sliding that counts as none.
    pub slow: f64,
}

/// The modes of dry friction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DryModes {
    /// It slips forward.
    pub forward: Mode,
    /// It slips backward.
    pub backward: Mode,
    /// It holds.
    pub sticks: Mode,
    /// It is at rest, but others hold it so.
    pub carried: Mode,
}

/// A load along a row that follows multipliers: s(λ) of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Follower {
    /// The load of its unit, as a row on v.
    pub load: Vec<f64>,
    /// s at the point.
    pub size: f64,
    /// ∂s/∂λ, by the numbers of multipliers.
    pub slopes: Vec<(usize, f64)>,
    /// The coefficient of friction in it.
    pub coefficient: f64,
}

/// How a switch function moves: what bounds it between two looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Approach {
    /// What the function is made of.
    pub track: Track,
    /// How fast the bodies turn that carry it, in rad/s: between two looks they must not turn far.
    pub turning: f64,
}

/// A smooth motion that a switch function f measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Track {
    /// Nothing is known but the value.
    #[default]
    Unknown,
    /// f = x.
    Line {
        /// x.
        x: f64,
        /// ẋ.
        rate: f64,
    },
    /// f = |d| − r outside of a sphere, and r − |d| inside of it. d is smooth also where it passes the centre, f is not.
    Sphere {
        /// d.
        d: Vec3,
        /// ḋ.
        rate: Vec3,
        /// r.
        radius: f64,
        /// Whether the point should stay outside.
        outside: bool,
    },
}

/// Switch functions, modes and breakpoints in time. By default there are none.
pub trait Switching {
    /// The number of switch functions. All are non-negative while the modes of the point are right; one that falls
    /// through zero is an event.
    fn switches(&self) -> usize {
        0
    }

    /// The values of the switch functions at a realized point, with its λ if they are [`reactive`](Switching::reactive);
    /// infinite where the present mode does not use one.
    fn switch_values(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let _ = (at, w, out);
    }

    /// How the switch functions move, where that is known; `out` comes with nothing known.
    fn approaches(&self, at: &Point, w: &mut Workspace, out: &mut [Approach]) {
        let _ = (at, w, out);
    }

    /// Whether switch functions depend on λ.
    fn reactive(&self) -> bool {
        false
    }

    /// The modes that fit a realized point.
    fn modes(&self, at: &Point, w: &mut Workspace) -> Vec<Mode> {
        let _ = (at, w);
        Vec::new()
    }

    /// What happens when switch function `k` falls through zero at a realized point; `None` if that is up to all that
    /// [may hold](Switching::candidates) together.
    fn cross(&self, k: usize, at: &Point, w: &mut Workspace) -> Option<Crossing> {
        let _ = (k, at, w);
        None
    }

    /// The place among the modes that switch function `k` belongs to, and what switches.
    fn owner_of_switch(&self, k: usize) -> Option<(usize, Subject)> {
        let _ = k;
        None
    }

    /// Everything that may hold a motion, at a realized point.
    fn candidates(&self, at: &Point, w: &mut Workspace) -> Vec<Candidate> {
        let _ = (at, w);
        Vec::new()
    }

    /// The constraint rows that these equations hold for a place among the modes: along a gap first, then across.
    fn held_rows(&self, slot: usize) -> Vec<usize> {
        let _ = slot;
        Vec::new()
    }

    /// What has a place among the modes.
    fn subject_of_slot(&self, slot: usize) -> Subject {
        let _ = slot;
        Subject::default()
    }

    /// Loads that follow multipliers, at a realized point with its λ: those of held gaps that slide, and of joints that rub.
    fn followers(&self, at: &Point, w: &mut Workspace) -> Vec<Follower> {
        let _ = (at, w);
        Vec::new()
    }

    /// What may have loads that follow multipliers: friction of hard contacts, and of joints by their reactions.
    fn may_follow(&self) -> Option<Subject> {
        None
    }

    /// What the [followers](Switching::followers) belong to, in their order: a force, and the joint whose reaction it follows.
    fn owners_of_followers(&self) -> Vec<(Subject, Option<Subject>)> {
        Vec::new()
    }

    /// The joints whose reactions loads follow, each with the constraint block of its reaction and what follows it.
    fn followed_blocks(&self) -> Vec<(usize, Subject)> {
        Vec::new()
    }

    /// The equations in which the motions are held that these modes hold (a contact at rest, a joint that sticks);
    /// `None` if they are the present ones. Bodies, states and angles stay the same; held rows come last.
    fn holding(&self, modes: &[Mode]) -> Option<Arc<dyn Dynamics>> {
        let _ = modes;
        None
    }

    /// What an FMU is given at a realized point, whose equations are part of these.
    fn given_to_fmu(&self, fmu: usize, at: &Point, w: &mut Workspace) -> Vec<f64> {
        let _ = (fmu, at, w);
        Vec::new()
    }

    /// The functions of time in the equations: loads, drives, references of controllers. Runs land on their breakpoints.
    fn courses(&self) -> Vec<Box<dyn Course>> {
        Vec::new()
    }

    /// The functions of the state in the equations that may have narrow features: steps do not pass over these.
    fn laws(&self) -> Vec<PlacedLaw> {
        Vec::new()
    }

    /// The arguments of all of them at a realized point, one law after the other.
    fn law_arguments(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let _ = (at, w, out);
    }

    /// The user's name of something that holds a mere rate in one of its modes (a joint that sticks), and so adds a
    /// nonholonomic row.
    fn may_stick(&self) -> Option<Subject> {
        None
    }
}
