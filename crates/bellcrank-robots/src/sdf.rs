//! SDF: models, links, joints (also those that close loops), gearboxes [sdformat.org/spec].

use crate::robot::{Along, Inertial, Joint, JointKind, Link, Look, Pose, Robot, Tie, Touch, Visual, rgba};
use crate::xml::{El, numbers};
use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::appearance::Appearance;
use bellcrank_model::file::suggest::{self, quoted};
use bellcrank_model::file::{Diagnostic, Diagnostics};
use std::collections::HashMap;

/// Parts of a model that say nothing about its motion, and those that have a reader.
const SILENT: [&str; 8] =
    ["link", "joint", "pose", "static", "self_collide", "allow_auto_disable", "enable_wind", "frame"];

/// Frames by their names, links among them, in the frame of the model.
struct NamedFrames<'a> {
    links: HashMap<&'a str, usize>,
    poses: HashMap<&'a str, Pose>,
    /// Whether axes are told in the frame of the model where nothing is said.
    old: bool,
}

pub fn read(root: El) -> Result<Robot, Diagnostics> {
    let mut robot = Robot { gravity: Vec3::new(0.0, 0.0, -9.81), tells_base: true, ..Robot::default() };
    let version: f64 = root.attribute("version").and_then(|v| v.parse().ok()).unwrap_or(1.6);
    let mut models: Vec<El> = root.all("model").collect();
    for world in root.all("world") {
        if let Some(g) = world.child("gravity") {
            robot.gravity = Vec3(g.values()?);
        }
        models.extend(world.all("model"));
        for other in world.all("include") {
            robot.told.leave("<include>", "models in other files are not read", uri(other));
        }
    }
    let mut problems = Diagnostics::new();
    for el in models {
        let done = model(el, version, &mut robot);
        problems.take(done);
    }
    problems.or(())?;
    Ok(robot)
}

fn uri(el: El) -> String {
    el.child("uri").map_or("", |u| u.text()).to_string()
}

/// The text of a child.
fn said<'a>(el: El<'a>, name: &'a str) -> Option<&'a str> {
    el.child(name).map(|c| c.text())
}

/// One number in a child.
fn number(el: El, name: &str) -> Result<Option<f64>, Diagnostic> {
    el.children().find(|c| c.name() == name).map(|c| c.values::<1>().map(|[x]| x)).transpose()
}

/// `<pose>`: x y z roll pitch yaw.
fn pose_of(el: El) -> Result<Pose, Diagnostic> {
    let Some(pose) = el.child("pose").filter(|p| !p.text().is_empty()) else { return Ok(Pose::IDENTITY) };
    let [x, y, z, roll, pitch, yaw] = pose.values()?;
    let unit = if pose.attribute("degrees") == Some("true") { 1f64.to_radians() } else { 1.0 };
    Ok(Pose::rpy([x, y, z], [roll, pitch, yaw].map(|a| a * unit)))
}

/// What a pose is told in.
fn relative_to(el: El<'_>) -> Option<&str> {
    el.child("pose").and_then(|p| p.attribute("relative_to").or(p.attribute("frame"))).filter(|f| !f.is_empty())
}

fn model(el: El, version: f64, robot: &mut Robot) -> Result<(), Diagnostics> {
    let name = el.own_name()?;
    if robot.name.is_empty() {
        robot.name = name.to_string();
    }
    if let Some(inner) = el.child("model").or(el.child("include")) {
        let help = "write out the links and joints of the inner model";
        return Err(inner
            .error(format!("model {} holds another one, which is not read", quoted(name)))
            .help(help)
            .into());
    }
    let fixed = matches!(said(el, "static"), Some("true" | "1"));
    let place = pose_of(el)?;
    let mut frames = NamedFrames { links: HashMap::new(), poses: HashMap::new(), old: version < 1.5 };
    let mut problems = Diagnostics::new();
    let first = robot.links.len();
    for l in el.all("link") {
        let Some(link) = problems.take(link(l, &mut frames, robot)) else { continue };
        robot.links.push(Link { fixed, ..link });
    }
    std::mem::take(&mut problems).or(())?;
    let mut carried = vec![false; robot.links.len()];
    let mut gears = Vec::new();
    for j in el.all("joint") {
        if j.attribute("type") == Some("gearbox") {
            gears.push(j);
            continue;
        }
        let Some(mut joint) = problems.take(joint(j, &frames, robot)) else { continue };
        // a link that hangs on something already closes a loop
        if let Some(child) = joint.between[1] {
            joint.closes = std::mem::replace(&mut carried[child], true);
        }
        robot.joints.push(joint);
    }
    open_circles(robot, first);
    for j in gears {
        let tie = gearbox(j, &frames, robot);
        if let Some(tie) = problems.take(tie) {
            robot.ties.extend(tie);
        }
    }
    problems.or(())?;
    // into the world
    for l in &mut robot.links[first..] {
        l.pose = place.then(&l.pose);
        l.inertial = l.inertial.at(&place);
        l.visuals.iter_mut().for_each(|v| v.pose = place.then(&v.pose));
    }
    for j in robot.joints.iter_mut().filter(|j| j.between.iter().flatten().any(|l| *l >= first)) {
        j.at = place.p + place.r * j.at;
        j.axes = j.axes.map(|a| place.r * a);
    }
    for part in el.children().filter(|p| !SILENT.contains(&p.name())) {
        let name = part.attribute("name").or(part.attribute("filename")).unwrap_or("").to_string();
        robot.told.leave(&format!("<{}>", part.name()), "a model has nothing like it", name);
    }
    Ok(())
}

