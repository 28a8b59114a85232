//! The partition of the coordinates into independent and dependent ones, kept good during a run.

use crate::engines::SplitReport;
use crate::linear::kkt::Kkt;
use crate::linear::partition::Partition;
use crate::weights::Weights;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Point, Unknown, Workspace};
use std::sync::Arc;

/// The partition in use and what it is chosen from.
pub(super) struct Partitioning {
    pub(super) partition: Partition,
    kkt: Kkt,
    /// Whether the error test leaves dependent coordinates out.
    restricts: bool,
    pub(super) changes: usize,
    /// The largest |Q| that was accepted.
    worst: f64,
}

impl Partitioning {
    /// The best partition at a start.
    pub(super) fn new(dynamics: &Arc<dyn Dynamics>, start: &Point, w: &mut Workspace, restricts: bool) -> Partitioning {
        let mut kkt = Kkt::new(dynamics.clone());
        dynamics.realize(start, w);
        let partition = Partition::choose(&kkt.kept_rows(start, w), dynamics.layout().n());
        Partitioning { worst: partition.largest, partition, kkt, restricts, changes: 0 }
    }

    /// Tells a tape the partition in use.
    pub(super) fn keep(&mut self, tape: &mut Tape) {
        tape.plain(&mut self.partition);
        self.kkt.keep(tape, false);
        tape.count(&mut self.changes);
        tape.number(&mut self.worst);
    }

    /// Replaces a partition that has become poor at a realized point; true if it was.
    pub(super) fn renew(&mut self, at: &Point, w: &mut Workspace) -> bool {
        let renewed = self.partition.renew(&self.kkt.kept_rows(at, w));
        self.changes += usize::from(renewed);
        self.worst = self.worst.max(self.partition.largest);
        renewed
    }

    /// Leaves dependent coordinates out of the error test, where that is asked for.
    pub(super) fn restrict(&self, weights: &mut Weights) {
        if self.restricts {
            weights.restrict(&self.partition.independent);
        }
    }

    pub(super) fn report(&self, dynamics: &dyn Dynamics) -> SplitReport {
        let independent = self.partition.independent.iter().filter(|x| **x).count();
        let constraints = &dynamics.layout().constraints;
        let owner = |row: usize| constraints.iter().position(|c| c.contains(&row));
        let names = self.partition.redundant().filter_map(owner).map(|k| dynamics.name(Unknown::Lambda, k));
        let mut redundant: Vec<String> = names.collect();
        redundant.dedup();
        SplitReport {
            independent,
            dependent: self.partition.independent.len() - independent,
            largest: self.partition.largest,
            worst: self.worst,
            changes: self.changes,
            redundant,
        }
    }
}
