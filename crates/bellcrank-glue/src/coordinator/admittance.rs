//! How the ports follow the loads: as the parts tell it, by differences, or learned from corrections.

use super::{Coordinator, largest};
use crate::options::{Coupling, GlueError};
use crate::port::{PortMotion, WIDTH, displacement, twist};
use crate::subdomain::{Admittance, Window};
use bellcrank_math::linear::matrix::Matrix;

/// An admittance that is expected to leave more than this fraction of the tolerance after one correction is asked for again.
const NEAR: f64 = 0.3;

/// An admittance that parts with their own solvers tell is asked for again when windows change their length by more than this
/// fraction.
const STRETCH: f64 = 0.1;

/// Size of a finite difference, as a fraction of the load.
const DIFFERENCE: f64 = 1e-5;

impl Coordinator {
    /// Gathers the admittances of the parts into matrices over the bodies of the interface, in its own coordinates.
    pub(super) fn gather(&self, of: &[Admittance]) -> Admittance {
        let (to_own, sites) = (self.interface.to_own(), &self.interface.sites);
        let world = |which: fn(&Admittance) -> &Matrix| {
            let mut y = Matrix::zeros(WIDTH * sites.len(), WIDTH * sites.len());
            for (i, &(a, p)) in sites.iter().enumerate() {
                for (j, &(_, q)) in sites.iter().enumerate().filter(|(_, s)| s.0 == a) {
                    for r in 0..WIDTH {
                        for c in 0..WIDTH {
                            *y.at_mut(WIDTH * i + r, WIDTH * j + c) = which(&of[a]).at(WIDTH * p + r, WIDTH * q + c);
                        }
                    }
                }
            }
            to_own.times(&y).times(&to_own.transpose())
        };
        Admittance {
            place: world(|a| &a.place),
            velocity: world(|a| &a.velocity),
            place_by_shift: world(|a| &a.place_by_shift),
            velocity_by_shift: world(|a| &a.velocity_by_shift),
        }
    }

    /// Sets of columns that one difference finds together: one of each part, since parts do not feel each other's loads.
    pub(super) fn independent_columns(&self) -> Vec<Vec<usize>> {
        let of: Vec<Vec<usize>> = (0..self.parts.len()).map(|part| self.columns_of(part)).collect();
        let most = of.iter().map(Vec::len).max().unwrap_or(0);
        (0..most).map(|k| of.iter().filter_map(|columns| columns.get(k).copied()).collect()).collect()
    }

    /// The coordinates of the interface that belong to a part.
    fn columns_of(&self, part: usize) -> Vec<usize> {
        let bodies = &self.interface.system().layout().bodies;
        let own = self.interface.sites.iter().zip(bodies).filter(|(site, _)| site.0 == part);
        own.flat_map(|(_, range)| range.clone()).collect()
    }

    /// Writes a change, in the world, into the columns of the parts it belongs to.
    pub(super) fn scatter(&self, columns: &[usize], change: &[f64], factor: f64, out: &mut Matrix) {
        let own = self.interface.to_own().apply(change);
        for part in 0..self.parts.len() {
            let rows = self.columns_of(part);
            if let Some(&k) = columns.iter().find(|k| rows.contains(k)) {
                rows.iter().for_each(|&i| *out.at_mut(i, k) = factor * own[i]);
            }
        }
    }

    /// ∂(motion)/∂(load) of a window by differences, for parts that do not tell it.
    pub(super) fn by_differences(
        &mut self,
        window: &Window,
        load: &[f64],
        at: &[PortMotion],
    ) -> Result<Admittance, GlueError> {
        let n = self.interface.width();
        let scale = DIFFERENCE * (1.0 + largest(load));
        let mut y = Admittance::of_accelerations(Matrix::zeros(n, n));
        let shift = vec![0.0; load.len()];
        let to_own = self.interface.to_own();
        for columns in self.independent_columns() {
            let mut changed = load.to_vec();
            for k in &columns {
                changed.iter_mut().zip(to_own.row(*k)).for_each(|(l, c)| *l += scale * c);
            }
            let moved = self.attempt_parts(window, &changed, &shift, false)?.motions;
            self.scatter(&columns, &displacement(&moved, at), 1.0 / scale, &mut y.place);
            self.scatter(&columns, &twist(&moved, at), 1.0 / scale, &mut y.velocity);
        }
        Ok(y)
    }

    /// Improves an admittance by what a correction of the load did: the least change of every part's own block with which it
    /// would have predicted the motion [Broyden 1965].
    pub(super) fn learn(&self, y: &mut Admittance, load: &[f64], place: &[f64], twist: &[f64]) {
        for part in 0..self.parts.len() {
            let of = self.columns_of(part);
            let size: f64 = of.iter().map(|j| load[*j] * load[*j]).sum();
            if size == 0.0 {
                continue;
            }
            for (y, moved) in [(&mut y.place, place), (&mut y.velocity, twist)] {
                for &i in &of {
                    let rest = moved[i] - of.iter().map(|&j| y.at(i, j) * load[j]).sum::<f64>();
                    of.iter().for_each(|&j| *y.at_mut(i, j) += rest * load[j] / size);
                }
            }
        }
    }

    /// Scales the admittance to windows of another length: a held load acts like H² on places and like H on velocities.
    pub(super) fn stretch_admittance(&mut self, length: f64) {
        let r = length / self.history.admittance.length;
        // which does not hold for stiff parts
        let doubtful = self.options.coupling == Coupling::Windows && self.parts_tell() && (r - 1.0).abs() > STRETCH;
        let known = &mut self.history.admittance;
        known.stale |= doubtful;
        if let Some(y) = &mut known.matrix
            && r != 1.0
        {
            for (y, factor) in [(&mut y.place, r * r), (&mut y.velocity, r), (&mut y.place_by_shift, r)] {
                y.values.iter_mut().for_each(|x| *x *= factor);
            }
        }
        known.length = length;
    }

    /// Whether the parts can send a new admittance with their next answer.
    pub(super) fn parts_tell(&self) -> bool {
        self.options.coupling != Coupling::Windows || self.history.admittance.told == Some(true)
    }

    /// Decides whether the admittance can serve another window: the residual that a first correction leaves grows with its
    /// age.
    pub(super) fn age_admittance(&mut self, first: f64, second: Option<f64>) {
        let tell = self.parts_tell();
        let y = &mut self.history.admittance;
        if let Some(second) = second.filter(|_| y.age > 0) {
            y.ageing = (second / (first * y.age as f64)).max(0.5 * y.ageing);
        }
        y.age += 1;
        y.stale = tell && y.ageing * y.age as f64 * first > NEAR;
    }
}
