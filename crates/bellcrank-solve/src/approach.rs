//! Bounds on a switch function between two looks, from where it is and how fast it moves at both.
//!
//! A gap follows a smooth motion x(t): a joint coordinate, the height over a plane, the vector between two centres. With
//! |ẍ| ≤ A the motion leaves its chord over h by no more than A h²/8, and A shows in the rates: they differ from the
//! slope of the chord by up to A h/2. So a part of a step either provably has no event, or it is halved.

use bellcrank_model::dynamics::{Approach, Track};

/// A is this many times what the rates show.
const MARGIN: f64 = 2.0;

/// A function that is this many times as far away as it can come by its largest known speed needs no look in between.
const FAR: f64 = 2.0;

/// Bodies that carry a function turn by no more than this between two looks, in rad.
const TURN: f64 = 1.0;

/// Most parts of a step because bodies turn.
const MOST_PARTS: f64 = 1e4;

/// Below this part of the sizes at hand a depth is rounding.
const ROUNDING: f64 = 1e-13;

/// Where a switch function is and how it moves, at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    pub t: f64,
    pub value: f64,
    pub approach: Approach,
}

/// How many equal parts of a step of length `h` keep bodies from turning too far between two looks.
pub(crate) fn parts(h: f64, ends: [&[Approach]; 2], least: usize) -> usize {
    let turning = ends.iter().flat_map(|a| a.iter()).map(|a| a.turning).fold(0.0, f64::max);
    ((turning * h / TURN).min(MOST_PARTS).ceil() as usize).max(least)
}

/// Whether a function cannot reach zero between two looks, by its speed alone.
pub(crate) fn far(a: &Sight, b: &Sight) -> bool {
    let nearest = a.value.min(b.value);
    let h = b.t - a.t;
    if nearest == f64::INFINITY {
        return true;
    }
    if a.approach.turning.max(b.approach.turning) * h > TURN {
        return false;
    }
    // a comparison with what is not a number is false
    speed(a, b).is_some_and(|speed| nearest > FAR * speed * h)
}

/// The largest of the rates at two looks and of the mean rate between them.
fn speed(a: &Sight, b: &Sight) -> Option<f64> {
    let h = b.t - a.t;
    match (a.approach.track, b.approach.track) {
        (Track::Line { x, rate }, Track::Line { x: y, rate: then }) => {
            Some(((y - x) / h).abs().max(rate.abs()).max(then.abs()))
        }
        (Track::Sphere { d, rate, .. }, Track::Sphere { d: e, rate: then, .. }) => {
            Some(((e - d).norm() / h).max(rate.norm()).max(then.norm()))
        }
        _ => None,
    }
}

/// A bound on |ẍ| between two looks; `None` where nothing is known of the motion.
pub(crate) fn acceleration(a: &Sight, b: &Sight) -> Option<f64> {
    let h = b.t - a.t;
    let off = match (a.approach.track, b.approach.track) {
        (Track::Line { x, rate }, Track::Line { x: y, rate: then }) => {
            let slope = (y - x) / h;
            (rate - slope).abs().max((then - slope).abs())
        }
        (Track::Sphere { d, rate, .. }, Track::Sphere { d: e, rate: then, .. }) => {
            let slope = (e - d) * (1.0 / h);
            (rate - slope).norm().max((then - slope).norm())
        }
        _ => return None,
    };
    Some(MARGIN * 2.0 * off / h)
}

