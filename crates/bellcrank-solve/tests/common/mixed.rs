//! Random machines in which everything meets: a tree of bodies in the plane or in space, and on it springs, dampers, friction, pulses,
//! drives, gears, loops, twins of joints, links without mass, floors, stops, controllers and ropes, a few of them at a time.
#![allow(dead_code)]

use bellcrank_model::testing::Random;

/// A number between two others.
pub fn between(r: &mut Random, low: f64, high: f64) -> f64 {
    low + (high - low) * 0.5 * (r.number() + 1.0)
}

/// A machine in the making.
struct Drawing<'a> {
    r: &'a mut Random,
    plane: bool,
    /// Centres of mass.
    bodies: Vec<[f64; 3]>,
    /// The joints of the tree: kind, body and carrier, place and axis.
    joints: Vec<Joint>,
    /// Which of them are driven or geared.
    taken: Vec<bool>,
    text: String,
}

struct Joint {
    turns: bool,
    slides: bool,
    carrier: String,
    at: [f64; 3],
    axis: [f64; 3],
}

/// What is put on a tree.
const EXTRAS: [fn(&mut Drawing, usize); 16] = [
    |d, k| d.spring(k),
    |d, k| d.joint_spring(k),
    |d, k| d.friction(k),
    |d, k| d.pulse(k),
    |d, k| d.kick(k),
    |d, k| d.drive(k),
    |d, k| d.gear(k),
    |d, k| d.bar(k),
    |d, k| d.twin(k),
    |d, k| d.massless(k),
    |d, k| d.floor(k),
    |d, k| d.stop(k),
    |d, k| d.controller(k),
    |d, k| d.drag(k),
    |d, k| d.rope(k),
    |d, k| d.actuator(k),
];

/// A tree of two to four bodies with two to four extras.
pub fn mixed(r: &mut Random) -> String {
    let (plane, bodies, extras) = (r.below(2) == 0, 2 + r.below(3), 2 + r.below(3));
    let mut drawing = Drawing {
        r,
        plane,
        bodies: Vec::new(),
        joints: Vec::new(),
        taken: Vec::new(),
        text: String::from(match plane {
            true => "model = { plane = \"xy\", gravity = [0.3, -9.81] }\n",
            false => "model = { gravity = [0.3, -9.81, 0.7] }\n",
        }),
    };
    (0..bodies).for_each(|b| drawing.body(b));
    for k in 0..extras {
        let extra = EXTRAS[drawing.r.below(EXTRAS.len())];
        extra(&mut drawing, k);
    }
    drawing.text
}

