//! Events: forces that switch, and the equations with what they hold.

use super::*;
use crate::forces::MAX_SWITCHES;

impl System {
    /// The equations with what the modes hold; `None` if they are these.
    pub(crate) fn with_modes(&self, modes: &[Mode]) -> Option<System> {
        let same = self.switching().all(|(_, f)| {
            let mode = f.slot.and_then(|slot| modes.get(slot).copied()).unwrap_or(BY_VALUE);
            match f.held {
                Some((held, _)) => held == mode,
                None => f.force.holds(mode).is_none(),
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

impl Switching for System {
    fn switches(&self) -> usize {
        self.forces.iter().filter(|f| f.slot.is_some()).map(|f| f.force.switches()).sum()
    }

    fn switch_values(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let w = &realized(w);
        out.fill(f64::INFINITY);
        for (first, f) in self.switching() {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let values = &mut out[first..first + f.force.switches().min(MAX_SWITCHES)];
            f.force.switch_values(&self.seen(f, at, &frames, w), values);
        }
    }

    fn reactive(&self) -> bool {
        self.forces.iter().any(|f| f.held.is_some())
    }

    fn modes(&self, at: &Point, w: &mut Workspace) -> Vec<Mode> {
        let w = &realized(w);
        let mode = |(_, f): (usize, &PlacedForce)| {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            f.force.mode(&self.seen(f, at, &frames, w))
        };
        self.switching().map(mode).collect()
    }

    fn cross(&self, k: usize, at: &Point, w: &mut Workspace) -> Option<Crossing> {
        let w = &realized(w);
        let (first, f) = self.switching().take_while(|(first, _)| *first <= k).last()?;
        let frames = self.frames(&f.ends, w, Some(&at.v));
        let switch = f.force.cross(k - first, &self.seen(f, at, &frames, w));
        let number = self.forces.iter().position(|g| g.slot == f.slot)?;
        let impact = switch.jump.map(|(forms, after)| {
            let mut row = vec![0.0; self.layout.n()];
            for (end, form) in f.ends.iter().zip(forms).filter(|(e, _)| e.body != GROUND) {
                self.pull(end, w, form, 1.0, &mut row[self.layout.bodies[end.body as usize].clone()]);
            }
            Impact { row, after }
        });
        let name = format!("force `{}`", self.model.forces[number].name);
        Some(Crossing { slot: f.slot?, mode: switch.mode, name, what: switch.what, impact })
    }

    fn holding(&self, modes: &[Mode]) -> Option<Arc<dyn Dynamics>> {
        self.with_modes(modes).map(|system| Arc::new(system) as Arc<dyn Dynamics>)
    }

    fn may_stick(&self) -> Option<String> {
        let sticks = |f: &PlacedForce| {
            let mut modes = (BY_VALUE..=Mode::MAX).filter(|_| f.slot.is_some());
            modes.any(|mode| f.force.holds(mode).is_some_and(|equation| !equation.holonomic()))
        };
        let force = self.forces.iter().position(sticks)?;
        Some(format!("force `{}`", self.model.forces[force].name))
    }
}
