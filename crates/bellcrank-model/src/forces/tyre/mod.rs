//! A tyre on a road.

mod brush;
mod magic;
mod road;

use super::closing::{CLOSED, Closing, DAMPING, OPEN, Push};
use super::{Ends, Force, Kind, Made, Placement, Seen, StateSlopes, Switch};
use crate::channel::Quantity;
use crate::dual::{Dual, DualFrame, DualVec, OF_TWO, add_stiffness};
use crate::dynamics::{Limit, Mode, StateLaw};
use crate::file::{Diagnostics, Field, FieldKind, Values};
use crate::frames::{Covector, Row, Stiffness};
use crate::joints::{X, Y, Z};
use crate::space::Space;
use bellcrank_math::Vec3;
use brush::Brush;
use magic::Coefficients;
use road::Road;
use std::sync::Arc;

/// A disk of radius R on the second body, which presses on a road of the first and slips on it [Pacejka 2012].
///
/// With the axle a (to the left of the wheel), the road's normal n at the contact, its lean n·a = sin γ and the direction
/// e = (n − (n·a) a)/cos γ in the wheel's plane, the contact C = p − r e is the point of the road in that plane nearest to the
/// centre. The tyre is a radial spring of the deflection R − r; its force F has the part N = F/cos γ along n, so that its power
/// is exactly F ṙ. With t = a×n/cos γ forward and l = n×t to the left, u the velocity of the wheel against the road at C, V = t·v
/// that of its centre and Ω its spin, the slips are
///
/// ```text
/// κ = −(V − R_e Ω)/√(V² + V₀²)        tan α = l·u/√(V² + V₀²)
/// ```
///
/// or with relaxation lengths σ the states κ̇′ = (−(V − R_e Ω) − √(V² + V₀²) κ′)/σ_x, and α′ likewise.
struct Tyre {
    radius: f64,
    law: Closing,
    road: Road,
    grip: Grip,
    /// Whether left is right for the law of grip.
    mirrored: bool,
    /// R_e; the present distance r of the road if it is not given.
    rolling_radius: Option<f64>,
    resistance: f64,
    /// σ_x and σ_y; without states where they are zero.
    relaxation: Option<[f64; 2]>,
    /// V₀.
    velocity: f64,
    space: Space,
}

/// What makes forces of slips.
enum Grip {
    Brush(Brush),
    Magic(Box<Coefficients>),
}

/// What a law of grip depends on.
struct Slip<const N: usize> {
    /// N.
    load: Dual<N>,
    kappa: Dual<N>,
    tan_alpha: Dual<N>,
    sin_camber: Dual<N>,
    /// V/√(V² + V₀²): ±1 except at walking pace.
    forward: Dual<N>,
    /// Its square, which fades out what a tyre only does when it rolls.
    rolling: Dual<N>,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "tyre",
    doc: "A tyre on the second body that rolls and slips on a road of the first: vertical spring and damper, which never pull, \
          forces along and across from slip, slip angle and camber, with relaxation lengths. The law is a brush model \
          (`friction`, `slip_stiffness`), or the magic formula with coefficients from a `file`. The road is flat, or has the \
          height `road` over x and y of its own frame. `axis` is the axle and points to the left of the wheel, which rolls \
          towards axis × normal (in the plane along the normal turned clockwise). Touching and leaving are events.",
    fields: &[
        Field::optional("normal", FieldKind::Direction, "", "z, in the plane y", "upward normal of the road's frame"),
        Field::optional("axis", FieldKind::Directions(1, 1), "", "y", "the axle, to the left (space)"),
        Field::optional(
            "road",
            FieldKind::FunctionOf(&["x", "y"]),
            "m",
            "0",
            "height of the road above its frame, an expression of `x`, `y`, parameters and tables",
        ),
        Field::optional("radius", FieldKind::Positive, "m", "that of the wheel", "unloaded radius"),
        Field::optional("stiffness", FieldKind::Positive, "N/m", "from the `file`", "vertical stiffness"),
        DAMPING,
        Field::optional("friction", FieldKind::Positive, "", "from the `file`", "brush model: coefficient of friction"),
        Field::optional(
            "slip_stiffness",
            FieldKind::Numbers(1, 2),
            "N",
            "from the `file`",
            "brush model: force per slip and per tangent of the slip angle at small slip; one number for both",
        ),
        Field::optional(
            "camber_stiffness",
            FieldKind::NonNegative,
            "N",
            "0",
            "brush model: force per sine of the camber",
        ),
        Field::optional("trail", FieldKind::NonNegative, "m", "0", "brush model: pneumatic trail at small slip"),
        Field::optional(
            "file",
            FieldKind::File("tir"),
            "",
            "the brush model",
            "coefficients of the magic formula: a .tir file in the model's folder",
        ),
        Field::optional(
            "mirrored",
            FieldKind::Flag,
            "",
            "false",
            "the tyre and its `road` in a mirror, left for right: files are of tyres on one side, and `road` gets −y for y",
        ),
        Field::optional(
            "relaxation",
            FieldKind::Numbers(1, 2),
            "m",
            "none, or from the `file`",
            "relaxation lengths along and across; one number for both",
        ),
        Field::optional(
            "rolling_radius",
            FieldKind::Positive,
            "m",
            "the loaded radius",
            "effective rolling radius: speed over spin when rolling freely",
        ),
        Field::optional(
            "rolling_resistance",
            FieldKind::NonNegative,
            "",
            "0",
            "coefficient of rolling resistance: moment over load and radius",
        ),
        Field::optional(
            "velocity",
            FieldKind::Positive,
            "m/s",
            "0.1",
            "below about this speed slip is measured against it: a standing tyre creeps",
        ),
    ],
    ends: Ends::Wheel,
    channels: CHANNELS,
    make,
};

