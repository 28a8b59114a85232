//! Studies as drawings: parallel coordinates, scatter, heat map, tornado, and families of curves where whole results were kept.

mod chart;
mod family;
mod heat;
mod page;
mod parallel;
mod scatter;
mod tornado;

pub use family::family;
pub use heat::heat;
pub(crate) use page::page;
pub use parallel::parallel;
pub use scatter::scatter;
pub use tornado::tornado;

use bellcrank_model::file::suggest;
use bellcrank_results::tidy::{TABLE, TidyTable, TidyValues};
use std::io;
use std::path::{Path, PathBuf};

/// The table of a study and where its kept results are.
pub struct StudyTable {
    /// The folder.
    pub dir: PathBuf,
    /// All rows.
    pub table: TidyTable,
    /// Places of the columns that were varied.
    pub axes: Vec<usize>,
    /// Places of those that were wanted.
    pub wanted: Vec<usize>,
}

impl StudyTable {
    /// Whether a folder holds the table of a study.
    pub fn is_in(dir: &Path) -> bool {
        dir.join(TABLE).is_file()
    }

    /// Opens the folder of a study.
    pub fn open(dir: &Path) -> io::Result<StudyTable> {
        let table = TidyTable::open(&dir.join(TABLE))?;
        let places = |key: &str| {
            let names: Vec<String> =
                table.told(key).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
            names.iter().filter_map(|name| table.place(name)).collect::<Vec<_>>()
        };
        let (axes, wanted) = (places("axes"), places("columns"));
        Ok(StudyTable { dir: dir.to_path_buf(), table, axes, wanted })
    }

    /// What can be drawn: what was varied, then what was wanted.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.axes.iter().chain(&self.wanted).copied()
    }

    /// The name of a column.
    pub fn name(&self, column: usize) -> &str {
        &self.table.columns[column].name
    }

    /// The name of a column with its unit.
    pub fn label(&self, column: usize) -> String {
        crate::plot::labelled(self.name(column), &self.table.columns[column].unit)
    }

    /// The column of a name, or what else there is.
    pub fn find(&self, name: &str) -> Result<usize, String> {
        let names = || self.columns().map(|k| self.name(k));
        self.columns().find(|k| self.name(*k) == name).ok_or_else(|| {
            let near = suggest::nearest(name, names()).map(|n| format!("did you mean {}? ", suggest::quoted(n)));
            let help = format!("{}columns are {}", near.unwrap_or_default(), suggest::list(names()));
            format!("the study has no column {}\nhelp: {help}", suggest::quoted(name))
        })
    }

    /// The values of a column as numbers: those of words are the places of the words in the order they come.
    pub(crate) fn numbers(&self, column: usize) -> Vec<f64> {
        match &self.table.values[column] {
            TidyValues::Numbers(list) => list.clone(),
            TidyValues::Texts(list) => {
                let words = self.words(column);
                let place = |word: &String| words.iter().position(|w| w == word).map_or(f64::NAN, |k| k as f64);
                list.iter().map(place).collect()
            }
        }
    }

    /// The words of a column, in the order they come; none of a column of numbers.
    pub(crate) fn words(&self, column: usize) -> Vec<String> {
        let TidyValues::Texts(list) = &self.table.values[column] else { return Vec::new() };
        let mut words: Vec<String> = Vec::new();
        for word in list.iter().filter(|w| !w.is_empty()) {
            if !words.contains(word) {
                words.push(word.clone());
            }
        }
        words
    }

    /// How many rows failed.
    pub fn failed(&self) -> usize {
        let Some(k) = self.table.place("status") else { return 0 };
        (0..self.table.rows()).filter(|i| self.table.values[k].shown(*i) == "failed").count()
    }
}
