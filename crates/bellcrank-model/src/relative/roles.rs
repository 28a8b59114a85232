//! Events, recursion and channels, most of them asked of the Cartesian equations.

use super::links::Links;
use super::patterns::Maps;
use super::{Relative, layout, space};
use crate::channel::Selection;
use crate::dynamics::*;
use crate::model::Subject;
use crate::system::channels::{self, Look, Memo};
use std::sync::Arc;

impl Switching for Relative {
    fn switches(&self) -> usize {
        self.cartesian.switches()
    }

    fn switch_values(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let t = space(w);
        self.fill(at, t);
        self.cartesian.switch_values(&t.point, &mut t.cartesian, out);
    }

    fn approaches(&self, at: &Point, w: &mut Workspace, out: &mut [Approach]) {
        let t = space(w);
        self.fill(at, t);
        self.cartesian.approaches(&t.point, &mut t.cartesian, out);
        // joint coordinates may take whole turns in a step, and carry bodies around that do not turn themselves
        let in_tree = self.tree.nodes.iter().zip(&t.twist).filter(|(node, _)| !node.is_cartesian);
        let turning = in_tree.map(|(_, twist)| twist.w.norm()).fold(0.0, f64::max);
        out.iter_mut().for_each(|approach| approach.turning = approach.turning.max(turning));
    }

    fn reactive(&self) -> bool {
        self.cartesian.reactive()
    }

    fn modes(&self, at: &Point, w: &mut Workspace) -> Vec<Mode> {
        let t = space(w);
        self.fill(at, t);

        self.cartesian.modes(&t.point, &mut t.cartesian)
    }

    fn cross(&self, k: usize, at: &Point, w: &mut Workspace) -> Option<Crossing> {
        let t = space(w);
        self.fill(at, t);
        self.cartesian.cross(k, &t.point, &mut t.cartesian)
    }

    fn given_to_fmu(&self, fmu: usize, at: &Point, w: &mut Workspace) -> Vec<f64> {
        let t = space(w);
        self.fill(at, t);
        self.cartesian.given_to_fmu(fmu, &t.point, &mut t.cartesian)
    }

    fn owner_of_switch(&self, k: usize) -> Option<(usize, Subject)> {
        self.cartesian.owner_of_switch(k)
    }

    fn subject_of_slot(&self, slot: usize) -> Subject {
        self.cartesian.subject_of_slot(slot)
    }

    fn candidates(&self, at: &Point, w: &mut Workspace) -> Vec<Candidate> {
        let t = space(w);
        self.fill(at, t);
        let mut candidates = self.cartesian.candidates(&t.point, &mut t.cartesian);
        for row in candidates.iter_mut().flat_map(|c| &mut c.rows) {
            let y = std::mem::replace(row, vec![0.0; self.tree.n]);
            self.pull(1.0, &y, t, row);
        }
        candidates
    }

    fn held_rows(&self, slot: usize) -> Vec<usize> {
        self.cartesian.held_rows(slot)
    }

    fn followers(&self, at: &Point, w: &mut Workspace) -> Vec<Follower> {
        let t = space(w);
        self.fill(at, t);
        let mut followers = self.cartesian.followers(&t.point, &mut t.cartesian);
        for follower in &mut followers {
            let y = std::mem::replace(&mut follower.load, vec![0.0; self.tree.n]);
            self.pull(1.0, &y, t, &mut follower.load);
        }
        followers
    }

    fn may_follow(&self) -> Option<Subject> {
        self.cartesian.may_follow()
    }

    fn owners_of_followers(&self) -> Vec<(Subject, Option<Subject>)> {
        self.cartesian.owners_of_followers()
    }

    fn followed_blocks(&self) -> Vec<(usize, Subject)> {
        self.cartesian.followed_blocks()
    }

    fn courses(&self) -> Vec<Box<dyn Course>> {
        self.cartesian.courses()
    }

    fn laws(&self) -> Vec<PlacedLaw> {
        self.cartesian.laws()
    }

    fn law_arguments(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let t = space(w);
        self.fill(at, t);
        self.cartesian.law_arguments(&t.point, &mut t.cartesian, out);
    }

    fn may_stick(&self) -> Option<Subject> {
        self.cartesian.may_stick()
    }

    fn holding(&self, modes: &[Mode]) -> Option<Arc<dyn Dynamics>> {
        let cartesian = self.cartesian.with_modes(modes)?;
        Some(Arc::new(Relative {
            layout: layout(&cartesian, &self.tree),
            links: Links::new(&cartesian.model, &self.tree),
            cartesian,
            tree: self.tree.clone(),
            angles: self.angles.clone(),
            wraps: self.wraps.clone(),
            maps: Maps::new(),
            start: self.start.clone(),
        }))
    }
}

impl TreeRecursion for Relative {
    fn recursive(&self) -> bool {
        // an impact asks for a response that takes the matrix
        self.layout.m() == 0 && !self.cartesian.jumps()
    }

    fn recursion(&self, at: &mut Point, w: &mut Workspace) -> Result<(), usize> {
        let t = space(w);

        self.forward_dynamics(at, t)
    }
}

impl Relative {
    /// Looks at a point through the Cartesian equations.
    fn look(&self, at: &Point, w: &mut Workspace, memo: Memo, see: impl FnOnce(&Look)) {
        let t = space(w);
        self.rnea_joint_loads(at, t);
        let inner = std::mem::take(&mut t.cartesian);
        let reaction = |joint: usize, w: &Workspace| self.reaction(joint, t, w);
        see(&Look { system: &self.cartesian, at: &t.point, w: &inner, reaction: &reaction, memo });
        t.cartesian = inner;
    }
}

impl Observable for Relative {
    fn subject(&self, of: Unknown, block: usize) -> Subject {
        match of {
            Unknown::Q | Unknown::V => {
                let node = self.tree.nodes.iter().find(|n| n.block as usize == block);
                node.map_or_else(Subject::default, |n| self.cartesian.subject(of, n.body))
            }
            _ => self.cartesian.subject(of, block),
        }
    }

    fn has_power(&self) -> bool {
        self.cartesian.has_power()
    }

    fn limited(&self) -> bool {
        self.cartesian.limited()
    }

    fn beyond(&self, at: &Point, w: &mut Workspace) -> Vec<BeyondLimit> {
        let t = space(w);
        self.fill(at, t);
        self.cartesian.beyond(&t.point, &mut t.cartesian)
    }

    fn not_finite(&self, at: &Point, w: &mut Workspace) -> Option<Lost> {
        let t = space(w);
        self.fill(at, t);
        self.cartesian.not_finite(&t.point, &mut t.cartesian)
    }

    fn driven(&self) -> bool {
        self.cartesian.driven()
    }

    fn channels(&self) -> Vec<Channel> {
        self.cartesian.channels()
    }

    fn observe(&self, at: &Point, w: &mut Workspace, out: &mut Vec<f64>) {
        self.look(at, w, Memo::default(), |look| channels::observe(look, out));
    }

    fn all_channels(&self) -> Vec<Channel> {
        self.cartesian.all_channels()
    }

    fn select(&self, wanted: &mut dyn FnMut(&str, bool) -> bool) -> Selection {
        self.cartesian.select(wanted)
    }

    fn observe_some(&self, selection: &Selection, at: &Point, w: &mut Workspace, out: &mut Vec<f64>) {
        self.look(at, w, Memo::of(selection), |look| channels::observe_some(look, selection, &mut Vec::new(), out));
    }
}