const CHANNELS: &[Quantity] = &[
    Quantity::new("load", "N", "force along the road's normal: positive, zero off the road"),
    Quantity::new("deflection", "m", "how far the tyre is pressed in; zero off the road"),
    Quantity::new("slip", "", "longitudinal slip, as the forces see it: positive when driving, −1 when locked"),
    Quantity::new("slip_angle", "rad", "slip angle, as the forces see it: positive when the wheel moves to its left")
        .in_space(),
    Quantity::new("camber", "rad", "angle of the axle over the road: positive when the top leans to the right")
        .in_space(),
    Quantity::new("longitudinal", "N", "force on the wheel along the road, forward"),
    Quantity::new("lateral", "N", "force on the wheel along the road, to the left").in_space(),
    Quantity::new("aligning", "N m", "aligning moment on the wheel about the road's normal").in_space(),
    Quantity::new("resistance", "N m", "moment of rolling resistance on the wheel about the axle"),
];

fn make(values: &Values, place: &Placement) -> Made {
    let what = values.what();
    let file = match values.optional_file("file") {
        Some((named, text)) => Some(Coefficients::parse(named.name, text).map_err(|(message, help)| {
            Diagnostics::from(values.error_at("file", format!("{what}: {message}")).help(help))
        })?),
        None => None,
    };
    let brush_keys = ["friction", "slip_stiffness", "camber_stiffness", "trail"];
    if let Some(key) = brush_keys.into_iter().find(|key| file.is_some() && values.has(key)) {
        let message = format!("{what} has both a `file` and `{key}`");
        let help = "the magic formula has its own coefficients: leave out one of the two";
        return Err(values.error_at(key, message).help(help).into());
    }
    let Some(radius) = values.optional_number("radius").or(file.map(|f| f.radius)).or(place.radii[1]) else {
        let message = format!("{what} has no radius");
        return Err(values.error(message).help("add `radius = …`, or give the wheel the shape of a cylinder").into());
    };
    let Some(stiffness) = values.optional_number("stiffness").or(file.map(|f| f.stiffness)) else {
        return Err(values.error(format!("{what} needs `stiffness`")).help("add the vertical stiffness [N/m]").into());
    };
    // a damper in N s/m has its value at the nominal load
    let damping = match file {
        Some(f) if !values.has("damping") => f.damping / f.nominal,
        _ => values.number("damping"),
    };
    let relaxation = match (positive(values, "relaxation")?, &file) {
        (None, Some(f)) if f.ptx1 > 0.0 && f.pty1 > 0.0 && f.pty2 > 0.0 => {
            Some([f.ptx1 * radius, f.pty1 * (2.0 * (1.0 / f.pty2).atan()).sin() * radius])
        }
        (given, _) => given,
    };
    let grip = match file {
        Some(coefficients) => Grip::Magic(Box::new(coefficients)),
        None => {
            let given = positive(values, "slip_stiffness")?.zip(values.optional_number("friction"));
            let Some((stiffness, friction)) = given else {
                let message = format!("{what} needs `friction` and `slip_stiffness`, or a `file`");
                let help = "a car tyre has a friction of about 1, and a slip stiffness of about 15 times its load";
                return Err(values.error(message).help(help).into());
            };
            let (camber, trail) = (values.number("camber_stiffness"), values.number("trail"));
            Grip::Brush(Brush { stiffness, camber, friction, trail })
        }
    };
    Ok(Box::new(Tyre {
        radius,
        law: Closing::Soft { stiffness, exponent: 1.0, damping },
        road: Road {
            height: values.optional_function("road").filter(|f| f.as_constant() != Some(0.0)).cloned(),
            mirrored: values.flag("mirrored"),
        },
        grip,
        mirrored: values.flag("mirrored"),
        rolling_radius: values.optional_number("rolling_radius"),
        resistance: values.number("rolling_resistance"),
        relaxation,
        velocity: values.number("velocity"),
        space: place.space,
    }))
}

