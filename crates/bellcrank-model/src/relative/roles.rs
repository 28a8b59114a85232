//! Start, events, recursion and channels, most of them asked of the Cartesian equations.

use super::links::Links;
use super::patterns::Maps;
use super::{Relative, layout, space};
use crate::dynamics::*;
use std::sync::Arc;

impl StartRules for Relative {
    fn integrable(&self, constraint: usize) -> bool {
        self.cartesian.integrable(constraint)
    }
}

impl Switching for Relative {
    fn switches(&self) -> usize {
        self.cartesian.switches()
    }

    fn switch_values(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let t = space(w);
        self.fill(at, t);
        self.cartesian.switch_values(&t.point, &mut t.cartesian, out);
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
        let mut crossing = self.cartesian.cross(k, &t.point, &mut t.cartesian);
        if let Some(impact) = crossing.as_mut().and_then(|c| c.impact.as_mut()) {
            let y = std::mem::replace(&mut impact.row, vec![0.0; self.tree.n]);
            self.pull(1.0, &y, t, &mut impact.row);
        }
        crossing
    }

    fn may_stick(&self) -> Option<String> {
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

impl Observable for Relative {
    fn name(&self, of: Unknown, block: usize) -> String {
        match of {
            Unknown::Q | Unknown::V => {
                let node = self.tree.nodes.iter().find(|n| n.block as usize == block);
                node.map_or_else(String::new, |n| self.cartesian.name(of, n.body))
            }
            _ => self.cartesian.name(of, block),
        }
    }

    fn has_power(&self) -> bool {
        self.cartesian.has_power()
    }

    fn driven(&self) -> bool {
        self.cartesian.driven()
    }

    fn channels(&self) -> Vec<Channel> {
        self.cartesian.channels()
    }

    fn observe(&self, at: &Point, w: &mut Workspace, out: &mut Vec<f64>) {
        let t = space(w);
        self.rnea_joint_loads(at, t);
        let mut inner = std::mem::take(&mut t.cartesian);
        crate::system::channels::observe(&self.cartesian, &t.point, &mut inner, |j, w| self.reaction(j, t, w), out);
        t.cartesian = inner;
    }
}
