//! A study that was read and checked.

use crate::column::Column;
use crate::digest::Digest;
use crate::models::Models;
use crate::space::Space;
use bellcrank_model::file::Report;
use bellcrank_model::model::Output;
use bellcrank_results::tidy::TidyColumn;
use bellcrank_solve::choices::Said;

/// What is varied of which model, and what is wanted of every run.
pub struct Study {
    /// Its name: that of its file.
    pub name: String,
    /// The name of the model.
    pub model: String,
    /// The points.
    pub space: Space,
    /// The columns behind those of the axes.
    pub columns: Vec<Column>,
    /// Whether whole results are kept, in a folder for each row.
    pub keep: bool,
    pub(crate) models: Box<dyn Models>,
    /// Values that are set for all rows.
    pub(crate) set: Vec<String>,
    /// Choices for all rows.
    pub(crate) said: Vec<Said>,
    /// Outputs that stand for channels.
    pub(crate) added: Vec<Output>,
}

impl Study {
    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        // more than can be had were refused
        u64::try_from(self.space.len()).unwrap_or(u64::MAX)
    }

    /// What its rows depend on beside their points, as names and digests.
    pub fn about(&self) -> Result<Vec<(String, String)>, Report> {
        let of = |parts: &mut dyn Iterator<Item = String>| {
            let mut digest = Digest::default();
            parts.for_each(|part| digest.add(part.as_bytes()));
            format!("{:032x}", digest.value())
        };
        let mut said = self.said.iter().map(|s| format!("{} {:?}", s.key, s.value));
        let mut columns = self.columns.iter().map(|c| c.text.clone());
        Ok(vec![
            ("model".into(), format!("{:032x}", self.models.digest()?)),
            ("[set]".into(), of(&mut self.set.iter().cloned())),
            ("[solve]".into(), of(&mut said)),
            ("[column]".into(), of(&mut columns)),
            ("keep".into(), self.keep.to_string()),
        ])
    }

    /// Where the results of a point are kept, from the folder of the study.
    pub fn folder(&self, key: u128) -> String {
        format!("{RUNS}/{key:032x}")
    }

    /// All columns of its table: the row's number, the axes, what was wanted, how the run ended and why, and where its results are.
    pub fn table_columns(&self) -> Vec<TidyColumn> {
        let column = |name: &str, unit: &str, is_text| TidyColumn { name: name.into(), unit: unit.into(), is_text };
        let mut all = vec![column(ROW, "", false)];
        all.extend(self.space.axes.iter().map(|a| column(&a.name, &a.unit, a.is_text())));
        all.extend(self.columns.iter().map(|c| column(&c.name, &c.unit, false)));
        all.extend([column(STATUS, "", true), column(REASON, "", true)]);
        if self.keep {
            all.push(column(FOLDER, "", true));
        }
        all
    }
}

/// The folder of whole results.
pub const RUNS: &str = "runs";
/// The columns that every table has.
pub const ROW: &str = "row";
/// How a run ended.
pub const STATUS: &str = "status";
/// Why it failed, or is doubtful.
pub const REASON: &str = "reason";
/// Where its results are, if they were kept.
pub const FOLDER: &str = "folder";
