//! All points of a study: the grid of what is listed, and at each of its points the samples of what is drawn.

use crate::axis::{Axis, AxisValue, AxisValues};
use crate::digest::Digest;
use crate::sampling::Sampler;

/// Studies have at most this many points: their keys must fit into memory.
pub const MOST_POINTS: u64 = 10_000_000;

/// The axes of a study, and how their points come about.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// The axes, in the order of the file.
    pub axes: Vec<Axis>,
    /// Whether what is listed goes together, value by value, and not in all combinations; all lists are then of one length.
    pub together: bool,
    pub(crate) sampler: Sampler,
}

/// One set of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// A value for each axis.
    pub values: Vec<AxisValue>,
    /// A digest of what is varied and of the values: the same set has the same key in any study.
    pub key: u128,
}

impl Space {
    /// How many points there are; more than can be counted is `u128::MAX`.
    pub fn len(&self) -> u128 {
        let mut listed = self.axes.iter().filter_map(Axis::listed);
        let grid = match self.together {
            true => listed.next().unwrap_or(1) as u128,
            false => listed.fold(1u128, |n, k| n.saturating_mul(k as u128)),
        };
        let drawn = self.axes.iter().any(|a| a.listed().is_none());
        if drawn { grid.saturating_mul(u128::from(self.sampler.samples)) } else { grid }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A point by its index: the last axis of the grid changes fastest, and samples faster still. Every point of the grid has the same
    /// samples, so that their differences tell of the grid alone.
    pub fn point(&self, index: u64) -> Point {
        let drawn = self.axes.iter().any(|a| a.listed().is_none());
        let samples = if drawn { self.sampler.samples } else { 1 };
        let (mut grid, sample) = (index / samples, index % samples);
        let mut places = vec![0; self.axes.len()];
        for (place, n) in places.iter_mut().zip(&self.axes).rev().filter_map(|(p, a)| Some((p, a.listed()? as u64))) {
            *place = (grid % n) as usize;
            grid = if self.together { grid } else { grid / n };
        }
        let mut draws = 0;
        let mut digest = Digest::default();
        let mut value = |(axis, place): (&Axis, usize)| {
            let value = match &axis.values {
                AxisValues::Listed(list) => list[place].clone(),
                AxisValues::Drawn(distribution) => {
                    draws += 1;
                    AxisValue::Number(distribution.quantile(self.sampler.draw(sample, draws - 1)))
                }
            };
            digest.add(axis.target.path().as_bytes());
            match &value {
                AxisValue::Number(x) => digest.add(&x.to_bits().to_le_bytes()),
                AxisValue::Text(text) => digest.add(text.as_bytes()),
            }
            value
        };
        let values = self.axes.iter().zip(places).map(&mut value).collect();
        Point { values, key: digest.value() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Target;
    use crate::distribution::Distribution;
    use crate::sampling::Sampling;

    fn axis(name: &str, values: AxisValues) -> Axis {
        Axis { name: name.into(), target: Target::Model(format!("parameter.{name}")), unit: String::new(), values }
    }

    fn listed(values: &[f64]) -> AxisValues {
        AxisValues::Listed(values.iter().map(|x| AxisValue::Number(*x)).collect())
    }

    fn space(axes: Vec<Axis>) -> Space {
        Space { axes, together: false, sampler: Sampler { how: Sampling::MonteCarlo, seed: 1, samples: 3 } }
    }

    #[test]
    fn a_grid_goes_through_all_combinations_and_every_point_has_a_key_of_its_own() {
        let s = space(vec![axis("a", listed(&[1.0, 2.0])), axis("b", listed(&[1.0, 2.0, 3.0]))]);
        assert_eq!(s.len(), 6);
        let shown = |p: &Point| p.values.iter().map(AxisValue::shown).collect::<Vec<_>>().join(" ");
        let all: Vec<Point> = (0..6).map(|i| s.point(i)).collect();
        assert_eq!(all.iter().map(shown).collect::<Vec<_>>(), ["1 1", "1 2", "1 3", "2 1", "2 2", "2 3"]);
        let mut keys: Vec<u128> = all.iter().map(|p| p.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 6);
        // a longer grid holds the shorter one
        let longer = space(vec![axis("a", listed(&[0.0, 1.0, 2.0])), axis("b", listed(&[1.0, 2.0, 3.0]))]);
        assert_eq!(longer.point(3), s.point(0));
    }

    #[test]
    fn every_point_of_the_grid_has_the_same_samples() {
        let drawn = AxisValues::Drawn(Distribution::Uniform { from: 0.0, to: 1.0 });
        let s = space(vec![axis("c", drawn.clone()), axis("a", listed(&[1.0, 2.0])), axis("d", drawn)]);
        assert_eq!(s.len(), 6);
        for k in 0..3 {
            let (one, other) = (s.point(k), s.point(3 + k));
            assert_eq!((&one.values[0], &one.values[2]), (&other.values[0], &other.values[2]));
            assert!(one.values[0] != one.values[2] && one.values[1] != other.values[1]);
        }
        let mut pairs = space(vec![axis("a", listed(&[1.0, 2.0])), axis("b", listed(&[5.0, 6.0]))]);
        pairs.together = true;
        assert_eq!((pairs.len(), pairs.point(1).values), (2, vec![AxisValue::Number(2.0), AxisValue::Number(6.0)]));
        let huge = axis("a", listed(&vec![0.0; 1_000_000]));
        assert_eq!(space(vec![huge.clone(), huge]).len(), 1_000_000_000_000);
    }
}
