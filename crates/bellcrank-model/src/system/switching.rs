//! Events: forces that switch, and the equations with what they hold.

use super::*;
use crate::file::Expression;
use crate::forces::MAX_SWITCHES;
use crate::model::{Place, Subject};
use bellcrank_math::Vec3;

impl System {
    /// The equations with what the modes hold; `None` if they are these.
    pub(crate) fn with_modes(&self, modes: &[Mode]) -> Option<System> {
        let same = self.switching().all(|(_, f)| {
            let mode = f.slot.and_then(|slot| modes.get(slot).copied()).unwrap_or(BY_VALUE);
            match f.held {
                Some((held, _)) => held == mode,
                None => f.force.holds(mode).is_empty(),
            }
        });
        if same { None } else { Some(System::new(self.model.clone(), modes)) }
    }

    /// Whether an event may let velocities jump, or hold a motion.
    pub fn jumps(&self) -> bool {
        self.forces.iter().any(|f| f.slot.is_some() && f.force.jumps())
    }

    /// The forces with switch functions, each with the number of the first of them.
    fn switching(&self) -> impl Iterator<Item = (usize, &PlacedForce)> {
        let forces = self.forces.iter().filter(|f| f.slot.is_some());
        forces.scan(0, |next, f| {
            let first = *next;
            *next += f.force.switches();
            Some((first, f))
        })
    }
}

impl System {
    /// The forces with loads that follow multipliers, each with the constraint block of those.
    pub(super) fn following(&self) -> impl Iterator<Item = (&PlacedForce, usize)> {
        self.forces.iter().filter_map(|f| Some((f, f.follows?)))
    }

    /// The force that a switch function belongs to, with the number of its first.
    fn switch(&self, k: usize) -> Option<(usize, &PlacedForce)> {
        self.switching().take_while(|(first, _)| *first <= k).last()
    }

    /// Forms on the twists of a force's ends as a row on v.
    fn row_of(&self, f: &PlacedForce, forms: &Row, w: &Realized) -> Vec<f64> {
        let mut row = vec![0.0; self.layout.n()];
        for (end, form) in f.ends.iter().zip(forms).filter(|(e, _)| e.body != GROUND) {
            self.pull(end, w, *form, 1.0, &mut row[self.layout.bodies[end.body as usize].clone()]);
        }
        row
    }
}

impl Switching for System {
    fn switches(&self) -> usize {
        let forces = self.forces.iter().filter(|f| f.slot.is_some());
        forces.map(|f| f.force.switches()).sum::<usize>() + self.bends() + self.indicators()
    }

    fn switch_values(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        self.refresh_signals(at, w);
        let w = &realized(w);
        out.fill(f64::INFINITY);
        self.bend_values(at, w, out);
        self.indicator_values(at, w, out);
        for (first, f) in self.switching() {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let values = &mut out[first..first + f.force.switches().min(MAX_SWITCHES)];
            f.force.switch_values(&self.seen(f, at, &frames, w), values);
        }
    }

    fn approaches(&self, at: &Point, w: &mut Workspace, out: &mut [Approach]) {
        self.refresh_signals(at, w);
        let w = &realized(w);
        self.bend_approaches(at, w, out);
        let mut tracks = [Track::Unknown; MAX_SWITCHES];
        for (first, f) in self.switching() {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            tracks.fill(Track::Unknown);
            f.force.tracks(&self.seen(f, at, &frames, w), &mut tracks);
            // an end at the origin of its body does not move as the body turns
            let swings = |(i, end): &(usize, &SystemEnd)| end.on.point != Vec3::ZERO || f.force.rotational(*i);
            let turning = f.ends.iter().enumerate().filter(swings).map(|(i, _)| frames[i].w.norm()).sum();
            let out = &mut out[first..first + f.force.switches().min(MAX_SWITCHES)];
            out.iter_mut().zip(tracks).for_each(|(out, track)| *out = Approach { track, turning });
        }
    }

    fn reactive(&self) -> bool {
        self.forces.iter().any(|f| f.held.is_some() || f.follows.is_some())
    }

    fn modes(&self, at: &Point, w: &mut Workspace) -> Vec<Mode> {
        self.refresh_signals(at, w);
        let w = &realized(w);
        let mode = |(_, f): (usize, &PlacedForce)| {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            f.force.mode(&self.seen(f, at, &frames, w))
        };
        self.switching().map(mode).chain(self.bend_modes(at, w)).chain(self.indicator_modes(w)).collect()
    }

    fn cross(&self, k: usize, at: &Point, w: &mut Workspace) -> Option<Crossing> {
        self.refresh_signals(at, w);
        let w = &realized(w);
        if let Some((guest, slot)) = self.indicator(k) {
            return Some(self.cross_indicator(guest, slot, at));
        }
        if self.bend(k).is_some() {
            return self.cross_bend(k, at, w);
        }
        let (first, f) = self.switch(k)?;
        let frames = self.frames(&f.ends, w, Some(&at.v));
        let switch = f.force.cross(k - first, &self.seen(f, at, &frames, w))?;
        let slot = f.slot?;
        Some(Crossing { slot, mode: switch.mode, subject: self.subject_of_slot(slot), what: switch.what })
    }

