//! Contact between two curves.

use super::closing::{CLOSED, Closing, DAMPING, OPEN, PUSH_OUT, Push, REST_SPEED, RESTITUTION};
use super::contact::track_beside;
use super::{Ends, Followed, Following, Force, Kind, Made, Placement, Seen, Switch};
use crate::channel::Quantity;
use crate::dual::{Dual, DualFrame, DualVec, OF_TWO, add_stiffness};
use crate::dynamics::{HoldingLaw, Mode, Track};
use crate::file::{Field, FieldKind, Values};
use crate::frames::{Covector, MAX_ROWS, Row, Stiffness};
use crate::joints::Equation;
use crate::joints::curve_on_curve::{gradient, in_touch, loads};
use crate::pair::{Meeting, PAIR_FIELDS, Pair};
use bellcrank_math::Vec3;
use std::sync::Arc;

/// N n − μ N u_t/√(u_t² + v₀²) on the second body where two curves touch, N by a [`Closing`] of their gap.
struct CurveContact {
    pair: Arc<Pair>,
    /// The circles around both curves, where both are closed and have their outside free.
    around: Option<[(Vec3, f64); 2]>,
    law: Closing,
    friction: f64,
    velocity: f64,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "curve-contact",
    doc: "Contact between two curves in the plane, one on each body, as of the joint `curve-on-curve`: they push each other apart and may \
          lift off. At the depth d they push by stiffness · d^exponent · (1 + damping · dd/dt), and never pull, with friction \
          across; with `restitution` they are hard: they bounce, and rest where less than `rest_speed` would be left. \
          Touching, leaving and bouncing are events.",
    fields: &FIELDS,
    ends: Ends::Points,
    channels: CHANNELS,
    make,
};

const FIELDS: [Field; 17] = [
    PAIR_FIELDS[0],
    PAIR_FIELDS[1],
    PAIR_FIELDS[2],
    PAIR_FIELDS[3],
    PAIR_FIELDS[4],
    PAIR_FIELDS[5],
    PAIR_FIELDS[6],
    PAIR_FIELDS[7],
    PAIR_FIELDS[8],
    Field::optional("stiffness", FieldKind::Positive, "N/m^exponent", "`restitution`", "stiffness"),
    Field::optional(
        "exponent",
        FieldKind::Positive,
        "",
        "1.5",
        "exponent of the depth: 3/2 after Hertz, 1 for a spring",
    ),
    DAMPING,
    Field::optional("friction", FieldKind::NonNegative, "", "0", "coefficient of friction"),
    Field::optional(
        "velocity",
        FieldKind::Positive,
        "m/s",
        "0.01",
        "speed of sliding at which friction reaches 71 % of its level",
    ),
    RESTITUTION,
    REST_SPEED,
    PUSH_OUT,
];

const CHANNELS: &[Quantity] = &[
    Quantity::new("gap", "m", "distance of the curves along the common normal: negative where they are pressed in"),
    Quantity::new("normal", "N", "force along the common normal, which pushes the bodies apart: positive"),
    Quantity::new("friction", "N", "size of the force across the normal, which acts against the sliding"),
    Quantity::new("slip", "m/s", "speed of the second curve against the first across the normal"),
];

fn make(values: &Values, place: &Placement) -> Made {
    let what = values.what();
    let pair = Arc::new(Pair::read(values, place.space)?);
    let law = Closing::read(values, Some(values.number("exponent")))?;
    if values.has("velocity") && (law.holds() || !values.has("friction")) {
        let message = format!("`velocity` of {what} is for friction that creeps");
        let help = "leave it out; or add `friction = …`, and a `stiffness` in the place of `restitution`";
        return Err(values.error_at("velocity", message).help(help).into());
    }
    let velocity = match law {
        Closing::Soft { .. } => values.number("velocity"),
        // nothing sticks between curves: it creeps
        Closing::Hard { rest, .. } => 0.1 * rest,
    };
    let around = pair.circles_around();
    Ok(Box::new(CurveContact { pair, around, law, friction: values.number("friction"), velocity }))
}

/// What the contact does.
struct CurveLoad<const N: usize> {
    meeting: Meeting<N>,
    /// ġ and N.
    rate: Dual<N>,
    push: Push,
    normal: Dual<N>,
    /// The velocity across, and it over √(u_t² + v₀²).
    across: DualVec<N>,
    rubs: DualVec<N>,
}

impl CurveContact {
    /// The contact where it is closed.
    fn contact<const N: usize>(&self, at: &Seen) -> Option<CurveLoad<N>> {
        let meeting = self.pair.meet::<N>(at.ends);
        if !Closing::acts(at.mode, CLOSED, meeting.gap.x) {
            return None;
        }
        let [first, second] = [0, 1].map(|k| DualFrame::<N>::of(&at.ends[k], k));
        let n = meeting.normal;
        let u = second.v + second.w.cross(meeting.arms[1]) - first.v - first.w.cross(meeting.arms[0]);
        let rate = n.dot(u);
        let (push, normal) = if self.law.holds() {
            (Push::default(), Dual::constant(-at.lambda))
        } else {
            let push = self.law.push(meeting.gap.x, rate.x);
            (push, meeting.gap.chain2(rate, push.force, [push.by_gap, push.by_rate]))
        };
        let across = u - n * rate;
        let rho = (across.dot(across) + self.velocity * self.velocity).sqrt();
        let rubs = across * (Dual::constant(1.0) / rho);
        Some(CurveLoad { meeting, rate, push, normal, across, rubs })
    }

