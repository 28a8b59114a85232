//! From links to bodies: links that fixed joints hold together become one, and each body must be physical.

use crate::options::{Base, RobotOptions};
use crate::robot::{Along, Inertial, Joint, JointKind, Link, Robot};
use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::file::suggest::quoted;
use bellcrank_model::file::{Diagnostic, Diagnostics};

/// Moments of inertia below this are none, in kg m²: a grain of sand has 1e-13.
const NEGLIGIBLE: f64 = 1e-16;

/// A body: the links that move as one.
#[derive(Clone, Debug)]
pub struct Body {
    /// The link that leads it: the body goes by its name, and has its axes.
    pub lead: usize,
    /// The links.
    pub links: Vec<usize>,
    /// Mass and inertia of all, in the world.
    pub inertial: Inertial,
}

/// The bodies of a robot, and which one each link belongs to; `None` is the ground.
pub struct Bodies {
    /// The bodies that move.
    pub list: Vec<Body>,
    /// By link.
    pub of: Vec<Option<usize>>,
    /// The joints that stay, by number.
    pub joints: Vec<usize>,
}

impl Bodies {
    /// The body at an end of a joint.
    pub fn end(&self, link: Option<usize>) -> Option<usize> {
        link.and_then(|l| self.of[l])
    }
}

/// Merges, and refuses or repairs what is not physical.
pub fn merge(robot: &mut Robot, options: &RobotOptions) -> Result<Bodies, Diagnostics> {
    hold_base(robot, options);
    let mut melted = vec![false; robot.joints.len()];
    loop {
        let bodies = unite(robot, &melted);
        let (problems, weak) = judge(robot, &bodies, options);
        if !problems.0.is_empty() {
            return Err(problems);
        }
        if weak.is_empty() {
            return Ok(bodies);
        }
        // what moves nothing that has inertia is held, and the links behind it belong to what carries them
        for k in weak {
            let name = &robot.joints[k].name;
            robot.told.note(format!("repaired: joint `{name}` moves no mass and is fixed"));
            melted[k] = true;
        }
    }
}

/// Holds the root links, or leaves them free, where the file does not tell.
fn hold_base(robot: &mut Robot, options: &RobotOptions) {
    let mut carried = vec![false; robot.links.len()];
    for joint in robot.joints.iter().filter(|j| !j.closes) {
        if let Some(child) = joint.between[1] {
            carried[child] = true;
        }
    }
    let roots: Vec<usize> = (0..robot.links.len()).filter(|l| !carried[*l]).collect();
    if !robot.tells_base && roots.len() > 1 {
        let names: Vec<String> = roots.iter().map(|l| quoted(&robot.links[*l].name)).collect();
        let names = bellcrank_model::file::suggest::list(names.iter().map(|n| n.trim_matches('`')));
        robot
            .told
            .note(format!("the file has {} links that no joint carries, and each is a base: {names}", roots.len()));
    }
    match (options.base, robot.tells_base) {
        (Some(base), _) => {
            for l in roots {
                robot.links[l].fixed = base == Base::Fixed;
            }
        }
        (None, true) => {}
        (None, false) => {
            for &l in &roots {
                robot.links[l].fixed = true;
            }
            if let Some(root) = roots.first() {
                let name = &robot.links[*root].name;
                robot.told.note(format!(
                    "the base `{name}` is fixed to the ground, for the file does not say whether it is free (`--base free`)"
                ));
            }
        }
    }
}

/// Holds what would be part of the ground by fixed joints instead, where nothing moves: so that there is something to look at.
/// Whether there is.
pub fn hold_all(robot: &mut Robot) -> bool {
    let is_there = |l: &Link| l.inertial.mass > 0.0 || !l.visuals.is_empty();
    if !robot.links.iter().any(is_there) {
        return false;
    }
    for joint in robot.joints.iter_mut().filter(|j| j.between[0].is_none() && j.kind == JointKind::Fixed) {
        joint.closes = true;
    }
    for l in 0..robot.links.len() {
        let link = &mut robot.links[l];
        if std::mem::take(&mut link.fixed) {
            let (name, span, at) = (format!("{}_fixed", link.name), link.span, link.pose.p);
            robot.joints.push(Joint {
                name,
                span,
                kind: JointKind::Fixed,
                between: [None, Some(l)],
                at,
                axes: [Vec3::Z, Vec3::X],
                pitch: 0.0,
                closes: true,
                along: Along::default(),
            });
        }
    }
    robot.told.note("nothing in the file moves: what it has is held in place by fixed joints");
    true
}

/// Merges what [`hold_all`] has held.
pub fn merge_held(robot: &mut Robot, options: &RobotOptions) -> Result<Bodies, Diagnostics> {
    let bodies = unite(robot, &vec![false; robot.joints.len()]);
    let (problems, _) = judge(robot, &bodies, options);
    problems.or(bodies)
}