    fn owner_of_switch(&self, k: usize) -> Option<(usize, Subject)> {
        let slot = match (self.indicator(k), self.bend(k)) {
            (Some((_, slot)), _) => slot,
            (None, Some((signal, _))) => signal.slot?,
            (None, None) => self.switch(k)?.1.slot?,
        };
        Some((slot, self.subject_of_slot(slot)))
    }

    fn subject_of_slot(&self, slot: usize) -> Subject {
        let number = self.forces.iter().position(|f| f.slot == Some(slot));
        let signal = || self.signals.list.iter().find(|s| s.slot == Some(slot)).map(|s| s.of);
        let guest = || self.guest_of_slot(slot).map(Place::Fmu);
        number
            .map(Place::Force)
            .or_else(signal)
            .or_else(guest)
            .map_or_else(Subject::default, |place| self.model.subject(place))
    }

    fn candidates(&self, at: &Point, w: &mut Workspace) -> Vec<Candidate> {
        let w = &realized(w);
        let candidate = |(_, f): (usize, &PlacedForce)| {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let seen = self.seen(f, at, &frames, w);
            let (law, forms) = f.force.candidate(&seen)?;
            let rows = forms.iter().map(|forms| self.row_of(f, forms, w)).collect();
            Some(Candidate { slot: f.slot?, mode: seen.mode, law, rows })
        };
        self.switching().filter_map(candidate).collect()
    }

    fn held_rows(&self, slot: usize) -> Vec<usize> {
        let held = self.forces.iter().find(|f| f.slot == Some(slot)).and_then(|f| f.held.as_ref());
        held.map_or_else(Vec::new, |(_, blocks)| {
            blocks.clone().flat_map(|k| self.layout.constraints[k].clone()).collect()
        })
    }

    fn followers(&self, at: &Point, w: &mut Workspace) -> Vec<Follower> {
        let w = &realized(w);
        let follower = |(f, block): (&PlacedForce, usize)| {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let of = f.force.following(&self.seen(f, at, &frames, w));
            let slopes = self.layout.constraints[block].clone().zip(of.slopes).collect();
            Follower { load: self.row_of(f, &of.load, w), size: of.size, slopes, coefficient: of.coefficient }
        };
        self.following().map(follower).collect()
    }

    fn owners_of_followers(&self) -> Vec<(Subject, Option<Subject>)> {
        let owner = |(k, f): (usize, &PlacedForce)| {
            let joint = self.constraints[f.follows?].joint.map(|joint| self.model.subject(Place::Joint(joint)));
            Some((self.model.subject(Place::Force(k)), joint))
        };
        self.forces.iter().enumerate().filter_map(owner).collect()
    }

    fn may_follow(&self) -> Option<Subject> {
        let follows = |f: &PlacedForce| {
            f.follows.is_some()
                || f.slot.is_some() && (BY_VALUE..=Mode::MAX).any(|mode| f.force.follows(mode).is_some())
        };
        let force = self.forces.iter().position(follows)?;
        Some(self.model.subject(Place::Force(force)))
    }

    fn followed_blocks(&self) -> Vec<(usize, Subject)> {
        let of_joint = |(k, f): (usize, &PlacedForce)| {
            let block = f.follows.filter(|block| self.constraints[*block].joint.is_some())?;
            Some((block, self.model.subject(Place::Force(k))))
        };
        self.forces.iter().enumerate().filter_map(of_joint).collect()
    }

    fn holding(&self, modes: &[Mode]) -> Option<Arc<dyn Dynamics>> {
        self.with_modes(modes).map(|system| Arc::new(system) as Arc<dyn Dynamics>)
    }

    fn given_to_fmu(&self, fmu: usize, at: &Point, w: &mut Workspace) -> Vec<f64> {
        self.inputs_of_guest(fmu, at, w)
    }

    fn courses(&self) -> Vec<Box<dyn Course>> {
        let equations = self.constraints.iter().flat_map(|c| &c.equations).flat_map(|e| e.courses());
        let forces = self.forces.iter().flat_map(|f| f.force.courses());
        let signals = self.signals.list.iter().map(|s| s.value());
        let mut all: Vec<&Expression> = Vec::new();
        for course in equations.chain(forces).chain(signals).filter(|e| e.uses(0)) {
            if !all.contains(&course) {
                all.push(course);
            }
        }
        all.into_iter().map(|e| Box::new(e.clone()) as Box<dyn Course>).collect()
    }

    fn laws(&self) -> Vec<PlacedLaw> {
        self.narrow_laws()
    }

    fn law_arguments(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        self.arguments_of_laws(at, &realized(w), out);
    }

    fn may_stick(&self) -> Option<Subject> {
        let sticks = |f: &PlacedForce| {
            let mut modes = (BY_VALUE..=Mode::MAX).filter(|_| f.slot.is_some());
            modes.any(|mode| f.force.holds(mode).iter().any(|equation| !equation.holonomic()))
        };
        let force = self.forces.iter().position(sticks)?;
        Some(self.model.subject(Place::Force(force)))
    }
}
