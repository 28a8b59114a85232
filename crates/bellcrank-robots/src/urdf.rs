//! URDF: links, joints, limits, friction, `mimic`, what links look like [wiki.ros.org/urdf/XML].

use crate::robot::{Along, Inertial, Joint, JointKind, Link, Look, Pose, Robot, Tie, Touch, Visual, rgba};
use crate::xml::El;
use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::appearance::Appearance;
use bellcrank_model::file::suggest::{self, quoted};
use bellcrank_model::file::{Diagnostic, Diagnostics};
use std::collections::HashMap;

/// Elements that a model has no use for; they are passed over without a word.
const SILENT: [&str; 3] = ["link", "joint", "material"];

pub fn read(root: El) -> Result<Robot, Diagnostics> {
    let mut problems = Diagnostics::new();
    let name = root.attribute("name").unwrap_or("").to_string();
    let mut robot = Robot { name, gravity: Vec3::new(0.0, 0.0, -9.81), ..Robot::default() };
    // a material that has a colour may stand at the top, or in the visual that uses it first
    let inside = root.all("link").flat_map(|l| l.all("visual").collect::<Vec<_>>()).filter_map(|v| v.child("material"));
    let materials: Materials = inside.chain(root.all("material")).filter_map(named_colour).collect();
    let mut known: HashMap<&str, (usize, El)> = HashMap::new();
    for el in root.all("link") {
        let Some(link) = problems.take(link(el, &materials)) else { continue };
        if let Some((_, first)) = known.insert(el.attribute("name").unwrap_or("").trim(), (robot.links.len(), el)) {
            let message = format!("link {} is there twice", quoted(&link.name));
            problems.push(el.error(message).also(first.span(), "the first").help("give one of them another name"));
        }
        let number = robot.links.len();
        for (k, collision) in el.all("collision").enumerate() {
            robot.touches.extend(problems.take(touch(collision, number, k, &link.name)));
        }
        robot.links.push(link);
    }
    // joints to links that are not understood are no faults of their own
    std::mem::take(&mut problems).or(())?;
    let mut names: HashMap<&str, (usize, El)> = HashMap::new();
    let mut mimics = Vec::new();
    for el in root.all("joint") {
        let Some(joint) = problems.take(joint(el, &known, &mut robot)) else { continue };
        let number = robot.joints.len();
        if let Some((_, first)) = names.insert(el.attribute("name").unwrap_or("").trim(), (number, el)) {
            let message = format!("joint {} is there twice", quoted(&joint.name));
            problems.push(el.error(message).also(first.span(), "the first").help("give one of them another name"));
        }
        mimics.extend(el.child("mimic").map(|m| (number, m)));
        robot.joints.push(joint);
    }
    std::mem::take(&mut problems).or(())?;
    place(&mut robot, &known)?;
    for (number, el) in mimics {
        if let Some(tie) = problems.take(mimic(number, el, &names, &mut robot)) {
            robot.ties.extend(tie);
        }
    }
    for el in root.children().filter(|e| !SILENT.contains(&e.name())) {
        let name = el.attribute("name").or(el.attribute("reference")).unwrap_or("").to_string();
        robot.told.leave(&format!("<{}>", el.name()), "a model has nothing like it", name);
    }
    problems.or(())?;
    Ok(robot)
}

/// The pose of `<origin>` inside an element.
fn origin(el: El) -> Result<Pose, Diagnostic> {
    let Some(o) = el.child("origin") else { return Ok(Pose::IDENTITY) };
    Ok(Pose::rpy(o.some("xyz")?.unwrap_or_default(), o.some("rpy")?.unwrap_or_default()))
}

/// The colours of `<material>` elements by their names.
type Materials<'a> = HashMap<&'a str, Appearance>;

/// The colour of a material, where it has one itself.
fn own_colour(material: El) -> Option<Appearance> {
    let numbers = material.child("color")?.numbers("rgba").ok().flatten()?;
    Some(rgba(&numbers))
}

/// A material that has a colour itself, with its name.
fn named_colour<'a>(material: El<'a>) -> Option<(&'a str, Appearance)> {
    Some((material.attribute("name")?, own_colour(material)?))
}

/// The look of a visual: of its material, or of the one in the file that has the name.
fn material(visual: El, known: &Materials) -> Appearance {
    let Some(material) = visual.child("material") else { return Appearance::default() };
    let named = || known.get(material.attribute("name")?).copied();
    own_colour(material).or_else(named).unwrap_or_default()
}

