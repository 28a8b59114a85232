//! The values of channels, group by group; their names and meanings stand in [`crate::catalog`].

use super::*;
use crate::bodies::Orientation;
use crate::catalog;
use crate::channel::{Group, LoadAxes, ProbePart, Selection};
use crate::forces::MAX_QUANTITIES;
use crate::model::{End, Probe};
use bellcrank_math::{Mat3, Vec3};
use std::cell::{Cell, RefCell};

/// What is looked at: a realized point with its v̇ and λ, and how to get reactions.
pub struct Look<'a> {
    /// The system.
    pub system: &'a System,
    /// The point.
    pub at: &'a Point,
    /// Where it is realized.
    pub w: &'a Workspace,
    /// The load that a joint puts on its second body.
    pub reaction: &'a dyn Fn(usize, &Workspace) -> Covector,
    /// What several groups have in common.
    pub memo: Memo,
}

/// What was computed for one group and serves the next ones: a load is told in the axes of the world and of both bodies.
#[derive(Default)]
pub struct Memo {
    /// The last joint, and its reaction.
    reaction: Cell<Option<(usize, Covector)>>,
    /// Whether loads of forces are told besides what forces tell of themselves.
    tells_loads: bool,
    /// Loads and powers of the forces that were looked at; empty before the first.
    loads: RefCell<Vec<Option<(Covector, f64)>>>,
    /// Room for second derivatives of joint coordinates.
    curvature: RefCell<Option<Stiffness>>,
}

impl Memo {
    /// For the channels of a selection.
    pub fn of(selection: &Selection) -> Memo {
        let tells_loads = selection.items.iter().any(|(group, _)| matches!(group, Group::Load(..)));
        Memo { tells_loads, ..Memo::default() }
    }

    fn note(&self, force: usize, of: usize, known: (Covector, f64)) {
        let mut loads = self.loads.borrow_mut();
        if loads.is_empty() {
            loads.resize(of, None);
        }
        loads[force] = Some(known);
    }
}

/// The values of what is recorded unless something else is asked for.
pub fn observe(look: &Look, out: &mut Vec<f64>) {
    out.clear();
    catalog::groups(&look.system.model).for_each(|group| look.values(group, out));
}

/// The values of some channels.
pub fn observe_some(look: &Look, selection: &Selection, scratch: &mut Vec<f64>, out: &mut Vec<f64>) {
    out.clear();
    for (group, bits) in &selection.items {
        let whole = bits.trailing_ones() == bits.count_ones();
        if whole {
            // all of them, or the first ones
            let end = out.len() + bits.count_ones() as usize;
            look.values(*group, out);
            out.truncate(end);
            continue;
        }
        scratch.clear();
        look.values(*group, scratch);
        Selection::pick(*bits, scratch, out);
    }
}

/// Angles of R = Rz(yaw) Ry(pitch) Rx(roll), as roll, pitch, yaw. At pitch = ±π/2 the roll is zero.
pub fn cardan(r: &Mat3) -> [f64; 3] {
    let (sine, cosine) = (-r.0[2][0], r.0[2][1].hypot(r.0[2][2]));
    if cosine < 1e-12 {
        return [0.0, sine.signum() * std::f64::consts::FRAC_PI_2, (-r.0[0][1]).atan2(r.0[1][1])];
    }
    [r.0[2][1].atan2(r.0[2][2]), sine.atan2(cosine), r.0[1][0].atan2(r.0[0][0])]
}

/// How a frame moves: its frame, acceleration and angular acceleration.
struct Moving {
    frame: Frame,
    a: Vec3,
    alpha: Vec3,
}

