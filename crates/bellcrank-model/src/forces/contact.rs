//! Contact between a sphere and a plane, or between two spheres.

use super::closing::{CLOSED, Closing, OPEN, Push, STUCK};
use super::touching::{TOUCHING, Touching, across};
use super::{Ends, Followed, Following, Force, Kind, Made, Placement, Seen, Switch};
use crate::channel::Quantity;
use crate::dynamics::{HoldingLaw, Limit, Mode, StateLaw, Track};
use crate::file::{Diagnostics, Field, FieldKind, Values, joined};
use crate::frames::{ANG, Covector, Frame, Frames, LIN, Row, Stiffness};
use crate::joints::cam;
use crate::joints::equations::{Beside, add_bend, no_slip_on_plane};
use crate::joints::{Equation, X, Y, Z};
use crate::profile::{FIELDS, Profile};
use crate::space::Space;
use bellcrank_math::{Mat3, Vec3};
use std::sync::Arc;

/// N n − μ N u_t/√(u_t² + v₀²) on the second body at the point of contact.
///
/// n is the common normal, towards the second body, g the gap along it, u the velocity of the second body
/// against the first at the point of contact and u_t its part across n. N follows from g and ġ = n·u by a
/// [`Closing`]; at |u_t| = v₀ friction has 71 % of its level. A hard contact is held closed, and N is the multiplier of that; v₀ is
/// then next to nothing, and a sphere on a plane sticks.
struct Contact {
    shape: ContactShape,
    space: Space,
    touching: Touching,
}

/// What touches.
#[derive(Clone, Debug)]
enum ContactShape {
    /// A plane through the first point, its normal an axis of the first frame, and a sphere about the second.
    Plane { axis: usize, radius: f64 },
    /// Two spheres.
    Spheres { radii: [f64; 2] },
    /// A curve in the first frame, and a disk about the second point on one side of it.
    /// A disk beside a curve, and the circle around a closed one that has its outside free.
    Curve { beside: Beside, radius: f64, around: Option<(Vec3, f64)> },
}

impl ContactShape {
    /// The smallest radius that is one.
    fn smallest(&self) -> f64 {
        match self {
            ContactShape::Plane { radius, .. } | ContactShape::Curve { radius, .. } => *radius,
            ContactShape::Spheres { radii: [a, b] } if *a > 0.0 && *b > 0.0 => a.min(*b),
            ContactShape::Spheres { radii: [a, b] } => a.max(*b),
        }
    }
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "contact",
    doc: "Contact of a sphere about a point of the second body with a plane through a point of the first (`normal`, \
          which points at the sphere), or with a sphere about that point (`radii`); in the plane of a disk with a \
          line, a disk or a `curve`, a cam: the first point is the origin of its frame, which has the axes of the world at the \
          start (with `on` those of the first body), and the disk touches from the side that it starts on. At the depth d they push by stiffness · d^exponent · (1 + damping · dd/dt), and never \
          pull, with friction across. With `restitution` they are hard: they bounce, and rest where less than \
          `rest_speed` would be left; with `friction` the impact also has Coulomb's friction, and a resting body \
          slides, rolls or sticks. Touching, leaving, bouncing, sliding and sticking are events.",
    fields: &CONTACT_FIELDS,
    ends: Ends::Surfaces,
    channels: CHANNELS,
    make,
};

const SHAPE: [Field; 3] = [
    Field::optional("normal", FieldKind::Direction, "", "two spheres", "normal of the plane of the first body"),
    Field::optional("radius", FieldKind::NonNegative, "m", "that of the second body", "radius of the sphere"),
    Field::optional("radii", FieldKind::Numbers(2, 2), "m", "those of the bodies", "radii of two spheres"),
];

const CONTACT_FIELDS: [Field; 15] = joined(&[&SHAPE, &FIELDS, &TOUCHING]);

const CHANNELS: &[Quantity] = &[
    Quantity::new("gap", "m", "distance of the surfaces along the common normal: negative where they are pressed in"),
    Quantity::new("depth", "m", "how far they are pressed in; zero while they are apart"),
    Quantity::new("normal", "N", "force along the common normal, which pushes the bodies apart: positive"),
    Quantity::new("friction", "N", "size of the force across the normal, which acts against the sliding"),
    Quantity::new("slip", "m/s", "speed of the second surface against the first across the normal, while they touch"),
];

