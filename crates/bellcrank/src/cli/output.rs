//! What the commands share: reading a model and its options, assembling it, writing a few files.

use crate::cli::Failure;
use crate::cli::places::refused;
use crate::cli::robot::{self, RobotArgs};
use bellcrank_model::file::Report;
use bellcrank_model::read::Read;
use bellcrank_results::names::END_STATE;
use bellcrank_solve::begin::EndState;
use bellcrank_solve::choices::{Options, Said};
use std::path::Path;

/// Reads a model with overrides; every key of `[solve]` must be an option.
pub fn read(path: &str, overrides: &[String]) -> Result<Read, Failure> {
    parsed(path, overrides).map_err(|report| Failure::BadInput(report.to_string()))
}

/// Like [`read`], with the report of what is wrong.
pub fn parsed(path: &str, overrides: &[String]) -> Result<Read, Report> {
    let (read, told) = robot::parsed(path, overrides, &RobotArgs::default())?;
    robot::tell_of(&told);
    Ok(read)
}

/// The options of the command line over those of the file over the defaults.
pub fn options(read: &Read, arguments: &[Said]) -> Result<Options, Failure> {
    let chosen = Options::from_arguments(&read.settings, arguments);
    chosen.map_err(|e| Failure::BadInput(refused(read, arguments, e).to_string()))
}

/// The end of the run whose results are in a folder, or why there is none.
pub fn end_of_run(folder: &str) -> Result<EndState, String> {
    let path = Path::new(folder).join(END_STATE);
    let bytes = std::fs::read(&path).map_err(|e| {
        format!(
            "{folder} has no end of a run to begin with ({END_STATE}: {e}); runs in relative coordinates leave none"
        )
    })?;
    EndState::from_bytes(&bytes).map_err(|e| format!("{} {e}", path.display()))
}

/// Writes files into a folder, each whole or not at all.
pub fn write(folder: &Path, files: &[(&str, String)]) -> Result<(), Failure> {
    let failed = |path: &Path, e: std::io::Error| Failure::Failed(format!("cannot write {}: {e}", path.display()));
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    for (name, text) in files {
        let (path, part) = (folder.join(name), folder.join(format!("{name}.part")));
        std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, &path)).map_err(|e| failed(&path, e))?;
    }
    crate::cli::tell(&format!("results: {}", folder.display()));
    Ok(())
}

/// Nine digits after the point; what rounds to nothing has no sign.
pub fn nine_digits(x: f64) -> String {
    let text = format!("{x:.9}");
    if text == "-0.000000000" { text[1..].into() } else { text }
}

/// Nine digits after the point, or of the fraction where the number is very large or small.
pub fn figure(x: f64) -> String {
    match x.abs() {
        0.0 | 1e-3..1e7 => nine_digits(x),
        _ => format!("{x:.9e}"),
    }
}

/// One thing or many.
pub fn plural(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}