fn link(el: El, materials: &Materials) -> Result<Link, Diagnostic> {
    let name = el.own_name()?.to_string();
    let mut inertial = Inertial::NONE;
    if let Some(i) = el.child("inertial") {
        let number = |part: Option<El>, key: &str| -> Result<f64, Diagnostic> {
            part.map_or(Ok(None), |p| p.number(key)).map(|x| x.unwrap_or(0.0))
        };
        let (mass, inertia) = (i.child("mass"), i.child("inertia"));
        let m = |key: &str| number(inertia, key);
        let (xy, xz, yz) = (m("ixy")?, m("ixz")?, m("iyz")?);
        let matrix = Mat3([[m("ixx")?, xy, xz], [xy, m("iyy")?, yz], [xz, yz, m("izz")?]]);
        let own = Inertial { mass: number(mass, "value")?, centre: Vec3::ZERO, inertia: matrix };
        inertial = own.at(&origin(i)?);
    }
    let mut visuals = Vec::new();
    for v in el.all("visual") {
        if let Some(look) = look(v)? {
            visuals.push(Visual { pose: origin(v)?, look, appearance: material(v, materials), span: v.span() });
        }
    }
    Ok(Link { name, span: el.span(), pose: Pose::IDENTITY, inertial, visuals, fixed: false })
}

/// A shape that touches others, in the frame of its link.
fn touch(el: El, link: usize, k: usize, of: &str) -> Result<Touch, Diagnostic> {
    let name = match (el.attribute("name").filter(|n| !n.trim().is_empty()), k) {
        (Some(name), _) => name.to_string(),
        (None, 0) => of.to_string(),
        (None, k) => format!("{of}_{}", k + 1),
    };
    Ok(Touch { link, name, look: look(el)?, pose: origin(el)?, friction: None, bits: [u32::MAX; 2] })
}

fn look(visual: El) -> Result<Option<Look>, Diagnostic> {
    let Some(shape) = visual.child("geometry").and_then(|g| g.children().next()) else { return Ok(None) };
    let number = |key: &str| Ok::<f64, Diagnostic>(shape.number(key)?.unwrap_or(0.0));
    let all_positive = |look: Look, sizes: &[f64]| sizes.iter().all(|s| *s > 0.0).then_some(look);
    Ok(match shape.name() {
        "box" => {
            let size = shape.some("size")?.unwrap_or_default();
            all_positive(Look::Box(Vec3(size)), &size)
        }
        "sphere" => {
            let r = number("radius")?;
            all_positive(Look::Ellipsoid(Vec3::new(r, r, r)), &[r])
        }
        "cylinder" | "capsule" => {
            let (r, l) = (number("radius")?, number("length")?);
            let look = if shape.name() == "capsule" { Look::Capsule(r, l) } else { Look::Cylinder(r, l) };
            all_positive(look, &[r, l])
        }
        "mesh" => {
            let scale = match shape.numbers("scale")? {
                Some(s) if s.len() == 3 => Vec3::from_slice(&s),
                Some(s) if s.len() == 1 => Vec3::new(s[0], s[0], s[0]),
                _ => Vec3::new(1.0, 1.0, 1.0),
            };
            shape.attribute("filename").map(|f| Look::File(f.to_string(), scale))
        }
        _ => None,
    })
}

fn joint(el: El, links: &HashMap<&str, (usize, El)>, robot: &mut Robot) -> Result<Joint, Diagnostic> {
    let name = el.own_name()?.to_string();
    let end = |key: &'static str| -> Result<usize, Diagnostic> {
        let of = el.child(key).and_then(|e| e.attribute("link"));
        let Some(of) = of else {
            return Err(el.error(format!("joint {} has no <{key} link=\"…\"/>", quoted(&name))));
        };
        links.get(of.trim()).map(|(l, _)| *l).ok_or_else(|| {
            let near = suggest::nearest(of, links.keys().copied());
            let mut known: Vec<&str> = links.keys().copied().collect();
            known.sort_unstable();
            let help = near.map_or_else(
                || format!("its links are {}", suggest::list(known)),
                |n| format!("did you mean {}?", quoted(n)),
            );
            el.error(format!("the {key} {} of joint {} is no link of the file", quoted(of), quoted(&name))).help(help)
        })
    };
    let between = [Some(end("parent")?), Some(end("child")?)];
    let kind = match el.attribute("type").unwrap_or("") {
        "fixed" => JointKind::Fixed,
        "revolute" | "continuous" => JointKind::Revolute,
        "prismatic" => JointKind::Prismatic,
        "planar" => JointKind::Planar,
        "floating" => JointKind::Free,
        other => {
            let help = "types are revolute, continuous, prismatic, fixed, planar and floating";
            let message = format!("joint {} has the type {}, which URDF does not know", quoted(&name), quoted(other));
            return Err(el.error(message).help(help));
        }
    };
    let axis = match el.child("axis") {
        Some(axis) => Vec3(axis.some("xyz")?.unwrap_or([1.0, 0.0, 0.0])),
        None => Vec3::X,
    };
    let still = matches!(kind, JointKind::Fixed | JointKind::Free);
    let axis = match axis.normalized() {
        Some(unit) => unit,
        None if still => Vec3::X,
        None => {
            let message = format!("the axis of joint {} is zero", quoted(&name));
            return Err(el.error(message).help("give a direction in the frame of the joint"));
        }
    };
    let mut along = Along::default();
    if let Some(d) = el.child("dynamics") {
        (along.damping, along.friction) = (d.number("damping")?.unwrap_or(0.0), d.number("friction")?.unwrap_or(0.0));
    }
    if let Some(l) = el.child("limit").filter(|_| kind.is_single() && el.attribute("type") != Some("continuous")) {
        along.limits = Some([l.number("lower")?.unwrap_or(0.0), l.number("upper")?.unwrap_or(0.0)]);
    }
    for part in ["safety_controller", "calibration"] {
        if el.child(part).is_some() {
            robot.told.leave(&format!("the <{part}>"), "it is for the robot's own controller", name.clone());
        }
    }
    // its place in the frame of the parent link, until all links are placed
    let pose = origin(el)?;
    let axes = [pose.r * axis, Vec3::ZERO];
    let joint = Joint { name, span: el.span(), kind, between, at: pose.p, axes, pitch: 0.0, closes: false, along };
    if let Some(child) = joint.between[1] {
        robot.links[child].pose = pose;
    }
    Ok(joint)
}

