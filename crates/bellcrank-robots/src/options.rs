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

/// How a robot file becomes a model.
#[derive(Clone, Debug)]
pub struct RobotOptions {
    /// What root links do; where it is left out, as the file says, and fixed where it does not say.
    pub base: Option<Base>,
    /// Makes unphysical inertias physical, and tells what it did.
    pub repair: bool,
    /// The stiffness of stops at joint limits, in N m/rad or N/m; limits are left out without it, for no file tells one.
    pub stops: Option<f64>,
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
