//! The last two values of something that has no history of its own.

/// A value and the one before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    pub now: Vec<f64>,
    before: Vec<f64>,
}

impl Recent {
    /// Both values are `x`.
    pub fn start(&mut self, x: &[f64]) {
        self.now.clear();
        self.now.extend_from_slice(x);
        self.before.clone_from(&self.now);
    }
    /// A new value.
    pub fn push(&mut self, x: &[f64]) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.copy_from_slice(x);
    }
    /// x_n + ratio (x_n − x_{n−1}).
    pub fn extrapolate(&self, ratio: f64, out: &mut [f64]) {
        for ((out, now), before) in out.iter_mut().zip(&self.now).zip(&self.before) {
            *out = now + ratio * (now - before);
        }
    }
}