/// Puts links and joints into the world, from the root outwards.
fn place(robot: &mut Robot, links: &HashMap<&str, (usize, El)>) -> Result<(), Diagnostics> {
    let n = robot.links.len();
    let el = |l: usize| links.get(robot.links[l].name.as_str()).map(|(_, el)| *el);
    let mut problems = Diagnostics::new();
    let mut carried: Vec<Option<usize>> = vec![None; n];
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (k, joint) in robot.joints.iter().enumerate() {
        let [Some(parent), Some(child)] = joint.between else { continue };
        if let Some(first) = carried[child].replace(k) {
            let name = quoted(&robot.links[child].name);
            let [one, two] = [first, k].map(|k| quoted(&robot.joints[k].name));
            let help = "a link has one parent in URDF; put the joint that closes the loop into NAME.loops.toml";
            let message = format!("link {name} is the child of two joints, {one} and {two}");
            problems.push(Diagnostic::error(message).at(joint.span).help(help));
        }
        children[parent].push(k);
    }
    problems.or(())?;
    let mut placed = vec![false; n];
    let mut stack: Vec<usize> = (0..n).filter(|l| carried[*l].is_none()).collect();
    stack.iter().for_each(|l| placed[*l] = true);
    let mut order = Vec::with_capacity(n);
    while let Some(l) = stack.pop() {
        order.push(l);
        for &k in &children[l] {
            if let Some(child) = robot.joints[k].between[1] {
                placed[child] = true;
                stack.push(child);
            }
        }
    }
    if let Some(l) = (0..n).find(|l| !placed[*l]) {
        let name = quoted(&robot.links[l].name);
        let help = "its chain of parents leads back to it: remove one of the joints, or move it to NAME.loops.toml";
        let message = format!("link {name} hangs on itself, in a circle of joints");
        let problem = el(l).map_or_else(|| Diagnostic::error(message.clone()), |el| el.error(message.clone()));
        return Err(problem.help(help).into());
    }
    for l in order {
        let pose = robot.links[l].pose;
        let link = &mut robot.links[l];
        link.inertial = link.inertial.at(&pose);
        link.visuals.iter_mut().for_each(|v| v.pose = pose.then(&v.pose));
        for &k in &children[l] {
            let joint = &mut robot.joints[k];
            joint.at = pose.p + pose.r * joint.at;
            joint.axes[0] = pose.r * joint.axes[0];
            if let Some(child) = joint.between[1] {
                robot.links[child].pose = pose.then(&robot.links[child].pose);
            }
        }
    }
    let links = &robot.links;
    robot.touches.iter_mut().for_each(|touch| touch.pose = links[touch.link].pose.then(&touch.pose));
    Ok(())
}

fn mimic(
    number: usize,
    el: El,
    names: &HashMap<&str, (usize, El)>,
    robot: &mut Robot,
) -> Result<Option<Tie>, Diagnostic> {
    let own = robot.joints[number].name.clone();
    let of = el.attribute("joint").unwrap_or("").trim();
    let (ratio, offset) = (el.number("multiplier")?.unwrap_or(1.0), el.number("offset")?.unwrap_or(0.0));
    let Some((first, _)) = names.get(of) else {
        robot.told.leave("the <mimic>", "it follows a joint that is not there", own);
        return Ok(None);
    };
    if *first == number {
        return Err(el.error(format!("joint {} follows itself", quoted(&own))));
    }
    if !robot.joints[number].kind.is_single() || !robot.joints[*first].kind.is_single() {
        robot.told.leave("the <mimic>", "it, or the joint it follows, is not one of a single coordinate", own);
        return Ok(None);
    }
    Ok(Some(Tie { name: format!("{own}_mimic"), span: el.span(), joints: [Some(*first), Some(number)], ratio, offset }))
}