/// A circle of joints in which each link has one parent has no root: one of its joints closes it.
fn open_circles(robot: &mut Robot, first: usize) {
    let n = robot.links.len();
    let mut parent: Vec<Option<(usize, Option<usize>)>> = vec![None; n];
    for (k, j) in robot.joints.iter().enumerate().filter(|(_, j)| !j.closes) {
        if let Some(child) = j.between[1] {
            parent[child] = Some((k, j.between[0]));
        }
    }
    let mut seen = vec![0; n];
    for l in first..n {
        let mut at = l;
        while seen[at] == 0 {
            seen[at] = l + 1;
            match parent[at] {
                Some((k, Some(up))) if seen[up] == l + 1 => robot.joints[k].closes = true,
                Some((_, Some(up))) => at = up,
                _ => {}
            }
        }
    }
}

fn link<'a>(el: El<'a>, frames: &mut NamedFrames<'a>, robot: &mut Robot) -> Result<Link, Diagnostic> {
    let name = el.own_name()?;
    let mut pose = pose_of(el)?;
    if let Some(other) = relative_to(el).filter(|o| *o != "__model__") {
        let Some(base) = frames.poses.get(other) else {
            let help = "poses are read in order: put the frame it refers to before it";
            return Err(el
                .error(format!("the pose of link {} is given in {}", quoted(name), quoted(other)))
                .help(help));
        };
        pose = base.then(&pose);
    }
    let mut inertial = Inertial::NONE;
    if let Some(i) = el.child("inertial") {
        let entry = |key: &str| -> Result<f64, Diagnostic> {
            Ok(i.child("inertia").map_or(Ok(None), |m| number(m, key))?.unwrap_or(0.0))
        };
        let (xy, xz, yz) = (entry("ixy")?, entry("ixz")?, entry("iyz")?);
        let inertia = Mat3([[entry("ixx")?, xy, xz], [xy, entry("iyy")?, yz], [xz, yz, entry("izz")?]]);
        let own = Inertial { mass: number(i, "mass")?.unwrap_or(1.0), centre: Vec3::ZERO, inertia };
        inertial = own.at(&pose_of(i)?).at(&pose);
    }
    let mut visuals = Vec::new();
    for v in el.all("visual") {
        if let Some(look) = look(v)? {
            let diffuse = v.child("material").and_then(|m| m.child("diffuse"));
            let mut appearance = diffuse.and_then(|d| numbers(d.text())).map_or(Appearance::default(), |c| rgba(&c));
            if let Some(seen_through) = number(v, "transparency")?.filter(|t| *t > 0.0) {
                appearance.opacity = Some((1.0 - seen_through).max(0.0));
            }
            visuals.push(Visual { pose: pose.then(&pose_of(v)?), look, appearance, span: v.span() });
        }
    }
    for (k, c) in el.all("collision").enumerate() {
        let name = c.attribute("name").filter(|n| !n.trim().is_empty());
        let name = name.map_or_else(|| format!("{}_{}", el.attribute("name").unwrap_or(""), k + 1), str::to_string);
        let ode = c.child("surface").and_then(|s| s.child("friction")).and_then(|f| f.child("ode"));
        let friction = ode.map_or(Ok(None), |ode| number(ode, "mu"))?;
        let (link, pose) = (robot.links.len(), pose.then(&pose_of(c)?));
        robot.touches.push(Touch { link, name, look: look(c)?, pose, friction, bits: [u32::MAX; 2] });
    }
    if frames.links.insert(name, robot.links.len()).is_some() {
        return Err(el.error(format!("link {} is there twice", quoted(name))).help("give one of them another name"));
    }
    frames.poses.insert(name, pose);
    Ok(Link { name: name.to_string(), span: el.span(), pose, inertial, visuals, fixed: false })
}