    /// The force on the second body; along the normal only where no equation has it.
    fn force<const N: usize>(&self, c: &CurveLoad<N>) -> DualVec<N> {
        let pushes = if self.law.holds() { 0.0 } else { 1.0 };
        (c.meeting.normal * pushes - c.rubs * self.friction) * c.normal
    }
}

impl Force for CurveContact {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        out.fill(0.0);
        out[0] = self.pair.meet::<0>(at.ends).gap.x;
        if let Some(c) = self.contact::<0>(at) {
            out[1] = c.normal.x;
            out[2] = c.rubs.value().norm() * self.friction * c.normal.x;
            out[3] = c.across.value().norm();
        }
    }
    fn outline(&self) -> Vec<Vec3> {
        let [first, _] = self.pair.outlines();
        first
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        let Some(c) = self.contact::<0>(at) else { return };
        for (out, load) in out.iter_mut().zip(loads(&c.meeting, self.force(&c))) {
            out.lin += load[0].value();
            out.ang += load[1].value();
        }
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        if let Some(c) = self.contact::<OF_TWO>(at) {
            add_stiffness(&loads(&c.meeting, self.force(&c)), k, d);
        }
    }
    fn stored(&self, at: &Seen) -> f64 {
        self.contact::<0>(at).map_or(0.0, |c| c.push.stored)
    }
    fn power(&self, at: &Seen) -> f64 {
        self.contact::<0>(at).map_or(0.0, |c| {
            let rubbed = (c.rubs * self.friction).dot(c.across) * c.normal;
            (c.push.force - c.push.elastic) * c.rate.x - rubbed.x
        })
    }
    fn has_power(&self) -> bool {
        self.damped()
    }
    fn damped(&self) -> bool {
        self.law.damped() || self.friction != 0.0
    }
    fn rotational(&self, _end: usize) -> bool {
        true
    }
    fn switches(&self) -> usize {
        1
    }
    fn mode(&self, at: &Seen) -> Mode {
        let meeting = self.pair.meet::<0>(at.ends);
        let rate = gradient(&meeting).iter().zip(at.ends).map(|(form, end)| form.on(end)).sum();
        if self.law.starts_closed(meeting.gap.x, rate) { CLOSED } else { OPEN }
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        let gap = self.pair.meet::<0>(at.ends).gap.x;
        out[0] = match at.mode {
            CLOSED => self.law.while_closed(gap, -at.lambda),
            mode => self.law.while_open(mode, gap),
        };
    }
    fn tracks(&self, at: &Seen, out: &mut [Track]) {
        if let (OPEN, Some([first, (centre, radius)])) = (at.mode, self.around) {
            let second = &at.ends[1];
            let arm = second.r * centre;
            out[0] = track_beside(&at.ends[0], first, (second.p + arm, second.v + second.w.cross(arm)), radius);
        }
    }
    fn cross(&self, _: usize, at: &Seen) -> Option<Switch> {
        self.law.cross(at.mode, CLOSED)
    }
    fn candidate(&self, at: &Seen) -> Option<(HoldingLaw, Vec<Row>)> {
        let meeting = self.pair.meet::<0>(at.ends);
        let law = self.law.candidate((meeting.gap.x, 1.0), CLOSED, self.friction, None)?;
        let mut rows = vec![gradient(&meeting)];
        if self.friction != 0.0 {
            let along = Vec3::Z.cross(meeting.normal.value());
            let [first, second] = meeting.arms.map(|arm| arm.value());
            let mut row = Row::default();
            row[0] = Covector::new(-along, -first.cross(along));
            row[1] = Covector::new(along, second.cross(along));
            rows.push(row);
        }
        Some((law, rows))
    }
    fn holds(&self, mode: Mode) -> Vec<Box<dyn Equation>> {
        match mode == CLOSED && self.law.holds() {
            true => vec![in_touch(self.pair.clone())],
            false => Vec::new(),
        }
    }
    fn follows(&self, mode: Mode) -> Option<Followed> {
        (self.law.holds() && self.friction != 0.0 && mode == CLOSED).then_some(Followed::Held)
    }
    fn following(&self, at: &Seen) -> Following {
        let mut out = Following { size: at.lambda, ..Following::default() };
        let mut slopes = [0.0; MAX_ROWS];
        slopes[0] = 1.0;
        out.slopes = slopes;
        if let Some(c) = self.contact::<0>(at) {
            // N = −λ
            for (out, load) in out.load.iter_mut().zip(loads(&c.meeting, c.rubs * self.friction)) {
                *out = Covector::new(load[0].value(), load[1].value());
            }
        }
        out
    }
}
