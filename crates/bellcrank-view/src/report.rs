//! Reports: the viewer and the results in one HTML file, which opens from a mail attachment.

use crate::viewer_page;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bellcrank_results::Results;
use bellcrank_solve::evidence::Verdict;
use serde_json::{Value, json};
use std::io;
use std::path::Path;

/// Where the page takes its data from, if they come with it.
const PLACE: &str = "<!--bellcrank-data-->";

/// What a report shows beside the animated scene.
#[derive(Clone, Debug)]
pub struct Report {
    /// The plots: the names of the channels in each.
    pub plots: Vec<Vec<String>>,
    /// Sections of text and numbers, such as those of the accuracy report.
    pub sections: Vec<Section>,
    /// The most bytes of results in the file; a longer run is thinned out to every second, third … frame.
    pub bytes: usize,
}

impl Default for Report {
    fn default() -> Report {
        Report { plots: vec![], sections: vec![], bytes: 16 << 20 }
    }
}

/// A section of a report.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// What it says before the facts.
    pub text: String,
    /// The facts, one line each.
    pub facts: Vec<Fact>,
    /// A table, its header first; columns of numbers are aligned to the right.
    pub table: Vec<Vec<String>>,
    /// Diagrams.
    pub diagrams: Vec<Diagram>,
    /// A text that is shown verbatim, such as a model file.
    pub code: String,
}

/// One line of a section.
#[derive(Clone, Debug, Default)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// Its value, with its unit.
    pub value: String,
    /// Whether that is good.
    pub verdict: Verdict,
    /// What it means, in a few words.
    pub note: String,
}

/// A diagram over time.
#[derive(Clone, Debug, Default)]
pub struct Diagram {
    /// What it shows.
    pub title: String,
    /// The unit of the vertical axis.
    pub unit: String,
    /// Whether the vertical axis is logarithmic.
    pub logarithmic: bool,
    /// Times, and the least and greatest value since the time before.
    pub points: Vec<[f64; 3]>,
    /// Times that are marked.
    pub marks: Vec<f64>,
    /// What the marks are.
    pub marked: String,
}

/// The results that a report contains.
pub struct ReportData<'a> {
    /// How the run went: the object of `summary.json`.
    pub summary: &'a Value,
    /// What to draw, or null.
    pub scene: &'a Value,
    /// The names of all columns; the first is the time.
    pub names: Vec<&'a str>,
    /// Their units.
    pub units: Vec<&'a str>,
    /// Number of rows.
    pub rows: usize,
    /// Reads a column.
    pub column: &'a dyn Fn(usize) -> io::Result<Vec<f64>>,
}

/// The report of the results in `folder`, as the text of an HTML file.
pub fn report(folder: &Path, report: &Report) -> io::Result<String> {
    let results = Results::open(folder)?;
    let now = results.now();
    let Some(table) = &now.table else { return Err(io::Error::new(io::ErrorKind::InvalidData, now.message.clone())) };
    let scene = match results.scene()? {
        Some(text) => serde_json::from_slice(&text).map_err(|e| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("scene.json of {} cannot be read: {e}", folder.display()),
            )
        })?,
        None => Value::Null,
    };
    let frames = ReportData {
        summary: &now.summary,
        scene: &scene,
        names: table.names().collect(),
        units: table.units(),
        rows: table.rows(),
        column: &|c| table.read(&[c], 0..table.rows()),
    };
    page(now.describe(results.dir()), &frames, report)
}

/// The report of results in memory, as the text of an HTML file.
pub fn report_of(frames: &ReportData, report: &Report) -> io::Result<String> {
    let state = frames.summary["status"].as_str().unwrap_or("unknown");
    let message = match (state, frames.summary["error"].as_str()) {
        ("failed", Some(e)) => format!("The run failed: {e}. The results so far are shown."),
        ("interrupted", _) => "The run was interrupted. The results so far are shown.".to_string(),
        _ => String::new(),
    };
    let status = json!({
        "folder": frames.summary["model"], "generation": 1, "state": state, "message": message,
        "rows": frames.rows, "summary": frames.summary,
    });
    page(status, frames, report)
}

fn page(status: Value, frames: &ReportData, report: &Report) -> io::Result<String> {
    let (rows, every, columns) = thinned(frames, report.bytes)?;
    let data = json!({
        "format": "bellcrank-data",
        "version": 1,
        "status": status,
        "scene": frames.scene,
        "names": frames.names,
        "units": frames.units,
        "rows": rows,
        "every": every,
        "columns": columns,
        "plots": report.plots,
        "sections": report.sections.iter().map(section).collect::<Vec<_>>(),
    });
    let (before, after) =
        viewer_page().split_once(PLACE).ok_or_else(|| io::Error::other("the viewer's page has no place for data"))?;
    // in a script element only `</script` and `<!--` mean anything; without `<` there is neither
    let text = data.to_string().replace('<', "\\u003c");
    Ok(format!("{before}<script type=\"application/json\" id=\"bellcrank-data\">{text}</script>{after}"))
}

/// The number of rows, one of how many was taken, and every column in base64.
fn thinned(frames: &ReportData, bytes: usize) -> io::Result<(usize, usize, Vec<String>)> {
    let size = frames.rows.saturating_mul(frames.names.len()).saturating_mul(8);
    let every = size.div_ceil(bytes.max(1)).max(1);
    let mut rows = 0;
    let columns = (0..frames.names.len()).map(|c| {
        let all = (frames.column)(c)?;
        let last = all.len().saturating_sub(1);
        // the end of the run stays
        let kept = all.iter().enumerate().filter(|(i, _)| i % every == 0 || *i == last);
        let bytes: Vec<u8> = kept.flat_map(|(_, x)| x.to_le_bytes()).collect();
        rows = bytes.len() / 8;
        Ok(STANDARD.encode(&bytes))
    });
    let columns = columns.collect::<io::Result<Vec<_>>>()?;
    Ok((rows, every, columns))
}

/// A section as the page reads it.
pub fn section(s: &Section) -> Value {
    let fact = |f: &Fact| {
        let verdict = match f.verdict {
            Verdict::None => "",
            Verdict::Good => "good",
            Verdict::Doubtful => "doubtful",
            Verdict::Bad => "bad",
        };
        json!({"name": f.name, "value": f.value, "verdict": verdict, "note": f.note})
    };
    let diagram = |d: &Diagram| {
        json!({
            "title": d.title, "unit": d.unit, "logarithmic": d.logarithmic, "points": d.points,
            "marks": d.marks, "marked": d.marked,
        })
    };
    json!({
        "title": s.title,
        "text": s.text,
        "facts": s.facts.iter().map(fact).collect::<Vec<_>>(),
        "table": s.table,
        "diagrams": s.diagrams.iter().map(diagram).collect::<Vec<_>>(),
        "code": s.code,
    })
}