/// One or two positive numbers; one stands for both.
fn positive(values: &Values, key: &str) -> Result<Option<[f64; 2]>, Diagnostics> {
    let Some(given) = values.optional_numbers(key) else { return Ok(None) };
    if let Some(bad) = given.iter().find(|x| **x <= 0.0) {
        let message = format!("`{key}` of {} must be positive, found {bad}", values.what());
        return Err(values.error_at(key, message).into());
    }
    Ok(Some([given[0], given[given.len() - 1]]))
}

/// Where the wheel stands over the road, and how it moves there.
struct Patch<const N: usize> {
    /// To the contact from the origin of the first frame, and from the wheel's centre.
    arms: [DualVec<N>; 2],
    normal: DualVec<N>,
    forward: DualVec<N>,
    left: DualVec<N>,
    axle: DualVec<N>,
    /// r, and r − R, which is negative in contact, with its rate.
    distance: Dual<N>,
    gap: Dual<N>,
    gap_rate: Dual<N>,
    /// Sine and cosine of γ.
    camber: [Dual<N>; 2],
    motion: WheelMotion<N>,
    rolling_radius: Dual<N>,
}

/// How the wheel moves over the road.
struct WheelMotion<const N: usize> {
    /// V.
    speed: Dual<N>,
    /// R_e Ω.
    rolls: Dual<N>,
    /// l·u.
    across: Dual<N>,
    /// √(V² + V₀²).
    transport: Dual<N>,
}

/// All forces of a tyre.
struct Forces<const N: usize> {
    push: Push,
    slip: Slip<N>,
    /// F_x, F_y and M_z.
    grip: [Dual<N>; 3],
    resistance: Dual<N>,
}

impl Tyre {
    fn contact<const N: usize>(&self, at: &Seen) -> Patch<N> {
        let [road, wheel] = [0, 1].map(|k| DualFrame::<N>::of(&at.ends[k], k));
        // along, to the left and up; the axle of the plane points away from the reader
        let (axes, axle) = match self.space {
            Space::Space => (road.axes, wheel.axes[Z]),
            Space::Plane => ([road.axes[X], -road.axes[Z], road.axes[Y]], -wheel.axes[Z]),
        };
        let d = wheel.p - road.p;
        let seen = |v: DualVec<N>| DualVec(axes.map(|axis| axis.dot(v)));
        let foot = self.road.foot(seen(d), seen(axle));
        let (arm, normal) = (foot.arm.along(axes), foot.normal.along(axes));
        let sin_camber = normal.dot(axle);
        let across_axle = normal - axle * sin_camber;
        let cos_camber = across_axle.norm();
        let one = Dual::constant(1.0);
        let up = across_axle * (one / cos_camber);
        let forward = axle.cross(normal) * (one / cos_camber);
        let left = normal.cross(forward);
        let arm1 = d + arm;
        let carried = wheel.v - road.v - road.w.cross(arm1);
        let u = carried + wheel.w.cross(arm);
        let distance = -up.dot(arm);
        let spin = (wheel.w - road.w).dot(axle);
        // the road's own turning counts in the velocity of the centre, not in the spin
        let speed = forward.dot(wheel.v - road.v - road.w.cross(d));
        let rolling_radius = self.rolling_radius.map_or(distance, Dual::constant);
        let transport = (speed * speed + self.velocity * self.velocity).sqrt();
        Patch {
            arms: [arm1, arm],
            normal,
            forward,
            left,
            axle,
            distance,
            gap: distance - self.radius,
            gap_rate: normal.dot(u) / cos_camber,
            camber: [sin_camber, cos_camber],
            motion: WheelMotion { speed, rolls: spin * rolling_radius, across: left.dot(u), transport },
            rolling_radius,
        }
    }

