//! Bodies that touch, lift off and rub: what contacts of every shape have in common.

use super::closing::{CLOSED, Closing, DAMPING, PUSH_OUT, REST_SPEED, RESTITUTION, STUCK};
use super::{Followed, Following, Seen};
use crate::dynamics::{HoldingLaw, Mode};
use crate::file::{Diagnostics, Field, FieldKind, Values};
use crate::frames::{MAX_ROWS, Row};
use crate::space::Space;
use bellcrank_math::Vec3;

/// The keys of how bodies push and rub.
pub const TOUCHING: [Field; 8] = [
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

/// How bodies push and rub where they touch: N along the normal by a [`Closing`], −μ N u_t/√(u_t² + v₀²) across it.
#[derive(Clone, Copy, Debug)]
pub struct Touching {
    /// N.
    pub law: Closing,
    /// μ.
    pub friction: f64,
    /// v₀.
    pub velocity: f64,
}

impl Touching {
    /// From the keys of `TOUCHING`; what `sticks` may be held across where it is hard, and else creeps slowly.
    pub fn read(values: &Values, sticks: bool) -> Result<Touching, Diagnostics> {
        let what = values.what();
        let law = Closing::read(values, Some(values.number("exponent")))?;
        if law.holds() && values.has("velocity") {
            let message = format!("{what} has both `restitution` and `velocity`");
            let help = "hard contacts slide or stick, they do not creep: leave `velocity` out, or give a `stiffness`";
            return Err(values.error_at("velocity", message).help(help).into());
        }
        if values.has("velocity") && !values.has("friction") {
            let message = format!("`velocity` of {what} is for friction");
            return Err(values.error_at("velocity", message).help("add `friction = …`, or leave it out").into());
        }
        let velocity = match law {
            Closing::Soft { .. } => values.number("velocity"),
            Closing::Hard { .. } if sticks => law.slow(),
            Closing::Hard { rest, .. } => 0.1 * rest,
        };
        Ok(Touching { law, friction: values.number("friction"), velocity })
    }

    /// 1 where the load has a part along the normal, 0 where an equation has it.
    pub fn pushes(&self) -> f64 {
        if self.law.holds() { 0.0 } else { 1.0 }
    }

    /// Whether power is lost.
    pub fn damped(&self) -> bool {
        self.law.damped() || self.friction != 0.0
    }

    /// The switch function of the gap.
    pub fn switch_value(&self, at: &Seen, gap: f64) -> f64 {
        match at.mode {
            CLOSED | STUCK => self.law.while_closed(gap, -at.lambda),
            mode => self.law.while_open(mode, gap),
        }
    }

    /// What it may hold where it is hard: the gap, and across it what slides along `across`, of which `row` makes rows.
    pub fn candidate(
        &self,
        gap: (f64, Row),
        stuck: Option<Mode>,
        across: &[Vec3],
        row: impl Fn(Vec3) -> Row,
    ) -> Option<(HoldingLaw, Vec<Row>)> {
        let law = self.law.candidate((gap.0, 1.0), CLOSED, self.friction, stuck)?;
        let rubs = across.iter().filter(|_| self.friction != 0.0).map(|e| row(*e));
        Some((law, std::iter::once(gap.1).chain(rubs).collect()))
    }

    /// Whether friction follows the multiplier of a hard contact: where it slides.
    pub fn follows(&self, mode: Mode) -> Option<Followed> {
        (self.law.holds() && self.friction != 0.0 && mode == CLOSED).then_some(Followed::Held)
    }

    /// How it follows that, N = −λ, with the load of the unit of λ.
    pub fn following(&self, at: &Seen, load: Row) -> Following {
        let mut slopes = [0.0; MAX_ROWS];
        slopes[0] = 1.0;
        Following { load, size: at.lambda, slopes, coefficient: self.friction }
    }
}

/// The directions across a normal along which bodies slide: one in the plane, two in space.
pub fn across(normal: Vec3, space: Space) -> Vec<Vec3> {
    match space {
        Space::Plane => vec![Vec3::Z.cross(normal)],
        Space::Space => {
            let first = normal.any_perpendicular();
            vec![first, normal.cross(first)]
        }
    }
}
