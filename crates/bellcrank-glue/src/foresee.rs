//! Prediction of the loads of the next window: polynomials through the last ones, of the order that has predicted best.

/// The highest order of a polynomial.
pub(crate) const HIGHEST: usize = 4;

/// Weight of an old score, so that one lucky window does not decide.
const MEMORY: f64 = 0.5;

/// λ, μ and F of the interface at one committed time.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Past {
    /// The time of λ: with held loads, the middle of the window.
    pub when: f64,
    /// The time of F.
    pub at: f64,
    pub lambda: Vec<f64>,
    /// Empty at the start, before the first window.
    pub mu: Vec<f64>,
    /// In the world.
    pub force: Vec<f64>,
}

/// The last values, newest first, and the error of each order of extrapolation. Multipliers of index 3 alternate after a start, where
/// high orders are worse than none; on smooth motion they save an exchange per window.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Foresight {
    pub past: Vec<Past>,
    pub scores: Vec<f64>,
}

impl Foresight {
    pub fn push(&mut self, now: Past) {
        self.past.insert(0, now);
        self.past.truncate(HIGHEST + 1);
    }

    /// Number of orders that there are values for.
    pub fn orders(&self) -> usize {
        self.past.len()
    }

    /// Whether the values are of these sizes.
    pub fn fits(&self, lambda: usize, mu: usize, force: usize) -> bool {
        let past =
            |p: &Past| p.lambda.len() == lambda && (p.mu.is_empty() || p.mu.len() == mu) && p.force.len() == force;
        !self.past.is_empty() && self.past.len() <= HIGHEST + 1 && self.past.iter().all(past)
    }

    /// The order that has predicted best.
    pub fn best(&self) -> usize {
        let known = self.scores.iter().take(self.orders()).enumerate();
        known.min_by(|a, b| a.1.total_cmp(b.1)).map_or(self.orders().saturating_sub(1).min(1), |(k, _)| k)
    }

    /// Records the error of every order.
    pub fn score(&mut self, off: impl Iterator<Item = f64>) {
        for (k, off) in off.enumerate() {
            match self.scores.get_mut(k) {
                Some(score) => *score = off.max(MEMORY * *score),
                None => self.scores.push(off),
            }
        }
    }

    /// λ and μ at one time and F at another, by a polynomial of some order.
    pub fn values(&self, order: usize, when: f64, at: f64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let with = |mu: bool| self.past.iter().filter(move |p| !mu || !p.mu.is_empty()).take(order + 1);
        let sum = |when: f64, mu: bool, time: fn(&Past) -> f64, value: fn(&Past) -> &Vec<f64>| {
            let times: Vec<f64> = with(mu).map(time).collect();
            let mut out = Vec::new();
            for (w, p) in lagrange(&times, when).into_iter().zip(with(mu)) {
                out.resize(value(p).len(), 0.0);
                out.iter_mut().zip(value(p)).for_each(|(o, x)| *o += w * x);
            }
            out
        };
        (
            sum(when, false, |p| p.when, |p| &p.lambda),
            sum(when, true, |p| p.when, |p| &p.mu),
            sum(at, false, |p| p.at, |p| &p.force),
        )
    }
}

/// The weights of Lagrange's polynomial through some times.
fn lagrange(times: &[f64], at: f64) -> Vec<f64> {
    let weight = |k: usize| {
        let others = (0..times.len()).filter(|j| *j != k);
        others.map(|j| (at - times[j]) / (times[k] - times[j])).product()
    };
    (0..times.len()).map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(f: &dyn Fn(f64) -> f64) -> Foresight {
        let mut out = Foresight::default();
        for t in [0.0, 0.1, 0.25, 0.3, 0.5] {
            let mu = if t == 0.0 { vec![] } else { vec![f(t)] };
            out.push(Past { when: t, at: t + 1.0, lambda: vec![f(t)], mu, force: vec![f(t + 1.0)] });
        }
        out
    }

    #[test]
    fn polynomials_are_foreseen_exactly_on_uneven_windows() {
        let cubic = |t: f64| 1.0 + t - 2.0 * t * t + 3.0 * t.powi(3);
        let of = past(&cubic);
        let (lambda, mu, force) = of.values(3, 0.8, 1.8);
        assert!((lambda[0] - cubic(0.8)).abs() < 1e-13 && (mu[0] - cubic(0.8)).abs() < 1e-13);
        assert!((force[0] - cubic(1.8)).abs() < 1e-12);
        assert!((of.values(1, 0.8, 1.8).0[0] - cubic(0.8)).abs() > 0.1);
    }

    #[test]
    fn the_order_that_was_best_is_taken() {
        let mut of = past(&|t| t);
        assert_eq!(of.best(), 1);
        of.score([3.0, 1.0, 2.0].into_iter());
        assert_eq!(of.best(), 1);
        of.score([0.1, 1.0, 0.2].into_iter());
        assert_eq!(of.best(), 1, "an old score is remembered");
        of.score([0.1, 1.0, 0.2].into_iter());
        of.score([0.1, 1.0, 0.2].into_iter());
        assert_eq!(of.best(), 2);
    }
}
