//! Equalities and actuators.

use super::MjcfReader;
use crate::robot::{Actuator, Along, Joint, JointKind, Pose, Tie};
use crate::xml::El;
use bellcrank_math::{Quat, Vec3};
use bellcrank_model::file::Diagnostic;
use bellcrank_model::file::suggest::quoted;

/// The elements of actuators that are shorthands of `<general>`.
const SHORTHANDS: [&str; 4] = ["general", "motor", "position", "velocity"];

/// gain · u + bias₀ + bias₁ · length + bias₂ · velocity, as MuJoCo has it.
#[derive(Clone, Copy)]
struct ActuatorLaw {
    gain: f64,
    bias: [f64; 3],
    /// Whether the bias counts.
    affine: bool,
    gear: f64,
    force: Option<[f64; 2]>,
}

impl<'a> MjcfReader<'a> {
    pub fn equalities(&mut self, root: El<'a>) {
        let all: Vec<El> = root.all("equality").flat_map(|s| s.children().collect::<Vec<_>>()).collect();
        for (k, el) in all.into_iter().enumerate() {
            let name = el.attribute("name").map_or_else(|| format!("equality{k}"), str::to_string);
            if self.defaults.of(el, None).attribute("active") == Some("false") {
                self.robot.told.leave("the equality", "it is not active", name);
                continue;
            }
            let done = match el.name() {
                "connect" | "weld" => self.closing(el, name),
                "joint" => self.tie(el, name),
                other => {
                    self.robot.told.leave("the equality", &format!("<{other}> has no counterpart"), name);
                    Ok(())
                }
            };
            self.problems.take(done);
        }
    }

    fn link(&self, el: El<'a>, key: &str) -> Result<Option<usize>, Diagnostic> {
        match el.attribute(key) {
            None | Some("world") => Ok(None),
            Some(name) => self.links.get(name).copied().map(Some).ok_or_else(|| {
                el.error(format!("`{key}` of {} is {}, which is no body of the file", el.words(), quoted(name)))
            }),
        }
    }

    /// Two bodies that share a point, or all of their motion.
    fn closing(&mut self, el: El<'a>, name: String) -> Result<(), Diagnostic> {
        let site = |key: &str| el.attribute(key).and_then(|s| self.sites.get(s)).copied();
        let pose = |l: Option<usize>| l.map_or(Pose::IDENTITY, |l| self.robot.links[l].pose);
        let welds = el.name() == "weld";
        let (between, at) = match (site("site1"), site("site2")) {
            (Some((first, a)), Some((second, b))) => {
                let apart = (a.p - b.p).norm();
                if apart > 1e-6 {
                    let why = "its sites are apart where all joints are zero";
                    self.robot.told.leave("the equality", why, name);
                    return Ok(());
                }
                ([first, second], a.p)
            }
            _ => {
                let between = [self.link(el, "body1")?, self.link(el, "body2")?];
                let anchor = Vec3(el.some("anchor")?.unwrap_or_default());
                let own = pose(between[0]);
                (between, own.p + own.r * anchor)
            }
        };
        if let Some(r) = el.some::<7>("relpose")?.filter(|r| welds && r[3..].iter().any(|x| *x != 0.0)) {
            let wanted = Pose { p: Vec3::from_slice(&r[..3]), r: Quat([r[3], r[4], r[5], r[6]]).normalized().matrix() };
            let there = pose(between[1]).seen_from(&pose(between[0]));
            let off = (wanted.p - there.p).norm()
                + (wanted.r.column(0) - there.r.column(0)).norm()
                + (wanted.r.column(1) - there.r.column(1)).norm();
            if off > 1e-5 {
                let why = "its `relpose` is another than where all joints are zero";
                self.robot.told.leave("the equality", why, name);
                return Ok(());
            }
        }
        let kind = if welds { JointKind::Fixed } else { JointKind::Ball };
        let (axes, along) = ([Vec3::Z, Vec3::X], Along::default());
        self.robot.told.note("equalities hold exactly, where MuJoCo has springs");
        self.robot.joints.push(Joint {
            name,
            span: el.span(),
            kind,
            between,
            at,
            axes,
            pitch: 0.0,
            closes: true,
            along,
        });
        Ok(())
    }

    /// y = c₀ + c₁ x of joint coordinates, both from where the robot is drawn.
    fn tie(&mut self, el: El<'a>, name: String) -> Result<(), Diagnostic> {
        let joint = |key: &str| match el.attribute(key) {
            None => Ok(None),
            Some(of) => self.joints.get(of).map(|k| Some(k.number)).ok_or_else(|| {
                el.error(format!("`{key}` of {} is {}, which is no joint of the file", el.words(), quoted(of)))
            }),
        };
        let (second, first) = (joint("joint1")?, joint("joint2")?);
        let with = self.defaults.of(el, None);
        let c = with.numbers("polycoef")?.unwrap_or_else(|| vec![0.0, 1.0]);
        let at = |k: usize| c.get(k).copied().unwrap_or(0.0);
        if c.iter().skip(2).any(|x| *x != 0.0) && first.is_some() {
            self.robot.told.leave("the equality", "its polynomial is not a line", name);
            return Ok(());
        }
        self.robot.ties.push(Tie { name, span: el.span(), joints: [first, second], ratio: at(1), offset: at(0) });
        Ok(())
    }