fn is_rigid(joint: &Joint, melted: bool) -> bool {
    melted || joint.kind == JointKind::Fixed && !joint.closes
}

/// The bodies that remain when fixed joints are merged.
fn unite(robot: &Robot, melted: &[bool]) -> Bodies {
    let n = robot.links.len();
    // the last group is the ground
    let mut group: Vec<usize> = (0..=n).collect();
    fn find(group: &mut [usize], mut i: usize) -> usize {
        while group[i] != i {
            group[i] = group[group[i]];
            i = group[i];
        }
        i
    }
    let mut unite = |a: usize, b: usize| {
        let (a, b) = (find(&mut group, a), find(&mut group, b));
        // the ground leads, else the link that carries
        if a == n || b != n { group[b] = a } else { group[a] = b }
    };
    for (l, link) in robot.links.iter().enumerate() {
        if link.fixed {
            unite(n, l);
        }
    }
    for (k, joint) in robot.joints.iter().enumerate().filter(|(k, j)| is_rigid(j, melted[*k])) {
        debug_assert!(k < melted.len());
        let [a, b] = joint.between.map(|l| l.unwrap_or(n));
        unite(a, b);
    }
    let ground = find(&mut group, n);
    let mut list: Vec<Body> = Vec::new();
    let mut number = vec![usize::MAX; n + 1];
    let mut of = vec![None; n];
    for l in 0..n {
        let g = find(&mut group, l);
        if g == ground {
            continue;
        }
        if number[g] == usize::MAX {
            number[g] = list.len();
            list.push(Body { lead: if g < n { g } else { l }, links: Vec::new(), inertial: Inertial::NONE });
        }
        let body = &mut list[number[g]];
        body.links.push(l);
        body.inertial = body.inertial.and(robot.links[l].inertial);
        // what rounding leaves of a point mass is no inertia
        if body.inertial.inertia.0.iter().flatten().all(|x| x.abs() < NEGLIGIBLE) {
            body.inertial.inertia = Mat3::ZERO;
        }
        of[l] = Some(number[g]);
    }
    let stays = |(k, j): (usize, &Joint)| {
        let ends = j.between.map(|l| l.and_then(|l| of[l]));
        (!is_rigid(j, melted[k]) && ends[0] != ends[1]).then_some(k)
    };
    let joints = robot.joints.iter().enumerate().filter_map(stays).collect();
    Bodies { list, of, joints }
}

/// What is wrong with the bodies; and where the robot is repaired, the joints to hold.
fn judge(robot: &mut Robot, bodies: &Bodies, options: &RobotOptions) -> (Diagnostics, Vec<usize>) {
    let mut problems = Diagnostics::new();
    for b in &bodies.list {
        let link = &robot.links[b.lead];
        let name = quoted(&link.name);
        let Inertial { mass, inertia, .. } = b.inertial;
        let merged = if b.links.len() > 1 { " with what is fixed to it" } else { "" };
        let help = "correct its <inertial>, or use `--repair`, which lists what it changes";
        let scale = inertia.0.iter().flatten().fold(0.0f64, |s, x| s.max(x.abs()));
        let mut refuse = |text: String| problems.push(Diagnostic::error(text).at(link.span).help(help));
        if mass < 0.0 || mass == 0.0 && scale > 0.0 {
            if options.repair && mass == 0.0 {
                continue;
            }
            refuse(format!("link {name}{merged} has the mass {mass} kg"));
        } else if !is_definite(&inertia) && scale > 0.0 && !options.repair {
            let [a, b, c] = principal(&inertia);
            refuse(format!(
                "the inertia of link {name}{merged} is not positive definite: its principal moments are {a:.3e}, {b:.3e} and {c:.3e} kg m²"
            ));
        } else if scale > 0.0 {
            let [a, b, c] = principal(&inertia);
            if c > (a + b) * (1.0 + 1e-6) && a > 0.0 {
                let text = format!(
                    "no body has the inertia of link {name}{merged}: the largest moment {c:.3e} exceeds the sum of the others, {:.3e} kg m²",
                    a + b
                );
                robot.told.note(text);
            }
        }
    }
    let weak = weightless(robot, bodies);
    if !options.repair {
        for k in &weak {
            let j = &robot.joints[*k];
            let text = format!("joint {} moves nothing that has mass or inertia along it", quoted(&j.name));
            let help = "give the links it carries an <inertial>, or let `--repair` hold the joint";
            problems.push(Diagnostic::error(text).at(j.span).help(help));
        }
        return (problems, Vec::new());
    }
    (problems, weak)
}

