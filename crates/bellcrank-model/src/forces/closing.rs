//! Where a gap closes: a soft law that pushes, or a hard one with impacts.

use super::Switch;
use crate::dynamics::{BY_VALUE, GapModes, HoldingLaw, Mode};
use crate::file::{Diagnostics, Field, FieldKind, Values};

/// The gap is open.
pub const OPEN: Mode = 1;
/// The gap is closed: a soft law pushes, a hard one holds it. A stop has two gaps, the second is closed in
/// the mode after this.
pub const CLOSED: Mode = 2;
/// A hard gap is closed because others hold it so: it has no row of its own.
pub const CARRIED: Mode = 4;
/// A hard gap is closed and does not slide.
pub const STUCK: Mode = 5;

/// How far a gap that others hold closed may go beyond before it is looked at again, in m or rad.
const SLACK: f64 = 1e-8;

/// The part of `rest_speed` below which sliding is none.
const SLOW: f64 = 1e-3;

/// A gap and a rate of it that count as none at the start.
const TOUCH: f64 = 1e-9;

/// What a gap does when it closes.
#[derive(Clone, Copy, Debug)]
pub enum Closing {
    /// At the depth δ the force k δᵖ (1 + α δ̇), which never pulls [Hunt & Crossley 1975].
    Soft {
        /// k.
        stiffness: f64,
        /// p.
        exponent: f64,
        /// α.
        damping: f64,
    },
    /// Impacts after Newton, ġ⁺ = −e ġ⁻, and rest where less than a small rate would be left: then g = 0
    /// holds as long as it pushes.
    Hard {
        /// e.
        restitution: f64,
        /// The rate after an impact below which it rests.
        rest: f64,
        /// Whether a start beyond the touch is moved out to it.
        push_out: bool,
    },
}

/// The force that opens the gap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Push {
    /// The force.
    pub force: f64,
    /// ∂/∂gap.
    pub by_gap: f64,
    /// ∂/∂(rate of the gap).
    pub by_rate: f64,
    /// What of the force is stored.
    pub elastic: f64,
    /// The energy stored.
    pub stored: f64,
}

/// The key `damping`.
pub const DAMPING: Field = Field::optional(
    "damping",
    FieldKind::NonNegative,
    "s/m, s/rad",
    "0",
    "damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed",
);

/// The key `restitution`.
pub const RESTITUTION: Field = Field::optional(
    "restitution",
    FieldKind::NonNegative,
    "",
    "a soft one",
    "instead of `stiffness`: impacts that leave this fraction of the speed (0 to 1)",
);

/// The key `rest_speed`.
pub const REST_SPEED: Field = Field::optional(
    "rest_speed",
    FieldKind::Positive,
    "m/s, rad/s",
    "0.001",
    "with `restitution`: an impact that would leave less than this ends at rest",
);

/// The key `push_out`.
pub const PUSH_OUT: Field = Field::optional(
    "push_out",
    FieldKind::Flag,
    "",
    "false",
    "with `restitution`: bodies that start too deep are moved out until they touch; without it, such a start is an \
        error",
);

impl Closing {
    /// From `stiffness`, `damping` and, where there is one, `exponent`; or from `restitution` and `rest_speed`.
    pub fn read(values: &Values, exponent: Option<f64>) -> Result<Closing, Diagnostics> {
        let what = values.what();
        let soft_keys = ["stiffness", "damping", "exponent"];
        let Some(restitution) = values.optional_number("restitution") else {
            if let Some(key) = ["rest_speed", "push_out"].into_iter().find(|key| values.has(key)) {
                let message = format!("`{key}` of {what} is for impacts");
                return Err(values.error_at(key, message).help("add `restitution`, or leave it out").into());
            }
            let Some(stiffness) = values.optional_number("stiffness") else {
                let help = "add `stiffness = …` for a soft one, or `restitution = …` (0 to 1) for impacts";
                return Err(values.error(format!("{what} needs `stiffness` or `restitution`")).help(help).into());
            };
            return Ok(Closing::Soft {
                stiffness,
                exponent: exponent.unwrap_or(1.0),
                damping: values.number("damping"),
            });
        };
        if let Some(key) = soft_keys.into_iter().find(|key| values.has(key)) {
            let message = format!("{what} has both `restitution` and `{key}`");
            let help = "impacts need no stiffness and no damping: leave them out, or leave `restitution` out";
            return Err(values.error_at(key, message).help(help).into());
        }
        if restitution > 1.0 {
            let message = format!("`restitution` of {what} is {restitution}: impacts would add energy");
            return Err(values.error_at("restitution", message).help("give a number from 0 to 1").into());
        }
        let (rest, push_out) = (values.number("rest_speed"), values.flag("push_out"));
        Ok(Closing::Hard { restitution, rest, push_out })
    }