    pub fn actuators(&mut self, root: El<'a>) {
        let all: Vec<El> = root.all("actuator").flat_map(|s| s.children().collect::<Vec<_>>()).collect();
        for (k, el) in all.into_iter().enumerate() {
            let joint = el.attribute("joint").or(el.attribute("jointinparent"));
            let name = el.attribute("name").map(str::to_string);
            let name = name.or(joint.map(|j| format!("{j}_drive"))).unwrap_or_else(|| format!("actuator{k}"));
            let done = self.actuator(el, joint, name);
            self.problems.take(done);
        }
    }

    fn actuator(&mut self, el: El<'a>, joint: Option<&str>, name: String) -> Result<(), Diagnostic> {
        let mut leave = |why: &str| {
            self.robot.told.leave("the actuator", why, name.clone());
            Ok(())
        };
        if !SHORTHANDS.contains(&el.name()) {
            return leave(&format!("<{}> has no counterpart", el.name()));
        }
        let Some(joint) = joint else { return leave("it acts on no joint") };
        let Some(known) = self.joints.get(joint).copied() else {
            return Err(el.error(format!("{} acts on {}, which is no joint of the file", el.words(), quoted(joint))));
        };
        let mut law = ActuatorLaw { gain: 1.0, bias: [0.0; 3], affine: false, gear: 1.0, force: None };
        let mut limited = None;
        let chain = self.defaults.chain(el.attribute("class"));
        let behind = chain.iter().rev().flat_map(|d| d.children().filter(|c| SHORTHANDS.contains(&c.name())));
        for part in behind.chain([el]) {
            for (key, odd) in [("dyntype", "none"), ("gaintype", "fixed")] {
                if part.attribute(key).is_some_and(|v| v != odd) {
                    return leave(&format!("its `{key}` is not `{odd}`"));
                }
            }
            if part.attribute("biastype").is_some_and(|v| v != "none" && v != "affine") {
                return leave("its `biastype` has no counterpart");
            }
            if part.numbers("timeconst")?.is_some_and(|t| t.first().is_some_and(|t| *t > 0.0)) {
                return leave("its `timeconst` has no counterpart");
            }
            if part.attribute("dampratio").is_some() {
                return leave("its `dampratio` depends on the pose");
            }
            law.apply(part)?;
            if let Some(range) = part.some::<2>("forcerange")? {
                law.force = Some(range);
            }
            limited = part.attribute("forcelimited").or(limited);
        }
        let ActuatorLaw { gain, gear, force, .. } = law;
        let bias = if law.affine { law.bias } else { [0.0; 3] };
        let force = force.filter(|_| limited != Some("false"));
        let mut limits = force.map(|f| f.map(|x| x * gear));
        if let Some([a, b]) = &mut limits
            && a > b
        {
            std::mem::swap(a, b);
        }
        self.robot.actuators.push(Actuator {
            name,
            joint: known.number,
            gain: gear * gain,
            bias: gear * (bias[0] + bias[1] * gear * known.zero) + 0.0,
            stiffness: -bias[1] * gear * gear + 0.0,
            damping: -bias[2] * gear * gear + 0.0,
            limits,
        });
        Ok(())
    }
}

impl ActuatorLaw {
    /// What an element says, over what was said before.
    fn apply(&mut self, el: El) -> Result<(), Diagnostic> {
        if let Some(gear) = el.numbers("gear")?.and_then(|g| g.first().copied()) {
            self.gear = gear;
        }
        match el.name() {
            "motor" => (self.gain, self.bias, self.affine) = (1.0, [0.0; 3], false),
            "position" => {
                let kp = el.number("kp")?.unwrap_or(if self.bias[1] != 0.0 { self.gain } else { 1.0 });
                let kv = el.number("kv")?.unwrap_or(-self.bias[2]);
                (self.gain, self.bias, self.affine) = (kp, [0.0, -kp, -kv], true);
            }
            "velocity" => {
                let kv = el.number("kv")?.unwrap_or(if self.bias[2] != 0.0 { self.gain } else { 1.0 });
                (self.gain, self.bias, self.affine) = (kv, [0.0, 0.0, -kv], true);
            }
            _ => {
                if let Some(gain) = el.numbers("gainprm")?.and_then(|g| g.first().copied()) {
                    self.gain = gain;
                }
                if let Some(bias) = el.numbers("biasprm")? {
                    (0..3).for_each(|k| self.bias[k] = bias.get(k).copied().unwrap_or(0.0));
                }
                if let Some(kind) = el.attribute("biastype") {
                    self.affine = kind == "affine";
                }
            }
        }
        Ok(())
    }
}
