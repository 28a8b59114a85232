//! `[force.NAME]`: what acts between bodies, on one of them, or along a joint coordinate.

use super::Reader;
use super::fields::force_fields;
use crate::bodies::{Coordinates, Orientation, each};
use crate::dynamics::BY_VALUE;
use crate::file::*;
use crate::forces::{self, Along, Carrier, Followed};
use crate::frames::{Attachment, Frame};
use crate::joints::{self, Axes, Motion};
use crate::model::{End, ForceEntry, JointEntry, Place, Shape};
use bellcrank_math::{Mat3, Vec3};
use std::sync::Arc;

impl<'a> Reader<'a> {
    pub(super) fn read_force(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        use forces::Ends;
        let what = format!("force {}", suggest::quoted(name));
        let words: Vec<&str> = forces::CATALOG.iter().map(|k| k.name).collect();
        let kind_name = choose(node, &what, "type", &words)?;
        let kind = forces::CATALOG.iter().find(|k| k.name == kind_name).expect("chosen from the catalog");
        self.law_of.set(Place::Force(self.model.forces.len()));
        let values = self.fields_of_state(node, &what, &force_fields(kind))?;
        let (mut acts_on, mut carrier, mut acts_on_both, mut measures) = (None, None, None, None);
        let free = !values.has("at") && !values.has("on") && !self.is_marked(&values);
        let ends = match kind.ends {
            Ends::One => vec![self.acted_end(&values)?],
            Ends::Joint => {
                let (motion, ends) = self.joint_coordinate(&values)?;
                acts_on = Some(Along { motion, first: 0 });
                carrier = self.carrier(values.name("joint").name);
                ends.to_vec()
            }
            Ends::Control => {
                let (motion, acted) = self.joint_coordinate(&values)?;
                let (measured, mut ends, rate) = match values.optional_name("measure") {
                    Some(channel) => self.measure(channel, &values)?,
                    None => (motion, acted.to_vec(), false),
                };
                // a joint that measures itself has its two ends once
                let first = if ends == acted { 0 } else { 2 };
                ends.extend(&acted[..first]);
                measures = Some((Along { motion: measured, first: 0 }, rate));
                acts_on = Some(Along { motion, first });
                ends
            }
            Ends::Joints => {
                let (motions, ends) = self.both_coordinates(&values)?;
                acts_on_both = Some(motions);
                ends
            }
            // a torque has no point: the place may be left out
            Ends::Turning if free => self.turning_ends(&values, self.two_bodies(&values)?).to_vec(),
            Ends::Centres if free => self.two_bodies(&values)?.map(|body| self.middle_end(body)).to_vec(),
            Ends::Several => self.several_ends(&values)?,
            Ends::Surfaces | Ends::Wheel if free => {
                let bodies = self.two_bodies(&values)?;
                let axes = |k: usize| match kind.ends {
                    Ends::Wheel => self.road_or_wheel(&values, k),
                    _ => self.facing(values.optional_vector("normal")),
                };
                let place = |body: Option<usize>| self.world(&self.middle_end(body));
                [0, 1].map(|k| self.attach_world(bodies[k], place(bodies[k]), self.axes_here() * axes(k))).to_vec()
            }
            _ => {
                let axes = match kind.ends {
                    Ends::Wheel => Axes::Road,
                    Ends::Turning => Axes::Turning,
                    Ends::Surfaces => Axes::Facing,
                    _ => Axes::None,
                };
                let two_points = matches!(kind.ends, Ends::Points | Ends::Centres | Ends::Surfaces | Ends::Wheel);
                self.ends(&values, self.two_bodies(&values)?, axes, two_points)?.to_vec()
            }
        };
        let second = acts_on_both.map(|both| both[1]).or(acts_on.map(|along: Along| along.motion));
        values.check_turning(second.is_some_and(|motion| motion.turns()))?;
        if let Some((Along { motion, .. }, rate)) = measures {
            let units = [["m", "rad"], ["m/s", "rad/s"]];
            values.check_unit("reference", units[usize::from(rate)][usize::from(motion.turns())])?;
        }
        let placement = forces::Placement { acts_on, carrier, acts_on_both, measures, ..self.placement(kind, &ends) };
        let force = (kind.make)(&values, &placement)?;
        if let Some(Followed::Joint(joint)) = force.follows(BY_VALUE) {
            self.keep_reaction(joint, &values)?;
        }
        self.check_laws(&values, force.as_ref())?;
        for (k, end) in ends.iter().enumerate() {
            self.check_place(&values, end, force.rotational(k))?;
        }
        let entry = ForceEntry { name: name.to_string(), kind: kind.name, force: Arc::from(force), ends };
        self.model.forces.push(entry);
        Ok(())
    }

