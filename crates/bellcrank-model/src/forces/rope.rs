//! A rope over pulleys.

use super::closing::{CLOSED, Closing, DAMPING, OPEN, Push};
use super::{Ends, Force, Kind, Made, Placement, Seen, Switch};
use crate::channel::Quantity;
use crate::dual::{Dual, DualVec};
use crate::dynamics::{Limit, Mode};
use crate::file::{Field, FieldKind, Values};
use crate::frames::{ANG, Covector, LIN, MAX_ENDS, Stiffness};
use crate::space::Space;
use bellcrank_math::{Mat3, Vec3};

/// One elastic rope from the first point over the others to the last: T = k e (1 + α ė) with the elongation e = L − L₀.
///
/// L is the length of the straight parts and of the arcs on the pulleys. The gradient of L at a pulley is that of its straight
/// parts alone, since an arc only takes what they give. With friction the tension grows over a pulley by e^{μφ} in the
/// direction in which the rope slides [Euler 1769]; T is then the mean over the length, which stretches the rope.
struct Rope {
    points: usize,
    law: Closing,
    length: f64,
    /// Of the points between the ends: radius, and 1 where the pulley is to the left of the rope, −1 to the right.
    pulleys: Vec<(f64, f64)>,
    friction: f64,
    velocity: f64,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "rope",
    doc: "A massless elastic rope from a point of the first of `bodies` over points of the next ones to the last, two to four in \
          all: it pulls by stiffness · e · (1 + damping · de/dt) at the elongation e and never pushes. In the plane the points \
          between the ends may be the centres of pulleys (`radii`), which the rope passes on the outer side of the bend that \
          the drawing shows. With `friction` the rope slides over its pulleys with Euler's and Eytelwein's ratio of tensions. \
          Becoming slack or taut is an event.",
    fields: &[
        Field::required("stiffness", FieldKind::Positive, "N/m", "force per elongation of the whole rope"),
        DAMPING,
        Field::optional("length", FieldKind::Positive, "m", "that at the start", "unstretched length, with the arcs"),
        Field::optional(
            "radii",
            FieldKind::Numbers(1, MAX_ENDS - 2),
            "m",
            "points",
            "radii of the pulleys between the ends (plane)",
        ),
        Field::optional("friction", FieldKind::NonNegative, "", "0", "coefficient of friction on the pulleys"),
        Field::optional(
            "velocity",
            FieldKind::Positive,
            "m/s",
            "0.01",
            "speed of sliding at which the exponent of friction reaches 76 % of its level",
        ),
    ],
    ends: Ends::Several,
    channels: CHANNELS,
    make,
};

const CHANNELS: &[Quantity] = &[
    Quantity::new("length", "m", "length of the rope along its straight parts and its arcs"),
    Quantity::new("tension", "N", "tension at the first point; zero while it is slack"),
    Quantity::new("tension_end", "N", "tension at the last point, which differs by the friction on pulleys"),
    Quantity::new("elongation", "m", "its length less the unstretched one; negative while it is slack"),
];