impl Look<'_> {
    fn plane(&self) -> bool {
        self.system.model.space == Space::Plane
    }

    /// Adds the parts of a vector that a model in this space has.
    fn vector(&self, v: Vec3, out: &mut Vec<f64>) {
        out.extend_from_slice(&v.0[..self.system.model.space.dimension()]);
    }

    /// Adds a rate of turning, or a torque: about z alone in the plane.
    fn axial(&self, v: Vec3, out: &mut Vec<f64>) {
        out.extend_from_slice(&v.0[if self.plane() { 2 } else { 0 }..]);
    }

    /// Adds the values of a group, in the order of its names.
    pub fn values(&self, group: Group, out: &mut Vec<f64>) {
        let model = &self.system.model;
        match group {
            Group::Plain(_) => {}
            Group::Motion(b) => self.motion(b, out),
            Group::Deformation(b) => {
                let Some(of) = each!(&model.bodies[b].body, b => b.deformable()) else { return };
                let range = self.system.layout.bodies[b].clone();
                let modal = range.end - of.count()..range.end;
                modal.clone().for_each(|i| out.extend_from_slice(&[self.at.q[i], self.at.v[i]]));
                out.push(of.strain(&self.at.q[modal]));
            }
            Group::Coordinate(k, ..) => {
                let (value, rate) = self.system.coordinate(&self.system.coordinates[k], self.at, self.w);
                out.extend_from_slice(&[value, rate]);
            }
            Group::Second(k, ..) => {
                let mut room = self.memo.curvature.borrow_mut();
                let room = room.get_or_insert_with(Stiffness::default);
                out.push(self.system.coordinate_acceleration(&self.system.coordinates[k], self.at, self.w, room));
            }
            Group::Reaction(j, axes) => self.load(self.reaction_of(j), &model.joints[j].ends[..2], axes, out),
            Group::Force(f) => {
                let table = model.forces[f].force.quantities();
                let mut all = [0.0; MAX_QUANTITIES];
                let all = &mut all[..table.len()];
                if self.memo.tells_loads || model.forces[f].ends.len() == 1 {
                    // its load is told, too
                    let known = self.system.force_seen(f, self.at, self.w, all);
                    self.memo.note(f, model.forces.len(), known);
                } else {
                    self.system.with_force(f, self.at, self.w, |force, seen| force.force.observe(seen, all));
                }
                out.extend(table.iter().zip(all).filter(|(q, _)| q.is_in(model.space)).map(|(_, x)| *x));
            }
            Group::Load(f, axes) => {
                let ends = &model.forces[f].ends;
                let (load, power) = self.load_of(f);
                self.load(load, &ends[ends.len().saturating_sub(2)..], axes, out);
                if axes == LoadAxes::World {
                    out.push(power);
                }
            }
            Group::Probe(p, part) => self.probe(&model.probes[p], part, out),
            Group::Energy => {
                let e = self.system.energy_of(self.at, &realized(self.w), false);
                out.extend_from_slice(&[e.kinetic, e.stored, e.kinetic + e.stored]);
            }
            Group::Input(i) => out.push(self.at.charts.inputs[i]),
            Group::Guest(f) => out.extend_from_slice(self.system.outputs_of_guest(f, &realized(self.w))),
            Group::State(i) => out.push(self.system.state(i, self.at)),
            Group::Acceleration(b) => {
                let (a, alpha) = self.system.twist_rate(&self.middle(b), self.at, self.w);
                self.vector(a, out);
                if self.turns(b) {
                    self.axial(alpha, out);
                }
            }
            Group::Cardan(b) if !self.plane() && self.turns(b) => {
                out.extend_from_slice(&cardan(&self.system.pose(b, self.at).1.matrix()));
            }
            Group::Cardan(_) => {}
        }
    }

    fn reaction_of(&self, joint: usize) -> Covector {
        match self.memo.reaction.get() {
            Some((last, load)) if last == joint => load,
            _ => {
                let load = (self.reaction)(joint, self.w);
                self.memo.reaction.set(Some((joint, load)));
                load
            }
        }
    }

    fn load_of(&self, force: usize) -> (Covector, f64) {
        if let Some(Some(known)) = self.memo.loads.borrow().get(force) {
            return *known;
        }
        let known = self.system.load_of_force(force, self.at, self.w);
        self.memo.note(force, self.system.model.forces.len(), known);
        known
    }

    fn turns(&self, b: usize) -> bool {
        each!(&self.system.model.bodies[b].body, b => b.orientation()) != Orientation::None
    }

    /// The point of a body that its channels tell, with axes along the body's own.
    fn middle(&self, b: usize) -> End {
        let centre = each!(&self.system.model.bodies[b].body, b => b.centre());
        End { body: Some(b), on: Attachment { axes: Mat3::IDENTITY, ..centre } }
    }

    fn motion(&self, b: usize, out: &mut Vec<f64>) {
        let frame = self.system.look(&self.middle(b), self.w, &self.at.v);
        self.vector(frame.p, out);
        let turning = self.turns(b);
        if turning {
            match self.system.plane_angle(b) {
                Some(k) => out.push(self.at.q[k]),
                None => {
                    let r = self.system.pose(b, self.at).1;
                    match self.plane() {
                        true => out.push(2.0 * r.0[3].atan2(r.0[0])),
                        false => out.extend_from_slice(&r.0),
                    }
                }
            }
        }
        self.vector(frame.v, out);
        if turning {
            self.axial(frame.w, out);
        }
    }

    /// A load on the last of some ends, in axes of the world or of a body.
    fn load(&self, load: Covector, ends: &[End], axes: LoadAxes, out: &mut Vec<f64>) {
        let end = match axes {
            LoadAxes::World => None,
            LoadAxes::First => ends.first(),
            LoadAxes::Second => ends.last(),
        };
        let (lin, ang) = match end.and_then(|end| end.body) {
            None => (load.lin, load.ang),
            Some(b) => {
                let r = self.system.frame(&place(&self.middle(b)), &realized(self.w), None).r;
                (r.transpose_times(load.lin), r.transpose_times(load.ang))
            }
        };
        self.vector(lin, out);
        self.axial(ang, out);
    }

    fn moving(&self, end: &End) -> Moving {
        let (a, alpha) = self.system.twist_rate(end, self.at, self.w);
        Moving { frame: self.system.look(end, self.w, &self.at.v), a, alpha }
    }

    fn probe(&self, probe: &Probe, part: ProbePart, out: &mut Vec<f64>) {
        let seen = self.moving(&End { on: Attachment { axes: probe.axes, ..probe.end.on }, ..probe.end });
        let (axes, seen) = match probe.relative_to {
            None => (Mat3::IDENTITY, seen),
            Some(b) => {
                let from = self.moving(&End { body: Some(b), on: Attachment::CENTRE });
                (from.frame.r, seen.from(&from))
            }
        };
        let Moving { frame, a, alpha } = &seen;
        match part {
            ProbePart::Motion => {
                [frame.p, frame.v, *a].into_iter().for_each(|v| self.vector(axes.transpose_times(v), out));
                self.axial(axes.transpose_times(frame.w), out);
            }
            ProbePart::Turn => {
                let [roll, pitch, yaw] = cardan(&(axes.transpose() * frame.r));
                match self.plane() {
                    true => out.push(yaw),
                    false => out.extend_from_slice(&[roll, pitch, yaw]),
                }
                self.axial(axes.transpose_times(*alpha), out);
            }
            ProbePart::Own => {
                [frame.v, *a].into_iter().for_each(|v| self.vector(frame.r.transpose_times(v), out));
                self.axial(frame.r.transpose_times(frame.w), out);
            }
        }
    }
}