    /// The slips κ and tan α: states, or what the motion says.
    fn slips<const N: usize>(&self, at: &Seen, c: &Patch<N>) -> [Dual<N>; 2] {
        let c = &c.motion;
        match (self.relaxation, at.z) {
            (Some(_), [kappa, tan_alpha, ..]) => {
                [Dual::variable(*kappa, OF_TWO), Dual::variable(*tan_alpha, OF_TWO + 1)]
            }
            (Some(_), [kappa]) => [Dual::variable(*kappa, OF_TWO), c.across / c.transport],
            _ => [(c.rolls - c.speed) / c.transport, c.across / c.transport],
        }
    }

    /// The rates of the slips that are states.
    fn slip_rates<const N: usize>(&self, at: &Seen, c: &Patch<N>) -> [Dual<N>; 2] {
        let Some([along, across]) = self.relaxation else { return [Dual::constant(0.0); 2] };
        let ([kappa, tan_alpha], c) = (self.slips(at, c), &c.motion);
        [
            (c.rolls - c.speed - c.transport * kappa) * (1.0 / along),
            (c.across - c.transport * tan_alpha) * (1.0 / across),
        ]
    }

    /// The forces, where the wheel is on the road.
    fn forces<const N: usize>(&self, at: &Seen, c: &Patch<N>) -> Option<Forces<N>> {
        if !Closing::acts(at.mode, CLOSED, c.gap.x) {
            return None;
        }
        let push = self.law.push(c.gap.x, c.gap_rate.x);
        let load = c.gap.chain2(c.gap_rate, push.force, [push.by_gap, push.by_rate]) / c.camber[1];
        let [kappa, tan_alpha] = self.slips(at, c);
        let WheelMotion { speed, rolls, transport, .. } = c.motion;
        let forward = speed / transport;
        let side = if self.mirrored { -1.0 } else { 1.0 };
        let (tan_alpha, sin_camber) = (tan_alpha * side, c.camber[0] * side);
        let slip = Slip { load, kappa, tan_alpha, sin_camber, forward, rolling: forward * forward };
        let mut grip = match &self.grip {
            Grip::Brush(law) => law.forces(&slip),
            Grip::Magic(law) => law.forces(&slip),
        };
        (grip[1], grip[2]) = (grip[1] * side, grip[2] * side);
        if self.space == Space::Plane {
            (grip[1], grip[2]) = (Dual::constant(0.0), Dual::constant(0.0));
        }
        let turning = rolls / (rolls * rolls + self.velocity * self.velocity).sqrt();
        let resistance = -(load * c.distance * turning * self.resistance);
        Some(Forces { push, slip, grip, resistance })
    }

    /// The loads on both ends: force and torque of each.
    fn loads<const N: usize>(&self, c: &Patch<N>, f: &Forces<N>) -> [[DualVec<N>; 2]; 2] {
        let [fx, fy, mz] = f.grip;
        let force = c.normal * f.slip.load + c.forward * fx + c.left * fy;
        // along the road the wheel has the lever of its rolling radius
        let moment = c.normal * mz + c.axle * (f.resistance + fx * (c.distance - c.rolling_radius));
        [[-force, -(c.arms[0].cross(force) + moment)], [force, c.arms[1].cross(force) + moment]]
    }

    fn states(&self) -> usize {
        match (self.relaxation, self.space) {
            (None, _) => 0,
            (Some(_), Space::Plane) => 1,
            (Some(_), Space::Space) => 2,
        }
    }
}

/// All variables of a tyre: two ends and two states.
const ALL: usize = OF_TWO + 2;

/// A dual vector's derivative by variable `k`.
fn by(v: &DualVec<ALL>, k: usize) -> Vec3 {
    Vec3(v.0.map(|x| x.d[k]))
}

/// Forms on the motions of two ends from the derivatives that begin at a variable.
fn row(x: &Dual<ALL>, first: usize) -> Row {
    let mut row = Row::default();
    for (end, form) in row.iter_mut().enumerate().take(2) {
        let part = |k: usize| Vec3(std::array::from_fn(|i| x.d[first + 6 * end + k + i]));
        *form = Covector::new(part(0), part(3));
    }
    row
}

