//! Tables of numbers beside the model: functions of time and characteristics from CSV files.
//!
//! The first line names the columns, a unit in brackets behind a name is no part of it (so the results of
//! one run can drive another); numbers follow, separated by commas, semicolons, tabs or spaces. Empty
//! lines and lines that begin with `#` are skipped. Files outside the model's folder are not read: a model
//! must not depend on where it lies, nor look around on the machine that runs it.

use super::bounded::{self, Fault, LARGEST};
use super::diagnostic::{Diagnostic, Diagnostics};
use super::expression::Expression;
use super::fields::{Context, Field, FieldKind, Named, Values, read};
use super::suggest::{count, list, nearest, quoted};
use super::tree::Node;
use crate::curve::{Beyond, Curve};
use std::collections::HashSet;
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;

const FILE: Field = Field::required("table", FieldKind::Text, "", "a CSV file in the model's folder");
const SCALE: Field = Field::optional("scale", FieldKind::Number, "", "1", "factor on the values");
const TIME: &[Field] = &[
    FILE,
    Field::optional("time", FieldKind::Name, "", "the first", "name of the column of times [s]"),
    SCALE,
    Field::optional(
        "interpolation",
        FieldKind::Word(&["spline", "monotone"]),
        "",
        "spline",
        "twice differentiable, or without overshoot but only once differentiable",
    ),
];

/// Keys of a function of time from a file; before the first and after the last time its value stays.
pub const TABULATED: &[&[Field]] =
    &[TIME, &[Field::optional("column", FieldKind::Name, "", "the second of two", "name of the column of values")]];

/// Keys of a vector of functions of time from a file.
pub const TABULATED_VECTOR: &[&[Field]] =
    &[TIME, &[Field::required("columns", FieldKind::Names(2, 3), "", "names of the columns of its components")]];

/// Keys of pairs of numbers from a file.
pub const TABULATED_PAIRS: &[&[Field]] = &[&[
    FILE,
    Field::optional("columns", FieldKind::Names(2, 2), "", "the only two", "names of the two columns"),
    SCALE,
]];

/// A file of numbers with named columns.
#[derive(Clone, Debug)]
struct Csv {
    file: String,
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    /// The line each row stands in, counted from 1.
    lines: Vec<usize>,
}

impl Csv {
    fn open(folder: &Path, file: &str) -> Result<Csv, Fault> {
        Csv::parse(file, &open_text(folder, file, "csv")?)
    }

    fn parse(file: &str, text: &str) -> Result<Csv, Fault> {
        let shown = quoted(file);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(i, l)| (i + 1, l.trim()))
            .filter(|(_, l)| !l.is_empty() && !l.starts_with('#'));
        let header = "the first line names the columns, as in `time,fx,fy`";
        let Some((_, first)) = lines.next() else {
            return Err((format!("{shown} is empty"), header.into()));
        };
        let separator = [',', ';', '\t'].into_iter().find(|c| first.contains(*c));
        let cells = |line: &str| -> Vec<String> {
            let clean = |cell: &str| cell.trim().trim_matches('"').trim().to_string();
            match separator {
                Some(c) => line.split(c).map(clean).collect(),
                None => line.split_whitespace().map(clean).collect(),
            }
        };
        let names: Vec<String> = cells(first).iter().map(|n| without_unit(n).to_string()).collect();
        if names.iter().any(|n| n.parse::<f64>().is_ok()) {
            return Err((format!("{shown} begins with numbers, not with names of columns"), header.into()));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|n| !seen.insert(n.as_str())) {
            return Err((format!("{shown} has two columns {}", quoted(twice)), "rename one of them".into()));
        }
        let mut csv = Csv { file: file.into(), columns: vec![Vec::new(); names.len()], names, lines: Vec::new() };
        for (line, row) in lines {
            let row = cells(row);
            if row.len() != csv.names.len() {
                let message = format!("line {line} of {shown} has {}", count(row.len(), "number"));
                return Err((message, format!("its first line names {}", count(csv.names.len(), "column"))));
            }
            for ((cell, name), column) in row.iter().zip(&csv.names).zip(&mut csv.columns) {
                match cell.parse::<f64>() {
                    Ok(x) if x.is_finite() => column.push(x),
                    _ => {
                        let what = format!("line {line}, column {} of {shown}", quoted(name));
                        let help = "numbers are written like 1.5e-3, with a point and without a unit";
                        return Err((format!("{what} is no number: {}", quoted(cell)), help.into()));
                    }
                }
            }
            csv.lines.push(line);
        }
        Ok(csv)
    }

    fn column(&self, name: &Named) -> Result<&[f64], Diagnostic> {
        match self.names.iter().position(|n| n == without_unit(name.name)) {
            Some(i) => Ok(&self.columns[i]),
            None => {
                let names = self.names.iter().map(String::as_str);
                let label = nearest(name.name, names.clone()).map(|n| format!("did you mean {}?", quoted(n)));
                let message = format!("{} has no column {}", quoted(&self.file), quoted(name.name));
                let problem = Diagnostic::error(message).at(name.span).label(label.unwrap_or_default());
                Err(problem.help(format!("its columns are {}", list(names))))
            }
        }
    }

    fn function(&self, time: &[f64], column: &[f64], values: &Values, what: &dyn Display) -> Result<Curve, Diagnostic> {
        if let Some(i) = (1..time.len()).find(|&i| time[i] <= time[i - 1]) {
            let message = format!(
                "line {} of {}: the time {} is not after {}",
                self.lines[i],
                quoted(&self.file),
                time[i],
                time[i - 1]
            );
            return Err(values.error_at("table", message).help("times must increase from line to line"));
        }
        let scale = values.number("scale");
        let points: Vec<[f64; 2]> = time.iter().zip(column).map(|(t, x)| [*t, scale * x]).collect();
        let curve = match values.word("interpolation") {
            "spline" => Curve::spline(&points, Beyond::Hold),
            _ => Curve::monotone(&points, Beyond::Hold),
        };
        curve.map_err(|fault| values.error_at("table", format!("the table of {what} {fault}")))
    }
}

