//! The names of the files in a result folder.

/// All frames, column by column.
pub const PARQUET: &str = "results.parquet";
/// All frames as text, where there are not too many channels for it.
pub const CSV: &str = "results.csv";
/// How the run ended and what it took.
pub const SUMMARY: &str = "summary.json";
/// What the viewer draws.
pub const SCENE: &str = "scene.json";
/// The events of the run, where it had any.
pub const EVENTS: &str = "events.csv";
/// The end of a run, for others to begin with.
pub const END_STATE: &str = "end.state";
/// Equilibria in full, of `statics`.
pub const STATICS_JSON: &str = "statics.json";
/// Equilibria as a table, a line each.
pub const STATICS_CSV: &str = "statics.csv";
/// Modes in full, of `modes`.
pub const MODES_JSON: &str = "modes.json";
/// Modes as a table, a line each.
pub const MODES_CSV: &str = "modes.csv";
/// The folder in a result folder that a run writes to until its result stands.
pub const UNFINISHED: &str = "unfinished";
/// The frames of a run that goes on, row by row; see `journal.rs`.
pub const ROWS: &str = "results.rows";
/// Held by the run that writes.
pub const LOCK: &str = "lock";
/// All that a run needs to go on after it was killed.
pub const CHECKPOINT: &str = "checkpoint";

/// What a result consists of, in the order it is put in place: frames first, the summary last.
pub const RESULT: [&str; 10] =
    [PARQUET, CSV, SCENE, EVENTS, END_STATE, STATICS_JSON, STATICS_CSV, MODES_JSON, MODES_CSV, SUMMARY];

/// The name of a file while it is being written.
pub fn part(name: &str) -> String {
    format!("{name}.part")
}
