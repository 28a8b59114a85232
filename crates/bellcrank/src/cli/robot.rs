//! Robot files: how they are read, and `bellcrank convert FILE MODEL`.

use crate::cli::places::refused;
use crate::cli::{Failure, tell};
use bellcrank_model::file::{Diagnostic, Report, suggest};
use bellcrank_model::read::{Read, read_model};
use bellcrank_robots::{Base, Ground, RobotOptions, Told, is_robot};
use bellcrank_solve::choices::{in_file, understood};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// How many names of what was left out are shown.
const NAMES_SHOWN: usize = 4;

/// What root links do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Roots {
    /// They are fixed to the ground.
    Fixed,
    /// They move freely.
    Free,
}

/// How a robot file (URDF, MJCF, SDF) becomes a model.
#[derive(Args, Clone, Debug, Default)]
pub struct RobotArgs {
    /// Robot files: whether root links are fixed to the ground or move freely; URDF does not say (default: fixed).
    #[arg(long, value_enum)]
    pub base: Option<Roots>,
    /// Robot files: repairs inertias that are not physical, and lists the repairs.
    #[arg(long)]
    pub repair: bool,
    /// Robot files: adds stops at the joint limits, with this stiffness in N m/rad or N/m.
    #[arg(long, value_name = "STIFFNESS")]
    pub stops: Option<f64>,
    /// Robot files: adds contacts of spheres, capsules and boxes with the ground: `hard`, or with this stiffness in N/m.
    #[arg(long, value_name = "hard|STIFFNESS")]
    pub ground: Option<String>,
    /// Robot files: adds an input for the effort of every joint that has no actuator.
    #[arg(long)]
    pub inputs: bool,
    /// Robot files: a folder in which `package://` is searched; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub package_root: Vec<PathBuf>,
    /// Robot files: a file with joints that close loops, instead of NAME.loops.toml.
    #[arg(long, value_name = "FILE")]
    pub loops: Option<PathBuf>,
}

impl RobotArgs {
    /// The first flag that was given.
    fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.base.is_some(), "--base"),
            (self.repair, "--repair"),
            (self.stops.is_some(), "--stops"),
            (self.ground.is_some(), "--ground"),
            (self.inputs, "--inputs"),
            (!self.package_root.is_empty(), "--package-root"),
            (self.loops.is_some(), "--loops"),
        ];
        flags.into_iter().find(|(given, _)| *given).map(|(_, flag)| flag)
    }

    fn options(&self) -> Result<RobotOptions, Report> {
        if let Some(k) = self.stops.filter(|k| !k.is_finite() || *k <= 0.0) {
            let help = "a stiffness in N m/rad or N/m, such as --stops 1e4";
            return Err(Diagnostic::error(format!("--stops is {k}, and must be positive")).help(help).into());
        }
        let ground = match self.ground.as_deref().map(|word| (word, Ground::parse(word))) {
            None => None,
            Some((_, Some(ground))) => Some(ground),
            Some((word, None)) => {
                let help = "`--ground hard`, or a stiffness in N/m, such as --ground 1e5";
                let message = format!("--ground is {}, and must be `hard` or positive", suggest::quoted(word));
                return Err(Diagnostic::error(message).help(help).into());
            }
        };
        Ok(RobotOptions {
            base: self.base.map(|b| if b == Roots::Free { Base::Free } else { Base::Fixed }),
            repair: self.repair,
            stops: self.stops,
            ground,
            inputs: self.inputs,
            roots: self.package_root.clone(),
            loops: self.loops.clone(),
            ..RobotOptions::default()
        })
    }
}

/// Reads a model file, or a robot file and what there is to tell of it.
pub fn parsed(path: &str, overrides: &[String], args: &RobotArgs) -> Result<(Read, Told), Report> {
    let (read, told) = if is_robot(path) {
        let robot = bellcrank_robots::open(path, &args.options()?)?;
        (robot.read(overrides)?, robot.told)
    } else if let Some(flag) = args.given() {
        let message = format!("{flag} is for robot files, and {} is none", suggest::quoted(path));
        return Err(Diagnostic::error(message).help("robot files end in .urdf, .xml, .mjcf or .sdf").into());
    } else {
        (read_model(path, overrides)?, Told::default())
    };
    match understood(&in_file(&read.settings)) {
        Ok(_) => Ok((read, told)),
        Err(e) => Err(refused(&read, &[], e)),
    }
}

/// Tells what was left out of a robot, and what was decided.
pub fn tell_of(told: &Told) {
    told.lines(NAMES_SHOWN).iter().for_each(|line| tell(line));
}

/// What was left out, for programs.
pub fn json(told: &Told) -> serde_json::Value {
    let left: Vec<serde_json::Value> =
        told.left_out.iter().map(|l| serde_json::json!({ "what": l.what, "why": l.why, "names": l.names })).collect();
    serde_json::json!({ "left_out": left, "notes": told.notes })
}

/// RobotOptions of `convert`.
#[derive(Args)]
pub struct Convert {
    /// The robot file (URDF, MJCF or SDF), or a model file.
    file: String,
    /// The model file to write; meshes go into a folder of its name beside it.
    model: PathBuf,
    #[command(flatten)]
    robot: RobotArgs,
    /// Overwrites existing files.
    #[arg(long)]
    force: bool,
}

/// Writes a robot as a model file.
pub fn convert(args: Convert) -> Result<(), Failure> {
    let bad = |report: Report| Failure::BadInput(report.to_string());
    if args.model.extension().is_none_or(|e| !e.eq_ignore_ascii_case("toml")) {
        let name = args.model.display();
        return Err(Failure::BadInput(format!("{name} is no model file\nhelp: name it like robot.toml")));
    }
    let stem = args.model.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let (text, copies, told) = if is_robot(&args.file) {
        let robot = bellcrank_robots::open(&args.file, &args.robot.options().map_err(bad)?).map_err(bad)?;
        robot.read(&[]).map_err(bad)?;
        let (text, copies) = robot.to_toml(&format!("{stem}_meshes"));
        (text, copies, robot.told)
    } else {
        parsed(&args.file, &[], &args.robot).map_err(bad)?;
        let model = bellcrank_model::build::Model::open(&args.file, &[]).map_err(bad)?;
        (model.to_toml(), Vec::new(), Told::default())
    };
    let folder = args.model.parent().unwrap_or(Path::new(""));
    let failed = |path: &Path, e: std::io::Error| Failure::Failed(format!("cannot write {}: {e}", path.display()));
    let targets: Vec<PathBuf> = copies.iter().map(|(_, to)| folder.join(to)).collect();
    if let Some(there) = std::iter::once(&args.model).chain(&targets).find(|p| p.exists()).filter(|_| !args.force) {
        let help = "choose another name, or write over it with --force";
        return Err(Failure::BadInput(format!(
            "{} already exists and is left as it is\nhelp: {help}",
            there.display()
        )));
    }
    for ((from, _), to) in copies.iter().zip(&targets) {
        to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(|e| failed(to, e))?;
        std::fs::copy(from, to).map_err(|e| failed(to, e))?;
    }
    std::fs::write(&args.model, text).map_err(|e| failed(&args.model, e))?;
    tell_of(&told);
    tell(&format!("wrote {}; next: bellcrank run {}", args.model.display(), args.model.display()));
    Ok(())
}