    /// Whether a gap counts as closed for the force, in a mode of which `closed` is the one that says so.
    pub fn acts(mode: Mode, closed: Mode, gap: f64) -> bool {
        if mode == BY_VALUE { gap < 0.0 } else { mode == closed }
    }

    /// The force of a gap that is closed; a soft one goes on smoothly beyond the end of its contact.
    pub fn push(&self, gap: f64, rate: f64) -> Push {
        let Closing::Soft { stiffness: k, exponent: p, damping } = *self else { return Push::default() };
        let depth = gap.abs();
        let elastic = -k * depth.powf(p).copysign(gap);
        let stored = k * depth.powf(p + 1.0) / (p + 1.0);
        let factor = 1.0 - damping * rate;
        if factor <= 0.0 {
            return Push { elastic, stored, ..Push::default() };
        }
        let by_gap = -k * p * depth.powf(p - 1.0) * factor;
        Push { force: elastic * factor, by_gap, by_rate: -elastic * damping, elastic, stored }
    }

    /// Whether power is lost while the gap is closed.
    pub fn damped(&self) -> bool {
        matches!(self, Closing::Soft { damping, .. } if *damping != 0.0)
    }

    /// Whether a closed gap is held.
    pub fn holds(&self) -> bool {
        matches!(self, Closing::Hard { .. })
    }

    /// Whether the gap is closed at the start.
    pub fn starts_closed(&self, gap: f64, rate: f64) -> bool {
        match self {
            Closing::Soft { .. } => gap < 0.0 || (gap == 0.0 && rate < 0.0),
            Closing::Hard { .. } => gap.abs() <= TOUCH && rate.abs() <= TOUCH,
        }
    }

    /// The switch function of an open gap, and of one that others hold closed.
    pub fn while_open(&self, mode: Mode, gap: f64) -> f64 {
        if mode == CARRIED { gap + SLACK } else { gap }
    }

    /// The switch function of a closed gap: the gap with the other sign, or the force that holds it.
    pub fn while_closed(&self, gap: f64, force: f64) -> f64 {
        if self.holds() { force } else { -gap }
    }

    /// The speed of sliding that counts as none.
    pub fn slow(&self) -> f64 {
        match self {
            Closing::Soft { .. } => 0.0,
            Closing::Hard { rest, .. } => SLOW * rest,
        }
    }

    /// What a hard gap may hold, in the mode `closed`.
    pub fn candidate(
        &self,
        (gap, sign): (f64, f64),
        closed: Mode,
        friction: f64,
        stuck: Option<Mode>,
    ) -> Option<HoldingLaw> {
        let Closing::Hard { restitution, rest, push_out } = *self else { return None };
        let modes = GapModes { open: OPEN, closed, stuck, carried: CARRIED, slow: self.slow() };
        Some(HoldingLaw::Gap { gap, restitution, rest, sign, friction, push_out, modes })
    }

    /// What happens when a soft gap closes or opens.
    pub fn cross(&self, mode: Mode, closed: Mode) -> Option<Switch> {
        match (self, mode) {
            (Closing::Hard { .. }, _) => None,
            (_, OPEN) => Some(Switch { mode: closed, what: "touches" }),
            _ => Some(Switch { mode: OPEN, what: "leaves" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_push_has_its_derivatives_and_its_energy_also_beyond_the_end_of_contact() {
        let law = Closing::Soft { stiffness: 30.0, exponent: 1.5, damping: 0.4 };
        let h = 1e-6;
        for (gap, rate) in [(-0.3, 0.7), (-0.3, -2.0), (0.2, 0.5), (0.2, -0.5), (-0.1, 3.0)] {
            let at = law.push(gap, rate);
            let by_gap = (law.push(gap + h, rate).force - law.push(gap - h, rate).force) / (2.0 * h);
            let by_rate = (law.push(gap, rate + h).force - law.push(gap, rate - h).force) / (2.0 * h);
            let slope = (law.push(gap + h, rate).stored - law.push(gap - h, rate).stored) / (2.0 * h);
            assert!((at.by_gap - by_gap).abs() < 1e-6 && (at.by_rate - by_rate).abs() < 1e-6, "{gap} {rate}");
            assert!((at.elastic + slope).abs() < 1e-6, "{gap} {rate}");
        }
    }
}
