//! The sections of a model: bodies, joints, and what acts along them.

use crate::merge::{self, Bodies};
use crate::names::{Names, symbol};
use crate::options::RobotOptions;
use crate::robot::{Actuator, Joint, JointKind, Robot, Tie};
use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::build::Model;
use bellcrank_model::build::value::Value;
use std::collections::HashMap;

/// A model, the names of its bodies, and those of its joints by their numbers.
pub struct Written {
    pub model: Model,
    pub names: Vec<String>,
    pub joints: HashMap<usize, String>,
    /// All names of bodies, joints and forces.
    pub taken: Names,
}

/// The entries of a section.
pub type Entries = Vec<(String, Value)>;

pub fn text(x: &str) -> Value {
    Value::Text(x.to_string())
}

pub fn vector(v: Vec3) -> Value {
    Value::List(v.0.map(|x| Value::Number(x + 0.0)).to_vec())
}

/// A rotation or an inertia, by rows.
pub fn matrix(m: &Mat3) -> Value {
    Value::List((0..3).map(|i| vector(m.row(i))).collect())
}

pub fn entries<const N: usize>(list: [(&str, Value); N]) -> Entries {
    list.map(|(key, value)| (key.to_string(), value)).to_vec()
}

struct Writer<'a> {
    robot: &'a mut Robot,
    bodies: &'a Bodies,
    options: &'a RobotOptions,
    model: Model,
    names: Names,
    symbols: Names,
    body_names: Vec<String>,
    /// The names of the joints that stay, by number.
    joint_names: HashMap<usize, String>,
}

/// Writes the sections.
pub fn write(robot: &mut Robot, bodies: &Bodies, options: &RobotOptions) -> Written {
    let g = robot.gravity;
    let model = Model::spatial(robot.name.clone()).gravity([g[0], g[1], g[2]]);
    let mut symbols = Names::default();
    // what expressions know already
    ["t", "pi", "e", "time", "tau"].iter().for_each(|name| _ = symbols.quiet(name, "input"));
    let mut w = Writer {
        robot,
        bodies,
        options,
        model,
        names: Names::new(),
        symbols,
        body_names: Vec::new(),
        joint_names: HashMap::new(),
    };
    w.bodies();
    w.joints();
    w.ties();
    w.armatures();
    // inputs share their names with forces alone
    w.body_names.iter().chain(w.joint_names.values()).for_each(|name| _ = w.symbols.quiet(name, "input"));
    w.along();
    w.actuators();
    Written { model: w.model, names: w.body_names, joints: w.joint_names, taken: w.names }
}

