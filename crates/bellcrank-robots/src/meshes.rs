//! Where the meshes of a robot are, and what bodies look like.
//!
//! `package://NAME/rest` is looked for as NAME/rest in the folders given, beside the file and in the folders above it, and
//! as rest in a folder called NAME among these; `model://` likewise; other names beside the file. Nothing is read that does not
//! lie below one of these folders.

use crate::BodyVisual;
use crate::merge::Bodies;
use crate::options::RobotOptions;
use crate::robot::{Look, Pose, Robot};
use crate::write::matrix;
use bellcrank_model::build::Model;
use bellcrank_model::build::value::Value;
use bellcrank_model::file::bounded;
use bellcrank_model::mesh::{self, Mesh};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// How many folders above the file are looked into.
const ABOVE: usize = 8;

/// What the bodies look like, in their frames; what cannot be shown is told.
pub fn visuals(
    robot: &mut Robot,
    bodies: &Bodies,
    names: &[String],
    path: &Path,
    options: &RobotOptions,
) -> Vec<BodyVisual> {
    let folders = Folders::of(path, options, &robot.folders);
    let mut known: HashMap<String, Result<(PathBuf, Mesh), String>> = HashMap::new();
    let mut out = Vec::new();
    for l in 0..robot.links.len() {
        let visuals = std::mem::take(&mut robot.links[l].visuals);
        let name = robot.links[l].name.clone();
        let (body, frame) = match bodies.of[l] {
            None => ("ground", Pose::IDENTITY),
            Some(b) => {
                let body = &bodies.list[b];
                let lead = robot.links[body.lead].pose;
                (&names[b][..], Pose { p: body.inertial.centre_or(lead.p), r: lead.r })
            }
        };
        for visual in visuals {
            let pose = visual.pose.seen_from(&frame);
            let (look, mut mesh) = match visual.look.solid() {
                Some(mesh) => (visual.look, mesh),
                None => {
                    let Look::File(file, scale) = &visual.look else { continue };
                    match known.entry(file.clone()).or_insert_with(|| folders.load(file)) {
                        Ok((path, mesh)) => {
                            let mut mesh = mesh.clone();
                            mesh.stretch(*scale);
                            (Look::File(path.to_string_lossy().into_owned(), *scale), mesh)
                        }
                        Err(why) => {
                            robot.told.leave("the mesh", why, name.clone());
                            continue;
                        }
                    }
                }
            };
            mesh.carry(pose.r, pose.p);
            let appearance = visual.appearance;
            out.push(BodyVisual { body: body.to_string(), pose, look, appearance, mesh: Arc::new(mesh) });
        }
    }
    out
}

/// The folders in which meshes may lie.
struct Folders {
    beside: PathBuf,
    roots: Vec<PathBuf>,
}

impl Folders {
    fn of(path: &Path, options: &RobotOptions, own: &[PathBuf]) -> Folders {
        let beside = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let full = beside.canonicalize().unwrap_or_else(|_| beside.clone());
        let above = full.ancestors().take(ABOVE).filter(|p| p.parent().is_some()).map(Path::to_path_buf);
        let roots = options.roots.iter().cloned().chain(own.iter().cloned()).chain(above).collect();
        Folders { beside, roots }
    }

    /// A mesh by its name in the robot file.
    fn load(&self, name: &str) -> Result<(PathBuf, Mesh), String> {
        let path = self.find(name).ok_or("its file was not found; `--package-root DIR` says where packages are")?;
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        let bytes = bounded::read(&path, bounded::LARGEST).map_err(|e| format!("its file cannot be read: {e}"))?;
        let mesh = mesh::parse(&ending, &bytes).map_err(|(text, _)| format!("its file {text}"))?;
        Ok((path, mesh))
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        let packaged = ["package://", "model://"].iter().find_map(|p| name.strip_prefix(p));
        let plain = name.strip_prefix("file://").unwrap_or(name);
        let relative = |p: &Path| p.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        let found = match packaged {
            Some(rest) if relative(Path::new(rest)) => {
                let (package, inside) = rest.split_once('/').unwrap_or(("", rest));
                let named = self.roots.iter().map(|r| r.join(rest));
                let own = self.roots.iter().filter(|r| r.file_name().is_some_and(|n| n == package));
                named.chain(own.map(|r| r.join(inside))).find(|p| p.is_file())?
            }
            Some(_) => return None,
            None => {
                let beside = [&self.beside].into_iter().chain(&self.roots).map(|r| r.join(plain));
                beside.take(1 + self.roots.len()).find(|p| p.is_file())?
            }
        };
        // links and `..` may lead anywhere: only what lies below a root is read
        let full = found.canonicalize().ok()?;
        let inside = |root: &PathBuf| root.canonicalize().is_ok_and(|root| full.starts_with(root));
        self.roots.iter().any(inside).then_some(full)
    }
}

/// Adds `[visual.NAME]` for each, meshes by their names in a folder; what is to be copied there.
pub fn write(visuals: &[BodyVisual], folder: &str, model: &mut Model) -> Vec<(PathBuf, String)> {
    let mut copies: Vec<(PathBuf, String)> = Vec::new();
    let mut number: HashMap<&str, usize> = HashMap::new();
    for visual in visuals {
        let k = number.entry(visual.body.as_str()).or_insert(0);
        *k += 1;
        let name = format!("{}_{k}", visual.body);
        let list = |v: &[f64]| Value::List(v.iter().map(|x| Value::Number(*x)).collect());
        let table = |entries: Vec<(&str, Value)>| {
            Value::Table(entries.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
        };
        let round = |r: &f64, l: &f64| table(vec![("radius", Value::Number(*r)), ("length", Value::Number(*l))]);
        let (kind, shape) = match &visual.look {
            Look::Box(size) => ("box", table(vec![("size", list(&size.0))])),
            Look::Ellipsoid(radii) => ("ellipsoid", table(vec![("radii", list(&radii.0))])),
            Look::Cylinder(r, l) => ("cylinder", round(r, l)),
            Look::Capsule(r, l) => ("capsule", round(r, l)),
            Look::File(path, scale) => {
                let path = PathBuf::from(path);
                let place = match copies.iter().find(|(from, _)| *from == path) {
                    Some((_, to)) => to.clone(),
                    None => {
                        let file = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
                        let mut to = format!("{folder}/{file}");
                        let mut n = 2;
                        while copies.iter().any(|(_, other)| *other == to) {
                            to = format!("{folder}/{n}-{file}");
                            n += 1;
                        }
                        copies.push((path, to.clone()));
                        to
                    }
                };
                ("mesh", table(vec![("file", Value::Text(place)), ("scale", list(&scale.0))]))
            }
        };
        let entries = [
            ("body", Value::Text(visual.body.clone())),
            ("at", list(&visual.pose.p.0)),
            ("orientation", matrix(&visual.pose.r)),
            (kind, shape),
        ];
        let colour = visual.appearance.colour.map(|c| ("colour", Value::Text(c.to_string())));
        let opacity = visual.appearance.opacity.map(|x| ("opacity", Value::Number(x)));
        let entries = entries.into_iter().chain(colour).chain(opacity);
        model.add("visual", &name, entries.map(|(key, value)| (key.to_string(), value)));
    }
    copies
}
