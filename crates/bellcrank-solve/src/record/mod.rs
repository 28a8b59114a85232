//! Recorders: who watches a run. A solver never opens a file.

pub mod csv;
pub mod folder;
pub mod memory;
pub mod parquet;
pub mod tee;

pub use self::csv::Csv;
pub use self::folder::Folder;
pub use self::memory::Memory;
pub use self::parquet::ParquetFile;
pub use self::tee::Tee;

use crate::events::Event;
use crate::history::Taken;
use serde_json::json;
use std::fmt::Write;
use std::io;

/// The program and its version, as written into every result.
pub const PROGRAM: &str = concat!("bellcrank ", env!("CARGO_PKG_VERSION"));

pub use bellcrank_model::dynamics::Channel;

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
    /// After every step.
    fn step(&mut self, taken: &Taken) {
        let _ = taken;
    }
    /// An event, between the frames before and after it.
    fn event(&mut self, _event: &Event) -> io::Result<()> {
        Ok(())
    }
    /// The values of all channels at the end, where they are known; before `end`.
    fn last(&mut self, t: f64, values: &[(String, f64)]) {
        let _ = (t, values);
    }
    /// After the last frame, also after a failure; `summary` tells how the run ended: its `status`
    /// is `finished`, `failed` or `interrupted`.
    fn end(&mut self, summary: &serde_json::Value) -> io::Result<()>;
    /// Whether frames are wanted at all (a sample costs a solve for accelerations and reactions).
    fn wants_frames(&self) -> bool {
        true
    }
    /// Whether it wants to know nothing: neither the names of channels nor their last values.
    fn is_silent(&self) -> bool {
        false
    }
}

/// A frame must have a value for every channel, or all later columns would be shifted.
fn check_width(values: &[f64], channels: usize) -> io::Result<()> {
    if values.len() == channels {
        return Ok(());
    }
    let message = format!("a frame has {} values for {channels} channels", values.len());
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Adds the time and the values of channels to a text as a JSON object, `between` before each and `after` the last. As a map
/// of values they would take ten times the memory.
pub fn add_object(t: f64, values: &[(String, f64)], between: &str, after: &str, text: &mut String) {
    let mut first = '{';
    let mut put = |name: &str, x: f64| {
        // into memory: nothing can fail
        let _ = write!(text, "{first}{between}{}: {}", json!(name), json!(x));
        first = ',';
    };
    put("t", t);
    values.iter().for_each(|(name, x)| put(name, *x));
    text.push_str(after);
    text.push('}');
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
    fn end(&mut self, _: &serde_json::Value) -> io::Result<()> {
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
    use std::path::{Path, PathBuf};

    /// A header with these channel names, all in metres.
    pub fn header<S: AsRef<str>>(names: &[S]) -> Header {
        let channels = names.iter().map(|n| Channel { name: n.as_ref().into(), unit: "m" }).collect();
        Header { model: "test".into(), channels }
    }

    /// Names that break careless writers.
    pub const ODD_NAMES: [&str; 9] =
        ["crank.x", "a,b", "say \"x\"", "two\nlines", "=1+1", "", "räder.φ", "\u{202e}rtl", "<script>"];

    /// Values that break careless printing.
    pub const ODD_VALUES: [f64; 9] =
        [0.1, -0.0, 5e-324, f64::MAX, f64::INFINITY, f64::NAN, 1.0 / 3.0, 1e16, -2.2250738585072014e-308];

    /// An empty folder that is removed with its owner.
    pub struct Scratch(PathBuf);

    impl Scratch {
        pub fn new(name: &str) -> Scratch {
            let dir = std::env::temp_dir().join(format!("bellcrank-{}-{name}", std::process::id()));
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir_all(&dir).unwrap();
            Scratch(dir)
        }
        pub fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
