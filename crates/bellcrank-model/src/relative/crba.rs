//! The mass matrix of a tree by composite rigid bodies: CRBA [Featherstone 2008, ch. 6].

use super::Relative;
use super::kinematics::{TreeSpace, Twist, Wrench};
use super::links::{Sym, sym_times, turned};
use super::tree::NONE;
use bellcrank_math::Vec3;

/// What a joint carries as one rigid body: inertia about the joint, mass times centre, mass.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Composite {
    a: Sym,
    h: Vec3,
    mass: f64,
}

impl Composite {
    /// The same about a point l before.
    fn shifted(&self, l: Vec3) -> Composite {
        let Composite { mut a, h, mass } = *self;
        // −h̃ l̃ − l̃ h̃ − m l̃ l̃, where x̃ ỹ = y xᵀ − (x·y) I
        let k = h + l * (0.5 * mass);
        let trace = 2.0 * k.dot(l);
        for (e, (i, j)) in a.iter_mut().zip([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]) {
            *e += if i == j { trace } else { 0.0 } - k[i] * l[j] - k[j] * l[i];
        }
        Composite { a, h: h + l * mass, mass }
    }

    /// The load that a motion of it takes, both at the joint.
    fn times(&self, s: Twist) -> Wrench {
        Wrench { f: s.v * self.mass + s.w.cross(self.h), m: sym_times(&self.a, s.w) + self.h.cross(s.v) }
    }
}

impl Relative {
    /// The blocks of M by composite bodies, in O(n · depth): `add` gets row, column and entry.
    pub(super) fn crba(&self, t: &mut TreeSpace, mut add: impl FnMut(usize, usize, f64)) {
        let nodes = &self.tree.nodes;
        let mut composite = std::mem::take(&mut t.composite);
        composite.clear();
        for (i, link) in self.links.links.iter().enumerate() {
            let (h, inertia) = self.frozen(i, t);
            let central = Composite { a: turned(&t.r[i], &inertia), h, mass: link.mass };
            composite.push(central.shifted(t.p[i] - t.joint[i]));
        }
        let mut modal = std::mem::take(&mut t.modal);
        modal.begin(&self.tree, t);
        for (i, node) in nodes.iter().enumerate().rev().filter(|(_, n)| !n.is_cartesian) {
            if node.parent != NONE {
                let k = node.parent as usize;
                let x = composite[i].shifted(t.joint[i] - t.joint[k]);
                let to = &mut composite[k];
                to.a.iter_mut().zip(x.a).for_each(|(a, x)| *a += x);
                to.h += x.h;
                to.mass += x.mass;
                modal.carry(&self.tree, i, t, |e| composite[i].times(e));
            }
            for k in node.columns.clone() {
                let mut load = composite[i].times(t.s[k]);
                load.add(modal.load(k));
                // the node on the way whose seat the modes of the next one move
                let mut below = i;
                for j in self.tree.ancestors(i as u32) {
                    if j == i {
                        for other in node.columns.clone() {
                            add(
                                other,
                                k,
                                load.on(t.s[other]) + modal.load(other).on(t.s[k]) + modal.between(node, other, k),
                            );
                        }
                        continue;
                    }
                    let seat = load.at(t.joint[below] - t.joint[i]);
                    let load = load.at(t.joint[j] - t.joint[i]);
                    let own = nodes[j].columns.clone().map(|other| (other, load.on(t.s[other])));
                    for (other, x) in own.chain(self.tree.sway(&nodes[below], t).map(|(other, e)| (other, seat.on(e))))
                    {
                        add(other, k, x);
                        add(k, other, x);
                    }
                    below = j;
                }
            }
        }
        (t.composite, t.modal) = (composite, modal);
    }
}
