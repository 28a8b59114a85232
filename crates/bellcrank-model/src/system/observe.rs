//! What solvers and recorders see of a system: energy, names, channels, momentum.

use super::channels::{Look, Memo};
use super::*;
use crate::catalog;
use crate::channel::Selection;
use crate::dynamics::Lost;
use crate::model::{Place, Subject};

impl System {
    /// Energies and the power at a realized point.
    pub(super) fn energy_at(&self, at: &Point, w: &Realized) -> Energy {
        let mut e = self.energy_of(at, w, true);
        e.power += self.driving_power(at);
        e
    }

    /// Energies at a realized point; on request with the power of bodies and forces.
    pub(super) fn energy_of(&self, at: &Point, w: &Realized, with_power: bool) -> Energy {
        let mut e = Energy::default();
        for (b, body) in self.bodies.iter().enumerate() {
            let v = &at.v[self.layout.bodies[b].clone()];
            each!(body, body => {
                e.kinetic += body.kinetic(&w.bodies[b], v);
                e.stored += body.stored(&w.bodies[b]);
                e.stored -= body.mass() * self.model.gravity.dot(body.centre_of_mass(&w.bodies[b]));
                if with_power {
                    e.power -= body.dissipated(v);
                }
            });
        }
        for f in self.forces.iter().filter(|f| f.force.stores() || with_power && f.force.has_power()) {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let seen = self.seen(f, at, &frames, w);
            let (stored, power) =
                if with_power { f.force.stored_and_power(&seen) } else { (f.force.stored(&seen), 0.0) };
            (e.stored, e.power) = (e.stored + stored, e.power + power);
        }
        e
    }

    /// The power alone.
    pub(super) fn power_at(&self, at: &Point, w: &Realized) -> f64 {
        let mut power = 0.0;
        for (body, range) in self.bodies.iter().zip(&self.layout.bodies) {
            each!(body, body => if body.dissipates() {
                power -= body.dissipated(&at.v[range.clone()]);
            });
        }
        for f in self.forces.iter().filter(|f| f.force.has_power()) {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            power += f.force.power(&self.seen(f, at, &frames, w));
        }
        power + self.driving_power(at)
    }

    /// A rheonomic constraint works: the reactions −Gᵀλ have the power λ·g_t.
    fn driving_power(&self, at: &Point) -> f64 {
        let mut power = 0.0;
        for (constraint, range) in self.constraints.iter().zip(&self.layout.constraints).filter(|(c, _)| c.rheonomic) {
            let mut g_t = [0.0; MAX_ROWS];
            self.add_time(1.0, constraint, at.t, &at.charts.inputs, 1, &mut g_t[..constraint.rows]);
            power += g_t.iter().zip(&at.lambda[range.clone()]).map(|(g, l)| g * l).sum::<f64>();
        }
        power
    }
}

impl Observable for System {
    fn limited(&self) -> bool {
        self.is_limited()
    }

    fn beyond(&self, at: &Point, w: &mut Workspace) -> Vec<BeyondLimit> {
        self.beyond_limits(at, &realized(w))
    }

    fn not_finite(&self, at: &Point, w: &mut Workspace) -> Option<Lost> {
        self.first_lost(at, w)
    }

    fn subject(&self, of: Unknown, block: usize) -> Subject {
        match of {
            Unknown::Q | Unknown::V => self.model.subject(Place::Body(block)),
            Unknown::Z => {
                let force = self.forces.iter().position(|f| f.states as usize == block);
                let own = block.checked_sub(self.signals.first_block).map(|state| self.place_of_state(state));
                force.map(Place::Force).or(own).map_or_else(Subject::default, |place| self.model.subject(place))
            }
            Unknown::Lambda | Unknown::Mu => match (self.constraints[block].joint, self.constraints[block].force) {
                (Some(joint), _) => self.model.subject(Place::Joint(joint)),
                (None, Some(force)) => self.model.subject(Place::Force(force)),
                (None, None) => {
                    let body = self.constraints[block].ends[0].body as usize;
                    let words = format!("the length of rod `{}`", self.model.bodies[body].name);
                    Subject { words, place: Some(Place::Body(body)) }
                }
            },
        }
    }

    fn balance(&self, at: &Point, w: &mut Workspace, out: &mut Balance) -> bool {
        balance::balance(self, at, w, out);
        true
    }

    fn channels(&self) -> Vec<Channel> {
        catalog::list(&self.model)
    }

    fn observe(&self, at: &Point, w: &mut Workspace, out: &mut Vec<f64>) {
        let reaction = |joint: usize, w: &Workspace| self.reaction(joint, at, w);
        channels::observe(&Look { system: self, at, w, reaction: &reaction, memo: Memo::default() }, out);
    }

    fn all_channels(&self) -> Vec<Channel> {
        catalog::all(&self.model)
    }

    fn select(&self, wanted: &mut dyn FnMut(&str, bool) -> bool) -> Selection {
        catalog::select(&self.model, wanted)
    }

    fn observe_some(&self, selection: &Selection, at: &Point, w: &mut Workspace, out: &mut Vec<f64>) {
        let reaction = |joint: usize, w: &Workspace| self.reaction(joint, at, w);
        channels::observe_some(
            &Look { system: self, at, w, reaction: &reaction, memo: Memo::of(selection) },
            selection,
            &mut Vec::new(),
            out,
        );
    }

    fn has_power(&self) -> bool {
        let dissipates = |b: &Body| each!(b, b => b.dissipates());
        self.driven() || self.forces.iter().any(|f| f.force.has_power()) || self.bodies.iter().any(dissipates)
    }

    fn driven(&self) -> bool {
        self.constraints.iter().any(|c| c.equations.iter().any(|e| e.rheonomic()))
    }
}