impl Writer<'_> {
    fn bodies(&mut self) {
        for body in &self.bodies.list {
            let name = self.robot.links[body.lead].name.clone();
            let name = self.names.give(&name, "link", &mut self.robot.told);
            let r = self.robot.links[body.lead].pose.r;
            let inertia = merge::inertia(self.robot, body, self.options);
            let inertia = r.transpose() * inertia * r;
            // rounding of the rotation leaves no asymmetry
            let inertia = (inertia + inertia.transpose()) * 0.5;
            let entries = entries([
                ("mass", Value::Number(body.inertial.mass)),
                ("inertia", matrix(&inertia)),
                ("at", vector(body.inertial.centre_or(self.robot.links[body.lead].pose.p))),
                ("orientation", matrix(&r)),
            ]);
            self.model.add("body", &name, entries);
            self.body_names.push(name);
        }
    }

    fn body(&self, link: Option<usize>) -> Value {
        text(self.bodies.end(link).map_or("ground", |b| &self.body_names[b]))
    }

    fn joints(&mut self) {
        for &k in &self.bodies.joints {
            let joint = self.robot.joints[k].clone();
            if joint.kind == JointKind::Free {
                continue;
            }
            let name = self.names.give(&joint.name, "joint", &mut self.robot.told);
            let between = Value::List(joint.between.map(|l| self.body(l)).to_vec());
            let mut list = entries([("type", text(joint.kind.word())), ("between", between), ("at", vector(joint.at))]);
            if !matches!(joint.kind, JointKind::Ball | JointKind::Fixed) {
                list.push(("axis".into(), vector(joint.axes[0])));
            }
            if joint.kind == JointKind::Universal {
                list.push(("axis2".into(), vector(joint.axes[1])));
            }
            if joint.kind == JointKind::Screw {
                list.push(("pitch".into(), Value::Number(joint.pitch)));
            }
            if joint.closes {
                list.push(("tree".into(), Value::Flag(false)));
            }
            self.model.add("joint", &name, list);
            self.joint_names.insert(k, name);
        }
    }

    fn ties(&mut self) {
        for tie in std::mem::take(&mut self.robot.ties) {
            let Tie { joints, ratio, offset, .. } = tie;
            let found = joints.map(|k| k.and_then(|k| self.joint_names.get(&k)).cloned());
            let why = "a joint of it does not move, or has several coordinates";
            let single = |k: Option<usize>| k.is_none_or(|k| self.robot.joints[k].kind.is_single());
            let fits = joints.iter().all(|k| single(*k));
            let (name, list) = match (found, joints[0]) {
                (_, _) if !self.options.ties => {
                    self.robot.told.leave("the tie", "ties are not wanted", tie.name);
                    continue;
                }
                ([Some(first), Some(second)], _) if fits && ratio != 0.0 => {
                    let joints = Value::List(vec![text(&first), text(&second)]);
                    let list = entries([
                        ("type", text("tie")),
                        ("joints", joints),
                        ("ratio", Value::Number(ratio)),
                        ("offset", Value::Number(offset)),
                    ]);
                    (self.names.quiet(&tie.name, "tie"), list)
                }
                ([_, Some(second)], first) if fits && (first.is_none() || ratio == 0.0) => {
                    let turns = joints[1].is_some_and(|k| self.robot.joints[k].kind == JointKind::Revolute);
                    let key = if turns { "angle" } else { "position" };
                    let list =
                        entries([("type", text("drive")), ("joint", text(&second)), (key, Value::Number(offset))]);
                    (self.names.quiet(&tie.name, "hold"), list)
                }
                _ => {
                    self.robot.told.leave("the tie", why, tie.name);
                    continue;
                }
            };
            self.model.add("joint", &name, list);
        }
    }

    /// The joints that stay and have one coordinate, with their names.
    fn single(&self) -> Vec<(Joint, String)> {
        let known = self.bodies.joints.iter().filter_map(|k| Some((k, self.joint_names.get(k)?)));
        known
            .map(|(k, name)| (self.robot.joints[*k].clone(), name.clone()))
            .filter(|(j, _)| j.kind.is_single())
            .collect()
    }

    fn armatures(&mut self) {
        for (joint, name) in self.single() {
            if joint.along.armature > 0.0 {
                let own = self.names.quiet(&format!("{name}_armature"), "joint");
                let inertia = Value::Number(joint.along.armature);
                let list = entries([("type", text("armature")), ("joint", text(&name)), ("inertia", inertia)]);
                self.model.add("joint", &own, list);
            }
        }
    }

    fn force(&mut self, name: String, kind: &str, joint: &str, more: Entries) {
        let mut list = entries([("type", text(kind)), ("joint", text(joint))]);
        list.extend(more);
        let name = self.names.quiet(&name, "force");
        self.model.add("force", &name, list);
    }

    /// Friction, springs and stops.
    fn along(&mut self) {
        let names: Vec<usize> = self.bodies.joints.clone();
        for k in names {
            let (joint, Some(name)) = (self.robot.joints[k].clone(), self.joint_names.get(&k).cloned()) else {
                continue;
            };
            let a = joint.along;
            if !joint.kind.is_single() {
                let several = "the joint has several coordinates";
                let lost = [
                    ("damping", a.damping),
                    ("friction", a.friction),
                    ("stiffness", a.stiffness),
                    ("armature", a.armature),
                ];
                for (what, _) in lost.iter().filter(|(_, x)| *x != 0.0) {
                    self.robot.told.leave(&format!("the {what}"), several, name.clone());
                }
                continue;
            }
            if a.damping > 0.0 || a.friction > 0.0 {
                if self.options.friction {
                    let given = [("viscous", a.damping), ("coulomb", a.friction)];
                    let list = given.iter().filter(|(_, x)| *x > 0.0);
                    let list = list.map(|(key, x)| (key.to_string(), Value::Number(*x))).collect();
                    self.force(format!("{name}_friction"), "joint-friction", &name, list);
                } else {
                    self.robot.told.leave("the friction", "friction is not wanted", name.clone());
                }
            }
            if a.damping < 0.0 || a.friction < 0.0 || a.stiffness < 0.0 {
                self.robot.told.leave("negative friction or stiffness", "it would drive the joint", name.clone());
            }
            if a.stiffness > 0.0 {
                let list = entries([("stiffness", Value::Number(a.stiffness)), ("rest", Value::Number(a.rest))]);
                self.force(format!("{name}_spring"), "joint-spring", &name, list);
            }
            self.stop(&joint, &name);
        }
    }

    fn stop(&mut self, joint: &Joint, name: &str) {
        let Some([lower, upper]) = joint.along.limits else { return };
        let Some(stiffness) = self.options.stops else {
            let why = "no file says how stiff the stops are; `--stops K` adds them, with K in N m/rad or N/m";
            return self.robot.told.leave("the limits", why, name);
        };
        if lower >= upper {
            return self.robot.told.leave("the limits", "the lower one is not below the upper one", name);
        }
        let list = entries([
            ("lower", Value::Number(lower)),
            ("upper", Value::Number(upper)),
            ("stiffness", Value::Number(stiffness)),
        ]);
        self.force(format!("{name}_stop"), "stop", name, list);
        if !(lower..=upper).contains(&0.0) {
            let nearest = if lower > 0.0 { lower } else { upper };
            let key = if joint.kind == JointKind::Revolute { "angle" } else { "position" };
            let start = Value::Table(vec![(key.to_string(), Value::Number(nearest))]);
            self.model.add("start", "", vec![(name.to_string(), start)]);
            self.robot.told.note(format!("joint `{name}` starts at its limit {nearest}, for zero is outside"));
        }
    }

    fn actuators(&mut self) {
        let mut driven: Vec<usize> = Vec::new();
        for actuator in std::mem::take(&mut self.robot.actuators) {
            if !self.options.actuators {
                self.robot.told.leave("the actuator", "actuators are not wanted", actuator.name);
                continue;
            }
            let Some(joint) = self.joint_names.get(&actuator.joint).cloned() else {
                self.robot.told.leave("the actuator", "its joint does not move", actuator.name);
                continue;
            };
            if !self.robot.joints[actuator.joint].kind.is_single() {
                self.robot.told.leave("the actuator", "its joint has several coordinates", actuator.name);
                continue;
            }
            driven.push(actuator.joint);
            self.actuator(&actuator, &joint);
        }
        if !self.options.inputs {
            return;
        }
        for k in self.bodies.joints.clone() {
            let Some(name) = self.joint_names.get(&k).cloned() else { continue };
            if self.robot.joints[k].kind.is_single() && !driven.contains(&k) {
                let input = self.input(&format!("tau_{name}"), self.robot.joints[k].kind.unit());
                self.force(format!("{name}_motor"), "joint-actuator", &name, vec![("effort".into(), text(&input))]);
            }
        }
    }

    /// A new input; its name.
    fn input(&mut self, wanted: &str, unit: &str) -> String {
        let name = self.symbols.quiet(&symbol(wanted), "input");
        let list = if unit.is_empty() { Vec::new() } else { entries([("unit", text(unit))]) };
        let list = if list.is_empty() { entries([("start", Value::Number(0.0))]) } else { list };
        self.model.add("input", &name, list);
        name
    }

    fn actuator(&mut self, a: &Actuator, joint: &str) {
        let input = self.input(&a.name, "");
        let limits = a.limits.map(|l| ("limits".to_string(), Value::List(l.map(Value::Number).to_vec())));
        // a servo: the effort as a whole is limited
        if a.gain > 0.0 && a.gain == a.stiffness && a.bias == 0.0 && a.damping >= 0.0 && limits.is_some() {
            let mut list = entries([("reference", text(&input)), ("kp", Value::Number(a.gain))]);
            if a.damping > 0.0 {
                list.push(("kd".into(), Value::Number(a.damping)));
            }
            list.extend(limits);
            return self.force(a.name.clone(), "pid", joint, list);
        }
        let effort = match (a.gain, a.bias) {
            (1.0, 0.0) => input,
            (gain, 0.0) => format!("{gain:?} * {input}"),
            (gain, bias) => format!("{gain:?} * {input} + {bias:?}"),
        };
        let mut list = vec![("effort".to_string(), text(&effort))];
        let passive = a.stiffness != 0.0 || a.damping != 0.0;
        if passive && limits.is_some() {
            self.robot.told.leave("the limits of the force", "they would act on a sum of two forces", a.name.clone());
        } else {
            list.extend(limits);
        }
        self.force(a.name.clone(), "joint-actuator", joint, list);
        if a.stiffness < 0.0 || a.damping < 0.0 {
            self.robot.told.leave("negative feedback gains", "they would drive the joint", a.name.clone());
        } else if passive {
            let list = entries([("stiffness", Value::Number(a.stiffness)), ("damping", Value::Number(a.damping))]);
            self.force(format!("{}_feedback", a.name), "joint-spring", joint, list);
        }
    }
}

impl crate::robot::Inertial {
    /// The centre of mass; of what has none, another point.
    pub fn centre_or(&self, other: Vec3) -> Vec3 {
        if self.mass == 0.0 && self.inertia == Mat3::ZERO { other } else { self.centre }
    }
}

impl JointKind {
    /// The unit of an effort along its coordinate.
    fn unit(self) -> &'static str {
        if self == JointKind::Revolute { "N m" } else { "N" }
    }
}
