//! Watching a run: a recorder of one's own beside a result folder that the viewer and the plots read.
//!
//! `cargo run --release --example record`

use bellcrank::{Header, Options, Recorder, RunReport, Simulation, Tee, results};
use std::io;

/// Keeps the largest value of one channel, and nothing else.
struct Peak {
    channel: &'static str,
    column: usize,
    t: f64,
    value: f64,
}

impl Recorder for Peak {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        let column = header.channels.iter().position(|c| c.name == self.channel);
        self.column = column.ok_or_else(|| io::Error::other(format!("there is no channel {}", self.channel)))?;
        Ok(())
    }
    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        if values[self.column] > self.value {
            (self.t, self.value) = (t, values[self.column]);
        }
        Ok(())
    }
    fn end(&mut self, _: &dyn RunReport) -> io::Result<()> {
        Ok(())
    }
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = include_str!("../bouncing-ball.toml");
    let read = bellcrank::read_text("bouncing-ball.toml", text, &[])?;
    let options = Options { until: 3.0, sample: Some(1e-3), ..Options::from_settings(&read.settings)? };
    let folder = std::env::temp_dir().join(format!("bellcrank-record-{}", std::process::id()));

    let mut peak = Peak { channel: "ball.y", column: 0, t: 0.0, value: f64::NEG_INFINITY };
    let mut files = results::Folder::new(&folder);
    let mut simulation = Simulation::new(read, options)?;
    let summary = simulation.run(&mut Tee(vec![&mut peak, &mut files]));

    println!("{}: {} events; highest at t = {} s: {} m", summary.model, summary.events.len(), peak.t, peak.value);
    println!("results: {}", folder.display());
    assert!(summary.events.len() > 2 && folder.join("results.parquet").exists());
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