    /// What a force may know of the bodies at its ends.
    fn placement(&self, kind: &forces::Kind, ends: &[End]) -> forces::Placement {
        let frame = |e: &End| Frame { p: self.world(e), r: self.axes_of(e), ..Frame::default() };
        let mass = |b: usize| each!(&self.model.bodies[b].body, b => b.mass());
        let radius = |b: usize| match self.model.bodies[b].shape {
            Shape::Sphere { radius } => Some(radius),
            Shape::Cylinder { radius, .. } if self.plane || kind.ends == forces::Ends::Wheel => Some(radius),
            _ => None,
        };
        forces::Placement {
            points: ends.iter().map(|e| self.world(e)).collect(),
            frames: ends.iter().map(frame).collect(),
            angles: ends.iter().map(|e| self.drawn_angle(e)).collect(),
            masses: ends.iter().map(|e| e.body.map(mass)).collect(),
            radii: ends.iter().map(|e| e.body.and_then(radius)).collect(),
            space: self.model.space,
            axes: self.axes_here(),
            acts_on: None,
            carrier: None,
            acts_on_both: None,
            measures: None,
        }
    }

    /// Refuses functions of the state where a force cannot follow them.
    fn check_laws(&self, v: &Values, force: &dyn forces::Force) -> Result<(), Diagnostics> {
        let inputs = self.variables.len();
        let uses = |e: &&Expression| (inputs..inputs + self.signals.borrow().len()).any(|variable| e.uses(variable));
        let courses = force.courses();
        let (Some(law), Some(why)) = (courses.into_iter().find(uses), force.refuses_signals()) else { return Ok(()) };
        let message = format!("{} {why}, found `{}`", v.what(), law.text());
        let help = "functions of the state are for the loads `force` and `torque`, for joint actuators, for references of controllers and \
                    for the rates of states";
        Err(v.error(message).help(help).into())
    }

    /// The place of a force on one body, with the body's own axes.
    fn acted_end(&self, v: &Values) -> Result<End, Diagnostics> {
        let mut end = self.one_end(v)?;
        if end.body.is_none() {
            let message = format!("{} acts on the ground, which does not move", v.what());
            return Err(v.error_at("body", message).help("name a body").into());
        }
        end.on.axes = Mat3::IDENTITY;
        Ok(end)
    }

    /// The points of a force between several bodies.
    fn several_ends(&self, v: &Values) -> Result<Vec<End>, Diagnostics> {
        v.at_most_one(&["at", "on"])?;
        let mut problems = Diagnostics::new();
        let names = v.names("bodies");
        let bodies: Vec<Option<usize>> = names.iter().filter_map(|n| problems.take(self.body(*n, v.what()))).collect();
        problems.or(())?;
        let key = if v.has("on") { "on" } else { "at" };
        let points = v.optional_points(key).unwrap_or(&[]);
        if points.len() != bodies.len() {
            let found = if v.has(key) { format!("{} of them", points.len()) } else { "none".into() };
            let message =
                format!("{} needs a point for each of its {} bodies, and has {found}", v.what(), bodies.len());
            let help =
                "add `at = [[…], […], …]`, points in the world at the start, or `on = [[…], …]` in the bodies' frames";
            return Err(v.error_at(key, message).help(help).into());
        }
        if bodies.iter().all(|body| *body == bodies[0]) {
            let message = format!("{} runs from `{}` to the same body", v.what(), names[0].name);
            return Err(v.error_at("bodies", message).help("name another body at one of its ends").into());
        }
        let same = |k: &usize| bodies[*k] == bodies[k - 1] && points[*k] == points[k - 1];
        if let Some(k) = (1..bodies.len()).find(same) {
            let message = format!("{} has two points in one place on `{}`", v.what(), names[k].name);
            return Err(v.error_at(key, message).help("move one of them, or leave it out").into());
        }
        let end = |(body, point): (Option<usize>, Vec3)| match key {
            "on" => self.on_body(body, point, Mat3::IDENTITY),
            _ => self.attach(body, point, Mat3::IDENTITY),
        };
        Ok(bodies.into_iter().zip(points.iter().copied()).map(end).collect())
    }

