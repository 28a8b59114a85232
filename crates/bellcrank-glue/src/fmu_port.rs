//! The ports of an FMU: which of its variables are loads and motions of a point.

use crate::port::{PortMotion, WIDTH};
use bellcrank_math::{Quat, Vec3};
use bellcrank_model::file::suggest;
use bellcrank_model::fmu::port::{Member, members};
use bellcrank_model::fmu::{Causality, Description, Type};
use bellcrank_model::model::Space;

/// The motion of a port as numbers: place with yaw, pitch and roll, twist, accelerations.
const NUMBERS: usize = 3 * WIDTH;

/// What is known of a number of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Source {
    /// Nothing.
    #[default]
    Absent,
    /// It has this value, whatever the load.
    Held(f64),
    /// A variable, by its place among what the FMU is given or tells.
    Variable(usize),
}

/// A port, and the variables of its loads and motions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FmuPort {
    /// Its name.
    pub name: String,
    loads: [Source; WIDTH],
    motions: [Source; NUMBERS],
}

/// The ports of an FMU with all the variables that they need.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FmuPorts {
    pub list: Vec<FmuPort>,
    /// The numbers of the variables that it is given, and of those that it tells.
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
}

/// A member of a port in an assembly file: a variable, or a number that it has whatever the load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    Variable(String),
    Held(f64),
}

/// What is said of a port: its members by their names.
pub(crate) type SaidPort = (String, Vec<(String, Said)>);

/// The ports that a description shows by itself: terminals with the members of a port, or inputs `PORT_fx`, … beside outputs
/// `PORT.x`, ….
fn shown(description: &Description) -> Vec<SaidPort> {
    let all = || members(Space::Plane).chain(members(Space::Space));
    let told = description.terminals.iter().filter_map(|terminal| {
        let known = terminal.members.iter().filter(|(member, _)| all().any(|m| m.name == member));
        let list: Vec<_> = known.map(|(member, v)| (member.clone(), Said::Variable(v.clone()))).collect();
        list.iter().any(|(member, _)| member == "fx").then(|| (terminal.name.clone(), list))
    });
    let told: Vec<SaidPort> = told.collect();
    if !told.is_empty() {
        return told;
    }
    let variables = &description.variables;
    let plain = |name: &str| name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect::<String>();
    let mut ports = Vec::new();
    for root in variables.iter().filter_map(|v| v.name.strip_suffix("_fx")) {
        let mut name = root.to_string();
        let mut list = Vec::new();
        for v in variables {
            let is_load = v.causality == Causality::Input;
            let parts = if is_load { v.name.rsplit_once('_') } else { v.name.rsplit_once('.') };
            let Some((of, member)) = parts.filter(|(of, _)| plain(of) == root) else { continue };
            if all().any(|m| m.name == member && m.is_load == is_load) {
                list.push((member.to_string(), Said::Variable(v.name.clone())));
                if !is_load {
                    name = of.to_string();
                }
            }
        }
        ports.push((name, list));
    }
    ports
}

impl FmuPorts {
    /// The ports of an FMU: those that are said, or those that its file shows. Plane or space, too.
    pub fn of(description: &Description, said: Vec<SaidPort>) -> Result<(FmuPorts, Space), String> {
        let said = if said.is_empty() { shown(description) } else { said };
        if said.is_empty() {
            return Err("has no ports: neither terminals nor variables `PORT_fx`, `PORT.x`, …\n\
                        help: name the variables of a port: [part.NAME.port.PORT] with fx = \"…\", x = \"…\", vx = \"…\", …"
                .into());
        }
        let in_space = |list: &[(String, Said)]| list.iter().any(|(m, _)| ["z", "vz", "fz"].contains(&m.as_str()));
        let space = if said.iter().any(|(_, list)| in_space(list)) { Space::Space } else { Space::Plane };
        let mut ports = FmuPorts::default();
        for (name, list) in &said {
            let port = ports.port(description, space, name, list)?;
            ports.list.push(port);
        }
        Ok((ports, space))
    }

    fn port(
        &mut self,
        description: &Description,
        space: Space,
        name: &str,
        list: &[(String, Said)],
    ) -> Result<FmuPort, String> {
        let mut port =
            FmuPort { name: name.to_string(), loads: Default::default(), motions: [Source::Absent; NUMBERS] };
        for (key, said) in list {
            let all = || members(space).map(|m| m.name);
            let Some(member) = members(space).find(|m| m.name == key) else {
                let near = suggest::nearest(key, all()).map_or(String::new(), |n| format!("did you mean `{n}`? "));
                let all: Vec<&str> = all().collect();
                return Err(format!(
                    "has a port `{name}` with an unknown member `{key}`\nhelp: {near}members are {}",
                    all.join(", ")
                ));
            };
            let source = self.source(description, name, &member, said)?;
            match member.is_load {
                true => port.loads[member.place] = source,
                false => port.motions[member.place] = source,
            }
        }
        port.check(space)?;
        Ok(port)
    }

