//! Friction that wedges: it presses the joint that makes it harder than it can push back.
//!
//! Friction of the size s that follows a reaction makes a part of that reaction itself. With the gain κ, by which s grows with each newton of it,
//! s = s₀ ± κ s has one solution for κ < 1, whatever else acts. From κ = 1 on there may be none, or several [Painlevé 1895]. Of several such loads κ is
//! the spectral radius of how they act on each other.

use crate::linear::kkt::Kkt;
use bellcrank_model::{Dynamics, Point, Subject, Workspace};

/// Where a run fails so close to it, it is why: the last step is a little before it.
pub(crate) const CLOSE: f64 = 1e-3;

/// Rounds of the power method.
const ROUNDS: usize = 200;

/// Where friction wedges.
#[derive(Clone, Debug, PartialEq)]
pub struct Wedge {
    /// The friction.
    pub culprit: Subject,
    /// The joint that it is in; none for a contact.
    pub joint: Option<Subject>,
    /// Its coefficient.
    pub coefficient: f64,
    /// κ.
    pub gain: f64,
}

impl Wedge {
    /// The friction that wedges at a state, if any does, or comes this close to it.
    pub(crate) fn find(
        kkt: &mut Kkt,
        dynamics: &dyn Dynamics,
        (at, w): (&Point, &mut Workspace),
        close: f64,
    ) -> Option<Wedge> {
        dynamics.may_follow()?;
        let mut at = at.clone();
        w.invalidate();
        dynamics.realize(&at, w);
        let (followers, gains) = kkt.feedback(&mut at, w).ok()?;
        w.invalidate();
        let (gain, which) = radius(&gains, followers.len());
        let (culprit, joint) = dynamics.owners_of_followers().into_iter().nth(which)?;
        let coefficient = followers.get(which)?.coefficient;
        (gain >= 1.0 - close && coefficient > 0.0).then_some(Wedge { culprit, joint, coefficient, gain })
    }

    /// What is wrong, without advice.
    pub fn reason(&self) -> String {
        let Wedge { culprit, joint, coefficient, gain } = self;
        let what = joint.as_ref().map_or_else(|| "what it rubs on".into(), |joint| joint.words.clone());
        format!(
            "{culprit} wedges {what}: each newton of its friction presses so hard that it makes {gain:.3} N more, so that no motion, or more than \
             one, balances it; the coefficient is {coefficient}, and must be below {:.4} here",
            coefficient / gain
        )
    }

    /// What to do about it.
    pub const ADVICE: &'static str = "make the `coefficient` smaller, or press less by friction: a longer guide (`length`), a smaller `radius`, loads closer to \
                                      the axis; what is meant to jam holds by `static_coefficient` from a start at rest, or gives way with a `bushing` in the \
                                      place of the joint";
}

/// The spectral radius of a matrix without negative numbers, and the largest entry of its vector.
fn radius(matrix: &[f64], n: usize) -> (f64, usize) {
    let mut x = vec![1.0; n];
    let mut size = 0.0;
    for _ in 0..ROUNDS {
        // the shift lets cycles converge
        let next: Vec<f64> = (0..n).map(|i| x[i] + (0..n).map(|j| matrix[i * n + j] * x[j]).sum::<f64>()).collect();
        size = next.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        if size <= 0.0 || !size.is_finite() {
            return (0.0, 0);
        }
        x = next.into_iter().map(|v| v / size).collect();
    }
    let largest = (0..n).max_by(|a, b| x[*a].total_cmp(&x[*b])).unwrap_or(0);
    (size - 1.0, largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_radius_is_that_of_loads_that_press_each_other() {
        assert_eq!(radius(&[], 0), (0.0, 0));
        assert!((radius(&[0.7], 1).0 - 0.7).abs() < 1e-12);
        // neither presses itself, both press each other: √(2 · 0.5)
        assert!((radius(&[0.0, 2.0, 0.5, 0.0], 2).0 - 1.0).abs() < 1e-9);
        assert_eq!(radius(&[0.1, 0.0, 0.0, 0.3], 2).1, 1);
    }
}