fn make(values: &Values, place: &Placement) -> Made {
    let what = values.what();
    let points = &place.points;
    let middle = points.len() - 2;
    let radii = values.optional_numbers("radii").unwrap_or(&[]);
    if values.has("radii") && place.space == Space::Space {
        let message = format!("`radii` of {what} are for the plane");
        return Err(values.error_at("radii", message).help("in space a rope runs over points: leave them out").into());
    }
    if values.has("radii") && radii.len() != middle {
        let message = format!("`radii` of {what} has {} numbers for {middle} points between its ends", radii.len());
        return Err(values
            .error_at("radii", message)
            .help("give one for each body between the first and the last")
            .into());
    }
    if let Some(bad) = radii.iter().find(|r| **r < 0.0) {
        let message = format!("`radii` of {what} must be positive or zero, found {bad}");
        return Err(values.error_at("radii", message).into());
    }
    if values.has("velocity") && !values.has("friction") {
        let message = format!("`velocity` of {what} is for friction");
        return Err(values.error_at("velocity", message).help("add `friction = …`, or leave it out").into());
    }
    let mut pulleys = vec![(0.0, 1.0); middle];
    for (k, radius) in radii.iter().enumerate().filter(|(_, r)| **r > 0.0) {
        let (a, b) = (points[k + 1] - points[k], points[k + 2] - points[k + 1]);
        let bend = a[0] * b[1] - a[1] * b[0];
        if bend.abs() <= 1e-9 * a.norm() * b.norm() {
            let message = format!("{what} runs straight over pulley {}, which has two sides", k + 1);
            return Err(values.error_at("radii", message).help("draw the model where the rope bends over it").into());
        }
        pulleys[k] = (*radius, bend.signum());
    }
    let law = Closing::Soft { stiffness: values.number("stiffness"), exponent: 1.0, damping: values.number("damping") };
    let (friction, velocity) = (values.number("friction"), values.number("velocity"));
    let mut rope = Rope { points: points.len(), law, length: 0.0, pulleys, friction, velocity };
    for (k, pair) in points.windows(2).enumerate() {
        let radius = |point: usize| rope.pulley(point).map_or(0.0, |(r, side)| r * side);
        let offset = (radius(k + 1) - radius(k)).abs();
        let distance = (pair[1] - pair[0]).norm();
        if distance.is_nan() || distance <= offset {
            let message = format!("points {} and {} of {what} are too close for the rope between them", k + 1, k + 2);
            return Err(values.error(message).help("move them apart, or use smaller pulleys").into());
        }
    }
    let drawn = rope.course::<0>(points, &[Vec3::ZERO; MAX_ENDS]).length.x;
    rope.length = values.optional_number("length").unwrap_or(drawn);
    Ok(Box::new(rope))
}

/// The straight parts of a rope, and what it is as a whole.
struct RopePath<const N: usize> {
    /// Unit vectors along the straight parts, their lengths and the rates of these.
    parts: [RopePart<N>; PARTS],
    /// Angles of contact on the points between the ends.
    wraps: [Dual<N>; PARTS],
    length: Dual<N>,
    /// How many straight parts there are.
    count: usize,
}

#[derive(Clone, Copy)]
struct RopePart<const N: usize> {
    along: DualVec<N>,
    length: Dual<N>,
    rate: Dual<N>,
}

/// The most straight parts.
const PARTS: usize = MAX_ENDS - 1;

/// The variables: places of all points, then their velocities.
const ALL: usize = 6 * MAX_ENDS;

impl Rope {
    /// Radius and side of a point, if it is a pulley.
    fn pulley(&self, point: usize) -> Option<(f64, f64)> {
        point.checked_sub(1).and_then(|k| self.pulleys.get(k)).copied()
    }

    fn course<const N: usize>(&self, points: &[Vec3], velocities: &[Vec3]) -> RopePath<N> {
        let zero = Dual::constant(0.0);
        let p = |k: usize| DualVec::<N>::variables(points[k], 3 * k);
        let v = |k: usize| DualVec::<N>::variables(velocities[k], 3 * MAX_ENDS + 3 * k);
        let offset = |point: usize| self.pulley(point).map_or(0.0, |(r, side)| r * side);
        let none = RopePart { along: DualVec::constant(Vec3::ZERO), length: zero, rate: zero };
        let count = self.points - 1;
        let mut out = RopePath { parts: [none; PARTS], wraps: [zero; PARTS], length: zero, count };
        for (k, part) in out.parts.iter_mut().enumerate().take(count) {
            let d = p(k + 1) - p(k);
            // a tangent to both pulleys: the centres are beside it by their radii
            let beside = offset(k + 1) - offset(k);
            let square = d.dot(d);
            let length = (square - beside * beside).sqrt();
            let left = DualVec([-d.0[1], d.0[0], zero]);
            let along = (d * length - left * beside) * (Dual::constant(1.0) / square);
            *part = RopePart { along, length, rate: along.dot(v(k + 1) - v(k)) };
            out.length = out.length + length;
        }
        for (k, (radius, side)) in self.pulleys.iter().enumerate() {
            let [a, b] = [k, k + 1].map(|part| out.parts[part].along);
            out.wraps[k] = angle(a, b, if *radius > 0.0 { Some(*side) } else { None });
            out.length = out.length + out.wraps[k] * *radius;
        }
        out
    }

