//! What the commands share: reading a model and its options, assembling it, writing a few files.

use crate::cli::Failure;
use crate::cli::places::refused;
use crate::cli::robot::{self, RobotArgs};
use bellcrank_model::System;
use bellcrank_model::file::{Report, suggest};
use bellcrank_model::read::Read;
use bellcrank_results::names::END_STATE;
use bellcrank_results::{Folder, Results};
use bellcrank_solve::begin::EndState;
use bellcrank_solve::choices::{ChoiceError, EQUILIBRIUM, Options, Said, Suggestion};
use std::path::Path;
use std::sync::Arc;

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
pub fn end_of_run(folder: &str) -> Result<EndState, ChoiceError> {
    let refused = |why: String| ChoiceError::new("from", why);
    if !Path::new(folder).exists() {
        let error = refused(format!("there is no folder {} to begin from", suggest::quoted(folder)));
        let equilibrium = Suggestion::to("from", EQUILIBRIUM);
        return Err(error.instead(match suggest::nearest(folder, [EQUILIBRIUM]) {
            Some(_) => equilibrium,
            None => equilibrium.note(", or the folder that a run with --out wrote"),
        }));
    }
    let path = Path::new(folder).join(END_STATE);
    let bytes = std::fs::read(&path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => refused(format!(
            "{} has no end of a run to begin with: there is no {END_STATE}, which runs in relative coordinates and analyses do not leave",
            suggest::quoted(folder)
        )),
        _ => refused(format!("cannot read {}: {e}", path.display())),
    })?;
    EndState::from_bytes(&bytes).map_err(|e| refused(format!("{} {e}", path.display())))
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

/// A folder for the results of an analysis, which replace earlier ones of the same analysis alone: those of a run took longer.
pub fn folder_of(analysis: &str, dir: &Path, system: &Arc<System>) -> Result<Folder, Failure> {
    let earlier = Results::open(dir).ok().map(|results| results.now().summary.clone()).filter(|s| s.is_object());
    let kind = earlier.as_ref().map(|s| s["analysis"].as_str().unwrap_or("run"));
    match kind.filter(|kind| *kind != analysis) {
        Some(kind) => Err(Failure::BadInput(format!(
            "{} holds the results of `bellcrank {kind}`, which `bellcrank {analysis}` does not replace\n\
             help: choose another folder with --out",
            dir.display()
        ))),
        None => Ok(Folder::of_model(dir, system.clone())),
    }
}

/// Tells where the results of an analysis are, or why they could not be written.
pub fn recorded(folder: &Path, written: std::io::Result<()>) -> Result<(), Failure> {
    written.map_err(|e| match e.kind() {
        std::io::ErrorKind::DirectoryNotEmpty => Failure::BadInput(e.to_string()),
        _ => Failure::Failed(e.to_string()),
    })?;
    crate::cli::tell(&format!("results: {}\nnext: bellcrank view {0}", folder.display()));
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

/// A number with as many digits as a run with these options vouches for, beside others of the size `scale`.
///
/// A relative tolerance of 1e-6 stands behind six digits of the largest; fixed steps are given six, too.
pub fn supported(x: f64, scale: f64, options: &Options) -> String {
    let digits = match options.step {
        None => (-options.rtol.log10()).ceil().clamp(3.0, 15.0) as i32,
        Some(_) => 6,
    };
    let scale = scale.abs().max(x.abs());
    if scale == 0.0 || !scale.is_finite() {
        return if x.is_finite() { "0".into() } else { format!("{x}") };
    }
    let leading = scale.log10().floor() as i32 + 1;
    match leading {
        -2..=7 => {
            let text = format!("{x:.*}", (digits - leading).clamp(0, 15) as usize);
            let zero = text.trim_start_matches('-').chars().all(|c| "0.".contains(c));
            if zero { text.trim_start_matches('-').to_string() } else { text }
        }
        // what is far below the scale has fewer digits
        _ => {
            let below = if x == 0.0 { 0 } else { leading - 1 - x.abs().log10().floor() as i32 };
            match digits - 1 - below {
                left if left < 0 => "0".into(),
                left => format!("{x:.*e}", left as usize),
            }
        }
    }
}

/// One thing or many.
pub fn plural(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_the_tolerance_supports() {
        let with = |rtol: f64| Options { rtol, ..Options::default() };
        let six = with(1e-6);
        assert_eq!(supported(1.0 / 3.0, 1.0, &six), "0.33333");
        assert_eq!(supported(1234.5678, 1234.5678, &six), "1234.57");
        assert_eq!(supported(-1e-9, 2.0, &six), "0.00000");
        assert_eq!(supported(0.0, 0.0, &six), "0");
        assert_eq!(supported(1.23456789e-5, 1e-5, &six), "1.23457e-5");
        assert_eq!(supported(1.0, 3e9, &six), "0");
        assert_eq!(supported(2.0 / 3.0, 0.0, &with(1e-10)), "0.6666666667");
        assert_eq!(supported(2.0 / 3.0, 0.0, &with(1e-2)), "0.667");
        assert_eq!(supported(2.0 / 3.0, 0.0, &Options { step: Some(1e-3), ..with(1e-10) }), "0.666667");
    }
}
