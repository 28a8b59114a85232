//! Robot files for Bellcrank: URDF, MJCF and SDF become models.
//!
//! A file is read into a [`Robot`], links and joints in the world at the zero of all joint coordinates; links that fixed
//! joints hold together are merged; then the sections of a model file are written. So a robot is a model like any
//! other: [`Robots::model`] can be saved, changed and read. What a file says and the model does not is listed by name.
//!
//! ```
//! let urdf = r#"<robot name="arm"><link name="base"/>
//!   <link name="upper"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
//!     <inertia ixx="0.1" iyy="0.1" izz="0.01"/></inertial></link>
//!   <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint></robot>"#;
//! let imported = bellcrank_robots::parse("arm.urdf", urdf, &Default::default()).unwrap();
//! assert!(imported.model.to_toml().contains("[joint.shoulder]\ntype = \"revolute\"\nbetween = [\"ground\", \"upper\"]"));
//! let read = imported.read(&[]).unwrap();
//! assert_eq!(read.model.bodies.len(), 1);
//! ```
//!
//! | file | what |
//! |---|---|
//! | `xml.rs` | elements with their places, includes |
//! | `urdf.rs`, `mjcf/`, `sdf.rs` | the formats, into a `Robot` |
//! | `robot.rs` | what they have in common |
//! | `loops.rs` | joints that close loops, from a small file beside |
//! | `merge.rs` | links to bodies, and whether these are physical |
//! | `ground.rs` | contact with the ground |
//! | `settle.rs` | springs that are given by how a joint settles |
//! | `names.rs`, `write.rs` | the sections of the model |
//! | `meshes.rs` | where meshes are |

mod ground;
mod loops;
mod merge;
mod meshes;
mod mjcf;
mod names;
mod options;
mod robot;
mod sdf;
mod settle;
mod urdf;
mod write;
mod xml;

pub use options::{Base, Ground, RobotOptions};
pub use robot::{Along, FloorPlane, Inertial, Joint, JointKind, LeftOut, Link, Look, Pose, Robot, Told, Touch};

use bellcrank_model::appearance::{Appearance, add_solid};
use bellcrank_model::build::Model;
use bellcrank_model::file::{Diagnostic, Report};
use bellcrank_model::mesh::Mesh;
use bellcrank_model::read::{Read, read_text};
use std::path::{Path, PathBuf};

/// A robot as a model.
#[derive(Clone, Debug)]
pub struct Robots {
    /// The sections of the model, without what bodies look like.
    pub model: Model,
    /// What bodies look like: the body, where, and what.
    pub visuals: Vec<BodyVisual>,
    /// What was left out, and what else there is to tell.
    pub told: Told,
    /// The file it came from.
    pub path: PathBuf,
}

/// What a body looks like, in its frame.
#[derive(Clone, Debug)]
pub struct BodyVisual {
    /// The body's name.
    pub body: String,
    /// Where.
    pub pose: Pose,
    /// What; of a file its full path.
    pub look: Look,
    /// Its colour and opacity, where the file has them.
    pub appearance: Appearance,
    /// The triangles.
    pub mesh: std::sync::Arc<Mesh>,
}

/// The formats of robot files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Urdf,
    Mjcf,
    Sdf,
}

/// Whether a file is one for this crate, by its ending.
pub fn is_robot(path: &str) -> bool {
    let ending = Path::new(path).extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    matches!(ending.as_str(), "urdf" | "mjcf" | "sdf" | "xml")
}

/// Reads a robot file.
pub fn open(path: &str, options: &RobotOptions) -> Result<Robots, Report> {
    let path = Path::new(path);
    let document = xml::Document::open(path, Some(mjcf::INCLUDE))?;
    convert(path, &document, options)
}

/// Reads a robot from a text, under the name of the file it would be in.
pub fn parse(name: &str, text: &str, options: &RobotOptions) -> Result<Robots, Report> {
    let path = Path::new(name);
    let document = xml::Document::parse(path, text.to_string(), Some(mjcf::INCLUDE))?;
    convert(path, &document, options)
}

fn convert(path: &Path, document: &xml::Document, options: &RobotOptions) -> Result<Robots, Report> {
    let failed = |problems| Report::new(document.sources.clone(), problems);
    let root = document.root();
    let format = match root.name() {
        "robot" => Format::Urdf,
        "mujoco" => Format::Mjcf,
        "sdf" => Format::Sdf,
        name => {
            let help = "URDF has <robot>, MJCF <mujoco> and SDF <sdf>; run `xacro` on .xacro files first";
            let message = format!("<{name}> is no robot file");
            return Err(failed(root.error(message).help(help).into()));
        }
    };
    let mut robot = match format {
        Format::Urdf => urdf::read(root),
        Format::Mjcf => mjcf::read(root, path),
        Format::Sdf => sdf::read(root),
    }
    .map_err(failed)?;
    if robot.name.is_empty() {
        robot.name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    }
    loops::add(&mut robot, path, options)?;
    if robot.links.is_empty() {
        return Err(failed(root.error(format!("{} has no links", root.words())).into()));
    }
    let mut bodies = merge::merge(&mut robot, options).map_err(failed)?;
    if bodies.list.is_empty() && merge::hold_all(&mut robot) {
        bodies = merge::merge_held(&mut robot, options).map_err(failed)?;
    }
    if bodies.list.is_empty() {
        let help = "a file of one rigid piece runs with `--base free`";
        let message = format!("{} has nothing that moves", root.words());
        return Err(failed(root.error(message).help(help).into()));
    }
    settle::settle(&mut robot, &bodies, options);
    let mut written = write::write(&mut robot, &bodies, options);
    ground::write(&mut robot, &bodies, options, &mut written);
    let visuals =
        if options.visuals { meshes::visuals(&mut robot, &bodies, &written.names, path, options) } else { Vec::new() };
    Ok(Robots { model: written.model, visuals, told: robot.told, path: path.to_path_buf() })
}

impl Robots {
    /// The model that runs, with overrides such as `body.hand.mass=2`.
    pub fn read(&self, overrides: &[String]) -> Result<Read, Report> {
        // messages about the model show its lines, which are not those of the robot file
        let name = format!("{} (as a model file)", self.path.to_string_lossy());
        let mut read = read_text(&name, &self.model.to_toml(), overrides)?;
        for visual in &self.visuals {
            let solids = match read.model.bodies.iter_mut().find(|b| b.name == visual.body) {
                Some(body) => &mut body.solids,
                None => &mut read.model.ground,
            };
            add_solid(solids, (*visual.mesh).clone(), visual.appearance);
        }
        Ok(read)
    }

    /// The text of a model file, with what was left out in its head. Meshes are named by their places in `folder`; their
    /// files are to be copied there: the pairs (from, to).
    pub fn to_toml(&self, folder: &str) -> (String, Vec<(PathBuf, String)>) {
        let file = self.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut text = format!("# Made from {file}.\n");
        for line in self.told.lines(usize::MAX) {
            text += &format!("# {}\n", line.replace('\n', " "));
        }
        let mut model = self.model.clone();
        let copies = meshes::write(&self.visuals, folder, &mut model);
        (text + "\n" + &model.to_toml(), copies)
    }
}

/// An error of this crate that has no place.
fn plain(message: String) -> Report {
    Report::from(Diagnostic::error(message))
}