/// Joints of the tree along which nothing has inertia.
fn weightless(robot: &Robot, bodies: &Bodies) -> Vec<usize> {
    let n = bodies.list.len();
    let mut parent: Vec<Option<(usize, Option<usize>)>> = vec![None; n];
    let mut looped = vec![false; n];
    for &k in &bodies.joints {
        let j = &robot.joints[k];
        let [a, b] = j.between.map(|l| bodies.end(l));
        if j.closes {
            a.into_iter().chain(b).for_each(|b| looped[b] = true);
        } else if let Some(b) = b {
            parent[b] = parent[b].or(Some((k, a)));
        }
    }
    // children after parents: by depth
    let mut depth = vec![usize::MAX; n];
    for b in 0..n {
        let mut path = vec![b];
        while let Some((_, Some(up))) = parent[path[path.len() - 1]] {
            if depth[up] != usize::MAX || path.len() > n {
                break;
            }
            path.push(up);
        }
        let last = path[path.len() - 1];
        let first = match parent[last] {
            Some((_, Some(up))) if depth[up] != usize::MAX => depth[up] + 1,
            _ => 0,
        };
        for (d, b) in (first..).zip(path.into_iter().rev()) {
            depth[b] = depth[b].min(d);
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|b| std::cmp::Reverse(depth[*b]));
    let mut carried: Vec<Inertial> = bodies.list.iter().map(|b| b.inertial).collect();
    let mut weak = Vec::new();
    for b in order {
        let Some((k, up)) = parent[b] else { continue };
        if let Some(up) = up {
            carried[up] = carried[up].and(carried[b]);
            looped[up] |= looped[b];
        }
        let j = &robot.joints[k];
        let along = match j.kind {
            JointKind::Revolute => j.axes[0].dot(carried[b].about(j.at) * j.axes[0]),
            _ => carried[b].mass,
        };
        if along <= 0.0 && j.along.armature <= 0.0 && !looped[b] {
            weak.push(k);
        }
    }
    weak
}

/// The inertia that the model gets: made definite where the robot is repaired.
pub fn inertia(robot: &mut Robot, body: &Body, options: &RobotOptions) -> Mat3 {
    let Inertial { mass, inertia, .. } = body.inertial;
    // a sum over links is symmetric up to rounding
    let mut m = inertia;
    for i in 0..3 {
        for j in 0..i {
            let mean = 0.5 * (m.0[i][j] + m.0[j][i]);
            (m.0[i][j], m.0[j][i]) = (mean, mean);
        }
    }
    let scale = m.0.iter().flatten().fold(0.0f64, |s, x| s.max(x.abs()));
    if scale == 0.0 || is_definite(&m) || !options.repair {
        return m;
    }
    let (moments, axes) = eigen(&m);
    let largest = moments.0.iter().fold(0.0f64, |s, x| s.max(*x)).max(1e-9 * mass);
    let raised = Vec3(moments.0.map(|x| x.max(1e-3 * largest)));
    let name = robot.links[body.lead].name.clone();
    let [a, b, c] = principal(&m);
    robot.told.note(format!(
        "repaired: the principal moments {a:.3e}, {b:.3e}, {c:.3e} kg m² of `{name}` are raised to at least {:.3e}",
        1e-3 * largest
    ));
    axes * Mat3::diagonal(raised) * axes.transpose()
}

/// The test of the model file.
fn is_definite(m: &Mat3) -> bool {
    let second = m.0[0][0] * m.0[1][1] - m.0[0][1] * m.0[1][0];
    m.0[0][0] > 0.0 && second > 0.0 && m.determinant() > 0.0
}

/// Principal moments, the least first.
fn principal(m: &Mat3) -> [f64; 3] {
    let mut moments = eigen(m).0.0;
    moments.sort_by(f64::total_cmp);
    moments
}

/// Eigenvalues and eigenvectors (as columns) of a symmetric matrix by Jacobi's rotations.
pub fn eigen(m: &Mat3) -> (Vec3, Mat3) {
    let (mut a, mut v) = (*m, Mat3::IDENTITY);
    for _ in 0..60 {
        let off =
            [(0, 1), (0, 2), (1, 2)].into_iter().max_by(|x, y| a.0[x.0][x.1].abs().total_cmp(&a.0[y.0][y.1].abs()));
        let Some((p, q)) = off else { break };
        if a.0[p][q].abs() < 1e-300 {
            break;
        }
        let theta = 0.5 * (a.0[q][q] - a.0[p][p]) / a.0[p][q];
        let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
        let t = if theta == 0.0 { 1.0 } else { t };
        let c = 1.0 / (t * t + 1.0).sqrt();
        let mut r = Mat3::IDENTITY;
        (r.0[p][p], r.0[q][q], r.0[p][q], r.0[q][p]) = (c, c, t * c, -t * c);
        a = r.transpose() * a * r;
        v = v * r;
    }
    (Vec3::new(a.0[0][0], a.0[1][1], a.0[2][2]), v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_are_those_of_the_matrix() {
        let m = Mat3([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 0.7]]);
        let (values, vectors) = eigen(&m);
        for i in 0..3 {
            let v = vectors.column(i);
            assert!((m * v - v * values[i]).norm() < 1e-14 && (v.norm() - 1.0).abs() < 1e-14);
        }
    }
}