    fn source(&mut self, description: &Description, port: &str, m: &Member, said: &Said) -> Result<Source, String> {
        let variable = match said {
            Said::Held(x) if !m.is_load && m.place < WIDTH => return Ok(Source::Held(*x)),
            Said::Held(_) => {
                return Err(format!(
                    "has a port `{port}` whose `{}` is a number\nhelp: only places and angles can be held; write a variable",
                    m.name
                ));
            }
            Said::Variable(name) => name,
        };
        let of = if m.is_load { Causality::Input } else { Causality::Output };
        let number = description.find(variable, of).map_err(|(why, near)| {
            let near = near.map_or(String::new(), |near| format!("\nhelp: {near}"));
            format!("has a port `{port}` whose `{}` does not fit: {why}{near}", m.name)
        })?;
        let list = if m.is_load { &mut self.inputs } else { &mut self.outputs };
        if m.is_load && list.contains(&number) {
            return Err(format!("has a port `{port}` whose `{}` is another load already: `{variable}`", m.name));
        }
        list.push(number);
        Ok(Source::Variable(list.len() - 1))
    }
}

impl FmuPort {
    /// Checks that the port moves where it is loaded, and is loaded where it moves.
    fn check(&mut self, space: Space) -> Result<(), String> {
        let name = |place: usize, is_load: bool| {
            let found = members(space).find(|m| m.is_load == is_load && m.place == place);
            found.map_or("", |m| m.name)
        };
        let port = &self.name;
        for k in members(space).filter(|m| m.is_load).map(|m| m.place) {
            let (load, place, rate) = (self.loads[k], self.motions[k], self.motions[WIDTH + k]);
            let missing = |what: &str| {
                Err(format!(
                    "has a port `{port}` without `{what}`\nhelp: name a variable, or hold the motion there with a number for `{}`",
                    name(k, false)
                ))
            };
            match (place, load, rate) {
                (Source::Held(_), ..) => self.motions[WIDTH + k] = Source::Held(0.0),
                // a point: nothing turns, and nothing may turn it
                (Source::Absent, Source::Absent, Source::Absent) if k > 2 => {}
                (Source::Absent, ..) => return missing(name(k, false)),
                (_, Source::Absent, _) => return missing(name(k, true)),
                (.., Source::Absent) => return missing(name(WIDTH + k, false)),
                _ => {}
            }
            if self.motions[WIDTH + k] == Source::Held(0.0) {
                self.motions[2 * WIDTH + k] = Source::Held(0.0);
            }
        }
        let turning: Vec<bool> = (3..WIDTH).map(|k| self.motions[k] != Source::Absent).collect();
        if space == Space::Space && turning.iter().any(|t| *t != turning[0]) {
            return Err(format!(
                "has a port `{port}` with some of the angles roll, pitch and yaw\nhelp: name all or none"
            ));
        }
        Ok(())
    }

    /// Whether a load in some direction acts on it.
    pub fn takes(&self, direction: usize) -> bool {
        matches!(self.loads[direction], Source::Variable(_))
    }

    /// Whether its accelerations are told.
    pub fn accelerates(&self) -> bool {
        (0..WIDTH).all(|k| {
            let moves = matches!(self.motions[k], Source::Variable(_));
            !moves || self.motions[2 * WIDTH + k] != Source::Absent
        })
    }

    /// Puts a load into the inputs of the FMU; the direction of one that it cannot take is refused.
    pub fn put(&self, load: &[f64], inputs: &mut [f64]) -> Result<(), String> {
        for (k, x) in load.iter().enumerate() {
            match self.loads[k] {
                Source::Variable(n) => inputs[n] = *x,
                // a point bears no torque; what rounding leaves of one is none
                _ if self.motions[k] == Source::Absent && k > 2 => {
                    let force = load[..3].iter().fold(0.0f64, |m, f| m.max(f.abs()));
                    if x.abs() > 1e-9 * (1.0 + force) {
                        return Err(format!(
                            "is turned by a torque of {x:.3e} N m at its port `{}`, which has no variables for it\n\
                             help: join the port at its own point, by something that gives no torque, or name its angle and torque",
                            self.name
                        ));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Its motion, from what the FMU tells.
    pub fn motion(&self, outputs: &[f64]) -> PortMotion {
        let x = self.motions.map(|source| match source {
            Source::Absent => 0.0,
            Source::Held(x) => x,
            Source::Variable(n) => outputs[n],
        });
        let vector = |k: usize| Vec3([x[k], x[k + 1], x[k + 2]]);
        let about = |axis: Vec3, angle: f64| Quat::exp(axis * angle);
        PortMotion {
            place: vector(0),
            rotation: about(Vec3::Z, x[5]).then(about(Vec3::Y, x[4])).then(about(Vec3::X, x[3])),
            velocity: vector(6),
            spin: vector(9),
            acceleration: vector(12),
            spin_rate: vector(15),
        }
    }
}

/// Outputs that become channels of a part: all numbers, by their numbers.
pub(crate) fn channels(description: &Description) -> Vec<usize> {
    let numbers = description.variables.iter().enumerate();
    let is_number = |of: Option<Type>| of.is_some_and(|of| of != Type::Text);
    numbers.filter(|(_, v)| v.causality == Causality::Output && is_number(v.of)).map(|(n, _)| n).collect()
}
