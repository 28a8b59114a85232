//! The progress bar: simulated time, step size, rate and what remains.
//!
//! A step only stores two numbers; a thread of its own looks at them and draws, so that the bar also
//! lives while a step takes long.

use bellcrank_solve::history::AcceptedStep;
use bellcrank_solve::record::{Header, Recorder, RunReport};
use indicatif::{FormattedDuration, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const REDRAW: Duration = Duration::from_millis(50);
/// Time constant of the average of the rate, in s.
const MEMORY: f64 = 5.0;

/// A progress bar on a terminal, nothing elsewhere. It vanishes when it is finished or dropped.
pub struct Progress(Option<(Arc<Shared>, JoinHandle<()>)>);

/// What the run tells the bar, as bits.
struct Shared {
    t: AtomicU64,
    h: AtomicU64,
    done: AtomicBool,
}

impl Progress {
    /// A bar up to the time `until`; silent unless `enabled` and the standard error is a terminal.
    pub fn new(until: f64, enabled: bool) -> Progress {
        if !enabled || !std::io::stderr().is_terminal() {
            return Progress(None);
        }
        let nan = || AtomicU64::new(f64::NAN.to_bits());
        let shared = Arc::new(Shared { t: nan(), h: nan(), done: AtomicBool::new(false) });
        let seen = shared.clone();
        // without a thread there is no bar, which is no reason not to run
        let thread = thread::Builder::new().name("progress".into()).spawn(move || draw(&seen, until));
        Progress(thread.ok().map(|thread| (shared, thread)))
    }

    /// The time reached and the step size.
    #[inline]
    fn update(&self, t: f64, h: f64) {
        if let Some((shared, _)) = &self.0 {
            shared.t.store(t.to_bits(), Relaxed);
            shared.h.store(h.to_bits(), Relaxed);
        }
    }

    /// Takes the bar off the screen, before anything else is printed.
    pub fn finish(&mut self) {
        if let Some((shared, thread)) = self.0.take() {
            shared.done.store(true, Relaxed);
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// It wants no frames and no names: a run with nothing but a bar records nothing.
impl Recorder for Progress {
    fn begin(&mut self, _: &Header) -> std::io::Result<()> {
        Ok(())
    }
    fn frame(&mut self, _: f64, _: &[f64]) -> std::io::Result<()> {
        Ok(())
    }
    fn step(&mut self, taken: &AcceptedStep) {
        self.update(taken.t, taken.h);
    }
    fn end(&mut self, _: &dyn RunReport) -> std::io::Result<()> {
        Ok(())
    }
    fn wants_frames(&self) -> bool {
        false
    }
    fn is_silent(&self) -> bool {
        true
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn draw(shared: &Shared, until: f64) {
    const LENGTH: f64 = 1e6;
    let bar = ProgressBar::new(LENGTH as u64);
    if let Ok(style) = ProgressStyle::with_template("[{bar:24}] {msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    let start = Instant::now();
    let (mut rate, mut first) = (Rate::default(), None);
    while !shared.done.load(Relaxed) {
        let (t, h) = (f64::from_bits(shared.t.load(Relaxed)), f64::from_bits(shared.h.load(Relaxed)));
        if !t.is_nan() {
            let t0 = *first.get_or_insert(t);
            rate.add(start.elapsed().as_secs_f64(), t);
            let part = (t - t0) / (until - t0);
            bar.set_message(format!("{:>3.0} %  {}", 100.0 * part, message(t, until, h, rate.value())));
            bar.set_position((LENGTH * part) as u64); // `as` makes 0 of NaN
        }
        thread::park_timeout(REDRAW);
    }
    bar.finish_and_clear();
}

/// `t = 0.841 of 2 s, step 1.2e-4 s, 0.31 s/s, 00:00:04 left`
fn message(t: f64, until: f64, h: f64, rate: Option<f64>) -> String {
    // as many decimals as show a thousandth of the whole
    let decimals = (3.0 - until.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    let mut text = format!("t = {t:.decimals$} of {until} s, step {h:.1e} s");
    if let Some(rate) = rate {
        text += &match rate {
            0.1..1000.0 => format!(", {rate:.2} s/s"),
            _ => format!(", {rate:.1e} s/s"),
        };
        if let Ok(left) = Duration::try_from_secs_f64(((until - t) / rate).ceil()) {
            text += &format!(", {} left", FormattedDuration(left));
        }
    }
    text
}

/// Simulated seconds per second of the wall clock, where the past counts less and less:
/// r = Σ Δt e^(−age/τ) / Σ Δw e^(−age/τ).
#[derive(Default)]
struct Rate {
    last: Option<(f64, f64)>,
    simulated: f64,
    wall: f64,
}

impl Rate {
    fn add(&mut self, wall: f64, t: f64) {
        if let Some((wall_before, t_before)) = self.last {
            let fade = (-(wall - wall_before) / MEMORY).exp();
            self.simulated = self.simulated * fade + (t - t_before);
            self.wall = self.wall * fade + (wall - wall_before);
        }
        self.last = Some((wall, t));
    }

    fn value(&self) -> Option<f64> {
        (self.simulated > 0.0 && self.wall > 0.0).then(|| self.simulated / self.wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rate_is_exact_from_the_start_and_a_change_is_seen() {
        let mut r = Rate::default();
        assert_eq!(r.value(), None);
        (0..=40).for_each(|i| r.add(i as f64 * 0.25, i as f64 * 0.5));
        assert!((r.value().unwrap() - 2.0).abs() < 1e-12);
        (1..=400).for_each(|i| r.add(10.0 + i as f64 * 0.25, 20.0 + i as f64 * 0.025));
        assert!((r.value().unwrap() - 0.1).abs() < 1e-6);
    }

    #[test]
    fn the_message_suits_every_scale() {
        assert_eq!(
            message(0.8412, 2.0, 1.23e-4, Some(0.314)),
            "t = 0.841 of 2 s, step 1.2e-4 s, 0.31 s/s, 00:00:04 left"
        );
        assert_eq!(message(1e-6, 1e-5, 1e-9, None), "t = 0.00000100 of 0.00001 s, step 1.0e-9 s");
        assert_eq!(
            message(0.0, 86400.0, 10.0, Some(1e-5)),
            "t = 0 of 86400 s, step 1.0e1 s, 1.0e-5 s/s, 100000d 00:00:00 left"
        );
        for odd in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            message(odd, odd, odd, Some(1e-300)); // nothing panics
        }
    }

    #[test]
    fn a_bar_that_is_off_or_drawn_ends() {
        let mut off = Progress::new(1.0, false);
        off.update(0.5, 0.1);
        off.finish();
        assert!(off.0.is_none());

        let shared = Arc::new(Shared { t: AtomicU64::new(0), h: AtomicU64::new(0), done: AtomicBool::new(false) });
        let seen = shared.clone();
        let mut on = Progress(Some((shared, thread::spawn(move || draw(&seen, f64::NAN)))));
        on.update(0.5, 0.1);
        on.finish();
        on.finish();
        assert!(on.0.is_none());
    }
}
