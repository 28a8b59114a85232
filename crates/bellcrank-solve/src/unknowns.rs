//! The unknowns of an implicit step: which of them exist, and where they stand in its vector.

use crate::formulation::Formulation;
use bellcrank_math::linear::blocks::Class;
use bellcrank_model::dynamics::Layout;
use bellcrank_model::{Dynamics, Unknown};
use std::ops::Range;

/// The order of the unknowns in a step's vector.
pub(crate) const ORDER: [Unknown; 5] = [Unknown::V, Unknown::Q, Unknown::Z, Unknown::Lambda, Unknown::Mu];

/// The blocks of a step's unknowns: which of them exist, and where.
pub struct Unknowns {
    ranges: [Range<usize>; 5],
    first_block: [usize; 5],
    /// Blocks of the layout that have unknowns, by kind: their number in the pattern.
    pub(crate) numbers: [Vec<u32>; 5],
    pub(crate) sizes: Vec<usize>,
    pub(crate) classes: Vec<Class>,
    owners: Vec<(Unknown, usize)>,
}

pub(crate) const NONE: u32 = u32::MAX;

impl Unknowns {
    /// The unknowns a formulation has, without the velocities where they are condensed.
    pub fn of(dynamics: &dyn Dynamics, formulation: &Formulation, condensed: bool) -> Unknowns {
        let layout = dynamics.layout();
        let mut u = Unknowns {
            ranges: Default::default(),
            first_block: [0; 5],
            numbers: Default::default(),
            sizes: Vec::new(),
            classes: Vec::new(),
            owners: Vec::new(),
        };
        let mut scalar = 0;
        for (k, unknown) in ORDER.into_iter().enumerate() {
            let present = formulation.unknowns().any(|x| x == unknown) && !(condensed && unknown == Unknown::V);
            u.first_block[k] = u.sizes.len();
            let start = scalar;
            for (number, range) in layout.columns(unknown).iter().enumerate() {
                if !present || range.is_empty() {
                    u.numbers[k].push(NONE);
                    continue;
                }
                u.numbers[k].push(u.sizes.len() as u32);
                u.sizes.push(range.len());
                u.owners.push((unknown, number));
                u.classes.push(match unknown {
                    Unknown::V => Class::Velocity,
                    Unknown::Q | Unknown::Z => Class::Body,
                    Unknown::Lambda | Unknown::Mu => Class::Multiplier,
                });
                scalar += range.len();
            }
            u.ranges[k] = start..scalar;
        }
        u
    }

    pub(crate) fn place(unknown: Unknown) -> usize {
        ORDER.iter().position(|u| *u == unknown).unwrap_or(0)
    }

    /// The part of a step's vector that belongs to an unknown.
    pub fn range(&self, unknown: Unknown) -> Range<usize> {
        self.ranges[Self::place(unknown)].clone()
    }

    /// Where the multipliers of constraint rows stand, λ first and then μ: what is left out with these rows.
    pub(crate) fn multipliers_of(&self, layout: &Layout, rows: &[usize]) -> Vec<usize> {
        let first = |unknown| Some(self.range(unknown)).filter(|r| !r.is_empty()).map(|r| r.start);
        let mut out: Vec<usize> = first(Unknown::Lambda).map_or(Vec::new(), |at| rows.iter().map(|r| at + r).collect());
        if let Some(at) = first(Unknown::Mu) {
            for row in rows {
                let block = layout.constraints.partition_point(|r| r.end <= *row);
                let (row, rates) = (row - layout.constraints[block].start, &layout.rates[block]);
                out.extend((row < rates.len()).then_some(at + rates.start + row));
            }
        }
        out
    }

    /// The block of the pattern that a block of the layout is, if it has unknowns.
    pub fn block(&self, unknown: Unknown, number: u32) -> Option<u32> {
        let b = self.numbers[Self::place(unknown)][number as usize];
        (b != NONE).then_some(b)
    }

    /// Which unknown and which block of the layout a block of the pattern is.
    pub fn owner(&self, block: usize) -> (Unknown, usize) {
        self.owners[block]
    }
}
