//! Contact of shapes with the ground: what of a robot file fits the catalog's contact of a sphere with a plane.
//!
//! | shape | contacts |
//! |---|---|
//! | sphere | one |
//! | capsule | the spheres at its ends: a line that touches a plane touches with an end |
//! | box | its corners |
//!
//! A plane through p with the normal n, and a shape's points c with radius r: the gap is n · (c − p) − r.

use crate::merge::Bodies;
use crate::options::{Ground, RobotOptions};
use crate::robot::{FRICTION, FloorPlane, Look, Pose, Robot, Touch};
use crate::write::{Entries, Written, entries, text, vector};
use bellcrank_math::Vec3;
use bellcrank_model::build::value::Value;

/// What a soft contact loses: 2/3 · this · v of the speed v, in s/m.
const DAMPING: f64 = 5.0;

/// Whether two shapes touch.
fn meet(a: [u32; 2], b: [u32; 2]) -> bool {
    a[0] & b[1] != 0 || b[0] & a[1] != 0
}

/// The spheres that stand for a shape on a plane: where, and their radius. None fit others.
fn spheres(look: &Look, pose: &Pose) -> Option<Vec<(Vec3, f64)>> {
    let at = |x: f64, y: f64, z: f64| pose.p + pose.r * Vec3::new(x, y, z);
    match *look {
        Look::Ellipsoid(Vec3([a, b, c])) if a == b && b == c => Some(vec![(pose.p, a)]),
        Look::Capsule(r, l) => Some([-0.5, 0.5].map(|s| (at(0.0, 0.0, s * l), r)).to_vec()),
        Look::Box(Vec3(size)) => {
            let corner = |k: usize| {
                let side = |axis: usize| if k >> axis & 1 == 1 { 0.5 * size[axis] } else { -0.5 * size[axis] };
                (at(side(0), side(1), side(2)), 0.0)
            };
            Some((0..8).map(corner).collect())
        }
        _ => None,
    }
}

/// Adds contacts with the ground, if they are wanted, and tells what does not fit.
pub fn write(robot: &mut Robot, bodies: &Bodies, options: &RobotOptions, written: &mut Written) {
    let moving: Vec<Touch> = robot.touches.iter().filter(|t| bodies.of[t.link].is_some()).cloned().collect();
    let Some(ground) = options.ground else {
        let why = "shapes touch nothing; `--ground hard` or `--ground STIFFNESS` adds contacts with the ground";
        let mut links: Vec<usize> = moving.iter().map(|t| t.link).collect();
        links.dedup();
        links.into_iter().for_each(|l| robot.told.leave("contact", why, robot.links[l].name.clone()));
        return;
    };
    let planes = planes(robot, &moving);
    let mut any = false;
    for touch in &moving {
        let Some(spheres) = touch.look.as_ref().and_then(|look| spheres(look, &touch.pose)) else {
            let why = "the ground touches spheres, capsules and boxes alone";
            robot.told.leave("contact with the ground", why, touch.name.clone());
            continue;
        };
        let body = bodies.of[touch.link].map(|b| written.names[b].clone()).unwrap_or_default();
        for (plane, (centre, radius)) in
            planes.iter().filter(|p| meet(p.bits, touch.bits)).flat_map(|p| spheres.iter().map(move |s| (p, *s)))
        {
            let friction = [plane.friction, touch.friction].into_iter().flatten().fold(f64::NAN, f64::max);
            let friction = if friction.is_nan() { FRICTION } else { friction };
            let name = written.taken.quiet(&format!("{}_ground", touch.name), "contact");
            written.model.add("force", &name, contact(&body, plane, centre, radius, friction, ground));
            any = true;
        }
    }
    if any {
        robot.told.leave("contact between bodies", "contacts are those with the ground", robot.name.clone());
    }
}

/// The planes of the file; one under the lowest point of the robot where there is none.
fn planes(robot: &mut Robot, moving: &[Touch]) -> Vec<FloorPlane> {
    if !robot.planes.is_empty() {
        return robot.planes.clone();
    }
    let all = moving.iter().filter_map(|t| spheres(t.look.as_ref()?, &t.pose)).flatten();
    let lowest = all.map(|(centre, radius)| centre[2] - radius).fold(f64::INFINITY, f64::min);
    if !lowest.is_finite() {
        return Vec::new();
    }
    robot
        .told
        .note(format!("the file has no ground: it is at z = {lowest} m, under the lowest shape as the robot is drawn"));
    let pose = Pose { p: Vec3::new(0.0, 0.0, lowest), ..Pose::IDENTITY };
    vec![FloorPlane { pose, friction: None, bits: [1, 1].map(|_| u32::MAX) }]
}

fn contact(body: &str, plane: &FloorPlane, centre: Vec3, radius: f64, friction: f64, ground: Ground) -> Entries {
    let normal = plane.pose.r * Vec3::Z;
    // the plane's own point moves nothing: the one under the sphere keeps lengths short
    let foot = centre - normal * normal.dot(centre - plane.pose.p);
    let mut list = entries([
        ("type", text("contact")),
        ("between", Value::List(vec![text("ground"), text(body)])),
        ("at", Value::List(vec![vector(foot), vector(centre)])),
        ("normal", vector(normal)),
        ("radius", Value::Number(radius)),
    ]);
    match ground {
        Ground::Hard => list.push(("restitution".into(), Value::Number(0.0))),
        Ground::Soft(stiffness) => list.extend(entries([
            ("stiffness", Value::Number(stiffness)),
            ("exponent", Value::Number(1.0)),
            ("damping", Value::Number(DAMPING)),
        ])),
    }
    if friction > 0.0 {
        list.push(("friction".into(), Value::Number(friction)));
    }
    list
}