/// Whether a function that is not negative at two looks stays so between them, with |ẍ| ≤ `most`.
pub(crate) fn proven(a: &Sight, b: &Sight, most: f64) -> bool {
    let h = b.t - a.t;
    let sag = most * h * h / 8.0;
    match (a.approach.track, b.approach.track) {
        (Track::Line { x, rate }, Track::Line { x: y, rate: then }) => {
            let rises = rate.min(then) >= 0.5 * most * h;
            let falls = rate.max(then) <= -0.5 * most * h;
            rises || falls || x.min(y) - sag >= -ROUNDING * x.abs().max(y.abs()).max(rate.abs() * h)
        }
        (Track::Sphere { d, rate, radius, outside }, Track::Sphere { d: e, rate: then, .. }) => {
            let rounding = ROUNDING * (radius + d.norm().max(e.norm()));
            if !outside {
                return radius - d.norm().max(e.norm()) - sag >= -rounding;
            }
            // |x| is convex: it does not fall below its tangent
            let leaves = d.normalized().is_some_and(|n| n.dot(rate) >= most * h);
            let comes = e.normalized().is_some_and(|n| n.dot(then) <= -most * h);
            let chord = e - d;
            let s = (-d.dot(chord) / chord.dot(chord).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            leaves || comes || (d + chord * s).norm() - radius - sag >= -rounding
        }
        // it came from where nothing is known, or went there
        (Track::Unknown, Track::Unknown) => true,
        _ => false,
    }
}

/// Whether nothing is known of a function at two looks.
pub(crate) fn unknown(a: &Sight, b: &Sight) -> bool {
    matches!((a.approach.track, b.approach.track), (Track::Unknown, Track::Unknown))
}

/// When two looks suggest to look next: where the chord is nearest, within the middle of the interval.
pub(crate) fn next_look(a: &Sight, b: &Sight) -> f64 {
    let middle = match (a.approach.track, b.approach.track) {
        (Track::Sphere { d, outside: true, .. }, Track::Sphere { d: e, .. }) => {
            let chord = e - d;
            (-d.dot(chord) / chord.dot(chord).max(f64::MIN_POSITIVE)).clamp(0.1, 0.9)
        }
        // the lowest point of the parabola through both rates
        (Track::Line { rate, .. }, Track::Line { rate: then, .. }) if rate < 0.0 && then > 0.0 => {
            (rate / (rate - then)).clamp(0.1, 0.9)
        }
        _ => 0.5,
    };
    a.t + (b.t - a.t) * middle
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellcrank_math::Vec3;

    fn line(t: f64, x: f64, rate: f64) -> Sight {
        Sight { t, value: x, approach: Approach { track: Track::Line { x, rate }, turning: 0.0 } }
    }

    fn ball(t: f64, d: Vec3, rate: Vec3) -> Sight {
        let track = Track::Sphere { d, rate, radius: 0.1, outside: true };
        Sight { t, value: d.norm() - 0.1, approach: Approach { track, turning: 0.0 } }
    }

    #[test]
    fn a_parabola_is_proven_as_its_lowest_point_says() {
        // x = (t − ½)² + c: the bound has a margin of two
        let at = |t: f64, c: f64| line(t, (t - 0.5f64).powi(2) + c, 2.0 * (t - 0.5));
        for (c, clear) in [(0.3, true), (0.1, false), (-0.01, false)] {
            let (a, b) = (at(0.0, c), at(1.0, c));
            let most = acceleration(&a, &b).unwrap();
            assert!((most - MARGIN * 2.0).abs() < 1e-12 && proven(&a, &b, most) == clear, "{c}");
        }
        assert_eq!(next_look(&at(0.0, 0.1), &at(1.0, 0.1)), 0.5);
    }

    #[test]
    fn balls_that_pass_through_each_other_are_never_proven_apart() {
        let v = Vec3::new(200.0, 0.0, 0.0);
        let at = |t: f64, y: f64| ball(t, Vec3::new(-1.0, y, 0.0) + v * t, v);
        let most = acceleration(&at(0.0, 0.0), &at(0.01, 0.0)).unwrap();
        assert!(most < 1e-9);
        assert!(!proven(&at(0.0, 0.09), &at(0.01, 0.09), most) && proven(&at(0.0, 0.11), &at(0.01, 0.11), most));
        // nearest where they pass
        let t = next_look(&at(0.0, 0.09), &at(0.012, 0.09));
        assert!((t - 0.005).abs() < 1e-9, "{t}");
        assert!(far(&at(-1.0, 0.0), &at(-0.9, 0.0)) && !far(&at(0.0, 0.0), &at(0.01, 0.0)));
    }
}