fn make(values: &Values, place: &Placement) -> Made {
    let what = values.what();
    let shape = if values.has("curve") || values.has("points") {
        on_curve(values, place)?
    } else if values.has("normal") {
        if values.has("radii") {
            let message = format!("{what} has a plane (`normal`) and two spheres (`radii`)");
            return Err(values.error_at("radii", message).help("with `normal` give `radius`").into());
        }
        let axis = if place.space == Space::Plane { Y } else { Z };
        let radius = values.optional_number("radius").or(place.radii[1]).unwrap_or(0.0);
        ContactShape::Plane { axis, radius }
    } else {
        if values.has("radius") {
            let message = format!("`radius` of {what} is for a sphere on a plane, and it has no `normal`");
            return Err(values.error_at("radius", message).help("add `normal = […]`, or give `radii = […, …]`").into());
        }
        let given = values.optional_numbers("radii");
        let [Some(a), Some(b)] = [0, 1].map(|k| given.map(|r| r[k]).or(place.radii[k])) else {
            let help = "add `normal = […]` for a plane on the first body, or `radii = […, …]` for two spheres";
            return Err(values.error(format!("{what} does not say what touches")).help(help).into());
        };
        if a < 0.0 || b < 0.0 || a + b <= 0.0 {
            let message = format!("`radii` of {what} must be positive");
            return Err(values.error_at("radii", message).help("one of them may be zero").into());
        }
        if (place.points[1] - place.points[0]).norm() == 0.0 {
            let message = format!("the points of {what} coincide: the contact has no direction");
            return Err(values.error(message).help("move a body, or give other points with `at` or `on`").into());
        }
        ContactShape::Spheres { radii: [a, b] }
    };
    let touching = Touching::read(values, matches!(shape, ContactShape::Plane { .. }))?;
    Ok(Box::new(Contact { shape, space: place.space, touching }))
}

/// A disk beside a curve.
fn on_curve(values: &Values, place: &Placement) -> Result<ContactShape, Diagnostics> {
    let what = values.what();
    for key in ["normal", "radii"] {
        if values.has(key) {
            let message = format!("{what} has a curve and `{key}`");
            return Err(values.error_at(key, message).help("with a curve give the `radius` of the disk").into());
        }
    }
    if place.space == Space::Space {
        let message = format!("the curve of {what} is for the plane");
        return Err(values.error(message).help("in space use the joint `cam`, or spheres and planes").into());
    }
    let curve = Arc::new(Profile::read(values)?);
    let radius = values.optional_number("radius").or(place.radii[1]).unwrap_or(0.0);
    let side = cam::roller(values, &curve, &place.frames, radius)?;
    let around = curve.circle_around().filter(|_| side == curve.outside());
    Ok(ContactShape::Curve { beside: Beside { curve, side }, radius, around })
}

/// Where two bodies touch: with d = p₂ − p₁ the gap, the normal n and the arm a from p₂ to the contact
/// (d + a from p₁), and how they change with d and with rotations θ of the first frame.
struct Touch {
    d: Vec3,
    n: Vec3,
    gap: f64,
    arm: Vec3,
    n_by: [Mat3; 2],
    arm_by: [Mat3; 2],
}

impl ContactShape {
    fn touch(&self, ends: &[Frame]) -> Touch {
        let d = ends[1].p - ends[0].p;
        match *self {
            ContactShape::Curve { ref beside, radius, .. } => {
                let (field, _) = beside.distance(ends);
                let n_by = field.slope_by(d);
                let (n, gap) = (field.slope, field.value - radius);
                Touch { d, n, gap, arm: n * -radius, n_by, arm_by: n_by.map(|m| m * -radius) }
            }
            ContactShape::Plane { axis, radius } => {
                let n = ends[0].axis(axis);
                let n_by = [Mat3::ZERO, -n.tilde()];
                Touch { d, n, gap: n.dot(d) - radius, arm: n * -radius, n_by, arm_by: n_by.map(|m| m * -radius) }
            }
            ContactShape::Spheres { radii: [a, b] } => {
                let n = d.normalized().unwrap_or(Vec3::X);
                let l = d.norm().max(f64::MIN_POSITIVE);
                // the point that divides the line as the radii do: one point for both, so that momentum is kept
                let share = -b / (a + b);
                let n_by = [(Mat3::IDENTITY - n.outer(n)) * (1.0 / l), Mat3::ZERO];
                let arm_by = [Mat3::IDENTITY * share, Mat3::ZERO];
                Touch { d, n, gap: l - a - b, arm: d * share, n_by, arm_by }
            }
        }
    }
}

