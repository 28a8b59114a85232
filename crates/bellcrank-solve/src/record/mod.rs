//! Recorders: who watches a run. A solver never opens a file.

use std::io;

/// A quantity that is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The user's name of it, such as `crank.vx`.
    pub name: String,
    /// Its SI unit, such as `m/s`; empty for a pure number.
    pub unit: &'static str,
}

/// What a recorder is told before the first frame.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// The model's name.
    pub model: String,
    /// Time comes first, and is not listed here.
    pub channels: Vec<Channel>,
}

/// Watches a run: header, frames in the order of time, end.
pub trait Recorder {
    /// Before the first frame.
    fn begin(&mut self, header: &Header) -> io::Result<()>;
    /// One sample: the time and the values of all channels.
    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()>;
    /// After the last frame, also after a failure; `summary` tells how the run ended.
    fn end(&mut self, summary: &serde_json::Value) -> io::Result<()>;
    /// Whether frames are wanted at all (a sample costs a solve for accelerations and reactions).
    fn wants_frames(&self) -> bool {
        true
    }
}