impl Force for Tyre {
    fn radii(&self) -> Vec<f64> {
        vec![0.0, self.radius]
    }
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        let c = self.contact::<0>(at);
        let [kappa, tan_alpha] = self.slips(at, &c).map(|s| s.x);
        out.fill(0.0);
        (out[2], out[3], out[4]) = (kappa, tan_alpha.atan(), c.camber[0].x.clamp(-1.0, 1.0).asin());
        if let Some(f) = self.forces(at, &c) {
            (out[0], out[1]) = (f.slip.load.x, -c.gap.x);
            (out[5], out[6], out[7]) = (f.grip[0].x, f.grip[1].x, f.grip[2].x);
            out[8] = f.resistance.x;
        }
    }
    fn is_limited(&self) -> bool {
        true
    }
    fn limit(&self, at: &Seen) -> Option<(Limit, f64)> {
        Some((Limit::Depth, (-self.contact::<0>(at).gap.x).max(0.0) / self.radius))
    }
    fn laws(&self) -> Vec<(Arc<dyn StateLaw>, usize)> {
        self.road.height.iter().map(|height| (Arc::new(height.clone()) as Arc<dyn StateLaw>, 2)).collect()
    }
    /// The place of the wheel over the road.
    fn law_arguments(&self, at: &Seen, out: &mut [f64]) {
        let [road, wheel] = [0, 1].map(|k| &at.ends[k]);
        let d = wheel.p - road.p;
        let across = if self.space == Space::Space { road.axis(Y).dot(d) } else { 0.0 };
        out.copy_from_slice(&[road.axis(X).dot(d), self.road.side() * across]);
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        let c = self.contact::<0>(at);
        let Some(f) = self.forces(at, &c) else { return };
        for (out, load) in out.iter_mut().zip(self.loads(&c, &f)) {
            out.lin += load[0].value();
            out.ang += load[1].value();
        }
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let c = self.contact::<ALL>(at);
        if let Some(f) = self.forces(at, &c) {
            add_stiffness(&self.loads(&c, &f), k, d);
        }
    }
    fn stored(&self, at: &Seen) -> f64 {
        let c = self.contact::<0>(at);
        self.forces(at, &c).map_or(0.0, |f| f.push.stored)
    }
    fn power(&self, at: &Seen) -> f64 {
        let c = self.contact::<0>(at);
        self.forces(at, &c).map_or(0.0, |f| {
            let loads = self.loads(&c, &f);
            let work = |k: usize| Covector::new(loads[k][0].value(), loads[k][1].value()).on(&at.ends[k]);
            work(0) + work(1) - f.push.elastic * c.gap_rate.x
        })
    }
    fn has_power(&self) -> bool {
        true
    }
    fn damped(&self) -> bool {
        true
    }
    fn rotational(&self, _end: usize) -> bool {
        true
    }
    fn initial(&self) -> Vec<f64> {
        vec![0.0; self.states()]
    }
    fn flow(&self, at: &Seen, out: &mut [f64]) {
        let rates = self.slip_rates(at, &self.contact::<0>(at));
        out.iter_mut().zip(rates).for_each(|(out, rate)| *out = rate.x);
    }
    fn state_slopes(&self, at: &Seen, out: &mut StateSlopes) {
        let c = self.contact::<ALL>(at);
        for (i, rate) in self.slip_rates(at, &c).iter().enumerate().take(self.states()) {
            out.flow_by_displacement[i] = row(rate, 0);
            out.flow_by_twist[i] = row(rate, OF_TWO / 2);
            out.flow_by_state[i][..self.states()].copy_from_slice(&rate.d[OF_TWO..OF_TWO + self.states()]);
        }
        let Some(f) = self.forces(at, &c) else { return };
        let loads = self.loads(&c, &f);
        for (j, slopes) in out.load_by_state.iter_mut().enumerate().take(self.states()) {
            for (form, load) in slopes.iter_mut().zip(&loads) {
                *form = Covector::new(by(&load[0], OF_TWO + j), by(&load[1], OF_TWO + j));
            }
        }
    }
    fn switches(&self) -> usize {
        1
    }
    fn jumps(&self) -> bool {
        false
    }
    fn mode(&self, at: &Seen) -> Mode {
        let c = self.contact::<0>(at);
        if self.law.starts_closed(c.gap.x, c.gap_rate.x) { CLOSED } else { OPEN }
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        let gap = self.contact::<0>(at).gap.x;
        out[0] = if at.mode == CLOSED { self.law.while_closed(gap, 0.0) } else { self.law.while_open(at.mode, gap) };
    }
    fn cross(&self, _: usize, at: &Seen) -> Option<Switch> {
        self.law.cross(at.mode, CLOSED)
    }
}