    fn seen<const N: usize>(&self, at: &Seen) -> RopePath<N> {
        let mut places = [[Vec3::ZERO; MAX_ENDS]; 2];
        for (k, end) in at.ends.iter().enumerate().take(self.points) {
            (places[0][k], places[1][k]) = (end.p, end.v);
        }
        self.course(&places[0], &places[1])
    }

    /// The push of a rope that is taut: its gap is what it is too short by.
    fn push<const N: usize>(&self, at: &Seen, c: &RopePath<N>) -> Option<(Push, Dual<N>)> {
        let gap = -c.length + self.length;
        if !Closing::acts(at.mode, CLOSED, gap.x) {
            return None;
        }
        let rate = -c.rate();
        let push = self.law.push(gap.x, rate.x);
        Some((push, gap.chain2(rate, push.force, [push.by_gap, push.by_rate])))
    }

    /// The tensions of the straight parts, whose mean over the length is the given one.
    fn tensions<const N: usize>(&self, c: &RopePath<N>, mean: Dual<N>) -> [Dual<N>; PARTS] {
        if self.friction == 0.0 {
            return [mean; PARTS];
        }
        let mut factors = [Dual::constant(1.0); PARTS];
        for (k, wrap) in c.wraps.iter().enumerate().take(c.count - 1) {
            // the rope moves towards the part behind the pulley that grows
            let slides = (sum(&c.parts[k + 1..], |p| p.rate) - sum(&c.parts[..=k], |p| p.rate)) * 0.5;
            let y = (slides.x / self.velocity).tanh();
            let level = slides.chain(y, (1.0 - y * y) / self.velocity);
            factors[k + 1] = factors[k] * (*wrap * level * self.friction).exp();
        }
        let parts = &c.parts[..c.count];
        let weighted = parts.iter().zip(&factors).fold(Dual::constant(0.0), |sum, (p, f)| sum + p.length * *f);
        let whole = sum(parts, |p| p.length);
        factors.map(|f| mean * f * whole / weighted)
    }

    /// The force on each point, and the torque about z on its body.
    fn loads<const N: usize>(&self, c: &RopePath<N>, tensions: &[Dual<N>]) -> [(DualVec<N>, Dual<N>); MAX_ENDS] {
        let mut out = [(DualVec::constant(Vec3::ZERO), Dual::constant(0.0)); MAX_ENDS];
        for (k, (part, tension)) in c.parts.iter().zip(tensions).enumerate().take(c.count) {
            for (point, sign) in [(k, 1.0), (k + 1, -1.0)] {
                let (radius, side) = self.pulley(point).unwrap_or((0.0, 1.0));
                let (force, torque) = out[point];
                out[point] = (force + part.along * (*tension * sign), torque + *tension * (sign * radius * side));
            }
        }
        out
    }
}

fn sum<const N: usize>(parts: &[RopePart<N>], of: impl Fn(&RopePart<N>) -> Dual<N>) -> Dual<N> {
    parts.iter().fold(Dual::constant(0.0), |sum, p| sum + of(p))
}

impl<const N: usize> RopePath<N> {
    fn rate(&self) -> Dual<N> {
        sum(&self.parts[..self.count], |p| p.rate)
    }
}

/// The angle of contact between two directions: on a pulley to one side from −90° to 270°, on a point from 0 to 180°.
fn angle<const N: usize>(a: DualVec<N>, b: DualVec<N>, side: Option<f64>) -> Dual<N> {
    let cosine = a.dot(b);
    let sine = match side {
        Some(side) => (a.0[0] * b.0[1] - a.0[1] * b.0[0]) * side,
        None => a.cross(b).norm(),
    };
    let turned = sine.x.atan2(cosine.x);
    let wrapped = if turned < -std::f64::consts::FRAC_PI_2 { turned + std::f64::consts::TAU } else { turned };
    let square = sine.x * sine.x + cosine.x * cosine.x;
    sine.chain2(cosine, wrapped, [cosine.x / square, -sine.x / square])
}

