//! Contact between two curves.

use super::closing::{CLOSED, Closing, OPEN, Push};
use super::contact::track_beside;
use super::touching::{TOUCHING, Touching, across};
use super::{Ends, Followed, Following, Force, Kind, Made, Placement, Seen, Switch};
use crate::channel::Quantity;
use crate::dual::{DISPLACEMENTS, Dual, DualFrame, DualVec, OF_TWO, add_stiffness};
use crate::dynamics::{HoldingLaw, Limit, Mode, Track};
use crate::file::{Field, Values, joined};
use crate::frames::{Covector, Row, Stiffness};
use crate::joints::Equation;
use crate::joints::curve_on_curve::{gradient, in_touch, loads};
use crate::pair::{Meeting, PAIR_FIELDS, Pair};
use crate::space::Space;
use bellcrank_math::Vec3;
use std::sync::Arc;

/// N n − μ N u_t/√(u_t² + v₀²) on the second body where two curves touch, N by a [`Closing`] of their gap.
struct CurveContact {
    pair: Arc<Pair>,
    space: Space,
    /// The circles around both curves, where both are closed and have their outside free.
    around: Option<[(Vec3, f64); 2]>,
    touching: Touching,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "curve-contact",
    doc: "Contact between two curves, one on each body, as of the joint `curve-on-curve`: they push each other apart and may \
          lift off. In space one of the wires at least needs a radius. At the depth d they push by stiffness · d^exponent · (1 + damping · dd/dt), and never pull, with friction \
          across; with `restitution` they are hard: they bounce, and rest where less than `rest_speed` would be left. \
          Touching, leaving and bouncing are events.",
    fields: &FIELDS,
    ends: Ends::Points,
    channels: CHANNELS,
    make,
};

const FIELDS: [Field; 19] = joined(&[&PAIR_FIELDS, &TOUCHING]);

const CHANNELS: &[Quantity] = &[
    Quantity::new("gap", "m", "distance of the curves along the common normal: negative where they are pressed in"),
    Quantity::new("normal", "N", "force along the common normal, which pushes the bodies apart: positive"),
    Quantity::new("friction", "N", "size of the force across the normal, which acts against the sliding"),
    Quantity::new("slip", "m/s", "speed of the second curve against the first across the normal"),
];

fn make(values: &Values, place: &Placement) -> Made {
    let what = values.what();
    let pair = Arc::new(Pair::read(values, place.space, &place.frames)?);
    if place.space == Space::Space && pair.thickness() == 0.0 {
        let message = format!(
            "{what} needs `radius` or `radius2`: a line without thickness has no side from which it is touched"
        );
        let help = "add the radius of a wire; lines that cross and never part have the joint `curve-on-curve`";
        return Err(values.error(message).help(help).into());
    }
    let around = pair.circles_around();
    Ok(Box::new(CurveContact { pair, space: place.space, around, touching: Touching::read(values, false)? }))
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
        let (push, normal) = if self.touching.law.holds() {
            (Push::default(), Dual::constant(-at.lambda))
        } else {
            let push = self.touching.law.push(meeting.gap.x, rate.x);
            (push, meeting.gap.chain2(rate, push.force, [push.by_gap, push.by_rate]))
        };
        let across = u - n * rate;
        let rho = (across.dot(across) + self.touching.velocity * self.touching.velocity).sqrt();
        let rubs = across * (Dual::constant(1.0) / rho);
        Some(CurveLoad { meeting, rate, push, normal, across, rubs })
    }

    /// The force on the second body; along the normal only where no equation has it.
    fn force<const N: usize>(&self, c: &CurveLoad<N>) -> DualVec<N> {
        (c.meeting.normal * self.touching.pushes() - c.rubs * self.touching.friction) * c.normal
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
            out[2] = c.rubs.value().norm() * self.touching.friction * c.normal.x;
            out[3] = c.across.value().norm();
        }
    }
    fn outline(&self) -> Vec<Vec3> {
        self.pair.outline()
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
            let rubbed = (c.rubs * self.touching.friction).dot(c.across) * c.normal;
            (c.push.force - c.push.elastic) * c.rate.x - rubbed.x
        })
    }
    fn has_power(&self) -> bool {
        self.damped()
    }
    fn damped(&self) -> bool {
        self.touching.damped()
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
        if self.touching.law.starts_closed(meeting.gap.x, rate) { CLOSED } else { OPEN }
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        out[0] = self.touching.switch_value(at, self.pair.meet::<0>(at.ends).gap.x);
    }
    fn tracks(&self, at: &Seen, out: &mut [Track]) {
        if let (OPEN, Some([first, (centre, radius)])) = (at.mode, self.around) {
            let second = &at.ends[1];
            let arm = second.r * centre;
            out[0] = track_beside(&at.ends[0], first, (second.p + arm, second.v + second.w.cross(arm)), radius);
            return;
        }
        let radius = self.pair.thickness();
        if radius == 0.0 || at.mode != OPEN && self.touching.law.holds() {
            return;
        }
        let meeting = self.pair.meet::<DISPLACEMENTS>(at.ends);
        let apart = meeting.normal * (meeting.gap + radius);
        let twists = [0, 1].map(|k| [at.ends[k].v, at.ends[k].w]);
        let rates = std::array::from_fn(|i| twists[i / 6][i / 3 % 2][i % 3]);
        out[0] = Track::Sphere { d: apart.value(), rate: apart.rate(&rates), radius, outside: at.mode != CLOSED };
    }
    fn cross(&self, _: usize, at: &Seen) -> Option<Switch> {
        self.touching.law.cross(at.mode, CLOSED)
    }
    fn candidate(&self, at: &Seen) -> Option<(HoldingLaw, Vec<Row>)> {
        let meeting = self.pair.meet::<0>(at.ends);
        let along = across(meeting.normal.value(), self.space);
        let [first, second] = meeting.arms.map(|arm| arm.value());
        self.touching.candidate((meeting.gap.x, gradient(&meeting)), None, &along, |e| {
            let mut row = Row::default();
            row[0] = Covector::new(-e, -first.cross(e));
            row[1] = Covector::new(e, second.cross(e));
            row
        })
    }
    fn holds(&self, mode: Mode) -> Vec<Box<dyn Equation>> {
        match mode == CLOSED && self.touching.law.holds() {
            true => vec![in_touch(self.pair.clone())],
            false => Vec::new(),
        }
    }
    fn follows(&self, mode: Mode) -> Option<Followed> {
        self.touching.follows(mode)
    }
    fn following(&self, at: &Seen) -> Following {
        let mut row = Row::default();
        if let Some(c) = self.contact::<0>(at) {
            for (out, load) in row.iter_mut().zip(loads(&c.meeting, c.rubs * self.touching.friction)) {
                *out = Covector::new(load[0].value(), load[1].value());
            }
        }
        self.touching.following(at, row)
    }
    fn is_limited(&self) -> bool {
        self.pair.is_limited()
    }
    fn limit(&self, at: &Seen) -> Option<(Limit, f64)> {
        let contact = self.contact::<0>(at).filter(|_| self.is_limited())?;
        let depth = -contact.meeting.gap.x / self.pair.thickness();
        match !self.touching.law.holds() && depth.is_finite() && depth > Limit::Depth.bound() {
            true => Some((Limit::Depth, depth)),
            false => Some(self.pair.limit(at.ends)),
        }
    }
}
