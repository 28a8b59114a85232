//! A PID controller that acts on a joint.

use super::actuator::{EFFORT, LAG, LIMITS, START, Stage};
use super::{Along, Ends, Force, Kind, MAX_STATES, Made, Placement, Seen, StateSlopes, Switch, combined, scaled};
use crate::channel::Quantity;
use crate::dynamics::Mode;
use crate::file::{Expression, Field, FieldKind, Values};
use crate::frames::{Covector, Row, Stiffness};
use crate::joints::Motion;

/// u = kp e + I + kd ė with the error e = r(t) − y and İ = ki e + (s(u) − u)/T: the back-calculation keeps
/// the integral from winding up while the limits s hold the effort [Åström & Hägglund 2006, §3.5]. The
/// states are I, where ki is not zero, and the effort, where there is a lag.
struct Pid {
    measured: Along,
    /// Whether y is the rate of what is measured.
    rate: bool,
    reference: Expression,
    kp: f64,
    ki: f64,
    kd: f64,
    /// 1/T; zero without limits.
    tracking: f64,
    stage: Stage,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "pid",
    doc: "A controller: the effort kp·e + ∫ki·e dt + kd·de/dt along a joint coordinate, with the error e of what it \
          measures (a joint coordinate, a coordinate of a probe or of a body, or a rate of these) against a \
          `reference`. `limits` bound the effort and keep the integral from winding up; `lag` delays it.",
    fields: &[
        Field::required(
            "reference",
            FieldKind::Function,
            "m, rad, m/s, rad/s",
            "the desired value of the measured quantity, a function of t and the state",
        ),
        Field::optional("kp", FieldKind::Number, "SI units", "0", "effort per error"),
        Field::optional("ki", FieldKind::Number, "SI units", "0", "effort per integral of the error"),
        Field::optional("kd", FieldKind::Number, "SI units", "0", "effort per rate of the error"),
        LIMITS,
        Field::optional(
            "windup",
            FieldKind::Positive,
            "s",
            "kp/ki",
            "time in which the integral follows the effort while the limits hold it",
        ),
        LAG,
        START,
    ],
    ends: Ends::Control,
    channels: CHANNELS,
    make,
};

const CHANNELS: &[Quantity] = &[
    Quantity::new("reference", "", "what is measured should be this, in the unit of what it measures"),
    Quantity::new("error", "", "`reference` less what is measured"),
    Quantity::new("command", "N", "kp·e + ∫ki·e dt + kd·de/dt, before limits and lag").turning("N m"),
    EFFORT,
];

fn make(values: &Values, place: &Placement) -> Made {
    let what = values.what();
    let (measured, rate) = place.measures.expect("the reader places controllers with what they measure");
    let [kp, ki, kd] = ["kp", "ki", "kd"].map(|key| values.number(key));
    if kp == 0.0 && ki == 0.0 && kd == 0.0 {
        let help = "add at least one of `kp`, `ki` and `kd`";
        return Err(values.error(format!("{what} has no gain and does nothing")).help(help).into());
    }
    if rate && kd != 0.0 {
        let message = format!("`kd` of {what} would need an acceleration, since it measures a rate");
        let help = "leave `kd` out, or measure the coordinate itself: then `kd` acts on its rate";
        return Err(values.error_at("kd", message).help(help).into());
    }
    if values.has("windup") && !(values.has("limits") && ki != 0.0) {
        let message = format!("`windup` of {what} is for an integral within limits");
        return Err(values.error_at("windup", message).help("add `ki` and `limits`, or leave it out").into());
    }
    let tracking = match (values.has("limits") && ki != 0.0, values.optional_number("windup")) {
        (false, _) => 0.0,
        (true, Some(time)) => 1.0 / time,
        (true, None) if kp != 0.0 => (ki / kp).abs(),
        (true, None) => {
            let message = format!("{what} has limits and no `kp` to take the time `windup` from");
            return Err(values
                .error(message)
                .help("add `windup = …` [s], about the time the loop takes to settle")
                .into());
        }
    };
    let stage = Stage::read(values, place)?;
    let reference = values.function("reference").clone();
    Ok(Box::new(Pid { measured, rate, reference, kp, ki, kd, tracking, stage }))
}

/// The command, and the derivatives of command and error by displacements and by twists.
struct Command {
    u: f64,
    u_by: [Row; 2],
    error_by: [Row; 2],
}

impl Pid {
    /// The integral and the effort among the states.
    fn states<'a>(&self, at: &Seen<'a>) -> (Option<&'a f64>, Option<&'a f64>) {
        let integral = self.has_integral() as usize;
        (at.z[..integral].first(), at.z[integral..].first())
    }
    fn has_integral(&self) -> bool {
        self.ki != 0.0
    }
    fn has_lag(&self) -> bool {
        self.stage.lag > 0.0
    }

    /// The command and the error.
    fn command(&self, at: &Seen) -> (f64, f64) {
        let (_, command, error) = self.follow(at);
        (command, error)
    }

    /// The reference, the command and the error.
    fn follow(&self, at: &Seen) -> (f64, f64, f64) {
        let r = self.reference.jet_with(at.t, at.inputs);
        let rate = self.measured.rate(at);
        let error = r.value - if self.rate { rate } else { self.measured.value(at) };
        let integral = self.states(at).0.copied().unwrap_or(0.0);
        // a rate has kd = 0
        (r.value, self.kp * error + integral + self.kd * (r.rate - rate), error)
    }

    fn slopes(&self, at: &Seen) -> Command {
        let (u, _) = self.command(at);
        let (gradient, drift, none) = (self.measured.gradient(at), self.measured.drift(at), Row::default());
        let by = if self.rate { [&drift, &gradient] } else { [&gradient, &none] };
        let rate_by = [&drift, &gradient];
        Command {
            u,
            u_by: [0, 1].map(|i| combined(-self.kp, by[i], -self.kd, rate_by[i])),
            error_by: by.map(|row| scaled(-1.0, row)),
        }
    }
}

