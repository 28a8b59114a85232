//! The names of the files in a result folder.

/// All frames, column by column.
pub const PARQUET: &str = "results.parquet";
/// The same while it is being written.
pub const PARQUET_PART: &str = "results.parquet.part";
/// All frames as text, where there are not too many channels for it.
pub const CSV: &str = "results.csv";
/// How the run ended and what it took.
pub const SUMMARY: &str = "summary.json";
/// What the viewer draws.
pub const SCENE: &str = "scene.json";
/// The events of the run, where it had any.
pub const EVENTS: &str = "events.csv";
/// Rows of many channels wait here until a group of them is complete; it is never complete.
pub const WAITING: &str = "results.rows";

/// The name of a file while it is being written.
pub fn part(name: &str) -> String {
    format!("{name}.part")
}
