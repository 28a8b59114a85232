//! Columns of a result by name, from `results.parquet` or `results.csv`.

use crate::names::CSV;
use crate::results::{Results, Snapshot};
use crate::table::Table;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The columns of a result.
pub struct Columns {
    /// Their names; the first is `time`.
    pub names: Vec<String>,
    /// Their units; empty for pure numbers.
    pub units: Vec<String>,
    /// What the user should know about the run, such as that it failed; empty if all is well.
    pub note: String,
    source: ColumnSource,
}

enum ColumnSource {
    Folder(Arc<Snapshot>),
    Parquet(Table),
    /// The file, and where its numbers begin.
    Csv(PathBuf, usize),
}

impl Columns {
    /// Opens a folder that `run --out` wrote, or a table from it.
    pub fn open(path: &Path) -> io::Result<Columns> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("parquet") if path.is_file() => {
                let table =
                    Table::open(path).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
                let (names, units) = described(&table);
                return Ok(Columns { names, units, note: String::new(), source: ColumnSource::Parquet(table) });
            }
            Some("csv") if path.is_file() => return Columns::csv(path, String::new()),
            _ => {}
        }
        let now = Results::open(path)?.now();
        if let Some(table) = now.table.as_ref().filter(|t| t.rows() > 0) {
            let (names, units) = described(table);
            return Ok(Columns { names, units, note: now.message.clone(), source: ColumnSource::Folder(now.clone()) });
        }
        let csv = now.place.join(CSV);
        match csv.exists() {
            true => Columns::csv(&csv, now.message.clone()),
            false => Err(io::Error::new(ErrorKind::InvalidData, format!("{}: {}", path.display(), now.message))),
        }
    }

    fn csv(path: &Path, note: String) -> io::Result<Columns> {
        let text = read(path)?;
        let (fields, start) = header(&text);
        if fields.iter().all(|f| f.is_empty()) || start >= text.len() {
            let text = format!("{} holds no frames", path.display());
            return Err(io::Error::new(ErrorKind::InvalidData, text));
        }
        let split = |field: String| match field.strip_suffix(']').and_then(|f| f.rsplit_once(" [")) {
            Some((name, unit)) => (name.to_string(), unit.to_string()),
            None => (field, String::new()),
        };
        let (names, units) = fields.into_iter().map(split).unzip();
        Ok(Columns { names, units, note, source: ColumnSource::Csv(path.to_path_buf(), start) })
    }

    /// The values of some columns, one list for each.
    pub fn read(&self, columns: &[usize]) -> io::Result<Vec<Vec<f64>>> {
        let of = |table: &Table| columns.iter().map(|c| table.read(&[*c], 0..table.rows())).collect();
        match &self.source {
            ColumnSource::Parquet(table) => of(table),
            ColumnSource::Folder(now) => now.table.as_ref().map_or(Ok(vec![vec![]; columns.len()]), of),
            ColumnSource::Csv(path, start) => {
                let text = read(path)?;
                let mut out = vec![Vec::new(); columns.len()];
                let rows = text.get(*start..).unwrap_or("");
                // a line that is still being written has no end
                let whole = rows.rfind('\n').map_or("", |end| &rows[..end]);
                for (k, line) in whole.lines().enumerate() {
                    let fields: Vec<&str> = line.split(',').collect();
                    for (c, values) in columns.iter().zip(&mut out) {
                        let number = fields.get(*c).and_then(|f| f.trim().parse().ok());
                        values.push(number.ok_or_else(|| {
                            let text =
                                format!("{}: row {} has no number for {}", path.display(), k + 1, self.names[*c]);
                            io::Error::new(ErrorKind::InvalidData, text)
                        })?);
                    }
                }
                Ok(out)
            }
        }
    }
}

fn described(table: &Table) -> (Vec<String>, Vec<String>) {
    (table.names().map(String::from).collect(), table.units().into_iter().map(String::from).collect())
}

fn read(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path).map_err(|e| io::Error::new(e.kind(), format!("cannot read {}: {e}", path.display())))
}

/// The fields of the first record as in RFC 4180, and where the next begins.
fn header(text: &str) -> (Vec<String>, usize) {
    let mut fields = vec![String::new()];
    let (mut inside, mut last) = (false, ' ');
    for (k, c) in text.char_indices() {
        let before = std::mem::replace(&mut last, c);
        match c {
            '"' => {
                // two quotes within quotes are one
                if !inside && before == '"' {
                    fields.last_mut().into_iter().for_each(|f| f.push('"'));
                }
                inside = !inside;
            }
            ',' if !inside => fields.push(String::new()),
            '\n' if !inside => return (fields, k + 1),
            '\r' if !inside => {}
            c => fields.last_mut().into_iter().for_each(|f| f.push(c)),
        }
    }
    (fields, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_its_parquet_file_can_be_read() {
        let dir = std::env::temp_dir().join(format!("bellcrank-columns-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let csv = dir.join("results.csv");
        std::fs::write(&csv, "time [s],\"a,\"\"b\"\" [m].x [m]\",q\n0.0,1.5,NaN\n0.5,2.5,1e-3\n1.0,3").unwrap();
        for path in [&dir, &csv] {
            let c = Columns::open(path).unwrap();
            assert_eq!(c.names, ["time", "a,\"b\" [m].x", "q"]);
            assert_eq!(c.units, ["s", "m", ""]);
            let v = c.read(&[1, 0, 2]).unwrap();
            assert_eq!((&v[0], &v[1], v[2][1]), (&vec![1.5, 2.5], &vec![0.0, 0.5], 1e-3));
            assert!(v[2][0].is_nan());
        }
        std::fs::write(&csv, "time [s],a\n0.0,1\n0.5,x\n").unwrap();
        assert!(Columns::open(&csv).unwrap().read(&[1]).unwrap_err().to_string().contains("row 2 has no number for a"));
        std::fs::write(&csv, "").unwrap();
        assert!(Columns::open(&dir).is_err());
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(Columns::open(&dir).err().unwrap().to_string().contains("there is no folder"));
    }
}