impl Drawing<'_> {
    fn number(&mut self, low: f64, high: f64) -> f64 {
        between(self.r, low, high)
    }

    /// A vector as the file has it.
    fn list(&self, x: [f64; 3]) -> String {
        if self.plane { format!("[{}, {}]", x[0], x[1]) } else { format!("[{}, {}, {}]", x[0], x[1], x[2]) }
    }

    fn vector(&mut self) -> [f64; 3] {
        let z = if self.plane { 0.0 } else { self.r.number() };
        [self.r.number(), self.r.number(), z]
    }

    /// A place within a third of a metre of another.
    fn near(&mut self, x: [f64; 3]) -> [f64; 3] {
        let d = self.vector();
        [0, 1, 2].map(|k| x[k] + 0.33 * d[k])
    }

    fn any_body(&mut self) -> usize {
        self.r.below(self.bodies.len())
    }

    /// A body and the joint that carries it.
    fn body(&mut self, b: usize) {
        let carrier = if b == 0 || self.r.below(3) == 0 { None } else { Some(self.r.below(b)) };
        let from = carrier.map_or([0.0; 3], |c| self.bodies[c]);
        let step = self.vector();
        let at = [0, 1, 2].map(|k| from[k] + step[k]);
        let pin = [0, 1, 2].map(|k| from[k] + 0.4 * step[k]);
        let (mass, inertia) = (self.number(0.5, 2.5), self.inertia());
        let place = self.list(at);
        self.text += &format!("body.b{b} = {{ mass = {mass}, inertia = {inertia}, at = {place} }}\n");
        let kinds: &[&str] = match self.plane {
            true => &["revolute", "revolute", "prismatic"],
            false => &["revolute", "revolute", "prismatic", "spherical", "universal", "cylindrical"],
        };
        let kind = kinds[self.r.below(kinds.len())];
        let carrier = carrier.map_or("ground".to_string(), |c| format!("b{c}"));
        let axis = if self.plane && kind == "revolute" { [0.0, 0.0, 1.0] } else { self.vector() };
        let (where_, along) = (self.list(pin), self.list(axis));
        let more = match kind {
            "spherical" => String::new(),
            "revolute" if self.plane => String::new(),
            "universal" => format!(", axis = {along}, axis2 = [{}, {}, 0]", axis[1], -axis[0]),
            _ => format!(", axis = {along}"),
        };
        self.text += &format!(
            "joint.j{b} = {{ type = \"{kind}\", between = [\"{carrier}\", \"b{b}\"], at = {where_}{more} }}\n"
        );
        self.bodies.push(at);
        self.joints.push(Joint { turns: kind == "revolute", slides: kind == "prismatic", carrier, at: pin, axis });
        self.taken.push(false);
    }

    fn inertia(&mut self) -> String {
        let mut one = || self.number(0.1, 0.5);
        let x = [one(), one(), one()];
        // each is less than the sum of the others
        let sum: f64 = 0.5 * x.iter().sum::<f64>();
        if self.plane { format!("{}", x[0]) } else { format!("[{}, {}, {}]", sum + 0.1 * x[0], sum + 0.1 * x[1], sum) }
    }

    /// A joint of the tree that turns or slides and that nothing rules yet.
    fn free_joint(&mut self) -> Option<usize> {
        let free: Vec<usize> = (0..self.joints.len())
            .filter(|k| (self.joints[*k].turns || self.joints[*k].slides) && !self.taken[*k])
            .collect();
        (!free.is_empty()).then(|| free[self.r.below(free.len())])
    }

    fn spring(&mut self, k: usize) {
        let b = self.any_body();
        let (far, end) = (self.vector(), self.near(self.bodies[b]));
        let far = [0, 1, 2].map(|i| 2.0 * far[i]);
        let (stiffness, damping, length) = (self.number(5.0, 80.0), self.number(0.0, 1.0), self.number(0.5, 1.5));
        let (far, end) = (self.list(far), self.list(end));
        self.text += &format!(
            "force.f{k} = {{ type = \"spring-damper\", between = [\"ground\", \"b{b}\"], at = [{far}, {end}], stiffness = {stiffness}, \
             damping = {damping}, length = {length} }}\n"
        );
    }

    fn joint_spring(&mut self, k: usize) {
        let Some(j) = self.free_joint() else { return };
        let (stiffness, damping, rest) = (self.number(1.0, 40.0), self.number(0.0, 0.5), self.number(-0.5, 0.5));
        self.text += &format!(
            "force.f{k} = {{ type = \"joint-spring\", joint = \"j{j}\", stiffness = {stiffness}, damping = {damping}, rest = {rest} }}\n"
        );
    }

    fn friction(&mut self, k: usize) {
        let Some(j) = self.free_joint() else { return };
        let coulomb = self.number(0.2, 3.0);
        let rest = match self.r.below(3) {
            0 => format!("coulomb = {coulomb}, static = {}", 1.3 * coulomb),
            1 => format!("coulomb = {coulomb}, velocity = 0.1"),
            _ => format!("viscous = {coulomb}"),
        };
        self.text += &format!("force.f{k} = {{ type = \"joint-friction\", joint = \"j{j}\", {rest} }}\n");
    }

    /// A force for a time between a tenth of a millisecond and a tenth of a second.
    fn pulse(&mut self, k: usize) {
        let b = self.any_body();
        let (t, width) = (self.number(0.05, 0.8), 10f64.powf(self.number(-4.0, -1.0)));
        let force = self.number(0.2, 1.0) / width.max(1e-2);
        let zeros = if self.plane { "" } else { ", 0" };
        self.text += &format!(
            "force.f{k} = {{ type = \"force\", body = \"b{b}\", force = [\"if(abs(t - {t}) < {width}, {force}, 0)\", \"{force}*0.05*sign(sin(20*t))\"{zeros}] }}\n"
        );
    }

    /// A smooth and narrow pulse of a torque.
    fn kick(&mut self, k: usize) {
        let b = self.any_body();
        let (t, width, size) = (self.number(0.2, 0.8), 10f64.powf(self.number(-3.0, -1.0)), self.number(-1.0, 1.0));
        let law = format!("\"{}*step(t, {}, 0, {t}, 1)*step(t, {t}, 1, {}, 0)\"", size / width, t - width, t + width);
        let law = if self.plane { law } else { format!("[{law}, 0, {law}]") };
        self.text += &format!("force.f{k} = {{ type = \"torque\", body = \"b{b}\", torque = {law} }}\n");
    }

    fn drive(&mut self, k: usize) {
        let Some(j) = self.free_joint() else { return };
        self.taken[j] = true;
        let (size, rate, t) = (self.number(0.2, 1.0), self.number(1.0, 6.0), self.number(0.2, 0.7));
        let law = match self.r.below(3) {
            0 => format!("{size}*sin({rate}*t)"),
            // it starts with a jerk
            1 => format!("{size}*max(0, t - {t})^2"),
            _ => format!("{size}*if(t < {t}, t, {t})*sin({rate}*t)"),
        };
        self.text += &format!("joint.d{k} = {{ type = \"drive\", joint = \"j{j}\", rate = \"{law}\" }}\n");
    }

    fn gear(&mut self, k: usize) {
        let (Some(first), Some(second)) = (self.free_joint(), self.free_joint()) else { return };
        if first == second {
            return;
        }
        (self.taken[first], self.taken[second]) = (true, true);
        let ratio = self.number(-2.5, 2.5);
        self.text +=
            &format!("joint.d{k} = {{ type = \"tie\", joints = [\"j{first}\", \"j{second}\"], ratio = {ratio} }}\n");
    }

    /// A bar from the ground to a body: a loop.
    fn bar(&mut self, k: usize) {
        let b = self.any_body();
        let (far, end) = (self.vector(), self.near(self.bodies[b]));
        let far = [0, 1, 2].map(|i| far[i] + if i == 0 { 2.0 } else { 0.0 });
        let (far, end) = (self.list(far), self.list(end));
        self.text +=
            &format!("joint.d{k} = {{ type = \"distance\", between = [\"ground\", \"b{b}\"], at = [{far}, {end}] }}\n");
    }

    /// The same joint once more, elsewhere on its axis: all its equations are redundant.
    fn twin(&mut self, k: usize) {
        let Some(j) = self.free_joint() else { return };
        let joint = &self.joints[j];
        let at =
            if self.plane && joint.turns { joint.at } else { [0, 1, 2].map(|i| joint.at[i] + 0.5 * joint.axis[i]) };
        let (at, axis) = (self.list(at), self.list(joint.axis));
        let kind = if joint.turns { "revolute" } else { "prismatic" };
        let along = if self.plane && joint.turns { String::new() } else { format!(", axis = {axis}") };
        let carrier = &joint.carrier;
        self.text +=
            &format!("joint.d{k} = {{ type = \"{kind}\", between = [\"{carrier}\", \"b{j}\"], at = {at}{along} }}\n");
    }

    /// A link without mass between a body and a weight.
    fn massless(&mut self, k: usize) {
        let b = self.any_body();
        let (at, mass, inertia) = (self.near(self.bodies[b]), self.number(0.2, 1.0), self.inertia());
        let end = [at[0] + 0.3, at[1] - 0.2, at[2]];
        let (at, end) = (self.list(at), self.list(end));
        let (zero, axis) = if self.plane { ("0", "") } else { ("[0, 0, 0]", ", axis = [0, 0, 1]") };
        self.text += &format!(
            "body.l{k} = {{ mass = 0, inertia = {zero}, at = {at} }}\nbody.w{k} = {{ mass = {mass}, inertia = {inertia}, at = {end} }}\n\
             joint.p{k} = {{ type = \"revolute\", between = [\"b{b}\", \"l{k}\"], at = {at}{axis} }}\n\
             joint.q{k} = {{ type = \"fixed\", between = [\"l{k}\", \"w{k}\"], at = {end} }}\n"
        );
    }

    /// A ball on a body, and a floor below it.
    fn floor(&mut self, k: usize) {
        let b = self.any_body();
        let at = self.bodies[b];
        let floor = [0.0, at[1] - 0.1 - self.number(0.05, 0.5), 0.0];
        let law = match self.r.below(3) {
            0 => format!("restitution = {}", self.number(0.2, 0.9)),
            1 => format!("stiffness = {}, exponent = 1, damping = 0.2", self.number(500.0, 2500.0)),
            _ => format!("stiffness = {}, damping = 0.5, friction = 0.3, velocity = 0.1", self.number(500.0, 2500.0)),
        };
        let normal = if self.plane { "[0, 1]" } else { "[0, 1, 0]" };
        let (floor, at) = (self.list(floor), self.list(at));
        self.text += &format!(
            "force.f{k} = {{ type = \"contact\", between = [\"ground\", \"b{b}\"], at = [{floor}, {at}], radius = 0.1, normal = {normal}, {law} }}\n"
        );
    }

    fn stop(&mut self, k: usize) {
        let Some(j) = self.free_joint() else { return };
        let (lower, upper) = (self.number(-0.8, -0.1), self.number(0.1, 0.8));
        let law = match self.r.below(2) {
            0 => format!("restitution = {}", self.number(0.2, 0.9)),
            _ => format!("stiffness = {}, damping = 0.2", self.number(100.0, 1500.0)),
        };
        self.text +=
            &format!("force.f{k} = {{ type = \"stop\", joint = \"j{j}\", lower = {lower}, upper = {upper}, {law} }}\n");
    }

    fn controller(&mut self, k: usize) {
        let Some(j) = self.free_joint() else { return };
        let (kp, kd, limit) = (self.number(5.0, 60.0), self.number(0.5, 5.0), self.number(3.0, 20.0));
        let more = match self.r.below(3) {
            0 => format!(", limits = [{}, {limit}]", -limit),
            1 => ", lag = 0.05".to_string(),
            _ => ", ki = 5".to_string(),
        };
        self.text += &format!(
            "force.f{k} = {{ type = \"pid\", joint = \"j{j}\", kp = {kp}, kd = {kd}, reference = \"0.4*sin(3*t)\"{more} }}\n"
        );
    }

    fn drag(&mut self, k: usize) {
        let b = self.any_body();
        let (c, wind) = (self.number(0.1, 2.0), self.vector());
        let wind = self.list(wind);
        self.text += &format!(
            "force.f{k} = {{ type = \"drag\", body = \"b{b}\", coefficient = {c}, linear = 0.2, wind = {wind} }}\n"
        );
    }

    /// A rope from the ground over a body to the ground, taut or slack at the start.
    fn rope(&mut self, k: usize) {
        let b = self.any_body();
        let at = self.bodies[b];
        let (left, right) = ([at[0] - 1.0, at[1] + 1.0, at[2]], [at[0] + 0.8, at[1] + 1.2, at[2]]);
        let (stiffness, length) = (self.number(20.0, 400.0), self.number(2.5, 3.2));
        let (left, at, right) = (self.list(left), self.list(at), self.list(right));
        self.text += &format!(
            "force.f{k} = {{ type = \"rope\", bodies = [\"ground\", \"b{b}\", \"ground\"], at = [{left}, {at}, {right}], stiffness = {stiffness}, \
             damping = 0.1, length = {length} }}\n"
        );
    }

    /// An actuator that follows the state up to its limits.
    fn actuator(&mut self, k: usize) {
        let Some(j) = self.free_joint() else { return };
        let x = if self.joints[j].turns { "angle" } else { "position" };
        let (stiffness, limit) = (self.number(5.0, 40.0), self.number(1.0, 6.0));
        self.text += &format!(
            "force.f{k} = {{ type = \"joint-actuator\", joint = \"j{j}\", effort = \"-{stiffness}*sin(2*j{j}.{x}) + if(t > 0.5, 2, 0)\", \
             limits = [{}, {limit}] }}\n",
            -limit
        );
    }
}
