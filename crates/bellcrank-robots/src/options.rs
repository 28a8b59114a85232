//! What a user chooses about a robot file.

use std::path::PathBuf;

/// Whether root links are held by the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// They are.
    Fixed,
    /// They move freely.
    Free,
}

/// How shapes touch the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ground {
    /// Without any depth: an impact leaves no speed across, and what rests is held.
    Hard,
    /// With this stiffness, in N/m.
    Soft(f64),
}

impl Ground {
    /// `hard`, or a stiffness that is positive.
    pub fn parse(word: &str) -> Option<Ground> {
        match (word, word.parse::<f64>()) {
            ("hard", _) => Some(Ground::Hard),
            (_, Ok(k)) if k.is_finite() && k > 0.0 => Some(Ground::Soft(k)),
            _ => None,
        }
    }
}

/// How a robot file becomes a model.
#[derive(Clone, Debug)]
pub struct RobotOptions {
    /// What root links do; where it is left out, as the file says, and fixed where it does not say.
    pub base: Option<Base>,
    /// Makes unphysical inertias physical, and tells what it did.
    pub repair: bool,
    /// The stiffness of stops at joint limits, in N m/rad or N/m; limits are left out without it, for no file tells one.
    pub stops: Option<f64>,
    /// Contacts of spheres, capsules and boxes with the ground; without it nothing touches.
    pub ground: Option<Ground>,
    /// An input for the effort of every joint of one coordinate that has no actuator.
    pub inputs: bool,
    /// Damping and dry friction of joints.
    pub friction: bool,
    /// Coordinates that the file ties to others (`mimic`).
    pub ties: bool,
    /// Actuators of the file.
    pub actuators: bool,
    /// What links look like.
    pub visuals: bool,
    /// Folders of packages: `package://NAME/…` is looked for in them, in their parents' and in those of the file.
    pub roots: Vec<PathBuf>,
    /// A file with joints that close loops; otherwise NAME.loops.toml beside NAME.urdf, if it is there.
    pub loops: Option<PathBuf>,
}

impl Default for RobotOptions {
    fn default() -> RobotOptions {
        RobotOptions {
            base: None,
            repair: false,
            stops: None,
            ground: None,
            inputs: false,
            friction: true,
            ties: true,
            actuators: true,
            visuals: true,
            roots: Vec::new(),
            loops: None,
        }
    }
}