    fn turning_ends(&self, v: &Values, bodies: [Option<usize>; 2]) -> [End; 2] {
        bodies.map(|body| {
            let middle = self.middle_end(body);
            if self.plane && self.is_ground(body) {
                return self.attach_world(body, self.world(&middle), self.axes_here());
            }
            if self.plane {
                return middle;
            }
            let z = v.optional_points("axis").map_or(Vec3::Z, |a| a[0]);
            let x = z.any_perpendicular();
            self.attach_world(body, self.world(&middle), self.axes_here() * Mat3::from_columns(x, z.cross(x), z))
        })
    }

    /// The coordinate of a joint that `joint` and `coordinate` name, and the joint's ends.
    pub(super) fn joint_coordinate(&self, v: &Values) -> Result<(Motion, [End; 2]), Diagnostics> {
        self.coordinate_of(v, ["joint", "coordinate"], v.name("joint"), v.optional_name("coordinate"))
    }

    /// The coordinates of two joints that `joints` and `coordinates` name, and the ends of both.
    fn both_coordinates(&self, v: &Values) -> Result<([Motion; 2], Vec<End>), Diagnostics> {
        let (joints, named) = (v.names("joints"), v.optional_names("coordinates"));
        let mut problems = Diagnostics::new();
        let mut one = |k: usize| {
            let wanted = named.and_then(|names| names.get(k).copied());
            problems.take(self.coordinate_of(v, ["joints", "coordinates"], joints[k], wanted))
        };
        let found = [one(0), one(1)];
        problems.or(())?;
        let [Some((first, a)), Some((second, b))] = found else { return Err(Diagnostics::new()) };
        if joints[0].name == joints[1].name && first == second {
            let message = format!("{} acts between a coordinate and itself", v.what());
            return Err(v
                .error_at("joints", message)
                .help("name two different joints, or two coordinates of one")
                .into());
        }
        Ok(([first, second], [a, b].concat()))
    }