fn look(visual: El) -> Result<Option<Look>, Diagnostic> {
    let Some(shape) = visual.child("geometry").and_then(|g| g.children().next()) else { return Ok(None) };
    let number = |key: &str| Ok::<f64, Diagnostic>(number(shape, key)?.unwrap_or(0.0));
    let vector = |key: &str, or: f64| {
        shape.children().find(|c| c.name() == key).map_or(Ok(Vec3::new(or, or, or)), |c| c.values().map(Vec3))
    };
    let positive = |look: Look, sizes: &[f64]| sizes.iter().all(|s| *s > 0.0).then_some(look);
    Ok(match shape.name() {
        "box" => {
            let size = vector("size", 0.0)?;
            positive(Look::Box(size), &size.0)
        }
        "sphere" => {
            let r = number("radius")?;
            positive(Look::Ellipsoid(Vec3::new(r, r, r)), &[r])
        }
        "ellipsoid" => {
            let radii = vector("radii", 0.0)?;
            positive(Look::Ellipsoid(radii), &radii.0)
        }
        "cylinder" | "capsule" => {
            let (r, l) = (number("radius")?, number("length")?);
            positive(if shape.name() == "capsule" { Look::Capsule(r, l) } else { Look::Cylinder(r, l) }, &[r, l])
        }
        "mesh" => Some(uri(shape))
            .filter(|u| !u.is_empty())
            .map(|u| vector("scale", 1.0).map(|s| Look::File(u, s)))
            .transpose()?,
        _ => None,
    })
}

fn end(el: El, key: &str, frames: &NamedFrames) -> Result<Option<usize>, Diagnostic> {
    let of = el.children().find(|c| c.name() == key).map_or("", |c| c.text());
    if of == "world" {
        return Ok(None);
    }
    frames.links.get(of).copied().map(Some).ok_or_else(|| {
        let near = suggest::nearest(of, frames.links.keys().copied());
        let help = near.map_or(String::new(), |n| format!("did you mean {}?", quoted(n)));
        el.error(format!("the {key} {} of {} is no link of the model", quoted(of), el.words())).help(help)
    })
}

/// An axis, in the frame of the model.
fn axis(el: El, key: &str, pose: &Pose, frames: &NamedFrames) -> Result<Option<Vec3>, Diagnostic> {
    let Some(axis) = el.children().find(|c| c.name() == key) else { return Ok(None) };
    let xyz = axis.child("xyz");
    let direction = xyz.map_or(Ok([0.0, 0.0, 1.0]), |x| x.values())?;
    let Some(unit) = Vec3(direction).normalized() else {
        return Err(axis.error(format!("the {key} of {} is zero", el.words())));
    };
    let in_model = said(axis, "use_parent_model_frame").map_or(frames.old, |t| t == "1" || t == "true");
    let r = match xyz.and_then(|x| x.attribute("expressed_in")).filter(|f| !f.is_empty()) {
        Some("__model__") => Mat3::IDENTITY,
        Some(other) => match frames.poses.get(other) {
            Some(pose) => pose.r,
            None => return Err(axis.error(format!("the {key} of {} is given in {}", el.words(), quoted(other)))),
        },
        None if in_model => Mat3::IDENTITY,
        None => pose.r,
    };
    Ok(Some(r * unit))
}

