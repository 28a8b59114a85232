//! What a reproduction found: tables, figures and claims, as text, JSON and one HTML page.

use crate::claim::{Against, Claim};
use bellcrank_view::drawing::escape;
use bellcrank_view::plot::Figure;
use serde_json::{Value, json};
use std::fmt::Write;
use std::io;
use std::path::Path;

/// Something of the paper that is not reproduced.
#[derive(Clone, Debug)]
pub struct Missing {
    /// The table or figure.
    pub table: &'static str,
    /// What the paper has.
    pub paper: &'static str,
    /// What comes out here.
    pub ours: String,
    /// The best explanation, and what was tried.
    pub why: &'static str,
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
    /// What is not reproduced: the first thing on the page.
    pub missing: Vec<Missing>,
    /// The tables.
    pub tables: Vec<Table>,
    /// The figures, each with its file name without ending.
    pub figures: Vec<(&'static str, Figure)>,
    /// The claims.
    pub claims: Vec<Claim>,
}

impl Report {
    /// Adds a claim, whose numbers are still to be given.
    pub fn claim(&mut self, table: &'static str, against: Against, what: impl Into<String>) -> &mut Claim {
        let k = self.claims.len();
        self.claims.push(Claim::new(table, against, what));
        &mut self.claims[k]
    }

    /// Whether every claim holds.
    pub fn holds(&self) -> bool {
        self.claims.iter().all(Claim::holds)
    }

    /// The claims that do not hold.
    pub fn failed(&self) -> usize {
        self.claims.iter().filter(|c| !c.holds()).count()
    }

    /// How many claims are held against whom.
    fn tally(&self) -> String {
        let count = |against: Against| self.claims.iter().filter(|c| c.against == against).count();
        let [paper, theory, other, ours] = Against::ALL.map(count);
        format!(
            "{} claims: {paper} against the paper, {theory} against theory, {other} against another program. \
             {ours} laws, which hold our runs against each other.",
            paper + theory + other
        )
    }

    /// The claims against others, then the laws, each with its heading.
    fn sections(&self) -> [(&'static str, Vec<&Claim>); 2] {
        let (laws, claims) = self.claims.iter().partition(|c| c.against == Against::Ours);
        [("Claims", claims), ("Laws: our runs against each other", laws)]
    }

    /// The claims as `--json` prints them.
    pub fn to_json(&self) -> Value {
        let claims: Vec<Value> = self.claims.iter().map(Claim::to_json).collect();
        let missing: Vec<Value> = self
            .missing
            .iter()
            .map(|m| json!({ "table": m.table, "paper": m.paper, "ours": m.ours, "why": m.why }))
            .collect();
        json!({ "title": self.title, "holds": self.holds(), "not_reproduced": missing, "claims": claims })
    }

    /// The tables and claims as text.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for m in &self.missing {
            let _ = writeln!(out, "not reproduced: {}: the paper has {}; here {}. {}", m.table, m.paper, m.ours, m.why);
        }
        if !self.missing.is_empty() {
            out.push('\n');
        }
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
        for (heading, claims) in self.sections().into_iter().filter(|(_, claims)| !claims.is_empty()) {
            let _ = writeln!(out, "{heading}\n");
            for c in claims {
                let mark = if c.holds() { "holds" } else { "FAILS" };
                let paper = c.paper.as_ref().map_or(String::new(), |p| format!("; the paper has {p}"));
                let (ours, asked, whose) = (c.ours(), c.asked(), c.against.name());
                let _ = writeln!(out, "{mark}  {}: {}: {ours} (asked by {whose}: {asked}{paper})", c.table, c.what);
            }
            out.push('\n');
        }
        if !self.claims.is_empty() {
            let _ = writeln!(out, "{}", self.tally());
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
        if !self.missing.is_empty() {
            out += "<h2>What is not reproduced</h2><div><table class=claims><tr><th>where<th>paper<th>here<th>why</tr>";
            for m in &self.missing {
                let row = [m.table, m.paper, &m.ours, m.why].map(escape).join("<td>");
                let _ = write!(out, "<tr><td>{row}</tr>");
            }
            out += "</table></div>";
        }
        if !self.claims.is_empty() {
            let _ = write!(out, "<p>{}</p>", escape(&self.tally()));
        }
        for t in &self.tables {
            let _ = write!(out, "<h2>{}</h2><div><table>{}", escape(&t.title), cells("th", &t.header));
            t.rows.iter().for_each(|row| out += &cells("td", row));
            let _ = write!(out, "</table></div><p>{}</p>", escape(&t.note));
        }
        for (_, f) in &self.figures {
            let _ = write!(out, "<h2>{}</h2>{}", escape(&f.title), f.to_svg());
        }
        for (heading, claims) in self.sections().into_iter().filter(|(_, claims)| !claims.is_empty()) {
            let _ = write!(out, "<h2>{heading}</h2><div><table class=claims>");
            out += "<tr><th>table<th>claim<th>ours<th>asked<th>by<th>paper<th></tr>";
            for c in claims {
                let paper = c.paper.as_deref().unwrap_or("–");
                let row = [c.table, &c.what, &c.ours(), &c.asked(), c.against.name(), paper].map(escape).join("<td>");
                let mark = if c.holds() { "<td>holds" } else { "<td class=fails>fails" };
                let _ = write!(out, "<tr><td>{row}{mark}</tr>");
            }
            out += "</table></div>";
        }
        out + "</html>\n"
    }
}

fn cells(tag: &str, row: &[String]) -> String {
    let inner: String = row.iter().map(|c| format!("<{tag}>{}", escape(c))).collect();
    format!("<tr>{inner}</tr>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::at_most;

    #[test]
    fn a_failed_claim_is_seen_everywhere() {
        let mut report = Report { title: "T".into(), ..Report::default() };
        report.claim("1", Against::Paper, "x < y").asks("", 1.0, at_most(2.0)).paper("1.5");
        assert!(report.holds() && report.to_json()["holds"] == true);
        report.claim("1", Against::Ours, "x < z").asks("", 3.0, at_most(2.0));
        assert!(!report.holds() && report.to_text().contains("FAILS") && report.to_html().contains("x &lt; y"));
    }
}
