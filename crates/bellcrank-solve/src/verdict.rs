//! What to think of a number: an error against a scale, and bounds that follow from the tolerance.

use crate::choices::Options;

/// What to think of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is for information only.
    #[default]
    None,
    /// As it should be.
    Good,
    /// Worth a look.
    Doubtful,
    /// Wrong.
    Bad,
}

/// The largest relative errors that are good, and that are still only doubtful.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Good up to here.
    pub good: f64,
    /// Doubtful up to here, bad beyond.
    pub doubtful: f64,
}

impl Bounds {
    /// Loads that balance are exact up to rounding, whatever the tolerance.
    pub(crate) const BALANCED: Bounds = Bounds { good: 1e-8, doubtful: 1e-5 };
    /// Of all attempted steps, those that were rejected.
    pub(crate) const REJECTED: Bounds = Bounds { good: 0.25, doubtful: 0.6 };

    /// With error control a hundred times the tolerance is good; a fixed step promises nothing, so a thousandth is.
    pub fn of(options: &Options) -> Bounds {
        let good = match options.step {
            Some(_) => 1e-3,
            None => (100.0 * options.rtol).clamp(1e-10, 1e-2),
        };
        Bounds { good, doubtful: 1e-2 }
    }

    /// The verdict on a relative error; one that is not a number is bad.
    pub fn judge(self, x: f64) -> Verdict {
        match x {
            x if x <= self.good => Verdict::Good,
            x if x <= self.doubtful => Verdict::Doubtful,
            _ => Verdict::Bad,
        }
    }

    /// The verdict on an error against a scale.
    pub fn judged(self, size: f64, scale: f64) -> Judged {
        Judged { size, scale, verdict: self.judge(size / scale) }
    }
}

/// An error, what it is compared with, and the verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The error.
    pub size: f64,
    /// What it is compared with, in the same unit; positive.
    pub scale: f64,
    /// What to think of it.
    pub verdict: Verdict,
}

impl Judged {
    /// The error as a fraction of its scale.
    pub fn relative(&self) -> f64 {
        self.size / self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_follow_the_tolerance_and_not_a_number_is_bad() {
        let adaptive = Bounds::of(&Options { rtol: 1e-6, ..Options::default() });
        let fixed = Bounds::of(&Options { step: Some(1e-3), ..Options::default() });
        assert_eq!((fixed.good, fixed.doubtful), (1e-3, 1e-2));
        assert!((adaptive.good / 1e-4 - 1.0).abs() < 1e-12);
        let verdicts = [1e-5, 1e-3, 0.1, f64::NAN].map(|x| adaptive.judge(x));
        assert_eq!(verdicts, [Verdict::Good, Verdict::Doubtful, Verdict::Bad, Verdict::Bad]);
        assert!(Verdict::None < Verdict::Good && Verdict::Good < Verdict::Doubtful && Verdict::Doubtful < Verdict::Bad);
        let judged = adaptive.judged(2e-6, 2.0);
        assert_eq!((judged.relative(), judged.verdict), (1e-6, Verdict::Good));
    }
}