impl Moving {
    /// The same motion as it is seen from a moving frame, in the world's axes: without what that frame carries along,
    /// and without Coriolis' acceleration.
    fn from(&self, base: &Moving) -> Moving {
        let (f, b) = (&self.frame, &base.frame);
        let d = f.p - b.p;
        let v = f.v - b.v - b.w.cross(d);
        let carried = base.a + base.alpha.cross(d) + b.w.cross(b.w.cross(d));
        Moving {
            frame: Frame { p: d, r: f.r, v, w: f.w - b.w },
            a: self.a - carried - b.w.cross(v) * 2.0,
            alpha: self.alpha - base.alpha - b.w.cross(f.w),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellcrank_math::Quat;

    #[test]
    fn cardan_angles_turn_about_z_then_y_then_x() {
        let turn = |axis: Vec3, angle: f64| Quat::exp(axis * angle).matrix();
        for [roll, pitch, yaw] in [[0.3, -0.4, 2.9], [-3.0, 1.5, -0.2], [0.0, 0.0, 0.0], [1.0, -1.2, 3.0]] {
            let r = turn(Vec3::Z, yaw) * turn(Vec3::Y, pitch) * turn(Vec3::X, roll);
            let found = cardan(&r);
            for (a, b) in found.into_iter().zip([roll, pitch, yaw]) {
                assert!((a - b).abs() < 1e-12, "{found:?} {roll} {pitch} {yaw}");
            }
        }
        // where the first and the last axis coincide, the turn is still the right one
        let r = turn(Vec3::Z, 0.7) * turn(Vec3::Y, std::f64::consts::FRAC_PI_2) * turn(Vec3::X, 0.2);
        let [roll, pitch, yaw] = cardan(&r);
        let again = turn(Vec3::Z, yaw) * turn(Vec3::Y, pitch) * turn(Vec3::X, roll);
        for i in 0..3 {
            (0..3).for_each(|j| assert!((again.0[i][j] - r.0[i][j]).abs() < 1e-9, "{again:?} {r:?}"));
        }
    }
}
