//! What a run is of, so that one that resumes it is the same.

use super::Job;
use crate::cli::Failure;
use crate::cli::digest::{digests, sha256};
use bellcrank_results::{About, FILE, Folder, names};
use bellcrank_solve::choices::Options;
use bellcrank_solve::run::Simulation;
use std::time::Duration;

/// Seconds between checkpoints, unless others are asked for.
const CHECKPOINT: f64 = 60.0;

impl Job {
    /// The folder that results go to, if there is one.
    pub(super) fn folder(&self) -> Option<Folder> {
        let folder = Folder::of_model(self.args.out.as_ref()?, self.system.clone());
        let every = self.args.checkpoint.unwrap_or(CHECKPOINT);
        Some(match every > 0.0 || self.args.resume {
            true => {
                let every = if every > 0.0 { Duration::from_secs_f64(every) } else { Duration::MAX };
                folder.with_checkpoints(every, self.about())
            }
            false => folder,
        })
    }

    /// Whether an interrupted run can go on.
    pub(super) fn keeps(&self) -> bool {
        self.args.out.as_ref().is_some_and(|out| out.join(names::UNFINISHED).join(names::CHECKPOINT).exists())
    }

    /// Goes on where the folder's last checkpoint was, if that is asked for.
    pub(super) fn resume(&self, folder: Option<&mut Folder>, simulation: &mut Simulation) -> Result<bool, Failure> {
        let (true, Some(folder)) = (self.args.resume, folder) else { return Ok(false) };
        let remembered = folder.resume().map_err(|e| Failure::BadInput(e.to_string()))?;
        simulation.resume(remembered).map_err(|e| Failure::BadInput(e.to_string()))?;
        Ok(true)
    }

    /// The model by its text and overrides, the files that it reads by what they hold, and the options by name.
    fn about(&self) -> About {
        let sources = self.read.document.sources.0.iter().map(|source| source.text.as_str());
        let texts = sources.chain(self.args.set.iter().map(String::as_str));
        let texts: Vec<String> = texts.map(|text| format!("{}:{text}", text.len())).collect();
        let mut about = vec![("model".to_string(), sha256(texts.concat().as_bytes()))];
        about.extend(
            digests(&self.args.model, &self.files).into_iter().map(|(file, sum)| (format!("{FILE}{file}"), sum)),
        );
        about.extend(options(&self.options));
        about
    }
}

/// The options by name, but for those that change no result: threads, and who may interrupt.
fn options(options: &Options) -> About {
    let text = format!("{options:#?}");
    let mut depth = 0;
    let (mut path, mut found): (Vec<&str>, About) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        let (name, value) = line.split_once(": ").unwrap_or(("", line));
        match value.trim_end_matches(',') {
            "}" | ")" | "]" => {
                path.pop();
                depth -= 1;
            }
            opens if opens.ends_with(['{', '(', '[']) => {
                path.push(name);
                depth += 1;
            }
            value if !path.contains(&"resources") && depth > 0 => {
                let name = path.iter().chain([&name]).filter(|n| !n.is_empty()).copied().collect::<Vec<_>>();
                let name = name.last().copied().unwrap_or("an option").to_string();
                match found.iter_mut().find(|(n, _)| *n == name) {
                    Some((_, before)) => *before = format!("{before} {value}"),
                    None => found.push((name, value.to_string())),
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_by_name_and_threads_are_none_of_them() {
        let of = |change: fn(&mut Options)| options(&Options::default().with(change));
        let plain = of(|_| ());
        let tolerance = format!("{:?}", Options::default().rtol);
        assert!(plain.iter().any(|(_, value)| *value == tolerance), "{plain:?}");
        assert_eq!(plain, of(|o| o.resources.threads = Some(7)));
        assert_ne!(plain, of(|o| o.until = 3.0));
        assert_ne!(plain, of(|o| o.record = vec!["a".into(), "b".into()]));
        assert_ne!(of(|o| o.step = Some(1e-3)), of(|o| o.step = Some(2e-3)));
        assert_ne!(plain, of(|o| o.parameters.rho = 0.5));
    }
}