impl Force for Rope {
    fn is_limited(&self) -> bool {
        self.pulleys.iter().any(|(radius, _)| *radius > 0.0)
    }
    fn limit(&self, at: &Seen) -> Option<(Limit, f64)> {
        let c = self.seen::<0>(at);
        self.push(at, &c)?;
        let wraps = self.pulleys.iter().zip(&c.wraps).filter(|((radius, _), _)| *radius > 0.0);
        Some((Limit::Wrap, wraps.map(|(_, wrap)| -wrap.x).fold(0.0, f64::max)))
    }
    fn radii(&self) -> Vec<f64> {
        let signed = |k: usize| self.pulley(k).map_or(0.0, |(r, side)| r * side);
        if self.pulleys.iter().all(|p| p.0 == 0.0) { Vec::new() } else { (0..self.points).map(signed).collect() }
    }
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        let c = self.seen::<0>(at);
        out.copy_from_slice(&[c.length.x, 0.0, 0.0, c.length.x - self.length]);
        if let Some((_, mean)) = self.push(at, &c) {
            let tensions = self.tensions(&c, mean);
            (out[1], out[2]) = (tensions[0].x, tensions[c.count - 1].x);
        }
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        let c = self.seen::<0>(at);
        let Some((_, mean)) = self.push(at, &c) else { return };
        for (out, (force, torque)) in out.iter_mut().zip(self.loads(&c, &self.tensions(&c, mean))) {
            out.lin += force.value();
            out.ang += Vec3::Z * torque.x;
        }
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let c = self.seen::<ALL>(at);
        let Some((_, mean)) = self.push(at, &c) else { return };
        for (i, (force, torque)) in self.loads(&c, &self.tensions(&c, mean)).into_iter().enumerate().take(self.points) {
            let about = DualVec([Dual::constant(0.0), Dual::constant(0.0), torque]);
            for (load, part) in [(LIN, force), (ANG, about)] {
                for j in 0..self.points {
                    let by = |first: usize| {
                        let row = |r: usize| std::array::from_fn(|column| part.0[r].d[first + 3 * j + column]);
                        Mat3([row(0), row(1), row(2)])
                    };
                    k.add(i, load, j, LIN, by(0));
                    if self.damped() {
                        d.add(i, load, j, LIN, by(3 * MAX_ENDS));
                    }
                }
            }
        }
    }
    fn stored(&self, at: &Seen) -> f64 {
        self.push(at, &self.seen::<0>(at)).map_or(0.0, |(push, _)| push.stored)
    }
    fn power(&self, at: &Seen) -> f64 {
        if !self.damped() {
            return 0.0; // all is stored
        }
        let c = self.seen::<0>(at);
        self.push(at, &c).map_or(0.0, |(push, mean)| {
            let loads = self.loads(&c, &self.tensions(&c, mean));
            let work = |((force, torque), end): ((DualVec<0>, Dual<0>), &crate::frames::Frame)| {
                Covector::new(force.value(), Vec3::Z * torque.x).on(end)
            };
            loads.into_iter().zip(at.ends).map(work).sum::<f64>() + push.elastic * c.rate().x
        })
    }
    fn has_power(&self) -> bool {
        self.damped()
    }
    fn damped(&self) -> bool {
        self.law.damped() || self.friction != 0.0
    }
    fn rotational(&self, end: usize) -> bool {
        self.friction != 0.0 && self.pulley(end).is_some_and(|(radius, _)| radius > 0.0)
    }
    fn switches(&self) -> usize {
        1
    }
    fn jumps(&self) -> bool {
        false
    }
    fn mode(&self, at: &Seen) -> Mode {
        let c = self.seen::<0>(at);
        if self.law.starts_closed(self.length - c.length.x, -c.rate().x) { CLOSED } else { OPEN }
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        let gap = self.length - self.seen::<0>(at).length.x;
        out[0] = if at.mode == CLOSED { self.law.while_closed(gap, 0.0) } else { self.law.while_open(at.mode, gap) };
    }
    fn cross(&self, _: usize, at: &Seen) -> Option<Switch> {
        Some(match at.mode {
            OPEN => Switch { mode: CLOSED, what: "becomes taut" },
            _ => Switch { mode: OPEN, what: "becomes slack" },
        })
    }
}