/// The text of a file in the model's folder; `kind` is how such files usually end.
pub fn open_text(folder: &Path, file: &str, kind: &str) -> Result<String, Fault> {
    let path = Path::new(file);
    let found = bounded::inside(folder, path, |whole| {
        let names = beside(whole, kind);
        let wanted = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        match nearest(&wanted, names.iter().map(String::as_str)) {
            Some(near) => Some(format!("did you mean {}?", quoted(near))),
            None if names.is_empty() => None,
            None => Some(format!("its folder has {}", list(names.iter().map(String::as_str)))),
        }
    })?;
    bounded::read_text(&found, LARGEST).map_err(|e| match e.kind() {
        ErrorKind::InvalidData => (format!("{} is no text in UTF-8", quoted(file)), "save it as UTF-8".into()),
        _ => bounded::refused(path, &e, "keep only what is needed"),
    })
}

/// A name without the unit in brackets behind it.
fn without_unit(name: &str) -> &str {
    match name.split_once('[') {
        Some((name, unit)) if unit.ends_with(']') && !name.trim().is_empty() => name.trim(),
        _ => name,
    }
}

/// The files of a kind in the folder of a path that is not there.
fn beside(path: &Path, kind: &str) -> Vec<String> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(10_000);
    let names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|n| n.to_lowercase().ends_with(&format!(".{kind}"))).collect();
    names.sort();
    names
}