impl Force for Pid {
    /// What is measured elsewhere may fall where the joint's coordinate rises: then either sign may be right.
    fn unstable(&self) -> Option<String> {
        if self.measured != self.stage.along {
            return None;
        }
        let gains = [("kp", self.kp), ("ki", self.ki), ("kd", self.kd)];
        let (key, gain) = gains.into_iter().find(|(_, gain)| *gain < 0.0)?;
        Some(format!("drives away from its reference: `{key}` is {gain}"))
    }
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        let (reference, command, error) = self.follow(at);
        let effort = self.stage.effort(at.mode, command, self.states(at).1);
        out.copy_from_slice(&[reference, error, command, effort]);
    }
    fn courses(&self) -> Vec<&Expression> {
        vec![&self.reference]
    }
    fn refuses_signals(&self) -> Option<&'static str> {
        (self.kd != 0.0).then_some("with `kd` needs the rate of its reference, which only a function of time has")
    }
    fn load_by_input(&self, at: &Seen, variable: usize) -> Row {
        let slope = if self.has_lag() { 0.0 } else { self.stage.limited(at.mode, self.command(at).0).1 };
        let by = self.kp * self.reference.slope_with(variable, at.t, at.inputs);
        scaled(slope * by, &self.stage.along.gradient(at))
    }
    fn flow_by_input(&self, at: &Seen, variable: usize) -> [f64; MAX_STATES] {
        let by = self.reference.slope_with(variable, at.t, at.inputs);
        let slope = self.stage.limited(at.mode, self.command(at).0).1;
        let mut out = [0.0; MAX_STATES];
        if self.has_integral() {
            out[0] = (self.ki + self.tracking * (slope - 1.0) * self.kp) * by;
        }
        if self.has_lag() {
            out[self.has_integral() as usize] = slope * self.kp * by / self.stage.lag;
        }
        out
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        self.stage.along.push(at, self.effort(at), out);
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let c = self.slopes(at);
        let slope = if self.has_lag() { 0.0 } else { self.stage.limited(at.mode, c.u).1 };
        let [by_displacement, by_twist] = c.u_by.map(|row| scaled(slope, &row));
        self.stage.along.push_stiffness(at, self.effort(at), &by_displacement, &by_twist, k, d);
    }
    fn along(&self) -> Option<Motion> {
        Some(self.stage.along.motion)
    }
    fn effort(&self, at: &Seen) -> f64 {
        self.stage.effort(at.mode, self.command(at).0, self.states(at).1)
    }
    fn power(&self, at: &Seen) -> f64 {
        self.effort(at) * self.stage.along.rate(at)
    }
    fn stores(&self) -> bool {
        false
    }
    fn has_power(&self) -> bool {
        true
    }
    fn damped(&self) -> bool {
        !self.has_lag() && (self.kd != 0.0 || self.rate)
    }
    fn measures(&self) -> Option<Motion> {
        Some(self.measured.motion)
    }
    fn initial(&self) -> Vec<f64> {
        let integral = self.has_integral().then_some(0.0);
        integral.into_iter().chain(self.has_lag().then_some(self.stage.start)).collect()
    }
    fn flow(&self, at: &Seen, out: &mut [f64]) {
        let (u, error) = self.command(at);
        let mut out = out.iter_mut();
        if self.has_integral()
            && let Some(rate) = out.next()
        {
            *rate = self.ki * error + self.tracking * (self.stage.limited(at.mode, u).0 - u);
        }
        if let (Some(rate), Some(effort)) = (out.next(), self.states(at).1) {
            *rate = self.stage.flow(at.mode, u, *effort);
        }
    }
    fn state_slopes(&self, at: &Seen, out: &mut StateSlopes) {
        let c = self.slopes(at);
        let slope = self.stage.limited(at.mode, c.u).1;
        let lag = self.has_integral() as usize; // the place of the lag's state
        let flows = [&mut out.flow_by_displacement, &mut out.flow_by_twist];
        for (flow, (u_by, error_by)) in flows.into_iter().zip(c.u_by.iter().zip(&c.error_by)) {
            if self.has_integral() {
                flow[0] = combined(self.ki, error_by, self.tracking * (slope - 1.0), u_by);
            }
            if self.has_lag() {
                flow[lag] = scaled(slope / self.stage.lag, u_by);
            }
        }
        let gradient = self.stage.along.gradient(at);
        if self.has_integral() {
            out.flow_by_state[0][0] = self.tracking * (slope - 1.0);
        }
        if self.has_lag() {
            out.flow_by_state[lag][lag] = -1.0 / self.stage.lag;
            if self.has_integral() {
                out.flow_by_state[lag][0] = slope / self.stage.lag;
            }
            out.load_by_state[lag] = gradient;
        } else if self.has_integral() {
            out.load_by_state[0] = scaled(slope, &gradient);
        }
    }
    fn switches(&self) -> usize {
        self.stage.switches()
    }
    fn jumps(&self) -> bool {
        false
    }
    fn mode(&self, at: &Seen) -> Mode {
        self.stage.fitting(self.command(at).0)
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        self.stage.switch_values(at.mode, self.command(at).0, out);
    }
    fn cross(&self, k: usize, at: &Seen) -> Option<Switch> {
        Some(self.stage.cross(k, at.mode))
    }
}
