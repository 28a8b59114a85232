//! The messages of `proto/bellcrank/part/v1/part.proto`, field by field (a test compares the two), and conversions.

#![allow(missing_docs)] // the `.proto` documents every field

use bellcrank_glue::{self as glue, Coupling, WIDTH};
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_math::{Quat, Vec3};
use bellcrank_model::dynamics;

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;
/// The units of all numbers.
pub const UNITS: &str = "SI";
/// The service and its methods.
pub const RUN: &str = "/bellcrank.part.v1.Part/Run";
/// The health of a part.
pub const HEALTH: &str = "/bellcrank.part.v1.Part/Health";

macro_rules! messages {
    ($($name:ident { $($(#[$how:meta])* $field:ident: $type:ty,)* })*) => {$(
        #[derive(Clone, PartialEq, prost::Message)]
        pub struct $name { $($(#[$how])* pub $field: $type,)* }
    )*};
}

messages! {
    Request {
        #[prost(uint64, tag = "1")]
        sequence: u64,
        #[prost(message, optional, tag = "2")]
        commit: Option<Stamp>,
        #[prost(oneof = "RequestKind", tags = "3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
        what: Option<RequestKind>,
    }
    Stamp {
        #[prost(uint64, tag = "1")]
        window: u64,
        #[prost(uint64, tag = "2")]
        iteration: u64,
    }
    Hello {
        #[prost(uint32, tag = "1")]
        protocol: u32,
        #[prost(bytes = "vec", tag = "2")]
        run: Vec<u8>,
        #[prost(uint64, tag = "3")]
        next: u64,
        #[prost(string, tag = "4")]
        units: String,
        #[prost(bytes = "vec", tag = "5")]
        model: Vec<u8>,
    }
    Start {
        #[prost(string, tag = "1")]
        coupling: String,
        #[prost(double, tag = "2")]
        rho: f64,
        #[prost(string, tag = "3")]
        method: String,
        #[prost(double, tag = "4")]
        rtol: f64,
        #[prost(double, tag = "5")]
        step: f64,
    }
    Begin {
        #[prost(double, repeated, tag = "1")]
        loads: Vec<f64>,
    }
    Attempt {
        #[prost(uint64, tag = "1")]
        window: u64,
        #[prost(uint64, tag = "2")]
        iteration: u64,
        #[prost(double, tag = "3")]
        from: f64,
        #[prost(double, tag = "4")]
        to: f64,
        #[prost(double, repeated, tag = "5")]
        loads: Vec<f64>,
        #[prost(double, repeated, tag = "6")]
        shifts: Vec<f64>,
        #[prost(bool, tag = "7")]
        admittance: bool,
    }
    Save {
        #[prost(string, tag = "1")]
        id: String,
    }
    Restore {
        #[prost(string, tag = "1")]
        id: String,
    }
    Observe {}
    Leave {}
    Soften {}
    Correct {
        #[prost(uint64, tag = "1")]
        window: u64,
        #[prost(uint64, tag = "2")]
        iteration: u64,
        #[prost(double, tag = "3")]
        from: f64,
        #[prost(double, tag = "4")]
        to: f64,
        #[prost(string, tag = "5")]
        step: String,
        #[prost(double, repeated, tag = "6")]
        loads: Vec<f64>,
        #[prost(double, repeated, tag = "7")]
        shifts: Vec<f64>,
    }
    Reply {
        #[prost(uint64, tag = "1")]
        sequence: u64,
        #[prost(uint64, tag = "2")]
        nanoseconds: u64,
        #[prost(oneof = "ReplyKind", tags = "3, 4, 5, 6, 7, 8, 9")]
        what: Option<ReplyKind>,
    }
    Welcome {
        #[prost(uint32, tag = "1")]
        protocol: u32,
        #[prost(string, tag = "2")]
        name: String,
        #[prost(bytes = "vec", tag = "3")]
        model: Vec<u8>,
        #[prost(string, tag = "4")]
        units: String,
        #[prost(string, tag = "5")]
        space: String,
        #[prost(message, repeated, tag = "6")]
        ports: Vec<Port>,
        #[prost(string, repeated, tag = "7")]
        capabilities: Vec<String>,
        #[prost(bool, tag = "8")]
        started: bool,
    }
    Port {
        #[prost(string, tag = "1")]
        name: String,
        #[prost(double, repeated, tag = "2")]
        motion: Vec<f64>,
    }
    Started {
        #[prost(bool, tag = "1")]
        in_step: bool,
        #[prost(message, repeated, tag = "2")]
        channels: Vec<Channel>,
    }
    Channel {
        #[prost(string, tag = "1")]
        name: String,
        #[prost(string, tag = "2")]
        unit: String,
    }
    Motions {
        #[prost(double, repeated, tag = "1")]
        motions: Vec<f64>,
        #[prost(message, optional, tag = "2")]
        admittance: Option<Admittance>,
        #[prost(double, tag = "3")]
        error: f64,
        #[prost(bool, tag = "4")]
        rough: bool,
        #[prost(double, repeated, tag = "5")]
        imbalance: Vec<f64>,
    }
    Admittance {
        #[prost(double, repeated, tag = "1")]
        place: Vec<f64>,
        #[prost(double, repeated, tag = "2")]
        velocity: Vec<f64>,
        #[prost(double, repeated, tag = "3")]
        place_by_shift: Vec<f64>,
        #[prost(double, repeated, tag = "4")]
        velocity_by_shift: Vec<f64>,
    }
    Values {
        #[prost(double, repeated, tag = "1")]
        values: Vec<f64>,
    }
    Done {}
    Working {}
    Refusal {
        #[prost(string, tag = "1")]
        why: String,
        #[prost(string, tag = "2")]
        expected: String,
        #[prost(string, tag = "3")]
        found: String,
    }
    HealthRequest {}
    HealthReply {
        #[prost(uint32, tag = "1")]
        protocol: u32,
        #[prost(string, tag = "2")]
        name: String,
        #[prost(bytes = "vec", tag = "3")]
        model: Vec<u8>,
        #[prost(uint32, tag = "4")]
        runs: u32,
        #[prost(uint32, tag = "5")]
        most_runs: u32,
    }
}

impl Copy for Stamp {}

/// A request of a coordinator.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum RequestKind {
    #[prost(message, tag = "3")]
    Hello(Hello),
    #[prost(message, tag = "4")]
    Start(Start),
    #[prost(message, tag = "5")]
    Begin(Begin),
    #[prost(message, tag = "6")]
    Attempt(Attempt),
    #[prost(message, tag = "7")]
    Save(Save),
    #[prost(message, tag = "8")]
    Restore(Restore),
    #[prost(message, tag = "9")]
    Observe(Observe),
    #[prost(message, tag = "10")]
    Leave(Leave),
    #[prost(message, tag = "11")]
    Soften(Soften),
    #[prost(message, tag = "12")]
    Correct(Correct),
}

/// A reply of a part.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ReplyKind {
    #[prost(message, tag = "3")]
    Welcome(Welcome),
    #[prost(message, tag = "4")]
    Started(Started),
    #[prost(message, tag = "5")]
    Motions(Motions),
    #[prost(message, tag = "6")]
    Values(Values),
    #[prost(message, tag = "7")]
    Done(Done),
    #[prost(message, tag = "8")]
    Working(Working),
    #[prost(message, tag = "9")]
    Refusal(Refusal),
}

impl Refusal {
    /// A refusal with a reason alone.
    pub fn because(why: impl Into<String>) -> Refusal {
        Refusal { why: why.into(), ..Refusal::default() }
    }

    /// A refusal with the expected and the found value.
    pub fn of(why: impl Into<String>, expected: impl ToString, found: impl ToString) -> Refusal {
        Refusal { why: why.into(), expected: expected.to_string(), found: found.to_string() }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.expected.is_empty() && self.found.is_empty() {
            true => write!(f, "{}", self.why),
            false => write!(f, "{}: expected {}, found {}", self.why, self.expected, self.found),
        }
    }
}

/// Count of numbers for the motion of one port.
pub const MOTION: usize = 19;

/// The motions of ports as numbers.
pub fn put_motions<'a>(motions: impl IntoIterator<Item = &'a glue::PortMotion>) -> Vec<f64> {
    let mut out = Vec::new();
    for m in motions {
        out.extend(m.place.0);
        out.extend(m.rotation.0);
        [m.velocity, m.spin, m.acceleration, m.spin_rate].iter().for_each(|x| out.extend(x.0));
    }
    out
}

/// The motions of ports from numbers: the expected count, all finite.
pub fn take_motions(numbers: &[f64], ports: usize) -> Result<Vec<glue::PortMotion>, Refusal> {
    sized("motions of ports", numbers, MOTION * ports)?;
    let vector = |x: &[f64]| Vec3::from_slice(x);
    let motion = |x: &[f64]| glue::PortMotion {
        place: vector(&x[..3]),
        rotation: Quat([x[3], x[4], x[5], x[6]]),
        velocity: vector(&x[7..10]),
        spin: vector(&x[10..13]),
        acceleration: vector(&x[13..16]),
        spin_rate: vector(&x[16..19]),
    };
    Ok(numbers.chunks_exact(MOTION).map(motion).collect())
}

/// Refuses a wrong count of numbers, and numbers that are not finite.
pub fn sized(what: &str, numbers: &[f64], size: usize) -> Result<(), Refusal> {
    if numbers.len() != size {
        return Err(Refusal::of(format!("wrong number of {what}"), size, numbers.len()));
    }
    match numbers.iter().position(|x| !x.is_finite()) {
        Some(k) => Err(Refusal::of(format!("number {k} of the {what} is not finite"), "a finite number", numbers[k])),
        None => Ok(()),
    }
}

impl From<&glue::PartResponse> for Motions {
    fn from(r: &glue::PartResponse) -> Motions {
        let admittance = r.admittance.as_ref().map(|y| Admittance {
            place: y.place.values.clone(),
            velocity: y.velocity.values.clone(),
            place_by_shift: y.place_by_shift.values.clone(),
            velocity_by_shift: y.velocity_by_shift.values.clone(),
        });
        let imbalance = Vec::new();
        Motions { motions: put_motions(&r.ports), admittance, error: r.error, rough: r.rough, imbalance }
    }
}

impl From<glue::Corrected> for Motions {
    fn from(c: glue::Corrected) -> Motions {
        Motions { imbalance: c.imbalance, ..Motions::from(&c.response) }
    }
}

impl Motions {
    /// The response of a part with this many ports.
    pub fn response(self, ports: usize) -> Result<glue::PartResponse, Refusal> {
        let n = WIDTH * ports;
        let matrix = |values: Vec<f64>| -> Result<Matrix, Refusal> {
            // a part without shifts may leave its zeros out
            let values = if values.is_empty() { vec![0.0; n * n] } else { values };
            sized("entries of an admittance", &values, n * n)?;
            Ok(Matrix { rows: n, columns: n, values })
        };
        let admittance = match self.admittance {
            None => None,
            Some(y) => Some(glue::Admittance {
                place: matrix(y.place)?,
                velocity: matrix(y.velocity)?,
                place_by_shift: matrix(y.place_by_shift)?,
                velocity_by_shift: matrix(y.velocity_by_shift)?,
            }),
        };
        sized("errors of a window", &[self.error], 1)?;
        Ok(glue::PartResponse {
            ports: take_motions(&self.motions, ports)?,
            admittance,
            error: self.error,
            rough: self.rough,
        })
    }
}

impl Motions {
    /// The answer of a part with this many ports to a correction.
    pub fn corrected(mut self, ports: usize) -> Result<glue::Corrected, Refusal> {
        let imbalance = std::mem::take(&mut self.imbalance);
        if !imbalance.is_empty() {
            sized("loads out of balance", &imbalance, WIDTH * ports)?;
        }
        Ok(glue::Corrected { response: self.response(ports)?, imbalance })
    }
}

/// The names of corrections in the protocol.
const STEPS: [(glue::Correction, &str); 4] = [
    (glue::Correction::Predict, "predict"),
    (glue::Correction::Dynamics, "dynamics"),
    (glue::Correction::Acceleration, "acceleration"),
    (glue::Correction::Position, "position"),
];

/// The name of a correction in the protocol.
pub fn step_word(step: glue::Correction) -> &'static str {
    STEPS.iter().find(|(s, _)| *s == step).map_or("", |(_, word)| word)
}

impl Correct {
    /// The correction it asks for.
    pub fn correction(&self) -> Result<glue::Correction, Refusal> {
        let known = || STEPS.map(|(_, word)| word).join(" or ");
        let found = STEPS.iter().find(|(_, word)| *word == self.step).map(|(step, _)| *step);
        found.ok_or_else(|| Refusal::of("unknown correction", known(), format!("{:?}", self.step)))
    }
}

/// The name of a coupling in the protocol.
pub fn coupling_word(coupling: Coupling) -> &'static str {
    glue::COUPLINGS.iter().find(|(c, _)| *c == coupling).map_or("", |(_, word)| word)
}

impl From<&glue::Solver> for Start {
    fn from(how: &glue::Solver) -> Start {
        let method = how.method.clone().unwrap_or_default();
        let coupling = coupling_word(how.coupling).to_string();
        Start { coupling, rho: how.rho, method, rtol: how.rtol, step: how.step.unwrap_or(0.0) }
    }
}

impl Start {
    /// The solver it asks for.
    pub fn solver(&self) -> Result<glue::Solver, Refusal> {
        let found = glue::COUPLINGS.iter().find(|(_, word)| *word == self.coupling);
        let Some((coupling, _)) = found else {
            let known: Vec<&str> = glue::COUPLINGS.iter().map(|(_, word)| *word).collect();
            return Err(Refusal::of("unknown coupling", known.join(" or "), format!("{:?}", self.coupling)));
        };
        let good = (0.0..=1.0).contains(&self.rho)
            && self.rtol.is_finite()
            && self.rtol > 0.0
            && self.step.is_finite()
            && self.step >= 0.0;
        if !good {
            let found = format!("rho = {}, rtol = {}, step = {}", self.rho, self.rtol, self.step);
            return Err(Refusal::of("options of the solver", "0 ≤ rho ≤ 1, rtol > 0, step ≥ 0", found));
        }
        let method = (!self.method.is_empty()).then(|| self.method.clone());
        let step = (self.step > 0.0).then_some(self.step);
        Ok(glue::Solver { coupling: *coupling, rho: self.rho, method, rtol: self.rtol, step })
    }
}

impl From<&dynamics::Channel> for Channel {
    fn from(c: &dynamics::Channel) -> Channel {
        Channel { name: c.name.clone(), unit: c.unit.to_string() }
    }
}

/// Hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
