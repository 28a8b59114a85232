//! What a reproduction found: tables, figures and claims, as text, JSON and one HTML page.

use bellcrank_view::drawing::escape;
use bellcrank_view::plot::Figure;
use serde_json::{Value, json};
use std::fmt::Write;
use std::io;
use std::path::Path;

/// One claim: ours, the paper's, and whether what can fairly be asked of it holds.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The table or example it belongs to.
    pub table: &'static str,
    /// What it says.
    pub what: String,
    /// Our number.
    pub ours: String,
    /// The paper's, or `–`.
    pub paper: String,
    /// What is asked.
    pub asked: String,
    /// Whether it holds.
    pub holds: bool,
}

/// A table as it is shown.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its heading.
    pub title: String,
    /// What has to be known to read it fairly.
    pub note: String,
    /// The names of the columns.
    pub header: Vec<String>,
    /// The cells.
    pub rows: Vec<Vec<String>>,
}

/// All that was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The paper.
    pub title: String,
    /// What holds for all of it, if anything is to be said.
    pub about: String,
    /// The tables.
    pub tables: Vec<Table>,
    /// The figures, each with its file name without ending.
    pub figures: Vec<(&'static str, Figure)>,
    /// The claims.
    pub claims: Vec<Claim>,
}

impl Report {
    /// Whether every claim holds.
    pub fn holds(&self) -> bool {
        self.claims.iter().all(|c| c.holds)
    }

    /// The claims as `--json` prints them.
    pub fn to_json(&self) -> Value {
        let claims: Vec<Value> = self
            .claims
            .iter()
            .map(|c| {
                json!({ "table": c.table, "claim": c.what, "ours": c.ours, "paper": c.paper, "asked": c.asked, "holds": c.holds })
            })
            .collect();
        json!({ "title": self.title, "holds": self.holds(), "claims": claims })
    }

    /// The tables and claims as text.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for t in &self.tables {
            let _ = writeln!(out, "{}\n", t.title);
            let columns = t.header.len();
            let width = |k: usize| {
                let cells = t.rows.iter().filter_map(|r| r.get(k)).chain(t.header.get(k));
                cells.map(|c| c.chars().count()).max().unwrap_or(0)
            };
            let widths: Vec<usize> = (0..columns).map(width).collect();
            for row in std::iter::once(&t.header).chain(&t.rows) {
                let cells: Vec<String> = row.iter().zip(&widths).map(|(c, w)| format!("{c:w$}")).collect();
                let _ = writeln!(out, "  {}", cells.join("  ").trim_end());
            }
            let _ = writeln!(out, "\n  {}\n", t.note);
        }
        for c in &self.claims {
            let mark = if c.holds { "holds" } else { "FAILS" };
            let _ =
                writeln!(out, "{mark}  {}: {}: {} (asked: {}; paper: {})", c.table, c.what, c.ours, c.asked, c.paper);
        }
        out
    }

    /// Writes `index.html` and every figure as SVG to a folder.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("index.html"), self.to_html())?;
        let figure = |(name, f): &(&str, Figure)| std::fs::write(folder.join(format!("{name}.svg")), f.to_svg());
        self.figures.iter().try_for_each(figure)
    }

    /// One page with everything on it.
    pub fn to_html(&self) -> String {
        let mut out = format!(
            "<!doctype html><html lang=en><meta charset=utf-8><title>{0}</title><style>\
             body{{font:16px/1.5 system-ui,sans-serif;max-width:72em;margin:2em auto;padding:0 1em;color:#222}}\
             div{{overflow-x:auto}}table{{border-collapse:collapse;font-size:14px}}td{{white-space:nowrap}}.claims td{{white-space:normal}}td,th{{border-bottom:1px solid #ccc;padding:.2em .8em;text-align:left}}\
             .fails{{color:#b00;font-weight:bold}}svg{{max-width:100%}}</style><h1>{0}</h1>",
            escape(&self.title)
        );
        if !self.about.is_empty() {
            let _ = write!(out, "<p>{}</p>", escape(&self.about));
        }
        for t in &self.tables {
            let _ = write!(out, "<h2>{}</h2><div><table>{}", escape(&t.title), cells("th", &t.header));
            t.rows.iter().for_each(|row| out += &cells("td", row));
            let _ = write!(out, "</table></div><p>{}</p>", escape(&t.note));
        }
        for (_, f) in &self.figures {
            let _ = write!(out, "<h2>{}</h2>{}", escape(&f.title), f.to_svg());
        }
        if self.claims.is_empty() {
            return out + "</html>\n";
        }
        out += "<h2>Claims</h2><table class=claims><tr><th>table<th>claim<th>ours<th>paper<th>asked<th></tr>";
        for c in &self.claims {
            let row = [c.table, &c.what, &c.ours, &c.paper, &c.asked].map(escape).join("<td>");
            let mark = if c.holds { "<td>holds" } else { "<td class=fails>fails" };
            let _ = write!(out, "<tr><td>{row}{mark}</tr>");
        }
        out + "</table></html>\n"
    }
}

fn cells(tag: &str, row: &[String]) -> String {
    let inner: String = row.iter().map(|c| format!("<{tag}>{}", escape(c))).collect();
    format!("<tr>{inner}</tr>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_claim_is_seen_everywhere() {
        let claim = |holds| Claim {
            table: "1",
            what: "x < y".into(),
            ours: "2".into(),
            paper: "1".into(),
            asked: "1".into(),
            holds,
        };
        let mut report = Report { title: "T".into(), claims: vec![claim(true)], ..Report::default() };
        assert!(report.holds() && report.to_json()["holds"] == true);
        report.claims.push(claim(false));
        assert!(!report.holds() && report.to_text().contains("FAILS") && report.to_html().contains("x &lt; y"));
    }
}