/// The way of a disk about a point outside of the circle around a curve; within it, only the distance from the curve itself counts.
pub(super) fn track_beside(curve: &Frame, (centre, radius): (Vec3, f64), (p, v): (Vec3, Vec3), disk: f64) -> Track {
    let arm = curve.r * centre;
    let d = p - curve.p - arm;
    let outside = d.norm() > radius + disk;
    if !outside {
        return Track::Unknown;
    }
    Track::Sphere { d, rate: v - curve.v - curve.w.cross(arm), radius: radius + disk, outside }
}

impl Touch {
    /// u = v₂ + ω₂×a − v₁ − ω₁×(d + a).
    fn velocity(&self, ends: &[Frame]) -> Vec3 {
        ends[1].v + ends[1].w.cross(self.arm) - ends[0].v - ends[0].w.cross(self.d + self.arm)
    }

    /// The rate of the gap, n·u.
    fn rate(&self, ends: &[Frame]) -> f64 {
        self.n.dot(self.velocity(ends))
    }

    /// The gradient of the gap, n·δd + (n×d)·θ.
    fn gradient(&self) -> Row {
        let mut row = Row::default();
        row[0] = Covector::new(-self.n, self.n.cross(self.d));
        row[1] = Covector::new(self.n, Vec3::ZERO);
        row
    }

    /// Adds the loads of a force on the second body at the contact.
    fn pull(&self, f: Vec3, out: &mut [Covector]) {
        out[0].lin -= f;
        out[0].ang -= (self.d + self.arm).cross(f);
        out[1].lin += f;
        out[1].ang += self.arm.cross(f);
    }
}

impl Contact {
    /// The push at the contact, if it is closed. Of a hard contact it is the multiplier that holds it, while it slides.
    fn push(&self, at: &Seen) -> Option<(Touch, Vec3, Push)> {
        if self.touching.law.holds() && self.follows(at.mode).is_none() {
            return None;
        }
        let touch = self.shape.touch(at.ends);
        if !Closing::acts(at.mode, CLOSED, touch.gap) {
            return None;
        }
        let u = touch.velocity(at.ends);
        let push = match self.touching.law.holds() {
            true => Push { force: -at.lambda, ..Push::default() },
            false => self.touching.law.push(touch.gap, touch.n.dot(u)),
        };
        Some((touch, u, push))
    }

    /// The direction n − μ w of the force, with w = u_t/ρ, ρ = √(u_t² + v₀²); without n where an equation pushes along it.
    fn direction(&self, n: Vec3, u: Vec3) -> (Vec3, Vec3, f64) {
        let slides = u - n * n.dot(u);
        let rho = slides.dot(slides).sqrt().hypot(self.touching.velocity);
        let w = slides * (1.0 / rho);
        (n * self.touching.pushes() - w * self.touching.friction, w, rho)
    }

    /// Whether it may be held across: a hard sphere on a plane with friction.
    fn sticks(&self) -> bool {
        self.touching.law.holds() && self.touching.friction != 0.0 && matches!(self.shape, ContactShape::Plane { .. })
    }

    /// The speed of sliding.
    fn sliding(&self, at: &Seen) -> f64 {
        let touch = self.shape.touch(at.ends);
        let u = touch.velocity(at.ends);
        (u - touch.n * touch.n.dot(u)).norm()
    }
}

