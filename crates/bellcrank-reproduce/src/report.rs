//! What a reproduction found: tables, figures and claims, as text, JSON and one HTML page.

use serde_json::{Value, json};
use std::fmt::Write;

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

/// A curve over time.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// A figure of a few curves.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The file name without ending.
    pub name: &'static str,
    /// Its heading.
    pub title: String,
    /// What the ordinate is.
    pub ordinate: &'static str,
    /// Whether the ordinate is logarithmic.
    pub logarithmic: bool,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// All that was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The paper.
    pub title: String,
    /// The tables.
    pub tables: Vec<Table>,
    /// The figures.
    pub figures: Vec<Figure>,
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

    /// One page with everything on it.
    pub fn to_html(&self) -> String {
        let mut out = format!(
            "<!doctype html><html lang=en><meta charset=utf-8><title>{0}</title><style>\
             body{{font:16px/1.5 system-ui,sans-serif;max-width:72em;margin:2em auto;padding:0 1em;color:#222}}\
             div{{overflow-x:auto}}table{{border-collapse:collapse;font-size:14px}}td{{white-space:nowrap}}.claims td{{white-space:normal}}td,th{{border-bottom:1px solid #ccc;padding:.2em .8em;text-align:left}}\
             .fails{{color:#b00;font-weight:bold}}svg{{max-width:100%}}</style><h1>{0}</h1>",
            escape(&self.title)
        );
        for t in &self.tables {
            let _ = write!(out, "<h2>{}</h2><div><table>{}", escape(&t.title), cells("th", &t.header));
            t.rows.iter().for_each(|row| out += &cells("td", row));
            let _ = write!(out, "</table></div><p>{}</p>", escape(&t.note));
        }
        for f in &self.figures {
            let _ = write!(out, "<h2>{}</h2>{}", escape(&f.title), f.to_svg());
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

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn cells(tag: &str, row: &[String]) -> String {
    let inner: String = row.iter().map(|c| format!("<{tag}>{}", escape(c))).collect();
    format!("<tr>{inner}</tr>")
}

const COLOURS: [&str; 6] = ["#1f6fb4", "#d1661a", "#2c8f3a", "#8a4fbf", "#b02a3a", "#555555"];

impl Figure {
    /// The figure as SVG.
    pub fn to_svg(&self) -> String {
        let (width, height, left, bottom, top, right) = (800.0, 360.0, 80.0, 40.0, 15.0, 130.0);
        let of = |y: f64| if self.logarithmic { y.max(1e-300).log10() } else { y };
        let all = || self.curves.iter().flat_map(|c| &c.points).filter(|p| p.1.is_finite());
        let range = |values: &mut dyn Iterator<Item = f64>| {
            let (a, b) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
            if a < b { (a, b) } else { (a - 0.5, a + 0.5) }
        };
        let (x0, x1) = range(&mut all().map(|p| p.0));
        let (y0, y1) = range(&mut all().map(|p| of(p.1)));
        let px = |x: f64| left + (x - x0) / (x1 - x0) * (width - left - right);
        let py = |y: f64| height - bottom - (y - y0) / (y1 - y0) * (height - bottom - top);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>"
        );
        for k in 0..=4 {
            let part = k as f64 / 4.0;
            let (x, y) = (x0 + part * (x1 - x0), y0 + part * (y1 - y0));
            let shown = if self.logarithmic { format!("1e{y:.1}") } else { format!("{y:.4}") };
            let _ = write!(
                out,
                "<line x1=\"{left}\" x2=\"{0}\" y1=\"{1:.1}\" y2=\"{1:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{shown}</text>\
                 <text x=\"{4:.1}\" y=\"{5}\" text-anchor=\"middle\">{x:.3}</text>",
                width - right,
                py(y),
                left - 6.0,
                py(y) + 4.0,
                px(x),
                height - bottom + 18.0
            );
        }
        let _ = write!(out, "<text x=\"{left}\" y=\"12\">{}</text>", escape(self.ordinate));
        let _ = write!(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">t</text>", width - right, height - 6.0);
        for (k, curve) in self.curves.iter().enumerate() {
            let points: Vec<String> = curve
                .points
                .iter()
                .filter(|p| p.1.is_finite())
                .map(|p| format!("{:.1},{:.1}", px(p.0), py(of(p.1))))
                .collect();
            let colour = COLOURS[k % COLOURS.len()];
            let y = top + 16.0 * (k as f64 + 1.0);
            let _ = write!(
                out,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\"{}\"/>\
                 <text x=\"{}\" y=\"{y}\" fill=\"{colour}\">{}</text>",
                points.join(" "),
                width - right + 8.0,
                escape(&curve.name)
            );
        }
        out + "</svg>"
    }
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

    #[test]
    fn figures_draw_what_is_finite() {
        let curve = Curve { name: "a".into(), points: vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 10.0)] };
        let figure = Figure { name: "f", title: "F".into(), ordinate: "y", logarithmic: true, curves: vec![curve] };
        let svg = figure.to_svg();
        assert!(svg.ends_with("</svg>") && !svg.contains("NaN"));
    }
}
