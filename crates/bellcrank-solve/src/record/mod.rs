//! Recorders: they watch a run from outside. A solver never opens a file; recorders that do are in `bellcrank-results`.

mod columns;
mod memory;
mod tee;
mod thinning;

pub use self::columns::ColumnMemory;
pub use self::memory::Memory;
pub use self::tee::Tee;
pub use self::thinning::{BUCKETS, Take, Thinning};
pub use bellcrank_model::dynamics::Channel;

use crate::events::Event;
use crate::history::AcceptedStep;
use std::any::Any;
use std::io;

/// What a recorder is told before the first frame.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// The model's name.
    pub model: String,
    /// The recorded channels; time comes before them and is not listed.
    pub channels: Vec<Channel>,
}

/// How a recorded run or analysis ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It reached its end.
    Finished,
    /// It was stopped from outside.
    Interrupted,
    /// It could not go on, and why.
    Failed(String),
}

impl Ended {
    /// One word, as in `summary.json`: `finished`, `interrupted` or `failed`.
    pub fn word(&self) -> &'static str {
        match self {
            Ended::Finished => "finished",
            Ended::Interrupted => "interrupted",
            Ended::Failed(_) => "failed",
        }
    }
}

/// The closing report of a run or an analysis, such as [`crate::Summary`].
///
/// A recorder that wants more than how it ended downcasts to the report it knows.
pub trait RunReport: Any {
    /// How it ended.
    fn ended(&self) -> Ended;
}

impl RunReport for Ended {
    fn ended(&self) -> Ended {
        self.clone()
    }
}

/// Watches a run: header, frames in order of time, end.
pub trait Recorder {
    /// Called before the first frame.
    fn begin(&mut self, header: &Header) -> io::Result<()>;
    /// One sample: the time and the values of all channels.
    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()>;
    /// Called after every step.
    fn step(&mut self, taken: &AcceptedStep) {
        let _ = taken;
    }
    /// An event, between the frames before and after it.
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let _ = event;
        Ok(())
    }
    /// Called after the last frame, also after a failure.
    fn end(&mut self, report: &dyn RunReport) -> io::Result<()>;
    /// Whether it is time to keep all that the run remembers; `last` where the run is about to end early.
    fn wants_checkpoint(&mut self, last: bool) -> bool {
        let _ = last;
        false
    }
    /// All that the run remembers after the frames so far, for [`Simulation::resume`](crate::Simulation::resume); or why that
    /// cannot be kept.
    fn checkpoint(&mut self, remembered: Result<&[u8], &'static str>) -> io::Result<()> {
        let _ = remembered;
        Ok(())
    }
    /// Whether frames are wanted at all: a sample costs a solve for accelerations and reactions.
    fn wants_frames(&self) -> bool {
        true
    }
    /// Whether nothing is wanted, not even the names of the channels.
    fn is_silent(&self) -> bool {
        false
    }
}

/// Fails unless a frame has one value for each channel: all later columns would be shifted.
pub fn check_width(values: &[f64], channels: usize) -> io::Result<()> {
    if values.len() == channels {
        return Ok(());
    }
    let message = format!("a frame has {} values for {channels} channels", values.len());
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Calls a function after every step, and records nothing.
///
/// ```
/// use bellcrank_solve::record::OnStep;
/// let mut steps = 0;
/// let mut count = OnStep(|_: &bellcrank_solve::history::AcceptedStep<'_>| steps += 1);
/// # let _: &mut dyn bellcrank_solve::record::Recorder = &mut count;
/// ```
pub struct OnStep<F>(pub F);

impl<F: FnMut(&AcceptedStep)> Recorder for OnStep<F> {
    fn begin(&mut self, _: &Header) -> io::Result<()> {
        Ok(())
    }
    fn frame(&mut self, _: f64, _: &[f64]) -> io::Result<()> {
        Ok(())
    }
    fn step(&mut self, taken: &AcceptedStep) {
        (self.0)(taken);
    }
    fn end(&mut self, _: &dyn RunReport) -> io::Result<()> {
        Ok(())
    }
    fn wants_frames(&self) -> bool {
        false
    }
    fn is_silent(&self) -> bool {
        true
    }
}

/// Records nothing.
pub struct Silent;

impl Recorder for Silent {
    fn begin(&mut self, _: &Header) -> io::Result<()> {
        Ok(())
    }
    fn frame(&mut self, _: f64, _: &[f64]) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self, _: &dyn RunReport) -> io::Result<()> {
        Ok(())
    }
    fn wants_frames(&self) -> bool {
        false
    }
    fn is_silent(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod testing {
    use super::{Channel, Header};

    /// A header with these channel names, all in metres.
    pub fn header(names: &[&str]) -> Header {
        let channels = names.iter().map(|n| Channel { name: n.to_string(), unit: "m" }).collect();
        Header { model: "test".into(), channels }
    }
}