impl Context<'_> {
    fn table<'a>(
        &self,
        node: &'a Node,
        what: &dyn Display,
        fields: &[&'static [Field]],
    ) -> Result<(Csv, Values<'a>), Diagnostics> {
        let values = read(node, &what.to_string(), fields, self)?;
        let file = values.name("table");
        let Some(folder) = self.folder else {
            let help = "save the model as a file: tables lie in its folder";
            return Err(values
                .error_at("table", format!("{what} is in a file, but the model is not"))
                .help(help)
                .into());
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        match Csv::open(folder, file.name) {
            Ok(csv) => Ok((csv, values)),
            Err((message, help)) => Err(values.error_at("table", format!("{message}, in {what}")).help(help).into()),
        }
    }

    fn time<'c>(csv: &'c Csv, values: &Values) -> Result<&'c [f64], Diagnostic> {
        values.optional_name("time").map_or(Ok(&csv.columns[0]), |name| csv.column(&name))
    }

    /// A function of time from a file.
    pub(super) fn tabulated(&self, node: &Node, what: &dyn Display) -> Result<Expression, Diagnostics> {
        let (csv, values) = self.table(node, what, TABULATED)?;
        let time = Self::time(&csv, &values)?;
        let column = match values.optional_name("column") {
            Some(name) => csv.column(&name)?,
            None if csv.columns.len() == 2 && !values.has("time") => &csv.columns[1],
            None => {
                let message = format!("{what} needs the name of a column of {}", quoted(&csv.file));
                let help = format!("add `column = …`: one of {}", list(csv.names.iter().map(String::as_str)));
                return Err(values.error(message).help(help).into());
            }
        };
        Ok(Expression::tabulated(csv.function(time, column, &values, what)?, &csv.file))
    }

    /// A vector of functions of time from a file.
    pub(super) fn tabulated_vector(&self, node: &Node, what: &dyn Display) -> Result<Vec<Expression>, Diagnostics> {
        let (csv, values) = self.table(node, what, TABULATED_VECTOR)?;
        let n = if self.plane { 2 } else { 3 };
        let names = values.names("columns");
        if names.len() != n {
            let message = format!("`columns` of {what} must name {n} columns, found {}", names.len());
            let help = "for a single component write a table in its place, as in [{ table = …, column = … }, 0]";
            return Err(values.error_at("columns", message).help(help).into());
        }
        let time = Self::time(&csv, &values)?;
        let mut list = Vec::with_capacity(3);
        for name in names {
            let curve = csv.function(time, csv.column(name)?, &values, what)?;
            list.push(Expression::tabulated(curve, &csv.file));
        }
        list.resize(3, Expression::constant(0.0));
        Ok(list)
    }

    /// Pairs of numbers from a file.
    pub(super) fn tabulated_pairs(&self, node: &Node, what: &dyn Display) -> Result<Vec<[f64; 2]>, Diagnostics> {
        let (csv, values) = self.table(node, what, TABULATED_PAIRS)?;
        let (x, y) = match values.optional_names("columns") {
            Some(names) => (csv.column(&names[0])?, csv.column(&names[1])?),
            None if csv.columns.len() == 2 => (&csv.columns[0][..], &csv.columns[1][..]),
            None => {
                let message = format!("{what} needs the names of two columns of {}", quoted(&csv.file));
                let help =
                    format!("add `columns = [\"…\", \"…\"]`: two of {}", list(csv.names.iter().map(String::as_str)));
                return Err(values.error(message).help(help).into());
            }
        };
        let scale = values.number("scale");
        Ok(x.iter().zip(y).map(|(x, y)| [*x, scale * y]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_units_comments_and_quotes() {
        for text in [
            "\u{feff}time [s],\"fx [N]\"\r\n0,1.5\r\n\r\n# half time\r\n1e-1,-2\r\n",
            "time;fx\n0;1.5\n0.1;-2\n",
            "# first\ntime\tfx\n0\t1.5\n0.1\t-2",
            "time   fx\n 0  1.5\n0.1 -2.0 ",
        ] {
            let csv = Csv::parse("a.csv", text).unwrap();
            assert_eq!(
                (csv.names, csv.columns),
                (vec!["time".into(), "fx".into()], vec![vec![0.0, 0.1], vec![1.5, -2.0]])
            );
        }
    }

    #[test]
    fn faults_tell_line_and_column() {
        let fault = |text: &str| Csv::parse("a.csv", text).unwrap_err().0;
        assert_eq!(fault("\n# nothing\n"), "`a.csv` is empty");
        assert_eq!(fault("0,1\n1,2\n"), "`a.csv` begins with numbers, not with names of columns");
        assert_eq!(fault("t,x,x\n"), "`a.csv` has two columns `x`");
        assert_eq!(fault("t,x\n0,1\n\n1,2,3\n"), "line 4 of `a.csv` has 3 numbers");
        assert_eq!(fault("t;x\n0;1,5\n"), "line 2, column `x` of `a.csv` is no number: `1,5`");
        assert_eq!(fault("t,x\n0,nan\n"), "line 2, column `x` of `a.csv` is no number: `nan`");
    }

    #[test]
    fn only_files_inside_the_folder_are_opened() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let fault = |file: &str| Csv::open(folder, file).unwrap_err().0;
        for file in ["../bellcrank-model/Cargo.toml", "/etc/hosts", "src/../Cargo.toml", ".."] {
            assert_eq!(fault(file), format!("`{file}` leaves the model's folder"));
        }
        assert_eq!(fault("src"), "`src` is no file");
        assert_eq!(fault("nothing.csv"), "`nothing.csv` is not in the model's folder");
        assert_eq!(fault(""), "`` is no file");
    }
}