impl Force for Contact {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    /// The curve: what it does between two places may be passed over, sliding or flying.
    fn laws(&self) -> Vec<(Arc<dyn StateLaw>, usize)> {
        match &self.shape {
            ContactShape::Curve { beside, .. } => vec![(beside.curve.clone(), 1)],
            _ => Vec::new(),
        }
    }
    fn law_arguments(&self, at: &Seen, out: &mut [f64]) {
        if let ContactShape::Curve { beside, .. } = &self.shape {
            out.fill(beside.distance(at.ends).1);
        }
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        let gap = self.shape.touch(at.ends).gap;
        out.copy_from_slice(&[gap, (-gap).max(0.0), 0.0, 0.0, 0.0]);
        if self.touching.law.holds() && !matches!(at.mode, CLOSED | STUCK) {
            return;
        }
        if at.mode == STUCK {
            // held along the normal by −λ, and across
            (out[2], out[3]) = (-at.lambda, at.across[0].hypot(at.across[1]));
        } else if let Some((touch, u, push)) = self.push(at) {
            let across = u - touch.n * touch.n.dot(u);
            (out[2], out[4]) = (push.force, across.norm());
            out[3] = self.direction(touch.n, u).1.norm() * self.touching.friction * push.force;
        } else if self.touching.law.holds() {
            (out[2], out[4]) = (-at.lambda, self.sliding(at));
        }
    }
    fn outline(&self) -> Vec<Vec3> {
        match &self.shape {
            ContactShape::Curve { beside, .. } => beside.curve.outline().collect(),
            _ => Vec::new(),
        }
    }
    fn is_limited(&self) -> bool {
        !self.touching.law.holds() && self.shape.smallest() > 0.0
    }
    fn limit(&self, at: &Seen) -> Option<(Limit, f64)> {
        let depth = || (-self.shape.touch(at.ends).gap).max(0.0) / self.shape.smallest();
        self.is_limited().then(|| (Limit::Depth, depth()))
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        if let Some((touch, u, push)) = self.push(at) {
            touch.pull(self.direction(touch.n, u).0 * push.force, out);
        }
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let Some((touch, u, push)) = self.push(at) else { return };
        let (n, arm, arm1) = (touch.n, touch.arm.tilde(), (touch.d + touch.arm).tilde());
        let (direction, w, rho) = self.direction(n, u);
        let f = direction * push.force;
        // F = N(g, n·u) (n − μ w(n, u))
        let w_by_across = (Mat3::IDENTITY - w.outer(w)) * (self.touching.friction * push.force / rho);
        let f_by_u = direction.outer(n) * push.by_rate - w_by_across * (Mat3::IDENTITY - n.outer(n));
        let f_by_n = direction.outer(u) * push.by_rate
            + Mat3::IDENTITY * (push.force * self.touching.pushes())
            + w_by_across * (Mat3::IDENTITY * n.dot(u) + n.outer(u));
        let f_by_gap = direction * push.by_gap;
        // by d = p₂ − p₁ and by θ₁: u changes by ω₂×δa − ω₁×(δd + δa)
        let [w1, w2] = [at.ends[0].w, at.ends[1].w];
        let spin = (w2 - w1).tilde();
        let gap_by = [n, n.cross(touch.d)];
        let mut f_by =
            [0, 1].map(|i| f_by_gap.outer(gap_by[i]) + f_by_n * touch.n_by[i] + f_by_u * (spin * touch.arm_by[i]));
        f_by[0] += -(f_by_u * w1.tilde());
        let first_arm_by = [Mat3::IDENTITY + touch.arm_by[0], touch.arm_by[1]];
        for (end, load, m) in [
            (0, LIN, f_by.map(|m| -m)),
            (0, ANG, [0, 1].map(|i| f.tilde() * first_arm_by[i] - arm1 * f_by[i])),
            (1, LIN, f_by),
            (1, ANG, [0, 1].map(|i| arm * f_by[i] - f.tilde() * touch.arm_by[i])),
        ] {
            k.add(end, load, 0, LIN, -m[0]);
            k.add(end, load, 1, LIN, m[0]);
            k.add(end, load, 0, ANG, m[1]);
        }
        if !self.damped() {
            return;
        }
        let by_twist = [(0, LIN, -f_by_u), (0, ANG, f_by_u * arm1), (1, LIN, f_by_u), (1, ANG, -(f_by_u * arm))];
        for (j, motion, m) in by_twist {
            d.add(0, LIN, j, motion, -m);
            d.add(0, ANG, j, motion, -(arm1 * m));
            d.add(1, LIN, j, motion, m);
            d.add(1, ANG, j, motion, arm * m);
        }
    }
    fn stored(&self, at: &Seen) -> f64 {
        self.push(at).map_or(0.0, |(_, _, push)| push.stored)
    }
    fn power(&self, at: &Seen) -> f64 {
        self.push(at)
            .map_or(0.0, |(touch, u, push)| (self.direction(touch.n, u).0 * push.force - touch.n * push.elastic).dot(u))
    }
    fn has_power(&self) -> bool {
        self.damped()
    }
    fn damped(&self) -> bool {
        self.touching.damped()
    }
    fn rotational(&self, end: usize) -> bool {
        let arm = match self.shape {
            ContactShape::Plane { .. } if end == 0 => return true,
            ContactShape::Plane { radius, .. } => radius,
            ContactShape::Curve { .. } if end == 0 => return true,
            ContactShape::Curve { radius, .. } => radius,
            ContactShape::Spheres { radii } => radii[end],
        };
        self.touching.friction != 0.0 && arm != 0.0
    }
    fn switches(&self) -> usize {
        if self.touching.law.holds() && self.touching.friction != 0.0 { 2 } else { 1 }
    }
    fn mode(&self, at: &Seen) -> Mode {
        let touch = self.shape.touch(at.ends);
        match self.touching.law.starts_closed(touch.gap, touch.rate(at.ends)) {
            true if self.sticks() && self.sliding(at) <= self.touching.velocity => STUCK,
            true => CLOSED,
            false => OPEN,
        }
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        let gap = self.shape.touch(at.ends).gap;
        if self.touching.law.holds() && self.touching.friction != 0.0 {
            match at.mode {
                STUCK => out[1] = self.touching.friction * -at.lambda - at.across[0].hypot(at.across[1]),
                CLOSED if self.sticks() => out[1] = self.sliding(at) - self.touching.velocity,
                _ => {}
            }
        }
        out[0] = self.touching.switch_value(at, gap);
    }
    fn tracks(&self, at: &Seen, out: &mut [Track]) {
        let closed = at.mode == CLOSED;
        if at.mode != OPEN && self.touching.law.holds() {
            return;
        }
        let touch = self.shape.touch(at.ends);
        out[0] = match self.shape {
            ContactShape::Curve { radius, around: Some(around), .. } if !closed => {
                track_beside(&at.ends[0], around, (at.ends[1].p, at.ends[1].v), radius)
            }
            ContactShape::Curve { .. } => return,
            ContactShape::Plane { .. } => {
                let sign = if closed { -1.0 } else { 1.0 };
                Track::Line { x: sign * touch.gap, rate: sign * touch.rate(at.ends) }
            }
            ContactShape::Spheres { radii: [a, b] } => {
                Track::Sphere { d: touch.d, rate: at.ends[1].v - at.ends[0].v, radius: a + b, outside: !closed }
            }
        };
    }
    fn cross(&self, _: usize, at: &Seen) -> Option<Switch> {
        self.touching.law.cross(at.mode, CLOSED)
    }
    fn candidate(&self, at: &Seen) -> Option<(HoldingLaw, Vec<Row>)> {
        let touch = self.shape.touch(at.ends);
        let along = match self.shape {
            ContactShape::Plane { .. } => {
                [X, Y][..self.space.dimension() - 1].iter().map(|k| at.ends[0].axis(*k)).collect()
            }
            _ => across(touch.n, self.space),
        };
        self.touching.candidate((touch.gap, touch.gradient()), self.sticks().then_some(STUCK), &along, |e| {
            let mut row = Row::default();
            touch.pull(e, &mut row);
            row
        })
    }
    fn holds(&self, mode: Mode) -> Vec<Box<dyn Equation>> {
        let mut equations: Vec<Box<dyn Equation>> = Vec::new();
        if mode == CLOSED && self.touching.law.holds() || mode == STUCK && self.sticks() {
            equations.push(Box::new(Closed(self.shape.clone())));
        }
        if let (ContactShape::Plane { radius, .. }, STUCK, true) = (&self.shape, mode, self.sticks()) {
            equations.push(no_slip_on_plane(*radius, self.space));
        }
        equations
    }
    fn follows(&self, mode: Mode) -> Option<Followed> {
        self.touching.follows(mode)
    }
    fn following(&self, at: &Seen) -> Following {
        let mut load = Row::default();
        let touch = self.shape.touch(at.ends);
        touch.pull(-self.direction(touch.n, touch.velocity(at.ends)).0, &mut load);
        self.touching.following(at, load)
    }
}

/// The gap is zero.
struct Closed(ContactShape);

impl Equation for Closed {
    fn rows(&self) -> usize {
        1
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        g[0] = self.0.touch(at.ends).gap;
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        rows[0] = self.0.touch(at.ends).gradient();
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        let touch = self.0.touch(at.ends);
        add_bend(touch.d, touch.n, touch.n_by, lambda[0], k);
    }
}
