//! Functions of time in the equations, and the times at which they bend or jump.

/// A time at which a function of time changes its branch: its value, its rate or a higher derivative may jump.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Break {
    /// The last number of the branch before.
    pub before: f64,
    /// The first number of the branch behind it, some units of rounding later.
    pub after: f64,
    /// Whether the value or the rate jumps; if not, only higher derivatives do.
    pub bends: bool,
}

/// What is known of the time ahead.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Ahead {
    /// Nothing bends up to this time.
    Clear(f64),
    /// The first breakpoint.
    Break(Break),
}

/// A function of time in the equations.
pub trait Course: Send + Sync {
    /// The first breakpoint with `from` ≤ before and after ≤ `to`, for these values of the inputs. A search may end early,
    /// with a time up to which there is none.
    fn next_break(&self, inputs: &[f64], from: f64, to: f64) -> Ahead;

    /// The range of its values between two times; infinite if it is not known, or if it may be infinite there, and zero where it also
    /// depends on the state.
    fn range(&self, inputs: &[f64], from: f64, to: f64) -> f64 {
        let _ = (inputs, from, to);
        f64::INFINITY
    }

    /// The end of a step that hides no pulse: `to`, or an earlier time if between `from` and `to` the function rises or falls
    /// by more than `height` beyond its values at both ends.
    fn unhidden(&self, inputs: &[f64], from: f64, to: f64, height: f64) -> f64 {
        let _ = (inputs, from, height);
        to
    }
}
