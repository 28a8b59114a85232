//! Time spent by the processor, which is steadier than the clock on the wall.

use std::time::Instant;

/// Nanoseconds that this thread has run so far, by its own clock; where there is none, nanoseconds since `start`.
pub fn processor(start: Instant) -> f64 {
    thread_clock().unwrap_or_else(|| start.elapsed().as_nanos() as f64)
}

#[cfg(unix)]
fn thread_clock() -> Option<f64> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(now.tv_sec as f64 * 1e9 + now.tv_nsec as f64)
}

#[cfg(not(unix))]
fn thread_clock() -> Option<f64> {
    None
}

/// A time that was measured several times: the median, and how far apart the measurements are, relative to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The median, in s.
    pub seconds: f64,
    /// The largest less the smallest, over the median; NaN of a single measurement.
    pub spread: f64,
}

impl Timing {
    /// Of nothing that could be measured.
    pub const NONE: Timing = Timing { seconds: f64::NAN, spread: f64::NAN };

    /// The median of some measurements in s.
    pub fn of(mut seconds: Vec<f64>) -> Timing {
        seconds.sort_by(f64::total_cmp);
        let [Some(first), Some(last)] = [seconds.first(), seconds.last()] else { return Timing::NONE };
        let middle = 0.5 * (seconds[(seconds.len() - 1) / 2] + seconds[seconds.len() / 2]);
        let spread = if seconds.len() > 1 { (last - first) / middle } else { f64::NAN };
        Timing { seconds: middle, spread }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_thread_is_finer_than_the_ticks_of_the_system() {
        let start = Instant::now();
        let mut least = f64::INFINITY;
        for _ in 0..1000 {
            let before = processor(start);
            let passed = processor(start) - before;
            assert!(passed >= 0.0);
            least = if passed > 0.0 { least.min(passed) } else { least };
        }
        assert!(least < 1e6, "{least} ns");
    }

    #[test]
    fn a_timing_is_the_median_of_its_measurements() {
        assert_eq!(Timing::of(vec![3.0, 1.0, 2.0]), Timing { seconds: 2.0, spread: 1.0 });
        assert_eq!(Timing::of(vec![1.0, 3.0]), Timing { seconds: 2.0, spread: 1.0 });
        assert!(Timing::of(vec![1.0]).spread.is_nan() && Timing::of(vec![]).seconds.is_nan());
    }
}
