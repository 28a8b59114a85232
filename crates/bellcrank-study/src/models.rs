//! Where the models of a study come from.

use crate::digest::Digest;
use bellcrank_model::file::Report;
use bellcrank_model::read::{Read, Template, Uses};
use std::path::Path;

/// A model that is read again and again, with other values each time.
pub trait Models: Send + Sync {
    /// The model with overrides `path.to.key=value`.
    fn read(&self, overrides: &[String]) -> Result<Read, Report>;
    /// Whether the paths of overrides lead anywhere, even if what comes out is no model.
    fn find(&self, overrides: &[String]) -> Result<(), Report>;
    /// The number that an override of a path would replace, in SI units.
    fn number(&self, overrides: &[String], path: &str) -> Result<f64, Report>;
    /// The same for several paths, with the model read as seldom as can be.
    fn numbers(&self, overrides: &[String], paths: &[&str]) -> Result<Vec<f64>, Report> {
        paths.iter().map(|path| self.number(overrides, path)).collect()
    }
    /// Which entries of the file use which parameters, where that is known.
    fn uses(&self, overrides: &[String]) -> Option<Uses> {
        let _ = overrides;
        None
    }
    /// A digest of all that it is made of.
    fn digest(&self) -> Result<u128, Report>;
}

impl Models for Template {
    fn read(&self, overrides: &[String]) -> Result<Read, Report> {
        Template::read(self, overrides)
    }

    fn find(&self, overrides: &[String]) -> Result<(), Report> {
        self.with(overrides).map(|_| ())
    }

    fn number(&self, overrides: &[String], path: &str) -> Result<f64, Report> {
        Template::number(self, overrides, path)
    }

    fn numbers(&self, overrides: &[String], paths: &[&str]) -> Result<Vec<f64>, Report> {
        Template::numbers(self, overrides, paths)
    }

    fn uses(&self, overrides: &[String]) -> Option<Uses> {
        Template::uses(self, overrides).ok()
    }

    fn digest(&self) -> Result<u128, Report> {
        let read = Template::read(self, &[])?;
        Ok(of_text(self.text(), Path::new(self.path()).parent().unwrap_or(Path::new("")), &read.files))
    }
}

/// The digest of a text and of the files that it names, tables and meshes among them.
pub fn of_text(text: &str, folder: &Path, files: &[String]) -> u128 {
    let mut digest = Digest::default();
    digest.add(text.as_bytes());
    for file in files {
        digest.add(file.as_bytes());
        // one that cannot be read is refused by the runs that need it
        digest.add(&std::fs::read(folder.join(file)).unwrap_or_default());
    }
    digest.value()
}
