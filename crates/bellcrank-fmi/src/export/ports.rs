//! Ports: probes at which other machines can be joined to the one in the FMU.
//!
//! The load of a port is an input (a force and a torque, in the world), its motion an output. So a model with ports is a model
//! with more inputs, forces and recorded channels; `terminalsAndIcons.xml` of FMI 3.0 says which of them belong together.

use super::describe::xml;
use super::{ExportError, matches, refused};
use bellcrank_model::bodies::Orientation;
use bellcrank_model::build;
use bellcrank_model::build::value::Value;
use bellcrank_model::file::suggest::{self, quoted};
use bellcrank_model::fmu::port::{KIND, Member, members};
use bellcrank_model::read::Read;
use std::fmt::Write;

/// Where the terminals are in the archive.
pub const FILE: &str = "terminalsAndIcons/terminalsAndIcons.xml";

/// A port: its name, and the names of its members.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// The name of the probe.
    pub name: String,
    /// What it exchanges: `fx`, `x`, ….
    pub members: Vec<Member>,
}

/// The variable of a member: a channel of the probe, `NAME.x`, or an input, `NAME_fx`, for inputs have names that expressions can use.
fn variable(port: &str, member: &Member) -> String {
    if !member.is_load {
        return format!("{port}.{}", member.name);
    }
    let plain: String = port.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    format!("{plain}_{}", member.name)
}

impl Port {
    /// The names of its variables.
    pub fn variables(&self) -> impl Iterator<Item = String> + '_ {
        self.members.iter().map(|member| variable(&self.name, member))
    }
}

/// The probes that fit patterns.
pub fn chosen(read: &Read, wanted: &[String]) -> Result<Vec<Port>, ExportError> {
    let probes = &read.model.probes;
    for pattern in wanted {
        if !probes.iter().any(|p| matches(pattern, &p.name)) {
            let near = suggest::nearest(pattern, probes.iter().map(|p| p.name.as_str()));
            let help = near.map_or("a port is a probe: write [probe.NAME] with the body and the point".into(), |n| {
                format!("did you mean {}?", quoted(n))
            });
            return refused(format!("the model has no probe {}", quoted(pattern)), help);
        }
    }
    let mut found = Vec::new();
    for probe in probes.iter().filter(|p| wanted.iter().any(|w| matches(w, &p.name))) {
        let name = quoted(&probe.name);
        if probe.relative_to.is_some() {
            return refused(
                format!("probe {name} is seen from a body and cannot be a port"),
                "leave its `relative_to` out: a port moves in the world",
            );
        }
        let Some(body) = probe.end.body else {
            return refused(format!("probe {name} is on the ground and cannot be a port"), "put it on a body");
        };
        let turns = read.model.bodies[body].body.coordinates().orientation() != Orientation::None;
        let all = members(read.model.space).filter(|m| turns || !m.turns);
        found.push(Port { name: probe.name.clone(), members: all.collect() });
    }
    Ok(found)
}

/// A model with the loads of its ports as inputs, and their motions among what is recorded.
pub fn opened(mut model: build::Model, ports: &[Port]) -> Result<build::Model, ExportError> {
    let text = |text: String| Value::Text(text);
    let mut recorded = Vec::new();
    for port in ports {
        let Some(place) = model.entries("probe", &port.name) else {
            let help = "give the model a probe of its own at the same point";
            return refused(format!("probe {} is of an included part and cannot be a port", quoted(&port.name)), help);
        };
        let kept = place.iter().filter(|(key, _)| ["body", "at", "on"].contains(&key.as_str()));
        let place: Vec<(String, Value)> = kept.cloned().collect();
        let (loads, motions): (Vec<Member>, Vec<Member>) = port.members.iter().partition(|m| m.is_load);
        for member in &loads {
            let unit = if member.turns { "N m" } else { "N" };
            let doc = format!("load on the port `{}`, in the world", port.name);
            let entries = [("unit".to_string(), text(unit.into())), ("doc".to_string(), text(doc))];
            model.add("input", &variable(&port.name, member), entries);
        }
        for (kind, turns) in [("force", false), ("torque", true)] {
            let of_kind = loads.iter().filter(|m| m.turns == turns);
            let mut values: Vec<Value> = of_kind.map(|m| text(variable(&port.name, m))).collect();
            if values.is_empty() {
                continue;
            }
            let value = if values.len() == 1 { values.remove(0) } else { Value::List(values) };
            let own = [("type".to_string(), text(kind.into())), (kind.to_string(), value)];
            // a torque has no point
            let place = place.iter().filter(|(key, _)| !turns || key == "body").cloned();
            model.add("force", &format!("port {} {kind}", port.name), own.into_iter().chain(place));
        }
        recorded.extend(motions.iter().map(|m| text(variable(&port.name, m))));
    }
    let given = model.entries("solve", "").and_then(|list| list.iter().find(|(key, _)| key == "record"));
    let mut all = match given.map(|(_, value)| value.clone()) {
        Some(Value::List(list)) => list,
        Some(one) => vec![one],
        None => vec![text("default".into())],
    };
    all.extend(recorded);
    model.set("solve", "", "record", Value::List(all));
    Ok(model)
}

/// `terminalsAndIcons.xml`.
pub fn terminals(ports: &[Port]) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiTerminalsAndIcons fmiVersion=\"3.0\">\n  <Terminals>\n",
    );
    for port in ports {
        let name = xml(&port.name);
        let _ = writeln!(
            out,
            "    <Terminal name=\"{name}\" matchingRule=\"plug\" terminalKind=\"{KIND}\" description=\"load and motion of a point, in \
             the world\">"
        );
        for member in &port.members {
            let (variable, member) = (xml(&variable(&port.name, member)), member.name);
            let _ = writeln!(
                out,
                "      <TerminalMemberVariable variableName=\"{variable}\" memberName=\"{member}\" variableKind=\"signal\"/>"
            );
        }
        out += "    </Terminal>\n";
    }
    out + "  </Terminals>\n</fmiTerminalsAndIcons>\n"
}
