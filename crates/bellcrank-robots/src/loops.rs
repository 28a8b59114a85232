//! Joints that close loops, from a small file beside a robot file that can only have trees.
//!
//! ```toml
//! [loop.rod]
//! type = "spherical"            # revolute, spherical, universal, cylindrical, prismatic, planar or fixed
//! between = ["forearm", "rod"]  # two links
//! at = [0.1, 0, 0]              # in the frame of the first link
//! axis = [0, 0, 1]              # likewise
//! ```

use crate::options::RobotOptions;
use crate::plain;
use crate::robot::{Along, Joint, JointKind, Robot};
use bellcrank_math::Vec3;
use bellcrank_model::file::{
    Context, Diagnostics, Document, Field, FieldKind, FileLayout, Parameters, Report, bounded, read, suggest,
};
use std::path::Path;

const LAYOUT: FileLayout = FileLayout { settings: &[], named: &["loop"] };

const KINDS: [JointKind; 7] = [
    JointKind::Revolute,
    JointKind::Ball,
    JointKind::Universal,
    JointKind::Cylindrical,
    JointKind::Prismatic,
    JointKind::Planar,
    JointKind::Fixed,
];

const LOOP: &[Field] = &[
    Field::required(
        "type",
        FieldKind::Word(&["revolute", "spherical", "universal", "cylindrical", "prismatic", "planar", "fixed"]),
        "",
        "the kind of joint",
    ),
    Field::required("between", FieldKind::Names(2, 2), "", "two links"),
    Field::optional("at", FieldKind::Vector, "m", "the origin", "the point, in the frame of the first link"),
    Field::optional("axis", FieldKind::Direction, "", "z", "the axis, in the frame of the first link"),
    Field::optional("axis2", FieldKind::Direction, "", "x", "the second axis of a universal joint"),
];

/// Adds the loops of the file that was given, or of NAME.loops.toml.
pub fn add(robot: &mut Robot, path: &Path, options: &RobotOptions) -> Result<(), Report> {
    let beside = path.with_extension("loops.toml");
    let file = match &options.loops {
        Some(file) => file.clone(),
        None if beside.is_file() => beside,
        None => return Ok(()),
    };
    let name = file.to_string_lossy();
    let text = bounded::read_text(&file, bounded::LARGEST_ROBOT)
        .map_err(|e| plain(format!("cannot read {}: {e}", suggest::quoted(&name))))?;
    add_text(robot, &name, text)?;
    robot.told.note(format!("loops are closed as {name} says"));
    Ok(())
}

fn add_text(robot: &mut Robot, name: &str, text: String) -> Result<(), Report> {
    let document = Document::parse(name, text, &[], &LAYOUT)?;
    let parameters = Parameters::read(None, &[]).map_err(|p| document.report(p))?;
    let context = Context { parameters: &parameters, plane: false, variables: &[], folder: None, laws: None };
    let mut problems = Diagnostics::new();
    for entry in document.section("loop").map_err(|p| document.report(p.into()))? {
        let what = format!("loop {}", suggest::quoted(&entry.name));
        let Some(values) = problems.take(read(&entry.node, &what, &[LOOP], &context)) else { continue };
        let mut ends = [None; 2];
        for (end, named) in ends.iter_mut().zip(values.names("between")) {
            *end = robot.links.iter().position(|l| l.name == named.name);
            if end.is_none() {
                let names: Vec<&str> = robot.links.iter().map(|l| l.name.as_str()).collect();
                problems.push(named.unknown("link", &what, names));
            }
        }
        let [Some(first), Some(_)] = ends else { continue };
        let word = values.word("type");
        let kind = KINDS.into_iter().find(|k| k.word() == word).unwrap_or(JointKind::Ball);
        let pose = robot.links[first].pose;
        let axis = |key: &str, or: Vec3| pose.r * values.optional_vector(key).unwrap_or(or);
        robot.joints.push(Joint {
            name: entry.name.clone(),
            span: robot.links[first].span,
            kind,
            between: ends,
            at: pose.p + pose.r * values.optional_vector("at").unwrap_or_default(),
            axes: [axis("axis", Vec3::Z), axis("axis2", Vec3::X)],
            pitch: 0.0,
            closes: true,
            along: Along::default(),
        });
    }
    problems.or(()).map_err(|p| document.report(p))
}