fn joint(el: El, frames: &NamedFrames, robot: &mut Robot) -> Result<Joint, Diagnostic> {
    let name = el.own_name()?.to_string();
    let between = [end(el, "parent", frames)?, end(el, "child", frames)?];
    if between[0] == between[1] {
        let help = "a joint is between two links, or between the world and a link";
        return Err(el.error(format!("joint {} joins a link to itself", quoted(&name))).help(help));
    }
    let kind = match el.attribute("type").unwrap_or("") {
        "fixed" => JointKind::Fixed,
        "revolute" | "continuous" => JointKind::Revolute,
        "prismatic" => JointKind::Prismatic,
        "ball" => JointKind::Ball,
        "universal" => JointKind::Universal,
        "screw" => JointKind::Screw,
        other => {
            let help = "types are revolute, continuous, prismatic, fixed, ball, universal, screw and gearbox";
            let message = format!("joint {} has the type {}, which is not read", quoted(&name), quoted(other));
            return Err(el.error(message).help(help));
        }
    };
    // its pose is told in the child, or in another frame
    let base = match relative_to(el) {
        Some("__model__") => Pose::IDENTITY,
        Some(other) => match frames.poses.get(other) {
            Some(pose) => *pose,
            None => return Err(el.error(format!("the pose of joint {} is given in {}", quoted(&name), quoted(other)))),
        },
        None => between[1].map_or(Pose::IDENTITY, |l| robot.links[l].pose),
    };
    let pose = base.then(&pose_of(el)?);
    let one = axis(el, "axis", &pose, frames)?.unwrap_or(pose.r.column(2));
    let two = axis(el, "axis2", &pose, frames)?.unwrap_or(one.any_perpendicular());
    let mut along = Along::default();
    if let Some(a) = el.child("axis") {
        if let Some(d) = a.child("dynamics") {
            let value = |key: &str| Ok::<f64, Diagnostic>(number(d, key)?.unwrap_or(0.0));
            (along.damping, along.friction) = (value("damping")?, value("friction")?);
            (along.stiffness, along.rest) = (value("spring_stiffness")?, value("spring_reference")?);
        }
        if let Some(l) = a.child("limit").filter(|_| kind.is_single() && el.attribute("type") != Some("continuous")) {
            let limit = |key: &str, or: f64| limit(l, key, or);
            let (lower, upper) = (limit("lower", f64::NEG_INFINITY)?, limit("upper", f64::INFINITY)?);
            along.limits = Some([lower, upper]).filter(|l| l.iter().all(|x| x.abs() < 1e12));
        }
    }
    let pitch = number(el, "thread_pitch")?.unwrap_or(1.0);
    if kind == JointKind::Screw {
        robot.told.note(format!("`thread_pitch` of joint `{name}` is taken as m per turn"));
    }
    Ok(Joint { name, span: el.span(), kind, between, at: pose.p, axes: [one, two], pitch, closes: false, along })
}

/// A limit, which may be infinite.
fn limit(el: El, key: &str, or: f64) -> Result<f64, Diagnostic> {
    let Some(c) = el.children().find(|c| c.name() == key) else { return Ok(or) };
    match c.text().parse::<f64>() {
        Ok(x) if !x.is_nan() => Ok(x),
        _ => Err(c.error(format!("{} is {}, not a number", c.words(), quoted(c.text())))),
    }
}

/// θ₂ = −ratio · θ₁ of the turns of parent and child against the reference body.
fn gearbox(el: El, frames: &NamedFrames, robot: &mut Robot) -> Result<Option<Tie>, Diagnostic> {
    let name = el.own_name()?.to_string();
    let (first, second) = (end(el, "parent", frames)?, end(el, "child", frames)?);
    let base = end(el, "gearbox_reference_body", frames)?;
    let ratio = number(el, "gearbox_ratio")?.unwrap_or(1.0);
    let child = second.map_or(Pose::IDENTITY, |l| robot.links[l].pose);
    let pose = child.then(&pose_of(el)?);
    let one = axis(el, "axis", &pose, frames)?;
    let two = axis(el, "axis2", &pose, frames)?.or(one);
    // the joint between the reference body and a link, and whether it turns along the axis
    let find = |link: Option<usize>, axis: Option<Vec3>| {
        let of = |j: &Joint| j.kind == JointKind::Revolute && (j.between == [base, link] || j.between == [link, base]);
        let k = robot.joints.iter().position(of)?;
        let j = &robot.joints[k];
        let along = axis.map_or(1.0, |a| if a.dot(j.axes[0]) < 0.0 { -1.0 } else { 1.0 });
        Some((k, if j.between[0] == base { along } else { -along }))
    };
    let (Some((a, sign_a)), Some((b, sign_b))) = (find(first, one), find(second, two)) else {
        robot.told.leave("the gearbox", "no revolute joint leads from its reference body to both links", name);
        return Ok(None);
    };
    let tie = Tie { name, span: el.span(), joints: [Some(a), Some(b)], ratio: -ratio * sign_a * sign_b, offset: 0.0 };
    Ok(Some(tie))
}