    /// A coordinate of a joint, by its name or the only one, and the joint's ends; `keys` are those that name both.
    fn coordinate_of(
        &self,
        v: &Values,
        keys: [&'static str; 2],
        named: Named,
        wanted: Option<Named>,
    ) -> Result<(Motion, [End; 2]), Diagnostics> {
        let Some(entry) = self.model.joints.iter().find(|j| j.name == named.name) else {
            // a joint with errors has been reported already
            let wrong = self.root.get("joint").is_some_and(|section| section.get(named.name).is_some());
            let names: Vec<&str> = self.model.joints.iter().map(|j| j.name.as_str()).collect();
            let unknown = || named.unknown("joint", v.what(), names).into();
            return Err(if wrong { Diagnostics::new() } else { unknown() });
        };
        let motions = entry.joint.motions(self.model.space);
        let (what, joint) = (v.what(), suggest::quoted(&entry.name));
        let names: Vec<&str> = joints::names(&motions).into_iter().map(|[name, _]| name).collect();
        let found = match wanted {
            Some(wanted) => names.iter().position(|n| *n == wanted.name),
            None if motions.len() == 1 => Some(0),
            None => None,
        };
        if let (Some(k), [first, second, ..]) = (found, entry.ends.as_slice()) {
            return Ok((motions[k], [*first, *second]));
        }
        let (key, help) = match names.len() {
            0 => (keys[0], "choose a joint that has one, such as a revolute or a prismatic one".to_string()),
            1 => (keys[1], format!("leave `{}` out, or write \"{}\"", keys[1], names[0])),
            _ => (keys[1], format!("add `{} = \"…\"`, one of {}", keys[1], names.join(", "))),
        };
        let message = match (names.len(), wanted) {
            (0, _) => format!("{what} needs a coordinate, but joint {joint} is {} and has none", entry.kind),
            (_, Some(wanted)) => format!("joint {joint} has no coordinate {} for {what}", suggest::quoted(wanted.name)),
            (n, None) => format!("{what} does not tell which of the {n} coordinates of joint {joint} it means"),
        };
        Err(v.error_at(key, message).help(help).into())
    }

    /// The joint of a name, as forces on it see it.
    fn carrier(&self, name: &str) -> Option<Carrier> {
        let number = self.model.joints.iter().position(|j| j.name == name)?;
        let JointEntry { name, joint, ends, .. } = &self.model.joints[number];
        Some(Carrier { number, joint: joint.clone(), ends: ends.len(), name: name.clone() })
    }

    /// Refuses a joint of the tree of relative coordinates whose reaction a force follows: such joints have no multipliers.
    fn keep_reaction(&self, joint: usize, v: &Values) -> Result<(), Diagnostics> {
        let entry = &self.model.joints[joint];
        if entry.tree == Some(true) {
            let message =
                format!("{} follows the reaction of joint `{}`, which has `tree = true`", v.what(), entry.name);
            let help =
                "joints of the tree have no reaction among the unknowns of relative coordinates: leave `tree` out";
            return Err(v.error_at("coefficient", message).help(help).into());
        }
        Ok(())
    }

    /// What a controller measures: a motion between two ends, and whether its rate is meant.
    fn measure(&self, channel: Named, v: &Values) -> Result<(Motion, Vec<End>, bool), Diagnostics> {
        let (owner, quantity) = channel.name.rsplit_once('.').unwrap_or((channel.name, ""));
        let mut choices: Vec<(String, Motion, Vec<End>, bool)> = Vec::new();
        if let Some(entry) = self.model.joints.iter().find(|j| j.name == owner) {
            let motions = entry.joint.motions(self.model.space);
            for (names, motion) in joints::names(&motions).into_iter().zip(motions) {
                for (name, rate) in names.into_iter().zip([false, true]) {
                    choices.push((name.to_string(), motion, entry.ends.iter().take(2).copied().collect(), rate));
                }
            }
        }
        let body = self.body_names.get(owner).copied();
        let found = self.model.probes.iter().find(|p| p.name == owner);
        let (probe, seen_from) = (found.map(|p| p.end), found.and_then(|p| p.relative_to));
        if let Some(end) = probe.or(body.map(|b| End { body: Some(b), on: Attachment::CENTRE })) {
            // along the axes of the world, or of the body that a probe is seen from
            let from = seen_from.map_or(self.ground_end(), |b| End { body: Some(b), on: Attachment::CENTRE });
            let ends = vec![from, end];
            for (i, axis) in ["x", "y", "z"].into_iter().enumerate().take(self.model.space.dimension()) {
                choices.push((axis.to_string(), Motion::Translate(i), ends.clone(), false));
                choices.push((format!("v{axis}"), Motion::Translate(i), ends.clone(), true));
            }
            let turns = |b: usize| each!(&self.model.bodies[b].body, b => b.orientation()) == Orientation::Full;
            if probe.is_none() && self.plane && body.is_some_and(turns) {
                choices.push(("angle".to_string(), Motion::Rotate(2), ends.clone(), false));
                choices.push(("wz".to_string(), Motion::Rotate(2), ends, true));
            }
        }
        if let Some((_, motion, ends, rate)) = choices.iter().find(|c| c.0 == quantity) {
            return Ok((*motion, ends.clone(), *rate));
        }
        let full: Vec<String> = choices.iter().map(|c| format!("{owner}.{}", c.0)).collect();
        let mut names: Vec<&str> = full.iter().map(String::as_str).collect();
        if names.is_empty() {
            let joints = self.model.joints.iter().map(|j| j.name.as_str());
            names = joints.chain(self.model.bodies.iter().map(|b| b.name.as_str())).collect();
            names.extend(self.model.probes.iter().map(|p| p.name.as_str()));
            if ["joint", "probe"].iter().any(|section| self.root.get(section).is_some_and(|s| s.get(owner).is_some()))
                && !names.contains(&owner)
            {
                return Err(Diagnostics::new()); // its own errors have been reported
            }
            let absent = if names.contains(&owner) { "which has no coordinate" } else { "which is not in the model" };
            let message = format!("{} measures {}, {absent}", v.what(), suggest::quoted(channel.name));
            let near = suggest::nearest(owner, names.iter().copied());
            let label = near.map_or(String::new(), |n| format!("did you mean {}?", suggest::quoted(n)));
            let help = format!(
                "give a joint, body or probe and what of it, as in \"pin.angle\"; there are {}",
                suggest::list(names)
            );
            return Err(v.error_at("measure", message).label(label).help(help).into());
        }
        let message = format!("{} cannot control {}", v.what(), suggest::quoted(channel.name));
        let near = suggest::nearest(channel.name, names.iter().copied());
        let label = near.map_or(String::new(), |n| format!("did you mean {}?", suggest::quoted(n)));
        Err(v
            .error_at("measure", message)
            .label(label)
            .help(format!("it can be one of {}", suggest::list(names)))
            .into())
    }
}
